"""Makes files that cost most to read, and measures whether each command keeps within its price.

    python -m campaigns.hostile_files                          each file once, at full size
    python -m campaigns.hostile_files --sizes 1 2 4            how the cost grows with the size
    python -m campaigns.hostile_files --only 'zeros*' --command 'check*' --runs 3
    python -m campaigns.hostile_files --search 600 --keep /tmp/dear
    python -m campaigns.hostile_files --memory --only '*headers*'   files that would cost much memory

A command may take one CPU second for each MiB that it reads and half a second more, of itself and its worker processes. A
scan, which makes four tables of a log, may take four times as much, and `redact`, which checks what it reads and what it writes,
three times. `sha256sum` of the same file shows what the
machine does meanwhile. `--search` looks for logs that cost more: it puts together and changes pieces of
these files and of damaged files of the goldens, counts the work of each command, and keeps the dearest. Budgets that every file
has count little there: what is left is what each byte costs.

For any input, a command takes the memory of a sound file: 64 MiB, and 128 MiB where it reads records.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from campaigns import hostile_files_of_memory, mutants
from kdump.checks import check
from kdump.checks.jobs import Job
from kdump.checks.settings import DEEP, FULL, Settings
from kdump.forecasts.forecast import forecast
from kdump.reading import tuning
from tests import kernels
from tests.builders.hostile import HOSTILE, Hostile
from tests.builders.hostile_contents import CONTENTS
from tests.builders.hostile_faults import FAULTS
from tests.builders.hostile_faults import LOGS as HOSTILE_LOGS
from tests.work import work_of

SECONDS_PER_MIB = 1.0
SECONDS_PER_RUN = 0.5
TIMES = {"scan": 4, "redact": 3}  # as much as others
BASE = "0" * 20
NOW = 1_700_000_500_000

LARGEST = 60_000  # bytes of a file that the search makes: as work is counted, it takes a second
SMALLEST = 20_000  # bytes that a smaller file counts for: what is done once a file is not the question
MOST_KEPT = 30
SEARCHED = ("check directory", "forecast", "log --deep")

BOUND, DEEP_BOUND = 64 << 20, 128 << 20
STOPWATCH = Path(__file__).parents[1] / "benchmarks" / "stopwatch.py"
MOST_SECONDS = 120
"""After so long, a command is ended."""

LOGS, ANY = "*.log", "*"

COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # the names of the files it is for, and its words: {} is the file, {directory} its directory, {out} a new one
    "check": ((LOGS,), ("check", "{}")),
    "check directory": ((ANY,), ("check", "{directory}")),
    "check deep": ((LOGS, "*.checkpoint"), ("check", "--level", "deep", "{}")),
    "forecast": ((ANY,), ("forecast", "{directory}")),
    "log": ((LOGS,), ("log", "{}")),
    "log --deep": ((LOGS,), ("log", "--deep", "{}")),
    "log to ndjson": ((LOGS,), ("log", "--deep", "--output", "ndjson", "{}")),
    "log to a table": ((LOGS,), ("log", "--deep", "--output", "table", "{}")),
    "index": (("*.index",), ("index", "{}")),
    "timeindex": (("*.timeindex",), ("timeindex", "{}")),
    "txnindex": (("*.txnindex",), ("txnindex", "{}")),
    "snapshot": (("*.snapshot",), ("snapshot", "{}")),
    "checkpoint": (("*checkpoint",), ("checkpoint", "{}")),
    "checkpoint to a table": (("*checkpoint",), ("checkpoint", "--output", "table", "{}")),
    "--files": (("*.*",), ("--files", "{}")),
    "--deep-iteration": ((LOGS,), ("--deep-iteration", "--files", "{}")),
    "grep": ((ANY,), ("grep", "nowhere in it", "{directory}")),
    "grep for all": ((LOGS,), ("grep", "--key", "", "--tombstones", "{directory}")),
    "prove absent": ((ANY,), ("grep", "--prove-absent", "--certificate", "{out}.json", "nowhere in it", "{directory}")),
    "where": ((ANY,), ("where", "{topic}@5", "{directory}")),
    "where --key": ((ANY,), ("where", "--key", "nowhere in it", "{directory}")),
    "scan": ((ANY,), ("scan", "--engine", "local", "--records", "--tables-to", "{out}", "{directory}")),
    "recover": ((ANY,), ("recover", "{directory}", "-o", "{out}")),
    "reindex": ((ANY,), ("reindex", "{directory}", "-o", "{out}")),
    "slice": ((ANY,), ("slice", "{directory}", "--from-offset", "0", "-o", "{out}")),
    "slice by key": ((ANY,), ("slice", "{directory}", "--drop-key", "nowhere in it", "-o", "{out}")),
    "redact": ((ANY,), ("redact", "{directory}", "-o", "{out}")),
}

_FORMS = ("", " --output ndjson", " --output table")
_LISTED = {"log": LOGS, **{name: f"*.{name}" for name in ("index", "timeindex", "txnindex", "snapshot")}}
IN_MEMORY: dict[str, tuple[tuple[str, ...], int]] = {
    # the files it is for, and the bytes of memory that it may take
    **dict.fromkeys(("check", "check --level quick", "check --output sarif", "forecast"), ((), BOUND)),
    "check --level deep": ((), DEEP_BOUND),
    **{
        f"{name}{form}": ((kind,), BOUND)
        for name, kind in _LISTED.items()
        for form in ("", " --output ndjson", " --output table")
    },
    **{f"log --deep{form}": ((LOGS,), DEEP_BOUND) for form in ("", " --output ndjson", " --output csv", " --output table")},
    "log --output csv": ((LOGS,), BOUND),
    "checkpoint": (("*-checkpoint", "*.metadata", "*.properties", "quorum-state"), BOUND),
    "checkpoint --output kafka": (("*.checkpoint",), DEEP_BOUND),
    "--files": (("*.*",), BOUND),
    "--index-sanity-check --files": (("*.index",), BOUND),
    "--cluster-metadata-decoder --files": (("*.checkpoint",), DEEP_BOUND),
    "--deep-iteration --files": ((LOGS,), DEEP_BOUND),
    "--print-data-log --files": ((LOGS,), DEEP_BOUND),
    "--release 0.10.2.0 --deep-iteration --files": ((LOGS,), DEEP_BOUND),
}
"""Commands of a directory, or of files of these names, whose memory is bounded; the path follows."""


@contextlib.contextmanager
def little_is_free() -> Iterator[None]:
    """What a search may do however small a file is would hide what each byte costs: it is little for a while."""
    with contextlib.ExitStack() as stack:
        for module, name, value in (
            (tuning.DEFAULT, "free_crc_bytes", 1 << 16),
            (tuning.DEFAULT, "free_tries", 1 << 10),
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def run_here(command: str, path: Path) -> None:
    """Run a command for a file in this process, without its output."""
    RUN_HERE[command](path)


def _check(path: Path, level: str = FULL) -> None:
    found: list[object] = []
    check.run(Job(Job.PARTITION, str(path.parent)), Settings(now=NOW, level=level), found.append)


def _list(command: str, path: Path) -> None:
    kernels.listed(arguments(command, path))


RUN_HERE: dict[str, Callable[[Path], object]] = {
    "check directory": _check,
    "check deep": lambda path: _check(path, DEEP),
    "forecast": lambda path: list(forecast(path.parent)),
    "log": lambda path: _list("log", path),
    "log --deep": lambda path: _list("log --deep", path),
    "index": lambda path: _list("index", path),
    "timeindex": lambda path: _list("timeindex", path),
    "--files": lambda path: kernels.printed(["--files", path]),
    "--deep-iteration": lambda path: kernels.printed(["--deep-iteration", "--files", path]),
}
"""The commands in this process, so that their work can be counted."""


class Cost(NamedTuple):
    """What one run of a command took: CPU seconds and bytes of memory, of all its processes."""

    seconds: float
    exit_code: int
    memory: int
    is_late: bool


def allowed(command: str, size: int) -> float:
    """CPU seconds that a command may take on files of this size."""
    return TIMES.get(command, 1) * (SECONDS_PER_RUN + SECONDS_PER_MIB * size / (1 << 20))


def written(one: Hostile, count: int, folder: Path) -> Path:
    """The files of this kind in a partition directory; the one in question."""
    directory = folder / one.directory
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in one.build(count).items():
        _place(directory, name).write_bytes(data)
    return _place(directory, one.suffix)


def _place(directory: Path, name: str) -> Path:
    """The file of this name, or of the first segment if it is a suffix."""
    is_suffix = name.startswith(".") and not name.startswith("..")
    return Path(os.path.normpath(directory / (f"{BASE}{name}" if is_suffix else name)))


def arguments(command: str, path: Path, out: Path | None = None) -> list[str]:
    """The words of a command for a file."""
    return [word.format(path, directory=path.parent, topic=path.parent.name, out=out) for word in COMMANDS[command][1]]


def is_for(command: str, name: str) -> bool:
    """Whether a command is for files of this name."""
    return any(fnmatch.fnmatch(name, known) for known in COMMANDS[command][0])


def size_for(command: str, path: Path) -> int:
    """The bytes that a command reads."""
    if "{}" in COMMANDS[command][1]:
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file())


def measured(words: Sequence[str], runs: int = 1) -> Cost:
    """The least that these runs of a command took."""
    stopwatch = [sys.executable, "-I", "-S", str(STOPWATCH), str(MOST_SECONDS), "1", "/dev/null"]
    took = [json.loads(subprocess.run([*stopwatch, *words], check=True, capture_output=True).stdout) for _ in range(runs)]
    return min(Cost(one["cpu"], one["exit_code"], int(one["memory"]), bool(one["is_late"])) for one in took)


def measure(kinds: Sequence[Hostile], sizes: Sequence[float], wanted: str, runs: int) -> int:
    """Print what each command takes on each file. Returns how often that was more than is allowed."""
    too_dear = 0
    for one in kinds:
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = written(one, int(one.parts * size), Path(folder))
                digest = measured(["sha256sum", str(path)]).seconds
                print(f"{one.name}, {path.stat().st_size / (1 << 20):.1f} MiB: sha256sum {digest:.2f} s", flush=True)
                for command in COMMANDS:
                    if not is_for(command, path.name) or not fnmatch.fnmatch(command, wanted):
                        continue
                    with tempfile.TemporaryDirectory() as out:
                        words = arguments(command, path, Path(out) / path.parent.name)
                        cost = measured([sys.executable, "-m", "kdump", *words], runs)
                    limit = allowed(command, size_for(command, path))
                    too_dear += cost.seconds > limit
                    verdict = f"  no: {cost.seconds / limit:.1f} times" if cost.seconds > limit else ""
                    took = f"{cost.seconds:7.2f} s of {limit:.2f}"
                    print(f"    {command:<22} {took}  exit {cost.exit_code}{verdict}", flush=True)
    print(f"{too_dear} too dear")
    return too_dear


def measure_memory(only: str, wanted: str, scale: float) -> int:
    """Print what memory each command takes for each file that may cost much. Returns how often that was too much, or too slow."""
    above = 0
    for name in fnmatch.filter(hostile_files_of_memory.FILES, only):
        with tempfile.TemporaryDirectory(prefix="kdump-hostile-") as folder:
            directory = hostile_files_of_memory.made(name, Path(folder), scale)
            largest = max((path for path in directory.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
            print(f"{name}, {largest.stat().st_size / (1 << 20):.1f} MiB", flush=True)
            for command, (kinds, bound) in IN_MEMORY.items():
                is_asked = not kinds or any(fnmatch.fnmatch(largest.name, kind) for kind in kinds)
                if is_asked and fnmatch.fnmatch(command, wanted):
                    path = largest if kinds else directory
                    cost = measured([sys.executable, "-m", "kdump", *command.split(), str(path)])
                    above += cost.is_late or cost.memory > bound
                    verdict = "  late" if cost.is_late else "  no" if cost.memory > bound else ""
                    took = f"{cost.memory >> 20:5} MiB of {bound >> 20}  {cost.seconds:7.2f} s"
                    print(f"    {command:<44} {took}  exit {cost.exit_code}{verdict}", flush=True)
    print(f"{above} above what they may take")
    return above


class Dear(NamedTuple):
    """A log that the search made: the work of the dearest command for each of its bytes, and what it is made of."""

    nanoseconds: float
    command: str
    blocks: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        return b"".join(self.blocks)


def search(seconds: float, seed: int, keep: Path | None) -> list[Dear]:
    """Make logs of blocks, change the dearest of them, and keep the dearest again; the best of all come first."""
    chance = random.Random(seed)
    known = [_rated((one.build(200)[".log"],)) for one in HOSTILE if one.suffix == ".log"]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        made = _rated(_changed(chance.choice(known).blocks, chance))
        if made.nanoseconds > known[-1].nanoseconds or len(known) < MOST_KEPT:
            if made.nanoseconds > known[0].nanoseconds:
                print(f"{made.nanoseconds:8.1f} ns a byte  {made.command}  {len(made.data):,} bytes", flush=True)
            known = sorted([*known, made], key=lambda dear: -dear.nanoseconds)[:MOST_KEPT]
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for number, dear in enumerate(known):
            (keep / f"{number:02}.log").write_bytes(dear.data)
    return known


def _changed(blocks: Sequence[bytes], chance: random.Random) -> tuple[bytes, ...]:
    """These blocks with one more, one less, one often, one changed, or in another order; no larger than LARGEST."""
    changed = list(blocks)
    match chance.randrange(6):
        case 0:
            changed.insert(chance.randrange(len(changed) + 1), _block(chance))
        case 1:
            changed = [piece for block in changed for piece in (block, changed[0])]
        case 2:
            changed *= chance.randrange(2, 5)
        case 3:
            row = chance.randrange(len(changed))
            data = bytearray(changed[row] or b"?")
            for _ in range(chance.randrange(1, 5)):
                data[chance.randrange(len(data))] = chance.choice((0, 1, 2, 0xFF, chance.randrange(256)))
            changed[row] = bytes(data)
        case 4:
            row = chance.randrange(len(changed))
            start = chance.randrange(len(changed[row]) + 1)
            changed[row] = changed[row][start:] + changed[row][: start // 2]
        case _:
            chance.shuffle(changed)
    size = 0
    for row, block in enumerate(changed):
        size += len(block)
        if size > LARGEST:
            return tuple(changed[: max(row, 1)])
    return tuple(changed)


def _block(chance: random.Random) -> bytes:
    """A part of a hostile file, of a damaged file of the goldens, or bytes without meaning."""
    kind = chance.randrange(4)
    if kind == 0:
        return chance.choice((bytes, chance.randbytes))(chance.randrange(1, 700))
    if kind == 1:
        data = mutants.mutant(chance.randrange(1 << 16), chance.randrange(1 << 30)).data
    else:
        data = chance.choice(HOSTILE_LOGS).build(20)[".log"]
    start = chance.randrange(len(data) + 1)
    return data[start : start + chance.randrange(1, 3000)]


def _rated(blocks: tuple[bytes, ...]) -> Dear:
    """The log of these blocks, with the command that it costs most."""
    data = b"".join(blocks)[:LARGEST] or b"?"
    with tempfile.TemporaryDirectory() as folder:
        path = written(Hostile("", ".log", 1, lambda _: {".log": data}), 1, Path(folder))
        costs = {
            command: work_of(lambda command=command: run_here(command, path)).nanoseconds / max(len(data), SMALLEST)  # type: ignore[misc]  # bound now
            for command in SEARCHED
        }
    command = max(costs, key=costs.__getitem__)
    return Dear(costs[command], command, (data,) if sum(map(len, blocks)) > LARGEST else blocks)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=float, default=[1], help="parts of the full size of each file")
    parser.add_argument("--only", default="*", metavar="GLOB", help="files of these names")
    parser.add_argument("--command", default="*", metavar="GLOB", help="these commands")
    parser.add_argument("--runs", type=int, default=1, help="how often each command runs; the least counts")
    parser.add_argument("--memory", action="store_true", help="measure the memory for files that would cost much of it")
    parser.add_argument("--search", type=float, metavar="SECONDS", help="look for files that cost more")
    parser.add_argument("--seed", type=int, default=1, help="of the search")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the dearest that were found there")
    options = parser.parse_args()
    if options.search is not None:
        with little_is_free():
            found = search(options.search, options.seed, options.keep)
        for dear in found[:10]:
            print(f"{dear.nanoseconds:8.1f} ns a byte  {dear.command}  {len(dear.data):,} bytes  {dear.data[:24].hex()}...")
        return 0
    if options.memory:
        return int(measure_memory(options.only, options.command, options.sizes[0]) > 0)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the modules of an installed kdump are compiled, too
    kinds = [one for one in (*HOSTILE, *FAULTS, *CONTENTS) if fnmatch.fnmatch(one.name, options.only)]
    return int(measure(kinds, options.sizes, options.command, options.runs) > 0)


if __name__ == "__main__":
    sys.exit(main())
