"""What a running broker, its consumers, followers and cleaner meet at a fault: one sentence, by code."""

from __future__ import annotations

_BAD_BATCH = (
    "consumers that reach this batch fail ('Record batch ... is invalid') until they seek past it; followers log 'Found invalid "
    "messages during fetch', try again without end and fall behind; the cleaner marks the partition uncleanable"
)
_BAD_MAGIC = (
    "consumers that reach this batch fail ('Invalid magic found in record') until they seek past it; followers try again without "
    "end and fall behind; the cleaner marks the partition uncleanable"
)
_ABSURD_LENGTH = (
    "the broker takes the segment for ended here: consumers and followers that come to it go on with the next segment without an "
    "error, and get nothing more where it is the newest one"
)
_BAD_LENGTH = (
    "the broker cannot read past it: fetches by consumers and followers that have to come through here fail with "
    "CORRUPT_MESSAGE, and the cleaner marks the partition uncleanable"
)
_BAD_RECORDS = (
    "consumers that reach this batch fail ('Received exception when fetching the next record') until they seek past it; "
    "followers copy it as it is; the cleaner of a compacted topic marks the partition uncleanable"
)
_BAD_INDEX = (
    "fetches that land at such an entry begin in a wrong place: readers fail, or do not get records that are there; the log "
    "itself is not touched"
)
_BAD_TIMES = (
    "consumers that start at a time may start in a wrong place, and retention by time may be wrong; reading by offset works"
)
_ABORTED_SEEN = "read-committed consumers are given records that were aborted; others notice nothing"
_BAD_ORDER = (
    "consumers get these offsets twice or jump over some; a follower that fetches them stops copying the partition, for they do "
    "not go on from what it has"
)
_IN_MEMORY = "nothing: a running broker has this in memory; it counts at the next start"
_HANGING = (
    "read-committed consumers stop at the last stable offset, and the cleaner cleans no further; producers and other consumers "
    "go on"
)

_CODES = {
    _BAD_BATCH: ("crc-mismatch",),
    _BAD_MAGIC: ("bad-magic",),
    _ABSURD_LENGTH: ("batch-length-absurd",),
    _BAD_LENGTH: ("batch-length-negative", "batch-length-too-small", "zero-hole", "garbage-region"),
    _BAD_RECORDS: (
        "record-count-negative",
        "record-count-too-high",
        "record-count-too-low",
        "record-length-bad",
        "record-body-mismatch",
        "varint-too-long",
        "varint-truncated",
        "key-length-bad",
        "header-count-bad",
        "header-key-null",
        "codec-unknown",
        "frame-bad-header",
        "frame-truncated",
        "frame-damaged",
        "frame-checksum-mismatch",
    ),
    _BAD_INDEX: (
        "index-entry-order",
        "index-position-order",
        "index-position-past-log",
        "index-position-not-boundary",
        "index-offset-mismatch",
        "index-zero-entry-middle",
        "index-entry-below-base",
        "index-stale",
    ),
    _BAD_TIMES: (
        "timeindex-timestamp-order",
        "timeindex-offset-order",
        "timeindex-timestamp-mismatch",
        "timeindex-offset-not-found",
        "timeindex-last-not-max",
        "max-timestamp-mismatch",
    ),
    _ABORTED_SEEN: ("txn-aborted-not-indexed", "txnindex-order", "txnindex-without-marker"),
    _BAD_ORDER: ("offset-duplicate", "offset-regression", "batch-duplicate-bytes"),
    _HANGING: ("txn-hanging", "txn-marker-missing"),
    _IN_MEMORY: (
        "index-missing",
        "timeindex-missing",
        "snapshot-crc-mismatch",
        "snapshot-truncated",
        "snapshot-version-unknown",
        "snapshot-count-absurd",
        "snapshot-trailing-bytes",
        "epochs-malformed",
        "epochs-count-mismatch",
        "epochs-version-unknown",
        "partition-metadata-bad",
        "log-start-beyond-end",
        "recovery-point-beyond-end",
        "name-not-numeric",
    ),
}

RUNNING = {code: sentence for sentence, codes in _CODES.items() for code in codes}
"""By code; faults that only matter at a start, or harm nobody, have none."""
