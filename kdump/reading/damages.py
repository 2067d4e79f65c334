"""The damaged ranges that every walk meets, each with its words."""

from __future__ import annotations

from kdump.reading.items import BY_SCAN, NOT_EXAMINED, ZERO, Damage

GARBAGE = "bytes that are no batch"


def garbage(start: int, end: int, *, resync: str = BY_SCAN) -> Damage:
    """Bytes that are no batch."""
    return Damage(start, end, "garbage-region", GARBAGE, resync=resync, is_batch=False)


def zero_hole(start: int, end: int) -> Damage:
    """Zeros before something else."""
    size = end - start
    message = "1 byte is zero" if size == 1 else f"{size:,} bytes are zero"
    return Damage(start, end, "zero-hole", message, status=ZERO, is_batch=False)


def claim(length: int) -> str:
    """What the header of a batch says of its length."""
    return f"a record batch says it is {length:,} bytes long"


def negative_length(start: int, end: int, length: int) -> Damage:
    """A batch that claims a negative length."""
    return Damage(start, end, "batch-length-negative", claim(length))


def small_length(start: int, end: int, length: int) -> Damage:
    """A batch that claims a length too small for its header."""
    return Damage(start, end, "batch-length-too-small", f"{claim(length)}, too few for its header")


def length_past_end(start: int, end: int, length: int) -> Damage:
    """A batch that claims to reach past the end of the file, though others follow."""
    return Damage(start, end, "batch-length-absurd", f"{claim(length)}, past the end of the file, though batches follow")


def unchecked(start: int, end: int) -> Damage:
    """Bytes among which not all that looks like a batch was checked."""
    message = "too many bytes look like headers of batches and are none; batches among them are not looked for"
    return Damage(start, end, "resync-budget", message, status=NOT_EXAMINED)
