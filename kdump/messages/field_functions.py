"""Reads messages by functions that are generated for each message and version.

They accept the bytes that `schema.read` accepts, several times as fast, and return what it returns. They do not say what is wrong
with others: `schema.read` reads those again. For a struct with an int16, a string and an int32, version 0, the source is

    v1, v2, = unpack_hh(data, at)
    at += 4
    if v2 < 0:
        raise Irregular
    else:
        v3 = text_of(data[at : at + v2])
        at += v2
    v4, = unpack_i(data, at)
    at += 4
    return {'x': v1, 'y': v3, 'z': v4}, at
"""

from __future__ import annotations

import struct
from functools import lru_cache

from kdump.binary.arithmetic import as_int32
from kdump.binary.java_strings import text_of
from kdump.messages import schema
from kdump.messages.schema import MAX_ELEMENTS, MAX_STRING, MAX_TAGGED, default_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kdump.messages.schema import Field, Message, Reader, Value

    Data = bytes | bytearray
    Fields = dict[str, Value]
    Function = Callable[[Data, int], tuple[Value, int]]
    """From bytes and a position to a value and where it ends, which may be past the end of the bytes. Raises one of IRREGULAR."""

_FUNCTIONS = 512  # that are kept
_ONE_BYTE = 0x7F  # the largest number that a varint of one byte has
_CODES = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "bool": "?",
    "uuid": "16s",
}
"""The codes of the module struct for types of one size."""


class Irregular(Exception):
    """The bytes are not as the schema expects."""


IRREGULAR = (Irregular, IndexError, struct.error)
"""What generated functions raise; IndexError and struct.error where the bytes end too early."""


def read(message: Message, reader: Reader, version: int, *, keep: bool = True) -> Fields:
    """As `schema.read`: the fields of a message of this version, from where the reader is.

    Without `keep`, it is read only to know where it ends or what is wrong: what is returned says nothing, and takes no memory.
    """
    data = bytes(reader.data) if keep else reader.data
    found = _read(message, data, reader.position, version, keep=keep)
    if found is None:
        return schema.read(message, reader, version, keep=keep)
    fields, reader.position = found
    return fields


def end_of(message: Message, data: Data, position: int, version: int) -> int | None:
    """Where a message of this version ends that starts at a position; None if it cannot be read."""
    found = _read(message, data, position, version, keep=False)
    return None if found is None else found[1]


def varint(data: Data, at: int) -> tuple[int, int]:
    """An unsigned varint as 32 bits with a sign, as Kafka reads it, and where it ends. Raises one of IRREGULAR."""
    if data[at] <= _ONE_BYTE:
        return data[at], at + 1
    value = 0
    for shift in range(0, 35, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return as_int32(value & 0xFFFFFFFF), at
    raise Irregular


def _read(message: Message, data: Data, position: int, version: int, *, keep: bool) -> tuple[Fields, int] | None:
    """The fields of a message, and where it ends; None if it cannot be read."""
    # nothing tells versions apart that are not declared: neither the negative ones nor those after the last
    function = _function_of(message, -1 if version < 0 else min(version, message.last_version + 1), keep)
    try:
        fields, end = function(data, position)
    except IRREGULAR:
        return None
    return (fields, end) if end <= len(data) else None  # type: ignore[return-value]  # the value of a message is a dict


@lru_cache(_FUNCTIONS)
def _function_of(message: Message, version: int, keep: bool) -> Function:
    return _Form(message, version, keep).function(message.fields)


def _compact_length(data: Data, at: int) -> tuple[int, int]:
    """A length that is stored as one more, and where it ends."""
    value, at = varint(data, at)
    return as_int32(value - 1), at


def _read_tags(data: Data, at: int, values: Fields, functions: Mapping[int, tuple[str, Function] | None]) -> int:
    """Put tagged fields among the values. Returns where they end. A tag without function is not of this version."""
    count, at = varint(data, at)
    for _ in range(count):
        tag, at = varint(data, at)
        size, at = varint(data, at)
        if tag in functions:
            known = functions[tag]
            if known is None:
                raise Irregular
            name, function = known
            values[name], at = function(data, at)
        elif size < 0:
            raise Irregular
        else:
            at += size
    return at


def _read_bounded_tags(data: Data, at: int, values: Fields, functions: Mapping[int, tuple[str, Function] | None]) -> int:
    """As `_read_tags`, of a message whose counts are bounded."""
    if not 0 <= varint(data, at)[0] <= MAX_TAGGED:
        raise Irregular
    return _read_tags(data, at, values, functions)


class _Form:
    """How the structs of a message are read: those of a version, whose values are kept or not."""

    def __init__(self, message: Message, version: int, keep: bool) -> None:
        self.version = version
        self.is_flexible = version >= message.flexible_since
        self.is_declared = version <= message.last_version
        self.bounds_counts = message.bounds_counts
        self.keep = keep

    def function(self, fields: Sequence[Field]) -> Function:
        """The function of a struct with these fields."""
        source = _Source(self)
        values = {}
        for field in fields:
            if field.is_in(self.version) and not field.is_tagged_in(self.version):
                values[field.name] = source.field(field)
            else:
                values[field.name] = source.default(field)
        members = ", ".join(f"{name!r}: {value}" for name, value in values.items()) if self.keep else ""
        return source.function(f"{{{members}}}", self._functions_of_tags(fields) if self.is_flexible else None)

    def _functions_of_tags(self, fields: Sequence[Field]) -> dict[int, tuple[str, Function] | None]:
        functions: dict[int, tuple[str, Function] | None] = {}
        for field in fields:
            if field.tag is not None:
                functions[field.tag] = None
                if field.is_tagged_in(self.version):
                    source = _Source(self)
                    functions[field.tag] = field.name, source.function(source.field(field, is_tagged=True))
        return functions


class _Source:
    """The source of a function. It has the bytes in `data` and the position in `at`. Methods return the expression for a value.

    Fixed fields that follow one another, and the length after them, are unpacked together: they wait in `_fixed`, as variables
    and codes of the module struct, until `_unpack`. Values that are not kept have no variable.
    """

    def __init__(self, form: _Form) -> None:
        self._form = form
        self._names: dict[str, object] = {
            "Irregular": Irregular,
            "compact_length": _compact_length,
            "read_tags": _read_bounded_tags if form.bounds_counts else _read_tags,
            "text_of": text_of,
            "varint": varint,
        }
        self._lines: list[str] = []
        self._fixed: list[tuple[str, str]] = []
        self._count = 0

    def function(self, result: str, tags: Mapping[int, tuple[str, Function] | None] | None = None) -> Function:
        """The function, given the expression of what it returns, and the functions of tagged fields in a flexible version."""
        if tags is not None:
            count = self._byte()
            self._lines += [f"values = {result}", f"if {count}: at = read_tags(data, at - 1, values, {self._refer(tags)})"]
            result = "values"
        self._unpack()
        lines = "\n".join(f"    {line}" for line in [*self._lines, f"return {result}, at"])
        exec(f"def function(data, at):\n{lines}", self._names)  # the source has nothing but names of our schemas in it
        function: Function = self._names["function"]  # type: ignore[assignment]  # as just defined
        return function

    def default(self, field: Field) -> str:
        """The default of a field: a new one each time if it can be changed."""
        value = default_of(field)
        return f"{self._refer(default_of)}({self._refer(field)})" if isinstance(value, (list, dict)) else self._refer(value)

    def field(self, field: Field, *, is_tagged: bool = False) -> str:
        """A field of the struct."""
        is_nullable = field.is_nullable_in(self._form.version)
        if field.is_array:
            return self._array(field, is_nullable=is_nullable)
        if field.type == "struct":
            return self._struct(field, is_tagged=is_tagged, is_nullable=is_nullable)
        return self._value(field, is_nullable=is_nullable)

    def _array(self, field: Field, *, is_nullable: bool) -> str:
        count, value = self._length("i"), self._variable()
        self._null(count, value, is_nullable=is_nullable)
        self._lines.append(f"    if {count} > len(data) - at: raise Irregular")
        if self._form.bounds_counts:
            self._lines.append(f"    if {count} > {MAX_ELEMENTS}: raise Irregular")
        size = schema.size_of(field)
        if size and not self._form.keep:
            self._lines += [f"    {value} = None", f"    at += {count} * {size}"]
            return value
        if field.type == "struct" and not self._is_known(field):
            self._lines += [f"    if {count}: raise Irregular", f"    {value} = []"]
            return value
        if field.type == "struct":
            element = self._form.function(field.fields)
        else:
            source = _Source(self._form)
            element = source.function(source._value(field, is_nullable=False))
        self._lines += [
            f"    {value} = []",
            f"    for _ in range({count}):",
            f"        element, at = {self._refer(element)}(data, at)",
            *([f"        {value}.append(element)"] if self._form.keep else []),
        ]
        return value

    def _value(self, field: Field, *, is_nullable: bool) -> str:
        """A value that is not a struct."""
        code = _CODES.get(field.type)
        if code is not None and self._form.keep:
            variable = self._variable()
            self._fixed.append((variable, code))
            return variable
        if code is not None:
            self._fixed.append(("", f"{schema.size_of(field)}x"))
            return "None"
        size, value = self._length("h" if field.type == "string" else "i"), self._variable()
        self._null(size, value, is_nullable=is_nullable)
        if field.type == "string" and self._form.is_flexible:
            self._lines.append(f"    if {size} > {MAX_STRING}: raise Irregular")
        data = f"data[at : at + {size}]"
        kept = f"text_of({data})" if field.type == "string" else data
        self._lines += [f"    {value} = {kept if self._form.keep else None}", f"    at += {size}"]
        return value

    def _struct(self, field: Field, *, is_tagged: bool, is_nullable: bool) -> str:
        value = self._variable()
        read = "raise Irregular"
        if self._is_known(field):
            read = f"{value}, at = {self._refer(self._form.function(field.fields))}(data, at)"
        if not is_nullable:
            self._unpack()
            self._lines.append(read)
            return value
        marker = self._variable()
        if is_tagged:
            self._lines.append(f"{marker}, at = varint(data, at)")
        else:
            self._fixed.append((marker, "b"))
            self._unpack()
        self._lines += [f"if {marker} {'<=' if is_tagged else '<'} 0: {value} = None", f"else: {read}"]
        return value

    def _is_known(self, field: Field) -> bool:
        """Whether Kafka reads this struct in this version."""
        return self._form.is_declared or field.is_common

    def _null(self, size: str, value: str, *, is_nullable: bool) -> None:
        self._lines += [f"if {size} < 0:", f"    {value} = None" if is_nullable else "    raise Irregular", "else:"]

    def _length(self, code: str) -> str:
        """Read a length, which has this code unless the version is flexible. Returns its variable; null is negative."""
        if self._form.is_flexible:
            size = self._byte()
            self._lines += [f"{size} -= 1", f"if {size} >= {_ONE_BYTE}: {size}, at = compact_length(data, at - 1)"]
            return size
        size = self._variable()
        self._fixed.append((size, code))
        self._unpack()
        return size

    def _byte(self) -> str:
        """Read a byte, with the fixed fields that wait. Returns its variable."""
        byte = self._variable()
        if self._fixed:
            self._fixed.append((byte, "B"))
            self._unpack()
        else:
            self._lines += [f"{byte} = data[at]", "at += 1"]
        return byte

    def _unpack(self) -> None:
        """Read the fixed fields that wait."""
        layout = struct.Struct(">" + "".join(code for _, code in self._fixed))
        variables = "".join(f"{variable}, " for variable, _ in self._fixed if variable)
        if variables:
            self._lines.append(f"{variables}= {self._refer(layout.unpack_from)}(data, at)")
        if layout.size:
            self._lines.append(f"at += {layout.size}")
        self._fixed.clear()

    def _refer(self, value: object) -> str:
        """A name for an object that the function needs."""
        name = f"n{len(self._names)}"
        self._names[name] = value
        return name

    def _variable(self) -> str:
        """A new variable."""
        self._count += 1
        return f"v{self._count}"
