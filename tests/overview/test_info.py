"""What `kdump info` says is there, beside what was written and what the system says of the files."""

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.binary import system
from kdump.binary.source import Source
from kdump.checks.finding import Finding
from kdump.cli.commands import main
from kdump.errors import Unreadable
from kdump.output.schemas import schema_of
from kdump.overview.overview import Overview
from kdump.overview.row import Unseen
from kdump.overview.space import kind_of
from kdump.overview.ticket import name_of
from tests.builders.files import checkpoint, file_name, producer_entry, write_partition
from tests.builders.fleets import data, flipped
from tests.builders.messages import int16, int32, int64, sized, string
from tests.builders.records import TIMESTAMP, TimestampType, batch, message, record, transaction_marker, wrapper
from tests.loops import each

HOUR, MINUTE = 3_600_000, 60_000
META = "version=1\nnode.id=7\ncluster.id=abcdefghijklmnopqrstuv\ndirectory.id=J8aAPcfLQt2bqs1JT_rMgQ\n"


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory with all kinds of files; the current directory is the one around it."""
    root = tmp_path / "kafka"
    for number in range(2):
        segments = {0: [data(0, 10), data(10, 10)], 20: [data(20, 5, at=TIMESTAMP + HOUR)]}
        write_partition(root, topic="orders", partition=number, segments=segments)
    write_partition(root, topic="big", segments={5: [batch(records=[record(value=b"v" * 5000)], base_offset=5, codec="gzip")]})
    gone = write_partition(root, topic="gone", segments={0: [data(0)]})
    gone.rename(root / "gone-0.0123456789abcdef0123456789abcdef-delete")
    (root / "orders-0" / (file_name(0, ".log") + ".deleted")).write_bytes(bytes(3000))
    (root / "orders-0" / "core.dump").write_bytes(bytes(50_000))
    (root / "lost+found").mkdir()
    (root / "lost+found" / file_name(7, ".log")).write_bytes(bytes(100))
    (root / "meta.properties").write_text(META)
    (root / "recovery-point-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 0, 25), ("orders", 1, 25)]))
    os.symlink("core.dump", root / "orders-0" / "link")
    os.link(root / "orders-0" / "core.dump", root / "orders-0" / "again.dump")
    with open(root / "orders-1" / file_name(20, ".index"), "r+b") as index:
        index.truncate(10 << 20)  # sparse, as a broker makes the newest index
    monkeypatch.chdir(tmp_path)
    return root


def _plain_sums(root: Path) -> tuple[int, int]:
    """The sizes and the blocks of a tree by os.walk and lstat, each file once."""
    seen: dict[tuple[int, int], os.stat_result] = {}
    for folder, folders, files in os.walk(root):
        for name in (".", *folders, *files):
            status = os.lstat(os.path.join(folder, name))
            seen[status.st_dev, status.st_ino] = status
    return sum(status.st_size for status in seen.values()), sum(status.st_blocks * 512 for status in seen.values())


def test_what_fills_a_log_directory_adds_up_to_what_du_says(broker: Path) -> None:
    overview = kdump.info(broker)
    assert (overview.summary.size, overview.summary.disk) == _plain_sums(broker)
    if shutil.which("du"):
        said = subprocess.run(["du", "-s", "--block-size=1", str(broker)], capture_output=True, text=True, check=False)
        assert said.returncode or int(said.stdout.split()[0]) == overview.summary.disk
    files = Counter({space.what: space.files for space in overview.spaces})
    assert files == {
        "logs": 5,
        "indexes": 10,
        "other files of Kafka": 3 * 2 + 2 + 1,  # leader epochs and metadata, two of the log directory, and the link
        ".deleted files": 1,
        "-delete directories": 5,
        "not Kafka's": 2,  # the core dump, whose other name counts no second time, and what is in lost+found
        "directories": 0,
    }
    assert [space.disk for space in overview.spaces] == sorted((space.disk for space in overview.spaces), reverse=True)
    sizes = {space.what: space.size for space in overview.spaces}
    logs = list(broker.glob("*-[0-9]/*.log"))
    assert sizes["logs"] == sum(path.stat().st_size for path in logs)
    assert sizes["not Kafka's"] == 50_100
    going = kdump.info(next(broker.glob("*-delete"))).spaces
    assert {space.what: space.files for space in going} == {"-delete directories": 5, "directories": 0}
    assert [kind_of(name) for name in ("a.tmp", "b.part", ".nfs0a1")] == [*["other files of Kafka"] * 2, ".deleted files"]
    (foreign,) = (space for space in overview.spaces if space.largest is not None)
    assert foreign.what == "not Kafka's" and foreign.largest in (f"{broker}/orders-0/core.dump", f"{broker}/orders-0/again.dump")


@each("call, name", [("link_status", "orders-0/core.dump"), ("entries", "orders-0/odd"), ("entries", "orders-0")])
def test_what_cannot_be_looked_at_is_not_left_out_silently(
    call: str, name: str, broker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (broker / "orders-0" / "odd").mkdir(exist_ok=True)
    whole, path = getattr(system, call), f"{broker}/{name}"

    def fails(given: str) -> Any:
        if given == path:
            raise Unreadable("file-io-error", "Input/output error", path=given)
        return whole(given)

    monkeypatch.setattr(system, call, fails)
    for named in (broker, broker / "orders-0"):
        overview = kdump.info(named)
        assert ([one.path for one in overview.unseen], overview.exit_code) == ([path], 3)
        overview.take(Unseen(path, "what is said later"))
        assert [(one.path, one.message) for one in overview.rows() if isinstance(one, Unseen)] == [(path, "Input/output error")]


@pytest.mark.parametrize("level", ["headers", "full"])
def test_partitions_are_summed_up_as_they_were_written(level: str, broker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overview = kdump.info(broker, level=level)
    by_name = {os.path.basename(one.path): one for one in overview.partitions}
    orders = by_name["orders-0"]
    assert (orders.topic, orders.partition, orders.state, orders.segments) == ("orders", 0, None, 2)
    assert (orders.bytes_damaged, orders.broken_at) == (0 if level == "full" else None, None)
    assert by_name["gone-0.0123456789abcdef0123456789abcdef-delete"].state == "delete"
    assert [(topic.topic, topic.partitions, topic.offsets, topic.records) for topic in overview.topics] == [
        ("orders", 2, 50, 50),
        ("big", 1, 1, 1),
    ]
    of_slash = kdump.info(f"{broker}/", level=level).topics
    assert [(one.topic, one.size) for one in of_slash] == [(one.topic, one.size) for one in overview.topics]
    alone = kdump.info(broker / "orders-0" / file_name(0, ".log")).places
    assert [(one.what, one.broker, one.stop) for one in alone] == [("file", "7", "unclean")]
    place = overview.places[0]
    assert (place.what, place.broker, place.cluster, place.mode) == ("log-directory", "7", "abcdefghijklmnopqrstuv", "KRaft")
    assert (place.written_by, place.stop) == ("3.7 or later", "unclean")
    (broker / ".kafka_cleanshutdown").touch()
    assert kdump.info(broker).places[0].stop == "clean"
    monkeypatch.setattr(system, "is_locked", lambda path: path.endswith("kafka/.lock"))
    (broker / "meta.properties").write_text("version=9\n")
    place = kdump.info(broker).places[0]
    assert (place.stop, place.broker, place.cluster, place.mode) == ("running", None, None, None)
    (broker / "meta.properties").write_text("version=0\nbroker.id=3\n")
    place = kdump.info(broker).places[0]
    assert (place.stop, place.broker, place.cluster, place.mode) == ("running", "3", None, "ZooKeeper")
    assert overview.exit_code == 0


@each("seed", range(8))
def test_the_times_of_a_partition_are_those_of_all_its_batches(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    kind: TimestampType = "LogAppendTime" if seed % 2 else "CreateTime"
    times = [sorted(TIMESTAMP + chance.randrange(HOUR) for _ in range(2)) for _ in range(12)]
    pieces = []
    for row, (first, last) in enumerate(times):
        records = [record(), record(offset_delta=1, timestamp_delta=last - first)]
        pieces.append(batch(base_offset=2 * row, base_timestamp=first, max_timestamp=last, timestamp_type=kind, records=records))
    none = batch(base_offset=24, base_timestamp=-1, max_timestamp=-1, records=[record()])
    damaged = [*pieces[:4], b"\xff" * 90, *pieces[4:9], flipped(pieces[9]), *pieces[10:]]
    for topic, hurt in (("sound", pieces), ("damaged", damaged)):
        path = write_partition(tmp_path, topic=topic, segments={0: [*hurt, none]})
        (one,) = kdump.info(path, level="full").partitions
        whole = [time for row, both in enumerate(times) for time in both[seed % 2 :] if pieces[row] in hurt]
        assert (one.oldest_timestamp, one.newest_timestamp) == (min(whole), max(whole))


def test_only_a_directory_in_service_is_a_replica(tmp_path: Path) -> None:
    for name in ("t-0", "t-0.ab-delete", "t-0.ab-stray", "t-0.ab-future", "t"):
        (tmp_path / name).mkdir()
        assert name_of(str(tmp_path / name)) == ("t-0" if name == "t-0" else str(tmp_path / name))


def test_of_a_large_log_only_the_ends_are_read_and_that_is_said(tmp_path: Path) -> None:
    batches = [data(offset, at=TIMESTAMP + offset) for offset in range(3000)]
    write_partition(tmp_path, topic="t", segments={0: batches[:1000], 1000: batches[1000:2000], 2000: batches[2000:]})
    quick, whole = kdump.info(tmp_path / "t-0"), kdump.info(tmp_path / "t-0", level="full")
    one = quick.partitions[0]
    assert (one.first_offset, one.end_offset, one.newest_timestamp) == (0, 3000, TIMESTAMP + 2999)
    assert one.batches < 300 and one.broken_at is None
    assert one.read_bytes == one.batches * len(batches[0]) < one.size
    assert not one.is_read_whole
    assert (quick.summary.read_bytes, quick.summary.log_bytes) == (one.read_bytes, 3000 * len(batches[0]))
    assert (whole.partitions[0].batches, whole.partitions[0].records, whole.partitions[0].is_read_whole) == (3000, 3000, True)


def test_damage_is_said_where_it_was_met(tmp_path: Path) -> None:
    batches = [data(offset) for offset in range(10)]
    log = write_partition(tmp_path, topic="t", segments={0: batches}) / file_name(0, ".log")
    size = len(batches[0])
    whole = log.read_bytes()
    log.write_bytes(whole[: 3 * size] + b"\xff" * size + whole[4 * size :])
    one = kdump.info(tmp_path / "t-0").partitions[0]
    assert (one.broken_at, one.end_offset) == (f"{log}, byte {3 * size}", None)  # nobody looked for what is after it
    one = kdump.info(tmp_path / "t-0", level="full").partitions[0]
    assert (one.broken_at, one.end_offset, one.bytes_damaged) == (f"{log}, byte {3 * size}", 10, size)
    for at, field in ((0, b"\xff" * 8), (8, b"\xff\xff\xff\xfb"), (8, bytes(3) + b"\5"), (8, b"\x40" + bytes(3)), (16, b"\x80")):
        header = batches[3][:at] + field + batches[3][at + len(field) :]  # an offset, three lengths, a magic
        log.write_bytes(whole[: 3 * size] + header + whole[4 * size :])
        found = {kdump.info(tmp_path / "t-0", level=level).partitions[0].broken_at for level in ("headers", "full")}
        assert found == {f"{log}, byte {3 * size}"}, (at, field)
        assert kdump.triage(tmp_path / "t-0", level="headers").exit_code == 1, (at, field)
    for rest, is_broken in ((b"\1" * 5, True), (bytes(15), False), (batches[9][:17], True)):  # of which one is a header cut
        log.write_bytes(whole + rest)
        assert (kdump.info(tmp_path / "t-0").partitions[0].broken_at is not None) == is_broken, rest
    log.write_bytes(whole[: 9 * size] + flipped(batches[9]))  # headers alone do not show it
    assert kdump.info(tmp_path / "t-0").partitions[0].broken_at is None
    one = kdump.info(tmp_path / "t-0", level="full").partitions[0]
    assert one.broken_at is not None and one.bytes_damaged
    log.write_bytes(whole + bytes(4096))  # zeros at the end of the newest log are no damage
    assert kdump.info(tmp_path / "t-0").partitions[0].end_offset == 10
    one = kdump.info(tmp_path / "t-0", level="full").partitions[0]
    assert (one.broken_at, one.bytes_zero, one.bytes_damaged) == (None, 4096, 0)


def test_damage_in_an_older_log_is_met_and_where_no_end_is_found_topics_have_no_sums(tmp_path: Path) -> None:
    batches = [data(offset) for offset in range(10)]
    (tmp_path / "meta.properties").write_text(META)
    for number in range(2):
        write_partition(tmp_path, topic="t", partition=number, segments={0: batches[:5], 5: batches[5:], 10: []})
    write_partition(tmp_path, topic="t", partition=2, segments={0: batches})
    (topic,) = kdump.info(tmp_path).topics
    assert (topic.offsets, topic.records, topic.partitions_broken) == (30, None, 0)  # logs between were not read
    log = tmp_path / "t-1" / file_name(0, ".log")
    log.write_bytes(b"".join(batches[:2]) + b"\xff" * 300)
    found = kdump.info(tmp_path)
    assert [(one.broken_at, one.end_offset) for one in found.partitions] == [
        *((None, 10), (f"{log}, byte {2 * len(batches[0])}", 10), (None, 10)),
    ]
    (tmp_path / "t-1" / file_name(10, ".log")).write_bytes(data(10) + b"\xff" * 300)
    (topic,) = kdump.info(tmp_path).topics
    assert (topic.offsets, topic.partitions_broken) == (None, 1)


def _begun(offset: int, producer: int, at: int = TIMESTAMP) -> bytes:
    return data(offset, producer=producer, sequence=0, is_transactional=True, at=at)


@each("level", ["headers", "full"])
def test_open_transactions_have_their_age_and_hang_where_that_is_certain(level: str, tmp_path: Path) -> None:
    end = transaction_marker(base_offset=2, producer_id=1, producer_epoch=0, timestamp=TIMESTAMP)
    later = TIMESTAMP + HOUR
    written = [_begun(0, 1), _begun(1, 2), end, _begun(3, 2, later), _begun(4, 3, later - 20 * MINUTE), _begun(5, 4, -1)]
    written.append(_begun(6, 5, later - 20 * MINUTE - 1))
    found = kdump.info(write_partition(tmp_path, topic="t", segments={0: written}), level=level).transactions
    assert [(one.producer_id, one.first_offset, one.open_for_ms, one.is_certain, one.is_hanging) for one in found] == [
        (2, 1, HOUR, True, True),
        (3, 4, 20 * MINUTE, True, False),
        (4, 5, None, True, False),  # nobody knows since when
        (5, 6, 20 * MINUTE + 1, True, True),
    ]


def test_no_transaction_hangs_for_certain_where_its_marker_may_be_in_damage(tmp_path: Path) -> None:
    written = [data(0), _begun(1, 1), flipped(_begun(2, 2)), data(3), data(4, at=TIMESTAMP + HOUR)]
    found = kdump.info(write_partition(tmp_path, topic="t", segments={0: written}), level="full").transactions
    assert [(one.producer_id, one.is_certain, one.is_hanging) for one in found] == [(1, False, False)]
    path = write_partition(tmp_path, topic="end", segments={0: [_begun(0, 1), data(1, at=TIMESTAMP + HOUR), b"\xff" * 300]})
    assert [(one.is_certain, one.is_hanging) for one in kdump.info(path).transactions] == [(False, False)]


def test_a_snapshot_says_what_was_open_before_what_was_read(tmp_path: Path) -> None:
    open_at = {9: TIMESTAMP, 7: TIMESTAMP + 2 * HOUR}
    entries = [
        producer_entry(producer_id=8),
        *(producer_entry(producer_id=number, current_txn_first_offset=500, timestamp=at) for number, at in open_at.items()),
    ]
    batches = [data(offset) for offset in range(1999)] + [data(1999, at=TIMESTAMP + HOUR)]
    batches[1] = data(1, producer=5, sequence=0, is_transactional=True)  # its marker is in what is not read
    path = write_partition(
        tmp_path, topic="t", segments={0: batches[:1000], 1000: batches[1000:]}, producer_snapshots={1000: entries}
    )
    found = kdump.info(path)
    assert [(one.producer_id, one.open_for_ms, one.is_certain, one.is_hanging) for one in found.transactions] == [
        (9, HOUR, False, False),
        (7, 0, False, False),
    ]
    assert found.partitions[0].producers == 3
    for offset, is_certain in ((1991, True), (1990, True), (1989, False)):  # all is read from 1990 on
        segments = {0: batches[:1990], 1990: batches[1990:]}
        path_of = write_partition(tmp_path, partition=offset, segments=segments, producer_snapshots={offset: entries})
        first = kdump.info(path_of).transactions[0]
        assert (first.producer_id, first.is_certain, first.is_hanging) == (9, is_certain, is_certain)
    assert [one.producer_id for one in kdump.info(path, level="full").transactions] == [5]  # no batch of the others is there


@each("magic", [0, 1])
@each("level", ["headers", "full"])
def test_a_log_begins_with_the_first_message_in_its_first_wrapper(magic: int, level: str, tmp_path: Path) -> None:
    sets = [wrapper(messages=[message(magic=magic)] * 3, magic=magic, base_offset=base) for base in (7, 10)]
    (found,) = kdump.info(write_partition(tmp_path, segments={7: sets}), level=level).partitions
    assert (found.first_offset, found.end_offset) == (7, 13)


def _group_metadata(group: str, members: int, protocol: str | None) -> tuple[bytes, bytes]:
    member = string("m-%d") + int16(-1) + string("client") + string("/host") + int32(1) + int32(1) + sized(b"") + sized(b"")
    named = int16(-1) if protocol is None else string(protocol)
    value = int16(3) + string("consumer") + int32(1) + named + int16(-1) + int64(0) + int32(members) + member * members
    return int16(2) + string(group), value


def _commit(version: int, group: str, partition: int, value: bytes | None) -> tuple[bytes, bytes | None]:
    return int16(version) + string(group) + string("orders") + int32(partition), value


def _members(kind: int, group: str, *members: tuple[str, bytes | None]) -> list[tuple[bytes, bytes | None]]:
    return [(int16(kind) + string(group) + string(name), value) for name, value in members]


def test_groups_are_counted_by_their_last_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = int16(3) + int64(5) + int32(0) + string("") + int64(TIMESTAMP)
    forgotten, left = _group_metadata("forgotten", 1, "range"), _group_metadata("left", 1, "range")
    records = [
        *(_group_metadata("busy", 0, None), _group_metadata("busy", 1, "range"), _group_metadata("idle", 0, None)),
        *(_group_metadata("joining", 1, None), forgotten, (forgotten[0], None)),
        *(_commit(version, "loose", version, commit) for version in (0, 1)),
        *(_commit(1, "idle", 0, commit), _commit(1, "idle", 1, commit), _commit(1, "idle", 1, None), (b"odd", b"odd")),
        *((int16(kind) + string(f"new-{kind}"), b"any") for kind in (3, 11, 17)),
        *_members(5, "new-3", ("m-1", b"any"), ("m-2", b"any"), ("m-2", None)),
        *(*_members(10, "new-11", ("m-1", b"any"), ("m-2", b"any")), *_members(19, "new-17", ("m-1", b"any"))),
        *((int16(3) + string("gone"), value) for value in (b"any", None)),
        *(left, (left[0], None), _commit(1, "left", 0, commit)),
    ]
    written = [batch(records=[record(key=key, value=value)], base_offset=n) for n, (key, value) in enumerate(records)]
    path = write_partition(tmp_path, topic="__consumer_offsets", segments={0: written})
    assert [(one.group, one.type, one.state, one.members, one.committed) for one in kdump.info(path).groups] == [
        *(("busy", "classic", "stable", 1, 0), ("idle", "classic", "empty", 0, 1), ("joining", "classic", "rebalancing", 1, 0)),
        *(("left", "classic", "offsets-only", 0, 1), ("loose", "classic", "offsets-only", 0, 2)),
        *(
            ("new-11", "share", "with-members", 2, 0),
            ("new-17", "streams", "with-members", 1, 0),
            ("new-3", "consumer", "with-members", 1, 0),
        ),
    ]
    size = len(b"".join(written))
    for level, most, are_read in (("headers", size, True), ("headers", size - 1, False), ("full", 0, True)):
        monkeypatch.setattr("kdump.overview.contents._READ_ANYWAY", most)
        assert bool(kdump.info(path, level=level).groups) == are_read
    going = path.rename(f"{path}.0123456789abcdef0123456789abcdef-delete")
    assert kdump.info(going, level="full").groups == []


def _rows(capfd: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert main(["info", "--output", "ndjson", *options, "kafka"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_only_the_partitions_that_are_asked_for_are_read(broker: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = _rows(capfd, "--topics", "ord*", "--partitions", "1")
    assert [row["path"] for row in rows if row["kind"] == "partition"] == ["kafka/orders-1"]
    assert main(["info", "--topics", "other", "kafka/orders-0"]) == 3
    capfd.readouterr()
    assert main(["info", "--partitions", "x", "kafka"]) == 2
    assert capfd.readouterr().err == "kdump: --partitions is like 0,4-7, not 'x'\n"


def test_each_row_fits_its_schema_and_processes_find_what_one_finds(broker: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = _rows(capfd, "--level", "full")
    assert all(list(row) == schema_of(row["kind"])["required"] for row in rows)
    assert {row["kind"] for row in rows} == {"place", "space", "topic", "partition", "info-summary"}
    alone = [one.path for one in kdump.info("kafka").partitions]
    assert [row["path"] for row in _rows(capfd, "--jobs", "2") if row["kind"] == "partition"] == alone


def test_a_rate_is_that_of_one_process(broker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []

    def overview_of(*_: object, processes: int, **__: object) -> Overview:
        used.append(processes)
        return Overview()

    monkeypatch.setattr(Source, "throttle", None)  # which the command sets for its process
    monkeypatch.setattr("kdump.cli.looking.run.overview_of", overview_of)
    for rate in ([], ["--rate", "100MB/s"]):
        assert main(["info", "--jobs", "3", *rate, "kafka"]) == 3  # nothing is there
    assert used == [3, 1]


def test_what_is_not_there_or_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kdump.Unreadable, match="nowhere: no such file or directory"):
        main(["info", "nowhere"])
    assert main(["info", "nowhere", "."]) == 3
    assert "nowhere: there is no such file or directory" in capfd.readouterr().out
    with pytest.raises(kdump.UsageError, match="there is no level 'deep'"):
        kdump.info(tmp_path, level="deep")
    path = write_partition(tmp_path, topic="t", segments={0: [data(0)]})
    (path / file_name(5, ".log")).mkdir()
    (path / file_name(7, ".log")).symlink_to("nothing")
    overview = kdump.info(path)
    assert overview.partitions[0].segments == 1
    died = Finding.partial("check-crashed", "error", str(path), "directory", 0, 0, None)
    died.message = "The process died."
    overview.take(died)
    assert [one.path for one in overview.unseen] == [str(path)]
    assert overview.exit_code == 3


def test_a_directory_above_log_directories_adds_up_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    above = Path("data")
    for name in ("one", "two"):
        write_partition(above / name, segments={0: [data(0, 40)]}, topic="orders")
        (above / name / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    (above / "backup.tar").write_bytes(bytes(70_000))
    (above / "config").mkdir()
    found = [os.lstat(path) for path in [above, *above.rglob("*")]]
    for path in (str(above), f"{above}/"):
        spaces = kdump.info(path).spaces
        assert sum(one.size for one in spaces) == sum(one.st_size for one in found)
        assert sum(one.disk for one in spaces) == sum(512 * one.st_blocks for one in found)
    assert main(["info", str(above)]) == 0
    shown = capfd.readouterr().out
    assert f"{above}: what is in it besides" in shown and f"{above}/backup.tar" in shown and f"{above}/config" not in shown
