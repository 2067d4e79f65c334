"""Puts deliberate errors into a copy of the code, those of a package at once, and reports which of them the tests notice.

    python -m campaigns.mutations                                  the list in mutation_list.tsv
    python -m campaigns.mutations --only 'kdump/forecasts/*'       those in some files; with the id of one, only this
    python -m campaigns.mutations --random 10 --seed 1             ten random errors in each package
    python -m campaigns.mutations --random 20 --only 'kdump/checks/rules/*'

An error should be noticed by the tests in the folder of its package, or by a quick test. The exit code is 1 if one is not, 2 if
nothing can be told. The checkout itself is only read.
"""

import argparse
import ast
import difflib
import fnmatch
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path

from campaigns.mutation import ROOT, CannotTell, Copy, Mutation, area_of, listed, why_broken

TESTS = {
    "cli/checking": ("tests/checks/test_check.py", "tests/cli/test_plain_log_command.py", "tests/verdicts"),
    "cli/forecasting": ("tests/forecasts", "tests/verdicts"),
    "cli/listing": ("tests/cli",),
    "cli/looking": ("tests/overview", "tests/output/test_report_page.py"),
    "cli/mending": ("tests/mending",),
    "cli/scanning": ("tests/cli/test_scan.py", "tests/cli/test_repeated_scan.py", "tests/output/test_scan_text.py"),
    "cli/screens": ("tests/cli", "tests/output/test_explain.py"),
    "cli/searching": ("tests/searching",),
    "decoding": ("tests/searching/test_grep_decoded.py", "tests/cli/test_decoding.py", "tests/registries", "tests/library"),
    "kdump": ("tests/test_tables.py", "tests/cli"),
    "messages": ("tests/messages", "tests/decoders"),
    "overview": ("tests/overview", "tests/output/test_report_page.py"),
    "releases": ("tests/releases", "tests/dropin"),
    "schemas": ("tests/schemas", "tests/registries"),
}
"""The tests of an area, if they are not those in the folder of its name."""

QUICK = "a quick test of another folder"
NOT_SLOW = "not slow and not spark and not oracle"


def tests_of(area: str) -> tuple[str, ...]:
    return TESTS.get(area, (f"tests/{area}",))


def caught(mutations: Sequence[Mutation], jobs: int = 1, *, with_slow: bool = True) -> dict[Mutation, str]:
    """The mutations that tests notice, each with the test; without slow ones, tests of Spark are left out, too.

    Raises CannotTell if the copy cannot be tested.
    """
    found: dict[Mutation, str] = {}
    with tempfile.TemporaryDirectory(prefix="kdump-mutations-") as folder:
        copy = Copy(Path(folder).resolve(), jobs)
        for area in sorted({one.area for one in mutations}):
            errors = [one for one in mutations if one.area == area]
            extra = sorted({test for one in errors for test in one.tests})
            done = copy.caught(errors, [*tests_of(area), *extra, *(() if with_slow else ("-m", NOT_SLOW))])
            for one, test in done.items():
                print(f"{one.id} in {one.file}: {test}", flush=True)
            found |= done
        quick = copy.caught([one for one in mutations if one not in found], ["-m", "quick"])
    return found | {one: f"{QUICK}: {test}" for one, test in quick.items()}


def summary(mutations: Sequence[Mutation], found: dict[Mutation, str]) -> str:
    """The number of caught errors per package, as a table."""
    tried = Counter(one.area for one in mutations)
    by_quick = Counter(one.area for one in mutations if found.get(one, "").startswith(QUICK))
    by_any = Counter(one.area for one in mutations if one in found)
    rows = [(area, tried[area], by_any[area] - by_quick[area], by_quick[area]) for area in sorted(tried)]
    rows.append(("all", tried.total(), by_any.total() - by_quick.total(), by_quick.total()))
    lines = [f"| {area} | {of} | {own} | {quick} | {of - own - quick} |" for area, of, own, quick in rows]
    return "\n".join(["| package | errors | caught by its tests | by other quick tests | survived |", "| --- " * 5 + "|", *lines])


_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
"""Operators and what stands for them; `|` is not among them, for it also joins types."""

Edit = tuple[int, int, str]
"""The bytes from one position to another of a module, and the text in their place."""


def random_mutations(count: int, seed: int, pattern: str = "*") -> list[Mutation]:
    """This many random errors in each package, in modules that match a pattern; they depend only on the seed and the code."""
    packages: dict[str, list[tuple[str, Edit]]] = {}
    for path in sorted((ROOT / "kdump").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if path.name != "__init__.py" and fnmatch.fnmatch(name, pattern):
            packages.setdefault(area_of(name), []).extend((name, edit) for edit in edits(path.read_bytes()))
    made: list[Mutation] = []
    for area, every in packages.items():
        random.Random(f"{seed} {area}").shuffle(every)
        some = (_mutation(name, (ROOT / name).read_bytes(), edit) for name, edit in every)
        made += islice((one for one in some if not why_broken(one)), count)
    return made


def _mutation(name: str, content: bytes, edit: Edit) -> Mutation:
    begin, end, new = edit
    row = content.count(b"\n", 0, begin)
    start = content.rfind(b"\n", 0, begin) + 1
    while start and content.count(content[start:end]) > 1:  # what is replaced has to occur once
        start = content.rfind(b"\n", 0, start - 1) + 1
    shown = f"{name}:{row + 1}:{content[begin:end].decode()!r}->{new!r}"
    return Mutation(shown, name, content[start:end].decode(), content[start:begin].decode() + new)


def edits(content: bytes) -> Iterator[Edit]:
    lines = content.splitlines(keepends=True)
    begins = [0, *accumulate(map(len, lines))]

    def at(node: ast.AST) -> tuple[int, int]:
        return begins[node.lineno - 1] + node.col_offset, begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, words: tuple[str, str]) -> Iterator[Edit]:
        begin, end = at(left)[1], at(right)[0]
        found = content.find(words[0].encode(), begin, end)
        if found >= 0:
            yield found, found + len(words[0]), words[1]

    for node in _nodes(ast.parse(content)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield from between(left, right, _COMPARISONS[type(operator)])
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                yield from between(left, right, _OPERATORS[type(operator)])
            case ast.BoolOp(op=operator, values=[*_, left, right]):
                yield from between(left, right, _OPERATORS[type(operator)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield at(node)[0], at(operand)[0], ""
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if isinstance(
                test, ast.Name | ast.Attribute | ast.Call
            ):
                yield at(test)[0], at(test)[0], "not "
            case ast.Constant(value=bool(value)):
                yield (*at(node), str(not value))
            case ast.Constant(value=int(value)):
                yield (*at(node), str(value + 1))
            case ast.For(iter=iterable):
                yield (*at(iterable), "()")
            case ast.Break() | ast.Continue():
                yield (*at(node), "continue" if isinstance(node, ast.Break) else "break")
            case ast.Expr(value=ast.Call()):
                yield (*at(node), "pass")


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of types and of texts with values in them."""
    for name, value in ast.iter_fields(tree):
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and name not in ("annotation", "returns") and not isinstance(node, ast.JoinedStr):
                yield node
                yield from _nodes(node)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="FILE", help="errors in this file, or with this id; patterns allowed")
    parser.add_argument("--random", type=int, metavar="COUNT", help="COUNT random errors in each package, not those of the list")
    parser.add_argument("--seed", type=int, default=1, help="which random errors (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes for the tests of a package (default 1)")
    parser.add_argument("--without-slow", action="store_true", help="leave out slow tests")
    chosen = parser.parse_args(arguments)
    known = listed() if chosen.random is None else random_mutations(chosen.random, chosen.seed, chosen.only)
    mutations = [one for one in known if fnmatch.fnmatch(one.file, chosen.only) or one.id == chosen.only]
    broken = {one: why for one in mutations if (why := why_broken(one))}
    mutations = [one for one in mutations if one not in broken]
    if not mutations:
        parser.error("nothing to try")
    # The copy is deleted even if a signal ends the run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    try:
        found = caught(mutations, chosen.jobs, with_slow=not chosen.without_slow)
    except CannotTell as error:
        print(error, file=sys.stderr)
        return 2
    for one, why in broken.items():
        print(f"cannot be tried: {one.id} in {one.file}: {why}")
    for one in mutations:
        if one not in found:
            print(f"survived: {one.id} in {one.file}")
            change = difflib.unified_diff(one.old.splitlines(), one.new.splitlines(), lineterm="", n=1)
            print(*(f"    {line}" for line in list(change)[2:]), sep="\n")
    print(summary(mutations, found))
    return int(len(found) < len(mutations) or bool(broken))


if __name__ == "__main__":
    sys.exit(main())
