"""The offsets that consumers cannot read because of damage in a log."""

from __future__ import annotations

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.checks.catalogue.running import BREAK_READING
from kdump.checks.finding import AMONG, ERROR, EXACT, INFO, Finding
from kdump.checks.missing_offsets import MAX_OFFSETS_PER_BYTE
from kdump.reading.items import BY_LENGTH, END
from kdump.reading.trust import SEGMENT_REACH
from kdump.verdicts.ranges import Ranges

LOG = "log"
FLOOD = "finding-flood"
_BAD_CRC = "crc-mismatch"  # of a batch whose length does not lead to the next one
_HIDE_WHAT_FOLLOWS = frozenset(
    (
        "batch-length-absurd",
        "batch-length-mismatch",
        "batch-length-negative",
        "batch-length-too-small",
        "garbage-region",
        "resync-budget",
        "zero-hole",
    )
)
"""A broker finds no batch after these before the next entry of its index, so consumers may miss intact ones, too."""
_CLAIM_AT_THE_END = frozenset(("torn-header", "torn-tail", "zero-tail"))
"""Findings whose offsets nothing after them bounds; those of others are what is missing between batches."""
_MAX_OFFSET = 1 << 60  # a header that claims a larger offset is not believed


class UnreadableOffsets:
    """Collects the offsets of one partition that consumers do not get. There are more if it `is_least`.

    Of those `among` which compaction removed some, one for each damaged place is known to be missed.
    """

    def __init__(self) -> None:
        self.ranges = Ranges()
        self.among = Ranges()
        self.is_least = False

    def add(self, finding: Finding) -> None:
        """Take the offsets of batches that a check had to step over."""
        if finding.code == FLOOD:
            self.is_least = True
        is_emptied = finding.resync == BY_LENGTH and finding.skipped == BATCH_HEADER_SIZE  # it has no record
        if not finding.skipped or finding.severity == INFO or finding.file_type != LOG or is_emptied:
            return
        self.is_least |= finding.code in _HIDE_WHAT_FOLLOWS or finding.code == _BAD_CRC and finding.resync == END
        if finding.offset_first is None or finding.offset_last is None or is_implausible(finding):
            self.is_least = True
        else:
            self.ranges.add(finding.offset_first, finding.offset_last)
            if finding.offset_certainty == AMONG:
                self.is_least = True
                if finding.offset_first < finding.offset_last:
                    self.among.add(finding.offset_first, finding.offset_last)

    @property
    def total(self) -> int:
        """How many they are, at least."""
        return self.ranges.total - self.among.total + len(self.among)


def keeps_from_reading(finding: Finding) -> bool:
    """Whether an error of a log keeps consumers from records that were there."""
    is_met = finding.skipped > 0 or finding.code in BREAK_READING
    return is_met and finding.severity == ERROR and finding.file_type == LOG


def is_implausible(finding: Finding) -> bool:
    """Whether the header of damaged bytes claims more offsets than they can hold, or a last one before the first."""
    assert finding.offset_first is not None and finding.offset_last is not None
    count = finding.offset_last - finding.offset_first + 1
    is_far = finding.offset_first < 0 or finding.offset_last > _MAX_OFFSET
    most = (finding.end - finding.start) * MAX_OFFSETS_PER_BYTE if finding.code in _CLAIM_AT_THE_END else SEGMENT_REACH
    return finding.offset_certainty != EXACT and (is_far or not 1 <= count <= most)
