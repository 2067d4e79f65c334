"""Batches between damage: checked together or one by one, the findings are the same."""

import errno
import os
from collections import Counter
from pathlib import Path

import pytest

from campaigns.hostile_files import NOW, written
from kdump.checks import check
from kdump.checks.finding import FileReport
from kdump.checks.jobs import Job
from kdump.checks.settings import DEEP, DELETE, FULL, Settings
from kdump.tables import Row
from tests.builders.hostile import Hostile
from tests.builders.hostile_faults import LOGS
from tests.builders.records import batch, record
from tests.loops import each
from tests.reading.parts import enough, in_patches

pytestmark = pytest.mark.both_kernels


def _producers(count: int) -> dict[str, bytes]:
    """Batches of producers and transactions, with garbage of several kinds between them."""
    pieces = []
    for number in range(count):
        one = batch(
            records=[record(value=b"v", timestamp=1_700_000_000_000 - number)],
            base_offset=3 * number,
            producer_id=7 + number % 3,
            producer_epoch=0,
            base_sequence=number,
            is_transactional=number % 5 == 0,
        )
        pieces += [one, bytes(600) if number % 7 == 0 else b"\xff" * (20 + number % 40)]
    return {".log": b"".join(pieces)}


KINDS = [*LOGS, Hostile("producers", ".log", 1, _producers)]


def _rows(path: Path, settings: Settings) -> Counter[str]:
    rows: list[Row] = []
    check.run(Job(Job.PARTITION, str(path.parent)), settings, rows.append)
    return Counter(map(repr, rows))


@each("one", KINDS, ids=lambda one: one.name)
@each("level", [FULL, DEEP])
def test_findings_do_not_depend_on_what_comes_together(one: Hostile, level: str, tmp_path: Path) -> None:
    path = written(one, enough(), tmp_path)
    for most in (0, 3):
        settings = Settings(now=NOW, level=level, max_findings=most, cleanup_policy=DELETE)
        with in_patches(together=True):
            together = _rows(path, settings)
        with in_patches(together=False):
            assert _rows(path, settings) == together


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
    reports = []
    for together in (True, False):
        rows: list[Row] = []
        with in_patches(together=together):
            check.run(Job(Job.PARTITION, str(path.parent)), Settings(now=NOW, level=FULL, max_findings=0), rows.append)
        reports.append(next(row for row in rows if isinstance(row, FileReport)))
    assert reports[0] == reports[1]
    assert last - first <= reports[0].bytes_not_examined < last - first + 2 * 700
