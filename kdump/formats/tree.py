"""The contents of directories: the files of a partition by segment, the partitions of a log directory."""

from __future__ import annotations

import os
import stat
from bisect import bisect_right

from kdump.binary import paths, system
from kdump.binary.source import Source
from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.formats import file_name, partition_metadata, properties, text_checkpoint
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeVar

    Segment = TypeVar("Segment")

SEGMENT_SUFFIXES = file_name.SEGMENT_SUFFIXES
LEADER_EPOCHS = text_checkpoint.LEADER_EPOCHS
PARTITION_METADATA = partition_metadata.NAME
META_PROPERTIES = properties.META_PROPERTIES
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
QUORUM_STATE = "quorum-state"
LOG_DIR_FILES = (*text_checkpoint.OFFSET_CHECKPOINTS, META_PROPERTIES, CLEAN_SHUTDOWN)
"""Files that only a log directory has."""

METADATA_TOPIC = "__cluster_metadata"
REMOTE_INDEX_CACHE = "remote-log-index-cache"
"""A directory beside those of partitions: indexes of segments in remote storage."""

PROGRAM_LOGS = frozenset(
    f"{name}.log"
    for name in ("server", "controller", "state-change", "log-cleaner", "kafka-request", "kafka-authorizer", "connect")
)
"""What Kafka's programs say, as their log4j files name it: no segments, though the suffix is theirs."""

_APPLE_DOUBLE = b"\0\5\x16\7"
"""How a file begins that macOS keeps beside another one, called `._` and its name."""

_HEAD_SIZE = 512
_MOST_OPENED = 16  # files of a directory, to find out whether they are segments

MAX_DEPTH = 4
"""How many levels of directories are gone through in search of log directories."""

DELETE, FUTURE, STRAY = "delete", "future", "stray"

FILE, PARTITION, LOG_DIRECTORY = "file", "partition", "log-dir"
"""What a path may be."""

_KRAFT_VERSION = "1"


class PartitionFiles:
    """The files of one partition directory: those of segments by base offset and suffix, and all others by name.

    A directory named like a segment's file counts as a file, which is a fault; `directories` has those names.
    If several names have the same number, the one with 20 digits is the segment's, as for a broker; a negative number is no
    segment's.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.segments: dict[int, dict[str, str]] = {}
        self.others: list[str] = []
        entries = system.entries(path)
        self.directories = {entry.name for entry in entries if entry.is_directory or entry.is_link and _leads_to_directory(entry)}
        names = [entry.name for entry in entries if file_name.suffix(entry.name) in SEGMENT_SUFFIXES or not entry.is_directory]
        for name in sorted(names, key=lambda name: (not is_canonical(name), name)):
            self._place(name)
        self.others.sort()
        self.logs = sorted(base for base, files in self.segments.items() if file_name.LOG in files)
        """The base offsets of all segments that have a log, ascending."""
        snapshots = [base for base, files in self.segments.items() if file_name.PRODUCER_SNAPSHOT in files]
        self.newest_snapshot = max(snapshots, default=None)
        """The offset of the newest producer snapshot."""

    def _place(self, name: str) -> None:
        suffix = file_name.suffix(name)
        base_offset = base_offset_of(name) if suffix in SEGMENT_SUFFIXES else None
        if base_offset is None or base_offset < 0 or suffix in self.segments.get(base_offset, {}):
            self.others.append(name)
        else:
            self.segments.setdefault(base_offset, {})[suffix] = name

    @property
    def of_metadata(self) -> list[str]:
        """What belongs to a metadata log besides its segments: snapshots and the quorum state."""
        return [name for name in self.others if name == QUORUM_STATE or file_name.suffix(name) == file_name.CHECKPOINT]

    @property
    def newest_log(self) -> int | None:
        """The base offset of the newest segment that has a log."""
        return self.logs[-1] if self.logs else None

    def log_name(self, base_offset: int) -> str:
        """The name of the log of a segment that has one."""
        return self.segments[base_offset][file_name.LOG]

    def next_log(self, base_offset: int) -> int | None:
        """The base offset of the first segment after this one that has a log."""
        following = bisect_right(self.logs, base_offset)
        return self.logs[following] if following < len(self.logs) else None


class DirectoryName(Declared):
    """The parts of a partition directory's name: `topic-3`, or `topic-3.ID-delete` while it is being deleted or moved."""

    topic: str
    partition: int
    state: str = ""

    @property
    def is_going(self) -> bool:
        """Whether brokers no longer serve this directory."""
        return self.state in (DELETE, STRAY)


def missing_log(path: str) -> str | None:
    """The path of the log that a file may be under another name, such as one with `.bak` at its end, if there is no such log."""
    directory, name = os.path.split(path)
    stem = file_name.stem(name)
    log = os.path.join(directory, stem + file_name.LOG)
    is_log = len(stem) == 20 and stem.isdigit() and name.lower().startswith(stem + file_name.LOG) and not file_name.is_going(name)
    return log if is_log and not system.has_name(log) else None


def is_set_aside(path: str) -> bool:
    """Whether a file is in a directory that a broker renamed to `-stray`: it neither serves nor deletes it."""
    name = directory_name(parent(path))
    return name is not None and name.state == STRAY


def locked_directory(path: str) -> str | None:
    """The log directory that a path is, or lies in, if a broker holds its lock, as each does while it runs; None if none does."""
    places = path, parent(path)
    return next((place for place in places if system.is_locked(os.path.join(place, LOCK))), None)


def directory_name(path: str) -> DirectoryName | None:
    """How a broker parses a directory's name, or None if it would not start. Kafka: UnifiedLog.parseTopicPartitionName."""
    name = os.path.basename(paths.absolute(path))
    state = next((state for state in (DELETE, FUTURE, STRAY) if name.endswith(f"-{state}")), "")
    if state:
        # An id of any length will do: Kafka's pattern is (\S+)-(\S+)\.(\S+)-stray.
        name, dot, identity = name.removesuffix(f"-{state}").rpartition(".")
        if not dot or not identity or any(map(str.isspace, name + identity)):
            return None
    topic, dash, number = name.rpartition("-")
    try:
        partition = file_name.parse_number(number, 32)
    except CorruptData:
        return None
    return DirectoryName(topic, partition, state) if topic and dash else None


def topic_of(path: str) -> str:
    """The topic of a file, by the name of its directory; empty if that is no partition's."""
    name = directory_name(parent(path))
    return "" if name is None else name.topic


def is_metadata_log(path: str) -> bool:
    """Whether a directory is that of the metadata log: by its name, or by the quorum state in it, whatever a copy is called."""
    if os.path.basename(path.rstrip("/")).startswith(f"{METADATA_TOPIC}-"):
        return True
    try:
        return system.has_name(os.path.join(path, QUORUM_STATE))
    except Unreadable:
        return False


def is_partition(path: str) -> bool:
    """Whether a directory is a partition's: by its files, or by its name if it has none."""
    entries = system.entries(path)
    names = {entry.name for entry in entries}
    if any(name in names for name in LOG_DIR_FILES):
        return False
    of_segments = sorted(name for name in names if file_name.suffix(name) in SEGMENT_SUFFIXES)
    if PARTITION_METADATA in names or LEADER_EPOCHS in names or any(base_offset_of(name) is not None for name in of_segments):
        return True
    are_others = all(name in PROGRAM_LOGS or is_other_file(os.path.join(path, name)) for name in of_segments[:_MOST_OPENED])
    has_name = not are_others or directory_name(path) is not None
    return has_name and not any(map(system.leads_to_directory, entries))


def logs_of(path: str) -> list[tuple[int, str, int]]:
    """The logs in a directory, whatever is with them: base offset, path and size, by base offset. Raises Unreadable."""
    return sorted(
        (base, entry.path, status.st_size)
        for entry, status in system.file_statuses(path)
        if file_name.suffix(entry.name) == file_name.LOG and (base := base_offset_of(entry.name)) is not None
    )


def is_other_file(path: str) -> bool:
    """Whether a file without an offset in its name is none of Kafka's by its first bytes: lines of a program, or macOS's."""
    if base_offset_of(os.path.basename(path)) is not None:
        return False
    try:
        with Source(path) as source:
            head = source.read(0, _HEAD_SIZE)
    except Unreadable:
        return False  # whoever reads it says why
    text = head.decode("utf-8", "ignore")
    is_text = bool(text) and all(character.isprintable() or character.isspace() for character in text)
    return head.startswith(_APPLE_DOUBLE) or is_text and len(text.encode()) > len(head) - 4  # of a character that is cut


def was_never_written(path: str) -> bool:
    """Whether nothing was ever appended to a partition, by its files: its logs are empty, and start at offset 0.

    Raises Unreadable if it cannot be listed.
    """
    return not any(
        (base_offset_of(entry.name) or 0) > 0 or file_name.LOG in entry.name and status.st_size
        for entry, status in system.file_statuses(path)
    )


def matching(given: Sequence[str]) -> list[str]:
    """The paths that match patterns, each once; an existing path matches itself. Raises UsageError if nothing matches."""
    found: list[str] = []
    for path in given:
        if not system.has_magic(path) or system.has_name(path):
            found.append(path)
            continue
        fitting = system.matching(path)
        if not fitting:
            raise UsageError(f"no file matches {path}")
        found += fitting
    return list(dict.fromkeys(found))


def parent(path: str) -> str:
    """The directory that a path is in, spelled as the path was given where possible; slashes at its end do not count."""
    path = path.rstrip("/") or path
    return paths.parent(path) if paths.is_url(path) else os.path.dirname(path) or paths.parent(path)


def log_directory_of(path: str) -> str:
    """The absolute path of the log directory that a segment's partition is in."""
    return paths.parent(paths.parent(path))


def is_log_directory(path: str) -> bool:
    """Whether a broker's own files are in this directory."""
    return any(system.has_name(os.path.join(path, name)) for name in LOG_DIR_FILES)


def is_of_kraft(path: str) -> bool:
    """Whether a log directory is that of a KRaft broker."""
    try:
        with Source(os.path.join(path, META_PROPERTIES)) as source:
            return properties.read(source.read(0, properties.MAX_SIZE)).get("version") == _KRAFT_VERSION
    except Unreadable as error:
        if error.code in ("file-io-error", "file-shrank"):
            raise
        return False


def partitions(path: str) -> list[str]:
    """The partition directories of a log directory, in order.

    They include links to directories, broken links, and links that the system cannot follow.
    """
    return [entry.path for entry in system.entries(path) if _may_be_directory(entry) and entry.name != REMOTE_INDEX_CACHE]


def folders(children: list[str]) -> list[str]:
    """The subdirectories that may hold log directories; none if one of them is a partition's."""
    if any(system.is_directory(path) and is_partition(path) for path in children):
        return []
    return [path for path in children if not system.is_link(path)]


def places_below(path: str, depth: int = MAX_DEPTH) -> Iterator[tuple[str, str, str]]:
    """What a path stands for: itself, or the log directories up to `depth` levels below it, each before its partitions.

    Of each, whether it is a file, a partition or a log directory; its path; and why the system did not say what it is, for a
    partition that may be none. Links to log directories are not followed.
    """
    try:
        if not system.is_directory(path):
            yield FILE, path, ""
            return
        if is_partition(path):
            yield PARTITION, path, ""
            return
        inside = partitions(path)
        inner = [] if is_log_directory(path) or not depth else folders(inside)
    except Unreadable as error:
        yield PARTITION, path, error.message
        return
    if not inner:
        yield LOG_DIRECTORY, path, ""
        for partition in inside:
            yield PARTITION, partition, ""
    for folder in inner:
        yield from places_below(folder, depth - 1)


def log_dir_files(path: str) -> list[str]:
    """The files directly in a log directory, in order. A broken link counts as a link to a directory."""
    return [entry.name for entry in system.entries(path) if not _may_be_directory(entry)]


def _may_be_directory(entry: system.Entry) -> bool:
    """Whether a link leads to a directory, or nowhere, or to something the system cannot stat."""
    if not entry.is_link:
        return entry.is_directory
    try:
        there = system.status(entry.path)
    except Unreadable:
        return True
    return there is None or stat.S_ISDIR(there.st_mode)


def is_canonical(name: str) -> bool:
    """Whether the number in a name has 20 digits, as Kafka writes it."""
    stem = file_name.stem(name)
    return len(stem) == 20 and stem.isascii() and stem.isdigit() and name.count(".") == 1


def base_offset_of(name: str) -> int | None:
    """The number in a name, or None."""
    try:
        return file_name.base_offset(name)
    except CorruptData:
        return None


def _leads_to_directory(link: system.Entry) -> bool:
    """Whether a link leads to a directory; no, if the system does not say: whoever opens it reports why."""
    try:
        return system.is_directory(link.path)
    except Unreadable:
        return False


def with_next(segments: Sequence[Segment]) -> Iterator[tuple[Segment, Segment | None]]:
    """Each segment, or its base offset, with the one after it; None after the last."""
    return zip(segments, [*segments[1:], None], strict=False)  # of no segment, there is no pair
