"""Payloads that are cut off, give nothing, or hold wrappers: once their faults are only counted, less is read of them."""

import random
import struct
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary.codecs.xxhash import xxhash32
from kdump.checks import check
from kdump.checks.jobs import Job
from kdump.checks.record_reader import RecordReader
from kdump.checks.settings import DEEP, Settings
from kdump.tables import Row
from tests.builders.checksums import crc32c
from tests.builders.compression import Codec, compress
from tests.builders.files import file_name
from tests.builders.hostile_contents import cut_compressed
from tests.builders.records import Message, batch, encode_record, message, record, wrapper
from tests.loops import each

NOW = 1_700_000_500_000
CODECS: tuple[Codec, ...] = ("gzip", "gzip", "gzip", "lz4", "snappy", "zstd")


def _one(chance: random.Random, offset: int) -> tuple[bytes, int]:
    """A batch at this offset, often with a payload that is cut off or otherwise wrong, and its number of records."""
    count = chance.choice((1, 2, 3, 3, 10))
    offset_deltas = [0] * count if chance.random() < 0.1 else list(range(count))
    timestamps = [chance.choice((0, 0, 0, 1, -2_000_000_000_000)) for _ in range(count)]
    records = b"".join(
        encode_record(record(key=b"k", timestamp_delta=time, offset_delta=delta))
        for time, delta in zip(timestamps, offset_deltas, strict=True)
    )
    codec = chance.choice(CODECS)
    payload = compress(records, codec=codec)
    match chance.randrange(8):
        case 0:
            pass
        case 1:
            payload = payload[:-8] + bytes(4) + payload[-4:]
        case 2:
            payload = b"\0" + payload
        case 3:
            payload = payload[: len(payload) // 2]
        case _:
            payload = payload[: -chance.randrange(1, 9)]
    return _of_payload(payload, codec, offset, count), count


def _of_payload(payload: bytes, codec: Codec, offset: int, count: int = 1) -> bytes:
    """A batch of this many records, whose payload is this."""
    one = bytearray(batch(records=[record()] * count, codec=codec, base_offset=offset)[:61] + payload)
    struct.pack_into(">i", one, 8, len(one) - 12)
    struct.pack_into(">I", one, 17, crc32c(bytes(one[21:])))
    return bytes(one)


def _nothing(chance: random.Random) -> tuple[bytes, Codec]:
    """A payload that gives nothing, and its codec."""
    codec = chance.choice(CODECS)
    payload = compress(encode_record(record(value=b"v" * chance.choice((0, 40)))), codec=codec)
    match chance.randrange(6):
        case 0:
            return payload[: chance.randrange(len(payload))], codec
        case 1:
            return payload, chance.choice(CODECS)
        case 2:
            return b"\x28\xb5\x2f\xfd\0\xf8" + payload, "zstd"  # asks for a window of 2^41 bytes
        case 3:
            return b"\x04\x22\x4d\x18\x60\x40" + bytes([xxhash32(b"\x04\x22\x4d\x18\x60\x40") >> 8 & 0xFF]), "lz4"
        case 4:
            at = chance.randrange(len(payload))
            return payload[:at] + bytes([payload[at] ^ 0xFF]) + payload[at + 1 :], codec
    return payload[: len(payload) // 2], codec


def _found(path: Path, max_findings: int) -> list[str]:
    rows: list[Row] = []
    check.run(Job(Job.FILE, str(path)), Settings(now=NOW, level=DEEP, max_findings=max_findings), rows.append)
    return list(map(repr, rows))


def _times_taken(path: Path, shortcut: str, refusal: object) -> int:
    """How often bad batches of a log are only counted; its findings are the same if the shortcut to that refuses."""
    with mock.patch.object(RecordReader, shortcut, return_value=refusal):
        expected = _found(path, 2)
    with mock.patch.object(RecordReader, "_count_bad", autospec=True, side_effect=RecordReader._count_bad) as counted:
        assert _found(path, 2) == expected
    return counted.call_count


@pytest.mark.both_kernels
@each("seed", range(12))
def test_findings_are_those_of_payloads_one_by_one(seed: int, tmp_path: Path) -> None:
    chance, parts, offset = random.Random(seed), [], 0
    for _ in range(150):
        one, count = _one(chance, offset)
        parts.append(one)
        offset += count
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(b"".join(parts))
    with mock.patch.object(RecordReader, "_counts_cut", return_value=False):
        expected = _found(path, 2)
    with mock.patch.object(RecordReader, "_counts_cut", autospec=True, side_effect=RecordReader._counts_cut) as counted:
        found = _found(path, 2)
    assert sorted(found) == sorted(expected)  # rules see more batches at once: what they find stands in another order
    assert counted.call_count > 5


@pytest.mark.both_kernels
@each("seed", range(12))
def test_findings_are_those_of_payloads_that_give_nothing_one_by_one(seed: int, tmp_path: Path) -> None:
    chance, parts = random.Random(seed), []
    for offset in range(150):
        payload, codec = _nothing(chance) if chance.random() < 0.9 else (compress(encode_record(record()), codec="gzip"), "gzip")
        parts.append(_of_payload(payload, codec, offset))
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(b"".join(parts))
    assert _times_taken(path, "_code_if_only_counted", None) > 20


@each("seed", range(12))
def test_findings_are_those_of_nested_wrappers_one_by_one(seed: int, tmp_path: Path) -> None:
    chance, parts = random.Random(seed), []
    for offset in range(200):
        magic, codec = chance.randrange(2), chance.choice(CODECS[:5])
        plain: Message | bytes = message(value=b"v", magic=magic)
        inner = wrapper(messages=[plain], magic=magic, offset=chance.choice((0, 0, offset, 999)))
        inside = [*[plain] * (chance.random() < 0.1), *[inner] * (chance.random() < 0.9)] or [plain]
        trailing = b"\0" * (chance.random() < 0.05)
        parts.append(wrapper(messages=inside, codec=codec, magic=magic, offset=chance.choice((0, offset)), trailing=trailing))
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(b"".join(parts))
    assert _times_taken(path, "_counts_nested", False) > 20


def test_payloads_that_are_cut_off_are_read_once_and_not_reported_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(cut_compressed("gzip")(500))
    with mock.patch.object(RecordReader, "_show_irregular", autospec=True, side_effect=RecordReader._show_irregular) as shown:
        found = _found(path, 20)
    assert any("480 more findings of frame-truncated" in row for row in found)
    assert shown.call_count == 21  # it was 500
