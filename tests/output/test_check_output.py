"""The same findings in each format of `kdump check`, word for word, and the exit code of a run."""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kdump.checks.catalogue import FAULTS
from kdump.checks.finding import ByteCoverage, FileReport, Finding, Start, Summary
from kdump.cli.commands import main
from kdump.output.check import formatter_of
from kdump.output.text.sizes import size_text
from kdump.output.text.style import ReportStyle
from tests.builders.files import file_name, write_partition
from tests.builders.records import batch, record
from tests.loops import each
from tests.support import Capture, flip_a_bit

CLEAN, FINDINGS, USAGE, NOT_EXAMINED = range(4)


LOG = file_name(0, ".log")
A, B = "/data/a-0", "/data/b-0"


Json = dict[str, Any]  # what json.loads makes of an object


def _finding(
    code: str = "crc-mismatch",
    severity: str = "error",
    path: str = f"/data/a-0/{LOG}",
    start: int = 0,
    end: int = 100,
    *,
    offsets: tuple[int | None, int | None] = (0, 4),
    message: str = "One batch is wrong.",
    skipped: int = 100,
    forecast: str = "cut",
    file_type: str = "log",
) -> Finding:
    place = (path, file_type, start, end, *offsets, None if offsets[0] is None else "exact")
    return Finding(code, severity, *place, "0x01", None, "00ff", 1, "by-length", skipped, forecast, message)


def _in(*partitions: str, **given: Any) -> list[tuple[Finding, str]]:
    return [(_finding(path=f"/data/{name}/{LOG}", **given), f"/data/{name}") for name in partitions]


def _logs(*partitions: str, piece: tuple[str, int, int] = ("intact", 100, 1)) -> list[tuple[FileReport, str]]:
    return [(_report(f"/data/{name}/{LOG}", piece), f"/data/{name}") for name in partitions]


def _report(
    path: str = f"/data/a-0/{LOG}", *pieces: tuple[str, int, int], file_type: str = "log", offsets: tuple[int, int] | None = None
) -> FileReport:
    """A file of pieces that have a status, a size and a number of batches."""
    coverage = ByteCoverage(sum(size for _, size, _ in pieces))
    end = 0
    for status, size, batches in pieces:
        end += size
        coverage.add(status, end, batches=batches)
    report = coverage.report(path, file_type, end)
    if offsets is not None:
        report.first_offset, report.last_offset = offsets
    return report


SUMMARY = Summary(3, 5000, 2, 1, 1, 0, "deep", 0, 7, True, 1.25, 1, "unreadable (7 records)", ["unreadable: crc-mismatch"])


def _text(
    name: str,
    findings: Sequence[tuple[Finding, str] | tuple[Finding, str, bool]] = (),
    reports: Sequence[tuple[FileReport, str]] = (),
    summary: Summary = SUMMARY,
    starts: Sequence[tuple[Start, str]] = (),
    **style: Any,
) -> str:
    pieces: list[str] = []
    formatter = formatter_of(name, pieces.append, ReportStyle(**style))
    for finding, group, *is_known in findings:
        formatter.finding(finding, group, is_known=bool(is_known))
    for report, group in reports:
        formatter.file(report, group)
    for start, group in starts:
        formatter.start(start, group)
    formatter.end(summary)
    return "".join(pieces)


# --- rows


def test_csv_is_a_line_for_each_finding_and_null_is_nothing() -> None:
    lines = _text("csv", [(_finding(offsets=(None, None), message='a "b", c'), "g")], [(_report(), "g")]).splitlines()
    assert lines == [
        "code,severity,path,fileType,start,end,offsetFirst,offsetLast,offsetCertainty,expected,found,evidence,alignment,resync,"
        "skipped,brokerForecast,message",
        f'crc-mismatch,error,/data/a-0/{LOG},log,0,100,,,,0x01,,00ff,1,by-length,100,cut,"a ""b"", c"',
    ]


# --- SARIF


def _sarif(*findings: tuple[Finding, str] | tuple[Finding, str, bool], **more: Any) -> Json:
    (run,) = json.loads(_text("sarif", findings, **more))["runs"]
    return dict(run)


def test_sarif_has_the_level_the_place_and_all_that_is_known() -> None:
    results = _sarif(
        (_finding(), "g"),
        (_finding("torn-tail", "warning", start=7, end=9, path="a b/ü.log", offsets=(None, None)), "g"),
        (_finding("txn-open", "info", start=5, end=5), "g"),
    )["results"]
    places = [one["locations"][0]["physicalLocation"] for one in results]
    rows = [
        (one["ruleId"], one["level"], place["artifactLocation"]["uri"], *place["region"].values())
        for one, place in zip(results, places, strict=True)
    ]
    assert rows == [
        ("crc-mismatch", "error", f"file:///data/a-0/{LOG}", 0, 100),
        ("torn-tail", "warning", "a%20b/%C3%BC.log", 7, 2),
        ("txn-open", "note", f"file:///data/a-0/{LOG}", 5, 0),
    ]
    assert [*places[0]["region"]] == ["byteOffset", "byteLength"]
    assert results[0]["message"] == {"text": "One batch is wrong."}
    properties = {"fileType": "log", "offsetFirst": 0, "offsetLast": 4, "offsetCertainty": "exact", "expected": "0x01"}
    properties |= {"evidence": "00ff", "alignment": 1, "resync": "by-length", "skipped": 100, "brokerForecast": "cut"}
    assert results[0]["properties"] == properties
    assert "offsetFirst" not in results[1]["properties"]
    assert all("baselineState" not in one for one in results)


def test_sarif_has_a_rule_for_each_fault_with_all_that_the_catalogue_says() -> None:
    run = _sarif((_finding("torn-tail"), "g"))
    rules = run["tool"]["driver"]["rules"]
    assert rules[run["results"][0]["ruleIndex"]]["id"] == "torn-tail"
    for rule, fault in zip(rules, FAULTS.values(), strict=True):
        assert (rule["id"], rule["shortDescription"]["text"].lower()) == (fault.code, fault.title.lower())
        assert rule["defaultConfiguration"]["level"] == fault.severity.replace("info", "note")
        assert rule["help"]["text"].endswith(f". Kafka: {fault.kafka}. Lost: {fault.loss}. To do: {fault.remedy}.")


def test_sarif_says_what_a_baseline_knew_and_how_the_run_ended() -> None:
    run = _sarif((_finding(), "g"), (_finding(start=5), "g", True), has_baseline=True)
    assert [one["baselineState"] for one in run["results"]] == ["new", "unchanged"]
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]
    summary = Summary(1, 1, 0, 0, 0, 0, "deep", 0, 0, False, 0.5, 3, "not examined", ["not examined: file-vanished"])
    run = _sarif(summary=summary)
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 3}]
    assert run["properties"]["isComplete"] is False


# --- JUnit


def _suites(*findings: tuple[Finding, str] | tuple[Finding, str, bool], **more: Any) -> list[ElementTree.Element]:
    *suites, verdict = ElementTree.fromstring(_text("junit", findings, **more))
    assert [(one.get("name"), one.get("value")) for one in verdict[0]] == [
        ("verdict", "unreadable (7 records)"),
        ("reason", "unreadable: crc-mismatch"),
    ]
    return suites


def _cases(suite: ElementTree.Element) -> list[tuple[str | None, list[tuple[str, str | None]]]]:
    return [(case.get("name"), [(part.tag, part.get("type")) for part in case]) for case in suite]


def _counts(suite: ElementTree.Element) -> list[str | None]:
    return [suite.get(name) for name in ("tests", "failures", "errors")]


def test_junit_counts_failures_and_errors_of_each_directory() -> None:
    found = [
        (_finding(), A),
        (_finding("torn-tail"), A),
        (_finding("file-vanished", path=f"{A}/gone.log"), A),
        (_finding("torn-tail", "warning", path=f"{A}/5.log"), A),
        (_finding(path=f"{B}/5.log"), B),
    ]
    first, second = _suites(*found, reports=[(_report(f"{B}/6.log"), B)])
    assert [(suite.get("name"), *_counts(suite)) for suite in (first, second)] == [(A, "3", "1", "1"), (B, "2", "1", "0")]
    assert _cases(first) == [
        (LOG, [("failure", "crc-mismatch")]),
        ("gone.log", [("error", "file-vanished")]),
        ("5.log", [("system-out", None)]),
    ]
    assert _cases(second) == [("5.log", [("failure", "crc-mismatch")]), ("6.log", [])]
    (failure,) = first[0]
    assert failure.get("message") == "One batch is wrong. (and 1 more)"
    assert failure.text == (
        "error crc-mismatch, bytes 0 to 99: One batch is wrong.\nerror torn-tail, bytes 0 to 99: One batch is wrong.\n"
    )
    assert second[0][0].get("message") == "One batch is wrong."
    assert (first[0].get("classname"), second[0].get("classname")) == (A, B)
    for code, counts in (("torn-tail", ["1", "1", "0"]), ("file-vanished", ["1", "0", "1"])):  # whatever is found later
        (suite,) = _suites((_finding(code), A), (_finding("torn-tail", "warning"), A))
        assert (_counts(suite), len(suite[0])) == (counts, 2)
    for count, end in ((100, "One batch is wrong."), (101, "and 1 more")):
        (suite,) = _suites(*[(_finding(), A)] * count)
        lines = (suite[0][0].text or "").splitlines()
        assert len(lines) == count and lines[-1].endswith(end)
    for code in ("torn-tail", "file-vanished"):  # which a baseline knows
        assert _counts(_suites((_finding(code), A, True))[0]) == ["1", "0", "0"]


def test_junit_contains_no_character_that_xml_forbids() -> None:
    text = _text("junit", [(_finding(message='a\x00b\x1b[0m<&>"\udcff\U0001f600\ufffe\t'), "g")])
    suite, _ = ElementTree.fromstring(text.encode())
    assert suite[0][0].get("message") == 'a\ufffdb\ufffd[0m<&>"\ufffd\U0001f600\ufffd\t'


# --- text for people


def test_the_text_shows_the_worst_first_and_folds_what_is_alike() -> None:
    findings = [
        (_finding("zero-tail", "warning", f"{A}/5.log", 0, 1, offsets=(None, None), skipped=0, forecast="ignore"), A),
        (_finding(start=0, end=100), A),
        (_finding(start=300, end=1400, offsets=(7, 8)), A),
        (_finding("txn-open", "info", f"{B}/{LOG}", 0, 0, skipped=0, forecast="ignore", message="it is open"), B),
    ]
    reports = [
        (_report(f"{A}/{LOG}", ("damaged", 100, 1), ("intact", 200, 2), ("damaged", 1100, 1), offsets=(0, 9)), A),
        (_report(f"{A}/5.log", ("intact", 900, 3), ("zero", 100, 0), offsets=(10, 12)), A),
        (_report(f"{B}/{LOG}", ("intact", 2000, 9), offsets=(0, 8)), B),
        (_report("/data/c-0/x.log", ("intact", 10, 1)), "/data/c-0"),
    ]
    assert (
        _text("text", findings, reports, width=60)
        == f"""\
/data/a-0   2 segments, 2.34 KiB, offsets 0 to 12
   2 errors, 1 warning
/data/b-0   1 segment, 1.95 KiB, offsets 0 to 8       1 info
/data/c-0   1 segment, 10 bytes   fine

/data/a-0: consumers cannot read 7 of 13 offsets: 0 to 4, 7
to 8.

error    crc-mismatch
         /data/a-0/{LOG}, bytes 0 to 99
         One batch is wrong. 2 findings like this, at
         offsets 0 to 4, 7 to 8.

warning  zero-tail     /data/a-0/5.log, byte 0
         One batch is wrong.

info     txn-open      /data/b-0/{LOG}
         It is open.

/data/a-0
{LOG}  ▒█▒▒▒▒▒▒▒▒▒▒    14.2 %     1.37 KiB
                          2 batches damaged
5.log                     ██████████░░    90.0 %  1,000 bytes
                          zeros

If this broker restarts
  cut      if the segment is scanned, it is truncated at the
           first bad batch, and all later segments are
           deleted
           here: /data/a-0/{LOG} at byte
           0, offset 0; 13 offsets from there on; 1 later
           segment

What is lost, and what to do
  crc-mismatch
  lost     the records of this batch, possibly only one of
           them; `kdump log --deep` shows what decodes
  running  consumers that reach this batch fail ('Record
           batch ... is invalid') until they seek past it;
           followers log 'Found invalid messages during
           fetch', retry forever and fall behind; the
           cleaner marks the partition uncleanable
  to do    keep a copy; compare with another replica; let a
           healthy one lead, then delete this one so that it
           is replicated again

Next
  mkdir -p KEEP && cp -a /data/a-0 KEEP/a-0.damaged   # before any restart, with the broker stopped
  kdump log --output table --from-position 0 /data/a-0/{LOG}
  kdump explain crc-mismatch
Examined 4.88 KiB in 3 files in 1.2 s.
Verdict: unreadable (7 records): crc-mismatch. Exit status
1.
Do: mkdir -p KEEP && cp -a /data/a-0 KEEP/a-0.damaged
"""
    )


def _lines(*findings: tuple[Finding, str] | tuple[Finding, str, bool], **more: Any) -> list[str]:
    return _text("text", findings, **more).splitlines()


def test_what_a_baseline_knows_is_counted_and_not_shown() -> None:
    summary = Summary(1, 10, 0, 0, 0, 2, "deep", 0, 0, True, 0.0, 0, "fine, except for known findings", [])
    logs = _logs("a-0", piece=("intact", 10, 1))
    assert _lines((_finding(), A, True), reports=logs, summary=summary) == [
        "/data/a-0   1 segment, 10 bytes   fine",
        "Examined 10 bytes in 1 file in 0.0 s. 2 findings known from the baseline.",
        "Verdict: fine, except for known findings. Exit status 0.",
    ]
    summary = Summary(1, 10, 0, 0, 0, 1, "deep", 0, 0, False, 0.0, 3, "not examined", [])
    assert _lines(reports=logs, summary=summary)[1:] == [
        "Examined 10 bytes in 1 file in 0.0 s. 1 finding known from the baseline. Not everything could be",
        "examined.",
        "Verdict: not examined. Exit status 3.",
    ]


@each(
    "files, told, more",
    [
        *((5, 5, None), (6, 5, "1 more finding of crc-mismatch in 1 other file")),
        (8, 5, "5 more findings of crc-mismatch in 3 other files"),
    ],
)
def test_findings_of_a_code_are_shown_for_five_files(files: int, told: int, more: str | None) -> None:
    findings = [(_finding(path=f"{A}/{number}.log"), A) for number in range(files)]
    if files == 8:
        findings += [(_finding(path=f"{A}/7.log", start=start), A) for start in (5, 9)]
    for shows_all, count in ((False, told), (True, len(findings))):
        lines = _lines(*findings, shows_all=shows_all)
        assert sum(line.startswith("error    crc-mismatch") for line in lines) == count
        if not shows_all:
            assert [line.strip() for line in lines if "--all" in line] == ([f"{more}; --all shows each."] if more else [])


def test_unreadable_offsets_are_named_of_five_directories_and_counted_of_all_others() -> None:
    findings = _in(*(f"t-{number}" for number in range(8)), skipped=9, offsets=(3, 4))
    for count, rest in ((5, []), (6, ["and 2 offsets in 1 more directory"]), (8, ["and 6 offsets in 3 more directories"])):
        lines = _lines(*findings[:count], shows_all=True)
        assert [line for line in lines if line.startswith("and ") and "offset" in line] == rest


@each("has_others", [False, True])
def test_five_clean_directories_get_a_line(has_others: bool) -> None:
    names = [f"t-{number}" for number in range(6)]
    each_of = [f"/data/{name}   1 segment, 100 bytes   fine" for name in names]
    more = [f"6 {'more ' if has_others else ''}directories, 600 bytes   fine"]
    for count, expected in ((5, each_of[:5]), (6, more)):
        lines = _lines(*[(_finding(), A)] * has_others, reports=_logs(*names[:count]))
        assert [line for line in lines if line.endswith("   fine")] == expected


def test_copies_of_a_partition_are_named_with_their_ends_and_what_compares_them() -> None:
    reports = [
        (_report(f"/{place}/{name}/{LOG}", ("intact", 100, 1), offsets=(0, last)), f"/{place}/{name}")
        for place, name, last in (("b 1", "t-0", 4), ("b2", "t-0", 8), ("b 1", "t-1", 4), ("b2", "t-1", 4), ("b2", "u-0", 4))
    ]
    found = " ".join(_lines(reports=reports))
    assert "Copies were not compared: 2 partitions in several log directories, 1 with different ends" in found
    assert "(t-0 ends at 5 in /b 1, at 9 in /b2).   kdump scan '/b 1' /b2   # compares them" in found
    assert "not compared" not in " ".join(_lines(reports=reports[2:3] + reports[4:]))


@each(
    "percent, note, pieces",
    [
        ("99.9 %", "1 byte damaged", [("intact", 99_999, 3), ("damaged", 1, 0)]),
        ("99.9 %", "1 byte damaged", [("intact", 999_999, 3), ("damaged", 1, 0)]),
        ("50.0 %", "1 batch damaged", [("intact", 1, 1), ("damaged", 1, 1)]),
        ("33.3 %", "2 batches damaged", [("intact", 1, 1), ("damaged", 2, 2)]),
        ("0.0 %", "2 batches damaged, 1 salvaged", [("damaged", 5, 2), ("salvaged", 5, 1)]),
        ("50.0 %", "zeros", [("intact", 5, 2), ("zero", 5, 0)]),
        ("50.0 %", "partly examined", [("intact", 5, 2), ("not_examined", 5, 0)]),
        ("0.0 %", "not examined", [("not_examined", 5, 0)]),
    ],
)
def test_a_map_shows_how_much_is_intact(percent: str, note: str, pieces: list[tuple[str, int, int]]) -> None:
    lines = _lines((_finding(), A), reports=[(_report(f"/data/a-0/{LOG}", *pieces), A)])
    (line,) = (line for line in lines if line.startswith(f"{LOG}  "))
    cells, _, rest = line.removeprefix(f"{LOG}  ").partition("  ")
    assert rest.strip() == f"{percent}  {size_text(sum(piece[1] for piece in pieces))}   {note}"
    signs = {"intact": "█", "damaged": "▒", "salvaged": "▓", "zero": "░", "not_examined": "?"}
    assert {*cells} == {signs[status] for status, size, _ in pieces if size > 1 or len(pieces) > 1}


def test_a_broker_fits_on_two_screens() -> None:
    codes = (("crc-mismatch", "error"), ("start-loses", "error"), ("partition-metadata-bad", "warning"))
    findings = [
        (_finding(code, severity, f"/data/topic-{number}/{LOG}", message=f"it is of {number}"), f"/data/topic-{number}")
        for code, severity in codes
        for number in range(60)
    ]
    lines = _lines(*findings, reports=_logs("sound-0", "sound-1", "sound-2", piece=("intact", 9, 1)), width=80)
    assert len(lines) <= 48
    assert lines[0] == "63 directories, 27 bytes: 60 with errors, 3 fine"
    assert [" ".join(line.split()) for line in lines[1:14]] == [
        line
        for code, severity in codes
        for line in (
            f"{severity} /data/topic-0/{LOG}, bytes 0 to 99",
            f"{code}: it is of 0.",
            f"{severity} /data/topic-1/{LOG}, bytes 0 to 99",
            f"{code}: it is of 1. And 58 more in 58 other files.",
        )
    ] + ["--all shows each finding."]


def test_codes_with_one_remedy_are_told_together() -> None:
    lines = _lines((_finding(), A), (_finding("garbage-region", start=500, end=600), A), (_finding("zero-tail", "warning"), A))
    assert [line for line in lines if line.startswith("  crc")] == ["  crc-mismatch, garbage-region"]
    assert sum(line.startswith("  to do") for line in lines) == 1
    lines = _lines((_finding("uncovered-header-rot"), A), (_finding("zero-hole", start=200), A))
    at = lines.index("What is lost, and what to do")
    assert lines[at + 1].split() == ["uncovered-header-rot,", "zero-hole"]
    assert lines[at + 2].startswith("  lost     the batches that were in the hole; ")


def test_colours_tell_severities_apart_and_change_no_character() -> None:
    findings = [(_finding("torn-tail", severity, path=f"{A}/{severity}.log"), A) for severity in ("error", "warning", "info")]
    colored = _text("text", findings, has_colors=True)
    for word, color in (("error", 31), ("warning", 33)):
        assert f"\n\x1b[{color}m{word}\x1b[0m" in colored
    assert "\n\x1b[36minfo\x1b[0m" in _text("text", [(_finding("txn-open", "info"), A)], has_colors=True)
    assert "\x1b[31m" in colored.splitlines()[0]  # the directory, as its worst finding
    assert "\x1b[32mfine\x1b[0m" in _text("text", (), [(_report(f"{A}/{LOG}"), A)], has_colors=True)


def _restarts(*findings: Finding, reports: Sequence[FileReport] = ()) -> list[str]:
    """What is said of a restart, in one line each."""
    lines = _lines(*((one, A) for one in findings), reports=[(one, A) for one in reports], width=300)
    if "If this broker restarts" not in lines:
        return []
    start = lines.index("If this broker restarts") + 1
    return [line.strip() for line in lines[start : lines.index("", start)]]


def test_restarts_that_do_something_are_shown_worst_first() -> None:
    cut = "cut      if the segment is scanned, it is truncated at the first bad batch, and all later segments are deleted"
    for nothing in (_finding(forecast="ignore"), _finding(forecast="cut", severity="info")):
        assert "If this broker restarts" not in _lines((nothing, A))
    assert _restarts(_finding(forecast="cut", start=7, offsets=(None, None))) == [cut, f"here: {A}/{LOG} at byte 7"]
    logs = [_report(f"{A}/{LOG}", ("intact", 9, 1), offsets=(0, 9)), _report(f"{A}/5.log", ("intact", 9, 1), offsets=(10, 12))]
    for offset, left in ((3, "; 10 offsets from there on"), (12, "; 1 offset from there on"), (13, "")):
        told = f"here: {A}/{LOG} at byte 7, offset {offset}{left}; 1 later segment"
        assert _restarts(_finding(forecast="cut", start=7, offsets=(offset, offset)), reports=logs) == [cut, told]
    files = [_finding(forecast="rescan", path=f"{A}/{name}.index", start=start) for name in "bac" for start in (0, 8)]
    lines = _restarts(*files, _finding(forecast="die", path=f"{A}/x"))
    assert [line.split()[0] for line in lines] == ["die", "here:", "rescan", "here:"]
    assert (lines[1], lines[3]) == (f"here: {A}/x", f"here: {A}/a.index and 2 more files")
    assert _restarts(files[0])[1] == f"here: {A}/b.index"
    assert _restarts(files[0], files[2])[1] == f"here: {A}/a.index and 1 more file"
    assert _restarts(_finding(forecast="cut", path=f"{A}/{LOG}.swap"))[1] == f"here: {A}/{LOG}.swap"


def _starts(*starts: tuple[str, int, str, str], is_unknown: bool = True) -> list[str]:
    """What is said of starts: after which stop, with which recovery point, with which verdict and message."""
    given = [Start(A, "4.3.1", after, point, is_unknown, verdict, 0, 0, None, said) for after, point, verdict, said in starts]
    lines = _lines((_finding(forecast="cut" if is_unknown else "ignore"), A), starts=[(start, A) for start in given])
    first = lines.index("If this broker restarts") + 1
    return lines[first : lines.index("", first)]


def test_starts_are_shown_in_the_order_in_which_they_come_and_once_if_alike() -> None:
    no_checkpoint = "  (There is no recovery-point-offset-checkpoint, which says how much was flushed.)"
    cut, safe = ("loss", "all is cut"), ("safe", "nothing is lost")
    assert _starts(("unclean", 0, *cut), ("clean", 0, *safe), ("unclean", 7, *safe), ("unclean", 9, *safe)) == [
        "  after a crash with nothing flushed: all is cut",
        "  after a clean stop or a crash with all flushed: nothing is lost",
        no_checkpoint,
    ]
    lines = _starts(("unclean", 0, *cut), ("unclean", 7, *cut), ("clean", 0, *safe))
    assert "  after a crash: all is cut" in lines and "  after a clean stop: nothing is lost" in lines
    crash, stop = ("unclean", 7, "fails", "no start"), ("clean", 7, "fails", "no start")
    assert "  after a crash with all below offset 7 flushed: no start" in _starts(crash, is_unknown=False)
    assert _starts(crash, stop, is_unknown=False) == ["  after any stop: no start"]


def test_a_copy_is_advised_where_a_restart_destroys() -> None:
    for forecast, severity, copies in (
        ("cut", "error", True),
        ("die", "error", True),
        ("ignore", "error", False),
        ("blind", "error", False),
        ("cut", "warning", False),
    ):
        lines = _lines((_finding("torn-tail", severity, forecast=forecast), A))
        advised = any(line.startswith(f"  mkdir -p KEEP && cp -a {A} KEEP/a-0.damaged   # before") for line in lines)
        assert advised == copies, (forecast, severity)


def test_damage_in_one_piece_is_one_event() -> None:
    parts = [
        (_finding(start=100, end=250, offsets=(5, 9)), A),
        (_finding("garbage-region", start=900, end=950, offsets=(None, None)), A),
        (_finding("zero-hole", start=250, end=900, offsets=(10, 30)), A),
        (_finding(start=2000, end=2100, offsets=(40, 49)), A),
    ]
    lines = _lines(*parts)
    assert [line for line in lines if line.startswith("error")] == [
        f"error    zero-hole     {A}/{LOG}, bytes 100 to 949",
        f"error    crc-mismatch  {A}/{LOG}, bytes 2,000 to 2,099",
    ]
    assert " ".join(line.strip() for line in lines if line.startswith("         ")).startswith(
        "850 bytes in one piece are damaged, 650 of them zeros: offsets 5 to 30 cannot be read. Reported as crc-mismatch, "
        "zero-hole, garbage-region; --all shows each."
    )
    assert sum(line.startswith("error") for line in _lines(*parts, shows_all=True)) == 4
    assert sum("3 errors" in line or "4 errors" in line for line in lines) == 1  # findings are counted as they are in rows


def test_the_same_of_many_files_is_one_line() -> None:
    given: dict[str, Any] = {"end": 0, "message": "it has another id", "forecast": "stray"}
    found = [(_finding("partition-metadata-bad", path=f"{A}-{number}", **given), A) for number in range(30)]
    lines = _lines(*found)
    assert [line for line in lines if line.startswith("error")] == [f"error    partition-metadata-bad  {A}-0"]
    assert f"         It has another id. The same of 29 more, such as {A}-29; --all shows each." in lines
    assert f"         It has another id. The same of {A}-1." in _lines(*found[:2])
    assert sum(line.startswith("error") for line in _lines(*found, shows_all=True)) == 30


def test_sizes_have_three_digits() -> None:
    expected = {0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1024: "1.00 KiB", 10_239: "10.00 KiB", 10_240: "10.0 KiB"}
    expected |= {102_399: "100.0 KiB", 102_400: "100 KiB", 1_023_999: "1,000 KiB", 1_024_000: "0.98 MiB", 1 << 20: "1.00 MiB"}
    expected |= {5 << 30: "5.00 GiB", 3 << 40: "3.00 TiB", 5000 << 40: "5,000 TiB"}
    assert {size: size_text(size) for size in expected} == expected


# --- how a run ends


def _batches(first: int, count: int) -> list[bytes]:
    return [batch(records=[record(key=b"key", value=b"value")], base_offset=first + row) for row in range(count)]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    return write_partition(tmp_path, topic="orders", partition=3, segments={0: _batches(0, 3), 3: _batches(3, 3)})


def _summary(capfd: Capture, *arguments: str | Path) -> Json:
    """The exit code as `code`, and the summary of a check."""
    capfd.readouterr()
    code = main(["check", "--output", "ndjson", *map(str, arguments)])
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert rows[-1].pop("seconds") >= 0 and rows[-1]["exitCode"] == code
    assert (rows[-1].pop("verdict").startswith("fine"), type(rows[-1].pop("reasons"))) == (code == CLEAN, list)
    return {"code": code, **rows[-1]}


def _expected(
    code: int, files: int, size: int, errors: int, known: int = 0, *, is_complete: bool = True, unreadable: int = 0
) -> Json:
    counts = {"files": files, "bytes": size, "errors": errors, "warnings": 0, "infos": 0, "known": known}
    records = {"recordsNotRead": 0, "recordsUnreadable": unreadable}
    return {"code": code, "kind": "summary", **counts, "level": "deep", **records, "isComplete": is_complete, "exitCode": code}


def _size(partition: Path) -> int:
    return sum(path.stat().st_size for path in partition.iterdir())


def _write_baseline(baseline: Path, capfd: Capture, *paths: Path) -> Path:
    main(["check", "--output", "ndjson", *map(str, paths)])
    baseline.write_text(capfd.readouterr().out)
    return baseline


@each("command", ["check", "forecast", "info", "triage"])
def test_the_summary_of_a_command_is_one_object_of_its_json(command: str, partition: Path, capfd: Capture) -> None:
    main([command, "--output", "json", str(partition)])
    assert json.loads(capfd.readouterr().out)["summary"]


def test_records_of_metadata_are_said_not_to_be_replayed_whatever_is_beside_them() -> None:
    directory = "/data/__cluster_metadata-0"
    files = [_report(f"{directory}/{name}", ("intact", 9, 1)) for name in (LOG, f"{LOG[:-4]}.index", "quorum-state")]
    for file, file_type in zip(files[1:], ("index", "quorum-state"), strict=True):
        file.file_type = file_type
    for row in range(3):
        reports = [(file, directory) for file in (*files[row:], *files[:row])]
        lines = [line for line in _lines(reports=reports) if line.startswith(directory)]
        assert [line.endswith("fine; records not replayed") for line in lines] == [True], lines


def test_what_could_not_be_examined_outranks_errors(partition: Path, capfd: Capture) -> None:
    flip_a_bit(partition / LOG, 75)
    missing = partition.parent / "gone.log"
    expected = _expected(NOT_EXAMINED, 8, _size(partition), 2, is_complete=False, unreadable=1)
    assert _summary(capfd, partition, missing) == _summary(capfd, missing, partition) == expected
    assert _summary(capfd, missing) == _expected(NOT_EXAMINED, 0, 0, 1, is_complete=False)
    for limit, is_said in (("1e-9", True), ("1000", False)):
        main(["check", "--time-limit", limit, str(partition)])
        assert ("Not everything could be examined." in " ".join(capfd.readouterr().out.split())) == is_said


def test_a_baseline_knows_each_finding_once(partition: Path, tmp_path: Path, capfd: Capture) -> None:
    flip_a_bit(partition / LOG, 75)
    size = _size(partition)
    known: tuple[str | Path, ...] = ("--baseline", _write_baseline(tmp_path / "baseline", capfd, partition))
    assert _summary(capfd, *known, partition) == _expected(CLEAN, 8, size, 0, known=1)
    twice = _expected(FINDINGS, 9, size + 228, 1, known=1, unreadable=1)
    assert _summary(capfd, *known, partition, partition / LOG) == twice
    flip_a_bit(partition / LOG, 75 + 76)
    assert _summary(capfd, *known, partition) == _expected(FINDINGS, 8, size, 1, known=1, unreadable=1)
    missing = partition / "gone.log"
    _write_baseline(tmp_path / "baseline", capfd, missing)
    assert _summary(capfd, *known, missing) == _expected(CLEAN, 0, 0, 0, known=1)


def test_what_is_ignored_does_not_count(partition: Path, capfd: Capture) -> None:
    flip_a_bit(partition / LOG, 75)
    for options, code in (
        ("--ignore crc-mismatch --ignore start-loses", CLEAN),
        ("--ignore crc-* --ignore start-*", CLEAN),
        ("--select torn-*", CLEAN),
        ("--select crc-* --ignore crc-mismatch", CLEAN),
        ("--ignore torn-*", FINDINGS),
        ("--select crc-*", FINDINGS),
        ("--select torn-tail --select crc-mismatch", FINDINGS),
    ):
        assert _summary(capfd, *options.split(), partition) == _expected(code, 8, _size(partition), code, unreadable=code), (
            options
        )


def test_an_info_or_what_was_not_stepped_over_keeps_no_consumer_from_reading() -> None:
    assert "Consumers" not in _text("text", [(_finding(severity="info"), A), (_finding("sequence-gap", "warning", skipped=0), A)])


@each("width", range(60, 201, 7))
def test_no_line_of_the_text_but_a_command_is_wider_than_the_terminal(width: int) -> None:
    findings = [(_finding(start=1000 * n, end=1000 * n + 100, offsets=(10 * n, 10 * n + 2)), A) for n in range(30)]
    findings += [
        (_finding("index-position-not-boundary", path=f"{A}/{LOG[:-4]}.index", file_type="index", skipped=0), A),
        (_finding("txn-hanging", path=f"{B}/{LOG}", offsets=(7, 9), skipped=0), B),
    ]
    reports = [(_report(f"{A}/{LOG}", ("damaged", 30_000, 30)), A), (_report(f"{B}/{LOG}", ("intact", 2000, 9)), B)]
    text = _text("text", findings, reports, width=width).partition("\nNext\n")[0]
    assert max(map(len, text.splitlines())) <= width
