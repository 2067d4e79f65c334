"""Very many files or findings: nothing is looked for among all of them for each, and what is only counted is not built."""

import tracemalloc
from pathlib import Path

import pytest

import kdump
from campaigns.hostile_files import NOW, written
from kdump.checks.check import run
from kdump.checks.finding import Finding
from kdump.checks.jobs import Job
from kdump.checks.rules.records import unreadable
from kdump.checks.settings import DEEP, Settings
from kdump.cli.commands import main
from kdump.forecasts.forecast import forecast
from tests.builders.compression import Codec
from tests.builders.files import producer_snapshot
from tests.builders.hostile_contents import CONTENTS, batch_of, broken_compressed, many_producers
from tests.loops import each, of_all_cases
from tests.work import assert_linear, work_of

MANY = {one.name: one for one in CONTENTS if one.name.startswith("many ") and one.name != "many headers"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["many snapshots", "many indexes without logs", "many deleted files", "many long numbers"])
def test_many_files_take_as_long_as_there_are_files(name: str, tmp_path: Path) -> None:
    def steps(count: int) -> int:
        path = written(MANY[name], count, tmp_path / str(count)).parent
        return work_of(lambda: list(kdump.check(path))).lines

    assert_linear(steps, 50, 150, 350)


@pytest.mark.slow
def test_each_segment_costs_a_forecast_the_same_however_many_transactions_are_open(tmp_path: Path) -> None:
    def steps(open_transactions: int, segments: int) -> int:
        directory = tmp_path / f"{open_transactions}-{segments}" / "orders-0"
        directory.mkdir(parents=True)
        (directory / f"{0:020}.log").write_bytes(many_producers(open_transactions))
        for base_offset in range(open_transactions, open_transactions + segments):
            (directory / f"{base_offset:020}.log").write_bytes(batch_of(b"", base_offset=base_offset, count=0))
        return work_of(lambda: list(forecast(directory))).lines

    steps(5, 5)
    few, many = (steps(count, 60) - steps(count, 20) for count in (10, 500))
    assert many < 1.3 * few, (few, many)


@pytest.mark.slow
@pytest.mark.parametrize("attributes", [of_all_cases(0), 0x10])
def test_each_snapshot_costs_a_check_the_same_however_many_producers_there_are(attributes: int, tmp_path: Path) -> None:
    def cost(producers: int, snapshots: int) -> tuple[int, int]:
        """Lines, and the most bytes that were held."""
        directory = tmp_path / f"{producers}-{snapshots}" / "orders-0"
        directory.mkdir(parents=True)
        (directory / f"{0:020}.log").write_bytes(many_producers(producers + 200, attributes))
        for offset in range(producers, producers + 2 * snapshots, 2):
            (directory / f"{offset:020}.snapshot").write_bytes(producer_snapshot())
        tracemalloc.start()
        lines = work_of(lambda: list(kdump.check(directory))).lines
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return lines, most

    cost(5, 5)
    of_few, of_many = ([cost(count, snapshots) for snapshots in (10, 30)] for count in (50, 1000))
    for few, more, many_few, many_more in zip(*of_few, *of_many, strict=True):
        assert many_more - many_few < 1.5 * (more - few) + 20_000, (of_few, of_many)


@pytest.mark.slow
@each("digits", [20, 200], share=2)
@each("command", [("check",), ("forecast",), ("grep", "--jobs", "1", "none"), ("where", "--key", "none")])
def test_a_command_takes_as_long_as_there_are_segments_with_gaps(command: tuple[str, ...], digits: int, tmp_path: Path) -> None:
    def run_over(path: Path) -> None:
        if command == ("check",):
            list(kdump.check(path))  # the command would do it in another process
        else:
            main([*command, str(path)])

    def steps(count: int) -> int:
        path = tmp_path / str(count) / "orders-0"
        path.mkdir(parents=True)
        for base_offset in range(0, 10 * count, 10):
            (path / f"{base_offset:0{digits}d}.log").write_bytes(batch_of(b"", base_offset=base_offset, count=0))
            (path / f"{base_offset + 5:020}.snapshot").write_bytes(producer_snapshot())
        return work_of(lambda: run_over(path)).lines

    assert_linear(steps, 50, 100, 200)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_no_message_is_made_of_damage_that_is_only_counted(codec: Codec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = []

    def counted(count: int, what: str) -> str:
        messages.append(what)
        return f"{count} {what}"

    monkeypatch.setattr(unreadable, "counted", counted)
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / f"{0:020}.log").write_bytes(broken_compressed(codec)(30))
    found: list[object] = []
    run(Job(Job.PARTITION, str(directory)), Settings(now=NOW, level=DEEP, max_findings=2), found.append)
    findings = [one for one in found if isinstance(one, Finding)]
    of_payloads = [one.code for one in findings if one.code.startswith("frame-")]
    assert len(of_payloads) == len(messages) == 2
    assert [one.found for one in findings if one.code == "finding-flood"] == ["28"]
