"""A decompressed payload that is too long to be held, read by position."""

from __future__ import annotations

from kdump.binary import codecs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT_BYTES = 2 << 20  # before the position that is read, for readers that go back a little


class StreamedPayload:
    """The payload of a batch, of which a few MiB are held: reading further back decompresses it again from its start.

    It can be pickled, with its compressed bytes. Raises CorruptData and MissingPackage if it cannot be decompressed to its end.
    """

    __slots__ = ("_blocks", "_codec", "_compressed", "_held", "_held_from", "_magic", "size")

    def __init__(self, codec: int, compressed: bytes, magic: int) -> None:
        self._codec, self._compressed, self._magic = codec, compressed, magic
        self._restart()
        self.size = sum(map(len, self._blocks))
        self._restart()

    def __getstate__(self) -> tuple[int, bytes, int, int]:
        return self._codec, self._compressed, self._magic, self.size

    def __setstate__(self, state: tuple[int, bytes, int, int]) -> None:
        self._codec, self._compressed, self._magic, self.size = state
        self._restart()

    def read_exactly(self, position: int, count: int) -> bytes:
        """The bytes at `position`, which are there: `size` says where the payload ends."""
        if position < self._held_from:
            self._restart()
        held = self._held
        while self._held_from + len(held) < position + count:
            unneeded = min(position - _KEPT_BYTES - self._held_from, len(held))
            if unneeded > _KEPT_BYTES or unneeded == len(held):
                del held[:unneeded]
                self._held_from += unneeded
            held += next(self._blocks)
        start = position - self._held_from
        return bytes(memoryview(held)[start : start + count])

    def _restart(self) -> None:
        self._blocks: Iterator[bytes] = codecs.decompressed(self._codec, self._compressed, self._magic)
        self._held = bytearray()
        self._held_from = 0
