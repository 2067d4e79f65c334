"""What stands in directories, and what a broker's own files say of its partitions."""

from pathlib import Path

import pytest

from kdump.binary import system
from kdump.checks.jobs import Job, jobs
from kdump.errors import UsageError
from kdump.formats import tree
from tests.builders.files import checkpoint, file_name, write_partition
from tests.builders.records import batch, record
from tests.checks.findings import findings_of
from tests.loops import each


def _partition(folder: Path) -> Path:
    return write_partition(folder, segments={0: [batch(records=[record(value=b"value")])]})


@each(
    ("name", "expected"),
    [
        ("orders-3", ("orders", 3, "")),
        ("a-b-12", ("a-b", 12, "")),
        ("orders-3.0123456789abcdef0123456789abcdef-delete", ("orders", 3, "delete")),
        ("orders.eu-3.0123456789abcdef0123456789abcdef-future", ("orders.eu", 3, "future")),
        *(("orders-3-delete", None), ("orders-3.-stray", None), ("orders", None), ("-3", None), ("orders-", None)),
        *((name, None) for name in ("orders-3.a b-delete", "or ders-3.ab-stray", "orders-3.ab-gone", "orders-2147483648")),
        *(("orders-2147483647", ("orders", 2147483647, "")), ("a-b-3.ab-stray", ("a-b", 3, "stray")), ("/d/a-0/", ("a", 0, ""))),
        *(("lost+found", None), ("orders-٣", ("orders", 3, "")), ("orders-𝟑", None)),  # Java: a digit of 16 bits, and not
    ],
)
def test_names_of_directories_are_read_as_a_broker_does(name: str, expected: tuple[str, int, str] | None) -> None:
    found = tree.directory_name(name)
    assert (None if found is None else (found.topic, found.partition, found.state)) == expected


def test_a_copy_of_the_metadata_log_is_known_by_its_quorum_state(tmp_path: Path) -> None:
    assert not tree.is_metadata_log(str(tmp_path))
    (tmp_path / "quorum-state").touch()
    paths = (tmp_path, tmp_path / "__cluster_metadata-0", tmp_path / "__cluster_metadata-0.damaged")
    assert all(map(tree.is_metadata_log, map(str, paths)))


def test_the_name_of_twenty_digits_is_the_segments(tmp_path: Path) -> None:
    for name in ("+0000000000000000005.log", "5.log", file_name(5, ".log"), "-5.index", "x.log"):
        (tmp_path / name).touch()
    files = tree.PartitionFiles(str(tmp_path))
    assert files.segments == {5: {".log": "00000000000000000005.log"}}
    assert files.others == ["+0000000000000000005.log", "-5.index", "5.log", "x.log"]


def test_log_directories_are_found_below_a_folder_of_many(tmp_path: Path) -> None:
    first = _partition(tmp_path / "broker-1" / "data")
    second = _partition(tmp_path / "broker-2")
    (tmp_path / "broker-2" / "server.log").write_bytes(b"INFO started\n")
    (tmp_path / "server.log").write_bytes(b"INFO started\n")
    (tmp_path / "linked").symlink_to(tmp_path / "broker-1")
    found = [(job.kind, job.path) for job in jobs(str(tmp_path))]
    assert found == [
        *((Job.LOG_DIR, str(tmp_path / "broker-1" / "data")), (Job.PARTITION, str(first))),
        *((Job.LOG_DIR, str(tmp_path / "broker-2")), (Job.PARTITION, str(second))),
    ]


def test_a_partition_alone_is_compared_with_the_checkpoints_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = _partition(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_bytes(checkpoint(entries=[("topic", 0, 5)]))
    assert [finding.code for finding in findings_of(partition)] == ["log-start-beyond-end"]
    monkeypatch.chdir(tmp_path)
    assert [finding.path for finding in findings_of(Path("topic-0"))] == [str(tmp_path / "log-start-offset-checkpoint")]


def test_segments_overlap_at_the_last_offset_that_a_segment_may_have(tmp_path: Path) -> None:
    last = 0x7FFFFFFF
    batches = [batch(records=[record(value=b"value")], base_offset=offset) for offset in (0, last)]
    found = findings_of(write_partition(tmp_path, segments={0: batches, last: batches[1:]}))
    assert [(row.code, row.severity, row.offset_first, row.offset_last) for row in found] == [
        ("offset-gap", "info", 1, last - 1),
        ("segments-overlap", "error", last, last),
    ]


def _of_segments(folder: Path, segments: dict[int, list[bytes]]) -> list[tuple[str, int | None]]:
    directory = write_partition(folder, segments=segments)
    return [(row.code, row.offset_first) for row in findings_of(directory) if row.code.startswith("segments-")]


def test_offsets_that_a_torn_batch_may_have_had_are_no_gap_between_segments(tmp_path: Path) -> None:
    first, torn, last = (batch(records=[record(value=b"v" * 50)], base_offset=base) for base in (0, 1, 9))
    assert _of_segments(tmp_path / "torn", {0: [first, torn[:-3]], 9: [last]}) == []
    assert _of_segments(tmp_path / "sound", {0: [first, torn], 9: [last]}) == [("segments-gap", 2)]


def _fill(folder: Path, files: dict[str, bytes | None]) -> str:
    """Files of these bytes, and directories (None) in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).mkdir() if data is None else (folder / name).write_bytes(data)
    return str(folder)


_LOG, _NO_TEXT, _CUT = file_name(5, ".log"), b"\xff\xfe\0\1", ("a" * 511 + "é").encode()
_OF_MACOS = b"\0\5\x16\7" + bytes(90)


@each(
    ("folder", "files", "expected"),
    [
        *(("orders-3", {}, True), ("data", {}, False), ("orders", {"notes.txt": b"x"}, False)),
        *(("data", {name: b""}, True) for name in (_LOG, "5.index", "partition.metadata", "leader-epoch-checkpoint")),
        *(("orders-3", {name: b"", _LOG: b""}, False) for name in tree.LOG_DIR_FILES),
        *((folder, {"any.log": b"INFO\n", "x.log": _CUT}, is_it) for folder, is_it in (("data", False), ("orders-3", True))),
        *(("data", {"any.log": data}, is_it) for data, is_it in ((_OF_MACOS, False), (_NO_TEXT, True), (b"", True))),
        *(("data", {name: _NO_TEXT}, is_it) for name, is_it in (("server.log", False), ("a.log", True), ("a.txt", False))),
        *(("data", {"a.log": b"INFO\n", "b.log": data}, is_it) for data, is_it in ((b"x", False), (_NO_TEXT, True))),
        *((folder, {"a.log": _NO_TEXT, "below": None}, False) for folder in ("data", "orders-3")),
        ("data", {f"{letter}.log": b"text" for letter in "abcdefghijklmnop"} | {"q.log": _NO_TEXT}, False),  # not among the first
        ("data", {f"{letter}.log": b"text" for letter in "abcdefghijklmno"} | {"q.log": _NO_TEXT}, True),
    ],
)
def test_a_directory_is_a_partitions_by_its_files_or_by_its_name(
    tmp_path: Path, folder: str, files: dict[str, bytes | None], expected: bool
) -> None:
    path = _fill(tmp_path / folder, files)
    is_log_directory = any(name in files for name in tree.LOG_DIR_FILES)
    assert (tree.is_partition(path), tree.is_log_directory(path)) == (expected, is_log_directory)
    assert [kind for kind, _, _ in tree.places_below(path)][:1] == [tree.PARTITION if expected else tree.LOG_DIRECTORY]


@each(
    ("name", "is_one"),
    [
        *((f"{_LOG}{more}", True) for more in (".bak", ".gz", ".1", "~")),
        *((f"{5:020}.LOG.bak", True), (f"{_LOG}.deleted", False), (f"{5:020}.index.bak", False), ("5.log.bak", False)),
    ],
)
def test_a_file_may_be_a_log_under_another_name(tmp_path: Path, name: str, is_one: bool) -> None:
    path = f"{tmp_path}/{name}"
    assert tree.missing_log(path) == (f"{tmp_path}/{_LOG}" if is_one else None)
    (tmp_path / _LOG).touch()
    assert tree.missing_log(path) is None


def test_files_of_a_partition_are_placed_by_their_segments(tmp_path: Path) -> None:
    named = ["9.log", "5.snapshot", "10.log", "12.snapshot", "12.index"]
    others = ["x-1.checkpoint", "quorum-state", "b.txt", "a.txt"]
    _fill(tmp_path, {"7.log": None, "folder": None, **dict.fromkeys((*named, *others), b"ab")})
    for name, target in (("8.log", "folder"), ("6.log", "9.log"), ("4.log", "nowhere")):
        (tmp_path / name).symlink_to(target)
    files = tree.PartitionFiles(str(tmp_path))
    assert (files.logs, files.newest_log, files.newest_snapshot) == ([4, 6, 7, 8, 9, 10], 10, 12)
    assert (files.directories, files.others) == ({"7.log", "8.log", "folder"}, sorted(others))
    assert files.of_metadata == ["quorum-state", "x-1.checkpoint"]
    assert [files.next_log(base) for base in (3, 4, 9, 10)] == [4, 6, 10, None]
    assert (files.log_name(9), files.segments[12]) == ("9.log", {".snapshot": "12.snapshot", ".index": "12.index"})
    found = tree.logs_of(str(tmp_path))
    assert [(base, size) for base, _, size in found if base in (6, 9, 10)] == [(6, 2), (9, 2), (10, 2)]
    assert [list(tree.with_next(bases)) for bases in ([1, 2], files.logs[:0])] == [[(1, 2), (2, None)], []]
    empty = tree.PartitionFiles(str(tmp_path / "folder"))
    assert (empty.newest_log, empty.newest_snapshot, empty.segments) == (None, None, {})


@each(
    ("files", "expected"),
    [
        *(({}, True), ({file_name(0, ".log"): b"", file_name(0, ".index"): b"x"}, True), ({"notes": b"x"}, True)),
        *(({name: data}, False) for name, data in ((file_name(0, ".log"), b"x"), (_LOG, b""), ("1.index", b""), ("x.log", b"x"))),
    ],
)
def test_a_partition_was_never_written_whose_logs_are_empty_and_start_at_0(
    tmp_path: Path, files: dict[str, bytes | None], expected: bool
) -> None:
    assert tree.was_never_written(_fill(tmp_path, files)) is expected


def test_links_of_a_log_directory_may_lead_to_partitions(tmp_path: Path) -> None:
    _fill(tmp_path, {"a-0": None, "file": b"", "remote-log-index-cache": None})
    for name, target in (("b-0", "a-0"), ("broken", "nowhere"), ("other", "file")):
        (tmp_path / name).symlink_to(target)
    assert tree.partitions(str(tmp_path)) == [f"{tmp_path}/{name}" for name in ("a-0", "b-0", "broken")]
    assert tree.log_dir_files(str(tmp_path)) == ["file", "other"]


@each("depth", [3, 4])
def test_log_directories_are_looked_for_some_levels_down(tmp_path: Path, depth: int) -> None:
    levels = [tmp_path.joinpath(*"abcd"[:level]) for level in range(depth + 1)]
    partition = _partition(levels[-1])
    expected = [(tree.LOG_DIRECTORY, str(levels[-1]), ""), (tree.PARTITION, str(partition), "")]
    assert list(tree.places_below(str(tmp_path))) == expected
    shallow = list(tree.places_below(str(tmp_path), depth - 1))
    assert shallow == [(tree.LOG_DIRECTORY, str(levels[-2]), ""), (tree.PARTITION, str(levels[-1]), "")]
    file = str(partition / file_name(0, ".log"))
    assert list(tree.places_below(file)) == [(tree.FILE, file, "")]


def test_what_a_path_is_of_is_said_by_the_directories_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = ("/d/orders-3.ab-stray/0.log", "/d/orders-3.ab-delete/0.log", "/d/orders-3/0.log", "/d/logs/0.log")
    assert [tree.is_set_aside(path) for path in paths] == [True, False, False, False]
    assert [tree.topic_of(path) for path in paths] == ["orders", "orders", "orders", ""]
    states = [
        name.is_going for path in (*paths[:3], "/d/orders-3.ab-future/0.log") if (name := tree.directory_name(tree.parent(path)))
    ]
    assert states == [True, True, False, False]
    assert [tree.parent(path) for path in ("a/b", "a/b//", "/a", "/", "s3://b/a/c")] == ["a", "a", "/", "/", "s3://b/a"]
    assert tree.log_directory_of("/d/orders-3/0.log") == "/d"
    monkeypatch.setattr(system, "is_locked", lambda path: path == "/d/.lock")
    assert [tree.locked_directory(path) for path in ("/d", "/d/a-0", "/d/a-0/0.log", "/")] == ["/d", "/d", None, None]


def test_patterns_stand_for_what_they_match_once(tmp_path: Path) -> None:
    _fill(tmp_path, {"a1": b"", "a2": b"", "[a]1": b""})
    given = [f"{tmp_path}/{name}" for name in ("a2", "a?", "[a]1", "missing")]
    assert tree.matching(given) == [f"{tmp_path}/{name}" for name in ("a2", "a1", "[a]1", "missing")]
    with pytest.raises(UsageError, match=r"no file matches .*/x\*"):
        tree.matching([f"{tmp_path}/x*"])


@each(("text", "expected"), [("version=1\n", True), ("version=0\n", False), ("version=11\n", False), (None, False)])
def test_a_log_directory_is_of_kraft_by_the_version_of_its_properties(tmp_path: Path, text: str | None, expected: bool) -> None:
    assert tree.is_of_kraft(_fill(tmp_path, {} if text is None else {"meta.properties": text.encode()})) is expected
