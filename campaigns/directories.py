"""Damages partition directories in all ways, gives them to the commands that judge and mend, and looks for slips.

    python -m campaigns.directories --count 2000                                    without a broker
    python -m campaigns.directories --count 200 --release 4.3.1 --release 2.8.2     results are loaded by these log managers
    python -m campaigns.directories --seed 1 --number 123 --judge recover --keep /tmp/directories

A directory is one of the goldens with random damage; or one that is written, with transactions, leader epochs, gaps of
compaction and old messages, to which happens what disks, crashes and people do (`incidents`); or three replicas of such a one.

Whatever the damage, nothing may raise, the bytes of each file add up, no sentence is nonsense, the table of findings equals the
findings of the check, tables are the same in slices of two sizes, and the verdict is no better than the forecast. `recover` is
judged, also with `--merge`: the input stays as it is; each log of the result consists of intact batches in ascending order; each
intact batch of the input is in the result, or a row of the report says why it is not; a log manager keeps all of it, after a
clean stop and after an unclean one with recovery point 0; and a refusal leaves nothing behind. `reindex` and `slice` must refuse,
or make what a log manager keeps; of `redact` nothing may leak.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import kdump
from campaigns import incidents, numbered, redactions
from campaigns.damage import DAMAGES
from golden_outputs.runs import CASES
from kdump.checks.finding import ERROR, FileReport, Finding
from kdump.checks.jobs import jobs
from kdump.checks.settings import DEEP, FULL, Settings
from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.forecasts.sentences import sentences, summary
from kdump.forecasts.settings import UNCLEAN, ZERO
from kdump.mending.recover import recover
from kdump.mending.recover.pieces import NESTED
from kdump.mending.row import Dropped, Rewritten
from kdump.output.arrow.rows import TABLES
from kdump.pipeline import planning, reading
from kdump.pipeline.options import Options
from kdump.tables import Row
from kdump.verdicts.check import run
from tests import kernels
from tests.oracle import batches
from tests.oracle.restarts import LogManager, Request, Start, why_not_available

LARGEST = 100_000  # bytes of a directory
RELEASES = ("2.8.2", "3.9.1", "4.3.1")
STARTS = (Start("clean", 0), Start("unclean", 0))
UNFIT = ("codec-unknown", "bad-magic")  # no broker could load these batches, or no consumer read them
LOGS = (".log", ".log.swap")
LOSING = ("truncated-at-boundary", "segment-missing", "segments-gap", "epochs-beyond-log", "crc-mismatch", "garbage-region")
OF_ENDS = ("segment-missing", "epochs-beyond-log")
"""These know only where logs begin and end, and batches before the last one in the file may end after it."""

GOLDEN, WRITTEN, REPLICAS = SOURCES = ("golden", "written", "replicas")


class Case(NamedTuple):
    """A damaged directory: what happened to it, the contents of its records, its replicas, and the sound one they are of."""

    directory: Path
    about: str
    contents: Sequence[bytes] = ()
    replicas: Sequence[Path] = ()
    sound: Path | None = None


class Seen:
    """How often commands refused, or did what they should, and the log managers that load what they make."""

    def __init__(self, managers: Sequence[LogManager] = ()) -> None:
        self.managers = managers
        self.counts: Counter[str] = Counter()
        self.codes: set[str] = set()
        """Of what recoveries dropped."""


Judge = Callable[[Case, Seen], list[str]]


def main() -> int:
    parser = numbered.parser(__doc__, count=500)
    parser.add_argument("--source", choices=SOURCES, help="only these directories")
    parser.add_argument("--judge", choices=JUDGES, action="append", help="only these")
    parser.add_argument("--release", choices=RELEASES, action="append", default=[], help="with this log manager")
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
    lost = f"{row.bytes_lost} bytes and {row.lost_records} records are lost"
    return [f"{verdict.text}, but after {row.after}: {row.outcome}, {lost}"]


def _read(case: Case, _: Seen) -> list[str]:
    """Every table, in slices of two sizes, has the same rows."""
    for table in TABLES:
        if table != "findings":
            whole, slices = (Counter(map(repr, _table(case.directory, table, size))) for size in ("64m", "1k"))
            if whole != slices:
                return [f"rows of {table} differ by the size of slices: {list((whole - slices) + (slices - whole))[:2]}"]
    return []


def _table(directory: Path, table: str, target_bytes: str = "64m") -> list[dict[str, Any]]:
    options = Options({"table": table, "path": str(directory), "targetBytes": target_bytes})
    return [row for task in planning.plan(options) for batch in reading.read(task, options) for row in batch.to_pylist()]


def _sliced(case: Case, seen: Seen) -> list[str]:
    chance = random.Random(case.about)
    low = chance.randrange(60) + min((int(log.stem) for log in incidents.intact_logs(case.directory)), default=0)
    high, is_exact = low + chance.randrange(200), chance.random() < 0.5
    cut = functools.partial(kdump.slice, case.directory, from_offset=low, to_offset=high, exact=is_exact)
    return _refused_or_kept("slice", cut, case, seen)


def _refused_or_kept(name: str, mend: Callable[[Path], object], case: Case, seen: Seen) -> list[str]:
    folder = case.directory.parent
    out = folder / name / "orders-0"
    out.parent.mkdir()
    log_starts = folder / incidents.LOG_STARTS
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
            if not path.with_suffix(".log").exists() and int(path.stem) != _end_of(out):
                path.unlink()
    return _not_kept(out, seen) if any(out.glob("*.log")) else []  # or else a start makes a first one


def _redacted(case: Case, seen: Seen) -> list[str]:
    leaks, differences = redactions.redacted(case.directory, case.directory.parent / "redacted", case.contents)
    seen.counts["redacted otherwise" if differences else "redacted"] += 1
    return [f"{leaks[:3]} are left"] if leaks else []


# --- recoveries


def _recovered(case: Case, seen: Seen) -> list[str]:
    """Recover a directory, or merge it with its replicas."""
    folders = [case.directory, *case.replicas]
    out = case.directory.parents[1 if case.replicas else 0] / "out" / "orders-0"
    out.parent.mkdir()
    before = [_contents(path) for path in folders]
    try:
        result = recover.run([str(case.directory)], str(out), merge=[str(path) for path in case.replicas], config={})
    except (CorruptData, Unreadable) as error:
        seen.counts.update(["refused", f"refused: {error.code}"])
        failures = [] if not list(out.parent.iterdir()) else ["something is left of a refused recovery"]
        return failures + [f"refused: {error}"] * (error.code not in ("replica-divergence", "file-not-regular"))
    seen.codes |= {row.code for row in result.rows if isinstance(row, Dropped)}
    log_starts = case.directory.parent / incidents.LOG_STARTS
    if log_starts.exists() and int(log_starts.read_text().split()[-1]) <= _end_of(out):  # a start looks for it beside the result
        shutil.copyfile(log_starts, out.parent / log_starts.name)
    seen.counts["whole" if result.is_whole else "partial"] += 1
    failures = [] if before == [_contents(path) for path in folders] else ["the input has changed"]
    failures += _wrong_in(out) + _not_kept(out, seen)
    if not case.replicas:
        failures += _unexplained(case.directory, out, result)
    if case.sound is not None:
        failures += _unmerged(case.sound, folders, out, result, seen)
    return failures


def _wrong_in(out: Path) -> list[str]:
    """What is wrong with the logs of a result, as far as bytes and offsets say."""
    failures, last = [], -1
    for log in sorted(out.glob("*.log")):
        data = log.read_bytes()
        found = list(batches.intact(data))
        if sum(len(batch.content) for batch in found) != len(data):
            failures.append(f"{log.name} does not consist of intact batches")
        base = int(log.stem)
        for batch in found:
            if batch.first_offset <= last or batch.first_offset < base or batch.last_offset - base > 0x7FFFFFFF:
                failures.append(f"{log.name}: offset {batch.first_offset} comes after {last}, in the segment of {base}")
            last = batch.last_offset
    return failures


def _unexplained(directory: Path, out: Path, result: recover.Result) -> list[str]:
    """Intact batches of the input that are not in the result, though no row says why."""
    made = Counter(batch.content for log in out.glob("*.log") for batch in batches.intact(log.read_bytes()))
    failures = []
    for log in sorted(path for path in directory.iterdir() if path.name.endswith(LOGS) and path.is_file()):
        data, position = log.read_bytes(), 0
        for batch in batches.intact(data):
            position = data.index(batch.content, position)
            if not made[batch.content] and not _is_explained(str(log), position, position + len(batch.content), result):
                failures.append(f"the batch of offset {batch.first_offset} at byte {position} of {log.name} is missing")
            position += len(batch.content)
    if result.is_whole and any(isinstance(row, Dropped) and row.is_lost for row in result.rows):
        failures.append("bytes are lost, and the result is called whole")
    return failures + (_known_to_be_lost(directory, out) if result.is_whole else [])


def _known_to_be_lost(directory: Path, out: Path) -> list[str]:
    """What a check of the input calls lost, though the result has not all of these offsets, and is called whole."""
    logs = [list(batches.intact(log.read_bytes())) for log in out.glob("*.log")]
    in_batches = [(batch.first_offset, batch.last_offset) for log in logs for batch in log]
    in_logs = [(log[0].first_offset, log[-1].last_offset) for log in logs if log]  # which a leftover may have filled
    swaps = [list(batches.intact(path.read_bytes())) for path in directory.glob("*.log.swap") if path.is_file()]
    in_swaps = [(log[0].first_offset, log[-1].last_offset) for log in swaps if log]  # which is what the cleaner has left
    failures = []
    for finding in kdump.check(directory):
        is_of_snapshot = finding.path.endswith(".checkpoint")  # of KRaft, which is taken over only with the metadata
        first, last = finding.offset_first, finding.offset_last
        if is_of_snapshot or finding.severity != ERROR or finding.code not in LOSING or first is None or last is None:
            continue
        extents = [*(in_logs if finding.code in OF_ENDS else in_batches), *in_swaps]
        if not any(low <= first <= high for low, high in extents) or not any(low <= last <= high for low, high in extents):
            failures.append(f"{finding.code} says that offsets {first} to {last} are lost, and the result is called whole")
    return failures


def _is_explained(path: str, start: int, end: int, result: recover.Result) -> bool:
    for row in result.rows:
        if isinstance(row, Dropped) and row.source == path and row.start < end and start < row.end and row.reason:
            return True
        if isinstance(row, Rewritten) and row.source == path and row.start <= start < row.start + row.bytes:
            return True
    return False


def _unmerged(source: Path, replicas: Sequence[Path], out: Path, result: recover.Result, seen: Seen) -> list[str]:
    """Batches of the undamaged log that a replica holds intact, and that are missing or changed in the merged one."""
    all_batches = [batch for log in sorted(source.glob("*.log")) for batch in batches.intact(log.read_bytes())]
    whole = [batch.content for batch in all_batches]
    held = {batch.content for path in replicas for log in path.glob("*.log") for batch in batches.intact(log.read_bytes())}
    dropped = [row for row in result.rows if isinstance(row, Dropped)]
    unfit = {row.offset_first for row in dropped if row.code in UNFIT or "a start fails" in row.reason}
    unfit |= {row.offset_first or 0 for row in dropped if row.is_lost and row.code == NESTED}
    wanted = [batch.content for batch in all_batches if batch.content in held and batch.first_offset not in unfit]
    made = [batch.content for log in sorted(out.glob("*.log")) for batch in batches.intact(log.read_bytes())]
    seen.counts["merged whole"] += made == whole
    missing = Counter(wanted) - Counter(made)
    known = {_covered(batch.content) for batch in all_batches if batch.content not in held}
    more = Counter(content for content in made if content not in whole and _covered(content) not in known)
    failures = []
    if missing or more:
        failures.append(f"{missing.total()} batches of {len(wanted)} are missing, {more.total()} are not of the undamaged log")
    covered = set(map(_covered, made))
    gone = [batch for batch in all_batches if _covered(batch.content) not in covered and _left_traces(batch, source, replicas)]
    if result.is_whole and gone:
        failures.append(f"{len(gone)} batches that were damaged in all replicas are not there, and the result is called whole")
    return failures


def _left_traces(batch: batches.Batch, source: Path, replicas: Sequence[Path]) -> bool:
    """Whether a replica still has bytes where a batch was, other than zeros, in a log that goes on after it."""
    for log in source.glob("*.log"):
        start = log.read_bytes().find(batch.content)
        for path in (replica / log.name for replica in replicas if start >= 0):
            data = path.read_bytes() if path.exists() else b""
            if len(data) > start + len(batch.content) and data[start : start + len(batch.content)].strip(b"\0"):
                return True
    return False


def _covered(content: bytes) -> bytes:
    return content[21:] if content[16] == 2 else content[16:]


def _not_kept(out: Path, seen: Seen) -> list[str]:
    """What log managers do at a start that changes something, or does not end where the batches do."""
    return [failure for manager in seen.managers for start in STARTS for failure in _changed(manager, start, out)]


def _changed(manager: LogManager, start: Start, out: Path) -> list[str]:
    record = manager.record(Request(out), start)
    about = f"{record['release']}, {start.stop}"
    if record["result"] != "loaded":
        return [f"{about}: {record['result']} {record.get('exception')} {record.get('message')}"]
    failures = []
    if record["outcome"] != "keep" or record.get("also"):
        failures.append(f"{about}: {record['outcome']} {record.get('also')} {record.get('log')}")
    after = manager.files(Request(out))
    changed = [file for file in record.get("files", ()) if not _may_change(file, out, after)]
    if changed:
        failures.append(f"{about}: changed {changed}")
    if record["log_end"] != _end_of(out):
        failures.append(f"{about}: the log ends at {record['log_end']}, not {_end_of(out)}")
    return failures


def _may_change(file: Sequence[Any], out: Path, after: Mapping[str, bytes]) -> bool:
    """Whether a file is a snapshot that a start adds, or one with the same producers in another order.

    One is added of an empty log, or before old messages at the end of the log; the order depends on the release before 3.6.
    """
    name, change, *_ = file
    if not name.endswith(".snapshot"):
        return False
    return change == "created" or change == "rewritten" and _producers((out / name).read_bytes()) == _producers(after[name])


def _producers(snapshot: bytes) -> list[bytes]:
    """The entries of a snapshot of version 1, in order of their bytes."""
    return sorted(snapshot[at : at + 46] for at in range(10, len(snapshot), 46))


def _end_of(out: Path) -> int:
    newest = max(out.glob("*.log"), default=None)
    if newest is None:
        return 0
    return max((batch.last_offset + 1 for batch in batches.intact(newest.read_bytes())), default=int(newest.stem))


def _contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in _files(directory)}


JUDGES: dict[str, Judge] = {
    "check": _checked,
    "forecast": _forecast,
    "verdict": _agreed,
    "tables": _read,
    "recover": _recovered,
    "reindex": lambda case, seen: _refused_or_kept("reindex", lambda out: kdump.reindex(case.directory, out), case, seen),
    "slice": _sliced,
    "redact": _redacted,
}


if __name__ == "__main__":
    sys.exit(main())
