"""What checks find in files, for tests to compare."""

from collections.abc import Sequence
from pathlib import Path

from kdump.checks.check import run
from kdump.checks.finding import Finding
from kdump.checks.jobs import jobs
from kdump.checks.settings import Settings
from kdump.tables import Row
from tests.builders.files import file_name
from tests.checks.faults.case import NOW

LOG, INDEX, TIME_INDEX = (file_name(0, suffix) for suffix in (".log", ".index", ".timeindex"))

Told = tuple[str, str, int, int, tuple[int | None, int | None]]
"""Code, severity, start, end, and first and last offset."""

ToldValues = tuple[str, str, int, int, str | None, str | None]
"""Code, severity, start, end, and what was expected and found."""


def rows_of(path: Path, **settings: object) -> list[Row]:
    """All that a check of a path reports; it is NOW unless the settings say otherwise."""
    rows: list[Row] = []
    for job in jobs(str(path)):
        run(job, Settings(**{"now": NOW, **settings}), rows.append)  # type: ignore[arg-type]  # of any setting's type
    return rows


def findings_of(path: Path, *codes: str, **settings: object) -> list[Finding]:
    """What a check of a path finds, of some codes only if they are given."""
    return [row for row in rows_of(path, **settings) if isinstance(row, Finding) and (not codes or row.code in codes)]


def of_log(folder: Path, *pieces: bytes, base: int = 0, **settings: object) -> list[Finding]:
    """What is found in a log of these pieces on its own."""
    path = folder / file_name(base, ".log")
    path.write_bytes(b"".join(pieces))
    return findings_of(path, **settings)


def codes_of(findings: Sequence[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def told(findings: Sequence[Finding]) -> list[Told]:
    """Where findings are, and which offsets they touch."""
    return [(one.code, one.severity, one.start, one.end, (one.offset_first, one.offset_last)) for one in findings]


def told_values(findings: Sequence[Finding]) -> list[ToldValues]:
    """Where findings are, and what they compare."""
    return [(one.code, one.severity, one.start, one.end, one.expected, one.found) for one in findings]
