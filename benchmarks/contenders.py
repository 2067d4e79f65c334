"""Who is compared: command lines, and the one place where they are run."""

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
SECONDS = 100  # what takes longer is ended, and not tried again

NEWEST = "4.3.1"

KDUMP = "kdump"
PYTHON_KERNEL = "kdump, Python kernel"
LIMIT = "C program"
CAT = "cat"
DECOMPRESSION = "decompression only"
START = "python -c pass"
LOOP, TWO_LOOPS = "busy loop", "two busy loops"

_BUSY = "for _ in range(20_000_000): pass"


class Contender(NamedTuple):
    """A command to be run, or several copies of it at once. It dumps as the tool of a release does, if one is named."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = os.environ
    copies: int = 1
    release: str = ""


class Measured(NamedTuple):
    """What one run took: wall seconds of the whole process, seconds of CPU, and bytes of memory at its peak."""

    seconds: float
    cpu: float
    memory: int
    exit_code: int
    is_late: int


class MissingContender(Exception):
    """Somebody cannot take part; the message says what to do."""


def kdump_script() -> Path:
    """The installed `kdump`. Raises MissingContender where it is not."""
    script = Path(sys.executable).with_name("kdump")
    if not script.exists():
        raise MissingContender(f"there is no {script}: install kdump into this environment, `python -m pip install .`")
    return script


def kdump(arguments: Sequence[str], *, name: str = KDUMP, kernel: str = "c", jobs: int = 0, release: str = NEWEST) -> Contender:
    """Our tool, by as many processes as it chooses unless `jobs` says otherwise."""
    command = [str(kdump_script()), *(["--jobs", str(jobs)] if jobs else []), "--release", release, *arguments]
    return Contender(name, command, {**os.environ, "KDUMP_KERNEL": kernel}, release=release)


def kafka(release: str, arguments: Sequence[str]) -> Contender:
    """Kafka's own tool of a release, in a JVM started as its launcher starts it."""
    return Contender(f"Kafka {release}", [*kafka_tool.command(release), *arguments], kafka_tool.environment(), release=release)


def cat(path: Path) -> Contender:
    """Reading the file, and nothing else."""
    return Contender(CAT, ["cat", str(path)])


def limit(home: Path, mode: str, path: Path) -> Contender | None:
    """The C program beside this module, compiled now; None where there is no compiler."""
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


def python_start() -> Contender:
    """The interpreter, which does nothing."""
    return Contender(START, [sys.executable, "-c", "pass"])


def loops() -> list[Contender]:
    """What this machine gives to a second process."""
    command = [sys.executable, "-c", _BUSY]
    return [Contender(LOOP, command), Contender(TWO_LOOPS, command, copies=2)]


def run(contender: Contender, *, output: str = os.devnull) -> Measured:
    """Run a command once. Raises MissingContender where it cannot be run or fails."""
    watch = [sys.executable, "-I", "-S", str(HERE / "stopwatch.py"), str(SECONDS), str(contender.copies), output]
    done = subprocess.run([*watch, *contender.command], env=contender.environment, stdout=subprocess.PIPE, check=True)
    measured = Measured(**json.loads(done.stdout))
    if measured.exit_code and not measured.is_late:
        raise MissingContender(f"{contender.name} ended with {measured.exit_code}: {' '.join(contender.command)[-300:]}")
    return measured


def machine() -> str:
    """What the numbers depend on besides kdump: processor, cores, kernel, Python, Java, how busy it was."""
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
