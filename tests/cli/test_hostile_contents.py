"""Names and contents that would drive a terminal, or whoever reads the output, are shown and not obeyed."""

import contextlib
import csv
import io
import json
import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.builders.files import write_partition
from tests.builders.records import Record, batch
from tests.cli.terminals import ROOT, on_terminal
from tests.loops import each
from tests.support import run_here

SCHEMAS = ROOT / "tests" / "schemas"

HOSTILE = "\x1b]0;title\x07\x1b[2J\r\n\x9b31m\u202e\u2066\u200b\u2028\x7f\x00"
NAME = os.fsdecode(b"t\x1b[31m\xff") + "\u202e\u2066\u200b\u2028\x9b2J\x07\nVerdict: fine.\r"

UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""What no terminal gets, but for the line ends and blanks of kdump."""

_COLORS = re.compile("\x1b\\[[0-9;]*[mK]|\x1b\\[\\?25[hl]|\x1b\\[[0-9]*[A-K]")
"""What kdump itself writes: colours, and the lines of a progress bar."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A log directory with a hostile topic whose last log is damaged, and hostile names within it."""
    hostile = HOSTILE.encode() + b"\xff\xed\xa0\x80"
    record = Record(key=hostile, value=hostile, headers=[(HOSTILE.encode(), hostile)])
    segments = {0: [batch(records=[record])], 1: [batch(records=[record], base_offset=1)]}
    partition = write_partition(tmp_path / "logs", segments=segments, topic=NAME)
    with (partition / f"{0:020d}.log").open("ab") as log:
        log.write(b"torn" * 20)
    (partition / f"x{NAME}.log").write_bytes(batch(records=[record]))
    (partition / f"{NAME}.index").write_bytes(b"1234567")
    (partition / "partition.metadata").write_bytes(b"version: 0\ntopic_id: " + hostile + b"\n")
    (partition / "leader-epoch-checkpoint").write_bytes(hostile)
    meta = b"cluster.id=" + HOSTILE.encode() + b"\nnode.id=" + hostile + b"\nversion=7\n"
    (tmp_path / "logs" / "meta.properties").write_bytes(meta)
    checkpoint = b"0\n1\n" + NAME.encode("utf-8", "surrogateescape") + b" 0 7\n"
    (tmp_path / "logs" / "recovery-point-offset-checkpoint").write_bytes(checkpoint)
    return tmp_path / "logs"


def _on_terminal(*arguments: str | Path) -> str:
    """What a command shows on a terminal, with no character that drives it."""
    shown = on_terminal(*arguments).decode("utf-8", "surrogateescape")
    assert shown.strip()
    assert UNSAFE.findall(_COLORS.sub("", shown)) == []
    assert "\nVerdict: fine." not in shown.replace("\r", "\n")
    assert "\udcff" not in shown
    return shown


def _in_pipe(*arguments: str | Path, folder: Path = ROOT) -> str:
    """What a command writes where there is no terminal, on stdout and then on stderr."""
    with contextlib.chdir(folder):
        _, out, err = run_here(*arguments)
    return (out + err).decode("utf-8", "surrogateescape")


COMMANDS = [
    *("check", "check --level deep --all"),
    *(f"check --output {form}" for form in ("table", "csv", "ndjson", "json", "sarif", "junit")),
    *("forecast", *(f"forecast --output {form}" for form in ("table", "csv", "ndjson"))),
    *("scan --engine local --jobs 1", "scan --engine local --jobs 1 --output json", "log --print-data-log"),
    *(*(f"log --deep --output {form}" for form in ("table", "csv", "ndjson")), "index", "index --output table", "snapshot"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_terminal_gets_a_control_character(command: str, directory: Path) -> None:
    _on_terminal(*command.split(), directory)


_KEY = (HOSTILE.encode() + b"\xff\xed\xa0\x80").hex()

SEARCHES = [
    *(("grep", "title", "--output", output) for output in ("kafka", "table", "csv", "ndjson")),
    ("grep", "-l", "title"),
    ("grep", "--prove-absent", "--certificate", "OUT", "title"),
    ("grep", "--decoder-cmd", 'sed -u \'s/.*/{"value": "\\u001b[2J\\u202e"}/\'', "--in", "decoded", "2J", "--output", "table"),
    ("grep", "--decoder-cmd", "printf '\\033[2J\\n'; false", "--in", "decoded", "2J"),
    ("grep", "--value-decoder", "avro", "--schemas", "SCHEMAS", "--where", "a\x1b[2J=b"),
    ("log", "--deep", "--value-decoder", "protobuf", "--schemas", "SCHEMAS", "--output", "table"),
    *(("where", "--hex", "--key", _KEY, "--output", output) for output in ("text", "table", "csv")),
    *(("recover", "--output", output, "-o", "OUT") for output in ("text", "table")),
    ("reindex", "-o", "OUT"),
]


@pytest.mark.parametrize("command", SEARCHES, ids=" ".join)
def test_no_search_and_no_copy_drives_a_terminal(command: tuple[str, ...], directory: Path) -> None:
    schemas = directory.parent / "schemas"
    schemas.mkdir()
    (schemas / f"{NAME}.avsc").write_text('{"type": "record", "name": "\x1b[2J", "fields": []}')
    (schemas / f"{NAME}.proto").write_text("message \x1b[2J\u202e {")
    places = {"OUT": str(directory.parent / f"out{NAME}"), "SCHEMAS": str(schemas)}
    _on_terminal(*(places.get(word, word) for word in command), directory)


@pytest.mark.parametrize("command", ["slice --from-offset 0", "redact"])
def test_no_copy_of_a_partition_drives_a_terminal(command: str, directory: Path) -> None:
    (partition,) = (path for path in directory.iterdir() if path.is_dir())
    _on_terminal(*command.split(), partition, "-o", directory.parent / f"out{NAME}")


def test_the_drop_in_form_drives_no_terminal(directory: Path) -> None:
    (partition,) = (path for path in directory.iterdir() if path.is_dir())
    plain = directory.parent / "plain"
    plain.mkdir()
    for path in partition.glob("0*"):
        path.rename(plain / path.name)
    for release in ("0.11.0.0", "4.3.1"):
        for name in (f"{0:020d}.log", f"{1:020d}.log", f"{0:020d}.index"):
            shown = on_terminal("--release", release, "--print-data-log", "--files", plain / name)
            assert shown.strip() and UNSAFE.findall(shown.decode("utf-8", "surrogateescape")) == []


def test_names_that_drive_a_terminal_are_sound_junit_and_sarif(directory: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema")
    jsonschema = pytest.importorskip("jsonschema")
    xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate(_in_pipe("check", "--output", "junit", directory))
    log = json.loads(_in_pipe("check", "--output", "sarif", directory))
    jsonschema.Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())).validate(log)


@each("line", ["check --all", "forecast", "scan --engine local --jobs 1"])
def test_no_name_forges_a_line_of_a_report_in_a_pipe(line: str, directory: Path) -> None:
    report = _in_pipe(*line.split(), directory)
    assert UNSAFE.findall(report) == []
    assert [line for line in report.splitlines() if line.startswith("Verdict: fine.")] == []


def test_an_error_message_drives_no_terminal(tmp_path: Path) -> None:
    shown = on_terminal("forecast", tmp_path / "a\x1b[2Jb")
    assert b"a\\x1b[2Jb" in shown and b"\x1b" not in shown


@each(
    "value, escaped",
    [
        *(("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1")),
        *(("\r=1", "'\r=1"), ("a=1", "a=1"), ("", "")),
    ],
)
def test_formulas_in_csv_are_escaped_on_demand(value: str, escaped: str, tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(batch(records=[Record(value=value.encode())]))
    for options, expected in (((), value), (("--csv-formulas", "keep"), value), (("--csv-formulas", "escape"), escaped)):
        (row,) = csv.DictReader(io.StringIO(_in_pipe("log", "--deep", "--output", "csv", *options, path), newline=""))
        assert (row["value"], row["offset"]) == (expected, "0")
    (row,) = csv.DictReader(io.StringIO(_in_pipe("log", "--output", "csv", "--csv-formulas", "escape", path)))
    assert row["producerId"] == "-1"  # a number is no formula


@each("command", ["check", "forecast"])
def test_a_directory_whose_name_is_a_formula_is_escaped_in_csv_on_demand(command: str, tmp_path: Path) -> None:
    (tmp_path / "=1+1-0").mkdir()
    (tmp_path / "=1+1-0" / f"{0:020d}.log").write_bytes(batch(records=[Record(value=b"v")]) + b"torn")
    for options, start in (((), "=1+1-0"), (("--csv-formulas", "escape"), "'=1+1-0")):
        report = _in_pipe(command, "--output", "csv", *options, "=1+1-0", folder=tmp_path)
        rows = list(csv.DictReader(io.StringIO(report)))
        assert rows and all(row["path"].startswith(start) for row in rows)


_OF_A_SCAN = re.compile(r"out(/kdump\.json|/manifest\.json|/[a-z_]+(/part-[0-9]{5}\.parquet|/[a-z]+\.parquet)?)?")


@each("topic", ["..", ".", "=..", "a b", NAME, "x" * 240, "\\..\\..\\up", "%2e%2e%2fup"])
def test_no_topic_makes_a_path_of_a_scan(topic: str, tmp_path: Path) -> None:
    write_partition(tmp_path / "logs", segments={0: [batch(records=[Record(value=b"v")])]}, topic=topic)
    before = set(tmp_path.rglob("*"))
    _in_pipe("scan", "--engine", "local", "--jobs", "1", "--records", "--tables-to", tmp_path / "out", tmp_path / "logs")
    written = {str(path.relative_to(tmp_path)) for path in set(tmp_path.rglob("*")) - before}
    assert {"out", "out/kdump.json", "out/batches", "out/batches/part-00000.parquet"} <= written
    assert [path for path in written if _OF_A_SCAN.fullmatch(path) is None] == []
    shown = os.fsencode(topic).decode("utf-8", "replace")  # in Parquet, text is UTF-8
    assert pq.read_table(tmp_path / "out" / "batches")["topic"].to_pylist() == [shown]
