"""The search for literals in the kernel in C: where `bytes.find` finds them."""

import os
import random
from pathlib import Path

import pytest

from kdump.binary import kernel

pytestmark = pytest.mark.skipif(kernel.native is None, reason=kernel.reason)


def _case(chance: random.Random, alphabet: bytes) -> tuple[bytes, bytes, int, int]:
    data = bytes(chance.choices(alphabet, k=chance.randrange(400)))
    literal = bytes(chance.choices(alphabet, k=chance.randrange(1, 6)))
    start = chance.randrange(len(data) + 1)
    return data, literal, start, chance.randrange(start, len(data) + 1)


@pytest.mark.parametrize("alphabet", [b"ab", b"abAB\0e\xff", bytes(range(0x40, 0x80))])
def test_a_literal_is_found_where_it_stands_first(alphabet: bytes) -> None:
    assert kernel.native is not None
    chance = random.Random(7)
    for _ in range(8000):
        data, literal, start, end = _case(chance, alphabet)
        assert kernel.native.find_literal(data, start, end, literal, False) == data.find(literal, start, end)
        folded = literal.lower()
        assert kernel.native.find_literal(data, start, end, folded, True) == data.lower().find(folded, start, end)


def test_a_literal_is_found_across_the_windows_of_a_file(tmp_path: Path) -> None:
    assert kernel.native is not None
    path = tmp_path / "x"
    window = bytearray(1 << 20)
    for place in (0, (256 << 10) - 3, (256 << 10), 700_000):
        path.write_bytes(bytes(place) + b"needle" + bytes(1000))
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            assert kernel.native.find_in_file(descriptor, 0, size, b"needle", False, window) == place
            assert kernel.native.find_in_file(descriptor, place + 1, size, b"needle", False, window) == -1
            assert kernel.native.find_in_file(descriptor, 0, place + 5, b"needle", False, window) == -1
            assert kernel.native.find_in_file(descriptor, 0, size + 10, b"nowhere", False, window) == -2  # it ends before
        finally:
            os.close(descriptor)


def test_bounds_are_checked() -> None:
    assert kernel.native is not None
    for start, end, literal in ((-1, 2, b"a"), (2, 1, b"a"), (0, 9, b"a"), (0, 3, b"")):
        with pytest.raises(ValueError, match="out of bounds, or the literal is empty"):
            kernel.native.find_literal(b"abc", start, end, literal, False)
