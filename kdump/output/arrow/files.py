"""Tables as Arrow and Parquet files: written under a temporary name, renamed when they are complete."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

PARQUET = "parquet"

_ROW_GROUP_BYTES = 32 << 20  # of columns in memory; compressed they take a part of it
_ROW_GROUP_ROWS = 1 << 20


class TableFile:
    """A file of one table, in the format `parquet` (zstd) or `arrow`. It gets its name at the end of the block, if all went well.

    Raises FileExistsError if there is a file of this name: nothing is overwritten.
    """

    def __init__(self, path: str, schema: pa.Schema, form: str = PARQUET) -> None:
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self.path = path
        self.rows = 0
        self._temporary = f"{path}.incomplete-{os.getpid()}"
        self._schema = schema
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = self._held_rows = 0
        self._writer: Any  # one of two classes of Arrow's
        if form == PARQUET:
            self._writer = pq.ParquetWriter(self._temporary, schema, compression="zstd")
        else:
            self._writer = pa.ipc.new_file(self._temporary, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        self._held_rows += batch.num_rows
        self.rows += batch.num_rows
        if self._held_bytes >= _ROW_GROUP_BYTES or self._held_rows >= _ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held, self._schema))
        self._held, self._held_bytes, self._held_rows = [], 0, 0

    def __enter__(self) -> TableFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                self._flush()
            self._writer.close()
            if error is None:
                os.link(self._temporary, self.path)  # which does not overwrite, as a renaming would
        finally:
            os.unlink(self._temporary)
