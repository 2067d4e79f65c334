"""One run of a command: its output, its messages, its limit, its findings."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property

from kdump import exit_codes
from kdump.binary.java_strings import escaped, shown_text, text_of
from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.cli.listing.options import EXPORTS
from kdump.cli.listing.schemas import SchemasOfRun
from kdump.cli.listing.tuning import ListTuning
from kdump.cli.report_style import style_of_rows
from kdump.formats import foreign
from kdump.output.kafka.lines import KafkaText, Template
from kdump.output.rows.formatters import formatter_of
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from kdump.cli.listing.request import Request
    from kdump.cli.listing.tail import ListingStart
    from kdump.output.rows.formatters import Formatter
    from kdump.tables import Row

    class Out(Protocol):
        """Where text goes."""

        def write(self, text: str) -> None: ...
        def write_bytes(self, text: memoryview) -> None: ...
        def flush(self) -> None: ...


MAX_MESSAGES = 1000
"""Findings of one file that are said; the rest is counted."""


class Enough(Exception):
    """Ends the listing: the limit is reached, or damage was found and the listing must stop there."""


class Run:
    """Writes what is listed, in the form and up to the limit of the request.

    `output` is None for Kafka's lines, and where rows go into a file. Control characters are escaped for each stream that is a
    terminal.
    """

    def __init__(
        self,
        request: Request,
        out: Out,
        err: Out,
        *,
        is_terminal: bool,
        is_error_terminal: bool,
        tuning: ListTuning | None = None,
    ) -> None:
        self.request = request
        self.out = out
        self.err = err
        self.finding_count = 0
        self._found_in_file = 0
        self.is_unexamined = False  # whether a file could not be examined
        self.output: Formatter | None = None
        if request.output not in ("kafka", *EXPORTS):
            style = style_of_rows(is_terminal=is_terminal, color=request.color, escapes_formulas=request.escapes_formulas)
            self.output = formatter_of(request.output, out.write, style)
        self.tuning = tuning or ListTuning()
        self.schemas = SchemasOfRun(request, self.find)
        self.names: dict[str, str] = {}  # of files that are shown under another one
        self.begins: dict[str, ListingStart] = {}  # by file: where to begin, for those of which only the end is listed
        self.held: dict[str, tuple[int, int]] = {}  # by directory: the first and last offset that its logs were seen to hold
        self.explanation = ""  # why the one offset that is asked for is not in the logs of a directory that were listed
        self._said: set[str] = set()
        self._has_rows = False
        self._left = request.limit
        self.is_terminal = is_terminal
        self._is_error_terminal = is_error_terminal
        self.show = shown_text if is_terminal else text_of
        self.shown: Callable[[str], str] = escaped if is_terminal else str

    @cached_property
    def text(self) -> KafkaText:
        """Writes Kafka's lines."""
        return KafkaText(self.request.profile, is_terminal=self.is_terminal)

    @property
    def status(self) -> int:
        """The exit code for what was seen so far."""
        if self.is_unexamined or self.schemas.is_unread:
            return exit_codes.NOT_EXAMINED
        return exit_codes.FINDINGS if self.finding_count else exit_codes.CLEAN

    def start(self, row_class: type[Row]) -> None:
        """Begin the output, whose rows are of this class."""
        if self.output is not None:
            self.output.start(row_class)

    def end(self) -> None:
        """Complete the output."""
        if self.output is not None:
            self.output.end()

    def opened(self, path: str) -> Source:
        """Open a file, under the name that it is shown with. Raises Unreadable."""
        source = Source(path)
        source.path = self.names.get(path, path)
        return source

    @contextmanager
    def opened_log(self, path: str) -> Iterator[TolerantSource]:
        """Open a log for the block, and report at its end the bytes that could not be read. Raises Unreadable."""
        with TolerantSource(path) as source:
            source.path = self.names.get(path, path)
            foreign.require_kafka(source)
            try:
                yield source
            finally:
                for start, end in source.bad_ranges:
                    self.is_unexamined = True
                    where = f"{source.path}: bytes {start} to {end - 1}"
                    self.say(f"{where} cannot be read from the device, and count as zeros (io-error, {end - start} bytes)")

    def head(self, path: str) -> None:
        """Start a file: Kafka's lines name it."""
        if self.output is None:
            self.out.write(f"Dumping {self.shown(path)}\n")

    def room(self, rows: int) -> int:
        """How many of these rows may be listed."""
        return rows if self._left is None else min(rows, self._left)

    def count(self, rows: int) -> None:
        """Count listed rows. Raises Enough when the limit is reached."""
        self._has_rows = True
        if self._left is not None:
            self._left -= rows
            if self._left <= 0:
                raise Enough

    def write_rows(self, row_class: type[Row], rows: list[list[Any]], line: Template) -> None:
        """List rows up to the limit, each given as its values; `line` is Kafka's. Raises Enough as `count`."""
        rows = rows[: self.room(len(rows))]
        if rows:
            self.write_table(Table.of(row_class, rows), line)

    def write_table(self, table: Table[Row], line: Template) -> None:
        """List the rows of a table up to the limit, which is not reached yet. As `write_rows` in all else."""
        table = table.slice(0, self.room(len(table)))
        if self.output is None:
            self.out.write("".join(line.lines(table.__getitem__, len(table))))
        else:
            self.output.write(table)
        self.count(len(table))

    def hold(self, directory: str, first: int, last: int) -> None:
        """Note the offsets of a log, asked for or not."""
        known_first, known_last = self.held.get(directory, (first, last))
        self.held[directory] = min(known_first, first), max(known_last, last)

    def say_what_is_held(self) -> None:
        """Say which offsets there are, if none is in the range."""
        request = self.request
        if self._has_rows or self.finding_count or request.offset is not None or not request.range.has_offsets:
            return
        for directory, (first, last) in self.held.items():
            self.say(f"{directory}: this range is empty; the logs have offsets {first} to {last}")

    def find(self, path: str | None, message: str, *values: object) -> None:
        """Count a finding, and say it unless the file has too many; `values` are put into the message then."""
        self.finding_count += 1
        self._found_in_file += 1
        if self._found_in_file <= MAX_MESSAGES:
            text = message.format(*values) if values else message
            self.say(text if path is None else f"{path}: {text}")

    def end_file(self, path: str) -> None:
        """Say how many findings of a file were only counted."""
        count, self._found_in_file = self._found_in_file - MAX_MESSAGES, 0
        if count > 0:
            self.say(f"{path}: {count:,} more findings are only counted; --output ndjson has each row with its status")

    def say_once(self, message: str) -> None:
        """Write a line to stderr unless it was written before."""
        if message not in self._said:
            self._said.add(message)
            self.say(message)

    def say(self, message: str) -> None:
        """Write a line to stderr, after what was written to stdout before."""
        if not self.request.is_strict:
            self.out.flush()
            self.err.write(f"kdump: {escaped(message) if self._is_error_terminal else message}\n")
            self.err.flush()
