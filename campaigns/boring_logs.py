"""Writes sound partitions of ordinary shapes, fast, and knows each batch in them; shares no code with kdump."""

from __future__ import annotations

import functools
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.builders import records
from tests.builders.compression import Codec
from tests.builders.files import (
    checkpoint,
    file_name,
    offset_index,
    partition_metadata,
    producer_entry,
    producer_snapshot,
    time_index,
)

START_MS = 1_700_000_000_000
INDEX_INTERVAL = 4096
TRANSACTIONAL = 0x10
COORDINATOR_EPOCH = 7

Batches = Iterator["Batch"]


class Batch(NamedTuple):
    """A batch, or a message of magic 0 or 1 with those that it wraps, and where it is in its segment."""

    position: int
    data: bytes
    first: int
    last: int
    records: int
    max_timestamp: int
    leader_epoch: int
    magic: int
    keys: tuple[int, ...] = ()
    """The numbers of its records: their keys follow from them. Empty for control batches."""

    @property
    def end(self) -> int:
        return self.position + len(self.data)


@dataclass(eq=False)
class Segment:
    """A sound segment: its batches in order, without gaps."""

    base: int
    batches: list[Batch] = field(default_factory=list)
    data: bytes = b""

    @property
    def end_offset(self) -> int:
        return self.batches[-1].last + 1 if self.batches else self.base


class Shape(NamedTuple):
    """How the batches of a log look. `records` and `value_size` are (least, most)."""

    magic: int
    codec: Codec
    records: tuple[int, int]
    value_size: tuple[int, int]
    is_text: bool = False
    producers: int = 0
    is_transactional: bool = False
    epochs: int = 1
    upgrades_to: Shape | None = None
    """The second half of the log is of this shape."""


def _random(size: int, count: int = 1, **others: object) -> Shape:
    return Shape(2, "none", (count, count), (size, size), **others)  # type: ignore[arg-type]  # as the fields of Shape


SHAPES: dict[str, Shape] = {
    "70-bytes": _random(1),
    "1-kib": _random(930),
    "4-kib": _random(128, 27),
    "17-kib": _random(1000, 16),
    "70-kb": _random(1000, 67),
    "160-kb": _random(4000, 40),
    "1-mib": _random(10_000, 100),
    "mixed": Shape(2, "none", (1, 400), (20, 600)),
    "4-kib-text": Shape(2, "none", (27, 27), (100, 150), is_text=True),
    "4-kib-idempotent": _random(128, 27, producers=3, epochs=4),
    "4-kib-transactions": _random(128, 27, producers=2, is_transactional=True, epochs=3),
    "lz4-29-kb": Shape(2, "lz4", (111, 111), (250, 250), is_text=True),
    "lz4-164-kb": Shape(2, "lz4", (400, 400), (400, 400), is_text=True),
    "lz4-mixed": Shape(2, "lz4", (1, 1500), (300, 700), is_text=True, producers=1, epochs=5),
    "zstd-350-kb": Shape(2, "zstd", (800, 800), (1200, 1200), is_text=True),
    "zstd-mixed": Shape(2, "zstd", (1, 400), (100, 2000), is_text=True),
    "gzip-20-kb": Shape(2, "gzip", (100, 100), (400, 400), is_text=True),
    "snappy-30-kb": Shape(2, "snappy", (100, 100), (400, 400), is_text=True),
    "magic-0": Shape(0, "none", (1, 1), (950, 950)),
    "magic-0-small": Shape(0, "none", (1, 1), (10, 60), is_text=True),
    "magic-1": Shape(1, "none", (1, 1), (950, 950)),
    "magic-1-text": Shape(1, "none", (1, 1), (100, 4000), is_text=True),
    "magic-0-gzip": Shape(0, "gzip", (20, 20), (150, 150)),
    "magic-0-snappy": Shape(0, "snappy", (100, 100), (300, 300), is_text=True),
    "magic-0-lz4": Shape(0, "lz4", (1, 60), (100, 900), is_text=True),
    "magic-1-gzip": Shape(1, "gzip", (20, 20), (150, 150)),
    "magic-1-snappy": Shape(1, "snappy", (60, 60), (300, 300), is_text=True),
    "magic-1-lz4": Shape(1, "lz4", (1, 200), (100, 900), is_text=True),
    "magic-1-then-2": Shape(1, "none", (1, 1), (950, 950), upgrades_to=_random(930)),
    "magic-1-lz4-then-2": Shape(1, "lz4", (60, 60), (300, 300), is_text=True, upgrades_to=_random(128, 27)),
}


def key_of(number: int) -> bytes:
    """The key of the record of this number; no other bytes of a log contain it, but by chance."""
    return b"key-%012d" % (number * 7_919 + 13)


@functools.lru_cache(maxsize=3)
def written(
    name: str, size: int, segment_count: int, seed: int, first_offset: int = 0, first_number: int = 0
) -> tuple[Segment, ...]:
    """A log of some `size` bytes in all, in segments of about one size. Its records are numbered from `first_number` on."""
    chance = random.Random(f"{name} {size} {segment_count} {seed}")
    segments: list[Segment] = []
    writer = _Writer(SHAPES[name], chance, first_offset, first_number)
    for row in range(segment_count):
        segment = Segment(writer.offset)
        parts: list[bytes] = []
        position = 0
        while position < size // segment_count:
            done = (row * (size // segment_count) + position) / size
            for batch in writer.next_batches(done, position):
                segment.batches.append(batch)
                parts.append(batch.data)
                position = batch.end
        segment.data = b"".join(parts)
        segments.append(segment)
    return tuple(segments)


def companions(segments: tuple[Segment, ...]) -> dict[str, bytes]:
    """The files beside the logs, as a broker that has scanned them leaves them."""
    files = {"partition.metadata": partition_metadata()}
    epochs: list[tuple[int, int]] = []
    producers: dict[int, bytes] = {}
    for segment in segments:
        if segment.base > segments[0].base:
            files[file_name(segment.base, ".snapshot")] = producer_snapshot(entries=_in_order(producers))
        entries, times = index_entries(segment.batches)
        files[file_name(segment.base, ".index")] = offset_index(entries=entries, base_offset=segment.base)
        files[file_name(segment.base, ".timeindex")] = time_index(entries=times, base_offset=segment.base)
        for batch in segment.batches:
            if batch.magic == 2 and (not epochs or batch.leader_epoch > epochs[-1][0]):
                epochs.append((batch.leader_epoch, batch.first))
        _note_producers(producers, segment.batches)
    files[file_name(segments[-1].end_offset, ".snapshot")] = producer_snapshot(entries=_in_order(producers))
    if epochs:
        files["leader-epoch-checkpoint"] = checkpoint(entries=epochs)
    return files


def _in_order(producers: dict[int, bytes]) -> list[bytes]:
    """The entries in the order of Java's hash map, which holds a few producers with neighbouring ids."""
    return [producers[producer] for producer in sorted(producers)]


def _note_producers(entries: dict[int, bytes], batches: list[Batch]) -> None:
    """Bring the entries of snapshots, by producer, to the end of these batches. Kafka: ProducerStateEntry."""
    last: dict[int, tuple[int, int, int]] = {}
    transactions: dict[int, int] = {}
    for batch in batches:
        if batch.magic < 2:
            continue
        producer, _, sequence, count = struct.unpack_from(">qhii", batch.data, 43)
        if producer < 0:
            continue
        if batch.keys:
            last[producer] = sequence + count - 1, batch.last, count - 1
            if batch.data[22] & TRANSACTIONAL:
                transactions.setdefault(producer, batch.first)
        else:
            transactions.pop(producer, None)
        known = last.get(producer)
        if known is None:  # its last data is in the segment before
            (sequence, offset, delta), epoch = struct.unpack_from(">iqi", entries[producer], 10), COORDINATOR_EPOCH
        else:
            (sequence, offset, delta), epoch = known, -1 if batch.keys else COORDINATOR_EPOCH
        if batch.keys and producer in entries:
            (epoch,) = struct.unpack_from(">i", entries[producer], 34)
        entries[producer] = producer_entry(
            producer_id=producer,
            last_sequence=sequence,
            last_offset=offset,
            offset_delta=delta,
            timestamp=batch.max_timestamp,
            coordinator_epoch=epoch,
            current_txn_first_offset=transactions.get(producer, -1),
        )


def index_entries(batches: list[Batch]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The (offset, position) and (timestamp, offset) entries of these batches. Kafka: LogSegment.recover (4.x)."""
    offsets: list[tuple[int, int]] = []
    times: list[tuple[int, int]] = []
    greatest, of, indexed = -1, -1, 0
    for batch in batches:
        if batch.max_timestamp > greatest:
            greatest, of = batch.max_timestamp, batch.last
        if batch.position - indexed > INDEX_INTERVAL:
            offsets.append((batch.last, batch.position))
            if greatest > (times[-1][0] if times else -1):
                times.append((greatest, of))
            indexed = batch.position
    if greatest >= 0 and (not times or greatest > times[-1][0]):
        times.append((greatest, of))
    return offsets, times


class _Writer:
    def __init__(self, shape: Shape, chance: random.Random, offset: int, number: int) -> None:
        self.shape, self.chance, self.offset, self.number = shape, chance, offset, number
        self.sequences: dict[int, int] = {}
        self.in_transaction: dict[int, int] = {}
        self.pool = _texts(chance) if shape.is_text or (shape.upgrades_to and shape.upgrades_to.is_text) else b""

    def next_batches(self, done: float, position: int) -> Batches:
        """The next batch, and the marker that follows it, if it ends a transaction. `done` is the share of the log so far."""
        shape = self.shape.upgrades_to if self.shape.upgrades_to and done >= 0.5 else self.shape
        values = self._values(shape)
        count, offset, time = len(values), self.offset, START_MS + self.offset
        keys = tuple(range(self.number, self.number + count))
        self.number += count
        if shape.magic < 2:
            data = _message_set(shape, offset, time, keys, values)
            yield self._placed(position, data, count, time + count - 1 if shape.magic else -1, 0, shape.magic, keys)
            return
        epoch = 3 + int(done * shape.epochs) * 2
        producer, sequence = -1, -1
        if shape.producers:
            producer = 1000 + self.chance.randrange(shape.producers)
            sequence = self.sequences.get(producer, 0)
            self.sequences[producer] = sequence + count
        data = records.batch(
            records=[
                records.record(key=key_of(keys[row]), value=value, timestamp=time + row) for row, value in enumerate(values)
            ],
            base_offset=offset,
            partition_leader_epoch=epoch,
            codec=shape.codec,
            is_transactional=shape.is_transactional,
            producer_id=producer,
            producer_epoch=min(producer, 0),
            base_sequence=sequence,
        )
        one = self._placed(position, data, count, time + count - 1, epoch, 2, keys)
        yield one
        self.in_transaction[producer] = self.in_transaction.get(producer, 0) + shape.is_transactional
        if self.in_transaction[producer] == 5:
            self.in_transaction[producer] = 0
            end = START_MS + self.offset
            data = records.transaction_marker(
                base_offset=self.offset,
                timestamp=end,
                partition_leader_epoch=epoch,
                producer_id=producer,
                coordinator_epoch=COORDINATOR_EPOCH,
            )
            yield self._placed(one.end, data, 1, end, epoch, 2, ())

    def _values(self, shape: Shape) -> list[bytes]:
        count = self.chance.randint(*shape.records)
        low, high = shape.value_size
        sizes = [self.chance.randint(low, high) for _ in range(count)] if low < high else [low] * count
        values = []
        if shape.is_text:
            for size in sizes:
                at = int(self.chance.random() * (len(self.pool) - size))
                values.append(self.pool[at : at + size])
            return values
        data = self.chance.randbytes(sum(sizes))
        at = 0
        for size in sizes:
            values.append(data[at : at + size])
            at += size
        return values

    def _placed(
        self, position: int, data: bytes, count: int, max_timestamp: int, epoch: int, magic: int, keys: tuple[int, ...]
    ) -> Batch:
        first = self.offset
        self.offset += count
        return Batch(position, data, first, first + count - 1, count, max_timestamp, epoch, magic, keys)


def _texts(chance: random.Random) -> bytes:
    """A megabyte of words that compress to about a half."""
    return chance.randbytes(3 << 17).hex(" ", 3).encode()


def _message_set(shape: Shape, first: int, time: int, keys: tuple[int, ...], values: list[bytes]) -> bytes:
    messages = [
        records.message(magic=shape.magic, key=key_of(keys[row]), value=value, timestamp=time + row)
        for row, value in enumerate(values)
    ]
    if shape.codec == "none":
        return records.message_set(messages=messages, base_offset=first)
    return records.wrapper(messages=messages, magic=shape.magic, codec=shape.codec, base_offset=first)
