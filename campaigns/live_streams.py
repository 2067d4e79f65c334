"""Streams the log directory of a live broker, while it is written to, compacted, shortened by retention, and killed.

    python -m campaigns.live_streams --count 200
    python -m campaigns.live_streams --count 50 --release 3.9.1 --seed 7

Producers of all kinds write; a real consumer follows. A query does with its checkpoint location what Spark does, in a process
that is killed at random moments, and so is the broker, which finds a torn end at its next start. Each record that the consumer
got has to be delivered once, in order.
"""

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

from tests.builders.records import batch, record
from tests.oracle import batches, live_broker
from tests.oracle.live_broker import Broker, ClientRecord, Clients, Reading
from tests.support import wait_until

COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "1000",
    "min.compaction.lag.ms": "0",
}
SEGMENT_SIZE = 20_000
RETAINED_SIZE = 1_500_000  # retention is to be slower than a few queries that are killed too early
COUNTS = {"plain": 2, "compacted": 2, "both": 1}
"""The topics, and how many partitions they have."""

PAUSE = 30  # ms between the steps of the producers
MAX_BATCHES, MAX_WAIT = 4, 1.5
KILLS_OF_BROKER = 0.25  # per kill of a query


COLUMNS = "topic,partition,offset,isControl,timestamp,timestampType,key,value,headers"


class Delivered(NamedTuple):
    """A record that was delivered; `digest` is the checksum of its time and contents."""

    directory: str
    offset: int
    is_control: bool
    digest: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return the exit code: 1 if something is wrong, 2 if there is no broker."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how often the query is killed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--release", choices=live_broker.RELEASES, default=live_broker.RELEASES[0])
    chosen = parser.parse_args(arguments)
    if missing := live_broker.why_not_available(chosen.release):
        print(missing, file=sys.stderr)
        return 2
    folder = tempfile.TemporaryDirectory(prefix="kdump-live-", ignore_cleanup_errors=True)
    with folder as name, live_broker.running(Path(name), chosen.release) as (broker, clients):
        return int(bool(campaign(broker, clients, chosen.count, chosen.seed)))


def campaign(broker: Broker, clients: Clients, count: int, seed: int) -> list[str]:
    """Kill a query so often, and the broker now and then. Returns what is wrong with what was delivered."""
    chance = random.Random(f"streams {seed}")
    failures: list[str] = []
    crashes = 0
    folder = broker.folder
    for name, settings in _settings(RETAINED_SIZE).items():
        clients.create(name, COUNTS[name], {live_broker.segment_size_setting(broker.release): str(SEGMENT_SIZE), **settings})
    clients.follow(COUNTS)
    clients.start(COUNTS, PAUSE, seed)
    for number in range(count):
        is_broker_killed = not number or chance.random() < KILLS_OF_BROKER
        crash = _Crash(broker, chance) if is_broker_killed else None
        if not _killed(folder, chance.randrange(MAX_BATCHES), live_broker.any_wait(chance, MAX_WAIT)):
            failures.append(f"the query ended, number {number}: {_said(folder)}")
            print(failures[-1], flush=True)
        if crash is not None:
            crash.join()
            crashes += 1
    clients.stop()
    followed = clients.unfollow()
    last = _started(folder, is_last=True)
    last.join()
    if last.exitcode:
        return [*failures, f"the stream does not go on: {_said(folder)}"]
    delivered = [
        [Delivered(*row) for row in json.loads((folder / "out" / str(one)).read_text())] for one in range(batch_count(folder))
    ]
    found = list(_differences(delivered, followed, clients.read(COUNTS, "read_uncommitted")))
    print(*found, sep="\n", end="\n" if found else "")
    records = sum(len(reading.records) for reading in followed.values())
    print(
        f"streams, {broker.release}: {records:,} records followed, {sum(map(len, delivered)):,} delivered in"
        f" {batch_count(folder)} micro-batches, {count} kills, {crashes} of the broker: {len(failures + found)} failures",
        flush=True,
    )
    return failures + found


def _settings(retained_size: int) -> dict[str, dict[str, str]]:
    return {
        "plain": {"cleanup.policy": "delete", "retention.bytes": str(retained_size)},
        "compacted": COMPACTED,
        "both": {**COMPACTED, "cleanup.policy": "compact,delete", "retention.bytes": str(retained_size // 4)},
    }


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
    return digest(one.timestamp, one.timestamp_type, one.key_bytes, one.value_bytes, one.header_pairs)


# --- The query


def _killed(folder: Path, more: int, seconds: float) -> bool:
    """Run a query, and kill it some seconds after it has finished so many more micro-batches; False if it ended before."""
    wanted = batch_count(folder) + more
    query = _started(folder)
    wait_until(lambda: batch_count(folder) >= wanted or not query.is_alive())
    query.join(seconds)
    is_under_way = query.is_alive()
    query.kill()
    query.join()
    return is_under_way


def _started(folder: Path, *, is_last: bool = False) -> ForkServerProcess:
    """A process of a query, forked from one that has loaded what it needs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kdump.pipeline.growth"])
    query = context.Process(target=_query, args=(folder, is_last))
    query.start()
    return query


def _said(folder: Path) -> str:
    """The last lines that the last query has printed."""
    return "\n".join((folder / "query.log").read_text().splitlines()[-3:])[-800:]


def _query(folder: Path, is_last: bool) -> None:
    """Stream until killed, or until all is read: the ends of a micro-batch are kept before it is read, its rows under its number.

    `checkpoint` holds the ends and which micro-batches are finished, as with Spark, `out` the rows.
    """
    from kdump.pipeline import growth
    from kdump.pipeline.growth import End
    from kdump.pipeline.options import Options

    os.dup2(os.open(folder / "query.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    given = {"path": str(folder / "data"), "table": "records", "columns": COLUMNS, "parallelism": "2"}
    known: growth.Ends = {}
    number = batch_count(folder)
    while True:
        start = _kept_ends(folder, number - 1)
        if not (folder / "checkpoint" / "offsets" / str(number)).exists():
            known = growth.ends(Options(given), known)
            if {directory: list(end) for directory, end in known.items()} == start:
                if is_last:
                    return
                continue
            _keep(folder / "checkpoint" / "offsets" / str(number), known)
        since, until = ({directory: End(*end) for directory, end in ends.items()} for ends in (start, _kept_ends(folder, number)))
        steps = growth.steps(Options(given), since, until)
        rows = [row for step in steps for batch in growth.read(step, given) for row in batch.to_pylist()]
        _keep(folder / "out" / str(number), list(_delivered(rows)))
        _keep(folder / "checkpoint" / "commits" / str(number), None)
        number += 1


def batch_count(folder: Path) -> int:
    return max((int(path.name) for path in (folder / "checkpoint" / "commits").glob("[0-9]*")), default=-1) + 1


def _kept_ends(folder: Path, number: int) -> dict[str, list[int]]:
    """The ends of a micro-batch, by directory; none before the first."""
    if number < 0:
        return {}
    ends: dict[str, list[int]] = json.loads((folder / "checkpoint" / "offsets" / str(number)).read_text())
    return ends


def _keep(path: Path, value: object) -> None:
    """Write a file at once, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(json.dumps(value))
    temporary.rename(path)


def _delivered(rows: Iterable[Mapping[str, Any]]) -> Iterator[Delivered]:
    for row in rows:
        headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
        contents = digest(row["timestamp"], row["timestampType"], row["key"], row["value"], headers)
        yield Delivered(f"{row['topic']}-{row['partition']}", row["offset"], bool(row["isControl"]), contents)


def digest(timestamp: int, timestamp_type: str, key: bytes | None, value: bytes | None, headers: Sequence[Any]) -> int:
    """A checksum of what a consumer gets of a record, besides its offset; headers are names with values."""
    return zlib.crc32(repr((timestamp, timestamp_type, key, value, [tuple(pair) for pair in headers])).encode())


if __name__ == "__main__":
    sys.exit(main())
