"""Reading a log through the window that was read last."""

import random
from pathlib import Path

from kdump.binary.source import Source
from kdump.reading.recent import RecentBytes
from kdump.reading.tuning import ReadTuning


def test_recent_bytes_are_those_of_the_file_at_any_position(tmp_path: Path) -> None:
    chance = random.Random(1)
    data = chance.randbytes(3000)
    path = tmp_path / "x.log"
    path.write_bytes(data)
    with Source(str(path)) as source:
        recent = RecentBytes(source, ReadTuning(near_bytes=100))
        position = 0
        for _ in range(5000):
            position = chance.choice((position, position + chance.randrange(100), chance.randrange(3100)))
            count = chance.choice((0, 1, 61, 100, 199, 500))
            assert recent.read(position, count) == data[position : position + count]
