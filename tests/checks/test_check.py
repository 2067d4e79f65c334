"""`kdump check`: what it counts, what it prints in each form, how it ends."""

import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema

import kdump
from kdump.checks import catalogue
from kdump.errors import UsageError
from tests.builders.files import file_name, write_partition
from tests.builders.records import batch, record
from tests.support import HANG, flip_a_bit, run_here, with_interrupts

ROOT = Path(__file__).parent.parent.parent
SCHEMAS = Path(__file__).parent.parent / "schemas"
LOG = file_name(0, ".log")
NEXT_LOG = file_name(3, ".log")

CLEAN, FINDINGS, USAGE, NOT_EXAMINED, OUTPUT_FAILED = range(5)
INTERRUPTED = 130

Json = dict[str, Any]  # what json.loads makes of an object


def _run(*arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    status, out, err = run_here(*arguments)
    return status, out.decode(), err.decode()


def _read_to_end(controller: int) -> bytes:
    """What is written to a terminal until all have closed it."""
    data = b""
    with suppress(OSError):  # the other end is closed
        while piece := os.read(controller, 65536):
            data += piece
    os.close(controller)
    return data


def _kdump(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    return {"args": [sys.executable, "-m", "kdump", *arguments], "env": variables}


def _on_terminal(columns: int, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """What a run prints on a terminal of so many columns."""
    controller, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(**_kdump(*arguments, environment=environment), stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    data = _read_to_end(controller)
    process.wait(timeout=60)
    return data.decode().replace("\r\n", "\n")


def _batches(first: int, count: int) -> list[bytes]:
    return [batch(records=[record(key=b"key", value=b"value" * 20)], base_offset=first + row) for row in range(count)]


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return write_partition(tmp_path, topic="orders", partition=3, segments={0: _batches(0, 3), 3: _batches(3, 3)})


@pytest.fixture
def broken(clean: Path) -> Path:
    """The same, with two batches of the first segment damaged and the second torn."""
    flip_a_bit(clean / LOG, 100)
    flip_a_bit(clean / LOG, 300)
    path = clean / NEXT_LOG
    path.write_bytes(path.read_bytes()[:-5])
    old = time.time() - 3600  # nobody writes to it
    os.utime(path, (old, old))
    return clean


def _lines(text: str) -> list[Json]:
    return [json.loads(line) for line in text.splitlines()]


def _findings(text: str) -> list[tuple[str, str]]:
    return [(row["code"], row["path"].rpartition("/")[2]) for row in _lines(text) if row["kind"] == "finding"]


# --- exit codes, and what counts


def test_clean_is_one_line(clean: Path) -> None:
    code, out, err = _run("check", clean)
    size = sum(path.stat().st_size for path in clean.iterdir()) / 1024
    assert (code, out.split(), err) == (CLEAN, f"{clean} 2 segments, {size:.2f} KiB, offsets 0 to 5 fine".split(), "")


@pytest.mark.parametrize(("fail_on", "code"), [("error", CLEAN), ("warning", CLEAN), ("info", FINDINGS)])
def test_fail_on_says_what_fails(clean: Path, fail_on: str, code: int) -> None:
    (clean / LOG).write_bytes(b"")
    found, out, _ = _run("check", clean / LOG, "--pedantic", "--fail-on", fail_on)
    assert (found, "file-empty" in out) == (code, True)
    assert _run("check", clean / LOG)[1].split() == f"{clean / LOG} 1 segment, 0 bytes fine".split()


def test_a_code_or_level_that_does_not_exist_is_a_usage_error_with_what_is_near(clean: Path) -> None:
    says = "kdump: there is no fault sparse-fil; did you mean sparse-file, index-sparse-gap?\n"
    for option in ("--ignore", "--select"):
        assert _run("check", clean, option, "sparse-fil") == (USAGE, "", says)
    with pytest.raises(UsageError, match="there is no level 'slow'; levels are quick, full, deep"):
        kdump.check(clean, level="slow")


def test_a_file_that_is_not_there_is_not_examined(tmp_path: Path) -> None:
    code, out, err = _run("check", tmp_path / LOG)
    assert (code, out, err) == (NOT_EXAMINED, "", f"kdump: {tmp_path / LOG}: no such file or directory\n")
    (tmp_path / "orders-0").mkdir()
    code, out, _ = _run("check", tmp_path / LOG, tmp_path / "orders-0")  # which has files of its own, none here
    assert code == NOT_EXAMINED and "No such file." in out
    says = f"could be examined. Verdict: not examined: {tmp_path / LOG}: file-vanished. Exit status 3."
    assert " ".join(out.split()).endswith(says)


def test_a_directory_with_nothing_of_kafkas_is_not_clean(tmp_path: Path) -> None:
    code, out, err = _run("check", tmp_path)
    assert (code, err) == (NOT_EXAMINED, "")
    assert out.startswith("There is nothing to check: there are no Kafka files here.\n")


def test_directories_of_one_name_are_distinguished_by_their_brokers(tmp_path: Path) -> None:
    for broker in ("b1", "b2"):
        folder = write_partition(tmp_path / broker / "data", topic="orders", partition=0, segments={0: _batches(0, 2)})
        flip_a_bit(folder / LOG, 100)
    code, out, _ = _run("check", tmp_path)
    assert code == FINDINGS
    assert " ".join(out.split()).startswith(f"{tmp_path}/b1/data/orders-0 1 segment")
    assert f" error crc-mismatch {tmp_path}/b2/data/orders-0/{LOG}" in " ".join(out.split())


def test_patterns_stand_for_files(broken: Path) -> None:
    assert _findings(_run("check", f"{broken}/*3.log", "--output", "ndjson")[1]) == [("torn-tail", NEXT_LOG)]
    code, _, err = _run("check", f"{broken}/*.nothing")
    assert (code, err) == (USAGE, f"kdump: no file matches {broken}/*.nothing\n")


def test_output_that_cannot_be_written_is_exit_code_4(broken: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = _kdump("check", broken)
        done = subprocess.run(**command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (OUTPUT_FAILED, "kdump: cannot write the output: No space left on device\n")


@pytest.mark.slow
def test_an_interrupt_ends_the_check_soon_and_says_how_far_it_came(clean: Path) -> None:
    controller, terminal = pty.openpty()
    command = _kdump("check", "--rate", "1", clean)  # it would take twenty minutes
    process = subprocess.Popen(**command, stdout=subprocess.PIPE, stderr=terminal, preexec_fn=with_interrupts, text=True)
    os.close(terminal)
    assert select.select([controller], [], [], HANG)[0]  # the bar that shows how far it has come
    process.send_signal(signal.SIGINT)
    shown = _read_to_end(controller).decode()
    out, _ = process.communicate(timeout=HANG)
    assert (process.returncode, out) == (INTERRUPTED, "")
    assert re.search(r"kdump: interrupted after \d files?, .* of .*; 0 errors and 0 warnings so far\r\n$", shown)


# --- baselines


@pytest.fixture
def baseline(broken: Path, tmp_path: Path) -> Path:
    path = tmp_path / "baseline.ndjson"
    path.write_text(_run("check", broken, "--output", "ndjson")[1])
    return path


def test_a_baseline_holds_for_a_copy_elsewhere_and_for_a_file_alone(broken: Path, baseline: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / broken.name
    copy.parent.mkdir()
    broken.rename(copy)
    assert _run("check", copy, "--baseline", baseline)[0] == CLEAN
    assert _run("check", copy / LOG, "--baseline", baseline)[0] == CLEAN
    another = tmp_path / "another" / broken.name  # which nobody knew, though its findings are those of the first
    shutil.copytree(copy, another)
    code, out, _ = _run("check", copy, another, "--baseline", baseline, "--output", "ndjson")
    assert (code, _lines(out)[-1]["known"]) == (FINDINGS, 3)
    baseline.write_text(_run("check", copy, another, "--output", "ndjson")[1])
    assert _run("check", copy, another, "--baseline", baseline)[0] == CLEAN


@pytest.mark.slow
@pytest.mark.parametrize("text", ["no json\n", "{}\n", "[1]\n", '"text"\n'])
def test_a_baseline_that_is_none_is_a_usage_error(clean: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline"
    path.write_text(text)
    code, _, err = _run("check", clean, "--baseline", path)
    assert (code, err) == (USAGE, f"kdump: --baseline {path}, line 1: is not what `kdump check --output ndjson` writes\n")
    assert _run("check", clean, "--baseline", tmp_path / "none")[0] == USAGE


def test_a_baseline_that_never_ends_is_a_usage_error_and_one_that_cannot_be_read_is_not(clean: Path, tmp_path: Path) -> None:
    code, _, err = _run("check", clean, "--baseline", "/dev/zero")
    assert (code, err) == (USAGE, "kdump: --baseline /dev/zero, line 1: is not what `kdump check --output ndjson` writes\n")
    pipe = tmp_path / "baseline"
    pipe.symlink_to("/proc/self/mem")  # the first page cannot be read
    code, _, err = _run("check", clean, "--baseline", pipe)
    assert (code, err) == (NOT_EXAMINED, f"kdump: {pipe}: Input/output error\n")


# --- forms


@pytest.fixture
def strange(broken: Path) -> Path:
    """Also a file whose name is no UTF-8 and holds a line end, and findings of other kinds."""
    name = os.fsencode(broken) + b"/\xff\n<&>.log"
    Path(os.fsdecode(name)).write_bytes(_batches(0, 1)[0][:-3])
    (broken / "00000000000000000009.log").symlink_to("nowhere")
    return broken


def _schema(name: str) -> Json:
    schema: Json = json.loads(_run("schema", name)[1])
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.slow
def test_lines_of_json_are_as_their_schemas_say(strange: Path) -> None:
    rows = _lines(_run("check", strange, "--output", "ndjson", "--pedantic")[1])
    schemas = {kind: _schema(kind) for kind in ("finding", "file", "start", "summary")}
    assert {row["kind"] for row in rows} == set(schemas)
    assert rows[-1]["kind"] == "summary"
    for row in rows:
        jsonschema.validate(row, schemas[row["kind"]])


def test_schemas_refuse_what_is_not_a_row() -> None:
    schema = _schema("summary")
    summary = _lines(_run("check", "/nowhere", "--output", "ndjson")[1])[-1]
    jsonschema.validate(summary, schema)
    for wrong in ({**summary, "files": "1"}, {**summary, "more": 1}, {**summary, "isComplete": None}, {"kind": "summary"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


@pytest.mark.slow
def test_rows_of_other_commands_are_as_their_schemas_say() -> None:
    for name, command in (
        *(("batch", ["log"]), ("record", ["log", "--deep"]), ("index-entry", ["index"])),
        *(("timeindex-entry", ["timeindex"]), ("transaction", ["txnindex"]), ("producer", ["snapshot"])),
    ):
        rows = _lines(_run(*command, "--output", "ndjson", ROOT / "examples" / "orders-0")[1])
        assert rows
        schema = _schema(name)
        for row in rows:
            jsonschema.validate(row, schema)


def test_sarif_is_valid(strange: Path) -> None:
    log = json.loads(_run("check", strange, "--output", "sarif")[1])
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER).validate(log)
    (run,) = log["runs"]
    assert len(run["tool"]["driver"]["rules"]) == len(catalogue.FAULTS)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    expected = {("crc-mismatch", "error"), ("torn-tail", "error"), ("index-missing", "warning")}
    expected |= {("name-not-utf8", "note"), ("symlink-loop", "error")}
    assert {(result["ruleId"], result["level"]) for result in run["results"]} >= expected
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": NOT_EXAMINED}]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert places[0]["artifactLocation"]["uri"] == f"file://{strange}/{LOG}"
    assert places[0]["region"] == {"byteOffset": 0, "byteLength": 173}
    assert any(place["artifactLocation"]["uri"].endswith("%FF%0A%3C%26%3E.log") for place in places)


def test_junit_is_valid(strange: Path) -> None:
    text = _run("check", strange, "--output", "junit")[1]
    xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate(text)
    counts = [text.count(tag) for tag in ("<testcase ", "<failure ", "<error ")]
    assert f'<testsuite name="{strange}" tests="{counts[0]}" failures="{counts[1]}" errors="{counts[2]}">' in text
    assert counts[0] >= 10 and counts[1] >= 2 and counts[2] == 1
    assert '<failure type="crc-mismatch" message="' in text and "(and 1 more)" in text
    assert '<error type="symlink-loop"' in text


@pytest.mark.slow
def test_a_run_that_finds_nothing_is_valid_in_every_form(clean: Path) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    jsonschema.Draft4Validator(schema).validate(json.loads(_run("check", clean, "--output", "sarif")[1]))
    xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate(_run("check", clean, "--output", "junit")[1])
    assert json.loads(_run("check", clean, "--output", "json")[1])["findings"] == []
    assert len(_run("check", clean, "--output", "csv")[1].splitlines()) == 1
    assert _run("check", clean, "--output", "table")[1] == ""


# --- text for people


def test_where_no_start_can_be_forecast_findings_say_what_is_likely(broken: Path) -> None:
    out = _run("check", broken / LOG)[1]
    assert "If this broker restarts\n  cut      if the segment is scanned," in out
    assert f" here: {broken / LOG} at byte 0, offset 0; 3 offsets from there on " in " ".join(out.split())


def test_colours_are_only_on_a_terminal_and_change_no_character(broken: Path) -> None:
    colored = _on_terminal(100, "check", broken)
    assert "\x1b[31merror\x1b[0m    crc-mismatch" in colored
    plain = _on_terminal(100, "check", broken, environment={"NO_COLOR": "1"})
    seconds = re.compile(r"in \d+\.\d s")
    assert seconds.sub("", re.sub("\x1b\\[[0-9;]*m", "", colored)) == seconds.sub("", plain)
    assert "\x1b" not in _run("check", broken)[1]


# --- explain


def test_explain_without_a_code_lists_all() -> None:
    out = _run("explain")[1]
    assert "Framing and batch headers\n" in out and "Files, and limits of a run\n" in out
    assert [code for code in catalogue.FAULTS if f" {code} " not in out] == []


def test_every_fault_can_be_explained() -> None:
    for fault in catalogue.FAULTS.values():
        assert fault.forecast in catalogue.FORECASTS
        assert fault.title.endswith(".") and fault.title[0].isalpha(), fault.code
        for text in (fault.cause, fault.kafka, fault.loss, fault.remedy):
            assert text and not text.endswith("."), fault.code


# --- the library


def test_the_library_is_imported_when_it_is_used() -> None:
    script = (
        "import sys, kdump; assert 'kdump.checks' not in sys.modules; kdump.check; assert 'kdump.checks.check' in sys.modules"
    )
    subprocess.run(**_kdump() | {"args": [sys.executable, "-c", script]}, check=True, timeout=60)


def test_a_check_of_little_shows_no_progress(clean: Path) -> None:
    controller, terminal = pty.openpty()
    subprocess.run(**_kdump("check", clean), stdout=subprocess.DEVNULL, stderr=terminal, check=True, timeout=60)
    assert select.select([controller], [], [], 0)[0] == []
    os.close(terminal)
    os.close(controller)


def test_offsets_of_findings_have_64_bits_and_negative_ones_are_seen(tmp_path: Path) -> None:
    """The negative ones in a segment, and in the name of a snapshot."""
    last = (1 << 63) - 1
    partition = write_partition(tmp_path, segments={last - 1: [batch(base_offset=last, records=[record()])]})
    (partition / file_name(last - 1, ".index")).write_bytes(struct.pack(">ii", 9, 1 << 20))
    [finding] = [found for found in kdump.check(partition) if found.code == "truncated-at-boundary"]
    assert (finding.offset_first, finding.offset_last) == (last, last)
    negative = [batch(base_offset=-100, records=[record()])]
    partition = write_partition(tmp_path, topic="negative", segments={0: negative}, leader_epochs=[])
    (partition / "-0000000000000000092.snapshot").write_bytes(b"")
    assert {"offset-negative", "name-not-numeric"} <= {found.code for found in kdump.check(partition)}
