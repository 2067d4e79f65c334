"""Small files of partitions and log directories: topic ids, properties, and the state of a quorum."""

import json
from collections.abc import Callable

import pytest

from kdump.errors import CorruptData, Unreadable
from kdump.formats import meta_properties, partition_metadata, properties, quorum_state, tree
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
        *((f"version: {number}\ntopic_id: {ID}", "") for number in (1, (1 << 31) - 1, "+0")),
        *((f"version:{value}\ntopic_id: {ID}", "line-malformed") for value in ("", " ", "0", " 0: 1")),
        *((f"version:{value}\n:\t{ID}: : ", "") for value in (" 0", "\t0", " \x0b0: ")),  # what ends in nothing, ends before it
        *((f"version: 0\ntopic_id: {ID[:-1]}{last}", "id-malformed") for last in "+/ é"),
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


_VOTER = {"voterId": 1}
_OLD: dict[str, object] = {"clusterId": "", "leaderId": 1, "leaderEpoch": 2, "votedId": -1, "appliedOffset": 0}
_OLD |= {"currentVoters": [_VOTER], "data_version": 0}


@each(
    ("changed", "code"),
    [
        *(({"leaderId": number}, "") for number in (-(1 << 31), (1 << 31) - 1)),
        *(({"leaderId": number}, "field-bad") for number in (-(1 << 31) - 1, 1 << 31, True, 1.0, "1", None)),
        *(({"data_version": number}, "version-unknown") for number in (-1, 2)),
        *(({"votedDirectoryId": value}, "field-bad") for value in (1, ID[1:], None)),
        *((_OLD | {"appliedOffset": number}, "") for number in (1 << 31, (1 << 63) - 1, -(1 << 63))),
        *((_OLD | {"currentVoters": []}, ""), (_OLD | {"data_version": "1"}, "")),  # text is no version, and taken for 0
        *((_OLD | {"appliedOffset": number}, "field-bad") for number in (1 << 63, -(1 << 63) - 1)),
        *((_OLD | {"currentVoters": value}, "field-bad") for value in (None, [1], [_VOTER, {}], [{"voterId": 1 << 31}])),
        *((_OLD | {"clusterId": value}, "field-bad") for value in (None, 1)),
    ],
)
def test_a_state_of_a_quorum_has_the_fields_of_its_version(changed: dict[str, object], code: str) -> None:
    assert _code(quorum_state.read, b" \t" + json.dumps(STATE | changed).encode() + b" more\nmore") == code


@each("state", [STATE, _OLD])
def test_a_state_of_a_quorum_lacks_no_field(state: dict[str, object]) -> None:
    for name in state:
        data = json.dumps({key: value for key, value in state.items() if key != name}).encode()
        assert _code(quorum_state.read, data) == ("not-json" if name == "data_version" else "field-bad"), name


@each(
    ("data", "code"),
    [(b"", "empty"), *((data, "not-json") for data in (b"\n{}", b"{", b"\xff", b"[]", b"1", b"{}", b"[" * 9999))],
)
def test_a_state_of_a_quorum_is_an_object_in_the_first_line(data: bytes, code: str) -> None:
    assert _code(quorum_state.read, data) == code


def test_properties_are_read_as_java_writes_them() -> None:
    text = b"=w\nb c d\n\n#\n#Tue Nov 14\n !node.id=2\n"
    text += b"node.id=1\nlog\\:dir = /a\\=b\ncluster.id: x\\\\y\nempty\n  v : 1\t\r\nz=1\x0bq \n"
    plain = {"node.id": "1", "log:dir": "/a=b", "cluster.id": "x\\y", "empty": "", "": "w", "b": "c d"}
    assert properties.read(text) == plain | {"v": "1\t", "z": "1\x0bq "}  # blanks at the end belong to the value


@each(
    ("line", "is_malformed"),
    [
        *((line, False) for line in ("a=\\u00e9", "a=\\\\u", "#\\u", "  !\\u", "a=u12", "")),
        *((line, True) for line in ("a=\\u", "a=\\u00e", "a=\\u00eg", "\\u12=", "a=\\\\\\u12", "a#\\u")),
    ],
)
def test_an_escape_of_java_has_four_hex_digits(line: str, is_malformed: bool) -> None:
    assert properties.has_malformed_escape(f"a=b\n{line}\nb=c".encode()) is is_malformed


_ID_100 = partition_metadata.text_of((100).to_bytes(16, "big"))
_ID_99 = partition_metadata.text_of((99).to_bytes(16, "big"))
_MOST = (1 << 31) - 1


@each(
    ("values", "expected"),
    [
        ({}, (0, None, None, None)),
        ({"node.id": "7"}, (0, None, None, None)),
        ({"version": "0", "broker.id": "7", "node.id": "x", "cluster.id": "c"}, (0, "c", 7, None)),
        ({"version": "1", "broker.id": "x", "node.id": str(_MOST), "cluster.id": ""}, (1, "", _MOST, None)),
        ({"directory.id": _ID_99}, (0, None, None, True)),
        ({"directory.id": _ID_100}, (0, None, None, False)),
        *(({"version": version}, "version-unknown") for version in ("2", "-1", "", "00")),
        *(({"version": "1", name: "1"}, "id-missing") for name in ("node.id", "cluster.id", "broker.id")),
        *(({"broker.id": number}, "node-id-malformed") for number in (str(_MOST + 1), "x", "")),
        *(({"directory.id": text}, "directory-id-malformed") for text in ("", _ID_99[1:])),
    ],
)
def test_properties_of_a_log_directory_have_the_ids_of_their_version(values: dict[str, str], expected: object) -> None:
    try:
        found = meta_properties.of(values)
    except CorruptData as fault:
        assert fault.code == f"meta-{expected}"
        return
    reserved = found.has_reserved_directory_id if found.directory_id else None
    assert (found.version, found.cluster_id, found.node_id, reserved) == expected
