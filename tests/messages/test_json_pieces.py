"""The JSON of large messages in pieces: the same text as that of the message as a whole, in little memory."""

import random
import struct
import tracemalloc

import pytest

from kdump.errors import CorruptData
from kdump.messages import control_records, json_pieces, kafka_json, schema
from kdump.messages.schema import Field, Message, Reader
from tests.any_message import any_message, damaged
from tests.builders.records import unsigned_varint
from tests.loops import each, of_all_cases

LEADER_CHANGE, VOTERS = control_records.MESSAGES[2], control_records.MESSAGES[6]
NESTED = Message(
    "Nested",
    Field("first", "[]struct", Field("number", "int8"), Field("inner", "[]struct", Field("name", "string"), nullable_since=0)),
    Field("numbers", "[]int32"),
    Field("one", "struct", Field("since2", "[]string", since=2), Field("uuid", "uuid")),
    Field("later", "[]struct", Field("x", "int8"), since=1),
    Field("last", "bytes", nullable_since=0),
    flexible_since=0,
)
SAMPLES = 30


@each("message", [*control_records.MESSAGES.values(), NESTED], ids=lambda message: message.name)
def test_pieces_are_the_text_of_the_whole(message: Message) -> None:
    chance = random.Random(message.name)
    whole = faults = 0
    for number in range(SAMPLES):
        data = any_message(message, 0, chance)
        data = damaged(data, chance) if number % 3 == 0 else data + b"\1" * (number % 2)
        for shown_version in (-1, 0, 1, 2):
            try:
                expected = kafka_json.dumps(message, schema.read(message, Reader(data), 0), shown_version)
            except CorruptData as fault:
                with pytest.raises(CorruptData) as caught:
                    json_pieces.pieces(message, data, 0, shown_version)
                assert (caught.value.code, caught.value.message, caught.value.values) == (fault.code, fault.message, fault.values)
                faults += 1
            else:
                assert "".join(json_pieces.pieces(message, data, 0, shown_version)) == expected
                whole += 1
    assert whole > 2 * SAMPLES
    assert faults or message.name not in ("LeaderChangeMessage", "VotersRecord")


def _endpoints(count: int) -> bytes:
    endpoints = unsigned_varint(count + 1) + (b"\2n\2h" + struct.pack(">H", 9092) + b"\0") * count
    return b"\0\0" + unsigned_varint(2) + struct.pack(">i", 1) + bytes(16) + endpoints + bytes(4) + b"\0" + b"\0\0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("message", "data"),
    [
        of_all_cases(LEADER_CHANGE, struct.pack(">hi", 0, 1) + (unsigned_varint(50_001) + bytes(5) * 50_000) * 2 + b"\0"),
        (VOTERS, _endpoints(50_000)),
    ],
    ids=["many voters", "many endpoints"],
)
def test_pieces_of_many_structs_take_the_memory_of_few(message: Message, data: bytes) -> None:
    tracemalloc.start()
    try:
        size = sum(map(len, json_pieces.pieces(message, data, 0, 1)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 1_500_000
    assert peak < 3_000_000, peak  # as a whole, it takes more than 30 million
