"""The screens of `kdump info`: as they were written by hand from what was built, at any width, with any names."""

import shlex
from pathlib import Path

import pytest

import kdump
from kdump.cli.commands import main
from kdump.output.text.info import write_overview
from kdump.output.text.style import ReportStyle
from kdump.overview.overview import Overview
from tests.builders.files import file_name, write_partition
from tests.builders.fleets import data
from tests.builders.messages import int16, int32, int64, string
from tests.builders.records import TIMESTAMP, batch, record

MINUTE = 60_000
META = "version=1\nnode.id=7\ncluster.id=abcdefghijklmnopqrstuv\ndirectory.id=J8aAPcfLQt2bqs1JT_rMgQ\n"


def _screen(overview: Overview, width: int = 80, *, is_terminal: bool = True, has_colors: bool = False) -> str:
    pieces: list[str] = []
    for space in overview.spaces:
        space.disk = space.size  # a file system may take more
        if space.what == "directories":
            space.disk = space.size = 0
    overview.spaces.sort(key=lambda space: -space.disk)
    overview.seconds = 0.0
    write_overview(overview, pieces.append, ReportStyle(width=width, is_terminal=is_terminal, has_colors=has_colors))
    return "".join(pieces)


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "kafka"
    first = data(0, 10, producer=3, sequence=0)
    open_one = data(10, producer=4, sequence=0, is_transactional=True)
    later = data(11, 4, at=TIMESTAMP + 30 * MINUTE)
    write_partition(root, topic="orders", partition=0, segments={0: [first, open_one, later]})
    write_partition(root, topic="orders", partition=1, segments={0: [first]})
    damaged = data(0, 5) + b"\xff" * 100
    (write_partition(root, topic="clicks", segments={0: [data(0, 5)]}) / file_name(0, ".log")).write_bytes(damaged)
    (root / "orders-0" / "core.dump").write_bytes(bytes(9000))
    (root / "meta.properties").write_text(META)
    monkeypatch.chdir(tmp_path)
    return root


def test_of_a_group_it_says_what_lists_its_offsets(broker: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commit = int16(3) + int64(5) + int32(0) + string("") + int64(TIMESTAMP)
    names = ["late $HOME", *(f"app-{number}" for number in range(6))]
    commits = [(name, partition) for name in names for partition in range(1 + (name == names[0]))]
    keys = [int16(1) + string(name) + string("orders") + int32(partition) for name, partition in commits]
    written = [batch(records=[record(key=key, value=commit)], base_offset=offset) for offset, key in enumerate(keys)]
    write_partition(broker, topic="__consumer_offsets", segments={0: written})
    screen = _screen(kdump.info("kafka"))
    assert "7 groups: 7 offsets only (" in screen and "and 2 more); --output ndjson lists all" in " ".join(screen.split())
    command = next(line for line in screen.splitlines() if line.startswith("  kdump grep "))
    assert main(shlex.split(command, comments=True)[1:]) == 0
    assert "found: 2 records match" in capfd.readouterr().err


def test_names_that_a_terminal_would_obey_are_escaped(broker: Path) -> None:
    write_partition(broker, topic="red\x1b[31m\ntopic", segments={0: [data(0)]})
    (broker / "\x1b]0;title\x07.dump").write_bytes(bytes(20_000))
    screen = _screen(kdump.info("kafka"), is_terminal=False)
    assert not {character for character in screen if not character.isprintable()} - {"\n"}
    assert "red\\x1b[31m\\ntopic" in screen or "red\\u001b[31m\\ntopic" in screen


def test_the_screen_of_a_partition(broker: Path) -> None:
    (broker / "all.log").write_bytes(data(0, 10))  # named itself, it is a log under another name
    assert "offsets  0 to 9" in (named := _screen(kdump.info("kafka/all.log"))) and "not Kafka's" not in named
    screen = _screen(kdump.info("kafka/orders-0"))
    assert (
        screen.partition("\n\n")[2].partition("\n\n")[2]
        == """\
  offsets  0 to 14, in 1 segment of 363 bytes
  batches  3 batches with 15 records, the largest 181 bytes
  times    2023-11-14 22:13 to 2023-11-14 22:43 UTC, 30.0 records an hour
  format   magic 2; none 363 bytes
  writers  2 producers with an id

hanging transaction of producer 4 in orders-0, from offset 10, since 2023-11-14
22:13; the log goes on for 30 min

damage: none was met, but only some headers were read; `kdump check` looks for
it

Next
  kdump check kafka/orders-0   # whether a transaction hangs, and how to end it
  ls -la kafka/orders-0/core.dump   # not Kafka's

Headers were read, without checksums: of batches that hold 363 bytes of 363
bytes of logs. 0.0 s. Exit status 0.
"""
    )
