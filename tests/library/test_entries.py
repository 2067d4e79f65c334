"""Indexes, snapshots and checkpoints in the library: their entries, up to damage and past it."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import kdump
from tests.builders.files import (
    aborted_transaction,
    checkpoint,
    offset_index,
    producer_entry,
    producer_snapshot,
    time_index,
    transaction_index,
)
from tests.loops import each

BASE = "00000000000000000100"


def _file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def _damage_of(rows: Iterable[object], path: Path) -> tuple[str, int | None, list[object]]:
    """The code and the position of the damage that ends these rows, and the rows before it."""
    before: list[object] = []
    with pytest.raises(kdump.CorruptData) as caught:
        before.extend(rows)
    assert caught.value.path == os.fspath(path)
    return caught.value.code, caught.value.position, before


def test_an_offset_index_has_absolute_offsets_and_no_zeros_at_its_end(tmp_path: Path) -> None:
    data = offset_index(entries=[(105, 0), (140, 4096)], base_offset=100, zero_entry_count=70_000)
    with kdump.open(_file(tmp_path, f"{BASE}.index", data), "index") as index:
        assert list(index) == [kdump.OffsetIndexEntry(105, 0), kdump.OffsetIndexEntry(140, 4096)]
        assert (len(index), index.base_offset, index.size) == (2, 100, 70_002 * 8)
        assert [list(table["position"]) for table in index.tables()] == [[0, 4096]]
    empty = kdump.open(_file(tmp_path, f"{BASE}.index", b""), "index")
    assert (len(empty), bool(empty), list(empty)) == (0, True, [])


def test_an_entry_of_an_unknown_version_is_damage(tmp_path: Path) -> None:
    entries = [aborted_transaction(producer_id=number, version=0 if number in (1, 4) else 3) for number in range(6)]
    path = _file(tmp_path, f"{BASE}.txnindex", transaction_index(entries=entries))
    index = kdump.open(path, "txnindex")
    code, position, before = _damage_of(index, path)
    assert (code, position, len(before)) == ("txnindex-version-unknown", 0, 0)
    items = [one.producer_id if isinstance(one, kdump.AbortedTransaction) else (one.start, one.end) for one in index.salvage()]
    assert items == [(0, 34), 1, (68, 102), (102, 136), 4, (170, 204)]


def test_damage_far_into_an_index_has_its_place(tmp_path: Path) -> None:
    """More entries than are read at once."""
    data = aborted_transaction() * 62_000 + aborted_transaction(version=1) + aborted_transaction()
    *_, damage, last = kdump.open(_file(tmp_path, f"{BASE}.txnindex", data), "txnindex").salvage()
    assert isinstance(damage, kdump.Damage) and isinstance(last, kdump.AbortedTransaction)
    assert (damage.start, damage.end) == (62_000 * 34, 62_001 * 34)


@each(
    ("name", "data", "whole", "code"),
    [
        (f"{BASE}.index", offset_index(entries=[(105, 0)], base_offset=100, trailing=b"\1\2"), 8, "index-size-misaligned"),
        (f"{BASE}.index", offset_index(base_offset=100, zero_entry_count=2, trailing=b"\0"), 16, "index-size-misaligned"),
        (f"{BASE}.timeindex", time_index(entries=[(9, 105)], trailing=b"\1" * 11), 12, "timeindex-size-misaligned"),
        (f"{BASE}.txnindex", transaction_index(entries=[aborted_transaction()], trailing=b"\0"), 34, "txnindex-size-misaligned"),
    ],
)
def test_an_entry_that_is_cut_off_is_damage(tmp_path: Path, name: str, data: bytes, whole: int, code: str) -> None:
    path = _file(tmp_path, name, data)
    assert _damage_of(kdump.open(path), path)[:2] == (code, whole)
    damage = list(kdump.open(path).salvage())[-1]
    assert isinstance(damage, kdump.Damage)
    assert (damage.code, damage.start, damage.end, damage.status) == (code, whole, len(data), "damaged")


@each(
    ("damaged", "code"),
    [
        (lambda data: data[:20] + b"\xff" + data[21:], "snapshot-crc-mismatch"),
        (lambda data: data[:-1], "snapshot-entry-truncated"),
        (lambda data: b"\0\7" + data[2:], "snapshot-version-unknown"),
        (lambda data: b"", "snapshot-truncated"),
    ],
)
def test_a_damaged_producer_snapshot_has_no_rows(tmp_path: Path, damaged: Callable[[bytes], bytes], code: str) -> None:
    data = damaged(producer_snapshot(entries=[producer_entry(), producer_entry(producer_id=2)]))
    path = _file(tmp_path, f"{BASE}.snapshot", data)
    assert _damage_of(kdump.open(path), path) == (code, 0, [])
    (damage,) = kdump.open(path, "snapshot").salvage()
    assert isinstance(damage, kdump.Damage)
    assert (damage.code, damage.start, damage.end) == (code, 0, len(data))


@each("kind", ["recovery-point", "replication", "log-start", "cleaner"])
def test_offsets_of_partitions_are_rows(tmp_path: Path, kind: str) -> None:
    name = f"{kind}-offset-checkpoint"
    path = _file(tmp_path, name, checkpoint(entries=[("orders", 3, 1200)] + [("many", n, n) for n in range(2500)]))
    with kdump.open(path, "offset-checkpoint") as offsets:
        rows = list(offsets)
        assert rows[0] == kdump.CheckpointOffset("orders", 3, 1200)
        assert [len(table) for table in offsets.tables()] == [1000, 1000, 501]
        assert len(rows) == 2501


def test_a_line_that_is_not_an_entry_is_damage_and_the_next_one_is_not(tmp_path: Path) -> None:
    path = _file(tmp_path, "leader-epoch-checkpoint", b"0\n3\n0 0\nnonsense\n3 120\n")
    assert _damage_of(kdump.open(path), path)[:2] == ("checkpoint-line-malformed", 8)
    epochs = kdump.open(path, "leader-epoch-checkpoint").salvage()
    assert [one if isinstance(one, kdump.LeaderEpoch) else (one.start, one.end, one.code) for one in epochs] == [
        *(kdump.LeaderEpoch(0, 0), (8, 17, "checkpoint-line-malformed"), kdump.LeaderEpoch(3, 120))
    ]


def test_text_that_is_not_a_checkpoint_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = _file(tmp_path, "copy", b"0\n9\n" + b"nonsense\n" * 5000)
    *_, last = kdump.open(path, "leader-epoch-checkpoint").salvage()
    assert isinstance(last, kdump.Damage)
    assert (last.code, last.status, last.end) == ("file-not-recognized", "not_examined", path.stat().st_size)
