"""Replaces the contents of JSON values, except for chosen fields: what is left is JSON of the same length."""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|[a-zA-Z]+|[{}\[\],:]|\s+')
_DIGIT = re.compile(rb"[0-9]")
_OPENING, _CLOSING = b"{[", b"}]"


def with_fields(data: bytes, keep: Collection[tuple[str, ...]], replaced: Callable[[bytes], bytes]) -> bytes | None:
    """JSON with everything replaced but what these paths of names lead to, and the names on the way; None for what is not JSON.

    Elements of an array have the path of the array. Strings become letters and digits, numbers become 1s; `true`, `false` and
    `null` stay.
    """
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return None
    return _Walk(keep, replaced).walked(data)


class _Walk:
    """One pass over the tokens of a valid text."""

    def __init__(self, keep: Collection[tuple[str, ...]], replaced: Callable[[bytes], bytes]) -> None:
        self._keep = frozenset(keep)
        self._on_the_way = {path[:count] for path in keep for count in range(1, len(path) + 1)}
        self._replaced = replaced
        self._path: list[str] = []  # the names that lead here
        self._is_object: list[bool] = []  # for each level

    def walked(self, data: bytes) -> bytes | None:
        out: list[bytes] = []
        position, expects_name = 0, False
        while position < len(data):
            match = _TOKEN.match(data, position)
            if match is None:
                return None  # not UTF-8, or NaN with a sign: json.loads takes more than JSON
            token, position = match[0], match.end()
            if token in (b"{", b"["):
                self._is_object.append(token == b"{")
                expects_name = token == b"{"
                if expects_name:
                    self._path.append("")
            elif token in (b"}", b"]"):
                if self._is_object.pop():
                    self._path.pop()
                expects_name = False
            elif token == b",":
                expects_name = self._is_object[-1]
            elif token[:1] == b'"' and expects_name:
                self._path[-1] = json.loads(token)
                token = token if self._leads_on() else self._string(token)
                expects_name = False
            elif not self._is_kept():
                token = self._string(token) if token[:1] == b'"' else _DIGIT.sub(b"1", token)
            out.append(token)
        return b"".join(out)

    def _is_kept(self) -> bool:
        return any(tuple(self._path[:count]) in self._keep for count in range(1, len(self._path) + 1))

    def _leads_on(self) -> bool:
        return self._is_kept() or tuple(self._path) in self._on_the_way

    def _string(self, token: bytes) -> bytes:
        return b'"' + self._replaced(token[1:-1]) + b'"'
