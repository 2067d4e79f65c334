"""Filters that Spark hands on, given to the data source as Spark gives them, in this process."""

import json
from itertools import product
from operator import eq, ge, gt, le, lt
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", "4.1")

from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from kdump.output.arrow.schemas import table_schema
from kdump.spark.source import KdumpPushdownReader  # it needs PySpark
from tests.builders.files import write_partition
from tests.builders.records import batch, record
from tests.loops import each
from tests.sessions import ROOT


def _read_with_filters(paths: list[str], table: str, filters: list[Any], **given: str) -> list[dict[str, Any]]:
    """The rows that a reader returns when it gets these filters, in this process."""
    given = {"paths": json.dumps(paths), "table": table, "isolated": "false", **given}
    reader = KdumpPushdownReader(given, [(field.name, field.nullable) for field in table_schema(table)])
    assert list(reader.pushFilters(filters)) == filters
    return [row for part in reader.partitions() for read in reader.read(part) for row in read.to_pylist()]


OPERATORS = {EqualTo: eq, GreaterThan: gt, GreaterThanOrEqual: ge, LessThan: lt, LessThanOrEqual: le}


@pytest.mark.slow
@each(
    "table, column",
    [*product(["records"], ["offset", "timestamp"]), *product(["batches"], ["lastOffset", "baseOffset", "timestamp"])],
)
def test_ranges_in_filters_leave_out_nothing_else(table: str, column: str) -> None:
    cases = sorted((ROOT / "golden_outputs" / "cases").iterdir())[::12]
    paths = [str(path) for path in cases if "crc-good" not in str(path)]  # headers with good checksums are believed
    everything = [row for row in _read_with_filters(paths, table, []) if row[column] is not None]
    values = sorted(row[column] for row in everything)
    for kind, value in product(OPERATORS, (values[len(values) // 3], 2)):
        found = [row for row in _read_with_filters(paths, table, [kind((column,), value)]) if row[column] is not None]
        wanted, left = (sorted(repr(row) for row in rows if OPERATORS[kind](row[column], value)) for rows in (everything, found))
        assert left == wanted, (kind, value)


def test_what_filters_and_options_rule_out_is_not_read(tmp_path: Path) -> None:
    """Three partitions of four batches, with three records each, the third without timestamps."""
    for partition in range(3):
        batches = []
        for row, time in enumerate((1000, 1003, -1, 1006)):
            records = [record(timestamp_delta=at if time > 0 else 0) for at in range(3)]
            batches.append(batch(base_offset=3 * row, records=records, base_timestamp=time))
        write_partition(tmp_path, topic="a", partition=partition, segments={0: batches})
    of_options = {"fromoffset": "9", "tooffset": "10", "fromtimestamp": "1970-01-01T00:00:01"}
    cases: list[tuple[str, list[Any], dict[str, str], int]] = [
        ("records", [GreaterThanOrEqual(("OFFSET",), 4), LessThan(("offset",), 7)], {}, 9),
        ("records", [GreaterThan(("offset",), 4), GreaterThan(("offset",), 1)], {}, 21),
        ("records", [LessThanOrEqual(("offset",), 1), LessThanOrEqual(("offset",), 4)], {}, 6),
        (
            "records",
            [GreaterThan(("offset",), 1), LessThan(("offset",), 11), LessThan(("timestamp",), 9999)],
            of_options,
            6,
        ),
        ("records", [EqualTo(("offset",), 4), In(("Partition",), (0, 2)), EqualTo(("partition",), 2)], {}, 1),
        *(("records", [GreaterThan(("timestamp",), time)], {}, count) for time, count in ((1002, 18), (-2, 36))),
        ("records", [EqualTo(("timestamp",), 1002)], {}, 3),
        ("batches", [GreaterThan(("lastOffset",), 5)], {}, 6),
        ("batches", [LessThan(("baseOffset",), 6), GreaterThan(("baseOffset",), 2)], {}, 6),
        ("batches", [EqualTo(("topic",), "b")], {}, 0),
        ("batches", [EqualTo(("topic",), "a"), In(("partition",), (3, 1)), EqualTo(("segmentBase",), 0)], {}, 4),
    ]
    for table, filters, given, count in cases:
        assert len(_read_with_filters([str(tmp_path)], table, filters, **given)) == count, (table, filters)
