"""Tables of a fleet, without Spark: what is found, how it is cut into tasks, which rows come out."""

import contextlib
import faulthandler
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import kdump
from kdump.binary.source import Source
from kdump.errors import CorruptData, KdumpError, MissingPackage, Unreadable, UsageError
from kdump.formats import records as record_readers
from tests.builders.files import (
    aborted_transaction,
    file_name,
    producer_entry,
    producer_snapshot,
    transaction_index,
    write_partition,
)
from tests.builders.fleets import flipped
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.loops import each

pa = pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from kdump.output.arrow.builder import (  # noqa: E402  # what needs Arrow
    Packed,
    bounded,
    joined_records,
    record_batch,
)
from kdump.output.arrow.rows import TABLES, columns_of  # noqa: E402
from kdump.pipeline import discovery, listed_source, logs, planning, reader_process, reading  # noqa: E402
from kdump.pipeline.options import Options  # noqa: E402
from kdump.pipeline.rows import built  # noqa: E402
from kdump.pipeline.slice_report import SliceReport, ignore  # noqa: E402
from kdump.reading import salvage  # noqa: E402
from kdump.workers.last_position import LastPosition  # noqa: E402
from kdump.workers.pool import Died  # noqa: E402
from tests.support import Patch  # noqa: E402

CORPUS = Path(__file__).parent.parent.parent / "golden_outputs" / "cases"

Rows = list[dict[str, Any]]


def _read(table: str, path: Path | str, **given: object) -> tuple[list[Any], list[SliceReport]]:
    """The Arrow batches of a table, and what is reported of each file."""
    options = Options({"table": table, "path": str(path), **{name: str(value) for name, value in given.items()}})
    reports: list[SliceReport] = []
    return [read for task in planning.plan(options) for read in reading.read(task, options, reports.append)], reports


def _rows(table: str, path: Path | str, **given: object) -> Rows:
    return [row for read in _read(table, path, **given)[0] for row in read.to_pylist()]


def _log(path: Path, *batches: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(batches))
    return path


def _picked(rows: Rows, *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(row[key] for key in keys) for row in rows]


def _sorted(rows: Rows) -> list[str]:
    return sorted(map(repr, rows))


# --- Schemas


@each(
    "name, value, words",
    [
        ("table", "batch", "there is no table 'batch'; did you mean batches? There are files, batches"),
        ("table", "xyz", "there is no table 'xyz'; there are files, batches"),
        ("colums", "a", "there is no option 'colums'; did you mean columns? There are path, paths, table"),
        ("topic", "a", "there is no option 'topic'; did you mean topics? "),
        ("columns", "offset", "the table batches has no column 'offset'; did you mean lastOffset or baseOffset? It has broker"),
        ("fromTimestamp", "noon", "fromTimestamp: 'noon' is not a time; write 2026-11-20"),
        *(("crc", "yes", "crc is true or false"), ("mode", "DROPMALFORMED", "mode is PERMISSIVE or FAILFAST")),
        ("targetBytes", "much", "targetBytes is a number of bytes such as 64m"),
        ("targetBytes", "0", "targetBytes is at least 1, not '0'"),
        ("path", "file://host/a", "file://host/a is not a local path, and kdump does not read such URLs"),
        *(("partitions", "a", "partitions is like 0,4-7"), ("partitions", "0,7-4", "partitions is like 0,4-7, not '7-4'")),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(name: str, value: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Options({"path": "/x", name: value})
    assert words in str(caught.value)


def test_options_may_come_in_any_case_and_sizes_with_units() -> None:
    given = {"PATHS": '["/a", "file:///b", "FILE:/c"]', "TARGETbytes": "1.5MiB", "partitions": "0,4-6", "topics": "a*, b"}
    options = Options(given)
    assert (options.paths, options.target_bytes, options.selection.globs) == (["/a", "/b", "/c"], 1572864, ("a*", "b"))
    assert options.selection.numbers == frozenset((0, 4, 5, 6))


@each(
    "first, last, milliseconds",
    [
        ("50", "-60", (50, -60)),
        ("20261120", "20261120", (20261120, 20261120)),  # a number, as always
        ("2026-11-20", "2026-11-20", (1795132800000, 1795219199999)),
        ("2026-11-20T01:00:00.5", "2026-11-20 01:00:00+01:00", (1795136400500, 1795132800000)),
    ],
)
def test_times_in_options_are_milliseconds_or_dates(first: str, last: str, milliseconds: tuple[int, int]) -> None:
    options = Options({"path": "/a", "fromTimestamp": first, "toTimestamp": last})
    assert (options.range.from_time, options.range.to_time) == milliseconds


# --- Rows


def test_messages_of_a_wrapper_are_separate_rows_and_those_of_a_set_separate_batches(tmp_path: Path) -> None:
    inner = [message(value=b"a", magic=1), message(value=b"b", magic=1)]
    _log(tmp_path / "a-0" / file_name(0, ".log"), wrapper(messages=inner, magic=1, offset=1, codec="gzip"))
    assert _picked(_rows("records", tmp_path), "offset", "value", "magic", "isvalid") == [(0, b"a", 1, True), (1, b"b", 1, True)]
    _log(tmp_path / "a-0" / file_name(0, ".log"), message_set(messages=[message(value=b"v", magic=0)]))
    assert _picked(_rows("batches", tmp_path), "lastOffset", "baseOffset", "magic", "count") == [(0, None, 0, None)]


def test_long_values_are_cut_and_say_so(tmp_path: Path) -> None:
    _log(tmp_path / "a-0" / file_name(0, ".log"), batch(records=[record(key=b"k" * 9, value=b"v" * 5), record(value=b"v" * 6)]))
    rows = _rows("records", tmp_path, maxValueBytes=5)
    assert _picked(rows, "key", "value", "valueSize", "isKeyTruncated", "isValueTruncated") == [
        (b"kkkkk", b"vvvvv", 5, True, False),
        (None, b"vvvvv", 6, False, True),
    ]


def test_record_batches_are_bounded_in_rows_and_bytes_and_small_ones_joined() -> None:
    columns = columns_of("records", ["offset", "value"])

    def counts(*sizes: list[int], rows: int = 80, size: int = 1 << 20) -> list[int]:
        parts = [{"offset": range(len(one)), "value": [b"v" * size for size in one]} for one in sizes]
        made = [record_batch(columns, part, len(part["value"])) for part in parts]
        return [one.num_rows for one in bounded(made, rows=rows, size=size)]

    small = [[1], [1, 1], [1] * 5]
    assert counts(*small) == [8]
    assert counts(*small, [1] * 20, *small) == [8, 20, 8]
    assert counts([1] * 20, rows=8) == [6, 7, 7]
    assert counts([100, 5000, 100, 100], size=1000) == [1, 1, 2]


def test_records_that_come_one_by_one_are_joined_unless_they_hold_much() -> None:
    few, many = ({"key": [None], "value": [bytes(size)], "headers": [[]]} for size in (1, 70_000))
    packed, with_header = {"value": Packed((None, b"", b""))}, {"headers": [[(b"k", b"v")]]}
    parts: list[dict[str, Any]] = [few, few, few, many, few, few, packed, packed, with_header, with_header]
    assert [count for _, count in joined_records(((part, 1) for part in parts), 100)] == [3, 1, 2, 1, 1, 1, 1]
    assert [count for _, count in joined_records(((part, 1) for part in parts), 2)] == [2, 1, 1, 2, 1, 1, 1, 1]
    assert [count for _, count in joined_records(((few, 40) for _ in range(3)), 100)] == [40, 40, 40]


@pytest.mark.parametrize("isolated", ["true", "false"])
def test_batches_that_are_read_one_by_one_are_not_made_tables_one_by_one(tmp_path: Path, isolated: str) -> None:
    """As behind damage; one with a header, or with many records, is left as it was read."""
    wrong = bytearray(batch(records=[record()]))
    wrong[-1] ^= 1
    held: list[list[dict[str, Any]]] = [[{"key": b"k" * (number % 3), "value": None}] * (1 + number % 2) for number in range(70)]
    held[20], held[40] = [{"key": b"h", "value": b"v", "headers": [(b"n", b"v")]}], [{"key": None, "value": b"v"}] * 9
    starts = list(accumulate(map(len, held), initial=0))
    sound = (
        batch(base_offset=start, records=[record(offset_delta=delta, **one) for delta, one in enumerate(records)])
        for start, records in zip(starts, held, strict=False)
    )
    _log(tmp_path / "a-0" / file_name(0, ".log"), *(data + wrong for data in sound))

    def counted(*given: Any) -> Any:
        with (tmp_path / "built").open("a") as file:  # also by another process
            file.write("x")
        return built(*given)

    with mock.patch.object(reading, "built", counted):
        rows = _rows("records", tmp_path, isolated=isolated, unreadable="skip")
    expected = [(one["key"], one["value"], one.get("headers", [])) for records in held for one in records]
    found = _picked(rows, "key", "value", "headers")
    assert [(key, value, [tuple(pair.values()) for pair in headers]) for key, value, headers in found] == [
        (key, value, [(name.decode(), data) for name, data in headers]) for key, value, headers in expected
    ]
    assert [row["offset"] for row in rows] == list(range(len(expected)))
    assert len((tmp_path / "built").read_text()) < 10


def test_zeros_at_the_end_are_no_damaged_range(tmp_path: Path) -> None:
    """Brokers preallocate them."""
    sound = batch(records=[record()])
    for size in (1, 12, 5000):
        _log(tmp_path / "a-0" / file_name(0, ".log"), sound, bytes(size))
        assert _picked(_rows("segments", tmp_path), "batches", "damagedRanges", "validBytes") == [(1, 0, len(sound))]
        with pytest.raises(CorruptData, match="is not intact from here on"):
            _rows("segments", tmp_path, mode="FAILFAST")


def test_a_walk_that_goes_back_or_leaves_something_out_fails() -> None:
    said = [
        SliceReport("x.log").skip(error).is_damage
        for error in (Unreadable("file-io-error", "x"), CorruptData("crc-mismatch", "x"))
    ]
    assert said == [False, True], "what the device did not give is not damage"
    report = SliceReport("x.log")
    report.cover(100, 150)
    report.cover(150, 200)
    assert (report.first, report.last) == (100, 200)
    for start, words in (
        (150, r"x\.log: the walk went from byte 200 to byte 150, so batches would be there twice"),
        (201, "from byte 200 to byte 201, so batches would be lost"),
    ):
        with pytest.raises(KdumpError, match=words):
            report.cover(start, 220)
    for records in (3, None, 5):
        report.count(1, records)
    assert (report.batches, report.records) == (3, None), "old messages do not say how many they are"
    skipped = report.skip(CorruptData("crc-mismatch", "the CRC differs"), records=3)
    assert report.of_sums().skipped == [skipped]


def test_damage_is_counted_over_all_windows_of_a_log(tmp_path: Path) -> None:
    crcs = [None, 1, None, None, 1, None]
    batches = [batch(records=[record(value=b"v" * 700_000)], base_offset=row, crc=crc) for row, crc in enumerate(crcs)]
    _log(tmp_path / "a-0" / file_name(0, ".log"), *batches)
    assert _picked(_rows("segments", tmp_path), "batches", "crcFailures", "validBytes") == [(6, 2, len(batches[0]))]


def test_a_batch_whose_crc_does_not_fit_is_a_damaged_row_and_garbage_has_no_row(tmp_path: Path) -> None:
    sound = [batch(records=[record()], base_offset=offset) for offset in (0, 2)]
    wrong = flipped(batch(records=[record(value=b"value")], base_offset=1))
    path = _log(tmp_path / "a-0" / file_name(0, ".log"), sound[0], wrong, sound[1], b"\xff" * 100)
    rows = _rows("batches", tmp_path)
    assert _picked(rows, "baseOffset", "status", "isvalid") == [(0, "intact", True), (1, "damaged", False), (2, "intact", True)]
    (segment,) = _picked(_rows("segments", tmp_path), "batches", "crcFailures", "damagedRanges", "validBytes")
    assert segment == (3, 1, 1, len(sound[0]))
    with pytest.raises(CorruptData, match="CRC of a record batch does not match"):
        _rows("batches", tmp_path, mode="FAILFAST")
    with pytest.raises(KdumpError):
        _rows("records", tmp_path, mode="failfast")
    _log(path, sound[0], batch(records=[record()], base_offset=1, magic=3), sound[1])
    with pytest.raises(CorruptData, match="a record batch of unknown magic 3") as raised:
        _rows("batches", tmp_path, mode="FAILFAST")
    assert (raised.value.code, raised.value.position) == ("bad-magic", len(sound[0]))


@each(
    "timestamp_type, bounds",
    [("CreateTime", (100, 300)), ("LogAppendTime", (300, 300))],  # the time of an append is that of all its records
)
def test_a_segment_has_the_times_and_epochs_of_its_records(tmp_path: Path, timestamp_type: Any, bounds: tuple[int, int]) -> None:
    def without_time(offset: int, epoch: int) -> bytes:
        records = [record(timestamp=-1)]
        return batch(records=records, base_offset=offset, base_timestamp=-1, max_timestamp=-1, partition_leader_epoch=epoch)

    records = [record(timestamp=200), record(timestamp=100), record(timestamp=250)]
    one = batch(records=records, timestamp_type=timestamp_type, base_offset=1, base_timestamp=100, max_timestamp=300)
    first, last = without_time(0, -1), without_time(4, 4)
    for log, told in (
        ([first, one, last], (*bounds, 0, 4)),
        ([first, one, flipped(one), last], (*bounds, 0, 4)),
        ([first, flipped(one), last], (None, None, 4, 4)),
    ):
        _log(tmp_path / "a-0" / file_name(0, ".log"), *log)
        found = _rows("segments", tmp_path)
        assert _picked(found, "minTimestamp", "maxTimestamp", "firstLeaderEpoch", "lastLeaderEpoch") == [told]


def test_indexes_and_snapshots_are_tables_without_their_zero_tails(tmp_path: Path) -> None:
    appends = [batch(records=[record(value=b"v" * 5000)], base_offset=4 + number) for number in range(3)]
    write_partition(tmp_path, topic="a", segments={4: appends})
    directory = tmp_path / "a-0"
    index = directory / file_name(4, ".index")
    index.write_bytes(index.read_bytes() + bytes(80))
    for suffix in (".index", ".timeindex"):  # whose offsets nobody knows
        (directory / f"copy{suffix}").write_bytes((directory / file_name(4, suffix)).read_bytes())
    aborted = aborted_transaction(producer_id=7, first_offset=4, last_offset=5, last_stable_offset=6)
    (directory / file_name(4, ".txnindex")).write_bytes(transaction_index(entries=[aborted]))
    snapshot = producer_snapshot(entries=[producer_entry(producer_id=9)])
    (directory / file_name(7, ".snapshot")).write_bytes(snapshot)
    assert all(row["offset"] >= 4 and row["position"] > 0 for row in _rows("index", tmp_path))
    assert len(_rows("index", tmp_path)) == (index.stat().st_size - 80) // 8 > 0
    assert {row["segmentBase"] for row in _rows("timeindex", tmp_path)} == {4}
    assert _picked(_rows("txn_index", tmp_path), "segmentBase", "producerId", "lastOffset") == [(4, 7, 5)]
    for given in ({}, {"fromOffset": "500"}, {"toOffset": "1"}):  # which choose no states
        assert _picked(_rows("producers", tmp_path, **given), "segmentBase", "entry", "producerId") == [(7, 0, 9)]


def test_headers_alone_tell_all_but_what_a_batch_is_worth(tmp_path: Path) -> None:
    appends = [batch(records=[record(value=b"v" * 9000)], base_offset=number) for number in range(10)]
    old = message_set(messages=[message(value=b"v", magic=1)], base_offset=10)
    path = _log(tmp_path / "a-0" / file_name(0, ".log"), *appends, old, b"garbage" * 20)
    rows, read = _rows("batches", tmp_path, crc="false"), _rows("batches", tmp_path)
    assert [row["status"] for row in rows] == [None] * 10 + ["intact"]
    assert [row["isvalid"] for row in rows] == [None] * 10 + [True]
    assert [{**row, "status": 0, "isvalid": 0} for row in rows] == [{**row, "status": 0, "isvalid": 0} for row in read]
    path.write_bytes(b"")
    assert _rows("batches", tmp_path, crc="false") == []


def test_old_messages_tell_their_uncompressed_size_where_they_are_not_compressed(tmp_path: Path) -> None:
    for magic in (0, 1):
        plain = message_set(messages=[message(value=b"v" * 50, magic=magic)])
        packed = wrapper(messages=[message(value=b"v" * 50, magic=magic)], base_offset=1, codec="gzip", magic=magic)
        _log(tmp_path / f"a-{magic}" / file_name(0, ".log"), plain, packed)
        rows = _rows("batches", tmp_path / f"a-{magic}", uncompressed="true")
        assert [row["uncompressedSize"] for row in rows] == [len(plain) - 12, None]


def test_a_sample_of_uncompressed_sizes_is_the_begin_of_a_log_and_one_batch_in_sixteen(tmp_path: Path) -> None:
    packed = [batch(records=[record(value=bytes([n % 256]) * 900)], base_offset=n, codec="gzip") for n in range(2000)]
    _log(tmp_path / "a-0" / file_name(0, ".log"), *packed, batch(records=[record()], base_offset=2000))
    rows = _rows("batches", tmp_path, uncompressed="sample")
    assert [row["uncompressedSize"] is not None for row in rows] == [
        row["position"] < 65_536 or row["crc"] % 16 == 0 or row["compresscodec"] == "none" for row in rows
    ]
    measured = {row["baseOffset"]: row["uncompressedSize"] for row in rows if row["uncompressedSize"] is not None}
    assert 600 < len(measured) < 900
    whole = {row["baseOffset"]: row["uncompressedSize"] for row in _rows("batches", tmp_path, uncompressed="true")}
    assert measured == {offset: whole[offset] for offset in measured}


def test_a_sample_of_bombs_has_an_end(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("kdump.reading.scales._MAX_SAMPLE_BYTES", 2_500_000)
    _log(tmp_path / "a-0" / file_name(0, ".log"), *[batch(records=[record(value=bytes(1_000_000))], codec="gzip")] * 5)
    rows = _rows("batches", tmp_path, uncompressed="sample")
    assert [row["uncompressedSize"] is not None for row in rows] == [True, True, True, False, False]


def test_ranges_of_offsets_and_timestamps_are_inclusive(tmp_path: Path) -> None:
    for base in (0, 4, 8):
        two = [record(timestamp=(base + number) * 10) for number in range(4)]
        _log(tmp_path / "a-0" / file_name(base, ".log"), batch(records=two, base_offset=base))
    for table, column, given, values in (
        ("records", "offset", {"fromOffset": 3, "toOffset": 8}, [3, 4, 5, 6, 7, 8]),
        ("batches", "baseOffset", {"fromOffset": 3, "toOffset": 7}, [0, 4]),
        ("records", "offset", {"fromTimestamp": 50, "toTimestamp": 60}, [5, 6]),
        ("records", "offset", {"fromOffset": 4, "fromTimestamp": 30, "toTimestamp": 50}, [4, 5]),
        ("records", "offset", {"fromOffset": -(1 << 70), "toOffset": 1 << 70}, [*range(12)]),
        ("records", "key", {"columns": "key", "fromOffset": 1 << 70}, []),
        ("records", "magic", {"columns": "magic", "fromOffset": 3, "toOffset": 8}, [2] * 6),
    ):
        assert [row[column] for row in _rows(table, tmp_path, **given)] == values, given


def test_a_range_reaches_records_that_their_file_or_batch_does_not_promise(tmp_path: Path) -> None:
    (tmp_path / "__cluster_metadata-0").mkdir()
    snapshot = tmp_path / "__cluster_metadata-0" / "00000000000000000100-0000000001.checkpoint"
    snapshot.write_bytes(batch(records=[record()] * 3, base_offset=4))
    damaged = bytearray(batch(records=[record()] * 3, base_offset=20))
    damaged[23:27] = bytes(4)  # lastOffsetDelta
    (tmp_path / "a-0").mkdir()
    (tmp_path / "a-0" / file_name(20, ".log")).write_bytes(damaged)
    assert _picked(_rows("records", tmp_path, toOffset=5), "offset") == [(4,), (5,)]
    assert _picked(_rows("records", tmp_path, fromOffset=21), "offset") == [(21,), (22,)]
    with mock.patch.object(reading, "opened", side_effect=AssertionError("was opened")):
        assert _rows("records", tmp_path, fromOffset=12, topics="b") == []


# --- Any cut


LARGE = batch(base_offset=2, records=[record(value=bytes(3 << 19))])
DAMAGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "none": lambda parts: parts,
    "a batch": lambda parts: [*parts[:2], flipped(parts[2]), *parts[3:]],
    "its length": lambda parts: [*parts[:2], flipped(parts[2], 8), *parts[3:]],
    "garbage": lambda parts: [*parts[:3], b"\xff" * 300, *parts[3:]],
    "torn": lambda parts: [*parts[:-1], parts[-1][:-1]],
    "none, larger than a window": lambda parts: [*parts[:2], LARGE, *parts[3:]],
}


@each("name, damage", DAMAGES.items())
def test_each_batch_and_damage_of_a_log_is_in_one_slice_wherever_it_is_cut(
    name: str, damage: Callable[[list[bytes]], list[bytes]], tmp_path: Path
) -> None:
    """Each slice but the first is walked from where a batch before it starts."""
    parts = damage([batch(base_offset=offset, records=[record(value=b"v" * 20 * offset)]) for offset in range(6)])
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(b"".join(parts))
    starts = [0, *accumulate(map(len, parts))]
    (item,) = discovery.discover(str(path))

    def found(source: Source, start: int, end: int | None, look_back: int = 0) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = []
        for one in logs.walk(source, planning.FileSlice(item, start, end, look_back)):
            if isinstance(one, salvage.Damage):
                rows.append((one.start, one.code))
            else:
                rows += [(position, one.status) for position in one.chunk.batches["position"]]
        return rows

    with Source(str(path)) as source:
        whole = found(source, 0, None)
        assert [position for position, _ in whole] == starts[:-1]
        assert sum(status in (salvage.INTACT, salvage.SALVAGED) for _, status in whole) == len(parts) - (
            name in ("a batch", "garbage", "torn")
        )
        for cut in sorted({start + near for start in starts for near in (-1, 0, 1) if start + near > 0}):
            for look_back in [start for start in starts if start < cut]:
                assert found(source, 0, cut) + found(source, cut, None, look_back) == whole, (cut, look_back)
                later = [row for row in whole if cut <= row[0] < starts[-2]]
                assert found(source, cut, starts[-2], look_back) == later, (cut, look_back)


def test_the_same_rows_are_listed_by_kdump_log(capfd: pytest.CaptureFixture[str]) -> None:
    from kdump.cli.commands import main

    for case in sorted(CORPUS.glob("magic[012]*"))[::7]:
        for options, table, names in (
            ([], "batches", ("position", "lastOffset", "baseOffset", "crc", "status")),
            (["--deep", "--decode", "none"], "records", ("position", "offset", "timestamp", "keySize", "valueSize", "sequence")),
        ):
            main(["log", "--output", "ndjson", *options, str(case)])
            listed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
            there = [row for row in listed if row.get("isvalid") is not None or row.get("offset") is not None]
            read = [row for row in _rows(table, case, isolated="false") if row["path"].endswith(".log")]
            assert sorted(_picked(read, *names), key=str) == sorted(_picked(there, *names), key=str), case


# --- Discovery


def _found(path: Path, **given: str) -> list[tuple[Any, ...]]:
    items = discovery.files_of(Options({"path": str(path), "table": "files", **given}))
    return [(item.broker, item.topic, item.partition, item.base_offset, item.kind, item.state) for item in items]


@pytest.fixture
def brokers(tmp_path: Path) -> Path:
    """Two log directories below one."""
    for broker in ("one", "two"):
        write_partition(tmp_path / broker, topic="a", segments={0: [batch(records=[record()])]})
        (tmp_path / broker / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    return tmp_path


def test_brokers_are_identified_by_the_path_the_id_or_the_directory(brokers: Path) -> None:
    assert discovery.broker_of("/copies/broker=1/old/broker=2/d") == "2"
    assert [discovery.broker_of("/copies/broker=1/old/d", *given) for given in ((), ("3",))] == ["1", "3"]

    def names(*parts: str, **given: str) -> set[str]:
        return {row[0] for row in _found(brokers.joinpath(*parts), **given)}

    assert names() == {"one", "two"}
    (brokers / "two" / "meta.properties").write_text("version=1\nbroker.id=8\nnode.id=7\n")
    assert names() == {"one", "7"}
    assert names("two", "a-0") == {"7"}
    (brokers / "one").rename(brokers / "broker=x")
    assert names() == {"x", "7"}
    assert names("broker=x", "a-0", broker="b") == {"b"}
    assert [row[0] for row in _found(brokers / "*" / "a-0", topics="a")][:1] == ["x"]


def test_log_directories_of_a_broker_are_told_apart_where_a_partition_is_in_several() -> None:
    files: list[tuple[str, str, str | None, str | None]] = [  # with the partition, and whether it is on its way
        *(("/a/t-0/0.log", "1", "t", None), ("/b/t-0/0.log", "1", "t", None), ("/b/u-0/0.log", "1", "u", None)),
        *(("/b/meta.properties", "1", None, None), ("/c/t-0/0.log", "2", "t", None), ("/d/t-0/0.log", "2", "t", "future")),
        *(("/c/u-0/0.log", "2", "u", None), ("/d/meta.properties", "2", None, None)),
    ]
    items = [
        discovery.FileItem(path, broker, topic, None if topic is None else 0, 0, "log", state=state)
        for path, broker, topic, state in files
    ]
    told = {item.path: item.broker for item in discovery.with_copies_told_apart(items)}
    assert told == {path: f"1 in {path[:2]}" if broker == "1" else "2" for path, broker, _, _ in files}


def test_files_on_their_way_have_a_state_and_are_read_where_they_are_requested(tmp_path: Path) -> None:
    data = batch(records=[record()])
    _log(tmp_path / "a-0" / file_name(0, ".log"), data)
    _log(tmp_path / "a-0" / (file_name(0, ".log") + ".deleted"), data)
    _log(tmp_path / f"b-1.{'0' * 32}-delete" / file_name(0, ".log"), data)
    _log(tmp_path / "remote-log-index-cache" / file_name(0, ".log"), data)  # which is no partition
    assert [row[1:] for row in _found(tmp_path)] == [
        *(("a", 0, 0, "log", None), ("a", 0, 0, "log", "deleted"), ("b", 1, 0, "log", "delete"))
    ]
    assert len(_rows("batches", tmp_path)) == 1
    assert len(_rows("batches", tmp_path, includeDeleted="true")) == 3


def test_topics_and_partitions_choose_directories(tmp_path: Path) -> None:
    for name in ("orders-0", "orders-1", "payments-0"):
        _log(tmp_path / name / file_name(0, ".log"), batch(records=[record()]))
    assert [row[1:3] for row in _found(tmp_path, topics="ord*", partitions="1-5")] == [("orders", 1)]
    assert {row["topic"] for row in _rows("findings", tmp_path, topics="pay*")} == {"payments"}
    (tmp_path / "replication-offset-checkpoint").write_text("0\n3\norders 0 5\npayments 0 7\npayments 1 9\n")
    assert _picked(_rows("checkpoints", tmp_path, topics="pay*", partitions="1"), "topic", "offset") == [("payments", 9)]
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\norders 0 x\npayments 1 9\n")
    assert _picked(_rows("checkpoints", tmp_path), "topic", "offset") == [("payments", 9)]
    with pytest.raises(CorruptData):
        _rows("checkpoints", tmp_path, mode="FAILFAST")
    assert planning.plan(Options({"path": str(tmp_path), "table": "checkpoints"}), {"topic": frozenset(["payments"])}) != [()]


def test_what_is_not_a_file_or_leads_elsewhere_is_named_and_not_read(tmp_path: Path) -> None:
    elsewhere = _log(tmp_path / "data-old" / file_name(0, ".log"), batch(records=[record()]))  # a name that begins alike
    directory = tmp_path / "data" / "a-0"
    directory.mkdir(parents=True)
    os.mkfifo(directory / file_name(0, ".log"))
    (directory / file_name(1, ".log")).symlink_to(elsewhere)
    (directory / file_name(2, ".log")).symlink_to(directory / "nowhere")
    assert [row[3::2] for row in _found(directory.parent)] == [(0, "not-regular"), (1, "link-outside"), (2, None)]
    assert [row[5] for row in _found(directory.parent, followLinks="true")] == ["not-regular", None, None]
    assert _rows("batches", directory.parent, unreadable="skip") == []
    for others in ("false", "true"):
        assert [row["error"] for row in _rows("batches", directory.parent, unreadable="row", includeDeleted=others)] == [
            "link-outside: it is a symbolic link that leads out of the given paths; name its target as well, or follow links",
            "file-missing: no such file",
        ]
    codes = {row["code"] for row in _rows("findings", directory.parent)}
    assert {"not-regular", "symlink-outside", "symlink-loop"} <= codes


def test_a_list_of_files_stands_for_a_walk(brokers: Path, tmp_path: Path) -> None:
    file_list = str(tmp_path / "list.jsonl")
    discovery.write_list(discovery.files_of(Options({"path": str(brokers), "table": "files"})), file_list)
    with mock.patch.object(discovery, "discover", side_effect=AssertionError("walked again")):
        assert len(_rows("batches", brokers, filelist=file_list)) == 2
    Path(file_list).write_text('{"path": 1}\n')
    with pytest.raises(UsageError, match=r"filelist .*, line 1: is no file of a list"):
        _rows("batches", brokers, filelist=file_list)


def test_a_path_that_leads_nowhere_is_reported(tmp_path: Path) -> None:
    with pytest.raises(KdumpError, match="no such file"):
        _rows("batches", tmp_path / "nothing")
    with pytest.raises(UsageError, match="no file matches"):
        _rows("batches", tmp_path / "*.log")


# --- Planning


@each(
    "given, bases",
    [
        *(({}, [0, 5, 10, 15]), ({"toOffset": "9"}, [0, 5]), ({"toOffset": "10"}, [0, 5, 10])),
        *(({"fromOffset": "9"}, [5, 10, 15]), ({"fromOffset": "10"}, [10, 15])),
        ({"fromOffset": "99"}, [15]),  # it may go on
        ({"fromOffset": "6", "toOffset": "7"}, [5]),
    ],
    ids=str,
)
def test_only_segments_that_may_hold_an_offset_are_read(tmp_path: Path, given: dict[str, str], bases: list[int]) -> None:
    for base in (0, 5, 10, 15):
        _log(tmp_path / "a-0" / file_name(base, ".log"), batch(records=[record()] * 5, base_offset=base))
    tasks = planning.plan(Options({"table": "batches", "path": str(tmp_path), **given}))
    assert sorted(int(Path(file_slice.path).stem) for task in tasks for file_slice in task) == bases


@each("table", list(TABLES))
def test_a_path_without_files_of_kafka_is_refused(tmp_path: Path, table: str) -> None:
    """Or a wrong path would be a table without rows, and no finding."""
    given = {"path": str(tmp_path), "table": table}
    if table != "files":
        with pytest.raises(UsageError, match=f"there are no Kafka files in {tmp_path}"):
            planning.plan(Options(given))
    assert planning.plan(Options({**given, "unreadable": "skip"}))
    (tmp_path / "notes.txt").write_text("none of Kafka's")
    if table not in ("files", "findings"):  # which list it
        with pytest.raises(UsageError, match="there are no Kafka files"):
            planning.plan(Options({**given, "path": str(tmp_path / "notes.txt")}))
    (tmp_path / "meta.properties").write_text("version=1\n")
    assert planning.plan(Options(given))


# --- What goes wrong


def _crashing(name: str, *others_first: signal.Signals, reads_first: bool = False) -> Any:
    """A reader of records that ends its process at a file of this name, or after it, as a native codec may."""
    read = record_readers.read
    signals = [*others_first, signal.SIGSEGV]

    def crash(source: Any, chunk: Any, *others: Any, **named: Any) -> Iterator[Any]:
        ends = source.path.endswith(name)
        if reads_first or not ends:
            yield from read(source, chunk, *others, **named)
        if ends:
            faulthandler.disable()  # which would tell of it
            os.kill(os.getpid(), signals.pop(0) if len(signals) > 1 else signals[0])

    return mock.patch.object(record_readers, "read", crash)


def test_a_crash_costs_one_file_and_a_killed_process_is_not_a_crash_of_a_codec(tmp_path: Path) -> None:
    for number in range(5):
        _log(tmp_path / f"a-{number}" / file_name(number, ".log"), batch(records=[record()], base_offset=number))
    name = file_name(2, ".log")
    with _crashing(name):
        assert _picked(_rows("records", tmp_path, unreadable="skip"), "partition") == [(0,), (1,), (3,), (4,)]
        for given in ({}, {"mode": "FAILFAST"}, {"mode": "FAILFAST", "unreadable": "skip"}):
            with pytest.raises(KdumpError, match=f"{name}: the process that read it was killed by SIGSEGV"):
                _rows("records", tmp_path, **given)
    with _crashing(name, signal.SIGKILL), pytest.raises(reader_process.ReaderKilled, match="was killed by SIGKILL"):
        _rows("records", tmp_path, unreadable="skip")
    with _crashing(name, reads_first=True):
        reports = _read("records", tmp_path, unreadable="skip", batchRows=1)[1]
    assert {report.path[-27:-25]: (report.rows, len(report.skipped)) for report in reports} == {
        **dict.fromkeys(("-0", "-1", "-3", "-4"), (1, 0)),
        "-2": (1, 1),
    }
    died = Died("was killed by SIGSEGV", -signal.SIGSEGV, LastPosition(3, 100))
    left = [planning.FileSlice(item) for item in discovery.discover(str(tmp_path))]
    died.numbers = (len(left) - 1, 0, 0)  # the second one, while rows of the first may have come
    reader_process._refuse_what_is_no_crash(left, died, 0)
    with pytest.raises(reader_process.ReaderKilled, match="was killed by SIGSEGV while it sent rows"):
        reader_process._refuse_what_is_no_crash(left, died, 1)


def test_an_error_in_the_other_process_is_raised_in_this_one(tmp_path: Path) -> None:
    _log(tmp_path / "a-0" / file_name(0, ".log"), batch(records=[record()], codec="lz4"))
    by_zero = mock.patch.object(record_readers, "read", side_effect=ZeroDivisionError("by zero"))
    with by_zero, pytest.raises(KdumpError, match="ZeroDivisionError: by zero"):
        _rows("records", tmp_path)
    missing = mock.patch.object(record_readers, "read", side_effect=MissingPackage("lz4 payloads need the package lz4"))
    for isolated in ("true", "false"):  # a package that is missing is not damage
        with missing, pytest.raises(MissingPackage, match=r"\.log: lz4 payloads need the package lz4"):
            _rows("records", tmp_path, unreadable="skip", isolated=isolated)


def test_the_other_process_ends_with_whoever_stops_reading(tmp_path: Path, monkeypatch: Patch) -> None:
    children: list[int] = []
    fork = os.fork

    def noted_fork() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", noted_fork)
    large = batch(records=[record(value=b"v" * 100_000)] * 10)
    for number in range(10):
        _log(tmp_path / f"a-{number}" / file_name(0, ".log"), large)
    options = Options({"table": "records", "path": str(tmp_path), "batchRows": "1", "parallelism": "1"})
    (task,) = planning.plan(options)
    slices = [file_slice for file_slice in task if isinstance(file_slice, planning.FileSlice)]
    rows = reader_process.read_in_process(slices, options, reading.slice_rows, built, ignore)
    next(rows)
    rows.close()  # type: ignore[attr-defined]  # it is a generator
    (child,) = children
    with pytest.raises(ChildProcessError):  # it was waited for
        os.waitpid(child, os.WNOHANG)


def test_a_log_ends_where_it_was_listed_to_end_unless_it_is_shorter_or_another_file(tmp_path: Path) -> None:
    """An index may be shorter: brokers preallocate it."""
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(b"0123456789")
    item = discovery.FileItem(str(path), None, None, None, 0, "log", 7, 7, 1, None, path.stat().st_ino)
    before = len(os.listdir("/dev/fd"))
    for listed in (item, item._replace(inode=None), item._replace(size=10)):
        with listed_source.opened(listed) as source:
            assert (source.size, source.read(0, 99)) == (listed.size, b"0123456789"[: listed.size])
    gone = item._replace(path=str(tmp_path / "gone"))
    for listed, said in (
        (item._replace(size=11), "it has 10 bytes, but had 11 when it was listed"),
        *((item._replace(inode=1), "it is another file than the one that"), (gone, "it is gone since it was listed")),
        (gone._replace(inode=None), "no such file"),
    ):
        with pytest.raises(KdumpError, match=said):
            listed_source.opened(listed)
    assert len(os.listdir("/dev/fd")) == before
    listed_source.opened(item._replace(kind="index", size=11)).close()


@each("table", ["batches", "records", "segments"])
@each("what", ["vanished", "shorter", "no file"])
def test_a_file_that_cannot_be_read_any_more_is_never_left_out_in_silence(tmp_path: Path, table: str, what: str) -> None:
    paths = [_log(tmp_path / f"a-{number}" / file_name(0, ".log"), batch(records=[record()])) for number in range(3)]

    def read(unreadable: str) -> tuple[Rows, list[SliceReport]]:
        batches, reports = _read(table, tmp_path, unreadable=unreadable, filelist=tmp_path / "list")
        return [row for batch in batches for row in batch.to_pylist()], reports

    discovery.write_list(discovery.discover(str(tmp_path)), str(tmp_path / "list"))
    size = paths[1].stat().st_size
    paths[1].unlink()
    reason = "no such file"
    if what == "shorter":
        paths[1].write_bytes(b"")
        reason = f"it has 0 bytes, but had {size} when it was listed"
    if what == "no file":
        paths[1].mkdir()
        reason = "is a directory"
    with pytest.raises(KdumpError, match=f'a-1/{file_name(0, ".log")}: {reason}; fix that, or use unreadable="row"'):
        read("fail")
    rows, reports = read("skip")
    assert [row["partition"] for row in rows] == [0, 2]
    assert [[str(skipped) for skipped in report.skipped] for report in reports] == [[], [reason], []]
    rows, _ = read("row")
    assert [(row["partition"], (row["error"] or "").partition(": ")[2]) for row in rows] == [(0, ""), (1, reason), (2, "")]
    assert [row["path"] for row in rows] == [str(path) for path in paths]


def test_a_row_for_what_could_not_be_read_needs_a_column_for_it(tmp_path: Path) -> None:
    _log(tmp_path / "a-0" / file_name(0, ".log"), batch(records=[record()]))
    assert _rows("records", tmp_path, unreadable="row", columns="offset,error") == [{"offset": 0, "error": None}]
    for given, words in (
        ({"unreadable": "row", "columns": "offset"}, "need the column error; add it to the columns"),
        ({"columns": "offset,error,other"}, "the table records has no column 'error'"),
    ):
        with pytest.raises(UsageError, match=words):
            _rows("records", tmp_path, **given)


def test_records_that_do_not_decode_are_counted_and_may_be_a_row(tmp_path: Path) -> None:
    broken = batch(records=[record(value=b"v")] * 5, base_offset=1, records_count=9, last_offset_delta=8)
    data = [batch(records=[record()]), broken, batch(records=[record()], base_offset=10)]
    _log(tmp_path / "a-0" / file_name(0, ".log"), *data)
    read, (report,) = _read("records", tmp_path, isolated="false")
    assert [row["offset"] for part in read for row in part.to_pylist()] == [0, 1, 2, 3, 4, 5, 10]
    assert (report.rows, report.batches, report.records) == (7, 3, 11)
    assert [(one.code, one.position, one.records) for one in report.skipped] == [("record-count-too-high", len(data[0]), 4)]
    read, (report,) = _read("records", tmp_path, unreadable="row")
    rows = [row for part in read for row in part.to_pylist()]
    assert [(row["offset"], row["position"]) for row in rows if row["error"]] == [(None, len(data[0]))]
    assert (len(rows), report.rows) == (8, 7)
    with pytest.raises(CorruptData, match="fewer records than its header says"):
        _rows("records", tmp_path, mode="FAILFAST")
    parts = [record(value=b"v" * 100_000)] * 25  # 2.5 MB: three
    _log(tmp_path / "a-0" / file_name(0, ".log"), batch(records=parts, records_count=30, last_offset_delta=29))
    read, (report,) = _read("records", tmp_path, isolated="false")
    assert (sum(part.num_rows for part in read), [one.records for one in report.skipped]) == (25, [5])


# --- Findings


def _identities(findings: list[Any]) -> Counter[tuple[Any, ...]]:
    return Counter((row["code"], row["severity"], row["path"], row["start"], row["end"], row["message"]) for row in findings)


def test_findings_of_several_tasks_are_those_of_a_check() -> None:
    now = 1_800_000_000_000
    with mock.patch("time.time", return_value=now / 1000):
        checked = [{column.key: getattr(row, column.name) for column in row.schema} for row in kdump.check(CORPUS, level="full")]
    found = _rows("findings", CORPUS, parallelism=4, now=now)
    assert _identities(found) == _identities(checked)
    assert len(found) > 1000
    assert {(row["topic"], row["partition"]) for row in found if "orders-3/" in row["path"]} <= {("orders", 3)}


def test_brokers_below_one_directory_are_checked_as_what_they_are(brokers: Path) -> None:
    assert {finding.code for finding in kdump.check(brokers)} == {finding.code for finding in kdump.check(brokers / "one")}
    assert _identities(_rows("findings", brokers)).total() == len(list(kdump.check(brokers, level="full")))
    for path in (brokers, brokers / "one"):  # links round in circles are not followed
        (path / "round").symlink_to(brokers)
    found = _found(brokers)
    assert len(found) == len(set(found)) == 12
    assert len(_rows("batches", brokers)) == 2


def test_brokers_of_a_fleet_need_not_share_a_partition(tmp_path: Path) -> None:
    for node in (1, 2):
        _log(tmp_path / f"broker-{node}/t{node}-0" / file_name(0, ".log"), batch(records=[record()]))
        (tmp_path / f"broker-{node}/meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
    assert not any("two brokers" in row["message"] for row in _rows("findings", tmp_path))


@each("table", ["batches", "records", "segments"])
def test_bytes_that_a_device_does_not_give_are_not_left_out_in_silence(table: str, tmp_path: Path, monkeypatch: Patch) -> None:
    path = _log(tmp_path / "a-0" / file_name(0, ".log"), batch(records=[record()]), batch(base_offset=1, records=[record()]))
    take = Source._take

    def failing(source: Source, position: int, count: int) -> bytes:
        if source.path == str(path) and position <= 80 < position + count:
            raise Unreadable("file-io-error", "Input/output error", path=source.path, position=position)
        return take(source, position, count)

    reports: list[SliceReport] = []
    with monkeypatch.context() as patch:
        patch.setattr(Source, "_take", failing)
        patch.setattr(Source, "is_direct", False)
        for unreadable, mode in (*((one, "PERMISSIVE") for one in ("fail", "row", "skip")), ("skip", "FAILFAST")):
            given = {"unreadable": unreadable, "mode": mode, "isolated": "false"}
            options = Options({"table": table, "path": str(tmp_path), **given})
            rows = (batch for task in planning.plan(options) for batch in reading.read(task, options, reports.append))
            is_end = unreadable == "fail" or mode == "FAILFAST"
            with pytest.raises(Unreadable, match="cannot be read from") if is_end else contextlib.nullcontext():
                list(rows)
    assert [[(one.code, one.position, one.end) for one in report.skipped if not one.is_damage] for report in reports] == [
        [("file-io-error", 0, path.stat().st_size)]
    ] * 2
