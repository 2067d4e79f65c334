"""Messages of magic 0 and 1, and those inside wrappers."""

from __future__ import annotations

from kdump.binary.codecs import CODECS, NONE
from kdump.checks.finding import INFO, WARNING
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import counted, words_of
from kdump.reading import salvage
from kdump.reading.items import BY_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from kdump.checks.context import Details, FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.record import Cut, RecordChunk


class Messages(SegmentRule):
    """Messages of magic 0 and 1, and those inside wrappers."""

    reads_records = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        message = "{count} with offset 0 and absolute offsets inside, as old librdkafka wrote them; the first is here."
        self._absolute = self.tally("legacy-wrapper-offset", message, "wrapper", "wrappers", severity=INFO)

    def records(self, part: RecordChunk, status: str) -> None:
        batches = part.batches
        if batches["base_offset"][0] is not None or status == salvage.DAMAGED:
            return
        records = part.records
        for row, cut in part.cuts.items():
            self._check_cut(part, row, cut)
        for number, faults in part.faults.items():
            self._report("key-length-bad", part, number, f"Offset {{offset}}: {words_of(next(iter(faults.values())))}.")
        for name in ("key_size", "value_size"):
            for number, size in enumerate(records[name]):
                if size is not None and size < -1:
                    what = f"The {name.removesuffix('_size')} length of the message with offset {{offset}}"
                    message = f"{what} is {size:,}; readers treat it as null."
                    self._report("key-length-bad", part, number, message, expected=-1, found=size, severity=WARNING)
        if part.counts.count(1) == len(part.counts) and batches["compresscodec"].count(CODECS[NONE]) == len(part.counts):
            return
        self._check_wrapper(part)

    def _check_wrapper(self, part: RecordChunk) -> None:
        """Check a wrapper, the only batch of the part."""
        batches, records = part.batches, part.records
        magic, offsets = batches["magic"][0], records["offset"]
        if offsets and offsets[-1] - offsets[0] >= len(offsets):
            self.facts.record_thinned(offsets[-1])
        for number, is_valid in enumerate(records["isvalid"]):
            if not is_valid:
                what = f"Message {number + 1:,} in the wrapper, offset {{offset}}"
                message = f"{what}: its own CRC does not match, though that of the wrapper does."
                self._report("legacy-inner-crc", part, number, message, found=f"0x{records['crc'][number]:08x}")
        others = [number for number, inner in enumerate(part.magics) if inner != magic]
        if others:
            inner = part.magics[others[0]]
            message = (
                f"A wrapper of magic {magic} holds {counted(len(others), 'message')} of magic {inner}, from offset {{offset}} on."
            )
            self._report("legacy-inner-magic", part, others[0], message, expected=magic, found=inner)
        if magic == 1 and not batches["last_offset"][0] and offsets and max(offsets) > 0:
            start = batches["position"][0]
            self._absolute.add(start, start + batches["size"][0], (min(offsets), max(offsets)))

    def _check_cut(self, part: RecordChunk, row: int, cut: Cut) -> None:
        """Check what follows the last whole message in the wrapper in this row, which readers leave out without a word."""
        batches = part.batches
        start, offset, magic = (batches[name][row] for name in ("position", "last_offset", "magic"))
        end, count = start + batches["size"][row], counted(cut.count, "message")
        lost = self._lost_behind(start, offset, magic, cut)
        if lost < 1:
            message = f"{counted(cut.size, 'byte follows', 'bytes follow')} the {count} in the wrapper of offset {offset:,}."
            message += " Readers leave them out; its offset is that of the last whole message, so none is lost."
            self.context.report("legacy-wrapper-cut", start, end, message, offsets=(offset, offset), severity=WARNING)
            return
        short = "The wrapper ends inside a message: " if cut.missing is None else f"{counted(cut.missing, 'byte')} short: "
        which = (
            f"the last of {cut.count + 1:,} messages is cut" if lost == 1 else f"message {cut.count + 1:,} of those inside is cut"
        )
        message = f"{short}{which}; the wrapper says offset {offset:,}, the last whole message is {offset - lost:,}."
        if magic == 1 and offset:
            message += f" Offsets inside count back from the wrapper's, so readers give the {count} before it offsets that are "
            message += f"too high by {lost:,}."
        values = {"expected": offset, "found": offset - lost, "resync": BY_LENGTH, "skipped": end - start}
        lost_offsets = (offset - lost + 1, offset)
        self.context.report("legacy-wrapper-cut", start, end, message, offsets=lost_offsets, **values)

    def _lost_behind(self, start: int, offset: int, magic: int, cut: Cut) -> int:
        """How many offsets up to that of the wrapper have no message, because that is cut off.

        Absolute offsets say it (magic 0). Relative ones say it by the header of the message that is cut, as far as that is there;
        else the wrapper before does, which this one continues.
        """
        if magic == 0:
            return offset - cut.last_offset
        if cut.offset is not None and cut.offset > cut.last_offset:
            return cut.offset - cut.last_offset
        row = self.facts.positions.bisect_left(start)
        before = self.facts.last_offsets[row - 1] if row else (self.context.base_offset or 0) - 1
        return max(0, offset - before - 1 - cut.last_offset)

    def _report(
        self,
        code: str,
        part: RecordChunk,
        number: int,
        message: str,
        **details: Unpack[Details],
    ) -> None:
        row = first = 0
        while first + part.counts[row] <= number:
            first += part.counts[row]
            row += 1
        start, offset = part.batches["position"][row], part.records["offset"][number]
        self.context.report(
            code,
            start,
            start + part.batches["size"][row],
            message.format(offset=f"{offset:,}"),
            offsets=(offset, offset),
            **details,
        )
