"""Damages segments and measures what `kdump check` still finds in them.

    python -m campaigns.recall --count 20000 --seed 1

Nearly all undamaged batches must be listed with their original fields; nothing listed as intact may differ from a batch of the
clean file; findings must cover the changes; a change under a CRC must be an error. No mutant may cause an exception, leave
bytes unaccounted for, or be read more often than `TIMES_READ` on average.
"""

import functools
import random
import struct
import sys
import tempfile
import traceback
from bisect import bisect_left
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from campaigns import damage, numbered
from campaigns.damage import Damage, Damaged, Entry, entries
from golden_outputs.runs import CASES, cases
from kdump.binary.source import Source
from kdump.checks.check import run
from kdump.checks.finding import ERROR, FileReport, Finding
from kdump.checks.jobs import Job
from kdump.checks.settings import Settings
from kdump.reading import salvage
from kdump.tables import Row
from tests.builders.checksums import crc32c
from tests.builders.compression import Codec
from tests.builders.records import batch, record
from tests.support import bytes_read

LARGEST_SOURCE = 256 * 1024
TIMES_READ = 100
"""How often a check may read each byte on average; more would mean superlinear time. The most seen is 18 times."""
NOW = 1_700_000_500_000
BUILT: tuple[tuple[int, int, Codec], ...]
BUILT = ((40, 10, "none"), (200, 100, "none"), (60, 3000, "none"), (80, 500, "gzip"), (30, 40, "zstd"))
"""Logs that are built: how many batches, the largest value, and the codec."""

Listed = dict[int, tuple[str, tuple[int, ...], int]]
"""The status, header and size of each batch, by position."""

Range = tuple[int, int]


class Original(NamedTuple):
    """A clean log: its bytes, and its batches."""

    name: str
    data: bytes
    batches: list[Entry]


class Mutant(NamedTuple):
    """A damaged log, and how many bytes at its start and at its end are those of the clean one."""

    number: int
    original: Original
    what: str
    data: bytes
    is_sealed: bool = False
    """Whether it was changed with a correct CRC, or with batches from elsewhere."""

    @property
    def kept(self) -> tuple[int, int]:
        return _kept(self.original.data, self.data)

    def untouched(self) -> dict[int, Entry]:
        """The undamaged batches, by their position in the mutant."""
        start, tail = self.kept
        clean, grown = len(self.original.data), len(self.data) - len(self.original.data)
        before = {one.position: one for one in self.original.batches if one.end <= start}
        return before | {one.position + grown: one for one in self.original.batches if one.position >= clean - tail}

    def change(self) -> Range:
        """Where bytes are new; if start and end are equal, some are missing there."""
        start, tail = self.kept
        return start, len(self.data) - tail


@functools.cache
def originals() -> list[Original]:
    """The clean logs: valid goldens and built logs."""
    found = [*_built()]
    for case in cases():
        for path in sorted((CASES / case).rglob("*.log")):
            if path.is_file() and 0 < path.stat().st_size <= LARGEST_SOURCE:
                data = path.read_bytes()
                batches = entries(data)
                if batches and batches[-1].end == len(data) and _is_sound(data):
                    found.append(Original(path.name, data, batches))
    return found


def _is_sound(data: bytes) -> bool:
    with tempfile.NamedTemporaryFile(suffix=".log") as file:
        file.write(data)
        file.flush()
        with Source(file.name) as source:
            for item in salvage.walk(source):
                if isinstance(item, salvage.Damage) or not item.is_intact:
                    return False
    return True


def _built() -> list[Original]:
    chance = random.Random("recall")
    logs = []
    for count, value_size, codec in BUILT:
        for step in (1, 3):  # 3: as compaction leaves it
            offset, batches = 0, []
            for row in range(count):
                rows = chance.randrange(1, 6)
                values = [chance.randbytes(chance.randrange(value_size + 1)) for _ in range(rows)]
                if row % 10 == 5 and codec == "none":
                    values[0] = batch(records=[record(value=b"nested")], base_offset=offset + 1)
                made = [record(key=b"key", value=value) for value in values]
                batches.append(batch(records=made, base_offset=offset, codec=codec, partition_leader_epoch=row // 30))
                offset += rows + chance.randrange(step)
            logs.append(b"".join(batches))
    same = b"".join(batch(records=[record(key=b"key", value=b"value")], base_offset=row) for row in range(100))
    return [Original("00000000000000000000.log", data, entries(data)) for data in (*logs, same)]


def mutant(seed: int, number: int) -> Mutant:
    """The mutant of this number, of one of the `originals`."""
    chance = random.Random(f"recall/{seed}/{number}")
    original, other = (chance.choice(originals()) for _ in range(2))
    is_sealed = chance.random() < 0.35
    way = chance.choice(SEALED if is_sealed else WAYS)
    damaged = damage.applied(way, original.data, other.data, chance)
    return Mutant(number, original, f"{way.__name__}: {damaged.what}", damaged.data, is_sealed)


def _kept(clean: bytes, damaged: bytes) -> tuple[int, int]:
    """The sizes of the common start of two logs, and of the common end of what follows it."""
    most = min(len(clean), len(damaged))
    start = bisect_left(range(most), True, key=lambda row: clean[: row + 1] != damaged[: row + 1])
    ends = range(most - start)
    return start, bisect_left(ends, True, key=lambda row: clean[len(clean) - row - 1 :] != damaged[len(damaged) - row - 1 :])


def _replaced(data: bytes, start: int, end: int, new: bytes, what: str) -> Damaged:
    return Damaged(data[:start] + new + data[end:], f"{what} at {start}")


def header_bit_flip(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    at, bit = chance.choice(entries(data)).position + chance.randrange(26), chance.randrange(8)
    return _replaced(data, at, at + 1, bytes([data[at] ^ 1 << bit]), f"bit {bit}")


def byte_run(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice((2, 8, 40, 200, 1000, 5000, len(data) // 8 + 2)))
    return _replaced(data, start, end, chance.randbytes(end - start), f"{end - start} random bytes")


def zeros_behind(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """As a preallocated file ends."""
    return _replaced(data, len(data), len(data), bytes(chance.choice((1, 17, 18, 511, 4096, 1 << 20))), "zeros")


def planted(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """Garbage that holds a whole batch, perhaps with a huge offset."""
    offset = chance.choice((0, 5, 1 << 40, (1 << 62) + 1))
    body = chance.randbytes(30) + batch(records=[record(value=b"planted")], base_offset=offset) + chance.randbytes(30)
    at = chance.choice(entries(data)).end
    return _replaced(data, at, at, body, f"batch with offset {offset} in garbage")


def forged_headers(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    length = chance.choice((49, 500, 5000, 1 << 20, (1 << 27) - 1))
    header = struct.pack(">qiibIhiqqqhii", 1 << 20, length, 0, 2, chance.getrandbits(32), 0, 0, 1, 1, -1, -1, -1, 1)
    at = chance.choice(entries(data)).end
    return _replaced(data, at, at, header * chance.choice((1, 3, 40)), f"headers that claim {length} bytes")


def length_field(data: bytes, _other: bytes, chance: random.Random) -> Damaged:
    """A length that is wrong, perhaps so that it leads to another batch."""
    entry, other = chance.choice(entries(data)), chance.choice(entries(data))
    absurd = chance.choice((-1, 0, 13, 14, 48, 49, 1 << 20, 1 << 26, 1 << 30, (1 << 31) - 1, -(1 << 31)))
    length = chance.choice((absurd, other.end - entry.position - 12, entry.size - 12 + chance.randrange(-40, 40)))
    return _replaced(data, entry.position + 8, entry.position + 12, struct.pack(">i", length), f"length {length}")


WAYS: tuple[Damage, ...] = (
    *(header_bit_flip, header_bit_flip, byte_run, zeros_behind, damage.byte_set, damage.zeroed, damage.zeroed),
    *(damage.cut, damage.deleted, damage.inserted, forged_headers, length_field, length_field),
)
SEALED: tuple[Damage, ...] = (*damage.DAMAGES[".log"], *(damage.entries_moved,) * 4, *(planted,) * 3)


class Judgement(NamedTuple):
    """The counts and the failures."""

    counts: Counter[str]
    failures: list[str]


def judge(one: Mutant, folder: Path) -> Judgement:
    """Check a mutant, and compare the result with the known damage."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    data = one.data
    path = folder / one.original.name
    path.write_bytes(data)
    rows: list[Row] = []
    listed: Listed = {}
    damaged: list[Range] = []
    try:
        with bytes_read() as total:
            run(Job(Job.FILE, str(path)), Settings(now=NOW), rows.append)
        with Source(str(path)) as source:
            base_offset = int(one.original.name[:20]) if one.original.name[:20].isdigit() else None
            for item in salvage.walk(source, base_offset=base_offset):
                if isinstance(item, salvage.Damage):
                    damaged.append((item.start, item.end))
                    continue
                columns = item.chunk.batches["position"], item.chunk.headers, item.chunk.batches["size"]
                for position, header, size in zip(*columns, strict=True):
                    listed[position] = (item.status, header, size)
                    if item.status == salvage.DAMAGED or item.claimed_length is not None:
                        damaged.append((position, position + size))
    except Exception:
        return Judgement(Counter(crashed=1), [f"crashed: {traceback.format_exc()}"])
    finally:
        path.unlink()
    findings = [row for row in rows if isinstance(row, Finding)]
    report = next(row for row in rows if isinstance(row, FileReport))
    sums = (report.bytes_intact, report.bytes_salvaged, report.bytes_damaged, report.bytes_zero, report.bytes_not_examined)
    if sum(sums) != len(data) or min(sums) < 0:
        failures.append(f"account {sums} of {len(data)}")
    if total() > TIMES_READ * max(len(data), 1 << 10):
        failures.append(f"slow: {total():,} bytes read of {len(data):,}")
    _judge_untouched(one, listed, counts, failures)
    _judge_intact(one, data, listed, counts, failures)
    if not one.is_sealed:
        _judge_change(one, findings, damaged, counts, failures)
    return Judgement(counts, failures)


def _judge_untouched(one: Mutant, listed: Listed, counts: Counter[str], failures: list[str]) -> None:
    for position, entry in one.untouched().items():
        counts["untouched"] += 1
        found = listed.get(position)
        clean = one.original.data[entry.position : entry.end]
        if found is not None and found[0] != salvage.DAMAGED and found[2] == entry.size and _has_fields(clean, found[1]):
            counts["listed"] += 1
        else:
            failures.append(f"not listed: the batch at {position}, {entry.size} bytes")


def _has_fields(data: bytes, header: tuple[int, ...]) -> bool:
    if data[16] >= 2:
        return struct.unpack_from(">qiibIhiqqqhii", data) == header
    return struct.unpack_from(">qiIbb", data) == header[:5]


def _judge_intact(one: Mutant, data: bytes, listed: Listed, counts: Counter[str], failures: list[str]) -> None:
    if one.is_sealed:
        return
    clean = {one.original.data[entry.position : entry.end] for entry in one.original.batches}
    is_lawful = _is_lawful(data)
    for position, (status, _, size) in listed.items():
        if status != salvage.INTACT:
            continue
        counts["intact"] += 1
        if data[position : position + size] not in clean:
            if is_lawful:
                counts["intact but changed where nothing can tell"] += 1
            else:
                counts["intact but changed"] += 1
                failures.append(f"intact but changed: the batch at {position}, {size} bytes")


def _is_lawful(data: bytes) -> bool:
    """Whether this is a valid log by itself: complete batches with ascending offsets and epochs, and correct CRCs."""
    found = entries(data)
    if (found[-1].end if found else 0) != len(data):
        return False
    last = epoch = -1
    for entry in found:
        offset, _, leader_epoch, magic, crc = struct.unpack_from(">qiibI", data, entry.position)
        delta = 0
        if magic == 2:
            if crc32c(data[entry.position + 21 : entry.end]) != crc or -1 != leader_epoch < epoch:
                return False
            (delta,) = struct.unpack_from(">i", data, entry.position + 23)
            epoch = max(epoch, leader_epoch)
        elif magic > 2:
            return False
        if offset <= last:
            return False
        last = offset + delta
    return True


def _judge_change(one: Mutant, findings: list[Finding], damaged: list[Range], counts: Counter[str], failures: list[str]) -> None:
    clean, data = one.original.data, one.data
    if data == clean or _is_lawful(data):
        counts["nothing can tell"] += 1
        return
    ranges = damaged + [(finding.start, finding.end) for finding in findings if finding.severity != "info"]
    start, end = one.change()
    counts["changes"] += 1
    if _covers(ranges, start, end) or _is_elsewhere(clean, data, ranges):
        counts["changes covered"] += 1
    else:
        failures.append(f"not covered: bytes {start} to {end}")
    counts["damaged files"] += 1
    if one.what.startswith("zeros_behind") or any(finding.severity == ERROR for finding in findings):
        counts["told as an error"] += 1
    else:
        failures.append("no error")


def _is_elsewhere(clean: bytes, data: bytes, ranges: list[Range]) -> bool:
    """Whether a finding is at an equivalent place for the inserted or missing bytes: equal bytes cannot be distinguished."""
    if len(clean) == len(data):
        return False
    last, longest_tail = _kept(clean, data)[0], _kept(b"a" + clean, b"b" + data)[1]
    first = len(data) - longest_tail - max(0, len(data) - len(clean))
    return first <= last and any(low <= last and first <= high for low, high in ranges)


def _covers(ranges: list[Range], start: int, end: int) -> bool:
    at = start
    for low, high in sorted(ranges):
        if low <= at <= high:
            at = max(at, high)
    return at >= end and any(low <= start <= high for low, high in ranges)


def faults(counts: Counter[str], seed: int, number: int, folder: Path) -> list[str]:
    """What is wrong with the check of the mutant of this number; adds to the counts."""
    one = mutant(seed, number)
    judgement = judge(one, folder)
    counts.update(judgement.counts)
    return [f"{one.what}: {failure}" for failure in judgement.failures]


def main() -> int:
    """Print the failures, and the counts and shares of all mutants."""
    counts: Counter[str] = Counter()
    code = numbered.run(numbered.parser(__doc__, 20000).parse_args(), functools.partial(faults, counts), "mutants")
    for name, count in counts.items():
        print(f"{count:>10,}  {name}")
    for part, whole in (("listed", "untouched"), ("changes covered", "changes"), ("told as an error", "damaged files")):
        print(f"{100 * counts[part] / max(counts[whole], 1):10.4f} % {part} of {whole}")
    return code


if __name__ == "__main__":
    sys.exit(main())
