"""Walks batches that stand alone between damaged places by the kernel in C, many at a time."""

from __future__ import annotations

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.reading import damages
from kdump.reading.items import SALVAGED, Damages, Patches, Section
from kdump.reading.lone_batches import LARGEST, chunk_of, smallest_claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from kdump.reading.items import Damage
    from kdump.reading.search import Budget, Search
    from kdump.reading.spans import HeadersAhead
    from kdump.reading.trust import Order
    from kdump.reading.tuning import ReadTuning

_MOST_BATCHES = 1024
_WINDOWS = 8  # times as much is read as a search looks at first

_KINDS: tuple[Callable[[int, int, int], Damage], ...] = (  # as the kernel numbers them
    lambda start, end, _: damages.garbage(start, end),
    lambda start, end, _: damages.zero_hole(start, end),
    damages.negative_length,
    damages.small_length,
    damages.length_past_end,
    lambda start, end, _: damages.unchecked(start, end),
)
_CODES = [make(0, 1, 0).code for make in _KINDS]
_STATUSES = [make(0, 1, 0).status for make in _KINDS]
_ARE_BATCHES = [make(0, 1, 0).is_batch for make in _KINDS]


class PatchWalk:
    """Reads on where a batch stands alone, as a walk would do step by step, with the budget of its search.

    What is not decided in the window that is held, or not by the kernel, is left to the walk.
    """

    def __init__(
        self, native: ModuleType, search: Search, ends: HeadersAhead, order: Order, for_large: Budget, tuning: ReadTuning
    ) -> None:
        """Prepare a walk; `for_large` limits the bytes of large batches whose CRC may be computed."""
        self._walk = native.walk_patches
        self._search = search
        self._ends = ends
        self._order = order
        self._for_large = for_large
        self._small = smallest_claim(tuning)
        self._batch_room = max(BATCH_HEADER_SIZE, min(LARGEST, 2 * tuning.near_bytes))
        self._search_room = tuning.near_bytes - BATCH_HEADER_SIZE + 1
        self._needed = self._batch_room + 2 * (self._search_room + BATCH_HEADER_SIZE)  # after the start of a batch
        self._window_size = max(_WINDOWS * tuning.near_bytes, 2 * self._needed)
        self._window = b""
        self._position = 0

    def at(self, position: int, until: int) -> tuple[Patches, int] | None:
        """The batches from this position on, up to one that starts at `until` or later, and where they end; None if none do.

        The batch here follows damage directly.
        """
        source, budget, ends = self._search.source, self._search.budget, self._ends
        if source.size - position <= self._needed:
            return None
        window_position = self._position
        if not window_position <= position < window_position + len(self._window) - self._needed:
            self._window, self._position = source.read(position, self._window_size), position
            window_position = position
        window = self._window
        if len(window) <= self._needed:
            return None
        headers, positions, counts, starts, stops, kinds, lengths, end, left, ahead, claimed_end = self._walk(
            window,
            window_position,
            position - window_position,
            until - window_position,
            source.size - window_position,
            _MOST_BATCHES,
            (self._batch_room, self._search_room, self._small, self._for_large.crc_bytes),
            (budget.tries, budget.crc_bytes, budget.kept_crc_bytes),
            (max(ends.start - window_position, 0), max(ends.end - window_position, 0)),
            ends.known,
            self._order.nested_end - window_position,
        )
        if not headers:
            return None
        budget.tries, budget.crc_bytes = left
        start, stop, are_known, found = ahead
        ends.take_on(start, stop, found, are_known=are_known)
        nested_end = self._order.nested_end
        self._order.doubt(max(claimed_end, 0))
        first = positions[0] - window_position
        is_legacy = len(headers[0]) < 13
        chunk = chunk_of(headers, positions, window[first : end - window_position], is_legacy=is_legacy)

        columns = Damages(
            [_CODES[kind] for kind in kinds],
            [_STATUSES[kind] for kind in kinds],
            starts,
            stops,
            [_ARE_BATCHES[kind] for kind in kinds],
            lambda row: _KINDS[kinds[row]](starts[row], stops[row], lengths[row]),
        )
        return Patches(Section(chunk, [SALVAGED] * len(positions), nested_end), columns, counts), end
