"""A plain reader of logs, which shares no code with kdump: it walks from batch to batch, and says whether all is intact."""

import gzip
import struct
import zlib
from dataclasses import dataclass, field, replace

import lz4.frame
import snappy
import zstandard

from .builders.checksums import crc32c
from .builders.compression import snappy_blocks

Header = tuple[bytes, bytes | None]


@dataclass(frozen=True)
class PlainRecord:
    """A record as it stands in a batch at `position`."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    position: int
    producer_id: int
    is_intact: bool
    is_legacy: bool = False


@dataclass
class PlainLog:
    """The records of a log, and whether each byte belongs to an intact batch.

    `is_readable` says whether the bytes of all batches are records. Where a package refuses to decompress an intact batch, it is
    not `is_certain`: Kafka is less strict than some packages, and more than others.
    """

    records: list[PlainRecord] = field(default_factory=list)
    is_intact: bool = True
    is_readable: bool = True
    is_certain: bool = True


class NotReadable(Exception):
    """Bytes that are no records."""


class NotDecompressed(NotReadable):
    """Bytes that a codec does not decompress."""


def read(data: bytes) -> PlainLog:
    """All batches from the start of a log on, up to where a length cannot be."""
    log, position = PlainLog(), 0
    while position < len(data):
        size = size_at(data, position)
        if size is None:
            log.is_intact = False
            break
        try:
            found = batch_at(data, position)
            log.records += found
            log.is_intact &= is_crc_right(data, position)
        except NotReadable as error:
            log.is_readable = False
            is_right = is_crc_right(data, position)
            log.is_intact &= is_right
            log.is_certain &= not is_right or not isinstance(error, NotDecompressed)
        position += size
    return log


def size_at(data: bytes, position: int) -> int | None:
    """The size of the batch that starts here, if it may be one."""
    if len(data) - position < 17:
        return None
    length, magic = struct.unpack_from(">i", data, position + 8)[0], data[position + 16]
    if magic > 2 or length < (49 if magic == 2 else 14) or position + 12 + length > len(data):
        return None
    return 12 + int(length)


def is_crc_right(data: bytes, position: int) -> bool:
    """Whether the stored CRC of the batch here fits."""
    end = position + (size_at(data, position) or 0)
    if data[position + 16] == 2:
        return int.from_bytes(data[position + 17 : position + 21], "big") == crc32c(data[position + 21 : end])
    return int.from_bytes(data[position + 12 : position + 16], "big") == zlib.crc32(data[position + 16 : end])


def batch_at(data: bytes, position: int) -> list[PlainRecord]:
    """The records of the batch here, whether or not its CRC fits. Raises NotReadable."""
    size = size_at(data, position)
    if size is None:
        raise NotReadable
    try:
        is_intact = is_crc_right(data, position)
        batch = data[position : position + size]
        return _messages(batch, position, is_intact) if batch[16] < 2 else _records(batch, position, is_intact)
    except (IndexError, struct.error) as error:
        raise NotReadable from error


def _records(batch: bytes, position: int, is_intact: bool) -> list[PlainRecord]:
    base_offset = struct.unpack_from(">q", batch)[0]
    attributes, _, base_time, max_time, producer_id, _, _, count = struct.unpack_from(">hiqqqhii", batch, 21)
    if count <= 0:
        if len(batch) > 61 or count < 0:
            raise NotReadable
        return []
    payload = _decompressed(attributes & 7, batch[61:])
    records, at = [], 0
    for _ in range(count):
        length, at = _varint(payload, at)
        end = at + length
        if length < 0 or end > len(payload):
            raise NotReadable
        at += 1
        time_delta, at = _varint(payload, at, 10)
        offset_delta, at = _varint(payload, at)
        key, at = _bytes(payload, at)
        value, at = _bytes(payload, at)
        header_count, at = _varint(payload, at)
        if header_count < 0:
            raise NotReadable
        headers = []
        for _ in range(header_count):
            name, at = _bytes(payload, at)
            of, at = _bytes(payload, at)
            if name is None:
                raise NotReadable
            headers.append((name, of))
        if at != end:
            raise NotReadable
        time = max_time if attributes & 8 else base_time + time_delta
        records.append(
            PlainRecord(_as_long(base_offset + offset_delta), time, key, value, tuple(headers), position, producer_id, is_intact)
        )
    if at != len(payload):
        raise NotReadable
    return records


def _messages(batch: bytes, position: int, is_intact: bool, is_inner: bool = False) -> list[PlainRecord]:
    offset, magic, attributes = struct.unpack_from(">q", batch)[0], batch[16], batch[17]
    time, at = (struct.unpack_from(">q", batch, 18)[0], 26) if magic else (-1, 18)
    key, at = _sized(batch, at)
    value, at = _sized(batch, at)
    codec = attributes & 7
    if not codec:
        return [PlainRecord(offset, time, key, value, (), position, -1, is_intact, True)]
    if value is None or codec == 4 or is_inner:
        raise NotReadable
    inner = _decompressed(codec, value)
    found: list[PlainRecord] = []
    at = 0
    while at < len(inner):
        size = size_at(inner, at)
        if size is None or not is_crc_right(inner, at):
            raise NotReadable
        found += _messages(inner[at : at + size], position, is_intact, is_inner=True)
        at += size
    if not found:
        raise NotReadable
    if magic and offset and offset < found[-1].offset:
        raise NotReadable
    base = offset - found[-1].offset if magic and found and offset else 0
    append_time = time if attributes & 8 else None
    times = [each.timestamp if append_time is None else append_time for each in found]
    return [replace(each, offset=_as_long(each.offset + base), timestamp=at) for each, at in zip(found, times, strict=True)]


def _sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    size = struct.unpack_from(">i", data, at)[0]
    if size < 0:
        return None, at + 4
    if at + 4 + size > len(data):
        raise NotReadable
    return data[at + 4 : at + 4 + size], at + 4 + size


def _as_long(number: int) -> int:
    """A sum as Java has it, which wraps around: a damaged offset may be the highest."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _varint(data: bytes, at: int, most: int = 5) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at
        if shift == 7 * most:
            raise NotReadable


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _varint(data, at)
    if size < 0:
        return None, at
    if at + size > len(data):
        raise NotReadable
    return data[at : at + size], at + size


def _decompressed(codec: int, data: bytes) -> bytes:
    try:
        if codec == 0:
            return data
        if codec == 1:
            return gzip.decompress(data)
        if codec == 2:
            return b"".join(bytes(snappy.decompress(block)) for block in snappy_blocks(data))
        if codec == 3:
            return bytes(lz4.frame.decompress(data))
        if codec == 4:
            return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    except Exception as error:  # of five packages
        raise NotDecompressed from error
    raise NotDecompressed
