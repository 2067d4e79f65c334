"""`kdump reindex` makes the companions that log managers make, of sound logs only, and in a new directory only."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.binary import kernel
from kdump.checks.catalogue import FAULTS
from kdump.cli.commands import main
from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.formats import batch_writer
from kdump.mending.new.new_partition import NewPartition
from kdump.mending.reindex import reindex
from kdump.mending.row import Companion, Hole
from tests import restarts
from tests.builders.files import partition_metadata, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, transaction_marker, wrapper
from tests.loops import each, of_all_cases
from tests.restarts import rebuilt
from tests.support import Capture, Patch

FIRST = "00000000000000000000"
LINES = list(rebuilt.lines())


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("directories")
    restarts.unpack(folder)
    return folder


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.both_kernels
@pytest.mark.parametrize("step", [of_all_cases(1), pytest.param(4, marks=pytest.mark.slow), 16])
def test_log_managers_rebuild_the_same_files(step: int, directories: Path, tmp_path: Path) -> None:
    """Of 4.3.1, 3.9.1 and 2.8.2, whatever companions there were before."""
    made = 0
    lines = LINES[:: step if kernel.native is not None else max(step, 8)]  # the reference is slow
    for line in lines:
        case = rebuilt.strip(directories / line["case"], tmp_path / "in")
        out = tmp_path / "out"
        try:
            kdump.reindex(case, out)
        except CorruptData as fault:
            is_split = fault.code == "offset-overflow-int32"  # by a start, which makes several segments of it
            assert is_split or any(finding.severity == "error" for finding in kdump.check(case)), (line["case"], fault)
            assert "kdump check" in str(fault) and not out.exists()
        else:
            made += 1
            found = _contents(out)
            for release, files in line["files"].items():
                assert rebuilt.digests(found) == files, (line["case"], release)
            assert {name: data for name, data in found.items() if name.endswith(".log")} == _contents(case)
            shutil.rmtree(out)
        shutil.rmtree(case.parent)
    assert made > len(lines) // 2


def _refusal(folder: Path) -> str:
    """The code for which no partition is made; empty if one is."""
    try:
        kdump.reindex(folder / "a-0", folder / "out")
    except CorruptData as fault:
        assert not (folder / "out").exists()
        return fault.code
    return ""


@each(
    ("segments", "code"),
    [
        *(({5: [5]}, ""), ({5: [4]}, "offset-below-base"), ({0: [0, 2]}, ""), ({0: [0, 1]}, "offset-regression")),
        *(({0: [0], 2: [2]}, ""), ({0: [0], 1: [2]}, "segments-overlap"), ({0: [0], 1: []}, "segments-overlap")),
        *(({0: [0, (1 << 31) - 2]}, ""), ({0: [0, (1 << 31) - 1]}, "offset-overflow-int32")),
    ],
)
def test_offsets_have_to_be_in_order_within_their_segment(segments: dict[int, list[int]], code: str, tmp_path: Path) -> None:
    """By the first offsets of batches of two records."""
    logs = {base: [batch(base_offset=first, records=[record()] * 2) for first in firsts] for base, firsts in segments.items()}
    write_partition(tmp_path, topic="a", segments=logs)
    assert _refusal(tmp_path) == code


@each("key, code", [(b"\0\0\0\0", ""), (b"\0\0\0\1", ""), (b"\0\0\0\2", "control-type-unknown"), (None, "control-key-null")])
def test_a_producer_writes_no_other_control_records_than_markers(key: bytes | None, code: str, tmp_path: Path) -> None:
    control = batch(records=[record(key=key, value=bytes(6))], producer_id=7, producer_epoch=0, is_control=True)
    write_partition(tmp_path, topic="a", segments={0: [control]})
    assert _refusal(tmp_path) == code


@each("start, code", [(3, ""), (4, "log-start-beyond-end")])
def test_the_log_start_is_not_after_the_log_end(start: int, code: str, tmp_path: Path) -> None:
    write_partition(tmp_path, topic="a", segments={0: TRANSACTIONS})
    (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\na 0 {start}\n")
    assert _refusal(tmp_path) == code


# --- what is made

TRANSACTIONS = [
    batch(base_offset=0, records=[record(value=b"v")], producer_id=7, producer_epoch=0, base_sequence=0, attributes=0x10),
    batch(base_offset=1, records=[record(value=b"v")], producer_id=8, producer_epoch=0, base_sequence=0, attributes=0x10),
    transaction_marker(base_offset=2, producer_id=7, producer_epoch=0, is_commit=False),
]


def _partition(tmp_path: Path) -> Path:
    """A partition with an aborted transaction and one that is open, and all files that a broker has."""
    segments = {0: TRANSACTIONS, 3: [batch(base_offset=3, records=[record()])]}
    path = write_partition(tmp_path / "data", topic="orders", segments=segments)
    (path / "partition.metadata").write_bytes(partition_metadata())
    return path


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    return _partition(tmp_path)


def test_a_row_says_how_a_file_compares_with_the_inputs(partition: Path, tmp_path: Path) -> None:
    (partition / f"{FIRST}.timeindex").write_bytes(b"\0" * 11 + b"\1")
    (partition / f"{FIRST}.index").write_bytes(bytes(80))  # a zero tail
    (partition / f"{FIRST}.txnindex").unlink(missing_ok=True)
    rows = {row.path: row for row in kdump.reindex(partition, tmp_path / "out") if isinstance(row, Companion)}
    assert (rows[f"{FIRST}.timeindex"].before, rows[f"{FIRST}.timeindex"].size_before) == ("different", 12)
    assert (rows[f"{FIRST}.index"].before, rows[f"{FIRST}.index"].size) == ("same", 0)
    assert (rows[f"{FIRST}.txnindex"].before, rows[f"{FIRST}.txnindex"].size_before) == ("missing", None)
    assert (rows[f"{FIRST}.log"].action, rows["partition.metadata"].action) == ("cloned", "cloned")
    assert sorted(rows) == sorted(_contents(tmp_path / "out"))
    at_zero = batch(records=[record(timestamp=0)])  # its entry in the time index consists of zeros
    path = write_partition(tmp_path, topic="a", segments={0: [at_zero]})
    kdump.reindex(path, tmp_path / "made")
    for row in kdump.reindex(tmp_path / "made", tmp_path / "again"):
        assert not isinstance(row, Companion) or row.before in ("same", None), row


def test_the_index_interval_is_a_setting(tmp_path: Path) -> None:
    batches = [batch(base_offset=offset, records=[record(value=b"v")]) for offset in range(5)]
    write_partition(tmp_path, topic="a", segments={0: batches})
    kdump.reindex(tmp_path / "a-0", tmp_path / "out", config={"index.interval.bytes": 0, "segment.index.bytes": 32})
    with pytest.raises(CorruptData, match=r"an index of 32 bytes would exceed segment\.index\.bytes, 31"):
        kdump.reindex(tmp_path / "a-0", tmp_path / "no", config={"index.interval.bytes": 0, "segment.index.bytes": 31})
    assert [entry.offset for entry in kdump.open(tmp_path / "out" / f"{FIRST}.index", "index")] == [1, 2, 3, 4]


def test_a_producer_that_was_silent_for_too_long_is_forgotten(tmp_path: Path) -> None:
    """As by a broker that loads the snapshot a minute after the last record."""
    day = 86_400_000

    def of(offset: int, producer_id: int, time: int) -> bytes:
        records = [record(value=b"v", timestamp=TIMESTAMP + time)]
        return batch(base_offset=offset, records=records, producer_id=producer_id, producer_epoch=0, base_sequence=0)

    write_partition(tmp_path, topic="a", segments={0: [of(0, 1, 60_000), of(1, 2, 60_001)], 2: [of(2, 3, day)]})
    for name in (f"{FIRST}.timeindex", f"{2:020}.timeindex"):  # so that the newest time is not known at first
        (tmp_path / "a-0" / name).unlink(missing_ok=True)
    kdump.reindex(tmp_path / "a-0", tmp_path / "out")
    snapshots = {offset: kdump.open(tmp_path / "out" / f"{offset:020}.snapshot", "snapshot") for offset in (2, 3)}
    assert {offset: [row.producer_id for row in rows] for offset, rows in snapshots.items()} == {2: [1, 2], 3: [2, 3]}
    old = message_set(messages=[message(offset=2, magic=1, value=b"v")])
    path = write_partition(tmp_path, topic="b", segments={0: [of(0, 1, 0), of(1, 2, 0), old]})
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nb 0 2\n")
    kdump.reindex(path, tmp_path / "b")  # the snapshot at the log start is not loaded: a broker deletes it
    assert list(kdump.open(tmp_path / "b" / "00000000000000000003.snapshot", "snapshot")) == []


def test_a_log_directory_is_copied_with_its_checkpoints(partition: Path, tmp_path: Path) -> None:
    data = partition.parent
    (data / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    (data / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    (data / ".kafka_cleanshutdown").touch()
    (data / ".lock").touch()
    (data / "gone-0.0123456789abcdef0123456789abcdef-delete").mkdir()
    kdump.reindex(data, tmp_path / "out")
    expected = ["meta.properties", "orders-0", "recovery-point-offset-checkpoint"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == expected
    assert kdump.verdict(tmp_path / "out" / "orders-0").exit_code == 0


def test_of_a_log_directory_only_the_chosen_partitions_are_copied(partition: Path, tmp_path: Path, capfd: Capture) -> None:
    for number in (1, 2, f"3.{'0' * 32}-delete"):  # the last is never counted
        shutil.copytree(partition, partition.parent / f"orders-{number}")
    write_partition(partition.parent, topic="sums", segments={0: [b"damaged"]})
    checkpoint = partition.parent / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n4\norders 0 3\nsums 0 1\norders 2 4\norders 1 2\n")
    choice = ["--topics", "ord*", "--partitions", "0,2-3"]
    assert main(["reindex", str(partition.parent), "-o", str(tmp_path / "out"), *choice]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["orders-0", "orders-2", checkpoint.name]
    assert (tmp_path / "out" / checkpoint.name).read_text() == "0\n2\norders 0 3\norders 2 4\n"
    assert "Only a selection: 2 other partitions are not copied: they were not chosen." in capfd.readouterr().out
    rows = kdump.reindex(partition.parent, tmp_path / "one", topics=["ord*"], partitions=[1])
    assert {os.path.dirname(row.path) for row in rows} == {"orders-1", ""}
    with pytest.raises(UsageError, match="none of 4 partitions is of these topics"):
        kdump.reindex(partition.parent, tmp_path / "none", topics=["ORDERS"])
    with pytest.raises(UsageError, match="orders-0 is not of these topics"):
        kdump.reindex(partition, tmp_path / "none", partitions=[1])
    assert not (tmp_path / "none").exists()


# --- what is refused


def test_the_codes_are_those_of_checks() -> None:
    texts = [path.read_text() for path in Path(reindex.__file__).parent.parent.rglob("*.py")]
    codes = {code for text in texts for code in re.findall(r'CorruptData\(\s*"([a-z0-9-]+)"', text)}
    of_formats = {"position-overflow", "meta-id-missing", "meta-directory-id-malformed"}
    assert len(codes) > 8 and codes <= FAULTS.keys() | of_formats


WRONG_COUNT = batch(base_offset=0, records=[record(value=b"v")], records_count=-1)


@each(
    "name, data, code",
    [
        (f"{FIRST}.log", flipped(b"".join(TRANSACTIONS), 66), "crc-mismatch"),
        (f"{3:020}.log", batch(base_offset=3, records=[record()]) + bytes(3), "torn-header"),
        (f"{FIRST}.log", WRONG_COUNT, "record-count-negative"),  # which is found by the check of the result
        (f"{FIRST}.log.swap", b"", "leftover-swap"),  # the next start completes it
        # logs that would be left out
        *((name, b"".join(TRANSACTIONS), "name-width-odd") for name in ("abc.log", "7.log", f"{FIRST}.copy.log")),
    ],
    quick=7,
)
def test_what_a_start_would_not_keep_as_it_is_is_refused(name: str, data: bytes, code: str, tmp_path: Path) -> None:
    path = _partition(tmp_path)
    (path / name).write_bytes(data)
    before = _contents(path)
    with pytest.raises((CorruptData, Unreadable)) as caught:
        kdump.reindex(path, tmp_path / "out")
    assert caught.value.code == code
    assert _contents(path) == before and sorted(os.listdir(tmp_path)) == ["data"]


@pytest.mark.parametrize(
    "settings",
    [
        {"cleanup.policy": "compact"},
        *({"index.interval.bytes": text} for text in ("-1", "x", " 5", "\u0663", str(1 << 31), "9" * 5000)),
    ],
    ids=lambda settings: next(iter(settings.values()))[:20],
)
def test_unknown_settings_are_refused(settings: dict[str, Any], partition: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        kdump.reindex(partition, tmp_path / "out", config=settings)
    with pytest.raises(UsageError):
        kdump.reindex(partition, tmp_path / "out", only=["indexes"])
    assert not (tmp_path / "out.incomplete").exists()


# --- without the logs


def test_files_that_the_rebuild_does_not_have_are_to_be_removed(partition: Path, tmp_path: Path) -> None:
    logs = [name for name in _contents(partition) if name.endswith(".log")]
    stale = ["00000000000000000001.snapshot", "00000000000000000003.txnindex", "partition.metadata"]
    for name in stale:
        (partition / name).write_bytes(b"stale")
    (partition / "3.index").write_bytes(b"of no segment")
    (partition / f"{FIRST}.index").unlink(missing_ok=True)
    rows = kdump.reindex(partition, tmp_path / "out", without_logs=True)
    found = {row.path: row.size_before for row in rows if isinstance(row, Companion) and row.action == "to-remove"}
    assert found == dict.fromkeys(stale, 5)
    for name in (*found, "3.index"):
        (partition / name).unlink()
    shutil.copytree(tmp_path / "out", partition, dirs_exist_ok=True)
    kdump.reindex(partition, tmp_path / "whole")
    assert _contents(partition) == _contents(tmp_path / "whole") and set(logs) <= set(_contents(partition))
    assert not [finding for finding in kdump.check(partition) if finding.severity == "error"]


def test_without_logs_other_companions_stay_where_they_are(partition: Path, tmp_path: Path) -> None:
    kdump.reindex(partition, tmp_path / "sound")
    rows = kdump.reindex(tmp_path / "sound", tmp_path / "out", only=["timeindex"], without_logs=True)
    assert sorted(_contents(tmp_path / "out")) == [f"{FIRST}.timeindex", "00000000000000000003.timeindex"]
    assert {row.action for row in rows if isinstance(row, Companion)} == {"rebuilt"}


def test_without_logs_the_other_companions_are_checked_with_the_new_ones(partition: Path, tmp_path: Path) -> None:
    (partition / f"{FIRST}.timeindex").write_bytes(b"\0" * 11 + b"\1")
    with pytest.raises(CorruptData):
        kdump.reindex(partition, tmp_path / "out", only=["index"], without_logs=True)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_without_logs_damage_is_refused_and_a_hole_reported(partition: Path, tmp_path: Path) -> None:
    log = partition / "00000000000000000003.log"
    data = log.read_bytes()
    log.write_bytes(data[:-1])
    with pytest.raises(CorruptData) as raised:
        kdump.reindex(partition, tmp_path / "out", without_logs=True)
    assert str(raised.value.path) == str(log)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    log.write_bytes(data)
    (partition / "00000000000000000009.index").write_bytes(b"")
    (partition / "leader-epoch-checkpoint").write_bytes(b"0\n1\n5 9\n")
    assert main(["reindex", str(partition), "-o", str(tmp_path / "out"), "--without-logs"]) == 1


def test_a_log_that_changes_while_companions_are_written_is_refused(partition: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    verify = NewPartition.verify

    def change(self: Any, **given: Any) -> None:
        verify(self, **given)
        os.utime(partition / f"{FIRST}.log", ns=(1, 1))

    monkeypatch.setattr(NewPartition, "verify", change)
    with pytest.raises(Unreadable, match="was changed"):
        kdump.reindex(partition, tmp_path / "out", without_logs=True)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


# --- the command


@pytest.mark.parametrize("form", ["ndjson", "json", "csv", "table"])
def test_the_command_reports_what_it_made(form: str, partition: Path, tmp_path: Path, capfd: Capture) -> None:
    assert main(["reindex", str(partition), "-o", str(tmp_path / "out"), "--output", form]) == 0
    assert f"{FIRST}.timeindex" in capfd.readouterr().out


def test_the_exit_code_says_why_there_is_no_directory(partition: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert main(["reindex", str(partition)]) == 2
    assert main(["reindex", str(partition), "-o", str(partition / "out")]) == 2
    assert main(["reindex", str(partition), "-o", out, "--config", "x"]) == 2
    with pytest.raises(Unreadable, match="no such file"):
        main(["reindex", str(tmp_path / "nothing"), "-o", out])
    (partition / f"{FIRST}.log").write_bytes(b"\0" * 100)
    assert main(["reindex", str(partition), "-o", out]) == 3
    assert not Path(out).exists()


def test_the_time_of_a_producer_is_that_of_its_marker_and_not_of_the_batch(tmp_path: Path) -> None:
    marker = bytearray(transaction_marker(base_offset=1, producer_id=7, producer_epoch=0, timestamp=TIMESTAMP))
    marker[35:43] = (TIMESTAMP - 500).to_bytes(8, "big")  # maxTimestamp
    data = batch(base_offset=0, records=[record(value=b"v")], producer_id=7, producer_epoch=0, base_sequence=0, attributes=0x10)
    write_partition(tmp_path, topic="a", segments={0: [data, batch_writer.with_crc(marker)]})
    kdump.reindex(tmp_path / "a-0", tmp_path / "out")
    marker[22] |= 8  # which says that the time of the batch is that of the append
    write_partition(tmp_path, topic="b", segments={0: [data, batch_writer.with_crc(marker)]})
    for topic, time in (("a", TIMESTAMP), ("b", TIMESTAMP - 500)):
        kdump.reindex(tmp_path / f"{topic}-0", tmp_path / "out" / topic)
        (producer,) = kdump.open(tmp_path / "out" / topic / "00000000000000000002.snapshot", "snapshot")
        assert producer.timestamp == time


def test_producers_without_sequences_and_of_removed_markers_are_in_a_snapshot(tmp_path: Path) -> None:
    """Kafka: UnifiedLog.updateProducers."""
    without = batch(base_offset=3, records=[record(value=b"v")], producer_id=9, producer_epoch=4)
    removed = batch(base_offset=4, records=[], producer_id=10, producer_epoch=5, is_control=True)
    write_partition(tmp_path, topic="a", segments={0: [*TRANSACTIONS, without, removed]})
    kdump.reindex(tmp_path / "a-0", tmp_path / "out")
    rows = kdump.open(tmp_path / "out" / "00000000000000000005.snapshot", "snapshot")
    found = {row.producer_id: (row.producer_epoch, row.last_sequence, row.last_offset) for row in rows}
    assert found == {7: (0, 0, 0), 8: (0, 0, 1), 9: (4, -1, 3), 10: (-1, -1, -1)}


@each(("start", "epochs"), [(0, "0 0 1 3 2 5"), (2, "0 2 1 3 2 5"), (3, "1 3 2 5"), (4, "1 4 2 5"), (5, "2 5")])
def test_the_first_leader_epoch_is_the_one_that_holds_at_the_log_start(start: int, epochs: str, tmp_path: Path) -> None:
    """Kafka: LeaderEpochFileCache.truncateFromStartAsyncFlush."""
    of_epochs = enumerate((0, 0, 0, 1, 1, 2))
    batches = [batch(base_offset=row, records=[record()], partition_leader_epoch=epoch) for row, epoch in of_epochs]
    path = write_partition(tmp_path, topic="a", segments={0: batches})
    (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\na 0 {start}\n")
    kdump.reindex(path, tmp_path / "out")
    _, _, *found = (tmp_path / "out" / "leader-epoch-checkpoint").read_text().split("\n")
    assert " ".join(found).strip() == epochs


def _wrappers(magic: int) -> list[bytes]:
    """No checksum covers their offsets: those in the headers ascend, those of the messages inside do not."""
    wrappers = [wrapper(messages=[message(value=b"v", magic=magic)] * 4, magic=magic, base_offset=4 * row) for row in range(5)]
    return [*wrappers[:2], (11 ^ 2).to_bytes(8, "big") + wrappers[2][8:], *wrappers[3:]]


GOOD = wrapper(messages=[message(value=b"v")] * 2, timestamp=TIMESTAMP + 50)
BAD = wrapper(messages=[message(value=b"v"), message(value=b"w", size=-5)], base_offset=2, timestamp=TIMESTAMP)


@each(
    "log, said",
    [
        ([GOOD, BAD], "start would not keep"),  # after an unclean stop: 4.x opens wrappers then
        *((_wrappers(magic), r"its base offset is 9, .* 11 would fit") for magic in (0, 1)),
    ],
    ids=["stops a broker", "reaches into others, magic 0", "reaches into others, magic 1"],
)
def test_a_wrapper_that_a_start_would_not_keep_is_refused(log: list[bytes], said: str, tmp_path: Path) -> None:
    partition = tmp_path / "a-0"
    partition.mkdir()
    (partition / f"{FIRST}.log").write_bytes(b"".join(log))
    with pytest.raises(CorruptData, match=said):
        kdump.reindex(partition, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("gone", "lost"), [("first", [(0, 14)]), ("newest", [(15, 29)]), ("all", None), ("cut", [(20, 29)]), ("nothing", [])]
)
def test_what_other_files_know_and_the_logs_do_not_have_is_reported(
    gone: str, lost: list[tuple[int, int]] | None, tmp_path: Path, capfd: Capture
) -> None:
    """The copy looks sound, without the files that say what is missing."""
    records = [record(value=b"v" * 2000)] * 5
    batches = [
        batch(base_offset=offset, base_sequence=offset, records=records, producer_id=7, producer_epoch=0)
        for offset in range(0, 30, 5)
    ]
    path = write_partition(tmp_path, topic="a", segments={0: batches[:3], 15: batches[3:]}, index_interval_bytes=0)
    first, newest = (path / f"{base:020}.log" for base in (0, 15))
    for log in {"first": [first], "newest": [newest], "all": [first, newest]}.get(gone, []):
        log.unlink()
    if gone == "cut":
        newest.write_bytes(batches[3])
    code = main(["reindex", str(path), "-o", str(tmp_path / "out")])
    said, refused = capfd.readouterr()
    if lost is None:
        assert code == 3 and "kdump recover" in refused and not (tmp_path / "out").exists()
        return
    assert code == (1 if lost else 0) and f"Exit status {code}." in said
    assert ("hole" in said) == bool(lost)
    rows = kdump.reindex(path, tmp_path / "again")
    holes = {(row.offset_first, row.offset_last, row.offsets) for row in rows if isinstance(row, Hole)}
    assert holes == {(first, last, last - first + 1) for first, last in lost}
