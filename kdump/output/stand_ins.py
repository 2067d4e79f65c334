"""Writes what is too large to hold into the midst of a text, piece by piece."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Pieces = Iterable[str]

_TOKEN_BYTES = 24


class StandIns:
    """Short tokens in a text, for which the pieces of large values are written, each as it is `shown`."""

    def __init__(self, shown: Callable[[str], str] = str) -> None:
        self._shown = shown
        self._pieces: dict[str, Callable[[], Pieces]] = {}

    def add(self, pieces: Callable[[], Pieces]) -> str:
        """A token of letters and digits for what these pieces are; nobody can have written it into the text before."""
        token = "x" + os.urandom(_TOKEN_BYTES).hex()
        self._pieces[token] = pieces
        return token

    def write(self, text: str, write: Callable[[str], None]) -> None:
        """Write a text with the pieces in the places of their tokens, each of which occurs once at most."""
        places = sorted((text.find(token), token) for token in self._pieces if token in text)
        end = 0
        for place, token in places:
            write(text[end:place])
            for piece in self._pieces.pop(token)():
                write(self._shown(piece))
            end = place + len(token)
        write(text[end:])
