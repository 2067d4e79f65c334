"""What growing logs have gained: each batch once, wherever a step ends, and never silently less."""

import json
import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kdump.errors import KdumpError, UsageError
from tests.builders.files import file_name
from tests.builders.records import batch, record

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from kdump.pipeline import growth
from kdump.pipeline.growth import End
from kdump.pipeline.options import Options


class Reader:
    """A reader of a stream: its ends go through JSON, as Spark keeps them."""

    def __init__(self, path: Path, table: str = "records", **given: str) -> None:
        self.given = {"path": str(path), "table": table, "columns": "topic,offset" if table == "records" else "baseOffset"}
        self.given |= {"isolated": "false", **given}
        self.ends: dict[str, Any] = {}
        self.known: growth.Ends = {}

    def step(self) -> list[Any]:
        """The values that are new."""
        start = self.ends
        self.known = growth.ends(Options(self.given), self.known)
        self.ends = json.loads(json.dumps({name: list(end) for name, end in self.known.items()}))
        return self.between(start, self.ends)

    def between(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
        found: list[Any] = []
        for step in growth.steps(Options(self.given), _ends(start), _ends(end)):
            found += [row for rows in growth.read(step, self.given) for row in rows.to_pylist()]
        return found

    def restart(self) -> None:
        self.known = {}


def _ends(offsets: dict[str, Any]) -> growth.Ends:
    return {name: End(*numbers) for name, numbers in offsets.items()}


def _offsets(rows: Iterable[dict[str, Any]]) -> list[int]:
    return [row["offset"] for row in rows]


def _one(base_offset: int, count: int = 2, value: bytes = b"v") -> bytes:
    return batch(records=[record(key=b"k", value=value)] * count, base_offset=base_offset)


def _append(folder: Path, segment: int, *data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(segment, ".log")
    with path.open("ab") as file:
        file.write(b"".join(data))
    return path


def test_each_step_has_what_is_new_and_complete(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    _append(tmp_path / "a-0", 0, _one(0), _one(2)[:-3])
    assert _offsets(reader.step()) == [0, 1]
    assert reader.step() == []
    _append(tmp_path / "a-0", 0, _one(2)[-3:])
    assert _offsets(reader.step()) == [2, 3]
    _append(tmp_path / "a-0", 0, _one(4))
    _append(tmp_path / "a-0", 6, _one(6))
    _append(tmp_path / "b-0", 9)
    reader.restart()
    assert _offsets(reader.step()) == [4, 5, 6, 7]
    _append(tmp_path / "b-0", 9, _one(9))
    assert [(row["topic"], row["offset"]) for row in reader.step()] == [("b", 9), ("b", 10)]


def test_batches_grow_too_and_other_tables_are_refused(tmp_path: Path) -> None:
    reader = Reader(tmp_path, "batches")
    _append(tmp_path / "a-0", 0, _one(0), _one(2))
    assert [row["baseOffset"] for row in reader.step()] == [0, 2]
    _append(tmp_path / "a-0", 0, _one(4))
    assert [row["baseOffset"] for row in reader.step()] == [4]
    with pytest.raises(UsageError, match="a stream reads the table batches or records, not 'files'"):
        growth.ends(Options({"path": str(tmp_path), "table": "files"}), {})


def test_a_step_that_is_done_again_after_compaction_has_the_same_offsets(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    path = _append(tmp_path / "a-0", 0, _one(0), _one(2), _one(4))
    reader.step()
    start = reader.ends
    _append(tmp_path / "a-0", 0, _one(6), _one(8))
    assert _offsets(reader.step()) == [6, 7, 8, 9]
    _append(tmp_path / "a-0", 10, _one(10))
    (tmp_path / "new").write_bytes(_one(4) + _one(6) + _one(8))
    (tmp_path / "new").rename(path)
    assert _offsets(reader.between(start, reader.ends)) == [6, 7, 8, 9]
    assert _offsets(reader.step()) == [10, 11]


def test_the_end_of_a_damaged_segment_is_read_when_it_is_closed(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    _append(tmp_path / "a-0", 0, _one(0), b"\xff" * 50, _one(2))
    assert _offsets(reader.step()) == [0, 1]
    assert reader.step() == []
    _append(tmp_path / "a-0", 4, _one(4))
    assert _offsets(reader.step()) == [2, 3, 4, 5]


def _truncate(path: Path, size: int) -> None:
    os.truncate(path, size)


def _write_again(path: Path, size: int) -> None:
    os.truncate(path, size)
    with path.open("ab") as file:
        file.write(_one(2, value=b"other") + _one(4) + _one(6))


def _delete(path: Path, _size: int) -> None:
    path.unlink()
    _append(path.parent, 8, _one(8))


def _delete_all(path: Path, _size: int) -> None:
    path.unlink()
    path.parent.rmdir()
    _append(path.parent.parent / "b-0", 0)


@pytest.mark.parametrize(
    ("loss", "words", "then"),
    [
        (_truncate, "it was truncated: it ends before offset 2, and was read up to 3", []),
        (_write_again, "it was truncated, and written again: the batch before offset 4 is another one", [4, 5, 6, 7]),
        (_delete, "offsets 4 to 7 were deleted before they were read", [8, 9]),
        (_delete_all, "its segments are gone", []),
    ],
)
def test_records_that_are_gone_end_a_stream_unless_it_may_go_on(tmp_path: Path, loss: Any, words: str, then: list[int]) -> None:
    readers = [Reader(tmp_path), Reader(tmp_path, failOnDataLoss="false")]
    path = _append(tmp_path / "a-0", 0, _one(0), _one(2))
    for reader in readers:
        assert _offsets(reader.step()) == [0, 1, 2, 3]
    loss(path, len(_one(0)))
    with pytest.raises(KdumpError, match=words) as caught:
        readers[0].step()
    assert caught.value.path == str(tmp_path / "a-0")
    assert _offsets(readers[1].step()) == then


@pytest.mark.parametrize("seed", range(8))
def test_each_record_comes_once_whatever_happens_between_steps(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    reader = Reader(tmp_path, targetBytes="300")
    written: dict[str, list[int]] = {"a": [], "b": []}
    segments: dict[str, list[int]] = {"a": [0], "b": [0]}
    found: list[tuple[str, int]] = []
    for _ in range(60):
        topic = chance.choice("ab")
        folder, offset = tmp_path / f"{topic}-0", len(written[topic])
        match chance.randrange(6):
            case 0 | 1 | 2:
                count = chance.randrange(1, 4)
                _append(folder, segments[topic][-1], _one(offset, count))
                written[topic] += range(offset, offset + count)
            case 3:
                if offset > segments[topic][-1]:
                    segments[topic].append(offset)
                    _append(folder, offset)
            case 4:  # a cleaner writes a closed segment again
                if len(segments[topic]) > 1:
                    path = folder / file_name(chance.choice(segments[topic][:-1]), ".log")
                    (tmp_path / "cleaned").write_bytes(path.read_bytes())
                    (tmp_path / "cleaned").rename(path)
            case _:
                start = reader.ends
                rows = reader.step()
                assert sorted(map(repr, reader.between(start, reader.ends))) == sorted(map(repr, rows))
                found += [(row["topic"], row["offset"]) for row in rows]
                if chance.random() < 0.3:
                    reader.restart()
    found += [(row["topic"], row["offset"]) for row in reader.step()]
    assert sorted(found) == sorted((topic, offset) for topic, offsets in written.items() for offset in offsets)
