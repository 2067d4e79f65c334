"""How tables for people show batches and records: offsets as a range, one word for what is wrong, keys and values as text."""

from __future__ import annotations

import json

from kdump.binary.java_strings import escaped
from kdump.output.rows.hits import Hit
from kdump.output.rows.layout import Heading, Layout, cell, headings_of, shown_text, time_text
from kdump.output.rows.listing import ListedRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kdump.tables import Row

_BATCH_HEADINGS = ("position", "offsets", "count", "time", "timeType", "size", "codec", "producer", "flags", "crc", "status")
_RIGHT = ("position", "count", "size")
_RECORD_COLUMNS = ("offset", "timestamp", "key_size", "value_size", "sequence", "position", "status", "headers", "key", "value")


def layout_of_batches() -> Layout:
    """The status says what a CRC says, so that is left out first."""
    return Layout(
        [Heading(text, is_right=text in _RIGHT) for text in _BATCH_HEADINGS],
        _batch_cells,
        expendable=("crc", "timeType", "codec", "flags", "producer", "size"),
    )


def layout_of_records() -> Layout:
    return Layout(
        headings_of(ListedRecord, _RECORD_COLUMNS),
        _record_cells,
        expendable=("headers", "sequence", "keySize", "valueSize", "position"),
    )


def layout_of_hits() -> Layout:
    """Records as they are listed, after their partition."""
    return Layout(
        headings_of(Hit, ("topic", "partition", *_RECORD_COLUMNS, "matched")),
        _hit_cells,
        expendable=("headers", "sequence", "keySize", "valueSize", "position", "matched"),
    )


def _batch_cells(row: Row) -> list[str]:
    batch: Any = row  # a ListedBatch whose fields may all be None in a damaged range
    first = "?" if batch.base_offset is None else batch.base_offset
    offsets = (
        "-"
        if batch.last_offset is None
        else str(batch.last_offset)
        if batch.base_offset is None
        else f"{first} - {batch.last_offset}"
    )
    producer = f"{batch.producer_id}/{batch.producer_epoch}" if batch.producer_id is not None and batch.producer_id >= 0 else "-"
    flags = [word for word, is_set in (("txn", batch.is_transactional), ("control", batch.is_control)) if is_set]
    return [
        f"{batch.position:,}",
        offsets,
        "-" if batch.count is None else str(batch.count),
        "-" if batch.timestamp is None else time_text(batch.timestamp),
        (None if batch.timestamp is None else batch.timestamp_type) or "-",
        f"{batch.size:,}",
        batch.compresscodec or "-",
        producer,
        " ".join(flags) or "-",
        "-" if batch.isvalid is None else "ok" if batch.isvalid else "BAD",
        batch.status,
    ]


def _record_cells(row: Row) -> list[str]:
    """Keys and values as they were decoded, as text, or as Base64. `?` and a reason mark a value that was not decoded."""
    record: Any = row
    cells = {name: cell(name, getattr(record, name)) for name in _RECORD_COLUMNS}
    for name in ("key", "value"):
        decoded, encoded = getattr(record, f"decoded_{name}"), getattr(record, f"{name}_base64")
        if decoded is not None:
            has_schema = getattr(record, f"{name}_schema") is not None
            cells[name] = shown_text(decoded if has_schema else _decoded_text(decoded))
        elif encoded is not None:
            cells[name] = shown_text(f"base64:{encoded}")
    if record.decode_error is not None:
        reason = record.decode_error.partition(": ")[2]
        cells["value"] = f"? {escaped(reason)}: {cells['value']}"
    return list(cells.values())


def _hit_cells(row: Row) -> list[str]:
    hit: Any = row
    place = [cell(name, getattr(hit, name)) for name in ("topic", "partition")]
    return [*place, *_record_cells(row), shown_text(" ".join(hit.matched)) or "-"]


def _decoded_text(decoded: str) -> str:
    """A decoded key or value of an internal topic: its type, if that has a name, and its data."""
    fields = json.loads(decoded)
    if not isinstance(fields, dict):
        return decoded
    kind = fields.get("controlType") or fields.get("type", "")
    data = json.dumps(fields["data"], ensure_ascii=False, separators=(",", ":")) if "data" in fields else ""
    return " ".join(text for text in ("" if kind.isdecimal() else kind, data) if text)
