"""Random errors in the code: another comparison, number or operator, a condition turned round, a call left out."""

import ast
import fnmatch
import random
from collections.abc import Iterator
from itertools import accumulate, islice

from campaigns.mutation import ROOT, Mutation, area_of, why_broken

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


def mutations(count: int, seed: int, pattern: str = "*") -> list[Mutation]:
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
    """All changes of a module."""
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
