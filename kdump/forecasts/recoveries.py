"""Recoveries of the segments of a partition, each done once however many starts need it.

Without an offset index, a start after a clean stop recovers a segment, and one after an unclean stop recovers it twice.
"""

from __future__ import annotations

from kdump.forecasts import recovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.leader_epochs import EpochsRead, LeaderEpochs
    from kdump.forecasts.producer_state import OpenTransactions, ProducerStates
    from kdump.forecasts.segment import Segment
    from kdump.forecasts.settings import Settings

    Key = tuple[str, int, int, int, int]

_MOST_NUMBERS = 1 << 20  # in the results that are kept: 4 to 8 MiB


class Recoveries:
    """The recoveries of a partition by brokers of one release and configuration, and the leader epochs that they read."""

    def __init__(self, most_numbers: int = _MOST_NUMBERS) -> None:
        self.epochs_read: EpochsRead = {}
        self._known: dict[Key, _Recovered] = {}
        self._room = most_numbers

    def recover(
        self, segment: Segment, producers: ProducerStates, epochs: LeaderEpochs | None, settings: Settings
    ) -> recovery.Cut:
        """Recover a segment as `recovery.recover` does. Of `producers`, what a snapshot holds is then as it would be."""
        file = segment.log.file
        key = file.path, file.start, file.size, segment.base_offset, producers.end_offset
        before, epoch_before = producers.transactions(), None if epochs is None else epochs.last_epoch
        known = self._known.get(key)
        if known is not None and known.is_after(before, epoch_before):
            return known.apply(segment, producers, epochs)
        cut = recovery.recover(segment, producers, epochs, settings)
        if file.path:
            self._keep(key, _Recovered(before, epoch_before, cut, segment, producers, epochs))
        return cut

    def _keep(self, key: Key, recovered: _Recovered) -> None:
        old = self._known.get(key)
        room = self._room + (0 if old is None else old.numbers) - recovered.numbers
        if room >= 0:
            self._known[key], self._room = recovered, room


class _Recovered:
    """A recovery: what it depended on besides the log, and what it came to."""

    __slots__ = ("_before", "_cut", "_end_offset", "_epoch_after", "_epoch_before", "_indexes", "_open_after", "numbers")

    def __init__(
        self,
        before: OpenTransactions,
        epoch_before: int | None,
        cut: recovery.Cut,
        segment: Segment,
        producers: ProducerStates,
        epochs: LeaderEpochs | None,
    ) -> None:
        self._before = before
        self._epoch_before = epoch_before
        self._cut = cut
        self._indexes = segment.rebuilt_indexes()
        self._open_after = producers.open_transactions()
        self._end_offset = producers.end_offset
        self._epoch_after = None if epochs is None else epochs.last_epoch
        self.numbers = before.numbers + len(self._indexes.offsets.entries) + self._open_after.size

    def is_after(self, before: OpenTransactions, epoch_before: int | None) -> bool:
        """Whether a recovery of the same log comes to the same. A later epoch before it leaves fewer to be noted."""
        if epoch_before is not None and (self._epoch_before is None or self._epoch_before > epoch_before):
            return False
        return self._before.is_same(before)

    def apply(self, segment: Segment, producers: ProducerStates, epochs: LeaderEpochs | None) -> recovery.Cut:
        """Leave a segment, producers and epochs as the recovery leaves them."""
        segment.reset_indexes()
        lost = segment.truncate(self._cut.position)
        segment.take_indexes(self._indexes)
        segment.trim_indexes()
        producers.take_open(self._open_after, self._end_offset)
        if epochs is not None and self._epoch_after is not None:
            epochs.last_epoch = max(epochs.last_epoch, self._epoch_after)
        return recovery.Cut(self._cut.position, lost, self._cut.reason)
