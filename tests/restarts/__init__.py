"""Starts of Kafka's own log managers on whole, damaged and hostile directories: what forecasts are compared with.

`directories.tar.xz` holds the directories, `starts.jsonl.xz` a line for each start of one of them: release, stop, recovery point,
and what became of the directory. `make.py` makes such lines. Nothing in them comes from kdump.
"""

import gzip
import json
import lzma
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DIRECTORIES = Path(__file__).with_name("directories.tar.xz")
STARTS = Path(__file__).with_name("starts.jsonl.xz")
CLOCK = 1_795_266_000_000
"""What the clock of a log manager says, in ms, so that whatever depends on it is the same whenever starts are made."""


def starts() -> Iterator[dict[str, Any]]:
    """The lines, as JSON: values of any type."""
    with lzma.open(STARTS, "rt") as file:
        for line in file:
            yield json.loads(line)


def unpack(folder: Path) -> None:
    """Put all directories into a folder. Large indexes, which are zeros but for a few entries, stand in the archive packed."""
    with tarfile.open(DIRECTORIES) as archive:
        archive.extractall(folder, filter="data")
    for path in folder.rglob("*index.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
