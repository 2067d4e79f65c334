"""The file `partition.metadata`: which topic a partition directory belongs to.

    version: 0
    topic_id: xuNFeVKBTimjCGKSv9Pz9Q

Kafka: PartitionMetadataFile (since 2.8.0, KIP-516).
"""

from __future__ import annotations

import binascii
import os
import re

from kdump.binary.source import Source
from kdump.errors import CorruptData, Unreadable
from kdump.formats import file_name

NAME = "partition.metadata"
MAX_SIZE = 1 << 20
"""The file has 43 bytes; a broker reads any number of them."""

_ZERO_ID = bytes(16)
_UNUSUAL = bytes.maketrans(b"+/", b"-_")
_USUAL = bytes.maketrans(b"-_", b"+/")  # of base64 for addresses; the module base64 takes long to import
_ID_LENGTHS = (22, 24)  # without padding, and with all of it
_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def read(data: bytes) -> tuple[int, bytes]:
    """The version and the topic id, 16 bytes, as brokers read them: two lines, each with a value after its first colon and space.

    Raises CorruptData with the codes `metadata-empty`, `metadata-line-malformed`, `metadata-version-unknown`,
    `metadata-id-malformed`, `metadata-id-zero`, for the first of these that a broker meets.
    """
    lines = lines_of(data)
    return version_in(lines), topic_id_in(lines)


def topic_id_of(directory: str) -> bytes | None:
    """The topic id of a partition directory; None if no broker gets one from it. Raises Unreadable if nobody can tell."""
    try:
        return read_topic_id(directory)
    except CorruptData:
        return None


def read_topic_id(directory: str) -> bytes | None:
    """The topic id of a partition directory; None if it has no such file. Raises CorruptData as `read`, and Unreadable."""
    try:
        with Source(os.path.join(directory, NAME)) as source:
            return read(source.read(0, MAX_SIZE))[1]
    except Unreadable as error:
        if error.code in ("file-missing", "file-is-directory", "file-not-regular"):
            return None
        raise


def lines_of(data: bytes) -> list[str]:
    """The lines of the file, as Java divides it. Raises CorruptData with the code `metadata-line-malformed` for other bytes."""
    try:
        lines = data.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except UnicodeDecodeError:
        raise CorruptData("metadata-line-malformed", "the file contains bytes that are not text") from None
    return lines if lines[-1] else lines[:-1]


def version_in(lines: list[str]) -> int:
    """The version in the first line. Raises CorruptData as `read`."""
    value = _value(lines, 0)
    try:
        version = file_name.parse_number(value, 32)
    except CorruptData:
        raise CorruptData("metadata-version-unknown", "the version in the file is not a number") from None
    if version < 0:
        raise CorruptData("metadata-version-unknown", f"the version in the file is {version}")
    return version


def topic_id_in(lines: list[str]) -> bytes:
    """The topic id in the second line. Raises CorruptData as `read`."""
    uuid = uuid_of(_value(lines, 1).encode(), "the topic id in the file")
    if uuid == _ZERO_ID:
        raise CorruptData("metadata-id-zero", "the topic id in the file is all zeros, which means none")
    return uuid


def _value(lines: list[str], row: int) -> str:
    """What follows the colon of a line; what comes before it does not matter."""
    if row >= len(lines):
        message = f"the file ends before line {row + 1}" if lines else "the file is empty"
        raise CorruptData("metadata-empty", message)
    words = re.split(r":[ \t\n\x0b\f\r]+", lines[row])
    while len(words) > 1 and not words[-1]:
        words.pop()
    if len(words) != 2:
        raise CorruptData("metadata-line-malformed", f"line {row + 1} of the file is not a name with a value")
    return words[1]


def uuid_of(text: bytes, what: str = "the topic id") -> bytes:
    """The 16 bytes of a UUID in Kafka's base64; `what` it is, for messages.

    Raises CorruptData with the code `metadata-id-malformed`.
    """
    digits = text.rstrip(b"=")
    if len(text) > _ID_LENGTHS[1] or not _ALPHABET.issuperset(digits):
        raise CorruptData("metadata-id-malformed", f"{what} has {len(text)} characters and is not a base64 UUID")
    if len(digits) != _ID_LENGTHS[0] or len(text) not in _ID_LENGTHS:
        raise CorruptData("metadata-id-malformed", f"{what} has {len(text)} characters, not the 22 of a UUID in base64")
    return binascii.a2b_base64(digits.translate(_USUAL) + b"==")


def packed(uuid: bytes) -> bytes:
    """The file for a topic id, in version 0, which all releases read."""
    return f"version: 0\ntopic_id: {text_of(uuid)}".encode()


def text_of(uuid: bytes) -> str:
    """A UUID as Kafka writes it."""
    return binascii.b2a_base64(uuid, newline=False).translate(_UNUSUAL).rstrip(b"=").decode()
