"""Segments of Redpanda: Kafka's batches with a header of its own, as model::record_batch_header in Redpanda's sources has it."""

import struct

from tests.builders.checksums import crc32c

NAME = "0-1-v1.log"
"""A segment of base offset 0 and term 1."""
DATA, CONFIGURATION = 1, 2
_KAFKA = struct.Struct(">qiibIhiqqqhii")
_REST = struct.Struct("<iqbIhiqqqhii")  # after the checksum of the header


def redpanda_batch(kafkas: bytes, batch_type: int = DATA) -> bytes:
    """What Redpanda stores for one batch of magic 2."""
    base_offset, _, _, _, crc, attributes, last_delta, first_time, max_time, *producer, count = _KAFKA.unpack_from(kafkas)
    records = kafkas[_KAFKA.size :]
    size = 4 + _REST.size + len(records)
    rest = _REST.pack(size, base_offset, batch_type, crc, attributes, last_delta, first_time, max_time, *producer, count)
    return struct.pack("<I", crc32c(rest)) + rest + records
