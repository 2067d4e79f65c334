"""The kernel in C does what the reference does: the same walks, the same lines, the same complaints."""

import contextlib
import itertools
import os
import random
import struct
import subprocess
import sys
import zlib
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import crc32c as package
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kdump.binary import kernel, producer_streak, reference, summary_reference
from kdump.binary.java_strings import text_of
from kdump.binary.new_entries import new_entries as reference_entries
from kdump.dropin import parallel_text
from kdump.errors import UsageError
from kdump.messages.layout import StructLayout
from kdump.messages.schema import Message
from kdump.output.kafka.topics import native_messages, topic_records
from kdump.output.kafka.topics.message_words import Words
from kdump.reading import search
from kdump.reading.tuning import ReadTuning
from kdump.releases import known
from kdump.releases.profile import profile_of
from tests import kernels
from tests.builders.compression import Codec, zstd_frames
from tests.builders.files import offset_index, time_index
from tests.builders.records import (
    TIMESTAMP,
    batch,
    commit_record,
    encode_record,
    message,
    message_set,
    record,
    transaction_marker,
    varint,
    wrapper,
)
from tests.kernels import Printed, Sizes
from tests.support import BATCHES, LOGS, damaged, opened

if missing := kernels.why_no_c():
    pytest.skip(missing, allow_module_level=True)

from kdump.binary import _kernel
from tests.loops import each

ROOT = Path(__file__).parent.parent.parent
LOG_NAME = "00000000000000000000.log"

RELEASES = ("0.11.0.0", "1.0.1", "2.0.1", "2.8.2", "3.2.3", "4.3.1", "4.4.0")
"""They differ in the fields of lines, in whether records show their batches, and in whether the first offset is checked."""

WAYS = (
    *((), ("--deep-iteration",), ("--print-data-log",)),
    *(("--print-data-log", "--skip-record-metadata"), ("--deep-iteration", "--skip-record-metadata")),
)


def _both(files: dict[str, bytes], folder: Path, arguments: Sequence[str], given: Sizes = Sizes()) -> Printed:  # noqa: B008
    """What both kernels print of the first of these files, by one process and by several. Fails where they differ."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    command: list[str | Path] = [*arguments, "--files", folder / next(iter(files))]
    with kernels.using(kernel.PYTHON):
        wanted = kernels.printed(command)
        if given.stretch is not None:
            assert kernels.printed(command, given) == wanted
    with kernels.using(kernel.C):
        got = kernels.printed(command, given)
    assert got == wanted
    return got


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernel")


# --- The functions of the reference


def _assert_same(name: str, *arguments: Any, module: ModuleType = reference) -> None:
    assert getattr(_kernel, name)(*arguments) == getattr(module, name)(*arguments)


@given(damaged(LOGS), st.data())
def test_walks_are_those_of_the_reference(window: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(window)))
    max_codec, min_magic = data.draw(st.integers(-1, 7)), data.draw(st.integers(-0x80, 1))
    _assert_same("walk_batches", window, start, max_codec, package.crc32c)
    _assert_same("walk_batches", window, start, max_codec, None)
    _assert_same("walk_messages", window, start, min_magic, max_codec)
    _assert_same("walk_extents", window, start, data.draw(st.integers(0, 1 << 40)))


@given(st.data(), st.integers(0, 300))
def test_new_entries_are_those_of_the_reference_however_batches_are_divided(data: st.DataObject, interval: int) -> None:
    sizes = data.draw(st.lists(st.integers(1, 200), max_size=20))
    positions = array("q", itertools.accumulate(sizes, initial=0))
    last_offsets = array("q", [3 * row for row in range(len(positions))])
    timestamps = array("q", [data.draw(st.integers(-1, 9)) for _ in positions])
    cut = data.draw(st.integers(0, len(positions)))
    ways = []
    for make in (reference_entries, _kernel.new_entries):
        for parts in ((slice(None),), (slice(0, cut), slice(cut, None))):
            state, columns = (0, -1, 7, -1), [b"", b"", b"", b""]
            for part in parts:
                state, *added = make(positions[part], last_offsets[part], timestamps[part], interval, state)
                columns = [before + after for before, after in zip(columns, added, strict=True)]
            ways.append((state, columns))
    assert ways.count(ways[0]) == 4
    indexed = memoryview(ways[0][1][1]).cast("q")
    assert all(after - before > interval for before, after in itertools.pairwise([0, *indexed]))


@pytest.mark.parametrize("column", range(3))
def test_columns_of_batches_that_differ_in_length_are_refused(column: int) -> None:
    columns = [array("q", [1, 2])] * 3
    for wrong in (array("q", [1]), b"1234567"):
        given = [wrong if number == column else one for number, one in enumerate(columns)]
        with pytest.raises(ValueError, match="differ in length"):
            _kernel.new_entries(given[0], given[1], given[2], 4096, (0, 0, 0, 0))


INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
OLD_LOGS = st.lists(
    st.builds(
        message,
        magic=st.integers(0, 1),
        key=st.none() | st.binary(max_size=5),
        value=st.none() | st.binary(max_size=5),
        timestamp=INT64,
        attributes=st.sampled_from([0, 0, 0, 8, 1]),
        key_length=st.sampled_from([None, None, None, -2, 9]),
    ),
    max_size=5,
).map(lambda messages: message_set(messages=messages))


@given(damaged(OLD_LOGS), st.data())
def test_contents_of_messages_are_those_of_the_reference(window: bytes, data: st.DataObject) -> None:
    start = data.draw(st.one_of(st.just(0), st.integers(0, len(window))))
    end = data.draw(st.one_of(st.just(len(window)), st.integers(start, len(window))))
    base_offset, most, timestamp = data.draw(INT64), data.draw(st.integers(0, 9)), data.draw(st.none() | INT64)
    rows: list[kernel.MessageTuple] = []
    wanted: list[kernel.MessageTuple] = []
    found = _kernel.walk_contents(window, start, end, base_offset, timestamp, most, rows)
    assert found == reference.walk_contents(window, start, end, base_offset, timestamp, most, wanted)
    assert rows == wanted


def test_a_message_with_a_size_below_that_of_null_is_irregular() -> None:
    sizes: list[Any] = [{"key_length": -2}, {"value_length": -2}, {"key": b"", "value_length": -2}]
    for odd in sizes:
        window = message_set(messages=[message(**{"value": None, **odd})])
        for walk in (_kernel.walk_contents, reference.walk_contents):
            rows: list[kernel.MessageTuple] = []
            assert walk(window, 0, len(window), 0, None, 9, rows) == (0, -1) and rows == []


MESSAGES = st.builds(
    message, magic=st.integers(0, 1), value=st.none() | st.binary(max_size=20), timestamp=INT64, attributes=st.integers(-128, 127)
).map(lambda one: message_set(messages=[one]))


@given(st.lists(BATCHES, max_size=6) | st.lists(MESSAGES, max_size=6), st.data())
def test_summaries_are_those_of_the_reference(logs: list[bytes], data: st.DataObject) -> None:
    parts, offset = [], 0
    for one in logs:  # with offsets that go on
        offset += data.draw(st.sampled_from([1, 1, 5, 1 << 40]))
        parts.append(struct.pack(">q", offset) + one[8:])
        offset += int.from_bytes(one[23:27], "big", signed=True) if one[16:17] == b"\x02" else 0
    window = b"".join(parts)
    if data.draw(st.booleans()):
        window = data.draw(damaged(st.just(window)))
    start = data.draw(st.sampled_from([0, 0, len(logs[0]) if logs else 0]) | st.integers(0, len(window)))
    position, max_codec, min_magic = (data.draw(st.integers(*most)) for most in ((0, 1 << 40), (-1, 7), (-9, 1)))
    found = summary_reference.summarize_batches(window, start, position, max_codec, package.crc32c)
    assert _kernel.summarize_batches(window, start, position, max_codec, None) == found
    _assert_same("summarize_messages", window, start, position, min_magic, max_codec, module=summary_reference)


def _of_producers(chance: random.Random) -> list[bytes]:
    """Batches and markers of two producers, whose sequences mostly go on."""
    batches: list[bytes] = []
    following = {1: 0, 2: 0}
    is_transactional = chance.random() < 0.7
    for _ in range(chance.randrange(12)):
        producer, epoch = chance.choice((1, 1, 2)), chance.choice((0, 0, 0, 0, 1))
        if is_transactional and chance.random() < 0.4:
            is_commit, coordinator_epoch = chance.random() < 0.8, chance.choice((0, 0, 1, 2))
            of_marker: dict[str, Any] = {"producer_id": producer, "producer_epoch": epoch, "coordinator_epoch": coordinator_epoch}
            batches.append(transaction_marker(is_commit=is_commit, **of_marker))
            continue
        base, count = chance.choice((*[following[producer]] * 9, 0, 7, 0x7FFFFFFF)), chance.choice((1, 2))
        of_batch: dict[str, Any] = {"producer_id": producer, "producer_epoch": epoch, "base_sequence": base}
        of_batch["is_transactional"] = is_transactional ^ (chance.random() < 0.1)
        batches.append(batch(records=[record()] * count, **of_batch))
        following[producer] = base + count if base < 99 else 0
    return batches


@given(st.randoms(use_true_random=False), st.integers(0, 1 << 40))
def test_streaks_of_producers_are_those_of_the_reference(chance: random.Random, position: int) -> None:
    batches = _of_producers(chance)
    _assert_same("producer_streaks", b"".join(batches), 0, len(batches), position, module=summary_reference)


def test_summaries_have_the_same_names_in_both_kernels() -> None:
    assert _kernel.SUMMARY == summary_reference.SUMMARY
    assert _kernel.STREAK == producer_streak.STREAK


def test_a_last_offset_beyond_64_bits_ends_a_walk_of_extents() -> None:
    for offset, delta in ((0x7FFFFFFFFFFFFFFF, 1), (-0x8000000000000000, -1), (0x7FFFFFFFFFFFFFFF, 0), (-1, -0x80000000)):
        window = batch(base_offset=offset, last_offset_delta=delta)
        assert _kernel.walk_extents(window, 0, 0) == reference.walk_extents(window, 0, 0)


RECORDS = st.lists(
    st.builds(
        record,
        key=st.none() | st.binary(max_size=5),
        value=st.none() | st.binary(max_size=200),
        headers=st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=3),
        timestamp=st.integers(-(1 << 62), 1 << 62),
        offset_delta=st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    ).map(lambda one: encode_record(one, base_timestamp=0))
    | st.binary(max_size=12),
    max_size=5,
).map(b"".join)


def _walked(walk: Callable[..., Any], data: bytes, *arguments: Any) -> tuple[Any, list[Any]]:
    rows: list[Any] = []
    return walk(data, *arguments, rows), rows


@given(RECORDS, st.data())
def test_records_are_those_of_the_reference(records: bytes, data: st.DataObject) -> None:
    changed = bytearray(records)
    for _ in range(data.draw(st.integers(0, 2))):
        if changed:
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    buffer = data.draw(st.sampled_from([bytes, bytearray]))(changed)
    position = data.draw(st.just(0) | st.integers(0, len(changed)))
    end = data.draw(st.just(len(changed)) | st.integers(position, len(changed)))
    count, pause = data.draw(st.integers(-1, 7)), data.draw(st.just(1 << 60) | st.integers(0, len(changed)))
    arguments = (position, end, count, pause, data.draw(st.booleans()))
    with kernels.using(kernel.C):
        assert _walked(kernel.walk_records, buffer, *arguments) == _walked(reference.walk_records, buffer, *arguments)


def _of_fields(timestamp: bytes = b"\0", offset: bytes = b"\0", rest: bytes = b"") -> bytes:
    body = b"\0" + timestamp + offset + varint(-1) + varint(1) + b"v" + varint(0) + rest
    return varint(len(body)) + body


@each(
    ("odd", "numbers"),
    [
        *((_of_fields(offset=b"\x80" * 4 + bytes([last])), (0, (last & 15) << 27)) for last in (0, 7, 0x10, 0x7F)),
        *((_of_fields(timestamp=b"\x80" * 9 + bytes([last])), ((last & 1) << 62, 0)) for last in (0, 1, 2, 0x7F)),
        *((_of_fields(**{field: b"\x80" * most + b"\0"}), None) for field, most in (("offset", 5), ("timestamp", 10))),
        *((_of_fields(rest=rest), None if rest else (0, 0)) for rest in (b"", b"\0", b"x" * 9)),
        *((encode_record(record(value=b"vw", value_length=size)), (0, 0) if size == 2 else None) for size in (1, 2, 3, 1 << 30)),
        *((encode_record(record(key=b"kl", key_length=size)), (0, 0) if size == 2 else None) for size in (1, 2, 9, 1 << 30)),
        *((encode_record(record(headers=[("h", b"v")], headers_count=n)), (0, 0) if n == 1 else None) for n in (-1, 0, 1, 2)),
        *((encode_record(record(headers_count=1, trailing=varint(-1) + after)), None) for after in (b"", varint(1) + b"v")),
        *((encode_record(record(value=b"v"))[:-1], None), (b"\0", None), (b"\1", None)),
    ],
)
def test_a_record_is_regular_if_its_fields_fill_it_and_no_number_is_too_long(odd: bytes, numbers: tuple[int, int] | None) -> None:
    """Bits that a number has no room for count for nothing, as in Kafka."""
    data = encode_record(record(value=b"v")) + odd
    with kernels.using(kernel.C):
        for walk in (kernel.walk_records, reference.walk_records):
            (end, *_), rows = _walked(walk, data, 0, len(data), 2, 1 << 60, True)
            assert end == len(data) if numbers else len(data) - len(odd)
            assert [row[:2] for row in rows[1:]] == ([] if numbers is None else [numbers])


@pytest.mark.parametrize(("length", "count"), [(13, 0), (14, 1)])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_of_less_than_14_bytes_is_irregular(length: int, count: int, magic: int) -> None:
    window = struct.pack(">qiIbb", 0, length, zlib.crc32(bytes([magic]) + bytes(length - 5)), magic, 0) + bytes(30)
    for walk in (_kernel.walk_messages, reference.walk_messages):
        walked: Any = walk(window, 0, 0, 7)
        assert (len(walked[0]), walked[-1]) == (count, (12 + length) * count)
    for summary in (_kernel.summarize_messages, summary_reference.summarize_messages):
        assert (summary(window, 0, 0, 0, 7) is not None) == bool(count)


@pytest.mark.parametrize(("ahead", "early"), [(-1, 1), (0, 0), (1, 0)])
def test_a_horizon_is_early_that_lies_before_the_batch(ahead: int, early: int) -> None:
    window = batch(records=[record(timestamp=TIMESTAMP)], delete_horizon_ms=TIMESTAMP + ahead, max_timestamp=TIMESTAMP)
    row = summary_reference.SUMMARY.index("early_horizons")
    for summary in (_kernel.summarize_batches, summary_reference.summarize_batches):
        found = summary(window, 0, 0, 7, package.crc32c)
        assert found is not None and found[0][row] == early


@each("name", ["walk_batches", "walk_messages", "walk_extents"])
@each("start", [-1, -61, 1 << 40])
def test_a_walk_that_starts_nowhere_finds_nothing(name: str, start: int) -> None:
    arguments = {"walk_batches": (7, None), "walk_messages": (0, 7), "walk_extents": (0,)}[name]
    *lists, end = getattr(_kernel, name)(batch(records=[record()]) * 2, start, *arguments)
    assert (sum(map(len, lists)), end) == (0, start)


# --- Checksums


@each("way", range(len(_kernel.CRC32C)), ids=_kernel.CRC32C)
@each("around", [0, 64, 128, 256, 768, 4096, 12320, 24616])
def test_crc32c_is_right_at_every_alignment_and_around_the_sizes_of_its_strips(around: int, way: int) -> None:
    data = bytes(byte * 7 % 251 for byte in range(around + 60))
    view = memoryview(data)
    for start in range(9):
        for size in range(max(around - 50, 0), around + 50):
            part = view[start : start + size]
            assert _kernel.crc32c(part, 0, way) == package.crc32c(part), (start, size)


@given(st.binary(max_size=2000), st.integers(0, 0xFFFFFFFF), st.data())
def test_crc32c_goes_on_from_what_it_was(data: bytes, crc: int, draws: st.DataObject) -> None:
    middle = draws.draw(st.integers(0, len(data)))
    assert _kernel.crc32c(data, crc) == package.crc32c(data, crc)
    assert _kernel.crc32c(data[middle:], _kernel.crc32c(data[:middle])) == _kernel.crc32c(data)


# --- Text

_LEADS = (0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF)
_FOLLOWERS = (0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xED, 0xFF)
_BAD = (b"\xff", b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x9f\x98")
_BOUNDS = (0x41, 0x80, 0x90, 0xA0, 0xBF)  # of what may follow some lead


def _texts() -> dict[str, list[bytes]]:
    return {
        "one": [bytes((a,)) for a in range(256)],
        "two": [bytes((a, b)) for a in range(256) for b in range(256)],
        "three": [bytes((a, b, c)) for a in _LEADS for b in _FOLLOWERS for c in _FOLLOWERS],
        "four": [bytes((a, b, c, d)) for a in _LEADS[8:] for b in _FOLLOWERS for c in _FOLLOWERS for d in _FOLLOWERS],
        "surrogates": [f"{a}{b}".encode("utf-8", "surrogatepass") for a in "\ud800\udfff" for b in "\ud83d\ude00A"],
        "long": [b"a" * before + bad + b"a" * 20 for before in range(18) for bad in _BAD],
        "between two sixteens": [
            b"a" * before + bytes((a, b, c, *d)) + b"a" * 20
            for before in (14, 13)
            for a in _LEADS[8:]
            for b in _BOUNDS
            for c in _BOUNDS
            for d in ([(d,) for d in _BOUNDS] if a >= 0xF0 else [()])
        ],
    }


@pytest.mark.parametrize("kind", _texts())
def test_keys_and_values_are_decoded_as_java_does(kind: str, folder: Path) -> None:
    texts = _texts()[kind]
    separated = b"|".join(texts)
    ends = texts[:: max(len(texts) // 2000, 1)]  # malformed at the end of a text is another matter
    records = [record(key=separated, value=separated), *(record(key=text, value=text) for text in ends)]
    printed = _both({LOG_NAME: batch(records=records)}, folder, ["--print-data-log", "--skip-record-metadata"])
    lines = [f"| key: {text_of(text)} payload: {text_of(text)}\n" for text in (separated, *ends)]
    assert printed.stdout.endswith("".join(lines).encode())
    headed = batch(records=[record(key=text, value=text, headers=[(text, b"")]) for text in (separated, *ends)])
    printed = _both({LOG_NAME: headed}, folder, ["--print-data-log"])
    for text in map(text_of, (separated, *ends)):
        assert f"headerKeys: [{text}] key: {text} payload: {text}\n".encode() in printed.stdout


# --- Logs


MIXED = b"".join(
    [
        batch(records=[record(key=b"k%d" % row, value=b"v" * row) for row in range(5)]),
        batch(records=[record(key=None, value=None), record(key=b"", value=b"")], base_offset=5, codec="zstd"),
        batch(records=[commit_record()], base_offset=7, is_control=True, is_transactional=True, producer_id=3),
        batch(records=[record(value=b"\xed\xa0\x80" * 30, headers=[("h", b"1"), ("i", None)])], base_offset=8, codec="lz4"),
        message_set(messages=[message(key=b"k", value=b"m%d" % row) for row in range(3)], base_offset=9),
        wrapper(messages=[message(value=b"w"), message(value=None)], base_offset=12),
        message_set(messages=[message(value=b"zero", magic=0)], base_offset=14),
        batch(records=[record(value=b"x" * 500)], base_offset=15, codec="gzip", timestamp_type="LogAppendTime"),
        batch(base_offset=20, last_offset_delta=3, codec="snappy"),
        batch(records=[record(value=b"last")], base_offset=24, base_sequence=0x7FFFFFFF, producer_id=3, crc=1),
    ]
)


@each("release", RELEASES)
@each("way", WAYS, ids=" ".join)
def test_windows_may_be_cut_anywhere(folder: Path, release: str, way: Sequence[str]) -> None:
    command = ["--release", release, *way]
    for window in (*range(61, 200, 7), 500, len(MIXED) - 1, len(MIXED)):
        _both({LOG_NAME: MIXED}, folder, command, Sizes(window=window))


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_the_room_for_text_may_end_anywhere(folder: Path, way: Sequence[str]) -> None:
    for out in (*range(64, 1200, 31), 4096):
        _both({LOG_NAME: MIXED}, folder, way, Sizes(out=out))


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("value", [b"v" * 4_000_000, b"\xff" * 1_500_000], ids=["sound", "malformed"])
def test_a_record_may_be_longer_than_the_room_for_text(folder: Path, codec: Codec, value: bytes) -> None:
    data = batch(records=[record(value=b"a"), record(key=b"long", value=value), record(value=b"b")], codec=codec)
    printed = _both({LOG_NAME: data + data}, folder, ["--print-data-log"])
    assert printed.stdout.count(text_of(value).encode()) == 2


@pytest.mark.parametrize("release", ["0.11.0.0", "4.3.1"])
@pytest.mark.parametrize("gaps", [1, 7, 1024])
def test_more_gaps_than_there_is_room_for_are_all_reported(folder: Path, gaps: int, release: str) -> None:
    records = [record(offset_delta=2 * row) for row in range(1500)]
    data = batch(records=records) + message_set(messages=[message(offset=10_000 + 2 * row) for row in range(1500)])
    printed = _both({LOG_NAME: data}, folder, ["--deep-iteration", "--release", release], Sizes(gaps=gaps))
    assert printed.stderr.count(b" is followed by ") >= 2999


def test_a_line_is_not_left_half_written_before_what_is_damaged(folder: Path) -> None:
    good, bad = encode_record(record(value=b"good")), varint(4) + b"\xff\xff"
    for out in (64, 100, 300, 1 << 20):
        data = batch(records=[record()]) + batch(records=[good, good, bad], base_offset=1)
        _both({LOG_NAME: data}, folder, ["--deep-iteration"], Sizes(out=out))


@pytest.mark.parametrize("has_content_size", [False, True])
def test_what_stands_after_a_zstd_frame_is_not_overlooked(folder: Path, has_content_size: bool) -> None:
    def framed(data: bytes) -> bytes:
        return zstd_frames(data, has_content_size=has_content_size, trailing=b"no frame")

    data = batch(records=[record(value=b"v")], codec="zstd", compressor=framed)
    printed = _both({LOG_NAME: data}, folder, ["--deep-iteration"])
    assert (printed.exit_code, b"| offset" in printed.stdout) == (1, False)


# --- Several processes


def _batches(count: int) -> list[bytes]:
    return [batch(records=[record(value=b"v%d" % row)], base_offset=row) for row in range(count)]


class Stretches(NamedTuple):
    """Where the stretches ended that several processes made, and whether their runs came to the end of the log."""

    ends: list[int]
    runs_to_end: list[bool]


@pytest.fixture
def stretches(monkeypatch: pytest.MonkeyPatch) -> Stretches:
    noted = Stretches([], [])
    take_over, to_end = parallel_text.ParallelLog.take_over, parallel_text.SharedDump.to_end

    def noting_take_over(log: parallel_text.ParallelLog, stretch: parallel_text.Stretch) -> None:
        noted.ends.append(stretch.reached)
        take_over(log, stretch)

    def noting_to_end(dump: parallel_text.SharedDump) -> None:
        to_end(dump)
        assert not dump.is_lost
        noted.runs_to_end.append(dump.position == dump.end)

    monkeypatch.setattr(parallel_text.ParallelLog, "take_over", noting_take_over)
    monkeypatch.setattr(parallel_text.SharedDump, "to_end", noting_to_end)
    return noted


PROCESSES = Sizes(stretch=1000, out=5000)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("way", WAYS[:3], ids=" ".join)
def test_processes_write_their_stretches_in_order(folder: Path, stretches: Stretches, release: str, way: Sequence[str]) -> None:
    data = b"".join(_batches(300))
    _both({LOG_NAME: data}, folder, ["--release", release, *way], PROCESSES)
    assert len(stretches.ends) > 3
    assert stretches.ends[-1] == len(data)
    assert all(stretches.runs_to_end)


def _with_odd(odd: bytes) -> bytes:
    """A log in whose middle something odd stands in the place of a batch."""
    batches = _batches(200)
    return b"".join([*batches[:100], odd, *batches[101:]])


def _odd(*records: Any, **fields: Any) -> bytes:
    return batch(records=records or [record(value=b"v")], base_offset=100, **fields)


_GROWING = b"".join(batch(records=[record(value=b"v" * 100 * row)], base_offset=row) for row in range(60))


@each(
    ("what", "data", "stops"),
    [
        ("a payload that holds whole batches", _with_odd(_odd(record(value=b"".join(_batches(40))))), True),
        ("batches larger than stretches", _GROWING, False),
        ("a wrong checksum", _with_odd(_odd(crc=7)), False),
        ("no records", _with_odd(_odd(b"\x7f\x7f\x7f")), True),
        ("an impossible length", _with_odd(_odd(batch_length=5)), True),
        ("an unknown codec", _with_odd(_odd(attributes=6)), True),
        ("an unknown magic", _with_odd(_odd(magic=-3)), True),
    ],
    quick=2,
)
def test_processes_stop_where_batches_cannot_be_told(
    folder: Path, stretches: Stretches, what: str, data: bytes, stops: bool
) -> None:
    stretches.runs_to_end.clear()
    for way in WAYS:
        _both({LOG_NAME: data}, folder, way, PROCESSES)
    assert all(stretches.runs_to_end) != stops


def test_gaps_between_the_stretches_of_processes_are_reported(folder: Path, stretches: Stretches) -> None:
    for first in (0, 5):
        data = b"".join(batch(records=[record(value=b"v")], base_offset=first + 2 * row) for row in range(200))
        printed = _both({LOG_NAME: data}, folder, ["--deep-iteration"], PROCESSES)
        assert printed.stderr.count(b" is followed by ") == 199 + (first > 0)
        _both({LOG_NAME: data}, folder, ["--deep-iteration", "--release", "0.11.0.0"], PROCESSES)
    assert len(stretches.ends) > 3


@pytest.mark.slow
def test_offsets_may_wrap_between_the_stretches_of_processes(folder: Path) -> None:
    wrapped = [(0x7FFFFFFFFFFFFFF0 + row + (1 << 63)) % (1 << 64) - (1 << 63) for row in range(60)]
    data = b"".join(batch(records=[record(value=b"v" * 50)], base_offset=offset) for offset in wrapped)
    for stretch in range(100, 400, 23):
        printed = _both({LOG_NAME: data}, folder, ["--deep-iteration"], Sizes(stretch=stretch))
        assert printed.stderr.count(b" is followed by ") <= 1  # but for the first offset


@pytest.mark.parametrize("release", ["0.11.0.0", "4.3.1"])
def test_no_offset_is_taken_for_what_stands_before_a_stretch(folder: Path, stretches: Stretches, release: str) -> None:
    stand_in = parallel_text._BEFORE_FIRST
    offsets = [stand_in + row - 1 for row in range(30)]
    offsets += [stand_in, 5, stand_in + 1, stand_in, stand_in, -1, stand_in + 1, -1, 0] * 5
    data = b"".join(batch(records=[record(value=b"v" * 50)], base_offset=offset) for offset in offsets)
    for stretch in (100, 131, 150, 170, 200, 300, 1000):
        printed = _both({LOG_NAME: data}, folder, ["--deep-iteration", "--release", release], Sizes(stretch=stretch))
        assert printed.stderr.count(b" is followed by ") > 4  # each pair once
    assert len(stretches.ends) > 100


@given(damaged(LOGS), st.integers(0, 300), st.booleans())
def test_both_kernels_find_the_same_batch(data: bytes, start: int, is_legacy: bool) -> None:
    assert search.find(data[start:], is_legacy) == _kernel.find(data[start:], 0, is_legacy)


def test_a_batch_is_found_after_what_looks_like_one() -> None:
    false, true = batch(records=[record(value=b"v")], crc=1), batch(records=[record(value=b"w")])
    old = message_set(messages=[message(value=b"m")])
    data = b"\2\1" * 20 + false + old + true + true
    assert search.find(data, False) == _kernel.find(data, 0, False) == 40 + len(false) + len(old)
    assert search.find(data, True) == _kernel.find(data, 0, True) == 40 + len(false)
    assert search.find(data[:-1] + b"?", False) == 40 + len(false) + len(old)
    assert search.find(false, False) == _kernel.find(false, 0, False) == search.NOWHERE


@each(
    ("is_legacy", "attributes", "position"),
    [
        *((False, attributes, position) for attributes, position in ((0x7F, 0), (0x80, -1), (0x100, -1), (0x8000, -1))),
        *((True, attributes, position) for attributes, position in ((0x08, 0), (0x10, -1), (0x80, -1))),
    ],
)
def test_what_has_unknown_attributes_is_not_looked_for(is_legacy: bool, attributes: int, position: int) -> None:
    data = batch(records=[record(value=b"v")], attributes=attributes & ~0x07)
    if is_legacy:
        data = message_set(messages=[message(value=b"v", attributes=attributes)])
    assert search.find(data, is_legacy) == _kernel.find(data, 0, is_legacy) == position


# --- The search through a log

BYTES_LIKE_HEADERS = st.lists(
    st.sampled_from(
        [
            *(b"\x02\x00\x00", b"\x01\x00", bytes(8), bytes(10) + b"\x00\x40" + bytes(4) + b"\x02" + bytes(50)),
            *(bytes(10) + b"\x00\x20" + bytes(4) + b"\x01" + bytes(20), batch(records=[record(value=b"v")], crc=1)),
            batch(records=[record(value=b"w" * 80)]),
            batch(records=[record(value=b"w")], batch_length=(1 << 20) + 1),
            message_set(messages=[message(value=b"m", magic=1)]),
        ]
    )
    | st.binary(max_size=30),
    max_size=20,
).map(b"".join)

_BATCH_OF_16_KIB = (
    bytes(9) + b"\x00\x4e\x20" + bytes(4) + b"\x02" + bytes(13) + batch(records=[record(value=b"v" * 16_312)]) + bytes(9000)
)
"""A batch of 16 KiB that starts inside of what looks like the header of a larger one."""


@given(
    BYTES_LIKE_HEADERS | damaged(LOGS),
    st.sampled_from([search.PLAUSIBLE, search.WHOLE]),
    st.sampled_from([0, 3, 1000]),
    st.sampled_from([0, 200, 1 << 20]),
    st.sampled_from([62, 100, 1 << 16]),
)
@example(_BATCH_OF_16_KIB, search.PLAUSIBLE, 1000, 1 << 20, 1 << 16)
def test_both_kernels_search_a_log_alike(data: bytes, kind: search.Candidates, tries: int, crc_bytes: int, window: int) -> None:
    found = []
    tuning = ReadTuning(near_bytes=window, window_bytes=window)
    for name in kernels.KERNELS:
        budget = search.Budget(crc_bytes, tries, kept_crc_bytes=crc_bytes // 4)
        with kernels.using(name), opened(data) as source:
            looked = search.Search(source, budget, kind, tuning=tuning)
            headers = list(itertools.islice(looked.candidates(0), 5))
            positions = [looked.next_intact(0)]
            while positions[-1] < len(data):
                positions.append(looked.next_intact(positions[-1] + 1))
        found.append((headers, positions, budget.tries, budget.crc_bytes, budget.gave_up))
    assert found[0] == found[1]


@pytest.mark.parametrize(("more", "delta", "is_one"), [(0, -2, True), (1, -2, False), (1, 0, True)])
def test_a_large_batch_is_a_candidate_without_further_evidence_up_to_1_mib(more: int, delta: int, is_one: bool) -> None:
    odd = batch(records=[record(value=b"")], last_offset_delta=delta, batch_length=(1 << 20) + more)
    data = b"\xff" * 9 + odd + b"\xff" * (1 << 20)
    for name in kernels.KERNELS:
        budget = search.Budget(1 << 20)
        with kernels.using(name), opened(data) as source:
            found = [position for position, _ in search.Search(source, budget, search.PLAUSIBLE).candidates(0)]
        assert (9 in found) == is_one


# --- Indexes


@pytest.mark.parametrize("release", ["3.2.3", "4.3.1"])
def test_more_mismatches_than_there_is_room_for_are_all_reported(folder: Path, release: str) -> None:
    data = b"".join(_batches(3))
    log, index = "00000000000000000005.log", "00000000000000000005.index"
    files = {index: offset_index(entries=[(6 + row, 0) for row in range(2500)], base_offset=5), log: data}
    printed = _both(files, folder, ["--release", release])
    assert printed.stderr.count(b"\n") >= 2500


@pytest.mark.parametrize("row", [73, 74, 75])
def test_the_last_1024_entries_are_checked_first_by_both(folder: Path, row: int) -> None:
    batches = [batch(records=[record(value=b"v", timestamp=TIMESTAMP + offset)], base_offset=offset) for offset in range(1100)]
    size = len(batches[0])
    entries = [(offset, offset * size) for offset in range(1, 1100)]
    entries[row] = (1, 600 * size)  # out of order: where a search begins decides what is found
    times = time_index(entries=[(TIMESTAMP + offset, offset) for offset in range(2, 1100, 7)])
    log, index, name = LOG_NAME, LOG_NAME.replace("log", "index"), LOG_NAME.replace("log", "timeindex")
    files = {name: times, index: offset_index(entries=entries), log: b"".join(batches)}
    printed = _both(files, folder, [])
    assert printed.stdout.count(b"timestamp: ") >= 157


# --- Arguments that cannot be

NOTHING, NUMBER, CHOICE, OPTIONAL, HEADERS, CONTENTS, DECODED = range(7)


def _step(operation: int, *texts: bytes, column: int = 1, count: int | None = None, literal: bytes = b"") -> bytes:
    encoded = b"".join(struct.pack("<H", len(text)) + text for text in (*texts, literal))
    return bytes((operation, column, len(texts) if count is None else count)) + encoded


def _plan(*programs: bytes, flags: int = 3) -> bytes:
    numbers = struct.pack("=qqqqq", flags, 4, 0, 0, 0)
    return numbers + b"".join(struct.pack("=I", len(program)) + program for program in programs)


def _dump(plan: bytes, *, start: int = 0, filled: int = 0, room: int = 1000, state: Sequence[int] = (-1, -1, 0, 0)) -> Any:
    return _kernel.dump(_kernel.compile_plan(plan), MIXED, start, 0, None, bytearray(room), filled, array("q", state))


PLAIN = _step(NUMBER, literal=b"x: ")
TEXTS = (b"a", b"b", b"c")


def test_a_plan_of_plain_programs_is_taken() -> None:
    filled, end, reason = _dump(_plan(PLAIN, PLAIN, PLAIN, PLAIN, flags=1), room=10_000)
    assert (filled > 0, end, reason) == (True, len(MIXED), 0)


@each(
    "program",
    [
        *(b"\0", b"\0\0", b"\0\0\0", b"\0\0\0\1"),
        *(_step(6), _step(8), _step(255)),
        *(_step(NUMBER, column=len(_kernel.COLUMNS)), _step(NUMBER, column=255), _step(NUMBER, *[b""] * 9)),
        *(_step(CHOICE), _step(CHOICE, count=1)),
        *(_step(OPTIONAL, b"", b""), _step(OPTIONAL, *TEXTS, column=0)),
        *(_step(CONTENTS, b"", b""), _step(CONTENTS, *TEXTS) * 2, _step(HEADERS) * 2),
        *(PLAIN * 49, _step(NUMBER, literal=b"x" * 4097), _step(NUMBER, literal=b"x" * 2000) * 3),
        *(PLAIN[:-1], PLAIN + b"\0"),
    ],
    ids=lambda program: f"{len(program)}-bytes",
)
def test_a_program_that_cannot_be_is_refused(program: bytes) -> None:
    with pytest.raises(ValueError, match="the plan is malformed"):
        _dump(_plan(PLAIN, program, PLAIN, PLAIN))
    with pytest.raises(ValueError, match="malformed"):
        _kernel.dump_index(program, b"", 0, 0, True, -1, 0, 0, bytearray(100), 0, array("q"), 0)
    with pytest.raises(ValueError, match="malformed"):
        walks = array("q", bytes(8 * _kernel.LOG_WALKS))
        _kernel.dump_time_index(program, b"", 0, 0, 0, b"", True, walks, -1, 0, bytearray(100), 0, array("q"))


def _layouts(decoder: str, release: str, *, shown: int = 1, pieces: int = 1) -> bytes:
    """The layouts of the records of a topic, in which each field and each piece of text of a value is shown so many times."""
    profile = profile_of(release)
    records = topic_records.decoder_of(profile, decoder).regular
    assert records is not None
    layout_of = native_messages._layout

    def repeated(message: Message, version: int) -> StructLayout:
        one = layout_of(message, version)
        return StructLayout(one.fields, one.tagged, one.shown * shown, one.later_tags, is_flexible=one.is_flexible)

    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.object(native_messages, "_layout", repeated))
        for record in records.records.values():
            words = record.value_words
            if words is not None:
                several = Words([*words.pieces] * pieces, words.inner)
                patches.enter_context(mock.patch.object(record, "value_words", several))
        return native_messages.compiled(records, profile.control_types)


DECODED_LINE = bytes((DECODED, 0, 4)) + bytes(10)


@each("release", known.RELEASES)
def test_plans_of_all_releases_show_each_field_once(release: str) -> None:
    for decoder in ("offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder", "share-group-state-decoder"):
        if topic_records.decoder_of(profile_of(release), decoder).regular is not None:
            _kernel.compile_plan(_plan(b"", DECODED_LINE, b"", DECODED_LINE) + _layouts(decoder, release))


@pytest.mark.parametrize(("decoder", "repeated"), [("offsets-decoder", "shown"), ("remote-log-metadata-decoder", "pieces")])
def test_a_plan_that_shows_a_field_twice_is_refused(decoder: str, repeated: str) -> None:
    layouts = _layouts(decoder, "4.3.1", **{repeated: 2})
    with pytest.raises(ValueError, match="the plan is malformed"):
        _kernel.compile_plan(_plan(b"", DECODED_LINE, b"", DECODED_LINE) + layouts)


@pytest.mark.parametrize("operation", [HEADERS, CONTENTS])
def test_only_lines_of_records_have_texts(operation: int) -> None:
    program = _step(operation, *TEXTS)
    _dump(_plan(PLAIN, program, PLAIN, program))
    for at in (0, 2):
        programs = [PLAIN] * 4
        programs[at] = program
        with pytest.raises(ValueError, match="the plan is malformed"):
            _dump(_plan(*programs))
    with pytest.raises(ValueError, match="malformed"):
        _kernel.dump_index(program, b"", 0, 0, True, -1, 0, 0, bytearray(100), 0, array("q"), 0)


@each("plan", [b"", bytes(15), bytes(16), bytes(39), bytes(40), bytes(47), bytes(49), _plan(PLAIN, PLAIN, PLAIN)])
def test_a_plan_that_is_not_whole_is_refused(plan: bytes) -> None:
    with pytest.raises(ValueError, match="the plan is malformed"):
        _dump(plan)


@each(
    "arguments",
    [
        *({"start": start} for start in (-1, len(MIXED) + 1)),
        *({"filled": filled} for filled in (-1, 937)),
        *({"room": room} for room in (63, 0)),
        *({"state": state} for state in ((-1, -1, 0), (-1, -1, 0, -1), (-1, -1, 0, 1), (-1, -1, 0, 2, 0, 0))),
    ],
    ids=str,
)
def test_numbers_that_are_out_of_bounds_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        _dump(_plan(PLAIN, PLAIN, PLAIN, PLAIN), **arguments)


# --- Which kernel


def _run(choice: str | None, *arguments: str) -> tuple[int, bytes, bytes]:
    environment = {name: value for name, value in os.environ.items() if name != "KDUMP_KERNEL"}
    environment["PYTHONPATH"] = str(ROOT)
    if choice is not None:
        environment["KDUMP_KERNEL"] = choice
    done = subprocess.run([sys.executable, "-m", "kdump", *arguments], env=environment, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [("--files", "x.log"), ("log", str(ROOT / "README.md"))], ids=" ".join)
def test_a_kernel_that_does_not_exist_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    assert _run("rust", *arguments) == (2, b"", b"kdump: KDUMP_KERNEL is 'rust'; it can be 'python' or 'c'\n")


def test_a_kernel_that_was_not_built_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kdump.binary._kernel", None)
    monkeypatch.delattr("kdump.binary._kernel")
    try:
        with pytest.raises(UsageError, match="KDUMP_KERNEL asks for the kernel in C, which was not built"):
            kernel.use("c")
        kernel.use("")
        assert (kernel.name, kernel.native) == ("python", None)
        assert kernel.reason.startswith("the kernel in C was not built")
    finally:
        monkeypatch.undo()
        kernel.use(os.environ.get("KDUMP_KERNEL", ""))
