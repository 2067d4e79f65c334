"""Writes the record batches of an Arrow file as Parquet with pyarrow alone, in groups of rows as large as those of kdump.

python benchmarks/write_parquet.py ARROW PARQUET
"""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

GROUP_BYTES = 32 << 20
UNIQUE = ("offset", "timestamp", "key", "value")


def main(source: str, target: str) -> None:
    """Write all rows; columns of unique values have no dictionary."""
    with pa.memory_map(source) as file:
        reader = pa.ipc.open_file(file)
        repeated = [name for name in reader.schema.names if name not in UNIQUE]
        with pq.ParquetWriter(target, reader.schema, compression="snappy", use_dictionary=repeated) as writer:
            held: list[pa.RecordBatch] = []
            for number in range(reader.num_record_batches):
                held.append(reader.get_batch(number))
                if sum(batch.nbytes for batch in held) >= GROUP_BYTES or number == reader.num_record_batches - 1:
                    writer.write_table(pa.Table.from_batches(held))
                    held = []


if __name__ == "__main__":
    main(*sys.argv[1:])
