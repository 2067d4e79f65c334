"""Columns of decoded keys and values for Arrow, typed by the shapes of their schemas."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa

from kdump.schemas import json_values, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kdump.decoding.decoded import Decoded
    from kdump.schemas.shapes import Shape

    Convert = Callable[[Any], Any]  # a value for JSON to one for Arrow

NAMES = ("decodedKey", "decodedValue", "keySchema", "valueSchema", "decodeError")
"""The columns that records have in addition where schemas decode them."""

UNFIT = "schema-column-unfit"
"""The code of values that are decoded, but do not fit into their column, such as a date of the year 10000."""

_PARTS = ("key", "value")
_UNFIT = (ValueError, TypeError, ArithmeticError, AttributeError, pa.ArrowException)
_MAX_DECIMAL = 76  # digits
_DIGITS_128 = 38

_SIMPLE: dict[str, tuple[pa.DataType, Convert | None]] = {
    shapes.NULL: (pa.string(), None),
    shapes.BOOL: (pa.bool_(), None),
    shapes.TEXT: (pa.string(), str),
    shapes.BYTES: (pa.binary(), base64.b64decode),
    shapes.JSON: (pa.string(), json_values.encode),
    shapes.INT32: (pa.int32(), int),
    shapes.INT64: (pa.int64(), int),
    shapes.UINT64: (pa.decimal128(20, 0), Decimal),
    shapes.FLOAT: (pa.float32(), float),
    shapes.DOUBLE: (pa.float64(), float),
    shapes.DATE: (pa.date32(), date.fromisoformat),
    shapes.TIME: (pa.time64("us"), time.fromisoformat),
    shapes.TIMESTAMP: (pa.timestamp("us", "UTC"), lambda text: datetime.fromisoformat(_to_microseconds(text))),
    shapes.LOCAL_TIMESTAMP: (pa.timestamp("us"), datetime.fromisoformat),
}
"""The type of each kind of value, and what makes values for Arrow of those for JSON, None if they are the same."""


class DecodedColumns:
    """Makes the columns of decoded records, each of one type for the whole file."""

    def __init__(self, key: Shape, value: Shape) -> None:
        self.unfit_count = 0
        """How many values did not fit into their column so far."""
        self._columns = [_typed(shape) for shape in (key, value)]
        text = pa.string()
        types = [*(type for type, _ in self._columns), text, text, text]
        self.fields = [pa.field(name, type) for name, type in zip(NAMES, types, strict=True)]
        """The columns with their types."""

    def arrays(self, decoded: Sequence[Decoded | None]) -> list[pa.Array]:
        """The columns of some records. A value that does not fit is null, and an error of its record."""
        errors = [None if one is None else one.error for one in decoded]
        keys, values = ([None if one is None else one.raw(part) for one in decoded] for part in _PARTS)
        arrays = self._typed(keys, values, errors)
        for part in ("key_schema", "value_schema"):
            arrays.append(pa.array([None if one is None else getattr(one, part) for one in decoded], pa.string()))
        return [*arrays, pa.array(errors, pa.string())]

    def typed(self, rows: pa.RecordBatch) -> list[pa.Array]:
        """The columns of rows whose keys and values were decoded to JSON text."""
        texts = [rows.column(name).to_pylist() for name in NAMES]
        errors = texts[-1]
        keys, values = ([None if text is None else json.loads(text) for text in part] for part in texts[:2])
        arrays = self._typed(keys, values, errors)
        return [*arrays, *(rows.column(name) for name in NAMES[2:4]), pa.array(errors, pa.string())]

    def _typed(self, keys: Sequence[Any], values: Sequence[Any], errors: list[str | None]) -> list[pa.Array]:
        parts = zip(_PARTS, self._columns, (keys, values), strict=True)
        return [self._array(part, *column, raw, errors) for part, column, raw in parts]

    def _array(
        self, part: str, type: pa.DataType, convert: Convert | None, raw: Sequence[Any], errors: list[str | None]
    ) -> pa.Array:
        try:
            return pa.array([_converted(one, convert) for one in raw], type)
        except _UNFIT:  # some value, which is looked for now
            return pa.array([self._fitting(part, type, convert, one, row, errors) for row, one in enumerate(raw)], type)

    def _fitting(
        self, part: str, type: pa.DataType, convert: Convert | None, raw: Any, row: int, errors: list[str | None]
    ) -> Any:
        """A value, or None and an error if it does not fit."""
        try:
            value = _converted(raw, convert)
            pa.scalar(value, type)
        except _UNFIT:
            self.unfit_count += 1
            errors[row] = f"{UNFIT}: the {part} does not fit into the column, whose type is that of the schemas seen before"
            return None
        return value


def _typed(shape: Shape) -> tuple[pa.DataType, Convert | None]:
    """Arrow's type for a shape, and what makes its values."""
    if shape.kind in _SIMPLE:
        return _SIMPLE[shape.kind]
    if shape.kind == shapes.DECIMAL:
        if shape.precision > _MAX_DECIMAL:
            return pa.string(), str
        make = pa.decimal128 if shape.precision <= _DIGITS_128 else pa.decimal256
        return make(shape.precision, shape.scale), Decimal
    if shape.kind == shapes.STRUCT:
        return _struct(shape)
    assert shape.items is not None
    item_type, convert = _typed(shape.items)
    if shape.kind == shapes.LIST:
        field = pa.field("element", item_type)
        return pa.list_(field), lambda items: [_converted(item, convert) for item in items]
    entries: Convert = lambda items: [(key, _converted(item, convert)) for key, item in items.items()]  # noqa: E731
    return pa.map_(pa.string(), item_type), entries


def _struct(shape: Shape) -> tuple[pa.DataType, Convert]:
    fields = {name: _typed(field) for name, field in shape.fields.items()}
    type = pa.struct([pa.field(name, field_type) for name, (field_type, _) in fields.items()])

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        unknown = value.keys() - fields.keys()
        if unknown:
            raise ValueError(f"there is no column for {min(unknown)}")
        return {name: _converted(value.get(name), of_field) for name, (_, of_field) in fields.items()}

    return type, convert


def _converted(value: Any, convert: Convert | None) -> Any:
    return value if value is None or convert is None else convert(value)


def _to_microseconds(text: str) -> str:
    """A timestamp of Protobuf without its nanoseconds."""
    seconds, point, fraction = text.removesuffix("Z").partition(".")
    return f"{seconds}{point}{fraction[:6]}+00:00"
