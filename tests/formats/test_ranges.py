"""Which offsets, times, records and batches a range holds: at its ends, beside them, and where a first one is not known."""

from pathlib import Path

from kdump.binary.source import Source
from kdump.formats.log import Log
from kdump.formats.ranges import Range
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.loops import each


@each(
    ("first", "last", "is_held"),
    [
        *((first, last, True) for first, last in ((0, 10), (12, 15), (0, 99), (20, 30), (None, 99))),
        *((first, last, False) for first, last in ((0, 9), (21, 30), (None, 9))),
    ],
)
def test_what_overlaps_a_range_may_be_in_it(first: int | None, last: int, is_held: bool) -> None:
    assert Range(10, 20).holds_offsets(first, last) is is_held
    assert Range(from_time=10, to_time=20).holds_times(first, last) is is_held
    assert Range(10, 20).holds_times(first, last)
    assert Range(from_time=10, to_time=20).holds_offsets(first, last)


@each(
    ("offset", "timestamp", "is_held"), [(1, 5, True), (3, 7, True), (0, 5, False), (4, 7, False), (1, 4, False), (3, 8, False)]
)
def test_a_record_is_in_a_range_of_offsets_and_times(offset: int, timestamp: int, is_held: bool) -> None:
    assert Range(1, 3, 5, 7).holds(offset, timestamp) is is_held


def test_what_has_no_timestamp_is_of_no_time() -> None:
    ranges = (Range(to_time=7), Range(from_time=-5), Range(1, 1))
    assert [one.holds(1, -1) for one in ranges] == [False, False, True]


def test_a_range_knows_what_it_restricts() -> None:
    restricts = {"offsets": (True, False, False), "times": (False, True, False), "nothing": (False, False, True)}
    for one, what in ((Range(), "nothing"), (Range(0), "offsets"), (Range(None, 0), "offsets"), (Range(to_time=0), "times")):
        assert (one.has_offsets, one.has_times, one.is_open) == restricts[what]


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
        held = [(one.may_hold(chunk, 0), one.may_hold(chunk, 1)) for one in wanted]
        assert held == [(False, True), (True, True), (False, True), (False, False)]
