"""Finds idioms that are not plain English: python -m tools.wording [FILE...]."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

FOLDERS = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs", "mkdocs.yml", ".github"),
    *("kdump", "golden_outputs/README.md", "benchmarks", "tools", "examples", "tests", "campaigns"),
)
"""The files and folders whose wording is checked."""

UNCHECKED = {"docs/faults.md", "docs/cli.md", "tools/wording.py"}
"""Pages whose words come from the program, and the files that list the idioms."""

SUFFIXES = {".md", ".py", ".c", ".h", ".yml", ".toml"}

IDIOMS = {
    "in front of": "before",
    "anew": "again",
    "amid": "in the middle of",
    "in vain": "without result",
    "lawful": "valid",
    "foretell": "forecast",
    "the begin": "the start",
    "begin of": "start of",
    "who calls": "the caller",
    "is told": "is reported, receives",
    "are told": "are reported, receive",
    "so many bytes": "N bytes",
    "machine of Java": "JVM",
    "copies of this process": "worker processes",
    "of its own making": "third-party, handmade",
    "started anew": "restarted",
    "that can be told": "known",
    "behind the back of": "without",
    "mid append": "the middle of an append",
    "by halves": "by binary search",
}
"""Each idiom, and the plainer word for it. Keep the list short, and free of words that are sometimes right."""

_PATTERN = re.compile(rf"\b({'|'.join(IDIOMS)})\b", re.IGNORECASE)


def files(folders: Iterable[str]) -> Iterator[Path]:
    """The files in these folders whose wording is checked."""
    for folder in folders:
        path = ROOT / folder
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix in SUFFIXES and str(file.relative_to(ROOT)) not in UNCHECKED:
                yield file


def found(text: str) -> Iterator[tuple[int, str]]:
    """The number of each line with such an idiom, and the idiom."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in _PATTERN.finditer(line):
            yield number, match[0].lower()


def run(arguments: list[str]) -> int:
    """Print what was found, and return the exit code. If files are named, only those of them in FOLDERS are checked."""
    named = {Path(argument).resolve() for argument in arguments}
    exit_code = 0
    for file in files(FOLDERS):
        if not named or file in named:
            for number, idiom in found(file.read_text()):
                print(f'{file.relative_to(ROOT)}:{number}: "{idiom}": say {IDIOMS[idiom]}')
                exit_code = 1
    return exit_code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
