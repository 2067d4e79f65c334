"""The library of zstd, with one interface: the package zstandard or, where it is missing, that of Python itself or its backport.

zstandard has no packages for some Pythons. Python has the library since 3.14; the package backports.zstd has it for earlier ones.
All three are bindings of the same C library.
"""

from __future__ import annotations

import sys
from functools import cache

from kdump.binary.codecs import zstd_frame
from kdump.binary.codecs.packages import package
from kdump.errors import MissingPackage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from kdump.binary.reference import Buffer

    class Frame(Protocol):
        """A frame that is decompressed piece by piece; both bindings have it."""

        eof: bool
        unused_data: bytes

        def decompress(self, data: bytes | memoryview, /) -> bytes: ...

    class Decompressor(Protocol):
        """Makes frames. Each thread needs its own."""

        def frame(self) -> Frame: ...

        def whole(self, frame: bytes | memoryview, room: int, /) -> bytes:
            """The contents of a frame, at most `room` bytes if it does not give their size. Raises the error of the library."""

    class Library(Protocol):
        error: type[Exception]

        def decompressor(self) -> Decompressor: ...

        def compressed(self, pieces: Iterable[Buffer], level: int, /) -> bytes:
            """One frame without content size and checksum. Raises the error of the library."""


WINDOW_LOG = zstd_frame.MAX_WINDOW.bit_length() - 1


@cache
def library() -> Library:
    """The library that is installed. Raises MissingPackage, and as `loading`."""
    try:
        return OfZstandard(package("zstd", "zstandard", "zstandard"))
    except MissingPackage:
        for module in ("compression.zstd", "backports.zstd"):
            try:
                __import__(module)
            except ImportError:
                continue
            return OfPython(sys.modules[module])
        raise


class OfZstandard:
    """The package zstandard."""

    def __init__(self, module: Any) -> None:  # the package has no annotations without being imported
        self._module = module
        self.error: type[Exception] = module.ZstdError

    def decompressor(self) -> Decompressor:
        return _DecompressorOfZstandard(self._module.ZstdDecompressor(max_window_size=zstd_frame.MAX_WINDOW))

    def compressed(self, pieces: Iterable[Buffer], level: int) -> bytes:
        frame = self._module.ZstdCompressor(level=level, write_content_size=False).compressobj()
        return b"".join([*map(frame.compress, pieces), frame.flush()])


class _DecompressorOfZstandard:
    def __init__(self, decompressor: Any) -> None:
        self.frame = decompressor.decompressobj
        self._decompressor = decompressor

    def whole(self, frame: bytes | memoryview, room: int) -> bytes:
        contents: bytes = self._decompressor.decompress(frame, max_output_size=room)
        return contents


class OfPython:
    """`compression.zstd`, or `backports.zstd`, which is the same for earlier releases of Python."""

    def __init__(self, module: Any) -> None:  # it is there, or has annotations, in some releases only
        self._module = module
        self.error: type[Exception] = module.ZstdError

    def decompressor(self) -> Decompressor:
        return _DecompressorOfPython(self._module)

    def compressed(self, pieces: Iterable[Buffer], level: int) -> bytes:
        parameter = self._module.CompressionParameter
        options = {parameter.compression_level: level, parameter.content_size_flag: 0}
        frame = self._module.ZstdCompressor(options=options)
        return b"".join([*map(frame.compress, pieces), frame.flush()])


class _DecompressorOfPython:
    """Makes a new object for each frame, as this interface wants it."""

    def __init__(self, module: Any) -> None:
        self._new = module.ZstdDecompressor
        self._options = {module.DecompressionParameter.window_log_max: WINDOW_LOG}
        self._error = module.ZstdError

    def frame(self) -> Frame:
        frame: Frame = self._new(options=self._options)
        return frame

    def whole(self, frame: bytes | memoryview, room: int) -> bytes:
        _, content_size = zstd_frame.sizes(frame)
        decompressor = self._new(options=self._options)
        contents: bytes = decompressor.decompress(frame, max_length=room if content_size < 0 else content_size + 1)
        if not decompressor.eof:
            raise self._error("the frame is larger than it may be")
        return contents
