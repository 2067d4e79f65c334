"""Payloads of wrappers: messages whose value is a compressed message set."""

from __future__ import annotations

from kdump.binary.batch_header import LOG_OVERHEAD
from kdump.errors import CorruptData
from kdump.formats.message_set import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk


def payload_of_wrapper(chunk: Chunk, row: int) -> bytes | None:
    """The value of the message in this row, if the chunk holds it and it has one."""
    offset, length = chunk.headers[row][:2]
    start = chunk.starts[row] + LOG_OVERHEAD
    try:
        return Message(offset, chunk.window[start : start + length]).value
    except CorruptData:
        return None
