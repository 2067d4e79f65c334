"""Rows of any class as a file of Parquet or Arrow."""

from __future__ import annotations

from kdump.output.arrow.builder import record_batch
from kdump.output.arrow.files import PARQUET, SNAPPY, TableFile
from kdump.output.arrow.schemas import schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from kdump.tables import Row, Table


class RowFile:
    """A formatter of rows into a file, with a column for each of the schema. The file is there when the block ends well.

    Only rows of `row_class` are written. Raises FileExistsError if the file already exists.
    """

    def __init__(self, path: str, row_class: type[Row], file_format: str = PARQUET) -> None:
        self._row_class = row_class
        self._schema = schema_of(row_class.schema)
        self._file = TableFile(path, self._schema, file_format, compression=SNAPPY)

    def start(self, row_class: type[Row], *others: type[Row]) -> None:
        """Nothing: the file was started with its class."""

    def write(self, table: Table[Row]) -> None:
        if table.row_class is self._row_class:
            self._file.write(record_batch(self._row_class.schema, dict(table.columns), len(table), self._schema))

    def end(self) -> None:
        """Nothing: the end of the block completes the file."""

    def __enter__(self) -> RowFile:
        self._file.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.__exit__(kind, error, trace)
