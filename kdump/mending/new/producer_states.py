"""The producers of a partition as a recovery rebuilds them: their last batches, and the transactions they have open.

Kafka: ProducerStateManager, ProducerAppendInfo, ProducerStateEntry.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from kdump.binary.arithmetic import NO_SEQUENCE
from kdump.errors import CorruptData
from kdump.mending.new import java_hash_map
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NO_EPOCH = -1
_NO_OFFSET = -1


class Producer:
    """The state of one producer, with the fields of a snapshot."""

    __slots__ = ("coordinator_epoch", "epoch", "first_offset", "last_offset", "last_sequence", "offset_delta", "timestamp")

    def __init__(self) -> None:
        self.epoch = NO_EPOCH
        self.coordinator_epoch = NO_EPOCH
        self.timestamp = -1
        self.first_offset = _NO_OFFSET  # of the transaction that is open
        self.forget_batch()

    def forget_batch(self) -> None:
        self.last_sequence = NO_SEQUENCE
        self.last_offset = _NO_OFFSET
        self.offset_delta = 0

    @property
    def has_transaction(self) -> bool:
        return self.first_offset >= 0


class Aborted(Declared):
    """A transaction that a marker aborted, as the transaction index has it."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerStates:
    """All producers, in the order in which they came."""

    def __init__(self) -> None:
        self._producers: dict[int, Producer] = {}
        self._open: list[int] = []  # first offsets of open transactions, ascending
        self._owners: dict[int, int] = {}  # their producers

    def clear(self) -> None:
        self._producers.clear()
        self._open.clear()
        self._owners.clear()

    def add_data(
        self,
        producer_id: int,
        epoch: int,
        *,
        first_offset: int,
        last_base_offset: int,
        last_offset: int,
        last_sequence: int,
        timestamp: int,
        is_transactional: bool,
    ) -> None:
        """Add one data batch, or several that follow one another.

        Raises CorruptData (`txn-nontransactional-write`) for data outside of the transaction that the producer has open: a start
        of the broker fails there.
        """
        producer = self._producer(producer_id)
        producer.epoch = epoch
        producer.last_sequence = last_sequence
        producer.last_offset = last_offset
        producer.offset_delta = last_offset - last_base_offset
        producer.timestamp = timestamp
        if producer.has_transaction and not is_transactional:
            message = f"producer {producer_id} writes offset {first_offset:,} outside of the transaction that it has open"
            raise CorruptData("txn-nontransactional-write", message, offset=first_offset)
        if is_transactional and not producer.has_transaction:
            producer.first_offset = first_offset
            self._owners[first_offset] = producer_id
            insort(self._open, first_offset)

    def add_marker(
        self, producer_id: int, epoch: int, *, offset: int, coordinator_epoch: int, timestamp: int, is_abort: bool
    ) -> Aborted | None:
        """Add a marker. Returns the transaction that it aborts, if there is one."""
        producer = self._producer(producer_id)
        aborted = None
        if producer.has_transaction:
            first_offset = producer.first_offset
            if is_abort:
                aborted = Aborted(producer_id, first_offset, offset, self._stable_offset(producer_id, offset))
            del self._open[bisect_left(self._open, first_offset)]
            del self._owners[first_offset]
        if producer.epoch != epoch:
            producer.epoch = epoch
            producer.forget_batch()
        producer.first_offset = _NO_OFFSET
        producer.coordinator_epoch = coordinator_epoch
        producer.timestamp = timestamp
        return aborted

    def _stable_offset(self, producer_id: int, marker_offset: int) -> int:
        """The last stable offset after a marker: where the first open transaction of another producer starts, or its end."""
        for first_offset in self._open:
            if self._owners[first_offset] != producer_id:
                return first_offset
        return marker_offset + 1

    def add(self, producer_id: int) -> None:
        """Add a producer of which nothing is known, if it is new."""
        self._producer(producer_id)

    def reload(self, is_expired: Callable[[int], bool]) -> None:
        """Do as if they were written to a snapshot and read again. `is_expired` says of a timestamp whether it is too old.

        A broker drops producers then that have been silent too long and have no transaction open.
        """
        kept = self._producers
        self._producers = {
            producer_id: kept[producer_id]
            for producer_id in java_hash_map.listed(kept)
            if kept[producer_id].has_transaction or not is_expired(kept[producer_id].timestamp)
        }

    def rows(self) -> list[tuple[int, ...]]:
        """The entries of a snapshot, in the order in which a broker writes them."""
        found: list[tuple[int, ...]] = []
        for producer_id in java_hash_map.listed(self._producers):
            state = self._producers[producer_id]
            of_batch = (state.epoch, state.last_sequence, state.last_offset, state.offset_delta)
            found.append((producer_id, *of_batch, state.timestamp, state.coordinator_epoch, state.first_offset))
        return found

    def _producer(self, producer_id: int) -> Producer:
        found = self._producers.get(producer_id)
        if found is None:
            found = self._producers[producer_id] = Producer()
        return found
