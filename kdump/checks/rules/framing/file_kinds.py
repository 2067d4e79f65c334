"""Kinds of files and of data that are mistaken for a segment."""

from __future__ import annotations

from math import log2

_FILE_MAGICS = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"PK\x03\x04", "zip"),
    (b"\x7fELF", "ELF"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"SQLite format 3", "SQLite"),
)


_PRINTABLE = bytes((*range(32, 127), *b"\t\n\r"))


def kind_of_file(head: bytes) -> str:
    """The kind of a file that starts with these 512 bytes, of those that are mistaken for Kafka's; empty for all others."""
    return next((kind for magic, kind in _FILE_MAGICS if head.startswith(magic)), "tar" if head[257:262] == b"ustar" else "")


def looks_of(sample: bytes) -> str:
    """A description of bytes: the share of printable ones, and the bits of entropy in a byte."""
    if not sample:
        return "they could not be read"
    printable = len(sample) - len(sample.translate(None, _PRINTABLE))
    shares = [sample.count(byte) / len(sample) for byte in set(sample)]
    entropy = -sum(share * log2(share) for share in shares)
    kind = "text" if printable > 0.95 * len(sample) else "compressed or encrypted" if entropy > 7.5 else "binary data"
    return f"{kind} ({100 * printable // len(sample)} % printable, {abs(entropy):.1f} bits a byte)"
