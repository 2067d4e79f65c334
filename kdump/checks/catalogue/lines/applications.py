"""What Kafka Streams and Kafka Connect say: mostly of their own state, tasks and converters, not of Kafka's logs."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import Phrase

_WHY = "The exception that it was caused by says why: explain that one"

PHRASES = (
    # Kafka Streams
    Phrase(
        "rocksdbexception: {} mismatch|RocksDBException|error opening store|failed to lock the state directory|error while"
        " locking the state directory",
        "a Streams application cannot open its local state (state.dir): another instance or thread uses it, or the files are"
        " damaged. The state is a copy of a changelog topic: with the instance stopped, its directory can be deleted, and is"
        " built again from the topic. Kafka's logs are not affected",
    ),
    Phrase(
        "are corrupted and hence need to be re-initialized|detected the states of tasks {} are corrupted|did not find checkpoint"
        " offsets while stores are not empty|wipe out the local state of task|TaskCorruptedException"
        "|marking the corresponding tasks as corrupted|deleting streamtasks stores to recreate|smaller than offsetsum",
        "a Streams application throws its local state away and builds it again from the changelog topic, as after a crash with"
        " exactly-once. This takes time, and loses nothing if the changelog has all offsets: `kdump check` of its"
        " partition says so",
        ("log-start-beyond-end", "segment-missing"),
    ),
    Phrase(
        "deserialization exception handler is set to fail",
        "a Streams application cannot deserialize a record, and is configured to stop there. Kafka's log is sound: the record was"
        " written with another serializer or schema. `kdump log --deep --offset N` shows its bytes",
    ),
    Phrase(
        "may have migrated to another instance|InvalidStateStoreException",
        "the part of the state that was asked for is on another instance, or not restored yet. Nothing is wrong on disk",
    ),
    Phrase(
        "source topics were missing during rebalance|MissingSourceTopicException",
        "a topic that a Streams application reads does not exist: it was deleted, or never created. `kdump info LOG_DIRECTORY`"
        " lists the topics whose files are there, also of directories that are about to be deleted",
    ),
    # Kafka Connect
    Phrase(
        "task threw an uncaught and unrecoverable exception|tolerance exceeded in error handler|uncaught exception in herder work"
        " thread|unrecoverable exception from producer send callback",
        f"a task or worker of Kafka Connect stopped. {_WHY}",
        is_general=True,
    ),
    Phrase(
        "converting byte[] to kafka connect data failed|failed to deserialize data for topic|converting kafka connect data to"
        " byte[] failed",
        "a converter of Kafka Connect does not accept a record: it was written with another serializer or schema. Kafka's log is"
        " sound. `kdump log --deep --offset N` shows the bytes of the record, `--value-decoder avro` and the like decode them",
    ),
    Phrase(
        "is required to have 'cleanup.policy=compact'|the retention policy of the schema topic",
        "an internal topic of Kafka Connect, or that of a schema registry, is not compacted, so retention deletes old offsets,"
        " configurations or schemas, and the program does not start. Set cleanup.policy=compact; what was deleted already does"
        " not come back by that",
    ),
    Phrase(
        "history topic or its content is fully or partially missing|history topic is missing",
        "a Debezium connector does not find the history of its schemas: the topic was deleted, or retention removed its start,"
        " for which retention.ms and retention.bytes have to be -1. `kdump info LOG_DIRECTORY` shows from which offset on it is"
        " there",
    ),
    Phrase(
        "failed to flush offsets to storage|workersourcetask{} failed to commit offsets|failed to flush, timed out while"
        " waiting for producer to flush|timed out waiting to flush offsets to storage|already flushing",
        "a source connector could not store how far it has come. After a restart it reads some of its source again, and records"
        " may be in the topic twice; none is lost",
    ),
)
