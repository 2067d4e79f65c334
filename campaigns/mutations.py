"""Puts deliberate errors into a copy of the code, one at a time, and reports which of them the tests catch.

    python -m campaigns.mutations                                  the list in mutation_list.py
    python -m campaigns.mutations --only 'kdump/forecasts/*'       those in some files, `--id n09` for one
    python -m campaigns.mutations --random 150 --seed 1            random errors in the modules that decide on verdicts
    python -m campaigns.mutations --random 20 --module kdump/checks/rules

Errors at random are made by Cosmic Ray, which the extra `campaigns` installs. The exit code is 1 if an error survives, 2 if tests
fail without one. The checkout itself is only read.
"""

import argparse
import difflib
import fnmatch
import queue
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path

from campaigns import random_mutations
from campaigns.mutation import Copy, Mutation, Outcome, Trial
from campaigns.mutation_list import MUTATIONS

TIMES_AS_LONG = 20
"""If tests take this many times as long with an error as without, they are stopped, and the error counts as caught."""


class TestsFail(Exception):
    """Tests fail even without an error, so they prove nothing."""


def run(mutations: Sequence[Mutation], *, options: Sequence[str] = (), jobs: int = 1) -> Iterator[Trial]:
    """Try each of these mutations in a copy of the checkout.

    Raises TestsFail if their tests fail without them.
    """
    with ExitStack() as stack:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for _ in range(jobs):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kdump-mutations-"))
            copies.put(Copy(Path(folder).resolve()))
        seconds = _seconds(copies, sorted({one.tests for one in mutations}), options)

        def attempt(mutation: Mutation) -> Trial:
            copy = copies.get()
            try:
                return copy.attempt(mutation, options=options, seconds=seconds)
            finally:
                copies.put(copy)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        for done in as_completed([pool.submit(attempt, mutation) for mutation in mutations]):
            yield done.result()


def _seconds(copies: queue.SimpleQueue[Copy], tests: Sequence[tuple[str, ...]], options: Sequence[str]) -> float:
    """The time limit for tests with an error."""
    copy = copies.get()
    begin = time.monotonic()
    every = list(dict.fromkeys(test for one in tests for test in one))
    code, text = copy.test(every, options=options)
    copies.put(copy)
    if code:
        raise TestsFail(text)
    return 60 + TIMES_AS_LONG * (time.monotonic() - begin)


def described(trial: Trial) -> str:
    """A mutation and its result: the test that failed, or the change if none did."""
    mutation = trial.mutation
    text = f"{trial.outcome.value}: {mutation.id} in {mutation.file} ({trial.elapsed_s:.0f} s)"
    if trial.outcome is Outcome.CAUGHT:
        lines_of_pytest = trial.text.splitlines() or [""]
        return (
            f"{text}: {next((line for line in lines_of_pytest if line.startswith(('FAILED ', 'ERROR '))), lines_of_pytest[-1])}"
        )
    lines = difflib.unified_diff(mutation.old.splitlines(), mutation.new.splitlines(), lineterm="", n=1)
    return "\n".join(
        [text, *(f"    {line}" for line in list(lines)[2:]), *([trial.text] if trial.outcome is Outcome.BROKEN else [])]
    )


def summary(trials: Sequence[Trial]) -> str:
    """The number of caught errors per file."""
    tried, caught = Counter[str](), Counter[str]()
    for trial in trials:
        tried[trial.mutation.file] += trial.outcome is not Outcome.BROKEN
        caught[trial.mutation.file] += trial.outcome is Outcome.CAUGHT
    lines = [f"{caught[file]:4} of {tried[file]:4}  {file}" for file in sorted(tried)]
    broken = len(trials) - tried.total()
    total = f"{caught.total()} of {tried.total()} caught" + (f", {broken} cannot be tried" if broken else "")
    return "\n".join([*lines, total])


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the selected errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", action="append", metavar="ID", help="try only this error of the list")
    parser.add_argument("--only", metavar="FILE", help="try only errors of the list in this file; patterns allowed")
    parser.add_argument("--random", type=int, metavar="COUNT", help="try COUNT errors made at random instead of the list")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default 1)")
    parser.add_argument("--module", metavar="FILE", help="make them in this module or folder only")
    parser.add_argument("--jobs", type=int, default=1, help="how many to try at a time (default 1)")
    chosen = parser.parse_args(arguments)
    if chosen.random is None:
        mutations = [
            one for one in MUTATIONS if one.id in (chosen.id or [one.id]) and fnmatch.fnmatch(one.file, chosen.only or "*")
        ]
        options: Sequence[str] = ()
    else:
        try:
            mutations = random_mutations.mutations(chosen.random, chosen.seed, random_mutations.modules(chosen.module))
        except ImportError as error:
            parser.error(f"errors at random need the extra `campaigns`, pip install -e '.[campaigns]': {error}")
        options = random_mutations.OPTIONS
    if not mutations:
        parser.error("nothing to try")
    # The copies are deleted even if a signal ends the run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    trials = []
    try:
        for trial in run(mutations, options=options, jobs=chosen.jobs):
            trials.append(trial)
            print(described(trial), flush=True)
    except TestsFail as error:
        print(f"tests fail without an error put in:\n{error}", file=sys.stderr)
        return 2
    print(summary(trials))
    return int(any(trial.outcome is not Outcome.CAUGHT for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
