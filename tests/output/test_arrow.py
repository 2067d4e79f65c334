"""Columns of ours as Arrow's record batches: null and empty, bounds of rows and bytes, what is cut, what a control record is."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

import pyarrow.parquet as pq  # what needs Arrow

from kdump.binary.columns_reference import RECORD_COLUMNS
from kdump.formats import records
from kdump.formats.log import Log
from kdump.output.arrow import builder, files, log_columns
from kdump.output.arrow.builder import Constant
from kdump.output.arrow.rows import columns_of
from tests.builders.records import (
    TIMESTAMP,
    Message,
    Record,
    abort_record,
    batch,
    commit_record,
    control_record,
    message,
    message_set,
    record,
    wrapper,
)
from tests.loops import each
from tests.support import Patch, opened


def _table(data: bytes, *, limit: int = 1 << 20, keys: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The rows of the table of records, in the columns that come from the log."""
    places = {"broker": Constant(None), "topic": Constant(None), "partition": Constant(None), "segment_base": Constant(None)}
    rows: list[dict[str, Any]] = []
    with opened(data) as source:
        for chunk in Log(source).chunks():
            for part in records.read(source, chunk, columns=RECORD_COLUMNS):
                columns = log_columns.record_columns(part, "intact", limit)
                made = builder.record_batch(
                    columns_of("records", keys), {**places, "path": Constant("x"), **columns}, len(part.records)
                )
                rows += made.to_pylist()
    return rows


# --- null and empty


def test_a_null_header_is_not_an_empty_one() -> None:
    headers = [[("k", None)], [("k", b"")], [], [("a", b"1"), (b"\xff", b"2"), ("a", None)]]
    data = batch(records=[record(value=b"v", headers=one) for one in headers])  # type: ignore[arg-type]  # lists of pairs
    assert [row["headers"] for row in _table(data, keys=["headers"])] == [
        [{"key": "k", "value": None}],
        [{"key": "k", "value": b""}],
        [],
        [{"key": "a", "value": b"1"}, {"key": "\ufffd", "value": b"2"}, {"key": "a", "value": None}],
    ]
    data = batch(records=[record(value=b"v")] * 3)
    assert [row["headers"] for row in _table(data, keys=["headers"])] == [[], [], []]
    data = wrapper(messages=[message(value=b"a"), message(value=b"b")])  # which have none at all
    assert {str(row["headers"]) for row in _table(data, keys=["headers"])} <= {"None", "[]"}


# --- rows


def test_a_record_has_what_its_batch_says() -> None:
    data = batch(
        records=[record(key=b"k", value=b"v"), record(value=b"w", timestamp=TIMESTAMP + 5)],
        base_offset=7,
        codec="gzip",
        is_transactional=True,
        producer_id=3,
        producer_epoch=2,
        base_sequence=9,
        partition_leader_epoch=4,
    )
    first, second = _table(batch(records=[record()] * 2) + data)[2:]
    place = {**dict.fromkeys(("broker", "topic", "partition", "segmentBase")), "path": "x"}
    place["position"] = len(batch(records=[record()] * 2))
    of_all = {"valueSize": 1, "isKeyTruncated": False, "isValueTruncated": False, "timestampType": "CreateTime", "magic": 2}
    of_all |= {"producerId": 3, "producerEpoch": 2, "partitionLeaderEpoch": 4, "isTransactional": True, "isControl": False}
    of_all |= {**place, "controlType": None, "status": "intact"}
    for row, own in (
        (first, {"offset": 7, "sequence": 9, "timestamp": TIMESTAMP, "keySize": 1}),
        (second, {"offset": 8, "sequence": 10, "timestamp": TIMESTAMP + 5, "keySize": -1}),
    ):
        assert row.pop("compresscodec").lower() == "gzip"
        not_compared = ("headers", "key", "value", "isvalid", "crc")
        assert {name: value for name, value in row.items() if name not in not_compared} == of_all | own
        assert {*not_compared} <= row.keys()


def test_what_is_longer_than_the_limit_is_cut() -> None:
    data = batch(records=[record(key=b"abc", value=b"abc"), record(key=None, value=b"a")])
    names = ["key", "value", "isKeyTruncated", "isValueTruncated", "valueSize"]
    for limit, cut in ((3, False), (2, True), (0, True)):
        assert [[row[name] for name in names] for row in _table(data, limit=limit, keys=names)] == [
            [b"abc"[:limit], b"abc"[:limit], cut, cut, 3],
            [None, b"a"[:limit], False, limit == 0, 1],
        ]


def test_a_control_record_is_recognized_by_its_type() -> None:
    controls = [abort_record(), commit_record(), *map(_control, (6, 7)), record(key=b"\0\0\0"), _control(-1), record()]
    data = batch(records=[record(key=b"\0\0\0\1")])
    data += b"".join(batch(records=[one], base_offset=1 + row, is_control=True) for row, one in enumerate(controls))
    types = [row["controlType"] for row in _table(data, keys=["controlType"])]
    assert types == [None, "ABORT", "COMMIT", types[3], "7", None, "-1", None]
    assert types[3] is not None and not types[3].isdecimal()


def _control(number: int) -> Record:
    return control_record(control_type=number)


@each(
    "what, damaged",
    [
        *(("a wrong checksum", message(value=b"b", crc=1)), ("a key that runs over", message(key=b"k", key_length=100))),
        ("a value that runs over", message(key=b"k", value=b"b", value_length=100)),
    ],
)
def test_a_damaged_message_is_so_though_its_neighbours_are_not(what: str, damaged: Message) -> None:
    messages = [message(value=b"a"), damaged, message(value=b"c")]
    for data in (wrapper(messages=messages), *([] if "checksum" in what else [message_set(messages=messages)])):
        rows = _table(data, keys=["status", "magic"])
        assert [(row["status"], row["magic"]) for row in rows] == [("intact", 1), ("damaged", 1), ("intact", 1)]


def test_a_column_that_must_not_be_null_is_refused_where_it_is() -> None:
    columns = columns_of("records", ["offset", "producerId"])
    builder.record_batch(columns, {"offset": [1, 2], "producer_id": [None, 3]}, 2)
    for offsets in ({"offset": [1, None]}, {"offset": [None, None]}, {}):
        with pytest.raises(ValueError, match="offset is null in a row"):
            builder.record_batch(columns, {**offsets, "producer_id": [None, 3]}, 2)


# --- columns


@each(
    ("type_name", "values"),
    [
        *(("Int64", [1, 1, 1]), ("Int64", [1, None, 2]), ("Bool", [True, True]), ("Text", ["a", "a"])),
        *(("Text", ["a", None, ""]), ("Binary", [b"", b"a", b"bc"]), ("Binary", [None, b"", b"a"])),
        *(("Binary", [None, None]), ("Int64", [])),
    ],
)
def test_a_column_holds_its_values(type_name: str, values: list[Any]) -> None:
    array = builder.arrow_array(type_name, values, len(values))
    array.validate(full=True)
    assert array.to_pylist() == values
    if values:
        assert builder.arrow_array(type_name, Constant(values[0]), 3).to_pylist() == [values[0]] * 3


def test_bytes_in_a_path_that_are_no_text_are_replaced() -> None:
    for values in (["a", "\udcffb"], Constant("\udcffb")):
        assert builder.arrow_array("Text", values, 2).to_pylist()[1] == "\ufffdb"


# --- bounds


def _parts(*sizes: int) -> list[pa.RecordBatch]:
    """Batches of so many rows, which count on."""
    first, made = 0, []
    for size in sizes:
        made.append(pa.RecordBatch.from_arrays([pa.array(range(first, first + size), pa.int64())], names=["x"]))
        first += size
    return made


@each(
    "bound, sizes, expected",
    [
        *(("10 rows", (10,), [10]), ("10 rows", (11,), [5, 6]), ("10 rows", (25,), [8, 8, 9])),
        *(("10 rows", (2, 2, 2, 2, 2), [10]), ("10 rows", (2, 2, 2, 2, 2, 2), [10, 2])),
        *(("10 rows", (3, 3, 3, 3), [3, 3, 3, 3]), ("10 rows", (2, 9, 2), [2, 9, 2])),
        *(("10 rows", (2, 2, 9, 2), [4, 9, 2]), ("10 rows", (0, 2, 0, 2), [4]), ("10 rows", (), [])),
        *(("64 bytes", (8,), [8]), ("64 bytes", (9,), [4, 5]), ("64 bytes", (32,), [8, 8, 8, 8])),
        *(("64 bytes", (1, 1, 1), [3]), ("4 bytes", (1,), [1]), ("64 bytes", (1,) * 10, [8, 2])),
    ],
    ids=str,
)
def test_batches_are_cut_and_joined_to_numbers_of_rows_and_bytes(bound: str, sizes: tuple[int, ...], expected: list[int]) -> None:
    number, _, unit = bound.partition(" ")
    rows, size = (int(number), 1 << 20) if unit == "rows" else (1000, int(number))
    made = list(builder.bounded(_parts(*sizes), rows=rows, size=size))
    assert [one.num_rows for one in made] == expected
    assert [value for one in made for value in one.column(0).to_pylist()] == list(range(sum(sizes)))


# --- files


def test_a_file_of_parquet_has_groups_of_many_rows(tmp_path: Path, monkeypatch: Patch) -> None:
    rows = pa.record_batch({"x": pa.array(range(5))})

    def groups(name: str) -> list[int]:
        with files.TableFile(str(tmp_path / name), rows.schema) as file:
            for _ in range(4):
                file.write(rows)
        metadata = pq.ParquetFile(tmp_path / name).metadata
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    assert groups("all") == [20]
    monkeypatch.setattr(files, "_ROW_GROUP_ROWS", 10)
    assert groups("rows") == [10, 10]
    monkeypatch.setattr(files, "_ROW_GROUP_ROWS", 100)
    monkeypatch.setattr(files, "_ROW_GROUP_BYTES", 3 * rows.nbytes)
    assert groups("bytes") == [15, 5]


@each(
    "texts",
    [
        *([["a"] * 5], [["a"] * 5, ["a"] * 5, ["b"] * 5], [["a"] * 5, ["b", "a", None], [None, None], ["", ""]]),
        *([[None] * 5, ["a", "b"]], [["aa", "aa"], ["a", "aaa"], ["aab", "aba"]], [[""] * 5, [], ["a"]]),
        [["ä", "ä"], ["ä", "a"]],
    ],
)
@each("groups", [1, 2, 100])
def test_text_of_many_groups_is_reread(texts: list[list[str | None]], groups: int, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(files, "_ROW_GROUP_ROWS", sum(map(len, texts)) // groups + 1)
    schema = pa.schema([("x", pa.string()), ("y", pa.string())])
    path = tmp_path / "x.parquet"
    with files.TableFile(str(path), schema) as file:
        for part in texts:
            around = pa.array(["x", *part, "y"], pa.string()).slice(1, len(part))
            file.write(pa.record_batch([around, pa.array(part, pa.string())], schema))
    found = pq.ParquetFile(path)
    assert found.schema_arrow.equals(schema, check_metadata=True)
    values = [value for part in texts for value in part]
    assert found.read().to_pydict() == {"x": values, "y": values}


def test_a_file_that_fails_leaves_nothing(tmp_path: Path) -> None:
    for rows in ([], [pa.record_batch({"x": pa.array([1])})]):
        with pytest.raises(ZeroDivisionError), files.TableFile(str(tmp_path / "x"), pa.schema([("x", pa.int64())])) as file:
            for one in rows:
                file.write(one)
            raise ZeroDivisionError
        assert list(tmp_path.iterdir()) == []
