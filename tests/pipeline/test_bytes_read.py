"""How many bytes of each log a scan reads: work that can be counted, where time cannot be tested."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kdump.binary.source import Source
from kdump.cli.commands import main
from kdump.pipeline import local
from kdump.reading import stretches
from tests.builders.files import write_partition
from tests.builders.records import batch, record
from tests.support import PoolHere

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

VALUE = os.urandom(10 << 10)


def _batches(first: int, count: int) -> list[bytes]:
    return [batch(records=[record(value=VALUE)], base_offset=first + number) for number in range(count)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two partitions, one with a segment that is larger than all others."""
    write_partition(tmp_path / "data", topic="t", partition=0, segments={0: _batches(0, 600), 600: _batches(600, 20)})
    write_partition(tmp_path / "data", topic="t", partition=1, segments={0: _batches(0, 30)})
    (tmp_path / "data" / "recovery-point-offset-checkpoint").write_text("0\n2\nt 0 620\nt 1 30\n")
    return tmp_path / "data"


@pytest.fixture
def read() -> Iterator[Counter[str]]:
    """The number of bytes that are read of each file, by its path."""
    counts: Counter[str] = Counter()
    take, fill, summarize = Source._take, Source._fill, stretches.summarize_stretch

    def counted_take(source: Source, position: int, count: int) -> bytes:
        data = take(source, position, count)
        counts[source.path] += len(data)
        return data

    def counted_fill(source: Source, buffer: memoryview, position: int) -> int:
        filled = fill(source, buffer, position)
        counts[source.path] += filled
        return filled

    def counted_summary(source: Source, position: int, *others: Any) -> Any:
        found = summarize(source, position, *others)
        counts[source.path] += found[0].end - position if found[0] is not None else 0
        return found

    with (
        mock.patch.object(Source, "_take", counted_take),
        mock.patch.object(Source, "_fill", counted_fill),
        mock.patch.object(stretches, "summarize_stretch", counted_summary),
        mock.patch.object(local, "Pool", PoolHere),
    ):
        yield counts


@pytest.mark.parametrize("has_checkpoint", [True, False])
@pytest.mark.parametrize("options", [(), ("--tables", "segments"), ("--tables", "batches")], ids=" ".join)
def test_a_scan_reads_each_sound_log_once_for_all_tables_and_once_for_checks(
    options: tuple[str, ...], has_checkpoint: bool, data: Path, read: Counter[str]
) -> None:
    """What a start reads again is not: the checks have shown that it keeps all."""
    if not has_checkpoint:
        (data / "recovery-point-offset-checkpoint").unlink()
    assert main(["scan", str(data), "--tables-to", str(data.parent / "out"), "--engine", "local", "--jobs", "2", *options]) == 0
    times = [read[str(path)] / path.stat().st_size for path in data.rglob("*.log")]  # on average over its bytes
    assert len(times) == 3 and all(2 <= newest < 2.3 for newest in times)
