"""Payloads of wrappers: messages whose value is a compressed message set."""

from __future__ import annotations

from kdump.binary.batch_header import LOG_OVERHEAD
from kdump.binary.codecs import CODECS
from kdump.checks.content import Payload
from kdump.errors import CorruptData
from kdump.formats.message_set import Message
from kdump.formats.record import MAX_BATCH_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk


def payload_of_wrapper(chunk: Chunk, row: int, source: Source) -> Payload | None:
    """The value of the message in this row, if it has one, and is compressed with a known codec and not too large to be read."""
    batches = chunk.batches
    position, size, offset = batches["position"][row], batches["size"][row], batches["last_offset"][row]
    start, codec = chunk.starts[row], batches["compresscodec"][row]
    if size > MAX_BATCH_SIZE:
        return None
    data = chunk.window[start : start + size] if chunk.window else source.read(position, size)
    try:
        value = Message(offset, data[LOG_OVERHEAD:]).value
    except CorruptData:
        return None
    if value is None or codec not in CODECS:
        return None
    return Payload(CODECS.index(codec), batches["magic"][row], position, size, (offset, offset), value)
