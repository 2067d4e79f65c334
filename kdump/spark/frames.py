"""A table as a DataFrame: through the data source `kdump`, or through `mapInArrow` where PySpark has no data sources."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.types import from_arrow_schema

from kdump.errors import MissingPackage, UsageError
from kdump.pipeline import discovery, planning, reading
from kdump.pipeline.options import Options
from kdump.spark.releases import FORMAT, has_data_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def frame(session: SparkSession, paths: Sequence[str], given: Mapping[str, str]) -> DataFrame:
    """The rows of a table, by the options of the format."""
    defaults = {"parallelism": str(_cores(session))}
    if session.conf.get(_PUSHDOWN, "false") == "true":
        defaults["pushdown"] = "true"
    names = {name.lower() for name in given}
    options = {**{name: value for name, value in defaults.items() if name not in names}, **given}
    parsed = Options({**options, "paths": json.dumps(list(paths))} if paths else options)  # or Spark buries what is wrong
    if not _is_remote(session):  # the files are where this process runs
        discovery.require(parsed)
        require_python(session)
    if not has_data_sources():
        return _mapped(session, parsed)
    register(session)
    reader = session.read.format(FORMAT).options(**options)
    return reader.load(paths[0] if len(paths) == 1 else list(paths)) if paths else reader.load()


def require_python(session: SparkSession) -> None:
    """Raise UsageError if workers on this machine run a Python that has no kdump: by default the `python3` of PATH."""
    if _is_remote(session):  # its server has a Python of its own
        return
    context = session.sparkContext
    python = shutil.which(context.pythonExec)
    if not str(context.master).startswith("local") or python is None:
        return
    if os.path.dirname(os.path.abspath(python)) == os.path.dirname(sys.executable):
        return
    command = [python, "-c", "import kdump.pipeline.reading"]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        raise UsageError(
            f"Spark starts its workers with {python}, where kdump and pyarrow cannot be imported",
            remedy='before the session is made, set os.environ["PYSPARK_PYTHON"] = sys.executable',
        )


def register(session: SparkSession) -> None:
    """Register the format `kdump` with a session, unless it is there. Raises UsageError before PySpark 4.0."""
    if not has_data_sources():
        message = "PySpark 3.5 has no data sources in Python"
        raise UsageError(message, remedy='kdump.spark.read(spark, path, table="batches") returns the same DataFrames')
    from pyspark.errors import PySparkException

    from kdump.spark.source import KdumpSource

    if not _is_remote(session) and _knows_format(session):
        return
    try:
        session.dataSource.register(KdumpSource)
    except PySparkException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":  # as 4.0 says where it was found without registration
            raise


def _knows_format(session: SparkSession) -> bool:
    """Whether a session knows the format. Another registration would be logged as a warning."""
    state: Any = session._jsparkSession.sessionState()  # an object of Java, of any type
    return bool(state.dataSourceManager().dataSourceExists(FORMAT))


def _mapped(session: SparkSession, options: Options) -> DataFrame:
    """The rows of a table where PySpark has no data sources. The files are listed at once, not at the first action."""
    if not _has_pandas():
        raise MissingPackage('PySpark 3.5 needs the package "pandas"', remedy="pip install 'pandas<3'")
    tasks = [pickle.dumps(task) for task in planning.plan(options)]

    def rows(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from reading.read(pickle.loads(tasks[number]), options)

    return session.range(0, len(tasks), 1, len(tasks)).mapInArrow(rows, from_arrow_schema(options.schema))


def _has_pandas() -> bool:
    return importlib.util.find_spec("pandas") is not None


def _is_remote(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has no JVM here."""
    return ".connect." in type(session).__module__


def _cores(session: SparkSession) -> int:
    """The number of tasks that may run at a time; for a remote session, the cores of this machine."""
    if _is_remote(session):
        return os.cpu_count() or 1
    cores: int = session.sparkContext.defaultParallelism
    return cores
