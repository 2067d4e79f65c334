"""What the tool before 0.11, which knows only messages, accepts as valid."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.formats.message_set import Message
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.codecs.quirks import CodecQuirks


class _PlainMessage(Message):
    """A message in the layout of magic 0, whatever its magic."""

    @property
    def _key_size_at(self) -> int:
        return 6


class MessageRules(Declared):
    """What a reader of messages accepts as valid.

    `knows_timestamps`: magic 1 has its own layout; otherwise any magic is read as 0.
    `codec_mask` selects the codec bits of the attributes, and `codec_count` is the number of codecs.
    `ends` says where the end of a log is detected: in the `file` only, at the start of a `message`, or also after its `overhead`.
    `checks_size_first`: a message that is too small throws, and so does one that is too large, even if it reaches past the end.
    `unwraps` says when the messages of a wrapper are returned: `whole`, after all of it is decompressed, including nested
    wrappers; `lazily`, one by one; `eagerly`, after all are read; `by magic`, lazily
    from wrappers of magic 0, eagerly from others.
    `wants_equal_magic`: messages inside a wrapper must have its magic. `refuses_nested`: they must not be wrappers, and a wrapper
    of magic 1 must not be empty.
    `ignores_early_end`: compressed data that ends too early merely ends the wrapper.
    `checks_slices`: a slice of a log may not start or end below 0. `slices_overflow`: one that ends after 2147483647 is empty.
    `quirks` says how compressed payloads are read. `wrappers_give_timestamp_type`: a wrapper of magic 0 gives its messages none.
    """

    knows_timestamps: bool
    codec_mask: int
    codec_count: int
    ends: str
    checks_size_first: bool
    unwraps: str
    wants_equal_magic: bool
    refuses_nested: bool
    ignores_early_end: bool
    checks_slices: bool
    slices_overflow: bool
    quirks: CodecQuirks
    wrappers_give_timestamp_type: bool

    def message(self, offset: int, data: bytes | memoryview) -> Message:
        """A message in the layouts that the release knows."""
        return Message(offset, data) if self.knows_timestamps else _PlainMessage(offset, data)

    def codec_of(self, message: Message) -> int:
        """The id of a message's codec. Raises CorruptData (`codec-unknown`)."""
        codec = message.data[5] & self.codec_mask
        if codec >= self.codec_count:
            raise CorruptData("codec-unknown", f"codec {codec} does not exist", codec=codec)
        return codec
