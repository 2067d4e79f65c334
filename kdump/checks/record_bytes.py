"""The bytes of single records of magic 2: irregular encodings, and the field that makes a record unreadable."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.binary.kernel import VarintTooLong
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.binary.kernel import Buffer, RecordTuple

_INT, _LONG = 5, 10  # bytes of a varint at most
_TWO_BYTES = 0x80  # the lowest first byte of a varint that takes more than one
_UP_TO_OFFSET = ("length", _INT), ("timestamp delta", _LONG), ("offset delta", _INT)
_NULL = 0x01  # the varint of -1
_SIZED = [0 if byte >= 0x80 or byte & 1 else 1 + (byte >> 1) for byte in range(256)]
_SIZED[_NULL] = 1
"""By the first byte of a varint: its size with that of the key or value whose length it is; 0 if that takes a closer look."""
_LONG_SIZE = 0x40  # the smallest whose varint takes more than a byte
_SHORT = range(-0x40, 0x40)  # what one byte holds
_MEDIUM = range(-0x2000, 0x2000)  # what two bytes hold
_WITHOUT_SURPLUS = range(-1 << 27, 1 << 27)  # what fewer than five bytes hold
_LAST_BYTE = {_INT: 0x0F, _LONG: 0x01}  # bits of the last byte that count


class Field(Declared):
    """A varint of a record, of `size` bytes as encoded."""

    name: str
    value: int
    size: int
    has_surplus_bits: bool

    @property
    def is_canonical(self) -> bool:
        return self.size == size_of_varint(self.value) and not self.has_surplus_bits


class Unreadable(Declared):
    """Why a record cannot be read: the fault's code, and a message that names the field."""

    code: str
    message: str


def size_of_varint(value: int) -> int:
    """The size of a zig-zag varint in bytes."""
    return max(1, -(-(value << 1 if value >= 0 else ~(value << 1)).bit_length() // 7))


def irregular_records(data: Buffer, start: int, rows: Sequence[RecordTuple]) -> Iterator[tuple[int, int, int, bool]]:
    """The records that may be irregular: number, start of the length, attributes, and whether more than those may be.

    Those are records with attributes, with varints longer than needed, with header values of null, or with negative sizes below
    -1; `irregular_fields` says which. `rows` are what the kernel read from `start` on.
    """
    position = start
    for number, (timestamp_delta, offset_delta, key_size, value_size, headers, _, _) in enumerate(rows):
        needed = 4  # attributes and timestamp delta, key and value size: most take a byte each; the count of headers below
        if timestamp_delta not in _SHORT:
            needed += size_of_varint(timestamp_delta) - 1
        is_irregular = min(key_size, value_size) < -1
        is_wide = False
        if offset_delta in _SHORT:
            needed += 1
        elif offset_delta in _MEDIUM:
            needed += 2
        else:
            needed += size_of_varint(offset_delta)
            is_wide = offset_delta not in _WITHOUT_SURPLUS
        if key_size > 0:
            needed += key_size if key_size in _SHORT else key_size + size_of_varint(key_size) - 1
        if value_size > 0:
            needed += value_size if value_size in _SHORT else value_size + size_of_varint(value_size) - 1
        if headers:
            needed += size_of_varint(len(headers))
            for key, value in headers:
                size = len(key)
                needed += size + (1 if size < _LONG_SIZE else size_of_varint(size))
                if value is None:
                    is_irregular = True
                    needed += 1
                else:
                    size = len(value)
                    needed += size + (1 if size < _LONG_SIZE else size_of_varint(size))
        else:
            needed += 1
        record_start = position
        byte = data[position]
        if byte < 0x80:
            length, position = byte >> 1, position + 1
        else:
            length, position = kernel.read_varint(data, position, position + _INT)
        attributes = data[position]
        is_irregular |= length != needed or position - record_start != size_of_varint(needed)
        if is_wide and not is_irregular:  # all varints are as short as they can be, and this one takes five bytes
            last = position + size_of_varint(timestamp_delta) + _INT
            is_irregular = bool(data[last] & ~_LAST_BYTE[_INT])
        if is_irregular or attributes:
            yield number, record_start, attributes, is_irregular
        position += length


def irregular_fields(data: Buffer, position: int, end: int) -> Iterator[Field]:
    """The varints of the record at this position that are longer than needed, or a length below -1.

    Raises IndexError and VarintTooLong as kernel.read_varint.
    """

    def read(name: str, size: int = _INT) -> Field:
        nonlocal position
        start_of_field = position
        value, position = kernel.read_varint(data, start_of_field, end, size)
        taken = position - start_of_field
        return Field(name, value, taken, taken == size and bool(data[position - 1] & ~_LAST_BYTE[size]))

    steps = _SIZED
    for name, size in _UP_TO_OFFSET:
        if data[position] < _TWO_BYTES:  # as most, which are as short as they can be
            position += 1
        else:
            field = read(name, size)
            if not field.is_canonical:
                yield field
        if name == "length":
            position += 1  # attributes
    for name in ("key length", "value length"):
        if step := steps[data[position]]:
            position += step
            continue
        field = read(name)
        if not field.is_canonical or field.value < -1:
            yield field
        position += max(field.value, 0)
    count = data[position] >> 1
    if data[position] < _TWO_BYTES:
        position += 1
    else:
        field = read("header count")
        count = field.value
        if not field.is_canonical:
            yield field
    for number in range(count):
        if step := steps[data[position]]:  # most headers are short, and a record may have millions
            after_key = position + step
            if step := steps[data[after_key]]:
                position = after_key + step
                continue
        for what in ("key", "value"):
            field = read(f"{what} length of header {number}")
            if not field.is_canonical or field.value < -1:
                yield field
            position += max(field.value, 0)
            if position > end:
                raise IndexError


def why_unreadable(data: Buffer, position: int, end: int) -> Unreadable | None:
    """Why this record cannot be read, when the kernel only reports a wrong structure; None if it can."""
    at, name = position, "length"
    limit = end
    try:
        length, at = kernel.read_varint(data, at, end)
        limit = min(end, at + max(length, 0))
        name = "timestamp delta"
        _, at = kernel.read_varint(data, at + 1, limit, _LONG)
        name = "offset delta"
        _, at = kernel.read_varint(data, at, limit)
        for name in ("key", "value"):
            size, at = kernel.read_varint(data, at, limit)
            if size > limit - at:
                message = f"its {name} says it is {size:,} bytes long, with {limit - at:,} left"
                return Unreadable("key-length-bad", message)
            at += max(size, 0)
        name = "header count"
        count, at = kernel.read_varint(data, at, limit)
        for number in range(count):
            for name in (f"key of header {number:,}", f"value of header {number:,}"):
                size, at = kernel.read_varint(data, at, limit)
                if size > limit - at:
                    message = f"the {name} says it is {size:,} bytes long, with {limit - at:,} left"
                    return Unreadable("header-bytes-odd", message)
                at += max(size, 0)
    except VarintTooLong as error:
        return Unreadable("varint-too-long", f"the varint of its {name} does not end within {error.size} bytes")
    except IndexError:
        if at >= limit:
            return Unreadable("varint-truncated", f"the bytes end before its {name}")
        return Unreadable("varint-truncated", f"the bytes end inside the varint of its {name}")
    return None
