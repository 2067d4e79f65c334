"""Tables as NDJSON: one object a line, its keys in Kafka's camel case."""

from __future__ import annotations

import json
from json.encoder import encode_basestring, encode_basestring_ascii

from kdump.messages.kafka_json import Json
from kdump.output.kafka.lines import Template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.tables import Row, Table


class NdjsonOutput:
    """Writes every row as a JSON object with all columns of its schema; what a row does not have is null.

    Characters that are not for printing are escaped, so no reader finds a line end in a line, and no terminal obeys them.
    """

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
    if set(map(type, column)) == {int}:
        return column
    if column.count(column[0]) == len(column):
        return [json_text(column[0])] * len(column)
    return list(map(json_text, column))


def json_text(value: object) -> str:
    """A value as JSON on one line."""
    if value is None:
        return "null"
    if isinstance(value, Json):
        return value if value.isprintable() else _with_escapes(value)
    if isinstance(value, str):
        return encode_basestring(value) if value.isprintable() else encode_basestring_ascii(value)
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(key)}:{json_text(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def _with_escapes(json: str) -> str:
    """The same JSON; what is not for printing, which only its strings hold, is escaped."""
    return "".join(letter if letter.isprintable() else encode_basestring_ascii(letter)[1:-1] for letter in json)
