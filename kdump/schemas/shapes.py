"""The shapes of decoded values: what columns of tables they need, also where several schemas share a column."""

from __future__ import annotations

from kdump.schemas.proto_types import VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.schemas.avro_types import AvroType
    from kdump.schemas.proto_types import Field, Message

NULL, BOOL, TEXT, BYTES, JSON = "null", "bool", "text", "bytes", "json"
INT32, INT64, UINT64, FLOAT, DOUBLE = "int32", "int64", "uint64", "float", "double"
DECIMAL, DATE, TIME, TIMESTAMP, LOCAL_TIMESTAMP = "decimal", "date", "time", "timestamp", "local-timestamp"
STRUCT, LIST, MAP = "struct", "list", "map"

MAX_LEVELS = 32
"""Structs, lists and maps within each other that a shape may have; what is below is JSON text."""

MAX_LEAVES = 2000
"""Columns without columns of their own that a shape may have; values of larger ones are JSON text."""

_MAX_NOTED = 200  # shapes that are kept apart

_WIDER = ((INT32, INT64), (FLOAT, DOUBLE), (INT32, DOUBLE))
"""Pairs of numbers of which the second holds all that the first holds."""


class Shape:
    """What values are: a kind, the shapes of the fields of a struct, that of the items of a list or of the values of a map."""

    def __init__(self, kind: str, *, items: Shape | None = None, precision: int = 0, scale: int = 0) -> None:
        self.kind = kind
        self.fields: dict[str, Shape] = {}
        self.items = items
        self.precision = precision
        self.scale = scale

    @property
    def leaves(self) -> int:
        """The number of columns that have no columns of their own."""
        if self.kind == STRUCT:
            return sum(field.leaves for field in self.fields.values())
        return 1 if self.items is None else self.items.leaves

    def __str__(self) -> str:
        """The shape as text, which is the same only for the same shapes."""
        if self.kind == STRUCT:
            return f"{STRUCT}<{','.join(f'{name!r}:{field}' for name, field in self.fields.items())}>"
        if self.kind == DECIMAL:
            return f"{DECIMAL}({self.precision},{self.scale})"
        return self.kind if self.items is None else f"{self.kind}<{self.items}>"


class NotedShapes:
    """The different shapes that were met, whatever their order and number."""

    def __init__(self, shapes: Iterable[Shape] = ()) -> None:
        self._by_text: dict[str, Shape] = {}
        self.add(shapes)

    def __bool__(self) -> bool:
        return bool(self._by_text)

    def __iter__(self) -> Iterator[Shape]:
        return iter(self._by_text.values())

    def add(self, shapes: Iterable[Shape]) -> None:
        """Note shapes. If they become many, they are joined into one."""
        for shape in shapes:
            self._by_text.setdefault(str(shape), shape)
            if len(self._by_text) > _MAX_NOTED:
                both = self.joined
                self._by_text = {str(both): both}

    @property
    def joined(self) -> Shape:
        """The shape of a column that holds values of all of them: JSON text where they do not fit together."""
        found = Shape(NULL)
        for _, shape in sorted(self._by_text.items()):
            found = _both(found, shape)
        return found if found.leaves <= MAX_LEAVES else Shape(JSON)


def note_both(noted: tuple[NotedShapes, NotedShapes], shapes: tuple[NotedShapes, NotedShapes]) -> None:
    """Note the shapes of keys, and those of values."""
    for those, more in zip(noted, shapes, strict=True):
        those.add(more)


def _both(one: Shape, other: Shape) -> Shape:
    if one.kind == NULL or other.kind == NULL:
        return other if one.kind == NULL else one
    if one.kind != other.kind:
        for narrow, wide in _WIDER:
            if {one.kind, other.kind} == {narrow, wide}:
                return Shape(wide)
        return Shape(JSON)
    if one.kind == STRUCT:
        both = Shape(STRUCT)
        both.fields = dict(one.fields)
        for name, field in other.fields.items():
            both.fields[name] = _both(both.fields.get(name, Shape(NULL)), field)
        return both
    if one.items is not None and other.items is not None:
        return Shape(one.kind, items=_both(one.items, other.items))
    if (one.precision, one.scale) != (other.precision, other.scale):
        return Shape(TEXT)
    return one


# Avro

_OF_AVRO = {
    "null": NULL,
    "boolean": BOOL,
    "int": INT32,
    "long": INT64,
    "float": FLOAT,
    "double": DOUBLE,
    "bytes": BYTES,
    "fixed": BYTES,
    "string": TEXT,
    "enum": TEXT,
}
_OF_LOGICAL = {
    "uuid": TEXT,
    "date": DATE,
    "time-millis": TIME,
    "time-micros": TIME,
    "timestamp-millis": TIMESTAMP,
    "timestamp-micros": TIMESTAMP,
    "local-timestamp-millis": LOCAL_TIMESTAMP,
    "local-timestamp-micros": LOCAL_TIMESTAMP,
}


def of_avro(type: AvroType) -> Shape:
    """The shape of an Avro type's values. Records within themselves, and unions of several types, are JSON."""
    return _Avro().shape_of(type)


class _Avro:
    """Follows a type to its leaves, as many as columns may have."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._left = MAX_LEAVES

    def shape_of(self, type: AvroType, levels: int = 0) -> Shape:
        self._left -= 1
        if self._left < 0 or id(type) in self._open or levels > MAX_LEVELS:
            return Shape(JSON)
        if type.logical == "decimal":
            return Shape(DECIMAL, precision=type.precision, scale=type.scale)
        if type.logical:
            return Shape(_OF_LOGICAL[type.logical])
        if type.kind in _OF_AVRO:
            return Shape(_OF_AVRO[type.kind])
        if type.kind == "union":
            branches = [branch for branch in type.branches if branch.kind != "null"]
            return Shape(NULL) if not branches else self.shape_of(branches[0], levels) if len(branches) == 1 else Shape(JSON)
        if type.items is not None:
            return Shape(LIST if type.kind == "array" else MAP, items=self.shape_of(type.items, levels + 1))
        self._open.add(id(type))
        struct = Shape(STRUCT)
        struct.fields = {name: self.shape_of(field, levels + 1) for name, field in type.fields}
        self._open.discard(id(type))
        return struct if struct.fields else Shape(JSON)


# Protobuf

_OF_SCALARS = {
    "double": DOUBLE,
    "float": FLOAT,
    "int32": INT32,
    "sint32": INT32,
    "sfixed32": INT32,
    "uint32": INT64,
    "fixed32": INT64,
    "int64": INT64,
    "sint64": INT64,
    "sfixed64": INT64,
    "uint64": UINT64,
    "fixed64": UINT64,
    "bool": BOOL,
    "string": TEXT,
    "bytes": BYTES,
}
_GOOGLE = "google.protobuf."
_OF_KNOWN = {
    "Timestamp": TIMESTAMP,
    "Duration": TEXT,
    "FieldMask": TEXT,
    "Any": JSON,
    "Struct": JSON,
    "ListValue": JSON,
    "Value": JSON,
    "Empty": JSON,
    "DoubleValue": DOUBLE,
    "FloatValue": FLOAT,
    "Int64Value": INT64,
    "UInt64Value": UINT64,
    "Int32Value": INT32,
    "UInt32Value": INT64,
    "BoolValue": BOOL,
    "StringValue": TEXT,
    "BytesValue": BYTES,
}


def of_protobuf(message: Message) -> Shape:
    """The shape of a message. Messages within themselves, and those without fields, are JSON; unsigned numbers are wider."""
    return _Protobuf().of_message(message)


class _Protobuf:
    """Follows a message to its leaves, as many as columns may have."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._left = MAX_LEAVES

    def of_message(self, message: Message) -> Shape:
        known = _OF_KNOWN.get(message.name.removeprefix(_GOOGLE)) if message.name.startswith(_GOOGLE) else None
        if known is not None:
            return Shape(known)
        if message.name in self._open or len(self._open) > MAX_LEVELS:
            return Shape(JSON)
        self._open.add(message.name)
        struct = Shape(STRUCT)
        struct.fields = {field.key: self._of_field(field) for _, field in sorted(message.fields.items())}
        self._open.discard(message.name)
        return struct if struct.fields else Shape(JSON)

    def _of_field(self, field: Field) -> Shape:
        self._left -= 1
        if self._left < 0:
            return Shape(JSON)
        if field.message is not None and field.message.is_map and field.is_repeated:
            return Shape(MAP, items=self._single(field.message.fields[VALUE]))
        return Shape(LIST, items=self._single(field)) if field.is_repeated else self._single(field)

    def _single(self, field: Field) -> Shape:
        if field.message is not None:
            return self.of_message(field.message)
        return Shape(TEXT if field.enum is not None else _OF_SCALARS.get(field.type, JSON))
