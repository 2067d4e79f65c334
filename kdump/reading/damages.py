"""The damaged ranges that a walk meets, each with its words."""

from __future__ import annotations

from kdump.reading.batch_faults import WRONG_CRC
from kdump.reading.items import BY_SCAN, END, NOT_EXAMINED, ZERO, Damage
from kdump.reading.plausible import LONGEST_BATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.tables import Row

LEADS_OVER_BATCHES = f"{WRONG_CRC}, and its length leads over batches that go on with its offsets"


def garbage(start: int, end: int, *, resync: str = BY_SCAN, row: Row | None = None, through: str = "") -> Damage:
    """Bytes that are no batch. A `row` is what they say if they are read as one."""
    return Damage(start, end, "garbage-region", "bytes that are no batch", row, through, resync=resync, is_batch=False)


def zeros(start: int, end: int, file_size: int) -> Damage:
    """Zeros, up to the end of the file or to something else."""
    return zero_hole(start, end) if end < file_size else _zero_tail(start, end)


def zero_hole(start: int, end: int) -> Damage:
    """Zeros before something else."""
    size = end - start
    message = "1 byte is zero" if size == 1 else f"{size:,} bytes are zero"
    return Damage(start, end, "zero-hole", message, status=ZERO, is_batch=False)


def _zero_tail(start: int, end: int) -> Damage:
    size = end - start
    message = "the last byte of the file is zero" if size == 1 else f"the last {size:,} bytes of the file are zero"
    return Damage(start, end, "zero-tail", message, status=ZERO, resync=END, is_batch=False)


def torn_header(start: int, end: int) -> Damage:
    """Too few bytes at the end of a file."""
    return Damage(start, end, "torn-header", "the file ends inside a batch: too few bytes for its header", resync=END)


def negative_length(start: int, end: int, length: int) -> Damage:
    """A batch that claims a negative length."""
    return Damage(start, end, "batch-length-negative", _claim(length))


def small_length(start: int, end: int, length: int) -> Damage:
    """A batch that claims a length too small for its header."""
    return Damage(start, end, "batch-length-too-small", f"{_claim(length)}, too few for its header")


def length_past_end(start: int, end: int, length: int) -> Damage:
    """A batch that claims to reach past the end of the file, though others follow."""
    return Damage(start, end, "batch-length-absurd", f"{_claim(length)}, past the end of the file, though batches follow")


def torn(start: int, length: int, there: int) -> Damage:
    """A batch that claims to reach past the end of the file; `there` are the bytes its length counts. Its end is not known."""
    message = f"{_claim(length)}, of which {there:,} are there: the file may be cut off"
    return Damage(start, start, "torn-tail" if length <= LONGEST_BATCH else "batch-length-absurd", message)


def wrong_crc(start: int, end: int, row: Row | None = None, through: str = "") -> Damage:
    """A batch whose CRC does not match, and whose length leads to no batch."""
    message = f"{WRONG_CRC}, and its length leads to no batch"
    return Damage(start, end, "crc-mismatch", message, row, through)


def leave_unchecked(damage: Damage) -> None:
    """Say of a damaged range only that not all that looks like a batch in it was checked."""
    damage.code, damage.status = "resync-budget", NOT_EXAMINED
    damage.message = "too many bytes look like headers of batches and are none; batches among them are not looked for"


def magic_message(magic: int) -> str:
    """What is said of a magic that no reader knows."""
    return f"magic {magic} does not exist"


def _claim(length: int) -> str:
    return f"a record batch says it is {length:,} bytes long"
