"""What consumers and producers say: librdkafka (and what is built on it), sarama, franz-go, kafka-python, aiokafka, and Java."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import BAD_FRAMES, BAD_RECORDS, Phrase

_SERVER = "If it repeats at the same offset, and with other clients, check the log of the leader; if not, look at the network"

PHRASES = (
    # the checksum of a batch
    Phrase(
        "crc didn't match expected 0x0",
        "an old sarama, or one whose Config.Version is too low, takes the batches of a newer broker for messages of the old"
        " format. The log is sound if other clients can read it: update the client first",
        ("crc-mismatch",),
    ),
    Phrase(
        "message contents does not match its crc|contents do not match its crc|contents does not match|broker: invalid message"
        "|failed crc check|failed crc32c check|failed crc32 check|crc didn't match|encoded crc {} does not match calculated crc"
        "|invalid crc|failed integrity check|: crc mismatch",
        "a client received a batch whose checksum does not match, or a broker refused one from a producer (which is then"
        f" not written). {_SERVER}",
        ("crc-mismatch",),
    ),
    Phrase(
        "failed its crc checksum|failed it's crc checksum|CORRUPT_MESSAGE",
        "Kafka's error CORRUPT_MESSAGE. To a producer it means that its batch was refused and not written: damaged on the way, or"
        " without a key in a compacted topic. To a consumer it means a batch that is damaged on the broker",
        ("crc-mismatch", "batch-length-too-small", "key-missing-compacted"),
    ),
    Phrase(
        "encountered corrupt message",
        "a consumer received an invalid batch",
        ("crc-mismatch", "batch-length-negative", "zero-hole", "garbage-region"),
    ),
    Phrase(
        "is invalid, cause",
        "a consumer received an invalid batch, and stays there until it seeks past it",
        ("crc-mismatch", "batch-length-negative", "zero-hole", "garbage-region"),
        is_general=True,
    ),
    # payloads that do not decompress
    Phrase(
        "local: invalid compressed data|failed to decompress gzip|snappy decompression for message|failed to decompress"
        " snappy|failed to get length of snappy|decompression (codec|failed to lz4-decompress|unable to begin zstd"
        " decompression|unable to decompress|gzip: invalid|flate: corrupt input|snappy: corrupt input"
        "|lz4: bad magic number|lz4: invalid|invalid input: magic number mismatch|zstd: magic|s2: corrupt input"
        "|not a gzipped file|zlib.error|compressed file ended before the end-of-stream|decompression error|decompress error",
        "a client cannot decompress a batch: its payload is damaged, or the client's build lacks or misreads the codec"
        " (other clients can read it then). If the checksum of the batch matches, the damage is older than the log: it came"
        " from the producer",
        (*BAD_FRAMES, "snappy-raw", "lz4-legacy-header"),
    ),
    Phrase(
        "could not initialize class org.xerial.snappy|could not initialize class com.github.luben.zstd|libsnappyjava|libzstd-jni",
        "the JVM could not load the library of a codec: /tmp is mounted noexec, or the platform lacks it. The records are sound",
    ),
    Phrase(
        "libraries for {} compression codec not found|unsupported compression codec|compression not implemented"
        "|local: not implemented|codec not implemented|unrecognized compression type",
        "the client was built or installed without the codec that the batch is compressed with. The records are sound,"
        " unless the codec number itself does not exist",
        ("codec-unknown",),
    ),
    Phrase(
        "invalid compression specified|unknown compression codec|unknown codec|invalid codec",
        "a batch names a codec that the client does not know: it is newer than the client, or its attributes are damaged",
        ("codec-unknown",),
    ),
    # batches and records that do not parse
    Phrase(
        "the kafka reader got an unknown error reading partition {} unexpected eof",
        "kafka-go (0.4.24 and later) says so where a partition has no new record, too, so it is no sign of damage by itself. If"
        " the reader stays at one offset, `kdump check` looks at the log",
    ),
    Phrase(
        "does not support record headers",
        "records with headers should become messages of magic 0 or 1, which have none: for a broker or a consumer that is too"
        " old. The log is sound; upgrade the older side, or write without headers",
    ),
    Phrase(
        "unsupported message(set) magicbyte|unsupported magic byte|unsupported message version|unsupportedmagicbyte",
        "a batch has a magic that the client does not know",
        ("bad-magic", "garbage-region"),
    ),
    Phrase(
        "local: bad message format|protocol parse failure|invalid length, expected|invalid byteslice length|invalid array"
        " length|varint overflow|insufficient data to decode packet|unconsumed bytes after all records|malformed record|did"
        " not contain enough data to be valid|invalid record length|invalid negative record length|record size is less than"
        " minimum overhead|invalid relative offset|unable to build record|KafkaJSPartialMessageError",
        "a client could not parse what it received: the records of a batch do not match its size, or the client and the"
        f" broker speak different versions. {_SERVER}",
        (*BAD_RECORDS, "batch-length-mismatch", "batch-length-absurd"),
    ),
    Phrase(
        "error decoding packet",
        f"a client could not parse what it received. {_SERVER}",
        (*BAD_RECORDS, "batch-length-mismatch", "batch-length-absurd"),
        is_general=True,
    ),
    Phrase(
        "failed to make progress reading messages",
        "a consumer received less than one batch: its fetch size is too small, or the length of a batch is damaged",
        ("batch-over-limit", "batch-length-absurd"),
    ),
    Phrase(
        "whose size is larger than the fetch size|message is larger than consumer.fetch.max|message {}larger than the fetch size",
        "a batch is larger than what the consumer fetches. Raise its fetch size; the batch is sound, unless its length is"
        " damaged",
        ("batch-over-limit", "batch-length-absurd"),
    ),
    Phrase(
        "error deserializing key/value|error deserializing value|error deserializing key|value deserializers with error|key"
        " deserializers with error|unknown magic byte!|serializationexception: unknown magic byte|local: value"
        " deserialization error|local: key deserialization error|_VALUE_DESERIALIZATION|_KEY_DESERIALIZATION|error"
        " deserializing avro|error deserializing json|error deserializing protobuf|not produced with a confluent schema"
        " registry serializer",
        "the consumer's deserializer does not accept a record. Kafka's log is sound: the record was written with another"
        " serializer or schema. `kdump log --deep --offset N` shows its bytes, `--value-decoder avro` and the like decode them",
    ),
    # what is not in the log at all
    Phrase(
        "invalid receive (size",
        "something that does not speak Kafka's protocol connected to the broker, or the listener expects TLS and gets plain"
        " text (or the reverse); more rarely, a request is above socket.request.max.bytes. Nothing is wrong on disk",
    ),
    Phrase(
        "not authorized to read from partition|not authorized to access topics|not authorized to access group|topic authorization"
        " failed|group authorization failed|TOPIC_AUTHORIZATION_FAILED|GROUP_AUTHORIZATION_FAILED",
        "the client does not have the permission (ACL) for this topic or group. Nothing is wrong on disk",
    ),
    Phrase(
        "local: broker transport failure|local: all broker connections are down|client has run out of available brokers|unable"
        " to dial|connection refused|nobrokersavailable|error connecting to node|the internal broker struct chosen to issue"
        " this request has died",
        "a client does not reach a broker: the broker is down, or the address, port or TLS setting is wrong. A connection that"
        " was idle is closed by the broker after a time, which is normal. Nothing is wrong on disk",
    ),
    Phrase(
        "expiring {n} record(s) for|containing {n} record(s) expired|local: message timed out|has passed since batch creation",
        "a producer gave up on records that were not acknowledged in time (delivery.timeout.ms). They may or may not have been"
        " written; records that were acknowledged are not affected. Look at the leader and the in-sync replicas of the partition",
    ),
    Phrase(
        "not present in metadata after|failed to update metadata after|timeout expired before the position for partition",
        "the topic or partition does not exist, the client may not see it, or no broker answered. Nothing is wrong on disk",
    ),
    Phrase(
        "since the consumer is not part of an active group|detected that the thread is being fenced|session timed out (in"
        " join-state|local: maximum application poll interval|UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION|group generation id is not"
        " valid|REBALANCE_IN_PROGRESS",
        "a consumer was too slow or lost its connection, and its group was balanced without it. Records after the last committed"
        " offset are read again by another member; none is lost in Kafka",
    ),
    # offsets
    Phrase(
        "unable to validate offset and epoch{} truncation detected|unable to validate offset and epoch",
        "librdkafka could not ask the leader whether an offset is still valid; the text beside it says why (network, TLS, a"
        " broker that is down). Its early releases with this check (2.1) then reset the offset as if the log had been truncated,"
        " which this does not show",
    ),
    Phrase(
        "no previously committed offset available|found no committed offset for partition",
        "a group has no committed offset for this partition, and starts where auto.offset.reset says. If it had one, the offset"
        " expired (offsets.retention.minutes) or was lost: `kdump grep --where key.group=GROUP DIR/__consumer_offsets-*` finds"
        " its commits",
    ),
    Phrase(
        "unstable_offset_commit|unstable offsets that need to be cleared|unstable offsets which are not cleared",
        "a group asked for its offsets while a transaction that commits them is open, or not yet replicated; it asks again. If"
        " this lasts, a transaction hangs in __consumer_offsets: `kdump triage LOG_DIRECTORY` says which",
        ("txn-hanging",),
    ),
    Phrase(
        "response did not contain all the expected topic/partition blocks",
        "sarama received no record for a partition, often because there are only batches that the cleaner emptied, or control"
        " records, from this offset on: update it. `kdump log --offset N` shows what is there",
        ("batch-empty",),
    ),
    Phrase(
        "offset out of range|offsets out of range|OFFSET_OUT_OF_RANGE|out of range and no reset policy|is out of range for"
        " partition|fetch position {} is out of range|requested offset is outside the range|requested offset is not within"
        " the range|OffsetOutOfRangeError|no offset to automatically reset|committed offset {} out of range",
        "a consumer asked for an offset that the partition does not have: retention removed it, the topic was created"
        " again, or the log was truncated (unclean election, damage). `kdump where TOPIC-PARTITION@OFFSET DIRECTORIES` says"
        " which",
        ("log-start-beyond-end", "replica-divergence", "segment-missing"),
    ),
    Phrase(
        "log truncation detected|detected log truncation with diverging offset|detected truncated partitions|truncation"
        " detected for partition|lost records; the client consumed to offset",
        "a consumer has read records that the leader no longer has: its log was truncated, by an unclean election or after"
        " damage. `kdump where TOPIC-PARTITION@OFFSET DIRECTORIES` finds a replica that has them",
        ("replica-divergence", "truncated-at-boundary"),
    ),
    Phrase(
        "local: inconsistent state",
        "librdkafka's own record of a message or transaction does not match what the broker answered: for an idempotent"
        " producer, the broker lost batches that it had acknowledged (unclean election, truncation), or a message may be in"
        " the log twice. It comes from the producer; the log itself parses",
        ("replica-divergence", "sequence-gap", "sequence-duplicate"),
    ),
    Phrase(
        "unknown server error while fetching offset|experienced an unexpected error when processing|unexpected (unknown?)"
        " server error|unknown broker error",
        "a broker failed in a way that the protocol has no code for. The log of that broker has the exception: explain that one",
        is_general=True,
    ),
)
