"""The list of deliberate errors fits the code, and each area has tests."""

from campaigns import mutations
from campaigns.mutation import ROOT, area_of, listed, why_broken


def test_the_list_fits_the_code_in_the_order_of_its_files_and_each_area_has_tests() -> None:
    errors = listed()
    assert {one.id: why for one in errors if (why := why_broken(one))} == {}
    assert len({one.id for one in errors}) == len(errors)
    assert [one.file for one in errors] == sorted(one.file for one in errors)
    areas = {area_of(path.relative_to(ROOT).as_posix()) for path in (ROOT / "kdump").rglob("*.py")}
    assert {"kdump", "cli", "cli/searching", "checks", "spark"} < areas
    assert [test for area in areas for test in mutations.tests_of(area) if not (ROOT / test).exists()] == []
