"""Buffered output: what is written arrives unchanged and in order, however long it is."""

import io

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
