"""Compiles rows of batches and records, as NDJSON and CSV, into programs for the kernel in C.

It makes them of the bytes of a log without an object for each row. The formatters make the same text of tables: they are the
reference, and write everything that the kernel leaves.
"""

from __future__ import annotations

from kdump.formats.record_batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE, codec_name
from kdump.output.kafka.native_lines import column_number, compiled_plan, encoded_step, native_kernel
from kdump.output.rows.json_text import json_text
from kdump.output.rows.listing import ListedBatch, ListedRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kdump.tables import Row

INTACT = "intact"

_ENDS = {"ndjson": "}\n", "csv": "\n"}
"""How a line of a form ends: one is a JSON object as JsonObjects makes it, the other as CsvFormatter writes it into files."""

_CHOICES: dict[str, Sequence[object]] = {
    "is_transactional": (False, True),
    "is_control": (False, True),
    "timestamp_type": (CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE),
    "compresscodec": [codec_name(codec) for codec in range(8)],
}
"""Columns of which the kernel has a number, and what the number stands for."""

_OF_MESSAGES: dict[str, object] = {
    "base_offset": None,
    "count": None,
    "base_sequence": None,
    "last_sequence": None,
    "producer_id": None,
    "producer_epoch": None,
    "partition_leader_epoch": None,
    "is_transactional": None,
    "is_control": None,
    "delete_horizon_ms": None,
    "sequence": None,
    "headers": None,
}
"""What messages of magic 0 and 1 lack."""

_UNDECODED: dict[str, object] = dict.fromkeys(("decoded_key", "decoded_value", "key_schema", "value_schema", "decode_error"))


def row_plan(
    form: str, file: str, *, shows_records: bool, codec_count: int, times: tuple[int, int] | None = None
) -> object | None:
    """A plan for rows of intact batches of a file, or of their records, in the form `ndjson` or `csv`.

    With `times`, only records between these have rows, and no messages of magic 0 and 1.

    None for other forms, and where the name of the file is too long for a program.
    """
    if form not in _ENDS:
        return None
    c = native_kernel()
    constants: dict[str, object] = {"status": INTACT, "file": file}
    if shows_records:
        row_class: type[Row] = ListedRecord
        numbers = c.BATCH_RECORD_PROGRAM, c.MESSAGE_RECORD_PROGRAM
        constants |= _UNDECODED
    else:
        row_class = ListedBatch
        numbers = c.BATCH_PROGRAM, c.MESSAGE_PROGRAM
        constants["isvalid"] = True
    try:
        programs = {
            number: _Line(form, row_class, constants | absent).program()
            for number, absent in zip(numbers, ({}, _OF_MESSAGES), strict=True)
        }
        flags = c.SHOWS_RECORDS if shows_records else c.SHOWS_BATCHES
        return compiled_plan(programs, flags=flags, codec_count=codec_count, times=times)
    except ValueError:
        return None


class _Line:
    """Compiles the line of a row class: a step for each column, unless it is among the constants."""

    def __init__(self, form: str, row_class: type[Row], constants: Mapping[str, object]) -> None:
        self._form = form
        self._row_class = row_class
        self._constants = constants
        self._program = b""
        self._literal = ""

    def program(self) -> bytes:
        """The program of the line. Raises ValueError where a text is too long for a program."""
        c = native_kernel()
        is_json = self._form == "ndjson"
        for number, column in enumerate(self._row_class.schema):
            name = column.name
            if name.endswith("_base64"):
                continue  # the step of the column before puts both
            self._literal += "," if number else "{" * is_json
            self._literal += f'"{column.key}":' if is_json else ""
            if name in self._constants:
                self._literal += self._text(self._constants[name])
            elif name in ("key", "value"):
                self._step(c.JSON_BYTES if is_json else c.CSV_BYTES, f"{name}_size")
            elif name == "headers":
                self._step(c.JSON_HEADERS if is_json else c.CSV_HEADERS, "header_count")
            elif name == "delete_horizon_ms":
                self._step(c.OPTIONAL, name, (self._text(None), "", ""))
            elif name in _CHOICES:
                self._step(c.CHOICE, name, [self._text(value) for value in _CHOICES[name]])
            else:
                self._step(c.NUMBER, "batch_timestamp" if name == "timestamp" and self._row_class is ListedBatch else name)
        return self._program + encoded_step(c.NOTHING, 0, (), self._literal + _ENDS[self._form])

    def _step(self, operation: int, column: str, texts: Sequence[str] = ()) -> None:
        self._program += encoded_step(operation, column_number(column), texts, self._literal)
        self._literal = ""

    def _text(self, value: object) -> str:
        """A value that is the same in all rows."""
        if self._form == "ndjson":
            return json_text(value)
        from kdump.output.rows.csv import csv_field  # the formatter has loaded it

        return csv_field(value)
