"""The programs that are compared: their command lines, and the function that runs them."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.oracle import kafka_tool

HERE = Path(__file__).parent
SECONDS = 100  # a longer run is stopped, and not repeated

NEWEST = "4.3.1"

KDUMP = "kdump"
PYTHON_KERNEL = "kdump, Python kernel"
LIMIT = "C program"
CAT = "cat"
RECOVER, REINDEX, COPY = "kdump recover", "kdump reindex --without-logs", "cp, synced"
DECOMPRESSION = "decompression only"
START = "python -c pass"
PARQUET, SCAN = "kdump log, Parquet", "kdump scan --records"
SCAN_BATCHES, SCAN_AGAIN = "kdump scan", "kdump scan, again"
PYARROW = "pyarrow only"
DEEP_CHECK = "kdump check --level deep"
LOOP, TWO_LOOPS = "busy loop", "two busy loops"

_BUSY = "for _ in range(20_000_000): pass"


class Contender(NamedTuple):
    """A command, or several copies of it at once. If a release is named, it prints the same as that release's tool."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = os.environ
    copies: int = 1
    release: str = ""


class Measured(NamedTuple):
    """The cost of one run: wall seconds of the whole process, CPU seconds, and peak memory in bytes."""

    seconds: float
    cpu: float
    memory: int
    exit_code: int
    is_late: int


class MissingContender(Exception):
    """A contender cannot run; the message says what to do."""


def kdump_script() -> Path:
    """The installed `kdump`. Raises MissingContender if it is not installed."""
    script = Path(sys.executable).with_name("kdump")
    if not script.exists():
        raise MissingContender(f"there is no {script}: install kdump into this environment, `python -m pip install .`")
    return script


def kdump(arguments: Sequence[str], *, name: str = KDUMP, kernel: str = "c", jobs: int = 0, release: str = NEWEST) -> Contender:
    """Our tool, with the default number of processes unless `jobs` is given."""
    command = [str(kdump_script()), *(["--jobs", str(jobs)] if jobs else []), "--release", release, *arguments]
    return Contender(name, command, {**os.environ, "KDUMP_KERNEL": kernel}, release=release)


def listing(name: str, path: str, *options: str) -> Contender:
    """`kdump log` of a file with its records."""
    return Contender(name, [str(kdump_script()), "log", *options, path])


def deep_check(path: Path) -> Contender:
    """A check of every record of a file, in one process."""
    return Contender(DEEP_CHECK, [str(kdump_script()), "check", "--level", "deep", "--jobs", "1", str(path)])


def kafka(release: str, arguments: Sequence[str]) -> Contender:
    """Kafka's tool of a release, in a JVM with the options of its launcher."""
    return Contender(f"Kafka {release}", [*kafka_tool.command(release), *arguments], kafka_tool.environment(), release=release)


def cat(path: Path) -> Contender:
    """Reading the file and nothing else."""
    return Contender(CAT, ["cat", str(path)])


def limit(home: Path, mode: str, path: Path) -> Contender | None:
    """The C program beside this module, compiled on demand; None if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    source = HERE / "limit.c"
    program = home / f"limit-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    if not program.exists():
        subprocess.run([compiler, "-O3", "-o", str(program), str(source)], check=True)
    return Contender(LIMIT, [str(program), mode, str(path)], release=NEWEST)


def decompression(path: Path) -> Contender:
    """Decompression of the same batches by the same packages."""
    return Contender(DECOMPRESSION, [sys.executable, str(HERE / "decompress.py"), str(path)])


def into_new(out: Path, name: str, command: Sequence[str | Path]) -> Contender:
    """A command that writes a new file or folder, which is removed before."""
    return Contender(name, ["sh", "-c", 'rm -rf "$0" && exec "$@"', str(out), *map(str, command)])


def parquet(path: Path) -> Contender:
    """Our records of a log, as a file of Parquet beside it."""
    out = path.with_suffix(".parquet")
    return into_new(out, PARQUET, [kdump_script(), "log", "--deep", "--output", "parquet", "-o", out, path])


def mended(name: str, path: Path) -> Contender:
    """The folder of a log, recovered or reindexed beside it."""
    out = path.parent.with_name(f"{path.parent.name}.mended")
    return into_new(out, name, [kdump_script(), *name.split()[1:], path.parent, "-o", out])


def copied(path: Path) -> Contender:
    """The same folder copied and synced."""
    out = path.parent.with_name(f"{path.parent.name}.copied")
    return into_new(out, COPY, ["sh", "-c", 'cp -r "$0" "$1" && sync "$1"/*', path.parent, out])


def scan(path: Path) -> Contender:
    """Our tables of the folder of a log, with its records, in one process."""
    return into_new(path.with_suffix(".scan"), SCAN, _scan(path, path.with_suffix(".scan"), "--records"))


def scan_of_batches(path: Path) -> Contender:
    """The same without records."""
    out = path.with_suffix(".batches")
    return into_new(out, SCAN_BATCHES, _scan(path, out))


def scan_again(path: Path) -> Contender:
    """The same into the folder of an earlier scan, which is made if it is missing; nothing has changed since."""
    out = path.with_suffix(".again")
    command = _scan(path, out)
    if not out.exists():
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return Contender(SCAN_AGAIN, command)


def _scan(path: Path, out: Path, *options: str) -> list[str]:
    return [str(kdump_script()), "scan", "--engine", "local", "--jobs", "1", *options, "--tables-to", str(out), str(path)]


def pyarrow_alone(path: Path) -> Contender:
    """Writing the same columns as Parquet with pyarrow, which reads them from an Arrow file that is made if it is missing."""
    arrow, out = path.with_suffix(".arrow"), path.with_suffix(".alone.parquet")
    if not arrow.exists():
        subprocess.run([kdump_script(), "log", "--deep", "--output", "arrow", "-o", arrow, path], check=True)
    return into_new(out, PYARROW, [sys.executable, HERE / "write_parquet.py", arrow, out])


def python_start() -> Contender:
    """The interpreter, which does nothing."""
    return Contender(START, [sys.executable, "-c", "pass"])


def loops() -> list[Contender]:
    """The gain from a second process on this machine."""
    command = [sys.executable, "-c", _BUSY]
    return [Contender(LOOP, command), Contender(TWO_LOOPS, command, copies=2)]


def run(contender: Contender, *, output: str = os.devnull) -> Measured:
    """Run a command once. Raises MissingContender if it cannot be run or fails."""
    watch = [sys.executable, "-I", "-S", str(HERE / "stopwatch.py"), str(SECONDS), str(contender.copies), output]
    done = subprocess.run([*watch, *contender.command], env=contender.environment, stdout=subprocess.PIPE, check=True)
    measured = Measured(**json.loads(done.stdout))
    if measured.exit_code and not measured.is_late:
        raise MissingContender(f"{contender.name} ended with {measured.exit_code}: {' '.join(contender.command)[-300:]}")
    return measured


def machine() -> str:
    """The environment of the measurement: processor, cores, kernel, Python, Java, load."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    said = (
        subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr if shutil.which("java") else ""
    )
    java = said.split('"')[1] if '"' in said else "none"
    busy = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return (
        f"{_processor()}, {cores} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"Java {java}; load at the end {busy}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    model = f" (family {facts['cpu family']}, model {facts['model']})" if {"cpu family", "model"} <= facts.keys() else ""
    return facts.get("model name", platform.machine()) + model
