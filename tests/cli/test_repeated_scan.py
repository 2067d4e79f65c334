"""`kdump scan` into the directory of an earlier scan: the tables are those of a new scan, and what is as it was is not read."""

import errno
import json
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq  # what needs Arrow
import pytest

from kdump.binary import system
from kdump.cli.commands import main
from kdump.cli.scanning.summary import ScanSummary
from kdump.errors import Unreadable
from kdump.exit_codes import NOT_EXAMINED
from kdump.pipeline import reading
from kdump.pipeline.reconciliation import Reconciliation
from tests.builders.files import file_name, write_partition
from tests.builders.records import batch, record
from tests.loops import of_all_cases
from tests.support import PoolHere

DAY = 86_400


def _batches(first: int, count: int = 3, value: bytes = b"v") -> list[bytes]:
    return [batch(records=[record(key=b"k", value=value * 50)] * 2, base_offset=first + 2 * number) for number in range(count)]


def _age(path: Path) -> None:
    """Let everything below a path have been written yesterday."""
    for one in path.rglob("*"):
        if time.time() - one.stat().st_mtime < DAY / 2:
            os.utime(one, (time.time() - DAY, time.time() - DAY))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A broker with three partitions, each of three segments; one batch is damaged."""
    for partition in range(3):
        segments = {base: _batches(base) for base in (0, 6, 12)}
        if partition == 1:
            segments[0][1] = segments[0][1][:-1] + b"x"
        write_partition(tmp_path / "data", topic="a", partition=partition, segments=segments)
    (tmp_path / "data" / "recovery-point-offset-checkpoint").write_text("0\n3\na 0 18\na 1 18\na 2 18\n")
    _age(tmp_path / "data")
    return tmp_path / "data"


def _scan(data: Path, out: str = "out", *options: str) -> int:
    return _scan_all(data, out, "--jobs", "2", "--output", "json", "--target-bytes", "4k", *options)


def _scan_all(data: Path, out: str, *options: str) -> int:
    return main(["scan", str(data), "--tables-to", str(data.parent / out), "--engine", "local", "--records", *options])


def _summary(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(capsys.readouterr().out)
    return summary


def _rows(data: Path, out: str) -> dict[str, Counter[str]]:
    tables = [path for path in (data.parent / out).iterdir() if path.is_dir()]
    return {path.name: Counter(map(repr, pq.read_table(path).to_pylist())) for path in tables}


def _log(data: Path, partition: int, base: int) -> Path:
    return data / f"a-{partition}" / file_name(base, ".log")


def _assert_as_new(data: Path) -> None:
    """Compare the tables with those of a scan that reads everything."""
    shutil.rmtree(data.parent / "new", ignore_errors=True)
    _scan(data, "new")
    assert _rows(data, "out") == _rows(data, "new")


def _is_left(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.iterdir() if path.name.startswith("."))


def test_what_has_not_changed_is_not_read_and_told(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = _scan(data)
    first = _summary(capsys)
    before = _rows(data, "out")
    with mock.patch.object(reading, "read", side_effect=AssertionError("something was read")):
        assert _scan(data) == code == 1
    second = _summary(capsys)
    assert (first["unchangedFiles"], second["unchangedFiles"]) == (0, first["files"])
    times = {"seconds": 0, "unchangedFiles": 0}
    assert second | times == first | times
    assert _rows(data, "out") == before
    assert _scan_all(data, "out") == 1
    assert "No file has changed since the scan of " in capsys.readouterr().out
    assert not list(_is_left(data.parent))


def test_what_cannot_be_listed_now_is_a_change_and_an_incomplete_scan_is_not_repeated(data: Path) -> None:
    _scan(data)
    (data / "a-9").mkdir()
    with mock.patch.object(system, "entries", lambda path, was=system.entries: was(__file__ if path.endswith("a-9") else path)):
        assert _scan(data) == NOT_EXAMINED
    with mock.patch.object(Reconciliation, "incomplete_tables", return_value=["batches"]):
        _scan(data, "incomplete")
    assert not (data.parent / "incomplete" / "manifest.json").exists()


@pytest.mark.parametrize("table", ["batches", of_all_cases("findings"), "txn_index"])
def test_the_summary_is_made_again_where_a_table_has_changed(data: Path, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    _scan(data)
    manifest = data.parent / "out" / "manifest.json"
    kept = json.loads(manifest.read_text())
    kept["summary"] |= {"batches": 7}
    manifest.write_text(json.dumps(kept))
    capsys.readouterr()
    _scan(data)
    assert _summary(capsys)["batches"] == 7
    for part in (data.parent / "out" / table).iterdir():
        os.utime(part, (1, 1))
    _scan(data)
    assert _summary(capsys)["batches"] == 27


def test_only_what_is_new_or_changed_is_read(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _scan(data)
    with _log(data, 0, 12).open("ab") as file:
        file.write(_batches(18, 1)[0])
    _log(data, 2, 0).unlink()
    read: set[str] = set()
    whole = reading.slice_rows

    def slice_rows(file_slice: Any, options: Any, *others: Any, **makes: Any) -> Any:
        if options.table != "files":
            read.add(file_slice.path)
        return whole(file_slice, options, *others, **makes)

    capsys.readouterr()
    with mock.patch.object(reading, "slice_rows", slice_rows), mock.patch("kdump.pipeline.local.Pool", PoolHere):
        _scan(data, "out", "--tables", "files")
    assert "another tables" in capsys.readouterr().err
    with mock.patch.object(reading, "slice_rows", slice_rows), mock.patch("kdump.pipeline.local.Pool", PoolHere):
        _scan(data)
    summary = _summary(capsys)
    damaged = _log(data, 1, 0)  # whose missing records are to be reported again
    assert {path for path in read if path.endswith(".log")} == {str(_log(data, 0, 12)), str(damaged)}
    assert summary["unchangedFiles"] == summary["files"] - 2
    assert summary["records"] == 3 * 18 + 2 - 6 - 2  # two are in the damaged batch
    _assert_as_new(data)


def test_a_scan_that_fails_leaves_the_earlier_one(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _scan(data)
    before = _rows(data, "out")
    unread = mock.patch("kdump.pipeline.earlier_scan.open", side_effect=OSError(errno.EIO, "Input/output error"), create=True)
    with unread:  # the manifest, which is not taken for another directory
        assert _scan(data) == NOT_EXAMINED
    assert "manifest.json: Input/output error" in capsys.readouterr().err
    assert _rows(data, "out") == before
    _log(data, 0, 0).unlink()
    with mock.patch("kdump.cli.scanning.sums.ScanSummary", side_effect=MemoryError):
        assert _scan(data) == NOT_EXAMINED
    assert _rows(data, "out") == before
    assert not list(_is_left(data.parent))


@pytest.mark.parametrize("name", ["stat", "lstat"])
def test_a_directory_that_cannot_be_described_is_no_wrong_usage(name: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _scan(data)
    ask, out = getattr(os, name), str(data.parent / "out")

    def failing(path: Any, **given: Any) -> os.stat_result:
        if str(path).startswith(out):
            raise PermissionError(errno.EACCES, "Permission denied")
        found: os.stat_result = ask(path, **given)
        return found

    monkeypatch.setattr(os, name, failing)
    with pytest.raises(Unreadable, match="permission denied"):  # which has exit code 3
        _scan(data)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, of_all_cases(1)])
def test_tables_are_those_of_a_new_scan_whatever_happened_between(data: Path, seed: int, all_cases: bool) -> None:
    chance = random.Random(seed)
    _scan(data)
    for _ in range(4 if all_cases else 2):
        for _ in range(chance.randrange(3)):
            _change(data, chance)
        if chance.random() < 0.5:
            _age(data)
        _scan(data)
        _assert_as_new(data)


def _change(data: Path, chance: random.Random) -> None:
    logs = sorted(data.glob("a-*/*.log"))
    path = chance.choice(logs)
    match chance.randrange(7):
        case 0:
            with path.open("ab") as file:
                file.write(_batches(100, 1)[0])
        case 1:
            path.unlink()
        case 2:  # as a cleaner does
            path.with_suffix(".swap").write_bytes(path.read_bytes()[: len(_batches(0)[0])])
            path.with_suffix(".swap").rename(path)
        case 3:  # in place, with its old size and time
            status = path.stat()
            path.write_bytes(path.read_bytes()[:-1] + b"y")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        case 4:
            partition = len(list(data.glob("a-*")))
            write_partition(data, topic="a", partition=partition, segments={0: _batches(0)})
        case 5:
            (data / "recovery-point-offset-checkpoint").write_text(f"0\n1\na 0 {chance.randrange(100)}\n")
        case _:
            part = chance.choice(sorted((data.parent / "out").glob("*/part-*.parquet")))
            part.unlink()


def test_another_scan_and_other_directories_are_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _scan(data)
    _scan(data, "some", "--topics", "b")
    for folder, name, *value in (("out", "topics", "b"), ("some", "topics"), ("out", "level", "quick")):
        assert _scan(data, folder, *([f"--{name}", *value] if value else [])) == 2
        assert f"holds the tables of a scan with another {name}" in capsys.readouterr().err
    for name in ("notes.txt", "batches/mine.parquet"):
        (data.parent / "out" / name).touch()
        assert _scan(data) == 2
        assert f"also holds {name}, which a scan would delete" in capsys.readouterr().err
        (data.parent / "out" / name).unlink()
    (data.parent / "out" / "manifest.json").write_text("{}")
    assert _scan(data) == 2
    assert "is not a scan of this release" in capsys.readouterr().err


def test_a_partition_with_timestamps_in_the_future_is_checked_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = int(time.time() * 1000) + 10 * DAY * 1000
    _log(data, 0, 12).write_bytes(batch(records=[record(timestamp=later)], base_offset=12))
    _age(data)
    _scan(data)
    assert json.loads((data.parent / "out" / "manifest.json").read_text())["doubtful"] == [str(data / "a-0")]
    assert _scan(data) == 1
    _assert_as_new(data)


def test_a_partition_of_which_a_file_was_not_examined_is_checked_again(data: Path) -> None:
    link = data / "a-0" / f"{18:020}.log"
    link.symlink_to(link)
    assert _scan(data) == NOT_EXAMINED
    assert {str(data / "a-0"), str(link)} <= {*json.loads((data.parent / "out" / "manifest.json").read_text())["doubtful"]}


def test_directories_change_places_where_the_system_cannot_do_it_at_once(tmp_path: Path) -> None:
    from kdump.binary import exchange

    def inside() -> dict[str, list[str]]:
        return {path.name: [file.name for file in path.iterdir()] for path in tmp_path.iterdir()}

    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    with mock.patch.object(exchange, "_exchanged", return_value=False):
        exchange.exchange(str(tmp_path / "new"), str(tmp_path / "old"))
    assert inside() == {"old": ["new"], "new": ["old"]}
    exchange.exchange(str(tmp_path / "new"), str(tmp_path / "old"))
    assert inside() == {"old": ["old"], "new": ["new"]}


@pytest.mark.parametrize("is_sound", [True, False])
def test_tables_of_before_that_cannot_be_removed_are_told(is_sound: bool, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data / "a-0" if is_sound else data
    out = data.parent / "out"
    command = ["scan", str(path), "--tables-to", str(out), "--engine", "local"]
    status = main(command)
    shutil.copy(data / "a-0" / f"{12:020}.log", data / "a-0" / f"{18:020}.log.deleted")  # a change
    with mock.patch.object(shutil, "rmtree", lambda *_, **__: None):
        assert (status, main(command)) == ((0, 0) if is_sound else (1, 1))
    (left,) = (one for one in data.parent.iterdir() if one.name.startswith(".") and one.is_dir())
    assert f"kdump: cannot remove {left}, " in capsys.readouterr().err
    shutil.rmtree(left)


def test_a_kept_summary_says_that_more_was_not_read() -> None:
    numbers = dict.fromkeys(("files", "hasKafkas", "bytes", "batches", "records", "recordsNotRead"), 5)
    lists: dict[str, Any] = {name: [] for name in ("topics", "codecs", "findings", "worst", "incompleteTables")}
    others = {"oldestTimestamp": None, "newestTimestamp": None, "unreadable": [{"bad-magic": 1}, 7, False]}
    for more, words in ((True, "at least 5 records"), (False, "; 5 records")):
        given = {**numbers, **lists, **others, "level": "full", "areMoreNotRead": more, "tables": {}, "failingStarts": {}}
        codes = [("bad-magic", "error"), *([("finding-flood", "info")] if more else [])]  # of more findings than are listed
        given["findings"] = [{"code": code, "severity": severity, "count": 1} for code, severity in codes]
        verdict = ScanSummary.of_kept(given, ("error",)).json(None, "local", 1.0)["verdict"]
        assert verdict.startswith(f"unreadable ({'at least ' if more else ''}7 records); ") and words in verdict


def test_that_a_broker_does_not_start_is_told_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "no-partition").mkdir()
    _age(data)
    told = []
    for _ in range(2):
        _scan(data)
        told.append(_summary(capsys))
    assert told[1]["unchangedFiles"] > 0
    assert told[0]["reasons"] == told[1]["reasons"] and "start" in " ".join(told[0]["reasons"])
