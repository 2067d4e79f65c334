"""`kdump explain`: by code, by the name of an exception, by a line of a broker's log."""

import json
import lzma
import re
from pathlib import Path

import pytest

import kdump
from golden_outputs.runs import CASES
from kdump.checks import catalogue
from kdump.checks.catalogue import broker_words, searches
from kdump.cli.commands import main

STARTS = Path(__file__).parent.parent / "restarts" / "starts.jsonl.xz"
FOUND, USAGE = 0, 2

# Lines of brokers of 2.8.2, 3.9.1 and 4.3.1, and of consumers, with the fault they were seen at.
LINES = {
    "Found record size 0 smaller than minimum record overhead (14) in file /data/a-0/00000000000000000000.log.": "zero-tail",
    "WARN [Log partition=a-0] Corruption found in segment 100, truncating to offset 155 (kafka.log.Log)": "crc-mismatch",
    "Found invalid messages in log segment /data/a-0/00000000000000000000.log at byte offset 4182.": "crc-mismatch",
    "Record is corrupt (stored crc = 1234, computed crc = 5678). null": "crc-mismatch",
    "Record batch is corrupt (the size 14 is smaller than the minimum allowed overhead 61)": "batch-length-too-small",
    "requirement failed: Split operation is only permitted for segments with overflow": "offset-below-base",
    "Caught segment overflow error: Detected offset overflow at offset 7 in segment LogSegment(baseOffset=0)": (
        "offset-overflow-int32"
    ),
    "Unexpected aborted transaction version 512 in transaction index /data/0.txnindex, current version is 0": (
        "txnindex-version-unknown"
    ),
    "java.lang.IllegalArgumentException: Unknown compression type id: 5": "codec-unknown",
    "Received invalid partition leader epoch entry EpochEntry(epoch=-1, startOffset=3)": "epochs-not-monotonic",
    "Found invalid offset during recovery. Deleting the corrupt segment and creating an empty one with starting offset 0": (
        "offset-regression"
    ),
    "Deleting all segments because logEndOffset (7) is smaller than logStartOffset 9.": "log-start-beyond-end",
    "Could not find offset index file corresponding to log file /data/a-0/00000000000000000000.log, recovering": "index-missing",
    "Found an orphaned index file /data/a-0/00000000000000000000.index, with no corresponding log file.": "index-orphan",
    "Invalid control record type for end transaction markerUNKNOWN": "control-type-unknown",
    "Invalid value size found for end transaction marker. Must have at least 6 bytes, but found only 2": "control-value-short",
    "Invalid value size found for control record key. Must have at least 4 bytes, but found only 2": "control-key-short",
    "Invalid version found for control record: -1. May indicate data corruption": "control-version-negative",
    "Expected transactional write from producer 7 at offset (offset=3, segment=[0:9]) in partition a-0": (
        "txn-nontransactional-write"
    ),
    "Failed to load producer snapshot from '/a': Snapshot is corrupt (CRC is no longer valid). Stored crc: 1": (
        "snapshot-crc-mismatch"
    ),
    "Malformed line in checkpoint file (/data/a-0/leader-epoch-checkpoint): 'zero'": "epochs-malformed",
    "Expected [3] entries in checkpoint file [/data/a-0/leader-epoch-checkpoint], but found only [2]": "epochs-count-mismatch",
    "Expected 3 entries in checkpoint file (/data/a-0/leader-epoch-checkpoint), but found only 2": "epochs-count-mismatch",
    "Unrecognized version of the checkpoint file (/data/a-0/leader-epoch-checkpoint): 1": "epochs-version-unknown",
    "Invalid topic ID in partition metadata file (/data/a-0/partition.metadata)": "partition-metadata-bad",
    "Inner messages must not be compressed": "legacy-nested-compression",
    "java.util.zip.ZipException: Corrupt GZIP trailer": "frame-damaged",
    'java.lang.NumberFormatException: For input string: "foo"': "name-not-numeric",
    "Received exception when fetching the next record from a-0. If needed, please seek past the record": "record-length-bad",
    "Encountered corrupt message when fetching offset 5 for topic-partition a-0": "crc-mismatch",
    "Found invalid messages during fetch for partition a-0 offset 5": "crc-mismatch",
    "Unexpected exception thrown when cleaning log x. Marking its partition (a-0) as uncleanable": "crc-mismatch",
}


def _run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["explain", *words])
    captured = capfd.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(("line", "code"), LINES.items(), ids=[line[:40] for line in LINES])
def test_a_line_of_a_broker_leads_to_its_fault(capfd: pytest.CaptureFixture[str], line: str, code: str) -> None:
    for text in (line, f"[2026-11-22 10:00:00,123] ERROR {line} (org.apache.kafka.storage.internals.log.LogLoader)"):
        status, out, _ = _run(capfd, text)
        assert status == FOUND
        assert re.search(rf"^(  \w+ +)?{code}\b", out, re.MULTILINE)


def test_every_phrase_is_met_by_a_line_or_says_what_it_means() -> None:
    for phrase in broker_words.PHRASES:
        assert set(phrase.codes) <= set(catalogue.FAULTS), phrase.pattern
        assert phrase.meaning and not phrase.meaning.endswith(".")
    for name, codes in broker_words.EXCEPTIONS.items():
        assert set(codes) <= set(catalogue.FAULTS), name


def test_each_exception_that_ended_a_recorded_start_is_known(capfd: pytest.CaptureFixture[str]) -> None:
    with lzma.open(STARTS, "rt") as lines:
        names = {json.loads(line).get("exception") for line in lines} - {None}
    assert "org.apache.kafka.common.errors.CorruptRecordException" in names
    for name in sorted(names):
        assert _run(capfd, name)[0] == FOUND, name


def test_each_warning_and_error_of_recorded_starts_is_known(capfd: pytest.CaptureFixture[str]) -> None:
    with lzma.open(STARTS, "rt") as lines:
        said = {re.sub(r"\d+", "7", one) for line in lines for one in json.loads(line).get("said", [])}
    told = {one for one in said if one.startswith(("WARN", "ERROR")) and not one.startswith("WARN Utils: Failed atomic move")}
    assert len(told) > 50
    for one in sorted(told):
        assert _run(capfd, one)[0] == FOUND, one


@pytest.mark.parametrize("name", ["CorruptRecordException", "org.apache.kafka.common.errors.CorruptRecordException"])
def test_an_exception_leads_to_its_faults_the_likeliest_first(capfd: pytest.CaptureFixture[str], name: str) -> None:
    status, out, _ = _run(capfd, name)
    assert status == FOUND
    assert out.splitlines()[:2] == [
        "CorruptRecordException: is caused by one of these faults, the likeliest first.",
        "  error    crc-mismatch            the checksum of a batch does not match its bytes.",
    ]


def test_a_line_that_has_one_cause_is_explained_in_full(capfd: pytest.CaptureFixture[str]) -> None:
    out = _run(capfd, "Record is corrupt (stored crc = 1, computed crc = 2)")[1]
    assert "\nHow it comes about " in out and "\nWhat to do " in out


def test_a_phrase_is_more_exact_than_the_exception_beside_it(capfd: pytest.CaptureFixture[str]) -> None:
    out = _run(capfd, "CorruptRecordException: Record is corrupt (stored crc = 1, computed crc = 2)")[1]
    assert "comes from one of these faults" not in out


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("log segment /var/lib/kafka/orders-3/00000000000000000200.log at byte", "kdump check /var/lib/kafka/orders-3"),
        ("log segment /a/it's/orders-3/00000000000000000200.log at byte", "kdump check '/a/it'\"'\"'s/orders-3'"),
        ("log segment '/data/orders-3/00000000000000000200.log' at byte", "kdump check /data/orders-3"),
    ],
)
def test_a_line_that_names_a_file_says_what_to_check(capfd: pytest.CaptureFixture[str], line: str, command: str) -> None:
    out = _run(capfd, f"Found invalid messages in {line} offset 4182.")[1]
    assert out.splitlines()[-1] == f"{command}   # which of them it is, and where"


def test_a_line_needs_no_quotes(capfd: pytest.CaptureFixture[str]) -> None:
    assert "index-orphan" in _run(capfd, "Found", "an", "orphaned", "index", "file", "/x/0.index,")[1]


def test_codes_are_known_in_capitals_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(capfd, "CRC-Mismatch")[1].startswith("crc-mismatch (error)")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("torn", "did you mean torn-tail, torn-header?"),
        ("CorruptRecordExcepton", "did you mean CorruptRecordException"),
        ("java.lang.IllegalStateExeption", "did you mean IllegalStateException"),
        ("clock went back", "`kdump explain` lists all"),
        ("checksum batch", "crc-mismatch?"),
    ],
)
def test_unknown_words_get_suggestions(capfd: pytest.CaptureFixture[str], word: str, meant: str) -> None:
    status, out, err = _run(capfd, word)
    assert (status, out) == (USAGE, "") and meant in err


def test_no_line_of_a_log_steers_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    out = _run(capfd, "Found record size \x1b[31m smaller than minimum record overhead (14)")[1]
    assert "\x1b" not in out and "\\x1b[31m" in out


def test_codes_of_searches_and_decoders_are_explained(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _run(capfd, "schema-id-unknown")
    assert status == FOUND
    assert out.startswith("schema-id-unknown: no schema has the id that a key or value names.\n")
    status, out, _ = _run(capfd, "codec-missing")
    assert out.startswith("codec-missing is what searches and listings say for codec-package-missing.\n\ncodec-package-missing (")
    status, out, _ = _run(capfd, "compressed-record-length-past-end")
    assert "record-length-bad (error): a record has an impossible length." in out
    _, out, _ = _run(capfd)
    assert re.search(r"^ +decoder-failed +a decoder of your own", out, re.MULTILINE)


def test_the_codes_of_searches_are_no_faults_and_lead_to_some() -> None:
    assert not searches.SEARCHES.keys() & catalogue.FAULTS.keys()
    assert set(searches.SAME_AS.values()) <= catalogue.FAULTS.keys()
    for one in searches.SEARCHES.values():
        assert set(one.see) <= catalogue.FAULTS.keys() | searches.SEARCHES.keys()


def test_whatever_a_search_says_of_damaged_files_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    found = set()
    for path in sorted(CASES.iterdir()):
        search = kdump.grep("no such text", path, json=["a=b"])
        assert not list(search)
        found |= {gap.code for gap in search.not_read}
    assert len(found) > 15
    for code in sorted(found):
        assert _run(capfd, code)[0] == FOUND, code
