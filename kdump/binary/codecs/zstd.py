"""zstd: frames one after the other (RFC 8878), read in blocks of the sizes that zstd-jni reads."""

from __future__ import annotations

from functools import cache, lru_cache
from threading import get_ident

from kdump.binary.codecs import zstd_frame
from kdump.binary.codecs.faults import raise_if_out_of_memory
from kdump.binary.codecs.frames import Frames
from kdump.binary.codecs.quirks import NEWEST
from kdump.binary.codecs.zstd_library import library
from kdump.errors import MissingPackage, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.binary.codecs.zstd_library import Decompressor
    from kdump.binary.reference import Buffer

MAGIC = zstd_frame.MAGIC

_INPUT = 512  # even a bomb makes no more than some 16 MiB of so few bytes
_BOMB_INPUT = 32  # what it gets from then on
_JAVA_OUTPUT = 16 << 10  # Kafka takes the output of zstd in blocks of this size: an error takes its block with it
_ROOM = 256 << 10
_LARGEST_WINDOW = 17 << 3  # MAX_WINDOW, as the byte after the descriptor has it
_LEVEL = 3  # Kafka's default


def decompressed(compressed: bytes, _magic: int, limit: int, quirks: CodecQuirks | None) -> Iterator[bytes]:
    """Frames one after the other, to the end."""
    zstd = library()
    quirks = quirks or NEWEST
    if quirks.zstd_by_record:
        whole = BatchDecompressor(limit).decompress(compressed)
        if whole is not None:
            yield whole
            return
        from kdump.binary.codecs import zstd_by_record  # only old releases need it

        yield from zstd_by_record.decompressed(compressed, limit, quirks)
        return
    position = 0
    input_size = _INPUT
    # what one call takes may share a decompressor, which takes longer to make than to use
    decompressor = _shared_decompressor(get_ident()) if len(compressed) <= _INPUT else zstd.decompressor()
    last_block = (len(compressed) - 1) // zstd_frame.RECOMMENDED_INPUT
    while position < len(compressed):
        # Once a frame has ended in the last block of input, zstd-jni does not miss the end of what follows it
        is_finished = position > 0 and (position - 1) // zstd_frame.RECOMMENDED_INPUT == last_block
        if quirks.zstd_wants_whole_magic and len(compressed) - position < zstd_frame.MAGIC_AND_DESCRIPTOR_SIZE:
            if is_finished:
                return
            raise zstd_frame.cut_off()
        frame = decompressor.frame()
        given = 0
        while not frame.eof:
            if position >= len(compressed):
                if is_finished:
                    return
                raise zstd_frame.cut_off()
            try:
                block = frame.decompress(compressed[position : position + input_size])
            except zstd.error as error:
                raise_if_out_of_memory(error)
                raise zstd_frame.damaged(error, lost=given % _JAVA_OUTPUT) from error
            position += input_size
            given += len(block)
            if len(block) > 1000 * input_size:
                input_size = _BOMB_INPUT
            yield block
        position = min(position, len(compressed)) - len(frame.unused_data)


@lru_cache
def _shared_decompressor(_thread: int) -> Decompressor:
    """That of a thread: each call on it has to end a frame, or leave it."""
    return library().decompressor()


class BatchDecompressor:
    """One frame at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._decompressor: Decompressor | None = None  # its package is imported with the first payload
        self._error: type[Exception] = Exception

    def decompress(self, compressed: bytes | memoryview) -> bytes | None:
        """The payload, or None if it is not one valid frame or larger than the limit."""
        if self._decompressor is None:
            try:
                zstd = library()
            except (MissingPackage, Unreadable):
                return None
            self._decompressor = zstd.decompressor()
            self._error = zstd.error
        # zstandard's allow_extra_data=False does not see what follows a frame that does not say how much it holds
        size, content_size = zstd_frame.sizes(compressed)
        if not size or size != len(compressed) or content_size > self._limit or _is_irregular(compressed, content_size):
            return None
        try:
            room = min(self._limit, max(_ROOM, 16 * size))
            return self._decompressor.whole(compressed, room)
        except self._error:
            return None


def _is_irregular(frame: bytes | memoryview, content_size: int) -> bool:
    """Whether a frame claims to be empty, or has too large a window: at once, the library does not look at either."""
    has_window = zstd_frame.has_window(frame[4])
    return not content_size or content_size > zstd_frame.MAX_WINDOW or has_window and frame[5] > _LARGEST_WINDOW


def compressed(pieces: Iterable[Buffer], _magic: int) -> bytes:
    """One frame of level 3, without content size and checksum."""
    zstd = library()
    try:
        return zstd.compressed(pieces, _LEVEL)
    except zstd.error as error:
        raise_if_out_of_memory(error)
        raise


def inspect_frames(payload: bytes) -> Frames:
    """The frames of a payload, up to the first incomplete one."""
    count = position = window = 0
    size = len(payload)
    while payload.startswith(MAGIC, position) and position + zstd_frame.MAGIC_AND_DESCRIPTOR_SIZE < size:
        descriptor = payload[position + len(MAGIC)]
        header_size, content_size_size, checksum_size = _sizes_of(descriptor)
        first_block = position + header_size
        if content_size_size < 0:
            asked_for = zstd_frame.window_size(payload[position + zstd_frame.MAGIC_AND_DESCRIPTOR_SIZE])
        else:
            asked_for = int.from_bytes(payload[first_block - content_size_size : first_block], "little")
        if asked_for > window:
            window = asked_for
        end = zstd_frame.end_of_blocks(payload, first_block) + checksum_size
        if end > size:
            break
        count += 1
        position = end
    return Frames(count, position, window=window)


@cache
def _sizes_of(descriptor: int) -> tuple[int, int, int]:
    """The sizes of a frame's header, of the content size in it (-1 if it gives a window), and of the checksum at the end."""
    content_size_size = -1 if zstd_frame.has_window(descriptor) else zstd_frame.content_size_size(descriptor)
    checksum_size = zstd_frame.CHECKSUM_SIZE if zstd_frame.has_checksum(descriptor) else 0
    return zstd_frame.header_size(descriptor), content_size_size, checksum_size
