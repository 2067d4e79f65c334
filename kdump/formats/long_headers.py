"""Record headers that are too many to be held one by one."""

from __future__ import annotations

from kdump.binary import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.kernel import Buffer

_HEADER_BYTES = 92
"""In the heap of Kafka's tool: a RecordHeader, the buffer of its key, and the reference to it."""

_VALUE_BYTES = 56
"""The buffer of a value that is not null."""


class LongHeaders:
    """The headers of one record as its bytes, which must be valid; each iteration reads their keys again."""

    def __init__(self, data: bytes, count: int) -> None:
        self._data = data
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[bytes, None]]:
        """Each key, without its value."""
        data, position, end = self._data, 0, len(self._data)
        for _ in range(self._count):
            size, position = kernel.read_varint(data, position, end)
            key, position = data[position : position + size], position + size
            size, position = kernel.read_varint(data, position, end)
            position += max(size, 0)
            yield key, None

    def needs_more_heap_than(self, limit: int) -> bool:
        """Whether Kafka's tool needs more than `limit` bytes of heap to hold them."""
        left = limit - len(self._data) - _HEADER_BYTES * self._count
        if left < 0 or left >= _VALUE_BYTES * self._count:
            return left < 0
        data, position, end = self._data, 0, len(self._data)
        for _ in range(self._count):
            size, position = kernel.read_varint(data, position, end)
            size, position = kernel.read_varint(data, position + size, end)
            if size >= 0:
                position += size
                left -= _VALUE_BYTES
        return left < 0


def headers_at(data: Buffer, position: int) -> LongHeaders:
    """The headers of the valid record at this position."""
    size, position = kernel.read_varint(data, position, len(data))
    end = position + size
    position += 1  # attributes
    _, position = kernel.read_varint(data, position, end, 10)  # timestamp delta
    _, position = kernel.read_varint(data, position, end)  # offset delta
    for _ in ("key", "value"):
        size, position = kernel.read_varint(data, position, end)
        position += max(size, 0)
    count, position = kernel.read_varint(data, position, end)
    return LongHeaders(bytes(memoryview(data)[position:end]), count)
