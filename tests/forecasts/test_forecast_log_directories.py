"""Forecasts of whole log directories, as observed with brokers of 4.3.1 and 3.9.1 (KRaft) and 2.8.2 (ZooKeeper)."""

import errno
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import kdump
from kdump.errors import Unreadable
from kdump.forecasts import log_directory, sentences
from kdump.forecasts.log_directory import LogDirectory
from kdump.forecasts.row import Forecast
from tests.builders.cluster_metadata import registered, removed, replicas, topic
from tests.builders.files import partition_metadata, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import batch, record, snapshot_header_record
from tests.loops import each
from tests.support import run_here

RELEASES = ("2.8.2", "3.9.1", "4.3.1")
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
DIRECTORY_IDS = ("NrglXNcJRLDQ0m7HIWSVLg", "emZFfqIw5fA07IT64B8Cnw")
CHECKPOINTS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint")
ORDERS, PAYMENTS, UNKNOWN = "vaCj0ctCQVK4Fl1jHq5Gow", "xuNFeVKBTimjCGKSv9Pz9Q", "AAAAAAAAAAAAAAAAAAAA_w"
IDENTITY = "0123456789abcdef0123456789abcdef"
ERRORS = "org.apache.kafka.common.errors"
SNAPSHOT = "00000000000000000009-0000000001.checkpoint"
SNAPSHOT_HEADER = batch(records=[snapshot_header_record()], is_control=True)
WRITTEN = "2023-11-14 22:13:20.000 UTC"  # the builders' TIMESTAMP
Values = dict[str, str | None]  # of meta.properties, with _ for .
Outcome = tuple[str, str, str | None]
Patch = pytest.MonkeyPatch


def _batch(offset: int, value: bytes = b"v") -> bytes:
    return batch(base_offset=offset, records=[record(value=value)])


def _partition(path: Path, topic_id: str | None = ORDERS, data: bytes | None = None) -> Path:
    path.mkdir(parents=True)
    (path / "00000000000000000000.log").write_bytes(_batch(0) if data is None else data)
    (path / "00000000000000000000.index").write_bytes(b"")
    (path / "00000000000000000000.timeindex").write_bytes(b"")
    (path / "leader-epoch-checkpoint").write_text("0\n0\n")
    if topic_id is not None:
        (path / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    return path


def _log_directory(path: Path, *partitions: str, **values: str | None) -> Path:
    path.mkdir(parents=True)
    for name in partitions:
        _partition(path / name)
    of_kraft: Values = {"version": "1", "cluster.id": CLUSTER, "node.id": "1"}
    properties = of_kraft | {name.replace("_", "."): value for name, value in values.items()}
    lines = [f"{name}={value}\n" for name, value in properties.items() if value is not None]
    (path / "meta.properties").write_text("#\n" + "".join(lines))
    for name in CHECKPOINTS:
        (path / name).write_text("0\n0\n")
    return path


def _broker(folder: Path, first: Values, second: Values) -> Path:
    """Two log directories of one broker, with one partition each, and a folder beside them that is none."""
    (folder / "config").mkdir(parents=True)
    (folder / "config/server.properties").write_text("log.dirs=d1,d2\n")
    _log_directory(folder / "d1", "orders-0", **{"directory_id": DIRECTORY_IDS[0]} | first)
    _log_directory(folder / "d2", "orders-1", **{"directory_id": DIRECTORY_IDS[1]} | second)
    return folder


OF_ZOOKEEPER: Values = {"version": "0", "node_id": None, "broker_id": "1"}


def _zookeeper_broker(folder: Path, **second: str | None) -> Path:
    _log_directory(folder / "d1", "orders-0", **OF_ZOOKEEPER)
    _log_directory(folder / "d2", "orders-1", **OF_ZOOKEEPER | second)
    return folder


def _outcomes(path: Path, **options: Any) -> list[Outcome]:
    rows = kdump.forecast(path, after="clean", **options)
    return [(os.path.relpath(row.path, path), row.outcome, row.exception) for row in rows]


def _only(path: Path, **options: Any) -> Forecast:
    (row,) = kdump.forecast(path, **{"after": "clean"} | options)
    return row


def _by_name(path: Path, **options: Any) -> dict[str, Forecast]:
    return {Path(row.path).name: row for row in kdump.forecast(path, after="clean", **options)}


def _run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    status, out, err = run_here("forecast", *arguments)
    return subprocess.CompletedProcess(arguments, status, out.decode(), err.decode())


# --- meta.properties

RUNTIME = "java.lang.RuntimeException"
BOTH_DIE = [("d1/orders-0", "die", RUNTIME), ("d2/orders-1", "die", RUNTIME)]
SECOND_OFFLINE = [("d1/orders-0", "keep", None), ("d2/orders-1", "offline", None)]
SECOND_DIES = [("d1/orders-0", "keep", None), ("d2/orders-1", "die", RUNTIME)]
SOUND = [("d1/orders-0", "keep", None), ("d2/orders-1", "keep", None)]


@each("release", ["3.9.1", "4.3.1"])
@each(
    ("second", "expected"),
    [
        *(({}, SOUND), ({"cluster_id": "XkU3OEVBNTcwNTJENDM2Qg"}, BOTH_DIE), ({"node_id": "2"}, BOTH_DIE)),
        *(({"directory_id": DIRECTORY_IDS[0]}, BOTH_DIE), ({"version": "2"}, SECOND_OFFLINE)),
        *(({"version": "x"}, SECOND_OFFLINE), ({"node_id": None}, SECOND_OFFLINE)),
        *(({"node_id": None, "broker_id": "1"}, SECOND_OFFLINE), ({"node_id": "x"}, SECOND_OFFLINE)),
        *(({"cluster_id": None}, SECOND_OFFLINE), ({"directory_id": "xyz"}, SECOND_OFFLINE)),
        *(({"directory_id": "AAAAAAAAAAAAAAAAAAAAAA"}, SECOND_DIES), ({"version": None}, SECOND_DIES)),
        *(({"version": "0"}, SECOND_DIES), ({"directory_id": None}, SOUND), ({"broker_id": "7"}, SOUND)),
        ({"version": "0", "node_id": None, "broker_id": "1"}, SOUND),
        ({"version": "0", "node_id": None, "broker_id": "1", "cluster_id": None}, SECOND_DIES),
    ],
)
def test_kraft_brokers_compare_log_directories(tmp_path: Path, release: str, second: Values, expected: list[Outcome]) -> None:
    assert _outcomes(_broker(tmp_path, {}, second), broker=release) == expected


def test_each_log_directory_of_a_kraft_broker_needs_its_properties(tmp_path: Path) -> None:
    both_die = [(name, "die", INCONSISTENT) for name, _, _ in BOTH_DIE]
    assert _outcomes(_broker(tmp_path, {}, {}), broker="2.8.2") == both_die  # where directory.id has to be equal, too
    (tmp_path / "d2/meta.properties").unlink()
    for release in ("3.9.1", "4.3.1"):
        assert _outcomes(tmp_path, broker=release) == BOTH_DIE
    reason = f"there is no meta.properties in {tmp_path}/d2"
    assert {row.reason for row in kdump.forecast(tmp_path)} == {reason}
    run = _run(tmp_path)
    assert (run.returncode, run.stdout.count("The broker does not start (RuntimeException)")) == (1, 1)
    told = f"{tmp_path}/d1 {tmp_path}/d2 log directories of 2 partitions fails after any stop"
    assert " ".join(run.stdout.split()).startswith(told)
    assert f"  ls -la {tmp_path}/d2   # {reason}" in run.stdout


def test_a_log_directory_that_lost_its_properties_alone_is_reported_to_need_them(tmp_path: Path) -> None:
    (_log_directory(tmp_path / "d1", "orders-0") / "meta.properties").unlink()
    row = _only(tmp_path / "d1", recovery_point="zero")
    (condition,) = row.conditions
    assert condition.startswith("there is no meta.properties: a KRaft broker only starts if ")
    assert row.is_safe  # a copy may lack what the original has
    old = _only(tmp_path / "d1", recovery_point="zero", broker="2.8.2")
    assert (old.conditions, old.is_safe) == ([], True)
    assert _only(tmp_path / "d1/orders-0", recovery_point="zero").conditions == []  # nobody asks for its log directory


INCONSISTENT = "kafka.common.InconsistentBrokerMetadataException"


@each(
    "second, exception",
    [
        *(({}, None), ({"cluster_id": "XkU3OEVBNTcwNTJENDM2Qg"}, INCONSISTENT), ({"broker_id": "2"}, INCONSISTENT)),
        *(({"broker_id": None}, INCONSISTENT), ({"cluster_id": None}, INCONSISTENT), ({"version": None}, INCONSISTENT)),
        *(({"foo": "bar"}, INCONSISTENT), ({"foo": "bar", "cluster_id": "x", "broker_id": "2"}, INCONSISTENT)),
    ],
)
def test_a_broker_of_2_8_wants_the_same_in_all_meta_properties(tmp_path: Path, second: Values, exception: str | None) -> None:
    outcome = "keep" if exception is None else "die"
    expected = [("d1/orders-0", outcome, exception), ("d2/orders-1", outcome, exception)]
    assert _outcomes(_zookeeper_broker(tmp_path, **second), broker="2.8.2") == expected
    names = ", ".join(sorted(name.replace("_", ".") for name in second))
    reasons = {row.reason for row in kdump.forecast(tmp_path, broker="2.8.2")}
    assert reasons == {f"meta.properties of {tmp_path}/d1 and of {tmp_path}/d2 differ in {names}" if second else None}


@each(
    "release, values, outcome",
    [
        *(
            ("2.8.2", {name: value}, ("die", RUNTIME))
            for name, value in (*(("version", one) for one in "12x"), ("broker_id", "x"))
        ),
        ("2.8.2", {"directory_id": "xyz"}, ("keep", None)),  # which it does not read
        ("3.9.1", {"directory_id": "xyz"}, ("offline", None)),
    ],
    quick=5,
)
def test_malformed_properties_keep_2_8_from_its_start(tmp_path: Path, release: str, values: Values, outcome: object) -> None:
    _log_directory(tmp_path / "d1", "orders-0", **OF_ZOOKEEPER | values)
    row = _only(tmp_path / "d1", broker=release)
    assert (row.outcome, row.exception) == outcome


@each("release, outcome", [("2.8.2", "keep"), ("3.9.1", "keep"), ("4.3.1", "die"), ("4.4.0", "die"), (None, "keep")])
def test_brokers_with_kraft_need_a_cluster_id(tmp_path: Path, release: str | None, outcome: str) -> None:
    """KafkaRaftServer of 3.9.1, 4.3.1 and 4.4.0: "cluster ID not found in DIR"; those with ZooKeeper had none at first."""
    path = _log_directory(tmp_path / "d1", "orders-0", **OF_ZOOKEEPER | {"cluster_id": None})
    assert _only(path, broker=release).outcome == outcome
    run = _run(path, *([] if release is None else ["--broker", release]))
    assert (run.returncode, "except for a broker with KRaft" in run.stdout) == (int(outcome == "die"), release is None)


@pytest.mark.parametrize("text", ["foo=\\uZZ", "foo=\\\\\\u12"])
def test_a_malformed_escape_makes_meta_properties_unreadable(tmp_path: Path, text: str) -> None:
    _broker(tmp_path, {}, {})
    path = tmp_path / "d2/meta.properties"
    path.write_text(path.read_text() + text)
    assert _outcomes(tmp_path) == SECOND_OFFLINE
    path.write_text(path.read_text().replace(text, "foo=\\\\u\\u00e4\n#\\u"))
    assert _outcomes(tmp_path) == SOUND


def test_nothing_happens_to_files_where_no_log_is_loaded(tmp_path: Path) -> None:
    log = _broker(tmp_path, {}, {"node_id": "2"}) / "d1/orders-0/00000000000000000000.log"
    log.write_bytes(_batch(0) + _batch(1)[:-1] + b"?")
    (tmp_path / "d1" / CHECKPOINTS[0]).write_text("nonsense\n")  # which is not looked at, either
    row = next(iter(kdump.forecast(tmp_path, after="unclean")))
    assert (row.outcome, row.bytes_lost, row.lost_records, row.files, row.segments) == ("die", 0, 0, [], None)
    assert (row.is_safe, row.bad_checkpoint) == (False, "")


# --- whose log directory it is


FIRST_ID, SECOND_ID = ({"directory_id": identity} for identity in DIRECTORY_IDS)
APART: dict[str, list[tuple[str, list[str], Values]]] = {
    "of brokers that hold replicas of each other": [
        ("one", ["orders-0", "orders-1"], {**FIRST_ID}),
        ("two", ["orders-0"], {"node_id": "2", **SECOND_ID}),
    ],
    "a second disk of one of two brokers, and the other": [
        ("one-a", ["orders-0"], {**FIRST_ID}),
        ("one-b", ["orders-1"], {**SECOND_ID}),
        ("two", ["orders-0"], {"node_id": "2", "directory_id": UNKNOWN}),
    ],
}


@each("name", APART)
def test_log_directories_of_several_brokers_are_not_compared(name: str, tmp_path: Path) -> None:
    for folder, partitions, values in APART[name]:
        _log_directory(tmp_path / folder, *partitions, **values)
    assert [outcome for _, outcome, _ in _outcomes(tmp_path)] == ["keep", "keep", "keep"]


def test_a_copy_of_a_log_directory_beside_it_is_not_a_duplicate(tmp_path: Path) -> None:
    for name in ("d1", "d1.bak"):
        _log_directory(tmp_path / name, "orders-0", directory_id=DIRECTORY_IDS[0])
    rows = list(kdump.forecast(tmp_path, after="clean"))
    assert [(row.outcome, row.is_safe) for row in rows] == [("keep", True), ("keep", True)]
    for row in rows:
        assert f"one is a copy of the other: both have the directory.id {DIRECTORY_IDS[0]}" in row.conditions[-1]
    run = _run(tmp_path)
    assert (run.returncode, "one is a copy of the other" in " ".join(run.stdout.split())) == (0, True)
    assert _run(tmp_path / "d1", tmp_path / "d1.bak").returncode == 1  # because log.dirs may list both
    for name, identity in zip("ab", DIRECTORY_IDS, strict=True):  # no copy has an id of its own
        _log_directory(tmp_path / "two" / name, "orders-0", directory_id=identity)
    assert {outcome for _, outcome, _ in _outcomes(tmp_path / "two")} == {"die"}


# --- -stray


@pytest.mark.parametrize("identity", [IDENTITY, IDENTITY.upper(), "abc", "xuNFeVKBTimjCGKSv9Pz9Q"])
def test_a_stray_directory_is_loaded_and_not_served(tmp_path: Path, identity: str) -> None:
    _log_directory(tmp_path / "d1", "orders-1", f"orders-0.{identity}-stray")
    for release in ("3.9.1", "4.3.1"):
        stray, served = kdump.forecast(tmp_path / "d1", after="clean", broker=release)
        assert (stray.outcome, stray.log_start, stray.log_end, stray.segments) == ("keep", None, None, None)
        assert (stray.data_end, stray.is_safe, served.log_end) == (1, True, 1)
    assert "does not serve its log" in _run(tmp_path / "d1").stdout


def test_a_partition_that_is_there_under_the_name_of_a_stray_only_begins_empty(tmp_path: Path) -> None:
    stray = f"orders-0.{IDENTITY}-stray"
    _log_directory(tmp_path / "d1", stray, *(f"orders-{number}.{IDENTITY}-stray" for number in (1, 2, 3)), "orders-1")
    nodes = {0: [1], 1: [1], 2: [2, 3]}  # of this broker, 1; there is no partition 3
    _with_metadata(tmp_path / "d1", topic("orders", ORDERS), *(replicas(ORDERS, number, *of) for number, of in nodes.items()))
    rows = _by_name(tmp_path / "d1")
    assert [name for name, row in rows.items() if not row.is_safe] == [stray]
    assert rows[stray].conditions[0].startswith("orders-0 belongs to this broker, but exists in no log directory")


def test_a_broker_of_2_8_does_not_start_with_a_stray_directory(tmp_path: Path) -> None:
    row = _only(_partition(tmp_path / f"orders-0.{IDENTITY}-stray"), broker="2.8.2")
    assert (row.outcome, row.exception) == ("die", "org.apache.kafka.common.KafkaException")


@each("name", ["orders-0-stray", "orders.a-stray", "orders 0-1.a b-stray", "orders-0.-stray"])
def test_a_mark_without_an_id_after_a_dot_is_not_a_name_of_a_partition(tmp_path: Path, name: str) -> None:
    rows = kdump.forecast(_log_directory(tmp_path / "d1", "orders-1", name), after="clean")
    assert sorted(row.outcome for row in rows) == ["die", "keep"]


# --- partition.metadata


def _with_metadata(log_directory: Path, *values: bytes) -> None:
    data = b"".join(_batch(offset, value) for offset, value in enumerate(values))
    _partition(log_directory / "__cluster_metadata-0", None, data)


@each("release", ["3.9.1", "4.3.1"])
@each("where", ["d1", "d2"])
@each(
    ("text", "outcome", "reason"),
    [
        (f"version: 0\ntopic_id: {ORDERS}\n", "keep", None),
        (
            f"version: 0\ntopic_id: {UNKNOWN}\n",
            "stray",
            f"no topic has the id {UNKNOWN} of its partition.metadata; topic orders has {ORDERS}",
        ),
        (None, "stray", "there is no partition.metadata, so its topic id is not known"),
    ],
)
def test_a_partition_whose_topic_id_is_not_that_of_the_metadata_is_set_aside(
    tmp_path: Path, release: str, where: str, text: str | None, outcome: str, reason: str | None
) -> None:
    _broker(tmp_path, {}, {})
    _with_metadata(tmp_path / where, topic("orders", ORDERS), replicas(ORDERS, 0, 1), replicas(ORDERS, 1, 2, 1))
    file = tmp_path / "d2/orders-1/partition.metadata"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    for path in (tmp_path, tmp_path / "d2", tmp_path / "d2/orders-1"):
        rows = {Path(row.path).name: row for row in kdump.forecast(path, after="clean", broker=release)}
        row = rows["orders-1"]
        by = "" if where == "d2" or text is None else f" (by {tmp_path}/d1/__cluster_metadata-0, up to offset 2, {WRITTEN})"
        why = None if reason is None else reason + by
        assert (row.outcome, row.reason, row.conditions, row.is_safe) == (outcome, why, [], outcome == "keep")
        assert (row.log_end, row.data_end) == (None if outcome == "stray" else 1, 1)
        assert {other.outcome for name, other in rows.items() if name != "orders-1"} <= {"keep"}


GONE = f"no topic has the id {ORDERS} of its partition.metadata; the cluster has no topic orders"


@each(
    "name, records, reason",
    [
        ("orders-9", [], "topic orders has no partition 9"),
        ("orders-1", [replicas(ORDERS, 1, 2, 3)], "its replicas are on 2, 3, and this is broker 0"),
        ("orders-0", [removed(ORDERS)], GONE),
    ],
)
def test_what_is_no_replica_of_the_broker_is_set_aside(tmp_path: Path, name: str, records: list[bytes], reason: str) -> None:
    _log_directory(tmp_path / "d1", name, node_id="0")
    _with_metadata(tmp_path / "d1", topic("orders", ORDERS), replicas(ORDERS, 0, 0), *records)
    row = _by_name(tmp_path / "d1")[name]
    assert (row.outcome, row.reason) == ("stray", reason)
    run = _run("--after", "clean", tmp_path / "d1")
    assert (run.returncode, "renames the directory to -stray" in run.stdout) == (1, True)


def test_a_partition_with_the_id_of_another_topic_is_not_safe(tmp_path: Path) -> None:
    _with_metadata(_log_directory(tmp_path / "d1", "orders-0"), topic("x", ORDERS), replicas(ORDERS, 0, 1))
    row = _by_name(tmp_path / "d1")["orders-0"]
    assert (row.outcome, row.is_safe) == ("keep", False)
    assert row.conditions == ["its topic id is that of topic x: the broker does not serve it"]


def test_the_metadata_of_another_cluster_or_with_a_gap_says_nothing(tmp_path: Path) -> None:
    _log_directory(tmp_path / "d1", "orders-0")
    _with_metadata(_log_directory(tmp_path / "other", cluster_id="another"), topic("orders", UNKNOWN))
    assert _only(tmp_path / "d1").outcome == "keep"
    shutil.rmtree(tmp_path / "other")
    _partition(tmp_path / "d1/__cluster_metadata-0", None, _batch(0, topic("orders", ORDERS)) + _batch(2, removed(ORDERS)))
    assert _by_name(tmp_path / "d1")["orders-0"].outcome == "keep"


@pytest.mark.parametrize(
    ("monday", "tuesday", "are_named", "outcome"),
    [
        # A directory id is that of one log directory: with the same one, tuesday is a copy of monday.
        ({"directory_id": DIRECTORY_IDS[0]}, {"directory_id": DIRECTORY_IDS[0]}, False, "keep"),
        ({"directory_id": DIRECTORY_IDS[0]}, {"directory_id": DIRECTORY_IDS[1]}, False, "stray"),
        ({}, {}, False, "keep"),  # before 3.7, nobody can tell
        ({}, {}, True, "stray"),
        ({"directory_id": DIRECTORY_IDS[0]}, {"directory_id": DIRECTORY_IDS[1], "node_id": "2"}, False, "stray"),
        ({}, {"node_id": "2"}, False, "stray"),  # a controller's
    ],
)
def test_metadata_in_another_copy_of_the_same_directories_decides_nothing(
    tmp_path: Path, monday: Values, tuesday: Values, are_named: bool, outcome: str
) -> None:
    _log_directory(tmp_path / "monday", "orders-0", **monday)
    _with_metadata(_log_directory(tmp_path / "tuesday", "sales-0", **tuesday), topic("orders", ORDERS), removed(ORDERS))
    paths = (tmp_path / "monday", tmp_path / "tuesday") if are_named else (tmp_path / "monday",)
    run = _run("--after", "clean", *paths)
    assert f"tuesday/__cluster_metadata-0, up to offset 1, {WRITTEN}" in " ".join(run.stdout.split())
    assert ("renames the directory to -stray" in run.stdout) == (outcome == "stray")
    assert run.returncode == (outcome == "stray")
    assert (b"start-loses" in run_here("check", *paths)[1]) == (outcome == "stray")


@each(
    ("node", "directories", "outcome"),
    [
        *(("1", (1,), "keep"), ("2", (1,), "keep")),  # node 1 has registered another directory only: this metadata is not its
        *(("1", (0, 1), "stray"), ("2", (0,), "stray"), ("2", (), "stray")),
    ],
)
def test_metadata_that_names_other_directories_of_a_node_only_says_nothing(
    tmp_path: Path, node: str, directories: tuple[int, ...], outcome: str
) -> None:
    _log_directory(tmp_path / "d1", "orders-0", directory_id=DIRECTORY_IDS[0])
    beside = _log_directory(tmp_path / "d2", node_id=node, directory_id=DIRECTORY_IDS[1])
    ids = [DIRECTORY_IDS[row] for row in directories]
    _with_metadata(beside, registered(1, *ids[:1]), registered(1, *ids), topic("orders", ORDERS), removed(ORDERS))
    assert _only(tmp_path / "d1").outcome == outcome
    _with_metadata(tmp_path / "d1", registered(1, UNKNOWN))
    assert _by_name(tmp_path / "d1")["orders-0"].outcome == "stray"  # its own is what the start reads


def test_of_several_metadata_logs_of_one_node_beside_a_directory_none_decides(tmp_path: Path) -> None:
    _log_directory(tmp_path / "monday", "orders-0", directory_id=DIRECTORY_IDS[0])
    for name, outcome in (("tuesday", "stray"), ("wednesday", "keep")):
        beside = _log_directory(tmp_path / name, "sales-0", directory_id=DIRECTORY_IDS[1])
        _with_metadata(beside, topic("orders", ORDERS), removed(ORDERS))
        assert _only(tmp_path / "monday").outcome == outcome


@each(
    "offsets, snapshot, gap",
    [
        *(((0, 1, 5), None, "offsets 2 to 4"), ((0, 1, 3), None, "offset 2"), ((0, 1, 5), 5, "")),
        *(((0, 1, 5), 4, "offsets 2 to 4"), ((0, 1), None, "")),
        *(((0, 3, 4, 9), 3, "offsets 5 to 8"), ((0, 3, 4, 9), 2, "offsets 1 to 2"), ((0, 3, 4, 9), 9, "")),
    ],
)
@each("segments", [1, 2])
def test_metadata_with_a_later_gap_is_not_safe(
    tmp_path: Path, offsets: tuple[int, ...], snapshot: int | None, gap: str, segments: int
) -> None:
    *others, last = offsets
    path = _partition(tmp_path / "__cluster_metadata-0", None, b"".join(map(_batch, others)) + _batch(last) * (segments == 1))
    if segments == 2:
        (path / f"{last:020}.log").write_bytes(_batch(last))
    if snapshot is not None:
        (path / f"{snapshot:020d}-0000000001.checkpoint").write_bytes(SNAPSHOT_HEADER)
    row = _only(path)
    assert row.is_safe == (not gap)
    assert any(condition.startswith(f"{gap} of the metadata") for condition in row.conditions) == bool(gap)
    run = _run(path)
    assert (run.returncode, "kdump check" in run.stdout.partition("Next")[2]) == ((1, True) if gap else (0, False))


def test_metadata_that_are_missing_beside_damage_are_no_gap(tmp_path: Path) -> None:
    path = _partition(tmp_path / "__cluster_metadata-0", None, _batch(0) + flipped(_batch(1)) + _batch(5))
    assert not any("of the metadata" in condition for condition in _only(path).conditions)


# What a node of 4.3.1 throws in FileQuorumStateStore, KafkaRaftLog.recoverSnapshots, RecordsSnapshotReader and
# UnifiedLog.initializeTopicId.
@each(
    "start, name, data, exception",
    [
        *((0, "quorum-state", data, "java.io.UncheckedIOException") for data in (b"", b'{"leaderId":1}')),
        (0, "quorum-state", b'{"data_version":2}', "java.lang.IllegalStateException"),
        (0, "quorum-state", b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":1}', "java.lang.RuntimeException"),
        (0, "partition.metadata", partition_metadata(topic_id=ORDERS), f"{ERRORS}.InconsistentTopicIdException"),
        (9, "00000000000000000008-0000000001.checkpoint", b"", "java.lang.IllegalStateException"),
        *((9, SNAPSHOT, SNAPSHOT_HEADER, None), (9, SNAPSHOT, b"", "java.util.NoSuchElementException")),
        (9, SNAPSHOT, _batch(0), "java.lang.IllegalStateException"),
        (9, SNAPSHOT, flipped(_batch(0)), f"{ERRORS}.CorruptRecordException"),
    ],
)
def test_a_node_does_not_start_without_what_belongs_to_its_metadata_log(
    tmp_path: Path, start: int, name: str, data: bytes, exception: str | None
) -> None:
    path = write_partition(tmp_path, segments={start: [_batch(start)]}, topic="__cluster_metadata")
    (path / name).write_bytes(data)
    fails, run = exception is not None, _run(path)
    assert {row.exception for row in kdump.forecast(path)} == {exception}
    assert {row.exception for row in kdump.forecast(path, broker="2.8.2")} == {None}  # its metadata log has another name
    assert (kdump.verdict(path).words[0] == "does not start", run.returncode) == (fails, int(fails))
    (tmp_path / "meta.properties").touch()
    if fails and name != "partition.metadata":  # of which the check of the log directory speaks
        assert b"nothing is lost" not in run_here("check", path)[1]
    assert "with a healthy replica" not in run.stdout
    assert ("if all other voters are up: move" in run.stdout) == (start > 0 and fails)


@each("tail, end", [(b"", 9), (_batch(2)[:-1], 9), (b"", 3), (b"", 2)])
def test_a_metadata_log_that_ends_before_its_newest_snapshot_is_dropped(tmp_path: Path, tail: bytes, end: int) -> None:
    path = write_partition(tmp_path, segments={0: [_batch(0), _batch(1) + tail]}, topic="__cluster_metadata")
    (path / f"{end:020}-0000000001.checkpoint").write_bytes(SNAPSHOT_HEADER)
    for row in kdump.forecast(path):
        is_cut = row.outcome == "cut"  # which is said as of any log
        assert (row.log_end, row.is_sound, row.end_differs) == (2 if is_cut else end, not tail, False)
        is_dropped = "the log ends at offset 2, before its newest snapshot: the start drops it" in row.conditions[-1]
        assert is_dropped == (end > 2)
        assert is_cut or end == 2 or (row.log_start, row.data_end, row.segments) == (end, end, [[end, 0]])


def test_without_metadata_it_is_reported_what_the_topic_id_has_to_be(tmp_path: Path) -> None:
    row = _only(_log_directory(tmp_path / "d1", "orders-0"))
    assert (row.outcome, row.is_safe) == ("keep", True)
    (condition,) = row.conditions
    assert condition.startswith("there is no __cluster_metadata-0 to compare its topic id with: ")


def test_two_topic_ids_in_the_partitions_of_one_topic_are_not_safe(tmp_path: Path) -> None:
    _broker(tmp_path, {}, {})
    (tmp_path / "d2/orders-1/partition.metadata").write_text(f"version: 0\ntopic_id: {PAYMENTS}\n")
    rows = list(kdump.forecast(tmp_path, after="clean"))
    assert [(row.outcome, row.is_safe) for row in rows] == [("keep", False), ("keep", False)]
    assert ORDERS in rows[1].conditions[0] and PAYMENTS in rows[1].conditions[0]
    run = _run("--after", "clean", tmp_path)
    assert (run.returncode, run.stdout.count("unsure")) == (1, 2)


def test_the_topic_id_of_another_broker_is_no_conflict(tmp_path: Path) -> None:
    """Perhaps it is of another cluster, or of the topic before it was deleted."""
    _log_directory(tmp_path / "one", "orders-0", directory_id=DIRECTORY_IDS[0])
    _log_directory(tmp_path / "two", "orders-0", node_id="2", directory_id=DIRECTORY_IDS[1])
    (tmp_path / "two/orders-0/partition.metadata").write_text(f"version: 0\ntopic_id: {PAYMENTS}\n")
    assert [row.is_safe for row in kdump.forecast(tmp_path, after="clean")] == [True, True]


# --- checkpoints


def test_a_log_directory_without_its_recovery_points_starts_from_zero(tmp_path: Path) -> None:
    """Without a stored recovery point, a broker starts at zero, and scans data that it flushed long ago."""
    log_directory = _log_directory(tmp_path / "d1")
    partition = _partition(log_directory / "orders-0", data=_batch(0)[:-1] + b"?")
    (partition / "00000000000000000001.log").write_bytes(_batch(1))
    (partition / "00000000000000000001.index").write_bytes(b"")
    (log_directory / "recovery-point-offset-checkpoint").unlink()
    row = _only(log_directory, after="unclean")
    assert (row.recovery_point, row.outcome, row.lost_records, row.is_safe) == (0, "cut", 1, False)
    said = "there is no recovery-point-offset-checkpoint in the log directory: a start uses 0 for all recovery points"
    assert said in row.conditions


@each(
    "records, beside, code",
    [
        *(((), (), 0), ((), ("orders-1",), 0), ((), ("none",), 3)),  # nothing is there: it is no copy of some partitions
        ((topic("orders", ORDERS), replicas(ORDERS, 0, 1), replicas(ORDERS, 1, 1)), (), 3),
        ((topic("orders", ORDERS), replicas(ORDERS, 0, 1), replicas(ORDERS, 1, 2)), (), 0),  # it was moved to another broker
    ],
)
def test_a_partition_without_a_directory_is_not_examined(
    tmp_path: Path, records: Sequence[bytes], beside: Sequence[str], code: int
) -> None:
    path = _log_directory(tmp_path / "d1", "orders-0", directory_id=DIRECTORY_IDS[0])
    _log_directory(tmp_path / "d2", *beside, directory_id=DIRECTORY_IDS[1])
    (path / "recovery-point-offset-checkpoint").write_text("0\n3\norders 0 1\norders 1 7\norders 2 0\n")
    if records:
        _with_metadata(path, *records)
    if is_empty := beside == ("none",):
        shutil.rmtree(path / "orders-0")
    for command in ("check", "triage", "forecast"):
        exit_code, out, err = run_here(command, path)
        assert (command, exit_code) == (command, code)
        text = " ".join((out + err).decode().split())
        said = "orders-1 was flushed up to offset 7, but it has no directory here: its records were not examined."
        assert (said in text or is_empty) == bool(code)
        assert ("except for partitions that only checkpoints name" in text) == (not records and not beside)
    missing = [row for row in kdump.forecast(path, after="clean") if row.conditions and said[9:] in row.conditions[0]]
    is_said = bool(code) or not records and not beside
    assert [(Path(row.path).name, row.is_safe) for row in missing] == [("orders-1", not code)] * is_said
    exit_code, out, _ = run_here("recover", path, "-o", tmp_path / "new")
    assert (exit_code, b"1 partition not there" in out) == ((3, False) if is_empty else (code > 0, len(missing) > 0))


_KNOWN: list[tuple[dict[str, bytes], str, bool]] = [  # what is left, what is said, whether it is said beside a log of one record
    ({}, "", False),
    ({"orders-0/leader-epoch-checkpoint": b"0\n0\n", CHECKPOINTS[2]: b"0\n1\norders 0 0\n"}, "", False),
    ({"orders-0/leader-epoch-checkpoint": b"0\n1\n0 0\n"}, "epoch 0 starts at offset 0: its old offsets", False),
    ({"orders-0/leader-epoch-checkpoint": b"0\n2\n0 0\n4 10\n"}, "epoch 4 starts at offset 10: offsets", True),
    ({CHECKPOINTS[2]: b"0\n1\norders 0 10\n"}, "it had all offsets below 10 committed: offsets", True),
    ({CHECKPOINTS[0]: b"0\n1\norders 0 10\n"}, "it was flushed up to offset 10: offsets", True),
    ({"cleaner-offset-checkpoint": b"0\n1\norders 0 10\n"}, "it was cleaned up to offset 10: offsets", True),
    ({f"orders-0/{10:020}.snapshot": b"", CHECKPOINTS[2]: b"0\n1\norders 0 5\n"}, "snapshot is of offset 10: offsets", True),
    ({f"orders-0/{0:020}.timeindex": struct.pack(">qi", 1, 9)}, f"{0:020}.timeindex knows of offset 9: offsets", False),
]


@each("left, said, is_said_of_short_log", _KNOWN)
def test_a_start_without_records_that_other_files_know_of_is_not_safe(
    tmp_path: Path, left: dict[str, bytes], said: str, is_said_of_short_log: bool
) -> None:
    path = _partition(_log_directory(tmp_path / "d1") / "orders-0")
    for name, data in left.items():
        (path.parent / name).write_bytes(data)
    row = _only(path.parent)
    assert (row.is_safe, sentences.verdict(row)) == (not is_said_of_short_log, "trap" if is_said_of_short_log else "safe")
    assert ("1 to 9, now in no intact batch here, go to new records" in sentences.summary(row)) == is_said_of_short_log
    (path / f"{0:020}.log").unlink()
    row = _only(path.parent)
    assert (sentences.verdict(row), said in sentences.summary(row)) == ("trap" if said else "safe", True)
    assert ("0 to 9, now" in sentences.summary(row)) == ("offsets" in said and "old" not in said)
    assert _run(path.parent).returncode == bool(said) <= run_here("check", path.parent)[0]
    (path / "partition.metadata").unlink()
    row = _only(path.parent)
    assert (row.outcome, row.is_safe) == ("stray", not said)


# --- owners, modes and links


@each(
    "name",
    ["orders-0/00000000000000000000.log", "orders-0/partition.metadata", "recovery-point-offset-checkpoint", "meta.properties"],
)
def test_what_we_may_not_read_says_nothing_of_the_broker(tmp_path: Path, monkeypatch: Patch, name: str) -> None:
    """Which is simulated, because root may read all files."""
    path, access = _log_directory(tmp_path / "d1", "orders-0") / name, os.access
    monkeypatch.setattr("os.access", lambda asked, mode: os.fspath(asked) != str(path) and access(asked, mode))
    with pytest.raises(Unreadable, match="you may not read it; run kdump as the broker's user") as raised:
        list(kdump.forecast(tmp_path / "d1"))
    assert raised.value.path == str(path)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_checkpoint_that_may_not_be_opened_is_not_taken_for_an_empty_one(number: int, tmp_path: Path) -> None:
    """Even if it is gone when we look again."""
    path = str(_log_directory(tmp_path / "d1", "orders-0") / "recovery-point-offset-checkpoint")
    os.unlink(path)
    real = os.open

    def denied(opened: Any, *arguments: Any, **others: Any) -> int:
        if opened == path:
            raise OSError(number, os.strerror(number), path)
        return real(opened, *arguments, **others)

    with mock.patch.object(os, "open", denied), pytest.raises(Unreadable, match=f"(?i){os.strerror(number)}") as raised:
        list(kdump.forecast(tmp_path / "d1"))
    assert raised.value.path == path


STAT = os.stat


def _looks(monkeypatch: Patch, owner: int, modes: dict[Path, int], owners: dict[Path, tuple[int, int]] | None = None) -> None:
    """Simulates owners and modes of files, because tests may run as any user, and root may do everything."""

    def stat(path: Any, **options: Any) -> os.stat_result:
        fields: list[Any] = list(STAT(path, **options))  # times are floats
        if Path(path) in modes:
            fields[0] = fields[0] & ~0o777 | modes[Path(path)]
        elif fields[0] & 0o40000:
            fields[0] |= 0o755
        fields[4], fields[5] = (owners or {}).get(Path(path), (owner, owner))
        return os.stat_result(fields)

    monkeypatch.setattr("kdump.forecasts.permissions.os.stat", stat)


@each(
    "name, mode, refused",
    [
        *(("00000000000000000000.log", 0o444, "write"), ("00000000000000000000.log", 0o200, "write")),
        *(("00000000000000000000.log", 0o600, None), ("00000000000000000000.index", 0o444, "write")),
        *(("00000000000000000000.timeindex", 0o444, "write"), ("leader-epoch-checkpoint", 0o000, "read")),
        *(("leader-epoch-checkpoint", 0o444, None), ("partition.metadata", 0o000, "read")),
        *(("partition.metadata", 0o444, None), ("00000000000000000001.snapshot", 0o000, "read")),
        ("00000000000000000001.snapshot", 0o444, None),
    ],
)
def test_a_file_that_the_broker_may_not_open_as_it_does_takes_the_log_directory_offline(
    tmp_path: Path, monkeypatch: Patch, name: str, mode: int, refused: str | None
) -> None:
    log_directory = _log_directory(tmp_path / "d1", "orders-0", "orders-1")
    path = log_directory / "orders-0" / name
    path.touch()
    _looks(monkeypatch, 999, {path: mode})
    first, second = kdump.forecast(log_directory, after="clean")
    user = "a broker that runs as user 999, who owns the log directory,"
    reason = f"{user} may not {refused} {name} (owner 999, mode {mode:04o})" if refused else None
    assert (first.outcome, first.is_safe, first.reason) == ("offline" if refused else "keep", not refused, reason)
    assert second.outcome == "keep"
    path.with_name("00000000000000000000.log").write_bytes(b"torn")
    assert {row.outcome for row in kdump.forecast(path.parent, after="unclean")} == {"offline" if refused else "cut"}
    (path.parent / "partition.metadata").write_bytes(b"")
    assert {row.outcome for row in kdump.forecast(path.parent, after="unclean")} == {"die"}


@each(
    ("owners", "mode", "outcome"),
    [
        *(((0, 0), 0o644, "offline"), ((0, 0), 0o660, "offline"), ((0, 0), 0o606, "keep"), ((0, 999), 0o660, "keep")),
        *(((0, 999), 0o606, "offline"), ((999, 0), 0o066, "offline"), ((999, 0), 0o600, "keep")),
    ],
)
@each("is_roots", [False, True])
def test_a_file_is_opened_by_its_owner_its_group_or_others(
    tmp_path: Path, monkeypatch: Patch, owners: tuple[int, int], mode: int, outcome: str, *, is_roots: bool
) -> None:
    """The broker's user is the owner of the log directory, or of its meta.properties where root owns the directory."""
    directory = _log_directory(tmp_path / "d1", "orders-0")
    log = directory / "orders-0/00000000000000000000.log"
    _looks(monkeypatch, 999, {log: mode, directory: 0o777}, {log: owners} | ({directory: (0, 0)} if is_roots else {}))
    row = _only(directory)
    assert (row.outcome, row.exception) == (outcome, None)
    if outcome == "offline":
        assert str(row.reason).endswith(f"may not write {log.name} (owner {owners[0]}, mode {mode:04o})")


@each("mode, outcome", [(0o444, "offline"), (0o644, "keep")])
def test_an_unwritable_lock_takes_the_log_directory_offline(tmp_path: Path, monkeypatch: Patch, mode: int, outcome: str) -> None:
    lock = _log_directory(tmp_path / "d1", "orders-0") / ".lock"
    lock.touch()
    _looks(monkeypatch, 999, {lock: mode})
    assert _only(tmp_path / "d1").outcome == outcome


def test_where_root_owns_all_files_it_matters_who_the_broker_runs_as(tmp_path: Path, monkeypatch: Patch) -> None:
    log = _log_directory(tmp_path / "d1", "orders-0") / "orders-0/00000000000000000000.log"
    _looks(monkeypatch, 0, {log: 0o444})
    row = _only(tmp_path / "d1")
    assert (row.outcome, row.is_safe) == ("keep", False)
    said = "a broker that does not run as root may not write 00000000000000000000.log (owner 0, mode 0444): its start fails"
    assert said in row.conditions
    told = [run_here(command, tmp_path / "d1")[1] for command in ("forecast", "check")]
    assert all(b"Verdict: does not start" in one for one in told)
    assert b"\n  kdump forecast" in told[1]  # which says what to type


@pytest.mark.parametrize("owner", [0, 999])
def test_a_copy_that_is_kept_read_only_is_safe_if_it_becomes_writable(tmp_path: Path, monkeypatch: Patch, owner: int) -> None:
    path = _log_directory(tmp_path / "d1", "orders-0") / "orders-0"
    _looks(monkeypatch, owner, dict.fromkeys(path.iterdir(), 292))
    row = _only(tmp_path / "d1")
    assert (row.outcome, row.is_safe) == ("keep", True)
    assert "a broker that does not run as root may not write" in row.conditions[1]


@each(
    "name, releases",
    [
        # files that a start makes, and two that it opens
        *((f"00000000000000000000.{suffix}", RELEASES) for suffix in ("log", "index", "timeindex")),
        *((name, ["4.3.1"]) for name in ("leader-epoch-checkpoint", "00000000000000000001.snapshot")),
    ],
)
def test_a_dangling_link_for_a_file_takes_the_log_directory_offline(tmp_path: Path, name: str, releases: Sequence[str]) -> None:
    path = _log_directory(tmp_path / "d1", "orders-0") / "orders-0" / name
    path.unlink(missing_ok=True)
    path.symlink_to("/nowhere/at/all")
    for release in releases:
        row = _only(tmp_path / "d1", broker=release)
        assert (row.outcome, row.reason) == ("offline", f"{name} is a dangling link")


def test_a_segment_under_a_link_that_leads_nowhere_is_missing_and_not_safe(tmp_path: Path) -> None:
    path = _log_directory(tmp_path / "d1", "orders-0") / "orders-0/00000000000000009999.log"
    path.symlink_to("/nowhere/at/all")
    row = _only(tmp_path / "d1")
    assert (row.outcome, row.log_end, row.is_safe) == ("keep", 1, False)
    assert row.conditions[0].startswith("00000000000000009999.log is a dangling link")
    assert _run(tmp_path / "d1").returncode == 1


def test_of_a_large_checkpoint_only_entries_of_existing_partitions_are_kept(tmp_path: Path) -> None:
    (tmp_path / "topic-7").mkdir()
    (tmp_path / "topic-8.0123456789abcdef0123456789abcdef-delete").mkdir()
    lines = "".join(f"topic {partition} {partition + 5}\n" for partition in range(100_000))
    (tmp_path / "recovery-point-offset-checkpoint").write_text(f"0\n100000\n{lines}")
    assert LogDirectory(str(tmp_path)).recovery_points == {("topic", 7): 12, ("topic", 8): 13}


def test_checkpoints_are_read_once_for_all_partitions_until_they_change(tmp_path: Path) -> None:
    _partition(_log_directory(tmp_path / "data") / "a-0")
    path = tmp_path / "data" / "log-start-offset-checkpoint"
    cleaned = path.with_name("cleaner-offset-checkpoint")
    path.write_text("0\n1\na 0 0\n")
    cleaned.write_text("0\n0\n")
    before = time.time() - 3600

    def settle() -> None:
        for changed in (cleaned, *(path.with_name(name) for name in CHECKPOINTS), tmp_path / "data"):
            if changed.exists():
                os.utime(changed, (before, before))

    with mock.patch.object(log_directory, "Checkpoint", wraps=log_directory.Checkpoint) as read:
        settle()
        first = LogDirectory(str(tmp_path / "data")).log_starts
        count = read.call_count
        assert first == LogDirectory(str(tmp_path / "data")).log_starts == {("a", 0): 0}
        assert read.call_count == count
        path.write_text("0\n1\na 0 1\n")  # of the same size, and a moment later
        assert LogDirectory(str(tmp_path / "data")).log_starts == {("a", 0): 1}
        settle()
        assert LogDirectory(str(tmp_path / "data")).log_starts == {("a", 0): 1}
