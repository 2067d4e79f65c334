"""Messages that are passed over: as `read` reads them, without their values."""

import random

from kdump.errors import CorruptData
from kdump.messages import field_functions, schema
from kdump.messages.schema import Message, Reader
from tests.any_message import any_message, damaged, messages, versions
from tests.loops import each

SAMPLES = 60


def _outcome(reads: object, message: Message, data: bytes, version: int, *, keep: bool = False) -> object:
    """Where reading ends, or what is wrong, and the field."""
    reader = Reader(data)
    try:
        reads(message, reader, version, keep=keep)  # type: ignore[operator]  # one of the two functions
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
                outcome = _outcome(schema.read, message, one, version, keep=True)
                assert _outcome(schema.read, message, one, version) == outcome, (version, one.hex())
                assert _outcome(field_functions.read, message, one, version) == outcome, (version, one.hex())
                end = outcome if isinstance(outcome, int) else None
                assert field_functions.end_of(message, one, 0, version) == end, (version, one.hex())
