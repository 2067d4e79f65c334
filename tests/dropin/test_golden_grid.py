"""The goldens cover every combination of features that makes sense."""

from golden_outputs import grid, stored
from golden_outputs.grid import Batch, Option
from tests.loops import each


def test_no_kind_of_batch_is_missing_in_the_cases() -> None:
    assert grid.missing_batches() == []


@each("release", stored.releases(), share=4)
def test_no_option_is_missing_in_the_runs(release: str) -> None:
    assert grid.missing_options(release) == []


def test_batches_are_distinguished() -> None:
    shown = grid.batches()
    assert shown[Batch(2, "none", "CreateTime", "plain", "sound")] > 100
    assert shown[Batch(2, "lz4", "LogAppendTime", "delete horizon", "sound")] == 1
    assert shown[Batch(2, "lz4", "LogAppendTime", "delete horizon", "damaged")] == 1
    assert shown[Batch(2, "gzip", "CreateTime", "control", "sound")] == 0


def test_a_release_is_not_asked_for_what_it_lacks() -> None:
    assert Option(".snapshot", "") not in grid.wanted_options("0.10.2.2")
    assert Option(".snapshot", "") in grid.wanted_options("0.11.0.0")
    assert Option(".log", "--max-bytes") not in grid.wanted_options("3.2.3")
    assert Option(".checkpoint", "--cluster-metadata-decoder") in grid.wanted_options("3.3.0")
