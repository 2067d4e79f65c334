"""Which metadata speaks of a log directory: its own, or that of another log directory of the cluster beside it."""

from __future__ import annotations

import functools
import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.decoders import cluster_topics
from kdump.errors import CorruptData, Unreadable
from kdump.formats import meta_properties, properties, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.decoders.cluster_topics import Topics
    from kdump.formats.meta_properties import MetaProperties

OF_BROKER, OF_OTHER_NODE, OF_COPY, PERHAPS_OF_COPY = "broker", "other node", "copy", "perhaps copy"
"""Whose log directory one with metadata is, seen from another: that of the same broker; of another node of the cluster; or of
the same node, but from another copy of its directories, certainly or for all that one can tell."""

_NOT_TOLD = ("file-io-error", "file-shrank")  # another try may give another answer


def relation(own: MetaProperties, other: MetaProperties, *, shares_partitions: bool) -> str:
    """Whose log directory the other is, of two of one cluster.

    The log directories of one broker have directory ids of their own since 3.7, and no partition in common. Copies of one log
    directory have the same id. Without ids, copies of different days cannot be told from the directories of one broker.
    """
    if own.node_id is None or own.node_id != other.node_id:
        return OF_OTHER_NODE
    if shares_partitions or own.directory_id is not None and own.directory_id == other.directory_id:
        return OF_COPY
    return PERHAPS_OF_COPY if own.directory_id is None or other.directory_id is None else OF_BROKER


def topics_for(log_directory: str) -> Topics | None:
    """The topics of the cluster by the metadata in a log directory or, if it has none, in one beside it that is no copy of it.

    None if there is no such metadata, or not all of it makes sense, or several copies of this node's are there. Raises Unreadable
    where the system does not give all of it.
    """
    topics = _topics_in(log_directory)
    own = None if topics is not None else properties_of(log_directory)
    if own is None or own.cluster_id is None:
        return topics
    found: dict[str, MetaProperties] = {}
    for beside in listed(tree.parent(log_directory)):
        if system.is_directory(os.path.join(beside, cluster_topics.METADATA_DIRECTORY)):
            other = properties_of(beside)
            if other is not None and other.cluster_id == own.cluster_id:
                found[beside] = other
    has_copies = sum(other.node_id == own.node_id for other in found.values()) > 1  # for a node has one metadata log
    for beside, other in found.items():
        shares = not _partitions(log_directory).isdisjoint(_partitions(beside))
        whose = relation(own, other, shares_partitions=shares)
        if whose == OF_OTHER_NODE or whose == OF_BROKER and not has_copies:
            topics = _topics_in(beside)
            if topics is not None and topics.are_of(own.node_id, own.directory_id):
                return topics
    return None


def held_beside(log_directory: str) -> tuple[int | None, set[str]]:
    """The id of the node that a log directory is of, and the partitions in its other log directories beside this one.

    Raises Unreadable where the system does not give all of it.
    """
    own = properties_of(log_directory)
    held: set[str] = set()
    if own is None or own.node_id is None:
        return None, held
    here = _partitions(log_directory)
    for beside in listed(tree.parent(log_directory)):
        other = properties_of(beside)
        there = set() if other is None or other.cluster_id != own.cluster_id else _partitions(beside)
        if there and other is not None:
            whose = relation(own, other, shares_partitions=not here.isdisjoint(there))
            held |= there if whose in (OF_BROKER, PERHAPS_OF_COPY) else set()
    return own.node_id, held


def _topics_in(log_directory: str) -> Topics | None:
    path = os.path.join(log_directory, cluster_topics.METADATA_DIRECTORY)
    try:
        names = system.names(path)
    except Unreadable as error:
        if error.code in _NOT_TOLD:
            raise
        return None
    return _read_topics(log_directory, tuple((name, _state(os.path.join(path, name))) for name in names))


@functools.lru_cache(maxsize=2)
def _read_topics(log_directory: str, state: tuple[tuple[str, tuple[int, ...]], ...]) -> Topics | None:
    """The topics by the metadata of a log directory whose files are in this `state`. Each partition asks for them."""
    return cluster_topics.topics_in(log_directory)


def _state(path: str) -> tuple[int, ...]:
    """What shows whether a file has changed."""
    status = system.status(path)
    return () if status is None else (status.st_ino, status.st_size, status.st_mtime_ns)


def properties_of(log_directory: str) -> MetaProperties | None:
    """What the `meta.properties` of a log directory says; None if it cannot be read. Raises Unreadable where the system fails."""
    try:
        with Source(os.path.join(log_directory, properties.META_PROPERTIES)) as source:
            return meta_properties.of(properties.read(source.read(0, properties.MAX_SIZE)))
    except CorruptData:
        return None
    except Unreadable as error:
        if error.code in _NOT_TOLD:
            raise
        return None


def partitions(log_directory: str) -> Iterator[tuple[str, str]]:
    """The active partitions of a log directory, by name, each with its path; none if it cannot be listed."""
    for path in listed(log_directory):
        name = tree.directory_name(path)
        if name is not None and not name.state:
            yield f"{name.topic}-{name.partition}", path


def _partitions(log_directory: str) -> set[str]:
    return {name for name, _ in partitions(log_directory)}


def listed(path: str) -> list[str]:
    """The subdirectories of a directory; none if it is missing or may not be listed. Raises Unreadable for other failures."""
    try:
        return tree.partitions(path)
    except Unreadable as error:
        if error.code in _NOT_TOLD:
            raise
        return []
