"""What the class of an exception means without its message, and the faults that it comes from."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import BAD_FRAMES, BAD_RECORDS

EXCEPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "CorruptRecordException": (
        "a batch cannot be read: its checksum, length or magic is wrong",
        (
            "crc-mismatch",
            "batch-length-negative",
            "batch-length-too-small",
            "zero-tail",
            "zero-hole",
            "garbage-region",
            "bad-magic",
        ),
    ),
    "CorruptRecordError": ("a batch or record cannot be read (kafka-python, aiokafka)", ("crc-mismatch", *BAD_RECORDS)),
    "InvalidMessageException": ("a message's checksum does not match", ("crc-mismatch", "legacy-inner-crc")),
    "InvalidRecordException": (
        "a record or batch contradicts itself, or was refused when it was written",
        (
            *BAD_RECORDS,
            "header-count-bad",
            "header-key-null",
            "control-version-negative",
            "control-key-short",
            "control-value-short",
            "legacy-nested-compression",
            "legacy-wrapper-empty",
        ),
    ),
    "InvalidOffsetException": (
        "an offset is not above the one before it",
        ("offset-regression", "offset-duplicate", "uncovered-header-rot", "batch-duplicate-bytes"),
    ),
    "OffsetsOutOfOrderException": ("offsets that were to be appended do not rise", ("offset-regression", "offset-duplicate")),
    "UnexpectedAppendOffsetException": (
        "offsets that a follower was to append are below its log end",
        ("offset-regression", "offset-duplicate", "replica-divergence"),
    ),
    "OffsetOutOfRangeException": (
        "an offset is not in the log: it was deleted by retention, truncated, or never written",
        ("log-start-beyond-end", "offset-negative", "segments-gap"),
    ),
    "LogSegmentOffsetOverflowException": (
        "an offset is too far from the base of its segment",
        ("offset-overflow-int32", "offset-below-base"),
    ),
    "IndexOffsetOverflowException": (
        "an offset is too far from the base of its index",
        ("offset-overflow-int32", "uncovered-header-rot"),
    ),
    "LogTruncationException": (
        "a consumer read records that the leader no longer has",
        ("replica-divergence", "truncated-at-boundary"),
    ),
    "CorruptIndexException": (
        "an index is rejected and rebuilt from the log",
        ("index-entry-below-base", "index-size-misaligned", "timeindex-offset-order", "txnindex-order"),
    ),
    "CorruptSnapshotException": (
        "a producer snapshot is rejected; the broker reads an older one, or the log",
        ("snapshot-crc-mismatch", "snapshot-truncated", "snapshot-count-absurd", "snapshot-trailing-bytes"),
    ),
    "KafkaStorageException": (
        "a file could not be read or written, and its log directory is offline; an earlier line says why",
        (
            "epochs-malformed",
            "epochs-count-mismatch",
            "epochs-version-unknown",
            "partition-metadata-bad",
            "permission-denied",
            "io-error",
        ),
    ),
    "InconsistentTopicIdException": ("the topic has another id than the log", ("partition-metadata-bad",)),
    "UnknownTopicIdException": (
        "the broker knows no topic with this id: the topic was deleted and created again, or metadata is late",
        ("partition-metadata-bad",),
    ),
    "InvalidTxnStateException": (
        "a producer wrote to a transaction that is not open, or outside of one that is",
        ("txn-nontransactional-write",),
    ),
    "OutOfOrderSequenceException": (
        "sequence numbers of a producer are not consecutive",
        ("sequence-gap", "sequence-duplicate"),
    ),
    "InvalidProducerEpochException": ("a producer had already been fenced", ("producer-epoch-regression",)),
    "ProducerFencedException": ("a producer had already been fenced", ("producer-epoch-regression",)),
    "TransactionCoordinatorFencedException": (
        "a marker comes from a coordinator that had been replaced",
        ("coordinator-epoch-regression",),
    ),
    "LogCleaningException": ("the cleaner could not read a log", ("crc-mismatch", *BAD_RECORDS, *BAD_FRAMES)),
    "ZipException": ("a gzip payload does not decompress", BAD_FRAMES),
    "SnappyIOException": ("a snappy payload does not decompress", (*BAD_FRAMES, "snappy-raw")),
    "LZ4Exception": ("an lz4 payload does not decompress", (*BAD_FRAMES, "lz4-legacy-header")),
    "ZstdIOException": ("a zstd payload does not decompress", BAD_FRAMES),
    "MetadataParseException": ("a record of the metadata log cannot be decoded", ("metadata-record-undecodable",)),
    "NumberFormatException": (
        "something that should be a number is none; thrown while logs load, it is a file name or a line of a checkpoint",
        ("name-not-numeric", "checkpoint-name-bad", "epochs-malformed"),
    ),
    "NoSuchFileException": (
        "a file that should be there is not: something deleted or moved it while the broker ran",
        ("file-vanished", "index-missing"),
    ),
    "FileNotFoundException": ("a file is not there, or may not be opened", ("file-vanished", "permission-denied")),
    "AccessDeniedException": ("the broker may not read or write a file", ("permission-denied",)),
    "RecordTooLargeException": (
        "a batch is larger than max.message.bytes, or than what a consumer fetches",
        ("batch-over-limit",),
    ),
    "RecordBatchTooLargeException": ("a batch is larger than a segment may be", ("batch-over-limit",)),
    # what is not on the disk, or not damage
    "DeserializationException": ("a client's deserializer does not accept a record; the log is sound", ()),
    "DuplicateBrokerRegistrationException": ("two brokers have the same id, or one restarted a moment ago", ()),
    "FencedLeaderEpochException": ("a client or follower has older metadata than the leader; it refreshes it", ()),
    "InconsistentBrokerIdException": ("meta.properties has the id of another broker", ()),
    "InconsistentClusterIdException": ("meta.properties has the id of another cluster", ()),
    "InvalidPidMappingException": ("the coordinator does not remember a producer; nothing is damaged", ()),
    "InvalidReceiveException": ("something that does not speak Kafka's protocol connected, or a request is too large", ()),
    "InvalidTimestampException": ("a producer's timestamps are too far from the broker's clock; nothing was written", ()),
    "LeaderNotAvailableException": ("the partition has no leader at this moment", ()),
    "LogDirNotFoundException": ("a directory is not one of log.dirs", ()),
    "NoOffsetForPartitionException": ("a consumer group has no committed offset, and no auto.offset.reset", ()),
    "NotEnoughReplicasAfterAppendException": ("a batch was written, but to fewer replicas than min.insync.replicas", ()),
    "NotEnoughReplicasException": ("a batch was refused, because fewer replicas than min.insync.replicas are in sync", ()),
    "NotLeaderOrFollowerException": ("the broker does not have the partition, or does not lead it; clients refresh metadata", ()),
    "OffsetMovedToTieredStorageException": ("the offset is only in remote storage", ()),
    "OutOfMemoryError": ("the JVM ran out of memory, and its stop is not clean: ask `kdump forecast --after unclean`", ()),
    "RecordDeserializationException": ("a consumer's deserializer does not accept a record; the log is sound", ()),
    "RemoteResourceNotFoundException": ("remote storage does not have a segment that its metadata names", ()),
    "RemoteStorageException": ("remote storage could not be read or written; local segments are not affected", ()),
    "ReplicaNotAvailableException": ("the broker does not have a replica of the partition", ()),
    "SerializationException": ("a client could not encode or decode a key or value; the log is sound", ()),
    "StaleBrokerEpochException": ("the broker registered again meanwhile; it tries again", ()),
    "UnknownLeaderEpochException": ("a client or follower has newer metadata than the leader; it tries again", ()),
    "UnknownProducerIdException": ("the broker does not remember a producer, whose records expired; nothing is damaged", ()),
    "UnknownTopicOrPartitionException": ("the broker does not have the partition: it was deleted, or is being created", ()),
}
"""By class name: its meaning, and the faults that it comes from, the likeliest first."""

SILENT = (
    "ApiException",
    "ArrayIndexOutOfBoundsException",
    "BufferOverflowException",
    "BufferUnderflowException",
    "ClassCastException",
    "CompletionException",
    "ConcurrentModificationException",
    "EOFException",
    "Error",
    "Exception",
    "ExecutionException",
    "IOException",
    "IllegalArgumentException",
    "IllegalStateException",
    "IndexOutOfBoundsException",
    "InterruptedException",
    "KafkaException",
    "NoSuchElementException",
    "NullPointerException",
    "RuntimeException",
    "Throwable",
    "TimeoutException",
    "UncheckedIOException",
    "UnknownServerException",
    "UnsupportedOperationException",
)
"""Classes that mean nothing without their message."""
