"""Kafka's JSON form of a message: its keys, their order, what is left out, how values are written."""

from __future__ import annotations

import base64

from kdump.messages.schema import Field, Message, default_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.messages.schema import Value

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES |= {chr(code): f"\\u{code:04X}" for code in range(0x20) if chr(code) not in _ESCAPES}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)


def dumps(message: Message, values: dict[str, Value], version: int) -> str:
    """The message as Kafka's JSON converters write it for a version, without blanks."""
    return _object(message.fields, values, version)


def _object(fields: tuple[Field, ...], values: dict[str, Value], version: int) -> str:
    members = []
    for field in fields:
        value = values[field.name]
        if not field.is_in(version) or field.is_tagged_in(version) and value == default_of(field):
            continue
        members.append(f'"{field.name}":{_value(field, value, version)}')
    return "{" + ",".join(members) + "}"


def _value(field: Field, value: Value, version: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ",".join(_value(field, element, version) for element in value) + "]"
    if isinstance(value, dict):
        return _object(field.fields, value, version)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.translate(_ESCAPE_TABLE) + '"'
    if isinstance(value, bytes):
        if field.type == "uuid":
            return '"' + base64.urlsafe_b64encode(value).decode().rstrip("=") + '"'
        return '"' + base64.b64encode(value).decode() + '"'
    return str(value)
