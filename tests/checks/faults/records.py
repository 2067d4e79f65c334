"""Faults of records, and of compressed payloads."""

import struct
import zlib
from typing import Any

import zstandard

from tests.builders.compression import Codec, compress, gzip_members, lz4_frame, snappy_raw, snappy_xerial, zstd_frames
from tests.builders.files import file_name
from tests.builders.records import Record, batch, encode_record, message_set, record, unsigned_varint, varint, wrapper
from tests.builders.records import message as message_of

from .case import WHOLE_FILE, At, FaultCase, Files, case, error, info, warning

_LOG = file_name(0, ".log")
_PEDANTIC = {"is_pedantic": True}
_RECORDS = [record(key=b"k", value=b"first"), record(key=b"k", value=b"second"), record(key=b"k", value=b"third")]
_PLAIN = b"".join(encode_record(one, row=row) for row, one in enumerate(_RECORDS))
_SOUND = batch(records=_RECORDS)
_GZIP, _ZSTD, _SUMMED = gzip_members(_PLAIN), zstd_frames(_PLAIN), zstd_frames(_PLAIN, has_checksum=True)
_AFTER_1, _AFTER_2, _AFTER = (batch(records=[record(value=b"after")], base_offset=offset) for offset in (1, 2, 3))
_MESSAGES = [message_of(value=b"first"), message_of(value=b"second")]
_OLD = [message_of(value=b"first", magic=0), message_of(value=b"second", magic=0)]


def _third(magic: int) -> bytes:
    """A message after two others, as it is inside a wrapper."""
    return message_set(messages=[message_of(value=b"third", magic=magic)], base_offset=2)


def _with(second: Record | bytes) -> Files:
    """Three records, the second as given, and a sound batch after them."""
    return {_LOG: batch(records=[_RECORDS[0], second, _RECORDS[2]], last_offset_delta=2) + _AFTER}


def _compressed(codec: Codec, payload: bytes, records: list[Record] = _RECORDS) -> Files:
    """A batch with this payload, and a sound one after it."""
    after = batch(records=[record(value=b"after")], base_offset=len(records))
    return {_LOG: batch(records=records, codec=codec, payload=payload) + after}


_SECOND = 61 + 13  # where the second record starts
_AFTER_SIZE = len(_AFTER)
_FIRST = (0, -_AFTER_SIZE)  # all of the first batch
_NOT_ALL_READ = error(_FIRST, offsets=(0, 2), expected="3")
_NONE_READ = error(_FIRST, offsets=(0, 2), expected="3", found="0")
_ONE_ODD = info(_FIRST, offsets=(0, 2), found="1")
_UNREAD = error((_SECOND, -_AFTER_SIZE), offsets=(0, 2), expected="3", found="1")
"""One of three records can be read: not the second, and so not the third."""


def _before_after(trailing: bytes) -> tuple[int, int]:
    """Where bytes stand that end the first batch."""
    return -_AFTER_SIZE - len(trailing), -_AFTER_SIZE


def _wrapped(**changes: object) -> Files:
    return {_LOG: wrapper(**{"messages": _MESSAGES, **changes})}  # type: ignore[arg-type]


def _second(address: str, second: Record | bytes, sound: Record | bytes = _RECORDS[1]) -> FaultCase:
    """The second of three records ends what can be read, and a sound one does not."""
    return case(address, _with(second), _UNREAD, _with(sound))


def _payload(address: str, codec: Codec, odd: bytes, at: At, sound: bytes | None = None, **more: Any) -> FaultCase:
    """The payload of a batch is odd, and another, by itself that of a Java client, is not."""
    return case(address, _compressed(codec, odd), at, _compressed(codec, sound or compress(_PLAIN, codec=codec)), **more)


def _of_wrapper(address: str, at: At, **changes: object) -> FaultCase:
    """A wrapper differs from a sound one in these fields."""
    return case(address, _wrapped(**changes), at, _wrapped())


def _raw(body: bytes) -> bytes:
    """A record of these bytes after its length."""
    return varint(len(body)) + body


_HEADER = [("trace", b"1")]
_RAW_START = b"\0\0" + varint(1)  # attributes, timestamp delta 0, offset delta 1
_LONG = [record(value=bytes(1000))] * 3
_BOMB = zstandard.ZstdCompressor(write_content_size=False).compressobj()
_BOMB_PAYLOAD = _BOMB.compress(encode_record(record(value=bytes(3 << 20)))) + _BOMB.flush()
_FLAGGED = record(value=b"second", attributes=5)

_CODECS: tuple[Codec, ...] = ("gzip", "snappy", "lz4", "zstd")

CASES = (
    _second("record-length-bad: past-end", record(value=b"v", length=1000)),
    _of_wrapper(
        "record-length-bad: inner-message",
        error(WHOLE_FILE, offsets=(0, 1)),
        messages=[message_of(value=b"first", size=3), message_of(value=b"second")],
    ),
    _second("record-body-mismatch", record(value=b"v", trailing=b"??")),
    _second(
        "varint-too-long: of-length",
        record(value=b"v", length=b"\xff" * 6),
        record(value=b"v", length=unsigned_varint(14, size_in_bytes=5)),
    ),
    _second(
        "varint-too-long: of-offset",
        _raw(b"\0\0" + b"\xff" * 5 + b"\x01" * 10),
        _raw(b"\0\0" + unsigned_varint(2, size_in_bytes=5) + b"\x01\x01\0"),
    ),
    case(
        "varint-truncated",
        batch(records=[_RECORDS[0], b"\x80"], codec="gzip", last_offset_delta=1) + _AFTER_2,
        error(_FIRST, offsets=(0, 1), expected="2", found="1"),
        batch(records=[_RECORDS[0]], codec="gzip"),
        also={"record-count-too-high": error(_FIRST, offsets=(0, 1), found="2")},
    ),
    case(
        "varint-noncanonical",
        _with(_raw(b"\0\0" + unsigned_varint(2, size_in_bytes=3) + b"\x01\x01\0")),
        info((_SECOND, _SECOND + 9), offsets=(1, 1), found="1"),
        _with(_raw(b"\0\0" + unsigned_varint(2) + b"\x01\x01\0")),
        settings=_PEDANTIC,
    ),
    _second("key-length-bad: past-end", record(key=b"k", key_length=5000), record()),
    case(
        "key-length-bad: negative",
        _with(record(key_length=-2)),
        warning((_SECOND, _SECOND + 7), offsets=(1, 1), expected="-1", found="-2"),
        _with(record(key_length=-1)),
    ),
    case(
        "key-length-bad: negative-compressed",
        batch(records=[record(value_length=-7)], codec="zstd"),
        warning(WHOLE_FILE, offsets=(0, 0), expected="-1", found="-7"),
        batch(records=[record()], codec="zstd"),
    ),
    case(
        "key-length-bad: message",
        message_set(messages=[message_of(value=b"v", value_length=9), message_of(key_length=-2)]),
        (error((0, 35), offsets=(0, 0)), warning((35, 35 + 34), offsets=(1, 1), expected="-1", found="-2")),
        message_set(messages=[message_of(value=b"v", value_length=1), message_of(key_length=-1)]),
    ),
    _second("header-count-bad: negative", record(headers_count=-1), record()),
    _second("header-count-bad: too-high", record(headers_count=70), record()),
    _second("header-key-null", record(headers=[(None, b"v")]), record(headers=[("", b"v")])),
    _second(
        "header-bytes-odd: past-end",
        _raw(_RAW_START + b"\x01\x01" + varint(1) + varint(1) + b"k" + varint(3000)),
        record(headers=_HEADER),
    ),
    case(
        "header-bytes-odd: negative",
        _with(_raw(_RAW_START + b"\x01\x01" + varint(1) + varint(1) + b"k" + varint(-2))),
        warning((_SECOND, _SECOND + 10), offsets=(1, 1), expected="-1", found="-2"),
        _with(record(headers=[("k", None)])),
    ),
    case("record-attributes-set", _with(_FLAGGED), info((_SECOND, _SECOND + 13), offsets=(1, 1), found="1"), _with(_RECORDS[1])),
    # the batch after has no key either
    case(
        "key-missing-compacted",
        _with(record(value=b"second")),
        warning(_FIRST, offsets=(1, 1), found="2"),
        _SOUND,
        settings={"cleanup_policy": "compact,delete"},
    ),
    case(
        "codec-unknown",
        batch(records=_RECORDS, attributes=6) + _AFTER,
        error(_FIRST, offsets=(0, 2), expected="0 to 4", found="6"),
        batch(records=_RECORDS, codec="zstd") + _AFTER,
    ),
    case(
        "codec-not-allowed",
        wrapper(messages=_MESSAGES, codec="zstd"),
        error(WHOLE_FILE, offsets=(1, 1), found="zstd"),
        wrapper(messages=_MESSAGES, codec="lz4"),
    ),
    _payload("frame-bad-header: other-codec", "gzip", _ZSTD, _NONE_READ),
    _payload("frame-bad-header: snappy", "snappy", b"no snappy at all", _NONE_READ, snappy_raw(_PLAIN)),
    _of_wrapper("frame-bad-header: wrapper", error(WHOLE_FILE, offsets=(0, 1)), payload=b"no gzip at all"),
    *(_payload(f"frame-truncated: {codec}", codec, compress(_PLAIN, codec=codec)[:-4], _NOT_ALL_READ) for codec in _CODECS),
    _payload("frame-damaged", "gzip", _GZIP[:10] + b"\xff" + _GZIP[11:], _NONE_READ),
    _payload("frame-checksum-mismatch: gzip", "gzip", _GZIP[:-8] + bytes(4) + struct.pack("<I", len(_PLAIN)), _NOT_ALL_READ),
    _payload(
        "frame-checksum-mismatch: lz4",
        "lz4",
        lz4_frame(_PLAIN, has_block_checksums=True, block_checksum=1),
        _NOT_ALL_READ,
        lz4_frame(_PLAIN, has_content_checksum=True, content_checksum=1),
    ),
    _payload("frame-checksum-mismatch: zstd", "zstd", _SUMMED[:-1] + b"\0", _NOT_ALL_READ, _SUMMED),
    *(
        _payload(
            f"frame-trailing-bytes: {codec}",
            codec,
            compress(_PLAIN, codec=codec) + trailing,
            at(_before_after(trailing), offsets=(0, 2)),
        )
        # readers of zstd fail at the end of the stream
        for codec, trailing, at in zip(
            _CODECS, (bytes(5), b"abc", b"abcd", b"abcde"), (warning, warning, warning, error), strict=True
        )
    ),
    _payload(
        "frame-trailing-bytes: snappy-long",
        "snappy",
        snappy_xerial(_PLAIN) + b"\xaa" * 7,
        error(_before_after(bytes(7)), offsets=(0, 2), expected="3", found="3"),
    ),
    _payload("frame-multi-member: gzip", "gzip", gzip_members(_PLAIN, member_count=3), _ONE_ODD),
    _payload("frame-multi-member: lz4", "lz4", lz4_frame(_PLAIN) + lz4_frame(_PLAIN), _ONE_ODD),
    _payload("frame-multi-member: zstd", "zstd", zstd_frames(_PLAIN, frame_count=2), _ONE_ODD),
    _payload("snappy-raw", "snappy", snappy_raw(_PLAIN), _ONE_ODD, settings=_PEDANTIC),
    case(
        "lz4-legacy-header: magic-1",
        _wrapped(codec="lz4", compressor=lambda plain: lz4_frame(plain, is_header_checksum_broken=True)),
        error(WHOLE_FILE, offsets=(0, 1)),
        _wrapped(codec="lz4"),
    ),
    case(
        "lz4-legacy-header: magic-0",
        _wrapped(codec="lz4", magic=0, messages=_OLD),
        info(WHOLE_FILE, offsets=(1, 1), found="1"),
        _wrapped(codec="gzip", magic=0, messages=_OLD),
        settings=_PEDANTIC,
    ),
    # only headers: a record is missing, too
    case(
        "payload-empty-compressed",
        _compressed("zstd", b""),
        error((0, 61), offsets=(0, 2), expected="3", found="0"),
        batch(codec="zstd") + _AFTER_1,
        settings={"level": "full"},
    ),
    case(
        "decompression-limit",
        _compressed("zstd", _BOMB_PAYLOAD, [record(value=b"")]),
        error(_FIRST, offsets=(0, 0), expected="1", found="0"),
        _compressed("zstd", zstd_frames(b"".join(encode_record(one, row=row) for row, one in enumerate(_LONG))), _LONG),
        settings={"max_payload": 1 << 20},
    ),
    _payload(
        "declared-size-forged: snappy",
        "snappy",
        snappy_xerial(b"")[:16] + struct.pack(">i", 9) + unsigned_varint(2_000_000_000) + b"abcd",
        _NONE_READ,
    ),
    _payload(
        "declared-size-forged: snappy-chunk",
        "snappy",
        snappy_xerial(b"")[:16] + struct.pack(">i", -2) + b"abcd",
        _NONE_READ,
        snappy_xerial(_PLAIN, is_header_repeated=True),
    ),
    _payload("declared-size-forged: lz4", "lz4", lz4_frame(b"")[:7] + struct.pack("<I", 0x7FFFFFFF) + b"abcd", _NONE_READ),
    _payload("declared-size-forged: zstd-window", "zstd", b"\x28\xb5\x2f\xfd\x00" + bytes([18 << 3]) + _ZSTD[6:], _NONE_READ),
    case(
        "legacy-inner-magic",
        _wrapped(messages=[message_of(value=b"first"), message_of(value=b"second", magic=0)]),
        warning(WHOLE_FILE, offsets=(1, 1), expected="1", found="0"),
        _wrapped(magic=0, messages=_OLD),
    ),
    _of_wrapper(
        "legacy-nested-compression", error(WHOLE_FILE, offsets=(0, 0)), messages=[wrapper(messages=_MESSAGES)], inner_offsets=[0]
    ),
    _of_wrapper("legacy-wrapper-empty: null", error(WHOLE_FILE, offsets=(0, 1)), has_null_value=True),
    _of_wrapper("legacy-wrapper-empty: no-messages", error(WHOLE_FILE, offsets=(0, 0)), messages=[]),
    _of_wrapper("legacy-wrapper-empty: no-bytes", error(WHOLE_FILE, offsets=(0, 1)), payload=b""),
    case(
        "legacy-wrapper-cut: magic-0",
        _wrapped(messages=_OLD, magic=0, trailing=_third(0)[:-3], offset=2),
        error(WHOLE_FILE, offsets=(2, 2), expected="2", found="1"),
        _wrapped(messages=_OLD, magic=0, trailing=_third(0), offset=2),
    ),
    _of_wrapper("legacy-wrapper-cut: padding", warning(WHOLE_FILE, offsets=(1, 1)), trailing=bytes(7)),
    _of_wrapper("legacy-wrapper-offset: low", error(WHOLE_FILE, offsets=(0, 1)), inner_offsets=[0, 5]),
    _of_wrapper("legacy-wrapper-offset: zero", info(WHOLE_FILE, offsets=(0, 1)), offset=0),
    _of_wrapper(
        "legacy-inner-crc",
        error(WHOLE_FILE, offsets=(1, 1), found=f"0x{zlib.crc32(b''):08x}"),
        messages=[message_of(value=b"first"), message_of(value=b"second", crc=zlib.crc32(b""))],
    ),
)
