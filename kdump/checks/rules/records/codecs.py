"""Codecs that batch headers name."""

from __future__ import annotations

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.codecs import CODECS, NONE, ZSTD
from kdump.checks.rules.batch_findings import report_batch
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import counted
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.formats.record_batch import RecordBatch
    from kdump.reading.items import Damage, Section

_CODEC_NAMES = frozenset(CODECS)


class Codecs(SegmentRule):
    """Checks the codecs of batches, and whether compressed batches have a payload."""

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.settings.checks_crcs

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is not None and not summary.bare and not (summary.is_legacy and summary.codecs & 1 << ZSTD):
            return  # codecs that do not exist end a walk
        batches = section.chunk.batches
        names = batches["compresscodec"]
        is_legacy = section.chunk.is_legacy
        for row, name in enumerate(names):
            if name == CODECS[NONE] or section.status == salvage.DAMAGED:
                continue
            if name not in _CODEC_NAMES:
                self._report_unknown(batches.row(row), name)
            elif is_legacy and name == CODECS[ZSTD]:
                batch = batches.row(row)
                message = f"A message of magic {batch.magic} is marked as compressed with zstd, which needs magic 2."
                report_batch(self.context, "codec-not-allowed", batch, message, found=name)
            elif not is_legacy and batches["size"][row] == BATCH_HEADER_SIZE and batches["count"][row]:
                batch = batches.row(row)
                message = (
                    f"The batch says that it holds {counted(batch.count or 0, 'record')}, compressed with {name}, "
                    "but nothing follows its header."
                )
                report_batch(self.context, "payload-empty-compressed", batch, message, expected=batch.count, found=0)

    def damage(self, damage: Damage) -> None:
        if damage.code == "codec-unknown" and damage.row is not None:
            batch: RecordBatch = damage.row  # type: ignore[assignment]  # the walk of a log gives batches
            if batch.isvalid:
                self._report_unknown(batch, batch.compresscodec)

    def _report_unknown(self, batch: RecordBatch, name: str) -> None:
        codec = name.removeprefix("unknown(").removesuffix(")")
        message = f"The CRC matches, but codec {codec} does not exist: its records cannot be read."
        report_batch(self.context, "codec-unknown", batch, message, expected="0 to 4", found=codec)
