"""The forms in which tables are listed, by name: one row a line for programs, aligned columns for people."""

from __future__ import annotations

from kdump.output.csv_text import CsvOutput
from kdump.output.ndjson import NdjsonOutput
from kdump.output.terminal import TerminalOutput

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

OUTPUTS: dict[str, Callable[[Write], Output]] = {
    "ndjson": NdjsonOutput,
    "csv": CsvOutput,
    "table": TerminalOutput,
}
