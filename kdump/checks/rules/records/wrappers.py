"""Payloads of wrappers: messages whose value is a compressed message set."""

from __future__ import annotations

from kdump.binary.batch_header import LOG_OVERHEAD
from kdump.binary.codecs import CODECS
from kdump.checks.content import Payload
from kdump.errors import CorruptData
from kdump.formats.message_set import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk


def payload_of_wrapper(chunk: Chunk, row: int, source: Source | None = None) -> Payload | None:
    """The value of the message in this row, if it has one; without a source, also only if the chunk holds it."""
    batches = chunk.batches
    position, size, offset = batches["position"][row], batches["size"][row], batches["last_offset"][row]
    start = chunk.starts[row]
    data = chunk.window[start : start + size]
    if not chunk.window and source is not None:
        data = source.read(position, size)
    try:
        value = Message(offset, data[LOG_OVERHEAD:]).value
    except CorruptData:
        return None
    if value is None:
        return None
    return Payload(CODECS.index(batches["compresscodec"][row]), batches["magic"][row], position, size, (offset, offset), value)
