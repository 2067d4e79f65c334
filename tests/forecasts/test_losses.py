"""Offsets that are lost although others around them are kept."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.forecasts import losses
from kdump.forecasts.damage import WalkedLogs
from kdump.forecasts.directory import Directory, File
from kdump.forecasts.forecast import forecast
from kdump.forecasts.row import Forecast
from tests.builders.fleets import flipped
from tests.builders.records import batch, message, record, wrapper

FIRST = f"{0:020}.log"
OFFSETS = st.lists(st.tuples(st.integers(0, 60), st.integers(-2, 9)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=12)


def _offsets(ranges: list[tuple[int, int]]) -> set[int]:
    return {offset for first, last in ranges for offset in range(first, last + 1)}


@given(OFFSETS, OFFSETS)
def test_what_is_covered_is_taken_from_the_ranges(ranges: list[tuple[int, int]], covered: list[tuple[int, int]]) -> None:
    left = losses._less(losses._merged(ranges), losses._merged(covered))
    assert left == losses._merged(left)
    assert _offsets(left) == _offsets(ranges) - _offsets(covered)


@given(OFFSETS, st.integers(1, 6))
def test_ranges_that_are_too_many_close_their_narrowest_gaps(ranges: list[tuple[int, int]], most: int) -> None:
    wanted = losses._merged(ranges)
    while len(wanted) > most:
        gaps = [after[0] - before[1] for before, after in pairwise(wanted)]
        row = gaps.index(min(gaps))
        wanted[row : row + 2] = [(wanted[row][0], wanted[row + 1][1])]
    assert losses._fewer(losses._merged(ranges), most) == wanted
    with mock.patch.object(losses, "_MAX_RANGES", most):
        added: list[tuple[int, int]] = []
        for new in filter(lambda new: new[0] <= new[1], ranges):
            losses._add(added, new)
            assert len(added) <= 2 * most
        assert _offsets(added) >= _offsets(ranges)
        assert len(ranges) > 2 * most or _offsets(added) == _offsets(ranges)


def test_the_extent_of_a_log_is_that_of_all_its_batches_whatever_their_order(tmp_path: Path) -> None:
    old = wrapper(messages=[message(value=b"v")] * 2, base_offset=21)
    logs = [*_batches((7, 3, 5)), bytes(40)], [*_batches((12, 19, 15))], [*_batches([20]), b"\xff" * 50, old, *_batches([23])]
    folder = _written(
        tmp_path / "t-0", {f"{base:020}.log": b"".join(parts) for base, parts in zip((0, 10, 20), logs, strict=True)}
    )
    directory = Directory.of(str(folder))
    intact = losses.IntactBatches(WalkedLogs(directory))
    one, other, (first, last) = (intact.extent_of(directory.files[name]) for name in directory.names())
    assert (one, other, first <= 20, last >= 23) == ((3, 7), (12, 19), True, True)
    lowest, highest = intact.extent_of(File())
    assert lowest > highest, "nothing has no offsets"


@given(OFFSETS, st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted))
def test_logs_that_may_have_some_offsets_are_found_in_any_order(extents: list[tuple[int, int]], wanted: list[int]) -> None:
    files = {f"{number:020}.log": File(str(number), 1) for number in range(len(extents))}
    intact: Any = SimpleNamespace(extent_of=lambda file: extents[int(file.path)])
    read = losses.ReadLogs(SimpleNamespace(files=files), intact)  # type: ignore[arg-type]  # all that it asks for
    found = {int(file.path) for file in read.with_offsets(wanted[0], wanted[1])}
    assert found == {row for row, (first, last) in enumerate(extents) if first <= wanted[1] and last >= wanted[0]}


def _written(folder: Path, logs: dict[str, bytes]) -> Path:
    folder.mkdir()
    for name, data in logs.items():
        (folder / name).write_bytes(data)
    return folder


def _batches(offsets: Iterable[int]) -> list[bytes]:
    return [batch(records=[record(key=b"k", value=b"v")], base_offset=offset) for offset in offsets]


def _interleaved(folder: Path, count: int) -> Path:
    """A log whose batches of odd offsets are lost behind a damaged one, and those of even offsets are kept."""
    *kept, damaged = _batches(range(0, 2 * count + 1, 2))
    return _written(folder, {FIRST: b"".join([*kept, flipped(damaged), *_batches(range(1, 2 * count, 2))])})


def _rows(folder: Path) -> list[Forecast]:
    return [row for row in forecast(str(folder)) if isinstance(row, Forecast)]


def _lost_offsets(folder: Path) -> list[list[list[int]]]:
    return [row.lost_offsets for row in _rows(folder)]


def test_of_two_equal_batches_of_which_one_stays_the_other_is_lost(tmp_path: Path) -> None:
    one, two = _batches((0, 1))
    other = batch(records=[record(key=b"k", value=b"w")])
    for number, (swap, lost) in enumerate(((one + two, 1), (one + one + two, 0), (one + other + two, 1))):
        rows = _rows(_written(tmp_path / f"t-{number}", {FIRST: one + one + two, f"{FIRST}.swap": swap}))
        assert [(row.lost_records, row.lost_offsets) for row in rows] == [(lost, [])] * len(rows) != []


def test_bytes_before_what_is_kept_of_a_log_are_gone() -> None:
    kept = {f"{5:020}.log": File(FIRST, 50, 40), f"{7:020}.log": File(FIRST, 5, 95)}
    directory = SimpleNamespace(before={FIRST: 110}, files=kept, path_of=str)
    odd, gone = losses._gone(directory)  # type: ignore[arg-type]  # all that it asks for
    assert (odd, [(file.start, file.size) for file in gone]) == ([], [(0, 40), (90, 5), (100, 10)])


def test_ranges_of_lost_offsets_stay_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are closed into one are those with the narrowest gaps; nothing that is lost is left out."""
    monkeypatch.setattr(losses, "_MAX_LEFT", 20)
    monkeypatch.setattr(losses, "_MAX_COVERED", 16)
    for offsets in _lost_offsets(_interleaved(tmp_path / "t-0", 300)):
        assert len(offsets) <= 40
        assert _offsets([(first, last) for first, last in offsets]) >= set(range(1, 600, 2))


def test_records_of_a_log_that_no_broker_reads_are_lost_where_no_other_has_their_offsets(tmp_path: Path) -> None:
    """Its batches have the offsets 1, 3, 5 and so on; the log that is read has all even ones, and every third odd one."""
    kept = [offset for offset in range(600) if offset % 2 == 0 or offset % 3 == 0]
    logs = {FIRST: b"".join(_batches(kept)), "0.log": b"".join(_batches(range(1, 600, 2)))}
    lost = {offset for offset in range(1, 600, 2) if offset not in kept}
    rows = _rows(_written(tmp_path / "t-0", logs))
    assert rows
    for row in rows:
        assert _offsets([(first, last) for first, last in row.lost_offsets]) == lost
        assert row.lost_records == len(lost)
