"""`kdump scan` without Spark, and files of Parquet and Arrow from `kdump log`."""

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import zstandard

from kdump.binary import system
from kdump.cli.commands import main
from kdump.cli.scanning.engine import chosen
from kdump.errors import KdumpError, Unreadable
from kdump.spark import session
from kdump.spark.asked_for import has_cluster
from tests.builders.checksums import crc32c
from tests.builders.files import file_name, write_partition
from tests.builders.fleets import data, flipped, write_fleet
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, wrapper
from tests.loops import each
from tests.support import HANG, Capture, Patch, forks_only_here, wait_until, with_interrupts, without_modules

pa = pytest.importorskip("pyarrow", reason="tables need the package pyarrow")
import pyarrow.parquet as pq  # noqa: E402  # what needs Arrow

from kdump.pipeline import tasks  # noqa: E402
from kdump.pipeline.tasks import ScanTask, TaskReport  # noqa: E402

TABLES = {"files", "batches", "index", "timeindex", "txn_index", "producers", "segments", "checkpoints", "findings"}


@pytest.fixture
def brokers(tmp_path: Path) -> Path:
    """Two brokers with two partitions each; a batch of one is damaged."""
    for broker in (1, 2):
        for partition in (0, 1):
            batches = [batch(records=[record(key=b"k", value=b"v" * 100)] * 3, base_offset=3 * number) for number in range(5)]
            if (broker, partition) == (2, 1):
                batches[3] = batches[3][:-2] + b"xx"
            write_partition(tmp_path / "data" / f"broker={broker}", topic="a", partition=partition, segments={0: batches})
        (tmp_path / "data" / f"broker={broker}" / "meta.properties").write_text(f"version=0\nbroker.id={broker}\n")
    return tmp_path / "data"


def _scan(brokers: Path, out: Path, *options: str) -> int:
    return main(["scan", str(brokers), "--tables-to", f"{out}/", "--engine", "local", *options])


def _without_tables(path: Path, *options: str) -> int:
    return main(["scan", "--engine", "local", *options, str(path)])


def _table(out: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out / table).to_pylist()
    return rows


def test_worker_processes_start_no_others_unless_a_task_crashes(brokers: Path, tmp_path: Path) -> None:
    packed = batch(records=[record(value=bytes(1000))], codec="gzip")
    write_partition(brokers / "broker=1", topic="packed", partition=0, segments={0: [packed]})
    with forks_only_here():
        assert _scan(brokers, tmp_path / "out", "--records") == 1
    assert {row["code"] for row in _table(tmp_path / "out", "findings")}.isdisjoint({"scan-rows-missing", "check-crashed"})
    assert None not in {row["uncompressedSize"] for row in _table(tmp_path / "out", "batches") if row["topic"] == "packed"}


def test_a_scan_says_where_workers_can_start_no_other(brokers: Path, tmp_path: Path, capfd: Capture, monkeypatch: Patch) -> None:
    attempt = tasks.attempt

    def dying(task: ScanTask) -> TaskReport:
        if task.is_at_risk and task.table == "records":
            os.kill(os.getpid(), signal.SIGKILL)
        return attempt(task)

    monkeypatch.setattr(tasks, "attempt", dying)
    with forks_only_here():
        assert _scan(brokers, tmp_path / "out", "--records", "--tables", "records") == 3
    shown = " ".join(capfd.readouterr().out.split())
    assert "no worker process can be started: Resource temporarily unavailable" in shown


@pytest.mark.parametrize(("savings", "measured"), [("sample", True), ("all", True), ("none", False)])
def test_a_scan_shows_what_codecs_save(tmp_path: Path, capsys: Capture, savings: str, measured: bool) -> None:
    packed = batch(records=[record(value=bytes(1000))], codec="lz4")
    write_partition(tmp_path / "data", topic="a", partition=0, segments={0: [packed, batch(records=[record()], base_offset=1)]})
    _scan(tmp_path / "data", tmp_path / "out", "--output", "json", "--savings", savings)
    lz4, none = json.loads(capsys.readouterr().out)["codecs"]
    assert (none["codec"], none["saved"]) == ("none", 0.0 if measured else None)
    size = len(packed)
    saved = {"measured": size, "uncompressed": 1070, "saved": 1 - size / 1070}
    unknown = {"measured": 0, "uncompressed": None, "saved": None}
    assert lz4 == {"codec": "lz4", "batches": 1, "size": size, **(saved if measured else unknown)}


def test_a_clean_broker_ends_with_0_and_says_so(brokers: Path, tmp_path: Path, capsys: Capture) -> None:
    assert _scan(brokers / "broker=1", tmp_path / "out") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("11 files, ")
    assert "10 batches, 30 records in " in out
    verdict = "Verdict: headers and CRCs intact; 30 records not read (--level deep). Exit status 0."
    assert out.endswith(f'To query them: spark.read.parquet("{tmp_path / "out"}/findings")\n{verdict}\n')


def _verdict(path: Path, capsys: Capture, *options: str) -> tuple[str, int]:
    """The verdict of a scan that keeps no tables, and how many records it says were not read."""
    assert _without_tables(path, "--jobs", "1", "--output", "json", *options) == 0
    summary = json.loads(capsys.readouterr().out)
    return summary["verdict"], summary["recordsNotRead"]


def test_a_scan_is_clean_only_where_it_reads_records(brokers: Path, tmp_path: Path, capsys: Capture) -> None:
    sound = brokers / "broker=1"
    assert _verdict(sound, capsys, "--level", "deep") == ("fine", 0)
    expected = "headers intact; indexes not compared with logs, 30 records not read (--level deep)"
    assert _verdict(sound, capsys, "--level", "quick") == (expected, 30)
    out = str(tmp_path / "out[1]*")  # no pattern
    expected = "headers and CRCs intact; 30 records not checked (--level deep)"  # the table of records reads them
    for _ in range(2):  # the second time, nothing is read again
        assert _verdict(sound, capsys, "--records", "--tables-to", out) == (expected, 30)

    messages = [message(value=b"v")] * 3  # a compressed set is at least one record
    appends = [wrapper(messages=messages, offset=2), message_set(messages=messages, base_offset=3)]
    expected = "headers and CRCs intact; at least 4 records not read (--level deep)"
    assert _verdict(write_partition(tmp_path / "old", segments={0: appends}), capsys) == (expected, 4)
    value = b"\1\2\0\0"
    path = write_partition(tmp_path / "new", topic="__cluster_metadata", segments={0: [batch(records=[record(value=value)])]})
    verdict, _ = _verdict(path.parent, capsys, "--level", "deep", "--fail-on", "error")
    assert verdict == "fine; records of __cluster_metadata not replayed"


def test_what_cannot_be_read_in_two_segments_is_counted_once_and_is_no_start_that_fails(tmp_path: Path, capsys: Capture) -> None:
    damaged = flipped(batch(records=[record(value=b"v")], base_offset=1))
    marker = batch(records=[record(value=bytes(6))], base_offset=2, is_control=True, is_transactional=True, producer_id=7)
    first = batch(records=[record(value=b"v")])
    path = write_partition(tmp_path / "data", segments={0: [first, damaged], 1: [damaged, marker]})
    assert _without_tables(path, "--output", "json") == 1
    summary = json.loads(capsys.readouterr().out)
    assert (summary["recordsUnreadable"], "does not start" in summary["verdict"]) == (1, False)
    assert "control-key-null" in {found["code"] for found in summary["findings"]}  # which ends a start that reads the segment


def test_snapshots_of_metadata_are_not_compared_with_logs(tmp_path: Path, capsys: Capture) -> None:
    log = [data(offset, 2, epoch=1) for offset in range(0, 10, 2)]
    fleet = write_fleet(tmp_path / "fleet", {name: {"__cluster_metadata-0": {0: log}} for name in ("1", "2", "3")})
    for number, path in enumerate(fleet.rglob("__cluster_metadata-0")):
        (path / "00000000000000000010-0000000001.checkpoint").write_bytes(data(0, 3, value=b"%d" % number))
    _without_tables(fleet)
    assert "replica-" not in capsys.readouterr().out


def test_replicas_of_different_ends_are_not_simply_clean(tmp_path: Path, capsys: Capture) -> None:
    whole = [data(offset, 20, at=TIMESTAMP) for offset in range(0, 200, 20)]
    brokers = write_fleet(tmp_path / "fleet", {"leader": {"stock-0": {0: whole}}, "backup": {"stock-0": {0: whole[:7]}}})
    verdict = "headers and CRCs intact; 340 records not read (--level deep), but replicas end at different offsets"
    assert _verdict(brokers, capsys) == (verdict, 340)
    assert _without_tables(brokers) == 0
    shown = " ".join(capsys.readouterr().out.split())
    cut = "if broker backup leads, broker leader loses what it has from 140 on."
    assert "No findings" not in shown
    assert f"Broker backup ends at 140, broker leader at 200: {cut}" in shown
    assert shown.endswith(f"Verdict: {verdict}. Exit status 0.")
    assert (_without_tables(brokers, "--fail-on", "info"), "but replicas" in capsys.readouterr().out) == (1, False)
    write_fleet(brokers, {"leader": {"stock-0": {0: whole}}, "backup": {"stock-0": {0: whole}}})
    assert _verdict(brokers, capsys) == ("headers and CRCs intact; 400 records not read (--level deep)", 400)


@each("directory_id", ["directory.id=c29tZS1kaXJlY3RvcnkxMg", ""], ids=["of 3.7", "before"])
def test_a_copy_of_a_broker_is_compared_with_it(directory_id: str, tmp_path: Path, capsys: Capture) -> None:
    for name, end in (("a", 60), ("b", 40)):
        write_partition(tmp_path / name, segments={0: [data(offset, 20, at=TIMESTAMP) for offset in range(0, end, 20)]})
        properties = tmp_path / name / "meta.properties"
        properties.write_text(f"version=1\nnode.id=1\ncluster.id=c\n{directory_id}")
    assert _without_tables(tmp_path / "a", str(tmp_path / "b")) == 0
    assert f"Broker 1 in {tmp_path / 'b'} ends at 40, broker 1 in {tmp_path / 'a'}" in " ".join(capsys.readouterr().out.split())


@each(
    "options, words",
    [
        ("--tables batch", "there is no table 'batch'"),
        ("--master local[2]", "--master and --conf are for --engine spark"),
        *(("--conf a=b", "--master and --conf are for --engine spark"), ("--conf x", "--conf takes NAME=VALUE")),
        *(("--target-bytes much", "targetBytes is a number of bytes"), ("--partitions x", "partitions is like 0,4-7")),
    ],
)
def test_nonsense_is_refused(brokers: Path, tmp_path: Path, capsys: Capture, options: str, words: str) -> None:
    assert _scan(brokers, tmp_path / "out", *options.split()) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_or_left_by_a_failure(brokers: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "out").mkdir()
    assert _scan(brokers, tmp_path / "out") == 2
    assert "exists; kdump does not overwrite files" in capsys.readouterr().err
    with pytest.raises(Unreadable, match="nothing: no such file or directory"):
        _scan(tmp_path / "nothing", tmp_path / "new")
    assert _scan(brokers, tmp_path / "out.tgz") == 2
    assert "a directory, not an archive" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "out"]


def test_all_tables_but_the_findings_are_of_one_list_of_files(brokers: Path, tmp_path: Path) -> None:
    seen: dict[str, bool] = {}

    def write_tables(given: Any, *_: Any) -> None:
        seen.update({options.table: bool(options.file_list) for options in given})
        raise KdumpError("enough")

    with mock.patch("kdump.pipeline.local.write_tables", write_tables):
        assert _scan(brokers, tmp_path / "out") == 3
    assert seen == {table: table != "findings" for table in TABLES}


def test_a_failed_scan_leaves_nothing_and_ends_with_3(brokers: Path, tmp_path: Path, capsys: Capture) -> None:
    for error, words in (
        (KdumpError("no room", path="x"), "kdump: x: no room\n"),
        (MemoryError(), "kdump: out of memory: use fewer processes (--jobs) or smaller tasks (--target-bytes)\n"),
    ):
        with mock.patch("kdump.cli.scanning.writing.write", side_effect=error):
            assert _scan(brokers, tmp_path / "out") == 3
        assert capsys.readouterr().err == words
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_an_interrupt_ends_a_scan_and_leaves_nothing(tmp_path: Path) -> None:
    large = batch(records=[record(value=b"v" * 20)] * 1000)
    for number in range(40):
        path = tmp_path / "data" / f"a-{number}" / file_name(0, ".log")
        path.parent.mkdir(parents=True)
        path.write_bytes(large * 40)
    command = [sys.executable, "-m", "kdump", "scan", "data", "--tables-to", "out", "--engine", "local", "--records"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, preexec_fn=with_interrupts) as scan:
        wait_until(lambda: list(tmp_path.glob(".out.incomplete-*/batches")))
        scan.send_signal(signal.SIGINT)
        _, err = scan.communicate(timeout=HANG)
    assert (scan.returncode, err) == (130, b"kdump: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


# --- Export


@pytest.fixture
def partition(brokers: Path) -> Path:
    return brokers / "broker=2" / "a-1"


def test_records_become_a_file_up_to_ranges_and_limits(partition: Path, tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    options = "--deep --output parquet --from-offset 2 --to-offset 8 --limit 4 --strict-stderr"
    assert main(["log", *options.split(), "-o", str(path), str(partition / file_name(0, ".log"))]) == 0
    assert [(row["offset"], row["key"], row["valueSize"]) for row in pq.read_table(path).to_pylist()] == [
        (n, b"k", 100) for n in (2, 3, 4, 5)
    ]


def test_a_file_is_not_overwritten(partition: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "x.parquet"
    path.write_text("mine")
    for form, options, words in (
        ("parquet", ["-o", str(path)], "exists; kdump does not overwrite files"),
        ("parquet", [], "parquet needs a file: --output parquet -o FILE"),
        # and what a file cannot hold
        ("arrow", ["-o", str(tmp_path / "x"), "--decode", "string"], "--decode does not apply to arrow"),
        ("arrow", ["-o", str(tmp_path / "x"), "--from-position", "5"], "--from-position does not apply to arrow"),
        ("arrow", ["-o", str(tmp_path / "x"), "--skip-record-metadata"], "--skip-record-metadata does not apply to arrow"),
    ):
        assert main(["log", str(partition), "--output", form, *options]) == 2
        assert words in capsys.readouterr().err
    assert path.read_text() == "mine"


FORMS = ("kafka", "ndjson", "csv", "table", "parquet", "arrow")


def _said(capfd: Capture, path: Path, form: str, *options: str) -> tuple[int, str]:
    """The exit code of a listing in this form, and what it says on stderr."""
    capfd.readouterr()
    with tempfile.TemporaryDirectory() as folder:
        file = ["-o", f"{folder}/file"] if form in ("parquet", "arrow") else []
        code = main(["log", str(path), "--output", form, *file, *options])
    return code, capfd.readouterr().err


V = record(value=b"v")


def _one(base_offset: int) -> bytes:
    """A batch of one record, of 69 bytes."""
    return batch(records=[V], base_offset=base_offset)


def _lengthened(data: bytes) -> bytes:
    """A batch with a wrong length, for which its CRC does not stand in."""
    return data[:8] + (int.from_bytes(data[8:12], "big") + 7).to_bytes(4, "big") + data[12:]


def _records_cut(data: bytes) -> bytes:
    """A batch of magic 2 with a CRC that fits, the count of which promises more records than there are."""
    changed = bytearray(data)
    changed[57:61] = (9).to_bytes(4, "big")
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


@each("form", FORMS)
@each(
    "what, middle, options, words",
    [
        ("length", _lengthened(_one(1)), [], "bytes 69 to 137: a record batch says it is 64 bytes long; its CRC matches with 57"),
        ("length, deep", _lengthened(_one(1)), ["--deep"], "(batch-length-mismatch, 69 bytes)"),
        ("CRC", _one(1)[:-1] + b"x", [], "byte 69: the CRC of a record batch does not match (crc-mismatch)"),
        ("records", _records_cut(_one(1)), ["--deep"], "byte 69: "),
        ("magic", batch(records=[V], base_offset=1, magic=3), [], "byte 69: a record batch of unknown magic 3 (bad-magic)"),
        ("zeros", b"\0" * 69, [], "(zero-hole, 69 bytes)"),
        (
            *("message", wrapper(base_offset=1, codec="gzip", messages=[message(), message(value=b"b", crc=1)])),
            *(["--deep"], "byte 69: message with offset 2: its CRC does not match (crc-mismatch)"),
        ),
    ],
)
def test_no_form_keeps_silent_about_damage(
    tmp_path: Path, capfd: Capture, what: str, middle: bytes, options: list[str], words: str, form: str
) -> None:
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(_one(0) + middle + _one(3))
    code, err = _said(capfd, path, form, *options)
    assert (code, err.count("\n"), words in err) == (1, 1, True), (what, err)


@each("form", FORMS)
def test_damage_outside_a_range_does_not_matter_in_any_form(tmp_path: Path, capfd: Capture, form: str) -> None:
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(b"".join(_one(n) for n in range(3)) + b"torn")
    assert _said(capfd, path, form, "--to-offset", "1") == _said(capfd, path, form, "--limit", "2") == (0, "")
    path.write_bytes(_one(0) + _one(1)[:-1] + b"x" + _one(2))
    assert _said(capfd, path, form, "--from-offset", "2") == (0, "")


# --- which engine, and no tables


PACKED = "00000000000000000007.log"
HERE = ("local", "Scanning with 2 processes of this machine; --engine spark uses Spark.")


def _spark(where: str) -> tuple[str, str]:
    return "spark", f"Scanning with Spark {where}; --engine local does not use Spark."


@each(
    "options, engine",
    [
        *(({}, HERE), ({"asked_for": "local"}, HERE), ({"asked_for": "spark"}, _spark("on 2 cores of this machine"))),
        *(({"conf": ["a=b"]}, _spark("on 2 cores of this machine")), ({"master": "spark://h:1"}, _spark("at spark://h:1"))),
    ],
    ids=str,
)
def test_spark_scans_where_asked_to(monkeypatch: Patch, options: dict[str, Any], engine: tuple[str, str]) -> None:
    given: dict[str, Any] = {"asked_for": None, "master": None, "conf": [], "cores": 2, **options}
    monkeypatch.setitem(sys.modules, "pyspark", mock.Mock(SparkContext=mock.Mock(_active_spark_context=None)))
    assert chosen(**given) == engine
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert [has_cluster(master) for master in (None, "local[2]", "spark://h:1")] == [True, False, True]
    by_submit = _spark("at spark://h:1" if "master" in options else "where spark-submit says")
    assert chosen(**given) == (HERE if engine == HERE and options else by_submit)
    monkeypatch.setattr(sys.modules["pyspark"], "SparkContext", mock.Mock())
    assert chosen(**given) == (HERE if engine == HERE and options else _spark("in the session of this process"))


def test_what_hides_more_makes_the_number_of_all_a_least_one(tmp_path: Path, capsys: Capture) -> None:
    first, second, third = (data(offset, 3) for offset in (0, 3, 6))
    for topic, lost in (("a", second[:-1] + b"x"), ("b", b"no batch " * 20)):
        log = write_partition(tmp_path / "data", topic=topic, segments={0: [first, second, third]}) / file_name(0, ".log")
        log.write_bytes(first + lost + third)
    assert _without_tables(tmp_path / "data", "--output", "json") == 1
    assert json.loads(capsys.readouterr().out)["verdict"].startswith("unreadable (at least 6 records)")


def test_a_scan_without_out_shows_the_same_summary(brokers: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    command = ["scan", str(brokers), "--engine", "local", "--jobs", "1"]
    summaries = []
    for options in ([], ["--tables-to", str(tmp_path / "out")]):
        assert main([*command, *options, "--output", "json"]) == 1
        summaries.append(json.loads(capsys.readouterr().out))
    places = [(summary.pop("tablesTo"), summary.pop("seconds") > 0) for summary in summaries]
    assert places == [(None, True), (str(tmp_path / "out"), True)]
    assert summaries[0] == summaries[1] and summaries[0]["errors"] == 2
    assert main(command) == 1
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first == "Scanning with 1 process of this machine; --engine spark uses Spark."
    answer = " ".join(" ".join(lines).split())
    assert " Verdict: unreadable (" in answer and answer.endswith("; 57 records not read (--level deep). Exit status 1.")
    assert last.startswith(f"Do: kdump check {brokers}") and f"{last.removeprefix('Do: ')} # crc-mismatch, " in answer
    assert list(folder.iterdir()) == []


NO_PLACE = "--tables and --records say which tables are kept; --tables-to DIR says where"
NO_CLUSTER = "a scan on a cluster needs a directory that its processes can read; --tables-to DIR names it"
MASTERS = "there are local, local[4], spark://host:7077, yarn and k8s://https://host:443"


@each(
    "options, words",
    [
        *(("--records --engine local", NO_PLACE), ("--tables batches --engine local", NO_PLACE)),
        ("--master spark://h:7077", NO_CLUSTER),
        *(
            (f"--tables-to out --master={one}", f"--master {one!r} is none of Spark's; {MASTERS}")
            for one in ("spark:/host", "host:7077", "yarn-client", "locale", "")
        ),
    ],
)
def test_what_needs_a_place_or_master_asks(brokers: Path, capsys: Capture, options: str, words: str) -> None:
    assert main(["scan", str(brokers), *options.split()]) == 2
    assert capsys.readouterr().err == f"kdump: {words}\n"


def test_what_is_not_a_local_path_is_refused(capsys: Capture) -> None:
    for line, words in (
        ("wasbs://bucket/data --engine local", "does not read such URLs"),
        ("hdfs:/data --engine local", "is not a local path"),
        (". --tables-to out --master sc://localhost", "Spark Connect"),
    ):
        assert main(["scan", *line.split()]) == 2
        assert words in capsys.readouterr().err


@each(
    "name, pack, words",
    [
        (PACKED + ".gz", gzip.compress, "It starts like a file of type gzip: `gunzip -c {} | kdump check -`"),
        (PACKED + ".tar.gz", gzip.compress, "It starts like a file of type gzip: `tar -xf {}`, and check the extracted files"),
        (PACKED + ".zst", zstandard.compress, "It starts like a file of type zstd: `zstd -dc {} | kdump check -`"),
        ("segment.bak", bytes, "It starts like a log: name it *.log, or check it as one: `kdump check --as log`."),
    ],
)
def test_a_scan_offers_of_a_file_that_it_does_not_know_what_a_check_does(
    tmp_path: Path, capfd: Capture, name: str, pack: Callable[[bytes], bytes], words: str
) -> None:
    partition = write_partition(tmp_path / "data", topic="a", partition=1, segments={0: [_one(0)]})
    (partition / name).write_bytes(pack(_one(7)))
    outputs = []
    for command in (["scan", "--engine", "local"], ["check"]):
        assert main([*command, str(tmp_path / "data")]) == 3
        outputs.append(capfd.readouterr().out)
        assert "".join(words.format(partition / name).split()) in "".join(outputs[-1].split())  # lines end inside of long paths
    assert f"error    file-not-recognized  a-1 on broker data\n         {partition / name}\n" in outputs[0]


def test_a_directory_that_cannot_be_made_is_named(partition: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    command = [sys.executable, "-m", "kdump", "scan", "--engine", "local", str(partition), "--tables-to", str(file / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.returncode, done.stderr) == (4, f"kdump: cannot write the output: {file}: Not a directory\n")


def test_without_arrow_the_extra_is_named(partition: Path, tmp_path: Path, capsys: Capture) -> None:
    with without_modules("pyarrow"):
        assert main(["log", str(partition), "--output", "parquet", "-o", str(tmp_path / "x")]) == 2
        assert _scan(partition, tmp_path / "out") == 2
    assert capsys.readouterr().err.count("; pip install pyarrow (it is in kafka-kdump[arrow])\n") == 2


def test_without_duckdb_the_package_and_the_extra_are_named(partition: Path, capsys: Capture) -> None:
    with without_modules("duckdb"):
        assert main(["scan", str(partition)]) == 2
    remedy = "pip install duckdb (it is in kafka-kdump[arrow]), or use --engine spark"
    message = f'questions about a fleet need the package "duckdb"; {remedy}'
    assert capsys.readouterr().err == f"kdump: {message}\n"


# --- What is said of Spark


_OF_WORKER = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times
Traceback (most recent call last):
  File "/a/worker.py", line 1, in main
{}

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:572)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
"""


NO_KDUMP = (
    "the Python of Spark's workers has no package 'kdump'; install kdump on every worker, or send it along:"
    " docs/spark-sessions.md has the settings"
)


@each(
    "line, told",
    [
        ("OSError: [Errno 28] No space left on device", "[Errno 28] No space left on device"),
        ("ModuleNotFoundError: No module named 'kdump'", NO_KDUMP),
        ("kdump.errors.MissingPackage: lz4 is missing; pip install lz4", "lz4 is missing; pip install lz4"),
        ("ValueError: no", "Spark failed: ValueError: no; KDUMP_DEBUG=1 shows all"),
    ],
)
def test_an_error_of_a_worker_is_told_as_one_of_this_process(line: str, told: str) -> None:
    assert str(session.as_raised_here(Exception(_OF_WORKER.format(line)))) == told


def test_an_error_of_java_is_told_by_its_last_cause() -> None:
    text = "An error occurred while calling o95.parquet.\n: org.apache.spark.SparkException: Job aborted\n\tat a.b(c)\n{}"
    full = session.as_raised_here(Exception(text.format("Caused by: java.io.IOException: No space left on device\n\tat d")))
    assert isinstance(full, OSError)
    other = session.as_raised_here(Exception(text.format("Caused by: java.io.IOException: Broken pipe\n\tat d")))
    assert str(other) == "Spark failed: java.io.IOException: Broken pipe; KDUMP_DEBUG=1 shows all"
    assert session.last_line(Exception(text.format("\tat d"))) == "org.apache.spark.SparkException: Job aborted"


def test_paths_of_files_may_be_urls() -> None:
    from kdump.pipeline.options import Options

    for form in ("file:/data", "file:///data", "FILE:/data"):
        assert Options({"path": form}).paths == ["/data"]


def test_a_directory_that_was_not_listed_is_not_left_out_silently(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    """The check may list it a moment later, and finds nothing."""
    partition = write_partition(tmp_path / "logs", segments={0: [batch(records=[record()])]}, topic="a")
    whole, codes = system.entries, []
    for failing in range(4):
        calls = count()

        def fails_once(path: str, calls: Iterator[int] = calls, failing: int = failing) -> list[system.Entry]:
            if path == str(partition) and next(calls) == failing:
                raise Unreadable("file-io-error", "Input/output error", path=path)
            return whole(path)

        monkeypatch.setattr(system, "entries", fails_once)
        codes.append(main(["scan", "--engine", "local", "--jobs", "1", str(tmp_path / "logs")]))
        shown = " ".join(capsys.readouterr().out.split())
        is_whole = codes[-1] == 0 and " 1 batch, 1 record " in shown
        assert is_whole or codes[-1] == 3 and "nput/output error" in shown
    assert 3 in codes
