"""The rows of a check: findings, reports of files, possible starts, and the summary of a run."""

from __future__ import annotations

from kdump.tables import Bool, Float64, Int32, Int64, Row, Text, column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Emit = Callable[[Row], None]
    """Takes a finding, a report about a file or another row of a check."""

ERROR, WARNING, INFO = "error", "warning", "info"
SEVERITIES = (ERROR, WARNING, INFO)
"""The worst first."""

NONE = "none"
"""How a check continued if there was nothing to skip; the other values say how a walk continued (`salvage`)."""

EXACT, ESTIMATED, AMONG = "exact", "estimated", "among"

MAX_EVIDENCE = 64
"""Bytes of evidence that a finding carries at most."""

MAP_CELLS = 256
"""Into how many parts the map of a file is divided."""

NO_OFFSET = -1


class Finding(Row, kind="finding"):
    """One fault, or something worth knowing.

    `code` is a fault of the catalogue and never changes its meaning. `start` and `end` are a range of bytes of the file, `end`
    exclusive; `offset_first` and `offset_last` the offsets it touches, as `offset_certainty` says. `evidence` is
    the first of these bytes in hex, `alignment` the largest of 1, 512 and 4096 that both ends are multiples of. `skipped`
    counts the bytes that were skipped to continue, `resync` says how. `broker_forecast` is what a broker does at its next start,
    as a key of catalogue.FORECASTS, with the loss if it is known.
    """

    code: Text = column("What is wrong: a fault of the catalogue. `kdump explain CODE` says more.")
    severity: Text = column("How bad it is: error, warning or info.", SEVERITIES)
    path: Text = column("The file or directory, as found under the given path.")
    file_type: Text = column("The suffix of the file name without its dot, or the whole name if it has none.")
    start: Int64 = column("The first byte of the range that the finding is about.")
    end: Int64 = column("The byte after that range.")
    offset_first: Int64 | None = column("The first offset affected; null if unknown.")
    offset_last: Int64 | None = column("The last offset affected; null if unknown.")
    offset_certainty: Text | None = column(
        "Whether these offsets were read (exact), or inferred from the neighbors (estimated); among: some were compacted away."
    )
    expected: Text | None = column("The expected value.")
    found: Text | None = column("The value found.")
    evidence: Text | None = column("The first bytes of the range in hex, at most 64 bytes.")
    alignment: Int32 = column("The largest of 1, 512 and 4096 that divides both ends of the range.")
    resync: Text = column("How the check continued: none (nothing to skip), by-length, by-repaired-length, by-scan, end.")
    skipped: Int64 = column("How many bytes were skipped to continue.")
    broker_forecast: Text = column("What a broker does at its next start, in one word.")
    message: Text = column("The finding in plain words; it never contains keys or values.")


class FileReport(Row, kind="file"):
    """The report of a file: each of its bytes is counted once, so that the last five add up to `size`.

    Batches are intact, salvaged (whole, but found after damage and not beyond doubt) or lost; for files of entries, an entry
    counts as a batch. Bytes not examined lie after the point where a limit ended the check.
    """

    path: Text = column("The file, as found under the given path.")
    file_type: Text = column("The suffix of the file name without its dot, or the whole name if it has none.")
    size: Int64 = column("Its size in bytes when it was opened: the sum of all bytes below.")
    batches_intact: Int64 = column("Batches (entries in index files) that are certainly whole.")
    batches_salvaged: Int64 = column("Batches that are whole, but were found after damage and are not certain.")
    batches_lost: Int64 = column("Batches that are damaged.")
    bytes_intact: Int64 = column("Bytes of intact batches.")
    bytes_salvaged: Int64 = column("Bytes of salvaged batches.")
    bytes_damaged: Int64 = column("Bytes of damaged batches, and of ranges without batches.")
    bytes_zero: Int64 = column("Bytes of runs of zeros.")
    bytes_not_examined: Int64 = column("Bytes that were not examined.")

    # Not columns, because they have no annotation: only the text report shows these.
    cells = b""
    first_offset = NO_OFFSET
    last_offset = NO_OFFSET

    # Nor these: the verdict and the summary have the sums of all files.
    records_not_read = 0
    are_more_not_read = False
    """Whether these are the least: a compressed set of old messages counts as one record until it is opened."""


class Start(Row, kind="start"):
    """What a broker's next start may do to a partition directory.

    `after` and `recovery_point` as in a forecast. `verdict` is the first word that holds of fails, loss, trap, unsure, damage,
    trims, loads (a metadata log, whose records are not replayed) and safe; see kdump.forecasts.sentences. `message` says more.
    """

    path: Text = column("The partition directory.")
    release: Text = column("The release of the broker.")
    after: Text = column("The stop before the start: clean or unclean.")
    recovery_point: Int64 = column("The offset up to which segments are assumed to be flushed.")
    recovery_point_is_assumed: Bool = column("Whether the recovery point is assumed, because no checkpoint has it.")
    verdict: Text = column("The start in one word: fails, loss, trap, unsure, damage, trims, loads, safe; see Start.")
    lost_records: Int64 = column("The number of records in intact batches that are in no log afterwards.")
    bytes_lost: Int64 = column("The size of all logs before, minus their size after.")
    consumers_stop_at: Int64 | None = column(
        "The first offset that cannot be read because of damage that stays; null if there is none."
    )
    message: Text = column("What happens, in plain words.")

    if TYPE_CHECKING:  # so that it is no column: only maps use it
        segments_left: list[list[int]] | None = None  # base offsets and sizes afterwards, of a start that is not safe
    else:
        segments_left = None


class Summary(Row, kind="summary"):
    """The summary of a run. Known findings, which are in the baseline, are counted separately.

    `verdict` is the overall result, one of verdicts.WORDS, the worst first; `reasons` say why.
    """

    files: Int64 = column("How many files were found.")
    bytes: Int64 = column("The sum of their sizes.")
    errors: Int64 = column("Findings that are errors, not counting known ones.")
    warnings: Int64 = column("Findings that are warnings, not counting known ones.")
    infos: Int64 = column("Findings that are infos, not counting known ones.")
    known: Int64 = column("Findings that are in the baseline.")
    level: Text = column("How deep was checked: quick, full, deep.")
    records_not_read: Int64 = column("Records of batches that are not damaged, which this level does not read; deep reads all.")
    records_unreadable: Int64 = column(
        "Records that consumers cannot read because of damage, one for each offset; at least so many."
    )
    is_complete: Bool = column("False if something could not be examined.")
    seconds: Float64 = column("How long the run took.")
    exit_code: Int32 = column("The exit code of the command.")
    verdict: Text = column(
        "The verdict, worst first: does not start, loses at start, unreadable, damaged, stuck, not examined; or fine."
    )
    reasons: list[Text] = column("The reasons: a word of the verdict, and the fault, file or start that it is about.")


class ByteCoverage:
    """Counts the bytes and batches of one file by status, from its start to its end without a gap.

    `cells` is a map of the file: for each of MAP_CELLS equal parts of `size` bytes, the statuses in it as bits of STATUS_BITS.
    """

    INTACT, SALVAGED, DAMAGED, ZERO, NOT_EXAMINED = "intact", "salvaged", "damaged", "zero", "not_examined"

    def __init__(self, size: int = 0) -> None:
        self.position = 0
        self.batches = {self.INTACT: 0, self.SALVAGED: 0, self.DAMAGED: 0}
        self.bytes = dict.fromkeys((self.INTACT, self.SALVAGED, self.DAMAGED, self.ZERO, self.NOT_EXAMINED), 0)
        self.cells = bytearray(MAP_CELLS)
        self._size = max(size, 1)
        self.records_not_read = 0
        self.are_more_not_read = False

    def add(self, status: str, end: int, *, batches: int = 0) -> None:
        """Count the bytes from the last position up to `end`, with the batches in them, under this status."""
        if end > self.position:
            bit = STATUS_BITS[status]
            for cell in range(self.position * MAP_CELLS // self._size, min(-(-end * MAP_CELLS // self._size), MAP_CELLS)):
                self.cells[cell] |= bit
        self.bytes[status] += end - self.position
        self.position = end
        if batches:  # those of a range that was not examined, or is zero, are lost
            self.batches[status if status in self.batches else self.DAMAGED] += batches

    def leave_unread(self, records: int, *, is_least: bool = False) -> None:
        """Count records that are in intact or salvaged batches and are not read."""
        self.records_not_read += records
        self.are_more_not_read |= is_least

    def report(self, path: str, file_type: str, size: int) -> FileReport:
        """The report of the file; the rest of its bytes is counted as not examined."""
        self.add(self.NOT_EXAMINED, max(size, self.position))
        report = FileReport(
            path,
            file_type,
            self.position,
            self.batches[self.INTACT],
            self.batches[self.SALVAGED],
            self.batches[self.DAMAGED],
            *self.bytes.values(),
        )
        report.cells = bytes(self.cells)
        report.records_not_read, report.are_more_not_read = self.records_not_read, self.are_more_not_read
        return report


STATUS_BITS = {
    ByteCoverage.INTACT: 1,
    ByteCoverage.ZERO: 2,
    ByteCoverage.NOT_EXAMINED: 4,
    ByteCoverage.SALVAGED: 8,
    ByteCoverage.DAMAGED: 16,
}
"""The statuses of bytes in a map: a larger number takes precedence."""
