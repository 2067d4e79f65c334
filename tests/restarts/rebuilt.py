"""What real log managers rebuild after all companions of a partition were deleted: what `kdump reindex` is compared with.

    python -m tests.restarts.rebuilt --release 4.3.1            records a release again, and keeps the lines
    python -m tests.restarts.rebuilt --release 4.3.1 --check    compares, and keeps nothing

`rebuilt.jsonl.xz` has a line for each directory of `directories.tar.xz` that loads without losing anything: `case`, and for
each release the SHA-256 of each file that its log manager made at a start after an unclean stop, recovery point 0. The clock
stood a minute after the newest record.
"""

import argparse
import hashlib
import json
import lzma
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import restarts
from tests.oracle.restarts import LogManager, Request, Start, why_not_available

REBUILT = Path(__file__).with_name("rebuilt.jsonl.xz")
LOG = re.compile(r"\d{20}\.log")
COMPANION = re.compile(r"\d{20}\.(index|timeindex|txnindex|snapshot)|leader-epoch-checkpoint")
LOG_STARTS = "log-start-offset-checkpoint"
PARTITION = re.compile(r".+-\d+")


def lines() -> Iterator[dict[str, Any]]:
    """The lines, as JSON: values of any type."""
    with lzma.open(REBUILT, "rt") as file:
        for line in file:
            yield json.loads(line)


def digests(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items()) if COMPANION.fullmatch(name)}


def strip(directory: Path, folder: Path) -> Path:
    """Copy only the logs of a partition into a log directory, with the checkpoint of log starts. Returns the copy."""
    copy = folder / (directory.name if PARTITION.fullmatch(directory.name) else "topic-0")
    copy.mkdir(parents=True)
    for path in directory.iterdir():
        if LOG.fullmatch(path.name) and path.is_file():
            shutil.copyfile(path, copy / path.name)
    if (directory.parent / LOG_STARTS).exists():
        shutil.copyfile(directory.parent / LOG_STARTS, folder / LOG_STARTS)
    return copy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", required=True)
    parser.add_argument("--check", action="store_true", help="compare, and keep nothing")
    arguments = parser.parse_args()
    missing = why_not_available(arguments.release)
    if missing:
        print(missing, file=sys.stderr)
        return 2
    known = {line["case"]: line for line in lines()}
    different = 0
    with tempfile.TemporaryDirectory(prefix="kdump-rebuilt-") as folder, LogManager(arguments.release) as manager:
        directories = Path(folder) / "directories"
        restarts.unpack(directories)
        for path in sorted({path.parent for path in directories.rglob("*.log") if LOG.fullmatch(path.name)}):
            case = path.relative_to(directories).as_posix()
            copy = strip(path, Path(folder) / "stripped")
            found = manager.rebuilt(Request(copy), Start("unclean", 0))
            shutil.rmtree(copy.parent)
            if found is not None:
                of_case = known.setdefault(case, {"case": case, "files": {}})["files"]
                different += of_case.get(arguments.release) != digests(found)
                of_case[arguments.release] = digests(found)
    print(f"{arguments.release}: {different} different")
    if arguments.check:
        return 1 if different else 0
    with lzma.open(REBUILT, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(json.dumps(known[case]) + "\n" for case in sorted(known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
