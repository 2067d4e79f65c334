"""Runs of zeros are those of a plain search, whatever is a hole of the file, and however windows divide it."""

import random
import re
from pathlib import Path

from kdump.binary import zeros
from kdump.binary.source import Source
from tests.loops import each


@each("window", [600, 5000, 1 << 20])
@each("seed", range(12))
def test_runs_of_zeros_start_and_end_where_bytes_say_so(tmp_path: Path, seed: int, window: int) -> None:
    chance = random.Random(seed)
    sizes = [chance.choice((1, 3, 510, 511, 512, 513, 4096, 9000, 20_000)) for _ in range(8)]
    parts = [(b"\0" if (row + seed) % 2 else b"x") * size for row, size in enumerate(sizes)]
    data, path = b"".join(parts), tmp_path / "file"
    with path.open("wb") as file:
        for part in parts:  # zeros are holes
            file.seek(len(part), 1) if part[0] == 0 else file.write(part)
        file.truncate(len(data))
    borders = [sum(sizes[:row]) for row in range(len(sizes) + 1)]
    with Source(str(path)) as source:
        assert source.read(0, len(data)) == data
        for place in {min(max(border + more, 0), len(data)) for border in borders for more in (-1, 0, 1)}:
            rest = data[place:]
            assert zeros.end(source, place, window) == len(data) - len(rest.lstrip(b"\0"))
            for first in (0, borders[2]):
                wanted = first + len(data[first:place].rstrip(b"\0")) if place > first else first
                assert zeros.start_of_run(source, first, place, window) == wanted
            found = [(place + run.start(), place + run.end()) for run in re.finditer(rb"\0{512,}", rest[:-1])]
            assert list(zeros.runs(source, place, len(data) - 1, window)) == found


def test_all_of_a_window_or_of_nothing_may_be_zeros() -> None:
    assert [zeros.are_all_of(window) for window in (b"", b"\0", bytes(1 << 20), bytes(99) + b"\1")] == [True, True, True, False]
