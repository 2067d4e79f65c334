"""Fields are read by their names, not by numbers."""

import re
from pathlib import Path

import kdump
from kdump.binary import batch_header, producer_streak
from kdump.binary.batch_header import BATCH_HEADER, MESSAGE_HEADER

from .builders.records import TIMESTAMP, batch, message, message_set, record

PACKAGE = Path(kdump.__file__).parent

BY_NUMBER = re.compile(
    r"\b(header|header_bytes|run|state|fields|previous|one_before|last_batch|rows\.columns)\[-?\d+\]"
    r"|\bheaders\[[\w-]+\]\[\d"  # a field of the header in some row
    r"|\brows?\[\w+\]\[\d"  # a field of a record
    r"|\[8:12\]|\[\w+ \+ 8 : (\w+ \+ )?(kernel\.)?LOG_OVERHEAD\]|_MAGIC_AT ="  # positions in the bytes of a header
)
"""Tuples and bytes that have fields, with a number where a name belongs."""


def _by_number(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if BY_NUMBER.search(line)]


def test_fields_are_read_by_name() -> None:
    found = {f"{path.relative_to(PACKAGE)}: {line}" for path in PACKAGE.rglob("*.py") for line in _by_number(path.read_text())}
    assert found == set()


BATCH = batch(
    base_offset=5,
    partition_leader_epoch=7,
    codec="gzip",
    is_transactional=True,
    base_timestamp=TIMESTAMP,
    max_timestamp=TIMESTAMP + 9,
    producer_id=11,
    producer_epoch=13,
    base_sequence=17,
    records=[record(value=b"a"), record(value=b"b")],
    crc=19,
)


FIELDS = {
    "BASE_OFFSET": 5,
    "LENGTH": len(BATCH) - 12,
    "LEADER_EPOCH": 7,
    "MAGIC": 2,
    "CRC": 19,
    "ATTRIBUTES": 0x11,
    "LAST_OFFSET_DELTA": 1,
    "BASE_TIMESTAMP": TIMESTAMP,
    "MAX_TIMESTAMP": TIMESTAMP + 9,
    "PRODUCER_ID": 11,
    "PRODUCER_EPOCH": 13,
    "BASE_SEQUENCE": 17,
    "RECORD_COUNT": 2,
}


def test_fields_of_a_batch_are_where_their_names_say() -> None:
    header = BATCH_HEADER.unpack_from(BATCH)
    assert {name: header[getattr(batch_header, name)] for name in FIELDS} == FIELDS


def test_fields_of_a_batch_that_are_read_alone_are_found_in_its_bytes() -> None:
    data = b"before" + BATCH
    assert batch_header.batch_offset(data, 6) == 5
    assert batch_header.batch_length(data, 6) == len(BATCH) - 12
    assert batch_header.batch_size(data, 6) == len(BATCH)
    assert batch_header.codec_id(data, 6) == 1
    assert batch_header.stored_crc(data, 6) == 19
    assert BATCH[batch_header.MAGIC_AT] == 2
    assert BATCH[batch_header.ATTRIBUTES_AT : batch_header.LAST_OFFSET_DELTA_AT] == b"\x00\x11"


def test_fields_of_a_message_are_found_by_name_and_in_its_bytes() -> None:
    data = message_set(base_offset=3, messages=[message(magic=1, value=b"v", timestamp=TIMESTAMP, attributes=8, crc=23)])
    header = MESSAGE_HEADER.unpack_from(data)
    assert header[batch_header.MESSAGE_OFFSET] == batch_header.batch_offset(data) == 3
    assert header[batch_header.MESSAGE_LENGTH] == batch_header.batch_length(data) == len(data) - 12
    assert header[batch_header.MESSAGE_CRC] == batch_header.stored_crc(data) == 23
    assert header[batch_header.MESSAGE_MAGIC] == data[batch_header.MAGIC_AT] == 1
    assert header[batch_header.MESSAGE_ATTRIBUTES] == data[batch_header.MESSAGE_ATTRIBUTES_AT] == 8
    assert batch_header.codec_id(data) == 0
    assert batch_header.message_timestamp(data) == TIMESTAMP


def test_the_fields_of_a_run_have_the_names_that_the_kernel_gives_them() -> None:
    assert [getattr(producer_streak, name.upper()) for name in producer_streak.STREAK] == list(range(16))
