"""Time indexes whose entries lead anywhere: both kernels print the same, and the real tool what they print."""

import random
import struct
from pathlib import Path
from typing import Any  # options of builders

import pytest

from kdump.output.kafka import native_indexes
from tests import kernels
from tests.builders.compression import Codec
from tests.builders.hostile import sound
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.loops import each

BASE = "0" * 20


def _log(chance: random.Random, count: int) -> bytes:
    """Batches of different sizes, whose offsets mostly ascend."""
    parts = []
    offset = 0
    for _ in range(count):
        if chance.random() < 0.05:
            offset = chance.randrange(4 * count)
        records = [record(offset_delta=delta, value=bytes(chance.choice((0, 3, 700)))) for delta in range(chance.randrange(1, 4))]
        codec: Codec = chance.choice(("none", "none", "none", "gzip"))
        times: Any = {"base_timestamp": chance.randrange(5)}
        if chance.random() < 0.3:
            times |= {"timestamp_type": "LogAppendTime", "max_timestamp": chance.randrange(5)}
        parts.append(batch(records=records, base_offset=offset, codec=codec, **times))
        offset += len(records) + chance.choice((0, 0, 0, 2))
    return b"".join(parts)


def _messages(chance: random.Random, count: int) -> bytes:
    """Messages and wrappers of both old formats, whose offsets ascend."""
    parts = []
    for offset in range(count):
        magic = chance.randrange(2)
        one = message(value=bytes(9), magic=magic, timestamp=chance.randrange(-2, 5)) if magic else message(value=b"v", magic=0)
        if chance.random() < 0.2:
            parts.append(wrapper(messages=[one, one], magic=magic, base_offset=3 * offset))
        else:
            parts.append(message_set(messages=[one], base_offset=3 * offset))
    return b"".join(parts)


def _positions(data: bytes) -> list[int]:
    positions, at = [], 0
    while at < len(data):
        positions.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return positions


def _partition(folder: Path, seed: int) -> Path:
    """A log, an offset index that is empty, right or wrong, and a time index of random entries."""
    chance = random.Random(seed)
    data = chance.choice((_log, _log, _messages))(chance, chance.choice((3, 30, 200)))
    starts = sorted(chance.sample(_positions(data), 3))
    if chance.random() < 0.2:
        starts = [chance.randrange(len(data) + 9) for _ in range(3)]
    kind = chance.randrange(3)
    index = [(int.from_bytes(data[at + 4 : at + 8], "big") & 0xFFFF, at) for at in starts] if kind else []
    if kind == 1:
        index.sort()
    highest = chance.choice((2, 8, 80, 900))
    entries = [(chance.randrange(6), chance.randrange(1, highest)) for _ in range(chance.choice((5, 60, 400)))]
    if chance.random() < 0.5:
        entries.sort(key=lambda entry: entry[1])
    tail = chance.choice((b"", b"", b"", bytes(5), data[:40]))
    (folder / f"{BASE}.log").write_bytes(data + tail)
    (folder / f"{BASE}.index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in index))
    path = folder / f"{BASE}.timeindex"
    path.write_bytes(b"".join(struct.pack(">qi", *entry) for entry in entries))
    return path


def _printed(*arguments: str | Path) -> kernels.Printed:
    printed = []
    for name in ("c", "python"):
        with kernels.using(name):
            printed.append(kernels.printed([*arguments]))
    assert printed[0] == printed[1]
    return printed[0]


@each("release", ["4.3.1", "2.0.0", "0.11.0.0", "0.10.2.1"])
@each("first_seed", range(0, 60, 10))
def test_both_kernels_print_the_same(release: str, first_seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(first_seed, first_seed + 10):
        path = _partition(tmp_path, seed)
        monkeypatch.setattr(native_indexes, "_COMPLAINTS", 2 + seed % 40)
        _printed("--release", release, "--files", path)


@each("order", ["ascending", "descending", "random"])
def test_entries_that_lead_far_into_a_long_log_print_the_same(order: str, tmp_path: Path) -> None:
    count = 9000  # batches: more than the kernel has marks
    chance = random.Random(1)
    offsets = [chance.randrange(1, count + 50) for _ in range(400)]
    if order != "random":
        offsets.sort(reverse=order == "descending")
    (tmp_path / f"{BASE}.log").write_bytes(sound(count))
    (tmp_path / f"{BASE}.index").write_bytes(b"")
    path = tmp_path / f"{BASE}.timeindex"
    path.write_bytes(b"".join(struct.pack(">qi", number, offset) for number, offset in enumerate(offsets)))
    assert _printed("--files", path).stderr.count(b"found log offset: -1") == sum(offset >= count for offset in offsets)
