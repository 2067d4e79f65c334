"""Runs Kafka's own dump tool of any release: many runs in one JVM, each on a fresh copy of a case.

Needs a JDK (see JAVA_VERSIONS) and Maven, which fetches the releases. Their class paths are kept in $KDUMP_ORACLE_HOME,
by default ~/.cache/kdump-oracle.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from tests.oracle.jvm import Jvm, NoAnswer

JAVA_SOURCE = Path(__file__).with_name("KafkaTool.java")
NEEDED_PROGRAMS = ("java", "javac", "mvn")
# Java 24 and later cannot keep a tool from ending its JVM. The goldens are made with 17.
JAVA_VERSIONS = range(17, 24)

# The artifacts that contain the tool, and its class: (since, value); the last match applies.
ARTIFACTS = (
    *(("0.8.0", ("kafka_2.10",)), ("0.9.0.0", ("kafka_2.11",)), ("2.5.0", ("kafka_2.13",))),
    ("3.4.0", ("kafka_2.13", "kafka-tools")),
)
MAIN_CLASSES = (("0.8.0", "kafka.tools.DumpLogSegments"), ("4.3.0", "org.apache.kafka.tools.DumpLogSegments"))
# No longer available (needed by 0.8), or not published for every release (4.0.1); the tool runs without them.
UNAVAILABLE_DEPENDENCIES = (
    *("com.sun.jdmk:jmxtools", "com.sun.jmx:jmxri", "javax.jms:jms", "org.apache.kafka:connect-api"),
    *("org.apache.kafka:connect-json", "org.apache.kafka:connect-runtime", "org.apache.kafka:connect-transforms"),
)
SILENT_LOGGING = "org.slf4j:slf4j-nop:1.7.36"
OTHER_LOGGING = re.compile(r"slf4j-(log4j12|reload4j)|log4j-slf4j")

# The JVM options of Kafka's launcher.
LAUNCHER_OPTIONS = (
    *("-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
    *("-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"),
)
# Further options that releases need. Snappy of 0.8.0 and 0.8.1 loads itself in ways that Java has forbidden since.
OPENED_PACKAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0.8.0", ("--add-opens=java.base/java.lang=ALL-UNNAMED",)),
    ("0.8.2.0", ()),
)
# Options for many short runs in one JVM: no long compilation, messages in every exception, System.exit intercepted.
BATCH_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:-OmitStackTraceInFastThrow", "-Djava.security.manager=allow")
SECONDS_TO_START = 30
SECONDS_TO_FETCH = 900

Value = TypeVar("Value")


class Run(NamedTuple):
    """One run: the tool's arguments, and the folder with the files; the tool works in a copy of it."""

    folder: Path
    arguments: Sequence[str]


class Answer(NamedTuple):
    """The result of one run; `exit_code` is None if it did not end in time.

    In the texts `{CWD}` stands for the absolute path of the folder the tool worked in.
    """

    stdout: bytes
    stderr: bytes
    exit_code: int | None


class OracleError(Exception):
    """The real tool is not available or cannot be run."""


def why_not_available(*releases: str) -> str | None:
    """What is missing to run the tool of these releases; None if nothing is."""
    return next(filter(None, [_why_no_java(), *map(_why_no_release, releases)]), None)


@functools.cache
def _why_no_java() -> str | None:
    for program in NEEDED_PROGRAMS:
        if shutil.which(program) is None:
            return f"the real tool needs {program}, which is not on the PATH"
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if not version or int(version[1]) not in JAVA_VERSIONS:
        first, last = JAVA_VERSIONS[0], JAVA_VERSIONS[-1]
        return f"the real tool needs Java {first} to {last}, found {version[1] if version else said!r}"
    return why_not(lambda: compiled(JAVA_SOURCE))


@functools.cache
def _why_no_release(release: str) -> str | None:
    return _why_no_java() or why_not(lambda: fetch(release))


def why_not(prepare: Callable[[], object]) -> str | None:
    """What keeps something from being fetched or compiled; None if nothing does."""
    try:
        prepare()
    except (OSError, OracleError) as error:
        return str(error)
    return None


def fetch(release: str, logging: str = SILENT_LOGGING) -> str:
    """Fetch the tool of a release if it is missing; return its class path.

    `logging` is the artifact that receives Kafka's log messages.
    """
    name = release if logging == SILENT_LOGGING else f"{release}-{logging.split(':')[1]}"
    stored = _home() / f"{name}.classpath"
    with _locked(f"{name}.lock"):
        if not stored.exists() or not all(map(os.path.exists, stored.read_text().split(os.pathsep))):
            with tempfile.TemporaryDirectory(prefix="kdump-fetch-") as folder:
                artifacts = [f"org.apache.kafka:{artifact}:{release}" for artifact in _since(ARTIFACTS, release)]
                class_path = _resolve([*artifacts, logging], Path(folder))
            _write(stored, class_path.encode())
        return stored.read_text()


def run_many(
    release: str, runs: Iterable[Run], *, working_folder: Path | None = None, seconds_per_run: float = 60
) -> Iterator[Answer]:
    """Run the tool of a release several times in sequence; return the results in order.

    `working_folder` is the folder for the copy of each run; it must not exist yet. The default is a temporary folder.
    A run that breaks the JVM, or does not end in time, is repeated in a separate JVM, started as by Kafka's launcher.
    """
    with contextlib.ExitStack() as stack:
        if working_folder is None:
            working_folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kdump-oracle-"))) / "case"
        working_folder = working_folder.parent.resolve() / working_folder.name
        working_folder.mkdir()
        stack.callback(shutil.rmtree, working_folder, ignore_errors=True)
        jvm: _BatchTool | None = None
        try:
            for run in runs:
                if jvm is None:
                    jvm = _BatchTool(release, working_folder)
                answer = jvm.answer(run, seconds_per_run)
                if answer is None:
                    jvm.end()
                    jvm = None
                    answer = _run_alone(release, run, working_folder, seconds_per_run)
                yield _with_placeholder(answer, working_folder)
        finally:
            if jvm is not None:
                jvm.end()


def run_alone(release: str, run: Run, *, seconds: float = 60) -> Answer:
    """Perform one run in a separate JVM, started as by Kafka's launcher."""
    with tempfile.TemporaryDirectory(prefix="kdump-oracle-") as folder:
        working_folder = Path(folder).resolve() / "case"
        return _with_placeholder(_run_alone(release, run, working_folder, seconds), working_folder)


def command(release: str) -> list[str]:
    """The command that starts the tool of a release like Kafka's launcher; the arguments follow."""
    return ["java", *_launcher_options(release), "-cp", fetch(release), _since(MAIN_CLASSES, release)]


class _BatchTool:
    """One JVM that performs runs until it ends; see KafkaTool.java for the protocol."""

    def __init__(self, release: str, working_folder: Path) -> None:
        shutil.rmtree(working_folder)
        working_folder.mkdir()
        class_path = os.pathsep.join([str(compiled(JAVA_SOURCE)), fetch(release)])
        command = ["java", *_launcher_options(release), *BATCH_OPTIONS, "-cp", class_path]
        self._jvm = Jvm([*command, JAVA_SOURCE.stem, _since(MAIN_CLASSES, release)], environment(), folder=working_folder)
        self._is_started = False

    def answer(self, run: Run, seconds: float) -> Answer | None:
        """Perform one run; None if the JVM ended or did not answer in time."""
        strings = [os.fsencode(text) for text in (str(run.folder.resolve()), *run.arguments)]
        request = [_number(len(strings)), *(_number(len(string)) + string for string in strings)]
        if not self._is_started:
            seconds += SECONDS_TO_START
            self._is_started = True
        texts = {ord("o"): bytearray(), ord("e"): bytearray()}
        with contextlib.suppress(NoAnswer):
            self._jvm.send(b"".join(request))
            while True:
                header = self._jvm.read(5, seconds)
                kind, payload = header[0], self._jvm.read(int.from_bytes(header[1:], "big"), seconds)
                if kind == ord("x"):
                    return Answer(bytes(texts[ord("o")]), bytes(texts[ord("e")]), int.from_bytes(payload, "big", signed=True))
                texts[kind] += payload
        return None

    def end(self) -> None:
        """End the JVM: orderly if it is waiting for a run, otherwise at once."""
        self._jvm.end()


def _run_alone(release: str, run: Run, working_folder: Path, seconds: float) -> Answer:
    if working_folder.exists():
        shutil.rmtree(working_folder)
    shutil.copytree(run.folder, working_folder)
    process = subprocess.Popen(
        [*command(release), *run.arguments],
        cwd=working_folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        return Answer(stdout, stderr, None)
    return Answer(stdout, stderr, process.returncode)


def _with_placeholder(answer: Answer, working_folder: Path) -> Answer:
    path = os.fsencode(working_folder)
    return answer._replace(stdout=answer.stdout.replace(path, b"{CWD}"), stderr=answer.stderr.replace(path, b"{CWD}"))


def newest_release(known: str) -> str:
    """The newest release that is published, which is `known` or a later one. Raises OracleError if Maven cannot say."""
    with tempfile.TemporaryDirectory(prefix="kdump-fetch-") as folder:
        class_path = _resolve([f"org.apache.kafka:kafka-clients:[{known},)"], Path(folder))
    found = re.search(r"kafka-clients-([\d.]+)\.jar", class_path)
    if not found:
        raise OracleError(f"no release since {known} has a jar of kafka-clients: {class_path}")
    return found[1]


def fetch_sources(release: str, modules: Iterable[str]) -> list[Path]:
    """Fetch the source jars of these modules of a release. Raises OracleError."""
    with tempfile.TemporaryDirectory(prefix="kdump-fetch-") as folder:
        class_path = _resolve([f"org.apache.kafka:{module}:{release}:sources" for module in modules], Path(folder))
    return [Path(jar) for jar in class_path.split(os.pathsep)]


def _dependency(name: str) -> str:
    """The element of a group, an artifact, a version and perhaps a classifier, with which nothing else is fetched."""
    group, artifact, version, *classifier = name.split(":")
    left_out = ["*:*"] if classifier else UNAVAILABLE_DEPENDENCIES
    exclusions = "".join(
        "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>".format(*each.split(":")) for each in left_out
    )
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<classifier>{''.join(classifier)}</classifier><exclusions>{exclusions}</exclusions></dependency>"
    )


def _resolve(wanted: Sequence[str], folder: Path) -> str:
    """Let Maven fetch artifacts and what they need; return their paths as a class path."""
    (folder / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion>"
        "<groupId>kdump</groupId><artifactId>oracle</artifactId><version>1</version>"
        f"<dependencies>{''.join(map(_dependency, wanted))}</dependencies></project>"
    )
    output = folder / "classpath"
    goal = ["dependency:build-classpath", "-Dmdep.includeScope=runtime", f"-Dmdep.outputFile={output}"]
    command = ["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), *goal]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS_TO_FETCH, check=True)
    except subprocess.CalledProcessError as error:
        said = (error.stdout + error.stderr).decode("utf-8", "replace").strip()
        raise OracleError(f"Maven cannot fetch {', '.join(wanted)}: {said[:500]}") from error
    except subprocess.TimeoutExpired as error:
        raise OracleError(f"Maven did not fetch {', '.join(wanted)} within {SECONDS_TO_FETCH} s") from error
    paths = output.read_text().strip().split(os.pathsep)
    return os.pathsep.join(path for path in paths if not OTHER_LOGGING.search(path))


def compiled(source: Path, class_path: str = "") -> Path:
    """Compile a source unless it is already compiled; return the folder of the classes."""
    classes = _home() / f"classes-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    with _locked("classes.lock"):
        if not classes.exists():
            with tempfile.TemporaryDirectory(dir=_home(), prefix="compiling-") as folder:
                command = ["javac", "-nowarn", *(["-cp", class_path] if class_path else []), "-d", folder, str(source)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise OracleError(f"javac cannot compile {source.name}: {done.stderr.strip()}")
                shutil.copytree(folder, classes)
    return classes


def _launcher_options(release: str) -> list[str]:
    return [*LAUNCHER_OPTIONS, *_since(OPENED_PACKAGES, release), _logging_option()]


def _logging_option() -> str:
    """Configure Log4j 1, which old releases include, to be silent."""
    settings = _home() / "log4j.properties"
    if not settings.exists():
        _write(settings, b"log4j.rootLogger=OFF\n")
    return f"-Dlog4j.configuration={settings.as_uri()}"


def environment() -> Mapping[str, str]:
    """The environment of the JVM: text is UTF-8, and no options from outside."""
    kept = {name: value for name, value in os.environ.items() if not re.fullmatch(r"LANG|LC_.*|.*JAVA_.*OPTIONS", name)}
    return {**kept, "LC_ALL": "C.UTF-8"}


def _home() -> Path:
    home = Path(os.environ.get("KDUMP_ORACLE_HOME") or Path.home() / ".cache" / "kdump-oracle")
    home.mkdir(parents=True, exist_ok=True)
    return home.resolve()


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    """Keep other processes from fetching or compiling the same thing at the same time."""
    with (_home() / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically: it is complete as soon as it exists."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _since(history: Sequence[tuple[str, Value]], release: str) -> Value:
    """The value of the latest release that is not after this one."""
    number = release_number(release)
    return next(value for since, value in reversed(history) if release_number(since) <= number)


def release_number(release: str) -> tuple[int, ...]:
    """A release as comparable numbers: 0.10.2.2 is before 2.0.0."""
    return tuple(int(part) for part in release.split("."))


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")
