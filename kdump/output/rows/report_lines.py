"""What tables for people show of findings, forecasts, and partitions in an overview."""

from __future__ import annotations

import os

from kdump.output.rows.layout import Layout, layout_by_schema
from kdump.tables import Bool, Int64, Row, Text

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
    return layout_by_schema(FindingLine, _of_finding)


def _of_finding(finding: Any) -> FindingLine:  # a Finding
    return FindingLine.like(finding, file=finding.path)


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
    return layout_by_schema(ForecastLine, _of_forecast)


def _of_forecast(forecast: Any) -> ForecastLine:  # a Forecast
    return ForecastLine.like(
        forecast,
        recovery_point=f"{forecast.recovery_point}{' (assumed)' if forecast.recovery_point_is_assumed else ''}",
        stop_at=forecast.consumers_stop_at,
        segments_gone=len(forecast.segments_gone),
        exception=(forecast.exception or "").rpartition(".")[2] or None,
        file=forecast.path,
    )


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
    return layout_by_schema(PartitionLine, _of_partition)


def _of_partition(one: Any) -> PartitionLine:  # a PartitionSum
    folder, name = os.path.split(one.path.rstrip("/"))
    return PartitionLine.like(one, partition=name, codecs=",".join(one.codecs) or "-", file=folder or os.curdir)
