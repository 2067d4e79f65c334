"""Forecasts as a report for people: each directory with its starts, then what to do instead."""

from __future__ import annotations

import os

from kdump.checks.wording import as_sentence, counted
from kdump.exit_codes import FINDINGS
from kdump.forecasts.outcome import DIE, OFFLINE
from kdump.forecasts.places import LOG_DIRECTORY, PARTITION
from kdump.forecasts.sentences import (
    DAMAGE,
    FAILS,
    LOADS,
    LOSS,
    NO_START,
    SAFE,
    TRAP,
    TRIMS,
    UNDONE,
    UNSURE,
    rank,
    sentences,
    stop,
    summary,
    verdict,
)
from kdump.forecasts.settings import CLEAN
from kdump.formats import tree
from kdump.output.rows.columns import width_of
from kdump.output.text.answer import write_verdict
from kdump.output.text.forecast_steps import add_steps
from kdump.output.text.sizes import size_text
from kdump.output.text.steps import Steps
from kdump.output.text.writer import ReportWriter, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.forecasts.row import Forecast
    from kdump.output.rows.forecast_summary import ForecastSummary
    from kdump.output.text.style import ReportStyle

_ASSUMED = (
    " There is no recovery-point-offset-checkpoint: both ends, 0 and the end of the log, are assumed, the worst first;"
    " --recovery-point says which it is."
)
_STOPS = {
    True: " It was stopped cleanly: .kafka_cleanshutdown is there.",
    False: " There is no .kafka_cleanshutdown: it is running, or its stop was unclean.",
}
_STOPS_DIFFER = " Some of the log directories have .kafka_cleanshutdown and others do not: each starts as after its own stop."
_COLORS = {SAFE: "32", LOADS: "36", TRIMS: "33", UNSURE: "33", DAMAGE: "33", LOSS: "31", TRAP: "31", FAILS: "31"}
_INDENT = 7
_GAP = 3
_MOST_SHOWN = 3  # directories that lose records, shown in full
_MOST_LINES = 10  # further ones that have a line
_MOST_ALIKE = 2  # of others to which the same happens
_MAX_SAFE = 5  # directories that get a line although nothing happens to them
_MAX_CONDITIONS = 6
_MORE = "Nor is it safe once the log directory is mended: kdump check says why."
_MOST_IN_FULL = 3  # kinds of fates; with more, there are fewer commands


class Alike:
    """Directories that fare alike at a start: some are shown, some have a line, all are counted."""

    def __init__(self) -> None:
        self.shown: list[list[Forecast]] = []
        self.lines: list[str] = []
        self.to_save: list[str] = []
        self.log_directories: dict[str, list[Forecast]] = {}  # each with the starts of one directory
        self.count = 0

    def add(self, rows: list[Forecast]) -> None:
        """Take the starts of a directory. Those that lose records have a line if they are not shown, others a path."""
        self.count += 1
        self.log_directories.setdefault(tree.parent(rows[0].path), rows)
        worst = max(rows, key=rank)
        loses = verdict(worst) in (LOSS, TRAP)
        most_shown = 1 if _is_of_log_directory(rows) else _MOST_SHOWN if loses else _MOST_ALIKE
        if len(self.shown) < most_shown:
            self.shown.append(rows)
        elif len(self.lines) < (_MOST_LINES if loses else _MOST_ALIKE):
            self.lines.append(f"{rows[0].path}: {summary(worst)}" if loses else rows[0].path)
        if loses:
            self.to_save.append(rows[0].path)


class ForecastReport:
    """Writes what starts do to directories, the worst first, then what to do instead.

    A fault of a log directory is shown once. Of directories that fare alike the first ones are shown, and safe ones are counted
    if there are many.
    """

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._out = ReportWriter(write, style)
        self._safe: list[list[Forecast]] = []
        self._safe_count = 0
        self._is_failing = self._has_block = False
        self._is_assumed = False
        self._conditions: dict[str, None] = {}
        self._alike: dict[tuple[object, ...], Alike] = {}
        self._steps = Steps()
        self._told_of_log_directories: set[str] = set()
        self._worst: tuple[tuple[int, ...], str] | None = None

    def directory(self, rows: list[Forecast]) -> None:
        self._is_assumed |= any(row.recovery_point_is_assumed and row.after != CLEAN for row in rows)
        self._conditions |= {condition: None for row in rows if not row.is_doubtful for condition in row.conditions}
        if all(row.is_sound for row in rows):
            self._safe_count += 1
            if len(self._safe) <= _MAX_SAFE:
                self._safe.append(rows)
            return
        worst = max(rows, key=rank)
        by_verdict, *rest = rank(worst)
        after_how_many = sum(verdict(row) == verdict(worst) for row in rows)  # stops: what fails after any is worse
        badness = by_verdict, after_how_many, *rest
        if self._worst is None or badness > self._worst[0]:
            self._worst = badness, _reason(worst)
        self._is_failing |= any(verdict(row) == FAILS and not row.is_only_unserved for row in rows)
        self._alike.setdefault(_kind(rows), Alike()).add(rows)

    def end(self, row: ForecastSummary) -> None:
        found = sorted(self._alike.values(), key=lambda alike: max(map(rank, alike.shown[0])), reverse=True)
        if len(found) > _MOST_IN_FULL:
            self._steps = Steps(is_brief=True)
        for alike in sorted(found, key=lambda alike: not _is_of_log_directory(alike.shown[0])):  # what others need not repeat
            self._write_alike(alike)
        if self._safe_count and not self._alike and self._safe_count <= _MAX_SAFE:
            for rows in self._safe:
                self._write_directory(rows, *_head(rows))
        elif self._safe_count:
            self._begin_block()
            self._out.line(
                self._colored(SAFE) + f"   {counted(self._safe_count, 'directory', 'directories')} to which nothing happens"
            )
        self._write_conditions()
        self._write_next()
        failed = row.directories_not_examined
        about = f"Starts of a broker {row.release}"
        if row.asked != row.release:
            about += f", the known release nearest to {row.asked}"
        stopped = "".join(_STOPS[was_clean] for was_clean in row.stops) if len(row.stops) < 2 else _STOPS_DIFFER
        is_sound = not (self._alike or failed)
        unread = " The CRCs of all batches match; records were not read: kdump check reads all." if is_sound else ""
        assumed = _ASSUMED if self._is_assumed else ""
        missing = f" {counted(failed, 'directory', 'directories')} could not be examined." if failed else ""
        self._out.wrapped(f"{about}.{stopped}{assumed}{unread}{missing} {row.seconds:.1f} s.")
        reasons = row.reasons
        if self._worst is not None and row.exit_code == FINDINGS:
            reasons = [f"{reasons[0].partition(': ')[0]}: {self._worst[1]}"]
        write_verdict(self._out, row.verdict, reasons, row.exit_code, self._steps)

    def _write_alike(self, alike: Alike) -> None:
        """Some directories in full, some in a line, and how many more there are."""
        for rows in alike.shown:
            self._begin_block()
            self._write_directory(rows, *_head(rows, alike))
        is_of_log_directory = _is_of_log_directory(alike.shown[0])
        for rows in alike.log_directories.values() if is_of_log_directory else alike.shown:
            add_steps(self._steps, rows)
        for path in alike.to_save:
            self._steps.save(path)
        more = alike.count - len(alike.shown)
        if not more or is_of_log_directory:
            return
        worst = max(alike.shown[0], key=rank)
        word = verdict(worst)
        self._begin_block()
        self._out.line(
            f"{self._colored(word)}{' ' * (_INDENT - len(word))}{counted(more, 'more directory', 'more directories')} likewise:"
        )
        for line in alike.lines:
            self._out.wrapped(self._out.shown(line), _INDENT)
        if more > len(alike.lines):
            self._out.line(f"{' ' * _INDENT}and {more - len(alike.lines):,} more; --output ndjson lists each")

    def _begin_block(self) -> None:
        """An empty line after the block before."""
        if self._has_block and not self._steps.is_brief:
            self._out.line()
        self._has_block = True

    def _write_directory(self, rows: list[Forecast], path: str, about: str) -> None:
        """The starts of a directory, or of all partitions of a log directory."""
        is_of_log_directory = _is_of_log_directory(rows)
        starts = [
            (after, alike, self._not_told(alike, is_of_log_directory=is_of_log_directory)) for after, alike in _folded(rows)
        ]
        name = self._out.shown(path)
        if width_of(name) + len(about) + _GAP > self._out.width:
            self._out.line(name)
            name = ""
        self._out.line(f"{name}{' ' * _GAP}{about}")
        for after, alike, lines in starts:
            if not lines:
                continue
            word = verdict(alike)
            head = f"{self._colored(word)}{' ' * (_INDENT - len(word))}"
            if self._steps.is_brief and len(starts) == 1:  # after any stop
                first, *rest = wrapped(self._out.shown(lines.pop(0)), self._out.width - _INDENT)
                self._out.line(f"{head}{first}")
                for line in rest:
                    self._out.line(" " * _INDENT + line)
            else:
                self._out.line(f"{head}after {after}{', counted as a loss' if word == UNSURE else ''}")
            for line in lines:
                self._out.wrapped(self._out.shown(line), _INDENT)

    def _not_told(self, row: Forecast, *, is_of_log_directory: bool) -> list[str]:
        """The sentences of a start, without what is said of the whole log directory already."""
        lines = list(sentences(row))
        if row.outcome in (DIE, OFFLINE) and lines:
            if is_of_log_directory:
                self._told_of_log_directories.add(lines[0])
            elif lines[0] in self._told_of_log_directories:
                return [line for line in lines[1:] if line != UNDONE] or [_MORE]
        return lines

    def _write_conditions(self) -> None:
        """What the starts depend on, each condition once."""
        if self._steps.is_brief and len(self._conditions) == 1:
            self._out.wrapped(self._out.shown(f"Note: {as_sentence(*self._conditions)}"))
        elif self._conditions:
            self._out.line()
            self._out.line("Note")
            for condition in list(self._conditions)[:_MAX_CONDITIONS]:
                self._out.wrapped(self._out.shown(as_sentence(condition)), 2)
            if len(self._conditions) > _MAX_CONDITIONS:
                self._out.line(f"  {len(self._conditions) - _MAX_CONDITIONS:,} more; --output ndjson has all of them.")

    def _write_next(self) -> None:
        if not self._alike:
            return
        self._out.line()
        if self._is_failing and not self._steps.is_brief:
            self._out.wrapped("One directory that fails keeps the broker from starting, and so takes all others offline.")
        self._out.line("Next")
        self._steps.write(self._out)

    def _colored(self, word: str) -> str:
        return self._out.colored(word, _COLORS[word])


def _reason(row: Forecast) -> str:
    """What a start does to a directory, for the last line."""
    text = summary(row)
    if verdict(row) == FAILS:
        place, reason = row.bad_checkpoint or row.path, text.removeprefix(NO_START)
        name = os.path.basename(place)
        return f"{place}{reason.removeprefix(name)}" if reason.startswith(name) else f"{place}: {reason}"
    return f"{row.path}, after {stop([row])}: {text}"


def _is_of_log_directory(rows: list[Forecast]) -> bool:
    """Whether nothing is the matter with a partition itself, but with its log directory."""
    return all(row.is_not_loaded or row.bad_checkpoint and row.is_safe_but_for_checkpoint for row in rows)


def _head(rows: list[Forecast], alike: Alike | None = None) -> tuple[str, str]:
    """The path of what is shown, and what is there."""
    first = rows[0]
    if first.kind == LOG_DIRECTORY:
        return first.path, "itself a log directory"
    if first.kind != PARTITION:
        return first.path, "not a partition directory"
    if alike is not None and _is_of_log_directory(rows):
        where = "the log directory" if len(alike.log_directories) == 1 else "log directories"
        return " ".join(alike.log_directories), f"{where} of {counted(alike.count, 'partition')}"
    return first.path, f"{counted(first.segments_before, 'segment')}, {size_text(first.size_before)}"


def _kind(rows: list[Forecast]) -> tuple[object, ...]:
    """What happens to a directory, without what is of this directory alone."""
    if _is_of_log_directory(rows):
        return "" if rows[0].is_not_loaded else tree.parent(rows[0].path), rows[0].reason
    return tuple((row.after, verdict(row), row.outcome, row.exception, row.kind) for row in rows)


def _folded(rows: list[Forecast]) -> list[tuple[str, Forecast]]:
    """The starts with the stops before them. All are one if the same is said of each, and so are those from assumed points."""
    if len({row.after for row in rows}) > 1 and all(_says_the_same(row, rows[0]) for row in rows):
        return [("any stop", rows[0])]
    folded: list[list[Forecast]] = []
    for row in rows:
        first = folded[-1][0] if folded else None
        if first is not None and row.recovery_point_is_assumed and row.after == first.after and _says_the_same(row, first):
            folded[-1].append(row)
        else:
            folded.append([row])
    return [(stop(alike), alike[0]) for alike in folded]


def _says_the_same(row: Forecast, other: Forecast) -> bool:
    return verdict(row) == verdict(other) and list(sentences(row)) == list(sentences(other))
