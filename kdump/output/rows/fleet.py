"""Rows about a fleet: its topics, its codecs, its largest partitions and records."""

from __future__ import annotations

from kdump.tables import Binary, Float64, Int16, Int32, Int64, Row, Text


class TopicSize(Row):
    """What a topic holds. `size` counts every replica, `size_of_one_replica` the largest of each partition.

    `batches` and `records` count once, on the replica with most; records are null if old messages do not say. `oldest` and
    `newest` are timestamps of batches, null if there are none.
    """

    topic: Text | None
    partitions: Int64
    replicas: Int64
    segments: Int64
    size: Int64
    size_of_one_replica: Int64
    batches: Int64
    records: Int64 | None
    oldest: Int64 | None
    newest: Int64 | None


class TopicLine(Row):
    """A topic in the summary of a scan: sizes and records as in TopicSize, and findings by severity.

    `codec` is the one that holds most, `codec_share` its part of the bytes of batches. `saving` is how many times as large the
    batches would be uncompressed, null if that was not measured.
    """

    topic: Text | None
    partitions: Int64
    replicas: Int64
    segments: Int64
    size: Int64
    batches: Int64
    records: Int64 | None
    oldest: Int64 | None
    newest: Int64 | None
    codec: Text | None
    codec_share: Float64 | None
    saving: Float64 | None
    errors: Int64
    warnings: Int64
    infos: Int64


class CodecUse(Row):
    """What a codec holds of a topic, in batches on all brokers.

    `measured` is the size of those batches whose uncompressed size was measured. `uncompressed` is the size of all of them
    without compression, with headers; it is extrapolated if not all were measured, and null if none was.
    """

    topic: Text | None
    codec: Text
    batches: Int64
    records: Int64 | None
    size: Int64
    measured: Int64
    uncompressed: Int64 | None


def uncompressed_of_all(uncompressed: int, measured: int, size: int) -> int | None:
    """The uncompressed size of batches of `size` bytes, if those among them of `measured` bytes take `uncompressed`."""
    if not measured:
        return None
    return uncompressed if measured == size else int(1.0 * uncompressed / measured * size)  # as SQL has it


class CodecLine(Row):
    """A codec in the summary of a scan: sizes as in CodecUse, of all topics. `saved` is a part of `uncompressed`."""

    codec: Text
    batches: Int64
    size: Int64
    measured: Int64
    uncompressed: Int64 | None
    saved: Float64 | None


class PartitionSize(Row):
    """The largest replica of a partition, beside the mean of its topic's partitions."""

    topic: Text
    partition: Int32
    size: Int64
    partitions: Int64
    times_the_mean: Float64


class TopicSpan(Row):
    """What was written to a topic in the span of time that begins at `start`."""

    topic: Text
    start: Int64
    batches: Int64
    records: Int64 | None
    size: Int64


class KeyUse(Row):
    """The records with a key in a topic, and the size of their keys and values."""

    topic: Text | None
    key: Binary
    records: Int64
    size: Int64
    tombstones: Int64


class LargeRecord(Row):
    """A record, its place and its size."""

    broker: Text | None
    topic: Text | None
    partition: Int32 | None
    path: Text
    position: Int64
    offset: Int64
    timestamp: Int64
    key_size: Int32
    value_size: Int32


class ProducerUse(Row):
    """What a producer wrote to a replica of a partition; `open_since` is the first offset of its transaction without a marker."""

    broker: Text | None
    topic: Text | None
    partition: Int32 | None
    producer_id: Int64
    producer_epoch: Int16
    batches: Int64
    records: Int64 | None
    size: Int64
    first_offset: Int64
    last_offset: Int64
    oldest: Int64 | None
    newest: Int64 | None
    open_since: Int64 | None
