"""Reads the records of sections for the rules: regular batches together, each irregular one on its own."""

from __future__ import annotations

from kdump.binary import codecs, kernel
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    LAST_OFFSET_DELTA,
    LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MIN_BATCH_LENGTH,
    RECORD_COUNT,
)
from kdump.binary.codecs import CODECS, NONE, SNAPPY, snappy
from kdump.checks.content import Content, Payload
from kdump.checks.ordinary_records import OrdinaryRecords
from kdump.checks.rules.records.wrappers import payload_of_wrapper
from kdump.checks.wording import counted
from kdump.errors import CorruptData, MissingPackage
from kdump.formats import message_set, record
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.kernel import Buffer, RecordTuple
    from kdump.checks.context import FileContext
    from kdump.checks.rules.rule import SegmentRule
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.reading.items import Section

_FEWEST_PASSED_OVER = 4  # ordinary batches, where others wait that could be shown together with them
_MAX_HELD_RECORDS = 1 << 16  # records of a batch that are held at once
_MAX_HELD_HEADERS = 1 << 17  # of a batch whose records are held at once
_MAX_HEADERS_OF_PART = 1 << 12  # of one that comes in parts; a record with more is examined without
_MAX_HELD_CONTENTS = 1 << 20  # bytes of batches whose records are passed to the rules together
_MAX_HELD_BYTES = 32 << 20  # bytes of a batch or of its payload that are held at once
_MAX_RAW_BLOCK = 40 << 20  # bytes of one without framing, which cannot be decompressed a piece at a time
_MAX_RECORDS = 1 << 22  # that are read of one compressed batch
_MAX_MESSAGES = 1 << 19  # that are read of one wrapper


class Budget:
    """Limits how much is decompressed of one file.

    Each may grow to the limit of the check, but a file in which several grow as no data does is hostile: what follows may grow
    only a little, so that a check takes no longer than its file is worth.
    """

    _MAX_RATIO = 1000  # times, that data compresses
    _RATIO_WITHOUT_BUDGET = 64
    _MIN_LIMIT_BYTES = 1 << 20
    _BYTES_A_RECORD, _BYTES_A_MESSAGE = 64, 512  # whose decompression takes as long as reading one

    def __init__(self, max_payload: int) -> None:
        self._max_payload = max_payload
        self._left = 2 * max_payload

    def limit(self, compressed_size: int) -> int:
        """The largest size that the next payload may decompress to."""
        if self._left > 0:
            return self._max_payload
        return min(self._max_payload, max(self._MIN_LIMIT_BYTES, self._RATIO_WITHOUT_BUDGET * compressed_size))

    def spend(self, compressed_size: int, size: int, records: int = 0, messages: int = 0) -> None:
        """Count a payload that was decompressed to this size."""
        spent = size + records * self._BYTES_A_RECORD + messages * self._BYTES_A_MESSAGE
        self._left -= max(0, spent - max(self._MAX_RATIO * compressed_size, self._MIN_LIMIT_BYTES))


class _Waiting:
    """Neighbouring batches of a chunk that are shown to the rules together: how many records each has, and their rows."""

    def __init__(self, chunk: Chunk, row: int) -> None:
        """Let no batch wait; the next one is in this row of the chunk."""
        self._chunk = chunk
        self.start_at(row)

    def start_at(self, row: int) -> None:
        """Let no batch wait; the next one is in this row of the chunk."""
        self._first = row
        self.counts: list[int] = []
        self._rows: list[RecordTuple] = []
        self._size = 0

    def add(self, count: int, rows: list[RecordTuple], size: int) -> None:
        """Let the batch in the next row wait, with its records, whose total size is `size`."""
        self.counts.append(count)
        self._rows += rows
        self._size += size

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= record.MAX_ROWS or self._size >= _MAX_HELD_CONTENTS

    def part(self) -> RecordChunk:
        """The batches and their records."""
        end = self._first + len(self.counts)
        table = record.table_of_records(self._chunk.headers[self._first : end], self.counts, self._rows)
        return record.RecordChunk(self._chunk.batches.slice(self._first, end), self.counts, table, False)


class RecordReader:
    """Reads records and passes them to rules. A batch that cannot be read does not affect the next."""

    def __init__(self, context: FileContext, rules: list[SegmentRule]) -> None:
        self._context = context
        self._missed: dict[str, list[int]] = {}  # by missing package: start, end and number of batches
        self._source = context.source
        self._budget = Budget(context.settings.max_payload)
        self._rules = rules
        self._wants_data = any(rule.reads_contents for rule in rules)
        self._tick = context.tick
        self._decompressor = codecs.BatchDecompressor(
            min(_MAX_HELD_BYTES, context.settings.max_payload),
            takes_raw_blocks=not context.settings.is_pedantic,  # or rules look at the frames of all payloads
        )
        self._ordinary: OrdinaryRecords | None = None
        if kernel.native is not None and not self._wants_data:
            self._ordinary = OrdinaryRecords(context, rules, _MAX_MESSAGES, _MAX_HELD_RECORDS)
        self._ahead: tuple[Section, int] | None = None  # how many batches of a section were passed over before it was shown
        self._refused = -1  # the position of the batch whose payload is irregular or damaged, as its first decompression found

    @property
    def reads_all(self) -> bool:
        """Whether it reads the bytes of all batches."""
        return bool(self._rules)

    def pass_ahead(self, section: Section) -> list[int]:
        """The first offsets of the first messages and wrappers of a section, of those that may be passed over; so `show` does.

        -1 where the offsets in a wrapper do not say it.
        """
        first_offsets: list[int] = []
        if self._rules and self._ordinary is not None:
            passed = self._ordinary.pass_section(self._source, section, self._decompressor, first_offsets)
            self._ahead = section, passed
        return first_offsets

    def show(self, section: Section) -> None:
        """Pass the records of all batches of a section to the rules."""
        if not self._rules:
            return
        start = 0
        if self._ordinary is not None:
            ahead, self._ahead = self._ahead, None
            if ahead is not None and ahead[0] is section:
                start = ahead[1]
            else:
                start = self._ordinary.pass_section(self._source, section, self._decompressor)
            if start == len(section.chunk):
                return
        chunk, status = section.chunk, section.status
        if status == salvage.DAMAGED and not self._wants_data and chunk.batches["compresscodec"][0] == CODECS[NONE]:
            return
        if chunk.is_legacy:
            self._show_messages(chunk, start, status)
        else:
            self._show_batches(chunk, start, status)

    def end(self) -> None:
        """Report batches that could not be read because a package is missing."""
        for missing, (start, end, count) in self._missed.items():
            message = f"{missing}. The records of {counted(count, 'batch', 'batches')} were not examined."
            self._context.report("codec-package-missing", start, end, message)

    def _miss(self, chunk: Chunk, row: int, missing: MissingPackage) -> None:
        """Count the batch in this row, whose codec's package is missing."""
        start = chunk.batches["position"][row]
        missed = self._missed.setdefault(f"{missing.message}: {missing.remedy}", [start, start, 0])
        missed[1] = start + chunk.batches["size"][row]
        missed[2] += 1

    def _show_messages(self, chunk: Chunk, row: int, status: str) -> None:
        """Pass the uncompressed messages from this row on to the rules together, each wrapper on its own."""
        codecs, end = chunk.batches["compresscodec"], len(chunk)
        ordinary = self._ordinary if status != salvage.DAMAGED and chunk.window else None
        begin = first = tried = row
        starts: list[int] = []
        if ordinary is not None:
            starts = [*chunk.starts[row:end], chunk.starts[end - 1] + chunk.batches["size"][end - 1]]
        while row < end:
            if ordinary is not None and row >= tried:
                passed = begin + ordinary.messages_from(chunk.window, starts, row - begin, self._decompressor)
                tried = passed + 1
                if passed - row >= (_FEWEST_PASSED_OVER if first < row else 1):
                    self._read_messages(chunk, first, row, status)
                    first = row = passed
                    continue
            if codecs[row] != CODECS[NONE]:
                self._read_messages(chunk, first, row, status)
                self._read_messages(chunk, row, row + 1, status)
                first = row + 1
            row += 1
        self._read_messages(chunk, first, end, status)

    def _read_messages(self, chunk: Chunk, start: int, end: int, status: str) -> None:
        if start == end:
            return
        run = chunk.slice(start, end)
        is_wrapper = run.batches["compresscodec"][0] != CODECS[NONE]
        size = run.batches["size"][0]
        limits = message_set.Limits(self._budget.limit(size), _MAX_MESSAGES)
        payload = payload_of_wrapper(run, 0, self._source) if is_wrapper else None
        if payload is not None and payload.data:
            self._show_payload(payload, status)
        try:
            for part in message_set.read(self._source, run, limits):
                self._show(part, status)
                if is_wrapper:
                    self._budget.spend(size, 0, messages=len(part.records))
        except MissingPackage as missing:
            self._miss(run, 0, missing)
        except CorruptData as fault:
            if fault.code.endswith("decompression-limit"):
                self._budget.spend(size, limits.max_payload)
            fault.values["decoded"] = 0
            self._show_fault(run, 0, fault.without_frames(), status)

    def _show_batches(self, chunk: Chunk, row: int, status: str) -> None:
        """Pass the batches from this row on to the rules: those that fit into memory together, others one by one."""
        waiting = _Waiting(chunk, row)
        ordinary = self._ordinary if status != salvage.DAMAGED else None
        while row < len(chunk):
            if ordinary is not None:
                passed, odd, miscounts = ordinary.run_from(chunk, row)
                if passed - row >= (_FEWEST_PASSED_OVER if waiting.counts else 1):
                    self._show_waiting(waiting, status, passed)
                    ordinary.show(chunk, row, odd, miscounts)
                    row = passed
                    continue
            self._show_batch(chunk, row, status, waiting)
            row += 1
        self._show_waiting(waiting, status, row)

    def _show_batch(self, chunk: Chunk, row: int, status: str, waiting: _Waiting) -> None:
        """Let a batch wait for its neighbours, or show what is irregular. Those that wait come first."""
        held = self._payload_to_pass_over(chunk, row) if status == salvage.INTACT else None
        if held is not None and self._passes_over(chunk, row, held, waiting):
            return
        header = chunk.headers[row]
        count = header[RECORD_COUNT]
        content: Content | None = None
        payload: Payload | None = None
        try:
            if count:
                content, payload = self._content(chunk, row, held)
        except MissingPackage:
            pass
        held = None  # it may be large, and so may what an irregular batch needs
        bad: tuple[Content, int] | None = None
        if content is not None:
            position, code, values = kernel.walk_records(
                content.data,
                content.start,
                content.end,
                count,
                content.end,
                content.is_compressed,
                content.rows,
                self._wants_data,
                _MAX_HELD_HEADERS,
            )
            if code == kernel.HEADERS_NOT_HELD:
                content = None
            elif code or position != content.end or len(content.rows) != count or not content.is_sound:
                if not content.is_compressed and header[LENGTH] <= record.MAX_SMALL_BATCH and count <= record.MAX_ROWS:
                    fault = record.fault_at_stop(code, values, is_last=len(content.rows) == count - 1)
                    if fault is not None:
                        self._show_waiting(waiting, status, row + 1)
                        self._show_stopped(chunk, row, status, content, position, fault)
                        return
                bad, content = (content, position), None
        if content is not None:
            self._show_content(content, status)
            if payload is not None:
                self._show_payload(payload, status)
            waiting.add(count, content.rows, content.end - content.start)
        elif not count and header[LENGTH] == MIN_BATCH_LENGTH:
            waiting.add(0, [], 0)
        else:
            self._show_waiting(waiting, status, row + 1)
            self._show_irregular(chunk, row, status, bad)
            self._tick(chunk.batches["position"][row])  # it may have taken long
        if waiting.is_full:
            self._show_waiting(waiting, status, row + 1)

    def _show_stopped(self, chunk: Chunk, row: int, status: str, content: Content, at: int, fault: CorruptData) -> None:
        """Show the records of the batch in this row, which is not compressed, up to this place, and the fault of the next one."""
        rows = content.rows
        fault.values["decoded"] = len(rows)
        if content.is_sound:
            fault.values.update(data=content.data, at=at, data_start=content.start, data_end=content.end)
        if rows:
            self._show_records_of(chunk, row, rows, status)
        self._show_fault(chunk, row, fault, status)
        self._tick(chunk.batches["position"][row])

    def _show_records_of(self, chunk: Chunk, row: int, rows: list[RecordTuple], status: str, *, continues: bool = False) -> None:
        """Show records of the batch in this row, perhaps after others of it."""
        table = record.table_of_records([chunk.headers[row]], [len(rows)], rows)
        self._show(record.RecordChunk(chunk.batches.slice(row, row + 1), [len(rows)], table, continues), status)

    def _payload_to_pass_over(self, chunk: Chunk, row: int) -> Buffer | None:
        """The payload of the batch in this row, if it is compressed as usual and its records could be passed over.

        It is the decompressor's buffer, valid until the next payload is decompressed.
        """
        header = chunk.headers[row]
        codec = header[ATTRIBUTES] & COMPRESSION_MASK
        if self._ordinary is None or not codec or not chunk.window:
            return None
        refused = self._ordinary.take_refused(chunk.batches["position"][row])
        if refused is not None:
            return refused
        start = chunk.starts[row]
        payload = memoryview(chunk.window)[start + BATCH_HEADER_SIZE : start + header[LENGTH] + LOG_OVERHEAD]
        held = self._decompressor.decompress(codec, payload)
        if held is None:
            self._refused = chunk.batches["position"][row]
        return held

    def _passes_over(self, chunk: Chunk, row: int, held: Buffer, waiting: _Waiting) -> bool:
        """Whether the records in this payload of the batch in this row are ordinary. Those that wait then come first."""
        assert self._ordinary is not None
        odd = self._ordinary.odd_times(chunk.headers[row], chunk.batches["position"][row], held)
        if odd is None:
            return False
        self._show_waiting(waiting, salvage.INTACT, row + 1)
        for times in odd:
            self._ordinary.show_odd(times)
        return True

    def _show_waiting(self, waiting: _Waiting, status: str, next_row: int) -> None:
        """Pass the batches that wait to the rules. The next one that may wait is in `next_row`."""
        if waiting.counts:
            self._show(waiting.part(), status)
        waiting.start_at(next_row)

    def _content(self, chunk: Chunk, row: int, held: Buffer | None) -> tuple[Content | None, Payload | None]:
        """The content of this batch, before its records are read, and its payload, unless that is regular.

        `held` is the decompressed payload, if the decompressor still has it.
        Of a batch that is too large to be held, None.
        """
        header = chunk.headers[row]
        size = header[LENGTH] + LOG_OVERHEAD
        if not _may_be_held(header):
            return None, None
        position = chunk.batches["position"][row]
        codec = header[ATTRIBUTES] & COMPRESSION_MASK
        if chunk.window and not codec:
            start = chunk.starts[row]
            return Content(header, position, chunk.window, start + BATCH_HEADER_SIZE, start + size, []), None
        batch = record.bytes_of(self._source, chunk, row)
        if not codec:
            return Content(header, position, batch, BATCH_HEADER_SIZE, len(batch), []), None
        payload = _payload_of(header, position, batch)
        if held is None and position != self._refused:
            held = self._decompressor.decompress(codec, payload.data)
        if held is not None:
            data = bytes(held)  # the buffer is about to be reused
            return Content(header, position, data, 0, len(data), []), payload if codec == SNAPPY else None
        limit = min(_MAX_HELD_BYTES, self._budget.limit(size))
        whole = codecs.opened(codec, payload.data, header[MAGIC], limit=limit)
        if whole.error is not None and whole.error.code == "decompression-limit":
            return None, None
        if isinstance(whole, codecs.LongPayload):
            whole = codecs.decompress(codec, payload.data, header[MAGIC], limit=limit)
        return Content(header, position, whole.data, 0, len(whole.data), [], whole), payload

    def _show_irregular(self, chunk: Chunk, row: int, status: str, bad: tuple[Content, int] | None) -> None:
        """Read the batch in this row, which is oversized or damaged: the readable records, and the fault that ends them.

        `bad` is the content of one that is damaged, and where in it the first record is that cannot be read.
        """
        header, position = chunk.headers[row], chunk.batches["position"][row]
        continues = False
        decoded = size_before = 0

        def examine(data: Buffer, start: int, end: int, rows: list[RecordTuple]) -> None:
            nonlocal size_before
            content = Content(header, position, data, start, end, rows, size_before=size_before)
            size_before += end - start
            self._show_content(content, status)

        def show(rows: list[RecordTuple]) -> None:
            self._show_records_of(chunk, row, rows, status, continues=continues)

        size = header[LENGTH] + LOG_OVERHEAD
        walk: record.BatchRecords | None = None
        try:
            batch = record.bytes_of(self._source, chunk, row)
            limit = self._budget.limit(size)
            if header[ATTRIBUTES] & COMPRESSION_MASK == SNAPPY and not batch.startswith(snappy.MAGIC, BATCH_HEADER_SIZE):
                limit = min(limit, _MAX_RAW_BLOCK)
            walk = record.BatchRecords(
                header,
                batch,
                max_payload=limit,
                with_data=self._wants_data,
                max_headers=_MAX_HEADERS_OF_PART if bad is None else -1,
                examine=examine if bad is None else None,
                opened=None if bad is None else bad[0].opened,
            )
            for rows in walk.parts():
                show(rows)
                continues = True
                decoded += len(rows)
                if walk.is_compressed and decoded >= _MAX_RECORDS:
                    message = f"no more than {_MAX_RECORDS} records of a compressed batch are read"
                    raise CorruptData("decompression-limit", message, limit=_MAX_RECORDS)
            if walk.is_compressed and header[RECORD_COUNT]:
                self._show_payload(_payload_of(header, position, batch), status)
        except MissingPackage as missing:
            self._miss(chunk, row, missing)
            return
        except CorruptData as fault:
            rows = fault.values.pop("good_rows", [])
            fault.values["decoded"] = decoded + len(rows)
            if bad is not None:
                content, at = bad
                fault.values["decoded"] = max(fault.values["decoded"], len(content.rows))
                if content.is_sound:
                    fault.values.update(data=content.data, at=at, data_start=content.start, data_end=content.end)
            if fault.values["decoded"]:
                show(rows)
            self._show_fault(chunk, row, fault, status)
            continues = True
        if walk is not None and walk.is_compressed:
            self._budget.spend(size, walk.payload_size, decoded)
        if not continues:
            show([])

    def _show_content(self, content: Content, status: str) -> None:
        for rule in self._rules:
            rule.content(content, status)

    def _show_payload(self, payload: Payload, status: str) -> None:
        for rule in self._rules:
            rule.payload(payload, status)

    def _show(self, part: RecordChunk, status: str) -> None:
        for rule in self._rules:
            rule.records(part, status)

    def _show_fault(self, chunk: Chunk, row: int, fault: CorruptData, status: str) -> None:
        fault.path, fault.position = self._source.path, chunk.batches["position"][row]
        for rule in self._rules:
            rule.unreadable(chunk, row, fault, status)


def _may_be_held(header: Sequence[int]) -> bool:
    """Whether a batch has records, and is not too large to be held with them."""
    size = header[LENGTH] + LOG_OVERHEAD
    return 0 < header[RECORD_COUNT] <= _MAX_HELD_RECORDS and BATCH_HEADER_SIZE <= size <= _MAX_HELD_BYTES


def _payload_of(header: Sequence[int], position: int, batch: bytes) -> Payload:
    offsets = header[BASE_OFFSET], header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]
    codec = header[ATTRIBUTES] & COMPRESSION_MASK
    return Payload(codec, header[MAGIC], position, len(batch), offsets, batch[BATCH_HEADER_SIZE:])
