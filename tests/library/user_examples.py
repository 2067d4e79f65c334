"""Typical code of users, for type checkers: mypy's strict mode finds no error, and every type is the one stated.

Each function is also run by test_documentation.py, at the root of the repository.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import assert_type

import kdump

PARTITION = Path("examples/orders-0")
SEGMENT = PARTITION / "00000000000000000007.log"


def batches() -> None:
    for batch in kdump.open(SEGMENT):
        assert_type(batch, kdump.RecordBatch)
        assert_type(batch.base_offset, int | None)
        assert_type(batch.last_offset, int)
        assert_type(batch.count, int | None)
        assert_type(batch.is_transactional, bool | None)
        assert_type(batch.timestamp_type, str)
        assert_type(batch.first_offset, int)


def a_block() -> None:
    with kdump.open(str(PARTITION)) as log:
        assert_type(log, kdump.Log)
        assert_type(log.segments, tuple[str, ...])
        assert_type(log.base_offset, int | None)
        assert_type(log.size, int)
    assert_type(log.closed, bool)


def records() -> None:
    for record in kdump.open(SEGMENT).records(from_offset=10):
        assert_type(record, kdump.Record)
        assert_type(record.key, bytes | None)
        assert_type(record.headers, tuple[tuple[bytes, bytes | None], ...] | None)
        assert_type(record.is_control, bool | None)
        assert_type(record.control_type, str | None)
        assert_type(record.position, int)


def tables() -> None:
    for table in kdump.open(SEGMENT).tables():
        assert_type(table, kdump.Table[kdump.RecordBatch])
        assert_type(len(table), int)
        assert_type(table.row(0), kdump.RecordBatch)
    for record_table in kdump.open(SEGMENT).record_tables():
        assert_type(record_table, kdump.Table[kdump.Record])


def salvage() -> None:
    for item in kdump.open(SEGMENT).salvage():
        if isinstance(item, kdump.Damage):
            assert_type(item.batch, kdump.RecordBatch | None)
            assert_type(item.error(), kdump.CorruptData)
        else:
            assert_type(item, kdump.SalvagedBatch)
            assert_type(item.status, str)
            assert_type(item.is_nested, bool)
            assert_type(item.claimed_length, int | None)
    assert_type(kdump.open(SEGMENT).salvage_records(), Iterator[kdump.SalvagedRecord | kdump.Damage])


def entries() -> None:
    stem = PARTITION / "00000000000000000007"
    with kdump.open(f"{stem}.index", "index") as index:
        assert_type(index, kdump.OffsetIndex)
        assert_type(list(index), list[kdump.OffsetIndexEntry])
        assert_type(index.base_offset, int)
        assert_type(len(index), int)
    assert_type(list(kdump.open(f"{stem}.timeindex", "timeindex")), list[kdump.TimeIndexEntry])
    assert_type(list(kdump.open(f"{stem}.txnindex", file_type="txnindex")), list[kdump.AbortedTransaction])
    assert_type(list(kdump.open(f"{stem}.snapshot", "snapshot")), list[kdump.ProducerState])
    epochs = kdump.open(PARTITION / "leader-epoch-checkpoint", "leader-epoch-checkpoint")
    assert_type(list(epochs), list[kdump.LeaderEpoch])
    assert_type(epochs.salvage(), Iterator[kdump.LeaderEpoch | kdump.Damage])


def rows_by_hand() -> None:
    epoch = kdump.LeaderEpoch(epoch=3, start_offset=120)
    assert epoch == kdump.LeaderEpoch(3, 120)
    assert_type(epoch.start_offset, int)
    assert_type(kdump.TimeIndexEntry(1700, 105).timestamp, int)


def errors() -> None:
    try:
        kdump.open("no-such-file.log")
    except kdump.CorruptData as error:
        assert_type(error.code, str)
    except kdump.Unreadable as error:
        assert_type(error.code, str)
        assert_type(error.path, str | None)
        assert_type(error.position, int | None)


def verdicts() -> None:
    for finding in kdump.check(PARTITION, level="full"):
        assert_type(finding, kdump.Finding)
        assert_type(finding.offset_first, int | None)
    for forecast in kdump.forecast(PARTITION):
        assert_type(forecast, kdump.Forecast)
    verdict = kdump.verdict(PARTITION)
    assert_type(verdict, kdump.Verdict)
    assert_type(verdict.words, list[str])


EXAMPLES: Sequence[object] = (
    batches, a_block, records, tables, salvage, entries, rows_by_hand, errors, verdicts,
)  # fmt: skip
