"""Dumps time indexes (`.timeindex`), compared with their logs."""

from __future__ import annotations

from kdump.checks import message_index
from kdump.checks import time_index as check
from kdump.checks.offset_index import Lookup
from kdump.cli.dropin.tool import absolute, sibling
from kdump.errors import CorruptData
from kdump.formats import file_name
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.output.kafka_text import Template
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.source import Source
    from kdump.checks.time_index import Landing
    from kdump.cli.dropin.tool import DumpTool
    from kdump.cli.joptsimple import Arguments


def dump(tool: DumpTool, path: str, name: str, arguments: Arguments) -> None:
    """Dump one index up to its zero tail, or to where the tool throws. Raises Fault there."""
    if tool.profile.max_message_size_is_read_everywhere:
        arguments.number("max-message-size")
    base_offset = file_name.base_offset(name)
    full_path = absolute(path)
    with (
        tool.open(sibling(full_path, file_name.LOG)) as log,
        tool.open_index(sibling(full_path, file_name.OFFSET_INDEX)) as offset_index,
        tool.open_index(full_path) as index,
    ):
        if arguments.has("index-sanity-check"):
            check.check_sanity(index, base_offset)
            tool.out.write(tool.profile.sanity_line.format(path=path))
            return
        lookup = Lookup(offset_index, base_offset, tries_end_first=tool.profile.index_lookup_tries_end_first)
        _dump_entries(tool, log, index, lookup, base_offset, is_quiet=arguments.has("verify-index-only"))


def _dump_entries(tool: DumpTool, log: Source, index: Source, lookup: Lookup, base_offset: int, *, is_quiet: bool) -> None:
    with_zero_tail = tool.profile.time_index_checks_zero_entry
    timestamps, offsets = check.entries(index, base_offset, with_zero_tail=with_zero_tail)
    landings = _landings(tool, log, offsets, [lookup.position_of(offset) for offset in offsets])
    previous = NO_TIMESTAMP
    shown = 0
    try:
        for timestamp, offset in zip(timestamps, offsets, strict=True):
            landing = landings.landing(shown)
            is_found = landing.position is not None and landing.last_offset == offset
            if is_found:
                _compare_timestamps(tool, log, index.path, landing, timestamp, previous)
            else:
                found = -1 if landing.position is None else landing.last_offset
                tool.complain(history.NOT_FOUND, index.path, offset, found)
            if is_found and offset == base_offset and shown > 0:
                break
            previous = timestamp
            shown += 1
    except CorruptData as fault:
        raise tool.with_records(fault, log, is_slice=True)
    finally:
        if not is_quiet and shown:
            columns = {"timestamp": list(timestamps[:shown]), "offset": list(offsets[:shown])}
            tool.out.write("".join(Template.parse(tool.profile.time_index_line).lines(columns.__getitem__, shown)))


def _landings(
    tool: DumpTool, log: Source, offsets: Sequence[int], starts: Sequence[int]
) -> check.Landings | message_index.Landings:
    if tool.message_rules is not None:
        return message_index.Landings(log, offsets, starts, tool.message_rules)
    return check.Landings(
        log,
        offsets,
        starts,
        rules=tool.record_rules,
        reads_to_end=tool.profile.time_index_reads_to_end,
        may_start_past_end=tool.profile.slice_may_start_past_end,
    )


def _compare_timestamps(tool: DumpTool, log: Source, path: str, landing: Landing, timestamp: int, previous: int) -> None:
    assert landing.position is not None
    if tool.message_rules is not None:
        latest = message_index.max_timestamp_at(log, landing.position, tool.message_rules)
    else:
        latest = check.max_timestamp_at(log, landing.position, tool.record_rules)
    if latest != timestamp:
        tool.complain(history.TIMESTAMP_MISMATCHES, path, timestamp, latest)
    if previous >= timestamp:
        tool.complain(history.OUT_OF_ORDER, path, timestamp, previous)
