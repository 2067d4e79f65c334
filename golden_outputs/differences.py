"""Shows how two releases differ over the cases: each kind of change once, with its frequency and one example.

python -m golden_outputs.differences 2.0.0 2.0.1
python -m golden_outputs.differences 4.3.1 4.4.0 --case 'magic2-*' --show 5

If the output of a release is not stored, its real tool is run.
"""

import argparse
import difflib
import functools
import itertools
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from typing import NamedTuple

from golden_outputs import make, stored
from golden_outputs.runs import cases, wanted_runs
from golden_outputs.stored import Golden, RunOfCase
from tests.oracle import why_not_available

SHOWN_WIDTH = 400
# Text after this many lines repeats earlier lines.
COMPARED_LINES = 400
CONTEXT_WORDS = 1

_WORDS = re.compile(r"\s*(?:\w+: )?[^\s|{}(),=]+|\s*.")
_PLACEHOLDERS = (
    (re.compile(r"(key|payload): (?!\{).*"), r"\1: ..."),
    (re.compile(r'"(?:[^"\\]|\\.)*"(?!:)'), '"..."'),
    (re.compile(r"(?<![\w-])[A-Za-z0-9_-]{22}(?![\w-])"), "ID"),
    (re.compile(r"\b(?:true|false)\b"), "BOOLEAN"),
    (re.compile(r"\S*/\S+|\S+\.(?:log|index|timeindex|snapshot|txnindex|checkpoint)\b"), "PATH"),
    (re.compile(r"-?\d+"), "N"),
)
_JSON_START = re.compile(r"\b(key|payload): (?=\{)")
_DECODER = json.JSONDecoder()
_TYPES = {bool: "boolean", int: "number", float: "number", str: "text", type(None): "null"}


class Example(NamedTuple):
    """A run with a change, and the changed lines."""

    run: RunOfCase
    before: str
    after: str


class Change(NamedTuple):
    """A kind of change."""

    stream: str
    kind: str


def changes(before: Sequence[Golden], after: Sequence[Golden]) -> dict[Change, dict[RunOfCase, Example]]:
    """Every kind of change between the runs of two releases, with the runs that show it."""
    found: dict[Change, dict[RunOfCase, Example]] = {}
    later = {golden.run: golden for golden in after}
    for golden in before:
        other = later.get(golden.run)
        if other is None or other == golden:
            continue
        for change, example in _changes_of_run(golden, other):
            found.setdefault(change, {}).setdefault(golden.run, example)
    return found


def report(found: Mapping[Change, Mapping[RunOfCase, Example]], show: int) -> Iterator[str]:
    """The kinds of changes as text, the most frequent first; `show` of each stream."""
    in_order = sorted(found.items(), key=lambda item: (item[0].stream, -len(item[1]), item[0].kind))
    for stream, group in itertools.groupby(in_order, key=lambda item: item[0].stream):
        kinds = list(group)
        yield f"== {stream}: {len(kinds)} kinds of changes\n"
        for change, examples in kinds[:show]:
            example = min(examples.values(), key=lambda one: len(one.before) + len(one.after))
            case, arguments = example.run
            yield f"\n{len(examples)} runs: {change.kind}\n"
            yield f"    {case}: {shlex.join(arguments)}\n"
            yield from (
                f"    {mark} {line[:SHOWN_WIDTH]}\n" for mark, line in (("-", example.before), ("+", example.after)) if line
            )
        if len(kinds) > show:
            yield f"\n... and {len(kinds) - show} kinds more, see --show\n"
        yield "\n"


def _changes_of_run(before: Golden, after: Golden) -> Iterator[tuple[Change, Example]]:
    run = before.run
    if before.exit_code != after.exit_code:
        codes = f"exit {before.exit_code} is now {after.exit_code}"
        yield Change("exit code", codes), Example(run, _last_line(before), _last_line(after))
    streams: tuple[tuple[stored.Stream, bytes, bytes], ...] = (
        ("stdout", before.stdout, after.stdout),
        ("stderr", before.stderr, after.stderr),
    )
    for stream, first, second in streams:
        for old, new in _changed_lines(_lines(first), _lines(second)):
            for kind in _kinds_of_lines(old, new):
                yield Change(stream, kind), Example(run, old, new)


def _changed_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of changed lines; an empty string stands for a missing line."""
    if len(before) == len(after):
        yield from ((old, new) for old, new in zip(before, after, strict=True) if old != new)
        return
    matcher = difflib.SequenceMatcher(None, [_shape(line) for line in before], [_shape(line) for line in after])
    for _, first, last, start, end in matcher.get_opcodes():
        pairs = itertools.zip_longest(before[first:last], after[start:end], fillvalue="")
        yield from ((old, new) for old, new in pairs if old != new)


def _kinds_of_lines(before: str, after: str) -> Iterator[str]:
    """The changes from one line to another: those within its JSON by the paths of the values, the others by words."""
    old, old_values = _without_json(before)
    new, new_values = _without_json(after)
    if not old_values or not new_values:
        yield _kind(_general(before), _general(after))
        return
    if old != new:
        yield _kind(_general(old), _general(new))
    for path in sorted(old_values.keys() | new_values.keys()):
        was, now = old_values.get(path), new_values.get(path)
        if was is None or now is None:
            yield f"{'+' if was is None else '-'} {path}"
        elif was != now:
            types = [", ".join(sorted({_TYPES[type(value)] for value in values})) for values in (was, now)]
            yield f"{path}: {types[0]} is now {types[1]}" if types[0] != types[1] else f"other values of {path}"


def _without_json(line: str) -> tuple[str, dict[str, list[object]]]:
    """A line with a word for each JSON object in it, and the values of these objects by their paths."""
    rest, at = "", 0
    values: dict[str, list[object]] = {}
    for start in _JSON_START.finditer(line):
        if start.end() < at:
            continue  # within the object before
        try:
            found, end = _DECODER.raw_decode(line, start.end())
        except ValueError:
            continue
        _add_values(found, start[1], values)
        rest, at = rest + line[at : start.end()] + "JSON", end
    return rest + line[at:], values


def _add_values(value: object, path: str, values: dict[str, list[object]]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _add_values(inner, f"{path}.{name}", values)
    elif isinstance(value, list):
        for inner in value:
            _add_values(inner, f"{path}[]", values)
    else:
        values.setdefault(path, []).append(value)


def _shape(line: str) -> str:
    """The start of a line, by which lines of two releases are matched."""
    return " ".join(line.split(maxsplit=3)[:2])


@functools.cache
def _general(line: str) -> str:
    """A line with placeholders for values that differ from file to file."""
    for pattern, placeholder in _PLACEHOLDERS:
        line = pattern.sub(placeholder, line)
    return line


@functools.cache
def _kind(before: str, after: str) -> str:
    """The change from one line to another."""
    if not before or not after:
        return f"+ {after}" if after else f"- {before}"
    if before == after:
        return f"other values in: {before}"
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < 0.5:
        return f"- {before}\n      now: + {after}"
    pieces = []
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        behind = "".join(old[max(first - CONTEXT_WORDS, 0) : first]).strip()
        pieces.append(f"[-{''.join(old[first:last])}-]" * (last > first) + f"[+{''.join(new[start:end])}+]" * (end > start))
        pieces[-1] += f" after `{behind}`" if behind else " at the start"
    return ", ".join(pieces)


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "backslashreplace").splitlines()[:COMPARED_LINES]


def _last_line(golden: Golden) -> str:
    return next(iter(reversed(_lines(golden.stderr) or _lines(golden.stdout))), "")


def _goldens(release: str, pattern: str) -> list[Golden]:
    if release in stored.releases():
        return [golden for golden in stored.read(release) if fnmatch(golden.case, pattern)]
    missing = why_not_available(release)
    if missing:
        raise SystemExit(f"{release} is not kept, and its tool cannot be asked: {missing}")
    return make.make(release, wanted_runs(release, pattern))


def main(arguments: Sequence[str] | None = None) -> int:
    """Show the changes between two releases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", metavar="RELEASE")
    parser.add_argument("after", metavar="OTHER")
    parser.add_argument("--case", default="*", metavar="PATTERN", help="only the cases of this name")
    parser.add_argument("--show", type=int, default=30, metavar="N", help="so many kinds of changes of each stream (30)")
    options = parser.parse_args(arguments)
    if not any(fnmatch(case, options.case) for case in cases()):
        parser.error(f"no case is called {options.case}")
    before, after = _goldens(options.before, options.case), _goldens(options.after, options.case)
    found = changes(before, after)
    runs = {golden.run for golden in before}, {golden.run for golden in after}
    changed = {run for examples in found.values() for run in examples}
    print(f"{len(changed)} of {len(runs[0] & runs[1])} runs changed from {options.before} to {options.after}", end="")
    for release, missing in ((options.before, runs[1] - runs[0]), (options.after, runs[0] - runs[1])):
        print(f"; {len(missing)} do not exist in {release}" if missing else "", end="")
    print("\n")
    sys.stdout.writelines(report(found, options.show))
    return 0


if __name__ == "__main__":
    sys.exit(main())
