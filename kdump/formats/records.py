"""The records of a log, whatever the magic of their batches."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kdump.binary import codecs
    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk


def read(
    source: Source,
    chunk: Chunk,
    quirks: CodecQuirks | None = None,
    *,
    with_data: bool = True,
    with_header_values: bool = True,
    columns: Collection[str] | None = None,
    decompressor: codecs.BatchDecompressor | None = None,
) -> Iterator[RecordChunk]:
    """The records of all batches of a chunk, in order; `quirks` says how an old reader decompresses.

    Without `with_data`, keys and values may be None although they exist, except in control records; the same holds for header
    values without `with_header_values`. With `columns`, nothing is left out, and tables of regular batches of magic 2 have
    RecordColumns, those with these names made at once.
    If a batch is bad, everything before it is yielded, and its own records up to the bad one unless it is compressed; then
    CorruptData is raised. As in Kafka, records of a compressed batch are only yielded if all of it is valid.
    Callers that read again and again give a `decompressor`, which takes longer to make than to use for a small batch.
    """
    if chunk.is_legacy:
        from kdump.formats import message_set

        return message_set.read(source, chunk)
    if columns is not None and quirks is None:
        from kdump.formats import record_columns

        return record_columns.read(source, chunk, columns, decompressor)
    from kdump.formats import record

    return record.read(
        source,
        chunk,
        quirks,
        with_data=with_data,
        with_header_values=with_header_values,
        decompressor=decompressor,
    )
