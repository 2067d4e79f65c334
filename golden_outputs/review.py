"""Shows as text how the goldens, including compressed ones, differ from those of a commit.

python -m golden_outputs.review main
python -m golden_outputs.review HEAD~3 --show 5

A change that several releases share is shown once. The exit code is 1 if anything differs.
"""

import argparse
import difflib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

from golden_outputs import stored
from golden_outputs.stored import Golden, RunOfCase
from tools import archives

ROOT = Path(__file__).parent.parent
_SHOWN = 20
_SHOWN_LINES = 40
_SHOWN_RELEASES = 6

Goldens = Mapping[str, Mapping[RunOfCase, Golden]]
"""The goldens of the runs of each release."""


def kept_in(folder: Path) -> Goldens:
    """All goldens in a folder."""
    with mock.patch.object(stored, "FOLDER", folder):
        stored.forget()
        try:
            return {release: {golden.run: golden for golden in stored.read(release)} for release in stored.releases()}
        finally:
            stored.forget()


def differences(before: Goldens, after: Goldens) -> dict[str, list[str]]:
    """The differences as unified diffs of the readable form, each with its releases, the newest first."""
    found: dict[str, list[str]] = {}
    for release in sorted({*before, *after}, key=stored.release_number, reverse=True):
        old, new = before.get(release, {}), after.get(release, {})
        for run in sorted({*old, *new}):
            if old.get(run) != new.get(run):
                found.setdefault(_difference(old.get(run), new.get(run)), []).append(release)
    return found


def _difference(old: Golden | None, new: Golden | None) -> str:
    case = (new or old or stored.Golden("", (), 0, b"", b"")).case
    changed = list(difflib.unified_diff(_lines(old), _lines(new), n=1, lineterm=""))
    return "\n".join([case, *changed[2:]])  # without the file names


def _lines(golden: Golden | None) -> list[str]:
    return [] if golden is None else stored.to_text([golden]).splitlines()


def report(found: Mapping[str, Sequence[str]], show: int) -> Iterator[str]:
    """The differences as text, the ones that most releases share first."""
    in_order = sorted(found.items(), key=lambda item: -len(item[1]))
    yield f"{len(found)} differences\n"
    for text, releases in in_order[:show]:
        shown = ", ".join(releases[:_SHOWN_RELEASES])
        more = f" and {len(releases) - _SHOWN_RELEASES} more" if len(releases) > _SHOWN_RELEASES else ""
        lines = text.split("\n")
        yield f"\n== {lines[0]} ({shown}{more})\n"
        yield from (f"{line}\n" for line in lines[1 : 1 + _SHOWN_LINES])
        if len(lines) > 1 + _SHOWN_LINES:
            yield f"... {len(lines) - 1 - _SHOWN_LINES} more lines\n"
    if len(in_order) > show:
        yield f"\n... {len(in_order) - show} more; --show shows them\n"


def run(arguments: Sequence[str]) -> int:
    """Compare the goldens of a commit with the current ones. Returns 1 if they differ."""
    parser = argparse.ArgumentParser(prog="python -m golden_outputs.review", description=__doc__.partition("\n")[0])
    parser.add_argument("base", help="a commit, as git names it")
    parser.add_argument("--show", type=int, default=_SHOWN, help="how many differences are shown in full")
    given = parser.parse_args(arguments)
    packed = subprocess.run(["git", "archive", given.base, "golden_outputs"], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archives.unpack(archive, Path(folder))
        found = differences(kept_in(Path(folder) / "golden_outputs"), kept_in(stored.FOLDER))
    sys.stdout.writelines(report(found, given.show))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
