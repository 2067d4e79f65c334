"""What a table for people shows of a forecast."""

from __future__ import annotations

from kdump.output.rows.layout import Layout, layout_by_schema
from kdump.tables import Bool, Int64, Row, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ForecastLine(Row):
    """A forecast without its lists; `file` is the directory."""

    after: Text
    recovery_point: Text
    outcome: Text
    log_end: Int64 | None
    data_end: Int64 | None
    end_differs: Bool
    bytes_lost: Int64
    lost_records: Int64
    stop_at: Int64 | None
    segments_gone: Int64
    exception: Text | None
    file: Text


def layout_of_forecasts() -> Layout:
    return layout_by_schema(ForecastLine, _line)


def _line(row: Row) -> ForecastLine:
    forecast: Any = row  # a Forecast
    return ForecastLine.like(
        forecast,
        recovery_point=f"{forecast.recovery_point}{' (assumed)' if forecast.recovery_point_is_assumed else ''}",
        stop_at=forecast.consumers_stop_at,
        segments_gone=len(forecast.segments_gone),
        exception=(forecast.exception or "").rpartition(".")[2] or None,
        file=forecast.path,
    )
