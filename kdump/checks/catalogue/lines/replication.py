"""What brokers and controllers say about replicas: fetching, truncation, elections, moves, and tiered storage."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import Phrase

_COMPARE = "`kdump where TOPIC-PARTITION@OFFSET DIRECTORIES` compares the replicas"

PHRASES = (
    Phrase(
        "log truncation is not allowed for partition",
        "a follower has records after the end of its leader, and unclean leader election is not allowed: the broker exits,"
        " because truncating would lose them. The leader lost records, or an older copy of it was restored. Do not delete"
        f" the follower's log: it has what the leader lacks. {_COMPARE}",
        ("replica-divergence", "replica-behind"),
    ),
    Phrase(
        "below high watermark",
        "a follower removes records that were already committed, because its leader does not have them: a leader lost records"
        f" (unclean election, truncated log, restored disk). Copy the follower's log before it is gone; {_COMPARE}",
        ("replica-divergence", "high-watermark-beyond-end"),
    ),
    Phrase(
        "truncate fully and reset fetch offset|smaller than the current leader's start offset|to current leader's start offset",
        "a follower was away for so long that its leader has deleted the records after its end. It drops its log and starts"
        " at the leader's first offset; nothing is lost that the leader has not deleted itself",
        ("replica-behind",),
    ),
    Phrase(
        "to current leader's latest offset",
        "a follower's end was above that of its leader, so it was truncated: its last records are gone. If they were committed,"
        f" the leader had lost them before (unclean election, restored disk). {_COMPARE}",
        ("replica-divergence", "replica-behind"),
    ),
    Phrase(
        "will be used for truncation",
        "a follower could not determine by leader epochs where its log diverges, and is truncated at an offset. Old message"
        f" formats may lose committed records here. {_COMPARE}",
        ("replica-divergence", "epochs-missing"),
    ),
    Phrase(
        "truncating {}to {n} has no effect",
        "a log would be cut at an offset after its end, so nothing is cut. This is normal after a change of leader",
    ),
    Phrase(
        "truncating to offset|deleting segments as part of log truncation|truncating partition {} with|truncating partition {} to"
        " leader epoch",
        "a log is cut at this offset. A follower does so after each change of leader, for records that were never"
        f" committed; this is normal. In a start, it means that a batch could not be read. {_COMPARE}",
        ("torn-tail", "replica-divergence"),
    ),
    Phrase(
        "failed to truncate {} at offset|unexpected error occurred during truncation for",
        "a follower could not truncate its log, and the partition is not replicated any more. The accompanying exception"
        " says why",
        is_general=True,
    ),
    Phrase(
        "while processing data for partition|marked as failed|error for partition {} at offset|error getting offset for partition"
        "|error when sending leader epoch request|in response for fetch request"
        "|from the leader for partition {} not expected to persist",
        "a follower does not receive a partition from its leader; it tries again, or gives up until the next leader change"
        " (`marked as failed`). The accompanying exception says why",
        is_general=True,
    ),
    Phrase(
        "message that is greater than replica.fetch.max.bytes",
        "a batch is larger than what followers fetch, so the partition is not replicated. Raise replica.fetch.max.bytes",
        ("batch-over-limit",),
    ),
    Phrase(
        "cannot trigger unclean leader election for offline partition|failed to elect leader for partition|from"
        " offlinepartition to onlinepartition",
        "the partition stays offline: no live replica may lead it. No record is lost yet; bring a replica of its ISR back",
    ),
    Phrase(
        "because it would require an unclean leader election",
        "a reassignment is not cancelled, because the partition would have no replica in sync. Nothing is changed or lost",
    ),
    Phrase(
        "unclean leader election has been enabled",
        "from now on, a replica that is not in sync may become the leader, and records may be lost by that. None is lost yet",
    ),
    Phrase(
        "triggering unclean leader election|unclean partition change for|unclean leader election|unclean election|performing"
        " unclean recovery|potential data loss",
        "a replica that was not in sync becomes the leader, or did. Records that only the others have are lost: copy the log"
        f" directories of all replicas before they are truncated. {_COMPARE}",
        ("replica-divergence",),
    ),
    Phrase(
        "not_enough_replicas|not_enough_replicas_after_append|fewer in-sync replicas than required|insufficient to satisfy"
        " the min.isr requirement|not enough in-sync replicas|to fewer in-sync replicas|insufficient number of in-sync"
        " replicas",
        "a batch was refused, or not acknowledged, because followers are missing. Nothing is lost; bring the followers back",
    ),
    Phrase(
        "not recognized to be one of the assigned replicas|is not in assigned replica list",
        "a broker has a replica that the cluster did not assign to it, or one of them has old metadata. It is normal during a"
        " reassignment",
    ),
    Phrase(
        "does not host this topic id|unknown topic id in fetch|unknown topic id error|broker: unknown topic id|UNKNOWN_TOPIC_ID",
        "a request has the id of a topic that this broker does not know: the topic was deleted and created again, or metadata is"
        " late. It passes; if not, compare partition.metadata of the replicas",
        ("partition-metadata-bad",),
    ),
    Phrase(
        "inconsistent_topic_id|inconsistent topic id|topic id did not match",
        "the topic has another id than the log here: it was deleted and created again. It passes when metadata is current;"
        " if not, compare partition.metadata of the replicas",
        ("partition-metadata-bad",),
    ),
    Phrase(
        "fenced_leader_epoch|unknown_leader_epoch|leader epoch in the request is older|leader epoch in the request is newer"
        "|leader epoch is older than broker epoch|leader epoch is newer than broker epoch|has an older epoch {} than the"
        " current leader",
        "a client or follower has other metadata than the leader. It refreshes its metadata and goes on; nothing is lost",
    ),
    Phrase(
        "NOT_LEADER_OR_FOLLOWER|requests intended only for the leader|NOT_LEADER_FOR_PARTITION|not the leader or follower|not"
        " the leader for that topic-partition|that is not the leader for some partition|not leader for partition|leader not"
        " local for partition|log for partition {} is not available on broker|replica with id {} is not available on broker"
        "|because the node is no longer the leader|stale fetch state update",
        "a request reached a broker that does not lead this partition, or not any more. The client or follower refreshes its"
        " metadata and asks the leader; nothing is lost",
    ),
    Phrase(
        "could not determine the end offset of the last fetched epoch",
        "a consumer or follower has read an epoch that the leader does not know. It looks for where its log and the leader's"
        f" part; records after that are lost if the leader's log was truncated. {_COMPARE}",
        ("epochs-missing", "replica-divergence"),
    ),
    Phrase(
        "[replicafetcher {}] error due to|[replicafetcher {}]: error due to|error due to (kafka.server.replicafetcherthread",
        "the thread that fetches from a leader died, so its partitions are not replicated to this broker until it restarts. No"
        " record of the leader is lost. The accompanying exception says why",
        is_general=True,
    ),
    Phrase(
        "after shutting down replica fetcher thread|after initiating replica fetcher thread shutdown|doesn't exist in the"
        " leader node|error when getting epochendoffset for",
        "a replica could not be asked or followed, because it is just being stopped, moved or deleted. Nothing is lost; it is"
        " asked again if it is still there",
        is_general=True,
    ),
    Phrase(
        "leader_not_available|no leader for this topic-partition|there is currently no leader for this partition|leader not"
        " available",
        "the partition has no leader at this moment. Normal during an election; if it remains, all its in-sync replicas are"
        " down, and their logs say why",
    ),
    Phrase(
        "unknown_topic_or_partition|does not host this topic-partition|unknown topic or partition|topic or partition that"
        " does not exist",
        "the broker does not have the partition: it was deleted, is being created, or the client's metadata is old. On a"
        " follower it may appear for a moment",
    ),
    # tiered storage
    Phrase(
        "does not exist in remote tier|NoSuchKeyException|the specified key does not exist|no remote log segment"
        " metadata found|no remote segment found|no resource found for"
        " partition|couldn't build the state from remote store",
        "remote storage has no segment with this offset. What is on the local disk is not affected; check retention and the"
        " remote log metadata (__remote_log_metadata)",
    ),
    Phrase(
        "offset_moved_to_tiered_storage|moved to tiered storage",
        "the offset is only in remote storage; a follower or an old client cannot fetch it from the local log. Nothing is lost",
    ),
    Phrase(
        'producerstatesnapshotfile" is null',
        "tiered storage cannot copy a segment, because it has no producer snapshot (BASE.snapshot): it was deleted, or never"
        " written. The partition is not copied from there on; local segments are kept, and the disk may fill up",
    ),
    Phrase(
        "custom metadata size {} exceeds",
        "the storage plugin returned more metadata than remote.log.metadata.custom.metadata.max.bytes, so this partition is not"
        " copied any more until it has another leader or the broker restarts. Local segments are kept; the disk may fill up",
    ),
    Phrase(
        "cleaning segment {} consider cleaning manually",
        "a segment that was only partly copied remains in remote storage, where it takes space. Nothing is lost",
    ),
    Phrase(
        "error occurred while copying log segments|current task for {} received error but it will be scheduled|error occurred"
        " while executing task|error while stopping the partition|current thread for {} is interrupted|error occurred while"
        " canceling the task|no topic id registered for topic partition|topic id does not exist for topic partition|unifiedlog"
        " does not exist for topic partition",
        "a task of tiered storage failed for this partition, and is tried again. Local segments are kept until they are copied,"
        " so nothing is lost, but the disk may fill up. The accompanying exception says why",
        is_general=True,
    ),
    Phrase(
        "reading the remote data for|reading the remote log offset|unable to fetch data from remote storage",
        "a consumer's read from remote storage failed, and it asks again. Nothing is changed on disk. The accompanying"
        " exception says whether the storage is not available or the segment not there",
        is_general=True,
    ),
    Phrase(
        "building remote log auxiliary state|does not know the earliest pending upload offset",
        "a follower needs what remote storage has before its leader's local log, and did not get it. It tries again, and is not"
        " in sync until then; the leader's log is not affected",
        is_general=True,
    ),
    Phrase(
        "retriable error occurred while processing the records|but the read offset is|timed out in catching up with the expected"
        " offset by consumer|this consumer is not assigned to the target partition",
        "the broker is late in reading __remote_log_metadata. Copies and deletions wait and are tried again; nothing is lost",
    ),
    Phrase(
        "error occurred while processing the records (org.apache.kafka.server.log.remote|error encountered while consuming from"
        " remote log metadata partitions",
        "the broker does not read __remote_log_metadata any more: it copies and deletes nothing in remote storage, and does not"
        " serve new remote segments until it restarts. Local segments are kept. The accompanying exception says why",
        is_general=True,
    ),
    Phrase(
        "can not be transitioned to target state|error occurred while updating the remote log segment",
        "a record of __remote_log_metadata was ignored, because it does not follow from the state of its segment, as when an old"
        " leader or a repeated request writes it. No record is lost by this",
    ),
    Phrase(
        "timed out in initializing the resources|timed out to initialize the resources|initialize topic-based rlmm resources"
        "|encountered error while initializing producer/consumer|error while initializing topic-based rlmm resources"
        "|encountered error while creating {} topic|encountered error while querying or creating",
        "tiered storage could not reach or create __remote_log_metadata, and the broker stops if this lasts: look at the"
        " listener, security and other settings of remote.log.metadata.manager. Local logs are not affected",
        is_general=True,
    ),
    Phrase(
        "remote log metadata cache is not initialized|couldn't initialize remote log metadata cache|remotelogmanager is not"
        " ready for partition",
        "the broker has just become the leader, and has not yet read the metadata of remote segments. Reads of them are tried"
        " again",
    ),
    Phrase(
        "as the remote log storage is disabled|since remote storage is not enabled|as remote log storage is not yet enabled",
        "tiered storage was switched on or off for the topic while a task ran. Nothing is lost by this line",
    ),
    Phrase(
        "unable to fetch index for segment|received entry as null for key|cleaning up expired entry|remote index cache entry"
        " bytes size|this entry is marked for cleanup",
        "an index in remote-log-index-cache was removed while it was used, or could not be removed. The cache is only a copy;"
        " what is missing is fetched again",
    ),
    Phrase(
        "empty file name in remote index cache directory|directory {} for remoteindexcache",
        "remote-log-index-cache cannot be created or read. It is only a copy: look at its permissions, or stop the broker and"
        " delete it, and it is fetched again",
        is_general=True,
    ),
    Phrase(
        "not same as the expected partition count",
        "__remote_log_metadata has another partition count than configured, so tiered storage does not start. Local logs are not"
        " affected",
    ),
)
