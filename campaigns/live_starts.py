"""Kills a live broker while it is written to, damages what is there, and compares `kdump forecast` with its next start.

The truth is the line that the broker logs when it has loaded a partition, and its files. Producers go on as soon as it serves, so
files are compared up to the end that was foretold.
"""

import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import kdump
from campaigns.live_streams import tear
from kdump.forecasts.row import Forecast
from tests.oracle import live_broker
from tests.oracle.live_broker import Broker, Clients

TOPICS = {"plainstarts": 6}
NAMES = [f"{topic}-{number}" for topic, count in TOPICS.items() for number in range(count)]
SEGMENT_SIZE = 20_000
PAUSE = 5  # ms between the steps of the producers
LONGEST = 2.5  # seconds that the broker runs
LOADED = re.compile(
    r"Completed load of Log\(.*topic=([^,]+), partition=(\d+), .*logStartOffset=(\d+), logEndOffset=(\d+).* with (\d+) segments"
)


def campaign(broker: Broker, clients: Clients, count: int, seed: int) -> list[str]:
    """Kill and start the broker so often. Returns where a start was not as foretold."""
    chance = random.Random(f"starts {seed}")
    failures: list[str] = []
    seen: Counter[str] = Counter()
    for topic, partitions in TOPICS.items():
        clients.create(topic, partitions, {live_broker.segment_size_setting(broker.release): str(SEGMENT_SIZE)})
    clients.read(TOPICS, "read_uncommitted")  # so that all partitions are there
    clients.start(TOPICS, PAUSE, seed)
    before = broker.folder / "before"
    for number in range(count):
        time.sleep(live_broker.any_wait(chance, LONGEST))
        broker.kill()
        damage = {name: _damage(broker.data / name, chance) for name in NAMES if chance.random() < 0.6}
        foretold: dict[str, list[Forecast]] = {name: [] for name in NAMES}
        for name in NAMES:
            shutil.copytree(broker.data / name, before / name)
            foretold[name] += kdump.forecast(broker.data / name, broker=broker.release, after="unclean")
        broker.start()
        loaded = {f"{topic}-{partition}": [*map(int, told)] for topic, partition, *told in LOADED.findall(broker.log())}
        for name in NAMES:
            for one in _differences(foretold[name], loaded.get(name, []), before / name, broker.data / name):
                failures.append(f"{broker.release} {number} {name} ({damage.get(name, 'as it was')}): {one}")
                print(failures[-1], flush=True)
            seen.update(row.outcome for row in foretold[name][:1])
        shutil.rmtree(before)
    clients.stop()
    print(f"starts, {broker.release}: {count}, of partitions: {dict(seen)}: {len(failures)} differ", flush=True)
    return failures


def _damage(partition: Path, chance: random.Random) -> str:
    """Damage a partition as stops and disks do; return what was done."""
    newest = max(partition.glob("*.log"))
    what = chance.choice(("torn", "flipped", "cut", "index gone", "index overwritten", "snapshots gone"))
    if what == "torn":
        return f"torn: {tear(partition, chance)}"
    if what in ("flipped", "cut"):
        data = bytearray(newest.read_bytes())
        if not data:
            return "empty"
        position = chance.randrange(len(data))
        if what == "cut":
            del data[position:]
        else:
            data[position] ^= 1 << chance.randrange(8)
        newest.write_bytes(data)
        return f"{what} at byte {position} of {newest.name}"
    if what == "snapshots gone":
        for path in partition.glob("*.snapshot"):
            path.unlink()
        return what
    index = chance.choice(sorted([*partition.glob("*.index"), *partition.glob("*.timeindex")]))
    if what == "index gone":
        index.unlink()
    else:
        index.write_bytes(chance.randbytes(chance.randrange(1, 100)))
    return f"{what}: {index.name}"


def _differences(rows: Sequence[Forecast], loaded: Sequence[int], before: Path, after: Path) -> Iterator[str]:
    """What was not as foretold. If the recovery point was not known, one of two rows has to be right."""
    found = [list(_differences_of(row, loaded, before, after)) for row in rows]
    if not rows:
        yield "nothing was foretold"
    elif all(found):
        yield from found[0]


def _differences_of(row: Forecast, loaded: Sequence[int], before: Path, after: Path) -> Iterator[str]:
    segments = [base for base, *_ in row.segments or []]
    told = [row.log_start, row.log_end, len(segments)]
    if list(loaded) != told:
        yield f"loaded with start, end and segments {list(loaded)}, foretold {told}: {row.outcome}, {row.reason}"
        return
    for base, size in row.segments or []:
        name = f"{base:020}.log"
        path = after / name
        if not path.exists():
            yield f"{name} is gone, foretold with {size} bytes"
        elif path.read_bytes()[:size] != (before / name).read_bytes()[:size] or path.stat().st_size < size:
            yield f"{name} is not as foretold in its first {size} bytes"
    for path in after.glob("*.log"):
        if int(path.stem) not in segments and int(path.stem) < (row.log_end or 0):
            yield f"{path.name} is still there"
