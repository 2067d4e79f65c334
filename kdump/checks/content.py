"""The encoded records of one batch, for the rules."""

from __future__ import annotations

from kdump.binary.batch_header import BASE_OFFSET, LAST_OFFSET_DELTA, LENGTH, LOG_OVERHEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.kernel import RecordTuple


class Content:
    """The records of a batch of magic 2 as they are encoded: `rows` as the kernel gives them, read from `data[start:end]`.

    `position` and `size` are those of the batch in the file, `header` is its header. `payload` is the decompressed data, None
    if there is none; `is_regular` says that it is exactly one frame of the usual kind, `is_sound` that decompression
    came to its end.
    """

    __slots__ = ("data", "end", "header", "is_regular", "is_sound", "payload", "position", "rows", "size", "start")

    def __init__(
        self,
        header: Sequence[int],
        position: int,
        data: bytes | bytearray,
        start: int,
        end: int,
        *,
        payload: bytes | None = None,
        is_regular: bool = True,
        is_sound: bool = True,
    ) -> None:
        self.header = header
        self.position = position
        self.size = header[LENGTH] + LOG_OVERHEAD
        self.data = data
        self.start = start
        self.end = end
        self.rows: list[RecordTuple] = []
        self.payload = payload
        self.is_regular = is_regular
        self.is_sound = is_sound

    @property
    def is_compressed(self) -> bool:
        return self.payload is not None

    @property
    def offsets(self) -> tuple[int, int]:
        """The first and the last offset according to the header."""
        return self.header[BASE_OFFSET], self.header[BASE_OFFSET] + self.header[LAST_OFFSET_DELTA]
