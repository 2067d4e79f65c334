"""What all commands have in common: `-q`, `--color`, times, ranges, and paths that are not there."""

import json
import time
from pathlib import Path

import pytest

from kdump.binary.source import Source
from kdump.cli import commands
from kdump.errors import Unreadable, UsageError
from kdump.output.times import bounds
from tests.builders.files import write_partition
from tests.builders.records import Record, batch
from tests.loops import each

DAY = 86_400_000


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return write_partition(tmp_path, segments={0: [batch(records=[Record(key=b"k", value=b"needle")])]}, topic="orders")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = write_partition(
        tmp_path / "bad", segments={0: [batch(records=[Record(value=b"x")], base_offset=at) for at in (0, 1)]}, topic="orders"
    )
    log = path / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[65] ^= 1
    log.write_bytes(data)
    return path


@each(
    "line, sound_code, damaged_code",
    [
        *(("check -q", 0, 1), ("check --quiet --output json", 0, 1), ("forecast -q", 0, 1), ("grep -q needle", 0, 3)),
        *(("grep -q nothing-of-it", 1, 3), ("where -q orders-0@0", 0, 1)),
    ],
)
def test_quiet_shows_nothing_and_ends_as_ever(
    line: str, sound_code: int, damaged_code: int, sound: Path, damaged: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert [commands.main([*line.split(), str(path)]) for path in (sound, damaged)] == [sound_code, damaged_code]
    assert capfd.readouterr() == ("", "")


def test_quiet_and_a_file_for_the_output_do_not_go_together(sound: Path, tmp_path: Path) -> None:
    assert commands.main(["check", "-q", "-o", str(tmp_path / "report"), str(sound)]) == 2
    assert not (tmp_path / "report").exists()


def test_times_may_be_words_and_lengths_of_time_before_now() -> None:
    now = time.time_ns() // 1_000_000
    for text, length in (("now", 0), ("90s", 90_000), ("5m", 300_000), ("2h", 7_200_000), ("3d", 3 * DAY), ("1w", 7 * DAY)):
        first, last = bounds(text, None)[0], bounds(None, text)[1]
        assert first is not None and last is not None
        assert 0 <= first - (now - length) < 60_000 and 0 <= last - (now - length) < 60_000
    yesterday, today = bounds("yesterday", "yesterday"), bounds("today", "today")
    assert yesterday[0] is not None and yesterday[1] == yesterday[0] + DAY - 1 and yesterday[0] % DAY == 0
    assert today[0] == yesterday[1] + 1
    assert bounds("2026-11-20", "2026-11-20T13:45") == (1_795_132_800_000, 1_795_182_300_000)


def test_what_is_no_time_is_refused() -> None:
    for text in ("2030", "h", "2y", "-2h", "1.5h", "tomorrow", ""):
        with pytest.raises(UsageError, match="is not a time"):
            bounds(text, None)


@each(
    "options, said",
    [
        ("--from-time 2026-11-21 --to-time 2026-11-20", "the range of times ends before it begins"),
        ("--from-time 1h --to-time 2h", "the range of times ends before it begins"),
        ("--from-offset 5 --to-offset 4", "the range of offsets ends before it begins: 5 to 4"),
        *(("--from-offset -1", "-1"), ("--to-offset -1", "-1")),
    ],
)
def test_bad_ranges_are_refused(options: str, said: str, sound: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command in (["log"], ["grep", "x"], ["slice", "-o", str(tmp_path / "new")]):
        assert commands.main([*command, *options.split(), str(sound)]) == 2
        assert said in capsys.readouterr().err


@each(
    "line",
    ["check", "forecast", "scan", "log", "index", "grep x", "where orders-0@0", "where --key k"]
    + [f"{command} -o new" for command in ("recover", "reindex", "slice", "redact")],
)
def test_a_path_that_is_not_there_is_one_line_with_the_name_that_was_meant(
    line: str, sound: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(sound.parent)
    for path, meant in (("orders-O", "; did you mean orders-0?"), ("zebra", "")):
        with pytest.raises(Unreadable) as error:
            commands.main([*line.split(), path])
        assert str(error.value) == f"{path}: no such file or directory{meant}"
    assert capfd.readouterr().out == ""


def test_a_missing_path_beside_others_is_reported_by_the_command(sound: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["check", "--output", "ndjson", str(sound), str(sound.parent / "gone")]) == 3
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["code"] for row in rows if row["kind"] == "finding"] == ["file-vanished"]
    with pytest.raises(Unreadable, match="yak: no such file"):
        commands.main(["check", "zebra", "yak"])
    assert capfd.readouterr().err == "kdump: zebra: no such file or directory\n"
    assert commands.main(["check", "--output", "json", str(sound.parent / "gone")]) == 3
    assert json.loads(capfd.readouterr().out)["findings"][0]["code"] == "file-vanished"


def test_a_scan_is_gentle_without_spark(sound: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "throttle", None)  # which the command sets for its process
    pytest.importorskip("pyarrow", reason="tables need the package pyarrow")
    for words in (["--rate", "5MB/s", "--engine", "spark"], ["--rate", "fast"]):
        assert commands.main(["scan", *words, str(sound)]) == 2
    assert "--rate" in capfd.readouterr().err
    assert commands.main(["scan", "--rate", "500MB/s", "--jobs", "3", "--output", "json", str(sound)]) == 0
