"""Bytes as the text that Java makes of them."""

from __future__ import annotations

_REPLACEMENT = "\ufffd"


def text_of(data: bytes | bytearray) -> str:
    """UTF-8 as Java decodes it: one replacement character for each malformed part.

    Only encoded surrogates differ from Python: each is one malformed part as a whole.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _lenient(bytes(data))


def _lenient(data: bytes) -> str:
    parts = []
    start = position = 0
    while True:
        position = data.find(b"\xed", position)
        if position < 0:
            break
        follower = data[position + 1 : position + 2]
        if b"\xa0" <= follower <= b"\xbf":
            parts.append(data[start:position].decode("utf-8", "replace") + _REPLACEMENT)
            position += 3 if b"\x80" <= data[position + 2 : position + 3] <= b"\xbf" else 2
            start = position
        else:
            position += 1
    parts.append(data[start:].decode("utf-8", "replace"))
    return "".join(parts)


def escaped(text: str) -> str:
    """The text with control characters escaped, so that a terminal does not obey them."""
    if text.isprintable():
        return text
    return text.translate(_ESCAPES)


class _Escapes(dict[int, str]):
    """What `escaped` makes of each character. It keeps what it made of those that most text is made of."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        text = character if character.isprintable() else character.encode("unicode_escape").decode()
        if code < _KEPT_CHARACTERS:
            self[code] = text
        return text


_KEPT_CHARACTERS = 1 << 12
_ESCAPES = _Escapes()


def hash_code(text: str) -> int:
    """Java's String.hashCode, over UTF-16 code units, as 32 bits unsigned."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = code * 31 + (high << 8 | low) & 0xFFFFFFFF
    return code


def shown_text(data: bytes | bytearray) -> str:
    """The same text for a terminal: control characters are escaped."""
    return escaped(text_of(data))
