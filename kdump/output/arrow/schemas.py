"""Arrow's schemas of tables, made from the row classes.

What has no unsigned type elsewhere is a larger signed one. A column may be null where its row class says so, whatever the data:
readers of other languages find one schema, and Spark does without looking where there is no null.
"""

from __future__ import annotations

import pyarrow as pa

from kdump.output.arrow.rows import columns_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.tables import Column

HEADERS = pa.list_(pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])))
"""The headers of a record; Spark calls what is in a list its element."""

_OBJECTS = pa.list_(
    pa.field("element", pa.struct([pa.field(key, pa.string()) for key in ("key", "keyBase64", "value", "valueBase64")]))
)

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
    "Headers": HEADERS,
    "Objects": _OBJECTS,
}
"""Arrow's type for each that a row class declares."""


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The schema of these columns, by their names in camel case."""
    return pa.schema([pa.field(column.key, TYPES[column.type], nullable=column.is_nullable) for column in columns])


def table_schema(table: str, keys: Sequence[str] = ()) -> pa.Schema:
    """The schema of a table, or of the columns of these names. Raises UsageError as `columns_of`."""
    return schema_of(columns_of(table, keys))
