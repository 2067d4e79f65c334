"""What a simulated start appends to, cuts and looks up, at each border, against plain lists and Kafka's rules."""

import random
import struct
from collections import Counter
from collections.abc import Callable
from itertools import accumulate, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from kdump.errors import CorruptData, KdumpError
from kdump.forecasts import circumstances, sentences, wrappers
from kdump.forecasts.batches import LogReader, find
from kdump.forecasts.directory import Directory, File, Snapshots
from kdump.forecasts.events import Events
from kdump.forecasts.exceptions import NUMBER_FORMAT, BrokerException, InvalidOffset, StorageFailure
from kdump.forecasts.forecast import Request, _go_offline, uneventful
from kdump.forecasts.indexes import OffsetIndex, TimeIndex, TransactionIndex
from kdump.forecasts.known_end import KnownEnd
from kdump.forecasts.leader_epochs import LeaderEpochs
from kdump.forecasts.neighbours import Failure
from kdump.forecasts.permissions import Denial
from kdump.forecasts.producer_state import OpenFrom, ProducerStates
from kdump.forecasts.row import Forecast
from kdump.forecasts.segment import Segment, Segments
from kdump.forecasts.settings import Settings, config_of
from kdump.forecasts.sorted_ints import SortedInts
from kdump.releases.broker_startup import StartRules
from tests.builders.files import producer_entry, producer_snapshot
from tests.builders.fleets import flipped
from tests.builders.records import Record, batch, message, message_set, record, wrapper
from tests.loops import each

RULES = StartRules("4.3.1")


def _outcome(append: Callable[..., object], *given: Any, **options: Any) -> str:
    """How an append ends: "" or the class that a broker throws, without its package."""
    try:
        append(*given, **options)
    except BrokerException as error:
        return "InvalidOffset" if isinstance(error, InvalidOffset) else error.name.rpartition(".")[2]
    return ""


# --- indexes (AbstractIndex, OffsetIndex, TimeIndex, TransactionIndex)


def test_an_offset_index_takes_higher_offsets_until_it_is_full() -> None:
    index = OffsetIndex(Directory("", {}), File(), 100)
    index.reset(3 * 8 + 7)
    found = [_outcome(index.append, offset, 10 * row) for row, offset in enumerate((100, 100, 99, 101, 105, 106))]
    assert found == ["", "InvalidOffset", "InvalidOffset", "", "", "IllegalArgumentException"]
    assert (index.size, index.room, index.last_offset) == (24, 24, 105)
    assert [index.can_hold(100 + far) for far in (-1, 0, 0x7FFFFFFF, 0x80000000)] == [False, True, True, False]


def test_an_offset_index_is_cut_and_looked_up_as_a_list(tmp_path: Path) -> None:
    chance = random.Random(62)
    for count in (0, 1, 2, 7, 2000):
        offsets = sorted(chance.sample(range(5 * count + 5), count))
        file = tmp_path / f"{count}.index"
        file.write_bytes(b"".join(struct.pack(">ii", offset, 10 * row) for row, offset in enumerate(offsets)))
        for target in {0, 5 * count + 9, *(offset + step for offset in offsets[:3] + offsets[-3:] for step in (-1, 0, 1))}:
            index = OffsetIndex(Directory("", {}), File(str(file), 8 * count), 50)
            below = sum(offset <= target for offset in offsets)
            assert index.position_of(50 + target) == (10 * (below - 1) if below else 0)
            index.truncate_to(50 + target)
            assert index.size == 8 * sum(offset < target for offset in offsets)
            assert index.last_offset == (50 + offsets[index.size // 8 - 1] if index.size else 50)


def test_a_time_index_keeps_its_last_slot_and_takes_no_earlier_time() -> None:
    index = TimeIndex(File(), 100)
    index.reset(4 * 12 + 11)
    found = [
        _outcome(index.append, *entry)
        for entry in ((5, 100), (5, 100), (4, 101), (6, 99), (6, 100), (7, 101), (8, 102), (9, 103))
    ]
    assert found == [*("", "", "IllegalStateException", "InvalidOffset", "", ""), *["IllegalArgumentException"] * 2]
    assert (index.size, index._last) == (36, (7, 101))
    assert [_outcome(index.append, time, 110, is_last=True) for time in (7, 8, 8, 9)] == ["", "", "", "BufferOverflowException"]
    assert (index.size, index.room, index._last) == (48, 48, (8, 110))


def test_aborted_transactions_end_after_one_another() -> None:
    index = TransactionIndex()
    assert [_outcome(index.append, last) for last in (5, 5, 4, 6)] == ["", *["IllegalArgumentException"] * 2, ""]
    assert index.size == 2 * 34


# --- lists of segments and snapshots (LogSegments, ProducerStateManager.truncateAndReload)


def test_segments_and_snapshots_are_looked_up_as_in_lists() -> None:
    chance = random.Random(62)
    for _ in range(60):
        offsets = sorted(chance.sample(range(20), chance.randrange(6)))
        segments, snapshots = Segments(), Snapshots(f"{offset:020}.snapshot" for offset in offsets)
        for offset in chance.sample(offsets, len(offsets)):
            segments.add(SimpleNamespace(base_offset=offset))  # type: ignore[arg-type]
        for start in range(21):
            floor, above = segments.floor(start), segments.above(start)
            assert (floor and floor.base_offset) == max((one for one in offsets if one <= start), default=None)
            assert (above and above.base_offset) == min((one for one in offsets if one > start), default=None)
            for end in range(21):
                assert snapshots.outside(start, end) == [one for one in offsets if one <= start or one > end]
                if end < start:
                    continue
                first = max((one for one in offsets if one <= start), default=start)
                between = [one for one in offsets if first <= one < end] if start < end else []
                assert [segment.base_offset for segment in segments.between(start, end)] == between
            assert start == 0 or _outcome(segments.between, start, start - 1) == "IllegalArgumentException"


# --- producers and leader epochs


def _states(folder: Path, names: dict[int, bytes] | None = None) -> ProducerStates:
    folder.mkdir(exist_ok=True)
    for offset, data in (names or {}).items():
        (folder / f"{offset:020}.snapshot").write_bytes(data)
    directory = Directory.of(str(folder))
    return ProducerStates(directory, directory.snapshots().copy(), RULES)


def test_a_snapshot_is_taken_only_after_the_last_one_and_strays_go_but_for_the_newest(tmp_path: Path) -> None:
    states = _states(tmp_path)
    for end in (0, 5, 5, 4, 6):
        states.end_offset = end
        states.take_snapshot()
    assert list(states.snapshots) == [5, 6]
    for bases, left in (([0, 3, 5], [3, 5, 9]), ([0, 9], [9]), ([0, 10], []), ([], [9]), ([3, 5, 7, 9], [3, 5, 7, 9])):
        states = _states(tmp_path / f"of-{bases}", dict.fromkeys((3, 5, 7, 9), b""))
        states.remove_strays(bases)
        assert list(states.snapshots) == left, bases


@each(("firsts", "unstable"), [([0], 0), ([-1], None), ([-1, 7, 3], 3), ([5, 5], 5), ([], None)])
def test_the_newest_sound_snapshot_lists_open_transactions(firsts: list[int], unstable: int | None, tmp_path: Path) -> None:
    entries = [producer_entry(producer_id=row, current_txn_first_offset=first) for row, first in enumerate(firsts)]
    sound = producer_snapshot(entries=entries)
    states = _states(tmp_path, {4: b"", 8: sound, 9: sound[:-1] + b"x" if firsts else b"x", 10: sound, 11: sound})
    (tmp_path / f"{10:020}.snapshot").unlink()
    states.truncate_and_reload(4, 10)
    assert (list(states.snapshots), states.end_offset, states.first_unstable_offset) == ([8], 8, unstable)
    assert list(states._directory.files) == [f"{8:020}.snapshot"], "others are deleted"


def test_open_transactions_are_counted_as_in_a_dict() -> None:
    chance, opened, expected = random.Random(60), OpenFrom(), dict[int, int]()
    for _ in range(400):
        producer, first = chance.randrange(9), chance.choice((None, 0, 1, 2))
        opened.put(producer, first)
        expected.pop(producer, None)
        expected |= {} if first is None else {producer: first}
        assert [opened.by_producer.get(row) for row in range(9)] == [expected.get(row) for row in range(9)]
        counts = Counter(expected.values())
        assert [opened.counts.get(first) for first in range(3)] == [counts.get(first) for first in range(3)]


@each("last, is_too_far", [(0x7FFFFFFE, False), (0x7FFFFFFF, False), (0x80000000, True)])
def test_a_segment_overflows_from_the_first_offset_that_no_index_holds(last: int, is_too_far: bool, tmp_path: Path) -> None:
    (tmp_path / f"{7:020}.log").write_bytes(batch(records=[record(value=b"v")], base_offset=7 + last))
    segment = Segment(Directory.of(str(tmp_path)), 7, Settings(RULES, is_clean=False, recovery_point=0))
    assert segment.overflows() == is_too_far


def test_only_a_higher_epoch_is_noted(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n1\n3 0\n")
    epochs = LeaderEpochs(Directory.of(str(tmp_path)), RULES)
    found = []
    for epoch in (2, 3, -1, 4):
        epochs.note(epoch, 5)
        found.append(epochs.last_epoch)
    assert found == [3, 3, 3, 4]
    assert _outcome(epochs.note, 4, -1) == "", "it is not added again"
    assert _outcome(epochs.note, 5, -1) == "IllegalArgumentException"


def test_what_is_appended_after_a_segment_was_cut_has_a_place_in_its_index(tmp_path: Path) -> None:
    batches = [batch(records=[record(value=b"v")], base_offset=offset) for offset in range(4)]
    size = len(batches[0])
    (tmp_path / f"{0:020}.log").write_bytes(b"".join(batches))
    (tmp_path / f"{0:020}.index").write_bytes(struct.pack(">iiii", 1, size, 3, 3 * size))
    segment = Segment(Directory.of(str(tmp_path)), 0, Settings(RULES, is_clean=False, recovery_point=0))
    assert (segment.offset_index.size, segment.truncate_to(2)) == (16, 2 * size)
    assert (segment.offset_index.size, segment.size, segment.next_offset()) == (8, 2 * size, 2)


# --- logs (FileRecords, FileLogInputStream)


def _log(folder: Path, *parts: bytes) -> LogReader:
    folder.mkdir(exist_ok=True)
    path = folder / f"{0:020}.log"
    path.write_bytes(b"".join(parts))
    return LogReader(Directory.of(str(folder)), File(str(path), path.stat().st_size))


def _values(count: int, size: int = 1) -> list[Record]:
    return [record(value=bytes(size))] * count


OLD = message(value=b"v")
WRITTEN = [  # batches of each family, small and larger than a window, with their offsets
    (batch(records=_values(4), base_offset=3), 3, 6),
    (message_set(messages=[OLD], base_offset=9), 9, 9),
    (wrapper(messages=[OLD] * 3, base_offset=12), 12, 14),
    (batch(records=_values(1, 5000), base_offset=20), 20, 20),
    (batch(records=_values(1, 1 << 20), base_offset=21), 21, 21),
    (message_set(messages=[message(value=bytes(1 << 20))], base_offset=22), 22, 22),
    *((batch(records=_values(2), base_offset=offset), offset, offset + 1) for offset in range(30, 130, 3)),
]
PLACES = list(accumulate((len(data) for data, _, _ in WRITTEN), initial=0))


def test_a_broker_finds_each_offset_from_each_batch_before_it(tmp_path: Path) -> None:
    log = _log(tmp_path, *(data for data, _, _ in WRITTEN))
    found = [(one.position, one.size, one.first_offset(), one.last_offset()) for one in log.batches()]
    assert found == [(place, len(data), first, last) for place, (data, first, last) in zip(PLACES, WRITTEN, strict=False)]
    assert [one.position for one in log.batches(PLACES[2], PLACES[5] - 1)] == PLACES[2:4]
    assert {log.last_batch(place).position for place in PLACES[:-1]} == {PLACES[-2]}  # type: ignore[union-attr]
    assert log.last_batch(PLACES[-1]) is None
    for row, place in enumerate(PLACES):
        for target in (0, 3, 6, 7, 9, 10, 13, 14, 15, 21, 31, 32, 129, 130, 131):
            after = [where for where, (_, _, last) in zip(PLACES[row:], WRITTEN[row:], strict=False) if last >= target]
            for by_first in (True, False, True):
                assert find(log, target, place, by_first_offset=by_first) == next(iter(after), None), (target, row)


@each(
    "target, by_first, by_last", [(45, 1, 0), (46, 1, 0), (47, None, 0), (49, None, 0), (40, 0, 0), (44, 0, 0), (50, None, None)]
)
def test_of_batches_that_overlap_it_depends_on_the_release_which_is_found(
    tmp_path: Path, target: int, by_first: int | None, by_last: int | None
) -> None:
    one, two = batch(records=_values(10), base_offset=40), batch(records=_values(2), base_offset=45)
    log = _log(tmp_path, one, two)
    places = {0: 0, 1: len(one), None: None}
    assert find(log, target, 0, by_first_offset=True) == places[by_first]
    assert find(log, target, 0, by_first_offset=False) == places[by_last]


@each("part", [batch(records=_values(1), base_offset=2), message_set(messages=[OLD], base_offset=2)], ids=("batch", "message"))
def test_a_batch_counts_when_all_of_it_is_there(tmp_path: Path, part: bytes) -> None:
    log = _log(tmp_path, *(data for data, _, _ in WRITTEN), part[:-1])
    assert log.last_batch().position == PLACES[-2]  # type: ignore[union-attr]
    first = batch(records=_values(1))
    for size in range(len(part) + 1):
        log, count = _log(tmp_path, first, part[:size]), 1 + (size == len(part))
        assert len(list(log.batches())) == len(list(log.checked())) == count
        assert log.last_batch().position == (len(first) if count == 2 else 0)  # type: ignore[union-attr]
    for length in (-12, -1, 0, 13, 14):
        log = _log(tmp_path, first, part[:8], length.to_bytes(4, "big", signed=True), part[12:26])
        outcome = "" if length == 14 else "CorruptRecordException"
        assert [_outcome(list, log.batches()), _outcome(list, log.checked()), _outcome(log.last_batch)] == [outcome] * 3


def test_every_byte_of_a_batch_is_checked_however_large_it_is(tmp_path: Path) -> None:
    for data, _, _ in WRITTEN[:7]:
        for at in (17, 22, len(data) // 2, -1):
            found = [is_valid for *_, is_valid in _log(tmp_path, WRITTEN[0][0], flipped(data, at), data).checked()]
            assert found == [True, False, True], (len(data), at)
    short = struct.pack(">qiib", 5, 14, 0, 2).ljust(26, b"\0")
    assert [is_valid for *_, is_valid in _log(tmp_path, short, WRITTEN[0][0]).checked()] == [False, True]
    for beside, outcome in ((0, "KafkaException"), (34, "KafkaException"), (35, "")):  # the header ends in what follows
        first = next(_log(tmp_path, short, bytes(beside)).batches())
        assert _outcome(first.last_offset) == outcome


@each(
    "fields, exception",
    [
        *(({}, ""), ({"attributes": 4}, "InvalidRecordException"), ({"attributes": 5}, "IllegalArgumentException")),
        *(({"has_null_value": True}, "InvalidRecordException"), ({"messages": []}, "InvalidRecordException")),
    ],
)
def test_a_wrapper_that_cannot_be_opened_has_no_first_offset(tmp_path: Path, fields: Any, exception: str) -> None:
    last = _log(tmp_path, wrapper(**{"messages": [OLD] * 2, **fields})).last_batch()
    assert last is not None and _outcome(last.first_offset) == exception


def _row(fields: dict[str, Any]) -> Forecast:
    """A start of a log from 0 to 9, with these fields of its own and of its events."""
    row = uneventful("orders-0", Request(), "unclean")
    row.log_start, row.log_end, row.data_end, row.segments, row.segments_before, row.reason = 0, 9, 9, [[0, 9], [5, 9]], 2, "why"
    row.events = Events()
    for name, value in fields.items():
        setattr(row.events if hasattr(row.events, name) else row, name, value)
    return row


EFFECTS = {"bytes_lost": 7, "lost_records": 3, "lost_offsets": [[1, 3]], "segments_gone": ["5.log"], "files": [{"name": "5.log"}]}
CHECKPOINT: Any = SimpleNamespace(path="d/a", fault=CorruptData("x", "odd"))
ENTERED: list[tuple[Callable[[Forecast], None], str, str | None, str, str]] = [  # what it does, word, exception, reason, the rest
    (lambda row: circumstances._fail(row, "Odd", "since"), "die", "Odd", "since", "only once, effects stay"),
    (lambda row: circumstances._set_aside(row, "since"), "stray", None, "since", "effects stay"),
    (lambda row: circumstances._deny(row, Denial("since", True, True)), "offline", None, "since", "only once"),
    (lambda row: circumstances._fail_before_loading(row, Failure("die", "Odd", "since")), "die", "Odd", "since", ""),
    (lambda row: circumstances._fail_before_loading(row, Failure("offline", "Odd", "since")), "offline", None, "since", ""),
    (lambda row: _go_offline(row, CHECKPOINT), "offline", None, "a is malformed: odd", "only once, effects stay, loaded"),
]


@each("before", ["cut", "keep", "offline", "die"])
def test_what_fails_around_a_log_is_entered_beside_what_its_start_does(before: str, tmp_path: Path) -> None:
    for enter, word, exception, reason, rest in ENTERED:
        row = _row({"outcome": before, "also": ["delete"], "end_differs": True, "cut": {0: 1}, "path": str(tmp_path)} | EFFECTS)
        enter(row)
        also = [] if "stay" not in rest else ["delete"] if before == "keep" or before == word == "offline" else [before, "delete"]
        stays = before == "die" and "once" in rest
        expected = (None, "why", ["die", "delete"]) if stays else (exception, reason, [word, *also])
        assert (row.exception, row.reason, [row.outcome, *row.also]) == expected
        is_loaded = stays or "loaded" in rest
        assert (row.log_end, row.segments is None, row.end_differs) == ((9, False, True) if is_loaded else (None, True, False))
        assert [bool(getattr(row, name)) for name in EFFECTS] == [stays or "stay" in rest] * 5 == [bool(row.events.cut)] * 5


def test_what_is_likely_comes_first_and_stays_in_doubt() -> None:
    row = _row({"conditions": ["there before"]})
    for condition, is_likely in (("once", False), ("likely", True), ("perhaps", False)):
        circumstances._depend(row, condition, is_likely=is_likely)
    circumstances._deny(row, Denial("it may", False, False))
    assert (row.conditions, row.is_doubtful) == (["likely", "there before", "once", "perhaps", "it may: its start fails"], True)
    assert (row.outcome, row.is_denied) == ("keep", False)


FILE = "leader-epoch-checkpoint"
LINES: list[tuple[str, int | str]] = [  # the last epoch, or what is wrong
    *(("", -1), ("0\n", -1), ("0\n0\n", -1), ("0\n1\n0 0", 0), ("0\n1\n7 9223372036854775807", 7), ("0\n2\n3 0\n2 5\n", 2)),
    *(("0\n3000\n" + "".join(f"{row} {row}\n" for row in range(3000)), 2999), ("0\r\n1\r\n+4 \t5\r\n", 4)),
    *(("1\n0\n", f"{FILE} has version 1"), ("x\n0\n", f"a line of {FILE} is not a number")),
    *((f"0\n2\n0 0\n{line}\n", "does not contain two numbers") for line in ("x 5", "5 x", "2147483648 5", f"5 {1 << 63}")),
    *((f"0\n2\n0 0\n{line}\n", f"has {count} words, not two") for line, count in (("5", 1), ("", 0), ("\n5 6", 0))),
    *((f"0\n2\n0 0\n{line}\n", "has more than two words") for line in ("5 6 7", "1 " * 70_000, " " * 140_000 + "5 6")),
    ("0\n2\n0 0\n" + "1" * 140_000 + " 0\n", "does not contain two numbers"),  # longer than what is read at once
    *(
        (f"0\n1\n{line}\n", 7)
        for line in ("7 0" + " " * 140_000, "7" + " \t" * 700_000 + "0", "0" * 140_000 + "7 +" + "0" * 70_000)
    ),
    ("0\n1200\n0 0\n1 1\n", f"{FILE} says that it has 1,200 epochs, but has 2"),
    ("0\n1\n0 -1\n", "leader epoch 0 that starts at offset -1 is impossible"),
    ("0\n2\n-7 1\n0 -1\n", "leader epoch -7 that starts at offset 1 is impossible"),
    ("0\n2\n-7 1\n", f"{FILE} says that it has 2 epochs, but has 1"),
]


@each("text, found", LINES, ids=range(len(LINES)))
def test_the_last_line_of_leader_epochs_counts_and_what_is_wrong_is_said(text: str, found: int | str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(text.encode())
    try:
        assert LeaderEpochs(Directory.of(str(tmp_path)), RULES).last_epoch == found
    except BrokerException as error:
        assert error.reason.removeprefix(f"line 4 of {FILE} ") == found
        assert (error.name == NUMBER_FORMAT) == (found == "does not contain two numbers")
        assert isinstance(error, StorageFailure) == (error.name != NUMBER_FORMAT and "is impossible" not in error.reason)


def test_settings_have_their_names_of_topics_and_of_brokers() -> None:
    for name, value, interval, size in (
        *(("index.interval.bytes", 0, 0, 10 << 20), ("log.index.interval.bytes", 7, 7, 10 << 20), ("max.index.size", 7, 4096, 7)),
        *(("segment.index.bytes", "2147483647", 4096, (1 << 31) - 1), ("log.index.size.max.bytes", 7, 4096, 7)),
    ):
        made = Settings(RULES, is_clean=True, recovery_point=0, config=config_of({name: value}))
        assert (made.index_interval, made.max_index_size) == (interval, size)
        for bad in (-1, 1 << 31, "x"):
            with pytest.raises(KdumpError, match=f"^{name}={bad}: the value must be a number of bytes$"):
                config_of({name: bad})


def test_what_is_not_opened_has_all_offsets_after_the_batch_before() -> None:
    """A wrapper of the offsets 10 to 14; an intact batch before it may end later."""
    data = b"?" + wrapper(messages=[OLD] * 5, base_offset=10, codec="gzip")
    for before, opened, unopened in (
        *((None, (10, 5), (14, 1)), (9, (10, 5), (10, 5)), (5, (10, 5), (6, 9)), (11, (12, 5), (12, 3)), (13, (14, 5), (14, 1))),
        *((14, (10, 5), (14, 1)), (20, (10, 5), (14, 1))),
    ):
        for most, found in ((len(data), opened), (0, unopened)):
            with mock.patch.object(wrappers, "_MAX_WRAPPER_BYTES", most):
                read = wrappers.Wrappers().contents(lambda at, count: data[at : at + count], 1, len(data) - 1, 14, before)
            assert read == found, before


BELOW, BEYOND = (KnownEnd(end, "it says so") for end in (9, 10))
VERDICTS: list[tuple[str, dict[str, Any]]] = [
    *(("safe", {name: value}) for name, value in (("bytes_lost", -1), ("known_end", BELOW), ("recovery_point", 5))),
    *(("safe", {"outcome": word}) for word in ("keep", "rescan", "split", "cut", "delete")),
    *(("safe", {"outcome": "stray", "was_never_written": True}), ("loads", {"is_of_metadata": True})),
    *(("safe", {"known_end": BEYOND, "data_end": 10}), ("safe", {"known_end": BEYOND, "log_end": 10})),
    *(("damage", {"consumers_stop_at": offset, "is_of_metadata": not offset}) for offset in (0, 5)),
    *(("trims", {name: value}) for name, value in (("bytes_lost", 1), ("segments_gone", ["0.log"]), ("outcome", "wipe"))),
    *(("trims", {"bytes_lost": 1, "known_end": BEYOND}), ("unsure", {"is_doubtful": True, "conditions": ["why"]})),
    *(("trap", {"known_end": BEYOND}), ("trap", {"known_end": BEYOND, "is_doubtful": True, "bytes_lost": -1})),
    *(("trap", {"end_differs": True, "is_doubtful": doubt}) for doubt in (False, True)),
    ("trap", {"known_end": BELOW, "segments_before": 0, "log_end": 0}),
    *(("loss", fields) for fields in ({"lost_records": 1}, {"outcome": "stray"}, {"losses_may_be_more": True, "bytes_lost": 1})),
    *(("loss", {name: 1, "is_doubtful": True}) for name in ("lost_records", "losses_may_be_more")),
    *(("fails", {"outcome": word, "lost_records": 5}) for word in ("die", "offline")),
]


@each("word, fields", VERDICTS, ids=range(len(VERDICTS)))
def test_a_start_is_safe_if_nothing_speaks_against_it(word: str, fields: dict[str, Any]) -> None:
    row = _row(fields)
    assert (sentences.verdict(row), row.is_safe) == (word, word in ("safe", "damage", "loads"))
    assert row.is_sound == (word in ("safe", "loads"))
    found = sentences.start_of(row)
    assert (found.verdict, found.message, found.segments_left) == (
        *(word, sentences.summary(row)),
        None if row.is_safe else [[0, 9], [5, 9]],
    )


def test_of_starts_that_lose_records_count_before_bytes() -> None:
    lost: list[dict[str, Any]] = [{}, {"bytes_lost": 900}, {"lost_records": 1, "bytes_lost": 900}]
    lost += [{"lost_records": 2, "bytes_lost": size} for size in (-5, 70)]
    lost += [{"lost_records": 1, "consumers_stop_at": 0}, {"outcome": "offline"}]
    ranks = [sentences.rank(_row(fields)) for fields in lost]
    assert all(before < after for before, after in pairwise(ranks))


@each("seed", range(3))
@each("span", [50, 3000, 1 << 63])
def test_a_sorted_map_is_as_a_dict(seed: int, span: int) -> None:
    chance = random.Random(seed)
    ours, wanted = SortedInts(), dict[int, int]()
    copies: list[tuple[SortedInts, dict[int, int]]] = []
    for step in range(6000):
        key = step if seed == 0 else chance.randrange(-span, span)
        action = chance.randrange(10)
        if action < 6:
            ours[key] = wanted[key] = chance.randrange(-span, span)
        elif action < 9:
            key = chance.choice([*wanted, key][-50:])
            assert ours.pop(key) == wanted.pop(key, None)
        else:
            assert ours.get(key) == wanted.get(key)
        if step % 1500 == 700:
            copies.append((ours.copy(), dict(wanted)))
        if step == 5000 and seed == 1:
            ours.clear()
            wanted.clear()
        assert bool(ours) == bool(wanted)
        assert ours.first_key == min(wanted, default=None) if step % 50 == 0 else True
    for found, held in [*copies, (ours, wanted)]:
        items = [(first, found.pop(first)) for _ in held if (first := found.first_key) is not None]
        assert items == sorted(held.items())
