"""Reads what still decodes of batches that are lost: offsets, times and keys, for those who want to write the records again."""

from __future__ import annotations

from kdump.binary import codecs
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    LAST_OFFSET_DELTA,
    MAGIC,
    RECORD_COUNT,
)
from kdump.errors import CorruptData, MissingPackage
from kdump.formats.record import BatchRecords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.kernel import RecordTuple

MOST_BYTES = 4 << 20
"""Of a larger batch, or payload, only the records in these first bytes are read."""

_HIGHEST = (1 << 63) - 1

Lost = tuple[int, int, bytes | None]
"""Offset, timestamp in milliseconds, and key."""


def of_batch(data: bytes) -> Iterator[Lost]:
    """The records of a batch of magic 2, up to the first one that cannot be read or is out of order.

    `data` is the batch, or its start. What is damaged in it without a trace, a key or an offset, is taken as it is.
    """
    if len(data) < BATCH_HEADER_SIZE:
        return
    header = BATCH_HEADER.unpack_from(data)
    is_known = header[MAGIC] == 2 and header[ATTRIBUTES] & COMPRESSION_MASK < len(codecs.CODECS)
    if not is_known or header[RECORD_COUNT] <= 0 or header[BASE_OFFSET] < 0:
        return
    before = -1
    for timestamp_delta, offset_delta, *_, key, _value in _rows(header, data):
        if not before < offset_delta <= header[LAST_OFFSET_DELTA]:
            return
        before = offset_delta
        offset, timestamp = header[BASE_OFFSET] + offset_delta, header[BASE_TIMESTAMP] + timestamp_delta
        if offset > _HIGHEST or not -_HIGHEST <= timestamp <= _HIGHEST:
            return
        yield offset, timestamp, None if key is None else bytes(key)


def _rows(header: tuple[int, ...], data: bytes) -> Iterator[RecordTuple]:
    try:
        for rows in BatchRecords(header, data, max_payload=MOST_BYTES).parts():
            yield from rows
    except CorruptData as fault:
        yield from fault.values.get("good_rows", ())
    except MissingPackage:
        return  # of the codec: nothing is recovered by what is read here
