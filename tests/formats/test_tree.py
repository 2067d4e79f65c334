"""What stands in directories, and what a broker's own files say of its partitions."""

from pathlib import Path

import pytest

from kdump.checks.jobs import Job, jobs
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


def test_a_checkpoint_that_cannot_be_read_causes_no_traceback(tmp_path: Path) -> None:
    partition = _partition(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").mkdir()
    (tmp_path / "recovery-point-offset-checkpoint").symlink_to("nowhere")
    assert findings_of(partition) == []


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


def test_a_segment_inside_of_another_does_not_end_it(tmp_path: Path) -> None:
    long, short = batch(records=[record()] * 10), [batch(records=[record()] * 2, base_offset=base) for base in (5, 8)]
    overlaps = [("segments-overlap", 5), ("segments-overlap", 8)]
    assert _of_segments(tmp_path, {0: [long], 5: short[:1], 8: short[1:]}) == overlaps


def test_offsets_that_a_torn_batch_may_have_had_are_no_gap_between_segments(tmp_path: Path) -> None:
    first, torn, last = (batch(records=[record(value=b"v" * 50)], base_offset=base) for base in (0, 1, 9))
    assert _of_segments(tmp_path / "torn", {0: [first, torn[:-3]], 9: [last]}) == []
    assert _of_segments(tmp_path / "sound", {0: [first, torn], 9: [last]}) == [("segments-gap", 2)]


def test_a_file_with_a_strange_name_outside_of_a_partition_has_a_warning_about_none_of_its_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "stuff"
    folder.mkdir()
    (folder / "foo.timeindex").write_bytes(bytes(12))
    found = [row for row in findings_of(folder) if row.code == "name-not-numeric"]
    assert [(row.severity, row.start, row.end) for row in found] == [("warning", 0, 0)]
