"""What a walk and its readers are made of, each alone, against plain lists of what was written."""

import random
from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from kdump.binary.source import Source
from kdump.formats.log import Chunk, Log
from kdump.reading import batch_faults, damaged_offsets, damages, scales, walked_log
from kdump.reading.damaged_offsets import FOREVER, DamagedOffsets
from kdump.reading.flipped_end import is_flipped
from kdump.reading.headers import headers_from
from kdump.reading.items import DAMAGED, INTACT, SALVAGED, Damage, Section
from kdump.reading.largest_order import rows_in_order
from kdump.reading.salvage import walk
from kdump.reading.tuning import ReadTuning
from kdump.reading.walked_log import STRETCH, UNOPENED, Found, WalkedLog, found_in
from kdump.reading.windows import Batches, KeptBatches
from tests.builders.fleets import data, flipped
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, wrapper
from tests.loops import each
from tests.support import opened

pytestmark = pytest.mark.both_kernels

LOG = [data(offset, 2, value=b"v" * offset) for offset in range(0, 80, 2)]
OLD = message_set(messages=[message(value=b"v")], base_offset=90)
BIT = 1 << 16


def _chunk(source: Source) -> Chunk:
    return next(Log(source).chunks())


def _batches(source: Source) -> list[Batches]:
    """Those that a log starts with, and the same as the kernel in C keeps them."""
    kept = [KeptBatches.of(item) for item in walk(source, fills_headers=True) if isinstance(item, Section)]
    return [Batches(_chunk(source)), *filter(None, kept)]


def test_damage_is_named_by_its_size_and_its_fault() -> None:
    sizes = [damages.zeros(5, end, size).message for end, size in ((6, 7), (1205, 1206), (6, 6), (1205, 1205))]
    assert sizes == [
        *("1 byte is zero", "1,200 bytes are zero"),
        *("the last byte of the file is zero", "the last 1,200 bytes of the file are zero"),
    ]
    torn = [damages.torn(5, (1 << 27) + more, 1500) for more in (0, 1)]
    assert [one.code for one in torn] == ["torn-tail", "batch-length-absurd"]
    assert "134,217,728 bytes long, of which 1,500 are there" in torn[0].message
    length = "a record batch says it is -1,300 bytes long"
    assert [one(5, 6, -1300).message for one in (damages.negative_length, damages.small_length, damages.length_past_end)] == [
        *(length, f"{length}, too few for its header", f"{length}, past the end of the file, though batches follow")
    ]
    damages.leave_unchecked(torn[0])
    assert (torn[0].code, torn[0].status) == ("resync-budget", "not_examined")
    with opened(LOG[0] + flipped(LOG[1]) + batch(magic=3)) as source:
        table, size = _chunk(source).batches, len(LOG[1])
    faults = [batch_faults.of_batch(table, row) for row in (1, 2)]
    assert [(one.code, one.position) for one in faults] == [("crc-mismatch", len(LOG[0])), ("bad-magic", len(LOG[0]) + size)]
    assert f"says it is 7 bytes long; its CRC matches with {size - 12}" in batch_faults.of_length(table, 1, 7).message


@each("seed", range(30))
def test_of_runs_in_any_order_those_are_taken_that_are_the_most(seed: int) -> None:
    chance = random.Random(seed)
    runs = [(first := chance.randrange(12), first + chance.randrange(3), chance.randint(1, 9)) for _ in range(7)]
    rows = [some for count in range(8) for some in combinations(range(7), count)]
    in_order = [some for some in rows if all(runs[one][1] < runs[other][0] for one, other in pairwise(some))]
    found = tuple(rows_in_order(runs))
    assert found in in_order and sum(runs[row][2] for row in found) == max(sum(runs[row][2] for row in some) for some in in_order)


@each(
    "is_one, start, gap, missing, later_ms, epoch",
    [
        *((True, 0, BIT, 0, 4100, 0), (False, 0, BIT, 0, 4101, 0), (False, 0, BIT, 0, 0, 1), (False, 0, BIT >> 1, 0, 0, 0)),
        *((True, 0, BIT, 4096, 0, 0), (False, 0, BIT, 4097, 0, 0), (False, 0, 3 * BIT, 0, 0, 0), (False, BIT, BIT, 0, 0, 0)),
    ],
)
def test_a_gap_is_a_flipped_bit_where_there_was_no_time_for_it(
    is_one: bool, start: int, gap: int, missing: int, later_ms: int, epoch: int
) -> None:
    """A thousand offsets a second, of which the last but one batch has the 1,000th."""
    headers = [data(start, at=TIMESTAMP), data(start + 999, at=TIMESTAMP + 1000)]
    headers.append(data(start + 1000 + gap, at=TIMESTAMP + 1000 + later_ms, epoch=epoch))
    assert is_flipped(headers, start + 1000, missing) == is_one
    without = [data(int.from_bytes(one[:8], "big"), at=-1) for one in headers]
    assert not any(is_flipped([*headers[:row], without[row], *headers[row + 1 :]], start + 1000, missing) for row in range(3))


@each("window", [70, 32 << 10])
def test_batches_are_taken_by_header_up_to_a_number_or_an_old_message(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdump.reading.headers._HEADER_WINDOW", window)
    places = [sum(map(len, LOG[:row])) for row in range(41)]
    with opened(b"".join([*LOG, OLD, OLD])) as source:
        for most, count in ((1, 1), (39, 39), (50, 40)):
            headers, *found = headers_from(source, 0, most)
            assert [[header[0] for header in headers], *found] == [list(range(0, 80, 2))[:count], places[:count], places[count]]
    with opened(b"".join(LOG)) as source:
        for whole in _batches(source):
            assert (len(whole), whole.start, whole.end, whole.records, whole.status) == (40, 0, places[40], 80, INTACT)
            for start, stop in combinations((0, 1, *places[1:4], places[3] + 1, places[39], places[40], None), 2):
                part = whole.between(start or 0, stop)
                expected = [place for place in places[:40] if (start or 0) <= place and (stop is None or place < stop)]
                assert (None if part is None else list(part.chunk.batches["position"])) == (expected or None)
    with opened(LOG[1] + data(9, 3) + batch(base_offset=20, records_count=-5)) as source:
        assert {one.records for one in _batches(source)} == {2 + 3}
    with opened(batch(records=[record()], delete_horizon_ms=5)) as source:
        assert len(_batches(source)) == 1, "only a header says what its horizon is"
    with opened(OLD) as source:
        assert [one.records for one in _batches(source)] == [None]


@each("most", [1 << 30, 500])
@each("at_once", [32 << 20, 1])
@each("samples", [False, True])
def test_a_sample_has_the_start_of_a_log_and_of_what_follows_one_batch_of_sixteen(
    most: int, at_once: int, samples: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [[record(value=b"v" * size)] for size in range(200)]
    packed = [batch(records=one, codec="gzip" if row % 9 < 8 else "none", base_offset=row) for row, one in enumerate(records)]
    bad = batch(codec="gzip", payload=b"v" * 9, base_offset=200)
    for name, value in (("_SAMPLE_FROM", len(packed[0])), ("_MAX_SAMPLE_BYTES", most), ("_MAX_PAYLOAD_AT_ONCE", at_once)):
        monkeypatch.setattr(scales, name, value)
    expected: list[int | None] = []
    for row, (one, of_batch) in enumerate(zip(records, packed, strict=True)):
        size, is_packed = len(batch(records=one)) - 61, row % 9 < 8
        is_taken = not samples or most > 0 and (not row or int.from_bytes(of_batch[17:21], "big") % 16 == 0)
        expected.append(size if not is_packed or is_taken and (at_once > 1 or not samples or size <= most) else None)
        most -= size if is_packed and is_taken else 0
    with opened(b"".join([*packed, bad])) as source:
        for whole in _batches(source):
            assert scales.Scales(source, samples=samples).sizes(whole) == [*expected, None]
    with opened(OLD + wrapper(messages=[message()], base_offset=91)) as source:
        assert scales.Scales(source, samples=False).sizes(Batches(_chunk(source))) == [len(OLD) - 12, None]


def _found_of(start: int, piece: bytes, count: int) -> Found:
    """What is to be found of a batch that stands here."""
    first, is_old = int.from_bytes(piece[:8], "big"), piece[16] < 2
    crc_at, last = (12, first) if is_old else (17, first + int.from_bytes(piece[23:27], "big"))
    return Found(start, first, last, count, len(piece), int.from_bytes(piece[crc_at : crc_at + 4], "big"))


@each("stretch_bytes", [1, 4 << 20])
def test_a_walked_log_knows_each_batch_and_where_it_is_damaged(stretch_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [batch(base_offset=80, records_count=-5), batch(base_offset=81, attributes=5, records_count=-5)]
    old = [OLD, flipped(OLD), wrapper(messages=[message()], base_offset=91)]
    old.append(message_set(messages=[message(attributes=5)], base_offset=92))
    pieces = [*LOG[:5], flipped(LOG[5]), *LOG[6:30], b"\xff" * 70, *LOG[31:40], *odd, *old]
    counts = [*[2] * 5, None, *[2] * 24, None, *[2] * 9, 0, 0, 1, None, UNOPENED, 1]
    starts = [sum(map(len, pieces[:row])) for row in range(len(pieces))]
    written = zip(starts, pieces, counts, strict=True)
    rows = [_found_of(start, piece, count) for start, piece, count in written if count is not None]
    walked = WalkedLog(0)
    with opened(b"".join(pieces)) as source:
        tuning = ReadTuning(window_bytes=1000, near_bytes=300, stretch_bytes=stretch_bytes)
        items = list(walk(source, base_offset=0, tuning=tuning))
        for item in items:
            walked.take(item)
        assert [one for item in items for one in found_in(item, is_each=True)] == rows
    found = list(walked.found(0, source.size) or ())
    for one in found:
        inside = [row for row in rows if one.position <= row.position < one.position + one.size]
        if one.records == STRETCH:
            assert one[1:3] == (inside[0].first_offset, inside[-1].last_offset)
        else:
            assert [one] == inside
    assert sum(one.size for one in found) == sum(one.size for one in rows)
    ends = [one.position + one.size for one in found if one.records == STRETCH]
    assert ends and not set(ends) & {one.position for one in found if one.records == STRETCH}, "neighbours are one stretch"
    for start, end in combinations((0, 1, *starts[1:7], starts[7] + 5, starts[-1], source.size), 2):
        expected = [one for one in found if one.position < end and one.position + one.size > start]
        assert list(walked.found(start, end) or ()) == expected
    damaged = [(starts.index(one.start), one.offset, one.next_offset) for one in walked.damage()]
    assert damaged == [(5, 10, 12), (30, 60, 62), (41, 81, 90), (43, 91, 91), (45, 92, FOREVER)]
    with opened(message_set(messages=[message()] * 9, base_offset=5)) as source:
        of_old = [one for item in walk(source) for one in found_in(item)]
        assert of_old == [Found(0, 0, 13, STRETCH, source.size, 0)], "a wrapper may begin before its offset"
    size = walked.size
    walked.forget()
    assert walked.found(0, 9) is None and (size, walked.size) == (8 * 6 * len(found) + 5 * 200, 5 * 200)
    for most in (len(found), len(found) - 1, 7, 6):
        monkeypatch.setattr(walked_log, "_MOST_FOUND", most)
        monkeypatch.setattr(damaged_offsets, "_MAX_KEPT", most)
        short = WalkedLog(0)
        for item in items:
            short.take(item)
        assert (short.found(0, 9) is None, short.is_too_long) == (most < len(found), most < 7)


TORN, G = "torn-tail", ("garbage-region", 4)  # bytes that say they have offset 4
Step = Any  # an intact batch, by its offset or bytes; or the status of one, and its first and last offset or its bytes


def _offsets(steps: list[Step]) -> DamagedOffsets:
    found = DamagedOffsets(0)
    for row, step in enumerate(steps):
        status, first, last = (INTACT, step, step) if isinstance(step, int | bytes) else (*step, step[-1])[:3]
        if status in (*G, TORN):
            claim: Any = SimpleNamespace(base_offset=first)
            found.take(Damage(row, row + 1, status, "", claim, is_batch=status == TORN))
            continue
        with opened(first if isinstance(first, bytes) else batch(base_offset=first, last_offset_delta=last - first)) as source:
            of_length = 9 if status == "l" else None  # the only wrong field
            found.take(Section(_chunk(source), {"d": DAMAGED, INTACT: INTACT}.get(status, SALVAGED), claimed_length=of_length))
    return found


OLD_0, OLD_3, OLD_5, OLD_9 = (message_set(messages=[message(value=b"v")], base_offset=offset) for offset in (0, 3, 5, 9))
TO_2, FROM_3, FROM_6 = (wrapper(messages=[message(value=b"v")] * 3, base_offset=offset) for offset in (0, 3, 6))
MOST = 1 << 31  # offsets that a segment may have


@each(
    "steps, ranges, strays",
    [
        ([0, G, ("s", 5), G, 9], [(1, 5), (6, 9)], []),
        ([0, G, ("s", 20), G, 9], [(1, 9)] * 2, [(20, 1, 1, 9, None, True)]),  # 4, but for a bit
        ([0, G, ("s", 40, 41), G, 9], [(1, 9)] * 2, [(40, 1, 1, 9, None, False)]),  # at 8 there is no room for two
        ([0, ("d", 3, 4), ("s", 2), 9], [(1, 9)], [(2, 1, 1, 9, None, True)]),  # no room for two before it
        *(([0, ("d", 3), ("s", 2), 9], [(1, 2)], []), ([0, ("s", 5), ("d", 3), G, 9], [(6, 9)] * 2, [])),  # one fits
        ([0, ("s", 5), ("d", 3)], [(3, FOREVER)], [(5, 1, 1, 2, None, True)]),  # where nothing follows it need not
        *(([0, ("s", 5), ("d", 6)], [(6, FOREVER)], []), ([0, ("d", 6), ("s", 5), 9], [(1, 5)], [])),
        ([0, ("l", 1), 2, ("l", 3, 5), ("s", 6), 9], [(1, 2), (3, 6)], []),
        ([0, ("d", 1), ("s", 2), ("s", 40), 9], [(1, 2)], [(40, 3, 3, 9, None, True)]),
        ([0, ("s", 7), ("s", 2), ("d", 8), 9], [(8, 9)], [(7, 1, 1, 2, None, True)]),  # 2 leaves it one offset
        ([0, ("d", 3, 11), ("s", 1), 9], [(1, 9)], [(1, 1, 1, 9, None, True)]),
        # how many it has is not known
        *(([0, ("d", 4, 3), ("s", 5), 9], [(4, 5)], []), ([0, ("d", 6, 5), ("s", 5), 9], [(1, 9)], [(5, 1, 1, 9, None, True)])),
        # a copy has no room where no offset is missing; where some are, what stands after the gap may be wrong
        *(([0, 1, ("s", 1), 2], [], [(1, 2, 2, 2, None, False)]), ([0, 3, ("s", 2), 4], [], [(2, 1, 4, 4, 3, False)])),
        ([0, 4, 5, ("s", 2), 6], [], [(2, 1, 6, 6, None, False)]),
        *(([0, ("d", first)], [(first, FOREVER)], []) for first in (5, MOST - 1)),
        *(([0, ("d", MOST)], [(1, FOREVER)], []), ([0, (TORN, 5), 9], [(5, 9)], []), ([OLD_0, (TORN, 5), OLD_9], [(1, 9)], [])),
        # the header of a wrapper has the last of its offsets; that one is not compressed may be wrong
        *(([OLD_0, ("d", OLD_5), OLD_9], [(5, 9)], []), ([TO_2, ("d", FROM_3), OLD_9], [(3, 9)], [])),
        *(([TO_2, ("d", FROM_3), ("d", FROM_6), 9], [(3, 9), (6, 9)], []), ([OLD_0, ("d", FROM_3), OLD_9], [(1, 9)], [])),
        *(([TO_2, ("d", OLD_5), OLD_9], [(3, 9)], []), ([TO_2, OLD_3, ("d", OLD_5), OLD_9], [(5, 9)], [])),
    ],
)
def test_damage_takes_the_offsets_that_lie_between_its_neighbours_and_a_salvaged_batch_those_that_leave_room_for_it(
    steps: list[Step], ranges: list[tuple[int, int]], strays: list[tuple[object, ...]]
) -> None:
    found = _offsets(steps)
    assert [(one.offset, one.next_offset) for one in found.ranges()] == ranges
    said = [(one.first, one.lowest, one.offset, one.next_offset, one.doubted, one.is_misplaced) for one in found.strays]
    assert said == strays
