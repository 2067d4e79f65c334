"""Measures what memory commands take for hostile files, beside what they may take.

    python -m campaigns.hostile_memory
    python -m campaigns.hostile_memory --file '*headers*' --command 'check*'
    python -m campaigns.hostile_memory --keep /tmp/hostile      make the files once

For any input, a command takes the memory of a sound file: 64 MiB, and 128 MiB where it reads records. What is above is marked
**no**. The CPU seconds are shown beside; a file that takes longer than --seconds is ended.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from campaigns import hostile_files_of_memory as hostile

MIB = 1 << 20
BOUND, DEEP_BOUND = 64 * MIB, 128 * MIB
STOPWATCH = Path(__file__).parents[1] / "benchmarks" / "stopwatch.py"

COMMANDS = {
    "check": BOUND,
    "check --level quick": BOUND,
    "check --level deep": DEEP_BOUND,
    "check --output sarif": BOUND,
    "forecast": BOUND,
}
"""What is asked of a directory, and the bytes of memory that it may take."""

OF_FILES = {
    ".log": {
        "log": BOUND,
        "log --output ndjson": BOUND,
        "log --output csv": BOUND,
        "log --output table": BOUND,
        "log --deep": DEEP_BOUND,
        "log --deep --output ndjson": DEEP_BOUND,
        "log --deep --output csv": DEEP_BOUND,
        "log --deep --output table": DEEP_BOUND,
        "--files": BOUND,
        "--deep-iteration --files": DEEP_BOUND,
        "--print-data-log --files": DEEP_BOUND,
        "--release 0.10.2.0 --deep-iteration --files": DEEP_BOUND,
    },
    ".checkpoint": {"checkpoint": DEEP_BOUND, "--files": BOUND, "--cluster-metadata-decoder --files": DEEP_BOUND},
    ".index": {"index": BOUND, "index --output ndjson": BOUND, "--files": BOUND, "--index-sanity-check --files": BOUND},
    ".timeindex": {"timeindex": BOUND, "timeindex --output table": BOUND, "--files": BOUND},
    ".txnindex": {"txnindex": BOUND, "txnindex --output table": BOUND, "--files": BOUND},
    ".snapshot": {"snapshot": BOUND, "snapshot --output table": BOUND, "--files": BOUND},
    "": {"checkpoint": BOUND},
}
"""The same of a file, by its suffix."""


class Run(NamedTuple):
    """A command over a file, and what it took."""

    file: str
    command: str
    bound: int
    memory: int
    cpu: float
    exit_code: int
    is_late: bool

    @property
    def is_within(self) -> bool:
        """Whether it took no more memory than it may."""
        return self.memory <= self.bound and not self.is_late


def runs(name: str, directory: Path, command: str = "*", seconds: float = 120) -> Iterator[Run]:
    """Measure all commands that suit a directory and the hostile file in it."""
    hostile_one = max((path for path in directory.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    asked = [(words, bound, directory) for words, bound in COMMANDS.items()]
    asked += [(words, bound, hostile_one) for words, bound in OF_FILES.get(hostile_one.suffix, OF_FILES[""]).items()]
    for words, bound, path in asked:
        if fnmatch(words, command):
            took = measured([*words.split(), str(path)], seconds)
            yield Run(name, words, bound, int(took["memory"]), took["cpu"], int(took["exit_code"]), bool(took["is_late"]))


def measured(arguments: Sequence[str], seconds: float) -> dict[str, float]:
    """Run kdump as a process of its own: its greatest memory, its CPU seconds, and its exit code."""
    command = [
        sys.executable,
        "-I",
        "-S",
        str(STOPWATCH),
        str(seconds),
        "1",
        "/dev/null",
        sys.executable,
        "-m",
        "kdump",
        *arguments,
    ]
    took: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return took


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", default="*", help="only files of these names")
    parser.add_argument("--command", default="*", help="only these commands")
    parser.add_argument("--scale", type=float, default=1, help="how many times as large")
    parser.add_argument("--seconds", type=float, default=120, help="end a command after so long")
    parser.add_argument("--keep", type=Path, help="keep the files here, and take those that are there")
    options = parser.parse_args(arguments)
    above = 0
    print("| file | command | MiB | allowed | CPU s | exit code | within |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name in hostile.FILES:
        if not fnmatch(name, options.file):
            continue
        with tempfile.TemporaryDirectory(prefix="kdump-hostile-") as folder:
            home = (options.keep or Path(folder)) / name.replace(" ", "-")
            directory = _made_once(name, home, options.scale)
            for run in runs(name, directory, options.command, options.seconds):
                above += not run.is_within
                within = "yes" if run.is_within else "**late**" if run.is_late else "**no**"
                print(
                    f"| {run.file} | {run.command} | {run.memory / MIB:.0f} | {run.bound // MIB} | {run.cpu:.1f} "
                    f"| {run.exit_code} | {within} |",
                    flush=True,
                )
    print(f"{above} above what they may take", file=sys.stderr)
    return 1 if above else 0


def _made_once(name: str, home: Path, scale: float) -> Path:
    if home.exists():
        (directory,) = home.iterdir()
        return directory
    home.mkdir(parents=True)
    return hostile.made(name, home, scale)


if __name__ == "__main__":
    sys.exit(main())
