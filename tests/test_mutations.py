"""The list of deliberate errors fits the code, and each area has tests."""

from campaigns import mutations
from campaigns.mutation import ROOT, area_of, why_broken
from campaigns.mutation_list import MUTATIONS


def test_the_list_fits_the_code_in_the_order_of_its_files_and_each_area_has_tests() -> None:
    assert {one.id: why for one in MUTATIONS if (why := why_broken(one))} == {}
    assert len({one.id for one in MUTATIONS}) == len(MUTATIONS)
    assert [one.file for one in MUTATIONS] == sorted(one.file for one in MUTATIONS)
    areas = {area_of(path.relative_to(ROOT).as_posix()) for path in (ROOT / "kdump").rglob("*.py")}
    assert {"kdump", "cli", "cli/searching", "checks", "spark"} < areas
    assert [test for area in areas for test in mutations.tests_of(area) if not (ROOT / test).exists()] == []
