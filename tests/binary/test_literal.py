"""The search for literals in the kernel in C: where `bytes.find` finds them."""

import random

import pytest

from kdump.binary import kernel

pytestmark = pytest.mark.skipif(kernel.native is None, reason=kernel.reason)


@pytest.mark.parametrize("alphabet", [b"ab", b"abAB\0e\xff", bytes(range(0x40, 0x80))])
def test_a_literal_is_found_where_it_stands_first(alphabet: bytes) -> None:
    assert kernel.native is not None
    chance = random.Random(7)
    for _ in range(8000):
        data, literal = (bytes(chance.choices(alphabet, k=size)) for size in (chance.randrange(400), chance.randrange(1, 6)))
        start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        assert kernel.native.find_literal(data, start, end, literal, False) == data.find(literal, start, end)
        folded = literal.lower()
        assert kernel.native.find_literal(data, start, end, folded, True) == data.lower().find(folded, start, end)


def test_bounds_are_checked() -> None:
    assert kernel.native is not None
    for start, end, literal in ((-1, 2, b"a"), (2, 1, b"a"), (0, 9, b"a"), (0, 3, b"")):
        with pytest.raises(ValueError, match="out of bounds, or the literal is empty"):
            kernel.native.find_literal(b"abc", start, end, literal, False)
