"""Lists logs (`.log`) and KRaft snapshots (`.checkpoint`): batches or records."""

from __future__ import annotations

import os

from kdump.cli.listing.intact import intact_text
from kdump.cli.listing.logs import LogLister
from kdump.errors import CorruptData
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.binary.tolerant_source import TolerantSource
    from kdump.cli.listing.run import Run
    from kdump.reading.items import Shown


def list_log(run: Run, path: str) -> None:
    """List a log, or the part of it that is asked for."""
    with run.opened_log(path) as source:
        run.head(source.path)
        if run.output is None:
            _write_heading(run, os.path.basename(source.path))
        lister = LogLister(run, source, run.begins.get(path))
        lister.intact_text = intact_text(run, source, lister.decoding)
        lister.shows = _several_processes(run, source, lister)
        lister.list_all()


def _several_processes(run: Run, source: TolerantSource, lister: LogLister) -> Callable[[int], Shown | None] | None:
    """What lists large logs by several processes, None where one does."""
    request, tuning = run.request, run.tuning
    if not source.is_direct or source.size < tuning.min_jobs_bytes or request.jobs == 1 or lister.intact_text is None:
        return None
    if request.output == "table" or request.limit is not None or request.tail is not None or not lister.decoding.is_plain:
        return None
    from kdump.cli.listing.several import ParallelListing
    from kdump.workers.cores import jobs_here
    from kdump.workers.process import can_fork

    jobs = request.jobs or jobs_here()
    return ParallelListing(run, source, lister, jobs).shows if jobs > 1 and can_fork() else None


def _write_heading(run: Run, name: str) -> None:
    if name.endswith(file_name.LOG):
        try:
            base_offset = file_name.base_offset(name)
        except CorruptData:
            return  # a copy under another name
        run.out.write(run.request.profile.log_heading.format(offset=base_offset) + "\n")
