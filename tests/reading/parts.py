"""What the items of a walk say, so that walks can be compared whatever their items are, and walks whose items can be chosen."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from kdump.binary import kernel
from kdump.binary.source import Source
from kdump.reading import salvage
from kdump.reading.items import Damage, Patches, Section
from kdump.reading.salvage import walk_patches
from kdump.reading.tuning import ReadTuning

_SMALL = ReadTuning(near_bytes=1000)  # of the end of a log, which the kernel in C leaves to the reference


def enough(count: int = 200) -> int:
    """So many batches, of which the kernel in C puts many together in a walk `in_patches`; fewer for the reference."""
    return count if kernel.native is not None else count // 5


@contextlib.contextmanager
def in_patches(*, together: bool) -> Iterator[None]:
    """Batches come together in all walks if the caller lets them, or never."""

    def walk(source: Source, start: int, gathers: Callable[[], bool], **others: Any) -> Iterator[Section | Damage | Patches]:
        return walk_patches(source, start, gathers if together else lambda: False, **{"tuning": _SMALL, **others})

    with mock.patch.object(salvage, "walk_patches", walk):
        yield


def parts_of(item: Section | Damage | Patches) -> Iterator[tuple[object, ...]]:
    """What an item says of each batch and each damaged range."""
    if isinstance(item, Damage):
        yield tuple(getattr(item, name) for name in Damage.__slots__ if name != "row"), repr(item.row)
        return
    section = item.section if isinstance(item, Patches) else item
    chunk = section.chunk
    rows = []
    for row, (start, size) in enumerate(zip(chunk.starts, chunk.batches["size"], strict=True)):
        data = chunk.window[start : start + size]
        of_walk = section.statuses[row], section.is_nested(row), section.claimed_lengths.get(row)
        rows.append((repr(chunk.batches.row(row)), chunk.headers[row], data, *of_walk))
    if isinstance(item, Section):
        yield from rows
        return
    for places, damage in item.steps():
        yield from [rows[row] for row in places]
        if damage is not None:
            yield from parts_of(damage)
