"""zstd for Kafka before 2.8, whose record reader asks zstd-jni for one byte or one record at a time."""

from __future__ import annotations

from kdump.binary.codecs import zstd_frame
from kdump.binary.codecs.faults import raise_if_out_of_memory, too_large
from kdump.binary.codecs.zstd_library import library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.binary.codecs.quirks import CodecQuirks

_WINDOW_OF_MAX_BLOCK = 7 << 3  # as the header says it: the exponent, above 10, and eighths
_OVERLENGTH = 16  # what the library's buffer has beyond a window and a block


def decompressed(compressed: bytes, limit: int, quirks: CodecQuirks) -> Iterator[bytes]:
    """What zstd-jni returns to a reader that asks for each byte of a record's length, then for the whole record."""
    stream = _Stream(compressed, limit, quirks)
    while True:
        length = 0
        for shift in range(0, 35, 7):
            byte = stream.read(1)
            if not byte:
                return
            yield byte
            length |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                break
        left = length >> 1 ^ -(length & 1)
        while left > 0:
            data = stream.read(left)
            if not data:
                return
            yield data
            left -= len(data)


class _Stream:
    """zstd frames, read step by step as the Java library up to 1.4.5 does.

    It loads 128 KiB of input at a time. The end of a frame sets a mark that only new input clears. While it is set, the end of
    the input is the end of the stream, even inside a frame.
    """

    def __init__(self, compressed: bytes, limit: int, quirks: CodecQuirks) -> None:
        self._input = memoryview(compressed)
        self._position = 0
        self._loaded = 0
        self._limit = limit
        self._quirks = quirks
        self._wants_input = True
        self._is_finished = True
        self._frame = _Frame(quirks)

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        given: bytes | None = b""
        while given == b"":
            given = self._read(size)
        return given or b""

    def _read(self, size: int) -> bytes | None:
        if self._quirks.zstd_starts_anew and self._is_finished:
            self._start_frame()
        given = bytearray()
        while len(given) < size:
            if self._wants_more(given) and not self._load():
                return None
            taken, data, is_over = self._frame.decompress(self._input[self._position : self._loaded], size - len(given))
            self._position += taken
            given += data
            if len(given) > self._limit:
                raise too_large(self._limit)
            if is_over:
                self._is_finished = True
                self._wants_input = self._position == self._loaded
                self._start_frame()
                break
            self._wants_input = len(given) < size
            if not data and not self._quirks.zstd_loses_last_read:
                break
        return bytes(given)

    def _wants_more(self, given: bytes | bytearray) -> bool:
        if self._quirks.zstd_loses_last_read:
            return self._position == self._loaded
        return self._wants_input and not given

    def _start_frame(self) -> None:
        self._frame = _Frame(self._quirks)

    def _load(self) -> bool:
        """Whether there was more input."""
        if self._loaded == len(self._input):
            if self._is_finished:
                return False
            raise zstd_frame.cut_off()
        self._loaded = min(self._loaded + zstd_frame.RECOMMENDED_INPUT, len(self._input))
        self._is_finished = False
        return True


class _Frame:
    """Decompresses one frame in zstd's steps, because it matters how far its input runs ahead of its output.

    It takes one part of the frame at a time (a header, a block) until its output has no room. It takes the last byte of the
    frame only after all output was read.
    """

    def __init__(self, quirks: CodecQuirks) -> None:
        zstd = library()
        self._frame = zstd.decompressor().frame()
        self._error = zstd.error
        self._quirks = quirks
        self._part = bytearray()
        self._part_size = zstd_frame.MAGIC_AND_DESCRIPTOR_SIZE
        self._next: Callable[[], None] = self._begin
        self._has_checksum = False
        self._is_last = False
        self._is_plain = False
        self._output = memoryview(b"")
        self._leaves_byte = False
        self._window = self._room = self._window_room = 0  # of a frame whose window is smaller than a block may be

    def decompress(self, data: memoryview, room: int) -> tuple[int, bytes, bool]:
        """The number of bytes of `data` that were used, the output that had room, and whether that was all of it."""
        taken = 0
        given = bytearray()
        while True:
            output = self._output[: room - len(given)]
            given += output
            self._output = self._output[len(output) :]
            if self._output or not self._part_size:
                break
            more = data[taken : taken + self._part_size - len(self._part)]
            taken += len(more)
            self._part += more
            if len(self._part) == self._part_size:
                self._next()
            elif more and self._is_plain and not self._quirks.zstd_wants_whole_blocks:
                self._part_size -= len(self._part)
                self._take_part()
            else:
                break
        if self._part_size:
            return taken, bytes(given), False
        if self._output and not self._leaves_byte:
            taken -= 1
            self._leaves_byte = True
        elif not self._output and self._leaves_byte:
            taken += 1
        return taken, bytes(given), not self._output

    def _want(self, size: int, then: Callable[[], None]) -> None:
        self._part_size = size
        self._next = then

    def _take_part(self) -> None:
        try:
            self._output = memoryview(self._frame.decompress(bytes(self._part)))
        except self._error as error:
            raise_if_out_of_memory(error)
            raise zstd_frame.damaged(error) from error
        self._part.clear()

    def _begin(self) -> None:
        if self._part[0] & 0xF0 == 0x50 and self._part[1:4] == zstd_frame.SKIPPABLE_MAGIC:
            self._want(zstd_frame.SKIPPABLE_HEADER_SIZE, self._begin_skippable)
        elif self._part[:4] != zstd_frame.MAGIC:
            raise zstd_frame.damaged("no frame begins so")
        else:
            self._has_checksum = zstd_frame.has_checksum(self._part[4])
            self._want(zstd_frame.header_size(self._part[4]), self._header)

    def _begin_skippable(self) -> None:
        size = int.from_bytes(self._part[4:], "little")
        self._want(zstd_frame.SKIPPABLE_HEADER_SIZE + size, self._end)

    def _header(self) -> None:
        if self._quirks.zstd_trusts_block_sizes:
            self._widen_window()
        self._take_part()
        self._want(zstd_frame.BLOCK_HEADER_SIZE, self._block_header)

    def _widen_window(self) -> None:
        """Allow blocks larger than the window if they fit into the library's buffer, which holds a window and a block."""
        if not zstd_frame.has_window(self._part[4]):
            return
        window = zstd_frame.window_size(self._part[5])
        if window < zstd_frame.MAX_BLOCK_SIZE:
            self._window = window
            self._room = self._window_room = 2 * window + _OVERLENGTH
            self._part[5] = _WINDOW_OF_MAX_BLOCK

    def _fill_window(self) -> None:
        size = len(self._output)
        if size > self._room:
            raise zstd_frame.damaged("a block is larger than the window allows")
        self._room -= size
        if self._room < self._window:
            self._room = self._window_room

    def _block_header(self) -> None:
        header = int.from_bytes(self._part, "little")
        self._is_last = bool(header & 1)
        kind, size = header >> 1 & 3, header >> 3
        self._is_plain = kind == zstd_frame.PLAIN_BLOCK
        if kind == zstd_frame.RESERVED_BLOCK or not self._quirks.zstd_trusts_block_sizes:
            self._take_part()
        self._want(len(self._part) + (1 if kind == zstd_frame.RUN_BLOCK else size), self._block)
        if not self._part_size:
            self._block()

    def _block(self) -> None:
        self._is_plain = False
        if self._part:
            self._take_part()
            if self._window:
                self._fill_window()
        if not self._is_last:
            self._want(zstd_frame.BLOCK_HEADER_SIZE, self._block_header)
        elif self._has_checksum:
            self._want(zstd_frame.CHECKSUM_SIZE, self._checksum)
        else:
            self._end()

    def _checksum(self) -> None:
        self._take_part()
        self._end()

    def _end(self) -> None:
        self._part_size = 0
