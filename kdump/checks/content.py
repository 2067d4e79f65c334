"""What rules see of the bytes of one batch: its encoded records, its compressed payload, odd timestamps of its records."""

from __future__ import annotations

from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BATCH_HEADER,
    COMPRESSION_MASK,
    LAST_OFFSET_DELTA,
    LENGTH,
    LOG_OVERHEAD,
)
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary import codecs
    from kdump.binary.kernel import Buffer, RecordTuple


class Content(Declared):
    """Records of a batch of magic 2 as they are encoded: `rows` as the kernel gives them, read from `data[start:end]`.

    `position` is that of the batch in the file, `header` is its header. `opened` is what the payload decompressed
    to, if that took more than one call. `size_before` is the size of the records before these, of a batch that comes in parts.
    """

    header: Sequence[int]
    position: int
    data: Buffer
    start: int
    end: int
    rows: list[RecordTuple]
    opened: codecs.Payload | None = None
    size_before: int = 0

    @property
    def size(self) -> int:
        """The size of the batch in the file."""
        return self.header[LENGTH] + LOG_OVERHEAD

    @property
    def is_sound(self) -> bool:
        """Whether decompression came to its end."""
        return self.opened is None or self.opened.error is None

    @property
    def is_compressed(self) -> bool:
        return bool(self.header[ATTRIBUTES] & COMPRESSION_MASK)

    @property
    def continues(self) -> bool:
        """Whether records of the same batch came before."""
        return self.size_before > 0

    @property
    def offsets(self) -> tuple[int, int]:
        """The first and the last offset according to the header."""
        return self.header[BASE_OFFSET], self.header[BASE_OFFSET] + self.header[LAST_OFFSET_DELTA]


class Payload(Declared):
    """A compressed payload: `data` is all of it.

    `position` and `size` are those of its batch or wrapper in the file, `offsets` the first and the last offset of it.
    """

    codec: int
    magic: int
    position: int
    size: int
    offsets: tuple[int, int]
    data: bytes


class OddTimes(Declared):
    """Batches whose headers have other timestamps than their records.

    Each row has the start of a batch in `data`, its size, whether its base timestamp is not that of the first record, the
    highest timestamp of the records, and the one in the header. `data` begins at `position` of the file.
    """

    rows: Sequence[tuple[int, int, int, int, int]]
    data: Buffer
    position: int

    def offsets_at(self, start: int) -> tuple[int, int]:
        """The first and the last offset of the batch that starts here in `data`, according to its header."""
        header = BATCH_HEADER.unpack_from(self.data, start)
        return header[BASE_OFFSET], header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]
