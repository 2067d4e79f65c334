"""Lists parts of logs, also damaged ones, with random options, and compares them with the whole listing and a plain filter.

    python -m campaigns.listings --count 10000 --seed 7
    python -m campaigns.listings --seed 7 --number 1234          one of them again

The whole listing, as rows with the offsets, times and positions of their batches, is what a part is made of: each row that fits
must be there, once and in order, nothing else, and of the findings those about what is listed.
"""

import json
import random
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from campaigns import numbered
from campaigns.damage import damage
from golden_outputs.runs import CASES
from tests import kernels
from tests.kernels import Sizes

LARGEST_SOURCE = 64 << 10
LOG, INDEX = ".log", ".index"
NO_TIMESTAMP = -1
SIZES = (Sizes(), Sizes(window=200, out=300), Sizes(stretch=300, out=5000))
STRETCHES = (1 << 20, 1 << 20, 1, 100, 1000)

_FINDING = re.compile(r", byte (\d+): |: bytes? (\d+)(?: to \d+)?: ")
_RANGE = re.compile(r": bytes? (\d+)(?: to (\d+))?: (?!.*batch-length-mismatch)")

Row = dict[str, Any]


class Case(NamedTuple):
    """One listing: the bytes of a log and of its index, if it has one, and how it is read and listed."""

    source: Path
    data: bytes
    index_data: bytes | None
    stretch: int
    is_deep: bool
    part_sizes: Sizes
    chance: random.Random


class Listed(NamedTuple):
    """The rows of a listing, the messages beside it, and its exit code."""

    rows: list[Row]
    messages: list[str]
    exit_code: int


@cache
def sources() -> list[Path]:
    """The logs of all golden cases that are not large."""
    return sorted(path for path in CASES.glob("*/*.log") if path.is_file() and path.stat().st_size <= LARGEST_SOURCE)


def case_of(seed: int, number: int) -> Case:
    """The listing of this number."""
    chance = random.Random(f"{seed}-{number}")
    source = chance.choice(sources())
    data, index = source.read_bytes(), source.with_suffix(INDEX)
    if chance.random() < 0.3:
        data += chance.choice(sources()).read_bytes()
    if chance.random() < 0.6:
        data = damage(LOG, data, chance.choice(sources()).read_bytes(), chance).data
    has_index = index.is_file() and chance.random() < 0.5
    return Case(
        source,
        data,
        index.read_bytes() if has_index else None,
        chance.choice(STRETCHES),
        chance.random() < 0.7,
        chance.choice(SIZES),
        chance,
    )


def faults(case: Case, folder: Path) -> Iterator[str]:
    """What is wrong with some parts of one log; nothing if all is right."""
    path = folder / case.source.name
    path.write_bytes(case.data)
    path.with_suffix(INDEX).unlink(missing_ok=True)
    if case.index_data is not None:
        path.with_suffix(INDEX).write_bytes(case.index_data)
    batches = {row["position"]: row for row in _listed(case, path, is_deep=False).rows}
    whole = _listed(case, path, is_deep=case.is_deep)
    for options in _parts(case.chance, whole, batches):
        arguments = [text for name, value in options.items() for text in (name, _as_option(name, value))]
        part = _listed(case, path, *arguments, sizes=case.part_sizes)
        for fault in _faults_of_part(case, options, whole, batches, part):
            yield f"{options}: {fault}"


def _listed(case: Case, path: Path, *options: str, is_deep: bool | None = None, sizes: Sizes = Sizes()) -> Listed:  # noqa: B008
    way = ["--deep"] if (case.is_deep if is_deep is None else is_deep) else []
    with kernels.reading_with(kernels.in_windows(case.stretch)):
        exit_code, out, err = kernels.listed(["log", *way, *options, "--output", "ndjson", "--decode", "none", path], sizes)
    return Listed([json.loads(line) for line in out.splitlines()], err.decode().splitlines(), exit_code)


def _as_option(name: str, value: int) -> str:
    if not name.endswith("-time"):
        return str(value)
    return f"{'-' if value < 0 else ''}{abs(value):013d}"  # milliseconds since 1970


def _parts(chance: random.Random, whole: Listed, batches: dict[int, Row]) -> Iterator[dict[str, int]]:
    """Options that select rows: ends of the log, limits, and ranges from and to what occurs in it."""
    count = len(whole.rows)
    yield {"--tail": chance.choice((1, 2, 3, 5, max(1, count - 1), max(1, count), count + 1))}
    yield {"--tail": chance.randrange(1, count + 2)}
    yield {"--limit": chance.randrange(1, count + 2)}
    offsets = [row[name] for row in whole.rows for name in ("offset", "baseOffset", "lastOffset") if row.get(name) is not None]
    times = [row["timestamp"] for row in whole.rows if row["timestamp"] is not None]
    values = {
        "--from-offset": offsets,
        "--to-offset": offsets,
        "--from-time": times,
        "--to-time": times,
        "--from-position": list(batches),
    }
    for _ in range(3):
        names = chance.sample(sorted(values), chance.choice((1, 1, 2, 2, 3)))
        options = {name: max(chance.choice(values[name]) + chance.choice((-1, 0, 0, 1)), 0) for name in names if values[name]}
        for first, last in (("--from-offset", "--to-offset"), ("--from-time", "--to-time")):  # in order: others are refused
            if first in options and last in options:
                options[first], options[last] = sorted((options[first], options[last]))
        if chance.random() < 0.3:
            options["--limit"] = chance.randrange(1, count + 2)
        if options:
            yield options


def _faults_of_part(case: Case, options: dict[str, int], whole: Listed, batches: dict[int, Row], part: Listed) -> Iterator[str]:
    is_sought = case.index_data is not None and bool(options.keys() & {"--tail", "--from-offset", "--from-position"})
    if is_sought:  # batches that the whole log puts in doubt may be beyond it from where the index leads
        part, whole = (of._replace(rows=[{**row, "status": "?"} for row in of.rows]) for of in (part, whole))
    ranges = {int(found[1]) for message in whole.messages if (found := _RANGE.search(message))}
    limit = options.get("--limit", len(whole.rows) + 1)
    if len(part.rows) > limit:
        yield f"{_brief(part.rows)} are too many"
    end = 0  # of the whole listing, up to the last row of the part
    for row in part.rows:
        is_range = row["position"] in ranges  # it waits until the batch after it is known
        place = next((place for place, one in enumerate(whole.rows) if one == row and (is_range or place >= end)), -1)
        if place < 0:
            yield f"{_brief([row])} in {_brief(part.rows)} is not the next of {_brief(whole.rows)}"
        end = max(end, place + 1)
    if "--tail" in options:
        yield from _faults_of_tail(options["--tail"], ranges, whole, part)
    elif list(options) == ["--limit"]:
        if part.rows != whole.rows[:limit]:
            yield f"{_brief(part.rows)} are not the first of {_brief(whole.rows)}"
    else:
        for row in whole.rows[: end if len(part.rows) == limit else None]:
            fit = _fit(case, row, options, batches)
            if fit is not None and fit != (row in part.rows):
                yield f"{_brief([row])} is {'missing' if fit else 'there'}, of {_brief(part.rows)}"
    if is_sought:
        return
    strange = [message for message in part.messages if _FINDING.search(message) and message not in whole.messages]
    if strange:
        yield f"{strange} is not said of the whole log"
    has_findings = any(_FINDING.search(message) for message in part.messages)
    if part.exit_code != (1 if has_findings else 0):
        yield f"exit code {part.exit_code}, with {part.messages}"
    if not has_findings and any(row["status"] == "damaged" for row in part.rows):
        yield "nothing is said about damaged rows"


def _faults_of_tail(count: int, ranges: set[int], whole: Listed, part: Listed) -> Iterator[str]:
    ends = [_tail(whole.rows, ranges, count)]
    if (
        sum(row["position"] not in ranges for row in whole.rows) <= count
    ):  # before the last rows, there may be batches without any
        ends += [whole.rows, whole.rows[1:]]
    if part.rows not in ends:
        yield f"{_brief(part.rows)} instead of {_brief(ends[0])}"
    first = part.rows[0]["position"] if part.rows else -1  # of its batch, some rows may be left out
    due, said = ([message for message in of if _position(message) > first] for of in (whole.messages, part.messages))
    if said != due:
        yield f"{said} instead of {due}"


def _tail(rows: list[Row], ranges: set[int], count: int) -> list[Row]:
    """The last rows; a damaged range between them is not counted."""
    places = [place for place, row in enumerate(rows) if row["position"] not in ranges]
    return rows[places[-count] :] if len(places) >= count else rows


def _fit(case: Case, row: Row, options: dict[str, int], batches: dict[int, Row]) -> bool | None:
    """Whether a row is in all ranges; None where that is not certain. Records only are if their batch may hold such."""
    if row["status"] == "damaged" and row.get("offset") is None:
        return None  # anything may have been there
    batch = batches[row["position"]]
    if row["status"] == "?" and batch["status"] != "intact":
        return None
    if row["position"] < options.get("--from-position", 0):
        return False
    lowest, highest = options.get("--from-offset", -(1 << 63)), options.get("--to-offset", 1 << 63)
    earliest, latest = options.get("--from-time", -(1 << 63)), options.get("--to-time", 1 << 63)
    is_timed = bool(options.keys() & {"--from-time", "--to-time"})
    time = batch["timestamp"]
    if batch["lastOffset"] < lowest or is_timed and (time == NO_TIMESTAMP or time < earliest):
        return False
    if case.is_deep and row["offset"] is not None:
        if is_timed and not (row["timestamp"] != NO_TIMESTAMP and earliest <= row["timestamp"] <= latest):
            return False
        if not lowest <= row["offset"] <= highest:
            return False
    first_offset, first_time = _firsts(case, batch)
    if first_offset is None or first_time is None:
        return None
    return first_offset <= highest and (case.is_deep or not is_timed or first_time <= latest)


def _firsts(case: Case, batch: Row) -> tuple[int | None, int | None]:
    """The first offset and time that a batch may hold, None where its header does not say so."""
    if batch["baseOffset"] is None:
        return (batch["lastOffset"], batch["timestamp"]) if batch["compresscodec"] == "none" else (None, None)
    time = batch["timestamp"]
    if batch["timestampType"] == "LogAppendTime" or time == NO_TIMESTAMP:
        return batch["baseOffset"], time
    base = int.from_bytes(case.data[batch["position"] + 27 : batch["position"] + 35], "big", signed=True)
    return batch["baseOffset"], min(base, time)


def _position(message: str) -> int:
    found = _FINDING.search(message)
    return -1 if found is None else int(found[1] or found[2])


def _brief(rows: list[Row]) -> list[tuple[int, int | None, str]]:
    return [(row["position"], row.get("offset", row.get("lastOffset")), row["status"]) for row in rows][:20]


def main() -> int:
    def faults_of(seed: int, number: int, folder: Path) -> Iterator[str]:
        case = case_of(seed, number)
        for fault in faults(case, folder):
            yield f"{case.source.parent.name}, {case.stretch}, deep: {case.is_deep}: {fault}"

    return numbered.run(__doc__, faults_of, "logs")


if __name__ == "__main__":
    sys.exit(main())
