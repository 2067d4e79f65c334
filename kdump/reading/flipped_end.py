"""Tells a flipped bit in the offset of the last batch of a log, which no checksum covers, from a gap that the cleaner left."""

from __future__ import annotations

from kdump.binary.batch_header import (
    BATCH_HEADER,
    LEADER_EPOCH,
    MAGIC_AT,
    MAX_TIMESTAMP,
    batch_offset,
    message_timestamp,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST_GAP = 1 << 16  # smaller powers of two are ordinary gaps
_CONTRAST = 16  # how many times larger a gap is than all others together, and than what the time since the batch before allows


def is_flipped(headers: Sequence[bytes], expected: int, missing: int) -> bool:
    """Whether the gap before the last batch of a log is one flipped bit rather than offsets that are missing.

    `headers` are those of the first batch of the log, of the one before the gap, and of the last one. `expected` is what
    the last one would say without the gap, `missing` counts the offsets that are missing elsewhere in the log.

    It is a flipped bit if that alone makes the gap, the gap is out of all proportion to the others, and the time between the two
    batches is far too short for so many offsets at the rate of the log. Without timestamps nothing is known.
    """
    first, before, last = headers
    gap = batch_offset(last) - expected
    if gap < _LEAST_GAP or gap.bit_count() > 1 or expected & gap or missing * _CONTRAST > gap:
        return False
    (_, earliest), (epoch_before, latest), (epoch_of_last, time) = map(_epoch_and_time, headers)
    offsets = batch_offset(before) - batch_offset(first)
    if epoch_before != epoch_of_last or not 0 <= earliest < latest or time < 0:
        return False
    return (time - latest) * _CONTRAST * offsets < (latest - earliest) * gap


def _epoch_and_time(header_bytes: bytes) -> tuple[int, int]:
    """The leader epoch and the highest timestamp of a batch; -1 where its magic has none."""
    if header_bytes[MAGIC_AT] < 2:
        return -1, message_timestamp(header_bytes) if header_bytes[MAGIC_AT] else -1
    header = BATCH_HEADER.unpack_from(header_bytes)
    return header[LEADER_EPOCH], header[MAX_TIMESTAMP]
