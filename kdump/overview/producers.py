"""Who wrote to a partition, and when: producers, stretches of their batches, and transactions with how they ended."""

from __future__ import annotations

from kdump.decoding.markers import marker_type
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.messages.control_records import ABORT, COMMIT
from kdump.overview.map_rows import ABORTED, BATCHES, COMMITTED, ENDED, OPEN, MapProducer, MapRun
from kdump.reading.items import DAMAGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.binary.source import Source
    from kdump.reading.salvage import Section

_MOST = 4096  # producers, and runs of all of them
_SILENCE_MS = 60_000  # after which batches of a producer are another run
_OUTCOMES = {COMMIT: COMMITTED, ABORT: ABORTED}
_COLUMNS = (
    *("producer_id", "producer_epoch", "is_transactional", "is_control"),
    *("base_offset", "last_offset", "timestamp", "size"),
)


class Producers:
    """Follows the producers of a partition through its batches, in the order of its logs."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.producers: dict[int, MapProducer] = {}
        """By id, the first ones; batches of others are not counted."""
        self._runs: list[MapRun] = []  # the first that ended
        self._plain: dict[int, MapRun] = {}  # by producer, likewise
        self._open: dict[int, MapRun] = {}

    @property
    def runs(self) -> list[MapRun]:
        """Stretches and transactions, up to a number; transactions that are open are always there, at the end."""
        return [*self._runs, *self._plain.values(), *self._open.values()]

    def take(self, source: Source, section: Section) -> None:
        """Follow the next batches; those that are damaged do not count, for their headers may say anything."""
        batches = section.chunk.batches
        if section.status == DAMAGED or section.chunk.is_legacy or max(batches["producer_id"], default=-1) < 0:
            return
        rows = zip(*(batches[name] for name in _COLUMNS), strict=True)
        for row, (producer_id, epoch, is_transactional, is_control, first, last, time, size) in enumerate(rows):
            if producer_id < 0:
                continue
            seen = epoch, first, last, None if time == NO_TIMESTAMP else time, size
            producer = self.producers.get(producer_id)
            if producer is None:
                if len(self.producers) >= _MOST:
                    continue
                producer = MapProducer(self._path, producer_id, epoch, first, last, None, None, 0, 0, 0, 0, False)
                self.producers[producer_id] = producer
            _extend(producer, *seen)
            if is_control:
                kind = marker_type(source, section.chunk.slice(row, row + 1))
                self._end(producer, *seen, what=ENDED if kind is None else _OUTCOMES.get(kind, ENDED))
            else:
                producer.is_open |= is_transactional
                self._continue(producer_id, *seen, is_transactional=is_transactional)

    def _continue(
        self, producer_id: int, epoch: int, first: int, last: int, moment: int | None, size: int, *, is_transactional: bool
    ) -> None:
        held, what = (self._open, OPEN) if is_transactional else (self._plain, BATCHES)
        run = held.get(producer_id)
        if run is not None and not is_transactional and (run.producer_epoch != epoch or _silence(run, moment) > _SILENCE_MS):
            self._keep(run)
            run = None
        if run is None:
            run = held[producer_id] = MapRun(self._path, producer_id, epoch, what, first, last, None, None, 0, 0)
        _extend(run, epoch, first, last, moment, size)

    def _end(self, producer: MapProducer, epoch: int, first: int, last: int, moment: int | None, size: int, *, what: str) -> None:
        """A marker ends a transaction, of which there may be no batch."""
        run = self._open.pop(producer.producer_id, None)
        if run is None:
            run = MapRun(self._path, producer.producer_id, epoch, what, first, last, None, None, 0, 0)
        _extend(run, epoch, first, last, moment, size)
        run.what = what
        producer.is_open = False
        producer.committed += what == COMMITTED
        producer.aborted += what == ABORTED
        self._keep(run)

    def _keep(self, run: MapRun) -> None:
        if len(self._runs) < _MOST:
            self._runs.append(run)


def _silence(run: MapRun, moment: int | None) -> int:
    return 0 if moment is None or run.newest_timestamp is None else moment - run.newest_timestamp


def _extend(row: MapProducer | MapRun, epoch: int, first: int, last: int, moment: int | None, size: int) -> None:
    """Add a batch to a row."""
    row.producer_epoch = max(row.producer_epoch, epoch)
    row.first_offset, row.last_offset = min(row.first_offset, first), max(row.last_offset, last)
    if moment is not None:
        row.oldest_timestamp = moment if row.oldest_timestamp is None else min(row.oldest_timestamp, moment)
        row.newest_timestamp = moment if row.newest_timestamp is None else max(row.newest_timestamp, moment)
    row.batches += 1
    row.size += size
