"""Dumps time indexes (`.timeindex`), compared with their logs."""

from __future__ import annotations

from array import array
from functools import lru_cache

from kdump.binary import kernel
from kdump.binary.source import Source
from kdump.dropin import time_comparison as check
from kdump.dropin.before_0_11 import message_index
from kdump.dropin.offset_comparison import MOST_REMEMBERED, Lookup
from kdump.dropin.tool import absolute, sibling
from kdump.errors import CorruptData
from kdump.formats import file_name, time_index
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.formats.time_index import ENTRY_SIZE
from kdump.output.kafka.lines import Template
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.dropin.joptsimple import Arguments
    from kdump.dropin.tool import DumpTool
    from kdump.output.kafka.native_indexes import TimeIndexText

_WINDOW_ENTRIES = 1 << 16


def dump(tool: DumpTool, path: str, name: str, arguments: Arguments) -> None:
    """Dump one index up to its zero tail, or to where the tool throws. Raises Fault there."""
    if tool.profile.max_message_size_is_read_everywhere:
        arguments.number("max-message-size")
    base_offset = file_name.base_offset(name)
    full_path = absolute(path)
    with (
        tool.open(sibling(full_path, file_name.LOG)) as log,
        tool.open_index(sibling(full_path, file_name.OFFSET_INDEX)) as offset_index,
        tool.open_index(full_path, path) as index,
    ):
        if arguments.has("index-sanity-check"):
            check.check_sanity(index, base_offset)
            tool.out.write(tool.profile.sanity_line.format(path=tool.shown(path)))
            return
        _dump_entries(tool, log, index, offset_index, base_offset, is_quiet=arguments.has("verify-index-only"))


def _dump_entries(tool: DumpTool, log: Source, index: Source, offset_index: Source, base_offset: int, *, is_quiet: bool) -> None:
    kernel_text = _kernel_text(tool, log, index, offset_index, base_offset, is_quiet=is_quiet)
    entries = _Entries(tool, log, index, offset_index, base_offset)
    row, run, previous = 0, 1, NO_TIMESTAMP
    while row < entries.count:
        end = min(row + _WINDOW_ENTRIES, entries.count)
        if kernel_text is not None:
            first = max(0, row - 1)  # the entry before shows the kernel that the next one is not the first
            data = index.read_exactly(first * ENTRY_SIZE, (end - first) * ENTRY_SIZE)
            kernel_text.previous = previous
            by_kernel = first + kernel_text.render(data, (row - first) * ENTRY_SIZE) // ENTRY_SIZE
            run = 1 if by_kernel > row + run else min(2 * run, _WINDOW_ENTRIES)  # where they alternate, few changes
            row, previous = by_kernel, kernel_text.previous
            if row == end:
                continue
            end = min(row + run, end)
        previous = entries.dump(row, end, previous, is_quiet=is_quiet)
        if entries.are_over:
            return
        row = end


class _Entries:
    """The entries of a time index as the reference dumps them, a window at a time."""

    def __init__(self, tool: DumpTool, log: Source, index: Source, offset_index: Source, base_offset: int) -> None:
        self._tool = tool
        self._log = log
        self._index = index
        self._path = index.path
        self._offset_index = offset_index
        self._base_offset = base_offset
        self._with_zero_tail = tool.profile.time_index_checks_zero_entry
        self._lookup: Lookup | None = None
        self._sweeps = check.Sweeps()
        self._walk = None if tool.message_rules is None else message_index.Walk(log, tool.message_rules)
        self._latest_at = lru_cache(MOST_REMEMBERED)(_latest_finder(tool, log))
        self._window = range(0)  # the rows of the columns
        self._timestamps = self._offsets = array("q")
        self._targets: check.EntryTargets | message_index.EntryTargets | None = None
        self.count = time_index.entry_count(index)
        self.are_over = False

    def dump(self, start: int, end: int, previous: int, *, is_quiet: bool) -> int:
        """Dump the entries from row `start` up to `end`, unless the zero tail comes before; `previous` is the timestamp before.

        Returns the last timestamp.
        """
        while start < end and not self.are_over:
            if start not in self._window:
                self._take_window(start)
            stop = min(end, self._window.stop)
            previous = self._dump_rows(start, stop, previous, is_quiet=is_quiet)
            self.are_over |= stop - self._window.start > len(self._offsets)  # the zero tail begins
            start = stop
        return previous

    def _take_window(self, start: int) -> None:
        """Find where the entries from this row on lead, up to the zero tail or to the end of a window."""
        tool, base_offset = self._tool, self._base_offset
        if self._lookup is None:
            self._lookup = Lookup(self._offset_index, base_offset, tries_end_first=tool.profile.index_lookup_tries_end_first)
        self._window = range(start, min(start + _WINDOW_ENTRIES, self.count))
        self._timestamps, self._offsets = check.entries(
            self._index, base_offset, self._window, with_zero_tail=self._with_zero_tail
        )
        starts = array("q", map(self._lookup.position_of, self._offsets))
        if self._walk is not None:
            self._targets = message_index.EntryTargets(self._offsets, starts, self._walk)
            return
        self._targets = check.EntryTargets(
            self._log,
            self._offsets,
            starts,
            rules=tool.record_rules,
            reads_to_end=tool.profile.time_index_reads_to_end,
            may_start_past_end=tool.profile.slice_may_start_past_end,
            max_window_size=tool.tuning.window_bytes,
            sweeps=self._sweeps,
        )

    def _dump_rows(self, start: int, end: int, previous: int, *, is_quiet: bool) -> int:
        """Dump entries of the window."""
        tool, first = self._tool, self._window.start
        assert self._targets is not None
        rows = slice(start - first, end - first)
        timestamps, offsets = self._timestamps[rows], self._offsets[rows]
        shown = 0
        absent: list[int] = []
        found: list[int] = []
        try:
            for timestamp, offset in zip(timestamps, offsets, strict=True):
                target = self._targets.of(start - first + shown)
                is_found = target.position is not None and target.last_offset == offset
                if is_found:
                    assert target.position is not None
                    self._compare_timestamps(target.position, timestamp, previous)
                else:
                    absent.append(offset)
                    found.append(-1 if target.position is None else target.last_offset)
                if is_found and offset == self._base_offset and start + shown > 0:
                    self.are_over = True
                    break
                previous = timestamp
                shown += 1
        except CorruptData as fault:
            raise tool.with_records(fault, self._log, is_slice=True)
        finally:
            if absent:
                tool.complain_of_all(history.NOT_FOUND, self._path, absent, found)
            if not is_quiet and shown:
                columns = {"timestamp": list(timestamps[:shown]), "offset": list(offsets[:shown])}
                tool.out.write("".join(Template.parse(tool.profile.time_index_line).lines(columns.__getitem__, shown)))
        return previous

    def _compare_timestamps(self, position: int, timestamp: int, previous: int) -> None:
        """Compare the timestamp of an entry with the batch that it leads to, and with that of the entry before."""
        latest = self._latest_at(position)
        if latest != timestamp:
            self._tool.complain(history.TIMESTAMP_MISMATCHES, self._path, timestamp, latest)
        if previous >= timestamp:
            self._tool.complain(history.OUT_OF_ORDER, self._path, timestamp, previous)


def _kernel_text(
    tool: DumpTool, log: Source, index: Source, offset_index: Source, base_offset: int, *, is_quiet: bool
) -> TimeIndexText | None:
    """The writer of lines with the kernel in C, or None if something could go wrong after an entry's batch."""
    if kernel.native is None or not log.is_direct or tool.message_rules is not None:
        return None
    from kdump.output.kafka import native_indexes

    if not native_indexes.can_hold(offset_index):
        return None
    if tool.profile.time_index_reads_to_end and not native_indexes.walks_to_end(log):
        return None
    return native_indexes.TimeIndexText(
        tool.profile.time_index_line,
        tool.out.write_bytes,
        lambda kind, firsts, seconds: tool.complain_of_all(kind, index.path, firsts, seconds),
        log=log,
        offset_index=offset_index,
        base_offset=base_offset,
        tries_end_first=tool.profile.index_lookup_tries_end_first,
        is_quiet=is_quiet,
    )


def _latest_finder(tool: DumpTool, log: Source) -> Callable[[int], int]:
    """The function that returns the largest timestamp in the batch at a position."""
    if tool.message_rules is None:
        return lambda position: check.max_timestamp_at(log, position, tool.record_rules)
    rules = tool.message_rules
    return lambda position: message_index.max_timestamp_at(log, position, rules)
