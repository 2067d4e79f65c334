"""Drawings as SVG: maps of partitions, producers over time, bars in tables."""

from __future__ import annotations

from kdump.output.html.charts import moment_text
from kdump.output.html.elements import Html, element, joined, shown
from kdump.output.text.sizes import size_text
from kdump.overview.map_rows import (
    ABORTED,
    BATCHES,
    BYTES,
    COMMITTED,
    DAMAGED,
    ENDED,
    EPOCH,
    FINDING,
    GOES,
    KINDS,
    NOT_EXAMINED,
    OFFSETS,
    OPEN,
    READERS,
    RUNS,
    SALVAGED,
    SOUND,
    TIME,
    ZERO,
)
from kdump.overview.map_scale import MapScale, drawn_segments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kdump.overview.map_rows import MapMark, MapProducer, MapRun, MapSegment
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
MARK_MEANINGS = {EPOCH: "a leader epoch begins", READERS: "readers of committed records wait", FINDING: "a finding"}
RUN_MEANINGS = {
    OPEN: "transaction without a marker",
    ENDED: "transaction whose marker cannot be read",
    ABORTED: "aborted transaction",
    COMMITTED: "committed transaction",
    BATCHES: "batches without a transaction",
}
MOST_ROWS = 24  # segments of a partition that are drawn
AXIS_NAMES = {BYTES: "bytes", OFFSETS: "offsets", TIME: "time"}
CELLS = 600
_MOST_PARTS = 1200  # of all rows of a map together
_LEFT, _WIDTH, _ALL = 150, 755, 1000
_BAR, _ROW, _LANE, _BELOW = 18, 36, 24, 20


def map_drawing(made: PartitionMap, scale: MapScale, numbers: Mapping[tuple[str, str, int], int], name: str) -> Html:
    """The map of a partition. Findings are linked by their `numbers`, by log, code and first byte; only `bytes` have anchors."""
    rows = sorted(drawn_segments(made, MOST_ROWS))
    most = max(_MOST_PARTS // max(len(rows), 1), 40)
    parts: list[Html] = []
    for line, index in enumerate(rows):
        segment, y = made.segments[index], line * _ROW
        spans = made.spans[segment.log]
        extents = scale.extents(segment, spans)
        inside = [_bar([span.status for span in spans], extents, most, KINDS, MEANINGS)]
        places = [scale.place(mark.start, spans, extents) for mark in made.marks[segment.log]]
        inside += _marks(made.marks[segment.log], places, numbers, scale.axis)
        parts += _row(segment.base_offset, inside, segment.size, y=y, height=_ROW - 6)
    label = f"Map of {name} by {AXIS_NAMES[scale.axis]}: {_in_words(made)}"
    box = f"0 0 {_ALL} {len(rows) * _ROW}"
    zero = scale.oldest if scale.axis == TIME else 0
    data = {"data_axis": scale.axis, "data_per_cell": repr(scale.per_cell), "data_zero": str(zero)}
    return element("svg", *parts, class_=f"map {scale.axis}", viewBox=box, role="group", aria_label=label, **data)


def _row(name: object, inside: Sequence[Html], size: int, *, y: int, height: int) -> Iterator[Html]:
    """A row of a drawing: a name, what is drawn in cells, and a size."""
    yield element("text", name, x=_LEFT - 8, y=y + 14, text_anchor="end")
    box, place = f"0 0 {CELLS} {height}", {"x": _LEFT, "y": y, "width": _WIDTH, "height": height}
    yield element("svg", *inside, class_="cells", viewBox=box, preserveAspectRatio="none", **place)
    yield element("text", size_text(size), x=_LEFT + _WIDTH + 8, y=y + 14)


def map_height(made: PartitionMap) -> int:
    """The height of such a map."""
    return len(drawn_segments(made, MOST_ROWS)) * _ROW


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


def _bar(kinds: Sequence[str], extents: Sequence[Extent], most: int, order: Sequence[str], meanings: Mapping[str, str]) -> Html:
    """The parts of a row, neighbours of one kind joined; in cells if there are very many. `order` starts with what hides."""
    by_kind: dict[str, list[list[float]]] = {}
    for kind, (start, end) in zip(kinds, extents, strict=True):
        parts = by_kind.setdefault(kind, [])
        if parts and parts[-1][0] <= start <= parts[-1][1] + 0.5:
            parts[-1][1] = max(parts[-1][1], end)
        else:
            parts.append([start, end])
    for kind, parts in by_kind.items():
        if len(parts) > most:
            cells = sorted({int(start * most / CELLS) for start, _ in parts})
            by_kind[kind] = [[cell * CELLS / most, (cell + 1) * CELLS / most] for cell in cells]
    drawn = []
    for kind in reversed(order):  # what hides others is drawn over them
        if kind in by_kind:
            path = "".join(f"M{_number(start)},0h{_number(end - start)}v{_BAR}H{_number(start)}z" for start, end in by_kind[kind])
            drawn.append(element("path", element("title", meanings[kind]), d=path, class_=kind))
    return joined(drawn)


def _number(value: float) -> str:
    return f"{value:.5f}".rstrip("0").rstrip(".")


def drawn_producers(made: PartitionMap) -> Sequence[MapProducer]:
    """The producers of a partition that are drawn: those with open transactions, then those with most bytes; by id."""
    found = sorted(made.producers.producers.values(), key=lambda one: (not one.is_open, -one.size))[:MOST_ROWS]
    return sorted(found, key=lambda one: one.producer_id)


def producers_drawing(made: PartitionMap) -> Html:
    """When producers wrote, a row for each: a line from its first batch to its last, runs and transactions upon it.

    From left to right is time; if no batch has a timestamp, offsets.
    """
    producers = drawn_producers(made)
    all_of = made.producers.producers.values()
    times = [time for one in all_of for time in (one.oldest_timestamp, one.newest_timestamp) if time is not None]
    is_time = bool(times)
    low, high = (
        (min(times), max(times))
        if is_time
        else (
            min((one.first_offset for one in all_of), default=0),
            max((one.last_offset for one in all_of), default=0),
        )
    )
    wide = CELLS / max(high - low, 1)

    def extent(one: MapProducer | MapRun) -> Extent | None:
        first, last = (one.oldest_timestamp, one.newest_timestamp) if is_time else (one.first_offset, one.last_offset)
        return None if first is None or last is None else ((first - low) * wide, (last - low) * wide)

    runs = made.producers.runs
    parts: list[Html] = []
    for line, producer in enumerate(producers):
        y = line * _LANE
        known = [(run.what, found) for run in runs if run.producer_id == producer.producer_id and (found := extent(run))]
        whole = extent(producer) or (0.0, 0.0)
        between = element("path", d=f"M{_number(whole[0])},{_BAR / 2}H{_number(whole[1])}", class_="between")
        bar = _bar(
            [what for what, _ in known],
            [found for _, found in known],
            _MOST_PARTS // MOST_ROWS,
            tuple(reversed(RUNS)),
            RUN_MEANINGS,
        )
        parts += _row(str(producer.producer_id), (between, bar), producer.size, y=y, height=_BAR)
    height = producers_height(made)
    ends = (moment_text(low), moment_text(high)) if is_time else (f"offset {low:,}", f"offset {high:,}")
    parts.append(element("text", ends[0], x=_LEFT, y=height - 6))
    parts.append(element("text", ends[1], x=_LEFT + _WIDTH, y=height - 6, text_anchor="end"))
    label = f"Producers of {made.path} from {ends[0]} to {ends[1]}"
    return element("svg", *parts, class_="lanes", viewBox=f"0 0 {_ALL} {height}", role="img", aria_label=label)


def producers_height(made: PartitionMap) -> int:
    """The height of such a drawing."""
    return len(drawn_producers(made)) * _LANE + _BELOW


def share_bar(value: float) -> Html:
    """A bar in a cell of a table; `value` is from 0 to 1."""
    inside = element("rect", width=f"{max(value, 0.0) * 100:.1f}", height="8", class_="filled")
    return element("svg", inside, class_="share", viewBox="0 0 100 8", aria_hidden="true", width="100", height="8")


def legend(meanings: Mapping[str, str] = MEANINGS, marks: Mapping[str, str] | None = None) -> Html:
    """What the colours of a drawing mean, and its marks."""
    keys = (
        element("li", element("svg", *legend_key(kind, is_mark=is_mark), width="12", height="12"), " ", words)
        for of_these, is_mark in ((meanings, False), (marks or {}, True))
        for kind, words in reversed(list(of_these.items()))
    )
    return element("ul", *keys, class_="legend", aria_label=str(shown("What the colours mean")))


def legend_key(kind: str, *, is_mark: bool) -> Iterator[Html]:
    """What stands before the meaning of a colour, or of a mark: 12 by 12."""
    if is_mark:
        yield element("path", d="M6,2v9", class_=f"mark {kind}")
    else:
        yield element("rect", width="12", height="12", class_=kind)
