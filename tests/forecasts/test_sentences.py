"""What is said of a start: each sentence, what it comes to in a line, and the stop before it."""

from typing import Any

from kdump.forecasts.events import Events
from kdump.forecasts.known_end import KnownEnd
from kdump.forecasts.recovery import Cut
from kdump.forecasts.row import Forecast, Remedy
from kdump.forecasts.sentences import sentences, stop, summary
from tests.loops import each

Values = dict[str, Any]  # of columns of several types

SOUND: Values = {"path": "/data/orders-0", "release": "4.3.1", "after": "unclean"}
SOUND |= {"recovery_point": 0, "recovery_point_is_assumed": False, "outcome": "keep", "also": [], "log_start": 0, "log_end": 10}
SOUND |= {"data_end": 10, "end_differs": False, "bytes_lost": 0, "lost_offsets": [], "lost_records": 0, "damaged_batches": 0}
SOUND |= {"consumers_stop_at": None, "segments": [[0, 700]], "segments_gone": [], "files": [], "exception": None, "reason": None}
SOUND |= {"conditions": []}  # in the order of the columns


def row_of(events: Values | None = None, *, remedy: Remedy | None = None, **changes: Any) -> Forecast:  # of several types
    row = Forecast(*(SOUND | {name: value for name, value in changes.items() if name in SOUND}).values())
    row.events = Events()
    for name, value in changes.items():
        setattr(row, name, value)
    for name, value in (events or {}).items():
        setattr(row.events, name, value)
    row.remedy = remedy
    row.is_doubtful = bool(row.conditions)
    row.segments_before, row.size_before = 1, 700
    return row


def log_name(base_offset: int) -> str:
    return f"{base_offset:020}.log"


def _file(name: str, change: str, new_name: str | None = None) -> Values:
    return {"name": name, "change": change, "newName": new_name, "sizeBefore": 1, "sizeAfter": None}


NOTHING = "Nothing is scanned, nothing is lost; the log goes from offset 0 to 10."
WHOLE = "nothing is lost; the log goes from offset 0 to 10."
ONE_BYTE = "1 byte goes; no intact record is among them."
FAILS, STOPS = "The broker does not start (E): why.", {"consumers_stop_at": 5}
NOT_UNDONE = "What happens to files before that is not undone:"
OFFLINE = "The log directory goes offline, and with it the broker if it has no other: why."
STAY = "Later segments stay; a gap in the offsets may remain."
ONLY_UNSERVED = "The broker starts, and serves no replica of the log directory, and perhaps not all others"
RENAMED = "The broker renames the directory to -stray and does not serve it; if the partition is its own, it starts out empty"
NEVER_WRITTEN, AND_NOT_SERVED = "Nothing is lost: nothing was ever written to it.", "and does not serve its log."
OF_SEARCH = "look like headers of batches and are none, so the search among them was cut short: more intact records may be lost."
OLD = "and the old records there can no longer be fetched reliably."
DIES, GOES_OFFLINE = ({"outcome": word, "exception": "java.lang.E", "reason": "why"} for word in ("die", "offline"))
STRAY, NEVER, MORE = {"outcome": "stray", "reason": "why"}, {"was_never_written": True}, {"losses_may_be_more": True}
L0, L5, L7, L10 = map(log_name, (0, 5, 7, 10))
CUT: Values = {"cut": {0: Cut(207, 1234, "a CRC does not fit")}, "deleted_behind_cut": [10]}
WIPED: Values = {"cut": {0: Cut(0, 1, "why")}, "wiped": {0: "odd"}, "deleted_behind_cut": [5, 6, 7]}
BEHIND, REBUILT = "All later segments are deleted:", "because its index is bad; the index is rebuilt."
OF_ONE = "whose offsets other batches also have, 0 bytes."
BAD_INDEX: Values = {"rescanned": {0: "its index is bad"}}
RANGES = {"bytes_lost": -3, "lost_records": 9, "lost_offsets": [[0, 0], [2, 3], [5, 5], [7, 8], [9, 9], [11, 11]]}


@each(
    "events, changes, told",
    [
        *(({}, {}, [NOTHING]), ({"rescanned": {5: "why"}}, {}, [f"Nothing else is scanned, {WHOLE}"])),
        ({"scanned": [7]}, {"log_end": 12_345}, [f"1 segment is scanned, from offset 7 on, {WHOLE[:-3]}12,345."]),
        ({}, {"log_start": 1003}, [NOTHING.replace("offset 0", "offset 1,003")]),
        ({"scanned": [7, 9]}, {}, [f"2 segments are scanned, from offset 7 on, {WHOLE}"]),
        ({}, {"log_end": None}, ["Nothing is lost; the directory is waiting to be deleted."]),
        ({}, {"log_end": None, "path": "t-0.a-stray"}, [f"Nothing is lost; a broker set the directory aside, {AND_NOT_SERVED}"]),
        *(({}, DIES, [FAILS]), ({}, DIES | {"bytes_lost": 1}, [FAILS, NOT_UNDONE, ONE_BYTE])),
        *(({}, GOES_OFFLINE | {"segments_gone": [L0]}, [OFFLINE, NOT_UNDONE]), ({}, GOES_OFFLINE | STOPS, [OFFLINE])),
        ({}, GOES_OFFLINE | {"is_only_unserved": True}, [f"{ONLY_UNSERVED}: why."]),
        *(({}, STRAY | more, [f"{RENAMED}: why.", *told]) for more, told in (({}, []), (NEVER, [NEVER_WRITTEN]))),
        (
            *(CUT, {"outcome": "cut", "lost_records": 2, "bytes_lost": 1234, "lost_offsets": [[3, 4]], "segments_gone": [L10]}),
            [
                *(f"{L0} is cut at byte 207 (1,234 bytes go): a CRC does not fit.", f"{BEHIND} 1 segment, {L10}."),
                "Lost for good: 2 intact records, offsets 3 to 4, 1,234 bytes.",
            ],
        ),
        (
            *(WIPED, {"outcome": "wipe", "bytes_lost": 1}),
            [f"{L0} is emptied, down to byte 0: odd.", f"{BEHIND} 3 segments, {L5} to {L7}.", ONE_BYTE],
        ),
        (
            *({"deleted_all": [0, 5]}, {"outcome": "delete", "reason": "why", "segments_gone": [L0, L5], "lost_records": 1}),
            ["All 2 segments are deleted: why.", f"Lost for good: 1 intact record, {OF_ONE}"],
        ),
        ({"deleted_all": [5]}, {"outcome": "delete", "reason": "why"}, ["The only segment is deleted: why.", NOTHING]),
        ({"swapped_in": [5]}, {"bytes_lost": -9}, [f"{L5} is put into place, from an unfinished swap.", NOTHING]),
        (
            *(BAD_INDEX | {"rescan_cuts": {0: Cut(69, 7, "odd")}}, {"bytes_lost": 7, "segments": [[0, 69], [10, 70]]}),
            [
                f"{L0} is scanned because its index is bad, and cut at byte 69 (7 bytes go): odd. {STAY}",
                f"7 bytes go{ONE_BYTE[11:]}",
            ],
        ),
        (
            *({"rescan_cuts": {0: Cut(69, 1, "why")}}, {"bytes_lost": 1, "segments": [[0, 69]]}),
            [f"{L0} is scanned, and cut at byte 69 (1 byte goes): why.", ONE_BYTE],
        ),
        (
            *(BAD_INDEX | {"scanned": [0]}, {"outcome": "rescan"}),
            [f"{L0} is scanned {REBUILT}", f"1 segment is scanned, from offset 0 on, {WHOLE}"],
        ),
        (
            {"rescanned": dict.fromkeys([0, 5, 7, 10], "its index is bad")},
            {"outcome": "rescan", "end_differs": True, "log_end": None},
            [f"{L0}, {L5}, {L7}, ... are scanned {REBUILT}"],
        ),
        ({"split": [0, 0]}, {"outcome": "split"}, [f"{L0} is split in place, because its offsets overflow.", NOTHING]),
        ({"split": [0, 5]}, {"outcome": "split"}, [f"{L0}, {L5} are split in place, because their offsets overflow.", NOTHING]),
        ({"split": [0]}, DIES | {"also": ["split"]}, [FAILS]),
        (
            *({}, {"end_differs": True, "log_end": 4, "data_end": 7}),
            [f"The log ends at offset 4, though there is data up to 6: new records get offsets 4 to 6 a second time, {OLD}"],
        ),
        ({}, {"end_differs": True, "log_end": 9, "data_end": 7}, ["The log ends at offset 9, after its data, which ends at 7."]),
        ({}, {"consumers_stop_at": 12, "damaged_batches": 1}, ["1 damaged batch stays: consumers stop at offset 12.", NOTHING]),
        (
            {},
            {"consumers_stop_at": 4, "bytes_lost": 1},
            [ONE_BYTE, "Bytes that are not a batch stay: consumers stop at offset 4."],
        ),
        (
            {},
            RANGES,
            ["Lost for good: 9 intact records, offset 0, offsets 2 to 3, offset 5, offsets 7 to 8, 2 more ranges, 0 bytes."],
        ),
        ({}, {"conditions": ["it is odd", "no"]}, ["It is odd.", "No."]),
        ({}, {"bytes_lost": 1} | MORE, [f"1 byte goes. Too many of them {OF_SEARCH}"]),
        ({}, {"bytes_lost": 3, "lost_offsets": [[0, 0]]}, ["Lost for good: 0 intact records, offset 0, 3 bytes."]),
    ],
)
def test_what_happens_is_reported_with_the_worst_first(events: Values, changes: Values, told: list[str]) -> None:
    assert list(sentences(row_of(events, **changes))) == told


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
    found = [line for line in sentences(row_of(events, files=files)) if line.startswith("Deleted")]
    assert found == ([] if told is None else [told])


BOTH_CUT: Values = {"cut": {0: Cut(1207, 5, "why")}, "rescan_cuts": {5: Cut(9, 5, "why")}, "scanned": [0]}
ONE_LOST = {"lost_records": 1, "lost_offsets": [[3, 3]], "end_differs": True, "segments_gone": ["a", "b"]}
TWO_LOST = {"lost_records": 2, "lost_offsets": [[3, 4], [6, 6], [8, 8], [10, 11], [13, 13]]}
OF_BOTH = f"{L0} is cut at byte 1,207; {L5} is cut at byte 9; 2 segments deleted; 1 intact record lost, offset 3"


@each(
    ("events", "changes", "told"),
    [
        *(({}, {}, "nothing is lost"), ({}, {"after": "clean"}, "nothing is lost")),
        ({"rescanned": {5: "why"}}, {"after": "clean"}, "1 segment scanned to rebuild the index; nothing is lost"),
        ({"scanned": [1234, 2000]}, {}, "scanned from offset 1,234 on; nothing is lost"),
        *(({}, DIES, "the broker does not start: why"), ({}, GOES_OFFLINE, "the broker does not start: why")),
        ({}, {"end_differs": True, "log_end": 1000, "data_end": 7}, "the log ends at offset 1,000, though its data ends at 7"),
        *(({}, {"bytes_lost": 5}, "no intact record is lost"), ({}, {"bytes_lost": 5} | MORE, "intact records may be lost")),
        ({}, {"conditions": ["if it is so"]}, "it depends, and the worse is assumed: if it is so"),
        ({}, {"consumers_stop_at": 1234}, "nothing is lost; damage stays: consumers stop at offset 1,234"),
        ({}, {"is_of_metadata": True}, "nothing is lost; records are not replayed"),
        ({}, GOES_OFFLINE | {"is_only_unserved": True}, "no replica of the log directory is served: why"),
        ({}, STRAY, "the directory is marked -stray, and its log is not served: why"),
        ({}, STRAY | NEVER, "the directory is marked -stray; nothing was ever written to it: why"),
        (BOTH_CUT, ONE_LOST, f"scanned from offset 0 on; {OF_BOTH}"),
        ({}, {"lost_records": 2, "lost_offsets": []}, "2 intact records lost"),
        ({}, TWO_LOST, "2 intact records lost, offsets 3 to 4, 6, 8, 10 to 11 and 1 more range"),
    ],
)
def test_a_forecast_is_summed_up_in_a_line(events: Values, changes: Values, told: str) -> None:
    assert summary(row_of(events, **changes)) == told


def test_a_stop_is_named_with_what_was_flushed_and_a_short_log_with_what_is_missing() -> None:
    for after, is_assumed, points, told in (
        *(("clean", True, [0], "a clean stop"), ("unclean", False, [0], "a crash with nothing flushed")),
        ("unclean", False, [1005], "a crash with all below offset 1,005 flushed"),
        ("unclean", True, [5], "a crash with all flushed (no checkpoint here)"),
        ("unclean", True, [0, 5], "a crash, whatever was flushed (no checkpoint here)"),
    ):
        rows = [row_of(after=after, recovery_point=point, recovery_point_is_assumed=is_assumed) for point in points]
        assert stop(rows) == told
    for end, gone in (
        (9, "offsets 9 to 11, now in no intact batch here, go"),
        (11, "offset 11, now in no intact batch here, goes"),
    ):
        said = f"the log ends at offset {end}, but it once ended at 12: {gone} to new records a second time"
        row = row_of(log_end=end, data_end=end, known_end=KnownEnd(12, "it once ended at 12"))
        assert [*sentences(row), summary(row)] == [f"T{said[1:]}.", said]
