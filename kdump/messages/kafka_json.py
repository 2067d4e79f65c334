"""Kafka's JSON format of a message: its keys, their order, omitted fields, and the format of values."""

from __future__ import annotations

import binascii
from functools import cache

from kdump.messages.schema import Field, Message, default_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.messages.schema import Value

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES |= {chr(code): f"\\u{code:04X}" for code in range(0x20) if chr(code) not in _ESCAPES}
_URL_SAFE = str.maketrans("+/", "-_")
_ESCAPE_TABLE = str.maketrans(_ESCAPES)


class Json(str):
    """A value that is already JSON."""

    __slots__ = ()


def dumps(message: Message, values: dict[str, Value], version: int) -> str:
    """The message as Kafka's JSON converters write it for a version, without spaces."""
    return _object(message.fields, values, version)


def type_name(message: Message) -> str:
    """The name of a metadata record's type: that of its message in upper case, with underscores."""
    return _in_capitals(message.name)


@cache
def _in_capitals(name: str) -> str:
    return "".join("_" + letter if letter.isupper() else letter for letter in name).lstrip("_").upper()


def _object(fields: tuple[Field, ...], values: dict[str, Value], version: int) -> str:
    members = []
    for field in fields:
        value = values[field.name]
        if not field.is_in(version) or field.is_tagged_in(version) and value == default_of(field):
            continue
        members.append(f'"{field.name}":{field_text(field, value, version)}')
    return "{" + ",".join(members) + "}"


def field_text(field: Field, value: Value, version: int) -> str:
    """The value of a field, or an element of it."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ",".join(field_text(field, element, version) for element in value) + "]"
    if isinstance(value, dict):
        return _object(field.fields, value, version)
    if field.value_names and isinstance(value, int):
        return text(field.value_names[value] if 0 <= value < len(field.value_names) else str(value))
    return value_text(field.type, value)


def value_text(type: str, value: Value) -> str:
    """A value of this type, which is neither null nor a struct."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Json):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bytes):
        return f'"{uuid_text(value)}"' if type == "uuid" else bytes_text(value)
    return java_double(value) if isinstance(value, float) else str(value)


def text(value: str) -> str:
    """A string in quotes, escaped as Jackson does."""
    if value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return '"' + value.translate(_ESCAPE_TABLE) + '"'


def bytes_text(value: bytes) -> str:
    """Bytes in quotes, as Base64."""
    return f'"{binascii.b2a_base64(value, newline=False).decode()}"'


def uuid_text(uuid: bytes) -> str:
    """A uuid as Kafka shows it: Base64 for URLs, without padding."""
    return binascii.b2a_base64(uuid, newline=False).decode().rstrip("=").translate(_URL_SAFE)


def java_double(number: float) -> str:
    """A double as Java's Double.toString writes it, with the fewest digits; NaN and infinities are text."""
    if number != number or abs(number) == float("inf"):
        return '"NaN"' if number != number else '"Infinity"' if number > 0 else '"-Infinity"'
    from decimal import Decimal  # importing it takes longer than importing this package

    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(exponent)  # the place of the decimal point in the digits
    minus = "-" if sign else ""
    if number == 0:
        return f"{minus}0.0"
    if 1e-3 <= abs(number) < 1e7:
        whole = text[:point].ljust(point, "0") if point > 0 else "0"
        fraction = text[point:] if point > 0 else "0" * -point + text
        return f"{minus}{whole}.{fraction or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"
