"""Which damaged ranges among batches may contain rows of the offsets that are asked for."""

from __future__ import annotations

from kdump.reading.items import DAMAGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.listing.request import Request
    from kdump.reading.items import Patches


def asked_for(patches: Patches, request: Request, last_offset: int) -> tuple[int, list[int]]:
    """How many of them may, and the numbers of those of which only the next intact batch shows that.

    `last_offset` is that of the last intact batch before all of them.
    """
    start, end = request.from_offset, request.to_offset
    if start is None and end is None:
        return len(patches.damages), []
    section = patches.section
    batches = section.chunk.batches
    firsts, lasts = batches["last_offset" if section.chunk.is_legacy else "base_offset"], batches["last_offset"]
    intact = [row for row, status in enumerate(section.statuses) if status != DAMAGED]
    counted, waiting = 0, []
    passed = 0  # of the intact batches
    for number, count in enumerate(patches.counts):
        while passed < len(intact) and intact[passed] < count:
            last_offset = lasts[intact[passed]]
            passed += 1
        if end is not None and last_offset >= end:
            continue
        if start is not None and passed == len(intact):
            waiting.append(number)
        elif start is None or firsts[intact[passed]] > start:
            counted += 1
    return counted, waiting
