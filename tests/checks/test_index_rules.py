"""What the rules for indexes do that no single broken file shows."""

import random
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kdump.binary.source import Source
from kdump.checks import segment
from kdump.checks.context import FileContext
from kdump.checks.finding import FileReport, Finding
from kdump.checks.packed_ints import PackedInts
from kdump.checks.rules.indexes import offset_index, time_index
from kdump.checks.rules.indexes.offset_index_gaps import EntryGaps
from kdump.checks.rules.indexes.sibling_log import SiblingLog
from kdump.checks.segment_facts import SegmentFacts
from kdump.checks.settings import Settings
from kdump.tables import Row
from tests.builders.files import file_name, write_partition
from tests.builders.files import offset_index as index_of
from tests.builders.files import time_index as time_index_of
from tests.builders.records import TIMESTAMP, batch, record
from tests.checks.findings import findings_of, rows_of
from tests.loops import each

pytestmark = pytest.mark.both_kernels

BATCHES = [batch(records=[record(value=b"value", timestamp=TIMESTAMP + at)], base_offset=at) for at in range(0, 200_000, 1000)]
SIZE = len(BATCHES[0])
Patch = pytest.MonkeyPatch


def _of_indexes(path: Path, **settings: object) -> list[Finding]:
    """Findings, but for what the batches of these tests show as well: offsets are missing between them."""
    return [one for one in findings_of(path, now=0, **settings) if one.code != "offset-gap"]


def _codes(path: Path, part: str = "") -> set[str]:
    return {one.code for one in _of_indexes(path) if part in one.code}


def test_what_a_broker_wrote_while_the_log_was_read_is_not_a_fault(tmp_path: Path) -> None:
    log, index, times = (tmp_path / file_name(0, suffix) for suffix in (".log", ".index", ".timeindex"))
    log.write_bytes(b"".join(BATCHES[:3]))
    rows: list[Row] = []
    with Source(str(log)) as source:
        facts = segment.check(FileContext(source, str(log), "log", Settings(now=0), rows.append, base_offset=0))
    log.write_bytes(b"".join(BATCHES[:4]))
    index.write_bytes(index_of(entries=[(1000, SIZE), (2000, 2 * SIZE), (3000, 3 * SIZE)]))
    times.write_bytes(time_index_of(entries=[(TIMESTAMP + offset, offset) for offset in (1000, 2000, 3000)]))
    for path, check in ((index, offset_index.check), (times, time_index.check)):
        with Source(str(path)) as source:
            check(FileContext(source, str(path), "", Settings(now=0), rows.append, base_offset=0, is_newest=True, segment=facts))
    assert [row for row in rows if isinstance(row, Finding) and row.code != "offset-gap"] == []


def test_a_batch_that_lost_one_record_may_have_been_longer_when_its_entry_was_written(tmp_path: Path) -> None:
    whole = [record(value=b"v")] * 5
    for records, codes in ((whole[:4], set()), (whole, {"index-offset-mismatch"})):
        last = batch(records=records, base_offset=6, last_offset_delta=4)
        batches = [batch(records=whole[:1]), batch(records=whole, base_offset=1), last]
        directory = write_partition(tmp_path / str(len(records)), segments={0: batches})
        (directory / file_name(0, ".index")).write_bytes(index_of(entries=[(9, len(batches[0]))]))
        assert _codes(directory) - {"last-offset-delta-mismatch"} == codes


@each("entries", [[(4, 1)], [(5, 1), (7, 3)], [(4, 1), (7, 3)]], ids=str)
def test_a_damaged_batch_may_be_the_end_of_the_append_that_an_entry_is_of(tmp_path: Path, entries: list[tuple[int, int]]) -> None:
    batches = [batch(records=[record(value=b"v")] * 2, base_offset=2 * row, crc=1 if row == 2 else None) for row in range(4)]
    directory = write_partition(tmp_path, segments={0: batches})
    index = index_of(entries=[(offset, row * len(batches[0])) for offset, row in entries])
    (directory / file_name(0, ".index")).write_bytes(index)
    assert "index-offset-mismatch" not in _codes(directory)


def test_an_offset_between_sound_batches_is_not_that_of_damage_elsewhere(tmp_path: Path) -> None:
    """Offsets 2 and 12 are in no batch; damage lies only beside the second."""
    for missing, codes in ((2, {"timeindex-offset-not-found"}), (12, set())):
        offsets = (0, 1, 3, 11, 12, 13)
        batches = [
            batch(records=[record(value=b"v", timestamp=TIMESTAMP)], base_offset=of, crc=1 if of == 12 else None)
            for of in offsets
        ]
        directory = write_partition(tmp_path / str(missing), segments={0: batches})
        (directory / file_name(0, ".timeindex")).write_bytes(time_index_of(entries=[(TIMESTAMP, missing)]))
        assert _codes(directory, "not-found") == codes


def test_a_torn_batch_explains_entries_of_its_offsets_only_where_they_go_on(tmp_path: Path) -> None:
    for base_offset, codes in ((3, {"timeindex-offset-not-found"}), (13, set())):
        torn = batch(records=[record(value=b"v" * 100, timestamp=TIMESTAMP)], base_offset=base_offset)[:-5]
        batches = [batch(records=[record(value=b"v", timestamp=TIMESTAMP)], base_offset=offset) for offset in range(3)]
        directory = write_partition(tmp_path / str(base_offset), segments={0: [*batches, torn]})
        (directory / file_name(0, ".timeindex")).write_bytes(time_index_of(entries=[(TIMESTAMP, 0), (TIMESTAMP + 1, 20)]))
        assert _codes(directory, "not-found") == codes


@each("rows_in_window", [1, 2, 3, 1 << 15])
def test_what_is_only_counted_is_the_same_wherever_windows_end(tmp_path: Path, rows_in_window: int, monkeypatch: Patch) -> None:
    directory = write_partition(tmp_path, segments={0: BATCHES}, index_interval_bytes=0)
    index = directory / file_name(0, ".index")
    past = len(BATCHES) * SIZE
    descending = [(100_000 - row * 1000, (100 - row) * SIZE) for row in range(9)]
    beyond = [(100_000 + row * 1000, past + 900 - row) for row in range(7)]
    index.write_bytes(index_of(entries=[entry for pair in zip(descending, beyond, strict=False) for entry in pair]))
    monkeypatch.setattr("kdump.checks.rules.indexes.entry_file._WINDOW_ROWS", rows_in_window)
    found = [(one.code, one.start, one.end, one.found) for one in _of_indexes(directory, max_findings=1)]
    assert sorted(row for row in found if "order" in row[0] or "past" in row[0] or row[0] == "finding-flood") == [
        ("finding-flood", 24, 112, "6"),
        *[("finding-flood", 32, 104, "5")] * 2,
        ("index-entry-order", 16, 24, "99000"),
        ("index-position-order", 16, 24, str(99 * SIZE)),
        ("index-position-past-log", 8, 16, str(past + 900)),
    ]


def test_whatever_bytes_an_index_has_each_is_accounted_for(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, segments={0: BATCHES[:20]}, index_interval_bytes=0)
    chance = random.Random(5)
    for number in range(300):
        suffix = chance.choice([".index", ".timeindex", ".txnindex"])
        path = directory / file_name(0, suffix)
        before = path.read_bytes() if path.exists() else b""
        data = bytearray(before or bytes(68))
        start = chance.randrange(len(data))
        count = chance.randrange(30)
        data[start : start + chance.randrange(1, 20)] = chance.randbytes(count) if number % 2 else bytes(count)
        path.write_bytes(data)
        level = chance.choice(["quick", "full", "deep"])
        for target in (directory, path):
            settings: dict[str, Any] = {"now": 0, "level": level, "is_pedantic": True}
            reports = [row for row in rows_of(target, **settings) if isinstance(row, FileReport)]
            (report,) = (row for row in reports if row.path == str(path))
            counted = (report.bytes_intact, report.bytes_damaged, report.bytes_zero)
            assert sum(counted) == report.size == len(data), number
        path.write_bytes(before)


@each("positions, count", [([], 0), ([0, 4096], 0), ([0, 4097], 1), ([0, 4096, 4097, 8193, 8194], 2)])
def test_an_entry_is_expected_where_more_than_an_interval_was_appended(positions: list[int], count: int) -> None:
    column = PackedInts()
    column.extend(positions)
    assert offset_index._expected_entries(column) == count


def test_the_smallest_gap_is_that_of_all_windows() -> None:
    context: Any = None
    gaps = EntryGaps(context, None)
    for row, positions in ((0, [9000, 10_000]), (2, [20_000, 40_000])):
        gaps.add(row, range(2), array("i", positions))
    assert gaps._smallest == 1000


def test_only_a_batch_in_a_gap_explains_it_and_has_a_lowest_offset() -> None:
    found: list[Any] = []
    context: Any = SimpleNamespace(report=lambda code, *_, **values: found.append((code, values["found"])))
    facts = SegmentFacts("log", 0, 40 << 20)
    facts.end = facts.size
    facts.positions.extend([at << 20 for at in (0, 2, 12, 13, 25)])
    facts.add_offsets(*[[5, 6, 7, 8, 9]] * 3)
    gaps = EntryGaps(context, SiblingLog(facts))
    gaps.add(0, range(5), array("i", [at << 20 for at in (2, 12, 13, 25, 39)]))
    gaps.finish(40 << 20)
    assert found == [], "each leads over one large batch"
    gaps.finish(45 << 20)
    assert found == [("index-stale", 6 << 20)]
    assert [facts.lowest_offset_at(at << 20, 99) for at in (0, 1, 2, 12, 26)] == [5, 99, 6, 7, 99]
