"""Finds which of several runs of batches are in order, where some contradict others: those that are the most."""

from __future__ import annotations

from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def rows_in_order(runs: Iterable[tuple[int, int, int]]) -> list[int]:
    """The rows of the runs whose offsets ascend and that have the largest sum of sizes.

    Each run has its first and last offset and its size; they are in the order of the file.
    """
    runs = list(runs)
    lasts = sorted({last for _, last, _ in runs})
    tree: list[tuple[int, int]] = [(0, -1)] * (len(lasts) + 1)  # the largest sum of runs that end up to an offset, and the last
    before: list[int] = []
    for row, (first, last, size) in enumerate(runs):
        most, previous = _most(tree, bisect_left(lasts, first))
        before.append(previous)
        found, at = (most + size, row), bisect_left(lasts, last) + 1
        while at < len(tree):
            if tree[at][0] < found[0]:
                tree[at] = found
            at += at & -at
    rows: list[int] = []
    row = _most(tree, len(lasts))[1]
    while row >= 0:
        rows.append(row)
        row = before[row]
    return rows[::-1]


def _most(tree: Sequence[tuple[int, int]], count: int) -> tuple[int, int]:
    """The highest of the first `count` values of a binary indexed tree."""
    found = tree[0]
    while count:
        if found[0] < tree[count][0]:
            found = tree[count]
        count -= count & -count
    return found
