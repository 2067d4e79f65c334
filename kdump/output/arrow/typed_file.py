"""Gives the decoded keys and values of a Parquet file the types of their schemas."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from kdump.output.arrow.decoded_columns import NAMES
from kdump.output.arrow.files import SNAPPY, TableFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.output.arrow.decoded_columns import DecodedColumns

_ROWS = 4096  # at a time


def write_typed(source: str, path: str, columns: DecodedColumns) -> None:
    """Write the rows of a Parquet file, whose decoded keys and values are JSON text, into a new one with typed columns.

    Raises FileExistsError.
    """
    fields = {field.name: field for field in columns.fields}
    with pq.ParquetFile(source) as file:
        schema = pa.schema([fields.get(field.name, field) for field in file.schema_arrow])
        with TableFile(path, schema, compression=SNAPPY) as typed:
            for batch in file.iter_batches(_ROWS):
                arrays = dict(zip(NAMES, columns.typed(batch), strict=True))
                columns_of_batch = [arrays.get(name, batch.column(name)) for name in batch.schema.names]
                typed.write(pa.RecordBatch.from_arrays(columns_of_batch, schema=schema))
