"""The short form of the campaign that reads random logs in slices."""

import sys

import pytest

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from campaigns import slices
from kdump.pipeline import planning  # what needs Arrow
from kdump.pipeline.discovery import FileItem


@pytest.mark.slow
def test_every_record_of_a_random_log_is_there_once_however_it_is_cut(all_cases: bool) -> None:
    assert list(slices.measure(range(16 if all_cases else 6), seed=1, largest=1 << 18)) == []


def test_rows_twice_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    split = planning.split

    def overlapping(item: FileItem, target: int) -> list[planning.FileSlice]:
        return [
            file_slice._replace(start=0) if number == 1 else file_slice for number, file_slice in enumerate(split(item, target))
        ]

    monkeypatch.setattr(planning, "split", overlapping)
    assert any("rows more" in wrong for wrong in slices.measure(range(16), seed=1, largest=1 << 16))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_process_that_is_killed_leaves_exact_rows_or_no_success(all_cases: bool) -> None:
    assert list(slices.kill(range(3 if all_cases else 1), seed=1)) == []
