"""Decodes Protobuf's wire format into values for JSON, by the types of a schema.

The values are those of Protobuf's own JSON mapping, with the field names of the schema and without fields that are not set.
Protobuf: encoding; JSON mapping (ProtoJSON).
"""

from __future__ import annotations

from struct import Struct

from kdump.schemas import shapes
from kdump.schemas.avro import base64_text, date_text, json_float, time_text
from kdump.schemas.bounds import CONTAINER_COST, MAX_DEPTH, VALUE_COST, Budget, undecodable
from kdump.schemas.proto_types import KEY, VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from kdump.schemas.proto_types import Enum, Field, Message, Types
    from kdump.schemas.shapes import Shape

    Raw = dict[int, Any]  # the fields that are set, by number, each by its type

_VARINT, _I64, _LENGTH, _GROUP, _END_GROUP, _I32 = range(6)
_MAX_VARINT = 10  # bytes
_VIEW_COST = 128  # characters that bytes of a message count for until they are decoded
_MASK32, _MASK64 = (1 << 32) - 1, (1 << 64) - 1

_UINT64, _INT64, _DOUBLE = Struct("<Q"), Struct("<q"), Struct("<d")
_UINT32, _INT32, _FLOAT = Struct("<I"), Struct("<i"), Struct("<f")

_FIXED = {
    "fixed64": (_I64, _UINT64),
    "sfixed64": (_I64, _INT64),
    "double": (_I64, _DOUBLE),
    "fixed32": (_I32, _UINT32),
    "sfixed32": (_I32, _INT32),
    "float": (_I32, _FLOAT),
}
_AS_TEXT = frozenset(("int64", "uint64", "sint64", "fixed64", "sfixed64"))

_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of Timestamp: the years 1 to 9999
_MAX_DURATION = 315_576_000_000  # seconds
_DAY = 86_400


class ProtobufDecoder:
    """Decodes values of one message. `types` are those that a value of type Any may have."""

    def __init__(self, message: Message, types: Types) -> None:
        self.message = message
        self._types = types

    @property
    def shape(self) -> Shape:
        """The shape of its values."""
        return shapes.of_protobuf(self.message)

    def decode(self, data: bytes, position: int = 0) -> Any:
        """The message from a position on, for JSON.

        Raises CorruptData (`schema-undecodable`, `schema-value-too-large`).
        """
        return _Values(self._types, len(data)).of(self.message, memoryview(data)[position:])


def varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """The number of 64 bits here, and where it ends. Raises CorruptData (`schema-undecodable`)."""
    number = shift = 0
    for at in range(position, min(position + _MAX_VARINT, len(data))):
        byte = data[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & _MASK64, at + 1
        shift += 7
    raise undecodable("it has a number of more than 64 bits" if shift == 7 * _MAX_VARINT else "it ends inside a number")


def indexes(data: bytes | memoryview, position: int) -> tuple[list[int], int]:
    """The numbers that lead to a message, as Confluent's serializers write them, and where they end; one 0 means the first.

    Raises CorruptData (`schema-undecodable`).
    """
    count, position = _zigzag(*varint(data, position))
    if count == 0:
        return [0], position
    if not 0 < count <= MAX_DEPTH:
        raise undecodable(f"it says that {count} numbers lead to its message")
    found = []
    for _ in range(count):
        number, position = _zigzag(*varint(data, position))
        found.append(number)
    return found, position


def _zigzag(number: int, position: int) -> tuple[int, int]:
    return number >> 1 ^ -(number & 1), position


def tagged(data: memoryview) -> Iterator[tuple[int, int, Any]]:
    """The fields of a message: number, wire type, and the number or bytes that follow; groups have their content as bytes.

    Raises CorruptData (`schema-undecodable`).
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if not number or tag > _MASK32:
            raise undecodable(f"it has a field with the number {number}")
        value: Any
        if wire_type == _GROUP:
            start = position
            position, close = _end_of_group(data, position, number)
            value = data[start:close]
        else:
            value, position = _value(data, position, wire_type)
        yield number, wire_type, value


def _value(data: memoryview, position: int, wire_type: int) -> tuple[Any, int]:
    """The value of a field that is no group: a number, or bytes."""
    if wire_type == _VARINT:
        return varint(data, position)
    if wire_type == _LENGTH:
        size, position = varint(data, position)
    elif wire_type in (_I64, _I32):
        size = 8 if wire_type == _I64 else 4
    else:
        raise undecodable(
            f"it has a field of the unknown wire type {wire_type}" if wire_type > _I32 else "a group ends that did not start"
        )
    if size > len(data) - position:
        raise undecodable(f"it ends inside a field of {size} bytes")
    return data[position : position + size], position + size


def _end_of_group(data: memoryview, position: int, number: int) -> tuple[int, int]:
    """Where what follows a group starts, and where its content ends."""
    open_groups = [number]
    while True:
        start = position
        if position >= len(data):
            raise undecodable("it ends inside a group")
        tag, position = varint(data, position)
        if tag & 7 == _END_GROUP:
            if tag >> 3 != open_groups.pop():
                raise undecodable("a group ends that did not start")
            if not open_groups:
                return position, start
        elif tag & 7 == _GROUP:
            open_groups.append(tag >> 3)
            if len(open_groups) > MAX_DEPTH:
                raise undecodable(f"it is nested more than {MAX_DEPTH} levels deep")
        else:
            _, position = _value(data, position, tag & 7)


class _Values(Budget):
    """Makes the values of one message, within a budget."""

    def __init__(self, types: Types, size: int) -> None:
        super().__init__(size)
        self._types = types

    def of(self, message: Message, data: memoryview) -> Any:
        """The JSON value of a message."""
        self.spend(CONTAINER_COST)
        self.enter()
        raw = self._raw(message, data)
        known = _KNOWN.get(message.name)
        value = self._object(message, raw) if known is None else known(self, message, raw)
        self.leave()
        return value

    # From bytes to fields

    def _raw(self, message: Message, data: memoryview) -> Raw:
        raw: Raw = {}
        set_of: dict[int, int] = {}  # the field that is set, by oneof
        for number, wire_type, value in tagged(data):
            field = message.fields.get(number)
            if field is None:
                continue
            items = self._items(field, wire_type, value)
            if items is None:
                continue  # as if the field was unknown
            if field.is_repeated or field.message is not None:
                self.spend((VALUE_COST if field.message is None else _VIEW_COST) * len(items))
                raw.setdefault(number, []).extend(items)  # parts of one message are merged: as bytes, they follow each other
            elif items:
                raw[number] = items[-1]
            if field.oneof >= 0 and items:
                other = set_of.get(field.oneof, number)
                if other != number:
                    raw.pop(other, None)
                set_of[field.oneof] = number
        return raw

    def _items(self, field: Field, wire_type: int, value: Any) -> list[Any] | None:
        """The values in a field, as far as they are decoded without their message; None if it has another wire type."""
        if field.message is not None:
            return [value] if wire_type in (_LENGTH, _GROUP) else None
        if field.enum is None and field.type in ("string", "bytes"):
            return [self._bytes_of(field, value)] if wire_type == _LENGTH else None
        if field.enum is None and field.type not in _FIXED and field.type not in _FROM_VARINT:
            raise undecodable(f"its schema does not say what the type {field.type[:100]!r} is")
        own_type, unpacker = _FIXED.get(field.type, (_VARINT, None)) if field.enum is None else (_VARINT, None)
        if wire_type == own_type:
            return self._known_enum(field, [value if unpacker is None else unpacker.unpack(value)[0]])
        if wire_type != _LENGTH or not field.is_repeated:
            return None
        self.spend(VALUE_COST * (len(value) // (unpacker.size if unpacker else 1)))
        if unpacker is None:
            return self._known_enum(field, list(_packed(value)))
        if len(value) % unpacker.size:
            raise undecodable("it ends inside a number")
        return [number for (number,) in unpacker.iter_unpack(value)]

    def _known_enum(self, field: Field, numbers: list[Any]) -> list[Any]:
        if field.enum is None:
            convert = _FROM_VARINT.get(field.type)
            return numbers if convert is None else [convert(number) for number in numbers]
        signed = [_int32(number) for number in numbers]
        return [number for number in signed if number in field.enum.names] if field.enum.is_closed else signed

    def _bytes_of(self, field: Field, value: memoryview) -> str | bytes:
        self.spend(len(value))
        data = bytes(value)
        if field.type == "bytes":
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise undecodable("it has a string that is not UTF-8")

    # From fields to JSON

    def _object(self, message: Message, raw: Raw) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for number in sorted(raw):
            field, value = message.fields[number], raw[number]
            self.spend(len(field.key) + VALUE_COST)
            if field.is_repeated:
                items = self._repeated(field, value) if value else None
                if items:  # the entries of a map may all be unknown
                    found[field.key] = items
            elif field.message is not None or field.has_presence or not _is_default(value):
                found[field.key] = self._json(field, value)
        return found

    def _repeated(self, field: Field, values: list[Any]) -> Any:
        if field.message is not None and field.message.is_map:
            return self._map(field.message, values)
        if field.message is not None:
            return [self.of(field.message, value) for value in values]
        return [self._json(field, value) for value in values]

    def _map(self, entry: Message, values: list[Any]) -> dict[str, Any]:
        key_field, value_field = entry.fields[KEY], entry.fields[VALUE]
        found: dict[str, Any] = {}
        for data in values:
            self.spend(CONTAINER_COST)
            raw = self._raw(entry, data)
            key = self._json(key_field, raw.get(KEY, _default(key_field)))
            if value_field.enum is not None and value_field.enum.is_closed and _has_unknown(data, value_field.enum):
                continue
            text = key if isinstance(key, str) else "true" if key is True else "false" if key is False else str(key)
            found[text] = self._json(value_field, raw.get(VALUE, _default(value_field)))
        return found

    def _json(self, field: Field, value: Any) -> Any:
        if field.message is not None:
            if len(value) > 1:
                self.spend(sum(map(len, value)))
            return self.of(field.message, value[0] if len(value) == 1 else memoryview(b"".join(value)))
        if field.enum is not None:
            name = field.enum.names.get(value)
            self.spend(len(name or ""))
            return None if field.enum.name == "google.protobuf.NullValue" else value if name is None else name
        if isinstance(value, bytes):
            return base64_text(value)
        if isinstance(value, float):
            return json_float(value) if field.type == "double" else short_float(value)
        return str(value) if field.type in _AS_TEXT else value

    # Types with a JSON form of their own

    def timestamp(self, _message: Message, raw: Raw) -> str:
        seconds, nanos = raw.get(1, 0), raw.get(2, 0)
        if not _FIRST_SECOND <= seconds <= _LAST_SECOND or not 0 <= nanos < 1_000_000_000:
            raise undecodable(f"it has a timestamp of {seconds} seconds and {nanos} nanoseconds")
        days, second = divmod(seconds, _DAY)
        return f"{date_text(days)}T{time_text(second * 1_000_000)[:8]}{_fraction(nanos)}Z"

    def duration(self, _message: Message, raw: Raw) -> str:
        seconds, nanos = raw.get(1, 0), raw.get(2, 0)
        if abs(seconds) > _MAX_DURATION or abs(nanos) >= 1_000_000_000 or seconds * nanos < 0:
            raise undecodable(f"it has a duration of {seconds} seconds and {nanos} nanoseconds")
        sign = "-" if seconds < 0 or nanos < 0 else ""
        return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"

    def wrapper(self, message: Message, raw: Raw) -> Any:
        field = message.fields[KEY]
        return self._json(field, raw.get(KEY, _default(field)))

    def field_mask(self, _message: Message, raw: Raw) -> str:
        return ",".join(_camel_case(path) for path in raw.get(1, ()))

    def struct(self, message: Message, raw: Raw) -> Any:
        return self._object(message, raw).get("fields", {})

    def list_value(self, message: Message, raw: Raw) -> Any:
        return self._object(message, raw).get("values", [])

    def value(self, message: Message, raw: Raw) -> Any:
        return next(iter(self._object(message, raw).values()), None)

    def any(self, _message: Message, raw: Raw) -> dict[str, Any]:
        """The message in it beside its type; what has a type that the schema does not know remains Base64."""
        url, data = raw.get(1, ""), raw.get(2, b"")
        if not url and not data:
            return {}
        message = self._types.messages.get(url.rpartition("/")[2])
        if message is None:
            return {"@type": url, "value": base64_text(data)}
        self.spend(len(data))
        value = self.of(message, memoryview(data))
        return {"@type": url, "value": value} if message.name in _KNOWN else {"@type": url, **value}


def _packed(data: memoryview) -> Iterator[int]:
    position = 0
    while position < len(data):
        number, position = varint(data, position)
        yield number


def _has_unknown(entry: memoryview, enum: Enum) -> bool:
    """Whether the entry of a map has a number that a closed enum does not have; it is then as if it was not there."""
    return any(
        number == VALUE and wire_type == _VARINT and _int32(value) not in enum.names for number, wire_type, value in tagged(entry)
    )


def _int32(number: int) -> int:
    number &= _MASK32
    return number - (1 << 32) if number >> 31 else number


def _int64(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _sint32(number: int) -> int:
    number &= _MASK32
    return number >> 1 ^ -(number & 1)


_FROM_VARINT: dict[str, Callable[[int], int | bool]] = {
    "int32": _int32,
    "int64": _int64,
    "uint32": lambda number: number & _MASK32,
    "uint64": lambda number: number,
    "sint32": _sint32,
    "sint64": lambda number: number >> 1 ^ -(number & 1),
    "bool": bool,
}


def _default(field: Field) -> Any:
    if field.message is not None:
        return [memoryview(b"")]
    if field.enum is not None:
        return next(iter(field.enum.names), 0) if field.enum.is_closed else 0
    return {"string": "", "bytes": b"", "bool": False, "float": 0.0, "double": 0.0}.get(field.type, 0)


def _is_default(value: Any) -> bool:
    """Whether a value is the one that fields without presence have when they are not set; -0.0 is another one."""
    return not value and not (isinstance(value, float) and str(value).startswith("-"))


def short_float(number: float) -> float | str:
    """A number of 32 bits with the fewest digits that mean it."""
    if number - number != 0:
        return json_float(number)
    for digits in range(6, 9):
        short = float(f"{number:.{digits}g}")
        try:
            if _FLOAT.pack(short) == _FLOAT.pack(number):
                return short
        except OverflowError:  # rounded up, past the largest
            continue
    return float(f"{number:.9g}")


def _fraction(nanos: int) -> str:
    """Nanoseconds with three, six or nine digits; nothing for none."""
    if not nanos:
        return ""
    if nanos % 1_000_000 == 0:
        return f".{nanos // 1_000_000:03d}"
    return f".{nanos // 1000:06d}" if nanos % 1000 == 0 else f".{nanos:09d}"


def _camel_case(path: str) -> str:
    first, *others = path.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


_KNOWN: dict[str, Callable[[_Values, Message, Raw], Any]] = {
    "google.protobuf.Timestamp": _Values.timestamp,
    "google.protobuf.Duration": _Values.duration,
    "google.protobuf.FieldMask": _Values.field_mask,
    "google.protobuf.Any": _Values.any,
    "google.protobuf.Struct": _Values.struct,
    "google.protobuf.ListValue": _Values.list_value,
    "google.protobuf.Value": _Values.value,
    **{
        f"google.protobuf.{name}Value": _Values.wrapper
        for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
    },
}
"""How messages become JSON that are not shown as objects with their fields, by name."""
