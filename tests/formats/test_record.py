"""Records of magic 2: their fields, and every way in which they can be wrong."""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary import kernel
from kdump.binary.batch_header import BATCH_HEADER
from kdump.errors import CorruptData
from kdump.formats import record as reader
from kdump.formats import records
from kdump.formats.log import Log
from kdump.formats.record import MAX_ROWS
from tests.builders.compression import Codec, compress, gzip_members, lz4_frame, zstd_frames
from tests.builders.records import Record, batch, encode_record, record, varint
from tests.loops import each
from tests.support import OPTIONAL_BYTES, TIMESTAMP_TYPES, fault_of, opened, read_records

pytestmark = pytest.mark.both_kernels

T = 1_700_000_000_000
MAX_INT32, MAX_INT64 = 2147483647, 9223372036854775807
COMPRESSING: list[Codec] = ["gzip", "snappy", "lz4", "zstd"]
CODECS: list[Codec] = ["none", *COMPRESSING]


# --- fields


def test_every_negative_size_is_null_and_shown_as_minus_1() -> None:
    (row,) = read_records(batch(records=[record(key_length=-7, value_length=-MAX_INT32)])).rows
    assert (row["key"], row["key_size"], row["value"], row["value_size"]) == (None, -1, None, -1)


_EMPTY = [("", None), ("", b""), ("h", None)]
_BYTES: list[tuple[str | bytes, bytes]] = [(b"\xff\x00", b"\n"), ("ü", b"")]
_APPENDED = {"timestamp_type": "LogAppendTime", "max_timestamp": T + 1234}
_LATEST = {"base_timestamp": MAX_INT64, "max_timestamp": 0}
_WRAPS = {"base_offset": MAX_INT64 - 3}
_AT_0 = {"base_timestamp": 0, "max_timestamp": 0}

FIELDS_READ: dict[str, tuple[list[Record], dict[str, Any], str, list[object]]] = {
    "empty keys and no values": ([record(headers=_EMPTY)], {}, "headers", [((b"", None), (b"", b""), (b"h", None))]),
    "headers of any bytes": ([record(headers=_BYTES)], {}, "headers", [((b"\xff\x00", b"\n"), (b"\xc3\xbc", b""))]),
    "more headers than one byte counts": ([record(headers=[("h", b"x")] * 300)], {}, "headers", [((b"h", b"x"),) * 300]),
    "log append time replaces all": ([record(timestamp=T), record(timestamp=T + 9)], _APPENDED, "timestamp", [T + 1234] * 2),
    "a delete horizon is the base": ([record(timestamp=T)], {"delete_horizon_ms": T + 99_999}, "timestamp", [T]),
    "timestamps wrap": ([record(timestamp_delta=1)], _LATEST, "timestamp", [-MAX_INT64 - 1]),
    "the longest varlong": ([record(timestamp_delta=-MAX_INT64 - 1)], _AT_0, "timestamp", [-MAX_INT64 - 1]),
    "offsets with gaps": ([record(offset_delta=delta) for delta in (0, 7)], _WRAPS, "offset", [MAX_INT64 - 3, -MAX_INT64 + 2]),
    "no sequences": ([record()] * 3, {"base_sequence": -1}, "sequence", [-1, -1, -1]),
    "none below -1 either": ([record()] * 3, {"base_sequence": -5}, "sequence", [-1, -1, -1]),
    "sequences": ([record()] * 3, {"base_sequence": 0}, "sequence", [0, 1, 2]),
    "after the greatest sequence follows 0": ([record()] * 3, {"base_sequence": MAX_INT32}, "sequence", [MAX_INT32, 0, 1]),
    "near the greatest": ([record()] * 3, {"base_sequence": MAX_INT32 - 1}, "sequence", [MAX_INT32 - 1, MAX_INT32, 0]),
    "sequences count gaps": ([record(offset_delta=delta) for delta in (2, 9)], {"base_sequence": 100}, "sequence", [102, 109]),
    "attributes mean nothing": ([record(value=b"v", attributes=0xFF)], {}, "value", [b"v"]),
    "a wrong checksum withholds nothing": ([record(value=b"v")], {"crc": 1}, "value", [b"v"]),
}


@each(("built", "options", "field", "values"), FIELDS_READ.values(), ids=FIELDS_READ)
def test_fields_are_read_as_kafka_reads_them(built: Any, options: dict[str, Any], field: str, values: object) -> None:
    assert [row[field] for row in read_records(batch(records=built, **options)).rows] == values


def test_varints_may_be_longer_than_they_need() -> None:
    body = b"\0" + b"\x80" * 9 + b"\0" + b"\x80\x80\x80\x80\0" + b"\x81\x80\0" * 2 + b"\x80\0"
    (row,) = read_records(batch(records=[varint(len(body), size_in_bytes=5) + body])).rows
    assert (row["timestamp"], row["offset"], row["key"], row["value"], row["headers"]) == (T, 0, None, None, ())


def test_a_batch_without_records_is_not_examined() -> None:
    for attributes in range(5):  # emptied, whatever its codec
        assert read_records(batch(last_offset_delta=9, attributes=attributes)).batches == [[]]
    for codec in ("none", "gzip"):
        assert read_records(batch(records_count=0, payload=b"garbage", codec=codec)).batches == [[]]


# --- many records


@each(
    ("codec", "count", "code"), [("none", MAX_ROWS + 5, "record-count-too-high"), ("gzip", 0, "compressed-record-count-too-high")]
)
def test_a_late_bad_record_withholds_all_records_of_a_compressed_batch_only(codec: Codec, count: int, code: str) -> None:
    payload = b"".join(encode_record(record(value=bytes(200)), row=row) for row in range(MAX_ROWS + 5))
    found = read_records(batch(payload=compress(payload, codec=codec), records_count=MAX_ROWS + 6, codec=codec, crc=0))
    assert ([len(rows) for rows in found.batches], found.code) == ([count], code)


def _counts_of_tables(data: bytes) -> list[list[int]]:
    with opened(data) as source:
        return [part.counts for chunk in Log(source).chunks() for part in records.read(source, chunk)]


@each("codec", CODECS)
def test_the_records_of_small_batches_stand_in_one_table_whatever_their_codecs(codec: Codec) -> None:
    one, two = batch(records=[record()], codec=codec), batch(records=[record(), record()])
    empty = batch(records=[], codec=codec, records_count=0)
    assert _counts_of_tables(one + two + empty + one + one) == [[1, 2, 0, 1, 1]]


def test_a_bad_batch_stands_in_no_table_of_its_neighbours() -> None:
    good = batch(records=[record(value=b"v")], codec="lz4")
    bad = batch(payload=lz4_frame(b"\x09"), records_count=1, codec="lz4")
    found = read_records(good + good + bad + good)
    assert ([len(rows) for rows in found.batches], found.code) == ([1, 1, 0], "compressed-record-length-negative")


def test_tables_are_bounded_in_bytes_and_in_records() -> None:
    large = batch(records=[record(value=bytes(600_000))], codec="gzip")
    assert _counts_of_tables(large * 5) == [[1, 1], [1, 1], [1]]
    assert _counts_of_tables(batch(records=[record(value=bytes(9 << 20))], codec="gzip") * 2) == [[1], [1]]
    half = MAX_ROWS // 2 + 1
    assert _counts_of_tables(batch(records=[record()] * half, codec="zstd") * 3) == [[half, half], [half]]


# --- what is bad, in the place of the second of three records


class Bad(NamedTuple):
    """A bad record, and its faults in batches that are not compressed and that are."""

    bytes_of_record: bytes
    code: str
    compressed_code: str
    values: dict[str, int]


def _bad(written: bytes, code: str, compressed_code: str = "", **values: int) -> Bad:
    return Bad(written, code, compressed_code or code, values)


def _encoded(**fields: Any) -> bytes:  # of several types, as Record declares them
    return encode_record(Record(**fields), row=1)


FIELDS = b"\0\0\2"  # attributes, timestamp delta 0, offset delta 1
STRUCTURE, PAST_END, TOO_LONG = "record-structure-invalid", "record-length-past-end", "record-length-varint-too-long"

BAD_RECORDS = {
    "length past the end": _bad(varint(1000), PAST_END, f"compressed-{PAST_END}", size=1000),
    "greatest length": _bad(varint(MAX_INT32), PAST_END, "decompression-limit", size=MAX_INT32),
    "length varint too long": _bad(b"\xff" * 6, TOO_LONG, f"compressed-{TOO_LONG}", value=0xFFFFFFFF),
    "length negative": _bad(
        varint(-5) + FIELDS + b"\1\1\0", "record-body-mismatch", "compressed-record-length-negative", size=-5
    ),
    "length too small": _bad(_encoded(value=b"v", length=3), "record-body-mismatch", STRUCTURE),
    "bytes after the headers": _bad(_encoded(value=b"v", trailing=b"xyz"), "record-body-mismatch", size=10, read=7),
    "timestamp delta too long": _bad(varint(30) + b"\0" + b"\xff" * 10 + bytes(19), STRUCTURE),
    "offset delta too long": _bad(varint(30) + b"\0\0" + b"\xff" * 5 + bytes(23), STRUCTURE),
    "key past the end": _bad(_encoded(key_length=1000), STRUCTURE),
    "greatest key": _bad(_encoded(key_length=MAX_INT32), STRUCTURE),
    "value past the end": _bad(_encoded(value_length=1000), STRUCTURE),
    "headers negative": _bad(_encoded(headers_count=-1), "header-count-negative", count=-1),
    "more headers than bytes": _bad(_encoded(headers_count=1000), "header-count-too-high", count=1000),
    "headers too long": _bad(_encoded(headers_count=b"\xff" * 5, trailing=bytes(9)), STRUCTURE),
    "header without key": _bad(_encoded(headers=[(None, b"x")]), "header-key-null", size=-1),
    "header key past the end": _bad(_encoded(headers_count=1, trailing=varint(1000) + b"h"), "header-key-past-end", size=1000),
    "header value past the end": _bad(_encoded(headers_count=1, trailing=varint(1) + b"h" + varint(1000)), STRUCTURE),
}


@each("codec", CODECS)
@each("bad", BAD_RECORDS.values(), ids=list(BAD_RECORDS))
def test_a_bad_record_ends_a_batch_and_withholds_a_compressed_one(bad: Bad, codec: Codec) -> None:
    three = batch(records=[record(value=b"first"), bad.bytes_of_record, record(value=b"last")], base_offset=10, codec=codec)
    found = read_records(batch(records=[record(value=b"before")]) + three + batch(records=[record()]))
    good, code = ([b"first"], bad.code) if codec == "none" else ([], bad.compressed_code)
    assert [[row["value"] for row in rows] for rows in found.batches] == [[b"before"], good]
    assert found.fault is not None
    assert (found.fault.code, found.fault.position) == (code, 74)
    assert bad.values.items() <= found.fault.values.items()


def test_a_last_record_that_reaches_past_the_end_has_a_separate_code() -> None:
    found = read_records(batch(records=[record(value=b"first"), varint(9) + b"12345"]))
    assert ([row["value"] for row in found.rows], found.code) == ([b"first"], "last-record-length-past-end")
    assert found.fault is not None and found.fault.values == {"size": 9, "remaining": 5}
    assert str(found.fault).endswith(".log, byte 0: the last record says it is 9 bytes long, with 5 left in its batch")


def test_too_many_headers_are_another_fault_for_readers_that_do_not_count_bytes() -> None:
    header_without_key = _encoded(headers_count=1000, trailing=varint(-1))
    variants = fault_of(batch(records=[header_without_key])).variants
    assert {name: variant.code for name, variant in variants.items()} == {"unchecked-header-count": "header-key-null"}
    nothing = _encoded(headers_count=1000)
    assert fault_of(batch(records=[nothing])).variants["unchecked-header-count"].code == "record-structure-invalid"


def test_a_record_may_not_reach_into_the_next_batch() -> None:
    whole = batch(records=[record(value=b"first"), record(value=b"second")])
    cut = bytearray(whole[:-3])
    cut[8:12] = struct.pack(">i", len(cut) - 12)
    found = read_records(bytes(cut) + batch(records=[record()]))
    assert ([row["value"] for row in found.rows], found.code) == ([b"first"], "last-record-length-past-end")


# --- counts


@each("codec", CODECS)
def test_a_negative_count_is_a_fault_without_records(codec: Codec) -> None:
    found = read_records(batch(records=[record()], records_count=-3, codec=codec))
    assert (found.batches, found.code) == ([[]], "record-count-negative")
    assert found.fault is not None and found.fault.values == {"count": -3, "magic": 2}


def test_a_batch_shorter_than_its_header_has_no_records() -> None:
    data = batch(batch_length=20, records_count=1, payload=b"")
    assert fault_of(data + batch(records=[record()])).code == "batch-shorter-than-header"


# --- damaged streams

TEXT = b"the quick brown fox jumps over the lazy dog " * 4


@pytest.mark.parametrize(
    ("codec", "compressor", "code"),
    [
        ("gzip", lambda data: b"PK" + gzip_members(data), "frame-bad-header"),
        ("gzip", lambda data: gzip_members(data, has_trailer=False), "frame-ends-early-behind-records"),
        ("gzip", lambda data: gzip_members(data)[:-1] + b"\xff", "frame-checksum-mismatch-behind-records"),
        ("gzip", lambda data: gzip_members(data)[:30], "frame-ends-early"),
        ("lz4", lambda data: lz4_frame(data, header_checksum=7), "frame-bad-header"),
        ("lz4", lambda data: lz4_frame(data, has_end_mark=False), "frame-truncated-behind-records"),
        ("lz4", lambda data: lz4_frame(data, has_block_checksums=True, block_checksum=7), "frame-checksum-mismatch"),
        ("lz4", lambda data: lz4_frame(data, has_content_checksum=True)[:-1], "frame-checksum-cut-behind-records"),
        pytest.param("zstd", lambda data: zstd_frames(data, trailing=b"garbage"), "frame-damaged-behind-records"),
        ("zstd", lambda data: zstd_frames(data)[:20], "frame-truncated"),
        ("snappy", lambda data: b"", "frame-bad-header"),
    ],
)
def test_a_damaged_stream_withholds_a_compressed_batch(codec: Codec, compressor: Callable[[bytes], bytes], code: str) -> None:
    found = read_records(batch(records=[record(value=TEXT)] * 3, codec=codec, compressor=compressor))
    assert (found.batches, found.code) == ([[]], code)


# --- what a reader may ask for

_HEADERS: list[list[tuple[str, bytes | None]]] = [
    [("a", b"x")],
    [("a", b"x"), ("b", None), ("c", b"yz")],
    [("a", b""), ("b", b"")],
]
_WITH_HEADERS = batch(records=[record(value=b"v", headers=headers) for headers in _HEADERS])


def _headers(data: bytes, *, with_values: bool) -> tuple[list[list[tuple[bytes, bytes | None]]], CorruptData | None]:
    found: list[list[tuple[bytes, bytes | None]]] = []
    with opened(data) as source:
        try:
            for chunk in Log(source).chunks():
                for part in records.read(source, chunk, with_header_values=with_values):
                    found += map(list, part.records["headers"])
        except CorruptData as fault:
            return found, fault
    return found, None


@each(("most", "heap", "count"), [(3, 0, 3), (2, 400, 3), (2, 399, 1), (1, 400, 3)])
def test_headers_that_are_too_many_come_without_values_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, most: int, heap: int, count: int
) -> None:
    monkeypatch.setattr(reader, "MAX_RECORD_HEADERS", most)
    monkeypatch.setattr(reader, "_MAX_HEAP_OF_HEADERS", heap)  # 3 times 92 bytes, their own 12, and 56 for each of 2 values
    found, fault = _headers(_WITH_HEADERS, with_values=False)
    assert [[name for name, _ in headers] for headers in found] == [[b"a"], [b"a", b"b", b"c"], [b"a", b"b"]][:count]
    assert (fault and (fault.code, fault.values["size"])) == (None if count == 3 else ("decompression-limit", 12))
    found, fault = _headers(_WITH_HEADERS, with_values=True)
    assert found == [[(name.encode(), value) for name, value in headers] for headers in _HEADERS][: 3 if most == 3 else 1]
    assert (fault and fault.code) == (None if most == 3 else "decompression-limit")


def _parts(data: bytes, **options: Any) -> list[list[tuple[Any, ...]]]:  # of any record
    return list(reader.BatchRecords(BATCH_HEADER.unpack_from(data), data, **options).parts())


@each("codec", CODECS)
def test_records_are_examined_where_they_stand_and_may_lack_headers(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    data = batch(records=[record(value=b"v", headers=headers) for headers in _HEADERS], codec=codec)
    encoded = [encode_record(record(value=b"v", headers=headers), row=row) for row, headers in enumerate(_HEADERS)]
    monkeypatch.setattr(reader, "MAX_ROWS", 2)
    seen: list[tuple[bytes, int]] = []
    parts = _parts(data, max_headers=2, examine=lambda held, start, end, rows: seen.append((bytes(held[start:end]), len(rows))))
    assert [len(row[4] or ()) for rows in parts for row in rows] == [1, 0, 2]
    assert (b"".join(held for held, _ in seen), [count for _, count in seen]) == (
        b"".join(encoded),
        [len(rows) for rows in parts],
    )
    assert [row[6] for rows in _parts(data, with_data=False) for row in rows] in ([b"v"] * 3, [None] * 3)


@each("codec", CODECS)
def test_the_first_record_is_there_if_those_after_it_are_bad(codec: Codec) -> None:
    bad, damaged = b"\x09", {"none": b"\x09", "gzip": gzip_members(b"\x09")}
    for data, value in (
        (batch(records=[record(value=b"v"), bad], codec=codec), b"v"),
        (batch(records=[record(value=b"v")], codec=codec), b"v"),
        *((batch(records=built, codec=codec), None) for built in ([bad], [])),
        (batch(payload=damaged.get(codec, b""), records_count=1, codec=codec), None),
    ):
        first = reader.first_of(BATCH_HEADER.unpack_from(data), data)
        assert (first and first[6]) == value


@each(
    ("code", "values", "is_last", "expected"),
    [
        *(("", {}, False, None), ("header-count-too-high", {"position": 1}, False, None)),
        (kernel.HEADERS_NOT_HELD, {"count": 1}, False, None),
        *(
            ("record-length-past-end", {"size": 9, "remaining": 5}, last, code)
            for last, code in ((True, f"last-{PAST_END}"), (False, PAST_END))
        ),
        ("record-length-past-end", {"size": 9, "remaining": 0}, True, PAST_END),
    ],
)
def test_a_walk_that_stopped_says_why(code: str, values: dict[str, int], is_last: bool, expected: str | None) -> None:
    fault = reader.fault_at_stop(code, values, is_last=is_last)
    assert (fault and (fault.code, fault.values)) == (expected and (expected, values))


RECORDS = st.lists(
    st.builds(
        record,
        key=OPTIONAL_BYTES,
        value=OPTIONAL_BYTES | st.binary(min_size=60, max_size=200),
        headers=st.lists(st.tuples(st.sampled_from([b"h", b"trace"]) | st.binary(max_size=4), OPTIONAL_BYTES), max_size=3),
        timestamp_delta=st.integers(-(1 << 40), 1 << 40),
        offset_delta=st.integers(-5, 1000),
    ),
    min_size=1,
    max_size=5,
)


@given(RECORDS, st.sampled_from(CODECS), TIMESTAMP_TYPES, st.integers(0, 1 << 50), st.integers(-1, MAX_INT32))
def test_records_are_read_as_they_were_built(
    records: list[Record], codec: Codec, timestamp_type: Any, base_offset: int, base_sequence: int
) -> None:
    fields: dict[str, Any] = {"base_offset": base_offset, "base_sequence": base_sequence, "timestamp_type": timestamp_type}
    found = read_records(batch(records=records, codec=codec, base_timestamp=T, max_timestamp=T + 7, **fields))
    assert found.fault is None
    assert len(found.rows) == len(records)
    for row, built in zip(found.rows, records, strict=True):
        assert built.timestamp_delta is not None
        assert built.offset_delta is not None
        assert (row["key"], row["value"], row["headers"]) == (built.key, built.value, tuple(built.headers))
        assert row["offset"] == base_offset + built.offset_delta
        assert row["timestamp"] == (T + 7 if timestamp_type == "LogAppendTime" else T + built.timestamp_delta)
        if base_sequence < 0:
            assert row["sequence"] == -1
        elif built.offset_delta >= 0:
            assert row["sequence"] == (base_sequence + built.offset_delta) % (1 << 31)


def test_a_batch_too_large_to_be_loaded_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdump.formats.record.MAX_BATCH_SIZE", 1_000_000)
    large = batch(records=[record(value=bytes(1_100_000))], crc=0)
    assert fault_of(large).code == "decompression-limit"
