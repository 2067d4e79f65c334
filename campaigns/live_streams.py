"""Streams the log directory of a live broker, while it is written to, compacted, shortened by retention, and killed.

Producers of all kinds write; a real consumer follows. The process of the query is killed at random moments, and so is the
broker, which finds a torn end at its next start. Each record that the consumer got has to be delivered once, in order.
"""

import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from subprocess import CalledProcessError

from campaigns import stream_query
from campaigns.stream_query import Delivered
from tests.builders.records import batch, record
from tests.oracle import batches, live_broker
from tests.oracle.live_broker import Broker, ClientRecord, Clients, Reading

COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "1000",
    "min.compaction.lag.ms": "0",
}
SEGMENT_SIZE = 20_000
RETAINED_SIZE = 1_500_000  # retention is to be slower than a few queries that are killed too early
SPARK_FACTOR = 20  # as slow are queries with Spark
COUNTS = {"plain": 2, "compacted": 2, "both": 1}
"""The topics, and how many partitions they have."""

PAUSE = 30  # ms between the steps of the producers
MAX_BATCHES, MAX_WAIT = 4, 1.5
KILLS_OF_BROKER = 0.25  # per kill of a query


def campaign(broker: Broker, clients: Clients, count: int, seed: int, *, is_plain: bool) -> list[str]:
    """Kill a query so often, and the broker now and then. Returns what is wrong with what was delivered."""
    chance = random.Random(f"streams {seed}")
    failures: list[str] = []
    crashes = 0
    folder = broker.folder
    for name, settings in _settings(RETAINED_SIZE * (1 if is_plain else SPARK_FACTOR)).items():
        clients.create(name, COUNTS[name], {live_broker.segment_size_setting(broker.release): str(SEGMENT_SIZE), **settings})
    clients.follow(COUNTS)
    clients.start(COUNTS, PAUSE, seed)
    with stream_query.Queries(folder, is_plain=is_plain) as queries:
        for number in range(count):
            is_broker_killed = not number or chance.random() < KILLS_OF_BROKER
            crash = _Crash(broker, chance) if is_broker_killed else None
            ended = queries.killed(chance.randrange(MAX_BATCHES), live_broker.any_wait(chance, MAX_WAIT))
            if not ended.is_killed:
                failures.append(f"the query ended, number {number}: {_why(ended.said)}")
                print(failures[-1], flush=True)
            if crash is not None:
                crash.join()
                crashes += 1
    clients.stop()
    followed = clients.unfollow()
    try:
        delivered = stream_query.finished(folder, is_plain=is_plain)
    except CalledProcessError as error:
        return [*failures, f"the stream does not go on: {_why(error.stderr)}"]
    found = list(_differences(delivered, followed, clients.read(COUNTS, "read_uncommitted")))
    print(*found, sep="\n", end="\n" if found else "")
    records = sum(len(reading.records) for reading in followed.values())
    print(
        f"streams, {broker.release}: {records:,} records followed, {sum(map(len, delivered)):,} delivered in"
        f" {stream_query.batch_count(folder)} micro-batches, {count} kills, {crashes} of the broker:"
        f" {len(failures + found)} failures",
        flush=True,
    )
    return failures + found


def _settings(retained_size: int) -> dict[str, dict[str, str]]:
    """The settings of each topic."""
    return {
        "plain": {"cleanup.policy": "delete", "retention.bytes": str(retained_size)},
        "compacted": COMPACTED,
        "both": {**COMPACTED, "cleanup.policy": "compact,delete", "retention.bytes": str(retained_size // 4)},
    }


def _why(said: str) -> str:
    """The lines that name an error of ours, or the last ones: Spark's plan follows the error."""
    lines = said.splitlines()
    named = [line for line in lines if "kdump.errors" in line or "Caused by" in line]
    return "\n".join((named or lines)[-3:])[-800:]


class _Crash(threading.Thread):
    """Kills the broker after a while, tears the end of some logs, and starts it again."""

    def __init__(self, broker: Broker, chance: random.Random) -> None:
        super().__init__()
        self._broker = broker
        self._chance = random.Random(chance.random())
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            time.sleep(self._chance.uniform(0, 2))
            self._broker.kill()
            for name, count in COUNTS.items():
                for partition in range(count):
                    if self._chance.random() < 0.5:
                        tear(self._broker.data / f"{name}-{partition}", self._chance)
            time.sleep(self._chance.uniform(0, 1.5))
            self._broker.start()
        except BaseException as error:
            self._error = error

    def join(self, timeout: float | None = None) -> None:
        super().join(timeout)
        if self._error is not None:
            raise self._error


def tear(partition: Path, chance: random.Random) -> str:
    """Append what a stop in the middle of a write leaves: a part of a batch, or one of which blocks did not reach the disk."""
    log = max(partition.glob("*.log"))
    found = list(batches.intact(log.read_bytes()))
    next_offset = found[-1].last_offset + 1 if found else int(log.stem)
    records = [record(key=b"torn", value=chance.randbytes(chance.randrange(400))) for _ in range(chance.randint(1, 9))]
    data = bytearray(batch(records=records, base_offset=next_offset))
    what = chance.choice(("cut", "zeros", "hole", "garbage"))
    if what == "cut":
        del data[chance.randrange(1, len(data)) :]
    elif what == "zeros":
        data[:] = bytes(len(data))
    elif what == "hole":
        data[-8:] = bytes(8) if any(data[-8:]) else b"\1" * 8
    else:
        data[:] = chance.randbytes(len(data))
    with log.open("ab") as file:
        file.write(data)
    return what


def _differences(
    delivered: Sequence[Sequence[Delivered]], followed: Mapping[str, Reading], remaining: Mapping[str, Reading]
) -> Iterator[str]:
    """What is there twice, missing, not as the consumer got it, or out of order."""
    of_directory: dict[str, list[list[Delivered]]] = {}
    for number, rows in enumerate(delivered):
        for row in rows:
            parts = of_directory.setdefault(row.directory, [[] for _ in delivered])
            parts[number].append(row)
    for directory, parts in of_directory.items():
        offsets = [row.offset for rows in parts for row in rows]
        if len(set(offsets)) < len(offsets):
            yield f"{directory}: {len(offsets) - len(set(offsets))} records are there twice"
        filled = [[row.offset for row in rows] for rows in parts if rows]
        if any(max(one) >= min(following) for one, following in pairwise(filled)):
            yield f"{directory}: micro-batches are not in the order of offsets"
    for directory, reading in followed.items():
        by_offset = {row.offset: row for part in of_directory.get(directory, ()) for row in part}
        yield from _differences_of(directory, by_offset, reading, remaining[directory])


def _differences_of(directory: str, rows: Mapping[int, Delivered], followed: Reading, remaining: Reading) -> Iterator[str]:
    is_compacted = not directory.startswith("plain")
    left = {one.offset for one in remaining.records}
    got = {one.offset: one for one in followed.records}
    missing = [offset for offset in got if offset not in rows and (not is_compacted or offset in left)]
    if missing:
        yield f"{directory}: {len(missing)} records are missing, the first at offset {missing[0]}"
    others = [offset for offset, row in rows.items() if offset in got and row.digest != digest_of(got[offset])]
    if others:
        yield f"{directory}: {len(others)} records are others, the first at offset {others[0]}"
    mistaken = [
        offset for offset, row in rows.items() if row.is_control == (offset in got) and not (is_compacted and offset not in got)
    ]
    if mistaken:
        yield f"{directory}: {len(mistaken)} records that the consumer did not get, the first at offset {mistaken[0]}"
    if not is_compacted and rows.keys() != set(range(remaining.next)):
        yield f"{directory}: offsets 0 to {remaining.next - 1} are not all there, once: {len(rows)}"


def digest_of(one: ClientRecord) -> int:
    """The checksum of a record that a consumer got, as for records that are delivered."""
    return stream_query.digest(one.timestamp, one.timestamp_type, one.key_bytes, one.value_bytes, one.header_pairs)
