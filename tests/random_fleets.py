"""Fleets made up: partitions of a few brokers, each with some of what goes wrong in fleets."""

from __future__ import annotations

from pathlib import Path
from random import Random

from .builders.fleets import data, flipped, write_fleet
from .builders.records import TIMESTAMP, transaction_marker

HOUR, DAY = 3_600_000, 86_400_000


def write_random_fleet(folder: Path, partitions: int, seed: int) -> Path:
    """Write a fleet of up to three brokers with so many partitions, of a topic each."""
    random = Random(seed)
    brokers: dict[str, dict[str, dict[int, list[bytes]]]] = {"1": {}, "2": {}, "3": {}}
    cleaned: dict[str, dict[str, int]] = {}
    for number in range(partitions):
        name = f"topic{number}-{random.randrange(3)}"
        log = _log(random)
        is_cleaned = random.random() < 0.2
        for broker in random.sample(sorted(brokers), random.choice((1, 2, 2, 3, 3, 3))):
            brokers[broker][name] = _segments(random, _changed(random, log))
            if is_cleaned:
                cleaned.setdefault(broker, {})[name] = random.choice((0, 40, 80, 100, 120))
    return write_fleet(folder, {broker: of for broker, of in brokers.items() if of}, cleaned=cleaned, has_indexes=False)


def _log(random: Random) -> list[tuple[int, bytes]]:
    """Batches with their first offsets, as the leader has them; far offsets lie in several spans."""
    offset = random.choice((0, 0, 0, 131_000, 1 << 40))
    at = TIMESTAMP - random.choice((0, HOUR, 40 * DAY))
    sequences = {producer: random.choice((0, 0, 5, (1 << 31) - 4)) for producer in (7, 8)}
    batches = []
    epoch = 0
    for _ in range(random.randrange(1, 30)):
        count = random.choice((1, 1, 2, 5))
        epoch += random.random() < 0.1
        at += random.choice((0, 10, 1000, HOUR))
        producer = random.choice((-1, -1, 7, 8))
        kind = random.random()
        key = random.choice((None, b"a", b"b", b"c", bytes([random.randrange(256)])))
        if kind < 0.1:
            count = 1
            whole = transaction_marker(
                base_offset=offset,
                producer_id=random.choice((7, 8)),
                producer_epoch=0,
                timestamp=at,
                partition_leader_epoch=epoch,
            )
        else:
            whole = data(
                offset,
                count,
                value=random.randbytes(random.randrange(40)),
                key=key,
                epoch=epoch,
                at=at if kind < 0.97 else TIMESTAMP + 400 * DAY,
                producer=producer,
                sequence=sequences.get(producer, -1),
                is_transactional=producer >= 0 and kind < 0.5,
                delete_horizon_ms=TIMESTAMP - 30 * DAY if kind > 0.95 else None,
            )
            if producer >= 0:
                sequences[producer] = (sequences[producer] + count) % (1 << 31)
        batches.append((offset, whole))
        offset += count + random.choice((0, 0, 0, 0, 0, 3, 140_000 if random.random() < 0.2 else 0))
    return batches


def _changed(random: Random, log: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """The same log on another broker."""
    log = list(log)
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        if not log:
            break
        row = random.randrange(len(log))
        offset, whole = log[row]
        change = random.randrange(8)
        if change == 0:
            log[row] = offset, flipped(whole)
        elif change == 1:
            del log[row]
        elif change == 2:
            del log[row:]
        elif change == 3:
            del log[:row]
        elif change == 4:
            log[row] = offset, whole[:12] + bytes([0, 0, 0, random.randrange(4)]) + whole[16:]  # the leader epoch
        elif change == 5:
            log[row] = offset, data(offset, random.choice((1, 2)), value=b"another")
        elif change == 6:
            log[row] = offset, (offset + (1 << random.choice((3, 20, 44)))).to_bytes(8, "big") + whole[8:]
        else:
            log.insert(row, (offset, whole))
    return log


def _segments(random: Random, log: list[tuple[int, bytes]]) -> dict[int, list[bytes]]:
    """A log cut into segments in some places; a few of the segments are lost."""
    segments: dict[int, list[bytes]] = {}
    base = log[0][0] if log else 0
    segments[base] = []
    for offset, whole in log:
        if offset > base and random.random() < 0.2:
            base = offset
            segments[base] = []
        segments[base].append(whole)
    if len(segments) > 2 and random.random() < 0.1:
        del segments[sorted(segments)[1]]
    return segments
