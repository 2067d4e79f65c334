"""The names that `--decode` takes, and which of them fits a file."""

from __future__ import annotations

from kdump.cli.schema_options import PLAIN
from kdump.cli.shared_options import STDIN
from kdump.decoding.decoded import internal_topic
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.releases.profile import Profile

AUTO, NONE = "auto", "none"

OPTIONS = {
    "consumer-offsets": "offsets-decoder",
    "transaction-state": "transaction-log-decoder",
    "cluster-metadata": "cluster-metadata-decoder",
    "remote-log-metadata": "remote-log-metadata-decoder",
    "share-group-state": "share-group-state-decoder",
}
"""The option of Kafka's tool that decodes the records of an internal topic, by the name that `--decode` takes."""

NAMES = (AUTO, NONE, *OPTIONS, *PLAIN)


def named(text: str) -> str:
    """The spelling in NAMES for a text; Kafka's names of topics are accepted, too."""
    return text.lower().lstrip("_").replace("_", "-")


def topic_of(path: str) -> str:
    """The internal topic that a file belongs to, by its name and its directory; empty for any other topic."""
    if path.startswith(STDIN + ".") and file_name.suffix(path) != file_name.CHECKPOINT:
        return ""  # stdin is in no directory
    return internal_topic(path)


def no_words(profile: Profile, name: str) -> str:
    """The message where Kafka's lines cannot be decoded in this release: it has no such decoder, or kdump lacks its words."""
    return f"Kafka {profile.release} has no decoder for {name}"
