"""The files that a search reads: logs below the given paths, and everything there that it does not read."""

from __future__ import annotations

import os
from contextlib import suppress

from kdump.binary import system
from kdump.binary.paths import real
from kdump.binary.source import Source
from kdump.errors import Unreadable, UsageError
from kdump.formats import file_name, foreign, tree
from kdump.pipeline import discovery
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.pipeline.discovery import FileItem

_LOGS = ("log", "checkpoint")
SWAP, _CLEANED = "swap", "cleaned"
_STATES = ("deleted", _CLEANED, SWAP, tree.DELETE, tree.STRAY)
"""How files and directories are marked that brokers do not serve; a start puts a log with the mark of a swap in its place."""

_COMPANIONS = ("index", "timeindex", "txnindex", "snapshot")
_OTHERS = frozenset(
    (
        tree.LEADER_EPOCHS,
        tree.PARTITION_METADATA,
        tree.QUORUM_STATE,
        ".lock",
        "remote_log_snapshot",
        *tree.LOG_DIR_FILES,
    )
)
"""Kafka's files that hold no records of clients."""


class Unsearched(Declared):
    """A file or directory that cannot be searched: why."""

    path: str
    code: str
    message: str


class Places:
    """What is below the paths: `logs` to search, `left_out` marked files that are not searched, `unsearched` ones that should be.

    Marked files are searched if they, or the marked directory where they are, were named, and those that a start puts in place
    of others. With `is_proof`, all are searched, and files that are not Kafka's are unsearched.
    With `partition`, only logs of that one are searched. Raises UsageError where nothing fits a pattern.
    """

    def __init__(self, paths: Sequence[str], *, is_proof: bool = False, partition: int | None = None) -> None:
        self.logs: list[FileItem] = []
        self.left_out: list[FileItem] = []
        self.unsearched: list[Unsearched] = []
        self.other_partitions: set[tuple[str | None, int]] = set()
        self._is_proof = is_proof
        self._partition = partition
        self._seen: set[str] = set()
        for path in tree.matching(paths):
            before = len(self.logs) + len(self.left_out) + len(self.unsearched) + len(self.other_partitions)
            unlisted: list[Unreadable] = []
            try:
                is_directory = system.is_directory(path)
                named = tree.directory_name(path) if is_directory else None
                for item in discovery.discover(path, unlisted=unlisted):
                    self._take(item, is_named=not is_directory, is_in_named=named is not None and bool(named.state))
                    self._seen.add(item.path)
                if is_directory:
                    self._take_unseen(path)
                noted = {one.path for one in self.unsearched}
                self.unsearched += [
                    Unsearched(one.path or path, one.code, one.message) for one in unlisted if one.path not in noted
                ]
            except Unreadable as error:
                self.unsearched.append(Unsearched(error.path or path, error.code, error.message))
            if before == len(self.logs) + len(self.left_out) + len(self.unsearched) + len(self.other_partitions):
                self.unsearched.append(Unsearched(path, "file-missing", "no log (.log) is here"))

    def _take(self, item: FileItem, *, is_named: bool, is_in_named: bool) -> None:
        """Take a file that was named, or that is in a directory; `is_in_named` if that is a marked one, and was named."""
        if is_named:
            if item.kind in _COMPANIONS or os.path.basename(item.path) in _OTHERS:
                raise UsageError(f"{item.path} holds no records", remedy="name a log, a partition or a log directory")
            self.logs.append(item)
            return
        if item.state in (discovery.NOT_REGULAR, discovery.LINK_OUTSIDE):
            if item.kind in _LOGS or self._is_proof:
                is_link = item.state == discovery.LINK_OUTSIDE
                why = "is a link that leads out of this directory" if is_link else "is not a regular file"
                self.unsearched.append(Unsearched(item.path, f"file-{item.state}", why))
            return
        if item.kind == "log" and item.base_offset is None and (why := _foreign(item.path)):
            self.unsearched.append(Unsearched(item.path, foreign.CODE, why))
            return
        is_log = item.kind in _LOGS and (item.base_offset is not None or item.kind == "log" and item.topic is not None)
        is_log |= os.path.basename(item.path) == file_name.BOOTSTRAP_CHECKPOINT
        if is_log and self._partition is not None and item.partition not in (None, self._partition):
            self.other_partitions.add((item.topic, item.partition or 0))
        elif is_log and (self._is_proof or is_in_named or is_served(item) or item.state == SWAP):
            self.logs.append(item)
        elif is_log:
            self.left_out.append(item)
        elif item.size and not _is_companion(item) and (self._is_proof or may_be_log(item.path)):
            self.unsearched.append(
                Unsearched(item.path, "file-not-recognized", "its name is not one of Kafka's: name it to search it")
            )

    def _take_unseen(self, root: str) -> None:
        """Note what was passed over: directories that cannot be listed, links, logs that lie too deep, remote segments."""
        real_root = real(root)
        for path in _directories(root):
            try:
                entries = system.entries(path)
            except Unreadable as error:
                self._miss(path, "directory-unlisted", f"the directory cannot be listed: {error.message.lower()}")
                continue
            for entry in entries:
                if entry.is_link and system.leads_to_directory(entry):
                    if not (real(entry.path) + os.sep).startswith(real_root + os.sep):
                        self._miss(entry.path, "file-link-outside", "a link that leads out of this directory")
                elif entry.name == tree.REMOTE_INDEX_CACHE:
                    if self._is_proof and _holds_anything(entry.path):
                        self._miss(entry.path, "remote-segments", "older segments are in remote storage, which is not searched")
                elif not entry.is_directory and entry.path not in self._seen and _is_log(entry.name):
                    self._miss(entry.path, "file-not-examined", "logs are not looked for here; name the file")

    def _miss(self, path: str, code: str, message: str) -> None:
        self.unsearched.append(Unsearched(path, code, message))


def _foreign(path: str) -> str:
    """What is said of a segment of another broker; nothing of any other file, or one that cannot be read."""
    try:
        with Source(path) as source:
            foreign.require_kafka(source)
    except Unreadable as error:
        return error.message if error.code == foreign.CODE else ""
    return ""


def may_be_log(path: str) -> bool:
    """Whether a file with a name that is not Kafka's seems to hold records; one that cannot be read may."""
    from kdump.checks.rules.files import unrecognized  # slow to load, and seldom needed

    try:
        with Source(path) as source:
            return unrecognized.may_be_log(source, os.path.basename(path))
    except Unreadable:
        return True


def is_served(item: FileItem) -> bool:
    """Whether brokers serve a log, or will: it is not about to be deleted or replaced."""
    return item.state not in _STATES


def fate_of_marked(path: str) -> str:
    """What brokers do with a marked log, at the end of a sentence."""
    if path.endswith(f".{SWAP}"):
        return "in a .swap file, which a start puts in its place"
    if path.endswith(f".{_CLEANED}"):
        return "in a file of an unfinished cleaning, which a start deletes"
    if tree.is_set_aside(path):
        return "in a directory that a broker set aside (-stray)"
    return "in a file that brokers are about to delete"


def _is_companion(item: FileItem) -> bool:
    name = os.path.basename(item.path)
    return item.kind in _COMPANIONS and item.base_offset is not None or name in _OTHERS


def _is_log(name: str) -> bool:
    return file_name.LOG in name and discovery.base_offset_of(name) is not None


def _holds_anything(path: str) -> bool:
    try:
        return bool(system.entries(path))
    except Unreadable:
        return True


def _directories(root: str) -> Iterator[str]:
    """A directory, and those below it that are not links, however deep."""
    waiting = [root]
    while waiting:
        path = waiting.pop()
        yield path
        with suppress(Unreadable):
            inner = [entry for entry in system.entries(path) if entry.is_directory]
            waiting += [entry.path for entry in reversed(inner) if entry.name != tree.REMOTE_INDEX_CACHE]
