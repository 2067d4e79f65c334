"""`kdump recover` and `kdump log` on pages in the wrong place and on runs of batches with wrong offsets: what is intact stays."""

import random
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.mending.row import Dropped, Hole, Recovered, Rewritten
from tests.builders.files import time_index, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, wrapper
from tests.loops import each

PAGE = 16 << 10
FOREIGN = 5_000_000
SHIFT = 1_000_000


def _batches(count: int, *, seed: int = 1, base: int = 0, epoch: int = 0) -> list[bytes]:
    """Batches of three records, some 800 bytes each."""
    chance = random.Random(seed)
    return [
        batch(
            base_offset=base + 3 * row,
            partition_leader_epoch=epoch,
            records=[record(value=chance.randbytes(250), offset_delta=delta) for delta in range(3)],
        )
        for row in range(count)
    ]


def _with_page(data: bytes, at: int, page: bytes) -> bytes:
    return data[:at] + page + data[at + len(page) :]


def _swapped(data: bytes, one: int, other: int) -> bytes:
    pages = data[one : one + PAGE], data[other : other + PAGE]
    return _with_page(_with_page(data, one, pages[1]), other, pages[0])


def _claims(data: bytes, offset: int) -> bytes:
    """A batch, wrapper or message that claims another offset, which no checksum covers."""
    return offset.to_bytes(8, "big") + data[8:]


def _changed(batches: list[bytes], changes: dict[int, bytes]) -> list[bytes]:
    """The batches of a log, of which some are other ones."""
    return [changes.get(row, one) for row, one in enumerate(batches)]


def _partition(folder: Path, data: bytes, later: dict[int, bytes] | None = None) -> Path:
    """A partition with a log of these bytes, and later ones by their base offsets."""
    path = folder / "orders-0"
    path.mkdir(parents=True)
    for base, log in {0: data, **(later or {})}.items():
        (path / f"{base:020}.log").write_bytes(log)
    return path


def _recovered(tmp_path: Path, data: bytes, later: dict[int, bytes] | None = None) -> tuple[bytes, list[Any]]:
    rows = list(kdump.recover(_partition(tmp_path, data, later), tmp_path / "out"))
    return b"".join(path.read_bytes() for path in sorted((tmp_path / "out").glob("*.log"))), rows


def _of(kind: type[Any], rows: list[Any]) -> list[Any]:
    return [row for row in rows if isinstance(row, kind)]


LOG = _batches(400)
"""Some 320 KiB."""


def _messages(count: int, magic: int) -> list[bytes]:
    """Messages without compression, of some 280 bytes."""
    chance = random.Random(5)
    return [message_set(messages=[message(value=chance.randbytes(250), magic=magic)], base_offset=row) for row in range(count)]


def _of_magic(count: int, magic: int) -> tuple[list[bytes], int]:
    """Messages, or batches of magic 2, and how many offsets each takes."""
    return (_messages(count, magic), 1) if magic < 2 else (_batches(count), 3)


def _wrappers(count: int, magic: int, *, value_bytes: int = 0, seed: int = 0, base: int = 0) -> list[bytes]:
    """Compressed messages, each with five in it; of random bytes where there is a size."""
    chance, found = random.Random(seed), []
    for row in range(count):
        values = [chance.randbytes(value_bytes) if value_bytes else b"%d %d" % (row, inner) for inner in range(5)]
        inner = [message(value=value, magic=magic) for value in values]
        found.append(wrapper(messages=inner, magic=magic, base_offset=base + 5 * row))
    return found


def _index(entries: list[tuple[int, int]]) -> bytes:
    return b"".join(offset.to_bytes(4, "big") + position.to_bytes(4, "big") for offset, position in entries)


def _misplaced(kind: str) -> bytes:
    data = b"".join(LOG)
    if kind == "swapped":
        return _swapped(data, 3 * PAGE, 15 * PAGE)
    if kind == "swapped with the last":
        return _swapped(data, 3 * PAGE, len(data) - PAGE)
    if kind == "stale":
        return _with_page(data, 12 * PAGE, data[2 * PAGE : 3 * PAGE])
    high = kind == "foreign, higher"
    foreign = b"".join(_batches(60, seed=2, base=FOREIGN if high else 100, epoch=7 if kind == "foreign, later epoch" else 0))
    return _with_page(data, 8 * PAGE, foreign[PAGE : 2 * PAGE])


KINDS = ["swapped", "swapped with the last", "stale", "foreign, higher", "foreign, lower", "foreign, later epoch"]


@pytest.mark.both_kernels
@each("kind", KINDS)
def test_every_intact_batch_is_kept_in_its_place_whatever_page_is_misplaced(kind: str, tmp_path: Path) -> None:
    data = _misplaced(kind)
    intact = [one for one in LOG if one in data]
    assert 300 < len(intact) < len(LOG)
    recovered, rows = _recovered(tmp_path, data)
    assert recovered == b"".join(intact)
    assert sum(row.batches for row in _of(Recovered, rows)) == len(intact)
    lost = sorted(offset for row in _of(Hole, rows) for offset in range(row.offset_first, row.offset_last + 1))
    assert lost == [offset for row, one in enumerate(LOG) if one not in data for offset in range(3 * row, 3 * row + 3)]


ORDERS = {
    "a batch moved on": [*LOG[:150], *LOG[151:300], LOG[150], *LOG[300:]],
    "batches moved on": [*LOG[:20], *LOG[23:300], *LOG[20:23], *LOG[300:]],
    "batches moved back": [*LOG[:20], *LOG[297:300], *LOG[20:297], *LOG[300:]],
    "batches here twice": [*LOG[:200], *LOG[50:100], *LOG[200:]],
}


@each("kind", ORDERS)
def test_whole_batches_that_were_moved_or_copied_are_where_their_offsets_are(kind: str, tmp_path: Path) -> None:
    recovered, rows = _recovered(tmp_path, b"".join(ORDERS[kind]))
    assert recovered == b"".join(LOG)
    assert sum(row.batches for row in _of(Dropped, rows)) == len(ORDERS[kind]) - len(LOG)
    assert not any(row.is_lost for row in _of(Dropped, rows)) and not _of(Hole, rows)


def test_a_page_of_another_partition_is_left_out_as_a_run_with_the_reason(tmp_path: Path) -> None:
    data = _misplaced("foreign, higher")
    foreign = [row for row, one in enumerate(_batches(60, seed=2, base=FOREIGN)) if one in data]
    _, rows = _recovered(tmp_path, data)
    (left,) = [row for row in _of(Dropped, rows) if row.code == "offset-regression"]
    assert (left.offset_first, left.offset_last) == (FOREIGN + 3 * foreign[0], FOREIGN + 3 * foreign[-1] + 2)
    assert left.batches == len(foreign) and "fit neither where they are nor into a gap" in left.reason


@pytest.mark.both_kernels
@each("count", [1, 2, 3])
@each("epochs", [2, 4])
@each("at", [2, 30, 46])
def test_a_run_of_wrong_offsets_is_put_right_by_its_place(count: int, epochs: int, at: int, tmp_path: Path) -> None:
    batches = [one for row in range(epochs) for one in _batches(50, seed=row, base=150 * row, epoch=row)]
    wrong = {row: _claims(batches[row], SHIFT + 3 * row) for row in range(at, at + count)}
    recovered, rows = _recovered(tmp_path, b"".join(_changed(batches, wrong)))
    assert recovered == b"".join(batches)
    assert [row.offset_first for row in _of(Rewritten, rows)] == [3 * row for row in wrong]
    assert not _of(Dropped, rows) and not _of(Hole, rows)
    assert [row for row in kdump.check(tmp_path / "out") if getattr(row, "severity", "info") != "info"] == []


@pytest.mark.both_kernels
def test_batches_in_the_wrong_length_of_a_damaged_one_are_kept_whatever_another_claims(tmp_path: Path) -> None:
    """Each damaged batch has two wrong bytes; one has a wrong length, and one in that a wrong lastOffsetDelta."""
    wrong = {row: LOG[row][:at] + b"\1" + LOG[row][at + 1 : -1] + b"\7" for row, at in ((100, 9), (110, 23))}
    recovered, _ = _recovered(tmp_path, b"".join(_changed(LOG, wrong)))
    assert recovered == b"".join(one for row, one in enumerate(LOG) if row not in wrong)


@pytest.mark.both_kernels
@each("magic", [0, 1])
def test_a_wrapper_after_missing_bytes_is_no_payload_of_the_one_they_are_missing_from(magic: int, tmp_path: Path) -> None:
    wrappers = _wrappers(40, magic, value_bytes=100, seed=3)
    data = [*wrappers[:20], wrappers[20][:150] + wrappers[20][400:], *wrappers[21:]]
    recovered, rows = _recovered(tmp_path, b"".join(data))
    assert recovered == b"".join(wrappers[:20] + wrappers[21:])
    assert [(row.batches, row.bytes) for row in _of(Dropped, rows)] == [(1, len(wrappers[20]) - 250)]


@pytest.mark.both_kernels
@each("magic", [0, 1])
def test_wrappers_of_pages_that_changed_places_are_kept(magic: int, tmp_path: Path) -> None:
    """The torn wrapper before the second page claims the offsets of those in it."""
    wrappers = _wrappers(400, magic, value_bytes=100, seed=4)
    data = _swapped(b"".join(wrappers), 3 * PAGE + 100, 9 * PAGE + 100)
    recovered, _ = _recovered(tmp_path, data)
    assert recovered == b"".join(one for one in wrappers if one in data)


def test_bytes_that_are_missing_are_no_hole_at_the_end(tmp_path: Path) -> None:
    """The index has the last batch where the log has ended by now."""
    whole = b"".join(LOG[:100])
    path = _partition(tmp_path, whole[: len(LOG[0]) * 50] + whole[len(LOG[0]) * 51 + 300 :])
    (path / f"{0:020}.index").write_bytes(_index([(299, len(whole) - len(LOG[99]))]))
    (hole,) = _of(Hole, list(kdump.recover(path, tmp_path / "out")))
    assert (hole.offset_first, hole.offset_last) == (150, 155)


@each("magic", [0, 1, 2])
def test_a_run_out_of_the_reach_of_its_log_is_put_right(magic: int, tmp_path: Path) -> None:
    """The next log starts below its offsets, so that none of its batches is beyond doubt."""
    messages, size = _of_magic(100, magic)
    hurt = _changed(messages, {at: _claims(messages[at], SHIFT + size * at) for at in (40, 41)})
    recovered, rows = _recovered(tmp_path, b"".join(hurt[:90]), {90 * size: b"".join(messages[90:])})
    assert recovered == b"".join(messages)
    assert [(row.offset_first, row.batches) for row in _of(Rewritten, rows)] == [(40 * size, 1), (41 * size, 1)]


@each("magic", [0, 1, 2])
def test_a_batch_that_ends_after_the_claim_it_starts_in_is_no_payload(magic: int, tmp_path: Path) -> None:
    """The length of the damaged batch before it is two bytes too much, and another damaged one has its offset."""
    messages = _messages(20, magic) if magic < 2 else [batch(base_offset=row) for row in range(20)]
    too_long = messages[5][:11] + bytes([messages[5][11] + 2]) + messages[5][12:-1] + b"!"
    hurt = _changed(messages, {5: too_long, 8: _claims(messages[8][:-1] + b"!", 6)})
    recovered, _ = _recovered(tmp_path, b"".join(hurt))
    assert recovered == b"".join(one for row, one in enumerate(messages) if row not in (5, 8))


@each("magic", [0, 1])
def test_a_wrapper_whose_offset_is_in_order_is_kept_though_its_messages_reach_into_others(magic: int, tmp_path: Path) -> None:
    """Several bits are wrong, and the one before it is damaged: in magic 1, nothing says which offset is right."""
    messages = _wrappers(100, magic)
    hurt = _changed(messages, {29: messages[29][:-1] + b"!", 30: _claims(messages[30], 157)})
    recovered, _ = _recovered(tmp_path, b"".join(hurt))
    right = hurt if magic else messages  # the messages in it have absolute offsets in magic 0
    assert recovered == b"".join(one for row, one in enumerate(right) if row != 29)


@each("magic", [0, 1, 2])
def test_an_offset_of_which_a_bit_is_wrong_is_put_right_among_damaged_batches(magic: int, tmp_path: Path) -> None:
    """It would fit where one of them was, and the one that has it would not."""
    batches, size = _of_magic(100, magic)
    broken = {row: flipped(batches[row]) for row in (24, 25, 28, 33, 35, 36)}
    wrong = {row: _claims(batches[row], size * row ^ 2) for row in (26, 32)}
    recovered, rows = _recovered(tmp_path, b"".join(_changed(batches, broken | wrong)))
    assert recovered == b"".join(one for row, one in enumerate(batches) if row not in broken)
    assert [row.offset_first for row in _of(Rewritten, rows)] == [26 * size, 32 * size]


FLIPS = {
    "low bits, one after the other": {30: 2, 31: 4, 32: 2},
    "several bits, one after the other": {30: 96, 31: 1 << 13 | 1, 32: 5},
    "a low bit beside a high one": {30: 2, 31: 1 << 50},
    "low bits among high ones": {28: 1 << 40, 29: 2, 30: 1 << 20, 31: 4, 33: 2},
    "bits of half of the batches": {24: 1 << 30, 25: 16, 26: 128, 28: 1 << 26, 30: 32, 33: 4, 34: 1 << 25, 35: 32},
    "high bits before the end": {94: 1 << 50, 95: 1 << 51, 96: 1 << 33},
    "high bits that ascend before the end": {93: 1 << 33, 94: 1 << 43, 95: 1 << 53},
}


@each("kind", FLIPS)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_offsets_of_which_a_bit_is_wrong_are_put_right_one_after_the_other(magic: int, kind: str, tmp_path: Path) -> None:
    """Each of them as soon as the batch beside it is in order; the next log bounds them."""
    batches, size = (_wrappers(200, magic), 5) if magic < 2 else (_batches(200), 3)
    stated = {row: size * row + (size - 1 if magic < 2 else 0) for row in FLIPS[kind]}
    hurt = _changed(batches, {row: _claims(batches[row], stated[row] ^ bits) for row, bits in FLIPS[kind].items()})
    recovered, rows = _recovered(tmp_path, b"".join(hurt[:98]), {98 * size: b"".join(batches[98:])})
    assert recovered == b"".join(batches)
    assert [row.offset_first for row in _of(Rewritten, rows)] == [size * row for row in FLIPS[kind]]
    assert _of(Dropped, rows) == _of(Hole, rows) == []


CONTRADICTED = {
    "the last offset, inside of which is a snapshot": ({99: 297 ^ 2}, {}, {".snapshot"}),
    "the last offset, far above a snapshot": ({99: 297 ^ 1 << 20}, {}, {".snapshot"}),
    "the last offset, by a time index": ({99: 297 ^ 1 << 20}, {}, {".timeindex"}),
    "the last offset, in which many bits are wrong": ({99: 297 + SHIFT}, {}, {".snapshot"}),
    "the last leader epoch, which is negative": ({}, {99: 1 << 31}, {"leader-epoch-checkpoint"}),
    "offsets between gaps": ({140: 1120 ^ 8, 142: 1136 ^ 1 << 33}, {}, {".index"}),
    "offsets between gaps, one after the other": ({140: 1120 ^ 2, 141: 1128 ^ 2}, {}, {".index"}),
    "an offset that is still between its neighbours": ({140: 1120 ^ 1}, {}, {".index"}),
    "the last leader epoch": ({}, {99: 1 << 20}, {"leader-epoch-checkpoint"}),
    "the last leader epoch but one": ({}, {98: 1 << 20}, {"leader-epoch-checkpoint"}),
    "a leader epoch before a damaged batch": ({}, {60: 1 << 27}, {"leader-epoch-checkpoint"}),
}


@each("kind", CONTRADICTED)
@each("is_sound", [True, False])
def test_what_companions_contradict_is_put_right(kind: str, is_sound: bool, tmp_path: Path) -> None:
    """From batch 100 on there are gaps of five offsets between the batches, as compaction leaves. Batch 61 may be damaged."""
    offsets, epochs, companions = CONTRADICTED[kind]
    gappy = [_claims(one, 8 * row) for row, one in enumerate(LOG[100:200], 100)]
    batches = LOG[:100] if max({**offsets, **epochs}) < 100 else [*LOG[:100], *gappy]
    made: dict[str, Any] = {"index_interval_bytes": 0, "producer_snapshots": {3 * len(batches): []}}
    path = write_partition(tmp_path, segments={0: batches}, topic="orders", **made)
    (path / f"{0:020}.timeindex").write_bytes(time_index(entries=[(TIMESTAMP, 299)]))
    for file in path.iterdir():
        if not companions & {file.suffix, file.name}:
            file.unlink()
    changes = {row: _claims(batches[row], offset) for row, offset in offsets.items()}
    changes |= {row: batches[row][:12] + epoch.to_bytes(4, "big") + batches[row][16:] for row, epoch in epochs.items()}
    changes |= {61: batches[61][:-1] + b"!"} if 60 in epochs else {}
    lost = [] if is_sound or 60 not in epochs else [61]
    (path / f"{0:020}.log").write_bytes(b"".join(batches if is_sound else _changed(batches, changes)))
    rows = list(kdump.recover(path, tmp_path / "out"))
    kept = [one for row, one in enumerate(batches) if row not in lost]
    assert (tmp_path / "out" / f"{0:020}.log").read_bytes() == b"".join(kept)
    wrong = [] if is_sound else [int.from_bytes(batches[row][:8], "big") for row in (*offsets, *epochs)]
    assert [row.offset_first for row in _of(Rewritten, rows)] == wrong
    assert len(_of(Dropped, rows)) == len(_of(Hole, rows)) == len(lost)


def test_a_batch_after_one_that_is_gone_keeps_its_offset_whatever_an_index_knows_of_that(tmp_path: Path) -> None:
    path = _partition(tmp_path, b"".join([*LOG[:9], LOG[10]]))
    (path / f"{0:020}.timeindex").write_bytes(time_index(entries=[(TIMESTAMP, 29)]))  # not closed: of the batch that is gone
    kdump.recover(path, tmp_path / "out")
    assert (tmp_path / "out" / f"{0:020}.log").read_bytes() == b"".join([*LOG[:9], LOG[10]])


def test_the_only_batches_of_a_log_start_where_its_name_says(tmp_path: Path) -> None:
    """Of two, one has a wrong offset; nothing else says which."""
    later = _claims(LOG[1], 3 ^ 1 << 23) + LOG[2] + LOG[3][:-1] + b"!"
    recovered, rows = _recovered(tmp_path, LOG[0], {3: later})
    assert recovered == LOG[0] + LOG[1] + LOG[2]
    assert [row.offset_first for row in _of(Rewritten, rows)] == [3]


def test_batches_of_magic_2_are_no_payload_of_a_torn_wrapper(tmp_path: Path) -> None:
    """A page of another partition, with wrappers, ends inside of one: it claims the bytes of the batches after it."""
    foreign = _wrappers(5, 1, value_bytes=400, seed=7, base=FOREIGN)
    data = _with_page(b"".join(LOG[:100]), 30_000, b"".join(foreign)[100 : 100 + 2 * len(foreign[0])])
    recovered, _ = _recovered(tmp_path, data)
    assert recovered == b"".join(one for one in LOG[:100] if one in data)


@each("first", [85, 100, 110])
def test_a_page_with_offsets_of_others_is_left_out_though_some_of_them_are_missing(first: int, tmp_path: Path) -> None:
    """What it replaced has left a gap that a part of it fits."""
    foreign = b"".join(_batches(60, seed=2, base=3 * first))[100 : 100 + PAGE]
    data = _with_page(b"".join(LOG[:200]), 5 * PAGE, foreign)
    missing = [row for row, one in enumerate(LOG[:200]) if one not in data]
    assert missing[0] < first + 20 and missing[-1] >= first
    recovered, _ = _recovered(tmp_path, data)
    assert recovered == b"".join(one for one in LOG[:200] if one in data)


def test_a_page_is_not_put_right_where_as_many_offsets_are_missing(tmp_path: Path) -> None:
    """Bytes around it are damaged, as at the ends of a page in the wrong place."""
    page = b"?" * 60 + b"".join(_batches(60, seed=2)[20:40])
    recovered, _ = _recovered(tmp_path, b"".join(LOG[:100]) + page + b"".join(LOG[120:200]))
    assert recovered == b"".join(LOG[:100] + LOG[120:200])


def test_a_log_of_which_no_batch_is_left_is_a_hole(tmp_path: Path) -> None:
    damaged = b"".join(one[:-1] + b"!" for one in LOG[100:110]).replace(b"\2", b"\2\2")
    _, rows = _recovered(tmp_path, b"".join(LOG[:100]), {300: damaged, 330: b"".join(LOG[110:200])})
    (hole,) = _of(Hole, rows)
    assert (hole.offset_first, hole.offset_last, hole.is_damage, hole.reason) == (300, 329, True, "damage")


@each("is_compressed", [False, True])
@each("magic", [0, 1])
def test_old_messages_that_are_gone_are_a_hole_if_an_index_has_them(magic: int, is_compressed: bool, tmp_path: Path) -> None:
    messages, step = _messages(200, magic), 1
    if is_compressed:
        one = message(value=random.Random(6).randbytes(250), magic=magic)
        messages, step = [wrapper(messages=[one] * 5, magic=magic, base_offset=5 * row) for row in range(200)], 5
    entries = [(step * (row + 1) - 1, sum(map(len, messages[:row]))) for row in range(6, len(messages), 6)]
    path = _partition(tmp_path, b"".join(messages[:100] + messages[120:]))
    (path / f"{0:020}.index").write_bytes(_index(entries))
    (hole,) = _of(Hole, kdump.recover(path, tmp_path / "out"))
    assert (hole.offset_first, hole.offset_last, hole.is_damage) == (100 * step, 120 * step - 1, True)


@pytest.mark.both_kernels
def test_a_batch_with_a_wrong_offset_is_left_out_where_none_is_beyond_doubt(tmp_path: Path) -> None:
    """Every second batch has a byte too many, so that nothing vouches for the others; one of these has an offset too high."""
    hurt = [one if row % 2 else one[:100] + b"\r" + one[100:] for row, one in enumerate(LOG[:40])]
    recovered, _ = _recovered(tmp_path, b"".join(_changed(hurt, {21: _claims(LOG[21], SHIFT + 63)})))
    assert recovered == b"".join(one for row, one in enumerate(LOG[:40]) if row % 2 and row != 21)
