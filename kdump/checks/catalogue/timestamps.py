"""Faults of timestamps."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import IGNORE, FaultKind
from kdump.checks.finding import ERROR, INFO, WARNING

FAULTS = (
    FaultKind(
        "max-timestamp-mismatch",
        WARNING,
        IGNORE,
        "the header of a batch has another highest timestamp than its records.",
        cause="a client of its own making with an old broker, or a changed header under a good CRC",
        kafka=(
            "its tool only shows it in checks of time indexes; the broker enters the header's value into the time "
            "index and goes by it for retention"
        ),
        loss="nothing; look-ups by time and retention are off by the difference",
        remedy="nothing for the data; find the client that wrote the batch",
        see=("timeindex-timestamp-mismatch", "timestamp-future"),
    ),
    FaultKind(
        "base-timestamp-odd",
        INFO,
        IGNORE,
        "the first record of a batch is not from the time its header begins with.",
        cause="valid after compaction removed the first records; else a client of its own making",
        kafka="nothing: deltas count from the base in any case",
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
        kafka="nothing: time indexes only go up",
        loss="nothing",
        remedy="nothing, unless times are set by the broker: then its clock went back",
        see=("log-append-time-odd",),
        is_pedantic=True,
    ),
    FaultKind(
        "timestamp-future",
        WARNING,
        IGNORE,
        "a batch is from the future.",
        cause="a wrong clock of a client, or nanoseconds sent as milliseconds (KAFKA-6482, KAFKA-7910)",
        kafka="retention by time waits until then; the broker says nothing",
        loss="nothing is lost; the segment is not deleted, and may fill the disk",
        remedy=(
            "set `message.timestamp.after.max.ms` for the topic; delete old records with `kafka-delete-records.sh`, or "
            "wait for retention by size"
        ),
        see=("timestamp-unit-suspect", "timeindex-last-not-max"),
    ),
    FaultKind(
        "timestamp-unit-suspect",
        WARNING,
        IGNORE,
        "a timestamp does not look like milliseconds.",
        cause="a client that sends seconds, microseconds or nanoseconds, or 0 for no time",
        kafka="retention by time deletes segments with times of 1970 at once, and never those of the far future",
        loss="with seconds or 0, the segment goes with the next retention run",
        remedy="set the right unit in the client; until then, `retention.ms=-1` keeps the data",
        see=("timestamp-future",),
    ),
    FaultKind(
        "timestamp-negative",
        ERROR,
        IGNORE,
        "a timestamp is negative.",
        cause="a client of its own making with an old broker, or rot under a good CRC",
        kafka="new appends are refused; what is in the log is printed like any other",
        loss="the time of these records",
        remedy="compare with another replica; find the client",
        see=("timestamp-overflow",),
    ),
    FaultKind(
        "timestamp-overflow",
        ERROR,
        IGNORE,
        "the timestamp of a record is more than 64 bits hold.",
        cause="rot whose CRC was written again, or a hostile client",
        kafka="readers wrap around without a word",
        loss="the time of these records",
        remedy="find the client that wrote the batch",
        see=("timestamp-negative",),
    ),
    FaultKind(
        "log-append-time-odd",
        INFO,
        IGNORE,
        "who sets the time changes inside a segment, or a time set by the broker is missing.",
        cause="valid if `message.timestamp.type` was changed",
        kafka="all records of such a batch show the time in its header",
        loss="nothing",
        remedy="nothing",
        see=("timestamp-out-of-order",),
    ),
    FaultKind(
        "delete-horizon-odd",
        INFO,
        IGNORE,
        "a batch has an odd time until which its tombstones are kept.",
        cause="a topic whose policy was changed, an endless `delete.retention.ms`, or rot",
        kafka="the cleaner drops tombstones and markers too early or too late",
        loss="nothing now",
        remedy="compare with `cleanup.policy` and `delete.retention.ms` of the topic",
        see=("key-missing-compacted",),
    ),
)
