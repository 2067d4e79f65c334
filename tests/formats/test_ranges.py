"""Which offsets, times, records and batches a range holds: at its ends, beside them, and where a first one is not known."""

from pathlib import Path

import pytest

from kdump.binary.source import Source
from kdump.formats.log import Log
from kdump.formats.ranges import Range
from tests.builders.records import batch, message, message_set, record, wrapper


@pytest.mark.parametrize(
    ("first", "last", "is_held"),
    [
        (0, 9, False),
        (0, 10, True),
        (12, 15, True),
        (0, 99, True),
        (20, 30, True),
        (21, 30, False),
        (None, 9, False),
        (None, 99, True),
    ],
)
def test_what_overlaps_a_range_may_be_in_it(first: int | None, last: int, is_held: bool) -> None:
    assert Range(10, 20).holds_offsets(first, last) is is_held
    assert Range(from_time=10, to_time=20).holds_times(first, last) is is_held
    assert Range(10, 20).holds_times(first, last)
    assert Range(from_time=10, to_time=20).holds_offsets(first, last)


@pytest.mark.parametrize(
    ("offset", "timestamp", "is_held"), [(1, 5, True), (3, 7, True), (0, 5, False), (4, 7, False), (1, 4, False), (3, 8, False)]
)
def test_a_record_is_in_a_range_of_offsets_and_times(offset: int, timestamp: int, is_held: bool) -> None:
    assert Range(1, 3, 5, 7).holds(offset, timestamp) is is_held


def test_what_has_no_timestamp_is_of_no_time() -> None:
    assert not Range(to_time=7).holds(1, -1)
    assert not Range(from_time=-5).holds(1, -1)
    assert Range(1, 1).holds(1, -1)


def test_a_range_knows_what_it_restricts() -> None:
    assert [(one.has_offsets, one.has_times, one.is_open) for one in (Range(), Range(0), Range(None, 0), Range(to_time=0))] == [
        (False, False, True),
        (True, False, False),
        (True, False, False),
        (False, True, False),
    ]


def test_a_batch_may_have_records_before_its_first_one_and_a_wrapper_any_up_to_its_own_offset(tmp_path: Path) -> None:
    path = tmp_path / "new.log"
    path.write_bytes(batch(base_offset=5, base_timestamp=50, records=[record(), record(timestamp_delta=20)]))
    old = tmp_path / "old.log"
    messages = [message(timestamp=50), message(timestamp=70)]
    old.write_bytes(message_set(messages=messages[:1], base_offset=4) + wrapper(messages=messages, base_offset=5))
    with Source(str(path)) as source:
        (chunk,) = Log(source).chunks()
        wanted = [Range(6, 6), Range(0, 5), Range(7), Range(0, 4), Range(from_time=71), Range(from_time=70), Range(to_time=10)]
        assert [one.may_hold(chunk, 0) for one in wanted] == [True, True, False, False, False, True, True]
    with Source(str(old)) as source:
        (chunk,) = Log(source).chunks()
        wanted = [Range(0, 3), Range(4, 4), Range(5, 5), Range(7)]
        assert [(one.may_hold(chunk, 0), one.may_hold(chunk, 1)) for one in wanted] == [
            (False, True),
            (True, True),
            (False, True),
            (False, False),
        ]
