"""Partitions of a place added up by topic."""

from __future__ import annotations

from kdump.overview.row import TopicSum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.overview.row import PartitionSum


def topic_sums(path: str, sums: Sequence[PartitionSum]) -> list[TopicSum]:
    """The topics of a place, the largest first. Directories that are to be deleted or set aside belong to none."""
    by_topic: dict[str, list[PartitionSum]] = {}
    for one in sums:
        if one.topic is not None and one.state is None:
            by_topic.setdefault(one.topic, []).append(one)
    topics = [_topic(path, topic, of_topic) for topic, of_topic in by_topic.items()]
    return sorted(topics, key=lambda topic: (-topic.size, topic.topic))


def _topic(path: str, topic: str, sums: Sequence[PartitionSum]) -> TopicSum:
    codecs: dict[str, int] = {}
    for one in sums:
        for name, size in one.codecs.items():
            codecs[name] = codecs.get(name, 0) + size
    codec = max(codecs, key=lambda name: (codecs[name], name)) if codecs else None
    measured = sum(one.measured for one in sums)
    offsets = [_offsets(one) for one in sums]
    records = [one.records if one.is_read_whole else None for one in sums]
    oldest = [one.oldest_timestamp for one in sums if one.oldest_timestamp is not None]
    newest = [one.newest_timestamp for one in sums if one.newest_timestamp is not None]
    return TopicSum(
        path,
        topic,
        len(sums),
        sum(one.segments for one in sums),
        sum(one.size for one in sums),
        None if None in offsets else sum(filter(None, offsets)),
        None if None in records else sum(filter(None, records)),
        min(oldest, default=None),
        max(newest, default=None),
        codec,
        None if codec is None else codecs[codec] / max(sum(codecs.values()), 1),
        sum(one.uncompressed for one in sums) / measured if measured and set(codecs) != {"none"} else None,
        sum(one.producers for one in sums),
        sum(one.open_transactions for one in sums),
        sum(one.broken_at is not None for one in sums),
    )


def _offsets(one: PartitionSum) -> int | None:
    """How many offsets a partition has; None where its end was not found."""
    return None if one.end_offset is None or one.first_offset is None else max(one.end_offset - one.first_offset, 0)
