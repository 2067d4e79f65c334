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
    GOES,
    KINDS,
    NOT_EXAMINED,
    OFFSETS,
    READERS,
    SALVAGED,
    SOUND,
    ZERO,
)
from kdump.overview.map_scale import MapScale, drawn_segments, odd_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.checks.finding import Finding
    from kdump.output.text.style import ReportStyle
    from kdump.overview.map_rows import MapMark, MapSegment, MapSpan
    from kdump.overview.map_scale import Extent
    from kdump.overview.partition_map import PartitionMap

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
        self._has_epochs = False
        self._scale = MapScale(maps, axis, self._cells)

    def draw(self, made: PartitionMap) -> None:
        out = self._out
        first, end = made.segments[0].base_offset, made.segments[-1].end_offset
        offsets = f"from offset {first:,}" if end is None else f"offsets {first:,} to {end - 1:,}"
        size = size_text(sum(segment.size for segment in made.segments))
        out.wrapped(out.shown(f"{made.path}   {counted(len(made.segments), 'segment')}, {size}, {offsets}; {self._scale_text()}"))
        shown = drawn_segments(made, _MOST_ROWS)
        hidden: list[MapSegment] = []
        for index, segment in enumerate(made.segments):
            if index not in shown:
                hidden.append(segment)
                continue
            self._count_hidden(made, hidden)
            hidden = []
            self._row(made, segment)
        others: dict[str, list[Finding]] = {}
        for finding in made.others:
            others.setdefault(finding.code, []).append(finding)
        for code, findings in others.items():
            one, more = findings[0], f" ({len(findings):,} times; the first:)" if len(findings) > 1 else ""
            out.wrapped(out.shown(f"{one.severity}: {code}{more} {os.path.basename(one.path)}: {one.message}"), 2)

    def _scale_text(self) -> str:
        if self._axis == BYTES:
            return f"one cell is {size_text(max(round(self._scale.per_cell), 1))}"
        if self._axis == OFFSETS:
            return f"one cell is {counted(max(round(self._scale.per_cell), 1), 'offset')}"
        return f"{time_text(self._scale.oldest)} to {time_text(self._scale.newest)} UTC"

    def _count_hidden(self, made: PartitionMap, hidden: Sequence[MapSegment]) -> None:
        if hidden:
            odd = sum(bool(odd_kinds(made, segment)) for segment in hidden)
            what = "sound" if not odd else f"of which {odd:,} are not sound"
            sizes = size_text(sum(segment.size for segment in hidden))
            self._out.line(f"{'...':>{_LABEL - 2}}  {counted(len(hidden), 'segment')}, {what}, {sizes}")

    def _row(self, made: PartitionMap, segment: MapSegment) -> None:
        out, spans = self._out, made.spans[segment.log]
        extents = self._scale.extents(segment, spans)
        kinds = self._scale.kinds(spans, extents)
        self._kinds |= {kind for kind in kinds if kind is not None}
        bar, start = "", 0
        for cell in range(1, self._cells + 1):
            if cell == self._cells or kinds[cell] != kinds[start]:
                kind = kinds[start]
                sign, color, _ = _SIGNS[kind] if kind else (" ", "", "")
                bar += out.colored(sign * (cell - start), color) if kind else sign * (cell - start)
                start = cell
        out.line(f"{segment.base_offset:>{_LABEL - 2},}  {bar} {size_text(segment.size):>{_TAIL - 1}}")
        for under in self._under(made.marks[segment.log], spans, extents):
            out.line(f"{'':{_LABEL}}{under}")
        for note in segment.notes:
            out.wrapped(out.shown(note), _LABEL)

    def _under(self, marks: Sequence[MapMark], spans: Sequence[MapSpan], extents: Sequence[Extent]) -> list[str]:
        """The lines below a row: letters of findings, where readers wait, where epochs begin. Those of one cell are stacked."""
        ordered = sorted(marks, key=lambda mark: (mark.role == EPOCH, mark.role == READERS))
        lines: list[list[str]] = []
        stacks: dict[int, set[str]] = {}
        for mark in ordered:
            cell = min(int(self._scale.place(mark.start, spans, extents)), self._cells - 1)
            sign, stack = self._sign(mark), stacks.setdefault(cell, set())
            if sign in stack:
                continue
            if len(stack) == len(lines):
                lines.append([" "] * self._cells)
            lines[len(stack)][cell] = sign
            stack.add(sign)
        self._has_epochs |= any(_EPOCH_SIGN in stack for stack in stacks.values())
        return ["".join(line) for line in lines]

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
        signs = [(out.colored(sign, color), meaning) for sign, color, meaning in found]
        if self._has_epochs:
            signs.append((_EPOCH_SIGN, "a leader epoch begins"))
        for line in _packed(signs, out.width):
            out.line(line)
        for code, (_, message) in self._messages.items():
            if code not in self._letters:  # but of readers
                out.wrapped(out.shown(f"{_READERS_SIGN} {code}: {message}"))
        for code, letter in self._letters.items():
            count, message = self._messages[code]
            times = "" if count == 1 else f" ({count:,} times; the first:)"
            out.wrapped(out.shown(f"{letter} {code}{times} {message}"))


def _packed(signs: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Signs of one character, which may be coloured, and their meanings, in as few lines as they take."""
    lines: list[str] = []
    taken = 0
    for sign, meaning in signs:
        length = 2 + len(meaning)
        if lines and taken + 3 + length <= width:
            lines[-1] += f"   {sign} {meaning}"
            taken += 3 + length
        else:
            lines.append(f"{sign} {meaning}")
            taken = length
    return lines
