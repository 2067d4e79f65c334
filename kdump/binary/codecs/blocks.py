"""Divides bytes into the blocks that codecs compress one by one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.binary.reference import Buffer


def blocks_of(pieces: Iterable[Buffer], size: int) -> Iterator[bytes]:
    """The bytes of these pieces in blocks of this size; the last one may be smaller."""
    held = bytearray()
    for piece in pieces:
        held += piece
        start = 0
        while len(held) - start >= size:
            yield bytes(memoryview(held)[start : start + size])
            start += size
        del held[:start]
    if held:
        yield bytes(held)
