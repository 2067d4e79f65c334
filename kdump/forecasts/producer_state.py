"""The broker's producer state while it loads a log: open transactions, and the snapshots on disk.

Only the open transaction of a producer is kept: nothing else of it can make a start fail.
"""

from __future__ import annotations

from array import array

from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_BIT,
    LENGTH,
    LOG_OVERHEAD,
    MIN_BATCH_LENGTH,
    PRODUCER_ID,
    RECORD_COUNT,
    TRANSACTIONAL_BIT,
)
from kdump.binary.source import Source
from kdump.decoders import control_record
from kdump.decoders.control_record import MARKER_SIZE
from kdump.errors import CorruptData, Unreadable
from kdump.forecasts.directory import DELETED, Directory, File, Snapshots
from kdump.forecasts.exceptions import (
    BUFFER_UNDERFLOW,
    ILLEGAL_ARGUMENT,
    INVALID_RECORD,
    INVALID_TXN_STATE,
    KAFKA,
    NULL_POINTER,
    BrokerException,
    InvalidBatch,
)
from kdump.forecasts.sorted_ints import SortedInts
from kdump.formats import producer_snapshot
from kdump.formats.record import BatchRecords
from kdump.formats.record_batch import NO_PRODUCER_ID
from kdump.messages.control_records import ABORT, COMMIT
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdump.binary.kernel import RecordTuple
    from kdump.forecasts.batches import Header, LogReader
    from kdump.releases.broker_startup import StartRules

_CODEC_COUNT = 5
_MAX_CONTROL_BATCH = 1 << 20


class Completed(Declared):
    """A transaction that a marker ended. Kafka: CompletedTxn."""

    first_offset: int
    last_offset: int
    is_aborted: bool


class AppendInfo:
    """The effect of a batch of one producer on its open transaction, which starts at `open_from`. Kafka: ProducerAppendInfo."""

    def __init__(self, producer_id: int, open_from: int | None) -> None:
        self.producer_id = producer_id
        self.open_from = self.was_open_from = open_from
        self.started: int | None = None

    def append(self, log: LogReader, position: int, header: Header, rules: StartRules) -> Completed | None:
        """Apply a batch. Raises BrokerException for impossible markers, and for data outside an open transaction."""
        base_offset, attributes = header[BASE_OFFSET], header[ATTRIBUTES]
        if attributes & CONTROL_BIT:
            return self._end_transaction(log, position, header, rules)
        is_transactional = bool(attributes & TRANSACTIONAL_BIT)
        if self.open_from is not None and not is_transactional:
            reason = f"producer {self.producer_id} writes offset {base_offset:,} outside the transaction that it has open"
            raise BrokerException(reason, INVALID_TXN_STATE)
        if self.open_from is None and is_transactional:
            self.open_from = base_offset
            self.started = base_offset
        return None

    def _end_transaction(self, log: LogReader, position: int, header: Header, rules: StartRules) -> Completed | None:
        control_type = _marker(log, position, header, rules)
        if control_type is None or self.open_from is None:
            return None
        completed = Completed(self.open_from, header[BASE_OFFSET], control_type == ABORT)
        self.open_from = None
        return completed


class OpenFrom:
    """The first offsets of open transactions by producer, and how many producers have the same: what a snapshot holds."""

    def __init__(self, by_producer: SortedInts | None = None, counts: SortedInts | None = None) -> None:
        self.by_producer = SortedInts() if by_producer is None else by_producer
        self.counts = SortedInts() if counts is None else counts

    def copy(self) -> OpenFrom:
        """The same transactions, to be changed by themselves."""
        return OpenFrom(self.by_producer.copy(), self.counts.copy())

    def put(self, producer_id: int, first_offset: int | None) -> None:
        """Change where the transaction of a producer starts; None if it has none any more."""
        before = self.by_producer.pop(producer_id) if first_offset is None else self.by_producer.get(producer_id)
        if before is not None:
            count = self.counts.pop(before) or 0
            if count > 1:
                self.counts[before] = count - 1
        if first_offset is not None:
            self.by_producer[producer_id] = first_offset
            self.counts[first_offset] = (self.counts.get(first_offset) or 0) + 1

    def clear(self) -> None:
        """Forget all transactions."""
        self.by_producer.clear()
        self.counts.clear()


class ProducerStates:
    """The producers of a partition, and its snapshots. Kafka: ProducerStateManager.

    `snapshots` are those of the directory, or a copy of them: a broker does not see what others change meanwhile.
    """

    def __init__(self, directory: Directory, snapshots: Snapshots, rules: StartRules) -> None:
        self._directory = directory
        self._rules = rules
        self._open_from = OpenFrom()
        self._ongoing = SortedInts()  # first offsets; the values do not matter
        self._unreplicated = SortedInts()  # last offsets by first offset
        self._last_snapshot_offset = 0
        self.end_offset = 0
        """The offset up to which the producer state is known."""
        self.snapshots = snapshots

    @property
    def is_empty(self) -> bool:
        return not (self._open_from.by_producer or self._unreplicated)

    @property
    def first_unstable_offset(self) -> int | None:
        """The start of the first transaction that is open or not yet fully replicated."""
        firsts = self._ongoing.first_key, self._unreplicated.first_key
        return min((first for first in firsts if first is not None), default=None)

    def prepared(self, producer_id: int) -> AppendInfo:
        return AppendInfo(producer_id, self._open_from.by_producer.get(producer_id))

    def update(self, info: AppendInfo) -> None:
        if info.open_from == info.was_open_from:
            return
        self._open_from.put(info.producer_id, info.open_from)
        if info.started is not None:
            self._ongoing[info.started] = 1

    def complete(self, completed: Completed) -> None:
        if self._ongoing.pop(completed.first_offset) is None:
            first, last = completed.first_offset, completed.last_offset
            reason = f"the transaction that starts at {first:,} ends at {last:,}, but is not open"
            raise BrokerException(reason, ILLEGAL_ARGUMENT)
        self._unreplicated[completed.first_offset] = completed.last_offset

    def load(self, log: LogReader, start: int, end: int) -> None:
        """Apply all batches between two positions of a log. Kafka: UnifiedLog.loadProducersFromRecords."""
        first_offsets, last_offsets = array("q"), array("q")  # of transactions that end
        for batch in log.batches(start, end):
            if batch.is_legacy:
                continue
            header = batch.header
            producer_id = header[PRODUCER_ID]
            if producer_id <= NO_PRODUCER_ID:
                continue
            info = self.prepared(producer_id)
            completed = info.append(log, batch.position, header, self._rules)
            self.update(info)
            if completed is not None:
                first_offsets.append(completed.first_offset)
                last_offsets.append(completed.last_offset)
        for first_offset, last_offset in zip(first_offsets, last_offsets, strict=True):
            self.complete(Completed(first_offset, last_offset, is_aborted=True))

    # --- snapshots

    def take_snapshot(self) -> None:
        """Write a snapshot if the state has changed."""
        if self.end_offset > self._last_snapshot_offset:
            name = self._directory.add_snapshot(self.end_offset, _Snapshot(self._open_from.copy()))
            self.snapshots[self.end_offset] = name
            self._last_snapshot_offset = self.end_offset

    def truncate_and_reload(self, log_start: int, log_end: int) -> None:
        """Load the latest snapshot between two offsets. Others, and unreadable ones, are removed."""
        for offset in self.snapshots.outside(log_start, log_end):
            self._remove(offset)
        if log_end == self.end_offset:
            while (first := self._unreplicated.first_key) is not None and first < log_start:
                self._unreplicated.pop(first)
            self.end_offset = max(self.end_offset, log_start)
            latest = self.snapshots.latest
            self._last_snapshot_offset = log_start if latest is None else latest
            return
        self._open_from.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        while (latest := self.snapshots.latest) is not None:
            try:
                self._take(self.snapshots[latest])
            except (CorruptData, Unreadable):
                self._remove(latest)
            else:
                self._last_snapshot_offset = self.end_offset = latest
                return
        self._last_snapshot_offset = self.end_offset = log_start

    def _take(self, name: str) -> None:
        file = self._directory.files.get(name)
        if isinstance(file, _Snapshot):
            self._open_from = file.open_from.copy()
        elif file is None:
            raise CorruptData("snapshot-truncated", "the snapshot no longer exists")
        else:
            with Source(file.path) as source:
                for table in producer_snapshot.read(source):
                    rows = zip(table["producer_id"], table["current_txn_first_offset"], strict=True)
                    for producer_id, first in rows:
                        if first >= 0:
                            self._open_from.put(producer_id, first)
        self._ongoing = self._open_from.counts.copy()

    def truncate_fully(self) -> None:
        """Remove all snapshots, before any is loaded."""
        for snapshot in list(self.snapshots):
            self._remove(snapshot)

    def remove_strays(self, base_offsets: Iterable[int]) -> None:
        """Remove the snapshots without a segment, except the latest if it lies after all segments."""
        bases = set(base_offsets)
        self.snapshots = self._directory.snapshots().copy()
        strays = [offset for offset in self.snapshots if offset not in bases]
        if strays and (not bases or strays[-1] > max(bases)):
            strays.pop()
        for offset in strays:
            self._remove(offset)

    def mark_deleted(self, base_offset: int) -> None:
        """Mark the snapshot of a segment that is deleted."""
        name = self.snapshots.pop(base_offset)
        if name is not None and name in self._directory.files:
            self._directory.rename(name, name + DELETED)

    def _remove(self, offset: int) -> None:
        name = self.snapshots.pop(offset)
        if name is not None:
            self._directory.delete(name)


def _marker(log: LogReader, position: int, header: Header, rules: StartRules) -> int | None:
    """The type of the marker in a control batch; None if the batch is empty.

    Raises InvalidBatch or BrokerException as a broker does.
    """
    offset, count = header[BASE_OFFSET], header[RECORD_COUNT]
    if not count:
        return None
    if header[LENGTH] == MIN_BATCH_LENGTH + MARKER_SIZE and count == 1 and not header[ATTRIBUTES] & COMPRESSION_MASK:
        marker = control_record.usual_marker(log.read(position + BATCH_HEADER_SIZE, MARKER_SIZE))
        if marker is not None:
            return marker[0]
    key, value = _first_record(log, position, header)
    try:
        control_type = control_record.type_of(key)
        if control_type not in (ABORT, COMMIT):
            reason = f"the control batch at offset {offset:,} of a producer has type {control_type}, and is not a marker"
            raise BrokerException(reason, ILLEGAL_ARGUMENT)
        control_record.coordinator_epoch_of(value, checks_size_first=rules.checks_marker_size)
    except CorruptData as fault:
        reason = f"control batch at offset {offset:,}: {fault.message}"
        if fault.code in ("control-key-null", "control-value-null"):
            raise BrokerException(reason, NULL_POINTER) from None
        if fault.code == "marker-value-short" and not rules.checks_marker_size:
            raise BrokerException(reason, BUFFER_UNDERFLOW) from None
        raise InvalidBatch(reason, INVALID_RECORD) from None
    return control_type


def _first_record(log: LogReader, position: int, header: Header) -> tuple[bytes | None, bytes | None]:
    """Key and value of the first record of a control batch; a compressed batch must be completely valid."""
    offset, codec = header[BASE_OFFSET], header[ATTRIBUTES] & COMPRESSION_MASK
    if codec >= _CODEC_COUNT:
        raise BrokerException(f"codec {codec} of the control batch at offset {offset:,} does not exist", ILLEGAL_ARGUMENT)
    size = header[LENGTH] + LOG_OVERHEAD
    data = log.read(position, min(size, _MAX_CONTROL_BATCH))
    rows: list[RecordTuple] = []
    try:
        for part in BatchRecords(header, data).parts():
            rows += part[: 1 - len(rows)]
            if not codec:
                break
    except CorruptData as fault:
        rows += fault.values.get("good_rows", ())[: 1 - len(rows)]
        if not rows or codec:
            reason = f"control batch at offset {offset:,}: {fault.message}"
            if fault.code.endswith("varint-too-long"):
                raise BrokerException(reason, ILLEGAL_ARGUMENT) from None
            if fault.code.startswith("frame"):
                raise BrokerException(reason, KAFKA) from None
            raise InvalidBatch(reason, INVALID_RECORD) from None
    *_, key, value = rows[0]
    return None if key is None else bytes(key), None if value is None else bytes(value)


class _Snapshot(File):
    """A snapshot that a broker would have written."""

    def __init__(self, open_from: OpenFrom) -> None:
        super().__init__()
        self.open_from = open_from
