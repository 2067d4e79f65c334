"""Sound logs are read once by what mends them: what reads also copies, rebuilds and checks."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.binary import kernel
from kdump.binary.source import Source
from kdump.checks.live_source import LiveSource
from kdump.mending.new_directory import NewFile
from kdump.mending.partition_recovery import PartitionRecovery
from kdump.mending.row import Dropped, Recovered
from kdump.reading import read_ahead, salvage
from tests.builders.files import write_partition
from tests.builders.records import batch, record

FIRST = "00000000000000000000"
MAKES: dict[str, Callable[[Path, Path], Any]] = {"recover": kdump.recover, "reindex": kdump.reindex}


def _batch(offset: int, size: int = 40_000) -> bytes:
    return batch(base_offset=offset, records=[record(value=bytes(size))], producer_id=7, producer_epoch=0, base_sequence=offset)


def _partition(folder: Path, batches: list[bytes], *more: list[bytes]) -> Path:
    segments = {0: batches}
    for of_log in more:
        segments[sum(map(len, segments.values()))] = of_log  # a batch has one offset
    write_partition(folder, topic="orders", segments=segments)
    return folder / "orders-0"


def _logs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.log")}


@pytest.fixture
def summarized(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all stretches that were summarized."""
    if kernel.native is None:
        pytest.skip("stretches are summarized by the C kernel")
    sizes: list[int] = []
    summarize = read_ahead.summarize_stretch

    def counted(source: Source, position: int, *rest: Any) -> Any:
        found = summarize(source, position, *rest)
        sizes.append(0 if found[0] is None else found[0].end - position)
        return found

    monkeypatch.setattr(read_ahead, "summarize_stretch", counted)
    return sizes


@pytest.mark.parametrize("command", MAKES)
def test_sound_logs_are_read_once(command: str, tmp_path: Path, summarized: list[int]) -> None:
    batches = [_batch(offset) for offset in range(200)]
    kdump.reindex(
        _partition(tmp_path, batches[:120], batches[120:]), tmp_path / "new"
    )  # time indexes say when the last record came
    summarized.clear()
    path = (tmp_path / "new").rename(tmp_path / "orders-1")
    MAKES[command](path, tmp_path / "out")
    assert _logs(tmp_path / "out") == _logs(path)
    assert sum(summarized) == sum(map(len, _logs(path).values()))


@pytest.mark.parametrize("command", MAKES)
def test_batches_too_large_for_stretches_are_copied_to_their_place(command: str, tmp_path: Path) -> None:
    path = _partition(tmp_path, [*map(_batch, range(3)), _batch(3, 2 << 20), *map(_batch, range(4, 120)), _batch(120, 3 << 20)])
    MAKES[command](path, tmp_path / "out")
    assert _logs(tmp_path / "out") == _logs(path)


@pytest.mark.parametrize("command", MAKES)
def test_logs_may_share_their_blocks(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shares(file: NewFile, source: Source) -> bool:
        file.copy(source, 0, source.size)
        return True

    monkeypatch.setattr(NewFile, "shares", shares)
    monkeypatch.setattr(NewFile, "complete", None)  # nothing is copied
    path = _partition(tmp_path, [_batch(offset) for offset in range(120)])
    MAKES[command](path, tmp_path / "out")
    assert _logs(tmp_path / "out") == _logs(path)


def test_damage_after_much_that_is_sound_is_left_out(tmp_path: Path) -> None:
    batches = [_batch(offset) for offset in range(160)]
    broken = bytearray(batches[150])
    broken[-1] ^= 1
    path = _partition(tmp_path, [*batches[:150], bytes(broken), *batches[151:]])
    rows = kdump.recover(path, tmp_path / "out")
    assert _logs(tmp_path / "out") == {f"{FIRST}.log": b"".join([*batches[:150], *batches[151:]])}
    assert [row.code for row in rows if isinstance(row, Dropped)] == ["crc-mismatch"]
    assert [row.batches for row in rows if isinstance(row, Recovered)] == [159]


def test_both_ways_to_recover_report_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _partition(tmp_path, [_batch(offset) for offset in range(30)], [_batch(offset) for offset in range(30, 50)])
    at_once = kdump.recover(path, tmp_path / "out")
    monkeypatch.setattr(PartitionRecovery, "_write_sound", lambda _: False)
    step_by_step = kdump.recover(path, tmp_path / "again")
    assert {str(row) for row in at_once} == {str(row) for row in step_by_step}
    for file in (tmp_path / "again").iterdir():
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    if kernel.native is None:
        pytest.skip("only the C kernel copies")
    path = _partition(tmp_path, [_batch(offset) for offset in range(120)]) / f"{FIRST}.log"
    with LiveSource(str(path)) as source, open(path, "rb") as read_only:
        source.copies_to = read_only.fileno()
        with pytest.raises(OSError, match=os.strerror(9)):
            list(salvage.walk(source, threads=2))
