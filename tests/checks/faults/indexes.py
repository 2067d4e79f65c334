"""Faults of indexes."""

from tests.builders.files import aborted_transaction, file_name, offset_index, time_index, transaction_index
from tests.builders.records import TIMESTAMP, batch, record, transaction_marker

from .case import NO_BYTES, WHOLE_FILE, Files, case, error, info, partition_files, sparse, warning

_LOG, _INDEX, _TIMEINDEX, _TXN_INDEX = (file_name(0, suffix) for suffix in (".log", ".index", ".timeindex", ".txnindex"))


def _batch(base_offset: int, *, count: int = 2, timestamp: int | None = None, value: bytes = b"value") -> bytes:
    """Records of ascending timestamps, so that the last one has the latest."""
    first = TIMESTAMP + base_offset if timestamp is None else timestamp
    records = [record(value=value, timestamp=first + row) for row in range(count)]
    return batch(records=records, base_offset=base_offset)


_BATCHES = [_batch(base_offset) for base_offset in range(0, 10, 2)]
_SIZE = len(_BATCHES[0])
_ENTRIES = [(3, _SIZE), (5, 2 * _SIZE), (7, 3 * _SIZE), (9, 4 * _SIZE)]
_OTHERS = _ENTRIES[1:]
_TIMES = [(TIMESTAMP + offset, offset) for offset in (3, 5, 7, 9)]
_DATA = b"".join(_BATCHES)


def _entry(first: int, last: int | None = None) -> tuple[int, int]:
    """Where an entry of an offset index stands, or a run of them."""
    return first * 8, ((first if last is None else last) + 1) * 8


def _time_entry(row: int) -> tuple[int, int]:
    return row * 12, row * 12 + 12


def _abort_entry(row: int) -> tuple[int, int]:
    return row * 34, row * 34 + 34


def _index(*entries: tuple[int, int], log: bytes = _DATA, **others: int | bytes) -> Files:
    """An offset index with the log beside it."""
    return {_INDEX: offset_index(entries=entries, **others), _LOG: log}  # type: ignore[arg-type]  # of each its own type


def _times(*entries: tuple[int, int], log: bytes = _DATA, **others: int | bytes) -> Files:
    """A time index with the log beside it."""
    return {_TIMEINDEX: time_index(entries=entries, **others), _LOG: log}  # type: ignore[arg-type]  # of each its own type


_SOUND = _index(*_ENTRIES)
_SOUND_TIMES = _times(*_TIMES)

# batches of 5 KiB
_LARGE = [_batch(base_offset, value=bytes(2500)) for base_offset in range(0, 30, 2)]
_LARGE_SIZE = len(_LARGE[0])
_LARGE_TIMES = [(TIMESTAMP + offset, offset) for offset in range(3, 31, 2)]

_ABORT = [
    batch(records=[record(value=b"a"), record(value=b"b")], is_transactional=True, producer_id=7, base_sequence=0),
    transaction_marker(is_commit=False, base_offset=2, producer_id=7),
    batch(records=[record(value=b"c")], is_transactional=True, producer_id=8, base_sequence=0, base_offset=3),
    transaction_marker(is_commit=False, base_offset=4, producer_id=8),
]
_FIRST = aborted_transaction(producer_id=7, first_offset=0, last_offset=2, last_stable_offset=3)
_SECOND = aborted_transaction(producer_id=8, first_offset=3, last_offset=4, last_stable_offset=5)


def _aborts(*entries: bytes, log: bytes = b"".join(_ABORT), trailing: bytes = b"") -> Files:
    """A transaction index with the log beside it."""
    return {_TXN_INDEX: transaction_index(entries=entries, trailing=trailing), _LOG: log}


def _trailed(trailing: bytes) -> Files:
    return _aborts(_FIRST, _SECOND, trailing=trailing)


_SOUND_ABORTS = _trailed(b"")
_SEGMENTS = {0: _BATCHES, 10: [_batch(10)]}


def _sealed(changed: dict[str, bytes | None] | None = None) -> Files:
    return partition_files(_SEGMENTS, changed, index_interval_bytes=0)


_SEALED = _sealed()
_PAST = error(_entry(4), expected=f"less than {5 * _SIZE}", found=str(5 * _SIZE))
_LATER, _NOT_FOUND = (TIMESTAMP + 11, 11), error(_time_entry(4), offsets=(11, 11), found="11")

CASES = (
    case("index-size-misaligned", _index(*_ENTRIES, trailing=b"\0\1\2"), error((32, 35), expected="32", found="35"), _SOUND),
    case(
        "index-entry-order",
        {_INDEX: offset_index(entries=[(3, 100), (9, 200), (7, 300), (11, 400)])},
        error(_entry(1), expected="less than 7", found="9"),
        {_INDEX: offset_index(entries=[(3, 100), (6, 200), (7, 300), (11, 400)])},
    ),
    case(
        "index-position-order",
        {_INDEX: offset_index(entries=[(3, 100), (6, 200), (7, 200), (11, 400)])},
        error(_entry(2), expected="more than 200", found="200"),
        {_INDEX: offset_index(entries=[(3, 100), (6, 200), (7, 201), (11, 400)])},
    ),
    case("index-position-past-log", _index(*_ENTRIES, (11, 5 * _SIZE)), _PAST, _SOUND),
    # the near miss: the batch there is damaged
    case(
        "index-position-not-boundary",
        _index((3, _SIZE + 7), *_OTHERS),
        error(_entry(0), expected=f"{_SIZE} or {2 * _SIZE}", found=str(_SIZE + 7)),
        _index(*_ENTRIES, log=_DATA[: _SIZE + 70] + b"X" + _DATA[_SIZE + 71 :]),
    ),
    # the near miss: brokers up to 1.1 write the first offset of each batch
    case(
        "index-offset-mismatch",
        _index((1, _SIZE), *_OTHERS),
        error(_entry(0), offsets=(1, 3), expected="3", found="1"),
        _index(*((offset - 1, position) for offset, position in _ENTRIES)),
    ),
    case(
        "index-zero-entry-middle",
        _index(_ENTRIES[0], (0, 0), (0, 0), _ENTRIES[3]),
        error(_entry(1, 2), found="2"),
        _index(*_ENTRIES, zero_entry_count=2),
        near_also={"index-zero-tail"},
    ),
    case("index-zero-tail", _index(*_ENTRIES, zero_entry_count=1000), info((32, 32 + 8000), found="1000"), _SOUND),
    case("index-entry-below-base", _index((-3, _SIZE), *_OTHERS), error(_entry(0), expected="0 or more", found="-3"), _SOUND),
    case("index-missing", _sealed({_INDEX: None}), warning(NO_BYTES, file=_LOG), _SEALED),
    # the near miss: all in one batch
    case(
        "index-empty-large-log",
        {**_index(log=b"".join(_LARGE)), _TIMEINDEX: time_index(entries=_LARGE_TIMES)},
        warning(NO_BYTES, expected="14", found="0"),
        _index(log=_batch(0, value=bytes(10000))),
    ),
    case(
        "index-sparse-gap",
        _index((3, _LARGE_SIZE), (29, 14 * _LARGE_SIZE), log=b"".join(_LARGE)),
        info(_entry(0, 1), found=str(13 * _LARGE_SIZE)),
        _index((3, _LARGE_SIZE), (15, 7 * _LARGE_SIZE), (29, 14 * _LARGE_SIZE), log=b"".join(_LARGE)),
        settings={"is_pedantic": True},
    ),
    case(
        "index-stale",
        _index(*((offset + 2, position) for offset, position in _ENTRIES)),
        warning(WHOLE_FILE, found="2"),
        _index(_ENTRIES[0], *((offset + 2, position) for offset, position in _ENTRIES[1:])),
        also={
            "index-offset-mismatch": [
                error(_entry(row), offsets=(offset - 1, offset + 2), expected=str(offset), found=str(offset + 2))
                for row, (offset, _) in enumerate(_ENTRIES)
            ]
        },
        near_also={"index-offset-mismatch"},
    ),
    case(
        "index-oversize",
        {_INDEX: sparse(offset_index(entries=_ENTRIES), (1 << 31) + 8)},
        error(((1 << 31) - 1, (1 << 31) + 8), expected=str((1 << 31) - 1), found=str((1 << 31) + 8)),
        {_INDEX: sparse(offset_index(entries=_ENTRIES), (1 << 31) - 8)},
        also={"index-zero-tail": info((32, (1 << 31) + 8))},
        near_also={"index-zero-tail"},
    ),
    case(
        "index-orphan",
        _sealed({_LOG: None}),
        (warning(NO_BYTES, file=_INDEX), warning(NO_BYTES, file=_TIMEINDEX)),
        _SEALED,
        also={
            "segment-missing": (
                error(NO_BYTES, file=_INDEX, offsets=(0, 9), is_estimated=True, expected="0", found="10"),
                error((4, 8), file="leader-epoch-checkpoint", offsets=(0, 9), is_estimated=True, expected="10", found="0"),
            )
        },
    ),
    case("timeindex-size-misaligned", _times(*_TIMES, trailing=b"\1"), error((48, 49), expected="48", found="49"), _SOUND_TIMES),
    case(
        "timeindex-timestamp-order",
        {_TIMEINDEX: time_index(entries=[(TIMESTAMP, 1), (TIMESTAMP, 3)])},
        error(_time_entry(1), expected=f"more than {TIMESTAMP}", found=str(TIMESTAMP)),
        {_TIMEINDEX: time_index(entries=[(TIMESTAMP, 1), (TIMESTAMP + 1, 3)])},
    ),
    case(
        "timeindex-offset-order",
        {_TIMEINDEX: time_index(entries=[(TIMESTAMP, 4), (TIMESTAMP + 1, 3)])},
        error(_time_entry(1), expected="4 or more", found="3"),
        {_TIMEINDEX: time_index(entries=[(TIMESTAMP, 3), (TIMESTAMP + 1, 3)])},
    ),
    case(
        "timeindex-timestamp-mismatch",
        _times((TIMESTAMP + 2, 3), *_TIMES[1:]),
        warning(_time_entry(0), offsets=(3, 3), expected=str(TIMESTAMP + 3), found=str(TIMESTAMP + 2)),
        _SOUND_TIMES,
    ),
    # the near miss: the last batch is torn
    case("timeindex-offset-not-found", _times(*_TIMES, _LATER), _NOT_FOUND, _times(*_TIMES, log=_DATA[:-5])),
    case(
        "timeindex-offset-inside-batch",
        _times((TIMESTAMP + 3, 2), *_TIMES[1:]),
        info(WHOLE_FILE, found="1"),
        _SOUND_TIMES,
        settings={"is_pedantic": True},
    ),
    # the near miss: of the newest segment it is made when it is closed
    case(
        "timeindex-last-not-max",
        _sealed({_TIMEINDEX: time_index(entries=_TIMES[:3])}),
        warning(_time_entry(2), file=_TIMEINDEX, expected=str(TIMESTAMP + 9), found=str(TIMESTAMP + 7)),
        partition_files({0: _BATCHES}, {_TIMEINDEX: time_index(entries=_TIMES[:3])}, index_interval_bytes=0),
    ),
    case("timeindex-missing", _sealed({_TIMEINDEX: None, file_name(10, ".timeindex"): None}), info(NO_BYTES, file=_LOG), _SEALED),
    case("txnindex-size-misaligned", _trailed(b"\0\0\1"), error((68, 71), expected="68", found="71"), _SOUND_ABORTS),
    case(
        "txnindex-version-unknown",
        _aborts(aborted_transaction(version=1, producer_id=7, last_offset=2, last_stable_offset=3), _SECOND),
        error(_abort_entry(0), expected="0", found="1"),
        _SOUND_ABORTS,
    ),
    case(
        "txnindex-order",
        _aborts(aborted_transaction(producer_id=7, first_offset=3, last_offset=2, last_stable_offset=3), _SECOND),
        error(_abort_entry(0), offsets=(3, 2), found="2"),
        _SOUND_ABORTS,
    ),
    case(
        "txnindex-without-marker",
        _aborts(_FIRST, aborted_transaction(producer_id=9, first_offset=3, last_offset=4, last_stable_offset=5)),
        error(_abort_entry(1), offsets=(3, 4), found="9"),
        _SOUND_ABORTS,
    ),
    # the near miss: a transaction that began before was open still
    case(
        "txnindex-lso-odd",
        _aborts(aborted_transaction(producer_id=7, first_offset=0, last_offset=2, last_stable_offset=4), _SECOND),
        warning(_abort_entry(0), offsets=(0, 2), found="4"),
        _aborts(aborted_transaction(producer_id=7, first_offset=0, last_offset=2, last_stable_offset=1), _SECOND),
    ),
)
