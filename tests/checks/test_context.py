"""What is said of findings that are too many to be reported one by one."""

from __future__ import annotations

from kdump.binary.source import NoSource
from kdump.checks.context import FileContext
from kdump.checks.finding import Finding
from kdump.checks.settings import Settings
from kdump.tables import Row
from tests.loops import each


@each(
    ("places", "told"),
    [
        ([(300, 400)], "1 more finding of crc-mismatch in this file, between bytes 300 and 400."),
        ([(300, 400), (500, 600)], "2 more findings of crc-mismatch in this file, between bytes 300 and 600."),
        ([(500, 600), (300, 400)], "2 more findings of crc-mismatch in this file, between bytes 300 and 600."),
        ([(500, 5000), (450, 460)], "2 more findings of crc-mismatch in this file, between bytes 450 and 1,000."),
        ([(461, 461), (461, 461)], "2 more findings of crc-mismatch in this file, at byte 461."),
    ],
)
@each("counts", [False, True])
def test_the_range_of_further_findings_holds_all_of_them(places: list[tuple[int, int]], told: str, *, counts: bool) -> None:
    source = NoSource("00000000000000000000.log")
    source.size = 1000
    rows: list[Row] = []
    context = FileContext(source, source.path, "log", Settings(now=0, max_findings=1), rows.append)
    context.report("crc-mismatch", 0, 10, "the first")
    for start, end in places:
        if not (counts and context.counts_only("crc-mismatch", start, min(end, 1000))):
            context.report("crc-mismatch", start, end, "another")
    context.finish()
    assert [row.message for row in rows if isinstance(row, Finding)] == ["the first", told]
