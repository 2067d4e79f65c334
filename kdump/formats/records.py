"""The records of a log, whatever the magic of their batches."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
) -> Iterator[RecordChunk]:
    """The records of all batches of a chunk, in order; `quirks` says how an old reader decompresses.

    Without `with_data` keys and values may be None although they are there, except those of control records; without
    `with_header_values` those of headers may.
    When a batch is bad, what comes before is yielded, up to the good records of that very batch if it is not compressed,
    then CorruptData is raised. Of a compressed batch nothing is yielded unless all of it is good, as in Kafka.
    """
    if chunk.is_legacy:
        from kdump.formats import message_set

        return message_set.read(source, chunk)
    from kdump.formats import record

    return record.read(source, chunk, quirks, with_data=with_data, with_header_values=with_header_values)
