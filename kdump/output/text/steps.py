"""The lines under "Next" of a report: commands to type as they are, in this order, the least risky first."""

from __future__ import annotations

import os
import re

from kdump.binary import system
from kdump.binary.paths import absolute, is_url
from kdump.errors import Unreadable
from kdump.formats import file_name, text_checkpoint, tree
from kdump.output.rows.columns import width_of
from kdump.output.text.writer import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.output.text.writer import ReportWriter

STDIN = "-"
KEEP, NEW = "KEEP", "NEW"
"""Directories that the commands make: for what is kept of the evidence or moved away, and for copies that are mended."""

_SAVE, _MEND, _LOOK, _NOTE, _CHANGE, _LAST_RESORT, _AFTER_ALL = range(7)
_MAIN = (_MEND, _CHANGE, _SAVE, _LOOK)  # what is the one command to type, the first of these
_DAMAGED = ".damaged"
_MOST_SAVED, _MOST_SAVED_BRIEFLY = 5, 2
_STOPPED = "with the broker stopped"
_COMMENT = "   # "
_COUNT = re.compile(r"^[\d,]+ x ")  # how often there is a fault
_FAULT = re.compile("[:,] ")  # what follows the code of a fault in a comment
_INDENT = 2


class Steps:
    """Collects what to type next. Each line is there once, and no two of them write to the same place.

    Lines that look or copy come first, those that change a file after them, and last what loses records. Everything that
    cannot be typed as it is, such as what has a word to fill in, is a comment.
    """

    def __init__(self, *, is_brief: bool = False) -> None:
        """If it `is_brief`, fewer copies of evidence have a line, and comments above a line say only what must be."""
        self.is_brief = is_brief
        self._most_saved = _MOST_SAVED_BRIEFLY if is_brief else _MOST_SAVED
        self._lines: dict[str, int] = {}
        self._places: dict[tuple[str, str], str] = {}
        self._saved: set[str] = set()
        self._not_saved: set[str] = set()
        self._changed: set[str] = set()  # by lines that move files
        self._base: str | None = None

    def __bool__(self) -> bool:
        return bool(self._lines)

    def lines(self) -> list[str]:
        """All lines, in the order in which to type them."""
        lines = sorted(self._lines, key=self._lines.__getitem__)
        if self._not_saved:
            more = len(self._not_saved)
            saved = sum(self._lines[line] == _SAVE for line in lines)
            lines.insert(saved, f"# and {more:,} more like {'this' if more == 1 else 'these'} to copy before any restart")
        return lines

    def main(self, about: str = "") -> str:
        """The one command to type: what mends before what changes a file, copies or looks; of the path that `about` begins with,
        or of the fault that it is, where that is what a line says of itself.

        Never a last resort. A command with a word to fill in only if there is no other.
        """
        commands: list[tuple[int, bool, int, str]] = []
        about = _COUNT.sub("", about)
        for line, rank in self._lines.items():
            command, _, comment = line.removeprefix("# ").rpartition(_COMMENT)
            command = command or comment
            if rank in _MAIN and not command.startswith(("or: ", "and ", "kdump explain ")):
                distance = 0 if about and _FAULT.split(comment)[0] == about else _distance(command, about)
                commands.append((distance, line.startswith("#"), _MAIN.index(rank), command))
        return min(commands, key=lambda found: found[:3])[3] if commands else ""

    def write(self, out: ReportWriter) -> None:
        """Write all lines. On a terminal too narrow for one, its comment stands above it: a command is never wrapped."""
        above = ""
        for line in self.lines():
            shown = out.shown(line)
            if not out.is_terminal or width_of(shown) + _INDENT <= out.width:
                out.line(" " * _INDENT + shown)
                continue
            is_note = self._lines.get(line, _NOTE) in (_NOTE, _AFTER_ALL)
            command, _, about = ("", "", shown.removeprefix("# ")) if is_note else shown.rpartition(_COMMENT)
            if self.is_brief and not is_note:
                about = re.split("[:;]", about)[0] if _STOPPED in about else ""
            is_new = about and (command or is_note) and about != above
            above = about
            for part in wrapped(about, out.width - _INDENT - len("# ")) if is_new else ():
                out.line(" " * _INDENT + _comment(part))
            if not is_note:
                out.line(" " * _INDENT + (command or about))

    def save(self, path: str) -> None:
        """Copy evidence: a partition directory or a file, to be examined later whatever is done to it."""
        if path == STDIN:
            return  # nobody can copy it any more
        if is_url(path):
            self._add(_SAVE, _comment(f"copy {path} from its store to a disk: what follows is for the copy"))
        elif absolute(path) not in self._saved:
            if len(self._saved) == self._most_saved:
                self._not_saved.add(absolute(path))
                return
            self._saved.add(absolute(path))
            place = self._place(KEEP, path, _DAMAGED)
            copy = f"cp {'-aH' if os.path.islink(path) else '-a'} {shell_word(path)} {shell_word(place)}"
            self._add(_SAVE, f"{_made(place)} && {copy}   # before any restart, with the broker stopped")

    def keep(self, path: str, about: str) -> None:
        """Copy a file or a directory, while it is there."""
        if is_url(path):
            self._add(_SAVE, _comment(f"copy {path} from its store: {about}"))
            return
        place, how = self._place(KEEP, path), "-a" if os.path.isdir(path) else "-p"
        self._add(_SAVE, f"{_made(place)} && cp {how} {shell_word(path)} {shell_word(place)}   # {about}")

    def keep_all(self, directory: str, pattern: str, about: str) -> None:
        """Copy all that is in a directory under names of a pattern."""
        place = os.path.join(self._place(KEEP, directory), "")
        self._add(
            _SAVE, f"mkdir -p {shell_word(place)} && cp -a {shell_word(directory)}/{pattern} {shell_word(place)}   # {about}"
        )

    def recover(self, path: str) -> None:
        """Copy what is whole of a damaged partition."""
        self._mend("recover", path, "a copy with all that is whole, and what could not be saved")

    def reindex(self, path: str) -> None:
        """Copy a partition whose logs are sound, with new companions."""
        self._mend("reindex", path, "a copy: its logs are sound, its indexes and snapshots are rebuilt")

    def _mend(self, command: str, path: str, about: str) -> None:
        if is_url(path):
            name = shell_word(os.path.basename(absolute(path)))
            self._add(_MEND, f"# kdump {command} {name} -o {NEW}/{name}   # of that copy: {about}")
        else:
            self._add(_MEND, f"kdump {command} {shell_word(path)} -o {shell_word(self._place(NEW, path))}   # {about}")

    def unpack(self, path: str) -> None:
        """Unpack a log that somebody compressed, and look whether it is one."""
        place = shell_word(self._place(NEW, path.removesuffix(".gz")))
        line = f"{_made(self._place(NEW, path))} && gzip -dc {shell_word(path)} > {place} && kdump check {place}"
        self._add(_LOOK, f"{line}   # it is compressed: what is in it?")

    def undelete(self, path: str, about: str) -> None:
        """Copy a partition whose segments are marked as deleted, and give them their names back in the copy."""
        place = shell_word(self._place(NEW, path))
        rename = f'for f in {place}/*.deleted; do mv "$f" "${{f%.deleted}}"; done'
        self._add(_LOOK, f"{_made(self._place(NEW, path))} && cp -a {shell_word(path)} {place} && {rename}   # {about}")

    def look(self, command: str, about: str = "") -> None:
        """A command that only reads."""
        self._add(_LOOK, _with(command, about))

    def take_out(self, path: str) -> None:
        """Take a directory that is no partition out of a log directory: with any in it, no broker starts."""
        if tree.is_log_directory(path):
            self.note(f"in log.dirs, name {path} itself: it is a log directory, and the one around it is not")
        else:
            self.move_away([path], "out of the log directory; nothing of it is lost")

    def note(self, text: str) -> None:
        """What to do that is no command."""
        self._add(_NOTE, _comment(text))

    def after_all(self, text: str) -> None:
        """What comes after all lines, and is no command."""
        self._add(_AFTER_ALL, _comment(text))

    def fill_in(self, command: str, about: str) -> None:
        """A command with a word to fill in, which changes something."""
        self._add(_CHANGE, _comment(_with(command, about)))

    def count_more(self, text: str) -> None:
        """How many files to change get no line, after those that do."""
        self._add(_CHANGE, _comment(text))

    def remove(self, path: str, about: str) -> None:
        """Delete a file that a start makes again."""
        self._add(_CHANGE, f"rm {shell_word(path)}   # {_STOPPED}; {about}")

    def put_in_place(self, source: str, path: str, about: str) -> None:
        """Copy a small file over a bad one, which is kept, or to where it is missing."""
        commands = [f"cp {shell_word(source)} {shell_word(path)}"]
        if os.path.lexists(path):
            place = self._place(KEEP, path)
            commands[:0] = [_made(place), f"mv {shell_word(path)} {shell_word(place)}"]
        self._add(_CHANGE, f"{' && '.join(commands)}   # {_STOPPED}: {about}")

    def replace(self, path: str, new: str, about: str) -> None:
        """Put a new directory into the place of another, which is kept, with the owner that it had."""
        place = self._place(KEEP, path)
        old, kept = shell_word(path), shell_word(place)
        move = f"{_made(place)} && mv {old} {kept} && mv {shell_word(new)} {old}"
        self._add(_CHANGE, f"{move} && chown -R --reference={kept} {old}   # {_STOPPED}: {about}")

    def move_away(self, paths: Sequence[str], about: str, *, empty: Sequence[str] = (), is_last_resort: bool = False) -> None:
        """Move files of one directory, or one directory, out of the way, and make `empty` files.

        What is moved is kept. If a line before moves some of it, this one is an alternative.
        """
        if is_url((*paths, *empty)[0]):
            words = ", ".join(os.path.basename(path) for path in (*paths, *empty))
            self.note(f"of the copy, {'move away' if paths else 'make an empty'} {words}: {about}")
            return
        commands = [f": > {shell_word(path)}" for path in empty]
        if len(paths) == 1:
            place = self._place(KEEP, paths[0])
            commands = [_made(place), f"mv {shell_word(paths[0])} {shell_word(place)}", *commands]
        elif paths:
            place = self._place(KEEP, os.path.dirname(absolute(paths[0])), ".moved")
            words = " ".join(map(shell_word, paths))
            commands = [_made(os.path.join(place, "")), f"mv {words} {shell_word(place)}", *commands]
        changed = {absolute(path) for path in (*paths, *empty)}
        warning = f"last resort, {_STOPPED}" if is_last_resort else _STOPPED
        line = f"{' && '.join(commands)}{_COMMENT}{warning}: {about}"
        if any(known.startswith(line.partition(_COMMENT)[0] + _COMMENT) for known in self._lines):  # after another stop
            return
        if self._changed & changed:
            line = _comment(f"or: {line}")
        self._changed |= changed
        self._add(_LAST_RESORT if is_last_resort else _CHANGE, line)

    def move_checkpoint(self, path: str) -> None:
        """Move a checkpoint of a log directory out of the way, without which a start goes on."""
        about = "a start then uses zero for all its offsets"
        if os.path.basename(path) == text_checkpoint.RECOVERY_POINTS:
            about = "a start after a crash then scans each log from its start, and cuts it at damage: mend that first"
        self.move_away([path], about)

    def _add(self, rank: int, line: str) -> None:
        self._lines.setdefault(line, rank)

    def _place(self, above: str, path: str, suffix: str = "") -> str:
        """The place of a copy of this path: the same one each time, which nothing else has."""
        key = above + suffix, absolute(path)
        if key not in self._places:
            if self._base is None:
                self._base = _outside_of_brokers()
            name = os.path.basename(absolute(path)) + suffix
            number, place = 1, os.path.join(self._base, above, name)
            while place in self._places.values() or os.path.lexists(place):
                number += 1
                place = os.path.join(self._base, f"{above}-{number}", name)
            self._places[key] = place
        return self._places[key]


def shell_word(path: str) -> str:
    """A path as one word for a shell, which no command takes for an option; without anything that a terminal would obey."""
    import shlex

    if path.startswith("-"):
        path = os.path.join(os.curdir, path)
    if path.isprintable():
        return shlex.quote(path)
    parts = [chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in os.fsencode(path)]
    quoted = "".join("\\" + part if part in ("\\", "'") else part for part in parts)
    return f"$'{quoted}'"


def _distance(command: str, about: str) -> int:
    """How near a command is to what the path at the start of a text names: 0 for that or what is in it, 1 for what it is in."""
    place = re.split("[:,] ", about)[0]
    words = [word.strip("'") for word in command.split()[1:]]
    if any(about.startswith((f"{word}:", f"{word},", f"{word} ")) or place and word.startswith(f"{place}/") for word in words):
        return 0
    return 1 if any(about.startswith(f"{word}/") for word in words) else 2


def _made(place: str) -> str:
    """What makes the directory in which a place is."""
    return f"mkdir -p {shell_word(os.path.dirname(place))}"


def _with(command: str, about: str) -> str:
    return f"{command}{_COMMENT}{about}" if about else command


def _comment(text: str) -> str:
    return f"# {text}"


def _outside_of_brokers() -> str:
    """The nearest directory, from here up, that is in no log directory or partition: a broker fails at others in there."""
    try:
        here = place = outside = os.getcwd()
    except OSError:
        return ""
    while True:
        above = os.path.dirname(place)
        if _is_of_broker(place):
            outside = above
        if place == above:
            break
        place = above
    return "" if outside == here else os.path.relpath(outside, here)


def _is_of_broker(path: str) -> bool:
    """Whether a directory is a log directory, or that of a partition by its name and its files."""
    try:
        is_partition = tree.directory_name(path) is not None and any(
            name.endswith(file_name.LOG) and tree.is_canonical(name) for name in system.names(path)
        )
        return is_partition or tree.is_log_directory(path)
    except Unreadable:
        return False
