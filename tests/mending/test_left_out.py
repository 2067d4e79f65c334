"""What was left out of a recovered log is found between its pieces, as a look at each of them finds it."""

import random
from types import SimpleNamespace
from typing import Any

from kdump.mending.recover.left_out import Losses
from kdump.mending.recover.pieces import LeftOut
from tests.loops import each

BASES = {f"{base:020}.log": base for base in (0, 20, 40)}
LOGS = [SimpleNamespace(path=path) for path in BASES]


def _lies_between(left: LeftOut, before: Any, after: Any) -> bool:
    is_same = before.log is after.log
    if is_same and before.end > after.start and left.path == before.log.path:  # one of the two was in the wrong place
        return True
    if left.path == before.log.path and left.start >= before.end and (not is_same or left.end <= after.start):
        return True
    if left.path == after.log.path and left.end <= after.start and not is_same:
        return True
    if left.path not in (before.log.path, after.log.path) and before.last < BASES[left.path] < after.first:
        return True
    return left.first is not None and left.last is not None and before.last < left.last and left.first < after.first


def _piece(chance: random.Random, offset: int) -> Any:
    start = chance.randrange(100)
    return SimpleNamespace(log=chance.choice(LOGS), start=start, end=start + 10, first=offset, last=offset + chance.randrange(5))


@each("seed", range(30))
def test_it_is_found_by_place_and_by_offset(seed: int) -> None:
    chance = random.Random(seed)
    left_out = []
    for _ in range(chance.randrange(6)):
        start, first = chance.randrange(100), chance.choice((None, chance.randrange(50)))
        last = None if first is None else first + chance.randrange(5)
        path = chance.choice(list(BASES))
        left_out.append(LeftOut(path, start, start + chance.randrange(1, 20), "code", "reason", first=first, last=last))
    losses = Losses(left_out)
    for _ in range(60):
        before, after = _piece(chance, chance.randrange(50)), _piece(chance, chance.randrange(50))
        assert losses.are_between(before, after) == any(_lies_between(left, before, after) for left in left_out)
