"""Questions about compaction: what the cleaners of brokers left over, and how far they got."""

from __future__ import annotations

from kdump.formats.text_checkpoint import CLEANER_OFFSETS
from kdump.pipeline.fleet.query import PLACE, Query, counted, findings, is_compared, moment
from kdump.pipeline.fleet.replicas import CHECKPOINT_COLUMNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OVERDUE_MS = 7 * 86_400_000
"""How long tombstones may stay past their time: the cleaner only runs if there is enough to clean."""

_POINTS = f"""
  SELECT broker, topic, `partition`, max(`offset`) AS point FROM {{checkpoints}} WHERE kind = '{CLEANER_OFFSETS}'
  GROUP BY broker, topic, `partition`"""


def duplicates() -> Query:
    """Partitions with keys that have several records before the point up to which they were cleaned.

    After a pass of the cleaner, each key occurs only once there. Control records, damaged records and truncated keys do not
    count.
    """
    return findings(
        "duplicates",
        {
            "records": (
                *PLACE,
                "offset",
                "key",
                "isKeyTruncated",
                "isControl",
                "status",
            ),
            "checkpoints": CHECKPOINT_COLUMNS,
        },
        f"""
WITH points AS ({_POINTS}),
keys AS (
  SELECT r.broker, r.topic, r.`partition`, r.key, count(*) AS records,
    min(r.`offset`) AS firstOffset, max(r.`offset`) AS lastOffset,
    min(r.path) AS path, min(r.segmentBase) AS segmentBase, max(p.point) AS point
  FROM {{records}} r JOIN points p ON p.broker = r.broker AND p.topic = r.topic AND p.`partition` = r.`partition`
  WHERE r.`offset` < p.point AND r.key IS NOT NULL AND NOT r.isKeyTruncated AND r.status <> 'damaged'
    AND coalesce(r.isControl, FALSE) = FALSE
  GROUP BY r.broker, r.topic, r.`partition`, r.key HAVING count(*) > 1
)
SELECT broker, topic, `partition`, min(segmentBase) AS segmentBase, min(path) AS path,
  'compaction-duplicate' AS code, NULL AS severity, 'log' AS fileType,
  0 AS `start`, 0 AS `end`, min(firstOffset) AS offsetFirst, max(lastOffset) AS offsetLast,
  'each key once' AS expected, printf('%d', max(records)) AS found,
  {counted("count(*)", "key has", "keys have")} || ' several records'
    || printf(' below offset %,d, up to which the log was cleaned: ', max(point))
    || {counted("sum(records) - count(*)", "record")}
    || printf(' too many, the first at offset %,d.', min(firstOffset)) AS message
FROM keys GROUP BY broker, topic, `partition`
""",
    )


def overdue(now: int, overdue_ms: int = OVERDUE_MS) -> Query:
    """Partitions with batches whose tombstones and markers are overdue, by the delete horizon the cleaner wrote."""
    return findings(
        "overdue",
        {
            "batches": (
                *PLACE,
                "position",
                "size",
                "baseOffset",
                "lastOffset",
                "deleteHorizonMs",
                "status",
            )
        },
        f"""
WITH late AS (
  SELECT b.*, row_number() OVER (PARTITION BY broker, topic, `partition` ORDER BY deleteHorizonMs, baseOffset, position) AS place,
    count(*) OVER (PARTITION BY broker, topic, `partition`) AS batches,
    max(lastOffset) OVER (PARTITION BY broker, topic, `partition`) AS furthest,
    min(baseOffset) OVER (PARTITION BY broker, topic, `partition`) AS earliest
  FROM {{batches}} b
  WHERE deleteHorizonMs BETWEEN 0 AND {now - overdue_ms} AND status <> 'damaged' AND broker IS NOT NULL AND topic IS NOT NULL
)
SELECT broker, topic, `partition`, segmentBase, path, 'tombstone-overdue' AS code, NULL AS severity, 'log' AS fileType,
  position AS `start`, try_add(position, size) AS `end`, earliest AS offsetFirst, furthest AS offsetLast,
  NULL AS expected, printf('%d', deleteHorizonMs) AS found,
  {counted("batches", "batch keeps", "batches keep")} || ' tombstones or markers that are due for removal, the oldest since '
    || {moment("deleteHorizonMs")} || '.' AS message
FROM late WHERE place = 1
""",
    )


def stalled(without: Sequence[str] = ()) -> Query:
    """Partitions in which one broker's cleaner has more than half left of segments that another broker's has finished."""
    return findings(
        "stalled",
        {
            "segments": (*PLACE, "size", "lastOffset"),
            "checkpoints": CHECKPOINT_COLUMNS,
        },
        f"""
WITH points AS (SELECT * FROM ({_POINTS}) AS p WHERE {is_compared(without)}),
brokers AS (SELECT broker FROM points GROUP BY broker),
closed AS (
  SELECT s.*, lead(segmentBase) OVER (PARTITION BY broker, topic, `partition` ORDER BY segmentBase) AS nextBase
  FROM {{segments}} s
  WHERE broker IS NOT NULL AND topic IS NOT NULL AND segmentBase IS NOT NULL AND {is_compared(without)}
),
best AS (
  SELECT p.*, row_number() OVER (PARTITION BY topic, `partition` ORDER BY point DESC, broker) AS place FROM points p
),
judged AS (
  SELECT c.broker, c.topic, c.`partition`,
    coalesce(max(p.point), 0) AS point, max(b.point) AS bestPoint, max(b.broker) AS bestBroker,
    sum(c.size) AS closedBytes, sum(CASE WHEN c.segmentBase >= coalesce(p.point, 0) THEN c.size ELSE 0 END) AS dirtyBytes,
    min(CASE WHEN c.segmentBase >= coalesce(p.point, 0) AND c.nextBase <= b.point THEN c.segmentBase END) AS segmentBase,
    min(CASE WHEN c.segmentBase >= coalesce(p.point, 0) AND c.nextBase <= b.point THEN c.path END) AS path
  FROM closed c
  JOIN brokers k ON k.broker = c.broker
  JOIN best b ON b.topic = c.topic AND b.`partition` = c.`partition` AND b.place = 1
  LEFT JOIN points p ON p.broker = c.broker AND p.topic = c.topic AND p.`partition` = c.`partition`
  WHERE c.nextBase IS NOT NULL
  GROUP BY c.broker, c.topic, c.`partition`
)
SELECT broker, topic, `partition`, segmentBase, path, 'cleaner-behind' AS code, NULL AS severity, 'log' AS fileType,
  0 AS `start`, 0 AS `end`, point AS offsetFirst, try_subtract(bestPoint, 1) AS offsetLast,
  printf('%d', bestPoint) AS expected, printf('%d', point) AS found,
  printf('Broker %s cleaned up to offset %,d, broker %s up to %,d: %,d of %,d bytes in closed segments are not cleaned here.',
    broker, point, bestBroker, bestPoint, dirtyBytes, closedBytes) AS message
FROM judged WHERE segmentBase IS NOT NULL AND dirtyBytes > closedBytes - dirtyBytes
""",
    )
