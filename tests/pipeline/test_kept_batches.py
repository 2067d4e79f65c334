"""Rows made from the bytes that a walk keeps are those made from headers, one by one."""

import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from golden_outputs.runs import CASES
from kdump.pipeline import planning, reading
from kdump.pipeline.options import Options
from kdump.reading.windows import KeptBatches
from tests.builders.files import write_partition
from tests.builders.records import batch, record

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")
pytest.importorskip("kdump.binary._kernel", reason="only the kernel in C keeps bytes")

VALUE = os.urandom(6000)


def _rows(path: Path, table: str, **others: str) -> list[dict[str, Any]]:
    options = Options({"path": str(path), "table": table, "unreadable": "skip", "isolated": "false", **others})
    return [row for task in planning.plan(options) for part in reading.read(task, options) for row in part.to_pylist()]


def _both(path: Path, table: str, **others: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """The rows from kept bytes, the rows from headers, and how often bytes were kept."""
    with mock.patch.object(KeptBatches, "__init__", autospec=True, side_effect=KeptBatches.__init__) as made:
        kept = _rows(path, table, **others)
    with mock.patch.object(KeptBatches, "of", return_value=None):
        return kept, _rows(path, table, **others), made.call_count


TABLES = pytest.mark.parametrize(
    ("table", "others"),
    [("batches", {"uncompressed": "true"}), ("batches", {"uncompressed": "sample"}), ("segments", {})],
    ids=["batches", "batches-sample", "segments"],
)


@TABLES
def test_rows_of_golden_cases_are_those_of_headers(table: str, others: dict[str, str]) -> None:
    found, plain, count = _both(CASES, table, **others)
    assert found == plain
    assert len(found) > 200
    assert count > 100


@TABLES
def test_rows_of_many_stretches_are_those_of_headers(table: str, others: dict[str, str], tmp_path: Path) -> None:
    batches: list[bytes] = []
    for number in range(2600):
        append_time = number % 3 == 0 and number > 1800
        batches.append(
            batch(
                records=[record(value=VALUE)],
                base_offset=2 * number,
                base_timestamp=-1 if number == 40 else None,
                timestamp_type="LogAppendTime" if append_time else "CreateTime",
                codec="gzip" if number > 2500 else "none",
                partition_leader_epoch=number // 1000 - 1,
                is_transactional=900 < number < 910,
                producer_id=7 if 900 < number < 910 else -1,
                producer_epoch=0 if 900 < number < 910 else -1,
                base_sequence=number - 901 if 900 < number < 910 else -1,
            )
        )
    write_partition(tmp_path / "data", topic="t", partition=0, segments={0: batches})
    found, plain, count = _both(tmp_path / "data", table, **others)
    assert found == plain
    assert count >= 3
