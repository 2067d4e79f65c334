"""Conditions on keys and values that are JSON: what stands at a path equals a given value."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from kdump.errors import UsageError
from kdump.searching.fields import KEY, VALUE
from kdump.searching.undecidable import Undecidable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    Roots = Callable[[str], Sequence[Any]]
    """The documents of a part of a record, as they are shown; none if it is null. Raises Undecidable."""

_ANY = "*"
_FIRST_BYTES = frozenset(b'\t\n\r "-0123456789INftn[{\0\xef\xfe\xff')  # of JSON, in any encoding
_FRAME_BYTES = 5  # of a schema registry: a zero, and the id of the schema


class JsonPath:
    """A condition `PATH=VALUE`. Raises UsageError without `=`.

    PATH is names and places in lists, joined by dots; `*` is any of them. It begins at the value of a record; after `key.` or
    `value.` also at its key or value. VALUE is JSON (42, true, null, "text"); anything else is a text. A text also equals a
    number that is written like it.
    """

    def __init__(self, text: str) -> None:
        self.path, equals, self._text = text.partition("=")
        if not equals or not self.path:
            raise UsageError(f"--where {text}: write PATH=VALUE, such as user.id=42")
        self.steps = self.path.split(".")
        self.part = self.steps[0] if self.steps[0] in (KEY, VALUE) and len(self.steps) > 1 else ""
        """The part of a record that PATH names, if it does."""
        try:
            self._value = json.loads(self._text)
        except ValueError:
            self._value = self._text

    def found(self, roots: Roots) -> list[Any]:
        """All that stands at the path. Raises Undecidable if a part that it may begin at cannot be read."""
        if self.part != KEY:
            steps = [self.steps, self.steps[1:]] if self.part else [self.steps]
            return [found for root in roots(VALUE) for each in steps for found in at(root, each)]
        of_key = [found for root in roots(KEY) for found in at(root, self.steps[1:])]
        try:  # a value may have a field of this name, but the path is about keys
            return of_key + [found for root in roots(VALUE) for found in at(root, self.steps)]
        except Undecidable:
            return of_key

    def equals(self, found: Any) -> bool:
        """Whether what was found is the value."""
        if isinstance(found, bool) or isinstance(self._value, bool) or found is None or self._value is None:
            return found is self._value
        if isinstance(found, str):
            return found in (self._value, self._text)
        return bool(found == self._value)


def at(document: Any, steps: list[str]) -> Iterator[Any]:
    """Everything that stands at a path."""
    if not steps:
        yield document
        return
    step, rest = steps[0], steps[1:]
    if isinstance(document, dict):
        inner = list(document.values()) if step == _ANY else [document[step]] if step in document else []
    elif isinstance(document, list):
        place = int(step) if step.isascii() and step.isdecimal() and len(step) < 10 else -1
        inner = document if step == _ANY else document[place : place + 1] if place >= 0 else []
    else:
        return
    for found in inner:
        yield from at(found, rest)


def document_of(value: bytes | None) -> Any:
    """A value as JSON, also with the five bytes of a schema registry before it; NaN, which equals nothing, if it is none.

    Raises Undecidable for JSON that cannot be read.
    """
    if not value or value[0] not in _FIRST_BYTES:
        return math.nan
    for data in (value, value[_FRAME_BYTES:]) if value[:1] == b"\0" else (value,):
        try:
            return json.loads(data)
        except (json.JSONDecodeError, UnicodeDecodeError):
            continue
        except (ValueError, RecursionError) as error:
            raise Undecidable("json-too-large", "a value is JSON with numbers or levels that are too large to read") from error
    return math.nan


class KnownFields:
    """Which paths of conditions stood in a record that was looked at, whatever they equal, and which fields there are instead."""

    MAX_NAMES = 12
    _MAX_DOCUMENTS = 100  # of whose fields the names are taken

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.in_keys: set[str] = set()  # paths that no value had, but a key
        self.counts = dict.fromkeys((KEY, VALUE), 0)  # of keys and values that were looked at and are not null
        self.names: dict[str, dict[str, None]] = {KEY: {}, VALUE: {}}

    def note(self, path: JsonPath, roots: Roots, *, is_found: bool) -> None:
        """Note whether something stands at the path in one record, whose parts can be read."""
        if is_found:
            self.seen.add(path.path)
            return
        if path.path in self.seen:
            return
        part = path.part or VALUE
        documents = roots(part)
        if not documents:
            return
        self.counts[part] += 1
        if self.counts[part] > self._MAX_DOCUMENTS:
            return
        names = self.names[part]
        for name in _names(documents[0]):
            if len(names) > self.MAX_NAMES:
                break
            names[name] = None
        if not path.part:
            try:
                if any(True for root in roots(KEY) for _ in at(root, path.steps)):
                    self.in_keys.add(path.path)
            except Undecidable:
                pass

    def add(self, other: KnownFields) -> None:
        """Add what was noted in another file."""
        self.seen |= other.seen
        self.in_keys |= other.in_keys
        for part, count in other.counts.items():
            self.counts[part] += count
            self.names[part] |= other.names[part]

    def unknown(self, paths: Iterable[JsonPath]) -> list[str]:
        """A sentence about each path that no record has, if any was looked at."""
        return [self._sentence(path) for path in paths if path.path not in self.seen and self.counts[path.part or VALUE]]

    def _sentence(self, path: JsonPath) -> str:
        part = path.part or VALUE
        field = path.path.partition(".")[2] if path.part else path.path
        names = list(self.names[part])
        more = " ..." if len(names) > self.MAX_NAMES else ""
        seen = f"fields seen: {', '.join(names[: self.MAX_NAMES])}{more}" if names else f"no {part} has fields"
        keys = f"; keys have it: write key.{path.path}" if path.path in self.in_keys else ""
        return f"no {part} has a field {field}; {seen}{keys}"


def _names(document: Any, before: str = "", depth: int = 8) -> Iterator[str]:
    """The paths of the fields of a document that hold no other fields."""
    inner = (
        document.items()
        if isinstance(document, dict)
        else [(_ANY, one) for one in document]
        if isinstance(document, list)
        else ()
    )
    for name, one in inner:
        path = f"{before}.{name}" if before else str(name)
        if depth and one and isinstance(one, dict | list):
            yield from _names(one, path, depth - 1)
        else:
            yield path
