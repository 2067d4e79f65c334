"""The partition that the default partitioner of Kafka's clients gives a key."""

from __future__ import annotations

_SEED, _M, _R = 0x9747B28C, 0x5BD1E995, 24
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit hash of a key, as an unsigned number. Kafka: Utils.murmur2."""
    size = len(data)
    hashed = _SEED ^ size
    whole = size & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> _R) * _M & _MASK
        hashed = hashed * _M & _MASK ^ k
    if whole < size:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    hashed = (hashed ^ hashed >> 13) * _M & _MASK
    return hashed ^ hashed >> 15


def partition_of(key: bytes, count: int) -> int:
    """The partition of a key in a topic of `count` partitions. Kafka: BuiltInPartitioner.partitionForKey, Utils.toPositive."""
    return (murmur2(key) & 0x7FFFFFFF) % count
