"""Forecasts compared with starts of the real log managers, and the forecast command."""

import json
import os
import random
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kdump
from kdump.cli import commands
from kdump.errors import Unreadable, UsageError
from kdump.forecasts.sentences import sentences, summary, verdict
from kdump.reading import search, steps
from kdump.reading.tuning import DEFAULT
from kdump.releases import broker_startup as start_rules
from tests import restarts
from tests.builders.files import producer_entry, producer_snapshot, write_partition
from tests.builders.fleets import flipped
from tests.builders.hostile import headers
from tests.builders.records import batch, record
from tests.loops import each
from tests.restarts import comparison
from tests.restarts.built import STRAY
from tests.support import bytes_read, run_here

Patch = pytest.MonkeyPatch
Capture = pytest.CaptureFixture[str]
Key = tuple[str, str, str, int]
"""A start: release, case, stop, recovery point."""

Starts = dict[Key, dict[str, Any]]

DIFFERENCES: dict[Key, str] = {}
"""Starts with a different forecast, with the reason."""


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("restarts")
    restarts.unpack(folder)
    before = _states(folder)
    yield folder
    assert _states(folder) == before, "a forecast only reads"


def _states(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (status.st_size, status.st_mtime_ns) for path in folder.rglob("*") for status in [path.lstat()]}


@pytest.fixture(scope="module")
def starts() -> Starts:
    """The recorded starts by release, case, stop and recovery point."""
    return {(line["release"], line["case"], line["stop"], line["recoveryPoint"]): line for line in restarts.starts()}


def share_of(starts: Starts) -> set[Key]:
    """One of the starts that ended alike with several releases, so that each directory, stop and difference is in it."""
    alike: dict[str, list[Key]] = {}
    for key, line in starts.items():
        ended = {name: value for name, value in line.items() if name not in ("release", "said")}
        alike.setdefault(json.dumps(ended), []).append(key)
    return {keys[zlib.crc32(ended.encode()) % len(keys)] for ended, keys in alike.items()}


@pytest.mark.parametrize("release", ["2.8.2", "3.9.1", "4.3.1", "4.4.0"])
def test_every_recorded_start_is_forecast(directories: Path, starts: Starts, release: str, all_cases: bool) -> None:
    """Everything that a forecast says: what a broker did, and its messages as the reason."""
    of_release = {key: line for key, line in starts.items() if key[0] == release}
    share = of_release.keys() if all_cases else of_release.keys() & share_of(starts)
    lines = {key: of_release[key] for key in share}
    wrong = [
        (key, *found)
        for key, line in lines.items()
        if key not in DIFFERENCES
        for found in comparison.differences(line, comparison.forecast_of(line, directories))
    ]
    assert not wrong, wrong[:5]
    assert len(of_release) > 2800
    assert len(lines) > (2800 if all_cases else 400)


# For each rule and each release at which it changes: two starts whose forecasts become wrong if the release is moved by one. The
# first is a start of that release, for a move up; the second a start of the release before, for a move down. None: nothing shows
# such a move.
WITNESSES: dict[tuple[str, str], Sequence[tuple[str, str, int] | None]] = {
    ("FINDS_BY_FIRST_OFFSET", "4.3.1"): [("grid-v1-zstd", "unclean", 0)] * 2,
    ("CHECKS_MARKER_SIZE", "4.3.1"): [("restart-control-value-short/orders-0", "unclean", 0)] * 2,
    ("SWAPS_BY_RENAMING", "3.9.1"): [("restart-swap-bad/orders-0", "clean", 90)] * 2,
    ("NOTES_EPOCHS_OF_RESCANS", "3.9.1"): [("built-negative-offset-without-index", "clean", 0)] * 2,
    ("TELLS_OF_EVERY_RESCAN", "3.9.1"): (
        ("restart-name-width/orders-0", "unclean", 0),
        ("restart-swap-bad/orders-0", "unclean", 0),
    ),
    ("GOES_OFFLINE", "3.9.1"): [("restart-epochs-count/orders-0", "clean", 90)] * 2,
    ("BAD_NUMBERS_OF_EPOCHS_ARE_LINES", "3.9.1"): [("restart-epochs-words/orders-0", "clean", 90)] * 2,
    ("TAKES_NEWER_METADATA", "3.9.1"): [("restart-metadata-version/orders-0", "clean", 90)] * 2,
    ("SURVIVES_LOST_TRANSACTIONS", "3.9.1"): [("mutant-41-039", "unclean", 0)] * 2,
    ("KEEPS_DELETED_CHECKPOINTS", "3.9.1"): [("built-checkpoint-deleted", "clean", 0)] * 2,
    ("KNOWS_STRAYS", "3.9.1"): [(f"built-stray/{STRAY}", "clean", 0)] * 2,
    ("TRANSACTION_VERSION_IS_A_BYTE", "4.4.0"): [("restart-txnindex-version/orders-0", "clean", 63)] * 2,
    # From 3.9.1 on nothing throws it: a segment that waits to be swapped in is not recovered.
    ("EXCEPTION_NAMES", "3.9.1"): (None, ("built-swap-too-wide", "clean", 0)),
}

SINCE_3_9 = ("BAD_PROPERTIES_ARE_OFFLINE", "KNOWS_METADATA_LOG", "LISTS_SNAPSHOTS_FIRST")
NOT_RECORDED = {*((name, "3.9.1") for name in SINCE_3_9), ("IS_ALWAYS_KRAFT", "4.3.1")}
"""Rules that no recorded start shows: tests of whole brokers do, in test_forecast_log_directories.py, and one below."""

RELEASES = ("2.8.2", "3.9.1", "4.3.1", "4.4.0")


def test_every_rule_of_starts_has_a_witness() -> None:
    timelines = {name: value for name, value in vars(start_rules).items() if name.isupper() and isinstance(value, dict)}
    boundaries = {(name, since) for name, timeline in timelines.items() for since in list(timeline)[1:]}
    assert boundaries == set(WITNESSES) | NOT_RECORDED
    assert all(up or down for up, down in WITNESSES.values())


@each(("name", "since"), WITNESSES)
def test_a_rule_one_release_off_is_noticed(monkeypatch: Patch, directories: Path, starts: Starts, name: str, since: str) -> None:
    timeline = getattr(start_rules, name)
    row = RELEASES.index(since)
    up, down = WITNESSES[name, since]
    after = RELEASES[row + 1] if row + 1 < len(RELEASES) else "999.0.0"
    for witness, moved_to, changed in ((up, after, since), (down, RELEASES[row - 1], RELEASES[row - 1])):
        if witness is not None:
            line = starts[changed, *witness]
            with monkeypatch.context() as patch:
                assert comparison.differences(line, comparison.forecast_of(line, directories)) == []
                moved = {moved_to if first == since else first: value for first, value in timeline.items()}
                patch.setattr(start_rules, name, moved)
                assert comparison.differences(line, comparison.forecast_of(line, directories)) != []


def _partition(folder: Path, *segments: tuple[int, list[bytes]], name: str = "orders-0") -> Path:
    """A partition directory: base offsets, and batches."""
    path = folder / name
    path.mkdir(parents=True)
    for base_offset, batches in segments:
        (path / f"{base_offset:020}.log").write_bytes(b"".join(batches))
        (path / f"{base_offset:020}.index").write_bytes(b"")
        (path / f"{base_offset:020}.timeindex").write_bytes(b"")
    return path


def _batch(offset: int, **fields: Any) -> bytes:
    return batch(base_offset=offset, records=[record(value=b"v")], **fields)


def _only(path: Path | str, **options: Any) -> Any:
    (row,) = kdump.forecast(path, **options)
    return row


def _places(folder: Path, rows: Iterable[Any]) -> dict[str, str]:
    return {row.path.removeprefix(f"{folder}/"): row.outcome for row in rows}


DAMAGED_FIRST = (0, [_batch(0), flipped(_batch(1)), _batch(2)]), (3, [_batch(3)])


@pytest.mark.parametrize(
    ("covering", "lost"),
    [
        *(([], [[6, 12]]), ([(6, 1)], [[7, 12]]), ([(12, 1)], [[6, 11]]), ([(8, 2)], [[6, 7], [10, 12]])),
        *(([(0, 3), (3, 4), (9, 1)], [[7, 8], [10, 12]]), ([(5, 1), (13, 1)], [[6, 12]]), ([(4, 20)], [])),
    ],
)
def test_offsets_in_other_batches_are_not_lost(tmp_path: Path, covering: list[tuple[int, int]], lost: list[list[int]]) -> None:
    """A segment is cut at a damaged batch; earlier batches contain some of the offsets after it."""
    kept = [batch(base_offset=first, records=[record(value=b"other")] * count) for first, count in covering]
    cut = [flipped(_batch(5)), batch(base_offset=6, records=[record(value=b"v")] * 7)]
    row = _only(_partition(tmp_path, (0, [*kept, *cut])), after="unclean", recovery_point=0)
    assert (row.outcome, row.lost_records, row.lost_offsets) == ("cut", 7, lost)


@each("base_offsets, made", [([], ["00000000000000000000.log"]), ([5], [])])
def test_a_directory_to_be_deleted_gets_a_log_where_it_has_none(tmp_path: Path, base_offsets: list[int], made: list[str]) -> None:
    segments = [(base, [_batch(base)]) for base in base_offsets]
    row = _only(_partition(tmp_path, *segments, name=f"orders-0.{'a' * 32}-delete"), after="clean")
    assert (row.outcome, row.log_end, [change["name"] for change in row.files]) == ("keep", None, made)


def _cut_searches_short(monkeypatch: Patch) -> None:
    monkeypatch.setattr(DEFAULT, "free_crc_bytes", 0)
    monkeypatch.setattr(DEFAULT, "free_tries", 0)
    monkeypatch.setattr(steps, "_KEPT_CRC_BYTES", 0)
    monkeypatch.setattr(steps, "_TIMES_CHECKED", 0)
    monkeypatch.setattr(search, "SMALL_BATCH_TIMES", 0)


def test_a_start_loses_what_the_search_for_lost_batches_did_not_look_at(tmp_path: Path, monkeypatch: Patch) -> None:
    path = _partition(tmp_path, (0, [_batch(0), headers(200, largest=12_000)]))
    row = _only(path, after="unclean", recovery_point="zero")
    assert (verdict(row), row.lost_records) == ("trims", 0)
    assert list(sentences(row))[-1] == "12,200 bytes go; no intact record is among them."
    _cut_searches_short(monkeypatch)
    row = _only(path, after="unclean", recovery_point="zero")
    assert (verdict(row), row.lost_records) == ("loss", 0)
    assert list(sentences(row))[-1].endswith("cut short: more intact records may be lost.")
    assert summary(row).endswith("; intact records may be lost")


def test_a_start_loses_all_intact_batches_between_many_damaged_ones(tmp_path: Path, monkeypatch: Patch) -> None:
    """Bytes of damaged batches look like the headers of large batches: these do not use up what small ones need."""
    monkeypatch.setattr(DEFAULT, "free_crc_bytes", 8 << 20)
    batches = [_batch(row, producer_id=row % 50, producer_epoch=0, base_sequence=row // 50) for row in range(5000)]
    path = _partition(tmp_path, (0, [one if row % 2 else flipped(one) for row, one in enumerate(batches)]))
    row = _only(path, after="unclean", recovery_point="zero")
    assert (row.outcome, row.lost_records) == ("cut", 2500)  # it was 148


def test_a_start_is_unsure_if_the_search_for_the_end_of_the_data_was_cut_short(tmp_path: Path, monkeypatch: Patch) -> None:
    garbage = headers(200, largest=12_000)[20:]  # it starts inside a header: a broker reads no further
    path = _partition(tmp_path, (0, [_batch(0), garbage, _batch(1)]))
    row = _only(path, after="clean")
    assert (verdict(row), row.log_end, row.data_end) == ("trap", 1, 2)
    _cut_searches_short(monkeypatch)
    row = _only(path, after="clean")
    assert (verdict(row), row.log_end, row.data_end, row.is_safe) == ("unsure", 1, 1, False)
    assert "so the search for its last batch was cut short" in summary(row)
    assert list(sentences(row))[-1].endswith("there may be data after the end of the log.")


@each(
    "name, data, outcomes",
    [
        ("00000000000000000007-0000000001.checkpoint.deleted", b"", ["delete", "keep"]),
        # a transaction that began before the log start is looked for from there
        (f"{6:020}.snapshot", producer_snapshot(entries=[producer_entry(current_txn_first_offset=1)]), ["keep", "keep"]),
    ],
)
def test_a_file_beside_a_log_goes_or_stays(tmp_path: Path, name: str, data: bytes, outcomes: list[str]) -> None:
    path = _partition(tmp_path, (5, [_batch(5)]))
    (path / name).write_bytes(data)
    assert [_only(path, broker=release, after="clean").outcome for release in ("2.8.2", "4.3.1")] == outcomes


def test_a_swap_that_starts_where_a_cleaned_log_does_is_of_an_unfinished_split(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0)]))
    for suffix in ("swap", "cleaned"):
        (path / f"00000000000000000000.log.{suffix}").write_bytes(_batch(0))
    assert [_only(path, broker=release, after="clean").events.swapped_in for release in ("2.8.2", "4.3.1")] == [[], []]


REBUILT: dict[str, Any] = {"after": "unclean", "recovery_point": "zero"}


def test_data_outside_a_transaction_that_is_open_from_offset_0_ends_a_start(tmp_path: Path) -> None:
    fields = [{"producer_id": 7, "producer_epoch": 0, "base_sequence": row, "is_transactional": not row} for row in range(2)]
    batches = [_batch(row, **of_batch) for row, of_batch in enumerate(fields)]
    assert _only(_partition(tmp_path, (0, batches)), **REBUILT).outcome == "die"


def test_an_index_entry_is_made_after_more_than_the_interval_and_not_after_just_that(tmp_path: Path) -> None:
    """Of two batches with the same offset the second is refused where there is an index entry for both."""
    size = len(_batch(0))
    path = _partition(tmp_path, (0, [_batch(offset) for offset in (0, 1, 1, 2, 3)]))
    assert _only(path, config={"index.interval.bytes": size}, **REBUILT).outcome == "keep"
    assert _only(path, config={"index.interval.bytes": size - 1}, **REBUILT).outcome == "wipe"


@each("padding, outcome", [("", "keep"), ("==", "keep"), ("=", "die"), ("===", "die")])
def test_a_topic_id_has_no_padding_or_all_of_it(tmp_path: Path, padding: str, outcome: str) -> None:
    """The behaviour of the log manager of 4.3.1 for each of them."""
    path = _partition(tmp_path, (0, [_batch(0)]))
    (path / "partition.metadata").write_text(f"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ{padding}\n")
    row = _only(path, after="clean")
    assert (row.outcome, row.exception) == (outcome, "java.lang.IllegalArgumentException" if outcome == "die" else None)
    assert _only(path, after="unclean", recovery_point="end").recovery_point == 1  # where its data ends, if it is not loaded


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _command("forecast", *arguments)


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    status, out, err = run_here(*arguments)
    return subprocess.CompletedProcess(arguments, status, out.decode(), err.decode())


def test_the_answer_names_what_fails_after_any_stop_before_what_fails_after_one(tmp_path: Path) -> None:
    cut = bytearray(_batch(1))
    cut[8:12] = bytes(4)
    once = _partition(tmp_path, (0, [_batch(0), bytes(cut)]), name="once-0")
    always = _partition(tmp_path, (0, [_batch(0)]), name="zz-0")
    (always / "partition.metadata").write_bytes(b"")
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n")
    out = " ".join(_run(str(tmp_path)).stdout.split())
    assert f"{once} 1 segment" in out
    assert f"Verdict: does not start: {always}: partition.metadata is empty. " in out


def test_a_remedy_is_suggested_only_where_it_helps(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0)]))
    (path / "notes.log").write_bytes(bytes(8))
    run = _run("--after", "clean", str(path))
    assert run.returncode == 1 and "fails  after a clean stop" in run.stdout
    remedy = f"mv {path}/notes.log KEEP/notes.log   # with the broker stopped: then a start after a clean stop loses nothing"
    assert remedy in run.stdout
    (path / "notes.log").rename(path / "leader-epoch-checkpoint")  # which keeps all starts from it
    assert _run(str(path)).stdout.count(f"mv {path}/leader-epoch-checkpoint") == 2, "once, and in the last line"


@pytest.mark.slow
def test_zeros_and_lengths_that_no_file_has_are_not_gone_through(tmp_path: Path) -> None:
    """A sparse log of 1 TiB, then a segment with 2 GiB of zeros, and an index of 3 GiB."""
    path = _partition(tmp_path, (0, [_batch(0)]), (1, [_batch(1)]))
    os.truncate(path / "00000000000000000001.log", 1 << 30)
    row = _only(path, after="unclean", recovery_point="zero")
    assert (row.outcome, row.log_end, row.data_end, row.lost_records) == ("cut", 2, 2, 0)
    os.truncate(path / "00000000000000000001.log", 1 << 40)
    assert _only(path, after="clean").outcome == "die"
    os.truncate(path / "00000000000000000001.log", 69)
    os.truncate(path / "00000000000000000001.index", 3 << 30)
    assert _only(path, after="clean").exception == "java.lang.IllegalArgumentException"
    with bytes_read() as total:
        assert "index-oversize" in {finding.code for finding in kdump.check(path)}
    assert total() < 3 << 20


def test_a_batch_that_says_it_is_one_byte_long_is_not_called_several(tmp_path: Path) -> None:
    bad = (0).to_bytes(8, "big") + (1).to_bytes(4, "big") + bytes(50)
    row = _only(_partition(tmp_path, (0, [bad])), after="unclean", recovery_point="0")
    assert "at byte 0 a batch says it is 1 byte long, less than 14" in " ".join(sentences(row))


def test_rows_have_all_fields_in_every_form(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0)]))
    *rows, summary = [json.loads(line) for line in _run("--output", "ndjson", str(path)).stdout.splitlines()]
    names = (
        "kind path release after recoveryPoint recoveryPointIsAssumed outcome also logStart logEnd dataEnd endDiffers bytesLost"
        " lostOffsets lostRecords damagedBatches consumersStopAt segments segmentsGone files exception reason conditions"
    )
    assert [list(row) for row in rows] == [names.split()] * 3
    schema = json.loads(_command("schema", "forecast").stdout)
    for row in rows:
        jsonschema.validate(row, schema)
    jsonschema.validate(summary, json.loads(_command("schema", "forecast-summary").stdout))
    assert summary["verdict"] == "nothing lost at start; records not read (kdump check)"
    assert (summary["reasons"], summary["exitCode"]) == (["records not read (kdump check)"], 0)
    found = [(row["after"], row["outcome"], row["logEnd"], row["segments"]) for row in rows]
    assert found == [(after, "keep", 1, [[0, 69]]) for after in ("clean", "unclean", "unclean")]
    assert len(json.loads(_run("--output", "json", str(path)).stdout)["forecasts"]) == 3
    assert len(_run("--output", "csv", str(path)).stdout.splitlines()) == 4
    assert "unclean" in _run("--output", "table", str(path)).stdout


def test_one_directory_that_loses_data_is_enough_for_exit_code_1(tmp_path: Path) -> None:
    damaged = _partition(tmp_path, (0, [_batch(0), flipped(_batch(1)), _batch(2)]), name="orders-0")
    sound = _partition(tmp_path, (0, [_batch(0)]), name="orders-1")
    options = ("--after", "unclean", "--recovery-point", "zero")
    assert _run(*options, str(damaged), str(sound)).returncode == 1
    assert _run(*options, str(sound), str(damaged)).returncode == 1
    assert _run(*options, str(tmp_path)).returncode == 1
    run = _run(*options, str(sound), str(sound))
    assert (run.returncode, "Next" in run.stdout) == (0, False)
    rows = kdump.forecast(tmp_path, after="unclean", recovery_point="zero")
    assert [(Path(row.path).name, row.is_safe) for row in rows] == [("orders-0", False), ("orders-1", True)]


def test_exit_codes_distinguish_usage_from_what_cannot_be_examined(tmp_path: Path) -> None:
    assert _run("--config", "x", str(tmp_path)).returncode == 2
    for options in ({"broker": "9.9.9"}, {"after": "soon"}, {"recovery_point": "here"}, {"config": {"retention.ms": "1"}}):
        with pytest.raises(UsageError):
            kdump.forecast(tmp_path, **options)
    run = _run(str(tmp_path / "nowhere"))
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr == f"kdump: {tmp_path}/nowhere: no such file or directory\n"


def test_a_batch_with_a_negative_count_takes_no_record_off_what_is_lost(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), flipped(_batch(1)), _batch(2, records_count=-5), _batch(3)]))
    assert _only(path, after="unclean", recovery_point=0).lost_records == 1


def _log_directory(folder: Path, name: str, *partitions: str) -> Path:
    """A log directory with its meta.properties, and partitions with one valid record each."""
    path = folder / name
    for partition in partitions:
        directory = _partition(path, (0, [_batch(0)]), name=partition)
        (directory / "partition.metadata").write_text("version: 0\ntopic_id: xuNFeVKBTimjCGKSv9Pz9Q\n")
    path.mkdir(exist_ok=True)
    (path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    return path


def test_log_directories_are_found_by_their_partitions_through_links_and_at_four_levels(tmp_path: Path) -> None:
    for partition in ("disk-1/orders-0", "a/b/c/orders-1"):
        _partition(tmp_path / "folder" / Path(partition).parent, (0, [_batch(0)]), name=Path(partition).name)
    _log_directory(tmp_path, "elsewhere", "orders-2")
    (tmp_path / "folder/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "folder/linked-too").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "folder/round").symlink_to(tmp_path / "folder")
    (tmp_path / "folder/data-1").mkdir()
    rows = list(kdump.forecast(tmp_path / "folder", after="clean"))
    assert len(rows) == 3
    assert list(_places(tmp_path / "folder", rows)) == ["a/b/c/orders-1", "disk-1/orders-0", "linked/orders-2"]


def test_the_checkpoints_and_marks_of_each_log_directory_are_in_force_in_it(tmp_path: Path) -> None:
    for number in (1, 2):
        path = tmp_path / f"disk{number}"
        _partition(path, (0, [flipped(_batch(0))]), (1, [_batch(1)]), name=f"orders-{number}")
        (path / "recovery-point-offset-checkpoint").write_text(f"0\n1\norders {number} {number - 1}\n")
    rows = kdump.forecast(tmp_path, after="unclean")
    assert [(row.recovery_point, row.outcome) for row in rows] == [(0, "cut"), (1, "keep")]
    (tmp_path / "disk2/.kafka_cleanshutdown").write_bytes(b"")
    assert "each starts as after its own stop" in " ".join(_run(str(tmp_path)).stdout.split())


@pytest.mark.parametrize("has_properties", [True, False])
def test_checks_and_forecasts_move_the_same_out(tmp_path: Path, has_properties: bool, monkeypatch: Patch, capfd: Capture) -> None:
    """The log manager of 2.8.2, 3.6.1 and 4.3.1 throws with lost+found in a log directory, and loads it without."""
    log_directory = _log_directory(tmp_path, "data", "orders-0")
    _log_directory(log_directory, "inner", "orders-1")
    for name in ("lost+found", "backups"):
        (log_directory / name).mkdir()
    if not has_properties:
        (log_directory / "meta.properties").unlink()
        (log_directory / "inner/meta.properties").unlink()
    monkeypatch.chdir(tmp_path)
    for command in ("check", "forecast"):
        code = commands.main([command, "data"])
        assert code == (1 if has_properties else 0)  # nothing in any other folder says that a broker starts with it
        advice = capfd.readouterr().out.partition("Next\n")[2].splitlines()
        moved = [line.partition("   # ")[0].strip() for line in advice if line.startswith("  ") and " mv " in line]
        expected = [f"mkdir -p KEEP && mv data/{name} KEEP/{name}" for name in ("backups", "lost+found")]
        assert moved == (expected if has_properties else [])


def test_a_log_directory_in_another_is_named_as_such_and_forecast_itself(tmp_path: Path) -> None:
    log_directory = _log_directory(tmp_path, "data", "orders-0")
    _log_directory(log_directory, "inner", "orders-1")
    rows = list(kdump.forecast(log_directory, after="clean"))
    found = list(_places(log_directory, rows).items())
    assert found == [("inner", "die"), ("orders-0", "keep"), ("inner/orders-1", "keep")]
    assert rows[0].reason == "this is itself a log directory, and no broker starts with one inside another"
    run = _run("--after", "clean", str(log_directory))
    assert f"  # in log.dirs, name {log_directory}/inner itself: it is a log directory" in run.stdout


def test_a_path_with_nothing_of_a_broker_is_not_safe(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    for path in (tmp_path, tmp_path / "a", tmp_path / "a/b"):
        run = _run(str(path))
        assert run.returncode == 3
        assert run.stderr.startswith(f"kdump: {path}: there is no partition directory or log directory here")
        with pytest.raises(Unreadable):
            list(kdump.forecast(path))
    assert _run(str(_log_directory(tmp_path, "new"))).returncode == 0


def test_an_unknown_recovery_point_is_both_ends_the_worst_first(tmp_path: Path) -> None:
    rows = list(kdump.forecast(_partition(tmp_path, *DAMAGED_FIRST)))
    assert all(row.recovery_point_is_assumed for row in rows)
    found = [(row.after, row.recovery_point, row.outcome, row.lost_records) for row in rows]
    assert found == [("clean", 4, "keep", 0), ("unclean", 0, "cut", 2), ("unclean", 4, "keep", 0)]
    short = _partition(tmp_path, (0, [_batch(0)]), name="short-0")
    assert [row.recovery_point for row in kdump.forecast(short, after="unclean")] == [0, 1]


def test_damage_that_no_start_reads_is_named_and_is_exit_code_1(tmp_path: Path) -> None:
    batches = [_batch(0), flipped(_batch(1)), flipped(_batch(2)), _batch(3)]
    path = _partition(tmp_path, (0, batches), (4, [_batch(4)]))
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 4\n")
    run = _run(str(path))
    assert run.returncode == 1
    name, about = f"{path}", "   2 segments, 345 bytes"
    out = run.stdout.replace(f"{name}\n{about}", f"{name}{about}")  # it is on a line of its own where it is long
    assert out.splitlines()[:7] == [
        f"{name}{about}",
        "damage after a crash with all below offset 4 flushed",
        "       2 damaged batches stay: consumers stop at offset 1.",
        "       1 segment is scanned, from offset 4 on, nothing is lost; the log goes from offset 0 to 5.",
        "damage after a clean stop",
        "       2 damaged batches stay: consumers stop at offset 1.",
        "       Nothing is scanned, nothing is lost; the log goes from offset 0 to 5.",
    ]
    for row in kdump.forecast(path):
        assert (row.is_safe, row.is_sound, row.damaged_batches, row.consumers_stop_at) == (True, False, 2, 1)


@each(
    "batches, offset, count",
    [
        *(([_batch(10), flipped(_batch(20)), _batch(30)], 20, 2), ([_batch(10), flipped(_batch(35)), _batch(30)], 11, 2)),
        *(([_batch(10), flipped(_batch(5)), _batch(30)], 11, 2), ([flipped(_batch(0)), _batch(1)], 0, 2)),
        ([_batch(0), bytes(1024), _batch(15)], 1, 1),
        ([_batch(0), _batch(1)[:8] + b"\x00\x00\x10\x00" + _batch(1)[12:], _batch(2)], 1, 2),
        ([_batch(0), _batch(1)[:-9]], 1, 2),
        ([_batch(0), _batch(1)], 1001, 1),
    ],
    ids=["between its neighbors", "above them", "below them", "first", "zeros", "a wrong length", "torn", "sound"],
)
def test_consumers_stop_at_the_first_damaged_offset(batches: list[bytes], offset: int | None, count: int, tmp_path: Path) -> None:
    """The offset that the batch claims if it lies between its neighbours, else the one after the previous batch."""
    later = [_batch(1000), flipped(_batch(1001)), _batch(1002)]
    row = _only(_partition(tmp_path, (0, batches), (1000, later)), after="clean")
    assert (row.is_safe, row.consumers_stop_at, row.damaged_batches) == (True, offset, count)


def test_damage_below_the_log_start_offset_stops_no_consumer(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [flipped(_batch(0)), _batch(1), flipped(_batch(2)), _batch(3)]), (4, [_batch(4)]))
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 1\n")
    row = _only(path, after="clean")
    assert (row.consumers_stop_at, row.damaged_batches) == (2, 1)
    two = _partition(tmp_path / "other", (0, [flipped(_batch(0, last_offset_delta=1)), _batch(2)]))
    (tmp_path / "other" / "log-start-offset-checkpoint").write_text("0\n1\norders 0 1\n")
    assert _only(two, after="clean").consumers_stop_at == 1
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 3\n")
    assert _only(path, after="clean").consumers_stop_at is None


def test_a_copy_that_is_named_itself_is_forecast_as_the_partition_it_was(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0), flipped(_batch(1)), _batch(2)]), name="copy")
    run = _run("--recovery-point", "zero", str(path))
    assert "mv" not in run.stdout.replace("mv " + str(path / "00000000000000000000.index"), "")
    assert f"  mkdir -p KEEP && cp -a {path} KEEP/copy.damaged" in run.stdout


# --- checkpoints that are malformed: what is expected was seen with the log managers of 4.3.1, 3.9.1 and 2.8.2

SEEN = ("2.8.2", "3.9.1", "4.3.1")
NUMBER_FORMAT = "java.lang.NumberFormatException"


def test_before_3_0_a_snapshot_without_a_number_ends_a_start_before_the_leader_epochs_are_read(tmp_path: Path) -> None:
    path = _partition(tmp_path, (0, [_batch(0)]))
    (path / "x.snapshot").write_bytes(b"")
    (path / "leader-epoch-checkpoint").write_bytes(b"0\n1\n0 \xff\n")
    assert [_only(path, broker=release, after="clean").outcome for release in SEEN] == ["die", "offline", "offline"]


@each(
    "data, outcomes",
    [
        *((b"nonsense\n", "offline offline offline"), (b"0\n2\norders 0 1\n", "offline offline offline")),
        *((b"7\n1\norders 0 1\n", "offline offline offline"), (bytes(40), "offline offline offline")),
        *((b"0\n1\norders 0 x\n", "offline keep keep"), (b"0\n-1\n", "offline keep keep"), (b"", "keep keep keep")),
        *((b"0\n", "keep keep keep"), (b"0\n1\norders 0 1\n", "keep keep keep")),
    ],
)
@each("name", ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"])
@each("after", ["clean", "unclean"])
def test_malformed_checkpoints_take_folders_offline(tmp_path: Path, name: str, after: str, data: bytes, outcomes: str) -> None:
    log_directory = _log_directory(tmp_path, "data", "orders-0")
    (log_directory / name).write_bytes(data)
    is_unserved = name.startswith("replication") and "keep keep" in outcomes and outcomes.startswith("offline")
    if is_unserved:  # a whole broker of 4.3.1 starts, and serves no replica
        outcomes = "offline offline offline"
    for path in (log_directory, log_directory / "orders-0"):
        found = [_only(path, after=after, recovery_point="zero", broker=release).outcome for release in SEEN]
        assert found == outcomes.split()
        assert _only(path, after=after, recovery_point="zero").is_only_unserved == is_unserved


def test_of_a_malformed_checkpoint_the_file_is_to_be_moved_and_no_partition(tmp_path: Path) -> None:
    log_directory = _log_directory(tmp_path, "data", "orders-0", "orders-1")
    file = log_directory / "recovery-point-offset-checkpoint"
    file.write_text("0\n2\norders 0 1\n")
    run = _run("--after", "unclean", str(log_directory))
    assert run.returncode == 1
    text = " ".join(run.stdout.split())
    assert "recovery-point-offset-checkpoint is malformed: line 2 says that 2 entries follow, but 1 does." in text
    advice = run.stdout.partition("Next\n")[2].splitlines()
    commands_ = [line.partition("   #")[0] for line in advice if line.startswith("  ")]
    assert commands_ == [f"  mkdir -p KEEP && mv {file} KEEP/{file.name}"]
    (log_directory / "orders-1/leader-epoch-checkpoint").write_bytes(bytes(8))
    assert "Nor is it safe once the log directory is mended" in _run("--after", "unclean", str(log_directory)).stdout
    (log_directory / "orders-1/leader-epoch-checkpoint").unlink()
    file.unlink()
    assert _run("--after", "unclean", str(log_directory)).returncode == 0


def test_a_segment_of_which_only_indexes_are_left_is_named(tmp_path: Path) -> None:
    path = write_partition(tmp_path, segments={base: [batch(records=[record()], base_offset=base)] for base in (0, 1, 2)})
    log = path / "00000000000000000001.log"
    log.rename(f"{log}.deleted")  # which brokers delete first
    assert "indexes are left" not in _run("--after", "clean", str(path)).stdout
    os.remove(f"{log}.deleted")
    run = _run("--after", "clean", str(path))
    assert "Of 1 segment (00000000000000000001) only indexes were left, which the start deletes." in run.stdout
    assert "nothing lost at start, except for segments of which only indexes are left" in " ".join(run.stdout.split())
    assert run.returncode == 0


# --- the same partition twice: what is expected was seen with the log managers of 4.3.1, 3.9.1 and 2.8.2


def test_a_broker_that_has_a_partition_in_two_log_directories_does_not_start(tmp_path: Path) -> None:
    _log_directory(tmp_path, "a", "orders-0", "orders-1")
    _log_directory(tmp_path, "b", "orders-0", "orders-2")
    twice, once = ("die", "java.lang.IllegalStateException", None), ("keep", None, 1)
    for release in SEEN:
        rows = list(kdump.forecast(tmp_path, after="clean", broker=release))
        assert list(_places(tmp_path, rows)) == ["a/orders-0", "a/orders-1", "b/orders-0", "b/orders-2"]
        assert [(row.outcome, row.exception, row.log_end) for row in rows] == [twice, once, twice, once]
    for paths in ([tmp_path], [tmp_path / "a", tmp_path / "b"]):
        run = _run("--after", "clean", *map(str, paths))
        assert run.returncode == 1
        assert f"too: {tmp_path}/b/orders-0." in " ".join(run.stdout.split())
        assert f"  kdump log --output table {tmp_path}/a/orders-0 {tmp_path}/b/orders-0   #" in run.stdout
    shutil.rmtree(tmp_path / "b/orders-2")  # all that is left there may be a copy, unless both were named
    rows = list(kdump.forecast(tmp_path, after="clean"))
    assert {(row.outcome, row.conditions[-1].endswith("does not start: orders-0 is in both")) for row in rows} == {("keep", True)}
    assert _run("--after", "clean", str(tmp_path / "a"), str(tmp_path / "b")).returncode == 1
    shutil.rmtree(tmp_path / "b")
    _log_directory(tmp_path, "c", f"orders-0.{'0' * 32}-future", f"orders-1.{'1' * 32}-delete")
    (_log_directory(tmp_path, "d", "orders-0") / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=2\n")
    assert {row.outcome for row in kdump.forecast(tmp_path, after="clean")} == {"keep"}
    (tmp_path / "a/orders-1").rename(tmp_path / "a/orders-00")  # a partition's number may have zeros before it
    assert {row.outcome for row in kdump.forecast(tmp_path / "a")} == {"die"}


WITH_ALL_FILES = (
    "restart-crc-and-snapshot/orders-0",
    "restart-txnindex-order/orders-0",
    "restart-swap-one/orders-0",
    "magic1-gzip-0.10.2.2",
)


def test_no_damage_raises_and_nothing_is_changed(directories: Path, tmp_path: Path) -> None:
    """Random bytes in every file of directories that contain one file of each kind."""
    chance = random.Random(8)
    for case in WITH_ALL_FILES:
        source = directories / case
        for number in range(12):
            copy = tmp_path / f"{number}-{Path(case).name}"
            shutil.copytree(source, copy)
            for file in copy.iterdir():
                data = bytearray(file.read_bytes())
                for _ in range(chance.randrange(1, 5)):
                    if data:
                        data[chance.randrange(len(data))] = chance.randrange(256)
                file.write_bytes(bytes(data))
            before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in copy.iterdir()}
            for release in ("2.8.2", "4.3.1"):
                for row in kdump.forecast(copy, recovery_point="zero", broker=release):
                    assert row.outcome in ("die", "offline", "wipe", "cut", "split", "rescan", "delete", "keep")
            assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in copy.iterdir()} == before
            shutil.rmtree(copy)


def test_garbage_full_of_headers_that_claim_much_hides_no_batch_that_is_lost(tmp_path: Path) -> None:
    sizes = [1 << 20] * 40 + [1 << power for power in range(19, 5, -1)]  # each would require a checksum over this many bytes
    claims = [struct.pack(">qiib", 9, size - 12, 0, 2).ljust(61, b"\x01") for size in sizes]
    large = batch(records=[record(value=bytes(1 << 21))], base_offset=3)
    path = _partition(tmp_path, (0, [_batch(0), *claims, _batch(1), _batch(2), large]))
    row = _only(path, after="unclean", recovery_point=0)
    assert (row.outcome, row.log_end, row.lost_records, row.is_safe) == ("cut", 1, 3, False)
