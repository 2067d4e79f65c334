"""The goldens cover every combination of features that makes sense."""

from golden_outputs import grid, stored
from tests.loops import each


def test_no_kind_of_batch_is_missing_in_the_cases() -> None:
    assert grid.missing_batches() == []


@each("release", stored.releases(), share=8)
def test_no_option_is_missing_in_the_runs(release: str) -> None:
    assert grid.missing_options(release) == []
