"""The source of functions that read a message: what generated code for values, and that for Kafka's JSON, have in common.

A generated function has the bytes of a message in `data` and the position in `at`. It raises one of IRREGULAR where bytes are not
as the schema says, without a reason.
"""

from __future__ import annotations

import struct

from kdump.binary.arithmetic import as_int32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    TextFunction = Callable[[bytes, int], tuple[str, int]]
    """From the bytes and the position of a message to its text and where it ends, which may be past the end of the bytes."""

STRUCT_CODES = {
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

ONE_BYTE = 0x7F
"""The largest number that a varint of one byte has."""


class Irregular(Exception):
    """The bytes are not as the schema expects, or no schema is known for them."""


IRREGULAR = (Irregular, IndexError, struct.error)
"""What generated functions raise; IndexError and struct.error where the bytes end too early."""


def signed_varint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """An unsigned varint as 32 bits with a sign, as Kafka reads it, and where it ends."""
    if data[at] <= ONE_BYTE:
        return data[at], at + 1
    value = 0
    for shift in range(0, 35, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return as_int32(value & 0xFFFFFFFF), at
    raise Irregular


def varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint below 2**31 and where it ends; a larger one would be a negative number."""
    value, at = signed_varint(data, at)
    if value < 0:
        raise Irregular
    return value, at


def tagged_texts(data: bytes, at: int, functions: Mapping[int, TextFunction | None]) -> tuple[dict[int, str], int]:
    """The texts of tagged fields, empty for those that are not shown, and where they end. A tag without function is irregular."""
    texts = {}
    count = data[at]
    at += 1
    if count > ONE_BYTE:
        count, at = varint(data, at - 1)
    for _ in range(count):
        tag, size = data[at], data[at + 1]
        if tag <= ONE_BYTE and size <= ONE_BYTE:
            at += 2
        else:
            tag, at = varint(data, at)
            size, at = varint(data, at)
        if tag in functions:
            function = functions[tag]
            if function is None:
                raise Irregular
            texts[tag], at = function(data, at)
        else:
            at += size
    return texts, at


def joined_texts(data: bytes, at: int, functions: Mapping[int, TextFunction | None], order: Sequence[int]) -> tuple[str, int]:
    """The texts of tagged fields in this order of their tags, and where they end. As `tagged_texts` in all else."""
    joined, end, place = "", at + 1, -1
    if data[at] <= ONE_BYTE:
        for _ in range(data[at]):
            tag, size = data[end], data[end + 1]
            function = functions.get(tag)
            if function is None or size > ONE_BYTE:
                break
            before, place = place, order.index(tag)
            if place <= before:  # most come in this order
                break
            text, end = function(data, end + 2)
            joined += text
        else:
            return joined, end
    texts, at = tagged_texts(data, at, functions)
    return "".join([texts.get(tag, "") for tag in order]), at


class Lines:
    """Collects the lines of a function, and the objects that they name."""

    def __init__(self, names: Mapping[str, object]) -> None:
        """`names` are those that the lines use."""
        self._names = {"Irregular": Irregular, **names}
        self._lines: list[str] = []

    def _function(self, returned: str) -> Any:
        """The function of the lines, which returns this expression."""
        lines = "\n".join(f"    {line}" for line in [*self._lines, f"return {returned}"])
        exec(f"def function(data, at):\n{lines}", self._names)  # the source has nothing but names of our schemas in it
        return self._names["function"]

    def _refer(self, value: object) -> str:
        """A name for an object that the function needs."""
        name = f"n{len(self._names)}"
        self._names[name] = value
        return name


class FunctionSource(Lines):
    """The lines of a function that reads values.

    Fixed fields that follow one another, and the length after them, are unpacked together: they wait in `_fixed`, as variables
    and codes of the module struct, until `_unpack`.
    """

    def __init__(self, names: Mapping[str, object], *, is_flexible: bool) -> None:
        """`names` are those that the lines use; lengths are compact in a flexible version."""
        super().__init__({"varint": varint, **names})
        self._is_flexible = is_flexible
        self._fixed: list[tuple[str, str]] = []
        self._count = 0

    def _compiled(self, result: str) -> Any:
        """The function of the lines; it returns the value of this expression, and where it ends."""
        return self._function(f"{result}, at")

    def number_function(self, code: str, text: str) -> TextFunction:
        """The function from a number, which has this code, to its text: an expression with `{}` for the number."""
        variable = self._variable()
        self._fixed.append((variable, code))
        self._unpack()
        function: TextFunction = self._compiled(text.format(variable))
        return function

    def _length(self, code: str) -> str:
        """Read a length, which has this code unless the version is flexible. Returns its variable; null is negative."""
        size = self._variable()
        if self._is_flexible:
            self._lines += [
                f"{size} = {self._byte()} - 1",
                f"if {size} >= {ONE_BYTE}:",
                f"    {size}, at = varint(data, at - 1)",
                f"    {size} -= 1",
            ]
        else:
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

    def _null_marker(self, *, is_tagged: bool) -> str:
        """Read what stands before a struct that may be null. Returns the condition for null."""
        marker = self._variable()
        if is_tagged:
            self._lines.append(f"{marker}, at = varint(data, at)")
            return f"{marker} == 0"
        self._fixed.append((marker, "b"))
        self._unpack()
        return f"{marker} < 0"

    def _unpack(self) -> None:
        """Read the fixed fields that wait."""
        if self._fixed:
            layout = struct.Struct(">" + "".join(code for _, code in self._fixed))
            variables = "".join(f"{variable}, " for variable, _ in self._fixed)
            self._lines += [f"{variables}= {self._refer(layout.unpack_from)}(data, at)", f"at += {layout.size}"]
            self._fixed.clear()

    def _variable(self) -> str:
        """A new variable."""
        self._count += 1
        return f"v{self._count}"
