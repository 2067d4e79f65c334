"""What is known of a topic's configuration: whether the cleaner may have removed records, and whether the topic is tiered."""

from __future__ import annotations

from kdump.checks.settings import COMPACT, DELETE, UNKNOWN
from kdump.checks.wording import metadata_words
from kdump.errors import Unreadable
from kdump.formats import partition_metadata, tree
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.settings import Settings
    from kdump.decoders.cluster_topics import Topics

_COMPACTED = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_INTERNAL = (*_COMPACTED, tree.METADATA_TOPIC, "__remote_log_metadata")
"""Topics that are never tiered. Kafka: UnifiedLog.remoteLogEnabled."""
_CHANGELOG = "-changelog"  # of Kafka Streams
OPTION = "--cleanup-policy"


class TopicPolicy(Declared):
    """The cleanup policy of a topic, and whether it is tiered.

    `cleanup` is `unknown` where nothing says it. `is_tiered` is None where nothing says it. `by` and `tiered_by` say in words
    where each is known from.
    """

    topic: str
    cleanup: str
    by: str
    is_tiered: bool | None
    tiered_by: str

    @property
    def may_be_compacted(self) -> bool:
        """Whether missing offsets may be the cleaner's work."""
        return self.cleanup != DELETE

    @property
    def is_compacted(self) -> bool:
        """Whether the topic is compacted, or by its name that of a Kafka Streams application, which are."""
        return COMPACT in self.cleanup or self.cleanup == UNKNOWN and self.topic.endswith(_CHANGELOG)

    @property
    def why_not_compacted(self) -> str:
        """Why nothing was compacted, at the end of a sentence."""
        if self.topic == tree.METADATA_TOPIC and self.by != OPTION:
            return "the metadata log cannot be compacted"
        return "the topic is not compacted" + ("" if self.by == OPTION else f" ({self.by})")

    @property
    def on_gaps(self) -> str:
        """What is known of gaps in a topic that may be compacted, as sentences."""
        if COMPACT in self.cleanup and self.by != OPTION:
            return f"The topic is compacted ({self.by}), which may explain it."
        known = f" {self.by[0].upper()}{self.by[1:]}." if self.cleanup == UNKNOWN and self.by else ""
        return f"Valid if the topic is compacted; if it is not, add `{OPTION} delete`.{known}"


def policy_of(directory: str, settings: Settings) -> TopicPolicy:
    """What is known of the topic of a partition directory.

    The cleanup policy is what the option says, or what the metadata log beside it says, or what it must be by the topic's name:
    no cleaner touches the metadata log, and brokers create their internal topics as compacted ones. Without a policy of its own,
    a topic has that of its broker, which no file of the log directory states.
    """
    name = tree.directory_name(directory)
    topic = "" if name is None else name.topic
    topics = None if name is None or name.is_going or topic == tree.METADATA_TOPIC else _topics_for(directory, topic)
    is_tiered, tiered_by = _tiering(topic, topics)
    cleanup, by = _cleanup(topic, topics)
    if settings.cleanup_policy != UNKNOWN:
        cleanup, by = settings.cleanup_policy, OPTION
    return TopicPolicy(topic, cleanup, by, is_tiered=is_tiered, tiered_by=tiered_by)


def _cleanup(topic: str, topics: Topics | None) -> tuple[str, str]:
    if topic == tree.METADATA_TOPIC:
        return DELETE, "no cleaner touches the metadata log"
    if topics is not None:
        from kdump.decoders.cluster_topics import CLEANUP_POLICY  # is loaded by now

        cleanup, by = topics.configs.get(topic, {}).get(CLEANUP_POLICY), metadata_words(topics)
        if cleanup is not None and COMPACT in cleanup:
            return cleanup, f"{CLEANUP_POLICY}={cleanup}, {by}"
        if topic in topics.were_compacted:
            return UNKNOWN, f"the topic was compacted at some time, {by}"
        if cleanup is not None:
            return DELETE, f"{CLEANUP_POLICY}={cleanup}, {by}"
    if topic in _COMPACTED:
        return COMPACT, "brokers compact this internal topic"
    if topics is not None:
        none = f"the topic has no {CLEANUP_POLICY} of its own, {by}"
        return UNKNOWN, f"{none}, so it has that of its broker: delete, unless configured"
    return UNKNOWN, ""


def _tiering(topic: str, topics: Topics | None) -> tuple[bool | None, str]:
    if topic in _INTERNAL:
        return False, "internal topics are never tiered"
    if topics is None:
        return None, ""
    from kdump.decoders.cluster_topics import REMOTE_STORAGE  # is loaded by now

    value = topics.configs.get(topic, {}).get(REMOTE_STORAGE)
    shown = f"{REMOTE_STORAGE} is {'not set' if value is None else value}, {metadata_words(topics)}"
    return value is not None and value.strip().lower() == "true", shown


def _topics_for(directory: str, topic: str) -> Topics | None:
    """The topics by the metadata beside a partition, if that has its topic, and not another one of this name."""
    from kdump.decoders import metadata_beside  # which only gaps want

    topics = metadata_beside.topics_for(tree.parent(directory))
    if topics is None or (topic_id := topics.id_of(topic)) is None:
        return None
    try:
        return topics if partition_metadata.topic_id_of(directory) in (None, topic_id) else None
    except Unreadable:
        return topics
