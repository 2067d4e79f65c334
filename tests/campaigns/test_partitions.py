"""The short form of the campaign of damaged partition directories."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from campaigns import partitions  # what needs Arrow
from campaigns.nonsense import nonsense
from tests.loops import each


@pytest.mark.slow
def test_damaged_directories_are_checked_forecast_and_read_without_a_slip(all_cases: bool) -> None:
    assert partitions.measure(range(40 if all_cases else 15), seed=1) == []


def test_a_directory_depends_on_its_number_and_the_seed_only(tmp_path: Path) -> None:
    about = [partitions.make(tmp_path / str(run), seed=5, number=17) for run in range(2)]
    assert about[0] == about[1]
    first, again = ({file.name: file.read_bytes() for file in (tmp_path / run).iterdir()} for run in ("0", "1"))
    assert first == again


@each(
    "text",
    [
        "Its length says 58 and should be 58.",
        "1 records can be read.",
        "offsets 20 to 20 have room",
        "-3 bytes are lost",
        "2 byte follows",
        "at byte None",
        "codec {name}",
        "bytes 90 to 70",
        "lost: , and more",
    ],
)
def test_nonsense_is_recognized(text: str) -> None:
    assert list(nonsense(text))


@pytest.mark.parametrize(
    "text",
    [
        "Its length says 58 and should be 580.",
        "1 record, 21 records, 1,001 records; 0 of 1 record can be read. None of its messages can be read.",
        "A record batch says it is -1 bytes long.",
        "bytes 7 to 8, offsets 20 to 200, offset 9",
    ],
)
def test_sense_is_not_taken_for_nonsense(text: str) -> None:
    assert list(nonsense(text)) == []
