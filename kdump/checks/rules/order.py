"""How offsets, counts and leader epochs of batches go on."""

from __future__ import annotations

from operator import lt, ne, sub

from kdump.binary.batch_header import ATTRIBUTES, BASE_OFFSET, DELETE_HORIZON_BIT, LAST_OFFSET_DELTA, LEADER_EPOCH
from kdump.binary.source import WINDOW_SIZE
from kdump.checks.finding import ERROR, INFO, WARNING
from kdump.checks.rules.rule import SegmentRule
from kdump.formats.file_name import LOG
from kdump.reading import salvage
from kdump.reading.items import BY_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.source import Source
    from kdump.checks.context import FileContext
    from kdump.checks.facts import SegmentFacts
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Damage, Section

_MAX_INT = 0x7FFFFFFF
_MAX_LONG = 0x7FFFFFFFFFFFFFFF
_NO_EPOCH = -1


class _Batch:
    """What the order of batches is judged by. `last` is computed without wrapping."""

    __slots__ = ("end", "epoch", "first", "last", "position", "status")

    def __init__(self, position: int, end: int, first: int, last: int, epoch: int, status: str) -> None:
        self.position = position
        self.end = end
        self.first = first
        self.last = last
        self.epoch = epoch
        self.status = status


class Order(SegmentRule):
    """Offsets and leader epochs, from batch to batch and from segment to segment."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._last: _Batch | None = None  # the last batch in line
        self._suspect: _Batch | None = None  # one after it that may be out of line
        self._break: tuple[_Batch, _Batch] | None = None  # the batches on both sides of the last jump
        self._is_behind_damage = False
        self._gaps: list[tuple[int, int, int, int]] = []  # first and last: positions, offsets missing
        self._gap_count = self._missing = 0
        self._without_epoch: tuple[int, int, int] | None = None
        self._overflowed = False
        self._mismatched: list[tuple[int, int, int, int]] = []
        self._mismatch_count = 0
        is_log = context.file_type == "log"
        self._carries = context.partition.carried if context.partition is not None and is_log else {}
        carried = self._carries.get("order")
        self._epoch: int = carried if carried is not None else _NO_EPOCH

    def batches(self, section: Section) -> None:
        chunk, summary = section.chunk, section.summary
        if summary is None or summary.overfull:
            self._look_at_deltas(section)
        else:
            if summary.sparse:
                self._note_sparse(summary)
            if summary.empty:
                self._note_thinned(summary.extent_at(summary.last_empty)[1])
            if summary.horizons:
                self._note_thinned(summary.last_offset)
        if summary is not None and self._is_in_line(summary):
            return
        batches = chunk.batches
        columns = zip(batches["position"], batches["size"], section.statuses, strict=True)
        for row, (position, size, status) in enumerate(columns):
            if status == salvage.DAMAGED:
                self.damage(None)
                continue
            header = chunk.headers[row]
            first = last = header[BASE_OFFSET]
            epoch = self._epoch  # where the format has none, it stays
            if not chunk.is_legacy:
                last += header[LAST_OFFSET_DELTA]
                epoch = header[LEADER_EPOCH]
            if position < section.nested_end:
                continue  # payload, perhaps
            self._take(_Batch(position, position + size, first, last, epoch, status))

    def _is_in_line(self, summary: BatchSummary) -> bool:
        """Whether the batches go on from those before; gaps are counted where there may be some. The last batch is taken."""
        last, base_offset = self._last, self._base_offset()
        if self._suspect is not None or self._is_behind_damage:
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
        is_behind_gap = last is not None and summary.first_offset != last.last + 1
        if (is_behind_gap or summary.gaps) and not self.context.settings.may_be_compacted:
            return False
        if is_behind_gap and last is not None:
            self._jump(last, self._batch_at(summary, summary.positions[0]))
        if summary.gaps:
            self._note_gaps(summary)
        self._epoch = epoch
        self._last = self._batch_at(summary, summary.last_position)
        return True

    def _batch_at(self, summary: BatchSummary, position: int) -> _Batch:
        """The batch that starts here, its epoch that of the order."""
        first, last, end = summary.extent_at(position)
        return _Batch(position, end, first, last, self._epoch, salvage.INTACT)

    def _note_gaps(self, summary: BatchSummary) -> None:
        """Count the gaps between these batches, which may be."""
        for before, after in (
            (summary.before_first_gap, summary.after_first_gap),
            (summary.before_last_gap, summary.after_last_gap),
        ):
            last, batch = self._batch_at(summary, before), self._batch_at(summary, after)
            self._gaps.append((last.position, batch.end, last.last + 1, batch.first - 1))
            self._break = (last, batch)
        del self._gaps[1:-1]
        self._gap_count += summary.gaps
        self._missing += summary.missing

    def damage(self, damage: Damage | None) -> None:
        self._settle(None)
        self._is_behind_damage = True

    # One batch after the other

    def _take(self, batch: _Batch) -> None:
        if batch.first < 0 or batch.last > _MAX_LONG:
            message = f"One batch has the offsets {batch.first:,} to {batch.last:,}: they cannot be negative, nor pass 2^63 - 1."
            self._report("offset-negative", batch, message, found=f"0x{batch.first & (1 << 64) - 1:016x}")
            self._is_behind_damage = True
            return
        if batch.last < batch.first:
            return  # a negative delta is reported with the deltas
        if batch.epoch < _NO_EPOCH:
            self._report("leader-epoch-negative", batch, f"The leader epoch is {batch.epoch:,}; none is -1.", found=batch.epoch)
            batch.epoch = self._epoch
        self._settle(batch)
        if batch.status != salvage.INTACT or not self._is_next(batch):
            self._suspect = batch
        else:
            self._accept(batch)

    def _is_next(self, batch: _Batch) -> bool:
        if self._last is not None and batch.first <= self._last.last:
            return False
        return batch.epoch == _NO_EPOCH or batch.epoch >= self._epoch

    def _accept(self, batch: _Batch) -> None:
        """The order goes on with this batch."""
        last, base_offset = self._last, self._base_offset()
        if last is None and base_offset is not None and batch.first < base_offset:
            message = f"The first offset is {batch.first:,}, but the file is named for {base_offset:,}."
            right = f"{batch.first:020d}{LOG}"
            self._report("offset-below-base", batch, f"{message} It may be {right}.", expected=base_offset, found=batch.first)
        if base_offset is not None and batch.last - base_offset > _MAX_INT and not self._overflowed:
            self._overflowed = True
            message = (
                f"Offset {batch.last:,} is {batch.last - base_offset:,} above the base of the segment; {_MAX_INT:,} is the most."
            )
            self._report("offset-overflow-int32", batch, message, expected=_MAX_INT, found=batch.last - base_offset)
        if last is not None and batch.first > last.last + 1 and not self._is_behind_damage:
            self._jump(last, batch)
        self._look_at_epoch(batch)
        self._is_behind_damage = False
        self._last = batch

    def _look_at_epoch(self, batch: _Batch) -> None:
        if batch.epoch == _NO_EPOCH and self._epoch >= 0:
            first, _, count = self._without_epoch or (batch.position, 0, 0)
            self._without_epoch = (first, batch.end, count + 1)
        self._epoch = max(self._epoch, batch.epoch)

    def _jump(self, last: _Batch, batch: _Batch) -> None:
        """Offsets are missing between two batches."""
        if self._is_return(last, batch):
            return
        self._break = (last, batch)
        missing = batch.first - last.last - 1
        self._gap_count += 1
        self._missing += missing
        if self.context.settings.may_be_compacted:
            self._gaps.append((last.position, batch.end, last.last + 1, batch.first - 1))
            del self._gaps[1:-1]
            return
        message = (
            f"Offset {last.last:,} is followed by {batch.first:,}: {missing:,} are missing, in a topic that is not compacted."
        )
        offsets = (last.last + 1, batch.first - 1)
        values = {"severity": ERROR, "offsets": offsets, "expected": last.last + 1, "found": batch.first}
        self.context.report("offset-gap", last.position, batch.end, message, **values)  # type: ignore[arg-type]

    def _is_return(self, last: _Batch, batch: _Batch) -> bool:
        """Whether the offsets go on where they were before the last jump: then what is between came from elsewhere."""
        if self._break is None:
            return False
        before, first = self._break
        if batch.first != before.last + 1 or not before.last < batch.first:
            return False
        self._break = None
        message = (
            f"Offsets {first.first:,} to {last.last:,} are out of line with the batches on both sides, which go on from "
            f"{before.last:,} to {batch.first:,}: these bytes seem to come from another partition."
        )
        offsets = (first.first, last.last)
        self.context.report("batch-foreign-topic-hint", first.position, last.end, message, offsets=offsets)
        return True

    def _settle(self, following: _Batch | None) -> None:
        """Tell what is wrong with the suspect, now that the batch after it is known."""
        suspect, self._suspect = self._suspect, None
        if suspect is None:
            return
        last = self._last
        before = last.last if last is not None else (self._base_offset() or 0) - 1
        if following is not None and following.first < 0:
            following = None
        has_epochs = suspect.epoch >= 0 and following is not None and following.epoch >= 0
        offsets_fit = suspect.first > before and (following is None or suspect.last < following.first)
        epochs_fit = suspect.epoch >= self._epoch or suspect.epoch == _NO_EPOCH
        if offsets_fit and epochs_fit and not (has_epochs and following is not None and following.epoch < suspect.epoch):
            self._accept(suspect)
            return
        if following is not None and following.first > before:
            room, needed = following.first - before - 1, suspect.last - suspect.first + 1
            if not offsets_fit and room >= needed:
                fits = before + 1 if last is not None else following.first - needed
                self._tell_rot(suspect, "base offset", fits, suspect.first, is_exact=room == needed)
                self._is_behind_damage = True  # the offsets in between are these
                return
            is_epoch_odd = suspect.epoch < self._epoch or following.epoch < suspect.epoch
            if offsets_fit and has_epochs and is_epoch_odd and following.epoch >= self._epoch:
                self._tell_rot(
                    suspect, "leader epoch", max(self._epoch, 0), suspect.epoch, is_exact=following.epoch == self._epoch
                )
                self._last = suspect
                return
            is_amid = last is not None and room == 0 and (suspect.first > following.last or suspect.last < last.first)
            if not offsets_fit and is_amid and not self._tell_duplicate(suspect):
                message = f"Offsets {suspect.first:,} to {suspect.last:,} stand between {before:,} and {following.first:,}."
                self._report("batch-foreign-topic-hint", suspect, f"{message} This batch seems to be of another partition.")
            if not offsets_fit and is_amid:
                return
        if suspect.first > before and not offsets_fit:
            self._accept(suspect)  # it is the one after it that goes back
            return
        if last is None and not offsets_fit:
            self._accept(suspect)
            return
        if not offsets_fit and last is not None and suspect.first <= before:
            if not self._tell_duplicate(suspect) and not self._is_return(last, suspect):
                self._tell_back(last, suspect)
            if following is None or following.first > before:
                return
            self._break = (last, suspect)
        elif not epochs_fit and last is not None:
            message = f"Leader epoch {suspect.epoch:,} at offset {suspect.first:,} follows epoch {self._epoch:,}."
            self._report("leader-epoch-regression", suspect, message, expected=self._epoch, found=suspect.epoch)
            self._epoch = suspect.epoch
        elif not epochs_fit:
            message = f"Leader epoch {suspect.epoch:,} at offset {suspect.first:,}; an earlier segment has epoch {self._epoch:,}."
            self._report("leader-epoch-regression", suspect, message, expected=self._epoch, found=suspect.epoch)
            self._epoch = suspect.epoch
        self._last = suspect
        self._is_behind_damage = False

    def _tell_rot(self, suspect: _Batch, field: str, fits: int, found: int, *, is_exact: bool) -> None:
        message = (
            f"One batch says its {field} is {found:,}, which is out of line with the batches around it; {fits:,} would fit"
            f"{'' if is_exact else ', or more'}. Its CRC is good and does not cover this field: likely it alone is wrong."
        )
        self._report("uncovered-header-rot", suspect, message, expected=fits, found=found)

    def _tell_duplicate(self, suspect: _Batch) -> bool:
        """Whether the suspect is a copy of a batch before, which is reported."""
        facts, source = self.facts, self.context.source
        row = facts.first_offsets.bisect_left(suspect.first)
        for candidate in (row, row + 1):
            if candidate >= len(facts.positions) or facts.positions[candidate] >= suspect.position:
                continue
            position, size = facts.positions[candidate], suspect.end - suspect.position
            if facts.first_offsets[candidate] == suspect.first and _are_equal(source, position, suspect.position, size):
                message = (
                    f"The batch of byte {position:,}, offsets {suspect.first:,} to {suspect.last:,}, is here again, byte by byte."
                )
                self._report("batch-duplicate-bytes", suspect, message, found=position)
                return True
        return False

    def _tell_back(self, last: _Batch, suspect: _Batch) -> None:
        """Offsets go back: they overlap those of the last batch, or jump."""
        if suspect.last >= last.first:
            first, shared = max(suspect.first, last.first), min(suspect.last, last.last)
            message = f"Offsets {first:,} to {shared:,} are in this batch and in the one before, at byte {last.position:,}."
            self._report("offset-duplicate", suspect, message, expected=last.last + 1, found=suspect.first)
            return
        message = f"Offsets go back from {last.last:,} to {suspect.first:,} at byte {suspect.position:,}."
        self._report("offset-regression", suspect, message, expected=last.last + 1, found=suspect.first)

    # Deltas

    def _look_at_deltas(self, section: Section) -> None:
        """The last offset delta is one less than the count of records, but in compacted logs it may be more."""
        if section.chunk.is_legacy:
            return
        batches = section.chunk.batches
        if any(header[ATTRIBUTES] & DELETE_HORIZON_BIT for header in section.chunk.headers):
            self._note_thinned(section.chunk.headers[-1][BASE_OFFSET])
        counts = batches["count"]
        deltas = list(map(sub, batches["last_offset"], batches["base_offset"]))
        if not any(map(ne, counts, map((1).__add__, deltas))):
            return
        for row, (count, header, status) in enumerate(zip(counts, section.chunk.headers, section.statuses, strict=True)):
            delta = header[LAST_OFFSET_DELTA]
            if status == salvage.DAMAGED or count == delta + 1:
                continue
            position, size, first = batches["position"][row], batches["size"][row], header[BASE_OFFSET]
            batch = _Batch(position, position + size, first, first + delta, header[LEADER_EPOCH], status)
            if delta < 0:
                message = f"One batch at offset {first:,} says its last offset is {-delta:,} below its first."
                self._report("last-offset-delta-negative", batch, message, found=delta)
            elif count > delta + 1:
                message = (
                    f"{count:,} records in one batch, but offsets {first:,} to {first + delta:,} have room for {delta + 1:,}."
                )
                severity = {"severity": ERROR, "expected": count - 1, "found": delta}
                self._report("last-offset-delta-mismatch", batch, message, **severity)
            elif count >= 0:
                self._note_thinned(first + delta)
            if 0 < count <= delta:
                self._mismatch_count += 1
                self._mismatched.append((position, position + size, first, first + delta))
                del self._mismatched[1:-1]

    def _note_thinned(self, last_offset: int) -> None:
        """The cleaner was here: a batch lacks records, or has a delete horizon."""
        self.facts.last_thinned = max(last_offset, self.facts.last_thinned or 0)

    def _note_sparse(self, summary: BatchSummary) -> None:
        """Count the batches with fewer records than offsets, which may be."""
        self._mismatch_count += summary.sparse
        for position in (summary.first_sparse, summary.last_sparse):
            first, last, end = summary.extent_at(position)
            self._mismatched.append((position, end, first, last))
            self._note_thinned(last)
        del self._mismatched[1:-1]

    def _report(self, code: str, batch: _Batch, message: str, **values: object) -> None:
        offsets = (_in_int64(batch.first), _in_int64(batch.last))
        size = batch.end - batch.position
        skipped = {"resync": BY_LENGTH, "skipped": size} if batch.status == salvage.DAMAGED else {}
        self.context.report(code, batch.position, batch.end, message, offsets=offsets, **skipped, **values)  # type: ignore[arg-type]

    def _base_offset(self) -> int | None:
        return self.context.base_offset if self.context.file_type == "log" else None

    def end(self) -> None:
        self._settle(None)
        context = self.context
        if self._gaps:
            (start, _, first, _), (_, end, _, last) = self._gaps[0], self._gaps[-1]
            count = self._gap_count
            gaps, offsets = ("gap" if count == 1 else "gaps"), ("offset is" if self._missing == 1 else "offsets are")
            message = f"{count:,} {gaps} between {first:,} and {last:,}; {self._missing:,} {offsets} missing."
            message += " Lawful where the topic is compacted; `--cleanup-policy delete` says that it is not."
            context.report("offset-gap", start, end, message, offsets=(first, last), found=self._missing)
        if self._mismatched:
            (start, _, first, _), (_, end, _, last) = self._mismatched[0], self._mismatched[-1]
            count = self._mismatch_count
            message = f"{count:,} batch{'' if count == 1 else 'es'} with fewer records than offsets, as compaction leaves them."
            severity = INFO if context.settings.may_be_compacted else WARNING
            context.report(
                "last-offset-delta-mismatch", start, end, message, severity=severity, offsets=(first, last), found=count
            )
        if self._without_epoch is not None:
            start, end, count = self._without_epoch
            message = f"{count:,} batch{'' if count == 1 else 'es'} without leader epoch among others that have one."
            context.report("leader-epoch-negative", start, end, message, severity=INFO, found=count)
        self._carries["order"] = self._epoch


class RecordOrder(SegmentRule):
    """Whether records are as many as their batch says, and their offsets in order."""

    reads_records = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._before = -1
        self._seen = 0

    def records(self, part: RecordChunk, status: str) -> None:
        offsets = part.records["offset"]
        row = 0
        for at, count in enumerate(part.counts):
            if not (at == 0 and part.continues):
                self._before, self._seen = -1, 0
            batch_offsets = offsets[row : row + count]
            row += count
            self._seen += count
            if not count or status == salvage.DAMAGED or part.batches["base_offset"][at] is None:
                continue
            first, last = part.batches["base_offset"][at], part.batches["last_offset"][at]
            in_order = self._before < batch_offsets[0] and all(map(lt, batch_offsets, batch_offsets[1:]))
            if not in_order or batch_offsets[0] < first or batch_offsets[-1] > last:
                self._tell(part, at, batch_offsets, first, last)
            self._before = batch_offsets[-1]

    def _tell(self, part: RecordChunk, at: int, offsets: Sequence[int], first: int, last: int) -> None:
        before = max(self._before, first - 1)
        wrong: list[int] = []
        for offset in offsets:
            if not before < offset <= last:
                wrong.append(offset)
            before = max(before, offset)
        position, size = part.batches["position"][at], part.batches["size"][at]
        message = (
            f"{len(wrong):,} record{'' if len(wrong) == 1 else 's'} out of order in the batch of offsets {first:,} to {last:,}; "
            f"the first has offset {wrong[0]:,}."
        )
        highest = max(offsets)
        self.context.report("record-offset-order", position, position + size, message, offsets=(first, last), found=wrong[0])
        if highest > last:
            message = f"The last offset of the batch is {last:,}, but a record has {highest:,}."
            values = {"severity": ERROR, "offsets": (first, last), "expected": highest - first, "found": last - first}
            self.context.report("last-offset-delta-mismatch", position, position + size, message, **values)  # type: ignore[arg-type]

    def unreadable(self, chunk: Chunk, fault: CorruptData, status: str) -> None:
        code = fault.code.removeprefix("compressed-")
        if status == salvage.DAMAGED or code not in ("record-count-too-high", "record-count-too-low"):
            return
        batch = chunk.batches.row(0)
        first = batch.first_offset
        if code == "record-count-too-high":
            message = (
                f"The batch of offsets {first:,} to {batch.last_offset:,} says it has {batch.count:,} records, and holds fewer."
            )
        else:
            message = f"The batch of offsets {first:,} to {batch.last_offset:,} has bytes after its {batch.count:,} records."
        end = batch.position + batch.size
        self.context.report(code, batch.position, end, message, offsets=(first, batch.last_offset), found=batch.count)


def _are_equal(source: Source, first: int, second: int, size: int) -> bool:
    for at in range(0, size, WINDOW_SIZE):
        step = min(WINDOW_SIZE, size - at)
        if source.read(first + at, step) != source.read(second + at, step):
            return False
    return True


def _in_int64(offset: int) -> int:
    return max(-_MAX_LONG - 1, min(offset, _MAX_LONG))


RULES: tuple[type[SegmentRule], ...] = (Order, RecordOrder)
