"""Where kdump is known to print something else than the real tool, and why. The aim is an empty list.

A test fails when an entry no longer matches any difference.
"""

from typing import NamedTuple


class KnownDifference(NamedTuple):
    """Which runs differ: patterns as in file names; that of `arguments` is for the arguments joined by blanks."""

    release: str
    case: str
    arguments: str
    reason: str


_OLD_OFFSETS = "the decoder of offsets is not reproduced before 0.11"
_EARLY_OFFSETS = "records of offsets and groups are read by schemas of later releases"
_EARLY_METADATA = "records of cluster metadata are read by schemas of later releases"
_EARLY_SHARES = "records of share groups are read by schemas of later releases"
_EARLY_REMOTE_LOGS = "records of remote log metadata are read by schemas of later releases"
_LOST_FRAMES = "Kafka's tool begins anew with each read behind the first zstd frame, and loses what the frame still held"
_SHORT_JUNK = "fewer than five bytes behind a zstd frame are not met"
_EARLY_TRANSACTIONS = "a transaction of an unknown version fails otherwise"

KNOWN_DIFFERENCES: tuple[KnownDifference, ...] = (
    KnownDifference("0.9.0.1", "consumer-offsets-*", "--offsets-decoder *", _OLD_OFFSETS),
    KnownDifference("0.10.*", "consumer-offsets-*", "--offsets-decoder *", _OLD_OFFSETS),
    KnownDifference("1.0.0", "consumer-offsets-*", "--offsets-decoder *", _EARLY_OFFSETS),
    KnownDifference("0.11.*", "consumer-offsets-by-hand-magic0", "--offsets-decoder *", _EARLY_OFFSETS),
    KnownDifference("1.*", "consumer-offsets-by-hand-magic0", "--offsets-decoder *", _EARLY_OFFSETS),
    KnownDifference("2.8.*", "consumer-offsets-by-hand-magic0", "--offsets-decoder *", _EARLY_OFFSETS),
    KnownDifference("3.[0-2].*", "consumer-offsets-by-hand-magic0", "--offsets-decoder *", _EARLY_OFFSETS),
    KnownDifference("2.[1-8].*", "consumer-offsets-random-records", "--offsets-decoder *", _EARLY_OFFSETS),
    KnownDifference("3.*", "consumer-offsets-random-records", "--offsets-decoder *", _EARLY_OFFSETS),
    KnownDifference("4.0.*", "consumer-offsets-*", "--offsets-decoder *", _EARLY_OFFSETS),
    KnownDifference("2.8.*", "cluster-metadata-*", "--cluster-metadata-decoder *", _EARLY_METADATA),
    KnownDifference("3.*", "cluster-metadata-*", "--cluster-metadata-decoder *", _EARLY_METADATA),
    KnownDifference("3.4.*", "bootstrap-checkpoint-*", "--cluster-metadata-decoder *", _EARLY_METADATA),
    KnownDifference("4.0.*", "share-group-state-*", "--share-group-state-decoder *", _EARLY_SHARES),
    KnownDifference("3.9.*", "remote-log-metadata-*", "--remote-log-metadata-decoder *", _EARLY_REMOTE_LOGS),
    KnownDifference("0.9.0.1", "options", "--offsets-decoder *", _OLD_OFFSETS),
    KnownDifference("0.10.*", "options", "--offsets-decoder *", _OLD_OFFSETS),
    KnownDifference("2.8.*", "options", "--cluster-metadata-decoder *", _EARLY_METADATA),
    KnownDifference("3.[0-2].*", "options", "--cluster-metadata-decoder *", _EARLY_METADATA),
    KnownDifference("2.[12].*", "magic2-zstd-several-frames", "*", _LOST_FRAMES),
    KnownDifference("2.[3-8].*", "magic2-zstd-several-frames", "*", _SHORT_JUNK),
    KnownDifference("3.[0-4].*", "magic2-zstd-several-frames", "*", _SHORT_JUNK),
    KnownDifference("4.0.*", "transaction-state-random-records", "--transaction-log-decoder *", _EARLY_TRANSACTIONS),
)
