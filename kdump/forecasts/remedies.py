"""Changes to a directory before a start that reduce the loss. Each suggestion is tried on the model first."""

from __future__ import annotations

from kdump.forecasts.directory import has_offset, name_of
from kdump.forecasts.outcome import DIE, OFFLINE
from kdump.forecasts.row import Change, Forecast, Remedy
from kdump.formats import file_name, text_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.forecasts.directory import Directory

_MOST_SEGMENTS = 3


def best(row: Forecast, directory: Directory, start: Callable[[Change], Forecast]) -> Remedy | None:
    """The remedy that helps most; None if none helps. `start` simulates a start after a change."""
    found: Remedy | None = None
    for change in _candidates(row, directory):
        then = start(change)
        if badness(then) < badness(row if found is None else found.then):
            found = Remedy(change, then)
        if then.is_safe:
            break
    return found


def badness(row: Forecast) -> tuple[bool, int, int, bool]:
    """The worse, the higher. The end of a log counts last, because nothing is lost yet."""
    return row.outcome in (DIE, OFFLINE), row.lost_records, max(row.bytes_lost, 0), row.end_differs


def _candidates(row: Forecast, directory: Directory) -> Iterator[Change]:
    """Changes that may help, the most likely first."""
    names = directory.before
    misnamed = [name for name in sorted(names) if name.endswith(file_name.SEGMENT_SUFFIXES) and not has_offset(name)]
    if misnamed:
        yield Change(taken=misnamed)
    reason = row.reason or ""
    if text_checkpoint.LEADER_EPOCHS in reason:
        yield Change(taken=[text_checkpoint.LEADER_EPOCHS])
    if "transaction index" in reason:
        yield Change(taken=[name for name in sorted(names) if name.endswith(file_name.TRANSACTION_INDEX)])
    events = row.events
    if events.deleted_all:
        yield Change(is_without_log_start=True)
    # A broker scans a segment whose offset index is missing, but not if the index exists, even if it is empty.
    missing = [name_of(base, file_name.OFFSET_INDEX) for base in events.rescan_cuts]
    if missing:
        yield Change(made_empty=missing)
    bases = sorted(int(file_name.stem(name)) for name in names if name.endswith(file_name.LOG) and file_name.stem(name).isdigit())
    for base in dict.fromkeys([*events.cut, *events.wiped, *bases[-1:]][-_MOST_SEGMENTS:]):
        index = name_of(base, file_name.OFFSET_INDEX)
        if index in names:
            yield Change(taken=[index])
