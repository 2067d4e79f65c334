"""What a table for people shows of a finding."""

from __future__ import annotations

from kdump.output.rows.layout import Layout, layout_by_schema
from kdump.tables import Int64, Row, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FindingLine(Row):
    """A finding without its texts and its evidence."""

    severity: Text
    code: Text
    start: Int64
    end: Int64
    offset_first: Int64 | None
    offset_last: Int64 | None
    skipped: Int64
    resync: Text
    broker_forecast: Text
    file: Text


def layout_of_findings() -> Layout:
    return layout_by_schema(FindingLine, _line)


def _line(finding: Row) -> FindingLine:
    names = [column.name for column in FindingLine.schema]
    values: list[Any] = [getattr(finding, "path" if name == "file" else name) for name in names]  # of several types
    return FindingLine(*values)
