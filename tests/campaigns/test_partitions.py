"""The short form of the campaign of damaged partition directories."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from tests.campaigns import partitions  # what needs Arrow


@pytest.mark.slow
def test_damaged_directories_are_checked_forecast_and_read_without_a_slip(all_cases: bool) -> None:
    assert partitions.measure(range(40 if all_cases else 15), seed=1) == []


def test_a_directory_depends_on_its_number_and_the_seed_only(tmp_path: Path) -> None:
    about = [partitions.make(tmp_path / str(run), seed=5, number=17) for run in range(2)]
    assert about[0] == about[1]
    first, again = ({file.name: file.read_bytes() for file in (tmp_path / run).iterdir()} for run in ("0", "1"))
    assert first == again
