"""Runs `kdump grep`: searches, shows what matches, and ends with the verdict."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from functools import cached_property

from kdump import exit_codes
from kdump.binary import system
from kdump.binary.java_strings import escaped, shown_text, text_of
from kdump.binary.paths import real, require_local
from kdump.binary.placing import place
from kdump.checks.wording import counted
from kdump.cli.output_file import output_of, written_to
from kdump.cli.progress import PatientBar
from kdump.cli.report_style import style_of_rows
from kdump.cli.searching.request import GrepRequest
from kdump.cli.shared_options import STDIN, throttle_reading
from kdump.cli.streams import stderr_bytes
from kdump.errors import Fault, Unreadable, UsageError
from kdump.formats.record_selection import selected
from kdump.output.blocks import Blocks
from kdump.output.kafka.lines import KafkaText
from kdump.output.kafka.record_contents import contents_column
from kdump.output.rows.formatters import formatter_of
from kdump.output.rows.hits import ABSENT, ROW_CLASSES, SAME, UNREADABLE, Hit, NotRead, SearchedFile, SearchVerdict, VerifiedFile
from kdump.output.rows.row_writer import RowWriter
from kdump.output.text.grep import steps_after, verdict_lines
from kdump.searching.grep import Search
from kdump.tables import Table
from kdump.workers.process import can_fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from kdump.cli.searching.options import GrepOptions
    from kdump.formats.record import RecordChunk
    from kdump.output.kafka.lines import ContentsColumn
    from kdump.output.rows.formatters import Formatter
    from kdump.pipeline.discovery import FileItem
    from kdump.searching.log_search import Found

_OF_ROWS = ("ndjson", "json")
_NO_CERTIFICATE = ("file-missing", "file-is-directory", "file-not-regular")


def grep_paths(options: GrepOptions) -> int:
    """Search, or verify a certificate. Returns the exit code. Raises UsageError."""
    throttle_reading(options.rate, is_nice=options.is_nice)
    if options.verify is not None:
        with output_of(options.file, is_quiet=options.is_quiet):
            return _verify(options, options.verify)
    request = GrepRequest(options)
    place = _place_of_certificate(request) if options.proves_absence else None
    shows = os.isatty(2)
    with _stdin(request) as (paths, names), PatientBar(shows=shows) as bar:
        search = Search(
            paths,
            request.query,
            proves_absence=options.proves_absence,
            partition_count=options.partition_count,
            context=options.context,
            limit=options.limit,
            stops_at_hit=options.lists_files,
            jobs=1 if options.rate or not can_fork() else options.jobs,
            names=names,
            progress=bar.draw if shows else None,
            decoding=request.decoding(names),
        )
        if request.output == "parquet":
            assert options.file is not None
            return _into_parquet(request, search, options.file, place)
        with output_of(options.file, is_quiet=options.is_quiet):
            return _shown(request, search, place)


@contextmanager
def _stdin(request: GrepRequest) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The paths of a request, with a file in the place of stdin, and the names that are shown for them."""
    if STDIN not in request.paths:
        yield list(request.paths), {}
        return
    from kdump.cli.stdin_file import spooled

    with spooled("stdin.log") as path:
        yield [path if given == STDIN else given for given in request.paths], {path: STDIN}


def _shown(request: GrepRequest, search: Search, place: str | None) -> int:
    """Show what a search finds on stdout, then its verdict. Returns the exit code."""
    with open(1, "wb", buffering=0, closefd=False) as stdout, stderr_bytes() as stderr:
        out, err = Blocks(stdout, needs_reader=search.proves_absence is False), Blocks(stderr, needs_reader=False)
        shown = _Shown(request, search, out, is_terminal=stdout.isatty())
        try:
            shown.all()
        except BrokenPipeError:  # nobody reads on: what was seen so far counts
            return exit_codes.NOT_EXAMINED if search.not_read else exit_codes.CLEAN
        verdict = _verdict(search, request, place)
        try:
            shown.end(verdict)
            out.flush()
        except BrokenPipeError:
            pass  # nobody reads on: the verdict stands
        if request.output not in _OF_ROWS and not request.options.is_strict:
            _say_verdict(err, search, verdict, shown.first_match, is_terminal=stderr.isatty())
        return verdict.exit_code


def _say_verdict(
    err: Blocks, search: Search, verdict: SearchVerdict, first_match: tuple[str, int] | None = None, *, is_terminal: bool
) -> None:
    """Say the verdict, and last what to type now."""
    scope = ""
    if search.only_partition is not None:
        scope = f" in partition {search.only_partition}, the only one that was searched"
    for line in verdict_lines(verdict, search.not_read, scope):
        err.write(f"kdump: {escaped(line) if is_terminal else line}\n")
    command = steps_after(search.not_read, first_match).main()
    if command:
        err.write(f"Do: {command}\n")
    err.flush()


class _Shown:
    """Shows what a search finds, in the form of the request."""

    def __init__(self, request: GrepRequest, search: Search, out: Blocks, *, is_terminal: bool) -> None:
        self._request = request
        self._search = search
        self._out = out
        self._shows_files = request.options.counts or request.options.lists_files
        self._output: Formatter | None = None
        self._classes: tuple[Any, ...] = (SearchedFile, NotRead, SearchVerdict) if self._shows_files else ROW_CLASSES
        self._is_terminal = is_terminal
        self._path = ""
        self.first_match: tuple[str, int] | None = None
        """The file and the offset of the first match."""
        if request.output != "kafka":
            style = style_of_rows(is_terminal=is_terminal, color=request.options.color, escapes_formulas=request.escapes_formulas)
            self._output = formatter_of(request.output, out.write, style)
            self._output.start(*self._classes)

    def all(self) -> None:
        """Show each match, or each file."""
        for item, found in self._search.found():
            if self.first_match is None:
                row = next((row for row, matched in enumerate(found.matched) if matched), 0)
                self.first_match = self._search.name_of(item), found.part.records["offset"][row]
            if self._shows_files:
                continue
            self._show(item, found)
        if self._shows_files:
            self._write_files()

    def _show(self, item: FileItem, found: Found) -> None:
        if self._output is None:
            self._write_lines(item, found)
            return
        for table in self._search.hits(item, found):
            self._output.write(table)

    def _write_lines(self, item: FileItem, found: Found) -> None:
        name = self._search.name_of(item)
        if name != self._path:
            self._path = name
            self._out.write(f"Dumping {escaped(name)}\n")
        try:
            self._write_part(found.part)
        except Fault:  # of one message; what is wrong with it was noted when it was read
            for row in range(len(found.part.records)):
                with suppress(Fault):
                    self._write_part(selected(found.part, [row], -1)[0])

    def _write_part(self, part: RecordChunk) -> None:
        """Write the lines of all records, or none. Raises Fault."""
        text, contents = self._words
        lines: list[str] = []
        text.record_lines(part, contents, False, lines)
        self._out.write("".join(lines))

    @cached_property
    def _words(self) -> tuple[KafkaText, ContentsColumn]:
        """What makes Kafka's lines, of fields and of keys and values, once something matches."""
        from kdump.releases.profile import profile_of

        profile = profile_of(self._request.options.release)
        show: Callable[[bytes], str] = shown_text if self._is_terminal else text_of
        return KafkaText(profile, is_terminal=self._is_terminal), contents_column(profile, (show, show), skips_metadata=False)

    def _write_files(self) -> None:
        files = [file for file in self._search.files if file.hits or not self._request.options.lists_files]
        if self._output is None:
            for file in files:
                count = f":{file.hits}" if self._request.options.counts else ""
                self._out.write(f"{escaped(file.file)}{count}\n")
        elif files:
            self._output.write(Table.of_rows(SearchedFile, files))

    def end(self, verdict: SearchVerdict) -> None:
        """Show what was not read, and the verdict, where rows of several kinds are shown."""
        if self._output is None:
            return
        if self._request.output in _OF_ROWS:
            if self._search.not_read:
                self._output.write(Table.of_rows(NotRead, self._search.not_read))
            self._output.write(Table.of_rows(SearchVerdict, [verdict]))
        self._output.end()


def _into_parquet(request: GrepRequest, search: Search, path: str, place: str | None) -> int:
    """Write the matches into a file of Parquet, and say the verdict on stderr."""
    from kdump.binary.arrow_loading import require_arrow

    require_local(path, "the output")
    require_arrow("Parquet files")
    try:
        if system.has_name(path):
            raise FileExistsError
        _write_parquet(search, path)
    except FileExistsError as error:
        raise UsageError(f"{path} exists; kdump does not overwrite files", remedy="name another file with -o") from error
    verdict = _verdict(search, request, place)
    with stderr_bytes() as stderr:
        if not request.options.is_strict:
            _say_verdict(Blocks(stderr, needs_reader=False), search, verdict, is_terminal=stderr.isatty())
    return verdict.exit_code


def _write_parquet(search: Search, path: str) -> None:
    """Write the matches with decoded keys and values as text, then with the types of the schemas that occurred."""
    from kdump.output.arrow.builder import record_batch
    from kdump.output.arrow.decoded_columns import DecodedColumns
    from kdump.output.arrow.files import SNAPPY, TableFile
    from kdump.output.arrow.schemas import schema_of
    from kdump.output.arrow.typed_file import write_typed
    from kdump.schemas.shapes import NotedShapes

    keys, values, schema = NotedShapes(), NotedShapes(), schema_of(Hit.schema)
    search.note_shapes(keys, values)
    with_text = f"{path}.incomplete-text-{os.getpid()}"  # a column has one type from its first row on
    try:
        with TableFile(with_text, schema, compression=SNAPPY) as file:
            for item, found in search.found():
                for table in search.hits(item, found):
                    file.write(record_batch(Hit.schema, dict(table.columns), len(table), schema))
        search.end_shapes()
        if keys or values:
            write_typed(with_text, path, DecodedColumns(keys.joined, values.joined))
        else:
            place(with_text, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(with_text)


# Certificates


def _place_of_certificate(request: GrepRequest) -> str:
    """Where the certificate will be. Raises UsageError if that is not possible."""
    from datetime import UTC, datetime

    given = request.options.certificate
    path = given or f"kdump-certificate-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    require_local(path, "the certificate")
    if system.has_name(path):
        raise UsageError(f"{path} exists; kdump does not overwrite files", remedy="name another file with --certificate")
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    for root in request.paths:
        searched = real(root)
        if system.is_directory(searched) and (folder + os.sep).startswith(searched.rstrip(os.sep) + os.sep):
            raise UsageError(
                f"the certificate would lie inside {root}, which is only read", remedy="name another file with --certificate"
            )
    return path


def _verdict(search: Search, request: GrepRequest, place: str | None) -> SearchVerdict:
    """The verdict of a search; it names the certificate, which is written now, if one is asked for."""
    verdict = search.verdict
    if place is None:
        return verdict
    import json

    from kdump.searching import certificate

    body = certificate.made(search, request.paths, request.as_options())
    with written_to(place):
        sys.stdout.write(json.dumps(body, indent=1, ensure_ascii=True) + "\n")
    verdict.certificate = place
    return verdict


def _verify(options: GrepOptions, path: str) -> int:
    """Compare the files of a certificate with those that are there. Returns the exit code."""
    from kdump.searching import certificate

    try:
        body = certificate.read(path)
    except Unreadable as error:
        if error.code in _NO_CERTIFICATE:
            raise UsageError(str(error)) from error
        raise
    with open(1, "wb", buffering=0, closefd=False) as stdout, stderr_bytes() as stderr:
        out, err = Blocks(stdout, needs_reader=False), Blocks(stderr, needs_reader=False)
        style = style_of_rows(is_terminal=stdout.isatty(), color=options.color, escapes_formulas=options.csv_formulas == "escape")
        form = "ndjson" if options.output == "parquet" else options.output
        rows = None if form == "kafka" else RowWriter(formatter_of(form, out.write, style), VerifiedFile)
        counts: dict[str, int] = {}
        for row in certificate.verified(body, options.paths):
            counts[row.status] = counts.get(row.status, 0) + 1
            if rows is not None:
                rows.write(row)
            elif row.status != SAME:
                out.write(f"{escaped(row.file)}: {row.status}: {row.message}\n")
        if rows is not None:
            rows.end()
        out.flush()
        same, differing = counts.get(SAME, 0), sum(counts.values()) - counts.get(SAME, 0)
        what = f"{counted(same, 'file')} {'is' if same == 1 else 'are'} the same" + (f", {differing:,} not" if differing else "")
        err.write(f"kdump: {what}; the certificate says {escaped(str(body['verdict']))}\n")
        err.flush()
    if counts.get(UNREADABLE):
        return exit_codes.NOT_EXAMINED
    if differing:
        return exit_codes.FINDINGS
    return exit_codes.CLEAN if body["verdict"] == ABSENT else exit_codes.NOT_EXAMINED
