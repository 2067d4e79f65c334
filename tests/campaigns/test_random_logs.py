"""The short form of the campaign that reads random logs with windows of any size."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

from campaigns import random_logs
from kdump.pipeline import reading  # what needs Arrow


@pytest.mark.slow
def test_every_record_of_a_random_log_is_there_once_whatever_the_windows(all_cases: bool) -> None:
    assert list(random_logs.measure(range(16 if all_cases else 6), seed=1, largest=1 << 18)) == []


def test_rows_twice_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = reading.read_slice

    def twice(*arguments: Any) -> Iterator[Any]:
        for rows in read(*arguments):
            yield rows
            yield rows

    monkeypatch.setattr(reading, "read_slice", twice)
    assert any("records for" in wrong for wrong in random_logs.measure(range(8), seed=1, largest=1 << 16))
