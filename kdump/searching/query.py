"""What a search looks for: a pattern and conditions, and which of them a record fulfils."""

from __future__ import annotations

from kdump.errors import UsageError
from kdump.formats.ranges import Range
from kdump.searching.fields import DECODED, DECODED_FIELDS, DEFAULT_FIELDS, FIELDS, FIXED, HEADER, HEADER_NAME, KEY, REGEX, VALUE
from kdump.searching.literals import Literal, required_literal
from kdump.searching.partitioner import partition_of
from kdump.searching.undecidable import Undecidable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from kdump.formats.record import Headers
    from kdump.searching.decoding import ConditionDecoder
    from kdump.searching.json_path import JsonPath, KnownFields


class Query:
    """A pattern and conditions, all of which must hold. Raises UsageError for those that cannot be.

    `key`, `headers` (names and values; a value of None stands for any) and `pattern` are bytes. `misplaced_of` is a number of
    partitions: only records match whose key belongs in another one by the default partitioner.
    """

    def __init__(
        self,
        pattern: bytes | None = None,
        kind: str = FIXED,
        *,
        ignores_case: bool = False,
        fields: Collection[str] = DEFAULT_FIELDS,
        key: bytes | None = None,
        headers: Sequence[tuple[bytes, bytes | None]] = (),
        json: Sequence[str] = (),
        is_tombstone: bool = False,
        producer_id: int | None = None,
        range: Range | None = None,
        misplaced_of: int | None = None,
    ) -> None:
        unknown = [field for field in fields if field not in FIELDS]
        if unknown or not fields:
            raise UsageError(
                f"there is no field {', '.join(unknown) or 'in an empty list'}", remedy=f"fields are {', '.join(FIELDS)}"
            )
        decoded = DECODED_FIELDS.items()
        self.fields = tuple(field for field in fields if field != DECODED)
        self.decoded_parts = [part for part, field in decoded if DECODED in fields or field in fields]
        """The parts of a record in whose decoded form the pattern is looked for."""
        self.key = key
        self.headers = headers
        self.paths = _json_paths(json)
        self.is_tombstone = is_tombstone
        self.producer_id = producer_id
        self.range = range or Range()
        self.misplaced_of = misplaced_of
        self._contains = None if pattern is None else _matcher(pattern, kind, ignores_case=ignores_case)
        self._contains_decoded = self._contains
        if self._contains is not None and self.decoded_parts and kind != REGEX:
            self._contains_decoded = _decoded_matcher(pattern or b"", self._contains, ignores_case=ignores_case)
        literals = [] if pattern is None or self.decoded_parts else _literals(pattern, kind, ignores_case=ignores_case)
        literals += [Literal(data) for data in (key, *(part for pair in headers for part in pair)) if data]
        self.literal: Literal | None = max(literals, key=lambda literal: len(literal.data), default=None)
        """Bytes that each record has that matches, outside of compressed payloads; None if there are none."""

    @property
    def needs_decoding(self) -> bool:
        """Whether a condition is about decoded keys or values."""
        return bool(self.paths or self._contains is not None and self.decoded_parts)

    def known_fields(self) -> KnownFields | None:
        """What notes the fields of keys and values, if paths of JSON are asked for."""
        if not self.paths:
            return None
        from kdump.searching.json_path import KnownFields

        return KnownFields()

    def matched(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None,
        partition: int | None,
        decoder: ConditionDecoder | None = None,
        *,
        is_control: bool = False,
        fields: KnownFields | None = None,
    ) -> list[str] | None:
        """Where a record matches, or None if it does not. Without a decoder, keys and values are as they are.

        The `fields` of keys and values that are looked at for their JSON are noted; control records have none.
        Raises Undecidable.
        """
        where: list[str] = []
        if self.key is not None:
            if key != self.key:
                return None
            where.append(KEY)
        if self.is_tombstone:
            if value is not None or key is None:
                return None
            where.append("tombstone")
        for name, wanted in self.headers:
            if not any(each == name and (wanted is None or of == wanted) for each, of in headers or ()):
                return None
            where.append(f"{HEADER}:{_text(name)}")
        if self.misplaced_of is not None:
            if key is None or partition is None or partition_of(key, self.misplaced_of) == partition:
                return None
            where.append("partition")
        if self._contains is not None:
            places = self._places(self._contains, key, value, headers or ())
            places += self._decoded_places(key, value, headers, decoder, is_found=bool(places))
            if not places:
                return None
            where += [place for place in places if place not in where]
        if self.paths:
            if is_control or not self._has_values_at_paths(key, value, headers, decoder, fields):
                return None
            where += [f"json:{path.path}" for path in self.paths]
        return where or ["record"]

    def _has_values_at_paths(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None,
        decoder: ConditionDecoder | None,
        fields: KnownFields | None,
    ) -> bool:
        """Whether each path leads to its value. Raises Undecidable if that cannot be said of some, and holds for the others."""
        known: dict[str, Sequence[Any]] = {}
        reasons: dict[str, tuple[str, str]] = {}  # not the exceptions: with their frames, only a search for garbage frees them
        unknown: tuple[str, str] | None = None
        fulfils = True

        def roots(part: str) -> Sequence[Any]:
            if part in reasons:
                raise Undecidable(*reasons[part])
            if part not in known:
                try:
                    known[part] = self._documents(part, key, value, headers, decoder)
                except Undecidable as error:
                    reasons[part] = error.code, error.message
                    raise
            return known[part]

        for path in self.paths:
            try:
                found = path.found(roots)
            except Undecidable as error:
                unknown = error.code, error.message
                continue
            if fields is not None:
                fields.note(path, roots, is_found=bool(found))
            fulfils = fulfils and any(map(path.equals, found))
        if unknown is not None and fulfils:
            raise Undecidable(*unknown)
        return fulfils

    def _documents(
        self, part: str, key: bytes | None, value: bytes | None, headers: Headers | None, decoder: ConditionDecoder | None
    ) -> Sequence[Any]:
        if decoder is not None:
            return decoder.documents(part, key, value, headers)
        from kdump.searching.json_path import document_of

        data = key if part == KEY else value
        return [] if data is None else [document_of(data)]

    def _places(self, contains: Callable[[bytes], object], key: bytes | None, value: bytes | None, headers: Headers) -> list[str]:
        places = []
        if key is not None and KEY in self.fields and contains(key):
            places.append(KEY)
        if value is not None and VALUE in self.fields and contains(value):
            places.append(VALUE)
        if headers and HEADER in self.fields:
            places += [f"{HEADER}:{_text(name)}" for name, data in headers if data is not None and contains(data)]
        if headers and HEADER_NAME in self.fields:
            places += [f"{HEADER_NAME}:{_text(name)}" for name, _ in headers if contains(name)]
        return list(dict.fromkeys(places))

    def _decoded_places(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None,
        decoder: ConditionDecoder | None,
        *,
        is_found: bool,
    ) -> list[str]:
        """Where the pattern stands in decoded parts. Raises Undecidable if it stands nowhere in what is decoded."""
        assert self._contains_decoded is not None
        places = []
        unknown: tuple[str, str] | None = None
        for part in self.decoded_parts:
            try:
                found = (part, key if part == KEY else value) if decoder is None else decoder.text(part, key, value, headers)
            except Undecidable as error:
                unknown = error.code, error.message
                continue
            if found[1] is not None and self._contains_decoded(found[1]):
                places.append(found[0])
        if unknown is not None and not places and not is_found:
            raise Undecidable(*unknown)
        return places


def _json_paths(texts: Sequence[str]) -> list[JsonPath]:
    if not texts:
        return []
    from kdump.searching.json_path import JsonPath

    return [JsonPath(text) for text in texts]


def _matcher(pattern: bytes, kind: str, *, ignores_case: bool) -> Callable[[bytes], object]:
    """What says whether bytes contain a match."""
    if kind == REGEX:
        import re

        try:
            return re.compile(pattern, re.IGNORECASE if ignores_case else 0).search
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(
                f"this is no regular expression: {error}", remedy="without -E the pattern is taken as it is"
            ) from error
    if ignores_case:
        folded = pattern.lower()
        return lambda data: folded in data.lower()
    return lambda data: pattern in data


def _decoded_matcher(pattern: bytes, contains: Callable[[bytes], object], *, ignores_case: bool) -> Callable[[bytes], object]:
    """What says whether JSON contains a pattern as it is, or as JSON writes it: with a backslash before quotes, for example."""
    import json

    try:
        written = json.dumps(pattern.decode(), ensure_ascii=False)[1:-1].encode()
    except UnicodeDecodeError:
        return contains
    if written == pattern:
        return contains
    contains_written = _matcher(written, FIXED, ignores_case=ignores_case)
    return lambda data: contains(data) or contains_written(data)


def _literals(pattern: bytes, kind: str, *, ignores_case: bool) -> list[Literal]:
    if kind == REGEX:
        found = required_literal(pattern, folds=ignores_case)
        return [] if found is None else [found]
    return [Literal(pattern, folds=ignores_case)] if pattern else []


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
