"""Puts the steps of a walk past damage together: many batches and damaged ranges as one item."""

from __future__ import annotations

from kdump.reading.found_batches import chunk_of
from kdump.reading.items import Damages, Patches, Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.reading.found_batches import FoundBatch
    from kdump.reading.items import Damage
    from kdump.reading.steps import Step

_MOST_BATCHES = 512
_MOST_BYTES = 1 << 20


class PatchesUnderWay:
    """Batches and damaged ranges that come together, until a walk hands them over."""

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
        return Patches(section, Damages(self._damages), self._counts)


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
