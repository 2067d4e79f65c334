"""Follows producers by runs of their batches, as the summary of a section has them."""

from __future__ import annotations

from kdump.binary.producer_streak import (
    BASE_OFFSET,
    COMMIT_OFFSET,
    COMMITS,
    CONTROL_TYPE,
    COORDINATOR_EPOCH,
    END,
    EPOCH,
    FIRST_COORDINATOR_EPOCH,
    IS_OPEN,
    LAST_BASE_OFFSET,
    LAST_OFFSET,
    MARKER,
    PLAIN,
    POSITION,
    PRODUCER_ID,
    TRANSACTIONAL,
)
from kdump.checks.producers import ANYTHING, UNKNOWN_EPOCH, OpenTransaction
from kdump.messages.control_records import ABORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.checks.producers import LastBatch, Producers

    Run = tuple[int, ...]
    """One run of a producer; producer_streak names its fields."""

    Place = tuple[int, int, int]
    """Where a marker starts and ends, and its offset."""

_NO_COORDINATOR_EPOCH = -1 << 63  # lower than any


class FollowedRuns:
    """Follows producers a run of batches at a time, while nothing is unusual; only `enter` changes what is known of them."""

    def __init__(self, known: Producers, path: str, *, any_sequence: bool) -> None:
        self.states: dict[int, _ProducerState] = {}
        self.last_batches: dict[int, LastBatch] = {}
        self.markers_without_data: list[tuple[int, Place]] = []
        self.aborted: list[tuple[int, int, Place]] = []
        self._known = known
        self._path = path
        self._any_sequence = any_sequence

    def follow(self, runs: Iterator[Run]) -> bool:
        """Whether nothing is to be reported about these runs."""
        states, any_sequence = self.states, self._any_sequence
        for run in runs:
            producer_id, epoch, kind, base, last = run[:5]
            state = states.get(producer_id) or self._state_of(producer_id)
            if epoch < state.epoch:
                return False
            if kind == MARKER:
                coordinator_epoch = run[COORDINATOR_EPOCH]
                if coordinator_epoch < state.coordinator_epoch:
                    return False
                if epoch > state.epoch:
                    state.epoch, state.expected = epoch, ANYTHING
                if state.opened_by is None or run[CONTROL_TYPE] == ABORT:
                    self._record_marker(state.opened_by, run)
                state.opened_by, state.coordinator_epoch, state.marker_offset = None, coordinator_epoch, run[LAST_OFFSET]
                continue
            if base != state.expected != ANYTHING and epoch == state.epoch and not any_sequence:
                return False
            commits = run[COMMITS]
            if commits:
                if run[FIRST_COORDINATOR_EPOCH] < state.coordinator_epoch:
                    return False
                state.opened_by, state.coordinator_epoch, state.marker_offset = None, run[COORDINATOR_EPOCH], run[COMMIT_OFFSET]
            state.epoch, state.expected = epoch, last + 1
            self.last_batches[producer_id] = (epoch, last, run[LAST_BASE_OFFSET], run[LAST_OFFSET])
            if commits and not run[IS_OPEN]:
                continue  # the last transaction is committed, too
            if kind == PLAIN:
                if state.opened_by is not None:
                    return False
            elif state.opened_by is None:
                if kind != TRANSACTIONAL:
                    return False  # an empty batch, which may have opened a transaction, or not
                state.opened_by = run
        return True

    def _state_of(self, producer_id: int) -> _ProducerState:
        state = self.states[producer_id] = _ProducerState(self._known, producer_id)
        return state

    def _record_marker(self, opened_by: OpenTransaction | Run | None, run: Run) -> None:
        """Record a marker without data, or of a transaction that was aborted."""
        producer_id, place = run[PRODUCER_ID], (run[POSITION], run[END], run[LAST_OFFSET])
        if opened_by is None:
            self.markers_without_data.append((producer_id, place))
        else:
            first_offset = opened_by.first_offset if isinstance(opened_by, OpenTransaction) else opened_by[BASE_OFFSET]
            self.aborted.append((producer_id, first_offset, place))

    def enter(self) -> None:
        """Enter the state after the runs into what is known of the producers."""
        known = self._known
        for producer_id, state in self.states.items():
            known.epochs[producer_id] = state.epoch
            known.expected[producer_id] = state.expected
            opened_by = state.opened_by
            if opened_by is None:
                known.open.pop(producer_id, None)
            elif not isinstance(opened_by, OpenTransaction):
                first_epoch, base_offset = opened_by[EPOCH], opened_by[BASE_OFFSET]
                known.open[producer_id] = OpenTransaction(
                    producer_id, first_epoch, base_offset, self._path, opened_by[POSITION], opened_by[END], known.damages
                )
            if state.marker_offset is not None:
                known.markers[producer_id] = (state.coordinator_epoch, state.marker_offset)
        known.last_batches.update(self.last_batches)


class _ProducerState:
    """A producer while its runs are followed.

    `opened_by` is the run that opened its transaction, or that transaction if it was open before. The highest marker so far
    has the `coordinator_epoch` and the offset `marker_offset`, None if there was none.
    """

    __slots__ = ("coordinator_epoch", "epoch", "expected", "marker_offset", "opened_by")

    def __init__(self, known: Producers, producer_id: int) -> None:
        self.epoch = known.epochs.get(producer_id, UNKNOWN_EPOCH)
        self.expected = known.expected.get(producer_id, ANYTHING)
        self.opened_by: OpenTransaction | Run | None = known.open.get(producer_id)
        self.coordinator_epoch: int = _NO_COORDINATOR_EPOCH
        self.marker_offset: int | None = None
        marker = known.markers.get(producer_id)
        if marker is not None:
            self.coordinator_epoch, self.marker_offset = marker
