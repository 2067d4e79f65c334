"""The base class of the rules for segments."""

from __future__ import annotations

from kdump.checks.rules.tally import Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from kdump.checks.content import Content, OddTimes, Payload
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.reading.items import Damage, Section


class SegmentRule:
    """Checks the batches of one segment, in order, and reports faults.

    A rule sees every section of neighbouring batches and every damage; one that `reads_records` also the records of each batch,
    after its section. It must cost little for batches that are ordinary: sections come by the thousand batches, as columns.
    """

    reads_records: ClassVar[bool] = False
    reads_contents: ClassVar[bool] = False
    """Whether `records` needs the keys and values of all records, those of damaged batches, too.

    Without such a rule, those of data are None, records as clients write them only come to `odd_times`, and those of damaged
    batches without compression are not read.
    """

    needs_keys: ClassVar[bool] = False
    """Whether a record without a key is not ordinary for this rule."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        self.context = context
        self.facts = facts
        self._tallies: list[Tally] = []

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        """Whether the level of the check includes this rule."""
        return context.settings.reads_payloads or not cls.reads_records

    def batches(self, section: Section) -> None:
        """Check the next batches."""

    def records(self, part: RecordChunk, status: str) -> None:
        """Check records of the next batches, which all have this status; those of a large batch come in several parts."""

    def content(self, content: Content, status: str) -> None:
        """Check the same records, if of magic 2, as they are encoded: a batch at a time, in order, before `records`.

        A large batch comes in several parts, of which the last may be followed by a fault. Smaller ones that cannot be read to
        their end are left out.
        """

    def odd_times(self, times: OddTimes) -> None:
        """Check batches that were passed over because their records are ordinary, but whose timestamps differ from theirs."""

    def payload(self, payload: Payload, status: str) -> None:
        """Check the compressed payload of a batch of magic 2 or of a wrapper.

        That of a batch can be read to its end. Those that are exactly one frame of the usual kind may be left out.
        """

    def unreadable(self, chunk: Chunk, row: int, fault: CorruptData, status: str) -> None:
        """Handle a fault in the records of the batch in this row.

        `decoded` among the fault's values counts the records that were read. A batch of magic 2 of which none was read does not
        come to `records`. Where the bad record is known, `data`, `at` and `data_end` are the bytes it stands in, where it starts
        and where the records end.
        """

    def damage(self, damage: Damage) -> None:
        """Handle a range of bytes in which no batch can be read."""

    def tally(self, code: str, message: str, one: str = "batch", many: str = "batches", *, severity: str | None = None) -> Tally:
        """Counts what is one finding at the end of the segment; those of a rule are reported in the order they were made in."""
        made = Tally(code, message, one, many, severity)
        self._tallies.append(made)
        return made

    def end(self) -> None:
        """Report what only the whole segment shows."""
        for tally in self._tallies:
            if tally.count:
                tally.report(self.context)
