"""Kafka's plain decoders for numbers: of the first bytes, however many follow."""

import pytest

from kdump.decoders.plain import DECODERS
from kdump.errors import CorruptData
from tests.loops import each


@each("name, size", [("integer", 4), ("long", 8)])
def test_a_number_is_that_of_the_first_bytes(name: str, size: int) -> None:
    data = b"\xff\xfe" + bytes(range(10))
    for count in range(len(data)):
        if count < size:
            with pytest.raises(CorruptData, match=f"{count} bytes are too few"):
                DECODERS[name](data[:count])
        else:
            assert DECODERS[name](data[:count]) == str(int.from_bytes(data[:size], "big", signed=True))
