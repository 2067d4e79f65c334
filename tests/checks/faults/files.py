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

from .case import NO_BYTES, WHOLE_FILE, case, error, info, partition_files, place

_LOG = file_name(0, ".log")
_NEXT_LOG = file_name(1, ".log")
_BATCH = batch(records=[record(key=b"key", value=b"value")])
_NEXT = batch(records=[record(key=b"key", value=b"value")], base_offset=1)
_PARTITION = partition_files({0: [_BATCH], 1: [_NEXT]}, topic="orders", partition=3)
_WITHOUT_NEXT = {name: data for name, data in _PARTITION.items() if name != _NEXT_LOG}
_BROKEN = _BATCH[:-1] + b"X"
_ZSTD = batch(records=[record(key=b"key", value=b"value" * 20)], base_offset=1, codec="zstd")
_LOG_DIRECTORY = {".kafka_cleanshutdown": b'{"version":0}', "meta.properties": b"version=1\ncluster.id=c\nnode.id=1\n"}
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
    return without_packages("zstandard", "zstd of Python")


def _kill(_path: Path) -> contextlib.AbstractContextManager[object]:
    """The process that checks the first segment dies."""
    check = segment.check

    def killed(context: FileContext) -> SegmentFacts:
        if context.base_offset == 0:
            context.source.read(0, 10)
            os.kill(os.getpid(), signal.SIGKILL)
        return check(context)

    return mock.patch.object(segment, "check", killed)


CASES = (
    case(
        "active-tail",
        _BATCH + _NEXT[:30],
        info((106, 106), expected="106", found="152"),
        _BATCH + _NEXT,
        also={"torn-tail": info((76, 106))},
        during=_once_open(_append),
    ),
    case("file-shrank", _BATCH + _NEXT, error((76, 152), expected="152", found="76"), _BATCH, during=_once_open(_truncate)),
    case("file-replaced", _BATCH + _NEXT, info(WHOLE_FILE), _BATCH, during=_once_open(_replace)),
    case("file-vanished", _PARTITION, info(NO_BYTES, file=_NEXT_LOG), _PARTITION, during=_once_open(_remove_next)),
    case("file-vanished: named", _BATCH, error(NO_BYTES), _BATCH, arranged=Path.unlink),
    case("file-vanished: while-read", _BATCH + _NEXT, info(WHOLE_FILE), _BATCH, during=_once_open(os.unlink)),
    case("permission-denied", _BATCH, error(NO_BYTES), _BATCH, during=_refused),
    case("io-error", _BATCH * 54 + _NEXT, error((0, 4096)), _BATCH, during=_bad_sector),
    case("not-regular", b"", error(NO_BYTES), b"", arranged=_fifo),
    # the near miss: what the link leads to has a name of its own
    case(
        "symlink-loop",
        _WITHOUT_NEXT,
        error(NO_BYTES, file=_NEXT_LOG),
        _PARTITION,
        arranged=_link(_NEXT_LOG),
        near_arranged=_link_inside,
        near_also={"file-not-recognized"},
    ),
    # the near miss: what the link leads to has a name of its own
    case(
        "symlink-outside",
        _WITHOUT_NEXT,
        error(NO_BYTES, file=_NEXT_LOG),
        _PARTITION,
        arranged=_link(f"../elsewhere/{_NEXT_LOG}"),
        near_arranged=_link_inside,
        near_also={"file-not-recognized"},
    ),
    case(
        "foreign-segment",
        {redpanda.NAME: redpanda.redpanda_batch(_BATCH)},
        error(WHOLE_FILE, found="Redpanda"),
        {redpanda.NAME: _BATCH},
    ),
    case(
        "foreign-segment: directory",
        {redpanda.NAME: redpanda.redpanda_batch(_BATCH), "1-1-v1.log": redpanda.redpanda_batch(_NEXT), "tx.snapshot": b"x"},
        error(NO_BYTES, found="Redpanda"),
        _PARTITION,
    ),
    case("foreign-segment: rocksdb", {"000004.log": b"", "CURRENT": b""}, error(NO_BYTES, found="RocksDB"), _PARTITION),
    case("file-not-recognized", {"a.bak": _BATCH}, error((0, len(_BATCH)), found="log"), _BATCH),
    case(
        "file-not-recognized: compressed", {f"{_LOG}.gz": gzip.compress(_BATCH, mtime=0)}, error(WHOLE_FILE, found="gzip"), _BATCH
    ),
    case(
        "file-not-recognized: beside-segments",
        {**_PARTITION, f"{_NEXT_LOG}.bak": b"x" * 100},
        error((0, 100), file=f"{_NEXT_LOG}.bak"),
        {**_PARTITION, "notes.bak": b""},
    ),
    case(
        "file-not-recognized: not-kafkas",
        {**_PARTITION, "notes.txt": b"x" * 100, f"{0:020}.tierstate.mutable": b"\1" * 40},
        info(NO_BYTES, file=""),
        {**_PARTITION, ".lock": b"", "notes.txt": b""},
    ),
    case(
        "file-not-recognized: of-a-program",
        {"orders-3/leader-epoch-checkpoint": b"0\n0\n", **_LOG_DIRECTORY, "server.log": b"INFO well"},
        info(NO_BYTES, file=""),
        {"orders-3/leader-epoch-checkpoint": b"0\n0\n", **_LOG_DIRECTORY, "server.log": b""},
    ),
    case(
        "sparse-file",
        _BATCH,
        info((0, len(_BATCH) + _HOLE)),
        _BATCH,
        also={"zero-tail": error((len(_BATCH), len(_BATCH) + _HOLE))},
        arranged=_with_hole,
    ),
    case("file-empty", b"", info(NO_BYTES), _BATCH, settings={"is_pedantic": True}),
    case(
        "finding-flood",
        _BROKEN * 3 + _NEXT,
        info((76, 3 * 76), found="2"),
        _BROKEN + _NEXT,
        also={"crc-mismatch": error((0, 76), offsets=(0, 0))},
        near_also={"crc-mismatch"},
        settings={"max_findings": 1},
    ),
    case("codec-package-missing", _BATCH + _ZSTD, error(place([_BATCH, _ZSTD], 1)), _BATCH + _ZSTD, during=_without_zstd),
    case("time-limit", _BATCH, error(WHOLE_FILE), b"", settings={"time_limit": 0.0}),
    case("check-crashed", _PARTITION, error(WHOLE_FILE, file=_LOG, found="SIGKILL"), _PARTITION, during=_kill, is_isolated=True),
)
