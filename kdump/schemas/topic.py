"""Reads the topic of a schema registry, `_schemas-0`, past any damage."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.tolerant_source import TolerantSource
from kdump.errors import KdumpError, Unreadable
from kdump.formats import tree
from kdump.reading import salvage
from kdump.reading.batch_faults import WRONG_CRC
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.schemas.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.formats.record import RecordChunk

NAME = "_schemas-0"
"""The directory of the topic's only partition."""


def beside(path: str) -> str | None:
    """The registry's directory in the log directory that a segment is in, or None if there is none."""
    found = place_beside(path)
    return found if system.is_directory(found) else None


def place_beside(path: str) -> str:
    """Where the registry's directory is, or would be, in the log directory that a segment is in."""
    return os.path.join(tree.log_directory_of(path), NAME)


def files_in(directory: str) -> list[str]:
    """The segments of a registry's topic; none if there is no such directory."""
    if not system.is_directory(directory):
        return []
    files = tree.PartitionFiles(directory)
    return [os.path.join(directory, files.log_name(base)) for base in files.logs]


def read(directory: str) -> Registry:
    """The registry whose topic this partition directory has. What cannot be read is among its problems.

    Records of aborted transactions do not occur: registries write without transactions.
    """
    registry = Registry(directory)
    try:
        paths = files_in(directory)
    except KdumpError as error:
        registry.is_read = False
        registry.note(str(error))
        return registry
    if not paths:
        registry.note("it has no segments")
    for path in paths:
        try:
            with TolerantSource(path) as source:
                _read_log(registry, source)
                if source.bad_ranges:
                    registry.is_read = False
                    registry.note(f"{os.path.basename(path)} cannot be read completely from the device")
        except KdumpError as error:
            registry.is_read = registry.is_read and not isinstance(error, Unreadable)
            registry.note(str(error))
    return registry


def _read_log(registry: Registry, source: Source) -> None:
    name = os.path.basename(source.path)
    for item in salvage.walk(source):
        if isinstance(item, salvage.Damage):
            if item.status == salvage.ZERO and item.end == source.size:
                continue  # room for what is still to be written
            registry.note(f"{name}, bytes {item.start} to {item.end - 1}: {item.message}")
            continue
        if item.status == salvage.DAMAGED:
            registry.note(f"{name}, byte {item.chunk.batches['position'][0]}: {WRONG_CRC}; its schemas are left out")
            continue  # a wrong schema may decode without complaint
        for part in past_bad_batches(source, item.chunk):
            if isinstance(part, UnreadableBatch):
                registry.note(f"{name}, byte {part.position}: {part.fault.message}")
            else:
                _replay(registry, part)


def _replay(registry: Registry, part: RecordChunk) -> None:
    """Apply the records of a chunk."""
    row = 0
    for is_control, count in zip(part.batches["is_control"], part.counts, strict=True):
        if not is_control:
            columns = (part.records[name][row : row + count] for name in ("offset", "key", "value"))
            for offset, key, value in zip(*columns, strict=True):
                registry.replay(offset, key, value)
        row += count
