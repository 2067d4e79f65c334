"""The records of the topic __transaction_state."""

from __future__ import annotations

from kdump.messages.schema import Field, Message

STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""The states of transactions, by number."""

RECORDS: dict[int, tuple[Message, Message]] = {
    0: (
        Message(
            "TransactionLogKey",
            Field("transactionalId", "string"),
        ),
        Message(
            "TransactionLogValue",
            Field("producerId", "int64"),
            Field("previousProducerId", "int64", since=1, tag=0, tagged_since=1, default=-1),
            Field("nextProducerId", "int64", since=1, tag=1, tagged_since=1, default=-1),
            Field("producerEpoch", "int16"),
            Field("nextProducerEpoch", "int16", since=1, tag=3, tagged_since=1, default=-1),
            Field("transactionTimeoutMs", "int32"),
            Field("transactionStatus", "int8", value_names=STATES),
            Field(
                "transactionPartitions",
                "[]PartitionsSchema",
                Field("topic", "string"),
                Field("partitionIds", "[]int32"),
                nullable_since=0,
            ),
            Field("transactionLastUpdateTimestampMs", "int64"),
            Field("transactionStartTimestampMs", "int64"),
            Field("clientTransactionVersion", "int16", since=1, tag=2, tagged_since=1),
            flexible_since=1,
            # Version 0: 0.11.0.0, KIP-98 (KAFKA-5059)
            # Version 1: 3.4.1, KIP-915 (KAFKA-14869)
            last_version=1,
        ),
    ),
}
"""The messages of key and value, by the record type at the start of the key."""
