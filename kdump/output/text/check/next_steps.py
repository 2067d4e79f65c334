"""The last sections of a check's report: what is lost, what to do, and the commands to type next."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.paths import is_url
from kdump.checks import catalogue
from kdump.checks.catalogue import fault_kind
from kdump.checks.finding import ERROR, INFO
from kdump.errors import Unreadable
from kdump.formats import foreign, tree
from kdump.output.text.mending import COPY_FIRST, command_to_recover
from kdump.verdicts.verdict import LOSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.output.text.check.advice import Advice
    from kdump.output.text.check.directory import Directory
    from kdump.output.text.check.folding import Fold, Folds
    from kdump.output.text.writer import ReportWriter

_CODES_TO_EXPLAIN = 3
_NOT_RECOGNIZED = "file-not-recognized"


def write_remedies(out: ReportWriter, folds: Folds, advice: Advice) -> None:
    """What the worst faults cost, and what to do about each."""
    codes = _codes_to_explain(folds)
    if codes:
        out.line()
        out.line("What is lost, and what to do")
    for code in codes:
        kind = catalogue.FAULTS[code]
        out.line(f"  {code}")
        out.labelled("lost", kind.loss)
        running = catalogue.RUNNING.get(code)
        if running is not None:
            out.labelled("running", running)
        rebuild = advice.rebuild() if kind.action == fault_kind.REBUILD else ""
        out.labelled("to do", rebuild or kind.remedy)


def write_next_steps(out: ReportWriter, folds: Folds, directories: Mapping[str, Directory], advice: Advice) -> None:
    """Commands to type next, each on one line, to be copied."""
    import shlex

    steps = []
    worst = folds.worst_first()
    endangered = next((fold.group for fold in worst if _is_endangered(fold, directories)), None)
    if endangered is not None:
        if not is_url(endangered):
            steps.append(f"cp -a {shlex.quote(endangered)} ELSEWHERE   # before any restart")
        if _is_directory(endangered):
            steps.append(f"kdump forecast {shlex.quote(endangered)}   # what a start does, step by step")
    damaged_partition = next(filter(None, map(_damaged_partition, worst)), None)
    if damaged_partition is not None:
        if is_url(damaged_partition):
            steps.append(COPY_FIRST.format(shlex.quote(damaged_partition)))
        steps.append(command_to_recover(damaged_partition))
    unread = next((fold.finding for fold in worst if fold.finding.code == _NOT_RECOGNIZED and fold.finding.found == "log"), None)
    if unread is not None:
        steps.append(f"kdump check --as log {shlex.quote(unread.path)}   # it was not examined")
    steps += advice.steps()
    damaged = next((fold.finding for fold in worst if fold.finding.file_type == "log" and fold.finding.skipped), None)
    if damaged is not None:
        steps.append(f"kdump log --output table --from-position {damaged.start} {shlex.quote(damaged.path)}")
    codes = _codes_to_explain(folds) or list(dict.fromkeys(fold.finding.code for fold in worst))[:_CODES_TO_EXPLAIN]
    steps += [f"kdump explain {code}" for code in codes]
    out.line()
    out.line("Next")
    for step in steps:
        out.line("  " + out.shown(step))


def _damaged_partition(fold: Fold) -> str | None:
    """The partition directory whose log has an error; None if it is another kind of finding, or only a file was checked."""
    finding = fold.finding
    is_of_log = finding.severity == ERROR and finding.file_type == "log" and finding.code != foreign.CODE
    if not is_of_log or not _is_directory(fold.group):
        return None
    directory = os.path.dirname(finding.path)
    return directory if tree.directory_name(directory) is not None else None


def _is_directory(path: str) -> bool:
    """Whether a path leads to a directory; a hint, where nothing else depends on it."""
    try:
        return system.is_directory(path)
    except Unreadable:
        return False


def _codes_to_explain(folds: Folds) -> list[str]:
    """The worst codes that are more than information."""
    codes = dict.fromkeys(fold.finding.code for fold in folds.worst_first() if fold.finding.severity != INFO)
    return list(codes)[:_CODES_TO_EXPLAIN]


def _is_endangered(fold: Fold, directories: Mapping[str, Directory]) -> bool:
    """Whether a restart destroys something of what an error is about, or of the directory that it is in."""
    if fold.finding.severity != ERROR:
        return False
    starts = directories[fold.group].starts
    word = fold.finding.broker_forecast.partition(" ")[0]
    return word not in (fault_kind.IGNORE, fault_kind.BLIND) or any(start.verdict in LOSING for start in starts)
