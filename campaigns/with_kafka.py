"""Compares the output of kdump with that of the real tool, for damaged files of the goldens and for generated command lines.

    python -m campaigns.with_kafka mutants --count 20000 --seed 7 --keep /tmp/mutants
    python -m campaigns.with_kafka mutants --decoder offsets --release 0.10.2.0     damaged keys and values, decoded
    python -m campaigns.with_kafka lines --count 2000 --release 2.0.1
    python -m campaigns.with_kafka mutants --seed 7 --number 1234                   one of them again

A mutant depends only on the seed and its number, a command line also on the release. stdout and exit code must be the same, and
stderr except for Java's messages; kdump must not crash, and must end. Both tools work in folders of the same path, so that the
reports of several files must also come in the same order.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from campaigns import command_lines, mutants
from golden_outputs.make import settled
from golden_outputs.runs import DECODERS
from golden_outputs.stored import NEWEST, Golden
from tests import goldens, oracle
from tests.goldens import Agreement
from tests.kernels import Printed

SECONDS_PER_RUN = 20
# Java's messages if it runs out of memory, or if the snappy of 0.8.0 and 0.8.1 does not work with it.
BROKEN = (
    *(b"java.lang.OutOfMemoryError", b"Java heap space"),
    *(b"FAILED_TO_LOAD_NATIVE_LIBRARY", b"Could not initialize class org.xerial.snappy.Snappy"),
)
WORKING_FOLDER = Path(tempfile.gettempdir()).resolve() / f"kdump-with-kafka-{os.getpid()}" / "case"
IDENTITY = re.compile(rb"\[B@[0-9a-f]+")
"""The text of a byte array, which differs in each run of Java."""

_DECODERS = {option.removeprefix("--").removesuffix("-decoder"): option for option in DECODERS.values()}


class Trial(NamedTuple):
    """Arguments for both tools, the files in an empty folder, and a description of them."""

    number: int
    about: str
    words: Sequence[str]
    write: Callable[[Path], None]
    is_strict: bool = False
    """Whether what is on stderr has to come in the same order, too."""


class Difference(NamedTuple):
    """A trial with a wrong result from kdump."""

    trial: Trial
    kind: str
    text: str


def trials_of_mutants(release: str, seed: int, numbers: Iterable[int], decoder: str = "") -> Iterator[Trial]:
    """The runs of these mutants; with a decoder (`--offsets-decoder`), the records of its topic are damaged, and decoded."""
    for number in numbers:
        made = mutants.decoded_mutant(seed, number, decoder, release) if decoder else mutants.mutant(seed, number)
        for words in made.runs:
            yield Trial(number, f"{made.case}/{made.file}: {made.what}", words, made.write)


def trials_of_lines(release: str, seed: int, numbers: Iterable[int]) -> Iterator[Trial]:
    """These command lines; absolute paths in them lead into the folder that both tools work in."""
    for number in numbers:
        made = command_lines.command_line(release, seed, number, str(WORKING_FOLDER))
        about = f"{', '.join(made.cases)}: {', '.join(sorted(made.files))}"
        yield Trial(number, about, made.words, made.write, is_strict=True)


def run(release: str, trials: Iterable[Trial], keep: Path | None = None) -> Iterator[tuple[str, Difference | None]]:
    """Let both tools do the same, and report for each trial how they agree."""
    signal.signal(signal.SIGALRM, _too_long)
    pending: deque[tuple[Trial, Printed]] = deque()
    scratch = WORKING_FOLDER.parent
    scratch.mkdir()
    try:
        runs = _runs(release, trials, scratch / "original", pending)
        for answer in oracle.run_many(release, runs, working_folder=WORKING_FOLDER, seconds_per_run=SECONDS_PER_RUN):
            trial, printed = pending.popleft()
            agreement, difference = _judge(release, trial, printed, answer)
            if difference and keep is not None:
                shutil.copytree(scratch / "original", keep / str(trial.number), dirs_exist_ok=True)
            yield agreement, difference
    finally:
        shutil.rmtree(scratch)


def _runs(release: str, trials: Iterable[Trial], original: Path, pending: deque[tuple[Trial, Printed]]) -> Iterator[oracle.Run]:
    """The runs for the real tool; kdump makes each in the same folder first."""
    for trial in trials:
        for folder in (original, WORKING_FOLDER):
            folder.mkdir(exist_ok=True)
            for path in folder.iterdir():  # the tool works there
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            trial.write(folder)
        signal.alarm(SECONDS_PER_RUN)
        options = ["--strict-stderr"] if trial.is_strict else []
        printed = goldens.run_in_process(release, [*options, *trial.words], WORKING_FOLDER)
        signal.alarm(0)
        pending.append((trial, printed))
        yield oracle.Run(original, list(trial.words))


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"kdump did not end within {SECONDS_PER_RUN} s")


def _judge(release: str, trial: Trial, printed: Printed, answer: oracle.Answer) -> tuple[str, Difference | None]:
    text = f"{trial.number}: kdump --release {release} {shlex.join(trial.words)}\n  of {trial.about}\n"
    if b"Traceback (most recent call last)" in printed.stderr:
        return "crashed", Difference(trial, "crashed", text + printed.stderr.decode("utf-8", "replace"))
    if answer.exit_code is None or any(words in answer.stderr for words in BROKEN):
        return "not compared: the real tool broke", None
    wanted = Golden(trial.about, tuple(trial.words), answer.exit_code, _settled(answer.stdout), settled(answer.stderr))
    printed = printed._replace(stdout=_settled(printed.stdout))
    agreement = goldens.compare(wanted, printed)
    is_in_order = not trial.is_strict or b"Exception in" in wanted.stderr or wanted.stderr == printed.stderr
    if agreement is not Agreement.DIFFERENT and is_in_order:
        return agreement.value, None
    text += goldens.difference(release, wanted, printed).partition("\n")[2]
    if agreement is not Agreement.DIFFERENT:
        return "order", Difference(trial, "order", text + f"{wanted.stderr!r}\n{printed.stderr!r}\n")
    return "different", Difference(trial, goldens.kind_of_difference(wanted, printed), text)


def _settled(stdout: bytes) -> bytes:
    return IDENTITY.sub(b"[B@", stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; print one difference of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("mutants", "lines"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, action="append", help="only this one; may be repeated")
    parser.add_argument("--decoder", choices=_DECODERS, help="of mutants: damage the records of its topic, and decode them")
    parser.add_argument("--release", default=NEWEST)
    parser.add_argument("--keep", type=Path, help="keep the files of those that differ in this folder")
    parser.add_argument("--show", type=int, default=20, help="show so many kinds of differences")
    options = parser.parse_args(arguments)
    missing = oracle.why_not_available(options.release)
    if missing:
        print(missing, file=sys.stderr)
        return 2
    numbers = options.number or range(options.count)
    if options.what == "lines":
        trials = trials_of_lines(options.release, options.seed, numbers)
    else:
        trials = trials_of_mutants(options.release, options.seed, numbers, _DECODERS.get(options.decoder, ""))
    agreements: Counter[str] = Counter()
    by_kind: dict[str, list[str]] = {}
    for agreement, difference in run(options.release, trials, options.keep):
        agreements[agreement] += 1
        if difference:
            by_kind.setdefault(difference.kind, []).append(difference.text)
    for kind, texts in sorted(by_kind.items(), key=lambda item: len(item[1]))[-options.show :]:
        print(f"{len(texts)} runs differ like this: {kind}\n{min(texts, key=len)}")
    for agreement, count in agreements.most_common():
        print(f"{count} runs: {agreement}")
    return 1 if by_kind else 0


if __name__ == "__main__":
    sys.exit(main())
