"""The text of keys and values that are too large to hold, piece by piece."""

from __future__ import annotations

import base64
from codecs import getincrementaldecoder
from json.encoder import encode_basestring, encode_basestring_ascii

from kdump.binary.java_strings import escaped, text_of
from kdump.output.rows.csv import FORMULA_STARTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.binary.file_bytes import FileBytes

_BASE64_BYTES = 3 << 18  # of a piece, so that none but the last has padding
_LONGEST_SEQUENCE = 4  # bytes of a character in UTF-8


def java_pieces(data: FileBytes, show: Callable[[bytes], str] = text_of) -> Iterator[str]:
    """The text that Java makes of these bytes, as `show` has it."""
    held = b""
    for piece in data.pieces():
        held += piece
        cut = _whole_characters(held)
        yield show(held[:cut])
        held = held[cut:]
    yield show(held)


def _whole_characters(data: bytes) -> int:
    """Where data can be cut so that its parts decode as the whole, also where it is not UTF-8."""
    for cut in range(len(data) - 1, max(-1, len(data) - 1 - _LONGEST_SEQUENCE), -1):
        if data[cut] & 0xC0 != 0x80:
            return cut  # before a byte that starts something
    return len(data)  # the last bytes continue nothing: each is malformed on its own


class TextFacts:
    """What decides how a large value is written: whether it is UTF-8 and printable, and has separators of CSV or line ends."""

    def __init__(self, data: FileBytes) -> None:
        self.is_utf8 = self.is_printable = True
        self.has_separators = self.has_line_ends = False
        try:
            for text in utf8_pieces(data):
                self.is_printable = self.is_printable and text.isprintable()
                self.has_separators = self.has_separators or "," in text or '"' in text
                self.has_line_ends = self.has_line_ends or "\r" in text or "\n" in text
        except UnicodeDecodeError:
            self.is_utf8 = False


def utf8_pieces(data: FileBytes) -> Iterator[str]:
    """The text of bytes that are UTF-8. Raises UnicodeDecodeError."""
    incremental = getincrementaldecoder("utf-8")()
    for piece in data.pieces():
        yield incremental.decode(piece)
    yield incremental.decode(b"", final=True)


def base64_pieces(data: FileBytes) -> Iterator[str]:
    """Base64 of any bytes."""
    return (base64.b64encode(piece).decode() for piece in data.pieces(_BASE64_BYTES))


def json_pieces(data: FileBytes, facts: TextFacts) -> Iterator[str]:
    """The text between the quotes of a JSON string, as `json_text` writes it: Base64 if the bytes are not UTF-8."""
    if not facts.is_utf8:
        return base64_pieces(data)
    encode = encode_basestring if facts.is_printable else encode_basestring_ascii
    return (encode(text)[1:-1] for text in utf8_pieces(data))


def csv_pieces(data: FileBytes, facts: TextFacts, *, is_terminal: bool, escapes_formulas: bool) -> Iterator[str]:
    """A field of CSV, as `csv_field` writes it: Base64 if the bytes are not UTF-8."""
    texts = utf8_pieces(data) if facts.is_utf8 else base64_pieces(data)
    # line ends are escaped on a terminal
    has_quotes = facts.is_utf8 and (facts.has_separators or (facts.has_line_ends and not is_terminal))
    yield '"' if has_quotes else ""
    is_first = True
    for text in texts:
        shown = "'" + text if escapes_formulas and is_first and text.startswith(FORMULA_STARTS) else text
        is_first = is_first and not text
        yield (escaped(shown) if is_terminal else shown).replace('"', '""')
    yield '"' if has_quotes else ""
