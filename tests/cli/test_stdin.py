"""`-` as a path: stdin is kept in a temporary file, which is gone in the end."""

import gzip
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kdump.cli import stdin_file
from kdump.errors import Unreadable
from tests.builders import files
from tests.builders.records import batch, record
from tests.support import HANG

CLEAN, FINDINGS, USAGE, NOT_EXAMINED = range(4)
ROOT = Path(__file__).parent.parent.parent
LOG = b"".join(batch(records=[record(value=b"v")], base_offset=offset) for offset in range(5))


def _run(folder: Path, data: bytes | None, *arguments: str, stdin: int = subprocess.DEVNULL) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a run; `folder` is where temporary files go."""
    done = subprocess.run(
        [sys.executable, "-m", "kdump", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        stdin=None if data is not None else stdin,
        input=data,
        capture_output=True,
        timeout=HANG,
        check=False,
    )
    assert not list(folder.iterdir())
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_log_is_listed_from_stdin_under_the_name_of_a_dash(tmp_path: Path) -> None:
    status, out, err = _run(tmp_path, LOG, "log", "--tail", "2", "--output", "ndjson", "-")
    assert (status, err) == (CLEAN, "")
    assert [(row["lastOffset"], row["file"]) for row in map(json.loads, out.splitlines())] == [(3, "-"), (4, "-")]


def test_damage_in_stdin_is_a_finding(tmp_path: Path) -> None:
    status, _, err = _run(tmp_path, LOG[:-1], "log", "-")
    assert status == FINDINGS
    assert err.startswith(f"kdump: -: bytes {len(LOG) // 5 * 4} to {len(LOG) - 2}: ") and "(torn-tail" in err


@pytest.mark.parametrize(
    ("command", "data", "first"),
    [
        ("snapshot", files.producer_snapshot(entries=[files.producer_entry(producer_id=7)]), "producerId: 7 "),
        ("txnindex", files.transaction_index(entries=[files.aborted_transaction(producer_id=9)]), "version: 0 producerId: 9 "),
    ],
)
def test_other_files_come_from_stdin_too(tmp_path: Path, command: str, data: bytes, first: str) -> None:
    status, out, err = _run(tmp_path, data, command, "-")
    assert (status, err) == (CLEAN, "")
    heading, line = out.splitlines()[:2]
    assert heading == "Dumping -" and line.startswith(first)


@pytest.mark.parametrize("command", ["index", "timeindex"])
def test_an_index_needs_its_name_and_its_log(tmp_path: Path, command: str) -> None:
    status, out, err = _run(tmp_path, bytes(24), command, "-")
    assert (status, out) == (USAGE, "")
    assert err == "kdump: an index from stdin has neither a base offset in its name nor a log next to it; name the file\n"


def test_packed_files_are_reported_as_packed(tmp_path: Path) -> None:
    status, _, err = _run(tmp_path, gzip.compress(LOG), "log", "-")
    assert status == FINDINGS
    assert err.startswith("kdump: stdin starts like a file of type gzip; unpack it first\n")


@pytest.mark.parametrize(
    ("data", "options", "status", "words"),
    [
        (LOG, [], CLEAN, "1 segment, 345 bytes, offsets 0 to 4"),
        (LOG[:-1] + b"x", [], FINDINGS, "crc-mismatch"),
        (files.producer_snapshot(entries=[files.producer_entry()]), ["--as", "snapshot"], CLEAN, "fine"),
        (b"something else", [], NOT_EXAMINED, "file-not-recognized"),
        (b"", [], NOT_EXAMINED, "file-not-recognized"),
    ],
)
def test_a_check_of_stdin_takes_it_for_a_log_only_where_it_begins_like_one(
    tmp_path: Path, data: bytes, options: list[str], status: int, words: str
) -> None:
    assert len(LOG) == 345
    code, out, _ = _run(tmp_path, data, "check", *options, "-")
    assert code == status
    assert words in out


def test_a_check_of_packed_bytes_from_stdin_says_that_they_were_not_examined(tmp_path: Path) -> None:
    status, out, err = _run(tmp_path, gzip.compress(LOG), "check", "-")
    assert (status, out) == (NOT_EXAMINED, "")
    assert err == "kdump: stdin starts like a file of type gzip, and was not examined; unpack it first\n"


@pytest.mark.skipif(shutil.which("gunzip") is None, reason="needs gunzip")
def test_what_a_check_advises_for_a_packed_log_examines_it(tmp_path: Path) -> None:
    (tmp_path / "a b.log.gz").write_bytes(gzip.compress(LOG[:-1] + b"x"))
    kdump = f'"{sys.executable}" -m kdump'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shell = {"shell": True, "cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": HANG}
    advised = subprocess.run(f"{kdump} check --output json *.gz", check=False, **shell)  # type: ignore[call-overload]  # of several types
    assert advised.returncode == NOT_EXAMINED
    command = json.loads(advised.stdout)["findings"][0]["message"].split("`")[1]
    assert command == "gunzip -c 'a b.log.gz' | kdump check -"
    examined = subprocess.run(command.replace("kdump", kdump), check=False, **shell)  # type: ignore[call-overload]  # as well
    assert examined.returncode == FINDINGS and "crc-mismatch" in examined.stdout


def test_a_terminal_is_not_waited_for(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    try:
        status, out, err = _run(tmp_path, None, "log", "-", stdin=terminal)
    finally:
        os.close(terminal)
        os.close(controller)
    assert (status, out) == (USAGE, "")
    assert err == "kdump: stdin is a terminal; redirect it: zcat x.log.gz | kdump log -\n"


def test_stdin_takes_no_more_than_half_of_what_is_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: shutil._ntuple_diskusage(1000, 0, 200))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pieces = [b"x" * 100, b"x", b""]
    monkeypatch.setattr(os, "isatty", lambda _descriptor: False)
    monkeypatch.setattr(os, "read", lambda _descriptor, _size: pieces.pop(0))
    with pytest.raises(Unreadable, match="stdin holds more than 100 bytes, half of the free space"), stdin_file.spooled("x"):
        pass
    assert not list(tmp_path.iterdir())
