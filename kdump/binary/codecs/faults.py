"""The errors that payloads of any codec may meet."""

from kdump.errors import CorruptData

_OF_ZSTANDARD = "Allocation error"
"""In its errors when memory ended."""
_OF_ZLIB = "Error -4 "
"""The same: Z_MEM_ERROR."""


def too_large(limit: int) -> CorruptData:
    """The payload is larger than the caller allows."""
    return CorruptData("decompression-limit", f"the payload decompresses to more than {limit} bytes", limit=limit)


def raise_if_out_of_memory(error: Exception) -> None:
    """Raise MemoryError if a package did not fail because of its input, but because it got no memory."""
    message = str(error)
    if isinstance(error, MemoryError) or _OF_ZSTANDARD in message or _OF_ZLIB in message:
        raise MemoryError(message) from error
