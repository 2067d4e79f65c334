"""Reads slices of logs: wherever a file was cut, the batches are those that one walk through all of it would find."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kdump.binary.columns_reference import RECORD_COLUMNS
from kdump.decoding.log_decoder import LogDecoder
from kdump.errors import CorruptData, KdumpError, Unreadable
from kdump.formats import record_batch
from kdump.formats.log import Chunk
from kdump.output.arrow.builder import Constant
from kdump.output.arrow.log_columns import batch_columns, columns_of_attributes, packed, packed_batch_columns, record_columns
from kdump.pipeline.planning import FileSlice
from kdump.pipeline.slice_report import SCHEMAS_UNREAD, Skipped
from kdump.reading import batch_faults, salvage
from kdump.reading.headers import headers_from
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.reading.scales import Scales
from kdump.reading.windows import Batches, KeptBatches, records_said

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from kdump.binary.source import Source
    from kdump.formats.record import RecordChunk
    from kdump.pipeline.options import Options
    from kdump.pipeline.slice_report import SliceReport

    Columns = dict[str, Any]  # sequences, constants and the like, by the names of columns

_HEADERS_AT_ONCE = 8192

_MAX_JSON = 64 << 20  # characters that the records of one table become at most; further ones are not decoded


def columns_of(item: Batches, uncompressed_sizes: Sequence[int | None] | None = None) -> Columns:
    """All columns of batches but those that say where a batch is from."""
    if not isinstance(item, KeptBatches):
        return batch_columns(item.chunk, item.status, uncompressed_sizes)
    columns = packed_batch_columns(item.numbers)
    if item.summary.any_attributes == item.summary.all_attributes:
        columns |= {name: Constant(value) for name, (value,) in columns_of_attributes([item.summary.any_attributes]).items()}
    else:
        columns |= columns_of_attributes(item.column("attributes"))
    columns["uncompressed_size"] = Constant(None) if uncompressed_sizes is None else uncompressed_sizes
    return columns


def walk(source: Source, file_slice: FileSlice, *, headers_only: bool = False) -> Iterator[Batches | salvage.Damage]:
    """The batches and damaged ranges that start in a slice; with `headers_only`, batches may come without their bytes.

    A slice that does not start with the file is walked from a little earlier on. If everything there is in order, the result is
    that of a walk through the whole file. At the first irregularity the file is walked from its start, because what came before
    may matter.
    """
    start = file_slice.start
    if start:
        held: Batches | None = None  # until it is known that what follows does not cast doubt on it
        for item in salvage.walk(source, file_slice.look_back, fills_headers=headers_only):
            if isinstance(item, salvage.Damage) or not item.is_intact:
                break
            if held is not None:
                inside = held.between(start, file_slice.end)
                if inside is not None:
                    yield inside
                start = max(start, held.end)  # batches that are looked back at may all end before the cut
                if file_slice.end is not None and start >= file_slice.end:
                    return
            held = _batches_of(item, headers_only=headers_only)
        else:
            inside = None if held is None else held.between(start, file_slice.end)
            if inside is not None:
                yield inside
            return
    for item in salvage.walk(source, fills_headers=headers_only):
        if isinstance(item, salvage.Damage):
            if item.start >= start and (file_slice.end is None or item.start < file_slice.end):
                yield item
            begin = item.start
        else:
            found = KeptBatches.of(item) or _batches_of(item, headers_only=headers_only)
            inside = found.between(start, file_slice.end)
            if inside is not None:
                yield inside
            begin = found.start
        if file_slice.end is not None and begin >= file_slice.end:
            return


def _batches_of(section: salvage.Section, *, headers_only: bool) -> Batches:
    return Batches(section.chunk.headers_only() if headers_only else section.chunk, section.status, section.summary)


Watch = Callable[[Batches | salvage.Damage], None]
"""Called for each item of a walk through a whole log, before its rows are made."""


def sections(
    source: Source, file_slice: FileSlice, options: Options, report: SliceReport, watch: Watch | None = None
) -> Iterator[Batches]:
    """The batches of a slice that may hold requested records. The report covers all bytes, and counts what is returned.

    Raises CorruptData at the first damage if the options ask for that.
    """
    for item in walk(source, file_slice, headers_only=options.table == "batches"):
        if watch is not None:
            watch(item)
        if isinstance(item, salvage.Damage):
            report.cover(item.start, item.end)
            if options.fails_fast:
                raise CorruptData(item.code, item.message, position=item.start)
            continue
        report.cover(item.start, item.end)
        for part in _in_range(item, options):
            if options.fails_fast and part.status == salvage.DAMAGED:
                fault = batch_faults.of_batch(part.chunk.batches, 0)
                fault.path = source.path
                raise fault
            report.count(len(part), part.records)
            yield part


def _in_range(item: Batches, options: Options) -> Iterator[Batches]:
    """The consecutive batches that may hold requested records."""
    if not options.has_range:
        yield item
        return
    start: int | None = None
    for row in range(len(item)):
        if _may_lie(item, row, options) or options.range.may_hold(item.chunk, row):
            start = row if start is None else start
        elif start is not None:
            yield item.slice(start, row)
            start = None
    if start is not None:
        yield item.slice(start, len(item))


def _may_lie(item: Batches, row: int, options: Options) -> bool:
    """Whether records of a batch may have other offsets or timestamps than its header says, so that each has to be looked at."""
    if options.table != "records":
        return False
    is_old_wrapper = item.chunk.is_legacy and item.chunk.batches["compresscodec"][row] != "none"
    return is_old_wrapper or item.status != salvage.INTACT


# --- Rows


def batches(
    source: Source, file_slice: FileSlice, options: Options, report: SliceReport, watch: Watch | None = None
) -> Iterator[tuple[Columns, int]]:
    """The columns of batches, and how many there are."""
    scales = Scales(source, samples=options.samples_uncompressed) if options.measures_uncompressed else None
    for item in sections(source, file_slice, options, report, watch):
        sizes = scales.sizes(item) if scales is not None else None
        yield columns_of(item, sizes), len(item)


def header_rows(source: Source, file_slice: FileSlice, options: Options, report: SliceReport) -> Iterator[tuple[Columns, int]]:
    """The columns of batches by their headers alone, found by their lengths; their checksums are not verified.

    From the first old or implausible batch on, the log is read in full.
    """
    position = 0
    while True:
        headers, positions, end = headers_from(source, position, _HEADERS_AT_ONCE)
        if headers:
            table = record_batch.table_of_batches(headers, positions, [True] * len(headers))
            item = Batches(Chunk(table, headers, [0] * len(headers), b"", False))
            report.cover(position, end)
            for part in _in_range(item, options):
                report.count(len(part), records_said(part.chunk))
                yield {**batch_columns(part.chunk, None), "isvalid": Constant(None)}, len(part)
        if len(headers) < _HEADERS_AT_ONCE:
            break
        position = end
    if end < source.size:
        yield from batches(source, FileSlice(file_slice.item, end), options, report)


def record_rows(source: Source, file_slice: FileSlice, options: Options, report: SliceReport) -> Iterator[tuple[Columns, int]]:
    """The columns of records, and their number. A record that does not decode is left out, with the rest of its batch.

    Raises KdumpError if a sound batch yields a different number of records than its header says.
    """
    wanted = packed(options.columns)
    if options.has_range:
        wanted = [name for name in RECORD_COLUMNS if name in (*wanted, "offset", "timestamp")]
    decoder = None
    if options.decoding is not None:
        by_schema = options.decoding.decoder_of(source.path)
        if by_schema is not None:
            decoder = LogDecoder(None, by_schema, notes_shapes=True, shows_control=False, max_json=_MAX_JSON)
            report.shapes = by_schema.noted_shapes
            _report_unread_schemas(options.decoding.unread(source.path), options, report)
        wanted = [name for name in RECORD_COLUMNS if name in (*wanted, "key", "value", "headers")]
    for item in sections(source, file_slice, options, report):
        positions = item.chunk.batches["position"]
        rows = 0
        given = _LastBatch()
        missing: int | None = 0
        for part in past_bad_batches(source, item.chunk, columns=wanted):
            if isinstance(part, UnreadableBatch):
                if options.fails_fast:
                    raise part.fault
                said = records_said(item.chunk.slice(part.row, part.row + 1))
                left_out = None if said is None else max(0, said - given.count_at(part.position))
                missing = None if missing is None or left_out is None else missing + left_out
                yield from unread_row(report.skip(part.fault, left_out), options)
                continue
            given.add(part)
            if len(part.records):
                rows += len(part.records)
                columns = record_columns(part, item.status, options.max_value_bytes, wanted)
                if decoder is not None:
                    columns |= _decoded_columns(decoder, part)
                yield columns, len(part.records)
        said = records_said(item.chunk)
        if said is not None and missing is not None and rows + missing != said:
            message = f"{rows} records were read from batches that contain {said}, and {missing} were left out"
            raise KdumpError(message, path=source.path, position=positions[0], remedy="please report it")


def _decoded_columns(decoder: LogDecoder, part: RecordChunk) -> Columns:
    """The columns of decoded keys and values of some records."""
    found = list(decoder.each(part))
    return {
        "decoded_key": [one.key for one in found],
        "decoded_value": [one.value for one in found],
        "key_schema": [one.key_schema for one in found],
        "value_schema": [one.value_schema for one in found],
        "decode_error": [one.error for one in found],
    }


def _report_unread_schemas(message: str | None, options: Options, report: SliceReport) -> None:
    """Report why decoded values may be missing. Raises Unreadable if that is to end a query."""
    if message is None:
        return
    if options.fails_fast or options.unreadable == options.FAIL:
        raise Unreadable("file-io-error", message)
    report.skipped.append(Skipped(SCHEMAS_UNREAD, message, None, 0, is_damage=False))


class _LastBatch:
    """Counts the records so far of the last batch, which may come in several parts."""

    def __init__(self) -> None:
        self._position = -1
        self._count = 0

    def add(self, part: RecordChunk) -> None:
        if not part.counts:
            return
        before = self._count if part.continues and len(part.counts) == 1 else 0
        self._position, self._count = part.batches["position"][-1], before + part.counts[-1]

    def count_at(self, position: int) -> int:
        """Those of the batch at this position: none, unless it is the last."""
        return self._count if position == self._position else 0


def unread_row(skipped: Skipped, options: Options) -> Iterator[tuple[Columns, int]]:
    """A row in place of what is missing, if such rows are requested."""
    if options.unreadable == options.AS_ROW:
        yield {"position": Constant(skipped.position), "error": Constant(f"{skipped.code}: {skipped}")}, 1
