"""The text of forecasts: the verdict before their sentences, and what to do instead."""

from typing import Any

from kdump.forecasts import places
from kdump.forecasts.row import Change, Forecast, Remedy
from kdump.output.forecast import formatter_of
from kdump.output.rows.forecast_summary import ForecastSummary
from kdump.output.text.style import ReportStyle
from kdump.verdicts.verdict import Verdict
from tests.forecasts.test_sentences import NOTHING, Values, log_name, row_of
from tests.loops import each


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
    assert _report([row_of(after="clean"), row_of(recovery_point=1000)]) == [
        HEADING,
        "safe   after any stop",
        *SAFE_LINES,
        f"Starts of a broker 4.3.1. {NOTHING_READ} 1.2 s.",
    ]
    scanned = row_of({"scanned": [7]}, recovery_point=1000)
    assert [line for line in _report([row_of(after="clean"), scanned]) if line.startswith("safe")] == [
        "safe   after a clean stop",
        "safe   after a crash with all below offset 1,000 flushed",
    ]
    starts = [row_of(after="clean"), row_of(recovery_point=1000)]
    assert _report(*[starts] * 5).count("safe   after any stop") == 5
    assert _report(*[starts] * 6)[0] == "safe   6 directories to which nothing happens"
    unexamined = _report([row_of(after="clean")], directories_not_examined=1)  # nothing is said of CRCs
    assert unexamined[-1] == "Starts of a broker 4.3.1. 1 directory could not be examined. 1.2 s."


def test_a_replica_is_advised_only_where_no_stop_and_no_remedy_helps() -> None:
    advice = "  # with a healthy replica: move /data/orders-0 away while the broker is stopped, so that it is replicated again"
    assert advice in _report([row_of(after="clean", **LOST), row_of(**LOST)])
    assert advice not in _report([row_of(after="clean"), row_of(**LOST)])
    remedy = Remedy(Change(taken=["a.index"]), row_of(after="clean"))
    assert advice not in _report([row_of(after="clean", remedy=remedy, **LOST)])


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
    remedy = Remedy(Change(taken=["a.index", "b c"], made_empty=["d"]), row_of(**then))
    rows = [row_of(after="clean", remedy=remedy, **LOST), row_of(remedy=remedy, **LOST)]  # the same for both: told once
    lines = _report(rows)
    warning = STOPPED if told.startswith("a start") else f"last resort, {STOPPED}"
    assert [line for line in lines if ": then" in line] == [
        "  mkdir -p KEEP/orders-0.moved && mv /data/orders-0/a.index '/data/orders-0/b c' KEEP/orders-0.moved"
        f" && : > /data/orders-0/d   # {warning}: then {told}"
    ]
    assert ": then" in lines[-2]  # what changes something comes last


def test_a_log_start_offset_is_taken_out_of_its_checkpoint() -> None:
    remedy = Remedy(Change(is_without_log_start=True), row_of())
    assert (
        "  # remove the line of orders-0 from log-start-offset-checkpoint, and lower the count in its second line:"
        " then a start after an unclean stop loses nothing"
    ) in _report([row_of(remedy=remedy, **LOST)])
    remedy = Remedy(Change(taken=["a.index"]), row_of())  # which a safe start does not need
    assert not any("mv" in line for line in _report([row_of(after="clean", remedy=remedy), row_of(**LOST)]))


def test_what_keeps_a_broker_from_starting_goes() -> None:
    row = row_of(outcome="die", exception="E", reason="why")
    row.duplicate = "/a/orders-0"
    assert _report([row])[-2] == "  kdump log --output table /a/orders-0 /data/orders-0   # which of the two to keep"
    stray = "/data/orders-0.0123456789abcdef0123456789abcdef-stray"
    back = f"  # mv {stray} /data/orders-0   # {STOPPED}, if its topic id is that of the topic: it is served again"
    owners = "owners and modes, to fix with chown and chmod; compare with the broker's user"
    for path, is_denied, step in ((stray, False, back), ("/d-0", True, f"  ls -lna /d-0   # {owners}")):
        row = row_of(path=path, conditions=["why"])
        row.is_denied = is_denied
        assert step in _report([row])
    for kind, about in ((places.PARTITION, "1 segment, 700 bytes"), ("other", "not a partition directory")):
        row = row_of(outcome="die", exception="E", reason="why")
        row.kind, row.is_misnamed = kind, True
        step = f"mkdir -p KEEP && mv /data/orders-0 KEEP/orders-0   # {STOPPED}: out of the log directory"
        head, *_, last_step, _ = _report([row])
        assert (head, last_step) == (f"/data/orders-0   {about}", f"  {step}; nothing of it is lost")


def test_a_start_that_may_lose_records_is_assumed_to() -> None:
    row = row_of(conditions=["if it is so"])
    assert _report([row])[1] == "unsure after a crash with nothing flushed, counted as a loss"


def _loses(number: int) -> list[Forecast]:
    return [row_of(path=f"/data/orders-{number}", **(LOST | {"lost_records": number + 1}))]


def test_the_worst_comes_first_and_what_happens_in_the_same_way_is_shown_once() -> None:
    def fails(number: int) -> list[Forecast]:
        return [row_of(path=f"/data/orders-{number}", outcome="die", exception="E", reason=f"why of {number}")]

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
    lines = _report([row_of()], **run)
    assert " ".join(lines[3:]).startswith(f"Starts of a broker {told}")
    assert lines[-1].endswith("1.2 s.")


def test_nothing_of_a_file_drives_a_terminal_now_or_later() -> None:
    row = row_of(path="/data/a\x1b-0", outcome="die", exception="E", reason="a\x1bb")
    for is_terminal in (True, False):
        lines = _report([row], style=ReportStyle(width=200, is_terminal=is_terminal))
        assert any("a\\x1bb" in line for line in lines)
        assert "\x1b" not in "".join(lines)


# --- rows


def test_a_table_shows_the_class_of_an_exception_and_what_is_assumed() -> None:
    rows = [
        row_of(outcome="die", exception="java.lang.IllegalStateException", recovery_point_is_assumed=True, log_end=None),
        row_of(**LOST, segments_gone=[log_name(0), log_name(5)], consumers_stop_at=7),
    ]
    lines = _written("table", rows, style=ReportStyle(width=250)).splitlines()
    assert [" ".join(line.split()) for line in lines if "unclean" in line] == [
        "unclean 0 (assumed) die - 10 False 0 0 - 0 IllegalStateException",
        "unclean 0 keep 10 10 False 69 1 7 2 -",
    ]
