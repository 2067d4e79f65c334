"""The end of a log: whether it is cut off, according to the other files of the partition."""

from __future__ import annotations

from kdump.checks.finding import ERROR, WARNING
from kdump.checks.rules import witnesses
from kdump.checks.wording import offset_range
from kdump.reading.items import END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts


class FileEnd:
    """Compares the end of a log with the other files. `is_damaged` says whether its last bytes are not a sound batch."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        self._context = context
        self._facts = facts
        self.is_damaged = False

    @property
    def severity(self) -> str:
        """The severity of an end as a killed broker leaves it. A file that is being written to shows by its growth."""
        return WARNING if self._context.is_newest else ERROR

    def lost_offsets(self) -> tuple[str, tuple[int, int] | None]:
        """The offsets known to be lost with the end of the file, after a sentence that names them; "" and None if none."""
        last = self.last_offset
        found = self._witnesses()
        if not found:
            return "", None
        attested = max(witness.offset for witness in found)
        them = "it" if attested == last + 1 else "them"
        return f" Lost: {offset_range(last + 1, attested)}, for {witnesses.words(found)} of {them}.", (last + 1, attested)

    def report_missing_batches(self) -> None:
        """Report a log that ends after a whole batch, if the files beside it know of later ones."""
        context = self._context
        found = [] if self.is_damaged else self._witnesses()
        if not found:
            return
        last, attested = self.last_offset, max(witness.offset for witness in found)
        ends = f"ends after offset {last:,}, at the end of a batch" if self._facts.end else "is empty"
        message = f"The file {ends}, but {witnesses.words(found)} of offset {attested:,}: batches seem to be cut off."
        context.report(
            "truncated-at-boundary",
            self._facts.end,
            context.source.size,
            message,
            offsets=(last + 1, attested),
            is_estimated=True,
            expected=attested,
            found=last,
            resync=END,
        )

    def _witnesses(self) -> list[witnesses.Witness]:
        """The files that know of offsets after the last one; by position only if no bytes before it may be missing."""
        found = witnesses.after(self._context, self.last_offset)
        return [witness for witness in found if not (witness.is_by_position and self._facts.is_damaged)]

    @property
    def last_offset(self) -> int:
        """The highest offset so far; if there is none, the one before the segment's first."""
        return self._facts.last_offsets.highest((self._context.base_offset or 0) - 1)
