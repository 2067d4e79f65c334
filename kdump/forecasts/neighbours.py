"""Neighbouring log directories: whether they belong to one broker, and how they affect its start.

Kafka: MetaPropertiesEnsemble (since 3.7), BrokerMetadataCheckpoint (2.8); LogManager.loadLog.
"""

from __future__ import annotations

import functools
import os
from itertools import combinations
from typing import NamedTuple

from kdump.binary import system
from kdump.binary.paths import parent
from kdump.binary.source import Source
from kdump.checks.rules.directories.offset_checkpoints import LACKS_PROPERTIES, OF_ZOOKEEPER
from kdump.decoders import cluster_topics
from kdump.decoders.metadata_beside import OF_BROKER, OF_OTHER_NODE, PERHAPS_OF_COPY, listed, partitions, relation
from kdump.errors import CorruptData, Unreadable
from kdump.forecasts.exceptions import INCONSISTENT_METADATA, RUNTIME
from kdump.forecasts.outcome import DIE, OFFLINE
from kdump.formats import meta_properties, properties, tree
from kdump.formats.partition_metadata import topic_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.decoders.cluster_topics import Topics
    from kdump.formats.meta_properties import MetaProperties
    from kdump.releases.broker_startup import StartRules

_NAME = properties.META_PROPERTIES
_UNREADABLE = "meta-unreadable"
_UNKNOWN = ("file-io-error", "file-shrank", "file-permission")  # to us: the broker may read it
_UNREAD_IN_2_8 = "meta-directory-id-malformed"
_TOGETHER, _PERHAPS, _APART = range(3)
"""Whether two log directories are assumed to belong to one broker."""


class Failure(NamedTuple):
    """The reason why no log of a log directory is loaded."""

    outcome: str
    exception: str
    reason: str


class Member:
    """A log directory as its neighbours see it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.values: dict[str, str] | None = None
        self.properties: MetaProperties | None = None
        self.fault: CorruptData | None = None
        self.partitions: dict[str, str] = {}
        self.doubles: list[tuple[str, str]] = []  # two directories of one partition, such as orders-0 and orders-00
        for name, directory in partitions(path):
            if self.partitions.setdefault(name, directory) != directory:
                self.doubles.append((self.partitions[name], directory))
        self.has_metadata_log = cluster_topics.METADATA_DIRECTORY in self.partitions
        try:
            with Source(os.path.join(path, _NAME)) as source:
                data = source.read(0, properties.MAX_SIZE)
            if properties.has_malformed_escape(data):
                raise CorruptData("meta-escape-malformed", "a \\u in it is not followed by four hex digits")
            self.values = properties.read(data)
            self.properties = meta_properties.of(self.values)
        except CorruptData as fault:
            self.fault = fault
        except Unreadable as error:
            if error.code in _UNKNOWN:
                raise
            if error.code != "file-missing":
                self.fault = CorruptData(_UNREADABLE, f"it cannot be read: {error.message}")

    @property
    def broker(self) -> tuple[str | None, int] | None:
        """The ids of the cluster and the broker; None if unknown."""
        if self.properties is None or self.properties.node_id is None:
            return None
        return self.properties.cluster_id, self.properties.node_id

    @property
    def is_of_kraft(self) -> bool:
        return self.values is not None and self.values.get("version") == "1"

    @property
    def is_missing(self) -> bool:
        """Whether there is no meta.properties."""
        return self.values is None and self.fault is None

    @functools.cached_property
    def topic_ids(self) -> dict[str, set[bytes]]:
        """The topic ids of partitions, by topic."""
        ids: dict[str, set[bytes]] = {}
        for name, directory in self.partitions.items():
            topic_id = topic_id_of(directory)
            if topic_id is not None:
                ids.setdefault(name.rpartition("-")[0], set()).add(topic_id)
        return ids

    def shares_partitions_with(self, other: Member) -> bool:
        return not self.partitions.keys().isdisjoint(other.partitions)


class Neighbours:
    """The log directories that were named or found together. `named` are the paths that were named explicitly.

    By log directory, `failures` say why its logs are not loaded, and `conditions` what would keep the broker from starting, but
    cannot be verified. `duplicates` are log directories of the same broker that contain the same partition, by its path.
    In a fleet, log directories of several brokers are together.
    """

    def __init__(self, paths: Sequence[str], rules: StartRules, named: Sequence[str] = (), *, is_fleet: bool = False) -> None:
        self.rules = rules
        self._named = frozenset(named)
        self._is_fleet = is_fleet
        self.failures: dict[str, Failure] = {}
        self.conditions: dict[str, list[str]] = {}
        self.duplicates: dict[str, str] = {}
        self._topics: dict[str, tuple[Topics | None, bool]] = {}
        self._members = {path: Member(path) for path in dict.fromkeys(filter(None, map(_log_directory, paths)))}
        members = list(self._members.values())
        self._paths = frozenset(paths)  # without the log directories that contain named partitions
        self._has_none = all(member.is_missing for member in members)
        self._is_of_kraft = rules.is_always_kraft or any(member.is_of_kraft for member in members)
        for member in members:
            self._note_own(member)
            for here, there in member.doubles:
                self.duplicates |= {here: there, there: here}
        for one, other in combinations(members, 2):
            self._compare(one, other)

    def finds_strays(self, path: str) -> bool:
        """Whether a start compares the topic ids of a log directory with the cluster metadata."""
        member = self._members.get(path)
        return self.rules.knows_strays and member is not None and member.is_of_kraft

    def node_id_of(self, path: str) -> int | None:
        """The id of the broker that owns a log directory."""
        broker = self._members[path].broker
        return None if broker is None else broker[1]

    def topics_of(self, path: str) -> tuple[Topics | None, bool]:
        """The topics of the cluster from the metadata in this or a neighbouring log directory; None if there is none.

        Whether this is evidence comes second: the metadata in another copy of the same broker's directories is of another time.
        """
        if path not in self._topics:
            self._topics[path] = self._find_topics(path)
        return self._topics[path]

    def _find_topics(self, path: str) -> tuple[Topics | None, bool]:
        for candidate, is_evidence in sorted(self._with_metadata(path), key=lambda found: not found[1]):
            topics, own = cluster_topics.topics_in(candidate), self._members[path].properties
            if topics is not None and (candidate == path or own is None or topics.are_of(own.node_id, own.directory_id)):
                return topics, is_evidence
        return None, False

    def other_topic_id(self, path: str, topic: str, topic_id: bytes) -> bytes | None:
        """A different id of the same topic in a log directory of the same broker."""
        broker = self._members[path].broker
        for member in self._members.values():
            if member.broker == broker:
                for found in member.topic_ids.get(topic, ()):
                    if found != topic_id:
                        return found
        return None

    def holds(self, partition: str) -> bool:
        """Whether one of the log directories has an active partition with this name."""
        return any(partition in member.partitions for member in self._members.values())

    def _with_metadata(self, path: str) -> Iterator[tuple[str, bool]]:
        """Log directories with the metadata of the cluster: this one, those of its broker, others, those beside it.

        Whether it is evidence comes second; it is not if another copy of this broker's directories has it.
        """
        own = self._members[path]
        others = sorted(self._members.values(), key=lambda member: (member is not own, member.broker != own.broker))
        beside = tree.parent(path)
        found = [member.path for member in others if member.has_metadata_log]
        name = cluster_topics.METADATA_DIRECTORY
        found += [entry for entry in listed(beside) if system.is_directory(os.path.join(entry, name))]
        members = [self._members.get(candidate) or Member(candidate) for candidate in dict.fromkeys(found)]
        has_copies = sum(other.broker == own.broker for other in members) > 1  # for a broker has one metadata log
        for other in members:
            if own.properties is not None and _cluster(own.properties) == _cluster(other.properties):
                is_one_of_copies = has_copies and other.broker == own.broker
                yield other.path, other is own or not is_one_of_copies and self._is_of_same_time(own, other)

    def _is_of_same_time(self, own: Member, other: Member) -> bool:
        """Whether a directory with metadata is no other copy of this one's; where nobody can tell, whether both were named."""
        if own.properties is None or other.properties is None:
            return True
        whose = relation(own.properties, other.properties, shares_partitions=own.shares_partitions_with(other))
        are_named = {own.path, other.path} <= self._named
        return whose in (OF_BROKER, OF_OTHER_NODE) or whose == PERHAPS_OF_COPY and are_named

    def _note_own(self, member: Member) -> None:
        """Contents of a meta.properties that no start accepts, regardless of the others."""
        if member.fault is not None:
            self._note_fault(member, member.fault)
        elif member.properties is not None and self.rules.bad_properties_are_offline:
            if member.properties.node_id is None and self._is_of_kraft:
                self._fail(member, f"{_NAME} does not say which broker it belongs to")
            elif member.properties.cluster_id is None and self._is_of_kraft:
                if self.rules.is_assumed and not any(one.is_of_kraft for one in self._members.values()):
                    self._note(member, OF_ZOOKEEPER)
                else:
                    self._fail(member, f"there is no cluster.id in {_NAME}")
            elif member.properties.has_reserved_directory_id:
                self._fail(member, f"the directory.id in {_NAME} is one that Kafka reserves")
        elif self._needs_properties(member):
            self._note(member, LACKS_PROPERTIES)

    def _note_fault(self, member: Member, fault: CorruptData) -> None:
        """A broker ignores a log directory with unreadable properties, unless it contains the metadata; 2.8 ends."""
        if self.rules.bad_properties_are_offline:
            ends = member.has_metadata_log and self._is_of_kraft
        elif fault.code == _UNREAD_IN_2_8:
            return
        else:
            ends = fault.code != _UNREADABLE
        self._fail(member, f"{_NAME} is malformed: {fault.message}", DIE if ends else OFFLINE)

    def _needs_properties(self, member: Member) -> bool:
        """Whether all given log directories lack meta.properties, and a KRaft broker used this one."""
        is_given = self._has_none and member.path in self._paths
        return is_given and (self._is_of_kraft or member.has_metadata_log) and tree.is_log_directory(member.path)

    def _compare(self, one: Member, other: Member) -> None:
        if one.fault is not None or other.fault is not None:
            return
        difference, exception = self._difference(one, other)
        relation = self._relation(one, other) if difference else _APART
        if difference and relation == _TOGETHER:
            for member in (one, other):
                self._fail(member, difference, DIE, exception)
        elif difference and relation == _PERHAPS:
            self._note_both(one, other, difference)
        elif not difference and one.broker is not None and one.broker == other.broker:
            shared = sorted(one.partitions.keys() & other.partitions.keys())
            if shared and self._may_be_copies(one, other):
                self._note_both(one, other, f"{shared[0]} is in both")
                return
            for name in shared:
                here, there = one.partitions[name], other.partitions[name]
                self.duplicates.setdefault(here, there)
                self.duplicates.setdefault(there, here)

    def _may_be_copies(self, one: Member, other: Member) -> bool:
        """Whether one of two log directories of a broker may be a copy: all that it has is in the other, and no ids differ."""
        assert one.properties is not None and other.properties is not None
        have_ids = None not in (one.properties.directory_id, other.properties.directory_id)
        is_subset = one.partitions.keys() <= other.partitions.keys() or one.partitions.keys() >= other.partitions.keys()
        return is_subset and not have_ids and self._relation(one, other) == _PERHAPS

    def _difference(self, one: Member, other: Member) -> tuple[str, str]:
        """The properties that must be equal, or must differ, in two log directories of one broker, and the exceptions."""
        if one.values is None or other.values is None:
            if not self._is_of_kraft or one.values is other.values:
                return "", ""
            return f"there is no {_NAME} in {(one if one.values is None else other).path}", RUNTIME
        assert one.properties is not None and other.properties is not None
        first, second = one.properties, other.properties
        if not self.rules.bad_properties_are_offline and one.values != other.values:
            names = sorted(name for name in {*one.values, *other.values} if one.values.get(name) != other.values.get(name))
            return f"{_name_both(one, other)} differ in {', '.join(names)}", INCONSISTENT_METADATA
        if None not in (first.cluster_id, second.cluster_id) and first.cluster_id != second.cluster_id:
            return f"{_name_both(one, other)} name two clusters, {first.cluster_id} and {second.cluster_id}", RUNTIME
        if None not in (first.node_id, second.node_id) and first.node_id != second.node_id:
            return f"{_name_both(one, other)} name two brokers, {first.node_id} and {second.node_id}", RUNTIME
        if first.directory_id is not None and first.directory_id == second.directory_id and self.rules.bad_properties_are_offline:
            directory_id = one.values["directory.id"]
            if one.shares_partitions_with(other):
                return f"one is a copy of the other: both have the directory.id {directory_id}", RUNTIME
            return f"{_name_both(one, other)} have the same directory.id, {directory_id}", RUNTIME
        return "", ""

    def _relation(self, one: Member, other: Member) -> int:
        """Differing log directories belong to two brokers if both contain a replica of one partition, or a metadata log.

        For a copy beside its original, it is unknown whether log.dirs lists it, unless both were named.
        """
        is_same_broker = one.broker is not None and one.broker == other.broker
        if is_same_broker and one.shares_partitions_with(other):
            return _TOGETHER if {one.path, other.path} <= self._named else _PERHAPS
        if not is_same_broker and (self._is_fleet or not self._partitions_beside(one).isdisjoint(self._partitions_beside(other))):
            return _PERHAPS if one.broker is None or other.broker is None else _APART
        return _TOGETHER if is_same_broker or parent(one.path) == parent(other.path) else _PERHAPS

    def _partitions_beside(self, member: Member) -> set[str]:
        """The partitions in all log directories of one broker, including its metadata log."""
        broker = member.broker
        if broker is None:
            return set(member.partitions)
        return {name for other in self._members.values() if other.broker == broker for name in other.partitions}

    def _fail(self, member: Member, reason: str, outcome: str = DIE, exception: str = RUNTIME) -> None:
        """The first reason counts: what takes a log directory offline is malformed, and not compared."""
        self.failures.setdefault(member.path, Failure(outcome, exception, reason))

    def _note_both(self, one: Member, other: Member, why: str) -> None:
        """Note for two log directories why they are not those of one broker that starts."""
        for member in (one, other):
            self._note(member, f"if {one.path} and {other.path} are log directories of one broker, it does not start: {why}")

    def _note(self, member: Member, condition: str) -> None:
        """One condition per log directory is enough: somebody has to examine the directory anyway."""
        self.conditions.setdefault(member.path, [condition])


def _log_directory(path: str) -> str:
    """A log directory, or the one that contains a partition; empty if there is none."""
    try:
        if not tree.is_partition(path):
            return path
    except Unreadable as error:
        if error.code == "file-io-error":
            raise
        return ""
    above = tree.parent(path)
    return above if tree.is_log_directory(above) else ""


def _cluster(of: MetaProperties | None) -> str | None:
    return None if of is None else of.cluster_id


def _name_both(one: Member, other: Member) -> str:
    return f"{_NAME} of {one.path} and of {other.path}"
