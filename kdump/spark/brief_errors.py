"""Reports errors that kdump raises on purpose with few lines: without the traceback of a worker, or of what is below a call."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from kdump.binary.installing import how_to_install
from kdump.errors import KdumpError, MissingPackage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_PACKAGES = ("pyarrow", "pyspark")
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


class BriefRefusal:
    """Leaves the traceback out where Spark may refuse what it was just given; `end` says that it did not. For a worker."""

    def __init__(self) -> None:
        self._is_set = "KDUMP_DEBUG" not in os.environ and _HIDES_TRACEBACK not in os.environ
        if self._is_set:
            os.environ[_HIDES_TRACEBACK] = "1"

    def end(self) -> None:
        if self._is_set:
            os.environ.pop(_HIDES_TRACEBACK, None)


def with_brief_errors(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The same function, whose KdumpErrors have a traceback of one line below that of the caller. KDUMP_DEBUG=1 keeps all.

    For functions that people call in a shell or a notebook. A package that is not installed is a MissingPackage.
    """

    @wraps(function)
    def called(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        try:
            return function(*arguments, **keywords)
        except KdumpError as error:
            if "KDUMP_DEBUG" in os.environ:
                raise
            raise error.with_traceback(None) from None
        except ModuleNotFoundError as error:
            if error.name not in _PACKAGES:
                raise
            raise MissingPackage(f'Spark needs the package "{error.name}"', remedy=how_to_install(error.name, "spark")) from None

    return called
