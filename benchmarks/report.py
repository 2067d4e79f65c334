"""The results as tables in Markdown and as a plot in SVG."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import median

from benchmarks.contenders import DECOMPRESSION, KDUMP, LIMIT, NEWEST, PYTHON_KERNEL
from benchmarks.segments import MIB
from benchmarks.workloads import ONE_BATCH, Results, Series, Workload, seconds

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PLOT = "measured.svg"
KAFKA = f"Kafka {NEWEST}"


def markdown(workloads: Sequence[Workload], measured: Mapping[str, Series], introduction: str) -> str:
    """The bars and whether they hold, and all medians."""
    bars = [
        "| workload | bar | measured | holds |",
        "| --- | --- | --- | --- |",
        *(row for workload in workloads for row in _bar_rows(workload, measured)),
    ]
    medians = [
        f"| workload | who | median s | min s | CPU s | x as fast as {KAFKA} | x the time of the {LIMIT} | peak MiB | runs |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(row for workload in workloads for row in _median_rows(workload, measured[workload.name])),
    ]
    return "\n".join([introduction, "", *bars, "", *medians]) + "\n"


def put(text: str, plot: str, file: Path) -> None:
    """Write the text between the marks in a file, or to a new file, and the plot beside it."""
    before, after = "", ""
    if file.exists():
        content = file.read_text()
        if BEGIN not in content or END not in content:
            raise SystemExit(f"{file} has no lines {BEGIN} and {END} to put the tables between")
        before, after = content.split(BEGIN)[0], content.split(END)[1]
    drawn = f"![seconds by workload, on a logarithmic scale]({PLOT})\n\n" if plot else ""
    file.write_text(f"{before}{BEGIN}\n{drawn}{text}{END}{after or chr(10)}")
    if plot:
        file.with_name(PLOT).write_text(plot)


def _bar_rows(workload: Workload, measured: Mapping[str, Series]) -> list[str]:
    results = Results(measured[workload.name], seconds(measured.get(ONE_BATCH, {}), KDUMP))
    rows = []
    title = workload.title
    for bar in workload.bars:
        verdict = bar.judge(results)
        shown, holds = (verdict.measured, "yes" if verdict.holds else "**no**") if verdict else ("-", "-")
        rows.append(f"| {title} | {bar.words} | {shown} | {holds} |")
        title = ""
    return rows


def _median_rows(workload: Workload, series: Series) -> list[str]:
    rows = []
    title = workload.title
    kafka, limit = seconds(series, KAFKA), seconds(series, LIMIT)
    for name, runs in series.items():
        own = seconds(series, name)
        if own is None:
            shown = [f"not done after {max(run.seconds for run in runs):.0f}", "", "", "", ""]
        else:
            cpu = median(run.cpu for run in runs)
            least = min(run.seconds for run in runs)
            shown = [
                _short(own),
                _short(least),
                _short(cpu),
                f"{kafka / own:.3g}" if kafka else "",
                f"{own / limit:.3g}" if limit else "",
            ]
        peak = max(run.memory for run in runs) / MIB
        rows.append(f"| {title} | {name} | {' | '.join(shown)} | {peak:.0f} | {len(runs)} |")
        title = ""
    return rows


def _short(number: float) -> str:
    return f"{number:.3f}" if number < 1 else f"{number:.2f}"


# --- The plot: a row for each workload, a dot for each contender, seconds on a logarithmic scale

_COLOURS = {KDUMP: "#0a7d38", LIMIT: "#222222", DECOMPRESSION: "#888888", PYTHON_KERNEL: "#e39b00", KAFKA: "#c0392b"}
_LEFT, _WIDTH, _ROW, _TOP = 300, 860, 24, 56
_RIGHT = 20


def plot(workloads: Sequence[Workload], measured: Mapping[str, Series]) -> str:
    """The medians of the contenders of a workload; empty if none was measured."""
    shown = [
        (workload.title, {name: own for name in _COLOURS if (own := seconds(measured[workload.name], name)) is not None})
        for workload in workloads
        if KDUMP in measured[workload.name]
    ]
    everything = [own for _, medians in shown for own in medians.values()]
    if not everything:
        return ""
    least, most = math.floor(math.log10(min(everything))), math.ceil(math.log10(max(everything)))
    scale = (_WIDTH - _LEFT - _RIGHT) / max(1, most - least)
    height = _TOP + _ROW * len(shown) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]
    for power in range(least, most + 1):
        x = _LEFT + (power - least) * scale
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{_TOP - 10}" y2="{height - 10}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x:.0f}" y="{_TOP - 14}" text-anchor="middle" fill="#666666">{10.0**power:g} s</text>')
    for number, (name, colour) in enumerate(_COLOURS.items()):
        x = 20 + number * 168
        parts.append(f'<circle cx="{x}" cy="14" r="5" fill="{colour}"/><text x="{x + 10}" y="18">{escape(name)}</text>')
    for row, (title, medians) in enumerate(shown):
        y = _TOP + row * _ROW + 8
        parts.append(f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(title)}</text>')
        places = {name: _LEFT + (math.log10(own) - least) * scale for name, own in medians.items()}
        first, last = min(places.values()), max(places.values())
        parts.append(f'<line x1="{first:.1f}" x2="{last:.1f}" y1="{y}" y2="{y}" stroke="#cccccc" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{_COLOURS[name]}"/>' for name, x in reversed(places.items())]
    return "\n".join([*parts, "</svg>"]) + "\n"
