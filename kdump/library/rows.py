"""The rows that only the library has: records with fields of their batch, salvaged rows, and damage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kdump.errors import CorruptData
from kdump.formats import record
from kdump.formats.record_batch import NO_TIMESTAMP, RecordBatch
from kdump.tables import Bool, Int8, Int16, Int32, Int64, Row, Text

JsonValue = Any
"""What `json.loads` returns."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Record(record.Record):
    """A record, or a message of magic 0 or 1 that is not a wrapper, with fields of its batch.

    `offset` is absolute. `timestamp` is in milliseconds since 1970, -1 for none. `key` and `value` are decompressed bytes, or
    None for null, in which case `key_size` or `value_size` is -1. `headers` are pairs of a key and a value (None for null),
    both bytes. `sequence` is -1 if the producer is not idempotent.

    `position` is the position of the batch (or wrapper) in its file; `magic` is 0, 1 or 2. For a control record,
    `is_control` is true and `control_type` is its name, such as COMMIT; Kafka, not a producer, wrote its key and value.

    Messages of magic 0 and 1 have no `sequence`, `headers`, producer, epoch or transaction: these are None. They have a
    checksum each: `crc`, and `isvalid` if it is correct; records of magic 2 have neither.

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

    @property
    def time(self) -> datetime | None:
        """The timestamp as a time of UTC; None if there is none, or none that Python has."""
        try:
            return None if self.timestamp == NO_TIMESTAMP else EPOCH + timedelta(milliseconds=self.timestamp)
        except OverflowError:
            return None


class DecodedRecord(Record):
    """A record with its key and value as JSON has them: dicts, lists, texts, numbers.

    `decoded_key` and `decoded_value` are None for null, for what has no schema, and for what could not be decoded: then
    `decode_error` says why. All else is as in Record.
    """

    if TYPE_CHECKING:  # any value may be indexed, None is one of them
        decoded_key: JsonValue
        decoded_value: JsonValue
    else:
        decoded_key: JsonValue | None
        decoded_value: JsonValue | None
    decode_error: Text | None


class SalvagedBatch(RecordBatch):
    """A batch with a correct checksum, and whether it is beyond doubt.

    `status` is `intact`. It is `salvaged` if the batch was found after damage and its neighbours do not confirm its offsets
    yet, or if its offset or leader epoch contradicts theirs. `is_nested` means that it lies inside the bytes that a damaged
    batch claims: it may be a copy in the value of a record. `claimed_length` is the wrong length in the header if only the
    length was damaged: the row then has the size that the checksum confirms. It is None for all other batches.
    """

    status: Text
    is_nested: Bool
    claimed_length: Int32 | None


class SalvagedRecord(Record):
    """A record of a batch with a correct checksum; `status` and `is_nested` are those of its batch, see SalvagedBatch."""

    status: Text
    is_nested: Bool


class Damage(Row):
    """A byte range that could not be read; `end` is exclusive.

    `code` identifies the fault, and `message` describes it. For batches and entries the codes are those of `kdump explain`; for
    faults inside a batch they are internal, and `kdump check --level deep` explains more.

    `status` is `damaged`; `zero` if all bytes are zero, as at the end of a log that was preallocated or that lost its last
    writes; or `not_examined` if the search for batches was given up, so intact ones may remain there.

    `batch` is the header of the damaged batch, if it could be read; its fields are uncertain unless `batch.isvalid`, and then
    the damage is inside its records.
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
        """The number of damaged bytes."""
        return self.end - self.start

    def error(self) -> CorruptData:
        """The exception that is raised here when reading without salvage."""
        return CorruptData(self.code, self.message, path=self.path, position=self.start, end=self.end)


class CheckpointOffset(Row):
    """An offset that a broker stored for a partition in one log directory.

    The file name says which: recovery point, high watermark (`replication-offset-checkpoint`), log start, or cleaner offset.

    Kafka: OffsetCheckpointFile.
    """

    topic: Text
    partition: Int32
    offset: Int64


class LeaderEpoch(Row):
    """A leader epoch, and the first offset written in it.

    Kafka: LeaderEpochCheckpointFile, since 0.11.0 (KIP-101).
    """

    epoch: Int32
    start_offset: Int64
