"""Control records whose messages are printed in pieces."""

import io
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from kdump.cli import dropin
from kdump.decoders import control_record
from kdump.messages.control_records import LEADER_CHANGE
from tests.builders.records import Voter, batch, commit_record, leader_change_record
from tests.loops import each

COUNT = 110_000  # voters of 5 bytes: twice as many take more than LARGE_MESSAGE
VOTERS = ",".join(['{"voterId":7}'] * COUNT)
LARGE = f'{{"version":0,"leaderId":1,"voters":[{VOTERS}],"grantingVoters":[{VOTERS}]}}'
SMALL = '{"version":0,"leaderId":1,"voters":[{"voterId":1}],"grantingVoters":[{"voterId":1}]}'


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
