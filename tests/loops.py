"""Tests of many cases that fail together: one test for all of them, instead of a test for each."""

import functools
import inspect
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple  # cases and arguments of any test

import pytest
from hypothesis import settings

from kdump.binary import kernel
from tests import kernels

QUICK_CASES = 4
"""How many cases of a test `-m quick` runs."""

_PARAM: Any = type(pytest.param())  # has no public name
_Test = Callable[..., None]
_Show = Callable[[Any], object]


class _Case(NamedTuple):
    name: str
    arguments: dict[str, object]


class _Loop(NamedTuple):
    """A test and its cases."""

    test: _Test
    cases: list[_Case]
    share: int
    python_share: int
    quick: int


def each(
    names: str | Sequence[str],
    cases: Iterable[object],
    *,
    ids: Iterable[object] | _Show | None = None,
    share: int = 1,
    python_share: int = 1,
    quick: int = QUICK_CASES,
) -> Callable[[_Test], _Test]:
    """Run a test for each of these cases, all in one test: as `pytest.mark.parametrize`, but nothing is collected for a case.

    All cases are run, whichever fail; the first failure is shown, with the names of all cases that failed. Each case has an empty
    `tmp_path` and a `monkeypatch` of its own. `share` is how many cases there are for one that a run without `--all-cases` takes,
    `python_share` the same with the Python kernel where there is one in C too, and `quick` how many `-m quick` takes.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    made = _cases(arguments, list(cases), ids)

    def decorated(test: _Test) -> _Test:
        inner = getattr(test, "loop", None)
        if inner is None:
            return _looped(_Loop(test, made, share, python_share, quick))
        product = [_Case(f"{outer.name}-{case.name}", outer.arguments | case.arguments) for case in inner.cases for outer in made]
        shares = share * inner.share, python_share * inner.python_share
        return _looped(_Loop(inner.test, product, *shares, max(quick, inner.quick)))

    return decorated


def examples(count: int) -> settings:
    """So many examples of a property; of other runs than those of all cases, a share."""
    return settings(max_examples=count * settings().max_examples // 100)


def of_all_cases(*values: object) -> Any:
    """A row of `pytest.mark.parametrize` that only runs with `--all-cases`, or where its module or test is named."""
    return pytest.param(*values, marks=pytest.mark.all_cases)


def samples(config: pytest.Config) -> bool:
    """Whether a share of the cases will do: tests that are named, by module or by `-k`, are run as a whole."""
    given = config.option
    return is_quick(config) or not (given.all_cases or given.keyword or names_modules(config))


def names_modules(config: pytest.Config) -> bool:
    """Whether somebody asked for certain modules, not for folders."""
    return any(argument.partition("::")[0].endswith(".py") for argument in config.args)


def is_quick(config: pytest.Config) -> bool:
    """Whether a run takes quick tests only."""
    return bool(config.option.markexpr == "quick")


def _looped(loop: _Loop) -> _Test:
    signature = inspect.signature(loop.test)
    fixtures = [one for name, one in signature.parameters.items() if name not in loop.cases[0].arguments]
    wants_request = any(one.name == "request" for one in fixtures)

    @functools.wraps(loop.test)
    def run(request: pytest.FixtureRequest, **given: Any) -> None:
        _run_all(loop, request, given | {"request": request} if wants_request else given)

    if not wants_request:
        fixtures.insert(0, inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD))
    run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]  # what pytest gives fixtures by
    run.loop = loop  # type: ignore[attr-defined]  # for an `each` around this one
    return run


def _run_all(loop: _Loop, request: pytest.FixtureRequest, given: dict[str, Any]) -> None:
    cases = _chosen(loop, request)
    skipped: list[BaseException] = []
    failed: list[tuple[str, BaseException]] = []
    for number, case in enumerate(cases):
        try:
            _run(loop.test, given | case.arguments, number)
        except pytest.skip.Exception as reason:
            skipped.append(reason)
        except (Exception, pytest.fail.Exception) as error:
            failed.append((case.name, error))
    if failed:
        named = ", ".join(name for name, _ in failed[:20]) + (", ..." if len(failed) > 20 else "")
        failed[0][1].add_note(f"{len(failed)} of {len(cases)} cases failed: {named}")
        raise failed[0][1]
    if skipped and len(skipped) == len(cases):
        raise skipped[0]


def _chosen(loop: _Loop, request: pytest.FixtureRequest) -> list[_Case]:
    if not samples(request.config):
        return loop.cases
    if is_quick(request.config):
        return sorted(loop.cases, key=_number)[: loop.quick]
    share = loop.share
    if loop.python_share > share and request.getfixturevalue("kernel_in_use") == kernel.PYTHON and not kernels.why_no_c():
        share = loop.python_share
    return sorted(loop.cases, key=_number)[: -(-len(loop.cases) // share)] if share > 1 else loop.cases


def _number(case: _Case) -> int:
    """A number that is the same in each run, and in no order."""
    return zlib.crc32(case.name.encode(errors="backslashreplace"))


def _run(test: _Test, arguments: dict[str, Any], number: int) -> None:
    if "tmp_path" in arguments:
        folder: Path = arguments["tmp_path"] / f"case{number}"  # a dash would make it a partition
        folder.mkdir()
        arguments = {**arguments, "tmp_path": folder}
    if "monkeypatch" not in arguments:
        test(**arguments)
        return
    with pytest.MonkeyPatch.context() as patch:
        test(**{**arguments, "monkeypatch": patch})


def _cases(arguments: list[str], cases: list[Any], ids: Iterable[object] | _Show | None) -> list[_Case]:
    given = None if ids is None or callable(ids) else [str(one) for one in ids]
    made = []
    for number, case in enumerate(cases):
        name = given[number] if given is not None else None
        if isinstance(case, _PARAM):
            assert not case.marks, f"a case of a loop has no marks: {case}"
            row, name = case.values, name or case.id
        else:
            row = (case,) if len(arguments) == 1 else tuple(case)
        name = name if name is not None else _name(row, number, ids if callable(ids) else None)
        made.append(_Case(name, dict(zip(arguments, row, strict=True))))
    return made


def _name(row: Sequence[object], number: int, show: _Show | None) -> str:
    parts = [show(value) if show is not None else None for value in row]
    return "-".join(
        str(part) if part is not None else str(value) if isinstance(value, str | int | float) else f"case{number}"
        for part, value in zip(parts, row, strict=True)
    )
