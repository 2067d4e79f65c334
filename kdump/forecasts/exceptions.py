"""The exceptions that a broker throws while it loads a log, distinguished by the code that catches them."""

from __future__ import annotations


class BrokerException(Exception):
    """Ends the loading, and with it the broker, unless it is caught.

    `name` is the Java class, `reason` plain words, and `file` the file that these are about, where they do not say it.
    """

    name = "java.lang.Exception"

    def __init__(self, reason: str, name: str = "", *, file: str = "") -> None:
        super().__init__(reason)
        self.name = name or self.name
        self.reason = reason
        self.file = file

    @property
    def reason_with_file(self) -> str:
        return f"{self.file}: {self.reason}" if self.file else self.reason


class InvalidBatch(BrokerException):
    """CorruptRecordException or InvalidRecordException: recovery ends here, and the rest of the segment is truncated."""

    name = "org.apache.kafka.common.errors.CorruptRecordException"


class InvalidOffset(BrokerException):
    """An index refuses an offset: a recovery from the recovery point then empties the segment."""

    name = "org.apache.kafka.common.errors.InvalidOffsetException"


class OffsetOverflow(BrokerException):
    """An offset is too far from the base of its segment: the segment is split."""

    name = "org.apache.kafka.common.errors.LogSegmentOffsetOverflowException"

    def __init__(self, base_offset: int, offset: int) -> None:
        super().__init__(f"offset {offset:,} does not fit into the segment that starts at {base_offset:,}")
        self.base_offset = base_offset


class CorruptIndex(BrokerException):
    """A transaction index is invalid: the segment is recovered."""

    name = "org.apache.kafka.storage.internals.log.CorruptIndexException"


class OffsetOutOfRange(BrokerException):
    """An offset is not in the log."""

    name = "org.apache.kafka.common.errors.OffsetOutOfRangeException"


class StorageFailure(BrokerException):
    """A file is unreadable or malformed: the log directory goes offline, in releases that support this."""

    name = "org.apache.kafka.common.errors.KafkaStorageException"


class UnreadableFile(StorageFailure):
    """The operating system refuses access to a file: the log directory goes offline in all releases."""

    name = "java.io.IOException"


ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
ILLEGAL_STATE = "java.lang.IllegalStateException"
NO_SUCH_ELEMENT = "java.util.NoSuchElementException"
NULL_POINTER = "java.lang.NullPointerException"
NUMBER_FORMAT = "java.lang.NumberFormatException"
BUFFER_UNDERFLOW = "java.nio.BufferUnderflowException"
BUFFER_OVERFLOW = "java.nio.BufferOverflowException"
KAFKA = "org.apache.kafka.common.KafkaException"
RUNTIME = "java.lang.RuntimeException"
INCONSISTENT_TOPIC_ID = "org.apache.kafka.common.errors.InconsistentTopicIdException"
UNCHECKED_IO = "java.io.UncheckedIOException"
INCONSISTENT_METADATA = "kafka.common.InconsistentBrokerMetadataException"
INVALID_RECORD = "org.apache.kafka.common.InvalidRecordException"
INVALID_TXN_STATE = "org.apache.kafka.common.errors.InvalidTxnStateException"
