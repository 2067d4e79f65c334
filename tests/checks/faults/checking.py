"""Runs a check on the files of a case."""

from pathlib import Path

from kdump.checks.check import run
from kdump.checks.check_processes import Isolation
from kdump.checks.jobs import jobs
from kdump.checks.settings import DEFAULT_LEVEL, Settings
from kdump.tables import Row

from .case import NOW, FaultCase, write


def rows_of(files_root: Path, case: FaultCase) -> list[Row]:
    """What a check with the settings of the case reports, of the level that `kdump check` has by itself."""
    rows: list[Row] = []
    settings = Settings(now=NOW, **{"level": DEFAULT_LEVEL, **case.settings})  # type: ignore[arg-type]  # of any setting's type
    if case.is_isolated:
        return [row for _, rows in Isolation(jobs(str(files_root)), settings).results() for row in rows]
    for job in jobs(str(files_root)):
        run(job, settings, rows.append)
    return rows


def shown_rows(case: FaultCase, folder: Path) -> list[Row]:
    """What a check of the files that show the fault reports."""
    root = write(case.shown, folder, case.scope)
    case.arranged(root)
    with case.during(root):
        return rows_of(root, case)
