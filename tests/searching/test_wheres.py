"""The short form of the campaign that compares `kdump where` with what happened in a model of brokers."""

from pathlib import Path

from campaigns import wheres
from tests.loops import each


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
