"""A flipped bit in an offset is not taken for a gap of the cleaner: in that of the last batch, which no other file contradicts,
and where sequences or another file contradict it."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.mending.recover import recover
from kdump.mending.row import Rewritten
from tests.builders.files import checkpoint, offset_index, producer_entry, producer_snapshot, time_index
from tests.builders.records import TIMESTAMP, batch, message, message_set, record
from tests.loops import each

FIRST = "00000000000000000000"
MS_PER_OFFSET = 7


def _batch(offset: int, count: int = 3, *, wrong: int | None = None) -> bytes:
    """A batch of records that are written one every few milliseconds; `wrong` is the offset that it says instead of its own."""
    time = TIMESTAMP + offset * MS_PER_OFFSET
    records = [record(value=b"v", timestamp=time + MS_PER_OFFSET * row) for row in range(count)]
    return batch(base_offset=offset if wrong is None else wrong, records=records)


def _message(offset: int, *, wrong: int | None = None) -> bytes:
    one = message(value=b"v", magic=1, timestamp=TIMESTAMP + offset * MS_PER_OFFSET)
    return message_set(messages=[one], base_offset=offset if wrong is None else wrong)


def _partition(folder: Path, batches: Iterable[bytes]) -> Path:
    path = folder / "orders-0"
    path.mkdir(parents=True)
    (path / f"{FIRST}.log").write_bytes(b"".join(batches))
    return path


def _rot(path: Path) -> list[tuple[str | None, str | None]]:
    """The right and the wrong offsets of which a check is sure."""
    return [(row.expected, row.found) for row in kdump.check(path) if row.code == "uncovered-header-rot"]


@pytest.mark.parametrize("bit", [16, 20, 30])
def test_the_offset_that_continues_the_log_is_assumed_and_said(bit: int, tmp_path: Path) -> None:
    sound = [_batch(offset) for offset in range(0, 90, 3)]
    path = _partition(tmp_path, [*sound, _batch(90, wrong=90 | 1 << bit)])
    assert _rot(path) == [("90", str(90 | 1 << bit))]
    result = recover.run([str(path)], str(tmp_path / "out"), config={})
    assert (tmp_path / "out" / f"{FIRST}.log").read_bytes() == b"".join([*sound, _batch(90)])
    assert [(row.offset_first, row.is_assumed) for row in result.rows if isinstance(row, Rewritten)] == [(90, True)]
    assert result.summary("out").exit_code == 1


def test_so_is_that_of_a_message_of_magic_1(tmp_path: Path) -> None:
    path = _partition(tmp_path, [*map(_message, range(40)), _message(40, wrong=40 | 1 << 17)])
    assert _rot(path) == [("40", str(40 | 1 << 17))]
    assert not recover.run([str(path)], str(tmp_path / "out"), config={}).is_whole
    assert (tmp_path / "out" / f"{FIRST}.log").read_bytes() == b"".join(map(_message, range(41)))


@pytest.mark.parametrize("witness", ["index", "checkpoint", "replica"])
def test_what_another_file_knows_of_is_not_assumed(witness: str, tmp_path: Path) -> None:
    path = _partition(tmp_path, [*(_batch(offset) for offset in range(0, 90, 3)), _batch(90, wrong=90 | 1 << 20)])
    replica = _partition(tmp_path / "other", [(path / f"{FIRST}.log").read_bytes()])
    if witness == "index":
        position = 30 * len(_batch(0))
        (path / f"{FIRST}.index").write_bytes(offset_index(entries=[(92 | 1 << 20, position)]))
    elif witness == "checkpoint":
        (tmp_path / "replication-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 0, 1048000)]))
    result = recover.run([str(path)], str(tmp_path / "out"), merge=[str(replica)] if witness == "replica" else (), config={})
    assert (tmp_path / "out" / f"{FIRST}.log").read_bytes() == (path / f"{FIRST}.log").read_bytes()
    assert witness == "replica" or _rot(path) == [] and result.is_whole


@pytest.mark.parametrize("gap", [3, 1 << 8, 65535, 1 << 16, 65537, 1 << 18, 1 << 20])
def test_sound_logs_with_gaps_of_the_cleaner_are_not_accused(gap: int, tmp_path: Path) -> None:
    """The records that the cleaner removed had their times, too; and where it removed many, it removed others."""
    steady = [*(_batch(offset) for offset in range(0, 90, 3)), _batch(90 + gap)]
    chance, offset, thinned = random.Random(gap), 0, []
    for _ in range(40):
        thinned.append(_batch(offset, wrong=offset))
        offset += 3 + int(gap ** chance.random())
    thinned.append(_batch(30, wrong=offset + gap))  # times say nothing here
    for name, batches in (("steady", steady), ("thinned", thinned)):
        path = _partition(tmp_path / name, batches)
        assert _rot(path) == []
        result = recover.run([str(path)], str(tmp_path / f"{name}-out"), config={})
        assert result.is_whole and (tmp_path / f"{name}-out" / f"{FIRST}.log").read_bytes() == b"".join(batches)


WITNESSES = ("sequences", "snapshot", "leader-epochs", "time-index")


@each("witness", WITNESSES)
@each("wrong", [None, 28])
def test_a_contradicted_offset_in_a_gap_is_reported_and_put_right(tmp_path: Path, wrong: int | None, witness: str) -> None:
    """Of a log with the offsets 0 to 2, 13 to 15, 20 to 22, 40 to 42 and 50 to 52."""
    batches: list[bytes] = []
    for row, offset in enumerate((0, 13, 20, 40, 50)):
        said = wrong if wrong is not None and offset == 20 else offset
        records = [record(value=b"v", timestamp=TIMESTAMP - 1 if offset > 20 else TIMESTAMP + offset) for _ in range(3)]
        fields: dict[str, dict[str, Any]] = {
            "sequences": {"producer_id": 7, "producer_epoch": 0, "base_sequence": offset},
            "snapshot": {"producer_id": row, "producer_epoch": 0, "base_sequence": 0},
            "leader-epochs": {"partition_leader_epoch": (0, 1, 1, 2, 2)[row]},
        }
        batches.append(batch(base_offset=said, records=records, **fields.get(witness, {})))
    path = _partition(tmp_path, batches)
    if witness == "snapshot":
        (path / f"{53:020}.snapshot").write_bytes(
            producer_snapshot(entries=[producer_entry(producer_id=2, last_sequence=2, last_offset=22)])
        )
    elif witness == "leader-epochs":
        (path / "leader-epoch-checkpoint").write_bytes(checkpoint(entries=[(0, 0), (1, 13), (2, 25)]))
    elif witness == "time-index":
        (path / f"{FIRST}.timeindex").write_bytes(time_index(entries=[(TIMESTAMP + 20, 22)]))
    result = recover.run([str(path)], str(tmp_path / "out"), config={})
    assert _rot(path) == ([] if wrong is None else [("20", "28")])
    assert result.is_whole == (wrong is None)
    data = (tmp_path / "out" / f"{FIRST}.log").read_bytes()
    assert [int.from_bytes(data[at : at + 8], "big") for at in range(0, len(data), len(batches[0]))] == [0, 13, 20, 40, 50]


@pytest.mark.parametrize("wrong", [{57: 121}, {12: 44, 57: 121}, {12: 44, 54: 118, 57: 185}])
def test_small_flips_at_the_end_are_assumed_where_another_offset_was_wrong(wrong: dict[int, int], tmp_path: Path) -> None:
    path = _partition(tmp_path, [_batch(row, wrong=wrong.get(row)) for row in range(0, 60, 3)])
    result = recover.run([str(path)], str(tmp_path / "out"), config={})
    (log,) = (tmp_path / "out").glob("*.log")
    last = _batch(57, wrong=57 if 12 in wrong else 121)
    assert log.read_bytes() == b"".join([*(_batch(row) for row in range(0, 57, 3)), last])
    assert result.is_whole == (12 not in wrong), "nothing contradicts a gap of 64 offsets where all others are right"
