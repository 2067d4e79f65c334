"""`kdump recover` takes over what is whole, says what is not, and makes directories that brokers load as they are."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kdump
from campaigns import directories
from golden_outputs.runs import CASES
from kdump.binary.source import Source
from kdump.checks.catalogue import FAULTS
from kdump.checks.finding import Finding
from kdump.cli.commands import main
from kdump.errors import CorruptData, Unreadable
from kdump.mending.new import log_writer
from kdump.mending.recover import partition_recovery, recover
from kdump.mending.row import Companion, Dropped, Hole, LostRecord, Recovered, RecoverSummary, Rewritten
from tests.builders.cluster_metadata import replicas, topic
from tests.builders.compression import Codec, lz4_frame
from tests.builders.files import checkpoint, offset_index, partition_metadata, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import TIMESTAMP, abort_record, batch, message, message_set, record, transaction_marker, wrapper
from tests.loops import each
from tests.support import Capture, Patch
from tests.work import assert_linear, work_of

FIRST = "00000000000000000000"
Logs = dict[int, list[bytes]]
"""The batches of each log, by its base offset."""


def _batch(offset: int, count: int = 1, *, value: bytes = b"v", epoch: int = 0, **fields: Any) -> bytes:
    records = [record(value=value, offset_delta=delta) for delta in range(count)]
    return batch(base_offset=offset, records=records, partition_leader_epoch=epoch, **fields)


def _numbered(*offsets: int) -> list[bytes]:
    """Batches with different contents."""
    return [_batch(offset, value=b"%d" % offset) for offset in offsets]


def _message(offset: int, value: bytes | None = None) -> bytes:
    return message_set(messages=[message(value=b"%d" % offset if value is None else value)], base_offset=offset)


def _claims(data: bytes, offset: int) -> bytes:
    """A batch or message that claims another offset, which no checksum covers."""
    return offset.to_bytes(8, "big", signed=True) + data[8:]


def _with_length(data: bytes, length: int) -> bytes:
    return data[:8] + length.to_bytes(4, "big") + data[12:]


def _partition(folder: Path, logs: dict[int, list[bytes]], name: str = "orders-0") -> Path:
    path = folder / name
    path.mkdir(parents=True)
    for base, batches in logs.items():
        (path / f"{base:020}.log").write_bytes(b"".join(batches))
    return path


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _log(out: Path, base: int = 0) -> bytes:
    return (out / f"{base:020}.log").read_bytes()


def _logs(out: Path) -> dict[int, bytes]:
    return {int(path.stem): path.read_bytes() for path in sorted(out.glob("*.log"))}


def _joined(logs: Logs) -> dict[int, bytes]:
    return {base: b"".join(batches) for base, batches in logs.items()}


def _recover(tmp_path: Path, *copies: Logs) -> recover.Result:
    """What `recover` makes in `out` of a partition with these logs, and of its replicas."""
    one, *others = (str(_partition(tmp_path / f"broker{row}", logs)) for row, logs in enumerate(copies))
    return recover.run([one], str(tmp_path / "out"), merge=others, config={})


def _is_safe(out: Path) -> bool:
    rows = [*kdump.forecast(out, after="clean"), *kdump.forecast(out, after="unclean", recovery_point="zero")]
    return all(row.outcome == "keep" and not row.end_differs for row in rows)


def _of(kind: type[Any], rows: list[Any]) -> list[Any]:
    return [row for row in rows if isinstance(row, kind)]


def _holes(rows: list[Any]) -> list[tuple[int, int, bool]]:
    return [(row.offset_first, row.offset_last, row.is_damage) for row in _of(Hole, rows)]


# --- one directory


@each(
    "logs, holes, has_lost_end",
    [
        ({0: [flipped(_batch(0, 2)), _batch(2)], 9: [b"\7" * 200, _batch(12)]}, [(0, 1, True), (3, 11, True)], False),
        ({4: [b"\7" * 200], 9: [_batch(12)]}, [(4, 11, True)], False),
        ({0: [_batch(2)]}, [], False),  # retention may delete the records before
        ({4: [b"\7" * 200], 9: [_batch(12), b"\7" * 200]}, [(4, 11, True)], True),
        ({0: [flipped(_batch(0)), _batch(1)], 9: [b"\7" * 200]}, [(0, 0, True), (2, 8, False)], True),
        ({0: [b"\7" * 200]}, [], True),
        ({0: [_batch(0), bytes(200)]}, [], False),
        ({0: [_batch(0), _batch(3)], 9: [_batch(9)]}, [(4, 8, False)], False),  # compaction leaves gaps only in a log
    ],
)
def test_what_was_lost_before_the_first_batch_is_a_hole(logs: Logs, holes: list[Any], has_lost_end: bool, tmp_path: Path) -> None:
    """How many offsets were in what is lost at the end is not known."""
    result = _recover(tmp_path, logs)
    assert (_holes(result.rows), result.summary("").are_more_missing) == (holes, has_lost_end)


@pytest.mark.both_kernels
def test_intact_batches_inside_a_damaged_one_are_reported(tmp_path: Path) -> None:
    """A misdirected write leaves batches in another one, whose length still leads on."""
    inside = [_batch(40, 3, value=b"elsewhere"), message_set(messages=[message(value=b"old", magic=1)], base_offset=50)]
    large = bytearray(_batch(1, value=bytes(2000)))
    large[300 : 300 + len(inside[0])], large[900 : 900 + len(inside[1])] = inside
    start = len(_batch(0))
    for name, data, code in (("a-0", large, "crc-mismatch"), ("b-0", large[:16] + b"\7" + large[17:], "bad-magic")):
        path = _partition(tmp_path, {0: [_batch(0), bytes(data), _batch(2), _batch(3)]}, name)
        rows = kdump.recover(path, tmp_path / f"out-{name}")
        assert _log(tmp_path / f"out-{name}") == _batch(0) + _batch(2) + _batch(3)
        dropped = [(row.code, row.start - start, row.end - start, row.offset_first, row.records) for row in _of(Dropped, rows)]
        nested = "resync-nested-candidate"
        assert [row[:3] for row in dropped] == [
            (code, 0, len(large)),
            (nested, 300, 300 + len(inside[0])),
            (nested, 900, 900 + len(inside[1])),
        ]
        assert [row[3:] for row in dropped[1:]] == [(40, 3), (50, 1)]
        assert all(row.is_lost for row in _of(Dropped, rows))


def test_a_sound_directory_is_copied_whole(tmp_path: Path) -> None:
    write_partition(tmp_path, topic="orders", segments={0: [_batch(0), _batch(1)], 2: [_batch(2)]})
    (tmp_path / "orders-0" / "partition.metadata").write_bytes(partition_metadata())
    before = _contents(tmp_path / "orders-0")
    result = recover.run([str(tmp_path / "orders-0")], str(tmp_path / "out"), config={})
    after = _contents(tmp_path / "out")
    assert result.is_whole and _contents(tmp_path / "orders-0") == before
    assert {name: after[name] for name in before if name.endswith((".log", ".metadata"))} == {
        name: data for name, data in before.items() if name.endswith((".log", ".metadata"))
    }


def test_a_batch_that_may_have_moved_gets_no_other_offset(tmp_path: Path) -> None:
    """What lies before it may have been the batch of the offset that is missing there, and what it says is missing elsewhere."""
    rows = _recover(tmp_path, {0: [_batch(5), _batch(6, 4), b"\xff" * 30, _batch(3)], 11: [_batch(11)]}).rows
    assert _log(tmp_path / "out") == _batch(5) + _batch(6, 4)
    assert (3, 3, True) in [(row.offset_first, row.offset_last, row.is_lost) for row in _of(Dropped, rows)]
    _recover(tmp_path / "beside", {0: [_batch(5), _batch(6, 4), _batch(3)], 11: [_batch(11)]})
    assert _log(tmp_path / "beside" / "out") == _batch(5) + _batch(6, 4) + _batch(10)


LOWEST = -(1 << 63)
EPOCH_4: Logs = {
    0: [_batch(0, epoch=4), _batch(1, epoch=4)],
    2: [_batch(2, epoch=4)],
    3: [_batch(3, epoch=4), _batch(4, epoch=4)],
}
EPOCHS_BACK: Logs = {0: [_batch(0), _batch(1, epoch=9), _batch(2, epoch=9)], 3: [_batch(3), _batch(4)]}
PUT_RIGHT: dict[str, tuple[Logs, Logs, list[int]]] = {
    "offsets and an epoch": (
        {
            0: [
                *(_claims(_batch(0), LOWEST), _batch(1), _batch(2), _claims(_batch(3), (1 << 40) + 3), _batch(4)),
                *(_claims(_batch(5), LOWEST + 5), _batch(6), _batch(7, epoch=9), _batch(8), _batch(9)),
            ]
        },
        {0: list(map(_batch, range(10)))},
        [0, 3, 5, 7],
    ),
    "the epoch of a log of one batch": ({**EPOCH_4, 2: [_batch(2, epoch=9)]}, EPOCH_4, [2]),
    "the last epoch of a log": ({**EPOCH_4, 0: [_batch(0, epoch=4), _batch(1, epoch=9)]}, EPOCH_4, [1]),
    "the first epoch of a log": ({**EPOCH_4, 3: [_batch(3, epoch=2), _batch(4, epoch=4)]}, EPOCH_4, [3]),
    "epochs that go back for several batches": (EPOCHS_BACK, EPOCHS_BACK, []),
    "the place of a batch that was moved": ({0: _numbered(0, 1, 3, 4, 2, 5, 6)}, {0: _numbered(*range(7))}, []),
}


@each("logs, right, rewritten", PUT_RIGHT.values(), ids=PUT_RIGHT, quick=6)
def test_what_no_checksum_covers_is_put_right(logs: Logs, right: Logs, rewritten: list[int], tmp_path: Path) -> None:
    rows = _recover(tmp_path, logs).rows
    assert _logs(tmp_path / "out") == _joined(right)
    assert [row.offset_first for row in _of(Rewritten, rows)] == rewritten and not _of(Dropped, rows)


def test_a_whole_batch_between_two_with_wrong_offsets_is_taken_over(tmp_path: Path) -> None:
    messages = [_message(offset) for offset in range(0, 40, 5)]
    wrong = {4: _claims(messages[4], (128 << 8) + 20), 6: _claims(messages[6], (32 << 40) + 30)}
    _recover(tmp_path, {0: [wrong.get(row, one) for row, one in enumerate(messages)]})
    logs = b"".join(_logs(tmp_path / "out").values())
    assert all(messages[row] in logs for row in (0, 1, 2, 3, 5, 7))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["damaged", "damaged at the end", "indexes without logs", "other epochs", "other offsets"])
def test_merging_takes_as_long_as_there_are_batches(kind: str, tmp_path: Path) -> None:
    def steps(count: int) -> int:
        whole = [_batch(3 * row, value=b"%d" % (row % 7)) for row in range(count)]
        one = {
            "damaged": [flipped(data) if row % 2 else data for row, data in enumerate(whole)],
            "damaged at the end": [whole[0], *map(flipped, whole[1:])],
            "indexes without logs": whole[:1],
            "other epochs": [data[:12] + bytes(3) + b"\1" + data[16:] if row % 2 else data for row, data in enumerate(whole)],
            "other offsets": [data[:3] + b"\1" + data[4:] if row % 2 else data for row, data in enumerate(whole)],
        }[kind]
        paths = _replicas(tmp_path / str(count), one, whole)
        for number in range(1, count) if kind == "indexes without logs" else ():
            (paths[0] / f"{number:020}.index").write_bytes(b"\0\0\0\1\0\0\0\1")
        run = [*map(str, paths), "-o", str(tmp_path / f"{count}-new")]
        return work_of(lambda: main(["recover", run[0], "--merge", *run[1:]])).lines

    assert_linear(steps, 200, 600, 1400)


@each(
    "logs, start, snapshots",
    [
        ({0: [_batch(0), flipped(_batch(1)), _batch(2)]}, 3, []),  # the log end: a start deletes the snapshot of its log start
        ({0: [_batch(0), _batch(1)], 1: [_batch(1)], 50: [bytes(70)]}, 9, [50]),  # after all batches
    ],
)
def test_a_log_start_is_that_of_the_companions(logs: Logs, start: int, snapshots: list[int], tmp_path: Path) -> None:
    path = _partition(tmp_path, logs)
    (tmp_path / "log-start-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 0, start)]))
    (path / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    kdump.recover(path, tmp_path / "out")
    assert [int(path.stem) for path in (tmp_path / "out").glob("*.snapshot")] == snapshots
    assert (tmp_path / "out" / "leader-epoch-checkpoint").read_text() == f"0\n1\n0 {start}\n"  # as at the next start


@each("offset, is_taken", [(4, True), (5, False)])
def test_the_last_batch_of_a_log_has_no_offset_of_the_next_segment(offset: int, is_taken: bool, tmp_path: Path) -> None:
    """No checksum covers the offset: the log ended below the base offset of the next one, whatever a batch of it claims."""
    last = _batch(offset, value=b"last")
    rows = _recover(tmp_path, {0: [_batch(0), _batch(1), last], 5: [_batch(7)]}).rows
    assert [row.is_lost for row in _of(Dropped, rows)] == ([] if is_taken else [True])
    kept = [_batch(0), _batch(1), *([last] if is_taken else []), _batch(7)]
    assert b"".join(_logs(tmp_path / "out").values()) == b"".join(kept)


def test_the_higher_leader_epoch_wins_where_offsets_overlap(tmp_path: Path) -> None:
    old = [_batch(offset, value=b"old") for offset in range(6)]
    new = [_batch(offset, value=b"new", epoch=1) for offset in range(3, 8)]
    kdump.recover(_partition(tmp_path, {0: old + new}), tmp_path / "out")
    assert _log(tmp_path / "out") == b"".join(old[:3] + new)
    assert (tmp_path / "out" / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n1 3\n"


def test_a_log_under_another_name_than_its_indexes_is_not_lost(tmp_path: Path) -> None:
    path = write_partition(
        tmp_path, topic="orders", segments={0: [_batch(0), _batch(1)], 2: [_batch(2), _batch(3)], 4: [_batch(4)]}
    )
    (path / f"{2:020}.index").write_bytes(offset_index(entries=[(3, len(_batch(2)))], base_offset=2))
    (path / f"{2:020}.log").rename(path / f"{3:020}.log")
    result = recover.run([str(path)], str(tmp_path / "out"), config={})
    assert [_log(tmp_path / "out", base) for base in (0, 2, 4)] == [_batch(0) + _batch(1), _batch(2) + _batch(3), _batch(4)]
    assert result.is_whole


HIGHEST = (1 << 63) - 1
FAR = (1 << 31) + 5
OF_PRODUCER: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}
OPEN = _batch(0, base_sequence=0, attributes=0x10, **OF_PRODUCER)
LOST_MARKER = flipped(transaction_marker(base_offset=1, **OF_PRODUCER))
HOLDS_COPY = _batch(1, value=bytes(2000))[:500] + _batch(2, value=b"copy")
HOLDS_COPY += _batch(1, value=bytes(2000))[len(HOLDS_COPY) :]
INNER = _message(0, b"v")
LONG = [_batch(number, value=b"%d" % number * 1000) for number in range(4)]
TWO, OTHER = _numbered(0, 1), _batch(1, value=b"other")
GREEDY = wrapper(messages=[INNER, bytes(8) + b"\x70\0\0\0" + bytes(20)], inner_offsets=[0, 1], base_offset=1, offset=1)
SMALL = wrapper(messages=[INNER, bytes(8) + b"\0\0\1\0" + bytes(20)], inner_offsets=[0, 1], base_offset=2, offset=2)
PAIR = wrapper(messages=[message(value=b"a"), message(value=b"b")], base_offset=1)


def _of_magic(magic: int, length: int) -> bytes:
    return _with_length(_batch(1)[:16] + bytes([magic]) + _batch(1)[17:], length)


LEFT_OUT: dict[str, tuple[Logs, Logs, list[tuple[str, bool]]]] = {
    "the second of two with an offset": ({0: [*TWO, OTHER, _batch(2)]}, {0: [*TWO, _batch(2)]}, [("offset-regression", True)]),
    "a duplicate": (
        {0: [_batch(0), _batch(1), _batch(1), _batch(2)]},
        {0: list(map(_batch, range(3)))},
        [("offset-duplicate", False)],
    ),
    "a copy inside a damaged batch": (
        {0: [_batch(0), HOLDS_COPY, _batch(2, value=b"copy"), _batch(3)]},
        {0: [_batch(0), _batch(2, value=b"copy"), _batch(3)]},
        [("crc-mismatch", True), ("resync-nested-candidate", False)],
    ),
    "nothing, but a base offset in a name does not fit": (
        {0: [_batch(0)], 700: [_batch(1), _batch(2)]},
        {0: [_batch(0)], 1: [_batch(1), _batch(2)]},
        [],
    ),
    "nothing, but offsets are too far from the base": ({0: [_batch(0), _batch(FAR)]}, {0: [_batch(0)], FAR: [_batch(FAR)]}, []),
    "data outside of an open transaction, whose marker is lost": (  # it keeps a broker from starting
        {0: [OPEN, LOST_MARKER, _batch(2, base_sequence=1, **OF_PRODUCER), _batch(3)]},
        {0: [OPEN, _batch(3)]},
        [("crc-mismatch", True), ("txn-nontransactional-write", True)],
    ),
    "a wrapper of old messages": (
        {0: [INNER, flipped(PAIR, 20), _message(3)]},
        {0: [INNER, _message(3)]},
        [("crc-mismatch", True)],
    ),
    "all of the last log": ({0: [_batch(0)], 1: [bytes(500)]}, {0: [_batch(0)], 1: []}, [("zero-tail", False)]),
    # which claims the bytes of the batch itself
    "a copy of a header": ({0: [*LONG[:2], LONG[2][:400], *LONG[2:]]}, {0: LONG}, [("crc-mismatch", True)]),
    # brokers of 4.x allocate that much, and end with an OutOfMemoryError
    "a wrapper that ends in an absurd size": ({0: [INNER, GREEDY, SMALL]}, {0: [INNER, SMALL]}, [("decompression-limit", True)]),
    "the highest offset": (
        {HIGHEST - 2: [_batch(HIGHEST - 2), _batch(HIGHEST - 1), _batch(HIGHEST)]},
        {HIGHEST - 2: [_batch(HIGHEST - 2), _batch(HIGHEST - 1)]},
        [("offset-negative", True)],
    ),
    **{
        f"an unknown magic, {magic}, with a length of {length:,}": (
            {0: [_batch(0), _of_magic(magic, length), _batch(2)]},
            {0: [_batch(0), _batch(2)]},
            [("bad-magic", True)],
        )
        for magic in (3, 0xFD)
        for length in (len(_batch(1)) - 12, 0x57 << 24)
    },
}


@pytest.mark.both_kernels
@each("logs, kept, left_out", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_is_torn_or_misplaced_is_left_out(logs: Logs, kept: Logs, left_out: list[tuple[str, bool]], tmp_path: Path) -> None:
    result = _recover(tmp_path, logs)
    assert _logs(tmp_path / "out") == _joined(kept)
    assert [(row.code, row.is_lost) for row in _of(Dropped, result.rows)] == left_out
    assert result.is_whole == (not any(is_lost for _, is_lost in left_out)) and _is_safe(tmp_path / "out")


def test_leftovers_of_compaction_fill_only_what_is_missing(tmp_path: Path) -> None:
    path = _partition(tmp_path, {0: [_batch(0), flipped(_batch(1))]})
    for suffix, data in (("swap", _batch(0) + _batch(1)), ("deleted", _batch(5)), ("cleaned", _batch(6))):
        (path / f"{FIRST}.log.{suffix}").write_bytes(data)
    rows = kdump.recover(path, tmp_path / "out")
    assert _log(tmp_path / "out") == _batch(0) + _batch(1)
    found = {(row.code, row.is_lost) for row in _of(Dropped, rows)}
    assert found == {(code, False) for code in ("leftover-deleted", "leftover-cleaned", "offset-duplicate", "crc-mismatch")}


@each("data", [b"nothing\n", b"version:0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"])
def test_metadata_that_is_unsound_is_left_out_with_a_remark(tmp_path: Path, data: bytes) -> None:
    path = _partition(tmp_path, {0: [_batch(0)]})
    (path / "partition.metadata").write_bytes(data)
    rows = kdump.recover(path, tmp_path / "out")
    assert not (tmp_path / "out" / "partition.metadata").exists()
    assert any("line 1 of the file is not a name with a value" in row.reason for row in _of(Dropped, rows))


# --- batches that are accepted


def test_a_batch_that_does_not_decode_is_not_accepted(tmp_path: Path) -> None:
    damaged = bytearray(_batch(1))
    damaged[61] = 0x7F  # the size of the first record
    rows = kdump.recover(_partition(tmp_path, {0: [_batch(0), bytes(damaged), _batch(2)]}), tmp_path / "out", accept=[1])
    assert [row.reason.split(":")[0] for row in _of(Dropped, rows)] == ["named to be accepted, but it does not decode"]


@each("word, said", [("0", "--accept 0: no batch whose CRC does not match has this offset"), ("x", "an offset is a number")])
def test_an_offset_to_accept_must_be_that_of_a_damaged_batch(word: str, said: str, tmp_path: Path, capfd: Capture) -> None:
    path = _partition(tmp_path, {0: [_batch(0), flipped(_batch(1, value=b"vvvv"), -3)]})
    assert main(["recover", str(path), "-o", str(tmp_path / "out"), "--accept", word]) == 2
    assert said in capfd.readouterr().err
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert main(["recover", str(path), "-o", str(tmp_path / "out"), "--accept", "1"]) == 0
    assert "rewritten   " in capfd.readouterr().out


def test_a_marker_that_claims_several_offsets_ends_its_transaction_at_the_first(tmp_path: Path) -> None:
    of_producer: Any = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    marker = batch(base_offset=1, records=[abort_record()], is_control=True, last_offset_delta=5, **of_producer)
    path = _partition(tmp_path, {0: [_batch(0, base_sequence=0, **of_producer), marker]})
    rows = kdump.recover(path, tmp_path / "out")
    assert not _of(Dropped, rows) and _is_safe(tmp_path / "out")


def _records(offset: int, keys: list[bytes], **fields: Any) -> bytes:
    records = [record(key=key, value=bytes(50), offset_delta=row, timestamp=TIMESTAMP + row) for row, key in enumerate(keys)]
    return batch(base_offset=offset, records=records, **fields)


@pytest.mark.both_kernels
@each(
    "damage, keys",
    [
        (lambda data: flipped(data, -60), [b"a", b"b", b"c"]),  # in the value of the last record
        (lambda data: data[: len(data) - 30], [b"a", b"b"]),  # torn
        (lambda data: data[:61] + b"\xff" * 20 + data[81:], []),
        (lambda data: data[:22] + b"\7" + data[23:], []),  # the codec
        # the base timestamp: that of the next one is too high
        (lambda data: data[:27] + b"\x7f" + b"\xff" * 7 + data[35:], [b"a"]),
    ],
)
def test_keys_of_lost_records_are_listed_as_far_as_they_decode(tmp_path: Path, damage: Any, keys: list[bytes]) -> None:
    lost = damage(_records(1, [b"a", b"b", b"c"]))
    rows = kdump.recover(_partition(tmp_path, {0: [_batch(0), lost]}), tmp_path / "out")
    found = _of(LostRecord, rows)
    assert [(row.offset, row.key, row.start) for row in found] == [(1 + row, key, len(_batch(0))) for row, key in enumerate(keys)]


def test_the_report_shows_keys_of_lost_records(tmp_path: Path, capfd: Capture) -> None:
    """Of ten at most."""
    keys = [b"customer-\x1b[1m7", *(b"%d" % row for row in range(11))]
    path = _partition(tmp_path, {0: [_batch(0), flipped(_records(1, keys), -20)]})
    assert main(["recover", str(path), "-o", str(tmp_path / "out")]) == 1
    shown = capfd.readouterr().out
    assert "record      offset 1" in shown and "[1m7, of the lost batch at byte" in shown
    assert "\x1b" not in shown and shown.count("\nrecord ") == 10
    assert "12 records decode in what is lost: --output ndjson lists their keys." in shown


def test_metadata_of_a_version_that_old_brokers_do_not_read_is_written_as_version_0(tmp_path: Path) -> None:
    path = _partition(tmp_path, {0: [_batch(0)]})
    metadata = partition_metadata()
    (path / "partition.metadata").write_bytes(metadata.replace(b"version: 0", b"version: 1"))
    rows = kdump.recover(path, tmp_path / "out")
    assert (tmp_path / "out" / "partition.metadata").read_bytes() == metadata
    assert [row.before for row in _of(Companion, rows) if row.path == "partition.metadata"] == ["different"]


# --- what other files know


def test_zeros_that_a_broker_preallocated_are_not_lost(tmp_path: Path) -> None:
    path = write_partition(tmp_path, topic="orders", segments={0: [_batch(0)], 1: [_batch(1)]})
    log = path / f"{1:020}.log"
    log.write_bytes(log.read_bytes().ljust(1 << 20, b"\0"))
    result = recover.run([str(path)], str(tmp_path / "out"), config={})
    assert result.is_whole and _log(tmp_path / "out", 1) == _batch(1)
    (dropped,) = _of(Dropped, result.rows)
    assert (dropped.code, dropped.is_lost, dropped.start, dropped.end) == ("zero-tail", False, len(_batch(1)), 1 << 20)
    assert "hold no data" in dropped.reason


LARGE = [_batch(offset, value=bytes(5000)) for offset in range(4)]
TORN = _with_length(_batch(1), 0)
KNOWS_1 = b"\0\0\0\1\0\0\1\0"
EPOCHS_OF_0_AND_1 = b"0\n1\n0 0\n"


def _zeros(data: bytes) -> bytes:
    return data.ljust(1 << 20, b"\0")


EPOCHS_FILE, WATERMARKS = "leader-epoch-checkpoint", "../replication-offset-checkpoint"
NINE = list(map(_batch, range(9)))
LOST, TWO_LOST = [("zero-tail", True)], [(4, 5, True)]
THREE_AND_ZEROS: Logs = {0: LARGE[:3], 3: [_zeros(_batch(3))]}
OF_TWO_INDEXES = {f"{FIRST}.index": b"", f"{FIRST}.timeindex": bytes(11) + b"\1"}
KNOWN: dict[str, tuple[Logs, dict[str, bytes], list[tuple[str, bool]], list[tuple[int, int, bool]]]] = {
    "zeros, by an index": (THREE_AND_ZEROS, {f"{3:020}.index": b"\0\0\0\2\0\0\1\0"}, LOST, TWO_LOST),
    "zeros, by a snapshot": (THREE_AND_ZEROS, {f"{6:020}.snapshot": b""}, LOST, TWO_LOST),
    "one batch in zeros, by a checkpoint": (THREE_AND_ZEROS, {WATERMARKS: b"0\n1\norders 0 5\n"}, LOST, [(4, 4, True)]),
    "zeros, by a checkpoint": (THREE_AND_ZEROS, {WATERMARKS: b"0\n1\norders 0 6\n"}, LOST, TWO_LOST),
    **{
        f"{lost} after the last batch, by a checkpoint": (
            {0: [_batch(0), _batch(1)]},
            {"../recovery-point-offset-checkpoint": b"0\n1\norders 0 %d\n" % (2 + lost)},
            [],
            [(2, 1 + lost, True)] * (lost > 0),
        )
        for lost in (0, 1, 2)
    },
    "zeros, by a later log": ({0: [_zeros(LARGE[0])], 3: [_batch(3)]}, {}, LOST, [(1, 2, True)]),
    # the last batch is put right, and counts
    "one more, by the end of an index": ({0: [_batch(0), TORN]}, {f"{FIRST}.index": b"\0\0\0\1\0\0\x7f\0"}, [], [(2, 2, True)]),
    # a checkpoint shows that the topic is not tiered: it would list the partition
    "a log before the first, by leader epochs and a checkpoint": (
        {1: [LARGE[1]]},
        {EPOCHS_FILE: EPOCHS_OF_0_AND_1, "../log-start-offset-checkpoint": b"0\n0\n"},
        [],
        [(0, 0, True)],
    ),
    "nothing without a checkpoint: it may be elsewhere": ({1: [LARGE[1]]}, {EPOCHS_FILE: EPOCHS_OF_0_AND_1}, [], []),
    "a log that one of two indexes knows": ({5: [_batch(5)]}, OF_TWO_INDEXES, [("segment-missing", True)], [(0, 4, True)]),
    "a log that is gone": ({5: [_batch(5)]}, {f"{FIRST}.index": KNOWS_1}, [("segment-missing", True)], [(0, 4, True)]),
    "all logs": ({}, {EPOCHS_FILE: EPOCHS_OF_0_AND_1}, [("segment-missing", True)], []),
    "offsets, by leader epochs in the wrong order": ({0: NINE[:2]}, {EPOCHS_FILE: b"0\n2\n0 30\n1 0\n"}, [], [(2, 29, True)]),
    "a torn swap": ({3: NINE[3:]}, {f"{FIRST}.log.swap": b"".join(NINE[:3])[:-9]}, [("torn-tail", True)], [(2, 2, True)]),
    "nothing that another log has": ({0: [_batch(0)], 1: [_batch(1)]}, {f"{FIRST}.index": b"\0\0\0\1\0\0\0\x08"}, [], []),
}


@each("logs, files, left_out, holes", KNOWN.values(), ids=KNOWN)
def test_what_other_files_know_of_is_lost(
    logs: Logs, files: dict[str, bytes], left_out: list[tuple[str, bool]], holes: list[tuple[int, int, bool]], tmp_path: Path
) -> None:
    path = _partition(tmp_path, logs)
    for name, data in files.items():
        (path / name).write_bytes(data)
    result = recover.run([str(path)], str(tmp_path / "out"), config={})
    assert [(row.code, row.is_lost) for row in _of(Dropped, result.rows)] == left_out
    assert _holes(result.rows) == holes
    assert result.is_whole == (not left_out and not holes)
    assert len(_of(Rewritten, result.rows)) == (TORN in logs.get(0, []))


def test_a_damaged_snapshot_of_metadata_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metadata.copy"  # known by its quorum-state
    shutil.copytree(CASES / "log-dir-killed-4.3.0" / "__cluster_metadata-0", path)
    snapshot = next(path.glob("*.checkpoint"))
    snapshot.write_bytes(flipped(snapshot.read_bytes(), 100))
    result = recover.run([str(path)], str(tmp_path / "out"), config={})
    assert not result.is_whole
    assert [(row.source, row.is_lost) for row in _of(Dropped, result.rows)] == [(str(snapshot), True)]
    assert not (tmp_path / "out" / snapshot.name).exists() and (tmp_path / "out" / "quorum-state").exists()


# --- replicas


def _replicas(tmp_path: Path, *contents: list[bytes]) -> list[Path]:
    return [_partition(tmp_path / f"broker{row}", {0: batches}) for row, batches in enumerate(contents)]


THREE, FOUR, SIX = _numbered(*range(3)), _numbered(*range(4)), _numbered(*range(6))
PLAIN = list(map(_batch, range(3)))
NEWER = [*PLAIN[:2], _batch(2, value=b"new", epoch=2)]
SPARSE, THINNED = _numbered(0, 4, 9), _numbered(0, 7, 9, 20)
FOURS = [_batch(0, 4), _batch(4, 4, value=b"other"), _batch(8, 4)]
SAME = [_message(offset, b"same") for offset in (0, 2, 4, 5)]
GAPS, STEPS = [_message(offset) for offset in (0, 1, 4, 10)], [_message(offset) for offset in (0, 1, 4, 5, 6)]
FULL, CLEANED = _batch(1, 3), batch(base_offset=1, records=[record(value=b"v", offset_delta=2)], last_offset_delta=2)
BEGIN, END = message_set(messages=[message(value=b"v")] * 2), message_set(messages=[message(value=b"w")] * 2, base_offset=6)
FROM_2_TO_5 = wrapper(messages=[message(value=b"%d" % row) for row in range(4)], base_offset=2)
MERGED: dict[str, tuple[list[list[bytes]], list[bytes], list[int | None]]] = {
    "the lineage of the higher leader epoch": ([[*PLAIN, _batch(3)], NEWER], NEWER, [3]),
    "each hole by the next replica": (
        [[flipped(data) if offset % 3 == row else data for offset, data in enumerate(SIX)] for row in range(3)],
        SIX,
        [],
    ),
    "the likelier offset": ([[*FOUR[:3], _claims(FOUR[3], 0x303)], FOUR], FOUR, []),
    "the epoch in order": (
        [[_batch(0, epoch=85), PLAIN[1], flipped(PLAIN[2])], [PLAIN[0], *map(flipped, PLAIN[1:])]],
        PLAIN[:2],
        [2],
    ),
    "a wrong offset, though another batch has the same contents": (
        [[*SAME[:3], _claims(SAME[3], (1 << 24) + 5)], SAME],
        SAME,
        [],
    ),
    "a right offset after a wrong one, known by what is around another copy": (
        [[_claims(GAPS[0], 0x85 << 24), GAPS[1], *map(flipped, GAPS[2:])], [GAPS[0], _claims(GAPS[1], (1 << 56) + 1), *GAPS[2:]]],
        GAPS,
        [],
    ),
    "a wrong offset that damage before it would explain, seen by its place": (
        [FOUR, [*SIX[:5], flipped(SIX[5])], [SIX[0], *map(flipped, SIX[1:3]), _claims(SIX[3], 0x5B), SIX[4][:11]]],
        SIX[:5],
        [5],
    ),
    "a wrong offset with a wrong length": ([[*FOUR[:3], _with_length(_claims(FOUR[3], 0x10003), 40)], FOUR], FOUR, []),
    "a wrong offset that leaves offsets where no bytes are": (
        [[flipped(FOURS[0]), _claims(FOURS[1], 0), FOURS[2]], [flipped(FOURS[0]), *FOURS[1:]]],
        FOURS[1:],
        [0],
    ),
    "batches that compaction has thinned out, by as many bytes": (
        [[THINNED[0], flipped(THINNED[1]), *THINNED[2:]], [*THINNED[:2], flipped(THINNED[2]), THINNED[3]]],
        THINNED,
        [],
    ),
    "neighbours with wrong offsets, which do not vouch for them": (
        [[STEPS[0], _claims(STEPS[1], (1 << 16) + 1), _claims(STEPS[2], (2 << 24) + 4), *STEPS[3:]], STEPS],
        STEPS,
        [],
    ),
    "an offset out of order, which counts no more than one at the end": (
        [[*SPARSE[:2], SPARSE[2][:40]], [SPARSE[0], _claims(SPARSE[1], (1 << 40) + 4), SPARSE[2]]],
        SPARSE,
        [],
    ),
    "a message out of line beside the wrapper of its offset": (
        [[BEGIN, FROM_2_TO_5, END], [BEGIN, bytes(len(FROM_2_TO_5)), END, _message(2, b"s"), bytes(40)]],
        [BEGIN, FROM_2_TO_5, END],
        [2],
    ),
    "the first of a full and a cleaned batch": ([[_batch(0), FULL], [_batch(0), CLEANED]], [_batch(0), FULL], []),
    "the first of a cleaned and a full batch": ([[_batch(0), CLEANED], [_batch(0), FULL]], [_batch(0), CLEANED], []),
    "zeros, beside what a replica has lost": ([[bytes(80)], [THREE[0], flipped(THREE[1]), THREE[2]]], [THREE[0], THREE[2]], [1]),
    # a batch has 69 bytes
    "zeros at the end": ([[_batch(0), bytes(300)], PLAIN], PLAIN, []),
    "zeros at the end of a replica, which brokers preallocate": ([PLAIN, [*PLAIN, bytes(300)]], PLAIN, []),
    # compaction has left gaps in both
    "what is torn at the end of a log with gaps": ([[*THINNED[:2], THINNED[2][:50]], THINNED], THINNED, []),
    "more bytes at the end of a log with gaps": ([[*THINNED[:3], flipped(THINNED[3]), b"?" * 9], THINNED], THINNED, [20]),
    "more bytes between batches than a replica has": (
        [[SIX[0], flipped(_batch(1, value=bytes(500))), SIX[4]], [SIX[0], *SIX[3:5]]],
        [SIX[0], *SIX[3:5]],
        [1],
    ),
    "as many bytes at the end as a replica has": ([[_batch(0), b"?" * 138], PLAIN], PLAIN, []),
    "more bytes at the end than a replica has": ([[_batch(0), b"?" * 139], PLAIN], PLAIN, [None]),
}


@each("copies, log, lost", MERGED.values(), ids=MERGED, quick=20)
def test_others_fill_what_one_lacks(copies: list[list[bytes]], log: list[bytes], lost: list[int | None], tmp_path: Path) -> None:
    result = _recover(tmp_path, *({0: batches} for batches in copies))
    assert _log(tmp_path / "out") == b"".join(log)
    assert [row.offset_first for row in _of(Dropped, result.rows) if row.is_lost] == lost and result.is_whole == (not lost)


ONE_EPOCH: Logs = {0: [_batch(0), _batch(1)], 2: [_batch(2)], 3: [_batch(3), _batch(4)]}
HURT_AT_1, HURT_AT_2 = {**ONE_EPOCH, 0: [_batch(0), flipped(_batch(1))]}, {**ONE_EPOCH, 2: [flipped(_batch(2))]}
SHORT: Logs = {0: ONE_EPOCH[0], 2: [_batch(2)]}
LATER_EPOCH: Logs = {0: [_batch(0), _batch(1), _batch(2, epoch=2)], 3: [_batch(3, epoch=2)]}
EPOCHS: dict[str, tuple[list[Logs], Logs]] = {
    "at the end of a log": ([HURT_AT_1, {**ONE_EPOCH, 0: [_batch(0), _batch(1, epoch=85)]}, HURT_AT_1], ONE_EPOCH),
    "of a log of one batch": ([HURT_AT_2, {**ONE_EPOCH, 2: [_batch(2, epoch=85)]}, HURT_AT_2], ONE_EPOCH),
    "of the last log, by the logs before it": ([{**SHORT, 2: [_batch(2, epoch=1 << 28)]}, SHORT], SHORT),
    "of the last log, by the nearest batches of any replica": (
        [{0: [_batch(0)], 3: LATER_EPOCH[3]}, {0: LATER_EPOCH[0], 3: [_batch(3, epoch=131_074)]}],
        LATER_EPOCH,
    ),
}


@each("copies, right", EPOCHS.values(), ids=EPOCHS)
def test_a_wrong_epoch_is_judged_by_the_logs_of_all_replicas(copies: list[Logs], right: Logs, tmp_path: Path) -> None:
    rows = _recover(tmp_path, *copies).rows
    assert _logs(tmp_path / "out") == _joined(right)
    if len(copies) == 3:  # nobody has the right one
        assert len(_of(Rewritten, rows)) == 1


def test_batches_of_a_lower_epoch_end_where_a_higher_one_starts_in_another_replica(tmp_path: Path) -> None:
    """The batches of the first replica are one piece, up to those of the highest epoch."""
    one = [*(_batch(offset, epoch=1) for offset in range(7)), *(_batch(offset, epoch=3) for offset in range(7, 10))]
    other = [*one[:4], *(_batch(offset, value=b"new", epoch=2) for offset in (4, 5))]
    paths = _replicas(tmp_path, one, other)
    rows = kdump.recover(paths[0], tmp_path / "out", merge=paths[1:])
    assert _log(tmp_path / "out") == b"".join([*other, *one[7:]])
    left = [(row.code, row.offset_first, row.offset_last) for row in _of(Dropped, rows)]
    assert left == [("leader-epoch-regression", 4, 4), ("leader-epoch-regression", 5, 6)]


UNOPENABLE: dict[str, dict[str, Any]] = {
    "no value": {"has_null_value": True},
    "an empty value": {"payload": b""},
    "no messages": {"messages": []},
    "no compressed bytes": {"payload": b"garbage" * 10},
    "one in another": {"messages": [wrapper(messages=[message()], magic=1)]},
}


@each("is_long", [False, True])
@each("kind", UNOPENABLE)
@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_that_a_start_cannot_open_is_left_out(magic: int, kind: str, is_long: bool, tmp_path: Path) -> None:
    """Its checksum fits, and its length may be wrong."""
    sound = [wrapper(messages=[message(magic=magic)] * 5, magic=magic, base_offset=base) for base in (0, 10, 15)]
    bad = wrapper(magic=magic, offset=9, **UNOPENABLE[kind])
    bad = bad[:8] + (7000).to_bytes(4, "big") + bad[12:] if is_long else bad
    rows = kdump.recover(_partition(tmp_path, {0: [sound[0], bad, *sound[1:]]}), tmp_path / "out")
    assert _log(tmp_path / "out") == b"".join(sound) and _is_safe(tmp_path / "out")
    (left,) = _of(Dropped, rows)
    assert (left.code, left.offset_first, left.is_lost) == ("legacy-wrapper-null", 9, True)


def test_a_damaged_wrapper_is_taken_to_start_after_the_batch_before_it(tmp_path: Path) -> None:
    wrappers = [wrapper(messages=[message(magic=1)] * 5, magic=1, base_offset=base) for base in (0, 5, 10, 15)]
    logs = {0: [wrappers[0], flipped(wrappers[1], -3), flipped(wrappers[2], -3), wrappers[3]]}
    rows = kdump.recover(_partition(tmp_path, logs), tmp_path / "out")
    assert [(row.offset_first, row.offset_last) for row in _of(Dropped, rows)] == [(5, 9), (10, 14)]


def test_a_contradiction_is_refused_with_both_sides_named(tmp_path: Path) -> None:
    paths = _replicas(tmp_path, [_batch(0), _batch(1, value=b"a")], [_batch(0), _batch(1, value=b"b")])
    with pytest.raises(CorruptData) as caught:
        kdump.recover(paths[0], tmp_path / "out", merge=paths[1:])
    assert caught.value.code == "replica-divergence"
    assert all(f"{path}/{FIRST}.log at byte" in caught.value.message for path in paths)
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.incomplete").exists()


def test_where_nothing_but_an_index_is_left_the_new_log_starts_at_its_base(tmp_path: Path) -> None:
    path = _partition(tmp_path, {})
    (path / f"{5:020}.index").write_bytes(b"\0\0\0\1\0\0\0\1")
    kdump.recover(path, tmp_path / "out")
    assert _log(tmp_path / "out", 5) == b""  # at 0, a broker would give offsets away twice


@pytest.mark.parametrize(("limit", "most"), [("LARGEST_DELTA", 2), ("LARGEST_SIZE", 3 * len(_batch(0)))])
def test_batches_of_a_log_no_segment_holds_become_several(limit: str, most: int, tmp_path: Path, monkeypatch: Patch) -> None:
    whole = [_batch(offset) for offset in range(7)]
    path = _partition(tmp_path, {0: [*whole, b"garbage"]})
    for module in (partition_recovery, log_writer):
        monkeypatch.setattr(module, limit, most)
    kdump.recover(path, tmp_path / "out")
    logs = {int(log.stem): log.read_bytes() for log in sorted((tmp_path / "out").glob("*.log"))}
    assert b"".join(logs.values()) == b"".join(whole) and len(logs) >= 3
    assert all(len(log) <= 3 * len(whole[0]) and log.startswith(whole[base]) for base, log in logs.items())


def test_a_replica_of_another_topic_of_the_name_is_left_out(tmp_path: Path) -> None:
    copies = _replicas(
        tmp_path, [_batch(0), _batch(1)], [_batch(0, value=b"other", epoch=7), _batch(1, epoch=7), _batch(2, epoch=7)]
    )
    for copy, topic_id in zip(copies, ("AAAAAAAAAAAAAAAAAAAAAQ", "BAAAAAAAAAAAAAAAAAAAAQ"), strict=True):
        (copy / "partition.metadata").write_bytes(partition_metadata(topic_id=topic_id))
    rows = kdump.recover(copies[0], tmp_path / "out", merge=[copies[1]])
    (left_out,) = _of(Dropped, rows)
    said = "of another topic of this name: its id is BAAAAAAAAAAAAAAAAAAAAQ, not AAAAAAAAAAAAAAAAAAAAAQ"
    assert (left_out.source, left_out.reason) == (str(copies[1]), said)
    assert _log(tmp_path / "out") == _batch(0) + _batch(1)


@each(
    "words, code, said",
    [
        ("orders-0 --merge empty", 2, "--merge empty: there is no replica of a partition that is recovered"),
        ("orders-0 sums-1 --merge other", 2, "--merge other: there is no replica"),
        ("orders-0 --merge other", 0, "2 batches, 2 records"),  # a partition by what is in it, whatever it is called
        ("orders-0 copy", 2, "copy is not a partition directory; a log directory is recovered alone"),
        ("orders-0 copy/orders-0", 2, "two partitions are called orders-0: recover them one by one"),
        ("empty", 3, "empty: is neither a partition directory nor a log directory"),
    ],
)
def test_only_what_fits_is_taken(words: str, code: int, said: str, tmp_path: Path, monkeypatch: Patch, capfd: Capture) -> None:
    for name in ("orders-0", "sums-1", "copy/orders-0"):
        _partition(tmp_path, {0: [_batch(0)]}, name)
    _partition(tmp_path, {0: [_batch(0), _batch(1)]}, "other")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["recover", *words.split(), "-o", "out"]) == code
    assert said in "".join(capfd.readouterr()) and (tmp_path / "out").exists() == (code == 0)


def test_a_directory_in_the_place_of_a_log_is_lost(tmp_path: Path) -> None:
    path = _partition(tmp_path, {0: [_batch(0)]})
    for name in (f"{1:020}.log", f"{1:020}.index", "odd.log"):
        (path / name).mkdir()
    rows = kdump.recover(path, tmp_path / "out")
    wanted = [(name, "file-is-directory", True) for name in (f"{1:020}.log", "odd.log")]
    assert [(os.path.basename(row.source), row.code, row.is_lost) for row in _of(Dropped, rows)] == wanted
    assert _logs(tmp_path / "out") == {0: _batch(0)}


TOLERATED = [
    *(("log", code, f"{0:020}.log", code != "io-error") for code in ("crc-mismatch", "codec-package-missing", "io-error")),
    ("index", "index-entry-order", f"{0:020}.index", False),
    ("metadata", "partition-metadata-bad", "partition.metadata", True),
]


@each("file_type, code, name, is_tolerated", TOLERATED)
def test_only_errors_of_batches_as_they_were_may_remain(file_type: str, code: str, name: str, is_tolerated: bool) -> None:
    recovery = object.__new__(partition_recovery.PartitionRecovery)
    recovery.remaining = []
    finding = Finding(code, "error", name, file_type, 0, 9, None, None, None, None, None, None, 1, "none", 0, "keep", "Odd.")
    assert (recovery._tolerates(finding), recovery.remaining) == (is_tolerated, [finding] * is_tolerated)


# --- log directories


def test_a_log_directory_can_stand_in_for_the_broken_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    _partition(data, {0: [_batch(0), flipped(_batch(1))]})
    _partition(data, {0: [_batch(0)]}, "sums-1")
    (data / "orders-0" / "partition.metadata").write_bytes(partition_metadata())
    (data / "sums-1" / "partition.metadata").write_bytes(partition_metadata(topic_id="AAAAAAAAAAAAAAAAAAAABQ"))
    (data / "gone-0.0123456789abcdef0123456789abcdef-delete").mkdir()
    (data / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    (data / "recovery-point-offset-checkpoint").write_text("0\n3\norders 0 2\nsums 1 1\ngone 0 7\n")
    (data / "log-start-offset-checkpoint").write_text("0\n1\norders 0 x\n")
    (data / ".kafka_cleanshutdown").touch()
    kdump.recover(data, tmp_path / "out")
    checkpoints = {"recovery-point-offset-checkpoint": "0\n2\norders 0 1\nsums 1 1\n", "log-start-offset-checkpoint": "0\n0\n"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"meta.properties", "orders-0", "sums-1", *checkpoints}
    assert {name: (tmp_path / "out" / name).read_text() for name in checkpoints} == checkpoints
    assert all(row.is_safe for row in kdump.forecast(tmp_path / "out"))


def test_a_summary_has_the_sums_of_what_was_taken_and_of_what_was_not(tmp_path: Path) -> None:
    path = _partition(tmp_path, {0: [_batch(0), flipped(_batch(1)), _batch(2)], 3: [flipped(_batch(3)), _batch(4)]})
    (path / f"{FIRST}.log.deleted").write_bytes(_batch(0))  # which the log has as well
    size = len(_batch(0))
    made = recover.run([str(path)], str(tmp_path / "out"), config={})
    assert [(row.offset_first, row.offset_last) for row in _of(Recovered, made.rows)] == [(0, 2), (4, 4)]
    assert made.summary("out") == RecoverSummary("out", 1, 2, 3 * size, 3, 3, 0, 3 * size, 2, 2 * size, 2, 2, False, 0, 0, 0.0, 1)


# --- the command


def test_the_exit_code_says_whether_something_is_lost(tmp_path: Path, capfd: Capture) -> None:
    sound, damaged = _partition(tmp_path / "a", {0: [_batch(0)]}), _partition(tmp_path / "b", {0: [flipped(_batch(0))]})
    assert main(["recover", str(sound), "-o", str(tmp_path / "o1")]) == 0
    said = capfd.readouterr().out
    assert "Nothing is lost of what was there." in said and "\nNext\n  kdump check " in said
    assert main(["recover", str(damaged), "-o", str(tmp_path / "o2")]) == 1
    assert "lost        " in capfd.readouterr().out
    assert main(["recover", str(damaged)]) == 2
    with pytest.raises(Unreadable, match="no such file"):
        main(["recover", str(tmp_path / "nothing"), "-o", str(tmp_path / "o3")])
    assert not (tmp_path / "o3").exists()


def test_rows_have_the_keys_of_lost_records(tmp_path: Path, capfd: Capture) -> None:
    lost = flipped(_records(1, [b"a", b"\xff", b"c"]), -60)
    path = _partition(tmp_path, {0: [_batch(0), lost, _batch(4)]})
    assert main(["recover", str(path), "-o", str(tmp_path / "out"), "--output", "ndjson"]) == 1
    rows = list(map(json.loads, capfd.readouterr().out.splitlines()))
    found = [(row["offset"], row["key"], row["keyBase64"]) for row in rows if row["kind"] == "lost-record"]
    assert found == [(1, "a", None), (2, None, "/w=="), (3, "c", None)]


def test_codes_are_those_of_checks() -> None:
    _, seen = directories.measure(range(12), 3, directories.GOLDEN, "recover")
    assert seen.codes and seen.codes <= FAULTS.keys() | {""}


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path) -> None:
    path = _partition(tmp_path, {0: [_batch(offset, value=b"v" * 90_000) for offset in range(20)]})
    before = _contents(path)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    command = [sys.executable, "-m", "kdump", "recover", str(path), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, check=False)
    assert done.returncode == 4, done.stderr
    assert _contents(path) == before and sorted(os.listdir(tmp_path)) == ["orders-0"]


SALES = "AAAAAAAAAAAAAAAAAAAAAg"
OF_SALES = batch(records=[record(value=value) for value in (topic("sales", SALES), replicas(SALES, 0, 1))])
KRAFT = {"meta.properties": b"version=1\nnode.id=1\ncluster.id=x\n"}
OF_OTHERS = {"orders-0/partition.metadata": partition_metadata(topic_id=SALES), f"__cluster_metadata-0/{FIRST}.log": OF_SALES}


@each(
    "first, files",
    [(_batch(0), KRAFT), (_batch(0), KRAFT | OF_OTHERS), (wrapper(messages=[flipped(_message(0))]), {})],
    ids=["no metadata beside properties of KRaft", "the id of another topic", "a wrong CRC in a wrapper"],
)
def test_an_error_that_only_a_check_of_all_shows_remains(first: bytes, files: dict[str, bytes], tmp_path: Path) -> None:
    _partition(tmp_path / "data", {0: [first]})
    for name, data in files.items():
        (tmp_path / "data" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_bytes(data)
    result = recover.run([str(tmp_path / "data")], str(tmp_path / "out"), config={})
    assert (tmp_path / "out" / "orders-0").exists()
    assert result.remaining_errors == 1 and not result.is_whole


def test_several_partitions_are_recovered_into_one_directory(tmp_path: Path) -> None:
    paths = [_partition(tmp_path, {0: [_batch(0)]}, name) for name in ("orders-0", "sums-1")]
    assert main(["recover", *map(str, paths), "-o", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["orders-0", "sums-1"]


RESERVED = "version=1\nnode.id=1\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n"


@pytest.mark.parametrize("text", ["", "garbage", "version=1\nnode.id=1\n", "version=0\nbroker.id=x\n", RESERVED])
def test_a_log_directory_whose_properties_no_broker_takes_is_recovered_without_them(text: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_partition(data, topic="orders", segments={0: [_batch(0), _batch(1)]})
    (data / "meta.properties").write_text(text)
    result = recover.run([str(data)], str(tmp_path / "out"), config={})
    lost = [row.source for row in result.rows if isinstance(row, Dropped) and row.is_lost]
    assert lost == [str(data / "meta.properties")] and not result.is_whole
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == ["orders-0"]


def test_what_a_device_does_not_give_is_said_to_be_that(tmp_path: Path, monkeypatch: Patch) -> None:
    batches = [_batch(offset, value=b"v" * 20_000) for offset in range(3)]
    path, take = _partition(tmp_path, {0: batches}) / f"{0:020d}.log", Source._take

    def failing(source: Source, position: int, count: int) -> bytes:
        if source.path == str(path) and position <= 30_000 < position + count:
            raise Unreadable("file-io-error", "Input/output error", path=source.path, position=position)
        return take(source, position, count)

    monkeypatch.setattr(Source, "_take", failing)
    monkeypatch.setattr(Source, "is_direct", False)
    result = recover.run([str(path.parent)], str(tmp_path / "out"), config={})
    assert [(row.code, row.is_lost) for row in _of(Dropped, result.rows)] == [("file-io-error", True)]
    assert _holes(result.rows) == [(1, 1, True)] and _log(tmp_path / "out") == batches[0] + batches[2]


def test_a_log_start_after_the_log_end_is_not_moved_to_the_end(tmp_path: Path) -> None:
    """Or else the next broker would delete all batches."""
    data = tmp_path / "data"
    for partition in (0, 1):
        write_partition(data, topic="orders", partition=partition, segments={0: [_batch(0), _batch(1)]})
    for name in ("log-start-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (data / name).write_bytes(checkpoint(entries=[("orders", 0, 9), ("orders", 1, 2)]))
    kdump.recover(data, tmp_path / "out")
    assert (tmp_path / "out" / "log-start-offset-checkpoint").read_text() == "0\n1\norders 1 2\n"
    assert (tmp_path / "out" / "recovery-point-offset-checkpoint").read_text() == "0\n2\norders 0 2\norders 1 2\n"


@each("state, taken", [("delete", 0), ("stray", 1)])
def test_a_deleted_partition_of_a_log_directory_is_left_out_and_a_stray_is_not(state: str, taken: int, tmp_path: Path) -> None:
    data, name = tmp_path / "data", f"orders-0.{'0' * 32}-{state}"
    write_partition(data, topic="orders", segments={0: [_batch(0)]}).rename(data / name)
    (data / "meta.properties").write_text("version=1\ncluster.id=a\nnode.id=1\n")
    (data / "recovery-point-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 0, 1)]))
    result = recover.run([str(data)], str(tmp_path / "out"), config={})
    assert result.is_whole and result.partitions == taken
    names = ["meta.properties", *([name] * taken), "recovery-point-offset-checkpoint"]
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == names
    assert (tmp_path / "out" / names[-1]).read_text() == ("0\n1\norders 0 1\n" if taken else "0\n0\n")


def test_replicas_are_found_in_log_directories(tmp_path: Path) -> None:
    for broker, batches in (("a", [_batch(0), flipped(_batch(1))]), ("b", [flipped(_batch(0)), _batch(1)])):
        _partition(tmp_path / broker, {0: batches})
        (tmp_path / broker / "orders-0" / "partition.metadata").write_bytes(partition_metadata())
        (tmp_path / broker / "meta.properties").write_text(f"version=1\nnode.id={ord(broker)}\ncluster.id=x\n")
    result = recover.run([str(tmp_path / "a")], str(tmp_path / "out"), merge=[str(tmp_path / "b")], config={})
    assert (tmp_path / "out" / "orders-0" / f"{FIRST}.log").read_bytes() == _batch(0) + _batch(1)
    assert result.is_whole
    assert "node.id=97" in (tmp_path / "out" / "meta.properties").read_text()


_HOLD = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"


@pytest.mark.parametrize("is_held", [True, False])
def test_a_broker_that_runs_on_an_input_is_named(is_held: bool, tmp_path: Path, capfd: Capture) -> None:
    path = _partition(tmp_path, {0: [_batch(0)]})
    lock = tmp_path / ".lock"
    lock.touch()
    command = [sys.executable, "-c", _HOLD, str(lock if is_held else tmp_path / "other")]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout is not None and holder.stdout.readline()
        for arguments in (["recover", str(path), "-o", str(tmp_path / "out")], ["forecast", f"{path}/"]):
            assert main(arguments) == 0
            assert (f"{tmp_path} is locked: a broker is running on it" in capfd.readouterr().err) == is_held
        assert holder.stdin is not None
        holder.stdin.close()


@pytest.mark.parametrize("size", [8000, 6500, 3500])
def test_messages_in_a_damaged_wrapper_are_not_there_beside_the_whole_one(size: int, tmp_path: Path) -> None:
    """What does not compress stands in a wrapper as it is."""
    messages = [message(value=random.Random(row).randbytes(3000)) for row in range(3)]
    logs = {0: [wrapper(messages=messages, base_offset=0, codec="lz4", compressor=partial(lz4_frame, is_stored=True))]}
    whole, other = (write_partition(tmp_path / name, topic="a", segments=logs) for name in ("whole", "other"))
    data = (whole / f"{FIRST}.log").read_bytes()
    (other / f"{FIRST}.log").write_bytes(data[:size])
    kdump.recover(other, tmp_path / "merged", merge=[whole])
    assert (tmp_path / "merged" / f"{FIRST}.log").read_bytes() == data


def test_a_log_start_after_the_log_end_is_reported(tmp_path: Path) -> None:
    path = _partition(tmp_path, {0: [_batch(0), _batch(1)]})
    (tmp_path / "log-start-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 0, 9)]))
    (hole,) = _of(Hole, kdump.recover(path, tmp_path / "out"))
    assert (hole.offset_first, hole.offset_last) == (2, 8)
    assert "log-start-offset-checkpoint says that the log starts at offset 9" in hole.reason
    # a start without that checkpoint removes leader epochs at or after the log end, so epoch 0 must not start there
    assert (tmp_path / "out" / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"


@pytest.mark.parametrize(("epoch", "kept"), [(5, 5), (12, 12), (4 + 1024, 4), (4 + (1 << 30), 4)])
def test_an_election_that_an_older_list_of_epochs_lacks_is_kept(epoch: int, kept: int, tmp_path: Path) -> None:
    path = _partition(tmp_path, {0: [*(_batch(offset, epoch=4) for offset in range(9)), _batch(9, epoch=epoch)]})
    (path / "leader-epoch-checkpoint").write_text("0\n1\n4 0\n")
    kdump.recover(path, tmp_path / "out")
    assert _log(tmp_path / "out") == b"".join([*(_batch(offset, epoch=4) for offset in range(9)), _batch(9, epoch=kept)])


def test_replicas_whose_wrappers_share_messages_are_refused(tmp_path: Path) -> None:
    """Compaction took the last message of one of them."""
    cleaned = wrapper(messages=[message(value=b"%d" % row) for row in range(3)], base_offset=2)
    with pytest.raises(CorruptData, match=r"offsets 2 to 5, CRC .* \(offsets 2 to 4, CRC"):
        _recover(tmp_path, {0: [BEGIN, FROM_2_TO_5, END]}, {0: [BEGIN, cleaned, END]})


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_transaction_that_a_compressed_marker_aborts_is_indexed(tmp_path: Path, codec: Codec) -> None:
    data = _batch(0, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    marker = transaction_marker(is_commit=False, base_offset=1, producer_id=7, codec=codec)
    partition = _partition(tmp_path, {0: [data, marker]})
    rows = list(kdump.recover(partition, tmp_path / "out"))
    assert not [row for row in rows if isinstance(row, Dropped)]
    assert _log(tmp_path / "out") == data + marker
    assert (tmp_path / "out" / f"{FIRST}.txnindex").stat().st_size == 34
    codes = [[one.code for one in kdump.check(tmp_path / "out", level=level)] for level in ("full", "deep")]
    assert codes == [["control-batch-shape"], ["control-batch-shape"]]


@pytest.mark.parametrize("name", ["__cluster_metadata-0", "orders-0"])
def test_metadata_with_a_hole_are_not_to_be_put_in_place(name: str, tmp_path: Path, capfd: Capture) -> None:
    root = tmp_path / "kafka"
    root.mkdir()
    (root / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n")
    path = _partition(root, {0: [_batch(0), flipped(_batch(1)), _batch(2)]}, name=name)
    assert main(["recover", str(path), "-o", str(tmp_path / "NEW" / name)]) == 1
    out = capfd.readouterr().out
    assert ("chown -R" in out) == (name == "orders-0")
    assert ("  # not to be put into its place where another controller has a whole copy" in out) == (name != "orders-0")


def test_bytes_and_batches_inside_damaged_ones_count_once(tmp_path: Path) -> None:
    """As often as there are two damaged batches with whole ones in them."""
    inside, first, second = _batch(40, 3, value=b"elsewhere"), bytearray(_batch(1, value=bytes(2000))), b""
    for at in (300, 900, 1500):
        first[at : at + len(inside)] = inside
    second = bytes(first[:7]) + b"\2" + bytes(first[8:])
    log = [_batch(0), bytes(first), second, _batch(3)]
    summary = recover.run([str(_partition(tmp_path, {0: log}))], str(tmp_path / "out"), config={}).summary("")
    assert (summary.bytes_dropped, summary.batches_dropped) == (2 * len(first), 2)


@each("is_alone", [True, False])
def test_a_log_about_to_be_deleted_is_lost_if_nothing_else_is_there(is_alone: bool, tmp_path: Path) -> None:
    path = _partition(tmp_path / str(is_alone), {5: [] if is_alone else [_batch(5)]})
    if is_alone:
        for file in path.iterdir():
            file.unlink()
    (path / f"{FIRST}.log.deleted").write_bytes(_batch(0))
    result = recover.run([str(path)], str(tmp_path / str(is_alone) / "out"), config={})
    dropped = [(row.code, row.is_lost) for row in _of(Dropped, result.rows) if row.source.endswith(".deleted")]
    assert (result.is_whole, dropped[0][1]) == (not is_alone, is_alone)
