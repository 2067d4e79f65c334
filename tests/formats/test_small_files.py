"""Small files of a partition: that of its topic id, and the state of a quorum."""

import json
from collections.abc import Callable

import pytest

from kdump.errors import CorruptData, Unreadable
from kdump.formats import partition_metadata, quorum_state, tree
from tests.loops import each

ID = "AAAAAAAAAAAAAAAAAAAAAQ"
STATE = {"leaderId": 1, "leaderEpoch": 2, "votedId": -1, "votedDirectoryId": ID, "data_version": 1}


def _code(read: Callable[[bytes], object], data: bytes) -> str:
    try:
        read(data)
    except CorruptData as fault:
        return fault.code.partition("-")[2]
    return ""


@each(
    ("text", "code"),
    [
        *((f"version: 0{end}topic_id: {ID}{last}", "") for end in ("\n", "\r", "\r\n") for last in ("", end, "==")),
        *((f"version: 0\ntopic_id: {ID}{more}", "id-malformed") for more in ("=", "AA", "A=", "===", "A")),
        *((f"version: {number}\ntopic_id: {ID}", "version-unknown") for number in (-1, 1 << 31, "x")),
        *((f"version:{value}\ntopic_id: {ID}", "line-malformed") for value in ("", " ", "0", " 0: 1")),
        *(("", "empty"), ("version: 0\n", "empty"), (f"version: 0\ntopic_id: {'A' * 22}", "id-zero")),
    ],
)
def test_a_topic_id_is_what_java_reads(text: str, code: str) -> None:
    assert _code(partition_metadata.read, text.encode()) == code


@each("code", ["missing", "is-directory", "not-regular", "permission", "io-error", "shrank"])
def test_what_a_device_does_not_give_is_not_as_if_it_were_not_there(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: str) -> None:
        raise Unreadable(f"file-{code}", "why", path=path)

    for module, read in ((partition_metadata, partition_metadata.read_topic_id), (tree, tree.is_of_kraft)):
        monkeypatch.setattr(module, "Source", fails)
        is_there = code in ("io-error", "shrank") or code == "permission" and module == partition_metadata
        try:
            assert (read("t-0") or None, is_there) == (None, False)
        except Unreadable as error:
            assert (error.code, is_there) == (f"file-{code}", True)


@each(
    ("changed", "code"),
    [
        *(({"leaderId": number}, "") for number in (-(1 << 31), (1 << 31) - 1)),
        *(({"leaderId": number}, "field-bad") for number in (-(1 << 31) - 1, 1 << 31, True, 1.0, "1", None)),
        *(({"data_version": number}, "version-unknown") for number in (-1, 2)),
        *(({"votedDirectoryId": value}, "field-bad") for value in (1, ID[1:], None)),
    ],
)
def test_a_state_of_a_quorum_has_numbers_of_32_bits(changed: dict[str, object], code: str) -> None:
    assert _code(quorum_state.read, json.dumps(STATE | changed).encode()) == code
