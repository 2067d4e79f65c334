"""The drop-in form: Kafka's options, Kafka's output, Kafka's stopping, Kafka's exit codes."""

from __future__ import annotations

import os

from kdump.binary.java_text import escaped, text_of
from kdump.binary.source import Source
from kdump.checks import offset_index as offset_index_check
from kdump.checks import time_index as time_index_check
from kdump.cli.joptsimple import Arguments, help_screen
from kdump.decoders import plain
from kdump.decoders.contents import contents
from kdump.errors import CorruptData, Fault, KdumpError, Unreadable, UsageError
from kdump.formats import file_name, offset_index, producer_snapshot, record, transaction_index
from kdump.formats.log import Log
from kdump.formats.record_batch import decrement_sequence
from kdump.output.blocks import Blocks
from kdump.output.kafka_text import KafkaText, Template
from kdump.output.report import Reports
from kdump.releases import history
from kdump.releases.profile import profile_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from kdump.formats.producer_snapshot import ProducerState
    from kdump.output.kafka_text import Contents
    from kdump.releases.profile import Profile

_RELEASE_OPTION = "--release"
_STRICT_OPTION = "--strict-stderr"
_TOPIC_DECODERS = (
    "offsets-decoder",
    "transaction-log-decoder",
    "cluster-metadata-decoder",
    "remote-log-metadata-decoder",
    "share-group-state-decoder",
)
_DECODER_CLASSES = ("value-decoder-class", "key-decoder-class")

SUCCESS, FAILURE, USAGE = 0, 1, 2


def main(arguments: list[str], stdout: BinaryIO, stderr: BinaryIO, *, is_terminal: bool = False) -> int:
    """Do what Kafka's tool does with these arguments, and return its exit code.

    Of our own are only `--release`, for the release whose output is wanted, and `--strict-stderr`, for no word of ours on stderr.
    """
    try:
        words, release, is_strict = _own_options(arguments)
        profile = profile_of(release)
    except UsageError as error:
        stderr.write(f"kdump: {error}\n".encode())
        return USAGE
    tool = DumpTool(profile, Blocks(stdout), Blocks(stderr), is_strict=is_strict, is_terminal=is_terminal)
    try:
        return tool.run(words)
    finally:
        tool.out.close()
        tool.err.close()


def _own_options(arguments: list[str]) -> tuple[list[str], str, bool]:
    """Kafka's arguments, the release, and whether stderr is to be strict."""
    words: list[str] = []
    release, is_strict = history.RELEASES[-1], False
    remaining = iter(arguments)
    for word in remaining:
        if word == "--":
            words += [word, *remaining]
        elif word == _STRICT_OPTION:
            is_strict = True
        elif word == _RELEASE_OPTION:
            found = next(remaining, None)
            if found is None:
                raise UsageError(f"{_RELEASE_OPTION} takes a release, such as {history.RELEASES[-1]}")
            release = found
        elif word.startswith(_RELEASE_OPTION + "="):
            release = word.removeprefix(_RELEASE_OPTION + "=")
        else:
            words.append(word)
            if word.lstrip("-") in ("files", "max-bytes", "max-message-size"):
                words += [value for value in (next(remaining, None),) if value is not None]
    return words, release, is_strict


class DumpTool:
    """One run of the tool, in the words of a release."""

    def __init__(self, profile: Profile, out: Blocks, err: Blocks, *, is_strict: bool, is_terminal: bool) -> None:
        self._profile = profile
        self.out = out
        self.err = err
        self._is_strict = is_strict
        self._text_of = (lambda data: escaped(text_of(data))) if is_terminal else text_of
        self._text = KafkaText(profile, self._text_of)
        self._reports = Reports(profile)
        self._codec_count = len(profile.codec_names)
        self._path = ""

    def run(self, words: list[str]) -> int:
        """Everything from the arguments to the reports at the end."""
        try:
            arguments = Arguments(self._profile, words)
            status = self._screen(arguments, words)
            if status is not None:
                return status
            self._dump(arguments)
        except Fault as fault:
            self._throw(fault)
            return FAILURE
        except KdumpError as error:
            self.out.flush()
            self.err.write(f"kdump: {error}\n")
            return USAGE
        self.out.flush()
        self.err.write(self._reports.text())
        return SUCCESS

    def _screen(self, arguments: Arguments, words: list[str]) -> int | None:
        """Show a help or version screen if one is asked for, or needed; then the run ends with this code."""
        if not words or arguments.has("help"):
            message = self._profile.usage
        elif arguments.has("version"):
            self.out.write(self._profile.version_text + "\n")
            return SUCCESS
        elif not arguments.has("files"):
            message = 'Missing required argument "[files]"'
        else:
            return None
        self.err.write(f"{message}\n{help_screen(self._profile)}")
        return FAILURE

    def _dump(self, arguments: Arguments) -> None:
        files = arguments.text("files").split(",")
        while len(files) > 1 and not files[-1] or files == [""] and arguments.text("files"):
            files.pop()
        if not self._profile.converts_values_lazily:
            arguments.number("max-message-size")
            self._contents(arguments)
        for file in files:
            path = _java_path(file)
            self._path = path
            self.out.write(f"Dumping {path}\n")
            self._dump_file(path, arguments)

    def _dump_file(self, path: str, arguments: Arguments) -> None:
        name = path.rpartition("/")[2]
        suffix = file_name.suffix(name)
        if not suffix and not self._profile.ignores_names_without_dot:
            raise CorruptData("name-without-dot", "the name has no suffix", path=path, length=len(name))
        if suffix not in self._profile.suffixes:
            self.out.flush()
            self.err.write(f"Ignoring unknown file {path}\n")
        elif suffix in (file_name.LOG, file_name.CHECKPOINT):
            column = self._contents(arguments)
            max_bytes = arguments.number("max-bytes") if "max-bytes" in self._profile.options else history.MAX_INT
            self._dump_log(path, name, column, arguments, max_bytes)
        elif suffix == file_name.OFFSET_INDEX:
            self._dump_index(path, name, arguments)
        elif suffix == file_name.TIME_INDEX:
            self._dump_time_index(path, name, arguments)
        elif suffix == file_name.TRANSACTION_INDEX:
            self._dump_transaction_index(path, name)
        else:
            self._dump_producer_snapshot(path)

    # Logs

    def _contents(self, arguments: Arguments) -> Contents | None:
        """What stands behind the fields of record lines, None where nothing can."""
        topic_decoder = next((name for name in _TOPIC_DECODERS if arguments.has(name)), None)
        if topic_decoder is not None:
            raise UsageError(f"--{topic_decoder} is not supported yet")
        decoders = [self._decoder(arguments.text(name)) for name in _DECODER_CLASSES]
        prints_data = any(arguments.has(name) for name in ("print-data-log", *_DECODER_CLASSES))
        return contents(
            self._profile,
            key_decoder=decoders[1] if prints_data else None,
            value_decoder=decoders[0] if prints_data else None,
            skips_metadata=arguments.has("skip-record-metadata"),
        )

    def _decoder(self, name: str) -> plain.Decoder:
        kind = self._profile.decoder_classes.get(name)
        if kind is None:
            code = "decoder-wrong-type" if name.startswith("java.lang.") else "decoder-unknown"
            raise Fault(code, f"{name} is no decoder; known are {', '.join(self._profile.decoder_classes)}", name=name)
        return self._text_of if kind == "string" else plain.DECODERS[kind]

    def _dump_log(self, path: str, name: str, column: Contents | None, arguments: Arguments, max_bytes: int) -> None:
        self.out.write(self._log_heading(name) + "\n")
        is_deep = arguments.has("deep-iteration") or (
            self._profile.print_data_log_is_deep
            and any(arguments.has(name) for name in ("print-data-log", *_DECODER_CLASSES, *_TOPIC_DECODERS))
        )
        with self._open(path) as source:
            if max_bytes < 0:
                raise self._with_records(CorruptData("size-negative", "", path=path, size=max_bytes), source, is_sibling=True)
            log = Log(source, end=max_bytes, codec_count=self._codec_count)
            try:
                if is_deep:
                    self._dump_records(source, log, column, arguments.has("skip-record-metadata"))
                else:
                    for chunk in log.chunks():
                        self.out.write("".join(self._text.batch_lines(chunk.batches)))
            except CorruptData as fault:
                self._dump_partial_batch(fault, is_deep)
                raise self._with_records(fault, source, is_sibling=False)
            if log.torn_length + 12 > history.MAX_INT and self._profile.fails_on_length_overflow:
                torn = log.torn_batch()
                if torn is not None and not is_deep:
                    self.out.write(self._text.partial_batch_line(*torn))
                capacity = log.torn_length + 12 - (1 << 32)
                raise CorruptData("length-overflow", "a length overflows", path=path, capacity=capacity)
            trailing = source.size - log.position
            if trailing > 0 and max_bytes == history.MAX_INT:
                self.out.write(f"Found {trailing} invalid bytes at the end of {name}\n")

    def _log_heading(self, name: str) -> str:
        if name.endswith(file_name.LOG):
            return self._profile.log_heading.format(offset=file_name.base_offset(name))
        if name == file_name.BOOTSTRAP_CHECKPOINT:
            return "KRaft bootstrap snapshot"
        offset, epoch = file_name.snapshot_id(name)
        return f"Snapshot end offset: {offset}, epoch: {epoch}"

    def _dump_records(self, source: Source, log: Log, column: Contents | None, skips_metadata: bool) -> None:
        path = _absolute(source.path)
        previous = -1
        for chunk in log.chunks():
            for part in record.read(source, chunk):
                offsets = part.records["offset"]
                if offsets:
                    self._check_consecutive(path, previous, offsets)
                    previous = offsets[-1]
                lines: list[str] = []
                is_whole = False
                try:
                    self._text.record_lines(part, column, skips_metadata, lines)
                    is_whole = True
                finally:
                    if self._profile.deep_shows_batches:
                        lines = _interleaved(self._text.batch_lines(part.batches), part, lines, is_whole)
                    self.out.write("".join(lines))

    def _check_consecutive(self, path: str, previous: int, offsets: Sequence[int]) -> None:
        if previous == -1 and not self._profile.checks_first_offset:
            previous = offsets[0] - 1
        if offsets[0] == previous + 1 and offsets == list(range(previous + 1, previous + 1 + len(offsets))):
            return
        for offset in offsets:
            if offset != previous + 1 and (previous != -1 or self._profile.checks_first_offset):
                self._reports.add(history.NON_CONSECUTIVE, path, previous, offset)
            previous = offset

    def _dump_partial_batch(self, fault: CorruptData, is_deep: bool) -> None:
        """What the tool had written of a batch's line before it threw."""
        if fault.row is not None and (not is_deep or self._profile.deep_shows_batches):
            self.out.write(self._text.partial_batch_line(fault.row, fault.through))
        elif is_deep and fault.code in ("magic-negative", "batch-header-cut"):
            fault.code += "-deep"

    # Indexes

    def _dump_index(self, path: str, name: str, arguments: Arguments) -> None:
        base_offset = file_name.base_offset(name)
        window_size = arguments.number("max-message-size")
        checks_sanity, is_quiet = arguments.has("index-sanity-check"), arguments.has("verify-index-only")
        absolute = _absolute(path)
        with self._open(_sibling(absolute, file_name.LOG)) as log, self._open_index(absolute) as index:
            if self._profile.index_names_empty and not offset_index.entry_count(index):
                self.out.write(f"{path} is empty.\n")
                return
            if checks_sanity:
                allows_base = self._profile.sanity_allows_base_offset
                offset_index_check.check_sanity(index, base_offset, allows_base_offset=allows_base)
                self.out.write(self._profile.sanity_line.format(path=path))
                return
            line = Template(self._profile.index_line)
            entry_number = 0
            for table in offset_index.read(index, base_offset):
                shown = 0
                try:
                    for offset, position in zip(table["offset"], table["position"], strict=True):
                        is_tail = offset == base_offset and entry_number > 0
                        if is_tail and not self._profile.index_checks_zero_entry:
                            return
                        self._check_index_entry(log, absolute, offset, position, window_size)
                        if is_tail:
                            return
                        entry_number += 1
                        shown += 1
                except CorruptData as fault:
                    raise self._with_records(fault, log, is_sibling=True)
                finally:
                    if not is_quiet and shown:
                        self.out.write("".join(line.lines(table.slice(0, shown).__getitem__, shown)))

    def _check_index_entry(self, log: Source, path: str, offset: int, position: int, window_size: int) -> None:
        if self._profile.index_compares_first_record:
            found = offset_index_check.first_offset_at(log, position, window_size, self._codec_count)
        else:
            found = offset_index_check.last_offset_at(log, position, window_size)
        if found != offset:
            self._reports.add(history.MISMATCHES, path, offset, found)

    def _dump_time_index(self, path: str, name: str, arguments: Arguments) -> None:
        base_offset = file_name.base_offset(name)
        checks_sanity, is_quiet = arguments.has("index-sanity-check"), arguments.has("verify-index-only")
        absolute = _absolute(path)
        with (
            self._open(_sibling(absolute, file_name.LOG)) as log,
            self._open_index(_sibling(absolute, file_name.OFFSET_INDEX)) as index,
            self._open_index(absolute) as time_index,
        ):
            if checks_sanity:
                time_index_check.check_sanity(time_index, base_offset)
                self.out.write(self._profile.sanity_line.format(path=path))
                return
            checks_zero_entry = self._profile.time_index_checks_zero_entry
            timestamps, offsets = time_index_check.entries(time_index, base_offset, with_zero_tail=checks_zero_entry)
            lookup = offset_index_check.Lookup(index, base_offset, tries_end_first=self._profile.index_lookup_tries_end_first)
            starts = [lookup.position_of(offset) for offset in offsets]
            landings = time_index_check.Landings(
                log,
                offsets,
                starts,
                reads_to_end=self._profile.time_index_reads_to_end,
                may_start_past_end=self._profile.slice_may_start_past_end,
            )
            previous = -1
            shown = 0
            line = Template(self._profile.time_index_line)
            try:
                for row, timestamp in enumerate(timestamps):
                    is_found = self._check_time_entry(log, absolute, landings, row, timestamp, offsets[row], previous)
                    if is_found and offsets[row] == base_offset and row > 0:
                        break
                    previous = timestamp
                    shown += 1
            except CorruptData as fault:
                raise self._with_records(fault, log, is_sibling=True)
            finally:
                if not is_quiet and shown:
                    columns = {"timestamp": list(timestamps[:shown]), "offset": list(offsets[:shown])}
                    self.out.write("".join(line.lines(columns.__getitem__, shown)))

    def _check_time_entry(
        self,
        log: Source,
        path: str,
        landings: time_index_check.Landings,
        row: int,
        timestamp: int,
        offset: int,
        previous: int,
    ) -> bool:
        """Compare an entry with the log; whether a batch ends at its offset."""
        landing = landings.landing(row)
        if landing.position is None:
            self._reports.add(history.NOT_FOUND, path, offset, -1)
        elif landing.last_offset != offset:
            self._reports.add(history.NOT_FOUND, path, offset, landing.last_offset)
        else:
            latest = time_index_check.max_timestamp_at(log, landing.position, self._codec_count)
            if latest != timestamp:
                self._reports.add(history.TIMESTAMP_MISMATCHES, path, timestamp, latest)
            if previous >= timestamp:
                self._reports.add(history.OUT_OF_ORDER, path, timestamp, previous)
            return True
        return False

    # The other files

    def _dump_transaction_index(self, path: str, name: str) -> None:
        file_name.base_offset(name)
        try:
            source = Source(path)
        except Unreadable as error:
            if error.code == "file-missing":
                return  # the tool opens it for writing, and finds nothing in it
            raise _as(error, "file-is-directory-written") from error
        line = "".join(self._profile.transaction_line)
        with source:
            tables = list(transaction_index.read(source))
        for table in tables:
            for version in table["version"]:
                if version >> 8 > 0:  # of the two bytes of a version, the tool looks at the first only
                    message = f"version {version} is not known"
                    raise CorruptData("transaction-version-unknown", message, path=_absolute(path), version=version >> 8)
        for table in tables:
            table.columns = {**table.columns, "version": [version >> 8 for version in table["version"]]}
            self.out.write("".join(self._text.rows(line, table)))

    def _dump_producer_snapshot(self, path: str) -> None:
        with self._open(path, is_read_whole=True) as source:
            try:
                producers = producer_snapshot.read(source)
            except CorruptData as fault:
                if fault.code == "snapshot-truncated" and fault.values.get("is_entry"):
                    fault.code = "snapshot-entry-truncated"
                self.out.flush()
                self.err.write(self._message_of(fault) + "\n")
                return
        for producer in producers:
            self.out.write(self._producer_line(producer))

    def _producer_line(self, producer: ProducerState) -> str:
        first_sequence = producer.last_sequence - producer.offset_delta
        if self._profile.snapshot_wraps_sequence:
            first_sequence = decrement_sequence(producer.last_sequence, producer.offset_delta)
        transaction_offset = producer.current_txn_first_offset
        values = {column.name: getattr(producer, column.name) for column in producer.schema}
        values["current_txn_first_offset"] = self._text.optional_long(None if transaction_offset < 0 else transaction_offset)
        values["first_sequence"] = first_sequence
        values["cached_metadata"] = (
            f"Queue(BatchMetadata(firstSeq={first_sequence}, lastSeq={producer.last_sequence}, "
            f"firstOffset={producer.last_offset - producer.offset_delta}, lastOffset={producer.last_offset}, "
            f"timestamp={producer.timestamp}))"
        )
        pieces = self._profile.snapshot_line
        if producer.last_offset >= 0 or not self._profile.snapshot_omits_unknown_batch:
            pieces += self._profile.snapshot_batch_part
        return "".join(pieces).format(**values) + "\n"

    # Opening files, and failing

    def _open(self, path: str, *, is_read_whole: bool = False) -> Source:
        """Open a log, or a file that the tool reads as a whole. Raises Unreadable."""
        try:
            source = Source(path)
        except Unreadable as error:
            raise (_as(error, error.code + "-read") if is_read_whole else error) from error
        if source.size > history.MAX_INT:
            size = source.size
            source.close()
            raise Unreadable("file-too-large", "is larger than 2147483647 bytes", path=path, size=size)
        return source

    def _open_index(self, path: str) -> Source:
        """Open an index. Where it is missing the tool creates it, and trips over its being empty; we only say so."""
        try:
            return Source(path)
        except Unreadable as error:
            codes = {"file-missing": "index-missing", "file-is-directory": "file-is-directory-mapped"}
            raise _as(error, codes.get(error.code, error.code)) from error

    def _with_records(self, fault: CorruptData, source: Source, *, is_sibling: bool) -> CorruptData:
        """The fault with what its message may say of the open log."""
        fault.values["records"] = self._profile.file_records(path=source.path, size=source.size, is_sibling=is_sibling)
        return fault

    def _message_of(self, fault: Fault) -> str:
        words = self._profile.words(fault.code)
        values = {"path": fault.path, "position": fault.position, "message": fault.message} | fault.values
        cause = history.JAVA_CAUSES.get(str(fault.values.get("cause")), "java.io.IOException: {message}")
        values["java_cause"] = cause.format(**values)
        message = "" if words.message is None else words.message.format(**values)
        if not words.exception:
            return message
        return f'Exception in thread "main" {words.exception}' + ("" if words.message is None else f": {message}")

    def _as_found(self, fault: Fault) -> Fault:
        """The fault that this release meets first."""
        if record.UNBUFFERED in fault.variants and not self._profile.decompresses_in_blocks:
            fault = fault.variants[record.UNBUFFERED]
        if record.UNCHECKED_HEADER_COUNT in fault.variants and not self._profile.checks_header_count:
            fault = fault.variants[record.UNCHECKED_HEADER_COUNT]
        return fault

    def _throw(self, fault: Fault) -> None:
        """Say what the tool says when an exception ends it; then, unless stderr is to be strict, where to go from here."""
        fault = self._as_found(fault)
        self.out.flush()
        self.err.write(self._message_of(fault) + "\n")
        if not self._is_strict and isinstance(fault, CorruptData) and self._path:
            self.err.write(f"kdump: Kafka's tool ends here; `kdump log --keep-going {self._path}` goes on behind the damage\n")


def _interleaved(batch_lines: list[str], part: record.RecordChunk, record_lines: list[str], is_whole: bool) -> list[str]:
    """The lines of batches, each in front of those of its records; they end with the last of these where not all are there."""
    lines: list[str] = []
    end = 0
    for number, (batch_line, count) in enumerate(zip(batch_lines, part.counts, strict=True)):
        start, end = end, end + count
        if number or not part.continues:
            lines.append(batch_line)
        lines += record_lines[start:end]
        if not is_whole and end >= len(record_lines):
            break
    return lines


def _as(error: Unreadable, code: str) -> Unreadable:
    error.code = code
    return error


def _java_path(path: str) -> str:
    """A path as java.io.File has it: without double or trailing slashes."""
    while "//" in path:
        path = path.replace("//", "/")
    return path.rstrip("/") if len(path) > 1 else path


def _absolute(path: str) -> str:
    if path.startswith("/"):
        return path
    return os.getcwd().rstrip("/") + "/" + path if path else os.getcwd()


def _sibling(path: str, suffix: str) -> str:
    """The file of the same segment with another suffix."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{file_name.stem(name)}{suffix}"
