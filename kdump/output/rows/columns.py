"""Columns of text, aligned by the cells of a terminal: wide characters take two, combining ones none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_CHARACTERS_PER_CELL = 4  # of a text to be cut; more would be combining characters, or nonsense
_ELLIPSIS = "…"


class TextColumn:
    """A heading and the cells beneath it.

    Numbers are aligned to the right. Free text (`is_text`) may be shortened; all else is shown whole or not at all.
    """

    def __init__(self, heading: str, cells: Sequence[str], *, is_right: bool = False, is_text: bool = False) -> None:
        self.heading = heading
        self.cells = cells
        self.is_right = is_right
        self.is_text = is_text
        self.width = max(width_of(heading), widest(cells))

    @property
    def is_empty(self) -> bool:
        """Whether no row has a value here."""
        return all(cell in ("-", "") for cell in self.cells)

    def shortened(self, width: int) -> TextColumn:
        """The same column, its cells cut to this width."""
        if width >= self.width:
            return self
        return TextColumn(self.heading, [cut(cell, width) for cell in self.cells], is_right=self.is_right, is_text=True)

    def padded(self) -> list[str]:
        """Heading and cells, all as wide as the column."""
        lines = [self.heading, *self.cells]
        if "".join(lines).isascii():
            return [line.rjust(self.width) if self.is_right else line.ljust(self.width) for line in lines]
        return [padded(line, self.width, is_right=self.is_right) for line in lines]


def width_of(text: str) -> int:
    """The number of terminal cells that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # slow to load, and most text is ASCII

    return cell_len(text)


def widest(texts: Sequence[str]) -> int:
    """The number of terminal cells that the widest of some texts takes."""
    measure = len if "".join(texts).isascii() else width_of
    return max(map(measure, texts), default=0)


def padded(text: str, width: int, *, is_right: bool = False) -> str:
    """The text with blanks after it, or before it, up to this width."""
    gap = " " * (width - width_of(text))
    return gap + text if is_right else text + gap


def cut(text: str, size: int) -> str:
    """The text in at most `size` cells; a text that is cut ends in an ellipsis."""
    if width_of(text) <= size:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text[: size * _MAX_CHARACTERS_PER_CELL], size - 1).rstrip() + _ELLIPSIS


def chopped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells; an empty line for an empty text."""
    from rich.cells import chop_cells

    return chop_cells(text, width) or [""]


def total_width(columns: Sequence[TextColumn], gap: int) -> int:
    """The width of a table of these columns."""
    return sum(column.width for column in columns) + gap * (len(columns) - 1)


def fitted(columns: Sequence[TextColumn], gap: int, width: int, least: int) -> list[TextColumn] | None:
    """The columns with their free text shortened to fit a width, the longest first; None if that is not enough.

    No column becomes narrower than `least` or its heading.
    """
    texts = [column for column in columns if column.is_text]
    excess = total_width(columns, gap) - width
    if excess <= 0:
        return list(columns)
    floors = {column: min(column.width, max(least, width_of(column.heading))) for column in texts}
    if sum(column.width - floors[column] for column in texts) < excess:
        return None
    room = sum(column.width for column in texts) - excess
    limit = _common_limit([(floors[column], column.width) for column in texts], room)
    return [column.shortened(max(floors[column], limit)) if column in floors else column for column in columns]


def _common_limit(bounds: Sequence[tuple[int, int]], room: int) -> int:
    """The largest width to cut columns to so that all of them fit. `bounds` has the least and the natural width of each."""
    low, high = 0, max(natural for _, natural in bounds)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(max(least, min(natural, middle)) for least, natural in bounds) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def lines_of(columns: Sequence[TextColumn], gap: int) -> Iterator[str]:
    """The line of headings, then a line for each row, without blanks at their ends."""
    between = " " * gap
    for cells in zip(*(column.padded() for column in columns), strict=True):
        yield between.join(cells).rstrip()
