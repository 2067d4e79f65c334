"""The short form of the campaign of hostile files: what each command does for each kind of them grows as the file does."""

from pathlib import Path

import pytest

from campaigns import hostile_files
from campaigns.hostile_files import little_is_free, run_here, written
from tests.builders.hostile import HOSTILE, Hostile
from tests.loops import each
from tests.work import Work, work_of

SMALL, LARGE = 40_000, 160_000
"""Bytes of the files. The work that is done once, however large a file is, is in both."""

MOST_NANOSECONDS = 400
"""Of the work for each further byte. Counts stand for them: no clock is asked, and the price list has 240 of a fast machine."""

CASES = [
    pytest.param(one, command, id=f"{one.name}-{command}")
    for one in HOSTILE
    for command in hostile_files.RUN_HERE
    if hostile_files.is_for(command, f"0{one.suffix}")
]


def work_for(one: Hostile, size: int, command: str, folder: Path) -> tuple[Work, int]:
    """The work of a command for a file of about this size, and what the size is."""
    count = max(1, size * 1000 // len(one.build(1000)[one.suffix]))
    path = written(one, count, folder / str(size))
    run_here(command, path)  # once, so that nothing is imported while work is counted
    return work_of(lambda: run_here(command, path)), path.stat().st_size


@pytest.mark.slow
@each(("one", "command"), CASES[::2], share=2)  # the campaign runs all
def test_the_work_for_a_hostile_file_grows_as_the_file_does(one: Hostile, command: str, tmp_path: Path) -> None:
    with little_is_free():
        (small, small_size), (large, large_size) = (work_for(one, size, command, tmp_path) for size in (SMALL, LARGE))
    assert large.nanoseconds - small.nanoseconds <= MOST_NANOSECONDS * (large_size - small_size)
