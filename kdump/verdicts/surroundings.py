"""Faults around partitions that keep a broker from starting, which only all its log directories together show."""

from __future__ import annotations

import functools

from kdump.binary.source import NoSource
from kdump.checks.catalogue.fault_kind import BLIND, OFFLINE
from kdump.checks.context import FileContext
from kdump.checks.jobs import Job, is_place
from kdump.checks.rules.files import file_object
from kdump.checks.wording import as_sentence
from kdump.errors import KdumpError, Unreadable
from kdump.formats import tree
from kdump.formats.partition_metadata import read_topic_id
from kdump.verdicts.verdict import START_LOSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.checks.finding import Finding
    from kdump.checks.settings import Settings
    from kdump.forecasts.neighbours import Neighbours
    from kdump.forecasts.row import Forecast

    Emit = Callable[[Finding], None]


class Surroundings:
    """The log directories of a run, checked together for faults that keep a broker from starting.

    Log directories of brokers count, and those around partitions that were named themselves. `named` are the paths that were
    named. They are read when the first of them is asked about. Those of a fleet are of several brokers, or copies of one.
    """

    def __init__(self, jobs: Sequence[Job], named: Sequence[str], *, is_fleet: bool = False) -> None:
        self._places = [job.path for job in jobs if is_place(job)]
        self._named = named
        self._is_fleet = is_fleet

    @functools.cached_property
    def _neighbours(self) -> Neighbours:
        from kdump.forecasts.forecast import Request
        from kdump.forecasts.neighbours import Neighbours

        return Neighbours(self._places, Request().rules, named=self._named, is_fleet=self._is_fleet)

    def report(self, job: Job, settings: Settings, emit: Emit) -> None:
        """Report why a start fails, or does not serve everything, for reasons outside the files of one partition.

        A log directory includes its partitions.
        """
        try:
            if is_place(job):
                self._report(job, settings, emit)
        except Unreadable as error:
            _report_failure(job.path, error, settings, emit)

    def _report(self, job: Job, settings: Settings, emit: Emit) -> None:
        from kdump.forecasts import circumstances
        from kdump.forecasts.forecast import Request, uneventful
        from kdump.forecasts.log_directory import LogDirectory
        from kdump.forecasts.settings import UNCLEAN

        request = Request()
        path = job.path if job.kind == Job.LOG_DIR else tree.parent(job.path)
        row = uneventful(path, request, UNCLEAN)
        circumstances.enter_log_directory(row, path, self._neighbours)
        if not row.is_safe:
            _report(row, job.path, settings, emit)
            return
        log_directory = LogDirectory(path)
        for partition in tree.partitions(path) if job.kind == Job.LOG_DIR else [job.path]:
            row = uneventful(partition, request, UNCLEAN)
            try:
                row.topic_id = read_topic_id(partition)
                circumstances.enter([row], log_directory, self._neighbours)
            except Unreadable as error:
                _report_failure(partition, error, settings, emit)
                continue
            except KdumpError:
                continue  # malformed: the check of the partition says so, and forecasts its start
            if not row.is_safe:
                _report(row, partition, settings, emit)


def _report_failure(path: str, error: Unreadable, settings: Settings, emit: Emit) -> None:
    """Report what a failed system call kept from being compared with its neighbors."""
    file_object.report_failure(FileContext(NoSource(path), path, "directory", settings, emit), error)


def _report(row: Forecast, path: str, settings: Settings, emit: Emit) -> None:
    from kdump.forecasts.sentences import sentences

    message = as_sentence(row.conditions[0]) if row.is_doubtful else " ".join(sentences(row))
    context = FileContext(NoSource(path), path, "directory", settings, emit)
    word = OFFLINE if row.is_denied else BLIND if row.is_doubtful else row.outcome
    context.report(START_LOSES, 0, 0, message, found=row.outcome, forecast=word)
