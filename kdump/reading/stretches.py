"""Summarizes a log stretch by stretch."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.binary.batch_columns_reference import BATCH_COLUMNS
from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.source import WINDOW_SIZE
from kdump.formats.log import STRICT_RULES, SummarizedChunk
from kdump.formats.summary import BatchSummary
from kdump.reading.tuning import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.reading.tuning import ReadTuning

_LONGEST = 4  # times as long are stretches of which only headers are wanted, as long as all is well
_MAX_PAUSE_BYTES = 64 << 20


class Stretches:
    """Summaries of a log's stretches, for a walk that continues from the end of one stretch to the next.

    A stretch depends only on the bytes and on where it starts. Bytes that cannot be read, or are not valid batches in order,
    are left to the walk. Needs the kernel in C.

    Chunks with `keeps_bytes` keep their bytes until the next one is asked for. With `fills_headers`, they have the columns of
    their headers; of old messages, which have no such columns, they keep the bytes.
    """

    def __init__(
        self,
        source: Source,
        start: int,
        tuning: ReadTuning = DEFAULT,
        *,
        keeps_bytes: bool = False,
        fills_headers: bool = False,
    ) -> None:
        self.next_try = start
        """Stretches that start before this position are probably of no use."""
        self._source = source
        self._tuning = tuning
        self._pause = tuning.pause_bytes
        self._stretch_bytes = tuning.stretch_bytes
        self._fills_headers = fills_headers
        self._keeps_bytes = keeps_bytes
        self._window = self._new_window(start)
        self._keeping: SummarizedChunk | None = None

    def at(self, position: int) -> SummarizedChunk | None:
        """The summary of the stretch that starts here, or None."""
        if self._keeping is not None:
            self._keeping.kept = None
            self._keeping = None
        found, is_kept, headers = self._summarize(position)
        if found is None:
            return None
        chunk = SummarizedChunk.read_again(found, self._source, position)
        chunk.header_columns = headers
        if is_kept and (self._keeps_bytes or self._fills_headers and found.is_legacy):
            chunk.kept = memoryview(self._window)[: found.end - position]
            self._keeping = chunk
        return chunk

    def _summarize(self, position: int) -> tuple[BatchSummary | None, bool, dict[str, bytes] | None]:
        """What `summarize_stretch` finds from here to the end of the stretch."""
        most = self._tuning.max_stretch_batches
        stop = (position // self._stretch_bytes + 1) * self._stretch_bytes
        found, is_kept, headers = summarize_stretch(self._source, position, stop, self._window, most, self._fills_headers)
        if found is not None and self._fills_headers:
            if found.is_legacy and not is_kept and not self._keeps_bytes:
                self._keeps_bytes = True
                self._window = self._new_window(position)
                return self._summarize(position)
            if not found.is_legacy:
                self._stretch_bytes = min(2 * self._stretch_bytes, _LONGEST * self._tuning.stretch_bytes)
        return found, is_kept, headers

    def _new_window(self, position: int) -> bytearray:
        """Memory for what is read from here on: for a stretch where bytes are kept."""
        room = self._tuning.stretch_bytes + 2 * WINDOW_SIZE if self._keeps_bytes else WINDOW_SIZE
        return bytearray(min(room, max(1, self._source.size - position)))

    def rest(self, position: int) -> None:
        """Do without stretches for a while: one was of no use here."""
        is_soon = position - self.next_try < self._pause
        self._pause = min(2 * self._pause, _MAX_PAUSE_BYTES) if is_soon else self._tuning.pause_bytes
        self.next_try = position + self._pause
        self._stretch_bytes = self._tuning.stretch_bytes


def summarize_stretch(
    source: Source, position: int, stop: int, window: bytearray, max_batches: int, fills_headers: bool = False
) -> tuple[BatchSummary | None, bool, dict[str, bytes] | None]:
    """The summary of the batches from here up to `stop`, or None if something else is there.

    Also whether `window`, which is overwritten, starts with the bytes of all of them; and with `fills_headers` the columns of
    BATCH_COLUMNS where they are of magic 2.
    """
    assert kernel.native is not None
    found = kernel.native.summarize_log(
        source.fileno(),
        position,
        stop,
        source.size,
        max_batches,
        STRICT_RULES.codec_count - 1,
        window,
        fills_headers,
    )
    if found is None:
        return None, False, None
    numbers, runs, is_kept, filled, *columns = found
    headers = None if filled is None else dict(zip(BATCH_COLUMNS, filled, strict=True))

    def header_at(start: int) -> bytes:
        return source.read_exactly(start, min(BATCH_HEADER_SIZE, source.size - start))

    summary = BatchSummary((numbers, *columns), header_at, lambda: runs)
    is_whole = summary.end >= min(stop, source.size) or summary.count == max_batches
    return (summary, is_kept, headers) if is_whole else (None, False, None)
