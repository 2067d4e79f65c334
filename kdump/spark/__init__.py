"""Files of brokers as DataFrames.

`read(spark, path, table="batches")` returns one in any session; `register(spark)` registers `spark.read.format("kdump")`, which
PySpark 4.0 and later know, if Spark has not found it by itself. Needs the package pyspark: `pip install kdump[spark]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read", "register"]


def register(spark: SparkSession) -> None:
    """Register the format `kdump` with a session. Registering twice is harmless. Needs PySpark 4.0."""
    from kdump.spark import frames

    frames.register(spark)


def read(spark: SparkSession, path: str | Sequence[str] = (), *, table: str = "batches", **options: object) -> DataFrame:
    """A table of the files below a path, or below several: files, batches, records, index, timeindex, txn_index, producers,
    segments or findings.

    Options are those of the format, such as `topics="orders*"`, `fromOffset=5`, `columns="offset,key"`. Filters on the
    DataFrame choose files before they are read, where the session allows that. With PySpark 3.5 the files are listed at once.

    Raises UsageError for an invalid option, and Unreadable where a path leads nowhere.
    """
    from kdump.spark import frames

    given = {name: value for name, value in options.items() if value is not None} | {"table": table}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    return frames.frame(spark, [path] if isinstance(path, str) else list(path), texts)
