"""The campaign of hostile files in short: small ones, and the memory of Python's objects, the same on each machine."""

import tracemalloc
from pathlib import Path

import pytest

import kdump
from tests.campaigns import hostile_files_of_memory as hostile

MIB = 1 << 20

AT_MOST = {
    # name, scale, level: MiB; what it took before the bound
    ("zstd record of 33 million headers", 0.01, "deep"): 8,  # 22
    ("value of 100 MiB", 0.08, "deep"): 13,  # 18
    ("gzip wrapper of 4 million messages", 0.1, "full"): 8,  # 15
}


@pytest.mark.parametrize(("name", "scale", "level"), list(AT_MOST))
def test_a_hostile_file_takes_little_more_memory_than_its_longest_record(
    tmp_path: Path, name: str, scale: float, level: str
) -> None:
    directory = hostile.made(name, tmp_path, scale)
    _ = list(kdump.check(directory, level=level))  # so that modules are imported
    tracemalloc.start()
    try:
        codes = [finding.code for finding in kdump.check(directory, level=level)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (codes, peak < AT_MOST[name, scale, level] * MIB) == (["index-missing", "timeindex-missing"], True), peak / MIB
