"""Lengths and checksums of batches are corrected as a producer would have written them."""

import pytest

from kdump.formats import batch_writer
from tests.builders.records import batch, message, message_set, record

WHOLE = [
    batch(base_offset=5, records=[record(value=b"v")]),
    message_set(messages=[message(value=b"v", magic=0)]),
    message_set(messages=[message(value=b"v", magic=1)]),
]


@pytest.mark.both_kernels
@pytest.mark.parametrize("data", WHOLE)
def test_a_wrong_length_and_a_wrong_crc_are_corrected(data: bytes) -> None:
    crc_at = 17 if data[16] == 2 else 12
    broken = bytearray(data)
    broken[8:12] = b"\x7f\0\0\0"
    broken[crc_at : crc_at + 4] = b"\1\2\3\4"
    assert batch_writer.with_crc(batch_writer.with_length(broken)) == data
