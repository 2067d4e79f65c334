"""Builds the rows of a table from columns: the requested columns, and only rows in the requested ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdump.output.arrow.builder import arrow_array, record_batch

if TYPE_CHECKING:
    from typing import Any

    import pyarrow as pa

    from kdump.pipeline.options import Options

    Columns = dict[str, Any]

_OFFSETS = ("offset", "last_offset")
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
_WITHOUT_RANGE = ("segments", "producers", "checkpoints")


def built(columns: Columns, count: int, options: Options) -> pa.RecordBatch:
    """These rows as Arrow's columns, the requested ones only."""
    batch = record_batch(options.columns, columns, count, options.schema)
    return _in_range(batch, columns, options) if options.has_range and options.table != "batches" else batch


def _in_range(batch: pa.RecordBatch, columns: Columns, options: Options) -> pa.RecordBatch:
    """Only the rows with requested offsets and timestamps; tables without these columns stay as they are."""
    import pyarrow.compute as pc

    keeps: list[pa.Array] = []
    offsets = next((columns[name] for name in _OFFSETS if name in columns), None)
    timestamps = columns.get("timestamp")
    for values, first, last in (
        (offsets, options.range.from_offset, options.range.to_offset),
        (timestamps, options.range.from_time, options.range.to_time),
    ):
        if values is None or options.table in _WITHOUT_RANGE or (first is None and last is None):
            continue
        keeps.append(_are_between(arrow_array("Int64", values, batch.num_rows), first, last))
    for keep in keeps[1:]:
        keeps[0] = pc.and_(keeps[0], keep)
    return batch.filter(keeps[0]) if keeps else batch


def _are_between(values: pa.Array, first: int | None, last: int | None) -> pa.Array:
    """Whether each of these numbers of 64 bits is in a range, whose bounds may have more bits; null for null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lowest = _MIN_INT64 if first is None else max(first, _MIN_INT64)
    highest = _MAX_INT64 if last is None else min(last, _MAX_INT64)
    if lowest > highest:
        return pa.repeat(pa.scalar(False), len(values))
    return pc.and_(pc.greater_equal(values, lowest), pc.less_equal(values, highest))
