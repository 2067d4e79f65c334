"""Reads compiled descriptors: what `protoc --descriptor_set_out` writes, and the Base64 that registries may hold.

Kept apart from the text: a set has the files of all imports, in an order in which each follows those that it uses.
"""

from __future__ import annotations

import binascii

from kdump.errors import CorruptData
from kdump.schemas.bounds import MAX_SCHEMA_SIZE, invalid
from kdump.schemas.proto_known import descriptor_types
from kdump.schemas.proto_text import ProtoFile
from kdump.schemas.proto_types import Enum, Field, Message, Types
from kdump.schemas.protobuf import ProtobufDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TYPES = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
_REPEATED = 3
_IMPLICIT = _CLOSED = 2  # of the features `field_presence` and `enum_type`


def parse_set(data: bytes, types: Types) -> list[ProtoFile]:
    """Read a set of files, and add their types to `types`. Raises CorruptData (`schema-invalid`)."""
    files = _decoded("FileSet", data).get("file", [])
    if not files:
        raise invalid("it is no set of Protobuf descriptors")
    return [_file(file, types) for file in files]


def parse_base64(text: str, types: Types) -> ProtoFile | None:
    """Read one file from Base64, and add its types to `types`; None if the text is none."""
    try:
        data = binascii.a2b_base64(text.strip(), strict_mode=True)
        return _file(_decoded("File", data), types) if data else None
    except (ValueError, CorruptData):
        return None


def _decoded(name: str, data: bytes) -> dict[str, Any]:
    if len(data) > MAX_SCHEMA_SIZE:
        raise invalid(f"descriptors have {len(data):,} bytes, more than the {MAX_SCHEMA_SIZE:,} that are read")
    known = descriptor_types()
    try:
        decoded: dict[str, Any] = ProtobufDecoder(known.messages[f"descriptors.{name}"], known).decode(data)
    except CorruptData as fault:
        raise invalid(f"the descriptors cannot be read: {fault.message}")
    return decoded


def _file(given: dict[str, Any], types: Types) -> ProtoFile:
    file = ProtoFile()
    file.package = given.get("package", "")
    syntax, features = given.get("syntax", "proto2"), _features(given)
    file.has_closed_enums = features.get("enum_type", _CLOSED if syntax == "proto2" else None) == _CLOSED
    file.has_explicit_presence = features.get("field_presence", _IMPLICIT if syntax == "proto3" else None) != _IMPLICIT
    file.messages = [_message(one, file.package, file, types) for one in given.get("message_type", ())]
    for one in given.get("enum_type", ()):
        _enum(one, file.package, file, types)
    _extensions(given, file.package, file, types)
    return file


def _message(given: dict[str, Any], scope: str, file: ProtoFile, types: Types) -> Message:
    message = Message(_full(scope, given))
    types.add(message)
    message.is_map_entry = bool(given.get("options", {}).get("map_entry"))
    for one in given.get("nested_type", ()):
        message.nested.append(_message(one, message.name, file, types))
    message.counted = message.nested
    for one in given.get("enum_type", ()):
        _enum(one, message.name, file, types)
    for one in given.get("field", ()):
        field = _field(one, file)
        types.add_field(field, message.name)
        message.fields[field.number] = field
    _extensions(given, message.name, file, types)
    return message


def _field(given: dict[str, Any], file: ProtoFile) -> Field:
    type = given.get("type", 0)
    is_scalar = type in _TYPES
    oneof = -1 if given.get("proto3_optional") else given.get("oneof_index", -1)
    field = Field(
        given.get("name", ""),
        given.get("number", 0),
        _TYPES[type] if is_scalar else given.get("type_name", ""),
        is_repeated=given.get("label") == _REPEATED,
        has_presence=file.has_explicit_presence or oneof >= 0 or bool(given.get("proto3_optional")),
        oneof=oneof,
    )
    if "field_presence" in (features := _features(given)):
        field.has_presence = features["field_presence"] != _IMPLICIT
    return field


def _enum(given: dict[str, Any], scope: str, file: ProtoFile, types: Types) -> None:
    enum = Enum(_full(scope, given), is_closed=file.has_closed_enums)
    if "enum_type" in (features := _features(given)):
        enum.is_closed = features["enum_type"] == _CLOSED
    for one in given.get("value", ()):
        types.count()
        enum.names.setdefault(one.get("number", 0), one.get("name", ""))
    types.add(enum)


def _features(given: dict[str, Any]) -> dict[str, int]:
    """What the options of a file, a field or an enum say about it (editions); those of files hold for what says nothing."""
    found: dict[str, int] = given.get("options", {}).get("features", {})
    return found


def _extensions(given: dict[str, Any], scope: str, file: ProtoFile, types: Types) -> None:
    for one in given.get("extension", ()):
        field = _field(one, file)
        types.add_field(field, scope)
        types.extend(one.get("extendee", ""), scope, field)


def _full(scope: str, given: dict[str, Any]) -> str:
    name = given.get("name", "")
    return f"{scope}.{name}" if scope else name
