"""JSON Schemas of the rows that commands list, made from the row classes: name, type, whether null is possible, description."""

from __future__ import annotations

from kdump.checks.finding import DESCRIPTIONS, SEVERITIES, FileReport, Finding, Start, Summary
from kdump.forecasts import forecast
from kdump.forecasts.outcome import OUTCOMES
from kdump.forecasts.row import Forecast
from kdump.forecasts.settings import STOPS
from kdump.output.forecast import SUMMARY_DESCRIPTIONS, ForecastSummary
from kdump.output.rows import listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.tables import Column, Row

_DRAFT = "https://json-schema.org/draft/2020-12/schema"

ROWS: dict[str, type[Row]] = {
    "finding": Finding,
    "file": FileReport,
    "start": Start,
    "summary": Summary,
    "batch": listing.ListedBatch,
    "record": listing.ListedRecord,
    "index-entry": listing.ListedIndexEntry,
    "timeindex-entry": listing.ListedTimeIndexEntry,
    "transaction": listing.ListedTransaction,
    "producer": listing.ListedProducer,
    "checkpoint-offset": listing.ListedCheckpointOffset,
    "leader-epoch": listing.ListedLeaderEpoch,
    "forecast": Forecast,
    "forecast-summary": ForecastSummary,
}
"""What there are schemas of: lines of `kdump check --output ndjson` by their `kind`, and those of the other commands."""

_KINDS = ("finding", "file", "start", "summary", "forecast", "forecast-summary")
_DESCRIPTIONS = {**DESCRIPTIONS, Forecast: forecast.DESCRIPTIONS, ForecastSummary: SUMMARY_DESCRIPTIONS}
_INTEGERS = {"Int8": 8, "Int16": 16, "Int32": 32, "Int64": 64}
_ENUMS: dict[tuple[type[Row], str], list[str]] = {
    (Finding, "severity"): list(SEVERITIES),
    (Forecast, "after"): list(STOPS),
    (Forecast, "outcome"): list(OUTCOMES),
}


def schema_of(name: str) -> dict[str, object]:
    """The JSON Schema of one line of NDJSON: an object with all columns, and no others."""
    row_class = ROWS[name]
    properties: dict[str, object] = {}
    if name in _KINDS:
        properties["kind"] = {"const": name, "description": "What this line is."}
    for column in row_class.schema:
        properties[column.key] = _property(row_class, column)
    return {
        "$schema": _DRAFT,
        "title": name,
        "description": (row_class.__doc__ or "").split("\n\n")[0].strip(),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _property(row_class: type[Row], column: Column) -> dict[str, object]:
    if column.type == "Json":  # what a decoder makes of bytes
        return {"type": ["object", "integer", "null"]}
    json_type, bounds = _type(column.type)
    property_: dict[str, object] = {"type": [json_type, "null"] if column.is_nullable else json_type, **bounds}
    if (row_class, column.name) in _ENUMS:
        property_["enum"] = _ENUMS[row_class, column.name]
    description = _DESCRIPTIONS.get(row_class, {}).get(column.name)
    if description:
        property_["description"] = description
    return property_


def _type(name: str) -> tuple[str, dict[str, object]]:
    if name in _INTEGERS:
        bound = 1 << _INTEGERS[name] - 1
        return "integer", {"minimum": -bound, "maximum": bound - 1}
    if name == "UInt32":
        return "integer", {"minimum": 0, "maximum": (1 << 32) - 1}
    if name == "Float64":
        return "number", {}
    if name == "Bool":
        return "boolean", {}
    if name == "Objects":
        return "array", {"items": {"type": "object", "additionalProperties": {"type": ["string", "null"]}}}
    if name == "Texts":
        return "array", {"items": {"type": "string"}}
    if name == "Pairs":
        pair = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
        return "array", {"items": pair}
    if name == "Changes":
        return "array", {"items": {"type": "object", "additionalProperties": {"type": ["string", "integer", "null"]}}}
    return "string", {}
