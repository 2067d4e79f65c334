"""The order of offsets and leader epochs, from batch to batch and from segment to segment."""

from __future__ import annotations

from kdump.binary.batch_header import BASE_OFFSET, BATCH_HEADER_SIZE, LAST_OFFSET_DELTA, LEADER_EPOCH
from kdump.binary.source import WINDOW_SIZE
from kdump.checks.finding import ERROR, INFO
from kdump.checks.rules import witnesses
from kdump.checks.rules.order.batch import Batch, report_batch
from kdump.checks.rules.order.deltas import Deltas
from kdump.checks.rules.order.gaps import CompactionGaps
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import offset_range
from kdump.formats.file_name import LOG
from kdump.reading import flipped_end, salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.checks.context import FileContext
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Damage, Section

_MAX_INT = 0x7FFFFFFF
_MAX_LONG = 0x7FFFFFFFFFFFFFFF
_NO_EPOCH = -1


class BatchOrder(SegmentRule):
    """Compares each batch with those before it; one that may be out of order waits for the batch after it."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._last: Batch | None = None  # the last batch in line
        self._suspect: Batch | None = None  # one after it that may be out of line
        self._break: tuple[Batch, Batch] | None = None  # the batches on both sides of the last jump
        self._follows_damage = False
        self._gaps = CompactionGaps(context)
        self._deltas = Deltas(context, facts)
        self._without_epoch: tuple[int, int, int] | None = None
        self._overflowed = False
        self._partition = context.partition if context.file_type == "log" else None
        before = None if self._partition is None else self._partition.leader_epoch
        self._epoch = _NO_EPOCH if before is None else before

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is None or summary.overfull:
            self._deltas.check(section)
        else:
            self._deltas.check_summary(summary)
        if summary is not None and self._is_in_line(summary):
            return
        self._check_batches(section)

    def _check_batches(self, section: Section) -> None:
        """Compare each batch with those before it."""
        if section.status == salvage.DAMAGED:
            self.damage(None)
            return
        if section.is_nested:
            return  # payload, perhaps
        chunk, batches, lowest = section.chunk, section.chunk.batches, section.lowest_offsets
        for row, (position, size) in enumerate(zip(batches["position"], batches["size"], strict=True)):
            header = chunk.headers[row]
            first = last = header[BASE_OFFSET]
            epoch = self._epoch  # where the format has none, it stays
            is_open = False
            if lowest is not None:
                known = lowest[row]
                first, is_open = (last, True) if known is None else (known, False)
            elif not chunk.is_legacy:
                last += header[LAST_OFFSET_DELTA]
                epoch = header[LEADER_EPOCH]
            batch = Batch(position, position + size, first, last, header[BASE_OFFSET], epoch, section.status, is_open)
            if self._suspect is None and section.is_intact and self._follows_as_usual(batch):
                self._last, self._follows_damage = batch, False
            else:
                self._check_batch(batch)

    def _follows_as_usual(self, batch: Batch) -> bool:
        """Whether there is nothing to report about an intact batch that follows another, or damage, in the same leader epoch."""
        last, base_offset = self._last, self.context.base_offset
        if last is None or not last.last < batch.first <= batch.last <= _MAX_LONG or batch.epoch != self._epoch:
            return False
        is_next = self._follows_damage or batch.is_open or batch.first == last.last + 1
        return is_next and self._epoch != _NO_EPOCH and (base_offset is None or batch.last - base_offset <= _MAX_INT)

    def _is_in_line(self, summary: BatchSummary) -> bool:
        """Whether the batches follow those before in order. If so, valid gaps are counted, and the last batch is kept."""
        last, base_offset = self._last, self._base_offset()
        if self._suspect is not None or self._follows_damage:
            return False
        epoch = self._epoch
        if not summary.is_legacy:
            if summary.lowest_leader_epoch < self._epoch:
                return False
            epoch = summary.last_leader_epoch  # they do not go back: batches of which some do are not all intact
        if base_offset is not None and summary.last_offset - base_offset > _MAX_INT:
            return False
        if last is None:
            if base_offset is not None and summary.first_offset < base_offset:
                return False
        elif summary.first_offset <= last.last:
            return False
        follows_gap = last is not None and summary.first_offset != last.last + 1
        last_after_gap = summary.after_last_gap if summary.gaps else summary.positions[0] if follows_gap else -1
        if summary.is_legacy and last_after_gap == summary.last_position:
            return False  # the batch after a wrapper says whether its offset is wrong
        if (follows_gap or summary.gaps) and not self._may_be_compacted:
            return False
        if follows_gap and last is not None:
            self._jump(last, self._batch_at(summary, summary.positions[0]))
        if summary.gaps:
            self._count_gaps(summary)
        self._epoch = epoch
        self._last = self._batch_at(summary, summary.last_position)
        return True

    def _batch_at(self, summary: BatchSummary, position: int) -> Batch:
        """The batch at this position, with the present epoch."""
        first, last, end = summary.extent_at(position)
        return Batch(position, end, first, last, first, self._epoch, salvage.INTACT)

    def _count_gaps(self, summary: BatchSummary) -> None:
        """Count the gaps between these batches."""
        for before, after in (
            (summary.before_first_gap, summary.after_first_gap),
            (summary.before_last_gap, summary.after_last_gap),
        ):
            last, batch = self._batch_at(summary, before), self._batch_at(summary, after)
            self._gaps.add(last, batch)
            self._break = (last, batch)
        self._gaps.count(summary.gaps, summary.missing)

    def damage(self, damage: Damage | None) -> None:
        self._settle(None)
        self._follows_damage = True

    # One batch after the other

    def _check_batch(self, batch: Batch) -> None:
        if batch.first < 0 or batch.last > _MAX_LONG:
            message = f"One batch has {offset_range(batch.first, batch.last)}: none can be negative or above 2^63 - 1."
            self._report("offset-negative", batch, message, found=f"0x{batch.first & (1 << 64) - 1:016x}")
            self._follows_damage = True
            return
        if batch.last < batch.first:
            return  # a negative delta is reported with the deltas
        if batch.epoch < _NO_EPOCH:
            self._report(
                "leader-epoch-negative",
                batch,
                f"The leader epoch is {batch.epoch:,}; only -1 (none) may be negative.",
                found=batch.epoch,
            )
            batch.epoch = self._epoch
        self._settle(batch)
        is_sure = batch.first == batch.stated or self._last is not None and batch.first == self._last.last + 1
        if batch.status != salvage.INTACT or not self._is_next(batch) or not is_sure:
            self._suspect = batch
        else:
            self._accept(batch)

    def _is_next(self, batch: Batch) -> bool:
        if self._last is not None and batch.first <= self._last.last:
            return False
        return batch.epoch == _NO_EPOCH or batch.epoch >= self._epoch

    def _accept(self, batch: Batch) -> None:
        """Continue the order with this batch."""
        last, base_offset = self._last, self._base_offset()
        if last is None and base_offset is not None and batch.first < base_offset:
            message = f"The first offset is {batch.first:,}, but the file name says {base_offset:,}."
            right = f"{batch.first:020d}{LOG}"
            self._report(
                "offset-below-base", batch, f"{message} The right name may be {right}.", expected=base_offset, found=batch.first
            )
        if base_offset is not None and batch.last - base_offset > _MAX_INT and not self._overflowed:
            self._overflowed = True
            message = (
                f"Offset {batch.last:,} is {batch.last - base_offset:,} above the segment base; the maximum is {_MAX_INT:,}."
            )
            self._report("offset-overflow-int32", batch, message, expected=_MAX_INT, found=batch.last - base_offset)
        if last is not None and batch.first > last.last + 1 and not self._follows_damage and not batch.is_open:
            self._jump(last, batch)
        self._look_at_epoch(batch)
        self._follows_damage = False
        self._last = batch

    def _look_at_epoch(self, batch: Batch) -> None:
        if batch.epoch == _NO_EPOCH and self._epoch >= 0:
            first, _, count = self._without_epoch or (batch.position, 0, 0)
            self._without_epoch = (first, batch.end, count + 1)
        self._epoch = max(self._epoch, batch.epoch)

    def _jump(self, last: Batch, batch: Batch) -> None:
        """Report or count the offsets that are missing between two batches."""
        if self._is_return(last, batch):
            return
        self._break = (last, batch)
        missing = batch.first - last.last - 1
        self._gaps.count(1, missing)
        if self._may_be_compacted:
            self._gaps.add(last, batch)
            return
        why = self.context.topic_policy.why_not_compacted
        offsets = (last.last + 1, batch.first - 1)
        gap = f"{missing:,} are missing, {offset_range(*offsets)}" if missing > 1 else f"{offset_range(*offsets)} is missing"
        message = f"Offset {last.last:,} is followed by {batch.first:,}: {gap}, though {why}."
        values = {"severity": ERROR, "offsets": offsets, "expected": last.last + 1, "found": batch.first}
        self.context.report("offset-gap", last.position, batch.end, message, **values)  # type: ignore[arg-type]

    @property
    def _may_be_compacted(self) -> bool:
        """Whether missing offsets are valid. In files that are not logs, offsets are not those of a topic."""
        context = self.context
        return context.topic_policy.may_be_compacted if context.file_type == "log" else context.settings.may_be_compacted

    def _is_return(self, last: Batch, batch: Batch) -> bool:
        """Whether offsets continue where they were before the last jump: then the batches in between are from elsewhere."""
        if self._break is None:
            return False
        before, first = self._break
        if batch.first != before.last + 1:
            return False
        self._break = None
        if (original := self._original_of(first, last.end)) is not None:
            offsets, rest = (first.last + 1, last.last), original + first.end - first.position  # the first one was reported
            message = f"The bytes from {rest:,} on, {offset_range(*offsets)}, are here again."
            if first.end < last.end:
                self.context.report("batch-duplicate-bytes", first.end, last.end, message, offsets=offsets, found=rest)
            return True
        offsets = (first.first, last.last)
        message = (
            f"Offsets {first.first:,} to {last.last:,} do not fit between the batches on both sides, which continue from "
            f"{before.last:,} to {batch.first:,}: these bytes seem to come from another partition."
        )
        self.context.report("batch-foreign-topic-hint", first.position, last.end, message, offsets=offsets)
        return True

    def _settle(self, following: Batch | None) -> None:
        """Report what is wrong with the suspect, now that the batch after it is known."""
        suspect, self._suspect = self._suspect, None
        if suspect is None:
            return
        last, before = self._last, self._last_offset
        offsets_fit = before < suspect.first and (following is None or suspect.last < following.first)
        if offsets_fit and self._epochs_fit(suspect, following):
            self._accept(suspect)
            return
        if following is not None and before < following.first:  # these are in line with each other
            is_told = self._is_flipped_epoch(suspect, following) if offsets_fit else self._has_no_room(suspect, following)
            if is_told:
                return
        if offsets_fit:
            self._report_epoch(suspect)
        elif last is None or before < suspect.first:
            self._accept(suspect)  # it is the one after it that goes back
            return
        else:
            if not self._is_duplicate(suspect) and not self._is_return(last, suspect):
                self._report_regression(last, suspect)
            if following is None or before < following.first:
                return
            self._break = (last, suspect)
        self._last = suspect
        self._follows_damage = False

    @property
    def _last_offset(self) -> int:
        """That of the last batch in line, or the one before the base offset."""
        return (self._base_offset() or 0) - 1 if self._last is None else self._last.last

    def _epochs_fit(self, suspect: Batch, following: Batch | None) -> bool:
        """Whether the leader epoch does not go back, neither at the suspect nor after it."""
        if suspect.epoch == _NO_EPOCH:
            return True
        goes_back_after = following is not None and 0 <= following.epoch < suspect.epoch
        return self._epoch <= suspect.epoch and not goes_back_after

    def _is_flipped_epoch(self, suspect: Batch, following: Batch) -> bool:
        """Whether only the leader epoch of the suspect does not fit those on both sides; reported if so."""
        if following.epoch < max(self._epoch, 0):
            return False
        self._report_rot(suspect, "leader epoch", max(self._epoch, 0), suspect.epoch, is_exact=following.epoch == self._epoch)
        self._last = suspect
        return True

    def _has_no_room(self, suspect: Batch, following: Batch) -> bool:
        """Whether the suspect, whose offsets do not fit, has others, or is from elsewhere, as what is on both sides says."""
        last, before = self._last, self._last_offset
        room, needed = following.first - before - 1, suspect.last - suspect.first + 1
        if room >= needed:
            fits = before + 1 if last is not None else following.first - needed
            fits += suspect.stated - suspect.first
            self._report_rot(suspect, "base offset", fits, suspect.stated, is_exact=room == needed)
            self._follows_damage = True  # the offsets in between are these
            return True
        is_elsewhere = last is not None and room == 0 and (following.last < suspect.first or suspect.last < last.first)
        if is_elsewhere and not self._is_duplicate(suspect):
            message = f"Offsets {suspect.first:,} to {suspect.last:,} stand between {before:,} and {following.first:,}."
            self._report("batch-foreign-topic-hint", suspect, f"{message} This batch seems to come from another partition.")
        return is_elsewhere

    def _report_epoch(self, suspect: Batch) -> None:
        """Report that the leader epoch goes back at the suspect, if it does; it goes on from there."""
        if not _NO_EPOCH < suspect.epoch < self._epoch:
            return
        if not self._counts_only("leader-epoch-regression", suspect):
            is_first = self._last is None
            where = f"; an earlier segment has epoch {self._epoch:,}" if is_first else f" follows epoch {self._epoch:,}"
            message = f"Leader epoch {suspect.epoch:,} at offset {suspect.first:,}{where}."
            self._report("leader-epoch-regression", suspect, message, expected=self._epoch, found=suspect.epoch)
        self._epoch = suspect.epoch

    def _report_rot(self, suspect: Batch, field: str, fits: int, found: int, *, is_exact: bool) -> None:
        if self._counts_only("uncovered-header-rot", suspect):
            return
        message = (
            f"One batch says its {field} is {found:,}, which does not fit the batches around it; {fits:,} would fit"
            f"{'' if is_exact else ', or more'}. Its CRC matches and does not cover this field: probably only the field is wrong."
        )
        self._report("uncovered-header-rot", suspect, message, expected=fits, found=found)

    def _is_duplicate(self, suspect: Batch) -> bool:
        """Whether the suspect is a copy of an earlier batch; reported if so."""
        original = self._original_of(suspect, suspect.end)
        if original is not None:
            message = f"The batch of byte {original:,}, {offset_range(suspect.first, suspect.last)}, is here again, byte by byte."
            self._report("batch-duplicate-bytes", suspect, message, found=original)
        return original is not None

    def _original_of(self, copy: Batch, end: int) -> int | None:
        """The position of the same bytes earlier in the file, from this batch up to `end`."""
        facts = self.facts
        row, offsets = facts.first_offsets.from_first(copy.first, 2)
        positions = (facts.positions[candidate] for candidate, offset in enumerate(offsets, row) if offset == copy.first)
        earlier = (position for position in positions if position < copy.position)
        return next((one for one in earlier if _are_equal(self.context.source, one, copy.position, end - copy.position)), None)

    def _report_regression(self, last: Batch, suspect: Batch) -> None:
        """Report offsets that go back: they overlap those of the last batch, or jump."""
        if self._counts_only("offset-duplicate" if suspect.last >= last.first else "offset-regression", suspect):
            return
        if suspect.last >= last.first:
            first, shared = max(suspect.first, last.first), min(suspect.last, last.last)
            message = f"Offsets {first:,} to {shared:,} are in this batch and in the one before, at byte {last.position:,}."
            self._report("offset-duplicate", suspect, message, expected=last.last + 1, found=suspect.first)
            return
        message = f"Offsets go back from {last.last:,} to {suspect.first:,} at byte {suspect.position:,}."
        self._report("offset-regression", suspect, message, expected=last.last + 1, found=suspect.first)

    def _counts_only(self, code: str, batch: Batch) -> bool:
        """Whether a finding about this batch needs no message; if so, it is counted here."""
        return self.context.counts_only(code, batch.position, batch.end)

    def _report(self, code: str, batch: Batch, message: str, *, expected: object = None, found: object = None) -> None:
        report_batch(self.context, code, batch, message, expected=expected, found=found)

    def _base_offset(self) -> int | None:
        return self.context.base_offset if self.context.file_type == "log" else None

    def _look_at_end(self) -> None:
        """Report the offset of the last batch of all if it follows a gap, and another file says that it ends elsewhere."""
        last, context = self._last, self.context
        if last is None or context.partition is None or not context.is_newest or self._break is None:
            return
        before, after = self._break
        for offset, name, is_of_end in witnesses.ends(context.partition):
            fits = offset - (last.last - last.first + 1)
            is_inside = last.first < offset <= last.last or is_of_end and fits == before.last + 1
            if after.position == last.position and before.last < fits < last.first and is_inside:
                message = (
                    f"One batch has {offset_range(last.first, last.last)}, and {name} was written where "
                    f"another one ended: {fits:,} would fit as its base offset, which its CRC does not cover."
                )
                self._report("uncovered-header-rot", last, message, expected=fits, found=last.first)
                self.facts.true_last = offset - 1
                return
        shift = last.first - before.last - 1
        if after.position == last.position and self._is_flipped(context.partition, before, last, shift):
            message = (
                f"One batch has {offset_range(last.first, last.last)}, and was written right after offset {before.last:,} by its "
                f"timestamps: {last.stated - shift:,} would fit, which differs in one bit. Its CRC does not cover this field."
            )
            self._report("uncovered-header-rot", last, message, expected=last.stated - shift, found=last.stated)
            self.facts.true_last = last.last - shift

    def _is_flipped(self, partition: PartitionFacts, before: Batch, last: Batch, shift: int) -> bool:
        """Whether one bit of the last offset is wrong by the batches before it, and no other file knows of so many offsets."""
        positions = self.facts.positions[0], before.position, last.position
        headers = [self.context.source.read(position, BATCH_HEADER_SIZE) for position in positions]
        is_flip = flipped_end.is_flipped(headers, last.stated - shift, self._gaps.missing_count - shift)
        return is_flip and witnesses.highest_known(partition, self.context.base_offset or 0) <= last.last - shift

    def end(self) -> None:
        self._settle(None)
        self._look_at_end()
        context = self.context
        self._gaps.report()
        self._deltas.report_sparse()
        if self._without_epoch is not None:
            start, end, count = self._without_epoch
            message = f"{count:,} batch{'' if count == 1 else 'es'} without a leader epoch among others that have one."
            context.report("leader-epoch-negative", start, end, message, severity=INFO, found=count)
        if self._partition is not None:
            self._partition.leader_epoch = self._epoch


def _are_equal(source: Source, first: int, second: int, size: int) -> bool:
    for at in range(0, size, WINDOW_SIZE):
        step = min(WINDOW_SIZE, size - at)
        if source.read(first + at, step) != source.read(second + at, step):
            return False
    return True
