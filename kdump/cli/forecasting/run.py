"""What `kdump forecast` does: goes through all that is named, tells what a restart would do, and ends with how bad that is."""

from __future__ import annotations

import time

from kdump.binary.java_text import escaped
from kdump.cli.look import look_of
from kdump.cli.streams import say
from kdump.errors import MissingPackage, Unreadable
from kdump.forecasts.forecast import LogDirectory, is_log_directory, log_directory_of, of_partition
from kdump.formats import tree
from kdump.output.blocks import Blocks
from kdump.output.forecast import Run, form_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.forecasting.request import ForecastRequest
    from kdump.errors import KdumpError
    from kdump.output.forecast import Form

SAFE, NOT_SAFE, _USAGE, NOT_EXAMINED = range(4)


def forecast_paths(request: ForecastRequest) -> int:
    """Forecast all directories of a request on stdout. Returns the exit code."""
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        look = look_of(is_terminal=stdout.isatty())
        out = Blocks(stdout, needs_reader=False)
        return _Run(request, form_of(request.output, out.write, look), out).to_end()


class _Run:
    """Counts what is found on its way to the output."""

    def __init__(self, request: ForecastRequest, form: Form, out: Blocks) -> None:
        self._request = request
        self._form = form
        self._out = out
        self._is_safe = True
        self._failed = 0
        self._stops: set[bool] = set()
        self._last: LogDirectory | None = None

    def to_end(self) -> int:
        started = time.monotonic()
        for path in self._request.paths:
            try:
                self._take(path)
            except (Unreadable, MissingPackage) as error:
                self._fail(error)
        code = NOT_EXAMINED if self._failed else SAFE if self._is_safe else NOT_SAFE
        self._form.end(
            Run(
                release=self._request.request.release,
                asked=self._request.broker,
                failed=self._failed,
                seconds=time.monotonic() - started,
                exit_code=code,
                was_stopped_cleanly=self._stops.pop() if len(self._stops) == 1 else None,
            )
        )
        self._out.flush()
        return code

    def _take(self, path: str) -> None:
        """A log directory with all its partitions, or one partition."""
        if not is_log_directory(path):
            self._take_partition(path, self._noted(log_directory_of(path)), is_found=False)
            return
        log_directory = self._noted(path)
        for partition in log_directory.partitions:
            self._take_partition(partition, log_directory, is_found=True)

    def _noted(self, path: str) -> LogDirectory:
        """What a log directory has noted; that of the path before is likely to be this one's, too."""
        if self._last is None or self._last.path != path:
            self._last = LogDirectory(path)
            if tree.is_log_directory(path):
                self._stops.add(self._last.was_stopped_cleanly)
        return self._last

    def _take_partition(self, path: str, log_directory: LogDirectory, *, is_found: bool) -> None:
        try:
            rows = of_partition(
                path,
                log_directory,
                self._request.request,
                is_found=is_found,
                finds_remedies=self._request.output == "text",
            )
        except (Unreadable, MissingPackage) as error:
            self._fail(error, path)
            return
        self._is_safe &= all(row.is_safe for row in rows)
        self._form.directory(rows)

    def _fail(self, error: KdumpError, path: str = "") -> None:
        self._failed += 1
        where = f"{path}: " if path and error.path is None else ""
        say(escaped(where + str(error)))
