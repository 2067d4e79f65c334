"""The screens of `kdump info`: as they were written by hand from what was built, at any width, with any names."""

import shlex
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.cli.commands import main
from kdump.output.text.info import duration, write_overview
from kdump.output.text.style import ReportStyle
from kdump.overview import row
from kdump.overview.overview import Overview
from kdump.tables import Row
from tests.builders.files import file_name, write_partition
from tests.builders.fleets import data
from tests.builders.messages import int16, int32, int64, string
from tests.builders.records import TIMESTAMP, batch, record
from tests.loops import each

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


def _row(kind: type[Row], **fields: Any) -> Any:
    """A row in which nothing is known but these fields."""
    return kind(**dict.fromkeys((column.name for column in kind.schema), None) | fields)


SUM: dict[str, Any] = {"segments": 2, "size": 3000, "read_bytes": 3000, "is_read_whole": True, "first_offset": 5, "end_offset": 9}
SUM |= {"batches": 3, "records": 1, "oldest_timestamp": 0, "newest_timestamp": 7_200_000, "magics": [1, 2], "saving": 2.5}
SUM |= {"codecs": {"zstd": 2048, "none": 10}, "largest_batch": 100, "producers": 0}
OFFSETS, SIZE, BATCHES = "offsets  5 to 8", "in 2 segments of 2.93 KiB", "batches  3 batches with 1 record, the largest 100 bytes"
HOURS, FORMAT = "times    1970-01-01 00:00 to 1970-01-01 02:00 UTC", "format   magic 1, 2; zstd 2.00 KiB, none 10 bytes"
SAVING = "; 2.5 times as large without compression"
FAR = 253_402_300_799_000
OF_PARTITION: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"first_offset": None, "end_offset": None}, ["offsets  ? to ?, in 2 segments of 2.93 KiB"]),
    ({"end_offset": 5}, ["offsets  none; the next is 5, in 2 segments of 2.93 KiB"]),
    ({"is_read_whole": False}, ["batches  3 batches with 1 record of those that were read, the largest 100 bytes", HOURS]),
    ({"records": None}, ["batches  3 batches, the largest 100 bytes", HOURS]),
    ({"oldest_timestamp": None}, ["times    none"]),
    ({"newest_timestamp": 0}, ["times    1970-01-01 00:00 to 1970-01-01 00:00 UTC"]),
    ({"records": 7199}, [BATCHES.replace("1 record", "7,199 records"), f"{HOURS}, 3,599.5 records an hour"]),
    ({"records": 7200}, [BATCHES.replace("1 record", "7,200 records"), f"{HOURS}, 1.0 records a second"]),
    ({"newest_timestamp": FAR}, [f"{HOURS[:29]}9999-12-31 23:59 UTC, 0.0 records an hour; the newest is in the future"]),
    ({"saving": None}, [FORMAT]),
    ({"producers": 1}, ["writers  1 producer with an id"]),
]


@each("fields, said", OF_PARTITION)
def test_each_number_of_a_partition_stands_in_its_place(fields: dict[str, Any], said: list[str]) -> None:
    overview = Overview()
    overview.places = [_row(row.Place, path="/d/a-0", what=row.PARTITION)]
    overview.partitions = [_row(row.PartitionSum, path="/d/a-0", **SUM | fields)]
    lines = [f"{OFFSETS}, {SIZE}", BATCHES, f"{HOURS}, 0.5 records an hour", f"{FORMAT}{SAVING}"]
    expected = {line[:7]: line for line in (*lines, *said)}
    screen = _screen(overview, 200).splitlines()
    assert [line.strip() for line in screen if line.strip()[:7] in {*expected, "writers"}] == list(expected.values())
    overview.partitions[0].batches = 0
    assert not [line for line in _screen(overview, 200).splitlines() if line.strip()[:7] in ("batches", "times  ", "format ")]


def test_a_length_of_time_has_its_largest_units() -> None:
    seconds = {0: "0 s", 59: "59 s", 60: "1 min", 3599: "59 min", 3600: "1 h 0 min", 172_799: "47 h 59 min", 172_800: "2 days"}
    assert {second: duration(second * 1000) for second in seconds} == seconds


def _two_places() -> Overview:
    """A log directory with more of everything than is shown, and a file beside it with one of each."""
    overview = Overview()
    places = (("/d/1", row.LOG_DIRECTORY, 6), ("/d/f.log", row.FILE, 1))
    overview.places = [_row(row.Place, path=path, what=what, stop="clean", written_by="3.0") for path, what, _ in places]
    overview.spaces = [row.Space(path, "logs", 1, count << 10, 0, f"{path}/x") for path, _, count in (*places, ("/d/odd", "", 2))]
    overview.partitions = [
        _row(
            row.PartitionSum,
            path=path if path.endswith("log") else f"{path}/a-{at}",
            broken_at=f"{path}:{at}",
            bytes_damaged=at,
            **SUM,
        )
        for path, _, count in places
        for at in range(count)
    ]
    topics = {"partitions": 1, "size": 1024, "producers": 0, "codec": "zstd", "codec_share": 0.5, "saving": 2.0}
    topics |= {"open_transactions": 2, "partitions_broken": 1, "newest_timestamp": FAR}
    overview.topics = [_row(row.TopicSum, path="/d/1", topic=f"t{at:02}", **topics) for at in range(21)]
    open_now = {"producer_id": 4, "first_offset": 7}
    overview.transactions = [
        _row(row.OpenTransaction, path=f"/d/1/a-{at}", is_hanging=at == 5, is_certain=at == 5, open_for_ms=at * 1000, **open_now)
        for at in range(6)
    ]
    overview.groups = [_row(row.Group, path="/d/f.log", group=f"g{at}", state="stable", committed=at) for at in range(3)]
    for at in range(6):
        overview.take(row.Unseen(f"/d/1/gone-{at}", "why"))
    return overview


TWO_PLACES = """\
/d/1: log directory
6 partition directories, 21 topics, 6.00 KiB on the disk, 6.00 KiB in sizes of files. Written by 3.0 (a guess). Stopped cleanly.
t19        1  1.00 KiB        ?  9999-12-31 23:59  zstd 50 % 2.0x  damage, 2 open txn, future time
and 1 more topic, 1.00 KiB
hanging transaction of producer 4 in a-5, from offset 7; the log goes on for 5 s
open transaction of producer 4 in a-4, from offset 7; the log goes on for 4 s; a marker may be in what was not read
and 1 more open transaction
damage: 15 bytes in 6 partitions, first at /d/1:0
1.00 KiB on the disk, 1.00 KiB in sizes of files. Written by 3.0 (a guess).
3 groups: 3 stable (g0, g1, g2)
damage: 1 partition, first at /d/f.log:0
/d/odd: what is in it besides
and 1 more; --output ndjson lists all.
  kdump check /d/1/a-0   # what is damaged, and what to do
  kdump check /d/1/a-5   # whether a transaction hangs, and how to end it
  kdump check /d/f.log   # what is damaged, and what to do
  kdump grep --where key.group=g2 --output table /d/f.log   # which offsets a group committed, and when
  kdump triage /d/1   # will it start, what is lost, what to do first
"""


def test_of_several_places_each_has_its_own_and_what_is_too_much_is_counted() -> None:
    screen = _screen(_two_places(), 200)
    assert [line for line in TWO_PLACES.splitlines() if line not in screen.splitlines()] == []
    assert not [more for more in ("t20 ", "in a-0, from", "gone-5") if more in screen]
