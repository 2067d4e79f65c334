"""`kdump where` in batches whose headers, checksums and records do not say the same: what was written is known here."""

from pathlib import Path

import pytest

import kdump
from kdump.cli import commands
from kdump.output.rows.fates import Fate
from tests.builders.compression import Codec
from tests.builders.files import file_name, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import Record, batch, message, message_set, record, wrapper
from tests.loops import each
from tests.support import Capture


def _partition(folder: Path, *batches: bytes, base: int = 0) -> Path:
    return write_partition(folder, topic="a", segments={base: list(batches)})


def _fate(offset: int, *paths: Path) -> Fate:
    (fate,) = kdump.where(f"a-0@{offset}", *paths)
    return fate


def _answers(path: Path, *offsets: int) -> list[str]:
    return [_fate(offset, path).answer for offset in offsets]


def _records(first: int, count: int) -> list[Record]:
    return [record(key=b"k%d" % (first + at), value=b"v" * 20) for at in range(count)]


def _one(offset: int) -> bytes:
    return batch(base_offset=offset, records=[record()])


def _wrappers(*firsts: int, magic: int = 1) -> list[bytes]:
    """Wrappers of five messages each, by their first offsets."""
    inner = {
        first: [message(key=b"k%d" % (first + row), value=b"v%d" % row, magic=magic) for row in range(5)] for first in firsts
    }
    return [wrapper(messages=messages, base_offset=first, magic=magic) for first, messages in inner.items()]


def test_a_batch_before_others_may_reach_past_them(tmp_path: Path) -> None:
    """It has more records than offsets, and the batch next to the offset is another one."""
    batches = [batch(records=_records(0, 6), last_offset_delta=0), batch(base_offset=3, records=[record(key=b"x")])]
    assert _answers(_partition(tmp_path, *batches, _one(20), _one(21)), *range(7)) == ["present"] * 6 + ["missing"]
    at_end = [*map(_one, range(20)), batch(base_offset=20, records=_records(0, 6), last_offset_delta=0)]
    assert _answers(_partition(tmp_path / "end", *at_end), *range(19, 27)) == ["present"] * 7 + ["not-written"]


@each("deltas", [(500, 30, -5), (500,)])
def test_a_record_that_its_key_finds_is_never_missing(deltas: tuple[int, ...], tmp_path: Path) -> None:
    """Wherever its offset lies: between other batches, before its own, after the end of the log."""
    records = [record(key=b"other"), *(record(key=b"k", offset_delta=delta) for delta in deltas)]
    odd = batch(base_offset=20, records=records, last_offset_delta=3)
    path = _partition(tmp_path, _one(0), odd, *map(_one, range(24, 64)))
    fates = [(fate.offset, fate.answer) for fate in kdump.where(None, path, key="k")]
    assert fates == [(20 + delta, "present") for delta in reversed(deltas)]


@each("offset", [900, 2])
def test_a_record_that_its_key_finds_in_a_damaged_batch_is_damaged(offset: int, tmp_path: Path) -> None:
    """Also if the header claims another offset than those around it, or that of another record: the key is there."""
    path = _partition(tmp_path, _one(0), batch(base_offset=offset, records=[record(key=b"k")], crc=1), _one(2), _one(3))
    (fate,) = kdump.where(None, path, key="k")
    assert (fate.offset, fate.answer, fate.damaged_on, fate.copies) == (offset, "damaged", [str(path)], [])
    assert f"a record with this key stands at byte {len(_one(0))} of " in fate.evidence


def test_consumers_cannot_read_a_record_that_is_there_in_a_batch_with_a_wrong_length(tmp_path: Path) -> None:
    path = _partition(tmp_path, _one(0), flipped(_one(1), 8), _one(2))
    assert ["consumers cannot read it" in _fate(offset, path).evidence for offset in range(3)] == [False, True, False]


def test_a_record_below_the_log_start_is_not_missing_where_another_copy_lacks_it(tmp_path: Path) -> None:
    rows = [batch(base_offset=offset, records=[record(key=b"k%d" % offset)]) for offset in range(4)]
    with_bytes, without = tmp_path / "one", tmp_path / "two"
    _partition(with_bytes, *rows)
    _partition(without, rows[0], *rows[2:])
    (with_bytes / "log-start-offset-checkpoint").write_text("0\n1\na 0 3\n")
    for question, key in (("a-0@1", None), (None, "k1")):
        (fate,) = kdump.where(question, with_bytes, without, key=key)
        assert (fate.answer, fate.bytes, fate.copies) == ("below-log-start", True, [str(with_bytes)])


def _unreadable(codec: Codec, base: int, count: int) -> bytes:
    """A batch whose CRC fits, and whose payload is not what its codec writes, or, without a codec, no records."""
    payload = b"\x7fnothing that can be read" * 4
    return batch(base_offset=base, codec=codec, payload=payload, records_count=count, last_offset_delta=count - 1)


@pytest.mark.both_kernels
@each("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_an_offset_in_a_batch_that_cannot_be_read_is_damaged(codec: Codec, tmp_path: Path, capfd: Capture) -> None:
    bad = _unreadable(codec, 0, 4)
    path = _partition(tmp_path, bad, batch(base_offset=4, records=_records(4, 4)))
    assert _answers(path, *range(9)) == ["damaged"] * 4 + ["present"] * 4 + ["not-written"]
    fate = _fate(2, path)
    assert (fate.damaged_on, fate.copies) == ([str(path)], [])
    where = f"{path / file_name(0, '.log')}: bytes 0 to {len(bad) - 1} are damaged, offsets from 0 to 3: "
    assert fate.evidence.startswith(where)
    assert commands.main(["where", "a-0@2", str(path)]) == 1
    assert " ".join(capfd.readouterr().out.split()).startswith("a-0@2 damaged damaged ")
    assert commands.main(["where", "a-0@2", str(path.parent)]) == 1
    assert f"kdump check {path} " in capfd.readouterr().out, "of all that is below the path, the partition"


def test_the_records_before_an_unreadable_one_are_present(tmp_path: Path) -> None:
    half = batch(base_offset=0, records=[record(key=b"k0"), record(key=b"k1"), b"\x7fno record"], last_offset_delta=5)
    path = _partition(tmp_path, half, _one(6))
    assert _answers(path, *range(7)) == ["present", "present", "damaged", "damaged", "damaged", "damaged", "present"]


@pytest.mark.parametrize("magic", [0, 1])
def test_an_offset_in_a_wrapper_that_cannot_be_read_is_damaged(magic: int, tmp_path: Path) -> None:
    def of(base: int, **options: object) -> bytes:
        inner = [message(offset=base + at, magic=magic, key=b"k%d" % (base + at)) for at in range(3)]
        return wrapper(messages=inner, magic=magic, base_offset=base, **options)  # type: ignore[arg-type]

    path = _partition(tmp_path / "one", of(0), of(3, payload=b"no gzip"), of(6))
    assert _answers(path, *range(10)) == ["present"] * 3 + ["damaged"] * 3 + ["present"] * 3 + ["not-written"]
    zero = _partition(tmp_path / "zero", of(0), of(3, offset=0, inner_offsets="absolute"))  # as old librdkafka
    assert _answers(zero, *range(7)) == ["present"] * 6 + ["not-written"]
    short = _partition(tmp_path / "two", of(0), of(3, trailing=bytes(11), offset=6), of(7))
    assert _fate(6 if magic == 0 else 3, short).answer == "damaged"
    there = _fate(4, short)  # in magic 1 the one that was written as 3
    assert (there.answer, "too high" in there.evidence) == ("present", magic == 1)


def test_a_damaged_message_inside_a_sound_wrapper_is_damaged(tmp_path: Path) -> None:
    inner = [message(offset=0, key=b"a"), message(offset=1, key=b"b", crc=1), message(offset=2, key=b"c")]
    path = _partition(tmp_path, wrapper(messages=inner))
    assert _answers(path, 0, 1, 2) == ["present", "damaged", "present"]


def test_an_older_copy_says_what_replaced_a_record_that_a_batch_lacks(tmp_path: Path) -> None:
    def of(*deltas: int) -> bytes:
        values = {0: b"v", 1: b"v", 2: None, 3: b"v"}
        keys = {0: b"a", 1: b"b", 2: b"c", 3: b"a"}
        records = [record(key=keys[delta], value=values[delta], offset_delta=delta) for delta in deltas]
        return batch(records=records, last_offset_delta=3)

    before, now = _partition(tmp_path / "before", of(0, 1, 2, 3)), _partition(tmp_path / "now", of(3))
    fates = [_fate(offset, before, now) for offset in range(3)]
    assert [fate.answer for fate in fates] == ["compacted", "compacted", "tombstone-expired"]
    assert [fate.superseded_by for fate in fates] == [3, None, None]
    assert "the last value of its key" in fates[1].evidence


def test_a_batch_with_as_many_records_as_offsets_was_not_compacted(tmp_path: Path) -> None:
    for count, words, answer in ((1, "1 record", "compacted"), (2, "2 records", "missing")):
        path = _partition(tmp_path / words, batch(records=[record(offset_delta=0)] * count, last_offset_delta=1))
        fate = _fate(1, path)
        said = f"the batch at byte 0 of {path}/{0:020}.log covers offsets 0 to 1 and holds {words}, none of them at this one; "
        assert (fate.answer, fate.evidence.startswith(said)) == (answer, True)
        assert ("no record ever had this offset" in fate.evidence) == (answer == "missing")


def _long(offset: int, magic: int) -> bytes:
    if magic == 2:
        return batch(base_offset=offset, records=[record(key=b"k%d" % offset, value=b"v" * 90)])
    return message_set(messages=[message(key=b"k%d" % offset, value=b"v" * 90, magic=magic)], base_offset=offset)


@each("magic", [0, 1, 2])
def test_offsets_before_a_batch_whose_own_offset_zeros_have_taken_are_damaged(magic: int, tmp_path: Path) -> None:
    for taken in (8, 0):
        parts = [_long(offset, magic) for offset in range(20)]
        parts[5:10] = [bytes(sum(map(len, parts[5:9])) + taken) + parts[9][taken:]]
        path = _partition(tmp_path / f"{taken}" / "a-0", *parts)
        assert _answers(path, *range(4, 9), 10 if taken else 9) == ["present", *["damaged"] * 4, "present"]


@each(
    "damaged, claimed",
    [
        *(([], {at: claimed}) for at, claimed in ((4, 6), (5, 4), (5, 1), (5, 7), (5, 5 + 2**40), (8, 0), (8, 8 + 2**40))),
        *(([], claimed) for claimed in ({4: 1, 5: 0}, {2: 6, 3: 7}, {2: 40, 3: 0, 4: 500, 6: 7}, {4: 5, 5: 5 + (1 << 11)})),
        *(([], claimed) for claimed in ({4: 0, 5: 4}, {3: 35, 4: 6, 6: 38}, {6: -6, 7: 3, 8: 1 << 40 | 8})),
        ([], {0: 1 << 29, 3: 7, 4: 1 << 33 | 4, 6: 2, 8: 12}),
        ([], {1: 3, 2: 0, 5: 13, 6: 7, 8: 1 << 28 | 8}),
        ([], {2: 6, 3: 1 << 19 | 3, 5: 13, 8: 1 << 14 | 8}),
        *((damaged, {5: 4}) for damaged in ([4], [3, 4], [3, 4, 6])),
        *((damaged, {4: 5}) for damaged in ([4], [5], [2, 5])),
        *(([3, 4], {5: 3}), ([3], {5: 3}), ([-4], {}), ([1], {0: 1}), ([8], {7: 8}), ([6], {5: 7}), ([3], {0: 1, 1: 5})),
        *(([1], {2: 60, 3: 70, 6: 0}), ([3, 4, 6, 7], {5: 6})),
    ],
)
def test_where_headers_claim_offsets_of_others_what_is_gone_is_damaged(
    damaged: list[int], claimed: dict[int, int], tmp_path: Path
) -> None:
    """What is left is present with its own key. No checksum covers the offset of a batch, damaged or not."""
    gone = {*map(abs, damaged), *claimed}
    for magic in (0, 1, 2):
        parts = [_long(offset, magic) for offset in range(9)]
        for offset, other in claimed.items():
            parts[offset] = other.to_bytes(8, "big", signed=True) + parts[offset][8:]
        for offset in map(abs, damaged):
            parts[offset] = flipped(parts[offset])
            parts[offset] = flipped(parts[offset], 8) if -offset in damaged else parts[offset]  # its length
        for number, segments in enumerate(({0: parts}, {0: parts[:5], 5: parts[5:]})):
            path = tmp_path / f"{magic}-{number}" / "a-0"
            path.mkdir(parents=True)
            for base, of_segment in segments.items():
                (path / file_name(base, ".log")).write_bytes(b"".join(of_segment))
            found = [(fate.answer, fate.key) for fate in (_fate(offset, path) for offset in range(9))]
            assert found == [("damaged", None) if offset in gone else ("present", f"k{offset}") for offset in range(9)]


@each("damaged", [False, True])
def test_a_leader_epoch_with_a_wrong_bit_truncates_nothing_in_other_copies(damaged: bool, tmp_path: Path) -> None:
    """No checksum covers it: in the last batch nothing contradicts it, nor in the first one after damage."""
    parts = [_long(offset, 2) for offset in range(8)]
    changed = [part[:12] + b"\0\x10\0\0" + part[16:] if offset == 4 else part for offset, part in enumerate(parts)]
    changed[3] = parts[3][:9] + b"\x7f" + flipped(parts[3])[10:] if damaged else parts[3]
    one, two = _partition(tmp_path / "one", *changed[:5]), _partition(tmp_path / "two", *parts)
    (one / "leader-epoch-checkpoint").unlink()
    assert {_fate(offset, one, two).answer for offset in range(8)} == {"present", "only-on"}


def test_an_offset_that_only_damaged_files_about_to_be_deleted_can_have_is_damaged(tmp_path: Path) -> None:
    whole = [_long(offset, 2) for offset in range(5)]
    marked = "a-0.0123456789abcdef0123456789abcdef-delete"
    one, two = (
        write_partition(tmp_path / name, topic="a", segments={0: parts, 3: whole[3:]}).rename(tmp_path / name / marked)
        for name, parts in (("one", [whole[0], *map(flipped, whole[1:3])]), ("two", whole[:3]))
    )
    there = "present-in-deleted-file"
    assert _answers(one, *range(6)) == [there, "damaged", "damaged", there, there, "not-written"]
    assert _fate(2, one, two).answer == there


@each("place, bit", [*((16, bit) for bit in range(1, 8)), (17, 0)])
def test_all_offsets_of_a_wrapper_with_another_magic_or_no_codec_are_damaged(place: int, bit: int, tmp_path: Path) -> None:
    """As a batch of magic 2, its header would say where its offsets start; that of a wrapper says where they end."""
    wrappers = _wrappers(0, 5, 10, 15)
    wrappers[1] = wrappers[1][:place] + bytes([wrappers[1][place] ^ 1 << bit]) + wrappers[1][place + 1 :]
    path = _partition(tmp_path / "a-0", *wrappers)
    assert _answers(path, *range(20)) == ["present"] * 5 + ["damaged"] * 5 + ["present"] * 10


@each("shift", [-3, 3])
def test_offsets_in_a_wrapper_whose_own_offset_is_wrong_are_damaged(shift: int, tmp_path: Path) -> None:
    """It lies between those of its neighbours, and moves all offsets inside, so that they seem to be others or missing."""
    for magic, answer in ((0, "present"), (1, "damaged")):  # messages of magic 0 have their own offsets
        wrappers = _wrappers(*range(0, 30, 5), magic=magic)
        wrappers[3] = (19 + shift).to_bytes(8, "big") + wrappers[3][8:]
        path = _partition(tmp_path / f"{magic}" / "a-0", *wrappers)
        assert _answers(path, *range(30)) == ["present"] * 15 + [answer] * 5 + ["present"] * 10
    assert [_fate(offset, path).key for offset in (12, 14, 20, 22)] == ["k12", "k14", "k20", "k22"]
    assert f"its header claims offset {19 + shift}, and the batches around it leave only 19" in _fate(17, path).evidence
