"""Files drawn as rows of cells, each in the colour of the worst bytes in its part of the file."""

from __future__ import annotations

from kdump.checks.finding import MAP_CELLS, STATUS_BITS, ByteCoverage
from kdump.checks.wording import counted
from kdump.output.rows.columns import padded, widest
from kdump.output.text.check.directory import KINDS_WITH_MAP, worst_first
from kdump.output.text.sizes import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from kdump.checks.finding import FileReport
    from kdump.output.text.check.directory import Directory
    from kdump.output.text.writer import ReportWriter

_DIRECTORIES = 3  # that are drawn
_MAP_WIDTH = 40
_MIN_MAP_WIDTH = 12
_NUMBERS_WIDTH = 14  # the rest of a line with a map: gaps, and the percentage
_CELLS = {  # by status: its character and its colour; the worst first
    ByteCoverage.DAMAGED: ("▒", "31"),
    ByteCoverage.SALVAGED: ("▓", "33"),
    ByteCoverage.NOT_EXAMINED: ("?", "35"),
    ByteCoverage.ZERO: ("░", "36"),
    ByteCoverage.INTACT: ("█", "32"),
}


def write_maps(out: ReportWriter, directories: Collection[Directory]) -> None:
    """Draw the files of the worst directories."""
    found = worst_first(directory for directory in directories if directory.counts)
    for directory in found[:_DIRECTORIES]:
        drawn = directory.drawn()
        if not drawn:
            continue
        out.line()
        if len(found) > 1:
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
    statuses = [_worst_status(cell) for cell in cells] if report.size else [None] * width
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
    """How much of a file is intact; 100 only if all of it is."""
    if not report.size:
        return "empty"
    if report.bytes_intact == report.size:
        return "100 %"
    thousandths = report.bytes_intact * 100_000 // report.size
    return f"{thousandths / 1000:.3f}".rstrip("0").rstrip(".") + " %"


def _note(report: FileReport) -> str:
    """What is damaged, salvaged or not examined, in a few words."""
    notes = []
    if report.batches_lost:
        is_log = report.file_type in KINDS_WITH_MAP
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
