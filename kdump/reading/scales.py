"""Measures how large the records of batches are without compression, of all batches or of a sample."""

from __future__ import annotations

from functools import partial

from kdump.binary import codecs
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    LOG_OVERHEAD,
    MAGIC,
    MESSAGE_ATTRIBUTES,
)
from kdump.errors import KdumpError, MissingPackage
from kdump.formats.record import bytes_of
from kdump.reading.windows import KeptBatches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.binary.kernel import Buffer
    from kdump.binary.source import Source
    from kdump.reading.windows import Batches

_MAX_PAYLOAD_AT_ONCE = 32 << 20  # bytes of a payload that are decompressed at once
_SAMPLE_FROM = 64 << 10  # what is before this position in a log is part of any sample
_SAMPLE_ONE_IN = 16  # batches after it
_MAX_SAMPLE_BYTES = 1 << 30  # bytes that the sample of a log is decompressed to


class Scales:
    """Measures the uncompressed sizes of one log's batches, of all or of a sample.

    A sample has the batches at the start of a log, and then those with certain checksums, which is as good as random: the same
    batches for all slices, and on every replica. It is bounded in bytes, because a log may be full of bombs.
    """

    def __init__(self, source: Source, *, samples: bool) -> None:
        self._source = source
        self._samples = samples
        self._left = _MAX_SAMPLE_BYTES
        self._whole = codecs.BatchDecompressor(_MAX_PAYLOAD_AT_ONCE)

    def sizes(self, item: Batches) -> list[int | None]:
        """The size of the records in each batch; None for old wrappers and for batches that are not or cannot be measured."""
        if isinstance(item, KeptBatches):
            return self._sizes_of_kept(item)
        chunk = item.chunk
        overhead = LOG_OVERHEAD if chunk.is_legacy else BATCH_HEADER_SIZE
        if chunk.batches["compresscodec"].count(codecs.CODECS[codecs.NONE]) == len(chunk):
            return [size - overhead for size in chunk.batches["size"]]
        attributes = MESSAGE_ATTRIBUTES if chunk.is_legacy else ATTRIBUTES
        sizes: list[int | None] = []
        for row, (header, size) in enumerate(zip(chunk.headers, chunk.batches["size"], strict=True)):
            codec = header[attributes] & COMPRESSION_MASK
            if not codec:
                sizes.append(size - overhead)
            elif chunk.is_legacy or not self._is_in_sample(chunk.batches["position"][row], chunk.batches["crc"][row]):
                sizes.append(None)
            else:
                sizes.append(self._size(codec, chunk.headers[row][MAGIC], partial(bytes_of, self._source, chunk, row)))
        return sizes

    def _sizes_of_kept(self, item: KeptBatches) -> list[int | None]:
        plain = [size - BATCH_HEADER_SIZE for size in item.column("size")]
        if item.summary.codecs == 1 << codecs.NONE:
            return plain  # type: ignore[return-value]  # none of them is None
        sizes: list[int | None] = []
        for attributes, crc, position, size in zip(
            item.column("attributes"), item.column("crc"), item.column("position"), plain, strict=True
        ):
            codec = attributes & COMPRESSION_MASK
            if not codec:
                sizes.append(size)
            elif not self._is_in_sample(position, crc):
                sizes.append(None)
            else:
                sizes.append(self._size(codec, 2, partial(self._source.read_exactly, position, BATCH_HEADER_SIZE + size)))
        return sizes

    def _is_in_sample(self, position: int, crc: int) -> bool:
        if not self._samples:
            return True
        return self._left > 0 and (position < _SAMPLE_FROM or not crc % _SAMPLE_ONE_IN)

    def _size(self, codec: int, magic: int, read: Callable[[], Buffer]) -> int | None:
        """The size that a batch's records decompress to. `read` gives the bytes of the batch; it may raise KdumpError."""
        size = 0
        try:
            payload = memoryview(read())[BATCH_HEADER_SIZE:]
            whole = self._whole.decompress(codec, payload)
            if whole is not None:
                size = len(whole)
                return size
            for decompressed in codecs.decompressed(codec, bytes(payload), magic):
                size += len(decompressed)
                if self._samples and size > self._left:
                    return None
            return size
        except MissingPackage:
            raise
        except KdumpError:
            return None
        finally:
            self._left -= size
