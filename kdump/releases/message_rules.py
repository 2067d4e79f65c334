"""What a tool that knows messages only (before 0.11) takes for sound."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.formats.message_set import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.codecs.quirks import CodecQuirks


class _PlainMessage(Message):
    """A message in the layout of magic 0, whatever magic it claims."""

    __slots__ = ()

    @property
    def _key_size_at(self) -> int:
        return 6


class MessageRules:
    """What a reader of messages takes for sound.

    `knows_timestamps`: magic 1 has its own layout; otherwise any magic is read as 0.
    `codec_mask` tells which bits of the attributes are the codec, `codec_count` how many codecs there are.
    `ends` says where a log's end is looked for: in the `file` only, where a `message` begins, or after its `overhead`, too.
    `checks_size_first`: a message too small throws, and one too large does even if it reaches past the end.
    `unwraps` says when a wrapper's messages come out: `whole`, after all of it was decompressed, and those inside wrappers inside
    opened as well; `lazily`, one by one; `eagerly`, after all were read; `by magic`, lazily
    from wrappers of magic 0, eagerly from others.
    `wants_equal_magic`: messages inside a wrapper must have its magic. `refuses_nested`: they must not be wrappers, and a wrapper
    of magic 1 must not be empty.
    `ignores_early_end`: compressed data that end too early are only the end of the wrapper.
    `checks_slices`: a slice of a log may not start or end below 0. `slices_overflow`: one that ends after 2147483647 is empty.
    `quirks` says how compressed payloads are taken. `wrappers_give_timestamp_type`: those of magic 0, too: none.
    """

    __slots__ = (
        "checks_size_first",
        "checks_slices",
        "codec_count",
        "codec_mask",
        "ends",
        "ignores_early_end",
        "knows_timestamps",
        "quirks",
        "refuses_nested",
        "slices_overflow",
        "unwraps",
        "wants_equal_magic",
        "wrappers_give_timestamp_type",
    )

    def __init__(
        self,
        *,
        knows_timestamps: bool,
        codec_mask: int,
        codec_count: int,
        ends: str,
        checks_size_first: bool,
        unwraps: str,
        wants_equal_magic: bool,
        refuses_nested: bool,
        ignores_early_end: bool,
        checks_slices: bool,
        slices_overflow: bool,
        quirks: CodecQuirks,
        wrappers_give_timestamp_type: bool,
    ) -> None:
        self.knows_timestamps = knows_timestamps
        self.codec_mask = codec_mask
        self.codec_count = codec_count
        self.ends = ends
        self.checks_size_first = checks_size_first
        self.unwraps = unwraps
        self.wants_equal_magic = wants_equal_magic
        self.refuses_nested = refuses_nested
        self.ignores_early_end = ignores_early_end
        self.checks_slices = checks_slices
        self.slices_overflow = slices_overflow
        self.quirks = quirks
        self.wrappers_give_timestamp_type = wrappers_give_timestamp_type

    def message(self, offset: int, data: bytes | memoryview) -> Message:
        """A message in the layouts that are known."""
        return Message(offset, data) if self.knows_timestamps else _PlainMessage(offset, data)

    def codec_of(self, message: Message) -> int:
        """The id of a message's codec. Raises CorruptData (`codec-unknown`)."""
        codec = message.data[5] & self.codec_mask
        if codec >= self.codec_count:
            raise CorruptData("codec-unknown", f"codec {codec} does not exist", codec=codec)
        return codec
