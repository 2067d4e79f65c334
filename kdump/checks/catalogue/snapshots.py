"""Faults of snapshots."""

from __future__ import annotations

from kdump.checks.catalogue.entry import DELETE, IGNORE, FaultKind
from kdump.checks.finding import ERROR, INFO, WARNING

_DELETED = "its tool says so on stderr and exits 0; a broker deletes the file, and reads an older one or the log instead"
_REBUILT = "nothing: the log has all of it"
_LET_REBUILD = "nothing; delete the file if the broker is stopped, and it is made anew"

PRODUCER_SNAPSHOT_FAULTS = (
    FaultKind(
        "snapshot-crc-mismatch",
        ERROR,
        DELETE,
        "the checksum of a producer snapshot does not fit its entries.",
        cause="bit rot, a torn write, or power loss before the file was on disk",
        kafka=_DELETED,
        loss=_REBUILT,
        remedy=_LET_REBUILD,
        see=("snapshot-truncated", "snapshot-trailing-bytes"),
    ),
    FaultKind(
        "snapshot-truncated",
        ERROR,
        DELETE,
        "a producer snapshot ends too early.",
        cause="power loss or a full disk while it was written",
        kafka=_DELETED,
        loss=_REBUILT,
        remedy=_LET_REBUILD,
        see=("snapshot-count-absurd",),
    ),
    FaultKind(
        "snapshot-version-unknown",
        ERROR,
        DELETE,
        "a producer snapshot has a version that is not known.",
        cause="a newer broker wrote it, or its first bytes changed",
        kafka=_DELETED,
        loss=_REBUILT,
        remedy=_LET_REBUILD,
    ),
    FaultKind(
        "snapshot-count-absurd",
        ERROR,
        DELETE,
        "a producer snapshot says that it has more entries than it has room for.",
        cause="bit rot, or a file that was made to do harm",
        kafka=_DELETED,
        loss=_REBUILT,
        remedy=_LET_REBUILD,
        see=("snapshot-truncated",),
    ),
    FaultKind(
        "snapshot-trailing-bytes",
        ERROR,
        DELETE,
        "bytes stand behind the last entry of a producer snapshot.",
        cause="a shorter file was written over a longer one",
        kafka="both take it for a checksum that does not fit, since it covers all bytes up to the end of the file",
        loss=_REBUILT,
        remedy=_LET_REBUILD,
        see=("snapshot-crc-mismatch",),
    ),
    FaultKind(
        "snapshot-duplicate-producer",
        WARNING,
        IGNORE,
        "a producer stands in a snapshot twice.",
        cause="bytes that were changed, and a checksum that was made good again",
        kafka="its tool prints both; for a broker the last one counts",
        loss="nothing; a producer may be refused, or a batch that was sent again taken twice",
        remedy=_LET_REBUILD,
        see=("snapshot-disagrees",),
    ),
    FaultKind(
        "snapshot-disagrees",
        WARNING,
        IGNORE,
        "a snapshot says something else of a producer than the log does.",
        cause="state that was lost, or a file of another time or replica",
        kafka="neither compares the two; a broker goes on with the snapshot",
        loss="nothing; producers may be refused, batches that were sent again taken twice, a transaction seem open",
        remedy="delete the snapshots of this partition while the broker is stopped; it makes them anew from the log",
        see=("sequence-duplicate", "txn-hanging"),
    ),
    FaultKind(
        "snapshot-stray",
        INFO,
        DELETE,
        "a producer snapshot belongs to no segment.",
        cause="a segment was deleted, and a stop came before its snapshot was (KAFKA-12964)",
        kafka="a broker deletes it when it starts",
        loss="nothing",
        remedy="nothing",
    ),
)

FAULTS: tuple[FaultKind, ...] = (*PRODUCER_SNAPSHOT_FAULTS,)
