"""What is wrong with single messages, in the words in which all say it."""

from kdump.formats.log import Log
from kdump.reading import batch_faults
from kdump.reading.records import UnreadableBatch, past_bad_batches
from tests.builders.records import message, message_set, wrapper
from tests.support import opened


def test_of_messages_those_whose_checksum_does_not_match_are_bad() -> None:
    inside = [message(value=b"v"), message(value=b"v", crc=7), message(value=b"v")]
    log = wrapper(messages=inside, magic=1, codec="gzip", base_offset=5) + message_set(
        messages=[message(value=b"v")], base_offset=8
    )
    with opened(log) as source:
        parts = [part for chunk in Log(source).chunks() for part in past_bad_batches(source, chunk)]
    found = [batch_faults.of_messages(part) for part in parts if not isinstance(part, UnreadableBatch)]
    assert [{row: (fault.code, fault.message) for row, fault in each.items()} for each in found] == [
        {1: ("crc-mismatch", "message with offset 6: its CRC does not match")}
    ]
