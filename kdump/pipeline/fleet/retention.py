"""Questions about retention: what keeps segments from being deleted."""

from __future__ import annotations

from kdump.formats.text_checkpoint import CLEANER_OFFSETS
from kdump.pipeline.fleet.query import PLACE, Query, counted, findings, moment, text_list
from kdump.pipeline.fleet.replicas import COMPACTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCE_MS = 3_600_000
"""How far in the future a timestamp may be: the default limit of brokers since 3.6."""


def blocked(now: int, retention_ms: int | None = None, compacted: Sequence[str] = COMPACTED) -> Query:
    """Segments that keep later ones from being deleted, because retention starts at the oldest and skips none.

    If `retention_ms` is unknown, only segments with timestamps in the future count, because they stay at least until then. If
    it is known, a segment counts if it must stay while a later one could be deleted. The newest segment is never deleted.
    Partitions with a cleaner's checkpoint and topics in `compacted` are left out.
    """
    if retention_ms is None:
        is_blocking = f"maxTimestamp > {now + TOLERANCE_MS}"
        until, what = "maxTimestamp", "a record with a timestamp in the future"
        is_held = "1 = 1"
    else:
        is_blocking = f"try_subtract(maxTimestamp, {now - retention_ms}) > 0 AND earliestBehind < {now - retention_ms}"
        until, what = f"try_add(maxTimestamp, {retention_ms})", "a record newer than those after it"
        is_held = f"c.maxTimestamp < {now - retention_ms}"
    return findings(
        "blocked",
        {
            "segments": (
                *PLACE,
                "size",
                "firstOffset",
                "lastOffset",
                "maxTimestamp",
            ),
            "checkpoints": ("topic", "partition", "kind"),
        },
        f"""
WITH closed AS (
  SELECT s.*, lead(segmentBase) OVER (PARTITION BY broker, topic, `partition` ORDER BY segmentBase) AS nextBase,
    min(CASE WHEN maxTimestamp >= 0 THEN maxTimestamp END) OVER (
      PARTITION BY broker, topic, `partition` ORDER BY segmentBase ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS earliestBehind
  FROM {{segments}} s
  WHERE broker IS NOT NULL AND topic IS NOT NULL AND segmentBase IS NOT NULL AND topic NOT IN {text_list(compacted)}
),
cleaned AS (
  SELECT topic, `partition` FROM {{checkpoints}} WHERE kind = '{CLEANER_OFFSETS}' GROUP BY topic, `partition`
),
blocking AS (
  SELECT c.*, row_number() OVER (PARTITION BY c.broker, c.topic, c.`partition` ORDER BY c.segmentBase) AS place,
    count(*) OVER (PARTITION BY c.broker, c.topic, c.`partition`) AS blocking,
    max({until}) OVER (PARTITION BY c.broker, c.topic, c.`partition`) AS stays
  FROM closed c LEFT JOIN cleaned k ON k.topic = c.topic AND k.`partition` = c.`partition`
  WHERE k.topic IS NULL AND c.nextBase IS NOT NULL AND {is_blocking}
),
held AS (
  SELECT b.broker, b.topic, b.`partition`, sum(c.size) AS heldBytes, count(*) AS heldSegments
  FROM blocking b JOIN closed c ON c.broker = b.broker AND c.topic = b.topic AND c.`partition` = b.`partition`
  WHERE b.place = 1 AND c.segmentBase >= b.segmentBase AND c.nextBase IS NOT NULL
    AND (c.segmentBase = b.segmentBase OR {is_held})
  GROUP BY b.broker, b.topic, b.`partition`
)
SELECT b.broker, b.topic, b.`partition`, b.segmentBase, b.path, 'retention-blocked' AS code, NULL AS severity, 'log' AS fileType,
  0 AS `start`, b.size AS `end`,
  coalesce(b.firstOffset, b.segmentBase) AS offsetFirst, coalesce(b.lastOffset, b.segmentBase) AS offsetLast,
  NULL AS expected, printf('%d', b.maxTimestamp) AS found,
  printf('The segment at %,d holds {what}, of ', b.segmentBase) || {moment("b.maxTimestamp")}
    || '. Retention by time deletes nothing from there on before ' || coalesce({moment("b.stays")}, 'the end of time') || ': '
    || {counted("h.heldSegments", "segment")} || printf(' of %,d bytes', h.heldBytes)
    || CASE WHEN b.blocking > 1 THEN printf(', %,d of them with such records.', b.blocking) ELSE '.' END AS message
FROM blocking b JOIN held h ON h.broker = b.broker AND h.topic = b.topic AND h.`partition` = b.`partition`
WHERE b.place = 1
""",
    )
