"""The codecs of batches and messages by their ids: each is a module, which is imported when the first payload needs it.

The codecs' packages decode blocks. The framing around blocks is read here, because Kafka ignores some damage that the packages
reject, and rejects some that they ignore.
"""

from __future__ import annotations

import sys
from functools import cache, partial

from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Protocol

    from kdump.binary.codecs.frames import Frames
    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.binary.reference import Buffer

    _Decompress = Callable[[bytes | memoryview], bytes | memoryview | None]

    class _BatchDecompressor(Protocol):
        def decompress(self, compressed: bytes | memoryview) -> bytes | memoryview | None: ...

    class Codec(Protocol):
        """The interface of a codec's module."""

        MAGIC: bytes
        """How its frames begin."""

        def decompressed(self, compressed: bytes, magic: int, limit: int, quirks: CodecQuirks | None, /) -> Iterator[bytes]:
            """As `kdump.binary.codecs.decompressed`, except that the limit applies to each block only."""

        def compressed(self, pieces: Iterable[Buffer], magic: int, /) -> bytes:
            """As `kdump.binary.codecs.compressed`."""

        def inspect_frames(self, payload: bytes, /) -> Frames:
            """The frames of a payload, up to the first incomplete one."""

        def BatchDecompressor(self, limit: int, /) -> _BatchDecompressor:  # noqa: N802  # a class
            """Decompresses valid payloads with regular framing; `decompress` returns None for all others."""


NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""Names by id, which stands in the lowest three bits of a batch's attributes; ids 5 to 7 are not taken."""

_MODULES = {
    GZIP: "kdump.binary.codecs.gzip",
    SNAPPY: "kdump.binary.codecs.snappy",
    LZ4: "kdump.binary.codecs.lz4",
    ZSTD: "kdump.binary.codecs.zstd",
}

MAX_PAYLOAD = 256 << 20
"""How many bytes one payload may decompress to, unless the caller says otherwise."""

_MAX_HELD = 4 << 20  # of a payload that is opened
_PIECE = 256 << 10  # of one that is not held

_KEPT_BLOCK_BYTES = 1 << 20


class Payload:
    """A decompressed payload: its bytes, and the error that ended it early, if any.

    A reader that takes whole blocks, as Kafka does, sees only the first `whole_blocks` bytes before it meets the error.
    """

    def __init__(self, data: bytes | bytearray, error: CorruptData | None = None) -> None:
        self.data = data
        self.error = error
        self.whole_blocks = len(data)
        if error is not None:
            error.without_frames()
            self.whole_blocks -= error.values.pop("lost", 0)
            self.data += error.values.pop("salvaged", b"")

    @property
    def size(self) -> int:
        return len(self.data)

    def pieces(self, end: int) -> Iterator[bytes | memoryview]:
        """The bytes up to `end`."""
        yield memoryview(self.data)[:end]


def decompress(
    codec: int, compressed: bytes, magic: int, *, limit: int = MAX_PAYLOAD, quirks: CodecQuirks | None = None
) -> Payload:
    """Decompress the payload of a batch or wrapper message of this magic, up to its end or the first damage.

    The error of the result has the code `frame-bad-header` (nothing could be opened), `frame-damaged`, `frame-truncated` (or
    `frame-ends-early`, where Kafka takes it for the end), `frame-block-size`, `frame-first-block-size`,
    `frame-block-too-large`, `frame-negative-size`, `frame-checksum-mismatch`, `frame-checksum-cut` or `decompression-limit`.
    Raises MissingPackage where the package of the codec is not installed.
    """
    payload = opened(codec, compressed, magic, limit=limit, quirks=quirks, max_held=limit)
    assert isinstance(payload, Payload)  # no larger one is opened
    return payload


class LongPayload:
    """A payload that is too long to be held: it is decompressed for each reading. Its error is that of `Payload`."""

    def __init__(self, again: Callable[[], Iterator[bytes]], size: int, error: CorruptData | None) -> None:
        self._again = again
        self._salvaged: bytes = b""
        self.error = error
        self.whole_blocks = size
        if error is not None:
            error.without_frames()
            self.whole_blocks -= error.values.pop("lost", 0)
            self._salvaged = error.values.pop("salvaged", b"")
        self.size = size + len(self._salvaged)

    def pieces(self, end: int) -> Iterator[bytes | memoryview]:
        """The bytes up to `end`, a piece at a time."""
        held = bytearray()
        try:
            for block in self._again():
                held += block
                if len(held) >= _PIECE:
                    yield memoryview(held)[:end]
                    end -= len(held)
                    held = bytearray()
                    if end <= 0:
                        return
        except CorruptData:
            held += self._salvaged
        if held and end > 0:
            yield memoryview(held)[:end]


def opened(
    codec: int,
    compressed: bytes,
    magic: int,
    *,
    limit: int = MAX_PAYLOAD,
    quirks: CodecQuirks | None = None,
    max_held: int = _MAX_HELD,
) -> Payload | LongPayload:
    """As `decompress`, but a payload of more than `max_held` bytes is not held."""
    data, size = bytearray(), 0
    fault: CorruptData | None = None
    try:
        for block in _module(codec).decompressed(compressed, magic, limit, quirks):
            if size + len(block) > limit:
                raise _too_large(limit)
            size += len(block)
            if size <= max_held:
                data += block
            else:
                data = bytearray()
    except CorruptData as error:
        fault = error.without_frames()
    if size <= max_held:
        return Payload(data, fault)
    return LongPayload(partial(decompressed, codec, compressed, magic, limit=limit, quirks=quirks), size, fault)


def decompressed(
    codec: int, compressed: bytes, magic: int, *, limit: int = MAX_PAYLOAD, quirks: CodecQuirks | None = None
) -> Iterator[bytes]:
    """The decompressed payload, block by block, so that what comes before damage can be used.

    Raises CorruptData with the codes that `decompress` names. Among its values, `salvaged` is what the damaged block still gave,
    and `lost` how many bytes before it a reader that takes blocks, as Kafka does, has lost by then.
    """
    left = limit
    for block in _module(codec).decompressed(compressed, magic, limit, quirks):
        left -= len(block)
        if left < 0:
            raise _too_large(limit)
        yield block


def _too_large(limit: int) -> CorruptData:
    from kdump.binary.codecs.faults import too_large  # most payloads need it not

    return too_large(limit)


def compressed(codec: int, pieces: Iterable[Buffer], magic: int) -> bytes:
    """The payload that a Java client or broker with default levels writes for these bytes, in a batch or wrapper of this magic.

    Streams of gzip and zstd may differ from Java's in how they are compressed, as those of its versions do.
    Raises MissingPackage where the package of the codec is not installed.
    """
    return b"".join(pieces) if codec == NONE else _module(codec).compressed(pieces, magic)


class BatchDecompressor:
    """Decompresses valid, regular payloads of magic 2 in a few calls each. Each thread needs its own.

    The result equals that of `decompressed`, and is valid until the next call. Damaged payloads and unusual framings are left
    to `decompressed`, and blocks of snappy without framing unless it `takes_raw_blocks`.
    """

    def __init__(self, limit: int, *, takes_raw_blocks: bool = True) -> None:
        self._limit = limit
        self._takes_raw_blocks = takes_raw_blocks
        self._by_codec: dict[int, _Decompress] = {}

    def decompress(self, codec: int, compressed: bytes | memoryview) -> bytes | memoryview | None:
        """The payload, or None if it is irregular, damaged, or larger than the limit."""
        decompress = self.of(codec)
        return None if decompress is None else decompress(compressed)

    def opened(self, codec: int, compressed: bytes | memoryview) -> Payload | None:
        """The same, to be kept."""
        data = self.decompress(codec, compressed)
        return None if data is None else Payload(bytes(data))

    def of(self, codec: int) -> _Decompress | None:
        """The function that decompresses payloads of this codec, as `decompress`; None if there is no such codec."""
        if codec not in self._by_codec:
            if codec not in _MODULES:
                return None
            if codec == SNAPPY and self._takes_raw_blocks:
                from kdump.binary.codecs import snappy

                self._by_codec[codec] = snappy.BatchDecompressor(self._limit).decompress_any
            else:
                self._by_codec[codec] = _module(codec).BatchDecompressor(self._limit).decompress
            _keep_blocks()
        return self._by_codec[codec]


@cache
def _keep_blocks() -> None:
    """Let glibc keep memory of this size: it keeps what was freed once, else it may ask the system again for each batch."""
    bytearray(_KEPT_BLOCK_BYTES)


def inspect_frames(codec: int, payload: bytes) -> Frames:
    """The frames of a payload, up to the first incomplete one."""
    return _module(codec).inspect_frames(payload)


def resembles(payload: bytes) -> str | None:
    """The name of the codec whose frames start with these bytes, or None."""
    for codec in _MODULES:
        if payload.startswith(_module(codec).MAGIC):
            return CODECS[codec]
    return None


def _module(codec: int) -> Codec:
    name = _MODULES[codec]
    module: Any = sys.modules.get(name) or __import__(name, fromlist=["decompressed"])  # as importlib, without it
    codec_module: Codec = module
    return codec_module
