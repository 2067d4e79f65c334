"""What growing logs have gained: each batch once, wherever a step ends, and never silently less."""

import errno
import json
import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kdump.errors import KdumpError, Unreadable, UsageError
from tests.builders.files import file_name
from tests.builders.records import batch, record

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from collections.abc import Callable

from kdump.pipeline import discovery, growth, reading
from kdump.pipeline.growth import End
from kdump.pipeline.options import Options
from tests.loops import each
from tests.support import Patch


class Reader:
    """A reader of a stream: its ends go through JSON, as Spark keeps them."""

    def __init__(self, path: Path, table: str = "records", **given: str) -> None:
        self.given = {"path": str(path), "table": table, "columns": "topic,offset" if table == "records" else "baseOffset"}
        self.given |= {"isolated": "false", **given}
        self.ends: dict[str, Any] = {}
        self.known: growth.Ends = {}

    def step(self) -> list[Any]:
        start = self.ends
        self.known = growth.ends(Options(self.given), self.known)
        self.ends = json.loads(json.dumps({name: list(end) for name, end in self.known.items()}))
        return self.between(start, self.ends)

    def between(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
        found: list[Any] = []
        for step in growth.steps(Options(self.given), _ends(start), _ends(end)):
            found += [row for rows in growth.read(step, self.given) for row in rows.to_pylist()]
        return found


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
    path.with_suffix(".timeindex").touch()
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
    reader.known = {}  # as after a restart
    assert _offsets(reader.step()) == [4, 5, 6, 7]
    (tmp_path / "b-0" / "copy.log").write_bytes(_one(20))
    _append(tmp_path / "b-0", 9, _one(9))
    assert [(row["topic"], row["offset"]) for row in reader.step()] == [("b", 9), ("b", 10)]
    assert [_offsets(Reader(tmp_path, topics=topic).step()) for topic in "abc"] == [[*range(8)], [9, 10], []]


def test_other_tables_than_batches_and_records_are_refused(tmp_path: Path) -> None:
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


@each("odd", [_one(3)[:-4] + bytes(4), _one(0)], ids=["blocks missing", "offsets again"])
def test_a_batch_of_which_blocks_are_missing_at_the_end_or_that_goes_back_is_not_delivered(tmp_path: Path, odd: bytes) -> None:
    reader = Reader(tmp_path)
    path = _append(tmp_path / "a-0", 0, _one(0), _one(2, count=1), odd)
    assert _offsets(reader.step()) == [0, 1, 2]
    os.truncate(path, len(_one(0) + _one(2, count=1)))  # as a broker at its next start
    _append(tmp_path / "a-0", 0, _one(3, count=3, value=b"other"))
    assert _offsets(reader.step()) == [3, 4, 5]


def _compact(folder: Path, kept: bytes, *gone: int) -> None:
    """Write a segment again as the cleaner does, in place of those that are gone."""
    path = folder / file_name(gone[0], ".log")
    swap = path.with_name(f"{path.name}.swap")
    swap.write_bytes(kept)
    for base_offset in gone:
        (folder / file_name(base_offset, ".log")).rename(folder / file_name(base_offset, ".log.deleted"))
    swap.rename(path)


@each("isolated", ["true", "false"])
@each("table", growth.TABLES)
def test_segments_compacted_after_a_step_was_planned_are_read_by_offset(tmp_path: Path, table: str, isolated: str) -> None:
    reader = Reader(tmp_path, table, isolated=isolated, parallelism="1")
    folder = tmp_path / "a-0"
    _append(folder, 0, _one(0), _one(2))
    reader.step()
    start = reader.ends
    _append(folder, 0, _one(4))
    _append(folder, 6, _one(6), _one(8))
    _append(folder, 10, _one(10), _one(12))
    _append(folder, 14, _one(14))
    ends = growth.ends(Options(reader.given), {})
    steps = growth.steps(Options(reader.given), _ends(start), ends)
    _append(folder, 14, _one(16))
    _append(folder, 18, _one(18))
    _compact(folder, _one(2) + _one(8) + _one(10), 0, 6, 10)
    (folder / file_name(10, ".log.deleted")).unlink()

    def found(**given: str) -> list[int]:
        rows = [row for step in steps for part in growth.read(step, {**reader.given, **given}) for row in part.to_pylist()]
        return [row.get("offset", row.get("baseOffset")) for row in rows]

    is_records = table == "records"
    assert found() == ([8, 9, 10, 11, 14, 15] if is_records else [8, 10, 14])
    assert found(fromOffset="9") == ([9, 10, 11, 14, 15] if is_records else [8, 10, 14])
    assert found(toOffset="9") == ([8, 9] if is_records else [8])
    reader.ends = {name: list(end) for name, end in ends.items()}
    later = [row.get("offset", row.get("baseOffset")) for row in reader.step()]
    assert later == ([16, 17, 18, 19] if is_records else [16, 18])


@pytest.mark.parametrize("times", [0, 19, 20])
def test_a_segment_that_is_replaced_whenever_it_is_opened_ends_a_query(tmp_path: Path, monkeypatch: Patch, times: int) -> None:
    reader = Reader(tmp_path)
    path = _append(tmp_path / "a-0", 0, _one(0), _one(2))
    (step,) = growth.steps(Options(reader.given), {}, growth.ends(Options(reader.given), {}))
    _compact(tmp_path / "a-0", _one(0), 0)
    read, replaced = reading.read, 0

    def replacing(*given: Any) -> Any:
        nonlocal replaced
        if replaced <= times:
            replaced += 1
            path.unlink()
            _append(tmp_path / "a-0", 0, _one(0))
            (tmp_path / f"kept-{replaced}").hardlink_to(path)  # or its inode might come again
        return read(*given)

    monkeypatch.setattr(reading, "read", replacing)
    if times < 20:
        assert _offsets([row for rows in growth.read(step, reader.given) for row in rows.to_pylist()]) == [0, 1]
        return
    with pytest.raises(KdumpError, match="the segment with offset 0 was another file each of the 20 times") as caught:
        list(growth.read(step, reader.given))
    assert caught.value.path == str(path)
    assert replaced == 21


@each("renamed", [(), (0,), (0, 6), (0, 6, 8)], ids=str)
def test_a_segment_that_is_being_replaced_is_there_once(tmp_path: Path, renamed: tuple[int, ...]) -> None:
    reader = Reader(tmp_path)
    folder = tmp_path / "a-0"
    _append(folder, 0, _one(0), _one(2))
    _append(folder, 6, _one(6))
    _append(folder, 8, _one(8, count=1))  # the last offset that is in the new segment
    _append(folder, 10, _one(10))
    (folder / file_name(0, ".log.swap")).write_bytes(_one(2) + _one(8, count=1))
    for base_offset in renamed:
        (folder / file_name(base_offset, ".log")).rename(folder / file_name(base_offset, ".log.deleted"))
    assert _offsets(reader.step()) == [2, 3, 8, 10, 11]
    (folder / file_name(0, ".log.swap")).rename(folder / file_name(0, ".log"))
    _append(folder, 10, _one(12))
    assert _offsets(reader.step()) == [12, 13]


def test_segments_that_are_deleted_after_a_step_was_planned_end_it(tmp_path: Path) -> None:
    readers = [Reader(tmp_path), Reader(tmp_path, failOnDataLoss="false")]
    paths = _append(tmp_path / "a-0", 0, _one(0), _one(2)), _append(tmp_path / "a-0", 4, _one(4))
    _append(tmp_path / "a-0", 6, _one(6))
    planned = [growth.steps(Options(reader.given), {}, growth.ends(Options(reader.given), {})) for reader in readers]
    for path in paths:
        path.rename(f"{path}.deleted")
    with pytest.raises(KdumpError, match="offsets 0 to 3 were deleted before they were read"):
        list(growth.read(planned[0][0], readers[0].given))
    rows = [row for batch in growth.read(planned[1][0], readers[1].given) for row in batch.to_pylist()]
    assert _offsets(rows) == [6, 7]


def _write_again(path: Path) -> None:
    os.truncate(path, len(_one(0)))
    _append(path.parent, 0, _one(2, value=b"other"), _one(4), _one(6))


def _delete_all(path: Path) -> None:
    path.unlink()
    path.with_suffix(".timeindex").unlink()
    path.parent.rmdir()
    _append(path.parent.parent / "b-0", 0)


def _go_on_at(offset: int, *, is_deleted: bool) -> Callable[[Path], None]:
    """The log goes on in another segment, and perhaps the one that was read is gone."""

    def go_on(path: Path) -> None:
        if is_deleted:
            path.unlink()
        _append(path.parent, offset, _one(offset))

    return go_on


TRUNCATED = "it was truncated: it ends before offset 2, and was read up to 3"
WRITTEN_AGAIN = "it was truncated, and written again: the batch before offset 4 is another one"


@each(
    "what, loss, words, then",
    [
        ("truncated", lambda path: os.truncate(path, len(_one(0))), TRUNCATED, []),
        ("written again", _write_again, WRITTEN_AGAIN, [4, 5, 6, 7]),
        ("deleted", _go_on_at(8, is_deleted=True), "offsets 4 to 7 were deleted before they were read", [8, 9]),
        ("one more deleted", _go_on_at(5, is_deleted=True), "offsets 4 to 4 were deleted before they were read", [5, 6]),
        ("rolled", _go_on_at(4, is_deleted=False), "", [4, 5]),
        ("only what was read deleted", _go_on_at(4, is_deleted=True), "", [4, 5]),
        ("all deleted", _delete_all, "its segments are gone", []),
    ],
)
def test_records_that_are_gone_end_a_stream_unless_it_may_go_on(
    tmp_path: Path, what: str, loss: Callable[[Path], None], words: str, then: list[int]
) -> None:
    readers = [Reader(tmp_path), Reader(tmp_path, failOnDataLoss="false")]
    path = _append(tmp_path / "a-0", 0, _one(0), _one(2))
    for reader in readers:
        assert _offsets(reader.step()) == [0, 1, 2, 3]
    loss(path)
    if words:
        with pytest.raises(KdumpError, match=words) as caught:
            readers[0].step()
        assert caught.value.path == str(tmp_path / "a-0"), what
    for reader in readers[1 if words else 0 :]:
        assert _offsets(reader.step()) == then, what


@each("seed", range(8))
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
                    reader.known = {}
    found += [(row["topic"], row["offset"]) for row in reader.step()]
    assert sorted(found) == sorted((topic, offset) for topic, offsets in written.items() for offset in offsets)


def _fails(*_arguments: object, **_keywords: object) -> NoReturn:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@each("call", ["open", "pread", "scandir"])
def test_what_cannot_be_read_is_not_gone(tmp_path: Path, monkeypatch: Patch, call: str) -> None:
    """A stream that takes it for gone says that records were lost, or continues without them, and reads them twice later."""
    _append(tmp_path / "a-0", 0, _one(0))
    reader = Reader(tmp_path, failOnDataLoss="false")
    assert _offsets(reader.step()) == [0, 1]
    _append(tmp_path / "a-0", 0, _one(2))
    with monkeypatch.context() as failing:
        failing.setattr(os, call, _fails)
        with pytest.raises(Unreadable, match=r"(?i)input/output error"):
            growth.ends(Options(reader.given), {})
        if call != "scandir":
            assert growth.ends(Options({**reader.given, "unreadable": "skip"}), {}) == {}
    assert _offsets(reader.step()) == [2, 3]


def test_a_directory_that_cannot_be_listed_once_is_not_gone(tmp_path: Path, monkeypatch: Patch) -> None:
    _append(tmp_path / "a-0", 0, _one(0))
    options = Options({"path": str(tmp_path), "table": "records"})
    (items,) = growth._partitions(discovery.files_of(options), options).values()
    monkeypatch.setattr(os, "scandir", _fails)
    with pytest.raises(Unreadable, match="the directory cannot be listed"):
        growth._settled(str(tmp_path / "a-0"), items, options)
    assert growth._settled(str(tmp_path / "none-0"), [], options) == []
