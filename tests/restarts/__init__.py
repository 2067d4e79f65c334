"""Starts of Kafka's own log managers on whole, damaged and hostile directories: what forecasts are compared with.

`directories.tar.xz` holds the directories, `starts.jsonl.xz` a line for each start of one of them: release, stop, recovery point,
and what became of the directory. `make.py` makes such lines. Nothing in them comes from kdump. `built.py` builds further
directories.

In a line, `case`, `stop`, `recoveryPoint`, `loadedAs`, `logStartCheckpoint`, `config` and `isInLogDirectory` identify the start.
`files` are those that changed, except snapshots and leader epochs: name, change, new name, size before, size after. `said` is
what the broker logged, without routine lines, and last the message of the exception with its cause. The other fields are named
as in forecasts.
"""

import gzip
import json
import lzma
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.restarts import built
from tools import archives

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
    """Put all directories into a folder, the built ones too.

    Large indexes, which are zeros but for a few entries, are compressed in the archive.
    """
    with tarfile.open(DIRECTORIES) as archive:
        archives.unpack(archive, folder)
    for path in folder.rglob("*index.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    built.build(folder)
