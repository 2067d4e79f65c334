"""Looks for what is left of the contents of records in a redacted partition, and for other findings.

Contents are bytes that stand nowhere else. Four of them in a row in the output, or in its decompressed payloads, are a leak.
A batch that is damaged inside becomes its header and filler: then a check may find another fault of it, but some fault.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import kdump
from campaigns import damage
from kdump.mending.row import RedactDifference
from kdump.tables import Row
from tests.builders.checksums import crc32c

WINDOW = 4


def content(chance: random.Random, size: int) -> bytes:
    """Bytes from 0xB0 to 0xFE, which no field of these partitions has four of in a row."""
    return bytes(chance.randrange(0xB0, 0xFF) for _ in range(size))


def windows(contents: Sequence[bytes]) -> set[bytes]:
    """All runs of bytes that must not be in the output."""
    return {one[at : at + WINDOW] for one in contents for at in range(len(one) - WINDOW + 1)}


def leaked(directory: Path, wanted: set[bytes]) -> list[bytes]:
    """What of the contents is in the files of a directory, or in the payloads of its logs."""
    found = []
    for path in sorted(directory.iterdir()):
        for text in texts(path.read_bytes()) if ".log" in path.name else [path.read_bytes()]:
            found += [text[at : at + WINDOW] for at in range(len(text) - WINDOW + 1) if text[at : at + WINDOW] in wanted]
    return found


def texts(log: bytes) -> Iterator[bytes]:
    """The decompressed payloads of a log, as far as its batches follow one another; then all that is not compressed.

    Without CRCs that fit: four bytes of a CRC may happen to be those of a content.
    """
    rest = bytearray(log)
    for entry in damage.entries(log):
        if entry.magic >= 2:
            crc = slice(entry.position + 17, entry.position + 21)
            if int.from_bytes(log[crc], "big") == crc32c(log[crc.stop : entry.end]):
                rest[crc] = bytes(4)
        try:
            payload = damage.records_of(log, entry)
        except Exception:  # the packages raise what they like for payloads that are damaged
            continue
        if payload is not None and damage.is_compressed(log, entry):
            yield payload
            start, end = damage.payload_range(log, entry)
            rest[start:end] = bytes(max(end - start, 0))  # a damaged length may end before the records
    yield bytes(rest)


def faulty(partition: Path) -> set[tuple[str, int | None]]:
    """Where a deep check finds something: names of files, and first offsets as redact compares them."""
    found = kdump.check(partition, level="deep")
    return {(Path(row.path).name, place(row.offset_first)) for row in found}


def place(offset: int | None) -> int | None:
    """An offset that is the same in what was redacted: of negative ones and absurd ones, which redact replaces, there is one."""
    return None if offset is None else min(max(offset, -1), 1 << 48)


def differing(rows: Sequence[Row], partition: Path, output: Path) -> list[RedactDifference]:
    """The differences at places where only one side has a fault. At others, a batch that is damaged inside was filled up."""
    found = [row for row in rows if isinstance(row, RedactDifference)]
    in_both = faulty(partition) & faulty(output) if found else set()
    return [row for row in found if (row.path, place(row.offset_first)) not in in_both]


def redacted(partition: Path, output: Path, contents: Sequence[bytes]) -> tuple[list[bytes], list[str]]:
    """Redact a partition, and compare. Returns contents that are left, and findings where the other side has none.

    What two runs leave is a leak; other such bytes are of a compressor, or by chance.
    """
    wanted = windows(contents)
    rows = kdump.redact(partition, output, seed="1")
    leaks = leaked(output, wanted)
    if leaks:
        again = output.with_name(f"{output.name}-again")
        kdump.redact(partition, again, seed="2")
        leaks = sorted(set(leaks) & set(leaked(again, wanted)))
    differences = [
        f"{row.code} at {row.offset_first} of {row.path.lstrip('0')} only in the {row.only_in}"
        for row in differing(rows, partition, output)
    ]
    return leaks, differences
