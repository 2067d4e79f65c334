"""A log in the library: its batches and records, up to damage and past it."""

import os
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import kdump
from tests.builders.compression import Codec
from tests.builders.files import write_partition
from tests.builders.records import (
    TIMESTAMP,
    abort_record,
    batch,
    leader_change_record,
    message,
    message_set,
    record,
    transaction_marker,
    wrapper,
)
from tests.loops import each

pytestmark = pytest.mark.both_kernels

CODECS: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
NAME = "00000000000000000000.log"


def _log(folder: Path, *parts: bytes, name: str = NAME) -> Path:
    path = folder / name
    path.write_bytes(b"".join(parts))
    return path


def _batches(*base_offsets: int, size: int = 1) -> list[bytes]:
    return [batch(records=[record(value=b"v" * size)], base_offset=base_offset) for base_offset in base_offsets]


def _flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def _shown(items: Iterable[object], *names: str) -> list[object]:
    """These values of each record, or the code of damage and where it is."""
    return [
        (item.code, item.start, item.end) if isinstance(item, kdump.Damage) else tuple(getattr(item, name) for name in names)
        for item in items
    ]


def test_what_is_appended_after_a_log_was_opened_is_not_read(tmp_path: Path) -> None:
    path = _log(tmp_path, *_batches(0))
    log = kdump.open(path)
    with path.open("ab") as file:
        file.write(_batches(1)[0])
    assert [row.base_offset for row in log] == [0]
    assert [row.base_offset for row in kdump.open(path)] == [0, 1]


def test_each_field_of_batches_and_records_is_the_one_that_was_written(tmp_path: Path) -> None:
    pair = [record(key=b"k", timestamp=TIMESTAMP + 5), record(value=b"", timestamp=TIMESTAMP + 1, headers=[(b"h", None)])]
    of_producer: dict[str, Any] = {"producer_id": 7, "producer_epoch": 5, "base_sequence": 20, "is_transactional": True}
    first = batch(base_offset=10, partition_leader_epoch=3, codec="zstd", records=pair, **of_producer)
    second = batch(base_offset=12, records=[record(value=b"v")], timestamp_type="LogAppendTime", max_timestamp=TIMESTAMP + 9)
    old = [message(magic=magic, key=b"key", value=b"v", timestamp=TIMESTAMP + 1) for magic in (0, 1)]
    sets = [message_set(messages=[old[0]], base_offset=13), wrapper(messages=[old[1]], base_offset=14)]
    parts = [first, second, *sets]
    log = kdump.open(_log(tmp_path, *parts))
    place, kind = ("base_offset", "last_offset", "position", "size", "magic"), ("timestamp_type", "timestamp", "compresscodec")
    starts = [0, *accumulate(map(len, parts))]
    kinds = [(2, "CreateTime", TIMESTAMP + 5, "zstd"), (2, "LogAppendTime", TIMESTAMP + 9, "none")]
    kinds += [(0, "NoTimestampType", -1, "none"), (1, "CreateTime", TIMESTAMP + 1, "gzip")]
    spans = [(10, 11), (12, 12), (None, 13), (None, 14)]
    expected = [(*spans[row], starts[row], len(parts[row]), *kinds[row], True) for row in range(4)]
    assert _shown(log, *place, *kind, "isvalid") == expected
    counts = ("count", "base_sequence", "last_sequence", "producer_id", "producer_epoch", "partition_leader_epoch")
    assert _shown(log, *counts, "is_transactional", "is_control") == [
        (2, 20, 21, 7, 5, 3, True, False),
        (1, -1, -1, -1, -1, 0, False, False),
        *[(None,) * 8] * 2,
    ]
    names = ("offset", "timestamp", "key", "value", "key_size", "value_size", "sequence", "headers", "magic", "timestamp_type")
    assert _shown(log.records(), *names) == [
        (10, TIMESTAMP + 5, b"k", None, 1, -1, 20, (), 2, "CreateTime"),
        (11, TIMESTAMP + 1, None, b"", -1, 0, 21, ((b"h", None),), 2, "CreateTime"),
        (12, TIMESTAMP + 9, None, b"v", -1, 1, -1, (), 2, "LogAppendTime"),
        (13, -1, b"key", b"v", 3, 1, None, None, 0, "NoTimestampType"),
        (14, TIMESTAMP + 1, b"key", b"v", 3, 1, None, None, 1, "CreateTime"),
    ]
    of_batch = ("producer_id", "producer_epoch", "partition_leader_epoch", "is_transactional")
    assert _shown(log.records(), "position", "compresscodec", *of_batch, "isvalid") == [
        *[(0, "zstd", 7, 5, 3, True, None)] * 2,
        (starts[1], "none", -1, -1, 0, False, None),
        (starts[2], "none", *[None] * 4, True),
        (starts[3], "gzip", *[None] * 4, True),
    ]


def test_a_message_keeps_the_magic_that_it_has_inside_of_a_wrapper(tmp_path: Path) -> None:
    path = _log(tmp_path, wrapper(messages=[message(magic=0, value=b"a"), message(magic=1, value=b"b")], magic=1))
    assert [row.magic for row in kdump.open(path).records()] == [0, 1]


def test_control_records_say_what_they_are(tmp_path: Path) -> None:
    path = _log(
        tmp_path,
        batch(records=[record(value=b"v")], producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True),
        transaction_marker(base_offset=1),
        batch(records=[abort_record()], base_offset=2, is_transactional=True, is_control=True, producer_id=1),
        batch(records=[leader_change_record()], base_offset=3, is_control=True),
        batch(records=[record(key=key) for key in (b"\0\0\xff\xff", b"\0\0\0\x7f", b"\0\0\0")], base_offset=4, is_control=True),
    )
    rows = list(kdump.open(path).records())
    assert _shown(rows, "offset", "is_transactional", "is_control", "control_type") == [
        *((0, True, False, None), (1, True, True, "COMMIT"), (2, True, True, "ABORT"), (3, False, True, "LEADER_CHANGE")),
        *((4, False, True, "-1"), (5, False, True, "127"), (6, False, True, None)),
    ]
    assert rows[1].key == b"\0\0\0\1"
    assert [row.producer_id for row in rows] == [1, 1, 1, -1, -1, -1, -1]


@each(
    ("from_offset", "to_offset", "offsets"),
    [(None, None, [0, 1, 2, 3, 4, 5]), (3, None, [3, 4, 5]), (None, 1, [0, 1]), (1, 4, [1, 2, 3, 4]), (6, None, []), (4, 2, [])],
)
@each("is_legacy", [False, True])
def test_records_of_a_range_of_offsets(
    tmp_path: Path, from_offset: int | None, to_offset: int | None, offsets: Sequence[int], is_legacy: bool
) -> None:
    parts = [batch(records=[record(), record()], base_offset=offset, codec="gzip") for offset in (0, 2, 4)]
    if is_legacy:
        parts = [wrapper(messages=[message(), message()], base_offset=offset) for offset in (0, 2, 4)]
    log = kdump.open(_log(tmp_path, *parts))
    assert [row.offset for row in log.records(from_offset=from_offset, to_offset=to_offset)] == offsets


def _until_damage(rows: Iterable[object]) -> tuple[int, kdump.CorruptData]:
    count = 0
    with pytest.raises(kdump.CorruptData) as caught:
        for _ in rows:
            count += 1
    return count, caught.value


def test_salvage_goes_on_after_damage(tmp_path: Path) -> None:
    parts = _batches(*range(8))
    size = len(parts[0])
    parts[2] = _flipped(parts[2], 65)
    parts[5] = b"\xff" * size
    parts[7] = parts[7][:8] + (1000).to_bytes(4, "big") + parts[7][12:]
    items = list(kdump.open(_log(tmp_path, *parts)).salvage())
    assert _shown(items, "base_offset", "status", "is_nested", "claimed_length") == [
        *((0, "intact", False, None), (1, "intact", False, None), ("crc-mismatch", 2 * size, 3 * size)),
        *((3, "intact", False, None), (4, "intact", False, None), ("garbage-region", 5 * size, 6 * size)),
        *((6, "salvaged", False, None), (7, "salvaged", False, 1000)),
    ]
    damage, other = items[2], items[5]
    assert isinstance(damage, kdump.Damage) and damage.batch is not None and damage.status == "damaged"
    assert isinstance(other, kdump.Damage) and other.batch is None and other.status == "damaged"
    assert (damage.batch.base_offset, damage.batch.isvalid, damage.size) == (2, False, size)
    records = kdump.open(tmp_path / NAME).salvage_records()
    assert [item.offset for item in records if isinstance(item, kdump.Record)] == [0, 1, 3, 4, 6, 7]
    log = kdump.open(_log(tmp_path, parts[0], parts[7]))  # of whose second batch only the length is wrong
    assert [_until_damage(rows)[0] for rows in (log, log.records())] == [1, 1]


def test_a_bad_record_in_a_sound_batch_is_damage_of_that_batch(tmp_path: Path) -> None:
    bad = batch(records=[record(value=b"a"), record(value=b"b", value_length=90)], base_offset=1)
    first, last = _batches(0, 3)
    path = _log(tmp_path, first, bad, last)
    assert [row.base_offset for row in kdump.open(path)] == [0, 1, 3]
    count, error = _until_damage(kdump.open(path).records())
    assert (count, error.position, error.path) == (2, len(first), os.fspath(path))
    items = list(kdump.open(path).salvage_records())
    damage = items[2]
    assert isinstance(damage, kdump.Damage) and damage.batch is not None
    damaged = (error.code, len(first), len(first) + len(bad))
    assert _shown(items, "value") == [(b"v",), (b"a",), damaged, (b"v",)]
    assert (damage.batch.base_offset, damage.batch.isvalid) == (1, True)


def test_a_bad_message_in_a_sound_wrapper_is_damage_and_the_next_one_is_not(tmp_path: Path) -> None:
    path = _log(tmp_path, wrapper(messages=[message(value=b"%c" % one, crc=1 if one in b"bd" else None) for one in b"abcd"]))
    count, error = _until_damage(kdump.open(path).records())
    assert (count, error.code, error.position) == (1, "crc-mismatch", 0)
    assert "offset 1" in str(error)
    items = list(kdump.open(path).salvage_records())
    found = [item.value if isinstance(item, kdump.Record) else item.code for item in items]
    assert found == [b"a", "crc-mismatch", b"c", "crc-mismatch"]
    path = _log(tmp_path, message_set(messages=[message(value=b"a"), message(key_length=1000)]))  # the CRC of both fits
    found = [item.value if isinstance(item, kdump.Record) else item.code for item in kdump.open(path).salvage_records()]
    assert found == [b"a", "message-field-past-end"]


def test_damage_in_a_partition_names_the_segment(tmp_path: Path) -> None:
    folder = write_partition(tmp_path, topic="a", segments={0: _batches(0), 1: [_flipped(_batches(1)[0], 65)], 2: _batches(2)})
    segment = os.fspath(folder / "00000000000000000001.log")
    count, error = _until_damage(kdump.open(folder))
    assert (count, error.path, error.position) == (1, segment, 0)
    items = list(kdump.open(folder).salvage())
    assert [item.path if isinstance(item, kdump.Damage) else item.base_offset for item in items] == [0, segment, 2]
