"""Faults of segments' framing and of single batch headers."""

import struct
from collections.abc import Sequence

from tests.builders.files import file_name, offset_index
from tests.builders.records import batch, message_set, record
from tests.builders.records import message as old_message

from .case import PARTITION_DIRECTORY, FaultCase, partition_files, sparse

_LOG = file_name(0, ".log")
_SIZE = 76


def _batch(offset: int, value: bytes = b"value") -> bytes:
    return batch(records=[record(key=b"key", value=value)], base_offset=offset)


def _log(count: int) -> bytes:
    return b"".join(_batch(row) for row in range(count))


def _with(data: bytes, position: int, new: bytes) -> bytes:
    return data[:position] + new + data[position + len(new) :]


def _length(data: bytes, row: int, length: int) -> bytes:
    return _with(data, row * _SIZE + 8, struct.pack(">i", length))


_ONE, _TWO, _FOUR = _log(1), _log(2), _log(4)
_BROKEN = _with(_FOUR, 2 * _SIZE - 3, b"X")
_HEADER = struct.pack(">qiibIhiqqqhii", 5, 3 << 20, 0, 2, 1, 0, 0, 1, 1, -1, -1, -1, 1)


def _case(code: str, shown: bytes, near_miss: bytes, **more: object) -> FaultCase:
    return FaultCase(code, shown={_LOG: shown}, near_miss={_LOG: near_miss}, **more)  # type: ignore[arg-type]  # of any field's type


def _partition(segments: dict[int, Sequence[bytes]], changed: dict[str, bytes | None] | None = None) -> dict[str, bytes]:
    return dict(partition_files(segments, changed, topic="orders", partition=3, index_interval_bytes=0))


_SEGMENTS: dict[int, Sequence[bytes]] = {0: [_batch(row) for row in range(4)], 4: [_batch(4)]}
_WHOLE_INDEX = {file_name(0, ".index"): offset_index(entries=[(row, row * _SIZE) for row in range(1, 4)])}

CASES = (
    _case("torn-tail", _ONE + _batch(1)[:-5], _TWO),
    _case(
        "torn-tail",
        _ONE + batch(records=[record(value=b"%d" % row) for row in range(9)], base_offset=1)[:-20],
        _TWO,
        name="uncompressed",
    ),
    _case("torn-header", _ONE + _batch(1)[:17], _ONE),
    FaultCase(
        "truncated-at-boundary",
        shown=_partition(_SEGMENTS, {_LOG: _log(2), **_WHOLE_INDEX}),
        also={"index-position-past-log", "segments-gap"},
        near_miss=_partition(_SEGMENTS),
        scope=PARTITION_DIRECTORY,
    ),
    _case("zero-tail", _ONE + bytes(4096 - _SIZE), _ONE),
    _case("zero-tail", _ONE + bytes(9), _ONE, name="few"),
    _case("zero-hole", _with(_FOUR, _SIZE, bytes(_SIZE)), _FOUR),
    _case(
        "zero-hole",
        _with(b"".join(_batch(row, bytes([65 + row]) * 1000) for row in range(6)), 2048, bytes(2048)),
        _FOUR,
        name="page",
        also={"crc-mismatch", "garbage-region"},
    ),
    _case("garbage-region", _TWO + b"not a batch " * 9 + _batch(2) + _batch(3), _FOUR),
    _case("not-a-segment", b"\x1f\x8b\x08" + b"compressed" * 30, _ONE),
    _case("not-a-segment", b"2026-11-21 10:15:02 INFO started\n" * 30, _ONE, name="text"),
    _case("batch-length-negative", _length(_FOUR, 1, -5), _FOUR),
    _case("batch-length-negative", _length(_BROKEN, 1, -5), _FOUR, name="and-more"),
    _case("batch-length-too-small", _length(_FOUR, 1, 13), _FOUR),
    _case("batch-length-absurd", _length(_FOUR, 1, 64 | 1 << 30), _FOUR),
    _case("batch-length-absurd", _length(_BROKEN, 1, 1 << 20), _FOUR, name="and-more", also={"resync-nested-candidate"}),
    _case("batch-length-mismatch", _length(_FOUR, 1, 2 * _SIZE - 12), _FOUR),
    _case("bad-magic", _with(_FOUR, _SIZE + 16, b"\x03"), _FOUR),
    _case("bad-magic", _with(_FOUR, _SIZE + 16, b"\x00"), _FOUR, name="older"),
    _case("bad-magic", _with(_FOUR, _SIZE + 16, b"\x82"), _FOUR, name="negative"),
    _case("crc-mismatch", _BROKEN, _FOUR),
    _case("crc-mismatch", _with(_FOUR, _SIZE + 18, b"\x00"), _FOUR, name="crc-field"),
    _case("crc-mismatch", _with(_FOUR, _SIZE + 61, b"\x70"), _FOUR, name="records"),
    _case("crc-mismatch", _with(_FOUR, _SIZE + 57, b"\x70"), _FOUR, name="header"),
    _case("crc-mismatch", _FOUR[: 2 * _SIZE - 9] + _FOUR[2 * _SIZE :], _FOUR, name="cut", also={"resync-nested-candidate"}),
    _case("attributes-unknown-bits", batch(records=[record()], attributes=0x100), batch(records=[record()])),
    _case("record-count-negative", batch(records=[record()], records_count=-1), _ONE),
    _case("record-count-zero-nonempty", batch(records=[record()], records_count=0), batch()),
    _case("batch-empty", batch() + _batch(1), _TWO, settings={"is_pedantic": True}),
    _case("batch-over-limit", _TWO, batch() + batch(base_offset=1), settings={"max_message_bytes": _SIZE - 1}),
    _case(
        "segment-over-2gib",
        sparse(_TWO, 1 << 31),
        sparse(_TWO, (1 << 31) - 1),
        also={"zero-tail", "sparse-file"},
        near_also={"zero-tail", "sparse-file"},
    ),
    _case(
        "magic-upgrade",
        message_set(messages=[old_message(value=b"v", magic=1)], base_offset=0) + _batch(1),
        _TWO,
    ),
    _case(
        "magic-regression",
        _ONE + message_set(messages=[old_message(value=b"v", magic=1)], base_offset=1),
        _TWO,
    ),
    _case(
        "resync-nested-candidate",
        _length(_BROKEN, 1, _SIZE + 20),
        _BROKEN,
        also={"crc-mismatch"},
        near_also={"crc-mismatch"},
    ),
    _case("resync-budget", _ONE + _HEADER * 80_000, _ONE + b"text" * 80, near_also={"garbage-region"}),
)
