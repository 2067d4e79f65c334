"""Damages partition directories in all ways, gives them to the commands that judge and mend, and looks for slips.

    python -m campaigns.directories --count 2000                                    without a broker
    python -m campaigns.directories --count 200 --release 4.3.1 --release 2.8.2     results are loaded by these log managers
    python -m campaigns.directories --seed 1 --number 123 --judge recover --keep /tmp/directories

A directory is one of the goldens with random damage; or one that is written, with transactions, leader epochs, gaps of
compaction and old messages, to which happens what disks, crashes and people do (`incidents`); or three replicas of such a one.

Whatever the damage, nothing may raise, the bytes of each file add up, no sentence is nonsense, the table of findings equals the
findings of the check, tables are the same in slices of two sizes, and the verdict is no better than the forecast. `recover` is
judged by `recovers`, also with `--merge`; `reindex` and `slice` must refuse, or make what a log manager keeps; of `redact`
nothing may leak.
"""

import argparse
import contextlib
import functools
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import kdump
from campaigns import incidents, numbered, recovers, redactions
from campaigns.damage import DAMAGES
from golden_outputs.runs import CASES
from kdump.checks.finding import FileReport, Finding
from kdump.checks.jobs import jobs
from kdump.checks.settings import DEEP, FULL, Settings
from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.forecasts.sentences import sentences, summary
from kdump.forecasts.settings import UNCLEAN, ZERO
from kdump.output.arrow.rows import TABLES
from kdump.pipeline import planning, reading
from kdump.pipeline.options import Options
from kdump.tables import Row
from kdump.verdicts.check import run
from tests import kernels
from tests.oracle.restarts import LogManager, why_not_available

LARGEST = 100_000  # bytes of a directory
GOLDEN, WRITTEN, REPLICAS = SOURCES = ("golden", "written", "replicas")


class Case(NamedTuple):
    """A damaged directory: what happened to it, the contents of its records, its replicas, and the sound one they are of."""

    directory: Path
    about: str
    contents: Sequence[bytes] = ()
    replicas: Sequence[Path] = ()
    sound: Path | None = None


class Seen:
    """What was seen of recoveries and other commands, and the log managers that load what they make."""

    def __init__(self, managers: Sequence[LogManager] = ()) -> None:
        self.managers = managers
        self.recoveries = recovers.Judged()
        self.counts = self.recoveries.seen


Judge = Callable[[Case, Seen], list[str]]


def main() -> int:
    parser = numbered.parser(__doc__, count=500)
    parser.add_argument("--source", choices=SOURCES, help="only these directories")
    parser.add_argument("--judge", choices=JUDGES, action="append", help="only these")
    parser.add_argument("--release", choices=recovers.RELEASES, action="append", default=[], help="with this log manager")
    arguments = parser.parse_args()
    for missing in filter(None, map(why_not_available, arguments.release)):
        print(missing, file=sys.stderr)
        return 2
    with log_managers(arguments.release) as managers:
        seen = Seen(managers)
        code = numbered.run(arguments, functools.partial(faults, seen, arguments), "directories")
    print(dict(sorted(seen.counts.items())))
    return code


def faults(seen: Seen, chosen: argparse.Namespace, seed: int, number: int, folder: Path) -> Iterator[str]:
    """What is wrong with what the commands make of one directory, with both kernels in turn."""
    source = chosen.source or SOURCES[number % len(SOURCES)]
    case = case_of(source, seed, number, folder)
    names = kernels.KERNELS if kernels.why_no_c() is None else kernels.KERNELS[:1]
    name = names[number // len(SOURCES) % len(names)]
    with kernels.using(name):
        for judge in chosen.judge or (["recover"] if source == REPLICAS else JUDGES):
            for failure in _judged(JUDGES[judge], case, seen):
                yield f"{name} kernel: {case.about}: {judge}: {failure}"


def measure(numbers: Iterable[int], seed: int, source: str, *judges: str, releases: Sequence[str] = ()) -> tuple[list[str], Seen]:
    """Judge directories of a source, by all judges or by these. Returns the faults, and what was seen."""
    chosen = argparse.Namespace(source=source, judge=judges)
    with log_managers(releases) as managers:
        seen, found = Seen(managers), []
        for number in numbers:
            with tempfile.TemporaryDirectory(prefix="kdump-directories-") as folder:
                found += [f"{number}: {fault}" for fault in faults(seen, chosen, seed, number, Path(folder))]
    return found, seen


@contextlib.contextmanager
def log_managers(releases: Sequence[str]) -> Iterator[list[LogManager]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(LogManager(release)) for release in releases]


def _judged(judge: Judge, case: Case, seen: Seen) -> list[str]:
    try:
        return judge(case, seen)
    except Exception:
        return [traceback.format_exc()]


# --- directories


def case_of(source: str, seed: int, number: int, folder: Path) -> Case:
    """Make a damaged directory, which depends only on where it is from, the seed and the number."""
    directory = folder / "orders-0"
    if source == GOLDEN:
        return Case(directory, make(directory, seed, number))
    chance = random.Random(f"incidents {seed} {number}")
    directory, contents = incidents.write(chance, folder)
    if source == WRITTEN:
        return Case(directory, incidents.befall(directory, chance), contents)
    replicas = [folder / f"replica{row}" / "orders-0" for row in range(3)]
    about = []
    for replica in replicas:
        shutil.copytree(directory, replica)
        about.append(incidents.rolled_elsewhere(replica, chance) if chance.random() < 0.5 else "")
        about[-1] += incidents.befall(replica, chance, incidents.BLOCKS)
    return Case(replicas[0], " | ".join(about), contents, replicas[1:], directory)


def make(directory: Path, seed: int, number: int) -> str:
    """Write a damaged directory of the goldens. Returns a description of the damage."""
    chance = random.Random(f"{seed} {number}")
    return incidents.changed_copy(chance.choice(_sources()), CASES, directory, chance, (1, 1, 2, 3, 5))


@functools.cache
def _sources() -> list[Path]:
    folders = sorted({file.parent for file in CASES.rglob("*") if file.suffix in DAMAGES and file.is_file()})
    return [folder for folder in folders if sum(file.stat().st_size for file in _files(folder)) <= LARGEST]


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file())


# --- judges


def _rows(directory: Path, level: str) -> list[Row]:
    rows: list[Row] = []
    for job in jobs(str(directory)):
        run(job, Settings(now=int(time.time() * 1000), level=level), rows.append)
    return rows


def _checked(case: Case, _: Seen) -> list[str]:
    """Compare the check at all levels with the table of its findings."""
    directory = case.directory
    rows = _rows(directory, FULL)
    findings = [row for row in rows if isinstance(row, Finding)]
    failures = []
    for row in rows + _rows(directory, DEEP):
        if isinstance(row, FileReport):
            bytes_of = (row.bytes_intact, row.bytes_salvaged, row.bytes_damaged, row.bytes_zero, row.bytes_not_examined)
            if sum(bytes_of) != row.size or min(bytes_of) < 0:
                failures.append(f"the bytes of {row.path} do not add up: {bytes_of} of {row.size}")
    told: Counter[tuple[object, ...]] = Counter(
        (row.code, row.path, row.start, row.end, row.offset_first, row.offset_last, row.message) for row in findings
    )
    keys = ("code", "path", "start", "end", "offsetFirst", "offsetLast", "message")
    listed = Counter(tuple(row[key] for key in keys) for row in _table(directory, "findings"))
    if told != listed:
        failures.append(f"findings differ: {list((told - listed) + (listed - told))[:3]}")
    return failures + _nonsense(row.message for row in findings)


def _forecast(case: Case, _: Seen) -> list[str]:
    """The forecast after each kind of stop."""
    rows = [*kdump.forecast(case.directory), *kdump.forecast(case.directory, after=UNCLEAN, recovery_point=ZERO)]
    negative = [f"{row.lost_records} records are lost" for row in rows if row.lost_records < 0]
    return negative + _nonsense(sentence for row in rows for sentence in (*sentences(row), summary(row)))


def _nonsense(texts: Iterable[str]) -> list[str]:
    return [f"{slip} in {text!r}" for text in texts for slip in nonsense(text)]


# --- sentences that no person would write: those that contradict themselves, and those that show objects of Python

_NUMBER = r"-?\d[\d,]*"
_THINGS = "byte|batch|record|offset|entry|message|segment|file|partition|header|transaction|producer|key"
_PLURALS = "bytes|batches|records|offsets|entries|messages|segments|files|partitions|headers|transactions|producers|keys"

_PATTERNS = {
    "says what it should say": r"says (\S+) and should be \1(?![\d,])",
    "a range of one": rf"\b(?:bytes|offsets) ({_NUMBER}) to \1(?![\d,])",
    "a negative count that no file claims": rf"(?<!says it is )(?<!says it has )(?<!says it holds )(?<!says that it has )"
    rf"(?<!off by )(?<!its key is )(?<!its value is )(?<![\w,])-\d(?:[\d,]*\d)? (?:{_PLURALS})\b",
    "one of several": rf"(?<![\d,.-])1 (?:{_PLURALS})\b",
    "several of one": rf"(?<![\d,.-])(?!1 )(?<!of )\d[\d,]* (?:{_THINGS}) (?:is|are|has|have|follows?|cannot)\b",
    "an object of Python": r"\b(?:None(?! of)|nan|inf|True|False)\b|<class|\bobject at 0x|\bb'|\{[a-z_]+\}",
    "a gap": r"\(\)|''|\"\"| ,|,,|:\.|(?<!\.)\.\.(?!\.)",
}


def nonsense(text: str) -> Iterator[str]:
    """What is wrong with a sentence, with the words that are."""
    for what, pattern in _PATTERNS.items():
        found = re.search(pattern, text)
        if found is not None:
            yield f"{what}: {found[0]!r}"
    for first, last in re.findall(rf"\bbytes ({_NUMBER}) to ({_NUMBER})", text):
        if _number(last) < _number(first):
            yield f"a range that ends before it begins: {first} to {last}"


def _number(text: str) -> int:
    return int(text.replace(",", ""))


# --- tables, and what is mended


def _agreed(case: Case, _: Seen) -> list[str]:
    """The verdict is no better than that of any start, because the next stop of a single directory is unknown."""
    verdict = kdump.verdict(case.directory, level=DEEP)
    unsound = [row for row in kdump.forecast(case.directory) if not row.is_sound]
    if verdict.exit_code or not unsound:
        return []
    row = unsound[0]
    return [
        f"{verdict.text}, but after {row.after}: {row.outcome}, {row.bytes_lost} bytes and {row.lost_records} records are lost"
    ]


def _read(case: Case, _: Seen) -> list[str]:
    """Every table, in slices of two sizes, has the same rows."""
    for table in TABLES:
        if table != "findings":
            whole, slices = (Counter(map(repr, _table(case.directory, table, size))) for size in ("64m", "1k"))
            if whole != slices:
                return [f"rows of {table} differ by the size of slices: {list((whole - slices) + (slices - whole))[:2]}"]
    return []


def _table(directory: Path, table: str, target_bytes: str = "64m") -> list[dict[str, object]]:
    options = Options({"table": table, "path": str(directory), "targetBytes": target_bytes})
    return [row for task in planning.plan(options) for batch in reading.read(task, options) for row in batch.to_pylist()]


def _recovered(case: Case, seen: Seen) -> list[str]:
    found = recovers.judge(case.directory, case.replicas, seen.managers, seen.recoveries)
    if case.sound is not None:
        found += recovers.unmerged(case.sound, [case.directory, *case.replicas], seen.recoveries)
    return found


def _reindexed(case: Case, seen: Seen) -> list[str]:
    return _refused_or_kept("reindex", lambda out: kdump.reindex(case.directory, out), case, seen)


def _sliced(case: Case, seen: Seen) -> list[str]:
    chance = random.Random(case.about)
    low = chance.randrange(60) + min((int(log.stem) for log in incidents.intact_logs(case.directory)), default=0)
    high, is_exact = low + chance.randrange(200), chance.random() < 0.5
    return _refused_or_kept(
        "slice", lambda out: kdump.slice(case.directory, out, from_offset=low, to_offset=high, exact=is_exact), case, seen
    )


def _refused_or_kept(name: str, mend: Callable[[Path], object], case: Case, seen: Seen) -> list[str]:
    folder = case.directory.parent
    out = folder / name / "orders-0"
    out.parent.mkdir()
    log_starts = folder / recovers.LOG_STARTS
    try:
        mend(out)
    except (CorruptData, Unreadable, UsageError):  # of a slice in which nothing would be
        seen.counts[f"{name} refused"] += 1
        return [] if not list(out.parent.iterdir()) else ["something is left of a refused one"]
    seen.counts[name] += 1
    if log_starts.exists() and name == "reindex":  # a slice starts where it starts
        shutil.copyfile(log_starts, out.parent / log_starts.name)
    if name == "reindex":  # makes what a log manager does, and that deletes some at its next start
        for path in out.glob("*.snapshot"):
            if not path.with_suffix(".log").exists() and int(path.stem) != recovers.end_of(out):
                path.unlink()
    return [
        failure
        for manager in seen.managers
        for start in recovers.STARTS
        for failure in recovers.not_kept(manager, start, out)
        if any(out.glob("*.log"))  # or else a start makes a first one
    ]


def _redacted(case: Case, seen: Seen) -> list[str]:
    found = redactions.redacted(case.directory, case.directory.parent / "redacted", case.contents)
    seen.counts["redacted otherwise" if found.differences else "redacted"] += 1
    return [f"{found.leaks[:3]} are left"] if found.leaks else []


JUDGES: dict[str, Judge] = {
    "check": _checked,
    "forecast": _forecast,
    "verdict": _agreed,
    "tables": _read,
    "recover": _recovered,
    "reindex": _reindexed,
    "slice": _sliced,
    "redact": _redacted,
}


if __name__ == "__main__":
    sys.exit(main())
