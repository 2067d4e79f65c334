"""Starts that split segments: what becomes of them, and where one is given up that splits more than it is followed."""

from collections.abc import Callable
from pathlib import Path

import pytest

import kdump
from kdump.forecasts.sentences import sentences, verdict
from tests.builders.records import batch, record
from tests.loops import each

FAR = 1 << 33


def _batch(offset: int, value: bytes = b"v") -> bytes:
    return batch(base_offset=offset, records=[record(value=value)])


def _segments(path: Path, count: int) -> Path:
    """So many segments of two batches, whose offsets do not fit into one segment."""
    path.mkdir()
    for base in range(0, 2 * FAR * count, 2 * FAR):
        (path / f"{base:020d}.log").write_bytes(_batch(base) + _batch(base + FAR))
    return path


def _batches(path: Path, count: int, value: bytes = b"v") -> Path:
    """One segment of so many batches, each too far from the one before."""
    path.mkdir()
    (path / f"{0:020d}.log").write_bytes(b"".join(_batch(FAR * number, value) for number in range(count)))
    return path


@pytest.mark.parametrize("build", [_segments, _batches])
def test_a_start_with_too_many_splits_is_not_followed_and_not_safe(build: Callable[[Path, int], Path], tmp_path: Path) -> None:
    for row in kdump.forecast(build(tmp_path / "t-0", 2_000)):
        assert (row.outcome, row.log_end, row.segments, row.exception) == ("split", None, None, None)
        assert not row.is_safe and verdict(row) == "unsure"
        assert "was not followed: records may be lost" in row.conditions[0]
        assert list(sentences(row))[-1].endswith("was not followed: records may be lost.")


def test_splits_that_a_partition_may_need_are_followed(tmp_path: Path) -> None:
    few = list(kdump.forecast(_segments(tmp_path / "t-0", 30)))
    assert {(len(row.segments or ()), row.is_safe) for row in few} == {(60, True)}
    assert len([text for row in few for text in sentences(row) if "split in place" in text]) == len(few)
    large = list(kdump.forecast(_batches(tmp_path / "t-1", 1_600, bytes(3_000))))
    assert {(len(row.segments or ()), row.is_safe) for row in large} == {(1_600, True)}


def test_a_segment_of_a_split_holds_batches_whose_last_offset_it_can_hold(tmp_path: Path) -> None:
    most = (1 << 31) - 1
    for count, bases in ((2, (0, 2 * most)), (3, (0, most - 1, 2 * most))):
        records = [record(value=b"v", offset_delta=row) for row in range(count)]
        middle, last = batch(base_offset=most - 1, records=records), batch(base_offset=2 * most, records=records)
        path = tmp_path / f"t-{count}"
        path.mkdir()
        (path / f"{0:020d}.log").write_bytes(_batch(0) + middle + last)
        assert {tuple(base for base, _ in row.segments or ()) for row in kdump.forecast(path)} == {bases}


NO_PLACE: dict[str, tuple[bytes, str, str]] = {
    "torn": (bytes(9), "util.NoSuchElementException", "the segment has no batch at byte 138"),
    "below its base": (
        batch(base_offset=2 * FAR, records=[record(value=b"v")], last_offset_delta=-1),
        *("lang.IllegalStateException", "no batch from byte 138 on fits into a segment that starts with it"),
    ),
}


@each("rest, exception, reason", NO_PLACE.values(), ids=NO_PLACE)
def test_what_a_split_cannot_place_ends_the_start(tmp_path: Path, rest: bytes, exception: str, reason: str) -> None:
    path = tmp_path / "t-0"
    path.mkdir()
    (path / f"{0:020d}.log").write_bytes(_batch(0) + _batch(FAR) + rest)
    for row in kdump.forecast(path):
        assert (row.outcome, row.exception, row.files) == ("die", f"java.{exception}", [])
        assert row.reason == f"{0:020d}.log: {reason}"
