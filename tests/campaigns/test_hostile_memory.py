"""The campaign of hostile files in short: small ones, and the memory of Python's objects, the same on each machine."""

import tracemalloc
from pathlib import Path

import pytest

import kdump
from campaigns import hostile_files_of_memory as hostile
from kdump.binary.source import Source
from kdump.cli.commands import main
from kdump.dropin.before_0_11.message_log import MessageLog, messages_in
from kdump.releases.profile import Profile

MIB = 1 << 20

AT_MOST = {
    # name, scale, level: MiB; what it took before the bound
    ("zstd record of 33 million headers", 0.01, "deep"): 8,  # 22
    ("value of 100 MiB", 0.08, "deep"): 16,  # 23: a second copy of 8 MiB
    ("gzip wrapper of 4 million messages", 0.1, "full"): 8,  # 15
    ("a million leader epochs", 0.03, "full"): 13,  # 14.3
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scale", "level"), list(AT_MOST))
def test_a_hostile_file_takes_little_more_memory_than_its_longest_record(
    tmp_path: Path, name: str, scale: float, level: str
) -> None:
    directory = hostile.made(name, tmp_path, scale)
    _ = list(kdump.check(directory, level=level))  # so that modules are imported
    tracemalloc.start()
    try:
        codes = {finding.code for finding in kdump.check(directory, level=level)}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert codes - {"index-missing", "timeindex-missing", "epochs-missing"} == set()
    assert peak < AT_MOST[name, scale, level] * MIB, peak / MIB


@pytest.mark.slow
def test_a_forecast_does_not_hold_leader_epochs(tmp_path: Path) -> None:
    directory = hostile.made("8 million leader epochs", tmp_path, 0.002)
    _ = list(kdump.forecast(directory))
    tracemalloc.start()
    try:
        _ = list(kdump.forecast(directory))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * MIB, peak / MIB  # it was 4


@pytest.mark.slow
@pytest.mark.parametrize("release", ["0.10.0.1", "0.10.2.0"])
@pytest.mark.parametrize("magic", ["", " of magic 0"])
def test_the_messages_of_a_wrapper_are_not_held_before_0_11(tmp_path: Path, release: str, magic: str) -> None:
    log = next(hostile.made("gzip wrapper of 4 million messages" + magic, tmp_path, 0.005).glob("*.log"))
    rules = Profile(release).message_rules()
    assert rules is not None
    with Source(str(log)) as source:
        ((_, wrapper),) = MessageLog(source, rules).messages()
    tracemalloc.start()
    try:
        count = sum(1 for _ in messages_in(wrapper, rules))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 20_000
    assert peak < 3 * MIB, peak / MIB  # it was 6


def test_a_table_shows_the_start_of_a_long_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = next(hostile.made("value of 100 MiB", tmp_path, 0.001).glob("*.log"))
    assert main(["log", "--deep", "--output", "table", str(log)]) == 0
    shown = capfd.readouterr().out
    assert max(map(len, shown.splitlines())) < 5 * 65_536
    assert shown.count("\\x00") == 65_536
    assert "\\x00…" in shown
