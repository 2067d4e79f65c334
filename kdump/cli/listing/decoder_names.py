"""The names that `--decode` takes."""

from __future__ import annotations

from kdump.cli.schema_options import PLAIN

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


def no_words(profile: Profile, name: str) -> str:
    """The message where Kafka's lines cannot be decoded in this release: it has no such decoder, or kdump lacks its words."""
    return f"Kafka {profile.release} has no decoder for {name}"
