"""Questions to written tables: those that cannot have an answer are not asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kdump.pipeline.fleet.query import Query
from kdump.tables import Int64, Row
from tests.loops import each

pa = pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

import pyarrow.parquet as pq  # noqa: E402  # what needs Arrow

from kdump.output.arrow.files import TableFile  # noqa: E402  # likewise
from kdump.pipeline.fleet import written  # noqa: E402  # likewise


class _Count(Row):
    """How many rows a table has."""

    rows: Int64


def _write(folder: Path, column: str, groups: Sequence[Sequence[object]], of: str, *, statistics: bool = True) -> None:
    """Write a table of one column, a file for each group of values: as a scan does, or without `statistics`."""
    (folder / "batches").mkdir(parents=True)
    for number, values in enumerate(groups):
        rows, path = pa.record_batch({column: pa.array(values, of)}), folder / "batches" / f"{number}.parquet"
        if statistics:
            with TableFile(str(path), rows.schema) as file:
                file.write(rows)
        else:
            pq.write_table(pa.Table.from_batches([rows]), path, write_statistics=False)


def _counted(folder: Path, column: str, count: int) -> list[int]:
    """The answer to how many rows there are; none if the column lacks values."""
    query = Query(
        "count", {"batches": (column,)}, "SELECT count(*) AS `rows` FROM {batches}", [_Count], least={"batches": (column, count)}
    )
    (answer,) = written.ask(str(folder), [query])
    return [row["rows"] for row in answer.to_pylist()]


@each(
    ("column", "of", "count", "groups", "answer"),
    [
        ("broker", "string", 2, [["a", "a"], ["a", None]], []),
        ("broker", "string", 2, [["a", "b"]], [2]),
        ("broker", "string", 2, [["a"], ["b"]], [2]),
        ("broker", "string", 2, [[None], ["b"]], []),
        ("broker", "string", 2, [[]], []),
        ("isTransactional", "bool", 1, [[False, None], [False]], []),
        ("isTransactional", "bool", 1, [[False], [False, True]], [3]),
        ("deleteHorizonMs", "int64", 1, [[None], [None]], []),
        ("deleteHorizonMs", "int64", 1, [[None], [None, 0]], [3]),
    ],
)
def test_a_question_is_asked_if_its_column_has_enough_values(
    column: str, of: str, count: int, groups: list[list[object]], answer: list[int], tmp_path: Path
) -> None:
    _write(tmp_path, column, groups, of)
    assert _counted(tmp_path, column, count) == answer


def test_a_question_is_asked_if_statistics_are_missing(tmp_path: Path) -> None:
    _write(tmp_path, "broker", [["a"], ["a"]], "string", statistics=False)
    assert _counted(tmp_path, "broker", 2) == [2]


def test_answers_are_in_the_order_of_questions(tmp_path: Path) -> None:
    _write(tmp_path, "broker", [["a", "a"]], "string")
    text = "SELECT {number} + count(*) AS `rows` FROM {{batches}}"
    queries = [
        Query(f"q{number}", {"batches": ("broker",)}, text.format(number=number), [_Count], least={"batches": ("broker", count)})
        for number, count in ((10, 1), (20, 2), (30, 1))
    ]
    assert [answer.to_pylist() for answer in written.ask(str(tmp_path), queries)] == [[{"rows": 12}], [], [{"rows": 32}]]
