"""Helps with a release: python -m tools.release VERSION says whether the checkout is ready for it.

python -m tools.release VERSION                     # the version and the changelog agree with it; 1 if they do not
python -m tools.release VERSION --notes             # prints its section of CHANGELOG.md
python -m tools.release VERSION --recipes SDIST DIR # writes the recipe for conda and the formula for Homebrew, with its checksum
"""

import argparse
import hashlib
import re
import sys
from pathlib import Path

from kdump import __version__

ROOT = Path(__file__).parents[1]
RECIPES = ("recipe.yaml", "kdump.rb")


def main() -> int:
    """Check, print or write. Returns 1 if the checkout is not ready for this version."""
    parser = argparse.ArgumentParser(prog="python -m tools.release")
    parser.add_argument("version")
    parser.add_argument("--notes", action="store_true")
    parser.add_argument("--recipes", nargs=2, type=Path, metavar=("SDIST", "DIR"))
    options = parser.parse_args()
    version, changelog = options.version, (ROOT / "CHANGELOG.md").read_text()
    if options.recipes:
        sdist, folder = options.recipes
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in recipes(version, hashlib.sha256(sdist.read_bytes()).hexdigest()).items():
            (folder / name).write_text(text)
        return 0
    problems = list(why_not_ready(version, __version__, changelog))
    for problem in problems:
        print(problem, file=sys.stderr)
    if options.notes and not problems:
        print(notes(version, changelog))
    return int(bool(problems))


def why_not_ready(version: str, of_code: str, changelog: str) -> list[str]:
    """What keeps a checkout with this version and changelog from being released as `version`."""
    problems = []
    if not re.fullmatch(r"\d+\.\d+\.\d+(?:rc\d+)?", version):
        problems.append(f"{version!r} is no version such as 1.2.3 or 1.2.3rc1")
    if of_code != version:
        problems.append(f"kdump.__version__ is {of_code}, not {version}")
    if not notes(version, changelog):
        problems.append(f'CHANGELOG.md has nothing under a heading "## {version} - DATE"')
    if notes("Unreleased", changelog):
        problems.append('CHANGELOG.md still has entries under "## Unreleased"')
    return problems


def notes(version: str, changelog: str) -> str:
    """The section of a version in the changelog, without its heading; empty if there is none."""
    heading = rf"^## {re.escape(version)}(?: - \d{{4}}-\d\d-\d\d)?$"
    found = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def recipes(version: str, sha256: str) -> dict[str, str]:
    """The recipe and the formula for an sdist with this checksum, by the names of their files."""
    texts = {name: (ROOT / "release" / f"{name}.in").read_text() for name in RECIPES}
    return {name: text.replace("@VERSION@", version).replace("@SHA256@", sha256) for name, text in texts.items()}


if __name__ == "__main__":
    sys.exit(main())
