"""The effects of a start on a directory, as keywords: the worst one is its outcome."""

from __future__ import annotations

import os

from kdump.forecasts.directory import DELETED, INDEX_SUFFIXES, SWAP, is_log
from kdump.forecasts.exceptions import StorageFailure, UnreadableFile
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.events import Events
    from kdump.forecasts.exceptions import BrokerException
    from kdump.forecasts.loading import Start

DIE, OFFLINE, STRAY, WIPE, CUT, SPLIT = "die", "offline", "stray", "wipe", "cut", "split"
RESCAN, DELETE, KEEP = "rescan", "delete", "keep"
OUTCOMES = (DIE, OFFLINE, STRAY, WIPE, CUT, SPLIT, RESCAN, DELETE, KEEP)
"""From the worst outcome to none."""

_DELETED_SNAPSHOT = file_name.PRODUCER_SNAPSHOT + DELETED


def words_of(start: Start, failure: BrokerException | None) -> list[str]:
    """All keywords that apply, the outcome first."""
    events, directory = start.events, start.directory
    holds = {
        DIE: failure is not None,
        OFFLINE: False,
        WIPE: bool(events.wiped),
        CUT: bool(events.cut),
        SPLIT: bool(events.split),
        RESCAN: events.tells_of_rescan or _is_index_made(start),
        DELETE: events.tells_of_deletion
        or any(_is_gone(start, name) for name in directory.before)
        or any(_is_replaced(start, name) for name in directory.before),
    }
    if isinstance(failure, UnreadableFile) or isinstance(failure, StorageFailure) and start.settings.rules.goes_offline:
        holds[DIE], holds[OFFLINE] = False, True
    if not (holds[WIPE] or holds[CUT] or holds[SPLIT]) and any(_is_cut(start, name) for name in directory.before):
        holds[RESCAN] = True
    return [word for word in OUTCOMES if holds.get(word)] or [KEEP]


def segments_gone(start: Start) -> list[str]:
    """The names of logs that no longer exist."""
    return sorted(name for name in start.directory.before if name.endswith(file_name.LOG) and name not in start.directory.files)


def bytes_lost(start: Start) -> int:
    """The number of bytes by which the logs shrank; negative if files were swapped in."""
    before = sum(size for name, size in start.directory.before.items() if is_log(name))
    return before - sum(file.size for name, file in start.directory.files.items() if is_log(name))


def orphans(start: Start) -> list[str]:
    """The numbers in the names of indexes that are deleted because there is no log of that name, nor one marked as deleted."""
    before = start.directory.before
    gone = (file_name.stem(name) for name in before if name.endswith(INDEX_SUFFIXES) and name not in start.directory.files)
    logs = (file_name.LOG, file_name.LOG + file_name.DELETED)
    return sorted({stem for stem in gone if not any(stem + suffix in before for suffix in logs)})


def changes(start: Start) -> list[dict[str, str | int | None]]:
    """The files that change in name or size: logs, and other files that are deleted. Snapshots and rebuilt indexes are left out.

    Each has a name, an action (created, truncated, deleted, renamed), a new name, and its size before and after. A log
    that is replaced by another file appears twice.
    """
    before, after = start.directory.before, start.directory.files
    places = {os.path.basename(file.path): name for name, file in after.items() if file.path and not file.is_copy}
    found: list[dict[str, str | int | None]] = []

    def note(name: str, change: str, size_before: int | None, size_after: int | None, new_name: str | None = None) -> None:
        sizes = {"sizeBefore": size_before, "sizeAfter": size_after}
        found.append({"name": name, "change": change, "newName": new_name, **sizes})

    for name in sorted({*before, *after}):
        if name.endswith((file_name.PRODUCER_SNAPSHOT, _DELETED_SNAPSHOT)):
            continue
        is_log = name.endswith(file_name.LOG)
        place, file = places.get(name), after.get(name)
        if name.endswith(INDEX_SUFFIXES) and file is not None:
            continue
        is_new = is_log and file is not None and (file.is_copy or not file.path)
        if is_new and place is None and name in before and start.directory.begins_with(name, after[name]):
            place = name  # the first part, or all, of the file from before: treated as that
        if name in before and place != name:
            if place is None:
                note(name, "deleted", before[name], None)
            else:
                moved = after[place]
                note(name, "renamed", before[name], moved.size if moved.made_size is None else moved.made_size, place)
        if is_log and file is not None:
            if place == name and file.size != before[name]:
                note(name, "truncated", before[name], file.size)
            elif place != name and is_new:
                note(name, "created", None, file.size)
    return found


def reason(events: Events) -> str | None:
    """The reason for the changes, in plain words; None if nothing changes."""
    for cut in (*events.cut.values(), *events.rescan_cuts.values()):
        return cut.reason
    for reasons in (events.wiped, events.rescanned):
        for text in reasons.values():
            return text
    if events.deleted_all:
        return "the log ends before its checkpointed log start offset"
    if events.split:
        return "an offset is too far above the base of its segment"
    if events.swapped_in:
        return "a swap was not finished"
    return None


def _is_index_made(start: Start) -> bool:
    """Whether an existing segment without an offset index got one that was not swapped in."""
    before = start.directory.before
    return any(
        name.endswith(file_name.OFFSET_INDEX)
        and name not in before
        and name + SWAP not in before
        and name.removesuffix(file_name.OFFSET_INDEX) + file_name.LOG in before
        for name in start.directory.files
    )


def _is_cut(start: Start, name: str) -> bool:
    """Whether the first part of a log remains; a replacement may be exactly that part."""
    file = start.directory.files.get(name)
    if not name.endswith(file_name.LOG) or file is None or file.size >= start.directory.before.get(name, 0):
        return False
    return file.is_named(name) or start.directory.begins_with(name, file)


def _is_replaced(start: Start, name: str) -> bool:
    """Whether a log is marked as deleted and another file has its name."""
    file = start.directory.files.get(name)
    if not name.endswith(file_name.LOG) or file is None or name + DELETED not in start.directory.files:
        return False
    return not file.is_named(name) and not start.directory.begins_with(name, file)


def _is_gone(start: Start, name: str) -> bool:
    """Whether a file is gone, and was not renamed to a free name."""
    before, after = start.directory.before, start.directory.files
    if name.endswith(file_name.PRODUCER_SNAPSHOT) or name in after:
        return False
    place = name.removesuffix(SWAP)
    return place == name or place in before or place not in after
