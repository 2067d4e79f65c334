"""`kdump.Tables`: tables of rows, one after another, which pandas, polars, DuckDB and Arrow take as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from kdump.errors import MissingPackage
from kdump.tables import Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

RowType = TypeVar("RowType", bound=Row, covariant=True)


class Tables(Generic[RowType]):
    """Tables of rows of one class: an iterator, and a stream of Arrow (PyCapsule interface), of bounded size either way.

    `polars.DataFrame(tables)`, `pyarrow.table(tables)` and `duckdb.sql("FROM tables")` read it to its end. The columns have
    Kafka's names, as in `--output parquet`. It is read once.
    """

    def __init__(self, row_class: type[RowType], tables: Iterator[Table[RowType]]) -> None:
        self.row_class = row_class
        self._tables = tables

    def __iter__(self) -> Iterator[Table[RowType]]:
        return self

    def __next__(self) -> Table[RowType]:
        return next(self._tables)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """What Arrow's C stream interface asks for. Raises MissingPackage without pyarrow, and what the iteration raises."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def reader(self) -> pa.RecordBatchReader:
        """The same as a reader of Arrow. Raises MissingPackage without pyarrow."""
        from kdump.binary.arrow_loading import load_arrow
        from kdump.binary.installing import how_to_install

        try:
            load_arrow()
        except ModuleNotFoundError as error:
            raise MissingPackage('Arrow needs the package "pyarrow"', remedy=how_to_install("pyarrow", "arrow")) from error
        import pyarrow as pa

        from kdump.output.arrow.builder import record_batch
        from kdump.output.arrow.schemas import schema_of

        columns = self.row_class.schema
        schema = schema_of(columns)
        batches = (record_batch(columns, dict(table.columns), len(table), schema) for table in self._tables)
        return pa.RecordBatchReader.from_batches(schema, batches)
