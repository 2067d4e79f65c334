"""The notation of fault cases."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.builders.files import file_name, write_partition

Files = Mapping[str, bytes]
"""Files by their path inside the directory that is checked."""


NOW = 1_700_000_500_000  # 2023-11-14 22:21:40 UTC; the builders' TIMESTAMP is a little earlier
PARTITION = "orders-3"


class Sparse(bytes):
    """The start of a file that continues with a hole."""

    size = 0


def sparse(begin: bytes, size: int) -> Sparse:
    """A file of this size that takes no more room than its first bytes."""
    data = Sparse(begin)
    data.size = size
    return data


FILE, PARTITION_DIRECTORY, LOG_DIRECTORY = "file", "partition", "log-dir"


class _WholeFile:
    """All bytes of the file, as large as the case writes it."""


class _Unstated:
    """What a case leaves open."""


WHOLE_FILE = _WholeFile()
NO_BYTES = (0, 0)
"""The finding is about a file or directory, not about any of its bytes."""
UNSTATED = _Unstated()

Extent = tuple[int, int] | _WholeFile


@dataclass(frozen=True)
class At:
    """What one finding says, worked out from how the files were built; it is never copied from the output of a check.

    `extent` is the range of bytes, its end exclusive; numbers below 0 count from the end of the file, as in a slice. `file` is a
    path inside the directory that is checked; if empty, it is what is checked itself. `offsets` are the first and the last that
    the finding touches; they are estimated where no sound header gives them. `expected` and `found` are compared if stated.
    """

    severity: str
    extent: Extent
    _: KW_ONLY
    file: str = ""
    offsets: tuple[int, int] | None = None
    is_estimated: bool = False
    expected: str | _Unstated | None = UNSTATED
    found: str | _Unstated | None = UNSTATED

    def extent_in(self, case: FaultCase) -> tuple[int, int]:
        """The range of bytes, where the files of this case are written."""
        if not isinstance(self.extent, _WholeFile) and min(self.extent) >= 0:
            return self.extent
        data = case.shown[self.file or next(iter(case.shown))]
        size = data.size if isinstance(data, Sparse) else len(data)
        start, end = (0, size) if isinstance(self.extent, _WholeFile) else self.extent
        return start + (size if start < 0 else 0), end + (size if end < 0 else 0)


error, warning, info = partial(At, "error"), partial(At, "warning"), partial(At, "info")


def place(parts: Sequence[bytes], row: int) -> tuple[int, int]:
    start = sum(map(len, parts[:row]))
    return start, start + len(parts[row])


@dataclass(frozen=True)
class FaultCase:
    """Files that show the fault `code` where `at` says, and files that differ little but must not raise it.

    What is checked is the first file, if the others are of the same segment; else all as the partition directory `orders-3`, or
    as a log directory, if paths begin with a partition's name: the `scope`. `also` says what else the shown files lawfully raise,
    and where; `near_also` names the codes of the near miss. Anything else is a failure. `settings` are those of the check, for
    both.

    What bytes alone cannot show is arranged: `arranged` changes the files that were written before they are checked,
    `near_arranged` those of the near miss; `during` stands around the check of the shown files, and may interfere. All are
    given what is checked. With `is_isolated` the check runs in a process of its own.
    """

    code: str
    shown: Files
    at: At | Sequence[At]
    near_miss: Files
    also: Mapping[str, At | Sequence[At]] = field(default_factory=dict)
    near_also: frozenset[str] | set[str] = frozenset()
    settings: Mapping[str, object] = field(default_factory=dict)
    name: str = ""  # where a code has several cases
    arranged: Callable[[Path], None] = lambda _path: None
    near_arranged: Callable[[Path], None] = lambda _path: None
    during: Callable[[Path], AbstractContextManager[object]] = lambda _path: nullcontext()
    is_isolated: bool = False

    def __str__(self) -> str:
        return f"{self.code}-{self.name}" if self.name else self.code

    @property
    def scope(self) -> str:
        """FILE, PARTITION_DIRECTORY or LOG_DIRECTORY."""
        if any("/" in name for name in self.shown):
            return LOG_DIRECTORY
        return FILE if len({name.partition(".")[0] for name in self.shown}) == 1 else PARTITION_DIRECTORY


def case(address: str, shown: Files | bytes, at: At | Sequence[At], near_miss: Files | bytes, **more: Any) -> FaultCase:
    """A case as a row of a table: `code` or `code: name`, files that show it, where, and files that nearly do.

    Bytes stand for the log of base offset 0, alone; `more` are the other fields of the case.
    """
    code, _, name = address.partition(": ")
    first = file_name(0, ".log")
    shown, near_miss = ({first: files} if isinstance(files, bytes) else files for files in (shown, near_miss))
    return FaultCase(code, shown, at, near_miss, name=name, **more)


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


def path_of(files: Files, root: Path, scope: str) -> Path:
    """What is to be checked of files that are written below `root`."""
    directory = root if scope == LOG_DIRECTORY else root / PARTITION
    return directory / next(iter(files)) if scope == FILE else directory


def write(files: Files, root: Path, scope: str) -> Path:
    """Write files, and say what is to be checked."""
    directory = root if scope == LOG_DIRECTORY else root / PARTITION
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if isinstance(data, Sparse):
            os.truncate(path, data.size)
    return path_of(files, root, scope)
