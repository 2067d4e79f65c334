"""Tasks in a process of their own: most start no other, and a crash costs one file."""

import faulthandler
import os
import signal
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kdump.errors import KdumpError
from kdump.formats import records as record_readers
from tests.builders.files import file_name
from tests.builders.records import batch, record
from tests.support import forks_only_here

pq = pytest.importorskip("pyarrow.parquet", reason="tables need the package pyarrow")

from kdump.pipeline.options import Options  # noqa: E402  # what needs Arrow
from kdump.pipeline.task_process import attempt_apart  # noqa: E402
from kdump.pipeline.tasks import ATTEMPTS, ScanTask, TaskReport, tasks_of  # noqa: E402

CRASHING = file_name(2, ".log")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for number in range(5):
        log = tmp_path / "data" / f"a-{number}" / file_name(number, ".log")
        log.parent.mkdir(parents=True)
        log.write_bytes(batch(records=[record()], base_offset=number))
    return tmp_path / "data"


def _tasks(data: Path, table: str, **given: str) -> list[ScanTask]:
    (data.parent / ATTEMPTS).mkdir()
    options = Options({"path": str(data), "table": table, "unreadable": "skip", "parallelism": "1", **given})
    return list(tasks_of(options, str(data.parent)))


def _partitions(task: ScanTask, report: TaskReport) -> list[int]:
    written = pq.read_table(Path(task.folder) / report.file)
    assert len(written) == report.rows
    partitions: list[int] = sorted(written.column("partition").to_pylist())
    return partitions


@pytest.mark.parametrize(("table", "given"), [("records", {}), ("batches", {"uncompressed": "true"}), ("findings", {})], ids=str)
def test_the_process_of_a_task_starts_no_other(table: str, given: dict[str, str], data: Path) -> None:
    partitions = set()
    with forks_only_here():
        for task in _tasks(data, table, **given):
            report = attempt_apart(task)
            partitions.update(_partitions(task, report))
            assert not any(one.skipped for one in report.slices)
    assert partitions == set(range(5))


def test_a_crash_costs_one_file_and_not_the_process_that_asked(data: Path) -> None:
    read = record_readers.read

    def crash(source: Any, *others: Any, **named: Any) -> Any:
        if source.path.endswith(CRASHING):
            faulthandler.disable()  # which would tell of it
            os.kill(os.getpid(), signal.SIGSEGV)
        return read(source, *others, **named)

    (task,) = _tasks(data, "records")
    with mock.patch.object(record_readers, "read", crash):
        report = attempt_apart(task)
    assert _partitions(task, report) == [0, 1, 3, 4]
    (crashed,) = [one for one in report.slices if one.skipped]
    assert crashed.path.endswith(CRASHING)
    assert "was killed by SIGSEGV" in crashed.skipped[0].message


def test_what_a_task_raises_is_raised(data: Path) -> None:
    started: list[int] = []
    fork = os.fork

    def noted() -> int:
        started.append(fork())
        return started[-1]

    (task,) = _tasks(data, "records", unreadable="fail", mode="FAILFAST")
    with (
        mock.patch.object(record_readers, "read", side_effect=KdumpError("is not what it was")),
        mock.patch.object(os, "fork", noted),
        pytest.raises(KdumpError, match="is not what it was"),
    ):
        attempt_apart(task)
    (process,) = started
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
