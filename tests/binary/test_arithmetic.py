"""Java's arithmetic: numbers wrap around at their size, sequence numbers continue at 0."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.arithmetic import (
    as_int32,
    as_int64,
    decrement_sequence,
    differ_in_a_bit,
    increment_sequence,
    sequence_of_record,
    with_a_bit_flipped,
)

MAX_INT32 = 0x7FFFFFFF


@given(st.integers(0, MAX_INT32), st.integers(0, MAX_INT32))
def test_sequences_count_round_a_circle(sequence: int, increment: int) -> None:
    assert increment_sequence(sequence, increment) == (sequence + increment) % (1 << 31)
    assert decrement_sequence(increment_sequence(sequence, increment), increment) == sequence


def test_records_of_a_batch_without_a_sequence_have_none() -> None:
    assert [sequence_of_record(base, 3) for base in (-1, -2, 0, MAX_INT32)] == [-1, -1, 3, 2]


@given(st.integers())
def test_numbers_wrap_at_their_size(number: int) -> None:
    assert as_int32(number) == struct.unpack(">i", (number & 0xFFFFFFFF).to_bytes(4, "big"))[0]
    assert as_int64(number) == struct.unpack(">q", (number & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "big"))[0]


def test_numbers_of_64_bits_may_differ_in_one_of_them() -> None:
    pairs = [(0, 1), (4, 5), (0, -1 << 63), (-1, (1 << 63) - 1), (-1, -2), (0, 0), (0, 3), (1, 2), (-1, 0)]
    assert [differ_in_a_bit(*pair) for pair in pairs] == [True] * 5 + [False] * 4
    flipped = [with_a_bit_flipped(5, 0, most) for most in (13, 12, 7, 6)]
    assert flipped == [[4, 7, 1, 13], [4, 7, 1], [4, 7, 1], [4, 1]]
    assert (with_a_bit_flipped(0, -1 << 63, 0), with_a_bit_flipped(-1, 1, (1 << 63) - 1)) == ([-1 << 63], [(1 << 63) - 1])
