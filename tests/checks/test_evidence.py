"""What files attest of records that are gone: removed segments, and logs that are cut or emptied; and what attests nothing."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.binary.source import Source
from kdump.checks.check import run
from kdump.checks.context import FileContext
from kdump.checks.finding import FileReport, Finding
from kdump.checks.jobs import Job
from kdump.checks.partition_facts import PartitionFacts
from kdump.checks.rules.witnesses import after, highest_known, last_offsets
from kdump.checks.settings import Settings
from kdump.formats.tree import PartitionFiles
from kdump.mending.recover import recover
from kdump.tables import Row
from tests.builders.cluster_metadata import config, replicas, topic
from tests.builders.files import (
    aborted_transaction,
    checkpoint,
    file_name,
    partition_metadata,
    producer_snapshot,
    time_index,
    transaction_index,
    write_partition,
)
from tests.builders.files import offset_index as index_of
from tests.builders.fleets import flipped
from tests.builders.records import TIMESTAMP, batch, message, record, wrapper
from tests.checks.faults.case import NOW
from tests.checks.findings import findings_of
from tests.loops import each
from tests.support import run_here

EPOCHS = "leader-epoch-checkpoint"
Segments = Mapping[int, Sequence[bytes]]


def _batch(first: int, count: int = 1, *, span: int | None = None, timestamp: int = TIMESTAMP) -> bytes:
    """A batch of so many records; with a larger `span` of offsets, as compaction leaves it."""
    last = (span or count) - 1
    records = [record(offset_delta=row, value=b"value") for row in range(count)]
    return batch(base_offset=first, records=records, last_offset_delta=last, base_timestamp=timestamp)


def _ten(base: int) -> list[bytes]:
    return [_batch(base + row) for row in range(10)]


def _partition(tmp_path: Path, segments: Segments, *, topic: str = "orders", **others: Any) -> Path:
    return write_partition(tmp_path, segments=segments, topic=topic, partition=3, **others)


def _told(directory: Path, **settings: Any) -> list[tuple[str, str, int | None, int | None]]:
    """What is said of lost segments and of gaps."""
    found = findings_of(directory, "segment-missing", "segments-gap", "segments-not-local", **settings)
    return [(one.code, one.severity, one.offset_first, one.offset_last) for one in found]


def _cut_off(directory: Path) -> list[tuple[int | None, int | None]]:
    """The offsets that are said to be cut off a log."""
    return [(one.offset_first, one.offset_last) for one in findings_of(directory, "truncated-at-boundary")]


def _note(log_directory: Path, checkpoint_of: str, *entries: tuple[str, int, int]) -> None:
    """Write a checkpoint of topics, partitions and offsets into a log directory."""
    (log_directory / f"{checkpoint_of}-offset-checkpoint").write_bytes(checkpoint(entries=entries))


def _thirty(tmp_path: Path, **others: Any) -> Path:
    """A partition of three segments, of ten offsets each."""
    return _partition(tmp_path, {base: _ten(base) for base in (0, 10, 20)}, **others)


def _without_middle(tmp_path: Path, **others: Any) -> Path:
    """The same, of which the middle one was removed."""
    return _partition(tmp_path, {base: _ten(base) for base in (0, 20)}, **others)


def _remove(directory: Path, base: int, *suffixes: str) -> None:
    for path in directory.glob(f"{base:020d}.*"):
        if not suffixes or path.suffix in suffixes:
            path.unlink()


LOST = [("segment-missing", "error", 10, 19)]
GAP = [("segments-gap", "info", 10, 19)]
FIRST_LOST = [("segment-missing", "error", 0, 9)]


# --- a segment that was removed


@each("segment", [0, 20])
@each(
    "trace",
    [
        lambda base: _ten(base)[:4] + _ten(base)[5:],  # an offset is missing between batches
        lambda base: [_batch(base, 9, span=10)],  # a batch lacks a record
        lambda base: [_batch(base, 8), _batch(base + 8, 0, span=2)],  # or all of them
        lambda base: _ten(base)[1:],  # the segment does not begin where its name says
        lambda base: [_batch(base), flipped(_batch(base + 1)), _batch(base + 2), *_ten(base)[4:]],  # one after damage, too
    ],
)
def test_a_trace_of_the_cleaner_explains_a_gap(tmp_path: Path, segment: int, trace: Any) -> None:
    segments = {0: _ten(0), 20: _ten(20)}
    directory = _partition(tmp_path, segments | {segment: trace(segment)})
    assert _told(directory) == GAP


@each("suffix", [".log.cleaned", ".log.swap", ".log.deleted"])
def test_files_of_the_cleaner_explain_a_gap(tmp_path: Path, suffix: str) -> None:
    directory = _without_middle(tmp_path)
    (directory / file_name(10, suffix)).write_bytes(b"".join(_ten(10)))
    assert _told(directory) == GAP
    directory = _partition(tmp_path / "first", {10: _ten(10), 30: _ten(30)})
    (directory / file_name(0, ".log.deleted")).write_bytes(b"".join(_ten(0)))  # as retention leaves it
    assert _told(directory) == [("segment-missing", "error", 20, 29)]


@each("topic", ["__consumer_offsets", "__transaction_state", "__share_group_state", "counts-changelog"])
def test_a_gap_in_a_topic_that_is_compacted_by_its_name_is_not_a_fault(tmp_path: Path, topic: str) -> None:
    assert _told(_without_middle(tmp_path, topic=topic)) == GAP
    severity, message = _gap(_with_gap(tmp_path / "inside", topic=topic))  # of a segment
    assert severity == "info" and ("(brokers compact this internal topic)" in message) == topic.startswith("__")


@each(
    ("entries", "told"),
    [
        *(([], LOST), ([("orders", 3, 5)], LOST), ([("orders", 3, 10)], LOST)),
        *(([("orders", 3, 11)], GAP), ([("orders", 3, 20)], GAP), ([("orders", 2, 20), ("orders-3", 3, 20)], LOST)),
    ],
)
@each("topic", ["orders", "counts-changelog"])
def test_the_checkpoint_of_the_cleaner_says_how_far_it_came(tmp_path: Path, topic: str, entries: list[Any], told: object) -> None:
    directory = _without_middle(tmp_path, topic=topic)
    _note(tmp_path, "cleaner", *((name.replace("orders", topic), partition, offset) for name, partition, offset in entries))
    assert _told(directory) == told


def test_what_the_cleaner_did_below_its_checkpoint_explains_no_gap_above(tmp_path: Path) -> None:
    for number, (segments, noted, told) in enumerate(
        (
            ({0: _ten(0)[:4] + _ten(0)[5:], 10: _ten(10), 30: _ten(30)}, 10, [("segment-missing", "error", 20, 29)]),
            ({0: [*_ten(0)[:9], *_ten(10)], 30: _ten(30)}, 10, [("segments-gap", "info", 20, 29)]),
            ({0: [_batch(0, 0, span=2), _batch(2, 7, span=8)], 20: _ten(20)}, 5, GAP),
        )
    ):
        directory = _partition(tmp_path / str(number), segments)
        _note(tmp_path / str(number), "cleaner", ("orders", 3, noted))
        assert _told(directory) == told


def test_a_small_gap_is_a_warning_and_one_beside_little_else_says_nothing(tmp_path: Path) -> None:
    for name, segments, told in (
        ("small", {0: _ten(0), 14: _ten(14)}, ("segment-missing", "warning", 10, 13)),
        ("half", {0: _ten(0), 15: _ten(15)}, ("segment-missing", "error", 10, 14)),
        ("before an empty newest segment", {0: _ten(0), 20: _ten(20), 30: []}, LOST[0]),
        ("few", {0: [_batch(0, 3)], 6: [_batch(6, 4)]}, ("segments-gap", "info", 3, 5)),
        ("enough", {0: [_batch(0, 3)], 6: [_batch(6, 5)]}, ("segment-missing", "error", 3, 5)),
        ("small of few", {0: [_batch(0, 4)], 5: [_batch(5, 4)]}, ("segment-missing", "warning", 4, 4)),
    ):
        assert _told(_partition(tmp_path / name, segments)) == [told]


@each("level", ["full", "deep"])
def test_messages_that_the_cleaner_left_in_a_wrapper_speak_for_it_or_are_not_known(level: str, tmp_path: Path) -> None:
    thinned, ten = ([message(value=b"v")] * count for count in (4, 10))
    segments = {0: [wrapper(messages=thinned, inner_offsets=[0, 2, 5, 9], offset=9)], 14: [wrapper(messages=ten, base_offset=14)]}
    assert _told(_partition(tmp_path, segments), level=level) == [("segments-gap", "info", 10, 13)]
    segments[0] = [wrapper(messages=ten)]  # whole
    missing = ("segment-missing", "warning") if level == "deep" else ("segments-gap", "info")
    assert _told(_partition(tmp_path / "whole", segments), level=level) == [(*missing, 10, 13)]


def test_a_snapshot_in_a_gap_says_that_a_segment_began_there(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {0: [_batch(0, 3)], 6: [_batch(6, 4)]}, producer_snapshots={3: [], 6: []})
    assert _told(directory) == [("segment-missing", "error", 3, 5)]
    (found,) = findings_of(directory, "segment-missing")
    assert f"{file_name(3, '.snapshot')} says that a segment started at offset 3." in found.message


@pytest.mark.parametrize(
    ("snapshot", "has_metadata", "told"),
    [
        (10, True, [("segment-missing", "warning", 10, 19)]),
        (12, True, [("segments-gap", "info", 10, 19)]),  # a broker was stopped there
        (10, False, [("segments-gap", "info", 10, 19)]),  # before 2.8, snapshots of emptied segments stayed
    ],
)
def test_where_the_cleaner_was_snapshots_attest_segments(snapshot: int, has_metadata: bool, told: object, tmp_path: Path) -> None:
    """A broker of 2.8 or later deletes the snapshot of a segment that the cleaner empties."""
    logs = {0: _ten(0)[:4] + _ten(0)[5:], 20: _ten(20)}
    directory = _partition(tmp_path, logs, producer_snapshots={snapshot: [], 20: []})
    if not has_metadata:
        (directory / "partition.metadata").unlink()
    assert _told(directory) == told
    result = recover.run([str(directory)], str(tmp_path / "out"), config={})
    assert result.is_whole == (told != [("segment-missing", "warning", 10, 19)])


# --- a segment of which only the log was removed


@each(("topic", "first"), [("orders", 10), ("__consumer_offsets", 15)])  # before it, the cleaner may have removed what is missing
def test_what_indexes_attest_of_a_segment_is_lost_and_what_is_before_it(tmp_path: Path, topic: str, first: int) -> None:
    segments = {0: _ten(0), 15: _ten(15)[:5], 20: _ten(20)}
    directory = _partition(tmp_path, segments, topic=topic, index_interval_bytes=0)
    _remove(directory, 15, ".log")
    assert _told(directory) == [("segment-missing", "error", first, 19)]
    (found,) = findings_of(directory, "segment-missing")
    assert f" {file_name(15, '.index')} and 1 more index are still there without a log; " in found.message


def test_the_first_segments_are_attested_by_their_indexes_and_by_the_leader_epochs(tmp_path: Path) -> None:
    directory = _thirty(tmp_path)
    _remove(directory, 0, ".log")
    assert _told(directory) == FIRST_LOST * 2
    _remove(directory, 0)
    _remove(directory, 10)
    assert _told(directory) == [("segments-not-local", "info", 0, 19)]  # or the topic is tiered
    for start in (20, 25):  # as retention leaves it, or a deletion of records
        (directory / EPOCHS).write_bytes(checkpoint(entries=[(0, start)]))
        assert _told(directory) == []
    internal = _partition(tmp_path, {0: _ten(0), 10: _ten(10)}, topic="__consumer_offsets")  # never in remote storage
    _remove(internal, 0)
    assert _told(internal) == FIRST_LOST


@each(
    ("log_start", "told"),
    [
        (0, []),  # a broker lists each partition of a tiered topic, and others only if they start above their first segment
        (9, []),
        (10, [("segments-not-local", "info", 0, 9)]),  # the segments were deleted, or the checkpoint is wrong
        (None, FIRST_LOST),
    ],
)
def test_first_segments_may_be_in_remote_storage(tmp_path: Path, log_start: int | None, told: object) -> None:
    directory = _thirty(tmp_path)
    _remove(directory, 0)
    _note(tmp_path, "log-start", ("orders", 2, 0), *([("orders", 3, log_start)] if log_start is not None else []))
    assert _told(directory) == told
    says = "log-start-offset-checkpoint says 10: if that is so, they were deleted, and nothing is missing."
    assert {one.message.endswith(says) for one in findings_of(directory, "segments-not-local")} <= {True}
    (directory / file_name(0, ".log.swap")).write_bytes(_batch(0))  # a start puts it in its place
    assert _told(directory) == []
    assert b"the file is removed" not in run_here("check", tmp_path)[1]


def test_what_is_left_of_the_first_segments_says_who_removed_them(tmp_path: Path) -> None:
    directory = _thirty(tmp_path)
    for left, told in (
        (".index", FIRST_LOST),  # a broker that deletes a segment deletes it as well
        (".log.deleted", []),  # from a broker that then crashed
        (".log.bak", [("segments-not-local", "info", 0, 9)]),
    ):
        _remove(directory, 0)
        (directory / file_name(0, left)).write_bytes(b"")
        assert _told(directory) == told


# --- what the metadata log beside a partition says of its topic

ORDERS, OTHER = "vaCj0ctCQVK4Fl1jHq5Gow", "xuNFeVKBTimjCGKSv9Pz9Q"
BY = ", by {}/__cluster_metadata-0, up to offset {}, 2023-11-14 22:13:20.000 UTC"
Config = tuple[str, str | None]


def _write_metadata(log_directory: Path, *values: bytes, **properties: str) -> None:
    path = log_directory / "__cluster_metadata-0"
    path.mkdir(parents=True)
    batches = [batch(base_offset=row, records=[record(value=value)]) for row, value in enumerate(values)]
    (path / file_name(0, ".log")).write_bytes(b"".join(batches))
    _write_properties(log_directory, **properties)


def _write_properties(log_directory: Path, node: str = "1", cluster: str = "abc", directory: str = "") -> None:
    lines = ["version=1", f"node.id={node}", f"cluster.id={cluster}", *([f"directory.id={directory}"] if directory else [])]
    (log_directory / "meta.properties").write_text("".join(f"{line}\n" for line in lines))


def _with_gap(log_directory: Path, **others: Any) -> Path:
    """A partition that lacks the offsets 2 to 4."""
    log_directory.mkdir(exist_ok=True)
    directory = _partition(log_directory, {0: [_batch(0), _batch(1), _batch(5)]}, **others)
    (directory / "partition.metadata").write_bytes(partition_metadata(topic_id=ORDERS))
    return directory


def _gap(path: Path, **settings: Any) -> tuple[str, str]:
    """The severity and the message of the one gap inside a segment."""
    (found,) = findings_of(path, "offset-gap", **settings)
    return found.severity, found.message


@each(
    ("configs", "severity", "words"),
    [
        ([("cleanup.policy", "delete")], "error", "though the topic is not compacted (cleanup.policy=delete"),
        ([("cleanup.policy", "compact")], "info", "The topic is compacted (cleanup.policy=compact"),
        ([("cleanup.policy", "compact,delete")], "info", "The topic is compacted (cleanup.policy=compact,delete"),
        ([("cleanup.policy", "compact"), ("cleanup.policy", "delete")], "info", "The topic was compacted at some time"),
        ([("cleanup.policy", "delete"), ("cleanup.policy", None)], "info", "The topic has no cleanup.policy of its own"),
        ([("retention.ms", "1")], "info", "so it has that of its broker: delete, unless configured."),
        ([], "info", "The topic has no cleanup.policy of its own"),
    ],
)
def test_gaps_are_judged_by_the_policy_in_the_metadata(tmp_path: Path, configs: list[Config], severity: str, words: str) -> None:
    directory = _with_gap(tmp_path)
    _write_metadata(tmp_path, topic("orders", ORDERS), *(config("orders", *one) for one in configs))
    for path in (directory, directory / file_name(0, ".log")):
        found, message = _gap(path)
        assert (found, words in message) == (severity, True)
        assert BY.format(tmp_path, len(configs)) in message
    assert _gap(directory, cleanup_policy="delete")[0] == "error"  # the option overrides
    found, message = _gap(directory, cleanup_policy="compact")
    assert (found, "__cluster_metadata" in message) == ("info", False)
    (directory / "partition.metadata").unlink()
    assert _gap(directory)[0] == severity
    (directory / "partition.metadata").write_bytes(partition_metadata(topic_id=OTHER))  # of a topic that had this name before
    found, message = _gap(directory)
    assert (found, "__cluster_metadata" in message) == ("info", False)


def test_the_metadata_log_is_never_compacted(tmp_path: Path) -> None:
    words = "Offset 1 is followed by 5: 3 are missing, offsets 2 to 4, though the metadata log cannot be compacted."
    directory = _with_gap(tmp_path, topic="__cluster_metadata")
    assert _gap(directory) == ("error", words)
    assert _gap(directory, cleanup_policy="delete")[1].endswith(", though the topic is not compacted.")
    directory = _partition(tmp_path / "segments", {0: _ten(0), 20: [_batch(20), _batch(22)]}, topic="__cluster_metadata")
    assert _told(directory) == [("segments-gap", "error", 10, 19)]


@each(
    ("configs", "told"),
    [
        *(([("remote.storage.enable", "true")], []), ([("remote.storage.enable", "false")], FIRST_LOST)),
        *(([("remote.storage.enable", "true"), ("remote.storage.enable", None)], FIRST_LOST), ([], FIRST_LOST)),
    ],
)
@each("log_start", [None, 0, 5])
def test_first_segments_not_tiered_are_lost(tmp_path: Path, log_start: int | None, configs: list[Config], told: object) -> None:
    directory = _thirty(tmp_path)
    (directory / "partition.metadata").write_bytes(partition_metadata(topic_id=ORDERS))
    _remove(directory, 0)
    if log_start is not None:
        _note(tmp_path, "log-start", ("orders", 3, log_start))
    _write_metadata(tmp_path, topic("orders", ORDERS), *(config("orders", *one) for one in configs))
    assert _told(directory) == told


@pytest.mark.parametrize("topic_id", [ORDERS, OTHER])
def test_a_topic_id_that_the_metadata_contradicts_is_an_error_that_recover_leaves(tmp_path: Path, topic_id: str) -> None:
    data = tmp_path / "data"
    directory = _partition(data, {0: _ten(0)})
    (directory / "partition.metadata").write_bytes(partition_metadata(topic_id=topic_id))
    _write_metadata(data, topic("orders", ORDERS), replicas(ORDERS, 3, 1))
    result = recover.run([str(data)], str(tmp_path / "out"), config={})
    assert [row.code for row in kdump.check(tmp_path / "out") if row.severity == "error"] == ["partition-metadata-bad"] * (
        topic_id == OTHER
    )
    assert (result.remaining_errors, result.is_whole) == (topic_id == OTHER, topic_id == ORDERS)


def test_files_of_a_topic_that_is_deleted_go_one_by_one(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {base: _ten(base) for base in (0, 10, 20, 30)})
    for base, suffixes in ((0, ()), (10, (".log",)), (30, (".log",))):
        _remove(directory, base, *suffixes)
    gone = directory.rename(tmp_path / "orders-3.0123456789abcdef0123456789abcdef-delete")
    assert [one for one in findings_of(gone) if one.severity == "error"] == []


def test_an_index_of_another_log_attests_nothing(tmp_path: Path) -> None:
    batches = [_batch(row) for row in range(40)]
    directory = _partition(tmp_path, {0: batches})
    for shift, lost in ((0, [(40, 59)]), (7, [])):
        entries = [(row, row * len(batches[0]) + shift) for row in range(1, 60, 2)]
        (directory / file_name(0, ".index")).write_bytes(index_of(entries=entries))
        assert _cut_off(directory) == lost
    for suffix in (".log", ".index", ".timeindex"):  # a renamed segment: all count from its former base offset
        (directory / file_name(0, suffix)).rename(directory / file_name(100, suffix))
    assert _cut_off(directory) == []
    _remove(directory, 100, ".index")
    assert _cut_off(directory) == []


def test_an_index_of_appends_or_of_wrappers_attests_what_is_lost(tmp_path: Path) -> None:
    """An entry of an append that was many batches has the last of their offsets, one of a wrapper may have the first."""
    appended = [_batch(row) for row in range(40)]
    messages = [message(value=b"v", magic=1)] * 2
    wrappers = [wrapper(messages=messages, magic=1, codec="gzip", base_offset=row) for row in range(0, 40, 2)]
    for number, (batches, per_entry, offset) in enumerate(((appended, 2, 1), (wrappers, 1, 0))):
        directory = _partition(tmp_path / str(number), {0: batches})
        entries = [(2 * row + offset, per_entry * row * len(batches[0])) for row in range(30)]
        (directory / file_name(0, ".index")).write_bytes(index_of(entries=entries))
        (directory / file_name(0, ".timeindex")).write_bytes(b"")
        assert _cut_off(directory) == [(40, 58 + offset)]


@each(("end", "lost"), [(19, []), (20, []), (21, [(20, 20)]), (35, [(20, 34)])])
def test_a_snapshot_of_kraft_attests_all_below_its_offset(tmp_path: Path, end: int, lost: list[tuple[int, int]]) -> None:
    directory = _partition(tmp_path, {0: _ten(0), 10: _ten(10)}, topic="__cluster_metadata")
    (directory / f"{end:020d}-0000000003.checkpoint").write_bytes(b"")
    assert _cut_off(directory) == lost


def test_a_directory_without_any_file_of_a_segment_lost_all_where_leaders_were_elected(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {0: _ten(0)})
    _remove(directory, 0)
    assert _told(directory) == [("segment-missing", "error", None, None)]
    (directory / EPOCHS).write_bytes(checkpoint(entries=[]))
    assert _told(directory) == []


def test_a_directory_without_any_log_lost_all_that_its_indexes_know_of(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {0: _ten(0), 10: _ten(10)}, index_interval_bytes=0)
    _remove(directory, 0, ".log")
    _remove(directory, 10, ".log")
    assert _told(directory) == [("segment-missing", "error", None, None), ("segment-missing", "error", 0, 19)]
    _note(tmp_path, "replication", ("orders", 3, 20))
    (found,) = findings_of(directory, "high-watermark-beyond-end")
    assert (found.offset_first, found.offset_last) == (0, 19)


def test_indexes_of_later_segments_attest_what_the_newest_log_lacks(tmp_path: Path) -> None:
    directory = _thirty(tmp_path, index_interval_bytes=0)
    _remove(directory, 20, ".log")
    assert _cut_off(directory) == [(20, 29)]
    (directory / file_name(15, ".index")).write_bytes(b"")  # which knows of no offset that is not there
    for suffix in (".timeindex", ".index"):
        assert _cut_off(directory) == [(20, 29)]
        _remove(directory, 20, suffix)
    assert _cut_off(directory) == []


def test_a_log_ends_where_its_empty_newest_segment_starts(tmp_path: Path) -> None:
    _partition(tmp_path, {0: _ten(0), 10: []})
    for noted, codes in ((10, []), (11, ["high-watermark-beyond-end"])):
        _note(tmp_path, "replication", ("orders", 3, noted))
        found = run_here("check", "--output", "ndjson", tmp_path)[1].decode()
        assert [code for code in ("high-watermark-beyond-end", "epochs-beyond-log") if code in found] == codes


def test_of_all_files_that_know_of_offsets_the_highest_counts(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {0: []})
    aborted = [aborted_transaction(producer_id=of, first_offset=0, last_offset=16 - of, last_stable_offset=0) for of in (9, 7)]
    for path, data, known in (
        (directory / file_name(0, ".log"), b"", -1),
        (directory / file_name(0, ".index"), index_of(entries=[(3, 100), (7, 200)]), 7),
        *((directory / file_name(0, ".timeindex"), time_index(entries=[(at, 8)]), 7) for at in (-1, 10**16 + 1)),
        *((directory / file_name(0, ".timeindex"), time_index(entries=[(at, 8)]), 8) for at in (0, 10**16, TIMESTAMP)),
        (directory / file_name(0, ".txnindex"), transaction_index(entries=aborted), 9),
        (directory / file_name(12, ".snapshot"), producer_snapshot(entries=[]), 11),
        (tmp_path / "recovery-point-offset-checkpoint", checkpoint(entries=[("orders", 3, 15), ("orders", 2, 99)]), 14),
        (tmp_path / "replication-offset-checkpoint", checkpoint(entries=[("orders", 3, 18)]), 17),
        (tmp_path / "replication-offset-checkpoint", checkpoint(entries=[("orders", 3, 1)]), 14),
    ):
        path.write_bytes(data)
        facts = PartitionFacts(str(directory), PartitionFiles(str(directory)), Settings(now=0), lambda _: None)
        assert highest_known(facts, 0) == known, path.name
    (directory / file_name(0, ".log")).write_bytes(b"".join(_ten(0)))  # of which the entries do not lead to any batch
    assert last_offsets(facts, 0) == {9}, "a transaction index has whole offsets"


def test_a_log_that_a_start_puts_in_place_is_not_lost(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {0: _ten(0)}, index_interval_bytes=0)
    log = (directory / file_name(0, ".log")).rename(directory / file_name(0, ".log.swap"))
    (directory / EPOCHS).unlink()
    assert _told(directory) == []
    assert {one.severity for one in findings_of(directory, "index-orphan")} == {"warning"}
    log.write_bytes(b"".join(_ten(0)[:-1]))  # the indexes know of one more
    assert _told(directory) == FIRST_LOST
    log.write_bytes(b"".join(_ten(0)))
    (directory / file_name(0, ".log.cleaned")).write_bytes(b"")  # beside it, a start deletes the other
    assert _told(directory) == FIRST_LOST


@each("grows", [10, 20], ids=["the newest log", "another log"])
def test_checkpoints_of_a_broker_that_writes_meanwhile_attest_nothing(tmp_path: Path, grows: int) -> None:
    directory = _partition(tmp_path, {0: _ten(0), 10: _ten(10)})
    _note(tmp_path, "replication", ("orders", 3, 30))
    (directory / EPOCHS).write_bytes(checkpoint(entries=[(0, 0), (1, 25)]))

    def emit(row: Row) -> None:
        found.append(row)
        if isinstance(row, FileReport) and row.path.endswith(file_name(10, ".log")):
            with (directory / file_name(grows, ".log")).open("ab") as log:
                log.write(b"".join(_ten(20)))

    found: list[Row] = []
    run(Job(Job.PARTITION, str(directory)), Settings(now=NOW), emit)
    assert [one.code for one in found if isinstance(one, Finding) and one.severity == "error"] == []
    _remove(directory, 20)
    (directory / file_name(10, ".log")).write_bytes(b"".join(_ten(10)))
    assert {one.code for one in findings_of(directory)} == {"high-watermark-beyond-end", "epochs-beyond-log"}


def test_indexes_of_a_log_that_has_grown_since_it_was_opened_attest_nothing(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {0: _ten(0)}, index_interval_bytes=0)
    log = directory / file_name(0, ".log")
    facts = PartitionFacts(str(directory), PartitionFiles(str(directory)), Settings(now=0), lambda _: None)
    with Source(str(log)) as source:
        context = FileContext(source, str(log), "log", facts.settings, lambda _: None, base_offset=0, partition=facts)
        assert [one.name for one in after(context, 4)] == [file_name(0, ".index")]
        log.write_bytes(log.read_bytes() + b"".join(_ten(10)))
        assert after(context, 4) == []


# --- a newest segment that is cut or emptied


def _plain(rng: random.Random) -> dict[int, list[bytes]]:
    """Segments of a topic that is not compacted."""
    segments: dict[int, list[bytes]] = {}
    offset = rng.choice([0, 0, 1000])
    for _ in range(rng.randint(3, 7)):
        base, batches = offset, []
        for _ in range(rng.randint(3, 9)):
            count = rng.randint(1, 5)
            batches.append(_batch(offset, count, timestamp=TIMESTAMP + offset))
            offset += count
        segments[base] = batches
    return segments


def _some(rng: random.Random, entries: Sequence[Any]) -> list[Any]:
    return [entry for entry in entries if rng.random() < 0.5]


@each("seed", range(120))
def test_what_is_cut_off_a_newest_segment_is_an_error_only_where_something_attests_it(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    segments = _plain(rng)
    newest = max(segments)
    batches = segments[newest]
    ends = [sum(map(len, batches[:row])) for row in range(len(batches) + 1)]
    lasts = [int.from_bytes(data[:8], "big") + int.from_bytes(data[23:27], "big") for data in batches]
    log_end = lasts[-1] + 1
    directory = _partition(tmp_path, segments)
    attested = [newest - 1]
    indexed = _some(rng, list(zip(lasts, ends, strict=False))[1:]) if rng.random() < 0.6 else []
    (directory / file_name(newest, ".index")).write_bytes(index_of(entries=indexed, base_offset=newest))
    timed = _some(rng, [(TIMESTAMP + int.from_bytes(data[:8], "big"), last) for data, last in zip(batches, lasts, strict=True)])
    timed = timed if rng.random() < 0.6 else []
    (directory / file_name(newest, ".timeindex")).write_bytes(time_index(entries=timed, base_offset=newest))
    attested += [last for last, _ in indexed] + [last for _, last in timed]
    if rng.random() < 0.3:
        (directory / file_name(log_end, ".snapshot")).write_bytes(producer_snapshot())
        attested.append(log_end - 1)
    for name in ("recovery-point", "replication", "cleaner"):
        if rng.random() < 0.2:
            offset = rng.randint(newest, log_end)
            _note(tmp_path, name, ("orders", 3, offset))
            attested.append(offset - 1)
    assert [one for one in findings_of(directory) if one.severity != "info"] == []

    log = directory / file_name(newest, ".log")
    cut = rng.choice([0, rng.choice(ends[:-1]), rng.randrange(ends[-1])])
    log.write_bytes(log.read_bytes()[:cut])
    whole = sum(end <= cut for end in ends[1:])
    last = lasts[whole - 1] if whole else newest - 1
    errors = [one for one in findings_of(directory) if one.severity == "error"]
    if max(attested) <= last:
        assert errors == []
        return
    told = [(one.offset_first, one.offset_last) for one in errors if one.offset_first is not None and one.offset_last is not None]
    assert min(first for first, _ in told) == last + 1
    assert max(attested) <= max(last for _, last in told) < log_end
