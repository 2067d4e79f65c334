"""Makes files that cost most to read, and measures whether each command keeps within its price.

    python -m campaigns.hostile_files                          each file once, at full size
    python -m campaigns.hostile_files --sizes 1 2 4            how the cost grows with the size
    python -m campaigns.hostile_files --only 'zeros*' --command 'check*'

A command may take one CPU second for each MiB that it reads and half a second more, of itself and its worker processes. A scan,
which makes four tables of a log, may take four times as much, and `redact`, which checks what it reads and what it writes,
three times; twice as much `report` and `map`, which check and draw, `triage`, which checks and looks for remedies, and `slice`
by keys, which reads logs twice. What Python takes to count to ten million shows how fast the machine is meanwhile: past damage,
commands take as much more where it takes more. For any input, a command takes the memory of a sound file: 64 MiB, and 128 MiB
where it reads records. Of files that come to much more than they are, only the memory counts.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from kdump.checks import check
from kdump.checks.jobs import Job
from kdump.checks.settings import DEEP, FULL, Settings
from kdump.forecasts.forecast import forecast
from kdump.reading import tuning
from tests import kernels
from tests.builders.hostile import HOSTILE, Hostile
from tests.builders.hostile_contents import CONTENTS, MUCH_IN_LITTLE
from tests.builders.hostile_faults import FAULTS

SECONDS_PER_MIB = 1.0
SECONDS_PER_RUN = 0.5
TIMES = {
    "scan": 4,
    "redact": 3,
    "report": 2,
    "map": 2,
    "triage": 2,
    "recover": 2,
    "slice by key": 2,
    "where --key": 2,
}  # as much as others
BASE = "0" * 20
NOW = 1_700_000_500_000

BOUND, RECORDS_BOUND = 64 << 20, 128 << 20
STOPWATCH = Path(__file__).parents[1] / "benchmarks" / "stopwatch.py"
COUNTING = "for number in range(10_000_000): number += 1"
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
    "grep --where": ((LOGS,), ("grep", "--where", "nowhere=1", "{directory}")),
    "prove absent": ((ANY,), ("grep", "--prove-absent", "--certificate", "{out}.json", "nowhere in it", "{directory}")),
    "where": ((ANY,), ("where", "{topic}@5", "{directory}")),
    "where --key": ((ANY,), ("where", "--key", "nowhere in it", "{directory}")),
    "map": ((ANY,), ("map", "{directory}")),
    "triage": ((ANY,), ("triage", "{directory}")),
    "report": ((ANY,), ("report", "{directory}", "-o", "{out}.html")),
    "scan": ((ANY,), ("scan", "--engine", "local", "--records", "--tables-to", "{out}", "{directory}")),
    "recover": ((ANY,), ("recover", "{directory}", "-o", "{out}")),
    "reindex": ((ANY,), ("reindex", "{directory}", "-o", "{out}")),
    "slice": ((ANY,), ("slice", "{directory}", "--from-offset", "0", "-o", "{out}")),
    "slice by key": ((ANY,), ("slice", "{directory}", "--drop-key", "nowhere in it", "-o", "{out}")),
    "redact": ((ANY,), ("redact", "{directory}", "-o", "{out}")),
}

SUMMARIES = ("forecast", "log", "index", "timeindex", "txnindex", "snapshot", "checkpoint", "checkpoint to a table")
"""Commands that read no records."""


@contextlib.contextmanager
def little_is_free() -> Iterator[None]:
    """What a search may do however small a file is would hide what each byte costs: it is little for a while."""
    with mock.patch.multiple(tuning.DEFAULT, free_crc_bytes=1 << 16, free_tries=1 << 10):
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
    return [word.format(path, directory=path.parent, topic=path.parent.name, out=out) for word in COMMANDS[command][1]]


def is_for(command: str, name: str) -> bool:
    return any(fnmatch.fnmatch(name, known) for known in COMMANDS[command][0])


def size_for(command: str, path: Path) -> int:
    if "{}" in COMMANDS[command][1]:
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file())


def measured(*words: str) -> Cost:
    """What one run of a command took."""
    stopwatch = [sys.executable, "-I", "-S", str(STOPWATCH), str(MOST_SECONDS), "1", "/dev/null"]
    took = json.loads(subprocess.run([*stopwatch, *words], check=True, capture_output=True).stdout)
    return Cost(took["cpu"], took["exit_code"], int(took["memory"]), bool(took["is_late"]))


def cost_of(command: str, path: Path) -> Cost:
    """What a command takes for a file, with a new directory for what it writes."""
    with tempfile.TemporaryDirectory() as out:
        return measured(sys.executable, "-m", "kdump", *arguments(command, path, Path(out) / path.parent.name))


def measure(kinds: Sequence[Hostile], sizes: Sequence[float], wanted: str) -> int:
    """Print what each command takes on each file. Returns how often that was more than is allowed."""
    too_dear = 0
    for one in kinds:
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = written(one, int(one.parts * size), Path(folder))
                counting = measured(sys.executable, "-c", COUNTING).seconds
                print(f"{one.name}, {path.stat().st_size / (1 << 20):.1f} MiB: counting {counting:.2f} s", flush=True)
                for command in COMMANDS:
                    if not is_for(command, path.name) or not fnmatch.fnmatch(command, wanted):
                        continue
                    cost = cost_of(command, path)
                    limit = MOST_SECONDS if one in MUCH_IN_LITTLE else allowed(command, size_for(command, path))
                    bound = BOUND if command in SUMMARIES else RECORDS_BOUND
                    is_too_dear = cost.is_late or cost.seconds > limit or cost.memory > bound
                    too_dear += is_too_dear
                    took = f"{cost.seconds:7.2f} s of {limit:.2f} {cost.memory >> 20:5} MiB of {bound >> 20}"
                    print(f"    {command:<22} {took}  exit {cost.exit_code}{'  no' if is_too_dear else ''}", flush=True)
    print(f"{too_dear} too dear")
    return too_dear


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=float, default=[1], help="parts of the full size of each file")
    parser.add_argument("--only", default="*", metavar="GLOB", help="files of these names")
    parser.add_argument("--command", default="*", metavar="GLOB", help="these commands")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the modules of an installed kdump are compiled, too
    kinds = [one for one in (*HOSTILE, *FAULTS, *CONTENTS, *MUCH_IN_LITTLE) if fnmatch.fnmatch(one.name, options.only)]
    return int(measure(kinds, options.sizes, options.command) > 0)


if __name__ == "__main__":
    sys.exit(main())
