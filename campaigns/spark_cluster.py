"""Scans the golden cases on a standalone cluster whose workers have a Python without packages, and compares the tables.

    python -m campaigns.spark_cluster                  sends kdump along in each documented way; some ten minutes
    python -m campaigns.spark_cluster --kill 20        also kills a worker, and then executors, with speculation on
    python -m campaigns.spark_cluster --release 3.5.9  with this release, in an environment of its own

Master and workers are processes on the loopback. Each way is written in docs/spark-sessions.md as it is used here.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from campaigns import scanned_tables, spark_releases
from campaigns.spark_tables import CASES
from tests.sessions import ROOT, cluster

LOOPBACK = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.executor.memory=512m")
WAYS = ("archive", "pyFiles")
MAX_KILLS = 8
RETRIES = ("spark.speculation=true", "spark.speculation.multiplier=1.1", "spark.task.maxFailures=100")


def main(arguments: Sequence[str] | None = None) -> int:
    """Scan in each way; return the exit code: 1 if tables differ, or if an error is not told."""
    parser = argparse.ArgumentParser(
        prog="campaigns.spark_cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", default=[str(CASES)], metavar="DIR", help="by default those of the golden cases")
    parser.add_argument(
        "--kill", type=float, metavar="SECONDS", help="kill a worker, then executors, at this interval, and let tasks run twice"
    )
    parser.add_argument("--target-bytes", default="64k", metavar="SIZE", help="of tasks, where processes are killed")
    parser.add_argument("--way", action="append", choices=WAYS, help="how kdump is sent; by default each; may be repeated")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the packages here for the next run")
    parser.add_argument("--release", action="append", metavar="4.0.5", help="of PySpark; by default the one installed here")
    given = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(given)
    if options.release:
        return spark_releases.in_releases(options.release, "campaigns.spark_cluster", given)
    options.paths = [str(Path(path).resolve()) for path in options.paths]  # as a scan on a cluster names them
    with tempfile.TemporaryDirectory(prefix="kdump-cluster-") as name:
        folder = Path(name)
        keep = (options.keep or folder / "packages").resolve()
        python = _python(keep, "bare")
        packages = _packages(keep)
        _scan(options.paths, folder / "local", "--engine", "local")
        failed = _without(options.paths, folder, python)
        ways = {
            "archive": (python, [f"spark.archives={packages}#packages", "spark.executorEnv.PYTHONPATH=./packages"]),
            "pyFiles": (_python(keep, "with-dependencies"), [f"spark.submit.pyFiles={_zip_of_kdump(folder)}"]),
        }
        for way in options.way or WAYS:
            interpreter, conf = ways[way]
            failed += _compare(way, options.paths, folder, interpreter, conf, options.kill, options.target_bytes)
    return 1 if failed else 0


def _python(keep: Path, name: str) -> str:
    """The Python of a new environment: bare, or with what kdump needs."""
    home = keep / name
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        if name != "bare":
            needed = ["pyarrow>=20", "click", "cramjam", "crc32c", "lz4", "python-snappy", "rich", "zstandard"]
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *needed], check=True)
    return str(python)


def _packages(keep: Path) -> Path:
    """A zip of kdump with its kernel and all that it needs, as pip installs them: that of this code, which may be kept."""
    archive, target = keep / f"packages-{_digest()}.zip", keep / "packages"
    if not archive.exists():
        shutil.rmtree(target, ignore_errors=True)
        for other in keep.glob("packages*.zip"):
            other.unlink()
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), f"{ROOT}[arrow]"], check=True)
        shutil.make_archive(str(archive.with_suffix("")), "zip", target)
    return archive


def _digest() -> str:
    """A digest of the code of kdump."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "kdump").rglob("*.*")):
        if path.suffix in (".py", ".c", ".h"):
            digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _zip_of_kdump(folder: Path) -> Path:
    """A zip of the modules of kdump alone, without its kernel."""
    shutil.copytree(ROOT / "kdump", folder / "modules" / "kdump", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return Path(shutil.make_archive(str(folder / "kdump"), "zip", folder / "modules"))


def _scan(paths: Sequence[str], out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "kdump",
        "scan",
        *paths,
        "--records",
        "--tables-to",
        str(out),
        "--output",
        "json",
        *arguments,
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def _options(url: str, conf: Sequence[str]) -> list[str]:
    return ["--master", url, *(argument for setting in (*LOOPBACK, *conf) for argument in ("--conf", setting))]


def _without(paths: Sequence[str], folder: Path, python: str) -> int:
    """Look at the error where workers have no kdump, and none is sent."""
    with cluster(_new(folder / "cluster-without"), python=python) as url, _python_of_workers(python):
        done = _scan(paths[:1], folder / "without", *_options(url, ["spark.task.maxFailures=1"]))
    told = "Spark's workers has no package" in done.stderr and done.stderr.count("\n") == 1 and done.returncode == 3
    print(f"without   {'told' if told else 'NOT TOLD'}: {done.stderr.strip()[:300]}", flush=True)
    return 0 if told else 1


@contextmanager
def _python_of_workers(python: str) -> Iterator[None]:
    """Name the Python of workers within the block; the driver keeps its own."""
    os.environ["PYSPARK_PYTHON"] = python
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"], os.environ["PYSPARK_DRIVER_PYTHON"]


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _compare(
    way: str,
    paths: Sequence[str],
    folder: Path,
    python: str,
    conf: Sequence[str],
    kill: float | None,
    target: str,
) -> int:
    """Scan in a way, and compare the tables."""
    started = time.monotonic()
    killer = _Killer(kill) if kill else None
    try:
        with cluster(_new(folder / f"cluster-{way}"), python=python) as url, _python_of_workers(python):
            settings = [*conf, *(RETRIES if kill else ())]
            done = _scan(paths, folder / way, *_options(url, settings), *(["--target-bytes", target] if kill else []))
    finally:
        if killer is not None:
            killer.end()
    killed = f", {killer.killed} workers and executors killed" if killer is not None else ""
    if not (folder / way).exists():
        print(f"{way:<9} FAILED: {done.stderr.strip()[-600:]}", flush=True)
        return 1
    differing = scanned_tables.differing(folder / way, folder / "local")
    engine = json.loads(done.stdout)["engine"]
    result = "the same" if not differing else f"DIFFERENT: {', '.join(differing)}"
    print(f"{way:<9} {time.monotonic() - started:6.1f} s  {engine}{killed}: {result}", flush=True)
    return 1 if differing else 0


class _Killer:
    """Kills a process of the cluster every few seconds: first a worker of the two, then executors.

    Only those are killed that have Python at work below them, and not for ever: an executor may take longer to start.
    """

    def __init__(self, seconds: float) -> None:
        self.killed = 0
        self._seconds = seconds
        self._is_over = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def end(self) -> None:
        self._is_over.set()

    def _run(self) -> None:
        while self.killed < MAX_KILLS and not self._is_over.wait(self._seconds):
            victim = b"CoarseGrainedExecutorBackend" if self.killed else b"deploy.worker.Worker"
            process = next((process for daemon in _processes(b"pyspark.daemon") for process in _above(daemon, victim)), None)
            if process is not None:
                with suppress(ProcessLookupError):  # it has ended
                    os.kill(process, signal.SIGKILL)
                    self.killed += 1


def _processes(words: bytes) -> Iterator[int]:
    """The processes of this user whose commands contain these words."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if words in (path / "cmdline").read_bytes() and path.stat().st_uid == os.getuid():
                yield int(path.name)
        except OSError:
            continue  # it has ended


def _above(process: int, words: bytes) -> Iterator[int]:
    """The process between this one and that of the campaign whose command contains these words, if there is one."""
    for candidate in _processes(words):
        try:
            if is_below(process, candidate) and is_below(candidate, os.getpid()):
                yield candidate
        except OSError:
            continue  # it has ended


def is_below(process: int, ancestor: int) -> bool:
    """Whether a process was started by another one, or by one below it."""
    while process > 1 and process != ancestor:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process == ancestor


if __name__ == "__main__":
    sys.exit(main())
