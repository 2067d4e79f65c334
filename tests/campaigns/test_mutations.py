"""The short form of the mutation campaign: the list matches the code, and caught errors are distinguished from survivors."""

from typing import Any  # values of any field

import pytest

from campaigns import mutation, mutations, random_mutations
from campaigns.mutation import ROOT, Copy, Mutation, Outcome, why_broken
from campaigns.mutation_list import MUTATIONS

FILE = "kdump/formats/transaction_index.py"
ERROR = Mutation(
    id="version-unsigned",
    file=FILE,
    old='Struct(">hqqqq")',
    new='Struct(">Hqqqq")',
    tests=("tests/formats/test_transaction_index.py::test_a_version_is_shown_as_it_stands",),
)


def test_every_error_of_the_list_can_be_put_into_the_code() -> None:
    assert {one.id: why for one in MUTATIONS if (why := why_broken(one))} == {}


def test_errors_of_the_list_have_unique_ids_and_the_order_of_their_files() -> None:
    assert len({one.id for one in MUTATIONS}) == len(MUTATIONS)
    files = [one.file for one in MUTATIONS]
    assert files == sorted(files)


@pytest.mark.slow
def test_an_error_is_caught_and_what_changes_nothing_survives() -> None:
    before = (ROOT / FILE).read_bytes()
    harmless = ERROR._replace(id="harmless", old="ENTRY_SIZE = _ENTRY.size", new="ENTRY_SIZE = +_ENTRY.size")
    no_code = ERROR._replace(id="no-code", new='Struct(">hqqqq"')
    trials = {trial.mutation.id: trial.outcome for trial in mutations.run([ERROR, harmless, no_code])}
    assert trials == {"version-unsigned": Outcome.CAUGHT, "harmless": Outcome.SURVIVED, "no-code": Outcome.BROKEN}
    assert (ROOT / FILE).read_bytes() == before


@pytest.mark.slow
def test_tests_that_fail_without_an_error_say_nothing_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Copy, "test", lambda *_, **__: (1, "1 failed"))
    with pytest.raises(mutations.TestsFail, match="1 failed"):
        list(mutations.run([ERROR]))


@pytest.mark.parametrize(
    ("code", "text", "outcome"),
    [
        (0, "1 passed", Outcome.SURVIVED),
        (1, "...\nFAILED tests/test_x.py::test_y - assert\n", Outcome.CAUGHT),
        (1, "...\nERROR tests/test_x.py::test_y - in a fixture\n", Outcome.CAUGHT),
        (2, "...\nERROR tests/test_x.py - ImportError\n", Outcome.CAUGHT),
        (4, "ImportError while loading conftest '/x/conftest.py'.\n", Outcome.CAUGHT),
        (-11, "", Outcome.CAUGHT),
        (mutation.NEVER_ENDED, "", Outcome.CAUGHT),
        (1, "/usr/bin/python: No module named pytest\n", Outcome.BROKEN),
        (3, "INTERNALERROR> OSError\n", Outcome.BROKEN),
        (4, "file or directory not found", Outcome.BROKEN),
        (5, "no tests ran", Outcome.BROKEN),
        (-9, "", Outcome.BROKEN),
    ],
)
def test_an_error_is_caught_only_where_a_test_or_the_code_failed(code: int, text: str, outcome: Outcome) -> None:
    assert mutation.outcome_of(code, text) is outcome


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"old": "Struct"}, "the old text occurs 2 times in kdump/formats/transaction_index.py"),
        ({"old": "structure of"}, "the old text occurs 0 times in kdump/formats/transaction_index.py"),
        ({"new": ERROR.old}, "old and new text are the same"),
        ({"file": "kdump/gone.py"}, "there is no kdump/gone.py"),
        ({"tests": ()}, "it names no tests"),
        ({"tests": ("tests/test_gone.py",)}, "there is no tests/test_gone.py"),
        (
            {"tests": ("tests/formats/test_transaction_index.py::test_gone",)},
            "there is no test_gone in tests/formats/test_transaction_index.py",
        ),
    ],
)
def test_an_error_that_does_not_fit_the_code_is_reported(changes: dict[str, Any], why: str) -> None:
    assert why_broken(ERROR._replace(**changes)) == why


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ((Outcome.CAUGHT, Outcome.CAUGHT), 0),
        ((Outcome.SURVIVED, Outcome.CAUGHT), 1),
        ((Outcome.CAUGHT, Outcome.BROKEN), 1),
    ],
)
def test_an_error_that_is_not_caught_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outcomes: tuple[Outcome, ...], code: int
) -> None:
    trials = [mutation.Trial(ERROR, outcome, "", 1.0) for outcome in outcomes]
    monkeypatch.setattr(mutations, "run", lambda *_, **__: iter(trials))
    assert mutations.main([]) == code
    assert f"{outcomes.count(Outcome.CAUGHT)} of " in capsys.readouterr().out


def test_every_module_has_tests_that_exist() -> None:
    names = random_mutations.modules()
    packages = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert packages == {path.parent.name for path in (ROOT / "kdump").glob("*/__init__.py")} - {"spark"}
    assert {"kdump/forecasts/outcome.py", "kdump/cli/checking/run.py", "kdump/cli/main.py"} < {*names}
    assert any(name.startswith("kdump/checks/rules/framing/") for name in names)
    assert len(names) > 400
    for name in names:
        for test in random_mutations.tests_of(name):
            assert (ROOT / test).exists(), test
    assert random_mutations.tests_of("kdump/checks/check.py") == ("tests/checks/faults", "tests/checks/test_check.py")


def test_mutations_at_random_depend_on_their_seed_only() -> None:
    pytest.importorskip("cosmic_ray", reason="needs the extra `campaigns`")
    names = ["kdump/checks/wording.py", "kdump/checks/finding.py"]
    made = random_mutations.mutations(6, 1, names)
    assert made == random_mutations.mutations(8, 1, names)[:6] != random_mutations.mutations(6, 2, names)
    assert all(one.old != one.new and one.file in names for one in made)
