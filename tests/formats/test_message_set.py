"""Messages of magic 0 and 1, and the wrappers that hold them compressed."""

import struct
import tracemalloc
from functools import partial
from typing import Literal
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdump.binary import codecs
from kdump.errors import CorruptData
from kdump.formats import message_set as reader
from kdump.formats import record as records
from kdump.formats.log import Log
from tests.builders.compression import Codec, compress, gzip_members, lz4_frame
from tests.builders.records import Message, batch, encode_message, message, message_set, record, wrapper
from tests.loops import each
from tests.support import LEGACY_CODECS, LOGS, OPTIONAL_BYTES, TIMESTAMPS, WRAPPERS, damaged, fault_of, opened, read_records

pytestmark = pytest.mark.both_kernels

T = 1_700_000_000_000


def _offsets(data: bytes) -> list[int]:
    found = read_records(data)
    assert found.fault is None
    return [row["offset"] for row in found.rows]


# --- messages on their own


def test_a_wrong_checksum_withholds_no_message() -> None:
    (row,) = read_records(message_set(messages=[message(value=b"v", crc=7)])).rows
    assert (row["value"], row["crc"], row["isvalid"]) == (b"v", 7, False)


_PAST_END, _NO_ROOM = "message-content-past-end", "message-field-past-end"  # stand in place of what cannot be read


@each(
    ("one", "key", "key_size", "value", "value_size"),
    [
        (message(key=None, value=b""), None, -1, b"", 0),
        (message(key=b"", value=None), b"", 0, None, -1),
        (message(key_length=-7, value_length=-9), None, -7, None, -9),  # below -1: null, and shown as stored
        (message(key_length=1000, magic=0), _PAST_END, 1000, _NO_ROOM, _NO_ROOM),
        (message(key_length=1000, magic=1), _PAST_END, 1000, _NO_ROOM, _NO_ROOM),
        (message(key=b"k", value=b"v", value_length=1000), b"k", 1, _PAST_END, 1000),
    ],
    ids=["null key", "empty key", "negative sizes", "key past the end of magic 0", "of magic 1", "value past the end"],
)
def test_a_message_is_shown_as_far_as_it_can_be_read(
    one: Message, key: object, key_size: int, value: object, value_size: object
) -> None:
    row = read_records(message_set(messages=[message(value=b"a"), one])).rows[1]
    assert (row["key"], row["key_size"], row["value"], row["value_size"]) == (key, key_size, value, value_size)


def test_a_message_too_short_for_its_key_is_shown_as_far_as_it_goes() -> None:
    short = struct.pack(">qiIbb", 0, 14, 0, 1, 0) + bytes(8)  # what magic 0 needs, said to be magic 1
    (row,) = read_records(short).rows
    assert (row["timestamp"], row["key_size"], row["value"]) == (0, _NO_ROOM, _NO_ROOM)


def test_a_message_is_damaged_whose_checksum_or_a_field_is_wrong() -> None:
    with opened(message_set(messages=[message(value=b"a"), message(key_length=1000), message(crc=7)])) as source:
        (part,) = (part for chunk in Log(source).chunks() for part in reader.read(source, chunk))
    assert part.statuses("intact", "damaged") == ["intact", "damaged", "damaged"]


# --- wrappers


def _at(*offsets: int, magic: int = 1) -> list[Message]:
    return [message(magic=magic, offset=offset) for offset in offsets]


_THREE = [message()] * 3
_THREE_OLD = [message(magic=0)] * 3
_OF_BOTH = [message(key=b"a", magic=0), message(key=b"b", magic=1)]
_TIMES = [message(timestamp=T + 1, timestamp_type="LogAppendTime"), message(timestamp=T + 2), message(magic=0)]


@each(
    ("built", "offsets"),
    [
        (wrapper(messages=_at(5, 9, 10, magic=0), magic=0), [5, 9, 10]),
        (wrapper(messages=_at(5, 9, 10, magic=0), magic=0, inner_offsets=[0, 1, 2], offset=10), [0, 1, 2]),
        (wrapper(messages=_THREE_OLD, magic=0, inner_offsets=[0, 1, 2], offset=1), [0, 1, 2]),  # any offset
        (wrapper(messages=_THREE, base_offset=5), [5, 6, 7]),
        (wrapper(messages=_THREE, inner_offsets=[0, 1, 2], offset=100), [98, 99, 100]),
        (wrapper(messages=_at(5, 8, 9), base_offset=5), [5, 8, 9]),  # gaps after compaction
        (wrapper(messages=_at(5, 8, 9), inner_offsets=[3, 6, 7], offset=100), [96, 99, 100]),
        (wrapper(messages=_THREE, base_offset=5, inner_offsets="absolute"), [5, 6, 7]),
        (wrapper(messages=_THREE, inner_offsets=[0, 1, 2], offset=0), [0, 1, 2]),
        (wrapper(messages=[message()], inner_offsets=[7], offset=0), [7]),
        (wrapper(messages=_OF_BOTH, magic=1, inner_offsets=[0, 1], offset=50), [49, 50]),  # the magic of the wrapper decides
        (wrapper(messages=_OF_BOTH, magic=0, inner_offsets=[0, 1], offset=50), [0, 1]),
        (wrapper(messages=[message()], base_offset=5, key=b"key"), [5]),
    ],
)
def test_offsets_inside_are_absolute_in_magic_0_and_relative_to_the_last_in_magic_1(built: bytes, offsets: list[int]) -> None:
    assert _offsets(built) == offsets


def test_a_wrapper_offset_below_the_last_offset_inside_is_a_fault() -> None:
    fault = fault_of(wrapper(messages=[message()] * 3, inner_offsets=[0, 1, 2], offset=1))
    assert fault.code == "legacy-wrapper-offset"
    assert fault.values == {"wrapper_offset": 1, "inner_offset": 2}


@each(
    ("built", "field", "values"),
    [
        (
            wrapper(messages=_TIMES, timestamp_type="LogAppendTime", timestamp=T + 99, base_offset=1),
            "timestamp",
            [T + 99, T + 99, -1],  # which replaces the timestamps inside
        ),
        (wrapper(messages=_TIMES, base_offset=1), "timestamp", [T + 1, T + 2, -1]),  # the type inside is not checked
        (wrapper(messages=[message(), message(crc=7)], base_offset=1, crc=9), "isvalid", [True, False]),  # each has its own
    ],
    ids=["log append time", "create time", "checksums"],
)
def test_a_wrapper_replaces_the_timestamps_inside_and_no_checksum(built: bytes, field: str, values: list[object]) -> None:
    assert [row[field] for row in read_records(built).rows] == values


# --- what is bad


@each(
    ("data", "code", "values"),
    [
        *(
            (wrapper(messages=[message()], magic=magic, has_null_value=True), "legacy-wrapper-null", {"magic": magic})
            for magic in (0, 1)
        ),
        (wrapper(messages=[], payload=gzip_members(b"")), "legacy-wrapper-empty", None),
        (wrapper(messages=[], payload=gzip_members(bytes(11))), "legacy-wrapper-empty", None),
        *((wrapper(messages=[message()], magic=magic, codec="zstd"), "codec-not-allowed", {"magic": magic}) for magic in (0, 1)),
        (wrapper(messages=[message(attributes=7)], base_offset=1), "codec-unknown", {"codec": 7}),
    ],
)
def test_a_wrapper_that_cannot_be_opened_is_a_fault(data: bytes, code: str, values: dict[str, int] | None) -> None:
    fault = fault_of(data)
    assert fault.code == code
    assert values in (None, fault.values)


def test_a_wrapper_inside_a_wrapper_is_a_fault_after_the_messages_before_it() -> None:
    nested = wrapper(messages=[message()], base_offset=1)
    found = read_records(wrapper(messages=[message(value=b"a"), nested], inner_offsets=[0, 1], offset=9))
    assert ([row["value"] for row in found.rows], found.code) == ([b"a"], "legacy-nested-compression")


def _unwrapped(built: bytes, limits: reader.Limits = reader.Limits()) -> reader.Unwrapped:  # noqa: B008  # it does not change
    offset: int = struct.unpack_from(">q", built)[0]
    return reader.unwrap(reader.Message(offset, built[12:]), limits)


@each("kept", range(1, 36))
def test_a_message_inside_that_is_cut_off_is_not_seen(kept: int) -> None:
    whole, cut = message(value=b"a"), encode_message(message(value=b"bc"), offset=1)[:kept]
    data = wrapper(messages=[whole], inner_offsets=[0], trailing=cut, offset=9)
    found = read_records(data)
    assert ([row["offset"] for row in found.rows], found.code) == ([9], "")
    missing = 36 - kept if kept >= 12 else None  # where its size stands
    for piece in (1, 7, 1 << 20):
        with mock.patch.multiple(codecs, opened=partial(codecs.opened, max_held=0), _PIECE=piece):
            one = _unwrapped(data).cut
        assert one is not None
        assert (one.count, one.last_offset, one.data, one.size, one.missing) == (1, 0, cut[:18], kept, missing)
        assert one.offset == (1 if kept >= 8 else None)


@each(
    ("magic", "offset", "inside", "cut", "first", "lowest", "last"),
    [
        *((0, offset, [5, 9, 10], b"", 5, lowest, 10) for offset, lowest in ((10, 5), (9, 4), (5, 0), (4, None))),
        *((0, offset, [0, 2], b"", 0, lowest, offset) for offset, lowest in ((10, 8), (2, 0), (1, None))),
        *((0, 9, inside, b"", inside[0], None, 9) for inside in ([5, 3], [-1, 3])),
        *((0, 9, [5], b"", 5, 9, 5), (0, 9, [7, 7], b"", 7, 9, 7), (0, 0, [0], b"", 0, 0, 0), (1, 0, [0, 2], b"", 0, None, 0)),
        *((1, 100, [0, 1, 2], b"", 98, 98, 100), (1, 100, [3, 7], b"", 96, 96, 100), (1, 100, [98, 100], b"", 98, 98, 100)),
        *((0, offset, [5, 9], bytes(5), 5, lowest, offset) for offset, lowest in ((10, 5), (9, 5), (8, None))),
        *((0, 9, [0, 9], bytes(5), 0, 0, 9), (0, 9, [5, 3], bytes(5), 5, None, 9), (0, 9, [-1, 3], bytes(5), -1, None, 9)),
        (1, 100, [0, 1], bytes(5), 99, None, 100),
    ],
)
def test_the_offsets_of_a_wrapper_are_as_sure_as_what_says_them(
    magic: int, offset: int, inside: list[int], cut: bytes, first: int, lowest: int | None, last: int
) -> None:
    messages = [message(magic=magic)] * len(inside)
    found = _unwrapped(wrapper(messages=messages, magic=magic, inner_offsets=inside, offset=offset, trailing=cut))
    assert (found.first_offset(), found.lowest_offset(), found.last_offset()) == (first, lowest, last)
    assert (found.count, found.size, next(iter(found)).offset) == (
        len(inside),
        (34 if magic else 26) * len(inside) + len(cut),
        first,
    )


@each(
    ("codec", "code", "variants"),
    [
        *((codec, "legacy-nested-compression", {}) for codec in (1, 2, 3)),
        (4, "legacy-nested-compression", {"without-zstd": "codec-unknown"}),
        *((codec, "codec-unknown", {}) for codec in (5, 7)),
    ],
)
def test_a_message_inside_is_not_compressed_again(codec: int, code: str, variants: dict[str, str]) -> None:
    found = _unwrapped(wrapper(messages=[message(attributes=codec), message()], base_offset=1))
    for ask in (found.first_offset, found.lowest_offset, lambda: list(found)):
        with pytest.raises(CorruptData) as caught:
            ask()
        assert (caught.value.code, {name: fault.code for name, fault in caught.value.variants.items()}) == (code, variants)


@each(("magic", "codec", "code"), [(2, 1, "legacy-wrapper-magic"), (-1, 1, "legacy-wrapper-magic"), (1, 5, "codec-unknown")])
def test_what_is_no_wrapper_is_not_unwrapped(magic: int, codec: int, code: str) -> None:
    data = struct.pack(">Ibbqii", 0, magic, codec, 0, -1, -1)
    assert reader.Message(0, data).magic == magic
    with pytest.raises(CorruptData) as caught:
        reader.unwrap(reader.Message(0, data))
    assert caught.value.code == code


def test_a_wrapper_is_unwrapped_within_limits() -> None:
    data = wrapper(messages=[message(value=b"abc")] * 3, base_offset=1)
    for limits, code in (
        *((reader.Limits(3 * 37, 3), ""), (reader.Limits(3 * 37 - 1), "wrapper-decompression-limit")),
        (reader.Limits(max_messages=2), "decompression-limit"),
    ):
        try:
            assert (_unwrapped(data, limits).count, code) == (3, "")
        except CorruptData as fault:
            assert fault.code == code


def test_messages_are_found_however_their_payload_comes() -> None:
    payload = b"".join(encode_message(message(value=b"v" * size), offset=size) for size in (0, 3, 40))
    for piece in range(1, len(payload) + 1):
        pieces = [payload[start : start + piece] for start in range(0, len(payload), piece)]
        assert [(one.offset, len(one.data)) for one in reader.messages_in(pieces, max_size=62)] == [(0, 22), (3, 25), (40, 62)]
        with pytest.raises(CorruptData, match="62 bytes is too large"):
            list(reader.messages_in(pieces, max_size=61))


def test_parts_say_the_first_offset_of_each_batch_and_what_is_cut_off_in_it() -> None:
    cut = wrapper(messages=[message(), message(magic=0)], base_offset=5, trailing=bytes(5))
    data = message_set(messages=[message()], base_offset=3) + cut + message_set(messages=[message()], base_offset=9)
    with opened(data) as source:
        (part,) = (part for chunk in Log(source).chunks() for part in reader.read(source, chunk))
    assert (part.counts, list(part.first_offsets), list(part.magics)) == ([1, 2, 1], [3, 5, 9], [1, 1, 0, 1])
    assert {row: one.size for row, one in part.cuts.items()} == {1: 5}


@each("size", [13, 0, -1, -0x80000000])
def test_a_message_inside_that_is_too_short_withholds_all(size: int) -> None:
    trailing = struct.pack(">qi", 1, size)
    found = read_records(wrapper(messages=[message(value=b"a")], trailing=trailing, base_offset=1))
    assert (found.batches, found.code) == ([[]], "inner-record-size-too-small")
    assert found.fault is not None
    assert found.fault.values == {"size": size, "minimum": 14}


@each(
    ("payload", "code"),
    [
        (b"PK" + bytes(20), "frame-bad-header"),
        (gzip_members(encode_message(message()) * 3)[:30], "wrapper-frame-ends-early"),
        (gzip_members(encode_message(message()) * 3, has_trailer=False), "wrapper-frame-ends-early"),
        (gzip_members(encode_message(message()))[:-1] + b"\xff", "wrapper-frame-checksum-mismatch"),
    ],
)
def test_a_damaged_stream_withholds_a_wrapper(payload: bytes, code: str) -> None:
    found = read_records(message_set(messages=[message(value=b"before")]) + wrapper(payload=payload, codec="gzip"))
    assert ([[row["value"] for row in rows] for rows in found.batches], found.code) == ([[b"before"], []], code)
    assert found.fault is not None
    assert found.fault.position == 40


def test_the_broken_lz4_checksum_of_magic_0_is_read_in_magic_0_only() -> None:
    broken = partial(lz4_frame, is_header_checksum_broken=True)
    for magic, code in [(0, ""), (1, "frame-bad-header")]:
        data = wrapper(messages=[message(magic=0, value=b"v")], magic=magic, codec="lz4", compressor=broken)
        assert read_records(data).code == code


# --- many


@settings(max_examples=20)
@given(damaged(LOGS), st.sampled_from([1, 2, 3]))
def test_records_are_the_same_however_few_a_table_holds(data: bytes, most: int) -> None:
    with mock.patch.multiple(records, MAX_ROWS=most, _MAX_HELD_RECORD_BYTES=50 * most, _MAX_HELD_PARTS=1, _MIN_BLOCK_BYTES=most):
        found = read_records(data)
    whole = read_records(data)
    assert (found.batches, found.code) == (whole.batches, whole.code)


MESSAGES = st.lists(
    st.builds(message, key=OPTIONAL_BYTES, value=OPTIONAL_BYTES, magic=st.sampled_from([0, 1]), timestamp=TIMESTAMPS),
    min_size=1,
    max_size=6,
)


@given(MESSAGES, st.integers(1, 1 << 60), st.sampled_from([0, 1]), st.none() | LEGACY_CODECS, st.data())
def test_messages_are_read_as_they_were_built(
    messages: list[Message], base_offset: int, magic: int, codec: Codec | None, data: st.DataObject
) -> None:
    if codec is None:
        found = read_records(message_set(messages=messages, base_offset=base_offset))
    else:
        inner: Literal["relative", "absolute"] = data.draw(st.sampled_from(["relative", "absolute"])) if magic else "absolute"
        built = wrapper(messages=messages, magic=magic, codec=codec, base_offset=base_offset, inner_offsets=inner)
        found = read_records(batch(records=[record()]) + built + batch(records=[record()]))
        found.batches[:] = [found.batches[1]]
    assert found.fault is None
    assert [(row["offset"], row["key"], row["value"], row["timestamp"], row["isvalid"]) for row in found.rows] == [
        (base_offset + place, built.key, built.value, built.timestamp if built.magic else -1, True)
        for place, built in enumerate(messages)
    ]


# --- wrappers that are too long to be held


@given(damaged(WRAPPERS), st.sampled_from([1, 7, 60]))
def test_a_wrapper_that_is_not_held_is_read_as_one_that_is(data: bytes, piece: int) -> None:
    held = read_records(data)
    with mock.patch.multiple(codecs, opened=partial(codecs.opened, max_held=0), _PIECE=piece):
        unheld = read_records(data)
    assert (unheld.batches, unheld.code) == (held.batches, held.code)
    faults = [fault and (fault.message, fault.values, list(fault.variants)) for fault in (unheld.fault, held.fault)]
    assert faults[0] == faults[1]


@pytest.mark.slow
@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_of_50_000_messages_takes_no_memory_for_each(magic: int) -> None:
    inner = message_set(messages=[message(magic=magic)])
    payload = compress(inner * 50_000, codec="gzip")
    data = memoryview(wrapper(magic=magic, offset=5, payload=payload))[12:]
    tracemalloc.start()
    try:
        with mock.patch.multiple(codecs, opened=partial(codecs.opened, max_held=1 << 16), _PIECE=1 << 16):
            messages = reader.unwrap(reader.Message(5, data))
        assert (messages.first_offset(), sum(1 for _ in messages)) == (0 if magic == 0 else 5, 50_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20  # what is decompressed is 1.3 MiB, and each message was an object
