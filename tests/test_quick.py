"""What `-m quick` sees at least: each command, each kind of file, each verdict and each codec, once."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from golden_outputs.runs import cases
from kdump.binary.codecs import CODECS
from kdump.cli.command_names import COMMANDS
from kdump.cli.commands import main
from kdump.formats.file_name import CHECKPOINT, SEGMENT_SUFFIXES
from kdump.verdicts import verdict
from tests import quick
from tests.builders.compression import Codec
from tests.builders.files import aborted_transaction, producer_entry, write_partition
from tests.builders.records import TIMESTAMP, batch, record, transaction_marker
from tests.checks.faults.case import At, FaultCase
from tests.checks.faults.test_faults import CASES, assert_found
from tests.goldens import unexpected_differences

ROOT = Path(__file__).parent.parent
BOOTSTRAP = ROOT / "golden_outputs" / "cases" / "bootstrap-checkpoint-4.3.0" / "bootstrap.checkpoint"
FIRST, SECOND = f"orders-0/{0:020d}", f"orders-0/{4:020d}"


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound partition of seven offsets: an aborted transaction, and a record of each codec; it is in the current directory."""
    codecs: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
    first, *others = [
        batch(base_offset=offset, codec=codec, records=[record(key=b"k%d" % offset, value=b"value of " + codec.encode())])
        for offset, codec in enumerate(codecs, start=2)
    ]
    transaction = batch(
        records=[record(value=b"aborted")], is_transactional=True, producer_id=7, producer_epoch=0, base_sequence=0
    )
    marker = transaction_marker(is_commit=False, base_offset=1, producer_id=7)
    write_partition(
        tmp_path,
        topic="orders",
        segments={0: [transaction, marker, first, others[0]], 4: others[1:]},
        aborted_transactions={0: [aborted_transaction(producer_id=7, first_offset=0, last_offset=1, last_stable_offset=2)]},
        producer_snapshots={4: [producer_entry(producer_id=7, last_offset=0, coordinator_epoch=0)]},
        index_interval_bytes=0,
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path / "orders-0"


# --- commands

RUNS: dict[str, tuple[list[str], int, str]] = {
    "log": (["log", "--deep", f"{FIRST}.log"], 0, "offset: 3 "),
    "index": (["index", f"{SECOND}.index"], 0, "offset: 5 position: "),
    "timeindex": (["timeindex", f"{FIRST}.timeindex"], 0, "timestamp: 1700000000000 offset: "),
    "txnindex": (["txnindex", f"{FIRST}.txnindex"], 0, "producerId: 7 firstOffset: 0 lastOffset: 1 lastStableOffset: 2"),
    "snapshot": (["snapshot", f"{SECOND}.snapshot"], 0, "producerId: 7 producerEpoch: 0 coordinatorEpoch: 0"),
    "checkpoint": (["checkpoint", str(BOOTSTRAP)], 0, "baseOffset: 1 lastOffset: 7 count: 7 "),
    "triage": (["triage", "orders-0"], 0, "NOTHING WRONG   in what was read"),
    "info": (["info", "orders-0"], 0, "offsets  0 to 6, in 2 segments of"),
    "map": (["map", "orders-0"], 0, "^ a leader epoch begins"),
    "report": (["report", "orders-0", "-o", "report.html"], 0, ""),
    "check": (["check", "orders-0"], 0, "offsets 0 to 6   fine"),
    "forecast": (["forecast", "orders-0"], 0, "Nothing is scanned, nothing is lost; the log goes from offset 0 to 7."),
    "scan": (["scan", "orders-0", "--tables-to", "tables", "--engine", "local"], 0, ""),
    "grep": (["grep", "value of lz4", "orders-0"], 0, "offset: 5 "),
    "where": (["where", "orders-0@6", "."], 0, "present"),
    "recover": (["recover", "orders-0", "-o", "made"], 0, "Complete and verified: made. Exit status 0.\nDo: kdump check made\n"),
    "reindex": (["reindex", "orders-0", "-o", "made"], 0, "Complete"),
    "slice": (["slice", "orders-0", "-o", "made", "--from-offset", "4"], 0, "log start offset 4, log end offset 7"),
    "redact": (["redact", "orders-0", "-o", "made"], 0, "7 batches with 7 records redacted"),
    "explain": (["explain", "crc-mismatch"], 0, "the checksum of a batch does not match its bytes"),
    "schema": (["schema", "batch"], 0, "baseOffset"),
    "releases": (["releases"], 0, "0.8.0"),
    "completions": (["completions", "bash"], 0, "kdump"),
}
"""A run of each command on a sound partition: what is typed, its exit code, and a part of what is printed."""


@pytest.mark.parametrize("command", RUNS)
def test_each_command_answers(command: str, orders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments, code, text = RUNS[command]
    assert main(arguments) == code
    printed = capfd.readouterr()
    assert text in printed.out
    assert "internal error" not in printed.err


def test_kdump_is_a_program(orders: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kdump", "--files", f"{FIRST}.log"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Dumping {FIRST}.log\nLog starting offset: 0\nbaseOffset: 0 lastOffset: 0 count: 1 ")


# --- codecs


@pytest.mark.parametrize(("offset", "codec"), list(enumerate(CODECS, start=2)))
def test_each_codec_is_read(offset: int, codec: str, orders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = f"{FIRST if offset < 4 else SECOND}.log"
    assert main(["log", "--deep", "--output", "ndjson", "--from-offset", str(offset), "--limit", "1", path]) == 0
    row = json.loads(capfd.readouterr().out.splitlines()[0])
    assert (row["offset"], row["key"], row["value"]) == (offset, f"k{offset}", f"value of {codec}")


# --- kinds of files

KINDS = {
    *(*SEGMENT_SUFFIXES, CHECKPOINT, "leader-epoch-checkpoint", "partition.metadata", "quorum-state"),
    *(f"{what}-offset-checkpoint" for what in ("recovery-point", "replication", "log-start", "cleaner")),
}


def _kind(case: FaultCase) -> str:
    """The kind of the file in which the first finding of a case is."""
    at = case.at if isinstance(case.at, At) else case.at[0]
    name = os.path.basename(at.file or next(iter(case.shown)))
    return Path(name).suffix if name[:1].isdigit() else name


def _cases_by_kind() -> Iterator[tuple[str, FaultCase]]:
    """The first case of each kind, of an error if there is one."""
    found = {_kind(case): case for case in reversed(CASES)}
    yield from ((kind, found[kind]) for kind in sorted(KINDS))


@pytest.mark.parametrize(("kind", "case"), [pytest.param(kind, case, id=kind) for kind, case in _cases_by_kind()])
def test_a_fault_in_each_kind_of_file_is_found(kind: str, case: FaultCase, tmp_path: Path) -> None:
    assert_found(case, tmp_path)


GOLDENS = (
    *("example-magic0-snappy", "example-magic1-gzip", "magic1-lz4-by-hand", "example-magic2-idempotent-and-commit"),
    *("example-index-mismatch", "bootstrap-checkpoint-4.3.0"),
)


@pytest.mark.parametrize("case", GOLDENS)
def test_the_newest_tool_prints_the_same(case: str) -> None:
    assert case in cases()
    assert unexpected_differences(case, "4.4.0") == []


# --- verdicts


def _break_index(orders: Path) -> None:
    """Have a transaction end at another batch: no start loses anything by it."""
    path = orders / f"{0:020d}.txnindex"
    data = bytearray(path.read_bytes())
    data[25] = 3  # the last byte of the last offset
    path.write_bytes(data)


def _damage_first(orders: Path) -> None:
    """Damage the first batch: a broker that scans its segment deletes all that follows."""
    path = orders / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[20] ^= 1  # of the first batch's CRC
    path.write_bytes(data)


def _take_all(orders: Path) -> None:
    for path in orders.iterdir():
        path.unlink()


def _empty_metadata(orders: Path) -> None:
    (orders / "partition.metadata").write_bytes(b"")


def _hang(orders: Path) -> None:
    _take_all(orders)
    hour = 3_600_000
    batches = [
        batch(records=[record(timestamp=TIMESTAMP)], producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True),
        batch(records=[record(timestamp=TIMESTAMP + hour)], base_offset=1),
    ]
    (orders / "00000000000000000000.log").write_bytes(b"".join(batches))


VERDICTS: dict[str, tuple[Callable[[Path], None], list[str], int, str]] = {
    verdict.FINE: (lambda orders: None, ["check", "orders-0"], 0, "orders-0   2 segments, 840 bytes, offsets 0 to 6   fine"),
    verdict.UNREADABLE: (_damage_first, ["forecast", "--after", "clean", "orders-0"], 1, "Verdict: unreadable: orders-0"),
    verdict.DAMAGED: (_break_index, ["check", "orders-0"], 1, "Verdict: damaged"),
    verdict.LOSES_AT_START: (_damage_first, ["forecast", "orders-0"], 1, "Verdict: loses at start"),
    verdict.DOES_NOT_START: (_empty_metadata, ["forecast", "orders-0"], 1, "Verdict: does not start"),
    verdict.STUCK: (_hang, ["check", "orders-0"], 1, "Verdict: stuck"),
    verdict.NOT_EXAMINED: (_take_all, ["check", "orders-0"], 3, "Verdict: not examined"),
}


@pytest.mark.parametrize("word", VERDICTS)
def test_each_verdict_is_given(word: str, orders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    damage, arguments, code, text = VERDICTS[word]
    damage(orders)
    assert main(arguments) == code
    printed = capfd.readouterr()
    assert any(line.startswith(text) for line in (printed.out + printed.err).splitlines()), printed


def test_each_is_seen_once() -> None:
    assert set(RUNS) == {*COMMANDS}
    assert set(VERDICTS) == {*verdict.WORDS}
    assert CODECS == ("none", "gzip", "snappy", "lz4", "zstd")
    assert {*SEGMENT_SUFFIXES, CHECKPOINT} <= KINDS


# --- the list


def test_every_test_of_the_list_is_there() -> None:
    for module, tests in quick.TESTS.items():
        text = (ROOT / module).read_text()
        assert [test for test in tests if f"def {test}(" not in text] == [], module


def test_what_measures_cost_is_slow() -> None:
    measures = re.compile(r"takes_as_long_as\(|tracemalloc\.|work_of\(|ru_maxrss")
    found = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        if path == Path(__file__) or not measures.search(text):
            continue
        for test in ast.parse(text).body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_") and measures.search(ast.unparse(test)):
                found.append(test.name)
                assert any("slow" in ast.unparse(mark) for mark in test.decorator_list), f"{path}: {test.name}"
    assert len(found) > 8
