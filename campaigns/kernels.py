"""Damages the files of the goldens and compares the output of kdump with its two kernels.

    python -m campaigns.kernels --count 100000 --seed 7 --jobs 2
    python -m campaigns.kernels --seed 7 --mutant 1234          one of them again

The mutants are those of campaigns.mutants, one in three of them with damaged keys and values of an internal topic. Each
is dumped in the words of several releases, with windows, buffers and stretches of ordinary and of very small sizes, the
latter by several processes, and listed in some form. stdout, stderr and exit code must be those of the kernel in Python, with
ordinary sizes, in one process.
"""

import argparse
import contextlib
import functools
import multiprocessing
import random
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from campaigns import mutants
from golden_outputs.runs import DECODERS
from kdump.binary import kernel
from kdump.releases import known
from tests import kernels
from tests.kernels import Printed, Sizes

MUTANTS_PER_SHARE = 250

ORDINARY = Sizes()
SEAMS = (
    Sizes(window=61, out=4096),
    Sizes(window=100, out=200, gaps=1),
    Sizes(window=300, out=64, gaps=2, payload=100),
    Sizes(window=1 << 20, out=100, gaps=1),
    Sizes(window=5000, out=1000, payload=1),
    Sizes(window=5000, out=1000, decoded=700),
    Sizes(stretch=1, out=300, gaps=1),
    Sizes(window=100, stretch=100, out=300),
    Sizes(stretch=1000, out=1 << 20),
)

DEEP_WAYS = (
    ["--deep-iteration"],
    ["--print-data-log"],
    ["--print-data-log", "--skip-record-metadata"],
    ["--deep-iteration", "--print-data-log"],
)

LISTED_DEEP_WAYS: tuple[list[str], ...] = ([], ["--deep"], ["--print-data-log"], ["--print-data-log", "--skip-record-metadata"])

Run = Callable[[], Printed]


class Difference(NamedTuple):
    """A run whose output is not the same with both kernels."""

    mutant: int
    text: str


class Outcome(NamedTuple):
    """The results of some mutants."""

    runs: int
    differences: list[Difference]


def run(numbers: Sequence[int], seed: int, *, jobs: int = 1, seconds: float | None = None) -> Iterator[Outcome]:
    """Create these mutants and compare while there are `seconds` left; yield the results of a few hundred at a time."""
    shares = [numbers[start : start + MUTANTS_PER_SHARE] for start in range(0, len(numbers), MUTANTS_PER_SHARE)]
    deadline = None if seconds is None else time.monotonic() + seconds
    if jobs == 1:
        for share in shares:
            if deadline is None or time.monotonic() < deadline:
                yield run_share(seed, share, deadline)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(functools.partial(run_share, seed), shares)


def run_share(seed: int, numbers: Sequence[int], deadline: float | None = None) -> Outcome:
    """Compare these mutants in sequence, until a deadline."""
    runs = 0
    differences = []
    with tempfile.TemporaryDirectory(prefix="kdump-kernels-") as name:
        for number in numbers:
            if deadline is not None and time.monotonic() > deadline:
                break
            folder = Path(name, str(number))
            folder.mkdir()
            made = _mutant(seed, number)
            made.write(folder)
            with contextlib.chdir(folder):
                for command, reference, execute in commands_for(made, random.Random(f"kernels {seed}/{number}")):
                    runs += 1
                    text = difference(reference, execute)
                    if text:
                        title = f"mutant {number}: {made.case}/{made.file}: {made.what}"
                        differences.append(Difference(number, f"{title}\n  {command}\n{text}"))
            shutil.rmtree(folder)
    return Outcome(runs, differences)


def _mutant(seed: int, number: int) -> mutants.Mutant:
    """The mutant of this number: in one of three, it is keys and values of an internal topic that are damaged."""
    if number % 3:
        return mutants.mutant(seed, number)
    decoder = random.Random(f"decoder {seed}/{number}").choice(sorted(set(DECODERS.values())))
    return mutants.decoded_mutant(seed, number, decoder, known.RELEASES[-1])


def commands_for(made: mutants.Mutant, chance: random.Random) -> Iterator[tuple[str, Run, Run]]:
    """A command for a mutant: its text, the function for the expected output, and the function to compare."""
    ways = list(made.runs)
    if Path(made.name).suffix in (".log", ".checkpoint"):
        ways.append([*chance.choice(DEEP_WAYS), "--files", made.name])
    for way in ways:
        release = chance.choice((known.RELEASES[-1], chance.choice(known.RELEASES)))
        sizes = chance.choice((ORDINARY, chance.choice(SEAMS)))
        arguments = ["--release", release, *way]
        run = functools.partial(kernels.printed, arguments)
        yield f"kdump {shlex.join(arguments)}, {sizes}", run, functools.partial(run, sizes)
    command = {".log": "log", ".checkpoint": "checkpoint", ".index": "index", ".timeindex": "timeindex"}.get(
        Path(made.name).suffix
    )
    if command:
        deep = chance.choice(LISTED_DEEP_WAYS) if command in ("log", "checkpoint") else []
        form = chance.choice(("ndjson", "csv", "table", "kafka"))
        sizes = chance.choice((ORDINARY, chance.choice(SEAMS)))
        arguments = [command, *deep, "--output", form, f"./{made.name}"]
        run = functools.partial(kernels.listed, arguments)
        yield f"kdump {shlex.join(arguments)}, {sizes}", run, functools.partial(run, sizes)


def difference(reference: Run, execute: Run) -> str:
    """The difference between the output of a kernel and that of the Python kernel; empty if there is none."""
    wanted: Printed | None = None
    for name, run in ((kernel.PYTHON, reference), *((name, execute) for name in kernels.KERNELS)):
        with kernels.using(name):
            try:
                printed = run()
            except Exception:
                return f"with the kernel {name}:\n{traceback.format_exc()}"
        wanted = wanted or printed
        if printed != wanted:
            return f"with the kernel {name}:\n{_difference(wanted, printed)}"
    return ""


def _difference(printed_by_reference: Printed, printed: Printed) -> str:
    lines = []
    for field, wanted, got in zip(Printed._fields, printed_by_reference, printed, strict=True):
        if wanted == got:
            continue
        if isinstance(wanted, bytes) and isinstance(got, bytes):
            at = next((at for at, (one, other) in enumerate(zip(wanted, got, strict=False)) if one != other), None)
            at = min(len(wanted), len(got)) if at is None else at
            start = wanted.rfind(b"\n", 0, at) + 1
            lines += [f"  {field} at byte {at}", f"  - {wanted[start : start + 300]!r}", f"  + {got[start : start + 300]!r}"]
        else:
            lines += [f"  {field}", f"  - {wanted!r}", f"  + {got!r}"]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--mutant", type=int, action="append", help="only the mutant of this number; may be repeated")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="end after so long (with one job)")
    parser.add_argument("--show", type=int, default=20, help="show so many differences")
    options = parser.parse_args(arguments)
    missing = kernels.why_no_c()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    print(f"{kernel.C}: {sys.modules['kdump.binary._kernel'].__file__}")
    started = time.monotonic()
    runs = 0
    differences: list[Difference] = []
    numbers = options.mutant or range(options.first, options.first + options.count)
    for outcome in run(numbers, options.seed, jobs=options.jobs, seconds=options.seconds):
        runs += outcome.runs
        differences += outcome.differences
        for found in outcome.differences[: max(options.show - len(differences) + len(outcome.differences), 0)]:
            print(found.text, flush=True)
    print(f"{runs} runs in {time.monotonic() - started:.0f} s, {len(differences)} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
