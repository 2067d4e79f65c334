"""Questions about the segments of a log, side by side."""

from __future__ import annotations

from kdump.pipeline.fleet.query import PLACE, Query, findings, offset_range


def continuity() -> Query:
    """Offsets that are missing between segments of a log, or that two of them claim.

    `kdump check` is more exact, because it reads every batch; this needs only the table of segments, one row each.
    """
    gap = offset_range("endBefore", "segmentBase - 1")
    shared = offset_range("segmentBase", "endBefore - 1")
    return findings(
        "continuity",
        {
            "segments": (
                *PLACE,
                "size",
                "lastOffset",
                "validBytes",
                "batchesSalvaged",
            )
        },
        f"""
WITH ends AS (
  SELECT s.*, CASE WHEN lastOffset IS NULL THEN segmentBase
    WHEN try_subtract(lastOffset, segmentBase) BETWEEN -1 AND 2147483647 THEN try_add(lastOffset, 1) END AS endOffset
  FROM {{segments}} s WHERE segmentBase IS NOT NULL AND broker IS NOT NULL AND topic IS NOT NULL
),
lined AS (
  SELECT e.*, max(endOffset) OVER (
      PARTITION BY broker, topic, `partition` ORDER BY segmentBase ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS endBefore,
    lag(CASE WHEN validBytes >= size THEN 1 ELSE 0 END) OVER (
      PARTITION BY broker, topic, `partition` ORDER BY segmentBase
    ) AS isSound
  FROM ends e WHERE endOffset IS NOT NULL
)
SELECT broker, topic, `partition`, segmentBase, path,
  CASE WHEN endBefore < segmentBase THEN 'segments-gap' ELSE 'segments-overlap' END AS code, NULL AS severity, 'log' AS fileType,
  0 AS `start`, 0 AS `end`,
  CASE WHEN endBefore < segmentBase THEN endBefore ELSE segmentBase END AS offsetFirst,
  CASE WHEN endBefore < segmentBase THEN segmentBase ELSE endBefore END - 1 AS offsetLast,
  CASE WHEN endBefore < segmentBase THEN printf('%d', endBefore) ELSE printf('at least %d', endBefore) END AS expected,
  printf('%d', segmentBase) AS found,
  CASE WHEN endBefore < segmentBase THEN 'Missing between two segments: ' || {gap} || '.'
    ELSE 'Claimed by two segments: ' || {shared} || '.' END AS message
FROM lined WHERE endBefore > segmentBase OR endBefore < segmentBase AND isSound = 1
""",
    )
