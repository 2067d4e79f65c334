"""Walks a log past damage: every intact batch is listed, and every damaged range is named."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.errors import CorruptData
from kdump.formats.log import Log
from kdump.reading.damages import LEADS_OVER_BATCHES
from kdump.reading.items import DAMAGED, INTACT, NOT_EXAMINED, SALVAGED, ZERO, Damage, Section
from kdump.reading.recent import RecentBytes
from kdump.reading.trust import Order
from kdump.reading.tuning import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kdump.binary.source import Source
    from kdump.reading.steps import Step, Steps
    from kdump.reading.stretches import Stretches
    from kdump.reading.tuning import ReadTuning

__all__ = [
    "DAMAGED",
    "INTACT",
    "LEADS_OVER_BATCHES",
    "NOT_EXAMINED",
    "SALVAGED",
    "ZERO",
    "Damage",
    "Section",
    "walk",
]

_SOUND_BATCHES = 32  # one after the other, after which a walk reads windows again


def walk(
    source: Source,
    start: int = 0,
    *,
    base_offset: int | None = None,
    next_base_offset: int | None = None,
    keeps_bytes: bool = False,
    fills_headers: bool = False,
    tuning: ReadTuning = DEFAULT,
) -> Generator[Section | Damage]:
    """All batches of a log from `start` on, and all damaged ranges between them; together they cover every byte.

    A damaged batch is skipped by its length if that leads to a batch or to the end of the file. If the stored CRC fits another
    end, only the length is wrong. Otherwise the next intact batch is searched byte by byte. Offsets must lie between the base
    offsets of this segment and the next one, if these are known.
    With `keeps_bytes`, large sections keep their bytes until the next item is asked for; with `fills_headers`, they have the
    columns of their headers.
    """
    items = _Walk(source, start, base_offset, next_base_offset, tuning)
    if kernel.native is None or not source.is_direct:
        yield from items.by_windows(source.size)
        return
    from kdump.reading.stretches import Stretches

    stretches = Stretches(source, start, tuning, keeps_bytes=keeps_bytes, fills_headers=fills_headers)
    yield from items.by_stretches(stretches)


class _Walk:
    """One walk through a log. Each step takes `position` on by at least one byte."""

    def __init__(
        self,
        source: Source,
        start: int,
        base_offset: int | None,
        next_base_offset: int | None,
        tuning: ReadTuning,
    ) -> None:
        self._source = RecentBytes(source, tuning)
        self._tuning = tuning
        self._start = self._position = start
        self._order = Order(self._source, base_offset, next_base_offset)
        self._steps: Steps | None = None  # made where something is wrong
        self._sound_batch = 0 if start else None  # the last batch beyond doubt, or one of the last; None before the first
        self._window_size = tuning.window_bytes  # of sound batches, read first
        self._sound = self._sound_bytes = 0  # the intact batches of the last steps, one after the other, and their size

    def by_stretches(self, stretches: Stretches) -> Iterator[Section | Damage]:
        """Everything up to the end of the log: in large stretches, or in steps where something is wrong."""
        size = self._source.size
        while self._position < size:
            chunk = stretches.at(self._position)
            if chunk is not None and self._order.takes(chunk.summary):
                yield Section(chunk)
                self._sound_batch, self._position = self._position, chunk.summary.end
            else:
                stretches.rest(self._position)
                yield from self.by_windows(stretches.next_try)

    def by_windows(self, until: int) -> Iterator[Section | Damage]:
        """Everything up to the end of the log, or up to the first batch after `until`."""
        end = min(until, self._source.size)
        while self._position < end:
            yield from self._sound_windows(end)
            if self._position < end:
                yield from self._damaged_stretch(end)

    def _sound_windows(self, end: int) -> Iterator[Section]:
        """Sections of sound batches in order, a window at a time, from `position` up to the first batch after `end`."""
        if not self._order.wants_summary():
            return
        log = Log(
            self._source,  # type: ignore[arg-type]  # a walk needs only path, size and read
            self._position,
            window_size=self._window_size,
            max_window_size=self._tuning.window_bytes,
            may_check=lambda _: False,  # a step looks at what is larger than a window
        )
        try:
            for chunk in log.summarized_chunks(self._order.wants_summary):
                summary = chunk.summary
                if summary is None or not self._order.takes(summary):
                    return
                yield Section(chunk)
                self._sound_batch, self._position = self._position, summary.end
                if self._position >= end:
                    return
        except CorruptData:
            pass  # the next step comes upon it

    def _damaged_stretch(self, end: int) -> Iterator[Section | Damage]:
        """What the next steps find, until batches are sound again, or one starts at `end` or later."""
        self._sound = self._sound_bytes = 0
        steps = self._steps = self._steps or self._made_steps()
        steps.contents.sound_batch = self._sound_batch
        while self._position < end and not self._is_sound_again:
            is_nested = self._position < self._order.nested_end
            step = steps.at(self._position)
            self._note(step)
            yield from step.items(is_nested=is_nested)
        self._sound_batch = steps.contents.sound_batch
        if self._sound:
            size = 4 * self._sound_bytes // self._sound
            self._window_size = min(max(self._tuning.near_bytes, size), self._tuning.window_bytes)

    def _made_steps(self) -> Steps:
        """What takes steps past damage; a sound log does without loading it."""
        from kdump.reading.steps import steps_of_walk

        return steps_of_walk(self._source, self._order, self._start, self._tuning)

    @property
    def _is_sound_again(self) -> bool:
        """Whether so many intact batches follow each other that windows of them are worth while."""
        return self._sound >= _SOUND_BATCHES or self._sound > 1 and self._sound_bytes >= self._tuning.near_bytes

    def _note(self, step: Step) -> None:
        """Continue after a step."""
        is_intact = step.status == INTACT
        self._sound = self._sound + 1 if is_intact else 0
        self._sound_bytes = self._sound_bytes + step.end - self._position if is_intact else 0
        self._position = step.end
