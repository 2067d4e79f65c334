"""Measures kdump and Kafka's tool, and prints the tables.

python -m benchmarks                                      everything, some 20 minutes
python -m benchmarks --size quick --only deep             one workload, on a sixteenth of the bytes
python -m benchmarks --markdown benchmarks/README.md      put the tables into that file, and the plot beside it
"""

import argparse
import datetime
import fnmatch
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import contenders, report
from benchmarks.contenders import NEWEST, Measured, MissingContender
from benchmarks.workloads import ONE_BATCH, WORKLOADS, Workload
from tests.oracle.kafka_tool import OracleError, why_not_available

QUICK = 16  # how many times smaller
ENOUGH_SECONDS = 10  # a contender that has run this long in a workload pauses
ENOUGH_RUNS = {True: 3, False: 1}  # but not before this many runs, by whether a bar depends on it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measurements; return the exit code: 1 if outputs differ, 2 if something cannot be measured."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="only workloads of this name, a pattern; may be repeated")
    parser.add_argument("--size", choices=("quick", "full"), default="full")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="how often everybody runs, at most")
    parser.add_argument("--releases", default=f"{NEWEST},3.9.2,1.0.1", metavar="LIST", help="of Kafka's tool; none if empty")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there, and the plot beside it")
    options = parser.parse_args(arguments)
    patterns = [ONE_BATCH, *options.only] if options.only else ["*"]
    workloads = [workload for workload in WORKLOADS if any(fnmatch.fnmatch(workload.name, pattern) for pattern in patterns)]
    if options.size == "quick":
        workloads = [workload.smaller(QUICK) for workload in workloads]
    try:
        releases = _available(options.releases.split(","))
        contenders.kdump_script()
        differences = [line for workload in workloads for line in compare(workload, releases)]
        measured = {workload.name: measure(workload, releases, options.rounds) for workload in workloads}
    except (MissingContender, OracleError) as error:
        print(error, file=sys.stderr)
        return 2
    text = report.markdown(workloads, measured, introduction(options.size))
    if options.markdown:
        report.put(text, report.plot(workloads, measured), options.markdown)
    print(text)
    print("".join(differences), file=sys.stderr, end="")
    return 1 if differences else 0


def compare(workload: Workload, releases: Sequence[str]) -> list[str]:
    """Report the contenders whose output differs from kdump's, on a small file of the same kind."""
    small = workload.smaller(max(1, workload.segment.size // workload.compared))
    differences = []
    with tempfile.TemporaryDirectory(prefix="kdump-benchmarks-") as folder:
        theirs, ours = (Path(folder) / name for name in ("theirs", "ours"))
        for contender in small.contenders(home(), releases):
            if contender.release:
                contenders.run(contender, output=str(theirs))
                contenders.run(contenders.kdump(small.arguments(home()), release=contender.release), output=str(ours))
                if theirs.read_bytes() != ours.read_bytes():
                    differences.append(f"{workload.name}: {contender.name} prints something else than kdump\n")
    return differences


def measure(workload: Workload, releases: Sequence[str], rounds: int) -> dict[str, list[Measured]]:
    """Run all contenders in turns; slow ones get fewer turns, and those that time out only one."""
    taking_part = workload.contenders(home(), releases)
    runs: dict[str, list[Measured]] = {contender.name: [] for contender in taking_part}
    for turn in range(rounds):
        for contender in list(taking_part):
            before = runs[contender.name]
            enough = ENOUGH_RUNS[any(contender.name in bar.names for bar in workload.bars)]
            is_slow = turn >= enough and sum(run.seconds for run in before) > ENOUGH_SECONDS
            if is_slow or any(run.is_late for run in before):
                continue
            _show(f"{workload.name}, round {turn + 1} of {rounds}: {contender.name}")
            try:
                before.append(contenders.run(contender))
            except MissingContender as error:
                print(error, file=sys.stderr)
                taking_part.remove(contender)
    _show("")
    return {name: measured for name, measured in runs.items() if measured}


def introduction(size: str) -> str:
    """The date, machine and software of the measurement."""
    smaller = f" Files are {QUICK} times smaller than said: --size quick." if size == "quick" else ""
    return f"Measured on {datetime.date.today():%Y-%m-%d}: {contenders.machine()}.{smaller}"


def _show(progress: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{progress}", end="", file=sys.stderr, flush=True)


def _available(releases: Sequence[str]) -> list[str]:
    """The releases whose tool can be run; stderr says what is missing for the others."""
    found = []
    for release in filter(None, releases):
        missing = why_not_available(release)
        if missing:
            print(f"without Kafka {release}: {missing}", file=sys.stderr)
        else:
            found.append(release)
    return found


def home() -> Path:
    """The folder of the measured files: $KDUMP_BENCHMARK_HOME."""
    folder = Path(os.environ.get("KDUMP_BENCHMARK_HOME") or Path.home() / ".cache" / "kdump-benchmarks")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


if __name__ == "__main__":
    raise SystemExit(main())
