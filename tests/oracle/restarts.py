"""Records what brokers do with partition directories at their next start: runs Kafka's own log manager on copies.

    python -m tests.oracle.restarts --release 4.3.1 DIR... > records.jsonl

Each line is one start: after a clean or an unclean stop, with one recovery point. What it says comes from the loaded
log, from the lines the broker logs, and from the files before, while the log is open, and after a proper close;
restart_records.py has the fields.

The scheduler runs tasks without delay at the end of loading, and delayed ones never: files that a broker removes a
minute later are still there under `.deleted`. Settings are at their defaults.
"""

import argparse
import contextlib
import functools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracle import kafka_tool
from tests.oracle.jvm import Jvm, NoAnswer
from tests.oracle.restart_records import Facts, intact_batches, record

JAVA_SOURCE = Path(__file__).with_name("restart") / "LogManagerStarts.java"
FIRST_RELEASE = "2.5.0"  # Scala 2.13, which names parameters
LOGGING = "org.slf4j:slf4j-jdk14:1.7.36"
# Enough for a few preallocated indexes of 10 MiB; an allocation for a damaged length must not take the machine down.
JVM_OPTIONS = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:-OmitStackTraceInFastThrow")
SECONDS_PER_REQUEST = 60
SECONDS_TO_START = 30

# Of the log directory, not of a partition.
LOG_DIR_FILES = {
    *(".kafka_cleanshutdown", ".lock", "bootstrap.checkpoint", "cleaner-offset-checkpoint", "log-start-offset-checkpoint"),
    *("meta.properties", "recovery-point-offset-checkpoint", "replication-offset-checkpoint"),
}
METADATA_PARTITION = "__cluster_metadata-0"
NO_RECORD_TIME = 1_700_000_000_000
MAX_LONG = 2**63 - 1
MINUTE = 60_000

PARTITION_NAME = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(\.[0-9a-f]{32}-(delete|stray|future))?")


class Start(NamedTuple):
    """One start to perform; `recovery_point_is` says how the offset was chosen."""

    stop: str
    recovery_point: int
    recovery_point_is: str = "given"


class Request(NamedTuple):
    """One directory, and the requested starts."""

    directory: Path
    recovery_points: Sequence[str] = ("zero", "end", "middle", "checkpoint")
    config: Mapping[str, str] = {}
    loaded_as: str | None = None  # the name of the copy; by default see _loaded_as
    now: int | None = None  # the time of the clock; by default a minute after the newest record


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the records of the given directories, one line of JSON each."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle.restarts", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("directories", metavar="DIR", nargs="+", type=Path, help="partition directories")
    parser.add_argument("--release", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args(arguments)
    missing = why_not_available(chosen.release)
    if missing:
        print(missing, file=sys.stderr)
        return 2
    try:
        for rows in run_many(chosen.release, [Request(directory) for directory in chosen.directories], jobs=chosen.jobs):
            print(*map(json.dumps, rows), sep="\n", end="\n" if rows else "", flush=True)
    except kafka_tool.OracleError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


@functools.cache
def why_not_available(release: str) -> str | None:
    """What is missing to perform starts with this release; None if nothing is."""
    if kafka_tool.release_number(release) < kafka_tool.release_number(FIRST_RELEASE):
        return f"starts are recorded from {FIRST_RELEASE} on, not with {release}"
    return kafka_tool.why_not_available(release) or kafka_tool.why_not(
        lambda: (kafka_tool.compiled(JAVA_SOURCE), kafka_tool.fetch(release, LOGGING))
    )


def run_many(release: str, requests: Sequence[Request], jobs: int = 1) -> Iterator[list[dict[str, Any]]]:
    """Return the records of each request, in order, using `jobs` JVMs."""
    with contextlib.ExitStack() as stack:
        managers = [stack.enter_context(LogManager(release)) for _ in range(min(jobs, len(requests)))]
        free = list(managers)

        def run(request: Request) -> list[dict[str, Any]]:
            manager = free.pop()
            try:
                return list(records(manager, request))
            finally:
                free.append(manager)

        if managers:
            yield from stack.enter_context(ThreadPoolExecutor(len(managers))).map(run, requests)


def records(manager: "LogManager", request: Request) -> Iterator[dict[str, Any]]:
    """Return the records of a directory: after a clean stop, then after an unclean one with each recovery point.

    The points: zero; the log end after a clean start ("end", the everyday crash); the base of the segment in the middle, of
    three or more; and what the log directory's own checkpoint holds, if that is yet another. After a clean stop one record
    with `recovery_point_is` "any" stands for zero and end where these agree in everything.
    """
    request = request._replace(directory=request.directory.resolve())
    run = functools.partial(manager.record, request)
    clean = run(Start("clean", 0, "zero"))
    end = clean.get("log_end", _intact_end(request.directory))
    points = {"zero": 0}
    if 0 < end <= MAX_LONG:
        points["end"] = end
    bases = sorted(base for base, _ in clean.get("segments_before", []))
    if len(bases) >= 3:
        points["middle"] = bases[len(bases) // 2]
    checkpoint = _checkpoint(request.directory.parent / "recovery-point-offset-checkpoint").get(_loaded_as(request))
    if checkpoint is not None and checkpoint <= MAX_LONG and checkpoint not in points.values():
        points["checkpoint"] = checkpoint
    wanted = [(name, point) for name, point in points.items() if name in request.recovery_points]
    starts = [Start("clean", point, name) for name, point in wanted if name in ("zero", "end")]
    rows = [clean if start.recovery_point_is == "zero" else run(start) for start in starts]
    if len(rows) == 2 and _is_same(*rows):
        rows = [{**rows[1], "recovery_point_is": "any"}]
    yield from rows
    for name, point in wanted:
        yield run(Start("unclean", point, name))


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two starts did the same, apart from their recovery points."""
    apart = ("recovery_point", "recovery_point_is", "recovery_point_after")
    return {k: v for k, v in one.items() if k not in apart} == {k: v for k, v in other.items() if k not in apart}


class _Broken(kafka_tool.OracleError):
    """The JVM did not perform a request."""


class LogManager(contextlib.AbstractContextManager["LogManager"]):
    """One JVM with the log manager of a release, started again when it breaks; see LogManagerStarts.java for the protocol."""

    def __init__(self, release: str) -> None:
        self._release = release
        self._folder = tempfile.TemporaryDirectory(prefix="kdump-restarts-")
        self._log_dir = Path(self._folder.name).resolve() / "data"
        self._held = self._log_dir.with_name("held")
        self._jvm: Jvm | None = None

    def __exit__(self, *exception: object) -> None:
        self._end()
        self._folder.cleanup()

    def record(self, request: Request, start: Start) -> dict[str, Any]:
        """Perform one start on a fresh copy; return its record."""
        directory, config = request.directory, request.config
        partition = self._log_dir / _loaded_as(request)
        log_start = _checkpoint(directory.parent / "log-start-offset-checkpoint").get(partition.name)
        lay_out = functools.partial(self._lay_out, directory, partition, start, log_start)
        (facts,) = self._started(lay_out, config, request.now)
        is_in_log_dir = directory.name in (partition.name, METADATA_PARTITION)
        row = {
            "case": directory.parent.name if is_in_log_dir else directory.name,
            "dir": directory.name if is_in_log_dir else ".",
            "release": self._release,
            **start._asdict(),
            **({"loaded_as": partition.name} if partition.name == directory.name else {}),
            **({"config": dict(config)} if config else {}),
            **record(facts),
        }
        return row if log_start is None else {**row, "log_start_checkpoint": log_start}

    def rebuilt(self, request: Request, start: Start) -> dict[str, bytes] | None:
        """Perform one start on a fresh copy; return its files after the close, or None if it fails or loses something."""
        found = self.record(request, start)
        if found["result"] != "loaded" or found["bytes_lost"] or found.get("lost_batches"):
            return None
        return self.files(request)

    def files(self, request: Request) -> dict[str, bytes]:
        """The files of a partition as its last start left them."""
        return _contents(self._log_dir / _loaded_as(request))

    def record_log_directory(self, log_directory: Path, stop: str, now: int) -> dict[str, dict[str, Any]]:
        """Perform one start of a whole log directory with its checkpoints; return the record of each partition.

        An exception, or a reason for taking the log directory offline, is recorded for all partitions.
        """
        lay_out = functools.partial(self._lay_out_all, log_directory.resolve(), stop)
        started = self._started(lay_out, {}, now)
        return {path.name: record(facts) for path, facts in zip(self._partitions(), started, strict=True)}

    def _partitions(self) -> list[Path]:
        return sorted(path for path in self._log_dir.iterdir() if path.is_dir())

    def _started(self, lay_out: Callable[[], None], config: Mapping[str, str], now: int | None) -> list[Facts]:
        """Copy, load and close; return the facts of each partition, in the order of their names."""
        lay_out()
        partitions = self._partitions()
        before = [_contents(partition) for partition in partitions]
        intact = [list(intact_batches(files)) for files in before]
        newest = max((batch.max_timestamp for batches in intact for batch in batches), default=NO_RECORD_TIME)
        clock = min(newest + MINUTE, MAX_LONG) if now is None else now
        settings = [f"{name}={value}" for name, value in config.items()]
        told = self._load(lay_out, "\t".join(["load", str(self._log_dir), str(clock), *settings]))
        opened = [{path.name: path.stat().st_size for path in partition.iterdir() if path.is_file()} for partition in partitions]
        self._ask("close")
        return [
            Facts(
                before[row],
                opened[row],
                _contents(partition),
                self._places(partition),
                intact[row],
                self._without_paths(told if len(partitions) == 1 else _told_of(partition.name, told)),
            )
            for row, partition in enumerate(partitions)
        ]

    def _lay_out(self, directory: Path, partition: Path, start: Start, log_start: int | None) -> None:
        self._clear()
        partition.mkdir(parents=True)
        for path in directory.iterdir():
            if path.is_dir():
                shutil.copytree(path, partition / path.name)
            elif path.name not in LOG_DIR_FILES:
                shutil.copyfile(path, partition / path.name)
        _write_checkpoint(self._log_dir / "recovery-point-offset-checkpoint", partition.name, start.recovery_point)
        if log_start is not None:
            _write_checkpoint(self._log_dir / "log-start-offset-checkpoint", partition.name, log_start)
        if start.stop == "clean":
            (self._log_dir / ".kafka_cleanshutdown").touch()
        self._hold(partition)

    def _lay_out_all(self, log_directory: Path, stop: str) -> None:
        self._clear()
        shutil.copytree(log_directory, self._log_dir)
        if stop == "clean":
            (self._log_dir / ".kafka_cleanshutdown").touch()
        for partition in self._partitions():
            self._hold(partition)

    def _clear(self) -> None:
        for folder in (self._log_dir, self._held):
            shutil.rmtree(folder, ignore_errors=True)

    def _hold(self, partition: Path) -> None:
        """Give each file a second hard link: it identifies the file wherever it moves, and no new file can be mistaken for it."""
        held = self._held / partition.name
        held.mkdir(parents=True)
        for path in partition.iterdir():
            if path.is_file():
                (held / path.name).hardlink_to(path)

    def _places(self, partition: Path) -> dict[str, str]:
        """The current place of each copied file, by its original name."""
        now = {path.stat().st_ino: path.name for path in partition.iterdir() if path.is_file()}
        held = {path.name: path.stat().st_ino for path in (self._held / partition.name).iterdir()}
        return {name: now[number] for name, number in held.items() if number in now}

    def _without_paths(self, told: dict[str, Any]) -> Any:
        return json.loads(json.dumps(told).replace(str(self._log_dir.parent), "{CWD}"))

    def _load(self, lay_out: Callable[[], None], request: str) -> dict[str, Any]:
        """Load the copy; if the JVM breaks, copy again and retry with a fresh one."""
        with contextlib.suppress(_Broken):
            return self._ask(request)
        lay_out()
        return self._ask(request)

    def _ask(self, request: str) -> dict[str, Any]:
        seconds = SECONDS_PER_REQUEST
        if self._jvm is None:
            self._jvm = self._launch()
            seconds += SECONDS_TO_START
        try:
            self._jvm.send(request.encode() + b"\n")
            answer = json.loads(self._jvm.read_line(seconds))
        except NoAnswer as error:
            self._end()
            raise _Broken(f"the log manager of {self._release}: {error}: {request}") from error
        assert isinstance(answer, dict)
        return answer

    def _launch(self) -> Jvm:
        class_path = os.pathsep.join([str(kafka_tool.compiled(JAVA_SOURCE)), kafka_tool.fetch(self._release, LOGGING)])
        return Jvm(["java", *JVM_OPTIONS, "-cp", class_path, JAVA_SOURCE.stem], kafka_tool.environment())

    def _end(self) -> None:
        if self._jvm is not None:
            self._jvm.kill()
        self._jvm = None


def _told_of(partition: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """The report about one partition of several: its log, and the lines that name it."""
    marks = (f"partition={partition},", f"partition={partition}]", f"/{partition}/")
    lines = [line for line in told["lines"] if any(mark in line[2] for mark in marks)]
    return {**told, "logs": [log for log in told["logs"] if log["dir"] == partition], "lines": lines}


def _intact_end(directory: Path) -> int:
    """The offset after the highest offset of the intact batches."""
    return max((batch.last_offset + 1 for batch in intact_batches(_contents(directory))), default=0)


def _contents(partition: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in partition.iterdir() if path.is_file()}


def _loaded_as(request: Request) -> str:
    """The name of the copy: that of the directory if a partition can have it, for others topic-0.

    The log manager skips the metadata partition, so it gets the other name.
    """
    if request.loaded_as:
        return request.loaded_as
    name = request.directory.name
    return name if PARTITION_NAME.fullmatch(name) and name != METADATA_PARTITION else "topic-0"


def _checkpoint(path: Path) -> dict[str, int]:
    """The offsets of a checkpoint file by directory name; invalid lines are skipped."""
    text = path.read_text(errors="replace") if path.exists() else ""
    return {f"{found[1]}-{found[2]}": int(found[3]) for found in re.finditer(r"(?m)^(\S+) (\d+) (-?\d+)$", text)}


def _write_checkpoint(path: Path, partition: str, offset: int) -> None:
    found = PARTITION_NAME.fullmatch(partition)
    assert found  # _loaded_as made sure
    path.write_text(f"0\n1\n{found['topic']} {found['partition']} {offset}\n")


if __name__ == "__main__":
    raise SystemExit(main())
