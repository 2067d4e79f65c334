"""What brokers do with partition directories at their next start: runs Kafka's own log manager on copies.

What a record says comes from the loaded log, from the lines the broker logs, and from the files before, while the log is open,
and after a proper close; restart_records.py has the fields.

The scheduler runs tasks without delay at the end of loading, and delayed ones never: files that a broker removes a
minute later are still there under `.deleted`. Settings are at their defaults unless a request names others.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracle import kafka_tool
from tests.oracle.jvm import Jvm, NoAnswer
from tests.oracle.restart_records import Facts, intact_batches, record

JAVA_SOURCE = Path(__file__).with_name("restart") / "LogManagerStarts.java"
FIRST_RELEASE = "2.5.0"  # Scala 2.13, which names parameters
LOGGING = "org.slf4j:slf4j-jdk14:1.7.36"
# Enough for a few preallocated indexes of 10 MiB; an allocation for a damaged length must not take the machine down.
JVM_OPTIONS = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-OmitStackTraceInFastThrow")
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
    """One start to perform."""

    stop: str
    recovery_point: int


class Request(NamedTuple):
    """One directory, and how it is loaded."""

    directory: Path
    config: Mapping[str, str] = {}
    loaded_as: str | None = None  # the name of the copy; by default see _loaded_as
    now: int | None = None  # the time of the clock; by default a minute after the newest record


@functools.cache
def why_not_available(release: str) -> str | None:
    """What is missing to perform starts with this release; None if nothing is."""
    if kafka_tool.release_number(release) < kafka_tool.release_number(FIRST_RELEASE):
        return f"starts are recorded from {FIRST_RELEASE} on, not with {release}"
    return kafka_tool.why_not_available(release) or kafka_tool.why_not(
        lambda: (kafka_tool.compiled(JAVA_SOURCE), kafka_tool.fetch(release, LOGGING))
    )


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
        return {"release": self._release, **start._asdict(), **record(facts)}

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
