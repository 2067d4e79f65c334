"""What checks say of producers, transactions and markers: on one side of each limit a finding, on the other none."""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kdump.checks.finding import FileReport, Finding
from tests import kernels
from tests.builders.files import aborted_transaction, file_name, producer_entry, producer_snapshot, write_partition
from tests.builders.records import (
    TIMESTAMP,
    Record,
    abort_record,
    batch,
    commit_record,
    control_record,
    record,
    transaction_marker,
)
from tests.checks.test_check_rules import LOG, _codes, _findings, _of_log, _rows
from tests.loops import each

MINUTE = 60_000
MAX_INT = 0x7FFFFFFF
SNAPSHOT = file_name(5, ".snapshot")
Told = tuple[str, str, int, int, int | None, int | None, str | None, str | None]


@pytest.fixture(params=kernels.WAYS, autouse=True)
def window(request: pytest.FixtureRequest) -> Iterator[None]:
    """Batches come in several ways; what is found does not depend on it."""
    with kernels.coming_upon_batches(request.param):
        yield


def _data(
    offset: int,
    sequence: int,
    *,
    producer: int = 7,
    epoch: int = 0,
    count: int = 1,
    in_txn: bool = False,
    minutes: float = 0,
    value: bytes = b"v",
) -> bytes:
    return batch(
        records=[record(value=value, timestamp=TIMESTAMP + int(minutes * MINUTE)) for _ in range(count)],
        base_offset=offset,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=in_txn,
    )


def _marker(offset: int, *, is_commit: bool = True, producer: int = 7, epoch: int = 0, coordinator: int = 0) -> bytes:
    return transaction_marker(
        is_commit=is_commit, base_offset=offset, producer_id=producer, producer_epoch=epoch, coordinator_epoch=coordinator
    )


def _plain(offset: int, *, minutes: float = 0) -> bytes:
    return batch(records=[record(value=b"v", timestamp=TIMESTAMP + int(minutes * MINUTE))], base_offset=offset)


def _told(findings: Sequence[Finding]) -> list[Told]:
    return [
        (one.code, one.severity, one.start, one.end, one.offset_first, one.offset_last, one.expected, one.found)
        for one in findings
    ]


def _at(pieces: Sequence[bytes], row: int) -> tuple[int, int]:
    """Where the piece in this row starts and ends."""
    start = sum(map(len, pieces[:row]))
    return start, start + len(pieces[row])


def _of(tmp_path: Path, pieces: Sequence[bytes], *codes: str, **settings: Any) -> list[Finding]:
    """What is found in a log of these pieces, of some codes only if they are given."""
    found = _of_log(tmp_path, b"".join(pieces), **{"is_pedantic": True, **settings})
    return [one for one in found if not codes or one.code in codes]


# --- epochs and sequences


def test_a_marker_of_a_lower_epoch_is_reported(tmp_path: Path) -> None:
    pieces = [_data(0, 0, epoch=5, in_txn=True), _marker(1, epoch=3)]
    found = _of(tmp_path, pieces)
    assert _told(found) == [("producer-epoch-regression", "warning", *_at(pieces, 1), 1, 1, "5", "3")]
    assert found[0].message == (
        "Producer 7 had epoch 5 before, its last batch of which ends at offset 0; the marker at offset 1 has epoch 3."
    )
    for epoch in (5, 6):
        assert _of(tmp_path, [pieces[0], _marker(1, epoch=epoch)]) == []


def test_a_marker_is_not_a_last_batch_of_its_producer(tmp_path: Path) -> None:
    pieces = [_data(0, 0, in_txn=True), _marker(1), _data(2, 5)]
    (found,) = _of(tmp_path, pieces, "sequence-gap")
    assert found.message.startswith("Producer 7, epoch 0: sequence 1 should follow its batch that ends at offset 0, but 5 does")


def test_the_epoch_that_a_marker_brought_is_the_one_that_counts(tmp_path: Path) -> None:
    pieces = [_data(0, 0, epoch=1, in_txn=True), _marker(1, epoch=4), _data(2, 1, epoch=3)]
    assert _told(_of(tmp_path, pieces)) == [("producer-epoch-regression", "warning", *_at(pieces, 2), 2, 2, "4", "3")]
    pieces[2] = _data(2, 77, epoch=4)  # after a marker with a new epoch any sequence may follow
    assert _of(tmp_path, pieces) == []
    pieces[2] = _data(2, 1, epoch=5)
    assert _of(tmp_path, pieces) == []


def test_a_higher_epoch_begins_with_any_sequence(tmp_path: Path) -> None:
    assert _of(tmp_path, [_data(0, 0), _data(1, 9, epoch=1), _data(2, 10, epoch=1)]) == []


@each(("sequence", "code"), [(3, None), (4, "sequence-gap"), (9, "sequence-gap"), (2, "sequence-gap")])
def test_the_next_sequence_follows(tmp_path: Path, sequence: int, code: str | None) -> None:
    pieces = [_data(0, 1, count=2), _data(2, sequence, value=b"w"), _data(3, sequence + 1)]
    found = _of(tmp_path, pieces)
    assert _told(found) == ([] if code is None else [(code, "warning", *_at(pieces, 1), 2, 2, "3", str(sequence))])
    if sequence == 9:
        assert found[0].message == (
            "Producer 7, epoch 0: sequence 3 should follow its batch that ends at offset 1, but 9 does, at offset 2: "
            "6 numbers left out."
        )


def test_sequences_of_several_producers_are_followed_apart(tmp_path: Path) -> None:
    pieces = [_data(0, 0), _data(1, 5, producer=8), _data(2, 1), _data(3, 6, producer=8), _data(4, 3), _data(5, 9, producer=8)]
    found = _of(tmp_path, pieces)
    assert [(one.start, one.expected, one.found) for one in found] == [
        (_at(pieces, 4)[0], "2", "3"),
        (_at(pieces, 5)[0], "7", "9"),
    ]


def test_producers_of_different_epochs_are_followed_apart(tmp_path: Path) -> None:
    pieces = [_data(0, 0, epoch=1), _data(1, 0, producer=8, epoch=3), _data(2, 2, epoch=1), _data(3, 1, producer=8, epoch=3)]
    (found,) = _of(tmp_path, pieces)
    assert (found.code, found.start, found.expected, found.found) == ("sequence-gap", _at(pieces, 2)[0], "1", "2")


@pytest.mark.parametrize("back", [1, 5, 6])
@pytest.mark.parametrize("window", ["all at once", "batch by batch"], indirect=True)
def test_a_batch_is_seen_to_come_again_among_the_last_five(tmp_path: Path, back: int) -> None:
    sent = [_data(row, row + 10, value=b"%d" % row) for row in range(7)]
    again = _data(7, 17 - back, value=b"%d" % (7 - back))
    found = _of(tmp_path, [*sent, again])
    code, expected = ("sequence-gap", "warning") if back == 6 else ("sequence-duplicate", "error")
    assert _told(found) == [(code, expected, *_at([*sent, again], 7), 7, 7, "17", str(17 - back))]
    if back == 5:
        assert found[0].message == (
            "Producer 7, epoch 0: sequence 12, which the log already has at offset 2, came again at offset 7."
        )


def test_the_same_batch_of_sequence_0_twice_is_a_duplicate_and_another_is_a_new_start(tmp_path: Path) -> None:
    for value, told in ((b"v", ("sequence-duplicate", "error")), (b"w", ("sequence-gap", "info"))):
        found = _of(tmp_path, [_data(0, 0, count=2), _data(2, 0, count=2, value=value)])
        assert [(one.code, one.severity) for one in found] == [told]


@each(("sequence", "codes"), [(0, ["sequence-wrap"]), (1, ["sequence-gap"])])
def test_0_follows_the_last_sequence(tmp_path: Path, sequence: int, codes: list[str]) -> None:
    pieces = [_data(0, MAX_INT), _data(1, sequence), _data(2, sequence + 1)]
    found = _of(tmp_path, pieces)
    assert [(one.code, one.start) for one in found] == [(code, _at(pieces, 1)[0]) for code in codes]


@each(
    ("fields", "wrong"),
    [
        ({"producer_id": -2, "producer_epoch": 0, "base_sequence": 0}, "a producer id below -1"),
        ({"producer_id": 3, "producer_epoch": -2, "base_sequence": 0}, "an epoch below -1"),
        (
            {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "is_transactional": True},
            "no producer id, and is transactional",
        ),
        ({"producer_id": -1, "producer_epoch": -1, "is_transactional": True, "is_control": True}, ""),
        ({"producer_id": 3, "producer_epoch": 0, "base_sequence": -1}, "a producer id, but no sequence"),
        ({"producer_id": 3, "producer_epoch": 0, "base_sequence": 0}, ""),
        ({"producer_id": -1, "producer_epoch": -1, "base_sequence": 5}, ""),
        ({"producer_id": -1, "producer_epoch": 0, "base_sequence": -1}, ""),
    ],
)
def test_fields_of_producers_that_do_not_go_together_are_reported(tmp_path: Path, fields: dict[str, int], wrong: str) -> None:
    pieces = [_plain(0), batch(records=[record()], base_offset=1, **fields), _plain(2)]  # type: ignore[arg-type]
    found = _of(tmp_path, pieces, "producer-fields-odd")
    assert [(one.severity, one.start, one.end, one.offset_first) for one in found] == [("warning", *_at(pieces, 1), 1)] * bool(
        wrong
    )
    if wrong:
        assert found[0].message.startswith(f"The batch at offset 1 has {wrong}: producer id {fields['producer_id']}, ")


# --- transactions and markers


def test_a_marker_without_data_is_counted_with_its_producers(tmp_path: Path) -> None:
    pieces = [_marker(0), _data(1, 0, in_txn=True), _marker(2), _marker(3), _marker(4, producer=9, is_commit=False)]
    (found,) = _of(tmp_path, pieces)
    assert _told([found]) == [("marker-without-txn", "info", 0, _at(pieces, 4)[1], 0, 4, None, None)]
    assert found.message.startswith("3 markers of several producers without visible data, the first at offset 0: ")
    (found,) = _of(tmp_path, pieces[:3])
    assert found.message.startswith("1 marker of producer 7 without visible data, the first at offset 0: ")


def test_a_coordinator_epoch_does_not_go_back(tmp_path: Path) -> None:
    pieces = [_data(0, 0, in_txn=True), _marker(1, coordinator=5), _data(2, 1, in_txn=True), _marker(3, coordinator=4)]
    found = _of(tmp_path, pieces)
    assert _told(found) == [("coordinator-epoch-regression", "warning", *_at(pieces, 3), 3, 3, "5", "4")]
    for coordinator in (5, 6):
        assert _of(tmp_path, [*pieces[:3], _marker(3, coordinator=coordinator)]) == []
    (found_again,) = _of(tmp_path, [*pieces, _data(4, 2, in_txn=True), _marker(5, coordinator=4)], max_findings=1)[:1]
    assert found_again.expected == "5"


@each(
    ("minutes", "code", "severity"),
    [(20, "txn-open", "info"), (20 + 1 / MINUTE, "txn-hanging", "error"), (90, "txn-hanging", "error")],
)
def test_a_transaction_hangs_after_twenty_minutes(tmp_path: Path, minutes: float, code: str, severity: str) -> None:
    start = -100.0
    segments = {
        0: [_data(0, 0, in_txn=True, minutes=start - 50), _data(1, 1, in_txn=True, count=2, minutes=start)],
        3: [_plain(3, minutes=start)],
        4: [_plain(4, minutes=start + minutes)],
    }
    directory = write_partition(tmp_path, segments=segments)
    found = [one for one in _findings(directory, is_pedantic=True) if one.code.startswith("txn-")]
    assert [(one.code, one.severity, Path(one.path).name, one.start, one.offset_first, one.offset_last) for one in found] == [
        (code, severity, LOG, 0, 0, 2)
    ]
    if minutes == 90:
        assert found[0].message.startswith(
            "Producer 7, epoch 0: its transaction is open since offset 0, and the log continues for 1 h 30 min and 2 offsets "
            "after its last record. The last stable offset stays at 0, 5 below the log end: "
        )


def test_where_something_is_missing_a_transaction_does_not_hang_for_certain(tmp_path: Path) -> None:
    first, last = _data(0, 0, in_txn=True, minutes=-200), _plain(5, minutes=0)
    for middle, is_certain in (
        ([_plain(1), _plain(2), _plain(3), _plain(4)], True),
        ([_plain(3), _plain(4)], False),
        ([b"no batch " * 20], False),
    ):
        folder = tmp_path / str(len(b"".join(middle)))
        folder.mkdir()
        directory = write_partition(folder, segments={0: [first]})
        (directory / LOG).write_bytes(b"".join([first, *middle, last]))
        (found,) = (one for one in _findings(directory, is_pedantic=True) if one.code.startswith("txn-"))
        assert found.code == ("txn-hanging" if is_certain else "txn-open")
        assert ("may have been where bytes or offsets are missing" in found.message) == (not is_certain)


def test_what_is_empty_before_an_open_transaction_is_passed_over(tmp_path: Path) -> None:
    kept = batch(  # by the cleaner
        last_offset_delta=4, is_transactional=True, producer_id=8, producer_epoch=0, base_sequence=0, max_timestamp=TIMESTAMP
    )
    for name, first in (("segment", []), ("batch", [kept])):
        segments = {0: first, 5: [_data(5, 0, in_txn=True, minutes=-90)], 6: [_plain(6)]}
        found = _findings(write_partition(tmp_path / name, segments=segments), is_pedantic=True)
        code = "txn-open" if first else "txn-hanging"  # where offsets are missing, it may have ended
        assert [(one.code, one.offset_first) for one in found if one.code.startswith("txn-")] == [(code, 5)], name


def test_a_time_in_the_future_makes_no_transaction_hang(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, segments={0: [_data(0, 0, in_txn=True), _plain(1, minutes=600)]})
    assert [one.code for one in _findings(directory, is_pedantic=True) if one.code.startswith("txn-")] == ["txn-open"]


def test_aborted_transactions_without_index_are_counted(tmp_path: Path) -> None:
    pieces = [
        _data(0, 0, in_txn=True),
        _marker(1, is_commit=False),
        _data(2, 1, in_txn=True),
        _marker(3, is_commit=False),
        _plain(4),
    ]
    directory = write_partition(tmp_path, segments={0: pieces})
    (found,) = _findings(directory)
    assert _told([found]) == [("txn-aborted-not-indexed", "error", _at(pieces, 1)[0], _at(pieces, 3)[1], 0, 3, None, None)]
    assert found.message.startswith("2 transactions with visible data were aborted here, and there is no transaction index: ")
    (directory / file_name(0, ".index")).unlink()
    assert "txn-aborted-not-indexed" not in _codes(_findings(directory))


@each(
    ("entries", "missing"),
    [
        ([(7, 0, 1), (7, 2, 3)], []),
        ([(7, 0, 1)], [(2, 3)]),
        ([(7, 2, 3)], [(0, 1)]),
        ([(7, 0, 1), (8, 2, 3)], [(2, 3)]),
        ([], [(0, 1), (2, 3)]),
    ],
)
def test_each_aborted_transaction_has_its_entry(
    tmp_path: Path, entries: list[tuple[int, int, int]], missing: list[tuple[int, int]]
) -> None:
    pieces = [
        _data(0, 0, in_txn=True),
        _marker(1, is_commit=False),
        _data(2, 1, in_txn=True),
        _marker(3, is_commit=False),
        _plain(4),
    ]
    index = [
        aborted_transaction(producer_id=producer, first_offset=first, last_offset=last, last_stable_offset=first)
        for producer, first, last in entries
    ]
    directory = write_partition(tmp_path, segments={0: pieces}, aborted_transactions={0: index})
    found = [one for one in _findings(directory) if one.code == "txn-aborted-not-indexed"]
    assert [(one.start, one.end, one.offset_first, one.offset_last) for one in found] == [
        (*_at(pieces, last), first, last) for first, last in missing
    ]
    if missing:
        first, last = missing[0]
        assert found[0].message.startswith(
            f"Producer 7 aborted offsets {first} to {last}, but the transaction index lacks this: "
        )
    assert [one for one in _findings(directory, level="quick") if one.code == "txn-aborted-not-indexed"] == []


# --- control batches


def _control(offset: int, *records: Record, producer: int = 7, in_txn: bool = True, **fields: object) -> bytes:
    return batch(
        records=records,
        base_offset=offset,
        is_control=True,
        is_transactional=in_txn,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        **fields,  # type: ignore[arg-type]  # of any field's type
    )


_VALUE = struct.pack(">hi", 0, 0)


@each(
    ("one", "code", "severity", "forecast", "found"),
    [
        (record(value=_VALUE), "control-key-null", "error", "die", "null"),
        (control_record(control_type=1, value=_VALUE, key_size=3), "control-key-short", "error", "die", "000000"),
        (control_record(control_type=1, value=_VALUE, key_size=4), None, "", "", ""),
        (commit_record(key_version=-1), "control-version-negative", "error", "die", "ffff0001"),
        (commit_record(version=-1), "control-version-negative", "error", "die", "ffff00000000"),
        (commit_record(version=1), None, "", "", ""),
        (control_record(control_type=1, value=None), "control-value-short", "error", "die", "null"),
        (control_record(control_type=1, value=_VALUE[:5]), "control-value-short", "error", "die", "0000000000"),
        (control_record(control_type=0, value=_VALUE), None, "", "", ""),
        (control_record(control_type=2, value=_VALUE), "control-type-unknown", "error", "die", "2"),
        (control_record(control_type=6, value=_VALUE), "control-type-unknown", "error", "die", "6"),
        (control_record(control_type=-1, value=_VALUE), "control-type-unknown", "error", "die", "-1"),
    ],
)
def test_a_marker_says_what_a_marker_can_say(
    tmp_path: Path, one: Record, code: str | None, severity: str, forecast: str, found: str
) -> None:
    pieces = [_data(0, 0, in_txn=True), _control(1, one), _plain(2)]
    told = _of(tmp_path, pieces)
    assert [(row.code, row.severity, row.broker_forecast.partition(" ")[0], row.found) for row in told] == (
        [] if code is None else [(code, severity, forecast, found)]
    )
    if told:
        start, end = _at(pieces, 1)
        assert (told[0].start, told[0].end) == (start if code == "control-type-unknown" else start + 61, end)
        assert (told[0].offset_first, told[0].offset_last) == (1, 1)


def test_what_a_marker_says_is_not_read_where_checksums_are_not(tmp_path: Path) -> None:
    odd = _control(1, control_record(control_type=1, value=_VALUE, key_size=3))
    assert _of(tmp_path, [_data(0, 0, in_txn=True), odd], "control-key-short", level="quick") == []


@each(
    ("one", "code", "severity", "forecast"),
    [
        (control_record(control_type=7, value=b""), "control-type-unknown", "warning", "ignore"),
        (control_record(control_type=-1, value=b""), "control-type-unknown", "warning", "ignore"),
        (control_record(control_type=4, value=b"\0\0"), "control-value-short", "error", "blind"),
        (control_record(control_type=4, value=b"\0\0\0"), None, "", ""),
        (control_record(control_type=4, value=b"\0\1"), None, "", ""),  # a newer version may be shorter
        (record(value=b""), "control-key-null", "error", "blind"),
    ],
)
def test_a_note_of_a_quorum_says_what_it_can_say(
    tmp_path: Path, one: Record, code: str | None, severity: str, forecast: str
) -> None:
    told = [row for row in _of(tmp_path, [_control(0, one, producer=-1, in_txn=False)]) if row.code != "control-batch-shape"]
    assert [(row.code, row.severity, row.broker_forecast.partition(" ")[0]) for row in told] == (
        [] if code is None else [(code, severity, forecast)]
    )


@each(
    ("control", "words"),
    [
        (_control(0, commit_record()), None),
        (_control(0, commit_record(), in_txn=False), "The control batch at offset 0 is not flagged as transactional."),
        (
            _control(0, commit_record(), producer=-1, in_txn=False),
            "The control batch at offset 0 has no producer id, so it ends no transaction.",
        ),
        (
            _control(0, commit_record(), abort_record()),
            "The control batch at offset 0 says it holds 2 records, of which a broker only reads the first.",
        ),
        (_control(0, commit_record(), codec="gzip"), "The control batch at offset 0 is compressed (gzip)."),
        (_control(0, control_record(control_type=3, value=bytes(11)), producer=-1, in_txn=False), None),
        (
            _control(0, control_record(control_type=3, value=bytes(11)), producer=-1, in_txn=False, codec="gzip"),
            "The control batch at offset 0 is compressed (gzip).",
        ),
        (
            _control(0),
            "The control batch at offset 0 is empty: the cleaner removed its marker and kept the batch for its producer epoch.",
        ),
    ],
)
@each("level", ["full", "deep"])
def test_a_control_batch_has_the_shape_of_one(tmp_path: Path, control: bytes, words: str | None, level: str) -> None:
    found = _of(tmp_path, [control], "control-batch-shape", level=level)
    assert [(one.start, one.end, one.message) for one in found] == ([] if words is None else [(0, len(control), words)])
    is_empty = words is not None and " is empty: " in words
    assert [one.severity for one in found] == ["info" if is_empty else "warning"] * len(found)


# --- producer snapshots


def _entry(producer: int = 7, *, epoch: int = 0, sequence: int = 1, opened: int = -1, last_offset: int = 1) -> bytes:
    return producer_entry(
        producer_id=producer,
        producer_epoch=epoch,
        last_sequence=sequence,
        last_offset=last_offset,
        current_txn_first_offset=opened,
    )


def _snapshot_of(tmp_path: Path, entry: list[bytes], *, in_txn: bool = False, start: int = 0) -> list[Finding]:
    """What is found of a snapshot of offset 2 after two batches of producer 7."""
    segments = {
        start: [_data(start, 0, in_txn=in_txn), _data(start + 1, 1, in_txn=in_txn)],
        start + 2: [_data(start + 2, 2, in_txn=in_txn)],
    }
    directory = write_partition(tmp_path, segments=segments, producer_snapshots={start + 2: entry})
    return [one for one in _findings(directory) if one.code.startswith("snapshot-")]


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
def test_a_snapshot_says_what_the_log_up_to_it_says(
    tmp_path: Path, entry: bytes, in_txn: bool, expected: str | None, found: str | None
) -> None:
    told = _snapshot_of(tmp_path, [entry], in_txn=in_txn)
    assert [(one.code, one.severity, one.start, one.end, one.expected, one.found) for one in told] == (
        [] if expected is None else [("snapshot-disagrees", "warning", 10, 56, expected, found)]
    )
    if told and len(told[0].expected or "") < 20:
        assert told[0].message.endswith(f": the log up to offset 2 shows {expected}; the snapshot has {found}.")


def test_an_open_transaction_that_a_snapshot_does_not_have_is_reported(tmp_path: Path) -> None:
    (found,) = _snapshot_of(tmp_path, [], in_txn=True)
    assert (found.code, found.start, found.end) == ("snapshot-disagrees", 0, 10)
    assert (found.expected, found.found) == ("a transaction open since offset 0", "no such producer")


def test_of_a_log_whose_start_is_gone_a_snapshot_may_know_more(tmp_path: Path) -> None:
    assert _snapshot_of(tmp_path, [_entry(8), _entry(9, opened=3)], start=40) == []
    (tmp_path / "2").mkdir()
    assert [one.expected for one in _snapshot_of(tmp_path / "2", [_entry(opened=39)], start=40)] == []
    (tmp_path / "3").mkdir()
    assert [one.expected for one in _snapshot_of(tmp_path / "3", [_entry(opened=40)], start=40)] == ["no open transaction"]


def test_a_snapshot_is_compared_only_where_the_log_is_whole(tmp_path: Path) -> None:
    wrong = [_entry(sequence=9)]
    damage = b"no batch " * 20
    for number, pieces in enumerate(
        ([_data(0, 0), _data(2, 1)], [_data(0, 0), damage, _data(2, 1)], [_data(0, 0), damage, _data(1, 1), _data(2, 2)])
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        directory = write_partition(folder, segments={0: [_data(0, 0)], 3: [_data(3, 2)]}, producer_snapshots={3: wrong})
        (directory / LOG).write_bytes(b"".join(pieces))
        assert "snapshot-disagrees" not in _codes(_findings(directory))
        assert "snapshot-disagrees" not in _codes(_findings(directory, level="quick"))


@each(
    ("snapshots", "stray"),
    [
        ([0, 2, 4], []),
        ([3], [(3, "left over")]),
        ([5], []),
        ([5, 6], [(5, "of an earlier clean stop than that of offset 6")]),
        ([4, 9], []),
        ([1, 4], [(1, "left over")]),
    ],
)
def test_a_snapshot_is_of_the_start_of_a_segment_or_of_the_last_stop(
    tmp_path: Path, snapshots: list[int], stray: list[tuple[int, str]]
) -> None:
    segments = {base: [_plain(base), _plain(base + 1)] for base in (0, 2, 4)}
    directory = write_partition(tmp_path, segments=segments, producer_snapshots={offset: [] for offset in snapshots})
    found = [one for one in _findings(directory, is_pedantic=True) if one.code == "snapshot-stray"]
    assert [(one.severity, one.start, one.end, one.offset_first, one.message) for one in found] == [
        ("info", 0, 10, offset, f"No segment starts at offset {offset}: the snapshot is {why}, and no longer of any use.")
        for offset, why in stray
    ]


def _counted(path: Path) -> tuple[int, ...]:
    """Entries intact, salvaged and lost, then bytes likewise."""
    (report,) = (row for row in _rows(path) if isinstance(row, FileReport))
    return (
        report.batches_intact,
        report.batches_salvaged,
        report.batches_lost,
        report.bytes_intact,
        report.bytes_salvaged,
        report.bytes_damaged,
    )


_TWO = [_entry(7), _entry(8)]
_SOUND = producer_snapshot(entries=_TWO)
assert len(_SOUND) == 10 + 2 * 46


@each(
    ("data", "told", "counted"),
    [
        (_SOUND, [], (2, 0, 0, 102, 0, 0)),
        (b"", [("snapshot-truncated", "error", 0, 0, None, None, "10", "0")], (0, 0, 0, 0, 0, 0)),
        (_SOUND[:9], [("snapshot-truncated", "error", 0, 9, None, None, "10", "9")], (0, 0, 0, 0, 0, 9)),
        (_SOUND[:10], [("snapshot-count-absurd", "error", 6, 10, None, None, "0", "2")], (0, 0, 0, 0, 10, 0)),
        (_SOUND[:101], [("snapshot-truncated", "error", 56, 101, None, None, "102", "101")], (0, 1, 0, 0, 56, 45)),
        (
            _SOUND[:-1] + b"\1",
            [("snapshot-crc-mismatch", "error", 0, 102, None, None, "0x{stored}", "0x{computed}")],
            (0, 2, 0, 0, 102, 0),
        ),
        (
            producer_snapshot(entries=_TWO, entry_count=92),
            [("snapshot-truncated", "error", 102, 102, None, None, str(10 + 92 * 46), "102")],
            (0, 2, 0, 0, 102, 0),
        ),
        (
            producer_snapshot(entries=_TWO, entry_count=93),
            [("snapshot-count-absurd", "error", 6, 10, None, None, "2", "93")],
            (0, 2, 0, 0, 102, 0),
        ),
        (
            producer_snapshot(entries=_TWO, entry_count=-1),
            [("snapshot-count-absurd", "error", 6, 10, None, None, "2", "-1")],
            (0, 2, 0, 0, 102, 0),
        ),
        (
            producer_snapshot(entries=_TWO, version=2),
            [("snapshot-version-unknown", "error", 0, 2, None, None, "1", "2")],
            (0, 2, 0, 0, 102, 0),
        ),
        (
            producer_snapshot(entries=_TWO, version=2, crc=1),
            [("snapshot-version-unknown", "error", 0, 2, None, None, "1", "2")],
            (0, 0, 0, 0, 0, 102),
        ),
        (_SOUND + b"xyz", [("snapshot-trailing-bytes", "error", 102, 105, None, None, None, None)], (2, 0, 0, 102, 0, 3)),
        (
            producer_snapshot(entries=_TWO, trailing=b"xyz"),
            [("snapshot-trailing-bytes", "error", 102, 105, None, None, None, None)],
            (2, 0, 0, 102, 0, 3),
        ),
        (
            producer_snapshot(entries=[*_TWO, _entry(7, epoch=1)]),
            [("snapshot-duplicate-producer", "warning", 102, 148, None, None, None, "7")],
            (3, 0, 0, 148, 0, 0),
        ),
    ],
)
def test_a_snapshot_is_checked_by_its_size_checksum_and_count(
    tmp_path: Path, data: bytes, told: list[Told], counted: tuple[int, ...]
) -> None:
    path = tmp_path / SNAPSHOT
    path.write_bytes(data)
    found = _findings(path)
    if found and found[0].code == "snapshot-crc-mismatch":
        assert found[0].found == f"0x{data[2:6].hex()}"
        told = [(*told[0][:6], found[0].expected, found[0].found)]
    assert _told(found) == told
    assert _counted(path) == counted


@each(
    ("data", "forecast", "words"),
    [
        (_SOUND + b"xyz", "delete", "; the checksum matches without them, but not with them, as a broker computes it."),
        (producer_snapshot(entries=_TWO, trailing=b"xyz"), "ignore", "; the checksum covers them, so a broker accepts the file."),
        (producer_snapshot(entries=_TWO, trailing=b"xyz", crc=1), "delete", "."),
    ],
)
def test_bytes_after_the_last_entry_are_rated_by_what_the_checksum_covers(
    tmp_path: Path, data: bytes, forecast: str, words: str
) -> None:
    path = tmp_path / SNAPSHOT
    path.write_bytes(data)
    (found,) = (one for one in _findings(path) if one.code == "snapshot-trailing-bytes")
    assert found.message == f"3 bytes follow the last entry{words}"
    assert found.broker_forecast.partition(" ")[0] == forecast
    assert ("snapshot-crc-mismatch" in _codes(_findings(path))) == (words == ".")
    (unread,) = (one for one in _findings(path, level="quick") if one.code.startswith("snapshot-"))
    assert (unread.message, unread.broker_forecast) == ("3 bytes follow the last entry.", "delete"), "no checksum is read"
