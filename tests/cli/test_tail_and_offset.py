"""`kdump log --tail N` and `--offset N`: the end of a log, the batch of one offset, and what lies around where there is none."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kdump.cli.commands import main
from tests import kernels
from tests.builders import files
from tests.builders.compression import Codec, compress
from tests.builders.files import file_name
from tests.builders.records import batch, message, message_set, record, wrapper

CLEAN, FINDINGS, USAGE, NOT_EXAMINED = range(4)
LOG = file_name(0, ".log")


class Lister:
    """Runs `kdump log` in this process; the offsets of rows, None for what is damaged."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.err = ""
        self.rows: list[dict[str, Any]] = []

    def __call__(self, *arguments: str | int | Path) -> int:
        self._capfd.readouterr()
        status = main(["log", "--output", "ndjson", *map(str, arguments)])
        out, self.err = self._capfd.readouterr()
        self.rows = [json.loads(line) for line in out.splitlines()]
        return status

    @property
    def offsets(self) -> list[int | None]:
        return [row.get("offset", row.get("lastOffset")) for row in self.rows]


@pytest.fixture
def listed(capfd: pytest.CaptureFixture[str]) -> Lister:
    return Lister(capfd)


def _batch(offset: int, count: int = 1) -> bytes:
    return batch(records=[record(key=b"key", value=b"value")] * count, base_offset=offset)


SIZE = len(_batch(0))


def _flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Two segments, offsets 0 to 59 and 60 to 99: twenty batches of three records, and twenty of two."""
    return files.write_partition(
        tmp_path,
        segments={0: [_batch(3 * n, 3) for n in range(20)], 60: [_batch(60 + 2 * n, 2) for n in range(20)]},
        index_interval_bytes=200,
        segment_index_bytes=1 << 10,
    )


# --- the end of a log


@pytest.mark.parametrize(
    ("count", "offsets"),
    [
        (1, [99]),
        (3, [95, 97, 99]),
        (20, list(range(61, 100, 2))),
        (21, [59, *range(61, 100, 2)]),
        (40, [*range(2, 60, 3), *range(61, 100, 2)]),
        (1000, [*range(2, 60, 3), *range(61, 100, 2)]),
    ],
)
@pytest.mark.parametrize("has_index", [True, False])
def test_a_tail_is_the_last_batches_of_all_segments(
    partition: Path, listed: Lister, count: int, offsets: list[int], has_index: bool
) -> None:
    if not has_index:
        for path in partition.glob("*.index"):
            path.unlink()
    assert listed("--tail", count, partition) == CLEAN
    assert (listed.offsets, listed.err) == (offsets, "")


@pytest.mark.parametrize("count", [1, 2, 3, 5, 39, 40, 41, 43, 44, 99, 100, 101])
def test_a_tail_of_records_begins_inside_of_a_batch(partition: Path, listed: Lister, count: int) -> None:
    assert listed("--deep", "--tail", count, partition) == CLEAN
    assert listed.offsets == list(range(max(0, 100 - count), 100))


def test_each_partition_has_its_own_tail(tmp_path: Path, listed: Lister) -> None:
    for number in (0, 1):
        files.write_partition(tmp_path, topic="a", partition=number, segments={0: [_batch(n) for n in range(number, 5 + number)]})
    assert listed("--tail", 2, tmp_path) == CLEAN
    assert listed.offsets == [3, 4, 4, 5]


def test_old_messages_inside_of_wrappers_are_counted(tmp_path: Path, listed: Lister) -> None:
    path = tmp_path / LOG
    plain = message_set(messages=[message(value=b"v")] * 4)
    path.write_bytes(
        plain + wrapper(messages=[message(value=b"v")] * 4, base_offset=4) + message_set(messages=[message()], base_offset=8)
    )
    for count in range(1, 10):
        assert listed("--deep", "--tail", count, path) == CLEAN
        assert listed.offsets == list(range(9 - count, 9))


@pytest.mark.parametrize("count", [1, 4])
def test_damage_in_a_tail_is_a_finding_and_damage_before_it_is_not(partition: Path, listed: Lister, count: int) -> None:
    path = partition / file_name(60, ".log")
    data = bytearray(path.read_bytes())
    size = len(data) // 20
    data[17 * size - 1] ^= 1  # the fourth batch from the end
    path.write_bytes(data)
    assert listed("--tail", count, partition) == (FINDINGS if count == 4 else CLEAN)
    assert [(row["lastOffset"], row["status"]) for row in listed.rows] == (
        [(93, "damaged"), (95, "intact"), (97, "intact"), (99, "intact")] if count == 4 else [(99, "intact")]
    )


def test_what_cannot_be_read_at_the_end_is_reported_beside_the_last_batches(partition: Path, listed: Lister) -> None:
    path = partition / file_name(60, ".log")
    size = path.stat().st_size // 20
    with path.open("rb+") as file:
        file.truncate(19 * size + 70)
    assert listed("--tail", 2, partition) == FINDINGS
    assert listed.offsets == [95, 97, None]
    assert "(torn-tail, 70 bytes)" in listed.err


def test_a_segment_of_which_nothing_can_be_read_is_reported_and_those_before_are_listed(partition: Path, listed: Lister) -> None:
    (partition / file_name(60, ".log")).write_bytes(b"no log " * 40)
    assert listed("--tail", 2, partition) == FINDINGS
    assert listed.offsets == [56, 59, None]
    assert "(garbage-region, 280 bytes)" in listed.err


def test_a_segment_that_is_not_a_file_is_not_examined(partition: Path, listed: Lister) -> None:
    path = partition / file_name(60, ".log")
    path.unlink()
    path.mkdir()
    assert listed("--tail", 1, partition) == NOT_EXAMINED
    assert listed.offsets == [59]


@pytest.mark.parametrize("position", [SIZE, 2 * SIZE + 7])
def test_an_index_that_lies_hides_nothing(tmp_path: Path, listed: Lister, position: int) -> None:
    path = files.write_partition(tmp_path, segments={0: [_batch(n) for n in range(10)]})
    (path / file_name(0, ".index")).write_bytes(files.offset_index(entries=[(9, position)]))
    assert listed("--tail", 9, path) == CLEAN
    assert listed.offsets == list(range(1, 10))


@pytest.mark.parametrize("gap", [False, True])
def test_an_index_hides_no_batch_that_is_in_the_wrong_place(tmp_path: Path, listed: Lister, gap: bool) -> None:
    """The pages of batches 10 to 19 and 60 to 69 change places; the index of before knows where those between them are."""
    batches = [_batch(n) for n in range(100)]
    path = files.write_partition(tmp_path, segments={0: batches}, index_interval_bytes=3 * SIZE)
    swapped = batches[:10] + batches[60:70] + batches[20:60] + batches[10:20] + batches[70:]
    if gap:
        del swapped[65:68]
    (path / LOG).write_bytes(b"".join(swapped))
    here = sorted(swapped)
    for first, last in ((5, 9), (12, 14), (25, 40), (55, 65), (62, 62), (63, 75), (75, 80), (65, 99)):
        asked = [n for n in range(first, last + 1) if batches[n] in here]
        listed("--from-offset", first, "--to-offset", last, path)
        assert sorted(offset for offset in listed.offsets if offset is not None) == asked
        listed("--from-offset", first, path)
        assert {offset for offset in listed.offsets if offset is not None} >= set(asked)
    listed("--offset", 64, path)
    assert listed.offsets == [64]


def test_an_offset_is_found_after_batches_whose_base_offsets_are_too_high(tmp_path: Path, listed: Lister) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"".join(map(_batch, (0, 1_000, 2_000, 3_000, *range(4, 100)))))
    for offset in (4, 50, 99):
        listed("--offset", offset, path)
        assert listed.offsets == [offset]


@pytest.mark.parametrize("wrong", [[3], [3, 4], [3, 4, 5]])
def test_an_offset_is_found_after_wrappers_whose_offsets_are_too_high(wrong: list[int], tmp_path: Path, listed: Lister) -> None:
    wrappers = [wrapper(messages=[message(value=b"v")] * 5, magic=1, base_offset=5 * row) for row in range(20)]
    for row in wrong:
        wrappers[row] = (100_000 + 5 * row + 4).to_bytes(8, "big") + wrappers[row][8:]
    path = tmp_path / LOG
    path.write_bytes(b"".join(wrappers))
    for row in (2, 6, 19):
        for options in ((), ("--deep",)):
            listed("--offset", 5 * row + 2, *options, path)
            assert listed.offsets == [5 * row + (2 if options else 4)], row
    listed("--offset", 100_000 + 5 * wrong[-1] + 1, path)
    assert listed.offsets == [100_000 + 5 * wrong[-1] + 4]


@pytest.mark.parametrize("seed", range(40))
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
    assert listed(path) in (CLEAN, FINDINGS)
    whole = listed.rows
    for count in (1, 2, 7, 29, 31, 55):
        status = listed("--tail", count, path)
        damaged = sum(row["status"] == "damaged" for row in listed.rows)
        assert listed.rows == whole[-len(listed.rows) :]
        # a damaged row is a batch, or a range that is not counted
        assert len(listed.rows) - damaged <= count <= len(listed.rows) or listed.rows == whole
        assert status == (FINDINGS if listed.err else CLEAN) and (listed.err or not damaged)


def test_what_is_found_after_damage_has_the_status_that_the_whole_log_gives_it(tmp_path: Path, listed: Lister) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"".join(map(_batch, range(7))) + b"no batch " * 20 + _batch(8) + _batch(9))
    (tmp_path / file_name(0, ".index")).write_bytes(files.offset_index(entries=[(8, 7 * SIZE + 180)]))
    assert listed("--tail", 2, path) == CLEAN
    assert [(row["lastOffset"], row["status"]) for row in listed.rows] == [(8, "salvaged"), (9, "intact")]


def test_a_batch_whose_records_cannot_be_read_is_one_row_of_a_tail(tmp_path: Path, listed: Lister) -> None:
    unreadable = _flipped(batch(records=[record(value=b"a", length=-1)] * 3, base_offset=2))
    path = tmp_path / LOG
    path.write_bytes(_batch(0) + _batch(1) + unreadable)
    for count, offsets in ((1, [None]), (2, [1, None])):
        assert listed("--deep", "--tail", count, path) == FINDINGS
        assert listed.offsets == offsets


def _odd(offset: int, codec: Codec) -> bytes:
    return batch(records=[record(value=b"v")] * 3, base_offset=offset, codec=codec, trailing=b"x")


@pytest.mark.parametrize("stretch", [1, 1 << 20])
def test_a_tail_has_as_many_rows_as_are_asked_for_whatever_headers_claim(tmp_path: Path, listed: Lister, stretch: int) -> None:
    path = tmp_path / LOG
    path.write_bytes(_batch(0) + _odd(1, "gzip") + _batch(4, 2) + _odd(6, "none") + _batch(9))
    whole = [0, None, 4, 5, 6, 7, None, 9]  # none can be read of a batch that is compressed
    with kernels.reading_with(kernels.in_windows(stretch)):
        assert listed("--deep", path) == FINDINGS
        assert listed.offsets == whole
        for count in range(1, 10):
            listed("--deep", "--tail", count, path)
            assert listed.offsets == whole[-count:]


def test_damage_before_a_tail_that_begins_inside_of_a_batch_is_not_in_it(tmp_path: Path, listed: Lister) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"no batch " * 20 + _batch(0, 3) + _batch(3))
    assert listed("--deep", "--tail", 3, path) == CLEAN
    assert (listed.offsets, listed.err) == ([1, 2, 3], "")


# --- one offset


@pytest.mark.parametrize(("offset", "last", "file"), [(0, 2, 0), (31, 32, 0), (59, 59, 0), (60, 61, 60), (99, 99, 60)])
def test_an_offset_is_shown_by_its_batch_or_record(partition: Path, listed: Lister, offset: int, last: int, file: int) -> None:
    assert listed("--offset", offset, partition) == CLEAN
    assert (listed.offsets, listed.err) == ([last], "")
    assert listed.rows[0]["file"] == str(partition / file_name(file, ".log"))
    assert listed("--deep", "--offset", offset, partition) == CLEAN
    assert (listed.offsets, listed.err) == ([offset], "")


NEXT = file_name(20, ".log")
GAP = "the cleaner leaves such gaps in a compacted topic; in any other topic, records are missing"


@pytest.mark.parametrize(
    ("offset", "file", "words"),
    [
        (2, 5, "the log starts at offset 5; earlier records were deleted, or never existed"),
        (8, 5, f"the one at byte {SIZE} ends at offset 6, and the next one, at byte {2 * SIZE}, starts at 9; {GAP}"),
        (15, 5, f"in this segment the last batch, at byte {2 * SIZE}, ends at 9, and the next one, {NEXT}, starts at 20; {GAP}"),
        (20, 20, f"the segment's name says 20, and its first batch, at byte 0, starts at offset 22; {GAP}"),
        (30, 20, "the last batch, at byte 0, ends at 22, and there is no later segment"),
    ],
)
def test_what_lies_around_an_offset_that_is_not_there_is_reported(
    tmp_path: Path, listed: Lister, offset: int, file: int, words: str
) -> None:
    path = files.write_partition(tmp_path, segments={5: [_batch(5), _batch(6), _batch(9)], 20: [_batch(22)]})
    assert listed("--offset", offset, path) == CLEAN
    assert listed.rows == []
    assert listed.err == f"kdump: {path / file_name(file, '.log')}: no batch has offset {offset}: {words}\n"


def test_a_record_that_a_cleaner_took_is_missing_in_its_batch(tmp_path: Path, listed: Lister) -> None:
    data = batch(records=[record(value=b"v", offset_delta=0), record(value=b"v", offset_delta=2)], last_offset_delta=2)
    path = files.write_partition(tmp_path, segments={0: [data]})
    assert listed("--offset", 1, "--deep", path) == CLEAN
    assert listed.rows == []
    assert listed.err.endswith(f": the batch at byte 0 has offsets 0 to 2, but no record with offset 1: {GAP}\n")


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_record_that_its_batch_does_not_claim_is_shown(codec: Codec, tmp_path: Path, listed: Lister) -> None:
    records = [record(key=b"key", value=b"value")] * 4
    data = b"".join(batch(base_offset=base, records=records, last_offset_delta=0, codec=codec) for base in (3, 7))
    (tmp_path / LOG).write_bytes(_batch(0) + data)
    for offset, position in ((5, SIZE), (9, SIZE + len(data) // 2)):
        assert (listed("--offset", offset, tmp_path), [row["position"] for row in listed.rows]) == (CLEAN, [position])
        assert f"byte {position} does not claim offset {offset}, but a record in it has this offset" in listed.err
        assert (listed("--deep", "--offset", offset, tmp_path), listed.offsets) == (CLEAN, [offset])
    for offset in (2, 11):
        assert (listed("--offset", offset, tmp_path), listed.rows) == (CLEAN, [])
        assert f"no batch has offset {offset}: " in listed.err


@pytest.mark.parametrize(("offset", "delta"), [(18, -2), (25, 5)])
def test_a_record_outside_of_its_batch_is_shown(offset: int, delta: int, tmp_path: Path, listed: Lister) -> None:
    odd = batch(base_offset=20, records=[record(), record(offset_delta=delta), record()], last_offset_delta=2)
    (tmp_path / LOG).write_bytes(_batch(0) + odd + _batch(40))
    assert (listed("--deep", "--offset", offset, tmp_path), listed.offsets) == (CLEAN, [offset])
    assert f"byte {SIZE} does not claim offset {offset}" in listed.err


def test_an_offset_in_a_damaged_range_may_have_been_there(tmp_path: Path, listed: Lister) -> None:
    path = tmp_path / LOG
    path.write_bytes(_batch(0) + b"x" * 100 + _batch(5))
    assert listed("--offset", 3, path) == FINDINGS
    assert listed.offsets == [None]
    assert "garbage-region, 100 bytes" in listed.err
    assert listed.err.endswith(": offset 3 is in no readable batch; it may be in a damaged one\n")
    assert listed("--offset", 5, path) == CLEAN
    assert listed.offsets == [5]


def test_an_offset_in_a_damaged_batch_is_shown_and_a_finding(tmp_path: Path, listed: Lister) -> None:
    path = files.write_partition(tmp_path, segments={0: [_batch(0), _flipped(_batch(1)), _batch(2)]})
    assert listed("--offset", 1, path) == FINDINGS
    assert [(row["lastOffset"], row["status"]) for row in listed.rows] == [(1, "damaged")]
    assert listed("--offset", 2, path) == CLEAN


@pytest.mark.parametrize("offset", [2, 3, 4])
def test_a_damaged_batch_beside_a_gap_may_have_held_what_is_missing(tmp_path: Path, listed: Lister, offset: int) -> None:
    path = tmp_path / LOG
    path.write_bytes(_batch(0) + _flipped(_batch(1)) + _batch(5))
    assert listed("--offset", offset, path) == FINDINGS
    assert listed.rows == []
    assert listed.err.splitlines() == [
        f"kdump: {path}, byte {SIZE}: the CRC of a record batch does not match (crc-mismatch)",
        f"kdump: {path}: offset {offset} is in no readable batch; it may be in a damaged one",
    ]


def test_a_damaged_batch_before_those_around_a_gap_is_not_requested(tmp_path: Path, listed: Lister) -> None:
    path = tmp_path / LOG
    path.write_bytes(_flipped(_batch(0)) + _batch(1) + _batch(5))
    assert listed("--offset", 3, path) == CLEAN
    assert "the cleaner leaves such gaps" in listed.err


def test_a_batch_after_damage_that_is_out_of_line_does_not_end_the_search(tmp_path: Path, listed: Lister) -> None:
    path = tmp_path / LOG
    path.write_bytes(_batch(0) + b"no batch " * 20 + _batch(100) + _batch(5) + _batch(6))
    listed("--offset", 5, path)
    assert 5 in listed.offsets


def test_an_offset_inside_of_a_wrapper_is_found(tmp_path: Path, listed: Lister) -> None:
    path = tmp_path / LOG
    path.write_bytes(message_set(messages=[message()] * 3) + wrapper(messages=[message()] * 3, base_offset=3))
    for offset in range(6):
        assert listed("--deep", "--offset", offset, path) == CLEAN
        assert (listed.offsets, listed.err) == ([offset], "")


@pytest.mark.parametrize(
    "options",
    [
        ["--tail", 1, "--limit", 1],
        ["--tail", 1, "--from-offset", 1],
        ["--tail", 1, "--offset", 1],
        ["--offset", 1, "--to-time", "2026-01-01"],
        ["--offset", 1, "--from-position", 5],
        ["--tail", 0],
    ],
)
def test_a_tail_or_an_offset_is_all_that_is_requested(partition: Path, listed: Lister, options: list[Any]) -> None:
    assert listed(*options, partition) == USAGE


@pytest.mark.parametrize("options", [(), ("--deep",)], ids=["batches", "records"])
def test_a_tail_is_the_end_of_the_listing_whatever_is_damaged(tmp_path: Path, listed: Lister, options: tuple[str, ...]) -> None:
    """Damage, batches without records or with unreadable ones, in any order."""
    chance = random.Random(28)
    torn = batch(records=[record(value=b"v"), b"\xff"])
    for number in range(12):
        parts = []
        for offset in range(0, 400, 10):
            kind = chance.choice(("sound", "sound", "flipped", "garbage", "empty", "empty", "torn", "cut"))
            parts += {
                "sound": [_batch(offset, chance.choice((1, 2, 9)))],
                "flipped": [_flipped(_batch(offset, 2))],
                "garbage": [chance.randbytes(chance.choice((1, 30, 200)))],
                "empty": [batch(base_offset=offset)] * chance.choice((1, 3)),
                "torn": [torn],
                "cut": [
                    batch(
                        records=[record(value=b"v" * 40)] * 3,
                        codec="gzip",
                        compressor=lambda body: compress(body, codec="gzip")[:-9],
                    )
                ],
            }[kind]
        folder = tmp_path / f"t-{number}"
        folder.mkdir()
        path = folder / LOG
        path.write_bytes(b"".join(parts))
        listed(*options, path)
        whole = listed.rows
        for count in (1, 2, 5, 30, 1000):
            listed(*options, "--tail", count, path)
            damaged = sum(row["status"] == "damaged" for row in listed.rows)
            assert listed.rows == whole[len(whole) - len(listed.rows) :]
            # a damaged row is a batch, or a range that is not counted
            assert len(listed.rows) - damaged <= count <= len(listed.rows) or listed.rows == whole
