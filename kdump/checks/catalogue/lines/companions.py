"""What brokers say about the files beside segments: indexes, producer snapshots, checkpoints, partition.metadata."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import Phrase

_REBUILT = (
    "The index is rebuilt from the log, and no record is lost by that; but the log is scanned, and truncated at its first bad"
    " batch"
)

PHRASES = (
    # indexes
    Phrase(
        "could not find offset index file",
        "a segment has no .index. A start scans the segment, rebuilds the index, and truncates the log at its first bad batch",
        ("index-missing",),
    ),
    Phrase("orphaned index file", "an index has no log; a start deletes it", ("index-orphan",)),
    Phrase(
        "corrupt index found|corrupted index found",
        "the last entry of an offset index is below the base of its segment, usually because zeros are left from its"
        f" preallocation after an unclean stop. {_REBUILT}",
        ("index-entry-below-base", "index-zero-tail", "index-zero-entry-middle"),
    ),
    Phrase(
        "corrupt time index found",
        f"the last entry of a time index is below its first. {_REBUILT}",
        ("timeindex-offset-order", "timeindex-timestamp-order"),
    ),
    Phrase(
        "time index file {} is corrupt, found {n} bytes",
        f"the size of a time index is not a multiple of 12. {_REBUILT}",
        ("timeindex-size-misaligned",),
    ),
    Phrase(
        "index file {} is corrupt, found {n} bytes",
        f"the size of an offset index is not a multiple of 8. {_REBUILT}",
        ("index-size-misaligned",),
    ),
    Phrase(
        "last offset of aborted transaction {} is less than start offset"
        "|last offset of appended transactions must increase sequentially",
        "entries of a transaction index are out of order. A start rebuilds the index from the log; no record is lost by that",
        ("txnindex-order",),
    ),
    Phrase(
        "corrupted index file|index file corruption|rebuilding index files|and rebuilding index",
        f"an index is rejected. {_REBUILT}",
        (
            "index-entry-below-base",
            "index-size-misaligned",
            "timeindex-size-misaligned",
            "timeindex-offset-order",
            "txnindex-order",
        ),
        is_general=True,
    ),
    Phrase(
        "attempt to append an offset {} to slot",
        "an offset to be added to a time index is below the last one",
        ("timeindex-offset-order", "offset-regression", "uncovered-header-rot"),
    ),
    Phrase(
        "attempt to append an offset",
        "an offset to be added to an index is not above the last one",
        ("offset-regression", "offset-duplicate", "uncovered-header-rot"),
    ),
    Phrase(
        "attempt to append a timestamp",
        "a timestamp to be added to a time index is below the last one in it: the index has an entry that is too high, or the"
        " timestamp of a batch was",
        ("timeindex-timestamp-order", "timeindex-timestamp-mismatch", "timestamp-future"),
    ),
    Phrase(
        "full time index (size|full index (size|newPosition > limit",
        "an index has no room for its entries",
        ("index-oversize",),
    ),
    Phrase(
        "entries but file position in index is",
        "the size of an index changed while it was written: something else wrote to the file",
        ("index-stale",),
    ),
    Phrase(
        "attempt to fetch the {}th entry from",
        "an index is shorter than the broker remembers: the file was cut or replaced while the broker ran",
        ("index-stale", "file-replaced"),
    ),
    Phrase(
        "unexpected aborted transaction version",
        "a transaction index entry has an unknown version. The broker does not start",
        ("txnindex-version-unknown",),
    ),
    Phrase(
        "failed to read from the transaction index|failed read position from the transaction index",
        "a transaction index is shorter than its entries, or the device failed",
        ("txnindex-size-misaligned", "io-error"),
    ),
    Phrase(
        "offset index file {} does not exist",
        "a segment has no .index, so its indexes are rebuilt",
        ("index-missing",),
    ),
    # transactions and producers
    Phrase(
        "invalid control record type for end transaction marker{}",
        "a control batch with a producer id is not a marker. The broker does not start",
        ("control-type-unknown",),
    ),
    Phrase(
        "invalid version found for control record|invalid version found for end transaction marker",
        "a control record has a negative version",
        ("control-version-negative",),
    ),
    Phrase(
        "invalid value size found for control record key|invalid value size found for end control record key",
        "the key of a control record is too short",
        ("control-key-short",),
    ),
    Phrase(
        "invalid value size found for end transaction marker",
        "the value of a marker is too short",
        ("control-value-short",),
    ),
    Phrase(
        "expected transactional write from producer",
        "a producer wrote non-transactionally during its transaction; a start that scans this fails",
        ("txn-nontransactional-write",),
    ),
    Phrase(
        "invalid coordinator epoch",
        "a marker comes from a coordinator that had been replaced. In a running broker it is refused, and nothing is lost",
        ("coordinator-epoch-regression",),
    ),
    Phrase(
        "smaller than the last seen epoch|smaller than the current epoch {} of producer",
        "a producer had already been fenced: another one with the same transactional.id took over. Its batch is not written",
        ("producer-epoch-regression",),
    ),
    Phrase(
        "invalid_producer_epoch|attempted to produce with an old epoch|attempted an operation with an old epoch",
        "a producer had already been fenced, or its transaction timed out. Its batch was not written; the client must restart",
        ("producer-epoch-regression",),
    ),
    Phrase(
        "producer_fenced|newer producer with the same transactionalId",
        "another producer with the same transactional.id is running, and this one is fenced. Nothing is wrong in the logs;"
        " find out why two of them run",
    ),
    Phrase(
        "out_of_order_sequence_number|out of order sequence number",
        "sequence numbers of a producer are not consecutive. The broker refuses the batch; the batches between are lost if the"
        " producer does not send them again, or this broker lost them (unclean election, truncation)",
        ("sequence-gap", "sequence-duplicate"),
    ),
    Phrase(
        "invalid sequence number for new epoch of producer|invalid sequence number for producer",
        "a producer's first batch in an epoch does not have sequence number 0, and is refused: its earlier batches were lost, or"
        " the broker forgot the producer",
        ("sequence-gap",),
    ),
    Phrase(
        "duplicate_sequence_number|duplicate sequence number",
        "a producer sent a batch again, which the broker had already written. Nothing is lost",
        ("sequence-duplicate",),
    ),
    Phrase(
        "unknown_producer_id|could not locate the producer metadata|found no record of producerid|broker: unknown producer id"
        "|unknownproducerid",
        "the broker does not remember the producer, because its records expired or were deleted. Nothing is damaged",
    ),
    Phrase(
        "producer id which is not currently assigned",
        "the coordinator has forgotten a transactional.id that was idle for transactional.id.expiration.ms, or gave it another"
        " producer id. Nothing is damaged; the client must start again",
    ),
    Phrase(
        "invalid_txn_state|transactional operation in an invalid state|record was not part of an ongoing transaction",
        "a producer wrote to a transaction that is not open. The batch is not written; the log is not damaged",
    ),
    Phrase(
        "failed to load producer snapshot|unable to load producer snapshot|corrupt snapshot",
        "a producer snapshot is rejected. The broker deletes it and reads an older one, or the log; no record is lost, but"
        " the load takes longer",
        (
            "snapshot-crc-mismatch",
            "snapshot-truncated",
            "snapshot-count-absurd",
            "snapshot-trailing-bytes",
            "snapshot-version-unknown",
        ),
        is_general=True,
    ),
    Phrase(
        "snapshot is corrupt (crc is no longer valid)",
        "the checksum of a producer snapshot does not match. The broker deletes it and reads an older one, or the log",
        ("snapshot-crc-mismatch", "snapshot-truncated", "snapshot-count-absurd", "snapshot-trailing-bytes"),
    ),
    Phrase(
        "snapshot failed schema validation",
        "a producer snapshot does not have the layout of one. The broker deletes it and reads an older one, or the log",
        ("snapshot-truncated", "snapshot-count-absurd", "snapshot-version-unknown", "snapshot-trailing-bytes"),
        is_general=True,
    ),
    Phrase("unknown file version", "a producer snapshot has an unknown version", ("snapshot-version-unknown",)),
    Phrase(
        "loading producer state|loading producer state till offset|loading producer state from snapshot|reloading from"
        " producer snapshot|loading producer state from offset",
        "a start rebuilds what it knows of producers from a snapshot and the log after it. This is normal; without a snapshot it"
        " reads the whole log, and takes long",
    ),
    Phrase('bytebuffer.{}" because "key" is null', "a control record has no key", ("control-key-null",)),
    Phrase('bytebuffer.{}" because "value" is null', "a control record has no value", ("control-value-short",)),
    Phrase(
        "attempted to complete transaction {} which was not started",
        "a marker ends a transaction that this log does not have: its data are missing here",
        ("marker-without-txn", "segment-missing"),
    ),
    Phrase(
        "invalid producer id {} passed to update for partition{}",
        "a batch without a producer id has what only batches of producers with one have",
        ("producer-fields-odd",),
    ),
    # leader epochs
    Phrase(
        "invalid partition leader epoch entry",
        "a leader epoch or its start offset is negative",
        ("offset-negative", "epochs-not-monotonic", "leader-epoch-negative", "uncovered-header-rot"),
    ),
    Phrase(
        "caused truncation of conflicting entries|received a partitionleaderepoch assignment for an epoch < latestepoch",
        "leader epochs or their start offsets do not rise, as after an unclean election; the broker dropped some of them",
        ("epochs-not-monotonic", "epochs-disagree", "leader-epoch-regression"),
    ),
    Phrase(
        "leader epoch cache due to incompatible message format|clearing leader epoch cache after unexpected append",
        "batches of magic 0 or 1 were appended, which have no leader epochs. Nothing is lost",
        ("magic-regression",),
    ),
    # checkpoints and partition.metadata
    Phrase(
        'because "this.text" is null',
        "partition.metadata is empty. The broker does not start; copy the file from another replica",
        ("partition-metadata-bad",),
    ),
    Phrase(
        "topic id in partition metadata|line in partition metadata file|version of partition metadata file"
        "|reading partition metadata file",
        "partition.metadata cannot be read. The records are not affected; copy the file from another replica",
        ("partition-metadata-bad",),
    ),
    Phrase(
        "base64 uuid",
        "something that should be an id of a topic, directory or cluster is none. Thrown while logs load, it is in"
        " partition.metadata; while the broker's configuration is read, in meta.properties or an option",
        ("partition-metadata-bad", "log-dir-file-bad"),
    ),
    Phrase(
        "does not have a topic ID",
        "a directory has no partition.metadata, or an empty one, and the broker does not start. The records are not"
        " affected: copy the file from another replica of the partition, or move the directory away if it is none of this"
        " cluster's",
        ("partition-metadata-bad", "dir-odd"),
    ),
    Phrase(
        "but log already contained topic id|topic id in memory: {} does not match|had already recorded {}"
        "|doesn't match the one on disk|did not match the topic id in the log|topic's id {} not {} as expected"
        "|exists, but its id is",
        "the topic has another id than this directory: it was deleted and created again, or the directory is of another cluster."
        " The records here are of the old topic, and the broker does not serve them",
        ("partition-metadata-bad", "dir-odd"),
    ),
    Phrase(
        "will not be persisted to the partition metadata file",
        "a partition was deleted while the broker wrote its partition.metadata. Nothing is wrong",
    ),
    Phrase(
        "error while trying to delete partition metadata file|could not be persisted to the partition metadata"
        "|error while writing partition metadata file",
        "partition.metadata could not be written, so the log directory is taken offline. The accompanying exception says why",
        ("permission-denied", "io-error"),
        is_general=True,
    ),
    Phrase(
        "malformed line in checkpoint file",
        "a line of a checkpoint is not an entry: the file was damaged, not completely written, or edited. No record is lost"
        " by that",
        ("epochs-malformed", "log-dir-file-bad", "partition-metadata-bad"),
    ),
    Phrase(
        "expected {} entries in checkpoint file",
        "a checkpoint does not have as many lines as it says: it was not completely written",
        ("epochs-count-mismatch", "log-dir-file-bad"),
    ),
    Phrase(
        "unrecognized version of the checkpoint file|unrecognised version:",
        "a checkpoint has an unknown version",
        ("epochs-version-unknown", "log-dir-file-bad"),
    ),
    Phrase(
        "error occurred while reading recovery-point-offset-checkpoint",
        "the recovery points cannot be read, so the start scans all segments of the log directory. No record is lost by that, but"
        " damage in old segments is now found, and truncated",
        ("log-dir-file-bad",),
    ),
    Phrase(
        "error occurred while reading log-start-offset-checkpoint",
        "the log start offsets cannot be read, so logs start at the base of their first segment: deleted records may reappear",
        ("log-dir-file-bad",),
    ),
    Phrase(
        "error while writing to checkpoint file|failed to write to checkpoint file|error while writing to highwatermark file"
        "|error while writing log start offsets checkpoint|disk error while writing {} checkpoint",
        "a checkpoint could not be written, so the log directory is taken offline. No record is lost by this: look at the space"
        " and the state of the disk",
        ("permission-denied", "io-error"),
        is_general=True,
    ),
    Phrase(
        "error while reading checkpoint file",
        "a checkpoint cannot be read",
        ("epochs-malformed", "epochs-count-mismatch", "epochs-version-unknown", "log-dir-file-bad"),
        is_general=True,
    ),
    Phrase(
        "no checkpoint file for log dir",
        "a log directory went offline while a partition in it was used",
        is_general=True,
    ),
    Phrase(
        "for input string",
        "a name or a line of a file has something else in place of a number. If this is thrown while logs load, it is the"
        " name of a file with the suffix of a segment, or a line of a checkpoint",
        ("name-not-numeric", "epochs-malformed", "checkpoint-name-bad"),
    ),
)
