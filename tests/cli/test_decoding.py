"""What the commands show of records of internal topics: objects of one form, a reason where there is none, Kafka's words."""

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_outputs.runs import CASES
from kdump.cli.commands import main
from kdump.cli.listing import decoder_names, decoding
from kdump.decoding import decoded
from kdump.decoding.log_decoder import LogDecoder
from kdump.decoding.schema_decoder import SchemaDecoder
from kdump.decoding.schemas_of_logs import SchemasOfLogs
from kdump.errors import CorruptData
from kdump.messages import kafka_json
from kdump.releases import history
from kdump.schemas.decoding import PartDecoded
from tests.builders.messages import UUID, compact_string, int8, int16, int32, int64, string, tagged
from tests.builders.records import batch, commit_record, leader_change_record, record
from tests.cli.terminals import on_terminal
from tests.goldens import iterate
from tests.loops import each

Json = dict[str, Any]  # what json.loads makes of an object
Listing = tuple[int, str, str]
Lister = Callable[..., Any]  # of a listing, with text or with rows
Decoded = tuple[Any, Any, str | None]  # numbers or objects

CLEAN, FINDINGS, USAGE = range(3)
LOG_NAME = "00000000000000000000.log"
MARKED_ID = "56d167cf27c84fbb8dbcd62116717146"

OFFSET_KEY = int16(1) + string("g") + string("t") + int32(3)
OFFSET_VALUE = int16(1) + int64(42) + string("") + int64(7) + int64(-1)
OFFSET = {"version": "1", "data": {"offset": 42, "metadata": "", "commitTimestamp": 7, "expireTimestamp": -1}}
UNKNOWN_KEY = int16(99) + string("g")
TOPIC_VALUE = b"\x01\x02\x00" + b"\x02t" + bytes(15) + b"\x05" + b"\x00"


@pytest.fixture
def listed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Lister:
    """Lists a log of these batches in a partition directory: exit code, stdout, stderr without the directory in front."""

    def list_log(directory: str, batches: bytes, *options: str, command: str = "log", name: str = LOG_NAME) -> Listing:
        path = tmp_path / directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(batches)
        status = main([command, *options, str(path)])
        out, err = capfd.readouterr()
        return status, out, err.replace(f"{tmp_path}/", "")

    return list_log


@pytest.fixture
def decoded_of(listed: Lister) -> Callable[..., tuple[int, list[Decoded], str]]:
    """The same, with what is decoded of each record: key, value and error."""

    def list_records(directory: str, batches: bytes, *options: str, **where: str) -> tuple[int, list[Decoded], str]:
        status, out, err = listed(directory, batches, "--output", "ndjson", "--deep", *options, **where)
        rows = [json.loads(line) for line in out.splitlines()]
        return status, [(row["decodedKey"], row["decodedValue"], row["decodeError"]) for row in rows], err

    return list_records


COMMITS = batch(records=[record(key=OFFSET_KEY, value=OFFSET_VALUE), record(key=OFFSET_KEY)])
KEY_OBJECT = {"type": "1", "data": {"group": "g", "topic": "t", "partition": 3}}


# --- which decoder


@each(
    ("path", "topic"),
    [
        (f"__consumer_offsets-12/{LOG_NAME}", "consumer-offsets"),
        *((f"/data/__transaction_state-0/{LOG_NAME}", "transaction-state"), ("__cluster_metadata-0/x.log", "cluster-metadata")),
        *(("__remote_log_metadata-49/x.log", "remote-log-metadata"), ("__share_group_state-1/x.log", "share-group-state")),
        *((f"__consumer_offsets-12.{MARKED_ID}-{mark}/x.log", "consumer-offsets") for mark in ("delete", "future", "stray")),
        ("__cluster_metadata-0/00000000000000000359-0000000001.checkpoint", "cluster-metadata"),
        *(("/data/bootstrap.checkpoint", "cluster-metadata"), ("orders-3/x.log", ""), ("consumer-offsets-0/x.log", "")),
        *(("consumer_offsets-0/x.log", ""), ("_consumer_offsets-0/x.log", ""), ("__consumer_offset-0/x.log", "")),
        *(("__consumer_offsets/x.log", ""), ("__consumer_offsets-x/x.log", ""), ("__consumer_offsets-copy-1/x.log", "")),
        *(("cluster-metadata-0/x.log", ""), ("x.log", "")),
    ],
)
def test_the_name_of_a_directory_says_which_records_it_holds(path: str, topic: str) -> None:
    assert decoding.topic_of(path) == topic


def test_a_file_in_the_current_directory_is_of_its_topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "__consumer_offsets-7").mkdir()
    monkeypatch.chdir(tmp_path / "__consumer_offsets-7")
    assert decoding.topic_of(LOG_NAME) == "consumer-offsets"


def test_every_topic_has_its_decoder_and_its_option() -> None:
    assert set(decoder_names.OPTIONS) == set(decoded.TOPICS)
    assert set(decoder_names.OPTIONS.values()) == set(history.TOPIC_DECODERS)


def test_an_unknown_decoder_is_refused_with_those_there_are(listed: Lister) -> None:
    known = "auto, none, consumer-offsets, transaction-state, cluster-metadata, remote-log-metadata, share-group-state"
    for name in ("offsets", "", "consumer-offsets-0"):
        status, out, err = listed("copy", COMMITS, "--decode", name)
        assert (status, out, known in err) == (USAGE, "", True), name
    status, _, err = listed("x", COMMITS, "--decode", "consumer-offsets", "--key-decoder", "long")  # which leaves no key for it
    assert status == USAGE and err.count("\n") == 1


def test_records_of_an_internal_topic_are_decoded_unless_it_is_switched_off(decoded_of: Lister) -> None:
    assert decoded_of("__consumer_offsets-0", COMMITS)[1] == [(KEY_OBJECT, OFFSET, None), (KEY_OBJECT, None, None)]
    assert decoded_of("__consumer_offsets-0", COMMITS, "--decode", "none")[1] == [(None, None, None)] * 2


# --- objects


def test_a_metadata_record_says_its_type_in_its_value(decoded_of: Lister) -> None:
    data = batch(records=[record(value=TOPIC_VALUE)])
    topic = {"type": "TOPIC_RECORD", "version": 0, "data": {"name": "t", "topicId": "AAAAAAAAAAAAAAAAAAAABQ"}}
    assert decoded_of("__cluster_metadata-0", data)[1] == [(None, topic, None)]
    assert decoded_of("x", data, command="checkpoint", name="bootstrap.checkpoint")[1] == [(None, topic, None)]


def test_control_records_say_what_they_are_in_any_topic(decoded_of: Lister) -> None:
    commit = batch(records=[commit_record(coordinator_epoch=5)], is_control=True, is_transactional=True, producer_id=1)
    leader = batch(records=[leader_change_record()], is_control=True, base_offset=1)
    for directory in ("__consumer_offsets-0", "orders-0"):
        status, (marker, change), _ = decoded_of(directory, commit + leader)
        assert (status, marker) == (CLEAN, ({"controlType": "COMMIT"}, {"version": 0, "data": {"coordinatorEpoch": 5}}, None))
        assert change[0] == {"controlType": "LEADER_CHANGE"} and change[1] is not None and "leaderId" in change[1]["data"]


def test_numbers_are_numbers(decoded_of: Lister) -> None:
    for name, size in (("integer", 4), ("long", 8)):
        data = batch(records=[record(key=bytes(size - 1) + b"\x07", value=b"\xff" * size), record(key=b"\1", value=bytes(size))])
        status, found, err = decoded_of("orders-0", data, "--decode", name)
        error = f"decoder-value-too-short: 1 bytes are too few for a number of {size}"
        assert (status, found, err.count("\n")) == (FINDINGS, [(7, -1, None), (None, 0, error)], 1)


def test_what_follows_too_much_json_is_not_decoded_except_for_markers() -> None:
    columns = {"key_size": 4, "value_size": 6, "key": b"\0\0\0\1", "value": bytes(6), "headers": None}
    part: Any = SimpleNamespace(batches={"is_control": [False, True, False]}, counts=[2, 1, 1])
    part.records = {name: [one] * 4 for name, one in columns.items()}
    found = LogDecoder(lambda *_: decoded.Decoded(kafka_json.Json("1")), max_json=0).each(part)
    marker = '{"controlType":"COMMIT"}'
    assert [(one.key, one.fault is None) for one in found] == [("1", True), (None, False), (marker, True), (None, False)]


def test_records_come_in_pieces_and_none_are_one_that_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdump.decoding.log_decoder.MAX_PIECE", 3)
    columns = ("key_size", "value_size", "key", "value", "headers")
    keys = iter(["", "1", "1", "1", "1"] * 7)  # of each five, the last one is beyond
    decoder = LogDecoder(lambda *_: decoded.Decoded(kafka_json.Json(next(keys))))
    for count, pieces in ((0, [(0, 0)]), (5, [(0, 5)]), (10, [(0, 5), (5, 10)]), (12, [(0, 5), (5, 10), (10, 12)])):
        part: Any = SimpleNamespace(batches={"is_control": [False]}, counts=[count])
        part.records = {name: [None] * count for name in columns} | {"key_size": [-1] * count, "value_size": [-1] * count}
        found = list(decoder.pieces(part))
        assert [(first, end) for first, end, _ in found] == pieces
        assert all(len(one) == end - first for first, end, one in found)


def test_topics_of_users_may_begin_with_an_underscore() -> None:
    schemas = SchemasOfLogs("integer", "", None)
    assert [schemas.decoder_of(f"/none/{name}-0/{0:020}.log") is None for name in ("_a", "__a")] == [False, True]


def test_control_records_have_the_names_of_their_types() -> None:
    keys = [decoded.control_record_of(int16(0) + int16(number), None).key for number in (-1, 0, 1, 2, 99)]
    names = ["UNKNOWN(-1)", "ABORT", "COMMIT", "LEADER_CHANGE", "UNKNOWN(99)"]
    assert keys == [f'{{"controlType":"{name}"}}' for name in names]


def test_of_two_numbers_that_are_none_the_key_is_reported() -> None:
    decode = decoded.plain_decoder("integer", "long")
    assert decode is not None
    for key, value in ((b"1", b"12"), (b"1", bytes(8))):
        assert str(decode(key, value).fault) == str(decode(b"1", None).fault)
    assert "8" in str(decode(bytes(4), b"12").fault)


def test_of_two_faults_of_schemas_the_code_is_that_of_the_key() -> None:
    faults = [PartDecoded(fault=CorruptData(f"of-{part}", "why")) for part in "kv"]
    parts: list[Any] = [mock.Mock(**{"decode.return_value": fault}) for fault in faults]
    fault = SchemaDecoder(*parts).decode(b"", b"", None).fault
    assert fault is not None and (fault.code, fault.message) == ("of-k", "why; of-v: why")


def test_a_record_of_which_a_key_or_value_was_lost_says_nothing_and_one_with_null_does() -> None:
    keys, values = (b"k", None, b"k", None, None, b"k", b"k"), (b"v", b"v", None, b"v", b"v", None, None)
    records: dict[str, Any] = {"key": keys, "value": values, "headers": keys}
    records |= {"key_size": (1, -1, 1, 5, None, 1, 1), "value_size": (1, 1, -1, 1, 1, 5, None)}
    part: Any = SimpleNamespace(counts=[7], batches={"is_control": [False]}, records=records)
    found = LogDecoder(lambda *_: decoded.Decoded(kafka_json.Json("1"))).each(part)
    assert [one.key is not None for one in found] == [True] * 3 + [False] * 4


def test_what_a_terminal_would_obey_is_escaped_inside_of_objects_and_of_kafkas_lines(listed: Lister, tmp_path: Path) -> None:
    for name in ("\x1b[2J", "\u202e", "\u2028", "\x7f", "\U000e0001"):
        data = batch(records=[record(key=int16(1) + string(name) + string("t") + int32(0))])
        _, out, _ = listed("__consumer_offsets-0", data, "--output", "ndjson", "--deep")
        assert out.rstrip("\n").isprintable(), name
        assert json.loads(out)["decodedKey"]["data"]["group"] == name
        if name == "\x1b[2J":
            for release in ("2.4.1", "4.3.1"):
                options = ("--release", release, "--output", "kafka", "--decode", "auto", "--print-data-log")
                shown = on_terminal("log", *options, tmp_path / "__consumer_offsets-0" / LOG_NAME)
                assert b"[2J" in shown and b"\x1b" not in shown


_PAYLOAD = re.compile(
    r'^\| offset: (\d+) .*? (?:headerKeys: \[\]|crc: \d+)(?: key: (\{"type".*?\}))? payload: (<DELETE>|\{".*)$', re.MULTILINE
)


def _payloads(golden: bytes) -> dict[int, tuple[Json | None, Json | None]]:
    """Keys and payloads that are JSON in what the real tool printed, by offset; a tombstone is None."""
    found: dict[int, tuple[Json | None, Json | None]] = {}
    for offset, key, payload in _PAYLOAD.findall(golden.decode()):
        value = None if payload == "<DELETE>" else json.loads(payload)
        found[int(offset)] = (json.loads(key) if key else None, value)
    return found


@each(
    "case, name",
    [
        *(("consumer-offsets-3.9.1", "consumer-offsets"), ("consumer-offsets-all-groups-4.3.0", "consumer-offsets")),
        *(("consumer-offsets-0.8.2.2", "consumer-offsets"), ("consumer-offsets-1.0.1", "consumer-offsets")),
        *(("consumer-offsets-2.8.2", "consumer-offsets"), ("transaction-state-1.0.1", "transaction-state")),
        *(("transaction-state-4.3.0", "transaction-state"), ("share-group-state-4.3.0", "share-group-state")),
        *(("cluster-metadata-3.9.1", "cluster-metadata"), ("cluster-metadata-many-records-4.3.0", "cluster-metadata")),
    ],
)
def test_the_objects_are_the_json_of_kafkas_newest_tool(case: str, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    expected: defaultdict[str, dict[int, tuple[Json | None, Json | None]]] = defaultdict(dict)
    for _, golden in iterate("4.4.0", case, decoder_names.OPTIONS[name]):
        files = golden.arguments[golden.arguments.index("--files") + 1].split(",")
        if len(files) == 1 and files[0].endswith(".log"):
            expected[files[0]] |= _payloads(golden.stdout)
    assert any(expected.values())
    for file, payloads in expected.items():
        main(["log", "--output", "ndjson", "--decode", name, "--strict-stderr", str(CASES / case / file)])
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        shown = {row["offset"]: (row["decodedKey"], row["decodedValue"]) for row in rows}
        assert {offset: shown[offset] for offset in payloads} == payloads


# --- what cannot be decoded


@each(
    "key, value, shown, code, message",
    [
        (UNKNOWN_KEY, OFFSET_VALUE, None, "record-type-unknown", "records of type 99 are not known"),
        (
            *(OFFSET_KEY, int16(77) + OFFSET_VALUE, KEY_OBJECT),
            *("record-version-unknown", "version 77 of records of type 1 is not known"),
        ),
        (
            *(OFFSET_KEY, OFFSET_VALUE[:-3], KEY_OBJECT, "record-unreadable"),
            "the value is no OffsetCommitValue of version 1: the message ends inside a field",
        ),
        (OFFSET_KEY, b"\x00", KEY_OBJECT, "record-version-short", "the value ends inside its version"),
        (
            *(OFFSET_KEY[:-1], OFFSET_VALUE, None, "record-unreadable"),
            "the key is no OffsetCommitKey of version 0: the message ends inside a field",
        ),
        (None, OFFSET_VALUE, None, "record-key-null", "the record has no key"),
    ],
)
def test_what_cannot_be_decoded_has_a_reason_and_its_bytes(
    listed: Lister, key: bytes | None, value: bytes, shown: Json | None, code: str, message: str
) -> None:
    data = batch(records=[record(key=key, value=value), record(key=OFFSET_KEY, value=OFFSET_VALUE)])
    status, out, err = listed("__consumer_offsets-0", data, "--output", "ndjson", "--deep")
    row, whole = map(json.loads, out.splitlines())
    assert (row["decodedKey"], row["decodedValue"], row["decodeError"]) == (shown, None, f"{code}: {message}")
    assert (whole["decodedKey"], whole["decodedValue"], whole["decodeError"]) == (KEY_OBJECT, OFFSET, None)
    assert row["value"] is not None or row["valueBase64"] is not None
    place = f"__consumer_offsets-0/{LOG_NAME}"
    said = f"kdump: {place}: 1 record not decoded, at offset 0: {message} ({code})\n"
    assert (status, err, row["status"]) == (FINDINGS, said, "intact")


def test_values_of_later_versions_stand_under_keys_of_type_0_from_brokers_before_0_9(decoded_of: Lister) -> None:
    data = batch(records=[record(key=int16(0) + OFFSET_KEY[2:], value=OFFSET_VALUE)])
    assert decoded_of("__consumer_offsets-0", data)[1] == [({**KEY_OBJECT, "type": "0"}, OFFSET, None)]


def test_records_that_cannot_be_decoded_for_one_reason_are_one_line(listed: Lister) -> None:
    data = batch(records=[record(key=OFFSET_KEY, value=OFFSET_VALUE), *[record(key=UNKNOWN_KEY, value=b"v")] * 9])
    status, _, err = listed("__consumer_offsets-0", data, "--output", "ndjson", "--deep")
    assert (status, err.count("\n")) == (FINDINGS, 1)
    assert "9 records not decoded, the first at offset 1: records of type 99 are not known (record-type-unknown)" in err
    status, out, err = listed("__consumer_offsets-0", data, "--output", "table", "--deep", "--limit", "3")
    assert status == FINDINGS and "2 records not decoded" in err
    assert "   ? records of type 99 are not known: v\n" in out


def test_metadata_that_tiered_storage_would_not_accept_is_shown_with_the_reason() -> None:
    partition = compact_string("t") + UUID + int32(0) + tagged()
    one = decoded.decoder_of("remote-log-metadata")(None, b"\x01\x02\x00" + partition + int32(1) + int64(2) + int8(9) + tagged())
    assert one.value is not None and json.loads(one.value)["data"]["remotePartitionDeleteState"] == 9
    assert one.fault is not None and one.fault.code == "remote-partition-state-unknown"


@given(st.none() | st.binary(max_size=80), st.none() | st.binary(max_size=200), st.sampled_from(sorted(decoded.TOPICS)))
def test_no_bytes_keep_a_decoder_from_answering_in_json(key: bytes | None, value: bytes | None, name: str) -> None:
    for one in (decoded.decoder_of(name)(key, value), decoded.control_record_of(key, value)):
        for text in (one.key, one.value):
            assert text is None or isinstance(json.loads(text), dict)


# --- Kafka's lines


def test_kafkas_lines_have_keys_and_values_as_they_are_unless_they_are_to_be_decoded(listed: Lister) -> None:
    _, out, _ = listed("__consumer_offsets-0", COMMITS, "--print-data-log")
    assert f" key: {OFFSET_KEY.decode()} payload: " in out
    _, out, _ = listed("__consumer_offsets-0", COMMITS, "--decode", "auto")
    key = '{"type":"1","data":{"group":"g","topic":"t","partition":3}}'
    assert f' key: {key} payload: {{"version":"1","data":{{"offset":42,' in out
    assert f" key: {key} payload: <DELETE>\n" in out


def test_a_decoder_that_a_release_does_not_have_is_refused_for_its_lines_only(listed: Lister, decoded_of: Lister) -> None:
    options = ("--decode", "share-group-state", "--release", "1.0.1")
    message = "Kafka 1.0.1 has no decoder for share-group-state"
    assert listed("x", COMMITS, *options) == (USAGE, "", f"kdump: {message}; --output ndjson decodes for any release\n")
    assert len(decoded_of("x", COMMITS, *options)[1]) == 2
    status, out, err = listed("__share_group_state-0", COMMITS, "--decode", "auto", "--release", "1.0.1")
    assert status == CLEAN and f" key: {OFFSET_KEY.decode()}" in out
    assert err == f"kdump: __share_group_state-0/{LOG_NAME}: {message}; keys and values are shown as they are\n"


def test_a_release_that_throws_at_a_record_goes_on_after_it(listed: Lister) -> None:
    data = batch(records=[record(key=UNKNOWN_KEY, value=b"v"), record(key=OFFSET_KEY, value=OFFSET_VALUE)])
    status, out, err = listed("__consumer_offsets-0", data, "--decode", "auto", "--release", "1.0.1")
    assert status == FINDINGS and "offset::g:t:3" in out
    chosen = "keys and values are decoded as consumer-offsets, by the name of the directory"
    assert (err.splitlines()[0], err.count("\n")) == (f"kdump: __consumer_offsets-0: {chosen}", 2)


@each("output", ["kafka", "ndjson", "csv", "table"])
@each(
    "directory, topic",
    [
        *(("__consumer_offsets-7", "consumer-offsets"), ("__transaction_state-0", "transaction-state")),
        *(("__share_group_state-0", "share-group-state"), ("__cluster_metadata-0", "cluster-metadata")),
        *(("__remote_log_metadata-3", "remote-log-metadata"), ("orders-0", "")),
    ],
)
def test_the_decoder_that_was_chosen_is_reported_once(listed: Lister, directory: str, topic: str, output: str) -> None:
    words = f"decoded as {topic}, by the name of the directory" if topic else NOT_INTERNAL
    _, _, err = listed(directory, batch(records=[]), "--decode", "auto", "--output", output)
    assert err == f"kdump: {directory}: keys and values are {words}\n"
    if output != "kafka":
        assert listed(directory, batch(records=[]), "--deep", "--output", output)[2] == ""  # it is the default there


NOT_INTERNAL = "shown as text: by its name, this is not the directory of an internal topic"


def test_a_record_that_would_take_very_much_memory_is_not_decoded(decoded_of: Lister, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded, "MAX_RECORD", len(OFFSET_KEY) + len(OFFSET_VALUE))
    value = int16(1) + int64(42) + string("m") + int64(7) + int64(-1)
    size = len(OFFSET_KEY) + len(value)
    batches = batch(records=[record(key=OFFSET_KEY, value=OFFSET_VALUE), record(key=OFFSET_KEY, value=value)])
    status, found, err = decoded_of("__consumer_offsets-0", batches)
    reason = "schema-value-too-large: its {} bytes are not decoded, as they are more than 0 MiB"
    assert (status, found) == (FINDINGS, [(KEY_OBJECT, OFFSET, None), (KEY_OBJECT, None, reason.format(size))])
    assert err.count(f"1 record not decoded, at offset 1: its {size} bytes are not decoded") == 1

    change = leader_change_record()
    assert change.value is not None
    monkeypatch.setattr(decoded, "MAX_CONTROL_RECORD", len(change.value) - 1)
    status, found, _ = decoded_of("topic-0", batch(records=[change], is_control=True))
    assert (status, found) == (FINDINGS, [({"controlType": "LEADER_CHANGE"}, None, reason.format(len(change.value)))])


def test_a_record_that_cannot_be_decoded_is_decoded_once() -> None:
    for topic, key, value in (("remote-log-metadata", None, b"\1\0\0\5"), ("consumer-offsets", OFFSET_KEY, b"\0")):
        decode = decoded.decoder_of(topic)
        first = decode(key, value)
        assert first.fault is not None and first.fault.__traceback__ is None
        assert decode(key, bytes(bytearray(value))) is first and decode(key, value + b"\0") is not first


def test_the_version_of_a_control_record_has_a_sign() -> None:
    leader = (b"\xff\xff" + int32(1) + b"\1\1" + tagged()).hex()
    found = decoded.control_record_of(b"\0\0\0\2", bytes.fromhex(leader))
    assert found.value is not None and json.loads(found.value)["version"] == -1
