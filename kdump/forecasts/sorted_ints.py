"""Sorted maps and sets of 64-bit integers, for as many producers and transactions as a file may claim."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

_BELOW_ALL = -1 << 63
_MAX_BLOCK = 512
"""Keys of a block: to insert one moves half of them, and each block costs some 300 bytes."""

_SMALL_BLOCK = 64
"""Keys of a block that is copied for one more; so that a copy after each key does not leave a block for each."""

_FULL = array("q", bytes(8 * _MAX_BLOCK))  # never changed


class SortedInts:
    """A map from integers to integers of 64 bits, sorted by key; a key takes 16 to 32 bytes, in a dict 100 to 200.

    A copy shares the blocks that neither changes afterwards.
    """

    def __init__(self) -> None:
        self._keys: list[array[int]] = []
        self._values: list[array[int]] = []
        self._is_shared = bytearray()  # by block
        self._lowest = array("q")  # key of each block
        self._highest = _BELOW_ALL  # no key is above it
        self._last_keys, self._last_values = _FULL, _FULL  # the block that ascending keys fill; full if there is none

    def __bool__(self) -> bool:
        return bool(self._keys)

    @property
    def first_key(self) -> int | None:
        """The lowest key, None if there is none."""
        return self._lowest[0] if self._lowest else None

    def get(self, key: int) -> int | None:
        """The value of a key, None if it is not there."""
        if key > self._highest:
            return None
        block, row, is_there = self._place(key)
        return self._values[block][row] if is_there else None

    def __setitem__(self, key: int, value: int) -> None:
        if key > self._highest:
            if len(self._last_keys) < _MAX_BLOCK:
                self._last_keys.append(key)
                self._last_values.append(value)
                self._highest = key
            else:
                self._append(key, value)
            return
        block, row, is_there = self._place(key)
        if is_there:
            self._own(block)
            self._values[block][row] = value
        else:
            self._insert(block, row, key, value)

    def pop(self, key: int) -> int | None:
        """Remove a key, and return its value; None if it was not there."""
        block, row, is_there = self._place(key)
        if not is_there:
            return None
        self._own(block)
        keys, values = self._keys[block], self._values[block]
        value = values[row]
        del keys[row], values[row]
        if keys:
            self._lowest[block] = keys[0]
        else:
            del self._keys[block], self._values[block], self._is_shared[block], self._lowest[block]
            self._last_keys = self._last_values = _FULL
        return value

    def clear(self) -> None:
        """Remove all keys."""
        self._keys, self._values, self._is_shared, self._lowest = [], [], bytearray(), array("q")
        self._highest = _BELOW_ALL
        self._last_keys = self._last_values = _FULL

    def copy(self) -> SortedInts:
        """A map of the same keys and values."""
        other = SortedInts()
        if not self._keys:  # as mostly, of each of many segments
            return other
        other._keys, other._values, other._lowest = self._keys[:], self._values[:], self._lowest[:]
        self._is_shared = bytearray(b"\1" * len(self._keys))
        self._last_keys = self._last_values = _FULL
        other._is_shared, other._highest = self._is_shared[:], self._highest
        return other

    def _place(self, key: int) -> tuple[int, int, bool]:
        """The block and row of a key, or where to insert it, and whether it is there."""
        block = max(bisect_right(self._lowest, key) - 1, 0)
        if block == len(self._keys):
            return 0, 0, False
        keys = self._keys[block]
        row = bisect_left(keys, key)
        return block, row, row < len(keys) and keys[row] == key

    def _own(self, block: int) -> None:
        """Copy a block that is shared, before it is changed."""
        if self._is_shared[block]:
            self._keys[block], self._values[block] = self._keys[block][:], self._values[block][:]
            self._is_shared[block] = False

    def _append(self, key: int, value: int) -> None:
        """Add a key that is above all others; ascending keys fill their blocks. A shared block is copied while it is small."""
        if not self._keys or len(self._keys[-1]) >= (_SMALL_BLOCK if self._is_shared[-1] else _MAX_BLOCK):
            self._new_block(len(self._keys), array("q", [key]), array("q", [value]))
        else:
            self._own(-1)
            self._keys[-1].append(key)
            self._values[-1].append(value)
        self._last_keys, self._last_values = self._keys[-1], self._values[-1]
        self._highest = max(self._highest, key)

    def _insert(self, block: int, row: int, key: int, value: int) -> None:
        if not self._keys:
            self._append(key, value)
            return
        self._own(block)
        keys, values = self._keys[block], self._values[block]
        if len(keys) == _MAX_BLOCK:
            middle = _MAX_BLOCK // 2
            self._new_block(block + 1, keys[middle:], values[middle:])
            del keys[middle:], values[middle:]
            self._last_keys = self._last_values = _FULL
            if row > middle:
                block, row = block + 1, row - middle
                keys, values = self._keys[block], self._values[block]
        keys.insert(row, key)
        values.insert(row, value)
        self._lowest[block] = keys[0]

    def _new_block(self, block: int, keys: array[int], values: array[int]) -> None:
        self._keys.insert(block, keys)
        self._values.insert(block, values)
        self._is_shared.insert(block, False)
        self._lowest.insert(block, keys[0])
