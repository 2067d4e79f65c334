"""What a broker throws while it loads a log, told apart by who catches it."""

from __future__ import annotations


class BrokerException(Exception):
    """Ends the loading, and with it the broker, unless someone catches it. `name` is the class in Java, `reason` plain words."""

    name = "java.lang.Exception"

    def __init__(self, reason: str, name: str = "") -> None:
        super().__init__(reason)
        self.name = name or self.name
        self.reason = reason


class InvalidBatch(BrokerException):
    """CorruptRecordException or InvalidRecordException: a recovery ends here, and the rest of the segment is cut off."""

    name = "org.apache.kafka.common.errors.CorruptRecordException"


class InvalidOffset(BrokerException):
    """An index refuses an offset: a recovery because of the recovery point empties the segment."""

    name = "org.apache.kafka.common.errors.InvalidOffsetException"


class OffsetOverflow(BrokerException):
    """An offset is too far from the base of its segment: the segment is split."""

    name = "org.apache.kafka.common.errors.LogSegmentOffsetOverflowException"

    def __init__(self, base_offset: int, offset: int) -> None:
        super().__init__(f"offset {offset:,} does not fit into the segment that starts at {base_offset:,}")
        self.base_offset = base_offset


class CorruptIndex(BrokerException):
    """A transaction index is refused: the segment is recovered."""

    name = "org.apache.kafka.storage.internals.log.CorruptIndexException"


class OffsetOutOfRange(BrokerException):
    """An offset is not in the log."""

    name = "org.apache.kafka.common.errors.OffsetOutOfRangeException"


class StorageFailure(BrokerException):
    """A file cannot be read, or not as it should: the log directory goes offline, in releases that know that."""

    name = "org.apache.kafka.common.errors.KafkaStorageException"


class UnreadableFile(StorageFailure):
    """A file that the system does not give to the broker: the log directory goes offline in all releases."""

    name = "java.io.IOException"


ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
ILLEGAL_STATE = "java.lang.IllegalStateException"
NULL_POINTER = "java.lang.NullPointerException"
NUMBER_FORMAT = "java.lang.NumberFormatException"
BUFFER_UNDERFLOW = "java.nio.BufferUnderflowException"
BUFFER_OVERFLOW = "java.nio.BufferOverflowException"
KAFKA = "org.apache.kafka.common.KafkaException"
RUNTIME = "java.lang.RuntimeException"
INCONSISTENT_METADATA = "kafka.common.InconsistentBrokerMetadataException"
INVALID_RECORD = "org.apache.kafka.common.InvalidRecordException"
INVALID_TXN_STATE = "org.apache.kafka.common.errors.InvalidTxnStateException"
