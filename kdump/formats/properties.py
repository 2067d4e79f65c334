"""Java's properties, as `meta.properties` of a log directory holds them: a name and a value a line."""

from __future__ import annotations

MAX_SIZE = 1 << 16
"""Such files have a few hundred bytes."""

META_PROPERTIES = "meta.properties"


def read(data: bytes) -> dict[str, str]:
    """Values by name, with what blanks they end in. Comments are ignored; continuation lines are not supported."""
    properties = {}
    for line in data[:MAX_SIZE].splitlines():
        text = line.decode("iso-8859-1").lstrip(" \t\f")
        if text and text[0] not in "#!":
            name, value = _split(text)
            properties[name] = value
    return properties


def has_malformed_escape(data: bytes) -> bool:
    r"""Whether a `\u` is not followed by four hex digits, which makes Java reject the whole file."""
    import re  # slow to load

    lines = [line for line in data[:MAX_SIZE].splitlines() if not line.lstrip().startswith((b"#", b"!"))]
    return any(re.search(rb"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})", line) for line in lines)


def _split(text: str) -> tuple[str, str]:
    """The name ends at the first separator that is not escaped."""
    for at, character in enumerate(text):
        if character in "=: \t" and (not at or text[at - 1] != "\\"):
            value = text[at:].lstrip(" \t")
            return _plain(text[:at]), _plain(value[value[:1] in ("=", ":") :].lstrip(" \t"))
    return _plain(text), ""


def _plain(text: str) -> str:
    """Without the backslashes that Java puts before separators."""
    return text.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")
