"""What `kdump.open` returns for a path, and the public names of the package."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kdump
from tests.builders import redpanda
from tests.builders.files import checkpoint, write_partition
from tests.builders.records import batch, record
from tests.loops import each

ROOT = Path(kdump.__file__).parent.parent
LOG = "00000000000000000000.log"


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@each(
    ("name", "expected"),
    [
        *(("00000000000000000000.log", kdump.Log), ("00000000000000000000.log.deleted", kdump.Log)),
        *(("00000000000000000100-0000000003.checkpoint", kdump.Log), ("bootstrap.checkpoint", kdump.Log)),
        *(("00000000000000000000.index", kdump.OffsetIndex), ("00000000000000000000.index.swap", kdump.OffsetIndex)),
        *(("00000000000000000000.timeindex", kdump.TimeIndex), ("00000000000000000000.txnindex", kdump.TransactionIndex)),
        *(("00000000000000000000.snapshot", kdump.ProducerSnapshot), ("leader-epoch-checkpoint", kdump.LeaderEpochCheckpoint)),
        ("recovery-point-offset-checkpoint", kdump.OffsetCheckpoint),
        ("replication-offset-checkpoint.bak", kdump.OffsetCheckpoint),
    ],
)
def test_the_name_says_what_a_file_is(tmp_path: Path, name: str, expected: type) -> None:
    (tmp_path / name).write_bytes(b"")
    with kdump.open(tmp_path / name) as file:
        assert type(file) is expected
        assert (file.path, file.size) == (os.fspath(tmp_path / name), 0)


def test_the_caller_says_what_a_file_of_another_name_is(tmp_path: Path) -> None:
    path = tmp_path / "copy.bin"
    path.write_bytes(batch(records=[record(value=b"v")], base_offset=4))
    assert [row.base_offset for row in kdump.open(path, file_type="log")] == [4]
    assert kdump.open(path, "checkpoint").base_offset is None
    path.write_bytes(checkpoint(entries=[(1, 2)]))
    assert list(kdump.open(path, file_type="leader-epoch-checkpoint")) == [kdump.LeaderEpoch(1, 2)]


@each(("name", "base_offset"), [(f"{100:020}.log", 100), ("copy.log", None), (f"{100:020}-0000000003.checkpoint", None)])
def test_the_base_offset_of_a_log_is_that_in_its_name(tmp_path: Path, name: str, base_offset: int | None) -> None:
    assert kdump.open(_written(tmp_path / name, b"")).base_offset == base_offset


def test_a_path_that_cannot_be_opened_is_unreadable(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "empty").mkdir()
    (tmp_path / "copy.index").write_bytes(b"")
    (tmp_path / redpanda.NAME).write_bytes(redpanda.redpanda_batch(batch(records=[record()])))
    codes = {"none.log": "file-missing", "none": "file-missing", "pipe.log": "file-not-regular", "empty": "file-missing"}
    for name, code in {**codes, "copy.index": "number-malformed", redpanda.NAME: "foreign-segment"}.items():
        with pytest.raises(kdump.Unreadable) as caught:
            kdump.open(tmp_path / name)
        assert (caught.value.code, caught.value.path) == (code, os.fspath(tmp_path / name))


def test_what_is_not_a_kafka_file_by_its_name_is_a_usage_error(tmp_path: Path) -> None:
    path = _written(tmp_path / "notes.txt", b"")
    with pytest.raises(kdump.UsageError, match="does not say what the file is; give its file_type: log, "):
        kdump.open(path)
    with pytest.raises(kdump.UsageError, match="there is no type 'logs'"):
        kdump.open(path, "logs")  # type: ignore[call-overload]  # that is the point


def test_a_log_directory_is_not_a_partition(tmp_path: Path) -> None:
    write_partition(tmp_path, topic="a", segments={0: [batch(records=[record()])]})
    with pytest.raises(kdump.UsageError, match="is a log directory, not a partition"):
        kdump.open(tmp_path)
    for file_type in ("index", "checkpoint"):
        with pytest.raises(kdump.UsageError, match=f"is a directory, and no file of type {file_type}"):
            kdump.open(tmp_path / "a-0", file_type)


def test_a_file_that_was_closed_is_not_read(tmp_path: Path) -> None:
    folder = write_partition(tmp_path, topic="a", segments={n: [batch(records=[record()], base_offset=n)] for n in range(3)})
    for log in map(kdump.open, (_written(tmp_path / LOG, batch(records=[record(value=b"v")]) * 3), folder)):
        batches, records = iter(log), log.records()
        tables = log.tables()
        next(tables)
        with log:
            assert not log.closed
        assert log.closed
        log.close()
        for rows in (batches, records, tables, log.salvage(), log.salvage_records()):
            with pytest.raises(kdump.UsageError, match="is closed"):
                next(rows)
        with pytest.raises(kdump.UsageError, match="is closed"):
            log.__enter__()


def _open_files() -> int:
    gc.collect()
    return len(os.listdir("/dev/fd"))


def test_the_end_of_a_block_or_of_the_last_use_closes_the_file(tmp_path: Path) -> None:
    path = _written(tmp_path / LOG, batch(records=[record(value=b"v")]))
    before = _open_files()
    with kdump.open(path):
        assert _open_files() == before + 1
    assert _open_files() == before
    assert [row.base_offset for row in kdump.open(path)] == [0]
    assert _open_files() == before
    for name in ("copy.index", "notes.txt"):
        with pytest.raises(kdump.KdumpError):
            kdump.open(_written(tmp_path / name, b""))
        assert _open_files() == before, "a failed open leaves nothing open"


def test_every_name_of_the_package_is_there_and_found_by_dir() -> None:
    for name in kdump.__all__:
        assert getattr(kdump, name).__name__ == name
        assert getattr(kdump, name).__doc__, name
    assert set(kdump.__all__) <= set(dir(kdump))
    with pytest.raises(AttributeError, match="module 'kdump' has no attribute 'nothing'"):
        kdump.nothing  # type: ignore[attr-defined]  # noqa: B018  # that is the point


def _printed(code: str) -> list[str]:
    """The words that a new process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.split()


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import kdump; dir(kdump); print(*sorted(set(sys.modules) - before))"
    assert _printed(code) == ["kdump"]


def test_opening_a_log_imports_neither_commands_nor_what_is_slow_to_import(tmp_path: Path) -> None:
    path = os.fspath(_written(tmp_path / LOG, batch(records=[record(value=b"v")])))
    modules = _printed(f"import sys, kdump; list(kdump.open({path!r}).records()); print(*sorted(sys.modules))")
    assert [name for name in modules if name.startswith(("kdump.cli", "kdump.output", "kdump.releases"))] == []
    assert {"click", "rich", "pyarrow", "pyspark"} & {name.split(".")[0] for name in modules} == set()
