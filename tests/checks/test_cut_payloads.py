"""Payloads that are cut off: once their faults are only counted, their records are shown to the rules with those of others."""

import random
import struct
from pathlib import Path
from unittest import mock

import pytest

from kdump.checks import check
from kdump.checks.jobs import Job
from kdump.checks.record_reader import RecordReader
from kdump.checks.settings import DEEP, Settings
from kdump.tables import Row
from tests.builders.checksums import crc32c
from tests.builders.compression import Codec, compress
from tests.builders.files import file_name
from tests.builders.hostile_contents import cut_compressed
from tests.builders.records import batch, encode_record, record

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
    one = bytearray(batch(records=[record()] * count, codec=codec, base_offset=offset)[:61] + payload)
    struct.pack_into(">i", one, 8, len(one) - 12)
    struct.pack_into(">I", one, 17, crc32c(bytes(one[21:])))
    return bytes(one), count


def _found(path: Path, max_findings: int) -> list[str]:
    rows: list[Row] = []
    check.run(Job(Job.FILE, str(path)), Settings(now=NOW, level=DEEP, max_findings=max_findings), rows.append)
    return list(map(repr, rows))


@pytest.mark.both_kernels
@pytest.mark.parametrize("seed", range(12))
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


def test_payloads_that_are_cut_off_are_read_once_and_not_reported_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(cut_compressed("gzip")(500))
    with mock.patch.object(RecordReader, "_show_irregular", autospec=True, side_effect=RecordReader._show_irregular) as shown:
        found = _found(path, 20)
    assert any("480 more findings of frame-truncated" in row for row in found)
    assert shown.call_count == 21  # it was 500
