"""What the batches of a partition's logs say: offsets, times, codecs, producers; of all batches or of those at their ends."""

from __future__ import annotations

import os

from kdump.binary.batch_header import BASE_OFFSET, BATCH_HEADER_SIZE, LOG_OVERHEAD
from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.checks.settings import FULL
from kdump.errors import KdumpError
from kdump.formats import foreign, record_batch, tree
from kdump.formats.log import Chunk
from kdump.overview import groups
from kdump.overview.row import PartitionSum
from kdump.overview.segment_sum import SegmentSum
from kdump.overview.transactions import Transactions
from kdump.reading import items, salvage
from kdump.reading.headers import headers_from
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.reading.scales import Scales
from kdump.reading.starts import starts_from_the_end
from kdump.reading.windows import Batches, KeptBatches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.binary.batch_header import BatchHeader
    from kdump.overview.row import OpenTransaction
    from kdump.tables import Row

_HEAD, _FEW = 64, 8  # headers at the start of a log; where nothing is measured
_TAIL = 8192  # headers at its end: more than an index leaves out
_READ_ANYWAY = 1 << 20  # bytes of old messages, which have no chain of headers, and of groups in a partition
_MOST_PRODUCERS = 1 << 17
_ZEROS = bytes(64)


class Contents:
    """Reads the logs of one partition, or a log that was named itself, and adds up what is in them.

    With the level `headers`, it reads headers at the start of the oldest and of the newest log, and at the end of the newest;
    with `full`, all batches with their checksums. Only what `measures` decompresses a sample of them.
    """

    def __init__(self, path: str, level: str, *, measures: bool = True) -> None:
        self._path = path
        self._is_full = level == FULL
        self._measures = measures
        self._sums: list[SegmentSum] = []
        self._read = self._batches = self._largest = self._measured = self._uncompressed = 0
        self._codecs: dict[str, int] = {}
        self._magics: set[int] = set()
        self._producers: set[int] = set()
        self._transactions = Transactions()
        self._groups: groups.Groups | None = None
        self._broken: str | None = None
        self._reaches_end = False
        self._contiguous_from: int | None = None  # the offset from which on all batches up to the end were read

    def report(self, logs: Sequence[str], sizes: Sequence[int], emit: Callable[[Row], None]) -> None:
        """Read these logs, in the order of their offsets, and emit what is in them. Raises Unreadable."""
        name = tree.directory_name(self._path) if self._path not in logs else None
        bases = [tree.base_offset_of(os.path.basename(log)) for log in logs] or [None]
        if logs and self._path not in logs:
            self._start_transactions(logs)
        has_groups = name is not None and name.topic == groups.TOPIC and not name.is_going
        if has_groups and (self._is_full or sum(sizes) <= _READ_ANYWAY):
            self._groups = groups.Groups()
        reads_all = self._is_full or self._groups is not None
        for row, log in enumerate(logs):
            if reads_all or row in (0, len(logs) - 1):
                self._read_log(log, is_newest=row == len(logs) - 1, reads_all=reads_all)
        self._emit(name, len(logs), sum(sizes), bases[0], bases[-1], emit)

    def _start_transactions(self, logs: Sequence[str]) -> None:
        """Start with what a snapshot says of the producers at the first batch to read, or, of the ends alone, the newest one."""
        files = tree.PartitionFiles(self._path)
        offset = files.logs[0] if self._is_full and files.logs else files.newest_snapshot
        if offset is not None:
            self._transactions.start(self._path, offset)

    def _read_log(self, path: str, *, is_newest: bool, reads_all: bool) -> None:
        with TolerantSource(path) as source:
            foreign.require_kafka(source)
            total = SegmentSum(source.size)
            self._sums.append(total)
            scales = Scales(source, samples=True) if self._measures else None
            most = _HEAD if self._measures else _FEW
            if not reads_all and source.size:
                headers, positions, end = headers_from(source, 0, most)
                if headers:
                    self._take(_batches_of(headers, positions), source, total, scales)
                    if is_newest:
                        self._read_end(source, total, end)
                    elif end < source.size and len(headers) < most:
                        self._break_at(source, end)
                    return
            self._walk(source, total, scales, most=None if reads_all or source.size <= 16 * _READ_ANYWAY else _READ_ANYWAY)
            if is_newest and total.coverage.position == source.size:
                self._reaches_end, self._contiguous_from = True, total.first_offset if self._broken is None else None

    def _walk(self, source: Source, total: SegmentSum, scales: Scales | None, *, most: int | None) -> None:
        """Take all batches of a log, or of its first bytes, with their checksums."""
        for found in salvage.walk(source, fills_headers=True):
            if isinstance(found, items.Damage):
                total.take(found)
                if found.status != items.ZERO:
                    self._break(source, found.start)
            else:
                kept = KeptBatches.of(found)
                item = kept or Batches(found.chunk, found.status, found.summary)
                if item.status != items.INTACT:
                    self._break(source, item.start)
                if self._groups is not None:
                    self._take_records(source, found.chunk)
                self._take(item, source, total, scales)
            if most is not None and total.coverage.position >= most:
                return

    def _read_end(self, source: Source, total: SegmentSum, head_end: int) -> None:
        """Take the batches at the end of the newest log, from the last one that its index leads to."""
        self._contiguous_from = total.first_offset
        end = head_end
        start = next(starts_from_the_end(source)) if end < source.size else 0
        if start > end:
            self._contiguous_from = None
            end = start
        while end < source.size:
            headers, positions, after = headers_from(source, end, _TAIL)
            if not headers:
                break
            if self._contiguous_from is None:
                self._contiguous_from = headers[0][BASE_OFFSET]
            self._take(_batches_of(headers, positions), source, total, None)
            end = after
            if len(headers) == _TAIL and source.size - end > 16 * _READ_ANYWAY:
                return
        self._reaches_end = end == source.size or source.read(end, len(_ZEROS)).strip(b"\0") == b""
        if not self._reaches_end:
            self._break_at(source, end)

    def _break_at(self, source: Source, position: int) -> None:
        """Note where no header follows, unless there are zeros or old messages."""
        found = source.read(position, 17)
        if found.strip(b"\0") and not (len(found) == 17 and found[16] < 2):
            self._break(source, position)

    def _break(self, source: Source, position: int) -> None:
        self._broken = self._broken or f"{source.path}, byte {position:,}"

    def _take(self, item: Batches, source: Source, total: SegmentSum, scales: Scales | None) -> None:
        total.take(item)
        self._batches += len(item)
        sizes: Sequence[int]
        if isinstance(item, KeptBatches):
            sizes, attributes = item.column("size"), item.column("attributes")
            codec_of = {bits: record_batch.columns_of_attributes([bits])[4][0] for bits in set(attributes)}
            codecs: Sequence[str] = [codec_of[bits] for bits in attributes]
            self._magics.add(2)
            producers = set(item.column("producer_id")) if item.summary.highest_producer_id >= 0 else set()
        elif item.status == items.DAMAGED:
            return
        else:
            batches = item.chunk.batches
            sizes, codecs = batches["size"], batches["compresscodec"]
            self._magics.update(batches["magic"])
            producers = {producer for producer in batches["producer_id"] if producer is not None}
        self._read += sum(sizes)
        self._largest = max(self._largest, max(sizes))
        for codec in set(codecs):
            held = (
                sizes if codecs.count(codec) == len(codecs) else [n for n, one in zip(sizes, codecs, strict=True) if one == codec]
            )
            self._codecs[codec] = self._codecs.get(codec, 0) + sum(held)
        if len(self._producers) < _MOST_PRODUCERS:
            self._producers.update(producer for producer in producers if producer >= 0)
        self._transactions.take(item)
        if scales is not None:
            self._measure(item, scales)

    def _measure(self, item: Batches, scales: Scales) -> None:
        sizes = item.column("size") if isinstance(item, KeptBatches) else item.chunk.batches["size"]
        overhead = LOG_OVERHEAD if not isinstance(item, KeptBatches) and item.chunk.is_legacy else BATCH_HEADER_SIZE
        try:
            whole = scales.sizes(item)
        except KdumpError:
            return  # a package for the codec is missing
        for size, uncompressed in zip(sizes, whole, strict=True):
            if uncompressed is not None:
                self._measured += size
                self._uncompressed += uncompressed + overhead

    def _take_records(self, source: Source, chunk: Chunk) -> None:
        assert self._groups is not None
        for part in past_bad_batches(source, chunk):
            if not isinstance(part, UnreadableBatch) and True not in (part.batches["is_control"][:1]):
                self._groups.take(part.records["key"], part.records["value"])

    def _emit(
        self,
        name: tree.DirectoryName | None,
        segments: int,
        size: int,
        first_base: int | None,
        last_base: int | None,
        emit: Callable[[Row], None],
    ) -> None:
        sums = self._sums
        is_whole = self._read == size or self._is_full
        times = [time for total in sums for time in total.timestamps]
        newest = max(times, default=None)
        transactions = self._open_transactions(newest, is_whole=is_whole)
        columns = [total.columns() for total in sums] if self._is_full else []
        row = PartitionSum(
            path=self._path,
            topic=None if name is None else name.topic,
            partition=None if name is None else name.partition,
            state=None if name is None else name.state or None,
            segments=segments,
            size=size,
            read_bytes=self._read,
            is_read_whole=is_whole,
            first_offset=self._first_offset(first_base),
            end_offset=self._end_offset(last_base),
            batches=self._batches,
            records=None if any(total.records is None for total in sums) else sum(total.records or 0 for total in sums),
            oldest_timestamp=min(times, default=None),
            newest_timestamp=newest,
            magics=sorted(self._magics),
            codecs=dict(sorted(self._codecs.items(), key=lambda item: (-item[1], item[0]))),
            saving=self._uncompressed / self._measured if self._measured and set(self._codecs) != {"none"} else None,
            largest_batch=self._largest,
            producers=max(len(self._producers), self._transactions.producers),
            open_transactions=len(transactions),
            bytes_damaged=sum(one["bytes_damaged"][0] for one in columns) if self._is_full else None,
            bytes_zero=sum(one["bytes_zero"][0] for one in columns) if self._is_full else None,
            broken_at=self._broken,
        )
        row.measured, row.uncompressed = self._measured, self._uncompressed
        emit(row)
        for transaction in transactions:
            emit(transaction)
        for group in self._groups.rows(self._path) if self._groups is not None else ():
            emit(group)

    def _first_offset(self, first_base: int | None) -> int | None:
        first = next((total.first_offset for total in self._sums if total.first_offset is not None), first_base)
        if first is not None and first_base is not None and any(magic < 2 for magic in self._magics):
            return min(first, first_base)  # the header of a wrapper has the last offset in it
        return first

    def _end_offset(self, last_base: int | None) -> int | None:
        if not self._sums or not (self._reaches_end or self._is_full):
            return None
        last = self._sums[-1].last_offset
        return last_base if last is None else last + 1

    def _open_transactions(self, newest: int | None, *, is_whole: bool) -> list[OpenTransaction]:
        """Those that are certain if all was read in which a marker may be."""
        known_from = self._contiguous_from
        reaches_start = is_whole and self._broken is None or known_from is not None and known_from <= self._transactions.starts_at
        return list(self._transactions.rows(self._path, newest, is_certain=reaches_start and self._reaches_end))


def _batches_of(headers: Sequence[BatchHeader], positions: list[int]) -> Batches:
    """Batches by their headers alone."""
    table = record_batch.table_of_batches(headers, positions, [True] * len(headers))
    return Batches(Chunk(table, headers, [0] * len(headers), b"", False))
