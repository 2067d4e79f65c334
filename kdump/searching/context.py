"""Records before and after those that match."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kdump.searching.log_search import Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def with_context(parts: Iterable[Found], count: int) -> Iterator[Found]:
    """The same matches, with up to `count` records before and after each; these match nowhere. `parts` have all records."""
    held: deque[tuple[Found, int]] = deque(maxlen=count)  # the last records that are not shown
    after = 0  # records that are still to be shown
    for part in parts:
        hits = dict(zip(part.rows, part.matched, strict=True))
        shown: dict[int, list[str]] = {}
        for row in range(len(part.part.records)):
            if row in hits:
                for earlier, rows in _by_part(held, part, shown):
                    yield Found(earlier.part, earlier.status, rows, [[] for _ in rows])
                held.clear()
                shown[row] = hits[row]
                after = count
            elif after:
                shown[row] = []
                after -= 1
            else:
                held.append((part, row))
        if shown:
            rows = sorted(shown)
            yield Found(part.part, part.status, rows, [shown[row] for row in rows])


def _by_part(held: Iterable[tuple[Found, int]], now: Found, shown: dict[int, list[str]]) -> list[tuple[Found, list[int]]]:
    """The held records of earlier parts; those of the part that is looked at `now` are put into `shown`."""
    earlier: list[tuple[Found, list[int]]] = []
    for part, row in held:
        if part is now:
            shown[row] = []
        elif earlier and earlier[-1][0] is part:
            earlier[-1][1].append(row)
        else:
            earlier.append((part, [row]))
    return earlier
