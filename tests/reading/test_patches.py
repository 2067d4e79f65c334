"""Batches that stand alone, read many at a time by the kernel in C, come to what the reference makes of them one by one."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.formats.message_set import read as records_of
from kdump.reading import salvage
from kdump.reading.items import Patches
from kdump.reading.tuning import DEFAULT, ReadTuning
from tests import kernels
from tests.builders import hostile_faults
from tests.builders.hostile import Hostile
from tests.builders.records import batch, message, message_set, record
from tests.loops import each
from tests.reading.parts import parts_of
from tests.support import LOGS, damaged, opened

pytestmark = pytest.mark.skipif(kernels.why_no_c() is not None, reason=str(kernels.why_no_c()))

LONE = batch(records=[record(value=b"v")])
LONE_MESSAGE = message_set(messages=[message(value=b"m", magic=1)])
BETWEEN = (
    *(b"g", bytes(range(1, 51)), bytes(20), bytes(700), bytes(range(1, 100)) + bytes(600) + b"x"),
    LONE[:61],
    *(batch(records=[record(value=b"v")], batch_length=length) for length in (-5, 5, 2000, 1 << 30, 70_000)),
    batch(records=[record(value=bytes(900))]),
    LONE_MESSAGE[:30],
    LONE_MESSAGE[:8] + struct.pack(">i", 1 << 29) + LONE_MESSAGE[12:],
)


def _walked(data: bytes, tuning: ReadTuning, kernel: str) -> list[str]:
    with kernels.using(kernel), opened(data) as source:
        return [repr(part) for item in salvage.walk(source, tuning=tuning) for part in parts_of(item)]


@given(
    st.lists(st.sampled_from(BETWEEN) | damaged(LOGS), min_size=1, max_size=30),
    st.sampled_from([LONE, LONE_MESSAGE]),
    st.sampled_from([0, 3, 1000]),
    st.sampled_from([0, 2000, 1 << 20]),
    st.sampled_from([80, 300, 4000]),
)
def test_both_kernels_walk_alike_past_damage(pieces: list[bytes], one: bytes, tries: int, crc_bytes: int, near: int) -> None:
    data = b"".join(struct.pack(">q", number) + one[8:] + piece for number, piece in enumerate(pieces * 2))
    data += bytes(range(256)) * (4 * near // 256 + 24)
    tuning = ReadTuning(near_bytes=near, window_bytes=1 << 14, free_tries=tries, free_crc_bytes=crc_bytes)
    assert _walked(data, tuning, "c") == _walked(data, tuning, "python")


@each("one", hostile_faults.LOGS, ids=lambda one: one.name)
@each("free", [0, 1 << 12, 1 << 18])
def test_both_kernels_walk_alike_through_hostile_files(one: Hostile, free: int) -> None:
    data = one.build(300)[".log"]
    tuning = ReadTuning(near_bytes=1000, window_bytes=1 << 14, free_tries=free, free_crc_bytes=16 * free)
    assert _walked(data, tuning, "c") == _walked(data, tuning, "python")


@pytest.mark.parametrize("between", BETWEEN[:5])
def test_most_batches_that_stand_alone_come_together(between: bytes) -> None:
    data = b"".join(struct.pack(">q", number) + LONE[8:] + between for number in range(2000))
    with opened(data) as source:
        items = list(salvage.walk_patches(source, 0, lambda: True, tuning=DEFAULT))
    assert sum(len(item.section.statuses) for item in items if isinstance(item, Patches)) > 600
    assert len(items) < 200


@pytest.mark.parametrize("free", [1 << 12, 1 << 18])
def test_batches_whose_lengths_lead_far_come_together(free: int) -> None:
    one = next(one for one in hostile_faults.FAULTS if one.name == "random lengths up to 64 KiB")
    with opened(one.build(4000)[".log"]) as source:
        items = list(salvage.walk_patches(source, 0, lambda: True, tuning=ReadTuning(free_tries=free, free_crc_bytes=free << 8)))
    assert len(items) < 100


def test_a_damaged_message_between_others_is_none_of_their_records() -> None:
    parts: list[bytes] = []
    for number in range(0, 2000, 2):
        one = message(value=b"v", magic=1)
        sound, broken = (message_set(messages=[one], base_offset=offset) for offset in (number, number + 1))
        parts += [sound, broken[:-1] + b"w", bytes(range(1, 31))]
    listed = 0
    with opened(b"".join(parts)) as source:
        for item in salvage.walk_patches(source, 0, lambda: True, tuning=DEFAULT):
            if isinstance(item, Patches):
                for part in records_of(source, item.section.chunk):
                    assert list(part.records["offset"]) == list(part.batches["last_offset"])
                    listed += len(part.records)
    assert listed > 900
