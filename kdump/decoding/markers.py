"""What a control batch says: the type of its record, past what cannot be read."""

from __future__ import annotations

from kdump.decoders import control_record
from kdump.errors import CorruptData
from kdump.reading.records import UnreadableBatch, past_bad_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk


def marker_type(source: Source, chunk: Chunk) -> int | None:
    """The type of the first control record of a batch, the only one of its chunk; None if it cannot be read."""
    for part in past_bad_batches(source, chunk):
        if not isinstance(part, UnreadableBatch) and len(part.records):
            try:
                return control_record.type_of(part.records["key"][0])
            except CorruptData:
                return None
    return None
