"""What is said of findings that are too many to be reported one by one."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

from kdump.binary.source import NoSource
from kdump.checks.context import FileContext
from kdump.checks.finding import Finding
from kdump.checks.live_source import LiveSource
from kdump.checks.settings import Settings
from kdump.tables import Row
from tests.loops import each

INFO, WARN, ERR = "info", "warning", "error"


@each(
    ("code", "severities", "reported"),
    [
        ("crc-mismatch", (INFO, INFO, INFO, ERR, INFO, WARN, ERR), (INFO, INFO, ERR)),  # what is worse than all before is
        ("crc-mismatch", (INFO, INFO, INFO, None, None), (INFO, INFO, ERR)),  # None is the severity of the catalogue, an error
        ("crc-mismatch", (None, None, None, INFO, None), (ERR, ERR)),
        ("crc-mismatch", (ERR, INFO, INFO, ERR), (ERR, INFO)),
        ("crc-mismatch", (WARN, INFO, INFO, WARN, ERR), (WARN, INFO, ERR)),
        ("batch-empty", (None, INFO, WARN, WARN, WARN, ERR), (WARN, WARN, ERR)),  # a pedantic one, as long as it is not worse
    ],
)
@each("counts", [False, True])
def test_no_finding_hides_behind_better_ones_of_its_code(
    code: str, severities: tuple[str | None, ...], reported: tuple[str, ...], *, counts: bool
) -> None:
    source, rows = NoSource("x"), list[Row]()
    source.size = 99
    context = FileContext(source, source.path, "log", Settings(now=0, max_findings=2), rows.append)
    places = [(start, start + 7) for start in (40, 30, 50, 20, 60, 10, 70)]
    for place, severity in zip(places, severities, strict=False):
        if not (counts and context.counts_only(code, *place, severity)):
            context.report(code, *place, "", severity=severity)
    found = [row for row in rows if isinstance(row, Finding)]
    further = set(places[: len(severities)][2 * (code == "batch-empty") :]) - {(one.start, one.end) for one in found}
    assert ([one.severity for one in found], context.has_flood) == (list(reported), bool(further))
    others = ("bad-magic", "torn-tail", "file-vanished")
    for other in others:
        for _ in range(3):
            context.report(other, 5, 5, "")
    context.finish()
    expected = [(5, 5, "1", f"1 more finding of {other} in this file, at byte 5.") for other in others]
    if further:
        count, first, last = len(further), min(further)[0], max(further)[1]
        words = f"{count} more finding{'s' * (count > 1)} of {code} in this file, between bytes {first} and {last}."
        expected.insert(0, (first, last, str(count), words))
    floods = [row for row in rows if isinstance(row, Finding) and row.code == "finding-flood"]
    assert [(row.start, row.end, row.found, row.message) for row in floods] == expected


@each(
    ("code", "end", "is_newest", "grows", "severity"),
    [
        *((code, 100, is_newest, True, INFO) for code in ("torn-tail", "torn-header", "zero-tail") for is_newest in (True, None)),
        *(("torn-tail", *of_file, ERR) for of_file in ((99, True, True), (100, False, True), (100, True, False))),
        ("crc-mismatch", 100, True, True, ERR),
    ],
)
def test_only_the_end_of_a_log_that_grows_is_still_to_be_written(
    code: str, end: int, is_newest: bool | None, grows: bool, severity: str
) -> None:
    rows: list[Row] = []
    source = mock.Mock(spec=LiveSource, path="x", size=100, bad_ranges=[(10, 20)])
    source.read.return_value, source.is_growing.return_value = b"", grows
    context = FileContext(source, "x", "log", Settings(now=0), rows.append, is_newest=is_newest)
    context.report(code, 50, end, "")
    assert [row.severity for row in rows if isinstance(row, Finding)] == [severity]
    places = ((0, 9), (0, 10), (12, 13), (20, 30), (21, 30))  # what touches unreadable bytes is in doubt, too
    assert [context.is_unreadable(*place) for place in places] == [False, True, True, True, False]


def test_a_file_that_has_grown_is_growing_whenever_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for size, grows in ((0, False), (1, True)):
        path.write_bytes(b"")
        with LiveSource(str(path)) as source:
            path.write_bytes(bytes(size))
            os.utime(path, (0, 0))
            assert source.is_growing() == grows
