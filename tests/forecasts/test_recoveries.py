"""Recoveries that the starts of a partition share: each is done once, and every start is as if it did all of its own."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdump.forecasts import forecast as forecasts
from kdump.forecasts import leader_epochs, recoveries, recovery
from kdump.forecasts.forecast import forecast
from tests.builders.hostile import HOSTILE
from tests.builders.records import batch, message, message_set, record, transaction_marker

ABORTED = next(one for one in HOSTILE if one.name == "aborted transactions")
PARTITIONS = 40


@pytest.fixture
def recovered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the logs that were recovered, one for each time."""
    names: list[str] = []
    recover = recovery.recover

    def counted(segment: Any, *others: Any) -> recovery.Cut:
        names.append(segment.name)
        return recover(segment, *others)

    monkeypatch.setattr(recovery, "recover", counted)
    return names


def _log(folder: Path, base: int, data: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(data)


def test_a_log_without_index_is_recovered_once_for_all_starts(recovered: list[str], tmp_path: Path) -> None:
    _log(tmp_path / "t-0", 0, ABORTED.build(20)[".log"])
    assert len(list(forecast(tmp_path / "t-0"))) == 3
    assert recovered == [f"{0:020}.log"]


def test_a_log_is_recovered_again_after_it_was_cut(recovered: list[str], tmp_path: Path) -> None:
    _log(tmp_path / "t-0", 0, ABORTED.build(20)[".log"][:-1])
    rows = list(forecast(tmp_path / "t-0"))
    assert [row.bytes_lost > 0 for row in rows] == [True] * 3
    assert len(recovered) == 2  # of the whole log, and of what is left


@pytest.mark.parametrize("text", ["0\n2\n0 0\n1 5\n", "0\n2\n0 0\n"])
def test_leader_epochs_are_read_once_for_all_starts(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _log(tmp_path / "t-0", 0, ABORTED.build(20)[".log"])
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_text(text)
    sizes, stretches = [], leader_epochs._stretches

    def counted(directory: Any, file: Any) -> Iterator[list[str]]:
        sizes.append(file.size)
        return stretches(directory, file)

    monkeypatch.setattr(leader_epochs, "_stretches", counted)
    rows = list(forecast(tmp_path / "t-0"))
    assert len({row.reason for row in rows}) == 1 and len(rows) == 3
    assert sizes == [len(text)]


def test_no_more_is_kept_than_there_is_room_for(recovered: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = b"".join(batch(records=[record(value=bytes(5000))], base_offset=offset) for offset in range(3))
    _log(tmp_path / "t-0", 0, data)
    shared = list(forecast(tmp_path / "t-0"))
    assert len(recovered) == 1
    monkeypatch.setattr(forecasts, "Recoveries", lambda: recoveries.Recoveries(1))
    assert list(forecast(tmp_path / "t-0")) == shared
    assert len(recovered) == 1 + 5


def _random_batch(chance: random.Random, offset: int) -> bytes:
    kind, producer = chance.random(), chance.randrange(3)
    epoch = chance.choice((0, 0, 0, 0, 1, 2, -1))
    if kind < 0.5:
        return batch(
            records=[record(key=bytes(chance.randrange(300)))],
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
            base_offset=offset,
            partition_leader_epoch=epoch,
        )
    if kind < 0.8:
        return transaction_marker(is_commit=chance.random() < 0.3, base_offset=offset, producer_id=producer)
    if kind < 0.97:
        return batch(records=[record(key=b"k")], base_offset=offset, partition_leader_epoch=epoch)
    return message_set(messages=[message(value=b"v", magic=1)], base_offset=offset)


def _random_partition(chance: random.Random, folder: Path) -> None:
    """Segments with transactions that go on from one to the next, of some of which bytes are damaged or an index is there."""
    offset = 0
    for _ in range(chance.randrange(1, 4)):
        base, parts = offset, []
        for _ in range(chance.randrange(1, 30)):
            parts.append(_random_batch(chance, offset))
            offset += chance.choice((1,) * 18 + (0, 5))
        data = bytearray(b"".join(parts))
        if chance.random() < 0.3:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        _log(folder, base, bytes(data))
        if chance.random() < 0.2:
            (folder / f"{base:020}.index").touch()


@pytest.mark.parametrize("release", ["2.8.2", "3.9.1", "4.3.1"])
def test_starts_are_the_same_as_if_each_recovered_all_by_itself(
    release: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chance, kept = random.Random(28), recoveries._Recovered.is_after
    for number in range(PARTITIONS):
        folder = tmp_path / str(number) / "t-0"
        os.makedirs(folder)
        _random_partition(chance, folder)
        config = {"index.interval.bytes": chance.choice((0, 500, 4096))}
        shared = list(forecast(folder, broker=release, config=config))
        monkeypatch.setattr(recoveries._Recovered, "is_after", lambda *_: False)
        assert list(forecast(folder, broker=release, config=config)) == shared
        monkeypatch.setattr(recoveries._Recovered, "is_after", kept)
