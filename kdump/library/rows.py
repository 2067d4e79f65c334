"""The rows that only the library has: records with what their batch says, and what damage left over."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.formats import record
from kdump.formats.record_batch import RecordBatch
from kdump.tables import Bool, Int8, Int16, Int32, Int64, Row, Text


class Record(record.Record):
    """A record, or a message of magic 0 or 1 that is not a wrapper, with what its batch says about it.

    `offset` is absolute. `timestamp` is in milliseconds since 1970, -1 for none. `key` and `value` are decompressed bytes, None
    for null; `key_size` and `value_size` are -1 then. `headers` are pairs of a key and a value (None for null), both bytes.
    `sequence` is -1 where the producer is not idempotent.

    `position` is the byte at which the batch (or the wrapper) starts in its file; `magic` is 0, 1 or 2. Of a control record,
    `is_control` is true and `control_type` names it, such as COMMIT; its key and value are Kafka's, not a producer's.

    Messages of magic 0 and 1 have no `sequence`, `headers`, producer, epoch or transaction: these are None. They have a
    checksum each: `crc`, and `isvalid` for whether it fits; records of magic 2 have neither.

    Kafka: DefaultRecord (magic 2, since 0.11.0, KIP-98), LegacyRecord.
    """

    position: Int64
    magic: Int8
    timestamp_type: Text
    compresscodec: Text
    producer_id: Int64 | None
    producer_epoch: Int16 | None
    partition_leader_epoch: Int32 | None
    is_transactional: Bool | None
    is_control: Bool | None
    control_type: Text | None


class SalvagedBatch(RecordBatch):
    """A batch whose checksum fits, and whether it is beyond doubt.

    `status` is `intact`, or `salvaged` where the batch was found after damage and the offsets around it do not confirm it yet, or
    where it is out of line with them. A batch that `is_nested` stands inside the bytes that a damaged batch claims: it may be a
    copy that was in the value of a record. `claimed_length` is the wrong length in the header where only that was damaged: the
    row is the batch as its checksum proves it, and `size` is right. It is None for all other batches.
    """

    status: Text
    is_nested: Bool
    claimed_length: Int32 | None


class SalvagedRecord(Record):
    """A record of a batch whose checksum fits; `status` and `is_nested` are those of its batch, see SalvagedBatch."""

    status: Text
    is_nested: Bool


class Damage(Row):
    """Bytes that could not be read as what they should be: `end` is exclusive.

    `code` says what is wrong, `message` says it in words. For batches and entries the codes are those of `kdump explain`; for
    what is wrong inside of a batch they are the reader's own, and `kdump check --level deep` explains more.

    `status` is `damaged`; `zero` where all bytes are zero, as at the end of a log that was allocated ahead or that lost its last
    writes; or `not_examined` where the search for batches was given up, so intact ones may remain there.

    `batch` is the header of the damaged batch where it could be read; no field of it is certain unless `batch.isvalid`, and then
    the damage is inside of its records.
    """

    path: Text
    start: Int64
    end: Int64
    code: Text
    message: Text
    status: Text
    batch: RecordBatch | None

    @property
    def size(self) -> int:
        """How many bytes are damaged."""
        return self.end - self.start

    def error(self) -> CorruptData:
        """The exception that reading without salvage raises here."""
        return CorruptData(self.code, self.message, path=self.path, position=self.start, end=self.end)


class CheckpointOffset(Row):
    """An offset that a broker noted for a partition of one log directory.

    The file's name says which: recovery point, high watermark (`replication-offset-checkpoint`), log start, or cleaner offset.

    Kafka: OffsetCheckpointFile.
    """

    topic: Text
    partition: Int32
    offset: Int64


class LeaderEpoch(Row):
    """A leader epoch, and the first offset that was written in it.

    Kafka: LeaderEpochCheckpointFile, since 0.11.0 (KIP-101).
    """

    epoch: Int32
    start_offset: Int64
