"""Compares the screens of README.md and docs/ with what an installed kdump prints: python -m tools.screens [PAGE...].

Needs only the standard library, and a checkout for the files that the commands read. A screen whose files are not in the current
directory, such as those of the fleet that tests write, is skipped and named.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^(```+)(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_VARYING = re.compile(r"(?<=Scanning with )\d+ process(?:es)?\b|\b\d+\.\d s\b")
"""What differs from run to run: how long it took, and on how many cores that were free."""
_WRITTEN = ("brokers", "registry")  # by tests


class Screen(NamedTuple):
    """A command that a page shows, and what it shows as printed: `...` stands for lines that are left out."""

    page: Path
    command: str
    shown: str

    def shows(self, printed: str) -> bool:
        """Whether it shows what was printed."""
        lines = _VARYING.sub("some", self.shown).splitlines()
        pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in lines)
        return re.fullmatch(pattern, _VARYING.sub("some", printed)) is not None


def screens_of(page: Path) -> Iterator[Screen]:
    """The screens of a page."""
    for _, language, block in _BLOCK.findall(page.read_text()):
        if language in ("", "console"):
            for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                yield Screen(page, *example.split("\n", 1))


def main() -> int:
    """Run the commands of some pages. Returns 1 if one prints something else."""
    parser = argparse.ArgumentParser(prog="python -m tools.screens")
    parser.add_argument("--program", default="kdump", help="the kdump that is tried")
    parser.add_argument("pages", nargs="*", type=Path, default=[ROOT / "README.md"])
    options = parser.parse_args()
    program = shutil.which(options.program) or options.program
    wrong = 0
    for screen in (screen for page in options.pages for screen in screens_of(page)):
        arguments = screen.command.split()[1:]
        if any(name in arguments and not Path(name).exists() for name in _WRITTEN):
            print(f"skipped  {screen.command}")
            continue
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        is_shown = screen.shows(done.stdout)
        print(f"{'equal  ' if is_shown else 'DIFFERS'}  {screen.command}")
        if not is_shown:
            print(done.stdout)
            wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
