"""Questions whose answers are not findings: sizes, codecs, skew, throughput, producers, and the largest keys and records."""

from __future__ import annotations

from kdump.binary.batch_header import BATCH_HEADER_SIZE, LOG_OVERHEAD
from kdump.output.rows.fleet import CodecUse, KeyUse, LargeRecord, PartitionSize, ProducerUse, TopicSize, TopicSpan
from kdump.pipeline.fleet.query import PLACE, Query


def sizes() -> Query:
    """Topics by size. Bytes count on each broker; records count once, on the broker that has the most."""
    columns = ("broker", "topic", "partition", "size", "records", "batches", "minTimestamp", "maxTimestamp")
    return Query(
        "sizes",
        {"segments": columns},
        """
WITH logs AS (
  SELECT broker, topic, `partition`, count(*) AS segments, sum(size) AS size, sum(batches) AS batches, sum(records) AS records,
    min(CASE WHEN minTimestamp >= 0 THEN minTimestamp END) AS oldest,
    max(CASE WHEN maxTimestamp >= 0 THEN maxTimestamp END) AS newest
  FROM {segments} GROUP BY broker, topic, `partition`
),
partitions AS (
  SELECT topic, `partition`, count(*) AS replicas, sum(segments) AS segments, sum(size) AS size, max(size) AS largest,
    max(batches) AS batches, max(records) AS records, min(oldest) AS oldest, max(newest) AS newest
  FROM logs GROUP BY topic, `partition`
)
SELECT topic, count(*) AS partitions, sum(replicas) AS replicas, sum(segments) AS segments, sum(size) AS size,
  sum(largest) AS sizeOfOneReplica, sum(batches) AS batches, sum(records) AS records, min(oldest) AS oldest, max(newest) AS newest
FROM partitions GROUP BY topic ORDER BY size DESC, topic
""",
        (TopicSize,),
    )


def codecs() -> Query:
    """What each codec holds of each topic, on all brokers.

    `uncompressed` is the size these batches would have without compression, headers included. If only some were measured, the
    others are estimated from them; if none were, it is null.
    """
    return Query(
        "codecs",
        {"batches": ("topic", "compresscodec", "size", "count", "magic", "uncompressedSize", "status")},
        f"""
WITH uses AS (
  SELECT topic, compresscodec AS codec, count(*) AS batches, sum(`count`) AS records, sum(CAST(size AS BIGINT)) AS size,
    sum(CASE WHEN uncompressedSize IS NULL THEN 0 ELSE CAST(size AS BIGINT) END) AS measured,
    sum(uncompressedSize + CASE WHEN magic >= 2 THEN {BATCH_HEADER_SIZE} ELSE {LOG_OVERHEAD} END) AS uncompressed
  FROM {{batches}} WHERE status <> 'damaged' GROUP BY topic, compresscodec
)
SELECT topic, codec, batches, records, size, measured,
  CASE WHEN measured IN (0, size) THEN uncompressed ELSE CAST(1.0E0 * uncompressed / measured * size AS BIGINT) END
    AS uncompressed
FROM uses ORDER BY size DESC, topic, codec
""",
        (CodecUse,),
    )


def skew() -> Query:
    """Partitions by how much more they hold than the others of their topic; of each, its largest replica."""
    return Query(
        "skew",
        {"segments": ("broker", "topic", "partition", "size")},
        """
WITH logs AS (
  SELECT broker, topic, `partition`, sum(size) AS size
  FROM {segments} WHERE topic IS NOT NULL GROUP BY broker, topic, `partition`
),
partitions AS (SELECT topic, `partition`, max(size) AS size FROM logs GROUP BY topic, `partition`),
compared AS (
  SELECT topic, `partition`, size,
    count(*) OVER (PARTITION BY topic) AS partitions, sum(size) OVER (PARTITION BY topic) AS topicSize
  FROM partitions
)
SELECT topic, `partition`, size, partitions, size * 1.0E0 * partitions / topicSize AS timesTheMean
FROM compared WHERE topicSize > 0 ORDER BY timesTheMean DESC, topic, `partition`
""",
        (PartitionSize,),
    )


def throughput(span_ms: int) -> Query:
    """What was written to each topic, by time of batches in steps of `span_ms`, on the replica that holds the most."""
    return Query(
        "throughput",
        {"batches": ("broker", "topic", "partition", "timestamp", "size", "count", "status", "isControl")},
        f"""
WITH spans AS (
  SELECT broker, topic, `partition`, `timestamp` - `timestamp` % {span_ms} AS start, count(*) AS batches,
    sum(CAST(size AS BIGINT)) AS size, sum(`count`) AS records
  FROM {{batches}} WHERE `timestamp` >= 0 AND status <> 'damaged' AND topic IS NOT NULL
  GROUP BY broker, topic, `partition`, `timestamp` - `timestamp` % {span_ms}
),
replicas AS (
  SELECT topic, `partition`, start, max(batches) AS batches, max(size) AS size, max(records) AS records
  FROM spans GROUP BY topic, `partition`, start
)
SELECT topic, start, sum(batches) AS batches, sum(records) AS records, sum(size) AS size
FROM replicas GROUP BY topic, start ORDER BY topic, start
""",
        (TopicSpan,),
    )


def producers() -> Query:
    """Producers of each replica by size, with the first offset of a transaction that no marker in it ends.

    Markers count as batches, not as records.
    """
    columns = (
        *("broker", "topic", "partition", "producerId", "producerEpoch", "isTransactional", "isControl", "baseOffset"),
        *("lastOffset", "timestamp", "size", "count", "status"),
    )
    return Query(
        "producers",
        {"batches": columns},
        """
WITH sound AS (
  SELECT * FROM {batches} WHERE status <> 'damaged' AND producerId >= 0 AND baseOffset IS NOT NULL
),
marked AS (
  SELECT *, max(CASE WHEN isControl THEN lastOffset END)
    OVER (PARTITION BY broker, topic, `partition`, producerId) AS marker
  FROM sound
)
SELECT broker, topic, `partition`, producerId, max(producerEpoch) AS producerEpoch, count(*) AS batches,
  sum(CASE WHEN NOT isControl THEN `count` ELSE 0 END) AS records, sum(CAST(size AS BIGINT)) AS size,
  min(baseOffset) AS firstOffset, max(lastOffset) AS lastOffset,
  min(CASE WHEN `timestamp` >= 0 THEN `timestamp` END) AS oldest,
  max(CASE WHEN `timestamp` >= 0 THEN `timestamp` END) AS newest,
  min(CASE WHEN isTransactional AND NOT isControl AND (marker IS NULL OR baseOffset > marker) THEN baseOffset END) AS openSince
FROM marked GROUP BY broker, topic, `partition`, producerId ORDER BY size DESC, topic, `partition`, broker, producerId
""",
        (ProducerUse,),
    )


def top_keys(limit: int) -> Query:
    """The keys with the most bytes of keys and values, on the most complete replica."""
    return Query(
        "top_keys",
        {"records": ("broker", "topic", "key", "keySize", "valueSize", "isControl")},
        f"""
WITH copies AS (
  SELECT broker, topic, key, count(*) AS records, sum(CAST(keySize AS BIGINT) + greatest(valueSize, 0)) AS size,
    sum(CASE WHEN valueSize < 0 THEN 1 ELSE 0 END) AS tombstones
  FROM {{records}} WHERE key IS NOT NULL AND coalesce(isControl, FALSE) = FALSE GROUP BY broker, topic, key
)
SELECT topic, key, max(records) AS records, max(size) AS size, max(tombstones) AS tombstones
FROM copies GROUP BY topic, key ORDER BY size DESC, records DESC, topic, key LIMIT {limit}
""",
        (KeyUse,),
    )


def largest_records(limit: int) -> Query:
    """The records with most bytes of key and value."""
    return Query(
        "largest_records",
        {
            "records": (
                *PLACE,
                "position",
                "offset",
                "timestamp",
                "keySize",
                "valueSize",
            )
        },
        f"""
SELECT broker, topic, `partition`, path, position, `offset`, `timestamp`, greatest(keySize, 0) AS keySize,
  greatest(valueSize, 0) AS valueSize
FROM {{records}}
ORDER BY CAST(greatest(keySize, 0) AS BIGINT) + greatest(valueSize, 0) DESC, topic, `partition`, `offset`, broker LIMIT {limit}
""",
        (LargeRecord,),
    )
