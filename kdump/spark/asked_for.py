"""Whether this process was started for Spark, so that a scan uses it."""

from __future__ import annotations

import os
import sys


def has_session() -> bool:
    """Whether this process has a Spark session, whichever thread it was that made it."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def has_cluster(master: str | None) -> bool:
    """Whether the work of Spark is not all on this machine, or may not be: spark-submit does not say where it runs."""
    if master is None and has_session():
        master = sys.modules["pyspark"].SparkContext._active_spark_context.master
    return is_submitted() if master is None else not master.startswith("local")


def is_submitted() -> bool:
    """Whether spark-submit started this process: PySpark then uses its JVM, and its settings."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
