"""The forms of `kdump forecast`: what a restart would do, told to people, and as rows for programs."""

from __future__ import annotations

import os
import shlex
from textwrap import wrap

from kdump.binary.java_strings import escaped
from kdump.checks.wording import counted
from kdump.forecasts.outcome import DIE, OFFLINE, STRAY
from kdump.forecasts.places import LOG_DIRECTORY, PARTITION
from kdump.forecasts.row import Forecast
from kdump.forecasts.sentences import DAMAGE, FAILS, LOSS, SAFE, TRAP, TRIMS, UNSURE, as_sentence, sentences, stop, verdict
from kdump.forecasts.settings import CLEAN
from kdump.output.findings.rows import as_json
from kdump.output.rows.csv import CsvOutput
from kdump.output.text.sizes import size_text
from kdump.tables import Bool, Float64, Int32, Int64, Row, Table, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Protocol

    from kdump.forecasts.row import Remedy
    from kdump.output.text.style import ReportStyle
    from kdump.verdicts.verdict import Verdict

    Write = Callable[[str], None]
    Texts = list[str]

    class Form(Protocol):
        """Takes the forecasts of one directory after the other."""

        def directory(self, rows: list[Forecast], name: str) -> None: ...
        def end(self, run: Run) -> None: ...


class ForecastSummary(Row):
    """The sum of a run of `kdump forecast`: the verdict on all directories, and why."""

    release: Text
    directories_not_examined: Int64
    seconds: Float64
    exit_code: Int32
    verdict: Text
    reasons: Texts


SUMMARY_DESCRIPTIONS = {
    "release": "The release of the broker whose starts these are.",
    "directories_not_examined": "How many directories could not be examined.",
    "seconds": "How long the run took.",
    "exit_code": "The exit code of the command.",
    "verdict": "What all this comes to: loses at start, damaged, not examined, the worst first; or clean.",
    "reasons": "Why: a word of the verdict, and the start that it is about.",
}
"""What each column of the summary says, for schemas."""


class Run:
    """What is to be said at the end: releases, how many directories there were, how many could not be examined."""

    __slots__ = ("asked", "failed", "release", "seconds", "stops", "verdict")

    def __init__(self, *, release: str, asked: str, failed: int, seconds: float, verdict: Verdict, stops: set[bool]) -> None:
        """`stops`: whether the log directories hold the mark of a clean stop."""
        self.release = release
        self.asked = asked
        self.failed = failed
        self.seconds = seconds
        self.verdict = verdict
        self.stops = stops

    def summary(self) -> ForecastSummary:
        """What programs are told at the end."""
        found = self.verdict
        return ForecastSummary(self.release, self.failed, round(self.seconds, 3), found.exit_code, found.text, found.reasons)


def form_of(name: str, write: Write, style: ReportStyle) -> Form:
    """The form of this name."""
    return FORMS[name](write, style)


# --- rows


class NdjsonLines:
    """One object a line: `kind` says whether it is a `forecast`, or the `forecast-summary` at the end."""

    def __init__(self, write: Write, _style: ReportStyle) -> None:
        self._write = write

    def directory(self, rows: list[Forecast], name: str) -> None:
        for row in rows:
            self._write(as_json(row, kind="forecast") + "\n")

    def end(self, run: Run) -> None:
        self._write(as_json(run.summary(), kind="forecast-summary") + "\n")


class JsonDocument:
    """One document with `forecasts`, each of them on a line, and the `summary`."""

    def __init__(self, write: Write, _style: ReportStyle) -> None:
        self._write = write
        self._separator = "\n"
        write('{"forecasts":[')

    def directory(self, rows: list[Forecast], name: str) -> None:
        for row in rows:
            self._write(self._separator + as_json(row))
            self._separator = ",\n"

    def end(self, run: Run) -> None:
        self._write(f'\n],\n"summary":{as_json(run.summary())}}}\n')


class CsvLines:
    """A line each; lists are JSON."""

    def __init__(self, write: Write, style: ReportStyle) -> None:
        self._output = CsvOutput(write, is_terminal=style.is_terminal)
        self._output.start(Forecast)

    def directory(self, rows: list[Forecast], name: str) -> None:
        values = [[getattr(row, column.name) for column in Forecast.schema] for row in rows]
        self._output.write(Table.of(Forecast, values))

    def end(self, run: Run) -> None:
        self._output.end()


class ForecastLine(Row):
    """What a table shows of a forecast."""

    after: Text
    recovery_point: Text
    outcome: Text
    log_end: Int64 | None
    data_end: Int64 | None
    end_differs: Bool
    bytes_lost: Int64
    lost_records: Int64
    stop_at: Int64 | None
    segments_gone: Int64
    exception: Text | None
    file: Text


class AlignedColumns:
    """Aligned columns, the starts of each directory under its name."""

    def __init__(self, write: Write, style: ReportStyle) -> None:
        from kdump.output.rows.table import TerminalOutput

        self._output = TerminalOutput(write, has_colors=style.has_colors, width=style.width if style.is_terminal else None)
        self._output.start(ForecastLine)

    def directory(self, rows: list[Forecast], name: str) -> None:
        lines = []
        for row in rows:
            line = {column.name: getattr(row, column.name, None) for column in ForecastLine.schema}
            line |= {
                "recovery_point": f"{row.recovery_point}{' (assumed)' if row.recovery_point_is_assumed else ''}",
                "stop_at": row.consumers_stop_at,
                "segments_gone": len(row.segments_gone),
                "file": row.path,
                "exception": (row.exception or "").rpartition(".")[2] or None,
            }
            lines.append(list(line.values()))
        self._output.write(Table.of(ForecastLine, lines))

    def end(self, run: Run) -> None:
        self._output.end()


# --- text

_ASSUMED = (
    " There is no recovery-point-offset-checkpoint: both ends, 0 and the end of the log, are assumed, the worst first;"
    " --recovery-point says which it is."
)
_WITHOUT_CHECKPOINT = "a start then takes zero for all that it noted, as it does with a bad one"
_STOPS = {
    True: " It was stopped cleanly: .kafka_cleanshutdown is there.",
    False: " There is no .kafka_cleanshutdown: it runs, or its stop was unclean.",
}
_STOPS_DIFFER = " Some of the log directories hold .kafka_cleanshutdown and others do not: each starts as after its own stop."
_COLORS = {SAFE: "32", TRIMS: "33", UNSURE: "33", DAMAGE: "33", LOSS: "31", TRAP: "31", FAILS: "31"}
_INDENT = 7
_MIN_WIDTH = 40
_MOST_TOLD = 20  # directories that are not safe
_MOST_SAFE = 5  # directories that get a line although nothing happens to them
_MOST_CONDITIONS = 6


class TextReport:
    """Each directory with its starts, those where nothing happens counted where there are many; then what to do instead."""

    def __init__(self, write: Write, style: ReportStyle) -> None:
        self._write = write
        self._style = style
        self._width = max(style.width, _MIN_WIDTH)
        self._safe: list[tuple[list[Forecast], str]] = []
        self._safe_count = self._told = self._untold = 0
        self._failing = 0
        self._is_assumed = False
        self._conditions: dict[str, None] = {}
        self._not_loaded: dict[str | None, int] = {}  # further directories that are not loaded, by the reason
        self._steps: list[str] = []

    def directory(self, rows: list[Forecast], name: str) -> None:
        self._is_assumed |= any(row.recovery_point_is_assumed and row.after != CLEAN for row in rows)
        self._conditions |= {condition: None for row in rows if not row.is_doubtful for condition in row.conditions}
        if all(row.is_sound for row in rows):
            self._safe_count += 1
            if len(self._safe) <= _MOST_SAFE:
                self._safe.append((rows, name))
            return
        self._failing += any(verdict(row) == FAILS for row in rows)
        if all(row.is_not_loaded for row in rows):
            if rows[0].reason in self._not_loaded:
                self._not_loaded[rows[0].reason] += 1
                self._note_steps(rows)
                return
            self._not_loaded[rows[0].reason] = 0
        if self._told == _MOST_TOLD:
            self._untold += 1
            return
        if self._told:
            self._say()
        self._told += 1
        self._say_directory(rows, name)
        self._note_steps(rows)

    def end(self, run: Run) -> None:
        for reason, count in self._not_loaded.items():
            if count:
                self._say()
                self._say_wrapped(self._shown(f"{counted(count, 'more directory', 'more directories')} likewise: {reason}."), 0)
        if self._untold:
            self._say()
            untold = counted(self._untold, "more directory is", "more directories are")
            self._say_wrapped(f"{untold} not safe or damaged; --output ndjson tells of each.", 0)
        if self._safe_count and self._told:
            self._say()
        if self._safe_count <= _MOST_SAFE:
            for rows, name in self._safe:
                self._say_directory(rows, name)
        else:
            self._say(
                self._colored(SAFE) + f"   {counted(self._safe_count, 'directory', 'directories')} to which nothing happens"
            )
        self._say_conditions()
        self._say_next(run)
        about = f"Starts of a broker {run.release}"
        if run.asked != run.release:
            about += f", the nearest to {run.asked} of those that are known"
        stopped = "".join(_STOPS[was_clean] for was_clean in run.stops) if len(run.stops) < 2 else _STOPS_DIFFER
        unread = "" if self._told else " The CRCs of all batches fit; kdump check reads all the rest, too."
        assumed = _ASSUMED if self._is_assumed else ""
        missing = f" {counted(run.failed, 'directory', 'directories')} could not be examined." if run.failed else ""
        self._say_wrapped(f"{about}.{stopped}{assumed}{unread}{missing} {run.seconds:.1f} s.", 0)
        self._say_wrapped(f"Verdict: {run.verdict.text}. Exit status {run.verdict.exit_code}.", 0)

    # directories

    def _say_directory(self, rows: list[Forecast], name: str) -> None:
        first = rows[0]
        about = f"{counted(first.segments_before, 'segment')}, {size_text(first.size_before)}"
        if first.kind != PARTITION:
            about = "a log directory itself" if first.kind == LOG_DIRECTORY else "no partition directory"
        self._say_wrapped(f"{self._shown(name)}   {about}", 0)
        for alike in _folded(rows):
            word = verdict(alike[0])
            self._say(f"{self._colored(word)}{' ' * (_INDENT - len(word))}after {stop(alike)}")
            for line in sentences(alike[0]):
                self._say_wrapped(self._shown(line), _INDENT)

    # what comes next

    def _note_steps(self, rows: list[Forecast]) -> None:
        """Commands for a directory that is not safe."""
        path = rows[0].path
        quoted = shlex.quote(path)
        if rows[0].kind != PARTITION or rows[0].is_misnamed:
            self._steps += _steps_for_stranger(rows[0], quoted)
            return
        if rows[0].duplicate:
            both = " ".join(map(shlex.quote, sorted((path, rows[0].duplicate))))
            self._steps.append(f"kdump log --output table {both}   # which of the two to keep")
            return
        circumstance = next(filter(None, map(_step_for_circumstance, rows)), None)
        if circumstance is not None:
            self._steps.append(circumstance)
            return
        if rows[0].bad_checkpoint:
            self._steps.append(
                f"mv {shlex.quote(rows[0].bad_checkpoint)} ELSEWHERE   # with the broker stopped; {_WITHOUT_CHECKPOINT}"
            )
            if all(row.is_safe_but_for_checkpoint for row in rows):
                return
        if all(row.is_safe for row in rows):
            self._steps.append(f"kdump check {quoted}   # what is damaged, and where; a start leaves it as it is")
            return
        self._steps.append(f"cp -a {quoted} ELSEWHERE   # before any restart, with the broker stopped")
        told: set[str] = set()
        for row in rows:
            if row.is_safe or row.remedy is None:
                continue
            for step in _steps(row.remedy, path):
                if step not in told:
                    self._steps.append(f"{step}   # then {_after_remedy(row.remedy.then)}")
                told.add(step)
        clean = next((row for row in rows if row.after == CLEAN and row.is_safe), None)
        if clean is not None:
            end_by_itself = "stop the broker cleanly, and let it end by itself: a clean start loses nothing"
            stays = clean.consumers_stop_at
            damage = "" if stays is None else f", but the damage stays, and consumers do not get past offset {stays:,}"
            self._steps.append(end_by_itself + damage)
        elif not told:
            self._steps.append(
                f"with a healthy replica: move {quoted} away while the broker is stopped, and let it be fetched again"
            )
        self._steps.append(f"kdump check {quoted}   # what is damaged, and where")

    def _say_conditions(self) -> None:
        """What the starts depend on, each once."""
        if self._conditions:
            self._say()
            self._say("Note")
            for condition in list(self._conditions)[:_MOST_CONDITIONS]:
                self._say_wrapped(self._shown(as_sentence(condition)), 2)
            if len(self._conditions) > _MOST_CONDITIONS:
                self._say(f"  {len(self._conditions) - _MOST_CONDITIONS:,} more; --output ndjson has all of them.")

    def _say_next(self, run: Run) -> None:
        if not self._told:
            return
        self._say()
        if self._failing:
            self._say_wrapped("One directory that fails keeps the broker from starting, and takes all others with it.", 0)
        self._say("Next")
        for step in dict.fromkeys(self._steps):
            self._say("  " + self._shown(step))  # a command stays on one line, to be copied

    # lines

    def _say(self, line: str = "") -> None:
        self._write(line.rstrip() + "\n")

    def _say_wrapped(self, text: str, indent: int) -> None:
        lines = wrap(text, self._width - indent, break_long_words=False, break_on_hyphens=False)
        for line in lines or [""]:
            self._say(" " * indent + line)

    def _colored(self, word: str) -> str:
        return f"\x1b[{_COLORS[word]}m{word}\x1b[0m" if self._style.has_colors else word

    def _shown(self, text: str) -> str:
        return escaped(text) if self._style.is_terminal else text


def _folded(rows: list[Forecast]) -> list[list[Forecast]]:
    """The starts, those with assumed recovery points together where all that is said of them is the same."""
    folded: list[list[Forecast]] = []
    for row in rows:
        if folded and row.recovery_point_is_assumed and _is_told_alike(row, folded[-1][0]):
            folded[-1].append(row)
        else:
            folded.append([row])
    return folded


def _is_told_alike(row: Forecast, other: Forecast) -> bool:
    return row.after == other.after and verdict(row) == verdict(other) and list(sentences(row)) == list(sentences(other))


def _steps(remedy: Remedy, path: str) -> Iterator[str]:
    """What to type."""
    if remedy.taken:
        yield f"mv {' '.join(shlex.quote(os.path.join(path, name)) for name in remedy.taken)} ELSEWHERE"
    for name in remedy.made_empty:
        yield f": > {shlex.quote(os.path.join(path, name))}"
    if remedy.is_without_log_start:
        yield f"take the line of {_called(path)} out of log-start-offset-checkpoint, and count one less in its second line"


def _step_for_circumstance(row: Forecast) -> str | None:
    """What to look at where it is not the data that keeps a log from being served."""
    quoted, log_directory = shlex.quote(row.path), os.path.dirname(os.path.abspath(row.path))
    if row.is_not_loaded:
        return f"{_shown_file(os.path.join(log_directory, 'meta.properties'))}   # {row.reason}"
    if row.is_denied:
        return f"ls -lna {quoted}   # owners and modes, to be mended with chown and chmod; and who the broker runs as"
    if row.dead_logs:
        return f"ls -l {quoted}   # where the links lead"
    if row.outcome == STRAY or row.is_doubtful:
        return f"{_shown_file(os.path.join(row.path, 'partition.metadata'))}   # {as_sentence(row.reason or row.conditions[0])}"
    return None


def _shown_file(path: str) -> str:
    """What to type to see a file, or that it is not there."""
    return f"cat {shlex.quote(path)}" if os.path.exists(path) else f"ls -la {shlex.quote(os.path.dirname(path))}"


def _steps_for_stranger(row: Forecast, quoted: str) -> list[str]:
    """Of what stands in a log directory and is no partition, or none by its name; only files of a partition may be moved."""
    if row.kind == LOG_DIRECTORY:
        return [f"in log.dirs, name {quoted} itself: it is a log directory, and the one around it none for this broker"]
    if row.kind == PARTITION:
        return [f"mv {quoted} ELSEWHERE   # out of the log directory, with the broker stopped: the name is no partition's"]
    return [f"ls -la {quoted}   # no partition directory: the broker starts only where log.dirs names a directory without it"]


def _after_remedy(row: Forecast) -> str:
    """What a start does once the remedy was applied, in a few words."""
    stop = "clean" if row.after == CLEAN else "unclean"
    if row.is_safe:
        return f"a start after a{'n' * (stop == 'unclean')} {stop} stop loses nothing"
    if row.outcome in (DIE, OFFLINE):
        return "less is lost"
    return f"the broker starts; {counted(row.lost_records, 'record')} and {counted(max(row.bytes_lost, 0), 'byte')} are lost"


def _called(path: str) -> str:
    return os.path.basename(os.path.abspath(path)) or path


FORMS: dict[str, Callable[[Write, ReportStyle], Form]] = {
    "text": TextReport,
    "ndjson": NdjsonLines,
    "json": JsonDocument,
    "csv": CsvLines,
    "table": AlignedColumns,
}
