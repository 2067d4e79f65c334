"""What a repeated scan takes over from the one before: only what shows in nothing that it has changed."""

import os
from pathlib import Path
from typing import Any

from kdump.pipeline import discovery, earlier_scan, planning, scan_files
from kdump.pipeline.planning import FileSlice
from tests.builders.files import file_name


def test_a_file_is_as_it_was_if_its_ends_its_size_its_time_and_its_number_are(tmp_path: Path) -> None:
    path, tick = tmp_path / "a-0" / file_name(0, ".log"), earlier_scan._TICK_NS
    path.parent.mkdir()
    sound, modified = bytes(10_000), 10**18
    path.write_bytes(sound)

    def mark(began_ns: int = modified + tick) -> str:
        (item,) = discovery.discover(str(path))
        return earlier_scan._mark(item, began_ns)

    os.utime(path, ns=(0, modified))
    first = mark()
    assert first and mark(modified + tick + 1) == first and mark(modified + tick - 1) == "", "it may change again in this tick"
    for place in (0, 4095, 10_000 - 4096, 9_999):
        path.write_bytes(sound[:place] + b"x" + sound[place + 1 :])
        os.utime(path, ns=(0, modified))
        assert mark() not in (first, ""), place
    for data, time_ns in ((sound + b"x", modified), (sound, modified - 1)):
        path.write_bytes(data)
        os.utime(path, ns=(0, time_ns))
        assert mark() not in (first, "")
    os.utime(path, ns=(0, modified))
    assert mark() == first
    (tmp_path / "copy").write_bytes(sound)
    (tmp_path / "copy").rename(path)
    os.utime(path, ns=(0, modified))
    assert mark() not in (first, "")
    (item,) = discovery.discover(str(path))
    path.write_bytes(sound + b"x")
    os.utime(path, ns=(0, modified))
    assert earlier_scan._mark(item, modified + tick) == "", "it is not as it was listed"


def test_what_may_grow_is_read_apart_and_holes_of_a_file_weigh_nothing() -> None:
    names = ["a-0/" + file_name(base, ".log") for base in (0, 20, 10)] + ["b-0/" + file_name(5, ".log")]
    items = [discovery.FileItem(name, None, None, None, int(name[4:24]), "log", 1 << 30, 4096) for name in names]
    assert planning._growing([FileSlice(item) for item in items]) == {names[1], names[3]}
    assert [FileSlice(item, start).weight for item, start in zip(items, (0, 96, 4097, 0), strict=True)] == [4096, 4000, 0, 4096]


def test_only_what_is_whole_and_beyond_doubt_is_kept(tmp_path: Path) -> None:
    files, partitions = {"a": "1", "b": "2", "c": "3"}, {"p": "4", "q": "5"}
    part = tmp_path / "batches" / "part-00000.parquet"
    part.parent.mkdir()

    def kept(**given: Any) -> tuple[set[str], set[str]]:
        part.write_bytes(b"rows")
        os.utime(part, ns=(0, 7))
        parts = [{"table": "batches", "file": part.name, "size": 4, "mtimeNs": 7, "sources": ["c"]} | given.pop("part", {})]
        values = {"beganNs": 0, "request": {}, "files": files, "partitions": partitions, "incomplete": [], "doubtful": []}
        found = earlier_scan.Found(given.pop("now", files), partitions, 0)
        found_kept = earlier_scan.EarlierScan(str(tmp_path), {**values, "parts": parts, **given}).kept(found)
        return set(found_kept.files), set(found_kept.partitions)

    assert kept() == (set("abc"), set("pq"))
    assert kept(incomplete=["a"]) == (set("bc"), set("pq"))
    assert kept(doubtful=["b", "q"]) == (set("ac"), set("p"))
    assert kept(now={"a": "1", "b": "9"}) == (set("a"), set("pq"))
    for other in ({"size": 5}, {"mtimeNs": 8}, {"file": "none.parquet"}):
        assert kept(part=other) == (set("ab"), set("pq"))
    assert kept(part={"table": "findings", "sources": ["q"]}) == (set("abc"), set("p"))


def test_what_no_scan_wrote_is_foreign(tmp_path: Path) -> None:
    values = {"beganNs": 0, "request": {"tables": ["batches", "findings"]}, "files": {}, "partitions": {}, "incomplete": []}
    parts = [{"table": "batches", "file": "part-00000.parquet", "size": 1, "mtimeNs": 0, "sources": []}]
    of_others = ["batches/notes", "findings/part-00000.parquet", "notes", "records/part-00000.parquet"]
    own = [scan_files.MANIFEST, scan_files.SUMMARY, *(f"findings/{name}" for name in earlier_scan._FLEET_FILES)]
    for name in ("batches/part-00000.parquet", *of_others, *own):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    foreign = earlier_scan.EarlierScan(str(tmp_path), {**values, "doubtful": [], "parts": parts})._foreign()
    assert sorted(foreign) == [*of_others[:3], "records"]


def test_a_partition_is_as_it_was_if_all_that_its_log_directory_says_of_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a-0"
    path.mkdir()
    (path / "x").touch()
    lines = ["0", "2", "a 0 5", "b 0 7"]
    files = {"meta.properties": ["version=1", "node.id=1"], "recovery-point-offset-checkpoint": lines, "other": ["text"]}

    def mark(name: str = "other", text: list[str] | None = None) -> str:
        for each_name, each_text in (files | ({} if text is None else {name: text})).items():
            (tmp_path / each_name).write_text("\n".join(each_text))
        return earlier_scan._mark_of_partition(str(path), earlier_scan._LogDirectory(str(tmp_path)), {str(path / "x"): "1"})

    first = mark()
    for name, text, is_same in (
        ("meta.properties", ["version=1", "node.id=2"], False),
        ("other", ["tent"], False),
        ("recovery-point-offset-checkpoint", [*lines[:2], "a 0 6", "b 0 7"], False),
        ("recovery-point-offset-checkpoint", [*lines[:3], "b 0 8"], True),
        ("recovery-point-offset-checkpoint", ["0", "3", *lines[2:], "c 1 1"], True),
        ("recovery-point-offset-checkpoint", ["0", "3", *lines[2:]], False),
        ("recovery-point-offset-checkpoint", ["1", *lines[1:]], False),
        *(("recovery-point-offset-checkpoint", [*lines[:3], bad], False) for bad in ("b 0 x", f"b 0 {1 << 63}", "b 0", "b x 7")),
    ):
        assert (mark(name, text) == first) == is_same, (name, text)
    (tmp_path / "new").touch()
    assert mark() != first
