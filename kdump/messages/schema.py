"""Message schemas as declarations, and the generic reader that follows them.

A message is declared once for all its versions: each field says since which version it exists. From its first flexible
version on, a message has compact lengths and may have tagged fields.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812  # a class

from kdump.binary.arithmetic import as_int32
from kdump.binary.java_strings import text_of
from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Value = int | float | bool | str | bytes | None | list["Value"] | dict[str, "Value"]

NEVER = 1 << 15
"""A version that no message reaches."""

ALWAYS = -NEVER  # what all versions have, negative ones have, too, as Kafka does not look at the version then

_HEAP = 250 << 20  # the part of the tool's heap (256 MiB by its launcher) that an array may take
_REFERENCE_SIZE = 4
_MAX_ARRAY = 0x7FFFFFFD

MAX_STRING = 0x7FFF
MAX_TAGGED, MAX_ELEMENTS = 10_000, 1_000_000  # of a struct, of an array, where counts are bounded
MAX_INT16 = 0x7FFF


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


class Field:
    """A field of a message: its Kafka name in camel case, its type, and the versions that have it.

    Types are `bool`, `int8` to `int64`, `uint16`, `uint32`, `float64`, `uuid`, `string`, `bytes` and any of them as an array
    (`[]int32`); a type with `fields` is a struct, named as in Kafka or just `struct`. `since` is the first version with the
    field, `until` the first later version without it. The field may be null from `nullable_since` on, and has `tag` from
    `tagged_since` on.

    If `default` is not given, the default is that of the type: 0, empty, or a struct of defaults; or null if `default_is_null`.
    `is_common` marks a struct from Kafka's `commonStructs`; it is read even in versions after the last.
    `is_keyed` marks an array with Kafka's `mapKey`, for which Kafka allocates twice the space. Equal keys are all kept.
    `value_names`, of an integer, are what JSON has for its values, from 0 on; without them it has numbers.
    """

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
        default_is_null: bool = False,
        is_common: bool = False,
        is_keyed: bool = False,
        value_names: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.is_array = type.startswith("[]")
        self.struct_name = type.removeprefix("[]") if fields else ""
        self.type = "struct" if fields else type.removeprefix("[]")
        self.fields = fields
        self.layout = None if self.is_array else _FIXED.get(type)
        self.size_layout = {"string": _INT16, "bytes": _INT32}.get(self.type)
        self.since = since or ALWAYS
        self.until = until
        self.nullable_since = nullable_since or ALWAYS
        self.tag = tag
        self.tagged_since = (tagged_since or ALWAYS) if tag is not None else NEVER
        self.default = default
        self.default_is_null = default_is_null
        self.is_common = is_common
        self.is_keyed = is_keyed
        self.value_names = value_names

    def is_in(self, version: int) -> bool:
        return self.since <= version < self.until

    def is_tagged_in(self, version: int) -> bool:
        return version >= self.tagged_since

    def is_nullable_in(self, version: int) -> bool:
        return version >= self.nullable_since


class Message:
    """A message: its name, its fields in the order on disk, and the first version with compact lengths.

    `last_version` is the last version that is declared. Kafka also reads later ones if they contain no structs.
    `bounds_counts` says whether more than MAX_TAGGED tagged fields, a negative number of them, and arrays of more than
    MAX_ELEMENTS are errors, as in Kafka since 4.4.0.
    A comment beside it says which release brought each version, and by which KIP and ticket if a source names them.
    """

    def __init__(
        self, name: str, *fields: Field, flexible_since: int = NEVER, last_version: int = NEVER, bounds_counts: bool = False
    ) -> None:
        self.name = name
        self.fields = fields
        self.flexible_since = flexible_since or ALWAYS
        self.last_version = last_version
        self.bounds_counts = bounds_counts


def flexible_message(name: str, *fields: Field, last_version: int = 0) -> Message:
    """A message that has compact lengths, and may have tagged fields, in all its versions."""
    return Message(name, *fields, flexible_since=0, last_version=last_version)


def with_bounded_counts(message: Message) -> Message:
    """The message as Kafka reads it since 4.4.0."""
    versions = {"flexible_since": message.flexible_since, "last_version": message.last_version}
    return Message(message.name, *message.fields, **versions, bounds_counts=True)


def as_known(
    message: Message,
    last_version: int,
    unknown: frozenset[str],
    names: Mapping[str, str],
    value_names: Mapping[str, tuple[str, ...]],
) -> Message:
    """The message as a release knows it: up to `last_version`, without the `unknown` fields, with its `names` and `value_names`.

    Tags of unknown fields are skipped.
    """
    fields = _as_known(message.fields, last_version, unknown, names, value_names)
    return Message(message.name, *fields, flexible_since=message.flexible_since, last_version=last_version)


def _as_known(
    fields: tuple[Field, ...],
    last_version: int,
    unknown: frozenset[str],
    names: Mapping[str, str],
    value_names: Mapping[str, tuple[str, ...]],
) -> tuple[Field, ...]:
    kept = []
    for field in fields:
        if field.name not in unknown and field.since <= last_version:
            copy = _copy(field)
            copy.name = names.get(field.name, field.name)
            copy.value_names = value_names.get(field.name, field.value_names)
            copy.fields = _as_known(field.fields, last_version, unknown, names, value_names)
            kept.append(copy)
    return tuple(kept)


def without_nulls(message: Message, *names: str) -> Message:
    """The message as it was before the named fields could be null."""
    fields = [_copy(field) for field in message.fields]
    for field in fields:
        if field.name in names:
            field.nullable_since = NEVER
    return Message(message.name, *fields, flexible_since=message.flexible_since, last_version=message.last_version)


def _copy(field: Field) -> Field:
    copy = Field.__new__(Field)
    vars(copy).update(vars(field))
    return copy


class Reader:
    """Reads consecutive values.

    Raises CorruptData for unreadable values: `message-underflow`, `message-bytes-past-end`, `message-null`,
        `message-string-too-long`, `message-array-too-large`, `message-varint-too-long`, `message-size-negative`,
        `message-version-unknown`, `message-tag-not-in-version`, and where counts are bounded `message-tags-negative`,
        `message-tags-past-end`, `message-tags-too-many`, `message-array-too-long`. Its `values` contain the names of the `fields`
        that were being read, from the outermost on.
        Unless `bounds_sizes`, it raises `message-underflow` and `message-out-of-memory` instead of
        `message-bytes-past-end` and `message-array-too-large`.
    """

    def __init__(self, data: bytes | bytearray, position: int = 0, *, bounds_sizes: bool = True) -> None:
        self.data = data
        self.position = position
        self.bounds_sizes = bounds_sizes

    @property
    def remaining(self) -> int:
        return len(self.data) - self.position

    def fixed(self, layout: Struct) -> int | float:
        try:
            number: int | float = layout.unpack_from(self.data, self.position)[0]
        except StructError:
            raise CorruptData("message-underflow", "the message ends inside a field")
        self.position += layout.size
        return number

    def bytes(self, size: int) -> bytes:
        start, end = self.position, self.position + size
        if not start <= end <= len(self.data):
            if not self.bounds_sizes:
                self.check_heap(size)
                raise CorruptData("message-underflow", "the message ends inside a field", size=size, remaining=self.remaining)
            message = f"a field says it is {size} bytes long, with {self.remaining} left"
            raise CorruptData("message-bytes-past-end", message, size=size, remaining=self.remaining)
        self.position = end
        return bytes(self.data[start:end])

    def check_heap(self, length: int, element_size: int = 1) -> None:
        """Raise CorruptData for an array that does not fit into the heap of Kafka's tool."""
        if length * element_size > _HEAP:
            reason = "Requested array size exceeds VM limit" if length > _MAX_ARRAY else "Java heap space"
            text = f"an array of {length} is more than Kafka's tool has room for"
            raise CorruptData("message-out-of-memory", text, reason=reason)

    def unsigned_varint(self) -> int:
        value, data = 0, self.data
        for shift in range(0, 35, 7):
            if self.position >= len(data):
                raise CorruptData("message-underflow", "the message ends inside a varint")
            byte = data[self.position]
            self.position += 1
            if byte < 0x80 and not shift:
                return byte
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFFFFFF
                return value - (1 << 32) if value >> 31 else value
        raise CorruptData("message-varint-too-long", "a varint does not end within 5 bytes", value=value & 0xFFFFFFFF)

    def length(self, is_compact: bool, layout: Struct) -> int:
        """A length; -1 for null. A compact length is stored as one more."""
        return as_int32(self.unsigned_varint() - 1) if is_compact else int(self.fixed(layout))


_UUID_SIZE = 16


def size_of(field: Field) -> int:
    """The bytes of each value of a field; 0 if they differ."""
    return _FIXED[field.type].size if field.type in _FIXED else {"bool": 1, "uuid": _UUID_SIZE}.get(field.type, 0)


def read(message: Message, reader: Reader, version: int, *, keep: bool = True) -> dict[str, Value]:
    """A message of this version as a dict of its fields, including defaults; uuids are bytes.

    Without `keep`, it is read only to know where it ends or what is wrong: what is returned says nothing, and takes no memory.
    Raises CorruptData like Reader.
    """
    walk = Walk(message, reader, version, keep=keep)
    try:
        return walk.fields(message.fields)
    except CorruptData as fault:
        fault.values["fields"] = tuple(walk.names)
        raise


def is_readable(message: Message, data: bytes, version: int) -> bool:
    """Whether bytes begin with a message of this version."""
    try:
        read(message, Reader(data), version, keep=False)
    except CorruptData:
        return False
    return True


def as_int16(number: int) -> int:
    """The lower 16 bits as a signed number, like a cast to short in Java."""
    return (number + 0x8000 & 0xFFFF) - 0x8000


class Walk:
    """Reads the fields of one message of one version, struct by struct. Raises CorruptData like Reader."""

    def __init__(self, message: Message, reader: Reader, version: int, *, keep: bool = True) -> None:
        self.reader = reader
        self.version = version
        self.keep = keep
        self.is_flexible = version >= message.flexible_since
        self.message = message
        self.names: list[str] = []  # of the fields that could not be read, from the outermost on

    def fields(self, fields: tuple[Field, ...]) -> dict[str, Value]:
        """Read a struct with these fields, and the tagged fields at its end."""
        values: dict[str, Value] = {}
        version, fixed, keep = self.version, self.reader.fixed, self.keep
        for field in fields:
            if field.since <= version < field.until and version < field.tagged_since:
                try:
                    value = self.field(field) if field.layout is None else fixed(field.layout)
                except CorruptData:
                    self.names.insert(0, field.name)
                    raise
                if keep:
                    values[field.name] = value
            elif keep:
                values[field.name] = default_of(field)
        if self.is_flexible:
            self.read_tagged(fields, values)
        return values

    def read_tagged(self, fields: tuple[Field, ...], values: dict[str, Value]) -> None:
        """Read the tagged fields of a struct into its values; those that are not among its `fields` are skipped."""
        reader = self.reader
        data, end = reader.data, len(reader.data)
        count = reader.unsigned_varint()
        if self.message.bounds_counts:
            self._check_tagged(count)
        known = {field.tag: field for field in fields if field.tag is not None} if count else {}
        for _ in range(count):
            at = reader.position
            if at + 2 <= end and data[at] < 0x80 > data[at + 1]:
                tag, size = data[at], data[at + 1]
                reader.position = at + 2
            else:
                tag, size = reader.unsigned_varint(), reader.unsigned_varint()
            if tag in known:
                if not known[tag].is_tagged_in(self.version):
                    message = f"version {self.version} has no field with tag {tag}"
                    raise CorruptData("message-tag-not-in-version", message, tag=tag, version=self.version)
                values[known[tag].name] = self.field(known[tag], is_tagged=True)
            elif size < 0:
                raise CorruptData("message-size-negative", f"an unknown field says it is {size} bytes long", size=size)
            elif size:
                reader.bytes(size)

    def _check_tagged(self, count: int) -> None:
        remaining = self.reader.remaining
        if count < 0:
            raise CorruptData("message-tags-negative", f"a struct says it has {count} tagged fields", count=count)
        if count > remaining:
            message = f"a struct says it has {count} tagged fields, with {remaining} bytes left"
            raise CorruptData("message-tags-past-end", message, count=count, remaining=remaining)
        if count > MAX_TAGGED:
            raise CorruptData("message-tags-too-many", f"a struct says it has {count} tagged fields", count=count)

    def field(self, field: Field, is_tagged: bool = False, is_element: bool = False) -> Value:
        """Read a field that is in this version, or an element of it."""
        if field.is_array and not is_element:
            values: list[Value] = []
            count = self.array_length(field)
            for _ in range(count or 0):
                value = self.field(field, is_element=True)
                if self.keep:
                    values.append(value)
            return None if count is None else values
        if field.size_layout is not None:
            return self._sized(field, field.size_layout, is_element)
        if field.type != "struct":
            return self._fixed(field)
        return self.fields(field.fields) if self._has_struct(field, is_tagged, is_element) else None

    def array_length(self, field: Field) -> int | None:
        """Read how many elements of an array follow; None for null."""
        count = self.reader.length(self.is_flexible, _INT32)
        if count < 0:
            self._allow_null(field, count)
            return None
        remaining = self.reader.remaining
        if count > remaining and not self.reader.bounds_sizes:
            # For keyed arrays, Kafka's size computation may overflow 32 bits.
            self.reader.check_heap(max(as_int32(2 * count + 1), 0) if field.is_keyed else count, _REFERENCE_SIZE)
        elif count > remaining:
            message = f"{field.name} says it has {count} elements, with {remaining} bytes left"
            raise CorruptData("message-array-too-large", message, count=count, remaining=remaining)
        if self.message.bounds_counts and count > MAX_ELEMENTS:
            raise CorruptData("message-array-too-long", f"{field.name} says it has {count} elements", count=count)
        return count

    def _fixed(self, field: Field) -> Value:
        reader = self.reader
        if field.type in _FIXED:
            return reader.fixed(_FIXED[field.type])
        if field.type == "bool":
            return reader.fixed(_FIXED["int8"]) != 0
        if reader.remaining < _UUID_SIZE:
            raise CorruptData("message-underflow", "the message ends inside a uuid")
        return reader.bytes(_UUID_SIZE)

    def _sized(self, field: Field, size_layout: Struct, is_element: bool) -> Value:
        """A string or bytes, after their size."""
        reader = self.reader
        size = as_int32(reader.unsigned_varint() - 1) if self.is_flexible else int(reader.fixed(size_layout))
        if size < 0:
            self._allow_null(field, size, " element" if is_element else "")
            return None
        is_text = size_layout is _INT16
        if is_text and size > MAX_STRING:
            message = f"{field.name} says it is {size} bytes long"
            name = field.name + (" element" if is_element else "")
            raise CorruptData("message-string-too-long", message, field=name, size=size)
        try:
            data = reader.bytes(size)
        except CorruptData as fault:
            fault.values["type"] = field.type
            raise
        return text_of(data) if is_text and self.keep else data

    def _has_struct(self, field: Field, is_tagged: bool, is_element: bool) -> bool:
        """Whether a struct follows, and not null."""
        if not is_element and field.is_nullable_in(self.version):
            marker = self.reader.unsigned_varint() if is_tagged else int(self.reader.fixed(_FIXED["int8"]))
            if marker <= 0 if is_tagged else marker < 0:
                return False
        if self.version > self.message.last_version and not field.is_common:
            message = f"{field.name} is not known in version {self.version}"
            raise CorruptData("message-version-unknown", message, version=self.version, struct=field.struct_name)
        return True

    def _allow_null(self, field: Field, size: int, what: str = "") -> None:
        if what or not field.is_nullable_in(self.version):
            kind = "array" if field.is_array and not what else field.type
            name = field.name + what
            raise CorruptData("message-null", f"{name} may not be null", field=name, size=size, type=kind)


def default_of(field: Field) -> Value:
    """The value of a field that is not in this version or was not written."""
    if field.default is not None or field.default_is_null:
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
