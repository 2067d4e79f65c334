"""Gives a broker the partitions that kdump made of its own, and compares what consumers get with what was promised.

Producers of all kinds fill the partitions of a topic, some of which is compacted; then the broker is stopped or killed. Each
partition is sliced, recovered (damaged, from one replica or three), redacted or rebuilt; the result takes its place. The truth is
what consumers got before, and what Kafka's record classes read of the files.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import kdump
from campaigns import damage
from campaigns.cut_out import Cut, Written, committed, read_by_kafka
from campaigns.live_streams import COMPACTED
from kdump.errors import CorruptData, UsageError
from kdump.mending.row import Dropped
from kdump.tables import Row
from tests.oracle import batches, live_broker
from tests.oracle.kafka_records import KafkaRecords
from tests.oracle.live_broker import Broker, ClientRecord, Clients, Partitions, Reading

AT_ONCE = 16
"""Partitions of a topic, which are exchanged during one stop."""

STEPS = 25  # of the producers, a partition
SEGMENT_SIZE = 6_000
SETTINGS = {"segment.index.bytes": "100000"}
WAYS_OF_DAMAGE = (
    damage.bits_flipped,
    damage.byte_set,
    damage.cut,
    damage.inserted,
    damage.deleted,
    damage.zeroed,
    damage.doubled,
    damage.swapped,
)
REFUSED = ("replica-divergence",)


class Partition:
    """A partition before it is exchanged: its files, what consumers got of it, and what Kafka's record classes read."""

    def __init__(self, directory: Path, uncommitted: Reading, committed_: Reading, written: Sequence[Written]) -> None:
        self.directory = directory
        self.uncommitted = uncommitted.records
        self.committed = committed_.records
        self.written = written


class Promise:
    """What a consumer is to get. `offsets` are those of committed records, `cuts` those before which an open transaction may stop
    it; `may_have` are records that may be there, too."""

    def __init__(self, what: str, records: Sequence[ClientRecord], offsets: Sequence[int], cuts: Sequence[int] = ()) -> None:
        self.what = what
        self.records = list(records)
        self.offsets = list(offsets)
        self.cuts = cuts
        self.may_have: list[ClientRecord] = []
        self.is_redacted = False


def campaign(broker: Broker, clients: Clients, count: int, seed: int, keep: Path | None = None) -> list[str]:
    """Exchange so many partitions. Returns what is wrong with what consumers get then; `keep` is a directory for such inputs."""
    failures: list[str] = []
    seen: Counter[str] = Counter()
    for first in range(0, count, AT_ONCE):
        chance = random.Random(f"copies {seed} {first}")
        names = {f"{chance.choice(('plain', 'compacted'))}{first}": min(AT_ONCE, count - first)}
        for what, found in _round(broker, clients, names, chance, keep):
            seen[what.split()[0]] += 1
            failures += found
            for one in found:
                print(f"{seed} {first}: {one}", flush=True)
    print(f"copies, {broker.release}: {dict(seen)} partitions exchanged: {len(failures)} failures", flush=True)
    return failures


def _round(
    broker: Broker, clients: Clients, names: dict[str, int], chance: random.Random, keep: Path | None
) -> Iterator[tuple[str, list[str]]]:
    """Exchange all partitions of a topic during one stop; yield what was done with each, and what is wrong."""
    ((topic, partitions),) = names.items()
    _fill(clients, topic, partitions, chance, broker.release)
    before = _read(clients, names)
    if chance.random() < 0.5:
        broker.stop()
    else:
        broker.kill()
    work = broker.folder / "work"
    work.mkdir()
    promises: dict[str, Promise] = {}
    with KafkaRecords() as kafka:
        for name in (f"{topic}-{number}" for number in range(partitions)):
            (broker.data / name).rename(work / name)
            partition = Partition(work / name, *before[name], read_by_kafka(kafka, work / name))
            try:
                promises[name] = _exchange(partition, broker.data / name, random.Random(chance.random()), kafka)
            except CorruptData as error:
                yield "refused", [] if error.code in REFUSED else [f"{name}: refused: {error}"]
                shutil.copytree(work / name, broker.data / name)
            if not (broker.data / name).exists():
                shutil.copytree(work / name, broker.data / name)
    made = {name: _logs(broker.data / name) for name in promises}
    broker.start()
    after = _read(clients, names)
    for name, promise in promises.items():
        found = list(_broken(promise, *after[name]))
        if _logs(broker.data / name) != made[name]:
            found.append("the broker changed the logs")
        yield promise.what, [f"{name}: {promise.what}: {one}" for one in found]
        if found and keep is not None:
            shutil.copytree(work, keep / topic, dirs_exist_ok=True)
    clients.delete(topic)
    shutil.rmtree(work)


def _read(clients: Clients, names: Partitions) -> dict[str, tuple[Reading, Reading]]:
    """What consumers that read uncommitted, and committed, get of each partition."""
    uncommitted, committed_ = (clients.read(names, isolation) for isolation in ("read_uncommitted", "read_committed"))
    return {name: (reading, committed_[name]) for name, reading in uncommitted.items()}


def _fill(clients: Clients, topic: str, partitions: int, chance: random.Random, release: str) -> None:
    """Create a topic, and write to it. What is compacted then no longer changes."""
    settings = {**SETTINGS, live_broker.segment_size_setting(release): str(SEGMENT_SIZE)}
    is_compacted = topic.startswith("compacted")
    clients.create(topic, partitions, {**settings, **COMPACTED} if is_compacted else settings)
    clients.write({topic: partitions}, STEPS * partitions // 2, chance.randrange(1 << 30))
    if is_compacted:
        time.sleep(2)
        clients.alter(topic, {"cleanup.policy": "delete"})
        time.sleep(0.5)
    leaves_open = chance.random() < 0.4
    clients.write({topic: partitions}, STEPS * partitions // 2, chance.randrange(1 << 30), leaves_open=leaves_open)


def _exchange(partition: Partition, output: Path, chance: random.Random, kafka: KafkaRecords) -> Promise:
    """Let kdump make a partition of one, and say what consumers are to get of it."""
    (what,) = chance.choices((_sliced, _recovered, _merged, _redacted, _rebuilt), (50, 20, 15, 8, 7))
    return what(partition, output, chance, kafka)


def _sliced(partition: Partition, output: Path, chance: random.Random, _kafka: KafkaRecords) -> Promise:
    cut = _any_cut(partition, chance)
    kept = [record for record in partition.written if record.is_control or cut.keeps(record)]
    offsets = {record.offset for record in kept if not record.is_control}
    opened = _open(partition.written)
    promise = Promise(f"slice {cut}", [one for one in partition.uncommitted if one.offset in offsets], committed(kept), opened)
    try:
        kdump.slice(str(partition.directory), str(output), **cut._asdict())
    except UsageError:
        if not offsets:
            return Promise("nothing to slice", partition.uncommitted, [one.offset for one in partition.committed])
        raise
    return promise


def _any_cut(partition: Partition, chance: random.Random) -> Cut:
    """Random ranges and keys. All records outside of them are left out."""
    offsets = [one.offset for one in partition.uncommitted] or [0]
    times = [one.timestamp for one in partition.uncommitted] or [0]
    keys = sorted({key for one in partition.uncommitted if (key := one.key_bytes) is not None})
    by_time = chance.random() < 0.3
    values = times if by_time else offsets
    first, last = sorted(chance.choice(values) for _ in range(2))
    first_or_none = first if chance.random() < 0.8 else None
    last_or_none = last if chance.random() < 0.8 else None
    picked = tuple(key for key in keys if chance.random() < 0.4)
    by_key = chance.random()
    return Cut(
        None if by_time else first_or_none,
        None if by_time else last_or_none,
        first_or_none if by_time else None,
        last_or_none if by_time else None,
        exact=True,
        keep_keys=picked if by_key < 0.25 else (),
        drop_keys=picked if 0.25 <= by_key < 0.5 else (),
    )


def _open(written: Sequence[Written]) -> list[int]:
    """The offsets of records in open transactions."""
    pending: dict[int, list[int]] = {}
    for record in written:
        if record.is_control:
            pending.pop(record.producer_id, None)
        elif record.is_transactional:
            pending.setdefault(record.producer_id, []).append(record.offset)
    return sorted(offset for offsets in pending.values() for offset in offsets)


def _recovered(partition: Partition, output: Path, chance: random.Random, kafka: KafkaRecords) -> Promise:
    damaged, what = _damaged_copy(partition, chance, "damaged")
    rows = kdump.recover(str(damaged), str(output))
    return _promise_of_recovery(partition, [damaged], rows, output, f"recover {what}", kafka)


def _merged(partition: Partition, output: Path, chance: random.Random, kafka: KafkaRecords) -> Promise:
    copies = [_damaged_copy(partition, chance, f"replica{row}") for row in range(3)]
    first, *others = (path for path, _ in copies)
    rows = kdump.recover(str(first), str(output), merge=[str(path) for path in others])
    what = f"recover --merge {'; '.join(what for _, what in copies)}"
    return _promise_of_recovery(partition, [path for path, _ in copies], rows, output, what, kafka)


def _damaged_copy(partition: Partition, chance: random.Random, name: str) -> tuple[Path, str]:
    """A copy of a partition with one to three damaged logs, and how they are damaged."""
    directory = partition.directory.parent / name / partition.directory.name
    shutil.copytree(partition.directory, directory)
    said = []
    logs = sorted(path for path in directory.glob("*.log") if path.stat().st_size)
    for log in chance.sample(logs, min(len(logs), chance.choice((1, 1, 2, 3)))):
        damaged = chance.choice(WAYS_OF_DAMAGE)(log.read_bytes(), b"", chance)
        if damaged is not None:
            log.write_bytes(damaged.data)
            said.append(f"{log.name}: {damaged.what}")
    return directory, ", ".join(said)


def _promise_of_recovery(
    partition: Partition, copies: Sequence[Path], rows: Sequence[Row], output: Path, what: str, kafka: KafkaRecords
) -> Promise:
    """All records of batches that are intact in a copy, unless a row says why one was left out; perhaps others of the partition.

    The markers that end transactions are those of the result.
    """
    original = {one.content for log in partition.directory.glob("*.log") for one in batches.intact(log.read_bytes())}
    kept: set[int] = set()
    for log in (log for copy in copies for log in copy.glob("*.log")):
        data, position = log.read_bytes(), 0
        dropped = [(row.start, row.end) for row in rows if isinstance(row, Dropped) and row.source == str(log)]
        for one in batches.intact(data):
            position = data.index(one.content, position)
            end = position + len(one.content)
            if one.content in original and not any(start < end and position < stop for start, stop in dropped):
                kept.update(range(one.first_offset, one.last_offset + 1))
            position = end
    promise = Promise(what, [one for one in partition.uncommitted if one.offset in kept], committed(read_by_kafka(kafka, output)))
    promise.may_have = [one for one in partition.uncommitted if one.offset not in kept]
    return promise


def _redacted(partition: Partition, output: Path, chance: random.Random, _kafka: KafkaRecords) -> Promise:
    kdump.redact(str(partition.directory), str(output), seed=str(chance.random()))
    promise = Promise("redact", partition.uncommitted, [one.offset for one in partition.committed])
    promise.is_redacted = True
    return promise


def _rebuilt(partition: Partition, output: Path, chance: random.Random, _kafka: KafkaRecords) -> Promise:
    for path in sorted(partition.directory.iterdir()):
        if path.suffix in (".index", ".timeindex", ".txnindex", ".snapshot") and chance.random() < 0.5:
            path.unlink()
    kdump.reindex(str(partition.directory), str(output))
    return Promise("reindex", partition.uncommitted, [one.offset for one in partition.committed])


def _logs(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("*.log")}


def _broken(promise: Promise, uncommitted: Reading, committed_: Reading) -> Iterator[str]:
    """What consumers get that was not promised, and the other way round."""
    alike: Callable[[ClientRecord], object] = _shape if promise.is_redacted else _itself
    wanted = list(map(alike, promise.records))
    may_have = set(map(alike, promise.may_have))
    found = [one for one in map(alike, uncommitted.records) if one not in may_have]
    if found != wanted:
        missing, more = (Counter(one) - Counter(other) for one, other in ((wanted, found), (found, wanted)))
        yield f"{missing.total()} records are missing, {more.total()} too many: {list(missing)[:2]} {list(more)[:2]}"
    if uncommitted.position < uncommitted.next:  # one that reads committed may wait in a hole before an open transaction
        yield f"the consumer stays at offset {uncommitted.position}, before the end {uncommitted.next}"
    by_offset = {one.offset: one for one in uncommitted.records}
    if any(by_offset.get(one.offset) != one for one in committed_.records):
        yield "a committed record is not as without"
    offsets = [one.offset for one in committed_.records]
    rest = promise.offsets[len(offsets) :]
    is_held_up = bool(rest) and any((offsets[-1] if offsets else -1) < cut < rest[0] for cut in promise.cuts)
    if offsets != promise.offsets[: len(offsets)] or rest and not is_held_up:
        yield f"{len(offsets)} records are committed, of {len(promise.offsets)}: {set(offsets) ^ set(promise.offsets)}"
    if promise.is_redacted:
        keys = {
            (one.key, other.key) for one, other in zip(promise.records, uncommitted.records, strict=False) if len(one.key) > 5
        }
        if len({key for key, _ in keys}) < len(keys) or len({key for _, key in keys}) < len(keys):
            yield "keys that were equal are not, or the other way round"


def _itself(one: ClientRecord) -> object:
    return one


def _shape(one: ClientRecord) -> object:
    """What redaction keeps of a record."""
    headers = [(len(name), value if value is None else len(value)) for name, value in one.header_pairs]
    return one._replace(key=str(len(one.key)), value=str(len(one.value)), headers=str(headers))
