"""Creates the files to be measured: a few hundred different batches, repeated with new offsets, timestamps and checksums.

Batches of internal topics are those of golden cases, which brokers wrote.
"""

import hashlib
import random
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from crc32c import crc32c

from golden_outputs.runs import CASES
from kdump.binary.batch_header import batch_size
from tests.builders.compression import Codec
from tests.builders.records import TIMESTAMP, Record, batch, encode_record, message, message_set, wrapper

MIB = 1 << 20
NATURAL_INTERVAL = 4096  # Kafka's index.interval.bytes
NAME = "00000000000000000000"

_VARIETY = 4 * MIB  # of uncompressed bytes, after which the batches are repeated
_MOST_DIFFERENT = 4096
_WRITE_SIZE = 4 * MIB
_LAST_POSITION = (1 << 31) - 1  # that an index entry can hold
_WORDS = {
    "ascii": (
        "click",
        "view",
        "purchase",
        "refund",
        "login",
        "logout",
        "search",
        "share",
        "basket",
        "checkout",
        "error",
        "retry",
    ),
    "mixed": ("click", "größer", "поиск", "購入する", "login", "déjà", "सदस्य", "share", "Καλάθι", "😀👍", "error", "żółty"),
}


class Segment(NamedTuple):
    """A segment to create: `size` bytes of log before compression, or an exact number of batches.

    Its batches are those in the logs of golden `cases`, if there are any.
    """

    size: int
    records_per_batch: int = 160
    text: Literal["ascii", "mixed"] = "ascii"
    has_headers: bool = False
    codec: Codec = "none"
    magic: Literal[1, 2] = 2
    index_interval: int = NATURAL_INTERVAL
    batch_count: int | None = None
    cases: tuple[str, ...] = ()


def made(segment: Segment, home: Path) -> Path:
    """The log of a segment, with its two indexes beside it. It is created if missing."""
    recipe = hashlib.sha256(Path(__file__).read_bytes() + repr(segment).encode()).hexdigest()[:12]
    folder = home / f"{segment.size // MIB}mib-{recipe}"
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        _write(segment, unfinished)
        unfinished.rename(folder)
    return folder / f"{NAME}.log"


class _Prototype(NamedTuple):
    """A batch to be repeated."""

    data: bytes
    plain_size: int
    record_count: int


def _write(segment: Segment, folder: Path) -> None:
    paths = (folder / f"{NAME}{suffix}" for suffix in (".log", ".index", ".timeindex"))
    log, index, time_index = (path.open("wb") for path in paths)
    with log, index, time_index:
        _repeat(segment, list(_prototypes(segment)), log, index, time_index)


def _repeat(segment: Segment, prototypes: list[_Prototype], log: BinaryIO, index: BinaryIO, time_index: BinaryIO) -> None:
    renumber = _renumber_batch if segment.magic == 2 else _renumber_message
    block = bytearray(b"".join(prototype.data for prototype in prototypes))
    position = offset = plain_size = batch_count = unindexed = 0
    timestamp = TIMESTAMP
    with memoryview(block) as view:
        while True:
            start = written = 0
            for prototype in prototypes:
                size = len(prototype.data)
                if batch_count == segment.batch_count or segment.batch_count is None and plain_size >= segment.size:
                    log.write(view[written:start])
                    return
                last_offset, last_timestamp = offset + prototype.record_count - 1, timestamp + prototype.record_count - 1
                if segment.magic == 1:  # a wrapper has the offset and the time of its last message
                    offset, timestamp = last_offset, last_timestamp
                renumber(block, view, start, start + size, offset, timestamp, last_timestamp)
                # as Kafka does: by what was appended since the last entry
                if unindexed > segment.index_interval and position <= _LAST_POSITION:
                    index.write(struct.pack(">ii", last_offset, position))
                    time_index.write(struct.pack(">qi", last_timestamp, last_offset))
                    unindexed = 0
                start, position, unindexed = start + size, position + size, unindexed + size
                offset, timestamp = last_offset + 1, last_timestamp + 1
                plain_size, batch_count = plain_size + prototype.plain_size, batch_count + 1
                if start - written >= _WRITE_SIZE:
                    log.write(view[written:start])
                    written = start
            log.write(view[written:])


def _renumber_batch(
    block: bytearray, view: memoryview, start: int, end: int, offset: int, timestamp: int, last_timestamp: int
) -> None:
    struct.pack_into(">q", block, start, offset)
    struct.pack_into(">qq", block, start + 27, timestamp, last_timestamp)
    struct.pack_into(">I", block, start + 17, crc32c(view[start + 21 : end]))


def _renumber_message(
    block: bytearray, view: memoryview, start: int, end: int, offset: int, timestamp: int, last_timestamp: int
) -> None:
    struct.pack_into(">q", block, start, offset)
    struct.pack_into(">q", block, start + 18, timestamp)
    struct.pack_into(">I", block, start + 12, zlib.crc32(view[start + 16 : end]))


def _prototypes_of(case: str) -> Iterator[_Prototype]:
    for path in sorted((CASES / case).rglob("*.log")):
        data = path.read_bytes()
        start = 0
        while start < len(data):
            size = batch_size(data, start)
            (last_offset_delta,) = struct.unpack_from(">i", data, start + 23)
            yield _Prototype(data[start : start + size], size, last_offset_delta + 1)
            start += size


def _prototypes(segment: Segment) -> Iterator[_Prototype]:
    for case in segment.cases:
        yield from _prototypes_of(case)
    if segment.cases:
        return
    source = random.Random(repr(segment))
    plain_size = count = 0
    while plain_size < min(_VARIETY, segment.size) and count < _MOST_DIFFERENT:
        records = [_record(source, row, segment) for row in range(segment.records_per_batch)]
        if segment.magic == 1:
            messages = [message(key=record.key, value=record.value) for record in records]
            plain = data = message_set(messages=messages)
            if segment.codec != "none":  # those inside have the time of their wrapper
                data = wrapper(messages=messages, codec=segment.codec, timestamp_type="LogAppendTime")
        else:
            encoded = [encode_record(record, row=row) for row, record in enumerate(records)]
            plain = batch(records=encoded, base_timestamp=TIMESTAMP, crc=0)
            data = batch(records=encoded, base_timestamp=TIMESTAMP, crc=0, codec=segment.codec)
        yield _Prototype(data, len(plain), len(records))
        plain_size, count = plain_size + len(plain), count + 1


def _record(source: random.Random, row: int, segment: Segment) -> Record:
    """A record of about 100 bytes, a millisecond after the previous one."""
    words = [source.choice(_WORDS[segment.text]) for _ in range(5)]
    user, amount = source.randrange(200_000), source.randrange(100_000) / 100
    value = f'{{"user":"u{user:06}","amount":{amount:.2f},"event":"{words[0]}","note":"{" ".join(words[1:])}"}}'
    headers = [("trace", b"%08x" % source.getrandbits(32))] if segment.has_headers else []
    return Record(key=b"k%07d" % source.randrange(10_000_000), value=value.encode(), timestamp_delta=row, headers=headers)
