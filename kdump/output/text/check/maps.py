"""Files drawn as rows of cells, each in the colour of the worst bytes in its part of the file."""

from __future__ import annotations

from kdump.checks.finding import MAP_CELLS, STATUS_BITS, ByteCoverage
from kdump.checks.wording import counted
from kdump.output.rows.columns import padded, widest
from kdump.output.text.check.directory import worst_first
from kdump.output.text.sizes import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from kdump.checks.finding import FileReport
    from kdump.output.text.check.directory import Directory
    from kdump.output.text.writer import ReportWriter

_MAP_WIDTH = 40
_MIN_MAP_WIDTH = 12
_NUMBERS_WIDTH = 14  # the rest of a line with a map: gaps, and the percentage
_WITH_BATCHES = ("log", "checkpoint")  # types of files; others have entries
_CELLS = {  # by status: its character and its colour; the worst first
    ByteCoverage.DAMAGED: ("▒", "31"),
    ByteCoverage.SALVAGED: ("▓", "33"),
    ByteCoverage.NOT_EXAMINED: ("?", "35"),
    ByteCoverage.ZERO: ("░", "36"),
    ByteCoverage.INTACT: ("█", "32"),
}


def write_maps(out: ReportWriter, directories: Collection[Directory], *, most: int) -> None:
    """Draw the files of the worst directories that are not intact; others are counted."""
    found = worst_first(directory for directory in directories if directory.counts and directory.drawn())
    for directory in found[:most]:
        drawn = directory.drawn()
        out.line()
        if len(directories) > 1:
            out.line(out.shown(directory.path))
        _write_files(out, drawn)
        if len(drawn) < directory.files:
            out.line(f"and {counted(directory.files - len(drawn), 'more file')}")


def _write_files(out: ReportWriter, drawn: list[FileReport]) -> None:
    names = [out.shown(report.path.rpartition("/")[2]) for report in drawn]
    name_width = widest(names)
    notes = [_note(report) for report in drawn]
    sizes = [size_text(report.size) for report in drawn]
    size_width = max(map(len, sizes))
    room = out.width - name_width - size_width - _NUMBERS_WIDTH
    note_width = max(map(len, notes)) + 3
    is_beside = room - note_width >= _MIN_MAP_WIDTH  # otherwise notes stand below
    width = max(_MIN_MAP_WIDTH, min(_MAP_WIDTH, room - note_width * is_beside))
    for report, name, size, note in zip(drawn, names, sizes, notes, strict=True):
        line = f"{padded(name, name_width)}  {_map(out, report, width)}  {_percent(report):>8}  {size:>{size_width}}"
        out.line(f"{line}   {note}" if is_beside else line)
        if note and not is_beside:
            out.wrapped(note, name_width + 2)


def _map(out: ReportWriter, report: FileReport, width: int) -> str:
    """A file as a row of cells: each shows the worst that lies in its part of the file."""
    cells = [report.cells[cell * MAP_CELLS // width : max((cell + 1) * MAP_CELLS // width, 1)] for cell in range(width)]
    statuses = [_worst_status(cell) for cell in cells]
    text = ""
    start = 0
    for end in range(1, width + 1):
        if end == width or statuses[end] != statuses[start]:
            status = statuses[start]
            sign, color = _CELLS[status] if status else ("·", "2")
            text += out.colored(sign * (end - start), color)
            start = end
    return text


def _worst_status(cells: bytes) -> str | None:
    bits = 0
    for cell in cells:
        bits |= cell
    return next((status for status in _CELLS if bits & STATUS_BITS[status]), None)


def _percent(report: FileReport) -> str:
    """How much of a file is intact, rounded down."""
    tenths = report.bytes_intact * 1000 // report.size
    if not tenths and report.bytes_intact:
        return "< 0.1 %"
    return f"{tenths / 10:.1f} %"


def _note(report: FileReport) -> str:
    """What is damaged, salvaged or not examined, in a few words."""
    notes = []
    if report.batches_lost:
        is_log = report.file_type in _WITH_BATCHES
        things = counted(report.batches_lost, "batch", "batches") if is_log else counted(report.batches_lost, "entry", "entries")
        notes.append(f"{things} damaged")
    elif report.bytes_damaged:
        notes.append(f"{counted(report.bytes_damaged, 'byte')} damaged")
    if report.batches_salvaged:
        notes.append(f"{report.batches_salvaged:,} salvaged")
    if report.bytes_zero:
        notes.append("zeros")
    if report.bytes_not_examined:
        notes.append("not examined" if report.bytes_not_examined == report.size else "partly examined")
    return ", ".join(notes)
