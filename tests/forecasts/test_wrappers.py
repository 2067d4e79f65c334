"""Forecasts of logs of wrapper messages, which a broker decompresses to find an offset."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

import kdump
from tests.builders.compression import Codec, lz4_frame
from tests.builders.fleets import flipped
from tests.builders.records import encode_message, message, wrapper
from tests.loops import each


def _wrapped(first: int, count: int, magic: int, codec: Codec = "gzip", *, kept: Sequence[int] = ()) -> bytes:
    """A wrapper of some messages; only those of the `kept` offsets, if there are any, as the cleaner leaves it."""
    offsets = kept or range(first, first + count)
    inside = [message(value=b"v%d" % offset, magic=magic) for offset in offsets]
    placed = list(offsets) if magic == 0 else [offset - offsets[0] for offset in offsets]
    return wrapper(messages=inside, magic=magic, codec=codec, offset=offsets[-1], inner_offsets=placed)


def _lost(folder: Path, *parts: bytes) -> tuple[int, list[list[int]]]:
    """The records and offsets that an unclean stop loses of a log."""
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(b"".join(parts))
    (row,) = kdump.forecast(folder, after="unclean", recovery_point=0)
    return row.lost_records, row.lost_offsets


@pytest.mark.both_kernels
@each("codec", ["gzip", "snappy", "lz4"])
@each("magic", [0, 1])
def test_all_messages_in_the_wrappers_after_damage_are_lost(tmp_path: Path, magic: int, codec: Codec) -> None:
    parts = [_wrapped(first, 20, magic, codec) for first in range(0, 200, 20)]
    parts[2] = flipped(parts[2], -5)
    plain = b"".join(encode_message(message(value=b"v", magic=magic), offset=offset) for offset in range(200, 203))
    assert _lost(tmp_path / "t-0", *parts, plain) == (143, [[60, 202]])


@pytest.mark.both_kernels
@each("magic", [0, 1])
def test_messages_inside_of_a_damaged_wrapper_are_no_batches(tmp_path: Path, magic: int) -> None:
    """What does not compress stands in a wrapper as it is."""
    inside, stored = [message(value=b"v%d" % row, magic=magic) for row in range(20)], partial(lz4_frame, is_stored=True)
    damaged = flipped(wrapper(messages=inside, magic=magic, codec="lz4", base_offset=20, compressor=stored), -5)
    parts = _wrapped(0, 20, magic), damaged, _wrapped(40, 20, magic)
    assert _lost(tmp_path / "t-0", *parts) == (20, [[40, 59]])
    assert _lost(tmp_path / "t-1", *parts[:2]) == (0, [])
