"""Damages keys and values of records, and writes them to logs of any magic with correct CRCs, as input for decoders."""

import random
import struct
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from campaigns import damage
from campaigns.damage import CONTROL_BIT, MAGIC2_HEADER_SIZE, TELLING_NUMBERS, Damaged
from tests.builders.compression import Codec
from tests.builders.records import Message, batch, message, message_set, record, wrapper

MOST_RECORDS = 6

# How records are packed: magic, codec, how often.
PACKINGS: tuple[tuple[int, Codec, int], ...] = (
    *((0, "none", 24), (0, "gzip", 3), (0, "snappy", 3)),
    *((1, "none", 30), (1, "gzip", 3), (1, "lz4", 3)),
    *((2, "none", 24), (2, "gzip", 4), (2, "lz4", 3), (2, "zstd", 3)),
)
OLD_TYPES = (b"\0\0", b"\0\1", b"\0\2")

WAYS: tuple[damage.Damage, ...] = (
    *(damage.byte_set, damage.bits_flipped, damage.cut, damage.inserted),
    *(damage.deleted, damage.zeroed, damage.doubled, damage.swapped),
)


class Content(NamedTuple):
    """Key and value of a record."""

    key: bytes | None
    value: bytes | None


def contents(log: bytes) -> Iterator[Content]:
    """Keys and values of the records of a log, those of control records left out."""
    for entry in damage.entries(log):
        records = damage.records_of(log, entry)
        if entry.magic < 2:
            if records is not None:
                yield from contents(records)
            else:
                yield _of_message(log[entry.position : entry.end], entry.magic)
        elif records is not None and entry.size >= MAGIC2_HEADER_SIZE and not log[entry.position + 22] & CONTROL_BIT:
            fields = [field for field in damage.varints_of(records) if field.name in ("keyLength", "valueLength")]
            texts = [None if field.value < 0 else records[field.end : field.end + field.value] for field in fields]
            yield from map(Content, texts[::2], texts[1::2])


def repacked(log: bytes, other: bytes, newest_magic: int, chance: random.Random) -> Damaged:
    """A log of a few of a log's records, with one or two of them damaged."""
    rows = list(contents(log))
    if chance.random() < 0.6:  # else most would be of types that old releases do not know
        rows = [row for row in rows if row.key is None or row.key[:2] in OLD_TYPES] or rows
    start = chance.randrange(len(rows) or 1)
    rows = rows[start : start + chance.randrange(1, MOST_RECORDS)]
    foreign = list(contents(other))
    what = [f"{len(rows)} records from {start} on"]
    for _ in range(chance.choice((1, 1, 1, 2)) if rows else 0):
        row = chance.randrange(len(rows))
        is_key = chance.random() < 0.3
        name = "key" if is_key else "value"
        guest = chance.choice(foreign) if foreign else Content(None, None)
        edited, way = _edited(getattr(rows[row], name), getattr(guest, name), chance)
        rows[row] = rows[row]._replace(**{name: edited})
        what.append(f"{name} of {row}: {way}")
    packings = [packing for packing in PACKINGS if packing[0] <= newest_magic]
    magic, codec, _ = chance.choices(packings, weights=[packing[2] for packing in packings])[0]
    lie = (chance.randrange(len(rows)), chance.choice(TELLING_NUMBERS)) if rows and chance.random() < 0.03 else None
    what.append(f"magic {magic}, {codec}" + (f", value of {lie[0]} said to be {lie[1]} bytes long" if lie else ""))
    return Damaged(_packed(rows, magic, codec, lie), "; ".join(what))


def _edited(data: bytes | None, other: bytes | None, chance: random.Random) -> tuple[bytes | None, str]:
    """A key or value that is damaged, and how."""
    kind = chance.choices(("number", "version", "bytes", "null", "empty", "foreign"), weights=(40, 10, 40, 3, 2, 5))[0]
    if kind == "foreign":
        return other, "a foreign one"
    if kind in ("null", "empty") or not data:
        return (None if kind == "null" else b""), kind
    if kind == "bytes":
        return damage.applied(chance.choice(WAYS), data, data, chance)
    changed = bytearray(data)
    if kind == "version":
        version = chance.randrange(-1, 8)
        changed[:2] = struct.pack(">h", version)
        return bytes(changed), f"version {version}"
    code = chance.choice("bhhiiiq")
    size = struct.calcsize(code)
    if size > len(data):
        return data, "as it was"
    position = chance.randrange(len(data) - size + 1)
    value = damage.put_number(changed, position, code, chance)
    return bytes(changed), f"{8 * size} bits at {position} = {value}"


def _packed(rows: list[Content], magic: int, codec: Codec, lie: tuple[int, int] | None) -> bytes:
    lies = dict([lie]) if lie else {}
    if magic == 2:
        return batch(
            records=[record(**row._asdict(), value_length=lies.get(place)) for place, row in enumerate(rows)], codec=codec
        )
    one = partial(message, magic=magic)
    messages: list[Message | bytes] = [one(**row._asdict(), value_length=lies.get(place)) for place, row in enumerate(rows)]
    if codec == "none":
        return message_set(messages=messages)
    return wrapper(messages=messages, magic=magic, codec=codec)


def _of_message(entry: bytes, magic: int) -> Content:
    """Key and value of a message, if present."""
    position = 26 if magic == 1 else 18
    texts: list[bytes | None] = []
    for _ in range(2):
        size = int.from_bytes(entry[position : position + 4], "big", signed=True)
        position += 4
        texts.append(None if size < 0 else entry[position : position + size])
        position += max(0, size)
    return Content(*texts)
