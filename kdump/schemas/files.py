"""Schemas in files: .avsc, .proto, JSON Schema, sets of Protobuf descriptors, and directories of these."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.source import Source
from kdump.errors import UsageError
from kdump.formats import file_name
from kdump.schemas.bounds import MAX_SCHEMA_SIZE
from kdump.schemas.schema import AVRO, JSON, PROTOBUF, Schema

MAX_FILES = 1000
"""Files that are read of a directory."""

_KINDS = {
    ".avsc": AVRO,
    ".avro.json": AVRO,
    ".proto": PROTOBUF,
    ".desc": PROTOBUF,
    ".protoset": PROTOBUF,
    ".binpb": PROTOBUF,
    ".fds": PROTOBUF,
    ".json": JSON,
}
"""The type of a schema by the end of its file's name."""

_DESCRIPTORS = (".desc", ".protoset", ".binpb", ".fds")


def schemas_in(path: str, type: str = "") -> list[Schema]:
    """The schemas in a file, or in all files of a directory and those below it that are named like schemas.

    A file of another name is taken for one of `type`. Raises UsageError if there is nothing to read, Unreadable if it cannot be.
    """
    if not system.is_directory(path):
        if not system.has_name(path):
            raise UsageError(f"there is no {path}", remedy="--schemas is a file, a directory of schemas, or a log directory")
        return [_schema(path, os.path.basename(path), type)]
    found = [_schema(file, os.path.relpath(file, path), type) for file in files_at(path)]
    if not found:
        raise UsageError(f"{path} has no schemas", remedy=f"their names end in {', '.join(_KINDS)}")
    return found


def files_at(path: str) -> list[str]:
    """The files that `schemas_in` reads; none if there is nothing."""
    if not system.is_directory(path):
        return [path] if system.has_name(path) else []
    return [file for file in _files_below(path) if _kind(os.path.relpath(file, path))]


def is_registry(path: str) -> bool:
    """Whether a path is the directory of a registry's topic: it has segments."""
    return system.is_directory(path) and any(name.endswith(file_name.LOG) for name in system.names(path))


def _files_below(path: str) -> list[str]:
    found: list[str] = []
    folders = [path]
    while folders:
        for entry in system.entries(folders.pop()):
            if entry.is_directory:  # links are none
                folders.append(entry.path)
            elif not entry.is_directory:
                found.append(entry.path)
            if len(found) + len(folders) > MAX_FILES:
                raise UsageError(f"{path} has more than {MAX_FILES} files", remedy="name the directory of the schemas")
    return sorted(found)


def _kind(name: str) -> str:
    return next((kind for end, kind in _KINDS.items() if name.lower().endswith(end)), "")


def _schema(path: str, name: str, type: str) -> Schema:
    kind = _kind(name) or type
    if not kind or type and kind == JSON and type != JSON:
        kind = type  # Avro's schemas are JSON, too
    if not kind and file_name.suffix(name) == file_name.LOG:
        raise UsageError(f"{path} is a segment of a topic", remedy="name the directory of the registry's topic, .../_schemas-0")
    if not kind:
        raise UsageError(f"{path} is not named like a schema", remedy=f"such names end in {', '.join(_KINDS)}")
    with Source(path) as source:
        if source.size > MAX_SCHEMA_SIZE:
            raise UsageError(f"{path} has {source.size:,} bytes; schemas of up to {MAX_SCHEMA_SIZE:,} are read")
        data = source.read(0, source.size)
    if kind == PROTOBUF and (name.lower().endswith(_DESCRIPTORS) or b"\0" in data):
        return Schema(kind, "", data=data, name=name)
    try:
        return Schema(kind, data.decode("utf-8-sig"), name=name)
    except UnicodeDecodeError:
        if kind == PROTOBUF:
            return Schema(kind, "", data=data, name=name)
        raise UsageError(f"{path} is not UTF-8")
