"""The commands to type for a directory that a start of a broker would harm."""

from __future__ import annotations

import os
import shlex

from kdump.binary.paths import absolute, is_url, parent
from kdump.checks.wording import counted
from kdump.forecasts.outcome import DIE, OFFLINE, STRAY
from kdump.forecasts.places import LOG_DIRECTORY, PARTITION
from kdump.forecasts.sentences import as_sentence
from kdump.forecasts.settings import CLEAN
from kdump.output.text.mending import COPY_FIRST, command_to_recover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.forecasts.row import Forecast, Remedy

_WITHOUT_CHECKPOINT = "a start then uses zero for all its offsets, as with an unreadable one"


def next_steps(rows: list[Forecast]) -> list[str]:
    """Commands for a directory that is not safe, given its starts; each with what it does after it."""
    path = rows[0].path
    quoted = shlex.quote(path)
    if rows[0].kind != PARTITION or rows[0].is_misnamed:
        return _steps_for_stranger(rows[0], quoted)
    if rows[0].duplicate:
        both = " ".join(map(shlex.quote, sorted((path, rows[0].duplicate))))
        return [f"kdump log --output table {both}   # which of the two to keep"]
    circumstance = next(filter(None, map(_step_for_circumstance, rows)), None)
    if circumstance is not None:
        return [circumstance]
    steps = []
    if rows[0].bad_checkpoint:
        steps.append(f"mv {shlex.quote(rows[0].bad_checkpoint)} ELSEWHERE   # with the broker stopped; {_WITHOUT_CHECKPOINT}")
        if all(row.is_safe_but_for_checkpoint for row in rows):
            return steps
    if all(row.is_safe for row in rows):
        check = f"kdump check {quoted}   # what is damaged, and where; a start does not change it"
        return [*steps, check, *([command_to_recover(path)] if any(row.damaged_batches for row in rows) else [])]
    if is_url(path):
        steps.append(COPY_FIRST.format(quoted))
    else:
        steps.append(f"cp -a {quoted} ELSEWHERE   # before any restart, with the broker stopped")
    shown: set[str] = set()
    for row in rows:
        if row.is_safe or row.remedy is None:
            continue
        for step in _remedy_steps(row.remedy, path):
            if step not in shown:
                steps.append(f"{step}   # then {_after_remedy(row.remedy.then)}")
            shown.add(step)
    clean = next((row for row in rows if row.after == CLEAN and row.is_safe), None)
    if clean is not None:
        end_by_itself = "stop the broker cleanly, and wait until it exits: a start after a clean stop loses nothing"
        stays = clean.consumers_stop_at
        damage = "" if stays is None else f", but the damage stays, and consumers do not get past offset {stays:,}"
        steps.append(end_by_itself + damage)
    elif not shown:
        steps.append(f"with a healthy replica: move {quoted} away while the broker is stopped, so that it is replicated again")
    steps.append(f"kdump check {quoted}   # what is damaged, and where")
    if any(row.lost_records or row.damaged_batches or row.bytes_lost > 0 for row in rows):
        steps.append(command_to_recover(path))
    return steps


def _remedy_steps(remedy: Remedy, path: str) -> Iterator[str]:
    """What to type to apply a remedy."""
    if remedy.taken:
        yield f"mv {' '.join(shlex.quote(_beside(path, name)) for name in remedy.taken)} ELSEWHERE"
    for name in remedy.made_empty:
        yield f": > {shlex.quote(_beside(path, name))}"
    if remedy.is_without_log_start:
        yield f"remove the line of {_called(path)} from log-start-offset-checkpoint, and lower the count in its second line"


def _beside(path: str, name: str) -> str:
    """The path of a file of a partition, or of the copy of one in a store."""
    return os.path.join(_called(path) if is_url(path) else path, name)


def _step_for_circumstance(row: Forecast) -> str | None:
    """What to check if something other than the data keeps a log from being served."""
    quoted, log_directory = shlex.quote(row.path), parent(row.path)
    if row.is_not_loaded:
        return f"{_shown_file(os.path.join(log_directory, 'meta.properties'))}   # {row.reason}"
    if row.is_denied:
        return f"ls -lna {quoted}   # owners and modes, to fix with chown and chmod; compare with the broker's user"
    if row.dead_logs:
        return f"ls -l {quoted}   # where the links lead"
    if row.is_given_up:
        return f"kdump check {quoted}   # which batches have offsets that do not fit"
    if row.lacks_metadata:
        return f"kdump check {quoted}   # which offsets are missing; other controllers have copies of this log"
    if row.data_may_end_later:
        return f"kdump check {quoted}   # which bytes were not examined"
    if row.outcome == STRAY or row.is_doubtful:
        return f"{_shown_file(os.path.join(row.path, 'partition.metadata'))}   # {as_sentence(row.reason or row.conditions[0])}"
    return None


def _shown_file(path: str) -> str:
    """The command that shows a file, or that it is missing."""
    return f"cat {shlex.quote(path)}" if os.path.exists(path) else f"ls -la {shlex.quote(os.path.dirname(path))}"


def _steps_for_stranger(row: Forecast, quoted: str) -> list[str]:
    """Steps for a directory in a log directory that is not a partition, or not by its name; only a partition may be moved."""
    if row.kind == LOG_DIRECTORY:
        return [f"in log.dirs, name {quoted} itself: it is a log directory, and the one around it is not"]
    if row.kind == PARTITION:
        return [f"mv {quoted} ELSEWHERE   # out of the log directory, with the broker stopped: no partition has this name"]
    return [f"ls -la {quoted}   # not a partition directory: the broker only starts if no directory of log.dirs contains it"]


def _after_remedy(row: Forecast) -> str:
    """What a start does after the remedy, in a few words."""
    stop = "clean" if row.after == CLEAN else "unclean"
    if row.is_safe:
        return f"a start after a{'n' * (stop == 'unclean')} {stop} stop loses nothing"
    if row.outcome in (DIE, OFFLINE):
        return "less is lost"
    return f"the broker starts; {counted(row.lost_records, 'record')} and {counted(max(row.bytes_lost, 0), 'byte')} are lost"


def _called(path: str) -> str:
    return os.path.basename(absolute(path)) or path
