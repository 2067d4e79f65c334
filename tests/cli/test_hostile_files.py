"""The short form of the campaign of hostile files: what each command does for each kind of them grows as the file does."""

import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import kdump
from campaigns import hostile_files
from campaigns.hostile_files import little_is_free, run_here, written
from kdump.cli.commands import main
from tests import kernels
from tests.builders.hostile import HOSTILE, Hostile
from tests.builders.hostile_contents import CONTENTS, MUCH_IN_LITTLE
from tests.loops import each, of_all_cases
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
    count = max(1, size * 1000 // len(one.build(1000)[one.suffix]))
    path = written(one, count, folder / str(size))
    run_here(command, path)  # once, so that nothing is imported while work is counted
    return work_of(lambda: run_here(command, path)), path.stat().st_size


@pytest.mark.slow
@each(("one", "command"), CASES[::3], share=4)  # the campaign runs all
def test_the_work_for_a_hostile_file_grows_as_the_file_does(one: Hostile, command: str, tmp_path: Path) -> None:
    with little_is_free():
        (small, small_size), (large, large_size) = (work_for(one, size, command, tmp_path) for size in (SMALL, LARGE))
    assert large.nanoseconds - small.nanoseconds <= MOST_NANOSECONDS * (large_size - small_size)


MIB = 1 << 20
KINDS = {one.name: one for one in (*HOSTILE, *CONTENTS, *MUCH_IN_LITTLE)}


def _peak(work: Callable[[], object]) -> float:
    """MiB that a piece of work takes at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "level", "at_most"),
    [  # and what it took before the bound
        of_all_cases("zstd record of headers", 330_000, "deep", 8),  # 22
        ("long value", 8 * MIB, "deep", 16),  # 23: a second copy of 8 MiB
        of_all_cases("wrapper of messages", 400_000, "full", 8),  # 15
        ("rising leader epochs", 30_000, "full", 13),  # 14.3
    ],
)
def test_a_hostile_file_takes_the_memory_of_a_record(tmp_path: Path, name: str, count: int, level: str, at_most: float) -> None:
    directory = written(KINDS[name], count, tmp_path).parent
    codes = {finding.code for finding in kdump.check(directory, level=level)}  # once, so that modules are imported
    assert codes - {"index-missing", "timeindex-missing", "epochs-missing"} == set()
    assert _peak(lambda: list(kdump.check(directory, level=level))) < at_most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "words", "at_most"),
    [  # and what it took before the bound
        ("leader epochs", 16_000, ("forecast",), 2),  # 4
        ("descending index", 200_000, ("recover", "-o", "{out}"), 6),  # 28
        ("control batches", 5_000, ("recover", "-o", "{out}"), 9),  # 19
    ],
)
def test_no_command_holds_what_is_beside(tmp_path: Path, name: str, count: int, words: Sequence[str], at_most: float) -> None:
    directory = written(KINDS[name], count, tmp_path).parent

    def run(out: str) -> None:
        main([word.format(out=tmp_path / out) for word in (*words, str(directory))])

    run("imports modules")
    assert _peak(lambda: run("out")) < at_most


def test_a_table_shows_the_start_of_a_long_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = written(KINDS["long value"], 100_000, tmp_path)
    assert main(["log", "--deep", "--output", "table", str(log)]) == 0
    shown = capfd.readouterr().out
    assert max(map(len, shown.splitlines())) < 5 * 65_536
    assert shown.count("\\x00") == 65_536
    assert "\\x00…" in shown


def test_rows_between_damage_are_held_in_few_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    from kdump.cli.listing import export  # needs Arrow
    from kdump.output.arrow.builder import MOST_HELD

    (zeros,) = [one for one in HOSTILE if one.name == "zeros between batches"]
    count = 3 * MOST_HELD
    path, out = written(zeros, count, tmp_path), tmp_path / "out.parquet"
    held: list[int] = []
    write = export._Rows.write

    def noting(rows: export._Rows, batch: object) -> None:
        write(rows, batch)
        held.append(len(rows._held))

    monkeypatch.setattr(export._Rows, "write", noting)
    kernels.listed(["log", "--deep", "--output", "parquet", "-o", out, path])
    assert parquet.read_table(out)["offset"].to_pylist() == list(range(count))
    assert len(held) == count
    assert max(held) < MOST_HELD
