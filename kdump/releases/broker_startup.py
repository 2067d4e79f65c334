"""How a broker loads its logs when it starts: what differs by release.

A timeline gives the first release that is known to do so: the broker's own log manager was run in the releases of PROVED.
"""

from __future__ import annotations

from kdump.releases.timeline import FIRST, History, version_of

PROVED = ("2.8.2", "3.9.1", "4.3.1")
"""The releases whose starts were recorded, and that a start can be told for."""

FINDS_BY_FIRST_OFFSET = {FIRST: False, "4.3.1": True}
"""Whether a batch is found by the first offset of each, for which wrappers are opened, and not by the last."""

CHECKS_MARKER_SIZE = {FIRST: True, "4.3.1": False}
"""Whether a transaction marker that is too short is an invalid record, and not an end of the buffer."""

SWAPS_BY_RENAMING = {FIRST: False, "3.9.1": True}
"""Whether segments with the suffix .swap are renamed into place unseen; if not, they are recovered and then swapped in."""

NOTES_EPOCHS_OF_RESCANS = {FIRST: False, "3.9.1": True}
"""Whether a segment that is recovered because of its index has its leader epochs noted."""

TELLS_OF_EVERY_RESCAN = {FIRST: True, "3.9.1": False}
"""Whether the broker logs that an index is missing for segments, too, which recovery comes to anyway."""

GOES_OFFLINE = {FIRST: False, "3.9.1": True}
"""Whether a file that cannot be read as it should takes the log directory offline, and does not end the broker at once."""

BAD_NUMBERS_OF_EPOCHS_ARE_LINES = {FIRST: True, "3.9.1": False}
"""Whether a leader epoch that is no number is a malformed line, and not an exception of its own."""

TAKES_NEWER_METADATA = {FIRST: False, "3.9.1": True}
"""Whether a partition.metadata of a later version is read, too."""

SURVIVES_LOST_TRANSACTIONS = {FIRST: False, "3.9.1": True}
"""Whether an open transaction that starts outside of the log is taken as it is."""

KEEPS_DELETED_CHECKPOINTS = {FIRST: False, "3.9.1": True}
"""Whether KRaft snapshots marked for deletion are left to others."""

KNOWS_STRAYS = {FIRST: False, "3.9.1": True}
"""Whether a directory marked -stray is loaded and set aside; before, no broker starts with one. Kafka: since 3.7."""

BAD_PROPERTIES_ARE_OFFLINE = {FIRST: False, "3.9.1": True}
"""Whether a malformed meta.properties costs its log directory only, and ids are compared one by one. Kafka: since 3.7."""

IS_ALWAYS_KRAFT = {FIRST: False, "4.3.1": True}
"""Whether there are no brokers any more that have their metadata in ZooKeeper. Kafka: since 4.0."""

EXCEPTION_NAMES: dict[str, dict[str, str]] = {
    FIRST: {
        "org.apache.kafka.common.errors.LogSegmentOffsetOverflowException": "kafka.common.LogSegmentOffsetOverflowException",
    },
    "3.9.1": {},
}
"""Exceptions that had another name, by the one they have now."""


class StartRules:
    """What one release does when it starts. Nothing that uses them asks for the release."""

    def __init__(self, release: str) -> None:
        then = History(release)
        self.release = release
        self.finds_by_first_offset = then.at(FINDS_BY_FIRST_OFFSET)
        self.checks_marker_size = then.at(CHECKS_MARKER_SIZE)
        self.swaps_by_renaming = then.at(SWAPS_BY_RENAMING)
        self.notes_epochs_of_rescans = then.at(NOTES_EPOCHS_OF_RESCANS)
        self.tells_of_every_rescan = then.at(TELLS_OF_EVERY_RESCAN)
        self.goes_offline = then.at(GOES_OFFLINE)
        self.bad_numbers_of_epochs_are_lines = then.at(BAD_NUMBERS_OF_EPOCHS_ARE_LINES)
        self.takes_newer_metadata = then.at(TAKES_NEWER_METADATA)
        self.survives_lost_transactions = then.at(SURVIVES_LOST_TRANSACTIONS)
        self.exception_names = then.at(EXCEPTION_NAMES)
        self.bad_properties_are_offline = then.at(BAD_PROPERTIES_ARE_OFFLINE)
        self.is_always_kraft = then.at(IS_ALWAYS_KRAFT)
        self.knows_strays = then.at(KNOWS_STRAYS)
        self.keeps_deleted_checkpoints = then.at(KEEPS_DELETED_CHECKPOINTS)


def nearest(release: str) -> str:
    """The release of PROVED that tells most about this one: of the same major release, or else the next to it."""
    major = version_of(release)[0]
    return min(PROVED, key=lambda proved: (abs(version_of(proved)[0] - major), proved))
