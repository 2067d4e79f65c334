"""A walk past damage yields the same with the kernel in C and without."""

import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.reading import salvage
from kdump.reading.items import Damage, Section
from kdump.reading.tuning import ReadTuning
from tests import kernels
from tests.builders import hostile_faults
from tests.builders.hostile import Hostile
from tests.builders.records import batch, message, message_set, record
from tests.loops import each
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
        return [repr(part) for item in salvage.walk(source, tuning=tuning) for part in _parts_of(item)]


def _parts_of(item: Section | Damage) -> Iterator[tuple[object, ...]]:
    """What an item says of each batch, or of a damaged range."""
    if isinstance(item, Damage):
        yield tuple(getattr(item, name) for name in Damage.field_names if name != "row"), repr(item.row)
        return
    chunk = item.chunk
    for row, (start, found) in enumerate(zip(chunk.starts, chunk.batches, strict=True)):
        data = chunk.window[start : start + found.size]
        yield repr(found), chunk.headers[row], data, item.status, item.is_nested, item.claimed_length


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
