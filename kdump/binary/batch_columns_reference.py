"""Headers of batches as columns in the layout of Arrow: plain Python that owns the behaviour of `summarize_log` there."""

from __future__ import annotations

from array import array

from kdump.binary.arithmetic import NO_SEQUENCE, as_int64, increment_sequence
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_SEQUENCE,
    BASE_TIMESTAMP,
    CRC,
    LAST_OFFSET_DELTA,
    LEADER_EPOCH,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MAX_TIMESTAMP,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    RECORD_COUNT,
)
from kdump.binary.reference import walk_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BATCH_COLUMNS = {
    "base_offset": "q",
    "last_offset": "q",
    "count": "i",
    "base_sequence": "i",
    "last_sequence": "i",
    "producer_id": "q",
    "producer_epoch": "h",
    "partition_leader_epoch": "i",
    "position": "q",
    "timestamp": "q",
    "size": "i",
    "magic": "b",
    "crc": "q",
    "attributes": "h",
    "base_timestamp": "q",
}
"""The columns of batches that are numbers, each with the type of its numbers, as the module array names it."""


def batch_columns(window: bytes, position: int, count: int, max_codec: int) -> tuple[bytes, ...]:
    """The columns of the first `count` batches of a window that begins at this position of the file, as BATCH_COLUMNS says.

    Numbers are in the byte order of this machine. Raises ValueError if the window holds fewer regular batches.
    """
    headers, starts, _, _ = walk_batches(window, 0, max_codec, None)
    if not 0 <= count <= len(headers):
        raise ValueError("the window holds fewer regular batches")
    rows = [_row(header, position + start) for header, start in zip(headers[:count], starts, strict=False)]
    return tuple(array(kind, [row[name] for row in rows]).tobytes() for name, kind in BATCH_COLUMNS.items())


def _row(header: Any, position: int) -> dict[str, int]:  # 13 numbers
    delta, base_sequence = header[LAST_OFFSET_DELTA], header[BASE_SEQUENCE]
    return {
        "base_offset": header[BASE_OFFSET],
        "last_offset": as_int64(header[BASE_OFFSET] + delta),
        "count": header[RECORD_COUNT],
        "base_sequence": base_sequence,
        "last_sequence": NO_SEQUENCE if base_sequence == NO_SEQUENCE else increment_sequence(base_sequence, delta),
        "producer_id": header[PRODUCER_ID],
        "producer_epoch": header[PRODUCER_EPOCH],
        "partition_leader_epoch": header[LEADER_EPOCH],
        "position": as_int64(position),
        "timestamp": header[MAX_TIMESTAMP],
        "size": header[LENGTH] + LOG_OVERHEAD,
        "magic": header[MAGIC],
        "crc": header[CRC],
        "attributes": header[ATTRIBUTES],
        "base_timestamp": header[BASE_TIMESTAMP],
    }
