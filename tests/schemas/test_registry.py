"""A registry, from the records of its topic: which schema an id, a GUID and a version mean."""

import hashlib
import json
from uuid import UUID

from kdump.schemas.collection import Collection
from kdump.schemas.decoding import PartDecoder
from kdump.schemas.registry import Registry, context_of
from kdump.schemas.schema import AVRO, PROTOBUF, Schema
from tests.loops import each


def _registry(*records: tuple[str, int, int | None, str]) -> Registry:
    """A registry with these versions: subject, version, id (None deletes the version for good), text."""
    registry = Registry()
    for offset, (subject, version, id, text) in enumerate(records):
        key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
        value = {"subject": subject, "version": version, "id": id, "schema": text, "deleted": False}
        registry.replay(offset, json.dumps(key).encode(), None if id is None else json.dumps(value).encode())
    assert registry.problems == []
    return registry


def _delete(registry: Registry, subject: str, last: int) -> None:
    key = {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0}
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


@each(
    ("subject", "context"),
    [
        *(("orders-value", ""), (":.:orders-value", ""), (":.eu:orders-value", ".eu"), (":.eu:", ".eu")),
        *((":.eu:a:b", ".eu"), (".eu:orders", ""), (":eu:orders", ""), ("", "")),
    ],
)
def test_a_context_is_in_the_name_of_the_subject(subject: str, context: str) -> None:
    assert context_of(subject) == context
    registry = _registry((subject, 1, 3, '"int"'))
    found = registry.by_id(3, context)
    assert found is not None and found.subjects == [f"{subject}/1"]
    assert (registry.by_id(3) is None) == bool(context)
    assert [id for id, _ in registry.all()] == ([] if context else [3])
    newest = registry.newest(subject)
    assert newest is not None and newest.id == 3
    assert registry.by_version(subject, 1) is not None
    assert registry.qualified("a", context) == (f":{context}:a" if context else "a")
    assert not context or registry.qualified(subject, ".us") == subject


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
    _delete(registry, "a", 3)
    assert registry.newest("a") is None


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
