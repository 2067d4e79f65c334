"""What `kdump scan` prints for people: topics by size, and findings, the worst first."""

import json
from typing import Any

from kdump.cli.scanning.summary import ScanSummary, Unreadable
from kdump.output.rows.fleet import CodecUse, TopicSize
from kdump.output.text.scan import codec_lines, text_of_codecs, text_of_findings, text_of_topics, topic_lines
from kdump.output.text.scan_steps import scan_steps
from tests.loops import each

GIB = 1 << 30


def _size(
    topic: str | None, size: int, records: int | None = 5, oldest: int | None = None, newest: int | None = None
) -> TopicSize:
    return TopicSize(topic, 3, 6, 12, size, size // 2, 9, records, oldest, newest)


def _finding(code: str, severity: str, partition: int = 0, broker: str = "1", **more: Any) -> dict[str, Any]:
    place = {"broker": broker, "topic": "orders", "partition": partition, "path": f"/data/{broker}/orders-{partition}/0.log"}
    return {**place, "code": code, "severity": severity, "offsetFirst": 5, "offsetLast": 9, "message": f"{code} it is.", **more}


def test_topics_are_shown_by_size_with_their_codecs_and_findings() -> None:
    sizes = [_size("small", 2048, records=None), _size("orders", 3 * GIB, records=4_100_000_000), _size(None, 0, records=0)]
    codecs = [
        CodecUse("orders", "zstd", 10, 10, 900, 900, 3690),
        CodecUse("orders", "none", 1, 1, 100, 100, 100),
        CodecUse("small", "lz4", 1, 1, 60, 0, None),
        CodecUse("small", "zstd", 1, 1, 40, 40, 400),  # nobody knows what the other codec saves
    ]
    lines = topic_lines(sizes, codecs, {("orders", "error"): 2, ("orders", "info"): 7, ("small", "warning"): 1})
    assert text_of_topics(lines) == [
        "topic       partitions  segments      size      records  codec           findings",
        "orders               3        12  3.00 GiB  4.1 billion  zstd 90 % 3.8x  2 errors",
        "small                3        12  2.00 KiB            -  lz4 60 %        1 warning",
        "(no topic)           3        12   0 bytes            0  -               -",
    ]
    for size, whole, said in ((996, 1040, "zstd"), (994, 1400, "zstd 99 % 1.4x"), (960, 1060, "zstd 96 % 1.1x")):
        of_others = CodecUse("t", "none", 1, 1, 1000 - size, 1000 - size, 1000 - size)
        uses = [CodecUse("t", "zstd", 1, 1, size, size, whole - 1000 + size), of_others]
        assert text_of_topics(topic_lines([_size("t", 1000)], uses, {}))[1].split("  ")[-2].strip() == said


def test_codecs_are_shown_by_size_with_what_they_save() -> None:
    uses = [
        CodecUse("orders", "zstd", 1000, 10, 3 << 20, 1 << 20, 12 << 20),
        CodecUse("small", "zstd", 234, 1, 1 << 20, 0, None),
        CodecUse("orders", "none", 5, 1, 8 << 20, 0, None),
        CodecUse("odd", "lz4", 1, 1, 100, 100, 50),
        CodecUse("old", "snappy", 1, 1, 2048, 0, None),
    ]
    assert text_of_codecs(codec_lines(uses)) == [
        "codec   batches       size  uncompressed   saved",
        "none          5   8.00 MiB      8.00 MiB       -",
        "zstd      1,234   4.00 MiB      16.0 MiB    75 %",
        "snappy        1   2.00 KiB             -       -",
        "lz4           1  100 bytes      50 bytes  -100 %",
        "The size of compressed batches was measured for 1.00 MiB of them.",
    ]
    assert text_of_codecs(codec_lines(uses[2:4])) == [
        "codec  batches       size  uncompressed   saved",
        "none         5   8.00 MiB      8.00 MiB       -",
        "lz4          1  100 bytes      50 bytes  -100 %",
    ]
    assert text_of_codecs(codec_lines(uses[2:3])) == []


def test_topics_beyond_the_first_few_are_counted() -> None:
    lines = text_of_topics(topic_lines([_size(f"t{number:02}", 1024 * (100 - number)) for number in range(25)], [], {}))
    assert (len(lines), lines[1][:4], lines[-1]) == (22, "t00 ", "and 5 more topics, 390 KiB")
    assert len(text_of_topics(topic_lines([_size(f"t{number}", 1) for number in range(20)], [], {}))) == 21


def test_infos_are_one_line_and_a_directory_called_broker_is_not_broker_broker() -> None:
    assert text_of_findings([], {}, 100) == ["No findings."]
    counts = {(f"code-{number}", "info"): number for number in range(1, 6)}
    assert text_of_findings([], counts, 100) == ["15 infos: code-5, code-4, code-3 and 2 more; --tables-to DIR lists each."]
    finding = _finding("crc-mismatch", "error", broker="broker 2")
    head = text_of_findings([finding], {("crc-mismatch", "error"): 1}, 100)[0]
    assert head == "error    crc-mismatch  orders-0 on broker 2, offsets 5 to 9"
    finding = _finding("log-dir-file-bad", "error", topic=None, path="/data/1/meta.properties")  # of no partition
    assert text_of_findings([finding], {("log-dir-file-bad", "error"): 1}, 100)[0].endswith("  /data/1/meta.properties")


def test_replicas_that_only_end_at_different_offsets_are_said_to_have_the_same_before() -> None:
    behind = _finding("replica-behind", "info", message="Broker 1 ends at 5, broker 2 at 10.")
    counts = {("replica-behind", "info"): 1}
    assert text_of_findings([behind], counts, 100)[2:3] == [
        "         Broker 1 ends at 5, broker 2 at 10. No difference was found in what both have."
    ]
    lines = text_of_findings([behind], {("replica-divergence", "error"): 1, **counts}, 100)
    assert lines[2:3] == ["         Broker 1 ends at 5, broker 2 at 10."]


def test_a_scan_ends_with_what_to_type() -> None:
    findings = [
        _finding("replica-divergence", "error"),
        _finding("replica-divergence", "error", broker="2"),
        _finding("crc-mismatch", "error", 1),
        _finding("offset-gap", "error", 1),
        _finding("timestamp-future", "warning", 2),
        *(_finding("crc-mismatch", "error", partition) for partition in range(3, 6)),
        _finding("replica-behind", "info", 7),
        _finding("offset-gap", "info", 8),
    ]
    assert scan_steps(findings, ["/data/1", "/data/it's"]).lines() == [
        "mkdir -p KEEP && cp -a /data/1/orders-0 KEEP/orders-0.damaged   # before any restart, with the broker stopped",
        """kdump where orders-0@5 /data/1 '/data/it'"'"'s'   # replica-divergence: which copy has it""",
        "kdump check /data/1/orders-1   # crc-mismatch, and what to do",
        "kdump check /data/1/orders-2   # timestamp-future, and what it means",
        "kdump check /data/1/orders-3   # crc-mismatch, and what to do",
        """kdump where orders-7@5 /data/1 '/data/it'"'"'s'   # replica-behind: the first record that it lacks""",
        "# and 2 more partitions to check",
    ]
    steps = scan_steps(findings, ["/data/1"])
    assert steps.main("4 x replica-divergence") == "kdump where orders-0@5 /data/1"
    assert steps.main("crc-mismatch") == "kdump check /data/1/orders-1"
    whole = _finding("start-leaves-damage", "error") | {"path": "/data/1/orders-0"}
    assert scan_steps([whole], ["/data/1"]).lines() == ["kdump check /data/1/orders-0   # start-leaves-damage, and what to do"]
    odd = _finding("dir-odd", "error") | {"path": "/data/1/lost+found", "topic": None, "partition": None}
    assert scan_steps([odd], ["/data/1"]).main("dir-odd") == "kdump check /data/1"
    assert not scan_steps([], ["/data"])
    assert scan_steps(findings[-2:-1], ["/data"] * 9).lines() == []


def test_many_codes_are_counted_and_the_first_ones_shown() -> None:
    codes = [f"code-{number:02}" for number in range(25)]
    lines = text_of_findings([_finding(code, "error") for code in codes], {(code, "error"): 1 for code in codes}, 100)
    assert sum(line.endswith(" it is.") for line in lines) == 10
    assert lines[-2:] == ["error    code-19          1", "and 5 more codes"]


def test_names_of_topics_are_shortened_on_a_terminal_only() -> None:
    lines = topic_lines([_size("orders-" + "x" * 60, 3 * GIB), _size("注文", 1)], [], {})
    assert text_of_topics(lines, width=74) == [
        "topic             partitions  segments      size  records  codec  findings",
        "orders-xxxxxxxx…           3        12  3.00 GiB        5  -      -",
        "注文                       3        12    1 byte        5  -      -",
    ]
    assert text_of_topics(lines)[1].startswith("orders-" + "x" * 60 + "  ")
    assert text_of_topics(lines)[2].startswith("注文" + " " * (67 - 4) + "  ")


def test_topics_take_several_lines_each_where_a_terminal_is_too_narrow_for_columns() -> None:
    lines = topic_lines([_size("orders-" + "x" * 60, 3 * GIB)], [], {("orders-" + "x" * 60, "error"): 2})
    assert text_of_topics(lines, width=60) == [
        "orders-" + "x" * 52 + "…",
        "  partitions 3, segments 12, size 3.00 GiB, records 5",
        "  codec -, findings 2 errors",
    ]


def test_a_timestamp_in_the_future_is_told_once_with_what_follows_of_it() -> None:
    findings = [
        _finding("retention-blocked", "warning"),
        _finding("timestamp-future", "warning"),
        _finding("timestamp-future", "warning", 1),
    ]
    counts = {("retention-blocked", "warning"): 1, ("timestamp-future", "warning"): 2}
    heads = [line.split()[1:3] for line in text_of_findings(findings, counts, 100) if " on broker " in line]
    assert heads == [["retention-blocked", "orders-0"], ["timestamp-future", "orders-1"]]


SUMMARY: dict[str, Any] = {"level": "full", "files": 1, "has_kafkas": True, "bytes": 10, "batches": 2, "records": 3, "codecs": []}
SUMMARY |= {"records_not_read": 0, "are_more_not_read": False, "oldest": 4, "newest": 5, "codes": [], "failing_starts": {}}
SUMMARY |= {
    "unreadable": Unreadable({}, 0, False),
    "worst": [],
    "rows": {"batches": 2},
    "topics": topic_lines([_size("a", 9)], [], {}),
}
BAD_CRC, BEHIND, GONE = ("crc-mismatch", "error"), ("replica-behind", "info"), ("partition-missing", "error")
OTHERS, PROPERTIES, FAILS = ("scan-not-compared", "warning"), ("log-dir-file-bad", "error"), {"log-dir-file-bad": 1}
NOT_THERE = "not examined: none of the partitions that checkpoints name is there"
HEADERS_ONLY = "headers and CRCs intact; "
VERDICTS: list[tuple[dict[str, Any], int, str, list[str]]] = [
    ({}, 0, "fine", []),
    ({"has_kafkas": False}, 3, "not examined", ["not examined: there is no Kafka file"]),
    ({"topics": [], "codes": [(GONE, 1)]}, 3, "not examined", ["not examined: partition-missing", NOT_THERE]),
    ({"codes": [(PROPERTIES, 1)]}, 1, "damaged", ["damaged: log-dir-file-bad"]),
    ({"codes": [(PROPERTIES, 1)], "failing_starts": FAILS}, 1, "does not start", ["does not start: log-dir-file-bad"]),
    *(
        (
            {"codes": [(BAD_CRC, 2)], "unreadable": Unreadable({"crc-mismatch": 2}, 7, is_least)},
            1,
            words,
            ["unreadable: 2 x crc-mismatch"],
        )
        for is_least, words in ((False, "unreadable (7 records)"), (True, "unreadable (at least 7 records)"))
    ),
    (
        {"codes": [(("crc-mismatch", "warning"), 1)], "unreadable": Unreadable({"crc-mismatch": 1}, 7, False)},
        *(0, "fine", ["not counted: 1 warning"]),
    ),
    ({"records_not_read": 5}, 0, f"{HEADERS_ONLY}5 records not read (--level deep)", ["5 records not read (--level deep)"]),
    (
        {"records_not_read": 5, "are_more_not_read": True, "rows": {"records": 1}},
        *(0, f"{HEADERS_ONLY}at least 5 records not checked (--level deep)", ["at least 5 records not checked (--level deep)"]),
    ),
    (
        {"topics": topic_lines([_size("__cluster_metadata", 9), _size("a", 1)], [], {})},
        *(0, "fine; records of __cluster_metadata not replayed", ["records of __cluster_metadata not replayed"]),
    ),
    ({"codes": [(BEHIND, 1)]}, 0, "fine, but replicas end at different offsets", ["not counted: 1 info"]),
    (
        {"codes": [(BEHIND, 1), (OTHERS, 1)]},
        0,
        "fine, but replicas end at different offsets and replicas of other topics were not compared",
        ["not counted: 1 warning, 1 info"],
    ),
    ({"codes": [(BEHIND, 1), (BAD_CRC, 1)]}, 1, "damaged", ["damaged: crc-mismatch", "not counted: 1 info"]),
]


@each("given, code, verdict, reasons", VERDICTS)
def test_the_verdict_on_a_fleet_is_that_of_all_findings_and_stays_so_when_it_is_kept(
    given: dict[str, Any], code: int, verdict: str, reasons: list[str]
) -> None:
    summary = ScanSummary(("error",), **SUMMARY | given)
    found = summary.json(None, "local", 1.0)
    assert (found["exitCode"], found["verdict"], found["reasons"]) == (code, verdict, reasons)
    again = ScanSummary.of_kept(json.loads(json.dumps(summary.kept(found))), ("error",))
    assert again.json(None, "local", 1.0) == found and again.text(None, 1.0, []) == summary.text(None, 1.0, [])


def test_tables_that_do_not_add_up_are_not_among_those_that_are_there_and_what_was_kept_is_said() -> None:
    rows = {"batches": 2, "records": 4, "segments": 0}
    more: dict[str, Any] = {"rows": rows, "incomplete": ["records"], "decoded_topics": ["a"], "unchanged_files": 2}
    lines = ScanSummary(("error",), **SUMMARY | more).text("OUT", 1.0, []).splitlines()
    assert lines[1] == "2 files of these are as they were, and were not read again."
    assert "Tables in OUT: batches (Parquet)." in lines
    assert "Unreliable, because they do not add up: records.incomplete." in lines
    assert "Decoded keys and values of 1 topic, with typed columns: OUT/decoded/topic=NAME." in lines
    one = ScanSummary(("error",), **SUMMARY, unchanged_files=1).text(None, 1.0, [])
    assert "1 file of these is as it was, and was not read again." in one and "--tables-to DIR keeps the tables" in one
    since = ScanSummary(("error",), **SUMMARY, unchanged_since=1_700_000_000_000).text(None, 1.0, []).splitlines()[1]
    assert since.startswith("No file has changed since the scan of 2023-11-14 22:13:20")
    of_start: dict[str, Any] = {"codes": [(PROPERTIES, 1)], "worst": [_finding(*PROPERTIES)]}
    for failing, said in (
        (FAILS, "Verdict: does not start: /data/1/orders-0/0.log: log-dir-file-bad it is."),
        ({}, "Verdict: damaged: log-dir-file-bad."),
    ):
        of_start["failing_starts"] = failing
        assert said in " ".join(ScanSummary(("error",), **SUMMARY | of_start).text(None, 1.0, []).split())
