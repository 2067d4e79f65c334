"""Files whose contents cost most to read: payloads, records, companions and directories, deterministic and of any size."""

import json
import random
import struct
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

import snappy
import zstandard
from crc32c import crc32c

from .compression import CODEC_IDS, XERIAL_MAGIC, Codec, compress, gzip_members, lz4_frame
from .files import aborted_transaction, producer_entry, producer_snapshot
from .hostile import SEED, Hostile, log, sound
from .messages import int16, int32, string
from .records import TIMESTAMP, Record, control_record, encode_record, message, message_set, unsigned_varint, varint, wrapper

_FROM_ATTRIBUTES = struct.Struct(">Hiqqqhii")
_UP_TO_CRC = struct.Struct(">qiibI")
_NO_PRODUCER = (-1, -1, -1)
_RECORD = encode_record(Record(value=b"v"))
_ZSTD_RECORD = zstandard.ZstdCompressor().compress(_RECORD)
_EMPTY_ZSTD_FRAME = zstandard.ZstdCompressor(write_content_size=False).compressobj().flush()
_ZSTD_FRAME_TO_SKIP = struct.pack("<II", 0x184D2A50, 0)
_COMMIT = int16(1) + string("g") + string("t") + int32(0)
_ABORT = encode_record(control_record(control_type=0, value=struct.pack(">hi", 0, 0)))


def batch_of(
    payload: bytes,
    *,
    base_offset: int = 0,
    codec: Codec = "none",
    count: int = 1,
    attributes: int = 0,
    producer: tuple[int, int, int] = _NO_PRODUCER,
    epoch: int = 0,
    timestamp: int = TIMESTAMP,
) -> bytes:
    """A batch of magic 2 with this payload, whose CRC is right, as fast as many of them need it."""
    covered = _FROM_ATTRIBUTES.pack(attributes | CODEC_IDS[codec], max(count - 1, 0), timestamp, timestamp, *producer, count)
    covered += payload
    return _UP_TO_CRC.pack(base_offset, len(covered) + 9, epoch, 2, crc32c(covered)) + covered


def cycled(count: int, *kinds: bytes, step: int = 1) -> bytes:
    """So many batches, these in turn, each with the next offset: the CRC does not cover it."""
    return b"".join(struct.pack(">q", number * step) + kinds[number % len(kinds)][8:] for number in range(count))


# --- compressed payloads


def tiny_zstd_blocks(count: int) -> bytes:
    """A batch whose payload is a zstd frame of so many blocks without contents, and one of a record."""
    raw = struct.pack("<I", len(_RECORD) << 3 | 1)[:3] + _RECORD
    return batch_of(struct.pack("<IBB", 0xFD2FB528, 0, 0x58) + bytes(3) * count + raw, codec="zstd")


def in_wide_window(parts: Iterable[bytes]) -> bytes:
    """A batch whose payload is a zstd frame that wants a window of 128 MiB."""
    parameters = zstandard.ZstdCompressionParameters(window_log=27, compression_level=1)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return batch_of(b"".join([*map(stream.compress, parts), stream.flush()]), codec="zstd")


def tiny_lz4_blocks(count: int) -> bytes:
    """A batch whose payload is an lz4 frame of blocks of one byte."""
    data = _RECORD * count
    head = lz4_frame(b"")[:7]
    blocks = b"".join(struct.pack("<I", 1 | 1 << 31) + data[at : at + 1] for at in range(len(data)))
    return batch_of(head + blocks + bytes(4), codec="lz4", count=count)


def tiny_snappy_blocks(count: int) -> bytes:
    """A batch whose payload is snappy blocks of one byte each, in the framing of xerial."""
    data = _RECORD * count
    block = {bytes([value]): bytes(snappy.compress(bytes([value]))) for value in set(data)}
    parts = (struct.pack(">i", len(one)) + one for one in (block[data[at : at + 1]] for at in range(len(data))))
    return batch_of(XERIAL_MAGIC + struct.pack(">ii", 1, 1) + b"".join(parts), codec="snappy", count=count)


def broken_compressed(codec: Codec) -> Callable[[int], bytes]:
    """Batches whose CRC is right, and whose payload is not that of the codec."""
    return lambda count: cycled(count, batch_of(b"\x1f\x8b" + bytes(range(20)), codec=codec))


def nested_wrappers(depth: int) -> bytes:
    inner = message_set(messages=[message(value=b"v")])
    for _ in range(depth):
        inner = _wrapper(inner)
    return inner


def _wrapper(messages: bytes, codec: Codec = "gzip") -> bytes:
    deflate = zlib.compressobj(1, zlib.DEFLATED, 31)
    payload = deflate.compress(messages) + deflate.flush()
    covered = struct.pack(">bBqii", 1, CODEC_IDS[codec], TIMESTAMP, -1, len(payload)) + payload
    return struct.pack(">qiI", 0, len(covered) + 4, zlib.crc32(covered)) + covered


# --- much in little: few bytes that come to much memory


def _compressed(codec: Codec, parts: Iterable[bytes]) -> bytes:
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
    return b"".join(parts)


def _copies(data: bytes, count: int) -> Iterable[bytes]:
    """So many copies of these bytes, in parts of about a MiB."""
    at_once = max(1, (1 << 20) // len(data))
    for start in range(0, count, at_once):
        yield data * min(at_once, count - start)


def long_record(codec: Codec, *, key: int = 0, value: int = 0, header: bytes = b"", headers: int = 0) -> bytes:
    """A batch of one record with a key and a value of zeros of these sizes, and so many headers that are all the same."""
    head = b"\0\0\0"  # attributes, timestamp delta, offset delta
    lengths = [varint(size) for size in (key, value, headers)]
    size = len(head) + sum(map(len, lengths)) + key + value + headers * len(header)
    parts = ([varint(size) + head + lengths[0]], _copies(b"\0", key), [lengths[1]], _copies(b"\0", value), [lengths[2]])
    return batch_of(_compressed(codec, chain(*parts, _copies(header or b"\0", headers))), codec=codec)


def zeros_in(codec: Codec, count: int) -> bytes:
    """A batch whose payload comes to so many MiB of zeros: a record of no length, over and over."""
    if codec == "lz4":  # a frame of blocks of 4 MiB, each the same
        frame = lz4_frame(bytes(4 << 20), block_size_code=7)
        return batch_of(frame[:7] + frame[7:-4] * max(1, count // 4) + frame[-4:], codec=codec)
    return batch_of(_compressed(codec, _copies(b"\0", count << 20)), codec=codec)


def wrapper_of(count: int, magic: int, value: int = 0) -> bytes:
    """A gzip wrapper of so many messages of the same offset, each with a value of this size."""
    covered = struct.pack(">bb", magic, 0) + (struct.pack(">q", TIMESTAMP) if magic else b"")
    covered += struct.pack(">ii", -1, value) + bytes(value)
    inner = struct.pack(">qiI", 0, len(covered) + 4, zlib.crc32(covered)) + covered
    payload = _compressed("gzip", _copies(inner, count))
    outer = struct.pack(">bb", magic, CODEC_IDS["gzip"]) + (struct.pack(">q", TIMESTAMP) if magic else b"")
    outer += struct.pack(">ii", -1, len(payload)) + payload
    return struct.pack(">qiI", count - 1, len(outer) + 4, zlib.crc32(outer)) + outer


def leader_change(count: int) -> bytes:
    """A control batch of a leader change with so many voters."""
    voters = unsigned_varint(count + 1) + struct.pack(">ib", 1, 0) * count
    value = struct.pack(">hi", 0, 1) + voters + voters + b"\0"
    return batch_of(encode_record(Record(key=struct.pack(">hh", 0, 2), value=value)), attributes=0x20)


# --- batches and records


def alternating_faults(count: int) -> bytes:
    """Sound batches, and after each one that is wrong in another way, framed as it should be."""
    sound_one = batch_of(_RECORD)
    wrong = [
        sound_one[:-1] + b"\xff",
        batch_of(_RECORD[:-1]),
        batch_of(_RECORD + b"\0"),
        batch_of(_RECORD, count=3),
        batch_of(b"\x01\0"),
        batch_of(_RECORD, attributes=7),
        batch_of(_RECORD, attributes=0x30),
        batch_of(_RECORD, count=-1),
        sound_one[:16] + b"\x03" + sound_one[17:],
    ]
    return cycled(count, *(one for bad in wrong for one in (sound_one, bad)))


def many_producers(count: int, attributes: int = 0x10) -> bytes:
    """Each batch is of another producer; transactional ones are never ended."""
    return b"".join(
        batch_of(_RECORD, base_offset=number, producer=(number * 7919, 0, 0), attributes=attributes) for number in range(count)
    )


def control_batches(count: int) -> bytes:
    """Markers of transactions that never began, of types of all kinds."""
    kinds = [
        batch_of(
            encode_record(control_record(control_type=number % 9, value=struct.pack(">hi", 0, 0))),
            producer=(number, 0, -1),
            attributes=0x30,
        )
        for number in range(100)
    ]
    return cycled(count, *kinds)


def random_batches(count: int) -> bytes:
    """Batches whose offsets, times, epochs, producers and sequences are random."""
    number = random.Random(SEED).randrange
    return b"".join(
        batch_of(
            _RECORD,
            base_offset=number(1 << 31),
            timestamp=number(1 << 41),
            epoch=number(1 << 31),
            producer=(number(1 << 40), number(1 << 15), number(1 << 31)),
            attributes=number(4) << 4,
        )
        for _ in range(count)
    )


def long_varints(count: int) -> bytes:
    """Batches of records all of whose numbers take more bytes than they need."""
    long = varint(0, size_in_bytes=5)
    body = b"\0" + bytes([0x80] * 9 + [0]) + long + long + long + long
    one = varint(len(body), size_in_bytes=5) + body
    return cycled(count, batch_of(one * 1000, count=1000), step=1000)


ODD_RECORDS = {
    "records with attributes": b"\x0c\1\0\0\1\1\0",
    "lengths longer than needed": b"\x8c\0\0\0\0\1\1\0",
    "sizes below -1": b"\x0c\0\0\0\3\3\0",
    "headers that are no text": b"\x12\0\0\0\1\1\2\2\xff\0",
    "header values of null": b"\x12\0\0\0\1\1\2\2k\1",
    "timestamps below -1": b"\x1a\0" + varint(-(1 << 50)) + b"\0\1\1\0",
    "timestamps that overflow": b"\x1e\0" + varint((1 << 63) - 1) + b"\0\1\1\0",
}
"""Records as small as they can be, each odd in a way."""


def many_headers(count: int) -> bytes:
    """Batches of ten records with a thousand headers each, which are empty."""
    header = varint(0) + varint(-1)
    body = b"\0\0\0" + varint(-1) + varint(-1) + varint(1000) + header * 1000
    return cycled(count, batch_of((varint(len(body)) + body) * 10, count=10), step=10)


# --- internal topics


def group_of_members(count: int) -> bytes:
    """A record of __consumer_offsets: a group of so many members that are as small as they can be."""
    key = int16(2) + string("g")
    members = int32(count) + (int16(0) * 3 + int32(0) * 4) * count
    value = int16(1) + string("c") + int32(1) + int16(-1) * 2 + members
    return batch_of(encode_record(Record(key=key, value=value)))


def group_of_tags(count: int) -> bytes:
    """A record of __consumer_offsets of a flexible version: members with tags that nobody knows."""
    key = int16(2) + string("g")
    member = b"\1\1\1\1" + int32(0) * 2 + b"\1\1" + unsigned_varint(100) + b"\7\0" * 100
    value = int16(4) + b"\2c" + int32(1) + b"\0\0" + bytes(8) + unsigned_varint(count + 1) + member * count + b"\0"
    return batch_of(encode_record(Record(key=key, value=value)))


def broken_values(start: bytes, key: bytes | None = None) -> Callable[[int], bytes]:
    """What makes batches of a thousand records whose values start like this and end inside a field."""

    def build(count: int) -> bytes:
        rows = range(1000)
        records = [encode_record(Record(key=key, value=start + bytes([row % 256]), offset_delta=row)) for row in rows]
        return cycled(count, batch_of(b"".join(records), count=1000), step=1000)

    return build


def broken_keys(count: int) -> bytes:
    """Batches of a thousand records, each with another key that ends inside a field."""
    parts = []
    for number in range(0, 1000 * count, 1000):
        keys = [int16(1) + int32(number + row) for row in range(1000)]
        records = [encode_record(Record(key=key, offset_delta=row)) for row, key in enumerate(keys)]
        parts.append(batch_of(b"".join(records), base_offset=number, count=1000))
    return b"".join(parts)


def transaction_of_partitions(count: int) -> bytes:
    """A record of __transaction_state: a transaction in so many partitions."""
    producer, times = bytes(8) + bytes(2) + bytes(4), bytes(16)
    value = int16(0) + producer + b"\0" + int32(1) + string("t") + int32(count) + bytes(4 * count) + times
    return batch_of(encode_record(Record(key=int16(0) + string("t"), value=value)))


def share_state_of_batches(count: int) -> bytes:
    """A record of __share_group_state: a partition with so many batches of states."""
    key = int16(0) + string("g") + bytes(16) + int32(0)
    value = int16(0) + bytes(36) + unsigned_varint(count + 1) + (bytes(19) + b"\0") * count + b"\0"
    return batch_of(encode_record(Record(key=key, value=value)))


def partition_changes(count: int) -> bytes:
    """Batches of a thousand metadata records about partitions of a topic that nobody knows."""
    value = b"\x01\x05\0" + bytes(range(16)) + b"\0\0\0\1\0"
    records = b"".join([encode_record(Record(offset_delta=row, value=value)) for row in range(1000)])
    return cycled(count, batch_of(records, count=1000), step=1000)


def topics_and_partitions(count: int) -> bytes:
    """Batches of a thousand metadata records, each of a new topic."""
    parts = []
    for number in range(count):
        records = []
        for row in range(1000):
            name = b"t%x" % (number * 1000 + row)
            topic_id = struct.pack(">qq", 1, number * 1000 + row)
            value = b"\1\2\0" + bytes([len(name) + 1]) + name + topic_id + b"\0"
            records.append(encode_record(Record(offset_delta=row, value=value)))
        parts.append(batch_of(b"".join(records), base_offset=number * 1000, count=1000))
    return b"".join(parts)


def registry(count: int, text: Callable[[int], str], references: int = 0) -> bytes:
    """The log of a schema registry with so many schemas, each of which refers to some of those before."""
    parts = []
    for number in range(count):
        key = {"keytype": "SCHEMA", "subject": f"s{number}", "version": 1, "magic": 1}
        others = range(max(0, number - references), number)
        refers = [{"name": f"R{other}", "subject": f"s{other}", "version": 1} for other in others]
        value = {"subject": f"s{number}", "version": 1, "id": number, "schema": text(number), "references": refers}
        one = Record(key=json.dumps(key).encode(), value=json.dumps(value).encode())
        parts.append(batch_of(encode_record(one), base_offset=number))
    return b"".join(parts)


def _record_schema(number: int) -> str:
    return json.dumps({"type": "record", "name": f"R{number}", "fields": []})


# --- companions


def lines(count: int, line: Callable[[int], str]) -> bytes:
    return f"0\n{count}\n{''.join(line(number) for number in range(count))}".encode()


def _same(name: str, parts: int, *kinds: bytes, step: int = 1) -> Hostile:
    """Batches that are the same but for their offsets, of several kinds in turn."""
    return log(name, parts, lambda count: cycled(count, *kinds, step=step))


def _beside(name: str, build: Callable[[int], bytes]) -> Callable[[int], dict[str, bytes]]:
    """A companion of a small log."""
    return lambda count: {".log": sound(1000), ".index": b"", ".timeindex": b"", name: build(count)}


def _transactions(count: int) -> bytes:
    return b"".join(aborted_transaction(producer_id=row * 7919, first_offset=row, last_offset=row + 1) for row in range(count))


def _producers(count: int) -> bytes:
    rows = range(count)
    entries = [producer_entry(producer_id=one * 7919, last_offset=one, current_txn_first_offset=one) for one in rows]
    return producer_snapshot(entries=entries)


def _tiny_records(codec: Codec, count: int) -> bytes:
    """A batch of so many records without key and value, all of offset delta 0."""
    return batch_of(_compressed(codec, _copies(encode_record(Record(offset_delta=0)), count)), codec=codec, count=count)


def _cut_off(codec: Codec) -> bytes:
    """A batch whose CRC is right, and whose payload of ten records misses its last bytes."""
    return batch_of(compress(_RECORD * 10, codec=codec)[:-5], codec=codec, count=10)


def _many(names: Callable[[int], dict[str, bytes]]) -> Callable[[int], dict[str, bytes]]:
    def build(count: int) -> dict[str, bytes]:
        files = {".log": sound(10)}
        for number in range(count):
            files.update(names(number))
        return files

    return build


def _segment(number: int) -> dict[str, bytes]:
    name = f"{number + 10:020}"
    data = struct.pack(">q", number + 10) + _SOUND[8:]
    return {f"{name}.log": data, f"{name}.index": b"", f"{name}.timeindex": b""}


_SOUND, _GZIP_RECORD = batch_of(_RECORD), gzip_members(_RECORD)
_OLD = [message(value=b"v", magic=magic) for magic in (0, 1)]
_THOUSAND_MARKERS = batch_of(_ABORT * 1000, count=1000, producer=(1, 0, -1), attributes=0x30)
_CODECS: tuple[Codec, ...] = ("gzip", "snappy", "lz4", "zstd")
_GROUPS, _STATE, _METADATA = "__consumer_offsets-0", "__transaction_state-0", "__cluster_metadata-0"
_REMOTE = "__remote_log_metadata-0"
_EPOCHS = "leader-epoch-checkpoint"


_SNAPSHOT, _KRAFT_SNAPSHOT = "00000000000000001000.snapshot", "00000000000000000010-0000000001.checkpoint"
_RECOVERY_POINTS, _PROPERTIES = "../recovery-point-offset-checkpoint", "../meta.properties"


def _nested(open_with: str, close_with: str) -> Callable[[int], bytes]:
    return lambda count: (open_with * count + close_with * count).encode()


def _repeated(data: bytes) -> Callable[[int], bytes]:
    return lambda count: data * count


def _epochs(name: str, count: int, line: Callable[[int], str]) -> Hostile:
    return Hostile(name, _EPOCHS, count, _beside(_EPOCHS, partial(lines, line=line)))


def _points(name: str, line: Callable[[int], str]) -> Hostile:
    return Hostile(name, _RECOVERY_POINTS, 300_000, _beside(_RECOVERY_POINTS, partial(lines, line=line)))


CONTENTS = (
    log("gzip members without contents", 100_000, lambda n: batch_of(_GZIP_RECORD + gzip_members(b"") * n, codec="gzip")),
    log("zstd frames without contents", 200_000, lambda count: batch_of(_ZSTD_RECORD + _EMPTY_ZSTD_FRAME * count, codec="zstd")),
    log("zstd frames to skip", 300_000, lambda count: batch_of(_ZSTD_RECORD + _ZSTD_FRAME_TO_SKIP * count, codec="zstd")),
    log("zstd blocks without contents", 1_000_000, tiny_zstd_blocks),
    _same("zstd windows of 128 MiB", 20_000, in_wide_window([_RECORD])),
    log("lz4 blocks of a byte", 60_000, tiny_lz4_blocks),
    log("snappy blocks of a byte", 40_000, tiny_snappy_blocks),
    _same("batches of one record in gzip", 20_000, batch_of(_GZIP_RECORD, codec="gzip")),
    _same("batches of one record in zstd", 20_000, batch_of(_ZSTD_RECORD, codec="zstd")),
    _same("batches of one record in snappy", 20_000, batch_of(bytes(snappy.compress(_RECORD)), codec="snappy")),
    *(log(f"payloads that are not {codec}", 20_000, broken_compressed(codec)) for codec in _CODECS),
    *(_same(f"payloads cut off in {codec}", 20_000, _cut_off(codec), step=10) for codec in _CODECS),
    log("wrappers in wrappers", 5_000, nested_wrappers),
    _same("wrappers of a wrapper", 10_000, wrapper(messages=[wrapper(messages=[message(value=b"v")])])),
    *(_same(f"small wrappers of magic {magic}", 15_000, wrapper(messages=[_OLD[magic]], magic=magic)) for magic in (0, 1)),
    _same("alternating magics", 30_000, *(message_set(messages=[one]) for one in _OLD), batch_of(_RECORD)),
    log("alternating faults", 30_000, alternating_faults),
    log("open transactions", 30_000, many_producers),
    log("many producers", 30_000, lambda count: many_producers(count, 0)),
    log("control batches", 30_000, control_batches),
    _same("control batches of a thousand records", 150, _THOUSAND_MARKERS, step=1000),
    log("random batches", 30_000, random_batches),
    log("rising leader epochs", 30_000, lambda n: b"".join(batch_of(_RECORD, base_offset=row, epoch=row) for row in range(n))),
    _same("empty batches", 30_000, *(batch_of(b"", count=0, producer=(number, 0, number)) for number in range(100))),
    _same("two billion records claimed", 30_000, batch_of(_RECORD, count=2_000_000_000)),
    log("long varints", 50, long_varints),
    *(_same(name, 150, batch_of(odd * 1000, count=1000), step=1000) for name, odd in ODD_RECORDS.items()),
    log("many headers", 100, many_headers),
    log("group of members", 150_000, group_of_members, _GROUPS),
    log("group of tags", 15_000, group_of_tags, _GROUPS),
    log("keys that end inside a field", 150, broken_keys, _GROUPS),
    log("commits that end inside a field", 150, broken_values(int16(1), _COMMIT), _GROUPS),
    log("changes that end inside a field", 150, broken_values(b"\1\5\0"), _METADATA),
    log("segments that end inside a field", 150, broken_values(b"\1\0\0"), _REMOTE),
    log("transaction of partitions", 500_000, transaction_of_partitions, _STATE),
    log("share state of batches", 100_000, share_state_of_batches, "__share_group_state-0"),
    log("partition changes", 50, partition_changes, _METADATA),
    log("topics", 50, topics_and_partitions, _METADATA),
    Hostile(
        "KRaft snapshot of changes", _KRAFT_SNAPSHOT, 50, lambda count: {_KRAFT_SNAPSHOT: partition_changes(count)}, _METADATA
    ),
    Hostile("transaction index", ".txnindex", 100_000, _beside(".txnindex", _transactions)),
    Hostile("snapshot of producers", _SNAPSHOT, 50_000, _beside(_SNAPSHOT, _producers)),
    Hostile(
        "snapshot of one producer",
        _SNAPSHOT,
        50_000,
        _beside(_SNAPSHOT, lambda count: producer_snapshot(entries=[producer_entry()] * count)),
    ),
    _epochs("leader epochs", 300_000, lambda number: f"{number} {number}\n"),
    _epochs("leader epochs that descend", 300_000, lambda number: f"{10**6 - number} {10**6 - number}\n"),
    _epochs("leader epochs of zero", 1_000_000, lambda number: "0 0\n"),
    _epochs("leader epochs in odd lines", 300_000, lambda number: f"\t+{number}  {number} \n"),
    _epochs("leader epochs of empty lines", 4_000_000, lambda number: "\n"),
    Hostile("leader epochs of a word", _EPOCHS, 2_000_000, _beside(_EPOCHS, lambda count: b"0\n2\n" + b"1 " * count)),
    Hostile("leader epochs of a long word", _EPOCHS, 4_000_000, _beside(_EPOCHS, lambda count: b"0\n2\n" + b"x" * count)),
    Hostile("partition metadata", "partition.metadata", 400_000, _beside("partition.metadata", _repeated(b"version: 0\n"))),
    Hostile("quorum state of lists", "quorum-state", 2_000_000, _beside("quorum-state", _nested("[", "]")), _METADATA),
    Hostile("quorum state of objects", "quorum-state", 500_000, _beside("quorum-state", _nested('{"a":', "}")), _METADATA),
    _points("recovery points", lambda number: f"t{number} 0 {number}\n"),
    _points("recovery points of one partition", lambda number: "t 0 5\n"),
    _points("recovery points, every second odd", lambda number: "t 0 5\n" if number % 2 else "t  0 5\n"),
    Hostile("recovery points of a long word", _RECOVERY_POINTS, 4_000_000, _beside(_RECOVERY_POINTS, _repeated(b"x"))),
    Hostile("meta.properties of many lines", _PROPERTIES, 1_000_000, _beside(_PROPERTIES, _repeated(b"a=b\n"))),
    Hostile("meta.properties of a long line", _PROPERTIES, 1_000_000, _beside(_PROPERTIES, _repeated(b"a\\\n  "))),
    Hostile("meta.properties of escapes", _PROPERTIES, 1_000_000, _beside(_PROPERTIES, _repeated(b"\\u0041"))),
    log("registry of schemas", 10_000, partial(registry, text=_record_schema), "_schemas-0"),
    log("registry of garbage", 20_000, partial(registry, text=lambda _: "[" * 50), "_schemas-0"),
    log("registry of references", 5_000, partial(registry, text=_record_schema, references=3), "_schemas-0"),
    Hostile("many segments", ".log", 5_000, _many(_segment)),
    Hostile("many deleted files", ".log", 30_000, _many(lambda number: {f"{number:020}.log.deleted": b""})),
    Hostile(
        "many swap files",
        ".log",
        10_000,
        _many(lambda number: {f"{number:020}{suffix}.swap": b"" for suffix in (".log", ".index")}),
    ),
    Hostile("many cleaned files", ".log", 10_000, _many(lambda number: {f"{number:020}.log.cleaned": b""})),
    Hostile("many snapshots", ".log", 20_000, _many(lambda number: {f"{number:020}.snapshot": b""})),
    Hostile("many unknown files", ".log", 30_000, _many(lambda number: {f"{number}" + "x" * 200: b""})),
    Hostile("many long numbers", ".log", 20_000, _many(lambda number: {f"{number:0200}.log": b""})),
    Hostile("many indexes without logs", ".log", 20_000, _many(lambda number: {f"{number + 10:020}.index": bytes(8)})),
)
"""The dearest that are known, by what is in them."""

_HEADER, _MIB_HEADER = b"\2k\1", varint(1) + b"k" + varint(1 << 20) + bytes(1 << 20)

MUCH_IN_LITTLE = (
    log("zstd record of headers", 33_000_000, lambda count: long_record("zstd", header=_HEADER, headers=count)),
    log("zstd record of headers of 1 MiB", 100, lambda n: long_record("zstd", header=_MIB_HEADER, headers=n)),
    log("record of headers", 30_000_000, lambda count: long_record("none", header=_HEADER, headers=count)),
    log("long value", 100 << 20, lambda count: long_record("none", value=count)),
    log("long key", 100 << 20, lambda count: long_record("none", key=count)),
    log("long zstd value", 250 << 20, lambda count: long_record("zstd", value=count)),
    log("zstd of tiny records", 30_000_000, partial(_tiny_records, "zstd")),
    log("tiny records", 15_000_000, partial(_tiny_records, "none")),
    log("gzip of zeros", 1000, partial(zeros_in, "gzip")),
    log("zstd of zeros", 1000, partial(zeros_in, "zstd")),
    log("lz4 of zeros", 1000, partial(zeros_in, "lz4")),
    log("snappy of zeros", 250, partial(zeros_in, "snappy")),
    log("zstd window of zeros", 1000, lambda count: in_wide_window(_copies(b"\0", count << 20))),
    log("wrapper of messages", 4_000_000, partial(wrapper_of, magic=1)),
    log("wrapper of messages of magic 0", 4_000_000, partial(wrapper_of, magic=0)),
    log("wrapper of a long message", 100 << 20, lambda count: wrapper_of(1, 1, value=count)),
    log("leader change of voters", 10_000_000, leader_change),
    log("metadata of a long record", 100 << 20, lambda count: long_record("none", value=count), _METADATA),
)
"""Those that would cost a careless reader more memory than they are worth."""
