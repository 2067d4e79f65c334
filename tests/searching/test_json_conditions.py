"""`kdump grep --where`: conditions are about what is shown of keys and values, and a field that no record has proves nothing."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kdump
from kdump.searching.json_path import JsonPath
from kdump.searching.query import Query
from kdump.searching.undecidable import Undecidable
from tests.builders.files import write_partition
from tests.builders.messages import int16, int32, int64, string
from tests.builders.records import Record, batch, record, transaction_marker
from tests.loops import each
from tests.searching.conftest import Run


def _commit(group: str, topic: str, partition: int, offset: int) -> Record:
    """A record of __consumer_offsets: a key of version 1, a value of version 3."""
    value = int16(3) + int64(offset) + int32(0) + string("") + int64(1_700_000_000_000)
    return record(key=int16(1) + string(group) + string(topic) + int32(partition), value=value)


@pytest.fixture
def offsets(tmp_path: Path) -> Path:
    """Commits of two groups, and the deletion of one."""
    first = [_commit("app", "orders", 0, 0), _commit("app", "orders", 1, 7)]
    gone = record(key=_commit("old", "orders", 0, 0).key, value=None)
    second = [_commit("other", "orders", 0, 9), gone]
    batches = [batch(base_offset=0, records=first), batch(base_offset=2, records=second)]
    return write_partition(tmp_path, topic="__consumer_offsets", segments={0: batches})


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """Records whose keys and values are JSON, a text, null, and a value with fields that are named key and value."""
    rows: list[tuple[bytes | None, bytes | None]] = [
        (b'{"id":1}', b'{"user":{"id":42},"items":[{"sku":"A"},{"sku":"B"}],"none":[]}'),
        (b'{"id":2}', b'{"user":{"id":43}}'),
        (b"text", b"a text"),
        (b'{"id":4}', None),
        (None, b'{"key":{"id":5},"value":{"id":6}}'),
    ]
    records = [record(key=key, value=value) for key, value in rows]
    return write_partition(tmp_path, topic="orders", segments={0: [batch(records=records)]})


def _found(path: Path, *conditions: str) -> tuple[list[int | None], str, int]:
    search = kdump.grep(None, path, where=conditions)
    hits = [hit.offset for hit in search]
    return hits, search.verdict.verdict, search.verdict.exit_code


@each(
    "condition, hits",
    [
        *((f"{prefix}offset=0", [0]) for prefix in ("", "data.", "value.", "value.data.")),
        *(("offset=9", [2]), ("version=3", [0, 1, 2]), ("key.group=old", [3])),
        *((f"{path}group=app", [0, 1]) for path in ("key.", "key.data.")),
        *((condition, [0, 1, 2, 3]) for condition in ("key.type=1", "key.*=orders")),
        # a value that no record has at a known path
        *((f"{prefix}offset=5", []) for prefix in ("", "data.", "value.")),
        *((condition, []) for condition in ("key.group=nobody", "key.partition=2")),
    ],
)
def test_conditions_are_about_what_is_shown_of_internal_topics(condition: str, hits: list[int], offsets: Path) -> None:
    assert _found(offsets, condition) == ((hits, "found", 0) if hits else ([], "absent", 1))


JSON_HITS = {"user.id=42": 0, "value.user.id=42": 0, "items.*.sku=B": 0, "items.1.sku=B": 0, "key.id=2": 1, "key.id=5": 4}
JSON_HITS |= {"value.id=6": 4, "value.value.id=6": 4, "value.key.id=5": 4}


@each("condition, hit", JSON_HITS.items())
def test_conditions_are_about_keys_and_values_that_are_json(condition: str, hit: int, orders: Path) -> None:
    assert _found(orders, condition) == ([hit], "found", 0)


@each(
    "condition, found",
    [("items.10=110", ([0], "found", 0)), ("items.11=110", ([], "absent", 1)), ("items.12=110", ([], "not proven", 3))],
)
def test_a_place_in_a_list_may_have_two_digits(condition: str, found: tuple[list[int], str, int], tmp_path: Path) -> None:
    value = json.dumps({"items": list(range(100, 112))}).encode()
    assert _found(_partition(tmp_path, record(value=value)), condition) == found


@each(
    "value, equal",
    [("1", ["x=1", "x=1.0"]), ('"1"', ["x=1", 'x="1"']), *((one, [f"x={one}"]) for one in ("true", '"true"', "null", '"null"'))],
)
def test_values_equal_their_like_and_texts_numbers_that_are_written_so(value: str, equal: list[str]) -> None:
    conditions = ("x=1", "x=1.0", 'x="1"', "x=true", 'x="true"', "x=null", 'x="null"')
    assert [one for one in conditions if JsonPath(one).equals(json.loads(value))] == equal


def test_key_alone_is_a_field_and_places_are_plain_digits(tmp_path: Path) -> None:
    path = _partition(tmp_path, record(key=b"5", value=b'{"key":6,"items":[7]}'))
    assert [_found(path, condition)[0] for condition in ("key=5", "key=6", "items.0=7", "items.\u0660=7")] == [[], [0], [0], []]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("ofset=0", "no value has a field ofset; fields seen: version, data.offset, data.leaderEpoch, data.metadata, data."),
        ("value.ofset=0", "no value has a field ofset; fields seen: version, data.offset, "),
        ("key.grup=app", "no key has a field grup; fields seen: type, data.group, data.topic, data.partition\n"),
        ("group=app", "; keys have it: write key.group\n"),
    ],
)
def test_a_field_that_no_record_has_proves_nothing(condition: str, said: str, offsets: Path, run: Run, tmp_path: Path) -> None:
    code, _, err = run("--where", condition, offsets)
    assert (code, "kdump: not proven: no record matches; 1 file" in err, said in err) == (3, True, True), err
    code, out, _ = run("--where", condition, "--output", "ndjson", offsets)
    verdict = json.loads(out)
    assert (code, verdict["verdict"], verdict["exitCode"], len(verdict["unknownFields"])) == (3, "not proven", 3, 1)
    place = tmp_path / "certificate.json"
    assert run("--where", condition, "--prove-absent", "--certificate", place, offsets)[0] == 3
    body = json.loads(place.read_text())
    assert (body["verdict"], body["unknownFields"]) == ("not proven", verdict["unknownFields"])
    assert run("--verify", place)[0] == 3


def _partition(folder: Path, *records: Record) -> Path:
    return write_partition(folder, topic="a", segments={0: [batch(records=records)]})


def test_where_no_value_was_looked_at_no_field_is_unknown(tmp_path: Path) -> None:
    """Tombstones and markers have no values, and what another condition leaves out is not looked at."""
    tombstone = batch(records=[record(key=b"k")], producer_id=7, producer_epoch=0, is_transactional=True)
    marker = transaction_marker(base_offset=1, producer_id=7, producer_epoch=0)
    assert _found(write_partition(tmp_path, topic="a", segments={0: [tombstone, marker]}), "x=1") == ([], "absent", 1)
    search = kdump.grep(None, _partition(tmp_path / "two", record(key=b"k", value=b'{"y":1}')), key="other", where=["x=1"])
    assert (list(search), search.verdict.verdict) == ([], "absent")
    write_partition(tmp_path / "two", topic="a", partition=1, segments={0: [tombstone]})
    assert _found(tmp_path / "two", "x=1") == ([], "not proven", 3), "whatever the last file has"


def test_a_value_that_cannot_be_read_does_not_hide_that_a_key_matches(tmp_path: Path) -> None:
    unreadable = record(key=b'{"id":1}', value=b"\x05\x01\x02")
    path = _partition(tmp_path, unreadable, record(key=b'{"id":2}', value=b'{"key":{"id":1}}'))
    assert _found(path, "key.id=1") == ([0, 1], "found", 0)
    assert _found(path, "key.id=9") == ([], "absent", 1)
    assert _found(path, "value.id=9")[1:] == ("not proven", 3)
    assert _found(_partition(tmp_path / "two", record(key=b"\x05\x01", value=b"{}")), "key.id=9")[1:] == ("not proven", 3)


def test_a_part_that_cannot_be_read_is_decoded_once_for_all_conditions() -> None:
    asked: list[str] = []

    def documents(part: str, *_: object) -> list[object]:
        asked.append(part)
        raise Undecidable("code", f"the {part}")

    decoder: Any = SimpleNamespace(documents=documents)
    with pytest.raises(Undecidable, match="the key"):
        Query(json=["a=1", "value.b=2", "key.c=3"]).matched(b"k", b"v", None, None, decoder)
    assert asked == ["value", "key"]


@each("count", [99, 100])
def test_fields_of_up_to_a_hundred_records_are_named(count: int, tmp_path: Path, run: Run) -> None:
    path = _partition(tmp_path, *[record(value=b'{"a":1}')] * count, record(value=b'{"late":1}'))
    assert f"fields seen: {'a, late' if count < 100 else 'a'}\n" in run("--where", "z=2", path)[2]


@each("count", [1, 11, 12, 13, 40])
def test_up_to_twelve_fields_are_named(count: int, tmp_path: Path, run: Run) -> None:
    path = _partition(tmp_path, record(value=json.dumps({f"f{number}": 1 for number in range(count)}).encode()))
    names = ", ".join(f"f{number}" for number in range(min(count, 12))) + (" ..." if count > 12 else "")
    assert f"fields seen: {names}\n" in run("--where", "z=2", path)[2]
