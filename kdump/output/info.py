"""The formats of `kdump info`, by the names of `--output`: text for people, and rows of any format."""

from __future__ import annotations

from kdump.output.rows.formatters import formatter_of
from kdump.output.rows.row_writer import write_rows
from kdump.overview.row import ROW_CLASSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.output.rows.formatters import Write
    from kdump.output.text.style import ReportStyle
    from kdump.overview.overview import Overview


def write_info(name: str, overview: Overview, write: Write, style: ReportStyle) -> None:
    """Write an overview in the format of this name."""
    if name == "text":
        from kdump.output.text.info import write_overview

        write_overview(overview, write, style)
        return
    write_rows(overview.rows(), formatter_of(name, write, style), *ROW_CLASSES)
