"""Compares indexes with a log of messages, as the tool before 0.11 did."""

from __future__ import annotations

from kdump.dropin.before_0_11.message_log import MessageLog, messages_in
from kdump.dropin.time_comparison import MAX_SIZE, EntryTarget
from kdump.errors import CorruptData
from kdump.formats.record_batch import NO_TIMESTAMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.source import Source
    from kdump.releases.message_rules import MessageRules


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
    """Finds where the entries of a time index lead: `offsets` are theirs, `starts` the positions to search from."""

    def __init__(self, log: Source, offsets: Sequence[int], starts: Sequence[int], rules: MessageRules) -> None:
        self._log = log
        self._offsets = offsets
        self._starts = starts
        self._rules = rules

    def of(self, row: int) -> EntryTarget:
        """What the entry in this row leads to. Raises CorruptData as `open_slice` and `MessageLog.messages`."""
        for position, message in open_slice(self._log, self._starts[row], MAX_SIZE, self._rules).messages():
            if message.offset >= self._offsets[row]:
                return EntryTarget(position, message.offset)
        return EntryTarget(None, 0)


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
