"""Going on after damage: what was not touched is listed, and every byte is accounted for once."""

import os
import random
import struct
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary import zeros
from kdump.binary.batch_header import BATCH_HEADER
from kdump.binary.source import Source
from kdump.errors import Unreadable
from kdump.reading import search
from kdump.reading.found_batches import FoundBatch
from kdump.reading.items import DAMAGED, INTACT, NOT_EXAMINED, SALVAGED, Damage, Section
from kdump.reading.plausible import is_plausible, is_size_of_value
from kdump.reading.salvage import walk
from kdump.reading.starts import first_offset_at, starts_from_the_end
from kdump.reading.tuning import DEFAULT, ReadTuning
from kdump.reading.walked_log import UNEXAMINED, found_in
from tests.builders.files import file_name, write_partition
from tests.builders.fleets import flipped
from tests.builders.hostile import batches_and_claims
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.loops import each, examples
from tests.support import LOGS, bytes_read, damaged, opened

pytestmark = pytest.mark.both_kernels


class Range(NamedTuple):
    """A batch or a damaged range: where it starts and ends, and what became of it (`` for a damaged range)."""

    start: int
    end: int
    status: str


def _ranges(data: bytes, start: int = 0, tuning: ReadTuning = DEFAULT) -> list[Range]:
    with opened(data) as source:
        return _ranges_of(source, start, tuning)


def _ranges_of(source: Source, start: int = 0, tuning: ReadTuning = DEFAULT) -> list[Range]:
    ranges: list[Range] = []
    for item in walk(source, start, tuning=tuning):
        if isinstance(item, Damage):
            ranges.append(Range(item.start, item.end, ""))
        else:
            assert isinstance(item, Section)
            batches = item.chunk.batches
            rows = zip(batches["position"], batches["size"], strict=True)
            ranges += [Range(position, position + size, item.status) for position, size in rows]
    return ranges


def _assert_covers(ranges: list[Range], end: int, start: int = 0) -> None:
    for found in ranges:
        assert found.start == start < found.end
        start = found.end
    assert start == end


def _statuses(ranges: list[Range]) -> str:
    """A letter for each: intact, salvaged, damaged; a dash is a range that no batch claims."""
    return "".join(one.status[:1] or "-" for one in ranges)


def _batch(row: int, value: bytes = b"value") -> bytes:
    return batch(records=[record(key=b"key", value=value)], base_offset=row)


def _log(count: int) -> list[bytes]:
    return [_batch(row) for row in range(count)]


def _with_length(batch: bytes, length: int) -> bytes:
    return batch[:8] + struct.pack(">i", length) + batch[12:]


def _with_offset(batch: bytes, offset: int) -> bytes:
    return struct.pack(">q", offset) + batch[8:]


def _of_epoch(offset: int, epoch: int) -> bytes:
    return batch(records=[record(key=b"key", value=b"value")], base_offset=offset, partition_leader_epoch=epoch)


def _claiming(batch: bytes, size: int) -> bytes:
    """A batch damaged at its end that claims this size."""
    return _with_length(batch[:-1] + bytes([batch[-1] ^ 0x21]), size - 12)


SIZE = len(_batch(0))

MAGIC_3 = batch(records=[record()], base_offset=1, magic=3)
NESTED = batch(records=[record(value=_batch(5))], base_offset=1, attributes=5)  # codec 5 does not exist
CODEC_5 = _with_length(_batch(1), 3 * SIZE + 90)[:22] + b"\x05" + _batch(1)[23:]
OLD = [message_set(messages=[message(value=b"v", magic=magic)], base_offset=row) for row, magic in enumerate((0, 1, 0))]
EPOCHS = [_of_epoch(0, 7), _claiming(_of_epoch(1, 7), 2 * SIZE), _of_epoch(2, 6), _of_epoch(3, 7)]
CLAIMS_TWO = _claiming(_batch(641), 3 * SIZE)
WRAPPER = wrapper(messages=[message(value=b"v")] * 2, base_offset=3)


STATUSES: dict[str, tuple[list[bytes], str]] = {
    "larger than a window": ([_batch(0), batch(records=[record(value=bytes(3 << 20))], base_offset=1), _batch(2)], "iii"),
    "nothing is looked for inside if the length is right": ([_batch(0), NESTED], "i-"),
    "an unknown codec does not lead over batches to zeros": ([_batch(0), CODEC_5, *_log(4)[2:], bytes(1000)], "i-ss-"),
    "claims one of a lower leader epoch": (EPOCHS, "idi"),
    "of those it claims, the last goes on from it": ([_batch(0), CLAIMS_TWO, *map(_batch, (643, 642, 650))], "i-si"),
    "found, in doubt until offsets go on": ([_batch(100), b"garbage" * 9, *map(_batch, (5, 6, 101, 102))], "i-sssi"),
    "old messages": ([OLD[0], b"\xff" * 50, OLD[1], b"\xff" * 50, OLD[2], b"\xff" * 50, WRAPPER], "i-s-s-s"),
    "it or the next one has a wrong header: they claim one offset": ([_batch(0), MAGIC_3, _batch(1), _batch(3)], "idsi"),
    "a magic that does not exist among others": ([_batch(0), MAGIC_3, _batch(2), _batch(3)], "idii"),
}


@each("pieces, statuses", STATUSES.values(), ids=STATUSES)
def test_batches_in_and_after_damage_have_a_status(pieces: list[bytes], statuses: str) -> None:
    ranges = _ranges(b"".join(pieces))
    _assert_covers(ranges, sum(map(len, pieces)))
    assert _statuses(ranges) == statuses


@pytest.mark.slow
@examples(200)
@given(damaged(LOGS))
def test_every_byte_of_a_damaged_log_is_accounted_for_once(data: bytes) -> None:
    _assert_covers(_ranges(data), len(data))


@given(st.binary(max_size=300), st.integers(0, 300))
def test_arbitrary_bytes_are_accounted_for_from_any_start(data: bytes, start: int) -> None:
    _assert_covers(_ranges(data, min(start, len(data))), len(data), min(start, len(data)))


def test_a_batch_after_a_missing_byte_is_listed_whatever_its_checksum_is() -> None:
    """Read from its second byte on, its header is plausible if the checksum starts with the magic."""
    after = next(one for one in (_batch(2, b"%d" % number) for number in range(9999)) if one[17] == 2)
    data = _batch(0) + _batch(1)[:-3] + _batch(1)[-2:] + after + _batch(3, b"x" * 40_000)
    listed = [one.start for one in _ranges(data) if one.status in (INTACT, SALVAGED)]
    assert listed == [0, 2 * SIZE - 1, 2 * SIZE - 1 + len(after)]


def test_a_batch_of_a_magic_that_nobody_reads_is_not_salvaged_though_its_length_alone_is_wrong() -> None:
    ranges = _ranges(_batch(0) + _with_length(MAGIC_3, len(MAGIC_3) + 50) + _batch(2) + _batch(3))
    assert [found.status for found in ranges] == [INTACT, DAMAGED, INTACT, INTACT]


def test_the_last_offset_that_a_header_claims_wraps_as_in_java() -> None:
    header = BATCH_HEADER.unpack_from(batch(base_offset=2**63 - 1, last_offset_delta=5, partition_leader_epoch=7))
    found = FoundBatch(header, 0, 61, None, is_legacy=False, is_valid=True)
    assert found.extent == (2**63 - 1, -(2**63) + 4, 7)


def test_a_batch_is_shown_with_the_length_that_fits() -> None:
    with opened(_batch(0) + _with_length(_batch(1), -5) + _batch(2)) as source:
        _, section, _ = walk(source)
    assert isinstance(section, Section)
    start = section.chunk.starts[0]
    assert (section.claimed_length, section.chunk.window[start : start + len(_batch(1))]) == (-5, _batch(1))
    assert (section.chunk.batches.row(0).size, section.chunk.batches.row(0).isvalid) == (SIZE, True)


@each("zeros_after", [1, 2, 700, 1 << 20])
@each("claimed_zeros", [-1, 2, 300])
def test_batches_that_a_damaged_one_claims_are_listed_where_zeros_follow(claimed_zeros: int, zeros_after: int) -> None:
    batches = _log(5)
    batches[1] = _claiming(batches[1], 4 * SIZE + claimed_zeros)  # the last byte of a batch is a zero
    found = _ranges(b"".join(batches) + bytes(max(claimed_zeros, 0) + zeros_after))
    assert [one.start // SIZE for one in found[:5]] == [0, 1, 2, 3, 4] and _statuses(found[:5]) == "i-sss"


def test_a_batch_of_which_a_part_lies_before_the_end_of_a_claim_is_listed() -> None:
    shifted = bytes(5) + _batch(0)  # its offset and its length begin later
    shifted = shifted[:11] + bytes([2 * SIZE + 4 - 12]) + shifted[12:]
    assert _ranges(shifted + _batch(1))[-1] == Range(SIZE + 5, 2 * SIZE + 5, SALVAGED)


@pytest.mark.parametrize("after", [0, 1])
def test_a_batch_at_the_end_of_a_payload_is_not_listed_though_zeros_follow(after: int) -> None:
    inner = _batch(642)
    outer = batch(records=[record(value=inner)], base_offset=641)  # ends with the number of headers
    outer = outer[:17] + bytes(4) + outer[21:]
    assert _ranges(_batch(640) + outer[: len(outer) - 1 + after] + bytes(700))[1] == Range(SIZE, SIZE + len(outer), DAMAGED)


@each(
    "offsets",
    [
        (0, 641, 643, 645, 650),  # neither from the damaged one on, nor up to the next one
        (0, 641, 650, 651, 644),
        (0, 641, 640, 641, 642),
        (0, 641, 642, 700, 644),
        (0, 641, 700, 701, 642),  # the offsets of the damaged one reach up to the next: it holds what it claims
    ],
)
def test_batches_inside_a_claim_are_its_payload_if_their_offsets_do_not_fit(offsets: tuple[int, ...]) -> None:
    batches = [_batch(offset) for offset in offsets]
    batches[1] = _claiming(batches[1], 3 * SIZE)
    assert Range(SIZE, 4 * SIZE, DAMAGED) in _ranges(b"".join(batches))


def test_bytes_that_a_page_in_the_wrong_place_has_torn_claim_nothing() -> None:
    """A header without its fifth byte has its fields a byte too early: a length of some MiB, and a magic that does not exist."""
    batches = _log(40)
    torn = batches[20][:4] + batches[20][5:]
    assert torn[16] > 2 and len(b"".join(batches)) < int.from_bytes(torn[8:12], "big") < 1 << 27
    ranges = _ranges(b"".join(batches[:20]) + torn + b"".join(batches[21:]))
    assert _statuses([one for one in ranges if one.start >= 20 * SIZE]) == "-s" + 18 * "i"


@each("seed", range(60))
def test_what_a_damaged_batch_claims_too_much_is_listed_and_its_payload_is_not(seed: int) -> None:
    chance = random.Random(seed)
    batches: list[bytes] = []
    offsets: list[tuple[int, int]] = []
    offset = 0
    for row in range(chance.randint(5, 60)):
        count = chance.randint(1, 4)
        values = [chance.randbytes(chance.randrange(200)) for _ in range(count)]
        if chance.random() < 0.4:  # of another partition, or a copy of batches near by
            first = chance.choice([offset - 1, offset, offset + 1, offset + 9, chance.randrange(1000)])
            values[-1] += b"".join(_batch(max(first, 0) + place) for place in range(chance.randint(1, 3)))
        codec = chance.choice(["none", "none", "none", "gzip", "snappy", "lz4"])
        made = [record(key=b"key", value=value) for value in values]
        batches.append(batch(records=made, base_offset=offset, codec=codec, partition_leader_epoch=row // 20))  # type: ignore[arg-type]
        offsets.append((offset, offset + count - 1))
        offset += count
    starts = [sum(map(len, batches[:row])) for row in range(len(batches) + 1)]
    victim = chance.randrange(len(batches) - 2)
    until = chance.randint(victim + 1, len(batches))
    batches[victim] = _claiming(batches[victim], starts[until] - starts[victim])
    found = {(one.start, one.end) for one in _ranges(b"".join(batches)) if one.status in (INTACT, SALVAGED)}
    assert found == {(starts[row], starts[row + 1]) for row in range(len(batches)) if row != victim}


@each("count", [1, 2])
def test_either_of_the_last_two_batches_may_be_the_wrong_one_wherever_a_window_ends(count: int) -> None:
    tuning = ReadTuning(window_bytes=count * SIZE, near_bytes=count * SIZE, stretch_bytes=1)
    assert _statuses(_ranges(_with_offset(_batch(0), 500) + _batch(2), tuning=tuning)) == "ss"


@each(
    ("damage", "after", "code"),
    [
        *((_batch(1)[:-5], b"", "torn-tail"), (_batch(1)[:17], b"", "torn-header"), (SIZE - 12 + 7, _batch(2), "crc-mismatch")),
        *((bytes(100), b"", "zero-tail"), (bytes(100), _batch(1), "zero-hole"), (-5, _batch(1), "batch-length-negative")),
        *((b"\xff" * 50, b"", "garbage-region"), (b"\xff" * 50, _batch(1), "garbage-region")),
        *((20, _batch(1), "batch-length-too-small"), (1 << 20, _batch(1), "batch-length-absurd")),
        *((_with_length(OLD[row], size)[:-1] + b"?", _batch(1), "batch-length-too-small") for row, size in ((0, 13), (1, 21))),
        *((1 << 20, b"", "torn-tail"), (1 << 28, b"", "batch-length-absurd"), (_batch(1)[:18], b"", "torn-tail")),
    ],
)
def test_damage_has_the_code_of_its_kind_and_says_how_the_walk_went_on(damage: bytes | int, after: bytes, code: str) -> None:
    """Numbers are the length that a batch claims whose checksum fits none."""
    if isinstance(damage, int):
        damage = _batch(1)[:8] + struct.pack(">i", damage) + _batch(1)[12:-1] + b"?"
    with opened(_batch(0) + damage + after) as source:
        (found,) = (item for item in walk(source) if isinstance(item, Damage))
    assert (found.start, found.end, found.code) == (SIZE, SIZE + len(damage), code)
    assert (found.resync, found.claimed_offset) == ("by-scan" if after else "end", 1 if code == "crc-mismatch" else None)


def test_a_file_cut_while_it_is_read_is_reported_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"".join(_log(20)))
    with Source(str(path)) as source:
        os.truncate(path, 5 * SIZE + 7)
        with pytest.raises(Unreadable, match=f"was cut to {5 * SIZE + 7} bytes while it was read") as caught:
            _ranges_of(source)
        assert caught.value.code == "file-shrank"
        with pytest.raises(Unreadable, match=f"was cut to {5 * SIZE + 7} bytes while it was read"):
            zeros.end(source, 9 * SIZE)  # which is no hole of the file


def test_only_a_sound_batch_has_a_first_offset() -> None:
    two = batch(records=[record(key=b"k", value=b"v")] * 2, base_offset=7)
    with opened(_batch(5) + bytes(SIZE) + _batch(6)[:-1] + b"\1" + two + WRAPPER) as source:
        assert [first_offset_at(source, at) for at in (*range(0, 4 * SIZE, SIZE), 3 * SIZE + len(two))] == [5, None, None, 7, 4]


def test_a_walk_may_start_at_the_last_entry_and_the_2nd_4th_and_8th_from_the_end(tmp_path: Path) -> None:
    damaged = [*_log(8), flipped(_batch(8)), *_log(12)[9:]]
    for row, batches, expected in ((0, _log(12), [11, 10, 8, 4, 0]), (1, _log(9), [8, 7, 5, 1, 0]), (2, damaged, [11, 10, 4, 0])):
        path = write_partition(tmp_path, partition=row, segments={0: batches}, index_interval_bytes=0)
        with Source(str(path / file_name(0, ".log"))) as source:
            assert [position // SIZE for position in starts_from_the_end(source)] == expected


_FIELDS = {"offset": 0, "length": 56, "epoch": -1, "magic": 2, "crc": 0, "attributes": 0, "delta": 0, "base": 0, "max": 0}
_FIELDS |= {"producer": -1, "producer_epoch": -1, "sequence": -1, "count": 1}


def _header(**changes: int) -> bytes:
    """A header of magic 2 with room for 7 bytes of a record."""
    return struct.pack(">qiibIhiqqqhii", *{**_FIELDS, **changes}.values())


@each(
    ("plausible", "changes"),
    [
        *((True, changes) for changes in ({}, {"length": 49, "count": 0}, {"epoch": 7}, {"attributes": 0x78}, {"count": 0})),
        (True, {"attributes": 4, "count": 99}),
        *((False, {name: -1}) for name in ("offset", "magic", "attributes", "delta", "count")),
        *(
            (False, changes)
            for changes in ({"length": 57}, {"length": 48, "count": 0}, {"epoch": -2}, {"magic": 3}, {"count": 2})
        ),
        *((False, {"attributes": bits}) for bits in (5, 0x80)),
    ],
)
def test_a_header_is_plausible_by_each_of_its_fields(plausible: bool, changes: dict[str, int]) -> None:
    assert is_plausible(_header(**changes), 68) == plausible
    assert not any(is_plausible(_header(**changes)[:size], 68) for size in (60, 25, 0)), "it has to be whole"


@each(
    ("magic", "length", "attributes", "key_size", "plausible"),
    [
        *((0, 14, 0, -1, True), (0, 13, 0, -1, False), (0, 14, 0, 0, True), (0, 14, 0, 1, False)),
        *((0, 19, 0, 5, True), (0, 19, 0, 6, False), (0, 14, 0, -2, False), (0, 14, 4, -1, True)),
        *((0, 14, 5, -1, False), (1, 22, 0, -1, True), (1, 21, 0, -1, False), (1, 27, 0, 5, True)),
        (1, 27, 0, 6, False),
    ],
)
def test_a_message_is_plausible_by_its_sizes(magic: int, length: int, attributes: int, key_size: int, plausible: bool) -> None:
    time = bytes(8) if magic else b""
    header = struct.pack(">qiIbb", 0, length, 0, magic, attributes) + time + struct.pack(">i", key_size)
    assert is_plausible(header.ljust(61, b"\0"), 12 + length) == plausible
    assert not is_plausible(header.ljust(61, b"\0"), 11 + length)
    for size, fits in ((-1, plausible), (-2, False)):  # -1 is a value that is null
        assert not plausible or is_size_of_value(header.ljust(61, b"\0"), struct.pack(">i", size)) == fits


MEBIBYTE = 1 << 20


def test_zeros_do_not_use_up_the_search() -> None:
    pieces = (_batch(0), b"\x07" * 40, bytes(MEBIBYTE // 4), b"\x07" * 40, _batch(1))
    tuning = ReadTuning(near_bytes=MEBIBYTE, free_tries=64)  # a window of more than zeros, and few headers may be examined
    found = _ranges(b"".join(pieces), tuning=tuning)
    assert [found[0].status, found[-1].status] == [INTACT, SALVAGED]
    assert found[-1].start == sum(map(len, pieces[:-1]))


def test_sound_batches_stand_between_large_false_ones(tmp_path: Path) -> None:
    data = batches_and_claims(300)  # each claims the rest of the file
    with opened(data) as source, bytes_read() as total:
        items = list(walk(source, tuning=ReadTuning(free_crc_bytes=MEBIBYTE, near_bytes=100, window_bytes=100)))
    starts = [position for item in items if isinstance(item, Section) for position in item.chunk.batches["position"]]
    assert starts == [row * 130 for row in range(300)]
    assert {item.status for item in items if isinstance(item, Damage)} == {DAMAGED, NOT_EXAMINED}
    for is_batch in (False, True):
        left = Damage(5, 9, "resync-budget", "", status=NOT_EXAMINED, is_batch=is_batch)
        assert [one.records for one in found_in(left)] == [UNEXAMINED], "there may be batches that a start loses"
    assert total() < 90 * len(data)  # 72 times; without a budget 150 times, and more the larger the file is


def test_runs_of_zeros_are_at_least_a_sector_and_end_where_the_range_does() -> None:
    with opened(b"x" + bytes(511) + b"x" * 10 + bytes(2000) + b"x" + bytes(512)) as source:
        for start, stop, found in (
            *((0, 3035, [(522, 2522), (2523, 3035)]), (600, 1200, [(600, 1200)])),
            *((0, 1033, []), (2523, 3034, [])),
        ):
            assert list(zeros.runs(source, start, stop)) == found


def test_zeros_that_are_the_offset_of_a_batch_belong_to_it() -> None:
    """The first eleven bytes of a small batch of offset 0 are zeros."""
    data = b"\7" * 40 + bytes(5000) + _batch(0) + _batch(1)
    found = [one.start for one in _ranges(data, tuning=ReadTuning(near_bytes=100)) if one.status]
    assert found == [5040, 5040 + SIZE]


@each(("rest", "known"), [(b"", 2), (b"\7", 2), (_batch(1)[:60], 2), (b"\7" * 61, 1), (_batch(1), 2)])
def test_a_batch_leads_to_the_next_or_to_less_than_a_header(rest: bytes, known: int) -> None:
    with opened(_batch(0) + rest) as source:
        assert search.evidence(source, 0, source.read(0, 61)) == known


_HEADER = struct.pack(">qiibIhiqqqhii", 5, 3 << 20, 0, 2, 1, 0, 0, 1, 1, -1, -1, -1, 1)
_DERAILED = batch(records=[record(value=_batch(0))], crc=1, attributes=0x100)

HOSTILE = {
    "zeros": bytes(MEBIBYTE),
    "0x02": b"\x02" * MEBIBYTE,
    "0x01": b"\x01" * MEBIBYTE,
    "headers": _HEADER * (MEBIBYTE // 2 // len(_HEADER)),
    "headers with batches between": (_HEADER * 9 + _batch(1)) * (MEBIBYTE // 4 // (10 * len(_HEADER))),
    "batches that lead nowhere": _DERAILED * (MEBIBYTE // 4 // len(_DERAILED)),
}
TIMES_READ = 400
"""As often may a byte be read: 220 times is the most seen, and 1,900 and more where the search has no budget."""


@pytest.mark.slow
@each("name", HOSTILE)
def test_hostile_bytes_are_not_read_again_and_again(name: str) -> None:
    tuning = ReadTuning(free_tries=1 << 12, free_crc_bytes=MEBIBYTE)  # what any file may take would hide the rest here
    data = HOSTILE[name]
    with opened(data) as source, bytes_read() as total:
        end = 0
        for item in walk(source, tuning=tuning):
            end = item.end if isinstance(item, Damage) else item.chunk.batches["position"][-1] + item.chunk.batches["size"][-1]
    assert end == len(data)
    assert len(data) <= total() < TIMES_READ * len(data)
