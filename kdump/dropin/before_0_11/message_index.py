"""Compares indexes with a log of messages, as the tool before 0.11 did."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from kdump.dropin.before_0_11.message_log import MessageLog, messages_in
from kdump.dropin.time_comparison import MAX_SIZE, EntryTarget
from kdump.errors import CorruptData
from kdump.formats.record_batch import NO_TIMESTAMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.binary.source import Source
    from kdump.formats.message_set import Message
    from kdump.releases.message_rules import MessageRules

_MOST_KEPT = 1 << 20  # messages of a walk whose positions are kept
_LOWEST = -(1 << 63)


def first_offset_at(log: Source, position: int, size: int, rules: MessageRules) -> int:
    """The offset of the first message at this position, or of the first in it if it is a wrapper.

    Raises CorruptData as `open_slice`, `MessageLog.messages` and `messages_in`, and with `no-batch-at-position`.
    """
    for _, message in open_slice(log, position, size, rules).messages():
        for placed in messages_in(message, rules):
            return placed.message.offset
        break
    raise CorruptData("no-batch-at-position", "an entry points to where no message is", path=log.path, position=position)


def max_timestamp_at(log: Source, position: int, rules: MessageRules) -> int:
    """The largest timestamp of the message at this position, or of the messages in it; -1 if there is none."""
    _, message = next(open_slice(log, position, MAX_SIZE, rules).messages())
    return max(NO_TIMESTAMP, *(placed.timestamp for placed in messages_in(message, rules)), NO_TIMESTAMP)


class EntryTargets:
    """Finds where the entries of a time index lead: `offsets` are theirs, `starts` the positions to search from.

    `walk` is the one over the messages that the entries before needed.
    """

    def __init__(self, offsets: Sequence[int], starts: Sequence[int], walk: Walk) -> None:
        self._offsets = offsets
        self._starts = starts
        self._walk = walk

    def of(self, row: int) -> EntryTarget:
        """What the entry in this row leads to. Raises CorruptData as `Walk.first_up_to`."""
        return self._walk.first_up_to(self._offsets[row], self._starts[row])


class Walk:
    """A walk over messages from one position on. It goes on where it is: the next entry may start there, too."""

    def __init__(self, log: Source, rules: MessageRules) -> None:
        self._log = log
        self._rules = rules
        self._start: int | None = None
        self._messages: Iterator[tuple[int, Message]] = iter(())
        self._passed = _LOWEST  # the highest offset so far
        self._positions, self._offsets, self._highest = array("q"), array("q"), array("q")  # of the first messages

    def first_up_to(self, offset: int, start: int) -> EntryTarget:
        """The first message from `start` on whose offset is not below this one.

        Raises CorruptData as `open_slice` and `MessageLog.messages`.
        """
        if start != self._start:
            self._begin(start)
        row = bisect_left(self._highest, offset)
        if row < len(self._highest):
            return EntryTarget(self._positions[row], self._offsets[row])
        if offset <= self._passed:
            self._begin(start)
        for position, message in self._messages:
            self._passed = max(self._passed, message.offset)
            if len(self._highest) < _MOST_KEPT:
                self._positions.append(position)
                self._offsets.append(message.offset)
                self._highest.append(self._passed)
            if message.offset >= offset:
                return EntryTarget(position, message.offset)
        return EntryTarget(None, 0)

    def _begin(self, start: int) -> None:
        self._start, self._passed = start, _LOWEST
        self._messages = open_slice(self._log, start, MAX_SIZE, self._rules).messages()
        for kept in (self._positions, self._offsets, self._highest):
            del kept[:]


def open_slice(log: Source, position: int, size: int, rules: MessageRules) -> MessageLog:
    """The log from `position` on, for `size` bytes at most.

    Raises CorruptData with the codes `index-position-negative` or `size-negative`, where the rules ask for it, or else with
    `position-overflow`.
    """

    def bad(code: str, message: str) -> CorruptData:
        return CorruptData(code, message, path=log.path, position=position, size=size)

    if position < 0:
        code = "index-position-negative" if rules.checks_slices else "position-overflow"
        raise bad(code, f"an entry points to byte {position}")
    if size < 0 and rules.checks_slices:
        raise bad("size-negative", f"a window of {size} bytes")
    if position + size > MAX_SIZE and rules.slices_overflow:
        size = -position
    return MessageLog(log, rules, position, size, window_size=1 << 14)
