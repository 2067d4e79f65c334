"""Turns our columns into Arrow record batches, with bounds on rows and bytes; long values are cut."""

from __future__ import annotations

from array import array
from functools import lru_cache, partial
from itertools import accumulate, chain, pairwise, repeat

import pyarrow as pa

from kdump.output.arrow.limits import BATCH_BYTES, BATCH_ROWS
from kdump.output.arrow.schemas import TYPES, arrow_type, is_json, schema_of
from kdump.output.rows.json_text import json_text
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from kdump.tables import Column

SMALL_ROWS = 64
"""An array of fewer rows takes longer to make than to fill."""
SMALL_ROWS_OF_NUMBERS = 2048
"""The same for tables without keys and values, whose rows are quickly joined; their numbers take less than _SMALL_BYTES."""
_SMALL_BYTES = 64 << 10  # of keys, values and headers in these rows
_OF_ANY_SIZE = ("key", "value", "headers")
_JOINED_BYTES = 4 << 20  # of those of all rows that are joined
_ARRAYS = {"Int8": "b", "Int16": "h", "Int32": "i", "Int64": "q"}
_SHORT_TEXT = 128  # characters
_REPEATED = 32  # arrays that are kept, of up to a few MiB
_SMALL_PART = 4  # batches with less than this part of the allowed rows and bytes are joined
MOST_HELD = 64
"""Small batches before they are joined: each may keep the bytes of the window that its rows were read from."""


class Constant(Declared):
    """A column in which all rows have one value."""

    value: object


class Packed:
    """A column of buffers in the layout of Arrow. `read` makes its values, for those who want them as objects."""

    __slots__ = ("_read", "buffers")

    def __init__(self, buffers: Any, read: Callable[[], Sequence[Any]]) -> None:  # a buffer, or a tuple of several
        self.buffers = buffers
        self._read = read

    @property
    def size(self) -> int:
        """The number of bytes."""
        return _size_of(self.buffers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())


def packed_numbers(kind: str, numbers: Any) -> Packed:
    """A column of numbers, given as an array or the bytes of one; `kind` is their type as the module array names it."""
    return Packed(memoryview(numbers).cast("B"), partial(array, kind, bytes(numbers)))


class Spread(Declared):
    """A column that repeats its first value `counts[0]` times, the next one `counts[1]` times, and so on."""

    values: Sequence[Any]
    counts: Spreading


class Spreading:
    """How often each value of a column is repeated. `rows` has the number of the value for each row; it is made once."""

    __slots__ = ("_rows", "counts", "total")

    def __init__(self, counts: Sequence[int]) -> None:
        self.counts = counts
        self.total = sum(counts)
        self._rows: pa.Array | None = None

    @property
    def is_one_each(self) -> bool:
        """Whether no value is repeated."""
        return self.total == len(self.counts) == self.counts.count(1)

    @property
    def rows(self) -> pa.Array:
        if self._rows is None:
            rows = array("i")
            for row, count in enumerate(self.counts):
                rows.extend(array("i", [row]) * count)
            self._rows = pa.Array.from_buffers(pa.int32(), len(rows), [None, pa.py_buffer(rows)])
        return self._rows


def arrow_array(type_name: str, values: Any, count: int) -> pa.Array:
    """A column of this type and length; `values` is a sequence, a Constant, a Spread or Packed."""
    if is_json(type_name):
        return arrow_array("Text", _as_json(values), count)
    found_type = arrow_type(type_name)
    if isinstance(values, Constant):
        if values.value is None:
            return pa.nulls(count, found_type)
        value: Any = _text(values.value) if type_name == "Text" else values.value
        if count <= BATCH_ROWS and (type_name in _ARRAYS or type_name == "Text" and len(value) <= _SHORT_TEXT):
            return _repeated(type_name, value).slice(0, count)
        if type_name in _ARRAYS:
            return _numbers(type_name, (value,), (count,))
        return pa.repeat(pa.scalar(value, found_type), count)
    if isinstance(values, Spread):
        first = values.values[0] if len(values.values) else None
        if values.values.count(first) == len(values.values):
            return arrow_array(type_name, Constant(first), count)
        if values.counts.is_one_each:
            return arrow_array(type_name, values.values, count)
        if type_name in _ARRAYS and None not in values.values:
            return _numbers(type_name, values.values, values.counts.counts)
        return arrow_array(type_name, values.values, len(values.values)).take(values.counts.rows)
    if isinstance(values, Packed):
        return _packed_array(type_name, values.buffers, count)
    if type_name == "Binary":
        return binary_array(values)
    if type_name == "Headers":
        return _headers_array(values)
    if count and type_name in TYPES and type_name != "Objects" and values.count(values[0]) == count:
        return arrow_array(type_name, Constant(values[0]), count)
    try:
        return pa.array(values, found_type)
    except UnicodeEncodeError:  # paths may hold bytes that are not text
        return pa.array([_text(value) for value in values], found_type)


@lru_cache(_REPEATED)
def _repeated(type_name: str, value: Any) -> pa.Array:
    """A value as often as a batch has rows: batch after batch has parts of the same array."""
    if type_name in _ARRAYS:
        return _numbers(type_name, (value,), (BATCH_ROWS,))
    return pa.repeat(pa.scalar(value, arrow_type(type_name)), BATCH_ROWS)


def _numbers(type_name: str, values: Sequence[Any], counts: Sequence[int]) -> pa.Array:
    """A column of numbers, each as often as its count says; faster than `repeat`, and without the import that `take` needs."""
    kind = _ARRAYS[type_name]
    numbers = array(kind)
    for value, count in zip(values, counts, strict=True):
        numbers.extend(array(kind, (value,)) * count)
    return pa.Array.from_buffers(TYPES[type_name], len(numbers), [None, pa.py_buffer(numbers)])


def _packed_array(type_name: str, buffers: Any, count: int) -> pa.Array:
    """A column of these buffers, none of which is copied."""
    if type_name == "Headers":
        offsets, keys, values = buffers
        pairs = len(offsets) // 4 and memoryview(offsets).cast("i")[-1]
        headers = [_bytes_array(pa.string(), keys, pairs), _bytes_array(pa.binary(), values, pairs)]
        struct = pa.StructArray.from_arrays(headers, ["key", "value"])
        return pa.Array.from_buffers(TYPES["Headers"], count, [None, pa.py_buffer(offsets)], children=[struct])
    if type_name == "Binary":
        return _bytes_array(pa.binary(), buffers, count)
    return pa.Array.from_buffers(TYPES[type_name], count, [None, pa.py_buffer(buffers)])


def _bytes_array(arrow_type: pa.DataType, buffers: tuple[Any, Any, Any], count: int) -> pa.Array:
    """Bitmap (if anything is null), offsets and data as an array."""
    return pa.Array.from_buffers(arrow_type, count, [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers])


def _as_json(values: Any) -> Any:
    """A column of the same form with JSON text for each value that is not null."""
    if isinstance(values, Constant):
        return Constant(_as_json([values.value])[0])
    if isinstance(values, Spread):
        return Spread(_as_json(values.values), values.counts)
    return [None if value is None else json_text(value) for value in values]


def binary_array(values: Sequence[bytes | bytearray | None]) -> pa.Array:
    """A binary array whose bytes are in one buffer; None is null."""
    count = len(values)
    if None not in values:
        offsets = array("i", [0])
        offsets.extend(accumulate(map(len, values)))  # type: ignore[arg-type]  # there is no None
        data = b"".join(values)  # type: ignore[arg-type]
        return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    if values.count(None) == count:
        return pa.nulls(count, pa.binary())
    return pa.array(values, pa.binary())


def _headers_array(values: Sequence[Any]) -> pa.Array:
    """Headers of records: keys as text, values as bytes."""
    count = len(values)
    if not any(values):
        if None not in values:
            empty = pa.StructArray.from_arrays([pa.array([], pa.string()), pa.array([], pa.binary())], ["key", "value"])
            offsets = pa.py_buffer(bytes(4 * (count + 1)))
            return pa.Array.from_buffers(TYPES["Headers"], count, [None, offsets], children=[empty])
        if values.count(None) == count:
            return pa.nulls(count, TYPES["Headers"])
    rows = [
        None if headers is None else [{"key": bytes(key).decode("utf-8", "replace"), "value": value} for key, value in headers]
        for headers in values
    ]
    return pa.array(rows, TYPES["Headers"])


def record_batch(
    columns: Sequence[Column], values: dict[str, Any], count: int, schema: pa.Schema | None = None
) -> pa.RecordBatch:
    """A record batch of these columns, from `values` by our names; columns without values are null. `schema` is theirs.

    Raises ValueError for a null in a column that may have none.
    """
    nothing = Constant(None)
    arrays = [arrow_array(column.type, values.get(column.name, nothing), count) for column in columns]
    for column, values_of_column in zip(columns, arrays, strict=True):
        if not column.is_nullable and values_of_column.null_count:
            raise ValueError(f"{column.key} is null in a row")
    return pa.RecordBatch.from_arrays(arrays, schema=schema or schema_of(columns))


def joined(
    parts: Iterable[tuple[dict[str, Any], int]], *, rows: int = BATCH_ROWS, small_rows: int = SMALL_ROWS
) -> Iterator[tuple[dict[str, Any], int]]:
    """The same columns with their numbers of rows; small parts are joined with those after them: each array costs time.

    `small_rows` are the most that a small part has.
    """
    held: list[tuple[dict[str, Any], int]] = []
    held_rows = held_size = 0
    for columns, count in parts:
        size = _small_size(columns, count, small_rows)
        is_full = held_rows + count > rows or held_size + (size or 0) > _JOINED_BYTES
        if held and (size is None or is_full or held[0][0].keys() != columns.keys()):
            yield _together(held), held_rows
            held, held_rows, held_size = [], 0, 0
        if size is None:
            yield columns, count
        elif count:
            held.append((columns, count))
            held_rows += count
            held_size += size
    if held:
        yield _together(held), held_rows


def _together(parts: list[tuple[dict[str, Any], int]]) -> dict[str, Any]:
    """The columns of these parts, which have the same names, one after the other."""
    if len(parts) == 1:
        return parts[0][0]
    counts = [count for _, count in parts]
    return {name: _column_of([columns[name] for columns, _ in parts], counts) for name in parts[0][0]}


def _column_of(parts: list[Any], counts: list[int]) -> Any:
    """One column of these, each with so many rows. Packed numbers stay packed, and one value for all rows stays one."""
    if all(map(_is_packed_numbers, parts)):
        return Packed(b"".join(part.buffers for part in parts), lambda: [number for part in parts for number in part])
    first = parts[0]
    if isinstance(first, Constant) and all(isinstance(part, Constant) and _are_same(first.value, part.value) for part in parts):
        return first
    return list(chain.from_iterable(map(_spread, parts, counts)))


def _is_packed_numbers(values: Any) -> bool:
    return isinstance(values, Packed) and not isinstance(values.buffers, tuple)


def _are_same(value: object, other: object) -> bool:
    return value is other or type(value) is type(other) and value == other


def is_small(columns: dict[str, Any], count: int) -> bool:
    """Whether there are so few and so small rows that `joined` should put them together with others."""
    return _small_size(columns, count) is not None


def _small_size(columns: dict[str, Any], count: int, small_rows: int = SMALL_ROWS) -> int | None:
    """The bytes of the keys, values and headers in these rows, if they are few and small."""
    if count > small_rows:
        return None
    size = 0
    for name in _OF_ANY_SIZE:
        values = columns.get(name, ())
        if isinstance(values, Packed):
            size += values.size
        elif name == "headers":
            size += sum([_size(key) + _size(value) for of_record in values for key, value in of_record or ()])
        else:
            size += sum(map(_size, values))
    return size if size <= _SMALL_BYTES else None


def _spread(values: Any, count: int) -> Iterable[Any]:
    """The values of a column, one for each of its rows."""
    if isinstance(values, Constant):
        return repeat(values.value, count)
    if isinstance(values, Spread):
        return chain.from_iterable(map(repeat, values.values, values.counts.counts))
    return values  # type: ignore[no-any-return]  # it is a sequence


def cut(values: Sequence[Any], sizes: Sequence[int | None], limit: int) -> tuple[Sequence[Any], Any]:
    """Keys or values cut to `limit` bytes, and which of them were cut. `sizes` has at least their sizes, or None if unknown."""
    if not sizes or None not in sizes and max(sizes) <= limit:  # type: ignore[operator, type-var]  # there is no None
        return values, Constant(False)
    is_cut = [_size(value) > limit for value in values]
    return [value[:limit] if cuts else value for value, cuts in zip(values, is_cut, strict=True)], is_cut


def bounded(batches: Iterable[pa.RecordBatch], *, rows: int = BATCH_ROWS, size: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at most `rows` rows and about `size` bytes: large ones are cut, small ones joined.

    All others stay as they are, because joining copies.
    """
    held: list[pa.RecordBatch] = []
    held_rows = held_size = 0
    for whole in batches:
        for batch in _parts(whole, rows, size):
            batch_size = batch.nbytes
            is_small = _SMALL_PART * batch.num_rows < rows and _SMALL_PART * batch_size < size
            if held and (not is_small or held_rows + batch.num_rows > rows or held_size + batch_size > size):
                yield _joined(held)
                held, held_rows, held_size = [], 0, 0
            if not is_small:
                yield batch
                continue
            held.append(batch)
            held_rows += batch.num_rows
            held_size += batch_size
            if len(held) == MOST_HELD:
                held = [_joined(held)]
    if held:
        yield _joined(held)


def _parts(batch: pa.RecordBatch, rows: int, size: int) -> Iterator[pa.RecordBatch]:
    """A batch, halved until each part has at most `rows` rows and `size` bytes; a single row is never cut."""
    if batch.num_rows <= 1 or batch.num_rows <= rows and batch.nbytes <= size:
        if batch.num_rows:
            yield batch
        return
    if batch.nbytes <= size:
        count = -(-batch.num_rows // rows)
        edges = [batch.num_rows * part // count for part in range(count + 1)]
        for start, end in pairwise(edges):
            yield batch.slice(start, end - start)
        return
    half = batch.num_rows // 2
    yield from _parts(batch.slice(0, half), rows, size)
    yield from _parts(batch.slice(half), rows, size)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches).combine_chunks()
    (batch,) = table.to_batches()
    return batch


def _size_of(buffers: Any) -> int:  # as of Packed
    if isinstance(buffers, tuple):
        return sum(map(_size_of, buffers))
    return 0 if buffers is None else len(buffers)


def _size(value: object) -> int:
    return len(value) if isinstance(value, bytes | bytearray) else 0


def _text(value: object) -> object:
    """Text that UTF-8 can hold: bytes in paths that are not text are replaced."""
    if isinstance(value, list):
        return list(map(_text, value))
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value
