"""The short form of the mutation campaign: the list fits the code, and caught errors are distinguished from survivors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any  # values of any field

import pytest

from campaigns import mutations
from campaigns.mutation import MANY, ROOT, CannotTell, Copy, Mutation, area_of, why_broken
from campaigns.mutation_list import MUTATIONS
from tests.loops import each

FILE = "kdump/formats/transaction_index.py"
ERROR = Mutation("version-unsigned", FILE, 'Struct(">hqqqq")', 'Struct(">Hqqqq")')
HARMLESS = Mutation("harmless", FILE, "ENTRY_SIZE = _ENTRY.size", "ENTRY_SIZE = +_ENTRY.size")
NO_IMPORT = Mutation("no-import", FILE, "ENTRY_SIZE = _ENTRY.size", "ENTRY_SIZE = _ENTRY.sizes")


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
    assert found[ERROR] == f"{tests[0]}::test_whole_entries_are_read_with_their_versions"
    assert (ROOT / FILE).read_bytes() == before == (tmp_path / FILE).read_bytes()


class _Told(Copy):
    """Knows by which errors each test fails, and by what without errors; counts the runs."""

    def __init__(self, failing: dict[str, set[str]]) -> None:
        self._root, self._fails_anyway, self._failing, self.runs = ROOT, {}, failing, 0

    def _pytest(self, options: Sequence[str], tests: Sequence[str], most: int) -> list[str]:
        self.runs += 1
        out = {option.partition("=")[2] for option in options}
        asked = [test for test in self._failing if test not in out and (test in tests or "all" in tests)]
        failed = [test for test in asked if "always" in self._failing[test] or self._failing[test] <= self._put and self._put]
        return failed[:most]

    def _write(self, contents: dict[Path, bytes]) -> None:
        text = b"".join(contents.values()).decode()
        self._put = {one.id for one in ERRORS if one.new in text}


ERRORS = [Mutation(f"e{number}", f"kdump/{name}.py", '"""', f"# e{number}\n") for number, name in enumerate(("errors", "tables"))]
ERRORS = [one._replace(old=(ROOT / one.file).read_text("utf-8").splitlines()[0]) for one in ERRORS]


@each(
    ("failing", "caught", "most_runs"),
    [
        *(({}, set(), 1), ({"t::a": {"e0"}}, {"e0"}, 5), ({"t::a": {"e0"}, "t::b": {"e1"}}, {"e0", "e1"}, 6)),
        *(({"t::a": {"always"}}, set(), 9), ({"t::a": {"always"}, "t::b": {"e1"}}, {"e1"}, 9)),
        ({"t::a": {"e0", "e1"}}, set(), 9),  # two errors that only hurt together
        ({"conftest": {"e0"}, "t::b": {"e1"}}, {"e0", "e1"}, 9),
        ({f"t::{number}": {"e0"} for number in range(2 * MANY)}, {"e0"}, 9),
    ],
)
def test_errors_are_caught_by_what_fails_with_each_alone(failing: dict[str, set[str]], caught: set[str], most_runs: int) -> None:
    copy = _Told(failing)
    assert {one.id for one in copy.caught(ERRORS, ["all"])} == caught
    assert copy.runs <= most_runs


def test_nothing_is_told_where_tests_cannot_be_run_without_errors() -> None:
    with pytest.raises(CannotTell, match="without errors, either: conftest"):
        _Told({"conftest": {"always"}, "t::b": {"e1"}}).caught(ERRORS, ["all"])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"old": "Struct"}, f"the old text occurs 2 times in {FILE}"),
        ({"old": "structure of"}, f"the old text occurs 0 times in {FILE}"),
        ({"new": ERROR.old}, "old and new text are the same"),
        ({"file": "kdump/gone.py"}, "there is no kdump/gone.py"),
        ({"tests": ("tests/test_gone.py::test_x",)}, "there is no tests/test_gone.py::test_x"),
        ({"new": 'Struct(">hqqqq"'}, "'(' was never closed (transaction_index.py, line "),
    ],
)
def test_an_error_that_does_not_fit_the_code_is_reported(changes: dict[str, Any], why: str) -> None:
    assert (why_broken(ERROR._replace(**changes)) or "").startswith(why)


def test_an_error_that_is_not_caught_is_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def main(*found: Mutation | Exception) -> tuple[int, str]:
        def caught(*_: object, **__: object) -> dict[Mutation, str]:
            for one in found:
                if isinstance(one, Exception):
                    raise one
            return {one: "t::a" for one in found if isinstance(one, Mutation)}

        monkeypatch.setattr(mutations, "caught", caught)
        return mutations.main([]), capsys.readouterr().out

    monkeypatch.setattr(mutations, "MUTATIONS", (ERROR, HARMLESS))
    assert main(ERROR, HARMLESS) == (0, main(ERROR, HARMLESS)[1])
    code, out = main(ERROR)
    assert code == 1
    assert "survived: harmless" in out
    assert "+ENTRY_SIZE = +_ENTRY.size" in out
    assert "| formats | 2 | 1 | 0 | 1 |" in out
    assert main(CannotTell("no gcc"))[0] == 2


@pytest.mark.slow
@pytest.mark.all_cases
def test_random_errors_are_made_in_all_packages_and_depend_on_their_seed_only() -> None:
    made = mutations.random_mutations(2, 1, "kdump/*/*.py")
    assert {one.area.partition("/")[0] for one in made} == {path.parent.name for path in (ROOT / "kdump").glob("*/__init__.py")}
    assert {one.id: why for one in made if (why := why_broken(one))} == {}
    few = mutations.random_mutations(3, 1, "kdump/checks/wording.py")
    assert few == mutations.random_mutations(5, 1, "kdump/checks/wording.py")[:3]
    assert few != mutations.random_mutations(3, 2, "kdump/checks/wording.py")


def test_random_errors_are_other_operators_numbers_and_ways() -> None:
    text = (
        "def f(a: int) -> int:\n    for x in y(1):\n        if not a and x < 2:\n            break\n    g(a)\n    return a + 3\n"
    )
    made = {text[:begin] + new + text[end:] for begin, end, new in mutations.edits(text.encode())}
    changes = [("y(1)", "y(2)"), ("y(1)", "()"), ("not a", "a"), ("and", "or"), ("<", "<="), ("2", "3"), ("break", "continue")]
    changes += [("g(a)", "pass"), ("a + 3", "a - 3"), ("a + 3", "a + 4")]
    assert made == {text.replace(*change) for change in changes}
