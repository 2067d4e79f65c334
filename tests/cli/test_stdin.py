"""Standard streams: stdin as the path `-` is kept in a temporary file, which is gone in the end; stdout gets a buffer."""

import gzip
import io
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
from kdump.cli.streams import buffer_stdout
from kdump.errors import Unreadable
from tests.builders import files
from tests.builders.records import batch, record
from tests.loops import each
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
    status, _, err = _run(tmp_path, LOG[:-1], "log", "-")
    assert status == FINDINGS
    assert err.startswith(f"kdump: -: bytes {len(LOG) // 5 * 4} to {len(LOG) - 2}: ") and "(torn-tail" in err


SNAPSHOT = files.producer_snapshot(entries=[files.producer_entry(producer_id=7)])
TRANSACTIONS = files.transaction_index(entries=[files.aborted_transaction(producer_id=9)])
NO_LOG = "kdump: an index from stdin has neither a base offset in its name nor a log next to it; name the file\n"
PACKED = "kdump: stdin starts like a file of type gzip"


@each(
    "line, data, status, stdout, stderr",
    [
        ("snapshot", SNAPSHOT, CLEAN, "Dumping -\nproducerId: 7 ", ""),
        ("txnindex", TRANSACTIONS, CLEAN, "Dumping -\nversion: 0 producerId: 9 ", ""),
        *(("index", bytes(24), USAGE, "", NO_LOG), ("timeindex", bytes(24), USAGE, "", NO_LOG)),
        ("log", gzip.compress(LOG), FINDINGS, "", f"{PACKED}; unpack it first\n"),
        # a check takes it for a log only where it begins like one
        ("check", LOG, CLEAN, "1 segment, 345 bytes, offsets 0 to 4", ""),
        ("check", LOG[:-1] + b"x", FINDINGS, "crc-mismatch  -, bytes 276 to 344\n", ""),
        ("check --as snapshot", SNAPSHOT, CLEAN, "fine", ""),
        ("check", b"something else", NOT_EXAMINED, "file-not-recognized", ""),
        ("check", b"", NOT_EXAMINED, "file-not-recognized", ""),
        ("check", gzip.compress(LOG), NOT_EXAMINED, "", f"{PACKED}, and was not examined; unpack it first\n"),
    ],
)
def test_stdin_is_a_file_of_its_kind(tmp_path: Path, line: str, data: bytes, status: int, stdout: str, stderr: str) -> None:
    assert len(LOG) == 345
    code, out, err = _run(tmp_path, data, *line.split(), "-")
    assert code == status
    assert stdout in out if stdout or line == "log" else out == ""
    assert err.startswith(stderr) if line == "log" else err == stderr
    assert "kdump-stdin" not in out and "cp -a" not in out  # the file that held it is gone


@pytest.mark.skipif(shutil.which("gunzip") is None, reason="needs gunzip")
def test_what_a_check_advises_for_a_packed_log_examines_it(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "0.log.gz").write_bytes(gzip.compress(LOG[:-1] + b"x"))
    kdump = f'"{sys.executable}" -m kdump'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shell = {"shell": True, "cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": HANG}
    advised = subprocess.run(f"{kdump} check --output json */*.gz", check=False, **shell)  # type: ignore[call-overload]  # of several types
    assert advised.returncode == NOT_EXAMINED
    command = json.loads(advised.stdout)["findings"][0]["message"].split("`")[1]
    assert command == "gunzip -c 'a b/0.log.gz' | kdump check -"
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


def test_a_stdout_without_a_buffer_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, "wb", buffering=0) as raw, io.TextIOWrapper(raw, "latin-1", "replace", write_through=True) as text:
        monkeypatch.setattr(sys, "stdout", text)
        buffer_stdout()
        assert isinstance(sys.stdout.buffer, io.BufferedWriter)
        assert (sys.stdout.fileno(), sys.stdout.encoding, sys.stdout.errors) == (1, "latin-1", "replace")


@pytest.mark.parametrize("stdout", [None, io.StringIO(), io.TextIOWrapper(io.BytesIO())])
def test_any_other_stdout_stays(monkeypatch: pytest.MonkeyPatch, stdout: io.TextIOBase | None) -> None:
    monkeypatch.setattr(sys, "stdout", stdout)
    buffer_stdout()
    assert sys.stdout is stdout
