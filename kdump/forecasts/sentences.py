"""The sentences of a forecast, for `kdump check`, `kdump forecast` and other reports of a start."""

from __future__ import annotations

from kdump.checks.finding import Start
from kdump.checks.wording import as_sentence, counted, number_range, offset_range, ranges_text
from kdump.forecasts.directory import DELETED, name_of
from kdump.forecasts.outcome import DIE, OFFLINE, RESCAN, SPLIT, STRAY
from kdump.forecasts.row import Forecast
from kdump.forecasts.settings import CLEAN
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FAILS, LOSS, TRAP, UNSURE, DAMAGE, TRIMS, SAFE = "fails", "loss", "trap", "unsure", "damage", "trims", "safe"
"""The first word: no start; records are lost; the log ends in the wrong place; it depends; only damage stays; bytes go
that contain nothing intact; nothing happens, and the CRCs of all batches match."""

LOADS = "loads"
"""The word instead of `safe` for a metadata log: the node goes on with replaying its records, which a forecast does not."""

_FROM_WORST = (FAILS, LOSS, TRAP, UNSURE, DAMAGE, TRIMS, LOADS, SAFE)
NOT_REPLAYED = "the records of this metadata log are not replayed: whether the node starts with them is not known"
CLEAN_STOP = "a clean stop"
UNDONE = "What happens to files before that is not undone:"
NO_START = "the broker does not start: "
_STRAY_MARK = "-stray"

_MOST_FILES = 8  # of one start
_MOST_RANGES = 4


def verdict(row: Forecast) -> str:
    """A forecast in one word."""
    if row.outcome in (DIE, OFFLINE):
        return FAILS
    if row.is_safe:
        return DAMAGE if not row.is_sound else LOADS if row.is_of_metadata else SAFE
    if row.lost_records or row.is_set_aside or row.losses_may_be_more:
        return LOSS
    ends_wrong = row.end_differs or _is_short(row)
    if row.is_doubtful and not ends_wrong:
        return UNSURE
    return TRAP if ends_wrong else TRIMS


def rank(row: Forecast) -> tuple[int, bool, int, int]:
    """The worse, the higher: by verdict, then remaining damage, then the size of the loss."""
    stays = row.consumers_stop_at is not None
    return -_FROM_WORST.index(verdict(row)), stays, row.lost_records, max(row.bytes_lost, 0)


def sentences(row: Forecast) -> Iterator[str]:
    """The events of a start, the most important first."""
    words = {row.outcome, *row.also}
    if row.outcome == DIE:
        yield f"The broker does not start ({(row.exception or '').rpartition('.')[2]}): {row.reason}."
    elif row.is_only_unserved:
        yield f"The broker starts, and serves no replica of the log directory, and perhaps not all others: {row.reason}."
    elif row.outcome == OFFLINE:
        yield f"The log directory goes offline, and with it the broker if it has no other: {row.reason}."
    elif row.outcome == STRAY:
        yield _set_aside(row)
    if row.outcome in (DIE, OFFLINE) and (row.segments_gone or row.bytes_lost > 0):
        yield UNDONE
    yield from _segments(row, words)
    yield from _files(row)
    yield from _lost(row)
    if row.outcome not in (DIE, OFFLINE) and row.consumers_stop_at is not None:
        yield _damage_left(row, row.consumers_stop_at)
    if row.end_differs and row.log_end is not None and row.data_end is not None:
        yield _wrong_end(row.log_end, row.data_end)
    elif row.is_too_short and not row.lost_records and row.outcome not in (DIE, OFFLINE):
        yield as_sentence(_short_end(row))
    elif row.is_safe:
        yield _nothing_lost(row)
    if row.is_doubtful:
        yield from map(as_sentence, row.conditions)


def summary(row: Forecast) -> str:
    """A forecast in one line."""
    if row.outcome in (DIE, OFFLINE):
        return f"{'no replica of the log directory is served: ' if row.is_only_unserved else NO_START}{row.reason}"
    if row.outcome == STRAY:
        what = "; nothing was ever written to it" if row.is_safe else ", and its log is not served"
        return f"the directory is marked -stray{what}: {row.reason}"
    if row.end_differs and not row.lost_records and row.log_end is not None and row.data_end is not None:
        return f"the log ends at offset {row.log_end:,}, though its data ends at {row.data_end:,}"
    if _is_short(row) and not row.lost_records:
        return _short_end(row)
    if verdict(row) == UNSURE:
        return f"it depends, and the worse is assumed: {row.conditions[0]}"  # likely ones come first
    start = _scans(row)
    if row.is_safe:
        stays = row.consumers_stop_at
        lossless = f"{start}nothing is lost" + ("" if stays is None else f"; damage stays: consumers stop at offset {stays:,}")
        return f"{lossless}; records are not replayed" if row.is_of_metadata else lossless
    cuts = {**row.events.cut, **row.events.rescan_cuts}
    parts = [f"{_log(base)} is cut at byte {cut.position:,}" for base, cut in cuts.items()]
    if row.segments_gone:
        parts.append(f"{counted(len(row.segments_gone), 'segment')} deleted")
    if row.lost_records:
        offsets = f", {ranges_text('offset', row.lost_offsets, _MOST_RANGES)}" if row.lost_offsets else ""
        parts.append(f"{counted(row.lost_records, 'intact record')} lost{offsets}")
    elif row.losses_may_be_more:
        parts.append("intact records may be lost")
    else:
        parts.append("no intact record is lost")
    return start + "; ".join(parts)


def start_of(row: Forecast) -> Start:
    """The row of a check for a forecast."""
    start = Start.like(row, verdict=verdict(row), message=summary(row))
    start.segments_left = None if row.is_safe else row.segments
    return start


def _scans(row: Forecast) -> str:
    """What is scanned, before what comes of it; empty if nothing is."""
    scanned, rescanned = row.events.scanned, row.events.rescanned
    if scanned:
        return f"scanned from offset {scanned[0]:,} on; "
    if rescanned:
        return f"{counted(len(rescanned), 'segment')} scanned to rebuild the index; "
    return ""


def _segments(row: Forecast, words: set[str]) -> Iterator[str]:
    """The changes to segments."""
    events = row.events
    for base in events.swapped_in:
        yield f"{_log(base)} is put into place, from an unfinished swap."
    for base, cut in events.rescan_cuts.items():
        why = events.rescanned.get(base)
        first = f"{_log(base)} is scanned{f' because {why}' if why else ''}, and cut at byte {cut.position:,}"
        stay = row.segments is None or row.segments[-1][0] > base
        gap = " Later segments stay; a gap in the offsets may remain." if stay else ""
        yield f"{first} ({_bytes_that_go(cut.size)}): {cut.reason}.{gap}"
    sound = [base for base in events.rescanned if base not in events.rescan_cuts]
    if sound and RESCAN in words:
        verb = "is scanned" if len(sound) == 1 else "are scanned"
        yield f"{_logs(sound)} {verb} because {events.rescanned[sound[0]]}; the index is rebuilt."
    split = list(dict.fromkeys(events.split))
    if split and SPLIT in words and row.outcome != DIE:
        whose, verb = ("its", "is split") if len(split) == 1 else ("their", "are split")
        yield f"{_logs(split)} {verb} in place, because {whose} offsets overflow."
    for base, cut in events.cut.items():
        if base in events.wiped:
            yield f"{_log(base)} is emptied, down to byte {cut.position:,}: {events.wiped[base]}."
        else:
            yield f"{_log(base)} is cut at byte {cut.position:,} ({_bytes_that_go(cut.size)}): {cut.reason}."
    if events.deleted_behind_cut:
        gone = events.deleted_behind_cut
        names = _log(gone[0]) if len(gone) == 1 else f"{_log(gone[0])} to {_log(gone[-1])}"
        yield f"All later segments are deleted: {counted(len(gone), 'segment')}, {names}."
    if events.deleted_all:
        count = len(events.deleted_all)
        yield f"{'The only segment is' if count == 1 else f'All {count:,} segments are'} deleted: {row.reason}."


def _files(row: Forecast) -> Iterator[str]:
    """Deleted files, except those of segments reported above."""
    is_told = row.events.cut or row.events.split or row.events.deleted_all
    gone = [
        str(change["name"])
        for change in row.files
        if change["change"] == "deleted" or not is_told and str(change["newName"]).endswith(DELETED)
    ]
    if gone:
        more = f" and {len(gone) - _MOST_FILES:,} more" if len(gone) > _MOST_FILES else ""
        yield f"Deleted: {', '.join(gone[:_MOST_FILES])}{more}."


def _lost(row: Forecast) -> Iterator[str]:
    if row.lost_records or row.lost_offsets:
        ranges = [number_range("offset", first, last) for first, last in row.lost_offsets[:_MOST_RANGES]]
        if len(row.lost_offsets) > _MOST_RANGES:
            ranges.append(counted(len(row.lost_offsets) - _MOST_RANGES, "more range"))
        offsets = f", {', '.join(ranges)}" if ranges else ", whose offsets other batches also have"
        yield f"Lost for good: {counted(row.lost_records, 'intact record')}{offsets}, {counted(max(row.bytes_lost, 0), 'byte')}."
    elif row.bytes_lost > 0 and not row.losses_may_be_more:
        yield f"{_bytes_that_go(row.bytes_lost)}; no intact record is among them."
    if row.losses_may_be_more:
        yield (
            f"{_bytes_that_go(row.bytes_lost)}. Too many of them look like headers of batches and are none, so the search among "
            "them was cut short: more intact records may be lost."
        )


def _bytes_that_go(size: int) -> str:
    return f"{counted(size, 'byte')} {'goes' if size == 1 else 'go'}"


def _wrong_end(log_end: int, data_end: int) -> str:
    if log_end < data_end:
        taken = offset_range(log_end, data_end - 1)
        trap = f"The log ends at offset {log_end:,}, though there is data up to {data_end - 1:,}"
        return f"{trap}: new records get {taken} a second time, and the old records there can no longer be fetched reliably."
    return f"The log ends at offset {log_end:,}, after its data, which ends at {data_end:,}."


def _is_short(row: Forecast) -> bool:
    """Whether records were lost before the start; what it cuts off itself may be those."""
    return row.is_too_short and row.bytes_lost <= 0


def _short_end(row: Forecast) -> str:
    """What is known of records that were lost before the start."""
    assert row.known_end is not None
    how = "ends" if row.segments_before else "starts over"
    end, last = row.intact_end, row.known_end.offset - 1
    gone = "its old offsets go"
    if end <= last:
        gone = f"{offset_range(end, last)}, now in no intact batch here, {'go' if end < last else 'goes'}"
    return f"the log {how} at offset {row.log_end or 0:,}, but {row.known_end.words}: {gone} to new records a second time"


def _set_aside(row: Forecast) -> str:
    """The action of a KRaft broker on a partition that is not one of its replicas."""
    what = "The broker renames the directory to -stray and does not serve it; if the partition is its own, it starts out empty"
    return f"{what}: {row.reason}."


def _nothing_lost(row: Forecast) -> str:
    if row.outcome == STRAY:
        return "Nothing is lost: nothing was ever written to it."
    if row.log_end is None and row.path.endswith(_STRAY_MARK):
        return "Nothing is lost; a broker set the directory aside, and does not serve its log."
    if row.log_end is None:
        return "Nothing is lost; the directory is waiting to be deleted."
    scanned = row.events.scanned
    if not scanned:
        how = "Nothing else is scanned" if row.events.rescanned else "Nothing is scanned"
    else:
        how = f"{counted(len(scanned), 'segment is', 'segments are')} scanned, from offset {scanned[0]:,} on"
    return f"{how}, nothing is lost; the log goes from offset {row.log_start:,} to {row.log_end:,}."


def _damage_left(row: Forecast, offset: int) -> str:
    """The parts that a start does not change."""
    what = counted(row.damaged_batches, "damaged batch stays", "damaged batches stay")
    return f"{what if row.damaged_batches else 'Bytes that are not a batch stay'}: consumers stop at offset {offset:,}."


def stop(rows: list[Forecast]) -> str:
    """The stop before one start, or before several identical ones."""
    first = rows[0]
    named = "a crash, whatever was flushed" if len({row.recovery_point for row in rows}) > 1 else one_stop(first)
    return f"{named} (no checkpoint here)" if first.after != CLEAN and first.recovery_point_is_assumed else named


def one_stop(start: Forecast | Start) -> str:
    """The stop before one start, in a few words."""
    if start.after == CLEAN:
        return CLEAN_STOP
    if not start.recovery_point:
        return "a crash with nothing flushed"
    flushed = "all" if start.recovery_point_is_assumed else f"all below offset {start.recovery_point:,}"
    return f"a crash with {flushed} flushed"


def _logs(base_offsets: list[int]) -> str:
    """The names of the first three logs."""
    return ", ".join(map(_log, base_offsets[:3])) + (", ..." if len(base_offsets) > 3 else "")


def _log(base_offset: int) -> str:
    return name_of(base_offset, file_name.LOG)
