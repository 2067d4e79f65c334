"""What checks say of producers and transactions where a whole log, damage or the settings decide."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

from kdump.checks import producers
from kdump.cli.commands import main
from tests.builders.files import file_name, producer_entry, producer_snapshot
from tests.builders.records import TIMESTAMP, batch, record, transaction_marker
from tests.checks.findings import findings_of
from tests.loops import each

pytestmark = pytest.mark.both_kernels

Said = list[tuple[str, str, int]]
Capture = pytest.CaptureFixture[str]


def _write(folder: Path, segments: Mapping[int, Sequence[bytes]], snapshots: Mapping[int, bytes] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    for base_offset, batches in segments.items():
        (folder / file_name(base_offset, ".log")).write_bytes(b"".join(batches))
    for offset, snapshot in (snapshots or {}).items():
        (folder / file_name(offset, ".snapshot")).write_bytes(snapshot)
    return folder


def _said(path: Path, *codes: str, **settings: str) -> Said:
    """Findings of these codes: code, severity, first byte."""
    found = findings_of(path, *codes, now=TIMESTAMP + 3_600_000, **settings)
    return [(finding.code, finding.severity, finding.start) for finding in found]


def _of_txn(path: Path) -> Said:
    return _said(path, "txn-open", "txn-hanging")


def _data(base_offset: int, sequence: int, *, producer_id: int = 7, in_txn: bool = False, value: str = "") -> bytes:
    fields: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
    return batch(records=[record(value=value.encode())], base_offset=base_offset, is_transactional=in_txn, **fields)


def _later(base_offset: int, *, minutes: int) -> bytes:
    return batch(records=[record(timestamp=TIMESTAMP + minutes * 60_000)], base_offset=base_offset)


@each(("policy", "severity"), [("unknown", "info"), ("compact", "info"), ("delete", "warning")])
def test_sequences_may_be_missing_where_offsets_are_unless_nothing_is_cleaned(tmp_path: Path, policy: str, severity: str) -> None:
    folder = _write(tmp_path, {0: [_data(0, 0), _data(5, 5)]})
    assert _said(folder, "sequence-gap", cleanup_policy=policy) == [("sequence-gap", severity, 68)]


@each(
    ("segments", "told"),
    [
        ({0: [_data(0, 0)], 1: [_data(1, 0, producer_id=8)], 2: [_data(2, 2)]}, ("sequence-gap", "warning", 0)),
        ({0: [_data(0, 4)], 1: [_data(1, 5)], 2: [_data(2, 4)], 3: [_data(3, 6)]}, ("sequence-duplicate", "error", 0)),
        ({0: [_data(0, 0, value="one"), _data(1, 0, value="two")]}, ("sequence-gap", "info", 71)),  # it started again
        ({0: [_data(0, 0), _data(1, 1)[:-1] + b"X", _data(2, 2)]}, ("sequence-gap", "info", 136)),
        ({0: [_data(0, 0, producer_id=8), _data(5, 5), _data(6, 9)]}, ("sequence-gap", "warning", 136)),
    ],
)
def test_a_batch_is_seen_to_be_missing_or_to_come_twice(tmp_path: Path, segments: dict[int, list[bytes]], told: object) -> None:
    assert _said(_write(tmp_path, segments), "sequence-duplicate", "sequence-gap") == [told]


def test_offsets_committed_by_a_coordinator_all_have_sequence_0(tmp_path: Path) -> None:
    committed = [_data(0, 0, in_txn=True), _data(1, 0, in_txn=True), transaction_marker(base_offset=2, producer_id=7)]
    for topic in ("__consumer_offsets", "__transaction_state", "__share_group_state"):
        folder = _write(tmp_path / f"{topic}-7", {0: committed})
        assert _said(folder, "sequence-duplicate", "sequence-gap", "txn-open") == []


def test_an_open_transaction_says_how_far_the_log_went_on_as_does_the_verdict(tmp_path: Path, capfd: Capture) -> None:
    folder = _write(tmp_path, {0: [_data(0, 0, in_txn=True)], 1: [_later(1, minutes=3)]})
    assert main(["check", str(folder)]) == 0
    out = " ".join(capfd.readouterr().out.split())
    assert "The log continues for 3 min and 1 offset: read-committed consumers wait at offset 0." in out
    assert "Verdict: fine, except for an open transaction, at which read-committed consumers wait. Exit status 0." in out
    (folder / file_name(1, ".log")).unlink()
    assert main(["check", str(folder)]) == 0
    assert "The log continues" not in capfd.readouterr().out


def test_a_transaction_hangs_only_if_all_of_the_log_after_it_was_read(tmp_path: Path) -> None:
    opened = _data(0, 0, in_txn=True)
    damaged = _later(1, minutes=0)[:-1] + b"X"
    for number, first in enumerate(([opened], [opened, damaged])):
        folder = _write(tmp_path / str(number), {0: first, 2: [_later(2, minutes=30)]})
        assert _of_txn(folder) == [("txn-open", "info", 0)]
    folder = _write(tmp_path, {0: [opened, _later(1, minutes=30)]})
    assert _of_txn(folder / file_name(0, ".log")) == [("txn-open", "info", 0)]  # a segment alone


def test_timestamps_in_the_future_make_no_transaction_hang(tmp_path: Path) -> None:
    folder = _write(tmp_path, {0: [_data(0, 0, in_txn=True), _later(1, minutes=600)]})
    assert _of_txn(folder) == [("txn-open", "info", 0)]


def test_too_many_producers_are_forgotten_from_the_first_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producers, "MAX_PRODUCERS", 4)
    first = [_data(number, 0, producer_id=number) for number in range(5)]
    # of 0 and 1 nothing is known any more, of 2 and 4 it is
    second = [_data(5 + number, 9, producer_id=producer_id) for number, producer_id in enumerate((0, 2, 4))]
    folder = _write(tmp_path, {0: [*first, *second]})
    assert [code for code, _, _ in _said(folder, "sequence-gap")] == ["sequence-gap", "sequence-gap"]


def test_the_last_of_very_many_producers_in_a_snapshot_is_compared(tmp_path: Path) -> None:
    count = 262_145
    others = [struct.pack(">qhiqiqiq", 1000 + row, 0, 0, 10, 0, TIMESTAMP, -1, -1) for row in range(count - 2)]
    first, last = (producer_entry(producer_id=7, producer_epoch=0, last_sequence=one, last_offset=10) for one in (0, 5))
    entries = struct.pack(">i", count) + first + b"".join(others) + last
    snapshot = struct.pack(">hI", 1, crc32c(entries)) + entries
    path = _write(tmp_path, {10: [_data(10, 0)], 11: [_data(11, 1)]}, {11: snapshot})
    start = 10 + (count - 1) * 46
    assert _said(path, "snapshot-disagrees", "snapshot-duplicate-producer") == [
        ("snapshot-duplicate-producer", "warning", start),
        ("snapshot-disagrees", "warning", start),
    ]


@each(
    ("count", "is_empty", "named", "more"),
    [
        *((30, False, 84, "13 more producers"), (30, True, 85, "14 more producers")),
        *((18, False, 84, "1 more producer"), (17, False, 84, "")),
    ],
)
def test_a_snapshot_names_some_of_the_producers_in_transactions_that_it_lacks_and_counts_the_others(
    tmp_path: Path, count: int, is_empty: bool, named: int, more: str
) -> None:
    batches = [_data(offset, 0, producer_id=100 - offset, in_txn=True) for offset in range(count)]
    held = producer_snapshot(entries=[producer_entry(producer_id=100, current_txn_first_offset=0)] * (not is_empty))
    path = _write(tmp_path, {0: batches, count: [_data(count, 0, producer_id=7)]}, {count: held})
    messages = [row.message for row in findings_of(path, "snapshot-disagrees", now=TIMESTAMP + 3_600_000)]
    assert [message.partition(":")[0] for message in messages[:16]] == [f"Producer {named + row}" for row in range(16)]
    end = "with an open transaction; the snapshot has none of them."
    assert messages[16:] == [f"The log up to offset {count} shows {more} {end}"] * bool(more)
