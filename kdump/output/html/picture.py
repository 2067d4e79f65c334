"""One drawing of some partitions as a file of its own: SVG, or PNG made of it."""

from __future__ import annotations

import re

from kdump.binary.installing import how_to_install
from kdump.errors import UsageError
from kdump.output.html import charts, drawing
from kdump.output.html.elements import Html, asset, element, joined
from kdump.overview.map_rows import PLOT_OF_BYTES, PLOT_OF_MAP, PLOT_OF_PRODUCERS
from kdump.overview.map_scale import MapScale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.output.html.charts import Chart
    from kdump.overview.partition_map import PartitionMap

_WIDTH, _MARGIN, _LINE = 1000, 16, 22
_CHARACTER = 7.3  # of the font, in width
_FONT = 'text { font: 12px "DejaVu Sans Mono", monospace; fill: var(--text); } .back { fill: var(--back); }'


def svg_of(maps: Sequence[PartitionMap], plot: str, axis: str) -> str:
    """The plot of this name of partitions, under one another; `axis` is that of a map."""
    parts: list[Html] = []
    y = _MARGIN
    scale = MapScale(maps, axis, drawing.CELLS)
    for made in maps:
        for part, height in _parts(made, plot, scale):
            parts.append(element("svg", part, x=_MARGIN, y=y, width=_WIDTH, height=height, overflow="visible"))
            y += height
        y += _MARGIN
    legend, height = _legend(plot)
    parts.append(element("svg", legend, x=_MARGIN, y=y, width=_WIDTH, height=height))
    wide, tall = _WIDTH + 2 * _MARGIN, y + height + _MARGIN
    back = element("rect", width=wide, height=tall, class_="back")
    box = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {wide} {tall}", "width": wide, "height": tall}
    return f"{element('svg', element('style', _style()), back, *parts, **box)}\n"


def png_maker() -> Callable[[str], bytes]:
    """What makes PNG of SVG, at twice its size. Raises UsageError if its package is missing."""
    try:
        import resvg_py
    except ImportError as missing:
        raise UsageError('PNG needs the package "resvg-py"', remedy=how_to_install("resvg-py", "png")) from missing
    return lambda svg: bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=2.0))


def _parts(made: PartitionMap, plot: str, scale: MapScale) -> Iterator[tuple[Html, int]]:
    """What is drawn of a partition, from above to below, with heights."""
    if plot == PLOT_OF_MAP:
        yield _text(f"{made.path}, by {drawing.AXIS_NAMES[scale.axis]}"), _LINE
        yield drawing.map_drawing(made, scale, {}, made.path), drawing.map_height(made)
    elif plot == PLOT_OF_PRODUCERS:
        yield _text(f"Producers of {made.path} over time"), _LINE
        if made.producers.producers:
            yield drawing.producers_drawing(made), drawing.producers_height(made)
        else:
            yield _text("no batch says its producer"), _LINE
    else:
        chart: Chart = (charts.bytes_over_time if plot == PLOT_OF_BYTES else charts.times_in_order)(made)
        yield _text(f"{made.path}: {chart.title[0].lower()}{chart.title[1:]}"), _LINE
        if chart.has_line:
            yield _text(chart.ends), _LINE
            yield chart.drawing(width=charts.WIDTH, height=charts.HEIGHT), charts.HEIGHT
        else:
            yield _text("nothing has a time"), _LINE


def _text(text: str) -> Html:
    return element("text", text, y=14)


def _legend(plot: str) -> tuple[Html, int]:
    """What the colours and marks mean, in as many lines as it takes."""
    meanings = {PLOT_OF_MAP: drawing.MEANINGS, PLOT_OF_PRODUCERS: drawing.RUN_MEANINGS}.get(plot, {})
    keys = [(kind, words, False) for kind, words in reversed(list(meanings.items()))]
    if plot == PLOT_OF_MAP:
        keys += [(kind, words, True) for kind, words in reversed(list(drawing.MARK_MEANINGS.items()))]
    parts: list[Html] = []
    x, y = 0.0, 0
    for kind, words, is_mark in keys:
        width = 18 + _CHARACTER * len(words) + 18
        if x + width > _WIDTH:
            x, y = 0.0, y + _LINE
        parts.append(element("svg", *drawing.legend_key(kind, is_mark=is_mark), x=x, y=y + 4, width="12", height="12"))
        parts.append(element("text", words, x=x + 18, y=y + 14))
        x += width
    return joined(parts), y + _LINE if parts else 0


def _style() -> Html:
    """The rules for drawings, with the light colours in the place of their names, which few programs besides browsers know."""
    colors = dict(re.findall(r"--([a-z-]+): (#\w+)", asset("page.css").partition("@media")[0]))
    return Html(re.sub(r"var\(--([a-z-]+)\)", lambda name: colors[name[1]], asset("drawing.css") + _FONT))
