"""Writes a table of decoded keys and values for each topic of a scan, with columns of the types that its schemas have."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kdump.output.arrow.decoded_columns import NAMES, DecodedColumns
from kdump.output.arrow.files import TableFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kdump.schemas.shapes import NotedShapes

FOLDER = "decoded"
"""The folder of these tables, beside the others: each is in a folder `topic=NAME` of it."""

_PLACE = ("broker", "partition", "segmentBase", "path", "position", "offset", "timestamp", "status")
"""The columns of a record that say which one it is."""

_TOPIC = "topic"
_LEGAL_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")  # as brokers accept it; others make no path
_ROWS = 4096  # at a time


def write(folder: str, shapes: Mapping[str, tuple[NotedShapes, NotedShapes]]) -> None:
    """Write the tables of all topics whose records have schemas, beside the table `records` in `folder`.

    A topic whose name no broker accepts has none.

    `shapes` are those of the keys and of the values of each topic. The rows are those of `records`, which has the decoded values
    as JSON text: one file for each of its files and topic.
    """
    typed = {
        topic: DecodedColumns(keys.joined, values.joined)
        for topic, (keys, values) in shapes.items()
        if (keys or values) and _LEGAL_TOPIC.fullmatch(topic)
    }
    records = os.path.join(folder, "records")
    for name in sorted(os.listdir(records)) if typed else ():
        with ExitStack() as stack:
            files: dict[str, TableFile] = {}
            for topic, rows in _by_topic(os.path.join(records, name)):
                columns = typed.get(topic)
                if columns is None:
                    continue
                fields = [rows.schema.field(name) for name in _PLACE]
                arrays = [rows.column(name) for name in _PLACE]
                batch = pa.RecordBatch.from_arrays([*arrays, *columns.typed(rows)], schema=pa.schema([*fields, *columns.fields]))
                if topic not in files:
                    place = os.path.join(folder, FOLDER, f"{_TOPIC}={topic}")
                    os.makedirs(place, exist_ok=True)
                    files[topic] = stack.enter_context(TableFile(os.path.join(place, name), batch.schema))
                files[topic].write(batch)


def topics_in(folder: str) -> list[str]:
    """The topics that have such a table. Raises OSError if the folder of these tables cannot be listed."""
    try:
        names = os.listdir(os.path.join(folder, FOLDER))
    except FileNotFoundError:
        return []
    return sorted(name.removeprefix(f"{_TOPIC}=") for name in names)


def _by_topic(path: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of a file of records, in their order, cut where the topic changes."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_ROWS, columns=[_TOPIC, *_PLACE, *NAMES]):
            topics = batch.column(_TOPIC).to_pylist()
            start = 0
            for row in range(1, len(topics) + 1):
                if row == len(topics) or topics[row] != topics[start]:
                    yield topics[start], batch.slice(start, row - start)
                    start = row
