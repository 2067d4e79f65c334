"""Recovers one partition: takes what is whole from its logs and its replicas, writes it, and proves that a broker keeps it."""

from __future__ import annotations

import functools
import os
from bisect import bisect_right, insort
from itertools import accumulate, pairwise
from operator import itemgetter

from kdump.binary import codecs, system
from kdump.binary.batch_header import LOG_OVERHEAD, batch_size
from kdump.binary.source import Source
from kdump.checks.catalogue import FAULTS
from kdump.checks.finding import Finding
from kdump.checks.settings import DEEP
from kdump.checks.wording import counted
from kdump.errors import CorruptData, MissingPackage
from kdump.formats import file_name, message_set, partition_metadata, tree
from kdump.formats.log import Log as BatchLog
from kdump.mending.attested import Attested, Witnesses
from kdump.mending.new.log_writer import LARGEST_DELTA, LARGEST_SIZE, LogWriter
from kdump.mending.new.new_partition import NewPartition
from kdump.mending.recover import resolving, runs
from kdump.mending.recover.contradicted import Contradiction, Known
from kdump.mending.recover.damaged_partition import DELETED, DamagedPartition
from kdump.mending.recover.filling import Filling
from kdump.mending.recover.left_out import Losses
from kdump.mending.recover.pieces import MOST_PAYLOAD, NESTED, Headers, LeftOut
from kdump.mending.row import (
    CLONED,
    DIFFERENT,
    MISSING,
    REBUILT,
    SAME,
    Companion,
    Dropped,
    Hole,
    LostRecord,
    Recovered,
    Rewritten,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kdump.mending.attested import LogEnd
    from kdump.mending.inputs import Inputs
    from kdump.mending.new.new_directory import NewDirectory
    from kdump.mending.progress import Progress
    from kdump.mending.recover.pieces import Log, Piece
    from kdump.mending.settings import Rules
    from kdump.tables import Row

_MOST_TRIES = 8
_MOST_ALLOCATED = 64 << 20
_UNSTARTABLE = "start-loses"
_UNREAD = ("codec-package-missing", "decompression-limit")  # records that are taken over, and were not read
_NOT_THERE = "no log that was read has these offsets: compaction leaves such gaps, and so does a deleted segment"


class PartitionRecovery:
    """One partition of a new directory: `write` makes all its files, `verify` proves them.

    `name` is its folder there, empty for the new directory itself; `log_start` is that of the checkpoint of its log directory;
    `replicas` are directories of the same partition.
    """

    def __init__(
        self,
        path: str,
        name: str,
        *,
        log_start: int,
        replicas: Sequence[str],
        directory: NewDirectory,
        inputs: Inputs,
        rules: Rules,
        progress: Progress,
    ) -> None:
        self.path = path
        self.name = name
        self.rows: list[Row] = []
        self._recovered: Recovered | None = None  # the last of these rows
        self._rebuilt: set[str] = set()  # the companions among them
        self.remaining: list[Finding] = []
        """Errors in the batches that were taken over as they are."""
        self.accepted: set[int] = set()
        """The offsets of those that were to be accepted."""
        self._folder = os.path.dirname(os.path.join(path, ""))  # as it stands in the paths of its files
        self._log_start = log_start
        self._directory = directory
        self._inputs = inputs
        self._rules = rules
        self._progress = progress
        self._headers = Headers()
        self._parts = [DamagedPartition(path), *(DamagedPartition(one, row) for row, one in enumerate(replicas, start=1))]
        self._left_out: list[LeftOut] = []
        self._pieces: list[Piece] = []
        self._chain: list[Piece] = []
        self._wrong: set[tuple[str, int]] = set()  # where copies of batches are that claim wrong offsets or leader epochs
        # of each log: its index, and the offsets that are not where that says
        self._strange: list[tuple[Log, str, Sequence[int]]] = []
        self.segments = 0
        self._cloned: list[str] = []
        self._made: NewPartition | None = None
        self.log_end = 0

    @functools.cached_property
    def _witnesses(self) -> Witnesses:
        """The files beside the logs of the first directory, of which a check is made once."""
        return Witnesses(self.path)

    @property
    def log_bytes(self) -> int:
        """The size of all logs that are read."""
        return sum(system.size(log.path) for part in self._parts for log in part.logs)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost or assumed, and no errors remain."""
        lost = any(isinstance(row, Dropped) and row.is_lost for row in self.rows)
        is_assumed = any(piece.is_assumed for piece in self._chain)
        return not (lost or is_assumed or self.remaining or any(isinstance(row, Hole) and row.is_damage for row in self.rows))

    @property
    def has_lost_end(self) -> bool:
        """Whether bytes of the newest log are lost after the last batch taken over."""
        last, newest = self._chain[-1] if self._chain else None, self._parts[0].newest_log
        lost = [left for left in self._left_out if left.is_lost and left.path == newest]
        return any(last is None or left.path != last.log.path or left.start >= last.end for left in lost)

    def write(self, accept: set[int]) -> None:
        """Walk the logs, resolve what contradicts itself, write logs and companions. Raises CorruptData, Unreadable, OSError."""
        self._pieces = [p for part in self._parts for p in part.walk(self._inputs, self._progress, accept, self.accepted)]
        with self._headers:
            self._chain, left_out = resolving.resolve(self._pieces, self._headers, self._known())
            self._cloned = self._parts[0].clonable()
            self._left_out = list(self._parts[0].left_out)
            if not any(part.logs for part in self._parts):
                for left in self._left_out:
                    left.is_lost |= left.code == DELETED and left.end > 0  # nothing else is there
            self._left_out += [left for left in left_out if left.is_lost or os.path.dirname(left.path) == self._folder]
            self._wrong = {(left.path, left.start) for left in left_out if left.code == "replica-divergence"}
            self._leave_out_greedy_wrappers()
            self._write_until_it_starts()

    def _known(self) -> Known:
        """What the companions of all directories say."""
        known = Known()
        for part in self._parts:
            found = Witnesses(part.path) if part.rank else self._witnesses
            for log in part.logs:
                if log.base_offset is None or log.is_spare:
                    continue
                with Source(log.path) as source:
                    name, offsets, places = found.strange_to(source, log.base_offset)
                known.places[log.path] = [
                    (at, Contradiction(last, "the offset index has another one for it")) for at, last in places
                ]
                if not part.rank:
                    self._strange.append((log, name, offsets))
                if log.base_offset == part.newest_base:
                    known.ends[log.path] = found.ends_in(log.base_offset)
                    known.highest = found.highest_known(log.base_offset) if len(self._parts) == 1 else None
            if not known.epochs:
                known.epochs = found.epochs()
        has_gaps = any(piece.has_gaps for piece in self._pieces) or any(
            after.first not in (before.last + 1, after.log.base_offset) for before, after in pairwise(self._pieces)
        )
        if has_gaps and len(self._parts) == 1 and not self._parts[0].left_out:
            for path, position, end, last, reason in self._witnesses.wrong_offsets():
                if path in known.places and (path not in known.ends or end != system.size(path)):  # else the ends say more
                    insort(known.places[path], (position, Contradiction(last, reason, is_assumed=True)), key=itemgetter(0))
        return known

    def _leave_out_greedy_wrappers(self) -> None:
        """Leave out old messages in which a start would allocate more memory than a broker may have."""
        greedy: list[int] = []
        for piece in self._chain:
            if piece.may_have_wrappers and not (piece.messages or piece.changed):
                greedy += _greedy_wrappers(self._headers.source(piece.log), piece)
        for offset in greedy:
            reason = "the last message inside claims more memory than a broker may have; a start fails where it opens it"
            self._leave_out(offset, "decompression-limit", reason)

    def _write_until_it_starts(self) -> None:
        """Write logs and companions; batches that keep a broker from starting are left out, and all is written again."""
        for tried in range(_MOST_TRIES):
            made = self._written()
            try:
                made.complete(keep=self._keep)
            except CorruptData:
                refused = made.refused() if tried < _MOST_TRIES - 1 else []
                if not refused:
                    raise
                for fault in refused:
                    self._leave_out(fault.values["offset"], fault.code, f"{fault.message}; a start fails there")
                continue
            self._made, self.log_end = made, made.rebuilt.next_offset
            self._remove_passing_snapshots()
            return

    def _remove_passing_snapshots(self) -> None:
        assert self._made is not None
        rows: list[Row] = []
        for row in self.rows:
            name = os.path.basename(row.path) if isinstance(row, Companion) else ""
            if self._made.is_passing(name):
                self._directory.remove(os.path.join(self.name, name))
            else:
                rows.append(row)
        self.rows = rows

    def _written(self) -> NewPartition:
        """Write all logs."""
        self._directory.empty(self.name)
        self.rows.clear()
        self._recovered = None
        self._rebuilt.clear()
        with LogWriter(self._directory, self.name) as logs:
            self._write_logs(logs)
        self.segments = len(logs.bases)
        return NewPartition(
            self._directory,
            self.name,
            logs.bases,
            origin=self.path,
            log_start=self._log_start_of_new(logs.bases[-1]),
            rules=self._rules,
            progress=self._progress,
            level=DEEP,
        )

    def _log_start_of_new(self, newest_base: int) -> int:
        """The log start offset for which companions are made: that of the checkpoint, or 0 if the new log ends before it.

        Beside such a checkpoint, a start would delete the log: it can only be used where it starts at its first segment.
        """
        end = max(newest_base, self._chain[-1].last + 1) if self._chain else max(part.newest_base for part in self._parts)
        return self._log_start if self._log_start <= end else 0

    def _keep(self, name: str, data: bytes) -> None:
        path = os.path.join(self.name, name)
        self._directory.write(path, data)
        before = os.path.join(self.path, name)
        size_before = system.size(before) if system.is_file(before) else None
        was = MISSING
        if size_before is not None:
            with Source(before) as source:
                was = SAME if source.read(0, len(data) + 1) == data else DIFFERENT
        if path in self._rebuilt:
            self.rows = [row for row in self.rows if not (isinstance(row, Companion) and row.path == path)]
        self._rebuilt.add(path)
        self.rows.append(Companion(path, REBUILT, len(data), was, size_before))

    # --- logs

    def _write_logs(self, logs: LogWriter) -> None:
        """Write the batches of the chain into segments, whose base offsets are those of the input where they fit."""
        boundaries = self._boundaries()
        for base, pieces in self._segments(boundaries):
            logs.start(base)
            for piece in pieces:
                for part in self._fitting(piece, base):
                    self._write_piece(logs, part)
        end = self._chain[-1].last + 1 if self._chain else 0
        newest = max((part.newest_base for part in self._parts), default=0) if not self._chain else self._parts[0].newest_base
        is_fitting = not self._chain or newest >= end and newest in boundaries
        if is_fitting and newest not in logs.bases:
            logs.start(newest)  # the log end is there, and no offset is given away twice

    def _boundaries(self) -> list[int]:
        """The base offsets of the new segments, as far as the logs say."""
        first_of: dict[int, int] = {}
        for piece in self._chain:
            if piece.is_sure:
                first_of[id(piece.log)] = min(first_of.get(id(piece.log), piece.first), piece.first)
        found = set()
        for part in self._parts:
            for log in part.logs:
                first = first_of.get(id(log))
                if part.rank and (first is None or not any(p.log is log and p.start == 0 for p in self._chain)):
                    continue
                if log.is_spare and first is not None:
                    continue
                base = log.base_offset
                if base is not None and (first is None or base <= first):
                    found.add(base)
                elif first is not None:
                    found.add(first)
        return sorted(found)

    def _segments(self, boundaries: list[int]) -> Iterator[tuple[int, list[Piece]]]:
        """The pieces by segment; a piece that goes on in the next segment is divided."""
        waiting = list(reversed(self._chain))
        base: int | None = None
        pieces: list[Piece] = []
        end = 0
        while waiting:
            piece = waiting.pop()
            at = bisect_right(boundaries, piece.first)
            fitting = boundaries[at - 1] if at else piece.first
            if base is None or fitting > base:
                if base is not None:
                    yield base, pieces
                base, pieces = max(fitting, end), []
            following = boundaries[at] if at < len(boundaries) else None
            if following is not None and piece.last >= following and piece.batches > 1:
                head, one, rest = self._headers.split(piece, following)
                if rest is not None:
                    waiting.append(rest)
                if head is not None:
                    waiting.append(one)
                    piece = head
                else:
                    piece = one
            pieces.append(piece)
            end = piece.last + 1
        if base is not None:
            yield base, pieces

    def _fitting(self, piece: Piece, base: int) -> Iterator[Piece]:
        """A piece in parts that no segment is too small for; in nearly all cases it is one."""
        while piece.batches > 1 and (piece.last - base > LARGEST_DELTA or piece.size > LARGEST_SIZE // 2):
            middle = piece.first + (piece.last - piece.first) // 2 + 1
            far = min(middle, base + LARGEST_DELTA + 1) if piece.first <= base + LARGEST_DELTA else middle
            head, one, rest = self._headers.split(piece, far)
            if head is not None:
                yield from self._fitting(head, base)
            yield one
            if rest is None:
                return
            piece, base = rest, max(base, rest.first)
        yield piece

    def _write_piece(self, logs: LogWriter, piece: Piece) -> None:
        source = self._headers.source(piece.log)
        self._inputs.note(source)
        if piece.changed:
            logs.add(_changed_bytes(source, piece), piece.first, piece.last)
        else:
            logs.copy(source, piece.start, piece.end, piece.first, piece.last)
        self._note_piece(f"{logs.bases[-1]:020}{file_name.LOG}", piece)

    def _note_piece(self, name: str, piece: Piece) -> None:
        """Report a piece that is in a new log."""
        path = os.path.join(self.name, name)
        records = piece.messages or piece.records
        if piece.may_have_wrappers and (piece.changed or not piece.messages):
            records = _messages_in(self._headers.source(piece.log), piece)
        sums = (piece.size, piece.batches, records, piece.first, piece.last)
        if piece.change:
            self.rows.append(Rewritten(path, piece.log.path, piece.start, *sums, piece.is_assumed, piece.change))
            return
        row = self._recovered
        if row is None or (row.path, row.source) != (path, piece.log.path):
            self._recovered = Recovered(path, piece.log.path, *sums)
            self.rows.append(self._recovered)
            return
        row.bytes += piece.size
        row.batches += piece.batches
        row.records += records
        row.offset_last = piece.last

    def _leave_out(self, offset: int, code: str, reason: str) -> None:
        """Take the batch with an offset out of the chain."""
        at = bisect_right(self._chain, offset, key=lambda piece: piece.first) - 1
        piece = self._chain[at]
        parts: list[Piece | None] = [None, piece, None]
        if piece.batches > 1:
            parts = list(self._headers.split(piece, offset))
        self._chain[at : at + 1] = [part for part in (parts[0], parts[2]) if part is not None]
        assert parts[1] is not None
        self._left_out.append(LeftOut.of(parts[1], code, reason))

    # --- the end

    def finish(self) -> None:
        """Take over the other files, and report what is not there."""
        for name in self._cloned:
            path = os.path.join(self.name, name)
            with Source(os.path.join(self.path, name)) as source:
                self._inputs.note(source)
                data = _readable_metadata(source) if name == tree.PARTITION_METADATA else None
                if data is None:
                    self._directory.clone(source, path)
                    self.rows.append(Companion(path, CLONED, source.size, SAME, source.size))
                else:
                    self._directory.write(path, data)
                    self.rows.append(Companion(path, REBUILT, len(data), DIFFERENT, source.size))
        with self._headers:
            self._report()

    def _report(self) -> None:
        left_out = list(self._left_out)
        inside = list(self._attested_inside())
        attested = list(self._attested({base for base, _ in inside} | set(self._shifted())))
        self._tell_preallocated(attested)
        if self._left_out or len(self._parts) > 1:
            self._report_left_out(left_out)
        holes = list(self._holes(attested))
        self.rows += holes
        for _, one in inside:
            if not any(hole.offset_first <= one.last and one.first <= hole.offset_last for hole in holes):
                self.rows += self._hole(one.first, one.last, [one], is_damage=False, is_in_log=True)

    def _report_left_out(self, resolved: Sequence[LeftOut]) -> None:
        """Report what is not in the new log, unless a replica has filled it; the `resolved` are those of the logs themselves."""
        pieces = [piece for piece in self._pieces if (piece.log.path, piece.start) not in self._wrong]
        filling = Filling(self._chain, self._headers, self._parts, pieces)
        has_more = len(self._parts) > 1 or any(log.is_spare for log in self._parts[0].logs)
        for left in resolved:
            if has_more or left.code == "segment-missing":  # its log may have another name
                left.is_lost = left.is_lost and not filling.holds(left)
        self._left_out += self._lost_in_replicas(filling)
        for left in self._left_out:
            if left.code == NESTED and left.first is not None and left.last is not None and self._chain:
                left.is_lost = left.is_lost and not filling.has_all(left.first, left.last + 1)
        before: LeftOut | None = None
        for left in sorted(self._left_out, key=lambda left: (left.path, left.start)):
            if left.is_wrapper:
                _assume_first(left, before, filling)
            before = left
            self.rows.append(dropped(left))
            if left.is_lost:
                self.rows += _decoded(left, filling)

    def _lost_in_replicas(self, filling: Filling) -> list[LeftOut]:
        """What is damaged in a replica and may have been what no other one has, as far as it is not known to be lost already."""
        known = set(map(id, self._left_out))
        lost = [filling.offsets_of(left) for left in self._left_out if left.is_lost]
        found: list[LeftOut] = []
        for part in self._parts[1:]:
            newest = part.newest_log
            reported = sorted(offsets for offsets in lost if offsets is not None)
            highest = list(accumulate((end for _, end in reported), max))
            for left in part.left_out:
                is_preallocated = left.code == "zero-tail" and left.path == newest
                if not left.is_lost or is_preallocated or id(left) in known or filling.holds(left):
                    continue
                offsets = filling.offsets_of(left)
                at = 0 if offsets is None else bisect_right(reported, offsets[0], key=itemgetter(0))
                if left.code == NESTED or offsets is None or not at or highest[at - 1] < offsets[1]:
                    found.append(left)
                    lost.append(offsets)
        return found

    def _attested(self, shortened: set[int]) -> Iterator[Attested]:
        """The offsets that files beside the logs of the first directory know of, after the end of a log or between two."""
        part, found = self._parts[0], self._witnesses
        found.shortened = shortened
        last_of: dict[int, int] = {}
        for piece in [*(piece for piece in self._pieces if piece.is_sure), *self._chain]:
            last_of[id(piece.log)] = max(last_of.get(id(piece.log), piece.last), piece.last)
        ends: list[LogEnd] = []
        for log in part.logs:
            base = tree.base_offset_of(os.path.basename(log.path)) if log.base_offset is None else log.base_offset
            if base is not None:
                ends.append((log.path, base, last_of.get(id(log), base - 1), log.base_offset == part.newest_base))
        yield from found.of_logs(ends, self.log_end)
        has_gaps = any(before.log is not after.log for before, after in self._gaps()) or self._has_gap_at_end()
        if has_gaps or found.doubts_logs(self.log_end):
            known = {(left.path, left.code) for left in self._left_out}
            for finding, attested in found.missing_logs():
                if attested is not None:
                    yield attested
                elif (tree.base_offset_of(os.path.basename(finding.path)) or 0) >= self.log_end:
                    left = LeftOut(finding.path, finding.start, finding.end, finding.code, finding.message)
                    if (left.path, left.code) not in known:
                        known.add((left.path, left.code))
                        self._left_out.append(left)

    def _shifted(self) -> Iterator[int]:
        """The base offsets of logs of which bytes may be missing: they have the last offset of their index, but not there."""
        damaged = {left.path for left in self._left_out}
        for log, _, offsets in self._strange:
            if log.path in damaged and offsets and not runs.is_free(self._chain, offsets[-1], offsets[-1]):
                yield log.base_offset or 0

    def _attested_inside(self) -> Iterator[tuple[int, Attested]]:
        """The gaps before and between batches of which the index of a log knows an offset, each with the base offset of the log.

        Whole batches are gone there.
        """
        for log, name, offsets in self._strange:
            for first, last in self._gaps_with(offsets, log.base_offset or 0):
                yield log.base_offset or 0, Attested(first, last, f"{name} knows of some of them")

    def _gaps_with(self, offsets: Sequence[int], lowest: int) -> Iterator[tuple[int, int]]:
        """The gaps of the new log that have some of these offsets, which ascend: from the lowest offset on, between batches."""
        at, before = 0, lowest - 1
        for piece in self._chain:
            if at == len(offsets):
                return
            batches: Iterable[Piece] = [piece]
            if piece.batches > 1 and piece.last >= offsets[at]:
                batches = (
                    piece.part(start, end, extent, extent, 1, count) for start, end, extent, _, count in self._headers.of(piece)
                )
            for batch in batches:
                first, last, start = batch.first, batch.last, at
                while at < len(offsets) and offsets[at] < first:
                    at += 1
                if at > start and before < offsets[at - 1]:
                    first = self._headers.extent_at(batch.log, batch.start)[0] if batch.is_legacy else first
                    if any(before < offset < first for offset in offsets[start:at]):
                        yield before + 1, first - 1
                while at < len(offsets) and offsets[at] <= last:
                    at += 1
                before = last

    def _has_gap_at_end(self) -> bool:
        """Whether offsets are missing between the last batch and the log end, which is then that of an empty segment."""
        return bool(self._chain) and self._chain[-1].last + 1 < self.log_end

    def _tell_preallocated(self, attested: Sequence[Attested]) -> None:
        """Do not count zeros at the end of the newest log as lost, unless another file knows of batches after its last one."""
        if any(one.last >= self.log_end for one in attested):
            return
        newest = self._parts[0].newest_log
        for left in self._left_out:
            if left.code == "zero-tail" and left.path == newest:
                left.is_lost = False
                left.reason = (
                    f"the newest log ends with {counted(left.end - left.start, 'byte')} of zeros, which hold no data: "
                    "brokers preallocate it if told to, and trim it"
                )

    def _gaps(self) -> Iterator[tuple[Piece, Piece]]:
        return resolving.gaps(self._chain)

    def _holes(self, attested: Sequence[Attested]) -> Iterator[Hole]:
        """The gaps where something was left out, where another log begins, or where another file knows of batches."""
        lost = [left for left in self._left_out if left.is_lost]
        losses = Losses(lost)
        start = self._chain[0].first if self._chain else self.log_end
        before_start = [one for one in attested if one.first < start]
        lost_from = self._lost_from(losses)
        first = min([lost_from, *(one.first for one in before_start)])
        last = start - 1 if lost_from < start else min(max((one.last for one in before_start), default=-1), start - 1)
        yield from self._hole(first, last, before_start, is_damage=lost_from < start, is_in_log=True)
        for before, after in self._gaps():
            first, last = before.last + 1, after.first - 1
            is_damage = losses.are_between(before, after)
            yield from self._hole(first, last, attested, is_damage=is_damage, is_in_log=before.log is after.log)
        if self._has_gap_at_end():
            before = self._chain[-1]
            is_damage = any(left.path == before.log.path and left.start >= before.end for left in lost)
            yield from self._hole(before.last + 1, self.log_end - 1, attested, is_damage=is_damage, is_in_log=False)
        last = max((one.last for one in attested), default=-1)
        yield from self._hole(self.log_end, last, attested, is_damage=False, is_in_log=True)

    def _lost_from(self, losses: Losses) -> int:
        """The first offset that a batch before the first one taken over may have had; that of the first one if none was lost."""
        if not self._chain:
            return self.log_end
        start = self._chain[0]
        logs = (log for part in self._parts for log in part.logs if log.base_offset is not None and log.base_offset < start.first)
        bases = [log.base_offset or 0 for log in logs if losses.are_before(log, start)]
        return min(max(min(bases), self._log_start), start.first) if bases else start.first

    def _hole(self, first: int, last: int, attested: Sequence[Attested], *, is_damage: bool, is_in_log: bool) -> Iterator[Hole]:
        """The row of a gap, if there is one that compaction may not have left in a log."""
        known = next((one for one in attested if one.first <= last and first <= one.last), None)
        if first > last or is_in_log and not is_damage and known is None:
            return
        reason = "damage" if is_damage else _NOT_THERE
        if known is not None:
            reason = f"{reason}; {known.reason}"
        yield Hole(self.name or os.curdir, first, last, last - first + 1, is_damage or known is not None, reason)

    def verify(self) -> None:
        """Raises CorruptData if a check or a start finds what was made wrong; errors of the input that stay are remembered."""
        made = self._made
        assert made is not None
        for tried in range(2):
            self.remaining.clear()
            try:
                made.verify(tolerate=self._tolerates)
            except CorruptData as fault:
                if tried or fault.code != _UNSTARTABLE or not self._leave_out_bad_wrappers():
                    raise
            else:
                return
            with self._headers:
                self.rows = []
                self._write_until_it_starts()
                self.finish()
            self._directory.sync()
            assert self._made is not None
            made = self._made

    def _tolerates(self, finding: Finding) -> bool:
        """Whether an error is one of the batches themselves, which are as they were."""
        if FAULTS[finding.code].leaves_unexamined and finding.code not in _UNREAD:
            return False
        is_left_out = os.path.basename(finding.path) == tree.PARTITION_METADATA  # there is none to take over
        if finding.file_type != file_name.LOG.removeprefix(".") and not is_left_out:
            return False
        self.remaining.append(finding)
        return True

    def _leave_out_bad_wrappers(self) -> bool:
        """Leave out old messages that cannot be opened: a start that meets one fails. Returns whether there are any."""
        bad: list[tuple[int, str]] = []
        with self._headers:
            for piece in self._chain:
                if piece.is_legacy:
                    bad += _bad_wrappers(self._headers.source(piece.log), piece)
            for offset, reason in bad:
                self._leave_out(offset, "legacy-wrapper-null", f"{reason}; a start fails where it opens it")
        return bool(bad)


def _bad_wrappers(source: Source, piece: Piece) -> Iterator[tuple[int, str]]:
    """The offsets of wrappers in a piece that cannot be opened, and why."""
    if piece.changed:
        wrapper = message_set.Message(piece.last, _changed_bytes(source, piece)[LOG_OVERHEAD:])
        try:
            for _ in message_set.unwrap(wrapper) if wrapper.codec else ():
                pass
        except CorruptData as fault:
            yield piece.last, fault.message
        return
    for chunk in BatchLog(source, piece.start, piece.end).chunks():
        for row, offset in enumerate(chunk.batches["last_offset"]):
            try:
                for _ in message_set.messages_of(source, chunk, row):
                    pass
            except CorruptData as fault:
                yield offset, fault.message


def _readable_metadata(source: Source) -> bytes | None:
    """The metadata of a partition in version 0 if it has another one, at which brokers before 3.9 stop; else None."""
    version, topic_id = partition_metadata.read(source.read(0, partition_metadata.MAX_SIZE))
    return partition_metadata.packed(topic_id) if version else None


def _greedy_wrappers(source: Source, piece: Piece) -> Iterator[int]:
    """The offsets of wrappers that end inside a message of an absurd size, for which Kafka allocates memory before it reads."""
    for chunk in BatchLog(source, piece.start, piece.end).chunks():
        batches = chunk.batches
        for row, codec in enumerate(batches["compresscodec"]):
            if codec not in codecs.CODECS[1 : codecs.ZSTD]:
                continue
            offset = batches["last_offset"][row]
            try:
                wrapper = message_set.Message(offset, message_set.bytes_of_message(source, chunk, row))
                value = wrapper.value
                data = b"" if value is None else codecs.decompress(wrapper.codec, value, wrapper.magic, limit=MOST_PAYLOAD).data
            except (CorruptData, MissingPackage):
                continue  # the start that is simulated says more
            at = 0
            while at + LOG_OVERHEAD <= len(data) and (inner := batch_size(data, at)) >= LOG_OVERHEAD:
                if inner > max(_MOST_ALLOCATED, len(data) - at):
                    yield offset
                    break
                at += inner


def _messages_in(source: Source, piece: Piece) -> int:
    """How many messages a piece of magic 0 and 1 has, those inside of its wrappers among them."""
    if piece.changed:
        return _count_in(message_set.Message(piece.last, _changed_bytes(source, piece)[LOG_OVERHEAD:]))
    count = 0
    for chunk in BatchLog(source, piece.start, piece.end).chunks():
        if chunk.batches["compresscodec"].count(codecs.CODECS[codecs.NONE]) == len(chunk):
            count += len(chunk)
            continue
        for row, offset in enumerate(chunk.batches["last_offset"]):
            count += _count_in(message_set.Message(offset, message_set.bytes_of_message(source, chunk, row)))
    return count


def _count_in(message: message_set.Message) -> int:
    """How many messages a message holds: one if it is not compressed, or cannot be opened."""
    try:
        return message_set.unwrap(message, message_set.Limits(MOST_PAYLOAD)).count if message.codec else 1
    except (CorruptData, MissingPackage):
        return 1


def _changed_bytes(source: Source, piece: Piece) -> bytes:
    """The bytes of a batch with what is put right in them."""
    data = bytearray(source.read_exactly(piece.start, piece.size))
    for at, value in piece.changed.items():
        data[at : at + len(value)] = value
    return bytes(data)


def _decoded(left: LeftOut, filling: Filling) -> Iterator[LostRecord]:
    """The records that decode in what is lost, except for those whose offsets the new log has."""
    for offset, timestamp, key in left.decoded:
        if not filling.has_all(offset, offset + 1):
            yield LostRecord(left.path, left.start, offset, timestamp, key)


def _assume_first(left: LeftOut, before: LeftOut | None, filling: Filling) -> None:
    """Let a damaged message that holds others start after the batch before it: its header says the last offset only."""
    offsets = filling.offsets_of(left)
    if offsets is None or left.last is None:
        return
    last_before = -1 if before is None or before.path != left.path or before.last is None else before.last
    first = max(offsets[0], last_before + 1 if last_before < left.last else 0)
    if first < left.last:
        left.first = first
        left.reason += "; it says its last offset only, and is taken to start after the batch before it"


def dropped(left: LeftOut) -> Dropped:
    """What was left out, as a row."""
    return Dropped.like(left, source=left.path, bytes=left.end - left.start, offset_first=left.first, offset_last=left.last)
