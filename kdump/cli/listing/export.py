"""Writes batches or records into a file of Parquet or Arrow, past any damage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kdump.checks import salvage
from kdump.cli.listing.paths import files
from kdump.cli.listing.run import CLEAN, FINDINGS, NOT_EXAMINED
from kdump.cli.streams import say
from kdump.errors import CorruptData, KdumpError, UsageError

try:
    import pyarrow as pa
except ImportError as missing:
    raise UsageError('files of Parquet and Arrow need the package "pyarrow"', remedy="pip install 'kdump[arrow]'") from missing

from kdump.binary.java_text import escaped
from kdump.binary.source import Source
from kdump.output.arrow.builder import bounded
from kdump.output.arrow.files import TableFile
from kdump.output.arrow.schemas import schema_of
from kdump.pipeline import discovery, logs, reading
from kdump.pipeline.options import Options
from kdump.pipeline.planning import Piece
from kdump.pipeline.slice_report import SliceReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.cli.listing.request import Request

BATCHES, RECORDS = "batches", "records"

_WHOLE_VALUES = "127m"  # no batch is larger that is read


def export(request: Request) -> int:
    """Write what a request asks for into its file. Returns the exit code: clean, findings, or files that were not examined.

    Raises UsageError where the file exists, or where something is asked for that it cannot hold.
    """
    path = request.file or ""
    refused = {
        "--decode": request.decode not in ("auto", "none"),
        "--from-position": request.from_position is not None,
        "--skip-record-metadata": request.skips_metadata,
    }
    for option, is_given in refused.items():
        if is_given:
            raise UsageError(f"{option} has no part in {request.output}: keys and values stand there as they are")
    run = _Export(request)
    try:
        with TableFile(path, schema_of(run.options.columns), request.output) as file:
            for batch in bounded(run.batches()):
                file.write(batch)
    except FileExistsError:
        raise UsageError(f"{path} exists, and is not overwritten")
    if run.is_unexamined:
        return NOT_EXAMINED
    return FINDINGS if run.findings else CLEAN


class _Ended(Exception):
    """Damage is to end all."""


class _Export:
    """One run: counts what is wrong on its way."""

    def __init__(self, request: Request) -> None:
        given = {"table": RECORDS if request.is_deep else BATCHES, "maxValueBytes": _WHOLE_VALUES}
        bounds = {
            "fromOffset": request.from_offset,
            "toOffset": request.to_offset,
            "fromTimestamp": request.from_time,
            "toTimestamp": request.to_time,
        }
        given |= {name: str(value) for name, value in bounds.items() if value is not None}
        self.options = Options(given, path=request.paths[0])
        self.findings = 0
        self.is_unexamined = False
        self._request = request
        self._left = request.limit

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, up to the limit."""
        for path in files(self._request.paths, self._request.suffix):
            try:
                if isinstance(path, KdumpError):
                    raise path
                for batch in self._of_file(path):
                    if self._left is not None:
                        batch = batch.slice(0, self._left)
                        self._left -= batch.num_rows
                    yield batch
                    if self._left == 0:
                        return
            except _Ended:
                return
            except KdumpError as error:
                self._say(str(error))
                self.is_unexamined = True

    def _of_file(self, path: str) -> Iterator[pa.RecordBatch]:
        item = next(iter(discovery.discover(path)))
        place = reading.place_of(item)

        def notice(damage: salvage.Damage | CorruptData) -> None:
            self.findings += 1
            if isinstance(damage, salvage.Damage):
                size = damage.end - damage.start
                self._say(f"{path}: bytes {damage.start} to {damage.end - 1}: {damage.message} ({damage.code}, {size} bytes)")
            else:
                self._say(f"{path}, byte {damage.position}: {damage.message} ({damage.code})")
            if not self._request.keep_going:
                self._say(f"{path}: the export ends at damage")
                raise _Ended

        with Source(path) as source:
            rows = logs.record_rows if self._request.is_deep else logs.batches
            for columns, count in rows(source, Piece(item), self.options, SliceReport(path), notice):
                yield reading.built({**place, **columns}, count, self.options)

    def _say(self, message: str) -> None:
        if not self._request.is_strict:
            say(escaped(message) if os.isatty(2) else message)
