"""The columns of a table, as Spark asks for them: in its order, under its names, nullable where it says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, TimestampType

from kdump.errors import UsageError
from kdump.pipeline.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.types import StructField, StructType

    Fields = Sequence[tuple[str, bool]]
    """The names of columns, as Spark spells them, and whether Spark allows nulls."""


def fields_of(schema: StructType) -> Fields:
    """The columns of a schema."""
    return tuple((field.name, field.nullable) for field in schema.fields)


def options_for(schema: StructType, given: Mapping[str, str]) -> Options:
    """The options with the columns of a schema. Raises UsageError unless the schema fits the table."""
    options = Options({**given, "columns": ",".join(schema.names)})
    for field, ours in zip(schema.fields, from_arrow_schema(options.schema).fields, strict=True):
        if field.dataType != ours.dataType:
            message = f"the column {field.name} is {ours.dataType.simpleString()}, not {field.dataType.simpleString()}"
            raise UsageError(message, remedy=_conversion(field, ours))
        if ours.nullable and not field.nullable:
            raise UsageError(f"the column {field.name} may be null")
    return options


def _conversion(field: StructField, ours: StructField) -> str:
    """How a query converts a column of ours to the type of a field."""
    if isinstance(field.dataType, TimestampType) and isinstance(ours.dataType, LongType):
        return f"timestamp_millis({field.name}) converts it"
    return f"cast({field.name} AS {field.dataType.simpleString()}) converts it"


def as_spark_has_it(batches: Iterator[pa.RecordBatch], fields: Fields) -> Iterator[pa.RecordBatch]:
    """The same rows under Spark's names of columns, nullable where Spark says so."""
    for batch in batches:
        columns = zip(batch.schema, fields, strict=True)
        schema = pa.schema([ours.with_name(name).with_nullable(is_nullable) for ours, (name, is_nullable) in columns])
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
