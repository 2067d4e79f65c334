"""Drawings of a page, as SVG: maps of partitions, charts that are readable without a script, bars in tables."""

from __future__ import annotations

import json

from kdump.output.html.elements import Html, element, joined, shown
from kdump.output.rows.layout import time_text
from kdump.output.text.sizes import size_text
from kdump.overview.map_rows import BYTES, DAMAGED, EPOCH, GOES, KINDS, NOT_EXAMINED, OFFSETS, SALVAGED, SOUND, TIME, ZERO
from kdump.overview.map_scale import MapScale, drawn_segments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kdump.overview.map_rows import MapMark, MapSegment
    from kdump.overview.map_scale import Extent
    from kdump.overview.partition_map import PartitionMap

MEANINGS = {
    DAMAGED: "unreadable",
    NOT_EXAMINED: "not examined",
    SALVAGED: "readable, but out of place or in doubt",
    GOES: "sound, but a crash now deletes it",
    ZERO: "zeros",
    SOUND: "sound",
}
MOST_ROWS = 24  # segments of a partition that are drawn
AXIS_NAMES = {BYTES: "bytes", OFFSETS: "offsets", TIME: "time"}
_CELLS = 600
_MOST_PARTS = 1200  # of all rows of a map together
_LEFT, _WIDTH, _ALL = 150, 755, 1000
_BAR, _ROW = 18, 36
_BUCKETS = 150  # of a chart
_CHART_WIDTH, _CHART_HEIGHT = 1000, 140


def map_drawing(made: PartitionMap, scale: MapScale, numbers: Mapping[tuple[str, str, int], int], name: str) -> Html:
    """The map of a partition. Findings are linked by their `numbers`, by log, code and first byte; only `bytes` have anchors."""
    rows = sorted(drawn_segments(made, MOST_ROWS))
    most = max(_MOST_PARTS // max(len(rows), 1), 40)
    parts: list[Html] = []
    for line, index in enumerate(rows):
        segment, y = made.segments[index], line * _ROW
        spans = made.spans[segment.log]
        extents = scale.extents(segment, spans)
        inside = [_bar([span.status for span in spans], extents, most)]
        places = [scale.place(mark.start, spans, extents) for mark in made.marks[segment.log]]
        inside += _marks(made.marks[segment.log], places, numbers, scale.axis)
        parts.append(element("text", segment.base_offset, x=_LEFT - 8, y=y + 14, text_anchor="end"))
        box = f"0 0 {_CELLS} {_ROW - 6}"
        size = {"x": _LEFT, "y": y, "width": _WIDTH, "height": _ROW - 6}
        parts.append(element("svg", *inside, class_="cells", viewBox=box, preserveAspectRatio="none", **size))
        parts.append(element("text", size_text(segment.size), x=_LEFT + _WIDTH + 8, y=y + 14))
    label = f"Map of {name} by {AXIS_NAMES[scale.axis]}: {_in_words(made)}"
    box = f"0 0 {_ALL} {len(rows) * _ROW}"
    zero = scale.oldest if scale.axis == TIME else 0
    data = {"data_axis": scale.axis, "data_per_cell": repr(scale.per_cell), "data_zero": str(zero)}
    return element("svg", *parts, class_=f"map {scale.axis}", viewBox=box, role="group", aria_label=label, **data)


def _marks(
    marks: Sequence[MapMark], places: Sequence[float], numbers: Mapping[tuple[str, str, int], int], axis: str
) -> list[Html]:
    """Findings, epochs and waiting readers below a row. What has no number of its own is drawn without a link."""
    drawn: list[Html] = []
    others: dict[tuple[str, str], list[str]] = {}  # by role and title
    linked: set[int] = set()
    for mark, place in zip(marks, places, strict=True):
        at = f"M{_number(place)},{_BAR}v9"
        number = numbers.get((mark.log, mark.what, mark.start))
        if number is None or number in linked or mark.role == EPOCH:
            title = f"leader epoch {mark.what} begins" if mark.role == EPOCH else mark.what
            others.setdefault((mark.role, title), []).append(at)
            continue
        linked.add(number)
        anchor = f"m{number}" if axis == BYTES else None
        path = element("path", element("title", f"{mark.what}: {mark.message}"), d=at, class_=f"mark {mark.role}", id=anchor)
        drawn.append(element("a", path, href=f"#f{number}", aria_label=f"finding {mark.what}"))
    unlinked = [
        element("path", element("title", title), d="".join(dict.fromkeys(paths)), class_=f"mark {role}")
        for (role, title), paths in others.items()
    ]
    return [*unlinked, *drawn]


def bytes_by_kind(made: PartitionMap, segment: MapSegment) -> dict[str, int]:
    """How many bytes of a segment are of which kind."""
    found: dict[str, int] = {}
    for span in made.spans[segment.log]:
        found[span.status] = found.get(span.status, 0) + span.end - span.start
    return found


def _in_words(made: PartitionMap) -> str:
    sums = dict.fromkeys(reversed(KINDS), 0)
    for segment in made.segments:
        for kind, size in bytes_by_kind(made, segment).items():
            sums[kind] += size
    return ", ".join(f"{size_text(size)} {MEANINGS[kind]}" for kind, size in sums.items() if size) or "nothing"


def _bar(kinds: Sequence[str], extents: Sequence[Extent], most: int) -> Html:
    """The parts of a segment, neighbours of one kind joined; in cells if there are very many."""
    by_kind: dict[str, list[list[float]]] = {}
    for kind, (start, end) in zip(kinds, extents, strict=True):
        parts = by_kind.setdefault(kind, [])
        if parts and parts[-1][0] <= start <= parts[-1][1] + 0.5:
            parts[-1][1] = max(parts[-1][1], end)
        else:
            parts.append([start, end])
    for kind, parts in by_kind.items():
        if len(parts) > most:
            cells = sorted({int(start * most / _CELLS) for start, _ in parts})
            by_kind[kind] = [[cell * _CELLS / most, (cell + 1) * _CELLS / most] for cell in cells]
    drawn = []
    for kind in reversed(KINDS):  # what hides others is drawn over them
        if kind in by_kind:
            path = "".join(f"M{_number(start)},0h{_number(end - start)}v{_BAR}H{_number(start)}z" for start, end in by_kind[kind])
            drawn.append(element("path", element("title", MEANINGS[kind]), d=path, class_=kind))
    return joined(drawn)


def _number(value: float) -> str:
    return f"{value:.5f}".rstrip("0").rstrip(".")


def bytes_over_time(maps: Sequence[PartitionMap]) -> tuple[list[int], list[int]]:
    """When the batches of partitions are from: moments in milliseconds, and the bytes from each to the next."""
    spans = [span for made in maps for spans in made.spans.values() for span in spans]
    timed = [
        (one.oldest_timestamp, one.newest_timestamp, one.end - one.start)
        for one in spans
        if one.oldest_timestamp is not None and one.newest_timestamp is not None
    ]
    if not timed:
        return [], []
    first, last = min(one[0] for one in timed), max(one[1] for one in timed)
    width = max((last - first) / _BUCKETS, 1)
    sums = [0.0] * _BUCKETS
    for oldest, newest, size in timed:
        low, high = (min(int((time - first) / width), _BUCKETS - 1) for time in (oldest, newest))
        for bucket in range(low, high + 1):
            sums[bucket] += size / (high - low + 1)
    return [round(first + number * width) for number in range(_BUCKETS)], list(map(round, sums))


def times_in_order(made: PartitionMap) -> tuple[list[int], list[int]]:
    """The newest timestamps of a partition against the bytes before them, in the order of its logs."""
    places: list[int] = []
    times: list[int] = []
    before = 0
    for segment in made.segments:
        for span in made.spans[segment.log]:
            if span.newest_timestamp is not None:
                places.append(before + span.end)
                times.append(span.newest_timestamp)
        before += segment.size
    step = max(len(places) // (2 * _BUCKETS), 1)
    return places[::step], times[::step]


def chart(title: str, xs: Sequence[int], ys: Sequence[int], *, is_time_x: bool, is_filled: bool) -> Html:
    """A chart of sizes and times: a drawing, and its numbers for the script, which makes a chart to zoom into of them."""
    if len(xs) < 2 or xs[0] == xs[-1]:
        return Html()
    low, high = (0 if is_filled else min(ys)), max(max(ys), 1)
    wide, tall = _CHART_WIDTH / (xs[-1] - xs[0]), (_CHART_HEIGHT - 4) / max(high - low, 1)
    points = [f"{(x - xs[0]) * wide:.1f},{_CHART_HEIGHT - 2 - (y - low) * tall:.1f}" for x, y in zip(xs, ys, strict=True)]
    path = "M" + "L".join(points)
    if is_filled:
        path = f"M0,{_CHART_HEIGHT}L{'L'.join(points)}L{_CHART_WIDTH},{_CHART_HEIGHT}z"
    x_text, y_text = _texts(is_time_x)
    ends = f"{x_text(xs[0])} to {x_text(xs[-1])}; up to {y_text(max(ys))}"
    drawn = element(
        "svg",
        element("path", d=path, class_="filled" if is_filled else "line"),
        viewBox=f"0 0 {_CHART_WIDTH} {_CHART_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{title}: {ends}",
    )
    numbers = json.dumps({"x": list(xs), "y": list(ys), "isTime": is_time_x, "isFilled": is_filled})
    data = element("script", Html(numbers), type="application/json")
    return element("figure", element("figcaption", f"{title}. ", element("small", ends)), drawn, data, class_="chart")


def _texts(is_time_x: bool) -> tuple[Callable[[int], str], Callable[[int], str]]:
    return (_moment, size_text) if is_time_x else (size_text, _moment)


def _moment(milliseconds: int) -> str:
    return f"{time_text(milliseconds)} UTC"


def share_bar(value: float) -> Html:
    """A bar in a cell of a table; `value` is from 0 to 1."""
    inside = element("rect", width=f"{max(value, 0.0) * 100:.1f}", height="8", class_="filled")
    return element("svg", inside, class_="share", viewBox="0 0 100 8", aria_hidden="true", width="100", height="8")


def legend() -> Html:
    """What the colours of maps mean."""
    keys = (
        element("li", element("svg", element("rect", width="12", height="12", class_=kind), width="12", height="12"), " ", words)
        for kind, words in reversed(MEANINGS.items())
    )
    return element("ul", *keys, class_="legend", aria_label=str(shown("What the colours mean")))
