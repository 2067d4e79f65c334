"""A deliberate error in the code, and a copy of the checkout in which it can be tried."""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
COPIED = ("kdump", "tests", "campaigns", "golden_outputs", "benchmarks", "docs", "examples", "bin")
"""The folders that tests need; the files beside them are copied as well."""

NEVER_ENDED = 1000
"""Stands for the exit code of a command that took too long."""

_FAILED, _CRASHES = 1, (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE)
_IMPORT_FAILS = ("ERROR collecting", "ImportError while loading conftest")

KERNEL = Path("kdump", "binary", "_kernel.abi3.so")
KERNEL_SOURCE = Path("kdump", "binary", "c", "_kernel.c")  # which includes the chapters beside it
BUILD = ("gcc", "-O1", "-std=c11", "-fPIC", "-shared")


class Mutation(NamedTuple):
    """A deliberate error: `new` for `old`, which occurs once in this file; at least one of the tests should fail with it."""

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


class Outcome(Enum):
    """The result of a mutation."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    BROKEN = "cannot be tried"


class Trial(NamedTuple):
    """A mutation, its result, and the output of the tests or the reason why it cannot be tried."""

    mutation: Mutation
    outcome: Outcome
    text: str
    elapsed_s: float


def why_broken(mutation: Mutation, root: Path = ROOT) -> str | None:
    """The reason why a mutation cannot be tried on the checkout in this folder; None if it can."""
    path = root / mutation.file
    if not path.is_file():
        return f"there is no {mutation.file}"
    count = path.read_text("utf-8").count(mutation.old)
    if count != 1:
        return f"the old text occurs {count} times in {mutation.file}"
    if mutation.old == mutation.new:
        return "old and new text are the same"
    if not mutation.tests:
        return "it names no tests"
    for test in mutation.tests:
        file, _, name = test.partition("::")
        if not (root / file).exists():
            return f"there is no {file}"
        if name and f"def {name.partition('[')[0]}(" not in (root / file).read_text("utf-8"):
            return f"there is no {name} in {file}"
    return None


def outcome_of(code: int, text: str) -> Outcome:
    """The result of an error, from the exit of pytest.

    It is caught only if a test failed, or the code could not be imported, crashed or never ended. If pytest was killed, or ran
    no tests, the result is unknown.
    """
    if code == 0:
        return Outcome.SURVIVED
    is_caught = (code == _FAILED and "\nFAILED " in text) or "\nERROR " in text or code in (*_CRASHES, NEVER_ENDED)
    return Outcome.CAUGHT if is_caught or any(words in text for words in _IMPORT_FAILS) else Outcome.BROKEN


class Copy:
    """A copy of the checkout in a folder; the checkout itself is only read."""

    def __init__(self, folder: Path) -> None:
        self._root = folder
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copyfile(path, folder / path.name)
        done = self._run([sys.executable, "-c", "import kdump, tests; print(kdump.__file__, tests.__file__)"], 60)
        if not all(Path(name).is_relative_to(folder) for name in done[1].split()):
            raise RuntimeError(f"tests in the copy {folder} would import {done[1]}")

    def test(self, tests: Sequence[str], *, options: Sequence[str] = (), seconds: float = 3600) -> tuple[int, str]:
        """Run these tests: the exit code of pytest, or NEVER_ENDED, and what it printed."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options, *tests]
        return self._run(command, seconds)

    def attempt(self, mutation: Mutation, *, options: Sequence[str] = (), seconds: float = 3600) -> Trial:
        """Apply the error, run its tests, and revert it."""
        begin = time.monotonic()
        path = self._root / mutation.file
        sound = path.read_text("utf-8")

        def trial(outcome: Outcome, text: str) -> Trial:
            return Trial(mutation, outcome, text, time.monotonic() - begin)

        if reason := why_broken(mutation, self._root):
            return trial(Outcome.BROKEN, reason)
        try:
            if reason := self._put(path, sound.replace(mutation.old, mutation.new)):
                return trial(Outcome.BROKEN, reason)
            code, text = self.test(mutation.tests, options=options, seconds=seconds)
            return trial(outcome_of(code, text), text if code != NEVER_ENDED else f"did not end within {seconds:.0f} s")
        finally:
            self._put(path, sound)

    def _put(self, path: Path, text: str) -> str | None:
        """Write a file of the copy, and rebuild what depends on it; return the reason if that fails."""
        path.write_text(text, "utf-8")
        if path.suffix in (".c", ".h"):
            include = f"-I{sysconfig.get_paths()['include']}"
            new = KERNEL.with_suffix(".new")
            try:
                code, printed = self._run([*BUILD, include, str(KERNEL_SOURCE), "-o", str(new)], 600)
            except FileNotFoundError:
                return "there is no gcc"
            if code:
                return printed
            (self._root / new).replace(self._root / KERNEL)
        elif path.suffix == ".py":
            # Python considers a cached module current if time (in seconds) and size equal those of the file.
            Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
            try:
                compile(text, path.name, "exec")
            except SyntaxError as error:
                return str(error)
        return None

    def _run(self, command: Sequence[str], seconds: float) -> tuple[int, str]:
        """Run a command in the copy; exit code and what it printed. If it takes too long, it is killed with its children."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KDUMP_REMAKE")}
        environment["PYTHONPATH"] = str(self._root)
        process = subprocess.Popen(
            command,
            cwd=self._root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=seconds)
            return process.returncode, printed.decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            return NEVER_ENDED, ""
        finally:
            if process.returncode is None:  # after waiting, the process id may be reused
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
