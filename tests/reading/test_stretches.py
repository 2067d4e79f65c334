"""Stretches of a log: where they end, and what they hold."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdump.binary.source import Source
from kdump.checks.check import run
from kdump.checks.finding import Finding
from kdump.checks.jobs import jobs
from kdump.checks.rules.timestamps.batch_timestamps import BatchTimestamps
from kdump.checks.settings import Settings
from kdump.reading.items import Section
from kdump.reading.stretches import Stretches
from kdump.reading.tuning import ReadTuning
from kdump.tables import Row
from tests import kernels
from tests.builders.records import TIMESTAMP, batch, record
from tests.support import opened

pytestmark = pytest.mark.skipif(kernels.why_no_c() is not None, reason=str(kernels.why_no_c()))

LOG_NAME = "00000000000000000000.log"
ONE = [record(value=b"one")]
SIZE = 61 + 10  # of a batch of ONE


@pytest.fixture(autouse=True)
def _c_kernel() -> Iterator[None]:
    with kernels.using("c"):
        yield


def _batches(count: int) -> bytes:
    return b"".join(batch(records=ONE, base_offset=offset) for offset in range(count))


def _extents(source: Source, tuning: ReadTuning) -> list[tuple[int, int, int]]:
    """The first and the last offset of each stretch, and where it ends, up to where there is none."""
    found = []
    position = 0
    stretches = Stretches(source, 0, tuning)
    while position < source.size:
        chunk = stretches.at(position)
        if chunk is None:
            break
        summary = chunk.summary
        found.append((summary.first_offset, summary.last_offset, summary.end))
        position = summary.end
    return found


def test_a_stretch_ends_after_the_last_batch_that_starts_in_its_unit() -> None:
    tuning = ReadTuning(stretch_bytes=2 * SIZE + 1)
    with opened(_batches(7)) as source:
        assert _extents(source, tuning) == [(0, 2, 3 * SIZE), (3, 4, 5 * SIZE), (5, 6, 7 * SIZE)]


def test_a_stretch_has_no_more_batches_than_their_columns_have_room() -> None:
    tuning = ReadTuning(max_stretch_batches=4)
    with opened(_batches(7)) as source:
        assert _extents(source, tuning) == [(0, 3, 4 * SIZE), (4, 6, 7 * SIZE)]


@pytest.mark.parametrize("largest", [10, 300_000, 900_000])
def test_a_stretch_keeps_its_bytes_until_the_next(largest: int) -> None:
    chance = random.Random(largest)
    sizes = [chance.randrange(largest) for _ in range(200 if largest == 10 else 30)]
    log = b"".join(batch(records=[record(value=chance.randbytes(size))], base_offset=offset) for offset, size in enumerate(sizes))
    previous = None
    position = 0
    with opened(log) as source:
        stretches = Stretches(source, 0, tuning=ReadTuning(stretch_bytes=1 << 20), keeps_bytes=True)
        while position < source.size:
            chunk = stretches.at(position)
            assert chunk is not None and chunk.kept is not None and (previous is None or previous.kept is None)
            assert chunk.kept == log[position : chunk.summary.end]
            position, previous = chunk.summary.end, chunk
        assert stretches.at(position) is None and previous is not None and previous.kept is None


@pytest.mark.parametrize("damage", [b"", b"\xff"], ids=["torn", "torn and odd"])
def test_there_is_no_stretch_of_batches_that_are_not_all_sound(damage: bytes) -> None:
    tuning = ReadTuning(stretch_bytes=3 * SIZE)
    with opened(_batches(6)[: 5 * SIZE + 20] + damage) as source:
        assert _extents(source, tuning) == [(0, 2, 3 * SIZE)]


def test_a_log_that_is_rewritten_while_it_is_checked_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / LOG_NAME
    path.write_bytes(_batches(3))

    def write_and_look(_rule: object, section: Section) -> None:
        path.write_bytes(_batches(1) + b"".join(batch(records=2 * ONE, base_offset=offset) for offset in (1, 3)))
        os.truncate(path, 3 * SIZE)
        _ = section.chunk.batches

    monkeypatch.setattr(BatchTimestamps, "batches", write_and_look)
    rows: list[Row] = []
    for job in jobs(str(path)):
        run(job, Settings(now=TIMESTAMP), rows.append)
    assert [(row.code, row.start) for row in rows if isinstance(row, Finding)] == [("file-shrank", 0)]


def test_a_batch_of_more_than_a_mebibyte_is_in_no_stretch() -> None:
    tuning = ReadTuning(stretch_bytes=4 << 20)
    for size, count in ((1 << 20, 2), ((1 << 20) + 1, None)):
        room = size - len(batch(records=[record(value=bytes(1 << 19))])) + (1 << 19)
        large = batch(records=[record(value=bytes(room))], base_offset=1)
        assert len(large) == size
        with opened(_batches(1) + large) as source:
            for keeps_bytes in (False, True):
                chunk = Stretches(source, 0, tuning=tuning, keeps_bytes=keeps_bytes).at(0)
                assert (None if chunk is None else len(chunk)) == count
