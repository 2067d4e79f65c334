"""Compiles the records of an internal topic for the kernel in C: layouts of messages as numbers, and the words around them."""

from __future__ import annotations

from struct import pack

from kdump.binary import kernel
from kdump.messages import kafka_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from kdump.messages.layout import FieldLayout, StructLayout
    from kdump.messages.schema import Message
    from kdump.output.kafka.topics.message_words import Piece, Words
    from kdump.output.kafka.topics.regular_records import RegularRecord, RegularRecords
    from kdump.releases.history import ControlType


def compiled(records: RegularRecords | None, control_types: Mapping[int, ControlType] | None = None) -> bytes:
    """What the kernel parses (binary/c/decode/messages.h): layouts of all records of a topic, and the types of control records.

    Without records, only control records without messages are shown.
    """
    assert kernel.native is not None
    return _Layouts(kernel.native).compiled(records, control_types or {})


class _Layouts:
    """Collects structs, each of them once, after those that it contains."""

    def __init__(self, native: ModuleType) -> None:
        self._native = native
        self._kinds: dict[str, int] = {kind: number for number, kind in enumerate(native.FIELD_KINDS)}
        self._pool = ""
        self._places: dict[str, int] = {}
        self._structs: dict[tuple[int, ...], int] = {}

    def compiled(self, records: RegularRecords | None, control_types: Mapping[int, ControlType]) -> bytes:
        c = self._native
        contained, types, kind = self._records(records) if records else ([], [], c.PLAIN_RECORDS)
        is_text = records.is_text if records else False
        controls = [self._control_type(number, shown, with_messages=bool(records)) for number, shown in control_types.items()]
        controls = [control for control in controls if control]
        numbers = [len(self._structs), *(number for struct in self._structs for number in struct), len(contained)]
        for versions in contained:
            numbers += versions
        numbers += (kind, is_text, *self._label(records.after_version if records else ""), len(types))
        for numbers_of_one in (*types, [len(controls)], *controls):
            numbers += numbers_of_one
        pool = self._pool.encode()
        return pack("=I", len(pool)) + pool + pack(f"={len(numbers)}q", *numbers)

    def _control_type(self, number: int, shown: ControlType, *, with_messages: bool) -> Sequence[int]:
        """A type of control records, or nothing if it is left to Python."""
        c = self._native
        kind, message = c.MARKER_EPOCH if shown.is_marker else c.TYPE_NAME, c.NO_STRUCT
        if shown.heading:
            if not with_messages:
                return ()
            from kdump.messages import control_records

            kind, message = c.CONTROL_MESSAGE, self._struct(_layout(control_records.MESSAGES[number], 0))
        return number, kind, *self._label(shown.start(number)), message

    def _records(self, records: RegularRecords) -> tuple[list[list[int]], list[list[int]], int]:
        """Contained messages, types of records, and their kind."""
        from kdump.messages.consumer_protocol import ASSIGNMENT, SUBSCRIPTION

        c = self._native
        kind = c.COORDINATOR_RECORDS
        if records.frame_version is not None:
            kind = c.METADATA_RECORDS if records.frame_version else c.PREVIEW_RECORDS
        contained = [self._versions(message) for message in (SUBSCRIPTION, ASSIGNMENT)]
        types = []
        for number, record in records.records.items():
            key = c.NO_STRUCT if record.key is None else self._struct(_layout(record.key, 0))
            value = self._values(record)
            start = (number, key, bool(record.contained), *self._label(record.key_start), *self._label(record.value_start))
            types.append([*start, *value])
        return contained, types, kind

    def _versions(self, message: Message) -> list[int]:
        """The number of versions, and the struct of each."""
        structs = [self._struct(_layout(message, version)) for version in self._range(message.last_version)]
        return [len(structs), *structs]

    def _values(self, record: RegularRecord) -> list[int]:
        """The same of the value of a record."""
        contained = {name: number for name, number in _CONTAINED_FIELDS.items() if record.contained}
        structs = [
            self._struct(_layout(record.value, version), contained, record.value_words)
            for version in self._range(record.value.last_version)
        ]
        return [len(structs), *structs]

    def _range(self, last_version: int) -> range:
        return range(min(last_version + 1, self._native.MAX_VERSIONS))

    def _struct(self, layout: StructLayout, contained: dict[str, int] | None = None, words: Words | None = None) -> int:
        """The number of a struct, which is added if it is new."""
        fields = (*layout.fields, *layout.tagged)
        inner = words.inner if words else {}
        numbers = [layout.is_flexible, len(layout.fields), len(layout.tagged), len(layout.later_tags), len(layout.shown)]
        for field in fields:
            numbers += self._field(field, contained or {}, inner.get(field.name))
        numbers += layout.later_tags
        numbers += (fields.index(field) for field in layout.shown)
        pieces = [self._piece(piece, fields) for piece in words.pieces] if words else []
        pieces = [piece for piece in pieces if piece]
        numbers += (len(pieces), *(number for piece in pieces for number in piece))
        return self._structs.setdefault(tuple(numbers), len(self._structs))

    def _piece(self, piece: Piece, fields: Sequence[FieldLayout]) -> Sequence[int]:
        """A piece of text, or nothing if its field is not among these."""
        c = self._native
        place = _place(piece.field, fields)
        if piece.field and place < 0:
            return ()
        struct = fields[place].struct if piece.element else None
        inner = [_place(name, struct.fields) for name in piece.element] if struct else []
        inner += [c.NO_PLACE] * (c.MAX_ELEMENT_PLACES - len(inner))
        texts = [number for text in piece.texts for number in self._label(text)]
        operation = getattr(c, piece.operation)
        label = self._label(piece.literal)
        return operation, place, _place(piece.other, fields), piece.number, *inner, *label, len(piece.texts), *texts

    def _field(self, field: FieldLayout, contained: dict[str, int], words: Words | None) -> Sequence[int]:
        c = self._native
        child: int = c.NO_STRUCT
        if field.struct is not None:
            child = self._struct(field.struct, contained, words)
        elif field.kind == "bytes":
            child = contained.get(field.name, child)
        default = field.default
        flags = c.IS_ARRAY * field.is_array | c.IS_NULLABLE * field.is_nullable | c.IS_NULL_BY_DEFAULT * (default is None)
        number = int(default) if isinstance(default, (int, float)) else 0
        tag = -1 if field.tag is None else field.tag
        label = self._label(f'"{field.name}":')
        names = [place for name in field.value_names for place in self._label(kafka_json.text(name))]
        return self._kinds[field.kind], flags, child, tag, number, *label, len(field.value_names), *names

    def _label(self, text: str) -> tuple[int, int]:
        """The place and the size of a text in the pool."""
        if text not in self._places:
            self._places[text] = len(self._pool)
            self._pool += text
        return self._places[text], len(text)


def _place(name: str, fields: Sequence[FieldLayout]) -> int:
    """The place of the field of this name, -1 if there is none."""
    return next((place for place, field in enumerate(fields) if field.name == name), -1)


_CONTAINED_FIELDS = {"subscription": 0, "assignment": 1}


def _layout(message: Message, version: int) -> StructLayout:
    from kdump.messages.layout import layout_of  # a dump without decoder does not need schemas

    layout = layout_of(message, version)
    assert layout is not None
    return layout
