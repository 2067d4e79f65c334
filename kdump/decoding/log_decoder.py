"""Decodes the records of one log: a table of them at a time, in pieces of bounded size."""

from __future__ import annotations

from itertools import islice

from kdump.decoding import decoded
from kdump.decoding.decoded import Decoded
from kdump.errors import CorruptData
from kdump.schemas.bounds import TOO_LARGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.kernel import Headers
    from kdump.decoding.decoded import Decoder
    from kdump.decoding.schema_decoder import SchemaDecoder
    from kdump.formats.record import RecordChunk
    from kdump.schemas.shapes import NotedShapes

    _Row = tuple[bool, bool, bytes | None, bytes | None, Headers | None]

MAX_PIECE = 4 << 20
"""Characters of JSON that records become before they are passed on."""

NOTHING = Decoded()
"""Of a record that no decoder is for, or whose key or value could not be read."""


class LogDecoder:
    """Decodes records by their schemas, or else by `decode`, which knows their topic; control records as what they are.

    With `notes_shapes`, the shapes of what is decoded by schema are noted, and only its JSON is kept. Records after `max_json`
    characters of JSON of one table are not decoded, and have a fault that says so.
    """

    def __init__(
        self,
        decode: Decoder | None,
        by_schema: SchemaDecoder | None = None,
        *,
        notes_shapes: bool = False,
        shows_control: bool = True,
        max_json: int | None = None,
    ) -> None:
        self._decode = decode
        self._by_schema = by_schema
        self._notes_shapes = notes_shapes
        self._shows_control = shows_control
        self._max_json = max_json
        self._has_others = False

    def pieces(self, part: RecordChunk) -> Iterator[tuple[int, int, list[Decoded]]]:
        """What records say, in pieces: from which row of `part` up to which. One piece, which is empty, if there are no rows."""
        found: list[Decoded] = []
        first = size = 0
        for one in self.each(part):
            found.append(one)
            size += _size(one)
            if size > MAX_PIECE:
                yield first, first + len(found), found
                first, size, found = first + len(found), 0, []
        if found or not first:
            yield first, first + len(found), found

    def each(self, part: RecordChunk) -> Iterator[Decoded]:
        """What each record says."""
        size = 0
        for is_control, is_lost, key, value, headers in _rows(part):
            if is_lost:
                yield NOTHING
                continue
            if self._max_json is not None and size > self._max_json and not is_control:
                text = f"the records before it became more than {self._max_json >> 20} MiB of JSON"
                yield Decoded(fault=CorruptData(TOO_LARGE, text))
                continue
            one = self._decoded(is_control, key, value, headers)
            size += 0 if self._max_json is None else _size(one)
            yield one

    def note_shapes(self, part: RecordChunk) -> None:
        """Note the schemas that records have, without decoding them."""
        if self._by_schema is not None:
            for is_control, _, key, value, headers in _rows(part):
                if not is_control:
                    self._by_schema.note_shapes(key, value, headers)

    @property
    def noted_shapes(self) -> tuple[NotedShapes, NotedShapes] | None:
        """The shapes of the keys and values whose schemas were noted; None if there are no schemas."""
        return None if self._by_schema is None else self._by_schema.noted_shapes

    def give_shapes(self, keys: NotedShapes, values: NotedShapes) -> None:
        """Add the noted shapes, and those of all else that was decoded: JSON."""
        from kdump.schemas.shapes import JSON, Shape, note_both

        if self._has_others:
            keys.add([Shape(JSON)])
            values.add([Shape(JSON)])
        if self._by_schema is not None:
            note_both((keys, values), self._by_schema.noted_shapes)

    def _decoded(self, is_control: bool, key: bytes | None, value: bytes | None, headers: Headers | None) -> Decoded:
        if is_control:
            if not self._shows_control:
                return NOTHING
            self._has_others = True
            return decoded.control_record_of(key, value)
        if self._by_schema is not None:
            if self._notes_shapes:
                self._by_schema.note_shapes(key, value, headers)
            one = self._by_schema.decode(key, value, headers)
            if self._notes_shapes:
                one.raw_key = one.raw_value = None
            return one
        if self._decode is None:
            return NOTHING
        self._has_others = True
        return self._decode(key, value)


def _rows(part: RecordChunk) -> Iterator[_Row]:
    """Of each record, whether it is a control record and whether its key or value was lost; its key, value and headers."""
    columns = ("key_size", "value_size", "key", "value", "headers")
    rows = zip(*(part.records[name] for name in columns), strict=True)
    for is_control, count in zip(part.batches["is_control"], part.counts, strict=True):
        for key_size, value_size, key, value, headers in islice(rows, count):
            yield bool(is_control), _is_lost(key, key_size) or _is_lost(value, value_size), key, value, headers


def _is_lost(data: bytes | None, size: int | None) -> bool:
    """Whether a key or value is not null but could not be read, because it reaches past the end of its message."""
    return data is None and (size is None or size >= 0)


def _size(one: Decoded) -> int:
    return len(one.key or "") + len(one.value or "")
