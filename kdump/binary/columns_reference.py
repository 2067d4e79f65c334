"""Records as columns in the layout of Arrow: plain Python that owns the behaviour of `record_columns` in the kernel."""

from __future__ import annotations

from array import array
from itertools import accumulate, chain, repeat
from operator import add

from kdump.binary import reference
from kdump.binary.arithmetic import NO_SEQUENCE, as_int64, sequence_of_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Final

    from kdump.binary.reference import Buffer, Headers, RecordTuple

    PlainBatch = tuple[Buffer, int, int, int, int, int, bool, int]
    """A batch whose records are not compressed, or not any more: their bytes, where the first starts and the last ends in them,
    their count, base offset, base timestamp, whether that is the timestamp of all of them, and base sequence."""

    BytesBuffers = tuple[Buffer | None, Buffer, Buffer]
    """A bitmap of the rows that are not null (None if none is), offsets of 32 bits, and the bytes of all rows."""

    HeadersBuffers = tuple[Buffer, BytesBuffers, BytesBuffers]
    """Offsets of 32 bits to the headers of each row, and the keys and values of all headers."""

    RecordBuffers = tuple[Buffer | BytesBuffers | HeadersBuffers | None, ...]
    """What was made of RECORD_COLUMNS, None for the others."""

RECORD_COLUMNS = ("offset", "timestamp", "key_size", "value_size", "sequence", "headers", "key", "value")
"""The columns of records; `offset` and `timestamp` have numbers of 64 bits, sizes and `sequence` of 32."""

_COUNT: Final = 3  # where a PlainBatch has these fields
_BASE_OFFSET: Final = 4
_BASE_TIMESTAMP: Final = 5
_HAS_ONE_TIMESTAMP: Final = 6
_BASE_SEQUENCE: Final = 7
_NO_LIMIT = 1 << 62


def record_columns(batches: Sequence[PlainBatch], wanted: int, max_headers: int) -> tuple[int, int, RecordBuffers]:
    """The records of the first batches as columns, up to the first irregular batch.

    `wanted` has a bit for each of RECORD_COLUMNS. A batch is irregular if one of its records is, if bytes are left after the
    last, if it has more than `max_headers` headers, or if the key of one is not UTF-8. Empty batches have no bytes that count.
    Returns the number of batches, the size of their largest key or value, and the columns, in the byte order of this machine.
    """
    rows: list[RecordTuple] = []
    regular: list[PlainBatch] = []
    for batch in batches:
        data, start, end, count, *_ = batch
        walked: list[RecordTuple] = []
        if count:
            position, code, _ = reference.walk_records(data, start, end, count, _NO_LIMIT, True, walked, True, max_headers)
            if (
                code
                or position != end
                or len(walked) != count
                or not all(_is_text(headers) for *_, headers, _, _ in walked if headers)
            ):
                break
        regular.append(batch)
        rows += walked
    timestamp_deltas, offset_deltas, key_sizes, value_sizes, headers, keys, values = zip(*rows, strict=True) if rows else [()] * 7
    makers: dict[str, Callable[[], Buffer | BytesBuffers | HeadersBuffers]] = {
        "offset": lambda: _sums([batch[_BASE_OFFSET] for batch in regular], regular, offset_deltas),
        "timestamp": lambda: _timestamps(regular, timestamp_deltas),
        "key_size": lambda: _sizes(key_sizes),
        "value_size": lambda: _sizes(value_sizes),
        "sequence": lambda: _sequences(regular, offset_deltas),
        "headers": lambda: _headers(headers),
        "key": lambda: _bytes(keys),
        "value": lambda: _bytes(values),
    }
    columns = tuple(makers[name]() if wanted >> bit & 1 else None for bit, name in enumerate(RECORD_COLUMNS))
    return len(regular), max([0, *key_sizes, *value_sizes]), columns


def _is_text(headers: Headers) -> bool:
    try:
        for key, _ in headers:
            key.decode()
    except UnicodeDecodeError:
        return False
    return True


def _spread(values: Iterable[int], batches: Sequence[PlainBatch]) -> Iterator[int]:
    """The value of its batch for each record."""
    return chain.from_iterable(map(repeat, values, [batch[_COUNT] for batch in batches]))


def _sums(bases: Sequence[int], batches: Sequence[PlainBatch], deltas: Sequence[int]) -> bytes:
    """The sums as 64 bits hold them."""
    try:
        return _numbers("q", map(add, _spread(bases, batches), deltas))
    except OverflowError:
        return _numbers("q", map(as_int64, map(add, _spread(bases, batches), deltas)))


def _timestamps(batches: Sequence[PlainBatch], deltas: Sequence[int]) -> bytes:
    bases = [batch[_BASE_TIMESTAMP] for batch in batches]
    of_all = [batch[_HAS_ONE_TIMESTAMP] for batch in batches]
    if True in of_all:
        deltas = [0 if is_of_all else delta for is_of_all, delta in zip(_spread(of_all, batches), deltas, strict=True)]
    return _sums(bases, batches, deltas)


def _sizes(sizes: Sequence[int]) -> bytes:
    """Sizes where every negative one means null, which is -1."""
    return _numbers("i", [max(size, -1) for size in sizes] if sizes and min(sizes) < -1 else sizes)


def _sequences(batches: Sequence[PlainBatch], deltas: Sequence[int]) -> bytes:
    bases = [batch[_BASE_SEQUENCE] for batch in batches]
    if not bases or max(bases) < 0:
        return _numbers("i", (NO_SEQUENCE,)) * len(deltas)
    return _numbers("i", map(sequence_of_record, _spread(bases, batches), deltas))


def _numbers(kind: str, numbers: Iterable[int]) -> bytes:
    return array(kind, numbers).tobytes()


def _headers(column: Sequence[Headers]) -> HeadersBuffers:
    offsets = _numbers("i", accumulate(map(len, column), initial=0))
    every = list(chain.from_iterable(column))
    return offsets, _bytes([key for key, _ in every]), _bytes([value for _, value in every])


def _bytes(column: Sequence[Buffer | None]) -> BytesBuffers:
    held = [value if value is not None else b"" for value in column]
    offsets = _numbers("i", accumulate(map(len, held), initial=0))
    is_there = "".join(["0" if value is None else "1" for value in reversed(column)])
    bitmap = int(is_there, 2).to_bytes((len(column) + 7) // 8, "little") if "0" in is_there else None
    return bitmap, offsets, b"".join(held)
