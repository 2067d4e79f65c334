"""The text of a message that is not JSON: pieces that the kernel in C runs (binary/c/decode/words.h)."""

from __future__ import annotations

from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Piece(Declared):
    """A literal, and what an operation shows after it.

    Operations are those of the kernel in C (`piece_operation` in messages.h), by name. `field` and `other` are names of fields,
    `element` those of fields of an array's elements. A piece is left out if a version does not have its field.
    """

    operation: str
    field: str = ""
    literal: str = ""
    other: str = ""
    number: int = 0
    element: Sequence[str] = ()
    texts: Sequence[str] = ()


class Words:
    """The pieces of a message, and those of the structs in it, by the names of their fields."""

    def __init__(self, pieces: Sequence[Piece], inner: Mapping[str, Words] | None = None) -> None:
        self.pieces = pieces
        self.inner = inner or {}
