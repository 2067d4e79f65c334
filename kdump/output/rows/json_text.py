"""Values and rows as JSON text on one line."""

from __future__ import annotations

import json
from json.encoder import encode_basestring, encode_basestring_ascii

from kdump.messages.kafka_json import Json
from kdump.output.kafka.lines import Template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.tables import Row, Table


class JsonObjects:
    """Rows of one class as JSON objects, with all columns of the schema in its order; what a row lacks is null.

    `kind` is a first property of this name, if there is one; `end` follows each object.
    """

    def __init__(self, row_class: type[Row], *, kind: str = "", end: str = "") -> None:
        start = f'{{"kind":{json_text(kind)},' if kind else "{"
        literals = [f'{"," if number else start}"{column.key}":' for number, column in enumerate(row_class.schema)]
        self._line = Template([*literals, "}" + end], [column.name for column in row_class.schema])

    def of(self, table: Table[Row]) -> list[str]:
        """The objects of a table, which has rows."""
        return self._line.lines(lambda name: _json_texts(table[name]), len(table))


def _json_texts(column: Sequence[object]) -> Sequence[object]:
    kinds = set(map(type, column))
    if kinds == {int}:
        return column
    if kinds == {int, type(None)}:
        return ["null" if value is None else value for value in column]
    if column.count(column[0]) == len(column):
        return [json_text(column[0])] * len(column)
    return list(map(json_text, column))


def json_text(value: object) -> str:
    """A value as JSON on one line.

    Characters that are not printable are escaped, so no reader finds a line end in a line, and no terminal obeys them.
    """
    if value is None:
        return "null"
    if type(value) is int:  # not a bool
        return str(value)
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
    """The same JSON with escapes for characters that are not printable, which only its strings can hold."""
    return "".join(letter if letter.isprintable() else encode_basestring_ascii(letter)[1:-1] for letter in json)
