"""What controllers and brokers say about KRaft: the metadata log, its snapshots, the quorum."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import Phrase

_BEYOND = (
    "kdump reads the records but does not replay them: `kdump check` and `kdump log --deep` of __cluster_metadata-0 show them"
)

PHRASES = (
    Phrase(
        "inconsistent snapshot state|latest snapshot was not found",
        "a KRaft log starts after its latest snapshot: records of the metadata are missing on this node. Keep a copy, and"
        " take the missing .checkpoint from another controller",
        ("snapshot-gap-metadata",),
    ),
    Phrase(
        "log doesn't have a last fetch epoch and there is a snapshot",
        "the metadata log has no batches, and does not start where its latest snapshot ends: its segments were removed or cut."
        " Keep a copy, and compare __cluster_metadata-0 with that of another controller",
        ("snapshot-gap-metadata", "truncated-at-boundary"),
    ),
    Phrase(
        "election timed out before receiving sufficient vote",
        "too few controllers answered to elect a leader: the others are down, or are not reached. Until most of them are there,"
        " the metadata do not change and brokers cannot start; no record is lost",
    ),
    Phrase(
        "vote request {} is rejected",
        "a controller did not give its vote: it follows another one, or the candidate lacks records that it has. That is normal"
        " in an election. If epochs keep rising, no candidate gets a majority: look at the network, pauses and disks of the"
        " controllers; no record is lost",
    ),
    Phrase(
        "that doesn't match the local key",
        "the voters in the metadata log have this node with another directory.id: its metadata directory was formatted again, or"
        " another disk is mounted. If that was meant, kafka-metadata-quorum.sh removes the old voter and adds the new one",
    ),
    Phrase(
        "append failed because the replica|append failed because the replication is not the current leader|append failed"
        " because the given epoch",
        "a controller was replaced while it wrote a change of the metadata. The change is not written; its request is repeated"
        " with the new controller. If it happens often, look at the network, pauses and disks of the controllers",
    ),
    Phrase("is not a snapshot header", "a KRaft snapshot does not start with its header", ("checkpoint-no-header",)),
    Phrase(
        "first batch is not a control batch with at least one record",
        "a KRaft snapshot does not start with its header: it was cut, or the file is something else",
        ("checkpoint-no-header", "checkpoint-bad-batch"),
    ),
    Phrase(
        "tried to change broker|tried to fence broker|tried to unfence broker|did not match the current broker epoch|unable"
        " to replay|error replaying record|error loading metadata log record|unable to handle record {} in batch ending at"
        " offset|error generating new metadata image|unable to delete topic with id|can't replay a|can't replay an|without"
        " having seen a BeginTransactionRecord|while already in a transaction|from replayed record {} is not greater than"
        "|unable to clear elr for topic|missing topic id|has no entry in isrMembers|has no isrMembers entry",
        "a record of the metadata log does not fit those before it, so this node cannot replay its metadata. If other nodes read"
        " the same record without an error, this node's copy differs: compare them. If all fail, it is a bug of Kafka, or the"
        f" log lost records. Delete nothing: copy __cluster_metadata-0 of all controllers first. {_BEYOND}",
    ),
    Phrase(
        "invalid non-positive frame size|specified frame size, {}, is larger than the entire size of the batch"
        "|failed to read record bytes|unable to read record size|missing value in the record when a value was expected"
        "|got an unexpected empty value in the record|got an unexpected empty key in the record|missing key in the record when"
        " a key was expected|got key in the record when no key was expected|but this is invalid because it is not 0 as expected"
        "|expected a record count for the records batch",
        "a batch of the metadata log or of a snapshot does not have records as controllers write them: it is damaged",
        ("record-body-mismatch", "record-length-bad", "checkpoint-bad-batch", "metadata-record-undecodable"),
    ),
    Phrase(
        "detected non-monotonic update of fetch offset",
        "a voter of the quorum fetches from a lower offset than before: it lost the end of its metadata log, or its disk. If this"
        " is not planned, keep a copy of its __cluster_metadata-0 and of the leader's before anything else restarts",
        ("truncated-at-boundary", "replica-behind"),
    ),
    Phrase(
        "could not deserialize metadata record|failed to deserialize record with type|byte(s) of garbage after|unknown"
        " metadata record type|unhandled record type|unable to read metadata record at offset|unable to read control record"
        " at offset|#parse failed|failed to read variable-length",
        "a record of the metadata log cannot be decoded: it was written by a newer Kafka (a downgrade), or is damaged",
        ("metadata-record-undecodable", "crc-mismatch"),
    ),
    Phrase(
        "unhandled error publishing|uncaught exception while publishing|metadata publishing error|unhandled error"
        " initializing|error applying topics delta|error starting replicamanager|error starting logmanager|error starting"
        " groupcoordinator|error starting transactioncoordinator|error updating {} with local changes|unhandled fault in"
        " metadataloader|error while loading snapshot|error starting high watermark checkpoint thread|error while applying"
        " deferred metadata|unable to make leader because|error while processing batch|unable to install metadata"
        " publishers|error loading authorizer|exception while claiming leadership|exception while completing controller"
        " activation|failed with unknown server exception",
        "a change of the metadata could not be applied on this node. Records are not lost by this; partitions may not be"
        " served until it restarts. The accompanying exception says why: explain that one",
        is_general=True,
    ),
    Phrase(
        "encountered fatal fault|unexpected error in raft io thread",
        "the node stops, because it cannot go on with its metadata. This line does not say why: explain the exception beside it."
        " `kdump check` of __cluster_metadata-0 says whether its files are sound",
        is_general=True,
    ),
    Phrase(
        "encountered {} fault:",
        "part of a node failed, and it goes on. The text after it and the accompanying exception say why: explain that one",
        is_general=True,
    ),
    Phrase(
        "leader requested truncation to offset|attempt to truncate to offset {} below the current high watermark",
        "a node has committed records of the metadata log that its leader lacks: a controller lost its disk, or was"
        " restored from an older copy. Do not format or delete anything; keep copies of __cluster_metadata-0 of all"
        " controllers, and compare their ends: `kdump where __cluster_metadata-0@OFFSET DIRECTORIES`",
        ("replica-divergence", "truncated-at-boundary"),
    ),
    Phrase(
        "smaller than last written epoch {} in the log",
        "quorum-state has an older epoch than the metadata log: the file was lost, or restored from an older copy. The node"
        " takes the epoch of its log and goes on; nothing is lost",
        ("quorum-state-bad",),
    ),
    Phrase(
        "error while reading the quorum status|clearing local quorum state store after error|deserialized node {} does not"
        " have|deserialized node {} is not an object node|file ended prematurely|quorum state data version|data_version {}"
        " is not within",
        "quorum-state cannot be read. It holds the epoch and vote of this node, and no records. Old releases (2.8, 3.3) replace"
        " the file; newer ones (3.9, 4.x) do not start",
        ("quorum-state-bad",),
    ),
    Phrase(
        "error while writing the quorum status|failed to transition from {} to",
        "quorum-state could not be written: look at the space and the state of the disk of metadata.log.dir",
        ("io-error", "permission-denied"),
        is_general=True,
    ),
    Phrase(
        "is different from the voter set read from the state file|inconsistent voter sets|INCONSISTENT_VOTER_SET|leader with id"
        " {} is not among the valid voters|voted candidate with id {} is not among the valid voters|which indicates this node"
        " was previously a voter",
        "controller.quorum.voters was changed, or differs between nodes, so the voters of quorum-state are others. Nothing"
        " is wrong with the log; set the voters that the quorum has",
    ),
    Phrase(
        "which is inconsistent with current leader|cannot transition to {} since it matches the local|cannot transition to {}"
        " from state|cannot transition to {} from the current state|cannot transition to {} from current state|cannot"
        " transition to {} since the current epoch|request from the leader itself|matches the local leader id|cannot transition"
        " to {} is not one of the voters",
        "what this node knows of the leader and the voters contradicts what another one says: two nodes have the same node.id,"
        " the nodes have different controller.quorum settings, or quorum-state is from an older copy. Compare these on all"
        " controllers; the metadata log is not damaged by that",
        ("quorum-state-bad",),
    ),
    Phrase(
        "graceful shutdown timed out after|graceful shutdown of raftclient failed|before graceful shutdown completed",
        "a controller stopped before it had handed over the leadership, so the others elect a leader only after a timeout. The"
        " metadata log is not affected",
    ),
    Phrase(
        "snapshot id with a valid|unexpected error {} in {} response:|unexpected error in fetch completion",
        "another node of the quorum answered with an error, or with something that cannot be, and the request is repeated. The"
        " name of the error, and the log of the other node, say why",
        is_general=True,
    ),
    Phrase(
        "is different from the local replica's high watermark",
        "the leader's high watermark is outside of this node's metadata log, and was moved to its nearest end. Harmless if it is"
        " said once, as while a node catches up; if it repeats, compare the ends of __cluster_metadata-0 of the controllers",
        ("truncated-at-boundary", "replica-behind"),
    ),
    Phrase(
        "append failed unexpectedly",
        "what the leader sent contains no whole batch, so nothing was appended to the metadata log. If it repeats at the same"
        " offset, check __cluster_metadata-0 of the leader",
        ("crc-mismatch", "torn-tail", "batch-length-absurd"),
    ),
    Phrase(
        "cannot create a snapshot with an id|cannot create snapshot at offset|is not valid according to the log"
        "|attemting to create a snapshot",
        "a KRaft snapshot was to be written for an offset that the metadata log does not have as committed, and was not. The log"
        " keeps its records, so nothing is lost",
    ),
    Phrase(
        "because snapshots are disabled",
        "the node writes no more KRaft snapshots after an earlier fault, and its metadata log grows until it restarts. Nothing is"
        " lost; the line says which fault, and an earlier one why",
        is_general=True,
    ),
    Phrase(
        "not generating {} because it already exists",
        "a KRaft snapshot of this offset is already there. Nothing is wrong",
    ),
    Phrase(
        "to exist, but it was missing. creating",
        "the broker did not have a replica that its metadata name, and creates it, or loads it if its directory is there. Normal"
        " when a replica was moved to this broker; if its directory was removed, the replica is filled from its leader",
    ),
    Phrase(
        "unable to start fetching|unable to delete replica {} because we got an unexpected|ignoring stopreplica request {} due"
        " to an unexpected",
        "a change of the metadata could not be carried out for a partition: it is not fetched, or not deleted, until the broker"
        " restarts or the metadata change again. No record is lost. The accompanying exception says why",
        is_general=True,
    ),
    Phrase(
        "full log truncation expected but didn't happen|full log trunctation expected but didn't happen"
        "|snapshot expected since next offset",
        "a controller's log and snapshots do not fit together",
        ("snapshot-gap-metadata", "checkpoint-bad-batch"),
    ),
    Phrase(
        "expected to find snapshot file",
        "a KRaft snapshot was deleted while the node ran. Snapshots must not be deleted by hand",
        ("snapshot-gap-metadata",),
    ),
    Phrase(
        "error writing file snapshot|error calculating snapshot size|error closing snapshot writer|error freezing file"
        " snapshot|error creating snapshot writer|error creating temporary file, logdir|error renaming snapshot file|kraft"
        " snapshot file generation error|encountered error while writing {}snapshot|error deleting snapshot files|unable to"
        " open a snapshot file|unable to opens a snapshot file",
        "a KRaft snapshot could not be written or opened. The log keeps its records until one is written, so nothing is"
        " lost; look at the space and the state of the disk",
        ("io-error", "permission-denied", "checkpoint-leftover"),
        is_general=True,
    ),
    Phrase(
        "error during log cleaning",
        "a KRaft node could not delete old segments or snapshots of its metadata. Nothing is lost. The accompanying"
        " exception says why",
        is_general=True,
    ),
    Phrase(
        "no featurelevelrecord for|bootstrap metadata.version before",
        "the bootstrap.checkpoint of a metadata directory does not name its metadata.version: it was formatted by another"
        " release. Nothing is damaged by that; `kdump checkpoint` shows the file",
    ),
    Phrase(
        "unable to register broker|shutting down because we were unable to register|unable to send broker heartbeat",
        "the controllers do not accept this broker. Nothing is wrong on disk; the controller's log and the text after it say why",
        is_general=True,
    ),
)
