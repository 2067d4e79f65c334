"""Describes what a start of the log manager did to a partition directory: the fields of a record.

    outcome, also          keywords, below: the first that applies, and the others
    bytes_lost             size of all `.log` files before minus after; negative when a `.swap` segment came in
    end_differs            true: `log_end` is not `data_end`
    result                 `loaded`, `offline` (the log directory failed) or `exception` (loading threw)
    exception, message, cause
                           what was thrown
    segments_before        pairs of base offset and size, from the files
    log_start, log_end, segments
                           as the loaded log tells them; `segments` is "same" when they are as before
    files                  each file that is not as before: name, what happened, new name, size before, while open, and after the
                           proper close; a name that another file has taken stands there for both
    segments_gone          `.log` files that are not there any more
    data_end               after the last intact batch of the newest segment afterwards; its base offset if it has none
    lost_batches, lost_records, lost_offsets
                           of the batches with a correct CRC before, even after damage, those that no segment holds afterwards;
                           offsets that another batch covers do not count
    log                    lines of the log: level, class, message; routine is left out

What is empty is left out. An index of 10485760 or 10485756 bytes while open is preallocated.

    die        loading threw: the broker process ends
    offline    the log directory was taken offline
    wipe       a segment was emptied, for its offsets do not fit its index
    cut        a segment was cut at a bad batch, and later ones deleted
    split      a segment with offsets too far from its base was split; with `die`, could not be
    rescan     a segment was scanned because its index is missing or damaged, not because of the recovery point
    delete     files other than snapshots are gone, or carry `.deleted`
    keep       nothing of this
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.oracle import batches

LOG_NAME = re.compile(r"[0-9]+\.log")
SEGMENT_NAME = re.compile(r"[0-9]{20}\.log")
MAX_LINES = 16
MAX_LINE_SIZE = 600

# Log messages, and the outcome that each indicates.
WORDS = (
    ("wipe", re.compile(r"Found invalid offset during recovery")),
    ("cut", re.compile(r"Corruption found in segment ")),
    ("split", re.compile(r"Caught segment overflow error|Splitting overflowed segment")),
    ("rescan", re.compile(r"Could not find offset index file|Found a corrupted index file")),
    ("delete", re.compile(r"Deleting all segments|that is compacted but has not been deleted yet")),
)
OUTCOMES = ("die", "offline", "wipe", "cut", "split", "rescan", "delete", "keep")
# Messages of every start, which are dropped; the rest of the log is kept.
ROUTINE = re.compile(
    r"Registered .?kafka:type|No meta.properties file found|Loading logs from|Loaded \d+ logs in|Completed load of"
    r"|Error while loading logs in|Recovering \d+ logs from|Skipping recovery of \d+ logs|Attempting recovery for all logs"
    r"|Recovering unflushed segment|Loading producer state (till|from)|Reloading from producer snapshot"
    r"|Producer state recovery took|(Wrote|Writing|Deleted) producer (state )?snapshot"
)

Changes = list[list[Any]]


class Facts(NamedTuple):
    """The evidence about one start: the partition's files by name, the sizes while open, and the report of the JVM.

    `places` says where each file from before is now, by the file itself and not by what is in it; those that are gone are absent.
    """

    before: Mapping[str, bytes]
    opened: Mapping[str, int]
    after: Mapping[str, bytes]
    places: Mapping[str, str]
    intact: Sequence[batches.Batch]
    told: Mapping[str, Any]


def record(facts: Facts) -> dict[str, Any]:
    """The fields of a record that describe the events."""
    thrown = facts.told["thrown"]
    log = facts.told["logs"][0] if facts.told["logs"] else None
    result = "exception" if thrown else "offline" if facts.told["offline"] else "loaded"
    segments = _segments(facts.before)
    lines = [_line(*line) for line in facts.told["lines"]]
    words = _outcomes(result, lines, facts.before, facts.after)
    data_end = _data_end(facts.after)
    row: dict[str, Any] = {
        "outcome": words[0],
        "also": words[1:],
        "bytes_lost": _log_bytes(facts.before) - _log_bytes(facts.after),
        "end_differs": log is not None and log["end"] != data_end,
        "result": result,
        **(_thrown(thrown) if thrown else {}),
        "segments_before": segments,
        **(_loaded(log, segments) if log else {}),
        "files": _changes(facts),
        "segments_gone": sorted(name for name in facts.before if LOG_NAME.fullmatch(name) and name not in facts.after),
        "data_end": data_end,
        **_lost(facts),
        "log": [line for line in lines if not ROUTINE.match(line.partition(": ")[2])][:MAX_LINES],
    }
    return {name: value for name, value in row.items() if value or type(value) is int}  # a zero says something


def _thrown(thrown: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "exception": thrown["class"],
        "message": "null" if thrown["message"] is None else _steady(thrown["message"]),
        "cause": _steady(thrown["cause"] or ""),
    }


def _loaded(log: Mapping[str, Any], segments_before: list[list[int]]) -> dict[str, Any]:
    return {
        "log_start": log["start"],
        "log_end": log["end"],
        "segments": "same" if log["segments"] == segments_before else log["segments"],
    }


def _outcomes(result: str, lines: Sequence[str], before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """The keywords that apply, the outcome first, derived from file names and contents."""
    words = {word for word, pattern in WORDS if any(map(pattern.search, lines))}
    if result != "loaded":
        words.add("die" if result == "exception" else "offline")
    if not words & {"wipe", "cut", "split"} and any(_is_cut(name, data, after) for name, data in before.items()):
        words.add("rescan")
    if any(_is_index_made(name, before) for name in after):
        words.add("rescan")
    if any(_is_gone(name, before, after) for name in before):
        words.add("delete")
    return [word for word in OUTCOMES if word in words] or ["keep"]


def _is_index_made(name: str, before: Mapping[str, bytes]) -> bool:
    """Whether an index of an existing segment is new; one that lost its `.swap` is not."""
    return (
        name.endswith(".index")
        and name not in before
        and name + ".swap" not in before
        and name.removesuffix("index") + "log" in before
    )


def _is_cut(name: str, data: bytes, after: Mapping[str, bytes]) -> bool:
    return name.endswith(".log") and name in after and after[name] != data and data.startswith(after[name])


def _is_gone(name: str, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> bool:
    """Whether a file is gone or carries `.deleted`; one that lost its `.swap` does not count, nor a snapshot."""
    if name in after or name.endswith(".snapshot"):
        return False
    place = name.removesuffix(".swap")
    return place == name or place in before or place not in after


def _changes(facts: Facts) -> Changes:
    """Each changed file. A file replaced under the same name was rewritten, or not changed at all."""
    before, after, places = facts.before, facts.after, facts.places
    moved = {place for name, place in places.items() if place != name}
    changes: Changes = []

    def note(name: str, kind: str, new_name: str | None = None) -> None:
        old, place = before.get(name) if kind != "created" else None, new_name or name
        is_there = kind != "deleted"
        sizes = [facts.opened.get(place), len(after[place])] if is_there else [None, None]
        changes.append([name, kind, new_name, None if old is None else len(old), *sizes])

    for name in sorted({*before, *after}):
        place = places.get(name)
        if place is not None and place != name:
            note(name, "renamed", place)
        elif name in before and (name not in after or name in moved):
            note(name, "deleted")
        elif name in before and before[name] != after[name]:
            note(name, _change(name, before[name], after[name]))
        if name in after and name not in moved and (name not in before or place not in (None, name)):
            note(name, "created")
    return changes


def _change(name: str, old: bytes, new: bytes) -> str:
    if name.endswith("index") and old.rstrip(b"\0") == new.rstrip(b"\0"):
        return "trimmed"
    if old.startswith(new):
        return "truncated"
    return "extended" if new.startswith(old) else "rewritten"


def _lost(facts: Facts) -> dict[str, Any]:
    """Intact batches that no segment contains afterwards; duplicates are counted by copy."""
    kept = [batch for name, data in facts.after.items() if SEGMENT_NAME.fullmatch(name) for batch in batches.intact(data)]
    left = Counter(batch.content for batch in kept)
    lost = []
    for batch in facts.intact:
        if left[batch.content]:
            left[batch.content] -= 1
        else:
            lost.append(batch)
    if not lost:
        return {}
    held = [(batch.first_offset, batch.last_offset) for batch in kept]
    return {
        "lost_batches": len(lost),
        "lost_records": sum(batch.record_count for batch in lost),
        "lost_offsets": _ranges((batch.first_offset, batch.last_offset) for batch in lost if not _is_held(batch, held)),
    }


def _is_held(batch: batches.Batch, held: Iterable[tuple[int, int]]) -> bool:
    return any(first <= batch.first_offset and batch.last_offset <= last for first, last in held)


def _ranges(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for first, last in sorted(pairs):
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1][1] = max(ranges[-1][1], last)
        else:
            ranges.append([first, last])
    return ranges


def _data_end(files: Mapping[str, bytes]) -> int:
    """The offset after the last intact batch of the newest segment; its base offset if it has none."""
    name = max(filter(SEGMENT_NAME.fullmatch, files), default=None)
    if name is None:
        return 0
    found = list(batches.intact(files[name]))
    return found[-1].last_offset + 1 if found else int(name.removesuffix(".log"))


def _segments(files: Mapping[str, bytes]) -> list[list[int]]:
    return [[int(name.removesuffix(".log")), len(files[name])] for name in sorted(files) if LOG_NAME.fullmatch(name)]


def _log_bytes(files: Mapping[str, bytes]) -> int:
    return sum(len(data) for name, data in files.items() if LOG_NAME.fullmatch(name))


def intact_batches(files: Mapping[str, bytes]) -> Iterator[batches.Batch]:
    for name in sorted(files):
        if LOG_NAME.fullmatch(name):
            yield from batches.intact(files[name])


def _line(level: str, logger: str, message: str, thrown: str | None) -> str:
    """A line of the log: level, class and message, without values that differ in each run."""
    message = re.sub(r"^\[\w+ [^\]]*\] ", "", message)
    name = re.sub(r".*\.", "", logger)
    line = _steady(f"{level} {name}: {message}" + (f" | {thrown}" if thrown else ""))
    return line if len(line) <= MAX_LINE_SIZE else line[:MAX_LINE_SIZE] + "..."


def _steady(text: str) -> str:
    return re.sub(r"\b\d+ ?ms\b", "N ms", re.sub(r"lastModifiedTime=\d+", "lastModifiedTime=N", text))
