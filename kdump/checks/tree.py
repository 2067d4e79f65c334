"""What stands in a directory: the files of a partition by segment, the partitions of a log directory."""

from __future__ import annotations

import os

from kdump.errors import CorruptData
from kdump.formats import file_name

SEGMENT_SUFFIXES = (
    file_name.LOG,
    file_name.OFFSET_INDEX,
    file_name.TIME_INDEX,
    file_name.TRANSACTION_INDEX,
    file_name.PRODUCER_SNAPSHOT,
)
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
LOG_DIR_FILES = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "meta.properties",
    ".kafka_cleanshutdown",
    "bootstrap.checkpoint",
    ".lock",
)


class PartitionFiles:
    """The files of one partition directory: those of segments by base offset and suffix, and all others by name."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.segments: dict[int, dict[str, str]] = {}
        self.others: list[str] = []
        for name in sorted(os.listdir(path)):
            suffix = file_name.suffix(name)
            base_offset = _base_offset(name) if suffix in SEGMENT_SUFFIXES else None
            if base_offset is None or suffix in self.segments.get(base_offset, {}):
                self.others.append(name)
            else:
                self.segments.setdefault(base_offset, {})[suffix] = name

    @property
    def logs(self) -> list[int]:
        """The base offsets of all segments that have a log, ascending."""
        return sorted(base for base, files in self.segments.items() if file_name.LOG in files)


def is_partition(path: str) -> bool:
    """Whether a directory looks like one of a partition: it holds files of segments, or is named like one."""
    names = os.listdir(path)
    return any(file_name.suffix(name) in SEGMENT_SUFFIXES for name in names) or bool(names) and PARTITION_METADATA in names


def partitions(path: str) -> list[str]:
    """The partition directories of a log directory, in order; links to such, and links that lead nowhere, are among them."""
    found = []
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if os.path.isdir(entry.path) or entry.is_symlink() and not os.path.exists(entry.path):
            found.append(entry.path)
    return found


def _base_offset(name: str) -> int | None:
    try:
        return file_name.base_offset(name)
    except CorruptData:
        return None
