"""What a table for people shows of a partition in an overview."""

from __future__ import annotations

import os

from kdump.output.rows.layout import Layout, layout_by_schema
from kdump.tables import Int64, Row, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PartitionLine(Row):
    """A partition by the name of its directory; `file` is the directory that it is in."""

    partition: Text
    segments: Int64
    size: Int64
    first_offset: Int64 | None
    end_offset: Int64 | None
    oldest_timestamp: Int64 | None
    newest_timestamp: Int64 | None
    codecs: Text
    open_transactions: Int64
    broken_at: Text | None
    file: Text


def layout_of_partitions() -> Layout:
    return layout_by_schema(PartitionLine, _line)


def _line(row: Row) -> PartitionLine:
    one: Any = row  # a PartitionSum
    folder, name = os.path.split(one.path.rstrip("/"))
    return PartitionLine.like(one, partition=name, codecs=",".join(one.codecs) or "-", file=folder or os.curdir)
