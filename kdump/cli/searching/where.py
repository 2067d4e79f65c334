"""Runs `kdump where`."""

from __future__ import annotations

from kdump.binary.given_bytes import given_bytes
from kdump.binary.java_strings import escaped
from kdump.cli.missing_paths import require_there
from kdump.cli.report_style import printed
from kdump.cli.shared_options import throttle_reading
from kdump.cli.streams import say
from kdump.errors import UsageError
from kdump.exit_codes import CLEAN, FINDINGS, NOT_EXAMINED
from kdump.formats.selection import selected
from kdump.output.rows import fates
from kdump.output.rows.fates import Fate
from kdump.output.rows.formatters import formatter_of
from kdump.output.rows.row_writer import RowWriter
from kdump.output.text.where import WhereReport
from kdump.searching.where import Whereabouts, parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.searching.options import WhereOptions


def find_record(options: WhereOptions) -> int:
    """Show what became of a record. Returns the exit code: it is there, it is not, or nobody can say. Raises UsageError."""
    throttle_reading(options.rate, is_nice=options.is_nice)
    found = _question(options)
    is_there = False
    with printed(options) as (out, style):
        report = WhereReport(out.write, style) if options.output == "text" else None
        rows = None if report is not None else RowWriter(formatter_of(options.output, out.write, style), Fate)
        for fate in found:
            is_there = is_there or fate.answer in fates.THERE
            if report is not None:
                report.answer(fate)
            elif rows is not None:
                rows.write(fate)
        if rows is not None:
            rows.end()
        exit_code = CLEAN if is_there else FINDINGS
        lacks_some = is_there and options.key is not None and bool(found.not_read)
        if lacks_some or not found.is_certain:
            exit_code = NOT_EXAMINED  # the evidence says why
        if report is not None:
            report.end(exit_code)
    if lacks_some:
        say(escaped(f"not everything could be read, so there may be more records with this key: {found.not_read[0]}"))
    return exit_code


def _question(options: WhereOptions) -> Whereabouts:
    if options.key is not None:
        paths = selected(options.paths, options.topics, options.partitions)
        require_there(paths)
        return Whereabouts(paths, key=given_bytes(options.key, is_hex=options.is_hex))
    if not options.paths:
        raise UsageError("where needs TOPIC-PARTITION@OFFSET or --key K, and a path")
    if options.topics is not None or options.partitions is not None:
        raise UsageError("TOPIC-PARTITION@OFFSET names one partition", remedy="--topics and --partitions go with --key")
    offset = parsed(options.paths[0])
    require_there(options.paths[1:])
    return Whereabouts(options.paths[1:], offset=offset)
