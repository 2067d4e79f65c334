"""Starts the real log managers on the directories kept here: to compare, or to make the lines of a release.

python -m tests.restarts.make --check --sample 200      do the log managers still do what the lines say?
python -m tests.restarts.make --release 4.4.0           makes the lines of a release, or makes them again, and keeps them
"""

import argparse
import json
import lzma
import random
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests import restarts
from tests.oracle.restarts import LogManager, Request, Start, why_not_available
from tests.restarts import built
from tests.restarts.comparison import fields_of

ASKED = ("case", "release", "stop", "recoveryPoint", "loadedAs", "logStartCheckpoint", "config", "isInLogDirectory")
"""The fields of a line that say which start it is."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and keep nothing")
    parser.add_argument("--release", help="only this release; without --check, one to make lines of")
    parser.add_argument("--case", default="*", help="without --check: only the lines of these cases; a glob")
    parser.add_argument("--sample", type=int, help="so many starts of each release, chosen at random")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if not arguments.check and not arguments.release:
        parser.error("either --check or --release")
    lines = list(restarts.starts())
    releases = [arguments.release] if arguments.release else sorted({line["release"] for line in lines})
    for missing in filter(None, map(why_not_available, releases)):
        print(missing, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="kdump-restarts-") as folder:
        restarts.unpack(Path(folder))
        if arguments.check:
            return _check(lines, Path(folder), releases, arguments)
        return _make(lines, Path(folder).resolve(), arguments.release, arguments.case)


def _check(lines: list[dict[str, Any]], folder: Path, releases: list[str], arguments: argparse.Namespace) -> int:
    different = 0
    for release in releases:
        chosen = [line for line in lines if line["release"] == release]
        if arguments.sample:
            chosen = random.Random(arguments.seed).sample(chosen, min(arguments.sample, len(chosen)))
        for line, found in zip(chosen, _found(release, chosen, folder), strict=True):
            wrong = [name for name, value in found.items() if line[name] != value]
            for name in wrong:
                print(f"{line['case']} {release} {line['stop']} {line['recoveryPoint']}: {name} {line[name]}, now {found[name]}")
            different += bool(wrong)
        print(f"{release}: {len(chosen)} starts, {different} different so far")
    return 1 if different else 0


def _make(lines: list[dict[str, Any]], folder: Path, release: str, case: str) -> int:
    """The starts that are there of a release, or else those of the newest there is; and those of built directories."""
    others = [line for line in lines if line["release"] != release]
    newest = max((line["release"] for line in others), key=lambda text: [*map(int, text.split("."))])
    models = [line for line in lines if line["release"] == release] or [line for line in others if line["release"] == newest]
    asked: list[dict[str, Any]] = [
        {name: line[name] for name in ASKED if name in line} | {"release": release}
        for line in models
        if not line["case"].startswith("built-")
    ]
    asked += [{**start, "release": release} for start in built.STARTS]
    asked = [line for line in asked if fnmatchcase(line["case"], case)]
    kept = [line for line in lines if line["release"] != release or not fnmatchcase(line["case"], case)]
    made = [line | found for line, found in zip(asked, _found(release, asked, folder), strict=True)]
    with lzma.open(restarts.STARTS, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(json.dumps(line) + "\n" for line in kept + made)
    print(f"{release}: {len(made)} starts")
    return 0


def _found(release: str, lines: list[dict[str, Any]], folder: Path) -> Iterator[dict[str, Any]]:
    """What the log manager of a release does at these starts, in the fields of a line."""
    with LogManager(release) as manager:
        for line in lines:
            path = folder / line["case"]
            if line.get("isInLogDirectory"):
                yield fields_of(manager.record_log_directory(path.parent, line["stop"], restarts.CLOCK)[path.name])
                continue
            request = Request(path, config=line.get("config", {}), loaded_as=line.get("loadedAs", "topic-0"), now=restarts.CLOCK)
            yield fields_of(manager.record(request, Start(line["stop"], line["recoveryPoint"])))


if __name__ == "__main__":
    sys.exit(main())
