"""What checks say of directories, names and the small files beside segments, and of single records: limits on both sides."""

import errno
import gzip
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import kdump
from kdump.checks.finding import FileReport, Finding
from kdump.checks.partition_facts import PartitionFacts
from kdump.checks.rules.files import file_object
from kdump.checks.settings import Settings
from kdump.errors import Unreadable
from kdump.formats import tree
from tests.builders import cluster_metadata, records
from tests.builders.compression import Codec
from tests.builders.files import checkpoint, file_name, partition_metadata, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import TIMESTAMP, Record, batch, control_record, encode_record, message, message_set, record, wrapper
from tests.checks.findings import LOG, codes_of, findings_of, of_log, rows_of, told_values
from tests.loops import each
from tests.support import let_fail, run_here

pytestmark = [
    pytest.mark.usefixtures("window"),
    pytest.mark.parametrize("window", ["all at once", "batch by batch"], indirect=True),
]

EPOCHS = "leader-epoch-checkpoint"
ORDERS = "vaCj0ctCQVK4Fl1jHq5Gow"
Segments = Mapping[int, Sequence[bytes]]
Entry = tuple[int, int]
Patch = pytest.MonkeyPatch


def _batch(first: int, count: int = 2, *, epoch: int = 0) -> bytes:
    return batch(base_offset=first, records=[record(value=b"value")] * count, partition_leader_epoch=epoch)


def _partition(tmp_path: Path, segments: Segments, changed: Mapping[str, bytes] | None = None) -> Path:
    directory = write_partition(tmp_path, segments=segments, topic="orders", partition=3)
    for file, data in (changed or {}).items():
        (directory / file).write_bytes(data)
    return directory


def _metadata_log(tmp_path: Path, segments: Segments) -> Path:
    return write_partition(tmp_path, segments=segments, topic="__cluster_metadata")


# --- segments side by side


@each(
    ("segments", "told"),
    [
        ({0: [_batch(0), _batch(2)], 4: [_batch(4)]}, []),
        ({0: [_batch(0), _batch(2)], 5: [_batch(5)]}, [("segments-gap", "info", 4, 4, "4", "5")]),
        ({0: [_batch(0), _batch(2)], 7: [_batch(4)]}, []),  # it has the wrong name
        ({0: [_batch(0), _batch(1 << 40)], 4: [_batch(4)]}, []),  # nobody knows where the first one ends
        ({0: [_batch(0), _batch(2)], 7: [_batch(5)]}, [("segments-gap", "info", 4, 6, "4", "7")]),
        ({0: [_batch(0), _batch(2)], 3: [_batch(3)]}, [("segments-overlap", "error", 3, 3, "at least 4", "3")]),
        ({0: [_batch(0, 9)], 3: [_batch(0)]}, [("segments-overlap", "error", 3, 8, "at least 9", "3")]),  # it has the wrong name
        (
            {0: [_batch(0, 9)], 3: [_batch(3)], 5: [_batch(5)]},
            [("segments-overlap", "error", 3, 4, "at least 9", "3"), ("segments-overlap", "error", 5, 6, "at least 9", "5")],
        ),
        ({0: [_batch(0)], 5: [_batch(5)], 9: [_batch(9)]}, [("segments-gap", "info", 2, 8, "2", "5")]),
        ({0: [_batch(0)], 5: [], 9: [_batch(9)]}, [("segments-gap", "info", 2, 8, "2", "5")]),
    ],
)
def test_segments_begin_where_those_before_them_end(tmp_path: Path, segments: Segments, told: list[tuple[object, ...]]) -> None:
    found = findings_of(_partition(tmp_path, segments), "segments-gap", "segments-overlap")
    assert [(one.code, one.severity, one.offset_first, one.offset_last, one.expected, one.found) for one in found] == told
    assert {(one.start, one.end) for one in found} <= {(0, 0)}  # between files, in none of them
    several = [one.message for one in found if " places: " in one.message]
    assert all(f"at 2 places: {5 if segments[5] else 7} offsets, first offsets 2 to 4. " in message for message in several)


@each(
    ("entries", "epochs", "offsets", "words"),
    [
        ([(5, 0)], (5, 6), (3, 5), "6; the file has epoch 5 there."),
        ([(5, 1)], (5, 6), (3, 5), "6; the file has epoch 5 there."),
        ([(5, 0), (6, 4)], (5, 6), (3, 3), "6; the file has epoch 5 there."),
        ([(5, 0), (6, 2)], (5, 6), (2, 2), "5; the file has epoch 6 there."),
        ([(5, 0)], (5, 6, 11), (3, 5), "6; the file has epoch 5 there. One more epoch differs."),
        ([(5, 0)], (5, 6, 11, 14), (3, 5), "6; the file has epoch 5 there. 2 more epochs differ."),
        ([(5, 0), (7, 7)], (5, 6, 7), (3, 5), "6; the file has epoch 5 there. One more epoch differs."),
    ],
)
def test_batches_of_another_epoch_than_the_file_has_are_reported(
    tmp_path: Path, entries: list[Entry], epochs: Sequence[int], offsets: Entry, words: str
) -> None:
    batches = [_batch(3 * row, 3, epoch=epoch) for row, epoch in enumerate(epochs)]
    (found,) = findings_of(_partition(tmp_path, {0: batches}, {EPOCHS: checkpoint(entries=entries)}), "epochs-disagree")
    assert (found.offset_first, found.offset_last) == offsets
    first, last = offsets
    where = f"offsets {first} to {last}" if first < last else f"offset {first}"
    assert found.message == f"Batches at {where} have leader epoch {words}"


@each(
    ("stated", "later", "said"),
    [
        (5 + (1 << 20), [], ("uncovered-header-rot", 3, "5", "1048581")),
        (5 + 16, [], ("uncovered-header-rot", 3, "5", "21")),
        (5 + 48, [], ("epochs-disagree", 3, "5 from 0 on, 53 from 3 on", "5 from 0 on")),
        (7, [], ("epochs-disagree", 3, "5 from 0 on, 7 from 3 on", "5 from 0 on")),  # there may have been two elections
        (5 + 16, [(21, 6)], ("epochs-disagree", 3, "5 from 0 on, 21 from 3 on", "5 from 0 on, 21 from 6 on")),
    ],
)
def test_the_last_epoch_of_a_log_has_a_wrong_bit_if_the_file_does_not_know_it(
    tmp_path: Path, stated: int, later: list[Entry], said: object
) -> None:
    segments = {0: [_batch(0, 3, epoch=5), _batch(3, 3, epoch=stated)]}
    directory = _partition(tmp_path, segments, {EPOCHS: checkpoint(entries=[(5, 0), *later])})
    (one,) = findings_of(directory, "epochs-disagree", "uncovered-header-rot")
    assert (one.code, one.offset_first, one.expected, one.found) == said


def test_epochs_that_disagree_from_a_wrong_offset_on_have_no_last_before_their_first(tmp_path: Path) -> None:
    segments = {0: [_batch(0, 3, epoch=5), _batch(1 << 51, 3, epoch=6)], 6: [_batch(6, 3, epoch=6)]}
    epochs = checkpoint(entries=[(5, 0), (6, 3), (7, 9)])
    found = findings_of(_partition(tmp_path, segments, {EPOCHS: epochs}), "epochs-disagree")
    assert [(one.offset_first, one.offset_last) for one in found] == [(1 << 51, 1 << 51)]


def test_lost_batches_and_what_is_no_log_explain_a_gap(tmp_path: Path) -> None:
    directory = _partition(tmp_path / "other", {0: [_batch(0)], 5: [_batch(5)], 9: [_batch(9)]})
    (directory / file_name(5, ".log")).unlink()
    (directory / file_name(5, ".log")).mkdir()
    found = findings_of(directory)
    assert "segments-gap" not in codes_of(found) and "not-regular" in codes_of(found)
    directory = _partition(tmp_path, {0: [_batch(0), _batch(2)], 5: [_batch(5)]})
    for data, count in ((_batch(0) + _batch(2)[:-1], 0), (flipped(_batch(0)) + _batch(2), 1)):
        (directory / LOG).write_bytes(data)
        assert len(findings_of(directory, "segments-gap")) == count


MIDDLE, NEWEST = "segment-empty-middle", "segment-empty-newest"


@each(
    ("segments", "told"),
    [
        ({0: [_batch(0)], 2: [], 4: [_batch(4)]}, [(MIDDLE, "warning", 2)]),
        ({0: [_batch(0, 1), batch(base_offset=1, last_offset_delta=0)], 2: [], 4: [_batch(4)]}, [(MIDDLE, "info", 2)]),
        *(({0: [_batch(0)], 2: []}, [(NEWEST, "info", 2)]), ({0: []}, [(NEWEST, "info", 0)])),
        ({0: [], 1: [], (1 << 31) + 2: [_batch((1 << 31) + 2)]}, [(MIDDLE, "info", 0), (MIDDLE, "info", 1)]),
        ({0: [], 2: []}, [(MIDDLE, "warning", 0), (NEWEST, "info", 2)]),
    ],
)
def test_an_empty_segment_is_rated_by_its_place(tmp_path: Path, segments: Segments, told: list[tuple[str, str, int]]) -> None:
    found = findings_of(_partition(tmp_path, segments), MIDDLE, NEWEST, is_pedantic=True)
    assert [(one.code, one.severity, int(Path(one.path).stem)) for one in found] == told
    assert "warning" not in [one.severity for one in findings_of(tmp_path / "orders-3", MIDDLE, cleanup_policy="compact")]
    following = [min(base for base in segments if base > at) for code, _, at in told if code == MIDDLE]
    assert [one.message.rpartition(" offset ")[2] for one in found if one.code == MIDDLE] == [f"{at:,} on." for at in following]


# --- leader epochs


SEGMENTS: Segments = {0: [_batch(0), _batch(2, epoch=3)], 4: [_batch(4, epoch=3), _batch(6, epoch=4)]}
FOUND = "0 from 0 on, 3 from 2 on, 4 from 6 on"


@each(
    ("entries", "said"),
    [
        ([(0, 0), (3, 2), (4, 6)], []),
        ([(0, 0), (3, 2), (4, 6), (5, 8)], []),
        ([(0, 0), (3, 2), (4, 6), (5, 9)], [("epochs-beyond-log", "error", 16, 20, "at most 8", "9")]),
        (
            [(0, 0), (3, 2), (4, 6), (5, 9), (6, 11)],
            [("epochs-beyond-log", "error", 16, 20, "at most 8", "9"), ("epochs-beyond-log", "error", 20, 25, "at most 8", "11")],
        ),
        ([(3, 2), (4, 6)], []),  # the log may start in the middle of its first segment
        *(([(3, start), (4, 6)], []) for start in (3, 4)),
        ([(0, 0), (1, 2), (3, 2), (4, 6)], [("epochs-not-monotonic", "info", 12, 16, None, None)]),  # as old brokers wrote it
        ([(4, 6)], [("epochs-disagree", "warning", 0, 8, FOUND, "4 from 6 on")]),
        ([(0, 0), (3, 3), (4, 6)], [("epochs-disagree", "warning", 4, 8, FOUND, "0 from 0 on, 3 from 3 on, 4 from 6 on")]),
        ([(0, 0), (3, 1), (4, 6)], [("epochs-disagree", "warning", 8, 12, FOUND, "0 from 0 on, 3 from 1 on, 4 from 6 on")]),
    ],
)
def test_the_epochs_of_the_file_are_those_of_the_batches(tmp_path: Path, entries: list[Entry], said: list[object]) -> None:
    directory = _partition(tmp_path, SEGMENTS, {EPOCHS: checkpoint(entries=entries)})
    assert told_values([one for one in findings_of(directory) if one.code.startswith("epochs-")]) == said
    assert findings_of(directory, "epochs-disagree", "epochs-beyond-log", level="quick") == []


def test_a_copy_of_only_the_segments_needs_no_epochs(tmp_path: Path) -> None:
    directory = _partition(tmp_path, SEGMENTS)
    for gone, there in ((EPOCHS, "x"), ("partition.metadata", "x"), ("x", "../meta.properties")):
        (directory / gone).unlink()
        (directory / there).touch()
        (found,) = findings_of(directory, "epochs-missing", is_pedantic=True)
        is_copy = gone == "partition.metadata"
        assert (found.severity, " a copy of only the segments." in found.message) == ("info" if is_copy else "warning", is_copy)


RISE, BAD_LINE = "epochs-not-monotonic", "epochs-malformed"


@each(
    ("lines", "told"),
    [
        *((lines, []) for lines in ("0 0,2 5,3 6", "", b"")),
        *((f"0 0,2 5,{last}", [(RISE, "error", 12, 16, "ignore")]) for last in ("2 6", "1 6", "3 4", "2 5")),
        ("0 0,2 5,3 5", [(RISE, "info", 12, 16, "ignore")]),
        *((line, [(RISE, "error", 4, 9, "die")]) for line in ("-1 0", "0 -1")),
        *(("zero 0", [(BAD_LINE, "error", 4, 11, "die")]), ("0 0 0", [(BAD_LINE, "error", 4, 10, "offline")])),
        (b"0\n", [(BAD_LINE, "warning", 0, 2, "ignore")]),
        (b"1\n0\n", [("epochs-version-unknown", "error", 0, 2, "offline")]),
        (b"0\n2\n0 0\n", [("epochs-count-mismatch", "error", 0, 8, "offline")]),
    ],
)
def test_a_file_of_epochs_is_checked_line_by_line(tmp_path: Path, lines: str | bytes, told: list[tuple[object, ...]]) -> None:
    entries = [tuple(line.split()) for line in lines.split(",") if line] if isinstance(lines, str) else []
    (tmp_path / EPOCHS).write_bytes(lines if isinstance(lines, bytes) else checkpoint(entries=entries))
    found = findings_of(tmp_path / EPOCHS)
    assert [(one.code, one.severity, one.start, one.end, one.broker_forecast.partition(" ")[0]) for one in found] == told


# --- files of a log directory


def _log_dir(tmp_path: Path, **files: bytes) -> Path:
    """A log directory with a partition of the offsets 0 to 7, and files of its own by names with _ for -."""
    _partition(tmp_path, SEGMENTS)
    (tmp_path / "meta.properties").write_bytes(b"broker.id=1\nversion=0\n")
    for name, data in files.items():
        (tmp_path / name.replace("_", "-")).write_bytes(data)
    return tmp_path


OF_ENDS = {"log_start": "log-start", "recovery_point": "recovery-point", "replication": "high-watermark"}


@each(("offset", "told"), [(7, False), (8, False), (9, True)])
@each("name, code", [*OF_ENDS.items(), ("cleaner", "cleaner-offset")])
def test_a_checkpoint_notes_no_offset_beyond_the_log(tmp_path: Path, name: str, code: str, offset: int, told: bool) -> None:
    entries = [("orders", 2, 99), ("orders", 3, offset), ("orders", 33, 99)]
    files = {f"{name}_offset_checkpoint": checkpoint(entries=entries)}
    found = [one for one in findings_of(_log_dir(tmp_path, **files)) if "beyond" in one.code]
    assert told_values(found) == [(f"{code}-beyond-end", "error", 16, 26, "at most 8", str(offset))] * told
    is_read = told and not code.startswith("log")
    assert [(one.offset_first, one.offset_last) for one in found if not code.startswith("log")] == [(8, 8)] * is_read
    (tmp_path / "orders-3").rename(tmp_path / f"orders-3.{'0123456789abcdef' * 2}-delete")  # another may be there since
    assert [one.code for one in findings_of(tmp_path) if "beyond" in one.code] == []


POINTS, HIGH, STARTS = (f"{name}_offset_checkpoint" for name in ("recovery_point", "replication", "log_start"))


@each(
    ("offsets", "said"),
    [
        ({POINTS: "orders 3 8,b 1 5,b 10 6,b 2 0,a 7 9"}, {POINTS: "a 7 9,b 1 5,b 10 6"}),
        ({POINTS: "b 1 5", HIGH: "b 1 7", STARTS: "b 1 6"}, {HIGH: "b 1 7"}),  # where the offset is highest
        ({POINTS: "b 1 5", HIGH: "b 1 5,c 1 9"}, {POINTS: "b 1 5"}),  # c was deleted before the last minute
        ({POINTS: "b 1 0", HIGH: "b 1 3,orders 3 3", STARTS: "b 1 2"}, {HIGH: "b 1 3"}),
        ({HIGH: "c 1 9,d 1 0,orders 3 4", STARTS: "b 1 4"}, {HIGH: "c 1 9", STARTS: "b 1 4"}),
    ],
)
@each("node", [0, 1, 2])
def test_partitions_without_a_directory_are_missing(
    tmp_path: Path, offsets: dict[str, str], said: dict[str, str], node: int
) -> None:
    entries = {name: [tuple(line.split()) for line in lines.split(",")] for name, lines in offsets.items()}
    path = _log_dir(tmp_path, **{name: checkpoint(entries=lines) for name, lines in entries.items()})
    if node:  # the metadata say that node 1 has b-1, and nothing of others
        (path / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id=c\n")
        values = [cluster_metadata.topic("b", ORDERS), cluster_metadata.replicas(ORDERS, 1, 1, 3)]
        log = [batch(base_offset=row, records=[record(value=value)]) for row, value in enumerate(values)]
        write_partition(path, segments={0: log}, topic="__cluster_metadata")
    expected = [(name, line) for name, lines in said.items() for line in lines.split(",")]
    expected = [row for row in expected if not node or node == 1 and row[1].startswith("b 1 ")]
    found = findings_of(path, "partition-missing")
    assert [one.severity for one in found] == ["error" if node else "info"] * len(expected)
    told = [(Path(one.path).name.replace("-", "_"), Path(one.path).read_text()[one.start : one.end]) for one in found]
    assert told == expected
    assert all(f" {'-'.join(line.split()[:2])} " in one.message for one, (_, line) in zip(found, expected, strict=True))


def test_a_partition_in_another_log_directory_of_the_broker_is_not_missing(tmp_path: Path, monkeypatch: Patch) -> None:
    path = _log_dir(tmp_path / "d1", recovery_point_offset_checkpoint=checkpoint(entries=[("b", 1, 5)]))
    write_partition(tmp_path / "d2", topic="b", partition=1, segments={0: [_batch(0)]})
    for broker in (1, 2):
        (tmp_path / "d2" / "meta.properties").write_text(f"version=0\nbroker.id={broker}\n")
        assert len(findings_of(path, "partition-missing")) == broker - 1
    let_fail(monkeypatch, "open", path / "recovery-point-offset-checkpoint")
    assert {one.path for one in findings_of(path, "io-error")} >= {str(path)}, "nobody knows"


def test_only_partitions_of_one_topic_have_one_id(tmp_path: Path) -> None:
    other = "xuNFeVKBTimjCGKSv9Pz9Q"
    ids = {"a-0": ORDERS, "a-1": ORDERS, "b-0": other, f"a-2.{'0' * 32}-delete": other, "a-3": other}
    for name, topic_id in ids.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "partition.metadata").write_bytes(partition_metadata(topic_id=topic_id))
    found = findings_of(_log_dir(tmp_path), "partition-metadata-bad")
    assert [(Path(one.path).parent.name, one.severity) for one in found] == [("a-3", "warning")]


def test_a_log_that_a_restart_cuts_may_end_below_its_start(tmp_path: Path) -> None:
    directory = _log_dir(tmp_path, log_start_offset_checkpoint=checkpoint(entries=[("orders", 3, 7)]))
    log = directory / "orders-3" / file_name(4, ".log")
    log.write_bytes(log.read_bytes()[:-1])
    (found,) = findings_of(directory, "log-start-beyond-end")
    assert (found.expected, found.found) == ("at most 6", "7")
    assert "the log can be read up to offset 6. A RESTART THAT CUTS IT THERE DELETES ALL ITS SEGMENTS." in found.message


@each(
    ("data", "is_bad"),
    [
        *((b"broker.id=1\nversion=0\n", False), (b"node.id=1\nversion=1\ncluster.id=c\n", False)),
        *((b"node.id=1\nversion=1\n", True), (b"broker.id=1\nversion=1\ncluster.id=c\n", True)),
        (b"node.id=one\nversion=1\ncluster.id=c\n", True),
        (b"node.id=1\nversion=1\ncluster.id=c\ndirectory.id=NrglXNcJRLDQ0m7HIWSVLg\n", False),
        (b"node.id=1\nversion=1\ncluster.id=c\ndirectory.id=xyz\n", True),
        (b"node.id=1\nversion=1\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n", True),
        *((b"broker.id=1\nversion=2\n", True), (b"broker.id=1\n", True), (b"version=1\n", True), (b"", True)),
    ],
)
def test_a_log_directory_says_whose_it_is(tmp_path: Path, data: bytes, is_bad: bool) -> None:
    directory = _log_dir(tmp_path)
    (directory / "meta.properties").write_bytes(data)
    found = findings_of(directory, "log-dir-file-bad")
    assert [(one.severity, one.start, one.end, one.broker_forecast) for one in found] == [("error", 0, len(data), "die")] * is_bad
    (directory / "meta.properties").rename(directory / "cleaner-offset-checkpoint")
    for severity in ("info", "warning"):  # which has the metadata log is of KRaft
        assert [one.severity for one in findings_of(directory, "meta-properties-missing", is_pedantic=True)] == [severity]
        (directory / "__cluster_metadata-0").mkdir(exist_ok=True)


@each(
    ("data", "told", "counted", "is_reset"),
    [
        (b"0\n2\na 1 5\nb 2 6\n", [], (2, 0, 16, 0), False),
        (b"0\n2\na 1 5\nb two 6\n", [(10, 18)], (1, 1, 10, 8), True),
        (b"0\n2\na one 5\nb 2 6\n", [(4, 12)], (1, 1, 10, 8), True),
        *((b"0\n2\na 1 5\nb 2\n", [(10, 14)], (1, 1, 10, 4), False), (b"x\n1\na 1 5\n", [(0, 2)], (1, 0, 8, 2), False)),
        *((b"0\nx\na 1 5\n", [(2, 4)], (1, 0, 8, 2), False), (b"0\n3\na 1 5\n", [(0, 10)], (1, 0, 10, 0), False)),
        *((b"0\n0\na 1 5\n", [(0, 10)], (1, 0, 10, 0), False), (b"0\n-1\n", [(0, 5)], (0, 0, 5, 0), True)),
        (b"0\n", [], (0, 0, 2, 0), False),
    ],
)
@each("name, without", [("replication-offset", "offline"), ("recovery-point-offset", "rescan"), ("log-start-offset", "blind")])
def test_each_bad_line_of_a_checkpoint_is_reported(
    tmp_path: Path, data: bytes, told: list[tuple[int, int]], counted: tuple[int, ...], is_reset: bool, name: str, without: str
) -> None:
    """A start goes on without entries after a number that is none, or a negative count (LogManager.loadLogs)."""
    path = tmp_path / f"{name}-checkpoint"
    path.write_bytes(data)
    forecast = without if is_reset else "offline"
    found = findings_of(path)
    said = [(one.code, one.start, one.end, one.broker_forecast.partition(":")[0]) for one in found]
    assert said == [("log-dir-file-bad", *one, forecast) for one in told]
    assert {"serves no replica" in one.message for one in found} <= {is_reset and without == "offline"}
    (report,) = (row for row in rows_of(path) if isinstance(row, FileReport))
    assert (report.batches_intact, report.batches_lost, report.bytes_intact, report.bytes_damaged) == counted


# --- names and leftovers


@each(
    ("name", "code", "severity"),
    [
        *(("5.log", "name-width-odd", "error"), ("5.index", "name-width-odd", "warning"), ("0.index", "name-width-odd", None)),
        *((f"abc.log.{mark}", "name-not-numeric", "error") for mark in ("swap", "cleaned")),
        *(("abc.log", "name-not-numeric", "error"), ("-0000000000000000005.timeindex", "name-not-numeric", None)),
        *(("abc.txt", None, None), ("a,b", "name-not-utf8", None), ("a\nb", "name-not-utf8", None)),
        *(("a\udc80b", "name-not-utf8", None), ("a\udcffb", "name-not-utf8", None), ("ä", None, None)),
    ],
)
def test_names_are_those_that_a_broker_reads(tmp_path: Path, name: str, code: str | None, severity: str | None) -> None:
    directory = _partition(tmp_path, SEGMENTS, {name: _batch(5)})
    found = [one for one in findings_of(directory, is_pedantic=True) if one.code.startswith("name-")]
    assert codes_of(found) == ([code] if code else [])
    if "\udc80" in name or "\udcff" in name:
        assert found[0].message == f"{name.encode('ascii', 'backslashreplace').decode()} contains bytes that are not UTF-8."
    if severity:
        assert [one.severity for one in found] == [severity]


def test_a_leftover_is_reported_with_what_a_restart_makes_of_it(tmp_path: Path) -> None:
    deleted, swap, cleaned = (file_name(4, f".log.{suffix}") for suffix in ("deleted", "swap", "cleaned"))
    folders = iter(range(100))

    def leftovers(*names: str, swapped: bytes | None = None) -> list[tuple[str, str]]:
        files = dict.fromkeys(names, b"") | ({} if swapped is None else {swap: swapped})
        directory = _partition(tmp_path / str(next(folders)), SEGMENTS, files)
        return [(one.code, one.message) for one in findings_of(directory) if one.code.startswith("leftover-")]

    assert leftovers() == []
    assert leftovers(deleted) == [("leftover-deleted", f"{deleted} is about to be deleted. A restart deletes what is left.")]
    words = f"2 files with the suffix .deleted, from base offset {file_name(4, '')} on, are about to be deleted. "
    found = leftovers(deleted, file_name(9, ".index.deleted"))
    assert found == [("leftover-deleted", words + "A restart deletes what is left.")]
    words = f"{swap} is about to replace others. A restart puts them in place without reading them, for offsets 4 to 7, and"
    found = leftovers(swapped=_batch(4, epoch=3) + _batch(6, epoch=4))
    assert found == [("leftover-swap", f"{words} deletes {file_name(4, '.log')}.")]
    words = "A restart puts them in place without reading them, for offsets 0 to 7, and deletes {}, {}."
    ((_, found_words),) = leftovers(file_name(0, ".log.swap"), swapped=_batch(4, epoch=3) + _batch(6, epoch=4))
    assert found_words.endswith(words.format(file_name(0, ".log"), file_name(4, ".log")))
    index = file_name(4, ".index.swap")
    words = f"{index} is about to replace others. A restart renames them, and deletes no segment, because no log is among them."
    assert leftovers(index) == [("leftover-swap", words)]
    for names, forecast in (([index], "ignore"), ([index, swap], "delete")):
        (one,) = findings_of(_partition(tmp_path / forecast, SEGMENTS, dict.fromkeys(names, b"")), "leftover-swap")
        assert (Path(one.path).name, one.broker_forecast) == (names[-1], forecast)
    ((_, words),) = leftovers(swapped=_batch(4, epoch=3) + flipped(_batch(6, epoch=4)))
    assert words.endswith(" The new log is damaged: keep a copy of the old segments.")
    words = dict(leftovers(cleaned, swapped=_batch(4)))["leftover-swap"]
    assert words.endswith(" A restart deletes those from base offset 4 on, because there are .cleaned files beside them.")
    for beside, part in (
        (file_name(0, ".log.cleaned"), "from base offset 0 on"),
        (file_name(5, ".log.cleaned"), "puts them in place without reading them, for offsets 4 to 5"),
    ):
        assert part in dict(leftovers(beside, swapped=_batch(4)))["leftover-swap"]


LINES = "[2026-11-21 10:00:00,000] INFO größer als nötig (kafka.server.KafkaServer)\n".encode() * 30
APPLE_DOUBLE = b"\0\5\x16\7\0\2\0\0Mac OS X        \0\2\0\0\0\x09"


@each(
    "files, codes",
    [
        (dict.fromkeys(("server.log", "state-change.log", "log-cleaner.log", "server.log.2026-11-21-10"), LINES), set()),
        ({"app.log": LINES, "error.log": LINES[1:], "._app.log": APPLE_DOUBLE}, set()),
        ({"app.log": LINES, ".checkpoint": b"0\n0\n"}, set()),
        ({"app.log": LINES, "x.log": b"\x9c" * 40}, {"name-not-numeric", "not-a-segment"}),
        ({"app.log": LINES, "copy.log": _batch(0)}, {"name-not-numeric"}),
    ],
)
def test_the_logs_of_other_programs_are_no_partition(tmp_path: Path, files: dict[str, bytes], codes: set[str]) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = {(one.code, one.severity) for one in kdump.check(tmp_path) if one.code != "not-a-segment"}
    assert found == {("file-not-recognized", "info"), *[("name-not-numeric", "warning")] * bool(codes)}
    exit_code = int("not-a-segment" in codes) if codes else 3  # nothing of Kafka's was there
    assert {kdump.verdict(tmp_path).exit_code, kdump.triage(tmp_path).exit_code} == {exit_code}
    assert "server.log" not in files or kdump.scan(tmp_path).exit_code == exit_code
    assert tree.is_partition(str(tmp_path)) == bool(codes)
    (tmp_path / file_name(0, ".log")).write_bytes(_batch(0))
    assert tree.is_partition(str(tmp_path))
    rows = kdump.recover(tmp_path, tmp_path.parent / f"new-{tmp_path.name}")
    assert any(getattr(row, "is_lost", False) for row in rows) == ("not-a-segment" in codes)


def test_a_copy_inside_of_a_partition_is_not_examined(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {0: [_batch(0)]})
    (directory / "backup-1").mkdir()
    assert findings_of(directory, "file-not-recognized") == []
    copy = _partition(directory, {0: [_batch(0), _batch(1)]})
    (found,) = findings_of(directory, "file-not-recognized")
    assert (found.severity, found.path) == ("error", str(copy))
    assert found.message.endswith(f"`kdump check {copy}` does.")


# --- KRaft's snapshots

NO_OP = b"\x01\x14\x00\x00"  # frame version, type, version, no tagged fields
UNKNOWN = b"\x01\x7f\x00\x00"  # of a type that does not exist
HEADER = batch(records=[records.snapshot_header_record()], is_control=True)
FOOTER = batch(base_offset=3, records=[records.snapshot_footer_record()], is_control=True)
BAD = [("checkpoint-bad-batch", 1)]  # of the second piece


def _typed(control_type: int, offset: int = 0) -> bytes:
    return batch(records=[control_record(control_type=control_type, value=bytes(11))], is_control=True, base_offset=offset)


def _data(**fields: object) -> bytes:
    return batch(**{"base_offset": 1, "records": [record(value=NO_OP)] * 2, **fields})  # type: ignore[arg-type]


@each(
    ("pieces", "told"),
    [
        ([HEADER, _data(), FOOTER], []),
        ([HEADER, FOOTER], []),
        ([batch(records=[records.snapshot_header_record(), records.snapshot_footer_record()], is_control=True)], []),
        ([_data(), FOOTER], [("checkpoint-no-header", 0)]),
        ([HEADER, _data()], [("checkpoint-no-footer", 1)]),
        ([_data()], [("checkpoint-no-header", 0), ("checkpoint-no-footer", 0)]),
        ([FOOTER, _data(), HEADER], [("checkpoint-no-header", 0), ("checkpoint-no-footer", 2)]),
        ([HEADER, _data(records=[record(key=b"", value=NO_OP)]), FOOTER], BAD),
        ([HEADER, _data(records=[record(value=NO_OP, headers=[("a", None)])]), FOOTER], BAD),
        ([HEADER, _data(records=[record(value=NO_OP), record(value=NO_OP, timestamp=TIMESTAMP + 1)]), FOOTER], BAD),
        ([HEADER, _data(codec="gzip"), FOOTER], BAD),
        ([HEADER, message_set(messages=[message(value=NO_OP)], base_offset=1), FOOTER], BAD),
        *(([HEADER, *[flipped(_data())] * count, FOOTER], BAD) for count in (1, 2)),
        ([flipped(HEADER), _data(), FOOTER], [("checkpoint-bad-batch", 0)]),
        ([_typed(0x0103), _data(), FOOTER], [("checkpoint-no-header", 0)]),
        ([HEADER, _data(), _typed(0x0104, 3)], [("checkpoint-no-footer", 2)]),
        ([HEADER, _data(), FOOTER[:-9]], [("checkpoint-no-footer", 1)]),  # Kafka's reader takes what is before that for all
        ([HEADER, _data(), FOOTER[:9]], [("checkpoint-no-footer", 1)]),
        ([HEADER[:-9]], [("checkpoint-no-header", 0)]),
        ([HEADER, _data(), flipped(FOOTER)], [("checkpoint-bad-batch", 2), ("checkpoint-no-footer", 1)]),
    ],
)
def test_a_snapshot_has_header_plain_batches_and_footer(tmp_path: Path, pieces: list[bytes], told: list[tuple[str, int]]) -> None:
    path = tmp_path / f"{10:020d}-{3:010d}.checkpoint"
    path.write_bytes(b"".join(pieces))
    found = sorted((one.code, one.start, one.end) for one in findings_of(path) if one.code.startswith("checkpoint-"))
    starts = [sum(map(len, pieces[:row])) for row in range(len(pieces) + 1)]
    assert found == sorted((code, starts[row], starts[row + 1]) for code, row in told)


@each(("ends", "told"), [([7], False), ([5, 9], False), ([6], True), ([], True), ([3, 5], True)])
def test_a_snapshot_reaches_up_to_where_the_metadata_log_starts(tmp_path: Path, ends: list[int], told: bool) -> None:
    directory = _metadata_log(tmp_path, {7: [batch(base_offset=7, records=[record(value=NO_OP)])]})
    for end in ends:
        (directory / f"{end:020d}-0000000000.checkpoint").write_bytes(HEADER + FOOTER)
    found = findings_of(directory, "snapshot-gap-metadata")
    assert [(one.severity, one.offset_first, one.offset_last) for one in found] == [("error", max(ends, default=0), 6)] * told
    if told:
        newest = f"the newest one ends at {max(ends)}" if ends else "there is none"
        assert found[0].message == f"The log starts at offset 7, so a snapshot must reach up to there; {newest}."
    for end in ends:  # a start reads the newest only
        (directory / f"{end:020d}-0000000000.checkpoint").write_bytes(flipped(HEADER) + FOOTER)
    words = [one.broker_forecast for one in findings_of(directory, "checkpoint-bad-batch")]
    assert words == (["ignore"] * (len(ends) - 1) + ["die"] if ends else [])
    assert {one.broker_forecast for one in findings_of(directory, "crc-mismatch")} <= {"ignore"}  # which cuts a segment only
    text = run_here("check", directory)[1].decode()
    assert ("the metadata that only this snapshot holds" in text, "possibly only one of them" in text) == (bool(ends), False)
    for name in ("leader-epoch-checkpoint", "partition.metadata"):
        (directory / name).unlink(missing_ok=True)
    assert run_here("forecast", directory)[0] == 1
    other = _partition(tmp_path, {7: [_batch(7)]})
    assert findings_of(other, "snapshot-gap-metadata") == []  # which other topics do not need
    (other / "quorum-state").write_bytes(b"")  # a copy of the metadata log under another name
    assert len(findings_of(other, "snapshot-gap-metadata")) == 1


def test_each_record_that_cannot_be_decoded_is_counted_but_no_control_record(tmp_path: Path) -> None:
    values = [UNKNOWN, NO_OP, UNKNOWN]
    pieces = [batch(records=[records.snapshot_header_record()], is_control=True)]
    pieces += [batch(base_offset=offset, records=[record(value=value) for value in values]) for offset in (1, 4, 7, 10)]
    directory = _metadata_log(tmp_path, {0: pieces})
    codes = "metadata-record-undecodable", "finding-flood"
    *found, rest = findings_of(directory, *codes, level="deep", max_findings=3)
    starts = [sum(map(len, pieces[:row])) for row in range(len(pieces) + 1)]
    expected = [(codes[0], "warning", starts[row], starts[row + 1], offset) for row, offset in ((1, 1), (1, 3), (2, 4))]
    assert [(one.code, one.severity, one.start, one.end, one.offset_first) for one in found] == expected
    assert (rest.found, rest.start, rest.end) == ("5", starts[2], starts[-1])
    assert findings_of(directory, *codes) == []


# --- compressed payloads

RECORDS = [record(key=b"k", value=b"value%d" % row) for row in range(3)]


CODECS: tuple[Codec, ...] = ("gzip", "snappy", "lz4", "zstd")


def _deep(tmp_path: Path, *pieces: bytes, code: str = "", **settings: Any) -> list[Finding]:
    """What a deep check finds in a log, of a code only if it is given."""
    found = of_log(tmp_path, *pieces, level="deep", is_pedantic=True, **settings)
    return [one for one in found if code in ("", one.code)]


@each("codec", CODECS)
def test_a_compressed_batch_without_payload_is_reported(tmp_path: Path, codec: Codec) -> None:
    empty = batch(records=RECORDS, codec=codec, payload=b"")
    for level in ("full", "deep"):
        found = of_log(tmp_path, empty, batch(records=RECORDS, base_offset=3), level=level)
        (one,) = (one for one in found if one.code != "record-count-too-high")  # of zstd, nothing is a payload of nothing
        assert (one.code, one.start, one.end, one.expected, one.found) == ("payload-empty-compressed", 0, 61, "3", "0")
    assert of_log(tmp_path, batch(codec=codec, base_offset=0) + batch(records=RECORDS, base_offset=1)) == []


@each(
    ("second", "code"),
    [
        *((record(value=b"v", length=1000), "record-length-bad"), (record(value=b"v", length=-3), "record-length-bad")),
        *((record(headers_count=-1), "header-count-bad"), (record(headers=[(None, b"v")]), "header-key-null")),
        (record(value=b"v", trailing=b"?"), "record-body-mismatch"),
    ],
)
@each("codec", ["none", "gzip"])
def test_records_are_read_up_to_the_first_that_is_broken(tmp_path: Path, second: Record, code: str, codec: Codec) -> None:
    odd = batch(records=[RECORDS[0], second, RECORDS[2]], codec=codec)
    (found,) = _deep(tmp_path, odd, batch(records=RECORDS, base_offset=3))
    start = 61 + len(encode_record(RECORDS[0])) if codec == "none" else 0
    assert (found.code, found.severity, found.start, found.end) == (code, "error", start, len(odd))
    assert (found.expected, found.found, found.resync, found.skipped) == ("3", "1", "by-length", len(odd) - start)
    assert found.message.endswith(" 1 of 3 records can be read.")


def test_the_frames_of_wrappers_are_examined_too(tmp_path: Path) -> None:
    inner = message_set(messages=[message(value=b"first", offset=0), message(value=b"second", offset=1)])
    two = gzip.compress(inner[:30]) + gzip.compress(inner[30:])
    plain = message_set(messages=[message(value=b"a")], base_offset=0)
    odd = wrapper(messages=[message(value=b"a"), message(value=b"b")], payload=two, base_offset=1)
    (found,) = _deep(tmp_path, plain, odd, code="frame-multi-member")
    assert (found.start, found.end, found.offset_first, found.found) == (len(plain), len(plain + odd), 2, "1")


@each(("file_type", "data"), [("checkpoint", HEADER + _data() + FOOTER), ("log", HEADER)])
def test_a_file_that_is_named_is_what_the_caller_says_whatever_its_name(tmp_path: Path, file_type: str, data: bytes) -> None:
    for name in ("x.bin", f"{LOG}.bak", file_name(0, ".timeindex")):
        (tmp_path / name).write_bytes(data)
        (report,) = rows_of(tmp_path / name, file_type=file_type)  # and no finding
        assert isinstance(report, FileReport) and (report.file_type, report.bytes_intact) == (file_type, len(data))


@each(("limit", "holes", "size"), [(9, "(2 holes)", 3), (1, "(at least 1 hole)", 1)])
def test_all_holes_of_a_file_are_counted(tmp_path: Path, monkeypatch: Patch, limit: int, holes: str, size: int) -> None:
    with (tmp_path / LOG).open("wb") as file:
        for offset in range(3):
            file.seek(offset << 21)
            file.write(_batch(2 * offset))
    monkeypatch.setattr(file_object, "_MAX_HOLES", limit)
    (found,) = findings_of(tmp_path / LOG, "sparse-file")
    assert (int(found.message.partition(" ")[0].replace(",", "")) >> 20, holes in found.message) == (size, True)


# --- what the system does not tell


@each(("error", "code"), [(errno.EIO, "io-error"), (errno.EACCES, "permission-denied")])
@each("name", [LOG, file_name(0, ".index"), EPOCHS])
def test_a_file_whose_status_is_unknown_is_there(tmp_path: Path, monkeypatch: Patch, name: str, error: int, code: str) -> None:
    directory = _partition(tmp_path, {0: [_batch(0)]})
    let_fail(monkeypatch, "stat", directory / name, error=error)
    (found,) = findings_of(directory)
    assert (found.code, found.severity, Path(found.path).name) == (code, "error", name)


@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES])
def test_a_log_directory_is_checked_where_nobody_says_what_it_holds(tmp_path: Path, monkeypatch: Patch, error: int) -> None:
    directory = _log_dir(tmp_path / "data")
    for name, target in (("orders-9", "elsewhere"), ("orders-7", "data-old"), ("orders-6", "data/inner")):
        (tmp_path / target).mkdir()
        (directory / name).symlink_to(tmp_path / target)
    (directory / "orders-8").symlink_to("nowhere")
    links = {(Path(one.path).name, one.code) for one in findings_of(directory) if one.code.startswith("symlink")}
    assert links == {("orders-9", "symlink-outside"), ("orders-7", "symlink-outside"), ("orders-8", "symlink-loop")}
    for name in ("orders-8", "orders-7", "orders-6"):
        (directory / name).unlink()
    (directory / "inner").rmdir()
    let_fail(monkeypatch, "stat", directory / "meta.properties", directory / "orders-9", error=error)
    found = {(Path(one.path).name, one.severity) for one in findings_of(directory) if one.severity == "error"}
    assert found == {("meta.properties", "error"), ("orders-9", "error")}


def test_a_file_whose_size_the_system_does_not_say_cannot_be_opened(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / LOG).write_bytes(_batch(0))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", mock.Mock(side_effect=OSError(errno.EIO, os.strerror(errno.EIO))))
        found = findings_of(tmp_path / LOG)
    assert [(one.code, one.severity) for one in found] == [("io-error", "error")]


def test_a_checkpoint_that_the_system_fails_to_read_is_not_missing(tmp_path: Path, monkeypatch: Patch) -> None:
    path = tmp_path / "topic-0"
    path.mkdir()
    facts = PartitionFacts(str(path), tree.PartitionFiles(str(path)), Settings(now=0), lambda _: None)
    for number, code in {errno.EIO: "file-io-error", errno.EACCES: "", errno.ENOENT: ""}.items():
        with monkeypatch.context() as patched:
            let_fail(patched, "open", tmp_path / "cleaner-offset-checkpoint", error=number)
            try:
                assert facts.checkpointed_offset("cleaner-offset-checkpoint") == (False, None)
                assert not code
            except Unreadable as error:
                assert error.code == code
