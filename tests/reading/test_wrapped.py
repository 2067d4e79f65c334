"""What stands as it is in the payload of a wrapper without a header is no message of the log, and what belongs to the log is."""

import pytest

from kdump.reading.items import DAMAGED, Damage, Section
from kdump.reading.salvage import walk
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.loops import each
from tests.support import opened

pytestmark = pytest.mark.both_kernels

NONSENSE = bytes(range(256)) * 2
HEADER = slice(0, 26)


def _wrapper(magic: int, offset: int, inner: bytes = NONSENSE) -> bytes:
    """A wrapper with this payload, the last of whose ten messages has this offset."""
    return wrapper(magic=magic, codec="lz4", payload=inner, offset=offset)


def _plain(magic: int, *offsets: int, value: bytes | None = None) -> list[bytes]:
    values = [value or b"%d" % row * 40 for row in range(len(offsets))]
    messages = [message(value=value, magic=magic) for value in values]
    return [message_set(messages=[one], base_offset=offset) for one, offset in zip(messages, offsets, strict=True)]


def _without_header(data: bytes) -> bytes:
    return b"\x07" * 26 + data[26:]


def _listed(*pieces: bytes, first: int = 0) -> list[int]:
    """The pieces of a log that are listed as readable batches, each as a whole; every byte of the log is in one item.

    Only the log from the piece `first` on is read.
    """
    numbers = {sum(map(len, pieces[:number])): number for number in range(len(pieces), -1, -1)}
    start = end = sum(map(len, pieces[:first]))
    found: list[int] = []
    with opened(b"".join(pieces)) as source:
        for item in walk(source, start):
            if isinstance(item, Damage):
                assert item.start == end
                end = item.end
                continue
            assert isinstance(item, Section)
            batches = item.chunk.batches
            for position, size in zip(batches["position"], batches["size"], strict=True):
                assert position == end
                end = position + size
                found += [numbers[position]] if item.status != DAMAGED else []
    assert end == sum(map(len, pieces))
    return found


W9, W19, W39 = (_wrapper(1, offset) for offset in (9, 19, 39))


@each("magic", [0, 1])
def test_messages_in_the_payload_of_a_wrapper_without_a_header_are_damage(magic: int) -> None:
    inner = NONSENSE + b"".join(_plain(magic, 0, 1, 2)) + NONSENSE
    pieces = (_wrapper(magic, 9), _wrapper(magic, 19), _without_header(_wrapper(magic, 29, inner)), _wrapper(magic, 39))
    assert _listed(*pieces) == [0, 1, 3]
    if magic:  # in magic 0, a log may start with these
        assert _listed(*pieces, first=2) == [3]  # from the damage on
        assert _listed(*pieces[2:]) == [1]  # nothing before it, a wrapper after it


@each("after", [_plain(1, 5)[0][HEADER] + NONSENSE, b""], ids=["a header", "a wrapper"])
def test_offsets_that_count_from_0_are_of_a_payload_wherever_they_lead(after: bytes) -> None:
    inner = NONSENSE + b"".join(_plain(1, 3, 4)) + after
    assert _listed(W9, W19, _without_header(_wrapper(1, 29, inner)), W39) == [0, 1, 3]


@each("magic", [0, 1])
@each("after", ["a wrapper", "a damaged message", "zeros", "a cut header", "the end"])
def test_messages_between_damage_in_a_log_of_wrappers_are_of_the_log_if_it_goes_on_after_them(magic: int, after: str) -> None:
    end = {
        "a wrapper": _wrapper(magic, 39),
        "a damaged message": _plain(magic, 23)[0][:-1] + b"1" + NONSENSE,
        "zeros": bytes(5000),
        "a cut header": _wrapper(magic, 39)[:15],
        "the end": b"",
    }[after]
    assert {3, 4, 5} <= set(_listed(_wrapper(magic, 9), _wrapper(magic, 19), NONSENSE, *_plain(magic, 20, 21, 22), end))


@each("magic", [0, 1])
def test_messages_between_damage_in_a_log_without_compression_are_of_the_log(magic: int) -> None:
    first, second, third = _plain(magic, 0, 1, 7)
    assert _listed(first, second, NONSENSE, third, NONSENSE, first, NONSENSE) == [0, 1, 3, 5]


def test_messages_of_magic_0_between_damage_are_the_records_that_they_say() -> None:
    """Messages of the log, or contents of a wrapper: those have offsets of the log, too."""
    between = (NONSENSE, *_plain(0, 22, 23, 24), NONSENSE)
    assert _listed(_wrapper(0, 9), _wrapper(0, 19), *between, _wrapper(0, 39)) == [0, 1, 3, 4, 5, 7]


@each("offset, before, is_of_log", [(4000, 3995, False), (10**6, 10**6 - 5, True), (10**6, 19, False)])
def test_offsets_too_high_to_count_messages_in_a_payload_are_of_the_log(offset: int, before: int, is_of_log: bool) -> None:
    plain = _plain(1, offset, offset + 1, offset + 2)
    assert _listed(W9, _wrapper(1, before), NONSENSE, *plain, NONSENSE) == [0, 1, *((3, 4, 5) if is_of_log else ())]


def test_more_messages_than_a_payload_holds_are_of_the_log() -> None:
    assert {3, 4} <= set(_listed(W9, W19, NONSENSE, *_plain(1, 0, 1, value=bytes(700_000)), NONSENSE))


def test_batches_after_damage_in_a_log_of_wrappers_are_of_the_log() -> None:
    assert 3 in _listed(W9, W19, NONSENSE, batch(records=[record(key=b"k")], base_offset=25), NONSENSE)


@each("lost", [-3, -1, 1, 3])
def test_a_header_with_bytes_too_many_or_too_few_is_still_that_of_a_wrapper(lost: int) -> None:
    damaged = _wrapper(1, 9, NONSENSE + b"".join(_plain(1, 3, 4)) + NONSENSE)
    damaged = damaged[:13] + (damaged[13 + lost :] if lost > 0 else b"\r" * -lost + damaged[13:])
    assert _listed(damaged + NONSENSE) == []


@each("magic", [0, 1])
def test_messages_after_what_only_looks_like_a_wrapper_are_of_the_log(magic: int) -> None:
    """The header of a damaged message is a byte off, and has the attributes of a wrapper, but a key."""
    off = bytearray(message_set(messages=[message(key=b"key", value=NONSENSE, magic=magic)], base_offset=2))
    off[17] |= 1
    assert _listed(*_plain(magic, 0, 1), bytes(off[:-9]), *_plain(magic, 3, 4, 5, 6), NONSENSE) == [0, 1, 3, 4, 5, 6]
