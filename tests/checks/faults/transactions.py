"""Faults of control batches, transactions and producers."""

import struct
from typing import Any

from tests.builders.files import aborted_transaction, file_name
from tests.builders.records import TIMESTAMP, Record, batch, commit_record, control_record, record, transaction_marker

from .case import WHOLE_FILE, Files, case, error, info, partition_files, warning

_LOG = file_name(0, ".log")
_MINUTE = 60_000


def _data(base_offset: int, sequence: int = 0, *, count: int = 1, epoch: int = 0, in_txn: bool = True, minutes: int = 0) -> bytes:
    """A data batch of producer 7."""
    records = [record(value=b"value", timestamp=TIMESTAMP + minutes * _MINUTE)] * count
    producer: dict[str, Any] = {"producer_id": 7, "producer_epoch": epoch, "base_sequence": sequence}
    return batch(records=records, base_offset=base_offset, is_transactional=in_txn, **producer)


def _sent(base_offset: int, sequence: int, *, count: int = 1, epoch: int = 0) -> bytes:
    """A batch that producer 7 wrote outside of transactions."""
    return _data(base_offset, sequence, count=count, epoch=epoch, in_txn=False)


def _plain(base_offset: int, minutes: int) -> bytes:
    """A batch of no producer, so many minutes after the others."""
    return batch(records=[record(value=b"later", timestamp=TIMESTAMP + minutes * _MINUTE)], base_offset=base_offset)


def _marker(base_offset: int, **fields: Any) -> bytes:
    return transaction_marker(base_offset=base_offset, producer_id=7, **fields)


def _control(base_offset: int, *records: Record, in_txn: bool = True) -> bytes:
    return batch(
        records=records, base_offset=base_offset, is_control=True, is_transactional=in_txn, producer_id=7, producer_epoch=0
    )


def _kraft(*records: Record, in_txn: bool = False) -> bytes:
    return batch(records=records, is_control=True, is_transactional=in_txn)


def _log(*batches: bytes) -> Files:
    return {_LOG: b"".join(batches)}


def _size(count: int) -> int:
    """The bytes of a batch of so many records of `_data`."""
    return 61 + count * 12


_DATA, _MARKER = len(_data(0)), len(_marker(0))
_COMMITTED = _log(_data(0), _marker(1))
_COMMIT = struct.pack(">hi", 0, 0)

_HANGING = {0: [_data(0, count=2, minutes=-21)], 2: [_plain(2, -10)], 3: [_plain(3, 0)]}
_RUNNING = {0: [_data(0, count=2, minutes=-20)], 2: [_plain(2, -10)], 3: [_plain(3, 0)]}

_ABORTED = {0: [_data(0)], 1: [_marker(1, is_commit=False), _plain(2, 0)]}
_COMPRESSED_ABORT = {0: [_data(0)], 1: [_marker(1, is_commit=False, codec="gzip"), _plain(2, 0)]}
_ABORTED_ENTRY = aborted_transaction(producer_id=7, first_offset=0, last_offset=1, last_stable_offset=0)

CASES = (
    case(
        "control-key-short",
        _log(_data(0), _control(1, control_record(control_type=1, value=_COMMIT, key_size=3))),
        error((_DATA + 61, _DATA + _MARKER - 1), offsets=(1, 1), found="000000"),
        _log(_data(0), _control(1, control_record(control_type=1, value=_COMMIT, key_size=5))),
    ),
    case(
        "control-key-null",
        _log(_data(0), _control(1, record(value=_COMMIT))),
        error((_DATA + 61, _DATA + _MARKER - 4), offsets=(1, 1), found="null"),
        _COMMITTED,
    ),
    case(
        "control-version-negative",
        _log(_data(0), _control(1, commit_record(key_version=-1))),
        error((_DATA + 61, _DATA + _MARKER), offsets=(1, 1), found="ffff0001"),
        _log(_data(0), _control(1, commit_record(key_version=1))),
    ),
    case(
        "control-type-unknown",
        _log(_data(0), _control(1, control_record(control_type=2, value=_COMMIT))),
        error((_DATA, _DATA + _MARKER), offsets=(1, 1), expected="0 or 1", found="2"),
        _COMMITTED,
    ),
    case(
        "control-type-unknown: without-producer",
        _log(_kraft(control_record(control_type=7))),
        warning(WHOLE_FILE, offsets=(0, 0), found="7"),
        _log(_kraft(control_record(control_type=4, value=b"\0\0\0"))),
    ),
    case(
        "control-value-short",
        _log(_data(0), _control(1, control_record(control_type=1, value=_COMMIT[:5]))),
        error((_DATA + 61, _DATA + _MARKER - 1), offsets=(1, 1), found="00" * 5),
        _log(_data(0), _control(1, control_record(control_type=1, value=_COMMIT + b"more"))),
    ),
    case(
        "control-value-short: first-of-two",
        _log(_kraft(control_record(control_type=3, value=b"\0\0\0"), control_record(control_type=4, value=bytes(3)))),
        error((61, _MARKER - 3 + 14), offsets=(0, 0), found="000000"),
        _log(_kraft(control_record(control_type=3, value=bytes(11)), control_record(control_type=4, value=bytes(3)))),
    ),
    case(
        "control-batch-shape",
        _log(_data(0), _control(1, commit_record(), commit_record(), in_txn=False)),
        warning((_DATA, _DATA + 61 + 2 * 17), offsets=(1, 2)),
        _COMMITTED,
    ),
    case("txn-open", _log(_data(0), _plain(1, 60)), info((0, _DATA), offsets=(0, 0)), _COMMITTED),
    case(
        "txn-hanging",
        partition_files(_HANGING),
        error((0, _size(2)), file=_LOG, offsets=(0, 1)),
        partition_files(_RUNNING),
        near_also={"txn-open"},
    ),
    case(
        "marker-without-txn",
        _log(_marker(0), _data(1), _marker(2), _marker(3)),
        info((0, 3 * _MARKER + _DATA), offsets=(0, 3)),
        _log(_data(0), _marker(1), _data(2, 1), _marker(3)),
    ),
    case(
        "txn-nontransactional-write",
        _log(_data(0), _data(1, 1, in_txn=False), _marker(2)),
        error((_DATA, 2 * _DATA), offsets=(1, 1)),
        _log(_data(0), _marker(1), _data(2, 1, in_txn=False)),
    ),
    case(
        "txn-aborted-not-indexed",
        partition_files(_ABORTED),
        error((0, _MARKER), file=file_name(1, ".log"), offsets=(0, 1)),
        partition_files(_ABORTED, aborted_transactions={1: [_ABORTED_ENTRY]}),
    ),
    case(
        "txn-aborted-not-indexed: compressed",
        partition_files(_COMPRESSED_ABORT),
        error((0, len(_COMPRESSED_ABORT[1][0])), file=file_name(1, ".log"), offsets=(0, 1)),
        partition_files(_COMPRESSED_ABORT, aborted_transactions={1: [_ABORTED_ENTRY]}),
        also={"control-batch-shape": warning((0, len(_COMPRESSED_ABORT[1][0])), file=file_name(1, ".log"), offsets=(1, 1))},
        near_also={"control-batch-shape"},
    ),
    case(
        "coordinator-epoch-regression",
        _log(_data(0), _marker(1, coordinator_epoch=5), _data(2, 1), _marker(3, coordinator_epoch=4)),
        warning((2 * _DATA + _MARKER, 2 * (_DATA + _MARKER)), offsets=(3, 3), expected="5", found="4"),
        _log(_data(0), _marker(1, coordinator_epoch=5), _data(2, 1), _marker(3, coordinator_epoch=5)),
    ),
    # the near miss: as of KIP-890
    case(
        "producer-epoch-regression",
        _log(_sent(0, 0, epoch=2), _sent(1, 1, epoch=1)),
        warning((_DATA, 2 * _DATA), offsets=(1, 1), expected="2", found="1"),
        _log(_data(0, epoch=1), _marker(1, producer_epoch=2), _data(2, epoch=2), _marker(3, producer_epoch=3)),
    ),
    case(
        "sequence-gap",
        _log(_sent(0, 0, count=3), _sent(3, 4)),
        warning((_size(3), _size(3) + _DATA), offsets=(3, 3), expected="3", found="4"),
        _log(_sent(0, 40, count=3), _sent(3, 43), _sent(4, 0, epoch=1)),
    ),
    case(
        "sequence-duplicate",
        _log(_sent(0, 0, count=2), _sent(2, 2), _sent(3, 2), _sent(4, 3)),
        error((_size(2) + _DATA, _size(2) + 2 * _DATA), offsets=(3, 3), expected="3", found="2"),
        _log(_sent(0, 0, count=2), _sent(2, 2), _sent(3, 3)),
    ),
    case(
        "sequence-wrap",
        _log(_sent(0, 2147483647), _sent(1, 0), _sent(2, 1)),
        info((_DATA, 2 * _DATA), offsets=(1, 1)),
        _log(_sent(0, 2147483646), _sent(1, 2147483647)),
    ),
    # the near miss: aiokafka has sequences without id
    case(
        "producer-fields-odd",
        _log(_sent(0, -1), _sent(1, -1, epoch=-2), batch(records=[record()], base_offset=2, is_transactional=True)),
        (
            warning((0, _DATA), offsets=(0, 0)),
            *[warning((_DATA, 2 * _DATA), offsets=(1, 1))] * 2,
            warning((2 * _DATA, 2 * _DATA + 61 + 7), offsets=(2, 2)),
        ),
        _log(batch(records=[record()], base_sequence=0), _data(1), _marker(2)),
    ),
)
