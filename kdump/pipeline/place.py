"""The origin of a table's rows: broker, topic, partition, segment and path."""

from __future__ import annotations

from kdump.output.arrow.builder import Constant
from kdump.output.arrow.rows import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kdump.pipeline.discovery import FileItem


def place_of(item: FileItem) -> dict[str, Any]:
    """The origin of a file's rows."""
    values = (item.broker, item.topic, item.partition, item.base_offset, item.path)
    return {column.name: Constant(value) for column, value in zip(Place.schema, values, strict=True)}
