"""Questions about replicas: where the copies of a partition differ between brokers."""

from __future__ import annotations

from kdump.formats.text_checkpoint import CLEANER_OFFSETS
from kdump.pipeline.fleet.query import PLACE, Query, broker_name, counted, findings, is_compared, offset_range, seconds, text_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMPACTED = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Topics that brokers compact unless someone changes that."""

LAG_MS = 10 * 60_000
"""The lag allowed between replicas that were not copied at the same moment."""

_SPAN = -131_072
"""Offsets are compared in spans first, and batch by batch where these differ: `&` makes the first offset of its span of each."""

BATCH_COLUMNS = (
    *PLACE,
    "position",
    "size",
    "baseOffset",
    "lastOffset",
    "count",
    "partitionLeaderEpoch",
    "deleteHorizonMs",
    "crc",
    "isvalid",
    "status",
)
CHECKPOINT_COLUMNS = ("broker", "topic", "partition", "kind", "offset")


def divergence(compacted: Sequence[str] = COMPACTED, without: Sequence[str] = ()) -> Query:
    """Where replicas differ: in the contents of batches, only in leader epochs, or in which batches exist.

    Compares the offsets that several brokers should hold, from the start to the end of each. A log ends with its last intact
    batch, or with a damaged one if another broker has that offset. Cleaned parts are left out, because brokers clean at
    different times. If no checkpoint marks them, but batches look cleaned or the topic is in `compacted`, a difference is a
    warning. The version that most brokers hold is taken for right, never a damaged one; of two versions, the one with the later
    leader epoch. Replicas in `without` are not compared. Spans of offsets are compared by their hashes first; batches are
    compared one by one only in spans that differ.
    """
    this, that, deviating = broker_name("broker", "Broker"), broker_name("trueBroker"), broker_name("broker")
    what = (
        f"CASE WHEN code = 'replica-missing-batches' THEN {this} || ' lacks ' || "
        f"{counted('batches', 'batch', 'batches')}"
        f" || ' that ' || {that} || ' has, the first with ' || {offset_range('firstOffset', 'trueLast')} || '.'"
        f" ELSE {this} || CASE WHEN code = 'replica-divergence' THEN ' differs from ' ELSE"
        f" ' has different leader epochs than ' END || {that} || ' in ' || {counted('batches', 'batch', 'batches')}"
        f" || ', from ' || {offset_range('firstOffset', 'trueLast')} || ' on (leader epoch ' || printf('%d', trueEpoch) || ')'"
        " || CASE WHEN code = 'replica-epoch-divergence' THEN printf(': %d here.', epoch)"
        f" WHEN trueValid AND NOT isvalid THEN '. Its checksum does not match, that of ' || {that} || ' does.'"
        " WHEN lastOffset <> trueLast THEN printf('. The batch ends at offset %,d here and %,d there.', lastOffset, trueLast)"
        " ELSE printf('. Checksum 0x%08x here and 0x%08x there', crc, trueCrc)"
        " || CASE WHEN epoch <> trueEpoch THEN printf(', leader epoch %d here.', epoch) ELSE '.' END END END"
        f" || CASE WHEN code <> 'replica-divergence' OR NOT isvalid OR epoch = trueEpoch THEN '' WHEN epoch < trueEpoch"
        f" THEN printf(' By the leader epochs, %d there and %d here, ', trueEpoch, epoch) || {that}"
        f" || ' is right: ' || {deviating} || ' cuts its own batches from there on when it follows.'"
        f" ELSE printf(' By the leader epochs, %d here and %d there, ', epoch, trueEpoch) || {deviating}"
        " || ' is right: the others cut their own batches from there on when they follow.' END"
    )
    return findings(
        "divergence",
        {"batches": BATCH_COLUMNS, "checkpoints": CHECKPOINT_COLUMNS},
        f"""
WITH held AS ({_HELD}),
suspicious AS (
  SELECT h.*, r.path AS logPath, r.isCleaned
  FROM held h
  JOIN {{doubtful}} d ON d.topic = h.topic AND d.`partition` = h.`partition` AND d.span = (h.firstOffset & {_SPAN})
  JOIN {{replicas}} r ON r.broker = h.broker AND r.topic = h.topic AND r.`partition` = h.`partition`
  WHERE h.firstOffset >= r.startOffset AND h.lastOffset <= r.endOffset
),
counted AS (
  SELECT s.*, count(*) OVER (PARTITION BY topic, `partition`, firstOffset, lastOffset, crc, isvalid) AS votes,
    count(*) OVER (PARTITION BY topic, `partition`, firstOffset, lastOffset, crc, isvalid, epoch) AS epochVotes
  FROM suspicious s
),
judged AS (
  SELECT c.*, first_value(lastOffset) OVER best AS trueLast, first_value(crc) OVER best AS trueCrc,
    first_value(isvalid) OVER best AS trueValid, first_value(epoch) OVER best AS trueEpoch,
    first_value(broker) OVER best AS trueBroker, row_number() OVER best AS place
  FROM counted c
  WINDOW best AS (
    PARTITION BY topic, `partition`, firstOffset ORDER BY isvalid DESC, votes DESC, epochVotes DESC, epoch DESC, broker, position
  )
),
compared AS (
  SELECT broker, topic, `partition`, segmentBase, path, position, size, firstOffset, lastOffset, epoch, crc, isvalid,
    trueLast, trueCrc, trueEpoch, trueValid, trueBroker, isCleaned, logPath, 1 AS isHeld
  FROM judged
  UNION ALL
  SELECT r.broker, j.topic, j.`partition`, NULL AS segmentBase, NULL AS path, 0 AS position, 0 AS size, j.firstOffset,
    j.trueLast AS lastOffset, j.trueEpoch AS epoch, j.trueCrc AS crc, TRUE AS isvalid,
    j.trueLast, j.trueCrc, j.trueEpoch, j.trueValid, j.trueBroker, r.isCleaned, r.path AS logPath, 0 AS isHeld
  FROM judged j JOIN {{replicas}} r ON r.topic = j.topic AND r.`partition` = j.`partition`
  WHERE j.place = 1 AND j.trueValid AND r.startOffset <= j.firstOffset AND r.endOffset >= j.trueLast
),
lined AS (
  SELECT c.*, max(isHeld) OVER (PARTITION BY broker, topic, `partition`, firstOffset) AS holdsIt,
    max(path) OVER log AS pathBefore, max(segmentBase) OVER log AS baseBefore,
    max(CASE WHEN isHeld = 0 THEN NULL WHEN isvalid THEN lastOffset ELSE firstOffset END) OVER log AS lastBefore,
    min(CASE WHEN isHeld = 1 THEN firstOffset END) OVER (
      PARTITION BY broker, topic, `partition` ORDER BY firstOffset ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ) AS firstBehind
  FROM compared c WINDOW log AS (PARTITION BY broker, topic, `partition` ORDER BY firstOffset)
),
deviating AS (
  SELECT l.*, CASE WHEN isHeld = 0 THEN 'replica-missing-batches'
      WHEN lastOffset <> trueLast OR crc <> trueCrc OR isvalid <> trueValid THEN 'replica-divergence'
      ELSE 'replica-epoch-divergence' END AS code
  FROM lined l
  WHERE isHeld = 1 AND (lastOffset <> trueLast OR crc <> trueCrc OR isvalid <> trueValid OR epoch <> trueEpoch)
    OR holdsIt = 0 AND coalesce(lastBefore < firstOffset, TRUE) AND coalesce(firstBehind > trueLast, TRUE)
),
numbered AS (
  SELECT d.*, row_number() OVER (PARTITION BY code, broker, topic, `partition` ORDER BY firstOffset, position) AS place,
    count(*) OVER (PARTITION BY code, broker, topic, `partition`) AS batches,
    max(lastOffset) OVER (PARTITION BY code, broker, topic, `partition`) AS furthest
  FROM deviating d
)
SELECT broker, topic, `partition`, coalesce(segmentBase, baseBefore) AS segmentBase, coalesce(path, pathBefore, logPath) AS path,
  code, CASE WHEN isCleaned = 1 THEN 'warning' END AS severity, 'log' AS fileType,
  position AS `start`, try_add(position, size) AS `end`, firstOffset AS offsetFirst, furthest AS offsetLast,
  CASE WHEN code = 'replica-epoch-divergence' THEN printf('leader epoch %d', trueEpoch)
    ELSE printf('crc 0x%08x, leader epoch %d', trueCrc, trueEpoch) END AS expected,
  CASE WHEN code = 'replica-epoch-divergence' THEN printf('leader epoch %d', epoch)
    WHEN code = 'replica-missing-batches' THEN 'nothing'
    ELSE printf('crc 0x%08x', crc) || CASE WHEN isvalid THEN '' ELSE ' (mismatch)' END
      || printf(', leader epoch %d', epoch) END AS found,
  {what} AS message
FROM numbered WHERE place = 1
""",
        steps={"replicas": _replicas(compacted, without), "doubtful": _DOUBTFUL},
    )


_OF_LOGS = "broker IS NOT NULL AND topic IS NOT NULL AND path NOT LIKE '%.checkpoint'"
"""A snapshot of the metadata has offsets of its own, which are none of the log's."""

_HELD = f"""
  SELECT broker, topic, `partition`, segmentBase, path, position, size, crc, isvalid, lastOffset,
    coalesce(baseOffset, lastOffset) AS firstOffset, coalesce(partitionLeaderEpoch, -1) AS epoch
  FROM {{batches}} WHERE {_OF_LOGS}"""


def _replicas(compacted: Sequence[str], without: Sequence[str]) -> str:
    """For each partition on several brokers, one row per broker with the range it should hold."""
    return f"""
WITH logs AS (
  SELECT broker, topic, `partition`, min(segmentBase) AS startOffset, min(path) AS path,
    max(CASE WHEN status <> 'intact' THEN 0 WHEN topic IN {text_list(compacted)} OR deleteHorizonMs IS NOT NULL THEN 1
      WHEN try_subtract(lastOffset, baseOffset) >= `count` THEN 1 ELSE 0 END) AS looksCleaned,
    max(CASE WHEN status = 'intact' THEN lastOffset END) AS sound, max(lastOffset) AS claimed
  FROM {{batches}} WHERE {_OF_LOGS} AND {is_compared(without)} GROUP BY broker, topic, `partition`
),
furthest AS (
  SELECT l.*, max(sound) OVER (PARTITION BY topic, `partition`) AS furthest,
    max(looksCleaned) OVER (PARTITION BY topic, `partition`) AS isCleaned,
    count(*) OVER (PARTITION BY topic, `partition`) AS brokers
  FROM logs l
),
cleaned AS (
  SELECT topic, `partition`, max(`offset`) AS cleaned
  FROM {{checkpoints}} WHERE kind = '{CLEANER_OFFSETS}' AND {is_compared(without)} GROUP BY topic, `partition`
)
SELECT f.broker, f.topic, f.`partition`, f.path, CASE WHEN c.cleaned IS NULL THEN f.isCleaned ELSE 0 END AS isCleaned,
  greatest(f.startOffset, coalesce(c.cleaned, f.startOffset)) AS startOffset,
  CASE WHEN f.claimed <= f.furthest THEN f.claimed ELSE coalesce(f.sound, -1) END AS endOffset
FROM furthest f LEFT JOIN cleaned c ON c.topic = f.topic AND c.`partition` = f.`partition` WHERE f.brokers > 1
"""


_DOUBTFUL = f"""
WITH held AS ({_HELD}),
digests AS (
  SELECT h.broker, h.topic, h.`partition`, (h.firstOffset & {_SPAN}) AS span, count(*) AS batches,
    bit_xor(xxhash64(h.firstOffset, h.lastOffset, h.epoch, h.crc, h.isvalid)) AS digest
  FROM held h JOIN {{replicas}} r ON r.broker = h.broker AND r.topic = h.topic AND r.`partition` = h.`partition`
  WHERE h.firstOffset >= r.startOffset AND h.lastOffset <= r.endOffset
  GROUP BY h.broker, h.topic, h.`partition`, (h.firstOffset & {_SPAN})
),
compared AS (
  SELECT topic, `partition`, span, count(*) AS brokers, min(digest) AS lowest, max(digest) AS highest,
    min(batches) AS fewest, max(batches) AS most
  FROM digests GROUP BY topic, `partition`, span
)
SELECT c.topic, c.`partition`, c.span
FROM compared c JOIN {{replicas}} r ON r.topic = c.topic AND r.`partition` = c.`partition`
WHERE (r.startOffset & {_SPAN}) <= c.span AND (r.endOffset & {_SPAN}) >= c.span
GROUP BY c.topic, c.`partition`, c.span, c.brokers, c.lowest, c.highest, c.fewest, c.most
HAVING count(*) > 1 AND (count(*) > c.brokers OR c.lowest <> c.highest OR c.fewest <> c.most)
"""
"""The spans of offsets in which replicas differ, or of which one holds nothing."""


def behind(now: int, lag_ms: int = LAG_MS, without: Sequence[str] = ()) -> Query:
    """Replicas whose logs end at a lower offset than those of other brokers, with both ends, which are the next offsets.

    It is a warning if they end more than `lag_ms` earlier, or hold nothing. Others are an info: followers of a live broker lag,
    but so does an older copy. Timestamps later than `now` count as `now`.
    """
    end, best_end = (f"coalesce(try_add({last}, 1), {last})" for last in ("endOffset", "bestOffset"))
    behind, leader, best = broker_name("broker", "Broker"), broker_name("broker"), broker_name("bestBroker")
    is_far = f"latest IS NULL AND latestOfAll IS NOT NULL OR try_subtract(latestOfAll, latest) > {lag_ms}"
    return findings(
        "behind",
        {"segments": (*PLACE, "size", "lastOffset", "maxTimestamp")},
        f"""
WITH ends AS (
  SELECT broker, topic, `partition`, max(segmentBase) AS segmentBase, max(path) AS path,
    max(coalesce(lastOffset, try_subtract(segmentBase, 1))) AS endOffset,
    max(CASE WHEN maxTimestamp > {now} THEN {now} WHEN maxTimestamp >= 0 THEN maxTimestamp END) AS latest
  FROM {{segments}} WHERE broker IS NOT NULL AND topic IS NOT NULL AND {is_compared(without)} GROUP BY broker, topic, `partition`
),
compared AS (
  SELECT e.*, first_value(broker) OVER best AS bestBroker, first_value(endOffset) OVER best AS bestOffset,
    max(latest) OVER (PARTITION BY topic, `partition`) AS latestOfAll
  FROM ends e WINDOW best AS (PARTITION BY topic, `partition` ORDER BY endOffset DESC, latest DESC, broker)
)
SELECT broker, topic, `partition`, segmentBase, path, 'replica-behind' AS code,
  CASE WHEN {is_far} THEN NULL ELSE 'info' END AS severity, 'log' AS fileType,
  0 AS `start`, 0 AS `end`, try_add(endOffset, 1) AS offsetFirst, bestOffset AS offsetLast,
  printf('%d', {best_end}) AS expected, printf('%d', {end}) AS found,
  {behind} || printf(' ends at %,d, ', {end}) || {best} || printf(' at %,d: if ', {best_end}) || {leader} || ' leads, '
    || {best} || printf(' loses what it has from %,d on.', {end})
    || CASE WHEN latest IS NULL AND latestOfAll IS NOT NULL THEN ' ' || {behind} || ' holds no batch.'
      WHEN {is_far} THEN printf(' Its newest batch is %,d s older.', {seconds("latestOfAll - latest")}) ELSE '' END AS message
FROM compared
WHERE endOffset < bestOffset AND try_subtract(bestOffset, endOffset) IS NOT NULL
""",
    )
