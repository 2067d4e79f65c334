"""What reports of commands that mend say: each number in its place, and what is lost, left or missing."""

from typing import Any

from kdump.mending import row
from kdump.output import mending
from kdump.output.text.style import ReportStyle
from kdump.tables import Row
from tests.loops import each


def _numbered(kind: type[Row], **fields: Any) -> Any:
    """A row in which each number is another, from 1,001 on."""
    values = {column.name: 1001 + number for number, column in enumerate(kind.schema)}
    return kind(**values | {name: value for name, value in {"seconds": 0.5, "exit_code": 7}.items() if name in values} | fields)


def _report(command: str, rows: list[Row], summary: Row) -> list[str]:
    lines: list[str] = []
    report = mending.formatter_of(command, "text", lines.append, ReportStyle(width=500))
    for one in rows:
        report.row(one)
    report.end(summary)
    return [line for line in "".join(lines).splitlines() if line]


VERIFIED = "Complete; headers and CRCs verified, records not read: /new. Exit status 7."
REDACTED = (
    "1,002 files, 1,003 bytes of logs; 1,004 batches with 1,005 records redacted, 1,006 bytes of damage became filler. 0.5 s."
)
SAME = "kdump check has the same 1,007 findings in the copy as in the original."
DIFFERENT = "kdump check has 1,007 findings in the original; 2 are in only one of them (see above)."


def test_each_number_of_a_report_stands_in_its_place() -> None:
    for differences, findings, said in (
        (2, 1007, DIFFERENT),
        (0, 1007, SAME),
        (0, 0, "kdump check finds nothing in the original, nor in the copy."),
    ):
        rows = [row.RedactDifference("a.log", "x-y", 1234, "input"), row.RedactDifference("b.log", "x-z", None, "output")]
        summary = _numbered(row.RedactSummary, path="/new", differences=differences, findings=findings)
        assert _report("redact", [*rows, _numbered(row.RedactedFile)], summary) == [
            "a.log   x-y at offset 1,234 is found only in the original",
            "b.log   x-z is found only in the copy",
            *(REDACTED, said, "Complete: /new. Exit status 7."),
        ]
    sliced = [_numbered(row.SlicedSegment, path="a.log", source="b.log"), row.Hole(".", 5, 7, 3, is_damage=True, reason="gone")]
    sliced += [
        _numbered(row.SlicedSegment, path="a.log", source="a.log", first_offset=None),
        _numbered(row.SlicedSegment, path=None),
    ]
    assert _report("slice", sliced, _numbered(row.SliceSummary, path="/new")) == [
        "a.log   offsets 1,003 to 1,004, 1,012 records, from b.log",
        *("hole        offsets 5 to 7", "            gone", "a.log   no batches"),
        "1,002 segments, 1,005 bytes, log start offset 1003, log end offset 1004. 0.5 s.",
        "Batches: 1,006 read, 1,007 outside of the range; 1,008 cloned, 1,009 rewritten, 1,010 emptied, 1,011 dropped.",
        "Records of those not outside: 1,012, 1,013 kept, 1,014 out of range, 1,015 left out by their keys.",
        "Missing: 1,017 offsets of the range in 1,016 holes, which no log has any more.",
        VERIFIED,
    ]
    rebuilt: list[Row] = [
        row.Companion(name, "rebuilt", 12, *was) for name, was in (("a", ("missing", None)), ("b", ("different", 1234)))
    ]
    rebuilt += [row.Companion("c", "rebuilt", 12, "same", 12), row.Companion("d", "cloned", 12, "different", 1)]
    rebuilt += [row.Companion("e", "to-remove", 0, "different", 5), row.Hole("a-0", 5, 5, 1, is_damage=True, reason="gone")]
    fields: dict[str, Any] = {"different": 2, "missing": 3, "without_logs": True, "to_remove": 8, "partitions_left_out": 1}
    lines = _report("reindex", rebuilt, _numbered(row.ReindexSummary, path="/new", **fields))
    assert "remove 8 files listed above from PATH, then copy what is in DIR" in lines.pop(-2)
    assert lines == [
        *("a   12 bytes, missing in the input", "b   12 bytes, other than in the input (1,234 bytes)"),
        *("e   to remove from PATH (5 bytes)", "hole        offset 5 of a-0", "            gone"),
        "1,002 partitions, 1,003 segments, 1,004 bytes, 1,005 batches. 0.5 s.",
        "Only a selection: 1 other partition is not copied: it was not chosen."
        " The new directory does not stand in for the whole log directory.",
        "Rebuilt 1,006 files: 1,001 as in the input, 2 different, 3 missing there.",
        VERIFIED,
    ]


NOTHING_LOST, WITHOUT = "Nothing is lost of what was there.", "without 1 segment marked as deleted (10 bytes)"
LEFT = ("What was taken over as it is has {}: kdump check lists {}.").format
BUT, LEAST = "Complete and verified, but", "at least 3 offsets"
LOST = {"holes": 1, "offsets_missing": 3, "bytes_lost": 5}
GONE = row.Dropped("a.log.deleted", 0, 10, 10, 0, 0, None, None, is_lost=False, code="leftover-deleted", reason="r")
EMPTY = row.Dropped("quorum-state", 0, 0, 0, 0, 0, None, None, is_lost=True, code="quorum-state-bad", reason="r")
ENDS: list[tuple[dict[str, int], list[row.Dropped], str, str]] = [
    ({}, [], NOTHING_LOST, "Complete and verified"),
    ({}, [GONE], "Nothing is lost but what is marked as deleted.", f"Verified, {WITHOUT}"),
    ({}, [EMPTY], "Lost: 1 empty file.", "Complete and verified, but 1 empty file left out"),
    ({"remaining_errors": 1}, [], LEFT("1 error", "it"), "Complete, but 1 error left"),
    ({"remaining_errors": 2}, [GONE], LEFT("2 errors", "them"), f"Made, {WITHOUT}, but 2 errors left"),
    ({"bytes_lost": 5}, [], "Lost: 5 bytes.", "Complete and verified, but 5 bytes lost"),
    (LOST, [], "Lost: 5 bytes; 3 offsets in 1 hole.", "Complete and verified, but 3 offsets missing, 5 bytes lost"),
    (LOST | {"are_more_missing": True}, [], f"Lost: 5 bytes; {LEAST} in 1 hole.", f"{BUT} {LEAST} missing, 5 bytes lost"),
    ({"holes": 1, "offsets_missing": 3}, [], "Lost: 3 offsets in 1 hole.", f"{BUT} 3 offsets missing"),
]


@each("fields, dropped, sentence, end", ENDS)
def test_a_recovery_says_what_is_lost_or_left(fields: dict[str, int], dropped: list[Row], sentence: str, end: str) -> None:
    names = ("bytes_lost", "holes", "offsets_missing", "are_more_missing", "remaining_errors", "partitions_left_out")
    counts = dict.fromkeys(names, 0)
    said = _report("recover", dropped, _numbered(row.RecoverSummary, path="/new", **counts | fields))
    assert "1,002 partitions, 1,003 segments, 1,004 bytes, 1,005 batches, 1,006 records. 0.5 s." in said
    assert [line for line in said if line.startswith(("Nothing", "Lost", "What"))] == [sentence]
    assert f"{end}: /new. Exit status 7." in said
    assert any("has another replica" in line for line in said) == bool({"holes", "bytes_lost"} & fields.keys())
