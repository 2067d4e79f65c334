"""What brokers say about segments: their batches, offsets and records, when they load, append, read and clean them."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import BAD_BATCHES, BAD_FRAMES, BAD_RECORDS, Phrase

_RECORDS_LOST = "No record that was there before is lost; the producer still has this one"

PHRASES = (
    # batches
    Phrase(
        "record is corrupt (stored crc|message is corrupt (stored crc",
        "the checksum of a batch does not match its bytes. Consumers and followers stop at it, and a start that scans the segment"
        " truncates it there",
        ("crc-mismatch",),
    ),
    Phrase(
        "record batch is corrupt (the size|crc could not be retrieved",
        "the length of a batch is smaller than its header",
        ("batch-length-too-small", "batch-length-mismatch"),
    ),
    Phrase(
        "record size {n} smaller than minimum record overhead|record size {n} is less than the minimum record overhead"
        "|record size is less than the minimum record overhead|record size {} smaller than minimum record overhead",
        "where a batch should start, there is an impossible length, often zeros. If only zeros follow, nothing is lost; if"
        " batches follow, consumers cannot pass, and a start that scans the segment truncates it there",
        ("zero-tail", "zero-hole", "batch-length-negative", "batch-length-too-small", "garbage-region"),
    ),
    Phrase(
        "exceeds the largest allowable message size",
        "the length of a batch is above what the reader accepts: the batch is too large, or its length is damaged",
        ("batch-length-absurd", "batch-over-limit", "garbage-region"),
    ),
    Phrase(
        "invalid magic found in record|invalid magic value|invalid magic used in|invalid wrapper magic|unknown magic byte ("
        "|unexpected magic value|unknown magic {n}|invalid magic byte",
        "a batch has a magic that does not exist: its header is damaged, or what is read is not the start of a batch",
        ("bad-magic", "garbage-region"),
    ),
    Phrase(
        "unexpected EOF while attempting to read the next batch",
        "the last batch is longer than the file or response that it is in",
        ("torn-tail", "batch-length-absurd"),
    ),
    Phrase(
        "found invalid messages in log segment",
        "a start scanned this segment and found an invalid batch. It truncates the segment there, and after an unclean stop"
        " deletes all later ones: what follows is lost, unless another replica has it. `kdump forecast` counts it",
        ("crc-mismatch", "torn-tail", "batch-length-mismatch", "zero-hole", "garbage-region"),
    ),
    Phrase(
        "corruption found in segment {}, truncating to offset|corruption found in segment",
        "a start truncated this segment at its first bad batch, and deletes all later segments. After a power failure, this is"
        " usually a torn batch at the end of the newest one, and the leader has the records; anything larger is a loss if no"
        " replica has them",
        ("crc-mismatch", "torn-tail", "zero-tail", "zero-hole", "garbage-region"),
    ),
    Phrase(
        "truncated {n} invalid bytes",
        "a start scanned a segment, and removed what follows its last good batch: usually a torn one, but behind damage also"
        " sound batches",
        ("torn-tail", "torn-header", "zero-tail", "crc-mismatch"),
    ),
    # Kafka's dump tool
    Phrase(
        "found {n} invalid bytes",
        "Kafka's dump tool read no batch in the last bytes of a segment. Normal while a broker writes to it; else a start that"
        " scans the segment removes them",
        ("torn-tail", "torn-header"),
    ),
    Phrase(
        "mismatches in :|indexed offsets are not found in|found timestamp mismatch in|found out of order timestamp in",
        "entries of an index do not fit the log, for Kafka's dump tool. Indexes can be rebuilt; no record is lost by that",
        ("index-offset-mismatch", "timeindex-offset-not-found", "timeindex-timestamp-mismatch", "timeindex-timestamp-order"),
    ),
    Phrase(
        "non-consecutive offsets in|non-secutive offsets in",
        "offsets are missing between batches, for Kafka's dump tool, or go back. Missing ones are normal in compacted topics",
        ("offset-gap", "offset-regression", "offset-duplicate"),
    ),
    Phrase(
        "found invalid messages during fetch",
        "a follower received an invalid batch, and tries again. If this repeats at the same offset, the damage is on the leader:"
        " check its copy; if not, it was in transit",
        ("crc-mismatch", "bad-magic"),
        is_general=True,
    ),
    Phrase(
        "larger than the maximum allowed segment size",
        "a segment is larger than 2 GiB and cannot be opened",
        ("segment-over-2gib",),
    ),
    Phrase(
        "deleting segments as part of log recovery",
        "a start truncated an earlier segment, and deletes all segments after it. Their records are lost here, unless another"
        " replica has them. For a minute (file.delete.delay.ms) the files remain, with the suffix .deleted",
        (*BAD_BATCHES, "offset-regression"),
    ),
    Phrase(
        "failed to load record batch at position|failed to read record batch at position",
        "a batch cannot be read: the file ended inside it, or the device failed. The accompanying exception says which",
        ("torn-tail", "file-shrank", "io-error"),
        is_general=True,
    ),
    Phrase(
        "has been truncated during write|mismatch in sending bytes over socket|exceeds end position of|failed to read `{}` from"
        " file channel",
        "a segment became shorter while it was read or sent: the broker truncated it, or something else wrote to the file",
        ("file-shrank",),
    ),
    Phrase(
        "attempt to truncate log segment {} bytes failed",
        "the log should be cut at a position after its end: the file was changed by something other than the broker",
        ("file-shrank", "truncated-at-boundary"),
    ),
    Phrase(
        "recovering unflushed segment",
        "after an unclean stop, a start scans what may not have been written to the disk, from the recovery point on. This is"
        " normal and takes time; it truncates the log at the first bad batch, if there is one",
    ),
    Phrase(
        "skipping recovery for all logs in|skipping recovery of {} logs from",
        "the last stop was clean, and segments are not scanned. Damage that is already in them is not noticed: `kdump check`"
        " looks for it",
    ),
    Phrase(
        "attempting recovery for all logs in|recovering {} logs from {} since no clean shutdown file was found",
        "there is no .kafka_cleanshutdown: the last stop was not clean, and segments from the recovery point on are scanned. Ask"
        " `kdump forecast --after unclean` first, if you still can",
    ),
    # offsets
    Phrase(
        "found invalid offset during recovery",
        "a start found an offset that does not follow the one before. It emptied this segment and deletes all later ones",
        ("offset-regression", "offset-duplicate", "uncovered-header-rot", "batch-duplicate-bytes"),
    ),
    Phrase(
        "split operation is only permitted for segments with overflow",
        "a start found an offset below the base of its segment, and fails",
        ("offset-below-base", "offset-negative", "last-offset-delta-negative"),
    ),
    Phrase(
        "segment overflow error|detected offset overflow|overflowed segment|integer overflow for offset"
        "|can not be safely converted to relative offset",
        "offsets are too far above the base of their segment; a start splits it",
        ("offset-overflow-int32", "uncovered-header-rot"),
    ),
    Phrase(
        "since this is the first record to be appended",
        "the log of a follower starts at an offset before its checkpoint. This is normal for a new replica; nothing is lost",
    ),
    Phrase(
        "out of order offsets found in append|unexpected offset in append to {} is less than the next offset",
        "a follower received offsets that do not continue its log",
        ("offset-regression", "offset-duplicate", "replica-divergence"),
    ),
    Phrase(
        "offset mismatch for partition {} fetched offset|offset mismatch for the future replica",
        "a replica received records for another offset than its end: its log was changed while it fetched. It restarts fetching"
        " at its end; nothing is lost by this",
    ),
    Phrase(
        "trying to roll a new log segment {} already exists",
        "the broker takes the base of the newest segment for the log end, and cannot continue. With size 0 it replaces the empty"
        " segment, and goes on",
        ("index-position-past-log", "truncated-at-boundary", "torn-tail"),
    ),
    Phrase(
        "trying to roll a new log segment {} lower than start offset of the active segment",
        "the log end is below the base of the newest segment: a file of another replica or backup may be among them",
        ("segments-overlap", "offset-below-base"),
    ),
    Phrase(
        "newly rolled segment file {} already exists",
        "a file stood where a new segment starts, and was deleted: it was left over from an earlier run or a copy",
        ("segments-overlap",),
    ),
    Phrase(
        "logendoffset {} smaller than logstartoffset",
        "all segments of this partition were deleted, because the checkpoint of its log start offset was above its end. The"
        " records are lost here, unless another replica has them",
        ("log-start-beyond-end",),
    ),
    Phrase(
        "we only have log segments",
        "a request asked for an offset that is not in the log. Retention may have removed it, or the log was truncated; `kdump"
        " where TOPIC-PARTITION@OFFSET DIRECTORIES` says what became of it. Thrown while logs load, it is damage",
        ("log-start-beyond-end", "offset-negative", "segments-gap"),
    ),
    Phrase(
        "cannot increment the log start offset to",
        "a log start offset above the high watermark was asked for: by a request to delete records, which is refused, or by a"
        " leader, which the follower asks again. Nothing was deleted",
    ),
    Phrase(
        "cannot truncate partition {} to a negative offset",
        "a leader's answer led to a negative offset. The log is unchanged",
    ),
    Phrase(
        "non-monotonic update of high watermark|non-monotonic update of high watermark from",
        "the high watermark went back, as it may after a leader lost committed records (unclean election), or a checkpoint was"
        " lost. `kdump where TOPIC-PARTITION@OFFSET DIRECTORIES` compares the replicas",
        ("replica-divergence", "high-watermark-beyond-end"),
    ),
    Phrase(
        "high watermark update exceeds current log end offset|high watermark {} update exceeds current log end offset",
        "a high watermark above the log end was to be set: the log is shorter than its checkpoint says",
        ("high-watermark-beyond-end", "truncated-at-boundary"),
    ),
    Phrase(
        "inconsistent segment sizes after split|failed to append records from position",
        "a start could not split a segment whose offsets are too far above its base. The segment remains as it was",
        ("offset-overflow-int32", "offset-below-base"),
    ),
    Phrase(
        "local log retention time {} breach|local log retention size {} breach",
        "the local copy of a segment that is in remote storage is deleted, as configured (local.retention.ms,"
        " local.retention.bytes). No record is lost",
    ),
    Phrase(
        "retention time {} breach|retention size {} breach|log start offset {} breach|incremented log start offset to",
        "retention deletes segments as configured (retention.ms, retention.bytes, deleted records). This is normal. If they go"
        " too early, look at the topic's configuration, and at the timestamps of the records (`kdump check`)",
    ),
    Phrase(
        "and is scheduled for deletion",
        "the broker deletes its replica, because the topic was deleted or the replica was moved. The directory ends in"
        " -delete for file.delete.delay.ms (a minute), and can be copied until then",
    ),
    # records and compression
    Phrase(
        "exception when fetching the next record",
        "a consumer cannot decode a record in a batch whose checksum matches, and stays there until it seeks past it. The damage"
        " was written by the producer, or is in the consumer's decompressor",
        (*BAD_RECORDS, *BAD_FRAMES),
        is_general=True,
    ),
    Phrase(
        "invalid record size|invalid record structure|found invalid record count|incorrect declared batch size"
        "|records still remaining|reached end of input stream before skipping all bytes",
        "the records of a batch do not match its size, though its checksum may match",
        BAD_RECORDS,
    ),
    Phrase(
        "varint is too long|varlong is too long",
        "a varint of a record does not end: the record is damaged, or is not one",
        ("varint-too-long", "record-length-bad"),
    ),
    Phrase("invalid number of record headers", "a record has an impossible header count", ("header-count-bad",)),
    Phrase("null header key|negative header key size", "a record has a header without a key", ("header-key-null",)),
    Phrase("unknown compression type id", "a batch names a codec that does not exist", ("codec-unknown",)),
    Phrase(
        "invalid wrapper compressiontype",
        "a wrapper names a codec that its format does not support",
        ("codec-not-allowed",),
    ),
    Phrase(
        "stream frame descriptor corrupted|stream unsupported|stream ended prematurely|block checksum mismatch"
        "|corrupt gzip trailer|not in gzip format|failed to decompress record stream|invalid stored block lengths"
        "|FAILED_TO_UNCOMPRESS|failed to uncompress the chunk|incorrect header check|incorrect data check|invalid block type"
        "|invalid distance too far back|unexpected end of zlib input stream|src size is incorrect|unknown frame descriptor"
        "|data corruption detected|lz4exception|error decoding offset|malformed input at|restored data doesn't match checksum"
        "|unexpected end of gzip|block size {n} exceeded max: {n}",
        "a compressed payload does not decompress: consumers cannot read the batch",
        (*BAD_FRAMES, "lz4-legacy-header"),
    ),
    Phrase(
        "detected a buggy lz4-java library",
        "the client's class path has an lz4-java older than 1.4. The records are sound; replace the library",
    ),
    Phrase("inner messages must not be compressed", "a wrapper contains another one", ("legacy-nested-compression",)),
    Phrase(
        "compressed record set with null value|compressed record set with no inner records",
        "a wrapper of messages is empty",
        ("legacy-wrapper-empty",),
    ),
    Phrase("does not match wrapper magic", "messages in a wrapper have another magic than the wrapper", ("legacy-inner-magic",)),
    Phrase(
        "invalid wrapper offset in compressed v1 message set",
        "the offset of a wrapper is below that of a message in it",
        ("legacy-wrapper-offset",),
    ),
    # what brokers refuse to append
    Phrase(
        "invalid offset range: [|inconsistent batch offset range|invalid reported count for record batch"
        "|compressed outer record has more than one batch|record batch has no batches at all|is not the same as the first batch"
        "|invalid sequence number {n} in record batch with producerid|clients are not allowed to write control records"
        "|cannot append record batch with illegal length|record batch in the append to {} should be 0",
        "a broker refused a malformed batch of a producer and wrote nothing: the producer's library is at fault, or the network."
        " The log is not damaged",
    ),
    Phrase(
        "invalid_timestamp|one or more records have been rejected due to invalid timestamp|timestamp {} is out of range"
        "|timestamp of the message is out of acceptable range|broker: invalid timestamp",
        "a broker refused records whose timestamps are too far from its clock, and wrote none of the batch."
        f" {_RECORDS_LOST}. Look at the producer's clock and at message.timestamp.before.max.ms and"
        " message.timestamp.after.max.ms",
    ),
    Phrase(
        "invalid_record|one or more records have been rejected|compacted topic cannot accept message without key"
        "|failed the validation on broker|broker failed to validate record",
        "a broker refused records, for example without a key in a compacted topic, and wrote none of the batch. The log is not"
        " damaged",
    ),
    Phrase(
        "message_too_large|record_list_too_large|exceeds the maximum configured segment size|exceeds the maximum configured"
        " value of|exceeds the maximum configured size|message larger than the max message size|message size too large"
        "|message was too large|message batch larger than|bytes when serialized which is larger than",
        f"a batch is larger than max.request.size, max.message.bytes or segment.bytes, and was not written. {_RECORDS_LOST}."
        " To a consumer of librdkafka it means a batch that is larger than what it fetches: the log is sound",
    ),
    Phrase(
        "append from raft leader did not set the batch epoch correctly",
        "a batch of the metadata log does not have the epoch of its leader: a fault of the controller, not of the disk. The"
        " controller stops; report it with its log",
    ),
    Phrase(
        "idempotent records cannot be used with magic|transactional records cannot be used with magic|down-conversion of"
        " zstandard-compressed|cannot search offsets based on timestamp because",
        "an old message format (message.format.version, or an old client) does not have what was asked for, and the request was"
        " refused. The log is sound",
    ),
    # internal topics
    Phrase(
        "unknown group metadata version|unknown group metadata message version|unknown offset message version"
        "|unknown offset schema version|unknown version {} from the transaction log message value",
        "a newer Kafka wrote a record of __consumer_offsets or __transaction_state, and this one (after a downgrade) does not"
        " load the partition, so that its groups or transactions are not served. Nothing is damaged: go back to the newer"
        " release",
    ),
    Phrase(
        "error loading offsets from|error loading transactions from transaction log|failed to load metadata from {} with epoch",
        "a coordinator cannot read its internal topic (__consumer_offsets, __transaction_state), and does not serve its groups or"
        " transactions. Check that partition on the broker that says so",
        BAD_BATCHES,
        is_general=True,
    ),
    # the cleaner
    Phrase(
        "illegal request for non-active segments beginning at",
        "the cleaner met a log start after the base of its newest segment, as after records were deleted (a bug of 2.3). It"
        " leaves the partition out, which grows until the broker restarts; nothing is lost",
    ),
    Phrase(
        "but offset map can fit only|unable to build the offset map for segment",
        "the keys of one segment do not fit into the cleaner's memory: its thread stops, or leaves the partition out, so that"
        " compacted topics, __consumer_offsets among them, grow. No record is lost. Raise log.cleaner.dedupe.buffer.size or lower"
        " log.cleaner.threads, and restart",
    ),
    Phrase(
        "marking its partition {} as uncleanable",
        "the cleaner found something that it cannot read, and does not clean this partition again until the broker restarts. The"
        " partition grows; nothing is lost by this",
        (
            "crc-mismatch",
            *BAD_RECORDS,
            *BAD_FRAMES,
            "batch-length-negative",
            "zero-hole",
        ),
        is_general=True,
    ),
    Phrase(
        "message larger than maximum allowable size",
        "the cleaner found a batch above max.message.bytes. The limit was lowered after it was written, or its length is damaged",
        ("batch-over-limit", "batch-length-absurd"),
    ),
    Phrase(
        "log segment may be corrupt, batch size|could not determine next batch size for|invalid batch size {n} for"
        "|but not processed for",
        "the cleaner met a batch whose length is impossible, and stops cleaning this partition",
        ("batch-length-absurd", "batch-length-negative", "torn-tail", "zero-hole"),
    ),
    Phrase(
        "while loading offset map",
        "the cleaner could not read a segment. The accompanying exception says why",
        ("io-error", "file-vanished"),
        is_general=True,
    ),
    Phrase(
        "invalid messages during compaction",
        "the cleaner met records without a key, which a compacted topic cannot keep, and left them out. They are gone from"
        " this replica",
        ("key-missing-compacted",),
    ),
    Phrase(
        "resetting first dirty offset of|which is larger than the log end offset {} resetting to the log start offset",
        "the cleaner's checkpoint does not fit the log, as after a truncation; it cleans from the log's start. Nothing is lost",
        ("cleaner-offset-beyond-end",),
    ),
    Phrase(
        "failed to clean up log for {} due to ioexception",
        "a file could not be read, written or renamed while the cleaner worked. The log directory is taken offline; the"
        " accompanying exception says why",
        ("io-error",),
        is_general=True,
    ),
    Phrase(
        "failed to access checkpoint file {}in dir",
        "cleaner-offset-checkpoint cannot be read or written, so the log directory is taken offline. Nothing in the log is"
        " damaged; the accompanying exception says why",
        ("log-dir-file-bad", "permission-denied", "io-error"),
    ),
    Phrase("log cleaner thread {n} cleaned log", "the cleaner has compacted a log. This is normal"),
    Phrase(
        "stopping cleaning logs in dir",
        "the log directory was taken offline, so its logs are not cleaned any more. The reason is in earlier lines",
        is_general=True,
    ),
    Phrase(
        "offset map is too small to fit in even a single message|full offset map",
        "the cleaner's buffer (log.cleaner.dedupe.buffer.size) is too small. Nothing is damaged, but compacted topics grow",
    ),
    Phrase(
        "more than 2g of cleaner buffer",
        "log.cleaner.dedupe.buffer.size is larger than the cleaner's threads can use. Nothing is wrong",
    ),
    Phrase(
        "exceeded max record batch size {} after cleaning",
        "a cleaned batch became larger than before. It is sound",
    ),
    Phrase(
        "future timestamp",
        "a segment does not expire, because it has a timestamp in the future",
        ("timestamp-future", "retention-blocked"),
    ),
    Phrase(
        "record format version has been downgraded",
        "message.format.version was lowered for this topic. New batches have the older format; nothing is lost",
        ("magic-regression",),
    ),
    Phrase(
        "empty active segment at {} was deleted and recreated",
        "an empty newest segment was replaced. Nothing is lost",
    ),
    Phrase(
        "could not read file",
        "a file exists, but the broker may not read it",
        ("permission-denied", "io-error"),
    ),
)
