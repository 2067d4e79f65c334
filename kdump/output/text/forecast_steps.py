"""The commands to type for a directory that a start of a broker would harm."""

from __future__ import annotations

import os

from kdump.binary.paths import absolute
from kdump.checks.wording import as_sentence, counted
from kdump.forecasts.outcome import DIE, OFFLINE, STRAY
from kdump.forecasts.places import PARTITION
from kdump.forecasts.settings import CLEAN
from kdump.formats import tree
from kdump.output.text.steps import shell_word
from kdump.output.text.topic_id_step import add_topic_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.row import Forecast, Remedy
    from kdump.output.text.steps import Steps


def add_steps(steps: Steps, rows: list[Forecast]) -> None:
    """Add the commands for a directory that is not safe, given its starts; each with what it does after it."""
    path = rows[0].path
    if rows[0].kind != PARTITION or rows[0].is_misnamed:
        steps.take_out(path)
        return
    if rows[0].duplicate:
        both = " ".join(map(shell_word, sorted((path, rows[0].duplicate))))
        steps.look(f"kdump log --output table {both}", "which of the two to keep")
        return
    if any(_added_for_circumstance(steps, row) for row in rows):
        return
    if rows[0].bad_checkpoint:
        steps.move_checkpoint(rows[0].bad_checkpoint)
        if all(row.is_safe_but_for_checkpoint for row in rows):
            return
    if all(row.is_safe for row in rows):
        steps.look(f"kdump check {shell_word(path)}", "what is damaged, and where; a start does not change it")
        if any(row.damaged_batches for row in rows):
            steps.recover(path)
        return
    steps.save(path)
    if any(row.lost_records or row.damaged_batches or row.bytes_lost > 0 for row in rows):
        steps.recover(path)
    if not steps.is_brief:
        steps.look(f"kdump check {shell_word(path)}", "what is damaged, and where")
    remedies = [row.remedy for row in rows if not row.is_safe and row.remedy is not None]
    for remedy in remedies:
        _add_remedy(steps, remedy, path)
    _add_way_out(steps, rows, has_remedy=bool(remedies))


def _add_way_out(steps: Steps, rows: list[Forecast], *, has_remedy: bool) -> None:
    """Say what avoids a start that loses something: a clean stop, or another replica if there is no remedy."""
    clean = next((row for row in rows if row.after == CLEAN and row.is_safe), None)
    if clean is not None:
        end_by_itself = "stop the broker cleanly, and wait until it exits: a start after a clean stop loses nothing"
        stays = clean.consumers_stop_at
        damage = "" if stays is None else f", but the damage stays, and consumers do not get past offset {stays:,}"
        steps.note(end_by_itself + damage)
    elif not has_remedy and not steps.is_brief:
        condition = "if all other voters are up" if rows[0].is_of_metadata else "with a healthy replica"
        steps.note(f"{condition}: move {rows[0].path} away while the broker is stopped, so that it is replicated again")


def _add_remedy(steps: Steps, remedy: Remedy, path: str) -> None:
    """Add what to type to apply a remedy."""
    then = f"then {_after_remedy(remedy.then)}"
    if remedy.change.is_without_log_start:
        name = os.path.basename(absolute(path))
        steps.note(f"remove the line of {name} from log-start-offset-checkpoint, and lower the count in its second line: {then}")
    if remedy.change.taken or remedy.change.made_empty:
        taken, empty = ([os.path.join(path, name) for name in names] for names in (remedy.change.taken, remedy.change.made_empty))
        steps.move_away(taken, then, empty=empty, is_last_resort=not remedy.then.is_safe)


def _added_for_circumstance(steps: Steps, row: Forecast) -> bool:
    """Add what to look at if something other than the data keeps a log from being served. Returns whether there is something."""
    word, log_directory = shell_word(row.path), tree.parent(row.path)
    if row.is_not_loaded:
        steps.look(_shown_file(os.path.join(log_directory, "meta.properties")), row.reason or "")
    elif row.outcome == DIE and (row.reason or "").startswith(tree.PARTITION_METADATA):
        add_topic_id(steps, os.path.join(row.path, tree.PARTITION_METADATA))
    elif row.outcome == DIE and (row.reason or "").startswith(tree.QUORUM_STATE):
        steps.look(f"kdump check {word}", "what is wrong with it, and when it may be removed")
    elif row.is_denied:
        steps.look(f"ls -lna {word}", "owners and modes, to fix with chown and chmod; compare with the broker's user")
    elif row.dead_logs:
        steps.look(f"ls -l {word}", "where the links lead")
    elif row.is_given_up:
        steps.look(f"kdump check {word}", "which batches have offsets that do not fit")
    elif row.lacks_metadata:
        steps.look(f"kdump check {word}", "which offsets are missing; other controllers have copies of this log")
    elif row.data_may_end_later:
        steps.look(f"kdump check {word}", "which bytes were not examined")
    elif row.is_doubtful and (name := tree.directory_name(row.path)) is not None and name.state == tree.STRAY:
        place = shell_word(os.path.join(log_directory, f"{name.topic}-{name.partition}"))
        steps.fill_in(f"mv {word} {place}", "with the broker stopped, if its topic id is that of the topic: it is served again")
    elif row.outcome == STRAY or row.is_doubtful:
        path = os.path.join(row.path, "partition.metadata")
        steps.look(_shown_file(path), as_sentence(row.reason or row.conditions[0]))
    else:
        return False
    return True


def _shown_file(path: str) -> str:
    """The command that shows a file, or that it is missing."""
    return f"cat {shell_word(path)}" if os.path.exists(path) else f"ls -la {shell_word(os.path.dirname(path))}"


def _after_remedy(row: Forecast) -> str:
    """What a start does after the remedy, in a few words."""
    stop = "clean" if row.after == CLEAN else "unclean"
    if row.is_safe:
        return f"a start after a{'n' * (stop == 'unclean')} {stop} stop loses nothing"
    if row.outcome in (DIE, OFFLINE):
        return "less is lost"
    return f"the broker starts; {counted(row.lost_records, 'record')} and {counted(max(row.bytes_lost, 0), 'byte')} are lost"
