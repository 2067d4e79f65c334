"""Damages partition directories and compares the forecasts of kdump with the real log managers.

    python -m campaigns.starts --count 500 --release 4.3.1
    python -m campaigns.starts --seed 1 --number 1234 --keep /tmp/starts     one of them again, its directory kept

A directory is one of those in tests/restarts with one to three changes, which depend only on the seed and its number.
"""

import contextlib
import random
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import kdump
from campaigns import numbered
from kdump.forecasts.row import Forecast
from tests import restarts
from tests.builders.checksums import crc32c
from tests.oracle.restarts import LogManager, Request, Start, why_not_available
from tests.restarts import comparison

RELEASES = ("2.8.2", "3.9.1", "4.3.1")
NOT_COMPARED = ("dataEnd", "lostRecords", "lostOffsets")
"""Fields that also depend on which batches count as intact; tests/forecasts/test_forecast.py compares them."""

MAX_SIZE = 64 << 10
LARGEST_BASE = 1 << 60
HEADER = struct.Struct(">qiibIhiqqqhii")
FIELDS = {
    "offset": 0,
    "epoch": 2,
    "magic": 3,
    "attributes": 5,
    "delta": 6,
    "timestamp": 8,
    "producer": 9,
    "producer epoch": 10,
    "count": 12,
}

SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {},
    {},
    {"index.interval.bytes": "0"},
    {"index.interval.bytes": "300"},
    {"segment.index.bytes": "64"},
)

LEFT_OVER = ((".log", ".index", ".timeindex", ".txnindex"), (".log",), (".index", ".timeindex"), (".log", ".index"))
REMOVED = (".log", ".index", ".index", ".timeindex", ".txnindex", ".snapshot", "checkpoint")
EPOCHS = (
    "0\n1\n0 0\n",
    "0\n2\n0 0\n3 5\n",
    "0\n1\n7 100\n",
    "0\n1\n 0 0\n",
    "0\n0\n",
    "0\n",
    "0\n1\n0 0\n\n",
    "0\n1\n0  0\n",
    "1\n",
)


class Trial(NamedTuple):
    """A start to compare, and a description of its directory."""

    request: Request
    start: Start
    about: str


def main() -> int:
    parser = numbered.parser(__doc__, count=200)
    parser.add_argument("--release", choices=RELEASES, action="append")
    arguments = parser.parse_args()
    releases = arguments.release or RELEASES
    for missing in filter(None, map(why_not_available, releases)):
        print(missing, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="kdump-campaign-") as name, contextlib.ExitStack() as stack:
        restarts.unpack(Path(name))
        seeds = _seeds(Path(name))
        managers = {release: stack.enter_context(LogManager(release)) for release in releases}

        def faults(seed: int, number: int, folder: Path) -> Iterator[str]:
            for release, manager in managers.items():
                trial = _trial(seeds, folder / release, seed, number)
                line = comparison.fields_of(manager.record(trial.request, trial.start))
                found = comparison.differences(line, _foretold(release, trial), leave_out=NOT_COMPARED)
                if found:
                    differing = "; ".join(f"{field}: foretold {foretold}, seen {seen}" for field, seen, foretold in found)
                    yield f"{release}: {trial.about}: {differing}; said {line['said']}"

        return numbered.run(arguments, faults, "starts")


def _foretold(release: str, trial: Trial) -> Forecast:
    request, start = trial.request, trial.start
    (row,) = kdump.forecast(
        request.directory, broker=release, after=start.stop, recovery_point=start.recovery_point, config=request.config
    )
    return row


def _seeds(folder: Path) -> list[Path]:
    """Sufficiently small directories with a log, in the order of their names."""
    return sorted(
        {
            log.parent
            for log in folder.rglob("*.log")
            if log.is_file() and sum(file.stat().st_size for file in log.parent.iterdir() if file.is_file()) < MAX_SIZE
        }
    )


def _trial(seeds: Sequence[Path], root: Path, seed: int, number: int) -> Trial:
    chance = random.Random(f"{seed} {number}")
    source = chance.choice(seeds)
    directory = root / "topic-0"
    directory.mkdir(parents=True)
    for file in sorted(source.iterdir()):
        if file.is_file():
            (directory / file.name).write_bytes(file.read_bytes())
    about = [source.relative_to(source.parents[1]).as_posix()]
    for _ in range(chance.choice((1, 1, 2, 3))):
        change = chance.choice(CHANGES)
        about.append(f"{change.__name__.strip('_')}: {change(directory, chance)}")
    numbers = [int(log.name[:20]) for log in directory.glob("*.log") if log.name[:20].isdigit()]
    bases = sorted(base for base in numbers if base < LARGEST_BASE) or [0]
    recovery_point = chance.choice((0, 0, bases[-1], chance.choice(bases), 1 << 40))
    log_start = chance.choice((0, 0, 0, 0, chance.choice(bases), bases[-1] + chance.randrange(200)))
    if log_start:
        (root / "log-start-offset-checkpoint").write_text(f"0\n1\ntopic 0 {log_start}\n")
    config = chance.choice(SETTINGS)
    stop = chance.choice(("clean", "unclean"))
    about.append(f"{stop} {recovery_point} log start {log_start} {config or ''}")
    request = Request(directory, config=config, now=restarts.CLOCK)
    return Trial(request, Start(stop, recovery_point), "; ".join(about))


# --- changes: each says what it did


def _files(directory: Path, suffix: str) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.name.endswith(suffix) and file.is_file())


def _one(directory: Path, suffix: str, chance: random.Random) -> Path | None:
    """One of the files, the last more often than others."""
    files = _files(directory, suffix)
    return chance.choice([*files, files[-1]]) if files else None


def _batches(data: bytes) -> list[tuple[int, int]]:
    """The starts and ends of batches, as long as lengths are valid."""
    found, position = [], 0
    while position + 17 <= len(data):
        end = position + 12 + int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
        if end < position + 26 or end > len(data):
            break
        found.append((position, end))
        position = end
    return found


def flip(directory: Path, chance: random.Random) -> str:
    file = _one(directory, chance.choice((".log", ".log", ".index", ".txnindex", ".snapshot", "checkpoint", ".metadata")), chance)
    if file is None or not file.stat().st_size:
        return "nothing"
    data = bytearray(file.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    file.write_bytes(bytes(data))
    return f"{file.name} byte {at}"


def _rewrite_field(directory: Path, chance: random.Random) -> str:
    """A field of a batch of magic 2, with a correct CRC."""
    file = _one(directory, ".log", chance)
    if file is None:
        return "nothing"
    data = bytearray(file.read_bytes())
    batches = [(start, end) for start, end in _batches(bytes(data)) if data[start + 16] == 2 and end - start >= HEADER.size]
    if not batches:
        return "nothing"
    start, end = chance.choice(batches)
    name = chance.choice(list(FIELDS))
    fields = list(HEADER.unpack_from(data, start))
    old = fields[FIELDS[name]]
    new = {
        "offset": chance.choice((old - 1, old + 3, old - 400, old + 400, old + (1 << 31), -1)),
        "epoch": chance.choice((old + 1, -1, 9, -5)),
        "magic": chance.choice((0, 1, 3, -3)),
        "attributes": chance.choice((old ^ 0x20, old ^ 0x10, old ^ 0x30, old ^ 7, 5, 1)),
        "delta": chance.choice((old + 1, old + 500, -1, -3, 0x7FFFFFFF, 0)),
        "timestamp": chance.choice((-1, old + 10**6, old - 10**9)),
        "producer": chance.choice((-1, 0, 7, 4000)),
        "producer epoch": chance.choice((0, 5, -1)),
        "count": chance.choice((0, old + 1, -1, 1)),
    }[name]
    fields[FIELDS[name]] = new
    try:
        HEADER.pack_into(data, start, *fields)
    except struct.error:
        return "nothing"
    data[start + 17 : start + 21] = crc32c(bytes(data[start + 21 : end])).to_bytes(4, "big")
    file.write_bytes(bytes(data))
    return f"{file.name} batch at {start}: {name} {old} to {new}"


def cut(directory: Path, chance: random.Random) -> str:
    file = _one(directory, chance.choice((".log", ".log", ".index", ".txnindex", ".snapshot", "checkpoint", ".metadata")), chance)
    if file is None:
        return "nothing"
    data = file.read_bytes()
    ends = [end for _, end in _batches(data)] if file.suffix == ".log" else []
    size = chance.choice([*ends, 0]) if ends and chance.random() < 0.4 else chance.randrange(len(data) + 1)
    file.write_bytes(data[:size])
    return f"{file.name} to {size}"


def _append(directory: Path, chance: random.Random) -> str:
    file = _one(directory, chance.choice((".log", ".log", ".index", ".txnindex", ".timeindex", ".snapshot")), chance)
    if file is None:
        return "nothing"
    data = file.read_bytes()
    batches = _batches(data) if file.suffix == ".log" else []
    more = [bytes(chance.choice((5, 17, 18, 40, 4096))), chance.randbytes(chance.choice((8, 17, 18, 34, 100)))]
    if batches:
        start, end = chance.choice(batches)
        more += [data[start:end]] * 2
    if file.suffix == ".index":
        more += [struct.pack(">ii", chance.randrange(200), chance.randrange(20000)) for _ in range(4)]
    if file.suffix == ".txnindex":
        more += [struct.pack(">hqqqq", chance.choice((0, 0, 1, -1)), 7, 1, chance.randrange(100), 5)] * 4
    added = chance.choice(more)
    file.write_bytes(data + added)
    return f"{len(added)} bytes to {file.name}"


def _rearrange(directory: Path, chance: random.Random) -> str:
    """Batches in another order, twice, or left out."""
    file = _one(directory, ".log", chance)
    if file is None:
        return "nothing"
    data = file.read_bytes()
    batches = [data[start:end] for start, end in _batches(data)]
    if len(batches) < 2:
        return "nothing"
    first, second = chance.randrange(len(batches)), chance.randrange(len(batches))
    what = chance.choice(("swap", "twice", "out", "zeros"))
    if what == "swap":
        batches[first], batches[second] = batches[second], batches[first]
    elif what == "twice":
        batches.insert(first, batches[second])
    elif what == "out":
        del batches[first]
    else:
        batches[first] = bytes(len(batches[first]))
    file.write_bytes(b"".join(batches))
    return f"{file.name} {what} {first} {second}"


def remove(directory: Path, chance: random.Random) -> str:
    file = _one(directory, chance.choice(REMOVED), chance)
    if file is None:
        return "nothing"
    file.unlink()
    return file.name


def leave_over(directory: Path, chance: random.Random) -> str:
    """Renamed or copied files of a segment."""
    log = _one(directory, ".log", chance)
    if log is None:
        return "nothing"
    mark = chance.choice((".swap", ".swap", ".cleaned", ".deleted"))
    is_copy = chance.random() < 0.6
    suffixes = chance.choice(LEFT_OVER)
    for suffix in suffixes:
        file = log.with_suffix(suffix)
        if file.exists():
            data = file.read_bytes()
            if suffix == ".log" and is_copy and chance.random() < 0.5:
                batches = [data[start:end] for start, end in _batches(data)]
                data = b"".join(batch for batch in batches if chance.random() < 0.7)
            file.with_name(file.name + mark).write_bytes(data)
            if not is_copy:
                file.unlink()
    return f"{log.name} {mark} {'copied' if is_copy else 'renamed'} {len(suffixes)}"


def rename(directory: Path, chance: random.Random) -> str:
    file = _one(directory, chance.choice((".log", ".index", ".snapshot")), chance)
    if file is None or not file.name[:20].isdigit():
        return "nothing"
    number = int(file.name[:20])
    stem = chance.choice((str(number), f"{number + 5:020}", f"{number // 2:020}", "x", f"-{number:019}", f"{number:021}"))
    file.rename(file.with_name(stem + file.suffix))
    return f"{file.name} to {stem}"


def _leave_checkpoint(directory: Path, chance: random.Random) -> str:
    """A snapshot of KRaft, mostly marked as deleted or cut short."""
    name = f"{chance.randrange(200):020}-0000000001.checkpoint{chance.choice(('', '.deleted', '.deleted', '.part'))}"
    (directory / name).write_bytes(b"")
    return name


def write_epochs(directory: Path, chance: random.Random) -> str:
    text = chance.choice(EPOCHS)
    (directory / "leader-epoch-checkpoint").write_text(text)
    return repr(text)


CHANGES: tuple[Callable[[Path, random.Random], str], ...] = (
    flip,
    flip,
    _rewrite_field,
    _rewrite_field,
    _rewrite_field,
    cut,
    cut,
    _append,
    _append,
    _rearrange,
    _rearrange,
    remove,
    remove,
    leave_over,
    _leave_checkpoint,
    rename,
    write_epochs,
)


if __name__ == "__main__":
    sys.exit(main())
