"""The forms in which tables are listed, by name: one row a line for programs, aligned columns for people."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from kdump.tables import Row, Table

    class Output(Protocol):
        """Takes tables of one row class, one after the other."""

        def start(self, row_class: type[Row]) -> None: ...
        def write(self, table: Table[Row]) -> None: ...
        def end(self) -> None: ...

    Write = Callable[[str], None]


def _ndjson(write: Write, _is_terminal: bool) -> Output:
    from kdump.output.rows.ndjson import NdjsonOutput

    return NdjsonOutput(write)


def _csv(write: Write, is_terminal: bool) -> Output:
    from kdump.output.rows.csv import CsvOutput

    return CsvOutput(write, is_terminal=is_terminal)


def _table(write: Write, is_terminal: bool) -> Output:
    from kdump.output.rows.table import TerminalOutput

    width = (os.get_terminal_size(1).columns or None) if is_terminal else None  # 0 where nobody has said
    return TerminalOutput(write, has_colors=is_terminal and "NO_COLOR" not in os.environ, width=width)


OUTPUTS: dict[str, Callable[[Write, bool], Output]] = {"ndjson": _ndjson, "csv": _csv, "table": _table}
"""What opens an output, by its name; each loads its module, for one of them is slow to load."""


def output_of(name: str, write: Write, *, is_terminal: bool) -> Output:
    """The output of this name, which writes text for a terminal or for a file."""
    return OUTPUTS[name](write, is_terminal)
