"""A query over what logs gain, in a process that may be killed at any moment: with Spark, or as Spark does it.

    python -m campaigns.stream_query FOLDER run             until it is killed, or fails
    python -m campaigns.stream_query FOLDER finish          until all is read; prints what was delivered

The logs are below FOLDER/data. FOLDER/checkpoint holds the ends of each micro-batch, FOLDER/out the rows. `--plain` does what
Spark does with its checkpoint location, without Spark.
"""

import argparse
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from campaigns.spark_cluster import is_below

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

ROOT = Path(__file__).parent.parent
ENDED = "ended"
SCHEMA = (
    "topic string, partition int, offset bigint, isControl boolean, timestamp bigint, timestampType string, key binary,"
    " value binary, headers array<struct<key:string,value:binary>>"
)


class Delivered(NamedTuple):
    """A record that was delivered; `digest` is the checksum of its time and contents."""

    directory: str
    offset: int
    is_control: bool
    digest: int


class Ended(NamedTuple):
    """The end of a query's process: whether it was killed, and what it said if it ended before that."""

    is_killed: bool
    said: str


def digest(timestamp: int, timestamp_type: str, key: bytes | None, value: bytes | None, headers: Sequence[Any]) -> int:
    """A checksum of what a consumer gets of a record, besides its offset; headers are names with values."""
    return zlib.crc32(repr((timestamp, timestamp_type, key, value, [tuple(pair) for pair in headers])).encode())


class Queries(contextlib.AbstractContextManager["Queries"]):
    """Runs one query after the other over a folder.

    Without Spark these are forks of one process: starting Python takes longer than a micro-batch.
    """

    def __init__(self, folder: Path, *, is_plain: bool) -> None:
        self._folder = folder
        self._is_plain = is_plain
        self._errors = (folder / "queries.log").open("w+")
        self._server = self._process("serve") if is_plain else None

    def __exit__(self, *exception: object) -> None:
        if self._server is not None:
            self._server.communicate()
        self._errors.close()

    def killed(self, batches: int, seconds: float) -> Ended:
        """Run a query, and kill it some seconds after it finished so many micro-batches, with all processes below it."""
        self._errors.truncate(0)
        process = self._server or self._process("run")
        assert process.stdin is not None and process.stdout is not None  # opened as pipes
        query = process.pid
        if self._server is not None:
            process.stdin.write("\n")
            process.stdin.flush()
            query = int(process.stdout.readline())
        lines = iter(process.stdout.readline, "")
        is_over = any(line.startswith(ENDED) for line in islice(lines, batches + 1)) or process.poll() is not None
        time.sleep(seconds)
        if not is_over:
            for one in [int(path.name) for path in Path("/proc").glob("[0-9]*") if _is_below(int(path.name), query)]:
                with contextlib.suppress(ProcessLookupError):  # it has ended with the one above it
                    os.kill(one, signal.SIGKILL)
            code = next((int(line.split()[1]) for line in lines if line.startswith(ENDED)), None)
            is_over = (process.wait() if code is None else code) != -signal.SIGKILL
        self._errors.seek(0)
        return Ended(not is_over, self._errors.read())

    def _process(self, what: str) -> "subprocess.Popen[str]":
        command = _command(self._folder, what, is_plain=self._is_plain)
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=self._errors, text=True)


def finished(folder: Path, *, is_plain: bool) -> list[list[Delivered]]:
    """Run a query until it has read all that is there. Returns what was delivered, by micro-batch; with Spark, as one.

    Raises CalledProcessError if it fails.
    """
    done = subprocess.run(
        _command(folder, "finish", is_plain=is_plain), cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    return [[Delivered(*row) for row in json.loads(line)] for line in done.stdout.splitlines() if line.startswith("[")]


def batch_count(folder: Path) -> int:
    """How many micro-batches are finished."""
    return max((int(path.name) for path in (folder / "checkpoint" / "commits").glob("[0-9]*")), default=-1) + 1


def kept_ends(folder: Path, number: int) -> dict[str, list[int]]:
    """The ends of a micro-batch, by directory; none before the first."""
    if number < 0:
        return {}
    ends: dict[str, list[int]] = json.loads((folder / "checkpoint" / "offsets" / str(number)).read_text().splitlines()[-1])
    return ends


def committed(folder: Path) -> dict[str, int]:
    """The offset after the last record that the query has committed, by directory."""
    return {directory: end[0] for directory, end in kept_ends(folder, batch_count(folder) - 1).items()}


def _command(folder: Path, what: str, *, is_plain: bool) -> list[str]:
    command = [sys.executable, "-m", "campaigns.stream_query", str(folder), what]
    return [*command, "--plain"] if is_plain else command


def _is_below(process: int, ancestor: int) -> bool:
    try:
        return is_below(process, ancestor)
    except OSError:
        return False


# --- The process of the query


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", choices=("run", "finish", "serve"))
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    query = _plain_query if options.plain else _query
    if options.what == "serve":
        return _serve(options.folder)
    return query(options.folder, is_last=options.what == "finish")


def _serve(folder: Path) -> int:
    """Fork a query for each line of stdin, which prints its process id first; print its exit code at its end."""
    importlib.import_module("kdump.pipeline.growth")  # once for all queries
    for _ in sys.stdin:
        query = os.fork()
        if not query:
            print(os.getpid(), flush=True)
            try:
                os._exit(_plain_query(folder, is_last=False))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(query, 0)
        print(ENDED, os.waitstatus_to_exitcode(status), flush=True)
    return 0


def _delivered(rows: Iterable[Mapping[str, Any]]) -> Iterator[Delivered]:
    for row in rows:
        headers = [(header["key"], _plain(header["value"])) for header in row["headers"] or ()]
        contents = digest(row["timestamp"], row["timestampType"], _plain(row["key"]), _plain(row["value"]), headers)
        yield Delivered(f"{row['topic']}-{row['partition']}", row["offset"], bool(row["isControl"]), contents)


def _plain(value: Any) -> bytes | None:
    """The bytes of a value of Spark or Arrow."""
    return None if value is None else bytes(value)


def _query(folder: Path, *, is_last: bool) -> int:
    """Stream until killed; the last time until all is read, and print what is there."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "768m")
    session = builder.config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    while True:
        frame = session.readStream.format("kdump").option("table", "records").schema(SCHEMA).load(str(folder / "data"))
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
    rows = session.read.parquet(str(folder / "out")).collect()
    print(json.dumps(list(_delivered(row.asDict(recursive=True) for row in rows))))
    return 0


def _report_batches(folder: Path, query: "StreamingQuery") -> None:
    """Print a line now, and one for each micro-batch. Raises what ends the query."""
    print("started", flush=True)
    known = batch_count(folder)
    while not query.awaitTermination(0.1):  # type: ignore[arg-type]  # seconds, which may be fractions
        for number in range(known, batch_count(folder)):
            print(number, flush=True)
            known = number + 1


def _plain_query(folder: Path, *, is_last: bool) -> int:
    """The same without Spark: the ends of a micro-batch are kept before it is read, and its rows under its number."""
    from kdump.pipeline import growth
    from kdump.pipeline.growth import End
    from kdump.pipeline.options import Options

    columns = ",".join(column.split()[0] for column in SCHEMA.split(", "))
    given = {"path": str(folder / "data"), "table": "records", "columns": columns, "parallelism": "2"}
    known: growth.Ends = {}
    number = batch_count(folder)
    print("started", flush=True)
    while True:
        start = kept_ends(folder, number - 1)
        if not (folder / "checkpoint" / "offsets" / str(number)).exists():
            known = growth.ends(Options(given), known)
            if {directory: list(end) for directory, end in known.items()} == start:
                if is_last:
                    break
                continue
            _keep(folder / "checkpoint" / "offsets" / str(number), known)
        since, until = ({directory: End(*end) for directory, end in ends.items()} for ends in (start, kept_ends(folder, number)))
        steps = growth.steps(Options(given), since, until)
        rows = [row for step in steps for batch in growth.read(step, given) for row in batch.to_pylist()]
        _keep(folder / "out" / str(number), list(_delivered(rows)))
        _keep(folder / "checkpoint" / "commits" / str(number), None)
        number += 1
        print(number, flush=True)
    for one in range(number):
        print((folder / "out" / str(one)).read_text())
    return 0


def _keep(path: Path, value: object) -> None:
    """Write a file at once, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(json.dumps(value))
    temporary.rename(path)


if __name__ == "__main__":
    sys.exit(main())
