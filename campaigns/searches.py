"""Writes partitions of known records with known damage, and compares `kdump where`, `grep` and `log` with what was written.

    python -m campaigns.searches --count 5000
    python -m campaigns.searches --seed 1 --number 1234

The builders write each batch, so each record, each byte that cannot be read and each offset without a record is known; nothing
here reads a log. Batches are of all magics and codecs, in wrappers, emptied or thinned as by the cleaner, with headers that claim
fewer offsets than there are records, with a wrong checksum, with payloads that do not decode, cut inside, or overwritten.
"""

import json
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kdump
from campaigns import numbered
from kdump.cli import commands
from tests import kernels
from tests.builders.compression import Codec
from tests.builders.files import file_name
from tests.builders.messages import int16, int32, int64, string
from tests.builders.records import TIMESTAMP, Record, batch, encode_message, message, message_set, record, wrapper

PARTITION = 0
CODECS: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
SIZES = (kernels.Sizes(), kernels.Sizes(window=200, out=300), kernels.Sizes(stretch=300, out=5000))
STRETCHES = (1 << 20, 1 << 20, 1, 100, 1000)
GARBAGE = b"\x7fno payload of any codec, and no records" * 3
ID = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Row:
    """A record as it was written. `shown` is its value as JSON, `shown_key` its key."""

    offset: int
    key: bytes
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp: int
    shown: Any = None
    shown_key: Any = None


@dataclass
class Part:
    """Bytes of a log, and what is known of them.

    `rows` can be read. `answers` are those of offsets that no sound record has. `claimed` is the number of records that headers
    claim. With `is_gap`, the bytes are not intact, or not all of their records can be read.
    """

    data: bytes
    rows: list[Row]
    claimed: int
    answers: dict[int, str] = field(default_factory=dict)
    is_gap: bool = False
    kind: str = ""

    def is_damaged(self, row: Row) -> bool:
        """Whether a checksum says that one of the rows is damaged."""
        return self.answers.get(row.offset) == "damaged"


class Case:
    """A partition: its parts, and the directory name."""

    def __init__(self, seed: int, number: int) -> None:
        self.chance = random.Random(f"{seed}/{number}")
        self.is_internal = self.chance.random() < 0.2
        self.topic = "__consumer_offsets" if self.is_internal else "orders"
        self.mark = self.chance.choice(("", "", "", f".{ID}-stray", f".{ID}-delete"))
        self.parts: list[Part] = []
        self.lost: dict[int, str] = {}  # offsets between parts
        self._end = self.chance.choice((0, 0, 40))
        self.base = self._end
        self._magic = self.chance.choice((0, 1, 2, 2, 2))
        for _ in range(self.chance.randrange(1, 9)):
            self._add()

    @property
    def name(self) -> str:
        return f"{self.topic}-{PARTITION}{self.mark}"

    def write(self, folder: Path) -> Path:
        """Write the partition. Returns its directory."""
        shutil.rmtree(folder, ignore_errors=True)
        path = folder / self.name
        path.mkdir(parents=True)
        (path / file_name(self.base, ".log")).write_bytes(b"".join(part.data for part in self.parts))
        return path

    @property
    def rows(self) -> list[tuple[Row, Part]]:
        return [(row, part) for part in self.parts for row in part.rows]

    @property
    def has_times(self) -> bool:
        """Whether no message is of magic 0, which have no time."""
        return not any(part.data[16:17] == b"\0" for part in self.parts if part.rows)

    def magic_of(self, row: Row) -> int:
        return next(part.data[16] for one, part in self.rows if one is row)

    @property
    def end(self) -> int:
        """An offset after all that were written."""
        return self._end

    # What is written

    def _add(self) -> None:
        if self._magic < 2 and self.chance.random() < 0.1:
            self._magic = 2  # the brokers were updated
        whole = (self._sound, self._sound, self._emptied, self._thinned, self._overfull)
        damaged = (self._wrong_crc, self._undecodable, self._half, self._hollow, self._zeros)
        legacy = (self._messages, self._wrapper, self._wrapper, self._bad_wrapper, self._cut_wrapper, self._bad_message)
        make = self.chance.choice((*whole, *damaged) if self._magic == 2 else legacy)
        before = self.parts[-1] if self.parts else None
        if before is not None and before.kind == "_after_zeros" or make == self._zeros and self._is_after("_wrong_crc"):
            make = self._sound  # a batch with a wrong checksum beside other bytes is taken for damage as a whole
        may_lose = make in whole and before is not None and not before.is_gap and before.kind != "_overfull"
        if may_lose and self.chance.random() < 0.2:
            lost = self.chance.randrange(1, 4)
            self.lost |= dict.fromkeys(range(self._end, self._end + lost), "missing")
            self._end += lost
        part = make(self._end)
        part.kind = part.kind or make.__name__
        self.parts.append(part)
        self._end = 1 + max((*part.answers, *(row.offset for row in part.rows)))

    def _is_after(self, kind: str) -> bool:
        return bool(self.parts) and self.parts[-1].kind == kind

    def _rows(self, base: int, count: int | None = None, *, has_headers: bool = True) -> list[Row]:
        rows = []
        for offset in range(base, base + (count or self.chance.randrange(1, 6))):
            timestamp = TIMESTAMP + offset * 1000
            if self.is_internal:
                rows.append(_commit(offset, self.chance.choice(("app", "web")), self.chance.randrange(3)))
                continue
            shown = {"id": offset, "user": {"name": self.chance.choice(("ann", "bob"))}, "token": f"token-{offset:06}"}
            value = None if self.chance.random() < 0.1 else json.dumps(shown, separators=(",", ":")).encode()
            headers = (("trace", b"header-%06d" % offset),) if has_headers and self.chance.random() < 0.3 else ()
            key = b'{"k":%d}' % self.chance.randrange(4)
            rows.append(Row(offset, key, value, headers, timestamp, None if value is None else shown, json.loads(key)))
        return rows

    def _batch(self, base: int, rows: list[Row], **options: Any) -> bytes:
        records = [_record(row, base) for row in rows]
        return batch(base_offset=base, records=records, codec=self.chance.choice(CODECS), **options)

    def _sound(self, base: int) -> Part:
        rows = self._rows(base)
        return Part(self._batch(base, rows), rows, len(rows))

    def _wrong_crc(self, base: int) -> Part:
        rows = self._rows(base)
        answers = {row.offset: "damaged" for row in rows}
        return Part(self._batch(base, rows, crc=1), rows, len(rows), answers, is_gap=True)

    def _emptied(self, base: int) -> Part:
        last = base + self.chance.randrange(1, 9)
        data = batch(base_offset=base, last_offset_delta=last - base, producer_id=7, producer_epoch=0, base_sequence=0)
        return Part(data, [], 0, dict.fromkeys(range(base, last + 1), "compacted"))

    def _thinned(self, base: int) -> Part:
        rows = self._rows(base, self.chance.randrange(2, 9))
        kept = self.chance.sample(rows, self.chance.randrange(1, len(rows)))
        kept.sort(key=lambda row: row.offset)
        data = self._batch(base, kept, last_offset_delta=len(rows) - 1)
        return Part(data, kept, len(kept), {row.offset: "compacted" for row in rows if row not in kept})

    def _overfull(self, base: int) -> Part:
        """The header claims fewer offsets than there are records."""
        rows = self._rows(base, self.chance.randrange(2, 7))
        data = self._batch(base, rows, last_offset_delta=self.chance.randrange(len(rows) - 1))
        return Part(data, rows, len(rows))

    def _undecodable(self, base: int) -> Part:
        """The checksum fits, and the payload is none of the codec, or no records."""
        count = self.chance.randrange(1, 6)
        codec = self.chance.choice(CODECS)
        data = batch(base_offset=base, codec=codec, payload=GARBAGE, records_count=count, last_offset_delta=count - 1)
        return Part(data, [], count, dict.fromkeys(range(base, base + count), "damaged"), is_gap=True)

    def _half(self, base: int) -> Part:
        """The first records of a batch without compression can be read."""
        rows = self._rows(base)
        count = len(rows) + self.chance.randrange(1, 4)
        records: list[Record | bytes] = [*(_record(row, base) for row in rows), b"\x7fno record"]
        data = batch(base_offset=base, records=records, records_count=count, last_offset_delta=count - 1)
        answers = dict.fromkeys(range(base + len(rows), base + count), "damaged")
        return Part(data, rows, count, answers, is_gap=True)

    def _hollow(self, base: int) -> Part:
        """The header says that there are no records, but they are there."""
        rows = self._rows(base)
        answers = {row.offset: "damaged" for row in rows}
        return Part(self._batch(base, rows, records_count=0), [], 0, answers, is_gap=True)

    def _zeros(self, base: int) -> Part:
        """A batch that was overwritten; nothing can be said of what follows the last sound one, so something sound follows."""
        rows = self._rows(base)
        after = self._sound(rows[-1].offset + 1)
        after.kind = "_after_zeros"
        data = bytes(len(self._batch(base, rows)))
        self.parts.append(Part(data, [], 0, {row.offset: "damaged" for row in rows}, is_gap=True, kind="_zeros"))
        return after

    # Magic 0 and 1

    def _messages(self, base: int) -> Part:
        rows = self._rows(base, has_headers=False)
        data = message_set(messages=[self._message(row) for row in rows])
        return Part(data, rows, len(rows))

    def _message(self, row: Row, **options: Any) -> Any:
        return message(magic=self._magic, offset=row.offset, key=row.key, value=row.value, timestamp=row.timestamp, **options)

    def _wrapped(self, base: int, rows: list[Row], **options: Any) -> bytes:
        codec = self.chance.choice(CODECS[1:4])
        inner = [self._message(row) for row in rows]
        return wrapper(messages=inner, magic=self._magic, base_offset=base, codec=codec, **options)

    def _wrapper(self, base: int) -> Part:
        rows = self._rows(base, has_headers=False)
        return Part(self._wrapped(base, rows), rows, len(rows))

    def _bad_wrapper(self, base: int) -> Part:
        rows = self._rows(base, has_headers=False)
        return Part(self._wrapped(base, rows, payload=GARBAGE), [], 1, {row.offset: "damaged" for row in rows}, is_gap=True)

    def _cut_wrapper(self, base: int) -> Part:
        """The last message is cut. With magic 1, those before it get offsets that are too high: a wrapper counts from its end."""
        rows = self._rows(base, self.chance.randrange(2, 6), has_headers=False)
        last = encode_message(self._message(rows[-1]), offset=rows[-1].offset if self._magic == 0 else len(rows) - 1)
        data = self._wrapped(base, rows[:-1], trailing=last[: self.chance.randrange(1, len(last))], offset=rows[-1].offset)
        shift = 1 if self._magic else 0
        kept = [Row(row.offset + shift, row.key, row.value, (), row.timestamp, row.shown, row.shown_key) for row in rows[:-1]]
        there = {row.offset for row in kept}
        return Part(data, kept, len(kept), {row.offset: "damaged" for row in rows if row.offset not in there}, is_gap=True)

    def _bad_message(self, base: int) -> Part:
        """The checksum of one message inside a wrapper is wrong."""
        rows = self._rows(base, has_headers=False)
        bad = self.chance.choice(rows)
        inner = [self._message(row, crc=1) if row is bad else self._message(row) for row in rows]
        data = wrapper(messages=inner, magic=self._magic, base_offset=base, codec="gzip")
        return Part(data, rows, len(rows), {bad.offset: "damaged"}, is_gap=True)


def _record(row: Row, base: int) -> Record:
    return record(key=row.key, value=row.value, headers=row.headers, timestamp=row.timestamp, offset_delta=row.offset - base)


def _commit(offset: int, group: str, partition: int) -> Row:
    """A record of __consumer_offsets: its key has version 1, its value version 3."""
    key = int16(1) + string(group) + string("orders") + int32(partition)
    value = int16(3) + int64(offset * 10) + int32(0) + string(f"token-{offset:06}") + int64(1)
    shown = {"offset": offset * 10, "leaderEpoch": 0, "metadata": f"token-{offset:06}", "commitTimestamp": 1}
    shown_key = {"group": group, "topic": "orders", "partition": partition}
    return Row(offset, key, value, (), TIMESTAMP + offset * 1000, shown, shown_key)


# Where


def faults(case: Case, folder: Path) -> Iterator[str]:
    """What is wrong with the answers of kdump; nothing if all are right."""
    path = case.write(folder)
    if not case.mark:
        yield from _faults_of_where(case, path)
    yield from _faults_of_grep(case, path)
    yield from _faults_of_log(case, path / file_name(case.base, ".log"))


def expected_answers(case: Case) -> dict[int, str]:
    """What `where` has to say of each offset."""
    answers = dict(case.lost)
    for part in case.parts:
        answers |= {row.offset: "present" for row in part.rows} | part.answers
    return answers | dict.fromkeys(range(case.base), "below-log-start")


def _faults_of_where(case: Case, path: Path) -> Iterator[str]:
    answers = expected_answers(case)
    ends_damaged = case.parts[-1].kind == "_wrong_crc"  # then nobody knows where it ended
    for offset in range(case.end + 3):
        wanted = answers.get(offset, "damaged" if ends_damaged else "not-written")
        found = kdump.where(f"{case.topic}-{PARTITION}@{offset}", path)
        (fate,) = found
        if (fate.answer, found.is_certain) != (wanted, True):
            yield f"@{offset}: {fate.answer}, certain {found.is_certain}, not {wanted}; {fate.evidence}"
        if (fate.copies == [str(path)]) != (wanted == "present") or (fate.damaged_on == [str(path)]) != (wanted == "damaged"):
            yield f"@{offset}: {wanted}, but {fate.copies} have it, and it is damaged on {fate.damaged_on}"
    offset = case.chance.randrange(case.end + 3)
    (path.parent / "answer").unlink(missing_ok=True)
    code = commands.main(["where", f"{case.topic}-{PARTITION}@{offset}", str(path), "-o", str(path.parent / "answer")])
    if code != (0 if answers.get(offset) == "present" else 1):
        yield f"@{offset}: exit code {code}"
    for key in sorted({row.key for row, _ in case.rows}):
        wanted_fates = sorted((row.offset, part.answers.get(row.offset, "present")) for row, part in case.rows if row.key == key)
        fates = [(fate.offset, fate.answer) for fate in kdump.where(None, path, key=key)]
        if fates != wanted_fates:
            yield f"key {key!r}: {fates}, not {wanted_fates}"


# Grep

Question = tuple[dict[str, Any], Callable[[Row], bool]]


def _questions(case: Case) -> Iterator[Question]:
    """What is asked, and which records match."""
    offset = case.chance.randrange(case.base, case.end + 1)
    token = f"token-{offset:06}".encode()
    yield {"pattern": token}, lambda row: token in (row.value or b"")
    yield {"pattern": token + b"$", "kind": "regex"}, lambda row: (row.value or b"").endswith(token)
    yield {"pattern": b"nowhere"}, lambda row: False
    header = b"header-%06d" % offset
    yield {"pattern": header}, lambda row: any(value == header for _, value in row.headers)
    yield {"pattern": header.upper(), "ignore_case": True, "fields": ["header"]}, lambda row: ("trace", header) in row.headers
    yield {"pattern": b"TRACE", "ignore_case": True, "fields": ["header-name"]}, lambda row: bool(row.headers)
    yield {"headers": {"trace": header}}, lambda row: ("trace", header) in row.headers
    yield {"headers": {"trace": b""}}, lambda row: False
    yield {"headers": {"trace": None}}, lambda row: bool(row.headers)
    yield {"tombstones": True}, lambda row: row.value is None
    yield {"producer": -1}, lambda row: case.magic_of(row) == 2
    part = re.escape(token[case.chance.randrange(len(token)) :]) + b"[^0-9]"
    yield {"pattern": part, "kind": "regex"}, _expression(part)
    words = b"(K|OF)EN-0*%d" % offset
    yield {"pattern": words, "kind": "regex", "ignore_case": True}, _expression(b"(?i)" + words)
    piece = case.chance.choice([row.key for row, _ in case.rows] or [b"none"])[case.chance.randrange(3) :]
    yield {"pattern": piece, "fields": ["key"]}, lambda row: piece in row.key
    key = case.chance.choice([row.key for row, _ in case.rows] or [b"none"])
    yield {"key": key}, lambda row: row.key == key
    last = offset + case.chance.randrange(5)
    yield {"pattern": b"", "from_offset": offset, "to_offset": last}, lambda row: offset <= row.offset <= last
    yield {"key": key, "from_offset": offset}, lambda row: row.key == key and row.offset >= offset
    time = TIMESTAMP + offset * 1000
    yield {"pattern": b"", "from_time": time, "fields": ["key"]}, lambda row: row.timestamp >= time
    yield {"pattern": b"", "to_time": time, "fields": ["key"]}, lambda row: row.timestamp <= time
    if case.is_internal:
        yield {"where": [f"offset={offset * 10}"]}, lambda row: row.shown["offset"] == offset * 10
        yield {"where": [f"data.offset={offset * 10}"]}, lambda row: row.shown["offset"] == offset * 10
        yield {"where": ["key.group=app"]}, lambda row: row.shown_key["group"] == "app"
        yield {"where": ["group=app"]}, lambda row: False
    else:
        yield {"where": [f"id={offset}"]}, lambda row: row.shown is not None and row.shown["id"] == offset
        yield {"where": ["value.user.name=ann"]}, lambda row: row.shown is not None and row.shown["user"]["name"] == "ann"
        both = {"where": ["key.k=1", "user.name=bob"]}
        yield both, lambda row: row.shown_key["k"] == 1 and row.shown is not None and row.shown["user"]["name"] == "bob"
        yield {"where": ["usr.name=ann"]}, lambda row: False


UNKNOWN = ("group=app", "usr.name=ann")
NARROWING = {"from_offset", "to_offset", "from_time", "to_time", "producer"}
"""What leaves out batches by their headers, so that not all is read."""


def _expression(pattern: bytes) -> Callable[[Row], bool]:
    """Whether a pattern is in a key, a value or the value of a header."""
    compiled = re.compile(pattern)
    return lambda row: any(map(compiled.search, (row.key, row.value or b"", *(value for _, value in row.headers))))


def _faults_of_grep(case: Case, path: Path) -> Iterator[str]:
    ranges = _not_intact(case)
    decoded = sum(len(part.rows) for part in case.parts)
    claimed = sum(part.claimed for part in case.parts)
    for options, fits in _questions(case):
        given = dict(options)
        pattern = given.pop("pattern", None)
        if given.keys() & {"from_time", "to_time"} and not case.has_times:
            continue
        search = kdump.grep(pattern, path, **given)
        hits = sorted((hit.offset or 0, hit.status == "damaged") for hit in search)
        wanted = sorted((row.offset, part.is_damaged(row)) for row, part in case.rows if fits(row))
        if given.keys() & NARROWING:
            unsure = {row.offset for row, part in case.rows if part.kind == "_overfull"}
            hits, wanted = ([one for one in found if one[0] not in unsure] for found in (hits, wanted))
        if hits != wanted:
            yield f"{options}: hits {hits}, not {wanted}"
        if given.keys() & NARROWING:
            continue
        verdict = search.verdict
        is_unknown = given.get("where", [""])[0] in UNKNOWN and any(row.shown is not None for row, _ in case.rows)
        word = "found" if wanted else "not proven" if ranges or is_unknown else "absent"
        code = 3 if ranges or word == "not proven" else 0 if wanted else 1
        if (verdict.verdict, verdict.exit_code) != (word, code):
            yield f"{options}: {verdict.verdict}, exit code {verdict.exit_code}, not {word}, {code}"
        if (verdict.records, verdict.claimed_records) != (decoded, claimed):
            yield f"{options}: {verdict.records} of {verdict.claimed_records} records, not {decoded} of {claimed}"
        if bool(verdict.unknown_fields) != (is_unknown and not wanted):
            yield f"{options}: unknown fields {verdict.unknown_fields}"
        not_read = _merged([(gap.start or 0, gap.end or 0) for gap in search.not_read])
        if not_read != ranges:
            yield f"{options}: not read {not_read}, not {ranges}"


def _not_intact(case: Case) -> list[tuple[int, int]]:
    """The bytes that cannot be read intact."""
    ranges, position = [], 0
    for part in case.parts:
        if part.is_gap:
            ranges.append((position, position + len(part.data)))
        position += len(part.data)
    return _merged(ranges)


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


# Log

Listed = tuple[int | None, int | None, str]
"""The offset and the time of a row, and whether it is damaged; no offset where nothing can be read."""

_UNREADABLE = ("_undecodable", "_zeros", "_bad_wrapper", "_half")
"""What a listing has a row for that has no offset."""


def _faults_of_log(case: Case, path: Path) -> Iterator[str]:
    """List all records, and random parts of them, with buffers of several sizes."""
    for options in ({}, *_parts_to_list(case)):
        words = [text for name, value in options.items() for text in (name, str(value))]
        with kernels.reading_with(kernels.in_windows(case.chance.choice(STRETCHES))):
            command = ["log", "--deep", "--decode", "none", "--output", "ndjson", *words, str(path)]
            code, out, _ = kernels.listed(command, case.chance.choice(SIZES))
        wanted, unsure = _rows_to_list(case, options)
        found = [one for one in map(_listed, out.splitlines()) if one[0] not in unsure]
        if found != wanted:
            yield f"log {options}: {found}, not {wanted}"
        is_damaged = any(status == "damaged" for _, _, status in wanted)
        if not options and code != is_damaged and not any(part.kind in ("_hollow", "_cut_wrapper") for part in case.parts):
            yield f"log: exit code {code}"


def _listed(line: bytes) -> Listed:
    row = json.loads(line)
    status = "damaged" if row["status"] == "damaged" else "sound"
    return row.get("offset"), None if row.get("timestamp") == -1 else row.get("timestamp"), status


def _parts_to_list(case: Case) -> Iterator[dict[str, int]]:
    """Options that select rows: either end of the log, ranges, and a place."""
    chance = case.chance
    count = sum(len(part.rows) for part in case.parts)
    yield {"--tail": chance.randrange(1, count + 3)}
    yield {"--limit": chance.randrange(1, count + 3)}
    yield {"--from-position": chance.randrange(1 + sum(len(part.data) for part in case.parts))}
    first, last = sorted(chance.randrange(case.base, case.end + 1) for _ in range(2))
    yield {"--from-offset": first}
    yield {"--from-offset": first, "--to-offset": last}
    if case.has_times:
        yield {"--from-time": TIMESTAMP + 1000 * first, "--to-time": TIMESTAMP + 1000 * last}
        yield {"--to-time": TIMESTAMP + 1000 * last}


def _rows_to_list(case: Case, options: dict[str, int]) -> tuple[list[Listed], set[int | None]]:
    """The rows that a listing must have, and offsets that it may have or leave out: None for what cannot be read."""
    rows: list[Listed] = []
    unsure: set[int | None] = set()
    position, first_position = 0, options.get("--from-position", 0)
    for part in case.parts:
        for row in part.rows:
            time = row.timestamp if part.data[16] else None
            is_in = options.get("--from-offset", 0) <= row.offset <= options.get("--to-offset", case.end)
            is_in &= options.get("--from-time", 0) <= (time or 0) <= options.get("--to-time", 1 << 62)
            if part.kind == "_overfull" and options.keys() & {"--from-offset", "--to-offset"}:
                unsure.add(row.offset)  # the header says which are asked for
            elif part.kind == "_messages" and position < first_position:
                unsure.add(row.offset)  # each is a batch of its own
            elif is_in and position >= first_position:
                rows.append((row.offset, time, "damaged" if part.is_damaged(row) else "sound"))
        if part.kind in _UNREADABLE and not (part.kind == "_zeros" and "--tail" in options):
            rows.append((None, None, "damaged"))
        position += len(part.data)
    rows = rows[-options["--tail"] :] if "--tail" in options else rows[: options.get("--limit")]
    if options and "--limit" not in options:
        unsure.add(None)  # a range may have been there, and is not one of the last rows
    return [row for row in rows if row[0] not in unsure], unsure


def main() -> int:
    def faults_of(seed: int, number: int, folder: Path) -> Iterator[str]:
        case = Case(seed, number)
        for fault in faults(case, folder / "case"):
            yield f"{case.name} {[part.kind for part in case.parts]}: {fault}"

    return numbered.run(numbered.parser(__doc__).parse_args(), faults_of, "partitions")


if __name__ == "__main__":
    sys.exit(main())
