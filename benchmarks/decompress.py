"""Decompresses the batches of a log, or its wrappers of magic 1, and does nothing else: the minimum for a reader in Python.

It has the same packages as kdump.

python decompress.py FILE
"""

import sys
import zlib
from collections.abc import Callable

_WINDOW = 1 << 20
_HEADER, _HEADER_OF_WRAPPER = 61, 34
_XERIAL_HEADER = 16
_ROOM = 256 << 10  # the size of a decompressed payload; zstd streams do not store it


def main(path: str) -> None:
    """Decompress the payload of every batch, window by window."""
    decompress: Callable[[bytes], object] | None = None
    with open(path, "rb", buffering=0) as log:
        position = 0
        while window := log.read(_WINDOW):
            start = 0
            while len(window) - start >= _HEADER:
                end = start + 12 + int.from_bytes(window[start + 8 : start + 12], "big")
                if end > len(window):
                    break
                header, codec_at = (_HEADER, 22) if window[start + 16] == 2 else (_HEADER_OF_WRAPPER, 17)
                decompress = decompress or _decompressor(window[start + codec_at] & 7)
                decompress(window[start + header : end])
                start = end
            if not start:
                raise SystemExit(f"byte {position}: the batch is cut off, or larger than {_WINDOW} bytes")
            position += start
            log.seek(position)


def _decompressor(codec: int) -> Callable[[bytes], object]:
    """The function for a codec; its package is imported now."""
    if codec == 1:
        return _gzip()
    if codec == 2:
        return _xerial_snappy()
    if codec == 3:
        import lz4.frame

        decompress: Callable[[bytes], object] = lz4.frame.decompress
        return decompress
    if codec == 4:
        import zstandard

        zstd = zstandard.ZstdDecompressor()
        return lambda payload: zstd.decompress(payload, max_output_size=_ROOM)
    raise SystemExit(f"codec {codec} is none of those compared")


def _gzip() -> Callable[[bytes], object]:
    try:
        from isal.isal_zlib import decompress
    except ImportError:
        from zlib import decompress
    return lambda payload: decompress(payload, 16 + zlib.MAX_WBITS)


def _xerial_snappy() -> Callable[[bytes], object]:
    import snappy

    def decompress(payload: bytes) -> bytes:
        blocks = []
        position = _XERIAL_HEADER
        while position < len(payload):
            start = position + 4
            position = start + int.from_bytes(payload[position:start], "big")
            blocks.append(snappy.decompress(payload[start:position]))
        return b"".join(blocks)

    return decompress


if __name__ == "__main__":
    main(sys.argv[1])
