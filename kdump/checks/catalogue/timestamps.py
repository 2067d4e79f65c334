"""Faults of timestamps."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import IGNORE, FaultKind
from kdump.checks.finding import ERROR, INFO, WARNING

FAULTS = (
    FaultKind(
        "max-timestamp-mismatch",
        WARNING,
        IGNORE,
        "the maximum timestamp in a batch header is not that of its records.",
        cause="a third-party client with an old broker, or a header that was changed and then re-checksummed",
        kafka=(
            "its tool only shows it when it checks time indexes; the broker writes the header's value to the time "
            "index and uses it for retention"
        ),
        loss="nothing; lookups by time and retention are off by the difference",
        remedy="nothing for the data; find the client that wrote the batch",
        see=("timeindex-timestamp-mismatch", "timestamp-future"),
    ),
    FaultKind(
        "base-timestamp-odd",
        INFO,
        IGNORE,
        "the timestamp of the first record of a batch is not the base timestamp in its header.",
        cause="valid after compaction removed the first records; otherwise a third-party client",
        kafka="nothing: deltas are relative to the base in any case",
        loss="nothing",
        remedy="nothing",
        see=("max-timestamp-mismatch",),
        is_pedantic=True,
    ),
    FaultKind(
        "timestamp-out-of-order",
        INFO,
        IGNORE,
        "a batch is older than the one before.",
        cause="normal with CreateTime and several producers",
        kafka="nothing: time indexes only record higher timestamps",
        loss="nothing",
        remedy="nothing, unless the broker sets the timestamps: then its clock went back",
        see=("log-append-time-odd",),
        is_pedantic=True,
    ),
    FaultKind(
        "timestamp-future",
        WARNING,
        IGNORE,
        "the timestamp of a batch is in the future.",
        cause="a client with a wrong clock, or nanoseconds sent as milliseconds (KAFKA-6482, KAFKA-7910)",
        kafka="time-based retention waits until then; the broker logs nothing",
        loss="nothing; this segment and later ones are not deleted, and the disk may fill up",
        remedy=(
            "set `message.timestamp.after.max.ms` for the topic; delete old records with `kafka-delete-records.sh`, or "
            "wait for size-based retention"
        ),
        see=("timestamp-unit-suspect", "timeindex-last-not-max"),
    ),
    FaultKind(
        "timestamp-unit-suspect",
        WARNING,
        IGNORE,
        "a timestamp does not look like milliseconds.",
        cause="a client that sends seconds, microseconds or nanoseconds, or 0 for an unknown time",
        kafka="time-based retention deletes segments with timestamps in 1970 at once, and never those from the far future",
        loss="if all batches of a segment have seconds or 0, the next retention run deletes it",
        remedy="make the client send milliseconds; until then, `retention.ms=-1` keeps the data",
        see=("timestamp-future",),
    ),
    FaultKind(
        "timestamp-negative",
        WARNING,
        IGNORE,
        "a timestamp is negative.",
        cause="a third-party client (that of Java refuses to send it), or bit rot that was then re-checksummed",
        kafka="brokers take such records as they are, and the tool prints them like any others",
        loss="the timestamps of these records",
        remedy="compare with another replica; find the client that wrote the batch",
        see=("timestamp-overflow",),
    ),
    FaultKind(
        "timestamp-overflow",
        ERROR,
        IGNORE,
        "the timestamp of a record does not fit into 64 bits.",
        cause="bit rot that was then re-checksummed, or a malicious client",
        kafka="readers wrap around silently",
        loss="the timestamps of these records",
        remedy="find the client that wrote the batch",
        see=("timestamp-negative",),
    ),
    FaultKind(
        "log-append-time-odd",
        INFO,
        IGNORE,
        "the timestamp type changes inside a segment, or a LogAppendTime is missing.",
        cause="valid if `message.timestamp.type` was changed",
        kafka="all records of a LogAppendTime batch show the timestamp in its header",
        loss="nothing",
        remedy="nothing",
        see=("timestamp-out-of-order",),
    ),
    FaultKind(
        "delete-horizon-odd",
        INFO,
        IGNORE,
        "a batch has an implausible delete horizon.",
        cause="a topic whose cleanup policy was changed, an infinite `delete.retention.ms`, or bit rot",
        kafka="the cleaner drops tombstones and markers too early or too late",
        loss="nothing yet",
        remedy="compare with the topic's `cleanup.policy` and `delete.retention.ms`",
        see=("key-missing-compacted",),
    ),
)
