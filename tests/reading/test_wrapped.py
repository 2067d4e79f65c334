"""What stands as it is in the payload of a wrapper without a header is no message of the log, and what belongs to the log is."""

import pytest

from kdump.reading.items import DAMAGED, Damage, Section
from kdump.reading.salvage import walk
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.support import opened

pytestmark = pytest.mark.both_kernels

NONSENSE = bytes(range(256)) * 2
HEADER = slice(0, 26)


def _wrapper(magic: int, offset: int, inner: bytes = NONSENSE) -> bytes:
    """A wrapper with this payload, the last of whose ten messages has this offset."""
    return wrapper(magic=magic, codec="lz4", payload=inner, offset=offset)


def _plain(magic: int, offset: int, count: int = 1) -> bytes:
    messages = [message(value=b"%d" % number * 40, magic=magic) for number in range(count)]
    return message_set(messages=messages, base_offset=offset)


def _without_header(data: bytes) -> bytes:
    return b"\x07" * 26 + data[26:]


def _listed(data: bytes, start: int = 0) -> set[int]:
    """Where batches start that are listed as readable, in a log of which every byte is in one item."""
    found: set[int] = set()
    end = start
    with opened(data) as source:
        for item in walk(source, start):
            if isinstance(item, Damage):
                assert item.start == end
                end = item.end
                continue
            assert isinstance(item, Section)
            for position, size, status in zip(
                item.chunk.batches["position"], item.chunk.batches["size"], item.statuses, strict=True
            ):
                assert position == end
                end = position + size
                found |= {position} - ({position} if status == DAMAGED else set())
    assert end == len(data)
    return found


def _starts(*pieces: bytes) -> list[int]:
    return [sum(map(len, pieces[:row])) for row in range(len(pieces))]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_in_the_payload_of_a_wrapper_without_a_header_are_damage(magic: int) -> None:
    inner = NONSENSE + _plain(magic, 0, 3) + NONSENSE
    pieces = (_wrapper(magic, 9), _wrapper(magic, 19), _without_header(_wrapper(magic, 29, inner)), _wrapper(magic, 39))
    starts = _starts(*pieces)
    assert _listed(b"".join(pieces)) == {starts[0], starts[1], starts[3]}
    if magic:  # in magic 0, a log may start with these
        assert _listed(b"".join(pieces), starts[2]) == {starts[3]}  # from the damage on
        assert _listed(b"".join(pieces[2:])) == {starts[3] - starts[2]}  # nothing before it, a wrapper after it


@pytest.mark.parametrize("after", [_plain(1, 5)[HEADER] + NONSENSE, b""], ids=["a header", "a wrapper"])
def test_offsets_that_count_from_0_are_of_a_payload_wherever_they_lead(after: bytes) -> None:
    inner = NONSENSE + _plain(1, 3, 2) + after
    pieces = (_wrapper(1, 9), _wrapper(1, 19), _without_header(_wrapper(1, 29, inner)), _wrapper(1, 39))
    starts = _starts(*pieces)
    assert _listed(b"".join(pieces)) == {starts[0], starts[1], starts[3]}


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("after", ["a wrapper", "a damaged message", "zeros", "a cut header", "the end"])
def test_messages_between_damage_in_a_log_of_wrappers_are_of_the_log_if_it_goes_on_after_them(magic: int, after: str) -> None:
    damaged = bytearray(_plain(magic, 23))
    damaged[-1] ^= 1
    ends = {
        "a wrapper": _wrapper(magic, 39),
        "a damaged message": bytes(damaged) + NONSENSE,
        "zeros": bytes(5000),
        "a cut header": _wrapper(magic, 39)[:15],
        "the end": b"",
    }
    plain = _plain(magic, 20, 3)
    pieces = (_wrapper(magic, 9), _wrapper(magic, 19), NONSENSE, plain, ends[after])
    starts = _starts(*pieces)
    size = len(plain) // 3
    assert {starts[3], starts[3] + size, starts[3] + 2 * size} <= _listed(b"".join(pieces))


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_between_damage_in_a_log_without_compression_are_of_the_log(magic: int) -> None:
    pieces = (_plain(magic, 0), _plain(magic, 1), NONSENSE, _plain(magic, 7), NONSENSE, _plain(magic, 0), NONSENSE)
    starts = _starts(*pieces)
    assert _listed(b"".join(pieces)) == {starts[0], starts[1], starts[3], starts[5]}


def test_messages_of_magic_0_between_damage_are_the_records_that_they_say() -> None:
    """Messages of the log, or contents of a wrapper: those have offsets of the log, too."""
    plain = _plain(0, 22, 3)
    pieces = (_wrapper(0, 9), _wrapper(0, 19), NONSENSE, plain, NONSENSE, _wrapper(0, 39))
    starts = _starts(*pieces)
    found = range(starts[3], starts[4], len(plain) // 3)
    assert _listed(b"".join(pieces)) == {starts[0], starts[1], *found, starts[5]}


@pytest.mark.parametrize(("offset", "before", "is_of_log"), [(4000, 3995, False), (10**6, 10**6 - 5, True), (10**6, 19, False)])
def test_offsets_too_high_to_count_messages_in_a_payload_are_of_the_log(offset: int, before: int, is_of_log: bool) -> None:
    plain = _plain(1, offset, 3)
    pieces = (_wrapper(1, 9), _wrapper(1, before), NONSENSE, plain, NONSENSE)
    starts = _starts(*pieces)
    found = range(starts[3], starts[4], len(plain) // 3)
    assert _listed(b"".join(pieces)) == {starts[0], starts[1], *(found if is_of_log else ())}


def test_more_messages_than_a_payload_holds_are_of_the_log() -> None:
    large = message_set(messages=[message(value=bytes(700_000), magic=1)] * 2)
    pieces = (_wrapper(1, 9), _wrapper(1, 19), NONSENSE, large, NONSENSE)
    starts = _starts(*pieces)
    assert {starts[3], starts[3] + len(large) // 2} <= _listed(b"".join(pieces))


def test_batches_after_damage_in_a_log_of_wrappers_are_of_the_log() -> None:
    pieces = (_wrapper(1, 9), _wrapper(1, 19), NONSENSE, batch(records=[record(key=b"k")], base_offset=25), NONSENSE)
    starts = _starts(*pieces)
    assert starts[3] in _listed(b"".join(pieces))


@pytest.mark.parametrize("after", [_plain(1, 5)[HEADER], b""], ids=["a header", "nothing"])
def test_a_log_that_is_one_damaged_wrapper_has_no_messages(after: bytes) -> None:
    inner = NONSENSE + _plain(1, 3, 2) + after + NONSENSE
    damaged = bytearray(_wrapper(1, 9, inner + inner))
    damaged[30] ^= 1
    assert _listed(bytes(damaged) + NONSENSE) == set()  # CRLF has made all of it longer


@pytest.mark.parametrize("lost", [-3, -1, 1, 3])
def test_a_header_with_bytes_too_many_or_too_few_is_still_that_of_a_wrapper(lost: int) -> None:
    damaged = _wrapper(1, 9, NONSENSE + _plain(1, 3, 2) + NONSENSE)
    damaged = damaged[:13] + (damaged[13 + lost :] if lost > 0 else b"\r" * -lost + damaged[13:])
    assert _listed(damaged + NONSENSE) == set()


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_after_what_only_looks_like_a_wrapper_are_of_the_log(magic: int) -> None:
    """The header of a damaged message is a byte off, and has the attributes of a wrapper, but a key."""
    off = bytearray(message_set(messages=[message(key=b"key", value=NONSENSE, magic=magic)], base_offset=2))
    off[17] |= 1
    plain = _plain(magic, 3, 4)
    pieces = (_plain(magic, 0), _plain(magic, 1), bytes(off[:-9]), plain, NONSENSE)
    starts = _starts(*pieces)
    assert _listed(b"".join(pieces)) == {starts[0], starts[1], *range(starts[3], starts[4], len(plain) // 4)}
