"""Checks of batches between damage."""

import errno
import os
from pathlib import Path

import pytest

from campaigns.hostile_files import NOW
from kdump.checks import check
from kdump.checks.finding import INFO, FileReport, Finding
from kdump.checks.jobs import Job
from kdump.checks.settings import DEEP, FULL, Settings
from kdump.tables import Row
from tests.builders.records import TIMESTAMP, batch, record

pytestmark = pytest.mark.both_kernels


def test_what_is_wrong_in_a_batch_comes_before_the_damage_after_it(tmp_path: Path) -> None:
    first = batch(records=[record(value=b"v")] * 3)
    late = batch(
        records=[record(key=b"k", value=b"v")],
        base_offset=3,
        max_timestamp=TIMESTAMP + 5,
        producer_id=1234,
        producer_epoch=7,
        base_sequence=100,
    )
    path = tmp_path / ("0" * 20 + ".log")
    rows: list[Row] = []
    path.write_bytes(first + late + bytes(range(10)))
    check.run(Job(Job.FILE, str(path)), Settings(now=NOW, level=DEEP), rows.append)
    found = [row.code for row in rows if isinstance(row, Finding) and row.severity != INFO and row.end > 0]
    assert found[:2] == ["max-timestamp-mismatch", "torn-header"]


def test_what_the_device_does_not_give_between_batches_is_not_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [piece for number in range(60) for piece in (batch(records=[record(value=b"v")], base_offset=number), bytes(600))]
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(b"".join(pieces))
    first, last, pread = 8192, 12288, os.pread

    def failing(descriptor: int, count: int, position: int) -> bytes:
        if first <= position < last:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return pread(descriptor, min(count, first - position) if position < first else count, position)

    monkeypatch.setattr(os, "pread", failing)
    rows: list[Row] = []
    check.run(Job(Job.PARTITION, str(path.parent)), Settings(now=NOW, level=FULL, max_findings=0), rows.append)
    (report,) = (row for row in rows if isinstance(row, FileReport))
    assert last - first <= report.bytes_not_examined < last - first + 2 * 700
