"""Logs with a fault in each batch, or in every other one, deterministic and of any size."""

import random
import struct
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from .hostile import SEED, Hostile, log
from .records import batch, message, message_set, record

Fault: TypeAlias = Callable[[random.Random, bytearray], bytes]

_LENGTH, _LEADER_EPOCH, _MAGIC, _CODEC = 8, 12, 16, 22
_MESSAGE = message_set(messages=[message(key=b"k", value=b"value", magic=1)])
_LONG_MESSAGE = message_set(messages=[message(value=bytes(60), magic=0)])  # as one of magic 2, it is not too short
_BATCH = batch(records=[record(key=b"k%d" % number, value=b"value") for number in range(3)])


def with_faults(count: int, *, every: int, fault: Fault, whole: bytes = _BATCH, records: int = 3) -> bytes:
    """So many batches with consecutive offsets, and the fault in each one of `every`."""
    chance = random.Random(SEED)
    parts: list[bytes] = []
    for number in range(count):
        data = bytearray(whole)
        struct.pack_into(">q", data, 0, number * records)
        parts.append(fault(chance, data) if number % every == every - 1 else bytes(data))
    return b"".join(parts)


def flipped(chance: random.Random, data: bytearray) -> bytes:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def torn(chance: random.Random, data: bytearray) -> bytes:
    return bytes(data[: chance.randrange(len(data))])


def _put(place: int, form: str, number: Callable[[random.Random, bytearray], int]) -> Fault:
    def change(chance: random.Random, data: bytearray) -> bytes:
        struct.pack_into(form, data, place, number(chance, data))
        return bytes(data)

    return change


def _at(place: int, form: str, *values: int) -> Fault:
    return _put(place, form, lambda chance, _: chance.choice(values))


def _longer_by(size: int) -> Fault:
    """With a length that claims so much more than there is."""
    return _put(_LENGTH, ">i", lambda _, data: len(data) - 12 + size)


def _random_at(place: int, form: str, bits: int) -> Fault:
    return _put(place, form, lambda chance, _: chance.getrandbits(bits))


def _then(more: Callable[[random.Random, bytearray], bytes]) -> Fault:
    return lambda chance, data: bytes(data) + more(chance, data)


def _of_several(*faults: Fault) -> Fault:
    return lambda chance, data: chance.choice(faults)(chance, data)


def _kind(name: str, parts: int, fault: Fault, *, every: int = 2, whole: bytes = _BATCH, records: int = 3) -> Hostile:
    build = partial(with_faults, every=every, fault=fault, whole=whole, records=records)
    return log(name, parts, build)


def _broken_before_more(chance: random.Random, data: bytearray) -> bytes:
    return bytes(data[:-1]) + b"?" + chance.randbytes(20)


_OLD_MAGIC = _at(_MAGIC, ">b", 1, 0)

FAULTS = (
    _kind("a flipped bit in each", 22_000, flipped, every=1),
    _kind("a flipped bit in every other", 22_000, flipped),
    _kind("negative lengths", 22_000, _at(_LENGTH, ">i", -1, -(1 << 31))),
    _kind("lengths past the end", 22_000, _at(_LENGTH, ">i", (1 << 31) - 1)),
    _kind("lengths too large by 40", 22_000, _longer_by(40)),
    _kind("lengths of two batches", 22_000, _longer_by(len(_BATCH))),
    _kind("random lengths", 22_000, _random_at(_LENGTH, ">I", 32)),
    _kind("random lengths up to 64 KiB", 22_000, _random_at(_LENGTH, ">I", 16)),
    _kind("unknown magics", 22_000, _at(_MAGIC, ">b", 3, -1, 100)),
    _kind("magic 1 in batches", 22_000, _OLD_MAGIC),
    _kind("magics of every third, or bytes after it", 22_000, _of_several(_OLD_MAGIC, _then(lambda *_: bytes(20))), every=3),
    _kind("magic 2 in messages", 22_000, _at(_MAGIC, ">b", 2), whole=_LONG_MESSAGE, records=1),
    _kind("unknown codecs", 22_000, _at(_CODEC, ">b", 7)),
    _kind("random offsets", 22_000, _random_at(0, ">q", 63)),
    _kind("random offsets of each", 22_000, _random_at(0, ">q", 40), every=1),
    _kind("random leader epochs", 22_000, _random_at(_LEADER_EPOCH, ">I", 31)),
    _kind("each twice", 11_000, _then(lambda _, data: bytes(data)), every=1),
    _kind("some bytes after every third", 22_000, _then(lambda chance, _: chance.randbytes(chance.randrange(80))), every=3),
    _kind("torn batches", 30_000, torn),
    _kind("torn after the header", 30_000, lambda _, data: bytes(data[:61])),
    _kind("zeros over every other", 22_000, lambda _, data: bytes(len(data))),
    _kind("another partition's between", 11_000, _then(lambda chance, it: chance.randbytes(5) + b"\0\7\0" + it[8:]), every=1),
    _kind("a flipped bit in every other message", 40_000, flipped, whole=_MESSAGE, records=1),
    _kind("bytes after every other message", 40_000, _then(lambda chance, _: chance.randbytes(20)), whole=_MESSAGE, records=1),
    _kind("broken messages with bytes after them", 30_000, _broken_before_more, whole=_MESSAGE, records=1),
)
"""Each fault alone is common; thousands of them are not."""
