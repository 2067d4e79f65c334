"""Kafka's plain decoders for keys and values: text and numbers."""

from __future__ import annotations

import zlib

from kdump.binary.java_strings import text_of
from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Decoder = Callable[[bytes], str]


def _number(size: int) -> Decoder:
    def decode(data: bytes) -> str:
        if len(data) < size:
            raise CorruptData("decoder-value-too-short", f"{len(data)} bytes are too few for a number of {size}")
        return str(int.from_bytes(data[:size], "big", signed=True))

    return decode


def _identity(data: bytes) -> str:
    # Java prints an array's class and identity hash, which differs in each run; our hash at least depends on the contents.
    return f"[B@{zlib.crc32(data):x}"


DECODERS: dict[str, Decoder] = {
    "string": text_of,
    "integer": _number(4),
    "long": _number(8),
    "bytes": _identity,
}
