"""Files that cost a careless reader more memory than they are worth, each made in a few seconds and always the same."""

import random
import struct
import zlib
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import snappy
import zstandard
from crc32c import crc32c

from tests.builders.compression import CODEC_IDS, XERIAL_MAGIC, Codec, lz4_frame
from tests.builders.hostile_contents import batch_of
from tests.builders.records import TIMESTAMP, Record, batch, encode_record, unsigned_varint, varint

MIB = 1 << 20
LOG = "00000000000000000000.log"
_WRITE_SIZE = 4 * MIB


class HostileFile(NamedTuple):
    """A file, or a partition directory, to be made; `made` writes it into a folder, with sizes times `scale`."""

    name: str
    made: Callable[[Path, float], Path]


# --- one batch


def _one_batch(folder: Path, payload: bytes, *, codec: Codec = "none", count: int = 1, is_control: bool = False) -> Path:
    """A segment of one batch of magic 2, whose CRC is right."""
    return _log(folder, [batch_of(payload, codec=codec, count=count, attributes=is_control << 5)])


def _log(folder: Path, parts: Iterator[bytes] | list[bytes], name: str = LOG) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / name, parts)
    return folder


def _write(path: Path, parts: Iterator[bytes] | list[bytes]) -> Path:
    held = bytearray()
    with path.open("wb") as file:
        for part in parts:
            held += part
            if len(held) > _WRITE_SIZE:
                file.write(held)
                held.clear()
        file.write(held)
    return path


def _compressed(codec: str, parts: Iterator[bytes]) -> bytes:
    """These parts as one payload, whatever they come to."""
    if codec == "gzip":
        deflate = zlib.compressobj(6, zlib.DEFLATED, 31)
        return b"".join([*map(deflate.compress, parts), deflate.flush()])
    if codec == "zstd":
        stream = zstandard.ZstdCompressor(level=3).compressobj()
        return b"".join([*map(stream.compress, parts), stream.flush()])
    if codec == "snappy":
        blocks = [bytes(snappy.compress(part)) for part in parts]
        return XERIAL_MAGIC + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    if codec == "none":
        return b"".join(parts)
    raise ValueError(codec)


def _repeated(data: bytes, count: int) -> Iterator[bytes]:
    """So many copies of these bytes, in parts of about a MiB."""
    at_once = max(1, MIB // len(data))
    for _ in range(count // at_once):
        yield data * at_once
    if count % at_once:
        yield data * (count % at_once)


def _long_record(folder: Path, codec: Codec, *, key: int = 0, value: int = 0, header: bytes = b"", headers: int = 0) -> Path:
    """A batch of one record with a key and a value of zeros of these sizes, and so many headers that are all the same."""
    head = b"\0\0\0"  # attributes, timestamp delta, offset delta
    parts = [(varint(key), key), (varint(value), value)]
    size = len(head) + sum(len(length) + count for length, count in parts) + len(varint(headers)) + headers * len(header)

    def plain() -> Iterator[bytes]:
        yield varint(size) + head
        for length, count in parts:
            yield length
            if count:
                yield from _repeated(b"\0", count)
        yield varint(headers)
        if headers:
            yield from _repeated(header, headers)

    return _one_batch(folder, _compressed(codec, plain()), codec=codec)


def _tiny_records(folder: Path, codec: Codec, count: int, claimed: int) -> Path:
    """A batch of so many records without key and value, all of offset delta 0, that claims to hold another number."""
    record = encode_record(Record(offset_delta=0))
    return _one_batch(folder, _compressed(codec, _repeated(record, count)), codec=codec, count=claimed)


def _bomb(folder: Path, codec: str, size: int) -> Path:
    """A batch whose payload comes to so many zeros: a record of no length, over and over."""
    if codec == "lz4":
        return _one_batch(folder, _lz4_bomb(size), codec="lz4")
    if codec == "snappy-block":  # without a framing: one block
        return _one_batch(folder, bytes(snappy.compress(bytes(size))), codec="snappy")
    if codec == "zstd-window":
        parameters = zstandard.ZstdCompressionParameters(window_log=27, compression_level=1)
        stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        payload = b"".join([*map(stream.compress, _repeated(b"\0", size)), stream.flush()])
        return _one_batch(folder, payload, codec="zstd")
    return _one_batch(folder, _compressed(codec, _repeated(b"\0", size)), codec=codec)  # type: ignore[arg-type]  # the others


def _lz4_bomb(size: int) -> bytes:
    """A frame of blocks of 4 MiB, each the same."""
    frame = lz4_frame(bytes(4 * MIB), block_size_code=7)
    head, block, end = frame[:7], frame[7:-4], frame[-4:]
    return head + block * max(1, size // (4 * MIB)) + end


def _wrapper(folder: Path, magic: int, codec: str, count: int, value: int = 0) -> Path:
    """A wrapper message of so many messages of the same offset."""
    covered = struct.pack(">bb", magic, 0) + (struct.pack(">q", TIMESTAMP) if magic else b"")
    covered += struct.pack(">ii", -1, value) + bytes(value)
    inner = struct.pack(">qiI", 0, len(covered) + 4, zlib.crc32(covered)) + covered
    payload = _compressed(codec, _repeated(inner, count))
    outer = struct.pack(">bb", magic, CODEC_IDS[codec]) + (struct.pack(">q", TIMESTAMP) if magic else b"")  # type: ignore[index]
    outer += struct.pack(">ii", -1, len(payload)) + payload
    return _log(folder, [struct.pack(">qiI", count - 1, len(outer) + 4, zlib.crc32(outer)) + outer])


def _leader_change(folder: Path, voters: int) -> Path:
    """A control batch of a leader change with so many voters."""
    count = unsigned_varint(voters + 1)
    value = (
        struct.pack(">hi", 0, 1) + count + struct.pack(">ib", 1, 0) * voters + count + struct.pack(">ib", 1, 0) * voters + b"\0"
    )
    return _one_batch(folder, encode_record(Record(key=struct.pack(">hh", 0, 2), value=value)), is_control=True)


def _group(folder: Path, members: int) -> Path:
    """A record of __consumer_offsets: a group with so many members."""
    topic = folder.parent / "__consumer_offsets-0"
    key = struct.pack(">hh", 2, 1) + b"g"
    member = (
        struct.pack(">h", 1) + b"m" + struct.pack(">h", 1) + b"c" + struct.pack(">h", 1) + b"h" + struct.pack(">iiii", 1, 1, 0, 0)
    )
    value = struct.pack(">hh", 1, 1) + b"c" + struct.pack(">ihhi", 1, -1, -1, members) + member * members
    record = encode_record(Record(key=key, value=value))
    return _one_batch(topic, record)


# --- many batches

_RECORD = encode_record(Record(value=b"v"))


def _batches(folder: Path, count: int, one: Callable[[int], bytes]) -> Path:
    return _log(folder, map(one, range(count)))


def _of_producer(producer_id: int, offset: int, attributes: int) -> bytes:
    return batch_of(_RECORD, base_offset=offset, producer=(producer_id, 0, 0), attributes=attributes)


def _producers(folder: Path, count: int, *, attributes: int = 0) -> Path:
    """Each batch is of another producer; transactional ones are never ended."""
    return _batches(
        folder, count, lambda at: batch_of(_RECORD, base_offset=at, producer=(at * 7919, 0, 0), attributes=attributes)
    )


def _aborted(folder: Path, count: int) -> Path:
    """Transactions of other producers each, all open at once, then all aborted."""
    marker = encode_record(Record(key=struct.pack(">hh", 0, 0), value=struct.pack(">hi", 0, 0)))

    def one(at: int) -> bytes:
        if at < count:
            return batch_of(_RECORD, base_offset=at, producer=(at, 0, 0), attributes=0x10)
        return batch_of(marker, base_offset=at, producer=(at - count, 0, -1), attributes=0x30)

    return _batches(folder, 2 * count, one)


def _random_batches(folder: Path, count: int) -> Path:
    """Offsets, times, epochs, producers and sequences at random."""
    chance = random.Random(1)
    number = chance.randrange
    return _batches(
        folder,
        count,
        lambda _: batch_of(
            _RECORD,
            base_offset=number(1 << 31),
            timestamp=number(1 << 41),
            epoch=number(1 << 31),
            producer=(number(1 << 40), number(1 << 15), number(1 << 31)),
            attributes=number(4) << 4,
        ),
    )


def _epochs(folder: Path, count: int) -> Path:
    """Each batch is of the next leader epoch."""
    return _batches(folder, count, lambda at: batch_of(_RECORD, base_offset=at, epoch=at))


def _holes(folder: Path, count: int) -> Path:
    """Between each two batches stand a few bytes that belong to none."""
    return _batches(folder, count, lambda at: batch_of(_RECORD, base_offset=at) + b"\xff" * 7)


def _bad_checksums(folder: Path, count: int) -> Path:
    """Each batch has a byte that its checksum does not fit, and each third one is sound."""

    def one(at: int) -> bytes:
        data = batch_of(_RECORD, base_offset=at)
        return data if at % 3 == 0 else data[:-1] + b"\xff"

    return _batches(folder, count, one)


def _bad_records(folder: Path, count: int) -> Path:
    """Each batch fits its checksum, but its records cannot be read, in one of several ways."""
    payloads = [_RECORD[:-1], b"\x7f" + _RECORD, _RECORD + b"\0", b"\x01\0", b""]
    return _batches(folder, count, lambda at: batch_of(payloads[at % len(payloads)], base_offset=at))


def _messages(folder: Path, count: int, magic: int) -> Path:
    """Small messages whose offsets are random."""
    chance = random.Random(1)
    covered = struct.pack(">bb", magic, 0) + (struct.pack(">q", TIMESTAMP) if magic else b"") + struct.pack(">ii", -1, -1)
    after = struct.pack(">iI", len(covered) + 4, zlib.crc32(covered)) + covered
    return _batches(folder, count, lambda _: struct.pack(">q", chance.randrange(1 << 31)) + after)


def _dense_index(folder: Path, count: int) -> Path:
    """A sound log of small batches, with an entry for each of them in both indexes."""
    size = len(batch_of(_RECORD, base_offset=0))
    _batches(folder, count, lambda at: batch_of(_RECORD, base_offset=at, timestamp=TIMESTAMP + at))
    _write(folder / LOG.replace(".log", ".index"), (struct.pack(">ii", at, at * size) for at in range(1, count)))
    _write(folder / LOG.replace(".log", ".timeindex"), (struct.pack(">qi", TIMESTAMP + at, at) for at in range(1, count)))
    return folder


# --- other files


def _beside(folder: Path, name: str, parts: Iterator[bytes] | list[bytes]) -> Path:
    """A file beside a log of two batches, whose indexes are empty."""
    folder.mkdir(parents=True)
    for suffix in (".index", ".timeindex"):
        _write(folder / LOG.replace(".log", suffix), [])
    _log(folder, [batch_of(_RECORD, base_offset=at, timestamp=TIMESTAMP + at) for at in range(2)])
    _write(folder / name, parts)
    return folder


def _entries(kind: str, count: int) -> Iterator[bytes]:
    """Entries of an index, a million at a time: descending, of the first batch with random offsets, or with random times."""
    chance = random.Random(1)
    for start in range(0, count, MIB):
        rows = range(start, min(count, start + MIB))
        if kind == "descending":
            yield b"".join([struct.pack(">ii", count - at, count - at) for at in rows])
        elif kind == "offsets":
            yield b"".join([struct.pack(">iI", chance.randrange(1 << 31), 0) for _ in rows])
        else:  # times that are not below 0, and offsets
            numbers = array("Q", chance.randbytes(8 * len(rows)))
            yield b"".join([struct.pack(">qI", number >> 23, number & 0xFFFFFFFF) for number in numbers])


def _aborted_transactions(count: int) -> Iterator[bytes]:
    return (struct.pack(">hqqqq", 0, at * 7919, at, at + 1, at + 2) for at in range(count))


def _snapshot(count: int, *, one_producer: bool = False) -> Iterator[bytes]:
    """A producer snapshot; its checksum is right."""
    entries = (struct.pack(">qhiqiqiq", 1 if one_producer else at * 7919, 0, 0, at, 0, TIMESTAMP, -1, at) for at in range(count))
    data = struct.pack(">i", count) + b"".join(entries)
    yield struct.pack(">hI", 1, crc32c(data))
    yield data


def _epoch_lines(count: int) -> Iterator[bytes]:
    yield f"0\n{count}\n".encode()
    yield from (f"{at} {at}\n".encode() for at in range(count))


def _topic_lines(count: int) -> Iterator[bytes]:
    yield f"0\n{count}\n".encode()
    yield from (f"t{at} 0 {at}\n".encode() for at in range(count))


def _checkpoint(folder: Path, codec: Codec, value: int) -> Path:
    """A snapshot of KRaft metadata with one record of this size."""
    folder = folder.parent / "__cluster_metadata-0"
    _long_record(folder, codec, value=value)
    (folder / LOG).rename(folder / "00000000000000000010-0000000001.checkpoint")
    return folder


def _metadata_records(folder: Path, count: int, *, is_snapshot: bool) -> Path:
    """Metadata of a cluster: partition changes, each of a topic without a name, in batches of a thousand records."""
    folder = folder.parent / "__cluster_metadata-0"
    value = b"\x01\x05\0" + bytes(range(16)) + b"\0\0\0\1\0"  # frame, type and version; partition, topic id
    records = b"".join([encode_record(Record(offset_delta=delta, value=value)) for delta in range(1000)])
    _log(folder, (batch_of(records, base_offset=first, count=1000) for first in range(0, count, 1000)))
    if is_snapshot:
        (folder / LOG).rename(folder / f"{count:020}-0000000001.checkpoint")
    return folder


def _quorum_state(voters: int) -> Iterator[bytes]:
    """The election state of a quorum with so many voters."""
    yield b'{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":['
    yield from (b'{"voterId":%d},' % voter for voter in range(voters))
    yield b'{"voterId":0}],"data_version":0}'


def _log_directory(folder: Path, name: str, parts: Iterator[bytes]) -> Path:
    """A log directory with one partition, and this file."""
    _log(folder / "topic-0", [batch(records=[Record(value=b"v")])])
    _write(folder / name, parts)
    return folder


def _files(scale: float) -> dict[str, Callable[[Path], Path]]:
    def many(count: float) -> int:
        return max(2, int(count * scale))

    mib = many(MIB)
    index, time_index, txn_index = (LOG.replace(".log", suffix) for suffix in (".index", ".timeindex", ".txnindex"))
    snapshot = "00000000000000000002.snapshot"
    return {
        "zstd record of 33 million headers": lambda at: _long_record(at, "zstd", header=b"\2k\1", headers=many(33e6)),
        "zstd record of 100 headers of 1 MiB": lambda at: _long_record(
            at, "zstd", header=varint(1) + b"k" + varint(mib) + bytes(mib), headers=100
        ),
        "record of a million headers": lambda at: _long_record(at, "none", header=b"\2k\1", headers=many(1e6)),
        "record of 30 million headers": lambda at: _long_record(at, "none", header=b"\2k\1", headers=many(30e6)),
        "value of 100 MiB": lambda at: _long_record(at, "none", value=100 * mib),
        "key of 100 MiB": lambda at: _long_record(at, "none", key=100 * mib),
        "zstd value of 100 MiB": lambda at: _long_record(at, "zstd", value=100 * mib),
        "zstd value of 250 MiB": lambda at: _long_record(at, "zstd", value=250 * mib),
        "2 billion records claimed": lambda at: _tiny_records(at, "none", 1, 2_000_000_000),
        "zstd of 30 million records": lambda at: _tiny_records(at, "zstd", many(30e6), many(30e6)),
        "15 million records": lambda at: _tiny_records(at, "none", many(15e6), many(15e6)),
        "gzip bomb": lambda at: _bomb(at, "gzip", 1000 * mib),
        "zstd bomb": lambda at: _bomb(at, "zstd", 1000 * mib),
        "zstd bomb with a window of 128 MiB": lambda at: _bomb(at, "zstd-window", 1000 * mib),
        "lz4 bomb": lambda at: _bomb(at, "lz4", 1000 * mib),
        "snappy bomb": lambda at: _bomb(at, "snappy", 250 * mib),
        "snappy block of 250 MiB": lambda at: _bomb(at, "snappy-block", 250 * mib),
        "gzip wrapper of 4 million messages": lambda at: _wrapper(at, 1, "gzip", many(4e6)),
        "gzip wrapper of 4 million messages of magic 0": lambda at: _wrapper(at, 0, "gzip", many(4e6)),
        "gzip wrapper of a message of 100 MiB": lambda at: _wrapper(at, 1, "gzip", 1, value=100 * mib),
        "leader change of 10 million voters": lambda at: _leader_change(at, many(1e7)),
        "group of a million members": lambda at: _group(at, many(1e6)),
        "a million producers": lambda at: _producers(at, many(1e6)),
        "a million open transactions": lambda at: _producers(at, many(1e6), attributes=0x10),
        "a million aborted transactions": lambda at: _aborted(at, many(1e6)),
        "a million random batches": lambda at: _random_batches(at, many(1e6)),
        "a million leader epochs": lambda at: _epochs(at, many(1e6)),
        "a million holes": lambda at: _holes(at, many(1e6)),
        "a million bad checksums": lambda at: _bad_checksums(at, many(1e6)),
        "a million bad records": lambda at: _bad_records(at, many(1e6)),
        "3 million random messages": lambda at: _messages(at, many(3e6), 1),
        "a million index entries": lambda at: _dense_index(at, many(1e6)),
        "index of 10 million descending entries": lambda at: _beside(at, index, _entries("descending", many(1e7))),
        "index of 10 million mismatches": lambda at: _beside(at, index, _entries("offsets", many(1e7))),
        "timeindex of 10 million mismatches": lambda at: _beside(at, time_index, _entries("times", many(1e7))),
        "txnindex of a million transactions": lambda at: _beside(at, txn_index, _aborted_transactions(many(1e6))),
        "snapshot of 2 million producers": lambda at: _beside(at, snapshot, _snapshot(many(2e6))),
        "snapshot of a producer 2 million times": lambda at: _beside(at, snapshot, _snapshot(many(2e6), one_producer=True)),
        "8 million leader epochs": lambda at: _beside(at, "leader-epoch-checkpoint", _epoch_lines(many(8e6))),
        "leader epochs in a line of 100 MB": lambda at: _beside(at, "leader-epoch-checkpoint", _repeated(b"1 ", many(5e7))),
        "leader epochs of 100 MB of empty lines": lambda at: _beside(at, "leader-epoch-checkpoint", _repeated(b"\n", many(1e8))),
        "partition metadata of 500 MB": lambda at: _beside(at, "partition.metadata", _repeated(b"version: 0\n", many(45e6))),
        "KRaft snapshot of a record of 100 MiB": lambda at: _checkpoint(at, "none", 100 * mib),
        "meta.properties of 500 MB": lambda at: _log_directory(at, "meta.properties", _repeated(b"a=b\n", many(1.2e8))),
        "KRaft snapshot of 10 million records": lambda at: _metadata_records(at, many(1e7), is_snapshot=True),
        "metadata log of 10 million records": lambda at: _metadata_records(at, many(1e7), is_snapshot=False),
        "metadata log of a record of 100 MiB": lambda at: _long_record(
            at.parent / "__cluster_metadata-0", "none", value=100 * mib
        ),
        "quorum state of 100 MB": lambda at: _beside(
            at.parent / "__cluster_metadata-0", "quorum-state", _quorum_state(many(5e6))
        ),
        "log start offsets of 5 million partitions": lambda at: _log_directory(
            at, "log-start-offset-checkpoint", _topic_lines(many(5e6))
        ),
        "recovery points of 5 million partitions": lambda at: _log_directory(
            at, "recovery-point-offset-checkpoint", _topic_lines(many(5e6))
        ),
    }


FILES = tuple(_files(1))
"""The names of all of them."""


def made(name: str, folder: Path, scale: float = 1) -> Path:
    """Make one of them in a folder of its own, `scale` times as large: the partition directory or log directory."""
    return _files(scale)[name](folder / "topic-0")
