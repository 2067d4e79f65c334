"""What a codec says of the frames in a payload, without the data in them."""


class Frames:
    """`count` frames (members, streams) of one codec; the first `end` bytes of the payload are theirs.

    `is_raw` is true for snappy without the framing of Java's clients. `window` is the largest that a zstd frame asks for.
    """

    __slots__ = ("count", "end", "is_raw", "window")

    def __init__(self, count: int, end: int, *, is_raw: bool = False, window: int = 0) -> None:
        self.count = count
        self.end = end
        self.is_raw = is_raw
        self.window = window
