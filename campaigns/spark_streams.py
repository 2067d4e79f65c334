"""Streams logs that grow, kills the query at random moments, and looks whether each record arrived once.

    python -m campaigns.spark_streams                    five minutes
    python -m campaigns.spark_streams --plain            without Spark: many more kills in the same time
    python -m campaigns.spark_streams --release 4.0.5    with this release, in an environment of its own

A thread writes as brokers do: it appends batches, some of them in two parts, rolls segments, creates partitions, and deletes
segments whose records the query has committed. The query runs in a process of its own, which is killed with all processes below
it (SIGKILL), and then continues from its checkpoint location. `--plain` does what Spark does with its checkpoint location.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from campaigns import spark_releases, stream_query
from tests.builders.compression import Codec
from tests.builders.files import file_name
from tests.builders.records import batch, record

CODECS: tuple[Codec, ...] = ("none", "none", "lz4", "zstd")
SEGMENT_SIZE = 20 << 10
MAX_PARTITIONS = 8
MAX_BATCHES, MAX_WAIT = 4, 1.0  # micro-batches that a query may finish before it is killed, and seconds after these


Offsets = Counter[tuple[str, int]]
"""How many records there are, by the name of a partition's directory and their offset."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write, stream and kill; return the exit code: 1 if a record is missing, or there twice."""
    parser = argparse.ArgumentParser(
        prog="campaigns.spark_streams", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="without Spark")
    parser.add_argument("--release", action="append", metavar="4.0.5", help="of PySpark; by default the one installed here")
    given = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(given)
    if options.release:
        return spark_releases.in_releases(options.release, "campaigns.spark_streams", given)
    with tempfile.TemporaryDirectory(prefix="kdump-streams-", ignore_cleanup_errors=True) as name:
        return _campaign(Path(name), options.seconds, random.Random(options.seed), is_plain=options.plain)


def _campaign(folder: Path, seconds: float, rng: random.Random, *, is_plain: bool) -> int:
    writer = Writer(folder, random.Random(rng.random()))
    end = time.monotonic() + seconds
    kills = 0
    try:
        with stream_query.Queries(folder, is_plain=is_plain) as queries:
            while time.monotonic() < end:
                queries.killed(rng.randrange(MAX_BATCHES), rng.uniform(0, MAX_WAIT))
                kills += 1
    finally:
        writer.end()
    try:
        delivered = stream_query.finished(folder, is_plain=is_plain)
    except subprocess.CalledProcessError as error:
        print(f"the stream failed after {kills} kills:\n{error.stderr[-3000:]}")
        return 1
    found = Offsets((row.directory, row.offset) for rows in delivered for row in rows)
    missing, more = writer.written - found, found - writer.written
    print(
        f"{writer.written.total():,} records in {len(writer.partitions)} partitions, {writer.deleted} segments deleted,"
        f" {kills} kills, {stream_query.batch_count(folder)} micro-batches: {missing.total()} records missing,"
        f" {more.total()} too many",
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
        if len(files) < 2 or int(files[1].stem) > stream_query.committed(self._folder).get(str(partition.directory), 0):
            return
        marked = files[0].rename(f"{files[0]}.deleted")
        time.sleep(self._rng.uniform(0, 0.5))
        marked.unlink()
        self.deleted += 1


if __name__ == "__main__":
    sys.exit(main())
