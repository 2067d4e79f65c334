"""The state of a log's producers, carried on from segment to segment."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from operator import attrgetter

from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.log import Chunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Table

    LastBatch = tuple[int, int, int, int]
    View = tuple[int, LastBatch | None, int | None]

MAX_PRODUCERS = 1 << 15
"""The number of producers remembered at once; beyond it, the older half is forgotten."""

WRAPPED = 1 << 31
"""Expected after sequence 2147483647, where 0 is to follow."""

ANYTHING = WRAPPED + 1
"""Expected where any sequence may follow: after a marker with a new epoch."""


NO_PRODUCER_EPOCH = -1

UNKNOWN_EPOCH = -2
"""Lower than the epoch of any batch."""

MOST_MISSING = 16
"""Producers with an open transaction that a snapshot lacks, and that are named."""

MAX_IN_FLIGHT = 5
"""Batches that a producer may have under way, and so send again."""


_COLUMNS = ("producer_id", "is_control", "producer_epoch", "base_sequence", "last_sequence", "base_offset", "last_offset")
_MOST_RECENT = 32  # sections whose batches are remembered, of more than two only as many as hold
_RECENT_BATCHES = 128
_MAX_STEP_ROWS = 4096  # most rows of a column that are unpacked at once


class Rows:
    """The intact batches of a chunk by their producers; the index is built on first use."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk: Chunk | None = chunk
        self._length = len(chunk)
        self._columns: list[Sequence[int]] | None = None
        self._crcs: Sequence[int] = ()
        self._rows: dict[int, list[int]] | None = None

    def __len__(self) -> int:
        return self._length

    @property
    def chunk(self) -> Chunk:
        """The chunk, until `keep` releases it."""
        assert self._chunk is not None
        return self._chunk

    @property
    def batches(self) -> Table[RecordBatch]:
        """The batches of the chunk, until `keep` releases it."""
        return self.chunk.batches

    @property
    def columns(self) -> list[Sequence[int]]:
        """Producer ids, whether each is control, epochs, first and last sequences, first and last offsets."""
        if self._columns is None:
            self._columns = [self.batches[name] for name in _COLUMNS]
        return self._columns

    def column(self, name: str) -> Sequence[int]:
        """One of these columns, by its name in RecordBatch."""
        return self.columns[_COLUMNS.index(name)]

    @property
    def crcs(self) -> Sequence[int]:
        """The stored checksums."""
        return self._crcs if self._chunk is None else self.batches["crc"]

    def keep(self) -> None:
        """Copy what is needed from the chunk, while its file is open, and release it."""
        if self._chunk is not None:
            self._columns, self._crcs = self.columns, self.crcs
            self._chunk = None

    @property
    def is_kept(self) -> bool:
        """Whether the chunk is released."""
        return self._chunk is None

    def before(self, producer_id: int, row: int) -> list[int]:
        """The rows of this producer's last few data batches before a row."""
        if self._rows is None:
            self._rows = {}
            for number, (producer, is_control) in enumerate(zip(*self.columns[:2], strict=True)):
                if producer >= 0 and not is_control:
                    self._rows.setdefault(producer, []).append(number)
        rows = self._rows.get(producer_id, [])
        end = bisect_left(rows, row)
        return rows[max(0, end - MAX_IN_FLIGHT) : end]

    def last_rows(self, start: int, end: int) -> Iterable[tuple[int, int]]:
        """The producers of the data batches from one row up to but not including another, with the last row of each."""
        producer_ids, is_control = (column[start:end] for column in self.columns[:2])
        rows = range(start, end)
        if True not in is_control:
            return dict(zip(producer_ids, rows, strict=True)).items()
        columns = zip(producer_ids, is_control, rows, strict=True)
        return {producer_id: row for producer_id, control, row in columns if not control}.items()


class OpenTransaction(Declared):
    """A transaction without a marker so far: where it starts, and the last offset of its data, which is computed on request."""

    producer_id: int
    epoch: int
    first_offset: int
    path: str
    position: int
    end: int
    damages: int
    last_offset: int = -1


class StateAt(Declared):
    """What a log up to some offset says of the producers of a snapshot.

    `views` are of those that both know. `missing` are producers with an open transaction that the snapshot lacks, and the first
    offset of each: no more than MOST_MISSING; `more` counts the others.
    """

    views: dict[int, View]
    missing: list[tuple[int, int]]
    more: int


class Producers:
    """The producers of a log, up to the batch that was read last.

    `epochs` are those of each, and `expected` is the next sequence, which may be WRAPPED or ANYTHING. `last_batches` holds of
    their data the epoch, last sequence, base and last offset, `markers` the highest coordinator epoch with its offset.
    `is_complete` is false once producers were forgotten, `damages` counts ranges that could not be read. `snapshots` are the
    offsets of upcoming snapshots, ascending; what those should say that were passed is kept in `states`, None where they could
    not be read. Old brokers (1.0) took a snapshot when they knew of the next batch already: `later_views` are of its producer.
    `recent` holds the batches of the last sections, the later first: of two, and of more if they are small.
    """

    def __init__(self, snapshots: list[int]) -> None:
        self.epochs: dict[int, int] = {}
        self.expected: dict[int, int] = {}
        self.last_batches: dict[int, LastBatch] = {}
        self.markers: dict[int, tuple[int, int]] = {}
        self.open: dict[int, OpenTransaction] = {}
        self.continuity = Continuity()
        self.is_complete = True
        self.damages = 0
        self.snapshots = snapshots
        self.states: dict[int, StateAt | None] = {}
        self.later_views: dict[int, tuple[int, View]] = {}
        self.recent: list[Rows] = []
        self._recent_batches = 0

    def forget(self, producer_id: int) -> None:
        """Forget all about this producer."""
        self.is_complete = False
        self.epochs.pop(producer_id, None)
        self.expected.pop(producer_id, None)
        self.last_batches.pop(producer_id, None)
        self.markers.pop(producer_id, None)
        self.open.pop(producer_id, None)

    def make_room(self) -> None:
        """Forget half of the producers if there are too many."""
        if len(self.expected) >= MAX_PRODUCERS:
            for producer_id in list(islice(self.expected, MAX_PRODUCERS // 2)):
                self.forget(producer_id)

    def leave_segment(self) -> None:
        """Prepare for the next segment, while this one is still open."""
        for rows in self.recent:
            rows.keep()

    def record(self, rows: Rows) -> None:
        """Remember these batches until two more sections have come, or many small ones."""
        recent = self.recent
        recent.insert(0, rows)
        self._recent_batches += len(rows)
        while len(recent) > _MOST_RECENT or len(recent) > 2 and self._recent_batches - len(recent[-1]) >= _RECENT_BATCHES:
            self._recent_batches -= len(recent.pop())

    def open_transactions(self) -> list[OpenTransaction]:
        """The open transactions, sorted by the last offset of their data."""
        for producer_id, transaction in self.open.items():
            _, _, _, last_offset = self.last_batches.get(producer_id, (0, 0, 0, transaction.first_offset))
            transaction.last_offset = max(transaction.last_offset, transaction.first_offset, last_offset)
        return sorted(self.open.values(), key=attrgetter("last_offset"))

    def enter_segment(self, facts: SegmentFacts) -> None:
        """Start the next segment. If the one before could not be read to its end, its last batches are forgotten."""
        self.recent = [rows for rows in self.recent if rows.is_kept]
        self._recent_batches = sum(map(len, self.recent))
        self.continuity.enter(facts)
        base_offset = facts.base_offset
        if base_offset is not None and self.snapshots:
            self.states = {offset: state for offset, state in self.states.items() if offset >= base_offset}
            self.later_views = {offset: view for offset, view in self.later_views.items() if offset >= base_offset}
            del self.snapshots[: bisect_left(self.snapshots, base_offset)]

    def view_of(self, producer_id: int) -> View:
        """The epoch of a producer, its last batch, and the first offset of its open transaction."""
        transaction = self.open.get(producer_id)
        first_offset = None if transaction is None else transaction.first_offset
        return self.epochs[producer_id], self.last_batches.get(producer_id), first_offset

    def state_for(self, producer_ids: Iterable[int]) -> StateAt:
        """What a snapshot of these producers should say now."""
        views = {producer_id: self.view_of(producer_id) for producer_id in producer_ids if producer_id in self.expected}
        lacking = (producer_id for producer_id in self.open if producer_id not in views)
        missing = sorted((producer_id, self.open[producer_id].first_offset) for producer_id in islice(lacking, MOST_MISSING))
        return StateAt(views, missing, len(self.open) - len(missing) - sum(map(self.open.__contains__, views)))

    def keep_state(self, state: StateAt | None) -> int:
        """Keep what the next snapshot should say; None if it cannot be read. Returns its offset."""
        offset = self.snapshots.pop(0)
        self.states[offset] = state
        return offset

    def keep_later_view(self, offset: int, producer_id: int) -> None:
        """Keep the state one batch after this snapshot."""
        if producer_id in self.expected:
            self.later_views[offset] = (producer_id, self.view_of(producer_id))

    def state_at(self, offset: int, producer_ids: Iterable[int]) -> StateAt | None:
        """What a snapshot of this offset, the last one passed, should say; None if it could not be read when it was passed."""
        return self.states.pop(offset) if offset in self.states else self.state_for(producer_ids)


class Continuity:
    """Finds how far back the offsets of a log go without a gap. It reads each batch once, on request."""

    def __init__(self) -> None:
        self.segments: list[SegmentFacts] = []
        self._first: SegmentFacts | None = None  # of those with batches, without the newest segment
        self._last: SegmentFacts | None = None
        self._segment = 0
        self._row = 0
        self._next_offset: int | None = None
        self._run_start = 0

    def enter(self, facts: SegmentFacts) -> None:
        """Add the next segment, when the one before has been read."""
        if self.segments and self.segments[-1].last_offset is not None:
            self._last = self.segments[-1]
            self._first = self._first or self._last
        self.segments.append(facts)

    @property
    def offsets(self) -> tuple[int, int] | None:
        """The first offset of all segments, and the last; None if no segment has a batch."""
        newest = self.segments[-1] if self.segments and self.segments[-1].last_offset is not None else None
        first, last = self._first or newest, newest or self._last
        if first is None or last is None or first.first_offset is None or last.last_offset is None:
            return None
        return first.first_offset, last.last_offset

    def run_start(self, offset: int) -> int:
        """The first offset from which none is missing up to this one. Calls must come in ascending order."""
        while self._segment < len(self.segments):
            facts = self.segments[self._segment]
            first_offsets, last_offsets = facts.first_offsets, facts.last_offsets
            next_offset, row = self._next_offset, self._row
            is_behind, step = True, 16
            while is_behind and row < len(first_offsets):
                step = min(2 * step, _MAX_STEP_ROWS)
                for first, last in zip(first_offsets[row : row + step], last_offsets[row : row + step], strict=True):
                    is_behind = first <= offset
                    if not is_behind:
                        break
                    if first != next_offset:
                        self._run_start = first
                    next_offset = last + 1
                    row += 1
            self._next_offset, self._row = next_offset, row
            if row < len(first_offsets) or self._segment == len(self.segments) - 1:
                break
            self._segment, self._row = self._segment + 1, 0
        return self._run_start
