"""The last sections of a check's report: what is lost, what to do, and the commands to type next."""

from __future__ import annotations

import os
import zlib

from kdump.binary import system
from kdump.binary.paths import absolute, is_url
from kdump.binary.source import Source
from kdump.checks import catalogue
from kdump.checks.catalogue import STARTS, fault_kind
from kdump.checks.finding import ERROR, INFO
from kdump.errors import KdumpError, Unreadable
from kdump.formats import tree
from kdump.output.text.check.advice import NOT_RECOGNIZED, OPEN_TRANSACTION
from kdump.output.text.steps import STDIN, Steps, shell_word
from kdump.output.text.topic_id_step import add_topic_id
from kdump.verdicts.verdict import LOSING, START_LOSES, ends_all_starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.checks.finding import Finding
    from kdump.output.text.check.advice import Advice
    from kdump.output.text.check.directory import Directory
    from kdump.output.text.check.folding import Fold, Folds
    from kdump.output.text.writer import ReportWriter

_CODES_TO_EXPLAIN = 1
_MOST_REMEDIES = 3
_CODES_OF_A_REMEDY = 5
_MOST_MENDED, _MOST_MENDED_BRIEFLY = 5, 2
_LOG_DIRECTORY_FILE, _PARTITION_METADATA = "log-dir-file-bad", "partition-metadata-bad"
_ODD_NAMES = ("dir-odd", "name-not-numeric")
_SNAPSHOT, _BAD_SNAPSHOT = "checkpoint", "checkpoint-bad-batch"
_MENDED_BELOW = (*_ODD_NAMES, _PARTITION_METADATA)
"""Codes whose remedy is under Next."""
_NOT_A_SEGMENT = "not-a-segment"
_LOST = (
    *("offset-gap", "segments-gap", "segment-missing"),
    *("recovery-point-beyond-end", "high-watermark-beyond-end", "cleaner-offset-beyond-end"),
)
"""Errors about offsets that are not there."""
_GZIP = zlib.MAX_WBITS | 16  # zlib takes this for the format of gzip
_PROBED = 4096  # bytes
_NEVER_SEGMENTS = ("not-a-segment", "name-not-numeric", "index-missing", "timeindex-missing")
_STAYS = frozenset(
    (
        *("record-count-negative", "record-count-too-high", "record-count-too-low", "record-count-zero-nonempty"),
        *("last-offset-delta-mismatch", "record-offset-order", "leader-epoch-regression", "sequence-duplicate"),
        *("offset-gap", "segments-gap", "segment-missing", "timestamp-overflow"),
        *("record-length-bad", "record-body-mismatch", "varint-too-long", "varint-truncated", "key-length-bad"),
        *("header-count-bad", "header-key-null", "header-bytes-odd", "payload-empty-compressed", "decompression-limit"),
        *("frame-bad-header", "frame-truncated", "frame-damaged", "frame-checksum-mismatch", "frame-trailing-bytes"),
        *("declared-size-forged", "lz4-legacy-header", "legacy-nested-compression", "legacy-wrapper-empty"),
        *("legacy-wrapper-offset", "legacy-inner-crc", "metadata-record-undecodable"),
        *("snapshot-gap-metadata", "not-regular", "symlink-loop", "file-vanished", "file-not-recognized", "permission-denied"),
        *("time-limit", "check-crashed", "codec-package-missing", "foreign-segment", "name-not-numeric"),
    )
)
"""Errors in intact batches, about what is not there, or about what could not be read: `kdump recover` does not mend them."""


def write_remedies(out: ReportWriter, folds: Folds, advice: Advice) -> None:
    """What the worst faults cost, and what to do about each. Codes with one remedy are one."""
    codes_of: dict[str, list[str]] = {}  # by the remedy
    for code in _codes(folds, is_worst_only=True):
        kind = catalogue.FAULTS[code]
        rebuild = advice.rebuild() if kind.action == fault_kind.REBUILD else ""
        if code not in STARTS and code not in _MENDED_BELOW:
            codes_of.setdefault(rebuild or kind.remedy, []).append(code)
    if not codes_of:
        return
    out.line()
    out.line("What is lost, and what to do")
    for remedy, codes in list(codes_of.items())[:_MOST_REMEDIES]:
        out.wrapped(", ".join(codes[:_CODES_OF_A_REMEDY]), 2)
        shown = next((code for code in codes if not catalogue.FAULTS[code].loss.startswith("nothing")), codes[0])
        out.labelled("lost", catalogue.FAULTS[shown].loss)
        running = catalogue.RUNNING.get(shown)
        if running is not None and not running.startswith("nothing"):
            out.labelled("running", running)
        out.labelled("to do", remedy)


def next_steps(folds: Folds, directories: Mapping[str, Directory], advice: Advice, *, is_brief: bool = False) -> Steps:
    """What to type next. If it `is_brief`, fewer lines of each kind, and none that only looks closer."""
    steps = Steps(is_brief=is_brief)
    worst = folds.worst_first()
    for fold in worst:
        _add_for_start(steps, fold)
    endangered = [fold for fold in worst if _is_endangered(fold, directories)]
    evidence, damaged = _to_save_and_recover(worst, endangered, directories)
    for path in evidence:
        steps.save(path)
    for path in damaged[: _MOST_MENDED_BRIEFLY if is_brief else _MOST_MENDED]:
        if is_url(path):
            steps.save(path)
        steps.recover(path)
    for fold in worst:
        if _is_compressed_segment(fold):
            steps.unpack(fold.finding.path)
    if is_brief and len(damaged) > _MOST_MENDED_BRIEFLY:
        steps.count_more(f"and {len(damaged) - _MOST_MENDED_BRIEFLY:,} more to recover; --all lists each")
    starts = [fold for fold in worst if fold.finding.code == START_LOSES and fold.finding.severity == ERROR]
    told = endangered if steps.lines() else [*endangered, *starts]
    forecast = next((fold for fold in told if _is_directory(fold.group)), None)
    if forecast is not None:
        words = " ".join(map(shell_word, _forecast_together(forecast, directories)))
        steps.look(f"kdump forecast {words}", "what a start does, step by step")
    findings = [fold.finding for fold in worst]
    _add_unread_log(steps, findings)
    advice.add_steps(steps, damaged, is_sound=all(finding.severity == INFO for finding in findings), is_brief=is_brief)
    if not is_brief:
        _add_closer_looks(steps, findings, _codes(folds))
    return steps


def _to_save_and_recover(
    worst: list[Fold], endangered: list[Fold], directories: Mapping[str, Directory]
) -> tuple[list[str], list[str]]:
    """What a start may destroy, and the damaged partitions; those first from which consumers miss most."""
    data = [fold for fold in worst if fold.finding.code not in _NEVER_SEGMENTS or directories[fold.group].batches]
    evidence = [_evidence(fold) for fold in data if fold in endangered and not _keeps_all(fold.finding)]
    damaged = list(dict.fromkeys(filter(None, map(_damaged_partition, data))))
    failing = (one for one in directories.values() if one.unreadable and one.counts.get(ERROR) and one.path not in damaged)
    only_counted = [one for one in failing if _is_partition(one.path)]
    evidence += [one.path for one in only_counted if any(start.verdict in LOSING for start in one.starts)]
    damaged += [one.path for one in only_counted]

    def unreadable(path: str) -> int:
        return directories[path].unreadable if path in directories else 0

    paths = dict.fromkeys(filter(None, evidence))
    return sorted(paths, key=unreadable, reverse=True), sorted(damaged, key=unreadable, reverse=True)


def _add_unread_log(steps: Steps, findings: list[Finding]) -> None:
    unread = next((finding for finding in findings if finding.code == NOT_RECOGNIZED and finding.found == "log"), None)
    if unread is None:
        return
    look, log = f"kdump check --as log {shell_word(unread.path)}", tree.missing_log(unread.path)
    if log is None:
        steps.look(look, "it was not examined")
    else:
        steps.rename(look, unread.path, log, "if it is sound, it becomes the log that is missing")


def _add_closer_looks(steps: Steps, findings: list[Finding], codes: list[str]) -> None:
    skipped = next((finding for finding in findings if finding.file_type == "log" and finding.skipped), None)
    if skipped is not None and skipped.severity != INFO and skipped.path != STDIN:
        steps.look(f"kdump log --output table --from-position {skipped.start} {shell_word(skipped.path)}")
    for code in codes[:_CODES_TO_EXPLAIN]:
        steps.look(f"kdump explain {code}")


def _add_for_start(steps: Steps, fold: Fold) -> None:
    """Add what makes a start work again that fails because of one file or one name, or shows why."""
    finding = fold.finding
    path, word = finding.path, finding.broker_forecast.partition(" ")[0]
    is_lost = finding.code in _LOST and finding.severity == ERROR and finding.offset_first is not None
    if is_lost and tree.directory_name(absolute(fold.group)):
        is_of_metadata = tree.is_metadata_log(absolute(fold.group))
        whole = "other controllers have copies of the metadata log: is one whole?"
        question = f"{os.path.basename(absolute(fold.group))}@{finding.offset_first} {shell_word(fold.group)} OTHER"
        steps.look(f"# kdump where {question}", whole if is_of_metadata else "has another replica what is missing here?")
    if finding.severity != ERROR or word not in (fault_kind.DIE, fault_kind.OFFLINE, fault_kind.STRAY) or is_url(path):
        return
    if finding.code in _ODD_NAMES:
        steps.take_out(path)
    elif finding.code == _LOG_DIRECTORY_FILE and os.path.basename(path) == tree.META_PROPERTIES:
        steps.look(f"cat {shell_word(path)}", "compare with that of another log directory of this broker")
    elif finding.code == _LOG_DIRECTORY_FILE:
        steps.move_checkpoint(path)
    elif finding.code == _PARTITION_METADATA and (word != fault_kind.STRAY or not os.path.lexists(path)):
        add_topic_id(steps, path)
    elif finding.code in STARTS:
        files = [os.path.join(path, tree.META_PROPERTIES) for path in fold.paths]
        if len(files) > 1 and all(map(os.path.isfile, files)):
            steps.look(f"cat {' '.join(map(shell_word, files))}", "which of them is right")
    elif finding.code == _PARTITION_METADATA:
        steps.note("a start renames such a directory to -stray, and deletes nothing in it")


def _forecast_together(fold: Fold, directories: Mapping[str, Directory]) -> list[str]:
    """The directory of a fold; where a start may fail because log directories do not fit together, all of these."""
    if fold.finding.code not in STARTS or not fold.finding.broker_forecast.startswith(fault_kind.DIE):
        return [fold.group]
    around = dict.fromkeys(place for path in directories for place in (path, tree.parent(path)))
    log_directories = list(filter(tree.is_log_directory, around))
    return log_directories if len(log_directories) > 1 else [fold.group]


def _keeps_all(finding: Finding) -> bool:
    """Whether a start that fails, or does not serve a directory, destroys nothing in it."""
    word = finding.broker_forecast.partition(" ")[0]
    fails = word in (fault_kind.DIE, fault_kind.OFFLINE, fault_kind.STRAY)
    return fails and (finding.code in STARTS or ends_all_starts(finding))


def _evidence(fold: Fold) -> str | None:
    """What to copy before a restart destroys it: a partition, or a file that is in none. None for anything larger."""
    for path in (fold.group, fold.finding.path):
        if is_url(path) or not _is_directory(path) or _is_partition(path):
            return None if os.path.islink(path) and not os.path.exists(path) else path  # what leads nowhere cannot be copied
    return None


def _is_compressed_segment(fold: Fold) -> bool:
    """Whether a log is a file of gzip, by more than its first bytes, or such a file is there in its place."""
    finding = fold.finding
    is_in_place = finding.code == NOT_RECOGNIZED and tree.missing_log(finding.path) is not None
    if finding.code != _NOT_A_SEGMENT and not is_in_place or is_url(finding.path):
        return False
    try:
        with Source(finding.path) as source:
            return bool(zlib.decompressobj(_GZIP).decompress(source.read(0, _PROBED)))
    except (KdumpError, zlib.error):
        return False


def _damaged_partition(fold: Fold) -> str | None:
    """The partition directory whose log has an error that a mended copy has not; None if only a file was checked."""
    finding = fold.finding
    if not is_recovered(finding) or _is_compressed_segment(fold) or not _is_directory(fold.group):
        return None
    directory = os.path.dirname(finding.path)
    return directory if is_url(directory) or _is_partition(directory) else None


def is_recovered(finding: Finding) -> bool:
    """Whether a finding is an error of a log that a mended copy has not."""
    kind = catalogue.FAULTS[finding.code]
    is_read_past = finding.broker_forecast.partition(" ")[0] == fault_kind.BLIND != kind.forecast
    is_of_log = finding.severity == ERROR and finding.file_type == "log"
    return is_of_log and finding.code not in _STAYS and not kind.action and not is_read_past


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


def _codes(folds: Folds, *, is_worst_only: bool = False) -> list[str]:
    """The codes that are more than information, the worst first; without any, infos that need somebody to act."""
    worst = folds.worst_first()
    if any(fold.finding.code == _BAD_SNAPSHOT for fold in worst):  # it says what to do about its batches
        worst = [fold for fold in worst if fold.finding.file_type != _SNAPSHOT or fold.finding.code.startswith(_SNAPSHOT)]
    if is_worst_only:
        worst = [fold for fold in worst if fold.finding.severity == worst[0].finding.severity]
    codes = dict.fromkeys(fold.finding.code for fold in worst if fold.finding.severity != INFO)
    return list(codes or dict.fromkeys(fold.finding.code for fold in worst if fold.finding.code == OPEN_TRANSACTION))


def _is_endangered(fold: Fold, directories: Mapping[str, Directory]) -> bool:
    """Whether a restart destroys something of what an error is about, or of the directory that it is in."""
    if fold.finding.severity != ERROR:
        return False
    starts = directories[fold.group].starts
    word = fold.finding.broker_forecast.partition(" ")[0]
    return word not in (fault_kind.IGNORE, fault_kind.BLIND) or any(start.verdict in LOSING for start in starts)
