"""Faults of segments' framing and of single batch headers."""

import struct
from collections.abc import Sequence
from typing import Any

from tests.builders.checksums import crc32c
from tests.builders.files import file_name, offset_index
from tests.builders.records import batch, message_set, record
from tests.builders.records import message as old_message

from .case import NO_BYTES, WHOLE_FILE, At, case, error, info, partition_files, sparse, warning

_LOG = file_name(0, ".log")
_SIZE = 76
_MAGIC = _SIZE + 16  # of the second batch


def _batch(offset: int, value: bytes = b"value") -> bytes:
    return batch(records=[record(key=b"key", value=value)], base_offset=offset)


def _log(count: int) -> bytes:
    return b"".join(_batch(row) for row in range(count))


def _with(data: bytes, position: int, new: bytes) -> bytes:
    return data[:position] + new + data[position + len(new) :]


def _length(data: bytes, row: int, length: int) -> bytes:
    return _with(data, row * _SIZE + 8, struct.pack(">i", length))


def _row(first: int, last: int | None = None) -> tuple[int, int]:
    """Where one of these batches stands, or a run of them: all are of one size."""
    return first * _SIZE, ((first if last is None else last) + 1) * _SIZE


def _wrong(row: int, offset: int | None = None, **said: Any) -> At:
    """The batch in a row is wrong, whose offset is the row unless it is given."""
    return error(_row(row), offsets=(row if offset is None else offset,) * 2, **said)


def _computed(data: bytes) -> str:
    """The CRC of the second batch of a log."""
    return f"0x{crc32c(data[_SIZE + 21 : 2 * _SIZE]):08x}"


_ONE, _TWO, _FOUR = _log(1), _log(2), _log(4)
_EMPTY = batch(last_offset_delta=2) + _batch(3) + batch(base_offset=4, last_offset_delta=2)
_BROKEN = _with(_FOUR, 2 * _SIZE - 3, b"X")
_HEADER = struct.pack(">qiibIhiqqqhii", 5, 3 << 20, 0, 2, 1, 0, 0, 1, 1, -1, -1, -1, 1)


def _partition(segments: dict[int, Sequence[bytes]], changed: dict[str, bytes | None] | None = None) -> dict[str, bytes]:
    return dict(partition_files(segments, changed, topic="orders", partition=3, index_interval_bytes=0))


_SEGMENTS: dict[int, Sequence[bytes]] = {0: [_batch(row) for row in range(4)], 4: [_batch(4)]}
_WHOLE_INDEX = {file_name(0, ".index"): offset_index(entries=[(row, row * _SIZE) for row in range(1, 4)])}

_NEWEST = _partition({0: [_batch(0)]})

CASES = (
    case(
        "torn-tail", _ONE + _batch(1)[:-5], error((76, 147), offsets=(1, 1), is_estimated=True, expected="76", found="71"), _TWO
    ),
    case("torn-header", _ONE + _batch(1)[:17], error((76, 93)), _ONE),
    case(
        "truncated-at-boundary",
        _partition(_SEGMENTS, {_LOG: _log(2), **_WHOLE_INDEX}),
        error((152, 152), file=_LOG, offsets=(2, 3), is_estimated=True, expected="3", found="1"),
        _partition(_SEGMENTS),
        also={
            "index-position-past-log": (
                error((8, 16), file=file_name(0, ".index"), expected="less than 152", found="152"),
                error((16, 24), file=file_name(0, ".index"), found="228"),
            ),
            "segments-gap": info(NO_BYTES, file=file_name(4, ".log"), offsets=(2, 3), expected="2", found="4"),
        },
    ),
    case("zero-tail", _ONE + bytes(4096 - _SIZE), warning((76, 4096)), _ONE),
    case("zero-tail: newest", {**_NEWEST, _LOG: _ONE + bytes(9)}, warning((76, 85), file=_LOG), _NEWEST),
    case("zero-hole", _with(_FOUR, _SIZE, bytes(_SIZE)), _wrong(1, is_estimated=True), _FOUR),
    case(
        "zero-hole: page",
        _with(b"".join(_batch(row, bytes([65 + row]) * 1000) for row in range(6)), 2048, bytes(2048)),
        error((2048, 4096)),
        _FOUR,
        also={"crc-mismatch": error((1073, 2048), offsets=(1, 3), is_estimated=True), "garbage-region": error((4096, 4 * 1073))},
    ),
    case("garbage-region", _TWO + b"not a batch " * 9 + _batch(2) + _batch(3), error((152, 152 + 9 * 12)), _FOUR),
    case("not-a-segment", b"\x1f\x8b\x08" + b"compressed" * 30, error(WHOLE_FILE), _ONE),
    case("batch-length-negative", _length(_FOUR, 1, -5), _wrong(1, expected="64", found="-5"), _FOUR),
    case("batch-length-too-small", _length(_FOUR, 1, 13), _wrong(1, expected="64", found="13"), _FOUR),
    case("batch-length-absurd", _length(_FOUR, 1, 64 | 1 << 30), _wrong(1, expected="64", found=str(64 | 1 << 30)), _FOUR),
    case("batch-length-mismatch", _length(_FOUR, 1, 2 * _SIZE - 12), _wrong(1, expected="64", found="140"), _FOUR),
    case("bad-magic", _with(_FOUR, _MAGIC, b"\x03"), _wrong(1, expected="2", found="3"), _FOUR),
    case("bad-magic: older", _with(_FOUR, _MAGIC, b"\x00"), _wrong(1, expected="2", found="0"), _FOUR),
    case("crc-mismatch", _BROKEN, _wrong(1, expected=_computed(_BROKEN), found=_computed(_FOUR)), _FOUR),
    case(
        "crc-mismatch: cut",
        _FOUR[: 2 * _SIZE - 9] + _FOUR[2 * _SIZE :],
        error((76, 152 - 9), offsets=(1, 1), is_estimated=True),
        _FOUR,
        also={"resync-nested-candidate": warning((143, 143 + 76), found="1")},
    ),
    case(
        "attributes-unknown-bits",
        batch(records=[record()], attributes=0x100),
        warning(WHOLE_FILE, offsets=(0, 0), found="0x0100"),
        batch(records=[record()]),
    ),
    case(
        "record-count-negative", batch(records=[record()], records_count=-1), error(WHOLE_FILE, offsets=(0, 0), found="-1"), _ONE
    ),
    case(
        "record-count-zero-nonempty",
        batch(records=[record()], records_count=0),
        error(WHOLE_FILE, offsets=(0, 0), expected="0", found="7"),
        batch(),
    ),
    case("batch-empty", _EMPTY, info((0, 61 + 76 + 61), offsets=(0, 6), found="2"), _TWO, settings={"is_pedantic": True}),
    case(
        "batch-over-limit",
        _TWO,
        (info(_row(0), offsets=(0, 0), expected="75", found="76"), info(_row(1), offsets=(1, 1), expected="75", found="76")),
        batch() + batch(base_offset=1),
        settings={"max_message_bytes": _SIZE - 1},
    ),
    case(
        "segment-over-2gib",
        sparse(_TWO, 1 << 31),
        error(((1 << 31) - 1, 1 << 31), expected="2147483647", found="2147483648"),
        sparse(_TWO, (1 << 31) - 1),
        also={"zero-tail": warning((152, 1 << 31)), "sparse-file": info(WHOLE_FILE)},
        near_also={"zero-tail", "sparse-file"},
    ),
    case(
        "magic-upgrade",
        message_set(messages=[old_message(value=b"v", magic=1)], base_offset=0) + _batch(1),
        info((35, 35 + 76), offsets=(1, 1), expected="1", found="2"),
        _TWO,
    ),
    case(
        "magic-regression",
        _ONE + message_set(messages=[old_message(value=b"v", magic=1)], base_offset=1),
        warning((76, 76 + 35), offsets=(1, 1), expected="2", found="1"),
        _TWO,
    ),
    case(
        "resync-nested-candidate",
        _length(_BROKEN, 1, _SIZE + 20),
        warning(_row(2), found="1"),
        _BROKEN,
        also={"crc-mismatch": _wrong(1, is_estimated=True)},
        near_also={"crc-mismatch"},
    ),
    case(
        "resync-nested-candidate: and-a-gap-after-it",
        _length(_BROKEN, 1, _SIZE + 20) + _batch(9),
        warning(_row(2), found="1"),
        _BROKEN + _batch(9),
        also={"crc-mismatch": _wrong(1, is_estimated=True), "offset-gap": info(_row(3, 4), offsets=(4, 8), found="5")},
        near_also={"crc-mismatch", "offset-gap"},
    ),
    case(
        "resync-budget",
        _ONE + _HEADER * 80_000,
        error((76, 76 + 80_000 * 61), offsets=(5, 5), is_estimated=True),
        _ONE + b"text" * 80,
        near_also={"garbage-region"},
    ),
)
