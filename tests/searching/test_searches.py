"""The short forms of the campaigns that compare `where`, `grep` and `log` with models of what was written and damaged."""

from pathlib import Path

import pytest

from campaigns import searches, wheres
from tests.loops import each

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


@each("number", range(20))
def test_answers_are_what_happened_in_a_history(number: int, tmp_path: Path) -> None:
    assert list(wheres.faults(wheres.History(4, number), tmp_path / "history")) == []


def test_the_histories_have_what_may_happen(tmp_path: Path) -> None:
    answers = set()
    for number in range(120):
        history = wheres.History(4, number)
        end = max(replica.end for replica in history.copies)
        answers |= {wheres.expected(history, offset).answer for offset in range(end + 1)}
    assert answers >= {"present", "only-on", "control", "aborted", "open-transaction", "truncated", "compacted", "damaged"}
    assert answers >= {"tombstone-expired", "below-log-start", "present-in-deleted-file", "not-written"}
