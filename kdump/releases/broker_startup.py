"""The differences between releases in how a broker loads its logs at start.

A timeline names the first release known to behave so: the real log manager was run for the releases in PROVED.
"""

from __future__ import annotations

from kdump.releases.timeline import FIRST, History, version_of

PROVED = ("2.8.2", "3.9.1", "4.3.1", "4.4.0")
"""The releases whose starts were recorded, and can be forecast."""

FINDS_BY_FIRST_OFFSET = {FIRST: False, "4.3.1": True}
"""Whether batches are searched by first offset (which requires unpacking wrappers) instead of last offset."""

CHECKS_MARKER_SIZE = {FIRST: True, "4.3.1": False}
"""Whether a transaction marker that is too short is an invalid record instead of a buffer underflow."""

SWAPS_BY_RENAMING = {FIRST: False, "3.9.1": True}
"""Whether .swap segments are renamed into place without reading them; otherwise they are recovered and then swapped in."""

NOTES_EPOCHS_OF_RESCANS = {FIRST: False, "3.9.1": True}
"""Whether the leader epochs of a segment recovered because of its index are stored."""

LISTS_SNAPSHOTS_FIRST = {FIRST: True, "3.9.1": False}
"""Whether producer snapshots are listed, by the offsets in their names, before the leader epochs are read. Kafka: up to 2.8."""

TELLS_OF_EVERY_RESCAN = {FIRST: True, "3.9.1": False}
"""Whether the broker logs a missing index even for segments that are recovered anyway."""

GOES_OFFLINE = {FIRST: False, "3.9.1": True}
"""Whether a malformed file takes the log directory offline instead of ending the broker at once."""

BAD_NUMBERS_OF_EPOCHS_ARE_LINES = {FIRST: True, "3.9.1": False}
"""Whether a leader epoch that is not a number is reported as a malformed line instead of by its own exception."""

TAKES_NEWER_METADATA = {FIRST: False, "3.9.1": True}
"""Whether a partition.metadata of a later version is read."""

SURVIVES_LOST_TRANSACTIONS = {FIRST: False, "3.9.1": True}
"""Whether an open transaction that starts outside the log is accepted."""

KEEPS_DELETED_CHECKPOINTS = {FIRST: False, "3.9.1": True}
"""Whether KRaft snapshots marked for deletion are left alone."""

KNOWS_STRAYS = {FIRST: False, "3.9.1": True}
"""Whether a -stray directory is loaded and set aside; before, a broker does not start with one. Kafka: since 3.7."""

BAD_PROPERTIES_ARE_OFFLINE = {FIRST: False, "3.9.1": True}
"""Whether a malformed meta.properties affects only its log directory, and ids are compared one by one. Kafka: since 3.7."""

IS_ALWAYS_KRAFT = {FIRST: False, "4.3.1": True}
"""Whether brokers with metadata in ZooKeeper no longer exist. Kafka: since 4.0."""

KNOWS_METADATA_LOG = {FIRST: False, "3.9.1": True}
"""Whether __cluster_metadata-0 is the metadata log; in 2.8 it is @metadata-0, and this a partition. Kafka: since 3.0."""

TRANSACTION_VERSION_IS_A_BYTE = {FIRST: True, "4.4.0": False}
"""Whether only the first of the two bytes of the version of an aborted transaction is read, and may be negative."""

EXCEPTION_NAMES: dict[str, dict[str, str]] = {
    FIRST: {
        "org.apache.kafka.common.errors.LogSegmentOffsetOverflowException": "kafka.common.LogSegmentOffsetOverflowException",
    },
    "3.9.1": {},
}
"""Former names of exceptions, by their current name."""


class StartRules:
    """The startup behaviour of one release. Code that uses it never tests for the release.

    It `is_assumed` if nobody said which release it is.
    """

    def __init__(self, release: str, *, is_assumed: bool = False) -> None:
        then = History(release)
        self.release = release
        self.is_assumed = is_assumed
        self.finds_by_first_offset = then.at(FINDS_BY_FIRST_OFFSET)
        self.checks_marker_size = then.at(CHECKS_MARKER_SIZE)
        self.swaps_by_renaming = then.at(SWAPS_BY_RENAMING)
        self.notes_epochs_of_rescans = then.at(NOTES_EPOCHS_OF_RESCANS)
        self.lists_snapshots_first = then.at(LISTS_SNAPSHOTS_FIRST)
        self.tells_of_every_rescan = then.at(TELLS_OF_EVERY_RESCAN)
        self.goes_offline = then.at(GOES_OFFLINE)
        self.bad_numbers_of_epochs_are_lines = then.at(BAD_NUMBERS_OF_EPOCHS_ARE_LINES)
        self.takes_newer_metadata = then.at(TAKES_NEWER_METADATA)
        self.survives_lost_transactions = then.at(SURVIVES_LOST_TRANSACTIONS)
        self.transaction_version_is_a_byte = then.at(TRANSACTION_VERSION_IS_A_BYTE)
        self.exception_names = then.at(EXCEPTION_NAMES)
        self.bad_properties_are_offline = then.at(BAD_PROPERTIES_ARE_OFFLINE)
        self.is_always_kraft = then.at(IS_ALWAYS_KRAFT)
        self.knows_metadata_log = then.at(KNOWS_METADATA_LOG)
        self.knows_strays = then.at(KNOWS_STRAYS)
        self.keeps_deleted_checkpoints = then.at(KEEPS_DELETED_CHECKPOINTS)


def nearest(release: str) -> str:
    """The release of PROVED that is closest to this one: first by the major release, then by the minor one."""
    numbers = version_of(release)
    return min(PROVED, key=lambda proved: [abs(ours - its) for ours, its in zip(version_of(proved), numbers, strict=False)])
