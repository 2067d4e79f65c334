"""A schema as it was registered or found in a file: its type, its text, and the schemas that it refers to."""

from __future__ import annotations

import zlib
from itertools import islice

from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
TYPES = (AVRO, PROTOBUF, JSON)

KINDS = {"avro": AVRO, "protobuf": PROTOBUF, "json": JSON}
"""The types of schemas by the words of options."""

ACTIVE, SOFT_DELETED, HARD_DELETED = "active", "soft-deleted", "hard-deleted"
STATES = (ACTIVE, SOFT_DELETED, HARD_DELETED)
"""What became of a version of a subject, the best first."""


class Reference(Declared):
    """What a schema calls another one, and the version of the subject that it is."""

    name: str
    subject: str
    version: int


class Schema:
    """A schema. Its text is kept compressed, because registries have thousands of them.

    `data` is the content of a file that is no text, a set of Protobuf's descriptors. `name` is that of the file.
    """

    def __init__(self, type: str, text: str, references: Sequence[Reference] = (), *, data: bytes = b"", name: str = "") -> None:
        self.type = type
        self.references = tuple(references)
        self.data = data
        self.name = name
        self._compressed = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)

    @property
    def text(self) -> str:
        return zlib.decompress(self._compressed).decode("utf-8", "surrogatepass")

    @property
    def held_bytes(self) -> int:
        """The memory that its text takes."""
        return len(self._compressed) + len(self.data)


def guid_of(text: str, references: Sequence[Reference]) -> str:
    """The id that Confluent's registry derives from a schema: an MD5 of its text and of what it refers to.

    Schemas with metadata or rules have another one.
    """
    import hashlib  # slow to load

    digest = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    for reference in references:
        digest.update(reference.name.encode("utf-8", "surrogatepass"))
        digest.update(reference.subject.encode("utf-8", "surrogatepass"))
        digest.update((reference.version & 0xFFFFFFFF).to_bytes(4, "big"))
    return guid_text(digest.digest())


def guid_text(data: bytes) -> str:
    """Sixteen bytes as registries write them: 8-4-4-4-12 hexadecimal digits."""
    digits = iter(data.hex())
    return "-".join("".join(islice(digits, count)) for count in (8, 4, 4, 4, 12))
