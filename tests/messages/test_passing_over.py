"""Messages that are passed over: as `read` reads them, without their values."""

import random

from kdump.errors import CorruptData
from kdump.messages import schema
from kdump.messages.schema import Message, Reader
from tests.any_message import any_message, damaged, messages, versions
from tests.loops import each

SAMPLES = 60


def _outcome(message: Message, data: bytes, version: int, *, keep: bool) -> object:
    """Where reading ends, or what is wrong, and the field."""
    reader = Reader(data)
    try:
        schema.read(message, reader, version, keep=keep)
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
                outcome = _outcome(message, one, version, keep=True)
                assert _outcome(message, one, version, keep=False) == outcome, (version, one.hex())
                assert schema.is_readable(message, one, version) == isinstance(outcome, int), (version, one.hex())
