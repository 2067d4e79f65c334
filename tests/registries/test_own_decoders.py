"""Decoders of one's own: commands and installed functions. What goes wrong in them is a row with an error."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kdump.cli.commands import main
from kdump.errors import CorruptData
from kdump.schemas import own
from tests.builders.records import batch, record
from tests.loops import each
from tests.support import Patch

CLEAN, FINDINGS, USAGE, NOT_EXAMINED = range(4)

Listing = tuple[int, list[dict[str, Any]], str]
Lister = Callable[..., Listing]

HEADERS = [("h", b"x"), ("n", None), ("e", b"")]

UPPER = """
import base64, json, sys
for line in sys.stdin:
    given = json.loads(line)
    data = base64.b64decode(given["data"]).decode()
    print(json.dumps({"value": [given["part"], given["topic"], data.upper(), given["headers"]]}), flush=True)
"""


@pytest.fixture
def listed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Lister:
    """Lists three records: exit code, rows, stderr."""

    def list_log(*options: str, source: str = "") -> Listing:
        command: tuple[str, ...] = ()
        if source:
            (tmp_path / "decoder.py").write_text(source)
            command = ("--decoder-cmd", f"{sys.executable} '{tmp_path / 'decoder.py'}'")
        (tmp_path / "t-0").mkdir(exist_ok=True)
        records = [record(key=b"k", value=b"a", headers=HEADERS), record(key=b"k"), record(key=b"k", value=b"b" * 200_000)]
        (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(batch(records=records))
        status = main(["log", "--deep", "--output", "ndjson", *command, *options, str(tmp_path / "t-0")])
        out, err = capfd.readouterr()
        assert "Traceback" not in err.replace("decoder.py", "") or source
        return status, [json.loads(line) for line in out.splitlines()], err

    return list_log


def test_a_command_decodes_keys_and_values(listed: Lister) -> None:
    status, rows, err = listed(source=UPPER)
    assert (status, err) == (CLEAN, "")
    headers = [["h", "eA=="], ["n", None], ["e", ""]]
    assert rows[0]["decodedKey"] == ["key", "t", "K", headers]
    assert rows[0]["decodedValue"] == ["value", "t", "A", headers]
    assert rows[1]["decodedValue"] is None and rows[1]["decodeError"] is None
    assert rows[2]["decodedValue"][2] == "B" * 200_000


def test_a_command_answers_with_any_value() -> None:
    command = own.Command(r"""sed -u 's/.*"topic": "\(.*\)", "data".*/{"value": \1}/'""")  # with the topic
    assert [command(b"x", "value", text, []) for text in ("0", "null", "false", "[]", "{}", "7")] == [0, None, False, [], {}, 7]
    command.close()


def test_a_command_decodes_only_what_it_is_asked_for(listed: Lister) -> None:
    _, rows, _ = listed("--value-decoder", "cmd", source=UPPER)
    assert (rows[0]["decodedKey"], rows[0]["decodedValue"][0]) == (None, "value")


@each(
    ("source", "reason"),
    [
        ("import sys; sys.stdin.readline(); sys.exit(7)", "the decoder ended with exit code 7"),
        ("import os, sys, time; sys.stdin.readline(); os.close(1); time.sleep(30)", "closed its input or output"),
        *((f"import sys; sys.stdin.readline(); print('{line}')", "no JSON object") for line in ("x", "[1]")),
        ('import sys\nfor line in sys.stdin: print(\'{"error": "no"}\', flush=True)', "was not decoded: no"),
        ("import sys; sys.stdin.readline(); print('x' * (17 << 20))", "a line of more than 16 MiB"),
    ],
)
def test_what_goes_wrong_in_a_command_is_an_error_of_each_row(listed: Lister, source: str, reason: str) -> None:
    status, rows, err = listed("--value-decoder", "cmd", source=source)
    assert status == FINDINGS
    assert reason in rows[0]["decodeError"] and rows[0]["decodeError"].startswith("decoder-failed: the value")
    assert rows[1]["decodeError"] is None, "there is no value"
    assert rows[2]["decodeError"].startswith("decoder-failed: ") and rows[2]["value"] == "b" * 200_000
    assert "2 records not decoded, the first at offset 0" in err


def test_a_command_that_does_not_answer_is_not_waited_for_twice() -> None:
    command = own.Command(f"{sys.executable} -c 'import time; time.sleep(1000)'", patience=0.2)
    for _ in range(2):
        with pytest.raises(CorruptData, match=r"did not answer within 0\.2 seconds"):
            command(b"x" * 1_000_000, "value", "t", [])
    command.close()


def test_a_command_that_writes_what_nobody_asked_for_is_not_asked_again() -> None:
    source = 'print("{}\\n{}", flush=True); import sys; sys.stdin.read()'
    command = own.Command(f"{sys.executable} -c '{source}'")
    with pytest.raises(CorruptData, match=r"value or error|nobody asked for"):
        command(b"x", "value", "t", [])
    for _ in range(2):
        with pytest.raises(CorruptData, match="nobody asked for"):
            command(b"x", "value", "t", [])


def test_a_command_that_is_not_there(listed: Lister) -> None:
    status, rows, _ = listed("--decoder-cmd", "/no/such/command")
    assert status == FINDINGS
    assert "cannot be started" in rows[0]["decodeError"]


@pytest.mark.parametrize(
    "options", [["--value-decoder", "cmd"], ["--decoder-cmd", ""], ["--decoder-cmd", "'"], ["--value-decoder", "rot14"]]
)
def test_decoders_that_cannot_be_used_are_refused(listed: Lister, options: list[str]) -> None:
    assert listed(*options)[0] == USAGE


PACKAGE = """
def decode(data, part, topic, headers):
    if len(data) > 1:
        raise ValueError("too long")
    return {part: data.decode(), "topic": topic, "headers": len(headers)}
def odd(data, part, topic, headers):
    return object()
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: Patch) -> None:
    site = tmp_path / "site"
    info = site / "mine-1.dist-info"
    info.mkdir(parents=True)
    (site / "kdump_test_decoders.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    points = ["mine = kdump_test_decoders:decode", "odd = kdump_test_decoders:odd", "gone = kdump_test_decoders:gone"]
    (info / "entry_points.txt").write_text("\n".join(["[kdump.decoders]", *points, ""]))
    monkeypatch.syspath_prepend(str(site))


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE])
def test_no_process_for_the_command_is_not_the_fault_of_the_data(number: int, listed: Lister, monkeypatch: Patch) -> None:
    monkeypatch.setattr(subprocess, "Popen", mock.Mock(side_effect=OSError(number, os.strerror(number))))
    status, rows, err = listed(source=UPPER)
    assert (status, rows) == (NOT_EXAMINED, [])
    assert f"cannot be started: {os.strerror(number)}" in err


def test_memory_that_ends_while_a_value_is_decoded_is_not_the_fault_of_the_data() -> None:
    with pytest.raises(MemoryError):
        own.OwnPart("value", "t", mock.Mock(side_effect=MemoryError)).decode(b"x", None)


@pytest.mark.usefixtures("package")
def test_an_installed_function_decodes(listed: Lister) -> None:
    status, rows, _ = listed("--key-decoder", "mine", "--value-decoder", "mine")
    assert rows[0]["decodedKey"] == {"key": "k", "topic": "t", "headers": 3}
    assert rows[0]["decodedValue"] == {"value": "a", "topic": "t", "headers": 3}
    assert rows[2]["decodeError"] == "decoder-failed: the value was not decoded: ValueError: too long"
    assert status == FINDINGS


@each("part", ["key", "value"])
def test_of_several_types_in_files_the_one_that_is_named_decodes(part: str, listed: Lister, tmp_path: Path) -> None:
    """The key is `k`, the value `a`: as Avro's zigzag, -54 and -49."""
    fields = {"A": "x", "shop.B": "y", "C": "z"}
    for name, field in fields.items():
        schema = {"type": "record", "name": name, "fields": [{"name": field, "type": "int"}]}
        (tmp_path / f"{name}.avsc").write_text(json.dumps(schema))
    for name, field in fields.items():
        _, rows, _ = listed(f"--{part}-decoder", f"avro:{name}", "--schemas", str(tmp_path))
        assert rows[0][f"decoded{part.capitalize()}"] == {field: {"key": -54, "value": -49}[part]}


@pytest.mark.usefixtures("package")
def test_what_a_function_returns_becomes_what_json_makes_of_it_if_that_is_possible(listed: Lister) -> None:
    assert "TypeError" in listed("--value-decoder", "odd")[1][0]["decodeError"]
    assert own.OwnPart("value", "t", lambda *_: {1: (2, None)}).decode(b"x", None).value == {"1": [2, None]}


@pytest.mark.usefixtures("package")
def test_a_function_that_cannot_be_loaded_is_refused(listed: Lister) -> None:
    status, _, err = listed("--value-decoder", "gone")
    assert status == USAGE and "the decoder gone cannot be loaded" in err
