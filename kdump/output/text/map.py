"""Draws the map of a partition: a row for each segment, from left to right by bytes, offsets or time, with a legend."""

from __future__ import annotations

import os

from kdump.checks.wording import counted
from kdump.output.rows.layout import time_text
from kdump.output.text.sizes import size_text
from kdump.output.text.writer import ReportWriter
from kdump.overview.map_rows import (
    BYTES,
    DAMAGED,
    EPOCH,
    FINDING,
    GOES,
    KINDS,
    NOT_EXAMINED,
    OFFSETS,
    READERS,
    SALVAGED,
    SOUND,
    TIME,
    ZERO,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.output.text.style import ReportStyle
    from kdump.overview.map_rows import MapMark, MapSegment, MapSpan
    from kdump.overview.partition_map import PartitionMap

    Extent = tuple[float, float]

_SIGNS = {
    DAMAGED: ("▒", "31", "unreadable"),
    NOT_EXAMINED: ("?", "35", "not examined"),
    SALVAGED: ("▓", "33", "readable, but out of place or in doubt"),
    GOES: ("░", "36", "sound, but a crash now deletes it"),
    ZERO: ("·", "2", "zeros"),
    SOUND: ("█", "32", "sound"),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_READERS_SIGN, _EPOCH_SIGN = "!", "^"
_MOST_ROWS = 24  # of one partition; what is sound beyond is counted
_MOST_NOTES = 8
_LABEL, _TAIL = 15, 11
_MIN_CELLS = 20


def write_maps(maps: Sequence[PartitionMap], axis: str, write: Callable[[str], None], style: ReportStyle) -> None:
    """Draw maps under one another, on one scale: replicas of a partition can be compared."""
    out = ReportWriter(write, style)
    drawing = _Drawing(out, maps, axis)
    for number, made in enumerate(maps):
        if number:
            out.line()
        drawing.draw(made)
    out.line()
    drawing.legend()


class _Drawing:
    """The scale of all maps, and the signs that have occurred."""

    def __init__(self, out: ReportWriter, maps: Sequence[PartitionMap], axis: str) -> None:
        self._out = out
        self._axis = axis
        self._cells = max(out.width - _LABEL - _TAIL - 2, _MIN_CELLS)
        self._kinds: set[str] = set()
        self._letters: dict[str, str] = {}  # by code
        self._messages: dict[str, tuple[int, str]] = {}  # by code: how many, and the first message
        self._has_epochs = self._has_readers = False
        segments = [segment for made in maps for segment in made.segments]
        times = [time for one in segments for time in (one.oldest_timestamp, one.newest_timestamp) if time is not None]
        self._oldest, self._newest = min(times, default=0), max(times, default=0)
        if axis == TIME:
            length = self._newest - self._oldest + 1
        else:
            length = max((one.size if axis == BYTES else _offsets_of(one) for one in segments), default=0)
        self._per_cell = max(length, 1) / self._cells

    def draw(self, made: PartitionMap) -> None:
        out = self._out
        first, end = made.segments[0].base_offset, made.segments[-1].end_offset
        offsets = f"from offset {first:,}" if end is None else f"offsets {first:,} to {end - 1:,}"
        size = size_text(sum(segment.size for segment in made.segments))
        out.wrapped(out.shown(f"{made.path}   {counted(len(made.segments), 'segment')}, {size}, {offsets}; {self._scale()}"))
        odd = [index for index, segment in enumerate(made.segments) if self._is_odd(made, segment)]
        shown = {*odd[: _MOST_ROWS - 4], 0, 1, len(made.segments) - 2, len(made.segments) - 1}
        if len(made.segments) <= _MOST_ROWS:
            shown = set(range(len(made.segments)))
        hidden: list[MapSegment] = []
        for index, segment in enumerate(made.segments):
            if index not in shown:
                hidden.append(segment)
                continue
            self._count_hidden(made, hidden)
            hidden = []
            self._row(made, segment)
        for finding in made.others[:_MOST_NOTES]:
            out.wrapped(out.shown(f"{finding.severity}: {finding.code} {os.path.basename(finding.path)}: {finding.message}"), 2)
        if len(made.others) > _MOST_NOTES:
            out.line(f"  and {len(made.others) - _MOST_NOTES:,} more findings that are not about a log; kdump check lists them")

    def _scale(self) -> str:
        if self._axis == BYTES:
            return f"one cell is {size_text(max(round(self._per_cell), 1))}"
        if self._axis == OFFSETS:
            return f"one cell is {counted(max(round(self._per_cell), 1), 'offset')}"
        return f"{time_text(self._oldest)} to {time_text(self._newest)} UTC"

    def _is_odd(self, made: PartitionMap, segment: MapSegment) -> bool:
        marks = any(mark.role != EPOCH for mark in made.marks[segment.log])
        return bool(segment.notes) or marks or any(span.status != SOUND for span in made.spans[segment.log])

    def _count_hidden(self, made: PartitionMap, hidden: Sequence[MapSegment]) -> None:
        if hidden:
            odd = sum(self._is_odd(made, segment) for segment in hidden)
            what = "sound" if not odd else f"of which {odd:,} are not sound"
            sizes = size_text(sum(segment.size for segment in hidden))
            self._out.line(f"{'...':>{_LABEL - 2}}  {counted(len(hidden), 'segment')}, {what}, {sizes}")

    def _row(self, made: PartitionMap, segment: MapSegment) -> None:
        out, spans = self._out, made.spans[segment.log]
        extents = self._extents(segment, spans)
        kinds: list[str | None] = [None] * self._cells
        for span, (start, end) in zip(spans, extents, strict=True):
            first = min(int(start), self._cells - 1)
            for cell in range(first, max(min(-int(-end // 1), self._cells), first + 1)):
                held = kinds[cell]
                kinds[cell] = span.status if held is None or KINDS.index(span.status) < KINDS.index(held) else held
        self._kinds |= {kind for kind in kinds if kind is not None}
        bar, start = "", 0
        for cell in range(1, self._cells + 1):
            if cell == self._cells or kinds[cell] != kinds[start]:
                kind = kinds[start]
                sign, color, _ = _SIGNS[kind] if kind else (" ", "", "")
                bar += out.colored(sign * (cell - start), color) if kind else sign * (cell - start)
                start = cell
        out.line(f"{segment.base_offset:>{_LABEL - 2},}  {bar} {size_text(segment.size):>{_TAIL - 1}}")
        under = self._under(made.marks[segment.log], spans, extents)
        if under.strip():
            out.line(f"{'':{_LABEL}}{under}")
        for note in segment.notes[:_MOST_NOTES]:
            out.wrapped(out.shown(note), _LABEL)

    def _extents(self, segment: MapSegment, spans: Sequence[MapSpan]) -> list[Extent]:
        """Where each span begins and ends, in cells; what has no offset or time lies where its neighbours end and begin."""
        if self._axis == BYTES:
            return [(span.start / self._per_cell, span.end / self._per_cell) for span in spans]
        is_time = self._axis == TIME
        zero = self._oldest if is_time else segment.base_offset
        known: list[tuple[int, int] | None] = []
        for span in spans:
            low, high = (span.oldest_timestamp, span.newest_timestamp) if is_time else (span.first_offset, span.last_offset)
            known.append(None if low is None or high is None else (low - zero, high + 1 - zero))
        extents: list[Extent] = []
        following: list[int | None] = [None] * len(spans)
        for index in range(len(spans) - 2, -1, -1):
            after = known[index + 1]
            following[index] = following[index + 1] if after is None else after[0]
        end = 0
        for index, one in enumerate(known):
            if one is None:
                until = following[index]
                last = end if is_time else _offsets_of(segment)
                one = end, max(end, last if until is None else until)
            end = max(end, one[1])
            extents.append((max(one[0], 0) / self._per_cell, max(one[1], 0) / self._per_cell))
        return extents

    def _under(self, marks: Sequence[MapMark], spans: Sequence[MapSpan], extents: Sequence[Extent]) -> str:
        """The line below a row: letters of findings, where epochs begin, and where readers wait; findings hide the others."""
        signs = [" "] * self._cells
        ordered = sorted(marks, key=lambda mark: (mark.role == FINDING, mark.role == READERS))
        for mark in ordered:
            at = next((row for row, span in enumerate(spans) if mark.start < max(span.end, span.start + 1)), len(spans) - 1)
            cell = 0
            if spans:
                span, (start, end) = spans[at], extents[at]
                share = (mark.start - span.start) / max(span.end - span.start, 1)
                cell = min(max(int(start + (end - start) * min(max(share, 0.0), 1.0)), 0), self._cells - 1)
            signs[cell] = self._sign(mark)
        self._has_epochs |= _EPOCH_SIGN in signs
        self._has_readers |= any(mark.role == READERS for mark in marks)
        return "".join(signs)

    def _sign(self, mark: MapMark) -> str:
        if mark.role == EPOCH:
            return _EPOCH_SIGN
        count, message = self._messages.get(mark.what, (0, mark.message))
        self._messages[mark.what] = count + 1, message
        if mark.role == READERS:
            return _READERS_SIGN
        if mark.what not in self._letters:
            self._letters[mark.what] = _LETTERS[len(self._letters) % len(_LETTERS)]
        return self._letters[mark.what]

    def legend(self) -> None:
        """What the signs that have occurred mean."""
        out = self._out
        found = [_SIGNS[kind] for kind in reversed(KINDS) if kind in self._kinds]
        signs = [f"{out.colored(sign, color)} {meaning}" for sign, color, meaning in found]
        if self._has_epochs:
            signs.append(f"{_EPOCH_SIGN} a leader epoch begins")
        for line in _packed(signs, out.width):
            out.line(line)
        if self._has_readers:
            for code in ("txn-open", "txn-hanging"):
                if code in self._messages:
                    out.wrapped(out.shown(f"{_READERS_SIGN} {code}: {self._messages[code][1]}"))
        for code, letter in self._letters.items():
            count, message = self._messages[code]
            times = "" if count == 1 else f" ({count:,} times; the first:)"
            out.wrapped(out.shown(f"{letter} {code}{times} {message}"))


def _offsets_of(segment: MapSegment) -> int:
    return max((segment.end_offset or 0) - segment.base_offset, 0)


def _packed(parts: Sequence[str], width: int) -> list[str]:
    """Parts in as few lines as they take; colours take no room."""
    lines: list[str] = []
    room = 0
    for part in parts:
        length = len(part.partition("m")[2].partition("\x1b")[0]) + len(part.rpartition("m")[2]) if "\x1b" in part else len(part)
        if lines and room + 3 + length <= width:
            lines[-1] += f"   {part}"
            room += 3 + length
        else:
            lines.append(part)
            room = length
    return lines
