"""What readers leave out as Kafka does although its bytes are there: the end of a cut wrapper, a batch that says it is empty."""

from __future__ import annotations

from kdump.binary import codecs
from kdump.binary.batch_header import COMPRESSION_MASK, LOG_OVERHEAD, MESSAGE_ATTRIBUTES
from kdump.errors import CorruptData, MissingPackage
from kdump.formats.message_set import Message, bytes_of_message, messages_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk

HOLLOW_MESSAGE = "bytes follow the header of a batch that says it is empty"
CUT_MESSAGE = "a compressed message ends inside one of its messages"


def is_cut(source: Source, chunk: Chunk, row: int) -> bool:
    """Whether a wrapper ends inside one of its messages. False where its messages cannot be read: their reader says so."""
    if not chunk.is_legacy or not chunk.headers[row][MESSAGE_ATTRIBUTES] & COMPRESSION_MASK:
        return False
    try:
        wrapper = Message(0, bytes_of_message(source, chunk, row))
        value = wrapper.value
        if value is None:
            return False
        payload = codecs.opened(wrapper.codec, value, wrapper.magic)
        read = sum(LOG_OVERHEAD + len(message.data) for message in messages_in(payload.pieces(payload.size)))
    except (CorruptData, MissingPackage):
        return False
    return read < payload.size
