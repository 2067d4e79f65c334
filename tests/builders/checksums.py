"""The checksums of Kafka's files that the standard library does not have."""

import struct

from crc32c import crc32c

__all__ = ["crc32c", "xxhash32"]


def xxhash32(data: bytes) -> int:
    """The xxHash32 of `data` with seed 0, unsigned: the checksum inside LZ4 frames."""
    whole_size = len(data) - len(data) % 16
    if whole_size:
        lanes = [(_PRIME_1 + _PRIME_2) & _U32, _PRIME_2, 0, -_PRIME_1 & _U32]
        for words in struct.iter_unpack("<4I", data[:whole_size]):
            lanes = [_xxhash32_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
        accumulator = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        accumulator = _PRIME_5
    accumulator = (accumulator + len(data)) & _U32
    rest = data[whole_size:]
    word_size = len(rest) - len(rest) % 4
    for (word,) in struct.iter_unpack("<I", rest[:word_size]):
        accumulator = _rotate((accumulator + word * _PRIME_3) & _U32, 17) * _PRIME_4 & _U32
    for byte in rest[word_size:]:
        accumulator = _rotate((accumulator + byte * _PRIME_5) & _U32, 11) * _PRIME_1 & _U32
    accumulator = (accumulator ^ (accumulator >> 15)) * _PRIME_2 & _U32
    accumulator = (accumulator ^ (accumulator >> 13)) * _PRIME_3 & _U32
    return accumulator ^ (accumulator >> 16)


_U32 = 0xFFFFFFFF
_PRIME_1 = 0x9E3779B1
_PRIME_2 = 0x85EBCA77
_PRIME_3 = 0xC2B2AE3D
_PRIME_4 = 0x27D4EB2F
_PRIME_5 = 0x165667B1


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _U32


def _xxhash32_round(lane: int, word: int) -> int:
    return _rotate((lane + word * _PRIME_2) & _U32, 13) * _PRIME_1 & _U32
