"""What a check says: findings, what became of each file, and the sum of a run."""

from __future__ import annotations

from kdump.tables import Int32, Int64, Row, Text

ERROR, WARNING, INFO = "error", "warning", "info"
SEVERITIES = (ERROR, WARNING, INFO)
"""The worst first."""

NONE, BY_LENGTH, BY_REPAIRED_LENGTH, BY_SCAN, END = "none", "by-length", "by-repaired-length", "by-scan", "end"
"""How a check went on behind what is wrong: there was nothing to step over, or to the end of the file."""

EXACT, ESTIMATED = "exact", "estimated"

MAX_EVIDENCE = 64
"""Bytes of evidence that a finding carries at most."""


class Finding(Row):
    """One thing that is wrong, or worth knowing.

    `code` is a fault of the catalogue and never changes its meaning. `start` and `end` are a range of bytes of the file, `end`
    exclusive; `offset_first` and `offset_last` the offsets it touches, exact or estimated (`offset_certainty`). `evidence` is
    the first of these bytes in hex, `alignment` the largest of 1, 512 and 4096 that both ends are multiples of. `skipped`
    counts bytes that were stepped over to go on, `resync` says how. `broker_forecast` is what a broker does at its next start,
    in a word of catalogue.FORECASTS, with what that loses where it is known.
    """

    code: Text
    severity: Text
    path: Text
    file_type: Text
    start: Int64
    end: Int64
    offset_first: Int64 | None
    offset_last: Int64 | None
    offset_certainty: Text | None
    expected: Text | None
    found: Text | None
    evidence: Text | None
    alignment: Int32
    resync: Text
    skipped: Int64
    broker_forecast: Text
    message: Text


class FileReport(Row):
    """What became of a file: each of its bytes is counted once, so that the last five add up to `size`.

    Batches are intact, salvaged (whole, but found behind damage and not beyond doubt) or lost; for files of entries, an entry
    counts as a batch. Bytes not examined lie behind the point where a limit ended the check.
    """

    path: Text
    file_type: Text
    size: Int64
    batches_intact: Int64
    batches_salvaged: Int64
    batches_lost: Int64
    bytes_intact: Int64
    bytes_salvaged: Int64
    bytes_damaged: Int64
    bytes_zero: Int64
    bytes_not_examined: Int64


class Summary(Row):
    """The sum of a run. `is_complete` is false where something could not be examined."""

    files: Int64
    bytes: Int64
    errors: Int64
    warnings: Int64
    infos: Int64
    is_complete: Text
    seconds: Text


class Accounts:
    """Counts the bytes and batches of one file while it is checked, from its begin to its end without a gap."""

    __slots__ = ("batches", "bytes", "position")

    INTACT, SALVAGED, DAMAGED, ZERO, NOT_EXAMINED = "intact", "salvaged", "damaged", "zero", "not_examined"

    def __init__(self) -> None:
        self.position = 0
        self.batches = {self.INTACT: 0, self.SALVAGED: 0, self.DAMAGED: 0}
        self.bytes = dict.fromkeys((self.INTACT, self.SALVAGED, self.DAMAGED, self.ZERO, self.NOT_EXAMINED), 0)

    def take(self, status: str, end: int, *, batches: int = 0) -> None:
        """All bytes from where the account stands up to `end` have this status, and hold so many batches."""
        self.bytes[status] += end - self.position
        self.position = end
        if batches:  # those of a range that is not examined, or zero, are lost
            self.batches[status if status in self.batches else self.DAMAGED] += batches

    def report(self, path: str, file_type: str, size: int) -> FileReport:
        """The account closed: what was not looked at by now is not examined."""
        self.take(self.NOT_EXAMINED, max(size, self.position))
        return FileReport(
            path,
            file_type,
            self.position,
            self.batches[self.INTACT],
            self.batches[self.SALVAGED],
            self.batches[self.DAMAGED],
            *self.bytes.values(),
        )
