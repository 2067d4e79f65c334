"""What brokers and clients say about a fault: phrases from their logs, exception classes, and the faults that cause them.

The phrases are those of 2.8 to 4.3, in as few words as distinguish them.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Phrase:
    """A phrase in a log line, as a regular expression; what it means; and the faults that cause it."""

    __slots__ = ("codes", "meaning", "pattern")

    def __init__(self, pattern: str, meaning: str, *codes: str) -> None:
        self.pattern = re.compile(pattern, re.IGNORECASE)
        self.meaning = meaning
        self.codes = codes


_BAD_RECORDS = ("record-length-bad", "record-body-mismatch", "record-count-too-high", "record-count-too-low")
_BAD_FRAMES = ("frame-bad-header", "frame-truncated", "frame-damaged", "frame-checksum-mismatch")

PHRASES = (
    # directories
    Phrase(
        r"loaded stray log|is stray|stray partition|stray replica",
        "the directory is not a replica of this broker",
        "dir-odd",
        "start-loses",
    ),
    # batches
    Phrase(r"record (batch )?is corrupt \(stored crc", "the checksum of a batch does not match its bytes", "crc-mismatch"),
    Phrase(
        r"record batch is corrupt \(the size|crc could not be retrieved",
        "the length of a batch is smaller than its header",
        "batch-length-too-small",
        "batch-length-mismatch",
    ),
    Phrase(
        r"record size .{0,40}(smaller|less) than (the )?minimum record overhead",
        "where a batch should start, there is an impossible length",
        "zero-tail",
        "zero-hole",
        "batch-length-negative",
        "batch-length-too-small",
        "garbage-region",
    ),
    Phrase(r"invalid magic (found in record|value|used)", "a batch has a magic that does not exist", "bad-magic"),
    Phrase(
        r"found invalid messages in log segment",
        "a start scanned this segment and found an invalid batch; it truncates the segment there, and after an unclean "
        "stop deletes all later ones",
        "crc-mismatch",
        "torn-tail",
        "batch-length-mismatch",
        "zero-hole",
        "garbage-region",
    ),
    Phrase(
        r"corruption found in segment",
        "a start truncated this segment at its first bad batch, and deletes all later segments",
        "crc-mismatch",
        "torn-tail",
        "zero-tail",
        "zero-hole",
        "garbage-region",
    ),
    Phrase(
        r"truncated \d+ invalid bytes|found \d+ invalid bytes",
        "bytes at the end of a segment were not a whole batch",
        "torn-tail",
        "torn-header",
        "zero-tail",
    ),
    Phrase(
        r"found invalid messages during fetch",
        "a follower received an invalid batch; the damage is on the leader or in transit",
        "crc-mismatch",
        "bad-magic",
    ),
    Phrase(
        r"encountered corrupt message|is invalid, cause",
        "a consumer received an invalid batch",
        "crc-mismatch",
        "batch-length-negative",
        "zero-hole",
        "garbage-region",
    ),
    Phrase(
        r"larger than the maximum allowed segment size",
        "a segment is larger than 2 GiB and cannot be opened",
        "segment-over-2gib",
    ),
    Phrase(
        r"deleting segments as part of log recovery",
        "a start truncated an earlier segment, and deletes all segments after it",
        "crc-mismatch",
        "torn-tail",
        "zero-hole",
        "garbage-region",
        "offset-regression",
    ),
    # offsets
    Phrase(
        r"found invalid offset during recovery",
        "a start found an offset that does not follow the one before; it emptied this segment and deletes all later ones",
        "offset-regression",
        "offset-duplicate",
        "uncovered-header-rot",
        "batch-duplicate-bytes",
    ),
    Phrase(
        r"split operation is only permitted for segments with overflow",
        "a start found an offset below the base of its segment, and fails",
        "offset-below-base",
        "offset-negative",
        "last-offset-delta-negative",
    ),
    Phrase(
        r"segment overflow error|detected offset overflow|overflowed segment",
        "offsets are too far above the base of their segment; a start splits it",
        "offset-overflow-int32",
    ),
    Phrase(
        r"attempt to append an offset",
        "an offset to be added to an index is not above the last one",
        "offset-regression",
        "offset-duplicate",
        "uncovered-header-rot",
    ),
    Phrase(
        r"out of order offsets found in append|unexpected offset in append",
        "a follower received offsets that do not continue its log",
        "offset-regression",
        "offset-duplicate",
    ),
    Phrase(
        r"trying to roll a new log segment .{0,200}already exists",
        "the broker takes the base of the newest segment for the log end, and cannot continue",
        "index-position-past-log",
        "truncated-at-boundary",
        "torn-tail",
    ),
    Phrase(
        r"logendoffset .{0,40}smaller than logstartoffset",
        "all segments of this partition were deleted, because the checkpoint of its log start offset was above its end",
        "log-start-beyond-end",
    ),
    Phrase(
        r"invalid partition leader epoch entry",
        "a leader epoch or its start offset is negative",
        "offset-negative",
        "epochs-not-monotonic",
        "leader-epoch-negative",
        "uncovered-header-rot",
    ),
    Phrase(
        r"caused truncation of conflicting entries",
        "leader epochs or their start offsets do not rise; the broker dropped some of them",
        "epochs-not-monotonic",
        "epochs-disagree",
        "leader-epoch-regression",
    ),
    Phrase(
        r"we only have log segments in the range",
        "a request asked for an offset that is not in the log",
        "log-start-beyond-end",
        "offset-negative",
        "segments-gap",
    ),
    # records and compression
    Phrase(
        r"exception when fetching the next record",
        "a consumer cannot decode a record in a batch whose checksum matches",
        *_BAD_RECORDS,
        *_BAD_FRAMES,
    ),
    Phrase(
        r"invalid record (size|structure)|found invalid record count|incorrect declared batch size|records still remaining",
        "the records of a batch do not match its size",
        *_BAD_RECORDS,
    ),
    Phrase(r"number of record headers", "a record has an impossible header count", "header-count-bad"),
    Phrase(r"null header key|negative header key size", "a record has a header without a key", "header-key-null"),
    Phrase(r"unknown compression type id", "a batch names a codec that does not exist", "codec-unknown"),
    Phrase(r"invalid wrapper compressiontype", "a wrapper names a codec that its format does not support", "codec-not-allowed"),
    Phrase(
        r"stream frame descriptor corrupted|stream unsupported|stream ended prematurely|block checksum mismatch"
        r"|corrupt gzip trailer|not in gzip format",
        "a compressed payload does not decompress",
        *_BAD_FRAMES,
        "lz4-legacy-header",
    ),
    Phrase(r"inner messages must not be compressed", "a wrapper contains another one", "legacy-nested-compression"),
    Phrase(r"compressed record set with null value", "a wrapper of messages is empty", "legacy-wrapper-empty"),
    # indexes
    Phrase(
        r"could not find offset index file",
        "a segment has no .index; a start scans the segment, rebuilds the index, and truncates at the first bad batch",
        "index-missing",
    ),
    Phrase(r"orphaned index file", "an index has no log; a start deletes it", "index-orphan"),
    Phrase(
        r"corrupted? index (file )?found|found a corrupted index file",
        "an index is rejected; the segment is scanned and its indexes are rebuilt",
        "index-entry-below-base",
        "index-size-misaligned",
        "timeindex-size-misaligned",
        "txnindex-order",
    ),
    Phrase(
        r"corrupt time index found|time index file .{0,300} is corrupt",
        "a time index is rejected",
        "timeindex-offset-order",
        "timeindex-timestamp-order",
        "timeindex-size-misaligned",
    ),
    Phrase(r"full (time )?index \(size|newPosition > limit", "an index has no room for its entries", "index-oversize"),
    Phrase(
        r"unexpected aborted transaction version",
        "a transaction index entry has an unknown version; the broker does not start",
        "txnindex-version-unknown",
    ),
    # transactions and producers
    Phrase(
        r"invalid control record type for end transaction marker",
        "a control batch with a producer id is not a marker; the broker does not start",
        "control-type-unknown",
    ),
    Phrase(
        r"invalid version found for (control record|end transaction marker)",
        "a control record has a negative version",
        "control-version-negative",
    ),
    Phrase(
        r"invalid value size found for .{0,20}control record key", "the key of a control record is too short", "control-key-short"
    ),
    Phrase(r"invalid value size found for end transaction marker", "the value of a marker is too short", "control-value-short"),
    Phrase(
        r"expected transactional write from producer",
        "a producer wrote non-transactionally during its transaction; a start that scans this fails",
        "txn-nontransactional-write",
    ),
    Phrase(
        r"invalid coordinator epoch", "a marker comes from a coordinator that had been replaced", "coordinator-epoch-regression"
    ),
    Phrase(r"which is smaller than the last seen epoch", "a producer had already been fenced", "producer-epoch-regression"),
    Phrase(
        r"out of order sequence number",
        "sequence numbers of a producer are not consecutive",
        "sequence-gap",
        "sequence-duplicate",
    ),
    Phrase(
        r"failed to load producer snapshot|snapshot is corrupt \(crc|snapshot failed schema validation",
        "a producer snapshot is rejected; the broker deletes it and reads an older one, or the log",
        "snapshot-crc-mismatch",
        "snapshot-truncated",
        "snapshot-count-absurd",
        "snapshot-trailing-bytes",
    ),
    Phrase(r"unknown file version", "a producer snapshot has an unknown version", "snapshot-version-unknown"),
    Phrase(r'because "key" is null', "a control record has no key", "control-key-null"),
    Phrase(r'because "value" is null', "a control record has no value", "control-value-short"),
    # checkpoints, names, directories
    Phrase(r'because "this.text" is null', "partition.metadata is empty", "partition-metadata-bad"),
    Phrase(
        r"invalid topic id in partition metadata|partition metadata file|baseN uuid|base64 uuid",
        "partition.metadata cannot be read",
        "partition-metadata-bad",
    ),
    Phrase(
        r"malformed line in checkpoint file",
        "a line of a checkpoint is not an entry",
        "epochs-malformed",
        "log-dir-file-bad",
        "partition-metadata-bad",
    ),
    Phrase(
        r"expected \[?\d+\]? entries in checkpoint file",
        "a checkpoint does not have as many lines as it says",
        "epochs-count-mismatch",
        "log-dir-file-bad",
    ),
    Phrase(
        r"unrecognized version of the checkpoint file",
        "a checkpoint has an unknown version",
        "epochs-version-unknown",
        "log-dir-file-bad",
    ),
    Phrase(
        r"error occurred while reading (recovery-point|log-start)-offset-checkpoint",
        "a checkpoint of the log directory cannot be read; the start uses zero, or the base of the first segment, instead",
        "log-dir-file-bad",
    ),
    Phrase(r"error while reading checkpoint file", "a checkpoint cannot be read", "epochs-malformed", "epochs-count-mismatch"),
    Phrase(
        r"not in the form of topic-partition",
        "the name of a directory in the log directory is not that of a partition",
        "dir-odd",
    ),
    Phrase(
        r"for input string",
        "a name or a line has something else in place of a number",
        "name-not-numeric",
        "epochs-malformed",
    ),
    Phrase(
        r"inconsistent snapshot state|latest snapshot was not found",
        "a KRaft log starts after its latest snapshot",
        "snapshot-gap-metadata",
    ),
    Phrase(r"is not a snapshot header", "a KRaft snapshot does not start with its header", "checkpoint-no-header"),
    Phrase(
        r"interrupted swap operation|deleting stray (\.clean|temporary) file|deleting invalid swap file"
        r"|compacted but has not been deleted|recovering file .{0,200} by renaming",
        "files of an interrupted cleaning are put into place, or deleted",
        "leftover-swap",
        "leftover-cleaned",
    ),
    Phrase(
        r"found stray log dir|marked (as )?stray",
        "according to the cluster, this directory is not a replica of the broker, or its topic has another id",
        "partition-metadata-bad",
        "dir-odd",
    ),
    Phrase(r"duplicate log directories", "two log directories contain the same partition, and the broker does not start"),
    Phrase(r"could not read file", "a file exists, but the broker may not read it", "permission-denied", "io-error"),
    Phrase(
        r"error in one of the threads during logs loading|error while loading log dir",
        "a log could not be loaded, and the broker does not start; the accompanying exception says why",
    ),
    # the cleaner
    Phrase(
        r"marking its partition .{0,200}as uncleanable",
        "the cleaner found something that it cannot read, and does not clean this partition again until the broker restarts",
        "crc-mismatch",
        *_BAD_RECORDS,
        *_BAD_FRAMES,
        "batch-length-negative",
        "zero-hole",
    ),
    Phrase(
        r"message larger than maximum allowable size", "the cleaner found a batch above max.message.bytes", "batch-over-limit"
    ),
    Phrase(
        r"future timestamp",
        "a segment does not expire, because it has a timestamp in the future",
        "timestamp-future",
        "retention-blocked",
    ),
)
"""The most specific phrases come first."""

EXCEPTIONS = {
    "CorruptRecordException": (
        "crc-mismatch",
        "batch-length-negative",
        "batch-length-too-small",
        "zero-tail",
        "zero-hole",
        "garbage-region",
        "bad-magic",
    ),
    "InvalidMessageException": ("crc-mismatch", "legacy-inner-crc"),
    "InvalidRecordException": (
        *_BAD_RECORDS,
        "header-count-bad",
        "header-key-null",
        "control-version-negative",
        "control-key-short",
        "control-value-short",
        "legacy-nested-compression",
        "legacy-wrapper-empty",
    ),
    "InvalidOffsetException": ("offset-regression", "offset-duplicate", "uncovered-header-rot", "batch-duplicate-bytes"),
    "OffsetsOutOfOrderException": ("offset-regression", "offset-duplicate"),
    "UnexpectedAppendOffsetException": ("offset-regression", "offset-duplicate", "replica-divergence"),
    "OffsetOutOfRangeException": ("offset-negative", "log-start-beyond-end", "segments-gap"),
    "LogSegmentOffsetOverflowException": ("offset-overflow-int32", "offset-below-base"),
    "CorruptIndexException": ("index-entry-below-base", "index-size-misaligned", "timeindex-offset-order", "txnindex-order"),
    "CorruptSnapshotException": (
        "snapshot-crc-mismatch",
        "snapshot-truncated",
        "snapshot-count-absurd",
        "snapshot-trailing-bytes",
    ),
    "KafkaStorageException": (
        "epochs-malformed",
        "epochs-count-mismatch",
        "epochs-version-unknown",
        "partition-metadata-bad",
        "permission-denied",
        "io-error",
    ),
    "InconsistentTopicIdException": ("partition-metadata-bad",),
    "InvalidTxnStateException": ("txn-nontransactional-write",),
    "OutOfOrderSequenceException": ("sequence-gap", "sequence-duplicate"),
    "InvalidProducerEpochException": ("producer-epoch-regression",),
    "ProducerFencedException": ("producer-epoch-regression",),
    "TransactionCoordinatorFencedException": ("coordinator-epoch-regression",),
    "LogCleaningException": ("crc-mismatch", *_BAD_RECORDS, *_BAD_FRAMES),
    "KafkaException": (*_BAD_FRAMES, "txnindex-version-unknown", "dir-odd", "segment-over-2gib"),
    "ZipException": _BAD_FRAMES,
    "EOFException": ("frame-truncated", "record-count-too-high"),
    "BufferUnderflowException": ("control-value-short", "varint-truncated", "snapshot-truncated"),
    "IndexOutOfBoundsException": ("batch-length-too-small", "uncovered-header-rot"),
    "IllegalArgumentException": (
        "codec-unknown",
        "offset-below-base",
        "offset-negative",
        "control-type-unknown",
        "epochs-not-monotonic",
        "index-oversize",
        "partition-metadata-bad",
    ),
    "IllegalStateException": ("snapshot-gap-metadata", "checkpoint-no-header", "batch-over-limit"),
    "NullPointerException": ("control-key-null", "control-value-short", "partition-metadata-bad"),
    "NumberFormatException": ("name-not-numeric", "checkpoint-name-bad", "epochs-malformed"),
    "NoSuchFileException": ("index-missing", "file-vanished"),
    "FileNotFoundException": ("file-vanished", "permission-denied"),
    "AccessDeniedException": ("permission-denied",),
}
"""The faults that cause an exception, by class name, the likeliest first."""

_CLASS = re.compile(r"\b[A-Z]\w*Exception\b")


def phrases_in(text: str) -> Iterator[Phrase]:
    """The known phrases in a text."""
    return (phrase for phrase in PHRASES if phrase.pattern.search(text))


def exceptions_in(text: str) -> Sequence[str]:
    """The exceptions named in a text, with or without their package, whose faults are known."""
    known = {name.lower(): name for name in EXCEPTIONS}
    words = [*_CLASS.findall(text), text.strip().rpartition(".")[2]]
    return list(dict.fromkeys(known[word.lower()] for word in words if word.lower() in known))
