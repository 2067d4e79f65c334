"""A log (`.log`, `.checkpoint`): record batches of any magic, one after the other."""

from __future__ import annotations

from array import array
from operator import sub

from kdump.binary import kernel
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_columns_reference import BATCH_COLUMNS
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_OFFSET,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CRC,
    CRC_COVERS_FROM,
    HEADER_UP_TO_MAGIC,
    LAST_OFFSET_DELTA,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_ATTRIBUTES,
    MESSAGE_CRC,
    MESSAGE_CRC_COVERS_FROM,
    MESSAGE_HEADER,
    MESSAGE_HEADER_SIZE,
    MIN_RECORD_OVERHEAD,
    batch_length,
    batch_offset,
    batch_size,
)
from kdump.binary.checksums import crc32, crc32c_for, of_range
from kdump.binary.codecs import CODECS
from kdump.binary.source import WINDOW_SIZE
from kdump.errors import CorruptData, Unreadable
from kdump.formats import record_batch
from kdump.formats.record_batch import RecordBatch
from kdump.tables import Declared, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol, TypeVar

    from kdump.binary.checksums import Checksum
    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.binary.source import Source
    from kdump.formats.summary import BatchSummary

    Item = TypeVar("Item")
    Window = TypeVar("Window", bytes, memoryview)

    class WindowRenderer(Protocol):
        """Writes the lines of the regular batches of a window."""

        def render(self, window: memoryview, start: int, window_position: int) -> int:
            """Write the lines of the batches in a window from `start` on. Returns where in the window they end.

            The window may be overwritten afterwards.
            """

    class BulkRenderer(Protocol):
        """Writes the lines of a large part of a log at once."""

        def __call__(self, position: int, stop: int, end: int) -> int:
            """Write the lines of the batches that start from `position` up to `stop` in a log that ends at `end`.

            Returns where they end: anywhere, or at `position` where it does not pay.
            """


MAX_INT = 0x7FFFFFFF


class Chunk:
    """Neighbouring batches of one family: all of magic 2 and higher, or all of magic 0 and 1.

    `headers` are their unpacked headers. The bytes of the batch in a row start at `starts[row]` in `window`; a batch that is
    too large for a window is alone in its chunk, without a window.
    `summary` is None if they are not known to be valid and in order. `kept` are their bytes, if whoever summarized them keeps
    these until the next chunk; `header_columns` are the columns of BATCH_COLUMNS, if those were made then.
    """

    summary: BatchSummary | None = None
    kept: memoryview | None = None
    header_columns: dict[str, bytes] | None = None

    def __init__(
        self,
        batches: Table[RecordBatch],
        headers: Sequence[tuple[int, ...]],
        starts: Sequence[int],
        window: bytes,
        is_legacy: bool,
    ) -> None:
        self.batches = batches
        self.headers = headers
        self.starts = starts
        self.window = window
        self.is_legacy = is_legacy

    def __len__(self) -> int:
        return len(self.headers)

    def headers_only(self) -> Chunk:
        """The same batches for a caller that needs no bytes of theirs, or reads them from the file."""
        return self

    def slice(self, start: int, end: int) -> Chunk:
        """The batches in the rows from `start` up to but not including `end`."""
        batches = self.batches.slice(start, end)
        return Chunk(batches, self.headers[start:end], self.starts[start:end], self.window, self.is_legacy)

    def record_counts(self) -> Sequence[int]:
        """How many records each batch says it has; a message is one."""
        return [1] * len(self) if self.is_legacy else self.batches["count"]


class SummarizedChunk(Chunk):
    """A chunk that knows its summary. Columns, headers, starts and window come from `read` at the first access."""

    summary: BatchSummary

    def __init__(self, summary: BatchSummary, read: Callable[[], Chunk]) -> None:
        self.summary = summary
        self._read = read
        self.is_legacy = summary.is_legacy

    @classmethod
    def read_again(cls, summary: BatchSummary, source: Source, start: int) -> SummarizedChunk:
        """A chunk whose bytes were not kept. Reading its columns raises Unreadable if the file has changed."""

        def read() -> Chunk:
            log = Log(source, start, summary.end)
            window = source.read_exactly(start, summary.end - start)
            chunk, end = log._regular_chunk(window, 0, start, 0 if summary.is_legacy else 2)
            if chunk is None or len(chunk) != summary.count or start + end != summary.end:
                raise Unreadable("file-io-error", "was changed while it was being read", path=source.path, position=start)
            return chunk

        return cls(summary, read)

    def headers_only(self) -> Chunk:
        """Those of columns or of kept bytes, which are not read again: their CRCs are known to fit. They outlive the bytes."""
        if self.header_columns is not None:
            return batches_of_columns(self.header_columns)
        if self.kept is None:
            return self
        start = self.summary.end - len(self.kept)
        chunk, _ = _regular_chunk(self.kept, 0, start, STRICT_RULES, None, is_legacy=self.is_legacy)
        assert chunk is not None and len(chunk) == self.summary.count
        return Chunk(chunk.batches, chunk.headers, [0] * len(chunk), b"", self.is_legacy)

    def __len__(self) -> int:
        return self.summary.count

    def __getattr__(self, name: str) -> object:  # only of what is not there yet
        chunk = self._read()
        self.batches, self.headers, self.starts, self.window = chunk.batches, chunk.headers, chunk.starts, chunk.window
        return object.__getattribute__(self, name)


class LogRules(Declared):
    """What a reader of a log accepts: codecs with ids below `codec_count`.

    With `reads_records_only`, as in the deep iteration of old releases, the codec of an empty batch is not looked at, and a
    negative magic counts as 1. With `fails_on_overflow`, a batch whose length plus the 12 bytes before it overflows 32 bits is
    an error; otherwise it is the end of the log. `quirks` says how an old reader decompresses.
    """

    codec_count: int = len(CODECS)
    reads_records_only: bool = False
    fails_on_overflow: bool = False
    quirks: CodecQuirks | None = None

    @property
    def min_magic(self) -> int:
        """The lowest magic that is read as 0 or 1."""
        return -0x80 if self.reads_records_only else 0


STRICT_RULES = LogRules()

_MAX_UNRENDERED_BATCHES = 1024


class Log:
    """The batches of a log from a position on.

    Nothing is read past `end`; a batch that crosses it is not seen. After the walk, `position` is the end of the last complete
    batch, and `trailing` says why the walk ended there: `` for the end of the log, `torn-header` for fewer than 18 bytes,
    `torn-batch` for a batch that reaches past the end. Windows have `max_window_size` bytes; a smaller first `window_size`
    suits callers that want only the next few batches. A batch larger than its window is a fault with the code `resync-budget`
    unless `may_check` allows reading that number of bytes.

    Kafka: FileLogInputStream.
    """

    def __init__(
        self,
        source: Source,
        start: int = 0,
        end: int | None = None,
        *,
        rules: LogRules = STRICT_RULES,
        window_size: int | None = None,
        max_window_size: int = WINDOW_SIZE,
        may_check: Callable[[int], bool] | None = None,
    ) -> None:
        self._may_check = may_check
        self.source = source
        self.position = start
        self._start = start
        self.end = source.size if end is None else min(end, source.size)
        self.trailing = ""
        self._rules = rules
        self._window_size = max(window_size or max_window_size, BATCH_HEADER_SIZE)
        self._max_window_size = max(max_window_size, BATCH_HEADER_SIZE)
        self._window = bytearray()
        self._crc32c = crc32c_for(self.end - start)

    def go_to(self, start: int, end: int) -> None:
        """Continue with another part of the log."""
        self.position = self._start = start
        self.end = end

    def chunks(self, renderer: WindowRenderer | None = None, render_bulk: BulkRenderer | None = None) -> Iterator[Chunk]:
        """Read on from `position`, a window at a time. What `renderer` and `render_bulk` write is left out.

        Raises CorruptData with the code `record-size-too-small` where a length cannot be, and with `batch-header-cut`,
        `codec-unknown` or `magic-negative` where a header cannot be read; the latter two carry the known fields of the row.
        """
        if renderer is None:
            return self._walk(self.source.read, self._regular_chunk, self._irregular_batch, render_bulk)
        return self._walk(self._read_again, _RenderedWalk(self._regular_chunk, renderer), self._irregular_batch, render_bulk)

    def summarized_chunks(self, wants_summary: Callable[[], bool] = lambda: True) -> Iterator[Chunk]:
        """The same chunks; those whose batches are valid and in order know their summary, and make their columns on demand.

        Each chunk is summarized only if `wants_summary` when it is read.
        """

        def chunk(window: bytes, start: int, window_position: int, magic: int) -> tuple[Chunk | None, int]:
            if not wants_summary():
                return self._regular_chunk(window, start, window_position, magic)
            return self._summarized_chunk(window, start, window_position, magic)

        return self._walk(self.source.read, chunk, self._irregular_batch)

    def extents(self) -> Iterator[tuple[list[int], list[int]]]:
        """Read on from `position`: only the positions of batches and their last offsets.

        Raises CorruptData as `chunks`, but looks at no codec, and with `batch-header-cut` only for the last offset's sake.
        """
        return self._walk(self.source.read, self._regular_extents, self._irregular_extent)

    def starts(self) -> Iterator[tuple[list[int], bytes, int]]:
        """Read on from `position`: where batches start in a window, the window (perhaps one header only), and its position.

        Raises CorruptData as `extents`.
        """
        return self._walk(self.source.read, self._regular_starts, self._irregular_start)

    def walk(
        self, regular: Callable[[bytes, int, int, int], tuple[Item | None, int]], irregular: Callable[[int, int], Item]
    ) -> Iterator[Item]:
        """Read on from `position` with the caller's readers.

        `regular` reads consecutive batches. Its arguments are the window, the start in it, the position of the window in the
        log, and the magic of the first batch; it returns its result and where in the window they end. If the result is None,
        `irregular` reads the one batch at `position`, given its magic and size. Raises CorruptData at an impossible length.
        """
        return self._walk(self.source.read, regular, irregular)

    def _walk(
        self,
        read: Callable[[int, int], Window],
        regular: Callable[[Window, int, int, int], tuple[Item | None, int]],
        irregular: Callable[[int, int], Item],
        render_bulk: BulkRenderer | None = None,
    ) -> Iterator[Item]:
        """Walk the log: `read` reads a window, `regular` takes the regular batches in it, `irregular` each other batch."""
        window, window_position = read(self.position, 0), self.position
        while True:
            start = self.position - window_position
            header_bytes = window[start : start + HEADER_UP_TO_MAGIC]
            if len(header_bytes) < HEADER_UP_TO_MAGIC and self._is_more():
                if render_bulk is not None:
                    self.position = render_bulk(self.position, self.end, self.end)
                window_position = self.position
                window = _read_window(read, window_position, min(self._window_size, self.end - window_position))
                self._window_size = min(2 * self._window_size, self._max_window_size)
                start, header_bytes = 0, window[:HEADER_UP_TO_MAGIC]
            length = self._length_at(header_bytes)
            if length is None:
                return
            magic = int.from_bytes(header_bytes[MAGIC_AT:], "big", signed=True)
            size = LOG_OVERHEAD + length
            if start + max(size, BATCH_HEADER_SIZE) > len(window) and start > 0:
                window = window[:0]  # begin the next window with this batch
                continue
            item, end = regular(window, start, window_position, magic)
            if item is not None:
                yield item
            if item is not None or end > start:
                self.position = window_position + end
            else:
                yield irregular(magic, size)
                self.position += size
                if self.position > MAX_INT and self._rules.fails_on_overflow:
                    raise self._fault("position-overflow", "a length leads past the end of any log", size)

    def _read_again(self, position: int, size: int) -> memoryview:
        """As `source.read`, into the memory of the previous window: allocating new memory takes as long as reading."""
        if len(self._window) < size:
            self._window = bytearray(size)
        window = memoryview(self._window)[:size]
        return window[: self.source.read_into(window, position)]

    def _regular_chunk(self, window: bytes, start: int, window_position: int, magic: int) -> tuple[Chunk | None, int]:
        return _regular_chunk(window, start, window_position, self._rules, self._crc32c, is_legacy=magic < 2)

    def _summarized_chunk(self, window: bytes, start: int, window_position: int, magic: int) -> tuple[Chunk | None, int]:
        from kdump.formats import summary  # a dump does not need it

        max_codec = self._rules.codec_count - 1
        found = summary.of_window(window, start, window_position, max_codec, self._crc32c, is_legacy=magic < 2)
        if found is None:
            return self._regular_chunk(window, start, window_position, magic)

        def read() -> Chunk:
            chunk, _ = self._regular_chunk(window, start, window_position, magic)
            assert chunk is not None
            return chunk

        return SummarizedChunk(found, read), found.end - window_position

    def _regular_extents(
        self, window: bytes, start: int, window_position: int, _magic: int
    ) -> tuple[tuple[list[int], list[int]] | None, int]:
        positions, last_offsets, end = kernel.walk_extents(window, start, window_position)
        return ((positions, last_offsets) if positions else None), end

    def _irregular_extent(self, magic: int, _size: int) -> tuple[list[int], list[int]]:
        header_bytes = self.source.read(self.position, BATCH_HEADER_SIZE)
        if magic >= 2:
            if len(header_bytes) < BATCH_HEADER_SIZE:
                raise self._header_cut(_size, BATCH_HEADER_SIZE, len(header_bytes))
            header = BATCH_HEADER.unpack(header_bytes)
            return [self.position], [as_int64(header[BASE_OFFSET] + header[LAST_OFFSET_DELTA])]
        return [self.position], [batch_offset(header_bytes)]

    def _regular_starts(
        self, window: bytes, start: int, window_position: int, _magic: int
    ) -> tuple[tuple[list[int], bytes, int] | None, int]:
        starts, end = kernel.walk_starts(window, start)
        return ((starts, window, window_position) if starts else None), end

    def _irregular_start(self, magic: int, size: int) -> tuple[list[int], bytes, int]:
        header_bytes = self.source.read(self.position, BATCH_HEADER_SIZE)
        if magic >= 2 and len(header_bytes) < BATCH_HEADER_SIZE:
            raise self._header_cut(size, BATCH_HEADER_SIZE, len(header_bytes))
        return [0], header_bytes.ljust(BATCH_HEADER_SIZE, b"\0"), self.position

    def _header_cut(self, size: int, header_size: int, read: int) -> CorruptData:
        message = f"the file ends inside the header of a record batch that says it is {size} bytes long"
        return self._fault("batch-header-cut", message, size, header_size=header_size, read=read)

    def _is_more(self) -> bool:
        return self.position < self.end - HEADER_UP_TO_MAGIC

    def _length_at(self, header_bytes: bytes | memoryview) -> int | None:
        """The length of the batch at `position`, or None where the log ends."""
        rest = self.end - self.position
        if not self._is_more() or len(header_bytes) < HEADER_UP_TO_MAGIC:  # the file may have been cut off meanwhile
            self.trailing = "torn-header" if rest > 0 else ""
            return None
        length = batch_length(header_bytes)
        if length < MIN_RECORD_OVERHEAD:
            raise CorruptData(
                "record-size-too-small",
                f"a record batch says it is {length} bytes long, which is less than {MIN_RECORD_OVERHEAD}",
                path=self.source.path,
                position=self.position,
                size=length,
                minimum=MIN_RECORD_OVERHEAD,
            )
        overflows = self._rules.fails_on_overflow and length + LOG_OVERHEAD > MAX_INT
        if length > rest - LOG_OVERHEAD and not overflows:
            self.trailing = "torn-batch"
            return None
        return length

    def _irregular_batch(self, magic: int, size: int) -> Chunk:
        """The batch at `position`: one that is larger than a window, or whose header is irregular."""
        header_size = BATCH_HEADER_SIZE if magic >= 2 else MESSAGE_HEADER_SIZE if magic else MESSAGE_HEADER.size
        header_bytes = self.source.read(self.position, header_size)
        if magic < self._rules.min_magic:
            row = RecordBatch.partial(None, batch_offset(header_bytes))
            raise self._fault("magic-negative", f"magic {magic} does not exist", size, row, "last_offset", magic=magic)
        if len(header_bytes) < header_size:
            if self._rules.reads_records_only:
                raise self._fault(
                    "batch-shorter-than-header", f"a record batch of {size} bytes is too small for its header", size
                )
            raise self._header_cut(size, header_size, len(header_bytes))
        if size > MAX_INT:
            raise self._overflow(magic, size, header_bytes)
        if self._may_check is not None and not self._may_check(size):
            raise self._fault("resync-budget", "too many batches claim to be large: the CRC of this one was not computed", size)
        if magic >= 2:
            header = BATCH_HEADER.unpack(header_bytes)
            attributes = header[ATTRIBUTES]
            is_valid = size >= BATCH_HEADER_SIZE and self._crc(CRC_COVERS_FROM, size) == header[CRC]
            batches = record_batch.table_of_batches([header], [self.position], [is_valid])
            chunk = Chunk(batches, [header], [0], b"", False)
        else:
            message = record_batch.message_header(header_bytes)
            attributes = message[MESSAGE_ATTRIBUTES]
            is_valid = self._crc(MESSAGE_CRC_COVERS_FROM, size) == message[MESSAGE_CRC]
            chunk = Chunk(record_batch.table_of_messages([message], [self.position], [is_valid]), [message], [0], b"", True)
        codec = attributes & COMPRESSION_MASK
        if codec >= self._rules.codec_count and not (self._rules.reads_records_only and _is_empty_or_short(chunk)):
            through = "delete_horizon_ms" if magic >= 2 else "last_offset"
            raise self._fault("codec-unknown", f"codec {codec} does not exist", size, chunk.batches.row(0), through, codec=codec)
        return chunk

    def _overflow(self, magic: int, size: int, header_bytes: bytes) -> CorruptData:
        """The fault of a length that overflows, with the fields that Kafka reads before it fails."""
        row, through = RecordBatch.partial(None, batch_offset(header_bytes)), "last_offset"
        if magic >= 2:
            batches = record_batch.table_of_batches([BATCH_HEADER.unpack(header_bytes)], [self.position], [False])
            row, through = batches.row(0), "delete_horizon_ms"
        return self._fault("length-overflow", "a length overflows", size, row, through, capacity=size - (1 << 32))

    def _crc(self, covers_from: int, size: int) -> int:
        """The checksum over the batch at `position`."""
        checksum = crc32 if covers_from < CRC_COVERS_FROM else self._crc32c
        start, end = self.position + covers_from, self.position + size
        return of_range(self.source, start, end, checksum, window_size=self._max_window_size)

    def _fault(
        self, code: str, message: str, size: int, row: RecordBatch | None = None, through: str = "", **values: Any
    ) -> CorruptData:
        return CorruptData(
            code,
            message,
            path=self.source.path,
            position=self.position,
            row=row,
            through=through,
            batch_size=size,
            view=(self._start, self.end),
            **values,
        )


class _RenderedWalk:
    """Reads the regular batches that a renderer leaves out: one at first, and twice as many each time it renders none."""

    def __init__(self, regular: Callable[[bytes, int, int, int], tuple[Chunk | None, int]], renderer: WindowRenderer) -> None:
        self._regular = regular
        self._render = renderer.render
        self._batch_count = 1

    def __call__(self, window: memoryview, start: int, window_position: int, magic: int) -> tuple[Chunk | None, int]:
        end = self._render(window, start, window_position)
        if end > start:
            self._batch_count = 1
            return None, end
        for _ in range(self._batch_count):
            size = batch_size(window, end)
            if size < LOG_OVERHEAD or end + size > len(window):
                break
            end += size
        self._batch_count = min(2 * self._batch_count, _MAX_UNRENDERED_BATCHES)
        chunk, walked = self._regular(bytes(window[start:end]), 0, window_position + start, magic)
        return chunk, start + walked


def _regular_chunk(
    window: bytes | memoryview, start: int, window_position: int, rules: LogRules, crc32c: Checksum | None, *, is_legacy: bool
) -> tuple[Chunk | None, int]:
    """The regular batches from a place in a window on, and where they end. Without `crc32c`, the CRCs of magic 2 are not checked.

    The window begins at this position of the log.
    """
    headers: Sequence[tuple[int, ...]]
    max_codec = rules.codec_count - 1
    if is_legacy:
        headers, starts, valid, end = messages = kernel.walk_messages(window, start, rules.min_magic, max_codec)
    else:
        headers, starts, valid, end = batches = kernel.walk_batches(window, start, max_codec, crc32c)
    if not headers:
        return None, end
    positions = [window_position + start for start in starts] if window_position else starts
    if is_legacy:
        table = record_batch.table_of_messages(messages[0], positions, valid)
    else:
        table = record_batch.table_of_batches(batches[0], positions, valid)
    return Chunk(table, headers, starts, window, is_legacy), end  # type: ignore[arg-type]  # of any buffer


def batches_of_columns(columns: Mapping[str, bytes]) -> Chunk:
    """The batches of magic 2 with these columns of BATCH_COLUMNS, whose CRCs are known to fit. The chunk has no window."""
    numbers = {name: array(kind, columns[name]) for name, kind in BATCH_COLUMNS.items()}
    headers = list(
        zip(
            numbers["base_offset"],
            [size - LOG_OVERHEAD for size in numbers["size"]],
            numbers["partition_leader_epoch"],
            numbers["magic"],
            numbers["crc"],
            numbers["attributes"],
            map(sub, numbers["last_offset"], numbers["base_offset"]),
            numbers["base_timestamp"],
            numbers["timestamp"],
            numbers["producer_id"],
            numbers["producer_epoch"],
            numbers["base_sequence"],
            numbers["count"],
            strict=True,
        )
    )
    count = len(headers)
    table = record_batch.table_of_batches(headers, numbers["position"].tolist(), [True] * count)
    return Chunk(table, headers, [0] * count, b"", False)


def _is_empty_or_short(chunk: Chunk) -> bool:
    """Whether a batch says that it has no records, or is too short to say so."""
    if chunk.is_legacy:
        return False
    return bool(chunk.batches["count"][0] == 0 or chunk.batches["size"][0] < BATCH_HEADER_SIZE)


def _read_window(read: Callable[[int, int], Window], position: int, size: int) -> Window:
    """A window of a log. If the file has become shorter, the bytes up to its end; the next read then raises Unreadable."""
    try:
        return read(position, size)
    except Unreadable as fault:
        left = 0 if fault.code != "file-shrank" or fault.position is None else fault.position - position
        if left < HEADER_UP_TO_MAGIC:
            raise
        return read(position, left)
