"""What old releases of Kafka read differently in the frames of codecs."""


class CodecQuirks:
    """How readers of old releases of Kafka read frames, where later ones read them differently.

    `lz4_is_padded`: what is missing of a number in an lz4 frame is taken for set bits. `lz4_is_plain`: its header may ask for
    nothing but checksums of blocks, and has the checksum of early writers, which takes the magic bytes in. `xerial`: `one stream`
    of snappy blocks, whose version is looked at; `any header` that begins with the right byte; or `streams`, as later releases.

    `zstd_by_record`: zstd frames are read by a byte or a record at a time; the next four matter then only.
    `zstd_starts_anew`: after a first frame, each read starts with what the read before it left of the input.
    `zstd_loses_last_read`: the bytes of a read are lost if it meets the end of the input.
    `zstd_wants_whole_blocks`: nothing comes out of a plain block that is cut off.
    `zstd_trusts_block_sizes`: a block may be larger than the window, if the buffer has room.
    `zstd_wants_whole_magic`: fewer bytes than begin a frame are cut off, even if no frame begins so.
    """

    __slots__ = (
        "lz4_is_padded",
        "lz4_is_plain",
        "xerial",
        "zstd_by_record",
        "zstd_loses_last_read",
        "zstd_starts_anew",
        "zstd_trusts_block_sizes",
        "zstd_wants_whole_blocks",
        "zstd_wants_whole_magic",
    )

    def __init__(
        self,
        *,
        lz4_is_padded: bool = False,
        lz4_is_plain: bool = False,
        xerial: str = "streams",
        zstd_by_record: bool = False,
        zstd_starts_anew: bool = False,
        zstd_loses_last_read: bool = False,
        zstd_wants_whole_blocks: bool = False,
        zstd_trusts_block_sizes: bool = False,
        zstd_wants_whole_magic: bool = False,
    ) -> None:
        self.lz4_is_padded = lz4_is_padded
        self.lz4_is_plain = lz4_is_plain
        self.xerial = xerial
        self.zstd_by_record = zstd_by_record
        self.zstd_starts_anew = zstd_starts_anew
        self.zstd_loses_last_read = zstd_loses_last_read
        self.zstd_wants_whole_blocks = zstd_wants_whole_blocks
        self.zstd_trusts_block_sizes = zstd_trusts_block_sizes
        self.zstd_wants_whole_magic = zstd_wants_whole_magic


NEWEST = CodecQuirks()
"""None of them."""
