"""Java's arithmetic: numbers wrap around at their size, sequence numbers continue at 0."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.arithmetic import as_int32, as_int64, decrement_sequence, increment_sequence, sequence_of_record

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
