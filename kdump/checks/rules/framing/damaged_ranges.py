"""Ranges of bytes without readable batches: what is reported about each depends on its code."""

from __future__ import annotations

from array import array
from itertools import chain

from kdump.binary import kernel
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    LAST_OFFSET_DELTA,
    MAGIC_AT,
    RECORD_COUNT,
    batch_size,
)
from kdump.binary.source import WINDOW_SIZE
from kdump.checks.finding import ERROR, WARNING
from kdump.checks.rules.framing.checksums import only_wrong
from kdump.checks.rules.framing.file_kinds import kind_of_file, looks_of
from kdump.checks.rules.framing.lengths import MAX_SEGMENT_SIZE
from kdump.checks.wording import as_sentence, capitalized, counted, offset_range
from kdump.formats.record_batch import RecordBatch
from kdump.reading import salvage
from kdump.reading.damages import zero_hole
from kdump.reading.items import BY_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import ClassVar, Unpack

    from kdump.checks.context import Details, FileContext, Words
    from kdump.checks.rules.framing.checksums import Checksums
    from kdump.checks.rules.framing.file_end import FileEnd
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.reading.items import Damage

_HOLE = "zero-hole"
_PAGE_BYTES = 4096
_SAMPLE_BYTES = 64 << 10  # of a damaged range, that are looked at
_MAX_RECORDS_A_STEP = 4096
_LOOKS_OF_UNREADABLE = ("zero-hole", "zero-tail", "garbage-region")  # codes that bytes get which the device does not return
_COUNTED = (
    "garbage-region",
    "crc-mismatch",
    "resync-budget",
    "batch-length-negative",
    "batch-length-too-small",
    "batch-length-absurd",
)
"""Codes of ranges with a finding each: of those beyond their number, nothing more is found out."""


class DamagedRanges:
    """Reports the damaged ranges of a segment, with the offsets that are missing there."""

    def __init__(self, context: FileContext, facts: SegmentFacts, checksums: Checksums, file_end: FileEnd) -> None:
        self._context = context
        self._facts = facts
        self._checksums = checksums
        self._file_end = file_end
        self._holes = array("q"), array("q"), array("q")
        """Of ranges of zeros: where each starts and ends, and the number of batches before it."""

    def add(self, damage: Damage) -> None:
        """Report a damaged range, now or when it is known which offsets are missing."""
        self._file_end.is_damaged = damage.end >= self._context.source.size
        if damage.code in _LOOKS_OF_UNREADABLE and self._context.is_unreadable(damage.start, damage.end):
            return  # reported as bytes that cannot be read
        if damage.start and damage.code in _COUNTED and self._context.counts_only(damage.code, damage.start, damage.end):
            return
        self._HANDLERS.get(damage.code, DamagedRanges._add_other)(self, damage)

    # Each kind of damage

    def _add_hole(self, damage: Damage) -> None:
        for column, value in zip(self._holes, (damage.start, damage.end, len(self._facts.positions)), strict=True):
            column.append(value)

    def _report_zero_tail(self, damage: Damage) -> None:
        size = self._context.source.size
        zeros = damage.end - damage.start
        message = "The last byte of the file is zero." if zeros == 1 else f"The last {zeros:,} bytes of the file are zero."
        if size % (1 << 20) == 0:
            message += f" The file is {size >> 20:,} MiB exactly: it looks preallocated."
        is_newest = self._context.is_newest
        if is_newest is None:
            is_newest = size % _PAGE_BYTES == 0  # preallocated files end so, and hardly any other
        words, offsets = self._missing_at_end()
        self._report(damage, message + words, severity=WARNING if is_newest and not offsets else ERROR, offsets=offsets)

    def _report_torn_header(self, damage: Damage) -> None:
        size = counted(damage.end - damage.start, "byte", "bytes")
        words, offsets = self._missing_at_end()
        severity = ERROR if offsets else self._file_end.severity
        message = f"The file ends with {size}, too few for a batch header."
        self._report(damage, message + words, severity=severity, offsets=offsets)

    def _report_torn_tail(self, damage: Damage) -> None:
        start = damage.start
        header_bytes = self._context.source.read(start, BATCH_HEADER_SIZE)
        size = batch_size(header_bytes)
        there = damage.end - start
        missing = size - there
        message = f"The last batch says it is {size:,} bytes long; {missing:,} of them are missing."
        offsets = None
        if len(header_bytes) == BATCH_HEADER_SIZE and header_bytes[MAGIC_AT] == 2:
            header = BATCH_HEADER.unpack(header_bytes)
            first, last = header[BASE_OFFSET], header[BASE_OFFSET] + max(header[LAST_OFFSET_DELTA], 0)
            message = (
                f"The last batch, {offset_range(first, last)}, says it is {size:,} bytes long; {missing:,} of them are missing."
            )
            if not header[ATTRIBUTES] & COMPRESSION_MASK:
                whole = self._whole_records(start + BATCH_HEADER_SIZE, damage.end, header[RECORD_COUNT])
                message += f" Whole and salvageable: {whole:,} of {counted(header[RECORD_COUNT], 'record', 'records')}."
            offsets = (first, last) if last > self._file_end.last_offset else None  # else it is a copy of one before
        words, gap = self._missing_at_end()
        if gap and offsets and self._up_to_next_segment() is None:
            (first, last), (first_missing, last_missing) = offsets, gap
            if first == first_missing:
                gap = first, max(last, last_missing)
        severity = ERROR if gap else self._file_end.severity
        self._report(damage, message + words, severity=severity, offsets=gap or offsets, expected=size, found=there)

    def _whole_records(self, start: int, end: int, count: int) -> int:
        """How many whole records there are before the end of the file."""
        whole = 0
        while whole < count and start < end:
            data = self._context.source.read(start, min(WINDOW_SIZE, end - start))
            position = before = 0
            while whole < count:
                rows: list[object] = []
                step = min(count - whole, _MAX_RECORDS_A_STEP)
                position, _, _ = kernel.walk_records(data, position, len(data), step, len(data), False, rows)  # type: ignore[arg-type]
                whole += len(rows)
                if len(rows) < step:
                    break
            if position == before:
                break
            start += position
        return whole

    def _add_garbage(self, damage: Damage) -> None:
        start, end = damage.start, damage.end
        if start == 0 and (self._kind_of_file() or end >= self._context.source.size):
            self._report_no_segment(damage)
        else:
            looks = "" if self._context.is_full(damage.code) else self._looks(start, end)
            self._report_range(damage, f"{counted(end - start, 'byte that is', 'bytes that are')} not a batch: {looks}.")

    def _report_no_segment(self, damage: Damage) -> None:
        kind = self._kind_of_file()
        damage.code = "not-a-segment"
        if kind:  # unpacked, it may have all that it should
            self._report(damage, f"This is not a segment: it starts like a file of type {kind}.", found=kind)
        else:
            self._report_range(damage, f"No batch in the whole file: {self._looks(damage.start, damage.end)}.")

    def _kind_of_file(self) -> str:
        return kind_of_file(self._context.source.read(0, 512))

    def _looks(self, start: int, end: int) -> str:
        return looks_of(self._context.source.read(start, min(_SAMPLE_BYTES, end - start)))

    def _add_crc_mismatch(self, damage: Damage) -> None:
        why = "its length does not lead to a batch: bytes are missing, extra or changed"
        if damage.resync == BY_LENGTH:
            why = "its codec does not exist"
        elif damage.message == salvage.LEADS_OVER_BATCHES:
            why = "its length covers batches that continue its offsets: these are listed"
        self._report_range(damage, f"The CRC of one batch does not match, and {why}.")

    def _leave_to_records(self, damage: Damage) -> None:
        """The rules for records report this."""

    def _add_search_limit(self, damage: Damage) -> None:
        size = damage.end - damage.start
        message = f"{size:,} bytes repeatedly look like batch headers, but are not; the search was cut short."
        self._report_range(damage, message)

    def _add_bad_magic(self, damage: Damage) -> None:
        message = capitalized(damage.message)
        if self._checksums.fits_as_magic_2(damage.start, damage.end):
            message = f"One batch. {message}; {only_wrong(damage.resync)}"
        magic = int.from_bytes(self._context.source.read(damage.start + MAGIC_AT, 1), "big", signed=True)
        self._report_range(damage, f"{message}.", expected=2, found=magic)

    def _add_other(self, damage: Damage) -> None:
        self._report_range(damage, as_sentence(damage.message))

    _HANDLERS: ClassVar[Mapping[str, Callable[[DamagedRanges, Damage], None]]] = {
        _HOLE: _add_hole,
        "zero-tail": _report_zero_tail,
        "torn-tail": _report_torn_tail,
        "torn-header": _report_torn_header,
        "garbage-region": _add_garbage,
        "crc-mismatch": _add_crc_mismatch,
        "codec-unknown": _leave_to_records,
        "resync-budget": _add_search_limit,
        "bad-magic": _add_bad_magic,
    }

    # Missing offsets

    def _report_range(self, damage: Damage, message: str, **details: Unpack[Details]) -> None:
        """Report a damaged range, with the offsets that are missing there."""
        self._report(damage, words=_words(message), **details)

    def report_holes(self) -> None:
        """Report ranges of zeros between batches, with how much a restart would delete after each."""
        facts, context = self._facts, self._context
        starts, ends, counts = self._holes
        highest_after = self._highest_offsets_after(counts)
        for start, end, count, last in zip(starts, ends, counts, highest_after, strict=True):
            if context.counts_only(_HOLE, start, end):
                continue
            following = len(facts.positions) - count
            deleted = ""
            if following > 0:
                deleted = (
                    f" {counted(following, 'batch', 'batches')} after, {offset_range(facts.lowest_offsets[count], last)}: "
                    "a restart that scans this segment deletes them."
                )
            what = f"{counted(end - start, 'byte is', 'bytes are')} zero."
            self._report(
                zero_hole(start, end),
                words=_words(what, deleted),
                found=following,
            )

    def _highest_offsets_after(self, counts: Sequence[int]) -> list[int]:
        """The highest offset after each of these numbers of batches, -1 if none follows. Each batch is looked at once."""
        highest, end, found = -1, len(self._facts.positions), []
        for count in reversed(counts):
            highest = max(chain((highest,), self._facts.last_offsets[count:end]))
            end = count
            found.append(highest)
        return found[::-1]

    def _missing_at_end(self) -> tuple[str, tuple[int, int] | None]:
        """The offsets missing after the last batch, after a sentence that names them; "" and None if none.

        They are those up to the next segment, or else those that other files know of.
        """
        offsets = self._up_to_next_segment()
        return self._file_end.lost_offsets() if offsets is None else (_missing_here(offsets), offsets)

    def _up_to_next_segment(self) -> tuple[int, int] | None:
        first, following = self._file_end.last_offset + 1, self._context.next_base_offset
        if following is None or not first < following <= first + MAX_SEGMENT_SIZE:
            return None
        return first, following - 1

    def _report(
        self,
        damage: Damage,
        message: str = "",
        *,
        offsets: tuple[int, int] | None = None,
        words: Words | None = None,
        **details: Unpack[Details],
    ) -> None:
        """Report a damaged range; its offsets are those that its header claims, if no others are known."""
        if details.get("severity") is None and self._context.counts_only(damage.code, damage.start, damage.end):
            return
        row = damage.row if offsets is None and damage.through == "isvalid" else None
        if row is not None:
            assert isinstance(row, RecordBatch)
            offsets = (row.first_offset, row.last_offset)
        self._context.report(
            damage.code,
            damage.start,
            damage.end,
            message,
            offsets=offsets,
            is_estimated=True,
            resync=damage.resync,
            skipped=damage.end - damage.start,
            words=words,
            header=row,
            **details,
        )


def _words(message: str, rest: str = "") -> Words:
    """The message of a damaged range, with the offsets that are missing before the rest."""
    return lambda offsets, is_claimed: message + _missing_here(None if is_claimed else offsets) + rest


def _missing_here(offsets: tuple[int, int] | None) -> str:
    """A sentence about offsets that are missing; "" if none are known."""
    return "" if offsets is None else f" Missing here: {offset_range(*offsets)}."
