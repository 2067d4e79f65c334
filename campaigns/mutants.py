"""Damages the files of the goldens and compares the output of kdump with that of the real tool.

    python -m campaigns.mutants --count 20000 --seed 7 --jobs 2 --keep /tmp/mutants
    python -m campaigns.mutants --seed 7 --mutant 1234 --keep /tmp/mutants     one of them again
    python -m campaigns.mutants --decoder offsets --release 0.10.2.0           damaged keys and values, decoded

A mutant depends only on the seed and its number. stdout and exit code must be the same, and stderr except for Java's messages;
kdump must not crash, must end, and must stay below a bound of memory.
"""

import argparse
import contextlib
import fnmatch
import functools
import itertools
import multiprocessing
import random
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from campaigns import contents
from campaigns.damage import damage
from golden_outputs.make import settled
from golden_outputs.runs import CASES, DECODERS, cases
from golden_outputs.stored import NEWEST, Golden
from tests import goldens, oracle
from tests.goldens import Agreement, Printed
from tests.oracle.kafka_tool import release_number

LIMIT_MIB = 192
SECONDS_PER_RUN = 20
MUTANTS_PER_JVM = 400
LARGEST_SOURCE = 24 * 1024

# How often files of a type are damaged, and the commands for them: {} is the file, {stem} its name without the suffix.
WEIGHTS = {".log": 70, ".index": 9, ".timeindex": 9, ".snapshot": 6, ".txnindex": 3, ".checkpoint": 3}
LOG_RUNS = (
    "--print-data-log --files {}",
    "--print-data-log --files {}",
    "--deep-iteration --files {}",
    "--files {}",
    "--files {}",
    "--print-data-log --skip-record-metadata --files {}",
    "--max-bytes {number} --deep-iteration --files {}",
)
INDEX_RUNS = (
    "--files {stem}.index",
    "--files {stem}.index --max-message-size {number}",
    "--verify-index-only --files {stem}.index",
    "--index-sanity-check --files {stem}.index",
)
TIME_INDEX_RUNS = (
    "--files {stem}.timeindex",
    "--verify-index-only --files {stem}.timeindex",
    "--index-sanity-check --files {stem}.timeindex",
    "--files {stem}.index,{stem}.timeindex,{stem}.log --deep-iteration",
)
DECODER_RUNS = (
    "{decoder} --print-data-log --deep-iteration --files {name}",
    "{decoder} --print-data-log --deep-iteration --files {name}",
    "{decoder} --print-data-log --files {name}",
    "{decoder} --deep-iteration --files {name}",
)
MAGICS = (("0.8.0", 0), ("0.10.0.0", 1), ("0.11.0.0", 2))
OUT_OF_MEMORY = (b"java.lang.OutOfMemoryError", b"Java heap space")


_NAMES_OF_DECODERS = {option.removeprefix("--").removesuffix("-decoder"): option for option in DECODERS.values()}


class Mutant(NamedTuple):
    """A damaged file of a case, and the runs to make on it."""

    number: int
    case: str
    file: str
    name: str
    data: bytes
    what: str
    runs: list[list[str]]

    def write(self, folder: Path) -> None:
        """Write the damaged file into an empty folder, with the other files of its segment."""
        source = CASES / self.case / self.file
        stem, new_stem = source.name.partition(".")[0], self.name.partition(".")[0]
        for sibling in source.parent.glob(f"{stem}.*"):
            if sibling.is_file() and sibling.stat().st_size <= LARGEST_SOURCE:
                shutil.copyfile(sibling, folder / (new_stem + sibling.name.removeprefix(stem)))
        (folder / self.name).write_bytes(self.data)


class Difference(NamedTuple):
    """A run on a mutant with a wrong result from kdump."""

    mutant: int
    kind: str
    text: str


class Outcome(NamedTuple):
    """The results of some mutants."""

    agreements: Counter[str]
    differences: list[Difference]
    peak_kib: int


def run(
    release: str, numbers: Sequence[int], seed: int, *, decoder: str = "", jobs: int = 1, keep: Path | None = None
) -> Iterator[Outcome]:
    """Create these mutants and compare; yield the results of a few hundred at a time.

    With a decoder (`--offsets-decoder`), the records of its topic are damaged, and decoded.
    """
    pieces = [numbers[start : start + MUTANTS_PER_JVM] for start in range(0, len(numbers), MUTANTS_PER_JVM)]
    one = functools.partial(_run_piece, release, seed, decoder, keep)
    if jobs == 1:
        yield from map(one, pieces)
    else:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield from pool.map(one, pieces)


def mutant(seed: int, number: int) -> Mutant:
    """The mutant of this number."""
    chance = random.Random(f"{seed}/{number}")
    suffix = chance.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
    source = chance.choice(_sources()[suffix])
    other = chance.choice(_sources()[suffix])
    damaged = damage(suffix, source.read_bytes(), other.read_bytes(), chance)
    case, _, file = source.relative_to(CASES).as_posix().partition("/")
    name, what = source.name, damaged.what
    if chance.random() < 0.03:
        stem = chance.choice(("00000000000000000001", "00000000000000031337", "-5", "9223372036854775807", "abc"))
        name = stem + name[name.index(".") :]
        what += f", named {name}"
    return Mutant(number, case, file, name, damaged.data, what, _runs(name, suffix, damaged.data, source, chance))


def damaged_log(seed: int, number: int) -> bytes:
    """A log of a case that is, damaged in one to three ways."""
    chance = random.Random(f"log {seed}/{number}")
    source, other = chance.choices(_sources()[".log"], k=2)
    return damage(".log", source.read_bytes(), other.read_bytes(), chance).data


def decoded_mutant(seed: int, number: int, decoder: str, release: str) -> Mutant:
    """The mutant of this number among those for a decoder, of a magic that the release reads."""
    chance = random.Random(f"{seed}/{number}/{decoder}")
    newest_magic = [magic for since, magic in MAGICS if release_number(since) <= release_number(release)][-1]
    source, other = chance.choices(_sources_of(decoder), k=2)
    damaged = contents.repacked(source.read_bytes(), other.read_bytes(), newest_magic, chance)
    case, _, file = source.relative_to(CASES).as_posix().partition("/")
    arguments = shlex.split(chance.choice(DECODER_RUNS).format(decoder=decoder, name=source.name))
    return Mutant(number, case, file, source.name, damaged.data, damaged.what, [arguments])


def _runs(name: str, suffix: str, data: bytes, source: Path, chance: random.Random) -> list[list[str]]:
    has_index, has_time_index = (source.with_suffix(other).exists() for other in (".index", ".timeindex"))
    if suffix in (".log", ".checkpoint"):
        ways = list(LOG_RUNS)
        if suffix == ".log" and has_index:
            ways += [INDEX_RUNS[0], INDEX_RUNS[1], *(TIME_INDEX_RUNS[:1] if has_time_index else ())]
    elif suffix == ".index":
        ways = [*INDEX_RUNS, *(TIME_INDEX_RUNS[:1] if has_time_index else ())]
    elif suffix == ".timeindex":
        ways = list(TIME_INDEX_RUNS)
    else:
        ways = ["--files {}"]
    number = chance.choice((chance.randrange(len(data) + 2), chance.randrange(200)))
    lines = {
        way.format(name, stem=name.removesuffix(suffix), number=number)
        for way in chance.sample(ways, min(len(ways), chance.choice((1, 2, 2, 3))))
    }
    return [shlex.split(line) for line in sorted(lines)]


@functools.cache
def _sources() -> dict[str, list[Path]]:
    files = [path for case in cases() for path in sorted((CASES / case).rglob("*")) if path.is_file()]
    small = [path for path in files if path.stat().st_size <= LARGEST_SOURCE]
    return {suffix: [path for path in small if path.suffix == suffix] for suffix in WEIGHTS}


@functools.cache
def _sources_of(decoder: str) -> list[Path]:
    patterns = [pattern for pattern, option in DECODERS.items() if option == decoder]
    return [
        path
        for path in _sources()[".log"]
        if any(fnmatch.fnmatch(path.relative_to(CASES).parts[0], pattern) for pattern in patterns)
        and any(contents.contents(path.read_bytes()))
    ]


def _run_piece(release: str, seed: int, decoder: str, keep: Path | None, numbers: Sequence[int]) -> Outcome:
    agreements: Counter[str] = Counter()
    differences: list[Difference] = []
    peak_kib = 0
    pending: deque[tuple[Mutant, list[str]]] = deque()
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kdump-mutants-")))
        worker = stack.enter_context(contextlib.closing(_Worker()))

        def runs() -> Iterator[oracle.Run]:
            """The runs for the real tool; kdump starts on each at the same time."""
            for number in numbers:
                made = decoded_mutant(seed, number, decoder, release) if decoder else mutant(seed, number)
                folder = scratch / str(number)
                folder.mkdir()
                made.write(folder)
                for arguments in made.runs:
                    pending.append((made, arguments))
                    worker.start(release, arguments, folder)
                    yield oracle.Run(folder, arguments)
                shutil.rmtree(folder)

        for answer in oracle.run_many(release, runs(), seconds_per_run=SECONDS_PER_RUN):
            made, arguments = pending.popleft()
            printed, peak = worker.answer()
            peak_kib = max(peak_kib, peak)
            kind, text = _judge(release, made, arguments, answer, printed, peak)
            agreements[kind] += 1
            if text:
                differences.append(Difference(made.number, kind, text))
                if keep:
                    shutil.copytree(scratch / str(made.number), keep / str(made.number), dirs_exist_ok=True)
    return Outcome(agreements, differences, peak_kib)


def _judge(
    release: str, made: Mutant, arguments: list[str], answer: oracle.Answer, printed: Printed, peak_kib: int
) -> tuple[str, str]:
    """Classify the result of a run, and describe it if kdump was wrong."""
    wanted = Golden(made.case, tuple(arguments), answer.exit_code or 0, answer.stdout, settled(answer.stderr))
    title = f"mutant {made.number}: {made.case}/{made.file}: {made.what}"
    command = f"  kdump --release {release} {shlex.join(arguments)}"
    if printed.exit_code < 0 or b"Traceback (most recent call last)" in printed.stderr:
        return "crashed", "\n".join([title, command, printed.stderr.decode("utf-8", "replace")])
    if peak_kib > LIMIT_MIB * 1024:
        return "used too much memory", "\n".join([title, command, f"  peak {peak_kib >> 10} MiB"])
    if answer.exit_code is None or any(words in answer.stderr for words in OUT_OF_MEMORY):
        return "not compared: the real tool broke", ""
    agreement = goldens.compare(wanted, printed)
    if agreement is not Agreement.DIFFERENT:
        return agreement.value, ""
    diff = goldens.difference(release, wanted, printed).partition("\n")[2]
    return goldens.kind_of_difference(wanted, printed), "\n".join([title, command, diff])


class _Worker:
    """Runs kdump in a separate process, so that its memory can be measured and it may crash."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def start(self, release: str, arguments: Sequence[str], folder: Path) -> None:
        """Start a run."""
        self._connection.send((release, arguments, folder))

    def answer(self) -> tuple[Printed, int]:
        """The output of the started run, and its peak memory in KiB."""
        try:
            if self._connection.poll(3 * SECONDS_PER_RUN):
                printed, peak_kib = self._connection.recv()
                return printed, peak_kib
            trouble = b"did not end"
        except EOFError:
            self._process.join()
            trouble = b"died: exit code %d" % (self._process.exitcode or 0)
        self.close()
        self._begin()
        return Printed(-1, b"", trouble), 0

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()


def _serve(connection: Connection) -> None:
    """Perform runs until the other end closes."""
    signal.signal(signal.SIGALRM, _too_long)
    while True:
        try:
            release, arguments, folder = connection.recv()
        except EOFError:
            return
        _forget_peak()
        signal.alarm(SECONDS_PER_RUN)
        printed = goldens.run_in_process(release, arguments, folder)
        signal.alarm(0)
        connection.send((printed, _peak_kib()))


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"kdump did not end within {SECONDS_PER_RUN} s")


def _forget_peak() -> None:
    """Reset the kernel's measurement of peak memory (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_kib() -> int:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(peak[1]) if peak else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; print one difference of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutant", type=int, action="append", help="only the mutant of this number; may be repeated")
    parser.add_argument("--decoder", choices=_NAMES_OF_DECODERS, help="damage the records of its topic, and decode them")
    parser.add_argument("--release", default=NEWEST)
    parser.add_argument("--jobs", type=int, default=1, help="each runs a JVM and kdump side by side")
    parser.add_argument("--keep", type=Path, help="keep the differing mutants in this folder")
    parser.add_argument("--show", type=int, default=20, help="show so many kinds of differences")
    options = parser.parse_args(arguments)
    missing = oracle.why_not_available(options.release)
    if missing:
        print(missing, file=sys.stderr)
        return 2
    started = time.monotonic()
    agreements: Counter[str] = Counter()
    differences: list[Difference] = []
    peak_kib = 0
    numbers = options.mutant or range(options.count)
    decoder = _NAMES_OF_DECODERS[options.decoder] if options.decoder else ""
    for outcome in run(options.release, numbers, options.seed, decoder=decoder, jobs=options.jobs, keep=options.keep):
        agreements += outcome.agreements
        differences += outcome.differences
        peak_kib = max(peak_kib, outcome.peak_kib)
        if sys.stderr.isatty():
            print(f"{agreements.total()} runs, {len(differences)} differ", end="\r", file=sys.stderr)
    by_kind = {kind: list(group) for kind, group in itertools.groupby(sorted(differences, key=_kind), key=_kind)}
    for kind, group in sorted(by_kind.items(), key=lambda item: len(item[1]))[-options.show :]:
        print(f"{len(group)} runs differ like this: {kind}\n{min(group, key=lambda one: len(one.text)).text}")
    for kind, count in agreements.most_common():
        if kind not in by_kind:
            print(f"{count} runs: {kind}")
    print(f"{len(differences)} runs differ, in {len(by_kind)} ways")
    print(f"{len(numbers)} mutants in {time.monotonic() - started:.0f} s; peak of kdump {peak_kib >> 10} MiB")
    return 1 if differences else 0


def _kind(found: Difference) -> str:
    return found.kind


if __name__ == "__main__":
    sys.exit(main())
