"""Runs of messages and of batches of magic 2 that alternate: the rules see them together, and find what they find one by one."""

import random
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest

import kdump
from kdump.binary import kernel
from kdump.binary.source import Source
from kdump.checks import check
from kdump.checks.jobs import Job
from kdump.checks.rules.framing.headers import Headers
from kdump.checks.settings import COMPACT, DEEP, DELETE, FULL, Settings
from kdump.cli.listing.intact import IntactText
from kdump.cli.listing.logs import LogLister
from kdump.formats import log
from kdump.formats.log import MixedChunk
from kdump.reading import salvage
from kdump.tables import Row
from tests import kernels
from tests.builders.files import file_name
from tests.builders.hostile_contents import alternating_magics
from tests.builders.records import batch, message, message_set, record, transaction_marker, wrapper
from tests.loops import each

pytestmark = pytest.mark.skipif(kernel.native is None, reason="only the kernel in C summarizes such runs")

NOW = 1_700_000_500_000
ODD = 0.005

PLAIN: list[Callable[[], bytes]] = [
    lambda: message_set(messages=[message(value=b"v", magic=0)]),
    lambda: message_set(messages=[message(value=b"v", magic=1)]),
    lambda: wrapper(messages=[message(value=b"v", magic=1)]),
    lambda: batch(records=[record(key=b"k")]),
    lambda: batch(records=[record(key=b"k"), record(value=b"v")], codec="gzip"),
]
UNUSUAL: list[Callable[[], bytes]] = [
    lambda: message_set(messages=[message(value=b"v", magic=1, timestamp=1_699_999_999_000)]),
    lambda: message_set(messages=[message(value=b"v", magic=1, timestamp=5)]),
    lambda: message_set(messages=[message(value=b"v", magic=1, timestamp=-1)]),
    lambda: message_set(messages=[message(value=b"v", magic=1, timestamp_type="LogAppendTime")]),
    lambda: batch(records=[record(timestamp=-5)], base_timestamp=-5, max_timestamp=-5),
    lambda: batch(records=[record()], max_timestamp=1_900_000_000_000),
    lambda: batch(records=[record()], timestamp_type="LogAppendTime", max_timestamp=-1),
    lambda: batch(records=[record()], partition_leader_epoch=1),
    lambda: batch(records=[record()], producer_id=4, producer_epoch=0, base_sequence=0),
    lambda: batch(records=[record()], producer_id=4, producer_epoch=0, base_sequence=0, is_transactional=True),
    lambda: transaction_marker(is_commit=False),
    lambda: batch(records=[record()], delete_horizon_ms=NOW),
    lambda: batch(records=[], last_offset_delta=2),
    lambda: batch(records=[record()], last_offset_delta=2),
    lambda: batch(records=[record()], records_count=3),
    lambda: batch(records=[record()], records_count=-1),
    lambda: batch(records=[record()], attributes=0x100),
    lambda: batch(records=[record()], codec="zstd"),
    lambda: batch(records=[record()], crc=7),
    lambda: message_set(messages=[message(value=b"v", magic=0)])[:-1] + b"w",
    lambda: bytes(40),
    lambda: b"garbage" * 9,
]


UNCOMPRESSED = [PLAIN[0], PLAIN[1], PLAIN[3]]


def _log(seed: int, count: int, plain: list[Callable[[], bytes]] = PLAIN) -> bytes:
    """A log whose magics alternate; one in 200 batches is unusual, and so are some offsets."""
    chance = random.Random(seed)
    unusual = chance.sample(UNUSUAL, 3)
    offset, parts = 0, []
    for _ in range(count):
        is_unusual = chance.random() < ODD
        one = chance.choice(unusual if is_unusual else plain)()
        size = struct.unpack_from(">i", one, 23)[0] + 1 if len(one) > 60 and one[16] == 2 else 1
        parts.append(struct.pack(">q", offset) + one[8:])
        offset += size + (chance.random() < ODD / 4)
        offset -= 2 * (chance.random() < ODD / 8)
    return b"".join(parts)


def _partition(folder: Path, data: bytes) -> Path:
    path = folder / "t-0"
    path.mkdir()
    (path / file_name(0, ".log")).write_bytes(data)
    (path / file_name(0, ".index")).write_bytes(struct.pack(">ii", 9, 500) + struct.pack(">ii", 40, 2000))
    return path


def _one_by_one() -> AbstractContextManager[mock.MagicMock]:
    return mock.patch.object(log._Runs, "alternate", return_value=False)


def _together() -> AbstractContextManager[mock.MagicMock]:
    return mock.patch.object(Headers, "count_mixed", autospec=True, side_effect=Headers.count_mixed)


def _found(path: Path, level: str, cleanup_policy: str) -> list[str]:
    rows: list[Row] = []
    settings = Settings(now=NOW, level=level, max_findings=2, cleanup_policy=cleanup_policy, is_pedantic=True)
    check.run(Job(Job.PARTITION, str(path)), settings, rows.append)
    return list(map(repr, rows))


@each("seed", range(40))
def test_findings_are_those_of_runs_one_by_one(seed: int, tmp_path: Path) -> None:
    path = _partition(tmp_path, _log(seed, 1500))
    level, policy = (FULL, DEEP)[seed % 2], (COMPACT, DELETE)[seed // 2 % 2]
    with _one_by_one():
        expected = _found(path, level, policy)
    with _together() as counted:
        assert _found(path, level, policy) == expected
    runs = [call.args[1].runs for call in counted.call_args_list]
    assert sum(runs) > 30 * len(runs) > 0  # many are seen together


@each("seed", range(10))
def test_a_walk_gives_the_same_sections(seed: int, tmp_path: Path) -> None:
    path = _partition(tmp_path, _log(seed, 600)) / file_name(0, ".log")

    def items() -> list[tuple[object, ...]]:
        with Source(str(path)) as source:
            return [
                (item.start, item.end, item.code)
                if isinstance(item, salvage.Damage)
                else (list(item.chunk.batches["position"]), item.statuses, item.nested)
                for item in salvage.walk(source, base_offset=0)
            ]

    with _one_by_one():
        expected = items()
    with mock.patch.object(MixedChunk, "parts", autospec=True, side_effect=MixedChunk.parts) as divided:
        assert items() == expected
    assert divided.call_count > 0


@each("seed", range(10))
def test_a_summary_of_runs_is_that_of_their_batches(seed: int, tmp_path: Path) -> None:
    path = _partition(tmp_path, _log(seed, 600)) / file_name(0, ".log")
    with Source(str(path)) as source:
        chunks = [chunk for chunk in log.Log(source).summarized_chunks(mixes=True) if isinstance(chunk, MixedChunk)]
        assert sum(map(len, chunks)) > 150
        for chunk in chunks:
            _compare(chunk)


def _compare(chunk: MixedChunk) -> None:
    summary, parts = chunk.summary, list(chunk.parts())
    rows = [row for part in parts for row in part.batches]
    of_batches = [part.summary for part in parts if part.summary is not None and not part.is_legacy]
    assert [(row.position, row.first_offset, row.last_offset, row.timestamp) for row in rows] == list(
        zip(summary.positions, summary.first_offsets, summary.last_offsets, summary.timestamps, strict=True)
    )
    assert [len(part) for part in parts] == [end - start for start, end, _ in summary.each_run()]
    assert (summary.count, summary.end, summary.runs) == (len(rows), rows[-1].position + rows[-1].size, len(parts))
    assert all(part.is_legacy != after.is_legacy for part, after in pairwise(parts))
    magics = [row.magic for row in rows]
    assert (summary.first_magic, summary.last_magic) == (magics[0], magics[-1])
    for count, first, last, changes in (
        (summary.upgrades, summary.first_upgrade, summary.last_upgrade, [b for a, b in pairwise(rows) if a.magic < b.magic]),
        (
            summary.downgrades,
            summary.first_downgrade,
            summary.last_downgrade,
            [b for a, b in pairwise(rows) if a.magic > b.magic],
        ),
    ):
        assert (count, first, last) == (len(changes), changes[0].position, changes[-1].position)
    times = [row.timestamp for row in rows if row.timestamp != -1]
    assert summary.timed == len(times)
    assert (summary.first_time, summary.last_time, summary.lowest_time, summary.highest_time) == (
        times[0],
        times[-1],
        min(times),
        max(times),
    )
    assert summary.times_back == sum(after < before for before, after in pairwise(times))
    append_times = [row for row in rows if row.timestamp_type == "LogAppendTime"]
    assert (summary.append_times, summary.untimed) == (len(append_times), sum(row.timestamp < 0 for row in append_times))
    assert summary.create_times == sum(row.timestamp_type == "CreateTime" for row in rows)
    assert summary.last_offset_of_batches == of_batches[-1].last_offset
    assert summary.smallest_of_magic_1 == min((row.size for row in rows if row.magic == 1), default=0)
    assert summary.gaps == sum(before.last_offset + 1 != after.first_offset for before, after in pairwise(rows))
    epochs = [row.partition_leader_epoch for row in rows if row.partition_leader_epoch is not None]
    assert (summary.lowest_leader_epoch, summary.highest_leader_epoch) == (min(epochs), max(epochs))
    assert (summary.first_leader_epoch, summary.last_leader_epoch) == (epochs[0], epochs[-1])
    assert summary.leader_epochs_back == sum(after < before for before, after in pairwise(epochs))
    for name in ("empty", "hollow", "bare", "sparse", "overfull", "horizons", "orphans", "records"):
        assert getattr(summary, name) == sum(getattr(part, name) for part in of_batches), name
    for name in ("lowest_count", "lowest_producer_id", "lowest_producer_epoch"):
        assert getattr(summary, name) == min(getattr(part, name) for part in of_batches), name
    assert summary.highest_producer_id == max(part.highest_producer_id for part in of_batches)
    assert [summary.extent_at(row.position) for row in rows] == [
        (row.first_offset, row.last_offset, row.position + row.size) for row in rows
    ]


@pytest.mark.parametrize("level", [FULL, DEEP])
def test_runs_are_not_looked_at_one_by_one_once_changes_of_the_magic_are_only_counted(level: str, tmp_path: Path) -> None:
    path = _partition(tmp_path, alternating_magics(3000))
    with mock.patch.object(log.Log, "_summarized_chunk", autospec=True, side_effect=log.Log._summarized_chunk) as made:
        found = _found(path, level, DELETE)
    assert made.call_count < 100  # it was 2000
    assert any("1,998 more findings of magic-upgrade" in row for row in found)
    assert any("997 more findings of magic-regression" in row for row in found)


@pytest.mark.parametrize("seed", [*range(6), None])
def test_what_is_recovered_is_that_of_runs_one_by_one(seed: int | None, tmp_path: Path) -> None:
    data = alternating_magics(6000) if seed is None else _log(seed, 6000)  # changes of the magic are only counted at the end
    path, made = _partition(tmp_path, data), []
    for name in ("alone", "together"):
        (tmp_path / name).mkdir()
        with _one_by_one() if name == "alone" else _together() as counted:
            result = kdump.recover(path, tmp_path / name / "t-0")
        made.append(({file.name: file.read_bytes() for file in (tmp_path / name / "t-0").iterdir()}, list(map(repr, result))))
    assert made[0] == made[1]
    assert counted.call_count > 0


@each("seed", range(4))
@each("options", [[], ["--deep"], ["--deep", "--print-data-log", "--release", "2.0.0"]])
def test_a_listing_is_that_of_runs_one_by_one(seed: int, options: list[str], tmp_path: Path) -> None:
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(_log(seed, 600))
    for form in ("kafka", "ndjson", "csv", "table"):
        words = ["log", *options, "--output", form, path]
        with mock.patch.object(LogLister, "_mixes", return_value=False):
            expected = kernels.listed(words)
        assert kernels.listed(words) == expected


RANGES = [
    ["--from-offset", "150"],
    ["--to-offset", "600"],
    ["--from-offset", "90", "--to-offset", "700", "--limit", "300"],
    ["--limit", "411"],
    ["--from-position", "20000", "--limit", "10"],
    ["--from-position", "9000", "--from-offset", "333"],
    ["--from-time", "2023-11-14T22:13:20Z"],
    ["--to-time", "2023-11-14T22:13:20Z"],
    ["--from-time", "1970-01-01T00:00:00Z", "--to-offset", "444"],
    ["--from-offset", "200", "--keep-going"],
]


@each("seed", range(8))
@each("options", [[], ["--deep"], ["--deep", "--print-data-log", "--release", "2.0.0"]])
def test_a_part_of_a_listing_is_that_of_runs_one_by_one(seed: int, options: list[str], tmp_path: Path) -> None:
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(_log(seed, 900, PLAIN if seed % 4 == 3 else UNCOMPRESSED))
    form = ("kafka", "ndjson", "csv", "table")[seed // 2]
    divided = []
    for bounds in RANGES:
        words: list[str | Path] = ["log", *options, "--output", form, *bounds, path]
        with mock.patch.object(LogLister, "_mixes", return_value=False):
            expected = kernels.listed(words)
        with mock.patch.object(LogLister, "_list_stretch", autospec=True, side_effect=LogLister._list_stretch) as listed:
            assert kernels.listed(words) == expected, bounds
        divided += [call.args[3].is_mixed for call in listed.call_args_list]
    assert any(divided) != (bool(options) and seed % 4 == 3)  # how many records wrappers have is not known


@pytest.mark.parametrize("bounds", [[], ["--from-offset", "0"], ["--limit", "3000"], ["--to-offset", "2999", "--limit", "9000"]])
def test_alternating_runs_are_listed_by_few_calls(bounds: list[str], tmp_path: Path) -> None:
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(alternating_magics(3000))
    with mock.patch.object(IntactText, "write", autospec=True, side_effect=IntactText.write) as written:
        assert kernels.listed(["log", *bounds, path]).stdout.count(b"\n") == 2 + 3000
    assert 0 < written.call_count < 100  # it was 2000
