"""Makes the goldens with the real tool, or verifies that it still prints them.

python -m golden_outputs.make                        make all runs of all releases that are kept
python -m golden_outputs.make --release 2.0.1        this release only, which may be a new one
python -m golden_outputs.make --only 'magic2-*'      these cases only
python -m golden_outputs.make --missing              only what is wanted and not kept yet
python -m golden_outputs.make --check --sample 100   change nothing; exit 1 if a run prints something else
"""

import argparse
import contextlib
import difflib
import fcntl
import fnmatch
import random
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from golden_outputs import stored
from golden_outputs.runs import CASES, wanted_runs
from golden_outputs.stored import Golden, RunOfCase
from tests.oracle import Run, run_many, why_not_available

# The real tool prints the reports of several files in an order that depends on their absolute paths.
WORKING_FOLDER = Path("/tmp/kdump-golden")
OMITTED_LINES = re.compile(rb"^(?:\tat |\t\.\.\. |Caused by: |\tSuppressed: )[^\n]*\n?", re.MULTILINE)
OBJECT_HASH = re.compile(rb"(\bsun\.nio\.ch\.\w+@)[0-9a-f]+")
SHOWN_LINES = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Make or check what the options say; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="append", help="a Kafka release; may be repeated")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only the cases of this name")
    parser.add_argument("--missing", action="store_true", help="only the runs that are wanted and not kept yet")
    parser.add_argument("--check", action="store_true", help="write nothing, compare with what is kept")
    parser.add_argument("--sample", type=int, metavar="N", help="with --check: only so many runs of each release")
    options = parser.parse_args(arguments)
    releases = options.release or stored.releases()
    missing = why_not_available(*releases)
    if missing:
        print(missing, file=sys.stderr)
        return 2
    if options.check:
        differences = [line for release in releases for line in check(release, options.only, options.sample)]
        print("".join(differences), end="")
        return 1 if differences else 0
    goldens: dict[str, Iterable[Golden]] = {release: stored.read(release) for release in stored.releases()}
    for release in releases:
        kept = {golden.run: golden for golden in goldens.get(release, ())}
        to_make = [run for run in wanted_runs(release, options.only) if not options.missing or run not in kept]
        made = {golden.run: golden for golden in make(release, to_make)}
        goldens[release] = [(made.get(run) or kept[run]) for run in wanted_runs(release) if run in made or run in kept]
        print(f"{release}: {len(made)} runs made, {len(kept.keys() - made.keys())} kept as they were", file=sys.stderr)
    stored.write(goldens)
    return 0


@contextlib.contextmanager
def working_folder(path: Path = WORKING_FOLDER, *, seconds: float = 600) -> Iterator[Path]:
    """The working folder, for one process at a time. It does not exist yet; leftovers of a killed process are deleted.

    Raises TimeoutError if another process does not release it in time.
    """
    end = time.monotonic() + seconds
    with path.with_suffix(".lock").open("w") as lock:  # the system releases it, however the process ends
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise TimeoutError(f"another process works in {path}") from None
                time.sleep(0.1)
        shutil.rmtree(path, ignore_errors=True)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def make(release: str, wanted: Sequence[RunOfCase]) -> list[Golden]:
    """Run the real tool of a release."""
    runs = [Run(CASES / case, arguments) for case, arguments in wanted]
    made = []
    with working_folder() as folder:
        for (case, arguments), answer in zip(wanted, run_many(release, runs, working_folder=folder), strict=True):
            if answer.exit_code is None:
                raise TimeoutError(f"{case}: the tool of {release} does not end: {shlex.join(arguments)}")
            made.append(Golden(case, arguments, answer.exit_code, answer.stdout, settled(answer.stderr)))
    return made


def check(release: str, only: str = "*", sample: int | None = None) -> list[str]:
    """Report how the goldens of a release differ from the current output of the real tool."""
    kept = {golden.run: golden for golden in stored.read(release) if fnmatch.fnmatch(golden.case, only)}
    wanted = wanted_runs(release, only)
    lines = [f"{release} {case}: not kept: {shlex.join(run)}\n" for case, run in wanted if (case, run) not in kept]
    lines += [f"{release} {case}: not wanted: {shlex.join(run)}\n" for case, run in kept.keys() - set(wanted)]
    runs = [run for run in wanted if run in kept]
    if sample is not None and sample < len(runs):
        runs = sorted(random.sample(runs, sample))
    for golden in make(release, runs):
        if golden != kept[golden.run]:
            before, after = (stored.to_text([one]).splitlines(keepends=True) for one in (kept[golden.run], golden))
            name = f"{release} {golden.case}"
            lines += list(difflib.unified_diff(before, after, f"{name}, kept", f"{name}, now"))[:SHOWN_LINES]
    return lines


def settled(stderr: bytes) -> bytes:
    """The tool's output without stack frames and causes of Java exceptions, and without values that differ in each run."""
    return OBJECT_HASH.sub(rb"\1{HASH}", OMITTED_LINES.sub(b"", stderr))


if __name__ == "__main__":
    sys.exit(main())
