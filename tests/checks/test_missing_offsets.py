"""The offsets that `kdump check` says are missing are those that no batch has, whatever damaged headers claim."""

import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kdump
from kdump.checks.finding import Finding
from kdump.checks.missing_offsets import _HIGHEST, MissingOffsets, _believed, _merged
from kdump.checks.packed_ints import PackedInts
from kdump.cli.commands import main
from tests.builders.files import offset_index
from tests.builders.records import batch, record
from tests.loops import each

PAGE = 16 << 10


def _log(count: int = 200, *, seed: int = 1, base: int = 0) -> list[bytes]:
    """Batches of three records, some 800 bytes each."""
    chance = random.Random(seed)
    return [
        batch(base_offset=base + 3 * row, records=[record(value=chance.randbytes(250), offset_delta=delta) for delta in range(3)])
        for row in range(count)
    ]


LOG = _log()


def _misplaced(kind: str) -> bytes:
    data = b"".join(LOG)
    at, other = 2 * PAGE, 3 * PAGE + 4000 if kind == "swapped, near" else 7 * PAGE
    page = data[other : other + PAGE]
    if kind == "stale":
        return data[:other] + data[at : at + PAGE] + data[other + PAGE :]
    if kind.startswith("swapped"):
        return data[:at] + page + data[at + PAGE : other] + data[at : at + PAGE] + data[other + PAGE :]
    foreign = b"".join(_log(60, seed=2, base=5_000_000 if kind == "foreign, higher" else 0))
    return data[:at] + foreign[100 : 100 + PAGE] + data[at + PAGE :]


def _hurt(row: int, at: int, value: bytes) -> bytes:
    hurt = bytearray(LOG[row])
    hurt[at : at + len(value)] = value
    return b"".join([*LOG[:row], bytes(hurt), *LOG[row + 1 :]])


@each("seed", range(6))
def test_no_more_records_of_a_thinned_log_are_unreadable_than_it_had(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    kept = [one for one in LOG if chance.random() < 0.3]
    start, count = chance.randrange(1, len(kept) - 5), chance.randrange(1, 5)
    gone = b"".join(kept[start : start + count])
    other = bytes(len(gone)) if seed % 2 else chance.randbytes(len(gone))
    (tmp_path / f"{0:020}.log").write_bytes(b"".join(kept).replace(gone, other))
    verdict = kdump.verdict(tmp_path)
    assert "unreadable (at least" in verdict.text and 0 < verdict.records_unreadable <= 3 * count


Capture = pytest.CaptureFixture[str]


def _claims(path: Path) -> set[int]:
    """The offsets of all findings about skipped bytes."""
    found: set[int] = set()
    for row in kdump.check(path):
        if isinstance(row, Finding) and row.skipped and row.offset_first is not None and row.offset_last is not None:
            assert row.offset_first <= row.offset_last < row.offset_first + 3 * len(LOG)
            found.update(range(row.offset_first, row.offset_last + 1))
    return found


def _partition(folder: Path, data: bytes, base: int = 0) -> Path:
    path = folder / "orders-0"
    path.mkdir(parents=True)
    (path / f"{base:020}.log").write_bytes(data)
    return path


@pytest.mark.both_kernels
def test_batches_with_offsets_of_no_batch_of_the_log_do_not_say_what_is_missing(tmp_path: Path) -> None:
    """There are more of them at its end than of those in order after the damage."""
    rows = list(LOG)
    for row, wrong in ((196, 5000), (198, 10**15)):
        rows[row] = wrong.to_bytes(8, "big") + rows[row][8:]
    rows[197] = rows[197][:-1] + bytes([rows[197][-1] ^ 1])
    path = _partition(tmp_path, b"".join(rows))
    (path / f"{600:020}.log").write_bytes(batch(base_offset=600, records=[record()]))
    assert _claims(path) == set(range(591, 594))


@pytest.mark.both_kernels
@each("tail", [b"".join(LOG[:100])[:-500], b"".join(offset_index(entries=[(40 * row, 8192 * row)]) for row in range(1, 15))])
def test_the_end_of_a_copy_and_offsets_that_no_segment_reaches_are_not_missing(tail: bytes, tmp_path: Path) -> None:
    assert _claims(_partition(tmp_path, b"".join(LOG) + tail)) == set()


def _headline(path: Path, capfd: Capture) -> int:
    main(["check", str(path)])
    found = re.search(r"Consumers cannot read (?:at least )?([\d,]+) of", " ".join(capfd.readouterr().out.split()))
    assert found
    return int(found[1].replace(",", ""))


@pytest.mark.both_kernels
@each("kind", ["stale", "swapped", "swapped, near", "foreign, higher", "foreign, lower"])
def test_offsets_that_batches_elsewhere_in_the_file_have_are_not_missing(kind: str, tmp_path: Path, capfd: Capture) -> None:
    data = _misplaced(kind)
    missing = {offset for row, one in enumerate(LOG) if one not in data for offset in range(3 * row, 3 * row + 3)}
    path = _partition(tmp_path, data)
    assert _claims(path) == missing
    assert _headline(path, capfd) == len(missing)


@pytest.mark.both_kernels
@each(
    ("at", "value"),
    [
        *((23, b"\x80"), (23, b"\x10"), (25, b"\x40"), (25, b"\x04"), (23, b"\xff\xff\xff\xff"), (0, b"\x01")),
        *((16, b"\x00"), (7, b"\x2f")),
    ],
    ids=["delta-31", "delta-28", "delta-14", "delta-10", "delta-negative", "offset", "magic", "offset of the next"],
)
def test_a_damaged_header_claims_no_more_than_its_neighbours_leave(at: int, value: bytes, tmp_path: Path, capfd: Capture) -> None:
    for first, last in ((100, 100), (100, 101), (99, 102)):  # of those that are damaged
        hurt = bytearray(_hurt(100, at, value))
        for row in range(first, last + 1):
            if row != 100 or at < 8:  # no CRC covers the offset
                hurt[sum(map(len, LOG[:row])) + 200] ^= 1
        path = _partition(tmp_path / str(last), bytes(hurt))
        assert _claims(path) == set(range(3 * first, 3 * last + 3))
        assert _headline(path, capfd) == 3 * (last - first + 1)


def test_the_first_batch_of_a_log_without_any_is_the_least_that_cannot_be_read(tmp_path: Path, capfd: Capture) -> None:
    """A text mode copy replaces each LF by CR and LF: no batch is left, and the header of the first claims its own offsets."""
    lines = [record(value=b"a line\n" * 40, offset_delta=delta) for delta in range(3)]
    data = b"".join(batch(base_offset=3 * row, records=lines) for row in range(50)).replace(b"\n", b"\r\n")
    main(["check", str(_partition(tmp_path, data))])
    assert "Consumers cannot read at least 3 offsets: 0 to 2." in capfd.readouterr().out


@pytest.mark.both_kernels
@each(
    ("row", "at", "value"),
    [(100, 12, bytes(512)), *((row, 23, delta.to_bytes(4, "big")) for row in (100, 199) for delta in (0, 1 << 14))],
    ids=["zeroed from the length on", "delta lower", "delta higher", "lower at the end", "higher at the end"],
)
def test_a_damaged_header_takes_and_adds_no_offset(row: int, at: int, value: bytes, tmp_path: Path, capfd: Capture) -> None:
    """A batch has at least one offset for each of its records, and where nothing else bounds it no more."""
    path = _partition(tmp_path, _hurt(row, at, value))
    count = 1 if (row, value) == (199, bytes(4)) else 3  # the last header contradicts itself
    assert _claims(path) == set(range(3 * row, 3 * row + count))
    assert _headline(path, capfd) == count


@pytest.mark.both_kernels
@each(
    ("edits", "highest", "text"),
    [
        ({57: 1 << 20}, 599, "at least 1 of 600 offsets, among 597 to 599"),
        ({57: 30}, 599, "at least 1 of 600 offsets, among 597 to 599"),
        ({57: 0}, 599, "at least 1 of 600 offsets, among 597 to 599"),
        ({23: -5}, 599, "at least 1 of 600 offsets, among 597 to 599"),
        ({23: 1 << 10, 57: 1 + (1 << 10)}, 597, "at least 1 of 598 offsets: 597"),
    ],
)
def test_no_more_records_are_counted_than_the_bytes_of_the_last_batch_hold(
    edits: dict[int, int], highest: int, text: str, tmp_path: Path, capfd: Capture
) -> None:
    """And of a header that contradicts itself one: which of its numbers is wrong is not known. The scan says the same."""
    hurt = b"".join(LOG)
    for at, number in edits.items():
        start = len(hurt) - len(LOG[199]) + at
        hurt = hurt[:start] + number.to_bytes(4, "big", signed=True) + hurt[start + 4 :]
    path = _partition(tmp_path, hurt)
    assert _claims(path) == set(range(597, highest + 1))
    main(["check", str(path)])
    assert f"Consumers cannot read {text}." in capfd.readouterr().out
    main(["scan", str(path)])
    assert "(at least 1 record): crc-mismatch; 597 records not read" in " ".join(capfd.readouterr().out.split())


def test_a_damaged_batch_without_records_has_none_that_cannot_be_read(tmp_path: Path, capfd: Capture) -> None:
    """The cleaner keeps the header of the last batch of a producer."""
    emptied = batch(base_offset=300, records=[], last_offset_delta=2, producer_id=7, producer_epoch=0, base_sequence=0, crc=1)
    main(["check", str(_partition(tmp_path, b"".join([*LOG[:100], emptied, *LOG[101:]])))])
    found = capfd.readouterr().out
    assert "Consumers cannot read" not in found
    assert "It has no records: the damage is in the header. Locus: header." in " ".join(found.split())
    assert "Also unreadable. Exit status 1." in " ".join(found.split())


@pytest.mark.both_kernels
@each("wrong", [(100,), (100, 102, 103, 105)], ids=["one", "four, two of them together"])
@each(("base", "moved"), [(0, 1_000_000), (90_000, -90_000)], ids=["too high", "below the base offset"])
def test_one_wrong_offset_bounds_no_gap(wrong: tuple[int, ...], base: int, moved: int, tmp_path: Path, capfd: Capture) -> None:
    """A text mode copy gives batches other base offsets, which no checksum covers, and damages those around them and the last."""
    sound = _log(base=base)
    hurt = list(sound)
    for row in {*range(99, wrong[-1] + 2), 197, 198, 199}.difference(wrong):
        hurt[row] = sound[row][:100] + b"\r" + sound[row][100:]
    for row in wrong:
        hurt[row] = (base + moved + 3 * row).to_bytes(8, "big") + sound[row][8:]
    path = _partition(tmp_path, b"".join(hurt), base)
    inside = 3 * (wrong[-1] + 3 - 100)
    assert _claims(path) <= {*range(base + 297, base + 297 + inside), *range(base + 591, base + 600)}
    assert inside <= _headline(path, capfd) <= inside + 9


@pytest.mark.both_kernels
def test_offsets_of_zeros_count_though_only_the_first_bytes_of_a_batch_stand_before_them(tmp_path: Path, capfd: Capture) -> None:
    small = [batch(base_offset=row, records=[record(value=b"x")]) for row in range(2000)]
    size = len(small[0])
    data = b"".join(small)
    path = _partition(tmp_path, data[: 500 * size + 7] + bytes(800 * size - 7) + data[1300 * size :])
    assert _headline(path, capfd) == 800


@pytest.mark.parametrize(
    ("gap", "most", "believed"),
    [
        ((5, 10), 2, ((5, 8), False)),  # as many as it has records
        ((5, 7), 2, ((5, 6), False)),  # these do not fit
        ((6, 10), 9, (None, False)),
        ((5, _HIGHEST), 4, ((5, 6), True)),  # its header contradicts itself
        ((5, _HIGHEST), 1, ((5, 5), True)),  # that many records are not in its bytes
    ],
)
def test_offsets_of_damaged_headers_are_believed_if_there_is_room(gap: tuple[int, int], most: int, believed: object) -> None:
    assert _believed((5, 6), 4, [gap], most) == believed


def test_a_header_with_fewer_records_than_offsets_may_have_fewer() -> None:
    assert [_believed((5, 9), records, [(5, 10)], 9) for records in (4, 5)] == [((5, 9), True), ((5, 9), False)]
    assert _believed((5, 5), 1, [(5, 5)], 9) == ((5, 5), False)


def test_ranges_that_overlap_are_one_and_those_that_touch_are_not() -> None:
    ranges = [(0, 4), (2, 3), (4, 9), (10, 11), (11, 11), (13, 13)]
    assert [list(column) for column in _merged(ranges)] == [[0, 10, 13], [9, 11, 13]]


def test_a_single_batch_with_a_wrong_offset_has_none_of_those_of_damaged_ones(tmp_path: Path, capfd: Capture) -> None:
    """Of five batches from offset 288 on, the first says 296, and the second and fourth are damaged."""
    hurt = bytearray(_hurt(96, 7, bytes([288 ^ 256 | 8])))
    for row in (97, 99):
        hurt[sum(map(len, LOG[:row])) + 200] ^= 1
    path = _partition(tmp_path, bytes(hurt))
    assert _claims(path) == {291, 292, 293, 297, 298, 299}
    assert _headline(path, capfd) == 6


@each("bit", [10, 11, 31, 44])
def test_a_wrong_offset_of_the_last_batch_of_a_segment_is_no_end_of_the_log(bit: int, tmp_path: Path, capfd: Capture) -> None:
    """Two segments of 600 offsets: a batch of the first is damaged, and no checksum covers the offset of the last of each.

    Nor that of the first.
    """
    path = _partition(tmp_path, _hurt(50, 100, b"damage"))
    (path / f"{600:020}.log").write_bytes(b"".join(_log(seed=2, base=600)))
    for base, last in ((0, 597), (600, 1197)):
        log = path / f"{base:020}.log"
        data = bytearray(log.read_bytes())
        at = data.rindex(last.to_bytes(8, "big"))
        if base == 0 or bit != 11:  # the last segment has no other end than the reach of an index
            data[at : at + 8] = (last ^ (1 << bit)).to_bytes(8, "big")
        log.write_bytes(data)
    first = path / f"{0:020}.log"
    first.write_bytes((1 << bit).to_bytes(8, "big") + first.read_bytes()[8:])
    main(["check", str(path)])
    assert f"Consumers cannot read 3 of {1200 if bit == 11 else 1197:,} offsets: 150 to 152." in capfd.readouterr().out


def test_a_segment_without_a_batch_lacks_all_offsets_up_to_the_next(tmp_path: Path, capfd: Capture) -> None:
    data = b"".join(LOG)
    for name, rest in (("noise", random.Random(3).randbytes(len(data))), ("zeros", bytes(len(data)))):
        path = _partition(tmp_path / name, data)
        (path / f"{600:020}.log").write_bytes(rest)
        (path / f"{1200:020}.log").write_bytes(b"".join(_log(seed=2, base=1200)))
        assert _headline(path, capfd) == 600, name


def test_batches_whose_offsets_an_inserted_byte_has_moved_are_no_page(tmp_path: Path, capfd: Capture) -> None:
    """CRLF conversion: it stands before the last byte but one of their offsets, from 2,560 on."""
    parts = [batch(base_offset=row, records=[record(value=b"v" * 90)]) for row in range(2500, 2700)]
    parts[61:63] = [part[:6] + b"\r" + part[6:] for part in parts[61:63]]
    last = batch(base_offset=2699, records=[record(value=b"v" * 20_000)])
    parts[-1] = last[:5000] + b"\r" * 300 + last[5000:]
    assert _headline(_partition(tmp_path, b"".join(parts), 2500), capfd) == 3


@each(
    ("claims", "after", "settled"),
    [
        ([(100, 200, (1, 4))], 5, [(1, 4)]),
        ([(100, 200, (3, 4))], 5, [(3, 4)]),
        ([(100, 200, (7, 8))], 5, [(1, 4)]),  # after both neighbours
        ([(100, 200, (-7, 0))], 5, [(1, 4)]),
        ([(100, 200, (0, 3))], 5, [(1, 4)]),  # as many as are missing, but not these
        ([(100, 200, (0, 2))], 5, [(0, 2)]),  # of fewer, which of those that are missing it has is not known
        ([(100, 200, (7, 8))], 1, [(7, 8)]),  # nothing is left for it
        ([(100, 200, (7, 8))], None, [(7, 8)]),
        ([(100, 150, (8, 9)), (150, 200, (3, 4))], 5, [(1, 2), (3, 4)]),
        ([(100, 150, (1, 2)), (150, 200, (8, 9))], 5, [(1, 2), (3, 4)]),
        ([(100, 150, (1, 2)), (150, 200, (2, 3))], 5, [(1, 2), (3, 4)]),  # the second can have those that the first leaves
        ([(100, 150, (1, 9)), (150, 200, (3, 4))], 5, [(1, 2), (3, 4)]),
        ([(100, 150, (1, 2)), (150, 200, (2, 4))], 5, [(1, 1), (2, 4)]),  # which of them is wrong is not known
        ([(100, 140, (8, 9)), (150, 200, (3, 4))], 5, [(1, 4), (3, 4)]),  # other bytes are between them
        ([(100, 140, (1, 2)), (150, 200, (8, 9))], 5, [(1, 2), (1, 4)]),
    ],
)
def test_a_claim_that_both_neighbours_contradict_is_what_they_leave(
    claims: list[Any], after: int | None, settled: list[tuple[int, int]]
) -> None:
    """A batch with offset 0 is before them; one with the offset `after` follows, or the next segment starts with that."""
    rows = [(0, 0, 0), (200, after, after)]
    for count in (1, 2) if after is not None else (1,):
        positions, firsts, lasts = (PackedInts(column) for column in zip(*rows[:count], strict=True))
        facts = SimpleNamespace(positions=positions, lowest_offsets=firsts, last_offsets=lasts, base_offset=0)
        assert MissingOffsets(facts, after if count == 1 else None, claims).settled() == settled  # type: ignore[arg-type]  # all that is asked of it
