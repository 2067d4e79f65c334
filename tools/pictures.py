"""Draw the pictures of docs/: a partition of four segments with damage, made up, as `kdump map` draws it."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kdump.output.html.picture import svg_of
from kdump.overview.map_rows import PLOT_OF_MAP, PLOT_OF_PRODUCERS
from kdump.overview.partition_map import partition_map
from tests.builders.files import write_partition
from tests.builders.records import Record, batch, transaction_marker

_START = 1_700_000_000_000
_BATCHES = 400  # of a segment


def pictures() -> dict[str, str]:
    """The pictures as SVG, by the names of their files."""
    with _partition() as path:
        made = partition_map(path)
        plots = {"map.svg": PLOT_OF_MAP, "producers.svg": PLOT_OF_PRODUCERS}
        return {name: svg_of([made], plot, "bytes") for name, plot in plots.items()}


@contextmanager
def _partition() -> Iterator[str]:
    """The partition, in a folder that is the current one meanwhile."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            _damage(write_partition(Path(), segments=_segments(random.Random(5)), topic="orders"))
            yield "orders-0"
        finally:
            os.chdir(home)


def _segments(chance: random.Random) -> dict[int, list[bytes]]:
    """Six producers, of which four have transactions; one stops, one leaves its last transaction open."""
    segments: dict[int, list[bytes]] = {}
    offset, opened = 0, set[int]()
    for number in range(4 * _BATCHES):
        if number % _BATCHES == 0:
            batches = segments[offset] = []
        moment, producer = _START + 2000 * number, chance.choice((1000, 1001, 1002, 1003, 2000, 2001))
        epoch = number // (2 * _BATCHES)
        if producer in opened and chance.random() < 0.3 and (producer, number > 3 * _BATCHES) != (1003, True):
            opened.discard(producer)
            is_commit = chance.random() < 0.8
            batches.append(
                transaction_marker(
                    base_offset=offset,
                    timestamp=moment,
                    producer_id=producer,
                    is_commit=is_commit,
                    partition_leader_epoch=epoch,
                )
            )
            offset += 1
        elif producer != 2001 or not 300 < number < 900:
            opened |= {producer} if producer < 2000 else set()
            batches.append(
                batch(
                    base_offset=offset,
                    base_timestamp=moment,
                    records=[Record(value=bytes(chance.randrange(20, 200)))] * 3,
                    producer_id=producer,
                    producer_epoch=0,
                    base_sequence=0,
                    is_transactional=producer < 2000,
                    partition_leader_epoch=epoch,
                )
            )
            offset += 3
    return segments


def _damage(path: Path) -> None:
    """A page of zeros in the second log, garbage in the third, and zeros after the last."""
    _, second, third, last = sorted(path.glob("*.log"))
    for log, at, data in ((second, 40_960, bytes(4096)), (third, 90_000, random.Random(6).randbytes(9000))):
        held = bytearray(log.read_bytes())
        held[at : at + len(data)] = data
        log.write_bytes(held)
    last.write_bytes(last.read_bytes() + bytes(30_000))
