"""Runs `kdump forecast`: reports what a restart would do with each path, and returns an exit code that says how bad it is."""

from __future__ import annotations

import os
import time

from kdump.binary.java_strings import escaped
from kdump.checks.rules.directories import missing_partitions
from kdump.checks.wording import counted
from kdump.cli.report_style import printed
from kdump.cli.shared_options import settings_of
from kdump.cli.streams import say
from kdump.errors import MissingPackage, Unreadable
from kdump.forecasts.forecast import Request, is_log_directory, nothing_in, of_partition
from kdump.forecasts.log_directory import LogDirectory
from kdump.forecasts.neighbours import Neighbours
from kdump.forecasts.places import places
from kdump.forecasts.sentences import rank
from kdump.forecasts.settings import CLEAN, STOPS, UNCLEAN
from kdump.formats import tree
from kdump.output.forecast import formatter_of
from kdump.output.rows.forecast_summary import ForecastSummary
from kdump.verdicts.verdict import NO_PARTITION, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.cli.forecasting.options import ForecastOptions
    from kdump.errors import KdumpError
    from kdump.forecasts.row import Forecast
    from kdump.output.forecast import ForecastFormatter


def request_of(options: ForecastOptions) -> Request:
    """What is to be forecast. Raises UsageError for releases, settings and recovery points that do not exist."""
    after = STOPS if options.after is None else (options.after,)
    config = settings_of(options.config)
    return Request(release=options.broker, after=after, recovery_point=options.recovery_point, config=config)


def forecast_paths(options: ForecastOptions, paths: Sequence[str], request: Request) -> int:
    """Forecast all directories on stdout. Returns the exit code."""
    with printed(options) as (out, style):
        return _Run(options, paths, request, formatter_of(options.output, out.write, style)).to_end()


class _Run:
    """Counts the forecasts that it passes to the output."""

    def __init__(self, options: ForecastOptions, paths: Sequence[str], request: Request, formatter: ForecastFormatter) -> None:
        self._options = options
        self._paths = paths
        self._request = request
        self._formatter = formatter
        self._verdict = Verdict(level=None)
        self._failed = 0
        self._stops: set[bool] = set()
        self._last: LogDirectory | None = None
        self._neighbours = Neighbours((), request.rules)

    def to_end(self) -> int:
        started = time.monotonic()
        found = [(path, places(path)) for path in self._paths]
        all_places = [place for _, of_path in found for place in of_path]
        self._neighbours = Neighbours(all_places, self._request.rules, named=self._paths)
        for place in dict.fromkeys(filter(None, map(tree.locked_directory, self._paths))):
            say(f"{place} is locked: a broker is running on it, and the files that its next start finds are still to come.")
        for path, of_path in found:
            if not self._take_all(of_path):
                self._fail(nothing_in(path))
        summary = ForecastSummary.like(
            self._verdict,
            release=self._request.release,
            directories_not_examined=self._failed,
            seconds=round(time.monotonic() - started, 3),
            verdict=self._verdict.text,
        )
        summary.asked = self._options.broker or self._request.release
        summary.stops = frozenset(self._stops)
        self._formatter.end(summary)
        return self._verdict.exit_code

    def _take_all(self, places_: list[str]) -> bool:
        """Forecast these paths. Returns whether there was anything: a partition, a log directory, or something unreadable."""
        is_anything = False
        for place in places_:
            try:
                is_anything |= self._take(place)
            except (Unreadable, MissingPackage) as error:
                self._fail(error)
                is_anything = True
        return is_anything

    def _take(self, path: str) -> bool:
        """Forecast a log directory with its partitions, or one partition. Returns whether the path is either."""
        if not is_log_directory(path):
            self._take_partition(path, self._noted(tree.parent(path)), is_found=False)
            return True
        log_directory = self._noted(path)
        if not log_directory.is_one:
            return False
        log_directory.require_readable()
        self._verdict.add_files(1)  # its own; it may hold no partition yet
        for partition in log_directory.partitions:
            self._take_partition(partition, log_directory, is_found=True)
        found = missing_partitions.find(path)
        missing = next(found, None)
        if missing is not None and not missing.is_missed:
            self._verdict.make_exception(NO_PARTITION)
        elif missing is not None:
            others = sum(1 for _ in found)
            more = f" {counted(others, 'more partition')} likewise." if others else ""
            self._fail(Unreadable("file-missing", missing.message + more, path=os.path.join(path, missing.name)))
        return True

    def _noted(self, path: str) -> LogDirectory:
        """The checkpoints of a log directory; kept from the last path, which is often in the same one."""
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
                self._request,
                self._neighbours,
                is_found=is_found,
                finds_remedies=self._options.output == "text",
            )
        except (Unreadable, MissingPackage) as error:
            self._fail(error, path)
            return
        self._verdict.add_forecasts(rows)
        if self._options.output == "text":
            rows = _in_order(rows, log_directory)
        self._formatter.directory(rows)

    def _fail(self, error: KdumpError, path: str = "") -> None:
        self._failed += 1
        where = f"{path}: " if path and error.path is None else ""
        self._verdict.fail_to_examine(where + str(error))
        say(escaped(where + str(error)))


def _in_order(rows: list[Forecast], log_directory: LogDirectory) -> list[Forecast]:
    """The rows in the order for people: first the stop that the log directory shows, otherwise the worst."""
    applies = None
    if tree.is_log_directory(log_directory.path):
        applies = CLEAN if log_directory.was_stopped_cleanly else UNCLEAN
    by_stop: dict[str, list[Forecast]] = {}
    for row in rows:
        by_stop.setdefault(row.after, []).append(row)
    groups = sorted(by_stop.values(), key=lambda group: max(map(rank, group)), reverse=True)
    groups.sort(key=lambda group: group[0].after != applies)
    return [row for group in groups for row in group]
