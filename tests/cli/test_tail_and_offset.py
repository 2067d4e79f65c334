"""`kdump log --tail N` and `--offset N`: the end of a log, the batch of one offset, and what lies around where there is none."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kdump.cli.commands import main
from tests import kernels
from tests.builders import files
from tests.builders.compression import Codec
from tests.builders.files import file_name, write_log
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.loops import each

CLEAN, FINDINGS, USAGE, NOT_EXAMINED = range(4)
LOG = file_name(0, ".log")
NOISE = b"no batch " * 20

Found = tuple[int, list[int | None]]  # exit code and offsets


class Lister:
    """Runs `kdump log` in this process: its exit code and the offsets of its rows, None for what is damaged."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.err = ""
        self.rows: list[dict[str, Any]] = []

    def __call__(self, *arguments: str | int | Path) -> Found:
        self._capfd.readouterr()
        status = main(["log", "--output", "ndjson", *map(str, arguments)])
        out, self.err = self._capfd.readouterr()
        self.rows = [json.loads(line) for line in out.splitlines()]
        return status, [row.get("offset", row.get("lastOffset")) for row in self.rows]

    @property
    def statuses(self) -> list[tuple[int | None, str]]:
        return [(row["lastOffset"], row["status"]) for row in self.rows]


@pytest.fixture
def listed(capfd: pytest.CaptureFixture[str]) -> Lister:
    return Lister(capfd)


def _batch(offset: int, count: int = 1) -> bytes:
    return batch(records=[record(key=b"key", value=b"value")] * count, base_offset=offset)


SIZE = len(_batch(0))


def _flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def _partition(tmp_path: Path) -> Path:
    """Two segments, offsets 0 to 59 and 60 to 99: twenty batches of three records, and twenty of two."""
    return files.write_partition(
        tmp_path,
        segments={0: [_batch(3 * n, 3) for n in range(20)], 60: [_batch(60 + 2 * n, 2) for n in range(20)]},
        index_interval_bytes=200,
        segment_index_bytes=1 << 10,
    )


LAST_OFFSETS = [*range(2, 60, 3), *range(61, 100, 2)]  # of its batches
partition = pytest.fixture(_partition)


@each("has_index", [True, False])
def test_a_tail_is_the_last_batches_or_records_of_all_segments(tmp_path: Path, listed: Lister, has_index: bool) -> None:
    path = _partition(tmp_path)
    for index in [] if has_index else path.glob("*.index"):
        index.unlink()
    for count in (1, 3, 20, 21, 40, 1000):
        assert (listed("--tail", count, path), listed.err) == ((CLEAN, LAST_OFFSETS[-count:]), ""), count
    for count in (1, 2, 3, 5, 39, 40, 41, 43, 44, 99, 100, 101):  # of records, it begins inside of a batch
        assert listed("--deep", "--tail", count, path) == (CLEAN, list(range(max(0, 100 - count), 100))), count


def test_each_partition_has_its_own_tail(tmp_path: Path, listed: Lister) -> None:
    for number in (0, 1):
        files.write_partition(tmp_path, topic="a", partition=number, segments={0: [_batch(n) for n in range(number, 5 + number)]})
    assert listed("--tail", 2, tmp_path) == (CLEAN, [3, 4, 4, 5])


def test_old_messages_inside_of_wrappers_are_counted_and_found(tmp_path: Path, listed: Lister) -> None:
    packed = wrapper(messages=[message(value=b"v")] * 4, base_offset=4)
    path = write_log(tmp_path, message_set(messages=[message()] * 4), packed, message_set(messages=[message()], base_offset=8))
    for count in range(1, 10):
        assert listed("--deep", "--tail", count, path) == (CLEAN, list(range(9 - count, 9)))
    for offset in range(9):
        assert (listed("--deep", "--offset", offset, path), listed.err) == ((CLEAN, [offset]), "")
    unread = wrapper(offset=5, payload=b"no gzip")
    path = write_log(tmp_path, message_set(messages=[message()]), unread, message_set(messages=[message()], base_offset=6))
    assert listed("--deep", "--offset", 4, path) == (FINDINGS, [None])


def test_what_cannot_be_read_at_the_end_is_reported_beside_the_last_batches(partition: Path, listed: Lister) -> None:
    path = partition / file_name(60, ".log")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 20 * 19 + 70])
    assert listed("--tail", 2, partition) == (FINDINGS, [95, 97, None])
    assert "(torn-tail, 70 bytes)" in listed.err
    path.write_bytes(b"no log " * 40)
    assert listed("--tail", 2, partition) == (FINDINGS, [56, 59, None])
    assert "(garbage-region, 280 bytes)" in listed.err
    path.unlink()  # what is not a file is not examined
    path.mkdir()
    assert listed("--tail", 1, partition) == (NOT_EXAMINED, [59])


@each("gap", [False, True])
def test_an_index_hides_no_batch_that_is_in_the_wrong_place(tmp_path: Path, listed: Lister, gap: bool) -> None:
    """The pages of batches 10 to 19 and 60 to 69 change places; the index of before knows where those between them are."""
    batches = [_batch(n) for n in range(100)]
    path = files.write_partition(tmp_path, segments={0: batches}, index_interval_bytes=3 * SIZE)
    swapped = batches[:10] + batches[60:70] + batches[20:60] + batches[10:20] + batches[70:]
    if gap:
        del swapped[65:68]
    write_log(path, *swapped)
    for first, last in ((5, 9), (12, 14), (25, 40), (55, 65), (62, 62), (63, 75), (75, 80), (65, 99)):
        asked = [n for n in range(first, last + 1) if batches[n] in swapped]
        found = listed("--from-offset", first, "--to-offset", last, path)[1]
        assert sorted(offset for offset in found if offset is not None) == asked
        assert {*listed("--from-offset", first, path)[1]} >= {*asked}
    assert listed("--offset", 64, path)[1] == [64]


@each("wrong", [[3], [3, 4], [3, 4, 5]])
def test_an_offset_is_found_after_wrappers_whose_offsets_are_too_high(wrong: list[int], tmp_path: Path, listed: Lister) -> None:
    wrappers = [wrapper(messages=[message(value=b"v")] * 5, magic=1, base_offset=5 * row) for row in range(20)]
    for row in wrong:
        wrappers[row] = (100_000 + 5 * row + 4).to_bytes(8, "big") + wrappers[row][8:]
    path = write_log(tmp_path, *wrappers)
    for row in (2, 6, 19):
        assert listed("--offset", 5 * row + 2, path)[1] == [5 * row + 4]
        assert listed("--offset", 5 * row + 2, "--deep", path)[1] == [5 * row + 2]
    last = 100_000 + 5 * wrong[-1]
    assert listed("--offset", last + 1, path)[1] == [last + 4]


@each("seed", range(40))
def test_a_tail_is_the_end_of_the_whole_listing_with_all_damage_in_it(tmp_path: Path, listed: Lister, seed: int) -> None:
    chance = random.Random(seed)
    batches = [_batch(n) for n in range(60)]
    path = files.write_partition(tmp_path, segments={0: batches[:30], 30: batches[30:]}, index_interval_bytes=300)
    for log in sorted(path.glob("*.log")):
        data = bytearray(log.read_bytes())
        for _ in range(chance.choice((0, 1, 1, 2))):
            at = chance.randrange(len(data))
            if chance.random() < 0.5:
                data[at] ^= 1 << chance.randrange(8)
            else:
                data[at : at + chance.randrange(200)] = chance.randbytes(chance.randrange(200))
        log.write_bytes(data)
    assert listed(path)[0] in (CLEAN, FINDINGS)
    whole = listed.rows
    for count in (1, 2, 7, 29, 31, 55):
        status, _ = listed("--tail", count, path)
        damaged = _assert_ends(listed.rows, whole, count)
        assert status == (FINDINGS if listed.err else CLEAN) and (listed.err or not damaged)


def _assert_ends(rows: list[dict[str, Any]], whole: list[dict[str, Any]], count: int) -> int:
    """These rows are a tail of all; how many of them are damaged: each is a batch, or a range that is not counted."""
    damaged = [row["status"] for row in rows].count("damaged")
    assert rows == whole[len(whole) - len(rows) :]
    assert len(rows) - damaged <= count <= len(rows) or rows == whole
    return damaged


def _odd(offset: int, codec: Codec) -> bytes:
    return batch(records=[record(value=b"v")] * 3, base_offset=offset, codec=codec, trailing=b"x")


@each("stretch", [1, 1 << 20])
def test_a_tail_has_as_many_rows_as_are_asked_for_whatever_headers_claim(tmp_path: Path, listed: Lister, stretch: int) -> None:
    path = write_log(tmp_path, _batch(0), _odd(1, "gzip"), _batch(4, 2), _odd(6, "none"), _batch(9))
    whole = [0, None, 4, 5, 6, 7, None, 9]  # none can be read of a batch that is compressed
    with kernels.reading_with(kernels.in_windows(stretch)):
        assert listed("--deep", path) == (FINDINGS, whole)
        for count in range(1, 10):
            assert listed("--deep", "--tail", count, path)[1] == whole[-count:]


@each("offset, last, file", [(0, 2, 0), (31, 32, 0), (59, 59, 0), (60, 61, 60), (99, 99, 60)])
def test_an_offset_is_shown_by_its_batch_or_record(partition: Path, listed: Lister, offset: int, last: int, file: int) -> None:
    assert (listed("--offset", offset, partition), listed.err) == ((CLEAN, [last]), "")
    assert listed.rows[0]["file"] == str(partition / file_name(file, ".log"))
    assert (listed("--deep", "--offset", offset, partition), listed.err) == ((CLEAN, [offset]), "")


NEXT = file_name(20, ".log")
GAP = "the cleaner leaves such gaps in a compacted topic; in any other topic, records are missing"


@each(
    "offset, file, words",
    [
        (2, 5, "the log starts at offset 5; earlier records were deleted, or never existed"),
        (8, 5, f"the one at byte {SIZE} ends at offset 6, and the next one, at byte {2 * SIZE}, starts at 9; {GAP}"),
        (15, 5, f"in this segment the last batch, at byte {2 * SIZE}, ends at 9, and the next one, {NEXT}, starts at 20; {GAP}"),
        (20, 20, f"the segment's name says 20, and its first batch, at byte 0, starts at offset 22; {GAP}"),
        (30, 20, "the last batch, at byte 0, ends at 22, and there is no later segment"),
    ],
)
def test_what_is_around_a_missing_offset_is_reported(tmp_path: Path, listed: Lister, offset: int, file: int, words: str) -> None:
    path = files.write_partition(tmp_path, segments={5: [_batch(5), _batch(6), _batch(9)], 20: [_batch(22)]})
    assert listed("--offset", offset, path) == (CLEAN, [])
    assert listed.err == f"kdump: {path / file_name(file, '.log')}: no batch has offset {offset}: {words}\n"
    (path / file_name(40, ".log")).mkdir()  # what cannot be read may have it
    assert listed("--offset", offset, path)[0] == NOT_EXAMINED


@each(
    "offset, file",
    [(3, 50), (10, 50), (41, 20), (60, 20), (9, 50), (8, None), (30, None), (51, None), (70, None), (45, 70), (2, 70)],
)
def test_an_offset_in_a_segment_of_another_name_is_found(tmp_path: Path, listed: Lister, offset: int, file: int | None) -> None:
    """The last segment was renamed, and one before it goes on after the start of the next; the last of all begins too late,
    and has two batches of earlier segments in the middle."""
    misnamed = message_set(messages=[message()], base_offset=3), wrapper(messages=[message(value=b"v")] * 2, base_offset=9)
    segments = {
        20: [_batch(20), _batch(41), _batch(60)],
        40: [_batch(40)],
        50: list(misnamed),
        70: [*map(_batch, (71, 45, 2, 72))],
    }
    path = files.write_partition(tmp_path, segments=segments)
    status, rows = listed("--deep", "--offset", offset, path)
    assert (status, rows) == (CLEAN, [] if file is None else [offset])
    elsewhere = f"offset {offset} is here; by the names of the segments, it is in another one"
    assert (elsewhere in listed.err, f"no batch has offset {offset}" in listed.err) == (file is not None, file is None)
    assert listed.err.count("kdump: ") == 1


@each("codec", ["none", "lz4"])
def test_a_record_that_its_batch_does_not_claim_is_shown(codec: Codec, tmp_path: Path, listed: Lister) -> None:
    records = [record(key=b"key", value=b"value")] * 4
    data = b"".join(batch(base_offset=base, records=records, last_offset_delta=0, codec=codec) for base in (3, 7))
    write_log(tmp_path, _batch(0), data)
    for offset, position in ((5, SIZE), (9, SIZE + len(data) // 2)):
        assert (listed("--offset", offset, tmp_path)[0], [row["position"] for row in listed.rows]) == (CLEAN, [position])
        assert f"byte {position} does not claim offset {offset}, but a record in it has this offset" in listed.err
        assert listed("--deep", "--offset", offset, tmp_path) == (CLEAN, [offset])
    for offset in (2, 11):
        assert listed("--offset", offset, tmp_path) == (CLEAN, [])
        assert f"no batch has offset {offset}: " in listed.err
    for offset, delta in ((18, -2), (25, 5)):  # outside of the batch
        odd = batch(base_offset=20, records=[record(), record(offset_delta=delta), record()], last_offset_delta=2)
        assert listed("--deep", "--offset", offset, write_log(tmp_path, _batch(0), odd, _batch(40))) == (CLEAN, [offset])
        assert f"byte {SIZE} does not claim offset {offset}" in listed.err


CRC = f", byte {SIZE}: the CRC of a record batch does not match (crc-mismatch)\n"


def _lost(offset: int) -> str:
    return f": offset {offset} is in no readable batch; it may be in a damaged one\n"


REGION = "garbage-region, 180 bytes"
TOO_HIGH = [*map(_batch, (0, 1_000, 2_000, 3_000, *range(4, 100)))]
THINNED = batch(records=[record(value=b"v", offset_delta=delta) for delta in (0, 2)], last_offset_delta=2)
TAKEN = f": the batch at byte 0 has offsets 0 to 2, but no record with offset 1: {GAP}\n"
UNREADABLE = _flipped(batch(records=[record(value=b"a", length=-1)] * 3, base_offset=2))


@each(
    "what, pieces, options, found, words",  # of each line of stderr, None where they are not compared
    [
        ("in a damaged range", [_batch(0), NOISE, _batch(5)], "--offset 3", (FINDINGS, [None]), [REGION, _lost(3)]),
        ("after a damaged range", [_batch(0), NOISE, _batch(5)], "--offset 5", (CLEAN, [5]), []),
        ("in a damaged batch", [_batch(0), _flipped(_batch(1)), _batch(2)], "--offset 1", (FINDINGS, [1]), [CRC]),
        ("after a damaged batch", [_batch(0), _flipped(_batch(1)), _batch(2)], "--offset 2", (CLEAN, [2]), []),
        (
            "before the gap",
            [_flipped(_batch(0)), _batch(1), _batch(5)],
            "--offset 3",
            (CLEAN, []),
            ["the cleaner leaves such gaps"],
        ),
        *(
            ("beside the gap", [_batch(0), _flipped(_batch(1)), _batch(5)], f"--offset {n}", (FINDINGS, []), [CRC, _lost(n)])
            for n in (2, 3, 4)
        ),
        ("out of line", [_batch(0), NOISE, _batch(100), _batch(5)], "--offset 5", (FINDINGS, [None, 5]), [REGION]),
        *(("after too high base offsets", TOO_HIGH, f"--offset {n}", (CLEAN, [n]), None) for n in (4, 50, 99)),
        ("taken by a cleaner", [THINNED], "--offset 1 --deep", (CLEAN, []), [TAKEN]),
        ("before a tail inside of a batch", [NOISE, _batch(0, 3), _batch(3)], "--deep --tail 3", (CLEAN, [1, 2, 3]), []),
        ("unreadable records are a row", [_batch(0), _batch(1), UNREADABLE], "--deep --tail 1", (FINDINGS, [None]), None),
        ("and one before them", [_batch(0), _batch(1), UNREADABLE], "--deep --tail 2", (FINDINGS, [1, None]), None),
    ],
)
def test_damage_around_an_offset_may_have_held_it_and_is_no_part_of_a_later_tail(
    tmp_path: Path, listed: Lister, what: str, pieces: list[bytes], options: str, found: Found, words: list[str] | None
) -> None:
    path = write_log(tmp_path, *pieces)
    assert listed(*options.split(), path) == found, what
    lines = listed.err.splitlines(keepends=True)
    expected = [""] * len(lines) if words is None else words
    assert len(lines) == len(expected), what
    assert all(line.startswith(f"kdump: {path}") and word in line for line, word in zip(lines, expected, strict=True))
    if what == "in a damaged batch":
        assert listed.statuses == [(1, "damaged")]


@each(
    "options",
    [
        *("--tail 1 --limit 1", "--tail 1 --from-offset 1", "--tail 1 --offset 1", "--tail 0"),
        *("--offset 1 --to-time 2026-01-01", "--offset 1 --from-position 5"),
    ],
)
def test_a_tail_or_an_offset_is_all_that_is_requested(partition: Path, listed: Lister, options: str) -> None:
    assert listed(*options.split(), partition)[0] == USAGE


def test_a_segment_that_starts_at_the_offset_after_the_base_is_the_next_one(tmp_path: Path, listed: Lister) -> None:
    path = files.write_partition(tmp_path, segments={5: [], 6: [_batch(9)], 20: [_batch(20)]}) / file_name(5, ".log")
    assert listed("--offset", 5, path) == (CLEAN, [])
    assert f"the next one, {file_name(6, '.log')}, starts at 6; " in listed.err
