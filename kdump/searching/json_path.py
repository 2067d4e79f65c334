"""Conditions on values that are JSON: what stands at a path equals a given value."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from kdump.errors import UsageError
from kdump.searching.undecidable import Undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ANY = "*"
_FRAME_BYTES = 5  # of a schema registry: a zero, and the id of the schema


class JsonPath:
    """A condition `PATH=VALUE`. Raises UsageError without `=`.

    PATH is names and places in lists, joined by dots; `*` is any of them. VALUE is JSON (42, true, null, "text"); anything else
    is a text. A text also equals a number that is written like it.
    """

    def __init__(self, text: str) -> None:
        self.path, equals, self._text = text.partition("=")
        if not equals or not self.path:
            raise UsageError(f"--json {text}: write PATH=VALUE, such as user.id=42")
        self._steps = self.path.split(".")
        try:
            self._value = json.loads(self._text)
        except ValueError:
            self._value = self._text

    def matches(self, document: Any) -> bool:
        """Whether a document has this value at the path."""
        return any(self._equals(found) for found in _at(document, self._steps))

    def _equals(self, found: Any) -> bool:
        if isinstance(found, bool) or isinstance(self._value, bool) or found is None or self._value is None:
            return found is self._value
        if isinstance(found, str):
            return found in (self._value, self._text)
        return bool(found == self._value)


def _at(document: Any, steps: list[str]) -> Iterator[Any]:
    """Everything that stands at a path."""
    if not steps:
        yield document
        return
    step, rest = steps[0], steps[1:]
    if isinstance(document, dict):
        inner = list(document.values()) if step == _ANY else [document[step]] if step in document else []
    elif isinstance(document, list):
        at = int(step) if step.isascii() and step.isdecimal() and len(step) < 10 else -1
        inner = document if step == _ANY else document[at : at + 1] if at >= 0 else []
    else:
        return
    for found in inner:
        yield from _at(found, rest)


def document_of(value: bytes | None) -> Any:
    """A value as JSON, also with the five bytes of a schema registry before it; NaN, which equals nothing, if it is none.

    Raises Undecidable for JSON that cannot be read.
    """
    if value is None:
        return math.nan
    for data in (value, value[_FRAME_BYTES:] if value[:1] == b"\0" else b""):
        try:
            return json.loads(data)
        except (json.JSONDecodeError, UnicodeDecodeError):
            continue
        except (ValueError, RecursionError) as error:
            raise Undecidable("json-too-large", "a value is JSON with numbers or levels that are too large to read") from error
    return math.nan
