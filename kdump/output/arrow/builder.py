"""Turns our columns into Arrow record batches, with bounds on rows and bytes; long values are cut."""

from __future__ import annotations

from array import array
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

_SMALL_ROWS = 2048
_FEW_BYTES = 1 << 16
_SMALL_PART = 4  # batches with less than this part of the allowed rows and bytes are joined
MOST_HELD = 64
"""Small batches before they are joined: each may keep the bytes of the window that its rows were read from."""


class Constant(Declared):
    """A column in which all rows have one value."""

    value: object


class Packed(Declared):
    """A column of buffers in the layout of Arrow: one of numbers, or a tuple of several."""

    buffers: Any


class Spread(Declared):
    """A column that repeats its first value `counts[0]` times, the next one `counts[1]` times, and so on."""

    values: Sequence[Any]
    counts: Sequence[int]


def arrow_array(type_name: str, values: Any, count: int) -> pa.Array:
    """A column of this type and length; `values` is a sequence, a Constant, a Spread or Packed."""
    if is_json(type_name):
        return arrow_array("Text", _as_json(values), count)
    found_type = arrow_type(type_name)
    if isinstance(values, Constant):
        if values.value is None:
            return pa.nulls(count, found_type)
        value: Any = _text(values.value) if type_name == "Text" else values.value
        return pa.repeat(pa.scalar(value, found_type), count)
    if isinstance(values, Spread):
        return arrow_array(type_name, list(_spread(values, count)), count)
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
    parts: Iterable[tuple[dict[str, Any], int]], rows: int = BATCH_ROWS, has_few_bytes: Callable[[dict[str, Any]], bool] = bool
) -> Iterator[tuple[dict[str, Any], int]]:
    """The same columns with their numbers of rows; small parts are joined with those after them.

    For a small part, its arrays would take longer to make than to fill. One that `has_few_bytes` has no packed bytes.
    """
    held: list[tuple[dict[str, Any], int]] = []
    held_rows = 0
    shape: object = None  # of those that are held
    for columns, count in parts:
        is_held = count <= min(_SMALL_ROWS, rows) and has_few_bytes(columns)
        before, shape = shape, _shape(columns) if is_held else None
        if held and (held_rows + count > rows or shape != before):
            yield _together(held), held_rows
            held, held_rows = [], 0
        if not is_held:
            yield columns, count
            continue
        held.append((columns, count))
        held_rows += count
        if held_rows == rows:
            yield _together(held), held_rows
            held, held_rows = [], 0
    if held:
        yield _together(held), held_rows


def joined_records(parts: Iterable[tuple[dict[str, Any], int]], rows: int) -> Iterator[tuple[dict[str, Any], int]]:
    """The same columns of records, joined where batches were read one by one, and hold little."""
    return joined(parts, min(rows, MOST_HELD), _have_few_bytes)


def _have_few_bytes(columns: dict[str, Any]) -> bool:
    contents = [columns.get(name, ()) for name in ("key", "value", "headers")]
    if any(isinstance(values, Packed) for values in contents) or any(contents[-1]):
        return False
    return sum(len(data) for values in contents[:-1] for data in values if isinstance(data, bytes)) <= _FEW_BYTES


def _shape(columns: dict[str, Any]) -> dict[str, bool]:
    """Which columns there are, and which of them are packed; those of one shape can be joined."""
    return {name: type(values) is Packed for name, values in columns.items()}


def _together(parts: list[tuple[dict[str, Any], int]]) -> dict[str, Any]:
    """The columns of these parts, which are alike, one after the other."""
    made: dict[str, Any] = {}
    for name, first in parts[0][0].items():
        if isinstance(first, Packed):
            made[name] = Packed(b"".join([columns[name].buffers for columns, _ in parts]))
        elif isinstance(first, Constant) and _has_all(first.value, [columns[name] for columns, _ in parts]):
            made[name] = first
        else:
            made[name] = list(chain.from_iterable(_spread(columns[name], count) for columns, count in parts))
    return made


def _has_all(value: object, columns: Iterable[Any]) -> bool:
    """Whether this is the value of all rows of these columns."""
    return all(type(values) is Constant and values.value is value for values in columns)


def _spread(values: Any, count: int) -> Iterable[Any]:
    """The values of a column, one for each of its rows."""
    if isinstance(values, Constant):
        return repeat(values.value, count)
    if isinstance(values, Spread):
        return chain.from_iterable(map(repeat, values.values, values.counts))
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
        for batch, batch_size in _parts(whole, rows, size):
            is_held = is_small(batch.num_rows, batch_size, rows, size)
            if held and (not is_held or held_rows + batch.num_rows > rows or held_size + batch_size > size):
                yield _joined(held)
                held, held_rows, held_size = [], 0, 0
            if not is_held:
                yield batch
                continue
            held.append(batch)
            held_rows += batch.num_rows
            held_size += batch_size
            if len(held) == MOST_HELD:
                held = [_joined(held)]
    if held:
        yield _joined(held)


def is_small(batch_rows: int, batch_size: int, rows: int, size: int) -> bool:
    """Whether a batch of this many rows and bytes is joined with others, where batches may have `rows` rows and `size` bytes."""
    return _SMALL_PART * batch_rows < rows and _SMALL_PART * batch_size < size


def _parts(batch: pa.RecordBatch, rows: int, size: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """A batch, halved until each part has at most `rows` rows and `size` bytes, with the size; a single row is never cut."""
    batch_size = batch.nbytes  # which takes long
    if batch.num_rows <= 1 or batch.num_rows <= rows and batch_size <= size:
        if batch.num_rows:
            yield batch, batch_size
        return
    if batch_size <= size:
        count = -(-batch.num_rows // rows)
        edges = [batch.num_rows * part // count for part in range(count + 1)]
        for start, end in pairwise(edges):
            part = batch.slice(start, end - start)
            yield part, part.nbytes
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


def _size(value: object) -> int:
    return len(value) if isinstance(value, bytes | bytearray) else 0


def _text(value: object) -> object:
    """Text that UTF-8 can hold: bytes in paths that are not text are replaced."""
    if isinstance(value, list):
        return list(map(_text, value))
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value
