"""Kafka's JSON of a message in pieces, for a message whose text would take many times the memory of its bytes."""

from __future__ import annotations

from kdump.messages import kafka_json, schema
from kdump.messages.schema import Reader, Walk, default_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.messages.schema import Field, Message

_ELEMENTS = 1 << 10  # whose text is made at once


def pieces(message: Message, data: bytes, version: int, shown_version: int) -> Iterator[str]:
    """What `kafka_json.dumps` makes of this message for `shown_version` if it is read as `version`, from the start of the data.

    The message has no tagged fields. Raises CorruptData at once if it cannot be read, like `schema.read`.
    """
    schema.read(message, Reader(data), version, keep=False)
    return _Pieces(Walk(message, Reader(data), version), shown_version).of_struct(message.fields)


class _Pieces:
    """Reads a valid message from its start, field by field, and makes the text of each."""

    def __init__(self, walk: Walk, shown_version: int) -> None:
        self._walk = walk
        self._shown_version = shown_version

    def of_struct(self, fields: tuple[Field, ...]) -> Iterator[str]:
        separator = "{"
        for field in fields:
            is_shown = field.is_in(self._shown_version)
            if is_shown:
                yield f'{separator}"{field.name}":'
                separator = ","
            if field.is_in(self._walk.version):
                for text in self._of_field(field):
                    if is_shown:
                        yield text
            elif is_shown:
                yield kafka_json.field_text(field, default_of(field), self._shown_version)
        if self._walk.is_flexible:
            self._walk.read_tagged((), {})
        yield "}"

    def _of_field(self, field: Field) -> Iterator[str]:
        if not field.is_array or not field.fields:
            yield kafka_json.field_text(field, self._walk.field(field), self._shown_version)
            return
        count = self._walk.array_length(field)
        if count is None:
            yield "null"
            return
        may_be_large = any(inner.is_array for inner in field.fields)
        yield "["
        for first in range(0, count, 1 if may_be_large else _ELEMENTS):
            if first:
                yield ","
            if may_be_large:
                yield from self.of_struct(field.fields)
            else:
                values = [self._walk.fields(field.fields) for _ in range(min(_ELEMENTS, count - first))]
                yield ",".join(kafka_json.field_text(field, value, self._shown_version) for value in values)
        yield "]"
