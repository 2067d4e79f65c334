"""The records of batches, continuing after batches whose records cannot be read."""

from __future__ import annotations

from kdump.binary import codecs
from kdump.errors import CorruptData
from kdump.formats import records
from kdump.formats.record import MAX_PAYLOAD_AT_ONCE
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kdump.binary.source import Source
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk


class UnreadableBatch(Declared):
    """A batch, by its row in a chunk, of which no further record could be read; `fault` says why and where."""

    row: int
    position: int
    fault: CorruptData


def past_bad_batches(
    source: Source, chunk: Chunk, *, columns: Collection[str] | None = None
) -> Iterator[RecordChunk | UnreadableBatch]:
    """The records of all batches of a chunk, in order; an unreadable batch follows the records that could be read of it.

    `columns` is as records.read says. Raises CorruptData only if that says of no batch that it is bad.
    """
    row_at = {position: row for row, position in enumerate(chunk.batches["position"])}
    decompressor = codecs.BatchDecompressor(MAX_PAYLOAD_AT_ONCE)
    # a part costs what it holds: after a bad batch one batch is tried, and twice as many each time until the next is bad
    first, count = 0, len(chunk)
    while first < len(chunk):
        end = min(first + count, len(chunk))
        part = chunk if end - first == len(chunk) else chunk.slice(first, end)
        try:
            yield from records.read(source, part, columns=columns, decompressor=decompressor)
        except CorruptData as fault:
            if fault.position is None:
                raise
            bad = UnreadableBatch(row_at[fault.position], fault.position, fault)
            yield bad
            first, count = bad.row + 1, 1
        else:
            first, count = end, 2 * count
