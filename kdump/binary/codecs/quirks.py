"""What old releases of Kafka read differently in the frames of codecs."""

from kdump.tables import Declared


class CodecQuirks(Declared):
    """How readers of old releases of Kafka read frames, where later ones read them differently.

    `lz4_is_padded`: missing bytes of a number in an lz4 frame count as set bits. `lz4_is_plain`: the frame header may only ask
    for checksums of blocks, and its own checksum also covers the magic bytes, as early clients wrote it. `xerial`: `one stream`
    of snappy blocks, whose version is checked; `any header` that starts with the right byte; or `streams`, as in later
    releases.

    `zstd_by_record`: zstd frames are read one byte or one record at a time; the following quirks only apply then.
    `zstd_starts_anew`: after the first frame, each read starts with the input that the previous read left over.
    `zstd_loses_last_read`: the bytes of a read are lost if it meets the end of the input.
    `zstd_wants_whole_blocks`: a raw block that is cut off yields nothing.
    `zstd_trusts_block_sizes`: a block may be larger than the window, if the buffer has room.
    `zstd_wants_whole_magic`: fewer bytes than a frame's magic count as a truncated frame, whatever they are.
    """

    lz4_is_padded: bool = False
    lz4_is_plain: bool = False
    xerial: str = "streams"
    zstd_by_record: bool = False
    zstd_starts_anew: bool = False
    zstd_loses_last_read: bool = False
    zstd_wants_whole_blocks: bool = False
    zstd_trusts_block_sizes: bool = False
    zstd_wants_whole_magic: bool = False


NEWEST = CodecQuirks()
"""None of them."""
