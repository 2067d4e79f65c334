"""Topic ids: those of a topic's partitions compared with one another and with the cluster's metadata."""

from __future__ import annotations

import os

from kdump.binary.source import NoSource
from kdump.checks.catalogue.fault_kind import IGNORE, STRAY
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR, INFO, WARNING
from kdump.formats import tree
from kdump.formats.partition_metadata import text_of, topic_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Emit
    from kdump.checks.settings import Settings
    from kdump.decoders.cluster_topics import Topics


def check(path: str, settings: Settings, emit: Emit) -> None:
    """Report partitions whose topic id is not that of the metadata or, without metadata, of the topic's other partitions."""
    topics = _topics_in(path) if tree.is_of_kraft(path) else None
    ids: dict[str, tuple[bytes, str]] = {}
    for directory in tree.partitions(path):
        name = tree.directory_name(directory)
        topic_id = topic_id_of(directory) if name is not None and not name.is_going else None
        if name is None or topic_id is None or name.topic == tree.METADATA_TOPIC:
            continue
        if topics is not None:
            _check_against_metadata(directory, name, topic_id, topics, settings, emit)
            continue
        first_id, first = ids.setdefault(name.topic, (topic_id, directory))
        if topic_id != first_id:
            file = f"{directory}/{tree.PARTITION_METADATA}"
            message = (
                f"The topic id is not that of {first.rpartition('/')[2]}. One of the two is from another topic with this name."
            )
            context = FileContext(NoSource(file), file, "metadata", settings, emit)
            context.report("partition-metadata-bad", 0, 0, message, severity=WARNING)


def _check_against_metadata(
    directory: str, name: tree.DirectoryName, topic_id: bytes, topics: Topics, settings: Settings, emit: Emit
) -> None:
    """Report a topic id that the metadata does not have; as info if the topic may have been created during the copy."""
    known = topics.names.get(topic_id)
    if known == name.topic and (topic_id, name.partition) in topics.replicas:
        return
    now = topics.id_of(name.topic)
    severity, forecast = INFO, STRAY
    if known is not None and known != name.topic:
        severity, forecast = ERROR, IGNORE
        message = f"The topic id is that of topic {known}. A KRaft broker does not serve this directory."
    elif known is not None:
        message = f"Topic {known} has no partition {name.partition}. A KRaft broker renames this directory to -stray."
    elif now is not None:
        severity = INFO if tree.was_never_written(directory) else ERROR
        message = (
            f"The topic id is not {text_of(now)}, which topic {name.topic} has. A KRaft broker renames this directory to -stray."
        )
    else:
        message = f"The cluster has no topic {name.topic}. A KRaft broker renames this directory to -stray."
    file = os.path.join(directory, tree.PARTITION_METADATA)
    context = FileContext(NoSource(file), file, "metadata", settings, emit)
    context.report("partition-metadata-bad", 0, 0, message, severity=severity, forecast=forecast)


def _topics_in(path: str) -> Topics | None:
    from kdump.decoders import cluster_topics  # which only log directories of KRaft want

    return cluster_topics.topics_in(path)
