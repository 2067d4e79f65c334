"""Messages that are passed over: as `read` reads them, without their values."""

import random
import tracemalloc

import pytest

from kdump.errors import CorruptData
from kdump.messages import control_records, passing_functions, schema
from kdump.messages.consumer_offsets import RECORDS
from kdump.messages.schema import Message, Reader
from tests.any_message import any_message, damaged, messages, versions
from tests.builders.records import unsigned_varint
from tests.loops import each
from tests.work import work_of

SAMPLES = 60
GROUP = RECORDS[2][1]
LEADER_CHANGE = control_records.MESSAGES[2]


def _outcome(reads: object, message: Message, data: bytes, version: int) -> object:
    """Where reading ends, or what is wrong, and the field."""
    reader = Reader(data)
    try:
        reads(message, reader, version)  # type: ignore[operator]  # one of the two functions
    except CorruptData as fault:
        return fault.code, fault.message, fault.values
    return reader.position


@each("message", list(messages()), ids=lambda message: message.name)
def test_what_is_passed_over_ends_where_it_is_read(message: Message) -> None:
    chance = random.Random(message.name)
    for version in (*versions(message), -1, 99):
        for _ in range(SAMPLES):
            data = any_message(message, version, chance)
            for one in (data, data + b"\x01\x02", damaged(data, chance), data[: chance.randrange(len(data) + 1)]):
                outcome = _outcome(schema.read, message, one, version)
                assert _outcome(schema.pass_over, message, one, version) == outcome, (version, one.hex())
                assert _outcome(passing_functions.pass_over, message, one, version) == outcome, (version, one.hex())
                end = outcome if isinstance(outcome, int) else None
                assert passing_functions.end_of(message, one, 0, version) == end, (version, one.hex())


def _group_of(members: int, tags: int) -> bytes:
    """A group of a flexible version, whose members have tags that nobody knows."""
    member = b"\1\1\1\1" + bytes(8) + b"\1\1" + unsigned_varint(tags) + b"\7\0" * tags
    return b"\2c" + bytes(4) + b"\0\0" + bytes(8) + unsigned_varint(members + 1) + member * members + b"\0"


@pytest.mark.slow
def test_members_that_are_passed_over_take_no_memory() -> None:
    data = _group_of(10_000, 1)
    tracemalloc.start()
    try:
        schema.pass_over(GROUP, Reader(data), 4)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000, peak  # it was 7 million


@pytest.mark.slow
def test_structs_of_one_size_are_passed_over_together() -> None:
    data = b"\0\0" + bytes(4) + (unsigned_varint(20_001) + bytes(5) * 20_000) * 2 + b"\0"
    work = work_of(lambda: schema.pass_over(LEADER_CHANGE, Reader(data), 0))
    assert work.lines < 1000  # it was two million


@pytest.mark.slow
def test_passing_over_costs_little_for_each_byte() -> None:
    few, many = (_group_of(members, 100) for members in (10, 110))
    steps = [work_of(lambda data=data: schema.pass_over(GROUP, Reader(data), 4)).lines for data in (few, many)]  # type: ignore[misc]  # bound now
    assert steps[1] - steps[0] < 5 * (len(many) - len(few))  # a tag of two bytes took 25 lines
