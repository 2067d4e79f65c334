"""The effect of a fault on a running broker, its consumers, followers and cleaner: one sentence per code."""

from __future__ import annotations

_BAD_BATCH = (
    "consumers that reach this batch fail ('Record batch ... is invalid') until they seek past it; followers log 'Found invalid "
    "messages during fetch', retry forever and fall behind; the cleaner marks the partition uncleanable"
)
_BAD_MAGIC = (
    "consumers that reach this batch fail ('Invalid magic found in record') until they seek past it; followers retry forever and "
    "fall behind; the cleaner marks the partition uncleanable"
)
_ABSURD_LENGTH = (
    "the broker assumes that the segment ends here: consumers and followers continue with the next segment without an "
    "error, or receive nothing more if it is the newest one"
)
_BAD_LENGTH = (
    "the broker cannot read past it: fetches by consumers and followers that must pass through here fail with "
    "CORRUPT_MESSAGE, and the cleaner marks the partition uncleanable"
)
_BAD_RECORDS = (
    "consumers that reach this batch fail ('Received exception when fetching the next record') until they seek past it; "
    "followers copy it unchanged; the cleaner of a compacted topic marks the partition uncleanable"
)
_BAD_INDEX = (
    "fetches that use such an entry start at the wrong position: readers fail, or miss records that exist; the log "
    "itself is not affected"
)
_BAD_TIMES = (
    "consumers that seek by time may start at the wrong offset, and time-based retention may be wrong; reading by offset works"
)
_ABORTED_SEEN = "read-committed consumers receive aborted records; others are not affected"
_BAD_ORDER = (
    "consumers get these offsets twice or skip some; a follower that fetches them stops replicating the partition, because they "
    "do not continue its log"
)
_IN_MEMORY = "nothing: a running broker has this in memory; the file matters at the next start"
_HANGING = (
    "read-committed consumers stop at the last stable offset, and the cleaner goes no further; producers and other consumers "
    "continue"
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
"""By code; faults that are harmless or only matter at a start have none."""

_STOP_READERS = (_BAD_BATCH, _BAD_MAGIC, _ABSURD_LENGTH, _BAD_LENGTH, _BAD_RECORDS)
BREAK_READING = frozenset(code for sentence in _STOP_READERS for code in _CODES[sentence])
"""The codes of damage because of which consumers do not get records that were there."""
