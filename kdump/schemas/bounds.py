"""Bounds on what a schema or a value may cost, and the faults of those that exceed them or cannot be decoded.

Schemas and values are data that anybody may have written. A value of ten bytes can mean a list of a billion nulls, a message of
100 KB half a million empty ones, a schema a tower of types. So whatever is made of them is paid for out of a budget.
"""

from __future__ import annotations

from kdump.errors import CorruptData

MAX_DEPTH = 100
"""Records, arrays, maps and messages within each other, in a schema or in a value."""

MAX_JSON = 16 << 20
"""Characters of JSON that one key or value may become at most."""

JSON_OF_NOTHING, JSON_PER_BYTE = 64 << 10, 512
"""Characters of JSON that any value may become, and how many more for each of its bytes: small ones shall not take long."""

MAX_SCHEMA_SIZE = 1 << 20
"""Bytes of the text of one schema."""

MAX_TYPES = 20_000
"""Types and fields that a schema may have, together with those of its references."""

MAX_TEXTS = 4 << 20
"""Characters of a schema and of all schemas that it refers to."""

MAX_REFERENCES = 1000
"""Schemas that a schema may refer to, and those that these refer to, and so on."""

CONTAINER_COST = 32
"""Characters that each record, array, map or message counts for, because each takes memory even if it is empty."""

VALUE_COST = 8
"""Characters that each number, text and the like counts for at least."""

ID_UNKNOWN = "schema-id-unknown"
GUID_UNKNOWN = "schema-guid-unknown"
FINGERPRINT_UNKNOWN = "schema-fingerprint-unknown"
UNDECODABLE = "schema-undecodable"
INVALID = "schema-invalid"
TOO_LARGE = "schema-value-too-large"
MISSING = "schema-missing"


class Budget:
    """What is left of the characters that a value of some bytes may become, and of the levels that it may have."""

    def __init__(self, size: int) -> None:
        self.left = self._limit = min(MAX_JSON, JSON_OF_NOTHING + JSON_PER_BYTE * size)
        self.depth = MAX_DEPTH

    def spend(self, cost: int) -> None:
        """Pay for a part of a value. Raises CorruptData (`schema-value-too-large`) if too little is left."""
        self.left -= cost
        if self.left < 0:
            raise CorruptData(TOO_LARGE, f"it would become more than {self._limit >> 10:,} KiB of JSON")

    def enter(self) -> None:
        """Go one level down. Raises CorruptData (`schema-undecodable`) if it is one too many."""
        self.depth -= 1
        if self.depth < 0:
            raise undecodable(f"it is nested more than {MAX_DEPTH} levels deep")

    def leave(self) -> None:
        """Go one level up."""
        self.depth += 1


def undecodable(message: str) -> CorruptData:
    """The fault of bytes that are not what their schema asks for."""
    return CorruptData(UNDECODABLE, message)


def invalid(message: str) -> CorruptData:
    """The fault of a schema that cannot be used."""
    return CorruptData(INVALID, message)
