"""What `kdump check` says of timestamps and records: which batches rules see, how far they are read, and in what words."""

import gc
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from kdump.binary import codecs, kernel
from kdump.checks import record_bytes, record_reader, wording
from kdump.checks.catalogue import records, timestamps
from kdump.checks.check import run
from kdump.checks.finding import Finding
from kdump.checks.jobs import jobs
from kdump.checks.settings import Settings
from kdump.tables import Row
from tests.builders.compression import CODEC_IDS, Codec, zstd_frames
from tests.builders.hostile_contents import broken_compressed
from tests.builders.records import TIMESTAMP, Record, batch, encode_record, message, record, varint, varlong, wrapper
from tests.checks.faults.case import NOW
from tests.checks.findings import LOG, codes_of, of_log
from tests.loops import each

pytestmark = pytest.mark.both_kernels

_CODES = {"crc-mismatch", *(fault.code for section in (timestamps, records) for fault in section.FAULTS)}
_AFTER = batch(records=[record(value=b"after")], base_offset=1000)


def _found(tmp_path: Path, data: bytes, **settings: Any) -> list[Finding]:
    return [one for one in of_log(tmp_path, data, **{"level": "deep", **settings}) if one.code in _CODES]


@each("odd", [record(value=b"v", attributes=1), record(value=b"v", length=-3), record(value_length=-9), record(timestamp=-7)])
def test_a_batch_with_a_wrong_crc_has_no_other_finding(odd: Record, tmp_path: Path) -> None:
    assert codes_of(_found(tmp_path, batch(records=[odd], crc=0) + _AFTER)) == ["crc-mismatch"]


def test_the_highest_timestamp_counts_over_all_parts_of_a_batch(tmp_path: Path) -> None:
    old, new = encode_record(record()), encode_record(record(timestamp=TIMESTAMP + 9))
    first, last = new + old * 70_000, old * 70_000 + new
    fields: dict[str, Any] = {"records_count": 70_001, "last_offset_delta": 70_000}
    for fields["payload"], latest, after, codes in (
        *((first, TIMESTAMP + 9, b"", []), (last, TIMESTAMP + 9, _AFTER, [])),
        *((first, TIMESTAMP, b"", ["max-timestamp-mismatch"]), (first, TIMESTAMP, _AFTER, ["max-timestamp-mismatch"])),
    ):
        assert codes_of(_found(tmp_path, batch(max_timestamp=latest, **fields) + after)) == codes


@each(
    ("milliseconds", "text"),
    [
        (1_700_000_000_000, "2023-11-14 22:13:20 UTC (1700000000000)"),
        *((1_700_000_000_007, "2023-11-14 22:13:20.007 UTC (1700000000007)"), (0, "1970-01-01 00:00:00 UTC (0)")),
        *((1, "1970-01-01 00:00:00.001 UTC (1)"), (253_402_300_799_999, "9999-12-31 23:59:59.999 UTC (253402300799999)")),
        *((253_402_300_800_000, "253402300800000"), (2**63 - 1, "9223372036854775807")),
        *((-1, "-1"), (-(2**63), "-9223372036854775808")),
    ],
)
def test_a_moment_has_a_date_where_there_is_one(milliseconds: int, text: str) -> None:
    assert wording.moment(milliseconds) == text


def _rows(data: bytes) -> list[Any]:
    rows: list[Any] = []
    end, code, _ = kernel.walk_records(data, 0, len(data), 2, len(data), False, rows)
    assert (end, code) == (len(data), "")
    return rows


@each("size", [0, 1, 62, 63, 64, 65, 100, 8190, 8191, 8192, 8193, 9000])
def test_records_as_clients_write_them_are_odd_for_their_attributes_only(size: int) -> None:
    fields: dict[str, Any] = {"key": b"k" * size, "value": b"v" * size, "headers": [("h" * size, b"w" * size)] * (size % 2)}
    for delta, attributes in product((size, -size, (size << 17) - (1 << 31), (1 << 31) - 1 - (size << 17)), (0, 1)):
        one = Record(**fields, offset_delta=delta, timestamp_delta=delta << 9, attributes=attributes)
        data = encode_record(record()) + encode_record(one)
        found = [row[2:] for row in record_bytes.irregular_records(data, 0, _rows(data))]
        assert found == [(1, False)] * attributes


FIELDS = [
    *(("timestamp delta", 70, b""), ("offset delta", -70, b""), ("key length", 1, b"k"), ("value length", 2000, b"v" * 2000)),
    *(("header count", 2, b""), ("key length of header 0", 1, b"a"), ("value length of header 0", 1, b"b")),
    *(("key length of header 1", 70, b"c" * 70), ("value length of header 1", 2, b"zz")),
]


@each("name", ["length", *(name for name, _, _ in FIELDS)])
def test_each_field_is_odd_that_is_too_long_or_below_minus_1(name: str) -> None:
    first, value = encode_record(record(value=b"first")), dict(row[:2] for row in FIELDS).get(name)
    odd: list[tuple[bytes, int | None, bool]] = [(varint(value or 0, size_in_bytes=size), value, False) for size in (3, 5)]
    odd += [(varint(-2), -2, False)] * ("key length" in name or "value length" in name)
    odd += [(b"\xff\xff\xff\xff\x7f", -(1 << 31), True)] * (name == "offset delta")  # of whose bits some are not read
    for data, read, is_surplus in odd:
        parts = [
            data + (text if read == value else b"") if key == name else varint(number) + text for key, number, text in FIELDS
        ]
        body = b"\0" + b"".join(parts)
        whole = first + varint(len(body), size_in_bytes=3 if name == "length" else None) + body
        fields = list(record_bytes.irregular_fields(whole, len(first), len(whole)))
        expected = (name, len(body) if name == "length" else read, 3 if name == "length" else len(data), is_surplus)
        assert [(one.name, one.value, one.size, one.has_surplus_bits) for one in fields] == [expected]
        if read != -2 or not name.startswith("key length of"):  # readers refuse a header without a key
            assert [row[:2] for row in record_bytes.irregular_records(whole, 0, _rows(whole))] == [(1, len(first))]


KEY, VALUE = b"\x02k", b"\x04vw"
TOO_LONG, SHORT, BAD, ODD = "varint-too-long", "varint-truncated", "key-length-bad", "header-bytes-odd"


@each(
    ("body", "said"),
    [
        (b"\0\0\0" + KEY + VALUE + b"\2\2a\2b", None),
        (b"\0" + varlong(1 << 62) + b"\0" + KEY + VALUE + b"\0", None),
        (b"\0" + b"\xff" * 11, (TOO_LONG, "the varint of its timestamp delta does not end within 10 bytes")),
        (b"\0\0\0\x0aabcde", (SHORT, "the bytes end before its value")),
        (b"\0\0\0\x0cabcde", (BAD, "its key says it is 6 bytes long, with 5 left")),
        (b"\0\0\0" + KEY + b"\x80", (SHORT, "the bytes end inside the varint of its value")),
        (b"\0\0\0" + KEY + VALUE + b"\4\2a\1\4bc", (SHORT, "the bytes end before its value of header 1")),
        (b"\0\0\0" + KEY + VALUE + b"\4\2a\1\6bc", (ODD, "the key of header 1 says it is 3 bytes long, with 2 left")),
    ],
)
def test_a_record_is_unreadable_from_its_first_wrong_field_on(body: bytes, said: tuple[str, str] | None) -> None:
    front = encode_record(record())
    for rest in (b"", bytes(99)):  # which is not of the record
        data = front + varint(len(body)) + body + rest
        fault = record_bytes.why_unreadable(data, len(front), len(data))
        assert (fault and (fault.code, fault.message)) == said


def _over_limit(tmp_path: Path, data: bytes, **settings: object) -> str:
    """The message of the one finding, that a limit was reached."""
    (finding,) = _found(tmp_path, data, **settings)
    assert finding.code == "decompression-limit"
    return finding.message


def test_a_payload_may_be_as_large_as_the_check_allows(tmp_path: Path) -> None:
    log = batch(records=[record(value=bytes(100_000))], codec="zstd") + _AFTER
    assert codes_of(_found(tmp_path, log, max_payload=200_000)) == []
    says = "The payload decompresses to more than 50,000 bytes. 0 of 1 record can be read."
    assert _over_limit(tmp_path, log, max_payload=50_000) == says


def test_a_wrapper_may_hold_no_more_messages_than_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = wrapper(messages=[message()] * 6)
    assert codes_of(_found(tmp_path, log)) == []
    monkeypatch.setattr(record_reader, "_MAX_MESSAGES", 5)
    assert _over_limit(tmp_path, log) == "A wrapper contains more than 5 messages. None of its messages can be read."


def test_a_compressed_batch_may_hold_no_more_records_than_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "_MAX_RECORDS", 80_000)
    payload = zstd_frames(encode_record(record()) * 100_000)
    log = batch(payload=payload, codec="zstd", records_count=100_000, last_offset_delta=99_999) + _AFTER
    assert _over_limit(tmp_path, log).startswith("No more than 80,000 records of a compressed batch are read. ")


def test_a_file_full_of_bombs_is_read_less_and_less_far(tmp_path: Path) -> None:
    bomb = zstd_frames(varint(64 << 20) + b"\0\0\0\1" + bytes(40 << 20))
    one = batch(records=[record()], payload=bomb, codec="zstd")
    findings = _found(tmp_path, one * 8 + _AFTER, max_payload=32 << 20)
    assert codes_of(findings) == ["decompression-limit"] * 8
    assert "more than 33,554,432 bytes" in findings[0].message
    assert "more than 1,048,576 bytes" in findings[-1].message


@each("policy", ["compact", "compact,delete", "delete"])
def test_records_without_a_key_are_counted_where_the_cleaner_needs_one(tmp_path: Path, policy: str) -> None:
    data = batch(records=[record(key=b"k"), record(value=b"v"), record(value=b"w")])
    data += batch(records=[record(value=b"v")], base_offset=3, is_control=True)  # which is no user's
    found = [one for one in of_log(tmp_path, data, level="deep", cleanup_policy=policy) if one.code == "key-missing-compacted"]
    assert [one.message.partition(",")[0] for one in found] == ["2 records without a key"] * ("compact" in policy)


def test_data_that_compresses_well_is_not_a_bomb(tmp_path: Path) -> None:
    one = batch(records=[record(value=b"very much the same " * 40)] * 1000, codec="zstd")
    assert len(one) < 3000
    assert codes_of(_found(tmp_path, one * 100, max_payload=4 << 20)) == []


@each("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_damage_is_read_once_and_without_cycles(codec: Codec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(broken_compressed(codec)(50) + (b"\xff" * 50 + batch(records=[record()])) * 50)
    opened: list[int] = []
    of_codec: Any = codecs._module(CODEC_IDS[codec])
    decompressed: Callable[..., Iterator[bytes]] = of_codec.decompressed

    def counted(*given: Any) -> Iterator[bytes]:
        opened.append(1)
        return decompressed(*given)

    monkeypatch.setattr(of_codec, "decompressed", counted)
    (job,) = jobs(str(tmp_path / LOG))
    found: list[Row] = []

    def check() -> None:
        run(job, Settings(now=NOW, level="deep", max_findings=10), found.append)

    check()  # what is imported once is no garbage of the next
    assert sum(isinstance(row, Finding) and row.code.startswith(("frame-", "declared-")) for row in found) == 10
    assert len(opened) == 50
    gc.collect()
    gc.disable()
    try:
        check()
        assert gc.collect() < 50
    finally:
        gc.enable()
