"""The short form of the campaign that compares searches with a plain filter."""

from pathlib import Path

from campaigns import greps

COUNT = 200


def test_hits_and_verdicts_are_those_of_a_plain_filter(tmp_path: Path) -> None:
    assert [(number, fault) for number in range(COUNT) for fault in greps.faults(greps.case_of(3, number), tmp_path)] == []


def test_a_search_depends_on_its_number_and_the_seed_only() -> None:
    assert greps.case_of(5, 17) == greps.case_of(5, 17)
    assert greps.case_of(5, 17) != greps.case_of(6, 17)
