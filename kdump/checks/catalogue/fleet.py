"""Faults that only several brokers, or several partitions, show: `kdump scan` reports them, `kdump check` never does."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import BLIND, IGNORE, FaultKind
from kdump.checks.finding import ERROR, INFO, WARNING

_TOOL = "its tool looks at one broker's files"

FAULTS = (
    FaultKind(
        "replica-divergence",
        ERROR,
        BLIND,
        "a broker holds other batches than the other replicas at the same offsets.",
        cause=(
            "damaged bytes on one broker; an unclean election, or a change of leader with acks=1 before followers knew of leader "
            "epochs (KIP-101, KIP-279)"
        ),
        kafka=f"{_TOOL}; replicas are not compared again once they were fetched, and any of them may become the leader",
        loss="which records a consumer gets depends on the leader; with this replica as leader, what the others have there",
        remedy=(
            "find out which replica is right by the checksums and leader epochs told here; keep a copy; let a healthy one lead, "
            "delete the other and let it be replicated again"
        ),
        see=("crc-mismatch", "replica-missing-batches", "replica-epoch-divergence"),
    ),
    FaultKind(
        "replica-epoch-divergence",
        ERROR,
        BLIND,
        "a broker has the same batches as the other replicas under other leader epochs.",
        cause="bit rot in the leader epoch, which no checksum covers, or a replica that was put together by hand",
        kafka=f"{_TOOL}; a replica that finds where to cut its log by leader epochs may cut too much or too little",
        loss="nothing yet: the records are the same",
        remedy="let a healthy replica lead, delete this one and let it be replicated again",
        see=("uncovered-header-rot", "replica-divergence"),
    ),
    FaultKind(
        "replica-missing-batches",
        ERROR,
        BLIND,
        "a broker lacks batches that other replicas hold, in the middle of its log.",
        cause="damaged bytes, a lost segment, or a restart that cut the log and a follower that went on after the cut",
        kafka=f"{_TOOL}; a broker that serves the offsets goes on with the next batch it has",
        loss="these records, once this replica is the leader",
        remedy="let a replica that has them lead, delete this one and let it be replicated again",
        see=("segments-gap", "offset-gap", "replica-divergence"),
    ),
    FaultKind(
        "replica-behind",
        WARNING,
        IGNORE,
        "a replica ends long before the others.",
        cause="a broker that was down or is slow, a fetcher thread that died, a disk gone offline, or a copy of another day",
        kafka="a follower that is not in sync may become the leader only by an unclean election",
        loss="nothing; with an unclean election all after its end",
        remedy="look at the broker's log for fetch errors before any other replica of this partition is stopped",
        see=("replica-missing-batches",),
    ),
    FaultKind(
        "txn-marker-missing",
        ERROR,
        BLIND,
        "a transaction was ended in other partitions, and is still open in this one.",
        cause="a marker that was lost, or a write that came after it (KAFKA-14402, KIP-890); an unclean election",
        kafka="its tool does not show it; the last stable offset stays where it is, also after a restart",
        loss="nothing is lost, but read-committed consumers stop there, and a compacted topic is cleaned no further",
        remedy="`kafka-transactions.sh find-hanging` has to name it, too; then `kafka-transactions.sh abort` with its topic, "
        "partition and --start-offset",
        see=("txn-hanging", "txn-open"),
    ),
    FaultKind(
        "retention-blocked",
        WARNING,
        IGNORE,
        "a segment that retention by time cannot delete keeps all later ones.",
        cause="a record from the future, or much later than those after it: segments go oldest first, and none is passed over",
        kafka="retention by time waits until then, and says nothing; retention by size goes on",
        loss="nothing is lost; the disk may fill",
        remedy=(
            "delete up to the end of that segment with `kafka-delete-records.sh`, or let `retention.bytes` do so; "
            "`message.timestamp.after.max.ms` keeps such records out"
        ),
        see=("timestamp-future", "timestamp-unit-suspect"),
    ),
    FaultKind(
        "cleaner-behind",
        WARNING,
        IGNORE,
        "the cleaner of a broker has not come as far as that of another one.",
        cause="a cleaner thread that died of a batch it could not read, a partition marked as uncleanable, or too few threads",
        kafka="the broker goes on without cleaning; the metric uncleanable-partitions-count tells",
        loss="nothing; the log grows, and starting a broker or loading a group takes longer and longer",
        remedy="look for the partition in log-cleaner.log; mend what stopped it, or copy the replica again; restart the broker",
        see=("compaction-duplicate", "txn-hanging"),
    ),
    FaultKind(
        "compaction-duplicate",
        ERROR,
        IGNORE,
        "a key has several records in the part of a log that was cleaned.",
        cause="segments brought back from a copy, a swap that was interrupted, or a checkpoint that does not belong to this log",
        kafka=f"{_TOOL}; the next cleaning begins after that point, and meets these records only as what it copies",
        loss="nothing; readers meet old values of these keys once more",
        remedy="delete the partition's line in cleaner-offset-checkpoint while the broker is down, so that all is cleaned again",
        see=("cleaner-behind", "segments-overlap"),
    ),
    FaultKind(
        "tombstone-overdue",
        INFO,
        IGNORE,
        "deleted keys could have been forgotten long ago.",
        cause="little is written to the topic, so that the cleaner has no reason to come again; or it does not come at all",
        kafka="tombstones and markers go when the cleaner passes again after their time",
        loss="nothing",
        remedy="nothing; `max.compaction.lag.ms` makes the cleaner come sooner",
        see=("cleaner-behind", "delete-horizon-odd"),
    ),
)
