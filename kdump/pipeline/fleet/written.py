"""Asks questions of the tables that a scan wrote, and writes the answers beside them."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kdump.binary.batch_header import BATCH_HEADER_SIZE, LOG_OVERHEAD
from kdump.output.arrow.files import TableFile
from kdump.output.arrow.schemas import schema_of, table_schema
from kdump.output.rows.fleet import CodecUse, TopicSize, uncompressed_of_all
from kdump.pipeline.fleet import local, statistics
from kdump.pipeline.scan_files import FLEET_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from kdump.pipeline.fleet.query import Query

_ROWS_AT_ONCE = 65_536
_CODEC_SUMS = (
    ("size", "count"),
    ("count", "count"),
    ("count", "sum"),
    ("size", "sum"),
    ("measured", "sum"),
    ("uncompressed", "sum"),
)


def ask(folder: str, queries: Sequence[Query]) -> list[pa.Table]:
    """The answers to questions to the tables in a folder, without Spark."""
    asked = [query for query in queries if _may_have_answers(folder, query)]
    names = {table for query in asked for table in query.columns}
    answers = iter(local.ask(asked, {table: partial(rows, folder, table) for table in names}))
    return [next(answers) if query in asked else schema_of(query.result).empty_table() for query in queries]


def _may_have_answers(folder: str, query: Query) -> bool:
    """Whether a question's columns have as many values as an answer needs, by the statistics of row groups."""
    return all(_has_values(folder, table, column, count) for table, (column, count) in query.least.items())


def _has_values(folder: str, table: str, name: str, count: int) -> bool:
    """Whether a column may have that many different values, one or two; null and false do not count."""
    values: set[Any] = set()
    for group in _row_groups(folder, table):
        found = _statistics(group).get(name)
        if not group.num_rows or found is not None and found.has_null_count and found.null_count == group.num_rows:
            continue
        if found is None or not found.has_min_max:
            return True
        values |= {value for value in (found.min, found.max) if value is not False}
        if len(values) >= count:
            return True
    return False


def _row_groups(folder: str, table: str) -> Iterator[pq.RowGroupMetaData]:
    for path in _files(folder, table):
        file = pq.read_metadata(path)
        yield from (file.row_group(number) for number in range(file.num_row_groups))


def _statistics(group: pq.RowGroupMetaData) -> dict[str, pq.Statistics]:
    """The statistics of those columns of a row group that have any."""
    columns = map(group.column, range(group.num_columns))
    return {column.path_in_schema: column.statistics for column in columns if column.is_stats_set}


def most_rows(folder: str, query: Query) -> int:
    """How many rows of tables a question reads at most. Of a table that it limits to partitions, only their row groups count."""
    return sum(_most_rows(folder, query, table) for table in query.columns)


def _most_rows(folder: str, query: Query, table: str) -> int:
    if table not in query.partitions:
        return sum(group.num_rows for group in _row_groups(folder, table))
    limits = {name: partial(rows, folder, name) for name in query.columns if name not in query.partitions}
    wanted = local.partitions(query, table, limits).to_pylist()
    return sum(group.num_rows for group in _row_groups(folder, table) if _may_hold(group, wanted)) if wanted else 0


def _may_hold(group: pq.RowGroupMetaData, wanted: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a row group may hold rows of these partitions, by the lowest and highest values of its columns."""
    known = {name: (found.min, found.max) for name, found in _statistics(group).items() if found.has_min_max}
    return any(all(known[name][0] <= value <= known[name][1] for name, value in row.items() if name in known) for row in wanted)


def rows(folder: str, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a table in a folder, some at a time."""
    for path in _files(folder, table):
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(_ROWS_AT_ONCE, columns=list(columns))


def _files(folder: str, table: str) -> list[str]:
    directory = os.path.join(folder, table)
    return [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if name.endswith(".parquet")]


def add_findings(folder: str, answers: Sequence[pa.Table | pa.RecordBatch], name: str = FLEET_FILE) -> None:
    """Write findings as a file of this name into the table of findings in a folder; without findings, no file."""
    schema = table_schema("findings")
    batches = [batch for answer in answers for batch in _batches(answer, schema) if batch.num_rows]
    if batches:
        with TableFile(os.path.join(folder, "findings", name), schema) as file:
            for batch in batches:
                file.write(batch)


def _batches(answer: pa.Table | pa.RecordBatch, schema: pa.Schema) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = answer.cast(schema).to_batches() if isinstance(answer, pa.Table) else [answer]
    return batches


def topic_sizes(folder: str) -> list[TopicSize]:
    """What each topic holds, from the table of segments."""
    (answer,) = ask(folder, [statistics.sizes()])
    return [TopicSize(*row.values()) for row in answer.to_pylist()]


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
