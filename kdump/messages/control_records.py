"""The messages in the values of control records, and the types that their keys name."""

from __future__ import annotations

from kdump.messages.schema import Field, Message

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)

NAMES = ("ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS")
"""Kafka's names of these types."""

_VOTER = (Field("voterId", "int32"), Field("voterDirectoryId", "uuid", since=1))

MESSAGES = {
    LEADER_CHANGE: Message(
        "LeaderChangeMessage",
        Field("version", "int16"),
        Field("leaderId", "int32"),
        Field("voters", "[]Voter", *_VOTER, is_common=True),
        Field("grantingVoters", "[]Voter", *_VOTER, is_common=True),
        # Version 0: 3.0.0, KIP-595 (KAFKA-12952)
        # Version 1: 3.9.0, KIP-853 (KAFKA-16915)
        flexible_since=0,
    ),
    SNAPSHOT_HEADER: Message(
        "SnapshotHeaderRecord",
        Field("version", "int16"),
        Field("lastContainedLogTimestamp", "int64"),
        # Version 0: 3.0.0 (KAFKA-12952)
        flexible_since=0,
    ),
    SNAPSHOT_FOOTER: Message(
        "SnapshotFooterRecord",
        Field("version", "int16"),
        # Version 0: 3.0.0 (KAFKA-12952)
        flexible_since=0,
    ),
    KRAFT_VERSION: Message(
        "KRaftVersionRecord",
        Field("version", "int16"),
        Field("kRaftVersion", "int16"),
        # Version 0: 3.8.0, KIP-853 (KAFKA-16207)
        flexible_since=0,
    ),
    KRAFT_VOTERS: Message(
        "VotersRecord",
        Field("version", "int16"),
        Field(
            "voters",
            "[]Voter",
            Field("voterId", "int32"),
            Field("voterDirectoryId", "uuid"),
            Field(
                "endpoints",
                "[]Endpoint",
                Field("name", "string"),
                Field("host", "string"),
                Field("port", "uint16"),
            ),
            Field(
                "kRaftVersionFeature",
                "KRaftVersionFeature",
                Field("minSupportedVersion", "int16"),
                Field("maxSupportedVersion", "int16"),
            ),
        ),
        # Version 0: 3.8.0, KIP-853 (KAFKA-16207)
        flexible_since=0,
    ),
}
"""The message in the value, by the type in the key. Its first field is a version, but Kafka reads all of them as version 0."""
