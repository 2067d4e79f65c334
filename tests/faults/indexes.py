"""Faults of indexes."""

from tests.builders.files import aborted_transaction, file_name, offset_index, time_index, transaction_index
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, transaction_marker, wrapper

from .case import PARTITION_DIRECTORY, FaultCase, Files, partition_files, sparse

_LOG, _INDEX, _TIME_INDEX, _TXN_INDEX = (file_name(0, suffix) for suffix in (".log", ".index", ".timeindex", ".txnindex"))


def _batch(base_offset: int, *, count: int = 2, timestamp: int | None = None, value: bytes = b"value") -> bytes:
    """Records of ascending timestamps, so that the last one has the latest."""
    first = TIMESTAMP + base_offset if timestamp is None else timestamp
    records = [record(value=value, timestamp=first + row) for row in range(count)]
    return batch(records=records, base_offset=base_offset)


_BATCHES = [_batch(base_offset) for base_offset in range(0, 10, 2)]
_SIZE = len(_BATCHES[0])
_ENTRIES = [(3, _SIZE), (5, 2 * _SIZE), (7, 3 * _SIZE), (9, 4 * _SIZE)]
_TIMES = [(TIMESTAMP + offset, offset) for offset in (3, 5, 7, 9)]
_DATA = b"".join(_BATCHES)


def _index(*entries: tuple[int, int], log: bytes = _DATA, **others: int | bytes) -> Files:
    """An offset index with the log beside it."""
    return {_INDEX: offset_index(entries=entries, **others), _LOG: log}  # type: ignore[arg-type]  # of each its own type


def _times(*entries: tuple[int, int], log: bytes = _DATA, **others: int | bytes) -> Files:
    """A time index with the log beside it."""
    return {_TIME_INDEX: time_index(entries=entries, **others), _LOG: log}  # type: ignore[arg-type]  # of each its own type


_SOUND = _index(*_ENTRIES)
_SOUND_TIMES = _times(*_TIMES)

# a log of 1.6 MiB in messages of a kilobyte, with an entry for each 4 KiB as leaders make them
_MESSAGES = [
    message_set(messages=[message(value=bytes(1000), timestamp=TIMESTAMP + row)], base_offset=row) for row in range(1600)
]
_MANY = b"".join(_MESSAGES)
_MANY_ENTRIES = [(row, row * len(_MESSAGES[0])) for row in range(5, 1600, 4)]

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


_SOUND_ABORTS = _aborts(_FIRST, _SECOND)
_SEGMENTS = {0: _BATCHES, 10: [_batch(10)]}
_SEALED = partition_files(_SEGMENTS, index_interval_bytes=0)
_WRAPPERS = [
    wrapper(messages=[message(value=b"a"), message(value=b"b"), message(value=b"c")], base_offset=base) for base in (0, 3, 6)
]

_CLEANED = batch(records=[record(offset_delta=1)], base_offset=2, last_offset_delta=3)

CASES = (
    FaultCase("index-size-misaligned", shown=_index(*_ENTRIES, trailing=b"\0\1\2"), near_miss=_SOUND),
    FaultCase(
        "index-entry-order",
        shown={_INDEX: offset_index(entries=[(3, 100), (9, 200), (7, 300), (11, 400)])},
        near_miss={_INDEX: offset_index(entries=[(3, 100), (6, 200), (7, 300), (11, 400)])},
    ),
    FaultCase(
        "index-position-order",
        shown={_INDEX: offset_index(entries=[(3, 100), (6, 200), (7, 200), (11, 400)])},
        near_miss={_INDEX: offset_index(entries=[(3, 100), (6, 200), (7, 201), (11, 400)])},
    ),
    FaultCase(
        "index-position-past-log",
        shown=_index(*_ENTRIES, (11, 5 * _SIZE)),
        near_miss=_SOUND,
    ),
    FaultCase(
        "index-position-past-log",
        name="quick",
        shown=_index(*_ENTRIES, (11, 5 * _SIZE)),
        near_miss=_index((3, _SIZE + 1), *_ENTRIES[1:]),  # against the log itself it is not compared
        settings={"level": "quick"},
    ),
    FaultCase(
        "index-position-not-boundary",
        shown=_index((3, _SIZE + 7), *_ENTRIES[1:]),
        near_miss=_index(*_ENTRIES, log=_DATA[: _SIZE + 70] + b"X" + _DATA[_SIZE + 71 :]),  # the batch there is damaged
    ),
    FaultCase("index-position-not-boundary", name="negative", shown=_index((3, -_SIZE), *_ENTRIES[1:]), near_miss=_SOUND),
    FaultCase(
        "index-offset-mismatch",
        shown=_index((1, _SIZE), *_ENTRIES[1:]),
        # brokers up to 1.1 write the first offset of each batch
        near_miss=_index(*((offset - 1, position) for offset, position in _ENTRIES)),
    ),
    FaultCase(
        "index-offset-mismatch",
        name="beyond",
        shown=_index((3, _SIZE), (8, 2 * _SIZE), (9, 4 * _SIZE)),
        # followers and the cleaner up to 3.9 append many batches at once, and write the last offset of all at the first
        near_miss=_index((3, _SIZE), (7, 2 * _SIZE), (9, 4 * _SIZE)),
    ),
    FaultCase(
        "index-offset-mismatch",
        name="mixed",
        shown=_index((2, _SIZE), *_ENTRIES[1:]),
        near_miss=_SOUND,
    ),
    FaultCase(
        "index-offset-mismatch",
        name="wrapper",
        shown=_index((2, len(_WRAPPERS[0])), (8, 2 * len(_WRAPPERS[0])), log=b"".join(_WRAPPERS)),
        near_miss=_index((3, len(_WRAPPERS[0])), (6, 2 * len(_WRAPPERS[0])), log=b"".join(_WRAPPERS)),
    ),
    FaultCase(
        "index-offset-mismatch",
        name="cleaned",
        shown=_index((3, _SIZE), log=_BATCHES[0] + _batch(2, count=3)),
        # a batch that spans offsets 2 to 5 and kept its second record only
        near_miss=_index(
            (3, _SIZE), log=_BATCHES[0] + batch(records=[record(offset_delta=1)], base_offset=2, last_offset_delta=3)
        ),
    ),
    FaultCase(
        "index-zero-entry-middle",
        shown=_index(_ENTRIES[0], (0, 0), (0, 0), _ENTRIES[3]),
        near_miss=_index(*_ENTRIES, zero_entry_count=2),
        near_also={"index-zero-tail"},
    ),
    FaultCase(
        "index-zero-tail",
        shown=_index(*_ENTRIES, zero_entry_count=1000),
        near_miss=_SOUND,
    ),
    FaultCase(
        "index-zero-tail",
        name="sealed",
        shown=partition_files(_SEGMENTS, {_INDEX: offset_index(entries=_ENTRIES, zero_entry_count=10)}, index_interval_bytes=0),
        # a broker writes to it
        near_miss=partition_files({0: _BATCHES}, index_interval_bytes=0, segment_index_bytes=4096),
        scope=PARTITION_DIRECTORY,
    ),
    FaultCase("index-entry-below-base", shown=_index((-3, _SIZE), *_ENTRIES[1:]), near_miss=_SOUND),
    FaultCase(
        "index-missing",
        shown=partition_files(_SEGMENTS, {_INDEX: None}, index_interval_bytes=0),
        near_miss=_SEALED,
        scope=PARTITION_DIRECTORY,
    ),
    FaultCase(
        "index-missing",
        name="none-needed",
        shown=partition_files({0: _BATCHES}, {_INDEX: None}, index_interval_bytes=0),
        near_miss=partition_files({0: _BATCHES}, index_interval_bytes=0),
        scope=PARTITION_DIRECTORY,
    ),
    FaultCase(
        "index-empty-large-log",
        shown={**_index(log=b"".join(_LARGE)), _TIME_INDEX: time_index(entries=_LARGE_TIMES)},
        near_miss=_index(log=_batch(0, value=bytes(10000))),  # all in one batch
    ),
    FaultCase("index-empty-large-log", name="one-append", shown=_index(log=b"".join(_LARGE[:3])), near_miss=_index(log=_DATA)),
    FaultCase(
        "index-sparse-gap",
        shown=_index((3, _LARGE_SIZE), (29, 14 * _LARGE_SIZE), log=b"".join(_LARGE)),
        near_miss=_index((3, _LARGE_SIZE), (15, 7 * _LARGE_SIZE), (29, 14 * _LARGE_SIZE), log=b"".join(_LARGE)),
        settings={"is_pedantic": True},
    ),
    FaultCase(
        "index-sparse-gap",
        name="lost-entries",
        shown=_index(*_MANY_ENTRIES[:10], *_MANY_ENTRIES[-10:], log=_MANY),
        near_miss=_index(*_MANY_ENTRIES[:200], *_MANY_ENTRIES[-10:], log=_MANY),
    ),
    FaultCase(
        "index-stale",
        shown=_index(*((offset + 2, position) for offset, position in _ENTRIES)),
        near_miss=_index(_ENTRIES[0], *((offset + 2, position) for offset, position in _ENTRIES[1:])),
        also={"index-offset-mismatch"},
        near_also={"index-offset-mismatch"},
    ),
    FaultCase(
        "index-stale",
        name="far-behind",
        shown=_index(*_MANY_ENTRIES[:10], log=_MANY),
        near_miss=_index(*_MANY_ENTRIES[:200], log=_MANY),
    ),
    FaultCase(
        "index-oversize",
        shown={_INDEX: sparse(offset_index(entries=_ENTRIES), (1 << 31) + 8)},
        near_miss={_INDEX: sparse(offset_index(entries=_ENTRIES), (1 << 31) - 8)},
        also={"index-zero-tail"},
        near_also={"index-zero-tail"},
    ),
    FaultCase(
        "index-orphan",
        shown=partition_files(_SEGMENTS, {_LOG: None}, index_interval_bytes=0),
        near_miss=_SEALED,
        scope=PARTITION_DIRECTORY,
    ),
    FaultCase("timeindex-size-misaligned", shown=_times(*_TIMES, trailing=b"\1"), near_miss=_SOUND_TIMES),
    FaultCase(
        "timeindex-timestamp-order",
        shown={_TIME_INDEX: time_index(entries=[(TIMESTAMP, 1), (TIMESTAMP, 3)])},
        near_miss={_TIME_INDEX: time_index(entries=[(TIMESTAMP, 1), (TIMESTAMP + 1, 3)])},
    ),
    FaultCase(
        "timeindex-offset-order",
        shown={_TIME_INDEX: time_index(entries=[(TIMESTAMP, 4), (TIMESTAMP + 1, 3)])},
        near_miss={_TIME_INDEX: time_index(entries=[(TIMESTAMP, 3), (TIMESTAMP + 1, 3)])},
    ),
    FaultCase(
        "timeindex-timestamp-mismatch",
        shown=_times((TIMESTAMP + 2, 3), *_TIMES[1:]),
        near_miss=_SOUND_TIMES,
    ),
    FaultCase(
        "timeindex-offset-not-found",
        shown=_times(*_TIMES, (TIMESTAMP + 11, 11)),
        near_miss=_times(*_TIMES, log=_DATA[:-5]),  # the last batch is torn
    ),
    FaultCase(
        "timeindex-offset-not-found",
        name="behind-torn-tail",
        shown=_times(*_TIMES, (TIMESTAMP + 11, 11), log=_DATA[:-5]),
        near_miss=_times(*_TIMES, log=_DATA[:-5]),
    ),
    FaultCase(
        "timeindex-offset-inside-batch",
        shown=_times((TIMESTAMP + 3, 2), *_TIMES[1:]),
        near_miss=_SOUND_TIMES,
        settings={"is_pedantic": True},
    ),
    FaultCase(
        "timeindex-last-not-max",
        shown=partition_files(_SEGMENTS, {_TIME_INDEX: time_index(entries=_TIMES[:3])}, index_interval_bytes=0),
        # of the newest segment it is made when it is closed
        near_miss=partition_files({0: _BATCHES}, {_TIME_INDEX: time_index(entries=_TIMES[:3])}, index_interval_bytes=0),
        scope=PARTITION_DIRECTORY,
    ),
    FaultCase(
        "timeindex-missing",
        shown=partition_files(_SEGMENTS, {_TIME_INDEX: None, file_name(10, ".timeindex"): None}, index_interval_bytes=0),
        near_miss=_SEALED,
        scope=PARTITION_DIRECTORY,
    ),
    FaultCase("txnindex-size-misaligned", shown=_aborts(_FIRST, _SECOND, trailing=b"\0\0\1"), near_miss=_SOUND_ABORTS),
    FaultCase(
        "txnindex-version-unknown",
        shown=_aborts(aborted_transaction(version=1, producer_id=7, last_offset=2, last_stable_offset=3), _SECOND),
        near_miss=_SOUND_ABORTS,
    ),
    FaultCase(
        "txnindex-order",
        shown=_aborts(aborted_transaction(producer_id=7, first_offset=3, last_offset=2, last_stable_offset=3), _SECOND),
        near_miss=_SOUND_ABORTS,
    ),
    FaultCase(
        "txnindex-order",
        name="twice",
        shown=_aborts(_FIRST, _FIRST),
        near_miss=_aborts(_FIRST),
        also={"txnindex-lso-odd"},
    ),
    FaultCase(
        "txnindex-without-marker",
        shown=_aborts(_FIRST, aborted_transaction(producer_id=9, first_offset=3, last_offset=4, last_stable_offset=5)),
        near_miss=_SOUND_ABORTS,
    ),
    FaultCase(
        "txnindex-without-marker",
        name="commit",
        shown=_aborts(_FIRST, log=_ABORT[0] + transaction_marker(base_offset=2, producer_id=7)),
        near_miss=_aborts(_FIRST, log=_ABORT[0] + _ABORT[1]),
    ),
    FaultCase(
        "txnindex-without-marker",
        name="cleaned",
        shown=_aborts(_FIRST, _SECOND, log=_ABORT[0] + _ABORT[2] + _ABORT[3]),
        near_miss=_SOUND_ABORTS,
    ),
    FaultCase(
        "txnindex-lso-odd",
        shown=_aborts(aborted_transaction(producer_id=7, first_offset=0, last_offset=2, last_stable_offset=4), _SECOND),
        # a transaction that began before was open still
        near_miss=_aborts(aborted_transaction(producer_id=7, first_offset=0, last_offset=2, last_stable_offset=1), _SECOND),
    ),
)
