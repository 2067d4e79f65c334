"""What releases of PySpark differ in: data sources in Python came with 4.0, and so did Arrow tables of DataFrames."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.types import to_arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


FORMAT = "kdump"
"""The name of the data source."""


def has_data_sources() -> bool:
    """Whether data sources can be written in Python, so that `format("kdump")` is possible (4.0)."""
    return importlib.util.find_spec("pyspark.sql.datasource") is not None


def to_arrow(frame: DataFrame) -> pa.Table:
    """The rows of a DataFrame; before 4.0 by way of Python objects, which is for few rows."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    import pyarrow as pa

    rows = [row.asDict(recursive=True) for row in frame.collect()]
    return pa.Table.from_pylist(rows, schema=to_arrow_schema(frame.schema))


def collected(session: SparkSession, frame: DataFrame) -> DataFrame:
    """The same rows, read once and kept by the driver."""
    if hasattr(frame, "toArrow"):
        return session.createDataFrame(frame.toArrow())
    return session.createDataFrame(frame.collect(), frame.schema)


def activate(session: SparkSession) -> None:
    """Make a session the active one of this thread."""
    jvm: Any = session._jvm  # a view of Java's packages, of any type
    if hasattr(type(session), "_get_j_spark_session_class"):
        type(session)._get_j_spark_session_class(jvm).setActiveSession(session._jsparkSession)
    else:  # before 4.0
        jvm.SparkSession.setActiveSession(session._jsparkSession)
