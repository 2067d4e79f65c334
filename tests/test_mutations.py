"""The short form of the mutation campaign: the list fits the code, and caught errors are distinguished from survivors."""

from pathlib import Path

import pytest

from campaigns import mutations
from campaigns.mutation import ROOT, Copy, Mutation, area_of, why_broken
from campaigns.mutation_list import MUTATIONS

FILE = "kdump/formats/transaction_index.py"
ERROR = Mutation("version-unsigned", FILE, 'Struct(">hqqqq")', 'Struct(">Hqqqq")')
HARMLESS = Mutation("harmless", FILE, "ENTRY_SIZE = ENTRY.size", "ENTRY_SIZE = +ENTRY.size")
NO_IMPORT = Mutation("no-import", FILE, "ENTRY_SIZE = ENTRY.size", "ENTRY_SIZE = ENTRY.sizes")


def test_the_list_fits_the_code_in_the_order_of_its_files_and_each_area_has_tests() -> None:
    assert {one.id: why for one in MUTATIONS if (why := why_broken(one))} == {}
    assert len({one.id for one in MUTATIONS}) == len(MUTATIONS)
    assert [one.file for one in MUTATIONS] == sorted(one.file for one in MUTATIONS)
    areas = {area_of(path.relative_to(ROOT).as_posix()) for path in (ROOT / "kdump").rglob("*.py")}
    assert {"kdump", "cli", "cli/searching", "checks", "spark"} < areas
    assert [test for area in areas for test in mutations.tests_of(area) if not (ROOT / test).exists()] == []


@pytest.mark.slow
@pytest.mark.all_cases
def test_an_error_is_caught_and_what_changes_nothing_survives(tmp_path: Path) -> None:
    before = (ROOT / FILE).read_bytes()
    tests = ["tests/formats/test_transaction_index.py"]
    found = Copy(tmp_path).caught([HARMLESS, ERROR, NO_IMPORT], tests)
    assert found.keys() == {ERROR, NO_IMPORT}
    assert found[ERROR] == f"{tests[0]}::test_transactions_are_read_as_they_were_built"
    assert (ROOT / FILE).read_bytes() == before == (tmp_path / FILE).read_bytes()
