"""The catalogue entry, the rule and the cases of a fault have the same address: a section, under one name."""

import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

from kdump.checks import catalogue
from kdump.checks.context import FileContext
from kdump.checks.rules.rule import SegmentRule
from tests.loops import each

from .case import FaultCase
from .checking import shown_rows

SECTIONS = {
    name: {fault.code for fault in module.FAULTS}
    for name in (found.name for found in iter_modules(catalogue.__path__))
    if name != "all_faults" and hasattr(module := import_module(f"{catalogue.__name__}.{name}"), "FAULTS")
}
"""The codes of each section of the catalogue, by the name of its module."""

WITHOUT_RULES = {"fleet", "scans", "starts"}
"""What no check of files reports: see kdump/pipeline/fleet, kdump/pipeline/reconciliation.py and kdump/verdicts."""

WITHOUT_CASES = {"scans", "starts"}
"""Their tests are in tests/pipeline/test_reconciliation.py and tests/verdicts."""

WITHOUT_RULE = {
    "finding-flood": {"kdump.checks.context"},
    "codec-package-missing": {"kdump.checks.record_reader"},
    "check-crashed": {"kdump.checks.check_processes"},
}
"""Faults of a run, which those report who carry it out."""


def _cases(section: str) -> tuple[FaultCase, ...]:
    cases: tuple[FaultCase, ...] = import_module(f"{__package__}.{section}").CASES
    return cases


def test_the_catalogue_has_these_sections() -> None:
    assert set(SECTIONS) == {
        *("directories", "files", "fleet", "framing", "indexes", "order", "records", "scans", "snapshots", "starts"),
        *("timestamps", "transactions"),
    }
    assert set().union(*SECTIONS.values()) == set(catalogue.FAULTS)


@each("section", sorted(set(SECTIONS) - WITHOUT_CASES))
def test_the_cases_of_a_fault_have_the_address_of_its_catalogue_entry(section: str) -> None:
    assert {case.code for case in _cases(section)} == SECTIONS[section]


@pytest.fixture(scope="module")
def reporters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """By code, where the findings of all cases are reported."""
    found: dict[str, set[str]] = {}
    report = FileContext.report

    def record(context: FileContext, code: str, *args: object, **values: object) -> None:
        found.setdefault(code, set()).add(_place_of_the_reporter())
        report(context, code, *args, **values)  # type: ignore[arg-type]  # whatever a rule says

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileContext, "report", record)
        for section in sorted(set(SECTIONS) - WITHOUT_RULES):
            for case in _cases(section):
                shown_rows(case, tmp_path_factory.mktemp(section))
    return found


@each("section", sorted(set(SECTIONS) - WITHOUT_RULES))
def test_the_rule_of_a_fault_has_the_address_of_its_catalogue_entry(section: str, reporters: dict[str, set[str]]) -> None:
    expected = {code: WITHOUT_RULE.get(code, {f"kdump.checks.rules.{section}"}) for code in SECTIONS[section]}
    assert {code: reporters.get(code, set()) for code in SECTIONS[section]} == expected


def _place_of_the_reporter() -> str:
    """The package of the rule that reports, whatever helpers and base class lie between; without a rule, the module."""
    frame = sys._getframe(2)
    nearest = str(frame.f_globals["__name__"])
    module = nearest
    while module.startswith("kdump.checks."):
        if module == SegmentRule.__module__:  # which reports what its subclasses counted
            module = type(frame.f_locals["self"]).__module__
        names = module.split(".")
        if names[2] == "rules" and len(names) > 4:
            return ".".join(names[:4])
        frame = frame.f_back  # type: ignore[assignment]  # pytest is below
        module = str(frame.f_globals["__name__"])
    return nearest
