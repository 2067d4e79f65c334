"""The formats of `kdump forecast`, by the names of `--output`: text for people, and rows of any format."""

from __future__ import annotations

from kdump.forecasts.row import Forecast
from kdump.output.rows import formatters
from kdump.output.rows.forecast_summary import ForecastSummary
from kdump.output.rows.row_writer import RowWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from kdump.output.rows.formatters import Formatter, Write
    from kdump.output.text.style import ReportStyle
    from kdump.tables import Row

    class ForecastFormatter(Protocol):
        """Takes the forecasts of one directory after the other, then the summary."""

        def directory(self, rows: list[Forecast]) -> None: ...
        def end(self, summary: ForecastSummary) -> None: ...


ROW_CLASSES: tuple[type[Row], ...] = (Forecast, ForecastSummary)
"""What a forecast consists of, as rows."""


def formatter_of(name: str, write: Write, style: ReportStyle) -> ForecastFormatter:
    """The formatter of this name; its module is loaded only now."""
    if name == "text":
        from kdump.output.text.forecast import ForecastReport

        return ForecastReport(write, style)
    return ForecastRows(formatters.formatter_of(name, write, style))


class ForecastRows:
    """Forecasts as rows, and the summary at the end."""

    def __init__(self, formatter: Formatter) -> None:
        self._rows = RowWriter(formatter, *ROW_CLASSES)

    def directory(self, rows: list[Forecast]) -> None:
        for row in rows:
            self._rows.write(row)

    def end(self, summary: ForecastSummary) -> None:
        self._rows.write(summary)
        self._rows.end()
