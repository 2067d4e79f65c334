"""Lists batches or records into a file of Parquet or Arrow, past any damage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa

from kdump.binary.columns_reference import RECORD_COLUMNS
from kdump.binary.source import Source
from kdump.cli.listing import text_checkpoints
from kdump.cli.listing.lister import list_each
from kdump.cli.listing.logs import LogLister
from kdump.cli.listing.run import Run
from kdump.cli.shared_options import STDIN
from kdump.cli.streams import stderr_bytes
from kdump.errors import UsageError
from kdump.formats import file_name
from kdump.output.arrow.builder import MOST_HELD, bounded
from kdump.output.arrow.decoded_columns import UNFIT, DecodedColumns
from kdump.output.arrow.files import SNAPPY, TableFile
from kdump.output.arrow.limits import BATCH_BYTES, BATCH_ROWS
from kdump.output.arrow.log_columns import batch_columns, record_columns
from kdump.output.arrow.schemas import schema_of
from kdump.output.blocks import Blocks
from kdump.pipeline import discovery
from kdump.pipeline.options import Options
from kdump.pipeline.place import place_of
from kdump.pipeline.rows import built
from kdump.schemas.shapes import NotedShapes, note_both

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kdump.cli.listing.request import Request
    from kdump.decoding.decoded import Decoded
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.reading import salvage

BATCHES, RECORDS = "batches", "records"

_WHOLE_VALUES = "127m"  # no batch that kdump reads is larger


def export(request: Request, path: str) -> int:
    """Write what a request asks for into a file. Returns the exit code: clean, findings, or files that were not examined.

    Raises UsageError where the file exists, or where something is asked for that it cannot hold.
    """
    if STDIN in request.paths:
        raise UsageError(f"{request.output} contains the names of files, but stdin has no name")
    if request.suffix == file_name.CHECKPOINT and text_checkpoints.text_files(request.paths):
        text_checkpoints.refuse_options_of_logs(request)
    refused = {
        "--decode": request.decode not in ("auto", "none") and not request.asks_for_schemas,
        "--from-position": request.from_position is not None,
        "--skip-record-metadata": request.skips_metadata,
    }
    for option, is_given in refused.items():
        if is_given:
            raise UsageError(f"{option} does not apply to {request.output}, which contains raw keys and values")
    options = Options({"table": RECORDS if request.is_deep else BATCHES, "maxValueBytes": _WHOLE_VALUES}, path=request.paths[0])
    with open(os.devnull, "wb", buffering=0) as nowhere, stderr_bytes() as stderr:
        err = Blocks(stderr, needs_reader=False)
        run = Run(request, Blocks(nowhere), err, is_terminal=False, is_error_terminal=stderr.isatty())
        try:
            decoded = _decoded_columns(run, nowhere) if request.is_deep else None
            schema = schema_of(options.columns)
            for field in () if decoded is None else decoded.fields:
                schema = schema.append(field)
            with TableFile(path, schema, request.output, compression=SNAPPY) as file:
                rows = _Rows(file)
                list_each(run, lambda run, path: _export_file(run, path, options, rows, decoded))
                rows.flush()
            if decoded is not None and decoded.unfit_count:
                run.find(path, f"decoded values that do not fit into their columns: {decoded.unfit_count:,} ({UNFIT})")
        except FileExistsError:
            raise UsageError(
                f"{path} exists; kdump does not overwrite files", remedy="name another file with -o, or remove this one"
            )
        finally:
            run.schemas.close()
        err.flush()
        return run.status


def _export_file(run: Run, path: str, options: Options, rows: _Rows, decoded: DecodedColumns | None) -> None:
    item = next(iter(discovery.discover(path)))
    with Source(path) as source:
        _Exporter(run, source, place_of(item), options, rows, decoded).list_all()


def _decoded_columns(run: Run, nowhere: Any) -> DecodedColumns | None:
    """The columns of decoded keys and values, whose types hold all schemas that occur; None if there are no schemas.

    Reads logs for which there are schemas once without decoding, because a column has one type from its first row on.
    """
    silent = Run(run.request, Blocks(nowhere), Blocks(nowhere), is_terminal=False, is_error_terminal=False)
    silent.schemas = run.schemas
    keys, values = NotedShapes(), NotedShapes()
    has_schemas = False

    def scout(silent: Run, path: str) -> None:
        nonlocal has_schemas
        with Source(path) as source:
            lister = _Scout(silent, source, silent.begins.get(path))
            if lister.decoding.noted_shapes is None:
                return
            has_schemas = True
            try:
                lister.list_all()
            finally:
                note_both((keys, values), lister.decoding.noted_shapes)

    list_each(silent, scout)
    return DecodedColumns(keys.joined, values.joined) if has_schemas else None


class _Rows:
    """Collects rows for a file: joins small tables, and cuts large ones."""

    def __init__(self, file: TableFile) -> None:
        self._file = file
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = self._held_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        self._held_rows += batch.num_rows
        if self._held_bytes >= BATCH_BYTES or self._held_rows >= BATCH_ROWS:
            self.flush()
        elif len(self._held) >= MOST_HELD:
            self._held = list(bounded(self._held))

    def flush(self) -> None:
        for batch in bounded(self._held):
            self._file.write(batch)
        self._held, self._held_bytes, self._held_rows = [], 0, 0


class _Scout(LogLister):
    """Lists one log to see which schemas its records have."""

    def write_damage(self, damage: salvage.Damage) -> None:
        """Nothing."""

    def write_damaged_record(self, position: int) -> None:
        """Nothing."""

    def write_records(self, part: RecordChunk, kept: Sequence[int], status: str) -> None:
        if len(kept) < len(part.records):
            part = self.selected(part, kept)
        self.decoding.note_shapes(part)


class _Exporter(LogLister):
    """Lists one log into a Parquet or Arrow file. Damaged ranges, and batches with unreadable records, have no rows."""

    packed = RECORD_COLUMNS

    def __init__(
        self,
        run: Run,
        source: Source,
        place: dict[str, Any],
        options: Options,
        rows: _Rows,
        decoded: DecodedColumns | None,
    ) -> None:
        super().__init__(run, source, run.begins.get(source.path))
        self._decoded = decoded
        self._place = place
        self._options = options
        self._rows = rows

    def write_damage(self, damage: salvage.Damage) -> None:
        """Nothing."""

    def write_damaged_record(self, position: int) -> None:
        """Nothing."""

    def write_batches(self, chunk: Chunk, status: str) -> None:
        self._rows.write(built({**self._place, **batch_columns(chunk, status)}, len(chunk), self._options))

    def write_records(self, part: RecordChunk, kept: Sequence[int], status: str) -> None:
        if not kept:
            return
        count = len(part.records)
        columns = record_columns(part, status, self._options.max_value_bytes)
        batch = built({**self._place, **columns}, count, self._options)
        if len(kept) < count:
            batch = batch.take(pa.array(kept, pa.int64()))
            part = self.selected(part, kept)
        for first, end, decoded in self.decoding.pieces(part):  # also to report faults
            if self._decoded is not None:
                self._rows.write(self._with_decoded(batch.slice(first, end - first), decoded))
        if self._decoded is None:
            self._rows.write(batch)

    def _with_decoded(self, batch: pa.RecordBatch, decoded: Sequence[Decoded | None] | None) -> pa.RecordBatch:
        """Rows with their decoded columns."""
        assert self._decoded is not None
        arrays = self._decoded.arrays([None] * batch.num_rows if decoded is None else decoded)
        schema = pa.schema([*batch.schema, *self._decoded.fields])
        return pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=schema)
