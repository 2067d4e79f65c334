"""The text of forecasts: each sentence, the verdict before them, and what to do instead."""

from typing import Any

from kdump.forecasts import places
from kdump.forecasts.events import Events
from kdump.forecasts.recovery import Cut
from kdump.forecasts.row import Change, Forecast, Remedy
from kdump.forecasts.sentences import sentences, summary, verdict
from kdump.output.forecast import formatter_of
from kdump.output.rows.forecast_summary import ForecastSummary
from kdump.output.text.style import ReportStyle
from kdump.verdicts.verdict import Verdict
from tests.loops import each

Values = dict[str, Any]  # of columns of several types

SOUND: Values = {"path": "/data/orders-0", "release": "4.3.1", "after": "unclean"}
SOUND |= {"recovery_point": 0, "recovery_point_is_assumed": False, "outcome": "keep", "also": [], "log_start": 0, "log_end": 10}
SOUND |= {"data_end": 10, "end_differs": False, "bytes_lost": 0, "lost_offsets": [], "lost_records": 0, "damaged_batches": 0}
SOUND |= {"consumers_stop_at": None, "segments": [[0, 700]], "segments_gone": [], "files": [], "exception": None, "reason": None}
SOUND |= {"conditions": []}  # in the order of the columns


def _row(events: Values | None = None, *, remedy: Remedy | None = None, **changes: Any) -> Forecast:  # of several types
    row = Forecast(*(SOUND | changes).values())
    row.events = Events()
    for name, value in (events or {}).items():
        setattr(row.events, name, value)
    row.remedy = remedy
    row.is_doubtful = bool(row.conditions)
    row.segments_before, row.size_before = 1, 700
    return row


def _name(base_offset: int) -> str:
    return f"{base_offset:020}.log"


def _file(name: str, change: str, new_name: str | None = None) -> Values:
    return {"name": name, "change": change, "newName": new_name, "sizeBefore": 1, "sizeAfter": None}


NOTHING = "Nothing is scanned, nothing is lost; the log goes from offset 0 to 10."
NO_RECORD = "no intact record is among them."
NOT_UNDONE = "What happens to files before that is not undone:"
OFFLINE = "The log directory goes offline, and with it the broker if it has no other: why."
STAY = "Later segments stay; a gap in the offsets may remain."
OLD = "and the old records there can no longer be fetched reliably."


# --- the first word


@each(
    ("changes", "word"),
    [
        *(({}, "safe"), ({"bytes_lost": -5}, "safe"), ({"consumers_stop_at": 4, "damaged_batches": 1}, "damage")),
        *(({"outcome": "die"}, "fails"), ({"outcome": "offline"}, "fails"), ({"outcome": "wipe"}, "trims")),
        *(({"bytes_lost": 1}, "trims"), ({"bytes_lost": 1, "end_differs": True}, "trap"), ({"end_differs": True}, "trap")),
        *(({"lost_records": 1}, "loss"), ({"lost_records": 1, "end_differs": True}, "loss")),
        *(({"segments_gone": [_name(0)]}, "trims"), ({"outcome": "stray"}, "loss"), ({"conditions": ["if it is so"]}, "unsure")),
        ({"conditions": ["if it is so"], "end_differs": True}, "trap"),
        ({"conditions": ["if it is so"], "lost_records": 1}, "loss"),
    ],
)
def test_a_forecast_has_the_word_of_its_worst(changes: Values, word: str) -> None:
    assert verdict(_row(**changes)) == word


# --- sentences


@each(
    "events, changes, told",
    [
        ({}, {}, [NOTHING]),
        ({"rescanned": {5: "why"}}, {}, ["Nothing else is scanned, nothing is lost; the log goes from offset 0 to 10."]),
        (
            {"scanned": [7]},
            {"log_start": 3, "log_end": 12_345},
            ["1 segment is scanned, from offset 7 on, nothing is lost; the log goes from offset 3 to 12,345."],
        ),
        (
            {"scanned": [7, 9]},
            {},
            ["2 segments are scanned, from offset 7 on, nothing is lost; the log goes from offset 0 to 10."],
        ),
        ({}, {"log_end": None}, ["Nothing is lost; the directory is waiting to be deleted."]),
        (
            {},
            {"outcome": "die", "exception": "java.lang.IllegalStateException", "reason": "why"},
            ["The broker does not start (IllegalStateException): why."],
        ),
        (
            {},
            {"outcome": "die", "exception": "E", "reason": "why", "bytes_lost": 1},
            ["The broker does not start (E): why.", NOT_UNDONE, f"1 byte goes; {NO_RECORD}"],
        ),
        ({}, {"outcome": "offline", "reason": "why", "segments_gone": [_name(0)]}, [OFFLINE, NOT_UNDONE]),
        ({}, {"outcome": "offline", "reason": "why", "consumers_stop_at": 5}, [OFFLINE]),
        (
            {"cut": {0: Cut(207, 1234, "a CRC does not fit")}, "deleted_behind_cut": [10]},
            {"outcome": "cut", "lost_records": 2, "bytes_lost": 1234, "lost_offsets": [[3, 4]], "segments_gone": [_name(10)]},
            [
                f"{_name(0)} is cut at byte 207 (1,234 bytes go): a CRC does not fit.",
                f"All later segments are deleted: 1 segment, {_name(10)}.",
                "Lost for good: 2 intact records, offsets 3 to 4, 1,234 bytes.",
            ],
        ),
        (
            {"cut": {0: Cut(0, 1, "why")}, "wiped": {0: "why it is emptied"}, "deleted_behind_cut": [5, 6, 7]},
            {"outcome": "wipe", "bytes_lost": 1},
            [
                f"{_name(0)} is emptied, down to byte 0: why it is emptied.",
                f"All later segments are deleted: 3 segments, {_name(5)} to {_name(7)}.",
                f"1 byte goes; {NO_RECORD}",
            ],
        ),
        (
            {"deleted_all": [0, 5]},
            {"outcome": "delete", "reason": "why", "segments_gone": [_name(0), _name(5)], "lost_records": 1},
            [
                "All 2 segments are deleted: why.",
                "Lost for good: 1 intact record, whose offsets other batches also have, 0 bytes.",
            ],
        ),
        ({"deleted_all": [5]}, {"outcome": "delete", "reason": "why"}, ["The only segment is deleted: why.", NOTHING]),
        ({"swapped_in": [4]}, {"bytes_lost": -9}, [f"{_name(4)} is put into place, from an unfinished swap.", NOTHING]),
        (
            {"rescanned": {0: "its index is bad"}, "rescan_cuts": {0: Cut(69, 7, "a CRC does not fit")}},
            {"outcome": "rescan", "bytes_lost": 7, "segments": [[0, 69], [10, 70]]},
            [
                f"{_name(0)} is scanned because its index is bad, and cut at byte 69 (7 bytes go): a CRC does not fit. {STAY}",
                f"7 bytes go; {NO_RECORD}",
            ],
        ),
        (
            {"rescan_cuts": {0: Cut(69, 1, "why")}},
            {"outcome": "rescan", "bytes_lost": 1, "segments": [[0, 69]]},
            [f"{_name(0)} is scanned, and cut at byte 69 (1 byte goes): why.", f"1 byte goes; {NO_RECORD}"],
        ),
        (
            {"rescanned": {0: "its index is bad"}, "scanned": [0]},
            {"outcome": "rescan"},
            [
                f"{_name(0)} is scanned because its index is bad; the index is rebuilt.",
                "1 segment is scanned, from offset 0 on, nothing is lost; the log goes from offset 0 to 10.",
            ],
        ),
        (
            {"rescanned": dict.fromkeys([0, 1, 2, 3], "its index is bad")},
            {"outcome": "rescan", "end_differs": True, "log_end": None},
            [f"{_name(0)}, {_name(1)}, {_name(2)}, ... are scanned because its index is bad; the index is rebuilt."],
        ),
        ({"split": [0, 0]}, {"outcome": "split"}, [f"{_name(0)} is split in place, because its offsets overflow.", NOTHING]),
        (
            {"split": [0]},
            {"outcome": "die", "also": ["split"], "exception": "E", "reason": "why"},
            ["The broker does not start (E): why."],
        ),
        (
            {},
            {"end_differs": True, "log_end": 4, "data_end": 7},
            [f"The log ends at offset 4, though there is data up to 6: new records get offsets 4 to 6 a second time, {OLD}"],
        ),
        ({}, {"end_differs": True, "log_end": 9, "data_end": 7}, ["The log ends at offset 9, after its data, which ends at 7."]),
        ({}, {"consumers_stop_at": 12, "damaged_batches": 1}, ["1 damaged batch stays: consumers stop at offset 12.", NOTHING]),
        (
            {},
            {"consumers_stop_at": 4, "bytes_lost": 1},
            [f"1 byte goes; {NO_RECORD}", "Bytes that are not a batch stay: consumers stop at offset 4."],
        ),
        (
            {},
            {"bytes_lost": -3, "lost_records": 9, "lost_offsets": [[0, 0], [2, 3], [5, 5], [7, 8], [9, 9], [11, 11]]},
            ["Lost for good: 9 intact records, offset 0, offsets 2 to 3, offset 5, offsets 7 to 8, 2 more ranges, 0 bytes."],
        ),
        ({}, {"bytes_lost": 3, "lost_offsets": [[0, 0]]}, ["Lost for good: 0 intact records, offset 0, 3 bytes."]),
    ],
)
def test_what_happens_is_reported_with_the_worst_first(events: Values, changes: Values, told: list[str]) -> None:
    assert list(sentences(_row(events, **changes))) == told


GONE = _file("a", "renamed", "a.deleted")


@each(
    "told, files, events",
    [
        ("Deleted: a, c.", [_file("a", "deleted"), _file("b", "truncated"), _file("c", "deleted")], {}),
        *(("Deleted: a.", [GONE], {}), (None, [_file("a", "renamed", "a.other")], {})),
        ("Deleted: b.", [GONE, _file("b", "deleted")], {"cut": {0: Cut(1, 2, "why")}}),
        *(
            (None, [GONE], {"deleted_all": [0]}),
            ("Deleted: a, b, c, d, e, f, g, h.", [_file(name, "deleted") for name in "abcdefgh"], {}),
        ),
        ("Deleted: a, b, c, d, e, f, g, h and 2 more.", [_file(name, "deleted") for name in "abcdefghij"], {}),
    ],
)
def test_files_that_go_are_named(told: str | None, files: list[Values], events: Values) -> None:
    found = [line for line in sentences(_row(events, files=files)) if line.startswith("Deleted")]
    assert found == ([] if told is None else [told])


@each(
    ("events", "changes", "told"),
    [
        *(({}, {}, "nothing is lost"), ({}, {"after": "clean"}, "nothing is lost")),
        ({"rescanned": {5: "why"}}, {"after": "clean"}, "1 segment scanned to rebuild the index; nothing is lost"),
        ({"scanned": [1234, 2000]}, {}, "scanned from offset 1,234 on; nothing is lost"),
        ({}, {"outcome": "die", "reason": "why"}, "the broker does not start: why"),
        ({}, {"end_differs": True, "log_end": 1000, "data_end": 7}, "the log ends at offset 1,000, though its data ends at 7"),
        ({}, {"bytes_lost": 5}, "no intact record is lost"),
        (
            {"cut": {0: Cut(1207, 5, "why")}, "rescan_cuts": {5: Cut(9, 5, "why")}, "scanned": [0]},
            {"lost_records": 1, "lost_offsets": [[3, 3]], "end_differs": True, "segments_gone": ["a", "b"]},
            f"scanned from offset 0 on; {_name(0)} is cut at byte 1,207; {_name(5)} is cut at byte 9; 2 segments deleted; "
            "1 intact record lost, offset 3",
        ),
        ({}, {"lost_records": 2, "lost_offsets": []}, "2 intact records lost"),
        (
            {},
            {"lost_records": 2, "lost_offsets": [[3, 4], [6, 6], [8, 8], [10, 11], [13, 13]]},
            "2 intact records lost, offsets 3 to 4, 6, 8, 10 to 11 and 1 more range",
        ),
    ],
)
def test_a_forecast_is_summed_up_in_a_line(events: Values, changes: Values, told: str) -> None:
    assert summary(_row(events, **changes)) == told


# --- the report


def _written(name: str, *directories: list[Forecast], style: ReportStyle | None = None, **run: Any) -> str:
    """What is printed of these directories, with some values of `ForecastSummary`."""
    texts: list[str] = []
    formatter = formatter_of(name, texts.append, style or ReportStyle(width=200))
    for rows in directories:
        formatter.directory(rows)
    values = {"release": "4.3.1", "asked": "4.3.1", "directories_not_examined": 0, "seconds": 1.25, "stops": set(), **run}
    found = ForecastSummary.like(Verdict(), verdict=Verdict().text, **values)
    found.asked, found.stops = values["asked"], values["stops"]
    formatter.end(found)
    return "".join(texts)


def _report(*directories: list[Forecast], style: ReportStyle | None = None, **run: Any) -> list[str]:
    lines = _written("text", *directories, style=style, **run).splitlines()
    if lines[-1].startswith("Do: "):
        command = lines.pop().removeprefix("Do: ")
        assert any(command in line for line in lines)
    verdict = next(number for number, line in enumerate(lines) if line.startswith("Verdict: "))
    said = " ".join(lines[verdict:])
    assert said == "Verdict: not examined: there is no Kafka file. Exit status 3."  # none was taken
    return lines[:verdict]


HEADING = "/data/orders-0   1 segment, 700 bytes"
SAFE_LINES = [f"       {NOTHING}"]
STOPPED = "with the broker stopped"
KEEP = f"  mkdir -p KEEP && cp -a /data/orders-0 KEEP/orders-0.damaged   # before any restart, {STOPPED}"
NOTHING_READ = "The CRCs of all batches match; records were not read: kdump check reads all."
LOST: Values = {"lost_records": 1, "lost_offsets": [[3, 3]], "bytes_lost": 69}


def test_a_safe_directory_has_its_starts_and_nothing_comes_next() -> None:
    assert _report([_row(after="clean"), _row(recovery_point=1000)]) == [
        HEADING,
        "safe   after any stop",
        *SAFE_LINES,
        f"Starts of a broker 4.3.1. {NOTHING_READ} 1.2 s.",
    ]
    scanned = _row({"scanned": [7]}, recovery_point=1000)
    assert [line for line in _report([_row(after="clean"), scanned]) if line.startswith("safe")] == [
        "safe   after a clean stop",
        "safe   after a crash with all below offset 1,000 flushed",
    ]
    starts = [_row(after="clean"), _row(recovery_point=1000)]
    assert _report(*[starts] * 5).count("safe   after any stop") == 5
    assert _report(*[starts] * 6)[0] == "safe   6 directories to which nothing happens"
    unexamined = _report([_row(after="clean")], directories_not_examined=1)  # nothing is said of CRCs
    assert unexamined[-1] == "Starts of a broker 4.3.1. 1 directory could not be examined. 1.2 s."


def test_a_replica_is_advised_only_where_no_stop_and_no_remedy_helps() -> None:
    advice = "  # with a healthy replica: move /data/orders-0 away while the broker is stopped, so that it is replicated again"
    assert advice in _report([_row(after="clean", **LOST), _row(**LOST)])
    assert advice not in _report([_row(after="clean"), _row(**LOST)])
    remedy = Remedy(Change(taken=["a.index"]), _row(after="clean"))
    assert advice not in _report([_row(after="clean", remedy=remedy, **LOST)])


@each(
    "told, then",
    [
        *(("a start after a clean stop loses nothing", {"after": "clean"}), ("a start after an unclean stop loses nothing", {})),
        *(("less is lost", {"outcome": "die"}), ("less is lost", {"outcome": "offline", "lost_records": 4})),
        ("the broker starts; 4 records and 5 bytes are lost", {"lost_records": 4, "bytes_lost": 5}),
        ("the broker starts; 1 record and 0 bytes are lost", {"lost_records": 1, "bytes_lost": -5}),
    ],
)
def test_a_remedy_is_a_command_and_what_comes_of_it(told: str, then: Values) -> None:
    remedy = Remedy(Change(taken=["a.index", "b c"], made_empty=["d"]), _row(**then))
    rows = [_row(after="clean", remedy=remedy, **LOST), _row(remedy=remedy, **LOST)]  # the same for both: told once
    lines = _report(rows)
    warning = STOPPED if told.startswith("a start") else f"last resort, {STOPPED}"
    assert [line for line in lines if ": then" in line] == [
        "  mkdir -p KEEP/orders-0.moved && mv /data/orders-0/a.index '/data/orders-0/b c' KEEP/orders-0.moved"
        f" && : > /data/orders-0/d   # {warning}: then {told}"
    ]
    assert ": then" in lines[-2]  # what changes something comes last


def test_a_log_start_offset_is_taken_out_of_its_checkpoint() -> None:
    remedy = Remedy(Change(is_without_log_start=True), _row())
    assert (
        "  # remove the line of orders-0 from log-start-offset-checkpoint, and lower the count in its second line:"
        " then a start after an unclean stop loses nothing"
    ) in _report([_row(remedy=remedy, **LOST)])
    remedy = Remedy(Change(taken=["a.index"]), _row())  # which a safe start does not need
    assert not any("mv" in line for line in _report([_row(after="clean", remedy=remedy), _row(**LOST)]))


def test_what_keeps_a_broker_from_starting_goes() -> None:
    row = _row(outcome="die", exception="E", reason="why")
    row.duplicate = "/a/orders-0"
    assert _report([row])[-2] == "  kdump log --output table /a/orders-0 /data/orders-0   # which of the two to keep"
    stray = "/data/orders-0.0123456789abcdef0123456789abcdef-stray"
    back = f"  # mv {stray} /data/orders-0   # {STOPPED}, if its topic id is that of the topic: it is served again"
    owners = "owners and modes, to fix with chown and chmod; compare with the broker's user"
    for path, is_denied, step in ((stray, False, back), ("/d-0", True, f"  ls -lna /d-0   # {owners}")):
        row = _row(path=path, conditions=["why"])
        row.is_denied = is_denied
        assert step in _report([row])
    for kind, about in ((places.PARTITION, "1 segment, 700 bytes"), ("other", "not a partition directory")):
        row = _row(outcome="die", exception="E", reason="why")
        row.kind, row.is_misnamed = kind, True
        step = f"mkdir -p KEEP && mv /data/orders-0 KEEP/orders-0   # {STOPPED}: out of the log directory"
        head, *_, last_step, _ = _report([row])
        assert (head, last_step) == (f"/data/orders-0   {about}", f"  {step}; nothing of it is lost")


def test_a_start_that_may_lose_records_is_assumed_to() -> None:
    row = _row(conditions=["if it is so"])
    assert _report([row])[1] == "unsure after a crash with nothing flushed, counted as a loss"
    assert summary(row) == "it depends, and the worse is assumed: if it is so"


def _loses(number: int) -> list[Forecast]:
    return [_row(path=f"/data/orders-{number}", **(LOST | {"lost_records": number + 1}))]


def test_the_worst_comes_first_and_what_happens_in_the_same_way_is_shown_once() -> None:
    def fails(number: int) -> list[Forecast]:
        return [_row(path=f"/data/orders-{number}", outcome="die", exception="E", reason=f"why of {number}")]

    lines = _report(_loses(9), *map(fails, range(6)))
    assert lines[: lines.index("Next") - 2] == [
        "/data/orders-0   1 segment, 700 bytes",
        "fails  after a crash with nothing flushed",
        "       The broker does not start (E): why of 0.",
        "",
        "/data/orders-1   1 segment, 700 bytes",
        "fails  after a crash with nothing flushed",
        "       The broker does not start (E): why of 1.",
        "",
        "fails  4 more directories likewise:",
        "       /data/orders-2",
        "       /data/orders-3",
        "       and 2 more; --output ndjson lists each",
        "",
        "/data/orders-9   1 segment, 700 bytes",
        "loss   after a crash with nothing flushed",
        "       Lost for good: 10 intact records, offset 3, 69 bytes.",
    ]


@each(
    "told, run",
    [
        ("3.9.1, the known release nearest to 3.9.0. ", {"asked": "3.9.0", "release": "3.9.1"}),
        ("4.3.1. It was stopped cleanly: .kafka_cleanshutdown is there. ", {"stops": {True}}),
        ("4.3.1. There is no .kafka_cleanshutdown: it is running, or its stop was unclean. ", {"stops": {False}}),
        (
            "4.3.1. Some of the log directories have .kafka_cleanshutdown and others do not: each starts as after its own stop. ",
            {"stops": {True, False}},
        ),
        ("4.3.1. 2 directories could not be examined. 1.2 s.", {"directories_not_examined": 2}),
    ],
)
def test_the_last_lines_say_what_was_asked_and_assumed(told: str, run: Values) -> None:
    lines = _report([_row()], **run)
    assert " ".join(lines[3:]).startswith(f"Starts of a broker {told}")
    assert lines[-1].endswith("1.2 s.")


def test_nothing_of_a_file_drives_a_terminal_now_or_later() -> None:
    row = _row(path="/data/a\x1b-0", outcome="die", exception="E", reason="a\x1bb")
    for is_terminal in (True, False):
        lines = _report([row], style=ReportStyle(width=200, is_terminal=is_terminal))
        assert any("a\\x1bb" in line for line in lines)
        assert "\x1b" not in "".join(lines)


# --- rows


def test_a_table_shows_the_class_of_an_exception_and_what_is_assumed() -> None:
    rows = [
        _row(outcome="die", exception="java.lang.IllegalStateException", recovery_point_is_assumed=True, log_end=None),
        _row(**LOST, segments_gone=[_name(0), _name(5)], consumers_stop_at=7),
    ]
    lines = _written("table", rows, style=ReportStyle(width=250)).splitlines()
    assert [" ".join(line.split()) for line in lines if "unclean" in line] == [
        "unclean 0 (assumed) die - 10 False 0 0 - 0 IllegalStateException",
        "unclean 0 keep 10 10 False 69 1 7 2 -",
    ]
