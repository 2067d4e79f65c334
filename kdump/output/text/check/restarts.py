"""The section of a check's report that says what a restart of the broker would do."""

from __future__ import annotations

import os

from kdump.checks import catalogue
from kdump.checks.catalogue import fault_kind
from kdump.checks.wording import counted
from kdump.forecasts.sentences import CLEAN_STOP, LOADS, NO_START, SAFE, one_stop
from kdump.forecasts.settings import CLEAN
from kdump.output.text.check.directory import worst_first
from kdump.verdicts.verdict import ends_all_starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kdump.output.text.check.directory import Directory
    from kdump.output.text.check.folding import Folds
    from kdump.output.text.writer import ReportWriter

_DIRECTORIES = 3  # whose restart is shown
_ASSUMED = "(There is no recovery-point-offset-checkpoint, which says how much was flushed.)"
_ORDER = (
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
_DESTROYING = (fault_kind.DIE, fault_kind.WIPE, fault_kind.CUT, fault_kind.SPLIT)


def write_restarts(out: ReportWriter, directories: Collection[Directory], folds: Folds, *, is_crowded: bool) -> None:
    """The forecast starts of the worst directories; of all others, what each finding makes likely, unless it `is_crowded`."""
    names_directories = len(directories) > 1
    likely = {id(one): _likely(one, has_neighbours=names_directories) for one in directories}
    told_of = (one for one in directories if likely[id(one)] or _does_something(one))
    ranked = worst_first(directory for directory in told_of if directory.counts)
    if is_crowded:
        told = _told_files(folds)
        ranked = [directory for directory in ranked if _does_something(directory) and not _is_only(directory, told)]
    if not ranked:
        return
    out.line()
    out.line("If this broker restarts")
    forecast = [directory for directory in ranked if directory.starts and (_does_something(directory) or not names_directories)]
    forecast = forecast[:_DIRECTORIES]
    for directory in forecast:
        _write_starts(out, directory, f"{directory.path}: " if names_directories else "")
    if any(start.recovery_point_is_assumed and start.after != CLEAN for directory in forecast for start in directory.starts):
        out.wrapped(_ASSUMED, 2)
    for word in () if is_crowded else _ORDER:
        others = ranked if word == fault_kind.BLIND else [directory for directory in ranked if directory not in forecast]
        found = [directory for directory in others if word in likely[id(directory)]]
        if found:
            _write_likely(out, word, found)


def _likely(directory: Directory, *, has_neighbours: bool) -> set[str]:
    """What findings make likely of a directory, and no simulated start knows better."""
    is_refuted = has_neighbours and directory.starts and not _does_something(directory)
    return {word for word in _ORDER if word in directory.restarts and not (is_refuted and word in _DESTROYING)}


def _told_files(folds: Folds) -> list[tuple[str, str]]:
    """The directories and names of files with a finding that they end each start."""
    found = [fold.finding for fold in folds.worst_first() if ends_all_starts(fold.finding)]
    return [(os.path.dirname(finding.path), os.path.basename(finding.path)) for finding in found]


def _is_only(directory: Directory, told: Sequence[tuple[str, str]]) -> bool:
    """Whether all starts of a directory fail because of one of these files, of it or of its log directory."""
    places = (directory.path, os.path.dirname(directory.path))
    names = [name for place, name in told if place in places]
    return all(any(f"{NO_START}{name}" in start.message for name in names) for start in directory.starts)


def _does_something(directory: Directory) -> bool:
    return any(start.verdict not in (LOADS, SAFE) for start in directory.starts)


def _write_starts(out: ReportWriter, directory: Directory, name: str) -> None:
    """Each start of a directory in a line, the worst first; `kdump forecast` says more."""
    stops_of: dict[str, dict[str, None]] = {}  # by the text
    for start in directory.starts:
        stops_of.setdefault(start.message, {})[one_stop(start)] = None
    for text, stops in stops_of.items():
        crashes = [stop for stop in stops if stop != CLEAN_STOP]
        named = ["a crash"] if len(crashes) > 1 else crashes
        after = "any stop" if len(stops) > 1 and len(stops_of) == 1 else " or ".join([*stops.keys() & {CLEAN_STOP}, *named])
        out.wrapped(out.shown(f"{name}after {after}: {text}"), 2)


def _write_likely(out: ReportWriter, word: str, directories: list[Directory]) -> None:
    out.labelled(word, catalogue.FORECASTS[word])
    out.labelled("", f"here: {out.shown(directories[0].restart(word))}")
    if len(directories) > 1:
        out.labelled("", f"and in {counted(len(directories) - 1, 'more directory', 'more directories')}")
