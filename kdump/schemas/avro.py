"""Decodes Avro's binary encoding into values that JSON can hold.

A schema becomes functions, one for each of its types, which read from a cursor. Bytes, fixed values and what JSON has no type for
become text: Base64, decimals with exactly their scale, dates and times in the form of ISO 8601, NaN and infinities.
Avro specification 1.12: binary encoding.
"""

from __future__ import annotations

import binascii
from struct import Struct

from kdump.schemas import shapes
from kdump.schemas.bounds import CONTAINER_COST, VALUE_COST, Budget, undecodable
from kdump.schemas.schema import guid_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kdump.schemas.avro_types import AvroType
    from kdump.schemas.shapes import Shape

    Read = Callable[["Cursor"], Any]  # a value for JSON

_FLOAT, _DOUBLE = Struct("<f"), Struct("<d")
_DAY_US = 86_400_000_000
_DAYS_BEFORE_1970 = 719_528  # from the first day of the year 0
_DAYS_OF_400_YEARS = 146_097
_MAX_VARINT = 10  # bytes
_MAX_DECIMAL = 1000  # bytes; Python refuses to write numbers of several thousand digits


class Cursor(Budget):
    """A place in the bytes of a value, and what may still be made of them."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        super().__init__(len(data))
        self.data = data
        self.position = position

    def take(self, size: int) -> bytes:
        """The next bytes. Raises CorruptData (`schema-undecodable`) if there are not as many, or the size is negative."""
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise undecodable(f"it ends before a part of {size} bytes" if size >= 0 else f"a part of it has {size} bytes")
        data = self.data[self.position : end]
        self.position = end
        return data

    def long(self) -> int:
        """The next number, of variable length and zigzag."""
        data, position = self.data, self.position
        number = shift = 0
        for at in range(position, min(position + _MAX_VARINT, len(data))):
            byte = data[at]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = at + 1
                return number >> 1 ^ -(number & 1)
            shift += 7
        raise undecodable("it has a number of more than 64 bits" if shift == 7 * _MAX_VARINT else "it ends inside a number")


class AvroDecoder:
    """Decodes values of one type."""

    def __init__(self, type: AvroType) -> None:
        self.type = type
        self._read = _Compiler().read_of(type)

    @property
    def shape(self) -> Shape:
        """The shape of its values."""
        return shapes.of_avro(self.type)

    def decode(self, data: bytes, position: int = 0, *, is_message: bool = False) -> Any:
        """The value from a position on, for JSON; what follows it is ignored.

        A message of Confluent's serializers (`is_message`) that is only `bytes` comes without its length.
        Raises CorruptData (`schema-undecodable`, `schema-value-too-large`).
        """
        if is_message and self.type.kind == "bytes" and not self.type.logical:
            return base64_text(data[position:])
        return self._read(Cursor(data, position))


class _Compiler:
    """Makes the functions of a schema; records may contain themselves."""

    def __init__(self) -> None:
        self._made: dict[int, Read] = {}

    def read_of(self, type: AvroType) -> Read:
        logical = _LOGICAL.get(type.logical)
        if logical is not None:
            return logical(type)
        simple = _PRIMITIVES.get(type.kind)
        if simple is not None:
            return simple
        if type.kind == "record":
            return self._record(type)
        if type.kind == "array":
            return self._array(type)
        if type.kind == "map":
            return self._map(type)
        if type.kind == "union":
            return self._union(type)
        return _enum(type) if type.kind == "enum" else _fixed(type)

    def _record(self, type: AvroType) -> Read:
        if id(type) in self._made:
            return self._made[id(type)]
        reads: list[tuple[str, Read]] = []
        cost = CONTAINER_COST + sum(len(name) + VALUE_COST for name, _ in type.fields)

        def read(cursor: Cursor) -> Any:
            cursor.spend(cost)
            cursor.enter()
            value = {name: read_field(cursor) for name, read_field in reads}
            cursor.leave()
            return value

        self._made[id(type)] = read
        reads += [(name, self.read_of(of_field)) for name, of_field in type.fields]
        return read

    def _array(self, type: AvroType) -> Read:
        assert type.items is not None
        read_item = self.read_of(type.items)

        def read(cursor: Cursor) -> Any:
            cursor.spend(CONTAINER_COST)
            cursor.enter()
            items: list[Any] = []
            while count := _block(cursor):
                items.extend([read_item(cursor) for _ in range(count)])
            cursor.leave()
            return items

        return read

    def _map(self, type: AvroType) -> Read:
        assert type.items is not None
        read_value = self.read_of(type.items)

        def read(cursor: Cursor) -> Any:
            cursor.spend(CONTAINER_COST)
            cursor.enter()
            items: dict[str, Any] = {}
            while count := _block(cursor):
                for _ in range(count):
                    key = _string(cursor)
                    items[key] = read_value(cursor)
            cursor.leave()
            return items

        return read

    def _union(self, type: AvroType) -> Read:
        reads = [self.read_of(branch) for branch in type.branches]

        def read(cursor: Cursor) -> Any:
            number = cursor.long()
            if not 0 <= number < len(reads):
                raise undecodable(f"it has branch {number} of a union of {len(reads)}")
            return reads[number](cursor)

        return read


def _block(cursor: Cursor) -> int:
    """The number of items in the next block, 0 after the last. They are paid for before they are read."""
    count = cursor.long()
    if count < 0:
        count = -count
        cursor.long()  # the size of the block, for those who skip it
    cursor.spend(VALUE_COST * count)
    return count


def _null(_cursor: Cursor) -> None:
    return None


def _boolean(cursor: Cursor) -> bool:
    return cursor.take(1) != b"\0"


def _long(cursor: Cursor) -> int:
    return cursor.long()


def _float(cursor: Cursor) -> float | str:
    return json_float(_FLOAT.unpack(cursor.take(4))[0])


def _double(cursor: Cursor) -> float | str:
    return json_float(_DOUBLE.unpack(cursor.take(8))[0])


def json_float(number: float) -> float | str:
    """A number, or the text that stands for what JSON cannot write."""
    if number - number == 0:
        return number
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def _bytes(cursor: Cursor) -> str:
    data = cursor.take(cursor.long())
    cursor.spend(len(data))
    return base64_text(data)


def _string(cursor: Cursor) -> str:
    data = cursor.take(cursor.long())
    cursor.spend(len(data))
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise undecodable("it has a string that is not UTF-8")


def base64_text(data: bytes) -> str:
    """Bytes as schemas write them in JSON."""
    return binascii.b2a_base64(data, newline=False).decode()


def _enum(type: AvroType) -> Read:
    symbols = type.symbols

    def read(cursor: Cursor) -> str:
        number = cursor.long()
        if not 0 <= number < len(symbols):
            raise undecodable(f"it has symbol {number} of an enum of {len(symbols)}")
        cursor.spend(len(symbols[number]))
        return symbols[number]

    return read


def _fixed(type: AvroType) -> Read:
    size = type.size
    return lambda cursor: base64_text(cursor.take(size))


# Logical types


def _decimal(type: AvroType) -> Read:
    size, scale = (type.size if type.kind == "fixed" else None), type.scale

    def read(cursor: Cursor) -> str:
        data = cursor.take(cursor.long() if size is None else size)
        if len(data) > _MAX_DECIMAL or scale > _MAX_DECIMAL:
            raise undecodable(f"it has a decimal of {len(data)} bytes and scale {scale}; up to {_MAX_DECIMAL} of each are read")
        cursor.spend(len(data) * 3 + scale)
        return decimal_text(int.from_bytes(data, "big", signed=True), scale)

    return read


def decimal_text(unscaled: int, scale: int) -> str:
    """A decimal with all digits of its scale."""
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    sign = "-" if unscaled < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def _uuid(type: AvroType) -> Read:
    def read(cursor: Cursor) -> str:
        if type.kind == "fixed":
            return guid_text(cursor.take(16))
        from uuid import UUID  # slow to load

        try:
            return str(UUID(_string(cursor)))
        except ValueError:
            raise undecodable("it has a UUID that is none")

    return read


def _date(_type: AvroType) -> Read:
    return lambda cursor: date_text(cursor.long())


def date_text(days: int) -> str:
    """Days since 1970 as a date of the proleptic Gregorian calendar; years of more than four digits have a sign."""
    days += _DAYS_BEFORE_1970
    cycles, day = divmod(days - 60, _DAYS_OF_400_YEARS)  # years that start in March
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day_of_month = day - (153 * month + 2) // 5 + 1
    year += 400 * cycles + (month >= 10)
    month = month - 9 if month >= 10 else month + 3
    years = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{years}-{month:02d}-{day_of_month:02d}"


def time_text(microseconds: int) -> str:
    """Microseconds of a day as a time."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"


def timestamp_text(microseconds: int, end: str = "") -> str:
    """Microseconds since 1970 as a date and a time."""
    days, time = divmod(microseconds, _DAY_US)
    return f"{date_text(days)}T{time_text(time)}{end}"


def _time(unit_us: int) -> Callable[[AvroType], Read]:
    def made(_type: AvroType) -> Read:
        def read(cursor: Cursor) -> str:
            time = cursor.long() * unit_us
            if not 0 <= time < _DAY_US:
                raise undecodable("it has a time that is not within a day")
            return time_text(time)

        return read

    return made


def _timestamp(unit_us: int, end: str) -> Callable[[AvroType], Read]:
    return lambda _type: lambda cursor: timestamp_text(cursor.long() * unit_us, end)


_PRIMITIVES: dict[str, Read] = {
    "null": _null,
    "boolean": _boolean,
    "int": _long,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}

_LOGICAL: dict[str, Callable[[AvroType], Read]] = {
    "decimal": _decimal,
    "uuid": _uuid,
    "date": _date,
    "time-millis": _time(1000),
    "time-micros": _time(1),
    "timestamp-millis": _timestamp(1000, "Z"),
    "timestamp-micros": _timestamp(1, "Z"),
    "local-timestamp-millis": _timestamp(1000, ""),
    "local-timestamp-micros": _timestamp(1, ""),
}
