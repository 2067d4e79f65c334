"""Gaps between the offsets of batches in topics that may be compacted: counted, and reported in one finding."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.rules.order.batch import Batch


class CompactionGaps:
    """The number of gaps and of the offsets missing there; of the gaps themselves, the first and the last."""

    def __init__(self, context: FileContext) -> None:
        self._context = context
        self._gaps: list[tuple[Batch, Batch]] = []  # the batches before and after the first and the last gap
        self._count = self._missing_count = 0

    def add(self, before: Batch, after: Batch) -> None:
        """Keep the place of a gap."""
        self._gaps.append((before, after))
        del self._gaps[1:-1]

    def count(self, gaps: int, missing_offsets: int) -> None:
        """Count gaps, whether their places are kept or not."""
        self._count += gaps
        self._missing_count += missing_offsets

    def report(self) -> None:
        """Report the gaps whose places were kept, with the number of all."""
        if not self._gaps:
            return
        (before_first, _), (_, after_last) = self._gaps[0], self._gaps[-1]
        first, last = before_first.last + 1, after_last.first - 1
        gaps = "gap" if self._count == 1 else "gaps"
        offsets = "offset is" if self._missing_count == 1 else "offsets are"
        message = f"{self._count:,} {gaps} between {first:,} and {last:,}; {self._missing_count:,} {offsets} missing."
        message += f" {self._context.topic_policy.on_gaps}"
        self._context.report(
            "offset-gap", before_first.position, after_last.end, message, offsets=(first, last), found=self._missing_count
        )
