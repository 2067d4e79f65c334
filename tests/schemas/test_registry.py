"""A registry, from the records of its topic: which schema an id, a GUID and a version mean."""

import hashlib
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kdump.errors import CorruptData
from kdump.schemas import framing, resolving, topic
from kdump.schemas import registry as registry_module
from kdump.schemas.bounds import MAX_SCHEMA_SIZE
from kdump.schemas.collection import Collection, collection_of
from kdump.schemas.decoding import PartDecoder
from kdump.schemas.registry import Registry
from kdump.schemas.resolving import references_of
from kdump.schemas.schema import AVRO, PROTOBUF, Schema
from tests.builders.files import write_partition
from tests.builders.records import batch, record, transaction_marker
from tests.loops import each


def _registry(*records: tuple[str, int, int | None, str], **others: object) -> Registry:
    """A registry with these versions: subject, version, id (None deletes the version for good), text; `others` are in each."""
    registry = Registry()
    for offset, (subject, version, id, text) in enumerate(records):
        key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
        value = {"subject": subject, "version": version, "id": id, "schema": text, "deleted": False, **others}
        registry.replay(offset, json.dumps(key).encode(), None if id is None else json.dumps(value).encode())
    assert registry.problems == []
    return registry


def _delete(registry: Registry, subject: str, last: int, word: str = "DELETE") -> None:
    key = {"keytype": f"{word}_SUBJECT", "subject": subject, "magic": 0}
    registry.replay(99, json.dumps(key).encode(), json.dumps({"subject": subject, "version": last}).encode())


def _guid(text: str) -> str:
    """Confluent: the MD5 of a schema without references."""
    return str(UUID(bytes=hashlib.md5(text.encode()).digest()))


def _of_guid(registry: Registry, text: str) -> tuple[int | None, str] | None:
    found = registry.by_guid(_guid(text))
    return None if found is None else (found.id, found.state)


def test_of_several_ids_with_one_text_the_newest_that_is_not_deleted_has_the_guid() -> None:
    registry = _registry(("a", 1, 3, '"int"'), ("b", 1, 7, '"int"'), ("c", 1, 5, '"int"'), ("d", 1, 9, '"long"'))
    assert _of_guid(registry, '"int"') == (7, "active")
    _delete(registry, "b", 1)
    assert _of_guid(registry, '"int"') == (5, "active")
    _delete(registry, "a", 1)
    _delete(registry, "c", 1)
    assert _of_guid(registry, '"int"') == (7, "soft-deleted")
    assert _of_guid(registry, '"long"') == (9, "active")
    assert _of_guid(registry, '"string"') is None


def test_an_id_is_active_while_one_of_its_versions_is_and_has_its_latest_text() -> None:
    registry = _registry(("a", 1, 3, '"int"'), ("b", 1, 3, '"int"'))
    _delete(registry, "a", 1)
    assert _of_guid(registry, '"int"') == (3, "active")
    registry = _registry(("a", 1, 3, '"int"'), ("b", 1, 3, '"long"'))
    found = registry.by_id(3)
    assert found is not None and found.schema.text == '"long"'


def test_ids_of_contexts_are_apart() -> None:
    registry = _registry(("a", 1, 1, '"int"'), (":.eu:a", 1, 1, '"long"'), (":.:b", 1, 2, '"string"'))
    texts = [found.schema.text for id, context in ((1, ""), (1, ".eu"), (2, "")) if (found := registry.by_id(id, context))]
    assert texts == ['"int"', '"long"', '"string"']
    assert _of_guid(registry, '"long"') is None, "GUIDs are those of the default context"
    assert _of_guid(registry, '"string"') == (2, "active")


def test_versions_are_deleted_up_to_one_and_for_good() -> None:
    registry = _registry(("a", 1, 1, '"int"'), ("a", 2, 2, '"long"'), ("a", 3, 3, '"string"'))
    _delete(registry, "a", 2)
    states = [found.state for id in (1, 2, 3) if (found := registry.by_id(id))]
    assert states == ["soft-deleted", "soft-deleted", "active"]
    registry.replay(7, b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', None)
    states = [found.state for id in (1, 2, 3) if (found := registry.by_id(id))]
    assert states == ["hard-deleted", "soft-deleted", "active"]
    assert registry.newest("a") is not None
    _delete(registry, "a", 9, "CLEAR")
    states = [found.state for id in (1, 2, 3) if (found := registry.by_id(id))]
    assert states == ["hard-deleted", "hard-deleted", "active"]
    _delete(registry, "a", 3)
    assert registry.newest("a") is None
    (found,) = filter(None, [_registry(("a", 1, 1, '"int"'), deleted=True, schemaType="JSON").by_id(1)])
    assert (found.state, found.schema.type) == ("soft-deleted", "JSON")


INT = bytes.fromhex("c301 8f5c393f1ad57572")  # single-object encoding, and the fingerprint that Avro's tests have of "int"
AT = {"keytype": "SCHEMA", "subject": "s", "version": 1}
SAID = {"id": 1, "schema": '"int"'}
REFERENCE = {"name": "R", "subject": "r", "version": True}


@each(
    ("key", "value", "reason"),
    [
        *((AT, SAID | odd, None) for odd in ({"schemaType": None}, {"schemaType": "AVRO"}, {"references": None})),
        *(({"keytype": word}, None, None) for word in ("NOOP", "CONFIG", "DELETE_SUBJECT", "CLEAR_SUBJECT")),
        *(({"keytype": word}, {"version": 1}, "it has no subject") for word in ("DELETE_SUBJECT", "CLEAR_SUBJECT")),
        ({"keytype": "DELETE_SUBJECT"}, {"subject": "s", "version": "1"}, "it has no version"),
        (None, SAID, "it has no key"),
        ([AT], SAID, "it is no JSON object"),
        (AT, [SAID], "it is no JSON object"),
        *((AT | odd, SAID, f"it has no {name}") for odd, name in (({"subject": 1}, "subject"), ({"version": True}, "version"))),
        *(
            (AT, SAID | odd, f"it has no {name}")
            for odd, name in (({"id": 1.0}, "id"), ({"id": True}, "id"), ({"schema": 1}, "schema"))
        ),
        (AT, SAID | {"references": [7, REFERENCE]}, "it has no version"),
        (AT, SAID | {"schemaType": "XML"}, "the schema type 'XML' is not known"),
        (AT, SAID | {"schema": "x" * MAX_SCHEMA_SIZE}, None),
        (
            AT,
            SAID | {"schema": "x" * (MAX_SCHEMA_SIZE + 1)},
            "its schema has 1,048,577 characters, more than the 1,048,576 that are read",
        ),
        (AT, SAID | {"x": "x" * (8 << 20)}, "it has 8,388,647 bytes"),
    ],
)
def test_a_record_that_no_registry_writes_is_a_problem(key: Any, value: Any, reason: str | None) -> None:
    registry = Registry()
    given = (None if part is None else json.dumps(part).encode() for part in (key, value))
    registry.replay(7, *given)
    said = [] if reason is None else [f"the record with offset 7 is not one of a schema registry: {reason}"]
    assert (registry.problems, len(registry)) == (said, int(reason is None and key == AT))


def test_what_a_schema_refers_to_comes_before_it_and_once_by_each_name(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    refers = {"d": "", "b": "D.d", "c": "D.d E.d", "a": "B.b C.c", "x": "Y.y", "y": "X.x", "z": "Q.q"}
    for id, (subject, names) in enumerate(refers.items(), 1):
        pairs = (name.split(".") for name in names.split())
        references = [{"name": name, "subject": other, "version": 1} for name, other in pairs]
        value = {"id": id, "schema": f'"{subject}"', "references": references}
        registry.replay(id, json.dumps(AT | {"subject": subject}).encode(), json.dumps(value).encode())

    def found(subject: str) -> list[tuple[str, str]]:
        schema = registry.by_version(subject, 1)
        assert schema is not None
        return [(name, other.text) for name, other in references_of(schema, registry)]

    assert found("a") == [("D", '"d"'), ("B", '"b"'), ("E", '"d"'), ("C", '"c"')]
    for subject, why in (("x", "in a circle: y version 1"), ("z", "refers to q version 1, which is missing")):
        with pytest.raises(CorruptData, match=why):
            found(subject)
    for bound, most, why in (("MAX_REFERENCES", 4, "to more than 3 others"), ("MAX_TEXTS", 12, "more than 0 MiB of text")):
        monkeypatch.setattr(resolving, bound, most)
        assert len(found("a")) == 4
        monkeypatch.setattr(resolving, bound, most - 1)
        with pytest.raises(CorruptData, match=why):
            found("a")
        monkeypatch.setattr(resolving, bound, most)


def test_what_is_held_of_a_registry_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    size = Schema(AVRO, '"int"').held_bytes
    for bound, most, why in (
        ("MAX_VERSIONS", 2, "more than 2 versions of subjects are not"),
        ("MAX_HELD_BYTES", 2 * size, "schemas of"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(registry_module, bound, most)
            registry = _registry(("a", 1, 1, '"int"'), ("a", 2, 2, '"int"'), ("a", 1, 1, '"int"'))
            registry.replay(7, json.dumps(AT).encode(), json.dumps(SAID | {"id": 3}).encode())
        assert (len(registry), registry.by_id(3)) == (2, None) and why in registry.problems[0]


def test_a_version_that_comes_again_has_its_latest_schema() -> None:
    for deleted in ([], [("a", 1, None, "")]):
        registry = _registry(("a", 1, 1, '"int"'), *deleted, ("a", 1, 5, '"long"'))
        found = registry.by_version("a", 1)
        assert found is not None and found.text == '"long"'
        assert [found.id for found in (registry.newest("a"),) if found] == [5]


def test_data_that_say_no_id_have_none_though_the_schema_is_of_a_registry() -> None:
    collection = Collection(_registry(("orders-value", 1, 3, '"int"'), ("orders-value", 2, 4, '"long"')))
    decoder = PartDecoder(collection, "value", kind="avro", topic="orders")
    expected = {"framing": "bare", "id": None, "guid": None, "type": "AVRO", "message": None, "subjects": None, "state": None}
    found = decoder.decode(b"\x02", None)
    assert (found.value, json.loads(found.schema or "")) == (1, {**expected, "error": None})
    found = decoder.decode(b"\0\0\0\0\3\x04", None)
    of_id = {"framing": "prefix", "id": 3, "subjects": ["orders-value/1"], "state": "active"}
    assert (found.value, json.loads(found.schema or "")) == (2, {**expected, **of_id, "error": None})


@each(
    ("kind", "data", "value", "code"),
    [
        *((kind, INT + b"\x02", 1, None) for kind in ("", "avro")),
        ("", b"\xc3\x01" + bytes(8) + b"\x02", None, None),
        ("avro", b"\xc3\x01" + bytes(8) + b"\x02", None, "schema-fingerprint-unknown"),
        ("protobuf", INT + b"\x02", None, "schema-undecodable"),  # the first byte would be a field of the wire type 3
        ("protobuf", b"\x08\x02", {"1": 2}, None),
        ("json", b"{}", {}, None),
        *((kind, b"\0\0\0\0\7{}", None, "schema-id-unknown") for kind in ("", "avro", "protobuf")),
        ("json", b"\0\0\0\0\7{}", {}, None),
        ("json", b"\0\0\0\0\3\2", 1, None),
        ("avro", b"\2", None, "schema-missing"),
        ("", b"\2", None, None),
        ("avro", None, None, None),
    ],
)
def test_data_have_the_schema_that_they_name_or_none(kind: str, data: bytes | None, value: Any, code: str | None) -> None:
    decoder = PartDecoder(Collection(_registry(("s", 1, 3, '"int"'))), "value", kind=kind, topic="t")
    found = decoder.decode(data, None)
    assert (found.value, found.fault and found.fault.code) == (value, code)
    assert found.has_value == (value is not None)
    assert code is None or (json.loads(found.schema or "{}")["error"] is not None)


def test_a_header_without_a_path_of_messages_is_about_the_first_one() -> None:
    text = 'syntax = "proto3"; message M { int32 n = 1; } message Other { int32 o = 1; }'
    decoder = PartDecoder(Collection(_registry(("s", 1, 3, text), schemaType="PROTOBUF")), "value", topic="t")
    for path, value in ((b"", {"n": 2}), (b"\0", {"n": 2}), (b"\2\2", {"o": 2})):
        assert decoder.decode(b"\x08\x02", ((framing.HEADER_NAMES["value"], b"\0\0\0\0\3" + path),)).value == value


def test_the_newest_schema_of_a_subject_is_that_of_data_of_its_type_only() -> None:
    collection = Collection(_registry(("t-value", 1, 1, '"int"'), ("t-value", 2, 2, '"long"'), ("t-key", 1, 3, '"string"')))
    found = collection.named(AVRO, "", "t", "value")
    assert found is not None and found[1].text == '"long"'
    assert collection.named(PROTOBUF, "", "t", "value") is None


def test_a_schema_and_a_type_in_it_are_decoded_apart() -> None:
    item = {"type": "record", "name": "Item", "fields": [{"name": "n", "type": "int"}]}
    text = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "item", "type": item}]})
    schema = Schema(AVRO, text, name="a.avsc")
    collection = Collection(schemas=[schema])
    shown = [collection.avro(schema, name=name).decode(b"\x08") for name in ("Item", "", "Item")]
    assert shown == [{"n": 4}, {"item": {"n": 4}}, {"n": 4}]


def test_zeros_before_other_batches_are_a_problem_and_markers_say_nothing(tmp_path: Path) -> None:
    first, last = (batch(base_offset=offset, records=[record(key=b'{"keytype":"NOOP"}')]) for offset in (0, 2))
    marker = transaction_marker(base_offset=1, producer_id=7, producer_epoch=0, is_commit=True)
    for data, problems in ((first + marker + last + bytes(600), 0), (first + bytes(600) + last, 1)):
        (tmp_path / f"{0:020}.log").write_bytes(data)
        found = topic.read(str(tmp_path))
        assert (found.problem_count, found.is_read) == (problems, True), found.problems


def test_a_registry_that_is_given_takes_the_place_of_the_one_beside_the_data_and_files_do_not(tmp_path: Path) -> None:
    for name, id in (("data", 7), ("other", 8)):
        registered = record(key=json.dumps(AT).encode(), value=json.dumps(SAID | {"id": id}).encode())
        write_partition(tmp_path / name, topic="_schemas", partition=0, segments={0: [batch(records=[registered])]})
    (tmp_path / "a.avsc").write_text('"int"')
    for given, ids in ((None, [7]), ("other", [8]), ("other/_schemas-0", [8]), ("a.avsc", [7])):
        collection = collection_of(str(tmp_path / "data/t-0/0.log"), None if given is None else str(tmp_path / given))
        found = [id for id in (7, 8) if collection.registry and collection.registry.by_id(id)]
        assert (found, len(collection.files)) == (ids, given == "a.avsc")
