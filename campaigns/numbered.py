"""The command line of campaigns whose cases have a seed and a number."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path


def run(description: str | None, faults: Callable[[int, int, Path], Iterable[str]], cases: str, count: int = 1000) -> int:
    """Print what `faults` finds in the case of each seed and number, given a folder for all of them. Returns the exit code.

    `cases` is the word for several of them.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, help="only this case")
    arguments = parser.parse_args()
    numbers = range(arguments.count) if arguments.number is None else [arguments.number]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            for fault in faults(arguments.seed, number, Path(folder)):
                wrong += 1
                print(f"{number}: {fault}")
    print(f"{len(numbers):,} {cases}, {wrong:,} faults")
    return 1 if wrong else 0
