"""What the items of a walk say, so that walks can be compared whatever their items are."""

from collections.abc import Iterator

from kdump.reading.items import Damage, Patches, Section


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
        claimed = section.claimed_lengths.get(row)
        rows.append(
            (repr(chunk.batches.row(row)), chunk.headers[row], data, section.statuses[row], section.is_nested(row), claimed)
        )
    if isinstance(item, Section):
        yield from rows
        return
    for places, damage in item.steps():
        yield from [rows[row] for row in places]
        if damage is not None:
            yield from parts_of(damage)
