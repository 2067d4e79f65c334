"""Asks questions of the tables that a scan wrote, and writes the answers beside them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kdump.binary.batch_header import BATCH_HEADER_SIZE, LOG_OVERHEAD
from kdump.output.arrow.files import TableFile
from kdump.output.arrow.rows import columns_of
from kdump.output.arrow.schemas import schema_of, table_schema
from kdump.output.rows.fleet import CodecUse, TopicSize, uncompressed_of_all
from kdump.pipeline.fleet import local
from kdump.pipeline.scan_files import FLEET_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.pipeline.fleet.query import Query

_ROWS_AT_ONCE = 65_536
_IN_ORDER = [(name, "ascending") for name in ("topic", "partition", "broker", "offsetFirst", "code")]
_CODEC_SUMS = (
    ("size", "count"),
    ("count", "count"),
    ("count", "sum"),
    ("size", "sum"),
    ("measured", "sum"),
    ("uncompressed", "sum"),
)


def ask(folder: str, queries: Sequence[Query], cores: int | None = None) -> list[pa.Table]:
    """The answers to questions to the tables in a folder, without Spark; on all cores, or on this many."""
    names = {table for query in queries for table in query.columns}
    return local.ask(queries, {table: _files(folder, table) for table in names}, cores)


def rows(folder: str, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a table in a folder, some at a time."""
    for path in _files(folder, table):
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(_ROWS_AT_ONCE, columns=list(columns))


def table(folder: str, name: str, columns: Sequence[str]) -> pa.Table:
    """All rows of a table in a folder, without the module for data sets, which pyarrow.parquet.read_table loads (16 MiB)."""
    return pa.Table.from_batches(rows(folder, name, columns), schema_of(columns_of(name, columns)))


def row_count(folder: str, table: str) -> int:
    """How many rows a table in a folder has."""
    return sum(pq.ParquetFile(path).metadata.num_rows for path in _files(folder, table))


def _files(folder: str, table: str) -> list[str]:
    directory = os.path.join(folder, table)
    return [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if name.endswith(".parquet")]


def add_findings(folder: str, answers: Sequence[pa.Table | pa.RecordBatch], name: str = FLEET_FILE) -> None:
    """Write findings as a file of this name into the table of findings in a folder; answers in the order of places.

    Without findings, there is no file.
    """
    schema = table_schema("findings")
    batches = [batch for answer in answers for batch in _batches(answer, schema) if batch.num_rows]
    if batches:
        with TableFile(os.path.join(folder, "findings", name), schema) as file:
            for batch in batches:
                file.write(batch)


def _batches(answer: pa.Table | pa.RecordBatch, schema: pa.Schema) -> list[pa.RecordBatch]:
    if isinstance(answer, pa.RecordBatch):
        return [answer]
    in_order: list[pa.RecordBatch] = answer.cast(schema).sort_by(_IN_ORDER).to_batches()
    return in_order


def topic_sizes(folder: str) -> list[TopicSize]:
    """What each topic holds, as in `statistics.sizes`, added up by Arrow: a summary needs no other package."""
    columns = ("broker", "topic", "partition", "size", "records", "batches", "minTimestamp", "maxTimestamp")
    table = pa.Table.from_batches(rows(folder, "segments", columns), schema_of(columns_of("segments", columns)))
    for name, how in (("minTimestamp", "min"), ("maxTimestamp", "max")):
        times = table[name]
        table = table.append_column(f"{how}Time", pc.if_else(pc.greater_equal(times, 0), times, None))
    logs = _added_up(
        table,
        ("broker", "topic", "partition"),
        segments=("topic", "count"),
        size=("size", "sum"),
        batches=("batches", "sum"),
        records=("records", "sum"),
        oldest=("minTime", "min"),
        newest=("maxTime", "max"),
    )
    partitions = _added_up(
        logs,
        ("topic", "partition"),
        replicas=("topic", "count"),
        segments=("segments", "sum"),
        size=("size", "sum"),
        largest=("size", "max"),
        batches=("batches", "max"),
        records=("records", "max"),
        oldest=("oldest", "min"),
        newest=("newest", "max"),
    )
    topics = _added_up(
        partitions,
        ("topic",),
        partitions=("topic", "count"),
        replicas=("replicas", "sum"),
        segments=("segments", "sum"),
        size=("size", "sum"),
        sizeOfOneReplica=("largest", "sum"),
        batches=("batches", "sum"),
        records=("records", "sum"),
        oldest=("oldest", "min"),
        newest=("newest", "max"),
    )
    found = [TopicSize(*row.values()) for row in topics.to_pylist()]
    return sorted(found, key=lambda one: (-one.size, one.topic is not None, one.topic or ""))


def _added_up(table: pa.Table, keys: Sequence[str], **sums: tuple[str, str]) -> pa.Table:
    """A row for each value of the keys, with sums of these names: of a column, and how it is added up."""
    every = pc.CountOptions(mode="all")
    added = table.group_by(list(keys)).aggregate([(name, how, every if how == "count" else None) for name, how in sums.values()])
    return added.select([*keys, *(f"{name}_{how}" for name, how in sums.values())]).rename_columns([*keys, *sums])


def codec_uses(folder: str) -> list[CodecUse]:
    """What each codec holds of each topic, as in `statistics.codecs`, added up by Arrow because batches may be very many."""
    columns = ("topic", "compresscodec", "size", "count", "magic", "uncompressedSize", "status")
    sums: dict[tuple[str | None, str], list[int]] = {}
    for batch in rows(folder, "batches", columns):
        table = pa.Table.from_batches([batch])
        table = table.filter(pc.not_equal(table["status"], "damaged"))
        is_measured = pc.is_valid(table["uncompressedSize"])
        overhead = pc.if_else(pc.greater_equal(table["magic"], 2), BATCH_HEADER_SIZE, LOG_OVERHEAD)
        table = table.append_column("measured", pc.if_else(is_measured, table["size"], 0))
        table = table.append_column("uncompressed", pc.add(table["uncompressedSize"], overhead))
        for row in table.group_by(["topic", "compresscodec"]).aggregate(list(_CODEC_SUMS)).to_pylist():
            total = sums.setdefault((row["topic"], row["compresscodec"]), [0] * len(_CODEC_SUMS))
            for place, (name, how) in enumerate(_CODEC_SUMS):
                total[place] += row[f"{name}_{how}"] or 0
    return [
        CodecUse(
            topic, codec, batches, records if counted else None, size, measured, uncompressed_of_all(uncompressed, measured, size)
        )
        for (topic, codec), (batches, counted, records, size, measured, uncompressed) in sums.items()
    ]
