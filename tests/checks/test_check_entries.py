"""What checks say of indexes: of each entry, of all together, of what is zero, and of what is missing."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdump.checks.finding import FileReport, Finding
from tests.builders.files import aborted_transaction, file_name, transaction_index, write_partition
from tests.builders.files import offset_index as index_of
from tests.builders.files import time_index as time_index_of
from tests.builders.records import TIMESTAMP, abort_record, batch, message, message_set, record, transaction_marker
from tests.checks.findings import INDEX, LOG, TIME_INDEX, codes_of, findings_of, rows_of, told_values
from tests.loops import each

TXN_INDEX = file_name(0, ".txnindex")
INTERVAL = 4096


def _batch(first: int, count: int = 2, *, value: bytes = b"value") -> bytes:
    """Records of rising times, the last of which is the latest."""
    return batch(records=[record(value=value, timestamp=TIMESTAMP + first + row) for row in range(count)], base_offset=first)


BATCHES = [_batch(first) for first in range(0, 10, 2)]
SIZE = len(BATCHES[0])
DATA = b"".join(BATCHES)
ENTRIES = [(3, SIZE), (5, 2 * SIZE), (7, 3 * SIZE), (9, 4 * SIZE)]
TIMES = [(TIMESTAMP + offset, offset) for offset in (3, 5, 7, 9)]


@pytest.fixture(params=[1 << 15, 1, 3], ids=lambda rows: f"{rows}-at-once")
def rows_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Entries come all at once, one by one, or three by three: what is found does not depend on it."""
    rows: int = request.param
    monkeypatch.setattr("kdump.checks.rules.indexes.entry_file._WINDOW_ROWS", rows)
    return iter([rows])


Told = list[tuple[object, ...]]


def _of_index(tmp_path: Path, data: bytes, *, log: bytes | None = DATA, name: str = INDEX, **settings: object) -> list[Finding]:
    """What is found in an index on its own, beside its log if there is one."""
    if log is not None:
        (tmp_path / LOG).write_bytes(log)
    (tmp_path / name).write_bytes(data)
    return findings_of(tmp_path / name, **settings)


def _flood(found: list[Finding]) -> tuple[str | None, int, int]:
    """How many findings are only counted, and between which bytes."""
    (flood,) = (one for one in found if one.code == "finding-flood")
    return flood.found, flood.start, flood.end


def _report(tmp_path: Path, name: str) -> tuple[int, ...]:
    """Entries intact and lost, bytes intact, damaged and zero, as the check of one file counts them."""
    (report,) = (row for row in rows_of(tmp_path / name) if isinstance(row, FileReport))
    return report.batches_intact, report.batches_lost, report.bytes_intact, report.bytes_damaged, report.bytes_zero


# --- offset indexes, entry by entry


ORDER, POSITIONS = "index-entry-order", "index-position-order"


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ((4, 101), []),
        *(((offset, 101), [(ORDER, "error", 8, 16, "more than 3", str(offset))]) for offset in (3, 2)),
        *(((4, position), [(POSITIONS, "error", 8, 16, "more than 100", str(position))]) for position in (100, 99)),
        ((3, 100), [(ORDER, "error", 8, 16, "more than 3", "3"), (POSITIONS, "error", 8, 16, "more than 100", "100")]),
    ],
)
def test_entries_ascend(tmp_path: Path, rows_at_once: int, second: tuple[int, int], told: Told) -> None:
    found = _of_index(tmp_path, index_of(entries=[(3, 100), second, (9, 900)]), log=None)
    assert told_values(found) == told
    assert _report(tmp_path, INDEX) == ((2, 1, 16, 8, 0) if told else (3, 0, 24, 0, 0))


@each(
    ("name", "size", "lower", "words"),
    [
        (INDEX, 8, ("more than 800", "less than 400"), "has offset 8, the next one has 4; they must ascend."),
        (TIME_INDEX, 12, ("800 or more", "400 or less"), "has offset 800, the next one offset 400; offsets must not fall."),
    ],
)
def test_the_entry_that_is_too_high_is_to_blame(tmp_path: Path, name: str, size: int, lower: tuple[str, str], words: str) -> None:
    built = index_of if name == INDEX else time_index_of
    for front, blamed in (
        ([], [("more than 8", "4"), (lower[0], "400")]),  # nothing tells which of the two is wrong
        ([(1, 50)], [("less than 4", "8"), (lower[1], "800")]),
    ):
        found = _of_index(tmp_path, built(entries=[*front, (8, 800), (4, 400), (5, 500)]), log=None, name=name)
        assert [(one.start, one.expected, one.found) for one in found] == [(size, *values) for values in blamed]
    assert f"Entry 1 {words}" in [one.message for one in found]


BELOW, NO_BOUNDARY = "index-entry-below-base", "index-position-not-boundary"


@each(
    ("entry", "told"),
    [
        ((0, SIZE), [("index-offset-mismatch", "error", 0, 8, "3", "0")]),
        ((-1, SIZE), [(BELOW, "error", 0, 8, "0 or more", "-1")]),
        ((3, -1), [(NO_BOUNDARY, "error", 0, 8, "0 or more", "-1")]),
        ((-1, -1), [(BELOW, "error", 0, 8, "0 or more", "-1"), (NO_BOUNDARY, "error", 0, 8, "0 or more", "-1")]),
    ],
)
def test_no_entry_is_below_zero(tmp_path: Path, entry: tuple[int, int], told: Told) -> None:
    assert told_values(_of_index(tmp_path, index_of(entries=[entry, *ENTRIES[1:]]))) == told
    assert _report(tmp_path, INDEX) == (3, 1, 24, 8, 0)


@pytest.mark.parametrize(("position", "batch_before"), [(SIZE - 1, 0), (SIZE + 1, 1), (1, 0), (2 * SIZE - 1, 1)])
def test_an_entry_leads_to_where_a_batch_starts(tmp_path: Path, rows_at_once: int, position: int, batch_before: int) -> None:
    (one,) = found = _of_index(tmp_path, index_of(entries=[(3, position), *ENTRIES[1:]]))
    expected = f"{batch_before * SIZE} or {(batch_before + 1) * SIZE}"
    assert told_values(found) == [(NO_BOUNDARY, "error", 0, 8, expected, str(position))]
    assert one.broker_forecast == "blind"
    (found_last,) = _of_index(tmp_path, index_of(entries=[*ENTRIES[:3], (9, 4 * SIZE + 1)]))
    assert (found_last.code, found_last.expected) == (NO_BOUNDARY, str(4 * SIZE))  # after the last batch only that is near


def test_a_last_entry_of_the_newest_segment_that_leads_nowhere_ends_a_broker(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, segments={0: BATCHES, 10: [_batch(10), _batch(12), _batch(14)]}, index_interval_bytes=0)
    for base, size in ((0, SIZE), (10, SIZE)):
        entries = [(base + 3, size), (base + 5, 2 * size + 1)]
        (directory / file_name(base, ".index")).write_bytes(index_of(entries=entries, base_offset=base))
    index = directory / file_name(10, ".index")
    found = findings_of(directory, NO_BOUNDARY)
    told = [(Path(one.path).name, one.start, one.broker_forecast) for one in found]
    assert told == [(INDEX, 8, "blind"), (index.name, 8, "die")]
    index.write_bytes(index_of(entries=[(13, SIZE + 1), (15, 2 * SIZE)], base_offset=10))
    assert [one.broker_forecast for one in findings_of(directory, NO_BOUNDARY) if one.start == 0] == ["blind"]


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (1, " Readers of offset 1 start too late and may miss them."),
        *((offset, "") for offset in (2, 3)),  # the first one is as brokers up to 1.1 wrote it
        (4, " Readers start early and miss nothing."),
    ],
)
def test_an_entry_names_the_first_or_last_offset_of_its_batch(tmp_path: Path, rows_at_once: int, offset: int, words: str) -> None:
    found = [one for one in _of_index(tmp_path, index_of(entries=[(offset, SIZE), *ENTRIES[1:]])) if one.severity == "error"]
    assert told_values(found) == [("index-offset-mismatch", "error", 0, 8, "3", str(offset))] * bool(words)
    if words:
        assert (found[0].offset_first, found[0].offset_last) == (min(offset, 2), max(offset, 3))
        says = f"Entry 0 has offset {offset} for byte {SIZE} of the log; the batch there contains offsets 2 to 3."
        assert found[0].message == says + words


@pytest.mark.parametrize("kinds", [(1, 2, 3), (0, 1, 3), (3,), (0,)])
def test_entries_of_both_kinds_are_counted_beside_a_wrong_one(tmp_path: Path, rows_at_once: int, kinds: tuple[int, ...]) -> None:
    entries = [(offset - (row in kinds), position) for row, (offset, position) in enumerate(ENTRIES)]
    log = DATA + _batch(10) + _batch(12)
    found = _of_index(tmp_path, index_of(entries=[*entries, (10, 5 * SIZE + 1), (13, 6 * SIZE)]), log=log, is_pedantic=True)
    mixed = [(one.code, one.found) for one in found if one.severity == "info"]
    assert mixed == [("index-offset-mismatch", str(len(kinds)))]


def test_an_entry_of_a_window_before_is_not_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdump.checks.rules.indexes.entry_file._WINDOW_ROWS", 2)
    found = _of_index(tmp_path, index_of(entries=[(1, 50), (8, 800), (4, 400), (5, 500)]), log=None)
    assert [(one.start, one.expected) for one in found] == [(16, "more than 8"), (16, "more than 800")]
    times = [(TIMESTAMP + 1, 1), (TIMESTAMP + 8, 8), (TIMESTAMP + 4, 4), (TIMESTAMP + 5, 5)]
    found = _of_index(tmp_path, time_index_of(entries=times), log=None, name=TIME_INDEX)
    assert [(one.start, one.expected) for one in found] == [(24, f"more than {TIMESTAMP + 8}"), (24, "8 or more")]


def test_entries_around_holes_of_a_file_are_all_seen(tmp_path: Path, rows_at_once: int) -> None:
    path = tmp_path / INDEX
    with path.open("wb") as file:
        for position, entries in ((0, [(1, 100), (2, 200)]), (64 << 10, [(3, 300)]), (2 << 20, [(4, 400)])):
            file.seek(position)
            file.write(index_of(entries=entries))
        file.truncate(3 << 20)
    zeros = [(one.start, one.end) for one in findings_of(path, "index-zero-entry-middle")]
    assert zeros == [(16, 64 << 10), ((64 << 10) + 8, 2 << 20)]
    assert _report(tmp_path, INDEX) == (4, 0, 32, 0, (3 << 20) - 32)


def test_two_wrong_entries_make_no_index_stale(tmp_path: Path, rows_at_once: int) -> None:
    entries = [(offset - 2, position) for offset, position in ENTRIES]
    for count, said in ((2, []), (3, [(0, 24, "-2", "All 3 entries are off by -2 offsets")])):
        found = _of_index(tmp_path, index_of(entries=entries[:count], zero_entry_count=1))
        stale = [one for one in found if one.code == "index-stale"]
        assert [(one.start, one.end, one.found, one.message.partition(":")[0]) for one in stale] == said


def test_many_wrong_entries_are_counted_after_the_first_ones(tmp_path: Path, rows_at_once: int) -> None:
    found = _of_index(tmp_path, index_of(entries=[(9, 900), *((1, 100 + row) for row in range(5))]), log=None, max_findings=2)
    assert [one.start for one in found if one.code == ORDER] == [8, 16]
    assert _flood(found) == ("3", 24, 48)
    log = b"".join(_batch(first) for first in range(0, 40, 2))
    right = [(2 * row + 1, row * SIZE) for row in range(1, 20)]
    for wrong, code in (
        ([(offset - 2, at) for offset, at in right], "index-offset-mismatch"),
        ([(offset, at + 1) for offset, at in right], NO_BOUNDARY),
    ):
        found = _of_index(tmp_path, index_of(entries=wrong), log=log, max_findings=2)
        assert [one.start for one in found if one.code == code] == [0, 8]
        assert _flood([one for one in found if code in one.message]) == (str(len(wrong) - 2), 16, 8 * len(wrong))


# --- how far apart entries are


Pair = tuple[int, int]
Wide = tuple[bytes, list[Pair]]


@functools.cache
def _wide_log(*sizes: int) -> Wide:
    """Batches of these sizes of one record each, and an entry for each but the first."""
    pieces, entries, position = [], [], 0
    for offset, size in enumerate(sizes):
        rest, one = size, b""
        while len(one) != size:
            rest += size - len(one) if one else 0
            one = batch(records=[record(value=bytes(rest), timestamp=TIMESTAMP + offset)], base_offset=offset)
        if offset:
            entries.append((offset, position))
        pieces.append(one)
        position += len(one)
    return b"".join(pieces), entries


@pytest.mark.parametrize(("intervals", "told"), [(10, False), (11, True)])
def test_a_gap_of_more_than_ten_intervals_is_reported(tmp_path: Path, rows_at_once: int, intervals: int, told: bool) -> None:
    log, entries = _wide_log(*[INTERVAL] * (intervals + 4))
    kept = [entries[0], entries[intervals + 1], entries[-1]]
    gap = kept[1][1] - kept[0][1]
    found = _of_index(tmp_path, index_of(entries=kept), log=log, is_pedantic=True)
    assert told_values(found) == [("index-sparse-gap", "info", 0, 24, None, str(gap))] * told
    if told:
        assert found[0].message == f"1 gap of more than 40,960 bytes of the log between entries; the widest has {gap:,}."


def test_a_single_large_batch_is_not_a_gap(tmp_path: Path) -> None:
    log, entries = _wide_log(INTERVAL, 300_000, INTERVAL, INTERVAL)
    assert _of_index(tmp_path, index_of(entries=entries), log=log, is_pedantic=True) == []


@pytest.fixture(scope="module")
def long_log() -> Wide:
    """A log of 2 MiB in batches of 4 KiB, with an entry for each."""
    return _wide_log(*[INTERVAL] * 512)


@pytest.mark.parametrize(("kept", "told"), [(355, False), (359, True)])
def test_a_gap_that_no_append_explains_is_a_warning(tmp_path: Path, long_log: Wide, kept: int, told: bool) -> None:
    log, entries = long_log
    found = _of_index(tmp_path, index_of(entries=[*entries[:2], *entries[kept:]]), log=log)
    found = [one for one in found if one.severity == "warning"]
    gap = entries[kept][1] - entries[1][1]
    assert told_values(found) == [("index-sparse-gap", "warning", 8, 24, None, str(gap))] * told
    assert (gap - INTERVAL > 100 * INTERVAL + (1 << 20)) == told


@each(
    ("sizes", "time_entries", "told"),
    [
        ((4096, 4096), 0, None),
        ((4096, 4097), 0, None),  # all but the first would have no entry
        *(((4096, 4096, 100), 0, ("info", "1")), ((4097, 4097), 0, ("info", "1"))),
        *(((4097, 4096, 4097), 0, ("info", "1")), ((4097, 4097, 4097), 7, ("info", "2"))),
        *(((4097, 4097, 4097), 8, ("warning", "2")), ((4096,) * 257, 0, ("warning", "128"))),
        *(((4096,) * 256, 0, ("info", "127")), ((9000,), 0, None)),
    ],
)
def test_an_empty_index_is_rated_by_its_log(tmp_path: Path, sizes: tuple[int, ...], time_entries: int, told: Any) -> None:
    log, _ = _wide_log(*sizes)
    times = [(TIMESTAMP + row, row) for row in range(time_entries)]
    (tmp_path / TIME_INDEX).write_bytes(time_index_of(entries=times, zero_entry_count=3))
    found = _of_index(tmp_path, b"", log=log)
    assert told_values(found) == ([] if told is None else [("index-empty-large-log", told[0], 0, 0, told[1], "0")])


# --- time indexes


LATER, HIGHER = "timeindex-timestamp-order", "timeindex-offset-order"


@pytest.mark.parametrize(
    ("second", "codes"),
    [((1, 3), []), ((1, 4), []), ((1, 2), [HIGHER]), ((0, 3), [LATER]), ((-1, 3), [LATER]), ((0, 2), [LATER, HIGHER])],
)
def test_times_rise_and_their_offsets_do_not_fall(tmp_path: Path, rows_at_once: int, second: Pair, codes: list[str]) -> None:
    later, offset = second
    data = time_index_of(entries=[(TIMESTAMP, 3), (TIMESTAMP + later, offset), (TIMESTAMP + 9, 9)])
    said = {LATER: (f"more than {TIMESTAMP}", str(TIMESTAMP + later)), HIGHER: ("3 or more", str(offset))}
    found = told_values(_of_index(tmp_path, data, log=None, name=TIME_INDEX))
    assert found == [(code, "error", 12, 24, *said[code]) for code in codes]
    assert _report(tmp_path, TIME_INDEX) == ((2, 1, 24, 12, 0) if codes else (3, 0, 36, 0, 0))


@each(
    ("entries", "said"),
    [
        ([(0, 0), (TIMESTAMP, 3)], []),  # the first may be of offset 0 in 1970
        ([(0, 0), (0, 0), (TIMESTAMP, 3)], [("index-zero-entry-middle", 12)]),
        ([(TIMESTAMP, 3), (0, 0), (TIMESTAMP - 5, 4)], [(LATER, 24), ("index-zero-entry-middle", 12)]),
        ([(TIMESTAMP, 3), (0, 0), (TIMESTAMP + 5, 2)], [(HIGHER, 24), ("index-zero-entry-middle", 12)]),
    ],
)
def test_a_time_after_zeros_is_compared_with_the_one_before_them(
    tmp_path: Path, rows_at_once: int, entries: list[Pair], said: list[tuple[str, int]]
) -> None:
    found = _of_index(tmp_path, time_index_of(entries=entries), log=None, name=TIME_INDEX)
    assert sorted((one.code, one.start) for one in found) == sorted(said)


def test_disorder_of_times_is_counted_after_the_first_findings(tmp_path: Path, rows_at_once: int) -> None:
    data = time_index_of(entries=[(TIMESTAMP, 3), *((TIMESTAMP - 9, 3) for _ in range(5))])
    found = _of_index(tmp_path, data, log=None, name=TIME_INDEX, max_findings=2)
    assert [(one.code, one.start) for one in found][:2] == [(LATER, 12), (LATER, 24)]
    assert _flood(found) == ("3", 36, 72)


def test_no_time_is_of_an_offset_below_the_base(tmp_path: Path, rows_at_once: int) -> None:
    found = _of_index(tmp_path, time_index_of(entries=[(TIMESTAMP, -1), *TIMES[1:]]), name=TIME_INDEX)
    assert told_values(found) == [(BELOW, "error", 0, 12, "0 or more", "-1")]


@pytest.mark.parametrize(
    ("time", "offset", "code"),
    [
        *((3, 3, None), (3, 2, "timeindex-offset-inside-batch"), (2, 3, "timeindex-timestamp-mismatch")),
        *((2, 2, "timeindex-timestamp-mismatch"), (4, 3, "timeindex-timestamp-mismatch")),
    ],
)
def test_a_time_is_the_latest_of_its_batch(tmp_path: Path, rows_at_once: int, time: int, offset: int, code: str | None) -> None:
    data = time_index_of(entries=[(TIMESTAMP + time, offset), *TIMES[1:]])
    found = _of_index(tmp_path, data, name=TIME_INDEX, is_pedantic=True)
    if code == "timeindex-timestamp-mismatch":
        assert told_values(found) == [(code, "warning", 0, 12, str(TIMESTAMP + 3), str(TIMESTAMP + time))]
        assert (found[0].offset_first, found[0].offset_last) == (offset, 3)
    else:
        assert told_values(found) == ([(code, "info", 0, 48, None, "1")] if code else [])


@each(
    ("log", "offset", "words"),
    [(DATA, 10, "the log ends with 9"), (BATCHES[0] + DATA[2 * SIZE :], 3, "no batch contains it"), (b"", 3, "the log is empty")],
)
def test_a_time_of_an_offset_that_is_not_there_is_reported(tmp_path: Path, log: bytes, offset: int, words: str) -> None:
    data = time_index_of(entries=[(TIMESTAMP + 40, offset)])
    found = _of_index(tmp_path, data, log=log, name=TIME_INDEX)
    assert told_values(found) == [("timeindex-offset-not-found", "error", 0, 12, None, str(offset))]
    assert found[0].message.endswith(f", but {words}.")


def test_an_offset_that_damage_may_hide_is_not_missed(tmp_path: Path) -> None:
    damaged = DATA[: SIZE + 70] + b"X" + DATA[SIZE + 71 :]
    for log, hidden, missing in ((DATA[:-1], 9, 10), (damaged, 3, 11)):
        for offset, codes in ((hidden, []), (missing, ["timeindex-offset-not-found"])):
            found = _of_index(tmp_path, time_index_of(entries=[(TIMESTAMP + 40, offset)]), log=log, name=TIME_INDEX)
            assert codes_of(found) == codes


OLD = [message_set(messages=[message(value=b"v", magic=1)], base_offset=offset) for offset in range(3)]
OF_1970 = [batch(records=[record(timestamp=0)] * 3)]


@each(
    ("log", "times", "said"),
    [
        (BATCHES, TIMES, None),
        (BATCHES, [*TIMES[:3], (0, 0)], (24, 36, TIMESTAMP + 9, "9", "ends with 2023-11-14 22:13:20.007 UTC")),
        (BATCHES, [], (0, 0, TIMESTAMP + 9, "9", "has no entry")),
        (OLD, [], None),  # from before time indexes
        (OLD, [(TIMESTAMP - 1, 0)], (0, 12, TIMESTAMP, "0", "ends with 2023-11-14 22:13:19.999 UTC")),
        (OF_1970, [], (0, 0, 0, "2", "has no entry")),
        (OF_1970, [(0, 0)], None),
        (BATCHES, [*TIMES, TIMES[0]], None),
    ],
)
def test_the_time_index_of_a_sealed_segment_ends_with_the_latest_time(
    tmp_path: Path, rows_at_once: int, log: Any, times: Any, said: Any
) -> None:
    directory = write_partition(tmp_path, segments={0: log, 10: [_batch(10)]})
    (directory / TIME_INDEX).write_bytes(time_index_of(entries=times))
    found = findings_of(directory, "timeindex-last-not-max")
    assert [(one.start, one.end, one.expected) for one in found] == ([(*said[:2], str(said[2]))] if said else [])
    assert all(f"ends with offset {said[3]} has " in one.message and f" index {said[4]}, though" in one.message for one in found)


# --- transaction indexes


def _aborted(first: int, last: int, stable: int, *, producer_id: int = 7, version: int = 0) -> bytes:
    offsets = {"first_offset": first, "last_offset": last, "last_stable_offset": stable}
    return aborted_transaction(producer_id=producer_id, version=version, **offsets)


def _of_aborts(tmp_path: Path, *entries: bytes, log: bytes | None = None, **settings: object) -> list[Finding]:
    return _of_index(tmp_path, transaction_index(entries=entries), log=log, name=TXN_INDEX, **settings)


@pytest.mark.parametrize(
    ("entry", "codes"),
    [
        *(((6, 8, 9), []), ((6, 6, 3), []), ((7, 6, 3), ["txnindex-order"])),
        *(((-1, 6, 3), ["txnindex-order", "txnindex-lso-odd"]), ((4, 5, 6), []), ((4, 4, 5), ["txnindex-order"])),
        *(((6, 8, 10), ["txnindex-lso-odd"]), ((3, 8, 9), []), ((2, 8, 9), ["txnindex-lso-odd"])),
        *(((6, 8, 3), []), ((6, 8, 2), ["txnindex-lso-odd"])),
    ],
)
def test_aborted_transactions_ascend(tmp_path: Path, rows_at_once: int, entry: tuple[int, int, int], codes: list[str]) -> None:
    first, last, stable = entry
    found = _of_aborts(tmp_path, _aborted(0, 4, 3), _aborted(*entry))
    said = {"txnindex-order": ("error", 34, 68, None, str(last)), "txnindex-lso-odd": ("warning", 34, 68, None, str(stable))}
    assert told_values(found) == [(code, *said[code]) for code in codes]
    assert all((one.offset_first, one.offset_last) == (first, last) for one in found)


@each(("version", "forecast"), [(1, "blind"), (255, "blind"), (256, "die"), (-1, "die")])
def test_only_version_0_is_known(tmp_path: Path, version: int, forecast: str) -> None:
    (found,) = _of_aborts(tmp_path, _aborted(0, 4, 3, version=version))
    assert told_values([found]) == [("txnindex-version-unknown", "error", 0, 34, "0", str(version))]
    assert found.message.startswith(f"Entry 0 has version 0x{version & 0xFFFF:04x}; ")
    assert found.broker_forecast == forecast
    assert _report(tmp_path, TXN_INDEX) == (0, 1, 0, 34, 0)


def _transaction(offset: int, *, producer_id: int = 7, is_commit: bool = False) -> bytes:
    producer: dict[str, Any] = {"producer_id": producer_id, "base_sequence": 0}
    data = batch(records=[record(value=b"a")], is_transactional=True, base_offset=offset, **producer)
    return data + transaction_marker(is_commit=is_commit, base_offset=offset + 1, producer_id=producer_id)


DATA_ALONE = _transaction(0)[: -len(transaction_marker())]
MARKER: dict[str, Any] = {"base_offset": 1, "is_transactional": True, "is_control": True, "producer_id": 7}
LONG_MARKER = batch(records=[abort_record()], last_offset_delta=2, **MARKER)


@each(
    ("log", "entry", "words"),
    [
        (_transaction(0), (7, 1), ""),
        (_transaction(0), (8, 1), "the batch at offset 1 aborts that of producer 7"),
        (_transaction(0, is_commit=True), (7, 1), "the batch at offset 1 is not an ABORT marker"),
        (_transaction(0), (7, 0), "the batch at offset 0 is not an ABORT marker"),
        (_transaction(0), (7, 2), "the log has no batch at offset 2"),
        (_transaction(0) + _batch(2, 3), (7, 3), "offset 3 lies inside a batch"),
        (DATA_ALONE + LONG_MARKER, (7, 1), ""),  # as brokers index it
        (DATA_ALONE + LONG_MARKER, (7, 2), "offset 2 lies inside a batch"),
    ],
)
def test_an_aborted_transaction_has_its_marker_in_the_log(tmp_path: Path, log: bytes, entry: tuple[int, int], words: str) -> None:
    producer_id, last = entry
    for policy in ("unknown", "delete"):
        found = _of_aborts(tmp_path, _aborted(0, last, 0, producer_id=producer_id), log=log, cleanup_policy=policy)
        assert told_values(found) == [("txnindex-without-marker", "error", 0, 34, None, str(producer_id))] * bool(words)
        if words:
            assert found[0].message == f"Entry 0 is for a transaction of producer {producer_id}, but {words}."


def test_a_marker_that_the_cleaner_took_away_is_missed_only_where_nothing_is_cleaned(tmp_path: Path) -> None:
    for log in (DATA_ALONE + _batch(2), _batch(0, 1) + batch(base_offset=1) + _batch(2)):
        for policy, severity in (("unknown", "info"), ("compact", "info"), ("delete", "error")):
            found = _of_aborts(tmp_path, _aborted(0, 1, 0), log=log, cleanup_policy=policy, is_pedantic=True)
            assert [one.severity for one in found if one.code == "txnindex-without-marker"] == [severity]


@each(
    ("log", "last", "told"),
    [
        (_transaction(0)[:-1], 1, False),  # the torn batch may be the marker
        (_transaction(0)[:-1], 2, True),
        (_batch(0, 1) + b"no batch " * 20 + _batch(5), 3, False),
        (b"no batch " * 20 + _batch(5), 3, False),
        (b"no batch " * 20 + _batch(0, 1) + _batch(2, 3), 3, True),  # damage elsewhere hides none
    ],
)
def test_a_marker_that_damage_may_hide_is_not_missed(tmp_path: Path, log: bytes, last: int, told: bool) -> None:
    assert codes_of(_of_aborts(tmp_path, _aborted(0, last, 0), log=log)) == ["txnindex-without-marker"] * told


def test_zeros_in_a_transaction_index_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / TXN_INDEX
    path.write_bytes(_aborted(0, 4, 3) + bytes(68))
    (found,) = findings_of(path)
    assert told_values([found]) == [("index-zero-tail", "warning", 34, 102, None, "2")]
    assert found.message == "1 entry, then 2 of zeros to the end; a file of this type is never preallocated."
    path.write_bytes(_aborted(0, 4, 3) + bytes(34) + _aborted(5, 6, 7))
    assert told_values(findings_of(path)) == [("index-zero-entry-middle", "error", 34, 68, None, "1")]


# --- indexes that are missing


@each(("size", "is_damaged", "severity"), [(4096, False, "info"), (4097, False, "warning"), (4096, True, "warning")])
def test_a_small_log_that_is_written_to_needs_no_index(tmp_path: Path, size: int, is_damaged: bool, severity: str) -> None:
    log, _ = _wide_log(size)
    assert len(log) == size
    if is_damaged:
        log = log[:-1] + b"\1"
    directory = write_partition(tmp_path, segments={0: [log]})
    (directory / INDEX).unlink()
    (found,) = findings_of(directory, "index-missing", is_pedantic=True)
    assert found.severity == severity
    what = "the segment, and truncates it at its first bad batch." if is_damaged else "the segment and rebuilds it."
    assert found.message == f"{LOG} has no .index. A restart scans {what}"


GOES, STAYS = "; a restart deletes it.", ". A restart scans the segment and rebuilds it."
LOST = " No log here reaches so far: its contents are lost."


@each(
    ("removed", "said"),
    [
        ("0.index", ["index-missing warning 0.log has no .index" + STAYS]),
        ("4.timeindex", ["timeindex-missing info 4.log has no .timeindex."]),
        ("4.timeindex 2.timeindex", ["timeindex-missing info 2 of 3 segments have no .timeindex, the first of them 2.log."]),
        ("0.log", [f"index-orphan warning {name} has no 0.log" + GOES for name in ("0.index", "0.timeindex")]),
        ("4.log 4.timeindex", [f"index-orphan error 4.index has no 4.log{GOES}{LOST}"]),
    ],
)
def test_what_lacks_an_index_or_a_log_is_told_by_its_name(tmp_path: Path, removed: str, said: list[str]) -> None:
    segments = {base: [_batch(base, 1), _batch(base + 1, 1)] for base in (0, 2, 4)}
    directory = write_partition(tmp_path, segments=segments, index_interval_bytes=0)
    for base, dot, suffix in (name.partition(".") for name in removed.split()):
        (directory / file_name(int(base), dot + suffix)).unlink()
    found = findings_of(directory, "index-missing", "timeindex-missing", "index-orphan", is_pedantic=True)
    assert [f"{one.code} {one.severity} {one.message}".replace("0" * 19, "") for one in found] == said
    assert all(Path(one.path).name in one.message for one in found)


@each("rows", [1, 10])
def test_zeros_at_the_end_are_as_preallocated_or_were_not_trimmed(tmp_path: Path, rows: int) -> None:
    segments = {base: [_batch(base, 1), _batch(base + 1, 1)] for base in (0, 2)}
    directory = write_partition(tmp_path, segments=segments, index_interval_bytes=0)
    alone = directory.joinpath(INDEX).rename(tmp_path / INDEX)
    (directory / INDEX).write_bytes(alone.read_bytes())
    for path, size, severities in (
        *((directory / file_name(2, ".index"), 8, ("", "info")), (directory / INDEX, 8, ("info", "info"))),
        *((directory / TIME_INDEX, 12, ("warning", "warning")), (alone, 8, ("info", "info"))),
    ):
        data = path.read_bytes()
        path.write_bytes(data + bytes(rows * size))
        for is_pedantic, severity in enumerate(severities):
            found = findings_of(path if path == alone else directory, "index-zero-tail", is_pedantic=bool(is_pedantic))
            start, end = len(data), len(data) + rows * size
            assert told_values(found) == [("index-zero-tail", severity, start, end, None, str(rows))] * bool(severity)
        path.write_bytes(data)
