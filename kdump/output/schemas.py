"""JSON Schemas of rows, made from the row classes: name, type, whether null is possible, description."""

from __future__ import annotations

from kdump.output import check, mending
from kdump.output import forecast as forecast_output
from kdump.output.rows import fates, hits, listing
from kdump.overview import map_rows
from kdump.overview import row as overview

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.tables import Column, Row

_DRAFT = "https://json-schema.org/draft/2020-12/schema"

_MENDED: dict[type[Row], None] = dict.fromkeys(row_class for classes in mending.ROW_CLASSES.values() for row_class in classes)

_REPORTS: tuple[type[Row], ...] = (
    *check.ROW_CLASSES,
    *forecast_output.ROW_CLASSES,
    *_MENDED,
    *hits.ROW_CLASSES,
    hits.SearchedFile,
    *overview.ROW_CLASSES,
    *overview.TRIAGE_CLASSES,
    *map_rows.ROW_CLASSES,
)
"""Rows of outputs with several classes: each line of NDJSON has its `kind`."""

_LISTED: tuple[type[Row], ...] = (
    listing.ListedBatch,
    listing.ListedRecord,
    listing.ListedIndexEntry,
    listing.ListedTimeIndexEntry,
    listing.ListedTransaction,
    listing.ListedProducer,
    listing.ListedCheckpointOffset,
    listing.ListedLeaderEpoch,
    hits.VerifiedFile,
    fates.Fate,
)
"""Rows of outputs with one class."""

ROWS: dict[str, type[Row]] = {row_class.row_kind: row_class for row_class in (*_LISTED, *_REPORTS)}
"""The rows that have a schema, by their kind."""

_INTEGERS = {"Int8": 8, "Int16": 16, "Int32": 32, "Int64": 64}


def schema_of(name: str) -> dict[str, object]:
    """The JSON Schema of one line of NDJSON: an object with all columns, and no others."""
    row_class = ROWS[name]
    properties: dict[str, object] = {}
    if row_class in _REPORTS:
        properties["kind"] = {"const": name, "description": "What this line is."}
    for column in row_class.schema:
        properties[column.key] = _property(column)
    return {
        "$schema": _DRAFT,
        "title": name,
        "description": (row_class.__doc__ or "").split("\n\n")[0].strip(),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _property(column: Column) -> dict[str, object]:
    if column.type == "Json":  # what a decoder makes of bytes
        return {"type": ["object", "array", "string", "number", "boolean", "null"]}
    json_type, more = _type(column.type)
    property_: dict[str, object] = {"type": [json_type, "null"] if column.is_nullable else json_type, **more}
    return property_ | column.about


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
    if name == "Objects":  # headers of records
        return _type("list[dict[Text, Text | None]]")
    if name == "Pair":
        return "array", {"items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    if name.startswith("list["):
        json_type, more = _type(name.removeprefix("list[").removesuffix("]"))
        return "array", {"items": {"type": json_type, **more}}
    if name.startswith("dict["):
        values = name.partition(", ")[2].removesuffix("]").split(" | ")
        types = ["null" if value == "None" else _type(value)[0] for value in values]
        return "object", {"additionalProperties": {"type": types}}
    return "string", {}
