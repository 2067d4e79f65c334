"""What a task reports of a file, or of a slice of one: the bytes it covered, the rows it made, and what it had to leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kdump.errors import CorruptData, Fault, KdumpError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kdump.schemas.shapes import NotedShapes

CRASHED = "reader-crashed"
"""The code of what was left out because the process that read it died."""

SCHEMAS_UNREAD = "schemas-unread"
"""The code where no row is missing, but decoded keys and values may be."""


class Skipped(NamedTuple):
    """Something that was left out of a slice: from byte `position` on, if that is known; up to but not including `end`, if given.

    `is_damage` says that the bytes are wrong, not that they could not be read. `records` counts what is missing, where the header
    of the batch says so.
    """

    code: str
    message: str
    position: int | None
    records: int | None
    is_damage: bool
    end: int | None = None

    def __str__(self) -> str:
        return self.message if self.position is None else f"byte {self.position:,}: {self.message}"


class SliceReport:
    """What was read of one file, or in a stream of a slice of it.

    `size` and `inode` are those of the file when it was opened. `first` and `last` are the range of bytes of the batches and
    damaged ranges that were read: None where there are none. `rows` counts rows of the table; `batches` and `records`
    what headers of batches say, `records` None where old messages do not say. `shapes` are those of the keys and of the values
    that were decoded by schemas. `sums` are the columns of the log's row in the table of segments, if the walk also made
    these.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.size: int | None = None
        self.inode: int | None = None
        self.first: int | None = None
        self.last: int | None = None
        self.rows = 0
        self.batches = 0
        self.records: int | None = 0
        self.skipped: list[Skipped] = []
        self.shapes: tuple[NotedShapes, NotedShapes] | None = None
        self.sums: dict[str, list[Any]] | None = None

    def of_sums(self) -> SliceReport:
        """The report of the row that `sums` are, which came of the same walk."""
        report = SliceReport(self.path)
        report.size, report.inode, report.first, report.last = self.size, self.inode, self.first, self.last
        report.batches, report.records, report.skipped = self.batches, self.records, list(self.skipped)
        report.rows = 1
        return report

    def cover(self, start: int, end: int) -> None:
        """Record that these bytes were read: batches, or a damaged range. Raises KdumpError unless they follow the last ones."""
        if self.last is None:
            self.first = start
        elif start != self.last:
            what = "lost" if start > self.last else "there twice"
            message = f"the walk went from byte {self.last} to byte {start}, so batches would be {what}"
            raise KdumpError(message, path=self.path, remedy="scan again; if nothing wrote to the file, please report it")
        self.last = end

    def count(self, batches: int, records: int | None) -> None:
        """Add these numbers of batches and records; `records` is None if the headers do not say."""
        self.batches += batches
        if records is None:
            self.records = None
        elif self.records is not None:
            self.records += records

    def skip(self, error: KdumpError, records: int | None = None) -> Skipped:
        """Record that something is left out for this reason."""
        code = error.code if isinstance(error, Fault) else "unreadable"
        skipped = Skipped(code, error.message, error.position, records, isinstance(error, CorruptData))
        self.skipped.append(skipped)
        return skipped


if TYPE_CHECKING:
    OnReport = Callable[[SliceReport], None]


def ignore(_report: SliceReport) -> None:
    """Ignore the report."""
