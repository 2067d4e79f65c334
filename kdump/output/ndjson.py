"""Tables as NDJSON: one object a line, its keys in Kafka's camel case."""

from __future__ import annotations

import json

from kdump.output.kafka_text import Template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.tables import Row, Table


class NdjsonOutput:
    """Writes every row as a JSON object with all columns of its schema; what a row does not have is null."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._line = Template([""], [])

    def start(self, row_class: type[Row]) -> None:
        literals = [f'{"," if number else "{"}"{column.key}":' for number, column in enumerate(row_class.schema)]
        self._line = Template([*literals, "}\n"], [column.name for column in row_class.schema])

    def write(self, table: Table[Row]) -> None:
        if len(table):
            self._write("".join(self._line.lines(lambda name: _json_texts(table[name]), len(table))))

    def end(self) -> None:
        pass


def _json_texts(column: Sequence[object]) -> Sequence[object]:
    if all(type(value) is int for value in column):
        return column
    if column.count(column[0]) == len(column):
        return [_json_text(column[0])] * len(column)
    return [_json_text(value) for value in column]


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
