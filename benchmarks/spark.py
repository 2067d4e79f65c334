"""Measures the overhead of Spark over reading without it, and prints whether the bars hold.

python -m benchmarks.spark                     a GiB of records, some ten minutes on a machine with nothing else to do
python -m benchmarks.spark --size quick        a sixteenth of it, for a first look: the fixed cost of a query weighs more
python -m benchmarks.spark --path DIR          files of your own

Queries have one core. Spark and this process take turns, the first query is not counted, and times are medians. "In one process"
means without the reader process that Spark's workers use so that a crash affects only one file; its cost is shown separately.
"Rows ready" is a query of Spark for as many rows that need not be read. `kdump scan --records` runs with both engines on all
cores: the CPU time of the machine, less that of a scan of one small file, which is the start. Needs the extras `spark` and
`java`, and Linux.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.__main__ import QUICK, home
from benchmarks.segments import MIB, Segment, made
from tests.builders.compression import Codec

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kdump.pipeline.options import Options

CODECS: tuple[Codec, ...] = ("none", "none", "lz4", "zstd")
SEGMENTS = tuple(Segment(256 * MIB, codec=codec) for codec in CODECS)  # a partition each
SLICE = 64 * MIB
CORES = 1
FRAME_FACTOR, SCAN_FACTOR = 1.35, 1.35
QUERY_SECONDS, TASK_SECONDS = 0.5, 0.06
WORKER_MEMORY = 250 * MIB
TASKS_A_CORE = 4

RECORDS, BATCHES = "records", "batches"
_OPTIONS: dict[str, dict[str, str]] = {RECORDS: {}, BATCHES: {"crc": "true"}}
_TICKS = os.sysconf("SC_CLK_TCK")  # a second, in which CPU time is counted
_START_BYTES = 100_000  # of a log whose scan costs little more than the start
_LOOK_INTERVAL = 0.1  # seconds between two samples of the workers' memory


class Times(NamedTuple):
    """The seconds for one table, for each run; the number of Spark tasks, and the number of rows.

    `isolated` is in this process with a reader process, `ready` in Spark with rows that need not be read.
    """

    in_process: Sequence[float]
    isolated: Sequence[float]
    ready: Sequence[float]
    spark: Sequence[float]
    tasks: int
    rows: int


class Scans(NamedTuple):
    """The CPU seconds of `kdump scan --records` by each engine, for each run, and of the starts alone."""

    local: Sequence[float]
    local_start: Sequence[float]
    spark: Sequence[float]
    spark_start: Sequence[float]

    def factor(self) -> float:
        """The CPU time with Spark, as a multiple of that without, starts apart."""
        local = max(median(self.local) - median(self.local_start), 1 / _TICKS)
        return (median(self.spark) - median(self.spark_start)) / local


class Verdict(NamedTuple):
    """A bar, its measurement, and whether it holds."""

    bar: str
    measured: str
    holds: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measurements; return the exit code: 1 if a bar does not hold, 2 if it cannot be measured."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.spark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--path", metavar="DIR", help="read this in place of what is made up")
    parser.add_argument("--size", choices=("quick", "full"), default="full")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    options = parser.parse_args(arguments)
    from kdump.errors import KdumpError

    try:
        with tempfile.TemporaryDirectory(
            dir=home(), prefix="spark-"
        ) as folder:  # on the file system of the segment, for hard links
            path = options.path or _tree(Path(folder), QUICK if options.size == "quick" else 1)
            times, memory = measure(str(path), options.rounds)
            scans = measure_scans(str(path), options.rounds)
            size = _size(str(path))
    except KdumpError as error:
        print(error, file=sys.stderr)
        return 2
    found = verdicts(times, scans, size, memory)
    print("\n".join(_report(times, scans, found, size)))
    return 0 if all(verdict.holds for verdict in found) else 1


def _tree(folder: Path, divisor: int) -> Path:
    """A log directory with a few partitions, whose segments are created once, kept, and linked here."""
    for partition, segment in enumerate(SEGMENTS):
        log = made(segment._replace(size=segment.size // divisor), home())
        directory = folder / f"measured-{partition}"
        directory.mkdir()
        for file in log.parent.iterdir():
            if file.is_file():  # other benchmarks keep their scans there
                os.link(file, directory / file.name)
    return folder


def measure(path: str, rounds: int) -> tuple[dict[str, Times], int | None]:
    """Read both tables in turns, with Spark and here: the times of each, and the memory of the largest worker, if known."""
    from kdump.spark.session import embedded

    with embedded(master=f"local[{CORES}]") as session:
        times = {table: _times(session, path, table, rounds) for table in (RECORDS, BATCHES)}
        memory = _memory_of_workers(lambda: _by_spark(session, path, RECORDS))
    return times, memory


def _times(session: "SparkSession", path: str, table: str, rounds: int) -> Times:
    from kdump.pipeline import planning, reading

    options = _options(path, table)
    tasks = planning.plan(options)
    first = next(batch for task in tasks for batch in reading.read(task, options))
    rows = sum(batch.num_rows for task in tasks for batch in reading.read(task, options))
    ways: Sequence[Callable[[], float]] = (
        lambda: _in_process(path, table),
        lambda: _in_process(path, table, isolated=True),
        lambda: _of_ready_rows(session, first, rows, len(tasks)),
        lambda: _by_spark(session, path, table),
    )
    for way in ways:  # the first query starts a worker and warms up the JVM
        way()
    here, isolated, ready, spark = zip(*([way() for way in ways] for _ in range(rounds)), strict=True)
    return Times(here, isolated, ready, spark, len(tasks), rows)


def _in_process(path: str, table: str, *, isolated: bool = False) -> float:
    """The seconds to read a table in this process, alone or with a reader process."""
    from kdump.pipeline import planning, reading

    started = perf_counter()
    options = _options(path, table, isolated=isolated)
    for task in planning.plan(options):
        for _ in reading.read(task, options):
            pass
    return perf_counter() - started


def _options(path: str, table: str, *, isolated: bool = False) -> "Options":
    from kdump.pipeline.options import Options

    given = {"table": table, "path": path, "targetBytes": str(SLICE), "parallelism": str(CORES)}
    return Options({**given, "isolated": str(isolated).lower(), **_OPTIONS[table]})


def _by_spark(session: "SparkSession", path: str, table: str) -> float:
    """The seconds that Spark takes to read a table and drop its rows."""
    started = perf_counter()
    _frame(session, path, table).write.format("noop").mode("overwrite").save()
    return perf_counter() - started


def _of_ready_rows(session: "SparkSession", batch: "pa.RecordBatch", rows: int, tasks: int) -> float:
    """The seconds that Spark takes to take as many rows, copies of those of a batch, from this many tasks, and drop them."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
    from pyspark.sql.pandas.types import from_arrow_schema

    schema, made, copies = from_arrow_schema(batch.schema), pickle.dumps(batch), rows // batch.num_rows // tasks

    class Ready(DataSourceReader):
        def partitions(self) -> list[InputPartition]:
            return [InputPartition(number) for number in range(tasks)]

        def read(self, _partition: InputPartition) -> "Iterator[pa.RecordBatch]":
            copy = pickle.loads(made)
            for _ in range(copies):
                yield copy

    class ReadyRows(DataSource):
        @classmethod
        def name(cls) -> str:
            return "ready_rows"

        def schema(self) -> "StructType":
            return schema

        def reader(self, schema: "StructType") -> DataSourceReader:
            return Ready()

    session.dataSource.register(ReadyRows)
    started = perf_counter()
    session.read.format("ready_rows").load().write.format("noop").mode("overwrite").save()
    return perf_counter() - started


def _frame(session: "SparkSession", path: str, table: str) -> "DataFrame":
    from kdump.spark import read

    return read(session, path, table=table, targetBytes=SLICE, parallelism=CORES, **_OPTIONS[table])


def measure_scans(path: str, rounds: int) -> Scans:
    """Scan the records with both engines in turns, and one small log."""
    with tempfile.TemporaryDirectory(dir=home(), prefix="spark-scans-") as folder:
        small = Path(folder) / "small-0"
        small.mkdir()
        log = next(Path(path).rglob("*.log"))
        with log.open("rb") as file:
            (small / log.name).write_bytes(file.read(_START_BYTES))
        runs = [
            [_of_scan(engine, scanned, folder) for engine in ("local", "spark") for scanned in (path, str(small))]
            for _ in range(rounds)
        ]
    return Scans(*zip(*runs, strict=True))


def _of_scan(engine: str, path: str, folder: str) -> float:
    """The CPU seconds that the machine spends while `kdump scan --records` runs: processes of Spark are not all waited for."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        scan = [sys.executable, "-m", "kdump", "scan", path, "--records", "--engine", engine, "--tables-to", f"{out}/tables"]
        before = _cpu_time()
        subprocess.run(scan, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # 1 is a finding
        return _cpu_time() - before


def _cpu_time() -> float:
    """The CPU seconds of all processes, and of the system, since the start of the machine."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / _TICKS


def medians(times: Times) -> tuple[float, float, float, float]:
    """The medians in one process, with a reader process, in Spark with rows that are ready, and in Spark."""
    return median(times.in_process), median(times.isolated), median(times.ready), median(times.spark)


def verdicts(times: dict[str, Times], scans: Scans, size: int, memory: int | None) -> list[Verdict]:
    """The measurement of each bar, for logs of `size` bytes. The memory is omitted if it is unknown."""
    found = []
    bar = f"scan --records with Spark at most {SCAN_FACTOR}x the CPU time of --engine local, starts apart"
    found.append(Verdict(bar, f"{scans.factor():.2f}x", scans.factor() <= SCAN_FACTOR))
    here, _, ready, spark = medians(times[RECORDS])
    bar = f"a data frame of records at most {FRAME_FACTOR}x the time that Spark takes for rows that are ready"
    found.append(Verdict(bar, f"{spark / ready:.2f}x", spark <= FRAME_FACTOR * ready))
    here, _, _, spark = medians(times[BATCHES])
    allowed = QUERY_SECONDS + TASK_SECONDS * times[BATCHES].tasks
    bar = f"batches with CRC at most {QUERY_SECONDS} s and {TASK_SECONDS * 1000:.0f} ms a task above it"
    found.append(Verdict(bar, f"{spark - here:.2f} s of {allowed:.2f} s", spark - here <= allowed))
    for table, measured in times.items():
        most = size / SLICE + TASKS_A_CORE * CORES
        bar = f"tasks for {table}: at most total / {SLICE // MIB} MiB + {TASKS_A_CORE} x cores"
        found.append(Verdict(bar, f"{measured.tasks} of {most:.1f}", measured.tasks <= most))
    if memory is not None:
        bar = f"a worker takes at most {WORKER_MEMORY // MIB} MiB"
        found.append(Verdict(bar, f"{memory // MIB} MiB", memory <= WORKER_MEMORY))
    return found


def _report(times: dict[str, Times], scans: Scans, found: Sequence[Verdict], size: int) -> Iterator[str]:
    yield f"{size / MIB:,.0f} MiB of logs, slices of {SLICE // MIB} MiB, {CORES} core; load {os.getloadavg()[0]:.1f} at the end"
    yield ""
    yield "| table | rows | tasks | in one process | isolated | rows ready | Spark | minima |"
    yield "| --- | --: | --: | --: | --: | --: | --: | --: |"
    for table, measured in times.items():
        seconds = " | ".join(f"{one:.2f} s" for one in medians(measured))
        minima = ", ".join(
            f"{min(runs):.2f} s" for runs in (measured.in_process, measured.isolated, measured.ready, measured.spark)
        )
        yield f"| {table} | {measured.rows:,} | {measured.tasks} | {seconds} | {minima} |"
    yield ""
    yield "| scan --records | CPU time | of these, the start |"
    yield "| --- | --: | --: |"
    for engine, used, start in (("local", scans.local, scans.local_start), ("spark", scans.spark, scans.spark_start)):
        yield f"| {engine} | {median(used):.2f} s | {median(start):.2f} s |"
    yield ""
    yield "| bar | measured | holds |"
    yield "| --- | --- | --- |"
    for verdict in found:
        yield f"| {verdict.bar} | {verdict.measured} | {'yes' if verdict.holds else '**no**'} |"


def _size(path: str) -> int:
    """The bytes of all logs below a path."""
    found = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if name.endswith(".log"))
    return sum(map(os.path.getsize, found))


# --- The memory of workers


def _memory_of_workers(work: Callable[[], object]) -> int | None:
    """The peak memory of a worker or its reader process during this work; None without /proc."""
    most: list[int] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(_LOOK_INTERVAL):
            found = [*most, *map(_most_memory, _workers())]
            most[:] = [max(found)] if found else []

    thread = threading.Thread(target=look)
    thread.start()
    try:
        work()
    finally:
        is_over.set()
        thread.join()
    return most[0] if most else None


def _workers() -> list[int]:
    """The Python processes that Spark started for this one."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found, seen = [], {os.getpid()}
    while below := {process for process, parent in parents.items() if parent in seen} - seen:
        seen |= below
        found += [process for process in below if b"\0pyspark.daemon\0" in _read(process, "cmdline")]
    return found


def _most_memory(process: int) -> int:
    """The peak memory of a process in bytes, 0 if it has ended."""
    _, found, rest = _read(process, "status").partition(b"VmHWM:")
    return int(rest.split()[0]) * 1024 if found else 0


def _read(process: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    raise SystemExit(main())
