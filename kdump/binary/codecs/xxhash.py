"""xxHash, the checksum of LZ4 frames."""

_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_U32 = 0xFFFFFFFF


def xxhash32(data: bytes) -> int:
    """The checksum of LZ4 frames: xxHash, 32 bits, seed 0."""
    size = len(data)
    position = 0
    if size >= 16:
        lanes = [_PRIME_1 + _PRIME_2 & _U32, _PRIME_2, 0, -_PRIME_1 & _U32]
        for position in range(0, size - 15, 16):
            for lane in range(4):
                start = position + 4 * lane
                mixed = lanes[lane] + int.from_bytes(data[start : start + 4], "little") * _PRIME_2 & _U32
                lanes[lane] = _rotated(mixed, 13) * _PRIME_1 & _U32
        position += 16
        accumulated = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        accumulated = _PRIME_5
    accumulated = accumulated + size & _U32
    while position + 4 <= size:
        word = int.from_bytes(data[position : position + 4], "little")
        accumulated = _rotated(accumulated + word * _PRIME_3 & _U32, 17) * _PRIME_4 & _U32
        position += 4
    for byte in data[position:]:
        accumulated = _rotated(accumulated + byte * _PRIME_5 & _U32, 11) * _PRIME_1 & _U32
    accumulated = (accumulated ^ accumulated >> 15) * _PRIME_2 & _U32
    accumulated = (accumulated ^ accumulated >> 13) * _PRIME_3 & _U32
    return accumulated ^ accumulated >> 16


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _U32
