"""`kdump slice` makes a small valid partition that holds what was asked for, with the transactions as they were."""

import json
import random
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import kdump
from campaigns import cut_out
from campaigns.cut_out import Written
from kdump.cli.commands import main
from kdump.errors import CorruptData, UsageError
from kdump.mending.row import Hole, SlicedSegment
from kdump.output.text.slice import SliceReport
from kdump.output.text.style import ReportStyle
from tests.builders.files import checkpoint, partition_metadata, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, transaction_marker, wrapper
from tests.loops import each
from tests.support import skip_if

FIRST = "00000000000000000000"


def _data(offset: int, producer_id: int, count: int = 5, **more: Any) -> bytes:
    records = [record(key=b"k%d" % (row % 3), value=b"v%d" % (offset + row), timestamp=TIMESTAMP + row) for row in range(count)]
    fields: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": offset, "is_transactional": True}
    return batch(base_offset=offset, records=records, **fields, **more)


SEGMENTS = {
    0: [_data(0, 7, codec="gzip"), _data(5, 8), transaction_marker(base_offset=10, producer_id=8, is_commit=False)],
    11: [_data(11, 7), batch(base_offset=16, records=[record(key=b"z", value=b"plain")] * 10, codec="zstd")],
    26: [
        transaction_marker(base_offset=26, producer_id=7, is_commit=False),
        batch(base_offset=27, records=[record(value=b"x")] * 3),
    ],
}


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Producer 7 has a transaction over two segments that the third aborts; that of producer 8 is aborted in the first."""
    write_partition(tmp_path / "data", topic="orders", segments=SEGMENTS)
    (tmp_path / "data" / "orders-0" / "partition.metadata").write_bytes(partition_metadata())
    return tmp_path / "data" / "orders-0"


def _read(directory: Path) -> list[Written]:
    """All records, as `kdump log --deep` reads them."""
    found = []
    for path in sorted(directory.glob("*.log")):
        log = kdump.open(path)
        control = {one.base_offset for one in log if one.is_control}
        flags = [(one.base_offset, one.last_offset, one.producer_id, one.is_transactional) for one in log]
        for row in log.records():
            of_batch = next((one for one in flags if one[0] is not None and one[0] <= row.offset <= one[1]), (0, 0, None, False))
            is_control = row.offset in control
            found.append(
                Written(
                    row.offset,
                    row.timestamp,
                    None if is_control else row.key,
                    None if is_control else row.value,
                    -1 if of_batch[2] is None else of_batch[2],
                    bool(of_batch[3]),
                    is_control,
                    is_control and row.key == b"\0\0\0\1",
                )
            )
    return found


def _aborted(directory: Path) -> list[tuple[int | None, int, int]]:
    """Producer, first and last offset of the aborted transactions in the indexes."""
    rows = [row for path in sorted(directory.glob("*.txnindex")) for row in kdump.open(path)]
    return [(row.producer_id, row.first_offset, row.last_offset) for row in rows]


def _batches(directory: Path) -> list[tuple[Any, ...]]:
    return [(one.base_offset, one.last_offset, one.count) for path in sorted(directory.glob("*.log")) for one in kdump.open(path)]


def _log_of(directory: Path) -> bytes:
    (path,) = directory.glob("*.log")
    return path.read_bytes()


def _names(directory: Path, suffix: str) -> list[int]:
    return [int(path.stem) for path in sorted(directory.glob(f"*{suffix}"))]


# --- ranges


def test_whole_batches_are_kept(partition: Path, tmp_path: Path) -> None:
    (row,) = kdump.slice(partition, tmp_path / "out", from_offset=20, to_offset=22)
    assert isinstance(row, SlicedSegment)
    assert _batches(tmp_path / "out") == [(16, 25, 10)]
    assert (row.path, row.source) == ("00000000000000000016.log", "00000000000000000011.log")
    assert (row.first_offset, row.last_offset, row.records, row.kept) == (16, 25, 10, 10)
    data = (tmp_path / "out" / "00000000000000000016.log").read_bytes()
    assert (partition / "00000000000000000011.log").read_bytes().endswith(data)
    path = write_partition(tmp_path, topic="a", segments={0: _PLAIN[:2], 4: []})
    for name, last, bases in (("all", None, [0, 4]), ("some", 3, [0])):
        kdump.slice(path, tmp_path / name, to_offset=last)
        assert _names(tmp_path / name, "log") == bases, "an empty one where the log ends"


@each("with_damage", [False, True])
@each("last", [0, 5, 40])
def test_logs_whose_names_are_exchanged_are_refused_for_any_range(tmp_path: Path, last: int, with_damage: bool) -> None:
    path = write_partition(tmp_path, segments={base: [_data(base, 7), _data(base + 5, 7)] for base in (0, 10, 20)})
    logs = [path / f"{base:020}.log" for base in (0, 10)]
    contents = [log.read_bytes() for log in logs]
    for log, data in zip(logs, reversed(contents), strict=True):
        log.write_bytes(data)
    with pytest.raises(CorruptData, match="it starts with offset 10, which is in another log") as refused:
        kdump.slice(path, tmp_path / "out", from_offset=0, to_offset=last, with_damage=with_damage)
    assert "kdump recover" in str(refused.value.remedy) and not (tmp_path / "out").exists()


@each("last, is_cleaned, is_excerpt, is_taken", [(12, 0, 0, 0), (12, 1, 0, 1), (40, 0, 0, 0), (12, 0, 1, 0), (40, 0, 1, 1)])
def test_what_another_log_has_is_found(last: int, is_cleaned: bool, is_excerpt: bool, is_taken: bool, tmp_path: Path) -> None:
    """A gap that the cleaner may have left is none to look into; an excerpt of all logs has what is in any."""
    logs = {0: (0, 10), 20: (20,), 30: (30, 5, 35)}
    segments = {base: [batch(base_offset=first, records=[record()] * 5) for first in firsts] for base, firsts in logs.items()}
    path = write_partition(tmp_path, topic="a", partition=0, segments=segments)
    (tmp_path / "cleaner-offset-checkpoint").write_bytes(checkpoint(entries=[("a", 0, 30)] if is_cleaned else []))
    with nullcontext() if is_taken else pytest.raises(CorruptData, match="it has offsets 5 to 9, which are missing"):
        kdump.slice(path, tmp_path / "out", to_offset=last, with_damage=is_excerpt)
    for magic in (0, 1):  # of old batches only the last offsets are in their headers
        whole = [wrapper(messages=[message(magic=magic)] * 5, magic=magic, base_offset=first) for first in (0, 5, 10)]
        path = write_partition(tmp_path / str(magic), topic="a", segments={**segments, 0: whole})
        kdump.slice(path, tmp_path / f"out-{magic}", to_offset=12, with_damage=is_excerpt)


def test_markers_after_the_range_belong_to_the_transactions_in_it(partition: Path, tmp_path: Path) -> None:
    """Otherwise a consumer that reads committed would wait at an open transaction."""
    kdump.slice(partition, tmp_path / "out", from_offset=3, to_offset=7)
    assert _batches(tmp_path / "out") == [(0, 4, 5), (5, 9, 5), (10, 10, 1), (26, 26, 1)]
    assert _aborted(tmp_path / "out") == [(8, 5, 10), (7, 0, 26)]
    both = [batch for base in (0, 6) for batch in (_data(base, 7), transaction_marker(base_offset=base + 5, producer_id=7))]
    kdump.slice(write_partition(tmp_path / "two", segments={0: both}), tmp_path / "one", to_offset=4)
    assert _batches(tmp_path / "one") == [(0, 4, 5), (5, 5, 1)], "not the marker of the next one"


def test_a_slice_starts_at_the_log_start_offset(partition: Path, tmp_path: Path) -> None:
    (partition.parent / "log-start-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 0, 13)]))
    for first in (None, 5):
        kdump.slice(partition, tmp_path / f"{first}", from_offset=first, exact=True)
        assert next(one.offset for one in _read(tmp_path / f"{first}")) == 13


# --- damage


@each("snapshot, is_lost", [(10, False), (12, True)])
def test_zeros_at_the_end_of_the_last_log_are_damage_if_batches_were_there(tmp_path: Path, snapshot: int, is_lost: bool) -> None:
    partition = write_partition(tmp_path, topic="a", segments={0: [_data(0, 7)], 5: [_data(5, 7)]})
    (partition / f"{5:020}.log").write_bytes(_data(5, 7).ljust(1 << 20, b"\0"))
    (partition / f"{snapshot:020}.snapshot").write_bytes(b"")
    with pytest.raises(CorruptData, match="zero") if is_lost else nullcontext():
        kdump.slice(partition, tmp_path / "out", from_offset=5)
    assert is_lost or (tmp_path / "out" / f"{5:020}.log").read_bytes() == _data(5, 7)


def _damage(partition: Path, name: str, position: int) -> None:
    path = partition / name
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_the_end_of_a_transaction_may_be_missing_after_the_range(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_partition(tmp_path, topic="orders", segments={0: [_data(0, 7)]})
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\norders 0 6\n")
    assert main(["slice", str(tmp_path / "orders-0"), "-o", str(tmp_path / "part"), "--to-offset", "4"]) == 1
    shown = " ".join(capfd.readouterr().out.split())
    assert "replication-offset-checkpoint says that all offsets below 6 were committed" in shown


def test_a_hole_that_two_files_know_of_has_the_offsets_of_both(tmp_path: Path) -> None:
    batches = [batch(base_offset=offset, records=[record(value=b"x")]) for offset in range(4)]
    path = write_partition(tmp_path, topic="orders", segments={0: batches})
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\norders 0 6\n")
    (path / f"{8:020}.snapshot").write_bytes(b"")
    (hole,) = [row for row in kdump.slice(path, tmp_path / "part") if isinstance(row, Hole)]
    assert (hole.offset_first, hole.offset_last, hole.offsets) == (4, 7, 4)
    assert not [row for row in kdump.slice(path, tmp_path / "until", to_offset=2) if isinstance(row, Hole)]


def test_a_log_that_is_gone_between_two_others_is_missing(tmp_path: Path) -> None:
    """And the part of it that is in the range."""
    segments = {base: [batch(base_offset=base + delta, records=[record(value=b"x")]) for delta in (0, 3)] for base in (0, 8, 16)}
    path = write_partition(tmp_path, topic="orders", segments=segments)
    for base in (4, 12):
        (path / f"{base:020}.index").write_bytes(b"\0\0\0\2\0\0\0\1")
    gone = {4, 5, 6, 7, 12, 13, 14, 15}
    for first, last in ((0, 19), (5, 11), (8, 13), (12, 19), (13, 17), (16, 19), (0, 3), (3, 5), (3, 8)):
        rows = kdump.slice(path, tmp_path / f"{first}-{last}", from_offset=first, to_offset=last)
        holes = [row for row in rows if isinstance(row, Hole)]
        assert {each for row in holes for each in range(row.offset_first, row.offset_last + 1)} == gone & {
            *range(first, last + 1)
        }
        assert all(row.offsets == row.offset_last - row.offset_first + 1 for row in holes)


def test_damage_outside_of_the_range_does_no_harm(partition: Path, tmp_path: Path) -> None:
    _damage(partition, f"{FIRST}.log", 80)
    kdump.slice(partition, tmp_path / "out", from_offset=5)
    assert _batches(tmp_path / "out")[0] == (5, 9, 5)
    with open(partition / "00000000000000000026.log", "ab") as log:
        log.write(b"torn")
    kdump.slice(partition, tmp_path / "until", from_offset=16, to_offset=29)
    with pytest.raises(CorruptData):
        kdump.slice(partition, tmp_path / "beyond", from_offset=16)


_PLAIN = [batch(base_offset=offset, records=[record(value=b"v%d" % offset)] * 2) for offset in range(0, 20, 2)]


@pytest.mark.parametrize(
    ("first", "last", "taken"),
    [(None, None, (0, 10)), (5, 8, (2, 5)), (6, 7, (3, 4)), (9, 9, (4, 5)), (12, None, (6, 10)), (None, 1, (0, 1))],
)
@pytest.mark.parametrize("hurt", [None, 3])
def test_an_excerpt_has_all_bytes_of_a_range_with_their_damage(
    hurt: int | None, first: int | None, last: int | None, taken: tuple[int, int], tmp_path: Path
) -> None:
    batches = [data[:-1] + b"\xff" if number == hurt else data for number, data in enumerate(_PLAIN)]
    path = write_partition(tmp_path, topic="orders", segments={0: batches})
    if hurt is None:
        (path / "partition.metadata").unlink()
    found = kdump.slice(path, tmp_path / "out", from_offset=first, to_offset=last, with_damage=True)
    start, end = taken
    if hurt is not None and start == hurt + 1:  # the damage stands between what is before the range and the range
        start = hurt
    (log,) = (tmp_path / "out").glob("*.log")
    assert (log.name, log.read_bytes()) == (f"{2 * start:020}.log", b"".join(batches[start:end]))
    damage = [row for row in found if isinstance(row, Hole)]
    is_in = hurt is not None and start <= hurt < end
    assert [(row.offset_first, row.offset_last, row.offsets) for row in damage] == ([(6, 7, 2)] if is_in else [])
    (row,) = [row for row in found if isinstance(row, SlicedSegment)]
    assert (row.first_offset, row.last_offset, row.kept) == (2 * start, 2 * end - 1, 2 * (end - start - is_in))
    cloned, batches_read = end - start - is_in, 10 - (hurt is not None)
    assert (row.batches, row.cloned, row.outside) == (batches_read, cloned, batches_read - cloned)
    names = [log.name] if hurt is None else [log.name, "partition.metadata"]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == names


def test_a_batch_out_of_line_in_the_range_is_refused_and_kept_in_an_excerpt(tmp_path: Path) -> None:
    batches = [*_PLAIN[:5], _PLAIN[5][:5] + b"\1" + _PLAIN[5][6:], *_PLAIN[6:]]  # 65,536 too high
    path = write_partition(tmp_path, topic="__cluster_metadata", segments={0: batches})
    (path / "quorum-state").write_text("{}")
    for first, last in ((0, 10), (11, 19)):
        with pytest.raises(CorruptData, match="follows damage, or does not fit the offsets around it") as caught:
            kdump.slice(path, tmp_path / "out", from_offset=first, to_offset=last)
        assert (caught.value.code, caught.value.position) == ("offset-regression", 5 * len(batches[0]))
    kdump.slice(path, tmp_path / "a", to_offset=9)
    assert not {"quorum-state"} & {found.name for found in (tmp_path / "a").iterdir()}
    (row,) = kdump.slice(path, tmp_path / "b", from_offset=8, to_offset=13, with_damage=True)
    assert isinstance(row, SlicedSegment)
    assert (row.batches, row.kept, row.last_offset, _log_of(tmp_path / "b")) == (10, 4, 13, b"".join(batches[4:7]))


@each(
    ("order", "first", "last", "excerpt"),
    [
        ([*range(4), 8, 9, *range(4, 8)], 5, 6, [5, 6]),  # two at a wrong place
        ([*range(4), 8, 9, *range(4, 8)], 3, 5, [3, 8, 9, 4, 5]),
        ([*range(10), *range(5)], 3, 6, [3, 4, 5, 6]),  # joined with its first half
        ([*range(10), *range(10)], 0, 3, [0, 1, 2, 3]),
    ],
)
def test_batches_out_of_order_are_taken_once(order: list[int], first: int, last: int, excerpt: list[int], tmp_path: Path) -> None:
    path = write_partition(tmp_path, topic="orders", segments={0: [_PLAIN[row] for row in order]})
    kdump.slice(path, tmp_path / "excerpt", from_offset=2 * first, to_offset=2 * last, with_damage=True)
    assert _log_of(tmp_path / "excerpt") == b"".join(_PLAIN[row] for row in excerpt)
    kdump.slice(path, tmp_path / "out", from_offset=2 * first, to_offset=2 * last)
    assert _log_of(tmp_path / "out") == b"".join(_PLAIN[first : last + 1])


@each("magic", [0, 1])
def test_a_range_inside_of_a_wrapper_after_damage_is_taken(magic: int, tmp_path: Path) -> None:
    content = [message(magic=magic, value=b"v%d" % row) for row in range(4)]
    wrappers = [wrapper(messages=content, magic=magic, codec="gzip", base_offset=first) for first in (0, 4, 8, 12)]
    wrappers[1] = flipped(wrappers[1])
    path = write_partition(tmp_path, topic="orders", segments={0: wrappers})
    for name, is_excerpt, expected in (("out", False, wrappers[2]), ("excerpt", True, wrappers[1] + wrappers[2])):
        kdump.slice(path, tmp_path / name, from_offset=9, to_offset=10, with_damage=is_excerpt)
        assert _log_of(tmp_path / name) == expected, name


@each(("count", "more"), [(50, 0), (51, 1)])
def test_a_report_lists_fifty_places_and_counts_the_others(count: int, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    report = SliceReport(written.append, ReportStyle())
    monkeypatch.setattr(report, "sums", lambda _: None)
    holes = [Hole(".", offset, offset, 1, is_damage=False, reason="gone") for offset in range(count)]
    for hole in holes:
        report.row(hole)
    report.end(holes[0])
    text = "".join(written)
    assert (text.count("gone"), f"... and {more} more; --output table lists all" in text) == (50, bool(more))


def test_an_excerpt_says_where_its_damage_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    size = len(_PLAIN[0])
    path = write_partition(tmp_path, topic="orders", segments={0: [*_PLAIN[:5], bytes(40), *_PLAIN[5:]]})
    (path / "partition.metadata").write_bytes(partition_metadata())
    made = tmp_path / "vendor" / "orders-0"
    assert main(["slice", str(path), "--with-damage", "--from-offset", "8", "--to-offset", "11", "-o", str(made)]) == 1
    out = " ".join(capfd.readouterr().out.split())
    was, now = 5 * size, size
    assert f"damaged, and kept: bytes {was} to {was + 39} of {FIRST}.log, here bytes {now} to {now + 39}" in out
    end = f"with all bytes. There are no indexes: no broker is to start with this. Next kdump check {made} "
    assert f"Damaged: 1 place, {end}" in out and out.endswith(f" Complete: {made}. Exit status 1.")
    assert sorted(file.name for file in made.iterdir()) == ["00000000000000000008.log", "partition.metadata"]


@pytest.mark.parametrize("words", [["--exact", "--to-offset", "3"], ["--from-time", "2024-01-01"], ["--keep-key", "k"]])
def test_an_excerpt_is_of_offsets(words: list[str], partition: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["slice", str(partition), "--with-damage", "-o", str(tmp_path / "out"), *words]) == 2
    assert "an excerpt with damage has all bytes of a range of offsets" in capfd.readouterr().err
    with pytest.raises(UsageError, match="nothing is in this range"):
        kdump.slice(partition, tmp_path / "out", from_offset=900, with_damage=True)


def test_an_excerpt_is_of_all_logs_that_have_an_offset_of_the_range(tmp_path: Path) -> None:
    path = write_partition(tmp_path, topic="orders", segments={0: [*_PLAIN[:4], flipped(_PLAIN[4])], 10: _PLAIN[5:]})
    for first, last, bases in ((0, 9, [0]), (9, 10, [8, 10]), (10, 10, [10])):
        rows = kdump.slice(path, tmp_path / f"{first}-{last}", from_offset=first, to_offset=last, with_damage=True)
        assert _names(tmp_path / f"{first}-{last}", "log") == bases
        assert [(row.offset_first, row.offset_last) for row in rows if isinstance(row, Hole)] == [(8, 9)] * (first < 10)


def test_damage_where_a_transaction_may_end_is_refused(partition: Path, tmp_path: Path) -> None:
    _damage(partition, "00000000000000000026.log", 70)
    with pytest.raises(CorruptData, match="the end of a transaction that the slice holds may have been here"):
        kdump.slice(partition, tmp_path / "out", to_offset=7)


def test_records_that_cannot_be_read_are_refused_only_where_they_must_be_read(tmp_path: Path) -> None:
    write_partition(tmp_path, topic="a", segments={0: [batch(records=[record(length=99)] * 4), _data(4, 7)]})
    kdump.slice(tmp_path / "a-0", tmp_path / "out", from_offset=4, exact=True)
    with pytest.raises(CorruptData, match="byte 0: "):
        kdump.slice(tmp_path / "a-0", tmp_path / "cut", from_offset=2, exact=True)


def test_one_partition_directory_is_asked_for(partition: Path, tmp_path: Path) -> None:
    (partition.parent / "meta.properties").write_bytes(b"version=1\n")
    with pytest.raises(UsageError, match="is a log directory"):
        kdump.slice(partition.parent, tmp_path / "out")


# --- the command


def test_the_command_reports_rows_that_add_up(partition: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["slice", str(partition), "-o", str(tmp_path / "out"), "--to-offset", "7", "--exact", "--drop-key", "k1"]
    arguments += ["--keep-key", "k1", "--keep-key", "k2"]
    assert main([*arguments, "--output", "ndjson"]) == 0
    *rows, summary = map(json.loads, capfd.readouterr().out.splitlines())
    for name in ("batches", "outside", "cloned", "rewritten", "records", "kept", "outOfRange", "byKey"):
        assert summary[name] == sum(row[name] for row in rows)
    assert summary["records"] == summary["kept"] + summary["outOfRange"] + summary["byKey"] == 12
    assert {one.key for one in _read(tmp_path / "out")} == {b"k2", None}
    assert (summary["kind"], summary["logStart"], summary["logEnd"], summary["exitCode"]) == ("slice-summary", 0, 27, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "name it with -o DIR"),
        ("-o {}/out --drop-key xy --hex", "is not hexadecimal: two digits"),
        ("-o {}/out --from-time noon", "is not a time"),
        ("-o {}/out --from-offset 99", "nothing is in this range"),
    ],
)
def test_wrong_usage_is_said(words: str, said: str, partition: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["slice", str(partition), *words.format(tmp_path).split()]) == 2
    assert said in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


# --- random partitions


@pytest.mark.parametrize("seed", range(4))
def test_random_slices_hold_what_was_written(seed: int, tmp_path: Path) -> None:
    """The long form, with Kafka's record classes and log managers: python -m campaigns.cut_out --count 1000"""
    for number in range(25):
        folder = tmp_path / str(number)
        folder.mkdir()
        partition, cut, source = cut_out.one_case(100 + seed, number, folder)
        assert list(cut_out.differences(partition, cut, source, folder / "out", _read)) == [], (number, cut)
        shutil.rmtree(folder)


@pytest.mark.oracle
@pytest.mark.all_cases
def test_kafka_reads_and_keeps_random_slices() -> None:
    skip_if(cut_out.why_not_available())
    assert cut_out.main(["--count", "5", "--seed", str(random.randrange(1 << 30))]) == 0


def test_no_snapshot_is_left_that_the_next_start_deletes(tmp_path: Path) -> None:
    """A recovery makes one before old messages at the log end."""
    old = [message_set(messages=[message(value=b"old")], base_offset=offset) for offset in (0, 3, 4)]
    new = [batch(base_offset=offset, records=[record()]) for offset in (1, 2)]
    path = write_partition(tmp_path, topic="orders", segments={0: [old[0], *new, *old[1:]]})
    kdump.slice(path, tmp_path / "orders-1", from_offset=1)
    assert _names(tmp_path / "orders-1", "snapshot") == [5]


def test_markers_that_a_slice_keeps_do_not_stand_for_the_data_of_their_producers(tmp_path: Path) -> None:
    """The last batch of data stays empty, and so does that of a producer whose marker comes later."""
    batches = [_data(0, 7), _data(5, 8), transaction_marker(base_offset=10, producer_id=7), _data(11, 8)]
    write_partition(tmp_path, topic="a", segments={0: batches})
    kdump.slice(tmp_path / "a-0", tmp_path / "out", keep_keys=[b"no"])
    assert _batches(tmp_path / "out") == [(0, 4, 0), (10, 10, 1), (11, 15, 0)]
