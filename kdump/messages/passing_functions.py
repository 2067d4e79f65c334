"""Finds where messages end by functions that are generated for each message and version, without their values or a fault.

`end_of` accepts the bytes that `schema.read` accepts, in a tenth of the time. It says of others only that they cannot be read:
`schema.pass_over` says why.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from kdump.binary.arithmetic import as_int32
from kdump.messages import schema
from kdump.messages.generated import IRREGULAR, ONE_BYTE, Irregular, Lines, signed_varint
from kdump.messages.schema import MAX_STRING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kdump.messages.schema import Field, Message, Reader, Value

    Function = Callable[[bytes | bytearray, int], int]
    """From bytes and a position to where a value ends, which may be past the end of the bytes; raises one of IRREGULAR."""

_FUNCTIONS = 512  # that are kept
_RUN = 1 << 12  # structs that are passed over at once
_INT32 = struct.Struct(">i")


def end_of(message: Message, data: bytes | bytearray, position: int, version: int) -> int | None:
    """Where a message of this version ends that starts at a position; None if it cannot be read."""
    # nothing tells versions apart that are not declared: neither the negative ones nor those after the last
    function = _function_of(message, -1 if version < 0 else min(version, message.last_version + 1))
    try:
        end = function(data, position)
    except IRREGULAR:
        return None
    return end if end <= len(data) else None


def pass_over(message: Message, reader: Reader, version: int) -> dict[str, Value]:
    """As `schema.pass_over`: read a message without its values. Raises CorruptData like Reader."""
    end = end_of(message, reader.data, reader.position, version) if reader.bounds_sizes else None
    if end is None:
        return schema.pass_over(message, reader, version)
    reader.position = end
    return {}


@lru_cache(_FUNCTIONS)
def _function_of(message: Message, version: int) -> Function:
    is_flexible = schema.is_since(message.flexible_since, version)
    return _Source(version, is_flexible=is_flexible, is_declared=version <= message.last_version).function(message.fields)


def _compact_length(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """A length that is stored as one more, and where it ends."""
    value, at = signed_varint(data, at)
    return as_int32(value - 1), at


def _past_tags(data: bytes | bytearray, at: int, functions: Mapping[int, Function | None]) -> int:
    """Where tagged fields end. A tag without function is not of this version."""
    count, at = signed_varint(data, at)
    for _ in range(count):
        tag, size = data[at], data[at + 1]
        if tag <= ONE_BYTE and size <= ONE_BYTE:
            at += 2
        else:
            tag, at = signed_varint(data, at)
            size, at = signed_varint(data, at)
        if tag in functions:
            function = functions[tag]
            if function is None:
                raise Irregular
            at = function(data, at)
        elif size < 0:
            raise Irregular
        else:
            at += size
    return at


def _past_structs(data: bytes | bytearray, at: int, count: int, size: int, function: Function) -> int:
    """Where structs end that are all of this size if they have no tagged fields."""
    while count:
        run = min(count, _RUN)
        end = at + run * size
        if end <= len(data) and data[at + size - 1 : end : size].count(0) == run:
            at = end
        else:
            for _ in range(run):
                at = function(data, at)
        count -= run
    return at


class _Source(Lines):
    """The lines of a function that passes over a value. Fields of one size that follow one another are passed over together."""

    def __init__(self, version: int, *, is_flexible: bool, is_declared: bool) -> None:
        super().__init__(
            {
                "compact_length": _compact_length,
                "int32": _INT32.unpack_from,
                "past_structs": _past_structs,
                "past_tags": _past_tags,
                "signed_varint": signed_varint,
            }
        )
        self._version = version
        self._is_flexible = is_flexible
        self._is_declared = is_declared
        self._fixed = 0

    def function(self, fields: Sequence[Field]) -> Function:
        """The function of a struct with these fields."""
        for field in fields:
            if field.is_in(self._version) and not field.is_tagged_in(self._version):
                self._field(field)
        if self._is_flexible:
            self._skip(1)
            self._add("if data[at - 1]: at = past_tags(data, at - 1, " + self._refer(self._functions_of_tags(fields)) + ")")
        return self._compiled()

    def _functions_of_tags(self, fields: Sequence[Field]) -> dict[int, Function | None]:
        functions: dict[int, Function | None] = {}
        for field in fields:
            if field.tag is not None:
                functions[field.tag] = self._inner().tagged(field) if field.is_tagged_in(self._version) else None
        return functions

    def tagged(self, field: Field) -> Function:
        """The function of a tagged field."""
        self._field(field, is_tagged=True)
        return self._compiled()

    def _field(self, field: Field, *, is_tagged: bool = False) -> None:
        if field.is_array:
            self._array(field)
        elif size := schema.size_of(field):
            self._fixed += size
        elif field.type == "struct":
            self._struct(field, is_tagged=is_tagged)
        else:
            self._length("h" if field.type == "string" else "i")
            self._null(field)
            if field.type == "string":
                self._add(f"elif size > {MAX_STRING}: raise Irregular")
            self._add("else: at += size")

    def _array(self, field: Field) -> None:
        self._length("i")
        self._null(field)
        self._add("elif size > len(data) - at: raise Irregular")
        size = schema.size_of(field)
        if size:
            self._add(f"else: at += size * {size}")
        elif field.type != "struct":
            function = self._refer(self._inner().element(field))
            self._add("else:", "    for _ in range(size):", f"        at = {function}(data, at)")
        elif not self._is_known(field):
            self._add("elif size: raise Irregular")
        else:
            function = self._refer(self._inner().function(field.fields))
            size = self._size_of_struct(field)
            if size and self._is_flexible:
                self._add(f"else: at = past_structs(data, at, size, {size}, {function})")
            elif size:
                self._add(f"else: at += size * {size}")
            else:
                self._add("else:", "    for _ in range(size):", f"        at = {function}(data, at)")

    def element(self, field: Field) -> Function:
        """The function of an element of an array of strings or bytes, which may not be null."""
        self._length("h" if field.type == "string" else "i")
        self._add(f"if size < 0{f' or size > {MAX_STRING}' if field.type == 'string' else ''}: raise Irregular", "at += size")
        return self._compiled()

    def _size_of_struct(self, field: Field) -> int:
        """The bytes of each struct of a field, without tags; 0 if they differ."""
        inner = [one for one in field.fields if one.is_in(self._version) and not one.is_tagged_in(self._version)]
        sizes = [0 if one.is_array else schema.size_of(one) for one in inner]
        return sum(sizes) + self._is_flexible if min(sizes, default=0) > 0 else 0

    def _struct(self, field: Field, *, is_tagged: bool) -> None:
        passed = (
            f"at = {self._refer(self._inner().function(field.fields))}(data, at)" if self._is_known(field) else "raise Irregular"
        )
        if not field.is_nullable_in(self._version):
            self._skip()
            self._add(passed)
        elif is_tagged:
            self._skip()
            self._add("size, at = signed_varint(data, at)", f"if size > 0: {passed}")
        else:
            self._skip(1)
            self._add(f"if data[at - 1] <= {0x7F}: {passed}")

    def _is_known(self, field: Field) -> bool:
        """Whether Kafka reads this struct in this version."""
        return self._is_declared or field.is_common

    def _length(self, code: str) -> None:
        """Read a length into `size`: compact, or of this code."""
        if self._is_flexible:
            self._skip(1)
            self._add("size = data[at - 1] - 1", f"if size >= {ONE_BYTE}: size, at = compact_length(data, at - 1)")
        elif code == "h":
            self._skip(2)
            self._add("size = ((data[at - 2] ^ 128) << 8) + data[at - 1] - 32768")
        else:
            self._skip(4)
            self._add("size, = int32(data, at - 4)")

    def _null(self, field: Field) -> None:
        self._add("if size < 0:", "    pass" if field.is_nullable_in(self._version) else "    raise Irregular")

    def _skip(self, size: int = 0) -> None:
        """Go to where the fields of one size end that wait, and `size` bytes further."""
        size, self._fixed = size + self._fixed, 0
        if size:
            self._add(f"at += {size}")

    def _add(self, *lines: str) -> None:
        self._lines += lines

    def _inner(self) -> _Source:
        """The source of a function that this one calls."""
        return _Source(self._version, is_flexible=self._is_flexible, is_declared=self._is_declared)

    def _compiled(self) -> Function:
        self._skip()
        function: Function = self._function("at")
        return function
