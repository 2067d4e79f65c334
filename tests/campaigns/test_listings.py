"""The short form of the campaign that compares listed parts of logs with a plain filter."""

from pathlib import Path

from campaigns import listings

COUNT = 150


def test_parts_of_logs_are_those_of_a_plain_filter(tmp_path: Path) -> None:
    assert [(number, fault) for number in range(COUNT) for fault in listings.faults(listings.case_of(3, number), tmp_path)] == []


def test_a_listing_depends_on_its_number_and_the_seed_only(tmp_path: Path) -> None:
    first, again = listings.case_of(5, 17), listings.case_of(5, 17)
    assert first[:-1] == again[:-1] and first.chance.random() == again.chance.random()
