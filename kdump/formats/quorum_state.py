"""The file `quorum-state`: what a KRaft node knows about elections, as one line of JSON.

    {"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}

Kafka: FileQuorumStateStore, QuorumStateData.json (version 0 since 2.8.0, version 1 since 3.9.0, KIP-853).
"""

from __future__ import annotations

import json
import re

from kdump.errors import CorruptData
from kdump.formats.partition_metadata import uuid_of

MAX_SIZE = 1 << 16
"""The file has some 150 bytes, more where many nodes vote."""

_NUMBER, _TEXT, _UUID, _VOTERS = range(4)
_FIELDS = (
    {
        "clusterId": _TEXT,
        "leaderId": _NUMBER,
        "leaderEpoch": _NUMBER,
        "votedId": _NUMBER,
        "appliedOffset": _NUMBER,
        "currentVoters": _VOTERS,
    },
    {"leaderId": _NUMBER, "leaderEpoch": _NUMBER, "votedId": _NUMBER, "votedDirectoryId": _UUID},
)
_RANGES = {"appliedOffset": 64}  # bits; all other numbers have 32
_END_OF_LINE = re.compile(rb"[\r\n]")


def read(data: bytes) -> dict[str, object]:
    """The fields of the state, with all fields of its version. As a node does, only the first value of the first line is read.

    Raises CorruptData with the codes `quorum-empty`, `quorum-not-json`, `quorum-version-unknown`, `quorum-field-bad`.
    """
    line = _END_OF_LINE.split(data[:MAX_SIZE], maxsplit=1)[0]
    if not data:
        raise CorruptData("quorum-empty", "the file is empty")
    try:
        state, _ = json.JSONDecoder().raw_decode(line.decode().lstrip(" \t"))
    except (ValueError, RecursionError):
        raise CorruptData("quorum-not-json", "its first line is not JSON") from None
    if not isinstance(state, dict):
        raise CorruptData("quorum-not-json", "its first line is not a JSON object")
    if "data_version" not in state:
        raise CorruptData("quorum-not-json", "it has no data_version")
    version = state["data_version"] if isinstance(state["data_version"], int) else 0
    if not 0 <= version < len(_FIELDS):
        raise CorruptData("quorum-version-unknown", f"its data_version is {str(version)[:20]}; 0 and 1 are known")
    for name, kind in _FIELDS[version].items():
        if name not in state:
            raise CorruptData("quorum-field-bad", f"it has no {name}, which version {version} requires")
        if not _is_sound(state[name], kind, _RANGES.get(name, 32)):
            raise CorruptData("quorum-field-bad", f"its {name} is invalid")
    return state


def _is_sound(value: object, kind: int, bits: int) -> bool:
    if kind == _NUMBER:
        return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits - 1) <= value < 1 << bits - 1
    if kind == _TEXT:
        return isinstance(value, str)
    if kind == _UUID:
        return isinstance(value, str) and _is_uuid(value)
    return isinstance(value, list) and all(
        isinstance(voter, dict) and _is_sound(voter.get("voterId"), _NUMBER, 32) for voter in value
    )


def _is_uuid(text: str) -> bool:
    try:
        uuid_of(text.encode())
    except CorruptData:
        return False
    return True
