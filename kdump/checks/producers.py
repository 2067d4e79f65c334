"""What a log says of its producers so far, handed on from segment to segment."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.segment import SegmentFacts

    LastBatch = tuple[int, int, int, int]
    View = tuple[int, LastBatch | None, int | None]

CARRIED = "transactions"
"""The name under which a partition hands this on."""

MAX_PRODUCERS = 1 << 15
"""So many producers are known at once; then the half of them that was seen first is forgotten."""

WRAPPED = 1 << 31
"""Expected behind sequence 2147483647, where 0 is to follow."""

ANYTHING = WRAPPED + 1
"""Expected where any sequence may follow: behind a marker with a new epoch."""


def of(context: FileContext) -> Producers:
    """What was handed on to this segment, or a begin where it stands alone or first."""
    if context.partition is None:
        return Producers([])
    carried = context.partition.carried
    if CARRIED not in carried:
        snapshots = sorted(base for base, files in context.partition.files.segments.items() if ".snapshot" in files)
        carried[CARRIED] = Producers(snapshots)
    producers = carried[CARRIED]
    assert isinstance(producers, Producers)
    return producers


class OpenTransaction:
    """A transaction without marker so far: where it began, and the last offset of its data."""

    __slots__ = ("damages", "end", "epoch", "first_offset", "last_offset", "path", "position", "producer_id")

    def __init__(
        self,
        producer_id: int,
        epoch: int,
        first_offset: int,
        last_offset: int,
        path: str,
        position: int,
        end: int,
        damages: int,
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.path = path
        self.position = position
        self.end = end
        self.damages = damages


class Producers:
    """The producers of a log, as far as it was read.

    `expected` is the epoch of each, times 2^32, plus the sequence that is to follow, which may be WRAPPED or ANYTHING.
    `last_batches` holds of their data the epoch, last sequence, base and last offset, `markers` the highest coordinator epoch
    with its offset. `is_complete` is false once producers were forgotten, `damages` counts ranges that could not be read.
    `snapshots` are the offsets of snapshots that lie ahead; what they are to say is kept in `views`.
    """

    def __init__(self, snapshots: list[int]) -> None:
        self.expected: dict[int, int] = {}
        self.last_batches: dict[int, LastBatch] = {}
        self.markers: dict[int, tuple[int, int]] = {}
        self.open: dict[int, OpenTransaction] = {}
        self.continuity = Continuity()
        self.is_complete = True
        self.damages = 0
        self.snapshots = snapshots
        self.views: dict[int, dict[int, View]] = {}

    def forget(self, producer_id: int) -> None:
        """Know nothing of this producer any more."""
        self.is_complete = False
        for known in (self.expected, self.last_batches, self.markers, self.open):
            known.pop(producer_id, None)  # type: ignore[attr-defined]  # all have ids as keys

    def make_room(self) -> None:
        """Forget producers where they are too many."""
        if len(self.expected) >= MAX_PRODUCERS:
            for producer_id in list(islice(self.expected, MAX_PRODUCERS // 2)):
                self.forget(producer_id)

    def enter_segment(self, facts: SegmentFacts) -> None:
        """A segment follows."""
        self.continuity.segments.append(facts)
        base_offset = facts.base_offset
        if base_offset is not None and self.snapshots:
            self.views = {offset: view for offset, view in self.views.items() if offset >= base_offset}
            self.snapshots = [offset for offset in self.snapshots if offset >= base_offset]

    def view(self) -> dict[int, View]:
        """Of each producer its epoch, its last batch, and the first offset of its open transaction."""
        views: dict[int, View] = {}
        for producer_id, expected in self.expected.items():
            transaction = self.open.get(producer_id)
            first_offset = None if transaction is None else transaction.first_offset
            views[producer_id] = (expected >> 32, self.last_batches.get(producer_id), first_offset)
        return views

    def keep_view(self) -> None:
        """The next snapshot is of this moment."""
        self.views[self.snapshots.pop(0)] = self.view()

    def view_at(self, offset: int) -> dict[int, View]:
        """What a snapshot of this offset, the last one that was passed, is to say."""
        view = self.views.pop(offset, None)
        return self.view() if view is None else view


class Continuity:
    """Tells how far back the offsets of a log go without a gap. It looks at each batch once, and only when asked."""

    def __init__(self) -> None:
        self.segments: list[SegmentFacts] = []
        self._segment = 0
        self._row = 0
        self._next_offset: int | None = None
        self._run_start = 0

    def run_start(self, offset: int) -> int:
        """The first offset from which on none is missing up to this one, which is not below any that was asked for before."""
        while self._segment < len(self.segments):
            facts = self.segments[self._segment]
            first_offsets, last_offsets = facts.first_offsets, facts.last_offsets
            next_offset, row = self._next_offset, self._row
            while row < len(first_offsets) and first_offsets[row] <= offset:
                if first_offsets[row] != next_offset:
                    self._run_start = first_offsets[row]
                next_offset = last_offsets[row] + 1
                row += 1
            self._next_offset, self._row = next_offset, row
            if row < len(first_offsets) or self._segment == len(self.segments) - 1:
                break
            self._segment, self._row = self._segment + 1, 0
        return self._run_start
