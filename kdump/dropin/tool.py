"""One run of Kafka's tool: its help screens, its files one after another, its end."""

from __future__ import annotations

import os

from kdump.binary.java_strings import escaped, shown_text, text_of
from kdump.binary.paths import is_url, root
from kdump.binary.source import NoSource, Source
from kdump.dropin.joptsimple import Arguments
from kdump.dropin.tuning import Tuning
from kdump.errors import CorruptData, Fault, KdumpError, Unreadable
from kdump.exit_codes import FAILURE, SUCCESS, USAGE
from kdump.formats import file_name
from kdump.formats.log import LogRules
from kdump.output.kafka.complaints import Complaints
from kdump.output.kafka.lines import KafkaText
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.output.blocks import Blocks
    from kdump.releases.profile import Profile


_DUMPS = {
    file_name.LOG: "logs",
    file_name.CHECKPOINT: "logs",
    file_name.OFFSET_INDEX: "offset_indexes",
    file_name.TIME_INDEX: "time_indexes",
    file_name.TRANSACTION_INDEX: "transaction_indexes",
    file_name.PRODUCER_SNAPSHOT: "producer_snapshots",
}
"""By suffix, the module next to this one whose `dump` dumps such files; it is loaded for the first of them."""


_COMMANDS = {file_name.OFFSET_INDEX: "index", file_name.TIME_INDEX: "timeindex", file_name.TRANSACTION_INDEX: "txnindex"}


class DumpTool:
    """A run of the tool, in the words of a release, with `jobs` processes; 0 chooses a number for this machine."""

    def __init__(
        self,
        profile: Profile,
        out: Blocks,
        err: Blocks,
        *,
        is_strict: bool,
        is_terminal: bool,
        jobs: int = 1,
        tuning: Tuning | None = None,
    ) -> None:
        self.profile = profile
        self.out = out
        self.err = err
        self.is_terminal = is_terminal
        self.jobs = jobs
        self.tuning = tuning or Tuning()
        self.text_of = shown_text if is_terminal else text_of
        self.shown: Callable[[str], str] = escaped if is_terminal else str
        self.text = KafkaText(profile, is_terminal=is_terminal)
        overflows = profile.fails_on_length_overflow
        codec_count = len(profile.codec_names)
        self.rules = LogRules(codec_count, fails_on_overflow=overflows)
        self.record_rules = LogRules(
            codec_count, reads_records_only=True, fails_on_overflow=overflows, quirks=profile.codec_quirks_of_batches()
        )
        self.message_rules = profile.message_rules()
        self._is_strict = is_strict
        self._complaints = Complaints()
        self._path = ""

    def run(self, words: list[str]) -> int:
        """Run the tool, from the arguments to the reports at the end. Returns the exit code."""
        try:
            arguments = Arguments(self.profile, words)
            status = self._screen(arguments, words)
            if status is not None:
                return status
            self._dump(arguments)
            self._report()
        except Fault as fault:
            self.out.needs_reader = False  # the exit code is known, whether or not anyone still reads
            self._throw(fault)
            return FAILURE
        except KdumpError as error:
            self.out.needs_reader = False
            self.say(f"kdump: {error}\n")
            return USAGE
        finally:
            self._complaints.close()
        return SUCCESS

    def _report(self) -> None:
        """Write the reports of all mismatches to stderr."""
        if self._complaints:
            from kdump.output.kafka import reports

            self.out.flush()
            for lines in reports.lines(self.profile, self._complaints):
                self.err.write(lines)
            self.err.flush()

    def say(self, text: str) -> None:
        """Write to stderr, after what was written to stdout before."""
        self.out.flush()
        self.err.write("\n".join(map(self.shown, text.split("\n"))))
        self.err.flush()

    def complain(self, kind: str, path: str, first: int, second: int) -> None:
        """Record a mismatch of two numbers for the report of this kind at the end of the run."""
        self.complain_of_all(kind, path, (first,), (second,))

    def complain_of_all(self, kind: str, path: str, firsts: Sequence[int], seconds: Sequence[int]) -> None:
        """Record mismatches of two numbers each: at least one."""
        if self.profile.reports_bare_names:
            path = path.rpartition("/")[2]
        self._complaints.add(kind, self.shown(path), firsts, seconds)

    def _screen(self, arguments: Arguments, words: list[str]) -> int | None:
        """Show a help or version screen if it is asked for or needed. Returns the exit code then, otherwise None."""
        if not words or arguments.has("help"):
            message = self.profile.usage
        elif arguments.has("version"):
            self.out.write(self.profile.version_text + "\n")
            return SUCCESS
        elif not arguments.has("files"):
            message = 'Missing required argument "[files]"'
        else:
            return None
        from kdump.dropin.help_screen import help_screen

        self.say(f"{message}\n{help_screen(self.profile)}")
        return FAILURE

    def _dump(self, arguments: Arguments) -> None:
        files = arguments.text("files")
        items = files.split(",")
        while files and items and not items[-1]:  # Java drops empty items at the end, unless nothing else is there
            items.pop()
        if not self.profile.converts_values_lazily:
            from kdump.dropin.decoders import decoders_of

            arguments.number("max-message-size")
            decoders_of(self.profile, arguments, self.text_of, self.out.write)
        for item in items:
            path = _java_path(item)
            self._path = path
            name = path.rpartition("/")[2]
            if self.profile.ignores_unknown_files_silently and file_name.suffix(name) not in self.profile.suffixes:
                continue
            self.out.write(f"Dumping {self.shown(path)}\n")
            self._dump_file(path, name, arguments)

    def _dump_file(self, path: str, name: str, arguments: Arguments) -> None:
        suffix = file_name.suffix(name)
        if not suffix and not self.profile.ignores_names_without_dot:
            raise CorruptData("name-without-dot", "the name has no suffix", path=path, length=len(name))
        if suffix in self.profile.suffixes:
            module = (
                "before_0_11.message_logs" if suffix == file_name.LOG and self.profile.knows_messages_only else _DUMPS[suffix]
            )
            __import__("kdump.dropin." + module, fromlist=["dump"]).dump(self, path, name, arguments)  # as importlib, without it
        else:
            self.say(f"Ignoring unknown file {path}\n")

    # What the dumps of all files need

    def open(self, path: str, *, is_read_whole: bool = False) -> Source:
        """Open a log, or a file that the tool reads as a whole. Raises Unreadable."""
        may_be_directory = self.profile.opens_directories and not is_read_whole
        try:
            source = Source(path, may_be_directory=may_be_directory)
        except Unreadable as error:
            if error.code == "file-missing" and self.profile.creates_missing_logs and _has_folder(path):
                return NoSource(path)
            raise coded(error, error.code + "-read") if is_read_whole else error
        if source.size > history.MAX_INT:
            size = source.size
            source.close()
            raise Unreadable("file-too-large", "is larger than 2147483647 bytes", path=path, size=size)
        return source

    def open_index(self, path: str, given: str = "") -> Source:
        """Open an index. If it is missing, Kafka's tool creates an empty one and fails on it; kdump only reports that.

        `path` is absolute. If the requested index cannot be opened, it is named as it was `given`.
        """
        from kdump.formats import offset_index

        try:
            index = Source(path)
            if self.profile.index_size_is_checked and index.size % offset_index.ENTRY_SIZE:
                index.close()
                message = f"{index.size} bytes are no multiple of {offset_index.ENTRY_SIZE}"
                raise CorruptData("index-opened-size", message, path=path, size=index.size)
            return index
        except Unreadable as error:
            codes = {
                "file-missing": "index-missing" if _has_folder(path) else "index-folder-missing",
                "file-is-directory": "file-is-directory-mapped",
                "file-permission": "file-permission-mapped",
            }
            error.path = given or path
            raise coded(error, codes.get(error.code, error.code))

    def sibling(self, path: str, suffix: str) -> str:
        """The file of the same segment with another suffix, by the tool's way of finding it."""
        return path.partition(".")[0] + suffix if self.profile.siblings_share_path else sibling(path, suffix)

    def with_records(self, fault: CorruptData, source: Source, *, is_slice: bool = False) -> CorruptData:
        """The fault with the text that its message may contain about the open log, or the slice of it.

        Dumps of indexes read slices of a log.
        """
        view = fault.values["view"] if fault.code == "batch-header-cut" else None
        fault.values["records"] = self.profile.file_records(path=source.path, size=source.size, view=view, is_slice=is_slice)
        return fault

    def message_of(self, fault: Fault) -> str:
        """The tool's message for a fault: an exception as Java prints it, or a line."""
        words = self.profile.words(fault.code)
        name = str(fault.path).rpartition("/")[2]
        values = {"path": fault.path, "name": name, "position": fault.position, "message": fault.message} | fault.values
        cause = fault.values.get("cause")
        values["java_cause"] = self.profile.java_cause(cause).format(**values) if cause else ""
        values["codec_name"] = self.profile.codec_names.get(values.get("codec_name", ""), "")
        message = "" if words.message is None else words.message.format(**values)
        if not words.exception:
            return message
        exception = words.exception.format(**values)
        return f'Exception in thread "main" {exception}' + ("" if words.message is None else f": {message}")

    def _throw(self, fault: Fault) -> None:
        """Print the exception that ends the tool; then, unless stderr is strict, say how to continue."""
        self.say(self.message_of(self._as_met(fault)) + "\n")
        if not self._is_strict and isinstance(fault, CorruptData) and fault.position is not None:
            command = _COMMANDS.get(file_name.suffix(self._path), "log")
            self.say(f"kdump: Kafka's tool ends here; `kdump {command} {self._path}` goes on after the damage\n")

    def _as_met(self, fault: Fault) -> Fault:
        """The fault that this release finds first."""
        if "unbuffered" in fault.variants and fault.values["cause"].partition("-")[0] not in self.profile.decompressed_in_blocks:
            fault = fault.variants["unbuffered"]
        if "without-zstd" in fault.variants and "zstd" not in self.profile.codec_names:
            fault = fault.variants["without-zstd"]
        if "unchecked-header-count" in fault.variants and not self.profile.checks_header_count:
            fault = fault.variants["unchecked-header-count"]
        return fault


def coded(error: Unreadable, code: str) -> Unreadable:
    """The same error under another code, for tools that open files differently."""
    error.code = code
    return error


def absolute(path: str) -> str:
    """The absolute path as java.io.File makes it: not normalised."""
    if path.startswith("/") or is_url(path):
        return path
    return os.getcwd().rstrip("/") + "/" + path if path else os.getcwd()


def sibling(path: str, suffix: str) -> str:
    """The file of the same segment with another suffix."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{file_name.stem(name)}{suffix}"


def _has_folder(path: str) -> bool:
    """Whether the directory of this path exists, so that a file could be created."""
    return is_url(path) or os.path.isdir(os.path.dirname(path) or ".")


def _java_path(path: str) -> str:
    """A path as java.io.File has it: without double or trailing slashes. A URL, which Kafka's tool cannot read, keeps its own."""
    start = root(path) if is_url(path) else ""
    path = path[len(start) :]
    while "//" in path:
        path = path.replace("//", "/")
    return start + (path.rstrip("/") if len(path) > 1 or start else path)
