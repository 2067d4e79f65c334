"""Decides what became of the record at an offset, given all copies of its partition."""

from __future__ import annotations

from typing import NamedTuple

from kdump.checks.wording import counted, offset_range
from kdump.formats import tree
from kdump.output.rows import fates
from kdump.output.rows.fates import Fate, Place
from kdump.reading.damaged_offsets import FOREVER
from kdump.searching.copies import UnreadableRange
from kdump.searching.places import fate_of_marked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.reading.damaged_offsets import DamagedRange
    from kdump.searching.copies import Copy, Hole, Marker, Sighting

    Has = tuple[Copy, Sighting]


class Occurrence(NamedTuple):
    """A record with the key of a question: where the batch that holds it stands, and whether that is intact."""

    offset: int
    is_intact: bool
    path: str
    position: int


class Verdict:
    """The answer about one offset of a partition, or about its record with one `key`, which was found in some copy.

    `occurrences_of` finds the records of a key in all copies.
    """

    def __init__(
        self, copies: Sequence[Copy], offset: int, key: bytes | None, occurrences_of: Callable[[bytes], Sequence[Occurrence]]
    ) -> None:
        self._copies = copies
        self._served = [copy for copy in copies if copy.served]
        self._offset = offset
        self._occurrences_of = occurrences_of
        seen = [(copy, sighting) for copy in copies for sighting in copy.sightings if sighting.offset == offset]
        self._doubtful = [has for has in seen if key is None and has[0].is_doubtful(has[1])]  # damaged ones may have had it
        seen = [has for has in seen if has not in self._doubtful]
        self._holders = [copy for copy, sighting in seen if sighting.is_served]  # of any record at this offset
        every = [has for has in seen if key is None or has[1].key == key]
        self._marked: list[Has] = [has for has in every if not has[1].is_served]
        self._all_served: list[Has] = [has for has in every if has[1].is_served]
        self._reference = max(self._served, key=lambda copy: (copy.last_epoch, copy.log_end or 0), default=None)
        self._old = [has for has in self._all_served if self._is_truncated(has[0], has[1].claimed_offset, has[1].leader_epoch)]
        self._current = [has for has in self._all_served if has not in self._old]
        found = [] if key is None or every else [one for one in occurrences_of(key) if one.offset == offset]
        self._found_damaged = found  # with the key, but only in batches that are damaged
        self._damaged = [copy for copy in copies if self._is_damaged(copy)]
        self._evidence: list[str] = []
        self._is_certain = True
        self._superseded_by: int | None = None

    def fate(self) -> Fate:
        """The row of the answer."""
        answer = self._answer()
        shown = self._shown(answer)
        key = next((sighting.key for _, sighting in shown if sighting.key is not None), None)
        first = self._copies[0]
        starts = [copy.log_start for copy in self._served if copy.log_start is not None]
        ends = [copy.log_end for copy in self._served or self._copies if copy.log_end is not None]
        fate = Fate(
            topic=first.topic,
            partition=first.partition,
            offset=self._offset,
            key=None if key is None else key.decode("utf-8", "backslashreplace"),
            answer=answer,
            copies=_paths([copy for copy, _ in shown]),
            damaged_on=_paths(self._damaged),
            leader_epoch=next((sighting.leader_epoch for _, sighting in shown), None),
            superseded_by=self._superseded_by,
            tombstone=next((not sighting.has_value for _, sighting in shown), None),
            log_start=min(starts, default=None),
            log_end=max(ends, default=None),
            bytes=bool(self._all_served) if answer == fates.BELOW_LOG_START else None,
            missing_sequences=self._reference.missing_sequences() if self._reference and answer == fates.NOT_WRITTEN else [],
            also=self._also(answer),
            evidence="; ".join(self._evidence),
        )
        going = [] if shown and answer != fates.COMPACTED else self._marked
        fate.damaged_in = list(dict.fromkeys(copy.place for copy in self._damaged))
        fate.is_certain = self._is_certain
        fate.places = [_place(sighting) for _, sighting in dict.fromkeys((*shown, *going))]
        return fate

    def _shown(self, answer: str) -> list[Has]:
        """Who has the record that the answer is about."""
        if answer == fates.IN_DELETED_FILE:
            return self._marked
        if answer == fates.TRUNCATED:
            return self._old
        return [] if answer == fates.DAMAGED else self._current

    def _also(self, answer: str) -> list[dict[str, str | int | list[str]]]:
        """Records of this offset that an older lineage has, if the answer is about another one."""
        if answer == fates.TRUNCATED:
            return []
        by_epoch: dict[int, list[Copy]] = {}
        for copy, sighting in self._old:
            assert sighting.leader_epoch is not None  # for without one it is not truncated
            by_epoch.setdefault(sighting.leader_epoch, []).append(copy)
        return [{"answer": fates.TRUNCATED, "leaderEpoch": epoch, "copies": _paths(copies)} for epoch, copies in by_epoch.items()]

    # The first answer that holds

    def _answer(self) -> str:
        return (
            self._of_transactions()
            or self._of_cleaner()
            or self._of_damage()
            or self._of_lineage()
            or self._of_log_start()
            or self._of_presence()
            or self._of_other_sightings()
            or self._of_gap()
        )

    def _of_transactions(self) -> str:
        for copy, sighting in self._current:
            if self._is_below_start(copy):
                continue
            if sighting.is_control:
                return fates.CONTROL
            if sighting.is_transactional:
                marker = self._marker_after(sighting)
                if marker is None:
                    damaged = any(each.next_offset > self._offset for each in copy.damaged)
                    self._evidence.append(
                        f"no marker of producer {sighting.producer_id} follows"
                        + (", but it may be in what is damaged: then it was committed or aborted" if damaged else "")
                    )
                    return fates.OPEN
                return fates.ABORTED if marker.is_abort else ""
        return ""

    def _marker_after(self, sighting: Sighting) -> Marker | None:
        """The marker that ended a transaction, in any copy: one copy may be behind, and what it is to truncate does not count."""
        found = [(copy, copy.marker_after(sighting)) for copy in self._served]
        markers = [
            marker
            for copy, marker in found
            if marker is not None and not self._is_truncated(copy, marker.offset, marker.leader_epoch)
        ]
        return min(markers, default=None)

    def _of_damage(self) -> str:
        if not self._damaged or self._current or self._old or self._marked and not self._served:
            return ""
        for copy in self._damaged:
            damaged = copy.damage_at(self._offset)
            if damaged is None:
                continue  # it was found by its key, in a batch whose header may claim any offset
            where = f"bytes {damaged.start:,} to {damaged.end - 1:,}"
            why = f": {damaged.reason}" if isinstance(damaged, UnreadableRange) else ""
            self._evidence.append(f"{damaged.log}: {where} are damaged, offsets from {damaged.offset:,} {_until(damaged)}{why}")
            if damaged.offset >= (copy.log_end or 0):
                self._evidence.append("it may also never have been written")
        self._evidence += [f"{_out_of_line(sighting)}; it claims this one" for _, sighting in self._doubtful]
        for one in self._found_damaged:
            self._evidence.append(f"a record with this key stands at byte {one.position:,} of {one.path}, in a damaged batch")
        return fates.DAMAGED

    def _of_lineage(self) -> str:
        if not self._old or self._current:
            return ""
        copy, sighting = self._old[0]
        reference = self._reference
        assert reference is not None and sighting.leader_epoch is not None
        end = reference.end_of_epoch(sighting.leader_epoch)
        is_foreign = reference.is_foreign(sighting.leader_epoch, self._offset)
        then = f"which is not in {reference.path}" if is_foreign else f"which ended at {end} in {reference.path}"
        self._evidence.append(f"{copy.path} has it in leader epoch {sighting.leader_epoch}, {then}")
        return fates.TRUNCATED

    def _of_log_start(self) -> str:
        below = [copy for copy in self._served if self._is_below_start(copy)]
        if any(copy not in (*below, *self._damaged) and self._offset < (copy.log_end or 0) for copy in self._served):
            return ""
        if self._marked:
            return self._of_marked()
        if below:
            starts = ", ".join(f"{copy.path}: {copy.log_start:,}" for copy in below)
            kept = [copy for copy in below if self._offset >= (copy.checkpointed_start or 0)]
            lost = [orphan for copy in kept if (orphan := copy.orphan_of(self._offset)) is not None]
            why = f": it is lost: of the segment from {lost[0]:,} on, only indexes are there" if lost else ""
            self._evidence.append(f"the log starts later ({starts}){why}")
            return fates.MISSING if lost else fates.BELOW_LOG_START
        return ""

    def _of_presence(self) -> str:
        visible = [(copy, sighting) for copy, sighting in self._current if not self._is_below_start(copy)]
        if not visible:
            return ""
        self._note_claim(*visible[0])
        holding = [copy for copy, _ in visible]
        behind = [copy for copy in self._served if copy not in (*holding, *self._damaged) and self._is_behind(copy)]
        if behind:
            ends = ", ".join(f"{copy.path} ends at {copy.log_end or 0:,}" for copy in behind)
            self._evidence.append(f"replicas are behind: {ends}")
            return fates.ONLY_ON
        return fates.PRESENT

    def _note_claim(self, copy: Copy, sighting: Sighting) -> None:
        """Note where the offset of a record that is there may not be the one that it was written with, and what hides it."""
        batch = sighting.batch
        damaged = copy.damage_at(self._offset)
        if damaged and not isinstance(damaged, UnreadableRange) and (damaged.log, damaged.start) == (batch.path, batch.position):
            what = f"the length in the header of its batch, at byte {batch.position:,} of {batch.path}, is wrong"
            self._evidence.append(f"{what}: consumers cannot read it, kdump recover takes it over")
        if sighting.stray is not None:
            self._evidence.append(f"{_out_of_line(sighting)}; the offsets in its header may be wrong")
        if sighting.is_in_cut_wrapper:
            what = f"the wrapper at byte {batch.position:,} of {batch.path} ends inside a message"
            self._evidence.append(f"{what}: offsets in it count back from its own, and may be too high")
        if sighting.is_outside_of_batch:
            first = batch.last if batch.first is None else batch.first
            claims = offset_range(first, max(first, batch.last))
            self._evidence.append(f"the header of its batch, at byte {batch.position:,} of {batch.path}, claims only {claims}")

    def _of_cleaner(self) -> str:
        """Whether the cleaner removed it: from a batch that is there, or before its checkpoint. Another copy may show why."""
        gaps = [copy for copy in self._served or self._copies if self._is_gap(copy)]
        hole = next((hole for copy in gaps for hole in copy.holes if hole.offset == self._offset and hole.is_thinned), None)
        cleaned = [copy for copy in gaps if self._offset < (copy.cleaned_to or 0)]
        if hole is not None:
            self._note_hole(hole)
        if cleaned:
            checkpoint = max(copy.cleaned_to or 0 for copy in cleaned)
            self._evidence.append(f"a gap below the cleaner's checkpoint {checkpoint:,} of {cleaned[0].path}")
        elif hole is not None:
            checkpoint = max(copy.log_end or 0 for copy in gaps)
        else:
            return ""
        sighting = next((sighting for _, sighting in self._current), None)
        if sighting is None:
            self._evidence.append("without an older copy nobody knows its key, or whether a newer record replaced it")
        return fates.COMPACTED if sighting is None else self._why_cleaned(sighting, checkpoint, hole, cleaned)

    def _why_cleaned(self, sighting: Sighting, checkpoint: int, hole: Hole | None, cleaned: Sequence[Copy]) -> str:
        """Whether the cleaner removed what another copy has: from a hole, or in a gap of copies that are `cleaned` beyond it."""
        if sighting.key is None:
            return fates.COMPACTED
        occurrences = self._occurrences_of(sighting.key)
        later = [one.offset for one in occurrences if one.is_intact and self._offset < one.offset < checkpoint]
        if later:
            self._superseded_by = max(later)
            return fates.COMPACTED
        if not sighting.has_value:
            return fates.TOMBSTONE_EXPIRED
        if hole is not None:
            self._evidence.append("it was the last value of its key that is known")
            return fates.COMPACTED
        self._evidence.append(f"it was the last value of its key that is known: it may be lost in {cleaned[0].path}")
        return fates.BELOW_LOG_START if all(self._is_below_start(copy) for copy, _ in self._current) else fates.ONLY_ON

    def _note_hole(self, hole: Hole) -> None:
        batch = hole.batch
        assert batch.first is not None
        what = "holds no record"
        if hole.record_count:
            what = f"holds {counted(hole.record_count, 'record')}, none of them at this one"
        verb = "covers" if batch.first < batch.last else "is of"
        offsets = offset_range(batch.first, batch.last)
        self._evidence.append(f"the batch at byte {batch.position:,} of {batch.path} {verb} {offsets} and {what}")

    def _of_marked(self) -> str:
        places = dict.fromkeys(fate_of_marked(sighting.batch.path) for _, sighting in self._marked)
        self._evidence.append(f"only {' and '.join(places)}")
        return fates.IN_DELETED_FILE

    def _of_other_sightings(self) -> str:
        """A record that was seen is not missing, whatever other copies lack."""
        if self._marked:
            return self._of_marked()
        if self._current:
            starts = ", ".join(f"{copy.path}: {copy.log_start:,}" for copy, _ in self._current)
            self._evidence.append(f"the log starts later ({starts}), and other copies lack it")
            return fates.BELOW_LOG_START
        return ""

    def _of_gap(self) -> str:
        hole = next((hole for copy in self._copies for hole in copy.holes if hole.offset == self._offset), None)
        if hole is not None:
            self._note_hole(hole)
            self._evidence.append("as many records as offsets: the cleaner took none out, so no record ever had this offset")
            return fates.MISSING
        ends = [copy.log_end or 0 for copy in self._served or self._copies]
        if self._offset >= max(ends):
            known = max((copy.highest_known for copy in self._served), default=-1)
            answer, why = fates.NOT_WRITTEN, "; a record that all replicas truncated leaves no trace"
            if self._offset <= known:
                answer, why = fates.MISSING, f", but files beside it know of {known:,}: it is lost"
            self._evidence.append(f"the log ends at {max(ends):,}{why}")
            self._note_damaged_end(max(ends))
            return answer
        why = "it is lost, was compacted, or no record ever had this offset"
        if self._copies[0].topic == tree.METADATA_TOPIC:
            why = "it is lost, because the metadata log cannot be compacted"
        elif any((orphan := copy.orphan_of(self._offset)) is not None for copy in self._served):
            why = f"it is lost: of the segment from {orphan:,} on, only indexes are there"
        self._evidence.append(f"the log starts before it and goes on after it: {why}")
        return fates.MISSING

    def _note_damaged_end(self, end: int) -> None:
        """Note what may have held offsets after the end: a damaged batch whose header claims others than this one, and zeros."""
        for copy in self._served or self._copies:
            for damaged in copy.damaged:
                where = f"after it, bytes {damaged.start:,} to {damaged.end - 1:,} of {damaged.log} are"
                if damaged.next_offset > end:
                    claims = f"offsets from {damaged.offset:,} {_until(damaged)}"
                    self._evidence.append(f"{where} damaged: they may hold {claims}")
                elif damaged.offset == damaged.next_offset == end:
                    self._evidence.append(f"{where} zero: nobody can say what was there before")
                else:
                    continue
                self._is_certain = False

    # What copies hold

    def _holds(self, copy: Copy) -> bool:
        return any(each is copy for each in self._holders)

    def _is_damaged(self, copy: Copy) -> bool:
        files = {item.path for item in (*copy.served, *copy.marked)}
        if any(one.path in files for one in self._found_damaged):
            return True
        is_asked = bool(copy.served) or not self._served
        return is_asked and not self._holds(copy) and copy.damage_at(self._offset) is not None

    def _is_below_start(self, copy: Copy) -> bool:
        return copy.log_start is not None and self._offset < copy.log_start

    def _is_gap(self, copy: Copy) -> bool:
        """Whether a copy has offsets before and after this one, but not this one, and no damage."""
        return (
            not self._holds(copy)
            and not self._is_below_start(copy)
            and self._offset < (copy.log_end or 0)
            and copy.damage_at(self._offset) is None
        )

    def _is_behind(self, copy: Copy) -> bool:
        """Whether a copy of the same lineage ends before this offset."""
        if self._offset < (copy.log_end or 0):
            return False
        reference = self._reference
        end = None if reference is None or reference is copy else reference.end_of_epoch(copy.last_epoch)
        return end is None or (copy.log_end or 0) <= end

    def _is_truncated(self, copy: Copy, offset: int, leader_epoch: int | None) -> bool:
        """Whether the leader epoch of a record ended before its offset in the lineage of the highest epoch, or is not in it."""
        reference = self._reference
        if reference is None or reference is copy or leader_epoch is None or leader_epoch < 0:
            return False
        end = reference.end_of_epoch(leader_epoch)
        return end is not None and offset >= end or reference.is_foreign(leader_epoch, offset)


def _place(sighting: Sighting) -> Place:
    batch = sighting.batch
    is_found = not sighting.is_outside_of_batch
    return Place(batch.path, batch.position, is_going=not sighting.is_served, is_found_by_offset=is_found)


def _until(damaged: DamagedRange) -> str:
    return "on" if damaged.next_offset == FOREVER else f"to {damaged.next_offset - 1:,}"


def _out_of_line(sighting: Sighting) -> str:
    return f"the batch at byte {sighting.batch.position:,} of {sighting.batch.path} is out of line with those around it"


def _paths(copies: Sequence[Copy]) -> list[str]:
    return list(dict.fromkeys(copy.path for copy in copies))
