"""Questions about transactions, which reach over partitions."""

from __future__ import annotations

from kdump.pipeline.fleet.query import PLACE, Query, counted, findings, offset_range, seconds

GRACE_MS = 5 * 60_000
"""The longest delay between the markers in two partitions, including clock skew."""


def missing_markers(grace_ms: int = GRACE_MS) -> Query:
    """Transactions that are open in one partition although a later marker ended them in another.

    The marker has the same producer and no earlier epoch, and is newer than everything that the producer wrote here. Even newer
    batches of other producers show that this partition is not simply lagging.
    """
    message = (
        "printf('Producer %,d, epoch %d: its transaction is open since offset %,d, but a marker ended it in %s-%d on broker %s',"
        " o.producerId, o.epoch, o.firstOffset, e.topic, e.`partition`, e.broker)"
        f" || printf(' %,d s after its last record here. The log continues to offset %,d: the last stable offset stays at %,d.',"
        f" {seconds('e.markedAt - o.writtenAt')}, o.logEnd, o.firstOffset)"
    )
    return findings(
        "missing_markers",
        {
            "batches": (
                *PLACE,
                "position",
                "size",
                "baseOffset",
                "lastOffset",
                "producerId",
                "producerEpoch",
                "isTransactional",
                "isControl",
                "timestamp",
                "status",
            )
        },
        f"""
WITH sound AS (
  SELECT * FROM {{batches}}
  WHERE status <> 'damaged' AND broker IS NOT NULL AND topic IS NOT NULL AND baseOffset IS NOT NULL AND `timestamp` >= 0
),
logs AS (
  SELECT broker, topic, `partition`, max(lastOffset) AS logEnd, max(`timestamp`) AS latest
  FROM sound GROUP BY broker, topic, `partition`
),
producers AS (
  SELECT broker, topic, `partition`, producerId, max(CASE WHEN isControl THEN producerEpoch END) AS markerEpoch,
    max(CASE WHEN NOT isControl THEN producerEpoch END) AS epoch,
    max(CASE WHEN isControl THEN lastOffset END) AS marker, max(CASE WHEN isControl THEN `timestamp` END) AS markedAt,
    max(CASE WHEN NOT isControl THEN lastOffset END) AS lastOffset, max(CASE WHEN NOT isControl THEN `timestamp` END) AS writtenAt
  FROM sound WHERE isTransactional AND producerId >= 0 GROUP BY broker, topic, `partition`, producerId
),
ended AS (
  SELECT p.*, row_number() OVER (PARTITION BY producerId ORDER BY markedAt DESC, broker, topic, `partition`) AS place
  FROM producers p WHERE marker IS NOT NULL
),
unended AS (
  SELECT p.broker, p.topic, p.`partition`, p.producerId, coalesce(p.marker, -1) AS marker
  FROM producers p
  JOIN ended e ON e.producerId = p.producerId AND e.place = 1
  JOIN logs l ON l.broker = p.broker AND l.topic = p.topic AND l.`partition` = p.`partition`
  WHERE p.lastOffset > coalesce(p.marker, -1) AND e.markerEpoch >= p.epoch AND e.markedAt > p.writtenAt
    AND NOT (e.topic = p.topic AND e.`partition` = p.`partition`) AND try_subtract(l.latest, e.markedAt) > {grace_ms}
),
numbered AS (
  SELECT s.broker, s.topic, s.`partition`, s.segmentBase, s.path, s.position, s.size, s.producerId, s.producerEpoch AS epoch,
    s.baseOffset AS firstOffset, l.logEnd,
    max(s.lastOffset) OVER (PARTITION BY s.broker, s.topic, s.`partition`, s.producerId) AS lastOffset,
    max(s.`timestamp`) OVER (PARTITION BY s.broker, s.topic, s.`partition`, s.producerId) AS writtenAt,
    row_number() OVER (PARTITION BY s.broker, s.topic, s.`partition`, s.producerId ORDER BY s.baseOffset, s.position) AS place
  FROM sound s
  JOIN unended u ON u.broker = s.broker AND u.topic = s.topic AND u.`partition` = s.`partition` AND u.producerId = s.producerId
  JOIN logs l ON l.broker = s.broker AND l.topic = s.topic AND l.`partition` = s.`partition`
  WHERE s.isTransactional AND NOT s.isControl AND s.baseOffset > u.marker
)
SELECT o.broker, o.topic, o.`partition`, o.segmentBase, o.path, 'txn-marker-missing' AS code, NULL AS severity, 'log' AS fileType,
  o.position AS `start`, try_add(o.position, o.size) AS `end`, o.firstOffset AS offsetFirst, o.lastOffset AS offsetLast,
  'a marker' AS expected, 'none' AS found, {message} AS message
FROM numbered o JOIN ended e ON e.producerId = o.producerId AND e.place = 1
WHERE o.place = 1
""",
    )


def sequence_breaks() -> Query:
    """Producers whose sequences have gaps between the batches of a log, across segments too.

    `kdump check` is more exact, because it knows snapshots and lost bytes; this needs only batches.
    """
    batches = {
        "batches": (
            *PLACE,
            "position",
            "size",
            "baseOffset",
            "lastOffset",
            "baseSequence",
            "lastSequence",
            "producerId",
            "producerEpoch",
            "isControl",
            "status",
        )
    }
    span = offset_range("baseOffset", "lastOffset")
    return findings(
        "sequence_breaks",
        batches,
        f"""
WITH lined AS (
  SELECT b.*, lag(lastSequence) OVER producer AS sequenceBefore, lag(lastOffset) OVER producer AS offsetBefore
  FROM {{batches}} b
  WHERE status <> 'damaged' AND producerId >= 0 AND NOT isControl AND baseSequence >= 0
    AND broker IS NOT NULL AND topic IS NOT NULL
  WINDOW producer AS (PARTITION BY broker, topic, `partition`, producerId, producerEpoch ORDER BY baseOffset, position)
),
breaks AS (
  SELECT l.*, (sequenceBefore + CAST(1 AS BIGINT)) % 2147483648 AS wanted,
    (baseSequence - sequenceBefore - 1 + CAST(2147483648 AS BIGINT) * 2) % 2147483648 AS missing
  FROM lined l WHERE sequenceBefore IS NOT NULL AND baseSequence <> (sequenceBefore + CAST(1 AS BIGINT)) % 2147483648
)
SELECT broker, topic, `partition`, segmentBase, path,
  CASE WHEN missing < 1073741824 THEN 'sequence-gap' ELSE 'sequence-duplicate' END AS code, NULL AS severity, 'log' AS fileType,
  position AS `start`, try_add(position, size) AS `end`, baseOffset AS offsetFirst, lastOffset AS offsetLast,
  printf('%d', wanted) AS expected, printf('%d', baseSequence) AS found,
  printf('Producer %,d, epoch %d, at ', producerId, producerEpoch) || {span}
    || printf(': sequence %,d, where %,d was to follow after offset %,d', baseSequence, wanted, offsetBefore)
    || CASE WHEN missing < 1073741824 THEN ': ' || {counted("missing", "sequence is", "sequences are")} || ' missing.'
      ELSE ': written twice.' END AS message
FROM breaks
""",
    )
