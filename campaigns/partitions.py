"""Damages partition directories, checks them, forecasts their starts, and reads them as tables.

    python -m campaigns.partitions --count 5000 --seed 7
    python -m campaigns.partitions --seed 7 --number 1234       one of them again

The directories are those of the goldens. Whatever the damage, nothing may raise, the bytes of each file add up, the table of
findings equals the findings of the check, the verdict is no better than the forecast, and no sentence is nonsense.
"""

import argparse
import functools
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import kdump
from campaigns.damage import DAMAGES, damage
from campaigns.nonsense import nonsense
from campaigns.starts import CHANGES
from golden_outputs.runs import CASES
from kdump.checks.finding import FileReport, Finding
from kdump.checks.jobs import jobs
from kdump.checks.settings import DEEP, FULL, Settings
from kdump.forecasts.sentences import sentences, summary
from kdump.forecasts.settings import UNCLEAN, ZERO
from kdump.output.arrow.rows import TABLES
from kdump.pipeline import planning, reading
from kdump.pipeline.options import Options
from kdump.tables import Row
from kdump.verdicts.check import run
from tests import kernels

LARGEST = 100_000  # bytes of a directory

Judge = Callable[[Path], list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, help="only this one")
    parser.add_argument("--keep", type=Path, help="keep the directories that fail here")
    arguments = parser.parse_args()
    numbers = range(arguments.count) if arguments.number is None else [arguments.number]
    started = time.monotonic()
    failures = measure(numbers, arguments.seed, arguments.keep)
    print(*failures, sep="\n")
    print(f"{len(numbers):,} directories, {len(failures):,} failures; {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


def measure(numbers: Sequence[int], seed: int, keep: Path | None = None) -> list[str]:
    """Test these directories with both kernels in turn. Returns the failures."""
    failures = []
    names = kernels.KERNELS if kernels.why_no_c() is None else kernels.KERNELS[:1]
    with tempfile.TemporaryDirectory(prefix="kdump-partitions-") as folder:
        for number in numbers:
            directory = Path(folder) / f"orders-{number}"
            about = make(directory, seed, number)
            name = names[number % len(names)]
            with kernels.using(name):
                found = [failure for judge in (_checked, _forecast, _agreed, _read) for failure in _judged(judge, directory)]
            failures += [f"{number}, {name} kernel: {about}: {failure}" for failure in found]
            if found and keep is not None:
                shutil.copytree(directory, keep / f"{seed}-{number}", dirs_exist_ok=True)
            shutil.rmtree(directory)
    return failures


def make(directory: Path, seed: int, number: int) -> str:
    """Write a damaged directory. Returns a description of the damage."""
    chance = random.Random(f"{seed} {number}")
    source, other = chance.choice(_sources()), chance.choice(_sources())
    directory.mkdir(parents=True)
    for file in _files(source):
        (directory / file.name).write_bytes(file.read_bytes())
    about = [source.relative_to(CASES).as_posix()]
    for _ in range(chance.choice((1, 1, 2, 3, 5))):
        if chance.random() < 0.3:
            change = chance.choice(CHANGES)
            about.append(f"{change.__name__[1:]}: {change(directory, chance)}")
            continue
        files = [file for file in _files(directory) if file.suffix in DAMAGES]
        if files:
            file = chance.choice(files)
            others = [one for one in _files(other) if one.suffix == file.suffix]
            damaged = damage(file.suffix, file.read_bytes(), others[0].read_bytes() if others else b"", chance)
            file.write_bytes(damaged.data)
            about.append(f"{file.name}: {damaged.what}")
    return "; ".join(about)


@functools.cache
def _sources() -> list[Path]:
    folders = sorted({file.parent for file in CASES.rglob("*") if file.suffix in DAMAGES and file.is_file()})
    return [folder for folder in folders if sum(file.stat().st_size for file in _files(folder)) <= LARGEST]


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file())


def _judged(judge: Judge, directory: Path) -> list[str]:
    try:
        return judge(directory)
    except Exception:
        return [traceback.format_exc()]


def _rows(directory: Path, level: str) -> list[Row]:
    rows: list[Row] = []
    for job in jobs(str(directory)):
        run(job, Settings(now=int(time.time() * 1000), level=level), rows.append)
    return rows


def _checked(directory: Path) -> list[str]:
    """Compare the check at all levels with the table of its findings."""
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


def _forecast(directory: Path) -> list[str]:
    """The forecast after each kind of stop."""
    rows = [*kdump.forecast(directory), *kdump.forecast(directory, after=UNCLEAN, recovery_point=ZERO)]
    negative = [f"{row.lost_records} records are lost" for row in rows if row.lost_records < 0]
    return negative + _nonsense(sentence for row in rows for sentence in (*sentences(row), summary(row)))


def _nonsense(texts: Iterable[str]) -> list[str]:
    return [f"{slip} in {text!r}" for text in texts for slip in nonsense(text)]


def _agreed(directory: Path) -> list[str]:
    """The verdict is no better than that of any start, because the next stop of a single directory is unknown."""
    verdict = kdump.verdict(directory, level=DEEP)
    unsound = [row for row in kdump.forecast(directory) if not row.is_sound]
    if verdict.exit_code or not unsound:
        return []
    row = unsound[0]
    return [
        f"{verdict.text}, but after {row.after}: {row.outcome}, {row.bytes_lost} bytes and {row.lost_records} records are lost"
    ]


def _read(directory: Path) -> list[str]:
    """Every table, in slices of two sizes, has the same rows."""
    for table in TABLES:
        if table != "findings":
            whole, slices = (Counter(map(repr, _table(directory, table, size))) for size in ("64m", "1k"))
            if whole != slices:
                return [f"rows of {table} differ by the size of slices: {list((whole - slices) + (slices - whole))[:2]}"]
    return []


def _table(directory: Path, table: str, target_bytes: str = "64m") -> list[dict[str, object]]:
    options = Options({"table": table, "path": str(directory), "targetBytes": target_bytes})
    return [row for task in planning.plan(options) for batch in reading.read(task, options) for row in batch.to_pylist()]


if __name__ == "__main__":
    sys.exit(main())
