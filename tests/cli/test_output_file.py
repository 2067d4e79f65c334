"""`-o FILE`: the output of any command goes into a file, which overwrites none; the form is `--output`."""

import json
import os
from pathlib import Path

import pytest

from kdump.cli.commands import main
from tests.builders import files
from tests.builders.records import batch, record

CLEAN, FINDINGS, USAGE = 0, 1, 2
LOG_NAME = "00000000000000000000.log"


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition whose second batch has a flipped bit."""
    batches = [batch(records=[record(value=b"v")], base_offset=offset) for offset in range(3)]
    batches[1] = batches[1][:-1] + bytes([batches[1][-1] ^ 1])
    return files.write_partition(tmp_path, segments={0: batches})


def test_nothing_is_written_through_a_link_that_has_the_name_of_the_unfinished_file(partition: Path, tmp_path: Path) -> None:
    log = partition / LOG_NAME
    before = log.read_bytes()
    (tmp_path / f"out.incomplete-{os.getpid()}").symlink_to(log)
    assert main(["log", "-o", str(tmp_path / "out"), str(log)]) == USAGE
    assert log.read_bytes() == before and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["log"], FINDINGS),
        (["log", "--output", "ndjson"], FINDINGS),
        (["log", "--output", "table"], FINDINGS),
        (["check", "--output", "csv"], FINDINGS),
        (["forecast", "--output", "table"], FINDINGS),
        (["explain", "crc-mismatch"], CLEAN),
        (["schema", "finding"], CLEAN),
        (["releases", "2.0.1"], CLEAN),
    ],
)
def test_a_file_holds_what_stdout_had(
    command: list[str], status: int, partition: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = [str(partition)] if command[0] in ("log", "check", "forecast") else []
    assert main([*command, *paths]) == status
    printed = capfd.readouterr().out
    assert main([*command, *paths, "-o", str(tmp_path / "out")]) == status
    assert capfd.readouterr().out == ""
    assert (tmp_path / "out").read_text() == printed != ""
    assert not list(tmp_path.glob("*incomplete*"))


def test_a_dash_is_stdout(partition: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["log", str(partition), "-o", "-"]) == FINDINGS
    assert capfd.readouterr().out.startswith("Dumping ")


def test_no_file_is_overwritten(partition: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = partition / LOG_NAME
    before = log.read_bytes()
    assert main(["check", str(partition), "-o", str(log)]) == USAGE
    out, err = capfd.readouterr()
    assert (out, err) == (
        "",
        f"kdump: {log} exists; kdump does not overwrite files; name another file with -o, or remove this one\n",
    )
    assert log.read_bytes() == before


def test_a_command_line_that_is_wrong_leaves_no_file(partition: Path, tmp_path: Path) -> None:
    assert main(["check", str(partition), "-o", str(tmp_path / "out"), "--ignore", "crc-mismatsch"]) == USAGE
    assert main(["explain", "no-such-fault", "-o", str(tmp_path / "out")]) == USAGE
    assert sorted(path.name for path in tmp_path.iterdir()) == [partition.name]


def test_a_file_in_a_directory_that_is_missing_is_an_error_of_the_command_line(
    partition: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "out"
    assert main(["log", str(partition), "-o", str(path)]) == USAGE
    assert capfd.readouterr() == ("", f"kdump: -o {path}: No such file or directory\n")


def test_an_empty_name_is_no_name(partition: Path) -> None:
    assert main(["log", str(partition), "-o", ""]) == USAGE


def test_a_file_system_without_links_has_files_all_the_same(
    partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_source: str, _target: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert main(["log", str(partition), "-o", str(tmp_path / "out")]) == FINDINGS
    assert (tmp_path / "out").read_text().startswith("Dumping ")
    assert not list(tmp_path.glob("*incomplete*"))


def test_a_file_that_came_meanwhile_stays(partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def late(source: str, target: str) -> None:
        Path(target).write_text("mine")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert main(["log", str(partition), "-o", str(tmp_path / "out")]) == USAGE
    assert (tmp_path / "out").read_text() == "mine"
    assert not list(tmp_path.glob("*incomplete*"))


def test_a_device_is_written_to(partition: Path) -> None:
    assert main(["log", str(partition), "-o", os.devnull]) == FINDINGS


def test_a_file_may_have_the_name_of_a_form(partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", str(partition), "-o", "json", "--output", "json"]) == FINDINGS
    assert json.loads((tmp_path / "json").read_text())["findings"]
