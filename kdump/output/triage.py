"""The commands to type for what a triage has found."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.checks.finding import ERROR, Finding
from kdump.checks.settings import DEEP, FULL
from kdump.errors import KdumpError
from kdump.formats import file_name, text_checkpoint, tree
from kdump.output.text.check.advice import Advice, is_mended_by_reindex
from kdump.output.text.check.next_steps import is_recovered
from kdump.output.text.forecast_steps import add_steps
from kdump.output.text.steps import Steps, shell_word
from kdump.output.text.topic_id_step import add_topic_id
from kdump.overview.row import GOING, MAYBE_STUCK, SET_ASIDE
from kdump.verdicts.verdict import DOES_NOT_START, LOSES_AT_START, STUCK, UNREADABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.overview.row import TriageEvent
    from kdump.overview.triage import Triage

_MOST_EVENTS = 50  # that get commands
_MOST_MOVED = 3  # directories of an event
_OF_STARTS = (DOES_NOT_START, SET_ASIDE, LOSES_AT_START)


def add_commands(triage: Triage) -> None:
    """Add to each event what to type; no two commands write to the same place, and none is there twice."""
    steps, known = Steps(), set[str]()
    for event in triage.events[:_MOST_EVENTS]:
        _add(steps, triage, event)
        event.commands = [line for line in steps.lines() if _command(line) not in known]
        known.update(map(_command, event.commands))


def _command(line: str) -> str:
    """A line without what it says of itself."""
    return line.rpartition("   # ")[0] or line


def _add(steps: Steps, triage: Triage, event: TriageEvent) -> None:
    path = event.path
    if event.heading in _OF_STARTS:
        strangers = list(filter(_is_stranger, event.paths))
        for one in strangers[:_MOST_MOVED]:
            steps.take_out(one)
        if strangers or _added_for_file(steps, path) or _added_for_start(steps, triage, path):
            return
    elif event.heading == UNREADABLE and any(os.path.dirname(one.path) == path and is_recovered(one) for one in triage.findings):
        steps.recover(path)
    elif event.heading == STUCK:
        advice = Advice()
        log = os.path.join(path, file_name.LOG)
        advice.finding(Finding.partial(event.codes[0], ERROR, log, "log", 0, 0, event.offset))
        advice.add_steps(steps, (), is_sound=False)
        return
    elif event.heading == GOING:
        above = {os.path.dirname(one) for one in event.paths}
        for directory in sorted(above)[:_MOST_MOVED] if event.places > len(above) else ():
            steps.keep_all(directory or os.curdir, f"*-{tree.DELETE}", "at once, if that was a mistake")
        for one in () if event.places > len(above) else event.paths[:_MOST_MOVED]:
            steps.keep(one, "at once, if that was a mistake")
        return
    elif _is_mended_by_reindex(triage, path):
        steps.reindex(os.path.dirname(path))
    word = " ".join(map(shell_word, dict.fromkeys(_checked(triage, one) for one in _together(triage, event))))
    about = "whether it hangs, and how to end it" if event.heading == MAYBE_STUCK else "where, and what to do"
    steps.look(f"kdump check {word}", about)


def _together(triage: Triage, event: TriageEvent) -> list[str]:
    """The paths of an event of which one alone does not show what is wrong: log directories that do not fit together."""
    named = [place.path for place in triage.overview.places]
    is_between = event.heading in _OF_STARTS and len(event.paths) > 1 and all(path in named for path in event.paths)
    return event.paths[:_MOST_MOVED] if is_between else [event.path]


def _checked(triage: Triage, path: str) -> str:
    """What to check to be shown a finding, and what to do: of a file, the directory with all that the finding is about."""
    is_named = any(place.path == path for place in triage.overview.places)
    return path if is_named or system.is_directory(path) else os.path.dirname(path) or os.curdir


def _is_mended_by_reindex(triage: Triage, path: str) -> bool:
    """Whether a file is a companion that is wrong beside logs that were all read, and are sound."""
    directory = os.path.dirname(path)
    found = [one for one in triage.findings if directory and os.path.dirname(one.path) == directory]
    has_logs = any(one.path == directory and one.size for one in triage.overview.partitions)
    return triage.level in (FULL, DEEP) and has_logs and bool(found) and all(map(is_mended_by_reindex, found))


def _is_stranger(path: str) -> bool:
    """Whether a path is a directory in a log directory, and by its name no partition's."""
    is_inside = system.is_directory(path) and tree.is_log_directory(tree.parent(path))
    return is_inside and tree.directory_name(path) is None


def _added_for_file(steps: Steps, path: str) -> bool:
    """Add what to do about a file that ends a start, or sets a partition aside. Returns whether it is such a file."""
    name = os.path.basename(path)
    if name == tree.META_PROPERTIES:
        steps.look(f"cat {shell_word(path)}", "compare with that of another log directory of this broker")
    elif name in text_checkpoint.OFFSET_CHECKPOINTS:
        steps.move_checkpoint(path)
    elif name == tree.PARTITION_METADATA and not os.path.lexists(path):
        add_topic_id(steps, path)
    else:
        return False
    return True


def _added_for_start(steps: Steps, triage: Triage, path: str) -> bool:
    """Add what `kdump forecast` has for a partition that a start harms. Returns whether there is something."""
    try:
        is_found = tree.is_log_directory(tree.parent(path))
        rows = triage.next_starts.of(path, is_found=is_found, finds_remedies=True) if system.is_directory(path) else []
    except KdumpError:
        return False
    unsafe = [row for row in rows if not row.is_sound]
    if unsafe:
        add_steps(steps, unsafe)
    return bool(unsafe)
