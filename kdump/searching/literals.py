"""Literals: bytes that each match contains, so that what lacks them need not be looked at closer."""

from __future__ import annotations

from kdump.binary import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.kernel import Buffer

_SPECIAL = frozenset(b"\\.^$*+?{}[]|()")
_OPTIONAL = frozenset(b"*?{")
_MIN_BYTES = 2  # of a literal that is worth looking for


class Literal:
    """Bytes to look for. If it `folds`, the letters of ASCII stand for both cases."""

    def __init__(self, data: bytes, *, folds: bool = False) -> None:
        self.data = data.lower() if folds else data
        self.folds = folds
        self._find = _find if kernel.native is None else kernel.native.find_literal

    def place_in(self, data: Buffer, start: int = 0, end: int | None = None) -> int:
        """Where it stands first between these positions; -1 for nowhere."""
        place: int = self._find(data, start, len(data) if end is None else end, self.data, self.folds)
        return place


def _find(data: Buffer, start: int, end: int, literal: bytes, folds: bool) -> int:
    """As the kernel in C."""
    held = bytes(memoryview(data)[start:end])
    found = (held.lower() if folds else held).find(literal)
    return start + found if found >= 0 else -1


def required_literal(pattern: bytes, *, folds: bool) -> Literal | None:
    """The longest bytes that stand in each match of a regular expression, as far as that is easily seen; None if there are none.

    Only runs of plain bytes outside of all groups count, and none if there are alternatives or flags.
    """
    if b"|" in pattern or b"(?" in pattern:
        return None
    best, run = b"", bytearray()
    depth = at = 0
    while at < len(pattern):
        byte = pattern[at]
        at += 1
        if byte == ord("\\"):
            run = bytearray()
            at += 1
            if at - 1 < len(pattern) and pattern[at - 1] in b"xN0123456789":
                return None  # an escape of several bytes
            continue
        if byte == ord("["):
            run = bytearray()
            at = _end_of_set(pattern, at)
            continue
        if byte in b"()":
            depth += 1 if byte == ord("(") else -1
        if byte in _OPTIONAL:
            if byte == ord("{"):
                close = pattern.find(b"}", at)
                if close < 0:
                    return None  # it stands for itself
                at = close + 1
            best = max(best, bytes(run[:-1]), key=len)
            run = bytearray()
        elif byte in _SPECIAL or depth:
            best = max(best, bytes(run), key=len)
            run = bytearray()
        else:
            run.append(byte)
            next_byte = pattern[at] if at < len(pattern) else 0
            if next_byte not in _OPTIONAL:
                best = max(best, bytes(run), key=len)
    return Literal(best, folds=folds) if len(best) >= _MIN_BYTES else None


def _end_of_set(pattern: bytes, at: int) -> int:
    """Where a set of characters ends, of which the first stands here."""
    at += pattern[at : at + 1] == b"^"
    at += pattern[at : at + 1] == b"]"
    while at < len(pattern) and pattern[at] != ord("]"):
        at += 2 if pattern[at] == ord("\\") else 1
    return at + 1
