"""Faults of records, and of compressed payloads."""

import struct
import zlib

import zstandard

from tests.builders.compression import Codec, compress, gzip_members, lz4_frame, snappy_raw, snappy_xerial, zstd_frames
from tests.builders.files import file_name
from tests.builders.records import (
    Record,
    batch,
    encode_message,
    encode_record,
    message_set,
    record,
    unsigned_varint,
    varint,
    wrapper,
)
from tests.builders.records import message as message_of

from .case import WHOLE_FILE, At, FaultCase, Files, error, info, warning

_LOG = file_name(0, ".log")
_PEDANTIC = {"is_pedantic": True}
_RECORDS = [record(key=b"k", value=b"first"), record(key=b"k", value=b"second"), record(key=b"k", value=b"third")]
_PLAIN = b"".join(encode_record(one, row=row) for row, one in enumerate(_RECORDS))
_SOUND = batch(records=_RECORDS)
_AFTER_1, _AFTER_2, _AFTER = (batch(records=[record(value=b"after")], base_offset=offset) for offset in (1, 2, 3))
_MESSAGES = [message_of(value=b"first"), message_of(value=b"second")]
_OLD = [message_of(value=b"first", magic=0), message_of(value=b"second", magic=0)]


def _third(magic: int) -> bytes:
    """A message after two others, as it is inside a wrapper."""
    return encode_message(message_of(value=b"third", magic=magic), offset=2)


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
_UNREAD = error((_SECOND, -_AFTER_SIZE), offsets=(0, 2), expected="3", found="1")
"""One of three records can be read: not the second, and so not the third."""


def _wrapped(**changes: object) -> Files:
    return {_LOG: wrapper(**{"messages": _MESSAGES, **changes})}  # type: ignore[arg-type]


def _second(code: str, second: Record | bytes, sound: Record | bytes = _RECORDS[1], *, name: str = "") -> FaultCase:
    """The second of three records ends what can be read, and a sound one does not."""
    return FaultCase(code, name=name, shown=_with(second), at=_UNREAD, near_miss=_with(sound))


def _of_wrapper(code: str, at: At, name: str = "", **changes: object) -> FaultCase:
    """A wrapper differs from a sound one in these fields."""
    return FaultCase(code, name=name, shown=_wrapped(**changes), at=at, near_miss=_wrapped())


def _raw(body: bytes) -> bytes:
    """A record of these bytes after its length."""
    return varint(len(body)) + body


_HEADER = [("trace", b"1")]
_RAW_START = b"\0\0" + varint(1)  # attributes, timestamp delta 0, offset delta 1
_LONG_VALUE = [record(value=bytes(1000))] * 3
_BOMB = zstandard.ZstdCompressor(write_content_size=False).compressobj()
_BOMB_PAYLOAD = _BOMB.compress(encode_record(record(value=bytes(3 << 20)))) + _BOMB.flush()
_BIG_WINDOW = b"\x28\xb5\x2f\xfd\x00" + bytes([18 << 3]) + zstd_frames(_PLAIN)[6:]
_ATTRIBUTES_ONLY = record(value=b"second", attributes=5)

_CODECS: tuple[Codec, ...] = ("gzip", "snappy", "lz4", "zstd")

CASES = (
    _second("record-length-bad", record(value=b"v", length=1000), name="past-end"),
    _second("record-length-bad", record(value=b"v", length=0), name="zero"),
    _second("record-length-bad", record(value=b"v", length=-3), name="negative"),
    FaultCase(
        "record-length-bad",
        name="compressed",
        shown={_LOG: batch(records=[_RECORDS[0], record(value=b"v", length=-3), _RECORDS[2]], codec="gzip") + _AFTER},
        at=error(_FIRST, offsets=(0, 2), expected="3", found="1"),
        near_miss={_LOG: batch(records=_RECORDS, codec="gzip") + _AFTER},
    ),
    _of_wrapper(
        "record-length-bad",
        error(WHOLE_FILE, offsets=(0, 1)),
        "inner-message",
        messages=[message_of(value=b"first", size=3), message_of(value=b"second")],
    ),
    _second("record-body-mismatch", record(value=b"v", trailing=b"??")),
    _second(
        "varint-too-long",
        record(value=b"v", length=b"\xff" * 6),
        record(value=b"v", length=unsigned_varint(14, size_in_bytes=5)),
        name="of-length",
    ),
    _second(
        "varint-too-long",
        _raw(b"\0\0" + b"\xff" * 5 + b"\x01" * 10),
        _raw(b"\0\0" + unsigned_varint(2, size_in_bytes=5) + b"\x01\x01\0"),
        name="of-offset",
    ),
    FaultCase(
        "varint-truncated",
        shown={_LOG: batch(records=[_RECORDS[0], b"\x80"], codec="gzip", last_offset_delta=1) + _AFTER_2},
        at=error(_FIRST, offsets=(0, 1), expected="2", found="1"),
        near_miss={_LOG: batch(records=[_RECORDS[0]], codec="gzip")},
        also={"record-count-too-high": error(_FIRST, offsets=(0, 1), found="2")},
    ),
    FaultCase(
        "varint-noncanonical",
        shown=_with(_raw(b"\0\0" + unsigned_varint(2, size_in_bytes=3) + b"\x01\x01\0")),
        at=info((_SECOND, _SECOND + 9), offsets=(1, 1), found="1"),
        near_miss=_with(_raw(b"\0\0" + unsigned_varint(2) + b"\x01\x01\0")),
        settings=_PEDANTIC,
    ),
    _second("key-length-bad", record(key=b"k", key_length=5000), record(), name="past-end"),
    FaultCase(
        "key-length-bad",
        name="negative",
        shown=_with(record(key_length=-2)),
        at=warning((_SECOND, _SECOND + 7), offsets=(1, 1), expected="-1", found="-2"),
        near_miss=_with(record(key_length=-1)),
    ),
    FaultCase(
        "key-length-bad",
        name="negative-compressed",
        shown={_LOG: batch(records=[record(value_length=-7)], codec="zstd")},
        at=warning(WHOLE_FILE, offsets=(0, 0), expected="-1", found="-7"),
        near_miss={_LOG: batch(records=[record()], codec="zstd")},
    ),
    FaultCase(
        "key-length-bad",
        name="message",
        shown={_LOG: message_set(messages=[message_of(value=b"v", value_length=9), message_of(key_length=-5)])},
        at=(error((0, 35), offsets=(0, 0)), warning((35, 35 + 34), offsets=(1, 1), expected="-1", found="-5")),
        near_miss={_LOG: message_set(messages=[message_of(value=b"v", value_length=1), message_of(key_length=-1)])},
    ),
    _second("header-count-bad", record(headers_count=-1), record(), name="negative"),
    _second("header-count-bad", record(headers_count=70), record(), name="too-high"),
    _second("header-key-null", record(headers=[(None, b"v")]), record(headers=[("", b"v")])),
    _second(
        "header-bytes-odd",
        _raw(_RAW_START + b"\x01\x01" + varint(1) + varint(1) + b"k" + varint(3000)),
        record(headers=_HEADER),
        name="past-end",
    ),
    FaultCase(
        "header-bytes-odd",
        name="negative",
        shown=_with(_raw(_RAW_START + b"\x01\x01" + varint(1) + varint(1) + b"k" + varint(-2))),
        at=warning((_SECOND, _SECOND + 10), offsets=(1, 1), expected="-1", found="-2"),
        near_miss=_with(record(headers=[("k", None)])),
    ),
    FaultCase(
        "header-bytes-odd",
        name="no-text",
        shown=_with(record(headers=[(b"\xff\xfe", b"v")])),
        at=info(_FIRST, offsets=(1, 1), found="1"),
        near_miss=_with(record(headers=[("é", b"v")])),
    ),
    FaultCase(
        "record-attributes-set",
        shown=_with(_ATTRIBUTES_ONLY),
        at=info((_SECOND, _SECOND + 13), offsets=(1, 1), found="1"),
        near_miss=_with(_RECORDS[1]),
    ),
    FaultCase(
        "key-missing-compacted",
        shown=_with(record(value=b"second")),
        at=warning(_FIRST, offsets=(1, 1), found="2"),  # the batch after has no key either
        near_miss={_LOG: _SOUND},
        settings={"cleanup_policy": "compact,delete"},
    ),
    FaultCase(
        "codec-unknown",
        shown={_LOG: batch(records=_RECORDS, attributes=6) + _AFTER},
        at=error(_FIRST, offsets=(0, 2), expected="0 to 4", found="6"),
        near_miss={_LOG: batch(records=_RECORDS, codec="zstd") + _AFTER},
    ),
    FaultCase(
        "codec-not-allowed",
        shown={_LOG: wrapper(messages=_MESSAGES, codec="zstd")},
        at=error(WHOLE_FILE, offsets=(1, 1), found="zstd"),
        near_miss={_LOG: wrapper(messages=_MESSAGES, codec="lz4")},
    ),
    FaultCase(
        "frame-bad-header",
        name="other-codec",
        shown=_compressed("gzip", zstd_frames(_PLAIN)),
        at=error(_FIRST, offsets=(0, 2), expected="3", found="0"),
        near_miss=_compressed("gzip", gzip_members(_PLAIN)),
    ),
    FaultCase(
        "frame-bad-header",
        name="snappy",
        shown=_compressed("snappy", b"no snappy at all"),
        at=error(_FIRST, offsets=(0, 2), expected="3", found="0"),
        near_miss=_compressed("snappy", snappy_raw(_PLAIN)),
    ),
    _of_wrapper("frame-bad-header", error(WHOLE_FILE, offsets=(0, 1)), "wrapper", payload=b"no gzip at all"),
    *(
        FaultCase(
            "frame-truncated",
            name=codec,
            shown=_compressed(codec, compress(_PLAIN, codec=codec)[:-4]),
            at=error(_FIRST, offsets=(0, 2), expected="3"),
            near_miss=_compressed(codec, compress(_PLAIN, codec=codec)),
        )
        for codec in _CODECS
    ),
    FaultCase(
        "frame-damaged",
        shown=_compressed("gzip", gzip_members(_PLAIN)[:10] + b"\xff" + gzip_members(_PLAIN)[11:]),
        at=error(_FIRST, offsets=(0, 2), expected="3", found="0"),
        near_miss=_compressed("gzip", gzip_members(_PLAIN)),
    ),
    FaultCase(
        "frame-checksum-mismatch",
        name="gzip",
        shown=_compressed("gzip", gzip_members(_PLAIN)[:-8] + bytes(4) + struct.pack("<I", len(_PLAIN))),
        at=error(_FIRST, offsets=(0, 2), expected="3"),
        near_miss=_compressed("gzip", gzip_members(_PLAIN)),
    ),
    FaultCase(
        "frame-checksum-mismatch",
        name="lz4",
        shown=_compressed("lz4", lz4_frame(_PLAIN, has_block_checksums=True, block_checksum=1)),
        at=error(_FIRST, offsets=(0, 2), expected="3"),
        near_miss=_compressed("lz4", lz4_frame(_PLAIN, has_content_checksum=True, content_checksum=1)),
    ),
    FaultCase(
        "frame-checksum-mismatch",
        name="zstd",
        shown=_compressed("zstd", zstd_frames(_PLAIN, has_checksum=True)[:-1] + b"\0"),
        at=error(_FIRST, offsets=(0, 2), expected="3"),
        near_miss=_compressed("zstd", zstd_frames(_PLAIN, has_checksum=True)),
    ),
    *(
        FaultCase(
            "frame-trailing-bytes",
            name=codec,
            shown=_compressed(codec, compress(_PLAIN, codec=codec) + trailing),
            at=at((-_AFTER_SIZE - len(trailing), -_AFTER_SIZE), offsets=(0, 2)),
            near_miss=_compressed(codec, compress(_PLAIN, codec=codec)),
        )
        # readers of zstd fail at the end of the stream
        for codec, trailing, at in zip(
            _CODECS, (bytes(5), b"abc", b"abcd", b"abcde"), (warning, warning, warning, error), strict=True
        )
    ),
    FaultCase(
        "frame-trailing-bytes",
        name="snappy-long",
        shown=_compressed("snappy", snappy_xerial(_PLAIN) + b"\xaa" * 7),
        at=error((-_AFTER_SIZE - 7, -_AFTER_SIZE), offsets=(0, 2), expected="3", found="3"),
        near_miss=_compressed("snappy", snappy_xerial(_PLAIN)),
    ),
    FaultCase(
        "frame-multi-member",
        name="gzip",
        shown=_compressed("gzip", gzip_members(_PLAIN, member_count=3)),
        at=info(_FIRST, offsets=(0, 2), found="1"),
        near_miss=_compressed("gzip", gzip_members(_PLAIN)),
    ),
    FaultCase(
        "frame-multi-member",
        name="lz4",
        shown=_compressed("lz4", lz4_frame(_PLAIN) + lz4_frame(_PLAIN)),
        at=info(_FIRST, offsets=(0, 2), found="1"),
        near_miss=_compressed("lz4", lz4_frame(_PLAIN)),
    ),
    FaultCase(
        "frame-multi-member",
        name="zstd",
        shown=_compressed("zstd", zstd_frames(_PLAIN, frame_count=2)),
        at=info(_FIRST, offsets=(0, 2), found="1"),
        near_miss=_compressed("zstd", zstd_frames(_PLAIN)),
    ),
    FaultCase(
        "snappy-raw",
        shown=_compressed("snappy", snappy_raw(_PLAIN)),
        at=info(_FIRST, offsets=(0, 2), found="1"),
        near_miss=_compressed("snappy", snappy_xerial(_PLAIN)),
        settings=_PEDANTIC,
    ),
    FaultCase(
        "lz4-legacy-header",
        name="magic-1",
        shown=_wrapped(codec="lz4", compressor=lambda plain: lz4_frame(plain, is_header_checksum_broken=True)),
        at=error(WHOLE_FILE, offsets=(0, 1)),
        near_miss=_wrapped(codec="lz4"),
    ),
    FaultCase(
        "lz4-legacy-header",
        name="magic-0",
        shown=_wrapped(codec="lz4", magic=0, messages=_OLD),
        at=info(WHOLE_FILE, offsets=(1, 1), found="1"),
        near_miss=_wrapped(codec="gzip", magic=0, messages=_OLD),
        settings=_PEDANTIC,
    ),
    FaultCase(
        "payload-empty-compressed",
        shown=_compressed("zstd", b""),
        at=error((0, 61), offsets=(0, 2), expected="3", found="0"),
        near_miss={_LOG: batch(codec="zstd") + _AFTER_1},
        settings={"level": "full"},  # only headers: a record is missing, too
    ),
    FaultCase(
        "decompression-limit",
        shown=_compressed("zstd", _BOMB_PAYLOAD, [record(value=b"")]),
        at=error(_FIRST, offsets=(0, 0), expected="1", found="0"),
        near_miss=_compressed(
            "zstd", zstd_frames(b"".join(encode_record(one, row=row) for row, one in enumerate(_LONG_VALUE))), _LONG_VALUE
        ),
        settings={"max_payload": 1 << 20},
    ),
    FaultCase(
        "declared-size-forged",
        name="snappy",
        shown=_compressed("snappy", snappy_xerial(b"")[:16] + struct.pack(">i", 9) + unsigned_varint(2_000_000_000) + b"abcd"),
        at=error(_FIRST, offsets=(0, 2), expected="3", found="0"),
        near_miss=_compressed("snappy", snappy_xerial(_PLAIN)),
    ),
    FaultCase(
        "declared-size-forged",
        name="snappy-chunk",
        shown=_compressed("snappy", snappy_xerial(b"")[:16] + struct.pack(">i", -2) + b"abcd"),
        at=error(_FIRST, offsets=(0, 2), expected="3", found="0"),
        near_miss=_compressed("snappy", snappy_xerial(_PLAIN, is_header_repeated=True)),
    ),
    FaultCase(
        "declared-size-forged",
        name="lz4",
        shown=_compressed("lz4", lz4_frame(b"")[:7] + struct.pack("<I", 0x7FFFFFFF) + b"abcd"),
        at=error(_FIRST, offsets=(0, 2), expected="3", found="0"),
        near_miss=_compressed("lz4", lz4_frame(_PLAIN)),
    ),
    FaultCase(
        "declared-size-forged",
        name="zstd-window",
        shown=_compressed("zstd", _BIG_WINDOW),
        at=error(_FIRST, offsets=(0, 2), expected="3", found="0"),
        near_miss=_compressed("zstd", zstd_frames(_PLAIN)),
    ),
    FaultCase(
        "legacy-inner-magic",
        shown=_wrapped(messages=[message_of(value=b"first"), message_of(value=b"second", magic=0)]),
        at=warning(WHOLE_FILE, offsets=(1, 1), expected="1", found="0"),
        near_miss=_wrapped(magic=0, messages=_OLD),
    ),
    _of_wrapper(
        "legacy-nested-compression",
        error(WHOLE_FILE, offsets=(0, 0)),
        "",
        messages=[wrapper(messages=_MESSAGES)],
        inner_offsets=[0],
    ),
    _of_wrapper("legacy-wrapper-empty", error(WHOLE_FILE, offsets=(0, 1)), "null", has_null_value=True),
    _of_wrapper("legacy-wrapper-empty", error(WHOLE_FILE, offsets=(0, 0)), "no-messages", messages=[]),
    _of_wrapper("legacy-wrapper-empty", error(WHOLE_FILE, offsets=(0, 1)), "no-bytes", payload=b""),
    FaultCase(
        "legacy-wrapper-cut",
        name="magic-0",
        shown=_wrapped(messages=_OLD, magic=0, trailing=_third(0)[:-3], offset=2),
        at=error(WHOLE_FILE, offsets=(2, 2), expected="2", found="1"),
        near_miss=_wrapped(messages=_OLD, magic=0, trailing=_third(0), offset=2),
    ),
    FaultCase(
        "legacy-wrapper-cut",
        name="magic-1",
        shown=_wrapped(trailing=_third(1)[:20], offset=2),
        at=error(WHOLE_FILE, offsets=(2, 2), expected="2", found="1"),
        near_miss=_wrapped(trailing=_third(1), offset=2),
    ),
    FaultCase(
        "legacy-wrapper-cut",
        name="inside-a-header",
        shown=_wrapped(trailing=_third(1)[:7], offset=2),
        at=error(WHOLE_FILE, offsets=(2, 2), expected="2", found="1"),
        near_miss=_wrapped(trailing=_third(1), offset=2),
    ),
    FaultCase(
        "legacy-wrapper-cut",
        name="several",
        shown=_wrapped(messages=_OLD, magic=0, trailing=_third(0)[:-3], offset=4),
        at=error(WHOLE_FILE, offsets=(2, 4), expected="4", found="1"),
        near_miss=_wrapped(messages=_OLD, magic=0),
    ),
    _of_wrapper("legacy-wrapper-cut", warning(WHOLE_FILE, offsets=(1, 1)), "padding", trailing=bytes(7)),
    _of_wrapper("legacy-wrapper-offset", error(WHOLE_FILE, offsets=(0, 1)), "low", inner_offsets=[0, 5]),
    _of_wrapper("legacy-wrapper-offset", info(WHOLE_FILE, offsets=(0, 1)), "zero", offset=0),
    _of_wrapper(
        "legacy-inner-crc",
        error(WHOLE_FILE, offsets=(1, 1), found=f"0x{zlib.crc32(b''):08x}"),
        "",
        messages=[message_of(value=b"first"), message_of(value=b"second", crc=zlib.crc32(b""))],
    ),
)
