"""Every fault of the catalogue is found where it is, and not where it nearly is."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdump.checks.catalogue import FAULTS, FLEET, SCAN, STARTS
from kdump.checks.finding import FileReport, Finding
from kdump.tables import Row
from tests.loops import each

from . import directories, files, fleet, framing, indexes, order, records, snapshots, timestamps, transactions
from .case import UNSTATED, At, FaultCase, path_of, write
from .checking import rows_of, shown_rows

pytestmark = pytest.mark.both_kernels

SECTIONS = (framing, order, timestamps, transactions, records, indexes, snapshots, directories, files)
CASES: tuple[FaultCase, ...] = tuple(case for section in SECTIONS for case in section.CASES)
SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
"""What kdump itself printed for one case of each code, whole: its message and evidence. What is right, the cases say."""

ONE_OF_EACH_CODE = tuple({case.code: case for case in reversed(CASES)}.values())

REMAKE = "KDUMP_REMAKE_FAULTS"
"""Set to write the snapshots again. The tests then fail, and what changed is to be read in the diff."""

WITHOUT_REPORT = {"file-vanished-named", "permission-denied", "not-regular"}
"""Cases in which no file can be opened, so that no bytes are counted."""


Told = tuple[str, str, tuple[int, int], str, tuple[int | None, ...], str]
"""Of a finding: its code, the path inside what is checked, the range of bytes, severity, offsets and their certainty."""


def _findings(rows: list[Row]) -> list[Finding]:
    return [row for row in rows if isinstance(row, Finding)]


def _told(finding: Finding, checked: Path) -> Told:
    path = os.path.relpath(finding.path, checked)
    offsets = () if finding.offset_first is None else (finding.offset_first, finding.offset_last)
    return (
        finding.code,
        "" if path == "." else path,
        (finding.start, finding.end),
        finding.severity,
        offsets,
        finding.offset_certainty or "",
    )


def _stated(case: FaultCase) -> Iterator[tuple[Told, At]]:
    """The same as a case states it."""
    for code, stated in {case.code: case.at, **case.also}.items():
        for at in (stated,) if isinstance(stated, At) else stated:
            certainty = "" if at.offsets is None else "estimated" if at.is_estimated else "exact"
            yield (code, at.file, at.extent_in(case), at.severity, at.offsets or (), certainty), at


def _lines(rows: list[Row], root: Path) -> Iterator[str]:
    for row in rows:
        values = {column.key: getattr(row, column.name) for column in row.schema}
        values["path"] = os.path.relpath(str(values["path"]), root)
        kind = "finding" if isinstance(row, Finding) else "file"
        yield json.dumps({"kind": kind, **values}, ensure_ascii=False)


@each("case", CASES, ids=str, python_share=4)
def test_a_fault_is_found_where_its_builder_says(case: FaultCase, tmp_path: Path) -> None:
    assert_found(case, tmp_path)


def assert_found(case: FaultCase, tmp_path: Path) -> None:
    """A check of a case says what the case states, and nothing else."""
    findings = _findings(shown_rows(case, tmp_path))
    checked = path_of(case.shown, tmp_path, case.scope)
    found = sorted((_told(finding, checked), finding.expected or "", finding.found or "") for finding in findings)
    stated = sorted(_stated(case), key=lambda pair: pair[0])
    assert [told for told, _, _ in found] == [told for told, _ in stated]
    for (told, expected, value), (_, at) in zip(found, stated, strict=True):
        assert at.expected in (UNSTATED, expected or None), told
        assert at.found in (UNSTATED, value or None), told


@each("case", CASES, ids=str, python_share=4)
def test_a_near_miss_is_not_a_fault(case: FaultCase, tmp_path: Path) -> None:
    root = write(case.near_miss, tmp_path, case.scope)
    case.near_arranged(root)
    codes = {finding.code for finding in _findings(rows_of(root, case))}
    assert codes == set(case.near_also)


@each("case", ONE_OF_EACH_CODE, ids=str, python_share=4)
def test_findings_are_as_in_the_snapshot(case: FaultCase, tmp_path: Path) -> None:
    text = "".join(line + "\n" for line in _lines(shown_rows(case, tmp_path), tmp_path))
    snapshot = SNAPSHOTS / f"{case}.ndjson"
    if REMAKE in os.environ:
        snapshot.write_text(text)
        pytest.fail(f"{snapshot.name} was written, not compared: unset {REMAKE}, and read what changed")
    assert text == snapshot.read_text()


def test_every_snapshot_belongs_to_a_case() -> None:
    assert {path.name for path in SNAPSHOTS.iterdir()} == {f"{case}.ndjson" for case in ONE_OF_EACH_CODE}


@each("case", CASES, ids=str, python_share=4)
def test_every_byte_is_accounted_for_once(case: FaultCase, tmp_path: Path) -> None:
    reports = [row for row in shown_rows(case, tmp_path) if isinstance(row, FileReport)]
    assert bool(reports) == (str(case) not in WITHOUT_REPORT)
    assert len({report.path for report in reports}) == len(reports)
    for report in reports:
        counted = (report.bytes_intact, report.bytes_salvaged, report.bytes_damaged, report.bytes_zero, report.bytes_not_examined)
        assert min(counted) >= 0
        assert sum(counted) == report.size


def test_every_code_has_a_case_that_says_where_it_is() -> None:
    elsewhere = FLEET | SCAN | STARTS  # in test_fleet.py here, and in tests/pipeline/test_reconciliation.py
    assert {case.code for case in CASES} == set(FAULTS) - elsewhere
    assert all(case.at for case in CASES)


def test_some_case_states_the_severity_of_the_catalogue_for_every_code() -> None:
    stated = {(code, at.severity) for case in CASES for (code, *_), at in _stated(case)}
    stated |= {(case.code, case.at.severity) for case in fleet.CASES}
    assert {(fault.code, fault.severity) for fault in FAULTS.values() if fault.code not in SCAN | STARTS} <= stated
