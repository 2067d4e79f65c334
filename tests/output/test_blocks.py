"""Buffered output: what is written arrives unchanged and in order, however long it is."""

import io
import tracemalloc

import pytest

from kdump.output.blocks import BLOCK_SIZE, Blocks

LONG = "é\udcff" * (1 << 20)  # a byte of a name that is not UTF-8 among them


def test_long_texts_arrive_in_their_order() -> None:
    stream = io.BytesIO()
    blocks = Blocks(stream)
    for text in ("before\n", LONG, "between\n", "x" * (BLOCK_SIZE + 1), LONG, "after\n"):
        blocks.write(text)
    blocks.flush()
    expected = "before\n" + LONG + "between\n" + "x" * (BLOCK_SIZE + 1) + LONG + "after\n"
    assert stream.getvalue() == expected.encode("utf-8", "surrogateescape")


def test_what_was_written_already_is_left_out_of_long_texts() -> None:
    stream = io.BytesIO()
    blocks = Blocks(stream)
    blocks.leave_out(3 << 20)
    blocks.write("x" * (3 << 20) + "y" * (1 << 20))
    blocks.flush()
    assert stream.getvalue() == b"y" * (1 << 20)


@pytest.mark.slow
def test_the_bytes_of_a_long_text_are_not_held_beside_it() -> None:
    class Nowhere(io.RawIOBase):
        def write(self, data: memoryview) -> int:  # type: ignore[override]  # of bytes
            return len(data)

    text = "x" * (32 << 20)
    tracemalloc.start()
    Blocks(Nowhere()).write(text)  # type: ignore[arg-type]  # it only writes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20
