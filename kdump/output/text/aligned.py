"""Tables in reports for people: columns in the width of a terminal, the least needed left out first."""

from __future__ import annotations

from kdump.output.rows.columns import TextColumn, fitted, lines_of, total_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kdump.output.text.writer import ReportWriter

_GAP = 2
_MIN_NAME = 16  # cells; a name is not shortened to fewer


def write_table(
    out: ReportWriter,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    expendable: Sequence[str] = (),
) -> None:
    """Write rows of cells under their headings; columns that are empty are left out.

    On a terminal that is too narrow, columns go that are `expendable`, the first of these first; then names, in the first
    column, are shortened, and where that is not enough, lines are longer than the terminal.
    """
    columns = [
        TextColumn(heading, [out.shown(cell) for cell in cells], is_right=heading in right, is_text=number == 0)
        for number, (heading, cells) in enumerate(zip(headings, zip(*rows, strict=True), strict=True))
    ]
    columns = [column for number, column in enumerate(columns) if not number or not column.is_empty]
    for heading in expendable if out.is_terminal else ():
        if total_width(columns, _GAP) > out.width and fitted(columns, _GAP, out.width, _MIN_NAME) is None:
            columns = [column for column in columns if column.heading != heading]
    if out.is_terminal:
        columns = fitted(columns, _GAP, out.width, _MIN_NAME) or columns
    for line in lines_of(columns, _GAP):
        out.line(line)
