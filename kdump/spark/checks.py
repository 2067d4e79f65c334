"""Checks as questions to DataFrames: pure functions from tables of kdump to findings, or to statistics of a fleet.

The arguments are tables of `kdump.spark.read` or of the Parquet files of `kdump scan`; the results have the columns of the
table `findings`. Nothing is read before a Spark action, except the hashes that `divergence` compares at once to find the few
batches in question.

Findings with a code of `kdump.checks.catalogue.FLEET` need several brokers or partitions. `fleet` returns all of them;
`continuity` and `sequence_breaks` report what the table `findings` also has, for users who have only other tables.
"""

from __future__ import annotations

import os
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from kdump.binary import system
from kdump.errors import UsageError
from kdump.formats import partition_metadata, tree
from kdump.output.arrow.rows import columns_of
from kdump.output.arrow.schemas import schema_of, table_schema
from kdump.pipeline import other_topics
from kdump.pipeline.discovery import FileItem
from kdump.pipeline.fleet import compaction, questions, replicas, retention, statistics, transactions
from kdump.pipeline.fleet import segments as of_segments
from kdump.pipeline.reconciliation import Reconciliation
from kdump.spark import releases
from kdump.spark.brief_errors import with_brief_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kdump.pipeline.fleet.query import Query


@with_brief_errors
def ask(query: Query, tables: Mapping[str, DataFrame]) -> DataFrame:
    """The answer to a question. Only the columns that it reads are taken; a missing table has no rows."""
    session = next(iter(tables.values())).sparkSession
    frames = {name: _frame(session, name, columns, tables.get(name)) for name, columns in query.columns.items()}
    for step, text in query.steps.items():
        frames[step] = releases.collected(session, _asked(session, text, frames))
    answer = _asked(session, query.text, frames)
    fields = from_arrow_schema(schema_of(query.result)).fields
    return answer.select(*(functions.col(f"`{field.name}`").cast(field.dataType).alias(field.name) for field in fields))


def _asked(session: SparkSession, text: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    read: dict[str, Any] = {name: frame for name, frame in frames.items() if f"{{{name}}}" in text}
    return session.sql(text, **read)


def _frame(session: SparkSession, table: str, columns: Sequence[str], given: DataFrame | None) -> DataFrame:
    if given is None:
        return session.createDataFrame([], from_arrow_schema(schema_of(columns_of(table, columns))))
    known = {name.lower() for name in given.columns}
    missing = [name for name in columns if name.lower() not in known]
    if missing:
        raise UsageError(f"the table {table} was given without the column {missing[0]}", remedy=f"it takes {', '.join(columns)}")
    return given.select(*(f"`{name}`" for name in columns))


# --- Findings


def fleet(
    tables: Mapping[str, DataFrame],
    now: int,
    *,
    retention_ms: int | None = None,
    compacted: Sequence[str] = replicas.COMPACTED,
) -> DataFrame:
    """All findings that only a fleet shows, of the tables batches, segments and checkpoints; of records too, where given.

    Replicas of topics with other ids under one name are not compared, and a finding says so, where the files that the paths in
    `segments` lead to are there: the driver reads partition.metadata beside them at once.
    """
    others = Reconciliation("")
    others.others = _other_topics(tables["segments"]) if "segments" in tables else []
    without = [other.replica for other in others.others]
    of_records = "records" in tables
    queries = questions.of_scan(now, retention_ms=retention_ms, compacted=compacted, without=without, reads_records=of_records)
    rows = [tuple(row.values()) for batch in others.findings() for row in batch.to_pylist()]
    session = next(iter(tables.values())).sparkSession
    not_compared = [session.createDataFrame(rows, from_arrow_schema(table_schema("findings")))] if rows else []
    return _union([*(ask(query, tables) for query in queries), *not_compared])


def _other_topics(segments: DataFrame) -> list[other_topics.OtherTopic]:
    """The replicas in this table that are of another topic than most of its name."""
    replica = ["broker", "topic", "partition"]
    if not {*replica, "path"} <= set(segments.columns):
        return []
    folder = functions.regexp_replace("path", "/[^/]*$", "").alias("folder")
    items = [
        FileItem(os.path.join(path, partition_metadata.NAME), broker, topic, number, None, "metadata")
        for broker, topic, number, path in segments.where("topic IS NOT NULL").select(*replica, folder).distinct().collect()
        if (name := tree.directory_name(path)) is not None and not name.state
    ]
    found = other_topics.find(items)
    return [other._replace(item=other.item._replace(size=system.size(other.item.path))) for other in found]


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda first, second: first.unionByName(second), frames)


def divergence(
    batches: DataFrame, checkpoints: DataFrame | None = None, *, compacted: Sequence[str] = replicas.COMPACTED
) -> DataFrame:
    """Where replicas hold other batches at the same offsets, lack some, or have them under other leader epochs."""
    return ask(replicas.divergence(compacted), _given(batches=batches, checkpoints=checkpoints))


def behind(segments: DataFrame, now: int, *, lag_ms: int = replicas.LAG_MS) -> DataFrame:
    """Replicas that end long before the others."""
    return ask(replicas.behind(now, lag_ms), {"segments": segments})


def missing_markers(batches: DataFrame, *, grace_ms: int = transactions.GRACE_MS) -> DataFrame:
    """Transactions that ended in one partition and hang in another."""
    return ask(transactions.missing_markers(grace_ms), {"batches": batches})


def retention_blocked(
    segments: DataFrame,
    now: int,
    *,
    retention_ms: int | None = None,
    checkpoints: DataFrame | None = None,
    compacted: Sequence[str] = replicas.COMPACTED,
) -> DataFrame:
    """Segments that retention by time cannot delete, so that later ones stay too."""
    return ask(retention.blocked(now, retention_ms, compacted), _given(segments=segments, checkpoints=checkpoints))


def cleaner_behind(segments: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """Partitions that one broker's cleaner does not clean, while another's does."""
    return ask(compaction.stalled(), {"segments": segments, "checkpoints": checkpoints})


def compaction_duplicates(records: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """Keys with several records in parts that were cleaned."""
    return ask(compaction.duplicates(), {"records": records, "checkpoints": checkpoints})


def tombstones_overdue(batches: DataFrame, now: int, *, overdue_ms: int = compaction.OVERDUE_MS) -> DataFrame:
    """Tombstones and markers that could have gone long ago."""
    return ask(compaction.overdue(now, overdue_ms), {"batches": batches})


def continuity(segments: DataFrame) -> DataFrame:
    """Offsets that are missing between segments, or that two of them claim."""
    return ask(of_segments.continuity(), {"segments": segments})


def sequence_breaks(batches: DataFrame) -> DataFrame:
    """Producers whose sequences have gaps, across segments too."""
    return ask(transactions.sequence_breaks(), {"batches": batches})


def _given(**tables: DataFrame | None) -> dict[str, DataFrame]:
    return {name: frame for name, frame in tables.items() if frame is not None}


# --- Statistics


def sizes(segments: DataFrame) -> DataFrame:
    """Topics by size: what they hold, on how many brokers, from when to when."""
    return ask(statistics.sizes(), {"segments": segments})


def codecs(batches: DataFrame) -> DataFrame:
    """What each codec holds of each topic; what it saves, where batches were read with `uncompressed`, true or sample."""
    return ask(statistics.codecs(), {"batches": batches})


def skew(segments: DataFrame) -> DataFrame:
    """Partitions by how much more they hold than others of their topic."""
    return ask(statistics.skew(), {"segments": segments})


def throughput(batches: DataFrame, *, span_ms: int = 3_600_000) -> DataFrame:
    """Bytes, batches and records of each topic by the time of their batches, by default an hour a row."""
    return ask(statistics.throughput(span_ms), {"batches": batches})


def producers(batches: DataFrame) -> DataFrame:
    """What each producer wrote to each replica, and where its transaction without a marker begins."""
    return ask(statistics.producers(), {"batches": batches})


def top_keys(records: DataFrame, limit: int = 20) -> DataFrame:
    """The keys with most bytes, of all replicas and topics that the records are of."""
    return ask(statistics.top_keys(limit), {"records": records})


def largest_records(records: DataFrame, limit: int = 20) -> DataFrame:
    """The largest records, and where they stand."""
    return ask(statistics.largest_records(limit), {"records": records})
