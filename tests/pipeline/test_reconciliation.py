"""The tables of a scan add up, or the scan says that they do not: whatever is cut, killed, missing or in two places."""

import base64
import itertools
import json
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kdump.checks.catalogue import SCAN
from kdump.cli.commands import main
from kdump.errors import KdumpError, MissingPackage
from kdump.formats import records as record_readers
from tests.builders.files import file_name, partition_metadata, write_partition
from tests.builders.records import batch, record

pytestmark = pytest.mark.slow

import pyarrow as pa  # noqa: E402  # what needs Arrow
import pyarrow.parquet as pq  # noqa: E402

from kdump.pipeline import discovery, reading, tasks  # noqa: E402
from kdump.pipeline.options import Options  # noqa: E402
from kdump.pipeline.reconciliation import Reconciliation  # noqa: E402
from kdump.pipeline.slice_report import Skipped, SliceReport  # noqa: E402
from kdump.pipeline.tasks import ATTEMPTS, ScanTask, TaskReport  # noqa: E402
from tests.support import Capture  # noqa: E402

PARTITIONS, BATCHES, RECORDS = 4, 30, 3
OFFSETS = BATCHES * RECORDS


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Four partitions of one log, each of 90 records in 30 batches of some 3 KiB."""
    batches = [
        batch(records=[record(value=bytes([number]) * 1000)] * RECORDS, base_offset=RECORDS * number) for number in range(BATCHES)
    ]
    for partition in range(PARTITIONS):
        write_partition(tmp_path / "data", topic="t", partition=partition, segments={0: batches})
    return tmp_path / "data"


def _log(data: Path, partition: int) -> Path:
    return data / f"t-{partition}" / file_name(0, ".log")


def _scan(data: Path, *options: str, size: str = "16k") -> int:
    tables = ["--tables-to", str(data.parent / "out"), "--records", "--target-bytes", size]
    return main(["scan", str(data), "--engine", "local", "--jobs", "2", *tables, *options])


def _rows(data: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(data.parent / "out" / table).to_pylist()
    return rows


def _found(data: Path) -> list[tuple[str, int | None, str]]:
    """The findings about the tables themselves."""
    return sorted((row["code"], row["partition"], row["message"]) for row in _rows(data, "findings") if row["code"] in SCAN)


def _offsets(data: Path) -> list[tuple[int, int]]:
    return sorted((row["partition"], row["offset"]) for row in _rows(data, "records"))


EXACT = [(partition, offset) for partition in range(PARTITIONS) for offset in range(OFFSETS)]


def _once(path: Path) -> bool:
    """Whether this is the first time, in any process."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _killing(name: str, read: Callable[..., Any], dies: Callable[[str], bool]) -> Any:
    """A reader that kills its own process before a file, if it is to die there."""

    def reader(source: Any, *others: Any, **more: Any) -> Any:
        if dies(source.path):
            os.kill(os.getpid(), signal.SIGKILL)
        return read(source, *others, **more)

    return mock.patch.object(record_readers, name, reader)


def test_a_process_that_is_killed_once_costs_nothing(data: Path, tmp_path: Path) -> None:
    with _killing("read", record_readers.read, lambda path: "/t-2/" in path and _once(tmp_path / "killed")):
        assert _scan(data) == 0
    assert (tmp_path / "killed").exists()
    assert _offsets(data) == EXACT
    assert _found(data) == []


def test_a_worker_that_is_killed_at_any_task_costs_nothing(data: Path, tmp_path: Path) -> None:
    attempt = tasks.attempt

    def dying(task: ScanTask) -> TaskReport:
        report = attempt(task)  # its file is written, and nobody hears of it
        if task.number % 2 == 1 and _once(tmp_path / f"{task.table}-{task.number}"):
            os.kill(os.getpid(), signal.SIGKILL)
        return report

    with mock.patch.object(tasks, "attempt", dying):
        assert _scan(data) == 0
    assert len(list(tmp_path.glob("records-*"))) == PARTITIONS // 2
    assert _offsets(data) == EXACT
    assert len(_rows(data, "batches")) == PARTITIONS * BATCHES
    assert _found(data) == []
    assert not list(data.parent.glob(".out*"))


def test_what_cannot_be_read_in_a_second_attempt_is_named_and_the_scan_is_not_clean(data: Path, capsys: Capture) -> None:
    with _killing("read", record_readers.read, lambda path: "/t-2/" in path):
        assert _scan(data, "--output", "json") == 3
    assert _offsets(data) == [row for row in EXACT if row[0] != 2]
    why = "the process that read files was killed by SIGKILL, perhaps because the machine ran out of memory."
    assert {*_found(data)} == {("scan-rows-missing", 2, f"Rows of this file are missing in the table records: {why}")}
    assert {row["path"] for row in _rows(data, "findings") if row["code"] in SCAN} == {str(_log(data, 2))}
    summary = json.loads(capsys.readouterr().out)
    assert (summary["exitCode"], summary["incompleteTables"]) == (3, [])


def test_a_crash_of_a_codec_and_an_error_that_comes_again_are_named(data: Path) -> None:
    def crash(source: Any, *others: Any, **named: Any) -> Any:
        if "/t-1/" in source.path:
            signal.signal(signal.SIGABRT, signal.SIG_DFL)
            os.abort()
        return read(source, *others, **named)

    read = record_readers.read
    with mock.patch.object(record_readers, "read", crash):
        assert _scan(data, size="64m") == 3
    assert _offsets(data) == [row for row in EXACT if row[0] != 1]
    ((code, partition, message),) = _found(data)
    assert (code, partition, "was killed by SIGABRT" in message) == ("scan-rows-missing", 1, True)
    shutil.rmtree(data.parent / "out")
    with mock.patch.object(record_readers, "read", side_effect=ZeroDivisionError("by zero")):
        assert _scan(data, size="64m") == 3
    assert _offsets(data) == []
    assert [(code, partition) for code, partition, _ in _found(data)] == [("scan-rows-missing", number) for number in range(4)]
    assert all("ZeroDivisionError: by zero" in message for _, _, message in _found(data))


def test_a_package_that_is_missing_ends_a_scan(data: Path, capsys: Capture) -> None:
    missing = MissingPackage('lz4 payloads need the package "lz4"', remedy="pip install lz4")
    with mock.patch.object(record_readers, "read", side_effect=missing):
        assert _scan(data) == 3
    assert 'lz4 payloads need the package "lz4"; pip install lz4' in capsys.readouterr().err
    assert not (data.parent / "out").exists()
    assert not list(data.parent.glob(".out*"))


def _meanwhile(action: Callable[[], object]) -> Any:
    """Do this when the files were listed and none was read."""
    write_list = discovery.write_list

    def listed(items: Any, path: str) -> None:
        write_list(items, path)
        action()

    return mock.patch.object(discovery, "write_list", listed)


@pytest.mark.parametrize(
    ("change", "reason"),
    [(os.unlink, "no such file"), (lambda path: os.truncate(path, 100), "it has 100 bytes, but had {size:,} when it was listed")],
    ids=["vanishes", "becomes shorter"],
)
def test_a_file_that_is_not_as_it_was_listed_is_named(data: Path, change: Callable[[Path], object], reason: str) -> None:
    reason = reason.format(size=_log(data, 3).stat().st_size)
    with _meanwhile(lambda: change(_log(data, 3))):
        assert _scan(data) == 3
    assert _offsets(data) == EXACT[: 3 * OFFSETS]
    message = f"Rows of this file are missing in the tables batches, records, segments: {reason}."
    assert _found(data) == [("scan-rows-missing", 3, message)]


def test_a_log_that_grows_is_read_as_it_was_listed(data: Path) -> None:
    def grow() -> None:
        with open(_log(data, 3), "ab") as file:
            file.write(batch(records=[record()] * 5, base_offset=OFFSETS))

    with _meanwhile(grow):
        assert _scan(data) == 0
    assert _offsets(data) == EXACT
    assert {(row["batches"], row["records"]) for row in _rows(data, "segments")} == {(BATCHES, OFFSETS)}


def test_a_file_that_is_replaced_between_two_tables_is_named(data: Path) -> None:
    attempt = tasks.attempt

    def replacing(task: ScanTask) -> TaskReport:
        if task.table == "records":
            other = _log(data, 3).with_suffix(".new")
            other.write_bytes(_log(data, 3).read_bytes())
            other.rename(_log(data, 3))
        return attempt(task)

    with mock.patch.object(tasks, "attempt", replacing):
        assert _scan(data, "--jobs", "1", size="64m") == 3
    message = "The rows of this file in the tables batches, records, segments do not add up: it was replaced, or truncated."
    assert _found(data) == [("scan-tables-disagree", 3, message)]


@pytest.mark.parametrize("times", [0, 2])
def test_a_file_that_is_not_read_once_is_found_and_the_table_does_not_look_whole(data: Path, capsys: Capture, times: int) -> None:
    read = reading.read

    def odd(task: Any, options: Any, *others: Any, **named: Any) -> Any:
        first = task[:1] * times if options.table == "records" else task[:1]
        return read((*first, *task[1:]), options, *others, **named)

    with mock.patch.object(reading, "read", odd):
        assert _scan(data, size="64m") == 3
    tables = {path.name for path in (data.parent / "out").iterdir()}
    assert "records.incomplete" in tables
    assert "records" not in tables
    number = f"{times} times"
    text = f"The rows of this file in the table records do not add up: its rows were to be read 1 time, and were read {number}."
    assert {(code, message) for code, _, message in _found(data)} == {("scan-tables-disagree", text)}
    assert "Unreliable, because they do not add up: records.incomplete." in capsys.readouterr().out


def test_rows_that_get_lost_on_their_way_are_found(data: Path) -> None:
    read = reading.read

    def losing(task: Any, options: Any, *others: Any, **named: Any) -> Any:
        for one in read(task, options, *others, **named):
            yield one.slice(0, one.num_rows - 1) if options.table == "batches" else one

    with mock.patch.object(reading, "read", losing):
        assert _scan(data) == 3
    assert {code for code, _, _ in _found(data)} == {"scan-tables-disagree"}
    assert (data.parent / "out" / "batches.incomplete").exists()


def test_a_file_of_rows_that_nobody_can_find_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ATTEMPTS).mkdir()
    task = ScanTask(0, 1, (), Options({"path": str(tmp_path)}), str(tmp_path / ATTEMPTS))
    with pytest.raises(KdumpError, match="--tables-to must be on a file system that all workers share"):
        Reconciliation(str(tmp_path)).take(task, [TaskReport("batches-00000-x.parquet", 0, [])])
    for part in "ab":
        pq.write_table(pa.table({"part": [part]}), tmp_path / ATTEMPTS / part)
    Reconciliation(str(tmp_path)).take(task, [TaskReport(part, 1, []) for part in "ab"])
    assert sorted(pq.read_table(tmp_path / task.table)["part"].to_pylist()) == ["a", "b"]


def test_records_that_do_not_decode_are_named_and_add_up(data: Path) -> None:
    broken = batch(records=[record(value=b"v")] * 3, base_offset=OFFSETS, records_count=9, last_offset_delta=8)
    with open(_log(data, 0), "ab") as file:
        file.write(broken)
    assert _scan(data) == 1
    position = _log(data, 0).stat().st_size - len(broken)
    message = (
        f"6 records of the batch at byte {position:,} are not in the table records:"
        " the batch holds fewer records than its header says (record-count-too-high)."
    )
    assert _found(data) == [("scan-records-unread", 0, message)]
    assert len(_offsets(data)) == PARTITIONS * OFFSETS + 3


def _disagreements(
    data: Path, table: str, start: int, end: int, *, rows: int = 0, batches: int = 0, skipped: Sequence[Skipped] = ()
) -> list[str]:
    """What is said of a log of 20 bytes, of which some are read, with some batches in so many rows, without what is skipped."""
    report = SliceReport(str(_log(data, 0)))
    report.size, report.inode, report.rows = 20, 1, rows
    report.cover(start, end)
    report.count(batches, 3 * batches)
    report.skipped += skipped
    whole = Reconciliation(str(data))
    whole._logs[report.path] = {table: report}
    whole.finish()
    return [message for _, _, message in whole.disagreements]


def test_the_table_of_batches_has_a_row_for_each_batch_and_each_byte_is_read(data: Path) -> None:
    for rows, words in (
        *((1, ["1 batches are in the table, but 2 were found"]), (2, []), (3, ["3 batches are in the table, but 2 were found"])),
    ):
        assert _disagreements(data, "batches", 0, 20, rows=rows, batches=2) == words
    for start, end, words in (
        *((0, 20, []), (5, 20, ["bytes 0 to 4 were not read"]), (0, 15, ["bytes 15 to 19 were not read"])),
        (0, 25, ["25 bytes were read of 20"]),
    ):
        assert _disagreements(data, "segments", start, end) == words
    for start, end in itertools.product(range(3), range(18, 23)):
        assert bool(_disagreements(data, "batches", start, end)) == ((start, end) != (0, 20)), "one byte is enough"


def test_records_that_do_not_decode_count_as_far_as_anybody_knows_how_many_they_are(data: Path) -> None:
    words = ["4 records by the table records, 6 by the table records"]
    for missing, said in (((), words), ((2,), []), ((1,), ["5" + words[0][1:]]), ((None,), []), ((1, None), [])):
        skipped = [Skipped("some-code", "why", 7, records, True) for records in missing]
        assert _disagreements(data, "records", 0, 20, rows=4, batches=2, skipped=skipped) == said


def test_rows_are_missing_up_to_the_end_of_the_file_or_from_where_it_ended(data: Path) -> None:
    item = next(discovery.discover(str(_log(data, 0))))
    for position, end, bounds in ((None, None, (0, item.size)), (7, 9, (7, 9)), (item.size + 1, None, (item.size + 1,) * 2)):
        whole = Reconciliation(str(data))
        whole.skipped.append((item, "records", Skipped("some-code", "why", position, None, False, end)))
        assert [(row["start"], row["end"]) for found in whole.findings() for row in found.to_pylist()] == [bounds]


def test_the_number_of_records_that_do_not_decode_is_reported(data: Path) -> None:
    item = next(discovery.discover(str(_log(data, 0))))
    for records, words in ((None, "Some records"), (1, "1 record"), (2, "2 records")):
        whole = Reconciliation(str(data))
        whole.skipped.append((item, "records", Skipped("some-code", "why", 7, records, True)))
        ((message,),) = ([row["message"] for row in found.to_pylist()] for found in whole.findings())
        verb = "is" if records == 1 else "are"
        assert message == f"{words} of the batch at byte 7 {verb} not in the table records: why (some-code)."


def test_replicas_of_another_topic_of_the_name_are_not_compared(tmp_path: Path, capsys: Capture) -> None:
    for broker, number in enumerate((b"\1", b"\1", b"\2")):
        segments = {0: [batch(records=[record(value=number)], base_offset=offset) for offset in range(number[0])]}
        path = write_partition(tmp_path / "data" / f"broker={broker}", topic="a", partition=0, segments=segments)
        topic_id = base64.urlsafe_b64encode(number * 16).decode()[:22]
        (path / "partition.metadata").write_bytes(partition_metadata(topic_id=topic_id))
    assert main(["scan", str(tmp_path / "data"), "--engine", "local", "--output", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["findings"] == [{"code": "scan-not-compared", "severity": "warning", "count": 1}]
    assert shown["verdict"].endswith("but replicas of other topics were not compared")


def test_every_code_about_tables_is_shown_by_a_test_here() -> None:
    text = Path(__file__).read_text()
    assert all(f'"{code}"' in text for code in SCAN)
