"""Slices random partitions, and compares the slices with what was written: with Kafka's record classes and log managers.

    python -m campaigns.cut_out --count 500
    python -m campaigns.cut_out --seed 1 --number 1234 --keep /tmp/cut     one of them again, its directories kept

A partition holds batches of all magics and codecs, transactions of several producers that are committed, aborted or open, empty
batches, holes, delete horizons and several segments. What a slice must hold follows from what was written, by rules that are
written down here once more: the records in order with all that belongs to them, and what a consumer that reads committed sees.
"""

import contextlib
import functools
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import kdump
from campaigns import numbered
from kdump.mending.row import SlicedSegment
from tests.builders.compression import Codec
from tests.builders.files import write_partition
from tests.builders.records import (
    TIMESTAMP,
    Message,
    Record,
    TimestampType,
    batch,
    message,
    message_set,
    transaction_marker,
    wrapper,
)
from tests.oracle import kafka_records, restarts
from tests.oracle.kafka_records import KafkaRecords
from tests.oracle.restarts import LogManager, Request, Start

RELEASES = ("4.3.1", "3.9.1", "2.8.2")
KEYS = (b"a", b"b", b"key-3", b"", None)
CODECS: tuple[Codec, ...] = ("none", "none", "gzip", "snappy", "lz4", "zstd")


class Written(NamedTuple):
    """A record as it was written; control records have no key here."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    producer_id: int = -1
    is_transactional: bool = False
    is_control: bool = False
    is_commit: bool = False


@dataclass
class Batch:
    """A batch with its records, and the times that its header says."""

    data: bytes
    first: int
    last: int
    records: list[Written]
    earliest: int | None  # by the header; None if that does not say
    latest: int
    magic: int = 2
    is_control: bool = False
    is_append_time: bool = False


@dataclass
class Partition:
    """The batches of each segment, by base offset."""

    segments: dict[int, list[Batch]] = field(default_factory=dict)

    @property
    def batches(self) -> list[Batch]:
        return [one for batches in self.segments.values() for one in batches]


class Writer:
    """Writes a random partition, as several producers and a cleaner do."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._offset = chance.choice((0, 0, 5, 1 << 33))
        self._time = TIMESTAMP
        self._sequences = dict.fromkeys(range(1, 5), 0)
        self._open: set[int] = set()

    def partition(self) -> Partition:
        chance, partition = self._chance, Partition()
        for _ in range(chance.randint(1, 4)):
            base = self._offset
            if chance.random() < 0.2:
                self._offset += chance.randint(1, 9)  # compacted
            partition.segments[base] = [self._batch() for _ in range(chance.randint(1, 8))]
        return partition

    def _batch(self) -> Batch:
        chance = self._chance
        if chance.random() < 0.15:
            self._offset += chance.randint(1, 20)
        self._time += chance.randint(-50, 400)
        if self._open and chance.random() < 0.3:
            return self._marker(chance.choice(sorted(self._open)))
        if not self._sequences_used() and chance.random() < 0.3:
            return self._messages()
        return self._data()

    def _sequences_used(self) -> bool:
        return any(self._sequences.values())

    def _marker(self, producer_id: int) -> Batch:
        self._open.discard(producer_id)
        is_commit = self._chance.random() < 0.5
        data = transaction_marker(base_offset=self._offset, producer_id=producer_id, is_commit=is_commit, timestamp=self._time)
        one = Written(self._offset, self._time, None, None, producer_id, True, True, is_commit)
        self._offset += 1
        return Batch(data, one.offset, one.offset, [one], self._time, self._time, is_control=True)

    def _times(self, count: int) -> list[int]:
        return [max(0, self._time + self._chance.randint(-200, 200)) for _ in range(count)]

    def _data(self) -> Batch:
        chance = self._chance
        producer_id = chance.choice((-1, -1, 1, 2, 3, 4))
        is_transactional = producer_id >= 3
        span = chance.randint(1, 12)
        deltas = sorted(chance.sample(range(span), chance.randint(0 if chance.random() < 0.1 else 1, span)))
        times = self._times(len(deltas))
        kind: TimestampType = "LogAppendTime" if chance.random() < 0.2 else "CreateTime"
        horizon = self._time + 1000 if chance.random() < 0.1 and deltas else None
        records = [
            Record(key=chance.choice(KEYS), value=b"%d" % (self._offset + delta), offset_delta=delta, timestamp=time)
            for delta, time in zip(deltas, times, strict=True)
        ]
        sequence = -1
        if producer_id >= 0:
            sequence, self._sequences[producer_id] = self._sequences[producer_id], self._sequences[producer_id] + span
        latest = max(times, default=self._time)
        first = self._offset
        data = batch(
            records=records,
            base_offset=first,
            codec=chance.choice(CODECS),
            timestamp_type=kind,
            is_transactional=is_transactional,
            delete_horizon_ms=horizon,
            last_offset_delta=span - 1,
            base_timestamp=None if times else -1,
            max_timestamp=latest,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else 0,
            base_sequence=sequence,
        )
        if is_transactional:
            self._open.add(producer_id)
        self._offset += span
        is_append = kind == "LogAppendTime"
        written = [
            Written(first + delta, latest if is_append else time, record.key, record.value, producer_id, is_transactional)
            for delta, time, record in zip(deltas, times, records, strict=True)
        ]
        earliest = latest if is_append else None if horizon is not None else times[0] if times else -1
        return Batch(data, first, first + span - 1, written, earliest, latest, is_append_time=is_append)

    def _messages(self) -> Batch:
        chance = self._chance
        magic = chance.choice((0, 1))
        codec: Codec = chance.choice(("none", "gzip", "snappy", "lz4"))
        count = 1 if codec == "none" else chance.randint(1, 8)
        offsets = sorted(chance.sample(range(self._offset, self._offset + 2 * count), count))
        times = self._times(count) if magic else [-1] * count
        kind: TimestampType = "LogAppendTime" if magic and chance.random() < 0.3 else "CreateTime"
        make, latest = functools.partial(message, magic=magic, timestamp_type=kind), max(times)
        messages: list[Message | bytes] = [
            make(key=chance.choice(KEYS), value=b"%d" % offset, offset=offset, timestamp=time)
            for offset, time in zip(offsets, times, strict=True)
        ]
        of_wrapper: dict[str, Any] = {"magic": magic, "codec": codec, "timestamp_type": kind}
        data = message_set(messages=messages)
        if codec != "none":
            data = wrapper(messages=messages, base_offset=offsets[0], timestamp=latest, **of_wrapper)
        self._offset = offsets[-1] + 1
        written = [
            Written(one.offset or 0, latest if kind == "LogAppendTime" else time, one.key, one.value)
            for one, time in zip(messages, times, strict=True)
            if isinstance(one, Message)
        ]
        return Batch(data, offsets[0], offsets[-1], written, None, latest, magic=magic)


class Cut(NamedTuple):
    """What is asked for."""

    from_offset: int | None = None
    to_offset: int | None = None
    from_time: int | None = None
    to_time: int | None = None
    exact: bool = False
    keep_keys: tuple[bytes, ...] = ()
    drop_keys: tuple[bytes, ...] = ()

    @property
    def has_times(self) -> bool:
        return self.from_time is not None or self.to_time is not None

    def has_time(self, earliest: int | None, latest: int) -> bool:
        if not self.has_times:
            return True
        return (
            latest != -1
            and (self.from_time is None or latest >= self.from_time)
            and (self.to_time is None or earliest is None or earliest <= self.to_time)
        )

    def has_offset(self, first: int, last: int) -> bool:
        return (self.from_offset is None or last >= self.from_offset) and (self.to_offset is None or first <= self.to_offset)

    def has_batch(self, one: Batch) -> bool:
        if one.magic < 2:
            return any(self.has_record(record) for record in one.records)
        earliest = one.earliest if one.is_control or one.is_append_time or not self.exact else None
        return self.has_offset(one.first, one.last) and self.has_time(earliest, one.latest)

    def has_record(self, record: Written) -> bool:
        return self.has_offset(record.offset, record.offset) and self.has_time(record.timestamp, record.timestamp)

    def keeps(self, record: Written) -> bool:
        if self.exact and not self.has_record(record):
            return False
        return record.key not in self.drop_keys and (not self.keep_keys or record.key in self.keep_keys)


def any_cut(partition: Partition, chance: random.Random) -> Cut:
    offsets = [one.offset for one_batch in partition.batches for one in one_batch.records] or [0]
    times = [one.timestamp for one_batch in partition.batches for one in one_batch.records] or [0]

    def maybe(values: Sequence[int]) -> int | None:
        return chance.choice(values) if chance.random() < 0.5 else None

    by_time = chance.random() < 0.3
    first, last = maybe(offsets), maybe(offsets)
    if first is not None and last is not None:
        first, last = min(first, last), max(first, last)
    keys = tuple(key for key in KEYS if key is not None and chance.random() < 0.4)
    by_key, times_asked = chance.random(), (maybe(times), maybe(times)) if by_time else (None, None)
    kept, dropped = (keys if by_key < 0.2 else ()), (keys if 0.2 <= by_key < 0.4 else ())
    return Cut(*((None, None) if by_time else (first, last)), *times_asked, chance.random() < 0.5, kept, dropped)


def expected(partition: Partition, cut: Cut) -> list[Written]:
    """The records of the slice: those that are asked for, and the control records that belong to them."""
    found: list[Written] = []
    open_producers: set[int] = set()
    for one in partition.batches:
        if one.is_control:
            (control,) = one.records
            if cut.has_batch(one) or control.producer_id in open_producers:
                found.append(control)
                open_producers.discard(control.producer_id)
        elif cut.has_batch(one):
            kept = [record for record in one.records if cut.keeps(record)]
            found += kept
            open_producers |= {record.producer_id for record in kept if record.is_transactional}
    return found


def committed(records: Sequence[Written]) -> list[int]:
    """The offsets that a consumer that reads committed sees: up to the first transaction that is open, without aborted ones."""
    open_since: dict[int, int] = {}
    aborted: set[int] = set()
    of_transaction: dict[int, list[int]] = {}
    for record in records:
        if record.is_control:
            if not record.is_commit:
                aborted.update(of_transaction.get(record.producer_id, ()))
            of_transaction.pop(record.producer_id, None)
            open_since.pop(record.producer_id, None)
        elif record.is_transactional:
            open_since.setdefault(record.producer_id, record.offset)
            of_transaction.setdefault(record.producer_id, []).append(record.offset)
    stable = min(open_since.values(), default=None)
    return [
        record.offset
        for record in records
        if not record.is_control and record.offset not in aborted and (stable is None or record.offset < stable)
    ]


def read_by_kafka(kafka: KafkaRecords, directory: Path) -> list[Written]:
    """All records of a partition directory, as Kafka's classes read them."""
    found = []
    for log in sorted(directory.glob("*.log")):
        for record in kafka.read(log):
            is_control = record.is_control
            key, value = (None, None) if is_control else (record.key, record.value)
            of_producer = (record.producer_id, "t" in record.flags, is_control, is_control and record.key == b"\0\0\0\1")
            found.append(Written(record.offset, record.timestamp, key, value, *of_producer))
    return found


def differences(partition: Partition, cut: Cut, source: Path, output: Path, read: Any) -> Iterator[str]:
    """Slice, and yield what differs from what was written. `read` reads the records of a directory."""
    wanted = expected(partition, cut)
    try:
        made = kdump.slice(source, output, **cut._asdict())
    except kdump.UsageError:
        if any(not record.is_control for record in wanted):
            yield "nothing was found"
        return
    rows = [row for row in made if isinstance(row, SlicedSegment)]
    if len(rows) < len(made):
        yield f"holes, though all logs are whole: {made}"
    if any(row.batches != row.outside + row.cloned + row.rewritten + row.emptied + row.dropped for row in rows):
        yield f"the batches do not add up: {rows}"
    if any(row.records != row.kept + row.out_of_range + row.by_key for row in rows):
        yield f"the records do not add up: {rows}"
    found = read(output)
    data, wanted_data = ([record for record in records if not record.is_control] for records in (found, wanted))
    if data != wanted_data:
        yield f"records: {data}, not {wanted_data}"
    if sum(row.kept for row in rows) != len(found):
        yield f"{sum(row.kept for row in rows)} records are said to be kept, not {len(found)}"
    all_written = [record for one in partition.batches for record in one.records]
    still_open = set(committed(found)) ^ set(committed(wanted))
    if still_open:
        yield f"a consumer that reads committed sees others: {sorted(still_open)}"
    outcomes = _outcomes(all_written)
    if any(_outcomes(found).get(record.offset) != outcomes[record.offset] for record in data if record.is_transactional):
        yield "a transaction has another outcome"


def _outcomes(records: Sequence[Written]) -> dict[int, bool | None]:
    """Whether the transaction of each offset was committed; None if it is open."""
    found: dict[int, bool | None] = {}
    pending: dict[int, list[int]] = {}
    for record in records:
        if record.is_control:
            for offset in pending.pop(record.producer_id, ()):
                found[offset] = record.is_commit
        elif record.is_transactional:
            found[record.offset] = None
            pending.setdefault(record.producer_id, []).append(record.offset)
    return found


def is_kept_by(manager: LogManager, output: Path) -> str:
    """What a log manager changes when it loads a directory after any stop; empty if nothing."""
    for row in (manager.record(Request(output), Start(stop, 0)) for stop in ("clean", "unclean")):
        changed = [name for name, *_ in row.get("files", []) if not name.endswith(".snapshot")]  # the order of producers varies
        is_whole = row["result"] == "loaded" and row["outcome"] == "keep" and not row["bytes_lost"] and row["segments"] == "same"
        if changed or not is_whole or row.get("end_differs"):
            return f"{row}"
    return ""


def one_case(seed: int, number: int, folder: Path) -> tuple[Partition, Cut, Path]:
    chance = random.Random(f"{seed} {number}")
    partition = Writer(chance).partition()
    segments = {base: [one.data for one in batches] for base, batches in partition.segments.items()}
    write_partition(folder, topic="orders", segments=segments)
    return partition, any_cut(partition, chance), folder / "orders-0"


def why_not_available() -> str | None:
    """What is missing to ask Kafka; None if nothing is."""
    return kafka_records.why_not_available() or next(filter(None, map(restarts.why_not_available, RELEASES)), None)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = numbered.parser(__doc__, count=100).parse_args(arguments)
    missing = why_not_available()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    with KafkaRecords() as kafka, contextlib.ExitStack() as stack:
        managers = {release: stack.enter_context(LogManager(release)) for release in RELEASES}

        def faults(seed: int, number: int, folder: Path) -> Iterator[str]:
            partition, cut, source = one_case(seed, number, folder)
            output = folder / "out" / "orders-0"
            output.parent.mkdir()
            for difference in differences(partition, cut, source, output, lambda path: read_by_kafka(kafka, path)):
                yield f"{cut}: {difference}"
            for release, manager in managers.items():
                said = is_kept_by(manager, output) if output.exists() else ""
                if said:
                    yield f"{cut}: {release}: {said}"

        return numbered.run(chosen, faults, "slices")


if __name__ == "__main__":
    sys.exit(main())
