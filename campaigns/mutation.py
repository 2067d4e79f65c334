"""A deliberate error in the code, and a copy of the checkout in which errors are tried, many at a time.

It is also a plugin of pytest there: it notes which tests failed, and ends those that an error keeps from ending.
"""

import contextlib
import importlib.util
import os
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
COPIED = ("kdump", "tests", "campaigns", "golden_outputs", "benchmarks", "docs", "examples", "bin", "tools", ".github", ".ci")
"""The folders that tests need; the files beside them are copied as well."""

RUN_SECONDS = 3600
MANY, CASES = 200, 3
"""More failed tests than MANY say only that much is wrong. Single errors are tried with this many failed cases of each test."""

LISTED = ROOT / "campaigns" / "mutation_list.tsv"
"""The list: a line for each error, with its id, its file in `kdump/`, tests that notice it if no others do, the old text and the
new one. In the texts, a backslash means what it does in Python."""

KERNEL = Path("kdump", "binary", "_kernel.abi3.so")
KERNEL_SOURCE = Path("kdump", "binary", "c", "_kernel.c")  # which includes the chapters beside it
BUILD = ("gcc", "-O1", "-std=c11", "-fPIC", "-shared", f"-I{KERNEL_SOURCE.parent}")


class Mutation(NamedTuple):
    """A deliberate error: `new` for `old`, which occurs once in this file; a test should fail with it.

    `tests` are those that do, if they are neither in the folder of its area nor quick.
    """

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        return area_of(self.file)


def area_of(file: str) -> str:
    """The package of a module, of a command with its own; `kdump` for the modules beside the packages."""
    folders = file.split("/")[1:-1]
    return "/".join(folders[: 2 if folders[:1] == ["cli"] else 1]) or "kdump"


def listed() -> list[Mutation]:
    """The errors of the list, in the order of their files."""
    found: list[Mutation] = []
    for line in LISTED.read_text("ascii").splitlines():
        name, file, tests, *texts = line.split("\t")
        old, new = (text.encode().decode("unicode_escape") for text in texts)
        found.append(Mutation(name, f"kdump/{file}", old, new, tuple(f"tests/{test}" for test in filter(None, tests.split(",")))))
    return found


class CannotTell(Exception):
    """The copy cannot be tested: nothing is known of any error."""


def why_broken(mutation: Mutation, root: Path = ROOT) -> str | None:
    """The reason why a mutation cannot be tried on the checkout in this folder; None if it can."""
    path = root / mutation.file
    if not path.is_file():
        return f"there is no {mutation.file}"
    text = path.read_text("utf-8")
    if text.count(mutation.old) != 1:
        return f"the old text occurs {text.count(mutation.old)} times in {mutation.file}"
    if mutation.old == mutation.new:
        return "old and new text are the same"
    if path.suffix == ".py":
        try:
            compile(text.replace(mutation.old, mutation.new), path.name, "exec")
        except SyntaxError as error:
            return str(error)
    return next((f"there is no {test}" for test in mutation.tests if not (root / test.partition("::")[0]).exists()), None)


class Copy:
    """A copy of the checkout in a folder; the checkout itself is only read."""

    def __init__(self, folder: Path, jobs: int = 1) -> None:
        self._root, self._jobs = folder, jobs
        self._fails_anyway: dict[str, bool] = {}
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for path in ROOT.iterdir():
            if path.is_file() and path.name != ".git":
                shutil.copyfile(path, folder / path.name)
        _, printed = self._run([sys.executable, "-c", "import kdump, tests; print(kdump.__file__, tests.__file__)"])
        if not all(Path(name).is_relative_to(folder) for name in printed.split()):
            raise CannotTell(f"tests in the copy {folder} would import {printed}")

    def caught(self, mutations: Sequence[Mutation], tests: Sequence[str]) -> dict[Mutation, str]:
        """Those of these mutations that tests notice, each with a test that failed; `tests` are arguments of pytest.

        All are tried at once, then each alone with the tests that failed, and those that these did not notice at once again.
        """
        if not mutations:
            return {}
        put, texts = self._fitting(mutations)
        if not put:
            raise CannotTell(f"{mutations[0].id} does not fit the code")
        failed = self._noticed_by(texts, tests) if len(put) == 1 else self._failed(texts, tests, MANY)
        found: dict[Mutation, str] = {}
        if failed and len(put) == 1:
            found[put[0]] = failed[0]
        elif failed:
            if len(failed) < MANY and all("::" in test for test in failed):
                cases = Counter[str]()
                cases_of = [(test, test.partition("[")[0]) for test in failed]
                some = [test for test, name in cases_of if not cases.update([name]) and cases[name] <= CASES]
                alone = {one: self._noticed_by(self._fitting([one])[1], some) for one in put}
                found = {one: by[0] for one, by in alone.items() if by}
            # If none fails alone, too much fails at once, or something fails by chance or by two errors.
            half = 0 if found else len(put) // 2
            for part in (put[:half], put[half:]):
                found |= self.caught([one for one in part if one not in found], tests)
        return found | self.caught([one for one in mutations if one not in put], tests)

    def _fitting(self, mutations: Sequence[Mutation]) -> tuple[list[Mutation], dict[Path, str]]:
        """Those that can be put in beside one another, and the texts of the files with them."""
        put: list[Mutation] = []
        texts: dict[Path, str] = {}
        for one in mutations:
            path = self._root / one.file
            text = texts.get(path) or path.read_text("utf-8")
            if text.count(one.old) == 1:
                texts[path] = text.replace(one.old, one.new)
                put.append(one)
        return put, texts

    def _noticed_by(self, texts: dict[Path, str], tests: Sequence[str]) -> list[str]:
        """The first test that fails with these texts of files, and not without them; none if all pass.

        Raises CannotTell if tests cannot even be run without them.
        """
        while failed := self._failed(texts, tests, 1):
            test = failed[0]
            if test not in self._fails_anyway:
                is_test = "::" in test
                anyway = self._failed({}, [test] if is_test else tests, 1)
                if anyway and not is_test and "::" not in anyway[0]:
                    raise CannotTell(f"tests cannot be run without errors, either: {anyway[0]}")
                self._fails_anyway[test] = is_test and bool(anyway)
            if not self._fails_anyway[test]:
                return failed
        return []

    def _failed(self, texts: dict[Path, str], tests: Sequence[str], most: int) -> list[str]:
        """The first tests that fail with these texts of files; what is not a test says how the run of the tests ended."""
        sound = {path: path.read_bytes() for path in texts}
        try:
            self._write({path: text.encode() for path, text in texts.items()})
            return self._pytest([f"--deselect={test}" for test, fails in self._fails_anyway.items() if fails], tests, most)
        finally:
            self._write(sound)

    def _pytest(self, options: Sequence[str], tests: Sequence[str], most: int) -> list[str]:
        names = self._root / "failed-tests"
        names.write_bytes(b"")
        jobs = self._jobs if self._jobs > 1 and most > 1 else 0
        base = [sys.executable, "-m", "pytest", "-q", f"-n{jobs}", "-p", "no:cacheprovider", "-p", "campaigns.mutation"]
        code, printed = self._run([*base, "--continue-on-collection-errors", f"--maxfail={most}", *options, *tests])
        gone = [test for test in tests if f"not found: {self._root / test}\n" in printed]
        if gone and len(gone) < len(tests):  # a case that another error made
            return self._pytest(options, [test for test in tests if test not in gone], most)
        failed = names.read_text("utf-8").splitlines()
        return failed if gone or code in (0, 1, 5) else [*failed, f"exit code {code}: {printed[-500:]}"]

    def _write(self, contents: dict[Path, bytes]) -> None:
        """Write files of the copy, and rebuild what depends on them."""
        for path, content in contents.items():
            path.write_bytes(content)
            # Python considers a cached module current if time (in seconds) and size equal those of the file.
            Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        if any(path.suffix in (".c", ".h") for path in contents):
            include = f"-I{sysconfig.get_paths()['include']}"
            code, printed = self._run([*BUILD, include, str(KERNEL_SOURCE), "-o", f"{KERNEL}.new"])
            if code:
                raise CannotTell(f"the kernel cannot be built: {printed}")
            (self._root / f"{KERNEL}.new").replace(self._root / KERNEL)

    def _run(self, command: Sequence[str]) -> tuple[int | None, str]:
        """Run a command in the copy; exit code and what it printed. Then, or if it takes too long, what it started is killed."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KDUMP_", "PYTEST_"))}
        environment |= {"PYTHONPATH": str(self._root), VARIABLE: str(self._root / "failed-tests")}
        environment["KDUMP_ORACLE_HOME"] = os.devnull  # no test fetches the real tool
        with tempfile.TemporaryFile() as out:  # no pipe: processes that an error leaves behind would keep it open
            process = subprocess.Popen(
                command,
                cwd=self._root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = process.wait(RUN_SECONDS)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            out.seek(0)
            return code, out.read().decode("utf-8", "replace")


# --- the plugin

VARIABLE = "KDUMP_FAILED_TESTS"
"""Names the file to which the identifiers of failed tests are added, one a line."""

TEST_SECONDS, MOST_ENDED = 120, 3
DATA_BYTES = 8 << 30

_ended: list[str] = []


def pytest_configure() -> None:
    """Give tests less memory than a machine has: an error may ask for all of it."""
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End a test that takes too long, and the run where several do."""

    def end(*_: object) -> None:
        _ended.append(item.nodeid)
        raise TimeoutError(f"takes more than {TEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(TEST_SECONDS)
    try:
        done = yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    if len(_ended) >= MOST_ENDED:
        pytest.exit("tests do not end", returncode=pytest.ExitCode.INTERRUPTED)
    return done


def pytest_runtest_logreport(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Note a test that failed, or a module that cannot be imported."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")


pytest_collectreport = pytest_runtest_logreport
