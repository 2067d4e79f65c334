"""Findings, files and the summary as rows: lines of JSON, one JSON document, CSV, a table."""

from __future__ import annotations

from kdump.checks.finding import Finding
from kdump.output.rows.csv import CsvOutput
from kdump.output.rows.ndjson import json_text
from kdump.tables import Int64, Row, Table, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.finding import FileReport, Start, Summary
    from kdump.output.findings.form import Form
    from kdump.output.text.style import ReportStyle

    Write = Callable[[str], None]

_ROWS_AT_ONCE = 100


def as_json(row: Row, **more: object) -> str:
    """A row as a JSON object on one line, its keys in camel case, `more` before them."""
    return json_text({**more, **{column.key: getattr(row, column.name) for column in row.schema}})


class NdjsonLines:
    """One object a line: `kind` says whether it is a `finding`, a `file`, a `start`, or the `summary` at the end."""

    def __init__(self, write: Write, _style: ReportStyle) -> None:
        self._write = write

    def finding(self, finding: Finding, _group: str, *, is_known: bool) -> None:
        self._write(as_json(finding, kind="finding") + "\n")

    def file(self, report: FileReport, _group: str) -> None:
        self._write(as_json(report, kind="file") + "\n")

    def start(self, start: Start, _group: str) -> None:
        self._write(as_json(start, kind="start") + "\n")

    def end(self, summary: Summary) -> None:
        self._write(as_json(summary, kind="summary") + "\n")


class JsonDocument:
    """One document with `findings`, `files`, `starts` and `summary`; each of their objects stands on a line."""

    def __init__(self, write: Write, _style: ReportStyle) -> None:
        self._write = write
        self._separator = "\n"
        self._files: list[str] = []
        self._starts: list[str] = []
        write('{"findings":[')

    def finding(self, finding: Finding, _group: str, *, is_known: bool) -> None:
        self._write(self._separator + as_json(finding))
        self._separator = ",\n"

    def file(self, report: FileReport, _group: str) -> None:
        self._files.append(as_json(report))

    def start(self, start: Start, _group: str) -> None:
        self._starts.append(as_json(start))

    def end(self, summary: Summary) -> None:
        for key, rows in (("files", self._files), ("starts", self._starts)):
            self._write(f'\n],\n"{key}":[')
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                self._write((",\n" if start else "\n") + ",\n".join(rows[start : start + _ROWS_AT_ONCE]))
        self._write(f'\n],\n"summary":{as_json(summary)}}}\n')


class CsvLines:
    """Findings only, a line each."""

    def __init__(self, write: Write, style: ReportStyle) -> None:
        self._output = CsvOutput(write, is_terminal=style.is_terminal)
        self._output.start(Finding)

    def finding(self, finding: Finding, _group: str, *, is_known: bool) -> None:
        values = [getattr(finding, column.name) for column in Finding.schema]
        self._output.write(Table.of(Finding, [values]))

    def file(self, report: FileReport, _group: str) -> None:
        pass

    def start(self, start: Start, _group: str) -> None:
        pass

    def end(self, summary: Summary) -> None:
        pass


class FindingLine(Row):
    """What a table shows of a finding."""

    severity: Text
    code: Text
    start: Int64
    end: Int64
    offset_first: Int64 | None
    offset_last: Int64 | None
    skipped: Int64
    resync: Text
    broker_forecast: Text
    file: Text


class AlignedColumns:
    """Findings only, as aligned columns, those of each file under its name."""

    def __init__(self, write: Write, style: ReportStyle) -> None:
        from kdump.output.rows.table import TerminalOutput

        self._output = TerminalOutput(write, has_colors=style.has_colors, width=style.width if style.is_terminal else None)
        self._output.start(FindingLine)

    def finding(self, finding: Finding, _group: str, *, is_known: bool) -> None:
        names = [column.name for column in FindingLine.schema]
        values = [getattr(finding, "path" if name == "file" else name) for name in names]
        self._output.write(Table.of(FindingLine, [values]))

    def file(self, report: FileReport, _group: str) -> None:
        pass

    def start(self, start: Start, _group: str) -> None:
        pass

    def end(self, summary: Summary) -> None:
        self._output.end()


FORMS: dict[str, Callable[[Write, ReportStyle], Form]] = {
    "ndjson": NdjsonLines,
    "json": JsonDocument,
    "csv": CsvLines,
    "table": AlignedColumns,
}
