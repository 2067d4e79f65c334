"""Message schemas as declarations, and the generic reader that follows them.

A message is declared once for all its versions: each field says from which version on it exists. Whether lengths are compact
and tagged fields may follow is decided by the version too ("flexible").
"""

from __future__ import annotations

from struct import Struct

from kdump.binary.java_text import text_of
from kdump.errors import CorruptData
from kdump.formats.record_batch import as_int32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Value = int | float | bool | str | bytes | None | list["Value"] | dict[str, "Value"]

NEVER = 1 << 15
"""A version that no message reaches."""

MAX_STRING = 0x7FFF


class Field:
    """A field of a message: its Kafka name in camel case, its type, the versions that have it.

    Types are `bool`, `int8` to `int64`, `uint16`, `uint32`, `float64`, `uuid`, `string`, `bytes`, `struct` and any of them as
    an array (`[]int32`, `[]struct`). Structs declare `fields`. `since` is the first version with the field, `until` the first
    without it again; it may be null from `nullable_since` on, and is tagged with `tag` from `tagged_since` on.
    Elements of an array whose fields marked `is_key` are equal to an earlier element's are dropped, as Kafka's sets do.
    """

    __slots__ = (
        "default",
        "fields",
        "is_array",
        "is_key",
        "name",
        "nullable_since",
        "since",
        "tag",
        "tagged_since",
        "type",
        "until",
    )

    def __init__(
        self,
        name: str,
        type: str,
        *fields: Field,
        since: int = 0,
        until: int = NEVER,
        nullable_since: int = NEVER,
        tag: int | None = None,
        tagged_since: int = 0,
        default: Value | None = None,
        is_key: bool = False,
    ) -> None:
        self.name = name
        self.is_array = type.startswith("[]")
        self.type = type.removeprefix("[]")
        self.fields = fields
        self.since = since
        self.until = until
        self.nullable_since = nullable_since
        self.tag = tag
        self.tagged_since = tagged_since if tag is not None else NEVER
        self.default = default
        self.is_key = is_key

    def is_in(self, version: int) -> bool:
        return (self.since == 0 or version >= self.since) and version < self.until

    def is_tagged_in(self, version: int) -> bool:
        return version >= self.tagged_since


class Message:
    """A message: its name, its fields in the order in which they are written, the first version with compact lengths."""

    __slots__ = ("fields", "flexible_since", "name")

    def __init__(self, name: str, *fields: Field, flexible_since: int = NEVER) -> None:
        self.name = name
        self.fields = fields
        self.flexible_since = flexible_since


class Reader:
    """Reads values one behind the other.

    What cannot be read raises CorruptData: `message-underflow`, `message-bytes-past-end`, `message-null`,
    `message-string-too-long`, `message-array-too-large`, `message-varint-too-long`, `message-size-negative`.
    """

    __slots__ = ("data", "position")

    def __init__(self, data: bytes | bytearray, position: int = 0) -> None:
        self.data = data
        self.position = position

    @property
    def remaining(self) -> int:
        return len(self.data) - self.position

    def fixed(self, layout: Struct) -> int | float:
        end = self.position + layout.size
        if end > len(self.data):
            raise CorruptData("message-underflow", "the message ends inside a field")
        (value,) = layout.unpack_from(self.data, self.position)
        self.position = end
        number: int | float = value
        return number

    def bytes(self, size: int) -> bytes:
        if not 0 <= size <= self.remaining:
            message = f"a field says it is {size} bytes long, with {self.remaining} bytes left"
            raise CorruptData("message-bytes-past-end", message, size=size, remaining=self.remaining)
        start = self.position
        self.position += size
        return bytes(self.data[start : self.position])

    def unsigned_varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            if self.position >= len(self.data):
                raise CorruptData("message-underflow", "the message ends inside a varint")
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFFFFFF
                return value - (1 << 32) if value >> 31 else value
        raise CorruptData("message-varint-too-long", "a varint does not end within 5 bytes", value=value & 0xFFFFFFFF)

    def length(self, is_compact: bool, layout: Struct) -> int:
        """A length; -1 for null. Compact ones are stored one higher."""
        return as_int32(self.unsigned_varint() - 1) if is_compact else int(self.fixed(layout))


_INT16, _INT32 = Struct(">h"), Struct(">i")
_FIXED = {
    "int8": Struct(">b"),
    "int16": _INT16,
    "int32": _INT32,
    "int64": Struct(">q"),
    "uint16": Struct(">H"),
    "uint32": Struct(">I"),
    "float64": Struct(">d"),
}
_UUID_SIZE = 16


def read(message: Message, reader: Reader, version: int) -> dict[str, Value]:
    """A message of this version as a dict of its fields, those with default values included; uuids are bytes.

    Raises CorruptData as Reader says.
    """
    return _read_fields(message.fields, reader, version, version >= message.flexible_since)


def _read_fields(fields: tuple[Field, ...], reader: Reader, version: int, is_flexible: bool) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for field in fields:
        if field.is_in(version) and not field.is_tagged_in(version):
            values[field.name] = _read_field(field, reader, version, is_flexible)
        else:
            values[field.name] = default_of(field)
    if is_flexible:
        tagged = {field.tag: field for field in fields if field.is_in(version) and field.is_tagged_in(version)}
        for _ in range(reader.unsigned_varint()):
            tag, size = reader.unsigned_varint(), reader.unsigned_varint()
            if tag in tagged:
                values[tagged[tag].name] = _read_field(tagged[tag], reader, version, is_flexible, is_tagged=True)
            else:
                if size < 0:
                    raise CorruptData("message-size-negative", f"an unknown field says it is {size} bytes long", size=size)
                reader.bytes(size)
    return values


def _read_field(field: Field, reader: Reader, version: int, is_flexible: bool, is_tagged: bool = False) -> Value:
    if not field.is_array:
        return _read_value(field, reader, version, is_flexible, is_tagged)
    count = reader.length(is_flexible, _INT32)
    if count < 0:
        _allow_null(field, version)
        return None
    if count > reader.remaining:
        message = f"{field.name} says it has {count} elements, with {reader.remaining} bytes left"
        raise CorruptData("message-array-too-large", message, count=count, remaining=reader.remaining)
    elements = [_read_value(field, reader, version, is_flexible, False, is_element=True) for _ in range(count)]
    keys = [inner.name for inner in field.fields if inner.is_key]
    if not keys:
        return elements
    distinct: dict[tuple[Value, ...], Value] = {}
    for element in elements:
        assert isinstance(element, dict)
        distinct.setdefault(tuple(element[key] for key in keys), element)
    return list(distinct.values())


def _read_value(
    field: Field, reader: Reader, version: int, is_flexible: bool, is_tagged: bool, is_element: bool = False
) -> Value:
    if field.type in _FIXED:
        return reader.fixed(_FIXED[field.type])
    if field.type == "bool":
        return reader.fixed(_FIXED["int8"]) != 0
    if field.type == "uuid":
        if reader.remaining < _UUID_SIZE:
            raise CorruptData("message-underflow", "the message ends inside a uuid")
        return reader.bytes(_UUID_SIZE)
    if field.type == "struct":
        if not is_element and version >= field.nullable_since:
            marker = reader.unsigned_varint() if is_tagged else int(reader.fixed(_FIXED["int8"]))
            if marker <= 0 if is_tagged else marker < 0:
                return None
        return _read_fields(field.fields, reader, version, is_flexible)
    size = reader.length(is_flexible, _INT16 if field.type == "string" else _INT32)
    if size < 0:
        _allow_null(field, version, " element" if is_element else "")
        return None
    if field.type == "string":
        if size > MAX_STRING:
            message = f"{field.name} says it is {size} bytes long"
            raise CorruptData("message-string-too-long", message, field=field.name, size=size)
        return text_of(reader.bytes(size))
    return reader.bytes(size)


def _allow_null(field: Field, version: int, what: str = "") -> None:
    if what or version < field.nullable_since:
        raise CorruptData("message-null", f"{field.name}{what} may not be null", field=field.name + what)


def default_of(field: Field) -> Value:
    """The value of a field that a version does not have, or that was not written."""
    if field.default is not None or field.nullable_since == 0 and field.tag is not None:
        return field.default
    if field.is_array:
        return []
    if field.type == "struct":
        return {inner.name: default_of(inner) for inner in field.fields}
    return _DEFAULTS.get(field.type, lambda: 0)()


_DEFAULTS: dict[str, Callable[[], Value]] = {
    "bool": lambda: False,
    "float64": lambda: 0.0,
    "uuid": lambda: bytes(_UUID_SIZE),
    "string": lambda: "",
    "bytes": lambda: b"",
}
