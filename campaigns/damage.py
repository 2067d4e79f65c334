"""Damages Kafka's files randomly but repeatably: from bit flips to edited records with a corrected CRC.

It parses files itself, rebuilds them with the builders of the tests, and shares no code with kdump.
"""

import contextlib
import gzip
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import lz4.frame
import snappy
import zstandard

from tests.builders.checksums import crc32c
from tests.builders.compression import Compressor, gzip_members, lz4_frame, snappy_blocks, snappy_raw, snappy_xerial, zstd_frames
from tests.builders.records import varlong

NO_COMPRESSION, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODEC_BITS, CONTROL_BIT = 0x07, 0x20

# How producers write a codec: first as in Java clients, then as other clients do or might do.
FRAMINGS: dict[int, tuple[Compressor, ...]] = {
    GZIP: (
        *(gzip_members, partial(gzip_members, member_count=2), partial(gzip_members, has_trailer=False)),
        partial(gzip_members, trailing=b"no member"),
    ),
    SNAPPY: (
        *(snappy_xerial, snappy_raw, partial(snappy_xerial, block_size=100)),
        partial(snappy_xerial, block_size=100, is_header_repeated=True),
        partial(snappy_xerial, version=2),
        partial(snappy_xerial, trailing=bytes(4)),
    ),
    LZ4: (
        *(lz4_frame, partial(lz4_frame, is_header_checksum_broken=True), partial(lz4_frame, is_stored=True)),
        *(partial(lz4_frame, has_content_size=True), partial(lz4_frame, has_content_size=True, content_size=1)),
        *(partial(lz4_frame, has_block_checksums=True), partial(lz4_frame, has_block_checksums=True, block_checksum=1)),
        *(partial(lz4_frame, has_content_checksum=True), partial(lz4_frame, has_content_checksum=True, content_checksum=1)),
        *(partial(lz4_frame, block_size_code=3), partial(lz4_frame, block_size_code=7)),
        *(partial(lz4_frame, has_dependent_blocks=True), partial(lz4_frame, has_end_mark=False)),
        partial(lz4_frame, trailing=b"no frame"),
    ),
    ZSTD: (
        *(zstd_frames, partial(zstd_frames, frame_count=2), partial(zstd_frames, has_content_size=True)),
        *(partial(zstd_frames, has_checksum=True), partial(zstd_frames, trailing=b"no frame")),
    ),
}

# No payload of the cases is larger; one that says so is damaged.
MAX_RECORDS = 1 << 20

# Byte 16 of an entry is the magic in every format: (name, position in the entry, struct code).
MAGIC_POSITION = 16
MAGIC2_FIELDS = (
    *(("baseOffset", 0, "q"), ("batchLength", 8, "i"), ("partitionLeaderEpoch", 12, "i"), ("magic", 16, "b"), ("crc", 17, "I")),
    *(("attributes", 21, "h"), ("lastOffsetDelta", 23, "i"), ("baseTimestamp", 27, "q"), ("maxTimestamp", 35, "q")),
    *(("producerId", 43, "q"), ("producerEpoch", 51, "h"), ("baseSequence", 53, "i"), ("recordsCount", 57, "i")),
)
MAGIC2_HEADER_SIZE = 61
LEGACY_FIELDS = (("offset", 0, "q"), ("size", 8, "i"), ("crc", 12, "I"), ("magic", 16, "b"), ("attributes", 17, "b"))
MAGIC0_FIELDS = (*LEGACY_FIELDS, ("keyLength", 18, "i"))
MAGIC1_FIELDS = (*LEGACY_FIELDS, ("timestamp", 18, "q"), ("keyLength", 26, "i"))

INDEX_ENTRY = (("relativeOffset", 0, "i"), ("position", 4, "i"))
TIME_INDEX_ENTRY = (("timestamp", 0, "q"), ("relativeOffset", 8, "i"))
TXN_INDEX_ENTRY = (
    *(("version", 0, "h"), ("producerId", 2, "q"), ("firstOffset", 10, "q"), ("lastOffset", 18, "q")),
    ("lastStableOffset", 26, "q"),
)
SNAPSHOT_HEADER = (("version", 0, "h"), ("crc", 2, "I"), ("count", 6, "i"))
SNAPSHOT_HEADER_SIZE = 10
SNAPSHOT_ENTRY = (
    *(("producerId", 0, "q"), ("epoch", 8, "h"), ("lastSequence", 10, "i"), ("lastOffset", 14, "q"), ("offsetDelta", 22, "i")),
    *(("timestamp", 26, "q"), ("coordinatorEpoch", 34, "i"), ("currentTxnFirstOffset", 38, "q")),
)

# Sizes at which Kafka's readers change behaviour, and numbers around zero.
TELLING_NUMBERS = (0, 1, 2, 3, 5, 13, 14, 17, 18, 48, 49, 50, 60, 61, 62, 255, 4096, 65536, -1, -2, -5, -14)

Field = tuple[str, int, str]


class Damaged(NamedTuple):
    """Bytes that were damaged, and how."""

    data: bytes
    what: str


class Entry(NamedTuple):
    """A batch, or a message of magic 0 or 1, by its place in a log."""

    position: int
    size: int
    magic: int

    @property
    def end(self) -> int:
        return self.position + self.size


class CannotApply(Exception):
    """A kind of damage has nothing to work on in these bytes."""


Damage = Callable[[bytes, bytes, random.Random], Damaged]
"""Damages a file, given another of its kind and a random generator. Raises CannotApply."""


def damage(suffix: str, data: bytes, other: bytes, chance: random.Random) -> Damaged:
    """Damage a file of this suffix in one way, sometimes in two or three."""
    ways = DAMAGES.get(suffix, ANY_FILE)
    done: list[str] = []
    wanted = chance.choices((1, 2, 3), weights=(80, 15, 5))[0]
    for _ in range(100):
        damaged = applied(chance.choice(ways), data, other, chance)
        if damaged.data != data:
            data = damaged.data
            done.append(damaged.what)
            if len(done) == wanted:
                break
    return Damaged(data, ", then ".join(done) or "nothing")


def applied(way: Damage, data: bytes, other: bytes, chance: random.Random) -> Damaged:
    """Bytes damaged in this way; as they were where it cannot apply."""
    try:
        return way(data, other, chance)
    except CannotApply:
        return Damaged(data, "nothing")


def entries(log: bytes) -> list[Entry]:
    """The batches and messages of a log, up to the first impossible one."""
    found = []
    position = 0
    while position + MAGIC_POSITION < len(log):
        size = 12 + _get(log, position + 8, "i")
        if size < 26 or position + size > len(log):
            break
        found.append(Entry(position, size, _get(log, position + MAGIC_POSITION, "b")))
        position += size
    return found


def seal(log: bytearray, entry: Entry) -> None:
    if entry.magic < 2:
        struct.pack_into(">I", log, entry.position + 12, zlib.crc32(log[entry.position + 16 : entry.end]))
    elif entry.size >= MAGIC2_HEADER_SIZE:
        struct.pack_into(">I", log, entry.position + 17, crc32c(bytes(log[entry.position + 21 : entry.end])))


# Any file


def bits_flipped(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    changed = bytearray(data)
    places = [(_place(data, chance), chance.randrange(8)) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    for position, bit in places:
        changed[position] ^= 1 << bit
    return Damaged(bytes(changed), f"bits flipped: {places}")


def byte_set(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    position, value = _place(data, chance), chance.choice((0, 0xFF, 0x7F, 0x80, chance.randrange(256)))
    return Damaged(data[:position] + bytes([value]) + data[position + 1 :], f"byte {position} = {value}")


def cut(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    size = chance.choice((_place(data, chance), max(0, len(data) - chance.randrange(1, 40))))
    return Damaged(data[:size], f"cut to {size} bytes")


def inserted(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """Bytes too many, also at the end."""
    position = chance.choice((chance.randrange(len(data) + 1), len(data)))
    size = chance.choice((1, 2, 8, 12, 17, 18, chance.randrange(1, 80)))
    piece = chance.choice((bytes(size), chance.randbytes(size)))
    return Damaged(data[:position] + piece + data[position:], f"{size} bytes inserted at {position}")


def deleted(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    start, end = _range(data, chance)
    return Damaged(data[:start] + data[end:], f"bytes {start} to {end} deleted")


def zeroed(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """A range of zeros, as after a lost page."""
    start, end = _range(data, chance)
    return Damaged(data[:start] + bytes(end - start) + data[end:], f"bytes {start} to {end} zero")


def doubled(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    start, end = _range(data, chance)
    return Damaged(data[:end] + data[start:], f"bytes {start} to {end} doubled")


def swapped(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """Two neighbouring ranges in the wrong order."""
    if len(data) < 3:
        raise CannotApply
    first, second, third = sorted(chance.sample(range(len(data) + 1), 3))
    changed = data[:first] + data[second:third] + data[first:second] + data[third:]
    return Damaged(changed, f"bytes {first} to {second} and {second} to {third} swapped")


def spliced(data: bytes, other: bytes, chance: random.Random) -> Damaged:
    """The start of one file and the end of another."""
    first, second = chance.randrange(len(data) + 1), chance.randrange(len(other) + 1)
    return Damaged(data[:first] + other[second:], f"{first} bytes, then those of another file from {second}")


# Logs


def entry_field(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """A field of a batch or message header, with the CRC as it was or made right."""
    entry = _any_entry(data, chance)
    fields = MAGIC2_FIELDS if entry.magic >= 2 else MAGIC1_FIELDS if entry.magic == 1 else MAGIC0_FIELDS
    inside = [field for field in fields if field[1] + struct.calcsize(">" + field[2]) <= entry.size]
    name, position, code = chance.choice(inside)
    changed = bytearray(data)
    value = put_number(changed, entry.position + position, code, chance)
    is_sealed = name != "crc" and chance.random() < 0.7
    if is_sealed:
        seal(changed, entry)
    return Damaged(bytes(changed), f"{name} at {entry.position} = {value}{', CRC right' if is_sealed else ''}")


def attribute_bit(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """One bit of the attributes: codec, timestamp type, transactional, control, delete horizon."""
    entry = _any_entry(data, chance)
    position = entry.position + (22 if entry.magic >= 2 else 17)
    changed = bytearray(data)
    bit = chance.randrange(8)
    changed[position] ^= 1 << bit
    seal(changed, entry)
    return Damaged(bytes(changed), f"attribute bit {bit} at {entry.position} flipped, CRC right")


def entry_byte_sealed(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """A byte after the CRC, with the CRC made right."""
    entry = _any_entry(data, chance)
    changed = bytearray(data)
    position = chance.randrange(entry.position + (21 if entry.magic >= 2 else 16), entry.end)
    changed[position] = chance.choice((0, 1, 0xFF, 0x80, changed[position] ^ 1 << chance.randrange(8)))
    seal(changed, entry)
    return Damaged(bytes(changed), f"byte {position} = {changed[position]}, CRC right")


def entry_resized(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """An entry cut or made longer, with length and CRC made right."""
    entry = _any_entry(data, chance)
    if chance.random() < 0.5:
        body = data[entry.position : max(entry.position + 26, entry.end - chance.randrange(1, 60))]
    else:
        size = chance.randrange(1, 40)
        body = data[entry.position : entry.end] + chance.choice((bytes(size), chance.randbytes(size)))
    return _with_entry(data, entry, body, f"entry at {entry.position} of {entry.size} bytes made {len(body)}")


def entries_moved(data: bytes, other: bytes, chance: random.Random) -> Damaged:
    """Whole entries swapped, doubled, dropped, or brought in from another file."""
    found, foreign = entries(data), entries(other)
    if not found:
        raise CannotApply
    first, second = sorted(chance.choices(found, k=2))
    bodies = [data[entry.position : entry.end] for entry in (first, second)]
    tail = data[second.end :]
    ways = [
        (data[: first.end] + bodies[0] + data[first.end :], f"entry at {first.position} doubled"),
        (data[: first.position] + data[first.end :], f"entry at {first.position} dropped"),
        (data[: second.end] + bodies[0] + tail, f"entry at {first.position} repeated at {second.end}"),
    ]
    if first != second:
        between = data[first.end : second.position]
        swapped_entries = data[: first.position] + bodies[1] + between + bodies[0] + tail
        ways.append((swapped_entries, f"entries at {first.position} and {second.position} swapped"))
    if foreign:
        guest = chance.choice(foreign)
        body = other[guest.position : guest.end]
        ways.append((data[: first.end] + body + data[first.end :], f"foreign entry at {first.end}"))
    return Damaged(*chance.choice(ways))


def payload_damaged(data: bytes, other: bytes, chance: random.Random) -> Damaged:
    """The bytes of a compressed payload, with lengths and CRC made right."""
    entry = _any_entry(data, chance, is_compressed)
    start, end = payload_range(data, entry)
    if start >= end:
        raise CannotApply
    way = chance.choice((bits_flipped, byte_set, cut, inserted, deleted, zeroed, doubled, swapped))
    head = min(end, start + chance.choice((8, 20, 64, end - start)))  # framings have their fields at the start
    damaged = way(data[start:head], other, chance)
    return _with_payload(data, entry, damaged.data + data[head:end], f"in the payload, {damaged.what}")


def codec_swapped(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """A payload compressed again, perhaps by another codec or with another framing."""
    entry = _any_entry(data, chance)
    records = records_of(data, entry)
    if records is None:
        raise CannotApply
    codec = chance.choice((GZIP, SNAPPY, LZ4, ZSTD))
    changed = bytearray(data)
    changed[entry.position + (22 if entry.magic >= 2 else 17)] &= ~CODEC_BITS
    changed[entry.position + (22 if entry.magic >= 2 else 17)] |= codec
    payload, way = _compress(codec, records, chance)
    return _with_payload(bytes(changed), entry, payload, f"compressed again by {way}")


def records_edited(data: bytes, other: bytes, chance: random.Random) -> Damaged:
    """Something in the records of a batch or the messages of a wrapper, with all that encloses it made right."""
    entry = _any_entry(data, chance)
    records = records_of(data, entry)
    if not records:
        raise CannotApply
    if entry.magic >= 2:
        way: Damage = chance.choice((varint_edited, varint_edited, record_moved, byte_set, bits_flipped, cut, inserted))
    else:
        way = chance.choice((entry_field, entry_field, entry_byte_sealed, entries_moved, entry_resized, cut, inserted))
    damaged = way(records, other, chance)
    codec = _codec(data, entry)
    what = f"in the records, {damaged.what}"
    if codec == NO_COMPRESSION:
        return _with_payload(data, entry, damaged.data, what)
    payload, framing = _compress(codec, damaged.data, chance)
    return _with_payload(data, entry, payload, f"{what}, {framing}")


def control_edited(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """The key or value of a control record: version, type, coordinator epoch."""
    bits = CODEC_BITS | CONTROL_BIT
    entry = _any_entry(data, chance, lambda log, one: one.magic >= 2 and log[one.position + 22] & bits == CONTROL_BIT)
    found = varints_of(data[slice(*payload_range(data, entry))])
    numbers = [token for token in found if token.name in ("keyLength", "valueLength")]
    if not numbers:
        raise CannotApply
    token = chance.choice(numbers)
    position = payload_range(data, entry)[0] + token.end + chance.choice((0, 0, 2))
    if position + 2 > entry.end:
        raise CannotApply
    changed = bytearray(data)
    value = chance.choice((-1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 300))
    struct.pack_into(">h", changed, position, value)
    seal(changed, entry)
    return Damaged(bytes(changed), f"16 bits at {position} of a control record = {value}, CRC right")


# The records of a magic 2 batch


class Varint(NamedTuple):
    """A varint in a row of records, by its place."""

    name: str
    start: int
    end: int
    value: int
    record_start: int


def varint_edited(records: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """A varint: another value, or the same in more bytes than needed; the record's length perhaps made right."""
    tokens = varints_of(records)
    if not tokens:
        raise CannotApply
    token = chance.choice(tokens)
    value = chance.choice(
        (token.value + 1, token.value - 1, -1, -2, 0, chance.choice(TELLING_NUMBERS), 2**31 - 1, -(2**31), chance.getrandbits(20))
    )
    encoded = varlong(value)
    if chance.random() < 0.15:
        value = token.value
        encoded = varlong(value, size_in_bytes=len(encoded) + chance.randrange(1, 10))
    changed = records[: token.start] + encoded + records[token.end :]
    what = f"{token.name} at {token.start} = {value} in {len(encoded)} bytes"
    grown = len(changed) - len(records)
    if grown and token.name != "length" and chance.random() < 0.7:
        length = next(other for other in tokens if other.name == "length" and other.record_start == token.record_start)
        changed = changed[: length.start] + varlong(length.value + grown) + changed[length.end :]
        what += ", length right"
    return Damaged(changed, what)


def record_moved(records: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """A record dropped, doubled, or swapped with its neighbour."""
    starts = [token.start for token in varints_of(records) if token.name == "length"]
    if not starts:
        raise CannotApply
    row = chance.randrange(len(starts))
    start, end = starts[row], (*starts, len(records))[row + 1]
    record, before, behind = records[start:end], records[:start], records[end:]
    ways = [(before + behind, "dropped"), (before + record + record + behind, "doubled"), (before + behind + record, "last")]
    data, what = chance.choice(ways)
    return Damaged(data, f"record {row} {what}")


def varints_of(records: bytes) -> list[Varint]:
    """The varints of consecutive records, up to the first invalid one."""
    found: list[Varint] = []
    position = record_start = 0

    def take(name: str) -> int:
        nonlocal position
        start, value, shift = position, 0, 0
        while not shift or records[position - 1] > 0x7F:
            value |= (records[position] & 0x7F) << shift
            shift += 7
            position += 1
        value = value >> 1 ^ -(value & 1)
        found.append(Varint(name, start, position, value, record_start))
        return value

    def skip(name: str) -> None:
        nonlocal position
        size = take(name)
        position += max(0, size)

    with contextlib.suppress(IndexError):
        while position < len(records):
            record_start = position
            length = take("length")
            end = position + length
            position += 1  # attributes
            take("timestampDelta")
            take("offsetDelta")
            skip("keyLength")
            skip("valueLength")
            for _ in range(take("headersCount")):
                skip("headerKeyLength")
                skip("headerValueLength")
            if position != end:
                break
    return found


# Files of fixed entries


def index_field(entry_fields: Sequence[Field], header_size: int = 0) -> Damage:
    size = entry_fields[-1][1] + struct.calcsize(">" + entry_fields[-1][2])

    def field_changed(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
        count = (len(data) - header_size) // size
        if count < 1:
            raise CannotApply
        row = chance.choice((0, count - 1, chance.randrange(count)))
        name, position, code = chance.choice(entry_fields)
        changed = bytearray(data)
        value = put_number(changed, header_size + row * size + position, code, chance)
        return Damaged(bytes(changed), f"{name} of entry {row} = {value}")

    return field_changed


def index_entries(size: int) -> Damage:
    """A damage to whole entries: swapped, doubled, dropped, zeros after."""

    def entries_changed(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
        rows = [data[position : position + size] for position in range(0, len(data), size)]
        if len(rows) < 2:
            return Damaged(data + bytes(size), "a zero entry after")
        first, second = sorted(chance.sample(range(len(rows)), 2))
        ways = [
            ([*rows[:first], rows[second], *rows[first + 1 : second], rows[first], *rows[second + 1 :]], "swapped"),
            ([*rows[: second + 1], rows[first], *rows[second + 1 :]], "first repeated after second"),
            ([*rows[:first], *rows[second:]], "dropped from first to second"),
            ([*rows, *[bytes(size)] * chance.randrange(1, 5)], "zeros after the last"),
            ([*rows[:second], bytes(size), *rows[second + 1 :]], "second zero"),
        ]
        changed, what = chance.choice(ways)
        return Damaged(b"".join(changed), f"entries {first} and {second}: {what}")

    return entries_changed


def sealed_snapshot(way: Damage) -> Damage:
    """A damage to a producer snapshot, with the CRC made right."""

    def sealed(data: bytes, other: bytes, chance: random.Random) -> Damaged:
        damaged = way(data, other, chance)
        if len(damaged.data) < 6:
            raise CannotApply
        changed = bytearray(damaged.data)
        struct.pack_into(">I", changed, 2, crc32c(bytes(changed[6:])))
        return Damaged(bytes(changed), f"{damaged.what}, CRC right")

    return sealed


# What all of them need


def _get(data: bytes | bytearray, position: int, code: str) -> int:
    return int(struct.unpack_from(">" + code, data, position)[0])


def put_number(data: bytearray, position: int, code: str, chance: random.Random) -> int:
    """Put a significant number into a field; return it."""
    bits = 8 * struct.calcsize(">" + code)
    old = _get(data, position, code)
    new = chance.choice(
        (
            *(chance.choice(TELLING_NUMBERS), old + chance.choice((-2, -1, 1, 2, 7)), old ^ 1 << chance.randrange(bits)),
            chance.choice((1 << (bits - 1), (1 << (bits - 1)) - 1, 1 << chance.randrange(bits), -old)),
            chance.getrandbits(bits),
        )
    )
    new &= (1 << bits) - 1
    data[position : position + bits // 8] = new.to_bytes(bits // 8, "big")
    return _get(data, position, code)


def _place(data: bytes, chance: random.Random) -> int:
    if not data:
        raise CannotApply
    return chance.randrange(len(data))


def _range(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = _place(data, chance)
    size = chance.choice((1, 4, 8, 12, chance.randrange(1, 64), chance.randrange(1, len(data) + 1)))
    return start, min(len(data), start + size)


def _any_entry(log: bytes, chance: random.Random, is_wanted: Callable[[bytes, Entry], bool] = lambda _log, _entry: True) -> Entry:
    found = [entry for entry in entries(log) if (entry.magic < 2 or entry.size >= MAGIC2_HEADER_SIZE) and is_wanted(log, entry)]
    if not found:
        raise CannotApply
    return chance.choice(found)


def _codec(log: bytes, entry: Entry) -> int:
    return log[entry.position + (22 if entry.magic >= 2 else 17)] & CODEC_BITS


def is_compressed(log: bytes, entry: Entry) -> bool:
    return _codec(log, entry) != NO_COMPRESSION


def payload_range(log: bytes, entry: Entry) -> tuple[int, int]:
    """The start and end of the records of a batch or the value of a message; None if the message is damaged."""
    if entry.magic >= 2:
        return entry.position + MAGIC2_HEADER_SIZE, entry.end
    position = entry.position + (26 if entry.magic == 1 else 18)
    if position + 8 > entry.end:
        return entry.end, entry.end
    position += 4 + max(0, _get(log, position, "i")) + 4
    return min(position, entry.end), entry.end


def records_of(log: bytes, entry: Entry) -> bytes | None:
    """The records of a batch or the messages of a wrapper, uncompressed; None if they cannot be read."""
    start, end = payload_range(log, entry)
    codec = _codec(log, entry)
    if codec == NO_COMPRESSION:
        return log[start:end] if entry.magic >= 2 else None
    try:
        return _decompress(codec, log[start:end])
    except Exception:  # already damaged; each codec has different exceptions
        return None


def _with_payload(log: bytes, entry: Entry, payload: bytes, what: str) -> Damaged:
    start, end = payload_range(log, entry)
    head = bytearray(log[entry.position : start])
    if entry.magic < 2:
        if start >= end:
            raise CannotApply
        struct.pack_into(">i", head, len(head) - 4, len(payload))
    return _with_entry(log, entry, bytes(head) + payload, f"entry at {entry.position}: {what}")


def _with_entry(log: bytes, entry: Entry, body: bytes, what: str) -> Damaged:
    """Replace the body of an entry, with correct length and CRC."""
    changed = bytearray(log[: entry.position] + body + log[entry.end :])
    struct.pack_into(">i", changed, entry.position + 8, len(body) - 12)
    seal(changed, entry._replace(size=len(body)))
    return Damaged(bytes(changed), f"{what}, CRC right")


def _decompress(codec: int, payload: bytes) -> bytes:
    if codec == GZIP:
        return gzip.decompress(payload)
    if codec == LZ4:
        return bytes(lz4.frame.LZ4FrameDecompressor().decompress(payload, max_length=MAX_RECORDS))
    if codec == ZSTD:
        return zstandard.ZstdDecompressor().decompressobj().decompress(payload)
    if codec != SNAPPY:
        raise ValueError(codec)
    return b"".join(map(_snappy_block, snappy_blocks(payload)))


def _snappy_block(block: bytes) -> bytes:
    """Decompress a block, which starts with its decompressed size in groups of seven bits."""
    size = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(block[:5]) if not place or block[place - 1] > 0x7F)
    if size > MAX_RECORDS:
        raise ValueError(size)
    return bytes(snappy.uncompress(block))


def _compress(codec: int, records: bytes, chance: random.Random) -> tuple[bytes, str]:
    """Compress with one of the variants of a codec; return the payload and the variant."""
    framing = chance.choice((FRAMINGS[codec][0], chance.choice(FRAMINGS[codec])))
    if isinstance(framing, partial):
        return framing(records), f"{framing.func.__name__} {framing.keywords}"
    return framing(records), framing.__name__


ANY_FILE: tuple[Damage, ...] = (bits_flipped, byte_set, cut, inserted, deleted, zeroed, doubled, swapped, spliced)
LOG: tuple[Damage, ...] = (
    *ANY_FILE,
    *(entry_field, entry_field, entry_field, attribute_bit, entry_byte_sealed, entry_byte_sealed),
    *(entry_resized, entries_moved, payload_damaged, payload_damaged, codec_swapped),
    *(records_edited, records_edited, records_edited, control_edited),
)
DAMAGES: dict[str, tuple[Damage, ...]] = {
    ".log": LOG,
    ".checkpoint": LOG,
    ".index": (*ANY_FILE, *[index_field(INDEX_ENTRY)] * 6, *[index_entries(8)] * 3),
    ".timeindex": (*ANY_FILE, *[index_field(TIME_INDEX_ENTRY)] * 6, *[index_entries(12)] * 3),
    ".txnindex": (*ANY_FILE, *[index_field(TXN_INDEX_ENTRY)] * 6, *[index_entries(34)] * 3),
    ".snapshot": (
        *ANY_FILE,
        *(sealed_snapshot(way) for way in ANY_FILE),
        *[sealed_snapshot(index_field(SNAPSHOT_HEADER))] * 2,
        *[sealed_snapshot(index_field(SNAPSHOT_ENTRY, SNAPSHOT_HEADER_SIZE))] * 5,
        index_field(SNAPSHOT_HEADER),
    ),
}
