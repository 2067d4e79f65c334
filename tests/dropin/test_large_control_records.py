"""Control records whose messages are printed in pieces, and records of so many headers that the heap of Kafka's tool matters."""

import contextlib
import hashlib
import io
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from kdump.cli import dropin
from kdump.decoders import control_record
from kdump.formats.long_headers import headers_at
from kdump.messages.control_records import LEADER_CHANGE
from tests.builders.hostile_contents import long_record
from tests.builders.records import Record, Voter, batch, commit_record, encode_record, leader_change_record
from tests.loops import each

COUNT = 11_000  # voters of 5 bytes: twice as many take more than what is large here
VOTERS = ",".join(['{"voterId":7}'] * COUNT)
LARGE = f'{{"version":0,"leaderId":1,"voters":[{VOTERS}],"grantingVoters":[{VOTERS}]}}'
SMALL = '{"version":0,"leaderId":1,"voters":[{"voterId":1}],"grantingVoters":[{"voterId":1}]}'


@pytest.fixture(autouse=True)
def less_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_record, "LARGE_MESSAGE", control_record.LARGE_MESSAGE // 10)


@each("option", ["--deep-iteration", "--print-data-log"])
def test_a_large_message_is_in_its_place_in_the_lines(option: str, tmp_path: Path) -> None:
    voters = [Voter(voter_id=7)] * COUNT
    records = [leader_change_record(), leader_change_record(voters=voters, granting_voters=voters), leader_change_record()]
    assert records[1].value is not None
    assert len(records[1].value) > control_record.LARGE_MESSAGE
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(batch(records=records, is_control=True) + batch(records=[commit_record()], base_offset=3, is_control=True))
    stdout = io.BytesIO()
    assert dropin.main([option, "--files", str(log)], stdout, io.BytesIO(), is_terminal=False) == 0
    texts = [line.partition("headerKeys: []")[2] for line in stdout.getvalue().decode().splitlines() if "headerKeys" in line]
    assert texts[:3] == [f" LeaderChange: {text}" for text in (SMALL, LARGE, SMALL)]
    assert texts[3].startswith(" endTxnMarker: COMMIT")


@pytest.mark.slow
def test_a_large_message_as_one_text_takes_no_object_for_each_voter() -> None:
    voters = [Voter(voter_id=7)] * COUNT
    value = leader_change_record(voters=voters, granting_voters=voters).value
    tracemalloc.start()
    try:
        text = control_record.message_of(LEADER_CHANGE, value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text == LARGE
    assert peak < 4 * len(LARGE), peak  # with objects, it is more than 20 times as much


def test_a_large_message_that_ends_early_is_a_fault(tmp_path: Path) -> None:
    voters = [Voter(voter_id=7)] * (2 * COUNT)
    record = leader_change_record(voters=voters)
    assert record.value is not None
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(batch(records=[replace(record, value=record.value[:-3])], is_control=True))
    stdout, stderr = io.BytesIO(), io.BytesIO()
    assert dropin.main(["--deep-iteration", "--files", str(log)], stdout, stderr, is_terminal=False) == 1
    assert stderr.getvalue().startswith(b'Exception in thread "main" java.')
    assert stdout.getvalue().endswith(b"headerKeys: []")


# The expected outputs are of the real tool with 256 MiB, run by its launcher's options; they are too long to be goldens.


LOG = "00000000000000000000.log"


@each("release, digest, size", [("4.3.1", "0e1006e16c72d7c5", 2_200_460), ("1.0.1", "9873261244878209", 2_200_250)], share=2)
def test_more_than_a_million_headers_are_printed(tmp_path: Path, release: str, digest: str, size: int) -> None:
    exit_code, printed, stderr = _dumped(tmp_path, 1_100_000, release)
    assert (exit_code, hashlib.sha256(printed).hexdigest()[:16], len(printed), stderr) == (0, digest, size, b"")


@each("release, digest, size", [("4.3.1", "b7af6018491268ba", 372), ("1.0.1", "ca556fe51b10e53b", 52)])
def test_five_million_headers_are_too_many_for_the_heap(tmp_path: Path, release: str, digest: str, size: int) -> None:
    exit_code, printed, stderr = _dumped(tmp_path, 5_000_000, release)
    assert (exit_code, hashlib.sha256(printed).hexdigest()[:16], len(printed)) == (1, digest, size)
    assert stderr.startswith(b'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n')


def test_long_headers_give_their_keys_again_and_again() -> None:
    pairs = [(b"", b"value"), (b"a" * 100, None), (b"k", b""), (b"z", b"x" * 200)]
    data = encode_record(Record(key=b"key" * 50, value=None, headers=pairs))
    headers = headers_at(b"--" + data + data, 2)
    assert len(headers) == 4
    assert [list(headers), list(headers)] == [[(key, None) for key, _ in pairs]] * 2


def test_the_heap_counts_buffers_of_values() -> None:
    for value, needed in ((None, 92 + 3), (b"", 148 + 3), (b"v", 148 + 4)):
        data = encode_record(Record(headers=[(b"k", value)] * 1000))
        headers = headers_at(data, 0)
        assert [headers.needs_more_heap_than(1000 * needed - less) for less in (0, 1)] == [False, True]


def _dumped(folder: Path, headers: int, release: str) -> tuple[int, bytes, bytes]:
    (folder / LOG).write_bytes(long_record("none", header=b"\2k\1", headers=headers))
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with contextlib.chdir(folder):
        arguments = ["--release", release, "--deep-iteration", "--files", LOG]
        return dropin.main(arguments, stdout, stderr, is_terminal=False), stdout.getvalue(), stderr.getvalue()
