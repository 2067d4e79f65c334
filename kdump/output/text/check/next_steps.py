"""The last sections of a check's report: what is lost, what to do, and the commands to type next."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.paths import is_url
from kdump.checks import catalogue
from kdump.checks.catalogue import fault_kind
from kdump.checks.finding import ERROR, INFO
from kdump.errors import Unreadable
from kdump.formats import tree
from kdump.output.text.steps import Steps, shell_word
from kdump.verdicts.verdict import LOSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.output.text.check.advice import Advice
    from kdump.output.text.check.directory import Directory
    from kdump.output.text.check.folding import Fold, Folds
    from kdump.output.text.writer import ReportWriter

_CODES_TO_EXPLAIN = 3
_MOST_MENDED = 5
_NOT_RECOGNIZED = "file-not-recognized"
_STAYS = frozenset(
    (
        *("record-count-negative", "record-count-too-high", "record-count-too-low", "record-count-zero-nonempty"),
        *("last-offset-delta-mismatch", "record-offset-order", "leader-epoch-regression", "sequence-duplicate"),
        *("offset-gap", "segments-gap", "segment-missing", "timestamp-negative", "timestamp-overflow"),
        *("record-length-bad", "record-body-mismatch", "varint-too-long", "varint-truncated", "key-length-bad"),
        *("header-count-bad", "header-key-null", "header-bytes-odd", "payload-empty-compressed", "decompression-limit"),
        *("frame-bad-header", "frame-truncated", "frame-damaged", "frame-checksum-mismatch", "frame-trailing-bytes"),
        *("declared-size-forged", "lz4-legacy-header", "legacy-nested-compression", "legacy-wrapper-empty"),
        *("legacy-wrapper-offset", "legacy-inner-crc"),
        *("snapshot-gap-metadata", "not-regular", "symlink-loop", "file-vanished", "file-not-recognized", "permission-denied"),
        *("time-limit", "check-crashed", "codec-package-missing", "foreign-segment"),
    )
)
"""Errors in intact batches, about what is not there, or about what could not be read: `kdump recover` does not mend them."""


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
    steps = Steps()
    worst = folds.worst_first()
    endangered = [fold for fold in worst if _is_endangered(fold, directories)]
    for path in dict.fromkeys(filter(None, map(_evidence, endangered))):
        steps.save(path)
    damaged = list(dict.fromkeys(filter(None, map(_damaged_partition, worst))))
    for path in damaged[:_MOST_MENDED]:
        if is_url(path):
            steps.save(path)
        steps.recover(path)
    forecast = next((fold.group for fold in endangered if _is_directory(fold.group)), None)
    if forecast is not None:
        steps.look(f"kdump forecast {shell_word(forecast)}", "what a start does, step by step")
    unread = next((fold.finding for fold in worst if fold.finding.code == _NOT_RECOGNIZED and fold.finding.found == "log"), None)
    if unread is not None:
        steps.look(f"kdump check --as log {shell_word(unread.path)}", "it was not examined")
    advice.add_steps(steps, damaged)
    skipped = next((fold.finding for fold in worst if fold.finding.file_type == "log" and fold.finding.skipped), None)
    if skipped is not None:
        steps.look(f"kdump log --output table --from-position {skipped.start} {shell_word(skipped.path)}")
    codes = _codes_to_explain(folds) or list(dict.fromkeys(fold.finding.code for fold in worst))[:_CODES_TO_EXPLAIN]
    for code in codes:
        steps.look(f"kdump explain {code}")
    out.line()
    out.line("Next")
    for line in steps.lines():
        out.line("  " + out.shown(line))


def _evidence(fold: Fold) -> str | None:
    """What to copy before a restart destroys it: a partition, or a file that is in none. None for anything larger."""
    for path in (fold.group, fold.finding.path):
        if is_url(path) or not _is_directory(path) or _is_partition(path):
            return path
    return None


def _damaged_partition(fold: Fold) -> str | None:
    """The partition directory whose log has an error that a mended copy has not; None if only a file was checked."""
    finding = fold.finding
    if finding.severity != ERROR or finding.file_type != "log" or not _is_directory(fold.group):
        return None
    kind = catalogue.FAULTS[finding.code]
    is_read_past = finding.broker_forecast.partition(" ")[0] == fault_kind.BLIND != kind.forecast
    if finding.code in _STAYS or kind.action or is_read_past:
        return None
    directory = os.path.dirname(finding.path)
    return directory if is_url(directory) or _is_partition(directory) else None


def _is_partition(path: str) -> bool:
    """Whether a directory is a partition's, by its files; its copies may have any name."""
    try:
        return tree.is_partition(path)
    except Unreadable:
        return False


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
