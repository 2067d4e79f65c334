"""The verdict: no exit 0 where something cannot be read, is lost at the next start, or was not looked at."""

import json
import os
import random
import shutil
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kdump
from kdump.checks import check as checks
from kdump.checks.catalogue import FAULTS, STARTS
from kdump.checks.finding import FileReport, Finding, Start
from kdump.checks.jobs import Job
from kdump.checks.settings import Settings, current_time
from kdump.cli.checking.request import CheckRequest, read_baseline
from kdump.cli.commands import main
from kdump.errors import Unreadable
from kdump.verdicts import kept, starts
from kdump.verdicts.ranges import Ranges
from kdump.verdicts.repeated import ToldStarts
from kdump.verdicts.report import Report
from kdump.verdicts.unreadable import UnreadableOffsets
from kdump.verdicts.verdict import Verdict, may_fail_to_start
from tests.builders.cluster_metadata import replicas, topic
from tests.builders.compression import lz4_frame
from tests.builders.files import file_name, producer_entry, producer_snapshot, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import batch, record
from tests.loops import each

LOG = file_name(0, ".log")
NEWEST = file_name(4, ".log")
Capture = pytest.CaptureFixture[str]
OPEN = producer_entry(current_txn_first_offset=5)
WORDS = "offline", "die", "stray"


def _finding(code: str = "crc-mismatch", severity: str = "error", message: str = "Wrong.", **changed: object) -> Finding:
    finding = Finding(code, severity, "/a-0", "log", 0, 9, None, None, None, None, None, None, 1, "none", 0, "cut", message)
    for name, value in changed.items():
        setattr(finding, name, value)
    return finding


def _report(not_examined: int = 0, *, records: int = 0, more: bool = False, path: str = "/a-0/x", size: int = 9) -> FileReport:
    """Of a file with bytes that were not examined, and records that were not read."""
    report = FileReport(path, "log", size, 1, 0, 0, size - not_examined, 0, 0, 0, not_examined)
    report.records_not_read, report.are_more_not_read = records, more
    return report


def _verdict(*rows: Finding | FileReport, **options: Any) -> Verdict:
    verdict = Verdict(**options)
    for row in rows:
        verdict.add(row)
    return verdict


# --- the object


@each(
    ("rows", "text", "reasons", "exit_code"),
    [
        pytest.param([], "not examined", ["not examined: there is no Kafka file"], 3, id="nothing at all"),
        pytest.param([_report()], "fine", [], 0, id="a file without findings"),
        (
            [_finding("file-vanished"), _finding(), _finding(), _finding("start-loses", message="All goes.")],
            "loses at start, unreadable, not examined",
            ["loses at start: /a-0: All goes.", "unreadable: /: 2 x crc-mismatch", "not examined: /a-0: file-vanished"],
            3,
        ),
        (
            [_report(not_examined=5, path=f"/a-0/{name}") for name in ("x.deleted", "x.swap", ".nfs0a1", "remote_log_snapshot")],
            "fine, except for files that brokers are about to delete or rename",
            ["not examined: 15 bytes in 3 files"],
            0,
        ),
        *(
            ([_finding("start-loses", message="Why.", broker_forecast=forecast)], word, [f"{word}: /a-0: Why."], 1)
            for word, forecasts in (("does not start", ("die", "offline")), ("loses at start", ("stray", "cut")))
            for forecast in forecasts
        ),
        ([_finding(file_type="index", skipped=9)], "damaged", ["damaged: /: crc-mismatch"], 1),
        ([_finding(file_type="index", path="x")], "damaged", ["damaged: x: crc-mismatch"], 1),
        ([_finding(skipped=9, path="x")], "unreadable", ["unreadable: x: crc-mismatch"], 1),
        pytest.param([_finding("txn-hanging")], "stuck", ["stuck: /: txn-hanging"], 1, id="nothing damaged, but readers wait"),
    ],
)
def test_a_verdict_says_the_worst_first_with_its_reasons(rows: list[Any], text: str, reasons: list[str], exit_code: int) -> None:
    verdict = _verdict(*rows)
    assert (verdict.text, verdict.reasons, verdict.exit_code) == (text, reasons, exit_code)
    assert len(verdict.words) == 1 or verdict.words == text.split(", ")


def test_counted_findings_say_how_many_starts_fail() -> None:
    of_starts = {"start-loses", "checkpoint-bad-batch", "checkpoint-no-header", "log-dir-file-bad", "dir-odd"}
    of_starts |= {"partition-metadata-bad", "quorum-state-bad", "snapshot-gap-metadata"}
    assert set(filter(may_fail_to_start, FAULTS)) == of_starts
    verdict = Verdict()
    verdict.add_findings("file-not-recognized", "info", 1)
    assert verdict.exit_code == 3, "nothing of Kafka's is there"
    verdict = Verdict()
    verdict.add_findings("start-loses", "error", 5, fails=2)
    verdict.add_findings("dir-odd", "error", 3, fails=1, unreadable=2)
    verdict.add_findings("torn-tail", "error", 6, fails=1, unreadable=2)
    verdict.add_findings("txn-hanging", "error", 1)
    verdict.add_findings("dir-odd", "warning", 4, fails=1, unreadable=1)
    words = ["does not start", "loses at start"]
    assert verdict.words == [*words, "unreadable", "damaged", "stuck"]
    assert verdict.reasons == [
        *("does not start: 2 x start-loses", "does not start: dir-odd", "does not start: torn-tail"),
        *("loses at start: 3 x start-loses", "unreadable: 2 x dir-odd", "unreadable: 2 x torn-tail"),
        *("damaged: 3 x torn-tail", "stuck: txn-hanging", "not counted: 4 warnings"),
    ]
    verdict.add_findings("finding-flood", "info", 1)
    verdict.add_findings("check-crashed", "info", 1)
    verdict.count_unreadable(3, is_least=False)
    assert (verdict.exit_code, verdict.text) == (1, ", ".join([*words, "unreadable (at least 3 records)", "damaged", "stuck"]))
    verdict.add_findings("check-crashed", "error", 2)
    assert (verdict.exit_code, verdict.words[-1], verdict.reasons[-2]) == (3, "not examined", "not examined: 2 x check-crashed")


@each(
    ("failing", "severity", "code"),
    [(("error",), "warning", 0), (("error", "warning"), "warning", 1), (("error", "warning"), "info", 0)],
)
def test_findings_count_from_the_chosen_severity_on(failing: tuple[str, ...], severity: str, code: int) -> None:
    for fault in ("crc-mismatch", "check-crashed"):
        verdict = _verdict(_finding(fault, severity), failing=failing)
        assert verdict.exit_code == code
        assert verdict.reasons == ([f"damaged: /: {fault}"] if code else [f"not counted: 1 {severity}"])


def test_clean_names_what_it_does_not_count() -> None:
    verdict = _verdict(_report(not_examined=5))
    verdict.add_finding(_finding(), is_known=True)
    verdict.leave_out()
    expected = "fine, except for known findings and findings that were left out and files that are not Kafka's"
    assert (verdict.text, verdict.exit_code) == (expected, 0)
    assert verdict.reasons == [
        "not examined: 5 bytes in 1 file",
        "known from the baseline: 1 finding",
        "left out by --select or --ignore: 1 finding",
    ]


@each(
    ("code", "words"),
    [
        ("meta-properties-missing", "a log directory without meta.properties"),
        ("index-orphan", "segments of which only indexes are left"),
        ("cluster-id-missing", "a broker with KRaft, which does not start without a cluster.id"),
        ("partition-missing", "partitions that only checkpoints name"),
        ("file-not-recognized", "files that are not Kafka's"),
        ("txn-open", "an open transaction, at which read-committed consumers wait"),
    ],
)
def test_what_nobody_knows_to_be_wrong_is_excepted(code: str, words: str) -> None:
    verdict = _verdict(_report(path="/data/a-0/x"), _finding(code, "info", path="/data/x"))
    assert (verdict.text, verdict.exit_code) == (f"fine, except for {words}", 0)
    verdict = _verdict(_report())
    verdict.add_findings(code, "warning", 1)
    assert verdict.text == ("fine" if code == "txn-open" else f"fine, except for {words}")


def test_a_log_directory_without_any_of_its_partitions_was_not_examined() -> None:
    verdict = _verdict(_report(path="/data/a-0/x"), *(_finding("partition-missing", "info", path=f"/{of}/x") for of in "cb"))
    assert (verdict.text, verdict.exit_code, verdict.is_complete) == ("not examined", 3, False)
    assert verdict.reasons[:2] == [f"not examined: /{of}: it has none of its partitions" for of in "bc"]


@each(("count", "last"), [(19, "no"), (20, "no"), (21, "1"), (1040, "1,020")])
def test_reasons_have_an_end(count: int, last: str) -> None:
    verdict = Verdict()
    for number in range(count):
        verdict.fail_to_examine(f"file {number}")
    lines = [f"not examined: file {number}" for number in range(min(count, 20))]
    assert verdict.reasons == [*lines, *([] if last == "no" else [f"{last} more reasons"])]


@each(
    ("level", "more", "words", "unread"),
    [
        ("full", False, "headers and CRCs intact", "1,200 records not read"),
        ("full", True, "headers and CRCs intact", "at least 1,200 records not read"),
        ("quick", False, "headers intact", "indexes not compared with logs, 1,200 records not read"),
    ],
)
def test_what_was_not_read_is_not_clean(level: str, more: bool, words: str, unread: str) -> None:
    verdict = _verdict(_report(records=1000, more=more), _report(records=200), level=level)
    text = f"{words}; {unread} (--level deep)"
    assert (verdict.words, verdict.text, verdict.exit_code) == ([words, "records not read"], text, 0)
    assert verdict.reasons == [f"{unread} (--level deep)"]


def test_what_was_not_read_is_said_beside_damage_and_after_what_does_not_count() -> None:
    verdict = _verdict(_report(records=3), level="full")
    verdict.leave_out()
    assert verdict.text == "headers and CRCs intact, except for findings that were left out; 3 records not read (--level deep)"
    verdict.add(_finding())
    assert (verdict.text, verdict.exit_code) == ("unreadable; 3 records not read (--level deep)", 1)
    for level, word in (("full", "fine"), ("quick", "headers intact")):
        verdict = _verdict(_report(records=0), level=level)
        assert (verdict.words, verdict.text) == ([word], word)
    for _ in range(2):
        verdict.leave_starts(1)
    assert verdict.text == f"{word}; starts of 2 partitions not forecast (--level quick)"


def test_a_metadata_log_is_never_clean_alone() -> None:
    verdict = _verdict(_report(path="/data/__cluster_metadata-0/0.log", size=0))
    assert verdict.text == "fine"  # no record
    verdict.add(_report(path="/data/__cluster_metadata-0/0.log"))
    assert (verdict.words, verdict.exit_code) == (["fine", "records not replayed"], 0)
    assert verdict.text == "fine; records of __cluster_metadata-0 not replayed"
    verdict = _verdict(_report(path="/data/__cluster_metadata-0/0.log", records=3), level="full")
    assert verdict.text.endswith("; 3 records not read (--level deep); records of __cluster_metadata-0 not replayed")


def test_a_forecast_is_about_the_start_alone() -> None:
    verdict = Verdict(level=None)
    verdict.add_files(0)
    assert (verdict.words, verdict.exit_code) == (["not examined"], 3)
    verdict.add_files(1)
    assert verdict.words == ["nothing lost at start", "records not read"]
    assert (verdict.text, verdict.exit_code) == ("nothing lost at start; records not read (kdump check)", 0)


@each(
    ("added", "text"),
    [
        ([(5, 5)], "offset 5"),
        ([(5, 5), (3, 3)], "offsets 3, 5"),
        ([(0, 4), (8, 1200), (5, 6)], "offsets 0 to 6, 8 to 1,200"),
        ([(0, 1), (3, 4), (6, 8)], "offsets 0 to 1, 3 to 4 and 1 more range"),
        ([(1, 1), (3, 4), (6, 6), (8, 9)], "offsets 1, 3 to 4 and 2 more ranges"),
    ],
)
def test_ranges_are_shown_on_a_line_and_what_is_not_named_is_counted(added: list[tuple[int, int]], text: str) -> None:
    assert _ranges(*added).text("offset", 2) == text


def _ranges(*added: tuple[int, int]) -> Ranges:
    ranges = Ranges()
    for first, last in added:
        ranges.add(first, last)
    return ranges


def test_ranges_that_overlap_or_touch_are_one_in_any_order() -> None:
    pairs = [(first, last) for first in range(5) for last in range(first, 5)]
    for added in product(pairs, repeat=3):
        ranges, numbers = _ranges(*added), sorted({number for first, last in added for number in range(first, last + 1)})
        assert [number for first, last in ranges.merged() for number in range(first, last + 1)] == numbers
        assert ranges.total == len(numbers)
        for first, last in pairs[::3]:
            held = [number in numbers for number in range(first, last + 1)]
            assert (ranges.hold(first, last), ranges.touch(first, last)) == (all(held), any(held))
        assert len(_ranges(*added)) == 1 + sum(later > one + 1 for one, later in pairwise(numbers))


# --- partitions


def _batches(*offsets: int) -> list[bytes]:
    return [batch(base_offset=offset, records=[record(value=b"v%d" % offset)]) for offset in offsets]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A sound partition of three segments, each batch with an entry in its index."""
    segments = {0: _batches(0, 1), 2: _batches(2, 3), 4: _batches(4, 5, 6)}
    return write_partition(tmp_path / "data", topic="orders", partition=3, segments=segments, index_interval_bytes=0)


def _shown(capfd: Capture) -> str:
    """What was printed since the last call, in one line."""
    return " ".join(capfd.readouterr().out.split())


def _exit_codes(path: Path, capfd: Capture) -> tuple[int, int]:
    """Of the check and the forecast of a directory."""
    codes = main(["check", str(path)]), main(["forecast", str(path)])
    capfd.readouterr()
    return codes


def test_a_torn_end_is_damage_after_a_clean_stop_and_where_a_broker_will_cut_it(partition: Path) -> None:
    for suffix in (".log", ".index", ".timeindex"):  # no index attests what is missing from the log
        data = b"".join(_batches(4, 5, 6))[:-5] if suffix == ".log" else b""
        (partition / NEWEST).with_suffix(suffix).write_bytes(data)
    findings = {finding.code: finding for finding in kdump.check(partition)}
    severities = {code: finding.severity for code, finding in findings.items()}
    assert severities == {"torn-tail": "warning", "start-leaves-damage": "error"}
    message = "After a clean stop: 1 damaged batch stays: consumers stop at offset 6."
    assert findings["start-leaves-damage"].message.startswith(message)
    forecast = Verdict(level=None)
    forecast.add_forecasts(kdump.forecast(partition, after="clean"))
    assert forecast.words == ["unreadable"]
    verdict = kdump.verdict(partition)
    assert (verdict.words, verdict.exit_code) == (["unreadable"], 1)
    (partition.parent / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    (partition.parent / "recovery-point-offset-checkpoint").write_text("0\n1\norders 3 4\n")
    (found,) = [finding for finding in kdump.check(partition) if finding.code in STARTS]
    assert found.code == "start-leaves-damage"
    assert found.message.startswith(f"After a crash with all below offset 4 flushed: {NEWEST} is cut at byte ")


@each(("folder", "log", "told"), [("ticket", "x.log", ""), ("orders-3", "x.log", "fails"), ("ticket", LOG, "trims")])
def test_a_folder_of_logs_under_other_names_has_no_start(folder: str, log: str, told: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / log).write_bytes(b"".join(_batches(0, 1))[:-5])
    assert {start.verdict for start in kdump.check(tmp_path / folder).starts} == {told} - {""}


def test_a_file_that_is_not_of_kafka_beside_sound_ones_is_named_and_does_not_count(partition: Path, capfd: Capture) -> None:
    (partition / "notes.txt").write_text("of nobody")
    verdict = kdump.verdict(partition)
    assert (verdict.text, verdict.exit_code) == ("fine, except for files that are not Kafka's", 0)
    assert verdict.reasons[0] == "not examined: 9 bytes in 1 file"
    (partition / ".nfs0000a1").write_bytes((partition / NEWEST).read_bytes())  # which NFS keeps until the broker closes it
    assert kdump.verdict(partition).text == f"{verdict.text} and files that brokers are about to delete or rename"
    assert _exit_codes(partition, capfd) == (0, 0)


@each(("end", "beside", "is_told"), [("info", "warning", False), ("warning", "warning", True), ("info", "error", True)])
def test_the_next_start_of_a_log_that_grows_is_not_foretold(end: str, beside: str, is_told: bool, partition: Path) -> None:
    """A broker is appending to it, so its end is no torn one; a warning beside it does not change that, but an error does."""
    os.truncate(partition / NEWEST, (partition / NEWEST).stat().st_size - 5)
    found: list[object] = []
    watcher = starts.Watcher(found.append)
    watcher.emit(_finding("torn-tail", end))
    watcher.emit(_finding("index-missing", beside))
    found.clear()
    starts.report(_job(partition), Settings(now=current_time()), watcher, None)
    assert bool(found) == is_told


_TORN, _GAP = ("torn-tail", "torn-header", "zero-tail"), ("crc-mismatch", "garbage-region")
_REACH = 1 << 31  # of a segment


@each(
    ("codes", "first", "last", "is_believed"),
    [
        *((codes, 5, last, False) for codes in (_TORN, _GAP) for last in (4, -9, 3)),
        *((codes, first, last, False) for codes in (_TORN, _GAP) for first, last in ((-1, 2), (None, None))),
        *((codes, (1 << 60) - 3, (1 << 60) + over, not over) for codes in (_TORN, _GAP) for over in (0, 1)),
        *((_TORN, 5, 5 + 900 - 1 + over, not over) for over in (0, 1)),  # 100 for each of nine bytes
        *((_GAP, 5, 5 + _REACH - 1 + over, not over) for over in (0, 1)),
    ],
)
def test_offsets_that_nobody_can_have_lost_are_not_counted(
    codes: tuple[str, ...], first: Any, last: Any, is_believed: bool
) -> None:
    """What a damaged header claims beyond belief only says that something is missing."""
    for code in codes:
        lost: dict[str, Any] = {"skipped": 9, "offset_first": first, "offset_last": last, "offset_certainty": "estimated"}
        verdict = _verdict(_finding(code, **lost))
        unreadable = verdict.unreadable_in("/")
        assert unreadable is not None and list(unreadable.ranges.merged()) == ([(first, last)] if is_believed else [])
        assert unreadable.is_least == (not is_believed or code == "garbage-region")
        among = _verdict(_finding(code, **lost | {"offset_certainty": "among"})).unreadable_in("/")
        assert among is not None and (among.is_least, among.total) == (True, int(is_believed)), "compaction took some"
        exact = _verdict(_finding(code, **lost | {"offset_certainty": "exact"})).unreadable_in("/")
        assert exact is not None and (first is None or last < first or exact.total == last - first + 1), "of an intact batch"


@each(
    ("code", "resync", "is_least"),
    [
        *(("crc-mismatch", resync, resync == "end") for resync in ("by-length", "by-repaired-length", "by-scan", "end")),
        *((code, "by-scan", True) for code in ("batch-length-negative", "batch-length-absurd", "zero-hole", "resync-budget")),
        *((code, "end", False) for code in ("torn-tail", "bad-magic")),
    ],
)
def test_damage_after_which_nothing_is_found_hides_more(code: str, resync: str, is_least: bool) -> None:
    finding = _finding(code, skipped=9, offset_first=5, offset_last=7, resync=resync)
    verdict = _verdict(finding)
    assert verdict.text == f"unreadable ({'at least ' if is_least else ''}3 records)"
    assert _verdict(finding, _finding("finding-flood", "info")).text == "unreadable (at least 3 records)", "others are not listed"
    finding.code, finding.resync = "torn-tail", "by-length"
    verdict.add(finding)
    for is_more, text in ((True, "at least 7 records"), (False, "at least 8 records")):
        verdict.count_unreadable(4 if is_more else 1, is_least=is_more)
        assert verdict.text == f"unreadable ({text})"


@each(
    ("changed", "count"),
    [
        *(({}, 3), ({"severity": "warning"}, 3), ({"severity": "info"}, 0), ({"file_type": "index"}, 0), ({"skipped": 0}, 0)),
        *(({"skipped": 61, "resync": resync}, count) for resync, count in (("by-scan", 3), ("by-length", 0))),  # a header alone
        ({"skipped": 62, "resync": "by-length"}, 3),
    ],
)
def test_offsets_are_unreadable_where_a_check_stepped_over_records_of_a_log(changed: dict[str, object], count: int) -> None:
    unreadable = UnreadableOffsets()
    unreadable.add(_finding(**{"skipped": 9, "offset_first": 5, "offset_last": 7, "resync": "by-scan", **changed}))  # type: ignore[arg-type]  # of any column
    assert (unreadable.total, unreadable.is_least) == (count, False)


def test_what_can_be_read_least_of_is_the_first_reason() -> None:
    lost = {"few": 1, "many": 9, "some": 5}
    verdict = _verdict(*(_finding(path=f"/{name}/x", skipped=9, offset_first=1, offset_last=lost[name]) for name in lost))
    assert [reason.split(": ")[1] for reason in verdict.reasons] == ["/many", "/some", "/few"]
    assert verdict.text == "unreadable (15 records)"
    verdict.add(_finding(path="/some/x", skipped=9))
    assert verdict.text == "unreadable (at least 15 records)", "of one of three partitions, more is not known"
    for name, count in lost.items():
        verdict.add_start(Start(f"/{name}", "4.3.1", "clean", 0, False, "loss", count, 0, None, "Cut."))
    assert [reason.split()[3] for reason in verdict.reasons[:3]] == ["/many,", "/some,", "/few,"]


@each("forecast", ["keep", "ignore", "blind", "cut 5", "die"])
@each("severity", ["error", "warning", "info"])
def test_what_a_start_does_to_a_finding_and_its_severity_say_whether_it_is_in_doubt(
    severity: str, forecast: str, partition: Path
) -> None:
    """Then starts are reported, though this one is sound."""
    found: list[object] = []
    watcher, finding = starts.Watcher(found.append), _finding("index-missing", severity, broker_forecast=forecast)
    watcher.emit(finding)
    is_doubtful = severity == "warning" or severity == "info" and forecast not in ("ignore", "blind")
    assert (watcher.fails, watcher.is_doubtful, watcher.is_active) == (severity == "error", is_doubtful, False)
    assert (watcher.lacks_indexes_only, watcher.is_spotless) == (severity == "info", False)
    for code in FAULTS.keys() - {"index-missing", "timeindex-missing"}:
        other = starts.Watcher(found.append)
        other.emit(_finding(code, severity))
        other.emit(_finding("index-missing", "info"))
        assert not other.lacks_indexes_only, code
    found.clear()
    starts.report(_job(partition), Settings(now=current_time()), watcher, None)
    assert {type(row) for row in found} == ({Start} if watcher.fails or is_doubtful else set())


def _reported(partition: Path, rows: list[Any]) -> list[object]:
    """What is reported of a partition whose starts are these."""
    found: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts, "forecasts_of", lambda *_, **__: rows)
        starts.report(_job(partition), Settings(now=current_time()), starts.Watcher(found.append), None)
    return found


@each("stop", ["clean", "unclean"])
def test_a_start_that_loses_is_said_before_one_that_the_log_directory_shows(stop: str, partition: Path) -> None:
    (partition.parent / "meta.properties").write_text("version=0\nbroker.id=1\n")
    rows = [row for row in starts.forecasts_of(str(partition)) if row.recovery_point == 0 or row.after == "clean"]
    for row in rows:
        row.outcome, row.consumers_stop_at = "keep", 3
        if row.after == stop:
            row.outcome, row.lost_records, row.lost_offsets, row.bytes_lost = "cut", 5, [[2, 3], [5, 7]], 100
    (finding,) = (row for row in _reported(partition, rows) if isinstance(row, Finding))
    assert (finding.code, finding.offset_first, finding.offset_last) == ("start-loses", 2, 7)


def test_a_report_is_true_wherever_the_command_ends_with_another_code_than_0() -> None:
    sound, damaged, crashed, is_open = _report(), _finding(), _finding("check-crashed"), _finding("txn-open", "info")
    for rows, code, shown, more in (
        *(([sound], 0, [], ""), ([damaged], 1, [damaged], ""), ([], 3, [], ""), ([crashed], 3, [crashed], "")),
        *(([is_open], 0, [is_open], ""), ([is_open, *[damaged] * 3], 1, [damaged] * 3, "")),
        ([is_open, *[damaged] * 4], 1, [damaged] * 3, "; 1 more"),
    ):
        report = Report("/a-0", "deep")
        for row in rows:
            report.add(row)
        assert (report.exit_code, bool(report), len(report)) == (code, code != 0, sum(isinstance(row, Finding) for row in rows))
        listed = "".join(f"; {one.code} at /a-0, byte 0" for one in shown)
        assert repr(report) == f"<kdump.Report /a-0: {report.verdict.text}{listed}{more}>"


def _job(partition: Path) -> Job:
    return Job(Job.PARTITION, str(partition), str(partition))


def _is_kept(partition: Path, **of_log: object) -> bool:
    """Whether no start of a partition needs to be simulated; its newest log may be told to be another."""
    facts = checks.run(_job(partition), Settings(now=current_time()), lambda _: None)
    assert facts is not None
    if of_log:
        sound = {"is_damaged": False, "is_plain": True, "end": 9, "size": 9, "last_offset": 6}
        facts.segments[4] = SimpleNamespace(**sound | of_log)  # type: ignore[assignment]
    return kept.by_every_start(facts)


@each(
    ("of_log", "is_kept"),
    [
        *(({"size": size, "end": size}, size < 1 << 31) for size in (0x7FFFFFFF, 0x80000000)),
        *(({"last_offset": last}, last != 5 + 0x7FFFFFFF) for last in (4 + 0x7FFFFFFF, 5 + 0x7FFFFFFF, None)),
        *((other, False) for other in ({"is_damaged": True}, {"is_plain": False}, {"end": 8})),
    ],
)
def test_every_start_keeps_logs_that_are_plain_and_no_larger_than_segments_may_be(
    of_log: dict[str, object], is_kept: bool, partition: Path
) -> None:
    assert _is_kept(partition, **of_log) == is_kept


@each(("level", "is_kept"), [("quick", False), ("full", True), ("deep", True)])
def test_only_a_check_that_read_all_bytes_shows_that_starts_keep_them(level: str, is_kept: bool, partition: Path) -> None:
    facts = checks.run(_job(partition), Settings(now=current_time(), level=level), lambda _: None)
    assert facts is not None and kept.by_every_start(facts) == is_kept
    size = max(path.stat().st_size for path in partition.glob("*index"))
    assert [kept.by_every_start(facts, most) for most in (size - 1, size)] == [False, is_kept]


def _opened_before_the_last_snapshot(path: Path) -> None:
    for offset, entries in ((4, [OPEN]), (9, [])):
        (path / file_name(offset, ".snapshot")).write_bytes(producer_snapshot(entries=entries))


def _owned(path: Path, log_start: str | None = None) -> None:
    """Make the folder of a partition the log directory of a broker, with a checkpoint of log starts if there is a line for it."""
    (path.parent / "meta.properties").write_text("version=0\nbroker.id=1\n")
    if log_start is not None:
        (path.parent / "log-start-offset-checkpoint").write_text(f"0\n1\n{log_start}\n")


@each(
    ("change", "is_kept"),
    [
        (lambda path: None, True),
        (lambda path: (path / "5.index").write_bytes(b""), False),
        (lambda path: (path / "x").write_bytes(b""), False),
        (lambda path: (path / "x").mkdir(), False),
        (lambda path: (path / file_name(9, ".index")).write_bytes(b""), False),
        (lambda path: (path / file_name(4, ".txnindex")).write_bytes(b""), False),
        (lambda path: [one.unlink() for one in path.glob("*.*")], False),
        (lambda path: (path / file_name(9, ".snapshot")).write_bytes(b""), True),
        (lambda path: (path / file_name(9, ".snapshot")).write_bytes(producer_snapshot(entries=[producer_entry(), OPEN])), False),
        (_opened_before_the_last_snapshot, False),
        (lambda path: (path / NEWEST).chmod(0o400), False),
        (lambda path: path.chmod(0o500), False),
        (_owned, True),
        (lambda path: _owned(path, "orders 3 7"), True),
        (lambda path: _owned(path, "orders 3 8"), False),
        (lambda path: _owned(path, "orders 3 x"), False),
        (lambda path: _owned(path, "orders 2 8"), True),
    ],
)
def test_every_start_keeps_a_partition_with_nothing_else_in_it_or_around_it(
    change: Callable[[Path], object], is_kept: bool, tmp_path: Path
) -> None:
    path = write_partition(tmp_path / "data", topic="orders", partition=3, segments={0: _batches(0, 1), 4: _batches(4, 5, 6)})
    change(path)
    try:
        assert _is_kept(path) == is_kept
    finally:
        path.chmod(0o700)


def test_what_starts_do_to_what_fails_is_in_the_verdict_and_no_finding(partition: Path, capfd: Capture) -> None:
    (partition / LOG).write_bytes(flipped((partition / LOG).read_bytes()))
    assert {finding.code for finding in kdump.check(partition)} == {"crc-mismatch"}
    assert kdump.verdict(partition).words == ["loses at start", "unreadable"]
    assert main(["check", "--output", "ndjson", str(partition)]) == 1
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    starts = [row for row in rows if row["kind"] == "start"]
    assert [(row["after"], row["recoveryPoint"], row["verdict"]) for row in starts] == [
        ("unclean", 0, "loss"),
        ("clean", 7, "damage"),
        ("unclean", 7, "damage"),
    ]
    assert (rows[-1]["verdict"], rows[-1]["exitCode"]) == ("loses at start, unreadable (1 record)", 1)


def test_a_start_of_what_was_ignored_fails_unless_it_was_ignored_itself(partition: Path, capfd: Capture) -> None:
    (partition / LOG).write_bytes(flipped((partition / LOG).read_bytes()))
    assert main(["check", "--ignore", "start-loses", str(partition)]) == 1
    recover = f"Do: kdump recover {partition} -o NEW/{partition.name}\n"
    assert capfd.readouterr().out.endswith(f"Also unreadable (1 record). Exit status 1.\n{recover}")
    assert main(["check", "--ignore", "crc-mismatch", str(partition)]) == 1
    assert " Verdict: loses at start: " in _shown(capfd)
    assert main(["check", "--ignore", "crc-mismatch", "--ignore", "start-loses", str(partition)]) == 0
    expected = "fine, except for findings that were left out and a start that fails or loses records"
    assert _shown(capfd).endswith(f"Verdict: {expected}. Exit status 0.")


def test_a_baseline_without_the_start_does_not_hide_it(partition: Path, tmp_path: Path, capfd: Capture) -> None:
    (partition / LOG).write_bytes(flipped((partition / LOG).read_bytes()))
    main(["check", "--output", "ndjson", str(partition)])
    rows = capfd.readouterr().out.splitlines(keepends=True)
    baseline = tmp_path / "baseline.ndjson"
    baseline.write_text("".join(row for row in rows if json.loads(row)["kind"] != "start"))
    assert main(["check", "--baseline", str(baseline), str(partition)]) == 1
    assert " Verdict: loses at start: " in _shown(capfd)
    baseline.write_text("".join(rows))
    assert main(["check", "--baseline", str(baseline), str(partition)]) == 0
    expected = "fine, except for known findings and a start that fails or loses records"
    assert _shown(capfd).endswith(f"Verdict: {expected}. Exit status 0.")
    known_starts: set[tuple[str, str, str]] = set()
    request = CheckRequest.__new__(CheckRequest)
    request.baseline = read_baseline(str(baseline), known_starts)
    (finding,) = kdump.check(partition)
    (elsewhere,) = kdump.check(shutil.copytree(partition, partition.with_name("orders-4")))  # in a file of the same name
    assert [request.is_known(one) for one in (elsewhere, finding, finding)] == [False, True, False]
    assert {start[1:] for start in known_starts} == {("unclean", "loss"), ("clean", "damage"), ("unclean", "damage")}


@each(("level", "ignored", "proves"), [("deep", "", True), ("deep", "crc-mismatch", False), ("quick", "", False)])
def test_a_check_proves_a_log_sound_only_if_it_reads_it_and_ignores_nothing(level: str, ignored: str, proves: bool) -> None:
    request = CheckRequest.__new__(CheckRequest)
    request.settings, request._selected, request._ignored = Settings(now=0, level=level), None, frozenset(ignored.split())
    assert request.proves_logs == proves


# --- records that nobody can read


UNREADABLE = {
    "a header count of four bytes": batch(records=[b"\x14\0\0\0\x01\x02v\0\0\0\0"]),
    "a header without a key": batch(records=[record(value=b"v", headers=[(None, b"v")])]),
    "an lz4 header with the checksum of old clients": batch(
        records=[record(value=b"v" * 50)] * 4,
        codec="lz4",
        compressor=lambda data: lz4_frame(data, is_header_checksum_broken=True),
    ),
}


@pytest.fixture(params=list(UNREADABLE))
def unreadable(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A partition whose first batch cannot be read, though its CRC is right."""
    bad = UNREADABLE[request.param]
    next_offset = 1 + int.from_bytes(bad[23:27])  # its last offset delta
    return write_partition(
        tmp_path / "data", topic="orders", segments={0: [bad, *_batches(next_offset, next_offset + 1)]}, index_interval_bytes=0
    )


def test_records_that_nobody_can_read_are_damage_by_default(unreadable: Path, capfd: Capture) -> None:
    assert kdump.verdict(unreadable).words == ["unreadable"]
    assert [start.verdict for start in kdump.check(unreadable).starts] == ["safe"] * 3
    assert main(["check", str(unreadable)]) == 1
    assert "\nVerdict: unreadable (" in capfd.readouterr().out


@each("form", ["text", "ndjson", "json", "sarif", "junit"])
def test_a_check_that_reads_no_records_calls_nothing_clean(unreadable: Path, form: str, capfd: Capture) -> None:
    assert main(["check", "--level", "full", "--output", form, str(unreadable)]) == 0
    shown = capfd.readouterr().out
    out = shown.partition('"results":')[2] or shown  # the rules of SARIF before it speak of the log cleaner
    assert "headers and CRCs intact; " in out and " records not read (--level deep)" in out
    assert not any(clean in out for clean in ('"fine', ": fine", "   fine", '"recordsNotRead":0,'))


def test_recover_calls_nothing_verified_that_nobody_can_read(unreadable: Path, tmp_path: Path, capfd: Capture) -> None:
    assert main(["recover", str(unreadable), "-o", str(tmp_path / "out")]) == 1
    out = capfd.readouterr().out
    assert "\nWhat was taken over as it is has 1 error: kdump check lists it.\n" in out
    assert "verified" not in out and "Nothing is lost" not in out
    assert (tmp_path / "out" / LOG).read_bytes() == (unreadable / LOG).read_bytes()


# --- metadata logs


@each("name", ["__cluster_metadata-0", "copy-7"])
def test_a_metadata_log_is_not_replayed_and_both_commands_say_so(name: str, tmp_path: Path, capfd: Capture) -> None:
    no_op = batch(records=[record(value=b"\x01\x14\x00\x00")])
    path = write_partition(tmp_path, topic="__cluster_metadata", segments={0: [no_op]}, index_interval_bytes=0)
    (path / "quorum-state").write_text(
        '{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    path = path.rename(tmp_path / name)
    assert main(["check", str(path)]) == 0
    shown = capfd.readouterr().out
    assert "   fine; records not replayed\n" in shown
    assert shown.endswith(f"Verdict: fine; records of {name} not replayed. Exit status 0.\n")
    assert main(["check", "--output", "ndjson", str(path)]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert (rows[-1]["errors"], rows[-1]["warnings"]) == (0, 0)
    assert main(["forecast", str(path)]) == 0
    shown = _shown(capfd)
    assert "loads after a clean stop" in shown and "safe" not in shown
    assert "The records of this metadata log are not replayed" in shown
    assert f"; records of {name} not replayed. Exit status 0." in shown
    assert all("not replayed" in " ".join(row.conditions) for row in kdump.forecast(path))


# --- one cause, one statement


NO_NAMES = [f"{line}\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n" for line in ("version: 0: 1", "version:0")]


@each(
    ("text", "outcome", "reason"),
    [
        # the log manager of 4.3.1 was run on the first four, and on zeros
        ("", "die", "the file is empty"),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n", "offline", "the topic id in the file is all zeros"),
        ("version: 0\ntopic_id: not-a-uuid-by-far-too-long-a-string\n", "die", "the topic id in the file has 35 characters"),
        ("version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n", "keep", ""),
        ("version: 0\n", "die", "the file ends before line 2"),
        *((text, "offline", "line 1 of the file is not a name with a value") for text in ("\0" * 43, "\n", *NO_NAMES)),
        ("version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n", "offline", "the version in the file is -1"),
        ("version: x\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n", "offline", "the version in the file is not a number"),
        ("anything: 0\nelse: AAAAAAAAAAAAAAAAAAAAAQ", "keep", ""),
        ("version: 0\r\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\r\n\r\nmore", "keep", ""),
    ],
)
def test_malformed_partition_metadata_is_one_statement_in_check_and_forecast(
    text: str, outcome: str, reason: str, tmp_path: Path, capfd: Capture
) -> None:
    directory = _log_directory(tmp_path / "d1", "a")
    (directory / "a-0" / "partition.metadata").write_text(text)
    starts = list(kdump.forecast(directory))
    assert {start.outcome for start in starts} == {outcome}
    assert all((start.reason or "").startswith(reason.replace("the file", "partition.metadata")) for start in starts)
    errors = [finding for finding in kdump.check(directory) if finding.severity == "error"]
    fails = outcome != "keep"
    assert [finding.code for finding in errors] == ["partition-metadata-bad"] * fails
    assert all(reason.lower() in finding.message.lower() and "stray" not in finding.message for finding in errors)
    assert [(one.broker_forecast, one.end) for one in errors] == [(outcome, len(text.encode()))] * fails
    infos = [one.broker_forecast for one in kdump.check(directory / "a-0" / "partition.metadata") if one.severity == "info"]
    assert infos == ["ignore"] * text.startswith("version: 1")
    assert _exit_codes(directory, capfd) == (fails, fails)
    assert kdump.verdict(directory).words == (["does not start"] if fails else ["fine"])


# --- whatever is done to a partition


LOGS = [LOG, file_name(2, ".log"), NEWEST]


def _cut(log: Path, chance: random.Random) -> None:
    os.truncate(log, chance.randrange(log.stat().st_size))


def _flip(log: Path, chance: random.Random) -> None:
    data = bytearray(log.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    log.write_bytes(data)


def _rename(log: Path, chance: random.Random) -> None:
    log.rename(log.with_suffix(chance.choice([".bak", ".log.bak", ".log.gz", ".old"])))


def _remove_middle(log: Path, chance: random.Random) -> None:
    middle = log.parent / LOGS[1]
    middle.unlink()
    middle.with_suffix(chance.choice([".index", ".timeindex"])).unlink()  # the other attests what was there


def _swap(log: Path, chance: random.Random) -> None:
    other = log.with_name(chance.choice([name for name in LOGS if name != log.name]))
    data = log.read_bytes()
    log.write_bytes(other.read_bytes())
    other.write_bytes(data)


def _zero(log: Path, chance: random.Random) -> None:
    data = log.read_bytes()
    start = chance.randrange(len(data) - 1)  # the last byte of each log here is zero
    log.write_bytes(data[:start] + bytes(len(data) - start))


def _link_nowhere(log: Path, _: random.Random) -> None:
    log.unlink()
    log.symlink_to(log.parent / "nowhere")


DEEDS: list[Callable[[Path, random.Random], None]] = [_cut, _flip, _rename, _remove_middle, _swap, _zero, _link_nowhere]


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__.strip("_"))
def test_no_deed_that_loses_records_ends_with_exit_code_0(
    deed: Callable[[Path, random.Random], None], partition: Path, capfd: Capture, all_cases: bool
) -> None:
    for seed in range(25 if all_cases else 8):
        directory = partition.parent / f"copy-{seed}"
        shutil.copytree(partition, directory)
        chance = random.Random(seed)
        deed(directory / chance.choice(LOGS), chance)
        check, forecast = _exit_codes(directory, capfd)
        assert check != 0, seed
        assert (check, forecast) != (0, 1), seed


def test_what_to_type_fits_what_is_endangered_and_what_was_not_examined(partition: Path, capfd: Capture) -> None:
    log = partition / NEWEST
    os.truncate(log, 2 * len(_batches(4)[0]))  # at the end of a batch: a clean start writes over what follows
    (partition / LOG).rename(partition / f"{LOG}.bak")
    assert main(["check", str(partition)]) == 3
    out = capfd.readouterr().out
    assert f"\nNext\n  mkdir -p KEEP && cp -a {partition} KEEP/{partition.name}.damaged   # before any restart" in out
    assert f"\n  kdump forecast {partition}   # " in out
    missing = f"{partition}/{LOG}"
    assert (
        f"  kdump check --as log {missing}.bak && mv {missing}.bak {missing}   # with the broker stopped: if it is sound, it "
        in out
    )
    assert main(["check", "--as", "log", f"{partition}/{LOG}.bak"]) == 0


# --- what stands around partitions


def _log_directory(path: Path, *topics: str, **values: str) -> Path:
    """A log directory that a KRaft broker stopped cleanly, with a sound partition of each topic."""
    for name in topics:
        write_partition(path, topic=name, partition=0, segments={0: _batches(0, 1)}, index_interval_bytes=0)
        (path / f"{name}-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    names = {"version": "1", "cluster.id": "c", "node.id": "1", **values}
    path.mkdir(exist_ok=True)
    (path / "meta.properties").write_text("".join(f"{name}={value}\n" for name, value in names.items()))
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"):
        (path / name).write_text("0\n0\n")
    (path / ".kafka_cleanshutdown").write_text("")
    return path


@each(
    ("command", "call"),
    [
        ("forecast", "kdump.cli.forecasting.run.of_partition"),
        ("forecast", "kdump.cli.forecasting.run.LogDirectory.require_readable"),
        ("check", "kdump.forecasts.circumstances.enter_log_directory"),
        ("check", "kdump.forecasts.circumstances.enter"),
        ("check", "kdump.forecasts.neighbours.Neighbours.__init__"),
        ("check", "kdump.verdicts.surroundings.read_topic_id"),
    ],
)
def test_what_a_system_call_keeps_from_being_read_is_not_examined(
    command: str, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    path = _log_directory(tmp_path / "d1", "a")
    assert main([command, str(path)]) == 0

    def unreadable(*_: object, **__: object) -> None:
        raise Unreadable("file-io-error", "Input/output error")

    monkeypatch.setattr(call, unreadable)
    capfd.readouterr()
    assert main([command, str(path)]) == 3
    said = "".join(capfd.readouterr())
    assert "Input/output error" in said
    assert said.count("kdump: ") == 1 if command == "forecast" else kdump.verdict(path).exit_code == 3  # said once
    assert command == "forecast" or {one.file_type for one in kdump.check(path)} == {"directory"}


def test_a_checkpoint_that_ends_all_starts_hides_no_start_that_loses_besides(tmp_path: Path) -> None:
    path = _log_directory(tmp_path, "a", "b")
    (path / ".kafka_cleanshutdown").unlink()
    (path / "recovery-point-offset-checkpoint").write_text("of nobody")
    log = path / "a-0" / file_name(0, ".log")
    log.write_bytes(log.read_bytes()[:65] + b"\xff" + log.read_bytes()[66:])  # which only a start after a crash reads
    assert [bool(starts.forecasts_of(str(path / name), is_found=True)) for name in ("a-0", "b-0")] == [True, False]
    assert starts.forecasts_of(str(path / "b-0")), "of a partition that was named itself nothing else says it"


def test_sound_log_directories_side_by_side_are_clean(tmp_path: Path, capfd: Capture) -> None:
    _log_directory(tmp_path / "d1", "a", **{"directory.id": "dEw3Qw2rQ1m0qQJqk5Qv1A"})
    _log_directory(tmp_path / "d2", "b", **{"directory.id": "mEw3Qw2rQ1m0qQJqk5Qv1A"})
    assert kdump.verdict(tmp_path).words == ["fine"]
    assert _exit_codes(tmp_path, capfd) == (0, 0)


@each(
    ("topics", "values", "message"),
    [
        (("a", "b"), {}, "another directory of this broker has the partition, too"),
        (("a", "c"), {"node.id": "2"}, "name two brokers, 1 and 2"),
        (("a", "c"), {"cluster.id": "d"}, "name two clusters, c and d"),
        (("a", "c"), {"directory.id": "dEw3Qw2rQ1m0qQJqk5Qv1A"}, "have the same directory.id"),
    ],
    ids=["duplicate", "two brokers", "two clusters", "one id twice"],
)
def test_log_directories_that_do_not_go_together_fail_in_check_as_in_forecast(
    topics: tuple[str, str], values: dict[str, str], message: str, tmp_path: Path, capfd: Capture
) -> None:
    ids = {"directory.id": "dEw3Qw2rQ1m0qQJqk5Qv1A"}
    _log_directory(tmp_path / "d1", "a", "b", **ids)
    _log_directory(tmp_path / "d2", topics[1], **{"directory.id": "mEw3Qw2rQ1m0qQJqk5Qv1A", **values})
    found = list(kdump.check(tmp_path))
    assert {finding.code for finding in found} == {"start-loses"}
    assert all(message in finding.message for finding in found)
    assert {Path(finding.path).relative_to(tmp_path).parts[0] for finding in found} == {"d1", "d2"}
    assert kdump.verdict(tmp_path).words == ["does not start"]
    assert main(["check", str(tmp_path)]) == 1
    assert f"  kdump forecast {tmp_path}/d1 {tmp_path}/d2   # what a start does" in capfd.readouterr().out
    assert _exit_codes(tmp_path, capfd) == (1, 1)
    (tmp_path / "d1/a-0/partition.metadata").write_text("malformed: nothing after it is left out")
    again = [finding.path for finding in kdump.check(tmp_path) if finding.code == "start-loses"]
    assert again == [finding.path for finding in found]


def test_what_stands_around_a_partition_is_reported_once_and_as_it_is_now(tmp_path: Path) -> None:
    _log_directory(tmp_path / "d1", "a")
    log = tmp_path / "d1" / "a-0" / LOG
    assert kdump.verdict(tmp_path / "d1").words == ["fine"]
    os.truncate(log, log.stat().st_size - 5)
    log.chmod(0o400)
    found = [finding for finding in kdump.check(tmp_path / "d1") if finding.code == "start-loses"]
    expected = [(str(log.parent), True, "offline")]
    assert [(finding.path, LOG in finding.message, finding.broker_forecast) for finding in found] == expected
    forecast = Verdict(level=None)
    forecast.add_forecasts(kdump.forecast(tmp_path / "d1"))
    assert forecast.words[0] == "does not start"
    (tmp_path / "d1" / "meta.properties").write_text("version=1\ncluster.id=c\n")
    found = [finding for finding in kdump.check(tmp_path / "d1") if finding.code == "start-loses"]
    assert [finding.path for finding in found] == [str(tmp_path / "d1")]


def test_a_directory_that_no_broker_starts_with_is_one_fact(tmp_path: Path, capfd: Capture) -> None:
    _log_directory(tmp_path / "d1", "a")
    (tmp_path / "d1" / "lost+found").mkdir()
    assert [(finding.code, finding.severity) for finding in kdump.check(tmp_path / "d1")] == [("dir-odd", "error")]
    assert kdump.verdict(tmp_path / "d1").words == ["does not start"]
    assert _exit_codes(tmp_path / "d1", capfd) == (1, 1)
    assert main(["check", "--ignore", "dir-odd", str(tmp_path / "d1")]) == 1
    assert "start-loses" in capfd.readouterr().out


@each(
    ("data", "word", "words"),
    [
        *((f"0\n1\na {entry}\n", "rescan", ["damaged"]) for entry in ("0 x", "x 1", "0 99999999999999999999", "0 x\na 0")),
        ("0\n-1\na 0 1\n", "rescan", ["damaged"]),
        *((data, "", ["fine"]) for data in ("0\n1\na 0 -5\n", "0\n", "")),
        *((f"{head}\na 0 1\n", "offline", ["does not start"]) for head in ("0\n5", "0\nx", "1", "9\n1")),
        *((f"0\n{entries}\n", "offline", ["does not start"]) for entries in ("1\na 0", "2\na 0\na 0 x")),
    ],
)
def test_a_bad_line_of_a_checkpoint_is_what_a_broker_makes_of_it(tmp_path: Path, data: str, word: str, words: list[str]) -> None:
    """As the log manager of 4.3.1 loads it after an unclean stop: without recovery points, or the log directory is offline."""
    _log_directory(tmp_path, "a")
    (tmp_path / ".kafka_cleanshutdown").unlink()
    (tmp_path / "recovery-point-offset-checkpoint").write_text(data)
    found = {finding.broker_forecast for finding in kdump.check(tmp_path) if finding.code == "log-dir-file-bad"}
    assert found == ({word} if word else set())
    assert kdump.verdict(tmp_path).words == words
    outcomes = {row.outcome for row in kdump.forecast(tmp_path, after="unclean")}
    assert outcomes == {"offline" if word == "offline" else "keep"}


def test_a_partition_of_no_topic_is_one_fact(tmp_path: Path, capfd: Capture) -> None:
    directory = _log_directory(tmp_path / "d1", "a", "b")
    other = "BQUFBQUFBQUFBQUFBQUFBQ"
    (directory / "b-0" / "partition.metadata").write_text("version: 0\ntopic_id: CQkJCQkJCQkJCQkJCQkJCQ\n")
    metadata = [topic("a", "AAAAAAAAAAAAAAAAAAAAAQ"), topic("b", other)]
    metadata += [replicas("AAAAAAAAAAAAAAAAAAAAAQ", 0, 1), replicas(other, 0, 1)]
    write_partition(
        directory,
        topic="__cluster_metadata",
        segments={0: [batch(base_offset=offset, records=[record(value=value)]) for offset, value in enumerate(metadata)]},
    )
    found = [finding for finding in kdump.check(directory) if finding.severity == "error"]
    assert [(finding.code, finding.broker_forecast) for finding in found] == [("partition-metadata-bad", "stray")]
    assert found[0].path == str(directory / "b-0" / "partition.metadata")
    assert kdump.verdict(directory).words[0] == "loses at start"
    assert _exit_codes(directory, capfd) == (1, 1)
    assert main(["check", "--ignore", "partition-metadata-bad", str(directory)]) == 1
    assert "start-loses" in capfd.readouterr().out


def test_a_start_is_only_told_by_an_error_of_its_directory_that_does_the_same() -> None:
    for place, directory in (("/a-0", "/a-0"), ("/a-0/x", "/a-0"), ("/b-0", "/a-0"), ("x", ".")):
        for word, of_start_word, severity in product(WORDS, (*WORDS, "cut"), ("error", "warning", "info")):
            told, of_file, of_start = ToldStarts(), _finding("log-dir-file-bad", severity), _finding("start-loses")
            of_file.path, of_file.broker_forecast, of_start.broker_forecast = place, word, f"{of_start_word} (more)"
            of_start.path = directory
            assert not told.is_told(of_start) and not told.is_told(of_file)
            assert told.is_told(of_start) == (place != "/b-0" and word == of_start_word and severity == "error")


@pytest.mark.parametrize("is_clean", [True, False])
def test_of_starts_that_are_as_bad_the_one_that_the_log_directory_shows_comes_first(is_clean: bool, partition: Path) -> None:
    (partition.parent / "meta.properties").write_text("version=0\nbroker.id=1\n")
    if is_clean:
        (partition.parent / ".kafka_cleanshutdown").write_bytes(b"")
    rows = starts.forecasts_of(str(partition))
    for row in rows:
        row.outcome, row.consumers_stop_at, row.damaged_batches = "keep", 3, 1
    shown = "clean" if is_clean else "unclean"
    assert next(row.after for row in _reported(partition, rows) if isinstance(row, Start)) == shown
    for row in rows:
        if row.after == shown:
            row.consumers_stop_at, row.damaged_batches = None, 0
    finding, start, *_ = _reported(partition, rows)
    assert isinstance(finding, Finding) and isinstance(start, Start), "it is sound, and hides none that is not"
    assert (finding.code, finding.broker_forecast, start.after == shown) == ("start-leaves-damage", "blind", False)


def test_a_directory_that_brokers_do_not_serve_is_not_kept_by_every_start(partition: Path) -> None:
    others = {"orders-3.id-delete": False, "orders-3.id-stray": False, "__cluster_metadata-0": False, "orders": True}
    for name, is_kept in {"orders-3": True, **others}.items():
        partition = partition.rename(partition.with_name(name))
        assert _is_kept(partition) == is_kept, name
