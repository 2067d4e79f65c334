"""Java's arithmetic: numbers that wrap around at 32 and 64 bits, and sequence numbers that continue at 0."""

from __future__ import annotations

NO_SEQUENCE = -1

_MAX_INT32 = 0x7FFFFFFF
_BITS = (*(1 << bit for bit in range(63)), -1 << 63)  # of a number of 64 bits, the last one its sign


def as_int32(number: int) -> int:
    """The number as 32 bits hold it: Kafka's arithmetic wraps."""
    return (number + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def as_int64(number: int) -> int:
    """The number as 64 bits hold it: Kafka's arithmetic wraps."""
    return (number + 0x8000000000000000 & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def increment_sequence(sequence: int, increment: int) -> int:
    """The sequence number `increment` later: after 2147483647 follows 0 (Kafka: DefaultRecordBatch)."""
    if sequence >= 0 <= increment <= _MAX_INT32 - sequence:
        return sequence + increment
    if sequence > as_int32(_MAX_INT32 - increment):
        return as_int32(increment - as_int32(_MAX_INT32 - sequence) - 1)
    return as_int32(sequence + increment)


def decrement_sequence(sequence: int, decrement: int) -> int:
    """The sequence number `decrement` earlier: before 0 comes 2147483647 (Kafka: DefaultRecordBatch)."""
    if sequence < decrement:
        return as_int32(_MAX_INT32 - as_int32(decrement - sequence) + 1)
    return as_int32(sequence - decrement)


def sequence_of_record(base_sequence: int, offset_delta: int) -> int:
    """The sequence number of a record, -1 if its batch has none: that of a batch is negative (Kafka: DefaultRecord)."""
    return NO_SEQUENCE if base_sequence < 0 else increment_sequence(base_sequence, offset_delta)


def differ_in_a_bit(one: int, other: int) -> bool:
    """Whether two numbers of 64 bits or fewer differ in one of them."""
    return ((one ^ other) & (1 << 64) - 1).bit_count() == 1


def with_a_bit_flipped(number: int, low: int, high: int) -> list[int]:
    """The numbers from `low` to `high` that differ from this one, of 64 bits, in a single bit."""
    return [flipped for bit in _BITS if low <= (flipped := number ^ bit) <= high]
