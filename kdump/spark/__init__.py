"""Files of brokers as DataFrames.

`read(spark, path, table="batches")` returns one in any session; `register(spark)` registers `spark.read.format("kdump")` if
Spark has not found it by itself. Needs the package pyspark: `pip install kdump[spark]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read", "register"]

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Register the format `kdump` with a session. Registering twice is harmless."""
    from kdump.spark.source import KdumpSource

    spark.dataSource.register(KdumpSource)


def read(spark: SparkSession, path: str | Sequence[str] = (), *, table: str = "batches", **options: object) -> DataFrame:
    """A table of the files below a path, or below several: files, batches, records, index, timeindex, txn_index, producers,
    segments or findings.

    Options are those of the format, such as `topics="orders*"`, `fromOffset=5`, `columns="offset,key"`. Filters on the
    DataFrame choose files before they are read, where the session allows that.
    """
    from kdump.spark.source import FORMAT, KdumpSource

    spark.dataSource.register(KdumpSource)
    reader = spark.read.format(FORMAT).option("table", table)
    given = {name.lower() for name in options}
    if "pushdown" not in given and spark.conf.get(_PUSHDOWN, "false") == "true":
        reader = reader.option("pushdown", "true")
    if "parallelism" not in given:
        reader = reader.option("parallelism", str(_cores(spark)))
    for name, value in options.items():
        if value is not None:
            reader = reader.option(name, str(value).lower() if isinstance(value, bool) else str(value))
    paths = [path] if isinstance(path, str) else list(path)
    return reader.load(paths[0] if len(paths) == 1 else paths) if paths else reader.load()


def _cores(spark: SparkSession) -> int:
    """The number of tasks that may run at a time; for a remote session, the cores of this machine."""
    import os

    try:
        cores: int = spark.sparkContext.defaultParallelism
        return cores
    except Exception:  # a session of Spark Connect has no context, and says so in several ways
        return os.cpu_count() or 1
