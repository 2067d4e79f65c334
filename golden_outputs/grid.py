"""Shows which combinations of features the goldens cover, and which are missing.

python -m golden_outputs.grid                    the grid of the newest release, and gaps in any release
python -m golden_outputs.grid --release 2.0.1    the grid of this release
"""

import argparse
import functools
import itertools
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from golden_outputs import stored
from golden_outputs.runs import CASES, LOG_SUFFIXES, OPTIONS_SINCE
from golden_outputs.stored import Golden, release_number

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
CONDITIONS = ("sound", "damaged")
KINDS_OF_BATCHES = ("plain", "idempotent", "transactional", "delete horizon", "control")
FILE_KINDS = {".log": "0.8.0", ".index": "0.8.0", ".timeindex": "0.10.1.0", ".txnindex": "0.11.0.0"}
FILE_KINDS |= {".snapshot": "0.11.0.0", ".checkpoint": "3.3.0"}
"""Suffixes of files, with the first release whose tool knows them."""

# Options that every release has, and options that also apply to files other than logs.
OLD_OPTIONS = ("", "--deep-iteration", "--print-data-log", "--verify-index-only", "--max-message-size")
INDEX_OPTIONS = ("--verify-index-only", "--index-sanity-check")
CHECKPOINT_OPTIONS = ("--deep-iteration", "--print-data-log", "--skip-record-metadata", "--cluster-metadata-decoder")

# The tool's messages about damaged logs.
_DAMAGE = re.compile(rb"isvalid: false|invalid bytes at the end")

_POSITION_OF_MAGIC = 16
_MESSAGE_HEAD = struct.Struct(">qiIbb")
_BATCH_HEAD = struct.Struct(">qiibIhiqqqhi")
_LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL, _DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40


class Batch(NamedTuple):
    """The features of a batch or message, and whether the newest release finds its log valid."""

    magic: int
    codec: str
    timestamp_type: str
    kind: str
    condition: str


class Option(NamedTuple):
    """An option ("" for none) and a type of file with which the tool is run."""

    suffix: str
    option: str


def wanted_batches() -> set[Batch]:
    """The batches that the cases should contain; every release is run on all cases."""
    old_codecs = CODECS[:-1]
    wanted = {Batch(0, codec, "none", "plain", condition) for codec, condition in itertools.product(old_codecs, CONDITIONS)}
    cells = itertools.product(old_codecs, TIMESTAMP_TYPES, ("plain",), CONDITIONS)
    wanted |= {Batch(1, *cell) for cell in cells}
    wanted |= {Batch(2, *cell) for cell in itertools.product(CODECS, TIMESTAMP_TYPES, KINDS_OF_BATCHES[:-1], CONDITIONS)}
    return wanted | {Batch(2, "none", *cell) for cell in itertools.product(TIMESTAMP_TYPES, ("control",), CONDITIONS)}


def wanted_options(release: str) -> set[Option]:
    """The options that the goldens of a release should use, by type of file."""
    options = {*OLD_OPTIONS, *(option for option, since in OPTIONS_SINCE.items() if _has(release, since))}
    suffixes = {suffix for suffix, since in FILE_KINDS.items() if _has(release, since)}
    wanted = {Option(".log", option) for option in options} | {Option(suffix, "") for suffix in suffixes}
    wanted |= {Option(suffix, option) for suffix in (".index", ".timeindex") for option in INDEX_OPTIONS}
    wanted |= {Option(".checkpoint", option) for option in CHECKPOINT_OPTIONS}
    return {cell for cell in wanted if cell.option in options and cell.suffix in suffixes}


def batches() -> Counter[Batch]:
    """The number of cases with such a batch."""
    by_case: dict[str, set[Batch]] = {}
    for golden in stored.read(stored.releases()[0]):
        condition = CONDITIONS[_finds_damage(golden)]
        for path in _files(golden):
            if path.suffix in LOG_SUFFIXES:
                by_case.setdefault(golden.case, set()).update(Batch(*batch, condition) for batch in _batches_of(path))
    return Counter(batch for of_case in by_case.values() for batch in of_case)


def options(release: str) -> Counter[Option]:
    """The number of runs with such an option and file."""
    cells: Counter[Option] = Counter()
    for golden in stored.read(release):
        given = {word.partition("=")[0] for word in golden.arguments if word.startswith("--")} - {"--files"}
        suffixes = {path.suffix for path in _files(golden)}
        cells.update(Option(suffix, option) for suffix in suffixes for option in given or {""})
    return cells


def missing_batches() -> list[Batch]:
    """The batches that no case contains."""
    return sorted(wanted_batches() - batches().keys())


def missing_options(release: str) -> list[Option]:
    """The options that no run of a release uses."""
    return sorted(wanted_options(release) - options(release).keys())


def table_of_batches() -> Iterator[str]:
    """The number of cases with each kind of batch, as lines of text."""
    shown = batches()
    widths = "{:5} {:7} {:14} {:15} {:>5} {:>7}"
    yield widths.format("magic", "codec", "timestamps", "batches", *CONDITIONS)
    rows = {cell[:4] for cell in shown.keys() | wanted_batches()}
    for row in sorted(rows, key=_row_order):
        yield widths.format(*row, *(shown[Batch(*row, condition)] or "-" for condition in CONDITIONS))


def table_of_options(release: str) -> Iterator[str]:
    """The number of runs of a release with each option and type of file, as lines of text."""
    counts = options(release)
    suffixes = [suffix for suffix, since in FILE_KINDS.items() if _has(release, since)]
    yield " ".join(["runs with".ljust(30), *(suffix.rjust(11) for suffix in suffixes)])
    for option in sorted({cell.option for cell in wanted_options(release)}):
        cells = (str(counts[Option(suffix, option)] or "-") for suffix in suffixes)
        yield " ".join([(option or "no option").ljust(30), *(cell.rjust(11) for cell in cells)])


def _row_order(row: tuple[int, str, str, str]) -> tuple[int, ...]:
    magic, codec, timestamp_type, kind = row
    return magic, CODECS.index(codec), ("none", *TIMESTAMP_TYPES).index(timestamp_type), KINDS_OF_BATCHES.index(kind)


def _has(release: str, since: str) -> bool:
    return release_number(release) >= release_number(since)


def _finds_damage(golden: Golden) -> bool:
    return golden.exit_code != 0 or bool(_DAMAGE.search(golden.stdout + golden.stderr))


def _files(golden: Golden) -> list[Path]:
    """The existing files of a run that any release knows."""
    lists = [words[1] for words in itertools.pairwise(golden.arguments) if words[0] == "--files"]
    paths = [CASES / golden.case / name for names in lists for name in names.split(",") if name]
    return [path for path in paths if path.suffix in FILE_KINDS and _is_file(path)]


@functools.cache
def _is_file(path: Path) -> bool:
    return path.is_file()


@functools.cache
def _batches_of(path: Path) -> frozenset[tuple[int, str, str, str]]:
    """Magic, codec, timestamp type and kind of each batch, up to the first unreadable one."""
    return frozenset(_walk(path.read_bytes()))


def _walk(log: bytes) -> Iterator[tuple[int, str, str, str]]:
    position = 0
    while position + _BATCH_HEAD.size <= len(log) or position + _MESSAGE_HEAD.size <= len(log):
        _, size, _, _, attributes = _MESSAGE_HEAD.unpack_from(log, position)
        magic = log[position + _POSITION_OF_MAGIC]
        if magic > 2 or size < 14:
            return
        kind = "plain"
        if magic == 2:
            if position + _BATCH_HEAD.size > len(log):
                return
            attributes, producer_id = _BATCH_HEAD.unpack_from(log, position)[5], _BATCH_HEAD.unpack_from(log, position)[9]
            kind = _kind(attributes, producer_id)
        if attributes & 0x07 < len(CODECS):
            timestamps = TIMESTAMP_TYPES[bool(attributes & _LOG_APPEND_TIME)] if magic else "none"
            yield magic, CODECS[attributes & 0x07], timestamps, kind
        position += 12 + size


def _kind(attributes: int, producer_id: int) -> str:
    if attributes & _CONTROL:
        return "control"
    if attributes & _DELETE_HORIZON:
        return "delete horizon"
    if attributes & _TRANSACTIONAL:
        return "transactional"
    return "plain" if producer_id < 0 else "idempotent"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the grid of a release, or of the newest with the gaps in all; the exit code is 1 if there are gaps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", help="only the grid of this release")
    wanted = parser.parse_args(arguments).release
    releases = [wanted] if wanted else stored.releases()
    holes = [" ".join(str(part) for part in batch) for batch in missing_batches()]
    holes += [f"{release}: {' '.join(option)}" for release in releases for option in missing_options(release)]
    print("\n".join([*table_of_batches(), "", *table_of_options(releases[0]), ""]))
    print("\n".join(f"missing: {hole}" for hole in holes) or f"nothing is missing in {len(releases)} releases")
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main())
