"""Records that the kernel in C passes over: the rules would have had nothing to say about them."""

import random
import struct
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary import kernel
from kdump.checks import record_reader
from kdump.checks.rules.records import fields
from tests import kernels
from tests.builders.compression import CODEC_IDS
from tests.builders.records import Record, batch, encode_record, record, varint
from tests.checks.passed_over import codes_however_read
from tests.loops import of_all_cases

pytestmark = pytest.mark.skipif(kernels.why_no_c() is not None, reason="the kernel in C was not built")

TIME = 1_700_000_000_000
LOGS = 120
BATCHES = 12
CODECS = [*CODEC_IDS, "none", "none", "none", "none"]


def ordinary(chance: random.Random) -> list[Record]:
    """Records as clients write them."""
    return [
        record(
            key=chance.choice((b"key", None, b"")),
            value=chance.choice((b"value", None, b"", chance.randbytes(chance.randrange(300)))),
            timestamp=TIME + row,
            headers=chance.choice(((), (("trace", b"1"),), (("größe", None), ("", b"")))),
        )
        for row in range(chance.randrange(1, 5))
    ]


def odd_record(chance: random.Random, row: int) -> bytes:
    """A record of many forms, which readers accept."""

    def number(value: int, size: int = 5) -> bytes:
        shortest = varint(value)
        kind = chance.randrange(12)
        if kind == 0:
            return varint(value, size_in_bytes=chance.randrange(len(shortest), size + 1))
        if kind == 1 and chance.random() < 0.1:  # bits that nobody reads
            longest = varint(value, size_in_bytes=size)
            return longest[:-1] + bytes([longest[-1] | (0x70 if size == 5 else 0x7E)])
        return shortest

    def sized(lowest: int) -> bytes:
        size = chance.choice((lowest, 0, 1, 3, -2 if lowest else 0))
        return number(size) + b"\xffab"[: max(size, 0)]

    headers = b"".join(sized(0) + sized(-1) for _ in range(chance.choice((0, 0, 0, 1, 2, 5))))
    count = 0
    at = 0
    while at < len(headers):  # the builder of numbers may have changed their sizes, not how many there are
        for _ in range(2):
            size, at = kernel.read_varint(headers, at, len(headers))
            at += max(size, 0)
        count += 1
    attributes = bytes([chance.choice((0, 0, 0, 1))])
    body = attributes + number(row, 10) + number(row) + sized(-1) + sized(-1) + number(count) + headers
    return number(len(body)) + body


def odd_records(chance: random.Random) -> list[Record | bytes]:
    """Odd records among ordinary ones, or alone."""
    share = chance.choice((0.1, 0.6, 1))
    rows = range(chance.randrange(1, 30))
    return [odd_record(chance, row) if chance.random() < share else encode_record(Record(key=b"k"), row=row) for row in rows]


def peculiar(chance: random.Random) -> bytes:
    """A batch with one peculiarity, with a CRC that fits."""
    records: list[Record | bytes] = list(ordinary(chance))
    at = chance.randrange(len(records))
    settings: dict[str, object] = {}
    match chance.randrange(22):
        case 0:
            records[at] = record(key=b"k", attributes=chance.choice((1, 0x80, -1)) & 0xFF)
        case 1:
            records[at] = record(key=b"kk", key_length=varint(2, size_in_bytes=chance.randrange(2, 6)))
        case 2:
            whole = encode_record(record(key=b"k", timestamp_delta=0), row=at)
            size = len(whole) - 1
            records[at] = varint(size, size_in_bytes=chance.randrange(2, 6)) + whole[1:]
        case 3:
            records[at] = record(key=b"k", headers=((chance.choice((b"\xff", b"\xed\xa0\x80", b"a\xc0\x80")), b"v"),))
        case 4:
            records[at] = record(key=b"k", value=b"", value_length=chance.choice((-1, -2, -(1 << 31))))
        case 5:
            records[at] = record(key=b"k", offset_delta=chance.choice((-1, 0, 1, 5, 1 << 30)))
        case 6:
            settings["last_offset_delta"] = chance.randrange(6)
        case 7:
            settings["max_timestamp"] = TIME + chance.randrange(-3, 6)
        case 8:
            settings["base_timestamp"] = chance.choice((TIME - 5, 0, -1, -2, 1 << 62, (1 << 63) - 1, -(1 << 63)))
            settings["max_timestamp"] = chance.choice((TIME, -1, -5))
            records = [record(key=b"k", timestamp_delta=chance.choice((0, 0, 3, -1, 1 << 62)))]
        case 9:
            records[at] = record(key=b"k", timestamp_delta=chance.choice((-1, -TIME - 2, 1 << 62, (1 << 63) - 1, -(1 << 63))))
            settings["max_timestamp"] = chance.choice((TIME, TIME - 1, (1 << 63) - 1))
        case 10:
            settings["delete_horizon_ms"] = TIME + chance.randrange(100_000)
        case 11:
            settings["timestamp_type"] = "LogAppendTime"
            settings["max_timestamp"] = TIME + chance.randrange(5)
        case 12:
            settings["records_count"] = chance.randrange(-1, 6)
        case 13:
            settings["trailing"] = bytes(chance.randrange(1, 3))
        case 14:
            records[at] = record(key=b"k", headers_count=chance.choice((-1, 1, varint(0, size_in_bytes=2))))
        case 15:
            records[at] = record(key=b"k", length=chance.randrange(12))
        case 16:
            settings["is_control"] = True
            settings["is_transactional"] = True
        case 17:
            records = []
        case 18 | 19 | 20:
            records = odd_records(chance)
        case _:
            plain = bytearray(
                b"".join(encode_record(one, row=row, base_timestamp=TIME) for row, one in enumerate(ordinary(chance)))
            )
            for _ in range(chance.randrange(1, 3)):
                plain[chance.randrange(len(plain))] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            records = [bytes(plain)]
            settings |= {"records_count": chance.randrange(1, 5), "last_offset_delta": 4, "base_timestamp": TIME}
            settings["max_timestamp"] = TIME + chance.randrange(4)
    return batch(records=records, codec=chance.choice(CODECS), **settings)  # type: ignore[arg-type]  # of all kinds


def logs() -> Iterator[bytes]:
    for seed in range(LOGS):
        chance = random.Random(seed)
        share = chance.choice((0.1, 0.5, 1))
        data, offset = b"", 0
        for _ in range(BATCHES):
            one = peculiar(chance) if chance.random() < share else batch(records=ordinary(chance), codec=chance.choice(CODECS))
            data += offset.to_bytes(8, "big") + one[8:]
            offset += 10
        yield data


def test_findings_do_not_depend_on_what_is_passed_over(tmp_path: Path) -> None:
    codes = codes_however_read(logs(), tmp_path)

    assert {
        *("record-attributes-set", "varint-noncanonical", "header-bytes-odd", "key-length-bad", "record-offset-order"),
        *("last-offset-delta-mismatch", "max-timestamp-mismatch", "base-timestamp-odd", "timestamp-negative"),
        *("timestamp-overflow", "key-missing-compacted", "record-count-too-high", "record-count-too-low"),
    } <= codes


def odd_logs() -> Iterator[bytes]:
    for seed in range(LOGS // 2):
        chance = random.Random(seed)
        records = [odd_records(chance) for _ in range(6)]
        firsts = accumulate(map(len, records), initial=0)
        yield b"".join(
            batch(records=some, base_offset=first, codec=chance.choice(CODECS))
            for some, first in zip(records, firsts, strict=False)
        )


def test_as_many_odd_fields_are_counted_with_both_kernels(tmp_path: Path) -> None:
    with (
        mock.patch.object(record_reader, "_MAX_HEADERS_OF_PART", 3),
        mock.patch.object(record_reader, "_MAX_HELD_HEADERS", 2),
        mock.patch.object(fields, "_MOST_AT_ONCE", 2),
    ):
        codes = codes_however_read(odd_logs(), tmp_path)
    assert {"record-attributes-set", "varint-noncanonical", "key-length-bad", "header-bytes-odd", "finding-flood"} <= codes


def miscounted(chance: random.Random) -> bytes:
    """A batch of ordinary records, which may say another number of them or other timestamps."""
    records = ordinary(chance)[: chance.randrange(1, 4)]
    settings: dict[str, object] = {"last_offset_delta": 9}
    match chance.randrange(4):
        case 0:
            settings["records_count"] = chance.choice((len(records) + 1, 2_000_000_000))
        case 1:
            settings["trailing"] = bytes(chance.randrange(1, 3))
        case 2:
            settings |= {"records_count": chance.randrange(9), "trailing": bytes(chance.randrange(2))}
        case _:
            records = records if chance.random() < 0.7 else []
            settings["records_count"] = chance.randrange(1, 9)
    if chance.random() < 0.4:
        settings["max_timestamp"] = TIME + chance.randrange(4)
    if chance.random() < 0.3:
        settings["base_timestamp"] = TIME - chance.randrange(4)
    if chance.random() < 0.2:
        settings["timestamp_type"] = "LogAppendTime"
    return batch(records=records, **settings)  # type: ignore[arg-type]  # of all kinds


def miscounted_logs() -> Iterator[bytes]:
    """Logs of batches most of which say another number of records; many are salvaged."""
    for seed in range(LOGS // 2):
        chance = random.Random(seed)
        base, step = chance.choice((0, 0, -5, (1 << 63) - 4)), chance.choice((0, 10))
        data = b""
        for number in range(3 * BATCHES):
            one = miscounted(chance) if chance.random() < 0.8 else batch(records=ordinary(chance))
            data += (base + step * number & (1 << 64) - 1).to_bytes(8, "big") + one[8:]
        yield data


@pytest.mark.parametrize("most_held", [of_all_cases(1 << 16), 2])
def test_batches_that_say_a_wrong_number_of_records_are_counted_with_both_kernels(tmp_path: Path, most_held: int) -> None:
    made = list(miscounted_logs())
    passed = sum(kernels.native().skip_ordinary(data, 0, len(data), False, True, True, most_held)[0] > 0 for data in made)
    assert passed > LOGS // 8
    with mock.patch.object(record_reader, "_MAX_HELD_RECORDS", most_held):
        codes = codes_however_read(made, tmp_path)
    assert {"record-count-too-high", "record-count-too-low", "base-timestamp-odd"} <= codes
    assert {"max-timestamp-mismatch", "finding-flood"} <= codes


def test_times_that_differ_from_the_header_are_listed() -> None:
    first = batch(records=[record(key=b"k", timestamp=TIME)])
    second = batch(records=[record(key=b"k", timestamp=TIME + 1), record(timestamp=TIME + 7)], max_timestamp=TIME + 9)
    third = batch(records=[record(key=b"k", timestamp=TIME + 1)], base_timestamp=TIME)
    data = first + second + third
    end, odd, *_ = kernels.native().skip_ordinary(data, 0, len(data), False)
    assert end == len(data)
    assert list(struct.iter_unpack("=5q", odd)) == [
        (len(first), len(second), 0, TIME + 7, TIME + 9),
        (len(first + second), len(third), 1, TIME + 1, TIME + 1),
    ]


def test_decompressed_records_are_compared_with_their_header() -> None:
    native = kernels.native()
    records = [record(key=b"k", timestamp=TIME + 1), record(timestamp=TIME + 7)]
    data = batch(records=records)
    header, plain = b"before" + data[:61], data[61:]
    assert native.ordinary_records(header, 6, plain, False) == b""
    assert native.ordinary_records(header, 6, plain, True) is None
    assert native.ordinary_records(header, 6, plain + b"\0", False) is None
    for lowest, passed_over in ((0, b""), (-1, b""), (-2, None)):  # in a brief record, which others follow, and in the last one
        for rows in ((0, lowest, 0), (0, 0, lowest)):
            data = batch(records=[record(key=b"k", timestamp=timestamp, value=b"v" * 40) for timestamp in rows])
            assert native.ordinary_records(data, 0, data[61:], False) == passed_over, rows
    data = batch(records=records, timestamp_type="LogAppendTime", max_timestamp=TIME + 50)
    assert native.ordinary_records(data, 0, data[61:], False) == b""
    data = batch(records=records, base_timestamp=TIME, max_timestamp=TIME + 9)
    odd = native.ordinary_records(b"before" + data, 6, data[61:], False)
    assert list(struct.iter_unpack("=5q", odd)) == [(6, len(data), 1, TIME + 7, TIME + 9)]


@pytest.mark.parametrize("start", [-1, 1])
def test_starts_out_of_bounds_are_refused(start: int) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        kernels.native().skip_ordinary(b"", start, 0, False)
    with pytest.raises(ValueError, match="out of bounds"):
        kernels.native().ordinary_records(bytes(61), start, b"", False)
    with pytest.raises(ValueError, match="out of bounds"):
        kernels.native().skip_compressed(memoryview(b""), start, 0, False, 3, bytes)
