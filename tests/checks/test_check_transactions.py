"""What checks say of producers, transactions and markers: on one side of each limit a finding, on the other none."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kdump.checks.finding import FileReport, Finding
from tests.builders.files import aborted_transaction, file_name, producer_entry, producer_snapshot, write_partition
from tests.builders.records import TIMESTAMP, Record, batch, commit_record, control_record, record, transaction_marker
from tests.checks.faults.case import place
from tests.checks.findings import LOG, ToldValues, codes_of, findings_of, of_log, rows_of, told_values
from tests.loops import each

pytestmark = pytest.mark.usefixtures("window")

MINUTE = 60_000


SNAPSHOT = file_name(5, ".snapshot")
Told = tuple[str, str, int, int, int | None, int | None, str | None, str | None]


def _data(offset: int, sequence: int, *, count: int = 1, minutes: float = 0, value: bytes = b"v", **fields: Any) -> bytes:
    """A batch of producer 7, unless the fields say otherwise."""
    records = [record(value=value, timestamp=TIMESTAMP + int(minutes * MINUTE))] * count
    fields = {"producer_id": 7, "producer_epoch": 0, "is_transactional": False, **fields}
    return batch(records=records, base_offset=offset, base_sequence=sequence, **fields)


def _in_txn(offset: int, sequence: int, **fields: Any) -> bytes:
    return _data(offset, sequence, is_transactional=True, **fields)


def _marker(offset: int, **fields: Any) -> bytes:
    return transaction_marker(base_offset=offset, **{"producer_id": 7, **fields})


def _plain(offset: int, *, minutes: float = 0) -> bytes:
    return batch(records=[record(value=b"v", timestamp=TIMESTAMP + int(minutes * MINUTE))], base_offset=offset)


def _told(findings: Sequence[Finding]) -> list[Told]:
    return [
        (one.code, one.severity, one.start, one.end, one.offset_first, one.offset_last, one.expected, one.found)
        for one in findings
    ]


def _of(tmp_path: Path, pieces: Sequence[bytes], *codes: str, **settings: Any) -> list[Finding]:
    """What is found in a log of these pieces, of some codes only if they are given."""
    found = of_log(tmp_path, *pieces, **{"is_pedantic": True, **settings})
    return [one for one in found if not codes or one.code in codes]


# --- epochs and sequences


def test_a_marker_of_a_lower_epoch_is_reported(tmp_path: Path) -> None:
    pieces = [_in_txn(0, 0, producer_epoch=5), _marker(1, producer_epoch=4)]
    found = _of(tmp_path, pieces)
    assert _told(found) == [("producer-epoch-regression", "warning", *place(pieces, 1), 1, 1, "5", "4")]
    assert found[0].message == (
        "Producer 7 had epoch 5 before, its last batch of which ends at offset 0; the marker at offset 1 has epoch 4."
    )
    for epoch in (5, 6):
        assert _of(tmp_path, [pieces[0], _marker(1, producer_epoch=epoch)]) == []


def test_the_epoch_that_a_marker_brought_is_the_one_that_counts_and_not_its_offset(tmp_path: Path) -> None:
    (gap,) = _of(tmp_path, [_in_txn(0, 0), _marker(1), _data(2, 5)], "sequence-gap")
    assert gap.message.startswith("Producer 7, epoch 0: sequence 1 should follow its batch that ends at offset 0, but 5 does")
    for epoch in (3, -1):
        pieces = [_in_txn(0, 0, producer_epoch=1), _marker(1, producer_epoch=4), _data(2, 1, producer_epoch=epoch)]
        told = [("producer-epoch-regression", "warning", *place(pieces, 2), 2, 2, "4", str(epoch))]
        found = _of(tmp_path, pieces)
        assert (_told(found), "its last batch" in found[0].message) == (told, False), "which has a lower epoch"
    for sequence, epoch in ((77, 4), (1, 5)):  # after a marker with a new epoch any sequence may follow
        assert _of(tmp_path, [*pieces[:2], _data(2, sequence, producer_epoch=epoch)]) == []
    assert _of(tmp_path, [_data(0, 0), _data(1, 9, producer_epoch=1), _data(2, 10, producer_epoch=1)]) == []


@each(("sequence", "code"), [(3, None), (4, "sequence-gap"), (9, "sequence-gap"), (2, "sequence-gap")])
def test_the_next_sequence_follows(tmp_path: Path, sequence: int, code: str | None) -> None:
    pieces = [_data(0, 1, count=2), _data(2, sequence, value=b"w"), _data(3, sequence + 1)]
    found = _of(tmp_path, pieces)
    assert _told(found) == ([] if code is None else [(code, "warning", *place(pieces, 1), 2, 2, "3", str(sequence))])
    if sequence == 9:
        says = "Producer 7, epoch 0: sequence 3 should follow its batch that ends at offset 1, but 9 does, at offset 2: "
        assert found[0].message == says + "6 numbers left out."


def test_producers_of_different_epochs_each_continue_their_own_sequences(tmp_path: Path) -> None:
    """Near the highest sequence, where batches are followed one by one."""
    near = 0x7F000000
    other: dict[str, Any] = {"producer_id": 8, "producer_epoch": 1}
    pieces = [_data(0, near), _data(1, near, **other), _data(2, near + 1), _data(3, near + 1, **other), _data(4, near + 2)]
    found = _of(tmp_path, [*pieces, _data(5, near + 9, **other)])
    assert [(one.code, one.offset_first, one.expected) for one in found] == [("sequence-gap", 5, str(near + 2))]


@pytest.mark.parametrize("back", [1, 5, 6])
@pytest.mark.parametrize("window", ["all at once", "batch by batch"], indirect=True)
def test_a_batch_is_seen_to_come_again_among_the_last_five(tmp_path: Path, back: int) -> None:
    sent = [_data(row, row + 10, value=b"%d" % row) for row in range(7)]
    again = _data(7, 17 - back, value=b"%d" % (7 - back))
    found = _of(tmp_path, [*sent, again])
    code, expected = ("sequence-gap", "warning") if back == 6 else ("sequence-duplicate", "error")
    assert _told(found) == [(code, expected, *place([*sent, again], 7), 7, 7, "17", str(17 - back))]
    if back == 5:
        says = "Producer 7, epoch 0: sequence 12, which the log already has at offset 2, came again at offset 7."
        assert found[0].message == says


def test_the_same_batch_of_sequence_0_twice_is_a_duplicate_and_another_is_a_new_start(tmp_path: Path) -> None:
    again = ("sequence-duplicate", "error")
    for sequence, value, told in ((0, b"v", again), (0, b"w", ("sequence-gap", "info")), (1, b"w", again)):
        found = _of(tmp_path, [_data(0, sequence, count=2), _data(2, sequence, count=2, value=value)])
        assert [(one.code, one.severity) for one in found] == [told]


@each(
    ("producer_id", "epoch", "sequence", "more", "wrong"),
    [
        (-2, 0, 0, {}, "a producer id below -1"),
        (3, -2, 0, {}, "an epoch below -1"),
        (-1, -1, -1, {"is_transactional": True}, "no producer id, and is transactional"),
        (-1, -1, -1, {"is_transactional": True, "is_control": True}, ""),
        *((3, 0, -1, {}, "a producer id, but no sequence"), (3, 0, 0, {}, "")),
        *((-1, -1, 5, {}, ""), (-1, 0, -1, {}, "")),
    ],
)
def test_fields_of_producers_that_do_not_go_together_are_reported(
    tmp_path: Path, producer_id: int, epoch: int, sequence: int, more: dict[str, Any], wrong: str
) -> None:
    fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence, **more}
    pieces = [_plain(0), batch(records=[record()], base_offset=1, **fields), _plain(2)]
    found = _of(tmp_path, pieces, "producer-fields-odd")
    expected = [("warning", *place(pieces, 1), 1)] * bool(wrong)
    assert [(one.severity, one.start, one.end, one.offset_first) for one in found] == expected
    if wrong:
        assert found[0].message.startswith(f"The batch at offset 1 has {wrong}: producer id {producer_id}, ")


def test_a_marker_without_data_is_counted_with_its_producers(tmp_path: Path) -> None:
    pieces = [_marker(0), _in_txn(1, 0), _marker(2), _marker(3, producer_id=9, is_commit=False), _marker(4)]
    (found,) = _of(tmp_path, pieces)
    assert _told([found]) == [("marker-without-txn", "info", 0, place(pieces, 4)[1], 0, 4, None, None)]
    assert found.message.startswith("3 markers of several producers without visible data, the first at offset 0: ")
    (found,) = _of(tmp_path, pieces[:3])
    assert found.message.startswith("1 marker of producer 7 without visible data, the first at offset 0: ")


# --- transactions and markers


def test_a_coordinator_epoch_does_not_go_back(tmp_path: Path) -> None:
    pieces = [_in_txn(0, 0), _marker(1, coordinator_epoch=5), _in_txn(2, 1), _marker(3, coordinator_epoch=4)]
    found = _of(tmp_path, pieces)
    assert _told(found) == [("coordinator-epoch-regression", "warning", *place(pieces, 3), 3, 3, "5", "4")]
    for epoch in (5, 6):
        assert _of(tmp_path, [*pieces[:3], _marker(3, coordinator_epoch=epoch)]) == []
    later = [*pieces[2:], _in_txn(4, 2), _marker(5, coordinator_epoch=6)]  # one that goes on does not hide it
    directory = write_partition(tmp_path, segments={0: pieces[:2], 2: later})
    assert [one.offset_first for one in findings_of(directory, "coordinator-epoch-regression")] == [3]
    (found_again,) = _of(tmp_path, [*pieces, _in_txn(4, 2), _marker(5, coordinator_epoch=4)], max_findings=1)[:1]
    assert found_again.expected == "5"


def _of_txn(directory: Path) -> list[Finding]:
    return [one for one in findings_of(directory, is_pedantic=True) if one.code.startswith("txn-")]


@each(
    ("minutes", "code", "severity", "time"),
    [
        *((20, "txn-open", "info", "20 min"), (20 + 1 / MINUTE, "txn-hanging", "error", "20 min")),
        *((90, "txn-hanging", "error", "1 h 30 min"), (47 * 60 + 59, "txn-hanging", "error", "47 h 59 min")),
        (48 * 60, "txn-hanging", "error", "2 days"),
    ],
)
def test_a_transaction_hangs_after_twenty_minutes(tmp_path: Path, minutes: float, code: str, severity: str, time: str) -> None:
    start = -3000.0
    segments = {
        0: [_in_txn(0, 0, minutes=start - 50), _in_txn(1, 1, count=2, minutes=start)],
        3: [_plain(3, minutes=start)],
        4: [_plain(4, minutes=start + minutes)],
    }
    (one,) = _of_txn(write_partition(tmp_path, segments=segments))
    assert (one.code, one.severity, Path(one.path).name) == (code, severity, LOG)
    assert (one.start, one.offset_first, one.offset_last) == (0, 0, 2)
    assert f"he log continues for {time} and 2 offsets" in one.message
    if minutes == 90:
        assert one.message.startswith(
            "Producer 7, epoch 0: its transaction is open since offset 0, and the log continues for 1 h 30 min and 2 offsets "
            "after its last record. The last stable offset stays at 0, 5 below the log end: "
        )


def test_each_transaction_hangs_since_the_latest_time_up_to_its_last_record(tmp_path: Path) -> None:
    segments = {
        0: [_in_txn(0, 0, producer_id=7, minutes=-200), _plain(1, minutes=-150)],
        2: [_plain(2, minutes=-190), _in_txn(3, 0, producer_id=8, minutes=-195)],
        4: [_plain(4, minutes=-160), _in_txn(5, 0, producer_id=9, minutes=-180), _in_txn(6, 1, producer_id=8, minutes=-140)],
        7: [_plain(7)],
    }
    found = _of_txn(write_partition(tmp_path, segments=segments))
    said = [one.message.partition("since offset ")[2].partition(" after its last")[0] for one in found]
    assert said == [
        f"{offset}, and the log continues for {time} and {later}"
        for offset, time, later in ((0, "3 h 20 min", "7 offsets"), (5, "2 h 30 min", "2 offsets"), (3, "2 h 20 min", "1 offset"))
    ]


def test_where_something_is_missing_a_transaction_does_not_hang_for_certain(tmp_path: Path) -> None:
    first, last = _in_txn(0, 0, minutes=-200), _plain(5, minutes=0)
    directory = write_partition(tmp_path, segments={0: [first]})
    for middle, is_certain in (
        ([_plain(1), _plain(2), _plain(3), _plain(4)], True),
        ([_plain(3), _plain(4)], False),
        ([_plain(1), _plain(2), b"no batch " * 20, _plain(3), _plain(4)], False),
        ([b"no batch " * 20], False),
    ):
        (directory / LOG).write_bytes(b"".join([first, *middle, last]))
        (found,) = _of_txn(directory)
        assert found.code == ("txn-hanging" if is_certain else "txn-open")
        assert ("may have been where bytes or offsets are missing" in found.message) == (not is_certain)
    (directory / LOG).write_bytes(first)
    for path, where in ((directory, "by the end of the log"), (directory / LOG, "in this file")):
        assert findings_of(path, "txn-open", is_pedantic=True)[0].message.endswith(f", with no marker {where}.")


def test_what_is_empty_before_an_open_transaction_is_passed_over(tmp_path: Path) -> None:
    kept = batch(  # by the cleaner
        last_offset_delta=4, is_transactional=True, producer_id=8, producer_epoch=0, base_sequence=0, max_timestamp=TIMESTAMP
    )
    for name, first in (("segment", []), ("batch", [kept])):
        segments = {0: first, 5: [_in_txn(5, 0, minutes=-90)], 6: [_plain(6)]}
        code = "txn-open" if first else "txn-hanging"  # where offsets are missing, it may have ended
        found = _of_txn(write_partition(tmp_path / name, segments=segments))
        assert [(one.code, one.offset_first) for one in found] == [(code, 5)], name


def test_aborted_transactions_without_index_are_counted(tmp_path: Path) -> None:
    inner = [_in_txn(1, 0), _marker(2, is_commit=False)]
    outer = [_in_txn(0, 0, producer_id=8), *inner, _marker(3, is_commit=False, producer_id=8), _plain(4)]
    for first, pieces in ((1, TWO_ABORTED), (2, outer)):
        directory = write_partition(tmp_path / str(first), segments={0: pieces})
        (found,) = findings_of(directory)
        extent = place(pieces, first)[0], place(pieces, 3)[1]
        assert _told([found]) == [("txn-aborted-not-indexed", "error", *extent, 0, 3, None, None)]
        assert found.message.startswith("2 transactions with visible data were aborted here, and there is no transaction index: ")
        (directory / file_name(0, ".index")).unlink()
        assert "txn-aborted-not-indexed" not in codes_of(findings_of(directory))
        (directory / file_name(0, ".txnindex")).touch()
        assert "txn-aborted-not-indexed" not in codes_of(findings_of(directory)), "a broker scans it when it opens it"


TWO_ABORTED = [_in_txn(0, 0), _marker(1, is_commit=False), _in_txn(2, 1), _marker(3, is_commit=False), _plain(4)]


@each(
    ("entries", "missing"),
    [
        *(([(7, 0, 1), (7, 2, 3)], []), ([(7, 0, 1)], [(2, 3)]), ([(7, 2, 3)], [(0, 1)])),
        *(([(7, 0, 1), (8, 2, 3)], [(2, 3)]), ([], [(0, 1), (2, 3)])),
    ],
)
def test_each_aborted_transaction_has_its_entry(tmp_path: Path, entries: list[tuple[int, ...]], missing: list[Any]) -> None:
    index = [
        aborted_transaction(producer_id=producer, first_offset=first, last_offset=last, last_stable_offset=first)
        for producer, first, last in entries
    ]
    directory = write_partition(tmp_path, segments={0: TWO_ABORTED}, aborted_transactions={0: index})
    found = findings_of(directory, "txn-aborted-not-indexed")
    places = [(*place(TWO_ABORTED, last), first, last) for first, last in missing]
    assert [(one.start, one.end, one.offset_first, one.offset_last) for one in found] == places
    if missing:
        first, last = missing[0]
        says = f"Producer 7 aborted offsets {first} to {last}, but the transaction index lacks this: "
        assert found[0].message.startswith(says)
    assert findings_of(directory, "txn-aborted-not-indexed", level="quick") == []


# --- control batches


def _control(offset: int, *records: Record, producer: int = 7, in_txn: bool = True, **fields: Any) -> bytes:
    fields |= {"producer_id": producer, "producer_epoch": 0 if producer >= 0 else -1}
    return batch(records=records, base_offset=offset, is_control=True, is_transactional=in_txn, **fields)


_VALUE = struct.pack(">hi", 0, 0)


@each(
    ("one", "code", "found"),
    [
        (record(value=_VALUE), "control-key-null", "null"),
        (control_record(control_type=1, value=_VALUE, key_size=3), "control-key-short", "000000"),
        (control_record(control_type=1, value=_VALUE, key_size=4), None, ""),
        (commit_record(key_version=-1), "control-version-negative", "ffff0001"),
        (commit_record(version=-1), "control-version-negative", "ffff00000000"),
        (commit_record(version=1), None, ""),
        (control_record(control_type=1, value=None), "control-value-short", "null"),
        (control_record(control_type=1, value=_VALUE[:5]), "control-value-short", "0000000000"),
        (control_record(control_type=0, value=_VALUE), None, ""),
        *((control_record(control_type=kind, value=_VALUE), "control-type-unknown", str(kind)) for kind in (2, 6, -1)),
    ],
)
@each("producer", [0, 7])
def test_a_marker_says_what_a_marker_can_say(tmp_path: Path, producer: int, one: Record, code: str | None, found: str) -> None:
    pieces = [_in_txn(0, 0, producer_id=producer), _control(1, one, producer=producer), _plain(2)]
    told = _of(tmp_path, pieces)
    assert [(row.code, row.found) for row in told] == ([(code, found)] if code else [])
    for row in told:
        start, end = place(pieces, 1)
        assert (row.severity, row.broker_forecast.partition(" ")[0]) == ("error", "die")
        assert (row.start, row.end) == (start if code == "control-type-unknown" else start + 61, end)
        assert (row.offset_first, row.offset_last) == (1, 1)
    assert _of(tmp_path, pieces, *filter(None, [code]), level="quick") == [], "it is not read where checksums are not"


@each(
    ("one", "said"),
    [
        *((control_record(control_type=kind, value=b""), ("control-type-unknown", "warning", "ignore")) for kind in (7, -1)),
        (control_record(control_type=4, value=b"\0\0"), ("control-value-short", "error", "blind")),
        *((control_record(control_type=4, value=value), None) for value in (b"\0\0\0", b"\0\1")),  # newer ones may be shorter
        (record(value=b""), ("control-key-null", "error", "blind")),
    ],
)
def test_a_note_of_a_quorum_says_what_it_can_say(tmp_path: Path, one: Record, said: tuple[str, str, str] | None) -> None:
    told = [row for row in _of(tmp_path, [_control(0, one, producer=-1, in_txn=False)]) if row.code != "control-batch-shape"]
    found = [(row.code, row.severity, row.broker_forecast.partition(" ")[0]) for row in told]
    assert found == ([said] if said else [])


_KRAFT_VERSION = control_record(control_type=3, value=bytes(11))
WITHOUT_PRODUCER = [_control(0, commit_record(), producer=-1, in_txn=in_txn) for in_txn in (False, True)]
OF_TWO = [_control(0, commit_record(), commit_record()), _control(0, commit_record(), records_count=2)]


@each(
    ("control", "words"),
    [
        (_control(0, commit_record()), None),
        (_control(0, commit_record(), in_txn=False), "is not flagged as transactional."),
        *((control, "has no producer id, so it ends no transaction.") for control in WITHOUT_PRODUCER),
        *((control, "says it holds 2 records, of which a broker only reads the first.") for control in OF_TWO),
        (_control(0, commit_record(), codec="gzip"), "is compressed (gzip)."),
        (_control(0, _KRAFT_VERSION, producer=-1, in_txn=False), None),
        (_control(0, _KRAFT_VERSION, producer=-1, in_txn=False, codec="gzip"), "is compressed (gzip)."),
        (_control(0), "is empty: the cleaner removed its marker and kept the batch for its producer epoch."),
    ],
)
@each("level", ["full", "deep"])
def test_a_control_batch_has_the_shape_of_one(tmp_path: Path, control: bytes, words: str | None, level: str) -> None:
    found = _of(tmp_path, [control], "control-batch-shape", level=level)
    expected = [] if words is None else [(0, len(control), f"The control batch at offset 0 {words}")]
    assert [(one.start, one.end, one.message) for one in found] == expected
    is_empty = words is not None and "is empty: " in words
    assert [one.severity for one in found] == ["info" if is_empty else "warning"] * len(found)


# --- producer snapshots


def _entry(producer: int = 7, *, epoch: int = 0, sequence: int = 1, opened: int = -1, last_offset: int = 1) -> bytes:
    last = {"last_sequence": sequence, "last_offset": last_offset}
    return producer_entry(producer_id=producer, producer_epoch=epoch, current_txn_first_offset=opened, **last)


def _snapshot_of(tmp_path: Path, entry: list[bytes], *, in_txn: bool = False, start: int = 0, count: int = 1) -> list[Finding]:
    """What is found of a snapshot of offset 2 after two batches of producer 7."""
    written = [_data(start + row, row, is_transactional=in_txn, count=count, last_offset_delta=0) for row in range(3)]
    segments = {start: written[:2], start + 2: written[2:]}
    directory = write_partition(tmp_path, segments=segments, producer_snapshots={start + 2: entry})
    return [one for one in findings_of(directory) if one.code.startswith("snapshot-")]


@each(
    ("entry", "in_txn", "expected", "found"),
    [
        (_entry(), False, None, None),
        (_entry(sequence=0), False, "last sequence 1", "last sequence 0"),
        (_entry(sequence=2), False, None, None),  # old brokers knew of the next batch already
        (_entry(sequence=3), False, "last sequence 1", "last sequence 3"),
        (_entry(sequence=9, last_offset=-1), False, None, None),  # of which no batch is known
        (_entry(epoch=1), False, "epoch 0", "epoch 1"),
        (_entry(opened=0), False, "no open transaction", "one open since offset 0"),
        (_entry(opened=0), True, None, None),
        (_entry(), True, "a transaction open since offset 0", "none"),
        (_entry(opened=1), True, "a transaction open since offset 0", "since offset 1"),
        (_entry(8), False, "no such producer", "epoch 0"),
        (_entry(sequence=0, opened=0), False, "last sequence 1, no open transaction", "last sequence 0, one open since offset 0"),
    ],
)
def test_snapshots_agree_with_logs(tmp_path: Path, entry: bytes, in_txn: bool, expected: str | None, found: str | None) -> None:
    told = _snapshot_of(tmp_path, [entry], in_txn=in_txn)
    severity = "error" if expected == "no such producer" else "warning"  # the batch with its last offset is of another
    expected_ones = [] if expected is None else [("snapshot-disagrees", severity, 10, 56, expected, found)]
    assert [(one.code, one.severity, one.start, one.end, one.expected, one.found) for one in told] == expected_ones
    if told and len(told[0].expected or "") < 20:
        assert f": the log up to offset 2 shows {expected}; the snapshot has {found}." in told[0].message


def test_of_a_log_whose_start_is_gone_or_was_emptied_a_snapshot_may_know_more(tmp_path: Path) -> None:
    for opened in (-1, 0):  # a batch that the cleaner emptied may have opened a transaction
        assert _snapshot_of(tmp_path / f"opened{opened}", [_entry(opened=opened)], in_txn=True, count=0) == []
    for number, (entries, expected) in enumerate(
        (([_entry(8), _entry(9, opened=3)], []), ([_entry(opened=39)], []), ([_entry(opened=40)], ["no open transaction"]))
    ):
        assert [one.expected for one in _snapshot_of(tmp_path / str(number), entries, start=40)] == expected


@each(("noted", "right"), [(4, "4"), (6, None), (5, None), (3, None), (-1, None)])
def test_a_snapshot_shows_that_one_bit_of_the_last_offset_is_wrong(tmp_path: Path, noted: int, right: str | None) -> None:
    batches = [*(_data(row, row) for row in range(4)), _data(6, 4), _plain(7)]
    entry = producer_entry(producer_id=7, last_sequence=4, last_offset=noted)
    directory = write_partition(tmp_path, segments={0: batches, 8: [_data(8, 5)]}, producer_snapshots={8: [entry]})
    found = findings_of(directory, "uncovered-header-rot", "snapshot-disagrees")
    assert told_values(found) == [("uncovered-header-rot", "error", *place(batches, 4), right, "6")] * bool(right)


def test_a_snapshot_of_another_partition_has_the_last_offset_of_another_producer(tmp_path: Path) -> None:
    entry = producer_entry(producer_id=7, last_sequence=3, last_offset=0)
    for number, (first, whose) in enumerate(((_plain(0), "no producer"), (_data(0, 0, producer_id=9), "producer 9"))):
        segments = {0: [first, _data(1, 0)], 2: [_data(2, 1)]}
        (found,) = findings_of(write_partition(tmp_path / str(number), segments=segments, producer_snapshots={2: [entry]}))
        assert (found.code, found.expected, found.found) == ("snapshot-disagrees", "last sequence 0", "last sequence 3")
        assert f" The batch with its last offset, 0, is of {whose} in {LOG}: " in found.message


def test_a_snapshot_is_compared_only_where_the_log_is_whole(tmp_path: Path) -> None:
    junk = b"no batch " * 20
    segments = {0: [_data(0, 0)], 3: [_data(3, 2)]}
    directory = write_partition(tmp_path, segments=segments, producer_snapshots={3: [_entry(sequence=9)]})
    for pieces in ([_data(0, 0), _data(2, 1)], [_data(0, 0), junk, _data(2, 1)], [_data(0, 0), junk, _data(1, 1), _data(2, 2)]):
        (directory / LOG).write_bytes(b"".join(pieces))
        assert findings_of(directory, "snapshot-disagrees") == []
        assert findings_of(directory, "snapshot-disagrees", level="quick") == []


@each(
    ("snapshots", "stray"),
    [
        *(([0, 2, 4], []), ([3], [(3, "left over")]), ([5], [])),
        *(([5, 6], [(5, "of an earlier clean stop than that of offset 6")]), ([4, 9], []), ([1, 4], [(1, "left over")])),
    ],
)
def test_a_snapshot_is_of_the_start_of_a_segment_or_the_last_stop(tmp_path: Path, snapshots: list[int], stray: list[Any]) -> None:
    segments = {base: [_plain(base), _plain(base + 1)] for base in (0, 2, 4)}
    directory = write_partition(tmp_path, segments=segments, producer_snapshots={offset: [] for offset in snapshots})
    found = findings_of(directory, "snapshot-stray", is_pedantic=True)
    assert [(one.severity, one.start, one.end, one.offset_first, one.message) for one in found] == [
        ("info", 0, 10, offset, f"No segment starts at offset {offset}: the snapshot is {why}, and no longer of any use.")
        for offset, why in stray
    ]


def _counted(path: Path) -> tuple[int, ...]:
    """Entries intact, salvaged and lost, then bytes likewise."""
    (one,) = (row for row in rows_of(path) if isinstance(row, FileReport))
    entries = (one.batches_intact, one.batches_salvaged, one.batches_lost)
    return (*entries, one.bytes_intact, one.bytes_salvaged, one.bytes_damaged)


def _written(**changes: Any) -> bytes:
    return producer_snapshot(entries=_TWO, **changes)


_TWO = [_entry(7), _entry(8)]
_SOUND = _written()
assert len(_SOUND) == 10 + 2 * 46


_SALVAGED = (0, 2, 0, 0, 102, 0)
_TRAILED = (_SOUND + b"xyz", _written(trailing=b"xyz"))


@each(
    ("data", "said", "counted"),
    [
        (_SOUND, None, (2, 0, 0, 102, 0, 0)),
        (b"", ("snapshot-truncated", "error", 0, 0, "10", "0"), (0, 0, 0, 0, 0, 0)),
        (_SOUND[:9], ("snapshot-truncated", "error", 0, 9, "10", "9"), (0, 0, 0, 0, 0, 9)),
        (_SOUND[:10], ("snapshot-count-absurd", "error", 6, 10, "0", "2"), (0, 0, 0, 0, 10, 0)),
        (_SOUND[:101], ("snapshot-truncated", "error", 56, 101, "102", "101"), (0, 1, 0, 0, 56, 45)),
        (_SOUND[:-1] + b"\1", ("snapshot-crc-mismatch", "error", 0, 102, None, f"0x{_SOUND[2:6].hex()}"), _SALVAGED),
        (_written(entry_count=92), ("snapshot-truncated", "error", 102, 102, str(10 + 92 * 46), "102"), _SALVAGED),
        *((_written(entry_count=of), ("snapshot-count-absurd", "error", 6, 10, "2", str(of)), _SALVAGED) for of in (93, -1)),
        (_written(version=2), ("snapshot-version-unknown", "error", 0, 2, "1", "2"), _SALVAGED),
        (_written(version=2, crc=1), ("snapshot-version-unknown", "error", 0, 2, "1", "2"), (0, 0, 0, 0, 0, 102)),
        *((data, ("snapshot-trailing-bytes", "error", 102, 105, None, None), (2, 0, 0, 102, 0, 3)) for data in _TRAILED),
        (
            producer_snapshot(entries=[*_TWO, _entry(7, epoch=1)]),
            ("snapshot-duplicate-producer", "warning", 102, 148, None, "7"),
            (3, 0, 0, 148, 0, 0),
        ),
    ],
)
def test_a_snapshot_is_checked_as_a_whole(tmp_path: Path, data: bytes, said: ToldValues | None, counted: tuple[int, ...]) -> None:
    path = tmp_path / SNAPSHOT
    path.write_bytes(data)
    found = findings_of(path)
    if said and said[0] == "snapshot-crc-mismatch":
        said = (*said[:4], found[0].expected, said[5])  # whatever the CRC is
    assert told_values(found) == ([said] if said else [])
    assert all((one.offset_first, one.offset_last) == (None, None) for one in found)
    assert _counted(path) == counted


@each(
    ("data", "forecast", "words"),
    [
        (_SOUND + b"xyz", "delete", "; the checksum matches without them, but not with them, as a broker computes it."),
        (_written(trailing=b"xyz"), "ignore", "; the checksum covers them, so a broker accepts the file."),
        (_written(trailing=b"xyz", crc=1), "delete", "."),
    ],
)
def test_bytes_after_the_last_entry_are_rated_by_the_checksum(tmp_path: Path, data: bytes, forecast: str, words: str) -> None:
    path = tmp_path / SNAPSHOT
    path.write_bytes(data)
    (found,) = findings_of(path, "snapshot-trailing-bytes")
    assert found.message == f"3 bytes follow the last entry{words}"
    assert found.broker_forecast.partition(" ")[0] == forecast
    assert ("snapshot-crc-mismatch" in codes_of(findings_of(path))) == (words == ".")
    (unread,) = (one for one in findings_of(path, level="quick") if one.code.startswith("snapshot-"))
    assert (unread.message, unread.broker_forecast) == ("3 bytes follow the last entry.", "delete"), "no checksum is read"


@each(("offset", "told"), [(3, True), (4, False)])
def test_a_snapshot_of_an_offset_that_the_log_does_not_reach_is_not_compared(tmp_path: Path, offset: int, told: bool) -> None:
    segments = {0: [_data(0, 0), _data(1, 1), _data(2, 2)]}
    directory = write_partition(tmp_path, segments=segments, producer_snapshots={offset: [_entry(sequence=9, last_offset=2)]})
    assert ("snapshot-disagrees" in codes_of(findings_of(directory))) == told
