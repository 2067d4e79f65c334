"""Commands on URLs of an object store print what they print of the same files on this machine."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
import pytest

import kdump
from golden_outputs.runs import CASES
from kdump.cli import main as command_line
from tests.loops import each
from tests.stores import Store, running_store
from tests.support import Capture

ROOT = Path(__file__).parent.parent.parent

_SECONDS = re.compile(r'("seconds":)[0-9.]+|\b[0-9.]+ s\b')
_ADVICE = re.compile(
    r"\n(What is lost, and what to do|Next)\n.*?\n(?=Examined)", re.DOTALL
)  # what files in a store cannot follow
_OF_COPY = re.compile(r"# (copy PLACE|of the copy)|  : > ")
_CASES = ("edited-crc-wrong-magic2", "edited-index-offsets-changed-magic2", "consumer-offsets-2.8.2")
COMMANDS = (
    *("check --level deep --output ndjson", "forecast", "log --deep --print-data-log", "index", "timeindex", "txnindex"),
    *("snapshot", "checkpoint", "grep a"),
)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    pytest.importorskip("moto")
    with running_store() as store:
        yield store


def main(arguments: list[str]) -> int:
    """The exit code of a command in this process."""
    with mock.patch.object(sys, "argv", ["kdump", *arguments]):
        return command_line.main()


def _printed(capfd: Capture, place: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr, without what differs: the place and the time."""
    status = main([argument.replace("PLACE", place) for argument in arguments])
    out, err = (_SECONDS.sub(r"\1S", text.replace(place, "PLACE")) for text in capfd.readouterr())
    return status, out, err


@pytest.fixture(scope="module")
def places(store: Store, tmp_path_factory: pytest.TempPathFactory, all_cases: bool) -> list[tuple[str, str]]:
    """Directories on this machine, each with the URL of its copy. A URL is as long as the path, for lines that are wrapped."""
    root = tmp_path_factory.mktemp("places")
    found = []
    for number, source in enumerate(
        [ROOT / "examples" / "orders-0", *(CASES / name for name in (_CASES if all_cases else _CASES[:1]))]
    ):
        name = source.name if number == 0 else f"topic-{number}"
        url = f"s3://backups/{number:x}"
        local = root / f"{number:x}"
        shutil.copytree(source, local / name)
        store.upload(local, f"{number:x}")
        found.append((str(local / name), f"{url}/{name}"))
    return found


@each("command", COMMANDS)
def test_commands_print_the_same_of_urls(places: list[tuple[str, str]], capfd: Capture, command: str) -> None:
    words = [*command.split(), "PLACE"]
    for local, url in places:
        assert _unwrapped(_printed(capfd, url, *words)) == _unwrapped(_printed(capfd, local, *words))


def _unwrapped(printed: tuple[int, str, str]) -> tuple[int, str, str]:
    """The same with one space between words: lines are wrapped elsewhere where a path is longer."""
    status, out, err = printed
    out = _ADVICE.sub("", out)
    of_copies = (" KEEP", " NEW", "Do: ")
    lines = [line for line in out.splitlines() if not any(map(line.__contains__, of_copies)) and not _OF_COPY.search(line)]
    return status, " ".join(" ".join(lines).replace(",", "").split()), " ".join(err.split())


@each("options", ["", "--print-data-log", "--index-sanity-check", "--verify-index-only"])
def test_the_drop_in_form_reads_urls_too(places: list[tuple[str, str]], capfd: Capture, options: str) -> None:
    for local, url in places:
        for file in sorted(Path(local).iterdir()):
            if file.is_file() and file.suffix in (".log", ".index", ".timeindex", ".snapshot", ".txnindex"):
                ours = _printed(capfd, url, *options.split(), "--files", f"PLACE/{file.name}")
                assert ours == _printed(capfd, local, *options.split(), "--files", f"PLACE/{file.name}")
                assert ours[1]


def test_a_scan_of_urls_makes_the_tables_of_a_scan_of_paths(places: list[tuple[str, str]], tmp_path: Path) -> None:
    tables = []
    for name, roots in (("local", [local for local, _ in places]), ("url", [url for _, url in places])):
        out = tmp_path / name
        assert main(["scan", "--engine", "local", "--records", "--jobs", "2", "--tables-to", str(out), *roots]) in (1, 3)
        tables.append({folder.name: _rows(folder, roots) for folder in sorted(out.iterdir()) if folder.is_dir()})
    local, url = tables
    assert local.keys() == url.keys()
    assert sum(map(len, local.values())) > 100
    for table, rows in local.items():
        assert rows == url[table], table


def _rows(folder: Path, roots: list[str]) -> list[dict[str, Any]]:
    """The rows of a table, without what a store does not have: the times and blocks of a disk."""
    rows = []
    for row in pq.read_table(folder).to_pylist() if list(folder.glob("*.parquet")) else []:
        row.pop("modifiedMs", None)
        row.pop("allocated", None)
        for number, root in enumerate(roots):
            row = {name: value.replace(root, f"{number}") if isinstance(value, str) else value for name, value in row.items()}
        rows.append(row)
    return sorted(rows, key=repr)


def test_a_repeated_scan_reads_only_what_was_replaced(store: Store, tmp_path: Path, capfd: Capture) -> None:
    folder = tmp_path / "again" / "orders-0"
    shutil.copytree(ROOT / "examples" / "orders-0", folder)
    url = store.upload(folder, "again/orders-0")
    command = ["scan", "--engine", "local", "--tables-to", str(tmp_path / "out"), "s3://backups/again"]
    assert main(command) == 0
    capfd.readouterr()
    log = bytearray((folder / "00000000000000000000.log").read_bytes())
    log[-1] ^= 1
    store.put("again/orders-0/00000000000000000000.log", bytes(log))
    assert url.endswith("/orders-0")
    assert main(command) == 1
    assert "unreadable (1 record)" in capfd.readouterr().out


def test_patterns_name_urls(places: list[tuple[str, str]], capfd: Capture) -> None:
    local, url = places[0]
    pattern = "PLACE/*7.log"
    assert _printed(capfd, url, "log", pattern) == _printed(capfd, local, "log", pattern)
    assert main(["log", url + "/*.nothing"]) == 3


def test_the_library_opens_urls(places: list[tuple[str, str]]) -> None:
    local, url = places[0]
    with kdump.open(url) as theirs, kdump.open(local) as ours:
        assert [batch.last_offset for batch in theirs] == [batch.last_offset for batch in ours] != []
    name = "00000000000000000000.index"
    assert list(kdump.open(f"{url}/{name}", "index")) == list(kdump.open(f"{local}/{name}", "index"))


MADE, OUTPUT = "what is mended or made", "the output"


@each(
    "command, what",
    [
        *(("recover URL -o {}/new", MADE), ("recover LOCAL -o URL-new", MADE), ("reindex URL -o {}/new", MADE)),
        *(("redact URL -o {}/new", MADE), ("slice --from-offset 1 URL -o {}/new", MADE), ("check LOCAL -o URL-new", OUTPUT)),
        ("log LOCAL --output parquet -o URL-new", OUTPUT),
        ("scan LOCAL --engine local --tables-to URL-new", "the directory of --tables-to"),
        ("grep a LOCAL --prove-absent --certificate URL-new", "the certificate"),
    ],
)
def test_no_store_is_written_to(places: list[tuple[str, str]], tmp_path: Path, capfd: Capture, command: str, what: str) -> None:
    local, url = places[0]
    assert main(command.format(tmp_path).replace("URL", url).replace("LOCAL", local).split()) == 2
    given = url if "URL-new" not in command else f"{url}-new"
    said = f"kdump: {given} is a URL, but {what} must be on this machine; kdump only reads from stores\n"
    assert capfd.readouterr().err == said
    assert not list(tmp_path.iterdir())


def test_a_certificate_names_urls_and_is_verified(places: list[tuple[str, str]], tmp_path: Path) -> None:
    _, url = places[0]
    certificate = tmp_path / "certificate.json"
    assert main(["grep", "certainly not there", "--prove-absent", "--certificate", str(certificate), url]) == 1
    assert json.loads(certificate.read_text())["paths"] == [url]
    assert main(["grep", "--verify", str(certificate)]) == 0


@each("command", ["check", "log", "forecast", "index", "scan --engine local", "grep a"])
def test_what_is_not_there_is_not_examined(store: Store, capfd: Capture, command: str) -> None:
    capfd.readouterr()
    for place in ("backups/nowhere", "nobucket"):
        assert main([*command.split(), f"s3://{place}/orders-0"]) == 3
    out, err = capfd.readouterr()
    assert "there is no bucket 'nobucket'" in out + err


def test_other_urls_are_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:" / "x").mkdir(parents=True)
    shutil.copytree(ROOT / "examples" / "orders-0", tmp_path / "s3:" / "x" / "orders-0")
    assert main(["check", "./s3://x/orders-0"]) == 0
    assert main(["log", "http://x/orders-0"]) == 3
    assert "no such file" in capfd.readouterr().err
