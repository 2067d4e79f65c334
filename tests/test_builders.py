"""The builders write the bytes that Kafka writes."""

import random
import re
from pathlib import Path

from tests.builders.checksums import crc32c, crc32c_byte_by_byte, xxhash32


def test_the_builders_share_no_code_with_the_readers() -> None:
    sources = list((Path(__file__).parent / "builders").glob("*.py"))
    assert len(sources) == 13
    for source in sources:
        assert not re.search(r"^\s*(import|from) kdump", source.read_text(), re.MULTILINE)


# --- the checksums and varints everything rests on


def test_the_checksums_are_the_published_ones() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    for size in (255, 256, 257, 4096, 100_003):
        data = random.Random(size).randbytes(size)
        assert crc32c(data) == crc32c_byte_by_byte(data)
    assert xxhash32(b"") == 0x02CC5D05
    assert xxhash32(b"abc") == 0x32D153FF
    assert xxhash32(b"Nobody inspects the spammish repetition") == 0xE2293B2F
