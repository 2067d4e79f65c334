"""Forecasts against starts of the real log managers, and the command that tells them."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kdump
from kdump.errors import Unreadable, UsageError

from . import restarts
from .builders.files import offset_index
from .builders.records import batch, record

DIFFERENCES: dict[tuple[str, str, str, int], str] = {}
"""Starts that are foretold otherwise, with the reason: case, release, stop, recovery point."""

WITH_ALL_FILES = (
    "restart-crc-and-snapshot/orders-0",
    "restart-txnindex-order/orders-0",
    "restart-swap-one/orders-0",
    "magic1-gzip-0.10.2.2",
)

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("restarts")
    restarts.unpack(folder)
    return folder


@pytest.mark.parametrize("release", ["2.8.2", "3.9.1", "4.3.1"])
def test_every_recorded_start_is_foretold(directories: Path, release: str) -> None:
    wrong = []
    count = 0
    for line in restarts.starts():
        if line["release"] != release:
            continue
        count += 1
        (row,) = kdump.forecast(
            directories / line["case"],
            release=release,
            after=line["stop"],
            recovery_point=line["recoveryPoint"],
            config=line.get("config"),
        )
        foretold = {
            "words": [row.outcome, *row.also],
            "logStart": row.log_start,
            "logEnd": row.log_end,
            "dataEnd": row.data_end,
            "bytesLost": row.bytes_lost,
            "segmentsGone": row.segments_gone,
            "lostRecords": row.lost_records,
            "lostOffsets": row.lost_offsets,
            "exception": row.exception,
        }
        key = (line["case"], release, line["stop"], line["recoveryPoint"])
        if key not in DIFFERENCES:
            wrong += [(key, name, line[name], value) for name, value in foretold.items() if line[name] != value]
    assert not wrong, wrong[:5]
    assert count > 2800


def _partition(folder: Path, *segments: tuple[int, list[bytes]], name: str = "orders-0") -> Path:
    """A partition directory: base offsets, and batches."""
    path = folder / name
    path.mkdir(parents=True)
    for base_offset, batches in segments:
        (path / f"{base_offset:020}.log").write_bytes(b"".join(batches))
        (path / f"{base_offset:020}.index").write_bytes(b"")
        (path / f"{base_offset:020}.timeindex").write_bytes(b"")
    return path


def _batch(offset: int, **fields: Any) -> bytes:
    return batch(base_offset=offset, records=[record(value=b"v")], **fields)


def _only(path: Path | str, **options: Any) -> Any:
    (row,) = kdump.forecast(path, **options)
    return row


def _damaged(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def test_an_unclean_start_cuts_at_the_first_bad_batch_and_deletes_later_segments(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), _damaged(_batch(1)), _batch(2)]), (3, [_batch(3)]))
    row = _only(path, after="unclean", recovery_point="zero")
    size = len(_batch(0))
    assert (row.outcome, row.log_end, row.bytes_lost, row.lost_records) == ("cut", 1, 3 * size, 2)
    assert row.segments_gone == ["00000000000000000003.log"]
    assert row.lost_offsets == [[2, 3]]
    assert row.segments == [[0, size]]
    assert [(change["name"], change["change"]) for change in row.files if str(change["name"]).endswith(".log")] == [
        ("00000000000000000000.log", "truncated"),
        ("00000000000000000003.log", "renamed"),
    ]


def test_an_unclean_start_with_its_recovery_point_at_the_end_looks_at_the_newest_segment_only(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), _damaged(_batch(1)), _batch(2)]), (3, [_batch(3)]))
    row = _only(path, after="unclean", recovery_point="end")
    assert (row.outcome, row.recovery_point, row.log_end, row.bytes_lost) == ("keep", 4, 4, 0)


def test_a_clean_start_ends_the_log_where_a_bad_index_leads(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), _batch(1)]))
    (path / "00000000000000000000.index").write_bytes(offset_index(entries=[(1, 5000)]))
    row = _only(path, after="clean")
    assert (row.outcome, row.log_end, row.data_end, row.end_differs) == ("keep", 0, 2, True)
    assert not row.is_safe


def test_the_checkpoints_of_the_log_directory_are_in_force(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_damaged(_batch(0))]), (1, [_batch(1)]))
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 1\n")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 1\n")
    for named in (str(path), f"{path}/"):
        row = _only(named, after="unclean")
        assert (row.recovery_point, row.outcome, row.log_start) == (1, "keep", 1)
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\nother 0 1\n")
    row = _only(path, after="unclean")
    assert (row.recovery_point, row.outcome, row.also, row.log_end) == (0, "cut", ["delete"], 1)
    assert row.segments_gone == ["00000000000000000000.log"]


def test_a_log_directory_is_told_partition_by_partition_and_its_strangers_too(tmp_path: Path) -> None:
    _partition(tmp_path, (0, [_batch(0)]), name="b-1")
    _partition(tmp_path, (0, [_batch(0)]), name="a-0")
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "meta.properties").write_text("version=1\n")
    rows = list(kdump.forecast(tmp_path, after="clean"))
    assert [(Path(row.path).name, row.outcome) for row in rows] == [("a-0", "keep"), ("b-1", "keep"), ("lost+found", "die")]


def test_other_releases_are_told_as_the_nearest_that_is_known(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0)]))
    releases = {release: _only(path, after="clean", release=release).release for release in ("1.0.1", "3.0.0", "4.1.0")}
    assert releases == {"1.0.1": "2.8.2", "3.0.0": "3.9.1", "4.1.0": "4.3.1"}


def test_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    for options in ({"release": "9.9.9"}, {"after": "soon"}, {"recovery_point": "here"}, {"config": {"retention.ms": "1"}}):
        with pytest.raises(UsageError):
            kdump.forecast(tmp_path, **options)
    with pytest.raises(Unreadable):
        list(kdump.forecast(tmp_path / "nowhere"))


def test_no_damage_raises_and_nothing_is_changed(directories: Path, tmp_path: Path) -> None:
    """Bytes at random in every file of some directories that hold one of each kind."""
    chance = random.Random(8)
    for case in WITH_ALL_FILES:
        source = directories / case
        for number in range(12):
            copy = tmp_path / f"{number}-{Path(case).name}"
            shutil.copytree(source, copy)
            for file in copy.iterdir():
                data = bytearray(file.read_bytes())
                for _ in range(chance.randrange(1, 5)):
                    if data:
                        data[chance.randrange(len(data))] = chance.randrange(256)
                file.write_bytes(bytes(data))
            before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in copy.iterdir()}
            for release in ("2.8.2", "4.3.1"):
                for row in kdump.forecast(copy, recovery_point="zero", release=release):
                    assert row.outcome in ("die", "offline", "wipe", "cut", "split", "rescan", "delete", "keep")
            assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in copy.iterdir()} == before
            shutil.rmtree(copy)


# --- the command


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _command("forecast", *arguments)


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kdump", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_text_says_what_is_lost_and_what_to_do(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), _damaged(_batch(1)), _batch(2)]), (3, [_batch(3)]))
    run = _run("--recovery-point", "zero", str(path))
    lines = run.stdout.splitlines()
    assert run.returncode == 1
    assert lines[0] == "orders-0   2 segments, 276 bytes"
    assert lines[1:3] == [
        "safe   after a clean stop",
        "       Nothing is scanned, nothing is lost; the log goes from offset 0 to 4.",
    ]
    assert lines[3] == "loss   after an unclean stop, recovery point 0"
    assert "       All later segments are deleted: 1 segment, 00000000000000000003.log." in lines
    assert "       Lost for good: 2 intact records, offsets 2 to 3, 207 bytes." in lines
    assert f"  cp -a {path} ELSEWHERE   # before any restart, with the broker stopped" in lines
    assert (
        f"  mv {path}/00000000000000000000.index ELSEWHERE   # then the broker starts; 1 record and 138 bytes are lost" in lines
    )


def test_a_remedy_is_told_only_where_it_helps(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0)]))
    (path / "notes.log").write_bytes(b"")
    run = _run("--after", "clean", str(path))
    assert run.returncode == 1
    assert "fails  after a clean stop" in run.stdout
    assert f"mv {path}/notes.log ELSEWHERE   # then a start after a clean stop loses nothing" in run.stdout


def test_what_a_crash_leaves_behind_the_last_batch_is_trimmed(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), _batch(1)[:40]]))
    run = _run("--after", "unclean", str(path))
    assert run.returncode == 1
    assert run.stdout.splitlines()[1:3] == [
        "trims  after an unclean stop, recovery point 1",
        "       00000000000000000000.log is cut at byte 69 (40 bytes go): what follows is no whole batch.",
    ]


@pytest.mark.slow
def test_zeros_and_lengths_that_no_file_has_are_not_gone_through(tmp_path: Path) -> None:
    """A log of 1 TiB that is a hole, a segment with 2 GiB of zeros behind it, an index of 3 GiB."""
    path = _partition(tmp_path, (0, [_batch(0)]), (1, [_batch(1)]))
    os.truncate(path / "00000000000000000001.log", 1 << 30)
    row = _only(path, after="unclean", recovery_point="zero")
    assert (row.outcome, row.log_end, row.data_end, row.lost_records) == ("cut", 2, 2, 0)
    os.truncate(path / "00000000000000000001.log", 1 << 40)
    assert _only(path, after="clean").outcome == "die"
    os.truncate(path / "00000000000000000001.log", 69)
    os.truncate(path / "00000000000000000001.index", 3 << 30)
    assert _only(path, after="clean").exception == "java.lang.IllegalArgumentException"


def test_a_sound_directory_ends_with_exit_code_0(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0)]))
    run = _run(str(path))
    assert run.returncode == 0
    assert "Next" not in run.stdout


def test_rows_have_all_fields_in_every_form(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0)]))
    rows = [json.loads(line) for line in _run("--output", "ndjson", str(path)).stdout.splitlines()]
    names = (
        "kind path release after recoveryPoint outcome also logStart logEnd dataEnd endDiffers bytesLost lostOffsets lostRecords"
        " segments segmentsGone files exception reason"
    )
    assert [list(row) for row in rows] == [names.split()] * 2
    schema = json.loads(_command("schema", "forecast").stdout)
    for row in rows:
        jsonschema.validate(row, schema)
    assert [(row["after"], row["outcome"], row["logEnd"], row["segments"]) for row in rows] == [
        ("clean", "keep", 1, [[0, 69]]),
        ("unclean", "keep", 1, [[0, 69]]),
    ]
    assert len(json.loads(_run("--output", "json", str(path)).stdout)["forecasts"]) == 2
    assert len(_run("--output", "csv", str(path)).stdout.splitlines()) == 3
    assert "unclean" in _run("--output", "table", str(path)).stdout


def test_exit_codes_tell_usage_from_what_cannot_be_examined(tmp_path: Path) -> None:
    assert _run("--config", "x", str(tmp_path)).returncode == 2
    run = _run(str(tmp_path / "nowhere"))
    assert (run.returncode, run.stdout.count("\n") > 0) == (3, True)
    assert run.stderr == f"kdump: {tmp_path}/nowhere: no such directory\n"


def test_a_check_ends_with_what_restarts_do(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), _damaged(_batch(1)), _batch(2)]), (3, [_batch(3)]))
    lines = _command("check", str(path)).stdout.splitlines()
    at = lines.index("  clean    nothing is scanned: nothing is lost")
    assert lines[at + 1 : at + 4] == [
        "  unclean  scanned from 3 on: nothing is lost",
        "  from 0   scanned from 0 on: 00000000000000000000.log is cut at byte 69; 1 segment deleted; 2",
        "           intact records lost, offsets 2 to 3",
    ]


def test_a_batch_with_a_negative_count_takes_no_record_off_what_is_lost(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), _damaged(_batch(1)), _batch(2, records_count=-5), _batch(3)]))
    assert _only(path, after="unclean", recovery_point=0).lost_records == 1
