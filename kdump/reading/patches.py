"""Puts the steps of a walk past damage together: many batches and damaged ranges as one item."""

from __future__ import annotations

from functools import partial

from kdump.binary.batch_header import BASE_OFFSET, BATCH_FIELDS, BATCH_HEADER_SIZE, LENGTH, LENGTH_AT, LOG_OVERHEAD
from kdump.formats.record_batch import RecordBatch
from kdump.reading import damages
from kdump.reading.found_batches import chunk_of, row_of
from kdump.reading.items import BY_LENGTH, DAMAGED, INTACT, SALVAGED, Damage, Damages, Patches, Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from kdump.reading.found_batches import FoundBatch
    from kdump.reading.search import Budget, Search
    from kdump.reading.steps import Step, Steps
    from kdump.reading.trust import Order
    from kdump.reading.tuning import ReadTuning

_MOST_BATCHES = 512
_MOST_BYTES = 1 << 20
_WINDOWS = 16  # times as much is read for the kernel as a search looks at first,
_LEAST_LEFT = 6  # and read again once no more than this is left: longer than batches are whose lengths have 16 bits
_STATUSES = INTACT, SALVAGED, DAMAGED

_UNKNOWN_CODEC, _UNKNOWN_CODEC_WRONG_CRC = 8, 9  # kinds of damage, as the kernel numbers them,
_KIND, _IS_BY_LENGTH, _LEADS_OVER, _IS_UNCHECKED = 0x0F, 0x10, 0x20, 0x40  # which are these bits, and others


class PatchesUnderWay:
    """Batches and damaged ranges that come together, until a walk hands them over."""

    __slots__ = (
        "_claimed",
        "_counts",
        "_damages",
        "_data",
        "_headers",
        "_is_legacy",
        "_nested",
        "_positions",
        "_size",
        "_starts",
        "_statuses",
        "_valid",
    )

    def __init__(self, is_legacy: bool) -> None:
        self._is_legacy = is_legacy
        self._nested: list[bool] = []
        self._headers: list[tuple[int, ...]] = []
        self._positions: list[int] = []
        self._valid: list[bool] = []
        self._starts: list[int] = []
        self._data: list[bytes] = []
        self._size = 0
        self._statuses: list[str] = []
        self._claimed: dict[int, int] = {}
        self._damages: list[Damage] = []
        self._counts: list[int] = []

    def takes(self, batch: FoundBatch) -> bool:
        """Whether this batch may come with those so far."""
        return (
            batch.data is not None
            and batch.is_legacy == self._is_legacy
            and len(self._headers) < _MOST_BATCHES
            and self._size + batch.size <= _MOST_BYTES
        )

    def add(self, step: Step, *, is_nested: bool) -> None:
        """Add the batch, which may be nested, or the damaged ranges, of a step."""
        batch = step.batch
        if batch is None:
            self._damages += step.damages
            self._counts += [len(self._headers)] * len(step.damages)
            return
        assert batch.data is not None
        if step.claimed_length is not None:
            self._claimed[len(self._headers)] = step.claimed_length
        self._headers.append(batch.header)
        self._positions.append(batch.position)
        self._valid.append(batch.is_valid)
        self._starts.append(self._size)
        self._data.append(batch.data)
        self._size += batch.size
        self._statuses.append(step.status)
        self._nested.append(is_nested)

    def patches(self) -> Patches:
        """All of them."""
        window = b"".join(self._data)
        chunk = chunk_of(self._headers, self._positions, self._valid, self._starts, window, is_legacy=self._is_legacy)
        section = Section(chunk, self._statuses, _if_any(self._nested), self._claimed)
        return Patches(section, Damages.of(self._damages), self._counts)


def lone_section(step: Step, *, is_nested: bool) -> Section:
    """The batch of a step alone."""
    batch = step.batch
    assert batch is not None
    window = b"" if batch.data is None else batch.data
    chunk = chunk_of([batch.header], [batch.position], [batch.is_valid], [0], window, is_legacy=batch.is_legacy)
    claimed = {} if step.claimed_length is None else {0: step.claimed_length}
    return Section(chunk, [step.status], _if_any([is_nested]), claimed)


def _if_any(nested: list[bool]) -> Sequence[bool]:
    return nested if True in nested else ()


class NativeSteps:
    """The steps that the kernel in C takes, in windows of a log. What it does not decide is left to the caller."""

    def __init__(
        self, native: ModuleType, search: Search, steps: Steps, order: Order, for_large: Budget, tuning: ReadTuning
    ) -> None:
        self._walk = native.walk_steps
        self._search = search
        self._steps = steps
        self._order = order
        self._for_large = for_large
        self._near_bytes = max(tuning.near_bytes, BATCH_HEADER_SIZE)
        self._window = b""
        self._position = 0
        self.end = 0
        """Where the last steps ended."""
        self.sound = 0, 0
        """How many intact batches were the last ones, and their bytes."""

    def items(self, position: int, stop: int, sound: tuple[int, int], most_sound: int) -> list[Damage | Patches]:
        """What the steps from this position on find, before `stop`; nothing if the first is not decided.

        They end where `most_sound` intact batches follow each other. `sound` says how many did before, and their bytes.
        """
        source, budget, ends = self._search.source, self._search.budget, self._steps.ends
        if source.size - position <= self._near_bytes:
            return []
        start, window = self._position, self._window
        if not start <= position or len(window) - (position - start) <= _LEAST_LEFT * self._near_bytes:
            start, window = position, source.read(position, _WINDOWS * self._near_bytes)
            self._position, self._window = start, window
        numbers = self._order.numbers(self._steps.damaged)
        batches, damaged, self.end, left, ahead, self.sound, others = self._walk(
            window,
            start,
            position - start,
            stop - start,
            source.size - start,
            self._near_bytes,
            (_MOST_BATCHES, most_sound),
            _STATUSES,
            numbers,
            (budget.tries, budget.crc_bytes, budget.kept_crc_bytes, self._for_large.crc_bytes),
            (ends.start - start, ends.end - start, ends.known),
            sound,
        )
        if self.end == position:
            return []
        budget.tries, budget.crc_bytes, self._for_large.crc_bytes = left
        ahead_start, ahead_end, are_known, found = ahead
        ends.take_on(ahead_start, ahead_end, found, are_known=are_known)
        self._steps.damaged = self._order.take_numbers(numbers)
        return list(self._of_steps(batches, damaged, others))

    def _of_steps(
        self,
        batches: tuple[list[tuple[int, ...]], list[int], list[bool], list[str], list[bool], list[tuple[int, int]]],
        damaged: tuple[list[int], list[int], list[int], list[int], list[int], list[int | tuple[int, ...] | None]],
        others: tuple[list[tuple[int, ...]], list[int], list[bool], list[int]],
    ) -> Iterator[Damage | Patches]:
        headers, positions, valid, statuses, nested, claimed = batches
        counts = damaged[0]
        columns = _Damaged(*damaged[1:])
        leading = counts.count(0)
        yield from map(columns.damage, range(leading))
        if not headers:
            return
        window, starts = self._bytes_of(headers, positions)
        if claimed:
            corrected = bytearray(window)
            for row, _ in claimed:
                at = starts[row] + LENGTH_AT
                corrected[at : at + 4] = headers[row][LENGTH].to_bytes(4, "big")
            window = bytes(corrected)
        is_legacy = len(headers[0]) < BATCH_FIELDS
        chunk = chunk_of(headers, positions, valid, starts, window, is_legacy=is_legacy)
        section = Section(chunk, statuses, _if_any(nested), dict(claimed))
        other_headers, other_positions, other_valid, other_counts = others
        other = None
        if other_headers:
            window, starts = self._bytes_of(other_headers, other_positions)
            chunk = chunk_of(other_headers, other_positions, other_valid, starts, window, is_legacy=not is_legacy)
            other = Section(chunk, [DAMAGED] * len(other_headers))
        yield Patches(section, columns.from_number(leading), counts[leading:] if leading else counts, other, other_counts)

    def _bytes_of(self, headers: Sequence[tuple[int, ...]], positions: Sequence[int]) -> tuple[bytes, list[int]]:
        """The bytes from the first of these batches to the end of the last one, and where each begins in them."""
        first, last = positions[0] - self._position, positions[-1] - self._position
        window = self._window[first : last + headers[-1][LENGTH] + LOG_OVERHEAD]
        return window, [position - positions[0] for position in positions]


class _Damaged:
    """Damaged ranges as the kernel describes them. A row is the offset or the header of a batch, None if nothing is known."""

    def __init__(
        self,
        starts: list[int],
        ends: list[int],
        kinds: list[int],
        numbers: list[int],
        rows: list[int | tuple[int, ...] | None],
    ) -> None:
        self._starts = starts
        self._ends = ends
        self._kinds = kinds
        self._numbers = numbers
        self._rows = rows

    def from_number(self, first: int) -> Damages:
        """All of them from this number on."""
        traits = [_TRAITS[kind & (_KIND | _IS_UNCHECKED)] for kind in self._kinds[first:]]
        codes, statuses, are_batches = zip(*traits, strict=True) if traits else ((), (), ())
        offsets: list[int | None] = [None] * len(traits)
        for number, row in enumerate(self._rows[first:]):
            if row is not None and are_batches[number] and not isinstance(row, int) and len(row) == BATCH_FIELDS:
                offsets[number] = row[BASE_OFFSET]
        have_rows = [row is not None for row in self._rows[first:]]
        starts, ends = self._starts[first:], self._ends[first:]
        return Damages(codes, statuses, starts, ends, are_batches, offsets, have_rows, lambda row: self.damage(first + row))

    def damage(self, number: int) -> Damage:
        """The range with this number."""
        kind, row = self._kinds[number], self._rows[number]
        damage = _MAKERS[kind & _KIND](self._starts[number], self._ends[number], self._numbers[number])
        if isinstance(row, int):
            damage.make_row, damage.through = partial(RecordBatch.partial, None, row), "last_offset"
        elif row is not None:
            is_legacy = len(row) < BATCH_FIELDS
            is_valid = kind & _KIND == _UNKNOWN_CODEC
            damage.make_row = partial(row_of, row, damage.start, is_valid=is_valid, is_legacy=is_legacy)
            damage.through = "isvalid"
            if is_valid or kind & _KIND == _UNKNOWN_CODEC_WRONG_CRC:
                damage.through = "last_offset" if is_legacy else "delete_horizon_ms"
        if kind & _LEADS_OVER:
            damage.message = damages.LEADS_OVER_BATCHES
        if kind & _IS_BY_LENGTH:
            damage.resync = BY_LENGTH
        if kind & _IS_UNCHECKED:
            damages.leave_unchecked(damage)
        return damage


_MAKERS: tuple[Callable[[int, int, int], Damage], ...] = (  # by the numbers that the kernel gives kinds of damage
    lambda start, end, _: damages.garbage(start, end),
    lambda start, end, _: damages.zero_hole(start, end),
    damages.negative_length,
    damages.small_length,
    damages.length_past_end,
    lambda start, end, _: damages.unchecked(start, end),
    lambda start, end, _: damages.wrong_crc(start, end),
    damages.bad_magic,
    damages.unknown_codec,
    lambda start, end, codec: damages.unknown_codec(start, end, codec, is_valid=False),
)
_TRAITS: dict[int, tuple[str, str, bool]] = {}
for _number, _make in enumerate(_MAKERS):
    _made = _make(0, 1, 0)
    _TRAITS[_number] = _made.code, _made.status, _made.is_batch
    damages.leave_unchecked(_made)
    _TRAITS[_number | _IS_UNCHECKED] = _made.code, _made.status, _made.is_batch
