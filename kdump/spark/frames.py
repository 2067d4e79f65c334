"""A table as a DataFrame: through the data source `kdump`, or through `mapInArrow` where PySpark has no data sources."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.types import from_arrow_schema

from kdump.binary.installing import how_to_install
from kdump.errors import MissingPackage, UsageError
from kdump.pipeline import discovery, planning, reading
from kdump.pipeline.options import Options
from kdump.spark.releases import FORMAT, has_data_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def frame(session: SparkSession, paths: Sequence[str], given: Mapping[str, str]) -> DataFrame:
    """The rows of a table, by the options of the format."""
    require_session(session)
    defaults = {"parallelism": str(_cores(session))}
    takes_filters = session.conf.get(_PUSHDOWN, "false") == "true"
    if takes_filters:
        defaults["pushdown"] = "true"
    names = {name.lower() for name in given}
    options = {**{name: value for name, value in defaults.items() if name not in names}, **given}
    parsed = Options({**options, "paths": json.dumps(list(paths))} if paths else options)  # or Spark buries what is wrong
    if parsed.is_pushdown and not takes_filters:
        raise UsageError("this session pushes no filters down", remedy=f'spark.conf.set("{_PUSHDOWN}", "true") lets it')
    if _context_here(session) is not None:  # the files are where this process runs
        discovery.require(parsed)
    if not has_data_sources():
        with _own_python(session):
            return _mapped(session, parsed)
    require_planner(session)
    register(session)
    reader = session.read.format(FORMAT).options(**options)
    return reader.load(paths[0] if len(paths) == 1 else list(paths)) if paths else reader.load()


def require_session(session: object) -> None:
    """Raise UsageError unless this is a session: its place is often forgotten."""
    if not hasattr(session, "conf"):
        message = f"the first argument is a SparkSession, not {type(session).__name__}"
        raise UsageError(message, remedy='read(spark, "/var/lib/kafka") reads files, and register(spark) registers the format')


def require_planner(session: SparkSession) -> None:
    """Raise UsageError if a session of a cluster names a Python for workers that has no kdump here, where Spark plans with it."""
    if _is_remote(session) or str(session.sparkContext.master).startswith("local"):
        return
    python = session.sparkContext.pythonExec
    if _python_of_format(session) != python:  # or it was asked before
        environment: dict[str, str] = session.sparkContext.environment
        remedy = "Spark plans with it on this machine too: docs/spark-sessions.md says how workers, and it, get kdump"
        _require_kdump(python, environment, remedy=remedy)


def register(session: SparkSession) -> None:
    """Register the format `kdump` with a session, unless it is there. Raises UsageError before PySpark 4.0."""
    if not has_data_sources():
        message = "PySpark 3.5 has no data sources in Python"
        raise UsageError(message, remedy='kdump.spark.read(spark, path, table="batches") returns the same DataFrames')
    from pyspark.errors import PySparkException

    from kdump.spark.source import KdumpSource

    with _own_python(session):
        if not _is_remote(session) and _python_of_format(session) == session.sparkContext.pythonExec:
            return
        try:
            session.dataSource.register(KdumpSource)
        except PySparkException as error:
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":  # as 4.0 says where it was found without registration
                raise


@contextmanager
def _own_python(session: SparkSession) -> Iterator[None]:
    """Let what a session takes from Python within the block run with the Python of this process, if workers are on this machine.

    By default it is the `python3` of PATH, which in a notebook is often one without kdump. Elsewhere workers keep their own.
    Raises UsageError where the workers of a server of Spark Connect in this process have no kdump: it chose a Python when it
    started.
    """
    context = _context_here(session)
    python = None if context is None else shutil.which(context.pythonExec)
    if context is None or not str(context.master).startswith("local") or not sys.executable or _is_beside(python, sys.executable):
        yield
        return
    if _is_remote(session):
        _require_kdump(
            context.pythonExec,
            {},
            remedy='set os.environ["PYSPARK_PYTHON"] = sys.executable in a new process, before the session is made',
        )
        yield
        return
    chosen = context.pythonExec
    context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = chosen


def _is_beside(python: str | None, other: str) -> bool:
    """Whether two programs are in the same directory, so that they are the Python of one environment."""
    return python is not None and os.path.dirname(os.path.abspath(python)) == os.path.dirname(other)


def _require_kdump(python: str, environment: Mapping[str, str], *, remedy: str) -> None:
    """Raise UsageError if a Python of this machine cannot import what workers need, with these variables of theirs."""
    command = [python, "-c", "import kdump.pipeline.reading"]
    variables = {**os.environ, **environment}
    try:
        done = subprocess.run(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        done = None
    if done is None or done.returncode:
        where = shutil.which(python) or python
        raise UsageError(f"Spark starts its workers with {where}, where kdump and pyarrow cannot be imported", remedy=remedy)


def _context_here(session: SparkSession) -> SparkContext | None:
    """The context of a session whose driver is this process, also as a server of Spark Connect."""
    if not _is_remote(session):
        return session.sparkContext
    if "SPARK_LOCAL_REMOTE" not in os.environ:  # which PySpark sets for `remote("local")`
        return None
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def _python_of_format(session: SparkSession) -> str | None:
    """The Python that a session runs the format with, on workers too; None if it does not know the format.

    Where PySpark found the format by itself, it is the Python of the driver, which workers of a cluster may not have. Another
    registration with the same Python would be logged as a warning.
    """
    state: Any = session._jsparkSession.sessionState()  # an object of Java, of any type
    manager = state.dataSourceManager()
    return str(manager.lookupDataSource(FORMAT).dataSourceCls().pythonExec()) if manager.dataSourceExists(FORMAT) else None


def _mapped(session: SparkSession, options: Options) -> DataFrame:
    """The rows of a table where PySpark has no data sources. The files are listed at once, not at the first action."""
    if importlib.util.find_spec("pandas") is None:
        raise MissingPackage('PySpark 3.5 needs the package "pandas"', remedy=how_to_install("pandas<3"))
    tasks = [pickle.dumps(task) for task in planning.plan(options)]

    def rows(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from reading.read(pickle.loads(tasks[number]), options)

    return session.range(0, len(tasks), 1, len(tasks)).mapInArrow(rows, from_arrow_schema(options.schema))


def _is_remote(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has no JVM here."""
    return ".connect." in type(session).__module__


def _cores(session: SparkSession) -> int:
    """The number of tasks that may run at a time; for a remote session, the cores of this machine."""
    if _is_remote(session):
        return os.cpu_count() or 1
    cores: int = session.sparkContext.defaultParallelism
    return cores
