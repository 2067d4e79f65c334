"""Avro's types, read from the JSON of schemas: names resolved, bounds kept, logical types recognized.

Avro specification 1.12: schema declaration, names, logical types, parsing canonical form, schema fingerprints.
"""

from __future__ import annotations

import json

from kdump.schemas.bounds import MAX_DEPTH, MAX_SCHEMA_SIZE, MAX_TYPES, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")

_LOGICAL = {
    "decimal": ("bytes", "fixed"),
    "uuid": ("string", "fixed"),
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
}
"""The types that each logical type may have. Others are shown as what they are."""

_EMPTY_CRC = 0xC15D213AA4D7A795


class AvroType:
    """A type: `kind` is a primitive, or record, enum, fixed, array, map or union.

    `fields` are those of a record, `items` the type of items or values, `branches` those of a union, `size` that of a fixed.
    """

    def __init__(self, kind: str, name: str = "") -> None:
        self.kind = kind
        self.name = name
        self.logical = ""
        self.precision = self.scale = self.size = 0
        self.fields: list[tuple[str, AvroType]] = []
        self.symbols: list[str] = []
        self.branches: list[AvroType] = []
        self.items: AvroType | None = None


def parsed(text: str, referenced: Sequence[str] = (), name: str = "") -> AvroType:
    """The type that a schema declares; `referenced` are the schemas whose names it uses, in an order that resolves them.

    With a `name`, the type of that full name in any of them. Raises CorruptData (`schema-invalid`).
    """
    reader = _Reader()
    for other in referenced:
        reader.read(_json(other))
    declared = reader.read(_json(text))
    return reader.named(name) if name else declared


def _json(text: str) -> object:
    if len(text) > MAX_SCHEMA_SIZE:
        raise invalid(f"a schema has {len(text):,} characters, more than the {MAX_SCHEMA_SIZE:,} that are read")
    try:
        return json.loads(text)
    except RecursionError:
        raise invalid("the schema is nested too deeply")
    except ValueError:
        if text in PRIMITIVES:
            return text  # a registry may hold the bare name
        raise invalid("the schema is no JSON")


class _Reader:
    """Reads declarations; names stay known from one to the next."""

    def __init__(self) -> None:
        self._names: dict[str, AvroType] = {}
        self._count = 0

    def read(self, declared: object, namespace: str = "", depth: int = 0) -> AvroType:
        self._count += 1
        if self._count > MAX_TYPES:
            raise invalid(f"the schema has more than {MAX_TYPES:,} types")
        if depth > MAX_DEPTH:
            raise invalid(f"the schema is nested more than {MAX_DEPTH} levels deep")
        if isinstance(declared, str):
            return self._named(declared, namespace)
        if isinstance(declared, list):
            union = AvroType("union")
            union.branches = [self.read(branch, namespace, depth + 1) for branch in declared]
            if any(branch.kind == "union" for branch in union.branches):
                raise invalid("a union of the schema contains another one")
            return union
        if not isinstance(declared, dict):
            raise invalid("the schema has a type that is neither a name, nor a list, nor an object")
        return self._declared(declared, namespace, depth)

    def named(self, name: str) -> AvroType:
        """The type with this full name. Raises CorruptData (`schema-invalid`) if none was declared."""
        return self._named(name, "")

    def _named(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self._names.get(full) or self._names.get(name)
        if found is None:
            raise invalid(f"the schema uses the type {full[:100]!r}, which it does not declare")
        return found

    def _declared(self, declared: dict[str, object], namespace: str, depth: int) -> AvroType:
        kind = declared.get("type")
        if kind in ("record", "error"):
            return self._record(declared, namespace, depth)
        if kind == "enum":
            enum, _ = self._new(AvroType("enum"), declared, namespace)
            enum.symbols = [str(symbol) for symbol in _list(declared, "symbols")]
            return enum
        if kind == "fixed":
            fixed, _ = self._new(AvroType("fixed"), declared, namespace)
            size = declared.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise invalid("the size of a fixed type is no number")
            fixed.size = size
            return _with_logical(fixed, declared)
        if kind in ("array", "map"):
            container = AvroType(str(kind))
            container.items = self.read(declared.get("items" if kind == "array" else "values"), namespace, depth + 1)
            return container
        found = self.read(kind, namespace, depth + 1)
        return _with_logical(AvroType(found.kind), declared) if found.kind in PRIMITIVES and not found.logical else found

    def _record(self, declared: dict[str, object], namespace: str, depth: int) -> AvroType:
        record, inner = self._new(AvroType("record"), declared, namespace)
        for field in _list(declared, "fields"):
            name = field.get("name") if isinstance(field, dict) else None
            if not isinstance(field, dict) or not isinstance(name, str):
                raise invalid("a field of a record has no name")
            record.fields.append((name, self.read(field.get("type"), inner, depth + 1)))
        return record

    def _new(self, made: AvroType, declared: dict[str, object], namespace: str) -> tuple[AvroType, str]:
        """A type with a name, which is known from here on, and the namespace of what it contains."""
        name, given = declared.get("name"), declared.get("namespace")
        if not isinstance(name, str) or not name:
            raise invalid(f"the schema has a type {made.kind} without a name")
        if "." in name:
            space = name.rpartition(".")[0]
        else:
            space = given if isinstance(given, str) else namespace
            name = f"{space}.{name}" if space else name
        made.name = name
        self._names[name] = made
        return made, space


def _list(declared: dict[str, object], name: str) -> list[object]:
    value = declared.get(name)
    if not isinstance(value, list):
        raise invalid(f"the schema has a type whose {name} are no list")
    return value


def _with_logical(type: AvroType, declared: dict[str, object]) -> AvroType:
    """The type with its logical type; without, if it is not one of the specification or does not fit."""
    logical = declared.get("logicalType")
    if not isinstance(logical, str) or type.kind not in _LOGICAL.get(logical, ()):
        return type
    if logical == "uuid" and type.kind == "fixed" and type.size != 16:
        return type
    if logical == "decimal":
        precision, scale = declared.get("precision"), declared.get("scale", 0)
        is_sound = isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision and precision > 0
        if not is_sound or not isinstance(precision, int) or not isinstance(scale, int):
            return type
        type.precision, type.scale = precision, scale
    type.logical = logical
    return type


# Fingerprints


def fingerprint(text: str) -> bytes:
    """The CRC-64-AVRO of a schema's parsing canonical form, as the eight bytes of single-object encoding.

    Raises CorruptData (`schema-invalid`).
    """
    try:
        form = _canonical(_json(text), "")
    except RecursionError:
        raise invalid("the schema is nested too deeply")
    table = _crc_table()
    crc = _EMPTY_CRC
    for byte in form.encode("utf-8", "surrogatepass"):
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc.to_bytes(8, "little")


def _crc_table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (_EMPTY_CRC & -(number & 1))
        table.append(number)
    return table


def _canonical(declared: object, namespace: str) -> str:
    if isinstance(declared, str):
        return _text(declared if declared in PRIMITIVES or "." in declared else _full(declared, namespace))
    if isinstance(declared, list):
        return "[" + ",".join(_canonical(branch, namespace) for branch in declared) + "]"
    if not isinstance(declared, dict):
        raise invalid("the schema has a type that is neither a name, nor a list, nor an object")
    kind = declared.get("type")
    if kind == "array":
        return f'{{"type":"array","items":{_canonical(declared.get("items"), namespace)}}}'
    if kind == "map":
        return f'{{"type":"map","values":{_canonical(declared.get("values"), namespace)}}}'
    if kind not in ("record", "error", "enum", "fixed"):
        return _canonical(kind, namespace)
    name = str(declared.get("name"))
    space = name.rpartition(".")[0] if "." in name else str(declared.get("namespace", namespace) or "")
    head = f'{{"name":{_text(_full(name, space))},"type":{_text("record" if kind == "error" else str(kind))}'
    if kind == "enum":
        return f'{head},"symbols":[{",".join(_text(str(symbol)) for symbol in _list(declared, "symbols"))}]}}'
    if kind == "fixed":
        return f'{head},"size":{declared.get("size")}}}'
    fields = [
        f'{{"name":{_text(str(field.get("name")))},"type":{_canonical(field.get("type"), space)}}}'
        for field in _list(declared, "fields")
        if isinstance(field, dict)
    ]
    return f'{head},"fields":[{",".join(fields)}]}}'


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
