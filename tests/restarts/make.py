"""Starts the real log managers on the directories kept here: to compare, or to make the lines of a release.

python -m tests.restarts.make --check --sample 200      do the log managers still do what the lines say?
python -m tests.restarts.make --release 4.4.0           makes the lines of a release, and keeps them
"""

import argparse
import json
import lzma
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import restarts
from tests.oracle.restarts import LogManager, Request, Start, why_not_available

ASKED = ("case", "release", "stop", "recoveryPoint", "loadedAs", "logStartCheckpoint", "config")
"""The fields of a line that say which start it is."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and keep nothing")
    parser.add_argument("--release", help="only this release; without --check, one to make lines of")
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
        return _make(lines, Path(folder), arguments.release)


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


def _make(lines: list[dict[str, Any]], folder: Path, release: str) -> int:
    """The starts of the newest release there is, made by another."""
    newest = max((line["release"] for line in lines if line["release"] != release), key=lambda text: [*map(int, text.split("."))])
    asked: list[dict[str, Any]] = [
        {name: line[name] for name in ASKED if name in line} | {"release": release} for line in lines if line["release"] == newest
    ]
    made = [line | found for line, found in zip(asked, _found(release, asked, folder), strict=True)]
    kept = [line for line in lines if line["release"] != release]
    with lzma.open(restarts.STARTS, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(json.dumps(line) + "\n" for line in kept + made)
    print(f"{release}: {len(made)} starts")
    return 0


def _found(release: str, lines: list[dict[str, Any]], folder: Path) -> Iterator[dict[str, Any]]:
    """What the log manager of a release does at these starts, in the fields of a line."""
    with LogManager(release) as manager:
        for line in lines:
            request = Request(
                folder / line["case"],
                config=line.get("config", {}),
                loaded_as=line.get("loadedAs", "topic-0"),
                now=restarts.CLOCK,
            )
            row = manager.record(request, Start(line["stop"], line["recoveryPoint"]))
            yield {
                "words": [row["outcome"], *row.get("also", [])],
                "logStart": row.get("log_start"),
                "logEnd": row.get("log_end"),
                "dataEnd": row["data_end"],
                "bytesLost": row["bytes_lost"],
                "segmentsGone": row.get("segments_gone", []),
                "lostRecords": row.get("lost_records", 0),
                "lostOffsets": row.get("lost_offsets", []),
                "exception": row.get("exception"),
            }


if __name__ == "__main__":
    sys.exit(main())
