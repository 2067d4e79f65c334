"""Compares what kdump prints with the goldens.

python -m tests.goldens [--release 1.0.1] [--case 'magic1-*'] [--arguments deep] [--show 10] [--words]
"""

import argparse
import contextlib
import difflib
import enum
import fnmatch
import functools
import glob
import io
import itertools
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path

from golden_outputs import stored
from golden_outputs.known_differences import KNOWN_DIFFERENCES, KnownDifference
from golden_outputs.runs import CASES
from golden_outputs.stored import Golden
from kdump.cli import dropin
from kdump.releases import changes
from tests.kernels import Printed

import_module("crc32c")  # kdump takes it where it is loaded; runs in one process need not do without it

ROOT = CASES.parent.parent
PROCESSES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
FORK = multiprocessing.get_context("fork")
"""Processes that compare inherit the goldens; to read them takes some seconds."""
SHOWN_LINES = 40
SHOWN_WIDTH = 500

_FOREIGN_WORDS = re.compile(
    rb'^(?P<kept>Exception in thread "main" (?:org\.apache\.kafka\.common\.KafkaException: )?(?:'
    rb"(?:net\.jpountz|org\.xerial|com\.github\.luben|java\.util\.zip)\.[\w.$]*"
    rb"|java\.io\.\w+(?=: (?:Stream ended prematurely|Block size \d|failed to read chunk|failed to uncompress the chunk|"
    rb"FAILED_TO_UNCOMPRESS\(|PARSING_ERROR\(|Unexpected end of ZLIB input stream))"
    rb"|java\.lang\.(?:NullPointerException|OutOfMemoryError)"
    rb"|java\.lang\.ClassCastException: class \S+ cannot be cast to class \S+"
    rb"))(?:[: ].*)?\s*\Z",
    re.MULTILINE | re.DOTALL,
)
"""What a library of a codec or the JVM itself says of an exception; `kept` is what must be the same: the class, mostly."""
_REPORT_TITLE = re.compile(rb"\S.*\{CWD\}/|The following indexed offsets are not found in the log\.")
_REPORT_LINES = (b"  ", b"Indexed offset: ")


class Agreement(enum.Enum):
    """How well kdump and the real tool agree on a run."""

    IDENTICAL = "identical"
    WORDS_DIFFER = "only the words of a codec or of the JVM differ"
    DIFFERENT = "different"


def iterate(release: str = "*", case: str = "*", arguments: str = "") -> Iterator[tuple[str, Golden]]:
    """The goldens of these releases and cases (patterns), with their release, whose arguments hold this text."""
    for kept in fnmatch.filter(stored.releases(), release):
        by_case = _by_case(kept)
        for name in fnmatch.filter(by_case, case):
            for golden in by_case[name]:
                if arguments in " ".join(golden.arguments):
                    yield kept, golden


def distinct(release: str = "*", case: str = "*", arguments: str = "") -> Iterator[tuple[str, Golden]]:
    """As `iterate`, but what the real tool printed alike in releases that are alike for kdump, too, comes once.

    Other releases of such a group come in, where they printed something else; all of them for the screen of `--version`.
    """
    seen = set()
    for kept, golden in iterate(release, case, arguments):
        names_release = any(word.startswith("--v") for word in golden.arguments)
        group = kept if names_release else _first_alike()[kept]
        if (group, id(golden)) not in seen:  # stored.read gives one object for all that printed it
            seen.add((group, id(golden)))
            yield kept, golden


@functools.cache
def _first_alike() -> dict[str, str]:
    """The first of the releases that kdump prints the same for, but for the screen of `--version`, by release."""
    return {release: group.releases[0] for group in changes.groups() for release in group.releases}


LARGE_CASES = {"live-preallocated-indexes-4.3.0"}
"""Cases of many megabytes, which are compared at the ends of what printed the same only."""


def fewer(runs: Iterable[tuple[str, Golden]], *, is_between: bool = True) -> Iterator[tuple[str, Golden]]:
    """Of neighbouring releases that printed the same for the same arguments only the first, the last, and one in between.

    A rule that begins or ends with the wrong release shows at the ends; which one in between it is differs from run to run. There
    is none unless `is_between`.
    """
    by_run: dict[tuple[str, Sequence[str]], list[tuple[str, Golden]]] = {}
    for one in runs:
        by_run.setdefault((one[1].case, one[1].arguments), []).append(one)
    for run, of_run in by_run.items():
        turn = zlib.crc32(repr(run).encode())
        for _, group in itertools.groupby(of_run, lambda one: id(one[1])):
            same = list(group)
            if len(same) > 2:
                between = () if run[0] in LARGE_CASES or not is_between else (same[1 + turn % (len(same) - 2)],)
                same = [same[0], *between, same[-1]]
            yield from same


@functools.cache
def _by_case(release: str) -> dict[str, list[Golden]]:
    by_case: dict[str, list[Golden]] = {}
    for golden in stored.read(release):
        by_case.setdefault(golden.case, []).append(golden)
    return by_case


@contextlib.contextmanager
def copy_of(case: str) -> Iterator[Path]:
    """A copy of a case in a folder without dots, for the tools before 0.8.2 take what is before the first dot of a path."""
    with tempfile.TemporaryDirectory(prefix="kdump-golden-") as folder:
        yield Path(shutil.copytree(CASES / case, Path(folder) / "case"))


def unexpected_differences(case: str, release: str = "*", *, is_between: bool = True) -> list[str]:
    """Compare kdump with `fewer` goldens of a case, of all releases or of one; show each run that differs and is not known to."""
    found = []
    with copy_of(case) as folder:
        before = _files(folder)
        for kept, golden in fewer(distinct(release, glob.escape(case)), is_between=is_between):
            printed = run_in_process(kept, golden.arguments, folder)
            if compare(golden, printed) is Agreement.DIFFERENT and not known_difference(kept, golden):
                found.append(difference(kept, golden, printed))
        if _files(folder) != before:
            found.append(f"{case}: kdump touched its input\n")
    return found


def _files(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))}


def run_in_process(release: str, arguments: Sequence[str], folder: Path) -> Printed:
    """Run kdump in this process, in a folder; a crash of kdump is given as stderr, exit code -1."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with contextlib.chdir(folder):
        try:
            exit_code = dropin.main(_arguments(release, arguments), stdout, stderr)
        except Exception:
            exit_code = -1
            stderr.write(traceback.format_exc().encode())
    return _printed(exit_code, stdout.getvalue(), stderr.getvalue(), folder)


def run_as_process(release: str, arguments: Sequence[str], folder: Path) -> Printed:
    done = subprocess.run(
        [sys.executable, "-m", "kdump", *_arguments(release, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return _printed(done.returncode, done.stdout, done.stderr, folder)


def compare(golden: Golden, printed: Printed) -> Agreement:
    """Say how well a run of kdump agrees with the real tool.

    The order of the reports of several files is left out of it: it depends on the absolute path of the case.
    """
    if (golden.exit_code, golden.stdout) != (printed.exit_code, printed.stdout):
        return Agreement.DIFFERENT
    wanted, got = in_one_order(golden.stderr), in_one_order(printed.stderr)
    if wanted == got:
        return Agreement.IDENTICAL
    return Agreement.WORDS_DIFFER if _without_foreign_words(wanted) == _without_foreign_words(got) else Agreement.DIFFERENT


def difference(release: str, golden: Golden, printed: Printed) -> str:
    """Show how a run of kdump differs from the real tool, as a unified diff."""
    shown = [f"{golden.case}: kdump --release {release} {' '.join(golden.arguments)}\n"]
    if golden.exit_code != printed.exit_code:
        shown.append(f"  exit code {printed.exit_code}, not {golden.exit_code}\n")
    for name, wanted, got in (
        ("stdout", golden.stdout, printed.stdout),
        ("stderr", in_one_order(golden.stderr), in_one_order(printed.stderr)),
    ):
        lines = difflib.unified_diff(_lines(wanted), _lines(got), f"{name} of Kafka's tool", f"{name} of kdump", n=1)
        shown += [f"  {line[:SHOWN_WIDTH].rstrip()}\n" for line in list(lines)[:SHOWN_LINES]]
    return "".join(shown)


def kind_of_difference(wanted: Golden, printed: Printed) -> str:
    """Name the kind of a difference, so as to put those together that have one cause, as far as that shows."""
    places = [
        name
        for name, differs in (
            ("exit", wanted.exit_code != printed.exit_code),
            ("stdout", wanted.stdout != printed.stdout),
            ("stderr", in_one_order(wanted.stderr) != in_one_order(printed.stderr)),
        )
        if differs
    ]
    lasts = [
        re.sub(r"\d+|\{CWD\}\S*", "N", stderr.decode("utf-8", "replace").partition("\n")[0])[:160]
        for stderr in (wanted.stderr, printed.stderr)
    ]
    return f"{' and '.join(places)}; wanted: {lasts[0] or 'nothing'}; got: {lasts[1] or 'nothing'}"


def in_one_order(stderr: bytes) -> bytes:
    """Put the reports of several files of one kind in the order of their paths."""
    reports: list[list[bytes]] = []
    for line in stderr.splitlines(keepends=True):
        if reports and line.startswith(_REPORT_LINES):
            reports[-1].append(line)
        else:
            reports.append([line])
    first_of_kind: dict[bytes, int] = {}

    def order(numbered: tuple[int, list[bytes]]) -> tuple[int, list[bytes]]:
        number, report = numbered
        title = _REPORT_TITLE.match(report[0])
        return (first_of_kind.setdefault(title[0], number), report) if title else (number, [])

    return b"".join(line for _, report in sorted(enumerate(reports), key=order) for line in report)


def known_difference(release: str, golden: Golden) -> KnownDifference | None:
    """The first entry of the list of known differences that this run falls under."""
    return next((known for known in KNOWN_DIFFERENCES if falls_under(known, release, golden)), None)


def falls_under(known: KnownDifference, release: str, golden: Golden) -> bool:
    """Whether a run is one of those that an entry of the list of known differences is about."""
    run = (release, golden.case, " ".join(golden.arguments))
    return all(fnmatch.fnmatchcase(*pair) for pair in zip(run, known[:3], strict=True))


def _arguments(release: str, arguments: Sequence[str]) -> list[str]:
    return ["--release", release, "--strict-stderr", *arguments]


def _printed(exit_code: int, stdout: bytes, stderr: bytes, folder: Path) -> Printed:
    path = os.fsencode(folder.resolve())
    stderr = stderr.replace(b"`{object}`", b"`sun.nio.ch.FileChannelImpl@{HASH}`")  # whose hash is another in each run
    return Printed(exit_code, stdout.replace(path, b"{CWD}"), stderr.replace(path, b"{CWD}"))


def _without_foreign_words(stderr: bytes) -> bytes:
    """Leave out what a codec's library or the JVM says of an exception, but for its class."""
    return _FOREIGN_WORDS.sub(rb"\g<kept>", stderr)


def _lines(text: bytes) -> list[str]:
    return [line.decode("utf-8", "backslashreplace") for line in text.splitlines(keepends=True)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the goldens that the options name; print how many agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="*", help="a release, or a pattern")
    parser.add_argument("--case", default="*", help="a pattern")
    parser.add_argument("--arguments", default="", metavar="TEXT", help="only runs whose arguments hold this text")
    parser.add_argument("--show", type=int, default=5, help="show the differences of so many runs")
    parser.add_argument("--words", action="store_true", help="show also where only the words of a codec or of the JVM differ")
    parser.add_argument("--jobs", type=int, default=PROCESSES, help="how many processes compare, by default one a processor")
    options = parser.parse_args(arguments)
    asked = distinct(options.release, options.case, options.arguments)
    cases = list(dict.fromkeys(golden.case for _, golden in asked))
    counts: Counter[Agreement] = Counter()
    shown = 0
    with ProcessPoolExecutor(options.jobs, mp_context=FORK) as processes:
        for agreements, texts in processes.map(
            functools.partial(_compare_case, options.release, options.arguments, options.words), cases
        ):
            counts += agreements
            for text in texts[: options.show - shown]:
                shown += 1
                print(text)
    print(", ".join(f"{counts[agreement]} {agreement.value}" for agreement in Agreement))
    return 1 if counts[Agreement.DIFFERENT] else 0


def _compare_case(release: str, arguments: str, shows_words: bool, case: str) -> tuple[Counter[Agreement], list[str]]:
    agreements: Counter[Agreement] = Counter()
    texts = []
    with copy_of(case) as folder:
        for kept, golden in distinct(release, glob.escape(case), arguments):
            printed = run_in_process(kept, golden.arguments, folder)
            agreement = compare(golden, printed)
            agreements[agreement] += 1
            if agreement is Agreement.DIFFERENT or (shows_words and agreement is Agreement.WORDS_DIFFER):
                texts.append(difference(kept, golden, printed))
    return agreements, texts


if __name__ == "__main__":
    sys.exit(main())
