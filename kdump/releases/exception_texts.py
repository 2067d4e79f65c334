"""The exceptions that each release of Kafka's tool prints, by fault code."""

from __future__ import annotations

from kdump.releases.timeline import FIRST
from kdump.tables import Declared


class Words(Declared):
    """An exception as the tool prints it: class and message. `message` is None if the exception has none.

    Without a class it is not an exception but a line on stderr, and the run continues.
    """

    exception: str
    message: str | None = None


_CORRUPT_RECORD = "org.apache.kafka.common.errors.CorruptRecordException"
_KAFKA = "org.apache.kafka.common.KafkaException"
_ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
_INVALID_MESSAGE = "kafka.message.InvalidMessageException"
_OUT_OF_BOUNDS = "java.lang.IndexOutOfBoundsException"
_SCHEMA = "org.apache.kafka.common.protocol.types.SchemaException"
_NULL_POINTER = "java.lang.NullPointerException"
_OUT_OF_MEMORY = Words("java.lang.OutOfMemoryError", "Java heap space")


def _invalid_record(message: str, since: str = FIRST) -> dict[str, Words]:
    """An InvalidRecordException: its class moved to another package in 2.4.0."""
    return {since: Words("org.apache.kafka.common.record.InvalidRecordException", message)} | {
        max(since, "2.4.0", key=lambda release: tuple(map(int, release.split(".")))): Words(
            "org.apache.kafka.common.InvalidRecordException", message
        )
    }


def _changed(*timelines: dict[str, Words]) -> dict[str, Words]:
    """Several timelines joined: each holds until the next one starts."""
    merged: dict[str, Words] = {}
    for timeline in timelines:
        start = _numbers(next(iter(timeline)))
        merged = {release: words for release, words in merged.items() if _numbers(release) < start} | timeline
    return merged


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


_NULL_VALUE = (
    'Cannot invoke "java.nio.ByteBuffer.duplicate()" because the return value of'
    ' "org.apache.kafka.common.record.Record.value()" is null'
)
_NOT_DECOMPRESSED = {FIRST: Words(_KAFKA, "Failed to decompress record stream")}
_REMAINING = {FIRST: Words(_KAFKA, "Error checking for remaining bytes after reading batch")}
_SNAPPY_ERROR = {
    "3.5.1": Words("org.xerial.snappy.SnappyError", "[INVALID_CHUNK_SIZE] chunkSize is too big or negative : {size}")
}
_NO_MEMORY = {FIRST: _OUT_OF_MEMORY}
_NEGATIVE_SIZE = {FIRST: Words("java.lang.NegativeArraySizeException", "{size}")}
_UNDERFLOW = {FIRST: Words("java.nio.BufferUnderflowException")}
_PREMATURE_EOF = "Incorrect declared batch size, premature EOF reached"
_STILL_REMAINING = "Incorrect declared batch size, records still remaining in file"
_VARINT_TOO_LONG = "Varint is too long, the most significant bit in the 5th byte is set, converted value: {value:x}"

_LOG_HEADER_CUT = (
    "java.io.EOFException: Failed to read `log header` from file channel `{{object}}`. Expected to read {count} bytes, but "
    "reached end of file after reading 0 bytes. Started read from position {position}."
)
_NO_BUFFER = 'Cannot invoke "java.nio.ByteBuffer.hasRemaining()" because "this.buffer" is null'


_WRAPPER_FRAME = {
    FIRST: Words("{java_cause}"),
    "0.9.0.0": Words("kafka.common.KafkaException", ""),
    "0.10.0.0": Words(_INVALID_MESSAGE, "Error while reading message from stream compressed with {codec_name}"),
    "0.10.2.0": Words(_KAFKA, "{java_cause}"),
}

WORDS: dict[str, dict[str, Words]] = {
    # the command line
    "option-unknown": {
        FIRST: Words("joptsimple.UnrecognizedOptionException", "'{option}' is not a recognized option"),
        "0.10.0.0": Words("joptsimple.UnrecognizedOptionException", "{option} is not a recognized option"),
    },
    "option-argument-missing": {
        FIRST: Words("joptsimple.OptionMissingRequiredArgumentException", "Option ['{option}'] requires an argument"),
        "0.10.0.0": Words("joptsimple.OptionMissingRequiredArgumentException", "Option {option} requires an argument"),
    },
    "option-repeated": {
        FIRST: Words(
            "joptsimple.MultipleArgumentsForOptionException",
            "Found multiple arguments for option ['{option}'], but you asked for only one",
        ),
        "0.10.0.0": Words(
            "joptsimple.MultipleArgumentsForOptionException",
            "Found multiple arguments for option {option}, but you asked for only one",
        ),
    },
    "option-number-malformed": {
        FIRST: Words(
            "joptsimple.OptionArgumentConversionException",
            "Cannot convert argument '{argument}' of option ['{option}'] to class java.lang.Integer",
        ),
        "0.10.0.0": Words(
            "joptsimple.OptionArgumentConversionException", "Cannot parse argument '{argument}' of option {option}"
        ),
    },
    "decoder-unknown": {
        FIRST: Words("java.lang.ClassNotFoundException", "{name}"),
        "4.3.0": Words("java.lang.RuntimeException", "Failed to load decoder class"),
    },
    "decoder-wrong-type": {
        FIRST: Words("java.lang.NoSuchMethodException", "{name}.<init>(kafka.utils.VerifiableProperties)"),
        "4.0.0": Words("java.lang.ClassCastException", "class {name} cannot be cast to class org.apache.kafka.tools.api.Decoder"),
        "4.1.0": Words("java.lang.ClassCastException", "class {name}"),
    },
    "decoder-is-interface": {
        FIRST: Words("java.lang.NoSuchMethodException", "{name}.<init>(kafka.utils.VerifiableProperties)"),
        "4.0.0": Words("java.lang.NoSuchMethodException", "{name}.<init>()"),
        "4.1.0": Words(_KAFKA, "Could not find a public no-argument constructor for {name}"),
    },
    "decoder-value-too-short": _UNDERFLOW,
    # files
    "file-missing": {
        FIRST: Words("java.io.FileNotFoundException", "{path} (No such file or directory)"),
        "2.1.0": Words("java.nio.file.NoSuchFileException", "{path}"),
    },
    "file-permission-mapped": {FIRST: Words("java.io.FileNotFoundException", "{path} (Permission denied)")},
    "file-permission-read": {FIRST: Words("java.nio.file.AccessDeniedException", "{path}")},
    "file-not-regular-read": {FIRST: Words("java.io.IOException", "Illegal seek")},
    "file-io-error-read": {FIRST: Words("java.io.IOException", "Input/output error")},
    "file-missing-read": {FIRST: Words("java.nio.file.NoSuchFileException", "{path}")},
    "file-permission": {
        FIRST: Words("java.io.FileNotFoundException", "{path} (Permission denied)"),
        "2.1.0": Words("java.nio.file.AccessDeniedException", "{path}"),
    },
    "file-is-directory": {
        FIRST: Words("java.io.FileNotFoundException", "{path} (Is a directory)"),
        "2.1.0": Words(_KAFKA, "java.io.IOException: Is a directory"),
    },
    "file-is-directory-mapped": {FIRST: Words("java.io.FileNotFoundException", "{path} (Is a directory)")},
    "file-is-directory-read": {FIRST: Words("java.io.IOException", "Is a directory")},
    "file-is-directory-written": {FIRST: Words("java.nio.file.FileSystemException", "{path}: Is a directory")},
    "file-not-regular": {FIRST: Words(_KAFKA, "java.io.IOException: Illegal seek")},
    "file-io-error": {FIRST: Words(_KAFKA, "java.io.IOException: Input/output error")},
    "file-shrank": {FIRST: Words(_KAFKA, "java.io.EOFException: {message}")},
    "file-too-large": {
        FIRST: Words(_KAFKA, "The size of segment {path} ({size}) is larger than the maximum allowed segment size of 2147483647")
    },
    "name-without-dot": {FIRST: Words("java.lang.StringIndexOutOfBoundsException", "begin -1, end {length}, length {length}")},
    "number-malformed": {FIRST: Words("java.lang.NumberFormatException", 'For input string: "{text}"')},
    "snapshot-name-short": {
        FIRST: Words("java.lang.StringIndexOutOfBoundsException", "begin {start}, end {end}, length {length}")
    },
    # batches
    "record-size-too-small": {
        FIRST: Words(_CORRUPT_RECORD, "Record size is smaller than minimum record overhead (14)."),
        "2.0.0": Words(
            _CORRUPT_RECORD, "Found record size {size} smaller than minimum record overhead ({minimum}) in file {path}."
        ),
    },
    "position-overflow": {FIRST: Words(_ILLEGAL_ARGUMENT, "Negative position")},
    "log-header-cut": {
        FIRST: Words(_KAFKA, _LOG_HEADER_CUT.replace("{count}", "12")),
        "0.11.0.0": Words(_KAFKA, _LOG_HEADER_CUT.replace("{count}", "17")),
    },
    "length-overflow": {FIRST: Words(_ILLEGAL_ARGUMENT, "capacity < 0: ({capacity} < 0)")},
    "batch-header-cut": {
        FIRST: Words(
            _KAFKA,
            "java.io.EOFException: Failed to read `record batch header` from file channel `{{object}}`. Expected to read "
            "{header_size} bytes, but reached end of file after reading {read} bytes. Started read from position {position}.",
        ),
        "2.1.1": Words(_KAFKA, "Failed to load record batch at position {position} from {records}"),
    },
    "batch-shorter-than-header": {FIRST: Words(_OUT_OF_BOUNDS)},
    "magic-negative": {FIRST: Words(_ILLEGAL_ARGUMENT, "Invalid magic used in LegacyRecord: {magic}")},
    "codec-unknown": {
        FIRST: Words("kafka.common.UnknownCodecException", "{codec} is an unknown compression codec"),
        "0.10.2.0": Words(_ILLEGAL_ARGUMENT, "Unknown compression type id: {codec}"),
    },
    "codec-not-allowed": _invalid_record("Invalid wrapper compressionType found in legacy deep record iterator {magic}"),
    "decompression-limit": _NO_MEMORY,
    "decompression-limit-behind-records": _NO_MEMORY,
    "wrapper-decompression-limit": _NO_MEMORY,
    "frame-bad-header": {
        FIRST: Words("{java_cause}"),
        "0.10.0.0": Words(_INVALID_MESSAGE, "Failed to instantiate input stream compressed with {codec_name}"),
        "0.10.2.0": Words(_KAFKA, "{java_cause}"),
    },
    "loaded-frame-bad-header": {
        FIRST: Words("{java_cause}"),
        "0.10.0.0": Words(_INVALID_MESSAGE, "Failed to instantiate input stream compressed with {codec_name}"),
        "0.10.2.0": Words(_KAFKA, "java.lang.reflect.InvocationTargetException"),
    },
    "loaded-frame-refused": {
        FIRST: Words("{java_cause}"),
        "0.10.2.0": Words(_KAFKA, "java.lang.reflect.InvocationTargetException"),
    },
    "frame-damaged": _NOT_DECOMPRESSED,
    "frame-checksum-mismatch": _NOT_DECOMPRESSED,
    "frame-truncated": _NOT_DECOMPRESSED,
    "frame-ends-early": _changed(_invalid_record(_PREMATURE_EOF), {"3.6.0": Words(_KAFKA, "Failed to decompress record stream")}),
    "frame-ends-early-behind-records": _REMAINING,
    "wrapper-frame-ends-early": {FIRST: Words("{java_cause}"), "0.10.2.2": Words(_KAFKA, "{java_cause}")},
    "frame-first-block-size": _NEGATIVE_SIZE | _SNAPPY_ERROR,
    "frame-first-block-size-behind-records": _NEGATIVE_SIZE,
    "wrapper-frame-first-block-size": _NEGATIVE_SIZE | _SNAPPY_ERROR,
    "frame-block-size": _NOT_DECOMPRESSED | _SNAPPY_ERROR,
    "frame-block-size-behind-records": _REMAINING | _SNAPPY_ERROR,
    "wrapper-frame-block-size": _WRAPPER_FRAME | _SNAPPY_ERROR,
    "frame-block-too-large": _NO_MEMORY | _SNAPPY_ERROR,
    "frame-block-too-large-behind-records": _NO_MEMORY | _SNAPPY_ERROR,
    "wrapper-frame-block-too-large": _NO_MEMORY | _SNAPPY_ERROR,
    "frame-negative-size": _NEGATIVE_SIZE,
    "frame-negative-size-behind-records": _NEGATIVE_SIZE,
    "wrapper-frame-negative-size": _NEGATIVE_SIZE,
    "frame-checksum-cut": _UNDERFLOW,
    "frame-checksum-cut-behind-records": _UNDERFLOW,
    "wrapper-frame-checksum-cut": _UNDERFLOW,
    "frame-damaged-behind-records": _REMAINING,
    "frame-checksum-mismatch-behind-records": _REMAINING,
    "frame-truncated-behind-records": _REMAINING,
    "wrapper-read-lazily": {FIRST: Words("kafka.common.KafkaException", "")},
    "wrapper-frame-damaged": _WRAPPER_FRAME,
    "wrapper-frame-checksum-mismatch": _WRAPPER_FRAME,
    "wrapper-frame-truncated": _WRAPPER_FRAME,
    # records
    "record-count-negative": _invalid_record("Found invalid record count {count} in magic v{magic} batch"),
    "record-count-too-low": _invalid_record(_STILL_REMAINING),
    "record-count-too-high": _invalid_record(_PREMATURE_EOF),
    "compressed-record-count-too-high": _invalid_record(_PREMATURE_EOF),
    "record-length-past-end": _changed(
        {FIRST: Words(_NULL_POINTER, 'Cannot invoke "org.apache.kafka.common.record.Record.offset()" because "record" is null')},
        _invalid_record(
            "Invalid record size: expected {size} bytes in record payload, but instead the buffer has only {remaining} "
            "remaining bytes.",
            "3.0.1",
        ),
    ),
    "first-record-length-past-end": {FIRST: Words("java.lang.IllegalStateException", "Expected item but none found.")},
    "last-record-length-past-end": _changed(
        _invalid_record(_STILL_REMAINING),
        _invalid_record(
            "Invalid record size: expected {size} bytes in record payload, but instead the buffer has only {remaining} "
            "remaining bytes.",
            "3.0.1",
        ),
    ),
    "compressed-record-length-past-end": _changed(
        _invalid_record(_PREMATURE_EOF),
        _invalid_record(
            "Invalid record size: expected {size} bytes in record payload, but the record payload reached EOF.", "3.6.0"
        ),
    ),
    "compressed-record-length-negative": _changed(
        {FIRST: Words(_ILLEGAL_ARGUMENT, "capacity < 0: ({size} < 0)")},
        _changed(_invalid_record(_PREMATURE_EOF, "3.6.0"), _invalid_record("Invalid record size: {size} is negative.", "4.4.0")),
    ),
    "record-length-varint-too-long": {FIRST: Words(_ILLEGAL_ARGUMENT, _VARINT_TOO_LONG)},
    "compressed-record-length-varint-too-long": _changed(
        {FIRST: Words(_ILLEGAL_ARGUMENT, _VARINT_TOO_LONG)}, _invalid_record(_PREMATURE_EOF, "3.6.0")
    ),
    "record-structure-invalid": _invalid_record("Found invalid record structure"),
    "record-body-mismatch": _invalid_record(
        "Invalid record size: expected to read {size} bytes in record payload, but instead read {read}"
    ),
    "header-count-negative": _invalid_record("Found invalid number of record headers {count}"),
    "header-count-too-high": {
        FIRST: Words(
            "org.apache.kafka.common.InvalidRecordException",
            "Found invalid number of record headers. {count} is larger than the remaining size of the buffer",
        )
    },
    "header-key-past-end": _changed(
        {FIRST: Words("java.lang.StringIndexOutOfBoundsException", "offset {offset}, count {size}, length {length}")},
        _invalid_record("Found invalid record structure", "2.7.0"),
    ),
    "header-key-null": _invalid_record("Invalid negative header key size {size}"),
    # messages of magic 0 and 1
    "message-field-past-end": {FIRST: Words(_OUT_OF_BOUNDS)},
    "message-content-past-end": {FIRST: Words(_ILLEGAL_ARGUMENT, "newLimit > capacity: ({size} > {room})")},
    "message-too-large": {
        FIRST: Words(_INVALID_MESSAGE, "Message size exceeds the largest allowable message size ({maximum})."),
        "0.10.0.0": Words(_CORRUPT_RECORD, "Message size exceeds the largest allowable message size ({maximum})."),
        "0.10.2.0": Words(_CORRUPT_RECORD, "Record size exceeds the largest allowable message size ({maximum})."),
    },
    "message-null-value": {
        FIRST: Words(_NULL_POINTER, 'Cannot invoke "java.nio.Buffer.remaining()" because "<parameter1>" is null')
    },
    "legacy-wrapper-mixed-magic": {
        FIRST: Words(
            "java.lang.IllegalStateException",
            "Compressed message has magic value {magic} but inner message has magic value {inner}",
        )
    },
    "inner-record-size-too-small": {
        FIRST: Words(_INVALID_MESSAGE, "Message found with corrupt size ({size})"),
        "0.9.0.0": Words(_INVALID_MESSAGE, "Message found with corrupt size ({size}) in deep iterator"),
        "0.10.0.0": Words(_INVALID_MESSAGE),  # its message gets lost
        "0.10.2.0": Words(_CORRUPT_RECORD, "Record size is less than the minimum record overhead ({minimum})"),
    },
    "legacy-wrapper-magic": {
        FIRST: Words(
            "org.apache.kafka.common.record.InvalidRecordException",
            "Invalid wrapper magic found in legacy deep record iterator {magic}",
        )
    },
    "loaded-legacy-wrapper-null": {
        FIRST: Words(_NULL_POINTER, _NO_BUFFER),
        "0.10.0.0": Words("kafka.common.KafkaException", "Message payload is null: {wrapper}"),
        "0.10.2.0": Words(_KAFKA, "java.lang.reflect.InvocationTargetException"),
    },
    "legacy-wrapper-null": _changed(
        {
            FIRST: Words(_NULL_POINTER, _NO_BUFFER),
            "0.10.0.0": Words("kafka.common.KafkaException", "Message payload is null: {wrapper}"),
            "0.10.2.0": Words(_NULL_POINTER, _NO_BUFFER),
        },
        _invalid_record("Found invalid compressed record set with null value (magic = {magic})", "0.11.0.0"),
    ),
    "legacy-wrapper-empty": _changed(
        {FIRST: Words("java.util.NoSuchElementException")},
        _invalid_record("Found invalid compressed record set with no inner records", "0.11.0.0"),
    ),
    "legacy-wrapper-offset": _invalid_record(
        "Found invalid wrapper offset in compressed v1 message set, wrapper offset '{wrapper_offset}' is less than the last "
        "inner message offset '{inner_offset}' and it is not zero."
    ),
    "legacy-nested-compression": _invalid_record("Inner messages must not be compressed"),
    # control records
    "control-key-null": {
        FIRST: Words(_NULL_POINTER, 'Cannot invoke "java.nio.ByteBuffer.remaining()" because "key" is null'),
        "4.3.0": Words(_NULL_POINTER, 'Cannot invoke "java.nio.ByteBuffer.duplicate()" because "key" is null'),
    },
    "control-key-short": _changed(
        _invalid_record("Invalid value size found for end control record key. Must have at least 4 bytes, but found only {size}"),
        _invalid_record(
            "Invalid value size found for control record key. Must have at least 4 bytes, but found only {size}", "4.3.0"
        ),
    ),
    "control-version-negative": _invalid_record(
        "Invalid version found for control record: {version}. May indicate data corruption"
    ),
    "control-value-null": {
        FIRST: Words(_NULL_POINTER, 'Cannot invoke "java.nio.ByteBuffer.remaining()" because "value" is null'),
        "4.1.0": Words(_NULL_POINTER, 'Cannot invoke "java.nio.ByteBuffer.getShort()" because "value" is null'),
    },
    "control-message-null": {
        FIRST: Words(_NULL_POINTER, _NULL_VALUE),
        "3.5.0": Words(_NULL_POINTER, 'Cannot invoke "java.nio.ByteBuffer.slice()" because "data" is null'),
    },
    "marker-value-short": _changed(
        _invalid_record("Invalid value size found for end transaction marker. Must have at least 6 bytes, but found only {size}"),
        {"4.1.0": Words("java.nio.BufferUnderflowException")},
    ),
    "marker-version-negative": _invalid_record(
        "Invalid version found for end transaction marker: {version}. May indicate data corruption"
    ),
    "message-underflow": _UNDERFLOW,
    "message-out-of-memory": {FIRST: Words("java.lang.OutOfMemoryError", "{reason}")},
    "message-bytes-past-end": {
        FIRST: Words(
            "java.lang.RuntimeException", "Error reading byte array of {size} byte(s): only {remaining} byte(s) available"
        )
    },
    "message-size-negative": {FIRST: Words("java.lang.NegativeArraySizeException", "{size}")},
    "message-null": {FIRST: Words("java.lang.RuntimeException", "non-nullable field {field} was serialized as null")},
    "message-string-too-long": {FIRST: Words("java.lang.RuntimeException", "string field {field} had invalid length {size}")},
    "message-array-too-large": {
        FIRST: Words(
            "java.lang.RuntimeException",
            "Tried to allocate a collection of size {count}, but there are only {remaining} bytes remaining.",
        )
    },
    "message-array-too-long": {
        FIRST: Words(
            "java.lang.RuntimeException",
            "Tried to read a collection of size {count}, which exceeds the maximum allowed size of 1000000.",
        )
    },
    "message-tags-negative": {FIRST: Words("java.lang.RuntimeException", "Invalid negative number of tagged fields {count}")},
    "message-tags-past-end": {
        FIRST: Words(
            "java.lang.RuntimeException",
            "Tried to read {count} tagged fields, but there are only {remaining} bytes remaining.",
        )
    },
    "message-tags-too-many": {
        FIRST: Words(
            "java.lang.RuntimeException",
            "Tried to read {count} tagged fields, which exceeds the maximum allowed count of 10000.",
        )
    },
    "message-varint-too-long": {FIRST: Words(_ILLEGAL_ARGUMENT, _VARINT_TOO_LONG)},
    # indexes
    "index-folder-missing": {FIRST: Words("java.io.IOException", "No such file or directory")},
    "index-missing": {FIRST: Words(_ILLEGAL_ARGUMENT, "Invalid max index size: -1")},
    "index-position-negative": {
        FIRST: Words(_ILLEGAL_ARGUMENT, "Invalid position: {position}"),
        "2.0.0": Words(_ILLEGAL_ARGUMENT, "Invalid position: {position} in read from {path}"),
        "2.1.0": Words(_ILLEGAL_ARGUMENT, "Invalid position: {position} in read from {records}"),
    },
    "index-position-past-log": {
        FIRST: Words(_ILLEGAL_ARGUMENT, "Slice from position {position} exceeds end position of {records}")
    },
    "size-negative": {
        FIRST: Words(_ILLEGAL_ARGUMENT, "Invalid size: {size}"),
        "2.0.0": Words(_ILLEGAL_ARGUMENT, "Invalid size: {size} in read from {path}"),
        "2.1.0": Words(_ILLEGAL_ARGUMENT, "Invalid size: {size} in read from {records}"),
    },
    "no-batch-at-position": {FIRST: Words("java.util.NoSuchElementException")},
    "index-last-offset": {
        FIRST: Words(
            _ILLEGAL_ARGUMENT,
            "requirement failed: Corrupt index found, index file ({path}) has non-zero size but the last offset is {last} and "
            "the base offset is {base}",
        ),
        "0.10.1.0": Words(
            _ILLEGAL_ARGUMENT,
            "requirement failed: Corrupt index found, index file ({path}) has non-zero size but the last offset is {last} "
            "which is no larger than the base offset {base}.",
        ),
        "1.1.0": Words(
            "kafka.log.CorruptIndexException",
            "Corrupt index found, index file ({path}) has non-zero size but the last offset is {last} which is no greater "
            "than the base offset {base}.",
        ),
        "2.0.0": Words(
            "kafka.log.CorruptIndexException",
            "Corrupt index found, index file ({path}) has non-zero size but the last offset is {last} which is less than the "
            "base offset {base}.",
        ),
        "3.5.0": Words(
            "org.apache.kafka.storage.internals.log.CorruptIndexException",
            "Corrupt index found, index file {path} has non-zero size but the last offset is {last} which is less than the "
            "base offset {base}",
        ),
    },
    "index-opened-size": {
        FIRST: Words(
            "java.lang.IllegalStateException",
            "Index file {name} is corrupt, found {size} bytes which is not positive or not a multiple of 8.",
        )
    },
    "index-size": {
        FIRST: Words(
            _ILLEGAL_ARGUMENT,
            "requirement failed: Index file {name} is corrupt, found {size} bytes which is not positive or not a multiple of 8.",
        ),
        "0.10.1.0": Words(
            _ILLEGAL_ARGUMENT,
            "requirement failed: Index file {path} is corrupt, found {size} bytes which is not positive or not a multiple of 8.",
        ),
        "1.1.0": Words(
            "kafka.log.CorruptIndexException",
            "Index file {path} is corrupt, found {size} bytes which is neither positive nor a multiple of 8.",
        ),
        "3.5.0": Words(
            "org.apache.kafka.storage.internals.log.CorruptIndexException",
            "Index file {path} is corrupt, found {size} bytes which is neither positive nor a multiple of 8",
        ),
    },
    "time-index-last-timestamp": {
        FIRST: Words(
            _ILLEGAL_ARGUMENT,
            "requirement failed: Corrupt time index found, time index file ({path}) has non-zero size but the last timestamp "
            "is {last} which is no larger than the first timestamp {first}",
        ),
        "1.1.0": Words(
            "kafka.log.CorruptIndexException",
            "Corrupt time index found, time index file ({path}) has non-zero size but the last timestamp is {last} which is "
            "less than the first timestamp {first}",
        ),
        "3.5.0": Words(
            "org.apache.kafka.storage.internals.log.CorruptIndexException",
            "Corrupt time index found, time index file ({path}) has non-zero size but the last timestamp is {last} which is "
            "less than the first timestamp {first}",
        ),
    },
    "time-index-last-offset": {
        FIRST: Words(
            _ILLEGAL_ARGUMENT,
            "requirement failed: Corrupt time index found, time index file ({path}) has non-zero size but the last offset is "
            "{last} which is smaller than the first offset {first}",
        ),
        "1.1.0": Words(
            "kafka.log.CorruptIndexException",
            "Corrupt time index found, time index file ({path}) has non-zero size but the last offset is {last} which is less "
            "than the first offset {first}",
        ),
        "3.5.0": Words(
            "org.apache.kafka.storage.internals.log.CorruptIndexException",
            "Corrupt time index found, time index file ({path}) has non-zero size but the last offset is {last} which is less "
            "than the first offset {first}",
        ),
    },
    "time-index-size": {
        FIRST: Words(
            _ILLEGAL_ARGUMENT,
            "requirement failed: Time index file {path} is corrupt, found {size} bytes which is not positive or not a "
            "multiple of 12.",
        ),
        "1.1.0": Words(
            "kafka.log.CorruptIndexException",
            "Time index file {path} is corrupt, found {size} bytes which is neither positive nor a multiple of 12.",
        ),
        "3.5.0": Words(
            "org.apache.kafka.storage.internals.log.CorruptIndexException",
            "Time index file {path} is corrupt, found {size} bytes which is neither positive nor a multiple of 12",
        ),
    },
    "transaction-version-unknown": {
        FIRST: Words(_KAFKA, "Unexpected aborted transaction version {version}, current version is 0"),
        "2.2.1": Words(
            _KAFKA, "Unexpected aborted transaction version {version} in transaction index {path}, current version is 0"
        ),
        "4.4.0": Words(
            _KAFKA,
            "Unexpected aborted transaction version {version} in transaction index {path}, supported version range is 0 to 0",
        ),
    },
    # producer snapshots: from 0.11.0.1 on no exceptions, and the run continues
    "snapshot-version-unknown": {
        FIRST: Words(_ILLEGAL_ARGUMENT, "Unhandled snapshot file version {version}"),
        "0.11.0.1": Words("", "Snapshot contained an unknown file version {version}"),
        "4.0.0": Words("", "Snapshot failed schema validation: Snapshot contained an unknown file version {version}"),
    },
    "snapshot-crc-mismatch": {
        FIRST: Words(
            "", "Snapshot file '{path}' is corrupted (CRC is no longer valid). Stored crc: {stored}. Computed crc: {computed}"
        ),
        "0.11.0.1": Words("", "Snapshot is corrupt (CRC is no longer valid). Stored crc: {stored}. Computed crc: {computed}"),
    },
    "snapshot-truncated": {
        FIRST: Words(_SCHEMA, "Error reading field '{field}': java.nio.BufferUnderflowException"),
        "0.11.0.1": Words(
            "", "Snapshot failed schema validation: Error reading field '{field}': java.nio.BufferUnderflowException"
        ),
        "4.0.0": Words("", "Snapshot failed schema validation: null"),
    },
    "snapshot-entry-truncated": {
        FIRST: Words(
            _SCHEMA,
            "Error reading field 'producer_entries': Error reading field '{field}': java.nio.BufferUnderflowException",
        ),
        "0.11.0.1": Words(
            "",
            "Snapshot failed schema validation: Error reading field 'producer_entries': Error reading field '{field}': "
            "java.nio.BufferUnderflowException",
        ),
        "4.0.0": Words("", "Snapshot failed schema validation: null"),
    },
    "snapshot-count-null": {
        FIRST: Words(_SCHEMA, "Error reading field 'producer_entries': Array size {count} cannot be negative"),
        "0.11.0.1": Words(
            "", "Snapshot failed schema validation: Error reading field 'producer_entries': Array size {count} cannot be negative"
        ),
        "4.0.0": Words("", "Snapshot failed schema validation: non-nullable field producerEntries was serialized as null"),
    },
    "snapshot-count-negative": {
        FIRST: Words(_SCHEMA, "Error reading field 'producer_entries': Array size {count} cannot be negative"),
        "0.11.0.1": Words(
            "", "Snapshot failed schema validation: Error reading field 'producer_entries': Array size {count} cannot be negative"
        ),
        "4.0.0": Words("", "Snapshot failed schema validation: non-nullable field producerEntries was serialized as null"),
    },
    "snapshot-count-too-high": {
        FIRST: Words(
            _SCHEMA,
            "Error reading field 'producer_entries': Error reading array of size {count}, only {room} bytes available",
        ),
        "0.11.0.1": Words(
            "",
            "Snapshot failed schema validation: Error reading field 'producer_entries': Error reading array of size {count}, "
            "only {room} bytes available",
        ),
        "4.0.0": Words(
            "",
            "Snapshot failed schema validation: Tried to allocate a collection of size {count}, but there are only {room} "
            "bytes remaining.",
        ),
    },
}
"""The tool's exceptions, by fault code."""

JAVA_CAUSES = {
    "gzip": {FIRST: "java.util.zip.ZipException: {message}"},
    "gzip-eof": {FIRST: "java.io.EOFException"},
    "gzip-truncated": {FIRST: "java.io.EOFException: Unexpected end of ZLIB input stream"},
    "snappy-empty": {
        FIRST: "java.io.IOException: PARSING_ERROR(2)",
        "0.8.2.0": "org.xerial.snappy.SnappyIOException: [EMPTY_INPUT] Cannot decompress empty stream",
    },
    "snappy": {FIRST: "java.io.IOException: FAILED_TO_UNCOMPRESS(5)"},
    "snappy-negative": {FIRST: "java.lang.NegativeArraySizeException: {size}"},
    "snappy-header-cut": {
        FIRST: "org.xerial.snappy.SnappyIOException: [FAILED_TO_UNCOMPRESS] Insufficient header size in a concatenated block"
    },
    "snappy-size": {FIRST: "java.io.IOException: PARSING_ERROR(2)"},
    "snappy-version": {
        FIRST: "java.io.IOException: compressed with imcompatible codec version {version}. At least version 1 is required",
        "0.8.2.0": "org.xerial.snappy.SnappyIOException: [INCOMPATIBLE_VERSION] Compressed with an incompatible codec version "
        "{version}. At least version 1 is required",
    },
    "lz4": {FIRST: "java.io.IOException: {message}"},
    "lz4-block": {FIRST: "java.io.IOException: net.jpountz.lz4.LZ4Exception: {message}"},
    "lz4-runtime": {FIRST: "java.lang.RuntimeException: {message}"},
    "lz4-underflow": {FIRST: "java.nio.BufferUnderflowException"},
    "lz4-skips-checksum": {FIRST: "java.lang.IllegalArgumentException: newPosition > limit: ({end} > {limit})"},
    "zstd": {FIRST: "com.github.luben.zstd.ZstdIOException: {message}"},
}
"""The exceptions of codec libraries, by kind of failure; some of our messages stand for theirs."""
