"""Finds a batch in the middle of a log: the first from some position on whose checksum fits."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.binary.batch_header import (
    ATTRIBUTES_AT,
    ATTRIBUTES_IN_USE,
    LAST_OFFSET_DELTA_AT,
    MAGIC_AT,
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_CRC_COVERS_FROM,
    MESSAGE_HEADER_SIZE,
    MIN_RECORD_OVERHEAD,
    batch_size,
    stored_crc,
)
from kdump.binary.checksums import crc32, crc32c_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Reader(Protocol):
        """What reads by position."""

        def read(self, position: int, count: int, /) -> bytes:
            """The bytes there, fewer than `count` at the end."""


NOWHERE = -1

_FIRST_WINDOW = 64 << 10
_LARGEST_WINDOW = 4 << 20
_BUDGET = 8 << 20  # bytes under checksums, so that bytes made to look like headers cost little


def first_batch(source: Reader, start: int, end: int, is_legacy: bool) -> int:
    """Where the first batch of magic 2 begins in this range, or message of magic 0 or 1; NOWHERE if there is none.

    It may reach past the range. What is found may stand in a payload: its checksum fits, no more.
    """
    size = _FIRST_WINDOW
    while size <= _LARGEST_WINDOW:
        window = source.read(start, size)
        found = kernel.native.find(window, 0, is_legacy) if kernel.native is not None else find(window, is_legacy)
        if found >= 0:
            return start + found if start + found < end else NOWHERE
        size *= 8
    return NOWHERE


def find(window: bytes, is_legacy: bool) -> int:
    """Where the first of them begins that is whole in a window, as the kernel in C finds it; NOWHERE if there is none."""
    checksum = crc32 if is_legacy else crc32c_for(len(window))
    covers_from = MESSAGE_CRC_COVERS_FROM if is_legacy else kernel.CRC_COVERS_FROM
    header_size = MESSAGE_HEADER_SIZE if is_legacy else kernel.BATCH_HEADER_SIZE
    budget = _BUDGET
    view = memoryview(window)
    for start in _candidates(window, is_legacy):
        if len(window) - start < header_size or budget <= 0:
            return NOWHERE
        end = start + batch_size(window, start)
        if is_legacy:
            may_be = end - start >= kernel.LOG_OVERHEAD + MIN_RECORD_OVERHEAD and not window[start + MESSAGE_ATTRIBUTES_AT] & 0xF0
        else:
            attributes = int.from_bytes(window[start + ATTRIBUTES_AT : start + LAST_OFFSET_DELTA_AT], "big", signed=True)
            may_be = end - start >= kernel.BATCH_HEADER_SIZE and 0 <= attributes <= ATTRIBUTES_IN_USE
        if end > len(window) or not may_be:
            continue
        budget -= end - start
        if checksum(view[start + covers_from : end]) == stored_crc(window, start):
            return start
    return NOWHERE


def _candidates(window: bytes, is_legacy: bool) -> Iterator[int]:
    """Where batches would begin by their magic alone."""
    magics = (b"\0", b"\1") if is_legacy else (b"\2",)
    places = [window.find(magic, MAGIC_AT) for magic in magics]
    while any(place >= 0 for place in places):
        at = min(place for place in places if place >= 0)
        yield at - MAGIC_AT
        places = [window.find(magic, at + 1) if place == at else place for magic, place in zip(magics, places, strict=True)]
