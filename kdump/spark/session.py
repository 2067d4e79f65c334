"""A Spark session for a command: starts quietly, and stops at once when interrupted."""

from __future__ import annotations

import errno
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from kdump.binary.installing import how_to_install
from kdump.binary.loading import loading
from kdump.errors import KdumpError, MissingPackage, UsageError
from kdump.spark.asked_for import has_session, is_submitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

_JAVA_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
)
"""Of a session of this machine alone. It lives for minutes, and Python does most of the work: optimizing code for the JVM would
cost more than it saves. Arrow checks no access: Spark asks for rows that there are, and for nulls first.
"""

_OF_CONNECT = ("SPARK_REMOTE", "SPARK_API_MODE")
"""Variables that turn sessions into those of Spark Connect, which have no jobs for a scan."""

_ATTEMPTS = 4  # of a task, also in a session of this machine alone, where Spark makes one
_PATIENCE = 1.0  # seconds

_ERROR = re.compile(r"[A-Za-z_.$]+(Error|Exception|Data|Unreadable|Package|Killed): ")
_OF_JAVA = ("java.", "javax.", "org.", "scala.", "py4j.")
_OF_SYSTEM = re.compile(r"^[A-Za-z.]*Error: \[Errno (\d+)\]")
_NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([^']+)'")
_OURS = re.compile(r"kdump\.errors\.[A-Za-z]+: (.*)")
_SHIPPING = "docs/spark-sessions.md has the settings"


class SessionFailed(UsageError):
    """Spark did not start. `log` is the end of what its JVM printed, which says why."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


@contextmanager
def embedded(
    *, master: str | None = None, conf: Mapping[str, str] | None = None, cores: int | None = None
) -> Iterator[SparkSession]:
    """A session that ends with the block; an active session is used as it is and left running.

    Without a `master`, Spark runs where spark-submit says, or else in this process on `cores` cores. Raises MissingPackage or
    SessionFailed.
    """
    try:
        with loading("pyspark"):
            from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingPackage('Spark needs the package "pyspark"', remedy=how_to_install("pyspark", "spark")) from error
    if has_session():
        yield SparkSession.builder.getOrCreate()
        return
    with tempfile.TemporaryDirectory(prefix="kdump-spark-", ignore_cleanup_errors=True) as folder:
        session = _start(master, dict(conf or {}), cores or os.cpu_count() or 1, folder)
        try:
            yield session
        except BaseException:
            _stop(session, is_hurried=True)
            raise
        _stop(session, is_hurried=False)


def settings(master: str | None, conf: Mapping[str, str], cores: int, folder: str) -> dict[str, str]:
    """The settings of a session; `conf` overrides ours, and so do those of spark-submit for where it runs."""
    is_local = _is_local(master)
    ours = {
        "spark.app.name": "kdump",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(max(2, 2 * cores)),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.warehouse.dir": os.path.join(folder, "warehouse"),
    }
    if is_local or master is not None:
        ours |= {"spark.master": _with_attempts(master or f"local[{cores}]"), "spark.driver.memory": "1g"}
    if is_local:
        ours |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": os.path.join(folder, "local"),
            "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
        }
    return {**ours, **conf}


def _is_local(master: str | None) -> bool:
    """Whether Spark runs in this process."""
    return not is_submitted() if master is None else master.startswith("local")


def _with_attempts(master: str) -> str:
    """The same, with retries of failed tasks also in a local session, as on a cluster."""
    cores = "1" if master == "local" else master.removeprefix("local[").removesuffix("]")
    return f"local[{cores},{_ATTEMPTS}]" if master.startswith("local") and "," not in master else master


def _start(master: str | None, conf: dict[str, str], cores: int, folder: str) -> SparkSession:
    from pyspark.sql import SparkSession

    from kdump.spark.releases import activate

    if _is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable  # or Spark takes the python3 of PATH, which may be one without kdump
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    for name in _OF_CONNECT:
        os.environ.pop(name, None)
    _export_path()
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    log = os.path.join(folder, "spark.log")
    machines: list[subprocess.Popen[bytes]] = []
    builder = SparkSession.builder
    for name, value in settings(master, conf, cores, folder).items():
        builder = builder.config(name, value)
    try:
        with _stderr_to(log), _noted_machines() as machines:
            session = _in_thread(lambda: _made(builder))
            # it is active where it was made, and `DataFrame.rdd` meets its settings only where it is
            activate(session)
    except KeyboardInterrupt:
        for machine in machines:
            _end(machine)
        raise
    except Exception as error:
        raise SessionFailed(f"Spark did not start: {last_line(error)}", _tail(log)) from error
    return session


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Whether a message is not of py4j, which logs to the root logger each call that the end of Java interrupts."""
    return os.path.basename(os.path.dirname(record.pathname)) != "py4j"


def _made(builder: SparkSession.Builder) -> SparkSession:
    """The session, with its settings and, where there are data sources in Python, the format registered."""
    from kdump.spark.frames import register
    from kdump.spark.releases import has_data_sources

    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    if has_data_sources():
        register(session)
    return session


@contextmanager
def _noted_machines() -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes that PySpark starts within the block: the JVM, which PySpark does not expose until it is ready."""
    from pyspark import java_gateway

    started: list[subprocess.Popen[bytes]] = []

    def popen(*arguments: Any, **keywords: Any) -> subprocess.Popen[bytes]:  # those of Popen
        started.append(subprocess.Popen(*arguments, **keywords))
        return started[-1]

    vars(java_gateway)["Popen"] = popen
    try:
        yield started
    finally:
        vars(java_gateway)["Popen"] = subprocess.Popen


def _end(machine: subprocess.Popen[bytes]) -> None:
    machine.kill()
    machine.wait()


def _export_path() -> None:
    """Let workers import the same modules as this process: kdump may run from a checkout."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if root not in paths and not root.endswith("site-packages"):
        os.environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, paths)])


@contextmanager
def _stderr_to(path: str) -> Iterator[None]:
    """Redirect stderr of this process, and of those it starts meanwhile, to a file.

    The JVM prints several messages before it reads any setting, and keeps the file for everything later.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(log, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(log)


def _stop(session: SparkSession, *, is_hurried: bool) -> None:
    """End a session and its JVM, finally by force."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if is_hurried:
        _silence(session.sparkContext)
    try:
        _in_thread(session.stop, seconds=_PATIENCE if is_hurried else None)
    except Exception:  # its Java may be gone
        pass
    process = getattr(gateway, "proc", None)
    if gateway is not None and process is not None:
        try:
            gateway.shutdown()
        except Exception:  # likewise
            pass
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            _end(process)
        SparkContext._gateway = None
        SparkContext._jvm = None


def _silence(context: SparkContext) -> None:
    """Keep PySpark silent when Java ends first: no traceback of its accumulator thread, no warning at exit."""
    warnings.filterwarnings("ignore", message="Unable to cleanly shutdown Spark JVM", category=RuntimeWarning)
    server: Any = getattr(context, "_accumulatorServer", None)  # a private part of PySpark, of any type
    if server is not None:
        server.handle_error = lambda *_: None


def run_interruptible(session: SparkSession, action: Callable[[], Result], on_wait: Callable[[], None] | None = None) -> Result:
    """The result of a Spark action; an interrupt cancels it at once. `on_wait` is called while waiting.

    Raises what the action does, and KeyboardInterrupt.
    """
    try:
        return _in_thread(action, on_wait)
    except KeyboardInterrupt:
        try:
            _in_thread(session.sparkContext.cancelAllJobs, seconds=1)
        except Exception:  # it is to end in any case
            pass
        raise


def _in_thread(action: Callable[[], Result], on_wait: Callable[[], None] | None = None, seconds: float | None = None) -> Result:
    """The result of an action that runs in another thread, so that this one can be interrupted.

    An interrupt during a call into Java breaks the connection to it. PySpark installs its own interrupt handler if its context
    starts in the main thread.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def act() -> None:
        try:
            results.append(action())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    end = None if seconds is None else time.monotonic() + seconds
    while thread.is_alive():
        thread.join(0.1)
        if end is not None and time.monotonic() > end:
            raise TimeoutError(f"not done within {seconds:g} s")
        if on_wait is not None:
            on_wait()
    if errors:
        raise errors[0]
    return results[0]


def last_line(error: BaseException) -> str:
    """The line of a Spark error that says what happened: the last error of Python inside, or the last cause of Java's."""
    lines = [line.strip().removeprefix("Caused by: ").removeprefix(": ") for line in str(error).splitlines() if line.strip()]
    last_lines = [line for line in lines if _ERROR.match(line)]
    pythons = [line for line in last_lines if not line.startswith(_OF_JAVA)]
    return (pythons or last_lines or [*lines[:1], type(error).__name__][:1])[-1]


def as_raised_here(error: Exception) -> Exception:
    """The error of a Spark job as this process would have raised it, with a remedy where there is one."""
    line = _how_java_ended(error) or last_line(error)
    system = _OF_SYSTEM.search(line)
    if system is not None:
        return OSError(int(system[1]), os.strerror(int(system[1])))
    if "No space left on device" in str(error):  # as Java says it
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    module = _NO_MODULE.search(line)
    if module is not None:
        message = f"the Python of Spark's workers has no package {module[1].partition('.')[0]!r}"
        return KdumpError(message, remedy=f"install kdump on every worker, or send it along: {_SHIPPING}")
    ours = _OURS.match(line)
    if ours is not None:
        return KdumpError(ours[1])
    return KdumpError(f"Spark failed: {line}; KDUMP_DEBUG=1 shows all")


def _how_java_ended(error: Exception) -> str:
    """What ended the JVM of the active session, if an error is that it no longer answers; otherwise ""."""
    from pyspark import SparkContext

    machine = getattr(SparkContext._gateway, "proc", None)
    if machine is None or not (isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"):
        return ""
    try:
        code = machine.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return ""
    if code < 0:
        return f"its JVM was ended by {signal.Signals(-code).name}, as where memory is short; --engine local needs less"
    return f"its JVM ended with exit code {code}"


def _tail(path: str, size: int = 4000) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - size))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
