"""`kdump checkpoint` of checkpoints in lines of text, in all forms, and what it says of lines that are no entries."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kdump.cli.commands import main
from tests.loops import each

CLEAN, FINDINGS, USAGE, NOT_EXAMINED = range(4)
NAMES = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
OFFSETS = "0\n3\norders 0 1200\norders 1 80\n__consumer_offsets 12 7\n"
EPOCHS = "0\n2\n0 0\n3 77\n"

Run = Callable[..., tuple[int, str, str]]  # arguments to exit code, stdout, stderr


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> tuple[int, str, str]:
        status = main(["checkpoint", *map(str, arguments)])
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return run


def _file(folder: Path, text: str | bytes, name: str = NAMES[0]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_rows_carry_the_line_and_its_status_in_every_form(tmp_path: Path, run: Run) -> None:
    path = _file(tmp_path, "0\n2\norders 0 1200\norders zero 5\n")
    status, out, err = run("--output", "ndjson", path)
    assert status == FINDINGS
    assert [json.loads(line) for line in out.splitlines()] == [
        {"topic": "orders", "partition": 0, "offset": 1200, "line": 3, "status": "intact", "file": str(path)},
        {"topic": None, "partition": None, "offset": None, "line": 4, "status": "damaged", "file": str(path)},
    ]
    assert err == f"kdump: {path}: the partition in line 4 is not a number of 32 bits\n"
    assert list(csv.reader(io.StringIO(run("--output", "csv", path)[1]))) == [
        ["topic", "partition", "offset", "line", "status", "file"],
        ["orders", "0", "1200", "3", "intact", str(path)],
        ["", "", "", "4", "damaged", str(path)],
    ]
    assert [line.split() for line in run("--output", "table", path)[1].splitlines()[3:]] == [
        ["orders", "0", "1200", "3", "intact"],
        ["-", "-", "-", "4", "damaged"],
    ]


@each(
    "text, said",
    [
        *(("1\n0\n", "line 1: version 1; only 0 is known"), ("x\n0\n", "line 1 should be the version, but is not a number")),
        ("0\nx\n", "line 2 should be the number of entries, but is not a number"),
        ("0\n5\norders 0 1\n", "line 2 says that 5 entries follow, but 1 does"),
        ("0\n", "line 1: the file ends after the version, without a count"),
        *(("0\n1\norders 0\n", "line 3 has 2 words, not 3"), ("0\n1\norders\n", "line 3 has 1 word, not 3")),
        ("0\n1\norders 0 9223372036854775808\n", "the offset in line 3 is not a number of 64 bits"),
        ("0\n1\norders 0 \0\n", "line 3: there are zero bytes in place of text"),
        *(("", ""), ("0\n0\n", "")),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, run: Run, text: str, said: str) -> None:
    path = _file(tmp_path, text)
    status, _, err = run(path)
    assert (status, err) == ((FINDINGS, f"kdump: {path}: {said}\n") if said else (CLEAN, ""))


def test_a_bad_header_is_not_a_row_and_a_file_of_hardly_any_entries_was_not_examined(tmp_path: Path, run: Run) -> None:
    for header in ("1\n0\n", "0\nx\n"):
        assert run("--output", "ndjson", _file(tmp_path, header))[:2] == (FINDINGS, "")
    status, _, err = run(_file(tmp_path, "no entry\n" * 5000))
    assert status == NOT_EXAMINED and "bytes were read, because hardly any line is an entry" in err


def test_a_directory_stands_for_its_checkpoints_and_a_copy_is_known_by_how_it_begins(tmp_path: Path, run: Run) -> None:
    for name in NAMES[:2]:
        _file(tmp_path, OFFSETS, name)
    _file(tmp_path / "orders-0", EPOCHS, "leader-epoch-checkpoint")
    assert run(tmp_path)[1].count("Dumping ") == 2
    for path in ("orders-0", "*/leader-epoch-*"):
        assert "startOffset: 77" in run(tmp_path / path)[1]
    for text, name, shown in (
        *((OFFSETS, "copy.txt", "offset: 1200"), (EPOCHS, "copy.bak", "startOffset: 77")),
        *(("0\n1\n7 88\n", "one.bak", "startOffset: 88"), ("0\n1\nt 0 99\n", "other.bak", "offset: 99")),
    ):
        assert shown in run(_file(tmp_path, text, name))[1]


def test_snapshots_of_kraft_are_listed_as_before(run: Run) -> None:
    folder = Path(__file__).parent.parent.parent / "golden_outputs/cases/cluster-metadata-quorum-of-three-4.3.0"
    status, out, _ = run(folder)
    assert status == CLEAN and "00000000000000000000-0000000000.checkpoint" in out and "baseOffset: 0" in out


def test_offsets_narrow_and_a_limit_ends_the_listing(tmp_path: Path, run: Run) -> None:
    path = _file(tmp_path, OFFSETS)
    assert run("--from-offset", 50, "--to-offset", 100, path)[1].splitlines()[1:] == ["topic: orders partition: 1 offset: 80"]
    assert run("--limit", 1, path)[1].splitlines()[1:] == ["topic: orders partition: 0 offset: 1200"]
    epochs = _file(tmp_path, EPOCHS, "leader-epoch-checkpoint")
    assert run("--from-offset", 1, epochs)[1].splitlines()[1:] == ["epoch: 3 startOffset: 77"]


def test_what_only_batches_have_is_refused(tmp_path: Path, run: Run) -> None:
    path, epochs = _file(tmp_path, OFFSETS), _file(tmp_path, EPOCHS, "leader-epoch-checkpoint")
    for options in ("--deep", "--from-time 2026-01-01", "--from-position 1", "--output parquet -o x.parquet"):
        status, out, err = run(*options.split(), path)
        assert (status, out) == (USAGE, "") and "a text checkpoint has none" in err, options
    status, out, err = run(_file(tmp_path, b"node.id=1\n", "meta.properties"))
    assert (status, out) == (USAGE, "") and "`cat` shows it" in err
    status, out, err = run("--output", "csv", path, epochs)  # of different rows
    assert (status, out) == (USAGE, "") and "list them one after the other" in err


@each("output", ["kafka", "ndjson", "csv", "table"])
@each("limit", ["", "--limit 1500", "--limit 4000"])
def test_entries_that_are_read_together_are_listed_as_if_one_by_one(tmp_path: Path, run: Run, output: str, limit: str) -> None:
    lines = [f"orders-é 0 {row}" if row % 1000 == 7 else f"orders {row % 7} {row}" for row in range(5000)]
    path = _file(tmp_path, "\n".join(["0", "5001", *lines[:2500], "no entry", *lines[2500:], ""]))
    together = run("--output", output, *limit.split(), path)
    assert together == run("--output", output, "--from-offset", "0", *limit.split(), path)
    assert together[1].count("orders") >= (1500 if limit else 5000)
