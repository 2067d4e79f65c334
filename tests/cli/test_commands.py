"""The commands as whole processes: what they list, how they end, and what they leave alone."""

import json
import os
import signal
import struct
import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.cli.commands import main
from tests.builders import files
from tests.builders.checksums import crc32c
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, wrapper
from tests.cli.terminals import on_terminal
from tests.loops import each, examples
from tests.support import HANG, LOGS, Patch, damaged, flip_a_bit, run_here, run_without_reader, with_interrupts

ROOT = Path(__file__).parent.parent.parent
Json = dict[str, Any]  # what json.loads makes of an object

CLEAN, FINDINGS, USAGE, NOT_EXAMINED, OUTPUT_FAILED = range(5)
LOG_NAME = "00000000000000000000.log"
FORMS = ["kafka", "ndjson", "csv", "table"]


def _command(*arguments: str | bytes | Path) -> list[str | bytes | Path]:
    return [sys.executable, "-m", "kdump", *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _shell(script: str, *arguments: str | Path) -> tuple[int, bytes, bytes]:
    """A shell's run of a script, in which kdump is `"$0" -m kdump` and arguments are `$1` and so on."""
    done = subprocess.run(
        ["bash", "-c", script, sys.executable, *arguments], env=_environment(), capture_output=True, timeout=60, check=False
    )
    assert b"Traceback" not in done.stderr and b"internal error" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def _batches(count: int, first: int = 0) -> list[bytes]:
    return [
        batch(records=[record(key=b"key", value=b"value", timestamp=TIMESTAMP + 10 * row)], base_offset=row)
        for row in range(first, first + count)
    ]


SIZE = len(_batches(1)[0])


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition of two clean segments with all that stands beside them."""
    return files.write_partition(
        tmp_path,
        segments={0: _batches(50), 50: _batches(50, 50)},
        index_interval_bytes=300,
        segment_index_bytes=1 << 10,
        aborted_transactions={0: [files.aborted_transaction(last_offset=5)]},
        producer_snapshots={100: [files.producer_entry()]},
    )


def _rows(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[Json]]:
    """The exit code and the rows of a command, run in this process."""
    name, *others = map(str, arguments)
    capfd.readouterr()
    status = main([name, "--output", "ndjson", "--strict-stderr", *others])
    return status, [json.loads(line) for line in capfd.readouterr().out.splitlines()]


# --- exit codes


@each("command", ["log", "index", "timeindex", "txnindex", "snapshot"])
@each("output", FORMS)
def test_a_clean_partition_is_examined_without_findings(partition: Path, command: str, output: str) -> None:
    def contents() -> dict[Path, tuple[int, bytes]]:
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in partition.parent.rglob("*") if path.is_file()}

    before = contents()
    status, out, err = run_here(command, "--output", output, partition)
    assert (status, err) == (CLEAN, b"") and out
    assert contents() == before


@each(
    "line",
    [
        *("log", "log --output xml x", "log --limit 0 x", "log --from-time noon x", "log --from-time --9999999999 x"),
        *("log --release 9.9.9 x", "log --no-such-option x", "nothing"),
    ],
)
def test_a_wrong_command_line_is_one_line(line: str) -> None:
    status, out, err = run_here(*line.split())
    assert (status, out, err[:7], err.count(b"\n")) == (USAGE, b"", b"kdump: ", 1)


def test_what_cannot_be_examined_does_not_keep_the_rest_from_being_listed(partition: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "folder.log").mkdir()
    wrong: list[str | Path] = [empty, tmp_path / "missing.log", tmp_path / "folder.log", f"{tmp_path}/none*"]
    status, out, err = run_here("log", "--output", "ndjson", *wrong, partition)
    assert (status, len(out.splitlines()), err.count(b"\n")) == (NOT_EXAMINED, 100, 4)


def test_an_index_without_its_log_cannot_be_examined_and_a_damaged_snapshot_is_a_finding(partition: Path) -> None:
    (partition / LOG_NAME).unlink()
    for command in ("index", "timeindex"):
        assert run_here(command, partition / f"00000000000000000000.{command}")[0] == NOT_EXAMINED
    assert not (partition / LOG_NAME).exists()
    path = partition / "00000000000000000001.snapshot"
    path.write_bytes(files.producer_snapshot(entries=[files.producer_entry()], crc=1))
    assert run_here("snapshot", path)[0] == FINDINGS


@each("output", FORMS)
@each("depth", [[], ["--deep"]])
def test_a_range_outside_of_a_log_is_answered_with_what_there_is(partition: Path, output: str, depth: list[str]) -> None:
    held = f"kdump: {partition}: this range is empty; the logs have offsets 0 to 99\n".encode()
    said = {"--from-offset 5000": held, "--from-offset 5000 --strict-stderr": b"", "--from-offset 99": b""}
    for options, words in (said | {"--from-time 2030-01-01": b""}).items():
        assert run_here("log", "--output", output, *depth, *options.split(), partition)[::2] == (CLEAN, words), options


# --- words that are no command


def test_a_misspelled_command_is_answered_with_what_may_be_meant(partition: Path) -> None:
    for line in ("chekc", "chekc orders-0", "chekc --level full orders-0", "Check", "help chekc"):
        word = line.removeprefix("help ").split()[0]
        said = f"kdump: there is no command {word}; did you mean check?\n".encode()
        assert run_here(*line.split()) == (USAGE, b"", said), line
    status, out, _ = run_here("chekc", "--files", partition / LOG_NAME)  # as Kafka's tool does
    assert status == CLEAN and out.startswith(f"Dumping {partition / LOG_NAME}\n".encode())


def test_a_path_in_place_of_a_command_is_answered_with_what_to_type(partition: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    check, log = f"to check it: `kdump check {partition}`", f"to list its logs: `kdump log {partition}`"
    assert run_here(partition) == (USAGE, b"", f"kdump: {partition} is a directory; {check}; {log}\n".encode())
    index = partition / "00000000000000000000.index"
    told = f"kdump: {index} is a file; try `kdump index {index}`, `kdump check {index}` or `kdump --files {index}`\n"
    assert run_here(index) == (USAGE, b"", told.encode())
    with_blank = tmp_path / "a copy"
    with_blank.mkdir()
    assert f"`kdump check '{with_blank}'`".encode() in run_here(with_blank)[2]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-moods-0").mkdir()
    assert run_here("check", "-moods-0")[2] == b"kdump: No such option '-m'; to name the path -moods-0, type ./-moods-0\n"
    assert run_here("/nowhere") == (USAGE, b"", b"kdump: there is no command or file /nowhere; `kdump help` lists the commands\n")
    for line, same in (("help", "--help"), ("help check", "check --help"), ("help --help", "--help")):
        assert run_here(*line.split()) == run_here(*same.split())


# --- log directories


@pytest.mark.parametrize("command", ["log", "index", "timeindex"])
def test_the_logs_of_a_log_directory_are_those_of_its_partitions(tmp_path: Path, command: str) -> None:
    for topic in ("a", "b"):
        files.write_partition(tmp_path, topic=topic, segments={0: _batches(20), 20: _batches(20, 20)}, index_interval_bytes=300)
    (tmp_path / "meta.properties").write_text("version=1\n")
    (tmp_path / "no-partition-at-all").mkdir()
    (tmp_path / "empty-0").mkdir()
    alone = [run_here(command, "--output", "ndjson", tmp_path / name)[1] for name in ("a-0", "b-0")]
    assert run_here(command, "--output", "ndjson", tmp_path) == (CLEAN, b"".join(alone), b"")
    assert b"".join(alone).count(b"\n") > 4
    damaged_log = tmp_path / "b-0" / "00000000000000000020.log"
    damaged_log.write_bytes(damaged_log.read_bytes() + b"torn")
    assert run_here("log", "--output", "ndjson", tmp_path)[0] == FINDINGS


def test_a_directory_without_any_such_file_cannot_be_examined(tmp_path: Path) -> None:
    (tmp_path / "some-folder").mkdir()
    assert run_here("log", tmp_path) == (NOT_EXAMINED, b"", f"kdump: {tmp_path}: no file ends in .log\n".encode())
    files.write_partition(tmp_path, segments={0: _batches(2)})
    assert run_here("txnindex", tmp_path) == (NOT_EXAMINED, b"", f"kdump: {tmp_path}: no file ends in .txnindex\n".encode())


# --- streams that end early


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / LOG_NAME
    path.write_bytes(b"".join(_batches(1000)) * 300)
    return path


@each("output", FORMS)
def test_head_ends_a_listing_quietly(large: Path, output: str) -> None:
    status, out, err = _shell('set -o pipefail; "$0" -m kdump log --output $1 "$2" | head -n 1', output, large)
    assert (status, out.count(b"\n"), err) == (CLEAN, 1, b"")


def _sound(tmp_path: Path) -> Path:
    return files.write_partition(tmp_path, segments={0: _batches(50), 50: _batches(50, 50)})


STARTS = ("--after", "unclean", "--recovery-point", "zero")
JUDGING = [("check", output) for output in ("text", "ndjson", "csv", "table", "json", "sarif", "junit")]
JUDGING += [("forecast", output) for output in ("text", "table")]


@each("command, output", JUDGING)
def test_the_verdict_does_not_depend_on_who_reads_it(tmp_path: Path, command: str, output: str) -> None:
    sound, words = _sound(tmp_path), [command, *(STARTS if command == "forecast" else ())]
    assert run_without_reader(*words, "--output", output, sound) == (CLEAN, b"")
    flip_a_bit(sound / LOG_NAME)
    assert run_without_reader(*words, "--output", output, sound) == (FINDINGS, b"")
    assert run_without_reader(*words, "--output", output, sound, sound / "missing.log", stderr_too=True)[0] == NOT_EXAMINED
    assert run_without_reader(*words, f"--output={output}", sound) == (FINDINGS, b"")  # which takes the way through Click


@each("output", ["text", "json"])
def test_the_verdict_of_a_scan_does_not_depend_on_who_reads_it(tmp_path: Path, output: str) -> None:
    pytest.importorskip("pyarrow", reason="tables need the package pyarrow")
    sound = _sound(tmp_path)
    arguments: list[str | Path] = ["scan", "--engine", "local", "--output", output, sound, "--tables-to"]
    assert run_without_reader(*arguments, tmp_path / "clean") == (CLEAN, b"")
    flip_a_bit(sound / LOG_NAME)
    assert run_without_reader(*arguments, tmp_path / "damaged") == (FINDINGS, b"")
    assert (tmp_path / "damaged" / "kdump.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--deep"]])
@pytest.mark.parametrize("output", FORMS)
def test_a_listing_that_nobody_reads_ends_with_the_worst(partition: Path, large: Path, output: str, options: list[str]) -> None:
    arguments = ["log", "--output", output, *options]
    assert run_without_reader(*arguments, partition) == (CLEAN, b"")
    flip_a_bit(partition / LOG_NAME)
    assert run_without_reader(*arguments, partition)[0] == FINDINGS
    assert run_without_reader(*arguments, partition / "missing.log", partition)[0] == NOT_EXAMINED
    assert run_without_reader(*arguments, partition / "missing.log", partition, stderr_too=True)[0] == NOT_EXAMINED
    # the damage comes after many megabytes of output that nobody takes
    if output != "table":  # which is shown in blocks of its own
        assert run_without_reader(*arguments, large, partition) == (CLEAN, b"")


def test_a_listing_of_an_index_that_nobody_reads_ends_with_the_worst_that_was_seen(partition: Path) -> None:
    index = partition / "00000000000000000000.index"
    assert run_without_reader("index", index) == (CLEAN, b"")
    index.write_bytes(index.read_bytes() + b"torn")
    assert run_without_reader("index", index)[0] == FINDINGS


def test_messages_that_nobody_reads_do_not_end_the_work(partition: Path) -> None:
    flip_a_bit(partition / LOG_NAME)
    script = '"$0" -m kdump log --output ndjson "$1/missing.log" "$1" 2> >(true) | wc -l; exit ${PIPESTATUS[0]}'
    assert _shell(script, partition)[:2] == (NOT_EXAMINED, b"100\n")
    reader, writer = os.pipe()
    os.close(reader)
    for arguments, status in ((["chekc"], USAGE), (["forecast", "/nowhere"], NOT_EXAMINED)):
        done = subprocess.run(_command(*arguments), env=_environment(), stderr=writer, timeout=60, check=False)
        assert done.returncode == status
    os.close(writer)


def test_a_full_disk_and_a_closed_stdout_are_one_line(tmp_path: Path, large: Path) -> None:
    full = ('log --output kafka "$1"', 'log --output ndjson "$1"', 'log --output table "$1"', "log --help")
    closed = ('log "$1"', 'log --output ndjson "$1"', 'log --help "$1"')
    for line in (*(f"{one} > /dev/full" for one in full), *(f"{one} >&-" for one in closed)):
        status, _, err = _shell(f'"$0" -m kdump {line}', large)
        assert (status, err.count(b"\n")) == (OUTPUT_FAILED, 1), line
    status, _, err = _shell('"$0" -m kdump check "$1" >&-', large)
    assert (status, err) == (OUTPUT_FAILED, b"kdump: cannot write the output: stdout is closed\n")
    path = tmp_path / LOG_NAME
    path.write_bytes(b"".join(_batches(300)))
    status, _, err = _shell('ulimit -f 30; "$0" -m kdump log "$1" > "$2"', path, tmp_path / "out")  # full at the end
    assert (status, err.count(b"\n"), (tmp_path / "out").stat().st_size) == (OUTPUT_FAILED, 1, 30 << 10)


def test_an_interrupt_ends_a_command_that_waits_for_its_reader(large: Path) -> None:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": with_interrupts}
    with subprocess.Popen(_command("log", *[large] * 50), env=_environment(), **pipes) as process:
        assert process.stdout and process.stderr and process.stdout.read(100)  # from now on it waits for us to read on, for ever
        process.send_signal(signal.SIGINT)
        process.wait(timeout=HANG)
        assert (process.stderr.read(), process.returncode) == (b"kdump: interrupted\n", 130)


# --- terminals


@each("output", FORMS)
def test_a_terminal_gets_control_characters_escaped_and_a_pipe_does_not(tmp_path: Path, output: str) -> None:
    path = tmp_path / "00000000000000000000\x1b[31m.log"
    arguments = ["log", "--print-data-log", "--output", output, str(path)]
    for after in (b"torn", b""):  # the kernel writes the lines of what is intact
        path.write_bytes(batch(records=[record(key=b"\x1b[2J", value=b"\x9b\x07")]) + after)
        shown = on_terminal(*arguments)
        assert not any(word in shown for word in (b"\x1b[2J", b"\x1b[31m.log", b"\x07"))
        assert b"[2J" in shown
    if output == "kafka":
        assert b"key: \x1b[2J payload: \xef\xbf\xbd\x07" in run_here(*arguments)[1]


# --- what paths name


def test_patterns_name_files_in_order_and_a_limit_counts_across_them(partition: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [f"{partition}/{LOG_NAME}", f"{partition}/00000000000000000050.log"]
    for path in (str(partition), f"{partition}/*", f"{partition.parent}/*-0", f"{partition}/0*.log"):
        status, rows = _rows(capfd, "log", path)
        assert (status, list(dict.fromkeys(row["file"] for row in rows))) == (CLEAN, names), path
    for output in ([], ["--deep"]):
        rows = _rows(capfd, "log", "--limit", "70", *output, partition)[1]
        assert len(rows) == 70 and len({row["file"] for row in rows}) == 2
    status, out, _ = run_here("log", "--limit", "50", partition)
    assert (status, out.count(b"baseOffset"), out.count(b"Dumping")) == (CLEAN, 50, 1)


def test_a_file_whose_name_is_not_utf8_is_listed(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/00000000000000000000\xff.log"
    Path(os.fsdecode(path)).write_bytes(_batches(1)[0])
    status, out, err = run_here("log", path)
    assert (status, err) == (CLEAN, b"") and out.startswith(b"Dumping " + path + b"\n")
    status, out, _ = run_here("log", "--output", "ndjson", os.fsencode(tmp_path))
    assert os.fsencode(json.loads(out)["file"]) == path


# --- Kafka's words


def test_a_file_of_another_kind_is_an_error_of_usage_that_names_the_command(tmp_path: Path) -> None:
    for command, name, better in (("log", "5.index", "index"), ("index", "5.log", "log"), ("log", "5.snapshot", "snapshot")):
        path = tmp_path / name
        path.write_bytes(bytes(64))
        said = f"kdump: {path} is for another command; try: kdump {better} {path}\n"
        assert run_here(command, path) == (USAGE, b"", said.encode())


@each("output", ["kafka", "ndjson"])
@each("depth", [[], ["--deep"]])
def test_fail_fast_ends_all_at_the_first_damage(tmp_path: Path, output: str, depth: list[str]) -> None:
    data = bytearray(b"".join(_batches(5)))
    data[3 * SIZE - 1] ^= 1  # the header count of the third record
    for name in (LOG_NAME, "00000000000000000099.log"):
        (tmp_path / name).write_bytes(data)
    status, out, _ = run_here("log", "--fail-fast", "--output", output, *depth, tmp_path)
    assert status == FINDINGS
    assert len(out.splitlines()) <= 2 + (6 if depth and output == "kafka" else 3)
    assert b"000099" not in out


# --- ranges


def _bounds(lowest: int) -> st.SearchStrategy[tuple[int | None, int | None]]:
    """Ranges up to 62 that do not end before they begin, which would be refused."""
    bound = st.none() | st.integers(lowest, 62)
    return st.tuples(bound, bound).filter(lambda one: one[0] is None or one[1] is None or one[0] <= one[1])


def _mixed_log() -> bytes:
    """Batches of one to three records with times that go back and forth, old messages in front."""
    pieces = [
        message_set(messages=[message(value=b"m", magic=0), message(value=b"m", timestamp=TIMESTAMP + 20)], base_offset=0),
        wrapper(messages=[message(value=b"w", timestamp=TIMESTAMP + 10 * row) for row in range(3)], base_offset=2),
    ]
    offset = 5
    for number in range(30):
        count = number % 3 + 1
        times = [TIMESTAMP + 10 * ((offset + row) * 7 % 60) for row in range(count)]
        pieces.append(batch(records=[record(value=b"v", timestamp=at) for at in times], base_offset=offset))
        offset += count
    return b"".join(pieces)


def _index_entries(data: bytes) -> list[tuple[int, int]]:
    entries, position = [], 0
    while position < len(data):
        offset, length = struct.unpack_from(">qi", data, position)
        delta = struct.unpack_from(">i", data, position + 23)[0] if data[position + 16] == 2 else 0
        entries.append((offset + delta, position))
        position += 12 + length
    return entries


_TRUE_ENTRIES = _index_entries(_mixed_log())
INDEXES = {
    "sound": files.offset_index(entries=_TRUE_ENTRIES[3::3], zero_entry_count=20),
    "missing": None,
    "cut": files.offset_index(entries=_TRUE_ENTRIES[3::3])[:-3],
    "noise": bytes(range(1, 161)),
    "positions shifted": files.offset_index(entries=[(offset, at + 7) for offset, at in _TRUE_ENTRIES[3::2]]),
    "offsets too low": files.offset_index(entries=[(max(offset - 9, 1), at) for offset, at in _TRUE_ENTRIES[3::2]]),
    "offsets too high": files.offset_index(entries=[(offset + 9, at) for offset, at in _TRUE_ENTRIES[3::2]]),
    "in reverse": files.offset_index(entries=_TRUE_ENTRIES[:2:-1]),
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same damaged log beside sound, missing and lying indexes."""
    data = bytearray(_mixed_log())
    data[_TRUE_ENTRIES[9][1] + 8] ^= 0x40
    data[_TRUE_ENTRIES[20][1] + 60] ^= 1
    paths = []
    for number, index in enumerate(INDEXES.values()):
        folder = tmp_path_factory.mktemp(str(number))
        (folder / LOG_NAME).write_bytes(data)
        for suffix in ("index", "timeindex"):
            if index is not None:
                (folder / LOG_NAME.replace("log", suffix)).write_bytes(index)
        paths.append(folder / LOG_NAME)
    return paths


_FIRSTS = [0, *(last + 1 for last, _ in _TRUE_ENTRIES)]
_WRITTEN = [(at, list(range(first, last + 1))) for (last, at), first in zip(_TRUE_ENTRIES, _FIRSTS, strict=False)]
"""Where each batch of the log starts, and the offsets of its records."""


@examples(100)
@given(_bounds(0), _bounds(-2), st.none() | st.integers(0, 2500), st.booleans())
def test_ranges_are_a_filter_over_all_rows_whatever_the_indexes_say(
    indexed: list[Path],
    capfd: pytest.CaptureFixture[str],
    offsets_asked: Sequence[int | None],
    times_asked: Sequence[int | None],
    from_position: int | None,
    is_deep: bool,
) -> None:
    from_offset, to_offset = offsets_asked
    times = [None if at is None else TIMESTAMP + 10 * at for at in times_asked]
    names = ("--from-offset", "--to-offset", "--from-time", "--to-time", "--from-position")
    bounds = zip(names, (from_offset, to_offset, *times, from_position), strict=True)
    options = [f"{name}={bound}" for name, bound in bounds if bound is not None]
    depth = ["--deep"] if is_deep else []
    answers = []
    for path in indexed:
        status, rows = _rows(capfd, "log", *depth, *options, path)
        answers.append((status, [{**row, "file": ""} for row in rows]))
    assert all(answer == answers[0] for answer in answers)
    status, rows = answers[0]

    all_rows = [{**row, "file": ""} for row in _rows(capfd, "log", *depth, indexed[0])[1] if row["status"] != "damaged"]
    low, high = (-(1 << 63) if from_offset is None else from_offset), ((1 << 63) if to_offset is None else to_offset)
    earliest, latest = ((-(1 << 63), 1 << 63)[side] if at is None else at for side, at in enumerate(times))
    has_times = times != [None, None]
    listed = [row for row in answers[0][1] if row["status"] != "damaged"]
    if not has_times:
        assert status == (FINDINGS if any(row["status"] != "intact" for row in rows) else CLEAN)
        # of all batches as they were written, those are listed that hold such offsets, whatever became of them
        wanted = {
            position: [offset for offset in offsets if not is_deep or low <= offset <= high]
            for position, offsets in _WRITTEN
            if position >= (from_position or 0) and offsets[0] <= high and offsets[-1] >= low
        }
        damaged_at = _TRUE_ENTRIES[20][1]
        assert {row["position"] for row in rows if row["status"] == "damaged"} == wanted.keys() & {damaged_at}
        shown = [(row["position"], row["offset"] if is_deep else row["lastOffset"]) for row in rows]
        assert [one for one in shown if not is_deep or one[0] != damaged_at] == [
            (position, offset)
            for position, offsets in wanted.items()
            if not is_deep or position != damaged_at
            for offset in (offsets if is_deep else offsets[-1:])
        ]

    def matches(row: Json, first: int, last: int) -> bool:
        is_in_time = earliest <= row["timestamp"] <= latest and not (has_times and row["timestamp"] == -1)
        return low <= last and first <= high and is_in_time and row["position"] >= (from_position or 0)

    if is_deep:
        assert listed == [row for row in all_rows if matches(row, row["offset"], row["offset"])]
    else:
        # a batch may begin earlier than its timestamp, the largest of its records, says
        firsts = [row["lastOffset"] if row["baseOffset"] is None else row["baseOffset"] for row in all_rows]
        sure = [row for row, first in zip(all_rows, firsts, strict=True) if matches(row, first, row["lastOffset"])]
        assert [row for row in listed if row in sure] == sure
        assert all(low <= row["lastOffset"] and row["timestamp"] >= earliest for row in listed)


# --- damage anywhere


@examples(80)
@given(
    damaged(LOGS),
    st.sampled_from(FORMS),
    st.sampled_from([[], ["--deep"], ["--print-data-log"], ["--print-data-log", "--skip-record-metadata"]]),
    st.sampled_from([[], ["--limit", "3"], ["--to-offset", "5"], ["--from-position", "40"], ["--fail-fast"]]),
    st.sampled_from(["1.0.1", "4.3.1"]),
)
def test_no_damage_keeps_a_log_from_being_listed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], data: bytes, output: str, depth: list[str], others: list[str], release: str
) -> None:
    (tmp_path / LOG_NAME).write_bytes(data)
    capfd.readouterr()
    status = main(["log", "--output", output, *depth, *others, "--release", release, str(tmp_path)])
    out, err = capfd.readouterr()
    assert status in (CLEAN, FINDINGS)
    if status == CLEAN:
        assert err == "" or "--to-offset" in others and ": this range is empty; the logs have offsets " in err
    if not depth and not others and output in ("ndjson", "csv"):
        count, is_all = _sound_at_start(data)
        assert len(out.splitlines()) - (output == "csv") >= count
        assert status == (CLEAN if is_all else FINDINGS)


def _sound_at_start(data: bytes) -> tuple[int, bool]:
    """How many batches stand at the start of a log one after the other, their checksums right, and whether that is all."""
    count = position = 0
    while len(data) - position >= 26:
        length = int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
        end, magic = position + 12 + length, data[position + 16]
        if length < 14 or end > len(data) or magic > 2 or magic == 2 and length < 49:
            break
        crc, covered = (17, crc32c(data[position + 21 : end])) if magic == 2 else (12, zlib.crc32(data[position + 16 : end]))
        if int.from_bytes(data[position + crc : position + crc + 4], "big") != covered:
            break
        count, position = count + 1, end
    return count, position == len(data)


@examples(60)
@given(
    damaged(LOGS),
    st.binary(max_size=200),
    st.sampled_from(["index", "timeindex", "txnindex", "snapshot"]),
    st.sampled_from(FORMS),
)
def test_no_bytes_keep_the_other_files_from_being_listed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], data: bytes, content: bytes, command: str, output: str
) -> None:
    (tmp_path / LOG_NAME).write_bytes(data)
    (tmp_path / LOG_NAME.replace("log", command)).write_bytes(content)
    capfd.readouterr()
    status = main([command, "--output", output, str(tmp_path)])
    out, err = capfd.readouterr()
    assert (status, err == "") in ((CLEAN, True), (FINDINGS, False))
    size = {"index": 8, "timeindex": 12, "txnindex": 34}.get(command)
    if size is not None:
        entries = [content[at : at + size] for at in range(0, len(content) - size + 1, size)]
        while entries and not any(entries[-1]) and command != "txnindex":
            entries.pop()  # allocated in advance
        if output in ("ndjson", "csv"):
            assert len(out.splitlines()) == len(entries) + (output == "csv")
        assert status == FINDINGS or len(content) % size == 0
