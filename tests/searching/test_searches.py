"""The short form of the campaign that compares `where`, `grep` and `log` with a model of what was written and damaged."""

from pathlib import Path

import pytest

from campaigns import searches

COUNT = 60


@pytest.mark.parametrize("start", range(0, COUNT, 10))
def test_answers_hits_and_rows_are_those_of_the_model(start: int, tmp_path: Path) -> None:
    numbers = range(start, start + 10)
    assert [(number, fault) for number in numbers for fault in searches.faults(searches.Case(2, number), tmp_path / "case")] == []


def test_the_partitions_have_what_may_happen() -> None:
    cases = [searches.Case(2, number) for number in range(COUNT)]
    kinds = {part.kind for case in cases for part in case.parts}
    assert kinds >= {"_sound", "_emptied", "_thinned", "_overfull", "_wrong_crc", "_undecodable", "_half", "_hollow", "_zeros"}
    assert kinds >= {"_messages", "_wrapper", "_bad_wrapper", "_cut_wrapper", "_bad_message"}
    answers = {answer for case in cases for answer in searches.expected_answers(case).values()}
    assert answers == {"present", "damaged", "compacted", "missing", "below-log-start"}
    assert {case.topic for case in cases} == {"orders", "__consumer_offsets"}
    assert {case.mark[-6:] for case in cases} == {"", "-stray", "delete"}
