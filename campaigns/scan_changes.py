"""A log directory that changes between scans as brokers, cleaners and failing disks change one."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.builders.files import file_name, write_partition
from tests.builders.records import batch, record

NEW = "new"
DAY = 86_400


def make(data: Path) -> Iterator[str]:
    """Write the directory, and make a change each time another item is asked for. Yields what was done: `NEW` first."""
    for partition in range(4):
        segments = {base: _batches(base) for base in (0, 6, 12)}
        write_partition(data, topic="a", partition=partition, segments=segments)
    (data / "recovery-point-offset-checkpoint").write_text("0\n4\na 0 18\na 1 18\na 2 18\na 3 18\n")
    _age(data)
    yield NEW
    for change in CHANGES:
        change(data)
        yield change.__name__
        _age(data)


def nothing(_data: Path) -> None:
    """Change nothing."""


def append(data: Path) -> None:
    """Append a batch to the newest segment, and part of another one."""
    with _log(data, 0, 12).open("ab") as file:
        file.write(b"".join(_batches(18, 2))[:-20])


def roll(data: Path) -> None:
    """Begin a segment, and another partition."""
    _log(data, 1, 18).write_bytes(b"".join(_batches(18)))
    write_partition(data, topic="b", partition=0, segments={0: _batches(0)})


def delete(data: Path) -> None:
    """Delete the oldest segment of a partition, and a whole partition."""
    for path in _log(data, 1, 0).parent.glob(file_name(0, ".*")):
        path.unlink()
    shutil.rmtree(data / "a-3")


def compact(data: Path) -> None:
    """Replace two closed segments by one that has fewer batches, as a cleaner does."""
    swap = _log(data, 2, 0).with_suffix(".log.swap")
    swap.write_bytes(_batches(0)[1] + _batches(6)[2])
    _log(data, 2, 6).unlink()
    swap.rename(_log(data, 2, 0))


def rewrite(data: Path) -> None:
    """Write other values into a closed segment of the same size, with the old modification time."""
    path = _log(data, 0, 0)
    times = path.stat()
    path.write_bytes(b"".join(_batches(0, value=b"w")))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def damage(data: Path) -> None:
    """Overwrite bytes of a closed segment, and cut the end of another one off."""
    with _log(data, 0, 6).open("r+b") as file:
        file.seek(100)
        file.write(b"damaged")
    os.truncate(_log(data, 1, 6), 150)


CHANGES: Sequence[Callable[[Path], None]] = (nothing, append, roll, delete, compact, rewrite, damage)


def _batches(first: int, count: int = 3, value: bytes = b"v") -> list[bytes]:
    return [batch(records=[record(key=b"k", value=value * 50)] * 2, base_offset=first + 2 * number) for number in range(count)]


def _log(data: Path, partition: int, base: int) -> Path:
    return data / f"a-{partition}" / file_name(base, ".log")


def _age(data: Path) -> None:
    """Let everything have been written yesterday, so that a scan may leave it out."""
    for path in data.rglob("*"):
        if time.time() - path.stat().st_mtime < DAY / 2:
            os.utime(path, (time.time() - DAY, time.time() - DAY))
