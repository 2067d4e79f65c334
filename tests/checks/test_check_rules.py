"""What checks say of offsets, leader epochs, timestamps and records: on one side of each limit a finding, on the other none."""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kdump.checks import wording
from tests.builders.compression import Codec
from tests.builders.records import TIMESTAMP, batch, record
from tests.checks.faults.case import NOW
from tests.checks.findings import LOG, codes_of, findings_of, of_log, told
from tests.loops import each

pytestmark = pytest.mark.usefixtures("window")

DAY = 24 * 3600 * 1000


def _batch(offset: int, *, value: bytes = b"value", epoch: int = 0, at: int = TIMESTAMP) -> bytes:
    return batch(records=[record(key=b"key", value=value, timestamp=at)], base_offset=offset, partition_leader_epoch=epoch)


SIZE = len(_batch(0))


@each(
    ("milliseconds", "text"),
    [
        *((0, "0 ms"), (1999, "1,999 ms"), (2000, "2 seconds"), (119_999, "119 seconds"), (120_000, "2 minutes")),
        *((7_199_999, "119 minutes"), (7_200_000, "2 hours"), (2 * DAY - 1, "47 hours"), (2 * DAY, "2 days")),
        (9999 * DAY, "9,999 days"),
    ],
)
def test_a_span_of_time_is_written_in_the_largest_unit_of_which_there_are_two(milliseconds: int, text: str) -> None:
    assert wording.duration(milliseconds) == text


def _aged(tmp_path: Path, data: bytes, age_ms: int = 30 * DAY) -> Path:
    """A log that was last written to so long before NOW."""
    path = tmp_path / LOG
    path.write_bytes(data)
    os.utime(path, ns=((NOW - age_ms) * 1_000_000,) * 2)
    return path


@each(("ahead", "codes"), [(DAY - 1, []), (DAY, []), (DAY + 1, ["timestamp-future"])])
@each("age_ms", [30 * DAY, -3 * DAY])  # a file that was written later than now moves what is the future
def test_a_clock_may_be_a_day_ahead(tmp_path: Path, age_ms: int, ahead: int, codes: list[str]) -> None:
    latest = NOW + max(-age_ms, 0) + ahead
    for number, times in enumerate([(latest,), (TIMESTAMP, latest)]):
        data = b"".join(_batch(offset, at=at) for offset, at in enumerate(times))
        expected = [(code, "warning", number * SIZE, (number + 1) * SIZE) for code in codes]
        found = findings_of(_aged(tmp_path, data, age_ms))
        assert [(one.code, one.severity, one.start, one.end) for one in found] == expected


@each(
    ("at", "code", "severity"),
    [
        *((-2, "timestamp-negative", "warning"), (-1, None, ""), (0, "timestamp-unit-suspect", "warning")),
        *((31 * DAY - 1, "timestamp-unit-suspect", "warning"), (31 * DAY, None, "")),
    ],
)
def test_timestamps_that_no_record_can_have_are_reported(tmp_path: Path, at: int, code: str | None, severity: str) -> None:
    found = findings_of(_aged(tmp_path, _batch(0) + batch(records=[record(value=b"v")], base_offset=1, max_timestamp=at)))
    expected = [(code, severity, SIZE, SIZE + 69)] if code else []
    assert [(one.code, one.severity, one.start, one.end) for one in found] == expected


@each(
    ("at", "unit"),
    [
        (946_684_799, "is hardly that of an event"),
        *((at, "looks like seconds instead of milliseconds") for at in (946_684_800, 2_678_399_999)),
        *((at * 10**6, "looks like microseconds instead of milliseconds") for at in (946_684_800, 4_102_444_800)),
        *((at * 10**9, "looks like nanoseconds instead of milliseconds") for at in (946_684_800, 4_102_444_800)),
    ],
)
def test_the_unit_is_guessed_by_the_year_that_comes_out(tmp_path: Path, at: int, unit: str) -> None:
    (found,) = findings_of(_aged(tmp_path, _batch(0, at=at)), "timestamp-unit-suspect")
    assert found.message.partition(": ")[0].partition(";")[0] == f"maxTimestamp of 1 batch {unit}"


@each("at", [95_617_584_000_000 - 1, 4_102_444_800 * 10**6 + 1, 946_684_800 * 10**9 - 1, 4_102_444_800 * 10**9 + 1])
def test_a_time_of_no_unit_is_only_one_in_the_future(tmp_path: Path, at: int) -> None:
    assert codes_of(findings_of(_aged(tmp_path, _batch(0, at=at)))) == ["timestamp-future"]


def test_steps_back_in_time_are_counted_and_the_largest_is_named(tmp_path: Path) -> None:
    times = [TIMESTAMP, TIMESTAMP - 1, TIMESTAMP - 1, TIMESTAMP + 5000, TIMESTAMP + 1000, -1, TIMESTAMP + 999]
    data = b"".join(_batch(offset, at=at) for offset, at in enumerate(times))
    (found,) = of_log(tmp_path, data, is_pedantic=True)
    assert told([found]) == [("timestamp-out-of-order", "info", SIZE, 2 * SIZE, (1, 1))]
    assert found.message == "maxTimestamp goes back in 3 batches, at worst by 4 seconds; the first is here."


@each(
    ("horizon", "what"),
    [
        *((NOW + 3653 * DAY + 1, "is more than ten years ahead"), (NOW + 3653 * DAY, "")),
        *((TIMESTAMP, ""), (TIMESTAMP - 1, "is before the batch was written")),
        *((0, "is before the batch was written"), (-1, "is before the batch was written")),
    ],
)
def test_a_delete_horizon_lies_between_the_batch_and_ten_years_from_now(tmp_path: Path, horizon: int, what: str) -> None:
    data = batch(records=[record(value=b"v")], delete_horizon_ms=horizon, max_timestamp=TIMESTAMP if horizon >= 0 else 2 * NOW)
    found = [one for one in of_log(tmp_path, data) if one.code == "delete-horizon-odd"]
    assert [one.message.partition(";")[0] for one in found] == [f"The delete horizon of 1 batch {what}"] * bool(what)
    assert [one.severity for one in found] == ["info"] * bool(what)


@each(
    ("base", "delta", "codes"),
    [
        *(((1 << 63) - 1, 0, []), ((1 << 62), (1 << 62) - 1, []), ((1 << 62), (1 << 62), ["timestamp-overflow"])),
        *((-(1 << 62), -(1 << 62), []), (-(1 << 62), -(1 << 62) - 1, ["timestamp-overflow"])),
    ],
)
def test_a_timestamp_overflows_beyond_64_bits(tmp_path: Path, base: int, delta: int, codes: list[str]) -> None:
    for records in ([record(timestamp_delta=delta)], [record(timestamp_delta=0), record(timestamp_delta=delta)]):
        data = batch(records=records, base_timestamp=base, max_timestamp=TIMESTAMP)
        found = [one for one in of_log(tmp_path, data, level="deep") if one.code == "timestamp-overflow"]
        wrapped = (base + delta + (1 << 63)) % (1 << 64) - (1 << 63)
        one = (len(records) - 1, str(base + delta), str(wrapped))
        assert codes_of(found) == codes
        assert [(one.offset_first, one.expected, one.found) for one in found] == [one] * len(codes)


def _log(*offsets: int, **fields: int) -> bytes:
    return b"".join(_batch(offset, **fields) for offset in offsets)  # type: ignore[arg-type]  # of an epoch or a time


def _epochs(*epochs: int) -> bytes:
    return b"".join(_batch(offset, epoch=epoch) for offset, epoch in enumerate(epochs))


def _wide(offset: int, count: int, last: int | None = None, **fields: object) -> bytes:
    """A batch of `count` records over offsets up to the last one."""
    records = [record(value=b"%d" % row) for row in range(count)]
    delta = count - 1 if last is None else last - offset
    return batch(records=records, base_offset=offset, last_offset_delta=delta, **fields)  # type: ignore[arg-type]


def test_offsets_are_neither_negative_nor_beyond_63_bits(tmp_path: Path) -> None:
    top = (1 << 63) - 1
    assert "offset-negative" not in codes_of(of_log(tmp_path, _log(top), base=top))
    found = of_log(tmp_path, _log(0) + _log(-1) + _log(1))
    assert told(found) == [("offset-negative", "error", SIZE, 2 * SIZE, (-1, -1))]
    assert found[0].found == "0xffffffffffffffff"
    (one,) = (one for one in of_log(tmp_path, _wide(top, 2), base=top) if one.code == "offset-negative")
    assert (one.found, one.offset_first, one.offset_last) == ("0x7fffffffffffffff", top, top)
    (one,) = (one for one in of_log(tmp_path, _log(0), _wide((1 << 31) - 1, 2)) if one.code == "offset-overflow-int32")
    assert (one.found, "Offset 2,147,483,648 is 2,147,483,648 above" in one.message) == (str(1 << 31), True)


OUT_OF_LINE = [
    (("uncovered-header-rot", 2, "2", "900", "; 2 would fit. "), (0, 1, 900, 3, 4)),
    (("uncovered-header-rot", 2, "2", "900", "; 2 would fit, or more. "), (0, 1, 900, 4, 5)),
    (("uncovered-header-rot", 2, "6", "3", "; 6 would fit. "), (4, 5, 3, 7, 8)),
    (("uncovered-header-rot", 0, "4", "900", "; 4 would fit. "), (900, 5, 6)),
    (("uncovered-header-rot", 0, "6", "900", "; 6 would fit, or more. "), (900, 7, 8)),
    (("batch-foreign-topic-hint", 2, None, None, "Offsets 900 to 900 stand between 5 and 6. "), (4, 5, 900, 6, 7)),
]
EPOCHS_OUT_OF_LINE = [
    (("uncovered-header-rot", 2, "3", "19", "; 3 would fit. "), (3, 3, 19, 3, 3)),
    (("uncovered-header-rot", 2, "3", "1", "; 3 would fit. "), (3, 3, 1, 3, 3)),
    (("uncovered-header-rot", 2, "3", "1", "; 3 would fit, or more. "), (3, 3, 1, 4, 4)),
    (("uncovered-header-rot", 2, "3", "19", "; 3 would fit, or more. "), (3, 3, 19, 18, 18)),
    (("leader-epoch-regression", 2, "5", "3", "Leader epoch 3 at offset 2 follows epoch 5."), (5, 5, 3, 3)),
    (("leader-epoch-regression", 2, "5", "4", "Leader epoch 4 at offset 2 follows epoch 5."), (5, 5, 4)),
    (("leader-epoch-negative", 2, None, "-2", "The leader epoch is -2; only -1 (none) may be negative."), (0, 0, -2, 0)),
]


@each(
    ("said", "offsets", "epochs"),
    [
        *((said, offsets, (0,) * 5) for said, offsets in OUT_OF_LINE),
        *((said, range(9), epochs) for said, epochs in EPOCHS_OUT_OF_LINE),
    ],
)
def test_one_batch_out_of_line_is_seen_by_those_around_it(tmp_path: Path, said: Any, offsets: Any, epochs: Any) -> None:
    code, row, expected, value, words = said
    log = [_batch(offset, epoch=epoch) for offset, epoch in zip(offsets, epochs, strict=False)]
    (found,) = of_log(tmp_path, *log, base=0 if offsets[0] == 0 else 4)
    assert (found.code, found.severity, found.start, found.end) == (code, "error", row * SIZE, (row + 1) * SIZE)
    at = offsets[row]
    assert (found.offset_first, found.offset_last, found.expected, found.found) == (at, at, expected, value)
    assert words in found.message


@each("offsets", [(0, 1, 5, 6), (0, 2, 3), (0, 4, 5, 9, 10), (0, 3, 4, 6, 7, 8), (2, 3, 40, 41, 42, 60, 61, 63)], ids=str)
def test_gaps_are_one_finding_if_the_cleaner_may_have_been_there(tmp_path: Path, offsets: tuple[int, ...]) -> None:
    gaps = [(row, before + 1, after - 1) for row, (before, after) in enumerate(pairwise(offsets)) if after > before + 1]
    places = [("offset-gap", "error", row * SIZE, (row + 2) * SIZE, (first, last)) for row, first, last in gaps]
    found = of_log(tmp_path, _log(*offsets), base=offsets[0], cleanup_policy="delete")
    assert told(found) == places
    for one, (_, first, last) in zip(found, gaps, strict=True):
        gap = f"{last - first + 1} are missing, offsets {first} to {last}" if first < last else f"offset {first} is missing"
        assert one.message.startswith(f"Offset {first - 1} is followed by {last + 1}: {gap}, though ")
        assert (one.expected, one.found) == (str(first), str(last + 1))
    (one,) = of_log(tmp_path, _log(*offsets), base=offsets[0])
    first, last, missing = gaps[0][1], gaps[-1][2], sum(last - first + 1 for _, first, last in gaps)
    assert told([one]) == [("offset-gap", "info", places[0][2], places[-1][3], (first, last))]
    words = f"{len(gaps)} gap{'s' * (len(gaps) > 1)} between {first} and {last}; {missing} offset"
    assert one.message.startswith(f"{words}{'s are' if missing > 1 else ' is'} missing. ")


def test_batches_without_epoch_among_others_are_one_finding(tmp_path: Path) -> None:
    (found,) = of_log(tmp_path, _epochs(-1, 2, 2, -1, 2, -1, -1, 2))
    assert told([found]) == [("leader-epoch-negative", "info", 3 * SIZE, 7 * SIZE, (None, None))]
    assert (found.found, found.message) == ("3", "3 batches without a leader epoch among others that have one.")


def test_what_follows_a_stray_batch_without_offsets_is_judged_by_the_last_good_one(tmp_path: Path) -> None:
    found = of_log(tmp_path, _log(17, 18, 19) + _wide(5, 1, last=2) + _log(6, 7))
    assert codes_of(found) == ["last-offset-delta-negative", "offset-regression"]


def test_an_offset_that_is_there_before_damage_comes_again_after_it(tmp_path: Path) -> None:
    for first, codes in ((2, []), (3, []), (1, ["offset-duplicate"]), (0, ["offset-duplicate"])):
        again = batch(records=[record(value=b"another")] * 3, base_offset=first)
        found = of_log(tmp_path, _log(0, 1), _log(2)[:-1] + b"?", again)
        assert [one.code for one in found if one.code != "crc-mismatch"] == codes
    (found_again,) = of_log(tmp_path, _log(*range(5)), _wide(5, 3), _wide(4, 2), _log(8))
    assert (found_again.code, found_again.expected, found_again.found) == ("offset-duplicate", "8", "4")
    assert found_again.message.startswith("Offsets 5 to 5 are in this batch and in the one before, at byte ")


def test_a_batch_without_epoch_says_nothing_of_one_that_was_found(tmp_path: Path) -> None:
    found = of_log(tmp_path, _epochs(3), b"no batch " * 20, _batch(5, epoch=3), _batch(6, epoch=-1))
    assert [(one.code, one.severity) for one in found] == [("garbage-region", "error"), ("leader-epoch-negative", "info")]


ORDER = "record-offset-order"


@each(
    ("deltas", "last", "said"),
    [
        ((0, 1, 2), 2, []),
        ((0, 2), 2, []),
        ((0, 0, 2), 2, [(ORDER, "10", "1 record out of order in the batch of offsets 10 to 12; the first has")]),
        ((0, 2, 1, 1), 3, [(ORDER, "11", "2 records out of order in the batch of offsets 10 to 13; the first has")]),
        ((-1, 1), 1, [(ORDER, "9", "1 record out of order in the batch of offsets 10 to 11; the first has")]),
        (
            (0, 3),
            1,
            [
                (ORDER, "13", "1 record out of order in the batch of offsets 10 to 11; the first has"),
                ("last-offset-delta-mismatch", "1", "The last offset of the batch is 11, but a record has 13."),
            ],
        ),
    ],
)
@each("codec", ["none", "gzip"])
def test_records_of_a_batch_ascend_within_its_offsets(
    tmp_path: Path, deltas: tuple[int, ...], last: int, said: list[tuple[str, str, str]], codec: Codec
) -> None:
    front = _wide(8, 2)
    records = [record(offset_delta=delta) for delta in deltas]
    data = batch(records=records, base_offset=10, last_offset_delta=last, codec=codec)
    rest = _wide(10 + last + 1, 2)
    found = [one for one in of_log(tmp_path, front + data + rest, base=8, level="deep") if one.severity == "error"]
    assert [(one.code, one.start, one.end) for one in found] == [(code, len(front), len(front + data)) for code, _, _ in said]
    for one, (_, value, words) in zip(found, said, strict=True):
        assert (one.offset_first, one.offset_last, one.found) == (10, 10 + last, value)
        assert one.message.startswith(words)
