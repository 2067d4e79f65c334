"""Damages ordinary logs in ordinary ways, and compares the answers of every command with what is known to be left.

    python -m campaigns.boring                                             all shapes and kinds, in logs of 24 MiB
    python -m campaigns.boring --mib 256 --shape 'lz4-*' --kind 'headers-*' --seed 7
    python -m campaigns.boring --shape 4-kib --kind stale-64k --command check --command log --kernel python --sizes ordinary

A log is written by a writer of its own (`boring_logs`), damaged by moving and replacing pieces of it (`boring_damage`), and
because the pieces are known, so are the batches and offsets that are left, and what a start would cut off (`boring_truth`).
Nothing of kdump is asked for that. A case that fails prints the command that runs it again; `--keep DIR` keeps its partition.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import functools
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from campaigns import boring_truth
from campaigns.boring_damage import FOR_MAGIC_2, KINDS, NEEDS_SEGMENTS, NOTHING_LOST, damage
from campaigns.boring_logs import SHAPES, Batch, companions, key_of, written
from campaigns.boring_truth import Range, Truth, count_of, joined, walk, without
from kdump.reading import tuning
from tests import kernels
from tests.builders.files import file_name
from tests.support import run_here

MIB = 1 << 20
ORDINARY = "ordinary"
SIZES: dict[str, dict[str, Any]] = {
    ORDINARY: {},
    "far": {"near_bytes": MIB, "stretch_bytes": 16 << 20},
    "narrow": {"window_bytes": 64 << 10, "near_bytes": 4 << 10, "stretch_bytes": 256 << 10},
    "poor": {"free_crc_bytes": MIB, "free_tries": 1 << 12},
}
"""Sizes at which the work is divided, and that of free work; none may change an answer."""

FALSE_SENTENCE = "look like headers of batches and are none"
UNREADABLE = re.compile(
    r"Consumers cannot read (at least )?([\d,]+) of ([\d,]+) offsets(?:: ([-\d,]+)(?: (?:to|down to) ([-\d,]+))?)?"
)
DENIALS = ("compacted", "tombstone-expired", "not-written", "missing", "below-log-start", "not-found")
"""Answers of `where` that say of an offset that no damage took it."""

Row = dict[str, Any]


class Case(NamedTuple):
    """A damaged partition in a directory, what is true about it, and chance for questions."""

    shape: str
    kind: str
    directory: Path
    truth: Truth
    chance: random.Random


class Said(NamedTuple):
    """What a command printed."""

    exit_code: int
    out: str
    err: str

    @property
    def rows(self) -> list[Row]:
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row["kind"] == kind]


Judge = Callable[[Case], Iterator[str]]
"""Asks one command, and yields what is wrong with its answer."""


def said(*arguments: str | Path) -> Said:
    """Run a command in this process."""
    code, out, err = run_here(*arguments)
    return Said(code, out.decode(), err.decode())


# --- log


def judge_log(case: Case) -> Iterator[str]:
    """Each intact batch is a row, and each row that is not called damaged is such a batch."""
    answer = said("log", "--output", "ndjson", case.directory)
    listed = _claims(answer.rows)
    yield from _compared(case, listed, lambda _: True)
    yield from _sentences(answer.out + answer.err)
    if case.kind in NOTHING_LOST and case.kind not in ("preallocated", "joined") and answer.exit_code != 0:
        yield f"exit code {answer.exit_code}, where nothing is damaged: {answer.err[:300]}"
    if any(first < case.truth.last_kept for first, _ in case.truth.gone) and _has_damage(case) and answer.exit_code == 0:
        yield "exit code 0, where batches are damaged"


def _has_damage(case: Case) -> bool:
    """Whether some bytes of the logs belong to no batch; where whole batches are gone, there are none."""
    size = sum(len(data) for data in case.truth.data.values())
    return sum(len(one.batch.data) for one in case.truth.found if one.is_exact) < size


def _claims(rows: Sequence[Row]) -> dict[tuple[int, int], Row]:
    """The rows of batches that are not called damaged, by log and position."""
    return {(int(Path(row["file"]).stem), row["position"]): row for row in rows if row["status"] in ("intact", "salvaged")}


def _compared(case: Case, listed: dict[tuple[int, int], Row], fits: Callable[[Batch], bool]) -> Iterator[str]:
    """What is wrong with rows that should be those of the intact batches that fit."""
    truth = case.truth
    there = {(one.base, one.position): one for one in truth.found}
    missing = [
        one
        for place, one in there.items()
        if one.is_exact and not one.is_foreign and place not in truth.nested and place not in listed and fits(one.batch)
    ]
    if missing:
        records = sum(one.batch.records for one in missing)
        first = missing[0]
        what = f"offset {first.batch.first} at byte {first.position}"
        yield f"{len(missing)} intact batches ({records} records) are not listed, such as {what}"
    invented = [place for place in listed if place not in there and place not in truth.inner]
    if invented:
        yield f"{len(invented)} batches are listed that are none, such as that at byte {invented[0][1]}: {listed[invented[0]]}"
    for place, row in listed.items():
        one = there.get(place)
        if one is not None and one.is_exact and (wrong := _differs(row, one.batch)):
            yield f"the row at byte {place[1]} has {wrong}"
            return
    alien = [place for place in listed if place in there and there[place].is_exact and not fits(there[place].batch)]
    alien = [place for place in alien if case.shape not in WRAPPERS or there[place].batch.magic == 2]
    if alien:  # wrappers may be listed where they need not: they do not say which offset is their first
        yield f"{len(alien)} batches are listed that were not asked for, such as that at byte {alien[0][1]}"


def _differs(row: Row, batch: Batch) -> str:
    expected = {"lastOffset": batch.last, "size": len(batch.data), "magic": batch.magic}
    if batch.magic == 2:
        expected |= {"baseOffset": batch.first, "count": batch.records, "partitionLeaderEpoch": batch.leader_epoch}
    for name, value in expected.items():
        if row[name] != value:
            return f"{name} {row[name]} instead of {value}"
    return ""


# --- check


def judge_check(case: Case) -> Iterator[str]:
    """The headline counts the offsets that are gone; findings claim nothing else; the exit code is 0 only if all is sound."""
    truth = case.truth
    text = said("check", case.directory)
    yield from _sentences(text.out + text.err)
    yield from _headline(case, text.out)
    answer = said("check", "--output", "ndjson", case.directory)
    findings = answer.of("finding")
    for finding in findings:
        first, last = finding["offsetFirst"], finding["offsetLast"]
        if first is None:
            continue
        if last < first or (first < 0 and finding["code"] != "offset-negative"):
            yield f"{finding['code']} is about offsets {first} to {last}"
        elif finding["skipped"] and (false := without([(first, last)], truth.gone_or_changed)) and first < truth.end_offset:
            claim = f"offsets {false[0][0]} to {false[-1][1]} ({count_of(false)})"
            yield f"{finding['code']} at byte {finding['start']} claims {claim}, which are intact or never were"
        elif finding["skipped"] and last >= truth.end_offset and not _has_high_offsets(case):
            claim = f"offsets {first} to {last}"
            yield f"{finding['code']} at byte {finding['start']} claims {claim}; the log ends at {truth.end_offset}"
    errors = [finding["code"] for finding in findings if finding["severity"] == "error"]
    if truth.gone_or_changed and case.kind not in ("torn", "torn-zeros") and not errors and case.kind != "missing-batches":
        yield "no error, though batches are damaged"
    if case.kind == "sound":
        bad = [finding["code"] for finding in findings if finding["severity"] != "info"]
        if bad or answer.exit_code != 0:
            yield f"exit code {answer.exit_code} and {bad}, of a sound log"
    files = {row["path"]: row for row in answer.of("file") if row["fileType"] == "log"}
    batches = sum(row["batchesIntact"] + row["batchesSalvaged"] for row in files.values())
    low = sum(one.is_exact and not one.is_foreign for one in truth.found) - len(truth.nested)
    high = len(truth.found) + len(truth.inner)
    if not low <= batches <= high:
        yield f"{batches} batches are intact or salvaged, instead of {low} to {high}"


def _headline(case: Case, text: str) -> Iterator[str]:
    truth = case.truth
    found = UNREADABLE.search(" ".join(text.split()))
    inner = [(first, last) for first, last in truth.gone if first < truth.last_kept]
    lowest, highest = count_of(without(inner, truth.passing_offsets)), count_of(truth.gone_or_changed)
    if found is None:
        if inner and case.kind not in ("missing-batches", "missing-segment"):
            yield f"nothing about {lowest} offsets that cannot be read"
        return
    at_least, count, total = bool(found[1]), _number(found[2]), _number(found[3])
    if case.kind in ("missing-batches", "missing-segment"):
        lowest = 0
    elif at_least:  # those whose offsets are wrong may have some of those that are gone
        lowest -= sum(batch.records for batch in truth.changed.values())
    if not (lowest <= count <= highest or (at_least and count <= highest and lowest < count_of(truth.gone))):
        yield f"{found[0]!r} instead of {lowest} to {highest} of {truth.end_offset}: {_brief(truth.gone_or_changed)}"
    elif not truth.last_kept < total <= truth.end_offset and not _has_high_offsets(case):
        yield f"{found[0]!r}, though the log ends at {truth.end_offset}"


def _has_high_offsets(case: Case) -> bool:
    """Whether batches with offsets after the end of the log are in it."""
    return case.kind.startswith(("offset-shifted", "flipped-offset", "flip-")) or case.kind == "foreign-higher"


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _brief(ranges: Sequence[Range]) -> str:
    return ", ".join(f"{first:,} to {last:,}" for first, last in ranges[:5]) + (" ..." if len(ranges) > 5 else "")


def _sentences(text: str) -> Iterator[str]:
    """What no ordinary log deserves to hear."""
    if FALSE_SENTENCE in " ".join(text.split()):
        yield f"says {text.count('resync-budget')} times that too many bytes {FALSE_SENTENCE}"


# --- forecast


def judge_forecast(case: Case) -> Iterator[str]:
    """After unclean stops: what is cut, and the intact records and offsets that are lost with it."""
    truth = case.truth
    points = {0, sorted(truth.data)[-1], truth.end_offset // 2}
    for point in sorted(points):
        model = boring_truth.start(truth, point)
        answer = said("forecast", "--after", "unclean", "--recovery-point", str(point), "--output", "ndjson", case.directory)
        yield from _sentences(answer.out + answer.err)
        (row,) = answer.of("forecast")
        if not model.is_known or "split" in (row["outcome"], *row["also"]) or case.kind.startswith(("index", "timeindex")):
            continue
        about = f"recovery point {point}"
        sizes = dict(row["segments"] or ())
        if sizes != model.sizes:
            yield f"{about}: logs {sizes} instead of {model.sizes} ({row['outcome']}, {row['reason']})"
            continue
        if row["logEnd"] != model.log_end:
            yield f"{about}: log end {row['logEnd']} instead of {model.log_end}"
        if not model.lost_records - model.unseen_records <= row["lostRecords"] <= model.lost_records + len(truth.inner):
            lost = f"{row['lostRecords']} lost records in {len(row['lostOffsets'])} ranges"
            yield f"{about}: {lost} instead of {model.lost_records}"
        ranges = without((tuple(pair) for pair in row["lostOffsets"]), truth.inner_offsets)
        offsets = without(model.lost_offsets, truth.inner_offsets)
        if all(one.is_exact for one in model.lost) and len(offsets) < 1000 and ranges != offsets:
            yield f"{about}: lost offsets {_brief(ranges)} instead of {_brief(offsets)}"
        if answer.exit_code == 0 and model.lost_records:
            yield f"{about}: exit code 0, and {model.lost_records} records are lost"


# --- recover


def judge_recover(case: Case) -> Iterator[str]:
    """All intact batches are taken over, in place, and nothing else; exit code 0 only if nothing is lost."""
    truth = case.truth
    answer, files = _made(case, "recover")
    yield from _sentences(answer.out + answer.err)
    if not files:
        yield f"refused with exit code {answer.exit_code}: {answer.err[-300:]}"
        return
    data = _logs(files)
    made: dict[int, bytes] = {}
    previous = -1
    for base, log in sorted(data.items()):
        end = 0
        for batch in walk(log):
            if batch.last_offset <= previous or batch.last_offset < base:
                yield f"offset {batch.last_offset} comes after {previous}, in the log of {base}"
                return
            previous, end = batch.last_offset, batch.end
            made[batch.last_offset] = log[batch.position : batch.end]
        if end != len(log):
            yield f"the new log of {base} is damaged at byte {end}"
    known = {batch.last: batch.data for batch in truth.batches}
    lost = [batch for batch in truth.exact.values() if made.get(batch.last) != batch.data]
    outside = {one.batch.first for one in truth.found if (one.base, one.position) not in truth.nested and one.is_exact}
    lost = [batch for batch in lost if batch.first not in truth.inside - outside]
    if lost:
        records = sum(batch.records for batch in lost)
        yield f"{len(lost)} of {len(truth.exact)} intact batches ({records} records) are not kept, such as offset {lost[0].first}"
    inner_messages = set(truth.inner.values())
    inner = {last for last, content in made.items() if known.get(last) != content and content in inner_messages}
    others = [last for last, content in made.items() if known.get(last) != content and last not in inner]
    fitting = {  # nothing tells them from batches that are gone
        one.batch.data for one in truth.found if one.is_foreign and not without([(one.batch.first, one.batch.last)], truth.gone)
    }
    if wrong := [last for last in others if made[last] not in fitting]:
        yield f"{len(wrong)} batches are not of this log, such as that with last offset {wrong[0]}"
    missing = joined((batch.first, batch.last) for batch in truth.batches if made.get(batch.last) != batch.data)
    missing = without(missing, [(offset, offset) for offset in inner])
    if missing and answer.exit_code == 0 and not (case.kind in ("torn", "torn-zeros") and missing[0][0] > truth.last_kept):
        yield f"exit code 0, though {count_of(missing)} offsets are lost: {_brief(missing)}"
    if case.kind in NOTHING_LOST and answer.exit_code != 0:
        yield f"exit code {answer.exit_code}, though nothing is lost: {answer.err[-300:]}"
    (summary,) = answer.of("recover-summary")
    sums = {"batches": len(made), "bytes": sum(map(len, data.values()))}
    counts = {batch.last: batch.records for batch in truth.batches}
    if not others:
        sums["records"] = sum(1 if last in inner else counts[last] for last in made)
        lowest = count_of((first, min(last, previous)) for first, last in missing if first <= previous)
        if not lowest <= summary["offsetsMissing"] <= count_of(missing):
            yield f"{summary['offsetsMissing']} offsets are missing, instead of {lowest} to {count_of(missing)}"
    for name, value in sums.items():
        if summary[name] != value:
            yield f"the summary has {summary[name]} {name} instead of {value}"


def _made(case: Case, *command: str) -> tuple[Said, dict[str, bytes]]:
    """What a command said that makes a new directory, and the files in it; none if it refused."""
    with tempfile.TemporaryDirectory(dir=case.directory.parent) as folder:
        out = Path(folder) / case.directory.name
        answer = said(*command, "--output", "ndjson", case.directory, "-o", out)
        return answer, {path.name: path.read_bytes() for path in out.iterdir()} if out.exists() else {}


def _logs(files: dict[str, bytes]) -> dict[int, bytes]:
    """The logs among files, by base offset."""
    return {int(name[:20]): files[name] for name in sorted(files) if name.endswith(".log")}


# --- slice


def judge_slice(case: Case) -> Iterator[str]:
    """A range without damage becomes exactly its batches; one with damage is refused, or kept as it is if that is asked for."""
    truth, chance = case.truth, case.chance
    kept = [one for one in truth.found if one.is_exact and not one.is_foreign and (one.base, one.position) not in truth.nested]
    is_without = case.kind == "missing-batches"  # nothing in the logs says so
    by_last = {batch.last: batch for batch in ((one.batch for one in kept) if is_without else truth.batches)}
    for options in [(), ("--with-damage",)] * 3 if kept else []:
        row = chance.randrange(len(kept))
        run = kept[row : row + chance.choice((1, 3, 30, 300))]
        low, high = sorted(chance.randint(one.batch.first, one.batch.last) for one in (run[0], run[-1]))
        answer, files = _made(case, "slice", "--from-offset", str(low), "--to-offset", str(high), *options)
        about = f"offsets {low} to {high}{' with damage' if options else ''}, exit code {answer.exit_code}"
        inside = {last: batch.data for last, batch in by_last.items() if last >= low and batch.first <= high}
        is_sound = [one.batch.last for one in run if one.position == one.batch.position] == list(inside)
        next_offset = kept[row - 1].batch.last + 1 if row else min(truth.data)
        is_sound &= next_offset == run[0].batch.first  # else the first one is doubtful
        if not files:
            if options or answer.exit_code != 3 or is_sound and "end of a transaction" not in answer.err:
                yield f"{about}: refused: {answer.err[-300:]}"
            continue
        logs = _logs(files)
        if options:
            if alien := [base for base, log in logs.items() if not any(log in data for data in truth.data.values())]:
                yield f"{about}: the excerpt {alien[0]} is no part of a log"
            if is_sound and (missing := [last for last, data in inside.items() if not any(data in log for log in logs.values())]):
                yield f"{about}: {len(missing)} intact batches are not in it, such as that with last offset {missing[0]}"
            continue
        made = {batch.last_offset: log[batch.position : batch.end] for log in logs.values() for batch in walk(log)}
        if sum(map(len, made.values())) != sum(map(len, logs.values())):
            yield f"{about}: the new logs are damaged, or have batches twice"
        markers = {last for last in made if last > high and last in by_last and not by_last[last].keys}
        if {last: data for last, data in made.items() if last not in markers} != inside:
            yield f"{about}: batches with last offsets {_brief(joined((last, last) for last in made))}, sound: {is_sound}"


# --- grep, where


def judge_grep(case: Case) -> Iterator[str]:
    """Keys of intact batches are found where these are; of keys that are gone nobody can say that they are absent."""
    truth = case.truth
    kept = [batch for batch in truth.exact.values() if batch.keys]
    for batch in case.chance.sample(kept, min(3, len(kept))):
        number = case.chance.choice(batch.keys)
        answer = said("grep", "--output", "ndjson", key_of(number).decode(), case.directory)
        hits = {(int(Path(row["file"]).stem), row["position"]) for row in answer.of("hit") if row["status"] != "damaged"}
        places = {(one.base, one.position) for one in truth.found if one.batch is batch}
        exact = {(one.base, one.position) for one in truth.found if one.batch is batch and one.is_exact}
        if not exact - truth.nested <= hits <= places:
            yield f"{key_of(number).decode()} of offset {batch.first}: {sorted(hits)} instead of {sorted(exact)}"
        (verdict,) = answer.of("search-verdict")
        if exact - truth.nested and verdict["verdict"] != "found":
            yield f"{key_of(number).decode()} is {verdict['verdict']}, exit code {answer.exit_code}"
        offset = batch.first + batch.keys.index(number)
        if (
            batch.magic == 2
            and {row["offset"] for row in answer.of("hit") if row["status"] != "damaged"} - {offset}
            and batch.first not in truth.changed
        ):
            yield f"{key_of(number).decode()} has another offset than {offset}"
        if case.kind == "sound":
            records = sum(one.records for one in truth.batches)
            if verdict["records"] != records or not verdict["isWhole"]:
                yield f"{verdict['records']} records were searched instead of {records}"
    gone = [
        batch for batch in truth.batches if batch.keys and batch.first not in truth.exact and batch.first not in truth.changed
    ]
    gone = [batch for batch in gone if batch.first < truth.last_kept]
    for batch in case.chance.sample(gone, min(2, len(gone))):
        if case.kind in ("missing-batches", "missing-segment"):
            break
        answer = said("grep", "--output", "ndjson", key_of(case.chance.choice(batch.keys)).decode(), case.directory)
        (verdict,) = answer.of("search-verdict")
        if verdict["verdict"] == "absent" or answer.exit_code == 1:
            yield f"a key of offset {batch.first}, which is damaged, is {verdict['verdict']}, exit code {answer.exit_code}"


def judge_where(case: Case) -> Iterator[str]:
    """Offsets of intact batches are present; of those that damage took nothing else is said."""
    truth = case.truth
    kept = [batch for batch in truth.exact.values() if batch.first not in truth.inside]
    for batch in case.chance.sample(kept, min(3, len(kept))):
        offset = case.chance.randint(batch.first, batch.last)
        (row,) = said("where", f"{case.directory.name}@{offset}", case.directory, "--output", "ndjson").rows
        expected = "present" if batch.keys else "control"
        if row["answer"] != expected and not (case.kind != "sound" and row["answer"] in ("open-transaction", "aborted")):
            yield f"offset {offset} is {row['answer']} instead of {expected}: {row['evidence'][:200]}"
    gone = without(truth.gone, truth.passing_offsets)
    for first, last in case.chance.sample(gone, min(3, len(gone))):
        offset = case.chance.randint(first, last)
        (row,) = said("where", f"{case.directory.name}@{offset}", case.directory, "--output", "ndjson").rows
        if offset > truth.last_kept and "bytes" in row["evidence"]:
            continue  # whether anything was written after what is there, no file needs to know: the bytes there are named
        if row["answer"] in ("present", *DENIALS) and case.kind not in ("missing-batches", "missing-segment"):
            yield f"offset {offset}, which is damaged, is {row['answer']}: {row['evidence'][:200]}"


# --- parts of a listing


def judge_parts(case: Case) -> Iterator[str]:
    """Ranges of offsets and positions list the intact batches in them; limits and tails are the ends of the listing."""
    truth, chance = case.truth, case.chance
    kept = list(truth.exact.values())
    if not kept:
        return
    low, high = sorted((chance.choice(kept).first, chance.choice(kept).last))
    options = ("--from-offset", str(low), "--to-offset", str(high))
    answer = said("log", "--output", "ndjson", *options, case.directory)
    for fault in _compared(case, _claims(answer.rows), lambda batch: batch.last >= low and batch.first <= high):
        yield f"{' '.join(options)}: {fault}"
    asked = chance.choice(kept)
    copies = {(one.base, one.position) for one in truth.found if one.batch is asked and one.is_exact} - truth.nested
    offset = chance.randint(asked.first, asked.last)
    answer = said("log", "--output", "ndjson", "--offset", str(offset), case.directory)
    if copies and not copies & _claims(answer.rows).keys():
        yield f"--offset {offset}: the batch at {sorted(copies)} is not listed"
    log = case.directory / file_name(chance.choice(sorted(truth.data)), ".log")
    base = int(log.stem)
    places = [one.position for one in truth.found if one.base == base and one.is_exact and not one.is_foreign]
    places = [place for place in places if (base, place) not in truth.nested]
    if not places:
        return
    count = chance.randint(1, min(50, len(places)))
    answer = said("log", "--output", "ndjson", "--limit", str(count), log)
    first = [row["position"] for row in answer.rows if row["status"] in ("intact", "salvaged")]
    there = {place for of, place in (*truth.inner, *((one.base, one.position) for one in truth.found)) if of == base}
    if len(answer.rows) > count or not set(first) <= there:
        yield f"--limit {count}: rows at {first[:20]}"
    answer = said("log", "--output", "ndjson", "--tail", str(count), log)
    last = [row["position"] for row in answer.rows if row["status"] in ("intact", "salvaged")]
    if last and [place for place in places if place >= last[0]] != [place for place in last if place in set(places)]:
        yield f"--tail {count}: rows at {last[:20]}, instead of the last of {places[-count:][:20]}"
    if case.kind in NOTHING_LOST and case.kind != "joined" and last != places[-count:]:
        yield f"--tail {count}: {len(last)} rows"


# --- reindex


def judge_reindex(case: Case) -> Iterator[str]:
    """Of sound logs, the companions are made again as a start makes them; damaged ones are refused."""
    answer, made = _made(case, "reindex")
    yield from _sentences(answer.out + answer.err)
    if case.kind != "sound" and not case.kind.startswith(("index", "timeindex")):
        if made and _has_damage(case) and case.kind != "preallocated":
            yield f"not refused, exit code {answer.exit_code}"
        return
    if answer.exit_code != 0:
        yield f"exit code {answer.exit_code}: {answer.err[-300:]}"
        return
    for name, content in companions(case.truth.damaged.segments).items():
        if made.get(name) != content:
            yield f"{name} is different"


COMMANDS: dict[str, Judge] = {
    "log": judge_log,
    "check": judge_check,
    "forecast": judge_forecast,
    "recover": judge_recover,
    "grep": judge_grep,
    "where": judge_where,
    "parts": judge_parts,
    "slice": judge_slice,
    "reindex": judge_reindex,
}


# --- runs


def wrong(
    shape: str, kind: str, size: int, seed: int, asked: Sequence[str], ways: Sequence[tuple[str, str]], keep: Path | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """What is wrong with the answers about one damaged log: kernel, sizes, command and fault.

    `ways` are the kernels and sizes with which each command is run.
    """
    count = 3 if kind in NEEDS_SEGMENTS or random.Random(f"segments {shape} {kind} {seed}").random() < 0.5 else 1
    truth = truth_of(shape, kind, size, count, seed)
    with tempfile.TemporaryDirectory(prefix="kdump-boring-") as folder:
        directory = write(truth, Path(folder) / "orders-0")
        has_failed = False
        for kernel_name, sizes in ways:
            with kernels.using(kernel_name), _sizes(sizes):
                for command in asked:
                    chance = random.Random(f"{shape} {kind} {seed} {command}")
                    for fault in _faults(COMMANDS[command], Case(shape, kind, directory, truth, chance)):
                        has_failed = True
                        yield kernel_name, sizes, command, fault
        if keep is not None and has_failed:
            shutil.copytree(directory, keep / f"{shape}-{kind}-{seed}" / directory.name, dirs_exist_ok=True)


def _faults(judge: Judge, case: Case) -> Iterator[str]:
    try:
        yield from judge(case)
    except AssertionError as error:  # an internal error of a command
        yield str(error)[-500:]


@functools.lru_cache(maxsize=2)  # for tests of several commands, one after the other
def truth_of(shape: str, kind: str, size: int, segment_count: int, seed: int) -> Truth:
    """A damaged log of this shape and size, and what is true about it."""
    segments = written(shape, size, segment_count, seed)
    return Truth(damage(shape, kind, segments, companions(segments), seed))


def write(truth: Truth, directory: Path) -> Path:
    """Write a damaged partition to a new directory, which is returned."""
    directory.mkdir()
    for name, content in truth.damaged.files.items():
        (directory / name).write_bytes(content)
    for base, data in truth.data.items():
        (directory / file_name(base, ".log")).write_bytes(data)
    return directory


@contextlib.contextmanager
def _sizes(name: str) -> Iterator[None]:
    with mock.patch.multiple(tuning.DEFAULT, **SIZES[name]) if SIZES[name] else contextlib.nullcontext():
        yield


def pairs(shapes: Sequence[str], kinds: Sequence[str]) -> list[tuple[str, str]]:
    return [(shape, kind) for shape in shapes for kind in kinds if kind not in FOR_MAGIC_2 or SHAPES[shape].magic == 2]


def matching(names: Iterable[str], patterns: Sequence[str] | None) -> list[str]:
    return [name for name in names if patterns is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=float, default=24, help="the size of a log")
    parser.add_argument("--seed", type=int, default=1)
    for name in ("shape", "kind", "command"):
        parser.add_argument(f"--{name}", action="append", help="only those that match this pattern; may be repeated")
    parser.add_argument("--kernel", choices=kernels.KERNELS, help="only this one")
    parser.add_argument("--sizes", choices=[*SIZES], help="only these; by default all with C, and the ordinary ones with Python")
    parser.add_argument("--sample", type=int, help="only this many pairs of a shape and a kind, by chance")
    parser.add_argument("--keep", type=Path, help="keep the partitions that fail here")
    arguments = parser.parse_args()
    started = time.monotonic()
    asked = matching(COMMANDS, arguments.command)
    cases = pairs(matching(SHAPES, arguments.shape), matching(KINDS, arguments.kind))
    if arguments.sample is not None and arguments.sample < len(cases):
        chosen = set(random.Random(arguments.seed).sample(range(len(cases)), arguments.sample))
        cases = [case for row, case in enumerate(cases) if row in chosen]
    failures = 0
    for shape, kind in cases:
        for kernel_name, sizes, command, fault in wrong(
            shape, kind, int(arguments.mib * MIB), arguments.seed, asked, ways(arguments.kernel, arguments.sizes), arguments.keep
        ):
            failures += 1
            print(f"{shape}, {kind}, {command}: {fault}")
            print(f"    {again(arguments.mib, arguments.seed, shape, kind, kernel_name, sizes, command)}", flush=True)
    print(f"{len(cases)} damaged logs, {failures} wrong answers; {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


SHORT_SHAPES = ("1-kib", "17-kib", "160-kb", "lz4-29-kb", "magic-1-gzip")
SHORT_KINDS = ("flip-1", "flip-20", "zeros-4k", "stale-64k", "foreign-higher", "swapped-64k", "missing-bytes", "torn")
LARGE_SHAPES = ("160-kb", "1-mib", "lz4-164-kb", "lz4-mixed", "zstd-350-kb")
WRAPPERS = tuple(name for name, shape in SHAPES.items() if shape.magic < 2 and shape.codec != "none")
TINY_SHAPES = ("70-bytes", "magic-0-small")


def short_cases() -> list[tuple[str, str]]:
    """The pairs of shapes and kinds of the short form: some with some, and each other kind with one shape, in turn."""
    shapes = list(SHAPES)
    others = [kind for kind in KINDS if kind not in SHORT_KINDS]
    found = pairs(SHORT_SHAPES, SHORT_KINDS)
    for row, kind in enumerate(others):
        found += pairs([shapes[(7 * row + 1) % len(shapes)]], [kind])[:1] or [("4-kib", kind)]
    return found


def short_way(shape: str, kind: str) -> tuple[str, str]:
    """The kernel and the sizes of a case of the short form, each in turn; the Python kernel only where batches are not tiny."""
    python, in_c = kernels.KERNELS
    rows = list(SIZES)
    row = short_cases().index((shape, kind))
    if row % 5 == 4 and shape not in TINY_SHAPES or kernels.why_no_c():
        return python, rows[row // 5 % len(rows)]
    return in_c, rows[row % len(rows)]


def short_size(shape: str) -> int:
    return (4 if shape in LARGE_SHAPES else 2) * MIB


def again(mib: float, seed: int, shape: str, kind: str, kernel_name: str, sizes: str, command: str) -> str:
    """The command line that runs one case again."""
    return (
        f"python -m campaigns.boring --mib {mib:g} --seed {seed} --shape {shape} --kind {kind} --command {command}"
        f" --kernel {kernel_name} --sizes {sizes}"
    )


def ways(kernel_name: str | None = None, sizes: str | None = None) -> list[tuple[str, str]]:
    """The kernels, of those that are there, with the sizes to run each with."""
    python, in_c = kernels.KERNELS
    all_ways = [(in_c, name) for name in SIZES] + [(python, ORDINARY)]
    if sizes is not None:
        all_ways = [(name, sizes) for name in (in_c, python)]
    missing = kernels.why_no_c() is not None
    return [way for way in all_ways if way[0] == (kernel_name or way[0]) and not (missing and way[0] == in_c)]


if __name__ == "__main__":
    sys.exit(main())
