"""Questions to the tables of a fleet, answered without Spark."""

import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders.files import write_partition
from tests.builders.fleets import Partitions, data, flipped, write_fleet
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, transaction_marker
from tests.checks.faults.case import NOW
from tests.random_fleets import write_random_fleet

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = pytest.importorskip("pyarrow", reason="tables need the package pyarrow")
    pytest.importorskip("duckdb", reason="questions need the package duckdb")

from collections.abc import Iterable, Mapping

import duckdb  # what needs these
import pyarrow.parquet as pq

from kdump.errors import KdumpError
from kdump.output.arrow.schemas import table_schema
from kdump.pipeline.fleet import compaction, local, replicas, retention, segments, statistics, transactions, written
from kdump.pipeline.fleet.query import Query
from kdump.tables import Int64, Row, Text
from tests.fleets import ask_tables, in_order, table_of, tables_of
from tests.loops import each

HOUR, DAY = 3_600_000, 86_400_000
_NO_CHECKPOINTS = table_schema("checkpoints").empty_table()


class Segments(Row):
    """A broker, and a size."""

    broker: "Text"
    size: "Int64"


def _ask(query: Query, tables: dict[str, pa.Table]) -> list[dict[str, Any]]:
    (answer,) = ask_tables([query], tables)
    rows: list[dict[str, Any]] = answer.to_pylist()
    return rows


def _told(query: Query, folder: Path, brokers: Mapping[str, Partitions]) -> list[dict[str, Any]]:
    """The answer to a question about a new fleet below a folder."""
    return _ask(query, tables_of(write_fleet(folder / f"fleet-{len(os.listdir(folder))}", brokers)))


def _picked(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


# --- Replicas


def _plainly_diverging(batches: list[dict[str, Any]]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """The first offset and the count of deviations by broker, topic and code: the rules of `divergence` in another way."""
    logs: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in batches:
        logs[row["topic"]][row["broker"]].append(row)
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for topic, of_broker in logs.items():
        if len(of_broker) < 2:
            continue
        sound = {
            b: max((r["lastOffset"] for r in rows if r["status"] == "intact"), default=None) for b, rows in of_broker.items()
        }
        furthest = max((last for last in sound.values() if last is not None), default=None)
        held = {}
        for broker, rows in of_broker.items():
            claimed = max(row["lastOffset"] for row in rows)
            last = sound[broker] if sound[broker] is not None else -1
            end = claimed if furthest is not None and claimed <= furthest else last
            start = min(row["segmentBase"] for row in rows)
            held[broker] = start, end, [row for row in rows if row["baseOffset"] >= start and row["lastOffset"] <= end]
        for first in sorted({row["baseOffset"] for _, _, rows in held.values() for row in rows}):
            candidates = [row for _, _, rows in held.values() for row in rows if row["baseOffset"] == first]
            contents = Counter(map(_content, candidates))
            exact = Counter((*_content(row), row["partitionLeaderEpoch"]) for row in candidates)
            best = min(
                candidates,
                key=lambda row: (
                    not row["isvalid"],
                    -contents[_content(row)],
                    -exact[(*_content(row), row["partitionLeaderEpoch"])],
                    -row["partitionLeaderEpoch"],
                    row["broker"],
                    row["position"],
                ),
            )
            for broker, (start, end, rows) in held.items():
                own = [row for row in rows if row["baseOffset"] == first]
                for row in own:
                    if _content(row) != _content(best):
                        found[broker, topic, "replica-divergence"].append(first)
                    elif row["partitionLeaderEpoch"] != best["partitionLeaderEpoch"]:
                        found[broker, topic, "replica-epoch-divergence"].append(first)
                if not own and best["isvalid"] and start <= first and best["lastOffset"] <= end:
                    spans = [(row["baseOffset"], row["lastOffset"] if row["isvalid"] else row["baseOffset"]) for row in rows]
                    if not any(low <= best["lastOffset"] and high >= first for low, high in spans):
                        found[broker, topic, "replica-missing-batches"].append(first)
    return {key: (min(firsts), len(firsts)) for key, firsts in found.items()}


def _content(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["lastOffset"], row["crc"], row["isvalid"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_replicas_diverge_where_a_plain_comparison_says_so(seed: int, tmp_path: Path) -> None:
    batches = table_of(write_random_fleet(tmp_path / "fleet", 60, seed), "batches")
    expected = _plainly_diverging(batches.to_pylist())
    found = {
        (row["broker"], row["topic"], row["code"]): (row["offsetFirst"], int(_count(row["message"])))
        for row in _ask(replicas.divergence(compacted=()), {"batches": batches})
    }
    assert found == expected
    assert {code for _, _, code in expected} == {"replica-divergence", "replica-epoch-divergence", "replica-missing-batches"}


def _count(message: str) -> str:
    found = re.search(r"([\d,]+) batch", message)
    assert found is not None
    return found.group(1).replace(",", "")


def test_a_replica_is_compared_with_others_wherever_its_segments_are_cut(tmp_path: Path) -> None:
    log = [data(offset, 5) for offset in range(0, 30, 5)]
    for brokers in (
        {"1": {"orders-0": {0: log}}, "2": {"orders-0": {0: log[:2], 10: log[2:3], 15: log[3:]}}},
        {"1": {"orders-0": {0: [flipped(data(0, 5)), data(5)]}}, "2": {"orders-1": {0: [data(0, 5)]}}},  # there is no other
    ):
        assert _told(replicas.divergence(), tmp_path, brokers) == []


def test_a_replica_that_lags_far_does_not_hide_what_the_others_hold(tmp_path: Path) -> None:
    log = [data(offset, 5, value=b"%d" % offset) for offset in range(0, 30, 5)]
    other = [*log[:4], flipped(log[4]), log[5]]
    brokers = {"1": {"orders-0": {0: log}}, "2": {"orders-0": {0: other}}, "3": {"orders-0": {0: log[:1]}}}
    found = _told(replicas.divergence(), tmp_path, brokers)
    assert _picked(found, "broker", "offsetFirst", "start") == [("2", 20, sum(map(len, log[:4])))]


def test_a_damaged_version_is_never_right_however_many_brokers_have_it(tmp_path: Path) -> None:
    log = [data(offset, 5) for offset in range(0, 15, 5)]
    damaged = [log[0], flipped(log[1]), log[2]]
    brokers = {broker: {"orders-0": {0: held}} for broker, held in (("1", damaged), ("2", log), ("3", damaged))}
    brokers["1"]["stock-0"], brokers["2"]["stock-0"] = {0: log}, {0: [*log[:2], flipped(log[2])]}  # at the end of both
    found = sorted(_picked(_told(replicas.divergence(), tmp_path, brokers), "broker", "code", "offsetFirst"))
    assert found == [(broker, "replica-divergence", offset) for broker, offset in (("1", 5), ("2", 10), ("3", 5))]


def test_what_looks_compacted_may_differ(tmp_path: Path) -> None:
    log = [data(0, 5), data(5, 5), data(10, 5)]
    cleaned = [batch(records=[record(offset_delta=delta) for delta in (0, 1, 2, 4)], base_offset=0), *log[1:]]
    found = _told(replicas.divergence(), tmp_path, {"1": {"orders-0": {0: log}}, "2": {"orders-0": {0: cleaned}}})
    assert _picked(found, "code", "severity") == [("replica-divergence", "warning")]


@each(
    ("log", "severity", "words"),
    [
        *(([data(0, 5, at=NOW - replicas.LAG_MS)], "info", ""), ([], "warning", " Broker 3 holds no batch.")),
        ([data(0, 5, at=NOW - replicas.LAG_MS - 999)], "warning", " Its newest batch is 600 s older."),
        ([data(0, 5, at=NOW - replicas.LAG_MS - 1000)], "warning", " Its newest batch is 601 s older."),
    ],
)
def test_a_replica_is_compared_with_the_newest_of_those_that_end_last(
    log: list[bytes], severity: str, words: str, tmp_path: Path
) -> None:
    ahead = [data(0, 5), data(5, 5, at=NOW + DAY)]  # which counts as now
    brokers: dict[str, Partitions] = {"1": {"a-0": {0: [data(0, 10)]}}, "2": {"a-0": {0: ahead}}, "3": {"a-0": {0: log}}}
    end = 5 if log else 0
    said = f"Broker 3 ends at {end}, broker 2 at 10: if broker 3 leads, broker 2 loses what it has from {end} on.{words}"
    assert _picked(_told(replicas.behind(NOW), tmp_path, brokers), "severity", "message") == [(severity, said)]


# --- What the table findings tells as well


@each(
    "what, first, second, told",
    [
        ("none", [data(0, 5), data(5, 5)], 10, []),
        ("of one offset", [data(0, 5), data(5, 5)], 11, [("segments-gap", 10, 10, "10", "11")]),
        ("of five", [data(0, 5), data(5, 5)], 15, [("segments-gap", 10, 14, "10", "15")]),
        ("overlap", [data(0, 5), data(5, 5)], 9, [("segments-overlap", 9, 9, "at least 10", "9")]),
        ("what is damaged may have held what is missing", [data(0, 5), flipped(data(5, 5))], 10, []),
        ("so may what is cut off", [data(0, 5), data(5, 5)[:-1]], 10, []),
        ("damage before a sound batch", [flipped(data(0, 5)), data(5, 5)], 12, []),
        ("an empty segment", [], 10, [("segments-gap", 0, 9, "0", "10")]),
        ("of both with the first", [data(0, 40)], 10, [("segments-overlap", n, 39, "at least 40", f"{n}") for n in (10, 15)]),
    ],
)
def test_a_gap_is_reported_after_a_segment_that_is_sound_to_its_end(
    tmp_path: Path, what: str, first: list[bytes], second: int, told: list[tuple[str, int, int, str, str]]
) -> None:
    logs = {0: first, second: [data(second, 5)], second + 5: [data(second + 5)]}
    found = _told(segments.continuity(), tmp_path, {"1": {"orders-0": logs}})
    assert _picked(found, "code", "offsetFirst", "offsetLast", "expected", "found") == told, what


def _at_horizon(offset: int, horizon: int) -> bytes:
    return data(offset, delete_horizon_ms=horizon)


LATE = NOW - 9 * DAY


@each(
    "what, log, told",
    [
        ("a day", [_at_horizon(0, NOW - DAY), _at_horizon(1, NOW - DAY + 1)], [(1, NOW - DAY)]),
        ("both", [_at_horizon(0, NOW - DAY - 5), _at_horizon(1, NOW - DAY)], [(2, NOW - DAY - 5)]),
        ("not yet", [_at_horizon(0, NOW - DAY + 1)], []),
        ("since 1970", [_at_horizon(0, 0)], [(1, 0)]),
        ("long ago", [_at_horizon(0, LATE)], [(1, LATE)]),
        ("a damaged batch says nothing", [flipped(_at_horizon(0, LATE))], []),
        ("nor hides others", [flipped(_at_horizon(0, LATE)), _at_horizon(1, LATE)], [(1, LATE)]),
    ],
)
def test_tombstones_are_overdue_after_a_day(tmp_path: Path, what: str, log: list[bytes], told: list[tuple[int, int]]) -> None:
    found = _told(compaction.overdue(NOW, DAY), tmp_path, {"1": {"table-0": {0: log}}})
    assert [(int(_count(row["message"])), int(row["found"])) for row in found] == told
    first = int(what == "nor hides others")
    assert _picked(found, "severity", "offsetFirst") == [("info", first)] * len(told)
    assert first or [row["start"] for row in found] == [0] * len(told)


def test_only_cleaned_partitions_hold_keys_too_often(tmp_path: Path) -> None:
    log = [batch(records=[record(key=b"a"), record(key=b"a")])]
    partitions: Partitions = {name: {0: log} for name in ("table-0", "table-1", "other-0")}
    for cleaned, expected in (({"table-1": 2}, [("1", "table", 1)]), ({}, [])):
        folder = write_fleet(tmp_path / f"fleet-{len(cleaned)}", {"1": partitions, "2": partitions}, cleaned={"1": cleaned})
        found = _ask(compaction.duplicates(), tables_of(folder))
        assert [(row["broker"], row["topic"], row["partition"]) for row in found] == expected


def test_the_newest_segment_blocks_nothing(tmp_path: Path) -> None:
    times = [NOW + 2 * HOUR, TIMESTAMP, NOW + 30 * DAY]
    brokers = {"1": {"orders-0": {number: [data(number, at=at)] for number, at in enumerate(times)}}}
    (found,) = _told(retention.blocked(NOW), tmp_path, brokers)
    assert (found["segmentBase"], found["found"]) == (0, str(NOW + 2 * HOUR))
    assert found["message"] == (
        "The segment at 0 holds a record with a timestamp in the future, of 2023-11-15 00:21:40 UTC. "
        "Retention by time deletes nothing from there "
        f"on before 2023-11-15 00:21:40 UTC: 2 segments of {2 * len(data(0))} bytes."
    )
    for ahead, count in ((HOUR, 0), (HOUR + 1, 1)):  # an hour ahead is not the future
        brokers = {"1": {"orders-0": {0: [data(0, at=NOW + ahead)], 1: [data(1)]}}}
        assert len(_told(retention.blocked(NOW), tmp_path, brokers)) == count


def test_sequences_go_on_from_segment_to_segment(tmp_path: Path) -> None:
    def written(offset: int, sequence: int) -> bytes:
        return data(offset, 2, producer=7, sequence=sequence)

    partitions: Partitions = {
        "whole-0": {0: [written(0, 0)], 2: [written(2, 2)], 4: [written(4, 4)]},
        "gap-0": {0: [written(0, 0)], 2: [written(2, 5)]},
        "twice-0": {0: [written(0, 0), written(2, 2)], 4: [written(4, 2)]},
        "wraps-0": {0: [written(0, (1 << 31) - 2)], 2: [written(2, 0)]},
    }
    gap, twice = sorted(_told(transactions.sequence_breaks(), tmp_path, {"1": partitions}), key=lambda row: str(row["topic"]))
    assert _picked([gap, twice], "topic", "code", "expected", "found") == [
        ("gap", "sequence-gap", "2", "5"),
        ("twice", "sequence-duplicate", "4", "2"),
    ]
    assert gap["message"] == (
        "Producer 7, epoch 0, at offsets 2 to 3: sequence 5, where 2 was to follow after offset 1: 3 sequences are missing."
    )


def test_offsets_near_the_end_of_their_range_do_not_overflow(tmp_path: Path) -> None:
    top = (1 << 63) - 1
    columns = {
        "broker": ["1", "1", "2", "2"],
        "topic": ["t"] * 4,
        "partition": [0] * 4,
        "segmentBase": [0, top - 1, 0, -(1 << 63)],
        "path": ["a", "b", "c", "d"],
        "size": [10] * 4,
        "lastOffset": [top, -5, -(1 << 63), top],
        "maxTimestamp": [top, -(1 << 63), top, 5],
        "firstOffset": [0, 0, -1, 0],
        "validBytes": [10] * 4,
        "batchesSalvaged": [0] * 4,
    }
    schema = table_schema("segments", list(columns))
    table = pa.table(columns, schema=schema)
    found = {
        name: [
            (row["broker"], row["segmentBase"], row["code"], row["offsetFirst"], row["offsetLast"])
            for row in _ask(query, {"segments": table, "checkpoints": _NO_CHECKPOINTS})
        ]
        for name, query in {
            "continuity": segments.continuity(),
            "behind": replicas.behind(NOW),
            "blocked": retention.blocked(NOW),
            "blocked by age": retention.blocked(NOW, DAY),
        }.items()
    }
    assert found == {"continuity": [], "behind": [], "blocked": [("1", 0, "retention-blocked", 0, top)], "blocked by age": []}


# --- Statistics


def test_topics_are_summed_up_over_brokers(tmp_path: Path) -> None:
    log = [data(0, 5, at=TIMESTAMP), data(5, 5, at=TIMESTAMP + 1000)]
    brokers: dict[str, Partitions] = {"1": {"a-0": {0: log}, "a-1": {0: log[:1]}, "b-0": {0: []}}, "2": {"a-0": {0: log[:1]}}}
    first, second = _told(statistics.sizes(), tmp_path, brokers)
    counts = {"partitions": 2, "replicas": 3, "segments": 3, "batches": 3, "records": 15}
    sizes = {"size": 4 * len(log[0]), "sizeOfOneReplica": 3 * len(log[0])}
    assert first == {"topic": "a", **counts, **sizes, "oldest": TIMESTAMP, "newest": TIMESTAMP + 1000}
    assert _picked([second], "topic", "size", "records", "oldest") == [("b", 0, 0, None)]


def test_codecs_tell_what_they_save_only_where_that_was_measured(tmp_path: Path) -> None:
    packed = batch(records=[record(value=bytes(1000))], codec="gzip")
    root = write_fleet(tmp_path / "fleet", {"1": {"a-0": {0: [packed, data(1)]}}})
    unmeasured = {row["codec"]: row["uncompressed"] for row in _ask(statistics.codecs(), tables_of(root))}
    assert unmeasured == {"gzip": None, "none": None}
    measured = _ask(statistics.codecs(), {"batches": table_of(root, "batches", uncompressed="true")})
    assert {row["codec"]: (row["batches"], row["records"], row["size"], row["uncompressed"]) for row in measured} == {
        "gzip": (1, 1, len(packed), 1009 + 61),
        "none": (1, 1, len(data(1)), len(data(1))),
    }


def _with_measured(batches: pa.Table, sizes: list[int | None]) -> pa.Table:
    """A table of batches of which some uncompressed sizes are not known."""
    column = batches.schema.get_field_index("uncompressedSize")
    return batches.set_column(column, "uncompressedSize", pa.array(sizes, pa.int64()))


def test_what_a_sample_saves_is_taken_for_what_all_save(tmp_path: Path) -> None:
    packed = [batch(records=[record(value=bytes(1000))], base_offset=offset, codec="gzip") for offset in range(3)]
    root = write_fleet(tmp_path / "fleet", {"1": {"a-0": {0: packed}}})
    table = _with_measured(table_of(root, "batches", uncompressed="true"), [1009, None, None])
    size = len(packed[0])
    assert _picked(_ask(statistics.codecs(), {"batches": table}), "size", "measured", "uncompressed") == [
        (3 * size, size, 3 * 1070)
    ]


def test_skew_is_reported_by_the_mean_of_a_topic(tmp_path: Path) -> None:
    brokers = {"1": {"a-0": {0: [data(0), data(1), data(2)]}, "a-1": {0: [data(0)]}, "b-0": {0: [data(0)]}}}
    found = _told(statistics.skew(), tmp_path, brokers)
    assert _picked(found, "topic", "partition", "timesTheMean") == [("a", 0, 1.5), ("b", 0, 1.0), ("a", 1, 0.5)]


def test_throughput_counts_replicas_once(tmp_path: Path) -> None:
    hour = TIMESTAMP - TIMESTAMP % HOUR
    log = [data(0, 2, at=hour), data(2, 3, at=hour + 1), data(5, at=hour + HOUR), data(6, at=-1)]
    found = _told(statistics.throughput(HOUR), tmp_path, {"1": {"a-0": {0: log}}, "2": {"a-0": {0: log[:1]}}})
    assert _picked(found, "start", "batches", "records") == [(hour, 2, 5), (hour + HOUR, 1, 1)]


def test_producers_of_each_replica_and_where_their_transactions_stay_open(tmp_path: Path) -> None:
    def written(offset: int, producer: int, at: int, *, is_transactional: bool = True) -> bytes:
        return data(offset, 2, producer=producer, sequence=0, at=at, is_transactional=is_transactional)

    log = [
        written(0, 7, TIMESTAMP),
        written(2, 8, TIMESTAMP + 1),
        transaction_marker(base_offset=4, producer_id=7, timestamp=TIMESTAMP + 2),
        *(written(5, 7, TIMESTAMP + 3), written(7, 7, TIMESTAMP + 4), written(9, 9, TIMESTAMP + 5, is_transactional=False)),
        data(11),
    ]
    ended = [*log, *(transaction_marker(base_offset=12 + at, producer_id=7 + at, timestamp=TIMESTAMP + 9) for at in range(2))]
    found = _told(statistics.producers(), tmp_path, {"1": {"a-0": {0: log}}, "2": {"a-0": {0: ended}}})
    rows = {(row["broker"], row["producerId"]): row for row in found}
    open_since = {("1", 7): 5, ("1", 8): 2, ("1", 9): None, ("2", 7): None, ("2", 8): None, ("2", 9): None}
    assert {key: row["openSince"] for key, row in rows.items()} == open_since
    names = ("batches", "records", "firstOffset", "lastOffset", "oldest", "newest", "producerEpoch", "size")
    size = sum(len(log[row]) for row in (0, 2, 3, 4))
    assert _picked([rows["1", 7]], *names) == [(4, 6, 0, 8, TIMESTAMP, TIMESTAMP + 4, 0, size)]


def test_top_keys_and_largest_records(tmp_path: Path) -> None:
    log = [data(0, key=b"a", value=bytes(10)), data(1, key=b"b", value=bytes(99)), data(2, key=b"a", value=bytes(10))]
    tables = tables_of(write_fleet(tmp_path / "fleet", {"1": {"t-0": {0: log}}, "2": {"t-0": {0: log}}}))
    assert _picked(_ask(statistics.top_keys(5), tables), "key", "records", "size") == [(b"b", 1, 100), (b"a", 2, 22)]
    found = _ask(statistics.largest_records(2), tables)
    assert _picked(found, "offset", "broker", "valueSize") == [(1, "1", 99), (1, "2", 99)]


def _keyed(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [{column.key: getattr(row, column.name) for column in row.schema} for row in rows]


def test_arrow_adds_up_codecs_as_the_question_does(tmp_path: Path) -> None:
    fleet = write_random_fleet(tmp_path / "fleet", 10, 1)
    messages = message_set(messages=[message(value=b"value")] * 3)
    write_partition(fleet / "broker-old", topic="old", segments={0: [messages]})
    batches = table_of(fleet, "batches", uncompressed="true")
    sizes = batches["uncompressedSize"].to_pylist()
    batches = _with_measured(batches, [size if row % 3 else None for row, size in enumerate(sizes)])
    (tmp_path / "scan" / "batches").mkdir(parents=True)
    pq.write_table(batches, tmp_path / "scan" / "batches" / "part-0.parquet", row_group_size=7)
    found = _keyed(written.codec_uses(str(tmp_path / "scan")))
    assert in_order(found) == in_order(_ask(statistics.codecs(), {"batches": batches}))


def test_arrow_adds_up_topics_as_the_question_does(tmp_path: Path) -> None:
    tables = tables_of(write_random_fleet(tmp_path / "fleet", 10, 1))
    rows = tables["segments"].to_pylist()
    rows += [{**row, "broker": "none", "topic": None, "records": None, "minTimestamp": -1} for row in rows[:3]]
    segments = pa.Table.from_pylist(rows, tables["segments"].schema)
    (tmp_path / "scan" / "segments").mkdir(parents=True)
    for part, first in enumerate(range(0, len(rows), 5)):
        pq.write_table(segments.slice(first, 5), tmp_path / "scan" / "segments" / f"part-{part}.parquet")
    found = _keyed(written.topic_sizes(str(tmp_path / "scan")))
    asked = _ask(statistics.sizes(), {"segments": segments})
    assert in_order(found) == in_order(asked)
    assert [row["size"] for row in found] == [row["size"] for row in asked]
    assert any(row["topic"] is None for row in found)


@each(("changed", "count"), [({}, 1), ({"isKeyTruncated": True}, 0), ({"isControl": True}, 0), ({"status": "damaged"}, 0)])
def test_cut_keys_and_those_of_control_or_damaged_records_are_none(tmp_path: Path, changed: dict[str, Any], count: int) -> None:
    brokers = {"1": {"table-0": {0: [data(0, key=b"a"), data(1, key=b"a")]}}}
    tables = tables_of(write_fleet(tmp_path / "fleet", brokers, cleaned={"1": {"table-0": 2}}))
    rows = [row | changed for row in tables["records"].to_pylist()]
    tables["records"] = pa.Table.from_pylist(rows, tables["records"].schema)
    assert len(_ask(compaction.duplicates(), tables)) == count


# --- The table of checkpoints


def test_checkpoints_are_rows_of_the_partitions_that_they_name(tmp_path: Path) -> None:
    brokers = {"1": {"a-0": {0: [data(0)]}, "b-7": {0: [data(0)]}}}
    root = write_fleet(tmp_path / "fleet", brokers, cleaned={"1": {"a-0": 5, "b-7": 1 << 40}})
    (root / "broker=1" / "recovery-point-offset-checkpoint").write_text("0\n2\na 0 3\nb x 4\n")
    rows = table_of(root, "checkpoints").to_pylist()
    assert {*_picked(rows, "broker", "topic", "partition", "kind", "offset")} == {
        ("1", "a", 0, "cleaner-offset-checkpoint", 5),
        ("1", "b", 7, "cleaner-offset-checkpoint", 1 << 40),
        ("1", "a", 0, "recovery-point-offset-checkpoint", 3),
    }
    for given in ({"topics": "b*"}, {"partitions": "1-9"}):
        assert [row["offset"] for row in table_of(root, "checkpoints", **given).to_pylist()] == [1 << 40]


# --- The database without Spark


def test_answers_are_in_the_order_of_questions_and_a_missing_table_has_no_rows(tmp_path: Path) -> None:
    text = "SELECT 'a' AS broker, {number} + count(*) AS size FROM {{segments}}"
    queries = [Query(f"q{number}", {"segments": ("size",)}, text.format(number=number), (Segments,)) for number in (3, 1, 2)]
    assert [answer.to_pylist()[0]["size"] for answer in local.ask(queries, {})] == [3, 1, 2]


def test_a_file_that_cannot_be_read_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "segments").mkdir()
    (tmp_path / "segments" / "part-0.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(KdumpError, match=r"the tables cannot be queried.*; TMPDIR names another place"):
        written.ask(str(tmp_path), [statistics.sizes()])


def test_an_error_in_a_query_is_an_error_of_kdump_and_a_variable_of_this_program_is_no_table() -> None:
    nowhere = pa.table({"topic": ["a"]})
    query = Query("wrong", {}, "SELECT topic FROM nowhere", ())
    with pytest.raises(duckdb.CatalogException, match="does not exist"):
        local.ask([query], {})
    assert nowhere.num_rows == 1


# --- What counts, and what does not


def test_a_log_ends_where_its_newest_segment_starts_though_that_is_empty(tmp_path: Path) -> None:
    log = [data(0, 5)]
    for number, (base, ends) in enumerate(((5, []), (6, [(6, 5)]), (10, [(10, 5)]))):
        brokers: dict[str, Partitions] = {"1": {"a-0": {0: log, base: []}}, "2": {"a-0": {0: log}}}
        found = _ask(replicas.behind(NOW), tables_of(write_fleet(tmp_path / str(number), brokers)))
        assert [(int(row["expected"]), int(row["found"])) for row in found] == ends
        assert all(row["broker"] == "2" and row["offsetFirst"] == 5 for row in found)


def test_neither_damaged_batches_nor_sizes_of_nothing_are_added_up(tmp_path: Path) -> None:
    hour = TIMESTAMP - TIMESTAMP % HOUR
    log = [data(0, 2, at=hour, key=b"k"), flipped(data(2, 3, at=hour, key=b"k")), data(5, at=hour, key=b"k")]
    log.append(batch(base_offset=6, records=[record(key=b"k", value=value, timestamp=hour) for value in (None, None, b"")]))
    tables = tables_of(write_fleet(tmp_path / "fleet", {"1": {"a-0": {0: log}}}))
    (span,) = _ask(statistics.throughput(HOUR), tables)
    sizes = [len(log[row]) for row in (0, 2, 3)]
    assert (span["start"], span["batches"], span["records"], span["size"]) == (hour, 3, 6, sum(sizes))
    (key,) = _ask(statistics.top_keys(5), tables)
    assert (key["tombstones"], key["size"]) == (2, key["records"] * len(b"k") + (key["records"] - 3) * len(b"value"))
