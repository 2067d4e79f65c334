"""zstd frames as RFC 8878 lays them out: magic, header, blocks, checksum."""

from kdump.errors import CorruptData

MAGIC = b"\x28\xb5\x2f\xfd"
MAGIC_AND_DESCRIPTOR_SIZE = 5

SKIPPABLE_MAGIC = b"\x2a\x4d\x18"
"""Of a skippable frame, after a byte from 0x50 to 0x5f."""
SKIPPABLE_HEADER_SIZE = 8

BLOCK_HEADER_SIZE = 3
PLAIN_BLOCK, RUN_BLOCK, _, RESERVED_BLOCK = range(4)
"""Kinds of blocks: bytes as they are; one byte, repeated; compressed; none. The kind stands after the bit of the last block."""

MAX_BLOCK_SIZE = 128 << 10
CHECKSUM_SIZE = 4

MAX_WINDOW = 1 << 27
"""Kafka's zstd opens no frame with a larger window."""

RECOMMENDED_INPUT = 131_075
"""How much input the library recommends to read at a time; zstd-jni does."""

_SINGLE_SEGMENT, _CHECKSUM = 0x20, 0x04  # bits of the descriptor


def has_window(descriptor: int) -> bool:
    """Whether the byte after the descriptor gives the window; otherwise the frame is a single segment."""
    return not descriptor & _SINGLE_SEGMENT


def has_checksum(descriptor: int) -> bool:
    """Whether a checksum follows the last block."""
    return bool(descriptor & _CHECKSUM)


def content_size_size(descriptor: int) -> int:
    """The size of the last field of a header, the content size."""
    return (0 if has_window(descriptor) else 1, 2, 4, 8)[descriptor >> 6]


def header_size(descriptor: int) -> int:
    """The size of a frame's header, from its magic to its content size."""
    dictionary_id_size = (0, 1, 2, 4)[descriptor & 3]
    return MAGIC_AND_DESCRIPTOR_SIZE + has_window(descriptor) + dictionary_id_size + content_size_size(descriptor)


def window_size(window: int) -> int:
    """The window that the byte after the descriptor asks for."""
    mantissa, exponent = window & 7, window >> 3
    return (8 + mantissa) << 7 + exponent


def end_of_blocks(data: bytes | memoryview, position: int) -> int:
    """The position after the blocks of a frame, the first of which is at `position`; past the end where they are cut off."""
    end = len(data)
    while position <= end:
        header = int.from_bytes(data[position : position + BLOCK_HEADER_SIZE], "little")
        position += BLOCK_HEADER_SIZE + (1 if header >> 1 & 3 == RUN_BLOCK else header >> 3)
        if header & 1:
            break
    return position


def sizes(data: bytes | memoryview) -> tuple[int, int]:
    """The size of the frame at the start of these bytes, and of its contents.

    0 if there is no whole frame; -1 if it does not say how much it holds. Blocks are not decompressed.
    """
    if data[: len(MAGIC)] != MAGIC or len(data) < MAGIC_AND_DESCRIPTOR_SIZE:
        return 0, -1
    descriptor = data[len(MAGIC)]
    first_block, size_size = header_size(descriptor), content_size_size(descriptor)
    if first_block > len(data):
        return 0, -1
    content_size = int.from_bytes(data[first_block - size_size : first_block], "little") if size_size else -1
    if size_size == 2:
        content_size += 256
    end = end_of_blocks(data, first_block) + CHECKSUM_SIZE * has_checksum(descriptor)
    return (end if end <= len(data) else 0), min(content_size, (1 << 63) - 1)


def cut_off() -> CorruptData:
    """The input ends inside a frame."""
    return CorruptData("frame-truncated", "Truncated source", cause="zstd")


def damaged(error: object, lost: int = 0) -> CorruptData:
    """The input is no frame, or a bad one. Packages give the reason of zstd's library after words of their own."""
    return CorruptData("frame-damaged", f"the zstd stream is damaged: {str(error).rpartition(': ')[2]}", cause="zstd", lost=lost)
