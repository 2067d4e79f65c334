"""What is added up and followed for an overview, against plain lists and dicts of what was written."""

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.formats import meta_properties
from kdump.overview.partition_map import partition_map
from kdump.overview.places import _written_by
from kdump.overview.row import PartitionSum
from kdump.overview.space import kind_of
from kdump.overview.ticket import ticket_of
from kdump.overview.topics import topic_sums
from tests.builders.files import write_partition
from tests.builders.fleets import data, flipped
from tests.builders.records import TIMESTAMP, batch, record, transaction_marker
from tests.loops import each


def _sum(**fields: Any) -> PartitionSum:
    values: dict[str, Any] = dict.fromkeys(PartitionSum.column_names) | {"topic": "t", "is_read_whole": True} | fields
    made = PartitionSum(**values)
    made.measured, made.uncompressed = fields["codecs"].get("gzip", 0), 3 * fields["codecs"].get("gzip", 0)
    return made


ONE: dict[str, Any] = {"segments": 2, "size": 100, "first_offset": 3, "end_offset": 10, "records": 7, "broken_at": "here"}
ONE |= {"oldest_timestamp": 50, "newest_timestamp": 60, "codecs": {"none": 40, "gzip": 60}, "producers": 2}
ONE["open_transactions"] = 4
OTHER: dict[str, Any] = {"segments": 3, "size": 50, "first_offset": 5, "end_offset": 7, "records": 2, "producers": 1}
OTHER |= {"oldest_timestamp": 40, "newest_timestamp": 55, "codecs": {"gzip": 10, "lz4": 30}, "open_transactions": 0}
BOTH: dict[str, Any] = {"partitions": 2, "segments": 5, "size": 150, "offsets": 9, "records": 9, "saving": 3.0, "codec": "gzip"}
BOTH |= {"oldest_timestamp": 40, "newest_timestamp": 60, "codec_share": 0.5, "producers": 3, "open_transactions": 4}
BOTH |= {"topic": "t", "partitions_broken": 1}
ALONE = {"partitions": 1, "records": 7, "segments": 2, "size": 100, "offsets": 7, "codec_share": 0.6, "oldest_timestamp": 50}
ALONE["producers"] = 2


CHANGED = [
    *(({}, {}), ({"end_offset": None}, {"offsets": None}), ({"first_offset": None}, {"offsets": None})),
    *(({"end_offset": 4}, {"offsets": 7}), ({"records": None}, {"records": None}), ({"records": 0}, {"records": 7})),
    *(({"is_read_whole": False}, {"records": None}), ({"broken_at": "x"}, {"partitions_broken": 2}), ({"topic": None}, ALONE)),
    *(({"oldest_timestamp": None}, {"oldest_timestamp": 50}), ({"newest_timestamp": 61}, {"newest_timestamp": 61})),
    *(({"topic": "a", "size": 99}, ALONE), ({"topic": "z", "size": 100}, ALONE), ({"state": "delete"}, ALONE)),
    ({"codecs": {"lz4": 61}}, {"codec": "lz4", "codec_share": 61 / 161}),
]


@each("changes, expected", CHANGED)
def test_a_topic_is_the_sum_of_its_partitions_in_service(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    first, *others = topic_sums("place", [_sum(**OTHER | changes), _sum(**ONE)])
    assert {name: getattr(first, name) for name in BOTH} == BOTH | expected
    assert [one.topic for one in others] == [name for name in ("a", "z") if changes.get("topic") == name]


@each(
    "values, magics, said",
    [
        *((None, {0}, "0.8 or later"), (None, {1}, "0.10 or later"), (None, {2}, "0.11 or later"), (None, set(), None)),
        *((None, {0, 1}, "0.10 or later; the oldest logs by earlier releases"), ({"version": "0"}, {2}, "0.11 or later")),
        (None, {0, 2}, "0.11 or later; the oldest logs by earlier releases"),
        *(
            ({"version": "1"}, {0, 2}, "2.8 or later"),
            ({"version": "1", "directory.id": "NrglXNcJRLDQ0m7HIWSVLg"}, {2}, "3.7 or later"),
        ),
    ],
)
def test_formats_say_which_releases_wrote_them(values: dict[str, str] | None, magics: set[int], said: str | None) -> None:
    meta = None if values is None else meta_properties.of({"broker.id": "1", "node.id": "1", "cluster.id": "c", **values})
    assert _written_by(meta, magics) == said


CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST = f"{0:020}"
KINDS = {
    "logs": (f"{FIRST}.log",),
    "indexes": (f"{FIRST}.index", f"{FIRST}.timeindex", f"{FIRST}.txnindex"),
    ".deleted files": (f"{FIRST}.log.deleted", f"{FIRST}.snapshot.deleted", ".nfs000001"),
    "files being replaced": (f"{FIRST}.log.swap", f"{FIRST}.index.cleaned"),
    "other files of Kafka": (
        *(f"{FIRST}.snapshot", f"{FIRST}-0000000001.checkpoint", "x.tmp", "y.part", ".lock", "meta.properties", "quorum-state"),
        *("leader-epoch-checkpoint", "partition.metadata", "cleaner-offset-checkpoint", ".kafka_cleanshutdown"),
    ),
    "not Kafka's": ("server.log", "x.index", "core", "notes.txt", f"{FIRST}.log.gz"),
}


def test_a_file_is_of_the_kind_that_its_name_says() -> None:
    assert {kind: tuple(name for name in names if kind_of(name) == kind) for kind, names in KINDS.items()} == KINDS


@each("seed", range(4))
def test_producers_runs_and_transactions_are_as_in_a_script(seed: int, tmp_path: Path) -> None:
    chance, at, pieces = random.Random(seed), TIMESTAMP, []
    runs: list[list[Any]] = []  # producer, what, first and last offset, batches
    running: dict[tuple[int, bool], tuple[list[Any], int, int]] = {}  # by producer, and whether in a transaction
    begun: dict[int, tuple[int, int, int]] = {}
    totals: dict[int, list[int]] = {}  # batches, size, committed, aborted, first and last offset, epoch
    for offset in range(150):
        producer, epoch, kind = chance.randrange(4), offset // 60, chance.choice(("plain", "data", "data", "commit", "abort"))
        at += chance.choice((0, 1000, 20_000, 60_000))
        if is_marker := kind in ("commit", "abort"):
            fields: dict[str, Any] = {"producer_id": producer, "producer_epoch": epoch, "timestamp": at}
            pieces.append(transaction_marker(base_offset=offset, is_commit=kind == "commit", **fields))
        else:
            fields = {"producer_id": producer, "producer_epoch": epoch, "base_timestamp": at, "is_transactional": kind == "data"}
            pieces.append(batch(base_offset=offset, base_sequence=0, records=[record(value=b"v")], **fields))
        key = producer, kind != "plain"
        run, of_epoch, since = running.get(key, (None, 0, 0))
        if run is None or kind == "plain" and (of_epoch != epoch or at - since > 60_000):
            run = [producer, {"plain": "batches"}.get(kind, "open"), offset, offset, 0]
            runs.append(run)
        run[3:] = offset, run[4] + 1
        running[key] = run, epoch, at
        if is_marker:
            run[1] = {"commit": "committed", "abort": "aborted"}[kind]
            del running[key]
            begun.pop(producer, None)
        elif kind == "data":
            begun.setdefault(producer, (epoch, offset, at))
        of_producer = totals.setdefault(producer, [0, 0, 0, 0, offset, 0, 0])
        of_producer[5:] = offset, epoch
        for row, more in enumerate((1, len(pieces[-1]), kind == "commit", kind == "abort")):
            of_producer[row] += more
    path = write_partition(tmp_path, topic="t", segments={0: pieces[:70], 70: pieces[70:]})
    made = partition_map(path).producers
    by_map = [[one.producer_id, one.what, one.first_offset, one.last_offset, one.batches] for one in made.runs]
    assert sorted(by_map) == sorted(runs)
    names = ("batches", "size", "committed", "aborted", "first_offset", "last_offset", "producer_epoch")
    found = {row: [getattr(one, name) for name in names] for row, one in made.producers.items()}
    assert (found, {row for row, one in made.producers.items() if one.is_open}) == (totals, set(begun))
    waiting = kdump.info(path, level="full").transactions
    opened = [(one.producer_id, one.producer_epoch, one.first_offset, one.open_for_ms) for one in waiting]
    by_offset = sorted(begun.items(), key=lambda one: one[1][1])
    assert opened == [(row, epoch, first, at - since) for row, (epoch, first, since) in by_offset]


@each("seed", range(16))
@each("level", ["headers", "full"])
def test_a_partition_is_the_sum_of_its_batches(level: str, seed: int, tmp_path: Path) -> None:
    """Of three logs, only the first and the last are read for `headers`."""
    chance, offset, plain_size = random.Random(seed), 5, 0
    segments: dict[int, list[bytes]] = {}
    found: list[tuple[int, str, int, int, int]] = []  # of each batch that is read: size, codec, records, producer, time
    for log in range(3):
        pieces = segments.setdefault(offset, [])
        for _ in range(chance.randint(1, 9)):
            count, codec, producer = chance.randint(1, 4), chance.choice(CODECS[seed % 3 :]), chance.choice((-1, -1, 0, 7, 8))
            time = chance.choice((-1, TIMESTAMP + chance.randrange(9**6)))
            records = [record(value=b"v" * chance.randrange(900)) for _ in range(count)]
            fields: dict[str, Any] = {"producer_id": producer, "base_timestamp": time, "base_offset": offset}
            pieces.append(batch(records=records, codec=codec, **fields))  # type: ignore[arg-type]  # a codec
            if level == "full" or log != 1:
                found.append((len(pieces[-1]), codec, count, producer, time))
                plain_size += len(batch(records=records, **fields))
            offset += count
    (made,) = kdump.info(write_partition(tmp_path, topic="t", segments=segments), level=level).partitions
    by_codec: Counter[str] = Counter()
    for size, codec, *_ in found:
        by_codec[codec] += size
    assert (made.size, made.read_bytes) == (sum(len(b"".join(one)) for one in segments.values()), by_codec.total())
    assert list(made.codecs.items()) == sorted(by_codec.items(), key=lambda one: (-one[1], one[0]))
    assert made.saving == (pytest.approx(plain_size / made.read_bytes) if set(by_codec) != {"none"} else None)
    assert (made.first_offset, made.end_offset, made.batches) == (5, offset, len(found))
    assert (made.records, made.magics) == (sum(count for _, _, count, _, _ in found), [2])
    assert (made.largest_batch, made.producers) == (max(found)[0], len({one for *_, one, _ in found if one >= 0}))
    times = [time for *_, time in found if time >= 0]
    assert (made.oldest_timestamp, made.newest_timestamp) == (min(times, default=None), max(times, default=None))


@each("most, drawn, whole", [(1, 1, 3), (2, 2, 3), (3, 3, 3), (4, 4, 3), (5, 5, 3), (20, 5, 5)])
def test_a_page_draws_the_worst_partitions_with_their_replicas_and_reads_all_of_those(
    most: int, drawn: int, whole: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sound ones, too, where there are few; of partitions of three segments, the second is read of those with findings."""
    monkeypatch.setattr("kdump.overview.ticket._MOST_DRAWN", most)
    for name, damaged in (("a/u", 0), ("a/t", 0), ("a/w", 0), ("b/t", 1), ("b/v", 2)):
        batches = [data(offset) for offset in range(4)]
        batches[1:3] = [flipped(one) if row < damaged else one for row, one in enumerate(batches[1:3])]
        write_partition(tmp_path / name[0], topic=name[2:], segments={0: batches[:1], 1: batches[1:3], 3: batches[3:]})
    (tmp_path / "a/w-0" / f"{FIRST}.index").unlink()  # a warning
    made = ticket_of([str(tmp_path)], "full")
    found = [os.path.relpath(one.path, tmp_path) for one in made.maps]
    assert found == ["b/v-0", "b/t-0", "a/t-0", "a/w-0", "a/u-0"][:drawn]
    assert sum(one.is_read_whole for one in made.overview.partitions) == whole
    assert (made.exit_code, sorted(os.path.relpath(path, tmp_path) for path in made.starts)) == (1, ["a/w-0", "b/t-0", "b/v-0"])
