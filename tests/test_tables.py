"""Tables hold rows as columns."""

from __future__ import annotations

import pytest

from kdump.tables import Declared, Int32, Int64, Row, Table, Text, camel_case

from .support import values_of


class Entry(Row):
    """A row for these tests."""

    base_offset: Int64
    partition_leader_epoch: Int32 | None
    timestamp_type: Text


ROWS = [(5, None, "CreateTime"), (7, 3, "LogAppendTime"), (9, 4, "CreateTime")]


def test_the_annotations_of_a_row_class_are_its_schema() -> None:
    assert [(column.name, column.key, column.type, column.is_nullable) for column in Entry.schema] == [
        ("base_offset", "baseOffset", "Int64", False),
        ("partition_leader_epoch", "partitionLeaderEpoch", "Int32", True),
        ("timestamp_type", "timestampType", "Text", False),
    ]


class Limit(Declared):
    """A class that only declares its fields, for these tests."""

    size: int
    count: int = 3


def test_a_class_takes_the_fields_that_it_declares_once() -> None:
    limits = [Limit(1), Limit(1, 2), Limit(count=2, size=1)]
    assert [(limit.size, limit.count) for limit in limits] == [(1, 3), (1, 2), (1, 2)]
    values: tuple[object, ...]
    for values, named in (((), {}), ((), {"count": 2}), ((1, 2, 3), {}), ((1,), {"size": 1}), ((1,), {"other": 2})):
        with pytest.raises(TypeError, match="Limit takes size, count"):
            Limit(*values, **named)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        *(("offset", "offset"), ("isvalid", "isvalid")),
        *(("base_offset", "baseOffset"), ("current_txn_first_offset", "currentTxnFirstOffset")),
    ],
)
def test_a_key_is_kafkas_camel_case(name: str, key: str) -> None:
    assert camel_case(name) == key


def test_a_row_takes_its_values_in_the_order_of_the_schema_or_by_name() -> None:
    by_name = Entry(5, timestamp_type="CreateTime", partition_leader_epoch=None)
    expected = {"base_offset": 5, "partition_leader_epoch": None, "timestamp_type": "CreateTime"}
    assert values_of(Entry(5, None, "CreateTime")) == values_of(by_name) == expected
    assert by_name == Entry(5, None, "CreateTime")


def test_a_row_that_is_known_in_part_shows_only_that_part() -> None:
    assert repr(Entry.partial(5, None)) == "Entry(base_offset=5, partition_leader_epoch=None)"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        pytest.param((5, None), {}, id="too few"),
        pytest.param((5, None, "CreateTime", 1), {}, id="too many"),
        pytest.param((5, None), {"timestamp": "CreateTime"}, id="a name that is no column"),
        pytest.param((5, None, "CreateTime"), {"base_offset": 5}, id="one value twice"),
    ],
)
def test_a_row_wants_all_its_values_once(values: tuple[object, ...], named: dict[str, object]) -> None:
    constructor: type = Entry  # type checkers refuse these calls
    with pytest.raises(TypeError, match="Entry has 3 values"):
        constructor(*values, **named)


class OtherEntry(Entry):
    """The same columns in another class."""


def test_rows_are_equal_by_class_and_values() -> None:
    row, part = Entry(5, None, "CreateTime"), Entry.partial(5, None)
    assert (row, part) == (Entry(5, None, "CreateTime"), Entry.partial(5, None))
    others = (Entry(5, 0, "CreateTime"), part, OtherEntry(5, None, "CreateTime"), (5, None, "CreateTime"))
    assert [other for other in others if row == other] == []


def test_a_table_and_its_slices_have_columns_by_their_names() -> None:
    table = Table.of(Entry, ROWS)
    assert (len(table), table.row(1).timestamp_type) == (3, "LogAppendTime")
    assert list(table["base_offset"]) == [5, 7, 9]
    assert list(table["partition_leader_epoch"]) == [None, 3, 4]
    assert list(table.slice(1, 3)["base_offset"]) == [7, 9]
    for empty in (table.slice(1, 1), Table.of(Entry, [])):
        assert (len(empty), list(empty), list(empty["timestamp_type"])) == (0, [], [])
