"""Files that cost most to read: deterministic, and of any size, so that one can see how the cost grows with the size."""

import random
import struct
from collections.abc import Callable
from typing import NamedTuple

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


def cut_batches(count: int) -> bytes:
    """Batches of which the last bytes are missing."""
    one = batch(records=[record(key=b"key", value=bytes(range(40)))])
    return b"".join(struct.pack(">q", offset) + one[8:-30] for offset in range(count))


def old_headers(count: int) -> bytes:
    """Headers of messages of magic 1, one after the other, each of which claims some of those that follow."""
    chance = random.Random(SEED)
    rest = b"\x01\x00" + bytes(8) + b"\xff\xff\xff\xff"
    return b"".join(
        struct.pack(">qiI", offset, chance.randrange(22, 1 << 16), chance.getrandbits(32)) + rest for offset in range(count)
    )


def descending_index(count: int) -> bytes:
    """An offset index whose entries go down from the first to the last."""
    return b"".join(struct.pack(">ii", number, number) for number in range(count, 0, -1))


def random_time_index(count: int) -> bytes:
    """A time index of random entries."""
    chance = random.Random(SEED)
    return b"".join(struct.pack(">qi", chance.getrandbits(62), chance.getrandbits(30)) for _ in range(count))


def random_index(count: int) -> bytes:
    """An offset index of random entries."""
    chance = random.Random(SEED)
    return b"".join(struct.pack(">ii", chance.getrandbits(30), chance.getrandbits(30)) for _ in range(count))


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


def descending_batches(count: int) -> bytes:
    """Sound batches whose offsets go down from the first to the last."""
    one = batch(records=[record(key=b"k")])
    return b"".join(struct.pack(">q", number) + one[8:] for number in range(count, 0, -1))


def aborted_transactions(count: int) -> bytes:
    """Transactions of one record, each of which a marker aborts."""
    parts = []
    for number in range(count):
        parts += [
            batch(
                records=[record(key=b"k")],
                producer_id=1,
                producer_epoch=0,
                base_sequence=number,
                is_transactional=True,
                base_offset=2 * number,
            ),
            transaction_marker(is_commit=False, base_offset=2 * number + 1),
        ]
    return b"".join(parts)


def small_records(count: int) -> bytes:
    """Sound batches of 1000 records that are as small as they can be."""
    one = batch(records=[record() for _ in range(1000)])
    return b"".join(struct.pack(">q", 1000 * number) + one[8:] for number in range(count))


def index_to_start(count: int) -> bytes:
    """An offset index all of whose entries point to the first batch, with offsets that it does not hold."""
    return b"".join(struct.pack(">ii", 1_000_000 + number, 0) for number in range(count))


def time_index_within(count: int) -> bytes:
    """A time index of random entries whose offsets are in a log of this many batches, ten for each."""
    chance = random.Random(SEED)
    return b"".join(struct.pack(">qi", chance.getrandbits(40), chance.randrange(1, count)) for _ in range(10 * count))


def sound(count: int) -> bytes:
    """Sound batches, one after the other."""
    return batches(count, lambda _: b"")


HOSTILE = (
    Hostile(
        "random bytes between batches",
        ".log",
        20_000,
        lambda count: {".log": batches(count, lambda chance: chance.randbytes(50))},
    ),
    Hostile("zeros between batches", ".log", 8_000, lambda count: {".log": batches(count, lambda _: bytes(600))}),
    Hostile("wrong CRCs", ".log", 30_000, lambda count: {".log": batches_with_wrong_crc(count)}),
    Hostile("headers of batches", ".log", 137_000, lambda count: {".log": headers(count)}),
    Hostile("02 00 00", ".log", 2 << 20, lambda count: {".log": b"\x02\x00\x00" * count}),
    Hostile("batches cut off", ".log", 30_000, lambda count: {".log": cut_batches(count)}),
    Hostile("headers of messages", ".log", 100_000, lambda count: {".log": old_headers(count)}),
    Hostile("batches that claim the rest", ".log", 20_000, lambda count: {".log": batches_and_claims(count)}),
    Hostile("messages and headers", ".log", 20_000, lambda count: {".log": messages_and_headers(count)}),
    Hostile("descending batches", ".log", 30_000, lambda count: {".log": descending_batches(count)}),
    Hostile("aborted transactions", ".log", 30_000, lambda count: {".log": aborted_transactions(count)}),
    Hostile("small records", ".log", 300, lambda count: {".log": small_records(count)}),
    Hostile("descending index", ".index", 2_000_000, lambda count: {".index": descending_index(count), ".log": sound(1000)}),
    Hostile("random index", ".index", 1_000_000, lambda count: {".index": random_index(count), ".log": sound(1000)}),
    Hostile(
        "index to anywhere",
        ".index",
        600_000,
        lambda count: {".index": index_into(sound(count // 10), count), ".log": sound(count // 10)},
    ),
    Hostile(
        "index to batches of other offsets",
        ".index",
        600_000,
        lambda count: {".index": index_into(sound(count // 10), count, len(sound(1))), ".log": sound(count // 10)},
    ),
    Hostile("index to the start", ".index", 500_000, lambda count: {".index": index_to_start(count), ".log": sound(1000)}),
    Hostile(
        "random time index",
        ".timeindex",
        1_000_000,
        lambda count: {".timeindex": random_time_index(count), ".index": b"", ".log": sound(1000)},
    ),
    Hostile(
        "time index without index",
        ".timeindex",
        20_000,
        lambda count: {".timeindex": time_index_within(count), ".index": b"", ".log": sound(count)},
    ),
)
"""The dearest that are known."""
