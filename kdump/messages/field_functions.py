"""Reads messages that are as their schema says by functions that are generated for each message and version.

`read` returns what `schema.read` returns, several times as fast. Where bytes are not as expected, `schema.read` reads them again,
and says why.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from kdump.binary.java_strings import text_of
from kdump.messages import schema
from kdump.messages.generated import IRREGULAR, STRUCT_CODES, FunctionSource, Irregular, varint
from kdump.messages.schema import MAX_STRING, default_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kdump.messages.schema import Field, Message, Reader, Value

    Fields = dict[str, Value]
    Function = Callable[[bytes, int], tuple[Value, int]]
    """From bytes and a position to a value and where it ends, which may be past the end of the bytes."""

_FUNCTIONS = 512  # that are kept


def read(message: Message, reader: Reader, version: int) -> Fields:
    """As `schema.read`: the fields of a message of this version, from where the reader is."""
    function = _function_of(message, version)
    if function is not None:
        data = bytes(reader.data)
        try:
            fields, end = function(data, reader.position)
        except IRREGULAR:
            return schema.read(message, reader, version)
        if end <= len(data):
            reader.position = end
            return fields  # type: ignore[return-value]  # the value of a message is a dict
    return schema.read(message, reader, version)


@lru_cache(_FUNCTIONS)
def _function_of(message: Message, version: int) -> Function | None:
    """The function of a message, None if its schema does not declare the version."""
    if not 0 <= version <= message.last_version:
        return None
    return _struct_function(message.fields, version, is_flexible=version >= message.flexible_since)


def _struct_function(fields: Sequence[Field], version: int, *, is_flexible: bool) -> Function:
    source = _Source(version, is_flexible=is_flexible)
    values = {}
    for field in fields:
        is_read = field.is_in(version) and not field.is_tagged_in(version)
        values[field.name] = source.field(field) if is_read else source.default(field)
    members = ", ".join(f"{name!r}: {value}" for name, value in values.items())
    return source.function(f"{{{members}}}", source.tags(fields) if is_flexible else None)


def _read_tags(data: bytes, at: int, values: Fields, functions: Mapping[int, tuple[str, Function] | None]) -> int:
    """Put tagged fields among the values. Returns where they end. A tag without function is irregular."""
    count, at = varint(data, at)
    for _ in range(count):
        tag, at = varint(data, at)
        size, at = varint(data, at)
        if tag not in functions:
            at += size
            continue
        known = functions[tag]
        if known is None:
            raise Irregular
        name, function = known
        values[name], at = function(data, at)
    return at


def _numbers_function(code: str) -> Callable[[bytes, int, int], tuple[list[Value], int]]:
    size = struct.calcsize(f">{code}")

    def numbers(data: bytes, at: int, count: int) -> tuple[list[Value], int]:
        if count > len(data) - at:
            raise Irregular
        return list(struct.unpack_from(f">{count}{code}", data, at)), at + count * size

    return numbers


class _Source(FunctionSource):
    """The source of a function from bytes to values. Methods return the expression for a value."""

    def __init__(self, version: int, *, is_flexible: bool) -> None:
        super().__init__({"text_of": text_of, "read_tags": _read_tags}, is_flexible=is_flexible)
        self._version = version

    def function(self, result: str, tags: str | None = None) -> Function:
        """The function, given the expression of what it returns, and of the functions of tagged fields."""
        if tags is not None:
            count = self._byte()
            self._lines += [f"values = {result}", f"if {count}: at = read_tags(data, at - 1, values, {tags})"]
            result = "values"
        self._unpack()
        function: Function = self._compiled(result)
        return function

    def tags(self, fields: Sequence[Field]) -> str:
        """What `_read_tags` needs of these fields."""
        functions: dict[int, tuple[str, Function] | None] = {}
        for field in fields:
            if field.tag is not None:
                functions[field.tag] = None
                if field.is_tagged_in(self._version):
                    source = self._inner()
                    functions[field.tag] = field.name, source.function(source.field(field, is_tagged=True))
        return self._refer(functions)

    def default(self, field: Field) -> str:
        """The default of a field: a new one each time if it can be changed."""
        value = default_of(field)
        return f"{self._refer(default_of)}({self._refer(field)})" if isinstance(value, (list, dict)) else self._refer(value)

    def field(self, field: Field, *, is_tagged: bool = False) -> str:
        """A field of the struct."""
        if not field.is_array:
            return self._value(field, is_tagged=is_tagged, may_be_null=field.is_nullable_in(self._version))
        count, value = self._length("i"), self._variable()
        self._null(count, value, may_be_null=field.is_nullable_in(self._version))
        code = STRUCT_CODES.get(field.type)
        if code is not None and field.type != "uuid":
            self._lines.append(f"    {value}, at = {self._refer(_numbers_function(code))}(data, at, {count})")
            return value
        if field.type == "struct":
            element = _struct_function(field.fields, self._version, is_flexible=self._is_flexible)
        else:
            source = self._inner()
            element = source.function(source._value(field, is_tagged=False, may_be_null=False))
        self._lines += [
            f"    if {count} > len(data) - at: raise Irregular",
            f"    {value} = []",
            f"    for _ in range({count}):",
            f"        element, at = {self._refer(element)}(data, at)",
            f"        {value}.append(element)",
        ]
        return value

    def _value(self, field: Field, *, is_tagged: bool, may_be_null: bool) -> str:
        if field.type in STRUCT_CODES:
            variable = self._variable()
            self._fixed.append((variable, STRUCT_CODES[field.type]))
            return variable
        if field.type == "struct":
            return self._struct(field, is_tagged=is_tagged, may_be_null=may_be_null)
        size, value = self._length("h" if field.type == "string" else "i"), self._variable()
        self._null(size, value, may_be_null=may_be_null)
        data = f"data[at : at + {size}]"
        if field.type == "string" and self._is_flexible:
            self._lines.append(f"    if {size} > {MAX_STRING}: raise Irregular")
        self._lines += [f"    {value} = {f'text_of({data})' if field.type == 'string' else data}", f"    at += {size}"]
        return value

    def _struct(self, field: Field, *, is_tagged: bool, may_be_null: bool) -> str:
        function = self._refer(_struct_function(field.fields, self._version, is_flexible=self._is_flexible))
        value = self._variable()
        if not may_be_null:
            self._unpack()
            self._lines.append(f"{value}, at = {function}(data, at)")
            return value
        is_null = self._null_marker(is_tagged=is_tagged)
        self._lines += [f"if {is_null}: {value} = None", f"else: {value}, at = {function}(data, at)"]
        return value

    def _null(self, size: str, value: str, *, may_be_null: bool) -> None:
        self._lines += [f"if {size} < 0:", f"    {value} = None" if may_be_null else "    raise Irregular", "else:"]

    def _inner(self) -> _Source:
        """The source of a function that this one calls."""
        return _Source(self._version, is_flexible=self._is_flexible)
