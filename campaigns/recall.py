"""Damages segments and measures what `kdump check` still finds in them.

    python -m campaigns.recall --count 20000 --seed 1

Nearly all undamaged batches must be listed with their original fields; nothing listed as intact may differ from a batch of the
clean file; findings must cover the changes; a change under a CRC must be an error. No mutant may cause an exception, leave
bytes unaccounted for, or take longer than a second plus five times the time for the clean file.
"""

import argparse
import functools
import random
import resource
import struct
import sys
import tempfile
import time
import traceback
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from campaigns.damage import DAMAGES, Entry, entries
from golden_outputs.runs import CASES, cases
from kdump.binary.source import Source
from kdump.checks.check import run
from kdump.checks.finding import ERROR, FileReport, Finding
from kdump.checks.jobs import Job
from kdump.checks.settings import Settings
from kdump.reading import salvage
from kdump.tables import Row
from tests.builders.records import batch, record
from tests.support import bytes_read

LARGEST_SOURCE = 256 * 1024
LARGEST_OF_LOGS = 4 << 20
TIMES_READ = 100
"""How often a check may read each byte on average; more would mean superlinear time. The most seen is 18 times."""
NOW = 1_700_000_500_000

Listed = dict[int, tuple[str, tuple[int, ...], int]]
"""The status, header and size of each batch, by position."""

Range = tuple[int, int]
"""A byte range; if start and end are equal, bytes are missing there."""


class Original(NamedTuple):
    """A clean log: its bytes, and its batches."""

    name: str
    data: bytes
    batches: list[Entry]


class Piece(NamedTuple):
    """Bytes of a mutant; kept ones have a position in the clean file."""

    data: bytes
    origin: int | None


class Mutant(NamedTuple):
    """A damaged log. `is_blind`: all batches are valid and in order, so the change cannot be detected."""

    number: int
    original: Original
    what: str
    pieces: list[Piece]
    is_sealed: bool = False  # changed with a correct CRC, or with batches from elsewhere

    @property
    def data(self) -> bytes:
        return b"".join(piece.data for piece in self.pieces)

    def untouched(self) -> dict[int, Entry]:
        """The undamaged batches, by their position in the mutant."""
        found: dict[int, Entry] = {}
        starts = [entry.position for entry in self.original.batches]
        position = 0
        for piece in _joined(self.pieces):
            if piece.origin is not None:
                end = piece.origin + len(piece.data)
                for entry in self.original.batches[max(0, bisect_right(starts, piece.origin - 1)) :]:
                    if entry.end > end:
                        break
                    if entry.position >= piece.origin:
                        found[position + entry.position - piece.origin] = entry
            position += len(piece.data)
        return found

    def changes(self) -> list[Range]:
        """Where bytes are new, and where some are missing."""
        changed: list[Range] = []
        position = expected = 0
        for piece in _joined(self.pieces):
            if piece.origin is None:
                changed.append((position, position + len(piece.data)))
                expected = -1
            elif piece.origin != expected and expected >= 0:
                changed.append((position, position))
            position += len(piece.data)
            if piece.origin is not None:
                expected = piece.origin + len(piece.data)
        if 0 <= expected < len(self.original.data):
            changed.append((position, position))
        return changed


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for piece in pieces:
        if not piece.data:
            continue
        last = joined[-1] if joined else None
        if last is not None and last.origin is None and piece.origin is None:
            joined[-1] = Piece(last.data + piece.data, None)
        elif last is not None and last.origin is not None and last.origin + len(last.data) == piece.origin:
            joined[-1] = Piece(last.data + piece.data, last.origin)
        else:
            joined.append(piece)
    return joined


# --- originals


@functools.cache
def originals(logs: tuple[str, ...] = ()) -> list[Original]:
    """The clean logs: valid goldens and built logs, or the first MiBs of the given `logs`."""
    if logs:
        return [_original(Path(path)) for path in logs]
    found = [*_built()]
    for case in cases():
        for path in sorted((CASES / case).rglob("*.log")):
            if path.is_file() and 0 < path.stat().st_size <= LARGEST_SOURCE:
                data = path.read_bytes()
                batches = entries(data)
                if batches and batches[-1].end == len(data) and _is_sound(data):
                    found.append(Original(path.name, data, batches))
    return found


def _original(path: Path) -> Original:
    """The start of a log, up to the end of a batch. Raises ValueError if it is not valid."""
    with path.open("rb") as file:
        data = file.read(LARGEST_OF_LOGS)
    batches = entries(data)
    while batches and batches[-1].end > len(data):
        batches.pop()
    data = data[: batches[-1].end if batches else 0]
    if not batches or not _is_sound(data):
        raise ValueError(f"{path} is not sound")
    return Original(path.name, data, batches)


def _is_sound(data: bytes) -> bool:
    with tempfile.NamedTemporaryFile(suffix=".log") as file:
        file.write(data)
        file.flush()
        with Source(file.name) as source:
            for item in salvage.walk(source):
                if isinstance(item, salvage.Damage) or set(item.statuses) != {salvage.INTACT}:
                    return False
    return True


def _built() -> list[Original]:
    chance = random.Random("recall")
    logs = []
    for count, value_size, codec in (
        (40, 10, "none"),
        (200, 100, "none"),
        (60, 3000, "none"),
        (80, 500, "gzip"),
        (30, 40, "zstd"),
    ):
        for step in (1, 3):  # 3: as compaction leaves it
            offset, batches = 0, []
            for row in range(count):
                rows = chance.randrange(1, 6)
                values = [chance.randbytes(chance.randrange(value_size + 1)) for _ in range(rows)]
                if row % 10 == 5 and codec == "none":
                    values[0] = batch(records=[record(value=b"nested")], base_offset=offset + 1)
                made = [record(key=b"key", value=value) for value in values]
                batches.append(batch(records=made, base_offset=offset, codec=codec, partition_leader_epoch=row // 30))  # type: ignore[arg-type]
                offset += rows + chance.randrange(step)
            logs.append(b"".join(batches))
    same = b"".join(batch(records=[record(key=b"key", value=b"value")], base_offset=row) for row in range(100))
    return [Original("00000000000000000000.log", data, entries(data)) for data in (*logs, same)]


# --- mutants


def mutant(seed: int, number: int, logs: tuple[str, ...] = ()) -> Mutant:
    """The mutant of this number, of one of the `originals`."""
    chance = random.Random(f"recall/{seed}/{number}")
    original = chance.choice(originals(logs))
    if chance.random() < 0.25:
        other = chance.choice(originals(logs))
        way = chance.choice(DAMAGES[".log"])
        damaged = way(original.data, other.data, chance)
        if damaged is not None:
            return Mutant(
                number, original, f"{way.__name__}: {damaged.what}", _compared(original.data, damaged.data), is_sealed=True
            )
    way_of_own = chance.choice(WAYS)
    pieces, what, is_sealed = way_of_own(original, chance)
    return Mutant(number, original, f"{way_of_own.__name__}: {what}", pieces, is_sealed)


def _compared(clean: bytes, damaged: bytes) -> list[Piece]:
    """Keep the common start and end of both."""
    limit = min(len(clean), len(damaged))
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if clean[:middle] == damaged[:middle] else (low, middle - 1)
    start = low
    low, high = 0, limit - start
    while low < high:
        middle = (low + high + 1) // 2
        same = clean[len(clean) - middle :] == damaged[len(damaged) - middle :]
        low, high = (middle, high) if same else (low, middle - 1)
    tail = Piece(clean[len(clean) - low :], len(clean) - low)
    return [Piece(clean[:start], 0), Piece(damaged[start : len(damaged) - low], None), tail]


Way = Callable[[Original, random.Random], tuple[list[Piece], str, bool]]


def _replaced(original: Original, start: int, end: int, new: bytes, what: str) -> tuple[list[Piece], str, bool]:
    data = original.data
    if len(new) == end - start:
        same = next((row for row, byte in enumerate(new) if byte != data[start + row]), len(new))
        start, new = start + same, new[same:]
        same = next((row for row in range(len(new)) if new[-1 - row] != data[end - 1 - row]), len(new))
        end, new = end - same, new[: len(new) - same]
    return [Piece(data[:start], 0), Piece(new, None), Piece(data[end:], end)], f"{what} at {start}", False


def bit_flip(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """One bit anywhere."""
    at, bit = chance.randrange(len(original.data)), chance.randrange(8)
    return _replaced(original, at, at + 1, bytes([original.data[at] ^ 1 << bit]), f"bit {bit}")


def header_bit_flip(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """One bit of a header."""
    at, bit = chance.choice(original.batches).position + chance.randrange(26), chance.randrange(8)
    return _replaced(original, at, at + 1, bytes([original.data[at] ^ 1 << bit]), f"bit {bit}")


def byte_run(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """Random bytes in place of others."""
    start = chance.randrange(len(original.data))
    end = min(len(original.data), start + chance.choice((2, 8, 40, 200, 1000, 5000, len(original.data) // 8 + 2)))
    return _replaced(original, start, end, chance.randbytes(end - start), f"{end - start} random bytes")


def zero_page(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """Zeros in place of a page, aligned or not."""
    size = chance.choice((17, 512, 4096, 4096))
    start = chance.randrange(len(original.data))
    start = start // size * size if chance.random() < 0.7 else start
    end = min(len(original.data), start + size)
    return _replaced(original, start, end, bytes(end - start), f"{end - start} zeros")


def cut_off(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """The end is missing."""
    size = chance.randrange(1, len(original.data))
    return [Piece(original.data[:size], 0)], f"cut to {size}", False


def cut_out(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """Bytes in the middle are missing."""
    start = chance.randrange(len(original.data))
    end = min(len(original.data), start + chance.choice((1, 2, 30, 300, 3000)))
    return _replaced(original, start, end, b"", f"{end - start} bytes cut out")


def insertion(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """Bytes too many."""
    start = chance.randrange(len(original.data) + 1)
    size = chance.choice((1, 2, 12, 17, 60, 600, 5000))
    new = chance.choice((chance.randbytes(size), bytes(size), b"text " * (size // 5 + 1)))
    return _replaced(original, start, start, new, f"{len(new)} bytes inserted")


def zeros_behind(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """As a preallocated file ends."""
    size = chance.choice((1, 17, 18, 511, 4096, 1 << 20))
    return [Piece(original.data, 0), Piece(bytes(size), None)], f"{size} zeros after", False


def swapped_batches(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """Two swapped batches."""
    first, second = sorted((chance.choice(original.batches), chance.choice(original.batches)))
    data = original.data
    if first == second:
        return duplicate(original, chance)
    parts = ((0, first.position), (second.position, second.end), (first.end, second.position), (first.position, first.end))
    pieces = [Piece(data[start:end], start) for start, end in (*parts, (second.end, len(data)))]
    return pieces, f"{first.position} and {second.position} swapped", True


def duplicate(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """A duplicated batch."""
    entry, place = chance.choice(original.batches), chance.choice(original.batches)
    data = original.data
    copy = Piece(data[entry.position : entry.end], entry.position)
    return (
        [Piece(data[: place.end], 0), copy, Piece(data[place.end :], place.end)],
        f"{entry.position} again at {place.end}",
        True,
    )


def planted(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """Garbage that holds a whole batch, perhaps with a huge offset."""
    offset = chance.choice((0, 5, 1 << 40, (1 << 62) + 1))
    body = chance.randbytes(30) + batch(records=[record(value=b"planted")], base_offset=offset) + chance.randbytes(30)
    at = chance.choice(original.batches).end
    pieces, what, _ = _replaced(original, at, at, body, f"batch with offset {offset} in garbage")
    return pieces, what, True


def forged_headers(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """Headers without their batches."""
    length = chance.choice((49, 500, 5000, 1 << 20, (1 << 27) - 1))
    header = struct.pack(">qiibIhiqqqhii", 1 << 20, length, 0, 2, chance.getrandbits(32), 0, 0, 1, 1, -1, -1, -1, 1)
    at = chance.choice(original.batches).end
    return _replaced(original, at, at, header * chance.choice((1, 3, 40)), f"headers that claim {length} bytes")


def length_field(original: Original, chance: random.Random) -> tuple[list[Piece], str, bool]:
    """A length that is wrong, perhaps so that it leads to another batch."""
    entry, other = chance.choice(original.batches), chance.choice(original.batches)
    absurd = chance.choice((-1, 0, 13, 14, 48, 49, 1 << 20, 1 << 26, 1 << 30, (1 << 31) - 1, -(1 << 31)))
    length = chance.choice((absurd, other.end - entry.position - 12, entry.size - 12 + chance.randrange(-40, 40)))
    return _replaced(original, entry.position + 8, entry.position + 12, struct.pack(">i", length), f"length {length}")


WAYS: tuple[Way, ...] = (
    *(bit_flip, bit_flip, header_bit_flip, byte_run, zero_page, zero_page, cut_off, cut_out, insertion, zeros_behind),
    *(swapped_batches, duplicate, planted, forged_headers, length_field, length_field),
)


# --- judging


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
                columns = (item.chunk.batches["position"], item.statuses, item.chunk.headers, item.chunk.batches["size"])
                for position, status, header, size in zip(*columns, strict=True):
                    listed[position] = (status, header, size)
                    if status == salvage.DAMAGED or item.claimed_length is not None:
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
        _judge_change(one, data, findings, damaged, listed, counts, failures)
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
    from tests.builders.checksums import crc32c

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


def _judge_change(
    one: Mutant,
    data: bytes,
    findings: list[Finding],
    damaged: list[Range],
    listed: Listed,
    counts: Counter[str],
    failures: list[str],
) -> None:
    if data == one.original.data or _is_lawful(data):
        counts["nothing can tell"] += 1
        return
    ranges = damaged + [(finding.start, finding.end) for finding in findings if finding.severity != "info"]
    for start, end in one.changes():
        counts["changes"] += 1
        if _covers(ranges, start, end) or _is_elsewhere(one.original.data, data, ranges):
            counts["changes covered"] += 1
        else:
            failures.append(f"not covered: bytes {start} to {end}")
    counts["damaged files"] += 1
    is_preallocated = one.what.startswith("zeros_behind")
    if is_preallocated or any(finding.severity == ERROR for finding in findings):
        counts["told as an error"] += 1
    else:
        failures.append("no error")


def _is_elsewhere(clean: bytes, data: bytes, ranges: list[Range]) -> bool:
    """Whether a finding is at an equivalent place for the inserted or missing bytes: equal bytes cannot be distinguished."""
    if len(clean) == len(data):
        return False
    head = _compared(clean, data)[0]
    _, _, longest_tail = _compared(b"a" + clean, b"b" + data)
    first, last = len(data) - len(longest_tail.data), len(head.data)
    grown = max(0, len(data) - len(clean))
    return first - grown <= last and any(low <= last and first - grown <= high for low, high in ranges)


def _covers(ranges: list[Range], start: int, end: int) -> bool:
    at = start
    for low, high in sorted(ranges):
        if low <= at <= high:
            at = max(at, high)
    return at >= end and any(low <= start <= high for low, high in ranges)


def measure(numbers: Sequence[int], seed: int, logs: tuple[str, ...] = ()) -> tuple[Counter[str], list[str]]:
    """Test these mutants."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="kdump-recall-") as folder:
        for number in numbers:
            one = mutant(seed, number, logs)
            judgement = judge(one, Path(folder))
            counts += judgement.counts
            counts["mutants"] += 1
            failures += [f"{number}: {one.what}: {failure}" for failure in judgement.failures]
    return counts, failures


def main() -> int:
    """Measure, print the numbers and some failures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutant", type=int)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--logs", nargs="+", default=[], help="clean segments to damage instead of the golden ones")
    options = parser.parse_args()
    numbers = range(options.count) if options.mutant is None else [options.mutant]
    started = time.monotonic()
    logs = tuple(options.logs)
    measure(range(0), options.seed, logs)
    originals(logs)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts, failures = measure(numbers, options.seed, logs)
    for failure in failures[: options.show]:
        print(failure)
    for name, count in counts.items():
        print(f"{count:>10,}  {name}")
    for part, whole in (("listed", "untouched"), ("changes covered", "changes"), ("told as an error", "damaged files")):
        print(f"{100 * counts[part] / max(counts[whole], 1):10.4f} % {part} of {whole}")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{len(failures):,} failures; {time.monotonic() - started:.0f} s; memory grew by {grown >> 10} MiB")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
