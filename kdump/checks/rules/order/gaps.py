"""Gaps between the offsets of batches in topics that may be compacted: counted, and reported in one finding."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.rules.order.batch import Batch


class CompactionGaps:
    """The number of gaps and of the offsets missing there; of the gaps themselves, that with the lowest and the highest offsets.

    Where offsets go back, these need not be the first and the last in the file. `missing_count` is the number of these offsets.
    """

    def __init__(self, context: FileContext) -> None:
        self._context = context
        self._gaps: list[tuple[Batch, Batch]] = []  # the batches before and after the lowest and the highest gap
        self._count = self.missing_count = 0

    def add(self, before: Batch, after: Batch) -> None:
        """Keep the place of a gap."""
        gaps = [*self._gaps, (before, after)]
        self._gaps = [min(gaps, key=lambda gap: gap[0].last), max(gaps, key=lambda gap: gap[1].first)]

    def count(self, gaps: int, missing_offsets: int) -> None:
        """Count gaps, whether their places are kept or not."""
        self._count += gaps
        self.missing_count += missing_offsets

    def report(self) -> None:
        """Report the gaps whose places were kept, with the number of all."""
        if not self._gaps:
            return
        first, last = self._gaps[0][0].last + 1, self._gaps[1][1].first - 1
        start = min(before.position for before, _ in self._gaps)
        end = max(after.end for _, after in self._gaps)
        gaps = "gap" if self._count == 1 else "gaps"
        offsets = "offset is" if self.missing_count == 1 else "offsets are"
        message = f"{self._count:,} {gaps} between {first:,} and {last:,}; {self.missing_count:,} {offsets} missing."
        message += f" {self._context.topic_policy.on_gaps}"
        self._context.report("offset-gap", start, end, message, offsets=(first, last), found=self.missing_count)
