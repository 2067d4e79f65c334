"""The page: the verdict and what to type next, what is there, each partition, explanations."""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import UTC, datetime

import kdump
from kdump import exit_codes
from kdump.checks import catalogue
from kdump.checks.finding import ERROR, SEVERITIES, WARNING
from kdump.checks.wording import byte_range, counted, offset_range
from kdump.output.html import drawing
from kdump.output.html.charts import bytes_over_time, times_in_order
from kdump.output.html.elements import Html, asset, element, joined, link, shown, table
from kdump.output.rows.layout import time_text
from kdump.output.text.check.advice import Advice
from kdump.output.text.check.directory import Directory
from kdump.output.text.check.folding import Folds
from kdump.output.text.check.next_steps import next_steps
from kdump.output.text.check.results import copies_not_compared
from kdump.output.text.explain import explanation
from kdump.output.text.sizes import size_text
from kdump.overview.map_rows import AXES, KINDS
from kdump.overview.map_scale import MapScale, drawn_segments
from kdump.overview.ticket import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from kdump.checks.finding import Finding
    from kdump.overview.partition_map import PartitionMap
    from kdump.overview.row import PartitionSum
    from kdump.overview.ticket import Ticket

    RowType = TypeVar("RowType")

_MOST_ALIKE = 20  # findings of one code in one file that are shown
_MOST_FINDINGS = 1000
_MOST_ROWS = 2500  # of a table
_MOST_SEEN = 200  # of the table of partitions; the others are behind a word
_WIDTH = 100  # of an explanation


def page_of(ticket: Ticket, *, has_evidence: bool = False) -> str:
    """The whole page; with evidence, each finding has its first bytes, which may be of a record."""
    return _Page(ticket, has_evidence=has_evidence).text()


class _Page:
    """Numbers the findings that are shown, and counts those that are not."""

    def __init__(self, ticket: Ticket, *, has_evidence: bool) -> None:
        self._ticket = ticket
        self._has_evidence = has_evidence
        self._shown: dict[str, list[tuple[int, Finding]]] = {}  # by path of what was checked
        self._more: dict[str, dict[tuple[str, str], int]] = {}  # likewise: how many are not shown, by file and code
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._codes: dict[str, None] = {}
        drawn_of = ((made, index) for made in ticket.maps for index in drawn_segments(made, drawing.MOST_ROWS))
        self._drawn_logs = {made.segments[index].log for made, index in drawn_of}
        self._anchors = {made.path: f"p{number}" for number, made in enumerate(ticket.maps, 1)}
        alike: dict[tuple[str, str], int] = {}
        count = 0
        drawn = [made.path for made in ticket.maps]
        for path in [*drawn, *(path for path in ticket.reports if path not in set(drawn))]:
            report = ticket.reports.get(path)
            for finding in sorted([] if report is None else report.findings, key=lambda one: SEVERITIES.index(one.severity)):
                key = (finding.path, finding.code)
                alike[key] = alike.get(key, 0) + 1
                self._codes[finding.code] = None
                if alike[key] > _MOST_ALIKE or count == _MOST_FINDINGS:
                    more = self._more.setdefault(path, {})
                    more[key] = more.get(key, 0) + 1
                    continue
                count += 1
                self._shown.setdefault(path, []).append((count, finding))
                self._numbers.setdefault((finding.path, finding.code, finding.start), count)

    def text(self) -> str:
        groups: dict[str, list[PartitionMap]] = {}
        for made in self._ticket.maps:
            groups.setdefault(name_of(made.path), []).append(made)
        style = Html(asset("uplot.css") + asset("page.css") + asset("drawing.css"))
        script = Html(asset("uplot.js").partition("\n")[2] + asset("page.js"))
        sources = f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
        policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
        title = f"kdump report: {', '.join(self._ticket.paths[:3])}"
        head = (
            Html('<meta charset="utf-8">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{shown(policy)}">'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            element("title", title),
            element("style", style),
        )
        licence = asset("uplot.license.txt")
        others = [path for path in self._shown if path not in {made.path for made in self._ticket.maps}]
        body = (
            element("header", element("h1", title), self._verdict()),
            element(
                "main",
                self._next(),
                self._contents(),
                *(self._partition(number, name, maps) for number, (name, maps) in enumerate(groups.items(), 1)),
                self._others(others),
                self._explanations(),
            ),
            element("footer", element("details", element("summary", "Licence of the charts (uPlot)"), element("pre", licence))),
            element("script", script),
        )
        return f'<!DOCTYPE html>\n<html lang="en">\n{element("head", *head)}\n{element("body", *body)}\n</html>\n'

    def _verdict(self) -> Html:
        ticket = self._ticket
        code = ticket.exit_code
        word = {exit_codes.CLEAN: "verdict clean", exit_codes.FINDINGS: "verdict bad"}.get(code, "verdict unknown")
        files = ticket.files
        read = sum(report.size - report.bytes_not_examined for report, _ in files)
        counts = dict.fromkeys(SEVERITIES, 0)
        for finding, _ in ticket.findings:
            counts[finding.severity] += 1
        facts = (
            f"Examined {size_text(read)} in {counted(len(files), 'file')}, level {ticket.level}: ",
            ", ".join(counted(count, severity) for severity, count in counts.items()),
            f". Made by kdump {kdump.__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC in {ticket.seconds:.1f} s.",
            " No keys or values are shown"
            + ("; the first bytes of a finding, in hex, may be part of a record." if self._has_evidence else "."),
        )
        return joined(
            (
                element("p", element("strong", f"Verdict: {ticket.verdict.text}."), f" Exit status {code}.", class_=word),
                element("ul", *(element("li", reason) for reason in ticket.verdict.reasons)),
                element("p", *facts, class_="facts"),
            )
        )

    def _next(self) -> Html:
        directories: dict[str, Directory] = {}
        folds, advice = Folds(shows_all=False), Advice()
        for finding, path in self._ticket.findings:
            directories.setdefault(path, Directory(path)).add_finding(finding)
            folds.add(finding, path)
            advice.finding(finding)
        for report, path in self._ticket.files:
            directories.setdefault(path, Directory(path)).add_file(report)
            advice.file(report)
        for path, starts in self._ticket.starts.items():
            directories.setdefault(path, Directory(path)).starts += starts
        folds.end()
        lines = next_steps(folds, directories, advice).lines() if folds else []
        sentence = ""
        if (said := copies_not_compared(directories.values())) is not None:
            sentence, command = said
            lines = [command, *lines]
        if not lines:
            return Html()
        pre = element("pre", joined(lines, "\n"), class_="next", tabindex="0")
        return element("section", element("h2", "Next"), element("p", sentence) if sentence else "", pre)

    def _contents(self) -> Html:
        """Tables of what is there: places, what fills them, topics, partitions, transactions, groups."""
        seen = self._ticket.overview
        most = max((topic.size for topic in seen.topics), default=0) or 1
        partitions = sorted(seen.partitions, key=lambda one: self._ticket.rank(one.path))
        tables = (
            *_first_rows(
                seen.places,
                "place",
                "Places",
                ("path", "what", "broker", "cluster", "mode", "written by (a guess)", "last stop"),
                lambda one: (one.path, one.what, one.broker, one.cluster, one.mode, one.written_by, one.stop),
            ),
            *_first_rows(
                seen.spaces,
                "row",
                "What fills them",
                ("what", "place", "files", "size", "on disk"),
                lambda one: (one.what, one.path, one.files, size_text(one.size), size_text(one.disk)),
            ),
            *_first_rows(
                sorted(seen.topics, key=lambda topic: -topic.size),
                "topic",
                "Topics by size",
                (
                    *("topic", "place", "size", "of the largest", "partitions", "segments", "offsets", "codec", "saving"),
                    *("oldest", "newest", "broken"),
                ),
                lambda one: (
                    *(one.topic, one.path, size_text(one.size), drawing.share_bar(one.size / most), one.partitions, one.segments),
                    *(one.offsets, one.codec, _saving(one.saving), _moment(one.oldest_timestamp)),
                    *(_moment(one.newest_timestamp), one.partitions_broken),
                ),
            ),
            self._partitions("Partitions, the worst first", partitions[:_MOST_SEEN]),
            self._other_partitions(partitions[_MOST_SEEN:_MOST_ROWS]),
            _more(len(partitions) - _MOST_ROWS, "partition"),
            *_first_rows(
                seen.transactions,
                "transaction",
                "Transactions without a marker",
                ("path", "producer", "epoch", "first offset", "since", "open for", "what"),
                lambda one: (
                    *(one.path, str(one.producer_id), one.producer_epoch, one.first_offset, _moment(one.timestamp)),
                    None if one.open_for_ms is None else f"{one.open_for_ms / 1000:,.1f} s",
                    "hangs" if one.is_hanging else "open" if one.is_certain else "may be open",
                ),
            ),
            *_first_rows(
                seen.groups,
                "group",
                "Groups",
                ("group", "type", "state", "members", "partitions committed"),
                lambda one: (one.group, one.type, one.state, one.members, one.committed),
            ),
            element("ul", *(element("li", f"{one.path}: {one.message}") for one in seen.unseen)) if seen.unseen else Html(),
        )
        return element("section", element("h2", "What is there"), *tables)

    def _partitions(self, caption: str, partitions: Sequence[PartitionSum]) -> Html:
        headings = (
            *("partition", "verdict", "errors", "warnings", "size", "segments", "first offset", "end offset", "records"),
            *("codecs", "saving", "producers", "oldest", "newest"),
        )
        return table(caption, headings, map(self._row, partitions))

    def _other_partitions(self, partitions: Sequence[PartitionSum]) -> Html:
        """A table that is laid out when somebody opens it, for that takes a browser long."""
        if not partitions:
            return Html()
        caption = f"The other {counted(len(partitions), 'partition')}"
        return element("details", element("summary", caption), self._partitions(caption, partitions))

    def _row(self, one: PartitionSum) -> Sequence[object]:
        anchor = self._anchors.get(one.path)
        report = self._ticket.reports.get(one.path)
        findings = () if report is None else report.findings
        counts = [sum(found.severity == severity for found in findings) for severity in (ERROR, WARNING)]
        return (
            link(anchor, one.path) if anchor else one.path,
            None if report is None else report.verdict.text,
            *counts,
            *(size_text(one.size), one.segments, one.first_offset, one.end_offset, one.records if one.is_read_whole else None),
            ", ".join(f"{codec} {size_text(size)}" for codec, size in one.codecs.items()),
            *(_saving(one.saving), one.producers, _moment(one.oldest_timestamp), _moment(one.newest_timestamp)),
        )

    def _partition(self, number: int, name: str, maps: Sequence[PartitionMap]) -> Html:
        """A partition: its replicas on one scale, their segments, charts, starts, findings."""
        scales = [MapScale(maps, axis, 600) for axis in AXES]
        chosen = [
            element("label", Html(f'<input type="radio" name="axis{number}" value="{axis}"{checked}>'), f" by {name_of_axis}")
            for (axis, name_of_axis), checked in zip(drawing.AXIS_NAMES.items(), (" checked", "", ""), strict=True)
        ]
        drawn: list[Html] = []
        for made in maps:
            if len(maps) > 1:
                drawn.append(element("h4", made.path))
            drawn += [drawing.map_drawing(made, scale, self._numbers, made.path) for scale in scales]
        parts: list[object] = [
            element("h2", name),
            element("fieldset", element("legend", "Map"), *chosen),
            element("figure", drawing.legend(marks=drawing.MARK_MEANINGS), *drawn, class_="maps"),
            bytes_over_time(maps[0]).figure(),
            times_in_order(maps[0]).figure(),
        ]
        parts.append(_producers(maps[0]))
        if len(maps) > 1:
            sums = self._ticket.overview.partitions
            parts.append(self._partitions(f"Replicas of {name}", [one for made in maps for one in sums if one.path == made.path]))
        for made in maps:
            of_replica = [self._segments(made), self._starts(made.path), self._findings(made.path)]
            heading = element("h3", made.path, id=self._anchors[made.path])
            parts.append(element("section", heading, *of_replica))
        return element("section", *parts, class_="partition")

    def _segments(self, made: PartitionMap) -> Html:
        rows = sorted(drawn_segments(made, drawing.MOST_ROWS))
        lines = []
        for index in rows:
            one = made.segments[index]
            sizes = drawing.bytes_by_kind(made, one)
            kinds = ", ".join(f"{size_text(sizes[kind])} {drawing.MEANINGS[kind]}" for kind in KINDS if kind in sizes)
            times = (_moment(one.oldest_timestamp), _moment(one.newest_timestamp))
            notes = "; ".join(one.notes)
            indexed = None if one.indexed_to is None else size_text(one.indexed_to)
            whole = (one.end_offset, size_text(one.size), indexed, one.batches)
            lines.append((os.path.basename(one.log), *whole, *times, kinds, notes))
        headings = ("segment", "end offset", "size", "indexed to", "batches", "oldest", "newest", "bytes", "notes")
        found = table(f"Segments of {made.path}", headings, lines)
        return joined((found, _more(len(made.segments) - len(rows), "segment")))

    def _starts(self, path: str) -> Html:
        starts = self._ticket.starts.get(path, ())
        headings = ("after", "in a word", "records lost", "bytes cut", "what happens")
        stops = (f"{one.after} stop, recovery point {one.recovery_point:,}" for one in starts)
        rows = ((one.verdict, one.lost_records, size_text(one.bytes_lost), one.message) for one in starts)
        return table(
            f"What the next start of {path} does", headings, ((stop, *row) for stop, row in zip(stops, rows, strict=True))
        )

    def _findings(self, path: str) -> Html:
        found = [self._finding(number, finding) for number, finding in self._shown.get(path, ())]
        more = [
            element("li", f"{count:,} more ", link(f"explain-{code}", code), f" in {file}")
            for (file, code), count in self._more.get(path, {}).items()
        ]
        if not found and not more:
            return element("p", "No findings.")
        shown_more = element("ul", *more[:_MOST_ALIKE], class_="more") if more else Html()
        rest = _more(len(more) - _MOST_ALIKE, "file")
        return joined((element("h4", "Findings"), element("ol", *found, class_="findings"), shown_more, rest))

    def _finding(self, number: int, finding: Finding) -> Html:
        key = (finding.path, finding.code, finding.start)
        explained = link(f"explain-{finding.code}", finding.code)
        in_map = link(f"m{self._numbers[key]}", "in the map") if finding.path in self._drawn_logs else Html()
        where = [os.path.basename(finding.path)]
        if finding.end > finding.start:
            where.append(byte_range(finding.start, finding.end))
        if finding.offset_first is not None and finding.offset_last is not None:
            where.append(f"{offset_range(finding.offset_first, finding.offset_last)} ({finding.offset_certainty})")
        meaning = catalogue.FORECASTS.get(finding.broker_forecast.partition(" ")[0].rstrip(":,;"), "")
        start = f"{finding.broker_forecast}: {meaning}" if meaning else finding.broker_forecast
        pairs = (("expected", finding.expected), ("found", finding.found), ("at a start", start))
        facts = [part for name, value in pairs if value for part in (element("dt", name), element("dd", value))]
        return element(
            "li",
            element("p", element("b", finding.severity, class_=finding.severity), " ", explained),
            element("p", ", ".join(where), " ", in_map),
            element("p", finding.message),
            element("dl", *facts),
            _evidence(finding) if self._has_evidence else Html(),
            id=f"f{number}",
        )

    def _others(self, paths: Iterable[str]) -> Html:
        parts = [
            element("section", element("h3", path), self._starts(path), self._findings(path), class_="other") for path in paths
        ]
        more = sum(sum(counts.values()) for path, counts in self._more.items() if path not in self._shown)
        rest = element("p", f"and {counted(more, 'more finding')} in other places; kdump check lists them") if more else ""
        return element("section", element("h2", "Other places"), *parts, rest) if parts or rest else Html()

    def _explanations(self) -> Html:
        pages = [
            element(
                "details",
                element("summary", f"{code} ({catalogue.FAULTS[code].severity}): {catalogue.FAULTS[code].title}"),
                element("pre", joined(explanation(code, _WIDTH).splitlines()[2:], "\n"), id=f"explain-{code}"),
                class_="explained",
            )
            for code in sorted(self._codes)
        ]
        return element("section", element("h2", "Explanations"), *pages) if pages else Html()


def _producers(made: PartitionMap) -> Html:
    """Who wrote to a partition, and when, as a drawing and as a table."""
    drawn, count = drawing.drawn_producers(made), len(made.producers.producers)
    if not drawn:
        return Html()
    headings = (
        *("producer", "epoch", "batches", "size", "first offset", "last offset", "committed", "aborted", "without a marker"),
        *("oldest", "newest"),
    )
    rows = (
        (
            *(str(one.producer_id), one.producer_epoch, one.batches, size_text(one.size), one.first_offset, one.last_offset),
            *(one.committed, one.aborted, int(one.is_open), _moment(one.oldest_timestamp), _moment(one.newest_timestamp)),
        )
        for one in drawn
    )
    caption = element("figcaption", "Producers over time")
    figure = element("figure", caption, drawing.legend(drawing.RUN_MEANINGS), drawing.producers_drawing(made))
    return joined((figure, table(f"Producers of {made.path}", headings, rows), _more(count - len(drawn), "producer")))


def _evidence(finding: Finding) -> Html:
    """The first bytes of a finding, with their positions."""
    if not finding.evidence:
        return Html()
    lines = []
    for at in range(0, len(finding.evidence), 32):
        line = finding.evidence[at : at + 32]
        pairs = " ".join(line[byte : byte + 2] for byte in range(0, len(line), 2))
        lines.append(f"{finding.start + at // 2:>12,}  {pairs}")
    return (
        element("pre", joined(lines, "\n"), class_="hex", aria_label="the first bytes in hex", tabindex="0") if lines else Html()
    )


def _first_rows(
    rows: Sequence[RowType], noun: str, caption: str, headings: Sequence[str], cells: Callable[[RowType], Sequence[object]]
) -> tuple[Html, Html]:
    """A table of the first of these rows, and how many more of them there are."""
    return table(caption, headings, map(cells, rows[:_MOST_ROWS])), _more(len(rows) - _MOST_ROWS, noun)


def _more(count: int, what: str) -> Html:
    return element("p", f"and {counted(count, f'more {what}')}") if count > 0 else Html()


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else time_text(milliseconds)


def _saving(saving: float | None) -> str | None:
    return None if saving is None else f"{saving:.1f} x"


def _digest(text: str) -> str:
    """What a Content-Security-Policy says of an inlined text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
