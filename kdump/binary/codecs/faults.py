"""The errors that payloads of any codec may meet."""

from kdump.errors import CorruptData

_OUT_OF_MEMORY = ("Allocation error", "Error -4 ")
"""In the errors of zstandard and of zlib, where it is Z_MEM_ERROR."""


def too_large(limit: int) -> CorruptData:
    """The payload is larger than the caller allows."""
    return CorruptData("decompression-limit", f"the payload decompresses to more than {limit} bytes", limit=limit)


def raise_if_out_of_memory(error: Exception) -> None:
    """Raise MemoryError if a package did not fail because of its input, but because it got no memory."""
    if isinstance(error, MemoryError) or any(words in str(error) for words in _OUT_OF_MEMORY):
        raise MemoryError(str(error)) from error
