"""What `kdump log` and its siblings list, which rows a range leaves out, what counts as damage, and how they end."""

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from kdump.binary.tolerant_source import TolerantSource
from kdump.cli.commands import main
from kdump.cli.listing import run
from tests.builders import files
from tests.builders.files import file_name, write_log
from tests.builders.fleets import flipped
from tests.builders.records import TIMESTAMP, Record, abort_record, batch, message, message_set, record, wrapper
from tests.loops import each

CLEAN, FINDINGS, USAGE, NOT_EXAMINED = range(4)
LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT = (
    file_name(0, suffix) for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
)
DAY_BEGIN = 1_699_920_000_000  # 2023-11-14 00:00 UTC; TIMESTAMP is of that day
DAY = 86_400_000

Json = dict[str, Any]  # what json.loads makes of an object


class Listed:
    """Exit code, rows and lines of stderr of a command that was run in this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.err = ""
        self.out = ""

    def __call__(self, *arguments: str | Path) -> tuple[int, list[Json]]:
        status = self.text(*arguments[:1], "--output", "ndjson", *arguments[1:])
        return status, [json.loads(line) for line in self.out.splitlines()]

    def only(self, column: str, *arguments: str | Path) -> tuple[int, list[Any]]:
        """Exit code and this column of the rows."""
        status, rows = self(*arguments)
        return status, [row[column] for row in rows]

    def text(self, *arguments: str | Path) -> int:
        self._capfd.readouterr()
        status = main([*map(str, arguments)])
        self.out, self.err = self._capfd.readouterr()
        return status


@pytest.fixture
def listed(capfd: pytest.CaptureFixture[str]) -> Listed:
    return Listed(capfd)


def _batch(offset: int, *, at: int | None = None) -> bytes:
    return batch(records=[record(key=b"key", value=b"value", timestamp=TIMESTAMP if at is None else at)], base_offset=offset)


SIZE = len(_batch(0))


def _torn(offset: int) -> bytes:
    """A batch of which nothing can be read: its length leads nowhere, and its CRC does not match."""
    return _of_length(_flipped(offset), 1 << 30)


def _flipped(offset: int) -> bytes:
    """A batch whose CRC does not fit, and whose length leads on."""
    return flipped(_batch(offset))


def _spoiled(offset: int, *, at: int | None = None) -> bytes:
    """A batch whose CRC does not fit, though its record can be read."""
    return flipped(_batch(offset, at=at)[:-2]) + _batch(offset)[-2:]


def _of_length(data: bytes, length: int) -> bytes:
    return data[:8] + struct.pack(">i", length) + data[12:]


def _wrapped(crc: int | None = None) -> bytes:
    return wrapper(messages=[message(value=b"a"), message(value=b"b", crc=crc)])


LEFT = batch(records=[record(value=b"v")], codec="gzip", trailing=b"x")
NUMBERS = batch(records=[record(key=b"\0\0\0\7", value=b"\0\0\0\7"), record(value=b"abc")])


# --- damage and ranges


@each("damaged", [_torn, _flipped], ids=["torn", "flipped"])
@each("to_offset, count", [("1", 2), ("2", 3), ("3", 4), ("9", 4)])
def test_damage_after_a_range_is_not_requested(tmp_path: Path, listed: Listed, damaged: Any, to_offset: str, count: int) -> None:
    path = write_log(tmp_path, _batch(0), _batch(1), _batch(2), damaged(3))
    expected = ["intact", "intact", "intact", "damaged"][:count]
    assert listed.only("status", "log", "--to-offset", to_offset, path) == (FINDINGS if count == 4 else CLEAN, expected)


def test_damage_before_a_range_is_not_requested(tmp_path: Path, listed: Listed) -> None:
    path = write_log(tmp_path, _batch(0), _torn(1), *(_batch(offset) for offset in range(2, 6)))
    rows: list[int | None] = [0, None, 2, 3, 4, 5]  # None is the damaged one
    for first, status in ((3, CLEAN), (2, CLEAN), (1, FINDINGS), (0, FINDINGS)):
        assert listed.only("baseOffset", "log", "--from-offset", str(first), path) == (status, rows[first:])
    path = write_log(tmp_path, _batch(0), _torn(1), batch(records=[record(value=b"v")] * 3, base_offset=2), _batch(5))
    for first, expected in ((3, (CLEAN, [2, 5])), (2, (CLEAN, [2, 5])), (1, (FINDINGS, [None, 2, 5]))):
        assert listed.only("baseOffset", "log", "--from-offset", str(first), path) == expected
    path = write_log(tmp_path, _batch(0), _torn(1), _batch(2))
    for position, status, count in ((2 * SIZE, CLEAN, 1), (2 * SIZE - 1, FINDINGS, 2), (SIZE, FINDINGS, 2), (0, FINDINGS, 3)):
        found, given = listed("log", "--from-position", str(position), path)
        assert (found, len(given)) == (status, count), position
    path = write_log(tmp_path, _batch(0), batch(records=[record()], base_offset=2, attributes=5), _flipped(1), _batch(9))
    assert listed.only("baseOffset", "log", "--from-offset", "5", path) == (FINDINGS, [2, 9]), "nobody can read this codec"
    path = write_log(tmp_path, _batch(0), _torn(1))  # with nothing after it, it may be requested
    assert listed.only("status", "log", "--from-offset", "7", path) == (FINDINGS, ["damaged"])


def test_an_empty_range_is_answered_with_all_offsets_unless_damage_may_have_it(tmp_path: Path, listed: Listed) -> None:
    last, first = (tmp_path / file_name(base, ".log") for base in (60, 0))
    last.write_bytes(_batch(60) + _batch(61))
    first.write_bytes(_batch(5) + _batch(6))  # though its name says 0
    assert listed("log", "--from-offset", "70", last, first) == (CLEAN, [])
    assert listed.err == f"kdump: {tmp_path}: this range is empty; the logs have offsets 5 to 61\n"
    last.write_bytes(_batch(60) + _torn(61))
    assert (listed.text("log", "--from-offset", "70", last), "is empty" in listed.err) == (FINDINGS, False)


@each("damaged", [_torn, _flipped, _spoiled], ids=["torn", "flipped", "spoiled"])
def test_damaged_rows_count_for_the_limit(tmp_path: Path, listed: Listed, damaged: Any) -> None:
    path = write_log(tmp_path, _batch(0), damaged(1), _batch(2), _batch(3))
    for limit, expected in (("1", (CLEAN, ["intact"])), ("2", (FINDINGS, ["intact", "damaged"]))):
        assert listed.only("status", "log", "--limit", limit, path) == expected
        found, rows = listed("log", "--deep", "--limit", limit, path)
        assert (found, str(len(rows))) == (expected[0], limit)


@each(
    "what, data, options, status, statuses",
    [
        ("bytes are left", LEFT + _batch(1), "--deep --limit 1", FINDINGS, ["damaged"]),  # though its row reaches the limit
        ("a wrong CRC inside a wrapper", _wrapped(crc=1), "--deep", FINDINGS, ["intact", "damaged"]),
        ("a sound wrapper", _wrapped(), "--deep", CLEAN, ["intact", "intact"]),
        ("a number that is none", NUMBERS, "--decode integer", FINDINGS, ["intact", "intact"]),
        ("what was not to be a number", NUMBERS, "--deep", CLEAN, ["intact", "intact"]),
    ],
)
def test_records_that_cannot_be_read_are_findings(
    tmp_path: Path, listed: Listed, what: str, data: bytes, options: str, status: int, statuses: list[str]
) -> None:
    path = write_log(tmp_path, data)
    found, rows = listed("log", *options.split(), path)
    assert (found, [row["status"] for row in rows]) == (status, statuses)
    if what == "bytes are left":
        assert listed.err == f"kdump: {path}, byte 0: bytes are left after the last record (record-count-too-low)\n"
    if "integer" in options:
        assert [row["decodedValue"] for row in rows] == [7, None]


@each("damaged", [_torn, _flipped], ids=["torn", "flipped"])
def test_the_first_damage_ends_a_listing_that_is_not_to_go_on(tmp_path: Path, listed: Listed, damaged: Any) -> None:
    path = write_log(tmp_path, _batch(0), damaged(1), _batch(2), damaged(3))
    assert listed.only("status", "log", "--fail-fast", path) == (FINDINGS, ["intact", "damaged"])
    assert listed.err.endswith(f"kdump: {path}: the listing ends at damage\n")
    found, statuses = listed.only("status", "log", path)
    assert (found, statuses.count("damaged")) == (FINDINGS, 2)


def test_a_wrong_length_is_a_finding_only_where_it_is_requested(tmp_path: Path, listed: Listed) -> None:
    path = write_log(tmp_path, _batch(0), _of_length(_batch(1), -5), _batch(2))
    assert listed("log", path)[0] == FINDINGS
    assert listed.err == (
        f"kdump: {path}: bytes {SIZE} to {2 * SIZE - 1}: a record batch says it is -5 bytes long; its CRC matches with "
        f"{SIZE - 12} (batch-length-mismatch, {SIZE} bytes)\n"
    )
    assert listed.only("baseOffset", "log", "--from-offset", "2", path) == (CLEAN, [2])


# --- ranges


def test_a_delete_horizon_is_no_time_of_a_batch(tmp_path: Path, listed: Listed) -> None:
    path = write_log(tmp_path, batch(records=[record(timestamp=TIMESTAMP)], delete_horizon_ms=TIMESTAMP + DAY), _flipped(1))
    assert listed.only("baseOffset", "log", "--to-time", str(TIMESTAMP), path) == (FINDINGS, [0, 1])


@each(
    "options, offsets",
    [
        *(("--to-time 2023-11-14", [0, 1, 2]), ("--from-time 2023-11-14", [1, 2, 3])),
        ("--from-time 2023-11-14T00:00:00.001", [2, 3]),
        *(("--to-time 2023-11-14T00:00:00", [0, 1]), ("--to-time 2023-11-14T01:00:00+01:00", [0, 1])),
        ("--from-time 2023-11-14 --to-time 2023-11-14", [1, 2]),
    ],
)
def test_a_day_ends_before_the_next_midnight(tmp_path: Path, listed: Listed, options: str, offsets: list[int]) -> None:
    times = [DAY_BEGIN - 1, DAY_BEGIN, DAY_BEGIN + DAY - 1, DAY_BEGIN + DAY]
    path = write_log(tmp_path, *(_batch(offset, at=at) for offset, at in enumerate(times)))
    assert listed.only("baseOffset", "log", *options.split(), path)[1] == offsets
    assert listed.only("offset", "log", *options.split(), "--deep", path)[1] == offsets


@each("text, is_time", [("99999999", False), ("100000000", True), ("-100000000", True), ("1" * 19, True)])
def test_nine_digits_are_milliseconds(tmp_path: Path, listed: Listed, text: str, is_time: bool) -> None:
    assert listed.text("log", f"--from-time={text}", write_log(tmp_path, _batch(0))) == (CLEAN if is_time else USAGE)


def test_what_has_no_time_is_of_no_time(tmp_path: Path, listed: Listed) -> None:
    path = write_log(tmp_path, message_set(messages=[message(value=b"v", magic=0)]), _batch(1, at=-1), _batch(2))
    for options, offsets in (("--from-time=-999999999", [2]), ("--to-time=9999999999999", [2]), ("--from-offset=0", [0, 1, 2])):
        assert listed.only("lastOffset", "log", options, path)[1] == offsets


def test_a_wrapper_ends_where_its_offset_says_and_begins_at_any_time(tmp_path: Path, listed: Listed) -> None:
    inner = [message(value=b"w", timestamp=TIMESTAMP + 10 * row) for row in (1, 2, 3)]
    path = write_log(tmp_path, message_set(messages=[message(value=b"a")]), wrapper(messages=inner, base_offset=1))
    expected = {"--to-offset=0": ["none"], "--to-offset=1": ["none", "gzip"], "--from-offset=3": ["gzip"], "--from-offset=4": []}
    expected[f"--to-time={TIMESTAMP + 10}"] = ["none", "gzip"]
    assert {option: listed.only("compresscodec", "log", option, path)[1] for option in expected} == expected


# --- records


@each("release", ["2.8.0", "4.3.1"])
@each("options", ["", "--from-offset 1", "--from-offset 1 --to-offset 8", "--limit 8"])
def test_a_range_shows_a_message_past_its_end_as_the_log_does(tmp_path: Path, listed: Listed, release: str, options: str) -> None:
    messages = [message(key=b"k", value=b"v", value_length=1000 if offset in (1, 3, 6) else None) for offset in range(9)]
    path = write_log(tmp_path, message_set(messages=messages[:5]), wrapper(messages=messages[5:], base_offset=5))
    assert listed.text("log", "--print-data-log", "--release", release, *options.split(), path) == FINDINGS
    lines = [line for line in listed.out.splitlines() if line.startswith("| offset: ")]
    shown = {int(line.split()[2]): " key: k" in line for line in lines}
    last = 7 if "--limit" in options else 8
    assert shown == {offset: offset not in (1, 3, 6) for offset in range(1 if "--from-offset" in options else 0, last + 1)}
    assert [line.split(": ")[2] for line in listed.err.splitlines()] == [f"message with offset {n}" for n in (1, 3, 6)]


def _marker(row: int, one: Record) -> bytes:
    return batch(records=[one], base_offset=row, is_control=True, is_transactional=True, producer_id=1)


def test_control_records_are_decoded_unless_nothing_is_and_what_cannot_be_is_counted(tmp_path: Path, listed: Listed) -> None:
    bad = record(key=b"\0")
    markers = [_marker(row, one) for row, one in enumerate([abort_record(), bad, bad, abort_record()])]
    path = write_log(tmp_path, *markers)
    found, errors = listed.only("decodeError", "log", "--deep", path)
    assert (found, [error is None for error in errors]) == (FINDINGS, [True, False, False, True])
    assert listed.err.startswith(f"kdump: {path}: 2 records not decoded, the first at offset 1: ")
    assert listed.err.endswith(" (control-key-short)\n")
    assert listed("log", "--deep", write_log(tmp_path, *markers[:2]))[0] == FINDINGS
    assert listed.err.startswith(f"kdump: {path}: 1 record not decoded, at offset 1: ")
    assert listed("log", "--deep", write_log(tmp_path, markers[0]))[0] == CLEAN
    for decode, is_decoded in (("none", False), ("auto", True), ("string", True)):
        status, (row,) = listed("log", "--deep", "--decode", decode, path)
        assert (status, row["decodedValue"] is not None or row["decodedKey"] is not None) == (CLEAN, is_decoded), decode


# --- exit codes


def test_what_cannot_be_examined_outranks_damage_but_nobody_looks_past_a_limit(tmp_path: Path, listed: Listed) -> None:
    missing = tmp_path / "missing.log"
    path = write_log(tmp_path, _batch(0), _torn(1))
    assert listed("log", path)[0] == FINDINGS
    for paths in ((missing, path), (path, missing)):
        assert listed.only("status", "log", *paths) == (NOT_EXAMINED, ["intact", "damaged"])
    assert listed.err.count("\n") == 2
    for one, code in ((path, FINDINGS), (missing, NOT_EXAMINED)):
        assert (listed("log", "--strict-stderr", one)[0], listed.err) == (code, "")
    path = write_log(tmp_path, _batch(0), _batch(1))
    for limit, other in (("1", path), ("2", path), ("1", missing)):
        assert listed.only("baseOffset", "log", "--limit", limit, path, other) == (CLEAN, [*range(int(limit))])
    assert listed.only("baseOffset", "log", "--limit", "3", path, path) == (CLEAN, [0, 1, 0])
    path = write_log(tmp_path, _batch(0), _spoiled(1, at=TIMESTAMP + 1))
    for limit, status in (("1", CLEAN), ("2", FINDINGS)):
        options = ("--deep", "--to-time", str(TIMESTAMP), "--limit", limit)
        assert listed.only("offset", "log", *options, path) == (status, [0])


def test_a_wrong_checksum_is_bad_in_the_table(tmp_path: Path, listed: Listed) -> None:
    path = write_log(tmp_path, _batch(0), _flipped(1), _batch(2), b"no batch " * 20, _batch(3))
    assert listed.text("log", "--output", "table", path) == FINDINGS
    lines = [line.split() for line in listed.out.splitlines()[3:]]
    assert [int(line[0]) for line in lines] == [0, SIZE, 2 * SIZE, 3 * SIZE, 3 * SIZE + 180]
    assert [line[-2] for line in lines] == ["ok", "BAD", "ok", "-", "ok"]
    assert [line[-1] for line in lines] == ["intact", "damaged", "intact", "damaged", "salvaged"]
    assert lines[3] == [str(3 * SIZE), "-", "-", "-", "-", "180", "-", "-", "-", "-", "damaged"]


# --- the table for people


def test_the_table_shows_producers_flags_and_messages_without_first_offset(tmp_path: Path, listed: Listed) -> None:
    pieces = [
        batch(records=[record()], producer_id=0, producer_epoch=3, base_sequence=0, is_transactional=True),
        batch(records=[abort_record()], base_offset=1, producer_id=0, producer_epoch=3, is_transactional=True, is_control=True),
        batch(records=[record(timestamp=-1)], base_offset=2),
    ]
    assert listed.text("log", "--output", "table", write_log(tmp_path, *pieces)) == CLEAN
    lines = [line.split() for line in listed.out.splitlines()[3:]]
    assert (lines[0][1:5], lines[0][-4:]) == (["0", "-", "0", "1"], ["0/3", "txn", "ok", "intact"])
    assert lines[1][-5:] == ["0/3", "txn", "control", "ok", "intact"]
    assert lines[2][5:7] == ["-", "CreateTime"] and lines[2][-4:] == ["-", "-", "ok", "intact"]
    listed.text("log", "--output", "table", write_log(tmp_path, wrapper(messages=[message(value=b"w")] * 3)))
    assert listed.out.splitlines()[3].split()[:3] == ["0", "2", "-"]


@each(
    "options",
    [
        *("", "--print-data-log", "--print-data-log --key-decoder long"),
        *("--from-offset 1 --to-offset 4", "--tail 7", "--limit 6", "--offset 2", "--output ndjson"),
        *("--output ndjson --decode consumer-offsets", "--output json", "--output csv", "--output table"),
        *("--output csv --from-offset 1 --to-offset 4", "--output csv --limit 6", "--output csv --tail 7"),
    ],
)
def test_counted_findings_change_no_line(listed: Listed, tmp_path: Path, options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(offset: int) -> bytes:
        records = [record(key=bytes(4 * row), value=b"value") for row in range(4)]
        return batch(records=[*records, b"\xff"], base_offset=offset, crc=7)

    def broken(offset: int) -> bytes:
        cut = b"\x1f\x8b\x08" + bytes(9)
        return batch(records=[record(value=b"v")], base_offset=offset, codec="gzip", compressor=lambda _: cut)

    pieces = [_batch(0), torn(1), torn(2), broken(3), _batch(4), torn(5), torn(6), b"\xff" * 70, torn(7), _batch(8), broken(9)]
    path = write_log(tmp_path, *pieces, broken(10), _batch(11), torn(12))
    printed, counts = set(), set()
    for said in (100, 5, 2, 0):
        monkeypatch.setattr(run, "MAX_MESSAGES", said)
        status = listed.text("log", "--deep", *options.split(), path)
        lines = [line for line in listed.err.splitlines() if f"{path}" in line and "more findings" not in line]
        more = re.findall(r": ([0-9,]+) more findings ", listed.err)
        printed.add((status, listed.out))
        counts.add(len(lines) + sum(map(int, more)))
    assert len(printed) == len(counts) == 1, counts


# --- offset indexes


def test_findings_beyond_a_thousand_of_one_file_are_counted(listed: Listed, tmp_path: Path) -> None:
    path = _beside(tmp_path, INDEX, files.offset_index(entries=[(0, 7)] * 1003), _batch(0))
    status, rows = listed("index", path)
    lines = listed.err.splitlines()
    assert (status, len(rows), len(lines)) == (FINDINGS, 1003, 1001)
    assert set(lines[:1000]) == {f"kdump: {path}: entry for offset 0 points to byte 7: no batch is there"}
    assert lines[1000].startswith(f"kdump: {path}: 3 more findings ")
    listed("index", path, path)
    assert len(listed.err.splitlines()) == 2002  # each file has its own thousand


def test_a_log_with_unreadable_bytes_was_not_examined(listed: Listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opens = TolerantSource.__init__

    def opens_with_bad_bytes(source: TolerantSource, path: str) -> None:
        opens(source, path)
        source.bad_ranges.append((70, 80))

    monkeypatch.setattr(TolerantSource, "__init__", opens_with_bad_bytes)
    path = write_log(tmp_path, _batch(0), _batch(1))
    where = f"{path}: bytes 70 to 79 cannot be read from the device, and count as zeros (io-error, 10 bytes)"
    for options, count in ((), 2), (("--limit", "1"), 1), (("--deep-iteration",), 2):
        status, rows = listed("log", *options, path)
        assert (status, len(rows), listed.err) == (NOT_EXAMINED, count, f"kdump: {where}\n"), options


def _beside(tmp_path: Path, name: str, data: bytes, *pieces: bytes) -> Path:
    write_log(tmp_path, *pieces)
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


def _two(first: int, *, at: int = TIMESTAMP) -> bytes:
    return batch(records=[record(value=b"v", timestamp=at), record(value=b"w", timestamp=at + 5)], base_offset=first)


TWO = len(_two(0))


@each(
    "entry, log_offset, problem",
    [
        *(((offset, TWO), 3, "") for offset in (2, 3, 5, 9)),  # 5 and 9 are those of an append of several batches
        *(((offset, TWO), 3, "the batch there ends at offset 3") for offset in (1, 10)),
        *(((3, position), None, "no batch is there") for position in (TWO + 1, 5 * TWO, -1)),
    ],
    ids=str,
)
def test_an_entry_leads_to_the_batch_that_holds_its_offset(
    tmp_path: Path, listed: Listed, entry: tuple[int, int], log_offset: int | None, problem: str
) -> None:
    path = _beside(tmp_path, INDEX, files.offset_index(entries=[entry]), *(_two(first) for first in range(0, 10, 2)))
    status, (row,) = listed("index", path)
    assert (status, row["offset"], row["position"], row["logOffset"]) == (FINDINGS if problem else CLEAN, *entry, log_offset)
    assert row["status"] == ("damaged" if problem else "intact")
    words = f"kdump: {path}: entry for offset {entry[0]} points to byte {entry[1]}: {problem}\n"
    assert listed.err == (words if problem else "")


def test_an_append_is_followed_over_64_batches(tmp_path: Path, listed: Listed) -> None:
    write_log(tmp_path, *(_batch(offset) for offset in range(70)))
    for last, status in ((63, CLEAN), (64, FINDINGS)):
        (tmp_path / INDEX).write_bytes(files.offset_index(entries=[(last, 0)]))
        assert listed("index", tmp_path / INDEX)[0] == status


@each(
    "options, offsets",
    [
        *(("", range(1, 8)), ("--limit 3", range(1, 4)), ("--limit 7", range(1, 8))),
        *(("--from-offset 3", range(3, 8)), ("--to-offset 3", range(1, 4)), ("--from-offset 3 --limit 2", range(3, 5))),
        *((f"--from-time {TIMESTAMP + 3}", range(3, 8)), (f"--to-time {TIMESTAMP + 3}", range(1, 4))),
    ],
)
def test_entries_are_listed_up_to_zeros_and_within_a_range(tmp_path: Path, listed: Listed, options: str, offsets: range) -> None:
    positions, times = [(n, n * SIZE) for n in range(1, 8)], [(TIMESTAMP + n, n) for n in range(1, 8)]
    write_log(tmp_path, *(_batch(offset, at=TIMESTAMP + offset) for offset in range(8)))
    (tmp_path / INDEX).write_bytes(files.offset_index(entries=positions, zero_entry_count=5))
    (tmp_path / TIME_INDEX).write_bytes(files.time_index(entries=times, zero_entry_count=5))
    if "time" not in options:
        assert listed.only("offset", "index", *options.split(), tmp_path / INDEX) == (CLEAN, [*offsets])
    assert listed.only("offset", "timeindex", *options.split(), tmp_path / TIME_INDEX) == (CLEAN, [*offsets])


# --- time indexes


@each(
    "time, offset, latest, problem",
    [
        *((5, at, TIMESTAMP + 5, "") for at in (2, 3)),
        (4, 3, TIMESTAMP + 5, f"the largest timestamp of its batch is {TIMESTAMP + 5}"),
        *((5, at, None, "no batch holds that offset") for at in (8, 10)),  # between batches and after them
    ],
)
def test_a_time_is_compared_with_the_batch_of_its_offset(
    tmp_path: Path, listed: Listed, time: int, offset: int, latest: int | None, problem: str
) -> None:
    data = files.time_index(entries=[(TIMESTAMP + time, offset)])
    path = _beside(tmp_path, TIME_INDEX, data, *map(_two, [0, 2, 4, 6, 12] if offset == 8 else range(0, 10, 2)))
    status, (row,) = listed("timeindex", path)
    assert (status, row["status"], row["logTimestamp"]) == (*((FINDINGS, "damaged") if problem else (CLEAN, "intact")), latest)
    words = f"kdump: {path}: entry for offset {offset}, timestamp {TIMESTAMP + time}: {problem}\n"
    assert listed.err == (words if problem else "")


@each("damaged", range(4))
def test_only_the_damaged_batch_of_a_run_vouches_for_no_time(tmp_path: Path, listed: Listed, damaged: int) -> None:
    batches = [_two(first, at=TIMESTAMP + first) for first in range(0, 8, 2)]
    batches[damaged] = flipped(batches[damaged])
    data = files.time_index(entries=[(TIMESTAMP + first + 5, first + 1) for first in range(0, 8, 2)])
    status, rows = listed("timeindex", _beside(tmp_path, TIME_INDEX, data, *batches))
    assert status == FINDINGS
    assert [(row["logTimestamp"], row["status"]) for row in rows] == [
        (None, "damaged") if row == damaged else (TIMESTAMP + 2 * row + 5, "intact") for row in range(4)
    ]


@each(
    "time, offset, problem",
    [
        (15, 5, ""),
        *((time, 5, f"comes after an entry for timestamp {TIMESTAMP + 5}") for time in (4, 5)),
        (15, 1, "comes after an entry for offset 3"),
    ],
)
def test_times_rise_and_offsets_do_not_fall(tmp_path: Path, listed: Listed, time: int, offset: int, problem: str) -> None:
    data = files.time_index(entries=[(TIMESTAMP + 5, 3), (TIMESTAMP + time, offset)])
    path = _beside(tmp_path, TIME_INDEX, data, *(_two(first, at=TIMESTAMP + (first > 3) * 10) for first in range(0, 10, 2)))
    expected = (FINDINGS, ["intact", "damaged"]) if problem else (CLEAN, ["intact", "intact"])
    assert listed.only("status", "timeindex", path) == expected
    assert (f": {problem}\n" in listed.err) if problem else listed.err == ""


# --- transaction indexes and snapshots


@each(
    "options, producers",
    [
        *(("", [0, 1, 2]), ("--limit 2", [0, 1])),
        *(("--from-offset 15", [1, 2]), ("--from-offset 16", [2]), ("--to-offset 10", [0, 1]), ("--to-offset 9", [0])),
    ],
)
def test_transactions_that_reach_a_range_are_listed(tmp_path: Path, listed: Listed, options: str, producers: list[int]) -> None:
    entries = [files.aborted_transaction(producer_id=row, first_offset=10 * row, last_offset=10 * row + 5) for row in range(3)]
    (tmp_path / TXN_INDEX).write_bytes(files.transaction_index(entries=entries))
    status, rows = listed("txnindex", *options.split(), tmp_path / TXN_INDEX)
    assert (status, [(row["producerId"], row["status"]) for row in rows]) == (CLEAN, [(one, "intact") for one in producers])


def test_a_transaction_of_another_version_is_a_finding(tmp_path: Path, listed: Listed) -> None:
    path = tmp_path / TXN_INDEX
    path.write_bytes(files.transaction_index(entries=[files.aborted_transaction(version=1), files.aborted_transaction()]))
    assert listed.only("status", "txnindex", path) == (FINDINGS, ["damaged", "intact"])
    assert listed.err == f"kdump: {path}: entry of producer 1 has version 1, only 0 is known\n"
    path.write_bytes(files.transaction_index(entries=[files.aborted_transaction()], trailing=b"\0"))
    assert (listed.text("txnindex", path), "35 bytes are not a multiple of 34" in listed.err) == (FINDINGS, True)


def test_producers_are_listed_up_to_the_limit(tmp_path: Path, listed: Listed) -> None:
    path = tmp_path / SNAPSHOT
    entries = [files.producer_entry(producer_id=row, last_sequence=7, offset_delta=2, last_offset=9) for row in range(3)]
    path.write_bytes(files.producer_snapshot(entries=entries))
    for options, producers in (([], [0, 1, 2]), (["--limit", "2"], [0, 1]), (["--limit", "3"], [0, 1, 2])):
        assert listed.only("producerId", "snapshot", *options, path) == (CLEAN, producers)
    names = ("firstSequence", "lastSequence", "lastOffset", "offsetDelta", "currentTxnFirstOffset")
    assert [listed("snapshot", path)[1][0][name] for name in names] == [5, 7, 9, 2, None]
    path.write_bytes(files.producer_snapshot(entries=[files.producer_entry(last_offset=-1, current_txn_first_offset=0)]))
    _, (row,) = listed("snapshot", path)
    assert (row["lastSequence"], row["lastOffset"], row["currentTxnFirstOffset"]) == (None, None, 0)


# --- what paths name


def test_a_checkpoint_may_be_listed_as_a_log_and_a_log_as_a_checkpoint(tmp_path: Path, listed: Listed) -> None:
    (tmp_path / "5.checkpoint").write_bytes(_batch(0))
    write_log(tmp_path, _batch(0))
    assert listed("log", tmp_path / "5.checkpoint")[0] == CLEAN
    assert listed("checkpoint", tmp_path / LOG)[0] == CLEAN
    assert listed.text("index", tmp_path / LOG) == USAGE


def test_directories_without_such_files_do_not_spoil_a_pattern_but_broken_links_do(tmp_path: Path, listed: Listed) -> None:
    for name in ("a-0", "a-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "a-1" / LOG).write_bytes(_batch(0))
    for pattern, status in (("a-*", CLEAN), ("a-0", NOT_EXAMINED), ("a-0*", NOT_EXAMINED), ("b-*", NOT_EXAMINED)):
        assert listed("log", f"{tmp_path}/{pattern}")[0] == status, pattern
    (tmp_path / "a-2").symlink_to("nowhere")
    assert listed.only("baseOffset", "log", tmp_path) == (NOT_EXAMINED, [0])


# --- edges of ranges and limits


@each(
    "command, name, data",
    [
        ("index", INDEX, files.offset_index(entries=[(1, SIZE), (2, 2 * SIZE + 1)])),
        ("timeindex", TIME_INDEX, files.time_index(entries=[(TIMESTAMP, 1), (TIMESTAMP, 2)])),
        ("txnindex", TXN_INDEX, files.transaction_index(entries=[files.aborted_transaction(version=n) for n in (0, 1)])),
    ],
)
def test_a_bad_entry_after_the_limit_is_no_finding(tmp_path: Path, listed: Listed, command: str, name: str, data: bytes) -> None:
    path = _beside(tmp_path, name, data, _batch(0), _batch(1), _batch(2))
    for limit, status, count in (("1", CLEAN, 1), ("2", FINDINGS, 2), ("3", FINDINGS, 2)):
        found, rows = listed(command, "--limit", limit, path)
        assert (found, len(rows)) == (status, count)


def test_an_entry_of_old_messages_leads_to_the_message_with_its_offset(tmp_path: Path, listed: Listed) -> None:
    old = [message_set(messages=[message(value=b"v", magic=magic)], base_offset=row) for row, magic in enumerate((0, 1, 0))]
    size = len(old[0])
    for entries, expected in (([(1, size), (2, size + len(old[1]))], (CLEAN, [1, 2])), ([(1, 0), (3, size)], (FINDINGS, [0, 1]))):
        path = _beside(tmp_path, INDEX, files.offset_index(entries=entries), *old)
        assert listed.only("logOffset", "index", path) == expected


@each(("field", "status"), [({}, "intact"), ({"key_length": 1000}, "damaged"), ({"value_length": 1000}, "damaged")])
def test_a_key_or_value_past_end_damages_a_message(tmp_path: Path, listed: Listed, field: dict[str, Any], status: str) -> None:
    path = write_log(tmp_path, message_set(messages=[message(key=b"k", value=b"v", **field), message(value=b"w")]))
    assert listed.only("status", "log", "--deep", path)[1] == [status, "intact"]
