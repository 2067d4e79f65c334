"""The notation of fault cases."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.builders.files import write_partition

Files = Mapping[str, bytes]
"""Files by their path inside the directory that is checked."""


NOW = 1_700_000_500_000  # 2023-11-14 22:21:40 UTC; the builders' TIMESTAMP is a little earlier
PARTITION = "orders-3"


class Sparse(bytes):
    """The begin of a file that goes on in a hole."""

    size = 0


def sparse(begin: bytes, size: int) -> Sparse:
    """A file of this size that takes no more room than its first bytes."""
    data = Sparse(begin)
    data.size = size
    return data


FILE, PARTITION_DIRECTORY, LOG_DIRECTORY = "file", "partition", "log-dir"


@dataclass(frozen=True)
class FaultCase:
    """Files that show the fault `code`, and files that differ little but must not raise it.

    `scope` is what is checked: the first file alone, all of them as the partition directory `orders-3`, or as a log directory:
    then their paths begin with a partition's name. `also` names other codes that the shown files lawfully raise, `near_also`
    those of the near miss; anything else is a failure. `settings` are those of the check, for both.

    What bytes alone cannot show is arranged: `arranged` changes the files that were written before they are checked,
    `near_arranged` those of the near miss; `during` stands around the check of the shown files, and may interfere. All are
    given what is checked. With `is_isolated` the check runs in a process of its own.
    """

    code: str
    shown: Files
    near_miss: Files
    scope: str = FILE
    also: frozenset[str] | set[str] = frozenset()
    near_also: frozenset[str] | set[str] = frozenset()
    settings: Mapping[str, object] = field(default_factory=dict)
    name: str = ""  # where a code has several cases
    arranged: Callable[[Path], None] = lambda _path: None
    near_arranged: Callable[[Path], None] = lambda _path: None
    during: Callable[[Path], AbstractContextManager[object]] = lambda _path: nullcontext()
    is_isolated: bool = False


def partition_files(
    segments: Mapping[int, Sequence[bytes]], changed: Mapping[str, bytes | None] | None = None, **others: Any
) -> Files:
    """The files of a partition as a broker leaves it, with some `changed`, or left out where None; see write_partition."""
    with tempfile.TemporaryDirectory() as folder:
        directory = write_partition(Path(folder), segments=segments, **others)
        files: dict[str, bytes] = {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
    for name, data in (changed or {}).items():
        files.pop(name, None)
        if data is not None:
            files[name] = data
    return files


def write(files: Files, root: Path, scope: str) -> Path:
    """Write files, and say what is to be checked."""
    directory = root if scope == LOG_DIRECTORY else root / PARTITION
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if isinstance(data, Sparse):
            os.truncate(path, data.size)
    return directory / next(iter(files)) if scope == FILE else directory
