"""Streams logs that grow, kills the query at random moments, and looks whether each record arrived once.

    python -m tests.campaigns.spark_streams                    five minutes
    python -m tests.campaigns.spark_streams --plain            without Spark: many more kills in the same time

A thread writes as brokers do: it appends batches, some of them in two parts, rolls segments, creates partitions, and deletes
segments whose records the query has committed. The query runs in a process of its own, which is killed with all processes below
it (SIGKILL), and then continues from its checkpoint location. `--plain` does what Spark does with its checkpoint location.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.builders.compression import Codec
from tests.builders.files import file_name
from tests.builders.records import batch, record
from tests.campaigns.spark_cluster import is_below

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

ROOT = Path(__file__).parent.parent.parent
CODECS: tuple[Codec, ...] = ("none", "none", "lz4", "zstd")
SEGMENT_SIZE = 20 << 10
MAX_PARTITIONS = 8
MAX_BATCHES, MAX_WAIT = 4, 1.0  # micro-batches that a query may finish before it is killed, and seconds after these


Offsets = Counter[tuple[str, int]]
"""How many records there are, by the name of a partition's directory and their offset."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write, stream and kill; return the exit code: 1 if a record is missing, or there twice."""
    parser = argparse.ArgumentParser(
        prog="tests.campaigns.spark_streams", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="without Spark")
    parser.add_argument("--here", choices=("run", "finish"), help=argparse.SUPPRESS)  # the process of the query
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        query = _plain_query if options.plain else _query
        return query(options.folder, is_last=options.here == "finish")
    with tempfile.TemporaryDirectory(prefix="kdump-streams-", ignore_cleanup_errors=True) as name:
        return _campaign(Path(name), options.seconds, random.Random(options.seed), is_plain=options.plain)


def _campaign(folder: Path, seconds: float, rng: random.Random, *, is_plain: bool) -> int:
    writer = Writer(folder, random.Random(rng.random()))
    end = time.monotonic() + seconds
    kills = 0
    try:
        while time.monotonic() < end:
            _killed_query(_command(folder, "run", is_plain=is_plain), rng.randrange(MAX_BATCHES), rng.uniform(0, MAX_WAIT))
            kills += 1
    finally:
        writer.end()
    done = subprocess.run(_command(folder, "finish", is_plain=is_plain), cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"the stream failed after {kills} kills:\n{done.stderr[-3000:]}")
        return 1
    found = Offsets({(name, offset): count for name, offset, count in json.loads(done.stdout.splitlines()[-1])})
    missing, more = writer.written - found, found - writer.written
    print(
        f"{writer.written.total():,} records in {len(writer.partitions)} partitions, {writer.deleted} segments deleted,"
        f" {kills} kills, {_batches(folder)} micro-batches: {missing.total()} records missing, {more.total()} too many",
        flush=True,
    )
    return 1 if missing or more or not found else 0


# --- The writer


class Partition:
    """A partition directory: its next offset, and the base offset of its newest segment."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.next_offset = self.base_offset = 0

    def files(self) -> list[Path]:
        return sorted(self.directory.glob("*.log"))


class Writer:
    """Writes logs in a thread until it is ended. `written` counts the records of complete batches."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.written: Offsets = Counter()
        self.deleted = 0
        self.partitions: list[Partition] = []
        self._folder = folder
        self._rng = rng
        self._is_over = threading.Event()
        (folder / "data").mkdir()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """End between two batches."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        steps: tuple[Callable[[], None], ...] = (self._append, self._delete, self._create)
        self._create()
        while not self._is_over.is_set():
            (step,) = self._rng.choices(steps, (40, 2, 1))
            step()
            time.sleep(self._rng.uniform(0, 0.1))

    def _create(self) -> None:
        if len(self.partitions) < MAX_PARTITIONS:
            directory = self._folder / "data" / f"topic{self._rng.randrange(2)}-{len(self.partitions)}"
            directory.mkdir()
            self.partitions.append(Partition(directory))

    def _append(self) -> None:
        """Append a batch, sometimes in two parts, some offsets after the one before; roll the segment first if it is full."""
        partition = self._rng.choice(self.partitions)
        offset = partition.next_offset + self._rng.choice((0, 0, 0, 3))
        path = partition.directory / file_name(partition.base_offset, ".log")
        if path.exists() and path.stat().st_size > SEGMENT_SIZE:
            partition.base_offset = offset
            path = partition.directory / file_name(offset, ".log")
        count = self._rng.randint(1, 20)
        records = [record(key=b"%d" % number, value=self._rng.randbytes(self._rng.randrange(200))) for number in range(count)]
        data = batch(records=records, base_offset=offset, codec=self._rng.choice(CODECS))
        with path.open("ab", buffering=0) as file:
            cut = self._rng.randrange(len(data)) if self._rng.random() < 0.2 else len(data)
            file.write(data[:cut])
            if cut < len(data):
                time.sleep(self._rng.uniform(0, 1))
                file.write(data[cut:])
        partition.next_offset = offset + count
        self.written.update((partition.directory.name, offset + delta) for delta in range(count))

    def _delete(self) -> None:
        """Delete the oldest segment of a partition as brokers do, by way of another name, if its records were committed."""
        partition = self._rng.choice(self.partitions)
        files = partition.files()
        if len(files) < 2 or int(files[1].stem) > _committed(self._folder).get(str(partition.directory), 0):
            return
        marked = files[0].rename(f"{files[0]}.deleted")
        time.sleep(self._rng.uniform(0, 0.5))
        marked.unlink()
        self.deleted += 1


def _committed(folder: Path) -> dict[str, int]:
    """The offset after the last record that the query has committed, by directory."""
    return {directory: end[0] for directory, end in _kept_ends(folder, _batches(folder) - 1).items()}


def _batches(folder: Path) -> int:
    return max((int(path.name) for path in (folder / "checkpoint" / "commits").glob("[0-9]*")), default=-1) + 1


# --- The query


def _command(folder: Path, what: str, *, is_plain: bool) -> list[str]:
    command = [sys.executable, "-m", "tests.campaigns.spark_streams", "--here", what, "--folder", str(folder)]
    return [*command, "--plain"] if is_plain else command


def _killed_query(command: Sequence[str], batches: int, seconds: float) -> None:
    """Run a query, and kill it some seconds after it finished so many micro-batches, with all processes below it."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    with process.stdout:
        for _ in range(batches + 1):
            process.stdout.readline()  # its start, or a micro-batch; empty if it has ended
        time.sleep(seconds)
        below = [int(path.name) for path in Path("/proc").glob("[0-9]*") if _is_below(int(path.name), process.pid)]
        for one in below:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended with the one above it
    process.wait()


def _is_below(process: int, ancestor: int) -> bool:
    try:
        return is_below(process, ancestor)
    except OSError:
        return False


def _query(folder: Path, *, is_last: bool) -> int:
    """Stream until killed; the last time until all is read, and print how often each record is there."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "768m")
    session = builder.config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    schema = "topic string, partition int, offset bigint"
    while True:
        frame = session.readStream.format("kdump").option("table", "records").schema(schema).load(str(folder / "data"))
        query = frame.writeStream.option("checkpointLocation", str(folder / "checkpoint")).start(str(folder / "out"))
        try:
            if is_last:
                query.processAllAvailable()
                break
            _report_batches(folder, query)
        except Exception as error:  # Spark waits ten seconds for the process that plans a stream
            if "failed to connect back" not in str(error):
                raise
    query.stop()
    rows = session.read.parquet(str(folder / "out")).groupBy("topic", "partition", "offset").count().collect()
    print(json.dumps([(f"{row.topic}-{row.partition}", row.offset, row["count"]) for row in rows]))
    return 0


def _report_batches(folder: Path, query: "StreamingQuery") -> None:
    """Print a line now, and one for each micro-batch. Raises what ends the query."""
    print("started", flush=True)
    known = _batches(folder)
    while not query.awaitTermination(0.1):  # type: ignore[arg-type]  # seconds, which may be fractions
        for number in range(known, _batches(folder)):
            print(number, flush=True)
            known = number + 1


def _plain_query(folder: Path, *, is_last: bool) -> int:
    """The same without Spark: the ends of a micro-batch are kept before it is read, and its rows under its number."""
    from kdump.pipeline import growth
    from kdump.pipeline.growth import End
    from kdump.pipeline.options import Options

    given = {"path": str(folder / "data"), "table": "records", "columns": "topic,partition,offset", "parallelism": "2"}
    known: growth.Ends = {}
    number = _batches(folder)
    print("started", flush=True)
    while True:
        start = _kept_ends(folder, number - 1)
        if not (folder / "checkpoint" / "offsets" / str(number)).exists():
            known = growth.ends(Options(given), known)
            if {directory: list(end) for directory, end in known.items()} == start:
                if is_last:
                    break
                continue
            _keep(folder / "checkpoint" / "offsets" / str(number), known)
        since, until = ({directory: End(*end) for directory, end in ends.items()} for ends in (start, _kept_ends(folder, number)))
        steps = growth.steps(Options(given), since, until)
        rows = [row for step in steps for batch in growth.read(step, given) for row in batch.to_pylist()]
        _keep(folder / "out" / str(number), [(f"{row['topic']}-{row['partition']}", row["offset"]) for row in rows])
        _keep(folder / "checkpoint" / "commits" / str(number), None)
        number += 1
        print(number, flush=True)
    found = Counter(tuple(row) for path in (folder / "out").glob("[0-9]*") for row in json.loads(path.read_text()))
    print(json.dumps([(*row, count) for row, count in found.items()]))
    return 0


def _kept_ends(folder: Path, number: int) -> dict[str, list[int]]:
    """The ends of a micro-batch, by directory; none before the first."""
    if number < 0:
        return {}
    ends: dict[str, list[int]] = json.loads((folder / "checkpoint" / "offsets" / str(number)).read_text().splitlines()[-1])
    return ends


def _keep(path: Path, value: object) -> None:
    """Write a file at once, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(json.dumps(value))
    temporary.rename(path)


if __name__ == "__main__":
    sys.exit(main())
