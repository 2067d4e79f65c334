"""The formats of `kdump map`, by the names of `--output`: the picture, and rows of any format."""

from __future__ import annotations

from kdump.output.rows.formatters import formatter_of
from kdump.output.rows.row_writer import write_rows
from kdump.overview.map_rows import ROW_CLASSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.output.rows.formatters import Write
    from kdump.output.text.style import ReportStyle
    from kdump.overview.partition_map import PartitionMap


def write_map(name: str, maps: Sequence[PartitionMap], axis: str, write: Write, style: ReportStyle) -> None:
    """Write maps in the format of this name."""
    if name == "text":
        from kdump.output.text.map import write_maps

        write_maps(maps, axis, write, style)
        return
    write_rows((row for made in maps for row in made.rows()), formatter_of(name, write, style), *ROW_CLASSES)
