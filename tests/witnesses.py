"""Finds the golden that notices if a rule of the history begins one release earlier or later: the witness of the rule.

python -m tests.witnesses               check the witnesses that are kept, list the rules that have none
python -m tests.witnesses --search      search witnesses for the rules that have none, and keep them

A rule is each release that the history names as the beginning or the end of something. If a rule is moved to the neighbouring
release, one release only changes: the release before, if the rule is moved earlier; the release that the rule names, if it is
moved later. A golden of that release is a witness if kdump agrees less with it once the rule is moved.
"""

import argparse
import contextlib
import copy
import functools
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from golden_outputs import make, stored
from golden_outputs.runs import CASES, OPTIONS_CASES
from golden_outputs.stored import Golden
from kdump.releases import decoder_words, exception_texts, history, schemas
from kdump.releases.history import Option
from kdump.releases.known import RELEASES
from kdump.releases.timeline import FIRST, Part, version_of
from tests import goldens
from tests.goldens import Agreement

KEPT = Path(__file__).with_suffix(".json")
EARLIER, LATER = "earlier", "later"

_MODULES: tuple[ModuleType, ...] = (history, exception_texts, decoder_words, schemas)
_NO_RULES = ("RELEASES", "COMMITS")  # the releases themselves, and what each says of its own
_RELEASE = re.compile(r"\d+(\.\d+){2,3}\Z")
_AFTER_ALL = "9999.0.0"
_BY_AGREEMENT = list(Agreement)


Moved = Callable[[Any, str], object]
"""Makes a value in which a rule has another release."""


class Move(NamedTuple):
    """A rule, moved to the release before or after: `release` is the only one in which that makes a difference.

    `module` and `declaration` say where the rule is; `moved` takes the declaration and returns it with the rule moved.
    """

    rule: str
    direction: str
    release: str
    module: ModuleType
    declaration: str
    moved: Callable[[object], object]

    @property
    def name(self) -> str:
        return f"{self.rule}, {self.direction}"


class Witness(NamedTuple):
    """A golden run that notices a move, in the release in which the move makes a difference."""

    case: str
    arguments: tuple[str, ...]


def moves() -> Iterator[Move]:
    for module in _MODULES:
        for declaration, value in vars(module).items():
            if not declaration.isupper() or declaration.startswith("_") or declaration in _NO_RULES:
                continue
            for label, release, moved in _rules_of(value):
                place = RELEASES.index(release)
                rule = f"{module.__name__.rpartition('.')[2]}.{declaration}{label} {release}"
                later = RELEASES[place + 1] if place + 1 < len(RELEASES) else _AFTER_ALL
                for direction, in_release, to in ((EARLIER, RELEASES[place - 1], RELEASES[place - 1]), (LATER, release, later)):
                    yield Move(rule, direction, in_release, module, declaration, functools.partial(_to, to, moved))


def _to(release: str, moved: Moved, value: object) -> object:
    return moved(value, release)


def _rules_of(value: object) -> Iterator[tuple[str, str, Moved]]:
    """The rules in a declaration, or in a part of one: label, release, and what moves the rule."""
    if isinstance(value, Part):
        if value.since != FIRST:
            yield f" {value.text!r} since", value.since, lambda part, to: _changed(part, "since", to)
        if value.until:
            yield f" {value.text!r} until", value.until, lambda part, to: _changed(part, "until", to)
    elif isinstance(value, Option):
        for field in ("texts", "defaults"):
            for label, release, moved in _rules_of(getattr(value, field)):
                yield f"[{value.name}].{field}{label}", release, functools.partial(_moved_inside_option, field, moved)
    elif isinstance(value, tuple):
        for place, entry in enumerate(value):
            for label, release, moved in _rules_of(entry):
                yield label, release, functools.partial(_moved_inside_tuple, place, moved)
    elif isinstance(value, dict) and value and all(map(_is_release, value)):
        for since in value:
            if since != FIRST:
                yield "", since, functools.partial(_moved_timeline, since)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if _is_release(entry) and entry != FIRST:
                yield f"[{key}]", entry, functools.partial(_moved_inside_dict, key, lambda _, to: to)
            for label, release, moved in _rules_of(entry):
                yield f"[{key}]{label}", release, functools.partial(_moved_inside_dict, key, moved)


def _moved_inside_option(field: str, moved: Moved, option: Option, to: str) -> object:
    return _changed(option, field, moved(getattr(option, field), to))


def _moved_inside_tuple(place: int, moved: Moved, entries: tuple[object, ...], to: str) -> tuple[object, ...]:
    return (*entries[:place], moved(entries[place], to), *entries[place + 1 :])


def _moved_inside_dict(key: str, moved: Moved, entries: dict[str, object], to: str) -> dict[str, object]:
    return {**entries, key: moved(entries[key], to)}


def _moved_timeline(since: str, timeline: dict[str, object], to: str) -> dict[str, object]:
    others = {release: value for release, value in timeline.items() if release != since}
    entry = {to: timeline[since]}
    moved = others | entry if version_of(to) < version_of(since) else entry | others
    return {release: moved[release] for release in sorted(moved, key=version_of)}


def _is_release(value: object) -> bool:
    return isinstance(value, str) and _RELEASE.match(value) is not None


def _changed(value: Part | Option, field: str, to: object) -> object:
    changed = copy.copy(value)
    setattr(changed, field, to)
    return changed


@contextlib.contextmanager
def in_force(*together: Move) -> Iterator[None]:
    """Let kdump follow the moved rules, all of them at once."""
    with pytest.MonkeyPatch.context() as patch:
        for move in together:
            patch.setattr(move.module, move.declaration, move.moved(getattr(move.module, move.declaration)))
        yield


def golden_of(move: Move, witness: Witness) -> Golden | None:
    """What the real tool printed in the run that notices a move; None where no such run is kept."""
    return next((golden for golden in stored.read(move.release) if golden.run == witness), None)


def notices(move: Move, golden: Golden) -> bool:
    """Whether kdump agrees with a golden, and agrees less when it follows the moved rule."""
    with _copy_of(move, golden.case) as folder:
        agreement = _agreement(move, golden, folder)
        return agreement is not Agreement.DIFFERENT and _agrees_less([move], golden, folder, agreement)


def _agrees_less(together: Sequence[Move], golden: Golden, folder: Path, than: Agreement) -> bool:
    with in_force(*together):
        return _BY_AGREEMENT.index(_agreement(together[0], golden, folder)) > _BY_AGREEMENT.index(than)


def _agreement(move: Move, golden: Golden, folder: Path) -> Agreement:
    printed = goldens.run_in_process(move.release, golden.arguments, folder)
    if needs_own_folder(move) and printed.stderr != golden.stderr:
        return Agreement.DIFFERENT
    return goldens.compare(golden, printed)


def needs_own_folder(move: Move) -> bool:
    """Whether only runs in the folder in which the goldens were made can notice a move: the order of reports depends on it."""
    return move.declaration == "REPORT_ORDER"


@contextlib.contextmanager
def _copy_of(move: Move, case: str) -> Iterator[Path]:
    if not needs_own_folder(move):
        with goldens.copy_of(case) as folder:
            yield folder
        return
    shutil.copytree(CASES / case, make.WORKING_FOLDER)
    try:
        yield make.WORKING_FOLDER
    finally:
        shutil.rmtree(make.WORKING_FOLDER)


def kept() -> dict[str, Witness]:
    """The witnesses that are kept, by the names of moves."""
    rows: dict[str, str] = json.loads(KEPT.read_text())["witnesses"]
    return {name: Witness(case, tuple(arguments)) for name, row in rows.items() for case, *arguments in [shlex.split(row)]}


def gaps() -> dict[str, str]:
    """Why moves have no witness, by their names. The aim is an empty list."""
    reasons: dict[str, str] = json.loads(KEPT.read_text())["gaps"]
    return reasons


def keep(witnesses: Mapping[str, Witness], reasons: Mapping[str, str]) -> None:
    rows = {name: shlex.join([witness.case, *witness.arguments]) for name, witness in sorted(witnesses.items())}
    KEPT.write_text(json.dumps({"witnesses": rows, "gaps": dict(sorted(reasons.items()))}, indent=0) + "\n", encoding="ascii")


def search(wanted: Iterable[Move], *, among_all: bool) -> Iterator[tuple[Move, Witness]]:
    """Find witnesses for these moves, where there are any, among all goldens or among those that are likely.

    Moves in one declaration are tried at once, and one by one only where a golden notices something.
    """
    by_place: dict[tuple[str, str, str], list[Move]] = {}
    for move in wanted:
        by_place.setdefault((move.release, move.direction, move.declaration), []).append(move)
    for together in by_place.values():
        first, remaining = together[0], list(together)
        for golden in _candidates(first, among_all=among_all):
            if not remaining:
                break
            with _copy_of(first, golden.case) as folder:
                if not _agrees_less(remaining, golden, folder, Agreement.IDENTICAL):
                    continue
                agreement = _agreement(first, golden, folder)
                if agreement is Agreement.DIFFERENT:
                    continue
                for move in [move for move in remaining if _agrees_less([move], golden, folder, agreement)]:
                    remaining.remove(move)
                    yield move, Witness(*golden.run)


def _candidates(move: Move, *, among_all: bool) -> list[Golden]:
    """The goldens that may notice a move: first those in which the two releases differ, of these help screens and short ones.

    The others notice a move only where two rules of the release hide each other.
    """
    place = RELEASES.index(move.release)
    other = RELEASES[place + 1] if move.direction == EARLIER else RELEASES[place - 1]
    others = {golden.run: golden for golden in stored.read(other)}

    def order(golden: Golden) -> tuple[bool, bool, int]:
        is_alike = others.get(golden.run) == golden
        return is_alike, golden.case not in OPTIONS_CASES, len(golden.stdout) + len(golden.stderr)

    found = stored.read(move.release)
    return sorted((golden for golden in found if among_all or others.get(golden.run) != golden), key=order)


def main(arguments: Sequence[str] | None = None) -> int:
    """Search witnesses, or list the moves that have none; return 1 if there are such, 2 if it cannot be told."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", action="store_true", help="search witnesses for moves that have none, or no longer have one")
    options = parser.parse_args(arguments)
    all_moves = {move.name: move for move in moves()}
    witnesses = {name: witness for name, witness in kept().items() if name in all_moves}
    if make.WORKING_FOLDER.exists():
        print(f"{make.WORKING_FOLDER} is in use; remove it if nothing is running", file=sys.stderr)
        return 2
    lacking = []
    for move in all_moves.values():
        golden = golden_of(move, witnesses[move.name]) if move.name in witnesses else None
        if golden is None or not notices(move, golden):
            lacking.append(move)
    if options.search:
        for move in lacking:
            witnesses.pop(move.name, None)
        for move, witness in search(lacking, among_all=True):
            witnesses[move.name] = witness
            print(f"{move.name}: {shlex.join([witness.case, *witness.arguments])}", flush=True)
        keep(witnesses, {name: reason for name, reason in gaps().items() if name in all_moves and name not in witnesses})
        lacking = [move for move in lacking if move.name not in witnesses]
    for move in lacking:
        print(f"no witness: {move.name}: {gaps().get(move.name, 'nobody knows why')}")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
