"""Lists text checkpoints: the offsets of all partitions of a log directory, the leader epochs of one partition."""

from __future__ import annotations

import os
import re
from functools import partial

from kdump.binary import system
from kdump.binary.source import Source
from kdump.cli.listing.options import EXPORTS
from kdump.cli.listing.paths import files
from kdump.errors import Unreadable, UsageError
from kdump.formats import file_name, text_checkpoint, tree
from kdump.formats.text_checkpoint import PlainLines, TextCheckpoint
from kdump.output.kafka.lines import Template
from kdump.output.rows import listing
from kdump.reading.items import DAMAGED, INTACT
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kdump.cli.listing.request import Request
    from kdump.cli.listing.run import Run
    from kdump.formats.text_checkpoint import Fields
    from kdump.tables import Row

_NAMES = (*text_checkpoint.OFFSET_CHECKPOINTS, text_checkpoint.LEADER_EPOCHS)
_ROWS_AT_ONCE = 1000
_HEAD = 1 << 12
_LOOKS_LIKE_ONE = re.compile(rb"\d+\s*\n\s*\d+\s*(\n|$)")


class _Kind:
    """The lines of a kind of checkpoint: their fields, the rows they become, and their words in the manner of Kafka."""

    def __init__(self, fields: Fields, row_class: type[Row], line: str) -> None:
        self.fields = fields
        self.row_class = row_class
        self.line = Template.parse(line)


_OFFSETS = _Kind(
    text_checkpoint.OFFSET_FIELDS, listing.ListedCheckpointOffset, "topic: {topic} partition: {partition} offset: {offset}\n"
)
_EPOCHS = _Kind(text_checkpoint.EPOCH_FIELDS, listing.ListedLeaderEpoch, "epoch: {epoch} startOffset: {start_offset}\n")


def text_files(paths: Sequence[str]) -> list[str]:
    """The text checkpoints that paths name; none if they are KRaft snapshots.

    A directory means its checkpoints of that kind if it contains no snapshots. Raises UsageError if both are named, or neither.
    """
    for path in paths:
        if os.path.basename(path) in (tree.META_PROPERTIES, tree.QUORUM_STATE):
            raise UsageError(f"{path} is no checkpoint", remedy="`cat` shows it, and `kdump check` of its directory examines it")
    found = [_found(path) for path in paths]
    if any(found) and not all(found):
        other = next(path for path, of_path in zip(paths, found, strict=True) if not of_path)
        raise UsageError(f"{other} is not a text checkpoint, but other paths are", remedy="list them one after the other")
    return [path for of_path in found for path in of_path]


def start(run: Run, paths: Sequence[str]) -> None:
    """Start the output with the kind of row that these files have. Raises UsageError if they have different kinds."""
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise UsageError(
            "some of these files contain offsets and some contain leader epochs", remedy="list them one after the other"
        )
    refuse_options_of_logs(run.request)
    run.start(kinds.pop().row_class)


def refuse_options_of_logs(request: Request) -> None:
    """Raise UsageError for options that only apply to batches and records."""
    given = {
        "--deep": request.is_deep,
        "--from-time or --to-time": request.range.has_times,
        "--from-position": request.from_position is not None,
        f"--output {request.output}": request.output in EXPORTS,
    }
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"{option} is for batches and records; a text checkpoint has none")


def list_text_checkpoint(run: Run, path: str) -> None:
    """List the entries of a checkpoint. A line that is not an entry becomes a damaged row, and a finding that says why."""
    kind = _kind(path)
    with Source(path) as source:
        run.head(path)
        checkpoint = TextCheckpoint(source, kind.fields)
        rows: list[list[Any]] = []
        for line in checkpoint.lines() if run.request.has_range else checkpoint.stretches():
            if isinstance(line, PlainLines):
                columns = _columns(line, path)
                if len(line) < _ROWS_AT_ONCE:
                    rows += map(list, zip(*columns, strict=True))
                if len(rows) >= _ROWS_AT_ONCE or len(line) >= _ROWS_AT_ONCE:
                    _write(run, kind, rows)
                    rows = []
                if len(line) >= _ROWS_AT_ONCE:
                    names = [column.name for column in kind.row_class.schema]
                    run.write_table(Table(kind.row_class, dict(zip(names, columns, strict=True))), kind.line)
                continue
            if line.fault is not None:
                _write(run, kind, rows)
                rows = []
                message = line.fault.message
                run.find(path, message if f"line {line.number}" in message else f"line {line.number}: {message}")
            is_entry = bool(line.values)
            offset = line.values[-1] if is_entry else None
            if isinstance(offset, int) and not run.request.range.holds_offsets(offset, offset):
                continue
            if is_entry:
                values = line.values if run.output is not None else map(partial(_shown, run), line.values)
                rows.append([*values, line.number, INTACT, path])
            elif line.number > 2 and run.output is not None:
                rows.append([*(None for _ in kind.fields), line.number, DAMAGED, path])
            if len(rows) >= _ROWS_AT_ONCE:
                _write(run, kind, rows)
                rows = []
        _write(run, kind, rows)
        if checkpoint.position < source.size:
            what = f"only {checkpoint.position:,} of {source.size:,} bytes were read, because hardly any line is an entry"
            raise Unreadable("file-not-recognized", what, path=path)


def _write(run: Run, kind: _Kind, rows: list[list[Any]]) -> None:
    if rows:
        run.write_rows(kind.row_class, rows, kind.line)


def _columns(lines: PlainLines, path: str) -> list[Sequence[int | str]]:
    """The columns of the rows of entries that come together."""
    count = len(lines)
    return [*lines.columns, range(lines.first, lines.first + count), [INTACT] * count, [path] * count]


def _shown(run: Run, value: int | str) -> int | str:
    """A value as Kafka's lines have it, escaped for terminals."""
    return run.show(value.encode()) if isinstance(value, str) else value


def _found(path: str) -> list[str]:
    """The text checkpoints that a path names."""
    if system.is_directory(path):
        snapshots = [found for found in files([path], file_name.CHECKPOINT) if isinstance(found, str)]
        inside = [os.path.join(path, name) for name in _NAMES]
        return [] if snapshots else [file for file in inside if system.is_file(file)]
    if system.has_magic(path) and not system.exists(path):
        return [found for found in system.matching(path) if not system.is_directory(found) and _is_text(found)]
    return [path] if _is_text(path) else []


def _is_text(path: str) -> bool:
    """Whether a file is text, by its name or its start: a KRaft snapshot starts with an offset of eight bytes."""
    name = os.path.basename(path)
    if any(known in name for known in _NAMES):
        return True
    return not name.endswith(file_name.CHECKPOINT) and _LOOKS_LIKE_ONE.match(_head(path)) is not None


def _kind(path: str) -> _Kind:
    name = os.path.basename(path)
    if text_checkpoint.LEADER_EPOCHS in name:
        return _EPOCHS
    if any(known in name for known in text_checkpoint.OFFSET_CHECKPOINTS):
        return _OFFSETS
    lines = _head(path).splitlines()
    return _EPOCHS if len(lines) > 2 and len(lines[2].split()) == len(text_checkpoint.EPOCH_FIELDS) else _OFFSETS


def _head(path: str) -> bytes:
    try:
        with Source(path) as source:
            return source.read(0, _HEAD)
    except Unreadable:
        return b""  # listing it says why
