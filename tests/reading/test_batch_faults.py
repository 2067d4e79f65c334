"""What is wrong with single messages, in the words in which all say it."""

from kdump.formats.log import Log
from kdump.reading import batch_faults
from kdump.reading.records import UnreadableBatch, past_bad_batches
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.support import opened


def test_of_messages_those_whose_checksum_does_not_match_are_bad() -> None:
    inside = [message(value=b"v"), message(value=b"v", crc=7), message(value=b"v")]
    log = wrapper(messages=inside, magic=1, codec="gzip", base_offset=5)
    log += message_set(messages=[message(value=b"v")], base_offset=8)
    log += batch(records=[b"\x01"], base_offset=9) + batch(records=[record()], base_offset=10)  # what is after a bad one is read
    with opened(log) as source:
        parts = [part for chunk in Log(source).chunks() for part in past_bad_batches(source, chunk)]
    found = [batch_faults.of_messages(part) for part in parts if not isinstance(part, UnreadableBatch)]
    assert [{row: (fault.code, fault.message) for row, fault in each.items()} for each in found] == [
        *({1: ("crc-mismatch", "message with offset 6: its CRC does not match")}, {}, {}),
    ]
