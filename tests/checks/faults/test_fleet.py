"""Every fault of a fleet is found where it is, and not where it nearly is."""

from pathlib import Path
from typing import Any

import pytest

from kdump.checks.catalogue import FLEET
from kdump.checks.check import run
from kdump.checks.finding import Finding
from kdump.checks.jobs import jobs
from kdump.checks.settings import Settings
from kdump.tables import Row
from tests.builders.fleets import write_fleet

from .case import NOW, UNSTATED
from .fleet import CASES, FleetCase

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from kdump.pipeline.fleet import questions  # what needs Arrow
from tests.fleets import ask_tables, tables_of
from tests.loops import each


def _id(case: FleetCase) -> str:
    return f"{case.code}-{case.name}" if case.name else case.code


def _findings(root: Path, case: FleetCase) -> list[dict[str, Any]]:
    """All findings, but that replicas end at different offsets, which they do in cases of other faults, too."""
    queries = questions.of_scan(NOW, reads_records=True, **case.settings)  # type: ignore[arg-type]  # of any setting's type
    found = [row for answer in ask_tables(queries, tables_of(root)) for row in answer.to_pylist()]
    return [row for row in found if row["code"] == case.code or (row["code"], row["severity"]) != ("replica-behind", "info")]


@each("case", CASES, ids=_id)
def test_a_fault_of_a_fleet_is_found(case: FleetCase, tmp_path: Path) -> None:
    root = write_fleet(tmp_path / "fleet", case.shown, cleaned=case.cleaned)
    (found,) = _findings(root, case)
    assert (found["code"], found["broker"], found["severity"]) == (case.code, case.broker, case.at.severity)
    assert found["message"] == case.message
    assert (found["start"], found["end"]) == case.at.extent
    assert (found["offsetFirst"], found["offsetLast"], found["offsetCertainty"]) == (*(case.at.offsets or ()), "exact")
    assert case.at.expected in (UNSTATED, found["expected"])
    assert case.at.found in (UNSTATED, found["found"])
    assert Path(found["path"]) == root / f"broker={case.broker}" / case.at.file
    assert Path(found["path"]).exists()


@each("case", CASES, ids=_id, share=2)
def test_a_near_miss_in_a_fleet_is_not_a_fault(case: FleetCase, tmp_path: Path) -> None:
    cleaned = case.cleaned if case.near_cleaned is None else case.near_cleaned
    assert _findings(write_fleet(tmp_path / "fleet", case.near_miss, cleaned=cleaned), case) == []


def test_every_code_of_a_fleet_has_a_case() -> None:
    assert {case.code for case in CASES} == FLEET


def test_a_check_never_reports_what_only_a_fleet_shows(tmp_path: Path) -> None:
    rows: list[Row] = []
    for number, case in enumerate(CASES):
        for job in jobs(str(write_fleet(tmp_path / str(number), case.shown, cleaned=case.cleaned))):
            run(job, Settings(now=NOW), rows.append)
    codes = {row.code for row in rows if isinstance(row, Finding)}
    assert "crc-mismatch" in codes
    assert not codes & FLEET
