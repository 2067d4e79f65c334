"""Reads the records of sections for the rules: ordinary batches together, each odd one on its own."""

from __future__ import annotations

from kdump.binary import compression, kernel
from kdump.binary.codecs import CODECS, NONE
from kdump.errors import CorruptData
from kdump.formats import message_set, record
from kdump.formats.record_batch import COMPRESSION_MASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.kernel import RecordTuple
    from kdump.checks.context import FileContext
    from kdump.checks.rules.rule import SegmentRule
    from kdump.checks.salvage import Section
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk

_MAX_COUNT = 1 << 16  # records of a batch that are held at once
_MAX_HELD = 32 << 20  # bytes of a batch or of its payload that are held at once


class Content:
    """The records of a batch of magic 2 as they are encoded: `rows` as the kernel gives them, read from `data[start:end]`.

    `position` and `size` are those of the batch in the file, `header` is its header. `payload` is what was decompressed, None
    where nothing was; `is_plain` says that it is one frame of the usual kind and nothing else, `is_sound` that decompression
    came to its end.
    """

    __slots__ = ("data", "end", "header", "is_plain", "is_sound", "payload", "position", "rows", "size", "start")

    def __init__(
        self,
        header: Sequence[int],
        position: int,
        data: bytes | bytearray,
        start: int,
        end: int,
        *,
        payload: bytes | None = None,
        is_plain: bool = True,
        is_sound: bool = True,
    ) -> None:
        self.header = header
        self.position = position
        self.size = header[1] + kernel.LOG_OVERHEAD
        self.data = data
        self.start = start
        self.end = end
        self.rows: list[RecordTuple] = []
        self.payload = payload
        self.is_plain = is_plain
        self.is_sound = is_sound

    @property
    def is_compressed(self) -> bool:
        return self.payload is not None

    @property
    def offsets(self) -> tuple[int, int]:
        """The first and the last offset, as the header has them."""
        return self.header[0], self.header[0] + self.header[6]


class Contents:
    """Shows records to rules. One batch that cannot be read keeps nothing from the next."""

    def __init__(self, context: FileContext, rules: list[SegmentRule]) -> None:
        self._source = context.source
        self._max_payload = context.settings.max_payload
        self._rules = rules
        self._whole = compression.WholeDecompressor(min(_MAX_HELD, self._max_payload))

    def show(self, section: Section) -> None:
        """Show the records of all batches of a section."""
        if not self._rules:
            return
        chunk, statuses = section.chunk, section.statuses
        start = 0
        while start < len(statuses):
            status = statuses[start]
            end = start + 1
            while end < len(statuses) and statuses[end] == status:
                end += 1
            run = chunk if end - start == len(statuses) else chunk.slice(start, end)
            if chunk.is_legacy:
                self._show_messages(run, status)
            else:
                self._show_batches(run, status)
            start = end

    def _show_messages(self, chunk: Chunk, status: str) -> None:
        """Uncompressed messages together, each wrapper on its own."""
        codecs = chunk.batches["compresscodec"]
        first = 0
        for row, codec in enumerate(codecs):
            if codec != CODECS[NONE]:
                self._read_messages(chunk, first, row, status)
                self._read_messages(chunk, row, row + 1, status)
                first = row + 1
        self._read_messages(chunk, first, len(codecs), status)

    def _read_messages(self, chunk: Chunk, start: int, end: int, status: str) -> None:
        if start == end:
            return
        run = chunk.slice(start, end)
        try:
            for part in message_set.read(self._source, run, max_payload=self._max_payload):
                self._show(part, status)
        except CorruptData as fault:
            fault.values.setdefault("decoded", 0)
            self._show_fault(run.slice(0, 1), fault, status)

    def _show_batches(self, chunk: Chunk, status: str) -> None:
        """Neighbouring batches that can be held together, each other one on its own."""
        rows: list[RecordTuple] = []
        counts: list[int] = []
        first = 0
        for row, header in enumerate(chunk.headers):
            content = self._content(chunk, row) if header[12] else None
            bad: tuple[Content, int] | None = None
            if content is not None:
                position, code, _ = kernel.walk_records(
                    content.data, content.start, content.end, header[12], content.end, content.is_compressed, content.rows
                )
                if code or position != content.end or len(content.rows) != header[12] or not content.is_sound:
                    bad, content = (content, position), None
            is_empty = not header[12] and header[1] == kernel.MIN_BATCH_LENGTH
            if content is not None:
                for rule in self._rules:
                    rule.content(content, status)
                rows += content.rows
            if content is not None or is_empty:
                counts.append(header[12])
                if len(rows) < record.MAX_ROWS:
                    continue
            if counts:
                last = first + len(counts)
                table = record.table_of_records(chunk.headers[first:last], counts, rows)
                self._show(record.RecordChunk(chunk.batches.slice(first, last), counts, table, False), status)
            if content is None and not is_empty:
                self._show_odd(chunk.slice(row, row + 1), status, bad)
            rows, counts, first = [], [], row + 1
        if counts:
            table = record.table_of_records(chunk.headers[first:], counts, rows)
            self._show(record.RecordChunk(chunk.batches.slice(first, len(chunk.headers)), counts, table, False), status)

    def _content(self, chunk: Chunk, row: int) -> Content | None:
        """What this batch holds, if it can be held: its records are not yet read."""
        header = chunk.headers[row]
        size = header[1] + kernel.LOG_OVERHEAD
        if not 0 < header[12] <= _MAX_COUNT or not kernel.BATCH_HEADER_SIZE <= size <= _MAX_HELD:
            return None
        position = chunk.batches["position"][row]
        codec = header[5] & COMPRESSION_MASK
        if chunk.window and not codec:
            start = chunk.starts[row]
            return Content(header, position, chunk.window, start + kernel.BATCH_HEADER_SIZE, start + size)
        batch = record.bytes_of(self._source, chunk, row)
        if not codec:
            return Content(header, position, batch, kernel.BATCH_HEADER_SIZE, len(batch))
        payload = batch[kernel.BATCH_HEADER_SIZE :]
        data: bytes | bytearray | None = self._whole.decompress(codec, payload)
        if data is not None:
            return Content(header, position, data, 0, len(data), payload=payload)
        whole = compression.decompress(codec, payload, header[3], limit=min(_MAX_HELD, self._max_payload))
        is_sound = whole.error is None
        return Content(header, position, whole.data, 0, len(whole.data), payload=payload, is_plain=False, is_sound=is_sound)

    def _show_odd(self, chunk: Chunk, status: str, bad: tuple[Content, int] | None) -> None:
        """Read one batch that is large, or bad: what can be read of it, and what keeps us from the rest."""
        header = chunk.headers[0]
        continues = False
        decoded = 0

        def show(rows: list[RecordTuple]) -> None:
            table = record.table_of_records([header], [len(rows)], rows)
            self._show(record.RecordChunk(chunk.batches, [len(rows)], table, continues), status)

        try:
            walk = record.BatchRecords(header, record.bytes_of(self._source, chunk, 0), max_payload=self._max_payload)
            for rows in walk.parts():
                show(rows)
                continues = True
                decoded += len(rows)
        except CorruptData as fault:
            rows = fault.values.pop("good_rows", [])
            show(rows)
            fault.values["decoded"] = decoded + len(rows)
            if bad is not None:
                content, at = bad
                fault.values["decoded"] = max(fault.values["decoded"], len(content.rows))
                if content.is_sound:
                    fault.values.update(data=content.data, at=at, data_start=content.start, data_end=content.end)
            self._show_fault(chunk, fault, status)
            return
        if not continues:
            show([])

    def _show(self, part: RecordChunk, status: str) -> None:
        for rule in self._rules:
            rule.records(part, status)

    def _show_fault(self, chunk: Chunk, fault: CorruptData, status: str) -> None:
        fault.path, fault.position = self._source.path, chunk.batches["position"][0]
        for rule in self._rules:
            rule.unreadable(chunk, fault, status)
