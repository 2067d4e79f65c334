"""Sorted maps of integers: as a dict, in less memory."""

import random

from kdump.forecasts.sorted_ints import SortedInts
from tests.loops import each


@each("seed", range(6))
@each("span", [50, 3000, 1 << 63])
def test_a_sorted_map_is_as_a_dict(seed: int, span: int) -> None:
    chance = random.Random(seed)
    ours, wanted = SortedInts(), dict[int, int]()
    copies: list[tuple[SortedInts, dict[int, int]]] = []
    for step in range(6000):
        key = step if seed == 0 else chance.randrange(-span, span)
        action = chance.randrange(10)
        if action < 6:
            ours[key] = wanted[key] = chance.randrange(-span, span)
        elif action < 9:
            key = chance.choice([*wanted, key][-50:])
            assert ours.pop(key) == wanted.pop(key, None)
        else:
            assert ours.get(key) == wanted.get(key)
        if step % 1500 == 700:
            copies.append((ours.copy(), dict(wanted)))
        if step == 5000 and seed == 1:
            ours.clear()
            wanted.clear()
        assert bool(ours) == bool(wanted)
        assert ours.first_key == min(wanted, default=None) if step % 50 == 0 else True
    for found, held in [*copies, (ours, wanted)]:
        items = [(first, found.pop(first)) for _ in held if (first := found.first_key) is not None]
        assert items == sorted(held.items())
