"""Kafka's JSON of a message in pieces, for a message whose text would take many times the memory of its bytes."""

from __future__ import annotations

from kdump.messages import kafka_json
from kdump.messages.generated import IRREGULAR
from kdump.messages.json_functions import function_of
from kdump.messages.layout import layout_of
from kdump.messages.passing_functions import pass_over
from kdump.messages.schema import Passage, Reader, Walk, default_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.messages.layout import StructLayout
    from kdump.messages.schema import Field, Message

PIECE_SIZE = 16 << 10
"""Bytes of elements whose text is made at once; a larger element is in pieces itself."""


def pieces(message: Message, data: bytes, version: int, shown_version: int, size: int = PIECE_SIZE) -> Iterator[str]:
    """What `kafka_json.dumps` makes of this message for `shown_version` if it is read as `version`, from the start of the data.

    The message has no tagged fields. Raises CorruptData at once if it cannot be read, like
    `pass_over`.
    """
    pass_over(message, Reader(data), version)
    layout = layout_of(message, version, shown_version=shown_version)
    assert layout is not None  # `version` is declared
    return _Pieces(message, data, version, shown_version, size).of_struct(message.fields, layout)


class _Pieces:
    """Reads a valid message from its start, field by field, and makes the text of each."""

    def __init__(self, message: Message, data: bytes, version: int, shown_version: int, size: int) -> None:
        self._data = data
        self._version = version
        self._shown_version = shown_version
        self._size = size
        self._walk = Walk(message, Reader(data), version)
        self._passage = Passage(message, Reader(data), version)

    def of_struct(self, fields: tuple[Field, ...], layout: StructLayout) -> Iterator[str]:
        elements = {field.name: field.struct for field in layout.fields if field.is_array}
        separator = "{"
        for field in fields:
            is_shown = field.is_in(self._shown_version)
            if is_shown:
                yield f'{separator}"{field.name}":'
                separator = ","
            if not field.is_in(self._version):
                if is_shown:
                    yield kafka_json.field_text(field, default_of(field), self._shown_version)
                continue
            element = elements.get(field.name)
            texts = self._of_value(field) if element is None else self._of_array(field, element)
            for text in texts:
                if is_shown:
                    yield text
        if self._walk.is_flexible:
            self._walk.read_tagged({}, {})
        yield "}"

    def _of_value(self, field: Field) -> Iterator[str]:
        yield kafka_json.field_text(field, self._walk.field(field), self._shown_version)

    def _of_array(self, field: Field, layout: StructLayout) -> Iterator[str]:
        count = self._walk.array_length(field)
        if count is None:
            yield "null"
            return
        yield "["
        data, reader, function = self._data, self._walk.reader, function_of(layout)
        may_be_large = any(inner.is_array for inner in layout.fields)
        separator = ""
        while count:
            if may_be_large and self._size_of_element(field) > self._size:
                yield separator
                yield from self.of_struct(field.fields, layout)
                separator = ","
                count -= 1
                continue
            texts = []
            at = reader.position
            end = at + 1 if may_be_large else at + self._size
            while count and at < end:
                try:
                    text, at = function(data, at)
                except IRREGULAR:
                    reader.position = at
                    text = kafka_json.field_text(field, self._walk.fields(field.fields), self._shown_version)
                    at = reader.position
                texts.append(text)
                count -= 1
            reader.position = at
            yield separator + ",".join(texts)
            separator = ","
        yield "]"

    def _size_of_element(self, field: Field) -> int:
        """The bytes of the struct that comes next."""
        start = self._passage.reader.position = self._walk.reader.position
        self._passage.fields(field.fields)
        return self._passage.reader.position - start
