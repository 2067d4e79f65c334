"""Replicas of another topic of the same name, as after a topic was deleted and created again: no question compares them."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kdump.errors import Unreadable
from kdump.formats import partition_metadata
from kdump.formats.partition_metadata import text_of, topic_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdump.pipeline.discovery import FileItem


class OtherTopic(NamedTuple):
    """The partition.metadata of a replica that has another topic id than most replicas of topics with this name."""

    item: FileItem
    topic_id: bytes
    most: bytes

    @property
    def replica(self) -> str:
        """The replica as questions name it."""
        return f"{self.item.broker}:{self.item.topic}-{self.item.partition}"

    @property
    def message(self) -> str:
        return (
            f"The topic id is {text_of(self.topic_id)}, and {text_of(self.most)} in other replicas of topics that are called"
            f" {self.item.topic}: this replica was not compared with them."
        )


def find(items: Iterable[FileItem]) -> list[OtherTopic]:
    """The replicas, among those whose files these are, that are of another topic. What cannot be read is none."""
    topics: dict[str, list[tuple[FileItem, bytes]]] = {}
    for item in items:
        if item.topic is None or item.state is not None or os.path.basename(item.path) != partition_metadata.NAME:
            continue
        try:
            topic_id = topic_id_of(os.path.dirname(item.path))
        except Unreadable:
            continue  # the check of the directory says so
        if topic_id is not None:
            topics.setdefault(item.topic, []).append((item, topic_id))
    found = []
    for replicas in topics.values():
        counts = Counter(topic_id for _, topic_id in replicas)
        most = max(counts, key=lambda topic_id: (counts[topic_id], topic_id))
        found += [OtherTopic(item, topic_id, most) for item, topic_id in replicas if topic_id != most]
    return found
