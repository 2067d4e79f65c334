"""Faults of directories."""

from tests.builders.files import checkpoint, file_name
from tests.builders.records import batch, record

from .case import NO_BYTES, WHOLE_FILE, FaultCase, error, info, partition_files, warning


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


def _log_dir(partition: str = "orders-3", **files: bytes) -> dict[str, bytes]:
    """A log directory with one partition of the offsets 0 to 5, and files of its own by names with _ for -."""
    return {name.replace("_", "-"): data for name, data in files.items()} | {
        f"{partition}/{name}": data for name, data in _SOUND.items()
    }


def _offsets(offset: int) -> bytes:
    return checkpoint(entries=[("orders", 2, 17), ("orders", 3, offset), ("orders-3", 3, 99)])


_META = b"#\n#Tue Nov 14 22:13:20 UTC 2023\nnode.id=1\nversion=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\n"

CASES: tuple[FaultCase, ...] = (
    FaultCase(
        "segments-overlap",
        shown=partition_files({0: [_batch(0), _batch(2)], 3: [_batch(3, 3)]}),
        at=error(NO_BYTES, file=_log(3), offsets=(3, 3), expected="at least 4", found="3"),
        near_miss=_SOUND,
    ),
    FaultCase(
        "segments-gap",
        shown=partition_files({0: [_batch(0)], 4: [_batch(4)]}),
        at=info(NO_BYTES, file=_log(4), offsets=(2, 3), expected="2", found="4"),
        near_miss=_SOUND,
    ),
    FaultCase(
        "segments-gap",
        shown=partition_files({0: [_batch(0)], 4: [_batch(4)], 9: [_batch(9)]}),
        at=(
            error(NO_BYTES, file=_log(4), offsets=(2, 3), expected="2", found="4"),
            error(NO_BYTES, file=_log(9), offsets=(6, 8), expected="6", found="9"),
        ),
        near_miss=_SOUND,
        settings={"cleanup_policy": "delete"},
        name="not-compacted",
    ),
    FaultCase(
        "segments-gap",
        shown=partition_files({0: [_batch(0)], 4: [_batch(4)], 9: [_batch(9)]}),
        at=info(NO_BYTES, file=_log(4), offsets=(2, 8), expected="2", found="4"),
        near_miss=_SOUND,
        name="two",
    ),
    FaultCase(
        "segment-empty-middle",
        shown=partition_files({0: [_batch(0)], 2: [], 4: [_batch(4)]}),
        at=warning(NO_BYTES, file=_log(2)),
        near_miss=partition_files({0: [_batch(0)], 2: []}),
        also={"segments-gap": info(NO_BYTES, file=_log(4), offsets=(2, 3))},
    ),
    FaultCase(
        "segment-empty-newest",
        shown=partition_files({0: [_batch(0)], 2: []}),
        at=info(NO_BYTES, file=_log(2)),
        near_miss=partition_files({0: [_batch(0)]}),
        also={
            "file-empty": [
                info(NO_BYTES, file=name)
                for name in (file_name(0, ".index"), _log(2), file_name(2, ".index"), file_name(2, ".timeindex"))
            ]
        },
        near_also={"file-empty"},
        settings={"is_pedantic": True},
    ),
    FaultCase(
        "log-start-beyond-end",
        shown=_log_dir(log_start_offset_checkpoint=_offsets(7)),
        at=error((16, 26), file="log-start-offset-checkpoint", expected="at most 6", found="7"),
        near_miss=_log_dir(log_start_offset_checkpoint=_offsets(6)),
    ),
    FaultCase(
        "recovery-point-beyond-end",
        shown=_log_dir(recovery_point_offset_checkpoint=_offsets(7)),
        at=error((16, 26), file="recovery-point-offset-checkpoint", offsets=(6, 6), expected="at most 6", found="7"),
        near_miss=_log_dir(recovery_point_offset_checkpoint=_offsets(6)),
    ),
    FaultCase(
        "high-watermark-beyond-end",
        shown=_log_dir(replication_offset_checkpoint=_offsets(9)),
        at=error((16, 26), file="replication-offset-checkpoint", offsets=(6, 8), expected="at most 6", found="9"),
        near_miss=_log_dir(replication_offset_checkpoint=_offsets(6)),
    ),
    FaultCase(
        "cleaner-offset-beyond-end",
        shown=_log_dir(cleaner_offset_checkpoint=_offsets(9)),
        at=error((16, 26), file="cleaner-offset-checkpoint", offsets=(6, 8), expected="at most 6", found="9"),
        near_miss=_log_dir(cleaner_offset_checkpoint=_offsets(6)),
    ),
    FaultCase("leftover-cleaned", shown=_with_suffix(".cleaned"), at=info(NO_BYTES, file=_log(0) + ".cleaned"), near_miss=_SOUND),
    FaultCase("leftover-swap", shown=_with_suffix(".swap"), at=warning(NO_BYTES, file=_log(0) + ".swap"), near_miss=_SOUND),
    FaultCase(
        "leftover-swap",
        shown=_with_suffix(".swap", base_offset=4) | {f"{0:020d}.log.cleaned": b""},
        at=warning(NO_BYTES, file=_log(4) + ".swap"),
        near_miss=_SOUND,
        also={"leftover-cleaned": info(NO_BYTES, file=_log(0) + ".cleaned")},
        name="above-cleaned",
    ),
    FaultCase(
        "leftover-swap",
        shown=_SOUND | {f"{4:020d}.index.swap": b"", f"{4:020d}.timeindex.swap": b""},
        at=warning(NO_BYTES, file=file_name(4, ".index") + ".swap"),
        near_miss=_SOUND | {f"{4:020d}.log.bak": b""},
        name="without-log",
    ),
    FaultCase("leftover-deleted", shown=_with_suffix(".deleted"), at=info(NO_BYTES, file=_log(0) + ".deleted"), near_miss=_SOUND),
    FaultCase(
        "dir-odd",
        shown=_log_dir("orders-3.0123456789abcdef0123456789abcdef-delete")
        | {"meta.properties": _META, "lost+found/x": b"", "orders-1-delete/x": b""},
        at=(
            info(NO_BYTES, file="orders-3.0123456789abcdef0123456789abcdef-delete"),
            error(NO_BYTES, file="lost+found"),
            error(NO_BYTES, file="orders-1-delete"),
        ),
        near_miss=_log_dir() | {"meta.properties": _META, "remote-log-index-cache/0_a.index": b""},
    ),
    FaultCase(
        "name-not-numeric",
        shown=_SOUND | {"foo.snapshot.bak": b"", "99999999999999999999.timeindex": b"", "-0000000000000000005.timeindex": b""},
        at=(error(NO_BYTES, file="99999999999999999999.timeindex"), warning(NO_BYTES, file="-0000000000000000005.timeindex")),
        near_miss=_SOUND | {"foo.log.bak": b"", "foo.txt": b"text"},
        near_also={"file-not-recognized"},
    ),
    FaultCase(
        "name-not-numeric",
        shown=_SOUND | {"foo.log.swap": b"", "bar.log.cleaned": b""},
        at=(error(NO_BYTES, file="foo.log.swap"), error(NO_BYTES, file="bar.log.cleaned")),
        near_miss=_SOUND | {"foo.log.deleted": b""},
        also={
            "leftover-swap": warning(NO_BYTES, file="foo.log.swap"),
            "leftover-cleaned": info(NO_BYTES, file="bar.log.cleaned"),
        },
        near_also={"leftover-deleted"},
        name="of-leftovers",
    ),
    FaultCase(
        "name-width-odd",
        shown={name.replace(f"{4:020d}.log", "4.log"): data for name, data in _SOUND.items()},
        at=error(NO_BYTES, file="4.log", expected=_log(4), found="4.log"),
        near_miss=_SOUND,
    ),
    FaultCase(
        "name-width-odd",
        shown=_SOUND | {"4.log": _OF_SECOND[file_name(4, ".log")]},
        at=warning(NO_BYTES, file="4.log"),
        near_miss=_SOUND,
        name="twice",
    ),
    FaultCase(
        "name-width-odd",
        shown={name.replace(f"{4:020d}.timeindex", "4.timeindex"): data for name, data in _SOUND.items()},
        at=warning(NO_BYTES, file="4.timeindex", expected=file_name(4, ".timeindex"), found="4.timeindex"),
        near_miss=_SOUND,
        name="of-an-index",
    ),
    FaultCase(
        "name-not-utf8",
        shown=_SOUND | {"no\nte,s": b"", "\x1b[31mred": b""},
        at=[info(NO_BYTES, file=name) for name in ("no\nte,s", "\x1b[31mred")],
        near_miss=_SOUND | {"größe 4": b""},
    ),
    FaultCase(
        "log-dir-file-bad",
        shown=_log_dir() | {"recovery-point-offset-checkpoint": b"0\n2\norders 3 6\n", "meta.properties": b"\0" * 80},
        at=(error(WHOLE_FILE, file="recovery-point-offset-checkpoint"), error(WHOLE_FILE, file="meta.properties")),
        near_miss=_log_dir() | {"recovery-point-offset-checkpoint": b"0\n1\norders 3 6\n", "meta.properties": _META},
    ),
    FaultCase(
        "log-dir-file-bad",
        shown={"replication-offset-checkpoint": b"0\n2\norders 3 6\norders three 1\n"},
        at=error((15, 30)),
        near_miss={"replication-offset-checkpoint": b"0\n2\norders 3 6\norders 4 1\n"},
        name="alone",
    ),
)
