"""Tables as Arrow and Parquet files: written under a temporary name, renamed when they are complete."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kdump.binary.paths import require_local
from kdump.binary.placing import place
from kdump.workers import unfinished

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

PARQUET = "parquet"
ZSTD, SNAPPY = "zstd", "snappy"
"""What columns are compressed with: for tables that are kept, and, in less time, for a file that is to be looked at."""

_ROW_GROUP_BYTES = 32 << 20  # of columns in memory; compressed they take a part of it
_ROW_GROUP_ROWS = 1 << 20


class TableFile:
    """A file of one table, in the format `parquet` or `arrow`. It gets its name at the end of the block, if all went well.

    Raises FileExistsError if there is a file of this name: nothing is overwritten.
    """

    def __init__(self, path: str, schema: pa.Schema, form: str = PARQUET, *, compression: str = ZSTD) -> None:
        require_local(path, "the output")
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self.path = path
        self.rows = 0
        self._temporary = f"{path}.incomplete-{os.getpid()}"
        self._schema = schema
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = self._held_rows = 0
        self._form = form
        self._compression = compression
        self._writer: Any = None  # one of two classes of Arrow's, from the first rows on
        self._sink: pa.OSFile | None = None  # until the block begins

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        self._held_rows += batch.num_rows
        self.rows += batch.num_rows
        if self._held_bytes >= _ROW_GROUP_BYTES or self._held_rows >= _ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._held, self._schema)
        if self._writer is None:
            self._writer = self._new_writer()
        if self._held:
            self._writer.write_table(table)
        self._held, self._held_bytes, self._held_rows = [], 0, 0

    def _new_writer(self) -> Any:
        if self._form != PARQUET:
            return pa.ipc.new_file(self._sink, self._schema)
        return pq.ParquetWriter(self._sink, self._schema, compression=self._compression)

    def __enter__(self) -> TableFile:
        with unfinished.Making(self._temporary):
            self._sink = pa.OSFile(self._temporary, "wb")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            assert self._sink is not None
            if error is None:
                self._flush()
            if self._writer is not None:
                self._writer.close()
            self._sink.close()
            if error is None:
                place(self._temporary, self.path)
                unfinished.require_removed(self._temporary)
        finally:
            unfinished.remove(self._temporary)
