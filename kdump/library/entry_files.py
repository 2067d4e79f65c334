"""Files of entries: indexes, producer snapshots, checkpoints in lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

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
    """An index: entries of one size, up to the zeros at the end of a file that the broker allocated ahead.

    Whether the entries agree with the log, and with each other, is not looked at: `kdump.check` does that.
    """

    _entry_size: int
    _misaligned: str

    def __len__(self) -> int:
        """How many whole entries there are before the zeros at the end."""
        self._check_open()
        return used_entries(self._entries, self._entry_size)

    def __bool__(self) -> bool:
        """True, also of an index without entries."""
        return True

    def _used(self, tables: Iterator[Table[RowType]]) -> Iterator[Table[RowType] | Damage]:
        """The tables up to the last used entry, and what follows the last whole one."""
        left = len(self)
        for table in tables:
            if left <= 0:
                break
            yield table.slice(0, left) if left < len(table) else table
            left -= len(table)
        end = self.size - self.size % self._entry_size
        if end < self.size:
            message = f"{self.size:,} bytes are no multiple of {self._entry_size}: the last entry is cut off"
            yield self._damage(end, self.size, self._misaligned, message)


class _RelativeIndex(IndexFile[RowType]):
    """An index of offsets relative to the base offset in its name."""

    def __init__(self, path: str, source: Source) -> None:
        try:
            self.base_offset = file_name.base_offset(file_name_of(path))
        except CorruptData as fault:
            raise Unreadable(fault.code, "the name holds no base offset, to which the entries are relative", path=path) from fault
        super().__init__(path, source)


class OffsetIndex(_RelativeIndex[OffsetIndexEntry]):
    """An offset index (`.index`), open for reading: rows are OffsetIndexEntry, their offsets absolute.

    `base_offset` is that of the segment, from the file's name. Kafka: OffsetIndex.
    """

    _entry_size = offset_index.ENTRY_SIZE
    _misaligned = "index-size-misaligned"

    def _parts(self) -> Iterator[Table[OffsetIndexEntry] | Damage]:
        return self._used(offset_index.read(self._entries, self.base_offset))


class TimeIndex(_RelativeIndex[TimeIndexEntry]):
    """A time index (`.timeindex`), open for reading: rows are TimeIndexEntry, their offsets absolute.

    `base_offset` is that of the segment, from the file's name. Kafka: TimeIndex, since 0.10.1 (KIP-33).
    """

    _entry_size = time_index.ENTRY_SIZE
    _misaligned = "timeindex-size-misaligned"

    def _parts(self) -> Iterator[Table[TimeIndexEntry] | Damage]:
        return self._used(time_index.read(self._entries, self.base_offset))


class TransactionIndex(IndexFile[AbortedTransaction]):
    """A transaction index (`.txnindex`), open for reading: rows are AbortedTransaction.

    An entry whose version is not 0 is damage. Kafka: TransactionIndex, since 0.11.0 (KIP-98).
    """

    _entry_size = transaction_index.ENTRY_SIZE
    _misaligned = "txnindex-size-misaligned"

    def __len__(self) -> int:
        """How many whole entries there are; brokers do not allocate this index ahead."""
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
    """A producer snapshot (`.snapshot`), open for reading: rows are ProducerState.

    One checksum covers all of it, so a damaged file has no rows: all of it is one Damage. Kafka: ProducerStateManager, since
    0.11.0 (KIP-98).
    """

    def _parts(self) -> Iterator[Table[ProducerState] | Damage]:
        try:
            yield from producer_snapshot.read(self._entries)
        except CorruptData as fault:
            yield self._damage(0, self.size, fault.code, fault.message)


class TextFile(EntryFile[RowType]):
    """A checkpoint in lines of text: a version, a count, and an entry in each line after these."""

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
            message = f"only {checkpoint.position:,} of {self.size:,} bytes were read, for hardly a line is an entry"
            yield self._damage(checkpoint.position, self.size, "file-not-recognized", message, _NOT_EXAMINED)


class OffsetCheckpoint(TextFile[CheckpointOffset]):
    """Offsets of the partitions of a log directory, open for reading: rows are CheckpointOffset, in the order of the lines.

    That is `recovery-point-offset-checkpoint`, `replication-offset-checkpoint` (high watermarks),
    `log-start-offset-checkpoint` or `cleaner-offset-checkpoint`.
    """

    _row_class = CheckpointOffset
    _fields = text_checkpoint.OFFSET_FIELDS


class LeaderEpochCheckpoint(TextFile[LeaderEpoch]):
    """The leader epochs of a partition (`leader-epoch-checkpoint`), open for reading: rows are LeaderEpoch."""

    _row_class = LeaderEpoch
    _fields = text_checkpoint.EPOCH_FIELDS


def file_name_of(path: str) -> str:
    """What follows the last slash."""
    return path.rpartition("/")[2]
