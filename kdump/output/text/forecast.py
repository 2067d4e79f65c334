"""Forecasts as a report for people: each directory with its starts, then what to do instead."""

from __future__ import annotations

from kdump.checks.wording import as_sentence, counted
from kdump.forecasts.places import LOG_DIRECTORY, PARTITION
from kdump.forecasts.sentences import DAMAGE, FAILS, LOADS, LOSS, SAFE, TRAP, TRIMS, UNSURE, sentences, stop, verdict
from kdump.forecasts.settings import CLEAN
from kdump.output.rows.columns import width_of
from kdump.output.text.forecast_steps import add_steps
from kdump.output.text.sizes import size_text
from kdump.output.text.steps import Steps
from kdump.output.text.writer import ReportWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.forecasts.row import Forecast
    from kdump.output.rows.forecast_summary import ForecastTotals
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
_MAX_SHOWN = 20  # directories that are not safe
_MAX_SAFE = 5  # directories that get a line although nothing happens to them
_MAX_CONDITIONS = 6


class ForecastReport:
    """Writes the starts of each directory, then what to do instead. If nothing happens to many directories, they are counted."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._out = ReportWriter(write, style)
        self._safe: list[list[Forecast]] = []
        self._safe_count = self._shown = self._not_shown = 0
        self._failing = 0
        self._is_assumed = False
        self._conditions: dict[str, None] = {}
        self._not_loaded: dict[str | None, int] = {}  # further directories that are not loaded, by the reason
        self._steps = Steps()

    def directory(self, rows: list[Forecast]) -> None:
        self._is_assumed |= any(row.recovery_point_is_assumed and row.after != CLEAN for row in rows)
        self._conditions |= {condition: None for row in rows if not row.is_doubtful for condition in row.conditions}
        if all(row.is_sound for row in rows):
            self._safe_count += 1
            if len(self._safe) <= _MAX_SAFE:
                self._safe.append(rows)
            return
        self._failing += any(verdict(row) == FAILS for row in rows)
        if all(row.is_not_loaded for row in rows):
            if rows[0].reason in self._not_loaded:
                self._not_loaded[rows[0].reason] += 1
                add_steps(self._steps, rows)
                return
            self._not_loaded[rows[0].reason] = 0
        if self._shown == _MAX_SHOWN:
            self._not_shown += 1
            return
        if self._shown:
            self._out.line()
        self._shown += 1
        self._write_directory(rows)
        add_steps(self._steps, rows)

    def end(self, totals: ForecastTotals) -> None:
        for reason, count in self._not_loaded.items():
            if count:
                self._out.line()
                self._out.wrapped(self._out.shown(f"{counted(count, 'more directory', 'more directories')} likewise: {reason}."))
        if self._not_shown:
            self._out.line()
            not_shown = counted(self._not_shown, "more directory is", "more directories are")
            self._out.wrapped(f"{not_shown} not safe or damaged; --output ndjson lists each.")
        if self._safe_count and self._shown:
            self._out.line()
        if self._safe_count <= _MAX_SAFE:
            for rows in self._safe:
                self._write_directory(rows)
        else:
            self._out.line(
                self._colored(SAFE) + f"   {counted(self._safe_count, 'directory', 'directories')} to which nothing happens"
            )
        self._write_conditions()
        self._write_next()
        about = f"Starts of a broker {totals.release}"
        if totals.asked != totals.release:
            about += f", the known release nearest to {totals.asked}"
        stopped = "".join(_STOPS[was_clean] for was_clean in totals.stops) if len(totals.stops) < 2 else _STOPS_DIFFER
        unread = (
            ""
            if self._shown or totals.failed
            else " The CRCs of all batches match; records were not read: kdump check reads all."
        )
        assumed = _ASSUMED if self._is_assumed else ""
        missing = f" {counted(totals.failed, 'directory', 'directories')} could not be examined." if totals.failed else ""
        self._out.wrapped(f"{about}.{stopped}{assumed}{unread}{missing} {totals.seconds:.1f} s.")
        self._out.wrapped(f"Verdict: {totals.verdict.text}. Exit status {totals.verdict.exit_code}.")

    def _write_directory(self, rows: list[Forecast]) -> None:
        first = rows[0]
        about = f"{counted(first.segments_before, 'segment')}, {size_text(first.size_before)}"
        if first.kind != PARTITION:
            about = "itself a log directory" if first.kind == LOG_DIRECTORY else "not a partition directory"
        name = self._out.shown(first.path)
        if width_of(name) + len(about) + _GAP > self._out.width:
            self._out.line(name)
            name = ""
        self._out.line(f"{name}{' ' * _GAP}{about}")
        for alike in _folded(rows):
            word = verdict(alike[0])
            self._out.line(f"{self._colored(word)}{' ' * (_INDENT - len(word))}after {stop(alike)}")
            for line in sentences(alike[0]):
                self._out.wrapped(self._out.shown(line), _INDENT)

    def _write_conditions(self) -> None:
        """What the starts depend on, each condition once."""
        if self._conditions:
            self._out.line()
            self._out.line("Note")
            for condition in list(self._conditions)[:_MAX_CONDITIONS]:
                self._out.wrapped(self._out.shown(as_sentence(condition)), 2)
            if len(self._conditions) > _MAX_CONDITIONS:
                self._out.line(f"  {len(self._conditions) - _MAX_CONDITIONS:,} more; --output ndjson has all of them.")

    def _write_next(self) -> None:
        if not self._shown:
            return
        self._out.line()
        if self._failing:
            self._out.wrapped("One directory that fails keeps the broker from starting, and so takes all others offline.")
        self._out.line("Next")
        self._steps.write(self._out)

    def _colored(self, word: str) -> str:
        return self._out.colored(word, _COLORS[word])


def _folded(rows: list[Forecast]) -> list[list[Forecast]]:
    """The starts; those from assumed recovery points are put together if their text is the same."""
    folded: list[list[Forecast]] = []
    for row in rows:
        if folded and row.recovery_point_is_assumed and _is_alike(row, folded[-1][0]):
            folded[-1].append(row)
        else:
            folded.append([row])
    return folded


def _is_alike(row: Forecast, other: Forecast) -> bool:
    return row.after == other.after and verdict(row) == verdict(other) and list(sentences(row)) == list(sentences(other))
