"""What a codec says of the frames in a payload, without the data in them."""

from kdump.tables import Declared


class Frames(Declared):
    """`count` frames (members, streams) of one codec; the first `end` bytes of the payload are theirs.

    `is_raw` is true for snappy without the framing of Java's clients. `window` is the largest that a zstd frame asks for.
    """

    count: int
    end: int
    is_raw: bool = False
    window: int = 0
