"""Faults of files as objects, and the limits of a run."""

import contextlib
import gzip
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from kdump.binary.source import Source
from kdump.checks import segment
from kdump.checks.context import FileContext
from kdump.checks.segment_facts import SegmentFacts
from tests.builders import redpanda
from tests.builders.files import file_name
from tests.builders.records import batch, record
from tests.support import without_packages

from .case import NO_BYTES, WHOLE_FILE, FaultCase, error, info, partition_files

_LOG = file_name(0, ".log")
_NEXT_LOG = file_name(1, ".log")
_BATCH = batch(records=[record(key=b"key", value=b"value")])
_NEXT = batch(records=[record(key=b"key", value=b"value")], base_offset=1)
_PARTITION = partition_files({0: [_BATCH], 1: [_NEXT]}, topic="orders", partition=3)
_WITHOUT_NEXT = {name: data for name, data in _PARTITION.items() if name != _NEXT_LOG}
_BROKEN = _BATCH[:-1] + b"X"
_ZSTD = batch(records=[record(key=b"key", value=b"value" * 20)], base_offset=1, codec="zstd")
_AGED = [batch(records=[record(value=b"value", timestamp=-2)], base_offset=offset) for offset in range(2)]
_HOLE = 2 << 20


def _once_open(act: Callable[[str], None]) -> Callable[[Path], contextlib.AbstractContextManager[object]]:
    """Act on the first file when it has been opened."""

    @contextlib.contextmanager
    def during(_path: Path) -> Iterator[None]:
        is_over = False
        opened = Source.__init__

        def open_and_act(self: Source, path: str, *, may_be_directory: bool = False) -> None:
            nonlocal is_over
            opened(self, path, may_be_directory=may_be_directory)
            if not is_over:
                is_over = True
                act(path)

        with mock.patch.object(Source, "__init__", open_and_act):
            yield

    return during


def _append(path: str) -> None:
    with open(path, "ab") as file:
        file.write(_NEXT[30:])


def _truncate(path: str) -> None:
    os.truncate(path, len(_BATCH))


def _replace(path: str) -> None:
    Path(path + ".swap").write_bytes(_BATCH)
    os.replace(path + ".swap", path)


def _remove_next(path: str) -> None:
    Path(path).with_name(_NEXT_LOG).unlink()


def _refused(_path: Path) -> contextlib.AbstractContextManager[object]:
    """No file can be opened; root may open all, so that modes are of no use."""
    return mock.patch("os.open", side_effect=PermissionError(13, "Permission denied"))


def _bad_sector(_path: Path) -> contextlib.AbstractContextManager[object]:
    """The first block of a file cannot be read."""
    pread = os.pread

    def failing(descriptor: int, count: int, position: int) -> bytes:
        if position < 4096:
            raise OSError(5, "Input/output error")
        return pread(descriptor, count, position)

    return mock.patch("os.pread", failing)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(target: str) -> Callable[[Path], None]:
    """The next log of a partition directory is a link."""

    def link(directory: Path) -> None:
        outside = directory.parent / "elsewhere"
        outside.mkdir()
        (outside / _NEXT_LOG).write_bytes(_NEXT)
        (directory / _NEXT_LOG).symlink_to(target)

    return link


def _link_inside(directory: Path) -> None:
    (directory / _NEXT_LOG).rename(directory / "stored")
    (directory / _NEXT_LOG).symlink_to("stored")


def _with_hole(path: Path) -> None:
    os.truncate(path, len(_BATCH) + _HOLE)


def _without_zstd(_path: Path) -> contextlib.AbstractContextManager[object]:
    """No package that reads zstd is installed."""
    return without_packages("zstandard", "zstd of Python")


def _killed(_path: Path) -> contextlib.AbstractContextManager[object]:
    """The process that checks the first segment dies."""
    check = segment.check

    def killed(context: FileContext) -> SegmentFacts:
        if context.base_offset == 0:
            context.source.read(0, 10)
            os.kill(os.getpid(), signal.SIGKILL)
        return check(context)

    return mock.patch.object(segment, "check", killed)


CASES = (
    FaultCase(
        "active-tail",
        shown={_LOG: _BATCH + _NEXT[:30]},
        also={"torn-tail": info((76, 106))},
        at=info((106, 106), expected="106", found="152"),
        near_miss={_LOG: _BATCH + _NEXT},
        during=_once_open(_append),
    ),
    FaultCase(
        "file-shrank",
        shown={_LOG: _BATCH + _NEXT},
        at=error((76, 152), expected="152", found="76"),
        near_miss={_LOG: _BATCH},
        during=_once_open(_truncate),
    ),
    FaultCase(
        "file-replaced", shown={_LOG: _BATCH + _NEXT}, at=info(WHOLE_FILE), near_miss={_LOG: _BATCH}, during=_once_open(_replace)
    ),
    FaultCase(
        "file-vanished",
        shown=_PARTITION,
        at=info(NO_BYTES, file=_NEXT_LOG),
        near_miss=_PARTITION,
        during=_once_open(_remove_next),
    ),
    FaultCase(
        "file-vanished", name="named", shown={_LOG: _BATCH}, at=error(NO_BYTES), near_miss={_LOG: _BATCH}, arranged=Path.unlink
    ),
    FaultCase(
        "file-vanished",
        name="while-read",
        shown={_LOG: _BATCH + _NEXT},
        at=info(WHOLE_FILE),
        near_miss={_LOG: _BATCH},
        during=_once_open(os.unlink),
    ),
    FaultCase("permission-denied", shown={_LOG: _BATCH}, at=error(NO_BYTES), near_miss={_LOG: _BATCH}, during=_refused),
    FaultCase("io-error", shown={_LOG: _BATCH * 54 + _NEXT}, at=error((0, 4096)), near_miss={_LOG: _BATCH}, during=_bad_sector),
    FaultCase("not-regular", shown={_LOG: b""}, at=error(NO_BYTES), near_miss={_LOG: b""}, arranged=_fifo),
    FaultCase(
        "symlink-loop",
        shown=_WITHOUT_NEXT,
        at=error(NO_BYTES, file=_NEXT_LOG),
        near_miss=_PARTITION,
        arranged=_link(_NEXT_LOG),
        near_arranged=_link_inside,
        near_also={"file-not-recognized"},  # what the link leads to has a name of its own
    ),
    FaultCase(
        "symlink-outside",
        shown=_WITHOUT_NEXT,
        at=error(NO_BYTES, file=_NEXT_LOG),
        near_miss=_PARTITION,
        arranged=_link(f"../elsewhere/{_NEXT_LOG}"),
        near_arranged=_link_inside,
        near_also={"file-not-recognized"},  # what the link leads to has a name of its own
    ),
    FaultCase(
        "foreign-segment",
        shown={redpanda.NAME: redpanda.redpanda_batch(_BATCH)},
        at=error(WHOLE_FILE, found="Redpanda"),
        near_miss={redpanda.NAME: _BATCH},
    ),
    FaultCase(
        "foreign-segment",
        name="directory",
        shown={redpanda.NAME: redpanda.redpanda_batch(_BATCH), "1-1-v1.log": redpanda.redpanda_batch(_NEXT), "tx.snapshot": b"x"},
        at=error(NO_BYTES, found="Redpanda"),
        near_miss=_PARTITION,
    ),
    FaultCase("file-not-recognized", shown={"a.bak": _BATCH}, at=error((0, len(_BATCH)), found="log"), near_miss={_LOG: _BATCH}),
    FaultCase(
        "file-not-recognized",
        name="compressed",
        shown={f"{_LOG}.gz": gzip.compress(_BATCH, mtime=0)},
        at=error(WHOLE_FILE, found="gzip"),
        near_miss={_LOG: _BATCH},
    ),
    FaultCase(
        "file-not-recognized",
        name="beside-segments",
        shown={**_PARTITION, f"{_NEXT_LOG}.bak": b"x" * 100},
        at=error((0, 100), file=f"{_NEXT_LOG}.bak"),
        near_miss={**_PARTITION, "notes.bak": b""},
    ),
    FaultCase(
        "file-not-recognized",
        name="not-kafkas",
        shown={**_PARTITION, "notes.txt": b"x" * 100},
        at=info(NO_BYTES, file=""),
        near_miss={**_PARTITION, ".lock": b"", "notes.txt": b""},
    ),
    FaultCase(
        "sparse-file",
        shown={_LOG: _BATCH},
        also={"zero-tail": error((len(_BATCH), len(_BATCH) + _HOLE))},
        at=info((0, len(_BATCH) + _HOLE)),
        near_miss={_LOG: _BATCH},
        arranged=_with_hole,
    ),
    FaultCase("file-empty", shown={_LOG: b""}, at=info(NO_BYTES), near_miss={_LOG: _BATCH}, settings={"is_pedantic": True}),
    FaultCase(
        "finding-flood",
        shown={_LOG: _BROKEN * 3 + _NEXT},
        also={"crc-mismatch": error((0, 76), offsets=(0, 0))},
        at=info((76, 3 * 76), found="2"),
        near_miss={_LOG: _BROKEN + _NEXT},
        near_also={"crc-mismatch"},
        settings={"max_findings": 1},
    ),
    FaultCase(
        "finding-flood",
        name="of-one-more",
        shown={_LOG: b"".join(_AGED)},
        at=info((len(_AGED[0]), 2 * len(_AGED[0])), found="1"),
        also={"timestamp-negative": error((0, len(_AGED[0])), offsets=(0, 0), expected="-1", found="-2")},
        near_miss={_LOG: _AGED[0]},
        near_also={"timestamp-negative"},
        settings={"max_findings": 1},
    ),
    FaultCase(
        "codec-package-missing",
        shown={_LOG: _BATCH + _ZSTD},
        at=error((len(_BATCH), len(_BATCH) + len(_ZSTD))),
        near_miss={_LOG: _BATCH + _ZSTD},
        during=_without_zstd,
    ),
    FaultCase("time-limit", shown={_LOG: _BATCH}, at=error(WHOLE_FILE), near_miss={_LOG: b""}, settings={"time_limit": 0.0}),
    FaultCase(
        "check-crashed",
        shown=_PARTITION,
        at=error(WHOLE_FILE, file=_LOG, found="SIGKILL"),
        near_miss=_PARTITION,
        during=_killed,
        is_isolated=True,
    ),
)
