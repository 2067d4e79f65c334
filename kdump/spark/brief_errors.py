"""Reports errors that kdump raises on purpose without a traceback: Spark's workers print one for each error otherwise."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kdump.errors import KdumpError

if TYPE_CHECKING:
    from collections.abc import Iterator

_HIDES_TRACEBACK = "SPARK_HIDE_TRACEBACK"


@contextmanager
def brief_errors() -> Iterator[None]:
    """Leave the traceback out of what Spark reports of a KdumpError. KDUMP_DEBUG=1 keeps it. For code that a worker runs.

    A worker ends after an error, so the setting meets no other one. PySpark: `handle_worker_exception`.
    """
    try:
        yield
    except KdumpError:
        if "KDUMP_DEBUG" not in os.environ:
            os.environ[_HIDES_TRACEBACK] = "1"
        raise
