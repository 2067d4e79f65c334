"""Starts Kafka's own log manager on copies of partition directories, and tells what became of them.

Needs what kafka_tool.py needs. The log managers of 2.8 and later are known to be found; what a release calls them by is found
when it runs, see LogStarts.java.
"""

import functools
import gzip
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from . import kafka_tool

JAVA_SOURCES = [Path(__file__).with_name(name) for name in ("LogStarts.java", "StaticLoggerBinder.java")]
RELEASE_TO_COMPILE_WITH = "4.3.1"
SECONDS = 120

CHECKPOINT = "0\n1\n{} {} {}\n"
NOT_OF_PARTITIONS = ("MUTANT", "EDIT", "FAULT")
SETTINGS = {"index.interval.bytes": "log.index.interval.bytes", "segment.index.bytes": "log.index.size.max.bytes"}
"""What a topic calls a setting, and what a broker does."""


class Start(NamedTuple):
    """A start to make: of a copy of `directory`, under the name `loaded_as`."""

    directory: Path
    stop: str
    recovery_point: int
    loaded_as: str = "topic-0"
    log_start: int = 0
    config: Mapping[str, str | int] = {}


class Answer(NamedTuple):
    """What a start did. `words` are the outcome and the others that hold; offsets are None where the log was not loaded."""

    words: tuple[str, ...]
    log_start: int | None
    log_end: int | None
    bytes_lost: int
    segments_gone: tuple[str, ...]
    exception: str | None
    message: str | None


def run_many(release: str, starts: Iterable[Start]) -> Iterator[Answer]:
    """Make these starts with the log manager of a release, one after the other in one JVM."""
    with tempfile.TemporaryDirectory(prefix="kdump-starts-") as folder:
        jvm: subprocess.Popen[bytes] | None = None
        try:
            for start in starts:
                log_dir = Path(folder) / "data"
                shutil.rmtree(log_dir, ignore_errors=True)
                before = _prepare(start, log_dir)
                jvm = jvm or _jvm(release)
                line = _ask(jvm, start, log_dir)
                yield _judged(line, before, _contents(log_dir / start.loaded_as))
        finally:
            if jvm is not None:
                jvm.kill()
                jvm.wait()


def _prepare(start: Start, log_dir: Path) -> dict[str, bytes]:
    """Copy the directory, and put beside it what the stop leaves. The answer is what files hold."""
    partition = log_dir / start.loaded_as
    partition.mkdir(parents=True)
    for path in sorted(start.directory.iterdir()):
        if not path.is_file() or path.name in NOT_OF_PARTITIONS:
            continue
        if path.name.endswith((".index.gz", ".timeindex.gz")):
            (partition / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
        else:
            (partition / path.name).write_bytes(path.read_bytes())
    topic, _, number = (
        start.loaded_as.partition(".")[0].rpartition("-") if "-delete" in start.loaded_as else start.loaded_as.rpartition("-")
    )
    if topic and number.isdigit():
        (log_dir / "recovery-point-offset-checkpoint").write_text(CHECKPOINT.format(topic, number, start.recovery_point))
        if start.log_start:
            (log_dir / "log-start-offset-checkpoint").write_text(CHECKPOINT.format(topic, number, start.log_start))
    if start.stop == "clean":
        (log_dir / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    return _contents(partition)


def _contents(partition: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in partition.iterdir() if path.is_file()}


def _jvm(release: str) -> "subprocess.Popen[bytes]":
    class_path = os.pathsep.join([str(_classes()), kafka_tool.fetch(release)])
    return subprocess.Popen(
        ["java", "-Xmx512M", "-XX:TieredStopAtLevel=1", "-XX:-OmitStackTraceInFastThrow", "-cp", class_path, "LogStarts"],
        env=kafka_tool.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )


def _ask(jvm: "subprocess.Popen[bytes]", start: Start, log_dir: Path) -> list[str]:
    settings = [f"{SETTINGS.get(name, name)}={value}" for name, value in start.config.items()]
    assert jvm.stdin is not None  # opened as pipes
    assert jvm.stdout is not None
    jvm.stdin.write("\t".join([str(log_dir), *settings]).encode() + b"\n")
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([jvm.stdout], [], [], SECONDS)[0]:
            raise kafka_tool.OracleError(f"no answer within {SECONDS} s to {start}")
        piece = os.read(jvm.stdout.fileno(), 1 << 20)
        if not piece:
            raise kafka_tool.OracleError(f"the JVM ended at {start}")
        line += piece
    return line[:-1].decode().split("\t")


def _judged(fields: list[str], before: dict[str, bytes], after: dict[str, bytes]) -> Answer:
    """What was done, told by what was logged and by what became of the files."""
    result, exception, message, log_start, log_end, *logged = fields
    text = "\n".join(logged)
    logs_before = {name: data for name, data in before.items() if _is_log(name)}
    logs_after = {name: data for name, data in after.items() if _is_log(name)}
    is_shorter = any(name in after and after[name] != data and data.startswith(after[name]) for name, data in logs_before.items())
    is_index_made = any(
        name.endswith(".index")
        and name not in before
        and name + ".swap" not in before
        and name[: -len("index")] + "log" in before
        for name in after
    )
    is_gone = any(
        name not in after and (not name.endswith(".swap") or name[:-5] in before or name[:-5] not in after)
        for name in before
        if not name.endswith((".snapshot", ".snapshot.deleted"))
    )
    is_replaced = any(
        name + ".deleted" in after and name in after and not data.startswith(after[name]) for name, data in logs_before.items()
    )
    wiped = "Found invalid offset during recovery" in text
    cut = "Corruption found in segment" in text
    split = "Caught segment overflow error" in text or "Splitting overflowed segment" in text
    holds = {
        "die": result == "exception",
        "offline": result == "offline",
        "wipe": wiped,
        "cut": cut,
        "split": split,
        "rescan": "Could not find offset index file" in text
        or "Found a corrupted index file" in text
        or is_index_made
        or is_shorter
        and not (wiped or cut or split),
        "delete": is_gone
        or is_replaced
        or "Deleting all segments because" in text
        or "that is compacted but has not been deleted yet" in text,
    }
    return Answer(
        tuple(word for word, does_hold in holds.items() if does_hold) or ("keep",),
        int(log_start) if log_start else None,
        int(log_end) if log_end else None,
        sum(map(len, logs_before.values())) - sum(map(len, logs_after.values())),
        tuple(sorted(name for name in before if name.endswith(".log") and name not in after)),
        exception or None,
        message or None,
    )


def _is_log(name: str) -> bool:
    return name.endswith(".log") and name.split(".")[0].lstrip("+-").isdigit()


@functools.cache
def _classes() -> Path:
    """Compile the sources unless that was done before; return the folder of the classes."""
    return kafka_tool.compiled(JAVA_SOURCES, kafka_tool.fetch(RELEASE_TO_COMPILE_WITH))
