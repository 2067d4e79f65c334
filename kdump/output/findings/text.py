"""A check told to people: the worst first, plain words, where exactly, what a restart would do, what to type next."""

from __future__ import annotations

import os

from kdump.binary.java_strings import escaped
from kdump.checks import catalogue
from kdump.checks.catalogue import fault_kind
from kdump.checks.finding import ERROR, ESTIMATED, INFO, MAP_CELLS, NO_OFFSET, SEVERITIES, STATUS_BITS, WARNING, ByteCoverage
from kdump.checks.wording import counted
from kdump.forecasts.settings import CLEAN
from kdump.formats import file_name
from kdump.output.findings.advice import Advice
from kdump.output.findings.ranges import Ranges
from kdump.output.findings.sizes import size_text
from kdump.output.rows.columns import padded, widest, width_of
from kdump.verdicts.verdict import LOSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kdump.checks.finding import FileReport, Finding, Start, Summary
    from kdump.output.text.report_style import ReportStyle

_FILES_PER_CODE = 5  # whose findings are told; those of others are counted
_MAPS = 20  # files of one directory that are drawn
_GROUPS = 20  # directories with findings that get a line
_CLEAN_GROUPS = 5
_UNREADABLE_GROUPS = 5  # of which the offsets are told that consumers cannot read; those of others are counted
_RESTARTS = 3  # directories whose restart is shown
_CODES_TO_EXPLAIN = 3
_MOST_RANGES = 24  # of findings that are alike
_MOST_LOST_RANGES = 6  # of what consumers cannot read of a directory

_NOT_RECOGNIZED = "file-not-recognized"

_INDENT = 9  # of what is said of a finding: after its severity
_MAP_WIDTH = 40
_MIN_MAP_WIDTH = 12
_NUMBERS_WIDTH = 14  # what stands around a map: gaps, and the percentage
_MIN_WIDTH = 40
_LABEL_WIDTH = 9

_COLORS = {ERROR: "31", WARNING: "33", INFO: "36", "clean": "32"}
_CELLS = {  # by status: what stands for it, and its colour; the worst first
    ByteCoverage.DAMAGED: ("▒", "31"),
    ByteCoverage.SALVAGED: ("▓", "33"),
    ByteCoverage.NOT_EXAMINED: ("?", "35"),
    ByteCoverage.ZERO: ("░", "36"),
    ByteCoverage.INTACT: ("█", "32"),
}
_RESTART_ORDER = (
    fault_kind.DIE,
    fault_kind.OFFLINE,
    fault_kind.STRAY,
    fault_kind.WIPE,
    fault_kind.CUT,
    fault_kind.RESCAN,
    fault_kind.SPLIT,
    fault_kind.DELETE,
    fault_kind.BLIND,
)
_LOG = "log"
_FLOOD = "finding-flood"
_HIDE_WHAT_FOLLOWS = frozenset(
    (
        "batch-length-absurd",
        "batch-length-mismatch",
        "batch-length-negative",
        "batch-length-too-small",
        "garbage-region",
        "zero-hole",
    )
)
"""A broker finds no batch after these before the next entry of its index, so consumers may lack intact ones, too."""
_OFFSETS_A_BYTE = 100  # that a damaged range may hold: records that are well compressed, or cleaned away
_MOST_OFFSET = 1 << 60  # that a header is believed
_KINDS_WITH_MAP = (_LOG, "checkpoint")


class TextReport:
    """Collects what there is to say, folded, and says it at the end, when it is known what is worst."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._write = write
        self._style = style
        self._width = max(style.width, _MIN_WIDTH)
        self._groups: dict[str, _Group] = {}
        self._folds: dict[tuple[str, str, str, int], _Fold] = {}
        self._files_of_code: dict[tuple[str, str], int] = {}
        self._beyond: dict[tuple[str, str], _Beyond] = {}
        self._advice = Advice(proves_logs=style.proves_logs)

    def finding(self, finding: Finding, group: str, *, is_known: bool) -> None:
        self._advice.finding(finding, is_known=is_known)
        if is_known:
            return
        self._group(group).note(finding)
        number = len(self._folds) if self._style.shows_all else 0
        key = (finding.severity, finding.code, finding.path, number)
        fold = self._folds.get(key)
        if fold is not None:
            fold.add(finding)
            return
        kind = key[:2]
        if not self._style.shows_all and self._files_of_code.get(kind, 0) >= _FILES_PER_CODE:
            self._beyond.setdefault(kind, _Beyond()).count(finding.path)
            return
        self._files_of_code[kind] = self._files_of_code.get(kind, 0) + 1
        self._folds[key] = _Fold(finding, group)

    def file(self, report: FileReport, group: str) -> None:
        self._group(group).add(report)
        self._advice.file(report)

    def start(self, start: Start, group: str) -> None:
        self._group(group).starts.append(start)

    def end(self, summary: Summary) -> None:
        self._name_groups()
        if not self._groups:
            self._say("There is nothing to check: no file of Kafka's is here.")
        self._say_groups()
        self._say_unreadable()
        if not self._folds and summary.verdict == "clean":
            return
        if self._folds:
            self._say_findings()
            self._say_maps()
            self._say_restarts()
            self._say_remedies()
            self._say_next()
        known = f" {counted(summary.known, 'finding')} known from the baseline." if summary.known else ""
        missing = "" if summary.is_complete else " Not everything could be examined."
        examined = f"Examined {size_text(summary.bytes)} in {counted(summary.files, 'file')} in {summary.seconds:.1f} s."
        self._say_wrapped(f"{examined}{known}{missing}", 0)
        self._say_wrapped(f"Verdict: {summary.verdict}. Exit status {summary.exit_code}.", 0)

    def _name_groups(self) -> None:
        """Where directories of one name may stand in several places, tell them by their paths from where these part."""
        paths = {group.path: os.path.abspath(group.path) for group in self._groups.values()}
        if len({os.path.dirname(path) for path in paths.values()}) > 1:
            common = os.path.commonpath(paths.values())
            for group in self._groups.values():
                group.name = os.path.relpath(paths[group.path], common)

    def _group(self, path: str) -> _Group:
        group = self._groups.get(path)
        if group is None:
            group = self._groups[path] = _Group(path)
        return group

    def _say(self, line: str = "") -> None:
        self._write(line.rstrip() + "\n")

    def _say_wrapped(self, text: str, indent: int) -> None:
        for line in _wrapped(text, self._width - indent):
            self._say(" " * indent + line)

    def _colored(self, text: str, color: str) -> str:
        return f"\x1b[{color}m{text}\x1b[0m" if self._style.has_colors else text

    def _shown(self, text: str) -> str:
        return escaped(text) if self._style.is_terminal else text

    # the lines of directories

    def _say_groups(self) -> None:
        groups = [group for group in self._groups.values() if group.files or group.counts]
        clean = [group for group in groups if not group.counts]
        others = [group for group in groups if group.counts]
        others.sort(key=lambda group: group.rank, reverse=True)
        shown_clean = clean if len(clean) <= _CLEAN_GROUPS else []
        shown = others[:_GROUPS] + shown_clean
        name_width = widest([self._shown(group.name) for group in shown])
        for group in shown:
            self._say_group(group, name_width)
        if len(others) > _GROUPS:
            self._say(f"{len(others) - _GROUPS:,} more directories with findings")
        if len(clean) > _CLEAN_GROUPS:
            size = size_text(sum(group.size for group in clean))
            self._say(
                f"{len(clean):,} {'more ' if others else ''}directories, {size}   " + self._colored("clean", _COLORS["clean"])
            )

    def _say_group(self, group: _Group, name_width: int) -> None:
        head = f"{padded(self._shown(group.name), name_width)}   {group.about()}"
        verdict = group.verdict()
        color = _COLORS[min(group.counts, key=SEVERITIES.index) if group.counts else "clean"]
        gap = " " * max(3, self._width - width_of(head) - len(verdict)) if group.counts else "   "
        if width_of(head) + len(gap) + len(verdict) > self._width:
            self._say_wrapped(head, 0)
            head, gap = "", "   "
        self._say(head + gap + self._colored(verdict, color))

    def _say_unreadable(self) -> None:
        """What consumers are not given, of each directory of which that is known."""
        groups = [group for group in self._groups.values() if group.unreadable]
        if groups:
            self._say()
        groups.sort(key=lambda group: group.rank, reverse=True)
        for group in groups[:_UNREADABLE_GROUPS]:
            told = group.unreadable_text()
            self._say_wrapped(f"{self._shown(group.name)}: {told}" if len(self._groups) > 1 else _sentence(told), 0)
        rest = groups[_UNREADABLE_GROUPS:]
        if rest:
            offsets = counted(sum(group.unreadable for group in rest), "offset")
            self._say(f"and {offsets} in {counted(len(rest), 'more directory', 'more directories')}")

    # findings

    def _say_findings(self) -> None:
        folds = self._worst_first()
        code_width = max(len(fold.finding.code) for fold in folds)
        several = len({fold.group for fold in folds}) > 1
        last_of = {(fold.finding.severity, fold.finding.code): fold for fold in folds}
        previous = ""
        for fold in folds:
            if fold.finding.severity != previous:
                self._say()
                previous = fold.finding.severity
            self._say_finding(fold, code_width, several)
            kind = (fold.finding.severity, fold.finding.code)
            if last_of[kind] is fold and kind in self._beyond:
                beyond = self._beyond[kind]
                of_them = f"{counted(beyond.findings, 'more finding')} of {fold.finding.code}"
                more = f"{of_them} in {counted(beyond.files, 'other file')}"
                self._say_wrapped(more + "; --all shows each.", _INDENT)

    def _worst_first(self) -> list[_Fold]:
        """Findings by severity, those of one code together."""
        first_seen: dict[str, int] = {}
        for fold in self._folds.values():
            first_seen.setdefault(fold.finding.code, len(first_seen))
        return sorted(
            self._folds.values(),
            key=lambda fold: (SEVERITIES.index(fold.finding.severity), first_seen[fold.finding.code]),
        )

    def _say_finding(self, fold: _Fold, code_width: int, several: bool) -> None:
        finding = fold.finding
        name = finding.path.rpartition("/")[2]
        if several:
            group = self._groups[fold.group]
            name = group.name if finding.path == group.path else f"{group.name}/{name}"
        name = self._shown(name)
        where = name + _range(finding)
        severity = self._colored(finding.severity, _COLORS[finding.severity]) + " " * (_INDENT - len(finding.severity))
        if _INDENT + code_width + 2 + width_of(where) <= self._width:
            self._say(f"{severity}{finding.code:{code_width}}  {where}")
        else:
            self._say(severity + finding.code)
            lines = [where] if _INDENT + width_of(where) <= self._width else [name, _range(finding).removeprefix(", ")]
            for line in lines:
                self._say(" " * _INDENT + line)
        self._say_wrapped(_sentence(self._shown(finding.message)) + fold.text(), _INDENT)

    # maps

    def _say_maps(self) -> None:
        groups = [group for group in self._groups.values() if group.counts]
        groups.sort(key=lambda group: group.rank, reverse=True)
        for group in groups[:_RESTARTS]:
            drawn = group.drawn()
            if not drawn:
                continue
            self._say()
            if len(groups) > 1:
                self._say(self._shown(group.name))
            names = [self._shown(report.path.rpartition("/")[2]) for report in drawn]
            name_width = widest(names)
            notes = [_note(report) for report in drawn]
            sizes = [size_text(report.size) for report in drawn]
            size_width = max(map(len, sizes))
            room = self._width - name_width - size_width - _NUMBERS_WIDTH
            note_width = max(map(len, notes)) + 3
            is_beside = room - note_width >= _MIN_MAP_WIDTH  # otherwise notes stand below
            width = max(_MIN_MAP_WIDTH, min(_MAP_WIDTH, room - note_width * is_beside))
            for report, name, size, note in zip(drawn, names, sizes, notes, strict=True):
                line = f"{padded(name, name_width)}  {self._map(report, width)}  {_percent(report):>8}  {size:>{size_width}}"
                self._say(f"{line}   {note}" if is_beside else line)
                if note and not is_beside:
                    self._say_wrapped(note, name_width + 2)
            if len(drawn) < group.files:
                self._say(f"and {counted(group.files - len(drawn), 'more file')}")

    def _map(self, report: FileReport, width: int) -> str:
        """A file as a row of cells: each shows the worst that lies in its part of the file."""
        cells = [report.cells[cell * MAP_CELLS // width : max((cell + 1) * MAP_CELLS // width, 1)] for cell in range(width)]
        statuses = [_worst_status(cell) for cell in cells] if report.size else [None] * width
        text = ""
        start = 0
        for end in range(1, width + 1):
            if end == width or statuses[end] != statuses[start]:
                status = statuses[start]
                sign, color = _CELLS[status] if status else ("·", "2")
                text += self._colored(sign * (end - start), color)
                start = end
        return text

    # what comes next

    def _say_restarts(self) -> None:
        """What starts do: exactly, of the worst directories; of all others what each finding makes likely."""
        concerned = (group for group in self._groups.values() if any(word in group.restarts for word in _RESTART_ORDER))
        ranked = sorted(concerned, key=lambda group: group.rank, reverse=True)
        if not ranked:
            return
        self._say()
        self._say("If this broker restarts")
        foretold = [group for group in ranked if group.starts][:_RESTARTS]
        self._say_foretold(foretold)
        for word in _RESTART_ORDER:
            groups = [group for group in ranked if word in group.restarts and (word == fault_kind.BLIND or group not in foretold)]
            if groups:
                self._say_likely(word, groups)

    def _say_foretold(self, foretold: list[_Group]) -> None:
        """Each start in a line, the worst first; `kdump forecast` tells more."""
        for group in foretold:
            name = f"{group.name}: " if len(self._groups) > 1 else ""
            told: dict[tuple[str, str], list[int]] = {}  # recovery points of which the same is said
            for start in group.starts:
                told.setdefault((start.after, start.message), []).append(start.recovery_point)
            for (after, text), points in told.items():
                label = "clean" if after == CLEAN else "unclean" if any(points) else "from 0"
                self._say_labelled(label, self._shown(name + text))

    def _say_likely(self, word: str, groups: list[_Group]) -> None:
        self._say_labelled(word, catalogue.FORECASTS[word])
        for group in groups[:_RESTARTS]:
            name = f"{group.name}/" if len(self._groups) > 1 else ""
            self._say_labelled("", f"here: {self._shown(name + group.restart(word))}")
        if len(groups) > _RESTARTS:
            self._say_labelled("", f"and in {counted(len(groups) - _RESTARTS, 'more directory', 'more directories')}")

    def _say_remedies(self) -> None:
        codes = self._codes_to_explain()
        if codes:
            self._say()
            self._say("What is lost, and what to do")
        for code in codes:
            kind = catalogue.FAULTS[code]
            self._say(f"  {code}")
            self._say_labelled("lost", kind.loss)
            running = catalogue.RUNNING.get(code)
            if running is not None:
                self._say_labelled("running", running)
            rebuild = self._advice.rebuild() if kind.action == fault_kind.REBUILD else ""
            self._say_labelled("to do", rebuild or kind.remedy)

    def _codes_to_explain(self) -> list[str]:
        """Of what is no mere information, the worst."""
        codes = dict.fromkeys(fold.finding.code for fold in self._worst_first() if fold.finding.severity != INFO)
        return list(codes)[:_CODES_TO_EXPLAIN]

    def _say_next(self) -> None:
        import shlex

        lines = []
        worst = self._worst_first()
        endangered = next((fold.group for fold in worst if self._is_endangered(fold)), None)
        if endangered is not None:
            lines.append(f"cp -a {shlex.quote(endangered)} ELSEWHERE   # before any restart")
            if os.path.isdir(endangered):
                lines.append(f"kdump forecast {shlex.quote(endangered)}   # what a start does, step by step")
        unread = next(
            (fold.finding for fold in worst if fold.finding.code == _NOT_RECOGNIZED and fold.finding.found == "log"), None
        )
        if unread is not None:
            lines.append(f"kdump check --as log {shlex.quote(unread.path)}   # it was not examined")
        lines += self._advice.steps()
        damaged = next((fold.finding for fold in worst if fold.finding.file_type == "log" and fold.finding.skipped), None)
        if damaged is not None:
            lines.append(f"kdump log --output table --from-position {damaged.start} {shlex.quote(damaged.path)}")
        codes = self._codes_to_explain() or list(dict.fromkeys(fold.finding.code for fold in worst))[:_CODES_TO_EXPLAIN]
        lines += [f"kdump explain {code}" for code in codes]
        self._say()
        self._say("Next")
        for line in lines:
            self._say("  " + self._shown(line))  # a command stays on one line, to be copied

    def _is_endangered(self, fold: _Fold) -> bool:
        """Whether a restart destroys something of what an error is about, or of the directory that it is in."""
        if fold.finding.severity != ERROR:
            return False
        starts = self._groups[fold.group].starts
        word = fold.finding.broker_forecast.partition(" ")[0]
        return word not in (fault_kind.IGNORE, fault_kind.BLIND) or any(start.verdict in LOSING for start in starts)

    def _say_labelled(self, label: str, text: str) -> None:
        for number, line in enumerate(_wrapped(text, self._width - _LABEL_WIDTH - 2)):
            self._say(f"  {'' if number else label:{_LABEL_WIDTH}}{line}")


class _Fold:
    """Findings of one code in one file: the first is shown, and where all are."""

    __slots__ = ("_bytes", "_offsets", "count", "finding", "group")

    def __init__(self, finding: Finding, group: str) -> None:
        self.finding = finding
        self.group = group
        self.count = 0
        self._offsets = Ranges()
        self._bytes = Ranges()  # of those whose offsets nobody knows
        self.add(finding)

    def add(self, finding: Finding) -> None:
        self.count += 1
        if finding.offset_first is not None and finding.offset_last is not None:
            self._offsets.add(finding.offset_first, finding.offset_last)
        elif finding.end > finding.start:
            self._bytes.add(finding.start, finding.end - 1)

    def text(self) -> str:
        """How many there are, and at which offsets; nothing where there is but one."""
        if self.count == 1:
            return ""
        places = [
            ranges.text(what, _MOST_RANGES) for what, ranges in (("offset", self._offsets), ("byte", self._bytes)) if ranges
        ]
        is_cut = max(len(self._offsets), len(self._bytes)) > _MOST_RANGES
        all_of_them = "; --all shows each" if is_cut else ""
        where = f", at {'; '.join(places)}{all_of_them}" if places else "; --all shows each"
        return f" {self.count:,} findings like this{where}."


class _Beyond:
    """Findings of one code that are only counted; those of a file come together."""

    __slots__ = ("_path", "files", "findings")

    def __init__(self) -> None:
        self.findings = self.files = 0
        self._path = ""

    def count(self, path: str) -> None:
        self.findings += 1
        self.files += path != self._path
        self._path = path


class _Group:
    """What is known of one directory."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = os.path.basename(os.path.abspath(path)) or path
        self.files = self.segments = self.batches = self.size = 0
        self.first_offset = self.last_offset = NO_OFFSET
        self.counts: dict[str, int] = {}
        self.restarts: dict[str, list[Finding]] = {}
        self.starts: list[Start] = []
        self._unreadable = Ranges()
        self._is_least = False  # whether consumers may lack more than that
        self._logs: list[FileReport] = []
        self._log_names: list[str] = []
        self._with_findings: set[str] = set()
        self._drawn: list[FileReport] = []

    @property
    def rank(self) -> tuple[int, ...]:
        """The larger, the worse."""
        return tuple(self.counts.get(severity, 0) for severity in SEVERITIES)

    def note(self, finding: Finding) -> None:
        self.counts[finding.severity] = self.counts.get(finding.severity, 0) + 1
        self._note_unreadable(finding)
        if len(self._with_findings) < _MAPS:
            self._with_findings.add(finding.path)
        word = finding.broker_forecast.partition(" ")[0].rstrip(":,;")
        if finding.severity != INFO:
            kept = self.restarts.setdefault(word, [])
            if not any(known.path == finding.path for known in kept) and len(kept) < _MAPS:
                kept.append(finding)

    def _note_unreadable(self, finding: Finding) -> None:
        """Take note of offsets that consumers are not given: those of batches that a check had to step over."""
        if finding.code == _FLOOD:
            self._is_least = True
        if not finding.skipped or finding.severity == INFO or finding.file_type != _LOG:
            return
        self._is_least |= finding.code in _HIDE_WHAT_FOLLOWS
        if finding.offset_first is None or finding.offset_last is None or _is_implausible(finding):
            self._is_least = True
        else:
            self._unreadable.add(finding.offset_first, finding.offset_last)

    @property
    def unreadable(self) -> int:
        """How many offsets consumers cannot read."""
        return self._unreadable.total

    def unreadable_text(self) -> str:
        """How many offsets consumers cannot read, and which."""
        ranges = self._unreadable.merged()
        of_all = ""
        if self.first_offset != NO_OFFSET:
            first, last = min(self.first_offset, ranges[0][0]), max(self.last_offset, ranges[-1][1])
            of_all = f" of {last - first + 1:,}"
        least = "at least " if self._is_least else ""
        offsets = self._unreadable.text("offset", _MOST_LOST_RANGES).partition(" ")[2]
        noun = "offset" if self._unreadable.total == 1 and not of_all else "offsets"
        return f"consumers cannot read {least}{self._unreadable.total:,}{of_all} {noun}: {offsets}."

    def add(self, report: FileReport) -> None:
        self.files += 1
        self.size += report.size
        if report.file_type == "log":
            self.segments += 1
            self.batches += report.batches_intact + report.batches_salvaged + report.batches_lost
            self._log_names.append(report.path.rpartition("/")[2])
            if report.first_offset != NO_OFFSET:
                is_first = self.first_offset == NO_OFFSET or report.first_offset < self.first_offset
                self.first_offset = report.first_offset if is_first else self.first_offset
                self.last_offset = max(self.last_offset, report.last_offset)
        has_finding = report.path in self._with_findings
        if has_finding and (report.size or report.file_type in _KINDS_WITH_MAP):
            self._drawn.append(report)
        elif report.file_type in _KINDS_WITH_MAP and len(self._logs) < _MAPS:
            self._logs.append(report)

    def drawn(self) -> list[FileReport]:
        """The files to be drawn: those with findings before others, but shown in the order of their names."""
        kept = self._drawn[:_MAPS]
        kept += self._logs[: _MAPS - len(kept)]
        return sorted(kept, key=lambda report: report.path)

    def about(self) -> str:
        """What it holds, in a line."""
        if not self.files:
            return "not examined"
        parts = [
            counted(self.segments, "segment") if self.segments else counted(self.files, "file"),
            size_text(self.size),
        ]
        if self.first_offset != NO_OFFSET:
            parts.append(f"offsets {self.first_offset:,} to {self.last_offset:,}")
        return ", ".join(parts)

    def verdict(self) -> str:
        """How many findings of each severity, the worst first."""
        return ", ".join(counted(self.counts[word], word) for word in SEVERITIES if word in self.counts) or "clean"

    def restart(self, word: str) -> str:
        """Where what this word says would happen, and what that would cost, as far as it is known."""
        findings = sorted(self.restarts[word], key=lambda finding: (finding.path, finding.start))
        first = findings[0]
        name = first.path.rpartition("/")[2]
        if word != fault_kind.CUT or not first.path.endswith(file_name.LOG):
            more = f" and {counted(len(findings) - 1, 'more file')}" if len(findings) > 1 else ""
            return name + more
        text = f"{name} at byte {first.start:,}"
        if first.offset_first is not None:
            text += f", offset {first.offset_first:,}"
            if self.last_offset >= first.offset_first:
                text += f"; {counted(self.last_offset - first.offset_first + 1, 'offset')} from there on"
        later = sum(other > name for other in self._log_names)
        if later:
            text += f"; {counted(later, 'later segment')}"
        return text


def _is_implausible(finding: Finding) -> bool:
    """Whether the header of damaged bytes claims more offsets than they can hold."""
    assert finding.offset_first is not None and finding.offset_last is not None
    count = finding.offset_last - finding.offset_first + 1
    is_far = finding.offset_first < 0 or finding.offset_last > _MOST_OFFSET
    return finding.offset_certainty == ESTIMATED and (is_far or count > (finding.end - finding.start) * _OFFSETS_A_BYTE)


def _range(finding: Finding) -> str:
    """Where in a file a finding is; nothing where it is about all of it."""
    if finding.end > finding.start:
        last = finding.end - 1
        return f", bytes {finding.start:,} to {last:,}" if last > finding.start else f", byte {finding.start:,}"
    return f", byte {finding.start:,}" if finding.start else ""


def _worst_status(cells: bytes) -> str | None:
    bits = 0
    for cell in cells:
        bits |= cell
    return next((status for status in _CELLS if bits & STATUS_BITS[status]), None)


def _percent(report: FileReport) -> str:
    """How much of a file is intact; 100 only where all of it is."""
    if not report.size:
        return "empty"
    if report.bytes_intact == report.size:
        return "100 %"
    thousandths = report.bytes_intact * 100_000 // report.size
    return f"{thousandths / 1000:.3f}".rstrip("0").rstrip(".") + " %"


def _note(report: FileReport) -> str:
    notes = []
    if report.batches_lost:
        is_log = report.file_type in _KINDS_WITH_MAP
        things = counted(report.batches_lost, "batch", "batches") if is_log else counted(report.batches_lost, "entry", "entries")
        notes.append(f"{things} damaged")
    elif report.bytes_damaged:
        notes.append(f"{counted(report.bytes_damaged, 'byte')} damaged")
    if report.batches_salvaged:
        notes.append(f"{report.batches_salvaged:,} salvaged")
    if report.bytes_zero:
        notes.append("zeros")
    if report.bytes_not_examined:
        notes.append("not examined" if report.bytes_not_examined == report.size else "partly examined")
    return ", ".join(notes)


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def _wrapped(text: str, width: int) -> Iterable[str]:
    """Lines that break between words, never in one; so no number, name or path is ever broken."""
    from textwrap import wrap  # slow to load, and what is clean is reported without

    return wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False)
