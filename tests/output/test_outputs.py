"""The formats of rows: nothing that is listed gets lost in them."""

import base64
import csv
import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kdump.formats.record import Record
from kdump.messages.kafka_json import Json as JsonText
from kdump.output.rows import listing
from kdump.output.rows.csv import CsvFormatter
from kdump.output.rows.hits import NotRead, VerifiedFile
from kdump.output.rows.json import JsonFormatter
from kdump.output.rows.json_text import json_text
from kdump.output.rows.ndjson import NdjsonFormatter
from kdump.output.rows.table import TableFormatter
from kdump.tables import Row, Table
from tests.loops import each

Json = dict[str, Any]  # what json.loads makes of an object

BYTES = st.none() | st.binary(max_size=20) | st.text(max_size=10).map(str.encode)
HEADERS = st.lists(st.tuples(st.binary(max_size=5) | st.just(b"key"), BYTES), max_size=3).map(tuple)
RECORDS = st.lists(st.tuples(HEADERS, BYTES, BYTES), min_size=1, max_size=5)

Contents = list[tuple[tuple[tuple[bytes, bytes | None], ...], bytes | None, bytes | None]]


def _listed(contents: Contents, file: str = "x.log") -> Table[listing.ListedRecord]:
    rows = [
        [row, 7, -1 if key is None else len(key), -1 if value is None else len(value), row, headers, key, value, None, None]
        for row, (headers, key, value) in enumerate(contents)
    ]
    return listing.records(Table.of(Record, rows), ["intact"] * len(rows), [0] * len(rows), file)


def _ndjson(table: Table[Row]) -> str:
    return _formatted(table, NdjsonFormatter)


def _csv(table: Table[Row], *, is_terminal: bool = False) -> str:
    return _formatted(table, CsvFormatter, is_terminal=is_terminal)


def _table(table: Table[Row], *, width: int | None = None, has_colors: bool = False) -> str:
    return _formatted(table, TableFormatter, width=width, has_colors=has_colors)


def _formatted(table: Table[Row], make: Any, **options: Any) -> str:  # one of three classes, with its options
    pieces: list[str] = []
    formatter = make(pieces.append, **options)
    formatter.start(table.row_class)
    formatter.write(table)
    formatter.end()
    return "".join(pieces)


def _bytes_of(fields: Json, name: str) -> bytes | None:
    text, encoded = fields[name], fields[name + "Base64"]
    assert text is None or encoded is None
    if encoded is not None:
        return base64.b64decode(encoded, validate=True)
    return None if text is None else str(text).encode()


def test_batches_and_records_have_the_fields_of_kafkas_lines() -> None:
    assert " ".join(column.key for column in listing.ListedBatch.schema) == (
        "baseOffset lastOffset count baseSequence lastSequence producerId producerEpoch partitionLeaderEpoch isTransactional "
        "isControl deleteHorizonMs position timestampType timestamp size magic compresscodec crc isvalid status file"
    )
    assert " ".join(column.key for column in listing.ListedRecord.schema) == (
        "offset timestamp keySize valueSize sequence headers key keyBase64 value valueBase64 decodedKey decodedValue "
        "keySchema valueSchema decodeError position status file"
    )


@given(RECORDS)
def test_ndjson_gives_back_all_bytes_one_row_a_line(contents: Contents) -> None:
    text = _ndjson(_listed(contents))
    lines = text.splitlines()  # which knows more ends of lines than \n
    assert text.endswith("\n") and len(lines) == len(contents)
    for line, (headers, key, value) in zip(lines, contents, strict=True):
        fields = json.loads(line)
        assert list(fields) == [column.key for column in listing.ListedRecord.schema]
        assert (_bytes_of(fields, "key"), _bytes_of(fields, "value")) == (key, value)
        assert all(list(header) == ["key", "keyBase64", "value", "valueBase64"] for header in fields["headers"])
        assert tuple((_bytes_of(header, "key"), _bytes_of(header, "value")) for header in fields["headers"]) == headers


def test_bytes_that_are_utf8_are_text_and_others_base64() -> None:
    fields = json.loads(_ndjson(_listed([(((b"h", b"\xff"),), "ö".encode(), b"\x80")])))
    assert (fields["key"], fields["keyBase64"], fields["value"], fields["valueBase64"]) == ("ö", None, None, "gA==")
    assert fields["headers"] == [{"key": "h", "keyBase64": None, "value": None, "valueBase64": "/w=="}]


@given(RECORDS)
def test_csv_gives_back_all_texts(contents: Contents) -> None:
    heading, *rows = csv.reader(io.StringIO(_csv(_listed(contents)), newline=""))
    assert heading == [column.key for column in listing.ListedRecord.schema]
    for row, (headers, key, value) in zip(rows, contents, strict=True):
        fields: Json = {name: text or None for name, text in zip(heading, row, strict=True)}
        assert ((_bytes_of(fields, "key") or b""), (_bytes_of(fields, "value") or b"")) == (key or b"", value or b"")
        assert len(json.loads(fields["headers"])) == len(headers)


@each(
    "what, key, value, file, line",
    [
        ("null and empty differ", None, b"", "x.log", '0,7,-1,0,0,[],,,"",,,,,,,0,intact,x.log'),
        ("a terminal", b"\x1b[2J", b"1\n2", "\x1b.log", r"0,7,4,3,0,[],\x1b[2J,,1\n2,,,,,,,0,intact,\x1b.log"),
        ("a name that is not UTF-8", b"k", b"v", "\udcff.log", "0,7,1,1,0,[],k,,v,,,,,,,0,intact,\ufffd.log"),
    ],
)
def test_csv_keeps_null_apart_and_replaces_non_text(what: str, key: bytes | None, value: bytes, file: str, line: str) -> None:
    assert _csv(_listed([((), key, value)], file=file), is_terminal=what == "a terminal").splitlines()[1] == line


def _batches(count: int) -> Table[listing.ListedBatch]:
    row = [0, 0, 1, -1, -1, -1, -1, 0, False, True, None, 11_599_652, "CreateTime", 1_700_000_000_123, 116, 2, "zstd", 7, True]
    return Table.of(listing.ListedBatch, [[*row, "intact", "x.log"]] * count)


def test_a_long_table_is_shown_in_pages() -> None:
    assert len(_table(_batches(2500)).splitlines()) == 1 + 2500 + 3 * 2


def test_json_has_all_rows_of_further_classes_and_nothing_drives_a_terminal() -> None:
    pieces: list[str] = []
    formatter = JsonFormatter(pieces.append)
    formatter.start(VerifiedFile, NotRead)
    names = list(map(str, range(201)))  # some are written at once
    for name in names:
        formatter.write(Table.of(NotRead, [[name, None, None, None, None, "code", "message"]]))
    formatter.end()
    assert [row["file"] for row in json.loads("".join(pieces))["notReads"]] == names
    assert json_text(JsonText('"\x1b[2J"')) == r'"\u001b[2J"'
    assert _table(_listed([((), b"k", b"v")], file="\x1b[2J.log")).startswith(r"\x1b[2J.log")
