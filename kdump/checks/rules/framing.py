"""Where batches begin and end, and whether their bytes are what their checksums say."""

from __future__ import annotations

from kdump.checks import salvage
from kdump.checks.finding import BY_LENGTH, BY_SCAN, END
from kdump.checks.rules.rule import SegmentRule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.salvage import Damage, Section


class Framing(SegmentRule):
    """Torn tails, checksums, ranges without batches."""

    def batches(self, section: Section) -> None:
        if salvage.DAMAGED not in section.statuses:
            return
        for row, is_valid in enumerate(section.chunk.batches["isvalid"]):
            if not is_valid:
                batch = section.chunk.batches.row(row)
                first = batch.last_offset if batch.base_offset is None else batch.base_offset
                self.context.report(
                    "crc-mismatch",
                    batch.position,
                    batch.position + batch.size,
                    f"One batch, offsets {first:,} to {batch.last_offset:,}. Stored CRC 0x{batch.crc:08x} does not fit.",
                    offsets=(first, batch.last_offset),
                    resync=BY_LENGTH,
                    skipped=batch.size,
                )

    def damage(self, damage: Damage) -> None:
        codes = {"torn-header": "torn-header", "torn-batch": "torn-tail"}
        code = codes.get(damage.code)
        if code is not None:
            resync = END if damage.end >= self.context.source.size else BY_SCAN
            self.context.report(code, damage.start, damage.end, damage.message, resync=resync, skipped=damage.end - damage.start)


RULES: tuple[type[SegmentRule], ...] = (Framing,)
