"""The PySpark data source `kdump`: passes requests to the pipeline, and what it reads to Spark.

Spark runs `schema`, `reader` and `partitions` in processes for planning, on the driver's machine, some of them several times,
and `read` in those of its workers. Nothing is kept between them, and the reader goes to each task: it holds options only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    In,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema

from kdump.errors import UsageError
from kdump.pipeline import planning, reading
from kdump.pipeline.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql.types import StructType

    from kdump.pipeline.planning import Task


FORMAT = "kdump"


class KdumpSource(DataSource):
    """Files of brokers, as one of the tables of kdump."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return from_arrow_schema(Options(self.options).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader; the one with filters only on request, because Spark refuses it unless the session allows it."""
        given = {name.lower(): value for name, value in self.options.items()}
        given["columns"] = ",".join(schema.names)
        options = Options(given)
        expected = from_arrow_schema(options.schema)
        for field, ours in zip(schema.fields, expected.fields, strict=True):
            if field.dataType != ours.dataType:
                raise UsageError(
                    f"the column {field.name} is {ours.dataType.simpleString()}, not {field.dataType.simpleString()}"
                )
            if ours.nullable and not field.nullable:
                raise UsageError(f"the column {field.name} may be null")
        fields = tuple((field.name, field.nullable) for field in schema.fields)
        return KdumpPushdownReader(given, fields) if options.is_pushdown else KdumpReader(given, fields)


class TaskPartition(InputPartition):
    """A task of Spark."""

    def __init__(self, task: Task) -> None:
        super().__init__(None)
        self.task = task


class KdumpReader(DataSourceReader):
    """Reads a table. `fields` are the names of its columns, as Spark spells them, and whether Spark allows nulls."""

    def __init__(self, given: dict[str, str], fields: Sequence[tuple[str, bool]]) -> None:
        self._given = given
        self._fields = fields
        self._wanted: dict[str, frozenset[object]] = {}

    def partitions(self) -> Sequence[InputPartition]:
        tasks = planning.plan(Options(self._given), self._wanted)
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        options = Options(self._given)
        columns = zip(options.schema, self._fields, strict=True)
        schema = pa.schema([ours.with_name(name).with_nullable(is_nullable) for ours, (name, is_nullable) in columns])
        for batch in reading.read(partition.task, options):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


_PRUNING = {
    "broker": "broker",
    "topic": "topic",
    "partition": "partition",
    "segmentbase": "base_offset",
    "path": "path",
}
"""The columns whose values are those of a file: files that have other ones are not read. By their names in lower case."""


class KdumpPushdownReader(KdumpReader):
    """Reads a table without the files that filters rule out."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # Spark calls it so
        """Use the filters that select files. All are given back, because rows of a file may still not match."""
        for item in filters:
            if not isinstance(item, EqualTo | In) or len(item.attribute) != 1:
                continue
            field = _PRUNING.get(item.attribute[0].lower())
            if field is not None:
                values = frozenset([item.value] if isinstance(item, EqualTo) else item.value)
                self._wanted[field] = self._wanted.get(field, values) & values
        return filters
