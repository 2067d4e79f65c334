"""The file `partition.metadata`: which topic a partition directory belongs to.

    version: 0
    topic_id: xuNFeVKBTimjCGKSv9Pz9Q

Kafka: PartitionMetadataFile (since 2.8.0, KIP-516).
"""

from __future__ import annotations

import binascii

from kdump.errors import CorruptData

NAME = "partition.metadata"
MAX_SIZE = 1 << 12
"""The file has 43 bytes."""

_MAX_DIGITS = 9
_ZERO_ID = bytes(16)
_UNUSUAL = bytes.maketrans(b"+/", b"-_")
_USUAL = bytes.maketrans(b"-_", b"+/")  # of base64 for addresses; the module base64 takes long to import
_ID_LENGTHS = (22, 24)  # without padding, and with all of it
_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def read(data: bytes) -> tuple[int, bytes]:
    """The version and the topic id, 16 bytes.

    Raises CorruptData with the codes `metadata-empty`, `metadata-line-malformed`, `metadata-version-unknown`,
    `metadata-id-malformed`, `metadata-id-zero`.
    """
    if not data:
        raise CorruptData("metadata-empty", "the file is empty")
    fields = {}
    for number, line in enumerate(data[:MAX_SIZE].splitlines(), start=1):
        name, separator, value = line.partition(b":")
        if not separator or name not in (b"version", b"topic_id"):
            raise CorruptData("metadata-line-malformed", f"line {number} is neither the version nor the topic id")
        if not value[:1].isspace():  # where Kafka divides the line
            raise CorruptData("metadata-line-malformed", f"line {number} has no space after its colon")
        fields[name] = value.strip()
    version = fields.get(b"version", b"")
    if not version.isdigit() or len(version) > _MAX_DIGITS:  # a broker since 3.9 reads any that is not negative
        raise CorruptData("metadata-version-unknown", "the version is not a number; only 0 is known")
    topic_id = fields.get(b"topic_id")
    if topic_id is None:
        raise CorruptData("metadata-line-malformed", "there is no topic id")
    uuid = uuid_of(topic_id)
    if uuid == _ZERO_ID:
        raise CorruptData("metadata-id-zero", "the topic id is all zeros, which means none")
    return int(version), uuid


def uuid_of(text: bytes) -> bytes:
    """The 16 bytes of a UUID in Kafka's base64.

    Raises CorruptData with the code `metadata-id-malformed`.
    """
    digits = text.rstrip(b"=")
    if len(text) > _ID_LENGTHS[1] or not _ALPHABET.issuperset(digits):
        raise CorruptData("metadata-id-malformed", f"the topic id has {len(text)} characters and is not a base64 UUID")
    if len(digits) != _ID_LENGTHS[0] or len(text) not in _ID_LENGTHS:
        raise CorruptData("metadata-id-malformed", f"the topic id has {len(text)} characters, not the 22 of a UUID in base64")
    return binascii.a2b_base64(digits.translate(_USUAL) + b"==")


def packed(uuid: bytes) -> bytes:
    """The file for a topic id, in version 0, which all releases read."""
    return f"version: 0\ntopic_id: {text_of(uuid)}".encode()


def text_of(uuid: bytes) -> str:
    """A UUID as Kafka writes it."""
    return binascii.b2a_base64(uuid, newline=False).translate(_UNUSUAL).rstrip(b"=").decode()
