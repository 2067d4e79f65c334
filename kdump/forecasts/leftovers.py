"""Files that a broker left with another suffix when it stopped: .deleted, .cleaned and .swap.

Kafka: LogLoader.removeTempFilesAndCollectSwapFiles and the passes after it (since 3.0), Log (2.8).
"""

from __future__ import annotations

from kdump.forecasts.directory import CLEANED, DELETED, INDEX_SUFFIXES, SWAP, has_offset, name_of, offset_of
from kdump.forecasts.segment import Segment
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.directory import Directory
    from kdump.forecasts.events import Events
    from kdump.forecasts.settings import Settings
    from kdump.releases.broker_startup import StartRules

__all__ = ["SWAP", "clear", "rename"]

_NO_OFFSET = 0x7FFFFFFFFFFFFFFF
_DELETED_CHECKPOINT = file_name.CHECKPOINT + DELETED


def clear(directory: Directory, rules: StartRules) -> list[str]:
    """Delete useless files. Returns the names of files that wait to be swapped in: logs, or all of them.

    A .swap segment that starts at or above a .cleaned one comes from an unfinished split, and is deleted.
    """
    swaps: list[str] = []
    cleaned: list[str] = []
    for name in directory.names():
        if name.endswith(DELETED) and not (rules.keeps_deleted_checkpoints and name.endswith(_DELETED_CHECKPOINT)):
            directory.delete(name)
        elif name.endswith(CLEANED):
            offset_of(name)
            cleaned.append(name)
        elif name.endswith(SWAP):
            base_name = name.removesuffix(SWAP)
            if rules.swaps_by_renaming:
                swaps.append(name)
            elif base_name.endswith((*INDEX_SUFFIXES, file_name.LOG)):
                _delete_indexes(directory, offset_of(name), "")
                if base_name.endswith(file_name.LOG):
                    swaps.append(name)
    first_cleaned = min(map(offset_of, cleaned), default=_NO_OFFSET)
    kept = []
    for name in swaps:
        if offset_of(name) < first_cleaned:
            kept.append(name)
            continue
        if not rules.swaps_by_renaming:
            _delete_indexes(directory, offset_of(name), SWAP)
        directory.delete(name)
    for name in cleaned:
        directory.delete(name)
    return kept


def _delete_indexes(directory: Directory, base_offset: int, mark: str) -> None:
    for suffix in INDEX_SUFFIXES:
        directory.delete(name_of(base_offset, suffix) + mark)


def rename(directory: Directory, swaps: list[str], settings: Settings, events: Events) -> None:
    """Replace files that cover the same offsets, without reading more of the new files than their last offsets."""
    first, end = _NO_OFFSET, -_NO_OFFSET - 1
    for name in swaps:
        if name.removesuffix(SWAP).endswith(file_name.LOG):
            segment = Segment(directory, offset_of(name), settings, mark=SWAP)
            first = min(first, segment.base_offset)
            end = max(end, segment.next_offset())
    for name in directory.names():
        if not name.endswith(SWAP) and has_offset(name) and first <= offset_of(name) < end:
            directory.delete(name)
            events.tells_of_deletion = True
            if name.endswith(file_name.LOG):
                events.deleted_by_swap.append(offset_of(name))
    for name in directory.names():
        if name.endswith(SWAP):
            directory.rename(name, name.removesuffix(SWAP))
            if name.removesuffix(SWAP).endswith(file_name.LOG):
                events.swapped_in.append(offset_of(name))
