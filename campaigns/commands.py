"""What campaigns share that run whole commands: a small partition, and command lines with its paths."""

from collections.abc import Mapping
from pathlib import Path

from tests.builders.compression import CODEC_IDS
from tests.builders.files import producer_entry, write_partition
from tests.builders.records import Record, batch


def small_partition(folder: Path) -> Path:
    """A sound partition of three segments."""

    def made(base_offset: int) -> bytes:
        records = [Record(key=b"key %d" % row, value=bytes(200)) for row in range(10)]
        return batch(records=records, base_offset=base_offset, producer_id=7, producer_epoch=0, base_sequence=base_offset)

    segments = {first: [made(offset) for offset in range(first, first + 400, 10)] for first in (0, 400, 800)}
    entries = {
        end: [producer_entry(producer_id=7, last_sequence=end - 1, last_offset=end - 1, offset_delta=9)]
        for end in (400, 800, 1200)
    }
    return write_partition(folder, segments=segments, producer_snapshots=entries)


def compressed_partition(folder: Path) -> Path:
    """A sound partition of one segment, with a batch of each codec."""
    records = [Record(key=b"key %d" % row, value=bytes(200)) for row in range(10)]
    return write_partition(
        folder,
        segments={0: [batch(records=records, base_offset=10 * codec_id, codec=codec) for codec, codec_id in CODEC_IDS.items()]},
    )


def filled(word: str, values: Mapping[str, str]) -> str:
    """A word of a command line with the value of the name that it is, or that stands before its first slash."""
    first, slash, rest = word.partition("/")
    return values.get(first, first) + slash + rest
