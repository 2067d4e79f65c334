"""What shells offer on a tab: by the words they ask with, and typed into real shells where these are installed."""

import os
import pty
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdump.checks import catalogue
from kdump.cli import completion
from kdump.cli.commands import main, parser
from tests.loops import each
from tests.support import HANG

ROOT = Path(__file__).parent.parent.parent


def _offered(line: str) -> list[tuple[str, str]]:
    """Kind and value of all that is offered for the last word of a line."""
    *words, incomplete = line.split(" ")
    shell = completion.SHELLS["bash"](parser(), {}, "kdump", completion.VARIABLE)
    return [(item.type, item.value) for item in shell.get_completions(words[1:], incomplete)]


@each(
    ("line", "values"),
    [
        *(("kdump f", ["forecast"]), ("kdump help f", ["forecast"]), ("kdump --print", ["--print-data-log"])),
        *(("kdump --files x.log --off", ["--offsets-decoder"]), ("kdump --files x.log --release 0.8.1", ["0.8.1.1", "0.8.1"])),
        ("kdump --files x.log --release 0.8.0 --off", []),
        ("kdump --release 0.8.2.0 --key-decoder-class k", ["kafka.serializer.StringDecoder", "kafka.serializer.DefaultDecoder"]),
        *(("kdump --jobs ", []), ("kdump explain crc", ["crc-mismatch"])),
        ("kdump check --ignore torn-", ["torn-tail", "torn-header"]),
        *(("kdump check x --select=torn-t", ["--select=torn-tail"]), ("kdump check x --select = torn-t", ["torn-tail"])),
        *(("kdump check x --select =", list(catalogue.FAULTS)), ("kdump --files x --release = 0.8.1.", ["0.8.1.1"])),
        *(("kdump check --as s", ["snapshot"]), ("kdump check --output j", ["json", "junit"])),
        *(("kdump check --cleanup-policy d", ["delete"]), ("kdump forecast --broker 3.9", ["3.9.2", "3.9.1", "3.9.0"])),
        ("kdump forecast --recovery-point ", ["zero", "end", "checkpoint"]),
        *(("kdump forecast --config s", ["segment.index.bytes="]), ("kdump log --release 2.8.", ["2.8.2", "2.8.1", "2.8.0"])),
        *(("kdump log --decode s", ["share-group-state", "string"]), ("kdump log --key-decoder i", ["integer"])),
        *(("kdump log --output p", ["parquet"]), ("kdump log --tai", ["--tail"])),
        *(("kdump releases 1.0.", ["1.0.2", "1.0.1", "1.0.0"]), ("kdump scan --engine l", ["local"])),
        *(("kdump scan --tables files,b", ["files,batches"]), ("kdump scan --tables batches,b", [])),
        ("kdump scan --tables batches,files,b", []),
        ("kdump schema f", ["fate", "finding", "file", "forecast", "forecast-summary"]),
        ("kdump completions f", ["fish"]),
    ],
)
def test_values_are_offered_that_there_are(line: str, values: list[str]) -> None:
    assert sorted(value for kind, value in _offered(line) if kind == "plain") == sorted(values)


@each(
    ("line", "kind"),
    [
        *((f"kdump {command} x", "file") for command in ("log", "index", "timeindex", "txnindex", "snapshot", "checkpoint")),
        *(("kdump check x", "file"), ("kdump check a x", "file"), ("kdump check --level quick x", "file")),
        *(("kdump check -o x", "file"), ("kdump check --baseline x", "file"), ("kdump forecast x", "file")),
        *(("kdump scan x", "file"), ("kdump scan --tables-to x", "dir"), ("kdump x", "file"), ("kdump --files x", "file")),
        ("kdump --deep-iteration --files x", "file"),
    ],
)
def test_names_of_files_are_left_to_the_shell(line: str, kind: str) -> None:
    assert _offered(line) == [(kind, "x")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completions", shell]) == 0
    assert f"_KDUMP_COMPLETE={shell}_complete" in capsys.readouterr().out


STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(kdump completions bash)"; bind "set bell-style none"'),
    "zsh": (["zsh", "-f", "-i"], 'bindkey -e; autoload -Uz compinit; compinit -u -D; eval "$(kdump completions zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "kdump completions fish | source"),
}


class Shell:
    """An interactive shell, in whose directory are `orders-0` and `report.json`."""

    def __init__(self, name: str, folder: Path) -> None:
        program = folder / "bin" / "kdump"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m kdump "$@"\n')
        program.chmod(0o755)
        work = folder / "work"
        (work / "orders-0").mkdir(parents=True)
        (work / "orders-0" / "00000000000000000000.log").write_bytes(b"")
        (work / "report.json").write_bytes(b"")
        command, setting_up = STARTS[name]
        environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "dumb", "HOME": str(folder)}
        self._process, self._terminal = pty.fork()
        if not self._process:
            os.chdir(work)
            os.execvpe(command[0], command, environment)
        self._said = b""
        self.run(f"{setting_up}; echo R''EADY.", "READY.")

    def run(self, keys: str, word: str) -> str:
        """Type this, and wait for a line with a word that is not typed like that; what stands after the word."""
        os.write(self._terminal, keys.encode() + b"\r")
        deadline = time.monotonic() + HANG
        while True:
            for line in self._said.decode("utf-8", "replace").split("\n")[:-1]:
                if word in line:
                    self._said = b""
                    return line.rpartition(word)[2].strip()
            assert time.monotonic() < deadline, self._said
            if select.select([self._terminal], [], [], 1)[0]:
                self._said += os.read(self._terminal, 4096)

    def completed(self, line: str) -> str:
        return self.run(line + "\t\x01echo R''ESULT: ", "RESULT:")

    def end(self) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._terminal)


@pytest.fixture(params=STARTS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    if shutil.which(request.param) is None:
        pytest.skip(f"needs {request.param}")
    shell = Shell(request.param, tmp_path)
    yield shell
    shell.end()


@pytest.mark.slow
def test_a_tab_completes_codes_releases_decoders_options_and_names_of_files(shell: Shell) -> None:
    lines = {
        "kdump explain crc-m": "kdump explain crc-mismatch",
        "kdump check --ignore torn-t": "kdump check --ignore torn-tail",
        "kdump check --ignore=torn-t": "kdump check --ignore=torn-tail",
        "kdump forecast --broker 0.8.1.": "kdump forecast --broker 0.8.1.1",
        "kdump log --decode sh": "kdump log --decode share-group-state",
        "kdump check --output sa": "kdump check --output sarif",
        "kdump --print-d": "kdump --print-data-log",
        "kdump check ord": "kdump check orders-0",
        "kdump check -o rep": "kdump check -o report.json",
        "kdump --files orders-0/0000": "kdump --files orders-0/00000000000000000000.log",
    }
    found = {line: shell.completed(line).removesuffix("/") for line in lines}  # zsh takes it back
    assert found == lines
