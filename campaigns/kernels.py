"""Damages the files of the goldens and compares the output of kdump with its two kernels.

    python -m campaigns.kernels --count 100000 --seed 7
    python -m campaigns.kernels --seed 7 --number 1234          one of them again

The mutants are those of campaigns.mutants, one in three of them with damaged keys and values of an internal topic. Each
is dumped in the words of several releases, with windows, buffers and stretches of ordinary and of very small sizes, the
latter by several processes, and listed in some form. stdout, stderr and exit code must be those of the kernel in Python, with
ordinary sizes, in one process.
"""

import contextlib
import functools
import random
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from campaigns import mutants, numbered
from golden_outputs.runs import DECODERS
from kdump.binary import kernel
from kdump.releases import known
from tests import kernels
from tests.kernels import Printed, Sizes

ORDINARY = Sizes()
SEAMS = (
    *(Sizes(window=61, out=4096), Sizes(window=100, out=200, gaps=1), Sizes(window=300, out=64, gaps=2, payload=100)),
    *(Sizes(window=1 << 20, out=100, gaps=1), Sizes(window=5000, out=1000, payload=1), Sizes(window=5000, out=1000, decoded=700)),
    *(Sizes(stretch=1, out=300, gaps=1), Sizes(window=100, stretch=100, out=300), Sizes(stretch=1000, out=1 << 20)),
)

DEEP_WAYS = (
    *(["--deep-iteration"], ["--print-data-log"], ["--print-data-log", "--skip-record-metadata"]),
    ["--deep-iteration", "--print-data-log"],
)

LISTED_DEEP_WAYS: tuple[list[str], ...] = ([], ["--deep"], ["--print-data-log"], ["--print-data-log", "--skip-record-metadata"])

Run = Callable[[], Printed]


def faults(seed: int, number: int, folder: Path) -> Iterator[str]:
    """How the kernels differ in the runs on the mutant of this number, which is written to an empty folder."""
    made = _mutant(seed, number)
    made.write(folder)
    with contextlib.chdir(folder):
        for command, reference, execute in commands_for(made, random.Random(f"kernels {seed}/{number}")):
            if text := difference(reference, execute):
                yield f"{made.case}/{made.file}: {made.what}\n  {command}\n{text}"


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


def main() -> int:
    arguments = numbered.parser(__doc__, 10000).parse_args()
    missing = kernels.why_no_c()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    print(f"{kernel.C}: {sys.modules['kdump.binary._kernel'].__file__}")
    return numbered.run(arguments, faults, "mutants")


if __name__ == "__main__":
    sys.exit(main())
