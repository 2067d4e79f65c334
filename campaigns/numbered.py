"""The command line of campaigns whose cases have a seed and a number, and depend on these only."""

from __future__ import annotations

import argparse
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path


def parser(description: str | None, count: int = 1000) -> argparse.ArgumentParser:
    """What all of them take; a campaign adds its own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, help="only this case")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no other case after this time")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the files of cases with faults here")
    return parser


def run(arguments: argparse.Namespace, faults: Callable[[int, int, Path], Iterable[str]], cases: str) -> int:
    """Print what `faults` finds in the case of each seed and number, given a new folder. Returns the exit code.

    `cases` is the word for several of them.
    """
    numbers = range(arguments.count) if arguments.number is None else [arguments.number]
    started = time.monotonic()
    done = wrong = 0
    for number in itertools.takewhile(lambda _: time.monotonic() - started < arguments.seconds, numbers):
        with tempfile.TemporaryDirectory(prefix="kdump-campaign-") as folder:
            found = list(faults(arguments.seed, number, Path(folder)))
            if found and arguments.keep is not None:
                shutil.copytree(folder, arguments.keep / f"{arguments.seed}-{number}", dirs_exist_ok=True)
        done, wrong = done + 1, wrong + len(found)
        for fault in found:
            print(f"{number}: {fault}", flush=True)
    print(f"{done:,} {cases}, {wrong:,} faults; {time.monotonic() - started:.0f} s")
    return 1 if wrong else 0
