"""Faults of directories."""

from collections.abc import Callable

from tests.builders.files import checkpoint, file_name
from tests.builders.records import batch, record

from .case import NO_BYTES, WHOLE_FILE, At, FaultCase, Files, case, error, info, partition_files, warning


def _log(base_offset: int) -> str:
    return file_name(base_offset, ".log")


def _batch(offset: int, count: int = 2) -> bytes:
    return batch(base_offset=offset, records=[record(value=b"value")] * count)


_WHOLE = {0: [_batch(0), _batch(2)], 4: [_batch(4)]}
_SOUND = dict(partition_files(_WHOLE))
_OF_SECOND = {name: data for name, data in _SOUND.items() if name.startswith(f"{4:020d}")}


def _with_suffix(suffix: str, *, base_offset: int = 0) -> dict[str, bytes]:
    """The files of a segment once more, with one more suffix, beside all others."""
    more = {name + suffix: data for name, data in _SOUND.items() if name.startswith(f"{base_offset:020d}")}
    return _SOUND | more


def _log_dir(partition: str = "orders-3", files: Files | None = None) -> Files:
    """A log directory with one partition of the offsets 0 to 5, and files of its own."""
    return {"meta.properties": _META, **(files or {}), **{f"{partition}/{name}": data for name, data in _SOUND.items()}}


def _beyond_end(code: str, kind: str, offset: int, offsets: tuple[int, int] | None = None) -> FaultCase:
    """A checkpoint has an offset beyond the end of the partition, which is 6."""
    name = f"{kind}-offset-checkpoint"
    shown, near_miss = (
        _log_dir(files={name: checkpoint(entries=[("orders", 2, 0), ("orders", 3, at), ("orders-3", 3, 0)])})
        for at in (offset, 6)
    )
    return case(code, shown, error((15, 25), file=name, offsets=offsets, expected="at most 6", found=str(offset)), near_miss)


def _between(severity: Callable[..., At], base_offset: int, first: int, last: int) -> At:
    """Offsets are missing before a segment."""
    return severity(NO_BYTES, file=_log(base_offset), offsets=(first, last), expected=str(first), found=str(base_offset))


_DELETED = "orders-3.0123456789abcdef0123456789abcdef-delete"
_POINTS, _HIGH = "recovery-point-offset-checkpoint", "replication-offset-checkpoint"
_META = b"#\n#Tue Nov 14 22:13:20 UTC 2023\nnode.id=1\nversion=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\n"

_SWAPPED = {**_log_dir(files={_HIGH: checkpoint(entries=[("orders", 3, 8)])}), f"orders-3/{_log(6)}.swap": _batch(6)}

CASES: tuple[FaultCase, ...] = (
    case(
        "segments-overlap",
        partition_files({0: [_batch(0), _batch(2)], 3: [_batch(3, 3)]}),
        error(NO_BYTES, file=_log(3), offsets=(3, 3), expected="at least 4", found="3"),
        _SOUND,
    ),
    case("segments-gap", partition_files({0: [_batch(0)], 4: [_batch(4)]}), _between(info, 4, 2, 3), _SOUND),
    case(
        "segment-empty-middle",
        partition_files({0: [_batch(0)], 2: [], 4: [_batch(4)]}),
        warning(NO_BYTES, file=_log(2)),
        partition_files({0: [_batch(0)], 2: []}),
        also={"segments-gap": info(NO_BYTES, file=_log(4), offsets=(2, 3))},
    ),
    case(
        "segment-empty-newest",
        partition_files({0: [_batch(0)], 2: []}),
        info(NO_BYTES, file=_log(2)),
        partition_files({0: [_batch(0)]}),
        also={
            "file-empty": [
                info(NO_BYTES, file=name)
                for name in (file_name(0, ".index"), _log(2), file_name(2, ".index"), file_name(2, ".timeindex"))
            ]
        },
        near_also={"file-empty"},
        settings={"is_pedantic": True},
    ),
    _beyond_end("log-start-beyond-end", "log-start", 7),
    _beyond_end("recovery-point-beyond-end", "recovery-point", 7, offsets=(6, 6)),
    _beyond_end("high-watermark-beyond-end", "replication", 9, offsets=(6, 8)),
    case(
        "high-watermark-beyond-end: of-a-swap",  # which a start puts in its place, unless a cleaning beside it was not finished
        _SWAPPED | {f"orders-3/{_log(6)}.cleaned": b""},
        error((4, 14), file=_HIGH, offsets=(6, 7), expected="at most 6", found="8"),
        _SWAPPED,
        also={
            "leftover-swap": warning(NO_BYTES, file=f"orders-3/{_log(6)}.swap"),
            "leftover-cleaned": info(NO_BYTES, file=f"orders-3/{_log(6)}.cleaned"),
        },
        near_also={"leftover-swap"},
    ),
    _beyond_end("cleaner-offset-beyond-end", "cleaner", 9, offsets=(6, 8)),
    case("leftover-cleaned", _with_suffix(".cleaned"), info(NO_BYTES, file=_log(0) + ".cleaned"), _SOUND),
    case("leftover-swap", _with_suffix(".swap"), warning(NO_BYTES, file=_log(0) + ".swap"), _SOUND),
    case(
        "leftover-swap: without-log",
        _SOUND | {f"{4:020d}.index.swap": b"", f"{4:020d}.timeindex.swap": b""},
        warning(NO_BYTES, file=file_name(4, ".index") + ".swap"),
        _SOUND | {f"{4:020d}.log.bak": b""},
    ),
    case("leftover-deleted", _with_suffix(".deleted"), info(NO_BYTES, file=_log(0) + ".deleted"), _SOUND),
    case(
        "dir-odd",
        _log_dir(_DELETED, {"lost+found/x": b"", "orders-1-delete/x": b""}),
        (info(NO_BYTES, file=_DELETED), error(NO_BYTES, file="lost+found"), error(NO_BYTES, file="orders-1-delete")),
        _log_dir(files={"remote-log-index-cache/0_a.index": b""}),
    ),
    case(
        "name-not-numeric",
        _SOUND | {"foo.snapshot.bak": b"", "99999999999999999999.timeindex": b"", "-0000000000000000005.timeindex": b""},
        (error(NO_BYTES, file="99999999999999999999.timeindex"), warning(NO_BYTES, file="-0000000000000000005.timeindex")),
        _SOUND | {"foo.log.bak": b"", "foo.txt": b"text"},
        near_also={"file-not-recognized"},
    ),
    case(
        "name-not-numeric: of-leftovers",
        _SOUND | {"foo.log.swap": b"", "b.log.cleaned": b""},
        (error(NO_BYTES, file="foo.log.swap"), error(NO_BYTES, file="b.log.cleaned")),
        _SOUND | {"foo.log.deleted": b""},
        also={"leftover-swap": warning(NO_BYTES, file="foo.log.swap"), "leftover-cleaned": info(NO_BYTES, file="b.log.cleaned")},
        near_also={"leftover-deleted"},
    ),
    case(
        "name-width-odd",
        {name.replace(f"{4:020d}.log", "4.log"): data for name, data in _SOUND.items()},
        error(NO_BYTES, file="4.log", expected=_log(4), found="4.log"),
        _SOUND,
    ),
    case("name-width-odd: twice", _SOUND | {"4.log": _OF_SECOND[file_name(4, ".log")]}, warning(NO_BYTES, file="4.log"), _SOUND),
    case(
        "name-not-utf8",
        _SOUND | {"no\nte,s": b"", "\x1b[31mred": b""},
        [info(NO_BYTES, file=name) for name in ("no\nte,s", "\x1b[31mred")],
        _SOUND | {"größe 4": b""},
    ),
    case(
        "log-dir-file-bad",
        _log_dir(files={_POINTS: b"0\n2\norders 3 6\n", "meta.properties": b"\0" * 80}),
        (error(WHOLE_FILE, file=_POINTS), error(WHOLE_FILE, file="meta.properties")),
        _log_dir(files={_POINTS: b"0\n1\norders 3 6\n"}),
    ),
    case(
        "meta-properties-missing",
        {name: data for name, data in _log_dir(files={_POINTS: b"0\n0\n"}).items() if name != "meta.properties"},
        info(NO_BYTES, file="meta.properties"),
        {name: data for name, data in _log_dir().items() if name != "meta.properties"},
    ),
    case(
        "partition-missing",
        _log_dir(files={_POINTS: b"0\n2\norders 3 6\ngone 1 40\n"}),
        info((15, 24), file=_POINTS, found="40"),
        _log_dir(files={_POINTS: b"0\n2\norders 3 6\ngone 1 40\n", f"gone-1{_DELETED[8:]}/x": b""}),
        near_also={"dir-odd"},
    ),
    case("partition-missing: all", {_POINTS: b"0\n1\nx 1 4\n", "meta.properties": _META}, info((4, 9), file=_POINTS), _SOUND),
)
