"""Protobuf's messages, fields and enums: what they are called, what they contain, and how types are found by name."""

from __future__ import annotations

from kdump.schemas.bounds import MAX_TYPES, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SCALARS = (
    "double",
    "float",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "sint32",
    "sint64",
    "fixed32",
    "fixed64",
    "sfixed32",
    "sfixed64",
    "bool",
    "string",
    "bytes",
)

MAX_FIELD_NUMBER = (1 << 29) - 1


KEY, VALUE = 1, 2
"""The numbers of the fields in the entry of a map; the only field of a wrapper has the first."""


class Enum:
    """An enum: the first name of each number. Numbers that a closed enum does not have are not read."""

    def __init__(self, name: str, *, is_closed: bool) -> None:
        self.name = name
        self.names: dict[int, str] = {}
        self.is_closed = is_closed


class Field:
    """A field. `type` is a scalar's, or the name of a message or enum as it was written, which `link` finds.

    Without presence, a field with its default value is as if it was not set. `oneof` is the number of the group of fields
    of which only one can be set, -1 for none; `key` is what JSON calls it.
    """

    def __init__(
        self, name: str, number: int, type: str, *, is_repeated: bool = False, has_presence: bool = False, oneof: int = -1
    ) -> None:
        self.name = self.key = name
        self.number = number
        self.type = type
        self.is_repeated = is_repeated
        self.has_presence = has_presence
        self.oneof = oneof
        self.message: Message | None = None
        self.enum: Enum | None = None


class Message:
    """A message. `nested` are the messages in it in the order of the text, `counted` those and the entries of maps, each where
    its field is."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: dict[int, Field] = {}
        self.nested: list[Message] = []
        self.counted: list[Message] = []
        self.is_map_entry = False

    @property
    def is_map(self) -> bool:
        """Whether this is the entry of a map."""
        return self.is_map_entry and {KEY, VALUE} <= self.fields.keys()


class Types:
    """All types of a schema and of its imports, by their full names."""

    def __init__(self, known: Types | None = None) -> None:
        self.messages: dict[str, Message] = {} if known is None else dict(known.messages)
        self.enums: dict[str, Enum] = {} if known is None else dict(known.enums)
        self._count = 0
        self._unlinked: list[tuple[Field, str]] = []  # with the names of the scopes that they are in
        self._extensions: list[tuple[str, str, Field]] = []  # the message extended, the scope, the field

    def add(self, type: Message | Enum) -> None:
        """Make a type known."""
        self.count()
        if isinstance(type, Message):
            self.messages[type.name] = type
        else:
            self.enums[type.name] = type

    def count(self) -> None:
        """Count a type or a field. Raises CorruptData (`schema-invalid`) if there are too many."""
        self._count += 1
        if self._count > MAX_TYPES:
            raise invalid(f"the schema has more than {MAX_TYPES:,} types and fields")

    def add_field(self, field: Field, scope: str) -> None:
        """Take note of a field whose type is to be found."""
        self.count()
        if field.type not in SCALARS:
            self._unlinked.append((field, scope))

    def extend(self, message: str, scope: str, field: Field) -> None:
        """Take note of a field that extends a message."""
        field.key = f"[{scope}.{field.name}]" if scope else f"[{field.name}]"
        self._extensions.append((message, scope, field))

    def link(self) -> None:
        """Find the types of fields by their names. What is not found stays without: it matters only where it occurs."""
        for field, scope in self._unlinked:
            for name in _candidates(field.type, scope):
                field.message, field.enum = self.messages.get(name), self.enums.get(name)
                if field.message is not None or field.enum is not None:
                    break
            if field.message is not None:
                field.has_presence = True
        for extended, scope, field in self._extensions:
            found = next((name for name in _candidates(extended, scope) if name in self.messages), None)
            if found is not None:
                self.messages[found].fields.setdefault(field.number, field)
        self._unlinked, self._extensions = [], []


def _candidates(name: str, scope: str) -> list[str]:
    """The full names that a name may stand for within a scope, the innermost first."""
    if name.startswith("."):
        return [name[1:]]
    scopes = scope.split(".") if scope else []
    return [".".join([*scopes[:count], name]) for count in range(len(scopes), -1, -1)]


def message_at(messages: Sequence[Message], indexes: Sequence[int]) -> Message | None:
    """The message that a serializer's numbers lead to: of the file, then of the message, and so on.

    Java clients count nested messages in the order of the text. Python clients also count the entries of maps, which the text
    need not show; so they are counted, too, if the numbers lead to nothing otherwise.
    """
    return _message_at(messages, indexes, with_entries=False) or _message_at(messages, indexes, with_entries=True)


def _message_at(messages: Sequence[Message], indexes: Sequence[int], *, with_entries: bool) -> Message | None:
    found: Message | None = None
    for index in indexes:
        if not 0 <= index < len(messages):
            return None
        found = messages[index]
        messages = found.counted if with_entries else found.nested
    return found
