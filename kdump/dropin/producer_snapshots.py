"""Dumps producer snapshots (`.snapshot`)."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.formats import producer_snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.dropin.joptsimple import Arguments
    from kdump.dropin.tool import DumpTool


def dump(tool: DumpTool, path: str, _name: str, _arguments: Arguments) -> None:
    """Dump one snapshot. A corrupt one gets a line on stderr, and the run continues.

    Raises CorruptData where the tool throws instead.
    """
    with tool.open(path, is_read_whole=True) as source:
        try:
            tables = producer_snapshot.read(source, checks_version_first=tool.profile.snapshot_version_is_checked_first)
        except CorruptData as fault:
            if tool.profile.words(fault.code).exception:
                raise
            tool.say(tool.message_of(fault) + "\n")
            return
        for table in tables:
            tool.out.write("".join(map(tool.text.producer_line, table)))
