"""What the library has beside rows: reports that are false when sound, streams of Arrow, decoded records, partitions."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import kdump
from tests.builders.files import write_partition
from tests.builders.records import Record, batch, record
from tests.loops import each

START = 1_700_000_000_000


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Three batches of two records each, ten seconds apart."""
    appends = [
        batch(
            base_offset=first,
            base_timestamp=START + 10_000 * first,
            records=[Record(key=b"k%d" % first, value=b"v", timestamp_delta=0), Record(value=None, timestamp_delta=5)],
            codec="gzip" if first else "none",
        )
        for first in (0, 2, 4)
    ]
    return write_partition(tmp_path, segments={0: appends[:2], 4: appends[2:]}, topic="orders")


def _break(partition: Path) -> None:
    log = partition / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[65] ^= 1
    log.write_bytes(data)


# --- Reports


def test_a_report_is_false_only_where_all_was_examined_and_nothing_is_wrong(partition: Path) -> None:
    report = kdump.check(partition)
    assert not report and report.exit_code == 0 and len(report) == 0 and list(report) == []
    assert repr(report) == f"<kdump.Report {partition}: fine>"
    _break(partition)
    report = kdump.check(partition)
    assert report and report.exit_code == 1
    assert [finding.code for finding in report] == ["crc-mismatch"] and report[0] is report.findings[0]
    assert "unreadable" in repr(report) and "crc-mismatch" in repr(report) and "byte 0" in repr(report)
    assert "unreadable" in repr(kdump.verdict(partition))
    report = kdump.check(partition / "gone")
    assert report and report.exit_code == 3 and [finding.code for finding in report] == ["file-vanished"]


def test_warnings_and_infos_alone_leave_a_report_false(partition: Path) -> None:
    (partition / "00000000000000000004.log.deleted").write_bytes(b"")
    report = kdump.check(partition)
    assert len(report) > 0 and {finding.severity for finding in report} <= {"warning", "info"} and not report


def test_a_report_of_many_findings_shows_the_first_ones_of_itself(tmp_path: Path) -> None:
    appends = [batch(base_offset=offset, records=[Record(value=b"x")], crc=1) for offset in range(9)]
    report = kdump.check(write_partition(tmp_path, segments={0: appends}))
    assert len(report) > 4 and "more" in repr(report) and len(repr(report)) < 1500


# --- Streams of Arrow


def test_tables_are_streams_of_arrow_with_kafkas_names(partition: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="streams need the package pyarrow")
    log = kdump.open(partition)
    batches = pa.table(log.tables())
    assert batches["baseOffset"].to_pylist() == [0, 2, 4] and batches["compresscodec"].to_pylist() == ["none", "gzip", "gzip"]
    records = pa.table(log.record_tables(from_offset=1, to_offset=3))
    assert records["offset"].to_pylist() == [1, 2, 3] and records["key"].to_pylist() == [None, b"k2", None]
    assert records.schema.names == [column.key for column in kdump.Record.schema]
    entries = pa.table(kdump.open(partition / "00000000000000000000.timeindex", "timeindex").tables())
    assert entries.schema.names == ["timestamp", "offset"]


# --- Times


@each(
    ("first", "last", "offsets"),
    [
        *((None, None, [0, 1, 2, 3, 4, 5]), (START + 5, START + 20_000, [1, 2]), (START + 5, None, [1, 2, 3, 4, 5])),
        (datetime.fromtimestamp(START // 1000, UTC) + timedelta(seconds=20, milliseconds=5), None, [3, 4, 5]),
        (START + 90_000, None, []),
    ],
)
def test_records_are_chosen_by_their_times(first: Any, last: Any, offsets: list[int], partition: Path) -> None:
    log = kdump.open(partition)
    assert [record.offset for record in log.records(from_time=first, to_time=last)] == offsets
    assert [record.offset for record in log.decoded_records(from_time=first, to_time=last)] == offsets


def test_a_record_has_its_time_as_python_has_it(partition: Path) -> None:
    record = next(kdump.open(partition).records(from_offset=1))
    assert record.time == datetime.fromtimestamp(START // 1000, UTC) + timedelta(milliseconds=5)
    for timestamp in (-1, 1 << 62):
        record.timestamp = timestamp
        assert record.time is None
    record.timestamp = -2
    assert record.time == datetime.fromtimestamp(0, UTC) - timedelta(milliseconds=2)
    with pytest.raises(kdump.UsageError, match="has no zone"):
        kdump.open(partition).records(from_time=datetime(2026, 11, 20))  # which is what is refused


# --- Decoded records


def test_decoded_records_are_a_stream_with_json(partition: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="streams need the package pyarrow")
    table = pa.table(kdump.open(partition).decoded_record_tables(value_decoder="json"))
    assert table["decodedValue"].to_pylist() == [None] * 6 and None not in table["decodeError"].to_pylist()[::2]


def test_values_are_decoded_by_the_decoders_that_are_named_and_errors_are_said(tmp_path: Path) -> None:
    records = [Record(key=b"\0\0\0\x07", value=bytes(7) + b"\x09"), Record(key=b"xx", value=None)]
    path = write_partition(tmp_path, segments={0: [batch(records=records)]})
    one, other = kdump.open(path).decoded_records(key_decoder="integer", value_decoder="long")
    assert (one.decoded_key, one.decoded_value, one.decode_error) == (7, 9, None)
    assert (other.decoded_key, other.decoded_value) == (None, None) and other.decode_error is not None
    with pytest.raises(kdump.UsageError):
        kdump.open(path).decoded_records(key_decoder="nosuch")


# --- Log directories


def test_partitions_of_a_log_directory_are_what_open_takes(tmp_path: Path) -> None:
    for topic, number in (("orders", 0), ("orders", 12), ("a-b", 3)):
        write_partition(tmp_path / "data", segments={0: [batch(records=[Record()])]}, topic=topic, partition=number)
    (tmp_path / "data" / "lost+found").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=1\n")
    (tmp_path / "data" / "a-7").symlink_to("nowhere")
    (tmp_path / "data" / "old-0.0123456789abcdef0123456789abcdef-delete").mkdir()
    found = kdump.partitions(tmp_path / "data")
    places = [("a-b", 3, None), ("old", 0, "delete"), ("orders", 0, None), ("orders", 12, None)]
    assert [(one.topic, one.partition, one.state) for one in found] == places
    assert [sum(1 for _ in kdump.open(one)) for one in found if one.state is None] == [1, 1, 1]
    assert [one.partition for one in kdump.partitions(tmp_path, topics=["ord*"], partitions=range(1, 20))] == [12]
    assert [one.path for one in kdump.partitions(found[0].path)] == [found[0].path]
    with pytest.raises(kdump.Unreadable, match="no such file"):
        kdump.partitions(tmp_path / "nothing")
    with pytest.raises(kdump.UsageError, match="partitions"):
        kdump.open(tmp_path / "data")


def test_scans_and_explanations_are_functions(partition: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="tables need the package pyarrow")
    pytest.importorskip("duckdb", reason="of the extra arrow")
    scan = kdump.scan(partition, tables_to=tmp_path / "tables", jobs=1)
    assert not scan and scan.exit_code == 0 and scan.summary["batches"] == 3 and scan.verdict in repr(scan)
    assert scan.table("segments")["segmentBase"].to_pylist() == [0, 4]
    with pytest.raises(kdump.UsageError, match="there is no table"):
        scan.table("nosuch")
    gap = write_partition(tmp_path, topic="gap", segments={0: [batch(records=[record()], base_offset=at) for at in (0, 5)]})
    assert [kdump.scan(gap, cleanup_policy=policy, jobs=1).exit_code for policy in ("unknown", "delete")] == [0, 1]
    _break(partition)
    scan = kdump.scan(partition, topics=["ord*"], jobs=1)
    assert scan and scan.exit_code == 1
    with pytest.raises(kdump.UsageError, match="were not kept"):
        scan.table("segments")
    page = kdump.explain("crc-mismatch")
    assert page is not None and page.startswith("crc-mismatch (error)")
    assert kdump.explain("[2026-11-20 10:00:00,000] WARN nobody ever printed this (kafka.Nothing)") is None
    with pytest.raises(kdump.UsageError):
        kdump.explain("no-such-code")
