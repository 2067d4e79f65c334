"""Where PySpark finds the format `kdump` by itself: it looks into modules whose names begin with `pyspark_`."""

from kdump.spark.source import KdumpSource as DefaultSource

__all__ = ["DefaultSource"]
