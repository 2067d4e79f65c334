"""`-o FILE`: the output of any command goes into a file, which overwrites none; the form is `--output`."""

import errno
import json
import os
from pathlib import Path
from unittest import mock

import pytest

from kdump.cli import output_file
from kdump.cli.commands import main
from tests.builders import files
from tests.builders.records import batch, record
from tests.loops import each
from tests.support import Capture

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


@each(
    "command, status",
    [
        *(("log PARTITION", FINDINGS), ("log PARTITION --output ndjson", FINDINGS), ("log PARTITION --output table", FINDINGS)),
        *(("check PARTITION --output csv", FINDINGS), ("forecast PARTITION --output table", FINDINGS)),
        *(("explain crc-mismatch", CLEAN), ("schema finding", CLEAN), ("releases 2.0.1", CLEAN)),
    ],
)
def test_a_file_holds_what_stdout_had(command: str, status: int, partition: Path, tmp_path: Path, capfd: Capture) -> None:
    words = command.replace("PARTITION", str(partition)).split()
    assert main(words) == status
    printed = capfd.readouterr().out
    assert main([*words, "-o", str(tmp_path / "out")]) == status
    assert capfd.readouterr().out == ""
    assert (tmp_path / "out").read_text() == printed != ""
    assert not list(tmp_path.glob("*incomplete*"))
    assert (main([*words, "-o", "-"]), capfd.readouterr().out) == (status, printed)


def test_no_file_is_overwritten(partition: Path, tmp_path: Path, capfd: Capture) -> None:
    log = partition / LOG_NAME
    before = log.read_bytes()
    assert main(["check", str(partition), "-o", str(log)]) == USAGE
    advice = "kdump does not overwrite files; name another file with -o, or remove this one"
    assert capfd.readouterr() == ("", f"kdump: {log} exists; {advice}\n")
    assert log.read_bytes() == before
    path = tmp_path / "missing" / "out"
    assert main(["log", str(partition), "-o", str(path)]) == USAGE
    assert capfd.readouterr() == ("", f"kdump: -o {path}: No such file or directory\n")
    for name, status in (("", USAGE), (os.devnull, FINDINGS)):  # a device is written to
        assert main(["log", str(partition), "-o", name]) == status


def test_a_command_line_that_is_wrong_leaves_no_file(partition: Path, tmp_path: Path) -> None:
    for words in (["check", str(partition), "--ignore", "crc-mismatsch"], ["explain", "no-such-fault"]):
        assert main([*words, "-o", str(tmp_path / "out")]) == USAGE
    assert sorted(path.name for path in tmp_path.iterdir()) == [partition.name]


def test_a_late_file_stays_and_links_are_not_needed(partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def late(source: str, target: str) -> None:
        Path(target).write_text("mine")
        link(source, target)

    def refuse(_source: str, _target: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    for name, call, status, start in (("meanwhile", late, USAGE, "mine"), ("refused", refuse, FINDINGS, "Dumping ")):
        monkeypatch.setattr(os, "link", call)
        assert main(["log", str(partition), "-o", str(tmp_path / name)]) == status
        assert (tmp_path / name).read_text().startswith(start)
        assert not list(tmp_path.glob("*incomplete*"))


def test_a_file_that_is_not_whole_when_it_is_closed_does_not_appear(partition: Path, tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a file server says it
    with mock.patch.object(output_file, "require_written", side_effect=full), pytest.raises(OSError, match="No space left"):
        main(["log", str(partition), "-o", str(tmp_path / "out")])
    assert not list(tmp_path.glob("out*"))


def test_a_file_may_have_the_name_of_a_form(partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", str(partition), "-o", "json", "--output", "json"]) == FINDINGS
    assert json.loads((tmp_path / "json").read_text())["findings"]
