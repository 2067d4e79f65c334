"""Records as columns are the records that `records.read` finds, whatever the batches."""

from typing import Any

import pytest
from hypothesis import given

from kdump.binary.columns_reference import RECORD_COLUMNS
from kdump.errors import CorruptData
from kdump.formats import record_columns
from kdump.formats.log import Log
from kdump.reading.records import UnreadableBatch, past_bad_batches
from tests.builders.records import batch, record
from tests.support import BATCHES, LOGS, damaged, opened, values_of

pytestmark = pytest.mark.both_kernels


def _found(data: bytes, columns: Any) -> tuple[list[Any], list[Any]]:
    """The records with the positions of their batches, and what could not be read."""
    rows: list[Any] = []
    faults: list[Any] = []
    with opened(data) as source:
        log = Log(source)
        try:
            for chunk in log.chunks():
                for part in past_bad_batches(source, chunk, columns=columns):
                    if isinstance(part, UnreadableBatch):
                        faults.append((part.position, part.fault.code, part.fault.message, len(rows)))
                        continue
                    positions = [
                        at for at, count in zip(part.batches["position"], part.counts, strict=True) for _ in range(count)
                    ]
                    rows += zip(positions, map(values_of, part.records), strict=True)
        except CorruptData as error:  # no batch, but the end of the log
            faults.append((error.code, error.message))
    return rows, faults


@given(damaged(LOGS | BATCHES))
def test_they_are_the_records_of_the_log(data: bytes) -> None:
    assert _found(data, RECORD_COLUMNS) == _found(data, None)
    assert _found(data, ()) == _found(data, None)


def test_batches_between_those_that_cannot_be_read_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    good = [batch(records=[record(key=b"%d" % at, value=b"v" * at)] * at, base_offset=10 * at, codec="gzip") for at in range(6)]
    odd = batch(records=[record(value=b"odd", headers=[(b"\xff", b"1")])], base_offset=70)
    bad = bytearray(batch(records=[record(value=b"bad")] * 2, base_offset=80))
    bad[-1] ^= 0x7F
    data = good[1] + odd + good[2] + bad + good[0] + bad + odd + good[5] + good[3] + odd + odd + good[4] + bad
    wanted = _found(data, None)
    assert len(wanted[0]) == 1 + 1 + 2 + 1 + 1 + 1 + 5 + 3 + 1 + 1 + 4 + 1
    assert [position for position, *_ in wanted[1]] == [at for at in range(len(data)) if data.startswith(bad, at)]
    for rows in (1, 2, 3, 1 << 14):
        for held in (1, 100, 4 << 20):
            monkeypatch.setattr(record_columns, "MAX_ROWS", rows)
            monkeypatch.setattr(record_columns, "_MAX_HELD_BYTES", held)
            assert _found(data, ("offset", "key")) == wanted
