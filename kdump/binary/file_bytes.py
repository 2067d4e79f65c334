"""Bytes of a file or payload that are too large to hold: they are searched and read piece by piece."""

from __future__ import annotations

from kdump.binary.codecs.streamed import StreamedPayload
from kdump.binary.source import WINDOW_SIZE, Source
from kdump.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    _State = tuple[StreamedPayload | None, tuple[int, int] | None, int, int]


MIN_SIZE = WINDOW_SIZE // 2
"""Fewer bytes than these are read at once, and are never FileBytes."""


class FileBytes:
    """`size` bytes of an open file or of a payload from `start` on. `in` and `lower` are for searches, as those of `bytes`.

    In another process, to which a pickled one was sent, `attach` must give it the open file before it is read.
    """

    __slots__ = ("_folds", "_identity", "_source", "size", "start")

    def __init__(self, source: Source | StreamedPayload, start: int, size: int) -> None:
        self._source: Source | StreamedPayload | None = source
        self._folds = False
        self._identity: tuple[int, int] | None = None  # of the file, where it is not open here
        self.start = start
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getstate__(self) -> _State:
        payload = self._source if isinstance(self._source, StreamedPayload) else None
        identity = _identity(self._source) if isinstance(self._source, Source) else self._identity
        return payload, identity, self.start, self.size

    def __setstate__(self, state: _State) -> None:
        self._folds = False
        self._source, self._identity, self.start, self.size = state

    @property
    def is_attached(self) -> bool:
        """Whether the bytes can be read: their file is open here, or they are of a payload."""
        return self._source is not None

    def attach(self, source: Source) -> None:
        """Read these bytes from this file. Raises Unreadable (`file-changed`) if it is another one."""
        if _identity(source) != self._identity:
            raise Unreadable("file-changed", "was replaced while it was read", path=source.path)
        self._source = source

    def pieces(self, size: int = WINDOW_SIZE) -> Iterator[bytes]:
        """The bytes in order, `size` at a time; the last piece may be shorter. Raises Unreadable."""
        assert self._source is not None
        position, end = self.start, self.start + self.size
        while position < end:
            piece = self._source.read_exactly(position, min(size, end - position))
            position += len(piece)
            yield piece

    def lower(self) -> FileBytes:
        """The same bytes, in which bytes in lower case are looked for, whatever the case is here."""
        assert self._source is not None
        folded = FileBytes(self._source, self.start, self.size)
        folded._folds = True
        return folded

    def __contains__(self, data: bytes) -> bool:
        """Whether `data` stands in these bytes. Raises Unreadable."""
        overlap = b""
        for piece in self.pieces():
            held = overlap + (piece.lower() if self._folds else piece)
            if data in held:
                return True
            overlap = held[max(0, len(held) - len(data) + 1) :]
        return False

    def whole(self) -> bytes:
        """All bytes. Raises Unreadable."""
        return b"".join(self.pieces())


def whole(data: bytes | FileBytes | None) -> bytes | None:
    """Bytes as they are, those of a file read."""
    return data.whole() if isinstance(data, FileBytes) else data


def _identity(source: Source) -> tuple[int, int]:
    status = source.status()
    return status.st_dev, status.st_ino
