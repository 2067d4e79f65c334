"""Wrappers, compressed messages of magic 0 and 1, in checks: their headers say the last offset, their contents the first."""

import re
from pathlib import Path

import pytest

import kdump
from tests import kernels
from tests.builders.compression import Codec
from tests.builders.files import write_log
from tests.builders.fleets import flipped
from tests.builders.records import Record, batch, encode_message, message, message_set, wrapper
from tests.checks.findings import findings_of
from tests.loops import each

pytestmark = pytest.mark.both_kernels

CODECS: list[Codec] = ["gzip", "snappy", "lz4"]
LEVELS = ["quick", "full", "deep"]
CASES = Path(__file__).parents[2] / "golden_outputs" / "cases"
BY_BROKERS = re.compile(r"(magic[012]|mixed)\b.*-\d+(\.\d+){2,3}")
GENUINE = sorted(path for path in CASES.iterdir() if BY_BROKERS.fullmatch(path.name) and "compacted" not in path.name)


def _found(path: Path, **settings: object) -> list[tuple[str, str, int | None, int | None]]:
    found = [one for one in findings_of(path, **settings) if one.code != "lz4-legacy-header"]
    return [(one.code, one.severity, one.offset_first, one.offset_last) for one in found]


def _wrapper(first: int, count: int, magic: int = 1, codec: Codec = "gzip", **more: object) -> bytes:
    messages = [message(key=b"key", value=b"value %d" % row, magic=magic) for row in range(count)]
    return wrapper(messages=messages, magic=magic, codec=codec, base_offset=first, **more)  # type: ignore[arg-type]  # of any field's type


@each("level", ["full", "deep"])
@each("case", GENUINE, ids=lambda path: path.name)
def test_no_log_of_a_broker_that_was_not_compacted_lacks_offsets(case: Path, level: str) -> None:
    found = _found(case, level=level, cleanup_policy="delete")
    assert "offset-gap" not in {code for code, *_ in found}


@each("way", kernels.WAYS)
@each("magic", [0, 1])
@each("codec", CODECS)
def test_a_gap_between_wrappers_is_exact_where_they_are_opened(tmp_path: Path, codec: Codec, magic: int, way: str) -> None:
    parts = [_wrapper(0, 3, magic, codec), _wrapper(5, 4, magic, codec), _wrapper(9, 2, magic, codec)]
    path = write_log(tmp_path, *parts, _wrapper(12, 2, magic, codec))
    with kernels.coming_upon_batches(way):
        found = _found(path, level="deep", cleanup_policy="delete")
        assert found == [("offset-gap", "error", 3, 4), ("offset-gap", "error", 11, 11)]
        (gaps,) = findings_of(path, "offset-gap", level="deep")
        assert (gaps.severity, gaps.offset_first, gaps.offset_last, gaps.found) == ("info", 3, 11, "3")
        assert _found(path, level="full", cleanup_policy="delete") == []  # what nobody has read


def test_records_that_nobody_read_are_counted_as_far_as_headers_say_how_many_there_are(tmp_path: Path) -> None:
    plain, odd = batch(records=[Record(value=b"v")] * 3), batch(base_offset=9, records_count=-7)
    path = write_log(tmp_path, plain, flipped(batch(base_offset=3, records=[Record(value=b"v")])), _wrapper(4, 2), odd)
    assert "; at least 4 records not read" in kdump.verdict(path, level="full").text


@pytest.mark.parametrize("level", LEVELS)
def test_a_gap_before_a_message_without_compression_needs_no_opening(tmp_path: Path, level: str) -> None:
    plain = message_set(messages=[message(value=b"v")], base_offset=5)
    path = write_log(tmp_path, _wrapper(0, 3), plain, _wrapper(6, 3))
    assert _found(path, level=level, cleanup_policy="delete") == [("offset-gap", "error", 3, 4)]


@each("level", ["full", "deep"])
@each("magic", [0, 1])
@each("place", [17, -5], ids=["its codec", "its payload"])
def test_a_damaged_wrapper_has_all_offsets_after_the_one_before(tmp_path: Path, place: int, magic: int, level: str) -> None:
    parts = [bytearray(_wrapper(first, 20, magic)) for first in (0, 20, 40)]
    parts[1][place] ^= 1
    first, damaged, last = map(bytes, parts)
    path = write_log(tmp_path, first, damaged, last)
    assert ("crc-mismatch", "error", 20, 39) in _found(path, level=level, cleanup_policy="delete")
    zeros = write_log(tmp_path, first, bytes(len(damaged)), last)
    assert ("zero-hole", "error", 20, 39) in _found(zeros, level=level)


def _messages(path: Path) -> list[str]:
    return [one.message for one in findings_of(path, "legacy-wrapper-cut", level="deep")]


@pytest.mark.parametrize("codec", CODECS)
def test_a_wrapper_that_ends_inside_a_message_says_what_is_lost(tmp_path: Path, codec: Codec) -> None:
    third = encode_message(message(key=b"key", value=b"third", magic=0), offset=2)
    cut = _wrapper(0, 2, 0, codec, trailing=third[:-4], offset=2)
    said = "4 bytes short: the last of 3 messages is cut; the wrapper says offset 2, the last whole message is 1."
    assert _messages(write_log(tmp_path, cut, _wrapper(3, 3, 0, codec))) == [said]
    relative = encode_message(message(key=b"key", value=b"third"), offset=2)
    cut = _wrapper(10, 2, 1, codec, trailing=relative[:-1], offset=12)
    (said,) = _messages(write_log(tmp_path, _wrapper(0, 10, 1, codec), cut, _wrapper(13, 3, 1, codec)))
    says = (
        "1 byte short: the last of 3 messages is cut; the wrapper says offset 12, the last whole message is 11. Offsets inside "
    )
    assert (
        said == says + "count back from the wrapper's, so readers give the 2 messages before it offsets that are too high by 1."
    )


def test_what_a_cut_message_was_is_known_by_the_wrapper_before(tmp_path: Path) -> None:
    for first, before in ((0, []), (10, [_wrapper(0, 10)])):
        cut = _wrapper(first, 2, trailing=b"\0\0\0", offset=first + 4)
        path = write_log(tmp_path, *before, cut, _wrapper(first + 5, 3))
        found = [(code, lost, last) for code, _, lost, last in _found(path, level="deep")]
        assert found == [("legacy-wrapper-cut", first + 2, first + 4)]
    (said,) = _messages(path)
    assert said.startswith("The wrapper ends inside a message: message 3 of those inside is cut; ")


@each("magic", [0, 1])
@each("level", LEVELS)
def test_a_follower_may_start_a_segment_inside_of_a_wrapper_and_nowhere_else(tmp_path: Path, level: str, magic: int) -> None:
    for base in (2, 3, 4, 7, 8):
        path = tmp_path / f"{base:020}.log"
        path.write_bytes(_wrapper(3, 5, magic) + _wrapper(8, 3, magic))
        assert _found(path, level=level) == [("offset-below-base", "error", 3, 7)] * (base == 8)


def test_bytes_after_the_last_message_are_no_loss_if_it_has_the_offset_of_the_wrapper(tmp_path: Path) -> None:
    for magic, trailing in ((0, b"\0\0\0"), (0, b"some bytes"), (1, bytes(11))):
        path = write_log(tmp_path, _wrapper(0, 3, magic, trailing=trailing), _wrapper(3, 3, magic))
        assert _found(path, level="deep", cleanup_policy="delete") == [("legacy-wrapper-cut", "warning", 2, 2)]


@each("magic", [0, 1])
@each("bad", [0, 1, 2])
def test_a_wrapper_that_cannot_be_opened_loses_all_its_offsets(tmp_path: Path, magic: int, bad: int) -> None:
    """From the end of the one before, or the start of the log, to its own."""
    parts = [_wrapper(7 + 3 * row, 3, magic) for row in range(3)]
    unreadable = encode_message(message(value=b"no gzip stream", magic=magic, attributes=1), offset=9 + 3 * bad)
    path = write_log(tmp_path, *parts[:bad], unreadable, *parts[bad + 1 :], base_offset=7)
    assert _found(path, level="deep") == [("frame-bad-header", "error", 7 + 3 * bad, 9 + 3 * bad)]


@each("bad", [0, 1, 2])
def test_a_wrapper_whose_offset_was_damaged_loses_the_offsets_between_its_neighbours(tmp_path: Path, bad: int) -> None:
    """No checksum covers the offset; with a sign, none of the messages inside can have one."""
    parts = [bytearray(_wrapper(3 * row, 3)) for row in range(4)]
    parts[bad][0] ^= 0x80
    found = _found(write_log(tmp_path, *map(bytes, parts)), level="deep")
    assert ("legacy-wrapper-offset", "error", 3 * bad, 3 * bad + 2) in found


@each("way", kernels.WAYS)
@each("magic", [0, 1])
@each("bad", [1, 2, 3])
@each("shift", [-2, 2])
def test_the_offset_of_wrappers_that_overlap_others_is_wrong(tmp_path: Path, shift: int, bad: int, magic: int, way: str) -> None:
    """It lies between theirs, so that only the messages inside contradict it; not even a topic that is compacted explains it."""
    parts = [_wrapper(4 * row, 4, magic) for row in range(6)]
    parts[bad] = (4 * bad + 3 + shift).to_bytes(8, "big") + parts[bad][8:]
    with kernels.coming_upon_batches(way):
        for logs in (parts, parts[: bad + 2]):
            (found,) = findings_of(write_log(tmp_path, *logs), level="deep", cleanup_policy="compact")
            assert (found.code, found.start) == ("uncovered-header-rot", sum(map(len, parts[:bad])))
            assert found.expected == str(4 * bad + 3)
