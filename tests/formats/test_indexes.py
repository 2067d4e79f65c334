"""The offset index and the time index: their entries, lookups, sanity checks, and where entries land in the log."""

import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.source import Source
from kdump.dropin import offset_comparison as offset_index_check
from kdump.dropin import time_comparison as time_index_check
from kdump.errors import CorruptData, Unreadable
from kdump.formats import offset_index, time_index
from kdump.formats.log import STRICT_RULES
from tests.builders.files import offset_index as build_offset_index
from tests.builders.files import time_index as build_time_index
from tests.builders.records import batch, message, record, wrapper
from tests.loops import each
from tests.support import INT32, opened

pytestmark = pytest.mark.both_kernels

T = 1_700_000_000_000
MAX_INT64 = 9223372036854775807
Entries = list[tuple[int, int]]
ENTRIES = st.lists(st.tuples(INT32, INT32), max_size=30)


# --- readers


def _offset_entries(data: bytes, base_offset: int = 0) -> Entries:
    with opened(data) as source:
        assert offset_index.entry_count(source) == len(data) // 8
        return [(row.offset, row.position) for table in offset_index.read(source, base_offset) for row in table]


def _time_entries(data: bytes, base_offset: int = 0) -> Entries:
    with opened(data) as source:
        assert time_index.entry_count(source) == len(data) // 12
        return [(row.timestamp, row.offset) for table in time_index.read(source, base_offset) for row in table]


def test_offsets_wrap_as_javas_numbers_do() -> None:
    assert _offset_entries(struct.pack(">ii", 1, 7), MAX_INT64) == [(-MAX_INT64 - 1, 7)]
    assert _time_entries(struct.pack(">qi", T, 1), MAX_INT64) == [(T, -MAX_INT64 - 1)]
    with opened(struct.pack(">iiii", 1, 7, 2, 9)) as source:
        assert offset_index_check.Lookup(source, MAX_INT64, tries_end_first=True).position_of(MAX_INT64) == 9


@given(ENTRIES, st.integers(0, 1 << 62), st.binary(max_size=7))
def test_offset_entries_are_read_as_they_were_built(relative: Entries, base_offset: int, trailing: bytes) -> None:
    entries = [(base_offset + offset, position) for offset, position in relative]
    data = build_offset_index(entries=entries, base_offset=base_offset, trailing=trailing)
    assert _offset_entries(data, base_offset) == entries
    with opened(data) as source:
        assert [offset_index.entry_at(source, base_offset, row) for row in range(len(entries))] == entries


@given(
    st.lists(st.tuples(st.integers(-(1 << 63), MAX_INT64), INT32), max_size=30), st.integers(0, 1 << 62), st.binary(max_size=11)
)
def test_time_entries_are_read_as_they_were_built(relative: Entries, base_offset: int, trailing: bytes) -> None:
    entries = [(timestamp, base_offset + offset) for timestamp, offset in relative]
    data = build_time_index(entries=entries, base_offset=base_offset, trailing=trailing)
    assert _time_entries(data, base_offset) == entries
    with opened(data) as source:
        assert [time_index.entry_at(source, base_offset, row) for row in range(len(entries))] == entries


# --- lookups


def _position_by_kafkas_search(entries: Sequence[tuple[int, int]], target: int, *, tries_end_first: bool) -> int:
    """The search of Kafka's index, written down once more."""
    count = len(entries)
    if count == 0:
        return 0

    def search(low: int, high: int) -> int:
        while low < high:
            middle = (low + high + 1) // 2
            if entries[middle][0] == target:
                return entries[middle][1]
            if entries[middle][0] > target:
                high = middle - 1
            else:
                low = middle
        return entries[low][1]

    hot = max(0, count - 1 - 1024) if tries_end_first else count - 1
    if tries_end_first and entries[hot][0] < target:
        return search(hot, count - 1)
    if entries[0][0] > target:
        return 0
    return search(0, hot)


def _looked_up(
    entries: Entries, targets: Sequence[int], base_offset: int = 0, *, tries_end_first: bool = True, **held: int
) -> list[int]:
    with opened(build_offset_index(entries=entries, base_offset=base_offset)) as source:
        lookup = offset_index_check.Lookup(source, base_offset, tries_end_first=tries_end_first, **held)
        return [lookup.position_of(target) for target in targets]


@given(
    st.lists(st.tuples(st.integers(-5, 50), st.integers(0, 10_000)), max_size=60),
    st.lists(st.integers(-6, 51), min_size=1, max_size=20),
    st.booleans(),
)
def test_in_unsorted_entries_a_lookup_searches_as_kafka_does(entries: Entries, targets: list[int], tries_end_first: bool) -> None:
    expected = [_position_by_kafkas_search(entries, target, tries_end_first=tries_end_first) for target in targets]
    assert _looked_up(entries, targets, tries_end_first=tries_end_first) == expected


@each("count", [1024, 1025, 1026, 3000])
@each("is_padded", [False, True])
def test_the_last_1024_entries_are_searched_first(count: int, is_padded: bool) -> None:
    entries = [(3 * row + 1, row) for row in range(count)]
    if is_padded:
        entries += [(0, 0)] * 500
    targets = [0, 1, 2, 3, 500, 3 * (count - 1025) + 1, 3 * (count - 1025) + 2, 3 * count - 2, 3 * count + 5, 1 << 30]
    expected = [_position_by_kafkas_search(entries, target, tries_end_first=True) for target in targets]
    assert _looked_up(entries, targets) == expected


@given(ENTRIES, st.integers(0, 1 << 62), st.lists(INT32, min_size=1, max_size=5), st.booleans())
def test_an_index_too_large_to_be_held_is_looked_up_alike(
    relative: Entries, base_offset: int, targets: list[int], tries_end_first: bool
) -> None:
    entries = [(base_offset + offset, position) for offset, position in relative]
    targets = [base_offset + target for target in targets]
    held = _looked_up(entries, targets, base_offset, tries_end_first=tries_end_first)
    assert _looked_up(entries, targets, base_offset, tries_end_first=tries_end_first, max_held_bytes=-1) == held


# --- what an entry of the offset index leads to


def _code_or(find: Callable[[Source], int], data: bytes) -> int | str:
    """What is found in a file of these bytes, or the code of the fault that keeps it from being found."""
    with opened(data) as source:
        try:
            return find(source)
        except CorruptData as error:
            return error.code


def _last_offset_at(data: bytes, position: int, window_size: int = 5_242_880) -> int | str:
    return _code_or(lambda source: offset_index_check.last_offset_at(source, position, window_size), data)


def _first_offset_at(data: bytes, position: int, window_size: int = 5_242_880) -> int | str:
    find = offset_index_check.first_offset_at
    return _code_or(lambda source: find(source, position, window_size, STRICT_RULES, may_start_past_end=True), data)


FIRST = batch(records=[record(value=b"v")] * 3, base_offset=100)
SECOND = wrapper(messages=[message(value=b"v")] * 3, base_offset=103)
LOG = FIRST + SECOND


def test_an_entry_leads_to_the_batch_at_its_position() -> None:
    for position, first_offset, last_offset in ((0, 100, 102), (len(FIRST), 103, 105)):
        assert (_first_offset_at(LOG, position), _last_offset_at(LOG, position)) == (first_offset, last_offset)


def test_a_window_must_hold_the_whole_batch() -> None:
    for window_size in (0, 17, len(FIRST) - 1):
        assert _last_offset_at(LOG, 0, window_size) == "no-batch-at-position"
        assert _first_offset_at(LOG, 0, window_size) == "no-batch-at-position"
    assert _last_offset_at(LOG, 0, len(FIRST)) == 102


def test_an_entry_may_point_to_where_nothing_is() -> None:
    for position, code in (
        *((len(LOG), "no-batch-at-position"), (len(LOG) + 1, "index-position-past-log"), (-1, "index-position-negative")),
    ):
        assert _last_offset_at(LOG, position) == code
    assert _last_offset_at(LOG, 0, -1) == "size-negative"
    assert _last_offset_at(LOG, 1) in ("no-batch-at-position", "record-size-too-small")


def test_the_first_offset_is_that_of_the_first_record_not_of_the_batch() -> None:
    emptied = batch(base_offset=50, last_offset_delta=9)
    compacted = batch(records=[record(offset_delta=4)], base_offset=60)
    assert _first_offset_at(emptied + compacted, 0) == 64
    assert _first_offset_at(emptied, 0) == "no-batch-at-position"


# --- sanity


def _offset_index_code(data: bytes, base_offset: int, *, allows_base_offset: bool = True) -> str:
    with opened(data) as source:
        try:
            offset_index_check.check_sanity(source, base_offset, allows_base_offset=allows_base_offset)
        except CorruptData as error:
            return error.code
        return ""


def _time_index_fault(data: bytes, base_offset: int) -> tuple[str, dict[str, int]]:
    with opened(data) as source:
        try:
            time_index_check.check_sanity(source, base_offset)
        except CorruptData as error:
            return error.code, error.values
        return "", {}


def test_the_last_entry_of_an_offset_index_may_not_lie_below_its_base() -> None:
    assert _offset_index_code(build_offset_index(entries=[(104, 0), (99, 0)], base_offset=100), 100) == "index-last-offset"
    assert _offset_index_code(build_offset_index(entries=[(99, 0), (104, 0)], base_offset=100), 100) == ""


def test_a_zero_padded_offset_index_passes_where_the_base_offset_is_allowed() -> None:
    padded = build_offset_index(entries=[(104, 0)], base_offset=100, zero_entry_count=3)
    assert _offset_index_code(padded, 100) == ""
    assert _offset_index_code(padded, 100, allows_base_offset=False) == "index-last-offset"


def _times(*entries: tuple[int, int], **others: Any) -> bytes:
    return build_time_index(entries=entries, base_offset=100, **others)


@each(
    ("data", "code", "values"),
    [
        (_times((T, 104), (T - 1, 108)), "time-index-last-timestamp", {"last": T - 1, "first": T}),
        (_times((T, 104), (T, 108)), "", {}),
        (_times((T, 104), zero_entry_count=1), "time-index-last-timestamp", {"last": 0, "first": T}),
        (_times((T, 104), (T + 1, 99)), "time-index-last-offset", {"last": 99, "first": 100}),
        (_times((T, 104), trailing=bytes(11)), "time-index-size", {"size": 23}),
        (b"", "", {}),
    ],
    ids=["falling", "equal", "zero-padded", "below the base", "cut", "empty"],
)
def test_a_time_index_holds_whole_entries_whose_timestamps_do_not_fall(data: bytes, code: str, values: dict[str, int]) -> None:
    assert _time_index_fault(data, 100) == (code, values)


@each(("suffix", "position"), [(".index", 232), (".timeindex", 228)])
def test_an_index_truncated_while_it_is_checked_cannot_be_read(tmp_path: Path, suffix: str, position: int) -> None:
    path = tmp_path / f"0{suffix}"
    path.write_bytes(bytes(240))
    with Source(str(path)) as source:
        os.truncate(path, 100)
        with pytest.raises(Unreadable) as caught:
            if suffix == ".index":
                offset_index_check.check_sanity(source, 0, allows_base_offset=True)
            else:
                time_index_check.check_sanity(source, 0)
    assert (caught.value.code, caught.value.path, caught.value.position) == ("file-shrank", str(path), position)


# --- entries of the time index up to the zero tail


def _entries(data: bytes, base_offset: int) -> Entries:
    with opened(data) as source:
        rows = range(len(data) // 12)
        return list(zip(*time_index_check.entries(source, base_offset, rows, with_zero_tail=False), strict=True))


def test_the_first_entry_is_never_a_zero_tail() -> None:
    assert _entries(bytes(36), 100) == [(0, 100)]
    assert _entries(build_time_index(entries=[(T, 100), (T + 1, 104)], base_offset=100), 100) == [(T, 100), (T + 1, 104)]


# --- the batches that entries lead to

Target = tuple[int | None, int] | str


def _targets(
    data: bytes, offsets: Sequence[int], starts: Sequence[int], *, reads_to_end: bool, may_start_past_end: bool
) -> list[Target]:
    found: list[Target] = []
    with opened(data) as source:
        targets = time_index_check.EntryTargets(
            source, offsets, starts, reads_to_end=reads_to_end, may_start_past_end=may_start_past_end
        )
        for row in range(len(offsets)):
            try:
                target = targets.of(row)
                found.append((target.position, target.last_offset if target.position is not None else 0))
            except CorruptData as error:
                found.append(error.code)
    return found


def test_damage_after_the_batch_found_counts_only_where_all_is_read() -> None:
    for reads_to_end, expected in [(True, "record-size-too-small"), (False, (0, 102))]:
        assert _targets(FIRST + bytes(30), [102], [0], reads_to_end=reads_to_end, may_start_past_end=False) == [expected]
        cut = FIRST[:8] + struct.pack(">i", 28) + FIRST[12:40]  # a batch that ends in its header
        found = _targets(FIRST + cut, [102, 109], [0, 0], reads_to_end=reads_to_end, may_start_past_end=False)
        assert found == [(0, 102), "batch-header-cut"]


# --- the largest timestamp in a batch


def _latest_at(data: bytes, position: int = 0) -> int | str:
    return _code_or(lambda source: time_index_check.max_timestamp_at(source, position), data)


_LATE, _EARLY = record(timestamp=T + 5), record(timestamp=T)


@each(
    ("data", "latest"),
    [
        (batch(records=[_LATE, _EARLY], max_timestamp=T + 999), T + 5),
        (batch(records=[_EARLY], max_timestamp=T + 999), T),
        # more than is read at first, and more than is read at once
        (batch(records=[_EARLY, record(timestamp=T + 7, value=bytes(5_000)), _EARLY]), T + 7),
        (batch(records=[_EARLY, record(timestamp=T + 7, value=bytes(2_000_000)), _EARLY]), T + 7),
        (batch(last_offset_delta=9), -1),  # emptied
        (batch(records=[record(key_length=1000)]), "record-structure-invalid"),
        (batch(records=[record(), record(key_length=1000)]), "record-structure-invalid"),
        (batch(records=[record()], records_count=2), "record-count-too-high"),
        (batch(records=[record(timestamp_delta=1)] * 2, base_timestamp=MAX_INT64, max_timestamp=0), -1),  # it wraps
        (batch(records=[record(timestamp_delta=1)], base_timestamp=MAX_INT64, max_timestamp=0), -1),
    ],
)
def test_the_latest_timestamp_is_that_of_the_records_not_of_the_header(data: bytes, latest: int | str) -> None:
    assert _latest_at(data) == latest
