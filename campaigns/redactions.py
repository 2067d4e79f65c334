"""Damages random partitions, redacts them, and looks for what is left of their contents, and for other findings.

    python -m campaigns.redactions --count 2000
    python -m campaigns.redactions --seed 1 --number 1234 --keep /tmp/redactions     one of them again, its directories kept

Contents are bytes that stand nowhere else. Four of them in a row in the output, or in its decompressed payloads, are a leak.
A batch that is damaged inside becomes its header and filler: then a check may find another fault of it, but some fault. Other
differences may be in one of a hundred partitions.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import kdump
from campaigns import damage
from kdump.mending.row import RedactDifference
from kdump.tables import Row
from tests.builders.checksums import crc32c
from tests.builders.compression import Codec
from tests.builders.files import write_partition
from tests.builders.records import TIMESTAMP, batch, message, record, transaction_marker, wrapper

CODECS: tuple[Codec, ...] = ("none", "none", "gzip", "snappy", "lz4", "zstd")
WINDOW = 4
MOST_DIFFERING = 0.01  # of the partitions


class Redaction(NamedTuple):
    """What came of one case: contents that are left, and findings where the other side has none."""

    leaks: list[bytes]
    differences: list[str]


def content(chance: random.Random, size: int) -> bytes:
    """Bytes from 0xB0 to 0xFE, which no field of these partitions has four of in a row."""
    return bytes(chance.randrange(0xB0, 0xFF) for _ in range(size))


def write(chance: random.Random, folder: Path) -> list[bytes]:
    """Write a partition `orders-0`. Returns the contents of its records."""
    contents: list[bytes] = []

    def new() -> bytes:
        contents.append(content(chance, chance.choice((0, 1, 5, 20, 200))))
        return contents[-1]

    offset, logs = 0, {}
    for _ in range(chance.randint(1, 3)):
        base, batches = offset, []
        for _ in range(chance.randint(1, 6)):
            count = chance.randint(1, 5)
            if not offset and chance.random() < 0.3:
                messages = [message(key=new(), value=new(), offset=offset + row) for row in range(count)]
                codec = chance.choice(("gzip", "snappy", "lz4"))
                batches.append(wrapper(messages=messages, base_offset=offset, codec=codec))  # type: ignore[arg-type]  # a codec
            elif chance.random() < 0.2:
                batches.append(transaction_marker(base_offset=offset, producer_id=9))
                count = 1
            else:
                records = [
                    record(key=new(), value=new(), headers=[(content_name(new()), new())], timestamp=TIMESTAMP + row)
                    for row in range(count)
                ]
                batches.append(batch(records=records, base_offset=offset, codec=chance.choice(CODECS)))
            offset += count
        logs[base] = batches
    write_partition(folder, topic="orders", segments=logs)
    return contents


def content_name(data: bytes) -> bytes:
    """The name of a header, which is not empty."""
    return data or b"\xb0"


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


def one_case(seed: int, number: int, folder: Path) -> list[bytes]:
    """Write a damaged partition into a folder; it depends only on the seed and the number. Returns its contents."""
    chance = random.Random(f"{seed} {number}")
    contents = write(chance, folder)
    partition = folder / "orders-0"
    for _ in range(chance.choice((0, 1, 1, 2))):
        path = chance.choice(sorted(partition.glob("*.log")))
        other = chance.choice(sorted(partition.glob("*.log")))
        path.write_bytes(damage.damage(".log", path.read_bytes(), other.read_bytes(), chance).data)
    return contents


def faulty(partition: Path) -> set[tuple[str, int | None]]:
    """Where a deep check finds something: names of files, and first offsets as redact compares them."""
    found = kdump.check(partition, level="deep")
    return {(Path(row.path).name, None if row.offset_first is None else max(row.offset_first, -1)) for row in found}


def differing(rows: Sequence[Row], partition: Path, output: Path) -> list[RedactDifference]:
    """The differences at places where only one side has a fault. At others, a batch that is damaged inside was filled up."""
    found = [row for row in rows if isinstance(row, RedactDifference)]
    in_both = faulty(partition) & faulty(output) if found else set()
    return [row for row in found if (row.path, row.offset_first) not in in_both]


def redacted(partition: Path, output: Path, contents: Sequence[bytes]) -> Redaction:
    """Redact a partition, and compare. What two runs leave is a leak; other such bytes are of a compressor, or by chance."""
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
    return Redaction(leaks, differences)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m campaigns.redactions", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, help="only this case")
    parser.add_argument("--keep", type=Path, help="a new directory for the case of --number")
    chosen = parser.parse_args(arguments)
    numbers = range(chosen.count) if chosen.number is None else [chosen.number]
    leaks = differing = 0
    with tempfile.TemporaryDirectory(prefix="kdump-redactions-") as temporary:
        for number in numbers:
            folder = chosen.keep or Path(temporary) / str(number)
            folder.mkdir()
            contents = one_case(chosen.seed, number, folder)
            found = redacted(folder / "orders-0", folder / "out", contents)
            leaks += bool(found.leaks)
            differing += bool(found.differences)
            if found.leaks:
                print(f"{number}: {len(found.leaks)} runs of content are left: {found.leaks[:3]}", flush=True)
            if found.differences:
                print(f"{number}: {'; '.join(found.differences)}", flush=True)
            if chosen.keep is None:
                shutil.rmtree(folder)
    print(f"{len(numbers)} partitions, contents left in {leaks}, other findings in {differing}")
    return int(leaks > 0 or differing > len(numbers) * MOST_DIFFERING)


if __name__ == "__main__":
    sys.exit(main())
