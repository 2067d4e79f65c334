"""Runs random scripts on a model of brokers, writes their log directories, and compares `kdump where` with what happened.

    python -m campaigns.wheres --count 2000
    python -m campaigns.wheres --seed 1 --number 1234

A script appends, commits and aborts transactions, lets replicas fall behind, elects one that is behind, brings others back,
compacts, deletes by retention and by DeleteRecords, damages batches, and keeps older copies. Where a key occurs,
and what follows, is decided here, from the model's batches, and shares no code with kdump.
"""

import copy
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import kdump
from campaigns import numbered
from kdump.output.rows.fates import Fate
from tests.builders.files import checkpoint, file_name
from tests.builders.records import Record, abort_record, batch, commit_record

TOPIC, PARTITION = "orders", 3
KEYS = (b"k0", b"k1", b"k2", b"k3")


@dataclass(frozen=True)
class ModelRecord:
    """A record; its value is None for a tombstone."""

    offset: int
    key: bytes
    value: bytes | None


@dataclass(frozen=True)
class ModelBatch:
    """A batch. `marker` is "commit" or "abort" for a control batch; `last` stays when records are compacted away."""

    base: int
    last: int
    epoch: int
    records: tuple[ModelRecord, ...] = ()
    producer: int = -1
    is_transactional: bool = False
    marker: str = ""
    is_damaged: bool = False

    @property
    def data(self) -> bytes:
        """Its bytes. Damage is a wrong checksum, so that the records can still be read."""
        records: list[Record] = []
        if self.marker:
            records.append(commit_record() if self.marker == "commit" else abort_record())
        records += [Record(key=one.key, value=one.value, offset_delta=one.offset - self.base) for one in self.records]
        return batch(
            base_offset=self.base,
            records=records,
            last_offset_delta=self.last - self.base,
            partition_leader_epoch=self.epoch,
            producer_id=self.producer,
            producer_epoch=0 if self.producer >= 0 else -1,
            is_transactional=self.is_transactional,
            is_control=bool(self.marker),
            crc=0x12345678 if self.is_damaged else None,
        )


@dataclass
class Replica:
    """A replica: its segments, each a list of batches, and what its checkpoints say. `deleted` are segments marked so."""

    name: str
    segments: list[list[ModelBatch]] = field(default_factory=lambda: [[]])
    deleted: list[list[ModelBatch]] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    checkpointed_start: int | None = None
    cleaned_to: int | None = None
    first: int = 0  # of the first segment's name
    is_in_sync: bool = True

    @property
    def batches(self) -> list[ModelBatch]:
        return [one for segment in self.segments for one in segment]

    @property
    def end(self) -> int:
        return self.batches[-1].last + 1 if self.batches else self.first

    @property
    def start(self) -> int:
        return max(self.first, self.checkpointed_start or 0)

    def append(self, one: ModelBatch) -> None:
        if not self.epochs or one.epoch > self.epochs[-1][0]:
            self.epochs.append((one.epoch, one.base))
        self.segments[-1].append(one)

    def truncate(self, end: int) -> None:
        """Drop what lies at or after an offset."""
        self.segments = [[one for one in segment if one.last < end] for segment in self.segments]
        self.segments = [segment for at, segment in enumerate(self.segments) if segment or not at]
        self.epochs = [(epoch, start) for epoch, start in self.epochs if start < end]

    def holding(self, offset: int) -> list[tuple[ModelBatch, ModelRecord | None]]:
        """The batch and record at an offset; a control record is None."""
        return _at(self.batches, offset)

    def end_of_epoch(self, epoch: int) -> int | None:
        return next((start for other, start in self.epochs if other > epoch), None)


def _at(batches: list[ModelBatch], offset: int) -> list[tuple[ModelBatch, ModelRecord | None]]:
    found: list[tuple[ModelBatch, ModelRecord | None]] = []
    for one in batches:
        if one.base <= offset <= one.last:
            found += [(one, record) for record in one.records if record.offset == offset]
            found += [(one, None)] if one.marker and one.base == offset else []
    return found


class History:
    """A script and what it left: `copies` are directories of brokers, now or earlier."""

    def __init__(self, seed: int, number: int) -> None:
        self.chance = random.Random(f"{seed}/{number}")
        self.replicas = [Replica(f"broker-{at + 1}") for at in range(self.chance.choice((1, 1, 2, 3)))]
        self.leader = self.replicas[0]
        self.epoch = 0
        self.open: set[int] = set()
        self.earlier: list[Replica] = []
        self.is_compacted_topic = self.chance.random() < 0.5
        steps = [self._append] * 6 + [self._end_transaction] * 2 + [self._roll, self._fall_behind, self._elect, self._come_back]
        steps += [self._keep_copy] + ([self._compact] * 2 if self.is_compacted_topic else [self._retain, self._delete_records])
        for _ in range(self.chance.randrange(4, 40)):
            self.chance.choice(steps)()
        if self.chance.random() < 0.4:
            self._damage()
        self.copies = [*self.earlier, *self.replicas]
        self.chance.shuffle(self.copies)

    # What may happen

    def _write(self, one: ModelBatch) -> None:
        for replica in self.replicas:
            if replica is self.leader or replica.is_in_sync:
                replica.append(one)

    def _append(self) -> None:
        base = self.leader.end
        count = self.chance.randrange(1, 4)
        records = tuple(
            ModelRecord(base + at, self.chance.choice(KEYS), None if self.chance.random() < 0.2 else b"v%d" % (base + at))
            for at in range(count)
        )
        producer = self.chance.choice((-1, -1, 7, 8))
        if producer >= 0:
            self.open.add(producer)
        self._write(ModelBatch(base, base + count - 1, self.epoch, records, producer, producer >= 0))

    def _end_transaction(self) -> None:
        if self.open:
            producer = self.chance.choice(sorted(self.open))
            self.open.discard(producer)
            base, marker = self.leader.end, self.chance.choice(("commit", "abort"))
            self._write(ModelBatch(base, base, self.epoch, (), producer, True, marker))

    def _roll(self) -> None:
        for replica in self.replicas:
            if replica.segments[-1] and self.chance.random() < 0.8:
                replica.segments.append([])

    def _fall_behind(self) -> None:
        replica = self.chance.choice(self.replicas)
        if replica is not self.leader:
            replica.is_in_sync = False

    def _elect(self) -> None:
        """Another replica leads, perhaps one that is behind; all others are not in sync until they come back."""
        self.leader = self.chance.choice(self.replicas)
        self.epoch += 1
        for replica in self.replicas:
            replica.is_in_sync = replica.is_in_sync and replica.end == self.leader.end and _ends_alike(replica, self.leader)
        self.open = {one.producer for one in self.leader.batches if one.is_transactional and _outcome(self.leader, one) == "open"}
        base = self.leader.end
        self._write(ModelBatch(base, base, self.epoch, (ModelRecord(base, self.chance.choice(KEYS), b"first"),)))

    def _come_back(self) -> None:
        """A replica truncates to where it agrees with the leader, and fetches what follows."""
        replica = self.chance.choice(self.replicas)
        if replica is self.leader or replica.start < self.leader.start or replica.cleaned_to or self.leader.cleaned_to:
            return
        while replica.batches and replica.batches[-1] not in self.leader.batches:
            replica.truncate(replica.batches[-1].base)
        if replica.end < self.leader.start:
            return
        for one in self.leader.batches:
            if one.base >= replica.end:
                replica.append(one)
        replica.is_in_sync = True

    def _compact(self) -> None:
        replica = self.chance.choice(self.replicas)
        cleanable = [one for segment in replica.segments[:-1] for one in segment]
        undecided = [one.base for one in replica.batches if one.is_transactional and _outcome(replica, one) == "open"]
        cleanable = [one for one in cleanable if one.last < min(undecided, default=1 << 60)]
        if not cleanable:
            return
        end = cleanable[-1].last + 1
        known = [one for one in cleanable if not (one.is_transactional and _outcome(replica, one) == "abort")]
        latest = {record.key: record.offset for one in known for record in one.records}
        expires = self.chance.random() < 0.4

        def stays(one: ModelBatch, record: ModelRecord) -> bool:
            return one in known and latest[record.key] == record.offset and not (expires and record.value is None)

        def cleaned(one: ModelBatch) -> ModelBatch | None:
            if one.last >= end or one.marker:
                return one
            records = tuple(record for record in one.records if stays(one, record))
            return replace(one, records=records) if records else None

        *closed, active = [[kept for one in segment if (kept := cleaned(one)) is not None] for segment in replica.segments]
        replica.segments = [*filter(None, closed), active]
        replica.cleaned_to = max(end, replica.cleaned_to or 0)

    def _retain(self) -> None:
        """The oldest segments go; their files may still be there."""
        replica = self.chance.choice(self.replicas)
        while len(replica.segments) > 1 and self.chance.random() < 0.6:
            gone = replica.segments.pop(0)
            after = gone[-1].last + 1 if gone else replica.first
            replica.first = replica.segments[0][0].base if replica.segments[0] else replica.end if replica.batches else after
            if self.chance.random() < 0.5 and gone:
                replica.deleted.append(gone)
        if replica.checkpointed_start is not None or self.chance.random() < 0.5:
            replica.checkpointed_start = max(replica.first, replica.checkpointed_start or 0)

    def _delete_records(self) -> None:
        to = self.chance.randrange(self.leader.start, self.leader.end + 1)
        for replica in self.replicas:
            if (replica is self.leader or replica.is_in_sync) and replica.start <= to <= replica.end:
                replica.checkpointed_start = to

    def _keep_copy(self) -> None:
        if len(self.earlier) < 2:
            kept = copy.deepcopy(self.chance.choice(self.replicas))
            kept.name = f"earlier-{len(self.earlier)}"
            self.earlier.append(kept)

    def _damage(self) -> None:
        for replica in [*self.replicas, *self.earlier]:
            for segment in replica.segments:
                for at, one in enumerate(segment):
                    if one.records and self.chance.random() < 0.15:
                        segment[at] = replace(one, is_damaged=True)

    # The files

    def write(self, folder: Path) -> None:
        for replica in self.copies:
            partition = folder / replica.name / f"{TOPIC}-{PARTITION}"
            partition.mkdir(parents=True)
            for base, segment in zip(_names(replica), replica.segments, strict=True):
                (partition / file_name(base, ".log")).write_bytes(b"".join(one.data for one in segment))
            for segment in replica.deleted:
                (partition / (file_name(segment[0].base, ".log") + ".deleted")).write_bytes(b"".join(one.data for one in segment))
            (partition / "leader-epoch-checkpoint").write_bytes(checkpoint(entries=replica.epochs))
            for name, offset in (("log-start", replica.checkpointed_start), ("cleaner", replica.cleaned_to)):
                if offset is not None:
                    path = partition.parent / f"{name}-offset-checkpoint"
                    path.write_bytes(checkpoint(entries=[(TOPIC, PARTITION, offset)]))


def _names(replica: Replica) -> list[int]:
    """The base offsets in the names of the segments."""
    names = [replica.first]
    for before, segment in zip(replica.segments, replica.segments[1:], strict=False):
        lowest = max(names[-1] + 1, before[-1].last + 1 if before else 0)
        names.append(max(lowest, segment[0].base) if segment else max(lowest, replica.end))
    return names


def _is_in_damage(replica: Replica, offset: int) -> bool:
    """Whether a record with this offset may lie in damaged batches: between the offsets of sound ones around them."""
    names = _names(replica)
    for after, segment in zip([*names[1:], 1 << 60], replica.segments, strict=True):
        lowest: int | None = None  # the base offset of a damaged batch is right, what its header says else is not believed
        for one in segment:
            if lowest is not None and not one.is_damaged and lowest <= offset < one.base:
                return True
            lowest = None if not one.is_damaged else one.base if lowest is None else lowest
        if lowest is not None and lowest <= offset < after:
            return True
    return False


def _ends_alike(one: Replica, other: Replica) -> bool:
    return not one.batches or not other.batches or one.batches[-1] == other.batches[-1]


def _outcome(replica: Replica, one: ModelBatch) -> str:
    """What became of the transaction of a batch by the markers after it in a replica."""
    for later in replica.batches:
        if later.marker and later.producer == one.producer and later.base > one.last:
            return later.marker
    return "open"


class Expected(NamedTuple):
    """What `where` has to say of an offset."""

    answer: str
    copies: frozenset[str]
    superseded_by: int | None = None
    damaged_on: frozenset[str] = frozenset()
    also: frozenset[tuple[int, frozenset[str]]] = frozenset()


def expected(history: History, offset: int) -> Expected:
    """What became of the record at an offset, as the files can show it."""
    served = history.copies
    best = max(served, key=lambda replica: (replica.epochs[-1][0] if replica.epochs else -1, replica.end))
    sound = [(replica, *has) for replica in served for has in replica.holding(offset) if not has[0].is_damaged]
    is_sound_on = {has[0].name for has in sound}
    damaged = frozenset(one.name for one in served if _is_in_damage(one, offset) and one.name not in is_sound_on)

    def is_stale(one: ModelBatch, replica: Replica, at: int) -> bool:
        epochs = [epoch for epoch, start in best.epochs if start <= at]
        return replica is not best and bool(epochs) and epochs[-1] != one.epoch

    old = [has for has in sound if is_stale(has[1], has[0], offset)]
    current = [has for has in sound if has not in old]
    epochs_of_old = {has[1].epoch for has in old}
    also = frozenset((epoch, frozenset(has[0].name for has in old if has[1].epoch == epoch)) for epoch in epochs_of_old)
    holders = frozenset(replica.name for replica, _, _ in current)

    def answer(word: str, superseded_by: int | None = None) -> Expected:
        shown = holders
        if word == "truncated":
            return Expected(word, frozenset(replica.name for replica, _, _ in old), None, damaged)
        if word == "present-in-deleted-file":
            shown = frozenset(replica.name for replica in served if any(_at(segment, offset) for segment in replica.deleted))
        return Expected(word, frozenset() if word == "damaged" else shown, superseded_by, damaged, also)

    visible = [has for has in current if has[0].start <= offset]
    if any(one.marker for _, one, _ in visible):
        return answer("control")
    producers = [one.producer for _, one, _ in visible if one.is_transactional]
    if producers:
        markers = [
            one
            for replica in served
            for one in replica.batches
            if one.marker and one.producer == producers[0] and one.base > offset and not one.is_damaged
            if not is_stale(one, replica, one.base)
        ]
        if not markers:
            return answer("open-transaction")
        if min(markers, key=lambda one: one.base).marker == "abort":
            return answer("aborted")
    cleaners = [
        replica
        for replica in served
        if replica.cleaned_to is not None
        and replica.start <= offset < min(replica.end, replica.cleaned_to)
        and not _is_in_damage(replica, offset)
        and not replica.holding(offset)
    ]
    if cleaners:
        return _of_cleaner(history, offset, current, max(replica.cleaned_to or 0 for replica in cleaners), answer)
    if damaged and not current and not old:
        return answer("damaged")
    if old and not current:
        return answer("truncated")
    serving = [replica for replica in served if replica.start <= offset < replica.end and replica.name not in damaged]
    in_deleted = any(_at(segment, offset) for replica in served for segment in replica.deleted)
    if not serving and (in_deleted or any(offset < replica.start for replica in served)):
        return answer("present-in-deleted-file" if in_deleted else "below-log-start")
    if visible:
        sound_ones = [replica for replica in served if replica.name not in damaged]
        behind = [replica for replica in sound_ones if offset >= replica.end and _is_behind(replica, best)]
        return answer("only-on" if behind else "present")
    if in_deleted or current:
        return answer("present-in-deleted-file" if in_deleted else "below-log-start")
    return answer("not-written" if offset >= max(replica.end for replica in served) else "missing")


def _is_behind(replica: Replica, best: Replica) -> bool:
    """Whether a replica ends early, on the lineage of the best one."""
    end = best.end_of_epoch(replica.epochs[-1][0]) if replica.epochs and replica is not best else None
    return end is None or replica.end <= end


Holder = tuple[Replica, ModelBatch, ModelRecord | None]


def _of_cleaner(
    history: History, offset: int, current: list[Holder], cleaned_to: int, answer: Callable[..., Expected]
) -> Expected:
    """A gap below the cleaner's checkpoint: why, if a copy still has the record."""
    record = next((record for _, _, record in current if record is not None), None)
    if record is None:
        return answer("compacted")
    later = [
        each.offset
        for replica in history.copies
        for segment in (*replica.segments, *replica.deleted)
        for one in segment
        for each in one.records
        if each.key == record.key and offset < each.offset < cleaned_to and not one.is_damaged
    ]
    if later:
        return answer("compacted", max(later))
    if record.value is None:
        return answer("tombstone-expired")
    return answer("only-on" if any(replica.start <= offset for replica, _, _ in current) else "below-log-start")


def faults(history: History, folder: Path) -> Iterator[str]:
    """What is wrong with the answers of kdump; nothing if all are right."""
    shutil.rmtree(folder, ignore_errors=True)
    history.write(folder)
    paths = [folder / replica.name for replica in history.copies]
    end = max(replica.end for replica in history.copies)
    for offset in range(end + 2):
        (fate,) = kdump.where(f"{TOPIC}-{PARTITION}@{offset}", *paths)
        found, wanted = _as_expected(fate), expected(history, offset)
        if found != wanted:
            yield f"@{offset}: {found}, not {wanted}; {fate.evidence}"
    for key in KEYS:
        offsets = sorted(set(_offsets_of(key, history)))
        fates = list(kdump.where(None, *paths, key=key))
        if [fate.offset for fate in fates if fate.offset is not None] != offsets:
            yield f"{key!r}: found at {[fate.offset for fate in fates]}, not {offsets}"
        for fate in fates:
            if fate.offset is not None and not fate.also and _is_of_one_key(history, fate.offset):
                found, wanted = _as_expected(fate), expected(history, fate.offset)
                if found != wanted:
                    yield f"{key!r}@{fate.offset}: {found}, not {wanted}"


def _is_of_one_key(history: History, offset: int) -> bool:
    segments = [segment for replica in history.copies for segment in (*replica.segments, *replica.deleted)]
    held = [record for segment in segments for _, record in _at(segment, offset)]
    return len({None if record is None else record.key for record in held}) == 1


def _offsets_of(key: bytes, history: History) -> Iterator[int]:
    """Where a key is, in all files of logs: damaged records can still be read."""
    for replica in history.copies:
        for segment in (*replica.segments, *replica.deleted):
            yield from (record.offset for one in segment for record in one.records if record.key == key)


def _as_expected(fate: Fate) -> Expected:
    def names(paths: list[str]) -> frozenset[str]:
        return frozenset(Path(path).name for path in paths)

    also = frozenset((int(str(one["leaderEpoch"])), names(list(one["copies"]))) for one in fate.also)  # type: ignore[arg-type]
    return Expected(fate.answer, names(fate.copies), fate.superseded_by, names(fate.damaged_on), also)


def main() -> int:
    def faults_of(seed: int, number: int, folder: Path) -> Iterator[str]:
        yield from faults(History(seed, number), folder / "history")

    return numbered.run(numbered.parser(__doc__).parse_args(), faults_of, "histories")


if __name__ == "__main__":
    sys.exit(main())
