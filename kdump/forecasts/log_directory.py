"""The checkpoints of a log directory, with what a broker stored for its partitions."""

from __future__ import annotations

import os
import time

from kdump.binary import system
from kdump.binary.paths import is_url
from kdump.binary.source import Source
from kdump.errors import CorruptData, Unreadable
from kdump.forecasts import permissions, places
from kdump.formats import properties, text_checkpoint, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.releases.broker_startup import StartRules

_READ_BEFORE_LOADING = (text_checkpoint.RECOVERY_POINTS, text_checkpoint.LOG_START_OFFSETS)
"""A start that cannot read high watermarks fails, too, once replicas become leaders or followers."""

_MAX_CHECKPOINT = 64 << 20
_SMALL_CHECKPOINT = 1 << 20  # bytes, of which all entries are kept
_SETTLED_SECONDS = 2.0  # after which a change shows in the times of a file
_CUT_CHECKPOINT = "checkpoint-cut"  # truncated after the version: to a broker it has no entries


class Checkpoint:
    """The entries of a checkpoint by partition: None if there is no such file, empty if it is malformed.

    Of a large file, only the entries of partitions that have a directory are kept.
    `fault` is the code of its fault. If it `is_reset`, some releases treat the file as one without entries. `denied` is why
    it could not be opened, where that was not permitted.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.offsets: dict[tuple[str, int], int] | None = {}
        self.fault: CorruptData | None = None
        self.is_reset = False
        self.denied: Unreadable | None = None
        try:
            with Source(path) as source:
                self._read(source)
        except Unreadable as error:
            if error.code == "file-io-error":
                raise  # what it says may be another answer
            self.offsets = None if error.code == "file-missing" else {}
            self.denied = error if error.code == "file-permission" else None

    def _read(self, source: Source) -> None:
        offsets = {}
        existing = _existing(os.path.dirname(self.path)) if source.size > _SMALL_CHECKPOINT else None
        checkpoint = text_checkpoint.TextCheckpoint(source, text_checkpoint.OFFSET_FIELDS, end=_MAX_CHECKPOINT)
        for found in checkpoint.stretches():
            if isinstance(found, text_checkpoint.Line) and found.fault is not None:
                if found.fault.code != _CUT_CHECKPOINT:
                    self.fault = found.fault
                    self.is_reset = found.is_reset
                return
            for topic, partition, offset in found.entries():
                key = str(topic), int(partition)
                if existing is None or key in existing:
                    offsets[key] = int(offset)
        self.offsets = offsets

    def fails(self, rules: StartRules) -> bool:
        """Whether no log of the directory is served because of it. Kafka: CheckpointFileWithFailureHandler."""
        is_reset = self.is_reset and not rules.bad_numbers_of_epochs_are_lines
        return self.fault is not None and not (is_reset and os.path.basename(self.path) in _READ_BEFORE_LOADING)

    def is_only_unserved(self, rules: StartRules) -> bool:
        """Whether the log directory stays online: a high watermark that is not a number is met by each replica alone."""
        return self.fails(rules) and self.is_reset and not rules.bad_numbers_of_epochs_are_lines


_last: dict[str, tuple[tuple[object, ...], Checkpoint]] = {}  # by name, with what tells whether it is still the same


def _checkpoint_at(path: str) -> Checkpoint:
    """A checkpoint; the one that was read last under its name, if that is unchanged. Each partition's start asks for it."""
    try:
        file, directory = system.status(path), system.status(os.path.dirname(path))
    except Unreadable:
        return Checkpoint(path)
    if file is None or directory is None or time.time() - max(file.st_mtime, directory.st_mtime) < _SETTLED_SECONDS:
        return Checkpoint(path)
    state = path, _identity(file), _identity(directory)  # a directory changes as partitions come and go
    name = os.path.basename(path)
    known = _last.get(name)
    if known is None or known[0] != state:
        known = _last[name] = state, Checkpoint(path)
    return known[1]


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """What is the same while a file is the same, and has not been written to."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class LogDirectory:
    """The checkpoints of a log directory. A malformed checkpoint has no entries."""

    def __init__(self, path: str) -> None:
        self.path = path
        names = (*_READ_BEFORE_LOADING, text_checkpoint.HIGH_WATERMARKS)
        self._checkpoints = [_checkpoint_at(os.path.join(path, name)) for name in names]
        self.recovery_points = self._checkpoints[0].offsets
        self.log_starts = self._checkpoints[1].offsets or {}
        self._cleaned = _checkpoint_at(os.path.join(path, text_checkpoint.CLEANER_OFFSETS))

    def ends_of(self, topic: str, partition: int) -> Iterator[tuple[str, int]]:
        """The offsets below which a partition had records, each with the name of the checkpoint that says so."""
        for checkpoint in (self._checkpoints[0], self._checkpoints[2], self._cleaned):
            offset = (checkpoint.offsets or {}).get((topic, partition))
            if offset is not None:
                yield os.path.basename(checkpoint.path), offset

    def require_readable(self) -> None:
        """Raises Unreadable if one of its files exists but we may not read it."""
        paths = [os.path.join(self.path, properties.META_PROPERTIES), *(checkpoint.path for checkpoint in self._checkpoints)]
        for path in filter(system.exists, paths):
            permissions.require_readable(path)
        for checkpoint in self._checkpoints:
            if checkpoint.denied is not None:
                raise checkpoint.denied

    @property
    def missing_checkpoints(self) -> list[str]:
        """The names of missing checkpoints that are read before the logs are loaded."""
        checkpoints = zip(_READ_BEFORE_LOADING, self._checkpoints, strict=False)
        return [name for name, checkpoint in checkpoints if checkpoint.offsets is None]

    @property
    def has_properties(self) -> bool:
        """Whether a broker uses this as a log directory."""
        return system.exists(os.path.join(self.path, properties.META_PROPERTIES))

    @property
    def has_sound_checkpoints(self) -> bool:
        """Whether each of its checkpoints is missing, or can be read to its end."""
        return not any(checkpoint.fault or checkpoint.denied for checkpoint in self._checkpoints)

    def bad_checkpoint(self, rules: StartRules) -> Checkpoint | None:
        """The first checkpoint for which a start takes the log directory offline."""
        return next((checkpoint for checkpoint in self._checkpoints if checkpoint.fails(rules)), None)

    @property
    def is_of_broker(self) -> bool:
        """Whether a broker's own files are in it; any other folder of partitions may hold copies of any name."""
        return tree.is_log_directory(self.path)

    @property
    def partitions(self) -> list[str]:
        """The subdirectories that a start loads: all of a broker's, and else those that may be partitions, or are unreadable.

        Raises Unreadable if it cannot be listed.
        """
        try:
            found = tree.partitions(self.path)
        except Unreadable as error:
            raise unreadable(error) from None
        return found if self.is_of_broker else [path for path in found if places.may_be_loaded(path)]

    @property
    def is_one(self) -> bool:
        """Whether it contains files of a broker or a partition. Raises Unreadable if it cannot be listed."""
        return self.is_of_broker or any(map(places.may_be_partition, self.partitions))

    def is_cleaned(self, topic: str, partition: int) -> bool:
        """Whether the cleaner of the broker has been at a partition, by its checkpoint."""
        return (topic, partition) in (self._cleaned.offsets or {})

    @property
    def was_stopped_cleanly(self) -> bool:
        """Whether the broker left the marker of a clean stop."""
        return system.exists(os.path.join(self.path, tree.CLEAN_SHUTDOWN))


def _existing(path: str) -> set[tuple[str, int]] | None:
    """The partitions with a directory in a log directory, None if it cannot be listed."""
    try:
        names = map(tree.directory_name, tree.partitions(path))
    except Unreadable:
        return None
    return {(name.topic, name.partition) for name in names if name is not None}


def unreadable(error: Unreadable) -> Unreadable:
    """Why something cannot be listed, in words that fit a directory."""
    path = error.path
    if error.code == "file-missing" and path is not None and system.exists(path):
        message = "is not a directory; a forecast is for a partition directory or a log directory"
        return Unreadable("file-not-regular", message, path=path)
    if error.code == "file-missing":
        return Unreadable("file-missing", "no such directory", path=path)
    if error.code == "file-permission":
        why = error.message if path is not None and is_url(path) else permissions.YOU_MAY_NOT
        return Unreadable("file-permission", why, path=path)
    return Unreadable("file-io-error", error.message.lower(), path=path)
