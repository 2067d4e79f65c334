"""What checks say of the bytes of a segment: ends that are torn, lengths and checksums that are wrong, ranges without batches."""

import os
import struct
from pathlib import Path
from typing import Any

import pytest

from kdump.checks.finding import Finding
from kdump.cli.commands import main
from tests.builders.files import checkpoint, file_name, write_partition
from tests.builders.files import offset_index as index_of
from tests.builders.files import time_index as time_index_of
from tests.builders.fleets import flipped
from tests.builders.records import TIMESTAMP, batch, message, message_set, record
from tests.checks.faults.case import NOW
from tests.checks.findings import INDEX, LOG, TIME_INDEX, codes_of, findings_of, of_log, told
from tests.checks.test_check_rules import SIZE, _batch, _log
from tests.loops import each

pytestmark = pytest.mark.usefixtures("window")


def _with(data: bytes, position: int, new: bytes) -> bytes:
    return data[:position] + new + data[position + len(new) :]


def _partition(tmp_path: Path, segments: dict[int, list[bytes]], **others: object) -> Path:
    return write_partition(tmp_path, topic="orders", partition=3, segments=segments, index_interval_bytes=0, **others)  # type: ignore[arg-type]


def _write(path: Path, data: bytes, *, age_ms: int = 3_600_000) -> None:
    """A file that was last written to so long before NOW."""
    path.write_bytes(data)
    os.utime(path, ns=((NOW - age_ms) * 1_000_000,) * 2)


def _of_aged_log(folder: Path, *pieces: bytes) -> list[Finding]:
    """What is found in a log alone that was written an hour before NOW."""
    _write(folder / LOG, b"".join(pieces))
    return findings_of(folder / LOG)


# --- torn ends


@each(
    ("end", "code"),
    [(_batch(1)[:-5], "torn-tail"), (_batch(1)[:9], "torn-header"), (bytes(99), "zero-tail")],
    ids=["torn", "torn header", "zeros"],
)
def test_a_torn_end_of_a_sealed_segment_is_an_error_and_lacks_all_up_to_the_next(tmp_path: Path, end: bytes, code: str) -> None:
    directory = _partition(tmp_path, {0: [_batch(0), _batch(1), _batch(2), _batch(3)], 4: [_batch(4)]})
    _write(directory / LOG, _batch(0) + end, age_ms=0)
    (found,) = findings_of(directory, code)
    assert (found.severity, found.offset_first, found.offset_last) == ("error", 1, 3)


@each(
    ("end", "code", "lost"),
    [
        *((_log(2, 3)[:-5], "torn-tail", (3, 3)), (_log(2, 3)[: SIZE + 9], "torn-header", (3, 3))),
        *((_log(2) + bytes(99), "zero-tail", (3, 3)), (_log(2, 3) + _batch(4)[:-5], "torn-tail", None)),
    ],
    ids=["torn", "torn header", "zeros", "known of by none"],
)
@each("age_ms", [0, 3_600_000])
def test_a_torn_end_is_an_error_if_indexes_know_of_more(tmp_path: Path, end: bytes, code: str, lost: Any, age_ms: int) -> None:
    directory = _partition(tmp_path, {0: [_batch(0), _batch(1)], 2: [_batch(2), _batch(3)]})
    _write(directory / file_name(2, ".log"), end, age_ms=age_ms)
    (found,) = findings_of(directory, code)
    if lost is None:
        assert found.severity != "error"
        return
    assert (found.severity, found.offset_first, found.offset_last) == ("error", *lost)
    assert found.message.endswith(f" Lost: offset 3, for {file_name(2, '.index')} knows of it.")


@each(("cut", "whole"), [(1, 2), (9, 2), (10, 1), (18, 1), (19, 0), (27, 0)])
def test_the_whole_records_of_a_torn_batch_are_counted(tmp_path: Path, cut: int, whole: int) -> None:
    torn = batch(records=[record(value=b"v1"), record(value=b"v2"), record(value=b"v3")], base_offset=1)
    assert len(torn) == 61 + 27
    (found,) = _of_aged_log(tmp_path, _batch(0), torn[:-cut])
    assert found.message.endswith(f"{cut} of them are missing. Whole and salvageable: {whole} of 3 records.")
    assert (found.offset_first, found.offset_last) == (1, 3)


def test_the_whole_records_of_a_torn_batch_are_counted_over_all_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdump.checks.rules.framing.damaged_ranges.WINDOW_SIZE", 100)
    torn = batch(records=[record(value=b"v" * 20)] * 50, base_offset=1)[:-30]
    (found,) = _of_aged_log(tmp_path, _batch(0), torn)
    assert found.message.endswith(" Whole and salvageable: 48 of 50 records.")


def test_of_a_torn_compressed_batch_no_record_is_whole(tmp_path: Path) -> None:
    torn = batch(records=[record(value=b"v" * 200)], base_offset=1, codec="gzip")
    (found,) = _of_aged_log(tmp_path, _batch(0), torn[:-1])
    assert found.message == f"The last batch, offset 1, says it is {len(torn)} bytes long; 1 of them are missing."


@each(("count", "code"), [(8, "torn-header"), (17, "torn-header"), (18, "torn-tail"), (60, "torn-tail")])
def test_an_end_is_torn_in_the_header_or_after_it(tmp_path: Path, count: int, code: str) -> None:
    (found,) = _of_aged_log(tmp_path, _batch(0), _batch(1)[:count])
    assert (found.code, found.start, found.end, found.skipped) == (code, SIZE, SIZE + count, count)


# --- zeros at the end


@each(("size", "severity"), [*((size, "warning") for size in (4096, 1 << 20, 257 << 12)), (4095, "error"), (SIZE + 1, "error")])
def test_zeros_at_the_end_of_a_log_alone_are_valid_where_it_ends_with_a_page(tmp_path: Path, size: int, severity: str) -> None:
    (found,) = _of_aged_log(tmp_path, _batch(0).ljust(size, b"\0"))
    assert told([found]) == [("zero-tail", severity, SIZE, size, (None, None))]
    zeros = size - SIZE
    whole = " The file is 1 MiB exactly: it looks preallocated." if size == 1 << 20 else ""
    assert found.message == f"The last {'byte of the file is' if zeros == 1 else f'{zeros:,} bytes of the file are'} zero.{whole}"


# --- ends that are cut between batches


def _cut_partition(tmp_path: Path, *, index: bytes | None = None, times: bytes | None = None, snapshot: int = 0) -> Path:
    directory = _partition(tmp_path, {0: [_batch(0), _batch(1)]}, producer_snapshots={snapshot: []} if snapshot else {})
    for name, data in ((INDEX, index), (TIME_INDEX, times)):
        if data is not None:
            (directory / name).write_bytes(data)
    _write(directory / LOG, _log(0, 1))
    return directory


@each(
    ("files", "attested", "names"),
    [
        *(({"index": index_of(entries=[(1, position)])}, None, "") for position in (SIZE, 2 * SIZE - 1)),
        ({"index": index_of(entries=[(1, 2 * SIZE)])}, 2, f"{INDEX} knows"),  # where a batch would follow
        ({"index": index_of(entries=[(2, SIZE)])}, 2, f"{INDEX} knows"),
        ({"index": index_of(entries=[(1, SIZE), (7, 9 * SIZE)], zero_entry_count=9)}, 7, f"{INDEX} knows"),
        ({"index": index_of(entries=[(7, 9 * SIZE)], trailing=b"\1\1\1\1")}, 7, f"{INDEX} knows"),
        ({"times": time_index_of(entries=[(TIMESTAMP, 1)])}, None, ""),
        ({"times": time_index_of(entries=[(TIMESTAMP, 2)])}, 2, f"{TIME_INDEX} knows"),
        ({"times": time_index_of(entries=[(1 << 60, 9)])}, None, ""),  # overwritten
        ({"times": time_index_of(entries=[(TIMESTAMP + 1, 1), (TIMESTAMP, 9)])}, None, ""),
        ({"snapshot": 2}, None, ""),
        ({"snapshot": 3}, 2, f"{file_name(3, '.snapshot')} knows"),
        (
            {"index": index_of(entries=[(4, 4 * SIZE)]), "times": time_index_of(entries=[(TIMESTAMP, 6)]), "snapshot": 6},
            6,
            f"{INDEX} and {TIME_INDEX} and {file_name(6, '.snapshot')} know",
        ),
    ],
)
def test_files_beside_a_log_say_how_far_it_went(tmp_path: Path, files: dict[str, Any], attested: int | None, names: str) -> None:
    found = findings_of(_cut_partition(tmp_path, **files), "truncated-at-boundary")
    if attested is None:
        assert found == []
        return
    (one,) = found
    assert told(found) == [("truncated-at-boundary", "error", 2 * SIZE, 2 * SIZE, (2, attested))]
    assert (one.expected, one.found, one.offset_certainty, one.resync) == (str(attested), "1", "estimated", "end")
    assert one.message == (
        f"The file ends after offset 1, at the end of a batch, but {names} of offset {attested}: batches seem to be cut off."
    )


@each(
    ("first", "snapshot", "said"),
    [
        (12, 14, [("uncovered-header-rot", "11", "12")]),  # in the middle of the batch
        (1035, 14, [("uncovered-header-rot", "11", "1035")]),
        *((first, 15, []) for first in (12, 1035)),  # where nothing ends
        *((first, 13, []) for first in (11, 12)),  # there is no room, or no gap
    ],
)
def test_the_last_batch_after_a_gap_ends_where_a_snapshot_says(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], first: int, snapshot: int, said: list[tuple[str, str, str]]
) -> None:
    """It has three records."""
    last = batch(base_offset=first, records=[record(offset_delta=delta) for delta in range(3)])
    directory = _partition(tmp_path, {0: [*map(_batch, range(11)), last]}, producer_snapshots={snapshot: []})
    assert [(one.code, one.expected, one.found) for one in findings_of(directory, "uncovered-header-rot")] == said
    main(["check", str(directory)])
    assert f", offsets 0 to {13 if said else first + 2:,} " in " ".join(capfd.readouterr().out.split())
    (directory / file_name(snapshot, ".snapshot")).unlink()
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", ".kafka_cleanshutdown"):
        (tmp_path / name).write_bytes(checkpoint(entries=[("orders", 3, snapshot)]))
        found = [(one.code, one.expected, one.found) for one in findings_of(directory, "uncovered-header-rot")]
        assert found == (said if first < snapshot or name == ".kafka_cleanshutdown" else [])


def test_a_position_after_the_end_attests_nothing_if_bytes_before_it_are_missing(tmp_path: Path) -> None:
    first = _batch(0, value=bytes(500))
    directory = _cut_partition(tmp_path, index=index_of(entries=[(1, len(first) + SIZE)]))
    _write(directory / LOG, first + _batch(1))
    assert "truncated-at-boundary" in codes_of(findings_of(directory))
    _write(directory / LOG, first[:200] + _batch(1))
    assert "truncated-at-boundary" not in codes_of(findings_of(directory))


def test_damage_hides_batches_that_are_cut_off_only_at_the_end(tmp_path: Path) -> None:
    directory = _cut_partition(tmp_path, index=index_of(entries=[(7, 9 * SIZE)]))
    ends = (_batch(0) + flipped(_batch(1)), _log(0, 1)[:-5], _log(0, 1) + bytes(99))  # told with that
    for data, is_told in ((flipped(_batch(0)) + _batch(1), True), *((data, False) for data in ends)):
        _write(directory / LOG, data)
        assert ("truncated-at-boundary" in codes_of(findings_of(directory))) == is_told


# --- lengths


@each(
    ("length", "code"),
    [
        *((-1, "batch-length-negative"), (0, "batch-length-too-small")),
        *((48, "batch-length-too-small"), (49, "batch-length-mismatch")),
        *((3 * SIZE - 12, "batch-length-mismatch"), (3 * SIZE - 11, "batch-length-absurd")),
    ],
)
def test_a_wrong_length_is_named_by_what_it_says(tmp_path: Path, length: int, code: str) -> None:
    for stated in (1 << 55, 1):  # also where its offset is wrong, too
        data = _with(_log(0, 1, 2, 3), SIZE, struct.pack(">qi", stated, length))
        (found,) = (one for one in of_log(tmp_path, data) if one.code != "uncovered-header-rot")
        assert told([found]) == [(code, "error", SIZE, 2 * SIZE, (1, 1))]
    assert (found.expected, found.found, found.resync, found.skipped) == ("64", str(length), "by-repaired-length", SIZE)
    assert found.message == (
        f"One batch, offset 1. Its length says {length} and should be 64: with that its CRC matches, and its contents are intact."
    )


@each(("magic", "says"), [(3, "Its magic says 3"), (0x7F, "Its magic says 127"), (0xFD, "Magic -3 does not exist")])
def test_a_magic_that_does_not_exist_is_named_whatever_the_length_says(tmp_path: Path, magic: int, says: str) -> None:
    unknown = _with(_batch(1), 16, bytes([magic]))
    for length in (64, -1, 70, 1 << 30):
        (found,) = of_log(tmp_path, _batch(0) + _with(unknown, 8, struct.pack(">i", length)) + _log(2, 3))
        assert told([found]) == [("bad-magic", "error", SIZE, 2 * SIZE, (1, 1))]
        assert found.message.startswith(f"One batch. {says}")
        words = f"length {length:,} instead of 64" if magic < 0x80 else f"length says {length:,} instead of 64"
        if length == 64:
            assert ("length" in found.message, found.resync) == (False, "by-length")
        else:
            assert (words in found.message, found.resync) == (True, "by-repaired-length")
            assert "as magic 2 its CRC matches, so only these two fields are wrong." in found.message


def test_a_magic_that_does_not_exist_is_named_also_in_doubt(tmp_path: Path) -> None:
    unknown = _with(_batch(3), 16, b"\xfd")
    (_, *found) = of_log(tmp_path, _batch(0) + b"garbage" * 9 + _batch(2) + unknown + _batch(4))
    assert [(one.code, one.resync) for one in found] == [("bad-magic", "by-length")]


def test_a_length_past_the_end_of_the_file_does_not_cut_it_off_where_batches_follow(tmp_path: Path) -> None:
    for length in (1 << 20, 1 << 30):
        found, *_ = of_log(tmp_path, _batch(0) + flipped(_with(_batch(1), 8, struct.pack(">i", length))) + _log(2))
        says = f"A record batch says it is {length:,} bytes long, past the end of the file, though batches follow."
        assert (found.code, found.message) == ("batch-length-absurd", f"{says} Missing here: offset 1.")


@each(("magic", "smallest"), [(0, 14), (1, 22)])
def test_a_wrong_length_of_a_message_is_named_by_its_magic(tmp_path: Path, magic: int, smallest: int) -> None:
    for length, code in ((smallest - 1, "batch-length-too-small"), (smallest, "batch-length-mismatch")):
        messages = [message_set(messages=[message(value=b"value", magic=magic)], base_offset=offset) for offset in range(3)]
        messages[1] = _with(messages[1], 8, struct.pack(">i", length))
        (found,) = of_log(tmp_path, *messages)
        assert (found.code, found.found, found.start, found.end) == (code, str(length), len(messages[0]), 2 * len(messages[0]))


# --- checksums


@each("shift", range(4))
def test_a_checksum_that_differs_in_one_byte_is_itself_damaged(tmp_path: Path, shift: int) -> None:
    (found,) = of_log(tmp_path, _batch(0) + flipped(_batch(1), 17 + shift) + _batch(2))
    assert told([found]) == [("crc-mismatch", "error", SIZE, 2 * SIZE, (1, 1))]
    assert found.message.endswith("They differ in one byte: probably the CRC itself is damaged, not the data. Locus: crc-field.")
    good = _batch(1)[17:21].hex()
    assert (found.expected, found.found) == (f"0x{good}", f"0x{flipped(_batch(1), 17 + shift)[17:21].hex()}")
    assert (found.resync, found.skipped) == ("by-length", SIZE)


@each(
    ("position", "value", "locus"),
    [
        (17, flipped(flipped(_batch(1)[17:19], 0)), "payload"),  # two bytes of the checksum
        *((21, value, "header") for value in (b"\x80\0", b"\0\x80")),  # attributes
        *((at, struct.pack(">i", value), "header") for at, value in ((23, -1), (57, -1), (57, 2))),  # last offset delta, count
        (61, b"\x70", "records"),  # length of the first record
        (75, b"\x02", "records"),  # its count of headers
        (70, b"V", "payload"),
        (27, struct.pack(">q", 5), "payload"),  # base timestamp
    ],
)
def test_the_damage_is_looked_for_where_it_shows(tmp_path: Path, position: int, value: bytes, locus: str) -> None:
    (found,) = of_log(tmp_path, _batch(0) + _with(_batch(1), position, value) + _batch(2))
    assert (found.code, found.start, found.end) == ("crc-mismatch", SIZE, 2 * SIZE)
    assert found.message.rpartition(" Locus: ")[2] == f"{locus}."


def test_a_lost_page_and_a_compressed_payload_say_so_themselves(tmp_path: Path) -> None:
    for size, words in ((512, "Zeros from byte 176 on: looks like a lost page. Locus: unknown."), (511, "Locus: payload.")):
        value = b"\1" * 100 + bytes(size) + b"\1" * 100
        one = batch(records=[record(value=b"\1" * (len(value)))])
        data = one.replace(b"\1" * len(value), value[:100] + bytes(size) + value[-100:])
        (found,) = of_log(tmp_path, data + _batch(1))
        start = data.find(bytes(512))
        assert found.message.endswith(words.replace("176", str(start)))
    packed = flipped(batch(records=[record(value=b"v" * 50)], codec="gzip"))
    (found,) = of_log(tmp_path, packed + _batch(1))
    assert found.message.endswith("`kdump log --deep` shows what decodes. Locus: unknown.")


# --- what single headers say


@each("attributes", [0x10, 0x80, 0x100, 0x8000, 0x8001])
def test_attribute_bits_without_meaning_are_reported(tmp_path: Path, attributes: int) -> None:
    producer = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0} if attributes == 0x10 else {}
    odd = batch(records=[record()], base_offset=1, attributes=attributes, **producer)  # type: ignore[arg-type]
    found = [one for one in of_log(tmp_path, _batch(0), odd, _batch(2)) if one.code == "attributes-unknown-bits"]
    is_odd = attributes != 0x10  # which says that a batch is transactional
    assert told(found) == [("attributes-unknown-bits", "warning", SIZE, SIZE + len(odd), (1, 1))] * is_odd
    says = f"One batch, offset 1. Attribute bits 0x{attributes & 0xFF80:04x} have no meaning yet."
    assert [(one.found, one.message) for one in found] == [(f"0x{attributes:04x}", says)] * is_odd


def test_each_change_of_the_magic_is_reported_with_its_direction(tmp_path: Path) -> None:
    def old(offset: int, magic: int) -> bytes:
        return message_set(messages=[message(value=b"v", magic=magic)], base_offset=offset)

    pieces = [old(0, 0), old(1, 0), old(2, 1), _batch(3), _batch(4), old(5, 1), old(6, 0)]
    found = [one for one in of_log(tmp_path, b"".join(pieces), is_pedantic=True) if one.code.startswith("magic-")]
    starts = [sum(map(len, pieces[:row])) for row in range(len(pieces) + 1)]
    assert told(found) == [
        ("magic-upgrade", "info", starts[2], starts[3], (2, 2)),
        ("magic-upgrade", "info", starts[3], starts[4], (3, 3)),
        ("magic-regression", "warning", starts[5], starts[6], (5, 5)),
        ("magic-regression", "warning", starts[6], starts[7], (6, 6)),
    ]
    assert [(one.expected, one.found) for one in found] == [("0", "1"), ("1", "2"), ("2", "1"), ("1", "0")]


@each(
    ("data", "looks"),
    [
        (b"\xff" * 30 + b"a" * 31, "binary data (50 % printable, 1.0 bits a byte)"),
        (b"a" * 61, "text (100 % printable, 0.0 bits a byte)"),
        (bytes(range(256)) * 4, "compressed or encrypted (38 % printable, 8.0 bits a byte)"),
    ],
)
def test_a_file_of_no_kind_is_described_by_what_its_bytes_look_like(tmp_path: Path, data: bytes, looks: str) -> None:
    (found,) = of_log(tmp_path, data)
    assert (found.code, found.found, found.message) == ("not-a-segment", None, f"No batch in the whole file: {looks}.")


# --- ranges without batches


@each(
    ("head", "kind"),
    [
        *((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x04\x22\x4d\x18", "lz4"), (b"PK\x03\x04", "zip")),
        *((b"\x7fELF", "ELF"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"SQLite format 3", "SQLite")),
        (b"x" * 257 + b"ustar", "tar"),
    ],
)
def test_a_file_of_another_kind_is_recognized_by_its_first_bytes(tmp_path: Path, head: bytes, kind: str) -> None:
    data = head + b"x" * 400
    (found,) = of_log(tmp_path, data)
    assert told([found]) == [("not-a-segment", "error", 0, len(data), (None, None))]
    assert (found.found, found.message) == (kind, f"This is not a segment: it starts like a file of type {kind}.")
    found, *_ = of_log(tmp_path, data + _batch(0))  # as an archive has files as they are
    assert (found.code, found.found) == ("not-a-segment", kind)


@each(
    ("sample", "words"),
    [
        (b"text " * 40, "text (100 % printable, 1.9 bits a byte)"),
        (b"text\n" * 38 + b"\1" * 9, "text (95 % printable, 2.1 bits a byte)"),
        (b"text\n" * 38 + b"\1" * 10, "binary data (95 % printable, 2.1 bits a byte)"),
        (bytes(range(256)), "compressed or encrypted (38 % printable, 8.0 bits a byte)"),
        (bytes(range(1, 182)) * 2, "binary data (54 % printable, 7.5 bits a byte)"),
        (bytes(range(1, 183)) * 2, "compressed or encrypted (53 % printable, 7.5 bits a byte)"),
    ],
)
def test_what_is_not_a_batch_is_described(tmp_path: Path, sample: bytes, words: str) -> None:
    assert len(sample) < 500
    (found,) = of_log(tmp_path, _batch(0) + sample + _batch(1))
    assert told([found]) == [("garbage-region", "error", SIZE, SIZE + len(sample), (None, None))]
    assert found.message == f"{len(sample)} bytes that are not a batch: {words}."
    assert (found.resync, found.skipped) == ("by-scan", len(sample))


def test_zeros_between_batches_say_what_a_restart_deletes_after_them(tmp_path: Path) -> None:
    for offsets, words in (((2,), "1 batch after, offset 2"), ((2, 3), "2 batches after, offsets 2 to 3")):
        (found,) = of_log(tmp_path, _batch(0) + bytes(SIZE) + _log(*offsets))
        assert (found.code, found.found) == ("zero-hole", str(len(offsets)))
        assert found.message.endswith(f" Missing here: offset 1. {words}: a restart that scans this segment deletes them.")


def test_what_is_missing_at_the_end_goes_up_to_the_next_segment(tmp_path: Path) -> None:
    directory = _partition(tmp_path, {0: [_batch(row) for row in range(4)], 4: [_batch(4)]})
    for code, data in (("garbage-region", _log(0, 1) + b"no batch " * 20), ("torn-tail", _log(0, 1, 2)[:-5])):
        _write(directory / LOG, data)
        (found,) = findings_of(directory, code)
        assert (found.offset_first, found.offset_last) == (2, 3)
    assert found.message.endswith(" Missing here: offsets 2 to 3.")
