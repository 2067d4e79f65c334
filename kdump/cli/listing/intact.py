"""Lists intact stretches of a log with the kernel in C, which makes text of bytes without an object for each row.

What the kernel leaves (control records, irregular records) is listed from tables.
"""

from __future__ import annotations

from bisect import bisect_left

from kdump.binary import kernel
from kdump.binary.batch_header import BATCH_HEADER_SIZE, CONTROL_BIT, batch_size
from kdump.binary.codecs import CODECS
from kdump.errors import CorruptData, Unreadable
from kdump.formats.log import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.binary.source import Source
    from kdump.cli.listing.run import Run
    from kdump.cli.listing.tuning import ListTuning
    from kdump.formats.log import Chunk
    from kdump.formats.summary import BatchSummary
    from kdump.output.kafka.native_lines import KernelText

_NEAR_BYTES = 16 << 10  # between two batches that the kernel leaves: if there are fewer, it pauses, longer each time
_MAX_PAUSE_BYTES = 1 << 20
_EARLIEST, _LATEST = -(1 << 63), (1 << 63) - 1


def intact_text(run: Run, source: Source, *, is_plain: bool) -> IntactText | None:
    """What writes the rows of intact stretches of a log; None where only tables can be listed as the request asks for it.

    `is_plain` is whether nothing is decoded.
    """
    request = run.request
    if kernel.native is None or run.is_terminal or source.throttle is not None or request.escapes_formulas:
        return None
    if request.offset is not None or not is_plain:
        return None
    if request.is_deep and request.limit is not None:  # the kernel does not count records
        return None
    plan = _plan_of_lines(run) if run.output is None else _plan_of_rows(run, source)
    if plan is None:
        return None
    from kdump.output.kafka.native_lines import KernelText

    text = KernelText(plan, run.out.write_bytes, None, run.tuning.text)
    return IntactText(source, text, run.tuning, shows_records=request.is_deep, has_times=_times_of_records(run) is not None)


def _plan_of_lines(run: Run) -> object:
    from kdump.output.kafka.native_lines import KernelPlan
    from kdump.output.kafka.record_contents import content_words

    request, profile = run.request, run.request.profile
    return KernelPlan(
        profile,
        codec_count=len(CODECS),
        shows_batches=not request.is_deep or profile.deep_shows_batches,
        shows_records=request.is_deep,
        contents=content_words(profile, skips_metadata=request.skips_metadata) if request.prints_data else None,
        skips_metadata=request.skips_metadata,
        are_valid=True,
    ).compiled


def _plan_of_rows(run: Run, source: Source) -> object | None:
    from kdump.output.rows.native_rows import row_plan

    request = run.request
    return row_plan(
        request.output, source.path, shows_records=request.is_deep, codec_count=len(CODECS), times=_times_of_records(run)
    )


def _times_of_records(run: Run) -> tuple[int, int] | None:
    """The times between which records are asked for, if the kernel chooses them; Kafka's lines need batches, too."""
    request = run.request
    has_times = request.range.has_times
    has_offsets = request.range.has_offsets
    if run.output is None or not request.is_deep or not has_times or has_offsets:
        return None
    earliest = _EARLIEST if request.range.from_time is None else max(request.range.from_time, _EARLIEST)
    return earliest, _LATEST if request.range.to_time is None else min(request.range.to_time, _LATEST)


class IntactText:
    """Writes the rows of the batches of a log that are known to be intact, a stretch at a time."""

    def __init__(self, source: Source, text: KernelText, tuning: ListTuning, *, shows_records: bool, has_times: bool) -> None:
        self._source = source
        self._window_bytes = tuning.window_bytes
        self.text = text
        self._shows_records = shows_records
        self.has_times = has_times
        """Whether records of other times than those that are asked for are left out."""
        self._window = b""
        self._window_position = 0
        self._pause = 0

    def write(self, summary: BatchSummary, rows: range, list_chunk: Callable[[Chunk], None]) -> None:
        """Write the rows of these batches of a stretch; `list_chunk` lists those that the kernel leaves."""
        start, end = _bounds(summary, rows)
        position = self._write_regular(summary, start, end)
        while position < end:
            is_soon = position - start < _NEAR_BYTES
            self._pause = min(max(2 * self._pause, _NEAR_BYTES), _MAX_PAUSE_BYTES) if is_soon else 1
            chunk = self._left_at(position, end)
            list_chunk(chunk)
            start = chunk.batches["position"][-1] + chunk.batches["size"][-1]
            position = self._write_windows(start, end)

    def _write_regular(self, summary: BatchSummary, position: int, end: int) -> int:
        """Write the rows from here on. Returns where they end: at `end`, or at the first batch that the kernel leaves."""
        if self._source.is_direct and not self._needs_windows(summary):
            position = self.text.render_log(self._source, position, end, end)
        return self._write_windows(position, end)

    def first_odd(self, summary: BatchSummary, rows: range) -> int:
        """The first of these batches whose records may have other offsets than its header says, or the end of `rows`."""
        if summary.is_legacy:  # a message has the offset of its header
            return rows.stop
        assert kernel.native is not None
        position, end = _bounds(summary, rows)
        data = self._source.read_exactly(position, end - position)
        reached, *_ = kernel.native.skip_ordinary(data, 0, end - position, False)
        if position + reached < end:
            return bisect_left(summary.positions, position + reached, rows.start, rows.stop)
        return rows.stop

    def _needs_windows(self, summary: BatchSummary) -> bool:
        """Whether records are compressed, or the kernel will leave some."""
        return self._shows_records and (summary.codecs != 1 or bool(summary.any_attributes & CONTROL_BIT))

    def _write_windows(self, position: int, end: int) -> int:
        """Write the rows from here on. Returns where they end: at `end`, or at a batch that the kernel leaves."""
        while position < end:
            at = position - self._window_position
            if not 0 <= at < len(self._window):
                self._window = self._source.read(position, min(self._window_bytes, end - position))
                self._window_position, at = position, 0
            reached = self.text.render(self._window, at, self._window_position)
            position += reached - at
            left = len(self._window) - reached
            is_whole = left >= BATCH_HEADER_SIZE and left >= batch_size(self._window, reached)
            if is_whole or position < end and reached == 0:  # irregular, or larger than the window
                break
            self._window = b""
        return position

    def _left_at(self, position: int, end: int) -> Chunk:
        """The batch here, and more of them after it if the kernel has left many. Raises Unreadable if the file has changed."""
        log = Log(self._source, position, end, window_size=max(self._pause, _NEAR_BYTES))
        try:
            chunk = next(log.chunks())
        except (CorruptData, StopIteration) as error:
            message = "was changed while it was being read"
            raise Unreadable("file-io-error", message, path=self._source.path, position=position) from error
        positions = chunk.batches["position"]
        count = sum(1 for at in positions if at < position + max(self._pause, 1))
        return chunk.slice(0, count) if count < len(chunk) else chunk


def _bounds(summary: BatchSummary, rows: range) -> tuple[int, int]:
    """Where these batches of a stretch start in the file, and where they end."""
    positions = summary.positions
    return positions[rows.start], positions[rows.stop] if rows.stop < len(positions) else summary.end
