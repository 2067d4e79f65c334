"""Replaces the contents of records: by letters and digits of the same length, equal ones by equal ones."""

from __future__ import annotations

import hashlib
import string
from copy import copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

VALUES, KEYS, HEADERS = "values", "keys", "headers"
PARTS = (VALUES, KEYS, HEADERS)
"""What of a record can be replaced; headers are their names and their values."""

FILLER = b"x"
"""What bytes become that cannot be read: it looks like no batch, no record and no frame."""

_LETTERS = (string.ascii_letters + string.digits).encode()
_TABLE = bytes(_LETTERS[byte % len(_LETTERS)] for byte in range(256))
_KEY_SIZE = 32
_NUMBER_SIZE = 4
_TOKEN_SIZE = 32


class Contents:
    """Replaces the chosen parts of records. `key` decides by what; whoever does not have it cannot try out guesses.

    `keep_fields` are paths of names in JSON values, such as `("order", "id")`: what is there stays readable, and what is around
    it stays JSON. Other values are replaced as a whole.
    """

    def __init__(self, key: bytes, parts: Collection[str] = PARTS, keep_fields: Collection[tuple[str, ...]] = ()) -> None:
        self._key = hashlib.blake2b(key, digest_size=_KEY_SIZE).digest()
        self._parts = frozenset(parts)
        self._keep_fields = frozenset(keep_fields)

    def varied(self, number: int) -> Contents:
        """The same with other replacements for each number."""
        varied = copy(self)
        varied._key = hashlib.blake2b(number.to_bytes(_NUMBER_SIZE, "big"), key=self._key, digest_size=_KEY_SIZE).digest()
        return varied

    def key(self, data: bytes) -> bytes:
        return self._replaced(data) if KEYS in self._parts else data

    def value(self, data: bytes) -> bytes:
        if VALUES not in self._parts:
            return data
        if self._keep_fields:
            from kdump.mending.redact.json_contents import with_fields

            kept = with_fields(data, self._keep_fields, self._replaced)
            if kept is not None:
                return kept
        return self._replaced(data)

    def header(self, data: bytes) -> bytes:
        """The name or the value of a header."""
        return self._replaced(data) if HEADERS in self._parts else data

    def _replaced(self, data: bytes) -> bytes:
        """A token that depends on the data, as often as it takes: that compresses about as well as what it replaces."""
        token = hashlib.blake2b(data, key=self._key, digest_size=_TOKEN_SIZE).digest().translate(_TABLE)
        return (token * (len(data) // _TOKEN_SIZE + 1))[: len(data)]
