"""Faults that only show across several brokers or partitions: `kdump scan` reports them, `kdump check` never does."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import BLIND, IGNORE, FaultKind
from kdump.checks.finding import ERROR, INFO, WARNING

_TOOL = "its tool looks at one broker's files"

FAULTS = (
    FaultKind(
        "replica-divergence",
        ERROR,
        BLIND,
        "a broker holds different batches from the other replicas at the same offsets.",
        cause=(
            "damaged bytes on one broker; an unclean election, or a leader change with acks=1 before followers knew of leader "
            "epochs (KIP-101, KIP-279)"
        ),
        kafka=f"{_TOOL}; replicas are never compared again once fetched, and any of them may become the leader",
        loss="which records consumers get depends on the leader; with this replica as leader, the records of the others are lost",
        remedy=(
            "find the healthy replica by the checksums and leader epochs in the finding; keep a copy; let it lead, "
            "then delete the other so that it is replicated again"
        ),
        see=("crc-mismatch", "replica-missing-batches", "replica-epoch-divergence"),
    ),
    FaultKind(
        "replica-epoch-divergence",
        ERROR,
        BLIND,
        "a broker has the same batches as the other replicas, but with different leader epochs.",
        cause="bit rot in the leader epoch, which no checksum covers, or a replica that was assembled by hand",
        kafka=f"{_TOOL}; a replica that truncates its log by leader epochs may truncate too much or too little",
        loss="nothing yet: the records are the same",
        remedy="let a healthy replica lead, then delete this one so that it is replicated again",
        see=("uncovered-header-rot", "replica-divergence"),
    ),
    FaultKind(
        "replica-missing-batches",
        ERROR,
        BLIND,
        "a broker lacks batches that other replicas hold, in the middle of its log.",
        cause="damaged bytes, a lost segment, or a restart that truncated a follower, which then continued after the gap",
        kafka=f"{_TOOL}; a broker that is asked for the offsets continues with its next batch",
        loss="these records, once this replica becomes the leader",
        remedy="let a replica that has them lead, then delete this one so that it is replicated again",
        see=("segments-gap", "offset-gap", "replica-divergence"),
    ),
    FaultKind(
        "replica-behind",
        WARNING,
        IGNORE,
        "a replica ends before the others; an info if it is not far behind.",
        cause="a broker that was down or is slow, a fetcher thread that died, a disk that went offline, or an older copy; "
        "followers of a live broker are always a little behind",
        kafka="a follower that is not in sync can become the leader only by an unclean election",
        loss="nothing; with an unclean election, or if it is the copy that is restored, everything after its end",
        remedy="look for fetch errors in the broker's log before you stop any other replica of this partition",
        see=("replica-missing-batches",),
    ),
    FaultKind(
        "txn-marker-missing",
        ERROR,
        BLIND,
        "a transaction ended in other partitions, but is still open in this one.",
        cause="a lost marker, or a write that came after it (KAFKA-14402, KIP-890); an unclean election",
        kafka="its tool does not show it; the last stable offset is stuck, even after a restart",
        loss="nothing, but read-committed consumers stop there, and the cleaner of a compacted topic goes no further",
        remedy="confirm with `kafka-transactions.sh find-hanging`; then `kafka-transactions.sh abort` with its topic, "
        "partition and --start-offset",
        see=("txn-hanging", "txn-open"),
    ),
    FaultKind(
        "retention-blocked",
        WARNING,
        IGNORE,
        "a segment that time-based retention cannot delete blocks the deletion of all later ones.",
        cause="a timestamp in the future, or far above later ones: segments are deleted in order, and none is skipped",
        kafka="time-based retention waits until then and logs nothing; size-based retention continues",
        loss="nothing; the disk may fill up",
        remedy=(
            "delete up to the end of that segment with `kafka-delete-records.sh`, or let `retention.bytes` do so; "
            "`message.timestamp.after.max.ms` rejects such records"
        ),
        see=("timestamp-future", "timestamp-unit-suspect"),
    ),
    FaultKind(
        "cleaner-behind",
        WARNING,
        IGNORE,
        "the cleaner of a broker lags far behind that of another broker.",
        cause="a cleaner thread that died on a batch it could not read, a partition marked as uncleanable, or too few threads",
        kafka="the broker continues without cleaning; the metric uncleanable-partitions-count shows it",
        loss="nothing; the log grows, and broker starts and group loading take longer and longer",
        remedy="look for the partition in log-cleaner.log; fix the cause, or re-replicate the partition; restart the broker",
        see=("compaction-duplicate", "txn-hanging"),
    ),
    FaultKind(
        "compaction-duplicate",
        ERROR,
        IGNORE,
        "a key has several records in the cleaned part of a log.",
        cause="segments restored from a copy, an interrupted swap, or a checkpoint that does not belong to this log",
        kafka=f"{_TOOL}; the next cleaning starts after that point and only copies these records",
        loss="nothing; readers see old values of these keys again",
        remedy="with the broker stopped, delete the partition's line in cleaner-offset-checkpoint: all is cleaned again",
        see=("cleaner-behind", "segments-overlap"),
    ),
    FaultKind(
        "tombstone-overdue",
        INFO,
        IGNORE,
        "tombstones should have been removed long ago.",
        cause="little is written to the topic, so the cleaner has no reason to run; or it does not run at all",
        kafka="tombstones and markers are removed by the first cleaning after their delete horizon",
        loss="nothing",
        remedy="nothing; a lower `max.compaction.lag.ms` makes the cleaner run sooner",
        see=("cleaner-behind", "delete-horizon-odd"),
    ),
)
