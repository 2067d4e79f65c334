"""Dumps offset indexes (`.index`), compared with their logs."""

from __future__ import annotations

from functools import lru_cache

from kdump.binary import kernel
from kdump.binary.source import Source
from kdump.dropin import offset_comparison as check
from kdump.dropin.tool import absolute
from kdump.errors import CorruptData
from kdump.formats import file_name, offset_index
from kdump.formats.offset_index import ENTRY_SIZE
from kdump.output.kafka.lines import Template
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.dropin.joptsimple import Arguments
    from kdump.dropin.tool import DumpTool
    from kdump.formats.offset_index import OffsetIndexEntry
    from kdump.output.kafka.native_indexes import OffsetIndexText
    from kdump.tables import Table


def dump(tool: DumpTool, path: str, name: str, arguments: Arguments) -> None:
    """Dump one index up to its zero tail, or to where the tool throws. Raises Fault there."""
    window_size = arguments.number("max-message-size")  # before the name is looked at
    base_offset = file_name.base_offset(name)
    full_path = absolute(path)
    with tool.open(tool.sibling(full_path, file_name.LOG)) as log, tool.open_index(full_path, path) as index:
        if tool.profile.index_names_empty and not offset_index.entry_count(index):
            tool.out.write(f"{tool.shown(path)} is empty.\n")
        elif arguments.has("index-sanity-check"):
            check.check_sanity(index, base_offset, allows_base_offset=tool.profile.sanity_allows_base_offset)
            tool.out.write(tool.profile.sanity_line.format(path=tool.shown(path)))
        else:
            _dump_entries(tool, log, index, base_offset, window_size, is_quiet=arguments.has("verify-index-only"))


def _dump_entries(tool: DumpTool, log: Source, index: Source, base_offset: int, window_size: int, *, is_quiet: bool) -> None:
    kernel_text = _kernel_text(tool, log, index, base_offset, window_size, is_quiet=is_quiet)
    offset_at = _offset_finder(tool, log, window_size)
    is_first = True
    for window in offset_index.windows(index):
        start, run = 0, ENTRY_SIZE
        while start < len(window):
            end = len(window)
            if kernel_text is not None:
                by_kernel = kernel_text.render(window, start, is_first=is_first)
                run = ENTRY_SIZE if by_kernel > start + run else min(2 * run, len(window))  # where they alternate, few changes
                start, end = by_kernel, min(by_kernel + run, end)
                is_first = is_first and not start
            if start < end:
                table = offset_index.table_of(window[start:end], base_offset)
                if not _dump_table(tool, log, index, table, base_offset, offset_at, is_first=is_first, is_quiet=is_quiet):
                    return
                start, is_first = end, False


def _dump_table(
    tool: DumpTool,
    log: Source,
    index: Source,
    table: Table[OffsetIndexEntry],
    base_offset: int,
    offset_at: Callable[[int], int],
    *,
    is_first: bool,
    is_quiet: bool,
) -> bool:
    """Dump entries. Returns whether more entries follow."""
    checks_zero_entry = tool.profile.index_checks_zero_entry
    shown = 0
    mismatches: list[int] = []
    holding: list[int] = []
    try:
        for offset, position in zip(table["offset"], table["position"], strict=True):
            is_tail = offset == base_offset and not is_first
            if is_tail and not checks_zero_entry:
                return False
            found = offset_at(position)
            if found != offset:
                mismatches.append(offset)
                holding.append(found)
            if is_tail:
                return False
            is_first = False
            shown += 1
        return True
    except CorruptData as fault:
        raise tool.with_records(fault, log, is_slice=True)
    finally:
        if mismatches:
            tool.complain_of_all(history.MISMATCHES, index.path, mismatches, holding)
        if not is_quiet and shown:
            line = Template.parse(tool.profile.index_line)
            tool.out.write("".join(line.lines(table.slice(0, shown).__getitem__, shown)))


def _kernel_text(
    tool: DumpTool, log: Source, index: Source, base_offset: int, window_size: int, *, is_quiet: bool
) -> OffsetIndexText | None:
    """The lines by the kernel in C, for releases that compare with the last offset of a batch."""
    if kernel.native is None or not log.is_direct or tool.message_rules is not None or tool.profile.index_compares_first_record:
        return None
    from kdump.output.kafka.native_indexes import OffsetIndexText

    return OffsetIndexText(
        tool.profile.index_line,
        tool.out.write_bytes,
        lambda offsets, found: tool.complain_of_all(history.MISMATCHES, index.path, offsets, found),
        log=log,
        base_offset=base_offset,
        slice_size=window_size,
        is_quiet=is_quiet,
    )


def _offset_finder(tool: DumpTool, log: Source, window_size: int) -> Callable[[int], int]:
    """The function that returns the offset at a position that a release compares with; it raises CorruptData if there is none."""
    if tool.message_rules is not None:
        from kdump.dropin.before_0_11 import message_index

        rules = tool.message_rules
        return lru_cache(check.MOST_REMEMBERED)(lambda position: message_index.first_offset_at(log, position, window_size, rules))
    if not tool.profile.index_compares_first_record:
        return check.LastOffsets(log, window_size).at

    @lru_cache(check.MOST_REMEMBERED)
    def first_offset_at(position: int) -> int:
        try:
            may_start_past_end = tool.profile.slice_may_start_past_end
            return check.first_offset_at(log, position, window_size, tool.record_rules, may_start_past_end=may_start_past_end)
        except CorruptData as fault:
            if fault.code == "record-length-past-end":
                fault.code = "first-record-length-past-end"
            raise

    return first_offset_at
