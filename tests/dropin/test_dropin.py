"""The drop-in form: what a user of Kafka's tool sees, from the command line to the exit code."""

import contextlib
import hashlib
import io
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kdump
from kdump.cli import dropin
from kdump.dropin.tool import _java_path
from kdump.output.blocks import Blocks
from tests.builders.files import (
    aborted_transaction,
    offset_index,
    producer_entry,
    producer_snapshot,
    time_index,
    transaction_index,
)
from tests.builders.messages import compact_string, int16, int32, int64, string
from tests.builders.records import Message, batch, control_record, message_set, record, wrapper
from tests.loops import each

ROOT = Path(kdump.__file__).parent.parent
LOG = "00000000000000000000.log"
T = 1_700_000_000_000


class Printed(NamedTuple):
    """What a run gave."""

    exit_code: int
    stdout: str
    stderr: str


def _run(folder: Path, *arguments: str, is_terminal: bool = False) -> Printed:
    """Run the drop-in form in this process, in a folder."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with contextlib.chdir(folder):
        exit_code = dropin.main(list(arguments), stdout, stderr, is_terminal=is_terminal)
    return Printed(exit_code, stdout.getvalue().decode(), stderr.getvalue().decode())


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kdump", *arguments]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def _process(folder: Path, *arguments: str, script: str = "", **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A run, perhaps in a script of a shell in which it is `"$@"`; the options are those of subprocess.run."""
    command = _command(*arguments)
    return subprocess.run(
        ["sh", "-c", script, "sh", *command] if script else command,
        cwd=folder,
        env=ENVIRONMENT,
        check=False,
        timeout=60,
        stderr=options.pop("stderr", subprocess.PIPE),
        **options,
    )


ONE_BATCH_LINE = (
    "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
    "partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 "
    "CreateTime: 1700000000000 size: 76 magic: 2 compresscodec: none crc: 3680410845 isvalid: true\n"
)
ONE_BATCH = batch(records=[record(key=b"key", value=b"value")])


def _with_log(folder: Path, data: bytes = ONE_BATCH, name: str = LOG) -> Path:
    (folder / name).write_bytes(data)
    return folder


# --- worked examples


def test_text_goes_out_as_it_is_to_a_pipe_and_escaped_to_a_terminal(tmp_path: Path) -> None:
    _with_log(tmp_path, batch(records=[record(key=b"a\nb", value=b"\x1b[31m\xffe\xcc\x81")]))
    assert _run(tmp_path, "--print-data-log", "--files", LOG).stdout.endswith(" key: a\nb payload: \x1b[31m\ufffde\u0301\n")
    shown = _run(tmp_path, "--print-data-log", "--files", LOG, is_terminal=True).stdout
    assert shown.endswith(" key: a\\nb payload: \\x1b[31m\ufffde\u0301\n")


HOSTILE = "\x1b[31m\x9b\u202e"


@each("release", ["0.8.0", "0.10.2.1", "2.0.0", "2.4.1", "4.3.1"])
def test_a_terminal_gets_no_character_that_it_would_obey(release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it comes from: keys, values, headers, records of internal topics and of control, and names of directories."""
    monkeypatch.setattr("kdump.decoders.control_record.LARGE_MESSAGE", 20)
    key = int16(1) + string(HOSTILE) + string("t") + int32(0)
    value = int16(1) + int64(5) + string(HOSTILE) + int64(1) + int64(2)
    endpoint = compact_string(HOSTILE) + compact_string("host") + bytes(3)
    voters = control_record(control_type=6, value=int16(0) + b"\2" + bytes(20) + b"\2" + endpoint + bytes(7))
    data = batch(records=[record(key=key, value=value, headers=[(HOSTILE.encode(), b"")])])
    data += batch(records=[voters], base_offset=1, is_control=True)
    if release < "1":
        data = message_set(messages=[Message(key=key, value=value, magic=0)])
    escaped = HOSTILE.encode("unicode_escape").decode()
    folder = tmp_path / HOSTILE
    folder.mkdir()
    for name in (LOG, f"{0:020d}.{HOSTILE}.log"):
        _with_log(folder, data + bytes(5), name)
    (folder / LOG.replace("log", "index")).write_bytes(offset_index(entries=[(5, 0), (3, 0)]))
    for name in (LOG.replace("log", "timeindex"), "unknown.x"):
        (folder / name).write_bytes(bytes(24))
    names = [f"{HOSTILE}/{path.name}" for path in sorted(folder.iterdir())]
    for option in ("--deep-iteration", "--print-data-log", *(("--offsets-decoder",) if release != "0.8.0" else ())):
        for files in (",".join(names), *names, f"{HOSTILE}/gone.log"):
            shown = _run(tmp_path, "--release", release, option, "--files", files, is_terminal=True)
            assert "".join((shown.stdout + shown.stderr).split("\n")).isprintable(), (option, files)
            assert escaped in shown.stdout + shown.stderr or files in names
    shown = _run(folder, "--release", release, "--print-data-log", "--files", LOG, is_terminal=True)
    assert shown.stdout.count(r"[31m\x9b\u202e") == {"0": 2, "2": 3, "4": 4}[release[0]]


# --- files


def test_stdout_and_stderr_come_in_the_order_of_events(tmp_path: Path) -> None:
    _with_log(tmp_path)
    both = tmp_path / "both"
    with both.open("wb") as stream:
        done = _process(tmp_path, "--files", f"{LOG},unknown.txt,{LOG}", stdout=stream, stderr=stream)
    assert done.returncode == 0
    dump = f"Dumping {LOG}\nLog starting offset: 0\n{ONE_BATCH_LINE}"
    assert both.read_text() == f"{dump}Dumping unknown.txt\nIgnoring unknown file unknown.txt\n{dump}"


def _segment(folder: Path) -> Path:
    """The example of an index with a mismatch: four batches, and an entry beside the last offset of one."""
    batches = [batch(records=[record(value=bytes(50))] * 3, base_offset=100 + 3 * row) for row in range(4)]
    size = len(batches[0])
    (folder / "00000000000000000100.log").write_bytes(b"".join(batches))
    entries = [(104, size), (108, 2 * size), (109, 3 * size)]
    (folder / "00000000000000000100.index").write_bytes(offset_index(entries=entries, base_offset=100))
    times = time_index(entries=[(T, 102), (T + 5, 105), (T + 5, 107)], base_offset=100)
    (folder / "00000000000000000100.timeindex").write_bytes(times)
    (folder / "00000000000000000100.txnindex").write_bytes(
        transaction_index(entries=[aborted_transaction(producer_id=7, first_offset=1, last_offset=2, last_stable_offset=3)])
    )
    (folder / "00000000000000000112.snapshot").write_bytes(
        producer_snapshot(
            entries=[
                producer_entry(producer_id=1, producer_epoch=2, last_sequence=10, last_offset=100, offset_delta=3, timestamp=T),
                producer_entry(producer_id=2, last_sequence=-1, last_offset=-1, timestamp=-1, current_txn_first_offset=42),
            ]
        )
    )
    return folder


THROWN = 'Exception in thread "main" {}\n'


@each(
    "release, message",
    [
        ("2.0.1", "java.lang.IllegalArgumentException: Unknown compression type id: 4"),
        ("2.1.0", "org.apache.kafka.common.record.InvalidRecordException: Inner messages must not be compressed"),
    ],
)
def test_zstd_inside_a_wrapper_is_unknown_before_2_1(tmp_path: Path, release: str, message: str) -> None:
    _with_log(tmp_path, wrapper(messages=[Message(value=b"a", attributes=4)]))
    printed = _run(tmp_path, "--strict-stderr", "--release", release, "--deep-iteration", "--files", LOG)
    assert printed.stderr == THROWN.format(message)


def test_0_8_0_creates_missing_logs_where_there_is_a_folder_for_them(tmp_path: Path) -> None:
    assert _run(tmp_path, "--release", "0.8.0", "--files", "7.log").exit_code == 0
    for name, message in (
        ("gone/7.log", "java.io.FileNotFoundException: gone/7.log (No such file or directory)"),
        ("a.b/7.index", "java.io.IOException: No such file or directory"),
    ):
        assert _run(tmp_path, "--release", "0.8.0", "--files", name).stderr == THROWN.format(message)


# --- where the tool ends


def test_the_tool_ends_at_damage_and_a_hint_shows_how_to_go_on(tmp_path: Path) -> None:
    _with_log(tmp_path, ONE_BATCH + bytes(30))
    message = f"Found record size 0 smaller than minimum record overhead (14) in file {LOG}."
    thrown = THROWN.format(f"org.apache.kafka.common.errors.CorruptRecordException: {message}")
    stdout = f"Dumping {LOG}\nLog starting offset: 0\n{ONE_BATCH_LINE}"
    printed = _run(tmp_path, "--files", f"{LOG},{LOG}")
    assert (printed.exit_code, printed.stdout) == (1, stdout)
    assert printed.stderr.startswith(thrown)
    (hint,) = printed.stderr.removeprefix(thrown).splitlines()
    assert hint.startswith("kdump: ") and LOG in hint
    assert _run(tmp_path, "--strict-stderr", "--files", f"{LOG},{LOG}") == (1, stdout, thrown)


def test_a_log_of_2_gib_is_not_read_and_one_of_a_byte_less_is(tmp_path: Path) -> None:
    _with_log(tmp_path, ONE_BATCH)
    for size in (0x7FFFFFFF, 1 << 31):
        os.truncate(tmp_path / LOG, size)
        printed = _run(tmp_path, "--files", LOG)
        assert (printed.exit_code, ONE_BATCH_LINE in printed.stdout) == (1, size < 1 << 31)


def test_paths_are_those_of_java_and_empty_ones_at_the_end_are_dropped(tmp_path: Path) -> None:
    name = "00000000000000000000.log"
    (tmp_path / name).write_bytes(b"")
    assert [_java_path(path) for path in ("/", "//", "a//b/", "/a/", "s3://b//c/")] == ["/", "/", "a/b", "/a", "s3://b/c"]
    assert _run(tmp_path, "--files", f"./{name},.//{name},,").stdout.count(f"Dumping ./{name}\n") == 2
    assert _run(tmp_path, "--files", f",{name}").stdout.startswith(f"Dumping \nDumping {name}\n")


def test_an_index_that_is_a_directory_is_named_as_it_was_given(tmp_path: Path) -> None:
    _with_log(tmp_path, name="8.log")
    (tmp_path / "8.index").mkdir()
    for release in ("0.8.2.0", "0.11.0.1", "3.3.0", "4.3.1"):
        for given in ("8.index", "./8.index", str(tmp_path / "8.index")):
            thrown = THROWN.format(f"java.io.FileNotFoundException: {given} (Is a directory)")
            assert _run(tmp_path, "--release", release, "--files", given).stderr == thrown


@each("name", ["5.log", "5.index", "5.timeindex", "5.txnindex", "5.snapshot"])
@each("make", [os.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_what_is_not_a_file_ends_the_tool_with_one_line(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    if name != "5.log":
        _with_log(tmp_path, b"", "5.log")
    if name == "5.timeindex":
        (tmp_path / "5.index").touch()
    make(tmp_path / name)
    printed = _run(tmp_path, "--strict-stderr", "--files", name)
    assert (printed.exit_code, printed.stderr.count("\n")) == (1, 1)
    assert printed.stderr.startswith('Exception in thread "main" ')


@each("name", ["5.log", "5.index", "5.timeindex", "5.txnindex", "5.snapshot"])
def test_a_file_that_may_not_be_read_ends_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for sibling in ("5.log", "5.index", "5.timeindex", "5.txnindex", "5.snapshot"):
        (tmp_path / sibling).touch()
    whole_open = os.open

    def refuse(path: str, *arguments: Any) -> int:
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied")
        return whole_open(path, *arguments)

    monkeypatch.setattr(os, "open", refuse)
    printed = _run(tmp_path, "--strict-stderr", "--files", name)
    assert printed.exit_code == 1
    mapped = "java.io.FileNotFoundException: " if name in ("5.index", "5.timeindex") else "java.nio.file.AccessDeniedException: "
    assert printed.stderr.startswith('Exception in thread "main" ' + mapped)


# --- the command line


def test_an_unknown_release_is_an_error_of_usage(tmp_path: Path) -> None:
    printed = _run(tmp_path, "--release", "9.9.9", "--files", LOG)
    assert (printed.exit_code, printed.stdout, printed.stderr.count("\n")) == (2, "", 1)
    assert printed.stderr.startswith("kdump: --release 9.9.9 is not known")
    for words in (["--files", LOG, "--release"], ["--files", LOG, "--release="], ["--release", "\udcff", "--files", LOG]):
        assert _run(tmp_path, *words).exit_code == 2, words


def test_our_options_may_stand_anywhere_but_in_place_of_a_value(tmp_path: Path) -> None:
    _with_log(tmp_path, b"")
    for words, words_of_stdout in (
        (["--release", "1.0.1", "--files", LOG], "\nStarting offset: 0\n"),
        (["--files", LOG, "--release=1.0.1"], "\nStarting offset: 0\n"),
        (["--files", LOG, "--", "--release", "1.0.1"], "\nLog starting"),
    ):
        assert words_of_stdout in _run(tmp_path, *words).stdout
    for option in ("--release", "--strict-stderr"):
        assert _run(tmp_path, "--files", option).stdout == f"Dumping {option}\n"


def test_a_name_that_is_not_text_goes_out_as_it_came_in(tmp_path: Path) -> None:
    name = os.fsdecode(b"5.\xff.log")
    _with_log(tmp_path, b"", name)
    done = _process(tmp_path, "--files", name, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, b"Dumping 5.\xff.log\nLog starting offset: 5\n")


# --- output that cannot be written

MANY = ONE_BATCH * 3000


def test_a_full_disk_is_reported_in_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        for data in (ONE_BATCH, MANY):
            done = _process(_with_log(tmp_path, data), "--files", LOG, stdout=full)
            assert done.returncode == 4
            assert done.stderr == b"kdump: cannot write the output: No space left on device\n"


def test_a_closed_stdout_is_reported_in_one_line(tmp_path: Path) -> None:
    done = _process(_with_log(tmp_path), "--files", LOG, script='exec "$@" >&-')
    assert (done.returncode, done.stderr.count(b"\n")) == (4, 1)
    assert done.stderr.startswith(b"kdump: cannot write the output: ")


def test_a_closed_stderr_withholds_no_output(tmp_path: Path) -> None:
    done = _process(_with_log(tmp_path), "--files", LOG, script='exec "$@" 2>&-', stdout=subprocess.PIPE, stderr=None)
    assert done.returncode == 0
    assert done.stdout.endswith(ONE_BATCH_LINE.encode())


def test_a_reader_that_has_seen_enough_is_not_an_error(tmp_path: Path) -> None:
    _with_log(tmp_path, MANY)
    script = '"$@"; echo "exit code $?" >&2'
    assert _process(tmp_path, "--files", LOG, script=script, stdout=subprocess.PIPE).stderr == b"exit code 0\n"
    done = _process(tmp_path, "--files", LOG, script=f"{{ {script}; }} | head -n 1", stdout=subprocess.PIPE)
    assert (done.stdout, done.stderr) == (f"Dumping {LOG}\n".encode(), b"exit code 0\n")


def test_a_disk_that_fills_up_in_the_middle_of_a_block_is_reported(tmp_path: Path) -> None:
    _with_log(tmp_path)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    with (tmp_path / "output").open("wb") as stream:
        done = _process(tmp_path, "--files", LOG, stdout=stream, preexec_fn=limited)
    assert ((tmp_path / "output").stat().st_size, done.returncode) == (100, 4)


def test_a_stream_that_takes_a_block_in_pieces_gets_all_of_it() -> None:
    class Reluctant(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data)[:7])

    stream = Reluctant()
    blocks = Blocks(stream)
    blocks.write("more than seven bytes\n")
    blocks.flush()
    assert stream.getvalue() == b"more than seven bytes\n"


# --- the input is only read


def _snapshot(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.stat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = status.st_size, status.st_mtime_ns, status.st_mode, digest
    return found


ALL_FILES = ",".join(f"{100:020}.{suffix}" for suffix in ("log", "index", "timeindex", "txnindex")) + f",{112:020}.snapshot"


@each("options", ["", "--print-data-log", "--verify-index-only", "--index-sanity-check", "--release 1.0.1"])
def test_a_run_changes_and_creates_no_file(tmp_path: Path, options: str) -> None:
    _segment(tmp_path)
    # Kafka cuts partial entries off
    with (tmp_path / "00000000000000000100.index").open("ab") as index:
        index.write(b"abc")
    before = _snapshot(tmp_path)
    _run(tmp_path, *options.split(), "--files", ALL_FILES)
    assert _snapshot(tmp_path) == before


@each("name", ["5.index", "5.timeindex", "5.txnindex", "6.log", "6.snapshot", "6.index"])
def test_a_missing_file_is_not_created(tmp_path: Path, name: str) -> None:
    _with_log(tmp_path, b"", "5.log")
    before = _snapshot(tmp_path)
    for release in ("1.0.1", "4.3.1"):
        _run(tmp_path, "--release", release, "--files", name)
    assert _snapshot(tmp_path) == before
