"""Files that cost most to read: deterministic, and of any size, so that one can see how the cost grows with the size."""

import random
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .records import batch, message, message_set, record, transaction_marker

SEED = 28


class Hostile(NamedTuple):
    """A kind of file: `build` makes the bytes of each file of its directory by suffix or name, with so many of its parts.

    The file in question has the `suffix`, or the name if that does not start with a dot. `parts` is how many the campaign uses
    at its full size; `directory` is the name of the partition directory.
    """

    name: str
    suffix: str
    parts: int
    build: Callable[[int], dict[str, bytes]]
    directory: str = "t-0"


def batches(count: int, between: Callable[[random.Random], bytes]) -> bytes:
    """Sound batches of one record with these bytes after each."""
    chance = random.Random(SEED)
    one = batch(records=[record(key=b"k")])
    # the CRC does not cover the offset: all batches are the same but for that
    return b"".join(struct.pack(">q", offset) + one[8:] + between(chance) for offset in range(count))


def batches_with_wrong_crc(count: int) -> bytes:
    """Batches whose CRC does not fit and whose records decode in part."""
    records = [record(key=b"k", value=b"v") for _ in range(5)]
    one = bytearray(batch(records=records))
    at = len(one) - 7  # the sizes in the last record
    one[at : at + 4] = b"\xff\xff\x03\x03"
    return b"".join(struct.pack(">q", 5 * number) + bytes(one[8:]) for number in range(count))


def headers(count: int, largest: int = 1 << 20) -> bytes:
    """Headers of batches of random sizes, one after the other, and no batch."""
    chance = random.Random(SEED)
    one = batch(records=[record(key=b"k")])[12:61]
    return b"".join(struct.pack(">qi", offset, chance.randrange(61, largest)) + one for offset in range(count))


def old_headers(count: int) -> bytes:
    """Headers of messages of magic 1, one after the other, each of which claims some of those that follow."""
    chance = random.Random(SEED)
    rest = b"\x01\x00" + bytes(8) + b"\xff\xff\xff\xff"
    return b"".join(
        struct.pack(">qiI", offset, chance.randrange(22, 1 << 16), chance.getrandbits(32)) + rest for offset in range(count)
    )


def index_into(log: bytes, count: int, size: int = 1) -> bytes:
    """An offset index whose entries have offsets that are too large and point to random multiples of a size in a log."""
    chance = random.Random(SEED)
    places = len(log) // size
    return b"".join(struct.pack(">ii", 1 << 30, size * chance.randrange(places)) for _ in range(count))


def batches_and_claims(count: int) -> bytes:
    """Sound batches, and after each a header that claims all of the rest of the file but its last byte."""
    one = batch(records=[record(key=b"k")])
    part_size, header = len(one) + 61, one[12:61]
    size = count * part_size
    parts = []
    for number in range(count):
        start = number * part_size + len(one)
        parts += [struct.pack(">q", number), one[8:], struct.pack(">qi", number, size - start - 13), header]
    return b"".join(parts)


def messages_and_headers(count: int) -> bytes:
    """Sound messages of magic 1, and after each the header of a batch that claims too much."""
    one = message_set(messages=[message(value=b"v", magic=1)])
    header = struct.pack(">i", 1 << 30) + batch(records=[record(key=b"k")])[12:61]
    return b"".join(struct.pack(">q", number) + one[8:] + struct.pack(">q", number) + header for number in range(count))


def aborted_transactions(count: int) -> bytes:
    """Transactions of one record, each of which a marker aborts."""
    of_producer: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True, "records": [record(key=b"k")]}
    return b"".join(
        batch(base_sequence=number, base_offset=2 * number, **of_producer)
        + transaction_marker(is_commit=False, base_offset=2 * number + 1)
        for number in range(count)
    )


def sound(count: int) -> bytes:
    return batches(count, lambda _: b"")


def log(name: str, parts: int, build: Callable[[int], bytes], directory: str = "t-0") -> Hostile:
    return Hostile(name, ".log", parts, lambda count: {".log": build(count)}, directory)


def _cycled(count: int, one: bytes, records: int = 1, *, descends: bool = False) -> bytes:
    """So many copies of a batch, whose offsets go on, or go down."""
    numbers = range(count, 0, -1) if descends else range(count)
    return b"".join(struct.pack(">q", records * number) + one[8:] for number in numbers)


def _index(name: str, parts: int, entries: Callable[[int], Iterable[tuple[int, int]]]) -> Hostile:
    """An offset index of these entries, beside a small log."""
    return Hostile(name, ".index", parts, lambda count: {".index": _packed(">ii", entries(count)), ".log": sound(1000)})


def _packed(form: str, entries: Iterable[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack(form, *entry) for entry in entries)


def _random_pairs(count: int, *most: int) -> Iterator[tuple[int, int]]:
    chance = random.Random(SEED)
    return ((chance.randrange(most[0]), chance.randrange(1, most[1])) for _ in range(count))


def _into(log_of: int, count: int, size: int) -> dict[str, bytes]:
    return {".index": index_into(sound(log_of), count, size), ".log": sound(log_of)}


_ONE = batch(records=[record(key=b"k")])
_CUT = batch(records=[record(key=b"key", value=bytes(range(40)))])[:-30]
_SMALL = batch(records=[record() for _ in range(1000)])

HOSTILE = (
    log("random bytes between batches", 20_000, lambda count: batches(count, lambda chance: chance.randbytes(50))),
    log("zeros between batches", 8_000, lambda count: batches(count, lambda _: bytes(600))),
    log("wrong CRCs", 30_000, batches_with_wrong_crc),
    log("headers of batches", 137_000, headers),
    log("02 00 00", 2 << 20, lambda count: b"\x02\x00\x00" * count),
    log("batches cut off", 30_000, lambda count: _cycled(count, _CUT)),
    log("headers of messages", 100_000, old_headers),
    log("batches that claim the rest", 20_000, batches_and_claims),
    log("messages and headers", 20_000, messages_and_headers),
    log("descending batches", 30_000, lambda count: _cycled(count, _ONE, descends=True)),
    log("aborted transactions", 30_000, aborted_transactions),
    log("small records", 300, lambda count: _cycled(count, _SMALL, 1000)),
    _index("descending index", 2_000_000, lambda count: ((number, number) for number in range(count, 0, -1))),
    _index("random index", 1_000_000, lambda count: _random_pairs(count, 1 << 30, 1 << 30)),
    Hostile("index to anywhere", ".index", 600_000, lambda count: _into(count // 10, count, 1)),
    Hostile("index to batches of other offsets", ".index", 600_000, lambda count: _into(count // 10, count, len(sound(1)))),
    _index("index to the start", 500_000, lambda count: ((1_000_000 + number, 0) for number in range(count))),
    Hostile(
        "random time index",
        ".timeindex",
        1_000_000,
        lambda n: {".timeindex": _packed(">qi", _random_pairs(n, 1 << 62, 1 << 30)), ".index": b"", ".log": sound(1000)},
    ),
    Hostile(
        "time index without index",
        ".timeindex",
        20_000,
        lambda n: {".timeindex": _packed(">qi", _random_pairs(10 * n, 1 << 40, n)), ".index": b"", ".log": sound(n)},
    ),
)
"""The dearest that are known."""
