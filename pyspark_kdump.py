"""Where PySpark finds the format `kdump` by itself: it looks into modules whose names begin with `pyspark_`."""

from contextlib import suppress

with suppress(ModuleNotFoundError):  # without PyArrow there is no format; an error here would hide those of other packages too
    from kdump.spark.source import KdumpSource as DefaultSource

__all__ = ["DefaultSource"]
