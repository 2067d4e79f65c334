"""Files of brokers as DataFrames.

`read(spark, path, table="batches")` returns one in any session; `register(spark)` registers `spark.read.format("kdump")`, which
PySpark 4.0 and later know, if Spark has not found it by itself. Needs the package pyspark,
which is in the extra `kafka-kdump[spark]`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kdump.spark.brief_errors import with_brief_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Path = str | os.PathLike[str]

__all__ = ["read", "register"]


@with_brief_errors
def register(spark: SparkSession) -> None:
    """Register the format `kdump` with a session. Registering twice is harmless. Needs PySpark 4.0.

    If workers are on this machine, the format then runs with the Python of this process, whichever Spark would take.
    """
    from kdump.spark import frames
    from kdump.spark.releases import has_data_sources

    frames.require_session(spark)
    if has_data_sources():
        frames.require_planner(spark)
    frames.register(spark)


@with_brief_errors
def read(spark: SparkSession, path: Path | Iterable[Path] = (), *, table: str = "batches", **options: object) -> DataFrame:
    """A table of the files below a path, or below several: files, batches, records, index, timeindex, txn_index, producers,
    segments or findings.

    Options are those of the format, such as `topics="orders*"`, `fromOffset=5`, `columns=["offset", "key"]`. Filters on the
    DataFrame choose files before they are read, where the session allows that. With PySpark 3.5 the files are listed at once.

    Raises UsageError for an invalid option, and Unreadable where a path leads nowhere.
    """
    from kdump.spark import frames

    given = {name: _text(value) for name, value in options.items() if value is not None} | {"table": table}
    paths = [path] if isinstance(path, str | os.PathLike) else path
    return frames.frame(spark, [os.fspath(one) for one in paths], given)


def _text(value: object) -> str:
    """The text of an option, of a list the texts of its items with commas between."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
