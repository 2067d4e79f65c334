"""The PySpark data source `kdump`: passes requests to the pipeline, and what it reads to Spark.

Spark runs `schema`, `reader` and `partitions` in processes for planning, on the driver's machine, some of them several times,
and `read` in those of its workers. Nothing is kept between them, and the reader goes to each task: it holds options only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from kdump.errors import UsageError
from kdump.pipeline import discovery, planning, reading
from kdump.pipeline.options import Options
from kdump.spark.brief_errors import BriefRefusal, brief_errors
from kdump.spark.columns import as_spark_has_it, fields_of, options_for
from kdump.spark.releases import FORMAT
from kdump.spark.stream import KdumpStreamReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceStreamReader, Filter
    from pyspark.sql.types import StructType

    from kdump.pipeline.planning import Task
    from kdump.spark.columns import Fields


_ONLY_READS = "kdump only reads: it writes neither tables nor streams"
_WRITERS = 'write with another format, such as frame.write.parquet("/data/orders")'

_CATALOG = {"location", "owner", "provider", "external"}
"""Options that Spark gives of itself, and only for a table of its catalog."""

_NO_TABLES = "kdump cannot be a table of the catalog (CREATE TABLE), because Spark does not give its options to the reader"
_VIEWS = "use CREATE TEMPORARY VIEW name USING kdump OPTIONS (path '...', table 'batches')"


class KdumpSource(DataSource):
    """Files of brokers, as one of the tables of kdump."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    @brief_errors()
    def schema(self) -> StructType:
        options = Options(self._given())
        discovery.require(options)
        return from_arrow_schema(options.schema)

    @brief_errors()
    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        raise UsageError(_ONLY_READS, remedy=_WRITERS)

    @brief_errors()
    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: N802  # Spark calls it so
        raise UsageError(_ONLY_READS, remedy=_WRITERS)

    @brief_errors()
    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader; the one with filters only on request, because Spark refuses it unless the session allows it."""
        given, fields = self._given(), fields_of(schema)
        options = options_for(schema, given)
        given["columns"] = ",".join(schema.names)
        return KdumpPushdownReader(given, fields) if options.is_pushdown else KdumpReader(given, fields)

    @brief_errors()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark calls it so
        """The reader of what logs gain."""
        given = self._given()
        options_for(schema, given)
        given["columns"] = ",".join(schema.names)
        return KdumpStreamReader(given, fields_of(schema))

    def _given(self) -> dict[str, str]:
        """The options, by their names in lower case. Raises UsageError for a table of a catalog."""
        given = {name.lower(): value for name, value in self.options.items()}
        if given.keys() & _CATALOG:
            raise UsageError(_NO_TABLES, remedy=_VIEWS)
        if not given:  # a table of the catalog whose columns were given, or `load()`
            raise UsageError(f'no path was given, as load("/var/lib/kafka") does; {_NO_TABLES}', remedy=_VIEWS)
        return given


class TaskPartition(InputPartition):
    """A task of Spark."""

    def __init__(self, task: Task) -> None:
        super().__init__(None)
        self.task = task


class KdumpReader(DataSourceReader):
    """Reads a table. `fields` are the names of its columns, as Spark spells them, and whether Spark allows nulls."""

    def __init__(self, given: dict[str, str], fields: Fields) -> None:
        self._given = given
        self._fields = fields
        self._wanted: dict[str, frozenset[object]] = {}
        self._ranges: dict[str, str] = {}  # options that choose batches and records, but no files

    @brief_errors()
    def partitions(self) -> Sequence[InputPartition]:
        tasks = planning.plan(Options(self._given), self._wanted)
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        options = Options(self._given | self._ranges)
        with brief_errors():
            yield from as_spark_has_it(reading.read(partition.task, options), self._fields)


_PRUNING = {
    "broker": "broker",
    "topic": "topic",
    "partition": "partition",
    "segmentbase": "base_offset",
    "path": "path",
}
"""The columns whose values are those of a file: files that have other ones are not read. By their names in lower case."""

_RANGES = {
    ("records", "offset"): ("from_offset", "to_offset"),
    ("records", "timestamp"): ("from_time", "to_time"),
    ("batches", "lastoffset"): ("from_offset", None),
    ("batches", "baseoffset"): (None, "to_offset"),
    ("batches", "timestamp"): ("from_time", None),
}
"""The bounds of Options.range for the lowest and the highest value of a column, where they leave out only what a filter on it
does.
"""

_OPTIONS = {"from_offset": "fromoffset", "to_offset": "tooffset", "from_time": "fromtimestamp", "to_time": "totimestamp"}
"""The options for these bounds."""


class KdumpPushdownReader(KdumpReader):
    """Reads a table without the files, batches and records that filters rule out."""

    def __init__(self, given: dict[str, str], fields: Fields) -> None:
        super().__init__(given, fields)
        self._refusal = BriefRefusal()  # by a session that pushes no filters down

    def partitions(self) -> Sequence[InputPartition]:
        self._refusal.end()
        return super().partitions()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # Spark calls it so
        """Use the filters that select files, and ranges of offsets and timestamps. Since 4.1.

        All are given back, because other rows of a file may remain.
        """
        from pyspark.sql.datasource import EqualTo, In

        for item in filters:
            name = ".".join(getattr(item, "attribute", ())).lower()
            if isinstance(item, EqualTo | In):
                self._choose_files(name, item.value if isinstance(item, In) else [item.value])
            self._narrow(name, *_range_of(item))
        return filters

    def _choose_files(self, name: str, values: Iterable[object]) -> None:
        """Read only files with these values of a column, if its values are those of a file."""
        field = _PRUNING.get(name)
        if field is not None:
            self._wanted[field] = self._wanted.get(field, frozenset(values)) & frozenset(values)

    def _narrow(self, name: str, lowest: int | None, highest: int | None) -> None:
        """Read only this range of a column, if there are options for that; the options that were given remain in force.

        Names of files are not believed, as they are for options: a filter is not to hide records in files with wrong names.
        """
        least, most = _RANGES.get((self._given.get("table", "batches"), name), (None, None))
        if name == "timestamp" and (lowest is None or lowest < 0):
            return  # records without a timestamp have a negative one, and a range leaves them out
        asked = Options(self._given | self._ranges).range
        if least is not None and lowest is not None:
            given = getattr(asked, least)
            self._ranges[_OPTIONS[least]] = str(lowest if given is None else max(lowest, given))
        if most is not None and highest is not None:
            given = getattr(asked, most)
            self._ranges[_OPTIONS[most]] = str(highest if given is None else min(highest, given))


def _range_of(item: Filter) -> tuple[int | None, int | None]:
    """The lowest and the highest number that a filter lets pass, if it gives them."""
    from pyspark.sql import datasource

    value = getattr(item, "value", None)
    if not isinstance(value, int):
        return None, None
    match item:
        case datasource.EqualTo():
            return value, value
        case datasource.GreaterThanOrEqual():
            return value, None
        case datasource.GreaterThan():
            return value + 1, None
        case datasource.LessThanOrEqual():
            return None, value
        case datasource.LessThan():
            return None, value - 1
    return None, None
