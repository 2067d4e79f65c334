"""Arrow's schemas of tables, made from the row classes.

Unsigned numbers get a larger signed type, because not all readers have unsigned ones. A column may be null if its row class says
so, whatever the data: readers in other languages find one schema, and Spark need not look for nulls where there are none.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa

from kdump.output.arrow.rows import columns_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.tables import Column

HEADERS = pa.list_(pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])))
"""The headers of a record; `element` is Spark's name for the items of a list."""

_OBJECTS = pa.list_(
    pa.field("element", pa.struct([pa.field(key, pa.string()) for key in ("key", "keyBase64", "value", "valueBase64")]))
)

_TEXT = pa.string()

TYPES: dict[str, pa.DataType] = {
    "Bool": pa.bool_(),
    "Int8": pa.int8(),
    "Int16": pa.int16(),
    "Int32": pa.int32(),
    "Int64": pa.int64(),
    "UInt32": pa.int64(),
    "Float64": pa.float64(),
    "Text": pa.string(),
    "Json": pa.string(),
    "Binary": pa.binary(),
    "Pair": pa.list_(pa.field("element", pa.int64())),
    "Headers": HEADERS,
    "Objects": _OBJECTS,
}
"""Arrow's type for each type of column that is not a list."""

_LIST = "list["


@cache
def arrow_type(name: str) -> pa.DataType:
    """Arrow's type for a column of this type; text, if it has none for it."""
    return _TEXT if is_json(name) else _native_type(name)


@cache
def is_json(name: str) -> bool:
    """Whether Arrow has no type for a column of this type, so that its values become JSON text."""
    return name.replace(_LIST, "").rstrip("]") not in TYPES


def _native_type(name: str) -> pa.DataType:
    if name.startswith(_LIST):
        return pa.list_(pa.field("element", _native_type(name.removeprefix(_LIST).removesuffix("]"))))
    return TYPES[name]


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The schema of these columns, by their names in camel case."""
    return pa.schema([pa.field(column.key, arrow_type(column.type), nullable=column.is_nullable) for column in columns])


def table_schema(table: str, keys: Sequence[str] = ()) -> pa.Schema:
    """The schema of a table, or of the columns with these names. Raises UsageError like `columns_of`."""
    return schema_of(columns_of(table, keys))
