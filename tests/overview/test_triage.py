"""What `kdump triage` says of a broker: the worst first, with commands that work, and the exit code of a check."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import golden_outputs
import kdump
from kdump.checks.finding import FileReport, Finding, Start
from kdump.checks.settings import current_time
from kdump.cli.commands import main
from kdump.output.rows.columns import width_of
from kdump.output.schemas import schema_of
from kdump.output.text.style import ReportStyle
from kdump.output.text.triage import write_screen
from kdump.output.triage import add_commands
from kdump.overview.row import OpenTransaction, PartitionSum, Place, Space
from kdump.overview.triage import NextStarts, Triage, _events, triage_of
from kdump.tables import Row
from tests.builders.brokers import write_broken_broker
from tests.builders.files import checkpoint, file_name, partition_metadata, write_partition
from tests.builders.fleets import data, flipped
from tests.builders.records import TIMESTAMP
from tests.loops import each

HOUR = 3_600_000
META = "version=1\nnode.id=7\ncluster.id=abcdefghijklmnopqrstuv\ndirectory.id=J8aAPcfLQt2bqs1JT_rMgQ\n"


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound log directory after a clean stop, with two partitions; the current directory is the one around it."""
    root = tmp_path / "kafka"
    for number in range(2):
        write_partition(root, topic="orders", partition=number, segments={0: [data(0, 10)], 10: [data(10, 10)]})
    (root / "meta.properties").write_text(META)
    points = checkpoint(entries=[("orders", 0, 20), ("orders", 1, 20)])
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (root / name).write_bytes(points)
    (root / ".kafka_cleanshutdown").touch()
    monkeypatch.chdir(tmp_path)
    return root


def _triage(level: str = "headers", *paths: str) -> Triage:
    found = triage_of(paths or ("kafka",), level)
    add_commands(found)
    return found


def _headings(triage: Triage) -> list[tuple[str, str]]:
    return [(event.heading, event.path) for event in triage.events]


def _points(broker: Path, *points: int) -> None:
    """Let the log directory have this recovery point of each partition of orders, after a crash."""
    (broker / ".kafka_cleanshutdown").unlink(missing_ok=True)
    entries = [("orders", number, point) for number, point in enumerate(points)]
    (broker / "recovery-point-offset-checkpoint").write_bytes(checkpoint(entries=entries))


def _typed(command: str) -> int:
    """Type a command in a shell; its exit code."""
    typed = command.replace("kdump ", f"{sys.executable} -m kdump ", 1)
    return subprocess.run(typed, shell=True, capture_output=True, check=False).returncode


def _pay(broker: Path, after_ms: int) -> None:
    """A partition with a transaction that nothing ends, whose log goes on for so long."""
    begun = data(0, producer=5, sequence=0, is_transactional=True)
    write_partition(broker, topic="pay", segments={0: [begun, data(1, at=TIMESTAMP + after_ms)]})


def _screen(triage: Triage, width: int = 80, *, shows_all: bool = False, has_colors: bool = False) -> list[str]:
    pieces: list[str] = []
    style = ReportStyle(width=width, is_terminal=True, has_colors=has_colors, shows_all=shows_all)
    write_screen(triage, pieces.append, style)
    return "".join(pieces).splitlines()


LEVELS = {
    "headers": "nothing wrong in the headers that were read; checksums not verified, at least 40 records not read (--level deep)",
    "quick": "headers intact; indexes not compared with logs, 40 records not read (--level deep)",
    "full": "headers and CRCs intact; 40 records not read (--level deep)",
    "deep": "fine",
}


@each("level", LEVELS)
def test_of_a_sound_broker_nothing_is_wrong_in_what_was_read(level: str, broker: Path) -> None:
    triage = _triage(level)
    assert (_headings(triage), triage.exit_code, triage.verdict.text) == ([], 0, LEVELS[level])


@pytest.mark.parametrize("level", LEVELS)
def test_who_waits_for_a_transaction_is_stuck(level: str, broker: Path) -> None:
    _pay(broker, HOUR)
    triage = _triage(level)
    (stuck,) = (event for event in triage.events if event.heading == "stuck")
    assert (stuck.path, stuck.offset, stuck.codes, triage.exit_code) == ("kafka/pay-0", 0, ["txn-hanging"], 1)
    assert any("abort --topic pay --partition 0 --start-offset 0" in command for command in stuck.commands)


def test_a_fault_of_the_log_directory_is_one_event_beside_others(broker: Path) -> None:
    (broker / "replication-offset-checkpoint").write_text("0\n1\norders 0 x\n")
    (broker / "lost+found").mkdir()
    triage = _triage()
    names = ["lost+found", "replication-offset-checkpoint"]
    assert _headings(triage) == [("does not start", f"kafka/{name}") for name in names]
    assert [_typed(event.commands[0]) for event in triage.events] == [0, 0]
    assert (_headings(_triage()), sorted(os.listdir("KEEP"))) == ([], names)


@each("level", ["headers", "quick"])
def test_a_log_directory_itself_is_never_moved(level: str, broker: Path) -> None:
    (broker / "meta.properties").write_text("version=7\n")
    triage = _triage(level)
    assert ([event.heading for event in triage.events], triage.exit_code) == (["does not start"], 1)
    assert triage.events[0].commands[0].startswith("cat kafka/meta.properties")
    assert not any("mv" in command for event in triage.events for command in event.commands)


def test_damage_in_headers_is_met_and_examined_at_once(broker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = broker / "orders-0" / file_name(0, ".log")
    log.write_bytes(data(0, 5) + b"\xff" * 300 + data(5, 5))
    triage = _triage()
    assert ([heading for heading, _ in _headings(triage)], triage.exit_code) == (["unreadable", "also wrong"], 1)
    assert triage.verdict.text.startswith("does not start, unreadable")  # after a crash
    _typed(triage.events[0].commands[0])
    assert sorted(os.listdir("NEW")) == ["orders-0"]
    _points(broker, 0, 20)
    assert "loses at start" in [heading for heading, _ in _headings(_triage())]  # which cuts it off
    monkeypatch.setattr("kdump.overview.triage._MOST_CHECKED", 100)
    (broker / ".kafka_cleanshutdown").touch()
    triage = _triage()
    assert [event.message for event in triage.events if event.heading == "unreadable"] == [
        f"Perhaps: there is no sound batch at kafka/orders-0/{file_name(0, '.log')}, byte {len(data(0, 5))}."
    ]
    assert (triage.verdict.words[0], triage.exit_code) == ("not examined", 3)


@pytest.mark.parametrize("level", ["quick", "deep"])
def test_the_commands_work_in_the_order_in_which_they_are_printed(level: str, broker: Path) -> None:
    _points(broker, 0, 0)
    (broker / "lost+found").mkdir()
    for number in range(2):
        log = broker / f"orders-{number}" / file_name(0, ".log")
        log.write_bytes(flipped(log.read_bytes()))
    for event in _triage(level).events:
        for command in event.commands:
            if not command.startswith("#") and "last resort" not in command:
                assert _typed(command) in (0, 1), command  # 1 says what a check found, or what a copy lost
    assert sorted(os.listdir("NEW")) == ["orders-0", "orders-1"]
    assert sorted(os.listdir("KEEP")) == ["lost+found", "orders-0.damaged", "orders-1.damaged"]


def test_directories_that_a_broker_sets_aside_are_one_event(broker: Path) -> None:
    for number in range(2):
        (broker / f"orders-{number}" / "partition.metadata").unlink()
    triage = _triage()
    assert [(event.heading, event.places) for event in triage.events] == [("set aside", 2)]


def test_a_log_directory_without_the_file_that_names_its_broker_is_shown_so(broker: Path) -> None:
    (broker / "meta.properties").unlink()
    assert _screen(_triage())[0] == "kafka: meta.properties is missing or damaged, clean stop"
    for file in filter(Path.is_file, broker.iterdir()):
        file.unlink()
    assert _screen(_triage())[0] == "kafka: log directory"


def test_a_topic_id_that_is_missing_is_copied_and_a_malformed_file_is_moved_away(broker: Path) -> None:
    (broker / "orders-0/partition.metadata").unlink()
    (event,) = _triage("deep").events
    copied = "cp kafka/orders-1/partition.metadata kafka/orders-0/partition.metadata   # with the broker stopped"
    assert (event.heading, event.commands[0].partition(":")[0]) == ("set aside", copied)
    (broker / "orders-0/leader-epoch-checkpoint").write_bytes(bytes(8))
    assert any(" mv kafka/orders-0/leader-epoch-checkpoint " in line for line in _screen(_triage()))


def test_what_cannot_be_looked_at_ends_with_3(broker: Path) -> None:
    (broker.parent / "empty").mkdir()
    for path in ("nowhere", "empty"):
        triage = _triage("headers", "kafka", path)
        is_said = any(line.startswith("NOT LOOKED AT") and path in line for line in _screen(triage))
        assert (triage.exit_code, is_said, main(["check", "kafka", path])) == (3, True, 3)
        assert not any(line.startswith("NOTHING WRONG") for line in _screen(triage))


def test_a_start_that_scans_too_much_is_left_out_and_said(broker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _points(broker, 0, 0)
    log = broker / "orders-0" / file_name(10, ".log")
    log.write_bytes(flipped(log.read_bytes()))
    assert len(_triage().starts) == 1
    monkeypatch.setattr("kdump.overview.triage._MOST_SCANNED", 100)
    triage = _triage()
    assert (len(triage.left), triage.summary.partitions_not_forecast, triage.starts) == (2, 2, [])
    assert "starts of 2 partitions not forecast (--level quick)" in triage.verdict.text
    assert _triage("quick").left == []
    for point, logs in ((0, 2), (5, 2), (10, 1), (20, 1)):
        _points(broker, point)
        assert NextStarts(["kafka"]).scanned("kafka/orders-0") == logs * len(data(0, 10)), point
    (broker / "cleaner-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 1, 5)]))
    assert [NextStarts(["kafka"]).is_cleaned(f"kafka/{name}") for name in ("orders-0", "orders-1", "lost+found")] == [
        False,
        True,
        False,
    ]
    write_partition(broker, topic="small", segments={0: [data(0)]})
    (broker / "recovery-point-offset-checkpoint").unlink()
    monkeypatch.setattr("kdump.overview.triage._MOST_SCANNED", len(data(0)) + 2 * len(data(0, 10)))
    assert [path for path, _ in _triage().left] == ["kafka/orders-1"]  # those that scan least come first
    assert "starts of 1 partition, which scan" in " ".join(_screen(_triage()))


def test_a_start_that_cannot_be_forecast_ends_with_3(broker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(_self: NextStarts, path: str, **_: object) -> list[object]:
        raise kdump.Unreadable("file-io-error", "the device fails", path=path)

    monkeypatch.setattr(NextStarts, "of", of)
    triage = _triage()
    assert triage.exit_code == 3
    assert triage.verdict.reasons[:2] == [f"not examined: kafka/orders-{number}: the device fails" for number in range(2)]


CLEANLY, CRASHED, MILD = ("clean", "loss", 3), ("unclean", "loss", 9), ("unclean", "damage", 0)
LOSES, ALSO, FAILS = "loses at start", "also wrong", "does not start"
STOPPED = [
    *((None, [CLEANLY, CRASHED], [(LOSES, 9)]), ("running", [CRASHED, CLEANLY], [(LOSES, 9)])),
    *(("clean", [CRASHED, CLEANLY], [(LOSES, 3)]), ("unclean", [CLEANLY, CRASHED], [(LOSES, 9)])),
    *(("clean", [CRASHED], [(ALSO, 9)]), ("clean", [MILD], []), ("unclean", [CRASHED, MILD], [(LOSES, 9)])),
    *(("unclean", starts, [(LOSES, 0)]) for starts in ([MILD, ("unclean", "trap", 0)], [("unclean", "trap", 0), MILD])),
    ("unclean", [("unclean", "fails", 1), CRASHED], [(FAILS, None)]),
    ("clean", [CLEANLY, ("unclean", "fails", 1)], [(LOSES, 3), (ALSO, 1)]),  # which the verdict speaks of
    *(("clean", [("clean", "safe", 0), CRASHED], [(ALSO, 9)]), ("unclean", [("unclean", "trims", 0), CLEANLY], [(ALSO, 3)])),
    ("unclean", [CRASHED, ("unclean", "loss", 20, 1)], [(LOSES, 20), (LOSES, 9)]),
]


@each("stop, starts, events", STOPPED)
def test_the_worst_start_after_the_stop_that_was_comes_first(
    stop: str | None, starts: list[tuple[Any, ...]], events: list[tuple[str, int | None]]
) -> None:
    triage = Triage("headers")
    triage.overview.places.append(Place("kafka", "log directory", None, None, None, None, stop))
    for after, verdict, lost, *partition in starts:
        triage.take(Start(f"kafka/orders-{sum(partition)}", "4.3.1", after, 0, False, verdict, lost, 0, None, "why"))
    assert [(event.heading, event.records) for event in _events(triage)] == events


def test_what_the_verdict_says_of_another_stop_is_an_event_beside_what_cannot_be_read(broker: Path) -> None:
    _points(broker, 20, 10)
    log = broker / "orders-1" / file_name(10, ".log")
    log.write_bytes(flipped(log.read_bytes()) + bytes(4096))  # a start after a clean stop fails at the zeros
    triage = _triage("deep")
    assert triage.verdict.text.startswith("does not start, unreadable")
    events = [event for event in triage.events if event.path == "kafka/orders-1"]
    assert [event.heading for event in events] == ["unreadable", ALSO]
    assert events[1].message.startswith("After a clean stop: the broker does not start")


@each("stop, after", [(None, ["clean", "unclean"]), ("clean", ["clean"]), ("unclean", ["unclean"])])
def test_only_what_was_stopped_starts_after_that_stop(
    stop: str | None, after: list[str], broker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a broker that is running nobody knows how it will stop."""
    monkeypatch.setattr("kdump.binary.system.is_locked", lambda _: stop is None)
    if stop == "unclean":
        (broker / ".kafka_cleanshutdown").unlink()
    assert list(NextStarts(["kafka"], is_brief=True)._directory("kafka/orders-0")[1].after) == after


def test_a_timestamp_in_the_future_is_told(broker: Path) -> None:
    for topic, ahead, told in (("past", -HOUR, []), ("soon", HOUR, []), ("late", 49 * HOUR, [("also wrong", "kafka/late-0")])):
        write_partition(broker, topic=topic, segments={0: [data(0, at=current_time() + ahead)]})
        assert (_headings(triage := _triage()), "NOTHING WRONG" in " ".join(_screen(triage))) == (told, not told)


def test_a_screen_has_24_lines_and_the_worst_of_them_first(broker: Path) -> None:
    for name in ("注文" * 30, "lost+found", "back\x1b[31mup", "a b"):
        (broker / name).mkdir()
    for letter in "abcdefgh":
        log = write_partition(broker, topic=f"damaged-{letter}", segments={0: [data(0, 10)]}) / file_name(0, ".log")
        log.write_bytes(data(0, 5) + b"\xff" * 300 + data(5, 5))
    for width, has_colors in itertools.product((80, 120, 200), (False, True)):
        triage = _triage()
        lines = _screen(triage, width, has_colors=has_colors)
        assert len(lines) <= 24
        plain = [re.sub("\x1b\\[[0-9]+m", "", line) for line in lines]
        assert all(line.isprintable() for line in plain)
        assert all(width_of(line) <= width for line in plain if not line.startswith(("  mkdir", "  kdump")))
        headings = [line[:16].strip() for line in plain if line[:1].isupper()]
        assert headings[0] == "DOES NOT START" and "AND MORE" in headings
        assert any("UNREADABLE" in line for line in _screen(triage, width, shows_all=True))
        assert plain[-1].startswith("Exit status 1") or "Exit status 1." in " ".join(plain[-3:])


def test_rows_fit_their_schemas_and_processes_find_the_same(broker: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (broker / "lost+found").mkdir()
    (broker / "orders-0" / "partition.metadata").write_bytes(partition_metadata(topic_id="AAAAAAAAAAAAAAAAAAAAAw"))
    rows = []
    for jobs in ("1", "2"):
        assert main(["triage", "--output", "ndjson", "--jobs", jobs, "kafka"]) == 1
        rows.append([json.loads(line) for line in capfd.readouterr().out.splitlines()])
    for row in rows[0]:
        assert list(row) == schema_of(row["kind"])["required"]
    for row in (*rows[0], *rows[1]):
        row.pop("seconds", None)
    assert rows[0] == rows[1]
    assert rows[0][-1]["kind"] == "triage-summary"


@each("case", sorted((Path(golden_outputs.__file__).parent / "cases").iterdir())[::40])
def test_the_verdict_on_files_of_all_kinds_is_that_of_a_check(case: Path) -> None:
    triage = triage_of([str(case)], "quick")
    add_commands(triage)
    assert triage.exit_code == kdump.verdict(case, level="quick").exit_code
    assert len(_screen(triage)) <= 24
    assert kdump.triage(case).level == "deep", "all of it is little"


def test_all_is_read_of_what_is_little_and_headers_of_more(broker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = broker / "orders-0" / file_name(0, ".log")
    log.write_bytes(flipped(log.read_bytes()))
    size = sum(path.stat().st_size for path in broker.rglob("*.log"))
    for little, few, level in ((size, 3, "deep"), (size - 1, 3, "headers"), (size, 2, "headers")):
        monkeypatch.setattr("kdump.overview.triage._LITTLE", little)
        monkeypatch.setattr("kdump.overview.triage._FEW", few)  # the log directory is a task, too
        triage = _triage("auto")
        assert (triage.level, triage.exit_code) == (level, int(level == "deep"))
        assert _screen(triage)[-1].endswith(": kdump check kafka")


def test_what_a_broker_will_delete_is_said_with_what_keeps_it(broker: Path) -> None:
    going = [f"gone-{number}.{'ab12' * 8}-delete" for number in range(3)]
    (broker / f"empty-0.{'ab12' * 8}-delete").mkdir()
    for number, name in enumerate(going):
        write_partition(broker, topic="gone", partition=number, segments={0: [data(0, 10)]}).rename(broker / name)
        triage = _triage("deep")
        assert ([heading for heading, _ in _headings(triage)], triage.exit_code) == (["will be deleted"], 0)
        if number == 0:
            assert triage.events[0].path == f"kafka/{name}"
            assert any(line.startswith("NOTHING WRONG") for line in _screen(triage))
            assert _typed(triage.events[0].commands[0]) == 0 and os.listdir(f"KEEP/{name}")
    (command,) = triage.events[0].commands  # one keeps all
    assert _typed(command) == 0 and sorted(os.listdir("KEEP/kafka"))[1:] == going
    assert "  kdump info kafka   # each kind, topics by size" in _screen(triage)


def test_what_fills_a_disk_is_added_up_by_kind_the_largest_first() -> None:
    triage = Triage("headers")
    for what, disk in (("logs", 4096), ("directories", 512), ("logs", 8192), ("not Kafka's", 2560), ("indexes", 10240)):
        triage.overview.spaces.append(Space("a", what, 1, 0, disk, "a/core" if what == "not Kafka's" else None))
    filled = "25.0 KiB on the disk: logs 12.0 KiB, indexes 10.0 KiB, not Kafka's 2.50 KiB; not Kafka's: a/core "
    assert f"FILLS IT {filled}" in " ".join(" ".join(_screen(triage)).split())


def test_of_several_brokers_it_says_what_compares_their_replicas(broker: Path) -> None:
    shutil.copytree("kafka", "other broker")
    lines = _screen(_triage("deep", "kafka", "other broker"))
    assert "  kdump scan kafka 'other broker'" in lines
    assert not any("kdump scan" in line for line in _screen(_triage("deep")))


def test_log_directories_that_do_not_fit_together_are_checked_together(broker: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("kafka", "other", ignore=shutil.ignore_patterns("orders-*"))
    write_partition(Path("other"), segments={0: [data(0, 10)]})
    Path("other/meta.properties").write_text(META.replace("abcdefghijklmnopqrstuv", "bbcdefghijklmnopqrstuv"))
    (event,) = [event for event in _triage("deep", "kafka", "other").events if event.heading == "does not start"]
    command = event.commands[-1].partition("   #")[0]
    assert command == "kdump check kafka other"
    capfd.readouterr()
    main(shlex.split(command)[1:])
    assert capfd.readouterr().out.endswith("\nDo: cat kafka/meta.properties other/meta.properties\n")


def test_metadata_that_are_missing_come_as_what_a_start_does(broker: Path, capfd: pytest.CaptureFixture[str]) -> None:
    batches = [data(offset, epoch=1) for offset in (*range(5), *range(8, 12))]
    write_partition(broker, topic="__cluster_metadata", segments={0: batches})
    triage = _triage("deep")
    assert triage.verdict.words[0] == "loses at start"
    event = triage.events[0]
    assert (event.heading, event.path) == ("loses at start", "kafka/__cluster_metadata-0")
    assert event.message.startswith("Offsets 5 to 7 of the metadata are missing")
    main(["check", event.path])
    shutil.copytree("kafka", "OTHER")
    do = capfd.readouterr().out.splitlines()[-1].removeprefix("Do: ")
    assert do == "kdump where __cluster_metadata-0@5 kafka/__cluster_metadata-0 OTHER"


def test_a_bad_file_of_a_log_directory_is_named_itself_not_the_partitions_that_are_not_loaded(tmp_path: Path) -> None:
    broker = write_broken_broker(tmp_path / "kafka")
    triage = kdump.triage(broker)
    (event,) = (one for one in triage.events if "malformed" in one.message)
    assert (event.heading, event.path, event.places) == ("does not start", str(broker / "recovery-point-offset-checkpoint"), 1)
    assert event.codes == [one.code for one in triage.findings if one.path == event.path] != []
    add_commands(triage)
    assert event.commands[0].startswith("mkdir -p KEEP && mv ") and "recovery-point-offset-checkpoint" in event.commands[0]
    assert event.commands[0].endswith("then scans each log from its start, and cuts it at damage: mend that first")


# --- events, by findings and what was seen


def _found(code: str, path: str, severity: str = "error", first: int | None = None) -> Finding:
    return Finding(code, severity, path, "log", 0, 9, first, first, None, None, None, None, 1, "none", 0, "keep", f"{code} here.")


def _waits(path: str, producer: int, first: int, open_for_ms: int | None, *, is_certain: bool = True) -> OpenTransaction:
    return OpenTransaction(path, producer, 0, first, None, open_for_ms, is_certain, False)


def _seen(*rows: Row) -> list[tuple[str, str, int, str]]:
    """Heading, path, number of places and message of each event."""
    triage = Triage("deep")
    triage.next_starts = SimpleNamespace(is_cleaned=lambda path: path in ("a-0", "b-0"))  # type: ignore[assignment]
    for found in rows:
        triage.take(found)
    return [(event.heading, event.path, event.places, event.message) for event in _events(triage)]


def _open(first: int, producer: int, seconds: int, doubt: str = "", which: str = "A transaction is open") -> str:
    return f"{which} from offset {first} on, of producer {producer}: the log goes on for {seconds} s after it{doubt}."


UNSURE = _open(5, 7, 10, ", and a marker may be in what was not read")
WAITING: Sequence[tuple[Sequence[Row], Sequence[tuple[str, int, str]]]] = [
    *(([_waits("a-0", 7, 5, ms)], []) for ms in (None, 0, 9_999)),
    ([_waits("a-0", 7, 5, 10_000)], [("a-0", 1, _open(5, 7, 10))]),
    ([_waits("a-0", 7, 5, 10_999, is_certain=False)], [("a-0", 1, UNSURE)]),
    (
        [_waits("a-0", 7, 5, 10_000), _waits("b-0", 8, 6, 90_999), _waits("b-0", 9, 9, None)],
        [("b-0", 2, _open(6, 8, 90, which="Of 3 open transactions the longest is"))],
    ),
    (
        [_waits("a-0", 7, 5, 99_000), _waits("b-0", 8, 6, 20_000), _found("txn-hanging", "a-0/x.log", first=5)],
        [("a-0", 1, "Read-committed consumers wait at offset 5. txn-hanging here."), ("b-0", 1, _open(6, 8, 20))],
    ),
    *(
        ([_waits("a-0", 7, 5, 10_000, is_certain=False), _found("txn-open", path, "info", first=first)], [("a-0", 1, said)])
        for path, first, said in (("a-0/x.log", 5, _open(5, 7, 10)), ("a-0/x.log", 6, UNSURE), ("b-0/x.log", 5, UNSURE))
    ),
]


@each("rows, events", WAITING)
def test_who_waits_longest_is_said_once_and_who_waits_for_ever_before(
    rows: list[Row], events: list[tuple[str, int, str]]
) -> None:
    assert [(path, places, message) for _, path, places, message in _seen(*rows)] == events


LARGE: dict[str, Any] = dict.fromkeys(PartitionSum.column_names)
LARGE |= {"path": "e-0", "broken_at": "e-0/1.log, byte 5", "size": (64 << 20) + 1, "read_bytes": 0}


def _unread(path: str, first: int, last: int, code: str = "crc-mismatch", certainty: str = "exact") -> Finding:
    found = _found(code, path, first=first)
    found.offset_last, found.offset_certainty, found.skipped, found.resync = last, certainty, 9, "by-length"
    return found


def test_what_cannot_be_read_is_one_event_of_each_partition_the_most_records_first() -> None:
    """One of a start is about the partition itself; with as many records, what has more findings comes first."""
    found = _seen(
        *(_unread("a-0/1.log", 5, 6), _found("start-leaves-damage", "b-0"), _unread("c-0/1.log", 1, 1)),
        *(
            _unread("c-0/1.log", 3, 3, "garbage-region"),
            _unread("d-0/1.log", 10, 19),
            _unread("f-0/1.log", 5, 9, certainty="among"),
        ),
        *(_unread("d-0/1.log", 30, 1030), _unread("d-0/1.log", 50, 60), _unread("d-0/1.log", 2000, 2000)),
        *(PartitionSum(**LARGE | {"path": path}) for path in ("d-0", "e-0")),
        *(Start(path, "4.3.1", "clean", 0, False, "damage", 0, 0, stop, "why") for path, stop in (("a-0", 5), ("b-0", 1200))),
    )
    assert [(heading, places) for heading, _, places, _ in found] == [("unreadable", 1)] * 6
    cleaner = "The log cleaner stops, too: the partition grows."
    assert [(path, message) for _, path, _, message in found] == [
        ("d-0", "1,012 records cannot be read: offsets 10 to 19, 30 to 1,030 and 1 more range. crc-mismatch here."),
        ("c-0", "At least 2 records cannot be read: offsets 1, 3. crc-mismatch here."),
        ("a-0", f"2 records cannot be read: offsets 5 to 6. Consumers stop at offset 5. {cleaner} crc-mismatch here."),
        ("f-0", "At least 1 record cannot be read, among offsets 5 to 9. crc-mismatch here."),
        ("b-0", "Consumers stop at offset 1,200. start-leaves-damage here."),
        ("e-0", "Perhaps: there is no sound batch at e-0/1.log, byte 5."),
    ]


@each("level, words, size", [("headers", ["not examined"], 0), ("quick", ["headers intact"], 78)])
def test_what_is_too_large_to_check_for_where_headers_end_is_not_examined(level: str, words: list[str], size: int) -> None:
    triage = Triage(level)
    for path, of_file, unread in (("a-0/1.log", 100, 30), ("a-0/1.index", 8, 0)):
        values: dict[str, Any] = dict.fromkeys(FileReport.column_names, 0)
        values |= {"path": path, "file_type": "log", "size": of_file, "bytes_not_examined": unread}
        triage.take(FileReport(**values))
    triage.take(PartitionSum(**LARGE))
    assert (triage.verdict.words[:1], triage.summary.read_bytes) == (words, size)


def test_what_else_is_wrong_is_one_event_for_each_fault_errors_first() -> None:
    found = _seen(
        *(_found("index-missing", path, "warning") for path in ("a-0/1.index", "b-0/1.index", "a-0/1.index")),
        *(_found("epochs-beyond-log", "a-0/epochs"), _found("torn-tail", "a-0/2.log", "warning")),
        _found("timeindex-missing", "a-0/3.timeindex", "info"),
    )
    assert found == [
        ("also wrong", "a-0/epochs", 1, "epochs-beyond-log here."),
        ("also wrong", "a-0/1.index", 2, "index-missing here."),
    ]
