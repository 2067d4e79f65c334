"""How tables for people show batches and records: offsets as a range, one word for what is wrong, keys and values as text."""

from __future__ import annotations

import json
from functools import lru_cache

from kdump.binary.java_strings import escaped
from kdump.output.rows.hits import Hit
from kdump.output.rows.layout import Heading, Layout, cell, cells_of_column, headings_of, shown_text, time_text
from kdump.output.rows.listing import ListedRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kdump.tables import Row, Table

_BATCH_HEADINGS = ("position", "offsets", "count", "time", "timeType", "size", "codec", "producer", "flags", "crc", "status")
_RIGHT = ("position", "count", "size")
_PLAIN_RECORD_COLUMNS = ("offset", "timestamp", "key_size", "value_size", "sequence", "position", "status", "headers")
_RECORD_COLUMNS = (*_PLAIN_RECORD_COLUMNS, "key", "value")
_KEPT_TEXTS = 256  # records of internal topics are often the same, as markers are
_LONGEST_KEPT = 256
_DATA = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


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
        columns_of=_columns_of_records,
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
    offsets = (
        "-"
        if batch.last_offset is None
        else str(batch.last_offset)
        if batch.base_offset is None
        else f"{batch.base_offset} - {batch.last_offset}"
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
    cells = [cell(name, getattr(record, name)) for name in _PLAIN_RECORD_COLUMNS]
    cells += [_content(name, *(getattr(record, column) for column in _columns_of_content(name))) for name in ("key", "value")]
    if record.decode_error is not None:
        cells[-1] = _reason(record.decode_error) + cells[-1]
    return cells


def _columns_of_records(table: Table[Row]) -> list[Sequence[str]]:
    """As `_record_cells`, of many rows."""
    cells = [cells_of_column(name, table[name]) for name in _PLAIN_RECORD_COLUMNS]
    for name in ("key", "value"):
        contents = [table[column] for column in _columns_of_content(name)]
        as_text = cells_of_column(name, contents[0])
        if any(column.count(None) < len(column) for column in contents[1:]):
            rows = zip(as_text, *contents, strict=True)
            as_text = [
                shown if encoded is decoded is None else _content(name, text, encoded, decoded, schema)
                for shown, text, encoded, decoded, schema in rows
            ]
        cells.append(as_text)
    errors: Sequence[str | None] = table["decode_error"]
    if errors.count(None) < len(errors):
        reasons = {error: "" if error is None else _reason(error) for error in set(errors)}
        cells[-1] = [reasons[error] + value for error, value in zip(errors, cells[-1], strict=True)]
    return cells


def _columns_of_content(name: str) -> tuple[str, str, str, str]:
    """The columns of a key or value, in the order in which `_content` takes them."""
    return name, f"{name}_base64", f"decoded_{name}", f"{name}_schema"


def _content(name: str, text: str | None, encoded: str | None, decoded: str | None, schema: str | None) -> str:
    if decoded is not None:
        return shown_text(_decoded_text(decoded) if schema is None else decoded)
    return cell(name, text) if encoded is None else shown_text(f"base64:{encoded}")


def _reason(decode_error: str) -> str:
    """Why a value is not decoded, before it."""
    return f"? {escaped(decode_error.partition(': ')[2])}: "


def _hit_cells(row: Row) -> list[str]:
    hit: Any = row
    place = [cell(name, getattr(hit, name)) for name in ("topic", "partition")]
    return [*place, *_record_cells(row), shown_text(" ".join(hit.matched)) or "-"]


def _decoded_text(decoded: str) -> str:
    """A decoded key or value of an internal topic: its type, if that has a name, and its data."""
    return _kept_text(decoded) if len(decoded) <= _LONGEST_KEPT else _text_of(decoded)


def _text_of(decoded: str) -> str:
    fields = json.loads(decoded)
    if not isinstance(fields, dict):
        return decoded
    kind = fields.get("controlType") or fields.get("type", "")
    data = _DATA.encode(fields["data"]) if "data" in fields else ""
    return " ".join(text for text in ("" if kind.isdecimal() else kind, data) if text)


_kept_text = lru_cache(_KEPT_TEXTS)(_text_of)
