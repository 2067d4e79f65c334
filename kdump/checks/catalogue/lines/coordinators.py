"""What the coordinators of groups and transactions say, and of their topics, __consumer_offsets and __transaction_state."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import Phrase

_WHY = "The accompanying exception says why"

PHRASES = (
    # transactions
    Phrase(
        "transactionalid {} failed transition to state|transactionalid {} but the current state is",
        "a transaction coordinator met a state that it did not expect, and may leave the transaction open. Its log is"
        " not affected:"
        " `kafka-transactions.sh find-hanging` lists what hangs, and `kdump triage LOG_DIRECTORY` says who waits for it",
        ("txn-hanging",),
    ),
    # their topics
    Phrase(
        "coordinator is loading|COORDINATOR_LOAD_IN_PROGRESS|coordinator load in progress",
        "a coordinator reads its internal topic, as it does after each change of leader; clients wait and ask again. If it lasts"
        " for many minutes, __consumer_offsets or __transaction_state is large, because it is not cleaned: look at the cleaner",
    ),
    Phrase(
        "the coordinator is not available|COORDINATOR_NOT_AVAILABLE|not the correct coordinator|NOT_COORDINATOR|obsolete"
        " coordinator information|marking the coordinator {} dead|GroupCoordinatorNotAvailableError|failed to find group"
        " coordinator",
        "the partition of __consumer_offsets or __transaction_state that the client needs has no leader, or another one. It"
        " passes; if not, look at that partition and its replicas",
    ),
    Phrase(
        "larger ({n} bytes) than configured",
        "a batch of an internal topic is larger than the buffer that coordinators load it with; the buffer is made larger."
        " Nothing is wrong",
    ),
    Phrase(
        "could be a left over from an aborted upgrade|with an unknown group type",
        "a coordinator ignored a record of its topic that a newer Kafka had written (a downgrade). Groups and offsets in other"
        " records are not affected",
    ),
    Phrase(
        "deserializing record {} from {} failed",
        "a record of __consumer_offsets or __transaction_state cannot be decoded, so the coordinator of this partition does not"
        " load: a newer Kafka wrote the record, or it is damaged. The exception beside it says what is wrong with it",
        ("crc-mismatch", "record-body-mismatch"),
    ),
    Phrase(
        "replaying record {} failed",
        "a coordinator could not apply a record. If it was to be written, the request fails and nothing is written; if it was"
        " read from the topic, this partition is not served. The accompanying exception says why",
        is_general=True,
    ),
    Phrase(
        "but found no log",
        "a coordinator was to load a partition of its topic that has moved away meanwhile. Nothing is lost",
    ),
    Phrase(
        "because it is larger than the maximum batch size|because it is too large to be persisted",
        "a coordinator could not write a record to its topic, because it is larger than max.message.bytes of the topic: many"
        " members or partitions in one group. What was written before remains; raise the limit",
    ),
    Phrase(
        "of the coordinator {} is out of sync with the underlying log",
        "a coordinator found other offsets in its topic than it expected, and reloads the partition. Committed offsets are not"
        " lost; clients ask again",
    ),
    Phrase(
        "failed to write records to|writing records to {} failed due to|failed to write the transaction marker to|appending"
        " metadata message for group|failed to persist metadata for group|failed to write empty metadata for group|failed to"
        " append {} tombstones to|failed to remove expired transactionalid|transaction expiration for partition {} failed|could"
        " not delete offsets for deleted|could not update the offsets cache|trying to update the offsets cache",
        "a coordinator could not write to its topic. The client gets an error and asks again; what was committed before is not"
        " lost. Look at the leader and the in-sync replicas of that partition",
        is_general=True,
    ),
    Phrase(
        "cannot load coordinator {} in state|failed to unload coordinator for|failed to unload metadata for|failed due to {}"
        " ignoring it|hit an unexpected exception|unloaded transaction metadata {} as part of loading",
        f"a coordinator failed in a task or a request. Its topic is not damaged by that. {_WHY}",
        is_general=True,
    ),
    # groups
    Phrase(
        "could not complete rebalance because no members|setting empty assignments for members|sending empty assignment to member"
        "|unexpected notification of sync expiration|attempt to add rejoining member",
        "members of a group came too late, or not at all, when it was balanced. This concerns the clients; offsets are not lost",
    ),
    Phrase(
        "failed to parse consumer protocol|cannot upgrade {}group|cannot downgrade the consumer group",
        "the coordinator does not understand what members of a group say about themselves, or the group cannot change to the"
        " other group protocol; the text says why. Offsets are not lost",
    ),
    Phrase(
        "offset commits from consumers as well as transactional producers",
        "a group commits offsets both inside and outside of transactions, so that one may replace the other. Change the clients;"
        " the log is sound",
    ),
    Phrase(
        "is identified as a known static member|FENCED_INSTANCE_ID",
        "two clients have the same group.instance.id; the older one is fenced. Nothing is wrong on disk",
    ),
    # transactions
    Phrase(
        "addpartitionstotxnrequest failed for node {} with a network exception|addpartitionstotxnrequest failed for node {}"
        " with an authentication exception|addpartitionstotxnrequest for node {} returned with error|unable to verify the"
        " partition has been added to the transaction",
        "a broker could not ask the coordinator whether a batch belongs to an open transaction, and did not write it. The"
        " producer sends it again, or aborts; nothing is lost",
    ),
    Phrase(
        "completed rollback of ongoing transaction",
        "a producer did not end its transaction within transaction.timeout.ms, so the coordinator aborted it. Nothing that was"
        " committed is lost; the producer gets an error at its next request",
    ),
    Phrase(
        "rollback of ongoing transaction for {} failed|failed to write an epoch fence transition|to dead queue for txn partition"
        "|when trying to timeout transaction for",
        "the coordinator could not end a transaction at this moment, and tries again. Consumers of read_committed wait at it"
        " until then; if they wait longer, `kafka-transactions.sh find-hanging` finds it",
    ),
    Phrase(
        "still owns the transaction partition for|failed since pendingstate is not defined|'s transition to {} failed: this"
        " should not happen|found incorrect producerid when expiring|with epoch equal to short.maxvalue",
        "the transaction coordinator contradicts itself: a bug of Kafka, not damage on disk. The request fails. If the"
        " transaction remains open, `kafka-transactions.sh find-hanging` finds it",
    ),
    Phrase(
        "when requesting allocateproducerids|unable to allocate producer id|producer id block is full|producer id block includes"
        " invalid|producer id block is not monotonic|[rpc producerid manager {} received error code|error while checking for"
        " producerid block zk data|waiting for the next producer id block|timed out waiting for next producer id block",
        "a broker did not get new producer ids from the controller, so idempotent and transactional producers that start now have"
        " to wait. Those that run are not affected; look at the controller",
    ),
)
