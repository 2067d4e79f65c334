"""The meaning of a file's name: its format, base offset and snapshot id."""

from __future__ import annotations

from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LOG, CHECKPOINT, PRODUCER_SNAPSHOT = ".log", ".checkpoint", ".snapshot"
OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX = ".index", ".timeindex", ".txnindex"
SEGMENT_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, PRODUCER_SNAPSHOT)
"""What stands after the number in the names of a segment's files."""

BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"

UNCHECKED = (".lock", "remote_log_snapshot")
"""Files of brokers that need no check."""

OF_NFS = ".nfs"
"""How the name begins under which NFS keeps a deleted file until the broker closes it."""

CLEANED, SWAP, DELETED = ".cleaned", ".swap", ".deleted"
"""One more suffix: of what a cleaning has not finished, of what is about to replace others, of what is about to be deleted."""

_GOING = (DELETED, CLEANED, SWAP, ".part", ".tmp")
_OFFSET_WIDTH = 20
_EPOCH_WIDTH = 10
_MOST_DIGITS = 19  # of a number of 64 bits
_MAX_DIGITS = 1000  # of one in another script, which may begin with zeros; Python refuses to read numbers of several thousand


def suffix(name: str) -> str:
    """A file name from its last dot on; empty if it has none, or is the `.checkpoint` that Kafka Streams keeps beside a state."""
    dot = name.rfind(".")
    return name[dot:] if dot >= 0 and name != CHECKPOINT else ""


def base_offset(name: str) -> int:
    """The number before the first dot of a segment file's name.

    Raises CorruptData (`number-malformed`) where it is none.
    """
    return parse_number(stem(name), 64)


def stem(name: str) -> str:
    """A file name up to its first dot, which all files of a segment share."""
    return name.split(".", 1)[0]


def snapshot_id(name: str) -> tuple[int, int]:
    """The end offset and epoch in the name of a KRaft snapshot: 20 digits, one character, 10 digits.

    Raises CorruptData (`snapshot-name-short` or `number-malformed`).
    """
    numbers = []
    for start, width, bits in ((0, _OFFSET_WIDTH, 64), (_OFFSET_WIDTH + 1, _EPOCH_WIDTH, 32)):
        end = start + width
        if len(name) < end:
            message = "the name of a snapshot must have an offset of 20 digits and an epoch of 10"
            raise CorruptData("snapshot-name-short", message, start=start, end=end, length=len(name))
        numbers.append(parse_number(name[start:end], bits))
    return numbers[0], numbers[1]


def is_going(name: str) -> bool:
    """Whether files of this name are about to be deleted, or to get another name."""
    return name.endswith(_GOING) or name.startswith(OF_NFS)


def is_leftover(name: str, suffix: str) -> bool:
    """Whether a name is that of a segment's file with one more suffix."""
    return name.endswith(suffix) and not name.endswith(CHECKPOINT + suffix)


def kraft_snapshots(names: Iterable[str]) -> list[tuple[int, int, str]]:
    """The end offset, the epoch and the name of each KRaft snapshot among some files, the newest last."""
    found = []
    for name in names:
        try:
            if name.endswith(CHECKPOINT):
                found.append((*snapshot_id(name), name))
        except CorruptData:
            pass  # bootstrap.checkpoint, or nothing that KRaft loads
    return sorted(found)


def parse_number(text: str, bits: int) -> int:
    """A decimal number as Java reads it: one sign, digits of any script that 16 bits hold, and it must fit.

    Raises CorruptData (`number-malformed`).
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    digits = digits.lstrip("0") or digits[:1]
    if digits.isascii():
        is_number = digits.isdigit() and len(digits) <= _MOST_DIGITS
    else:
        is_number = digits.isdecimal() and max(digits) <= "\uffff" and len(digits) < _MAX_DIGITS
    if is_number:
        number = int(digits) * (-1 if text[0] == "-" else 1)
        if -(1 << bits - 1) <= number < 1 << bits - 1:
            return number
    raise CorruptData("number-malformed", f'"{text}" is not a number of {bits} bits', text=text, bits=bits)
