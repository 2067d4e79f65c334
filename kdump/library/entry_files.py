"""Files of entries: indexes, producer snapshots, and text checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kdump.checks.wording import counted
from kdump.errors import CorruptData, Unreadable
from kdump.formats import file_name, offset_index, producer_snapshot, text_checkpoint, time_index, transaction_index
from kdump.formats.entries import used_entries
from kdump.formats.offset_index import OffsetIndexEntry
from kdump.formats.producer_snapshot import ProducerState
from kdump.formats.text_checkpoint import TextCheckpoint
from kdump.formats.time_index import TimeIndexEntry
from kdump.formats.transaction_index import AbortedTransaction
from kdump.library.file import File
from kdump.library.rows import CheckpointOffset, Damage, LeaderEpoch
from kdump.tables import Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from kdump.binary.source import Source

RowType = TypeVar("RowType", bound=Row)

_DAMAGED, _NOT_EXAMINED = "damaged", "not_examined"
_ROWS_AT_ONCE = 1000


class EntryFile(File[RowType]):
    """A file of entries."""

    def __init__(self, path: str, source: Source) -> None:
        super().__init__(path, source, source.size)
        self._entries = source

    def _damage(self, start: int, end: int, code: str, message: str, status: str = _DAMAGED) -> Damage:
        return Damage(self.path, start, end, code, message, status, None)


class IndexFile(EntryFile[RowType]):
    """An index: entries of fixed size, without the preallocated zeros at the end.

    It does not verify that entries match the log or one another; `kdump.check` does.
    """

    _entry_size: int
    _misaligned: str

    def __len__(self) -> int:
        """The number of complete entries before the zeros at the end."""
        self._check_open()
        return used_entries(self._entries, self._entry_size)

    def __bool__(self) -> bool:
        """Always true, even for an index without entries."""
        return True

    def _used(self, tables: Iterator[Table[RowType]]) -> Iterator[Table[RowType] | Damage]:
        """The tables up to the last used entry, and the bytes after the last complete one."""
        left = len(self)
        for table in tables:
            if left <= 0:
                break
            yield table.slice(0, left) if left < len(table) else table
            left -= len(table)
        end = self.size - self.size % self._entry_size
        if end < self.size:
            message = (
                f"{counted(self.size, 'byte is', 'bytes are')} not a multiple of {self._entry_size}: the last entry is cut off"
            )
            yield self._damage(end, self.size, self._misaligned, message)


class _RelativeIndex(IndexFile[RowType]):
    """An index of offsets relative to the base offset in its name."""

    def __init__(self, path: str, source: Source) -> None:
        try:
            self.base_offset = file_name.base_offset(path.rpartition("/")[2])
        except CorruptData as fault:
            raise Unreadable(fault.code, "the name holds no base offset, to which the entries are relative", path=path) from fault
        super().__init__(path, source)


class OffsetIndex(_RelativeIndex[OffsetIndexEntry]):
    """An offset index (`.index`), open for reading. Its rows are OffsetIndexEntry, with absolute offsets.

    `base_offset` is that of the segment, from the file name. Kafka: OffsetIndex.
    """

    _row_class = OffsetIndexEntry
    _entry_size = offset_index.ENTRY_SIZE
    _misaligned = "index-size-misaligned"

    def _parts(self) -> Iterator[Table[OffsetIndexEntry] | Damage]:
        return self._used(offset_index.read(self._entries, self.base_offset))


class TimeIndex(_RelativeIndex[TimeIndexEntry]):
    """A time index (`.timeindex`), open for reading. Its rows are TimeIndexEntry, with absolute offsets.

    `base_offset` is that of the segment, from the file name. Kafka: TimeIndex, since 0.10.1 (KIP-33).
    """

    _row_class = TimeIndexEntry
    _entry_size = time_index.ENTRY_SIZE
    _misaligned = "timeindex-size-misaligned"

    def _parts(self) -> Iterator[Table[TimeIndexEntry] | Damage]:
        return self._used(time_index.read(self._entries, self.base_offset))


class TransactionIndex(IndexFile[AbortedTransaction]):
    """A transaction index (`.txnindex`), open for reading. Its rows are AbortedTransaction.

    An entry whose version is not 0 is damage. Kafka: TransactionIndex, since 0.11.0 (KIP-98).
    """

    _row_class = AbortedTransaction
    _entry_size = transaction_index.ENTRY_SIZE
    _misaligned = "txnindex-size-misaligned"

    def __len__(self) -> int:
        """The number of complete entries; brokers do not preallocate this index."""
        self._check_open()
        return self.size // self._entry_size

    def _parts(self) -> Iterator[Table[AbortedTransaction] | Damage]:
        row = 0  # of the first entry in the table
        for part in self._used(transaction_index.read(self._entries)):
            if isinstance(part, Damage):
                yield part
                continue
            first = 0
            for number, version in enumerate(part["version"]):
                if version:
                    if first < number:
                        yield part.slice(first, number)
                    start = (row + number) * self._entry_size
                    message = f"an entry has version {version}, only 0 is known"
                    yield self._damage(start, start + self._entry_size, "txnindex-version-unknown", message)
                    first = number + 1
            if first < len(part):
                yield part.slice(first, len(part))
            row += len(part)


class ProducerSnapshot(EntryFile[ProducerState]):
    """A producer snapshot (`.snapshot`), open for reading. Its rows are ProducerState.

    One checksum covers the whole file, so a damaged file has no rows and is one Damage. Kafka: ProducerStateManager, since
    0.11.0 (KIP-98).
    """

    _row_class = ProducerState

    def _parts(self) -> Iterator[Table[ProducerState] | Damage]:
        try:
            yield from producer_snapshot.read(self._entries)
        except CorruptData as fault:
            yield self._damage(0, self.size, fault.code, fault.message)


class TextFile(EntryFile[RowType]):
    """A text checkpoint: a line with the version, a line with the count, and one line per entry."""

    _row_class: type[RowType]
    _fields: text_checkpoint.Fields

    def _parts(self) -> Iterator[Table[RowType] | Damage]:
        checkpoint = TextCheckpoint(self._entries, self._fields)
        rows: list[Sequence[Any]] = []
        for line in checkpoint.lines():
            if rows and (line.fault is not None or len(rows) >= _ROWS_AT_ONCE):
                yield Table.of(self._row_class, rows)
                rows = []
            if line.fault is not None:
                yield self._damage(line.start, line.end, line.fault.code, line.fault.message)
            if line.values:
                rows.append(line.values)
        if rows:
            yield Table.of(self._row_class, rows)
        if checkpoint.position < self.size:
            message = f"only {checkpoint.position:,} of {self.size:,} bytes were read, because hardly any line is an entry"
            yield self._damage(checkpoint.position, self.size, "file-not-recognized", message, _NOT_EXAMINED)


class OffsetCheckpoint(TextFile[CheckpointOffset]):
    """An offset checkpoint of a log directory, open for reading. Its rows are CheckpointOffset, in the order of the lines.

    The file is `recovery-point-offset-checkpoint`, `replication-offset-checkpoint` (high watermarks),
    `log-start-offset-checkpoint` or `cleaner-offset-checkpoint`.
    """

    _row_class = CheckpointOffset
    _fields = text_checkpoint.OFFSET_FIELDS


class LeaderEpochCheckpoint(TextFile[LeaderEpoch]):
    """The leader epochs of a partition (`leader-epoch-checkpoint`), open for reading. Its rows are LeaderEpoch."""

    _row_class = LeaderEpoch
    _fields = text_checkpoint.EPOCH_FIELDS
