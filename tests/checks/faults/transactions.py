"""Faults of control batches, transactions and producers."""

import struct
from collections.abc import Sequence

from tests.builders.compression import Codec
from tests.builders.files import aborted_transaction, file_name
from tests.builders.records import TIMESTAMP, Record, batch, commit_record, control_record, record, transaction_marker

from .case import WHOLE_FILE, FaultCase, Files, error, info, partition_files, warning

_LOG = file_name(0, ".log")
_MINUTE = 60_000


def _data(base_offset: int, sequence: int = 0, *, count: int = 1, epoch: int = 0, in_txn: bool = True, minutes: int = 0) -> bytes:
    """A data batch of producer 7."""
    records = [record(value=b"value", timestamp=TIMESTAMP + minutes * _MINUTE) for _ in range(count)]
    return batch(
        records=records,
        base_offset=base_offset,
        producer_id=7,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=in_txn,
    )


def _sent(base_offset: int, sequence: int, *, count: int = 1, epoch: int = 0) -> bytes:
    """A batch that producer 7 wrote outside of transactions."""
    return _data(base_offset, sequence, count=count, epoch=epoch, in_txn=False)


def _plain(base_offset: int, minutes: int) -> bytes:
    """A batch of no producer, so many minutes after the others."""
    return batch(records=[record(value=b"later", timestamp=TIMESTAMP + minutes * _MINUTE)], base_offset=base_offset)


def _marker(
    base_offset: int, *, is_commit: bool = True, epoch: int = 0, coordinator_epoch: int = 0, codec: Codec = "none"
) -> bytes:
    return transaction_marker(
        is_commit=is_commit,
        base_offset=base_offset,
        producer_id=7,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        codec=codec,
    )


def _control(
    base_offset: int, records: Sequence[Record], *, producer_id: int = 7, in_txn: bool = True, codec: Codec = "none"
) -> bytes:
    return batch(
        records=records,
        base_offset=base_offset,
        is_control=True,
        is_transactional=in_txn,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        codec=codec,
    )


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
    FaultCase(
        "control-key-short",
        shown=_log(_data(0), _control(1, [control_record(control_type=1, value=_COMMIT, key_size=3)])),
        at=error((_DATA + 61, _DATA + _MARKER - 1), offsets=(1, 1), found="000000"),
        near_miss=_log(_data(0), _control(1, [control_record(control_type=1, value=_COMMIT, key_size=5)])),
    ),
    FaultCase(
        "control-key-null",
        shown=_log(_data(0), _control(1, [record(value=_COMMIT)])),
        at=error((_DATA + 61, _DATA + _MARKER - 4), offsets=(1, 1), found="null"),
        near_miss=_COMMITTED,
    ),
    FaultCase(
        "control-version-negative",
        shown=_log(_data(0), _control(1, [commit_record(key_version=-1)])),
        at=error((_DATA + 61, _DATA + _MARKER), offsets=(1, 1), found="ffff0001"),
        near_miss=_log(_data(0), _control(1, [commit_record(key_version=1)])),
    ),
    FaultCase(
        "control-version-negative",
        shown=_log(_data(0), _control(1, [commit_record(version=-1)])),
        at=error((_DATA + 61, _DATA + _MARKER), offsets=(1, 1), found="ffff00000000"),
        near_miss=_log(_data(0), _control(1, [commit_record(version=1)])),
        name="value",
    ),
    FaultCase(
        "control-type-unknown",
        shown=_log(_data(0), _control(1, [control_record(control_type=2, value=_COMMIT)])),
        at=error((_DATA, _DATA + _MARKER), offsets=(1, 1), expected="0 or 1", found="2"),
        near_miss=_COMMITTED,
    ),
    FaultCase(
        "control-type-unknown",
        shown=_log(_control(0, [control_record(control_type=7)], producer_id=-1, in_txn=False)),
        at=warning(WHOLE_FILE, offsets=(0, 0), found="7"),
        near_miss=_log(_control(0, [control_record(control_type=4, value=b"\0\0\0")], producer_id=-1, in_txn=False)),
        name="without-producer",
    ),
    FaultCase(
        "control-value-short",
        shown=_log(_data(0), _control(1, [control_record(control_type=1, value=_COMMIT[:5])])),
        at=error((_DATA + 61, _DATA + _MARKER - 1), offsets=(1, 1), found="00" * 5),
        near_miss=_log(_data(0), _control(1, [control_record(control_type=1, value=_COMMIT + b"more")])),
    ),
    FaultCase(
        "control-value-short",
        shown=_log(_control(0, [control_record(control_type=3, value=b"\0\0\0")], producer_id=-1, in_txn=False)),
        at=error((61, _MARKER - 3), offsets=(0, 0), found="000000"),
        near_miss=_log(_control(0, [control_record(control_type=3, value=bytes(11))], producer_id=-1, in_txn=False)),
        name="kraft",
    ),
    FaultCase(
        "control-value-short",
        shown=_log(
            _control(
                0,
                [control_record(control_type=3, value=b"\0\0\0"), control_record(control_type=4, value=bytes(3))],
                producer_id=-1,
                in_txn=False,
            )
        ),
        at=error((61, _MARKER - 3 + 14), offsets=(0, 0), found="000000"),
        near_miss=_log(
            _control(
                0,
                [control_record(control_type=3, value=bytes(11)), control_record(control_type=4, value=bytes(3))],
                producer_id=-1,
                in_txn=False,
            )
        ),
        name="first-of-two",
    ),
    FaultCase(
        "control-batch-shape",
        shown=_log(_data(0), _control(1, [commit_record(), commit_record()], in_txn=False)),
        at=warning((_DATA, _DATA + 61 + 2 * 17), offsets=(1, 2)),
        near_miss=_COMMITTED,
    ),
    FaultCase(
        "control-batch-shape",
        shown=_log(_control(0, [commit_record()], producer_id=-1)),
        at=warning(WHOLE_FILE, offsets=(0, 0)),
        near_miss=_log(
            _control(
                0,
                [control_record(control_type=3, value=bytes(11)), control_record(control_type=4, value=bytes(3))],
                producer_id=-1,
                in_txn=False,
            )
        ),
        name="without-producer",
    ),
    FaultCase(
        "control-batch-shape",
        shown=_log(_control(0, [])),
        at=info(WHOLE_FILE, offsets=(0, 0)),
        near_miss=_COMMITTED,
        name="empty",
    ),
    FaultCase("txn-open", shown=_log(_data(0), _plain(1, 60)), at=info((0, _DATA), offsets=(0, 0)), near_miss=_COMMITTED),
    FaultCase(
        "txn-open",
        shown=partition_files({0: [_data(0)], 1: [_data(1, 1), _plain(2, 5)]}),
        at=info((0, _DATA), file=_LOG, offsets=(0, 1)),
        near_miss=partition_files({0: [_data(0)], 1: [_marker(1), _plain(2, 60)]}),
        name="across-segments",
    ),
    FaultCase(
        "txn-hanging",
        shown=partition_files(_HANGING),
        at=error((0, _size(2)), file=_LOG, offsets=(0, 1)),
        near_miss=partition_files(_RUNNING),
        near_also={"txn-open"},
    ),
    FaultCase(
        "marker-without-txn",
        shown=_log(_marker(0), _data(1), _marker(2), _marker(3)),
        at=info((0, 3 * _MARKER + _DATA), offsets=(0, 3)),
        near_miss=_log(_data(0), _marker(1), _data(2, 1), _marker(3)),
    ),
    FaultCase(
        "txn-nontransactional-write",
        shown=_log(_data(0), _data(1, 1, in_txn=False), _marker(2)),
        at=error((_DATA, 2 * _DATA), offsets=(1, 1)),
        near_miss=_log(_data(0), _marker(1), _data(2, 1, in_txn=False)),
    ),
    FaultCase(
        "txn-aborted-not-indexed",
        shown=partition_files(_ABORTED),
        at=error((0, _MARKER), file=file_name(1, ".log"), offsets=(0, 1)),
        near_miss=partition_files(_ABORTED, aborted_transactions={1: [_ABORTED_ENTRY]}),
    ),
    FaultCase(
        "txn-aborted-not-indexed",
        shown=partition_files(_COMPRESSED_ABORT),
        at=error((0, len(_COMPRESSED_ABORT[1][0])), file=file_name(1, ".log"), offsets=(0, 1)),
        also={"control-batch-shape": warning((0, len(_COMPRESSED_ABORT[1][0])), file=file_name(1, ".log"), offsets=(1, 1))},
        near_miss=partition_files(_COMPRESSED_ABORT, aborted_transactions={1: [_ABORTED_ENTRY]}),
        near_also={"control-batch-shape"},
        name="compressed",
    ),
    FaultCase(
        "txn-aborted-not-indexed",
        shown=partition_files(
            {0: [_data(0), _marker(1, is_commit=False), _data(2, 1), _marker(3, is_commit=False)]},
            aborted_transactions={0: [_ABORTED_ENTRY]},
        ),
        at=error((2 * _DATA + _MARKER, 2 * (_DATA + _MARKER)), file=_LOG, offsets=(2, 3)),
        near_miss=partition_files(
            {0: [_data(0), _marker(1, is_commit=False), _marker(2, is_commit=False)]},  # the second aborts nothing
            aborted_transactions={0: [_ABORTED_ENTRY]},
        ),
        near_also={"marker-without-txn"},
        name="one-of-two",
    ),
    FaultCase(
        "coordinator-epoch-regression",
        shown=_log(_data(0), _marker(1, coordinator_epoch=5), _data(2, 1), _marker(3, coordinator_epoch=4)),
        at=warning((2 * _DATA + _MARKER, 2 * (_DATA + _MARKER)), offsets=(3, 3), expected="5", found="4"),
        near_miss=_log(_data(0), _marker(1, coordinator_epoch=5), _data(2, 1), _marker(3, coordinator_epoch=5)),
    ),
    FaultCase(
        "producer-epoch-regression",
        shown=_log(_sent(0, 0, epoch=2), _sent(1, 1, epoch=1)),
        at=warning((_DATA, 2 * _DATA), offsets=(1, 1), expected="2", found="1"),
        near_miss=_log(_data(0, epoch=1), _marker(1, epoch=2), _data(2, epoch=2), _marker(3, epoch=3)),  # as of KIP-890
    ),
    FaultCase(
        "sequence-gap",
        shown=_log(_sent(0, 0, count=3), _sent(3, 4)),
        at=warning((_size(3), _size(3) + _DATA), offsets=(3, 3), expected="3", found="4"),
        near_miss=_log(_sent(0, 40, count=3), _sent(3, 43), _sent(4, 0, epoch=1)),
    ),
    FaultCase(
        "sequence-gap",
        shown=_log(_sent(0, 0, count=3), _sent(3, 3), _sent(4, 0)),
        at=info((_size(3) + _DATA, _size(3) + 2 * _DATA), offsets=(4, 4)),
        near_miss=_log(_sent(0, 0, count=3), _sent(3, 3), _sent(4, 4)),
        name="restarted",
    ),
    FaultCase(
        "sequence-duplicate",
        shown=_log(_sent(0, 0, count=2), _sent(2, 2), _sent(3, 2), _sent(4, 3)),
        at=error((_size(2) + _DATA, _size(2) + 2 * _DATA), offsets=(3, 3), expected="3", found="2"),
        near_miss=_log(_sent(0, 0, count=2), _sent(2, 2), _sent(3, 3)),
    ),
    FaultCase(
        "sequence-wrap",
        shown=_log(_sent(0, 2147483647), _sent(1, 0), _sent(2, 1)),
        at=info((_DATA, 2 * _DATA), offsets=(1, 1)),
        near_miss=_log(_sent(0, 2147483646), _sent(1, 2147483647)),
    ),
    FaultCase(
        "sequence-wrap",
        shown=_log(_sent(0, 2147483646, count=4), _sent(4, 2)),
        at=info((0, _size(4)), offsets=(0, 3)),
        near_miss=_log(_sent(0, 2147483646, count=2)),
        name="inside-a-batch",
    ),
    FaultCase(
        "producer-fields-odd",
        shown=_log(_sent(0, -1), _sent(1, -1, epoch=-2), batch(records=[record()], base_offset=2, is_transactional=True)),
        at=(
            warning((0, _DATA), offsets=(0, 0)),
            *[warning((_DATA, 2 * _DATA), offsets=(1, 1))] * 2,
            warning((2 * _DATA, 2 * _DATA + 61 + 7), offsets=(2, 2)),
        ),
        near_miss=_log(batch(records=[record()], base_sequence=0), _data(1), _marker(2)),  # aiokafka has sequences without id
    ),
)
