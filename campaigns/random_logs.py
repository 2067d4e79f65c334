"""Generates random logs, reads them with windows of random sizes and by `kdump scan`, and compares the rows with those written.

    python -m campaigns.random_logs --count 2000 --largest 1g      a long run; --seed chooses other logs
    python -m campaigns.random_logs --number 1234                  one of them again
    python -m campaigns.random_logs --kill --count 50              kills a process of `kdump scan` at a random moment of each

Batches have 61 bytes to 16 MiB and up to 100,000 records, with any magic and codec. Some logs are damaged; some end in zeros,
up to the size of `--largest` (as holes, which take no disk space). Each log is read with windows of random sizes and either
kernel; `kdump scan` reads several at a time. The builder of the batches provides the expected positions and offsets. For a
damaged log, these cover the undamaged part; everything else must be the same for all windows.
"""

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kdump.cli import commands
from kdump.pipeline import discovery, planning, reading
from kdump.pipeline.options import Options
from kdump.reading.tuning import ReadTuning
from tests import kernels
from tests.builders.compression import Codec
from tests.builders.files import file_name
from tests.builders.records import batch, message, message_set, record, wrapper

CODECS: tuple[Codec, ...] = ("none", "none", "gzip", "snappy", "lz4", "zstd")
WINDOWS = (1000, 5000, 1 << 16, 1 << 20)
AT_ONCE = 8
"""Logs that one `kdump scan` reads."""

_BYTES_A_RECORD = 128  # of the largest size, because rows take the time

ROOT = Path(__file__).parent.parent
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

Place = tuple[int, int]
"""The position of a batch, and the offset of a record in it."""


class Written(NamedTuple):
    """A generated log: the start, end and offsets of each batch, the damaged ranges, and the number of zeros at its end."""

    data: bytes
    batches: list[tuple[int, int, list[int]]]
    damaged: list[tuple[int, int]]
    zeros: int

    @property
    def sound(self) -> Counter[Place]:
        """The records of undamaged batches."""
        return Counter(
            (start, offset)
            for start, end, offsets in self.batches
            if not any(start < damage_end and damage_start < end for damage_start, damage_end in self.damaged)
            for offset in offsets
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return 1 if rows differ."""
    parser = argparse.ArgumentParser(
        prog="campaigns.random_logs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="logs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, help="only this one")
    parser.add_argument("--largest", default="64m", help="bytes of a log, zeros counted")
    parser.add_argument("--kill", action="store_true", help="kill processes of scans instead")
    parser.add_argument("--engine", default="local", choices=("local", "spark"))
    given = parser.parse_args(arguments)
    numbers = range(given.count) if given.number is None else [given.number]
    largest = int(given.largest.rstrip("kmg")) * _UNITS[given.largest.lstrip("0123456789")]
    failures = 0
    for failure in kill(numbers, given.seed, given.engine) if given.kill else measure(numbers, given.seed, largest, given.engine):
        failures += 1
        print(failure, flush=True)
    print(f"{len(numbers):,} {'scans' if given.kill else 'logs'}, {failures:,} failures")
    return 1 if failures else 0


def measure(numbers: Sequence[int], seed: int, largest: int, engine: str = "local") -> Iterator[str]:
    """Generate and read these logs. Yields failures."""
    names = kernels.KERNELS if kernels.why_no_c() is None else kernels.KERNELS[:1]
    for first in range(0, len(numbers), AT_ONCE):
        with tempfile.TemporaryDirectory(prefix="kdump-random-logs-") as folder:
            data = Path(folder) / "data"
            logs = {number: write(data, seed, number, largest) for number in numbers[first : first + AT_ONCE]}
            for number, written in logs.items():
                with kernels.using(names[number % len(names)]):
                    yield from (f"{seed}/{number}: {wrong}" for wrong in _wrong_in_windows(data, seed, number, written))
            yield from (f"{seed}/{first}...: {wrong}" for wrong in _wrong_in_scan(Path(folder), seed, logs, engine))


# --- Logs


def write(folder: Path, seed: int, number: int, largest: int) -> Written:
    """Put a log into a new partition directory."""
    written = make(seed, number, largest)
    path = _path(folder, number)
    path.parent.mkdir(parents=True)
    path.write_bytes(written.data)
    os.truncate(path, len(written.data) + written.zeros)
    return written


def _path(folder: Path, number: int) -> Path:
    return folder / f"t-{number}" / file_name(0, ".log")


def make(seed: int, number: int, largest: int) -> Written:
    """The log of this number; it depends only on the seed, the number and the largest size."""
    chance = random.Random(f"{seed}/{number}")
    room = int(2 ** chance.uniform(10, 24.5))
    room = min(room, largest)
    usual = int(2 ** chance.uniform(0, 23))  # bytes of values in a batch
    most_records = int(2 ** chance.uniform(0, 16.6))
    is_old = chance.random() < 0.2
    parts: list[bytes] = []
    batches: list[tuple[int, int, list[int]]] = []
    position = offset = 0
    left = largest // _BYTES_A_RECORD
    while position < room and len(batches) < 4000 and left > 0:
        if is_old and (len(batches) < 20 or chance.random() < 0.9):
            made = _old(chance, offset, min(usual, 1 << 16))
        else:
            is_old = False
            made = _new(chance, offset, usual, min(most_records, left), len(batches) // 50)
        for data, offsets in made:
            if position and position + len(data) > largest:
                break
            parts.append(data)
            batches.append((position, position + len(data), offsets))
            position += len(data)
            left -= len(offsets)
            offset = offsets[-1] + 1 if offsets else offset + 1
        else:
            continue
        break
    whole = bytearray(b"".join(parts))
    damaged = _damage(whole, chance) if chance.random() < 0.35 else []
    zeros = 0 if chance.random() < 0.7 else int(2 ** chance.uniform(0, 30))
    return Written(bytes(whole), batches, damaged, max(0, min(zeros, largest - len(whole))))


def _new(chance: random.Random, offset: int, usual: int, most_records: int, epoch: int) -> list[tuple[bytes, list[int]]]:
    """A batch of magic 2, as compaction may have left it."""
    count = 0 if chance.random() < 0.03 else chance.randrange(1, most_records + 1)
    size = min(int(usual * chance.uniform(0.2, 2)), 16 << 20)
    value = chance.randbytes(size // max(count, 1))
    deltas = [delta for delta in range(count) if delta in (0, count - 1) or chance.random() < 0.9]
    records = [record(key=b"%d" % delta, value=value, offset_delta=delta) for delta in deltas]
    codec = chance.choice(CODECS)
    data = batch(
        records=records, base_offset=offset, last_offset_delta=max(count - 1, 0), codec=codec, partition_leader_epoch=epoch
    )
    offsets = [offset + delta for delta in deltas]
    return [(data, offsets)]


def _old(chance: random.Random, offset: int, usual: int) -> list[tuple[bytes, list[int]]]:
    """Messages of magic 0 or 1, or a wrapper of some."""
    magic = chance.randrange(2)
    messages = [message(value=chance.randbytes(usual // 4), magic=magic) for _ in range(chance.randrange(1, 5))]
    offsets = [offset + row for row in range(len(messages))]
    if chance.random() < 0.5:
        codec: Codec = chance.choice(("gzip", "snappy"))
        return [(wrapper(messages=messages, magic=magic, base_offset=offset, codec=codec), offsets)]
    return [(message_set(messages=[one], base_offset=at), [at]) for one, at in zip(messages, offsets, strict=True)]


def _damage(data: bytearray, chance: random.Random) -> list[tuple[int, int]]:
    """Damage that does not move other bytes, and its ranges."""
    ranges = []
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data))
        size = min(chance.choice((1, 1, 1, 60, 600, 5000)), len(data) - at)
        before = bytes(data[at : at + size])
        match chance.randrange(3):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at : at + size] = bytes(size)
            case _:
                data[at : at + size] = chance.randbytes(size)
        if bytes(data[at : at + size]) != before:
            ranges.append((at, at + size))
    return ranges


# --- Reading


@contextlib.contextmanager
def _windows(chance: random.Random) -> Iterator[None]:
    """Sizes of windows and units that make their boundaries coincide."""
    window = chance.choice(WINDOWS)
    tuning = ReadTuning(
        window_bytes=window,
        near_bytes=min(window, 16 << 10),
        stretch_bytes=chance.choice((window, 1 << 16, 4 << 20)),
        max_stretch_batches=chance.choice((1, 7, 1 << 14)),
    )
    with kernels.reading_with(tuning):
        yield


def _wrong_in_windows(folder: Path, seed: int, number: int, written: Written) -> Iterator[str]:
    """The failures when a log is read with windows of the usual size, and of another."""
    chance = random.Random(f"{seed}/{number}/windows")
    (item,) = discovery.discover(str(_path(folder, number)))
    for table in ("records", "batches"):
        options = Options({"table": table, "path": item.path, "isolated": "false", "maxValueBytes": "16"})
        rows = _rows(item, options)
        if table == "records":
            yield from _differences(written, rows, "read in one go")
        with _windows(chance):
            again = _rows(item, options)
        if list(map(_place, again)) != list(map(_place, rows)):
            more, less = Counter(map(_place, again)), Counter(map(_place, rows))
            yield f"{table} by other windows: {(more - less).total()} rows more, {(less - more).total()} less"


def _rows(item: discovery.FileItem, options: Options) -> list[dict[str, Any]]:
    return [row for read in reading.read_slice(planning.FileSlice(item), options) for row in read.to_pylist()]


def _place(row: dict[str, Any]) -> tuple[int, int | None, int | None]:
    """The origin of a row. The status of a batch after damage may depend on the window in which it is found."""
    return row["position"], row.get("offset"), row.get("lastOffset")


def _differences(written: Written, rows: list[dict[str, Any]], how: str) -> Iterator[str]:
    """Records of undamaged batches that are missing or duplicated."""
    sound = written.sound
    there = Counter((row["position"], row["offset"]) for row in rows)
    missing = {place: count for place, count in sound.items() if there[place] != count}
    if missing:
        yield f"{how}: {len(missing)} of {len(sound)} records are not there once, as {next(iter(missing))}"
    if not written.damaged and there != sound:
        yield f"{how}: {sum(there.values())} records for {sum(sound.values())}"


def _wrong_in_scan(folder: Path, seed: int, logs: dict[int, Written], engine: str) -> Iterator[str]:
    """The failures in the tables of a scan of several logs."""
    chance = random.Random(f"{seed}/{min(logs)}/scan")
    out = folder / "out"
    target = str(int(2 ** chance.uniform(12, 24)))
    options = ["--engine", engine, "--records", "--target-bytes", target, "--output", "json", "--jobs", "2"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = commands.main(["scan", str(folder / "data"), "--tables-to", str(out), *options])
    yield from _wrong_in_tables(out, folder / "data", logs, status, f"scan --target-bytes {target}")


def _wrong_in_tables(out: Path, data: Path, logs: dict[int, Written], status: int, how: str) -> Iterator[str]:
    import pyarrow.parquet as pq

    if status not in (0, 1):
        yield f"{how}: exit code {status}"
        return
    there: dict[int, Counter[Place]] = {number: Counter() for number in logs}
    for row in pq.read_table(out / "records", columns=["partition", "position", "offset"]).to_pylist():
        there[row["partition"]][row["position"], row["offset"]] += 1
    counts = Counter(row["partition"] for row in pq.read_table(out / "batches", columns=["partition"]).to_pylist())
    for number, written in logs.items():
        sound = written.sound
        if written.damaged:
            wrong = [place for place, count in sound.items() if there[number][place] != count]
        else:
            wrong = list((there[number] - sound) + (sound - there[number]))
            if counts[number] != len(written.batches):
                yield f"{how}, log {number}: {counts[number]} batches for {len(written.batches)}"
        if wrong:
            yield f"{how}, log {number}: {len(wrong)} records are not there as often as they were written, as {wrong[0]}"


# --- Kills


def kill(numbers: Sequence[int], seed: int, engine: str = "local") -> Iterator[str]:
    """Scan valid logs, and kill processes of the scan at random moments: rows are exact, or the scan has failed."""
    with tempfile.TemporaryDirectory(prefix="kdump-kills-") as name:
        folder = Path(name)
        logs = {number: written for number in range(12) for written in [_sound(folder / "data", seed, number)]}
        for number in numbers:
            chance = random.Random(f"{seed}/{number}/kill")
            yield from (f"{seed}/{number}: {wrong}" for wrong in _wrong_after_kill(folder, logs, chance, engine))


def _sound(folder: Path, seed: int, number: int) -> Written:
    chance = random.Random(f"{seed}/{number}/sound")
    data, batches, position = [], [], 0
    for row in range(60):
        made = batch(records=[record(value=chance.randbytes(2000))] * 40, base_offset=40 * row, codec=chance.choice(CODECS))
        data.append(made)
        batches.append((position, position + len(made), list(range(40 * row, 40 * row + 40))))
        position += len(made)
    path = _path(folder, number)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(data))
    return Written(b"".join(data), batches, [], 0)


def _wrong_after_kill(folder: Path, logs: dict[int, Written], chance: random.Random, engine: str) -> Iterator[str]:
    out = folder / "out"
    command = [
        sys.executable,
        "-m",
        "kdump",
        "scan",
        str(folder / "data"),
        "--tables-to",
        str(out),
        "--engine",
        engine,
        "--records",
    ]
    options = ["--target-bytes", "1m", "--jobs", "2", "--output", "json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = time.monotonic()
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as scan:
        killed = []
        for _ in range(chance.randrange(1, 4)):
            time.sleep(chance.uniform(0.0, 0.5 if engine == "local" else 4))
            killed += _kill_one(scan.pid, chance)
        try:
            said, complaints = scan.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            scan.kill()
            yield f"after {', '.join(killed)} the scan had no end"
            return
    how = f"killed {', '.join(killed) or 'nothing'}; {time.monotonic() - started:.1f} s"
    if "internal error" in complaints or "Traceback" in complaints and engine == "local":
        yield f"{how}: {complaints}"
    if scan.returncode == 0:
        yield from _wrong_in_tables(out, folder / "data", logs, 0, how)
    elif scan.returncode == 1 or scan.returncode not in (2, 3):
        yield f"{how}: exit code {scan.returncode}: {json.loads(said)['findings'] if said else complaints}"
    left = [path.name for path in folder.iterdir() if path.name not in ("data", "out")]
    if left:
        yield f"{how}: left {left}"
    shutil.rmtree(out, ignore_errors=True)


def _kill_one(parent: int, chance: random.Random) -> list[str]:
    """Kill a random Python descendant of a process."""
    found = [(process, name) for process, name in _descendants(parent) if "python" in name]
    if not found:
        return []
    process, name = chance.choice(found)
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return []
    return [f"{name} {process}"]


def _descendants(parent: int) -> list[tuple[int, str]]:
    processes: dict[int, tuple[int, str]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                stat = Path("/proc", name, "stat").read_text()
                fields: list[Any] = stat.rpartition(")")[2].split()
                processes[int(name)] = int(fields[1]), stat.partition("(")[2].rpartition(")")[0]
    found, below = [], {parent}
    while below:
        below = {process for process, (above, _) in processes.items() if above in below}
        found += [(process, processes[process][1]) for process in below]
    return found


if __name__ == "__main__":
    sys.exit(main())
