"""The map of a partition: what each part of each segment is, and what is at which place in it."""

from __future__ import annotations

import os
from bisect import bisect_right

from kdump.binary import system
from kdump.binary.source import Source
from kdump.checks.finding import Finding
from kdump.checks.settings import DEFAULT_LEVEL
from kdump.errors import CorruptData, KdumpError, Unreadable
from kdump.forecasts.settings import UNCLEAN
from kdump.formats import entries, file_name, foreign, offset_index, tree
from kdump.overview.map_rows import (
    DAMAGED,
    EPOCH,
    FINDING,
    GOES,
    KINDS,
    NOT_EXAMINED,
    READERS,
    SALVAGED,
    SOUND,
    ZERO,
    MapMark,
    MapSegment,
    MapSpan,
)
from kdump.overview.producers import Producers
from kdump.reading.items import Damage
from kdump.reading.salvage import walk
from kdump.verdicts.check import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.checks.finding import Start
    from kdump.reading.salvage import Section
    from kdump.tables import Row
    from kdump.verdicts.report import Report

_PARTS = 64  # of a section that is sound, so that times and offsets within it are seen
_LONG_SCAN = 1 << 20  # bytes without an entry of the index, more than brokers leave
_MOST_SPANS = 20_000  # of a segment; neighbours of one kind become one span beyond
_NO_LOGS = (file_name.OFFSET_INDEX, file_name.TIME_INDEX, file_name.TRANSACTION_INDEX, file_name.PRODUCER_SNAPSHOT)
_OPEN = ("txn-open", "txn-hanging")
_STATUSES = {"intact": SOUND, "salvaged": SALVAGED, "damaged": DAMAGED, "zero": ZERO, "not_examined": NOT_EXAMINED}


class PartitionMap:
    """The segments of a partition or a log, with spans and marks by the path of the log, and findings that are about no log."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.segments: list[MapSegment] = []
        self.spans: dict[str, list[MapSpan]] = {}
        self.marks: dict[str, list[MapMark]] = {}
        self.others: list[Finding] = []
        self.producers = Producers(path)
        self.report: Report | None = None

    @property
    def findings(self) -> Sequence[Finding]:
        """Those of the check."""
        return () if self.report is None else self.report.findings

    @property
    def exit_code(self) -> int:
        """That of the check that the map is made of."""
        return 0 if self.report is None else self.report.exit_code

    def rows(self) -> Iterator[Row]:
        """All rows: each segment, its spans, its marks."""
        for segment in self.segments:
            yield segment
            yield from self.spans[segment.log]
            yield from self.marks[segment.log]
        yield from self.producers.producers.values()
        yield from self.producers.runs


def partition_map(path: str | os.PathLike[str], *, level: str = DEFAULT_LEVEL) -> PartitionMap:
    """The map of a partition directory or a log. `level` is that of the check whose findings are marked.

    Damage raises nothing. Raises Unreadable for a path without logs, and UsageError for another level.
    """
    _logs_of(os.fspath(path))  # a path without logs is not even checked
    return map_of(check(path, level=level))


def map_of(report: Report) -> PartitionMap:
    """The map of what was checked already. Raises Unreadable for a path without logs."""
    made = PartitionMap(report.path)
    made.report = report
    logs = _logs_of(made.path)
    cuts = _cuts(report.starts, logs)
    notes = _take_findings(made, logs)
    epoch: int | None = None
    for number, (base, log) in enumerate(logs):
        next_base = logs[number + 1][0] if number + 1 < len(logs) else None
        epoch = _add_segment(made, base, log, next_base, cuts.get(base), notes[base], epoch)
    for finding in made.findings:
        if finding.path in made.marks:
            made.marks[finding.path].append(_mark(finding))
    return made


def _logs_of(path: str) -> list[tuple[int, str]]:
    """The base offsets and paths of the logs."""
    if not system.is_directory(path):
        if file_name.suffix(path) in _NO_LOGS:
            raise Unreadable("not-a-segment", "a map is of a log or a partition, not of what is beside a log", path=path)
        return [(tree.base_offset_of(os.path.basename(path)) or 0, path)]
    files = tree.PartitionFiles(path)
    if not files.logs:
        foreign.require_kafka_directory(path)
        raise Unreadable("file-missing", "no segment (.log) is in this directory", path=path)
    return [(base, os.path.join(path, files.log_name(base))) for base in files.logs]


def _cuts(starts: Sequence[Start], logs: Sequence[tuple[int, str]]) -> dict[int, int]:
    """By base offset, the byte from which on the worst start after a crash deletes a log; 0 for logs that are gone."""
    after_crash = (start for start in starts if start.after == UNCLEAN)
    worst = max(after_crash, key=lambda start: (start.bytes_lost, start.lost_records), default=None)
    if worst is None or worst.segments_left is None:
        return {}
    left = {segment[0]: segment[1] for segment in worst.segments_left}
    return {base: left.get(base, 0) for base, _ in logs}


def _take_findings(made: PartitionMap, logs: Sequence[tuple[int, str]]) -> dict[int, list[str]]:
    """Notes for segments, of findings in their companions; what is about neither goes to `others`."""
    notes: dict[int, dict[str, None]] = {base: {} for base, _ in logs}
    paths = {log for _, log in logs}
    for finding in made.findings:
        base = tree.base_offset_of(os.path.basename(finding.path))
        if finding.path in paths:
            continue
        if base is None or base not in notes:
            made.others.append(finding)
        else:
            notes[base][f"{finding.file_type}: {finding.code}"] = None
    return {base: list(of_segment) for base, of_segment in notes.items()}


def _mark(finding: Finding) -> MapMark:
    kind = READERS if finding.code in _OPEN else FINDING
    return MapMark(finding.path, kind, finding.code, finding.start, finding.end, finding.offset_first, finding.message)


def _add_segment(
    made: PartitionMap, base: int, log: str, next_base: int | None, cut: int | None, notes: list[str], last_epoch: int | None
) -> int | None:
    """Add a segment; `last_epoch` is that of the batches before it. Returns that of its last batch."""
    spans: list[MapSpan] = []
    marks: list[MapMark] = []
    batches = size = 0
    try:
        with Source(log) as source:
            size = source.size
            for item in walk(source):
                if isinstance(item, Damage):
                    _take(spans, [MapSpan(log, _STATUSES[item.status], item.start, item.end, None, None, None, None)])
                    continue
                table = item.chunk.batches
                batches += len(table)
                columns = (item.sound[name] for name in ("position", "partition_leader_epoch", "base_offset"))
                for position, epoch, offset in zip(*columns, strict=True):
                    if epoch is not None and epoch >= 0 and epoch != last_epoch:
                        marks.append(MapMark(log, EPOCH, str(epoch), position, position, offset, f"leader epoch {epoch}"))
                        last_epoch = epoch
                _take(spans, _spans_of(log, item, size if cut is None else cut))
                made.producers.take(source, item)
    except (CorruptData, Unreadable) as error:
        notes = [*notes, f"not read: {error.message}"]
        spans.append(MapSpan(log, NOT_EXAMINED, spans[-1].end if spans else 0, max(size, 1), None, None, None, None))
    if cut is not None and cut < size:
        notes = [*notes, "a crash now deletes it" if cut == 0 else f"a crash now cuts it at byte {cut:,}"]
    lasts = [span.last_offset for span in spans if span.last_offset is not None and span.status != SALVAGED]
    end = next_base if next_base is not None else max(lasts) + 1 if lasts else None
    oldest = min((span.oldest_timestamp for span in spans if span.oldest_timestamp is not None), default=None)
    newest = max((span.newest_timestamp for span in spans if span.newest_timestamp is not None), default=None)
    indexed_to = _indexed_to(log, base)
    if indexed_to is not None and size - indexed_to > max(_LONG_SCAN, size // 4):
        notes = [*notes, f"the index leads to byte {indexed_to:,}: what is after it is found by reading"]
    made.segments.append(MapSegment(made.path, log, base, end, size, batches, oldest, newest, indexed_to, notes))
    made.spans[log] = spans
    made.marks[log] = marks
    return last_epoch


def _indexed_to(log: str, base: int) -> int | None:
    """The byte to which the last entry of a log's offset index leads, 0 for an empty one; None if there is none to read."""
    try:
        with Source(f"{log.removesuffix(file_name.LOG)}{file_name.OFFSET_INDEX}") as index:
            used = entries.used_entries(index, offset_index.ENTRY_SIZE)
            if not used:
                return 0
            last = index.read((used - 1) * offset_index.ENTRY_SIZE, offset_index.ENTRY_SIZE)
            position: int = offset_index.table_of(last, base)["position"][0]
            return position
    except KdumpError:
        return None


def _spans_of(log: str, section: Section, cut: int) -> Iterator[MapSpan]:
    """A section of batches in spans of one kind each; what is from the byte `cut` on goes at a start after a crash."""
    table = section.chunk.batches
    positions, sizes, lasts = table["position"], table["size"], table["last_offset"]
    firsts, timestamps = table["base_offset"], table["timestamp"]
    kinds = [_STATUSES[section.status]] * len(positions)
    at_cut = bisect_right(positions, cut - 1)
    kinds = [GOES if row >= at_cut and kind == SOUND else kind for row, kind in enumerate(kinds)]
    longest = max(len(kinds) // _PARTS, 1)
    start = 0
    for row in range(1, len(kinds) + 1):
        if row < len(kinds) and kinds[row] == kinds[start] and row - start < longest:
            continue
        span = MapSpan(log, kinds[start], positions[start], positions[row - 1] + sizes[row - 1], None, None, None, None)
        if span.status != DAMAGED:  # whose header may say anything
            times = [time for time in timestamps[start:row] if time >= 0]
            span.first_offset = lasts[start] if firsts[start] is None else firsts[start]
            span.last_offset = max(lasts[start:row])
            span.oldest_timestamp, span.newest_timestamp = min(times, default=None), max(times, default=None)
        yield span
        start = row


def _take(spans: list[MapSpan], more: Iterator[MapSpan] | list[MapSpan]) -> None:
    """Add spans; if there are very many, neighbours of one kind become one, and then any neighbours, of the kind that hides."""
    spans += more
    if len(spans) <= _MOST_SPANS:
        return
    joined: list[MapSpan] = []
    for number, span in enumerate(spans):
        if joined and (span.status == joined[-1].status or number % 2):
            joined[-1] = _joined(joined[-1], span)
        else:
            joined.append(span)
    spans[:] = joined


def _joined(one: MapSpan, other: MapSpan) -> MapSpan:
    kind = min(one.status, other.status, key=KINDS.index)
    made = MapSpan(one.log, kind, one.start, other.end, None, None, None, None)
    for name, choose in (("first_offset", min), ("last_offset", max), ("oldest_timestamp", min), ("newest_timestamp", max)):
        known = [value for value in (getattr(one, name), getattr(other, name)) if value is not None]
        setattr(made, name, choose(known, default=None))
    return made
