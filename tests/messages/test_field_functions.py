"""Generated functions from bytes to fields: they return what `schema.read` returns, or leave it to that."""

from __future__ import annotations

import random

from kdump.errors import CorruptData
from kdump.messages import field_functions, schema
from kdump.messages.schema import Field, Message, Reader
from tests.any_message import any_message, damaged, messages, versions
from tests.builders.messages import int16, int32, string
from tests.loops import each

SAMPLES = 40


def _read(message: Message, data: bytes, version: int, *, is_fast: bool) -> tuple[str, object]:
    """The repr of the fields, which tells -0.0 and the order of fields, and where they end; or what is wrong."""
    reader = Reader(data)
    try:
        fields = field_functions.read(message, reader, version) if is_fast else schema.read(message, reader, version)
    except CorruptData as fault:
        return fault.code, repr(fault.values)
    return repr(fields), reader.position


@each("message", list(messages()), ids=lambda message: message.name)
def test_damage_is_what_the_schema_says(message: Message) -> None:
    chance = random.Random(message.name)
    for version in versions(message):
        for _ in range(SAMPLES):
            data = damaged(any_message(message, version, chance), chance)
            assert _read(message, data, version, is_fast=True) == _read(message, data, version, is_fast=False)


def test_an_undeclared_version_is_read_as_the_schema_reads_it() -> None:
    message = Message("Test", Field("x", "int16"), Field("y", "[]Inner", Field("z", "int32")), last_version=1)
    data = int16(5) + int32(1) + int32(7)
    for version in (-1, 0, 1, 2):
        assert _read(message, data, version, is_fast=True) == _read(message, data, version, is_fast=False)


def test_defaults_are_not_shared() -> None:
    message = Message("Test", Field("x", "[]int32", since=1), Field("y", "s", Field("z", "string"), since=1), last_version=1)
    first, second = (field_functions.read(message, Reader(b""), 0) for _ in range(2))
    assert first == second == {"x": [], "y": {"z": ""}}
    first["x"].append(1)  # type: ignore[union-attr]
    assert second["x"] == []


def test_a_reader_goes_on_after_a_message() -> None:
    message = Message("Test", Field("x", "string"), last_version=0)
    reader = Reader(bytearray(string("a") + string("b")))
    assert [field_functions.read(message, reader, 0) for _ in range(2)] == [{"x": "a"}, {"x": "b"}]
    assert reader.remaining == 0
